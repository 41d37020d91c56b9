#!/usr/bin/env python3
"""How far sums of 2^24 f32 are from the exact sum, in units in its last place times the condition number.

    sum_accuracy.py [WARPBURG] [--target sm_75,sm_90] [--only TEXT] [--count N]

Each kernel sums in the layout that the compiler chooses; inputs are random ones, and such as make a sum lose most: one value all over, whose
rounding errors all have one sign, a ramp, magnitudes far apart, terms that cancel. The condition number is the sum of magnitudes over the magnitude
of the sum; the exact sum is taken in 64 bits of mantissa. Exit 1 where a sum is further off than MOST.
"""
from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable, Dict

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "shaderdb")]
from tools import find_warpburg  # noqa: E402

MOST = 4.0
TEXT = """HloModule sum
add {{ a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }}
ENTRY e {{ p = f32[{n}] parameter(0) z = f32[] constant(0) ROOT r = f32[] reduce(p, z), dimensions={{0}}, to_apply=add }}
"""
Made = Callable[[np.random.Generator, int], "np.ndarray"]
INPUTS: Dict[str, Made] = {
    "between 0 and 1": lambda r, n: r.random(n),
    "normal": lambda r, n: r.standard_normal(n),
    "all 0.1": lambda r, n: np.full(n, 0.1),
    "all 1 - 2^-24": lambda r, n: np.full(n, 1 - 2.0 ** -24),
    "all 4/3": lambda r, n: np.full(n, 4 / 3),
    "one 2^24, then 1": lambda r, n: np.concatenate([[2.0 ** 24], np.ones(n - 1)]),
    "ramp": lambda r, n: np.arange(n) / n,
    "magnitudes apart": lambda r, n: np.exp2(r.uniform(-40, 40, n)) * r.choice([-1, 1], n),
    "cancelling": lambda r, n: np.concatenate([h := r.standard_normal(n // 2), -h[::-1] * (1 + 1e-4 * r.standard_normal(n // 2))]),
}


def off(warpburg: str, folder: Path, target: str, x: "np.ndarray") -> float:
    n, exact = len(x), np.sum(x.astype(np.longdouble))
    (folder / "sum.hlo").write_text(TEXT.format(n=n), encoding="utf-8")
    np.save(folder / "x.npy", x)
    subprocess.run([warpburg, "run", str(folder / "sum.hlo"), "--target", target, "--input", str(folder / "x.npy"), "-o", str(folder / "out")],
                   check=True, stdout=subprocess.DEVNULL)
    got = np.load(folder / "out" / "out0.npy")
    condition = np.sum(np.abs(x.astype(np.longdouble))) / abs(exact)
    return float(abs(got - exact) / np.spacing(np.abs(np.float32(exact))) / condition)


def main() -> int:
    p = argparse.ArgumentParser(description="how far sums of f32 are off")
    p.add_argument("warpburg", nargs="?", default="")
    p.add_argument("--target", default="sm_75,sm_90")
    p.add_argument("--only", default="")
    p.add_argument("--count", type=int, default=1 << 24)
    o = p.parse_args()
    warpburg, worst = find_warpburg(o.warpburg), 0.0
    for name, made in INPUTS.items():
        if o.only not in name:
            continue
        x = made(np.random.default_rng(1), o.count).astype(np.float32)
        with tempfile.TemporaryDirectory() as folder:
            each = {target: off(warpburg, Path(folder), target, x) for target in o.target.split(",")}
        print(f"{name:20}" + ", ".join(f"{target} {ulps:.3g}" for target, ulps in each.items()), flush=True)
        worst = max(worst, *each.values())
    print(f"worst {worst:.3g} ulp times the condition number, {MOST:g} at most")
    return worst > MOST


if __name__ == "__main__":
    sys.exit(main())
