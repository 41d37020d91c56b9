"""What the kernels of both back ends execute and how long they take, by the profile: the tables' over LLVM's.

usage: back_ends.py WARPBURG --shared DIR [--target sm_90] [--every 1] [--blocks 24] [--worst 20]

Every Nth of the corpus's fusions, a sample of blocks of each. Static counts do not see what matters most: a loop that the assembler unrolls has more
instructions and runs fewer, and a store for each element costs sectors. Kernels that allow no sample, or take more than 20 s, are left out.
"""
from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Optional, Tuple


def profiled(seconds: int, warpburg: str, *words: str) -> Optional[Tuple[float, float]]:
    """(warps' instructions, microseconds) of all launches of `run` with these words; None: it has no profile, or not in so many seconds."""
    p = subprocess.run(["timeout", str(seconds), warpburg, "run", *words, "--profile", "--json"], capture_output=True, text=True, check=False)
    if p.returncode:
        return None
    launches = [launch for k in json.loads(p.stdout)["kernels"] for launch in k["launches"]]
    executed, us = sum(x["terms"]["issue"]["amount"] for x in launches), sum(x["us"] for x in launches)
    return (executed, us) if executed and us else None


def by(warpburg: str, backend: str, file: str, target: str, blocks: int) -> Optional[Tuple[float, float]]:
    """The same of a fusion by one back end, without what was kept of earlier runs."""
    return profiled(20, warpburg, file, "--backend", backend, "--target", target, "--no-cache", "--blocks", str(blocks))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("warpburg")
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--target", default="sm_90")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--blocks", type=int, default=24)
    parser.add_argument("--worst", type=int, default=20)
    args = parser.parse_args()
    files = sorted((args.shared / "corpus/programs").glob("*.hlo"))[::args.every]
    with ThreadPoolExecutor() as pool:
        both = list(pool.map(lambda f: (f, *(by(args.warpburg, b, str(f), args.target, args.blocks) for b in ("ptx", "llvm"))), files))
    rows = [(x[1] / y[1], x[0] / y[0], x[1], y[1], f.name) for f, x, y in both if x and y]
    if not rows:
        print("no kernel has a profile by both back ends")
        return 1
    mean = lambda k: math.exp(statistics.mean(math.log(r[k]) for r in rows))  # noqa: E731
    print(f"{len(rows)} kernels of {len(files)}: executed {mean(1):.3f} in the mean; time {mean(0):.3f} in the mean, "
          f"{sum(r[2] for r in rows) / sum(r[3] for r in rows):.3f} in sum, above 1.05 in {sum(r[0] > 1.05 for r in rows)}")
    for time, executed, ours, llvm, name in sorted(rows, reverse=True)[:args.worst]:
        print(f"  {time:.3f}  {ours:.2f} us for {llvm:.2f}, executed {executed:.3f}  {name}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
