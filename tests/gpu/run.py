#!/usr/bin/env python3
"""Runs a package of bundles on the GPU of this machine: `run.py [--results results.jsonl] [--repeat 100] [--only TEXT]`.

A package is made by tests/gpu/gpu.py; it needs neither a compiler nor anything but Python's standard library and the CUDA driver. Each line of jobs.jsonl
is a check, whose outputs must be those of the simulator or inside the evaluator's bounds, or a timing. Results are appended a line at a time, and jobs
that have one are passed over, so that a run can be continued. Exit status 0: every check passed; 1: one failed; 3: there is no GPU.
"""
from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List

HERE = Path(__file__).resolve().parent
NO_GPU, SECONDS = 3, 300


def call(words: List[str], seconds: int = SECONDS) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run([str(HERE / "warpburg-run"), "run", *words], cwd=HERE, capture_output=True, text=True, errors="replace", timeout=seconds)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(words, -1, "", f"takes more than {seconds} seconds")


def result_of(job: Dict[str, Any], repeat: int) -> Dict[str, Any]:
    """A check runs every block in the simulator too; for a timing one block is enough, and what it leaves undone is not compared."""
    timing = job["what"] == "time"
    words = [*job["words"], "--on", "gpu", "--json", *(["--repeat", str(repeat)] if timing else ["--check"])]
    p = call(words + (["--blocks", "1"] if timing else []))
    if timing and p.returncode == 1 and "a sample of blocks" in p.stderr:
        p = call(words)
    out: Dict[str, Any] = {"name": job["name"], "what": job["what"], "whose": job["whose"], "status": p.returncode}
    try:
        verdict = json.loads(p.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return {**out, "error": (p.stderr.strip() or p.stdout.strip())[-300:]}
    gpu = verdict.get("gpu", {})
    out.update({k: gpu[k] for k in ("device", "arch", "from", "ms", "gb_per_s", "copy_gb_per_s") if k in gpu})
    if not timing:
        out.update({"outside": verdict["outside"], "faults": verdict["faults"][:3], "differ": gpu.get("differ"), "exact": gpu.get("exact"),
                    "first": verdict.get("first")})
    elif gpu and p.returncode == 4:
        out["status"] = 0  # the blocks that the simulator left out
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description="runs this package of bundles on a GPU")
    parser.add_argument("--results", type=Path, default=HERE / "results.jsonl")
    parser.add_argument("--repeat", type=int, default=100)
    parser.add_argument("--only", default="")
    o = parser.parse_args()
    jobs = [json.loads(line) for line in (HERE / "jobs.jsonl").read_text(encoding="utf-8").splitlines()]
    jobs = [j for j in jobs if o.only in j["name"]]
    if not jobs:
        print("no jobs")
        return 2
    first = call([*jobs[0]["words"], "--on", "gpu"])
    if first.returncode == NO_GPU:
        print(f"no GPU: {(first.stderr or first.stdout).strip()}")
        return NO_GPU
    done = set()
    if o.results.exists():
        done = {(r["name"], r["what"], r["whose"]) for r in map(json.loads, o.results.read_text(encoding="utf-8").splitlines())}
    failed = 0
    with open(o.results, "a", encoding="utf-8") as file:
        for n, job in enumerate(jobs):
            if (job["name"], job["what"], job["whose"]) in done:
                continue
            r = result_of(job, o.repeat)
            failed += job["what"] == "check" and r["status"] != 0
            file.write(json.dumps(r) + "\n")
            file.flush()
            print(f"{n + 1}/{len(jobs)} {job['what']} {job['whose']} {job['name']}: "
                  f"{r.get('error') or ('%.3f us' % (1e3 * r['ms']) if r.get('ms') else 'ok' if r['status'] == 0 else r.get('first') or r.get('faults'))}",
                  flush=True)
    print(f"{len(jobs)} jobs, {failed} checks failed; results in {o.results}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
