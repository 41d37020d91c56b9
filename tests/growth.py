"""Code and time against the size of a fusion: stacked diamonds, whose values are read at two indices at every step, and long chains.

usage: growth.py WARPBURG        prints a line a size, then `N passed, M failed`: growth beyond linear is a failure
"""
from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable, List, Tuple


def module(name: str, width: int, lines: List[str], root: str) -> str:
    body = "\n".join(lines)
    return f"HloModule {name}\n\nf {{\n  a0 = f32[{width}] parameter(0)\n  z = f32[] constant(0)\n{body}\n  ROOT r = f32[{width}] negate({root})\n}}\n\n" \
           f"ENTRY e {{\n  p = f32[{width}] parameter(0)\n  ROOT r = f32[{width}] fusion(p), kind=kLoop, calls=f\n}}\n"


def diamonds(depth: int, shift: Callable[[int], int], width: int) -> str:
    """a[k+1] = a[k] + a[k] moved by shift(k)"""
    lines = []
    for k in range(depth):
        s = shift(k)
        lines += [f"  p{k} = f32[{width + s}] pad(a{k}, z), padding={s}_0", f"  s{k} = f32[{width}] slice(p{k}), slice={{[0:{width}]}}",
                  f"  a{k + 1} = f32[{width}] add(s{k}, a{k})"]
    return module(f"diamonds{depth}", width, lines, f"a{depth}")


def equal(depth: int) -> str:
    return diamonds(depth, lambda k: 1, 1024)


def unequal(depth: int) -> str:
    return diamonds(depth, lambda k: k * k + 1, 8192)


def chain(length: int) -> str:
    lines = [f"  a{k + 1} = f32[65536] {('add', 'multiply', 'subtract', 'maximum')[k % 4]}(a{k}, a{max(k - 3, 0)})" for k in range(length)]
    return module(f"chain{length}", 65536, lines, f"a{length}")


# name, generator, sizes: each twice the one before; code may grow to so many times what it was
FAMILIES: List[Tuple[str, Callable[[int], str], Tuple[int, int, int], float]] = [
    ("diamonds of one shift", equal, (20, 40, 80), 2.6),
    ("diamonds of many shifts", unequal, (20, 40, 80), 2.6),
    ("chain", chain, (500, 1000, 2000), 2.2),
]


def measure(warpburg: str, text: str, folder: Path) -> Tuple[int, float]:
    """Lines of PTX, and milliseconds of all rooms but LLVM."""
    file = folder / "f.hlo"
    file.write_text(text)
    ptx = subprocess.run([warpburg, "compile", str(file), "--emit", "ptx"], capture_output=True, text=True, check=True).stdout
    said = subprocess.run([warpburg, "compile", str(file), "--time"], capture_output=True, text=True, check=True).stdout
    ms = {k: float(v) for k, v in re.findall(r"(\w+) ([0-9.]+)", said)}
    return ptx.count("\n"), ms["all"] - ms["llvm"]


def main(argv: List[str]) -> int:
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, make, sizes, most in FAMILIES:
            before = 0
            for size in sizes:
                lines, ms = measure(argv[1], make(size), Path(folder))
                good = before == 0 or lines <= most * before
                print(f"{name}, {size}: {lines} lines of PTX, {ms:.1f} ms without LLVM{'' if good else ': grows too fast'}")
                passed, failed = passed + good, failed + (not good)
                before = lines
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
