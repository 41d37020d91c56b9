"""Quotients and square roots, correctly rounded without a branch: the machine's estimate, then corrections in a wider type.

The code that ptxas makes of div.rn and sqrt.rn tests whether an element is easy and calls a subroutine of 90 or 20 instructions for the
others. The rules of this file have no branches, so all lanes of a thread run at once. A quotient that is rounded to n bits is at a tie, or at
least 2^-(2n+1) of itself away from one. So a result in a wider type with a smaller error, and exact where the quotient has few bits, is
rounded correctly.

    div.f32(a, b)    r = 1 / b of 20 bits, a little small, q = a r, e = 1 - b r, q' = q + q (e + e^2), all in f64; q' in f32

The machine's estimate has 21 bits, so q and e are exact, and q' is off by e^3 < 2^-54 before it is rounded: a quotient of 24 bits is exact, and so
is a tie of a subnormal one. r is below 1 / b, so e is positive: for a zero or infinite a the result is q, with the right sign.
"""
from gen.lang import *

INF = float('inf')
LARGER = 2.5 * 2.0**-20  # share added to the divisor, so that the estimate is below 1 / y: the upper word of y and the estimate are off by 2^-20
NEAR_3_8, NEAR_7_3 = float.fromhex('0x1.7fffdp-2'), float.fromhex('0x1.2aaacp+1')  # NEAR_3_8 (NEAR_7_3 - 1) is 1/2; low words 0, so both are immediates


def positive(t):
    """t, or 2^-17 where t is nan: there the estimate is zero or infinite, and so is the quotient. t is below 2^-18."""
    t = bits.u64.f64(t)
    upper = min.u32(cvt.u32.u64(shrlx.u64(t, 32)), 0x3ee00000)
    return bits.f64.u64(bor.u64(shlx.u64(cvt.u64.u32(upper), 32), band.u64(t, 0xffffffff)))


def guess(y, cube):
    """r and t such that 1 / y = r (1 + t), with an error of the cube or the square of 2^-18.1."""
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
    """With s = x r and e = 1 - s r, sqrt(x) = s (1 + e/2 + 3/8 e^2 + ..), and e^2 3/8 + e/2 = 3/8 e (e + 4/3). For 0, r is large and finite. For
    infinity the last bit of r makes it 2^-1074 rather than 0, so that s is infinite."""
    r = bits.f64.u64(bor.u64(bits.u64.f64(rsqrtz.f64(add.f64(x, 2.0**-1022))), 1))
    s = mul.f64(x, r)
    e, more = fma.f64(neg.f64(s), r, 1.0), fma.f64(neg.f64(s), r, NEAR_7_3)
    return fma.f64(mul.f64(mul.f64(s, NEAR_3_8), e), more, s)


def length():
    """hypot(a, b) in f32. In f64 no square overflows or underflows; the result is infinite if one operand is, even if the other is nan."""
    x, y = cvt.f64.f32(a), cvt.f64.f32(b)
    infinite = bor.pred(eq.f32(abs.f32(a), INF), eq.f32(abs.f32(b), INF))
    return select.f32(infinite, INF, cvt.f32.f64(root(fma.f64(x, x, mul.f64(y, y)))))


# For machines with f64 at half the speed of f32. SASS instructions a lane: 9, 11, 11; 4 for each further quotient by the same divisor. ptxas: 15, 13, 15
# and its subroutines. A length takes 17, libdevice's 51
VIA_F64 = [
    rewrite(div.f32(1.0, b),                 cvt.f32.f64(reciprocal(cvt.f64.f32(b))),                                                   when=~approx),
    rewrite(div.f32(a, b),                   cvt.f32.f64(quotient(cvt.f64.f32(a), cvt.f64.f32(b), True)),                               when=~approx),
    rewrite(sqrt.f32(a),                     cvt.f32.f64(root(cvt.f64.f32(a))),                                                         when=~approx),
    rewrite(hypot.f32(a, b),                 length()),
    rewrite(div.bf16(a, b),                  cvt.bf16.f32(cvt.f32.f64(quotient(cvt.f64.bf16(a), cvt.f64.bf16(b), False))),              when=~approx),
]
