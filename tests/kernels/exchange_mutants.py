#!/usr/bin/env python3
"""Kernels that exchange layouts, and rows that are read again, with one thing wrong each: `run --check` finds every one in some order of execution.

    exchange_mutants.py WARPBURG [--every N]

A mutant changes one instruction of the PTX, as ptx_mutants.py does (addresses, masks, branches, constants of indices, lanes of a vector, stores left out),
or takes out a barrier, or moves all rows of the tile but the first (a padding that one stage has and the other has not). What is not found must be
listed in EQUAL with its reason, and each row there must excuse a mutant. --every N tries each Nth mutant of ptx_mutants.py. Ends with `N passed, M failed`.
"""
import re
import sys
from pathlib import Path
from typing import Dict, Iterator, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
from mutant_runs import of_instructions, run_mutants  # noqa: E402
from shared_reductions import ORDERS  # noqa: E402

RUNS = [(case, seed, order) for case, seed in (("n", 0), ("e", 1)) for order in (ORDERS[0], ORDERS[1], ORDERS[2])]


def transpose(t: str, shape: str, to: str, permutation: str, more: str = "") -> str:
    return f"HloModule m\n\nENTRY e {{\n  x = {t}[{shape}] parameter(0)\n  t = {t}[{to}] transpose(x), dimensions={{{permutation}}}\n{more}}}\n"


ROWS = """HloModule m

add {
  a = TYPE[] parameter(0)
  b = TYPE[] parameter(1)
  ROOT r = TYPE[] add(a, b)
}

ENTRY e {
  x = TYPE[ROWS,COLUMNS] parameter(0)
  zero = TYPE[] constant(7)
  sum = TYPE[ROWS] reduce(x, zero), dimensions={1}, to_apply=add
  sums = TYPE[ROWS,COLUMNS] broadcast(sum), dimensions={0}
  less = TYPE[ROWS,COLUMNS] subtract(x, sums)
  squares = TYPE[ROWS,COLUMNS] multiply(less, less)
  all = TYPE[ROWS] reduce(squares, zero), dimensions={1}, to_apply=add
  alls = TYPE[ROWS,COLUMNS] broadcast(all), dimensions={0}
  ROOT out = TYPE[ROWS,COLUMNS] xor(less, alls)
}
"""


ORDERS_OF_TWO = """HloModule m

ENTRY e {
  x = s16[8,16,32] parameter(0)
  y = s16[32,8,16] parameter(1)
  a = s16[32,16,8] transpose(x), dimensions={2,1,0}
  b = s16[32,16,8] transpose(y), dimensions={0,2,1}
  ROOT r = s16[32,16,8] subtract(a, b)
}
"""
WINDOWS = """HloModule m

ENTRY e {
  x = f32[4,5,32] parameter(0)
  low = f32[4,4,32] slice(x), slice={[0:4], [0:4], [0:32]}
  high = f32[4,4,32] slice(x), slice={[0:4], [1:5], [0:32]}
  first = f32[4,1,4,32] reshape(low)
  second = f32[4,1,4,32] reshape(high)
  both = f32[4,2,4,32] concatenate(first, second), dimensions={1}
  ROOT t = f32[4,32,4,2] transpose(both), dimensions={2,3,0,1}
}
"""


def rows(t: str, n: int, columns: int) -> str:
    """Sums of integers, which any term changes, of rows that are read again."""
    return ROWS.replace("TYPE", t).replace("ROWS", str(n)).replace("COLUMNS", str(columns))


KERNELS: Dict[str, Tuple[str, str]] = {          # text, and layout
    "whole": (transpose("f32", "64,64", "64,64", "1,0"), "exchange"),
    "partial": (transpose("f32", "99,45", "45,99", "1,0"), "exchange"),
    "halves": (transpose("bf16", "64,96", "96,64", "1,0", "  ROOT n = bf16[96,64] negate(t)\n"), "exchange"),
    "bytes": (transpose("s8", "3,50,40", "3,40,50", "0,2,1"), "exchange"),
    "two": (transpose("f32", "48,33", "33,48", "1,0", "  y = f32[48,33] parameter(1)\n  u = f32[33,48] transpose(y), dimensions={1,0}\n"
                      "  z = f32[33,48] parameter(2)\n  d = f32[33,48] subtract(t, u)\n  ROOT s = f32[33,48] subtract(d, z)\n"), "exchange"),
    "pixels": (transpose("s8", "4,8,29,3", "4,3,8,29", "0,3,1,2"), "exchange"),
    "sides": (transpose("f32", "50,44", "44,50", "1,0", "  n = f32[50,44] negate(x)\n  ROOT r = (f32[44,50], f32[50,44]) tuple(t, n)\n"), "exchange"),
    "orders": (ORDERS_OF_TWO, "exchange"),
    "windows": (WINDOWS, "exchange"),
    "rows": (rows("s64", 13, 150), "rows: warp 2, grid 7; columns: vector 2, lane 32, register 3"),
    "redux": (rows("s32", 13, 300), "rows: warp 2, grid 7; columns: vector 4, lane 32, register 3"),
    "warps": (rows("s64", 5, 150), "rows: grid 5; columns: vector 2, lane 32, warp 3"),
    "loops": (rows("s64", 6, 530), "rows: warp 2, grid 3; columns: lane 32, warp 2, register 2, loop 5"),
    "clusters": (rows("s64", 3, 530), "rows: grid 3; columns: lane 32, warp 2, register 3, cluster 3"),
}

# kernel, kind, the changed instruction as ptx_mutants.py writes it without numbers of registers, as patterns: why the kernel is right all the same
EQUAL: Dict[Tuple[str, str, str], str] = {
    **{("*", "constant", f"shfl.sync.bfly.b32 %r, %r, {n}, 31, -1 -> shfl.sync.bfly.b32 %r, %r, {n + 1}, 31, -1"):
       "lanes that differ in the lowest bit have the same sum by then" for n in (2, 4, 8, 16)},
    ("pixels", "constant", "shl.b32 %r, %r, 1 -> shl.b32 %r, %r, 2"): "of 0 or 1; the larger one is cut to 2 next",
    ("pixels", "mask", "setp.le.s32 %p, %r, 127 -> setp.le.s32 %p, %r, 126"): "of the threads of a half from 116 on none is here",
    **{(kernel, kind, what): "all lanes of a warp have its sum, so that any of them may store it"
       for kernel, first, second in (("warps", 1, 2), ("loops", 2, 4), ("clusters", 1, 3))
       for kind, what in (("mask", "setp.eq.b32 %p, %r, 0 -> *"), ("comparison", "setp.eq.b32 %p, %r, 0 -> *"),
                          ("predicate", f"@!%p bra $L__BB0_{first} -> *"), ("predicate", f"@!%p bra $L__BB0_{second} -> *"))},
    **{(kernel, "constant", "and.b32 %r, %r, 31 -> and.b32 %r, %r, 30"): "two lanes of a warp store its sum" for kernel in ("warps", "clusters")},
    **{(kernel, "lanes", "ld.shared.v2.b64 *"): "a sum of two warps, in either order" for kernel in ("loops", "clusters")},
    ("loops", "operands swapped", "sub.s64 *"): "its square alone is used",
}


def mutants(text: str, every: int) -> Iterator[Tuple[str, str, str]]:
    """Kind, what is changed, the PTX."""
    lines = text.splitlines()
    barriers = [k for k, line in enumerate(lines) if "bar.sync" in line]
    for n, k in enumerate(barriers):
        yield "no barrier", str(n), "\n".join([*lines[:k], *lines[k + 1:]])
    shared = [k for k, line in enumerate(lines) if re.match(r"\s*(st|ld)\.shared", line)]
    if barriers and shared:
        for head, some in (("st", [k for k in shared if "st.shared" in lines[k]]), ("ld", [k for k in shared if "ld.shared" in lines[k]])):
            moved = [re.sub(r"\[(%rd\d+)(?:\+(\d+))?\]", lambda m: f"[{m[1]}+{int(m[2] or 0) + 16}]", line) if k in some[1:] else line
                     for k, line in enumerate(lines)]
            if len(some) > 1 and moved != lines:
                yield "another padding", head, "\n".join(moved)
    yield from of_instructions(text, every)


def main() -> int:
    kernels = {kernel: (hlo, ("--layout", layout)) for kernel, (hlo, layout) in KERNELS.items()}
    return run_mutants("kernels that exchange layouts, with one thing wrong each", kernels, mutants, RUNS, EQUAL)


if __name__ == "__main__":
    sys.exit(main())
