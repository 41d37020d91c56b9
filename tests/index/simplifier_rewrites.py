#!/usr/bin/env python3
"""Rewrites of an algebraic simplifier's everyday: which need no rule, since both sides are one graph, and which have one.

usage: simplifier_rewrites.py [--verbose] WARPBURG

Each case is two computations of the same parameters. SAME: `--emit graph` prints both alike, so moves have vanished or rules of patterns/arrays.py
made one of the other. OPEN: it does not, and the case says what is missing; a case that is the same by now fails, too, and moves up. The evaluator says
of both that their values are equal, of floats to the bit, so no case is a wrong rewrite. The cases are in simplifier_moves.py and simplifier_folds.py.
Ends with `N passed, M failed`.
"""
from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from simplifier_folds import FOLDS
from simplifier_moves import COMBINERS, MOVES, Case

CASES = MOVES + FOLDS


def text(case: Case, side: str) -> str:
    return f"HloModule m\n{COMBINERS}\nENTRY e {{ {case.given}\n {side} }}\n"


def ran(*words: str) -> str:
    p = subprocess.run(words, capture_output=True, text=True, check=False)
    return p.stdout + p.stderr if p.returncode else p.stdout


def graph(warpburg: str, file: Path) -> str:
    """Definitions without those of parameters, starts numbered by their first use."""
    lines = [line for line in ran(warpburg, "compile", str(file), "--emit", "graph").splitlines() if " is parameter " not in line]
    out, names = "\n".join(lines), {}  # type: str, dict[str, str]
    for name in re.findall(r"^([\w.]+)[\[:]", out, re.M):
        names.setdefault(name, "r" if name == "r" else f"v{len(names)}")
    for name in re.findall(r"\bs\d+\b", out):
        names.setdefault(name, f"s.{len(names)}")
    return re.sub(r"[\w.]+", lambda m: names.get(m[0], m[0]), out)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("warpburg")
    args = parser.parse_args()
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            files = [Path(folder) / f"{side}.hlo" for side in ("left", "right")]
            for file, side in zip(files, (case.left, case.right)):
                file.write_text(text(case, side), encoding="utf-8")
            made = [graph(args.warpburg, f) for f in files]
            values = [re.sub(r"^.*output 0", "output 0", ran(args.warpburg, "eval", str(f))) for f in files]
            faults = []
            if "error" in "".join(made) or "output 0" not in values[0]:
                faults.append("it does not compile")
            elif values[0] != values[1]:
                faults.append("its sides are not equal")
            elif (made[0] == made[1]) == bool(case.open):
                faults.append("both sides are one graph by now" if case.open else "its sides are two graphs")
            if faults or args.verbose:
                print(f"{case.name}: {', '.join(faults) or case.open or 'one graph'}\n  {made[0]}\n  {made[1]}")
            if faults and values[0] != values[1]:
                print(values[0], values[1])
            bad += bool(faults)
    same = sum(not c.open for c in CASES)
    print(f"{len(CASES)} rewrites: {same} are one graph, {len(CASES) - same} are not")
    print(f"{len(CASES) - bad} passed, {bad} failed")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
