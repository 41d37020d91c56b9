#!/usr/bin/env python3
"""JAX's own tests of primitives (jax._src.internal_test_util.test_harnesses): the kernel of each program is right, and JAX's result on the CPU lies in
the evaluator's bounds.

    jax_harnesses.py WARPBURG BUILD [--groups PATTERN] [--every N] [--first K] [--folder DIR]

Needs BUILD/jax-venv, an environment with jax of PyPI, which ./dev test --all makes; without it nothing is run, and a line says so. The text is what
jax.jit(f).lower(*args) gives, without any pass of XLA's. Programs of the groups that match PATTERN, each N-th from the K-th on. A refusal or a
difference that neither KNOWN nor APART names has failed; its folder stays in DIR. Ends with `N passed, M failed`.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import zlib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Dict, List, Sequence, Tuple

LIBRARY = "the text calls a library: "
KNOWN: Dict[str, str] = {  # pattern of "NAME: what is said": why it is so
    r"declined: library: (custom-call of 'lapack_|the text does not define custom-call .lapack_)": LIBRARY + "LAPACK",
    r"^triangular_solve_.*declined: library: triangular-solve of b?f16": LIBRARY + "a solver, for which LAPACK has no such type",
    r"^fft_.*declined: library: fft of": LIBRARY + "a Fourier transform",
    r"^(sort_.*isstable_False|approx_top_k).*: out\d": "the sort is not stable: JAX has equal elements in another order",
}
FLUSHED = "JAX has 0 on the CPU for a subnormal"
FORMULA = "on the CPU, XLA fuses products and sums of a formula, whose steps round one by one here"
APART: Dict[str, Tuple[int, str]] = {  # pattern of groups: JAX's result is so many units in the last place outside of the bounds at most, and why
    r"^(a?(cos|sin|tan)h?|exp|expm1|log|log1p|erf|erfc|erf_inv|logistic|pow|cbrt)$": (8, "functions of XLA on the CPU miss by more than a kernel may"),
    r"^div$": (1, "on the CPU, XLA multiplies by the reciprocal of a divisor that is broadcast"),
    r"^(bessel_.*|digamma|igamma|igammac|regularized_incomplete_beta|random_gamma)$": (64, FORMULA),
    r"^lgamma$": (4096, FORMULA + ", most near its zeros, 1 and 2"),
}
# the same, of names: JAX is 117, 20, 44 and 16 units off there, held against 80-bit floats, and erf_inv against 60 digits
APART_WIDE = (128, "functions of f64 of XLA on the CPU miss by more than a kernel may")
WIDE = r"^(atanh|log1p|log|erf_inv)_.*(float64|complex128)"


def units(np: Any, x: Any, size: Any, kind: str) -> Any:
    """How many units in the last place of a value of the given size x is, in the type that the results have."""
    mantissa, least = {"float16": (10, -14), "bfloat16": (7, -126), "float32": (23, -126), "float64": (52, -1022),
                       "complex64": (23, -126), "complex128": (52, -1022)}.get(kind, (3, -6))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        exponent = np.maximum(np.floor(np.log2(np.where(size > 0, size, 1))), least)
        return np.ceil(x / np.exp2(exponent - mantissa))


def say_bounds(np: Any, jaxs: Any, folder: Path, k: int) -> Tuple[str, float]:
    """Where JAX's result k lies outside the bounds (empty: nowhere), and by how many units in the last place at most."""
    lo, hi, nan = (np.load(folder / f"{what}{k}.npy") for what in ("lo", "hi", "nan"))
    r = np.asarray(jaxs)
    if r.shape != lo.shape:
        return f"out{k}: shape {lo.shape}, JAX's {r.shape}", np.inf
    parts = [(r.real, lo.real, hi.real, nan & 3), (r.imag, lo.imag, hi.imag, nan >> 2)] if r.dtype.kind == "c" else [(r, lo, hi, nan & 3)]
    said, most = "", 0.0
    for x, low, high, may in parts:
        if r.dtype.kind in "iub":
            inside, apart = (x.astype(lo.dtype) >= low) & (x.astype(lo.dtype) <= high), np.full(x.shape, np.inf)
        else:
            x = x.astype(np.float64)
            with np.errstate(invalid="ignore"):
                inside, size = np.where(np.isnan(x), may != 0, (x >= low) & (x <= high)), np.abs(r.astype(np.complex128))
                apart = np.nan_to_num(units(np, np.maximum(low - x, x - high), size, r.dtype.name), nan=np.inf)
                normal = {"float16": 2.0**-14, "float64": 2.0**-1022, "complex128": 2.0**-1022}.get(r.dtype.name, 2.0**-126)
                apart = np.where((x == 0) & (np.minimum(np.abs(low), np.abs(high)) < normal), 0, apart)
        if not inside.all():
            at, worst = tuple(int(i) for i in np.argwhere(~inside)[0]), float(apart[~inside].max())
            most = max(most, worst)
            said = said or (f"out{k}{list(at)}: JAX has {x[at]}, allowed [{low[at]}, {high[at]}], {int((~inside).sum())} of {inside.size}, "
                            f"{worst:.0f} units in the last place apart")
    return said, most


def work(o: argparse.Namespace) -> int:
    """In the environment that has jax."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import numpy as np
    jax.config.update("jax_enable_x64", True)  # before the list is made: it has 7,526 harnesses then, and 5,594 without types of 64 bits
    from jax._src.internal_test_util import test_harnesses
    chosen = [h for h in test_harnesses.all_harnesses if re.search(o.groups, h.group_name)][o.first::o.every]
    tally: Counter[str] = Counter()
    folder = Path(o.folder)

    def save(path: Path, array: Any) -> None:
        x = np.asarray(array)
        np.save(path, x.view(np.uint16) if x.dtype.name == "bfloat16" else x)

    def judge(job: Tuple[int, Any]) -> Tuple[str, str, str]:
        n, h = job
        name, d = h.fullname, folder / str(n)
        try:
            args = h.dyn_args_maker(np.random.RandomState(zlib.crc32(name.encode())))
            f = jax.jit(h.dyn_fun, keep_unused=True)
            text, results = f.lower(*args).compiler_ir("hlo").as_hlo_text(True), jax.tree.leaves(f(*args))
        except Exception as e:  # harnesses that JAX itself has not for the CPU
            return name, "no result of JAX", type(e).__name__
        d.mkdir(parents=True, exist_ok=True)
        (d / "m.hlo").write_text(text, encoding="utf-8")
        inputs: List[str] = []
        for k, a in enumerate(jax.tree.leaves(args)):
            save(d / f"in{k}.npy", a)
            inputs += ["--input", str(d / f"in{k}.npy")]
        try:
            p = subprocess.run([o.warpburg, "run", str(d / "m.hlo"), "--check", *inputs], capture_output=True, text=True, timeout=120)
            if p.returncode:
                return name, {3: "declined"}.get(p.returncode, "failed"), f"exit {p.returncode}: {(p.stdout + p.stderr).strip().replace(str(d), '')[:300]}"
            p = subprocess.run([o.warpburg, "eval", str(d / "m.hlo"), "--bounds", "-o", str(d), *inputs], capture_output=True, text=True, timeout=120)
        except subprocess.TimeoutExpired:
            return name, "failed", "does not end in 120 s"
        if p.returncode:
            return name, "failed", p.stderr[:300]
        apart = [say_bounds(np, r, d, k) for k, r in enumerate(results)]
        why, most = next(filter(None, (said for said, _ in apart)), ""), max([most for _, most in apart], default=0)
        of = [row for pattern, row in APART.items() if re.search(pattern, h.group_name)] + ([APART_WIDE] if re.search(WIDE, name) else [])
        reason = FLUSHED if most == 0 else next((said for limit, said in of if most <= limit), "")
        if why and reason:
            shutil.rmtree(d)
            return name, "known", reason
        if not why:
            shutil.rmtree(d)
        return name, "failed" if why else "passed", why

    with ThreadPoolExecutor(2) as pool:
        for name, status, why in pool.map(judge, enumerate(chosen)):
            known = next((said for pattern, said in KNOWN.items() if re.search(pattern, f"{name}: {why}")), None) if status in ("failed", "declined") else None
            status, why = ("known", known) if known else ("failed" if status == "declined" else status, why)
            if status == "failed":
                print(f"failed: {name}: {why}", flush=True)
            tally[status if status in ("passed", "failed") else f"{status}: {why}"] += 1
    for what, n in sorted(tally.items()):
        if what not in ("passed", "failed"):
            print(f"{n} {what}")
    print(f"{len(chosen)} harnesses of jax {jax.__version__}")
    print(f"{tally['passed']} passed, {tally['failed']} failed")
    return int(tally["failed"] > 0)


def main(argv: Sequence[str]) -> int:
    p = argparse.ArgumentParser(description="JAX's tests of primitives")
    p.add_argument("warpburg")
    p.add_argument("build")
    p.add_argument("--groups", default=".")
    p.add_argument("--every", type=int, default=331)
    p.add_argument("--first", type=int, default=0)
    p.add_argument("--folder", default="build/fuzz/jax_harnesses")
    p.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    o = p.parse_args(argv)
    o.warpburg = os.path.abspath(o.warpburg)
    if o.here:
        return work(o)
    python = Path(o.build, "jax-venv/bin/python")
    has = python.exists() and subprocess.run([str(python), "-c", "import jax._src.internal_test_util.test_harnesses"], capture_output=True).returncode == 0
    if not has:
        print(f"skipped: {python} has no jax with its test harnesses; ./dev test --all installs it\n0 passed, 0 failed")
        return 0
    return subprocess.run([str(python), os.path.abspath(__file__), *argv, "--here"]).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
