"""Functions of f64 by polynomials, for those that are as short as libdevice's and no further off: each within one unit in the last place.
Coefficients are those of coefficients/f64.sollya, in hexadecimal; nothing branches, and what is beyond the range is chosen last."""
from gen.lang import *

INF = float('inf')
LOG2_E = float.fromhex('0x1.71547652b82fep0')
LN_2 = float.fromhex('0x1.62e42fefa38p-1'), float.fromhex('0x1.ef35793c7673p-45')       # in two parts, the first of 42 bits
NAN = bits.f64.i64(0x7ff8 << 48)
ONE, ROOT_HALF = 0x3ff0 << 48, 0x3fe6a09e667f3bcd     # bits of 1 and of the square root of a half
WHOLE = 1.5 * 2.0**52                        # what is added to it is rounded to an integer, which stands in its low word

EXP = [float.fromhex(x) for x in (
    '0x1p0', '0x1p0', '0x1.000000000000ap-1', '0x1.55555555554fep-3', '0x1.55555555506bcp-5', '0x1.1111111126b36p-7', '0x1.6c16c18477083p-10',
    '0x1.a01a012fee99cp-13', '0x1.a019995efb00fp-16', '0x1.71df18ef76144p-19', '0x1.28adfccb26cd8p-22', '0x1.ad92e899366cbp-26')]
LOG = [float.fromhex(x) for x in (           # in z = s^2: (log((1 + s) / (1 - s)) / s - 2) / z
    '0x1.5555555555592p-1', '0x1.999999997ff2bp-2', '0x1.24924941e0829p-2', '0x1.c71c5214811cdp-3', '0x1.74663d04574f6p-3',
    '0x1.39a1e2daf37a4p-3', '0x1.2f041b8e6ae83p-3')]


def horner(x, coefficients):
    out = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        out = fma.f64(out, x, c)
    return out


def low(x):
    """The low word of x."""
    return cvt.i32.i64(bits.i64.f64(x))


def power_of_two(n):
    """2^n for -1022 <= n <= 1023."""
    return bits.f64.i64(shlx.i64(cvt.i64.i32(add.i32(n, 1023)), 52))


def reduced(x):
    """n in two forms and r: x = n ln(2) + r + what rounding took off r."""
    t = fma.f64(x, LOG2_E, WHOLE)
    n = sub.f64(t, WHOLE)
    near = fma.f64(n, -LN_2[0], x)
    r = fma.f64(n, -LN_2[1], near)
    return low(t), r, fma.f64(n, -LN_2[1], sub.f64(near, r))


def scaled(n, *values):
    """The values times 2^n, -2044 <= n <= 2046: in two steps, so that what is subnormal is rounded once."""
    half = shrax.i32(n, 1)
    first, second = power_of_two(half), power_of_two(sub.i32(n, half))
    return [mul.f64(mul.f64(v, first), second) for v in values]


def within(x, limit):
    """x, or the limit with its sign where it is larger; nan stays."""
    return select.f64(gt.f64(abs.f64(x), limit), copysign.f64(limit, x), x)


def exp_of(a):
    """At 746 it is infinite, at -746 zero, by the steps of scaled."""
    n, r, _ = reduced(within(a, 746.0))
    return scaled(n, horner(r, EXP))[0]


def reciprocal(d):
    """Of 1 <= d <= 4, off by 2^-45 of it."""
    y = cvt.f64.f32(rcpz.f32(cvt.f32.f64(d)))
    return fma.f64(fma.f64(neg.f64(d), y, 1.0), y, y)


def logistic_of(a):
    """e^-|a| in two parts, of which the second is what rounding took off the first; its quotient is mended by what it leaves."""
    n, r, off = reduced(select.f64(gt.f64(abs.f64(a), 746.0), -746.0, neg.f64(abs.f64(a))))
    tail = fma.f64(horner(r, EXP[1:]), r, off)
    whole = add.f64(tail, 1.0)
    e, rest = scaled(n, whole, add.f64(sub.f64(1.0, whole), tail))
    d = add.f64(e, 1.0)
    more = add.f64(add.f64(sub.f64(1.0, d), e), rest)
    negative, y = lt.f64(a, 0.0), reciprocal(d)
    q = mul.f64(select.f64(negative, e, 1.0), y)
    left = fma.f64(neg.f64(q), more, fma.f64(neg.f64(d), q, select.f64(negative, e, 1.0)))
    return fma.f64(add.f64(left, select.f64(negative, rest, 0.0)), y, q)


def expm1_of(a):
    n, r, off = reduced(within(a, 710.0))
    power = power_of_two(max.i32(min.i32(n, 1023), -100))
    large, small = sub.f64(power, 1.0), mul.f64(power, r)
    first = add.f64(large, small)
    left = add.f64(sub.f64(large, first), small)
    out = add.f64(first, fma.f64(power, fma.f64(horner(r, EXP[2:]), mul.f64(r, r), fma.f64(off, r, off)), left))
    return copysign.f64(mul.f64(out, select.f64(gt.i32(n, 1023), 2.0, 1.0)), a)


def tanh_of(a):
    """x / (x + 2) of x = e^2|a| - 1, in two parts, as in logistic_of. From 22 on it is 1."""
    size = abs.f64(a)
    n, r, off = reduced(select.f64(gt.f64(size, 22.0), 44.0, add.f64(size, size)))
    power = power_of_two(n)
    large, small = sub.f64(power, 1.0), mul.f64(power, r)
    first = add.f64(large, small)
    rest = fma.f64(power, fma.f64(horner(r, EXP[2:]), mul.f64(r, r), fma.f64(off, r, off)), add.f64(sub.f64(large, first), small))
    x = add.f64(first, rest)
    less = add.f64(sub.f64(first, x), rest)
    d = add.f64(x, 2.0)
    more = add.f64(add.f64(sub.f64(2.0, d), x), less)
    y = cvt.f64.f32(rcpz.f32(cvt.f32.f64(d)))
    y = fma.f64(fma.f64(neg.f64(d), y, 1.0), y, y)
    q = mul.f64(x, y)
    left = add.f64(fma.f64(neg.f64(q), more, fma.f64(neg.f64(d), q, x)), less)
    return copysign.f64(fma.f64(left, y, q), a)


def quotient(f):
    """f / (2 + f), -1/2 <= f <= 2."""
    y = reciprocal(add.f64(f, 2.0))
    s = mul.f64(f, y)
    return fma.f64(fma.f64(neg.f64(s), f, fma.f64(s, -2.0, f)), y, s)


def parted(u):
    """k and m between the roots of 1/2 and 2: u = 2^k m."""
    above = add.i64(bits.i64.f64(u), ONE - ROOT_HALF)
    k = sub.i32(cvt.i32.i64(shrax.i64(above, 52)), 1023)
    return k, bits.f64.i64(add.i64(band.i64(above, 2**52 - 1), ROOT_HALF))


def log_near(f, k, more):
    """k ln(2) + log(1 + f) + more, written so that f leads where k is 0."""
    s, half, n = quotient(f), mul.f64(mul.f64(f, f), 0.5), cvt.f64.i32(k)
    z = mul.f64(s, s)
    inside = fma.f64(s, fma.f64(horner(z, LOG), z, half), fma.f64(n, LN_2[1], more))
    return fma.f64(n, LN_2[0], sub.f64(f, sub.f64(half, inside)))


def log_of(a):
    subnormal = lt.f64(a, 2.0**-1022)
    k, m = parted(select.f64(subnormal, mul.f64(a, 2.0**54), a))
    out = log_near(sub.f64(m, 1.0), select.i32(subnormal, sub.i32(k, 54), k), 0.0)
    return select.f64(gt.f64(a, 0.0), select.f64(lt.f64(a, INF), out, a), select.f64(eq.f64(a, 0.0), -INF, NAN))


def log1p_of(a):
    """Of u = a + 1 and of what rounding took off u; where u lies near 1 of a itself."""
    u = add.f64(a, 1.0)
    back = sub.f64(u, 1.0)
    off = add.f64(sub.f64(a, back), sub.f64(1.0, sub.f64(u, back)))
    k, m = parted(u)
    near = eq.i32(k, 0)
    more = mul.f64(off, cvt.f64.f32(rcpz.f32(cvt.f32.f64(u))))
    out = log_near(select.f64(near, a, sub.f64(m, 1.0)), k, select.f64(near, 0.0, more))
    return select.f64(gt.f64(a, -1.0), select.f64(lt.f64(a, INF), copysign.f64(out, a), a), select.f64(eq.f64(a, -1.0), -INF, NAN))


SHORT = [rewrite(op.f64(a), of(a)) for op, of in ((exp, exp_of), (log, log_of), (log1p, log1p_of), (logistic, logistic_of))]
LONG = [rewrite(op.f64(a), of(a)) for op, of in ((expm1, expm1_of), (tanh, tanh_of))]    # more steps than libdevice's, if smaller ones on most
ALL = SHORT + LONG
