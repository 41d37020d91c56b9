#!/usr/bin/env python3
"""docs/quality.md: how good warpburg is now, a line a figure, each with the command that makes it and the day on which it did.

    quality.py                                  what the tables of the tree say today
    quality.py --record                         appends those that changed to history/figures.tsv, and writes the page
    quality.py --record NAME VALUE COMMAND      the same for a figure that no table of the tree holds: what a bench or a GPU said
    quality.py --check                          the page is what figures.tsv says, and figures.tsv what the tables say

history/figures.tsv is a log: of each figure the last row counts.
The day of a figure that a table holds is that of the commit that changed the table.
"""
from __future__ import annotations

import argparse
import csv
import datetime
import math
import subprocess
import sys
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Sequence

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
LOG, PAGE = HERE / "history" / "figures.tsv", ROOT / "docs" / "quality.md"


class Figure(NamedTuple):
    name: str
    value: str
    command: str
    day: str = ""


def table(file: str) -> List[Dict[str, str]]:
    with open(ROOT / file, encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))


def mean(ratios: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def instructions() -> Iterator[Figure]:
    rows = table("tests/bench/compare_xla.tsv")
    for group in sorted({r["group"] for r in rows}):
        for title, scales in (("large and medium", "LM"), ("small", "S")):
            ratios = [float(r["ratio"]) for r in rows if r["group"] == group and r["scale"] in scales]
            if len(ratios) >= 10:
                yield Figure(f"machine instructions, ours over XLA's: {group}, {title}",
                             f"{mean(ratios):.3f} in the mean of {len(ratios)}, {100 * sum(x <= 1 for x in ratios) / len(ratios):.1f} % no larger",
                             "tests/bench/compare_xla.py")


def programs() -> Iterator[Figure]:
    rows = table("tests/bench/compare_programs.tsv")
    command = "tests/bench/compare_programs.py --times"
    timed = [float(r["time_ratio"]) for r in rows if r["time_ratio"] not in ("", "-")]
    yield Figure("whole programs: modelled time, ours over XLA's", f"{mean(timed):.3f} in the mean of {len(timed)}", command)
    total = {column: sum(int(r[column]) for r in rows) for column in ("bytes", "xla_bytes", "kernels", "xla_kernels")}
    yield Figure("whole programs: bytes of DRAM, ours over XLA's", f"{total['bytes'] / total['xla_bytes']:.3f} of {len(rows)}", command)
    yield Figure("whole programs: kernels, ours over XLA's", f"{total['kernels']} for {total['xla_kernels']}", command)


TABLES = ((instructions, "tests/bench/compare_xla.tsv"), (programs, "tests/bench/compare_programs.tsv"))


def tables() -> List[Figure]:
    return [f for make, _ in TABLES for f in make()]


def dated() -> List[Figure]:
    """The same with the day on which each table was last committed, today where it has changed since."""
    def day(file: str) -> str:
        git = ["git", "-C", str(ROOT)]
        if subprocess.run([*git, "diff", "--quiet", "HEAD", "--", file], check=False).returncode:
            return datetime.date.today().isoformat()
        return subprocess.run([*git, "log", "-1", "--format=%as", "--", file], check=True, capture_output=True, text=True).stdout.strip()

    return [f._replace(day=day(file)) for make, file in TABLES for f in make()]


def log() -> List[Figure]:
    return [Figure(r["figure"], r["value"], r["command"], r["day"]) for r in table("shaderdb/history/figures.tsv")]


def append(figures: Sequence[Figure]) -> None:
    last = {f.name: f.value for f in log()}
    with open(LOG, "a", encoding="utf-8") as f:
        f.writelines(f"{x.day}\t{x.name}\t{x.value}\t{x.command}\n" for x in figures if last.get(x.name) != x.value)


HEAD = """# How good it is now

Made by `shaderdb/quality.py --record` from `shaderdb/history/figures.tsv`, which keeps what was said before. Ratios are ours over XLA's, geometric
means, below 1 is better. Modelled times are those of `run --profile` ([profile.md](profile.md)) with the rates of an H200, by the price of commit
c3e75855, against which `tests/bench/yardstick.py` holds later ones; they miss timed ones by 12 to 15 % on single kernels, so that 3 % is a tie. What led
here, step by step, is in `shaderdb/history/`.
"""


def page() -> str:
    last = {f.name: f for f in log()}
    rows = [f"| {f.name} | {f.value} | `{f.command}` | {f.day} |" for f in last.values()]
    return "\n".join([HEAD, "| figure | value | made by | on |", "|---|---|---|---|", *rows, ""])


def main() -> int:
    p = argparse.ArgumentParser(description="how good warpburg is now")
    p.add_argument("--record", nargs="*", metavar="WORD")
    p.add_argument("--check", action="store_true")
    o = p.parse_args()
    if o.record is not None:
        if len(o.record) not in (0, 3):
            p.error("--record takes no words, or NAME VALUE COMMAND")
        append([Figure(*o.record, datetime.date.today().isoformat())] if o.record else dated())
        PAGE.write_text(page(), encoding="utf-8")
    elif o.check:
        last = {f.name: f.value for f in log()}
        stale = [f"{f.name}: {last.get(f.name)} in figures.tsv, {f.value} by the tables" for f in tables() if last.get(f.name) != f.value]
        stale += [] if PAGE.read_text(encoding="utf-8") == page() else ["docs/quality.md is not what figures.tsv says"]
        print("\n".join([*stale, "run shaderdb/quality.py --record"] if stale else ["docs/quality.md is what the tables say"]))
        return int(bool(stale))
    else:
        print("\n".join(f"{f.name}: {f.value}    {f.command}" for f in tables()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
