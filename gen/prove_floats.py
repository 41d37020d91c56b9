"""What operations on floats mean to z3. A register holds bits; arithmetic goes through z3's floats and comes back as bits, where z3 has one
nan and leaves its bits open: sides that are both nan are equal.

This is a second reading of gen/semantics.py (an operation of 16 bits, taken in float and rounded, is rounded once: 24 >= 2 * 11 + 2);
tests/gen/test_prove.py holds it against the first.
"""
from __future__ import annotations

from typing import Any, List

from gen import ops
from gen.prove_terms import Ins, cls, width

try:
    import z3
except ImportError:
    z3 = None  # type: ignore[assignment]

SORTS = {"f16": (5, 11), "bf16": (8, 8), "f32": (8, 24), "f64": (11, 53)}
COMMUTE = ("add", "mul", "fma")


class Unsupported(Exception):
    """z3 has no such function."""


def sort(t: str) -> Any:
    if t not in SORTS:
        raise Unsupported(t)
    return z3.FPSort(*SORTS[t])


def number(bits: Any, t: str) -> Any:
    return z3.fpBVToFP(bits, sort(t))


def is_nan(bits: Any, t: str) -> Any:
    return z3.fpIsNaN(number(bits, t))


def differ(left: Any, right: Any, t: str, zeros: bool) -> Any:
    """Other bits, and not both nan; the sign of a zero may be free."""
    alike = [z3.And(is_nan(left, t), is_nan(right, t))]
    if zeros:
        alike.append(z3.And(z3.fpIsZero(number(left, t)), z3.fpIsZero(number(right, t))))
    return z3.And(left != right, z3.Not(z3.Or(*alike)))


def truth(b: Any) -> Any:
    return z3.If(b, z3.BitVecVal(1, 8), z3.BitVecVal(0, 8))


def extreme(a: Any, b: Any, t: str, most: bool) -> Any:
    """max and min: nan if either is, -0 below +0."""
    x, y = number(a, t), number(b, t)
    first = z3.fpGT(x, y) if most else z3.fpLT(x, y)
    second = z3.fpLT(x, y) if most else z3.fpGT(x, y)
    return z3.If(z3.fpIsNaN(x), a, z3.If(z3.fpIsNaN(y), b, z3.If(first, a, z3.If(second, b, a & b if most else a | b))))


def from_integer(bits: Any, to: str, frm: str) -> Any:
    if frm == "pred":
        bits = z3.Extract(1, 0, z3.ZeroExt(8, bits))
        return z3.fpToIEEEBV(z3.fpToFPUnsigned(z3.RNE(), bits, sort(to)))
    convert = z3.fpSignedToFP if cls(frm) == "I" else z3.fpUnsignedToFP
    return z3.fpToIEEEBV(convert(z3.RNE(), bits, sort(to)))


def to_integer(bits: Any, to: str, frm: str) -> Any:
    """Saturates; nan is 0."""
    x, n, signed = number(bits, frm), width(to), cls(to) == "I"
    top = z3.fpToFP(z3.RNE(), z3.RealVal(2 ** (n - signed)), sort(frm))
    least = z3.fpToFP(z3.RNE(), z3.RealVal(-(2 ** (n - 1)) if signed else 0), sort(frm))
    low = z3.BitVecVal(1 << n - 1 if signed else 0, n)
    high = z3.BitVecVal((1 << n - signed) - 1, n)
    inside = z3.fpToSBV(z3.RTZ(), x, z3.BitVecSort(n)) if signed else z3.fpToUBV(z3.RTZ(), x, z3.BitVecSort(n))
    return z3.If(z3.fpIsNaN(x), z3.BitVecVal(0, n), z3.If(z3.fpLEQ(x, least), low, z3.If(z3.fpGEQ(x, top), high, inside)))


def conversion(i: Ins, a: Any) -> Any:
    if i.type == i.frm:
        return a
    if i.type == "pred":
        return truth(z3.Not(z3.fpIsZero(number(a, i.frm))))
    if cls(i.frm) != "F":
        return from_integer(a, i.type, i.frm)
    if cls(i.type) != "F":
        return to_integer(a, i.type, i.frm)
    return z3.fpToIEEEBV(z3.fpFPToFP(z3.RNE(), number(a, i.frm), sort(i.type)))


def opaque(i: Ins, args: List[Any]) -> Any:
    """Any function of these operands; of products and sums, in any order."""
    if i.op in COMMUTE:
        args = sorted(args[:2], key=lambda x: x.get_id()) + args[2:]
    return z3.Function(f"{i.op}.{i.type}.{i.frm}", *(a.sort() for a in args), z3.BitVecSort(width(i.type)))(*args)


def scalar(i: Ins, args: List[Any], abstract: bool) -> Any:
    t, name = i.type, i.op
    if name == "cvt":
        return opaque(i, args) if abstract and t != "pred" else conversion(i, args[0])
    xs = [number(a, t) for a in args]
    if ops.OP_BY_NAME[name].sig == "compare":
        return truth({"eq": z3.fpEQ, "ne": z3.fpNEQ, "lt": z3.fpLT, "le": z3.fpLEQ, "gt": z3.fpGT, "ge": z3.fpGEQ}[name](*xs))
    sign = z3.BitVecVal(1 << width(t) - 1, width(t))
    if name in ("neg", "abs"):
        return args[0] ^ sign if name == "neg" else args[0] & ~sign
    if name in ("max", "min"):
        return extreme(args[0], args[1], t, name == "max")
    if name == "is_finite":
        return truth(z3.Not(z3.Or(z3.fpIsNaN(xs[0]), z3.fpIsInf(xs[0]))))
    if name == "sign":
        one = z3.fpToIEEEBV(z3.FPVal(1, sort(t)))
        return z3.If(z3.fpGT(xs[0], z3.FPVal(0, sort(t))), one, z3.If(z3.fpLT(xs[0], z3.FPVal(0, sort(t))), one | sign, args[0]))
    if abstract:
        return opaque(i, args)
    rounded = {"floor": z3.RTN, "ceil": z3.RTP, "trunc": z3.RTZ, "round_even": z3.RNE, "round_afz": z3.RNA}
    arithmetic = {"add": z3.fpAdd, "sub": z3.fpSub, "mul": z3.fpMul, "div": z3.fpDiv, "fma": z3.fpFMA, "sqrt": z3.fpSqrt}
    if name in rounded:
        return z3.fpToIEEEBV(z3.fpRoundToIntegral(rounded[name](), xs[0]))
    if name in arithmetic:
        return z3.fpToIEEEBV(arithmetic[name](z3.RNE(), *xs))
    raise Unsupported(name)
