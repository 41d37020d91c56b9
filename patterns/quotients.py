"""Quotients and square roots, correctly rounded: a quick way in f32, which is right but for odd values, and a long way in f64 for these.

The code that ptxas makes of div.rn and sqrt.rn tests whether an element is easy and calls a subroutine of 90 or 20 instructions for the
others, so that each element has a branch. Here all elements of a thread share one (src/vector/rare.c), or take the long way at once where
that takes less time (src/pipe/branch.c).

    div.f32(a, b)    quick: r = 1 / b of 23 bits, made nearest; q = a r; q' = q + r (a - b q)
                     long: r = 1 / b of 20 bits, a little small, q = a r, e = 1 - b r, q' = q + q (e + e^2), all in f64; q' in f32

The quick way: if r is nearest to 1 / b and a - b q is exact, q' is nearest to a / b. That was tried with every significand of b, every r that the
PTX manual allows, and each a whose quotient is next to a tie; the root with every significand and every r. The long way: a quotient that is
rounded to n bits is at a tie, or at least 2^-(2n+1) of itself away from one. So a result in a wider type with a smaller error, and exact where
the quotient has few bits, is rounded correctly. The machine's estimate has 21 bits, so q and e are exact, and q' is off by e^3 < 2^-54 before it
is rounded: a quotient of 24 bits is exact, and so is a tie of a subnormal one. r is below 1 / b, so e is positive: for a zero or infinite a the
result is q, with the right sign.
"""
from gen.lang import *

LARGER = 2.5 * 2.0**-20  # share added to the divisor, so that the estimate is below 1 / y: the upper word of y and the estimate are off by 2^-20
NEAR_3_8, NEAR_7_3 = float.fromhex('0x1.7fffdp-2'), float.fromhex('0x1.2aaacp+1')  # NEAR_3_8 (NEAR_7_3 - 1) is 1/2; low words 0, so both are immediates


def positive(t):
    """t, or 2^-17 where t is nan: there the estimate is zero or infinite, and so is the quotient. t is below 2^-18."""
    t = bits.u64.f64(t)
    upper = min.u32(cvt.u32.u64(shrlx.u64(t, 32)), 0x3ee00000)
    return bits.f64.u64(bor.u64(shlx.u64(cvt.u64.u32(upper), 32), band.u64(t, 0xffffffff)))


def guess(y, cube):
    """r and t such that 1 / y = r (1 + t), with an error of the cube or the square of 2^-18.1."""
    r = rcpz.f64(fma.f64(y, LARGER, y))
    e = fma.f64(neg.f64(y), r, 1.0)
    return r, positive(fma.f64(e, e, e) if cube else e)


def quotient(x, y, cube):
    r, t = guess(y, cube)
    q = mul.f64(x, r)
    return fma.f64(q, t, q)


def reciprocal(y):
    r, t = guess(y, True)
    return fma.f64(r, t, r)


def root(x):
    """With s = x r and e = 1 - s r, sqrt(x) = s (1 + e/2 + 3/8 e^2 + ..), and e^2 3/8 + e/2 = 3/8 e (e + 4/3). For 0, r is large and finite. For
    infinity the last bit of r makes it 2^-1074 rather than 0, so that s is infinite."""
    r = bits.f64.u64(bor.u64(bits.u64.f64(rsqrtz.f64(add.f64(x, 2.0**-1022))), 1))
    s = mul.f64(x, r)
    e, more = fma.f64(neg.f64(s), r, 1.0), fma.f64(neg.f64(s), r, NEAR_7_3)
    return fma.f64(mul.f64(mul.f64(s, NEAR_3_8), e), more, s)


# --- by f32, where a branch that is seldom taken leads to the formula in f64 ----------------------------------------------------------
INF = float('inf')
SMALL = 2.0**-100                       # beyond it remainders are exact, and results that are not subnormal


def all_of(x, y):
    return band.pred(x, y)


def unless(good):
    return bxor.pred(good, True)


def refined():
    """r nearest to 1 / b, or nearly: 1 / b (1 - e) (1 + e + e^2) is off by e^3. e^2 is below 2^-46, so a constant stands for it, which also moves r off
    the tie of 2^k / (2 - 2^-23)."""
    r = rcpz.f32(b)
    e = fma.f32(neg.f32(b), r, 1.0)
    return fma.f32(r, add.f32(e, 2.0**-46), r)


def divided():
    """q = a r, and q' = q + r (a - b q)."""
    r = refined()
    q = mul.f32(a, r)
    return q, fma.f32(r, fma.f32(neg.f32(b), q, a), q)


def quick_quotient():
    """bad: b or q' is out of range, or a is and is not 0. Where a is 0 the sign is right; but -0 goes the long way."""
    _, q = divided()
    zero = bor.u32(bits.u32.f32(a), band.u32(bits.u32.f32(q), 0x7f800000))      # 0: a is 0 and q is no nan
    return all_of(unless(ge.f32(min.f32(abs.f32(a), abs.f32(q)), SMALL)), ne.u32(zero, 0)), q


def quick_quotient_of_zeros():
    """The same where -0 goes the quick way, too, at one operation more: the sign of q, which q' has where it is not 0."""
    q, more = divided()
    zero = band.u32(bor.u32(bits.u32.f32(a), bits.u32.f32(more)), 0x7fffffff)
    signed = bor.u32(band.u32(bits.u32.f32(more), 0x7fffffff), band.u32(bits.u32.f32(q), 0x80000000))
    return all_of(unless(ge.f32(min.f32(abs.f32(a), abs.f32(more)), SMALL)), ne.u32(zero, 0)), bits.f32.u32(signed)


def quick_quotient_of_number():
    """bad: b or q' is out of range. a is a number: of 0 each q' is good, of one that is out of range none."""
    _, q = divided()
    least = select.f32(ge.f32(abs.f32(a), SMALL), SMALL, select.f32(eq.u32(bits.u32.f32(a), 0), 0.0, INF))
    return unless(ge.f32(abs.f32(q), least)), q


def quick_reciprocal():
    r = refined()
    q = fma.f32(r, fma.f32(neg.f32(b), r, 1.0), r)
    return unless(ge.f32(abs.f32(q), 2.0**-126)), q


def rooted(r):
    """sqrt(a) of r = 1 / sqrt(a), or nearly: s = a r and h = r / 2, both made more accurate by 1/2 - s h; s' = s + h (a - s s). r is -inf where a is a
    subnormal below 0: h has its magnitude, so that e is -inf and s nan."""
    s, h = mul.f32(a, r), mul.f32(abs.f32(r), 0.5)
    e = fma.f32(neg.f32(s), h, 0.5)
    s, h = fma.f32(s, e, s), fma.f32(h, e, h)
    return fma.f32(h, fma.f32(neg.f32(s), s, a), s)


def quick_root():
    """bad: nan, zero, negative, infinite, or out of range."""
    s = rooted(rsqrtz.f32(a))
    return unless(ge.f32(s, 2.0**-50)), s


def quick_root_of_zeros():
    """The same where 0 goes the quick way, too, at three operations more: 2^-126 changes no number that is not bad."""
    s = rooted(rsqrtz.f32(add.f32(a, 2.0**-126)))
    return all_of(unless(ge.f32(s, 2.0**-50)), unless(eq.f32(a, 0.0))), s


def quick_half():
    """a / b of bf16: a r is near enough, but where the result is subnormal and may be at a tie. bad: such a result, infinity, nan, or 0 unless a is."""
    x = cvt.f32.bf16(a)
    q = mul.f32(x, rcpz.f32(cvt.f32.bf16(b)))
    size = fma.f32(q, 0.0, abs.f32(q))                                          # nan of infinity
    zero = band.u32(bor.u32(bits.u32.f32(x), bits.u32.f32(size)), 0x7fffffff)   # 0: x is 0, of any sign, and size is no nan
    return all_of(unless(ge.f32(size, 2.0**-125)), ne.u32(zero, 0)), q


def half_reciprocal():
    """1 / b of bf16, no b of which has a reciprocal near a tie: scaled, so that neither is subnormal."""
    y = cvt.f32.bf16(b)
    scale = select.f32(lt.f32(abs.f32(y), 1.0), 2.0**64, 2.0**-64)
    return mul.f32(rcpz.f32(mul.f32(y, scale)), scale)


# By a number of which gen/reciprocals.py says that two products are enough: one rounding, and zeros and infinities have their sign
TINY = 2.0**-80                         # below it the lower product may be subnormal, or the quotient


def reciprocal_in_parts():
    """1 / b towards 0, and the rest: both of the sign of b, and exact but for the last rounding."""
    near = div.f32(1.0, b)
    above = lt.f32(fma.f32(neg.f32(b), near, 1.0), 0.0)
    high = bits.f32.u32(sub.u32(bits.u32.f32(near), select.u32(above, 1, 0)))
    return high, div.f32(fma.f32(neg.f32(b), high, 1.0), b)


def by_number(x):
    high, low = reciprocal_in_parts()
    return fma.f32(x, high, mul.f32(x, low))


def quick_by_number():
    return all_of(lt.f32(abs.f32(a), TINY), ne.f32(a, 0.0)), by_number(a)


def rarely(of, long):
    bad, quick = of
    return select.f32.rare(bad, long, quick)


HALVES = [
    rewrite(div.bf16(1.0, b),    cvt.bf16.f32(half_reciprocal()),                                                           when=~approx),
    rewrite(div.bf16(a, b),      cvt.bf16.f32(rarely(quick_half(), cvt.f32.f64(quotient(cvt.f64.bf16(a), cvt.f64.bf16(b), False)))), when=~approx),
]
NUMBERS = [
    rewrite(div.f32(cvt.f32.f16(a), b), by_number(cvt.f32.f16(a)),                                              when=reciprocal_in_two(b) & ~approx),
    rewrite(div.f32(a, b),       by_number(a),                  when=reciprocal_in_two(b) & integral(a) & ~approx),
    rewrite(div.f32(a, b),       rarely(quick_by_number(), cvt.f32.f64(quotient(cvt.f64.f32(a), cvt.f64.f32(b), True))),
            when=reciprocal_in_two(b) & ~approx & ~few_warps),
]
RECIPROCAL = NUMBERS + [
    rewrite(div.f32(1.0, b),     rarely(quick_reciprocal(), cvt.f32.f64(reciprocal(cvt.f64.f32(b)))),                       when=~approx & ~few_warps),
]
OF_NUMBER = [
    rewrite(div.f32(a, b),       rarely(quick_quotient_of_number(), cvt.f32.f64(quotient(cvt.f64.f32(a), cvt.f64.f32(b), True))),
            when=literal(a) & ~approx & ~few_warps),
]
# For machines with instructions for a minimum that keeps nan, and bf16, whose f64 is slow: one -0 in a warp, as masked gradients have, or one 0 under a root
# would take it the long way, some 600 clocks
QUICK = HALVES + RECIPROCAL + OF_NUMBER + [
    rewrite(div.f32(a, b),       rarely(quick_quotient_of_zeros(), cvt.f32.f64(quotient(cvt.f64.f32(a), cvt.f64.f32(b), True))), when=~approx & ~few_warps),
    rewrite(sqrt.f32(a),         rarely(quick_root_of_zeros(), cvt.f32.f64(root(cvt.f64.f32(a)))),                          when=~approx & ~few_warps),
]
# For such machines with f64 at half the speed of f32. Issue slots of a lane, of 16 that share a branch: 10, 5, 9; 6 for each further quotient by the same
# divisor
VIA_F64 = HALVES + RECIPROCAL + OF_NUMBER + [
    rewrite(div.f32(a, b),       rarely(quick_quotient(), cvt.f32.f64(quotient(cvt.f64.f32(a), cvt.f64.f32(b), True))),     when=~approx & ~few_warps),
    rewrite(sqrt.f32(a),         rarely(quick_root(), cvt.f32.f64(root(cvt.f64.f32(a)))),                                   when=~approx & ~few_warps),
]
