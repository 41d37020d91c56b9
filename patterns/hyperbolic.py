"""sinh, cosh, asinh, acosh, atanh of f32: by the exponential and the logarithm of polynomials.py, whose arguments are made without cancellation.

Needs the machine's fma and its functions with z; leaves a list that functions.py takes. The coefficients are from coefficients/f32.txt. The comment at
each rule is its number of SASS instructions (sm_80, sm_90, sm_120), then libdevice's. sinh and cosh have one more, because libdevice's take ex2, which
by the PTX manual misses their budgets (4.8 units); theirs are more of xu, ours of fma: of large arrays 1.008 and 1.001 of the time on sm_80, 0.99 on sm_90.

    acosh(a)   t = a - 1, h = (t + sqrt(t^2 + 2 t)) / 2, log(1 + 2 h)
"""
from gen.lang import *
from patterns.polynomials import (EXPONENT, INF, LN_2, LN_2_LOW, LOG2_E, ONE, ROUND, hexadecimal, horner, log_of_1_and, log_of_sum,
                                  power_of_2, sign_of, with_sign)

SINH = hexadecimal('0x1.555598p-3 0x1.10f768p-7 0x1.ab3fdp-13')
TWICE_EXP = hexadecimal('0x1.fffffap-1 0x1.555492p-2 0x1.555a26p-4 0x1.123988p-6 0x1.694cd4p-9')
HIGHEST = 129                                # e^|a| / 2 is beyond the largest number from 2^129 on


def half_exp(a):
    """e^|a| / 2: 2 e^r by a polynomial, because ex2 alone may be off by more than the budget of cosh, times 2^(n-2). Where n would be above HIGHEST, r
    is large, and the result infinite; nan has n = 0 and r = nan."""
    t = saturate.f32(fma.f32(abs.f32(a), LOG2_E / HIGHEST, 0.0))
    j = fma.f32(t, float(HIGHEST), ROUND + ONE - 2)
    n = sub.f32(j, ROUND + ONE - 2)
    r = fma.f32(n, -LN_2_LOW, fma.f32(n, -LN_2, abs.f32(a)))
    return mul.f32(horner(r, [2.0, 2.0] + TWICE_EXP), power_of_2(j))


def cosh_of(a):
    half = half_exp(a)
    return fma.f32(rcpz.f32(half), 0.25, half)


def sinh_of(a):
    """Below 1, where the two halves would cancel, a polynomial."""
    half, square = half_exp(a), mul.f32(a, a)
    large = with_sign(fma.f32(rcpz.f32(half), -0.25, half), sign_of(a))
    return select.f32(lt.f32(abs.f32(a), 1.0), fma.f32(mul.f32(horner(square, SINH), square), a, a), large)


def log_of_1_and_twice(h):
    """log(1 + 2 h) for h >= 0, where 2 h may be beyond the largest number: 1 + 2 h = 2^k (1 + f), and 2^(1-k) is subnormal at last."""
    k = band.i32(sub.i32(bits.i32.f32(add.f32(h, 0.5)), 0x3ec00001), EXPONENT)
    scale = mul.f32(bits.f32.i32(sub.i32(0x41000000, k)), 0.25)
    f = fma.f32(h, scale, fma.f32(scale, 0.5, -1.0))
    return fma.f32(cvt.f32.i32(k), LN_2 * 2.0**-23, log_of_1_and(f))


def asinh_of(a):
    """h = |a| / 2 (1 + q) with q = |a| / (1 + sqrt(1 + a^2)), which from 2^21 on is as good as 1, and below it by more than rcp and rsqrt may be off, so
    that h is finite. Where a is small, a itself: h would lose the last bit of a subnormal number."""
    size = abs.f32(a)
    cut = min.f32(size, 2.0**21)
    square = fma.f32(cut, cut, 1.0)
    q = mul.f32(cut, rcpz.f32(fma.f32(square, rsqrtz.f32(square), 1.0)))
    half = mul.f32(size, 0.5)
    log = with_sign(log_of_1_and_twice(fma.f32(half, q, half)), sign_of(a))
    return select.f32(band.pred(gt.f32(size, 2.0**-12), lt.f32(size, INF)), log, a)


def acosh_of(a):
    """The root is made more accurate by its remainder; beyond 2^60 it is t. Without 2^-126, which changes no other square, that of t = 0 would have a root
    of nan. Of a negative t the square is negative, too, and the root nan."""
    t = sub.f32(a, 1.0)
    square = fma.f32(abs.f32(t), t, add.f32(t, t))
    r = rsqrtz.f32(add.f32(square, 2.0**-126))
    s = mul.f32(square, r)
    root = fma.f32(fma.f32(neg.f32(s), s, square), mul.f32(r, 0.5), s)
    h = fma.f32(t, 0.5, mul.f32(select.f32(lt.f32(t, 2.0**60), root, t), 0.5))
    return select.f32(lt.f32(h, INF), log_of_1_and_twice(h), h)


def atanh_of(a):
    """log(1 + u) / 2 with u = 2 |a| / (1 - |a|) = 2 |a| + 2 |a| |a| / (1 - |a|): so a small a is exact. From 1 on, the machine's logarithm is inf or nan."""
    size = abs.f32(a)
    rest, twice = sub.f32(1.0, size), add.f32(size, size)
    u = fma.f32(twice, mul.f32(size, rcpz.f32(rest)), twice)
    half = mul.f32(log_of_sum(u)[0], 0.5)
    return with_sign(select.f32(lt.f32(size, 1.0), half, abs.f32(log2z.f32(rest))), sign_of(a))


F32 = [
    rewrite(sinh.f32(a),                     sinh_of(a)),             # 26, 25
    rewrite(cosh.f32(a),                     cosh_of(a)),             # 17, 16
    rewrite(asinh.f32(a),                    asinh_of(a)),            # 33, 42
    rewrite(acosh.f32(a),                    acosh_of(a)),            # 35, 43
    rewrite(atanh.f32(a),                    atanh_of(a)),            # 31, 38
]
