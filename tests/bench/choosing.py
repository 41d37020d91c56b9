#!/usr/bin/env python3
"""Processor time of planning, two builds side by side: what it takes to find kernels, layouts and prices, before there is code.

    choosing.py OLD NEW [--shared DIR] [--every N] [--from K] [--rounds R]

OLD and NEW are executables of warpburg; OLD `c3e75855` is that of yardstick.py, from the cache. Of every Nth fusion of the corpus the milliseconds that
`compile --emit plan --time` gives to `plan`, the least of R rounds, in which both builds take turns. Says the sum of each and the ratio, the geometric
mean of the ratios, and the files that take longest.
"""
from __future__ import annotations

import argparse
import math
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import List, Tuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT / "shaderdb"), str(ROOT / "tests" / "gpu")]

from yardstick import COMMIT, PARTS, yardstick  # noqa: E402

PART = re.compile(r"^ms: .*\bplan ([\d.]+)", re.M)


def plan_ms(program: str, file: Path) -> float:
    words = [program, "compile", str(file), "--target", "sm_90", "--accuracy", "xla", "--emit", "plan", "--time"]
    p = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False, timeout=240)
    found = PART.search(p.stdout + p.stderr)
    return float(found[1]) if p.returncode == 0 and found else math.nan


def paired(programs: Tuple[str, str], file: Path, rounds: int) -> Tuple[float, float]:
    times: List[List[float]] = [[], []]
    for k in range(rounds):
        for side in (0, 1) if k % 2 == 0 else (1, 0):
            times[side].append(plan_ms(programs[side], file))
    return min(times[0]), min(times[1])


def main() -> int:
    p = argparse.ArgumentParser(description="processor time of planning, two builds side by side")
    p.add_argument("builds", nargs=2, metavar="OLD NEW")
    p.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    p.add_argument("--every", type=int, default=4)
    p.add_argument("--from", type=int, default=0, dest="first")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("-j", type=int, default=1, dest="jobs")
    o = p.parse_args()
    if not (o.shared / "corpus").is_dir():
        print(f"skipped: {o.shared} is not there")
        return 0
    old, new = (str(yardstick(o.jobs)) if b == COMMIT else str(Path(b).resolve()) for b in o.builds)
    files = [f for part in PARTS for f in sorted((o.shared / "corpus" / part).rglob("*.hlo"))][o.first::o.every]
    with ThreadPoolExecutor(o.jobs) as pool:
        found = list(pool.map(lambda f: paired((old, new), f, o.rounds), files))
    rows = [(x, y, f) for (x, y), f in zip(found, files) if x > 0 and y > 0]
    sums = [sum(r[k] for r in rows) for k in (0, 1)]
    mean = math.exp(sum(math.log(y / x) for x, y, _ in rows) / max(len(rows), 1))
    print(f"{len(rows)} fusions: {sums[0]:.0f} ms before, {sums[1]:.0f} ms after, {sums[1] / sums[0]:.3f} in all; geometric mean of the ratios {mean:.3f}")
    for x, y, f in sorted(rows, key=lambda r: -r[1])[:8]:
        print(f"  {x:8.2f} -> {y:8.2f} ms  {f.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
