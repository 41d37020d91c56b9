"""Functions of f16 and bf16 as expressions: with fewer terms than for f32, or by the machine's approximation.

Needs the argument reductions of polynomials.py; leaves a list that functions.py puts before its own.

    exp.f16(a)   2^(a / ln 2) in f32, which does not overflow for any f16
"""
from math import pi

from gen.lang import *
from patterns.angles import COS_OF_F16, PI_2, PI_2_LOW, SIN_OF_F16, negative, odd, quarters, roughly
from patterns.polynomials import LN_2, LOG2_E, LOG_OF_F16, ROUND, exponent_of, horner, is_positive, parts_of_logistic, sign_of, with_sign


def short_logistic(a):
    """Accurate enough for 16 bits."""
    s, e = parts_of_logistic(a)
    return mul.f32(s, rcpz.f32(add.f32(s, e)))


def few_quarters(a):
    """q and r of an f16: two parts of pi/2 are enough up to 65504."""
    j = fma.f32(a, 2 / pi, ROUND)
    n = sub.f32(j, ROUND)
    return bits.u32.f32(j), fma.f32(n, -PI_2_LOW, fma.f32(n, -PI_2, a))


def few_waves(r):
    """The sine as a product: -0 stays."""
    square = mul.f32(r, r)
    return mul.f32(r, fma.f32(square, horner(square, SIN_OF_F16), 1.0)), fma.f32(square, horner(square, COS_OF_F16), 1.0)


def log_of_f16(a):
    k = exponent_of(bits.i32.f32(a))
    f = sub.f32(bits.f32.i32(sub.i32(bits.i32.f32(a), k)), 1.0)
    log = fma.f32(cvt.f32.i32(k), LN_2 * 2.0**-23, fma.f32(mul.f32(f, f), horner(f, LOG_OF_F16), f))
    return select.f32(is_positive(a), log, log2z.f32(a))


def sin_in(q, r):
    s, c = few_waves(r)
    return with_sign(select.f32(odd(q), c, s), negative(q))


def cos_in(q, r):
    s, c = few_waves(r)
    return with_sign(select.f32(odd(q), s, c), negative(add.u32(q, 1)))


def tan_in(q, r):
    s, c = few_waves(r)
    return mul.f32(select.f32(odd(q), c, s), rcpz.f32(select.f32(odd(q), neg.f32(s), c)))


# The machine's logarithm and power are off by 2^-22 near 1, too much where the result is small: there two terms of the series are enough for 16 bits
def of_small(x, least, small, large):
    return select.f32(lt.f32(abs.f32(x), least), small, large)


def cubic(x, third):
    """x + third x^3; -0 stays."""
    return mul.f32(x, fma.f32(mul.f32(x, x), third, 1.0))


def short_log1p(x):
    return of_small(x, 2.0**-8, fma.f32(x, mul.f32(x, -0.5), x), mul.f32(log2.f32.approx(add.f32(x, 1.0)), LN_2))


def short_expm1(x):
    return of_small(x, 2.0**-8, mul.f32(x, fma.f32(x, 0.5, 1.0)), sub.f32(exp2z.f32(mul.f32(x, LOG2_E)), 1.0))


def short_atanh(x):
    both = sub.f32(log2.f32.approx(add.f32(x, 1.0)), log2.f32.approx(sub.f32(1.0, x)))
    return of_small(x, 2.0**-5, cubic(x, 1 / 3), mul.f32(both, LN_2 / 2))


def powers(x):
    """e^|x| / 2, which is no larger than the result, and its reciprocal."""
    e = exp2z.f32(fma.f32(abs.f32(x), LOG2_E, -1.0))
    return e, rcpz.f32(e)


def short_cosh(x):
    e, r = powers(x)
    return fma.f32(r, 0.25, e)


def short_sinh(x):
    e, r = powers(x)
    return of_small(x, 2.0**-3, cubic(x, 1 / 6), with_sign(fma.f32(r, -0.25, e), sign_of(x)))


def short_tanh(x):
    r = rcpz.f32(add.f32(exp2z.f32(mul.f32(x, 2 * LOG2_E)), 1.0))
    return of_small(x, 2.0**-4, cubic(x, -1 / 3), fma.f32(r, -2.0, 1.0))


X = cvt.f32.f16(a)                           # no f16 is subnormal in f32
Y = cvt.f32.bf16(a)
HALVES = [
    rewrite(exp.f16(a),                      cvt.f16.f32(exp2z.f32(mul.f32(X, LOG2_E)))),
    rewrite(logistic.f16(a),                 cvt.f16.f32(rcpz.f32(add.f32(exp2z.f32(mul.f32(X, -LOG2_E)), 1.0)))),
    rewrite(logistic.bf16(a),                cvt.bf16.f32(short_logistic(Y))),
    rewrite(log.f16(a),                      cvt.f16.f32(log_of_f16(X)),                   when=~approx),
    rewrite(log1p[F16](a),                   cvt[F16].f32(short_log1p(cvt.f32[F16](a)))),
    rewrite(expm1[F16](a),                   cvt[F16].f32(short_expm1(cvt.f32[F16](a)))),
    rewrite(atanh[F16](a),                   cvt[F16].f32(short_atanh(cvt.f32[F16](a)))),
    rewrite(cosh[F16](a),                    cvt[F16].f32(short_cosh(cvt.f32[F16](a)))),
    rewrite(sinh[F16](a),                    cvt[F16].f32(short_sinh(cvt.f32[F16](a)))),
    rewrite(tanh.f16(a),                     cvt.f16.f32(short_tanh(X)),                   when=~approx),
    rewrite(rsqrt.f16(a),                    cvt.f16.f32(rsqrtz.f32(X))),
    rewrite(sin.f16(a),                      cvt.f16.f32(sin_in(*few_quarters(X))),     when=~approx),
    rewrite(cos.f16(a),                      cvt.f16.f32(cos_in(*few_quarters(X))),        when=~approx),
    rewrite(tan.f16(a),                      cvt.f16.f32(tan_in(*few_quarters(X)))),
    rewrite(sin.bf16(a),                     cvt.bf16.f32(with_sign(sin_in(*quarters(Y, roughly)), sign_of(Y))), when=~approx),
    rewrite(cos.bf16(a),                     cvt.bf16.f32(cos_in(*quarters(Y, roughly))),           when=~approx),
    rewrite(tan.bf16(a),                     cvt.bf16.f32(with_sign(tan_in(*quarters(Y, roughly)), sign_of(Y)))),
]

# --- simplify: formulas that JAX writes for a function, in the type of the text or in f32, as the function -----------------------------------
OUTSIDE = gt[F16](abs[F16](a), 1.0)
ATANH = cvt[F16].f32(short_atanh(cvt.f32[F16](a)))


def cosh_from_text(x, low):
    """The larger exponential as the text has it, low being its -ln 2, and the reciprocal of four times it."""
    e = exp2z.f32(mul.f32(add.f32(abs.f32(x), low), LOG2_E))
    return fma.f32(rcpz.f32(e), 0.25, e)


def atanh_of_text(x):
    return mul[F16](sub[F16](log1p[F16](x), log1p[F16](neg[F16](x))), 0.5)


def both_exponentials(x):
    return add.f32(exp.f32(add.f32(x, -LN_2)), exp.f32(sub.f32(-LN_2, x)))


FORMULAS = [
    rewrite(atanh_of_text(a),                                     ATANH,                                                 when=nearer),
    rewrite(select[F16](OUTSIDE, float('nan'), ATANH),            ATANH),                                                # nan there, too
    rewrite(cvt.f16.f32(both_exponentials(X)),                    cvt.f16.f32(cosh_from_text(X, -LN_2)),                 when=nearer),
]
