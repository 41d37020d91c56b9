"""Operations on floats for z3. A register holds bits; arithmetic converts them to z3's floats and back. z3 has a single nan with
undetermined bits, so two nans count as equal.

This is a second definition of the meanings of gen/semantics.py; tests/gen/test_prove.py compares the two. (Meanings compute 16-bit types
in float and round; that is the same as rounding once, since 24 >= 2 * 11 + 2.)
"""
from __future__ import annotations

from typing import Any, List

from gen import ops
from gen.proof.code import Ins, cls, width

try:
    import z3
except ImportError:
    z3 = None  # type: ignore[assignment]

SORTS = {"f16": (5, 11), "bf16": (8, 8), "f32": (8, 24), "f64": (11, 53)}


class Unsupported(Exception):
    """z3 cannot express the operation."""


def sort(t: str) -> Any:
    if t not in SORTS:
        raise Unsupported(t)
    return z3.FPSort(*SORTS[t])


def number(bits: Any, t: str) -> Any:
    return z3.fpBVToFP(bits, sort(t))


def is_nan(bits: Any, t: str) -> Any:
    return z3.fpIsNaN(number(bits, t))


def differ(left: Any, right: Any, t: str, zeros: bool) -> Any:
    """Whether the bits differ and not both are nan. zeros: 0 and -0 count as equal."""
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
    """Saturates; nan becomes 0."""
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


ONE_AT_0, NONE_AT_0 = ("exp", "exp2", "cos", "cosh"), ("expm1", "log1p")  # functions with f(0) = 1; with f(0) = 0 and the sign of the operand
EVEN, ODD = ("cos", "cosh"), ("sin", "tan", "sinh", "tanh", "asin", "atan", "asinh", "atanh", "cbrt", "erf", "trunc", "round_even", "round_afz")


def is_zero(x: Any) -> Any:
    return x << 1 == 0


def is_finite(x: Any, t: str) -> Any:
    fraction, w = SORTS[t][1] - 1, width(t)
    return z3.Extract(w - 2, fraction, x) != (1 << w - 1 - fraction) - 1


def zero_added(x: Any, zero: Any) -> Any:
    """x + zero, where zero is 0 or -0: x, but -0 only if both are -0."""
    return z3.If(is_zero(x), x & zero, x)


def ordered(x: Any, y: Any) -> List[Any]:
    """Two operands of a commutative operation, ordered by their values."""
    x, y = z3.simplify(x), z3.simplify(y)
    return [x, y] if x.eq(y) else [z3.If(z3.ULE(x, y), x, y), z3.If(z3.ULE(x, y), y, x)]


def opaque(i: Ins, args: List[Any]) -> Any:
    """An uninterpreted function of the operands, with properties that the operation has for all floats: products and sums commute, signs
    multiply, 0 and 1 are neutral, some functions are even, some odd. The sign of a nan is ignored."""
    t, w, name = i.type, width(i.type), i.op
    sign = z3.BitVecVal(1 << w - 1, w)
    of = lambda n, *xs: z3.Function(f"{n}.{t}.{i.frm}", *(x.sort() for x in xs), z3.BitVecSort(w))(*xs)
    if name == "cvt" and t in SORTS and i.frm in SORTS:
        least = 1 << width(i.frm) - 1
        return of(name, args[0] & least - 1) & ~sign | z3.If(args[0] & least != 0, sign, z3.BitVecVal(0, w))
    if name == "cvt" and t in SORTS and cls(i.frm) in "IUP":  # an integer converts to 0 only if it is 0, and then to +0
        return z3.If(args[0] == 0, z3.BitVecVal(0, w), zero_added(of(name, *args), z3.BitVecVal(0, w)))
    if name == "cvt" or t not in SORTS:
        return of(name, *args)
    size = [a & ~sign for a in args]
    if name in ("mul", "div"):
        one = z3.simplify(z3.fpToIEEEBV(z3.FPVal(1, sort(t))))
        any_of = of(name, *(ordered(*size) if name == "mul" else size)) & ~sign
        magnitude = any_of if name == "div" else z3.If(size[0] == one, size[1], z3.If(size[1] == one, size[0], any_of))
        return magnitude | (args[0] ^ args[1]) & sign
    if name in ("add", "sub"):
        x, y = args[0], args[1] ^ sign if name == "sub" else args[1]
        return z3.If(is_zero(x), zero_added(y, x), z3.If(is_zero(y), x, of("add", *ordered(x, y))))
    if name == "fma":
        product, none = (args[0] ^ args[1]) & sign, z3.Or(is_zero(args[0]), is_zero(args[1]))
        x, y = ordered(*size[:2])
        nothing = z3.And(none, is_finite(args[0], t), is_finite(args[1], t))
        third = z3.If(is_zero(args[2]), z3.BitVecVal(0, w), args[2])  # the sign of a zero matters only if the product is 0
        return z3.If(nothing, zero_added(args[2], product), of("fma", x, y, product, third))
    if name in ONE_AT_0:
        one = z3.simplify(z3.fpToIEEEBV(z3.FPVal(1, sort(t))))
        return z3.If(is_zero(args[0]), one, of(name, *(size if name in EVEN else args)))
    if name in NONE_AT_0:
        return z3.If(is_zero(args[0]), args[0], of(name, *args) & ~sign | args[0] & sign)
    if name == "hypot":
        return of(name, *ordered(*size))
    if name in ODD:
        return of(name, *size) & ~sign | args[0] & sign
    if name == "atan2":
        return of(name, size[0], args[1]) & ~sign | args[0] & sign
    return of(name, *args)


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
    if name == "copysign":
        return args[0] & ~sign | args[1] & sign
    if name == "saturate":
        x, one = number(args[0], t), z3.FPVal(1, sort(t))
        inside = z3.If(z3.fpLT(x, one), args[0], z3.fpToIEEEBV(one))
        return z3.If(z3.fpGT(x, z3.FPVal(0, sort(t))), inside, z3.BitVecVal(0, width(t)))
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
