#!/usr/bin/env python3
"""Tries every door of warpburg on the GPU of this machine: python3 try_doors.py [--only TEXT,..] [--jobs 6] [--no-times] [--out doors.jsonl].

Needs Python 3.9 or newer with numpy; jax, torch, cupy, gcc and nvcc where parts use them. Each part is a process with a limit of time. --out gets a
line for each part as soon as it ends, the terminal a summary. jax_times runs alone, last. Status 0: every part is fine, 1: not, 3: no GPU.
WARPBURG_LIBCUDA names the driver where it is not libcuda.so.1; --fake names a folder of drivers that simulate (tests/gpu/fake_cuda_driver.c).
"""
from __future__ import annotations

import argparse
import ctypes
import glob
import json
import os
import shutil
import signal
import site
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

HERE = Path(__file__).resolve().parent
BUILD, TREE, PARTS = HERE / "build", HERE / "tree", HERE / "parts"
NO_GPU = 3
LIMIT, LIMIT_TIMES, LIMIT_ALL = 60.0, 75.0, 200.0  # seconds of a part, of jax_times, until which parts are started
EDGES = {"functions", "functions_f64", "fp8_convert", "softmax_64_cluster16", "sort_64x1024", "scatter_add", "sum_all_f64", "cumsum_256x4096",
         "complex", "norm_all"}  # bundles that run on edge values too
SHOWN = ("judged", "compared", "outside", "whole_outside", "blas", "library", "first", "off_stored")


class Job(NamedTuple):
    name: str
    command: List[str]
    more: Dict[str, str] = {}  # environment
    limit: float = LIMIT
    alone: bool = False


def no_gpu(driver: str) -> str:
    """Why there is no GPU; '' where there is one."""
    try:
        cuda = ctypes.CDLL(driver)
    except OSError as e:
        return str(e)
    status, count = cuda.cuInit(0), ctypes.c_int()
    if status == 0:
        status = cuda.cuDeviceGetCount(ctypes.byref(count))
    return f"the driver's status is {status}" if status else "" if count.value else "the driver has no device"


def cublas() -> Optional[str]:
    """The library: PyPI's, else that of a CUDA toolkit."""
    places = [*site.getsitepackages(), *(p for p in sys.path if p.endswith("site-packages"))]
    patterns = [f"{p}/nvidia/*/lib/libcublas.so.1[123]" for p in places]
    patterns += [f"/usr/local/cuda*/{p}/libcublas.so.1[123]" for p in ("lib64", "targets/x86_64-linux/lib")]
    return next((f for p in patterns for f in sorted(glob.glob(p), reverse=True)), None)


def environment(fake: Optional[Path]) -> Dict[str, str]:
    env = {k: v for k, v in os.environ.items() if k not in ("WARPBURG_LIBCUBLAS", "XLA_FLAGS", "JAX_PLATFORMS")}
    blas, folders = cublas(), [str(BUILD)]
    try:
        ctypes.CDLL("libzstd.so.1")
    except OSError:
        folders.append(str(BUILD / "fallback"))
    if blas:
        env["WARPBURG_LIBCUBLAS"] = blas
        folders.append(os.path.dirname(blas))
    env["LD_LIBRARY_PATH"] = ":".join(filter(None, [env.get("LD_LIBRARY_PATH"), *folders]))
    env["PYTHONPATH"] = ":".join(filter(None, [str(TREE / "python"), str(PARTS), env.get("PYTHONPATH")]))
    env.update(WARPBURG_LIBRARY=str(BUILD / "libwarpburg.so"), WARPBURG_LIBDEVICE=str(BUILD / "libdevice.10.bc"), PYTHONUNBUFFERED="1",
               PYTHONDONTWRITEBYTECODE="1", XLA_PYTHON_CLIENT_PREALLOCATE="false", JAX_DEFAULT_MATMUL_PRECISION="highest", TF_CPP_MIN_LOG_LEVEL="1")
    if fake:
        env.update(WARPBURG_LIBCUDA=str(fake / "libfake_cuda_driver.so"), WARPBURG_LIBCUBLAS=str(fake / "libfake_cublas.so"), JAX_PLATFORMS="cpu",
                   DOORS_FAKE="1")
    else:
        env.update(WARPBURG_TEST_GPU="real", JAX_PLATFORMS="cuda,cpu")
    return env


def part(file: str, *words: str) -> List[str]:
    return [sys.executable, str(PARTS / file), *words]


def test(name: str) -> Job:
    return Job(f"tests/{name}", [sys.executable, str(TREE / "tests" / "doors" / f"{name}.py"), str(BUILD)])


def bundle_jobs(at: Path) -> List[Job]:
    run = [str(BUILD / "warpburg-run"), "run", str(at), "--on", "gpu", "--check", "--json", "-j", "4", "--case"]
    edges = [Job(f"bundle/{at.name}/e", [*run, "e"])] if at.name in EDGES else []
    return [Job(f"bundle/{at.name}/n", [*run, "n", "--repeat", "3"]), *edges]


def jobs() -> List[Job]:
    """The longest first."""
    programs = [Job(f"program/{p.name}", part("program.py", str(p))) for p in sorted((HERE / "programs").iterdir())]
    large = [j for j in programs if j.name.endswith(".L")]
    out = [Job("jax_values", part("jax_values.py")), test("jax_door"), Job("torch", part("torch_doors.py")), test("python_package"),
           Job("cupy", part("cupy_doors.py")),
           Job("jax_recorded", part("jax_values.py", "recorded"), {"XLA_FLAGS": "--xla_gpu_graph_min_graph_size=1"}),
           Job("jax_not_recorded", part("jax_values.py", "recorded"), {"XLA_FLAGS": "--xla_gpu_enable_command_buffer="}),
           *large, Job("examples", part("examples.py")), *(j for j in programs if j not in large)]
    for at in sorted((HERE / "bundles").iterdir()):
        out += bundle_jobs(at)
    if (HERE / "bundles/sum_all").is_dir():
        out.append(Job("bundle/repeat/sum_all", part("again.py", str(HERE / "bundles/sum_all"))))
    return [*out, Job("jax_times", part("jax_times.py"), limit=LIMIT_TIMES, alone=True)]


def call(command: List[str], env: Dict[str, str], limit: float) -> Tuple[Optional[int], str, float]:
    """(status or None: out of time, output, seconds)"""
    since = time.monotonic()
    p = subprocess.Popen(command, env=env, cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                         start_new_session=True)
    try:
        out, _ = p.communicate(timeout=limit)
        return p.returncode, out, time.monotonic() - since
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        out, _ = p.communicate()
        return None, out, time.monotonic() - since


def brief(facts: Dict[str, Any]) -> str:
    return " ".join(f"{k}={v}" for k, v in facts.items() if k not in ("name", "status", "seconds", "trace"))[:300]


def said_of(verdict: Dict[str, Any]) -> str:
    gpu = verdict.get("gpu") or {}
    return brief({**{k: verdict[k] for k in SHOWN if k in verdict}, **{k: gpu[k] for k in ("from", "exact", "differ", "ms") if k in gpu}})


def verdict_of(name: str, out: str) -> Dict[str, Any]:
    """The last JSON object that warpburg-run printed."""
    for line in reversed(out.splitlines() if name.startswith(("bundle/", "program/")) else []):
        if line.startswith("{"):
            try:
                return dict(json.loads(line))
            except ValueError:
                pass
    return {}


class Doors:
    def __init__(self, o: argparse.Namespace) -> None:
        self.o, self.lock, self.env = o, threading.Lock(), environment(o.fake)
        self.counts: Dict[str, int] = {}
        self.end = time.monotonic() + LIMIT_ALL
        self.file = open(o.out, "w", encoding="utf-8")

    def one(self, job: Job) -> None:
        status, out, seconds = None, "not started: no time left", 0.0
        left = self.end - time.monotonic()
        if left >= 3:
            status, out, seconds = call(job.command, {**self.env, **job.more}, min(job.limit, left))
        results = [json.loads(line[len("RESULT "):]) for line in out.splitlines() if line.startswith("RESULT ")]
        tail = "\n".join(x for x in out.splitlines() if not x.startswith("RESULT "))[-6000:]
        word = "TIMEOUT" if status is None else "ok" if status == 0 else "FAIL"
        row = {"part": job.name, "verdict": word, "seconds": round(seconds, 2), "status": status, "results": results,
               "json": verdict_of(job.name, out), "tail": tail}
        with self.lock:
            self.counts[word] = self.counts.get(word, 0) + 1
            self.file.write(json.dumps(row) + "\n")
            self.file.flush()
            self.say(row)

    def say(self, row: Dict[str, Any]) -> None:
        print(f"{row['verdict']:9} {row['seconds']:6.1f} s  {row['part']}  {said_of(row['json'])}", flush=True)
        for r in row["results"]:
            if r["status"] != "ok" or row["part"] == "jax_times":
                print(f"      {r['status']:5} {r['name']}  {brief(r)}", flush=True)
        if row["verdict"] != "ok" and not any(r["status"] == "FAIL" for r in row["results"]):
            print("      | " + "\n      | ".join(row["tail"].splitlines()[-12:]), flush=True)

    def run(self) -> bool:
        wanted = [j for j in jobs() if any(word in j.name for word in self.o.only.split(",")) and not (j.alone and self.o.no_times)]
        with ThreadPoolExecutor(self.o.jobs) as pool:
            list(pool.map(self.one, [j for j in wanted if not j.alone]))
        for j in wanted:
            if j.alone:
                self.one(j)
        return self.counts == {"ok": len(wanted)}


def main() -> int:
    p = argparse.ArgumentParser(prog="try_doors.py")
    p.add_argument("--only", default="", metavar="TEXT", help="parts with TEXT in their names; several texts with commas between them")
    p.add_argument("--jobs", type=int, default=6, help="parts at once")
    p.add_argument("--no-times", action="store_true", help="without jax_times")
    p.add_argument("--out", default=str(HERE / "doors.jsonl"))
    p.add_argument("--fake", type=Path, help="folder of the drivers that simulate, for a trial without a GPU")
    o = p.parse_args()
    reason = "" if o.fake else no_gpu(os.environ.get("WARPBURG_LIBCUDA", "libcuda.so.1"))
    if reason:
        print(f"no GPU: {reason}")
        return NO_GPU
    since, doors = time.monotonic(), Doors(o)
    tools = ", ".join(f"{name} {shutil.which(name)}" for name in ("gcc", "g++", "nvcc", "ptxas"))
    print(f"cuBLAS {doors.env.get('WARPBURG_LIBCUBLAS')}, {tools}, {os.cpu_count()} cores", flush=True)
    if shutil.which("nvidia-smi"):
        print(call(["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"], doors.env, 20)[1].strip(), flush=True)
    fine = doors.run()
    print(f"{doors.counts}, {time.monotonic() - since:.0f} s; results in {o.out}", flush=True)
    return int(not fine)


if __name__ == "__main__":
    sys.exit(main())
