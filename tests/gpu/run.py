#!/usr/bin/env python3
"""Runs a package of bundles on the GPU of this machine: `run.py [--results results.jsonl] [--repeat 100] [--only TEXT] [--seconds N]`.

A package is made by tests/gpu/gpu.py; it needs neither a compiler nor anything but Python's standard library and the CUDA driver. Each line of jobs.jsonl
is a check, whose outputs must be those of the simulator or inside the evaluator's bounds, or a timing. Checks run on all cores at once, timings one after
the other. Results are appended a line at a time, and jobs that have one are passed over, so that a run can be continued. A kernel that ends the GPU's
context, or does not end, costs its own result alone. Exit status 0: every check passed; 1: one failed; 3: there is no GPU.
"""
from __future__ import annotations

import argparse
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

HERE = Path(__file__).resolve().parent
NO_GPU, LIMIT = 3, 60  # status; seconds that one job may take
Job = Dict[str, Any]


def words_of(job: Job, repeat: int, threads: int) -> List[str]:
    words = ["run", *job["words"], "--on", "gpu", "--json", "-j", str(threads)]
    return words + (["--repeat", str(repeat), "--alone"] if job["what"] == "time" else [])


def result_of(job: Job, status: int, said: List[str]) -> Job:
    out: Job = {"name": job["name"], "what": job["what"], "whose": job["whose"], "status": status}
    try:
        verdict = json.loads(next(line for line in said if line.startswith('{"file"')))
    except (StopIteration, ValueError):
        return {**out, "error": " ".join(said)[-400:] or "no output"}
    gpu = verdict.get("gpu", {})
    out.update({k: gpu[k] for k in ("device", "arch", "from", "ms", "gb_per_s", "copy_gb_per_s") if k in gpu})
    if job["what"] == "check":
        out.update({"compared": verdict["compared"], "outside": verdict["outside"], "faults": verdict["faults"][:3], "share": verdict["share"],
                    **{k: gpu.get(k) for k in ("beside", "exact", "differ")}, "first": verdict.get("first")})
    return out


class Queue:
    """Jobs that workers take, results that they put, and a time after which none is taken."""

    def __init__(self, jobs: List[Job], file: Any, o: argparse.Namespace) -> None:
        self.jobs, self.file, self.o, self.lock = list(jobs), file, o, threading.Lock()
        self.n, self.done, self.failed, self.end = len(jobs), 0, 0, time.monotonic() + o.seconds

    def take(self, n: int) -> List[Job]:
        with self.lock:
            taken, self.jobs = (self.jobs[:n], self.jobs[n:]) if time.monotonic() < self.end else ([], self.jobs)
        return taken

    def put_back(self, jobs: List[Job]) -> None:
        with self.lock:
            self.jobs = jobs + self.jobs

    def put(self, job: Job, status: int, said: List[str]) -> None:
        r = result_of(job, status, said)
        with self.lock:
            self.done += 1
            self.failed += job["what"] == "check" and r["status"] != 0
            self.file.write(json.dumps(r) + "\n")
            self.file.flush()
            if self.o.verbose or r["status"] != 0:
                said_of_it = r.get("error") or ("%.3f us" % (1e3 * r["ms"]) if r.get("ms") else "ok" if r["status"] == 0 else r.get("first") or r.get("faults"))
                print(f"{self.done}/{self.n} {job['what']} {job['whose']} {job['name']}: {said_of_it}", flush=True)


def read_lines(process: "subprocess.Popen[str]", to: "queue.Queue[Optional[str]]") -> None:
    """None is the end."""
    assert process.stdout
    for line in process.stdout:
        to.put(line.rstrip("\n"))
    to.put(None)


def follow(p: "subprocess.Popen[str]", jobs: List[Job], q: Queue) -> int:
    """Puts the results of the jobs that the process runs; returns how many have one when it ends, or is to be ended."""
    lines: "queue.Queue[Optional[str]]" = queue.Queue()
    threading.Thread(target=read_lines, args=(p, lines), daemon=True).start()
    said: List[str] = []
    at = 0
    while at < len(jobs):
        try:
            line = lines.get(timeout=LIMIT)
        except queue.Empty:
            q.put(jobs[at], -1, [*said, f"takes more than {LIMIT} seconds"])
            return at + 1
        if line is None:
            q.put(jobs[at], p.wait(), [*said, f"the process ended with status {p.wait()}"])
            return at + 1
        if not line.startswith('{"line":'):
            said.append(line)
            continue
        q.put(jobs[at], json.loads(line)["status"], said)
        at += 1
        if time.monotonic() > q.end or any("the GPU's driver:" in s for s in said):  # an error of the context is met by all that follow
            return at
        said = []
    return at


def run_some(jobs: List[Job], q: Queue, threads: int) -> None:
    """These jobs in one process, as far as it comes; what is left goes back."""
    with tempfile.NamedTemporaryFile("w", suffix=".jobs") as f:
        f.write("".join("\t".join(words_of(j, q.o.repeat, threads)) + "\n" for j in jobs))
        f.flush()
        p = subprocess.Popen([str(HERE / "warpburg-run"), "batch", "--gpu", f.name], cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             errors="replace")
        done = follow(p, jobs, q)
        p.kill()
        p.wait()
        q.put_back(jobs[done:])


def work(q: Queue, batch: int, threads: int) -> None:
    while True:
        jobs = q.take(batch)
        if not jobs:
            return
        run_some(jobs, q, threads)


def run_all(jobs: List[Job], file: Any, o: argparse.Namespace, workers: int, batch: int) -> Tuple[int, int]:
    """(jobs that failed, jobs for which no time was left)"""
    q = Queue(jobs, file, o)
    threads = max((os.cpu_count() or 1) // workers, 1)
    running = [threading.Thread(target=work, args=(q, batch, threads)) for _ in range(min(workers, max(len(jobs), 1)))]
    for t in running:
        t.start()
    for t in running:
        t.join()
    return q.failed, len(q.jobs)


def main() -> int:
    parser = argparse.ArgumentParser(description="runs this package of bundles on a GPU")
    parser.add_argument("--results", type=Path, default=HERE / "results.jsonl")
    parser.add_argument("--repeat", type=int, default=100)
    parser.add_argument("--only", default="")
    parser.add_argument("--what", default="", choices=("", "check", "time"))
    parser.add_argument("--seconds", type=float, default=1e6, help="for the checks, and for the timings")
    parser.add_argument("--workers", type=int, default=max((os.cpu_count() or 1) - 1, 1), help="processes that check at once")
    parser.add_argument("--verbose", action="store_true", help="a line for each job, not only for what fails")
    o = parser.parse_args()
    jobs = [json.loads(line) for line in (HERE / "jobs.jsonl").read_text(encoding="utf-8").splitlines()]
    jobs = [j for j in jobs if o.only in j["name"] and o.what in ("", j["what"])]
    if not jobs:
        print("no jobs")
        return 2
    done = set()
    if o.results.exists():
        done = {(r["name"], r["what"], r["whose"]) for r in map(json.loads, o.results.read_text(encoding="utf-8").splitlines())}
    with tempfile.NamedTemporaryFile("w") as none:
        first = subprocess.run([str(HERE / "warpburg-run"), "batch", "--gpu", none.name], capture_output=True, text=True)
    if first.returncode == NO_GPU:
        print(f"no GPU: {(first.stderr or first.stdout).strip()}")
        return NO_GPU
    left = [j for j in jobs if (j["name"], j["what"], j["whose"]) not in done]
    with open(o.results, "a", encoding="utf-8") as file:
        failed, unchecked = run_all([j for j in left if j["what"] == "check"], file, o, o.workers, 8)
        _, untimed = run_all([j for j in left if j["what"] == "time"], file, o, 1, 1000)
    print(f"{len(jobs)} jobs, {failed} checks failed, no time for {unchecked} checks and {untimed} timings; results in {o.results}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
