"""sin, cos, tan of f32, right for every finite argument: reduced by multiples of pi/2, then polynomials.

Needs the helpers of polynomials.py; leaves a list for each kind of machine, and the reductions that halves.py takes, too.

    sin(a)   below 2^17, q = a 2/pi rounded, r = a - q pi/2 with pi/2 in three parts, and sin r or cos r by the parity of q;
             beyond, behind a branch that no thread takes as a rule, by 2/pi to as many bits as the exponent of a asks for
"""
from math import pi
from struct import pack as packing
from struct import unpack

from gen.lang import *
from patterns.polynomials import ROUND, hexadecimal, horner, sign_of, with_sign

PI_2, PI_2_LOW = hexadecimal('0x1.921fb4p+0 0x1.4442d2p-24')           # both positive: -0 stays
PI_2_PARTS = hexadecimal('0x1.921fb4p+0 0x1.4442dp-24 0x1.846988p-48')  # their sum is pi/2 to 70 bits
PI_2_NEAR, PI_2_REST = hexadecimal('0x1.921fb6p+0 -0x1.777a5cp-25')
ROUND_F64 = 1.5 * 2**52                      # below 2^51
LARGE = 2.0**17                              # below it, n pi/2 by three parts is exact enough: sin and cos miss by 1.7 units, tan by 3.1

SIN = hexadecimal('-0x1.555546p-3 0x1.110778p-7 -0x1.9953fep-13')
COS = hexadecimal('-0x1p-1 0x1.55554ap-5 -0x1.6c0c2ap-10 0x1.99e90ep-16')
COS_SHORT = hexadecimal('-0x1.ffffbp-2 0x1.553df8p-5 -0x1.643668p-10')
TAN = hexadecimal('0x1.5554d4p-2 0x1.112feep-3 0x1.b5421cp-5 0x1.92541p-6 0x1.7e3342p-9 0x1.37884ap-7')
SIN_OF_QUARTERS = hexadecimal('0x1.2c198p-24 -0x1.4abbb8p-1 0x1.465e46p-4 -0x1.2d872cp-8')
COS_OF_QUARTERS = hexadecimal('-0x1.3bd3ccp0 0x1.03c1b8p-2 -0x1.55b7cep-6 0x1.d684aep-11')
SIN_OF_F16 = hexadecimal('-0x1.55441ap-3 0x1.0b7c58p-7')
COS_OF_F16 = hexadecimal('-0x1.ffffb2p-2 0x1.553e62p-5 -0x1.6448d8p-10')


# --- any argument ---------------------------------------------------------------------------------------------------------------------
def in_two(p):
    """The integer times 2^-64 pi/2: its magnitude as 24 bits and 32 below them. A conversion of 64 bits would take 64 clocks where f64 is slow."""
    sign = shrax.i64(p, 63)
    m = bits.u64.i64(sub.i64(bxor.i64(p, sign), sign))
    upper, lower = cvt.f32.u32(band.u32(cvt.u32.u64(shrlx.u64(m, 32)), -256)), cvt.f32.u32(cvt.u32.u64(shrlx.u64(m, 8)))
    r = fma.f32(upper, PI_2_NEAR * 2.0**-32, fma.f32(upper, PI_2_REST * 2.0**-32, mul.f32(lower, PI_2_NEAR * 2.0**-56)))
    return with_sign(r, band.u32(cvt.u32.u64(bits.u64.i64(sign)), 1 << 31))


def roughly(p):
    """Accurate enough for 16 bits."""
    upper, lower = cvt.f32.i32(cvt.i32.i64(shrax.i64(p, 32))), cvt.f32.u32(cvt.u32.u64(bits.u64.i64(p)))
    return mul.f32(fma.f32(upper, 2.0**32, lower), PI_2_NEAR * 2.0**-64)


def quarters(a, scaled):
    """q modulo 4 and r in -pi/4..pi/4 with |a| = q pi/2 + r. For |a| = m 2^e only 96 bits of 2/pi matter, those whose product with m is
    below 4; integer arithmetic multiplies them. nan where a is not finite; below pi/4, r is |a|. `scaled` makes r from an integer, 2^64
    times the fraction of a quarter."""
    x = band.u32(bits.u32.f32(a), 0x7fffffff)
    m = shlx.u32(bor.u32(band.u32(x, 0x7fffff), 0x800000), band.u32(shrlx.u32(x, 23), 7))
    upper, middle, lower = (two_over_pi.u32(add.u32(shrlx.u32(x, 26), n) if n else shrlx.u32(x, 26)) for n in (0, 4, 8))
    product = add.u64(add.u64(mul.u64(cvt.u64.u32(m), cvt.u64.u32(middle)), cvt.u64.u32(mulhi.u32(m, lower))),
                      shlx.u64(cvt.u64.u32(mul.u32(m, upper)), 32))
    q = shrlx.u32(add.u32(cvt.u32.u64(shrlx.u64(product, 32)), 1 << 29), 30)
    r = scaled(shlx.i64(bits.i64.u64(product), 2))
    return q, fma.f32(abs.f32(a), 0.0, select.f32(lt.f32(abs.f32(a), 0.785), abs.f32(a), r))


def waves(r):
    """sin r, cos r"""
    square = mul.f32(r, r)
    return fma.f32(mul.f32(square, r), horner(square, SIN), r), fma.f32(square, horner(square, COS), 1.0)


def quarters_of(a):
    """q modulo 4 and y in -1/2..1/2 with a = (q + y) pi/2, in f64. Of 2/pi the bits matter whose product with a is below 4: 53 bits, which give
    q exactly, and 53 more. nan where a is not finite; -0 stays."""
    x = cvt.f64.f32(a)
    k = cvt.u64.u32(shrlx.u32(bits.u32.f32(a), 26))
    upper, lower = (bits.f64.u64(two_over_pi_part.u64(n)) for n in (k, add.u64(k, 64)))
    j = fma.f64(x, upper, ROUND_F64)
    y = fma.f64(x, lower, fma.f64(x, upper, neg.f64(sub.f64(j, ROUND_F64))))
    return cvt.u32.u64(bits.u64.f64(j)), cvt.f32.f64(y)


def waves_of(y):
    """sin (y pi/2), cos (y pi/2). The first coefficient of the sine is the second part of pi/2."""
    square = mul.f32(y, y)
    return fma.f32(y, PI_2, mul.f32(y, horner(square, SIN_OF_QUARTERS))), fma.f32(square, horner(square, COS_OF_QUARTERS), 1.0)


def odd(q):
    return ne.u32(band.u32(q, 1), 0)


def negative(q):
    """The sign of quarters 2 and 3."""
    return band.u32(shlx.u32(q, 30), 1 << 31)


def sin_of(q, waves):
    s, c = waves
    return with_sign(select.f32(odd(q), c, s), negative(q))


def cos_of(q, waves):
    s, c = waves
    return with_sign(select.f32(odd(q), s, c), negative(add.u32(q, 1)))


def by_f64(function, a):
    q, y = quarters_of(a)
    return function(q, waves_of(y))


def by_f32(function, a):
    """Of |a|: the cosine is even, of the odd functions the sign of a is that of the result."""
    q, r = quarters(a, in_two)
    t = function(q, waves(r))
    return t if function is cos_of else with_sign(t, sign_of(a))


def quotient(a, b):
    """a / b, correctly rounded or nearly so where nothing over- or underflows."""
    inverse = rcpz.f32(b)
    first = mul.f32(a, inverse)
    return fma.f32(fma.f32(neg.f32(first), b, a), inverse, first)


def tan_of(q, waves):
    """In odd quarters -cos / sin. The sign of a zero is lost."""
    s, c = waves
    return quotient(select.f32(odd(q), c, s), select.f32(odd(q), neg.f32(s), c))


# --- arguments that are not large, as nearly all are: the others go behind a branch (src/vector/rare.c) ---------------------------------
def near_quarters(a):
    """q in the last bits of the first, and r. n times the first part of pi/2 is exact, and so is what it leaves of a."""
    j = fma.f32(a, 2 / pi, ROUND)
    n = sub.f32(j, ROUND)
    r = a
    for part in PI_2_PARTS:
        r = fma.f32(n, -part, r)
    return bits.u32.f32(j), r


def near_waves(r):
    """sin r, cos r. The sum with 0 makes 0 of the -0 that r = -0 leaves: so the sine of -0 is -0."""
    square = mul.f32(r, r)
    return fma.f32(r, fma.f32(square, horner(square, SIN), 0.0), r), fma.f32(square, horner(square, COS_SHORT), 1.0)


def near_tan(q, r):
    """In odd quarters -1 / tan r."""
    square = mul.f32(r, r)
    t = fma.f32(mul.f32(square, r), horner(square, TAN), r)
    inverse = rcpz.f32(neg.f32(t))
    return select.f32(odd(q), fma.f32(inverse, fma.f32(t, inverse, 1.0), inverse), t)


def usually(of, a, long):
    """`long` where |a| is not below LARGE: for this value alone, as the two differ in the last bits."""
    q, r = near_quarters(a)
    quick = near_tan(q, r) if of is tan_of else of(q, near_waves(r))
    large = bxor.pred(lt.f32(abs.f32(a), LARGE), True)
    return select.f32.rare(large, select.f32(large, long, quick), quick)


VIA_F64 = [                                  # issue slots of a lane: 19, 19, 20; on the long way 25, 26, 32 more; libdevice's 75, 77, 75
    rewrite(sin.f32(a),                      usually(sin_of, a, by_f64(sin_of, a)), when=~approx),
    rewrite(cos.f32(a),                      usually(cos_of, a, by_f64(cos_of, a)), when=~approx),
    rewrite(tan.f32(a),                      usually(tan_of, a, with_sign(by_f64(tan_of, abs.f32(a)), sign_of(a)))),
]
VIA_F32 = [                                  # for machines where one f64 operation takes as long as 64 of f32: on the long way 42, 42, 47 more
    rewrite(sin.f32(a),                      usually(sin_of, a, by_f32(sin_of, a)), when=~approx),
    rewrite(cos.f32(a),                      usually(cos_of, a, by_f32(cos_of, a)), when=~approx),
    rewrite(tan.f32(a),                      usually(tan_of, a, by_f32(tan_of, a))),
]

# --- isel -----------------------------------------------------------------------------------------------------------------------------------
BITS_OF_2_OVER_PI = bytes(19) + bytes.fromhex('a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e006492eea09d1921c')


def part_of_2_over_pi(at, shift):
    x = int.from_bytes(BITS_OF_2_OVER_PI[at:at + 16], 'big') >> shift & 2**53 - 1
    return unpack('Q', packing('d', x * 2.0**(shift - 128 - 8 * (at - 19))))[0]


INSTR = [
    lookup(two_over_pi.u32(a),               [int.from_bytes(BITS_OF_2_OVER_PI[k:k + 4], 'big') for k in range(64)]),
    lookup(two_over_pi_part.u64(a),          [part_of_2_over_pi(at, shift) for shift in (75, 22) for at in 2 * ([19] * 20 + [*range(20, 32)])]),
]
