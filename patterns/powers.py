"""Powers with a constant exponent, by products and roots.

    pow.f32(a, 2.0)    a * a, which rounds once
    pow.f32(a, 0.5)    the root of a + 0.0, so that a power of -0 is 0, and infinity where a is -infinity, of which there is no root

Other compilers do the same where a model raises to 2 or 3. An exponent that is not exactly one of these, as 0.333 for a cube root, is a power.
Comments give machine instructions on sm_90 and the largest error.
"""
from gen.lang import *

INF = float('inf')
TYPES = (f32, f64)                           # halves and below go through f32, squares of halves excepted


def square(t, x):
    return mul[t](x, x)


def with_zero(t, x):
    """x, but 0 instead of -0: the power of that is 0, where a root is -0."""
    return add[t](x, 0.0)


def root(t, x):
    return sqrt[t](with_zero(t, x))


def three_halves(t, x):
    return mul[t](with_zero(t, x), root(t, x))


def with_infinity(t, x, result, at_infinity):
    """The result, but where x is -infinity."""
    return select[t](eq[t](x, -INF), at_infinity, result)


ALL = [
    rewrite(pow[F](a, 1.0),                  a),
    rewrite(pow[F16](a, 2.0),                mul[F16](a, a)),
] + [rule for t in TYPES for rule in (
    rewrite(pow[t](a, 2.0),                  square(t, a)),                                    # 1, 0.5 ulp
    rewrite(pow[t](a, 3.0),                  mul[t](square(t, a), a)),                         # 2, 1.3
    rewrite(pow[t](a, 4.0),                  square(t, square(t, a))),                         # 2, 1.9
    rewrite(pow[t](a, -1.0),                 div[t](1.0, a)),
    rewrite(pow[t](a, 0.5),                  with_infinity(t, a, root(t, a), INF)),
    rewrite(pow[t](a, 1.5),                  with_infinity(t, a, three_halves(t, a), INF)),
)] + [
    rewrite(pow.f32(a, -0.5),                with_infinity(f32, a, rsqrt.f32(with_zero(f32, a)), 0.0)),
    rewrite(pow.f64(a, -0.5),                with_infinity(f64, a, div.f64(1.0, root(f64, a)), 0.0)),
    rewrite(pow.f64(a, -2.0),                square(f64, div.f64(1.0, a))),                    # of f32, at XLA's quotients, beyond 5 ulp
]
