"""What each permission of --assume changes (docs/assume.md): machine instructions of the code and as executed, and modelled time.

usage: permissions.py WARPBURG FILE|FOLDER.. [--target sm_90] [--sample 1] [--most 400] [--worst 5]

Kernels in which a permission changes instructions of PTX are profiled with and without it, four blocks of each. --sample: every Nth file; --most: of the
kernels that change so many are profiled, evenly chosen. Means are geometric.
"""
from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import Any, Dict, List, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.dont_write_bytecode = True

from gen import ops  # noqa: E402
from gen.proof.after_proof import Kernel, code, records  # noqa: E402

FIGURES = ("sass", "executed", "us")
Records = Dict[Kernel, Dict[str, Any]]


def under(assumed: str) -> List[str]: return ["--assume", assumed] if assumed else []


def opcodes(r: Dict[str, Any]) -> List[str]:
    """Of the PTX of a record, sorted: operands of a sum change places where a permission changes nothing else."""
    return sorted(line.split()[0] for line in code(r).splitlines() if line.strip().endswith(";"))


def profiled(warpburg: Path, files: List[Path], target: str, assumed: str) -> Records:
    return records(warpburg, files, [target], ["--profile", "4", *under(assumed)], True)


def row(assumed: str, before: Records, after: Records, n: int) -> Tuple[str, List[Tuple[float, Kernel]]]:
    """A line of the table, and the ratios of time."""
    both = [(k, [after[k][f] / before[k][f] for f in FIGURES]) for k in after
            if k in before and all(before[k].get(f) and after[k].get(f) for f in FIGURES)]
    if not both:
        return f"| `{assumed}` | {n} | none has a profile | | | | |", []
    mean = [math.exp(sum(math.log(x[i]) for _, x in both) / len(both)) for i in range(len(FIGURES))]
    times = sorted((x[2], k) for k, x in both)
    executed = sorted(x[1] for _, x in both)
    over = sum(t > 1.01 for t, _ in times)
    return (f"| `{assumed}` | {n}, {len(both)} | {mean[0]:.3f} | {mean[1]:.3f}, {executed[0]:.2f} to {executed[-1]:.2f} | {mean[2]:.3f} | {times[0][0]:.2f} | "
            + (f"{over}, by {times[-1][0]:.3f} at most |" if over else "none |")), times


def main() -> int:
    p = argparse.ArgumentParser()
    p.add_argument("warpburg", type=Path)
    p.add_argument("paths", nargs="+", type=Path)
    p.add_argument("--target", default="sm_90")
    p.add_argument("--sample", type=int, default=1)
    p.add_argument("--most", type=int, default=400)
    p.add_argument("--worst", type=int, default=5)
    o = p.parse_args()
    files = sorted(f for path in o.paths for f in (path.glob("**/*.hlo") if path.is_dir() else [path]))[::o.sample]
    plain = records(o.warpburg, files, [o.target], ["--listing"], False)
    print(f"{sum(r['status'] == 'ok' for r in plain.values())} kernels of {len(files)} files, {o.target}\n")
    print("| assumed | kernels that change, profiled | machine instructions | executed, least to most | modelled time | best | over 1.01 |")
    print("|---" * 7 + "|")
    said = []
    for assumed in (*ops.PERMISSIONS, ",".join(ops.PERMISSIONS)):
        now = records(o.warpburg, files, [o.target], ["--listing", *under(assumed)], False)
        changed = [k for k in plain if k in now and plain[k]["status"] == now[k]["status"] == "ok" and opcodes(plain[k]) != opcodes(now[k])]
        some = set(changed[::max(1, -(-len(changed) // o.most))])
        of = sorted({Path(k[0]) for k in some})
        before, after = ({k: r for k, r in profiled(o.warpburg, of, o.target, a).items() if k in some} for a in ("", assumed))
        line, times = row(assumed, before, after, len(changed))
        print(line, flush=True)
        said += [f"{assumed}: {t:.3f}  {Path(k[0]).name} {k[1]}" for t, k in times[::-1][:o.worst] if t > 1.01]
    print("\n" + "\n".join(said))
    return 0


if __name__ == "__main__":
    sys.exit(main())
