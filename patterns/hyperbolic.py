"""sinh, cosh, asinh, acosh, atanh: by the exponential and the logarithm of polynomials.py and doubles.py, whose arguments are made without cancellation.

Needs the machine's fma and its functions with z; leaves lists that functions.py and targets take. The coefficients of f32 are from
coefficients/f32.txt, those of f64 are of doubles.py. The comment at each rule is its number of SASS instructions (sm_80, as a rule on all), then
libdevice's. sinh and cosh of f32 have one more, because libdevice's take ex2, which by the PTX manual misses their budgets (4.8 units); theirs are more of
xu, ours of fma: of large arrays 1.008 and 1.001 of the time on sm_80, 0.99 on sm_90.

    acosh(a)   t = a - 1, h = (t + sqrt(t^2 + 2 t)) / 2, log(1 + 2 h)
"""
from gen.lang import *
from patterns import doubles
from patterns.doubles import EXP, log_near, parted, power_of_two, reduced
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


# --- f64 -----------------------------------------------------------------------------------------------------------------------------------
def eighth_range(a):
    """|a|, but for what is above where sinh and cosh overflow; nan stays. e^|a| / 8 is finite there."""
    return select.f64(gt.f64(abs.f64(a), 710.9), 710.9, abs.f64(a))


INFINITE, COSH_LARGEST = 0x7ff << 52, 0x408633ce8fb9f87d                       # bits of infinity, and of the largest number whose cosh is finite


def inverse(d):
    """1 / d, off by rounding errors alone; 0 where d is large."""
    y = rcpz.f64(d)
    e = fma.f64(neg.f64(d), y, 1.0)
    return fma.f64(y, fma.f64(e, e, e), y)


def root_of(x):
    """With s = x / sqrt(x), or nearly, and e = 1 - s / sqrt(x), the root is s (1 + e/2 + 3/8 e^2 + ..)."""
    r = rsqrtz.f64(x)
    s = mul.f64(x, r)
    e = fma.f64(neg.f64(s), r, 1.0)
    return fma.f64(s, mul.f64(e, fma.f64(e, 0.375, 0.5)), s)


def cosh_of_f64(a):
    """With h = e^|a| / 2, h + 1 / (4 h). h is below 2^1024 where the result is, as n = 1025 has no positive r there; beyond, infinity, or nan."""
    size = bits.u64.f64(abs.f64(a))
    n, r, _ = reduced(abs.f64(a))
    half = doubles.times_power_of_two(doubles.horner(r, EXP), sub.i32(n, 1))
    beyond = select.u64(gt.u64(size, INFINITE), size, INFINITE)
    return select.f64(gt.u64(size, COSH_LARGEST), bits.f64.u64(beyond), fma.f64(inverse(half), 0.25, half))


def sinh_of_f64(a):
    """x = (e^|a| - 1) / 8 as the sum of two, and 4 x + q / 2 with q = x / (x + 1/8), corrected by its remainder."""
    n, r, off = reduced(eighth_range(a))
    power = power_of_two(sub.i32(n, 3))
    large, small = sub.f64(power, 0.125), mul.f64(power, r)
    first = add.f64(large, small)
    left = add.f64(sub.f64(large, first), small)
    rest = fma.f64(power, fma.f64(doubles.horner(r, EXP[2:]), mul.f64(r, r), fma.f64(off, r, off)), left)
    x = add.f64(first, rest)
    more = sub.f64(rest, sub.f64(x, first))
    d = add.f64(x, 0.125)
    y = inverse(d)
    q = mul.f64(x, y)
    missing = fma.f64(neg.f64(q), add.f64(sub.f64(0.125, d), x), fma.f64(neg.f64(d), q, x))
    four = mul.f64(x, 4.0)
    sum = fma.f64(q, 0.5, four)
    less = fma.f64(q, 0.5, sub.f64(four, sum))
    low_part = fma.f64(more, fma.f64(mul.f64(y, y), 0.0078125, 4.0), fma.f64(mul.f64(missing, y), 0.5, less))
    return select.f64(lt.f64(abs.f64(a), 2.0**-28), a, copysign.f64(select.f64(lt.f64(sum, doubles.INF), add.f64(sum, low_part), sum), a))


def log1p_of_sum(w, more=None, twos=None):
    """log(1 + w + more), and the multiple of log(2)."""
    u = add.f64(w, 1.0)
    k, m = parted(u)
    near = eq.i32(k, 0)
    rest = sub.f64(w, sub.f64(u, 1.0))
    off = select.f64(near, 0.0, rest) if more is None else select.f64(near, more, add.f64(rest, more))
    return log_near(select.f64(near, w, sub.f64(m, 1.0)), k if twos is None else add.i32(k, twos), mul.f64(off, cvt.f64.f32(rcpz.f32(cvt.f32.f64(u)))))


def asinh_of_f64(a):
    """log(1 + |a| + a^2 / (1 + sqrt(1 + a^2))); beyond 2^60 log(|a|) + log(2)."""
    size = abs.f64(a)
    q = mul.f64(size, inverse(add.f64(root_of(fma.f64(size, size, 1.0)), 1.0)))
    far = gt.f64(size, 2.0**60)
    out = log1p_of_sum(select.f64(far, size, fma.f64(size, q, size)), None, select.i32(far, 1, 0))
    return select.f64(lt.f64(size, doubles.INF), copysign.f64(out, a), a)


def acosh_of_f64(a):
    """With t = a - 1, log(1 + t + sqrt(t^2 + 2 t)), with the rounding error of the sum; beyond 2^60 log(a) + log(2). The root of 0 is nan, but that of 1 is
    not asked for."""
    t = sub.f64(a, 1.0)
    root = root_of(fma.f64(t, t, add.f64(t, t)))
    far = gt.f64(a, 2.0**60)
    w = add.f64(root, t)
    more = sub.f64(t, sub.f64(w, root))
    out = log1p_of_sum(select.f64(far, a, w), select.f64(far, 0.0, more), select.i32(far, 1, 0))
    return select.f64(gt.f64(a, 1.0), select.f64(lt.f64(a, doubles.INF), out, a), select.f64(eq.f64(a, 1.0), 0.0, doubles.NAN))


def atanh_of_f64(a):
    """log(1 + w) / 2 with w = 2 |a| + 2 |a| |a| / (1 - |a|)."""
    size = abs.f64(a)
    twice, q = add.f64(size, size), mul.f64(size, inverse(sub.f64(1.0, size)))
    out = mul.f64(log1p_of_sum(fma.f64(twice, q, twice)), 0.5)
    return copysign.f64(select.f64(lt.f64(size, 1.0), out, select.f64(eq.f64(size, 1.0), doubles.INF, doubles.NAN)), a)


# Where an operation of f64 takes as long as one of f32: it has 50 of them, libdevice's 39, and a branch. Of large arrays it takes 0.89 of libdevice's time on
# sm_90, 1.12 on sm_80, whose f64 has half the rate
FAST = [
    rewrite(sinh.f64(a),                     sinh_of_f64(a)),         # 92, 117
]
WITHOUT_LLVM = [
    rewrite(sinh.f64(a),                     sinh_of_f64(a),                 when=no_llvm),
]
F64 = [
    rewrite(cosh.f64(a),                     cosh_of_f64(a)),         # 36, 35 (58, 57; 117, 115), in 0.97 to 1.00 of the time
    rewrite(asinh.f64(a),                    asinh_of_f64(a)),        # 74, 116 (90, 153; sm_120: 263, 359)
    rewrite(acosh.f64(a),                    acosh_of_f64(a)),        # 76, 106 (92, 138; 268, 302)
    rewrite(atanh.f64(a),                    atanh_of_f64(a)),        # 63, 120 (79, 156; 232, 359)
]
