#!/usr/bin/env python3
"""Compares the corpus with the committed baseline.json.

    baseline.py [--update] [--warpburg BUILD/warpburg] [--html OUT.html]

Prints the report; exits with 1 if any record changed. A commit that changes records on purpose runs `--update` and includes baseline.json.
The baseline has no compile times. Machine code is compared only if ptxas is the version that made the baseline; otherwise only PTX is.
"""
from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict, Iterator, List

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from compare import compare  # noqa: E402
from records import METRICS, Record, baseline_head, read  # noqa: E402
from report import SHOWN, text  # noqa: E402
from tools import cache_folder, environment, find_warpburg, ptxas_version  # noqa: E402

BASELINE = HERE / "baseline.json"
TARGETS = ",".join(f"sm_{n}" for n in sorted(int(f.stem[2:]) for f in HERE.parent.glob("patterns/sm*.py") if f.stem[2:].isdigit()))
WITHOUT_PTXAS = ("ptx", "warps", "loops", "bytes_code")     # the metrics that need no machine code
COLUMNS = [m.name for m in METRICS if m.name not in ("issued", "access_bytes", "occupancy", "executed")]


def measure(warpburg: str, out: str, cache: str, jobs: int) -> None:
    command = [sys.executable, str(HERE / "run"), str(HERE / "corpus"), "--target", TARGETS, "-o", out, "--warpburg", warpburg, "-j", str(jobs), "--no-ms",
               "--cache", cache]
    p = subprocess.run(command, env={**os.environ, **dict(environment())}, capture_output=True, text=True, check=False)
    if p.returncode:
        raise SystemExit(p.stderr)


def write(records: Iterator[Record], tools: Dict[str, str]) -> str:
    """One kernel per line, so that a diff shows which changed."""
    rows: List[List[Any]] = [[*r.key, r.status, r.reason, r.count, *(r.values.get(c) for c in COLUMNS)] for r in records]
    lines = ",\n".join(json.dumps(row) for row in rows)
    return f'{{"tools": {json.dumps(tools)},\n"columns": {json.dumps(COLUMNS)},\n"kernels": [\n{lines}\n]}}\n'


def only(records: Iterator[Record], metrics: List[str]) -> Iterator[Record]:
    for r in records:
        r.values = {k: v for k, v in r.values.items() if k in metrics}
        yield r


def main() -> int:
    p = argparse.ArgumentParser(description="the corpus compared with baseline.json")
    p.add_argument("--update", action="store_true", help="write baseline.json")
    p.add_argument("--warpburg", default="")
    p.add_argument("--cache", default=cache_folder())
    p.add_argument("-j", type=int, default=os.cpu_count() or 1, dest="jobs")
    p.add_argument("--html", default="")
    o = p.parse_args()
    tools = {"ptxas": ptxas_version(), "targets": TARGETS}
    with tempfile.TemporaryDirectory(prefix="shaderdb.") as folder:
        after = os.path.join(folder, "after.jsonl")
        measure(find_warpburg(o.warpburg), after, o.cache, o.jobs)
        metrics = COLUMNS
        c = None
        if BASELINE.is_file():
            before = baseline_head(BASELINE)["ptxas"]
            if not tools["ptxas"] or tools["ptxas"] != before:
                metrics = list(WITHOUT_PTXAS)
                print(f"ptxas here is {tools['ptxas'] or 'missing'}, the baseline's was {before or 'missing'}: only PTX is compared")
            c = compare(only(read(str(BASELINE)), metrics), only(read(after), metrics))
            print(text(c, [], SHOWN))
            if o.html:
                from page import write_page
                write_page(o.html, c, str(BASELINE), after, text(c, [], SHOWN), [], o.cache)
        if o.update:
            if not tools["ptxas"]:
                raise SystemExit("error: without ptxas there is no machine code for the baseline")
            BASELINE.write_text(write(read(after), tools), encoding="utf-8")
            print(f"{BASELINE.name} written")
            return 0
    if c is None:
        print("there is no baseline.json: shaderdb/baseline.py --update writes it")
        return 1
    if c.moved:
        print("Records differ from the baseline. If that is intended, run shaderdb/baseline.py --update and commit shaderdb/baseline.json with the change.")
    return int(c.moved)


if __name__ == "__main__":
    sys.exit(main())
