#!/usr/bin/env python3
"""Graphs of large computations take time and memory linear in them: chains, diamonds that stand on each other, results side by side, folds of folds,
arrays of 64 dimensions.

usage: graph_size.py WARPBURG

Each shape of computation has 32,000 instructions or so; its graph with the text of that, and the rules of patterns/arrays.py, may take MOST_TIME and
MOST_MEMORY: a square of the instructions is far beyond both. Ends with `N passed, M failed`.
"""
from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, List

SIZE = 32000
MOST_TIME, MOST_MEMORY = 20, 1 << 30  # seconds of the processor; bytes of address space
HEAD = "HloModule m\nmax { p = s32[] parameter(0) q = s32[] parameter(1) ROOT s = s32[] maximum(p, q) }\nENTRY e {\nx = s32[8] parameter(0)\n"
BROADCAST = "b = s32[8,4] broadcast(x), dimensions={0}"


def results(name: str, n: int) -> str:
    return f"ROOT all = ({', '.join(['s32[8]'] * n)}) tuple({', '.join(f'{name}{k}' for k in range(n))})"


def chain() -> List[str]:
    return ["v0 = s32[8] negate(x)", *(f"v{k + 1} = s32[8] negate(v{k})" for k in range(SIZE)), f"ROOT r = s32[8] negate(v{SIZE})"]


def diamonds() -> List[str]:
    return ["v0 = s32[8] negate(x)", *(f"v{k + 1} = s32[8] add(v{k}, v{k})" for k in range(SIZE)), f"ROOT r = s32[8] negate(v{SIZE})"]


def wide() -> List[str]:
    return [*(f"v{k} = s32[8] negate(x)" for k in range(SIZE)), results("v", SIZE)]


def folds() -> List[str]:
    lines = ["o = s32[] constant(0)", "v0 = s32[8] negate(x)"]
    for k in range(SIZE // 2):
        lines += [f"b{k} = s32[8,4] broadcast(v{k}), dimensions={{0}}", f"v{k + 1} = s32[8] reduce(b{k}, o), dimensions={{1}}, to_apply=max"]
    return [*lines, f"ROOT r = s32[8] negate(v{SIZE // 2})"]


def wide_folds() -> List[str]:
    return ["o = s32[] constant(0)", BROADCAST, *(f"v{k} = s32[8] reduce(b, o), dimensions={{1}}, to_apply=max" for k in range(SIZE // 2)),
            results("v", SIZE // 2)]


def dimensions() -> List[str]:
    shape = ",".join(["2"] * 3 + ["1"] * 61)
    order = ",".join(map(str, reversed(range(64))))
    turned = ",".join(reversed(shape.split(",")))
    return [f"v = s32[{shape}] reshape(x)", f"t = s32[{turned}] transpose(v), dimensions={{{order}}}", f"ROOT r = s32[{turned}] negate(t)"]


SHAPES = {"a chain": chain, "diamonds": diamonds, "results side by side": wide, "folds of folds": folds, "folds side by side": wide_folds,
          "64 dimensions": dimensions}


def limits() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_TIME, MOST_TIME))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


def main() -> int:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    count: Dict[bool, int] = {True: 0, False: 0}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "large.hlo"
        for name, lines in SHAPES.items():
            file.write_text(HEAD + "\n".join(lines()) + "\n}\n", encoding="utf-8")
            for words in (["hlo", str(file), "--pass", "arrays"], ["compile", str(file), "--emit", "graph"]):
                p = subprocess.run([sys.argv[1], *words], capture_output=True, text=True, check=False, preexec_fn=limits)
                fine = p.returncode == 0 and len(p.stdout) > 20
                count[fine] += 1
                if not fine:
                    print(f"{name}: {' '.join(words)}: exit {p.returncode}: {p.stderr[-300:]}")
    print(f"{count[True]} passed, {count[False]} failed")
    return int(bool(count[False]))


if __name__ == "__main__":
    sys.exit(main())
