"""How long it takes from HLO to machine code, by two builds or two assemblers side by side.

usage: assemble.py BASE NEW --shared DIR [--every 8] [--fusions 500] [--assembler libnvptxcompiler.so]

1. Of every Nth of the corpus's programs: milliseconds from text to cubin in one process, each build in turn, the least of three times; the medians,
   and the processor time of all times together.
2. `compile FOLDER -o DIR` of many fusions: seconds, and of NEW a second time, with the cache that the first left.
Both without a cache but for the last. BASE assembles by the ptxas that it finds; NEW by --assembler where it is given. Other processes disturb this
less than it seems: the builds take turns file by file. `cpu` is processor time of the process and its children.
"""
from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Dict, List, Tuple

BLOCK = 20      # files a process, so that both builds see the same machine


def each(program: str, files: List[str], env: Dict[str, str], folder: str) -> List[float]:
    """Milliseconds of each file, in one process; 0: it is declined."""
    lines = "".join(f"compile\t{f}\t-o\t{folder}/{k}\t--time\n" for k, f in enumerate(files))
    Path(folder, "lines").write_text(lines)
    out = subprocess.run([program, "batch", f"{folder}/lines"], capture_output=True, text=True, env=env).stdout
    found, ms = [], 0.0
    for line in out.splitlines():
        if m := re.match(r"ms:.* all ([0-9.]+)$", line):
            ms = float(m[1])
        elif line.startswith('{"line"'):
            found.append(ms if '"status":0' in line else 0.0)
            ms = 0.0
    assert len(found) == len(files), out[-500:]
    return found


def children() -> float:
    """Seconds of the processor of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def whole(program: str, folder: str, out: str, env: Dict[str, str]) -> Tuple[float, float]:
    """Seconds of the clock and of the processor."""
    shutil.rmtree(out, ignore_errors=True)
    before, start = children(), time.monotonic()
    subprocess.run([program, "compile", folder, "-o", out], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
    return time.monotonic() - start, children() - before


def main() -> int:
    p = argparse.ArgumentParser()
    p.add_argument("base")
    p.add_argument("new")
    p.add_argument("--shared", required=True)
    p.add_argument("--every", type=int, default=8)
    p.add_argument("--fusions", type=int, default=500)
    p.add_argument("--assembler", default="")
    p.add_argument("--times", type=int, default=3)
    o = p.parse_args()
    corpus = sorted(str(f) for f in Path(o.shared, "corpus/programs").glob("*.hlo"))
    old = {**os.environ, "WARPBURG_CACHE": "off"}
    new = {**old, **({"WARPBURG_PTXAS": o.assembler} if o.assembler else {})}
    with tempfile.TemporaryDirectory() as folder:
        rows: List[Tuple[float, float]] = []
        cpu = [0.0, 0.0]
        files = corpus[::o.every]
        for k in range(0, len(files), BLOCK):
            part, best = files[k:k + BLOCK], {}
            for _ in range(o.times):
                for n, (program, env) in enumerate(((o.base, old), (o.new, new))):
                    before = children()
                    best[n] = [min(x, y) for x, y in zip(each(program, part, env, folder), best.get(n, [1e9] * len(part)))]
                    cpu[n] += children() - before
            rows += [(x, y) for x, y in zip(best[0], best[1]) if x and y]
        if rows:
            a, b = (statistics.median(r[k] for r in rows) for k in (0, 1))
            print(f"HLO to cubin, {len(rows)} fusions: medians {a:.1f} and {b:.1f} ms, {b / a:.3f}; median of ratios "
                  f"{statistics.median(y / x for x, y in rows):.3f}; cpu {cpu[0]:.1f} and {cpu[1]:.1f} s, {cpu[1] / cpu[0]:.3f}", flush=True)
        many = Path(folder, "many")
        many.mkdir()
        for f in corpus[1::max(1, len(corpus) // o.fusions)][:o.fusions]:
            shutil.copy(f, many)
        cached = {**new, "WARPBURG_CACHE": f"{folder}/cache"}
        a, cpu_a = whole(o.base, str(many), f"{folder}/a", old)
        print(f"compile FOLDER -o, {len(list(many.iterdir()))} fusions: {a:.1f} s (cpu {cpu_a:.1f})", flush=True)
        for what in ("new", "second time"):
            b, cpu_b = whole(o.new, str(many), f"{folder}/b", cached)
            print(f"{what}: {b:.2f} s, {b / a:.3f} (cpu {cpu_b:.2f}, {cpu_b / cpu_a:.3f})", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
