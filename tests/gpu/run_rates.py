#!/usr/bin/env python3
"""Measures rates of the GPU of this machine: `run_rates.py [--results rates.jsonl] [--seconds 100]`.

The folder is made by tests/gpu/rates.py; it needs Python's standard library and the CUDA driver alone. jobs.json says what each kernel does and how
it is measured (rate_memory.py has the kinds). Jobs run in a process of their own, which appends results a line at a time; where it fails or says
nothing for 20 seconds another goes on with the next job, since some errors end a process' use of the GPU. Exit status 0: all jobs were measured or
failed by themselves; 1: time ran out; 3: there is no GPU.
"""
from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from cuda_calls import CudaError, Driver, opened  # noqa: E402

NO_GPU, SILENT, ENDED = 3, 20.0, 5  # status; seconds; status of a child whose context is lost
MIB = 1 << 20
WORK, LARGE, SLICE = 64 * MIB, 2048 * MIB, 512 * MIB  # bytes of q, of each large buffer, and of what one launch of a stream works on
ATTRIBUTES = {"sms": 16, "clock_khz": 13, "memory_khz": 36, "bus_bits": 37, "l2_bytes": 38, "major": 75, "minor": 76, "max_shared_block": 97,
              "max_shared_sm": 81, "regs_sm": 82, "threads_sm": 39, "reserved_shared_block": 111}
Job = Dict[str, Any]
Result = Dict[str, Any]


class Runner:
    def __init__(self, driver: Driver, inputs: List[str], at: int, region: int) -> None:
        self.d = driver
        self.q = driver.alloc(WORK)
        self.large, size = [0, 0], LARGE
        while size >= SLICE:
            try:
                self.large = [driver.alloc(size), driver.alloc(size)]
                break
            except CudaError:
                size //= 2
        self.size = size
        for n, text in enumerate(inputs):
            driver("cuMemcpyHtoD_v2", self.q + at + n * region, bytes.fromhex(text) * (region // 8), region)
        for x in self.large:
            driver("cuMemsetD32_v2", x, 0, size // 4)
        driver.wait()

    def launch(self, j: Job, turns: int, arg: int) -> None:
        self.d.launch(self.d.function(str(HERE / j["cubin"]), j["kernel"]), j["grid"], j["block"], self.q, self.large[0], turns, arg,
                      j.get("shared", 0), j.get("cluster", 0))

    def setup(self, j: Job) -> None:
        s = j.get("setup")
        if s:
            self.d.launch(self.d.function(str(HERE / j["cubin"]), "chain_init"), s["grid"], s["block"], self.q, self.large[0], s["step"], s["stride"])
            self.d.wait()

    def flush(self, j: Job) -> None:
        if j.get("flush"):
            self.d("cuMemsetD32_v2", self.large[1], 7, 256 * MIB // 4)
            self.d.wait()

    def block_clocks(self, j: Job) -> Tuple[List[int], List[int]]:
        """For each block its clocks, and its nanoseconds, from the first warp's start to the last one's end."""
        warps = (j["block"] + 31) // 32
        words = self.d.read(self.q, 4 * 32 * j["grid"])
        clocks, ns = [], []
        for b in range(j["grid"]):
            rows = [words[4 * (32 * b + w):4 * (32 * b + w) + 4] for w in range(warps)]
            clocks.append(max(r[1] for r in rows) - min(r[0] for r in rows))
            ns.append(max(r[3] for r in rows) - min(r[2] for r in rows))
        return clocks, ns

    def once(self, j: Job, turns: int, arg: int) -> Tuple[int, int, int, int]:
        """(clocks of the median block, of the fastest, of the slowest; nanoseconds of the slowest)"""
        self.flush(j)
        self.launch(j, turns, arg)
        self.d.wait()
        clocks, ns = self.block_clocks(j)
        clocks.sort()
        return clocks[len(clocks) // 2], clocks[0], clocks[-1], max(ns)

    def clocks(self, j: Job) -> Result:
        """Clocks of `turns` turns and of twice as many; the least of three each."""
        self.setup(j)
        rows = []
        for arg in j["args"]:
            self.once(j, j["turns"], arg)
            few = [self.once(j, j["turns"], arg) for _ in range(3)]
            many = [self.once(j, 2 * j["turns"], arg) for _ in range(3)]
            rows.append({"arg": arg, "few": list(min(few)), "many": list(min(many)), "turn": (min(many)[0] - min(few)[0]) / j["turns"],
                         "spread": [max(few)[0], max(many)[0]]})
        return {"rows": rows}

    def timed(self, launches: Callable[[], None], wait_us: int, again: int = 3) -> List[float]:
        """Seconds of what is launched, behind a kernel that waits until all of it is queued."""
        spin = self.d.function(str(HERE / "memory.cubin"), "spin")
        out = []
        for _ in range(again):
            before, after = self.d.event(), self.d.event()
            if wait_us:
                self.d.launch(spin, 1, 1, self.q, self.q, 0, wait_us)
            self.d("cuEventRecord", before, self.d.stream)
            launches()
            self.d("cuEventRecord", after, self.d.stream)
            out.append(self.d.seconds(before, after))
        return out

    def events(self, j: Job) -> Result:
        rows = []
        for arg in j["args"]:
            times = {t: self.timed(lambda t=t: self.launch(j, t, arg), 200) for t in (j["turns"], 2 * j["turns"])}  # type: ignore[misc]
            few, many = min(times[j["turns"]]), min(times[2 * j["turns"]])
            rows.append({"arg": arg, "few": few, "many": many, "turn": (many - few) / j["turns"]})
        return {"rows": rows}

    def stream(self, j: Job) -> Result:
        """Launches go round the slices of the large buffers."""
        slices = self.size // SLICE
        f = self.d.function(str(HERE / j["cubin"]), j["kernel"])
        rows = []
        for size in (SLICE, SLICE // 8):
            grid, count = size // (j["width"] * j["block"]), 8 * SLICE // size

            def launches() -> None:
                for k in range(count):
                    at = k * size % (slices * SLICE)
                    self.d.launch(f, grid, j["block"], self.large[0] + at, self.large[1] + at, 0, j["args"][0])
            seconds = min(self.timed(launches, 2000)) / count
            rows.append({"bytes": size * j["moved"], "seconds": seconds, "grid": grid})
        return {"rows": rows}

    def periods(self, j: Job) -> Result:
        """Seconds from one launch to the next, of 200."""
        f, count = self.d.function(str(HERE / j["cubin"]), j["kernel"]), 200

        def launches() -> None:
            for _ in range(count):
                self.d.launch(f, j["grid"], j["block"], self.large[0], self.large[1], 0, 0)

        def one() -> None:
            self.d.launch(f, j["grid"], j["block"], self.large[0], self.large[1], 0, 0)
        launches()
        self.d.wait()
        out: Result = {"stream": [t / count for t in self.timed(launches, 5000)], "single": self.timed(one, 500)}
        try:
            graph = self.d.captured(launches)
            self.d("cuGraphLaunch", graph, self.d.stream)
            self.d.wait()
            out["graph"] = [t / count for t in self.timed(lambda: self.d("cuGraphLaunch", graph, self.d.stream), 5000)]
        except CudaError as e:
            out["graph_error"] = str(e)
        return out

    def hz(self, j: Job) -> Result:
        self.once(j, j["turns"], 0)
        median, _, _, ns = self.once(j, j["turns"], 0)
        clocks, times = self.block_clocks(j)
        return {"hz": [1e9 * a / b for a, b in zip(clocks, times) if b][:8], "clocks": median, "ns": ns}

    def device(self, _: Job) -> Result:
        return {"card": self.d.name(), "driver": self.d.version(), "large": self.size, **{k: self.d.attribute(n) for k, n in ATTRIBUTES.items()}}


def child(jobs: List[Job], start: int, results: Path, made: Dict[str, Any]) -> int:
    """Measures the jobs from `start` on. What fails alone is noted, and the next is tried."""
    driver = opened()
    if driver is None:
        return NO_GPU
    try:
        r = Runner(driver, made["inputs"], made["at"], made["region"])
    except Exception:
        traceback.print_exc()
        return ENDED
    kinds: Dict[str, Callable[[Job], Result]] = {"clocks": r.clocks, "events": r.events, "stream": r.stream, "launch": r.periods, "hz": r.hz,
                                                 "device": r.device}
    with open(results, "a", encoding="utf-8") as file:
        for n in range(start, len(jobs)):
            j, begun = jobs[n], time.monotonic()
            out: Result = {"n": n, "name": j["name"], "kind": j["kind"]}
            lost = False
            try:
                out.update(kinds[j["kind"]](j))
            except Exception as e:
                out["error"] = f"{type(e).__name__}: {e}"[:300]
                try:
                    driver.wait()
                except CudaError:
                    lost = True
            out["s"] = round(time.monotonic() - begun, 4)
            file.write(json.dumps(out) + "\n")
            file.flush()
            if lost:
                return ENDED
    return 0


def done(results: Path) -> int:
    """The number of the job after the last one that has a line."""
    last = -1
    if results.exists():
        for line in results.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                last = max(last, int(json.loads(line)["n"]))
            except (ValueError, KeyError, TypeError):
                continue
    return last + 1


def watched(words: List[str], results: Path, until: float, silent: float) -> Optional[int]:
    """The status of a child; None if it was stopped, as it had not written for `silent` seconds, or time was over."""
    p = subprocess.Popen(words)
    seen, size = time.monotonic(), -1
    while p.poll() is None:
        time.sleep(0.05)
        now = results.stat().st_size if results.exists() else 0
        if now != size:
            seen, size = time.monotonic(), now
        if time.monotonic() - seen > silent or time.monotonic() > until:
            p.kill()
            p.wait()
            return None
    return p.returncode


def main() -> int:
    p = argparse.ArgumentParser(description="measures rates of a GPU")
    p.add_argument("--results", type=Path, default=HERE / "rates.jsonl")
    p.add_argument("--seconds", type=float, default=100, help="at most, in all")
    p.add_argument("--silent", type=float, default=SILENT, help="seconds after which a process that writes nothing is stopped")
    p.add_argument("--only", default="", help="jobs with this text in their names")
    p.add_argument("--child", type=int, help=argparse.SUPPRESS)
    o = p.parse_args()
    made = json.loads((HERE / "jobs.json").read_text(encoding="utf-8"))
    jobs = [j for j in made["jobs"] if o.only in j["name"]]
    if o.child is not None:
        return child(jobs, o.child, o.results, made)
    begun = time.monotonic()
    o.results.write_text("", encoding="utf-8")
    while (n := done(o.results)) < len(jobs):
        words = [sys.executable, str(HERE / "run_rates.py"), "--results", str(o.results), "--only", o.only, "--child", str(n)]
        rc = watched(words, o.results, begun + o.seconds, o.silent)
        if rc == NO_GPU:
            return NO_GPU
        if time.monotonic() - begun > o.seconds:
            print("time is over", flush=True)
            break
        at = done(o.results)
        if at < len(jobs) and (rc is None or rc < 0 or (rc and at == n)):  # the job that it stopped at is at fault
            line = {"n": at, "name": jobs[at]["name"], "kind": jobs[at]["kind"], "error": f"the process ended with {rc}"}
            with open(o.results, "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        print(f"{done(o.results)} of {len(jobs)} jobs, {time.monotonic() - begun:.1f} s, status {rc}", flush=True)
    found = [json.loads(line) for line in o.results.read_text(encoding="utf-8").splitlines()]
    failed = [r for r in found if "error" in r]
    print(f"{len(found)} of {len(jobs)} jobs measured in {time.monotonic() - begun:.1f} s, {len(failed)} failed; results in {o.results}", flush=True)
    for r in failed[:20]:
        print(f"  {r['name']}: {r['error']}", flush=True)
    return int(len(found) < len(jobs))


if __name__ == "__main__":
    os.environ.setdefault("CUDA_MODULE_LOADING", "LAZY")
    sys.exit(main())
