#!/usr/bin/env python3
"""Our machine code beside XLA's own, fusion by fusion.

    anchors.py WARPBURG [--shared DIR] [--target sm_90] [--approx] [--every N] [-j N] [--tsv FILE]

For each fusion of DIR/corpus/programs that this version compiles and that DIR/anchors/programs.tsv has a kernel for without a loop
(ours has none): `sass * warps`, which is what the GPU issues, ours over theirs. Prints the geometric mean, scales L and M apart from
S, where it measures the rounding of blocks; the same for registers a thread and bytes an access; the ten best and the ten worst.
Then the same by operation and type: the mean over all files that have the operation, worst first. --tsv writes every pair. Theirs is
code for sm_90a.
"""
import argparse
import csv
import math
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Optional

import programs
from warpburg_cli import Cli

ROOT = Path(__file__).resolve().parent.parent
SHOWN = 10
FEW = 3             # an operation of fewer files says nothing
TYPED = re.compile(r"=\s*([a-z]\w*)\[[^=]*?\s([a-z][\w\-]*)\(")


@dataclass
class Pair:
    """One fusion: what ours takes over what theirs takes."""
    file: str
    ours: Dict
    theirs: Dict[str, str]

    @property
    def warps(self) -> int:
        return self.ours["grid"] * math.ceil(self.ours["block"] / 32)

    @property
    def work(self) -> float:
        return self.ours["sass"] * self.warps / (int(self.theirs["sass"]) * int(self.theirs["warps"]))

    @property
    def regs(self) -> float:
        return self.ours["regs"] / int(self.theirs["regs"])

    @property
    def width(self) -> Optional[float]:
        ours = mean_bytes({int(k): n for kind in ("ldg", "stg") for k, n in self.ours[kind].items()})
        theirs = mean_bytes(widths(f"{self.theirs['ldg']} {self.theirs['stg']}"))
        return ours / theirs if ours and theirs else None

    def describe(self) -> str:
        t = self.theirs
        return (f"{self.work:6.2f}  {self.file}: {self.ours['sass']} sass, {self.warps} warps, {self.ours['regs']} registers; "
                f"theirs {t['sass']}, {t['warps']}, {t['regs']}")


def widths(text: str) -> Dict[int, int]:
    """`4x1 16x2 4x2` -> {4: 3, 16: 2}"""
    out: Dict[int, int] = {}
    for word in text.split():
        size, count = word.split("x")
        out[int(size)] = out.get(int(size), 0) + int(count)
    return out


def mean_bytes(accesses: Dict[int, int]) -> float:
    count = sum(accesses.values())
    return sum(size * n for size, n in accesses.items()) / count if count else 0.0


def geometric_mean(ratios: List[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else float("nan")


def report(name: str, pairs: List[Pair]) -> None:
    if not pairs:
        print(f"{name}: no file")
        return
    ratio = [p.work for p in pairs]
    wide = [p.width for p in pairs if p.width]
    print(f"{name}: {len(pairs)} files, sass * warps over XLA's: geometric mean {geometric_mean(ratio):.3f}, "
          f"{sum(r < 1 for r in ratio)} below 1; registers {geometric_mean([p.regs for p in pairs]):.3f}, "
          f"bytes an access {geometric_mean(wide):.3f}")
    ordered = sorted(pairs, key=lambda p: (p.work, p.file))
    print(f"{name}: best")
    print("\n".join(p.describe() for p in ordered[:SHOWN]))
    print(f"{name}: worst")
    print("\n".join(p.describe() for p in ordered[:-SHOWN - 1:-1]))


def by_operation(folder: Path, pairs: List[Pair]) -> None:
    ratios: Dict[str, List[float]] = {}
    for p in pairs:
        text = (folder / p.file).read_text(encoding="utf-8")
        for operation in {f"{op}.{kind}" for kind, op in TYPED.findall(text)} - {"fusion"}:
            ratios.setdefault(operation, []).append(p.work)
    means = sorted(((geometric_mean(r), op, len(r)) for op, r in ratios.items() if len(r) >= FEW), reverse=True)
    print("by operation, worst first: " + ", ".join(f"{op} {mean:.2f} ({n})" for mean, op, n in means[:2 * SHOWN]))


def write_tsv(path: Path, pairs: List[Pair]) -> None:
    with open(path, "w", encoding="utf-8") as out:
        out.write("file\tratio\tsass\twarps\tregs\ttheir_sass\ttheir_warps\ttheir_regs\n")
        for p in sorted(pairs, key=lambda x: -x.work):
            t = p.theirs
            out.write(f"{p.file}\t{p.work:.4f}\t{p.ours['sass']}\t{p.warps}\t{p.ours['regs']}\t{t['sass']}\t{t['warps']}\t{t['regs']}\n")


def main() -> int:
    p = argparse.ArgumentParser(description="our machine code beside XLA's own")
    p.add_argument("warpburg")
    p.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    p.add_argument("--target", default="sm_90")
    p.add_argument("--approx", action="store_true", help="ours with the hardware's functions; XLA divides and takes roots so")
    p.add_argument("--every", type=int, default=1, help="one file in N")
    p.add_argument("-j", type=int, default=2, dest="jobs")
    p.add_argument("--tsv", type=Path)
    o = p.parse_args()
    table, folder = o.shared / "anchors" / "programs.tsv", o.shared / "corpus" / "programs"
    if not table.exists() or not folder.exists():
        print(f"skipped: anchors: {table} or {folder} is not there")
        return 0
    with open(table, encoding="utf-8", newline="") as text:
        theirs = {row["file"]: row for row in csv.DictReader(text, delimiter="\t")}
    found = programs.select(folder)
    cli = Cli(o.warpburg, o.jobs)
    every: List[Pair] = []
    for name, files in (("L and M", sorted(found["L"] + found["M"])), ("S", found["S"])):
        chosen = [f for f in files[::o.every] if theirs.get(Path(f).name, {}).get("status") == "ok" and theirs[Path(f).name]["loops"] == "0"]
        compiled = [c for c in cli.compile(chosen, o.target, ["--approx"] if o.approx else []) if c.status == "ok" and c.facts["grid"]]
        if compiled and not any("sass" in c.facts for c in compiled):
            print("skipped: anchors: no machine code without ptxas")
            return 0
        pairs = [Pair(Path(c.file).name, c.facts, theirs[Path(c.file).name]) for c in compiled if "sass" in c.facts]
        report(name, pairs)
        every += pairs
    by_operation(folder, every)
    if o.tsv:
        write_tsv(o.tsv, every)
    return 0


if __name__ == "__main__":
    sys.exit(main())
