#!/usr/bin/env python3
"""./dev gpu: checks kernels on a GPU and holds modelled time against measured time.

    gpu.py WARPBURG WARPBURG_RUN [--package DIR] [--target sm_90] [--accuracy xla,exact] [--shared DIR] [--corpus FOLDER..]
           [--programs FOLDER] [--layouts N] [--every N]
    gpu.py --results results.jsonl --package DIR [--page shaderdb/history/gpu.md]

First a package is made in DIR: warpburg-run, a bundle of each kernel of the corpus and each small program (*.S.hlo) of --programs to check, bundles to
time at each --accuracy, XLA's PTX for the same fusions where DIR of --shared has it, with --layouts bundles of other layouts, and run.py. Where the driver
has a GPU, run.py runs it at once. Else
the command says so and ends with status 3: the package is to be carried to a machine with a GPU, `python3 run.py` called in it, and its results.jsonl
given to --results, which models the kernels that were timed (modelled.jsonl keeps that), prints measured and modelled times, their ratios and rank
correlation, and with --page writes them with the card and the date.
"""
from __future__ import annotations

import argparse
import csv
import datetime
import itertools
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Tuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE.parent / "bench"), str(ROOT), str(ROOT / "shaderdb")]

from op_cycles import correlation  # noqa: E402
from tools import environment  # noqa: E402
from variants import variants  # noqa: E402

NO_GPU, OFF = 3, 1.5  # status; a ratio beyond which the page names a kernel
PARTS = ("blocks", "programs", "fusions", "emitter-tests")
# Bytes of the kernels that are checked, that are run whole in the simulator, that are judged and run on edge values too; blocks of a sample.
MOST, SMALL, EDGES, BLOCKS = 1 << 30, 32 << 20, 1 << 20, 64
TRIES, LAYOUTS = 16, 8  # layouts of a kernel that are tried, and timed
Job = Dict[str, Any]


class Maker:
    def __init__(self, o: argparse.Namespace) -> None:
        self.o, self.package = o, o.package
        self.env = {**os.environ, **dict(environment())}
        self.ptxas = self.env.get("WARPBURG_PTXAS") or shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"

    def call(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([self.o.warpburg, *words], capture_output=True, text=True, errors="replace", env=self.env)

    def bundle(self, file: Path, name: str, accuracy: str, *words: str) -> Optional[str]:
        at = f"bundles/{name}.{accuracy}"
        if not any((self.package / at / f"{kind}.json").exists() for kind in ("kernel", "program")):
            p = self.call("compile", str(file), "--target", self.o.target, "--accuracy", accuracy, "-o", str(self.package / at), *words)
            if p.returncode:
                return None
        return at

    def checks(self, file: Path) -> List[Job]:
        """All of a small kernel, on edge values too, with the bounds; of a large one what a sample of its blocks writes."""
        name = f"{file.parent.name}/{file.name}"
        at = self.bundle(file, name.replace("/", "__"), "exact")
        if not at:
            return []
        bundle = json.loads((self.package / at / "kernel.json").read_text(encoding="utf-8"))
        size = sum(b["bytes"] for b in bundle["buffers"])
        if size > MOST:
            return []
        sampled = len(bundle["launches"]) == 1 and not any(b.get("init") == "ticket" for b in bundle["buffers"])
        words = ["--check"] if size <= EDGES else [] if size <= SMALL else ["--blocks", str(BLOCKS)] if sampled else ["--alone", "--check"]
        cases = ["n", "e"] if size <= EDGES else ["n"]
        return [{"name": f"{name} {case}", "what": "check", "whose": "ours", "words": [at, *words, "--case", case], "bytes": size} for case in cases]

    def program(self, file: Path) -> List[Job]:
        """All outputs of a whole program, which may call libraries, with the bounds."""
        at = self.bundle(file, f"modules__{file.name}", "exact")
        job = {"name": f"modules/{file.name}", "what": "check", "whose": "ours", "words": [at, "--check", "--case", "n"], "bytes": SMALL}
        return [job] if at else []

    def theirs(self, row: Dict[str, str], stem: str, file: Path) -> Optional[Job]:
        ptx = self.o.shared / "anchors/ptx" / row["part"] / f"{stem}.ptx"
        if not ptx.exists():
            return None
        shutil.copy(file, self.package / "xla" / f"{stem}.hlo")
        shutil.copy(ptx, self.package / "xla" / f"{stem}.ptx")
        words = [f"xla/{stem}.hlo", "--ptx", f"xla/{stem}.ptx", "--grid", row["grid"], "--block", row["block"], "--shared", row["shared"] or "0",
                 "--padding", "256"]
        arch = self.o.target + "a" * (self.o.target == "sm_90")
        cubin = self.package / "xla" / f"{stem}.cubin"
        made = subprocess.run([self.ptxas, "-arch", arch, "-o", str(cubin), str(ptx)], capture_output=True).returncode == 0
        return {"name": f"{row['part']}/{row['file']}", "what": "time", "whose": "XLA's", "words": words + (["--cubin", f"xla/{stem}.cubin"] if made else [])}

    def timings(self, row: Dict[str, str]) -> List[Job]:
        stem = row["file"][:-len(".hlo")].replace("/", "__")
        file = self.o.shared / "corpus" / row["part"] / row["file"]
        theirs = self.theirs(row, stem, file)
        jobs = []
        for accuracy in self.o.accuracy.split(","):
            at = self.bundle(file, f"{row['part']}__{stem}.hlo", accuracy)
            if at and theirs:
                jobs.append({**theirs, "whose": f"ours {accuracy}", "words": [at]})
        return [*jobs, theirs] if theirs and jobs else []


    def layouts(self, row: Dict[str, str]) -> List[Job]:
        """The layout that was chosen, and others."""
        file = self.o.shared / "corpus" / row["part"] / row["file"]
        name, jobs = f"{row['part']}/{row['file']}", []
        explained = self.call("compile", str(file), "--target", self.o.target, "--accuracy", "xla", "--explain").stdout
        for k, text in enumerate(itertools.islice(variants(explained, 1), TRIES)):
            at = self.bundle(file, f"layout{k}.{name.replace('/', '__')}", "xla", "--layout", text)
            if at:
                jobs.append({"name": name, "what": "time", "whose": f"layout {text}", "words": [at]})
            if len(jobs) == LAYOUTS:
                break
        return jobs


def rows_to_time(o: argparse.Namespace) -> List[Dict[str, str]]:
    """XLA's kernels: of programs those of large sizes, all of the others."""
    rows = []
    for part in PARTS:
        table = o.shared / "anchors" / f"{part}.tsv"
        if table.exists():
            with open(table, encoding="utf-8", newline="") as lines:
                found = [{**r, "part": part} for r in csv.DictReader(lines, delimiter="\t") if r["status"] == "ok"]
            rows += [r for r in found if part != "programs" or ".L__" in r["file"]][::o.every]
    return rows


def make(o: argparse.Namespace) -> int:
    """Makes the package; returns the number of jobs."""
    if o.package.exists() and not o.keep:
        shutil.rmtree(o.package)
    for part in ("bundles", "xla"):
        (o.package / part).mkdir(parents=True, exist_ok=True)
    shutil.copy(o.warpburg_run, o.package / "warpburg-run")
    subprocess.run(["strip", "-g", str(o.package / "warpburg-run")], capture_output=True)
    shutil.copy(HERE / "run.py", o.package / "run.py")
    files = sorted(f for folder in o.corpus for f in folder.rglob("*.hlo"))[::o.every]
    maker = Maker(o)
    with ThreadPoolExecutor(o.jobs) as pool:
        jobs = sorted((j for some in pool.map(maker.checks, files) for j in some), key=lambda j: int(j["bytes"]))
        jobs += [j for some in pool.map(maker.program, sorted(o.programs.glob("*.S.hlo")) if o.programs else []) for j in some]
        rows = rows_to_time(o)
        jobs += [j for some in pool.map(maker.timings, rows) for j in some]
        jobs += [j for some in pool.map(maker.layouts, rows[::o.layouts] if o.layouts else []) for j in some]
    (o.package / "jobs.jsonl").write_text("".join(json.dumps(j) + "\n" for j in jobs), encoding="utf-8")
    return len(jobs)


# --- what came back ---------------------------------------------------------------------------------------------------------------------
class Timed(NamedTuple):
    name: str     # part/file
    whose: str    # "ours ACCURACY", "XLA's", "layout TEXT"
    us: float     # measured
    model: float  # modelled; 0: not known
    binds: str

    @property
    def ratio(self) -> float:
        return self.us / self.model


def mean(values: Iterable[float]) -> float:
    """Geometric."""
    logs = [math.log(v) for v in values]
    return math.exp(statistics.fmean(logs)) if logs else math.nan


def modelled(maker: Maker, jobs: List[Job], file: Path) -> Dict[Tuple[str, str], Dict[str, Any]]:
    """Microseconds and what binds, by name and whose; from the file as far as it has them, to which the others are added."""
    found = {(r["name"], r["whose"]): r for r in map(json.loads, file.read_text(encoding="utf-8").splitlines())} if file.exists() else {}

    def model(j: Job) -> Job:
        at = j["words"].index("--cubin") if "--cubin" in j["words"] else len(j["words"])
        words = [str(maker.package / w) if w.split("/")[0] in ("xla", "bundles") else w for w in j["words"][:at]]
        for blocks in (["--blocks", "16"], []):
            p = maker.call("run", *words, "--profile", "--json", "-j", "1", *blocks)
            if p.returncode == 0:
                kernel = json.loads(p.stdout)["kernels"][0]
                return {"name": j["name"], "whose": j["whose"], "us": kernel["us"], "binds": kernel["launches"][0]["binds"] if kernel["launches"] else "-"}
            if "a sample of blocks" not in p.stderr:
                break
        return {"name": j["name"], "whose": j["whose"], "us": 0, "binds": "-"}

    with ThreadPoolExecutor(maker.o.jobs) as pool, open(file, "a", encoding="utf-8") as out:
        for r in pool.map(model, [j for j in jobs if (j["name"], j["whose"]) not in found]):
            found[r["name"], r["whose"]] = r
            out.write(json.dumps(r) + "\n")
            out.flush()
    return found


def read(o: argparse.Namespace, results: Path) -> Tuple[List[Timed], List[Job], str]:
    """(timings; checks; the card)"""
    lines = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    times = {(r["name"], r["whose"]): 1e3 * r["ms"] for r in lines if r["what"] == "time" and r.get("ms")}
    jobs = [j for j in map(json.loads, (o.package / "jobs.jsonl").read_text(encoding="utf-8").splitlines()) if (j["name"], j["whose"]) in times]
    models = modelled(Maker(o), jobs, o.package / "modelled.jsonl")
    timed = [Timed(n, w, us, models[n, w]["us"], models[n, w]["binds"]) for (n, w), us in times.items() if (n, w) in models]
    return timed, [r for r in lines if r["what"] == "check"], next((r["device"] for r in lines if r.get("device")), "no GPU")


def said_of_checks(checks: List[Job]) -> List[str]:
    bad = [c for c in checks if c["status"] != 0]
    nans = sum(bool(c.get("nans")) for c in checks)
    out = [f"{len(checks)} checks, {len(bad)} of them failed: outputs are those of the simulator number by number, or where approximate instructions or the "
           f"order of threads decide inside the evaluator's bounds; in {nans} NaNs have other bits, which the bounds allow."]
    return out + [f"- {c['name']}: {c.get('first') or c.get('first_differ') or c.get('faults') or c.get('error')}" for c in bad]


def said_of_model(timed: List[Timed], whose: str) -> List[str]:
    some = [t for t in timed if t.whose == whose and t.model]
    if len(some) < 3:
        return [f"{whose}: {len(some)} kernels timed."]
    return [f"{whose}: {len(some)} kernels; measured over modelled time: geometric mean {mean(t.ratio for t in some):.3f}, rank correlation "
            f"{correlation([t.model for t in some], [t.us for t in some]):.3f}; further off than {OFF}: {sum(max(t.ratio, 1 / t.ratio) > OFF for t in some)}."]


def said_of_both(timed: List[Timed], whose: str) -> List[str]:
    """Ours against XLA's, by part of the corpus."""
    theirs = {t.name: t for t in timed if t.whose == "XLA's"}
    pairs = [(t, theirs[t.name]) for t in timed if t.whose == whose and t.name in theirs]
    rows = []
    for part in (*PARTS, ""):
        some = [(a, b) for a, b in pairs if a.name.startswith(part)]
        if some:
            models = mean(a.model / b.model for a, b in some if a.model and b.model)
            rows.append(f"| {whose} | {part or 'all'} | {len(some)} | {mean(a.us / b.us for a, b in some):.3f} | {models:.3f} | "
                        f"{100 * sum(a.us <= 1.01 * b.us for a, b in some) / len(some):.1f} % |")
    return rows


def said_of_layouts(timed: List[Timed]) -> List[str]:
    """How far the chosen layouts are from the best of those that were timed."""
    chosen = {t.name: t.us for t in timed if t.whose == "ours xla"}
    best: Dict[str, float] = {}
    for t in timed:
        if t.whose.startswith("layout ") and t.name in chosen:
            best[t.name] = min(best.get(t.name, chosen[t.name]), t.us)
    worse = [chosen[n] / us for n, us in best.items()]
    return [f"Layouts: of {len(worse)} kernels others were timed too; the chosen one takes {mean(worse):.3f} of the best one's time, in "
            f"{sum(w > 1.05 for w in worse)} kernels more than 1.05."] if worse else []


def report(o: argparse.Namespace, results: Path) -> str:
    timed, checks, device = read(o, results)
    ours = sorted({t.whose for t in timed if t.whose.startswith("ours")}, reverse=True)
    out = ["# Kernels on a GPU", "", f"{device}, {datetime.date.today().isoformat()}; made by `./dev gpu`.", "", *said_of_checks(checks), ""]
    for whose in (*ours, "XLA's"):
        out += [*said_of_model(timed, whose), ""]
    out += ["| | part | kernels | of XLA's time, measured | modelled | at most 1.01 |", "|---|---|---:|---:|---:|---:|"]
    out += [row for whose in ours for row in said_of_both(timed, whose)]
    out += ["", *said_of_layouts(timed), "", "| kernel | whose | bound by | modelled us | measured us | ratio |", "|---|---|---|---:|---:|---:|"]
    for t in sorted((t for t in timed if t.model and not t.whose.startswith("layout")), key=lambda t: -abs(math.log(t.ratio)))[:o.rows]:
        out.append(f"| {t.name} | {t.whose} | {t.binds} | {t.model:.2f} | {t.us:.2f} | {t.ratio:.2f} |")
    return "\n".join(out) + "\n"


def main() -> int:
    p = argparse.ArgumentParser(prog="./dev gpu")
    p.add_argument("warpburg", nargs="?", default=str(ROOT / "build" / "warpburg"))
    p.add_argument("warpburg_run", nargs="?", default=str(ROOT / "build" / "warpburg-run"))
    p.add_argument("--package", type=Path, default=ROOT / "build" / "gpu")
    p.add_argument("--target", default="sm_90")
    p.add_argument("--accuracy", default="xla,exact", help="of the kernels that are timed")
    p.add_argument("--layouts", type=int, default=0, metavar="N", help="time other layouts of every Nth of them too")
    p.add_argument("--keep", action="store_true", help="the bundles that are in the package already")
    p.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    p.add_argument("--corpus", type=Path, nargs="+", default=[ROOT / "shaderdb" / "corpus"], help="folders of kernels to check")
    p.add_argument("--programs", type=Path, help="a folder of whole programs to check")
    p.add_argument("--every", type=int, default=1)
    p.add_argument("--repeat", type=int, default=100)
    p.add_argument("--results", type=Path, help="of a run elsewhere")
    p.add_argument("--page", type=Path, help="write the report to this file")
    p.add_argument("--rows", type=int, default=40, help="kernels that the report names, the worst modelled first")
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
                  f"./dev gpu --package {o.package} --results results.jsonl --page shaderdb/history/gpu.md")
            return NO_GPU
        if rc not in (0, 1):
            return rc
    text = report(o, results)
    if o.page:
        o.page.write_text(text, encoding="utf-8")
    print(text)
    return int(any(json.loads(line)["status"] for line in results.read_text(encoding="utf-8").splitlines()))


if __name__ == "__main__":
    sys.exit(main())
