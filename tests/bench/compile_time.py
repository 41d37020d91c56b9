"""Processor time of compiling: medians by step of the compiler, and their share of the whole.

usage: compile_time.py WARPBURG [FILE.hlo | FOLDER].. [--times N] [--fresh] [--word WORD] [--target T] [--most MS] [--most-own MS]

Without files, GELU of shaderdb/corpus is compiled. Each file is compiled N times, 40 files a process, so that LLVM's start is amortised as in a
program that embeds the compiler. The best time of each file counts; declined files do not count, and neither does ptxas. Exit 1 where the median of
the whole exceeds --most, or that of everything but LLVM exceeds --most-own. With --fresh each file is compiled once in a process of its own,
as by hand: LLVM's start is in its steps, and `process` is the processor time of the process. With --word only files that have the word in their
text count: " reduce(".
"""
from __future__ import annotations

import argparse
import re
import resource
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Dict, List

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))

from warpburg_cli import llvm_ms  # noqa: E402

GELU = Path(__file__).resolve().parents[2] / "shaderdb" / "corpus" / "gelu.hlo"
PER_PROCESS = 40

Ms = Dict[str, float]


def compiles(warpburg: str, target: str, files: List[Path], times: int) -> List[Ms]:
    """The best compile of each file that is not declined: milliseconds by step."""
    out: List[Ms] = []
    for k in range(0, len(files), PER_PROCESS):
        some = [str(f) for f in files[k:k + PER_PROCESS]]
        command = [warpburg, "compile", "--target", target, "--time", *[f for f in some for _ in range(times)]]
        text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        runs = [{step: float(ms) for step, ms in re.findall(r"(\w+) ([0-9.]+)", line)} for line in text.splitlines() if line.startswith("ms: ")]
        # A declined file prints no line in any of its compiles, so the lines of a file are adjacent.
        out += [min(runs[i:i + times], key=lambda ms: ms["all"]) for i in range(0, len(runs), times)]
    return out


def fresh(warpburg: str, target: str, files: List[Path]) -> List[Ms]:
    """The same of one compile in a process of its own, and the time of that process."""
    out: List[Ms] = []
    for f in files:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        found = compiles(warpburg, target, [f], 1)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        out += [{**ms, "process": 1e3 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)} for ms in found]
    return out


def main() -> int:
    p = argparse.ArgumentParser(description="processor time of compiling")
    p.add_argument("warpburg")
    p.add_argument("paths", nargs="*", type=Path)
    p.add_argument("--times", type=int, default=0, help="compiles of each file; 3, or 40 of a single one")
    p.add_argument("--fresh", action="store_true")
    p.add_argument("--word", default="")
    p.add_argument("--target", default="sm_90")
    p.add_argument("--most", type=float, default=float("inf"))
    p.add_argument("--most-own", type=float, default=float("inf"))
    o = p.parse_args()
    files: List[Path] = []
    for path in o.paths or [GELU]:
        files += sorted(path.rglob("*.hlo")) if path.is_dir() else [path]
    files = [f for f in files if o.word in f.read_text(encoding="utf-8")]
    times = o.times or (40 if len(files) == 1 else 3)
    found = fresh(o.warpburg, o.target, files) if o.fresh else compiles(o.warpburg, o.target, files, times)
    if not found:
        sys.exit("no file compiles")
    own = [ms["all"] - llvm_ms(ms) for ms in found]
    whole, without = statistics.median(ms["all"] for ms in found), statistics.median(own)
    for step in found[0]:
        median = statistics.median(ms[step] for ms in found)
        print(f"{step:10} {median:8.3f} ms {100 * median / whole:5.1f} %")
    print(f"{len(found)} of {len(files)} files compile; median {whole:.2f} ms, without LLVM {without:.3f} ms; "
          f"most {max(ms['all'] for ms in found):.0f} ms, without LLVM {max(own):.1f} ms")
    return int(whole > o.most or without > o.most_own)


if __name__ == "__main__":
    sys.exit(main())
