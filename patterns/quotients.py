"""Quotients and square roots, correctly rounded without a branch: a start that the machine guesses, then corrections in a wider type.

The code that ptxas makes of div.rn and sqrt.rn asks of every element whether it is an easy one, and keeps a subroutine of 90 and of 20
instructions for the others. What stands here is straight: all lanes of a thread run at once. A quotient that is to be rounded to n bits lies
2^-(2n+1) of itself or more away from where rounding turns, or exactly there; so a wider type that is off by less, and that has a quotient of
few bits exactly, rounds to the right side. Where a correction loses what a zero, an infinity or nan should give, the uncorrected one has it.

    div.f32(a, b)    y = 1 / b of 20 bits, q = a y, q' = q + q (1 - b y), q'' = q' + (a - b q') y, all in f64; q'' in f32
"""
from gen.lang import *


def quotient(x, y, one, steps):
    """x / y by one guess and `steps` corrections; x times the guess where that is zero or no number, with its sign."""
    t, guess = {'f64': (f64, rcpz.f64)}[one]
    r = guess(y)
    first = mul[t](x, r)
    q = fma[t](first, fma[t](neg[t](y), r, 1.0), first) if steps > 1 else first
    q = fma[t](fma[t](neg[t](y), q, x), r, q)
    return select[t](gt[t](abs[t](q), 0.0), q, first)


def reciprocal(y):
    """1 / y: two corrections in one, off by their cube. A power of two is exact, no other quotient of 1 has few bits."""
    r = rcpz.f64(y)
    off = fma.f64(neg.f64(y), r, 1.0)
    q = fma.f64(r, fma.f64(off, off, off), r)
    return select.f64(eq.f64(q, q), q, r)


def root(x, a):
    """The square root of x, which is a: s = x r and r is off by e, sqrt(x) = s (1 + e/2 + 3/8 e^2 + ..). Of 0 and inf it is themselves."""
    r = rsqrtz.f64(x)
    s = mul.f64(x, r)
    off = fma.f64(neg.f64(s), r, 1.0)
    q = fma.f64(s, mul.f64(off, fma.f64(off, 0.375, 0.5)), s)
    return select.f32(eq.f64(add.f64(r, r), r), a, cvt.f32.f64(q))


# Machines that compute f64 at half the speed of f32. SASS instructions a lane: 14, 10, 12; ptxas 15, 13, 15 and its subroutines
VIA_F64 = [
    rewrite(div.f32(1.0, b),                 cvt.f32.f64(reciprocal(cvt.f64.f32(b))),                                                   when=~approx),
    rewrite(div.f32(a, b),                   cvt.f32.f64(quotient(cvt.f64.f32(a), cvt.f64.f32(b), 'f64', 2)),                           when=~approx),
    rewrite(sqrt.f32(a),                     root(cvt.f64.f32(a), a),                                                                   when=~approx),
    rewrite(div.bf16(a, b),                  cvt.bf16.f32(cvt.f32.f64(quotient(cvt.f64.bf16(a), cvt.f64.bf16(b), 'f64', 1))),           when=~approx),
]
INSTR = [
    asm (rcpz.f64(a),                         'rcp.approx.ftz.f64 %d, %a;',    err=rel(2**-20)),
    asm (rsqrtz.f64(a),                       'rsqrt.approx.ftz.f64 %d, %a;',  err=rel(2**-20)),
]
