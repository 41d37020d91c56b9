#!/usr/bin/env python3
"""Functions of JAX, ours and XLA's, timed on a GPU: those of sweep_functions.py.

    sweep.py make --package DIR [--build BUILD] [--python PYTHON] [--only TEXT,..]     here; PYTHON has jax
    python3 sweep.py time [--only TEXT,..] [--seconds N]                              in DIR, on a machine with a GPU and jax: writes sweep.jsonl
    sweep.py report --results sweep.jsonl

The texts that jax lowers are compiled to bundles at XLA's accuracy. Ours are timed by `warpburg-run run --on gpu --repeat` (src/gpu/time.c), a program
with several kernels as the sum of these. XLA's are timed on the same machine, as compiled by its jax, with sets of arrays in turns: `us` is the
mean of calls that are enqueued one behind the other, which has the host's time where that is longer than the GPU's (about 20 us), `kernels_us` the time
of its kernels by the profiler. Numbers are not negative; integers are uniform.
"""
from __future__ import annotations

import argparse
import glob
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CALLS, SETS = 30, 3
JAX_TYPES = {"f32": "float32", "bf16": "bfloat16", "f16": "float16", "s8": "int8", "i32": "int32"}
Row = Dict[str, Any]


# --- here -------------------------------------------------------------------------------------------------------------------------------
def lower(folder: Path, only: str) -> None:
    """Writes the texts; jax is needed."""
    import jax
    from sweep_functions import CASES

    for name, (f, shapes) in CASES.items():
        if is_asked(name, only):
            arguments = [jax.ShapeDtypeStruct(sizes_of(s)[0], JAX_TYPES[sizes_of(s)[1]]) for s in shapes]
            (folder / f"{name}.hlo").write_text(jax.jit(f).lower(*arguments).as_text("hlo"), encoding="utf-8")


def sizes_of(shape: Tuple[Any, ...]) -> Tuple[Tuple[int, ...], str, int]:
    """(sizes, type, number of values of an integer)"""
    at = next(k for k, s in enumerate(shape) if isinstance(s, str))
    return tuple(shape[:at]), shape[at], shape[at + 1] if len(shape) > at + 1 else 0


def is_asked(name: str, only: str) -> bool:
    return any(word in name for word in only.split(","))


def make(o: argparse.Namespace) -> int:
    sys.path.insert(0, str(ROOT / "shaderdb"))
    from tools import environment

    shutil.rmtree(o.package, ignore_errors=True)
    for folder in ("hlo", "bundles"):
        (o.package / folder).mkdir(parents=True)
    subprocess.run([o.python, str(HERE / "sweep.py"), "lower", "--package", str(o.package / "hlo"), "--only", o.only], check=True)
    env = {**os.environ, **dict(environment())}

    def compile_one(file: Path) -> str:
        at = o.package / "bundles" / file.stem
        p = subprocess.run([str(o.build / "warpburg"), "compile", str(file), "--target", o.target, "--accuracy", "xla", "-o", str(at)], capture_output=True,
                           text=True, env=env)
        return "" if p.returncode == 0 else f"without {file.stem}: {(p.stderr.strip().splitlines() or ['no reason'])[-1]}"

    with ThreadPoolExecutor(2) as pool:
        said = list(filter(None, pool.map(compile_one, sorted((o.package / "hlo").iterdir()))))
    print("\n".join(said))
    shutil.copy(o.build / "warpburg-run", o.package / "warpburg-run")
    subprocess.run(["strip", str(o.package / "warpburg-run")], check=False)
    for name in ("sweep.py", "sweep_functions.py"):
        shutil.copy(HERE / name, o.package / name)
    print(f"{len(list((o.package / 'bundles').iterdir()))} functions in {o.package}")
    return 0


# --- on the machine with a GPU ----------------------------------------------------------------------------------------------------------
def kernels_of(name: str) -> List[Path]:
    """The bundles of a function, one after the other."""
    at = HERE / "bundles" / name
    return [at] if (at / "kernel.json").exists() else sorted(p.parent for p in at.rglob("kernel.json"))


def ours(name: str, inputs: List[str]) -> Row:
    """Microseconds; `each` has those of the kernels of a program."""
    each, said = [], ""
    for at in kernels_of(name):
        words = [str(HERE / "warpburg-run"), "run", str(at), "--on", "gpu", "--alone", "--repeat", "100", "--json", "--case", "p", *inputs]
        p = subprocess.run(words, capture_output=True, text=True, errors="replace")
        line = next((w for w in reversed(p.stdout.splitlines()) if w.startswith("{")), "")
        ms = json.loads(line)["gpu"].get("ms") if line else None
        each.append(round(1e3 * ms, 2) if ms else 0)
        said = said or (p.stderr.strip()[-200:] if not ms else "")
    facts: Row = {"us": round(sum(each), 2)}
    if len(each) > 1:
        facts["each"] = each
    return {**facts, "said": said} if said else facts


def profiled(run: Any, sets: List[Any]) -> Optional[float]:
    """Microseconds of the kernels of a call, by the profiler; None where it cannot say."""
    import jax

    with tempfile.TemporaryDirectory() as folder:
        try:
            with jax.profiler.trace(folder):
                for k in range(CALLS // 3):
                    out = run(*sets[k % len(sets)])
                jax.block_until_ready(out)
            data = jax.profiler.ProfileData.from_file(glob.glob(f"{folder}/**/*.xplane.pb", recursive=True)[0])
            lines = [line for plane in data.planes if "GPU" in plane.name for line in plane.lines if line.name.startswith("Stream")]
            return round(sum(e.duration_ns for line in lines for e in line.events) / 1e3 / (CALLS // 3), 2) or None
        except Exception as e:  # of a profiler that is not there
            print(f"no profile: {e}", file=sys.stderr)
            return None


def xla(compiled: Any, sets: List[Any], profile: bool) -> Row:
    import jax

    def enqueued() -> float:
        since, kept = time.perf_counter(), []
        for k in range(CALLS):
            kept.append(compiled(*sets[k % len(sets)]))
            del kept[:-2]
        jax.block_until_ready(kept)
        return 1e6 * (time.perf_counter() - since) / CALLS

    for s in sets:
        jax.block_until_ready(compiled(*s))
    facts: Row = {"xla_us": round(statistics.median(enqueued() for _ in range(3)), 2)}
    of_kernels = profiled(compiled, sets) if profile else None
    return {**facts, "xla_kernels_us": of_kernels} if of_kernels else facts


def arrays(shapes: List[Tuple[Any, ...]], seed: int) -> List[Any]:
    import jax
    import jax.numpy as jnp

    out = []
    for k, shape in enumerate(shapes):
        sizes, word, most = sizes_of(shape)
        key = jax.random.key(100 * seed + k)
        dtype = getattr(jnp, JAX_TYPES[word])
        out.append(jax.random.randint(key, sizes, 0, most or 100).astype(dtype) if "int" in JAX_TYPES[word]
                   else jnp.abs(jax.random.normal(key, sizes, jnp.float32)).astype(dtype))
    return out


def stored(values: List[Any], folder: str) -> List[str]:
    """The words that give a bundle these values."""
    import numpy

    words = []
    for k, value in enumerate(values):
        file = f"{folder}/{k}.npy"
        a = numpy.asarray(value)
        numpy.save(file, a.view(numpy.uint16) if a.dtype.name == "bfloat16" else a)
        words += ["--input", file]
    return words


def timed(o: argparse.Namespace) -> int:
    import jax
    from sweep_functions import CASES

    end = time.monotonic() + o.seconds
    cases = {name: case for name, case in CASES.items() if is_asked(name, o.only) and (HERE / "bundles" / name).is_dir()}

    def compile_one(name: str) -> Any:
        f, shapes = cases[name]
        arguments = [jax.ShapeDtypeStruct(sizes_of(s)[0], JAX_TYPES[sizes_of(s)[1]]) for s in shapes]
        try:
            return jax.jit(f).lower(*arguments).compile()
        except Exception as e:
            print(f"{name}: {e}", file=sys.stderr)
            return None

    with ThreadPoolExecutor(12) as pool:
        compiled = dict(zip(cases, pool.map(compile_one, cases)))
    print(f"compiled {len(compiled)} with {o.seconds - (end - time.monotonic()):.0f} seconds gone", flush=True)
    with open(o.results, "a", encoding="utf-8") as file:
        for name, (_, shapes) in cases.items():
            if time.monotonic() > end:
                print(f"no time from {name} on")
                break
            row: Row = {"name": name, "device": jax.devices()[0].device_kind}
            if compiled[name]:
                sets = [arrays(shapes, k) for k in range(SETS)]
                jax.block_until_ready(sets)
                row.update(xla(compiled[name], sets, o.profile))
                with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
                    integers = any("int" in JAX_TYPES[sizes_of(s)[1]] for s in shapes)
                    words = stored(sets[0], folder) if integers and len(kernels_of(name)) == 1 else []
                    del sets
                    row.update(ours(name, words))
            print(json.dumps(row), flush=True)
            file.write(json.dumps(row) + "\n")
            file.flush()
    return 0


# --- what came back ---------------------------------------------------------------------------------------------------------------------
def report(o: argparse.Namespace) -> int:
    rows = [json.loads(line) for line in o.results.read_text(encoding="utf-8").splitlines()]
    rows = [{**r, "theirs": r.get("xla_kernels_us") or r["xla_us"]} for r in rows if r.get("us") and r.get("xla_us")]
    print("| function | ours us | XLA's us | ratio | launches |\n|---|---:|---:|---:|---:|")
    for r in sorted(rows, key=lambda r: -r["us"] / r["theirs"]):
        print(f"| {r['name']} | {r['us']:.1f} | {r['theirs']:.1f} | {r['us'] / r['theirs']:.2f} | {len(r.get('each', [0]))} |")
    print(f"\n{len(rows)} functions; ours over XLA's, geometric mean {statistics.geometric_mean(r['us'] / r['theirs'] for r in rows):.3f}; "
          f"at most 1.01: {100 * sum(r['us'] <= 1.01 * r['theirs'] for r in rows) / len(rows):.1f} %")
    return 0


def main() -> int:
    p = argparse.ArgumentParser(prog="sweep.py")
    p.add_argument("command", choices=("make", "lower", "time", "report"))
    p.add_argument("--package", type=Path, default=ROOT / "build" / "sweep")
    p.add_argument("--build", type=Path, default=ROOT / "build")
    p.add_argument("--python", default=str(ROOT / "build/jax-venv/bin/python"), help="one that has jax")
    p.add_argument("--target", default="sm_90")
    p.add_argument("--only", default="", metavar="TEXT,..", help="functions with one of these in their names")
    p.add_argument("--results", type=Path, default=HERE / "sweep.jsonl")
    p.add_argument("--seconds", type=float, default=1e6)
    p.add_argument("--profile", action="store_true", help="time XLA's kernels by the profiler, too")
    o = p.parse_args()
    o.package = o.package.resolve()
    if o.command == "lower":
        lower(o.package, o.only)
        return 0
    return {"make": make, "time": timed, "report": report}[o.command](o)


if __name__ == "__main__":
    sys.exit(main())
