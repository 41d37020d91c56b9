"""Code size and compile time grow no faster than the fusion: stacked diamonds, in which each step reads the one before at two indices; long
chains; hashes of up to 16,000 instructions.

usage: compile_growth.py WARPBURG        prints a line for each size, then `N passed, M failed`

A size fails where the code is more than the family's factor longer than at half the size, where the largest size takes more than MOST_TIME
times as long as the smallest, or where warpburg without LLVM takes more than 0.5 s or LLVM 5 s of processor time. The code of
diamonds stays small, but each diamond doubles the work of the kernel: the compiler must warn of the largest stacks, and of nothing else.
"""
from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable, List, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
from warpburg_cli import llvm_ms  # noqa: E402


def module(name: str, width: int, lines: List[str], root: str) -> str:
    body = "\n".join(lines)
    return f"HloModule {name}\n\nf {{\n  a0 = f32[{width}] parameter(0)\n  z = f32[] constant(0)\n{body}\n  ROOT r = f32[{width}] negate({root})\n}}\n\n" \
           f"ENTRY e {{\n  p = f32[{width}] parameter(0)\n  ROOT r = f32[{width}] fusion(p), kind=kLoop, calls=f\n}}\n"


def diamonds(depth: int, shift: Callable[[int], int], width: int) -> str:
    """a[k+1][i] = a[k][i] + a[k][i - shift(k)]"""
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


ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)


def hashing(length: int) -> str:
    """About `length` instructions of the Threefry generator: rounds, with a word of the key added after every fourth. Every value is used."""
    lines = []
    for r, by in enumerate(ROTATIONS):
        for name, value in (("l", by), ("r", 32 - by)):
            lines += [f"  c{name}{r} = u32[] constant({value})", f"  {name}{r} = u32[65536] broadcast(c{name}{r}), dimensions={{}}"]
    lines += ["  u0 = u32[65536] bitcast-convert(a0)", "  k = u32[65536] iota(), iota_dimension=0"]
    x, y, k = "u0", "k", 0
    while len(lines) < length - 4:
        r = k % len(ROTATIONS)
        lines += [f"  a{k + 1} = u32[65536] add({x}, {y})", f"  s{k} = u32[65536] shift-left({y}, l{r})", f"  t{k} = u32[65536] shift-right-logical({y}, r{r})",
                  f"  o{k} = u32[65536] or(s{k}, t{k})", f"  x{k} = u32[65536] xor(o{k}, a{k + 1})"]
        x, y, k = f"a{k + 1}", f"x{k}", k + 1
        if k % 4 == 0:
            lines += [f"  ck{k} = u32[] constant({0x1BD11BDA * k & 0xffffffff})", f"  k{k} = u32[65536] broadcast(ck{k}), dimensions={{}}",
                      f"  v{k} = u32[65536] add({x}, k{k})", f"  w{k} = u32[65536] add({y}, u0)"]
            x, y = f"v{k}", f"w{k}"
    lines += [f"  last = u32[65536] xor({x}, {y})", "  float = f32[65536] bitcast-convert(last)"]
    return module(f"hash{length}", 65536, lines, "float")


# Name, generator, three sizes, each twice the one before, and the factor by which the code may grow from one to the next.
FAMILIES: List[Tuple[str, Callable[[int], str], Tuple[int, int, int], float]] = [
    ("diamonds of one shift", equal, (20, 40, 80), 2.6),
    ("diamonds of many shifts", unequal, (40, 80, 160), 2.6),
    ("chain", chain, (500, 1000, 2000), 2.2),
    ("hash", hashing, (4000, 8000, 16000), 2.2),
]
MOST_OWN, MOST_LLVM = 500.0, 5000.0  # milliseconds
MOST_TIME = 8.0  # of the largest size over that of a quarter of it, where linear is 4 and quadratic 16; times below 20 ms count as 20


def measure(warpburg: str, text: str, folder: Path) -> Tuple[int, float, float, bool]:
    """Lines of PTX; milliseconds without LLVM, and of LLVM, each the least of three; whether the compiler warned of repeated work."""
    file = folder / "f.hlo"
    file.write_text(text)
    ptx = subprocess.run([warpburg, "compile", str(file), "--emit", "ptx"], capture_output=True, text=True, check=True).stdout
    said = subprocess.run([warpburg, "compile", "--time", *[str(file)] * 3], capture_output=True, text=True, check=True)
    runs = [{k: float(v) for k, v in re.findall(r"(\w+) ([0-9.]+)", line)} for line in said.stdout.splitlines()]
    return ptx.count("\n"), min(ms["all"] - llvm_ms(ms) for ms in runs), min(map(llvm_ms, runs)), "may have to evaluate" in said.stderr


def main(argv: List[str]) -> int:
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, make, sizes, most in FAMILIES:
            before, first = 0, 0.0
            for size in sizes:
                lines, own, llvm, noted = measure(argv[1], make(size), Path(folder))
                faults = []
                if before and lines > most * before:
                    faults.append("the code grows too fast")
                if size == sizes[-1] and own > MOST_TIME * max(first, 20.0):
                    faults.append("the time grows too fast")
                if own > MOST_OWN or llvm > MOST_LLVM:
                    faults.append("it takes too long")
                if noted and "diamonds" not in name or not noted and "diamonds" in name and size == sizes[-1]:
                    faults.append("a warning that is not needed" if noted else "no warning of the repeated work")
                print(f"{name}, {size}: {lines} lines of PTX, {own:.1f} ms without LLVM, {llvm:.0f} ms of LLVM{''.join(': ' + f for f in faults)}")
                passed, failed = passed + (not faults), failed + bool(faults)
                before, first = lines, first or own
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
