"""Floats of any format in exact arithmetic: a value is a fraction, an infinity, a nan or -0, and a result is rounded once.

    encode(BF16, Fraction(257, 256))        # 0x3f80: ties to even
    add(F32, Fraction(1), Fraction(-1), "rm")   # 0x80000000: -0
"""
from fractions import Fraction
from math import isqrt
from typing import NamedTuple, Union

Value = Union[str, Fraction]  # "nan", "inf", "-inf", "-0" or a number


class Format(NamedTuple):
    bits: int
    precision: int
    least: int      # exponent of the smallest normal
    infinite: bool  # has infinities
    nan: int

    def largest(self) -> int:
        every = (1 << (self.bits - 1)) - 1
        return every & ~((1 << (self.precision - 1)) - 1) - 1 if self.infinite else every - (self.nan == every and self.bits == 8)


F16, BF16 = Format(16, 11, -14, True, 0x7fff), Format(16, 8, -126, True, 0x7fff)
F32, F64 = Format(32, 24, -126, True, 0x7fffffff), Format(64, 53, -1022, True, 0x7fffffffffffffff)
E4M3, E5M2 = Format(8, 4, -6, False, 0x7f), Format(8, 3, -14, True, 0x7f)
E2M1, E2M3, E3M2 = Format(4, 2, 0, False, 7), Format(6, 4, 0, False, 31), Format(6, 3, -2, False, 31)
MODES = ("rn", "rz", "rm", "rp")


def decode(f: Format, bits: int) -> Value:
    sign, rest = bits >> (f.bits - 1) & 1, bits & ((1 << (f.bits - 1)) - 1)
    field, fraction = rest >> (f.precision - 1), rest & ((1 << (f.precision - 1)) - 1)
    if f.infinite and rest >> (f.precision - 1) == (1 << (f.bits - f.precision)) - 1:
        return "nan" if fraction else "-inf" if sign else "inf"
    if f == E4M3 and rest == 0x7f:
        return "nan"
    whole = fraction | (1 << (f.precision - 1) if field else 0)
    v = Fraction(whole) * Fraction(2) ** ((field or 1) - 1 + f.least - (f.precision - 1))
    return "-0" if sign and not v else -v if sign else v


def encode(f: Format, v: Value, mode: str = "rn", zero: int = 0) -> int:
    """The bits of a value, rounded; `zero`: the sign of a result that is exactly 0."""
    top = 1 << (f.bits - 1)
    beyond = f.largest() + 1 if f.infinite else f.nan
    if v == "nan":
        return f.nan
    if v in ("inf", "-inf"):
        return beyond | (top if v == "-inf" else 0)
    if v == "-0" or v == 0:
        return top if v == "-0" or zero else 0
    sign, v = v < 0, abs(v)
    exponent = max(log2(v), f.least)
    unit = Fraction(2) ** (exponent - (f.precision - 1))
    n = round_whole(v / unit, mode, sign)
    bits = n + (((exponent - f.least) << (f.precision - 1)) if exponent > f.least else 0)
    if bits > f.largest():
        away = mode in ("rn", "rna") or (mode == "rm" and sign) or (mode == "rp" and not sign)
        bits = beyond if away else f.largest()
    return bits | (top if sign else 0)


def log2(v: Fraction) -> int:
    e = v.numerator.bit_length() - v.denominator.bit_length()
    return e if Fraction(2) ** e <= v else e - 1


def round_whole(v: Fraction, mode: str, negative: bool = False) -> int:
    """Rounds a magnitude to an integer; `negative`: whether the value is negative."""
    low, rest = v.numerator // v.denominator, v - v.numerator // v.denominator
    if mode == "rn":
        return low + (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and low & 1))
    if mode == "rna":
        return low + (rest >= Fraction(1, 2))
    return low + (rest > 0 and mode == ("rm" if negative else "rp"))


def number(v: Value) -> Fraction:
    return Fraction(0) if v == "-0" else v


def negative(v: Value) -> bool:
    return v in ("-0", "-inf") or (not isinstance(v, str) and v < 0)


def fma(f: Format, a: Value, b: Value, c: Value, mode: str) -> int:
    inf = ("inf", "-inf")
    if "nan" in (a, b, c):
        return f.nan
    sign = negative(a) != negative(b)
    if a in inf or b in inf:
        if (a not in inf and number(a) == 0) or (b not in inf and number(b) == 0) or (c in inf and negative(c) != sign):
            return f.nan
        return encode(f, "-inf" if sign else "inf")
    if c in inf:
        return encode(f, c)
    product, total = number(a) * number(b), number(a) * number(b) + number(c)
    if total:
        return encode(f, total, mode)
    if not product:
        return encode(f, Fraction(0), zero=sign if sign == negative(c) else mode == "rm")
    return encode(f, Fraction(0), zero=mode == "rm")


def mul(f: Format, a: Value, b: Value, mode: str) -> int:
    sign = (not isinstance(a, str) or a != "nan") and negative(a) != negative(b)
    return fma(f, a, b, "-0" if sign else Fraction(0), mode)


def add(f: Format, a: Value, b: Value, mode: str) -> int:
    return fma(f, a, Fraction(1), b, mode)


def flip(v: Value) -> Value:
    if v == "nan":
        return v
    if v in ("inf", "-inf"):
        return "inf" if v == "-inf" else "-inf"
    return Fraction(0) if v == "-0" else "-0" if v == 0 else -v


def div(f: Format, a: Value, b: Value, mode: str) -> int:
    inf = ("inf", "-inf")
    if "nan" in (a, b) or (a in inf and b in inf):
        return f.nan
    sign = negative(a) != negative(b)
    if a in inf or (b not in inf and number(b) == 0):
        return f.nan if a not in inf and number(a) == 0 else encode(f, "-inf" if sign else "inf")
    if b in inf or number(a) == 0:
        return encode(f, Fraction(0), zero=sign)
    return encode(f, number(a) / number(b), mode)


def sqrt(f: Format, a: Value, mode: str) -> int:
    if a == "nan" or (negative(a) and a != "-0"):
        return f.nan
    if a in ("inf", "-0") or a == 0:
        return encode(f, a)
    shift = 2 * (f.precision + 4 + abs(log2(a)))  # an even exponent that gives the root enough bits, and a sticky bit below them
    scaled = a * Fraction(2) ** shift
    root = isqrt(scaled.numerator // scaled.denominator)
    exact = root * root == scaled
    return encode(f, Fraction(2 * root + (not exact), 2) * Fraction(2) ** (-shift // 2), mode)


def flush(v: Value) -> Value:
    small = not isinstance(v, str) and v != 0 and abs(v) < Fraction(2) ** -126
    return ("-0" if v < 0 else Fraction(0)) if small else v


def flushed(bits: int) -> int:
    return bits if bits & 0x7f800000 else bits & 0x80000000
