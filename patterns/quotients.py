"""Quotients and square roots, correctly rounded without a branch: a start that the machine guesses, then corrections in a wider type.

The code that ptxas makes of div.rn and sqrt.rn asks of every element whether it is an easy one, and keeps a subroutine of 90 and of 20
instructions for the others. What stands here is straight: all lanes of a thread run at once. A quotient that is to be rounded to n bits lies
2^-(2n+1) of itself or more away from where rounding turns, or exactly there; so a wider type that is off by less, and that has a quotient of
few bits exactly, rounds to the right side.

    div.f32(a, b)    r = 1 / b of 20 bits, a little small, q = a r, e = 1 - b r, q' = q + q (e + e^2), all in f64; q' in f32

The machine's guess has 21 bits, so q and e are exact, and q' is off by e^3 < 2^-54 before it is rounded: a quotient of 24 bits comes out exactly,
and half a unit of a subnormal one with it. Because r is small, e is positive: zeros and infinities of a keep their sign and are themselves.
"""
from gen.lang import *

INF = float('inf')
LARGER = 2.5 * 2.0**-20  # by so much of it the divisor, and the guess stays below 1 / y: the upper word of y and the guess are off by 2^-20 each
NEAR_3_8, NEAR_7_3 = float.fromhex('0x1.7fffdp-2'), float.fromhex('0x1.2aaacp+1')  # NEAR_3_8 (NEAR_7_3 - 1) is 1/2; both have an upper word alone: immediate


def positive(t):
    """t, or 2^-17 where that is nan: there the guess is what the quotient is made of, zero or infinite. t is below 2^-18."""
    t = bits.u64.f64(t)
    upper = min.u32(cvt.u32.u64(shrlx.u64(t, 32)), 0x3ee00000)
    return bits.f64.u64(bor.u64(shlx.u64(cvt.u64.u32(upper), 32), band.u64(t, 0xffffffff)))


def guess(y, cube):
    """r and t such that 1 / y = r (1 + t), off by the cube or the square of 2^-18.1."""
    r = rcpz.f64(fma.f64(y, LARGER, y))
    e = fma.f64(neg.f64(y), r, 1.0)
    return r, positive(fma.f64(e, e, e) if cube else e)


def quotient(x, y, cube):
    r, t = guess(y, cube)
    q = mul.f64(x, r)
    return fma.f64(q, t, q)


def reciprocal(y):
    r, t = guess(y, True)
    return fma.f64(r, t, r)


def root(x):
    """s = x r and r is off by e, sqrt(x) = s (1 + e/2 + 3/8 e^2 + ..), e^2 3/8 + e/2 = 3/8 e (e + 4/3). Of 0 r is large and finite. A last bit in
    r makes it 2^-1074 where x is infinite, and s too."""
    r = bits.f64.u64(bor.u64(bits.u64.f64(rsqrtz.f64(add.f64(x, 2.0**-1022))), 1))
    s = mul.f64(x, r)
    e, more = fma.f64(neg.f64(s), r, 1.0), fma.f64(neg.f64(s), r, NEAR_7_3)
    return fma.f64(mul.f64(mul.f64(s, NEAR_3_8), e), more, s)


def length():
    """Of (a, b) in f32. In f64 no square leaves the range, and 2^-1000 is small beside the least; an infinity beside a nan is one."""
    x, y = cvt.f64.f32(a), cvt.f64.f32(b)
    infinite = bor.pred(eq.f32(abs.f32(a), INF), eq.f32(abs.f32(b), INF))
    return select.f32(infinite, INF, cvt.f32.f64(root(fma.f64(x, x, mul.f64(y, y)))))


# Machines that compute f64 at half the speed of f32. SASS instructions a lane: 9, 11, 11; of each more quotient by one divisor 4. ptxas 15, 13, 15 and
# its subroutines; a length 17, libdevice's 51
VIA_F64 = [
    rewrite(div.f32(1.0, b),                 cvt.f32.f64(reciprocal(cvt.f64.f32(b))),                                                   when=~approx),
    rewrite(div.f32(a, b),                   cvt.f32.f64(quotient(cvt.f64.f32(a), cvt.f64.f32(b), True)),                               when=~approx),
    rewrite(sqrt.f32(a),                     cvt.f32.f64(root(cvt.f64.f32(a))),                                                         when=~approx),
    rewrite(hypot.f32(a, b),                 length()),
    rewrite(div.bf16(a, b),                  cvt.bf16.f32(cvt.f32.f64(quotient(cvt.f64.bf16(a), cvt.f64.bf16(b), False))),              when=~approx),
]
