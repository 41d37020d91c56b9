"""Functions at the arguments of functions/values.py, and correctly rounded operations at random ones: compiled, and run in the simulator.

usage: function_values.py WARPBURG [--targets sm_80,sm_90] [--count N] [--verbose]

Operations of one type are outputs of one fusion, each with operands of its own. Divisions, square roots, remainders and conversions between
floats and from integers are compared with exact rational arithmetic (exact_floats.py), integer division by constants and by variables with
Python's. Ends with `N passed, M failed`, in values times targets.
"""
from __future__ import annotations

import argparse
import random
import struct
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "common")]

import exact_floats as exact  # noqa: E402
import npy  # noqa: E402
import values  # noqa: E402
from gen import hlo_ops, load, ops  # noqa: E402

FORMATS = {"f16": exact.F16, "bf16": exact.BF16, "f32": exact.F32, "f64": exact.F64}
OUTPUTS = 10  # of one fusion
OP_OF = hlo_ops.SCALAR


class Case(NamedTuple):
    """An operation at one type, with the bits of its operands and each expected result: bits, or an exact value and a budget in ulp."""

    op: str
    type: str
    frm: str  # of the operands
    operands: List[Tuple[int, ...]]
    results: List[Any]
    source: str
    constant: str = ""  # the second operand where it is a constant, as HLO text


# --- bits ---------------------------------------------------------------------------------------------------------------------------
def width(t: str) -> int:
    return int("".join(c for c in t if c.isdigit()))


def bits_of(x: values.Number, t: str) -> int:
    if t in FORMATS:
        return of_fraction(x, t)
    n = width(t)
    named = {"bits": n, "bits-1": n - 1, "bits-2": n - 2, "bits-7": n - 7, "min": -(1 << n - 1), "max": (1 << n) - 1, "max/2": (1 << n - 1) - 1}
    return (named[x] if isinstance(x, str) else int(x)) & (1 << n) - 1


def of_fraction(x: values.Number, t: str) -> int:
    v = float.fromhex(x) if isinstance(x, str) else float(x)
    if v != v or v in (values.INF, -values.INF):
        return exact.encode(FORMATS[t], "nan" if v != v else "inf" if v > 0 else "-inf")
    return exact.encode(FORMATS[t], "-0" if v == 0 and struct.pack("<d", v)[7] else Fraction(v))


def exactly(text: str) -> Fraction:
    """A hexadecimal number of any length."""
    sign, digits = (-1, text[1:]) if text[0] == "-" else (1, text)
    mantissa, _, exponent = digits[2:].partition("p")
    whole, _, part = mantissa.partition(".")
    return sign * Fraction(int(whole + part, 16), 16 ** len(part)) * Fraction(2) ** int(exponent)


def good(got: int, want: Any, t: str) -> bool:
    if t not in FORMATS:
        return bool(got == want)
    f = FORMATS[t]
    if isinstance(want, int):
        return got == want or (exact.decode(f, got) == "nan" == exact.decode(f, want))
    value, budget = want
    v = exact.decode(f, got)
    if isinstance(v, str) and v != "-0":
        return False
    unit = Fraction(2) ** (max(exact.log2(abs(value)), f.least) - f.precision + 1)
    return abs(exact.number(v) - value) <= budget * unit


# --- cases --------------------------------------------------------------------------------------------------------------------------
def listed() -> Iterator[Case]:
    budgets = load.budgets()
    for op, types, pairs, source in values.FUNCTIONS + values.EXACT:
        for t in types:
            budget = Fraction(max(0.5, budgets.get((OP_OF[op], t), (0, 0, 0))[0]) + 0.001)
            results = [(exactly(y), budget) if isinstance(y, str) and "0x" in y else bits_of(y, t) for _, y in pairs]
            yield Case(op, t, t, [tuple(bits_of(x, t) for x in xs) for xs, _ in pairs], results, source)


def drawn(t: str, count: int, rng: random.Random) -> List[int]:
    """Random bits, values of ordinary size, and edge values."""
    f, n = FORMATS[t], width(t)
    corners = [0, 1, 2, (1 << f.precision - 1) - 1, 1 << f.precision - 1, f.largest(), f.largest() - 1,
               of_fraction(1.0, t), of_fraction(1.0, t) - 1, of_fraction(3.0, t)]
    out = [c | s for c in corners for s in (0, 1 << n - 1)]
    while len(out) < count:
        out.append(rng.getrandbits(n) if len(out) % 2 else of_fraction(rng.uniform(-8, 8) * 2.0 ** rng.randrange(-12, 12), t))
    return out


def rounded(count: int, rng: random.Random) -> Iterator[Case]:
    """Operations that IEEE 754-2019, 5.4.1 and 5.4.2, rounds correctly: the exact result, rounded once."""
    for t, f in FORMATS.items():
        a, b = drawn(t, count, rng), drawn(t, count, rng)
        rng.shuffle(b)
        p, q = [exact.decode(f, x) for x in a], [exact.decode(f, x) for x in b]
        yield Case("divide", t, t, list(zip(a, b)), [exact.div(f, x, y, "rn") for x, y in zip(p, q)], "IEEE 754-2019, 5.4.1")
        yield Case("sqrt", t, t, [(x,) for x in a], [exact.sqrt(f, x, "rn") for x in p], "IEEE 754-2019, 5.4.1")
        pairs = [(x * s, y) for x in values.FMOD[t] for y in values.FMOD[t] for s in (1, -1)]
        found = [(of_fraction(x, t), of_fraction(y, t)) for x, y in pairs]
        yield Case("remainder", t, t, found, [truncated_remainder(f, x, y) for x, y in found], "C23, 7.12.10.1: x - n y, exact")
        for frm, g in FORMATS.items():
            if frm != t:
                c = drawn(frm, count, rng)
                yield Case("convert", t, frm, [(x,) for x in c], [exact.encode(f, exact.decode(g, x)) for x in c], "IEEE 754-2019, 5.4.2")
        for frm in ("s32", "u32", "s64", "u64"):
            n = width(frm)
            c = [rng.getrandbits(n) >> rng.randrange(n) for _ in range(count)] + [0, (1 << n) - 1, 1 << n - 1, (1 << n - 1) - 1]
            yield Case("convert", t, frm, [(x,) for x in c],
                       [exact.encode(f, Fraction(x - (1 << n) if frm[0] == "s" and x >> n - 1 else x)) for x in c], "IEEE 754-2019, 5.4.1")


def truncated_remainder(f: exact.Format, a: int, b: int) -> int:
    x, y = exact.number(exact.decode(f, a)), exact.number(exact.decode(f, b))
    return exact.encode(f, x - y * int(x / y), zero=a >> f.bits - 1) if y else f.nan


def divisions(rng: random.Random) -> Iterator[Case]:
    """Integer division and remainder by constants and by variables, which truncate."""
    for t in ("s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64"):
        n, signed = width(t), t[0] == "s"
        low, high = (-(1 << n - 1), (1 << n - 1) - 1) if signed else (0, (1 << n) - 1)
        xs = [x for x in (low, low + 1, -128, -1, 0, 1, 2, 6, 7, 100, high - 1, high, *(rng.randint(low, high) for _ in range(40))) if low <= x <= high]
        for op in ("divide", "remainder"):
            for k in [d for d in (*values.DIVISORS, high, high // 3, low) if low <= d <= high and d]:
                yield Case(op, t, t, [(x & (1 << n) - 1,) for x in xs], [divided(op, x, k, n) for x in xs], values.HLO, str(k))
            ys = [rng.choice([y for y in (*values.DIVISORS, high, low, rng.randint(low, high)) if low <= y <= high and y]) for _ in xs]
            yield Case(op, t, t, [(x & (1 << n) - 1, y & (1 << n) - 1) for x, y in zip(xs, ys)], [divided(op, x, y, n) for x, y in zip(xs, ys)], values.HLO)


def divided(op: str, x: int, y: int, n: int) -> int:
    q = abs(x) // abs(y) * (-1 if (x < 0) != (y < 0) else 1)
    return (q if op == "divide" else x - q * y) & (1 << n) - 1


# --- runs ---------------------------------------------------------------------------------------------------------------------------
def packed(bits: Sequence[int], t: str) -> bytes:
    return b"".join(b.to_bytes(width(t) // 8, "little") for b in bits)


def kind_of(t: str) -> str:
    size = width(t) // 8
    return {"f16": "<f2", "f32": "<f4", "f64": "<f8", "bf16": "<u2"}.get(t, f"{'|' if size == 1 else '<'}{'i' if t[0] == 's' else 'u'}{size}")


def unpacked(data: bytes, t: str) -> List[int]:
    size = width(t) // 8
    return [int.from_bytes(data[i:i + size], "little") for i in range(0, len(data), size)]


def module(cases: Sequence[Case], n: int) -> str:
    parameters, body, outputs = [], [], []
    for k, c in enumerate(cases):
        names = []
        for _ in c.operands[0]:
            names.append(f"%p{len(parameters)}")
            parameters.append(f"{c.frm}[{n}]")
        if c.constant:
            body.append(f"  %k{k} = {c.type}[] constant({c.constant})\n  %b{k} = {c.type}[{n}] broadcast(%k{k}), dimensions={{}}")
            names.append(f"%b{k}")
        body.append(f"  %o{k} = {c.type}[{n}] {c.op}({', '.join(names)})")
        outputs.append(f"{c.type}[{n}]")
    types = f"({', '.join(outputs)})"
    signature = ", ".join(f"p{i}: {t}" for i, t in enumerate(parameters))
    made = "\n".join([*(f"  %p{i} = {t} parameter({i})" for i, t in enumerate(parameters)), *body])
    operands = ", ".join(f"%q{i}" for i in range(len(parameters)))
    return (f"HloModule values\n\n%f ({signature}) -> {types} {{\n{made}\n  ROOT %t = {types} tuple({', '.join(f'%o{k}' for k in range(len(cases)))})\n}}\n\n"
            f"ENTRY %main ({signature.replace('p', 'q')}) -> {types} {{\n" + "".join(f"  %q{i} = {t} parameter({i})\n" for i, t in enumerate(parameters)) +
            f"  ROOT %r = {types} fusion({operands}), kind=kLoop, calls=%f\n}}\n")


def run(warpburg: str, target: str, cases: Sequence[Case], folder: Path) -> Tuple[int, List[str]]:
    """(how many values are right, messages). The cases are outputs of one fusion, so shorter lists are padded with their first value."""
    n = max(len(c.operands) for c in cases)
    (folder / "values.hlo").write_text(module(cases, n))
    command = [warpburg, "run", str(folder / "values.hlo"), "--target", target, "-o", str(folder)]
    for i, column in enumerate([(c.frm, [row[k] for row in c.operands]) for c in cases for k in range(len(c.operands[0]))]):
        t, bits = column
        npy.write(folder / f"in{i}.npy", kind_of(t), (n,), packed(bits + [bits[0]] * (n - len(bits)), t))
        command += ["--input", str(folder / f"in{i}.npy")]
    p = subprocess.run(command, capture_output=True, text=True)
    if p.returncode:
        return 0, [f"{target}: {', '.join(c.op for c in cases)} at {cases[0].type}: {(p.stderr or p.stdout).strip()[:300]}"]
    right, said = 0, []
    for k, c in enumerate(cases):
        got = unpacked(npy.read(folder / f"out{k}.npy"), c.type)
        wrong = [i for i, want in enumerate(c.results) if not good(got[i], want, c.type)]
        right += len(c.results) - len(wrong)
        said += [f"{target}: {c.op} {c.type}({', '.join(f'{x:#x}' for x in c.operands[i])}{', ' + c.constant if c.constant else ''}) is {got[i]:#x}, "
                 f"{c.results[i]:#x} by {c.source}" if isinstance(c.results[i], int) else
                 f"{target}: {c.op} {c.type}({c.operands[i][0]:#x}) is {got[i]:#x}, "
                 f"not within its budget of {float(c.results[i][0])!r}: {c.source}" for i in wrong]
    return right, said


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("warpburg")
    parser.add_argument("--targets", default="sm_80,sm_90")
    parser.add_argument("--count", type=int, default=200, help="random values of each operation")
    args = parser.parse_args()
    rng = random.Random(9)
    groups: Dict[Tuple[str, bool], List[Case]] = {}
    for c in [*listed(), *rounded(args.count, rng), *divisions(rng)]:
        groups.setdefault((c.type, len(c.operands) > 64), []).append(c)
    passed, messages = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for target in args.targets.split(","):
            for cases in groups.values():
                for i in range(0, len(cases), OUTPUTS):
                    right, said = run(args.warpburg, target, cases[i:i + OUTPUTS], Path(folder))
                    passed += right
                    messages += said
    print("\n".join(messages[:200]))
    print(f"{passed} passed, {len(messages)} failed")
    return int(bool(messages))


if __name__ == "__main__":
    sys.exit(main())
