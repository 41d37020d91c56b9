#!/usr/bin/env python3
"""./dev gpu: checks kernels on a GPU and holds modelled time against measured time.

    gpu.py WARPBURG WARPBURG_RUN [--package DIR] [--target sm_90] [--accuracy xla] [--shared DIR] [--corpus FOLDER] [--every N] [--repeat N]
    gpu.py --results results.jsonl --package DIR [--page docs/gpu.md]

First a package is made in DIR: warpburg-run, a bundle of each kernel of the corpus to check, bundles of large kernels to time at --accuracy, XLA's PTX for
the same fusions where DIR of --shared has it, the modelled time of both, and run.py. Where the driver has a GPU, run.py runs it at once. Else
the command says so and ends with status 3: the package is to be carried to a machine with a GPU, `python3 run.py` called in it, and its results.jsonl
given to --results, which prints measured and modelled times, their ratios and rank correlation, and with --page writes them with the card and the date.
"""
from __future__ import annotations

import argparse
import csv
import datetime
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE.parent / "bench"), str(ROOT), str(ROOT / "shaderdb")]

from op_cycles import correlation  # noqa: E402
from tools import environment  # noqa: E402

NO_GPU, OFF = 3, 1.5  # status; a ratio beyond which the page names a kernel
Job = Dict[str, Any]


class Maker:
    def __init__(self, o: argparse.Namespace) -> None:
        self.o, self.package = o, o.package
        self.env = {**os.environ, **dict(environment())}

    def call(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([self.o.warpburg, *words], capture_output=True, text=True, errors="replace", env=self.env)

    def modelled(self, words: List[str]) -> Optional[Dict[str, Any]]:
        """Microseconds and what binds; a sample of blocks where that is possible."""
        for blocks in (["--blocks", "16"], []):
            p = self.call("run", *words, "--profile", "--json", "-j", "1", *blocks)
            if p.returncode == 0:
                kernel = json.loads(p.stdout)["kernels"][0]
                return {"us": kernel["us"], "binds": kernel["launches"][0]["binds"] if kernel["launches"] else "-"}
            if "a sample of blocks" not in p.stderr:
                break
        return None

    def bundle(self, file: Path, name: str, accuracy: str) -> Optional[str]:
        at = f"bundles/{name}.{accuracy}"
        p = self.call("compile", str(file), "--target", self.o.target, "--accuracy", accuracy, "-o", str(self.package / at))
        return at if p.returncode == 0 else None

    def checks(self, file: Path) -> List[Job]:
        at = self.bundle(file, "check." + file.stem, "exact")
        return [{"name": file.name, "what": "check", "whose": "ours", "words": [at]}] if at else []

    def timings(self, row: Dict[str, str]) -> List[Job]:
        """Ours and XLA's, if both can be modelled."""
        stem = row["file"][:-len(".hlo")].replace("/", "__")
        file = self.o.shared / "corpus" / row["part"] / row["file"]
        at, ours = self.bundle(file, stem, self.o.accuracy), None
        if at:
            ours = self.modelled([str(self.package / at)])
        shutil.copy(file, self.package / "xla" / f"{stem}.hlo")
        shutil.copy(self.o.shared / "anchors/ptx" / row["part"] / f"{stem}.ptx", self.package / "xla" / f"{stem}.ptx")
        words = [f"xla/{stem}.hlo", "--ptx", f"xla/{stem}.ptx", "--grid", row["grid"], "--block", row["block"], "--shared", row["shared"] or "0",
                 "--padding", "256"]
        theirs = self.modelled([str(self.package / w) if w.startswith("xla/") else w for w in words])
        if not ours or not theirs:
            return []
        return [{"name": row["file"], "what": "time", "whose": "ours", "words": [at], **ours},
                {"name": row["file"], "what": "time", "whose": "XLA's", "words": words, **theirs}]


def make(o: argparse.Namespace) -> int:
    """Makes the package; returns the number of jobs."""
    if o.package.exists():
        shutil.rmtree(o.package)
    for part in ("bundles", "xla"):
        (o.package / part).mkdir(parents=True)
    shutil.copy(o.warpburg_run, o.package / "warpburg-run")
    shutil.copy(HERE / "run.py", o.package / "run.py")
    maker, files, rows = Maker(o), sorted(o.corpus.glob("*.hlo"))[::o.every], []
    for part in ("programs", "fusions"):
        table = o.shared / "anchors" / f"{part}.tsv"
        if table.exists():
            with open(table, encoding="utf-8", newline="") as lines:
                found = [{**r, "part": part} for r in csv.DictReader(lines, delimiter="\t") if r["status"] == "ok" and ".L__" in r["file"]]
            rows += found[::o.every]
    with ThreadPoolExecutor(o.jobs) as pool:
        jobs = [j for some in pool.map(maker.checks, files) for j in some] + [j for some in pool.map(maker.timings, rows) for j in some]
    (o.package / "jobs.jsonl").write_text("".join(json.dumps(j) + "\n" for j in jobs), encoding="utf-8")
    return len(jobs)


# --- what came back ---------------------------------------------------------------------------------------------------------------------
Pair = Tuple[Job, Dict[str, Any]]


def pairs(package: Path, results: Path) -> Tuple[List[Pair], List[Dict[str, Any]]]:
    """(timings with what was measured; results of checks)"""
    jobs = {(j["name"], j["what"], j["whose"]): j for j in map(json.loads, (package / "jobs.jsonl").read_text(encoding="utf-8").splitlines())}
    found = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    timed = [(jobs[key], r) for r in found for key in [(r["name"], r["what"], r["whose"])] if r["what"] == "time" and r.get("ms") and key in jobs]
    return timed, [r for r in found if r["what"] == "check"]


def report(package: Path, results: Path) -> str:
    timed, checks = pairs(package, results)
    bad = [c for c in checks if c["status"] != 0]
    device = next((r["device"] for _, r in timed if r.get("device")), next((c["device"] for c in checks if c.get("device")), "no GPU"))
    out = ["# Kernels on a GPU", "", f"{device}, {datetime.date.today().isoformat()}; made by `./dev gpu`.", "",
           f"{len(checks)} kernels were checked, {len(bad)} of them are wrong."]
    out += [f"- {c['name']}: {c.get('first') or c.get('faults') or c.get('error')}" for c in bad]
    for whose in ("ours", "XLA's"):
        some = [(j["us"], 1e3 * r["ms"], j) for j, r in timed if j["whose"] == whose]
        if len(some) < 3:
            out += ["", f"{whose}: {len(some)} kernels timed."]
            continue
        ratios = [m / p for p, m, _ in some]
        out += ["", f"{whose}: {len(some)} kernels; measured over modelled time: geometric mean {math.exp(statistics.fmean(map(math.log, ratios))):.3f}, rank "
                f"correlation {correlation([p for p, _, _ in some], [m for _, m, _ in some]):.3f}; further off than {OFF}: "
                f"{sum(max(x, 1 / x) > OFF for x in ratios)}."]
    by = {(j["name"], j["whose"]): (j, r) for j, r in timed}
    both = [(by[n, "ours"], by[n, "XLA's"]) for n, w in by if w == "ours" and (n, "XLA's") in by]
    if both:
        mean = math.exp(statistics.fmean(math.log(a[1]["ms"] / b[1]["ms"]) for a, b in both))
        model = math.exp(statistics.fmean(math.log(a[0]["us"] / b[0]["us"]) for a, b in both))
        out += ["", f"Ours over XLA's, {len(both)} kernels: measured {mean:.3f}, modelled {model:.3f}."]
    out += ["", "| kernel | whose | bound by | modelled us | measured us | ratio |", "|---|---|---|---:|---:|---:|"]
    for j, r in sorted(timed, key=lambda x: -abs(math.log(1e3 * x[1]["ms"] / x[0]["us"]))):
        out.append(f"| {j['name']} | {j['whose']} | {j['binds']} | {j['us']:.2f} | {1e3 * r['ms']:.2f} | {1e3 * r['ms'] / j['us']:.2f} |")
    return "\n".join(out) + "\n"


def main() -> int:
    p = argparse.ArgumentParser(prog="./dev gpu")
    p.add_argument("warpburg", nargs="?", default=str(ROOT / "build" / "warpburg"))
    p.add_argument("warpburg_run", nargs="?", default=str(ROOT / "build" / "warpburg-run"))
    p.add_argument("--package", type=Path, default=ROOT / "build" / "gpu")
    p.add_argument("--target", default="sm_90")
    p.add_argument("--accuracy", default="xla", choices=("exact", "xla", "approx"), help="of the kernels that are timed")
    p.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    p.add_argument("--corpus", type=Path, default=ROOT / "shaderdb" / "corpus", help="folder of kernels to check")
    p.add_argument("--every", type=int, default=1)
    p.add_argument("--repeat", type=int, default=100)
    p.add_argument("--results", type=Path, help="of a run elsewhere")
    p.add_argument("--page", type=Path, help="write the report to this file")
    p.add_argument("-j", type=int, default=min(2, os.cpu_count() or 1), dest="jobs")
    o = p.parse_args()
    o.package = o.package.resolve()
    results = o.results
    if results is None:
        print(f"{make(o)} jobs in {o.package}", flush=True)
        results = o.package / "results.jsonl"
        rc = subprocess.run([sys.executable, str(o.package / "run.py"), "--repeat", str(o.repeat)]).returncode
        if rc == NO_GPU:
            print(f"This machine has no GPU. Carry {o.package} to one that has, call `python3 run.py` in it, bring results.jsonl back, and call\n"
                  f"./dev gpu --package {o.package} --results results.jsonl --page docs/gpu.md")
            return NO_GPU
        if rc not in (0, 1):
            return rc
    text = report(o.package, results)
    if o.page:
        o.page.write_text(text, encoding="utf-8")
    print(text)
    return int(any(c["status"] for c in pairs(o.package, results)[1]))


if __name__ == "__main__":
    sys.exit(main())
