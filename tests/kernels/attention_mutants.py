#!/usr/bin/env python3
"""Kernels of two products of matrices and what is between them, with one thing wrong each: `run --check` finds every one in some order of execution.

    attention_mutants.py WARPBURG [--every N]

A mutant is one of product_mutants.py (an mma, a barrier, a copy, its commit or its wait left out, copies too early, registers of a fragment exchanged, a
matrix turned), or a loop over tiles that ends one tile too soon, or a sum of exponentials that is not multiplied when its base rises, or a mask that hides
one tile more. What is not found must be listed in EQUAL with its reason, and each row there must excuse a mutant. --every N tries each Nth mutant. Ends with
`N passed, M failed`.
"""
import re
import sys
from pathlib import Path
from typing import Dict, Iterator, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
from exchange_mutants import ORDERS  # noqa: E402
from mutant_runs import run_mutants  # noqa: E402
from product_mutants import mutants as of_products  # noqa: E402

TEXT = """HloModule m
max {{ a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT m = f32[] maximum(a, b) }}
add {{ a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT m = f32[] add(a, b) }}
f {{
  q = f16[{rows},{depth}] parameter(0)
  k = f16[{columns},{depth}] parameter(1)
  v = f16[{columns},{depth}] parameter(2)
  s = f32[{rows},{columns}] dot(q, k), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}
  low = f32[] constant(-inf)
  zero = f32[] constant(0)
  {mask}
  m = f32[{rows}] reduce(x, low), dimensions={{1}}, to_apply=max
  mb = f32[{rows},{columns}] broadcast(m), dimensions={{0}}
  d = f32[{rows},{columns}] subtract(x, mb)
  e = f32[{rows},{columns}] exponential(d)
  l = f32[{rows}] reduce(e, zero), dimensions={{1}}, to_apply=add
  lb = f32[{rows},{columns}] broadcast(l), dimensions={{0}}
  w = f32[{rows},{columns}] divide(e, lb)
  p = f16[{rows},{columns}] convert(w)
  ROOT o = f32[{rows},{depth}] dot(p, v), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
}}
ENTRY main {{
  q = f16[{rows},{depth}] parameter(0)
  k = f16[{columns},{depth}] parameter(1)
  v = f16[{columns},{depth}] parameter(2)
  ROOT y = f32[{rows},{depth}] fusion(q, k, v), kind=kCustom, calls=f
}}
"""
NO_MASK = "x = f32[{rows},{columns}] copy(s)"
CAUSAL = """i = s32[{rows},{columns}] iota(), iota_dimension=0
  j = s32[{rows},{columns}] iota(), iota_dimension=1
  keep = pred[{rows},{columns}] compare(i, j), direction=GE
  lows = f32[{rows},{columns}] broadcast(low), dimensions={{}}
  x = f32[{rows},{columns}] select(keep, s, lows)"""


def text(mask: str, **sizes: int) -> str:
    return TEXT.format(mask=mask.format(**sizes), **sizes)


# tiles that fill each place again, a last tile that is not whole, a mask, and rows whose sum has a pass of its own
KERNELS: Dict[str, str] = {
    "whole": text(NO_MASK, rows=32, columns=192, depth=32),
    "partial": text(NO_MASK, rows=28, columns=158, depth=16),
    "causal": text(CAUSAL, rows=128, columns=128, depth=16),
    "short": text(NO_MASK, rows=16, columns=80, depth=16),
}
RUNS = [(case, seed, order) for case, seed in (("n", 0), ("w", 1), ("e", 2)) for order in (ORDERS[0], ORDERS[1], ORDERS[2])]

# kernel, kind, the changed instruction as ptx_mutants.py writes it without numbers of registers, as patterns: why the kernel is right all the same
EQUAL: Dict[Tuple[str, str, str], str] = {}


def mutants(ptx: str) -> Iterator[Tuple[str, str, str]]:
    """Kind, what is changed, the PTX."""
    lines = ptx.splitlines()
    for kind, what, changed in of_products(ptx, len(lines)):
        if kind == "two of result exchanged":  # in a pass of statistics these are two columns of one row, whose order shows nowhere
            continue
        if kind in ("no barrier", "no copy", "no commit", "no wait", "a shorter wait", "a matrix turned", "copies too early", "no mma") or "exchanged" in kind:
            yield kind, what, changed
    for k, line in enumerate(lines):
        def changed_to(other: str, k: int = k) -> str:
            return "\n".join([*lines[:k], other, *lines[k + 1:]])
        bound = re.search(r"(setp\.le\.s32\s+%p\d+, (%r\d+), )(\d+)", line)
        if bound and re.search(rf"add\.s32\s+{bound[2]}, {bound[2]}, 1;", ptx):
            yield "a tile less", "", changed_to(line.replace(bound[0], bound[1] + str(int(bound[3]) - 1)))
        factor = re.search(r"mul\.rn\.f32\s+(%r\d+), (%r\d+), %r\d+;", line)
        carried = [re.search(r"mov\.b32\s+(%r\d+), 0;", x) for x in lines[:k]]
        if factor and factor[2] in {m[1] for m in carried if m}:
            yield "no factor", "", changed_to(f"\tmov.b32 {factor[1]}, {factor[2]};")


def main() -> int:
    kernels = {kernel: (hlo, ("--backend", "ptx")) for kernel, hlo in KERNELS.items()}
    return run_mutants("kernels of two products, with one thing wrong each", kernels, lambda ptx, every: list(mutants(ptx))[::every], RUNS, EQUAL,
                       "choices\n  text matrices\n  strategy attention\n")


if __name__ == "__main__":
    sys.exit(main())
