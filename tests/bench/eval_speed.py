#!/usr/bin/env python3
"""Scalar operations a second of the evaluator, on one core.

    eval_speed.py WARPBURG [--elements N]

Evaluates elementwise fusions (the tanh form of GELU, an integer hash, a chain of additions) in f32, bf16 and u32. The time of a single negation, which
includes making the input, is subtracted. Prints operations a second of processor time for each, also of intervals (--bounds, on a sixteenth of the
elements), and the milliseconds in which `--at` evaluates 16 of 2^27 elements; then of matrix products, convolutions and windows, which count an addition
and a multiplication as one, and of sorts, whose comparisons are those of merging: elements times the doublings of runs.
Exit status 4 if a fusion does fewer than 50 million a second.
"""
from __future__ import annotations

import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

WANTED = 50e6  # operations a second
GELU = """c0 = {t}[] constant(0.044715)  b0 = {s} broadcast(c0), dimensions={{}}  c1 = {t}[] constant(0.797885)  b1 = {s} broadcast(c1), dimensions={{}}
one = {t}[] constant(1)  ones = {s} broadcast(one), dimensions={{}}  h = {t}[] constant(0.5)  hs = {s} broadcast(h), dimensions={{}}
x2 = {s} multiply(x, x)  x3 = {s} multiply(x2, x)  s = {s} multiply(x3, b0)  a = {s} add(x, s)  u = {s} multiply(a, b1)
th = {s} tanh(u)  p = {s} add(th, ones)  q = {s} multiply(x, hs)  ROOT r = {s} multiply(p, q)"""
HASH = """c = u32[] constant(13)  k = {s} broadcast(c), dimensions={{}}
a = {s} shift-left(x, k)  b = {s} xor(x, a)  d = {s} shift-right-logical(b, k)  e = {s} xor(b, d)  f = {s} multiply(e, e)  ROOT g = {s} add(f, x)"""
CHAIN = "a = {s} add(x, x)  b = {s} add(a, x)  c = {s} multiply(b, a)  d = {s} subtract(c, b)  e = {s} maximum(d, x)  ROOT f = {s} add(e, d)"
NONE = "ROOT r = {s} negate(x)"
CASES = [("gelu", "f32", GELU, 9), ("gelu", "bf16", GELU, 9), ("chain", "f32", CHAIN, 6), ("chain", "bf16", CHAIN, 6), ("hash", "u32", HASH, 6)]

MATRIX = """ENTRY e {{ a = {t}[{m},{k}] parameter(0) b = {t}[{k},{n}] parameter(1)
ROOT r = {r}[{m},{n}] dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}} }}"""
IMAGE = """ENTRY e { x = f32[4,28,28,64] parameter(0) k = f32[3,3,64,64] parameter(1)
ROOT r = f32[4,28,28,64] convolution(x, k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f }"""
WINDOW = """add {{ a = {t}[] parameter(0) b = {t}[] parameter(1) ROOT c = {t}[] add(a, b) }}
ENTRY e {{ x = {t}[{n}] parameter(0) z = {t}[] constant(0) ROOT r = {t}[{n}] reduce-window(x, z), window={{size={size} pad={pad}}}, to_apply=add }}"""
REDUCE = """add {{ a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }}
ENTRY e {{ x = f32[4096,4096] parameter(0) z = f32[] constant(0) ROOT r = {r} reduce(x, z), dimensions={d}, to_apply=add }}"""
ROWS, SUM = REDUCE.format(r="f32[4096]", d="{1}"), REDUCE.format(r="f32[]", d="{0,1}")
SORT = """lt { a = f32[] parameter(0) b = f32[] parameter(1) i = s32[] parameter(2) j = s32[] parameter(3)
ROOT l = pred[] compare(a, b), direction=LT, type=TOTALORDER }
ENTRY e { x = f32[1048576] parameter(0) i = s32[1048576] iota(), iota_dimension=0
ROOT s = (f32[1048576], s32[1048576]) sort(x, i), dimensions={0}, is_stable=true, to_apply=lt }"""
LARGE = [  # name, text, additions, options
    ("dot f32", MATRIX.format(t="f32", r="f32", m=1024, k=1024, n=1024), 1 << 30, []),
    ("dot f32, --f64", MATRIX.format(t="f32", r="f32", m=1024, k=1024, n=1024), 1 << 30, ["--f64"]),
    ("dot bf16", MATRIX.format(t="bf16", r="f32", m=1024, k=1024, n=1024), 1 << 30, []),
    ("dot s8", MATRIX.format(t="s8", r="s32", m=1024, k=1024, n=1024), 1 << 30, []),
    ("dot s32", MATRIX.format(t="s32", r="s32", m=512, k=1024, n=512), 1 << 28, []),
    ("convolution f32", IMAGE, 4 * 28 * 28 * 64 * 9 * 64, []),
    ("window of 4096 f32", WINDOW.format(t="f32", n=4096, size=4096, pad="4095_0"), 4096 * 4097 // 2, []),
    ("window of 4096 s32", WINDOW.format(t="s32", n=4096, size=4096, pad="0_4095"), 4096 * 4097 // 2, []),
    ("dot f32, --bounds", MATRIX.format(t="f32", r="f32", m=512, k=1024, n=512), 1 << 28, ["--bounds"]),
    ("convolution, --bounds", IMAGE, 4 * 28 * 28 * 64 * 9 * 64, ["--bounds"]),
    ("sum of rows", ROWS, 1 << 24, []),
    ("sum, --bounds", SUM, 1 << 24, ["--bounds"]),
    ("window of 64, --bounds", WINDOW.format(t="f32", n=1 << 18, size=64, pad="63_0"), 64 << 18, ["--bounds"]),
    ("window of 64 f32", WINDOW.format(t="f32", n=1 << 18, size=64, pad="63_0"), 64 << 18, []),
    ("sort", SORT, 20 << 20, []),
    ("sort, --bounds", SORT, 20 << 20, ["--bounds"]),
]


def text(kind: str, body: str, n: int) -> str:
    s = f"{kind}[{n}]"
    return f"f {{ x = {s} parameter(0)\n{body.format(t=kind, s=s)} }}\nENTRY e {{ x = {s} parameter(0) ROOT r = {s} fusion(x), kind=kLoop, calls=f }}\n"


def seconds(warpburg: str, path: Path, *more: str) -> float:
    """Processor time of one evaluation, the least of three."""
    best = float("inf")
    for _ in range(3):
        before = getrusage(RUSAGE_CHILDREN)
        subprocess.run([warpburg, "eval", str(path), "--seed", "1", "--case", "n", "--jobs", "1", *more], check=True, stdout=subprocess.DEVNULL)
        after = getrusage(RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def write_positions(path: Path, positions: list[int]) -> None:
    header = "{'descr': '<i8', 'fortran_order': False, 'shape': (%d,), }" % len(positions)
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(positions)}q", *positions))


def main() -> int:
    warpburg = os.path.abspath(sys.argv[1])
    n = int(sys.argv[sys.argv.index("--elements") + 1]) if "--elements" in sys.argv else 1 << 22
    slow = False
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "f.hlo")
        for name, kind, body, operations in CASES:
            path.write_text(text(kind, NONE, n))
            base = seconds(warpburg, path)
            path.write_text(text(kind, body, n))
            rate = n * (operations - 1) / max(seconds(warpburg, path) - base, 1e-9)
            slow = slow or rate < WANTED
            few = n // 16
            path.write_text(text(kind, NONE, few))
            base = seconds(warpburg, path, "--bounds")
            path.write_text(text(kind, body, few))
            intervals = few * (operations - 1) / max(seconds(warpburg, path, "--bounds") - base, 1e-9)
            print(f"{name:6} {kind:5} {rate / 1e6:8.0f} million operations a second, {intervals / 1e6:6.1f} million of intervals")
        write_positions(Path(folder, "at.npy"), [k * 8388607 for k in range(16)])
        for kind in ("f32", "bf16"):
            path.write_text(text(kind, GELU, 1 << 27))
            print(f"16 elements of 2^27, {kind}: {1000 * seconds(warpburg, path, '--at', str(Path(folder, 'at.npy'))):.1f} ms")
        for name, body, additions, options in LARGE:
            path.write_text(body)
            taken = seconds(warpburg, path, *options)
            print(f"{name:22} {taken:8.3f} s, {additions / taken / 1e6:8.0f} million additions a second")
    return 4 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
