"""The order of floats in which JAX sorts and searches."""
from gen.lang import *
from patterns.arith import HIGH

NAN = float('nan')
TYPES = ((f32, i32), (f64, i64))


def in_order(x, t, i):
    """The bits of x as an integer, in whose order -0 is 0 and nan is the largest."""
    bits_of = bits[i][t](select[t](ne[t](x, x), NAN, select[t](eq[t](x, 0.0), 0.0, x)))
    return select[i](lt[i](bits_of, 0), bxor[i](bits_of, HIGH[i.name]), bits_of)


# --- simplify: x is before y if it is no nan, and not y or more -----------------------------------------------------------------
ORDER = [
    rewrite(lt[i](in_order(a, t, i), in_order(b, t, i)), band.pred(eq[t](a, a), bxor.pred(ge[t](a, b), True))) for t, i in TYPES
] + [
    rewrite(gt[i](in_order(a, t, i), in_order(b, t, i)), band.pred(eq[t](b, b), bxor.pred(ge[t](b, a), True))) for t, i in TYPES
]
