#!/usr/bin/env python3
"""What is left to compute in every index map over a corpus, before and after simplification.

    index_map_op_counts.py WARPBURG [--shared DIR] [--every N | --all] [-j N] [--list N]

For the maps of every operand of every instruction of every tenth (--every N) file of DIR/corpus (--all: each), and for where operands' elements go:
the number of divisions, remainders, multiplications, additions and comparisons as the maps are made with no rule, and as they are
simplified, a line for each folder. A quotient that the facts know must not be left over: each one fails. --list N prints the N
commonest shapes of the divisions and remainders that stay.

Ends with `N passed, M failed`: files whose maps were counted, files with something left over or that could not be read.
"""
from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Dict, List, Tuple

ROOT = Path(__file__).resolve().parent.parent
KINDS = ("div", "rem", "mul", "add", "compare")
TIMEOUT = 60


def maps(program: str, file: Path, *words: str) -> List[Dict[str, Any]]:
    p = subprocess.run([program, "map", "--hlo", str(file), "--json", *words], capture_output=True, text=True, errors="replace", timeout=TIMEOUT)
    if p.returncode:
        raise RuntimeError(p.stderr.strip().splitlines()[-1] if p.stderr.strip() else f"exit {p.returncode}")
    return [m["map"] for line in p.stdout.splitlines() for m in json.loads(line)["maps"]]


def total(found: List[Dict[str, Any]]) -> Counter:
    counts: Counter = Counter(maps=len(found))
    for m in found:
        counts.update(m["cost"])
    return counts


def shapes(found: List[Dict[str, Any]]) -> Counter:
    """Results and constraints with a division or remainder; numbers and variables made alike."""
    kept: Counter = Counter()
    for m in found:
        for e in m["results"] + [c["expression"] for c in m["constraints"]]:
            if "/" in e or "mod" in e:
                kept[re.sub(r"\b[a-z]+\d*\b(?<!mod)(?<!min)(?<!max)", "i", re.sub(r"\b\d+\b", "k", e))] += 1
    return kept


def judge(program: str, file: Path) -> Tuple[str, Counter, Counter, Counter]:
    before: Counter = Counter()
    after: Counter = Counter()
    kept: Counter = Counter()
    try:
        for words in ((), ("--uses",)):
            before.update(total(maps(program, file, "--op", "read", *words)))
            found = maps(program, file, *words)
            after.update(total(found))
            kept.update(shapes(found))
    except (RuntimeError, subprocess.TimeoutExpired) as e:
        return str(e), before, after, kept
    return f"{after['provable']} quotients that the facts know are left" if after["provable"] else "", before, after, kept


def row(name: str, before: Counter, after: Counter) -> str:
    return f"{name:16}{after['maps']:9}  " + "  ".join(f"{before[k]:8} ->{after[k]:7}" for k in KINDS)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("-j", type=int, default=2)
    parser.add_argument("--list", type=int, default=0)
    args = parser.parse_args()
    corpus = args.shared / "corpus"
    files = sorted(corpus.rglob("*.hlo"))
    if not files:
        print(f"skipped: index maps of the corpus: {corpus} is not there\n0 passed, 0 failed")
        return 0
    files = files[:: 1 if args.all else args.every]
    sums: Dict[str, Tuple[Counter, Counter]] = {}
    kept: Counter = Counter()
    failed = 0
    with ThreadPoolExecutor(max_workers=max(args.j, 1)) as pool:
        for file, (why, before, after, shape) in zip(files, pool.map(lambda f: judge(args.program, f), files)):
            if why:
                print(f"failed: {file.relative_to(corpus)}: {why}", flush=True)
            failed += bool(why)
            kept.update(shape)
            for name in (file.relative_to(corpus).parts[0], "all"):
                x, y = sums.setdefault(name, (Counter(), Counter()))
                x.update(before)
                y.update(after)
    print(f"{'folder':16}{'maps':>9}  " + "  ".join(f"{k:>18}" for k in KINDS))
    for name in sorted(sums, key=lambda n: (n == "all", n)):
        print(row(name, *sums[name]))
    for shape, n in kept.most_common(args.list):
        print(f"{n:8}  {shape}")
    print(f"{len(files) - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
