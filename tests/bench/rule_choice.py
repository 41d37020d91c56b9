"""What it would gain to choose among rules by their price: for each kernel, whether it takes less time without one of the rules that fired in it, so
that the next rule that matches, or none, takes its place.

usage: rule_choice.py BUILD FILE.hlo|FOLDER.. [--target SM].. [--every N] [--most N] [--least PERCENT] [--jobs N]

Rules are tried in the order of their lists, and the first that matches is taken. A choice by prices can be better only where a kernel is faster with
another way at some node; this takes away one line of rules at a time and models the time of every kernel that still compiles (`stats --profile`,
prices of patterns/prices.tsv). Of each line at most --most files in which it fires are compiled again, spread over the corpus; index rules are left
out, since they choose no instructions. Prints the lines without which a kernel takes at least --least percent less time, and the total if each
kernel chose the best way; then the lines that pay.
"""
from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any, Dict, List, Sequence, Tuple

Kernel = Tuple[str, str]  # file, name


def stats(program: Path, files: Sequence[str], target: str, jobs: int, *more: str) -> Dict[Kernel, Dict[str, Any]]:
    """Records of the kernels that compile, with modelled time; no machine code is made."""
    with tempfile.NamedTemporaryFile("w", suffix=".files") as names:
        names.write("".join(f"{f}\n" for f in files))
        names.flush()
        said = subprocess.run([str(program), "stats", "--files-from", names.name, "--target", target, "--profile", "4", "-j", str(jobs), *more],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={**os.environ, "WARPBURG_PTXAS": os.devnull}).stdout
    rows = [json.loads(line) for line in said.splitlines()]
    return {(r["file"], r["kernel"]): r for r in rows if r["status"] == "ok" and "us" in r}


def line_of(rule: str) -> str: return rule.split("[")[0]


def spread(some: Sequence[str], most: int) -> List[str]:
    return [some[k * len(some) // most] for k in range(most)] if len(some) > most else list(some)


def main() -> int:
    p = argparse.ArgumentParser(description="what a choice among rules by price would gain")
    p.add_argument("build")
    p.add_argument("corpus", nargs="+")
    p.add_argument("--target", action="append")
    p.add_argument("--every", type=int, default=1, help="every N-th file")
    p.add_argument("--most", type=int, default=30, help="files for a line of rules")
    p.add_argument("--least", type=float, default=0.5, help="percent")
    p.add_argument("--jobs", type=int, default=2)
    o = p.parse_args()
    program = Path(o.build).resolve() / "warpburg"
    files = sorted(str(f) for x in o.corpus for f in (Path(x).rglob("*.hlo") if Path(x).is_dir() else [Path(x)]))[::o.every]
    for target in o.target or ["sm_90"]:
        base = stats(program, files, target, o.jobs)
        firing: Dict[str, List[str]] = defaultdict(list)
        for (file, _), r in base.items():
            for line in dict.fromkeys(map(line_of, r["rules"])):
                if not line.startswith("patterns/indexing.py") and file not in firing[line][-1:]:
                    firing[line].append(file)
        best = {k: r["us"] for k, r in base.items()}
        tried = compared = needed = same = 0
        paying: List[Tuple[float, str, int, int, str]] = []
        for line, some in sorted(firing.items()):
            chosen = spread(some, o.most)
            without = stats(program, chosen, target, o.jobs, "--disable", line.removeprefix("patterns/"))
            tried += 1
            of = [(k, base[k]["us"], without[k]["us"]) for k in without if k in base]
            needed += not of
            compared += len(of)
            same += sum(a == b for _, a, b in of)
            gains = [(k, a, b) for k, a, b in of if b < a * (1 - o.least / 100)]
            for k, _, b in of:
                best[k] = min(best[k], b)
            if gains:
                k, a, b = max(gains, key=lambda x: x[1] / x[2])
                total = sum(b for _, _, b in of) / sum(a for _, a, _ in of)
                paying.append((total, line, len(gains), len(of), f"{Path(k[0]).name} {k[1]}: {a:.2f} -> {b:.2f} us"))
        us = sum(r["us"] for r in base.values())
        print(f"{target}: {len(base)} kernels, {us:.0f} us; {tried} lines of rules fire, {needed} of them are needed in every kernel tried; "
              f"{compared} kernels without one line, {same} of them take the same time; if each took its fastest way {sum(best.values()):.0f} us "
              f"({100 * sum(best.values()) / us - 100:+.2f} %)", flush=True)
        for total, line, n, count, example in sorted(paying):
            print(f"    {line}: {n} of {count} kernels take less time without it, all {100 * total - 100:+.2f} %; {example}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
