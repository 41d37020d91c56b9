#!/usr/bin/env python3
"""Conversions of every small float type against ml_dtypes, bit for bit.

    ml_dtypes_values.py WARPBURG

Of every type of 8 bits and below: all its codes to f32 and f64, all 65,536 patterns of bf16 and f16 to it, and f32 and f64 at each
midpoint between two of its values, beside it, at the ends of the range and beyond; integers of 8 to 64 bits; and every code of every
other small type. ml_dtypes converts from f64 by way of f32, which rounds twice: values of f64 are those of f32. f4e2m1fn has no nan:
the sign of the zero that a nan becomes is not compared. Each conversion is a module of its own that `eval` evaluates; the kernel of the
same module is compiled, run in the simulator and judged by the evaluator, so both are held to ml_dtypes. Where ml_dtypes is not
installed the suite is skipped.
Ends with `N passed, M failed`, a conversion of one pair of types being one.
"""
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Dict, List, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
try:
    import ml_dtypes
    import numpy as np
except ImportError as e:
    print(f"skipped: {e}\n0 passed, 0 failed")
    sys.exit(0)

NAMES = {"f4e2m1fn": "float4_e2m1fn", "f8e3m4": "float8_e3m4", "f8e4m3": "float8_e4m3", "f8e4m3fn": "float8_e4m3fn",
         "f8e4m3b11fnuz": "float8_e4m3b11fnuz", "f8e4m3fnuz": "float8_e4m3fnuz", "f8e5m2": "float8_e5m2",
         "f8e5m2fnuz": "float8_e5m2fnuz", "f8e8m0fnu": "float8_e8m0fnu"}
SMALL: Dict[str, np.dtype] = {ours: np.dtype(getattr(ml_dtypes, theirs)) for ours, theirs in NAMES.items()}
WIDE = {"f32": np.dtype(np.float32), "f64": np.dtype(np.float64), "bf16": np.dtype(ml_dtypes.bfloat16), "f16": np.dtype(np.float16)}
INTEGERS = {f"{s}{n}": np.dtype(f"{'int' if s == 's' else 'uint'}{n}") for s in "su" for n in (8, 16, 32, 64)}
UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def codes(t: np.dtype) -> np.ndarray:
    return np.arange(16 if t == SMALL["f4e2m1fn"] else 256, dtype=np.uint8).view(t)


def near(t: np.dtype, wide: np.dtype) -> np.ndarray:
    """Values of t, the midpoints between neighbours, what lies beside both, and values that t has no room for."""
    finite = np.unique(codes(t).astype(np.float64))
    finite = finite[np.isfinite(finite)]
    points = np.concatenate([finite, (finite[1:] + finite[:-1]) / 2, [0.0, finite[-1] * 1.5, finite[-1] * 3, 1e30, finite[0] / 2]])
    points = points.astype(wide)
    info = np.finfo(wide)
    points = np.concatenate([points, -points, [np.inf, -np.inf, np.nan, info.smallest_subnormal, info.tiny, info.max]])
    points = points.astype(wide)
    return np.concatenate([points, np.nextafter(points, wide.type(np.inf)), np.nextafter(points, wide.type(-np.inf))])


def integers(t: np.dtype) -> np.ndarray:
    low, high = np.iinfo(t).min, np.iinfo(t).max
    powers = [s * (2**k + d) for k in range(64) for d in (-1, 0, 1) for s in (1, -1)] + [3 * 2**k + d for k in range(62) for d in (-1, 0, 1)]
    return np.array(sorted({x for x in powers + [low, high] if low <= x <= high}), dtype=t)


def raw(a: np.ndarray) -> np.ndarray:
    """As .npy files of warpburg hold it: bf16 and types of 8 bits as unsigned integers."""
    return a.view(UNSIGNED[a.dtype.itemsize]) if a.dtype in (*SMALL.values(), WIDE["bf16"]) else a


def is_nan(a: np.ndarray) -> np.ndarray:
    return np.isnan(a.astype(np.float64)) if a.dtype.kind not in "iu" else np.zeros(a.shape, bool)


class Runner:
    def __init__(self, warpburg: str, folder: Path) -> None:
        self.warpburg, self.folder = warpburg, folder
        self.passed = self.failed = 0

    def convert(self, source: str, to: str, x: np.ndarray, want: np.ndarray) -> None:
        text = (f"HloModule m\nENTRY e {{\n  p = {source}[{len(x)}] parameter(0)\n  ROOT r = {to}[{len(x)}] convert(p)\n}}\n")
        (self.folder / "m.hlo").write_text(text)
        np.save(self.folder / "x.npy", raw(x))
        file, values = str(self.folder / "m.hlo"), str(self.folder / "x.npy")
        why = self.call("eval", file, "--input", values, "-o", str(self.folder / "out")) or self.compare(x, want)
        why = why or self.call("run", file, "--check", "--input", values)
        self.passed, self.failed = self.passed + (not why), self.failed + bool(why)
        if why:
            print(f"failed: {source} to {to}: {why}", flush=True)

    def call(self, *words: str) -> str:
        p = subprocess.run([self.warpburg, *words], capture_output=True, text=True, check=False)
        return "" if p.returncode == 0 else (p.stderr + p.stdout).strip()[:300]

    def compare(self, x: np.ndarray, want: np.ndarray) -> str:
        got = np.load(self.folder / "out" / "out0.npy").view(want.dtype)
        same = (raw(got) == raw(want)) | (is_nan(got) & is_nan(want))
        if want.dtype == SMALL["f4e2m1fn"]:
            same |= is_nan(x) & (raw(got) & 7 == 0) & (raw(want) & 7 == 0)
        bad: List[Tuple] = [(x[k], raw(got)[k], raw(want)[k]) for k in np.flatnonzero(~same)[:4]]
        return f"{np.count_nonzero(~same)} of {len(x)} differ; (value, code, ml_dtypes' code): {bad}" if bad else ""


def main() -> int:
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        run = Runner(sys.argv[1], Path(folder))
        patterns = np.arange(65536, dtype=np.uint16)
        for name, t in SMALL.items():
            for wide in ("f32", "f64"):
                points = near(t, WIDE["f32"]).astype(WIDE[wide])
                run.convert(name, wide, codes(t), codes(t).astype(WIDE[wide]))
                run.convert(wide, name, points, points.astype(t))
            for half in ("bf16", "f16"):
                run.convert(half, name, patterns.view(WIDE[half]), patterns.view(WIDE[half]).astype(t))
            for whole, i in INTEGERS.items():
                run.convert(whole, name, integers(i), integers(i).astype(t))
            for other, u in SMALL.items():
                if other != name:
                    run.convert(other, name, codes(u), codes(u).astype(WIDE["f32"]).astype(t))
    print(f"{run.passed} passed, {run.failed} failed")
    return 1 if run.failed else 0


if __name__ == "__main__":
    sys.exit(main())
