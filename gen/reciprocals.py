"""Numbers by which an f32 is divided with two products: the reciprocal in two parts, high and low, of its sign, and a / b = a * high + a * low, rounded once.

With high rounded towards 0 and low to nearest, a * high + a * low is off by less than 2^-46 of the quotient before it is rounded. Only quotients that are
so near to a midpoint between two floats can be wrong. Of significands a and b of 24 bits these have |a 2^k - b m| <= 8 with an odd m, and k is 24 where
a >= b, else 25; so a = d 2^-k modulo b for some d of -8 .. 8. These dividends are tried. A number that 8 divides more than once has none.

    255, 0.1, 1.4142135 are such numbers, 0.7 is none, and one in ten of those that are odd multiples of their last bit is none
"""
from __future__ import annotations

from fractions import Fraction
from math import frexp, ldexp
from typing import Tuple

MOST = 8     # of |a 2^k - b m|
RANGE = 20   # exponents of such a number: 2^-20 .. 2^20


def nearest(x: Fraction) -> Fraction:
    """To 24 bits, to even."""
    unit = Fraction(2) ** (x.numerator.bit_length() - x.denominator.bit_length() - 24)
    unit *= 1 + (x >= unit * 2**24)
    return round(x / unit) * unit


def in_two(value: float) -> bool:
    """As reciprocal_in_two of src/rewrite/guards.c."""
    if not 2.0**-RANGE <= abs(value) <= 2.0**RANGE or abs(frexp(value)[0]) == 0.5:
        return False
    b = int(frexp(abs(value))[0] * 2**24)
    high = Fraction(2**47 // b, 2**47)
    low = nearest(Fraction(1, b) - high)
    zeros = (b & -b).bit_length() - 1
    odd = b >> zeros
    for k in (24, 25):
        for d in (d for d in range(-MOST, MOST + 1) if d and d % (1 << zeros) == 0):
            first = (d >> zeros) % odd
            for _ in range(k - zeros):
                first = (first + odd * (first & 1)) >> 1
            for a in range(first, 1 << 24, odd):
                if a >= 1 << 23 and nearest(a * high + nearest(a * low)) != nearest(Fraction(a, b)):
                    return False
    return True


def some() -> Tuple[float, ...]:
    """For proofs: of every exponent and of many significands, of each length."""
    found = (ldexp((1 << 23 | n * 2654435761 % (1 << 23)) >> n % 24 << n % 24, n % (2 * RANGE) - RANGE - 23) * (-1) ** (n // 7) for n in range(1, 400))
    return tuple(x for x in (255.0, 13.0, 3.0, 7.5, *found) if in_two(x))


__all__ = ["in_two", "some"]
