#!/usr/bin/env python3
"""Operations in the index maps of a corpus, before and after simplification.

    index_map_op_counts.py WARPBURG [--shared DIR] [--every N | --all] [-j N] [--list N]

The maps are those of every instruction of every tenth file of DIR/corpus (--every N; --all: of each file): which elements of its operands it reads,
and which elements use an operand's element. For each folder a line has the number of divisions, remainders, multiplications, additions
and comparisons without any rule, and after simplification. No division or remainder may remain whose quotient follows from the intervals of its
operands. --list N prints the N most frequent shapes of those that remain.

Ends with `N passed, M failed`, in files.
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

ROOT = Path(__file__).resolve().parents[2]
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
    """Results and constraints with a division or remainder, with every number as `k` and every variable as `i`."""
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
    return f"{after['provable']} quotients of known value remain" if after["provable"] else "", before, after, kept


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
