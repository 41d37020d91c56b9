#!/usr/bin/env python3
"""Rewrites of an algebraic simplifier's everyday: which need no rule, since both sides are one graph, and which have one.

usage: simplifier_rewrites.py [--verbose] WARPBURG

Each case is two computations of the same parameters. SAME: `--emit graph` prints both alike, so moves have vanished or rules of patterns/arrays.py
made one of the other. OPEN: it does not, and the case says what is missing; a case that is the same by now fails, too, and moves up. The evaluator says
of both that their values are equal, of floats to the bit, so no case is a wrong rewrite. Ends with `N passed, M failed`.
"""
from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import List, NamedTuple

COMBINERS = """
add { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] add(p, q) }
max { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] maximum(p, q) }
addi { p = s32[] parameter(0) q = s32[] parameter(1) ROOT s = s32[] add(p, q) }
maxi { p = s32[] parameter(0) q = s32[] parameter(1) ROOT s = s32[] maximum(p, q) }
"""


class Case(NamedTuple):
    name: str
    given: str  # parameters and constants of both sides
    left: str
    right: str
    open: str = ""  # what is missing


X, Z = "x = f32[4,6] parameter(0) ", "z = f32[] parameter(1) "
ZERO, LEAST = "o = f32[] constant(0) ", "o = f32[] constant(-inf) "
N = "n = s32[4,6] parameter(0) "
CASES: List[Case] = [
    # moves of moves
    Case("pad of pad by one value", X + Z, "a = f32[5,8] pad(x, z), padding=1_0x1_1 ROOT r = f32[7,8] pad(a, z), padding=0_2x0_0",
         "ROOT r = f32[7,8] pad(x, z), padding=1_2x1_1",
         "a choice within a choice is two selects: conjuncts of two ranges have no order that both texts give them"),
    Case("a pad that cuts off", X + Z, "ROOT r = f32[2,4] pad(x, z), padding=-1_-1x-2_0", "ROOT r = f32[2,4] slice(x), slice={[1:3], [2:6]}"),
    Case("slice of a pad, all of it inside", X + Z, "a = f32[6,8] pad(x, z), padding=1_1x1_1 ROOT r = f32[4,5] slice(a), slice={[1:5], [2:7]}",
         "ROOT r = f32[4,5] slice(x), slice={[0:4], [1:6]}"),
    Case("slice of a pad, none of it inside", X + Z, "a = f32[4,10] pad(x, z), padding=0_0x4_0 ROOT r = f32[4,3] slice(a), slice={[0:4], [1:4]}",
         "ROOT r = f32[4,3] broadcast(z), dimensions={}"),
    Case("slice of a concatenate", X + "y = f32[3,6] parameter(1) ",
         "a = f32[7,6] concatenate(x, y), dimensions={0} ROOT r = f32[2,6] slice(a), slice={[5:7], [0:6]}", "ROOT "
         "r = f32[2,6] slice(y), slice={[1:3], [0:6]}"),
    Case("slice of a slice", X, "a = f32[4,5] slice(x), slice={[0:4], [1:6]} ROOT r = f32[2,2] slice(a), slice={[1:3], [0:4:2]}",
         "ROOT r = f32[2,2] slice(x), slice={[1:3], [1:5:2]}"),
    Case("concatenate of neighbours", X, "a = f32[4,2] slice(x), slice={[0:4], [0:2]} b = f32[4,4] slice(x), slice={[0:4], [2:6]}\n"
         " c = f32[4,6] concatenate(a, b), dimensions={1} ROOT r = f32[4,6] negate(c)", "ROOT r = f32[4,6] negate(x)"),
    Case("transpose of a transpose", X, "a = f32[6,4] transpose(x), dimensions={1,0} b = f32[4,6] transpose(a), dimensions={1,0} ROOT r = f32[4,6] negate(b)",
         "ROOT r = f32[4,6] negate(x)"),
    Case("reshape of a reshape", X, "a = f32[24] reshape(x) b = f32[2,12] reshape(a) ROOT r = f32[2,12] negate(b)",
         "a = f32[2,12] reshape(x) ROOT r = f32[2,12] negate(a)"),
    Case("transpose of units as a reshape", "x = f32[1,6] parameter(0) ", "a = f32[6,1] transpose(x), dimensions={1,0} ROOT r = f32[6,1] negate(a)",
         "a = f32[6,1] reshape(x) ROOT r = f32[6,1] negate(a)"),
    Case("reverse of a reverse", X, "a = f32[4,6] reverse(x), dimensions={0,1} b = f32[4,6] reverse(a), dimensions={1} ROOT r = f32[4,6] negate(b)",
         "a = f32[4,6] reverse(x), dimensions={0} ROOT r = f32[4,6] negate(a)"),
    Case("reverse of a unit dimension", "x = f32[1,6] parameter(0) ", "a = f32[1,6] reverse(x), dimensions={0} ROOT r = f32[1,6] negate(a)",
         "ROOT r = f32[1,6] negate(x)"),
    Case("broadcast of a broadcast", "x = f32[4] parameter(0) ",
         "a = f32[4,6] broadcast(x), dimensions={0} b = f32[3,4,6] broadcast(a), dimensions={1,2} ROOT r = f32[3,4,6] negate(b)",
         "b = f32[3,4,6] broadcast(x), dimensions={1} ROOT r = f32[3,4,6] negate(b)"),
    Case("slice of a broadcast", "x = f32[4] parameter(0) ", "a = f32[4,6] broadcast(x), dimensions={0} b = f32[4,2] slice(a), slice={[0:4], [3:5]} "
         "ROOT r = f32[4,2] negate(b)",
         "b = f32[4,2] broadcast(x), dimensions={0} ROOT r = f32[4,2] negate(b)"),
    Case("conversions around a move", "x = f16[4,6] parameter(0) ", "a = f32[4,6] convert(x) b = f32[6,4] transpose(a), dimensions={1,0} ROOT "
         "r = f32[6,4] negate(b)",
         "a = f16[6,4] transpose(x), dimensions={1,0} b = f32[6,4] convert(a) ROOT r = f32[6,4] negate(b)"),
    Case("dynamic-slice at numbers", X, "i = s32[] constant(2) j = s32[] constant(9) a = f32[2,3] dynamic-slice(x, i, j), dynamic_slice_sizes={2,3}\n"
         " ROOT r = f32[2,3] negate(a)", "a = f32[2,3] slice(x), slice={[2:4], [3:6]} ROOT r = f32[2,3] negate(a)"),
    Case("dynamic-slice of all", X + "i = s32[] parameter(1) ", "a = f32[4,6] dynamic-slice(x, i, i), dynamic_slice_sizes={4,6} ROOT r = f32[4,6] negate(a)",
         "ROOT r = f32[4,6] negate(x)"),
    Case("dynamic-slice of one number", "v = f32[] constant(3) i = s32[] parameter(0) ",
         "x = f32[8] broadcast(v), dimensions={} a = f32[2] dynamic-slice(x, i), dynamic_slice_sizes={2} ROOT r = f32[2] negate(a)",
         "a = f32[2] broadcast(v), dimensions={} ROOT r = f32[2] negate(a)"),
    Case("dynamic-update-slice of all", X + "u = f32[4,6] parameter(1) i = s32[] parameter(2) ",
         "a = f32[4,6] dynamic-update-slice(x, u, i, i) ROOT r = f32[4,6] negate(a)", "ROOT r = f32[4,6] negate(u)"),
    Case("gather of an iota", "p = f32[5,1] parameter(0) i = s32[5,1] convert(p) ", "x = s32[8] iota(), iota_dimension=0\n"
         " a = s32[5,1] gather(x, i), offset_dims={1}, collapsed_slice_dims={}, start_index_map={0}, index_vector_dim=1, slice_sizes={1} "
         "b = s32[5] reshape(a) ROOT r = s32[5] negate(b)",
         "a = s32[5] reshape(i) z = s32[] constant(0) n = s32[] constant(7) zz = s32[5] broadcast(z), dimensions={} nn = s32[5] broadcast(n), dimensions={}\n"
         " b = s32[5] maximum(a, zz) c = s32[5] minimum(b, nn) ROOT "
         "r = s32[5] negate(c)"),
    Case("gather at an iota", X, "n = s32[3,1] iota(), iota_dimension=0\n"
         " a = f32[3,1,6] gather(x, n), offset_dims={1,2}, collapsed_slice_dims={}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,6} "
         "b = f32[3,6] reshape(a) ROOT r = f32[3,6] negate(b)",
         "a = f32[3,6] slice(x), slice={[0:3], [0:6]} ROOT r = f32[3,6] negate(a)"),
    # reductions
    Case("reduce of a broadcast along it", "x = f32[4] parameter(0) " + LEAST, "a = f32[4,6] broadcast(x), dimensions={0} ROOT "
         "r = f32[4] reduce(a, o), dimensions={1}, to_apply=max",
         "b = f32[4] broadcast(o), dimensions={} ROOT r = f32[4] maximum(b, x)"),
    Case("sum of integers of a broadcast", "x = s32[4] parameter(0) o = s32[] constant(0) ",
         "a = s32[4,6] broadcast(x), dimensions={0} ROOT r = s32[4] reduce(a, o), dimensions={1}, to_apply=addi",
         "k = s32[] constant(6) b = s32[4] broadcast(k), dimensions={} m = s32[4] multiply(x, b) oo = s32[4] broadcast(o), dimensions={} ROOT "
         "r = s32[4] add(oo, m)"),
    Case("reduce of a broadcast across it", "x = f32[4] parameter(0) " + ZERO, "a = f32[4,6] broadcast(x), dimensions={0} ROOT "
         "r = f32[6] reduce(a, o), dimensions={0}, to_apply=add",
         "s = f32[] reduce(x, o), dimensions={0}, to_apply=add ROOT r = f32[6] broadcast(s), dimensions={}",
         "a reduction that is the same along a dimension stays, beside others of the array: arrays.c, is_repeated"),
    Case("reduce of a reshape that merges", X + ZERO, "a = f32[24] reshape(x) ROOT r = f32[] reduce(a, o), dimensions={0}, to_apply=add",
         "ROOT r = f32[] reduce(x, o), dimensions={0,1}, to_apply=add"),
    Case("reduce of a reshape of units", X + ZERO, "a = f32[4,1,6] reshape(x) ROOT r = f32[4] reduce(a, o), dimensions={1,2}, to_apply=add",
         "ROOT r = f32[4] reduce(x, o), dimensions={1}, to_apply=add"),
    Case("reduce of a transpose", X + ZERO, "a = f32[6,4] transpose(x), dimensions={1,0} ROOT r = f32[4] reduce(a, o), dimensions={0}, to_apply=add",
         "ROOT r = f32[4] reduce(x, o), dimensions={1}, to_apply=add"),
    Case("reduce of a reduce of integers", N + "o = s32[] constant(0) ",
         "a = s32[4] reduce(n, o), dimensions={1}, to_apply=addi ROOT r = s32[] reduce(a, o), dimensions={0}, to_apply=addi",
         "ROOT r = s32[] reduce(n, o), dimensions={0,1}, to_apply=addi"),
    Case("maximum of maxima", X + LEAST, "a = f32[4] reduce(x, o), dimensions={1}, to_apply=max ROOT r = f32[] reduce(a, o), dimensions={0}, to_apply=max",
         "ROOT r = f32[] reduce(x, o), dimensions={0,1}, to_apply=max"),
    Case("reduce of one element", "x = f32[4,1] parameter(0) " + ZERO, "ROOT r = f32[4] reduce(x, o), dimensions={1}, to_apply=add",
         "a = f32[4] reshape(x) z = f32[4] broadcast(o), dimensions={} ROOT r = f32[4] add(z, a)"),
    Case("reduce of no dimension", X + ZERO, "ROOT r = f32[4,6] reduce(x, o), dimensions={}, to_apply=add",
         "z = f32[4,6] broadcast(o), dimensions={} ROOT r = f32[4,6] add(z, x)"),
    Case("reduce-window that has all", X + ZERO, "a = f32[4,1] reduce-window(x, o), window={size=1x6}, to_apply=add ROOT r = f32[4] reshape(a)",
         "ROOT r = f32[4] reduce(x, o), dimensions={1}, to_apply=add", "a fold that its one reader reads at its own index has a definition of its own"),
    Case("reduce-window of one element", X + LEAST, "ROOT r = f32[4,3] reduce-window(x, o), window={size=1x1 stride=1x2}, to_apply=max",
         "a = f32[4,3] slice(x), slice={[0:4], [0:6:2]} z = f32[4,3] broadcast(o), dimensions={} ROOT r = f32[4,3] maximum(z, a)"),
    Case("reduce-window without overlaps as a reduce", X + ZERO, "ROOT r = f32[4,2] reduce-window(x, o), window={size=1x3 stride=1x3}, to_apply=add",
         "a = f32[4,2,3] reshape(x) ROOT r = f32[4,2] reduce(a, o), dimensions={2}, to_apply=add"),
    Case("the last of a prefix sum", X + ZERO, "a = f32[4,6] reduce-window(x, o), window={size=1x6 pad=0_0x5_0}, to_apply=add ROOT "
         "r = f32[4,1] slice(a), slice={[0:4], [5:6]}",
         "a = f32[4] reduce(x, o), dimensions={1}, to_apply=add ROOT r = f32[4,1] reshape(a)"),
    Case("what a label picks", "x = f32[4,6] parameter(0) l = s32[4] parameter(1) " + ZERO,
         "i = s32[4,6] iota(), iota_dimension=1 ll = s32[4,6] broadcast(l), dimensions={0} c = pred[4,6] compare(ll, i), direction=EQ\n"
         " z = f32[4,6] broadcast(o), dimensions={} a = f32[4,6] select(c, x, z) ROOT r = f32[4] reduce(a, o), dimensions={1}, to_apply=add",
         "i = s32[4,6] iota(), iota_dimension=1 ll = s32[4,6] broadcast(l), dimensions={0} c = pred[4,6] compare(i, ll), direction=EQ\n"
         " z = f32[4,6] broadcast(o), dimensions={} a = f32[4,6] select(c, x, z) ROOT r = f32[4] reduce(a, o), dimensions={1}, to_apply=add"),
    # products
    Case("dot along a unit dimension", "x = f32[4,1] parameter(0) y = f32[1,6] parameter(1) ",
         "ROOT r = f32[4,6] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
         "a = f32[4] reshape(x) b = f32[6] reshape(y) aa = f32[4,6] broadcast(a), dimensions={0} bb = f32[4,6] broadcast(b), dimensions={1} ROOT "
         "r = f32[4,6] multiply(aa, bb)",
         "0 + -0 is 0: a product of one term adds the zero that a sum begins with"),
    Case("dot with a broadcast", X + Z, "b = f32[6,5] broadcast(z), dimensions={} ROOT "
         "r = f32[4,5] dot(x, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
         "o = f32[] constant(0) b = f32[4,6] broadcast(z), dimensions={} m = f32[4,6] multiply(x, b) "
         "s = f32[4] reduce(m, o), dimensions={1}, to_apply=add ROOT r = f32[4,5] broadcast(s), dimensions={0}"),
    Case("dot of a transpose", X + "y = f32[5,4] parameter(1) ", "t = f32[6,4] transpose(x), dimensions={1,0} ROOT "
         "r = f32[6,5] dot(t, y), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
         "ROOT r = f32[6,5] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={1}"),
    # numbers of an iota
    Case("compare of an iota with a number beyond it", "x = f32[8] parameter(0) y = f32[8] parameter(1) ",
         "i = s32[8] iota(), iota_dimension=0 k = s32[] constant(8) kk = s32[8] broadcast(k), dimensions={} c = pred[8] compare(i, kk), direction=LT "
         "ROOT r = f32[8] select(c, x, y)",
         "ROOT r = f32[8] copy(x)", "elements are what the text says until SIMPLIFY, which decides it: the kernel has no comparison"),
    Case("select of an iota's ends as a concatenate", "x = f32[8] parameter(0) y = f32[8] parameter(1) ",
         "i = s32[8] iota(), iota_dimension=0 k = s32[] constant(3) kk = s32[8] broadcast(k), dimensions={} c = pred[8] compare(i, kk), direction=LT "
         "ROOT r = f32[8] select(c, x, y)",
         "a = f32[3] slice(x), slice={[0:3]} b = f32[5] slice(y), slice={[3:8]} ROOT r = f32[8] concatenate(a, b), dimensions={0}",
         "a comparison of the integers of indices is one of indices only where SIMPLIFY or a rule asks"),
    Case("iota along another dimension", "x = s32[4,6] parameter(0) ",
         "i = s32[6] iota(), iota_dimension=0 b = s32[4,6] broadcast(i), dimensions={1} ROOT "
         "r = s32[4,6] add(x, b)", "b = s32[4,6] iota(), iota_dimension=1 ROOT r = s32[4,6] add(x, b)"),
    Case("reverse of an iota", "x = s32[8] parameter(0) ", "i = s32[8] iota(), iota_dimension=0 v = s32[8] reverse(i), dimensions={0} ROOT "
         "r = s32[8] add(x, v)",
         "i = s32[8] iota(), iota_dimension=0 k = s32[] constant(7) kk = s32[8] broadcast(k), dimensions={} v = s32[8] subtract(kk, i) ROOT "
         "r = s32[8] add(x, v)",
         "idx of 7 - d0 and 7 - idx of d0 are two terms"),
]


def text(case: Case, side: str) -> str:
    return f"HloModule m\n{COMBINERS}\nENTRY e {{ {case.given}\n {side} }}\n"


def ran(*words: str) -> str:
    p = subprocess.run(words, capture_output=True, text=True, check=False)
    return p.stdout + p.stderr if p.returncode else p.stdout


def graph(warpburg: str, file: Path) -> str:
    """Definitions without those of parameters, starts numbered by their first use."""
    lines = [line for line in ran(warpburg, "compile", str(file), "--emit", "graph").splitlines() if " is parameter " not in line]
    out, names = "\n".join(lines), {}  # type: str, dict[str, str]
    for name in re.findall(r"^([\w.]+)[\[:]", out, re.M):
        names.setdefault(name, "r" if name == "r" else f"v{len(names)}")
    for name in re.findall(r"\bs\d+\b", out):
        names.setdefault(name, f"s.{len(names)}")
    return re.sub(r"[\w.]+", lambda m: names.get(m[0], m[0]), out)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("warpburg")
    args = parser.parse_args()
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            files = [Path(folder) / f"{side}.hlo" for side in ("left", "right")]
            for file, side in zip(files, (case.left, case.right)):
                file.write_text(text(case, side), encoding="utf-8")
            made = [graph(args.warpburg, f) for f in files]
            values = [re.sub(r"^.*output 0", "output 0", ran(args.warpburg, "eval", str(f))) for f in files]
            faults = []
            if "error" in "".join(made) or "output 0" not in values[0]:
                faults.append("it does not compile")
            elif values[0] != values[1]:
                faults.append("its sides are not equal")
            elif (made[0] == made[1]) == bool(case.open):
                faults.append("both sides are one graph by now" if case.open else "its sides are two graphs")
            if faults or args.verbose:
                print(f"{case.name}: {', '.join(faults) or case.open or 'one graph'}\n  {made[0]}\n  {made[1]}")
            if faults and values[0] != values[1]:
                print(values[0], values[1])
            bad += bool(faults)
    same = sum(not c.open for c in CASES)
    print(f"{len(CASES)} rewrites: {same} are one graph, {len(CASES) - same} are not")
    print(f"{len(CASES) - bad} passed, {bad} failed")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
