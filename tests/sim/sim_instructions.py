"""Single PTX instructions in the simulator, against formulas in exact arithmetic.

The formulas use Python's integers, and fractions that are rounded once as the PTX manual says; they share no code with the simulator. Operands are
edge values and random bits. Each instruction runs over COUNT lanes in one kernel; a result that differs in a bit is printed with its
operands. A nan of 32 bits or fewer must have the manual's bits, a nan of f64 may have any. Ends with `N passed, M failed`.

    sim_instructions.py build/warpburg-run [--count 4096] [--seed 1] [--only add.rz]
"""
import argparse
import operator
import random
import struct
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Callable, List, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
import npy  # noqa: E402
from exact_floats import (  # noqa: E402
    BF16, E2M1, E2M3, E3M2, E4M3, E5M2, F16, F32, F64, MODES, Format, Value, add, decode, div, encode, flip, flush, flushed, fma, mul, negative, number,
    round_whole, sqrt)

# An instruction (text after a colon is its last operand); a letter for each operand and, after >, for the result; a formula on bits.
Row = Tuple[str, str, Callable[..., int]]
WIDTH = {"p": 1, "h": 16, "w": 32, "d": 64, "f": 32, "g": 64, "s": 32, "b": 16}  # f, g, b: floats of 32, 64 and 16 bits; s: mostly a small integer


def signed(v: int, n: int) -> int:
    return v - (1 << n) if v >> (n - 1) & 1 else v


def clamp(v: int, n: int, is_signed: bool) -> int:
    low, high = (-(1 << (n - 1)), (1 << (n - 1)) - 1) if is_signed else (0, (1 << n) - 1)
    return max(low, min(high, v))


def integers() -> List[Row]:
    rows: List[Row] = []
    for n, t in ((16, "h"), (32, "w"), (64, "d")):
        for s in "su":
            def of(g: Callable[..., int], n: int = n, s: str = s) -> Callable[..., int]:
                return lambda *v: g(*[signed(x, n) if s == "s" else x for x in v])
            name = f"{s}{n}"
            rows += [(f"add.{name}", t * 2 + ">" + t, of(lambda a, b: a + b)), (f"sub.{name}", t * 2 + ">" + t, of(lambda a, b: a - b)),
                     (f"mul.lo.{name}", t * 2 + ">" + t, of(lambda a, b: a * b)), (f"mul.hi.{name}", t * 2 + ">" + t, of(lambda a, b, n=n: a * b >> n)),
                     (f"mad.lo.{name}", t * 3 + ">" + t, of(lambda a, b, c: a * b + c)),
                     (f"mad.hi.{name}", t * 3 + ">" + t, of(lambda a, b, c, n=n: (a * b >> n) + c)),
                     (f"min.{name}", t * 2 + ">" + t, of(min)), (f"max.{name}", t * 2 + ">" + t, of(max)),
                     (f"sad.{name}", t * 3 + ">" + t, of(lambda a, b, c: c + abs(a - b))),
                     (f"shr.{name}", t + "s>" + t, lambda a, b, n=n, s=s: (signed(a, n) if s == "s" else a) >> min(b, n)),
                     (f"div.{name}", t * 2 + ">" + t, of(lambda a, b: -1 if b == 0 else (abs(a) // abs(b)) * (-1 if (a < 0) != (b < 0) else 1))),
                     (f"rem.{name}", t * 2 + ">" + t, of(lambda a, b: a if b == 0 else abs(a) % abs(b) * (-1 if a < 0 else 1)))]
            for op, g in (("lt", lambda a, b: a < b), ("ge", lambda a, b: a >= b), ("eq", lambda a, b: a == b)):
                rows.append((f"setp.{op}.{name}", t * 2 + ">p", of(g)))
        rows += [(f"shl.b{n}", t + "s>" + t, lambda a, b, n=n: a << b if b < n else 0), (f"xor.b{n}", t * 2 + ">" + t, lambda a, b: a ^ b),
                 (f"cnot.b{n}", t + ">" + t, lambda a: a == 0), (f"neg.s{n}", t + ">" + t, lambda a: -a),
                 (f"abs.s{n}", t + ">" + t, lambda a, n=n: abs(signed(a, n)))]
    for n, t in ((16, "h"), (32, "w")):
        wide = "w" if n == 16 else "d"
        rows += [(f"mul.wide.s{n}", t + t + ">" + wide, lambda a, b, n=n: signed(a, n) * signed(b, n)),
                 (f"mul.wide.u{n}", t + t + ">" + wide, lambda a, b: a * b),
                 (f"mad.wide.s{n}", t + t + wide + ">" + wide, lambda a, b, c, n=n: signed(a, n) * signed(b, n) + c)]
    return rows + terms() + bits() + packed()


def field(a: int, at: int, n: int, width: int, is_signed: bool) -> int:
    at, n = at & 255, n & 255
    if not n:
        return 0
    sign = a >> min(at + n - 1, width - 1) & 1 if is_signed else 0
    return sum((a >> (at + i) & 1 if i < n and at + i < width else sign) << i for i in range(width))


def insert(a: int, b: int, at: int, n: int, width: int) -> int:
    at, n = at & 255, n & 255
    return sum((a >> (i - at) if at <= i < at + n else b >> i) % 2 << i for i in range(width))


def bytes_by(a: int, b: int, selectors: List[int]) -> int:
    source = (a | b << 32).to_bytes(8, "little")
    return sum((source[s & 7] if not s & 8 else 255 * (source[s & 7] >> 7)) << (8 * i) for i, s in enumerate(selectors))


PRMT = {"f4e": ["3210", "4321", "5432", "6543"], "b4e": ["5670", "6701", "7012", "0123"], "rc8": ["0000", "1111", "2222", "3333"],
        "ecl": ["3210", "3211", "3222", "3333"], "ecr": ["0000", "1110", "2210", "3210"], "rc16": ["1010", "3232", "1010", "3232"]}


def nth(mask: int, base: int, offset: int) -> int:
    offset = signed(offset, 32)
    if base > 31:
        return -1
    found = [i for i in (range(base, 32) if offset >= 0 else range(base, -1, -1)) if mask >> i & 1]
    if offset == 0:
        return base if mask >> base & 1 else -1
    return found[abs(offset) - 1] if abs(offset) <= len(found) else -1


def terms() -> List[Row]:
    """Those of gen/instructions.py."""
    rows: List[Row] = []
    for s, t in (("s", "s32"), ("u", "u32")):
        low = (lambda x: signed(x & 0xffffff, 24)) if s == "s" else (lambda x: x & 0xffffff)
        for part, by in (("lo", 0), ("hi", 16)):
            rows += [(f"mul24.{part}.{t}", "ww>w", lambda a, b, low=low, by=by: low(a) * low(b) >> by),
                     (f"mad24.{part}.{t}", "www>w", lambda a, b, c, low=low, by=by: (low(a) * low(b) >> by) + c)]
        rows += [(f"szext.clamp.{t}", "ws>w", lambda a, b, s=s: a if b > 31 else field(a, 0, b, 32, s == "s")),
                 (f"szext.wrap.{t}", "ws>w", lambda a, b, s=s: field(a, 0, b % 32, 32, s == "s"))]
        for n in (8, 16):
            parts = lambda x, n=n, s=s: [signed(v, n) if s == "s" else v for v in (x >> k & ((1 << n) - 1) for k in range(0, 32, n))]
            rows.append((f"vabsdiff{32 // n}.u32.{t}.{t}.add", "www>w",
                         lambda a, b, c, parts=parts: c + sum(abs(x - y) for x, y in zip(parts(a), parts(b)))))
    return rows


def bits() -> List[Row]:
    rows: List[Row] = [
        ("shf.l.wrap.b32", "wws>w", lambda a, b, c: (b << 32 | a) << (c & 31) >> 32),
        ("shf.l.clamp.b32", "wws>w", lambda a, b, c: (b << 32 | a) << min(c, 32) >> 32),
        ("shf.r.wrap.b32", "wws>w", lambda a, b, c: (b << 32 | a) >> (c & 31)),
        ("shf.r.clamp.b32", "wws>w", lambda a, b, c: (b << 32 | a) >> min(c, 32)),
        ("prmt.b32", "www>w", lambda a, b, c: bytes_by(a, b, [c >> (4 * i) & 15 for i in range(4)])),
        ("fns.b32", "wss>w", nth), ("popc.b64", "d>w", lambda a: bin(a).count("1")), ("brev.b32", "w>w", lambda a: int(f"{a:032b}"[::-1], 2)),
        ("brev.b64", "d>d", lambda a: int(f"{a:064b}"[::-1], 2)), ("clz.b64", "d>w", lambda a: 64 - a.bit_length()),
        ("clz.b32", "w>w", lambda a: 32 - a.bit_length()),
        ("bmsk.clamp.b32", "ss>w", lambda a, b: sum(1 << i for i in range(32) if a <= i < a + b)),
        ("bmsk.wrap.b32", "ss>w", lambda a, b: sum(1 << i for i in range(32) if a % 32 <= i < a % 32 + b % 32)),
        ("add.sat.s32", "ww>w", lambda a, b: clamp(signed(a, 32) + signed(b, 32), 32, True)), ("mad.hi.sat.s32", "www>w",
         lambda a, b, c: clamp((signed(a, 32) * signed(b, 32) >> 32) + signed(c, 32), 32, True)),
        ("slct.b32.s32", "www>w", lambda a, b, c: a if signed(c, 32) >= 0 else b), ("slct.u64.s32", "ddw>d", lambda a, b, c: a if signed(c, 32) >= 0 else b)]
    for n, t in ((32, "w"), (64, "d")):
        for s in "su":
            rows += [(f"bfe.{s}{n}", t + "ss>" + t, lambda a, b, c, n=n, s=s: field(a, b, c, n, s == "s")),
                     (f"bfind.{s}{n}", t + ">w", lambda a, n=n, s=s: (~a & ((1 << n) - 1) if s == "s" and a >> (n - 1) else a).bit_length() - 1),
                     (f"bfind.shiftamt.{s}{n}", t + ">w",
                      lambda a, n=n, s=s: (lambda k: n - 1 - k if k >= 0 else -1)((~a & ((1 << n) - 1) if s == "s" and a >> (n - 1) else a).bit_length() - 1))]
    rows += [(f"prmt.b32.{m}", "www>w", lambda a, b, c, t=t: bytes_by(a, b, [int(x) for x in reversed(t[c & 3])])) for m, t in PRMT.items()]
    for table in (0x96, 0xe8, 0x1b, 0x40):
        rows.append((f"lop3.b32:{table}", "www>w",
                     lambda a, b, c, k=table: sum((k >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1) << i for i in range(32))))
    return rows


def packed() -> List[Row]:
    rows: List[Row] = []

    def part(v: int, i: int, n: int, s: str) -> int:
        return signed(v >> (n * i) & ((1 << n) - 1), n) if s == "s" else v >> (n * i) & ((1 << n) - 1)
    for s in "su":
        for t in "su":
            rows.append((f"dp4a.{s}32.{t}32", "www>w", lambda a, b, c, s=s, t=t: c + sum(part(a, i, 8, s) * part(b, i, 8, t) for i in range(4))))
            for k, half in enumerate(("lo", "hi")):
                rows.append((f"dp2a.{half}.{s}32.{t}32", "www>w",
                             lambda a, b, c, s=s, t=t, k=k: c + sum(part(a, i, 16, s) * part(b, 2 * k + i, 8, t) for i in range(2))))
        for n in (2, 4, 8):
            rows.append((f"cvt.pack.sat.{s}{n}.s32.b32", "www>w", lambda a, b, c, s=s, n=n: clamp(signed(b, 32), n, s == "s") % (1 << n) |
                         clamp(signed(a, 32), n, s == "s") % (1 << n) << n | c << (2 * n)))
    for n, k in ((16, 2), (8, 4)):  # PTX ISA 9.7.1.1, .2, .11 to .13; of bytes since version 9.2
        def lanes(g: Callable[..., int], s: str, *v: int, n: int = n, k: int = k) -> int:
            return sum(g(*[part(x, i, n, s) for x in v]) % (1 << n) << (n * i) for i in range(k))
        for s in "su":
            def sat(g: Callable[..., int], n: int = n, s: str = s) -> Callable[..., int]:
                return lambda a, b: clamp(g(a, b), n, s == "s")
            rows += [(f"{op}.{s}{n}x{k}", "ww>w", lambda a, b, f=f, s=s, lanes=lanes: lanes(f, s, a, b))
                     for op, g in (("add", operator.add), ("sub", operator.sub)) if op == "add" or n == 8 for op, f in ((op, g), (f"{op}.sat", sat(g)))]
            rows += [(f"{op}.{s}{n}x{k}", "ww>w", lambda a, b, g=g, s=s, lanes=lanes: lanes(g, s, a, b)) for op, g in (("min", min), ("max", max))]
        rows += [(f"{op}.relu.s{n}x{k}", "ww>w", lambda a, b, g=g, lanes=lanes: lanes(lambda x, y: max(0, g(x, y)), "s", a, b))
                 for op, g in (("min", min), ("max", max))]
        if n == 8:
            rows.append(("neg.s8x4", "w>w", lambda a, lanes=lanes: lanes(operator.neg, "s", a)))
    rows.append(("add.sat.u32", "ww>w", lambda a, b: min(a + b, 2**32 - 1)))
    return rows


def minmax(f: Format, larger: bool, nan: bool, a: int, b: int) -> int:
    x, y = decode(f, a), decode(f, b)
    if "nan" in (x, y):
        return f.nan if nan or x == y else b if x == "nan" else a
    rank = [(float("-inf") if v == "-inf" else float("inf") if v == "inf" else 0 if v == "-0" else v, v != "-0") for v in (x, y)]
    return a if (rank[0] > rank[1]) == larger else b


def floats() -> List[Row]:
    rows: List[Row] = []
    for f, t, name in ((F32, "f", "f32"), (F64, "g", "f64")):
        for m in MODES:
            def of(g: Callable[..., int], f: Format = f, m: str = m) -> Callable[..., int]:
                return lambda *v: g(f, *[decode(f, x) for x in v], m)
            rows += [(f"add.{m}.{name}", t * 2 + ">" + t, of(add)), (f"sub.{m}.{name}", t * 2 + ">" + t, of(lambda f, a, b, m: add(f, a, flip(b), m))),
                     (f"mul.{m}.{name}", t * 2 + ">" + t, of(mul)), (f"fma.{m}.{name}", t * 3 + ">" + t, of(fma)),
                     (f"div.{m}.{name}", t * 2 + ">" + t, of(div)), (f"rcp.{m}.{name}", t + ">" + t, of(lambda f, a, m: div(f, Fraction(1), a, m))),
                     (f"sqrt.{m}.{name}", t + ">" + t, of(sqrt))]
    for m in MODES:
        def pair(g: Callable[..., int], m: str = m) -> Callable[..., int]:
            return lambda *v: sum(g(F32, *[decode(F32, x >> (32 * i) & 0xffffffff) for x in v], m) << (32 * i) for i in range(2))
        rows += [(f"add.{m}.f32x2", "dd>d", pair(add)), (f"sub.{m}.f32x2", "dd>d", pair(lambda f, a, b, m: add(f, a, flip(b), m))),
                 (f"mul.{m}.f32x2", "dd>d", pair(mul)), (f"fma.{m}.f32x2", "ddd>d", pair(fma))]
    for name, g in (("add.rn.ftz.f32", add), ("mul.rz.ftz.f32", mul)):
        rows.append((name, "ff>f", lambda a, b, g=g, m=name[4:6]: flushed(g(F32, flush(decode(F32, a)), flush(decode(F32, b)), m))))
    for f, name in ((F16, "f16"), (BF16, "bf16")):
        rows += [(f"{op}.rn.{name}", "bb>b", lambda a, b, f=f, g=g: g(f, decode(f, a), decode(f, b), "rn")) for op, g in (("add", add), ("mul", mul))]
        rows += [(f"fma.rn.{name}", "bbb>b", lambda a, b, c, f=f: fma(f, decode(f, a), decode(f, b), decode(f, c), "rn")),
                 (f"fma.rn.{name}x2", "www>w",
                  lambda a, b, c, f=f: sum(fma(f, *[decode(f, x >> (16 * i) & 0xffff) for x in (a, b, c)], "rn") << (16 * i) for i in range(2))),
                 (f"add.f32.{name}", "bf>f", lambda a, b, f=f: add(F32, decode(f, a), decode(F32, b), "rn")),
                 (f"fma.rz.f32.{name}", "bbf>f", lambda a, b, c, f=f: fma(F32, decode(f, a), decode(f, b), decode(F32, c), "rz"))]
    for op in ("min", "max"):
        for nan in ("", ".NaN"):
            rows += [(f"{op}{nan}.{n}", t * 2 + ">" + t, lambda a, b, f=f, op=op, nan=nan: minmax(f, op == "max", bool(nan), a, b))
                     for f, t, n in ((F32, "f", "f32"), (F16, "b", "f16"), (BF16, "b", "bf16"))]
            rows.append((f"{op}{nan}.f32", "fff>f",
                         lambda a, b, c, op=op, nan=nan: minmax(F32, op == "max", bool(nan), minmax(F32, op == "max", bool(nan), a, b), c)))
    return rows


def to_integer(v: Value, n: int, s: str, mode: str, wide: bool) -> int:
    if v == "nan":
        return 1 << (n - 1) if wide else 0
    if v in ("inf", "-inf"):
        return clamp(-(1 << 80) if v == "-inf" else 1 << 80, n, s == "s")
    low = round_whole(abs(number(v)), mode[:2], negative(v))
    return clamp(-low if negative(v) else low, n, s == "s")


def conversions() -> List[Row]:
    rows: List[Row] = []
    kinds = [("f16", F16, "b"), ("bf16", BF16, "b"), ("f32", F32, "f"), ("f64", F64, "g")]
    for name, f, t in kinds:
        for n, to in ((16, "h"), (32, "w"), (64, "d")):
            for s in "su":
                for m in MODES:
                    rows += [(f"cvt.{m}i.{s}{n}.{name}", t + ">" + to, lambda a, f=f, n=n, s=s, m=m: to_integer(decode(f, a), n, s, m, n == 64 or f == F64)),
                             (f"cvt.{m}.{name}.{s}{n}", to + ">" + t, lambda a, f=f, n=n, s=s, m=m: encode(f, Fraction(signed(a, n) if s == "s" else a), m))]
    for m in MODES:
        rows += [(f"cvt.{m}.{d[0]}.f32", "f>" + d[2], lambda a, f=d[1], m=m: encode(f, decode(F32, a), m)) for d in kinds[:2]]
        rows += [(f"cvt.{m}.f32.f64", "g>f", lambda a, m=m: encode(F32, decode(F64, a), m)),
                 (f"cvt.{m}.f16.f64", "g>b", lambda a, m=m: encode(F16, decode(F64, a), m)),
                 (f"cvt.{m}i.f32.f32", "f>f", lambda a, m=m: whole(a, m))]
    rows += [("cvt.f64.f32", "f>g", lambda a: encode(F64, decode(F32, a))),
             ("cvt.rna.tf32.f32", "f>w", lambda a: tf32(a, "rna")), ("cvt.rn.tf32.f32", "f>w", lambda a: tf32(a, "rn"))]
    for name, f in (("e4m3", E4M3), ("e5m2", E5M2), ("e2m1", E2M1), ("e2m3", E2M3), ("e3m2", E3M2)):
        size = max(f.bits, 4) if f.bits < 5 else 8
        for relu in ("", ".relu"):
            rows.append((f"cvt.rn.satfinite{relu}.{name}x2.f32", "ff>h", lambda a, b, f=f, k=size, r=relu: saturated(f, b, r) | saturated(f, a, r) << k))
        rows.append((f"cvt.rn.f16x2.{name}x2", "h>w",
                     lambda a, f=f, k=size: sum(encode(F16, decode(f, a >> (k * i) & ((1 << f.bits) - 1))) << (16 * i) for i in range(2))))
    return rows


def whole(a: int, mode: str) -> int:
    v = decode(F32, a)
    if isinstance(v, str):
        return encode(F32, v)
    return encode(F32, Fraction(round_whole(abs(v), mode, negative(v))) * (-1 if negative(v) else 1), zero=negative(v))


def tf32(a: int, mode: str) -> int:
    return encode(Format(19, 11, -126, True, 0x3ffff), decode(F32, a), mode) << 13


def saturated(f: Format, a: int, relu: str) -> int:
    v = decode(F32, a)
    if relu and v != "nan" and negative(v):
        v = Fraction(0)
    if v == "nan":
        return f.nan
    most = decode(f, f.largest())
    if v in ("inf", "-inf") or abs(number(v)) > most:
        return f.largest() | (1 << (f.bits - 1) if negative(v) else 0)
    return encode(f, v)


# --- running -------------------------------------------------------------------------------------------------------------------
EDGES = {"w": [0, 1, 2, 31, 32, 33, 0x7fffffff, 0x80000000, 0xffffffff, 0xffff, 0x8000],
         "f": [0, 1, 0x7fffff, 0x800000, 0x3f800000, 0x3f7fffff, 0x4b000000, 0x7f7fffff,
               0x7f800000, 0x7fc00001, 0x33800000, 0x477ff000, 0x4f000000, 0x5f000000, 0x43e00000, 0x40c00000],
         "g": [0, 1, 0xfffffffffffff, 0x10000000000000, 0x3ff0000000000000, 0x7fefffffffffffff, 0x7ff0000000000000, 0x7ff8000000000001,
               0x3ca0000000000000, 0x41dfffffffc00000, 0x43e0000000000000, 0x36a0000000000000],
         "b": [0, 1, 0x3ff, 0x400, 0x3c00, 0x7bff, 0x7c00, 0x7e00, 0x7f, 0x80, 0x3f80, 0x7f7f, 0x7f80, 0x7fff]}


def operand(r: random.Random, letter: str, near: int) -> int:
    n = WIDTH[letter]
    if letter == "s" and r.random() < 0.9:
        return r.randrange(70)
    if r.random() < 0.3:
        v = r.choice(EDGES.get(letter, EDGES["w"]))
        return (v | r.getrandbits(1) << (n - 1) if letter in "fgb" else v | v << (n - 32) if n == 64 and r.random() < 0.5 else v) & ((1 << n) - 1)
    if letter in "fg" and r.random() < 0.6:  # exponents close to each other
        low, bias = (23, 127) if letter == "f" else (52, 1023)
        return r.getrandbits(1) << (n - 1) | (bias + near + r.randrange(-3, 4)) << low | r.getrandbits(low) & -(1 << r.randrange(low))
    return r.getrandbits(n)


def kernel(name: str, types: str) -> str:
    """out[i] = the instruction on the low bits of a[i], b[i], c[i]."""
    from_, to = types.split(">")
    register = {"h": "%h", "b": "%h", "w": "%r", "f": "%r", "s": "%r", "d": "%d", "g": "%d", "p": "%p"}
    name, _, last = name.partition(":")
    lines = [".version 8.8", ".target sm_100a", ".address_size 64", ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 o)", "{",
             ".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .b64 %q<9>; .reg .b32 %t<4>;",
             "mov.u32 %t1, %ctaid.x; mov.u32 %t2, %tid.x; shl.b32 %t1, %t1, 7; add.s32 %t1, %t1, %t2; mul.wide.u32 %q8, %t1, 8;"]
    for i, p in enumerate("abco"):
        lines.append(f"ld.param.u64 %q{i}, [{p}]; add.s64 %q{i}, %q{i}, %q8;")
    for i, t in enumerate(from_):
        lines.append(f"ld.global.b64 %d{i}, [%q{i}];" + (f" cvt.u16.u64 %h{i}, %d{i};" if register[t] == "%h" else
                                                         f" cvt.u32.u64 %r{i}, %d{i};" if register[t] == "%r" else ""))
    words = [f"{register[to]}8"] + [f"{register[t]}{i}" for i, t in enumerate(from_)] + ([last] if last else [])
    lines.append(f"{name} {', '.join(words)};")
    lines.append({"%h": "cvt.u64.u16 %q7, %h8;", "%r": "cvt.u64.u32 %q7, %r8;", "%d": "mov.b64 %q7, %d8;", "%p": "selp.b64 %q7, 1, 0, %p8;"}[register[to]])
    return "\n".join(lines + ["st.global.b64 [%q3], %q7;", "ret;", "}", ""])


def complaint(program: str, row: Row, count: int, seed: int, folder: Path) -> str:
    name, types, formula = row
    from_, to = types.split(">")
    r = random.Random(f"{seed} {name} {types}")
    operands = []
    for _ in range(count):
        near = r.choice((0, 0, 20, -20, 100, -120))
        operands.append([operand(r, t, near) for t in from_])
    for i, p in enumerate("abc"):
        npy.write(folder / f"{p}.npy", "<u8", (len(operands),), struct.pack(f"<{len(operands)}Q", *(v[i] if i < len(v) else 0 for v in operands)))
    (folder / "k.ptx").write_text(kernel(name, types), encoding="utf-8")
    words = [program, "run", str(folder / "k.hlo"), "--ptx", str(folder / "k.ptx"), "--grid", str(count // 128), "--block", "128", "-o", str(folder / "out")]
    p = subprocess.run(words + [w for q in "abc" for w in ("--input", str(folder / f"{q}.npy"))], capture_output=True, text=True, timeout=60)
    if p.returncode:
        return f"exit {p.returncode}: {(p.stderr + p.stdout).strip()[:200]}"
    results = struct.unpack(f"<{count}Q", (folder / "out" / "out0.npy").read_bytes()[-8 * count:])
    mask = (1 << WIDTH[to]) - 1
    for v, got in zip(operands, results):
        wanted = int(formula(*v)) & mask
        if got != wanted and not (to == "g" and wanted == F64.nan and got & F64.nan > 0x7ff0000000000000):
            return f"of {', '.join(hex(x) for x in v)}: {got:#x}, {wanted:#x} expected"
    return ""


def main() -> int:
    p = argparse.ArgumentParser(description="PTX instructions against exact arithmetic")
    p.add_argument("warpburg")
    p.add_argument("--count", type=int, default=1024, help="lanes an instruction, a multiple of 128")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--every", type=int, default=1, help="every Nth instruction")
    p.add_argument("--only", default="")
    o = p.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shape = f"u64[{o.count}]{{0}}"
        (folder / "k.hlo").write_text(f"HloModule k\nENTRY main {{\n  a = {shape} parameter(0)\n  b = {shape} parameter(1)\n  c = {shape} parameter(2)\n"
                                      f"  d = {shape} add(a, b)\n  ROOT e = {shape} add(d, c)\n}}\n", encoding="utf-8")
        for row in (integers() + floats() + conversions())[::o.every]:
            if o.only not in row[0]:
                continue
            why = complaint(o.warpburg, row, o.count, o.seed, folder)
            passed, failed = passed + (not why), failed + bool(why)
            if why:
                print(f"{row[0]} {why}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
