"""Quotients of c64, and of complex values by real ones.

A quotient by a real number is two quotients. Of others the parts are those of a times the conjugate of b, over |b|^2:

    in f64   products of two f32 are exact, sums of two products have one rounding, and none of them is out of range; 1 / |b|^2 to 2^-38
    in f32   a first quotient q, off by some units, and q + (a - b q) / b, with a - b q in two words; where a and b are neither large nor small, as nearly
             all are: the others go behind a branch (src/vector/rare.c)

Both are off by little more than the last rounding, in units of the larger part. HLO leaves open what a quotient is where b is 0 or a part is not
finite; programs rely on C11 Annex G, which XLA and numpy follow: 1 / inf is 0, also where the infinity has a part that is nan. There the formulas
have a nan, and a branch that is seldom taken repairs it (annex_g)."""
from gen.lang import *

KINDS = ((c64, f32), (c128, f64))
INFINITY, NAN = float('inf'), float('nan')
LEAST, MOST = (2.0**-60, 2.0**-100), (2.0**60, 2.0**100)  # of the larger part of a, or 0, and of |b|^2: between them no intermediate result is out of range


def parts(z):
    return re.f32.c64(z), im.f32.c64(z)


def times_conjugate(t, x, y, u, v):
    """(x + iy) (u - iv); y is None where the left factor is real."""
    if y is None:
        return mul[t](x, u), neg[t](mul[t](x, v))
    return fma[t](x, u, mul[t](y, v)), fma[t](y, u, neg[t](mul[t](x, v)))


def square(t, u, v):
    return fma[t](u, u, mul[t](v, v))


# --- where a part is not finite, or b is 0 -------------------------------------------------------------------------------------------------
def is_zero(x, y):
    return band.pred(eq.f64(x, 0.0), eq.f64(y, 0.0))


def infinite(x, y):
    return bor.pred(eq.f64(abs.f64(x), INFINITY), eq.f64(abs.f64(y), INFINITY))


def finite(x, y):
    return band.pred(lt.f64(abs.f64(x), INFINITY), lt.f64(abs.f64(y), INFINITY))


def boxed(is_infinite, part, other):
    """Of an infinite number 1 for a part that is infinite, 0 for the other; of another number `other`."""
    return select.f64(is_infinite, copysign.f64(select.f64(eq.f64(abs.f64(part), INFINITY), 1.0, 0.0), part), other)


def annex_g(x, y, u, v, p, q, top_sized=1.0):
    """C11 G.5.1, example 1, for a quotient p + iq that has a nan. An infinite top keeps the parts of its product with conj(b), unless both are nan."""
    by_zero, top, below = is_zero(u, v), infinite(x, y), infinite(u, v)
    special = bor.pred(band.pred(top, finite(u, v)), band.pred(below, finite(x, y)))
    no_overflow = top_sized == 1.0   # parts of f32: then the finite part of an infinite top changes nothing
    plain = times_conjugate(f64, *(w if no_overflow else select.f64(lt.f64(abs.f64(w), INFINITY), 0.0, w) for w in (x, y)), u, v)   # of an infinite top
    kept = band.pred(top, bxor.pred(band.pred(ne.f64(plain[0], plain[0]), ne.f64(plain[1], plain[1])), True))
    # of a finite top the sign alone counts: where sums may overflow, it is taken at another size
    a, b = (boxed(top, w, w if no_overflow else mul.f64(w, top_sized)) for w in (x, y))
    signs = times_conjugate(f64, a, b, boxed(below, u, u), boxed(below, v, v))
    by = select.f64(top, INFINITY, 0.0)
    over_zero = (mul.f64(copysign.f64(INFINITY, u), w) for w in (x, y))
    sized = (select.f64(kept, straight, mul.f64(by, sign)) for straight, sign in zip(plain, signs))
    return tuple(select.f64(by_zero, zero, select.f64(special, part, near)) for zero, part, near in zip(over_zero, sized, (p, q)))


def annex_g_of_real(x, u, v, p, q):
    """The same for a real dividend, where the formulas are wrong only if b is 0 or infinite: x times inf or 0, with the signs of b's conjugate. Over 0
    the imaginary part stays nan."""
    by_zero, below = is_zero(u, v), infinite(u, v)
    part, side = times_conjugate(f64, x, None, *(copysign.f64(select.f64(by_zero, INFINITY, 0.0), w) for w in (u, v)))
    return select.f64(bor.pred(by_zero, below), part, p), select.f64(below, side, q)


def broken(t, y, p, q):
    """Whether a quotient may be wrong: of a real dividend both parts have a nan if b is 0 or infinite, as 1 / |b|^2 is one."""
    return ne[t](p, p) if y is None else has_nan(t, p, q)


def repaired(x, y, u, v, p, q):
    return annex_g_of_real(x, u, v, p, q) if y is None else annex_g(x, y, u, v, p, q)


def has_nan(t, p, q):
    return bor.pred(ne[t](p, p), ne[t](q, q))


def seldom(t, bad, long, quick):
    return tuple(select[t].rare(bad, select[t](bad, way, near), near) for way, near in zip(long, quick))


# --- in f64 ------------------------------------------------------------------------------------------------------------------------------
def widened(*parts):
    return tuple(None if p is None else cvt.f64.f32(p) for p in parts)


def narrowed(parts):
    return tuple(cvt.f32.f64(p) for p in parts)


def near_f64(x, y, u, v):
    """The formula, from parts of f32 as f64."""
    below = square(f64, u, v)
    r = rcpz.f64(below)
    r = fma.f64(r, fma.f64(neg.f64(below), r, 1.0), r)
    return tuple(mul.f64(top, r) for top in times_conjugate(f64, x, y, u, v))


def by_f64(x, y, u, v):
    """From parts of f32."""
    wide = widened(x, y, u, v)
    p, q = near_f64(*wide)
    quick = narrowed((p, q))
    return seldom(f32, broken(f32, y, *quick), narrowed(repaired(*wide, p, q)), quick)


# --- in f32 ------------------------------------------------------------------------------------------------------------------------------
def product(x, y):
    """x y in two words."""
    p = mul.f32(x, y)
    return p, fma.f32(x, y, neg.f32(p))


def left(x, first, second, nearer=False):
    """x - first - second, of two words each, where first + second is nearly x: x - first is exact in two words, and the rest cancels. That takes Knuth's
    TwoSum, or Dekker's if first and second have the sign of x, nearer (then first is no larger than x, or so near that s is exact)."""
    (p, p_low), (q, q_low) = first, second
    if x is None:
        return neg.f32(add.f32(add.f32(p, q), add.f32(p_low, q_low)))
    s = sub.f32(x, p)
    back = sub.f32(s, x)
    low = neg.f32(add.f32(p, back)) if nearer else sub.f32(sub.f32(x, sub.f32(s, back)), add.f32(p, back))
    return add.f32(sub.f32(s, q), sub.f32(sub.f32(low, p_low), q_low))


def odd(x, y, below):
    size = abs.f32(x) if y is None else max.f32(abs.f32(x), abs.f32(y))
    small = band.pred(lt.f32(size, LEAST[0]), ne.f32(size, 0.0))
    return bor.pred(bor.pred(small, bxor.pred(le.f32(size, MOST[0]), True)), bxor.pred(band.pred(ge.f32(below, LEAST[1]), le.f32(below, MOST[1])), True))


def by_f32(x, y, u, v):
    below = square(f32, u, v)
    r = rcpz.f32(below)
    q, s = (mul.f32(top, r) for top in times_conjugate(f32, x, y, u, v))
    rest = left(x, product(u, q), product(neg.f32(v), s), y is None), left(y, product(u, s), product(v, q))
    more = times_conjugate(f32, *rest, u, v)
    wide = widened(x, y, u, v)
    p, t = near_f64(*wide)
    bad = broken(f64, y, p, t)
    long = narrowed(select.f64(bad, way, near) for way, near in zip(repaired(*wide, p, t), (p, t)))
    return seldom(f32, odd(x, y, below), long, (fma.f32(more[0], r, q), fma.f32(more[1], r, s)))


REAL = [                                # before the others
    rewrite(div[c](a, complex[c][t](b, 0.0)),     complex[c][t](div[t](re[t][c](a), b), div[t](im[t][c](a), b))) for c, t in KINDS
]


def quotients(formula):
    return REAL + [
        rewrite(div.c64(complex.c64.f32(a, 0.0), b),  complex.c64.f32(*formula(a, None, *parts(b)))),
        rewrite(div.c64(a, b),                        complex.c64.f32(*formula(*parts(a), *parts(b)))),
    ]


VIA_F64, VIA_F32 = quotients(by_f64), quotients(by_f32)     # the second one for machines whose f64 is slow
