"""Complex values split into parts: each operation becomes operations on the real and imaginary parts, from load to store. functions.BUDGETS
bounds the errors, in units of the larger part, for finite operands; no intermediate result overflows unless the result does.

A formula NAME_of takes parts and gives the parts of the result, each of its lines a step. Those with t serve f32 and f64; the others are of f64 alone:
c64 uses them too, which is shorter than keeping f32 in range."""
from gen.lang import *
from patterns.complex_div import annex_g, has_nan, seldom

LN_2, HALF_PI, INFINITY, NAN = 0.6931471805599453, 1.5707963267948966, float('inf'), float('nan')
KINDS = ((c64, f32), (c128, f64))
RANGE = {f32: (128, 24), f64: (1024, 53)}    # the exponent above the largest number, digits
EMAX, DIGITS = RANGE[f64]


def parts(z, c, t):
    return re[t][c](z), im[t][c](z)


def joined(c, t, x, y):
    return complex[c][t](x, y)


def square(t, x):
    return mul[t](x, x)


def power(t, x, y):
    """A power of two that keeps the squares of x and y in range; the inverse of its square root."""
    emax, digits = RANGE[t]
    size = max[t](abs[t](x), abs[t](y))
    large, small = gt[t](size, 2.0**(emax - 4)), lt[t](size, 2.0**(2 * digits - emax))
    by = select[t](large, 0.0625, select[t](small, 2.0**(2 * digits + 2), 1.0))
    back = select[t](large, 4.0, select[t](small, 2.0**(-digits - 1), 1.0))
    return by, back


def scaled(t, x, y):
    """x and y times that power; the inverse of its square root."""
    by, back = power(t, x, y)
    return mul[t](x, by), mul[t](y, by), back


def grown(t, factor, x, by=None):
    """factor * e^x, where e^x alone may overflow: in four steps. `by` is applied in the first, where it costs no digit."""
    e = exp[t](mul[t](x, 0.25))
    out = mul[t](factor, mul[t](e, by) if by else e)
    for _ in range(3):
        out = mul[t](out, e)
    return out


def exp_of(t, x, y):
    return grown(t, cos[t](y), x), select[t](eq[t](y, 0.0), y, grown(t, sin[t](y), x))


def log_size(t, x, y):
    """log |x + iy| by the larger part. Near |x + iy| = 1 digits cancel, but the result is small against the angle."""
    most, least = max[t](abs[t](x), abs[t](y)), min[t](abs[t](x), abs[t](y))
    ratio = select[t](eq[t](least, most), 1.0, div[t](least, most))  # also for two zeros and two infinities
    return add[t](log[t](most), mul[t](0.5, log1p[t](square(t, ratio))))


def log_of(t, x, y):
    return log_size(t, x, y), atan2[t](y, x)


def expm1_of(x, y):
    half = sin.f64(mul.f64(y, 0.5))
    grown_x, grown_y = exp_of(f64, x, y)
    near = sub.f64(mul.f64(expm1.f64(x), cos.f64(y)), mul.f64(2.0, square(f64, half)))
    return select.f64(gt.f64(x, 60.0), grown_x, near), grown_y


def log1p_of(x, y):
    twice = add.f64(mul.f64(x, add.f64(x, 2.0)), square(f64, y))
    beyond = add.f64(x, 1.0)
    near = mul.f64(0.5, log1p.f64(twice))
    return select.f64(lt.f64(abs.f64(twice), 0.5), near, log_size(f64, beyond, y)), atan2.f64(y, beyond)


def root(t, x, y, sx, sy, back=None, infinite=False):
    """The square root of x + iy, computed from the multiple sx + isy, whose root times `back` is the root of x + iy."""
    p = sqrt[t](mul[t](add[t](hypot[t](sx, sy), abs[t](sx)), 0.5))
    p = p if back is None else mul[t](p, back)
    none = eq[t](p, 0.0)
    other = select[t](bor.pred(none, eq[t](abs[t](y), INFINITY)) if infinite else none, y, mul[t](div[t](y, p), 0.5))
    right = ge[t](x, 0.0)
    return select[t](right, p, abs[t](other)), select[t](right, other, copysign[t](p, y))


def sqrt_of(t, x, y):
    return root(t, x, y, *scaled(t, x, y), infinite=True)


def rsqrt_of(x, y):
    p, q = root(f64, x, y, *scaled(f64, x, y))
    size = hypot.f64(p, q)
    return div.f64(div.f64(p, size), size), neg.f64(div.f64(div.f64(q, size), size))


def cbrt_of(x, y):
    most = max.f64(abs.f64(x), abs.f64(y))
    large, small = gt.f64(most, 2.0**(EMAX - 4)), lt.f64(most, 2.0**(2 * DIGITS - EMAX))
    by = select.f64(large, 0.125, select.f64(small, 2.0**(60), 1.0))
    back = select.f64(large, 2.0, select.f64(small, 2.0**(-20), 1.0))
    size = mul.f64(cbrt.f64(hypot.f64(mul.f64(x, by), mul.f64(y, by))), back)
    angle = div.f64(atan2.f64(y, x), 3.0)
    return mul.f64(size, cos.f64(angle)), mul.f64(size, sin.f64(angle))


def waves(x, cosine, sine):
    """cosh(x) * cosine, sinh(x) * sine. Beyond 22, cosh and |sinh| are e^|x| / 2, which alone may overflow."""
    far, size = gt.f64(abs.f64(x), 22.0), abs.f64(x)
    some = lambda f, near: select.f64(far, select.f64(eq.f64(f, 0.0), f, grown(f64, f, size, 0.5)), mul.f64(near, f))
    return some(cosine, cosh.f64(x)), some(select.f64(far, mul.f64(copysign.f64(1.0, x), sine), sine), sinh.f64(x))


def sinh_of(x, y):
    im_part, re_part = waves(x, sin.f64(y), cos.f64(y))
    return re_part, im_part


def cosh_of(x, y):
    return waves(x, cos.f64(y), sin.f64(y))


def sin_of(x, y):
    return waves(y, sin.f64(x), cos.f64(x))


def cos_of(x, y):
    p, q = waves(y, cos.f64(x), sin.f64(x))
    return p, neg.f64(q)


def tanh_of(x, y):
    """The denominator is a sum of squares, which do not cancel. Beyond 22 the result is 1 or -1."""
    near = max.f64(min.f64(x, 22.0), -22.0)
    h, c = sinh.f64(near), cos.f64(y)
    below = add.f64(square(f64, h), square(f64, c))
    return div.f64(mul.f64(h, cosh.f64(near)), below), div.f64(mul.f64(sin.f64(y), c), below)


def tan_of(x, y):
    p, q = tanh_of(y, x)
    return q, p


def logistic_of(x, y):
    """1 + e^-z for |re z|, as sums that do not cancel; multiplied by e^z in the left half plane."""
    size, half = abs.f64(x), cos.f64(mul.f64(y, 0.5))
    e, twice = exp.f64(neg.f64(size)), mul.f64(2.0, square(f64, half))
    d, s = add.f64(neg.f64(expm1.f64(neg.f64(size))), mul.f64(e, twice)), sin.f64(y)
    below = add.f64(square(f64, d), square(f64, mul.f64(e, s)))
    right = ge.f64(x, 0.0)
    top = select.f64(right, d, mul.f64(e, add.f64(expm1.f64(neg.f64(size)), twice)))
    return div.f64(top, below), div.f64(mul.f64(e, s), below)


def sign_of(t, x, y):
    emax, digits = RANGE[t]
    most = max[t](abs[t](x), abs[t](y))
    large, small = gt[t](most, 2.0**(emax - 1)), lt[t](most, 2.0**(2 * digits - emax))
    by = select[t](large, 0.5, select[t](small, 2.0**(emax - 1), 1.0))
    sx, sy = mul[t](x, by), mul[t](y, by)
    size, none = hypot[t](sx, sy), band.pred(eq[t](x, 0.0), eq[t](y, 0.0))
    return select[t](none, x, div[t](sx, size)), select[t](none, y, div[t](sy, size))


# --- inverse functions, after Kahan, Branch Cuts for Complex Elementary Functions (1987) ---
def huge(x, y):
    return gt.f64(max.f64(abs.f64(x), abs.f64(y)), 2.0**(EMAX // 2))


def log_twice(x, y):
    return add.f64(log_size(f64, x, y), LN_2)


def beside(x, y):
    """The square root of x + iy where |x + iy| is not near the largest number; next to 0 it loses its last digits."""
    return root(f64, x, y, x, y)


def precise(x, y):
    """The same with all digits: next to 0 it alone determines acos and acosh."""
    by = 2.0**(2 * DIGITS + 2)
    return root(f64, x, y, mul.f64(x, by), mul.f64(y, by), 2.0**(-DIGITS - 1))


def asin_of(x, y):
    (p, q), (r, s) = beside(sub.f64(1.0, x), neg.f64(y)), beside(add.f64(x, 1.0), y)
    near = atan2.f64(x, sub.f64(mul.f64(p, r), mul.f64(q, s))), asinh.f64(sub.f64(mul.f64(p, s), mul.f64(q, r)))
    far = atan2.f64(x, abs.f64(y)), copysign.f64(log_twice(x, y), y)
    return tuple(select.f64(huge(x, y), f, n) for f, n in zip(far, near))


def acos_of(x, y):
    (p, q), (r, s) = precise(sub.f64(1.0, x), neg.f64(y)), beside(add.f64(x, 1.0), y)
    near = mul.f64(2.0, atan2.f64(p, r)), asinh.f64(sub.f64(mul.f64(r, q), mul.f64(s, p)))
    far = atan2.f64(abs.f64(y), x), neg.f64(copysign.f64(log_twice(x, y), y))
    return tuple(select.f64(huge(x, y), f, n) for f, n in zip(far, near))


def acosh_of(x, y):
    (p, q), (r, s) = precise(sub.f64(x, 1.0), y), beside(add.f64(x, 1.0), y)
    near = asinh.f64(add.f64(mul.f64(p, r), mul.f64(q, s))), mul.f64(2.0, atan2.f64(q, r))
    far = log_twice(x, y), atan2.f64(y, x)
    return tuple(select.f64(huge(x, y), f, n) for f, n in zip(far, near))


def asinh_of(x, y):
    p, q = asin_of(neg.f64(y), x)
    return q, neg.f64(p)


def atanh_of(x, y):
    size = abs.f64(x)
    gap = sub.f64(1.0, size)
    below = hypot.f64(gap, y)
    near = mul.f64(0.25, log1p.f64(div.f64(div.f64(mul.f64(size, 4.0), below), below)))
    pole = sub.f64(0.5 * LN_2, mul.f64(0.5, log.f64(abs.f64(y))))      # so near the pole that x is 1
    tiny = lt.f64(max.f64(abs.f64(gap), abs.f64(y)), 2.0**(-EMAX // 4))
    re_part = copysign.f64(select.f64(tiny, pole, near), x)
    angle = mul.f64(0.5, atan2.f64(mul.f64(2.0, y), sub.f64(mul.f64(gap, add.f64(size, 1.0)), square(f64, y))))
    far = huge(x, y)
    return select.f64(far, copysign.f64(0.0, x), re_part), select.f64(far, copysign.f64(HALF_PI, y), angle)


# --- of two operands ---
def mul_of(t, x, y, u, v):
    return sub[t](mul[t](x, u), mul[t](y, v)), add[t](mul[t](x, v), mul[t](y, u))


def div_of(x, y, u, v):
    """Smith's quotient, which divides by the divisor's larger part first. Both operands are scaled to near 1."""
    a0, b0, _ = scaled(f64, x, y)
    c0, d0, _ = scaled(f64, u, v)
    wide = ge.f64(abs.f64(c0), abs.f64(d0))
    p, q = select.f64(wide, c0, d0), select.f64(wide, d0, c0)
    r = div.f64(q, p)
    below = add.f64(p, mul.f64(q, r))
    top = select.f64(wide, add.f64(a0, mul.f64(b0, r)), add.f64(mul.f64(a0, r), b0))
    side = select.f64(wide, sub.f64(b0, mul.f64(a0, r)), sub.f64(mul.f64(b0, r), a0))
    quick = rescaled(top, below, x, y, u, v), rescaled(side, below, x, y, u, v)
    return seldom(f64, has_nan(f64, *quick), annex_g(x, y, u, v, *quick, top_sized=0.25), quick)


def rescaled(top, below, x, y, u, v):
    """top / below, times the ratio of the scales of divisor and dividend."""
    return mul.f64(mul.f64(div.f64(top, below), power(f64, u, v)[0]), square(f64, power(f64, x, y)[1]))


def pow_of(x, y, u, v):
    p, q = exp_of(f64, *mul_of(f64, u, v, *log_of(f64, x, y)))
    zero, one = band.pred(eq.f64(x, 0.0), eq.f64(y, 0.0)), band.pred(eq.f64(u, 0.0), eq.f64(v, 0.0))
    nothing = select.f64(gt.f64(u, 0.0), 0.0, select.f64(eq.f64(v, 0.0), INFINITY, NAN))
    none = select.f64(bor.pred(gt.f64(u, 0.0), eq.f64(v, 0.0)), 0.0, NAN)
    return select.f64(one, 1.0, select.f64(zero, nothing, p)), select.f64(one, 0.0, select.f64(zero, none, q))


PARTS = [rewrite(re[t][c](complex[c][t](a, b)), a) for c, t in KINDS] + [
    rewrite(im[t][c](complex[c][t](a, b)),   b) for c, t in KINDS
] + [
    rewrite(complex[c][t](re[t][c](a), im[t][c](a)), a) for c, t in KINDS
]
ARITHMETIC = [
    rewrite(op[c](a, b),                     joined(c, t, op[t](re[t][c](a), re[t][c](b)), op[t](im[t][c](a), im[t][c](b))))
    for c, t in KINDS for op in (add, sub)
] + [
    rewrite(neg[c](a),                       joined(c, t, neg[t](re[t][c](a)), neg[t](im[t][c](a)))) for c, t in KINDS
] + [
    rewrite(mul[c](a, b),                    joined(c, t, *mul_of(t, *parts(a, c, t), *parts(b, c, t)))) for c, t in KINDS
] + [
    rewrite(eq[c](a, b),                     band.pred(eq[t](re[t][c](a), re[t][c](b)), eq[t](im[t][c](a), im[t][c](b)))) for c, t in KINDS
] + [
    rewrite(ne[c](a, b),                     bor.pred(ne[t](re[t][c](a), re[t][c](b)), ne[t](im[t][c](a), im[t][c](b)))) for c, t in KINDS
] + [
    rewrite(select[c](x, a, b),              joined(c, t, select[t](x, re[t][c](a), re[t][c](b)), select[t](x, im[t][c](a), im[t][c](b)))) for c, t in KINDS
] + [
    rewrite(modulus[t][c](a),                hypot[t](re[t][c](a), im[t][c](a))) for c, t in KINDS
] + [
    rewrite(sign[c](a),                      joined(c, t, *sign_of(t, *parts(a, c, t)))) for c, t in KINDS
]


def in_f64(op, *values):
    """op of c64 by op of c128."""
    doubled = [complex.c128.f64(*(cvt.f64.f32(p.f32.c64(v)) for p in (re, im))) for v in values]
    out = op.c128(*doubled)
    return complex.c64.f32(*(cvt.f32.f64(p.f64.c128(out)) for p in (re, im)))


OWN = ((exp, exp_of), (log, log_of), (sqrt, sqrt_of))                            # of c64 by functions of f32
ONE = ((expm1, expm1_of), (log1p, log1p_of), (logistic, logistic_of), (rsqrt, rsqrt_of), (cbrt, cbrt_of), (sin, sin_of), (cos, cos_of), (tan, tan_of),
       (sinh, sinh_of), (cosh, cosh_of), (tanh, tanh_of), (asin, asin_of), (acos, acos_of), (asinh, asinh_of), (acosh, acosh_of), (atanh, atanh_of))
TWO = ((div, div_of), (pow, pow_of))
FUNCTIONS = [
    rewrite(op[c](a),                        joined(c, t, *formula(t, *parts(a, c, t)))) for op, formula in OWN for c, t in KINDS
] + [
    rewrite(op.c128(a),                      joined(c128, f64, *formula(*parts(a, c128, f64)))) for op, formula in ONE
] + [
    rewrite(op.c128(a, b),                   joined(c128, f64, *formula(*parts(a, c128, f64), *parts(b, c128, f64)))) for op, formula in TWO
] + [
    rewrite(op.c64(a),                       in_f64(op, a)) for op, _ in ONE
] + [
    rewrite(op.c64(a, b),                    in_f64(op, a, b)) for op, _ in TWO if op is not div
]
LOWER = PARTS + ARITHMETIC + FUNCTIONS
