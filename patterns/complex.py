"""Complex values split into parts: each operation becomes operations on the real and imaginary parts, from load to store. functions.BUDGETS
bounds the errors, in units of the larger part, for finite operands; no intermediate result overflows unless the result does."""
from gen.lang import *

LN_2, HALF_PI, INFINITY, NAN = 0.6931471805599453, 1.5707963267948966, float('inf'), float('nan')
KINDS = ((c64, f32), (c128, f64))


class Parts:
    """Formulas on the parts of operands, at one type."""

    def __init__(self, c, t):
        self.c, self.t = c, t
        self.emax, self.digits = (128, 24) if t is f32 else (1024, 53)
        self.add, self.sub, self.mul, self.div, self.neg, self.abs, self.max, self.min = (op[t] for op in (add, sub, mul, div, neg, abs, max, min))
        self.eq, self.ne, self.lt, self.ge, self.gt, self.copysign = (op[t] for op in (eq, ne, lt, ge, gt, copysign))
        self.exp, self.expm1, self.log, self.log1p, self.sqrt, self.cbrt = (op[t] for op in (exp, expm1, log, log1p, sqrt, cbrt))
        self.sin, self.cos, self.sinh, self.cosh, self.asinh, self.atan2, self.hypot = (op[t] for op in (sin, cos, sinh, cosh, asinh, atan2, hypot))

    def parts(self, z):
        return re[self.t][self.c](z), im[self.t][self.c](z)

    def joined(self, x, y):
        return complex[self.c][self.t](x, y)

    def power(self, e):
        return 2.0**e

    def choose(self, p, x, y):
        return select[self.t](p, x, y)

    def square(self, x):
        return self.mul(x, x)

    def scaled(self, x, y):
        """x and y times a power of two that keeps their squares in range; the inverse of the power's square root."""
        size = self.max(self.abs(x), self.abs(y))
        large, small = self.gt(size, self.power(self.emax - 4)), self.lt(size, self.power(2 * self.digits - self.emax))
        by = self.choose(large, 0.0625, self.choose(small, self.power(2 * self.digits + 2), 1.0))
        back = self.choose(large, 4.0, self.choose(small, self.power(-self.digits - 1), 1.0))
        return self.mul(x, by), self.mul(y, by), back

    def grown(self, factor, x, by=None):
        """factor * e^x, where e^x alone may overflow: in four steps. `by` is applied in the first, where it costs no digit."""
        e = self.exp(self.mul(x, 0.25))
        out = self.mul(factor, self.mul(e, by) if by else e)
        for _ in range(3):
            out = self.mul(out, e)
        return out

    def exp_of(self, x, y):
        return self.grown(self.cos(y), x), self.choose(self.eq(y, 0.0), y, self.grown(self.sin(y), x))

    def log_size(self, x, y):
        """log |x + iy| by the larger part. Near |x + iy| = 1 digits cancel, but the result is small against the angle."""
        most, least = self.max(self.abs(x), self.abs(y)), self.min(self.abs(x), self.abs(y))
        ratio = self.choose(self.eq(least, most), 1.0, self.div(least, most))  # also for two zeros and two infinities
        return self.add(self.log(most), self.mul(0.5, self.log1p(self.square(ratio))))

    def log_of(self, x, y):
        return self.log_size(x, y), self.atan2(y, x)

    def expm1_of(self, x, y):
        half = self.sin(self.mul(y, 0.5))
        grown_x, grown_y = self.exp_of(x, y)
        near = self.sub(self.mul(self.expm1(x), self.cos(y)), self.mul(2.0, self.square(half)))
        return self.choose(self.gt(x, 60.0), grown_x, near), grown_y

    def log1p_of(self, x, y):
        square = self.add(self.mul(x, self.add(x, 2.0)), self.square(y))
        beyond = self.add(x, 1.0)
        near = self.mul(0.5, self.log1p(square))
        return self.choose(self.lt(self.abs(square), 0.5), near, self.log_size(beyond, y)), self.atan2(y, beyond)

    def root(self, x, y, sx, sy, back=None, infinite=False):
        """The square root of x + iy, computed from the multiple sx + isy, whose root times `back` is the root of x + iy."""
        t = self.sqrt(self.mul(self.add(self.hypot(sx, sy), self.abs(sx)), 0.5))
        t = t if back is None else self.mul(t, back)
        none = self.eq(t, 0.0)
        other = self.choose(bor.pred(none, self.eq(self.abs(y), INFINITY)) if infinite else none, y, self.mul(self.div(y, t), 0.5))
        right = self.ge(x, 0.0)
        return self.choose(right, t, self.abs(other)), self.choose(right, other, self.copysign(t, y))

    def sqrt_of(self, x, y):
        return self.root(x, y, *self.scaled(x, y), infinite=True)

    def rsqrt_of(self, x, y):
        p, q = self.root(x, y, *self.scaled(x, y))
        size = self.hypot(p, q)
        return self.div(self.div(p, size), size), self.neg(self.div(self.div(q, size), size))

    def cbrt_of(self, x, y):
        most = self.max(self.abs(x), self.abs(y))
        large, small = self.gt(most, self.power(self.emax - 4)), self.lt(most, self.power(2 * self.digits - self.emax))
        by = self.choose(large, 0.125, self.choose(small, self.power(60), 1.0))
        back = self.choose(large, 2.0, self.choose(small, self.power(-20), 1.0))
        size = self.mul(self.cbrt(self.hypot(self.mul(x, by), self.mul(y, by))), back)
        angle = self.div(self.atan2(y, x), 3.0)
        return self.mul(size, self.cos(angle)), self.mul(size, self.sin(angle))

    def waves(self, x, cosine, sine):
        """cosh(x) * cosine, sinh(x) * sine. Beyond 22, cosh and |sinh| are e^|x| / 2, which alone may overflow."""
        far, size = self.gt(self.abs(x), 22.0), self.abs(x)
        some = lambda f, near: self.choose(far, self.choose(self.eq(f, 0.0), f, self.grown(f, size, 0.5)), self.mul(near, f))
        return some(cosine, self.cosh(x)), some(self.choose(far, self.mul(self.copysign(1.0, x), sine), sine), self.sinh(x))

    def sinh_of(self, x, y):
        im_part, re_part = self.waves(x, self.sin(y), self.cos(y))
        return re_part, im_part

    def cosh_of(self, x, y):
        return self.waves(x, self.cos(y), self.sin(y))

    def sin_of(self, x, y):
        return self.waves(y, self.sin(x), self.cos(x))

    def cos_of(self, x, y):
        p, q = self.waves(y, self.cos(x), self.sin(x))
        return p, self.neg(q)

    def tanh_of(self, x, y):
        """The denominator is a sum of squares, which do not cancel. Beyond 22 the result is 1 or -1."""
        near = self.max(self.min(x, 22.0), -22.0)
        h, c = self.sinh(near), self.cos(y)
        below = self.add(self.square(h), self.square(c))
        return self.div(self.mul(h, self.cosh(near)), below), self.div(self.mul(self.sin(y), c), below)

    def tan_of(self, x, y):
        p, q = self.tanh_of(y, x)
        return q, p

    def logistic_of(self, x, y):
        """1 + e^-z for |re z|, as sums that do not cancel; multiplied by e^z in the left half plane."""
        size, half = self.abs(x), self.cos(self.mul(y, 0.5))
        e, twice = self.exp(self.neg(size)), self.mul(2.0, self.square(half))
        d, s = self.add(self.neg(self.expm1(self.neg(size))), self.mul(e, twice)), self.sin(y)
        below = self.add(self.square(d), self.square(self.mul(e, s)))
        right = self.ge(x, 0.0)
        top = self.choose(right, d, self.mul(e, self.add(self.expm1(self.neg(size)), twice)))
        return self.div(top, below), self.div(self.mul(e, s), below)

    def sign_of(self, x, y):
        most = self.max(self.abs(x), self.abs(y))
        large, small = self.gt(most, self.power(self.emax - 1)), self.lt(most, self.power(2 * self.digits - self.emax))
        by = self.choose(large, 0.5, self.choose(small, self.power(self.emax - 1), 1.0))
        sx, sy = self.mul(x, by), self.mul(y, by)
        size, none = self.hypot(sx, sy), band.pred(self.eq(x, 0.0), self.eq(y, 0.0))
        return self.choose(none, x, self.div(sx, size)), self.choose(none, y, self.div(sy, size))

    # --- inverse functions, after Kahan, Branch Cuts for Complex Elementary Functions (1987) ---
    def huge(self, x, y):
        return self.gt(self.max(self.abs(x), self.abs(y)), self.power(self.emax // 2))

    def log_twice(self, x, y):
        return self.add(self.log_size(x, y), LN_2)

    def beside(self, x, y):
        """The square root of x + iy where |x + iy| is not near the largest number; next to 0 it loses its last digits."""
        return self.root(x, y, x, y)

    def precise(self, x, y):
        """The same with all digits: next to 0 it alone determines acos and acosh."""
        by = self.power(2 * self.digits + 2)
        return self.root(x, y, self.mul(x, by), self.mul(y, by), self.power(-self.digits - 1))

    def asin_of(self, x, y):
        (p, q), (r, s) = self.beside(self.sub(1.0, x), self.neg(y)), self.beside(self.add(x, 1.0), y)
        near = self.atan2(x, self.sub(self.mul(p, r), self.mul(q, s))), self.asinh(self.sub(self.mul(p, s), self.mul(q, r)))
        far = self.atan2(x, self.abs(y)), self.copysign(self.log_twice(x, y), y)
        return tuple(self.choose(self.huge(x, y), f, n) for f, n in zip(far, near))

    def acos_of(self, x, y):
        (p, q), (r, s) = self.precise(self.sub(1.0, x), self.neg(y)), self.beside(self.add(x, 1.0), y)
        near = self.mul(2.0, self.atan2(p, r)), self.asinh(self.sub(self.mul(r, q), self.mul(s, p)))
        far = self.atan2(self.abs(y), x), self.neg(self.copysign(self.log_twice(x, y), y))
        return tuple(self.choose(self.huge(x, y), f, n) for f, n in zip(far, near))

    def acosh_of(self, x, y):
        (p, q), (r, s) = self.precise(self.sub(x, 1.0), y), self.beside(self.add(x, 1.0), y)
        near = self.asinh(self.add(self.mul(p, r), self.mul(q, s))), self.mul(2.0, self.atan2(q, r))
        far = self.log_twice(x, y), self.atan2(y, x)
        return tuple(self.choose(self.huge(x, y), f, n) for f, n in zip(far, near))

    def asinh_of(self, x, y):
        p, q = self.asin_of(self.neg(y), x)
        return q, self.neg(p)

    def atanh_of(self, x, y):
        size = self.abs(x)
        gap = self.sub(1.0, size)
        below = self.hypot(gap, y)
        near = self.mul(0.25, self.log1p(self.div(self.div(self.mul(size, 4.0), below), below)))
        pole = self.sub(0.5 * LN_2, self.mul(0.5, self.log(self.abs(y))))      # so near the pole that x is 1
        tiny = self.lt(self.max(self.abs(gap), self.abs(y)), self.power(-self.emax // 4))
        re_part = self.copysign(self.choose(tiny, pole, near), x)
        angle = self.mul(0.5, self.atan2(self.mul(2.0, y), self.sub(self.mul(gap, self.add(size, 1.0)), self.square(y))))
        huge = self.huge(x, y)
        return self.choose(huge, self.copysign(0.0, x), re_part), self.choose(huge, self.copysign(HALF_PI, y), angle)

    # --- of two operands ---
    def mul_of(self, x, y, u, v):
        return self.sub(self.mul(x, u), self.mul(y, v)), self.add(self.mul(x, v), self.mul(y, u))

    def div_of(self, x, y, u, v):
        """Smith's quotient, which divides by the divisor's larger part first. Both operands are scaled to near 1."""
        a0, b0, _ = self.scaled(x, y)
        c0, d0, _ = self.scaled(u, v)
        wide = self.ge(self.abs(c0), self.abs(d0))
        p, q = self.choose(wide, c0, d0), self.choose(wide, d0, c0)
        r = self.div(q, p)
        below = self.add(p, self.mul(q, r))
        top = self.choose(wide, self.add(a0, self.mul(b0, r)), self.add(self.mul(a0, r), b0))
        side = self.choose(wide, self.sub(b0, self.mul(a0, r)), self.sub(self.mul(b0, r), a0))
        return self.rescaled(top, below, x, y, u, v), self.rescaled(side, below, x, y, u, v)

    def factor(self, x, y):
        size = self.max(self.abs(x), self.abs(y))
        large, small = self.gt(size, self.power(self.emax - 4)), self.lt(size, self.power(2 * self.digits - self.emax))
        return self.choose(large, 0.0625, self.choose(small, self.power(2 * self.digits + 2), 1.0))

    def rescaled(self, top, below, x, y, u, v):
        """top / below, times the ratio of the scales of divisor and dividend."""
        return self.div(self.mul(self.div(top, below), self.factor(u, v)), self.factor(x, y))

    def pow_of(self, x, y, u, v):
        p, q = self.exp_of(*self.mul_of(u, v, *self.log_of(x, y)))
        zero, one = band.pred(self.eq(x, 0.0), self.eq(y, 0.0)), band.pred(self.eq(u, 0.0), self.eq(v, 0.0))
        nothing = self.choose(self.gt(u, 0.0), 0.0, self.choose(self.eq(v, 0.0), INFINITY, NAN))
        none = self.choose(bor.pred(self.gt(u, 0.0), self.eq(v, 0.0)), 0.0, NAN)
        return self.choose(one, 1.0, self.choose(zero, nothing, p)), self.choose(one, 0.0, self.choose(zero, none, q))


EACH = [Parts(c, t) for c, t in KINDS]
ONE = ((exp, Parts.exp_of), (expm1, Parts.expm1_of), (log, Parts.log_of), (log1p, Parts.log1p_of), (logistic, Parts.logistic_of),
       (sqrt, Parts.sqrt_of), (rsqrt, Parts.rsqrt_of), (cbrt, Parts.cbrt_of), (sin, Parts.sin_of), (cos, Parts.cos_of), (tan, Parts.tan_of),
       (sinh, Parts.sinh_of), (cosh, Parts.cosh_of), (tanh, Parts.tanh_of), (asin, Parts.asin_of), (acos, Parts.acos_of), (asinh, Parts.asinh_of),
       (acosh, Parts.acosh_of), (atanh, Parts.atanh_of))
TWO = ((div, Parts.div_of), (pow, Parts.pow_of))
OWN = (exp, log, sqrt)                       # computed for c64 by functions of f32; the others by those of f64, which is shorter than keeping f32 in range

PARTS = [rewrite(re[k.t][k.c](complex[k.c][k.t](a, b)), a) for k in EACH] + [
    rewrite(im[k.t][k.c](complex[k.c][k.t](a, b)), b) for k in EACH
] + [
    rewrite(complex[k.c][k.t](re[k.t][k.c](a), im[k.t][k.c](a)), a) for k in EACH
]
ARITHMETIC = [
    rewrite(op[k.c](a, b),                   k.joined(*(op[k.t](x, y) for x, y in zip(k.parts(a), k.parts(b))))) for k in EACH for op in (add, sub)
] + [
    rewrite(neg[k.c](a),                     k.joined(*map(k.neg, k.parts(a)))) for k in EACH
] + [
    rewrite(mul[k.c](a, b),                  k.joined(*k.mul_of(*k.parts(a), *k.parts(b)))) for k in EACH
] + [
    rewrite(eq[k.c](a, b),                   band.pred(*map(k.eq, k.parts(a), k.parts(b)))) for k in EACH
] + [
    rewrite(ne[k.c](a, b),                   bor.pred(*map(k.ne, k.parts(a), k.parts(b)))) for k in EACH
] + [
    rewrite(select[k.c](x, a, b),            k.joined(*(k.choose(x, p, q) for p, q in zip(k.parts(a), k.parts(b))))) for k in EACH
] + [
    rewrite(modulus[k.t][k.c](a),            k.hypot(*k.parts(a))) for k in EACH
] + [
    rewrite(sign[k.c](a),                    k.joined(*k.sign_of(*k.parts(a)))) for k in EACH
]


def in_f64(op, *values):
    """op of c64 by op of c128."""
    doubled = [complex.c128.f64(*(cvt.f64.f32(p.f32.c64(v)) for p in (re, im))) for v in values]
    out = op.c128(*doubled)
    return complex.c64.f32(*(cvt.f32.f64(p.f64.c128(out)) for p in (re, im)))


FUNCTIONS = [
    rewrite(op[k.c](a),                      k.joined(*formula(k, *k.parts(a)))) for op, formula in ONE for k in EACH if k.t is f64 or op in OWN
] + [
    rewrite(op[k.c](a, b),                   k.joined(*formula(k, *k.parts(a), *k.parts(b)))) for op, formula in TWO for k in EACH if k.t is f64
] + [
    rewrite(op.c64(a),                       in_f64(op, a)) for op, _ in ONE if op not in OWN
] + [
    rewrite(op.c64(a, b),                    in_f64(op, a, b)) for op, _ in TWO
]
LOWER = PARTS + ARITHMETIC + FUNCTIONS
