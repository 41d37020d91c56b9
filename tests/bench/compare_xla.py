#!/usr/bin/env python3
"""Our machine code against XLA's, over the fusions of real programs: the distribution of the ratio, and the best and worst kernels.

    compare_xla.py [WARPBURG] [--shared DIR] [--scale LMS] [--every N] [-j N] [--accuracy LEVEL] [--html OUT.html] [--check | --update] [--widths | --larger]

The files are those of DIR/corpus/programs for which DIR/anchors/programs.tsv has XLA's kernel (sm_90, the same assembler). The ratio is that of
`sass * warps`, the instructions that the GPU issues, ours over XLA's. Where either kernel has a loop or a branch, it is that of the machine
instructions that a sample of blocks executes in the simulator. Reductions, transposes through shared memory and scatters are groups of their own,
and so are small sizes (S), where the ratio depends on how blocks are rounded up.

  --check    compares with compare_xla.tsv, which is committed; names the kernels that got worse, and exits 1 if there is one
  --update   writes compare_xla.tsv
  --accuracy compiles ours with it: at `xla` quotients and roots are approximate, as XLA's are
  --widths   lists the accesses narrower than XLA's, each with its reason; exits 1 if a reason is missing
  --larger   lists the kernels larger than XLA's, each with its reason; exits 1 if a reason is missing

Our kernels come from `shaderdb/run`, with its cache. XLA's are assembled and classified once, and the result is kept by the hash of the PTX.
"""
from __future__ import annotations

import argparse
import csv
import hashlib
import json
import math
import os
import re
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT), str(ROOT / "shaderdb")]

from back_ends import profiled  # noqa: E402
from gen.proof.sass import sections  # noqa: E402
from tools import cache_folder, environment, find_warpburg  # noqa: E402

BASELINE = HERE / "compare_xla.tsv"
SHOWN = 20
WORSE = 1.02        # times its baseline: above this a kernel got worse
SAMPLED = 2         # blocks that are run of a kernel with a loop or a branch
GROUPS = ("loops", "reductions", "transposes", "scatters")
FEW = 3             # kernels that an operation needs for a mean of its own
TYPED = re.compile(r"=\s*([a-z]\w*)\[[^=]*?\s(?!fusion|parameter)([a-z][\w\-]*)\(")
REGISTERS, THREADS, MULTIPROCESSORS = 65536, 2048, 132


@dataclass
class Pair:
    """A fusion: our record of shaderdb, XLA's row of the table, and XLA's machine instructions by class."""
    file: str
    scale: str
    group: str
    ours: Dict[str, Any]
    theirs: Dict[str, str]
    classes: Dict[str, int]
    operations: List[str]       # with their types: add.f32
    executed: Optional[Tuple[float, float]] = None   # warp instructions of both, where either has a loop

    @property
    def ratio(self) -> float:
        if self.executed:
            return self.executed[0] / self.executed[1]
        return self.ours["sass"] * self.ours["warps"] / (int(self.theirs["sass"]) * int(self.theirs["warps"]))

    @property
    def branches(self) -> bool:
        """Does either kernel execute some of its instructions often, or not at all?"""
        return any(int(x[k]) for x in (self.ours, self.theirs) for k in ("loops", "branch"))

    def difference(self) -> str:
        """Our machine instructions less XLA's, by class and for each warp of XLA's kernel, the largest difference first."""
        scale = self.ours["warps"] / int(self.theirs["warps"])
        mine = {k: n * scale for k, n in self.ours["classes"].items()}
        gaps = {k: mine.get(k, 0) - self.classes.get(k, 0) for k in {*mine, *self.classes}}
        return ", ".join(f"{k} {gap:+.0f}" for k, gap in sorted(gaps.items(), key=lambda x: -abs(x[1])) if abs(gap) >= 0.5)

    def describe(self) -> str:
        t = self.theirs
        how = " executed" if self.executed else ""
        return (f"  {self.ratio:5.2f}{how}  {self.file[:-4]}: {self.ours['sass']} x {self.ours['warps']} warps, {self.ours['regs']} registers; "
                f"XLA's {t['sass']} x {t['warps']}, {t['regs']}\n           {self.difference()}")


def occupancy(registers: int) -> int:
    """Warps that fit a multiprocessor with so many registers a thread, which are allocated 8 at a time; warps 4 at a time."""
    return min(THREADS // 32, REGISTERS // (max(8, (registers + 7) // 8 * 8) * 32) // 4 * 4)


def at_work(registers: int, warps: int) -> float:
    """The share of a kernel's elements that its resident warps on one multiprocessor work on."""
    return min(occupancy(registers), warps / MULTIPROCESSORS) / warps


# --- XLA's kernels by class ----------------------------------------------------------------------------------------------------------
def class_table() -> Dict[int, str]:
    """Operation -> class, from the table that warpburg counts by."""
    text = (ROOT / "src" / "target" / "sass_class.c").read_text(encoding="utf-8")
    return {int(op, 16): name.lower() for op, name in re.findall(r"\{(0x[0-9a-f]+), TG_(\w+)\}", text)}


def classes_of(ptx: Path, table: Dict[int, str], ptxas: str) -> Dict[str, int]:
    with tempfile.NamedTemporaryFile(suffix=".cubin") as out:
        subprocess.run([ptxas, "-arch=sm_90a", str(ptx), "-o", out.name], check=True, capture_output=True)
        elf = Path(out.name).read_bytes()
    counts: Dict[str, int] = {}
    for name, code in sections(elf).items():
        if not name.startswith(".text."):
            continue
        words = [struct.unpack_from("<Q", code, at)[0] for at in range(0, len(code), 16)]
        while words and words[-1] & 0x1FF == 0x118:
            words.pop()
        for word in words[:-1]:      # without the last, a branch to itself
            kind = table.get(word & 0x1FF, "other")
            counts[kind] = counts.get(kind, 0) + 1
    return counts


class Kept:
    """Results of earlier runs, in a file beside shaderdb's cache."""

    def __init__(self) -> None:
        self.path = Path(cache_folder()).parent / "anchors.json"
        self.known: Dict[str, Any] = json.loads(self.path.read_text()) if self.path.exists() else {}

    def get(self, key: str, find: Callable[[], Any]) -> Any:
        if key not in self.known:
            self.known[key] = find()
        return self.known[key]

    def write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(self.known))


def theirs_by_class(files: Dict[str, Path], jobs: int, kept: Kept) -> Dict[str, Dict[str, int]]:
    table = class_table()
    salt = hashlib.sha256(repr(sorted(table.items())).encode()).digest()
    ptxas = os.environ.get("WARPBURG_PTXAS") or dict(environment()).get("WARPBURG_PTXAS") or "/usr/local/cuda/bin/ptxas"

    def one(path: Path) -> Dict[str, int]:
        return kept.get(hashlib.sha256(salt + path.read_bytes()).hexdigest()[:24], lambda: classes_of(path, table, ptxas))

    with ThreadPoolExecutor(jobs) as pool:
        return dict(zip(files, pool.map(one, files.values())))


# --- both ------------------------------------------------------------------------------------------------------------------------------
def group_of(text: str, theirs: Dict[str, str]) -> str:
    if re.search(r"\bscatter\(", text):
        return "scatters"
    if re.search(r"\breduce\(", text) and (theirs["shfl"] != "0" or theirs["loops"] != "0"):
        return "reductions"
    return "transposes" if theirs["bar"] != "0" else "loops"


def issued(warpburg: str, words: List[str]) -> float:
    """Machine instructions of the warps of a launch, extrapolated from a sample of its blocks; 0 where the simulator does not finish."""
    found = profiled(60, warpburg, *words, "--blocks", str(SAMPLED))
    return found[0] if found else 0


def executed(warpburg: str, p: Pair, hlo: Path, ptx: Path, kept: Kept, accuracy: str) -> Optional[Tuple[float, float]]:
    """Machine instructions of both kernels, kept under the key of our compilation and the hash of XLA's PTX."""
    grid, block = p.theirs["grid"].split(",")[0], p.theirs["block"].split(",")[0]
    mine = kept.get(f"issued ours {p.ours['key']}", lambda: issued(warpburg, [str(hlo), "--target", "sm_90", "--accuracy", accuracy]))
    other = kept.get(f"issued theirs {hashlib.sha256(ptx.read_bytes()).hexdigest()[:24]}", lambda: issued(
        warpburg, [str(hlo), "--ptx", str(ptx), "--grid", grid, "--block", block, "--padding", "256"]))
    return (mine, other) if mine and other else None


def our_records(warpburg: str, folder: Path, files: List[str], jobs: int, accuracy: str) -> Dict[str, Dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="anchors.") as work:
        chosen, out = Path(work) / "programs", Path(work) / "ours.jsonl"
        chosen.mkdir()
        for name in files:
            (chosen / name).symlink_to(folder / name)
        command = [sys.executable, str(ROOT / "shaderdb" / "run"), str(chosen), "--target", "sm_90", "-o", str(out), "--warpburg", warpburg,
                   "-j", str(jobs), "--no-ms", "--accuracy", accuracy]
        p = subprocess.run(command, env={**os.environ, **dict(environment())}, capture_output=True, text=True, check=False)
        if p.returncode:
            raise SystemExit(p.stderr)
        with open(out, encoding="utf-8") as lines:
            return {r["file"]: r for r in map(json.loads, lines) if "run" not in r}  # the first line says what made the others


def pairs_of(warpburg: str, shared: Path, scales: str, every: int, jobs: int, accuracy: str = "exact") -> Tuple[List[Pair], Dict[str, int]]:
    """The pairs, and how many files have none, by reason."""
    folder = shared / "corpus" / "programs"
    with open(shared / "anchors" / "programs.tsv", encoding="utf-8", newline="") as text:
        theirs = {row["file"]: row for row in csv.DictReader(text, delimiter="\t") if row["status"] == "ok"}
    with open(folder / "index.tsv", encoding="utf-8", newline="") as text:
        scale = {row["file"]: row["scale"] for row in csv.DictReader(text, delimiter="\t")}
    files = sorted(f for f in theirs if scale.get(f, "?") in scales)[::every]
    ours = our_records(warpburg, folder, files, jobs, accuracy)
    ptx = {f: shared / "anchors" / "ptx" / "programs" / f"{f[:-4]}.ptx" for f in files}
    kept = Kept()
    classes = theirs_by_class(ptx, jobs, kept)
    kept.write()
    left: Dict[str, int] = {}
    out = []
    for f in files:
        r = ours.get(f, {"status": "missing", "reason": ""})
        if r["status"] != "ok" or not r.get("sass") or not r["warps"]:
            why = f"declined, {r['reason']}" if r["status"] == "declined" else "needs no kernel" if r["status"] == "ok" else r["status"]
            left[why] = left.get(why, 0) + 1
            continue
        text = (folder / f).read_text(encoding="utf-8")
        operations = sorted({f"{op}.{kind}" for kind, op in TYPED.findall(text)})
        out.append(Pair(f, scale[f], group_of(text, theirs[f]), r, theirs[f], classes[f], operations))
    with ThreadPoolExecutor(jobs) as pool:
        some = [p for p in out if p.branches]
        for p, found in zip(some, pool.map(lambda p: executed(warpburg, p, folder / p.file, ptx[p.file], kept, accuracy), some)):
            p.executed = found
    kept.write()
    unmeasured = sum(p.branches and not p.executed for p in out)
    if unmeasured:
        left["not executed in a minute, or in several launches"] = unmeasured
    return [p for p in out if p.executed or not p.branches], left


# --- text ------------------------------------------------------------------------------------------------------------------------------
def mean(ratios: List[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else float("nan")


def summary(pairs: List[Pair]) -> Dict[str, float]:
    ratios = sorted(p.ratio for p in pairs)
    lower = [p for p in pairs if occupancy(p.ours["regs"]) < occupancy(int(p.theirs["regs"]))]
    idle = [p for p in lower if at_work(p.ours["regs"], p.ours["warps"]) < at_work(int(p.theirs["regs"]), int(p.theirs["warps"]))]
    programs: Dict[str, List[float]] = {}
    for p in pairs:
        programs.setdefault(p.file.split("__")[0], []).append(p.ratio)
    return {"kernels": len(pairs), "mean": mean(ratios), "programs": len(programs), "by program": mean([mean(r) for r in programs.values()]),
            "no larger": sum(r <= 1 for r in ratios) / len(ratios),
            **{f"{d} %": ratios[min(len(ratios) * d // 100, len(ratios) - 1)] for d in (10, 50, 90)},
            "registers": mean([p.ours["regs"] / int(p.theirs["regs"]) for p in pairs]), "less occupancy": len(lower), "fewer at work": len(idle)}


def parts(pairs: List[Pair]) -> List[Tuple[str, List[Pair]]]:
    """The groups that have members, with their names: of each group the large and medium files, then the small ones."""
    out = []
    for group in GROUPS:
        for scales, name in (("LM", f"{group}, L and M"), ("S", f"{group}, S")):
            some = [p for p in pairs if p.group == group and p.scale in scales]
            if some:
                out.append((name, some))
    return out


def report(pairs: List[Pair], left: Dict[str, int]) -> str:
    lines = []
    for name, some in parts(pairs):
        s = summary(some)
        lines.append(f"{name}: {len(some)} kernels, issued instructions over XLA's: geometric mean {s['mean']:.3f}, "
                     f"{s['by program']:.3f} where each of {s['programs']} programs counts once, no larger in {100 * s['no larger']:.1f} %, "
                     f"deciles {s['10 %']:.2f} {s['50 %']:.2f} {s['90 %']:.2f}; registers {s['registers']:.2f}, fewer warps for them in {s['less occupancy']}, "
                     f"fewer elements at work in {s['fewer at work']}")
    lines.append("without a pair: " + ", ".join(f"{n} {why}" for why, n in sorted(left.items())) if left else "every file has a pair")
    watched = sorted((p for p in pairs if p.group == "loops" and p.scale in "LM"), key=lambda p: (p.ratio, p.file))
    for title, some in ((f"worst {SHOWN} of loops, L and M", watched[:-SHOWN - 1:-1]), (f"best {SHOWN}", watched[:SHOWN])):
        lines.append(f"{title}; by class for each warp of XLA's:")
        lines += [p.describe() for p in some]
    by: Dict[str, List[float]] = {}
    for p in watched:
        for operation in p.operations:
            by.setdefault(operation, []).append(p.ratio)
    means = sorted(((mean(r), op, len(r)) for op, r in by.items() if len(r) >= FEW), reverse=True)
    lines.append("mean of the kernels that have an operation, worst first: " + ", ".join(f"{op} {m:.2f} ({n})" for m, op, n in means[:SHOWN]))
    return "\n".join(lines)


# --- baseline --------------------------------------------------------------------------------------------------------------------------
def write_baseline(pairs: List[Pair]) -> None:
    rows = [f"{p.file}\t{p.group}\t{p.scale}\t{p.ratio:.4f}\t{p.ours['sass']}\t{p.ours['warps']}\t{p.ours['regs']}"
            for p in sorted(pairs, key=lambda p: p.file)]
    BASELINE.write_text("\n".join(["file\tgroup\tscale\tratio\tsass\twarps\tregs", *rows]) + "\n", encoding="utf-8")
    print(f"{BASELINE.name} written: {len(rows)} kernels")


def check_baseline(pairs: List[Pair]) -> int:
    with open(BASELINE, encoding="utf-8", newline="") as text:
        before = {row["file"]: row for row in csv.DictReader(text, delimiter="\t")}
    shared = [p for p in pairs if p.file in before]
    worse = sorted((p for p in shared if p.ratio > WORSE * float(before[p.file]["ratio"])), key=lambda p: float(before[p.file]["ratio"]) / p.ratio)
    better = sum(p.ratio * WORSE < float(before[p.file]["ratio"]) for p in shared)
    for p in worse[:SHOWN]:
        b = before[p.file]
        print(f"worse: {p.file}: {float(b['ratio']):.3f} to {p.ratio:.3f} ({b['sass']} x {b['warps']} warps to {p.ours['sass']} x {p.ours['warps']})")
    bad = len(worse)
    for name, some in parts(shared):
        was, now = mean([float(before[p.file]["ratio"]) for p in some]), mean([p.ratio for p in some])
        print(f"{name}: geometric mean {was:.4f} to {now:.4f}")
    print(f"{len(shared)} kernels of the baseline: {better} better, {bad} worse, {len(pairs) - len(shared)} new")
    return int(bad > 0)


def main() -> int:
    p = argparse.ArgumentParser(description="our machine code against XLA's")
    p.add_argument("warpburg", nargs="?", default="")
    p.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    p.add_argument("--scale", default="LMS")
    p.add_argument("--every", type=int, default=1, help="every Nth file")
    p.add_argument("-j", type=int, default=2, dest="jobs")
    p.add_argument("--html", default="")
    p.add_argument("--check", action="store_true")
    p.add_argument("--update", action="store_true")
    p.add_argument("--accuracy", default="exact", choices=("exact", "xla", "approx"))
    p.add_argument("--widths", action="store_true")
    p.add_argument("--larger", action="store_true")
    o = p.parse_args()
    if not (o.shared / "anchors" / "programs.tsv").exists():
        print(f"skipped: anchors: {o.shared}/anchors is not there")
        return 0
    warpburg = find_warpburg(o.warpburg)
    pairs, left = pairs_of(warpburg, o.shared, o.scale, o.every, o.jobs, o.accuracy)
    if o.widths or o.larger:
        import compare_xla_reasons as reasons
        if o.widths:
            return reasons.check_widths(pairs)
        return reasons.check_larger(pairs, pairs_of(warpburg, o.shared, o.scale, o.every, o.jobs, "xla")[0])
    text = report(pairs, left)
    print(text)
    if o.html:
        from compare_xla_page import write_page
        write_page(o.html, pairs, text)
    if o.update:
        write_baseline(pairs)
    return check_baseline(pairs) if o.check else 0


if __name__ == "__main__":
    sys.exit(main())
