#!/usr/bin/env python3
"""The modelled time of our kernels against that of XLA's PTX, over a sample of the corpus: geometric means by group, and the worst kernels.

    model_xla.py [WARPBURG] [--shared DIR] [--set programs,fusions] [--group reductions] [--every N] [--from K] [--scale LMS] [--only TEXT]
                 [--accuracy LEVEL] [--blocks N] [-j N] [--out ROWS.tsv]

Each pair runs once in the simulator on the same inputs, `run FILE.hlo --profile --against THEIRS.ptx` (docs/profile.md), both with the rates of sm_90. Of
large grids a sample of blocks runs. A kernel that is declined, too large to run whole where it must, or faulty is counted and named, and not compared.
A pair is bound by bytes where both are bound by dram: there the ratio says how many bytes are moved, and above 1.01 it is a reason to look. On chip a
kernel takes what the busiest unit of an SM takes, of issue slots, pipes and wavefronts: that decides where the data is in L2. Small kernels take less of it
where their blocks are on more SMs, which issue slots of all SMs do not see.
"""
from __future__ import annotations

import argparse
import csv
import json
import math
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Counter as Counts, Dict, List, NamedTuple, Optional, Sequence, Tuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT), str(ROOT / "shaderdb")]

from tools import environment, find_warpburg  # noqa: E402

SETS = ("programs", "blocks", "fusions", "emitter-tests")
SHOWN = 20
THREADS = 1 << 15       # of a grid; larger ones run a sample of BLOCKS, but scatters, of whose blocks the first ones change the most
BLOCKS = 32
SECONDS = 120


class Row(NamedTuple):
    file: str
    part: str
    group: str
    scale: str
    ours: float         # microseconds
    theirs: float
    work: float         # without launches
    their_work: float
    binds: str
    their_binds: str
    launches: int
    chip: float         # microseconds of the busiest unit of an SM
    their_chip: float
    slots: float        # issue slots, of all SMs
    their_slots: float
    bytes: float        # that DRAM moves, temporaries included
    their_bytes: float
    shared: float       # wavefronts of shared memory, of all SMs
    their_shared: float
    shared_least: float  # that the bytes of ours fill
    shared_ideal: float  # .. those of each access, at least one: lanes that are off leave parts of it empty
    why: str            # the term that differs most, where ours is slower

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs


def group_of(text: str) -> str:
    words = {" scatter(": "scatters", " reduce(": "reductions", " reduce-window(": "reductions", " transpose(": "transposes", " sort(": "sorts"}
    return next((group for word, group in words.items() if word in text), "loops")


def scale_of(file: str) -> str:
    parts = file.split(".")
    return next((p[0] for p in parts if p[:3] in ("S__", "M__", "L__")), "-")


def threads(row: Dict[str, str]) -> int:
    return math.prod(int(word) for word in (row["grid"] + "," + row["block"]).split(","))


def terms(kernel: Dict[str, Any]) -> Dict[str, float]:
    out: Counts[str] = Counter()
    for launch in kernel["launches"]:
        out.update({name: t["us"] for name, t in launch["terms"].items()})
        out.update({name: launch[name] for name in ("launch", "latency", "code", "tail")})
    return out


def on_chip(kernel: Dict[str, Any]) -> float:
    """Of each launch the busiest unit."""
    return sum(max(t["us"] for name, t in launch["terms"].items() if name in ("issue", "wavefronts") or name.startswith("pipe."))
               for launch in kernel["launches"])


def slots(kernel: Dict[str, Any]) -> float:
    return sum(launch["terms"]["issue"]["amount"] for launch in kernel["launches"])


def moved(kernel: Dict[str, Any]) -> float:
    return sum(launch["terms"]["dram"]["amount"] for launch in kernel["launches"])


def of_shared(kernel: Dict[str, Any], what: str) -> float:
    return sum(i["shared"][what] * launch["grid"] / launch["blocks"] for launch in kernel["launches"] for i in launch["instructions"] if "shared" in i)


def explained(ours: Dict[str, Any], theirs: Dict[str, Any]) -> str:
    x, y = terms(ours), terms(theirs)
    name = max(x, key=lambda k: x[k] - y[k])
    return f"{name} {x[name]:.2f} us for {y[name]:.2f}"


def compared(warpburg: str, shared: Path, accuracy: str, blocks: int, part: str, row: Dict[str, str]) -> Tuple[Optional[Row], str]:
    file = row["file"]
    hlo = shared / "corpus" / part / file
    ptx = shared / "anchors" / "ptx" / part / (file[:-len(".hlo")].replace("/", "__") + ".ptx")
    words = [warpburg, "run", str(hlo), "--profile", "--json", "-j", "1", "--against", f"{ptx}:{row['grid']}:{row['block']}:{row['shared'] or 0}"]
    words += ["--accuracy", accuracy]
    sampled = threads(row) > THREADS and group_of(hlo.read_text(encoding="utf-8")) != "scatters"
    try:
        p = subprocess.run([*words, *(["--blocks", str(blocks)] if sampled else [])], capture_output=True, text=True, check=False, timeout=SECONDS,
                           env={**os.environ, **dict(environment())})
    except subprocess.TimeoutExpired:
        return None, "takes too long"
    if p.returncode:
        first = (p.stdout + p.stderr).strip().splitlines()
        several = "a sample of blocks" in p.stderr
        why = "declined" if p.returncode == 3 else "no sample of several launches" if several else "fault" if p.returncode == 4 else "failed"
        return None, why if why != "failed" else f"failed: {first[-1][:200] if first else p.returncode}"
    ours, theirs = json.loads(p.stdout)["kernels"]
    text = hlo.read_text(encoding="utf-8")
    first, second = ours["launches"][0], theirs["launches"][0]
    return Row(file, part, group_of(text), scale_of(file), ours["us"], theirs["us"], sum(k["work"] for k in ours["launches"]), second["work"], first["binds"],
               second["binds"], len(ours["launches"]), on_chip(ours), on_chip(theirs), slots(ours), slots(theirs),
               moved(ours), moved(theirs), of_shared(ours, "wavefronts"), of_shared(theirs, "wavefronts"), of_shared(ours, "bytes") / 128,
               of_shared(ours, "ideal"),
               explained(ours, theirs)), ""


def mean(ratios: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def report(rows: List[Row]) -> str:
    out = []
    for group in sorted({r.group for r in rows}):
        for scales, name in (("LM-", "L and M"), ("S", "S")):
            some = [r for r in rows if r.group == group and r.scale in scales]
            if not some:
                continue
            ratios = sorted(r.ratio for r in some)
            bytes_bound = [r for r in some if r.binds == r.their_binds == "dram"]
            out.append(f"{group}, {name}: {len(some)} kernels, modelled time over XLA's: geometric mean {mean(ratios):.3f}, without launches "
                       f"{mean([r.work / r.their_work for r in some if r.work > 0 < r.their_work]):.3f}, on chip "
                       f"{mean([r.chip / r.their_chip for r in some if r.chip > 0 < r.their_chip]):.3f}, issue slots of all SMs "
                       f"{mean([r.slots / r.their_slots for r in some if r.slots > 0 < r.their_slots]):.3f}; at most 1.01 in "
                       f"{100 * sum(r <= 1.01 for r in ratios) / len(ratios):.1f} %; deciles "
                       f"{' '.join(f'{ratios[min(len(ratios) * d // 10, len(ratios) - 1)]:.2f}' for d in (1, 5, 9))}; bound by bytes in both: "
                       f"{len(bytes_bound)}, of them above 1.01: {sum(r.ratio > 1.01 for r in bytes_bound)}")
        all_of = [r for r in rows if r.group == group]
        chip = mean([r.chip / r.their_chip for r in all_of if r.chip > 0 < r.their_chip])
        large = [r.bytes / r.their_bytes for r in all_of if r.their_bytes >= 1 << 20]
        out.append(f"{group}: {len(all_of)} kernels, at most 1.01 in {100 * sum(r.ratio <= 1.01 for r in all_of) / len(all_of):.1f} %; on chip "
                   f"{chip:.3f}; bytes over XLA's, of "
                   f"{len(large)} that move 1 MiB or more: geometric mean {mean(large):.3f}, above 1.02 in {sum(x > 1.02 for x in large)}")
        both = [r.shared / r.their_shared for r in all_of if r.shared > 0 < r.their_shared]
        ours = [r.shared / r.shared_least for r in all_of if r.shared > 0]
        each = [r.shared / r.shared_ideal for r in all_of if r.shared > 0]
        out.append(f"{group}: wavefronts of shared memory over XLA's, of {len(both)} where both have some: geometric mean {mean(both):.3f}, above theirs in "
                   f"{sum(x > 1.00001 for x in both)}; over bytes / 128, of {len(ours)}: above in {sum(x > 1.00001 for x in ours)}; "
                   f"over those of each access by itself: above in {sum(x > 1.00001 for x in each)}")
    out.append("bound by: " + ", ".join(f"{k} {n}" for k, n in Counter(r.binds for r in rows).most_common()))
    out.append(f"worst {SHOWN}:")
    for r in sorted(rows, key=lambda r: -r.ratio)[:SHOWN]:
        out.append(f"  {r.ratio:6.2f}  {r.part}/{r.file}: {r.ours:.2f} us ({r.binds}, launches {r.launches}), "
                   f"XLA's {r.theirs:.2f} us ({r.their_binds}); {r.why}")
    return "\n".join(out)


def main() -> int:
    p = argparse.ArgumentParser(description="modelled time of our kernels against XLA's")
    p.add_argument("warpburg", nargs="?", default="")
    p.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    p.add_argument("--set", default=",".join(SETS), dest="sets")
    p.add_argument("--group", default="", help="only kernels of this group")
    p.add_argument("--every", type=int, default=1)
    p.add_argument("--from", type=int, default=0, dest="first")
    p.add_argument("--scale", default="LMS-")
    p.add_argument("--only", default="", help="only files whose name contains this")
    p.add_argument("--accuracy", default="exact", choices=("exact", "xla", "approx"), help="of ours; XLA's quotients and roots are approximate")
    p.add_argument("--blocks", type=int, default=BLOCKS,
                   help="of large grids; a few have not the wavefronts of all where tiles reach beyond the end")
    p.add_argument("-j", type=int, default=min(2, os.cpu_count() or 1), dest="jobs")
    p.add_argument("--out", type=Path, help="write a row for each pair")
    o = p.parse_args()
    if not (o.shared / "anchors").is_dir():
        print(f"skipped: anchors: {o.shared}/anchors is not there")
        return 0
    warpburg = find_warpburg(o.warpburg)
    work: List[Tuple[str, Dict[str, str]]] = []
    for part in o.sets.split(","):
        with open(o.shared / "anchors" / f"{part}.tsv", encoding="utf-8", newline="") as lines:
            rows_of = [r for r in csv.DictReader(lines, delimiter="\t") if r["status"] == "ok"]
        some = [r for r in rows_of if o.only in r["file"] and scale_of(r["file"]) in o.scale]
        if o.group:
            some = [r for r in some if group_of((o.shared / "corpus" / part / r["file"]).read_text(encoding="utf-8")) == o.group]
        work += [(part, r) for r in some[o.first::o.every]]
    rows: List[Row] = []
    left: Counts[str] = Counter()
    with ThreadPoolExecutor(o.jobs) as pool:
        for (part, r), (row, why) in zip(work, pool.map(lambda x: compared(warpburg, o.shared, o.accuracy, o.blocks, *x), work)):
            if row:
                rows.append(row)
            else:
                left[why.split(":")[0]] += 1
                if why not in ("declined", "no sample of several launches"):
                    print(f"{part}/{r['file']}: {why}", flush=True)
    print(report(rows))
    print(f"{len(rows)} pairs; without one: " + ", ".join(f"{n} {why}" for why, n in sorted(left.items())))
    if o.out:
        o.out.write_text("\n".join(["\t".join((*Row._fields, "ratio")), *("\t".join(map(str, (*r, f"{r.ratio:.4f}"))) for r in rows)]) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
