"""asin, acos, atan2 and hypot: the machine's estimates of roots and reciprocals, made more accurate by their remainders, and polynomials.

Needs the machine's fma and its functions with z; leaves lists that functions.py takes. The coefficients are from coefficients/f32.txt and f64.txt. The
comment at each rule is its number of SASS instructions (sm_80, as a rule on all), then libdevice's.

    asin(a)     s = |a|, below 0.54; beyond, s = sqrt((1 - |a|) / 2), and pi/2 - 2 asin(s)
    atan2(a, b) q = the smaller size over the larger one, atan(q); pi/2 and pi less it by the octant
"""
from gen.lang import *
from patterns import doubles
from patterns.doubles import high
from patterns.polynomials import INF, hexadecimal, horner, sign_of, with_sign

ASIN = hexadecimal('0x1.555678p-3 0x1.32c97cp-4 0x1.7a084cp-5 0x1.55f83cp-6 0x1.86ad46p-5')
ASIN_OF_HALF = hexadecimal('0x1.5555c8p-3 0x1.3301fep-4 0x1.747cbep-5 0x1.8c30b4p-6 0x1.596a7ep-5')
ATAN = hexadecimal('-0x1.5554dcp-2 0x1.9978eep-3 -0x1.230abp-3 0x1.b4dfdcp-4 -0x1.3553f4p-4 0x1.61f756p-5 -0x1.0c23fep-6 0x1.7ec1c4p-9')
PI_2, PI_2_LOW = hexadecimal('0x1.921fb6p+0 -0x1.777a5cp-25')
PI_BY, PI_2_BY, BY = hexadecimal('0x1.ddcb02p+0 0x1.ddcb02p-1 0x1.aee9d6p+0')   # their products are pi and pi/2 to 48 bits, which fma does not round
FAR = 0.541                                  # from where asin takes the root: asin of that is below 1/2, so twice its rounding error is half a unit


def half_angle(a, limit):
    """Whether |a| is beyond the limit; |a|; z, its square or (1 - |a|) / 2; of the latter the root s, z - s^2 and 1 / (2 s), whose product is what the
    root lacks. At 1, where the root would be nan, 2^-126 makes it 0; it changes no other number."""
    size = abs.f32(a)
    far = gt.f32(size, limit)
    z = select.f32(far, fma.f32(size, -0.5, 0.5), mul.f32(a, a))
    r = rsqrtz.f32(add.f32(z, 2.0**-126))
    s = mul.f32(z, r)
    return far, size, z, s, fma.f32(neg.f32(s), s, z), mul.f32(r, 0.5)


def asin_of(a):
    """The sum is rounded once, with the error of the root and the low part of pi/4 in its smaller term."""
    far, size, z, root, left, half = half_angle(a, FAR)
    s = select.f32(far, root, size)
    more = select.f32(far, fma.f32(left, half, -0.5 * PI_2_LOW), 0.0)
    arc = add.f32(s, fma.f32(mul.f32(s, z), horner(z, ASIN), more))
    return with_sign(select.f32(far, fma.f32(arc, -2.0, PI_2), arc), sign_of(a))


def acos_of(a):
    """0 or pi and twice the arc of the root, or pi/2 less the arc, with the sign of a."""
    far, size, z, root, left, half = half_angle(a, 0.5)
    s = select.f32(far, fma.f32(left, half, root), size)
    arc = with_sign(fma.f32(mul.f32(s, z), horner(z, ASIN_OF_HALF), s), sign_of(a))
    start = select.f32(far, select.f32(gt.f32(a, 0.0), 0.0, 2 * PI_2), PI_2)
    return fma.f32(arc, select.f32(far, 2.0, -1.0), start)


def in_range(a, b):
    """The larger size, the smaller one, and the exponent of the larger but for its last two bits, as bits: scaled by it, no square and no reciprocal over-
    or underflows."""
    larger, smaller = max.f32(abs.f32(a), abs.f32(b)), min.f32(abs.f32(a), abs.f32(b))
    exponent = band.u32(bits.u32.f32(larger), 0x7e000000)
    return larger, smaller, exponent


def hypot_of(a, b):
    """Both scaled; the root is made more accurate by its remainder. 2^-126 changes no sum but that of zeros, whose root, scaled back, is 0."""
    larger, smaller, exponent = in_range(a, b)
    scale = bits.f32.u32(sub.u32(0x7e800000, exponent))
    x, y = mul.f32(larger, scale), mul.f32(smaller, scale)
    sum = fma.f32(x, x, fma.f32(y, y, 2.0**-126))
    r = rsqrtz.f32(sum)
    s = mul.f32(sum, r)
    root = fma.f32(fma.f32(neg.f32(s), s, sum), mul.f32(r, 0.5), s)
    is_infinite = bor.pred(eq.f32(abs.f32(a), INF), eq.f32(abs.f32(b), INF))
    return select.f32(is_infinite, INF, mul.f32(root, bits.f32.u32(add.u32(exponent, 0x00800000))))


def atan2_of(a, b):
    """The quotient is made more accurate by its remainder. An infinite size becomes one whose reciprocal the machine takes to 0; 2^-100 makes one of 0
    a large number. The quotient of two infinities is 1."""
    larger, smaller, exponent = in_range(a, b)
    scale = bits.f32.u32(sub.u32(0x7f000000, exponent))
    y, x = mul.f32(smaller, scale), min.f32(fma.f32(larger, scale, 2.0**-100), 2.0**127)
    r = rcpz.f32(x)
    first = mul.f32(y, r)
    q = select.f32(eq.f32(smaller, INF), 1.0, fma.f32(fma.f32(neg.f32(first), x, y), r, first))
    square = mul.f32(q, q)
    t = fma.f32(mul.f32(horner(square, ATAN), square), q, q)
    t = select.f32(gt.f32(abs.f32(a), abs.f32(b)), fma.f32(PI_2_BY, BY, neg.f32(t)), t)
    t = select.f32(lt.i32(bits.i32.f32(b), 0), fma.f32(PI_BY, BY, neg.f32(t)), t)
    return with_sign(t, sign_of(a))


F32 = [
    rewrite(asin.f32(a),                     asin_of(a)),             # 23, 25
    rewrite(acos.f32(a),                     acos_of(a)),             # 25, 26
    rewrite(atan2.f32(a, b),                 atan2_of(a, b)),         # 30, 42
    rewrite(hypot.f32(a, b),                 hypot_of(a, b)),         # 18, 25; by way of f64, whose conversions are slow, as many
]


# --- f64 -----------------------------------------------------------------------------------------------------------------------------------
PI_2_F64, PI_2_LOW_F64 = float.fromhex('0x1.921fb54442d18p+0'), float.fromhex('0x1.1a62633145c07p-54')
PI_2_F64_BY, BY_F64 = float.fromhex('0x1.817d0947b2611p+0'), float.fromhex('0x1.0b0c27p+0')     # their product is pi/2 to 75 bits
ASIN_F64 = [float.fromhex(x) for x in (
    '0x1.55555555556cdp-3', '0x1.333333330293p-4', '0x1.6db6db90e3002p-5', '0x1.f1c70fa6efcf6p-6', '0x1.6e8d014991f78p-6',
    '0x1.1c36c4abd7e3dp-6', '0x1.cbcf447e3db47p-7', '0x1.6892d1a06a5eep-7', '0x1.a55096ad3eebdp-7', '-0x1.defdef7530d9p-9',
    '0x1.3b853d8daaf26p-5', '-0x1.6304aef7e527ap-5', '0x1.76db37ec84874p-5')]
ATAN_F64 = [float.fromhex(x) for x in (
    '-0x1.5555555555526p-2', '0x1.99999999955b4p-3', '-0x1.249249237f57dp-3', '0x1.c71c717fcf76dp-4', '-0x1.745d11ae74c7ap-4',
    '0x1.3b13669a2a047p-4', '-0x1.110e5126fd02dp-4', '0x1.e1bba66c1a4b8p-5', '-0x1.ae5e72c0e6984p-5', '0x1.82dad79d1736p-5',
    '-0x1.59a3ff2ac6667p-5', '0x1.2c2e5ccfd4e26p-5', '-0x1.e9fa0da6643e9p-6', '0x1.683cc98472e13p-6', '-0x1.c78fcd542af16p-7',
    '0x1.d7b927bbdceedp-8', '-0x1.7a399ad4364a2p-9', '0x1.b3facbcd7bb8ap-11', '-0x1.3f364d4b9695cp-13', '0x1.bbed9f7b04237p-17')]


def root_of(x, r):
    """The root of x by r = 1 / sqrt(x), or nearly: off by its last rounding."""
    s = mul.f64(x, r)
    e = fma.f64(neg.f64(s), r, 1.0)
    return fma.f64(s, mul.f64(e, fma.f64(e, 0.375, 0.5)), s)


def half_angle_f64(a):
    size = abs.f64(a)
    far = gt.f64(size, 0.5)
    z = select.f64(far, fma.f64(size, -0.5, 0.5), mul.f64(a, a))
    r = rsqrtz.f64(add.f64(z, 2.0**-1000))
    return far, size, z, root_of(z, r), r


def asin_of_f64(a):
    far, size, z, root, r = half_angle_f64(a)
    s = select.f64(far, root, size)
    more = select.f64(far, fma.f64(fma.f64(neg.f64(root), root, z), mul.f64(r, 0.5), -0.5 * PI_2_LOW_F64), 0.0)
    arc = add.f64(s, fma.f64(mul.f64(s, z), doubles.horner(z, ASIN_F64), more))
    return copysign.f64(select.f64(far, fma.f64(arc, -2.0, PI_2_F64), arc), a)


def acos_of_f64(a):
    far, size, z, root, _ = half_angle_f64(a)
    s = select.f64(far, root, size)
    arc = copysign.f64(fma.f64(mul.f64(s, z), doubles.horner(z, ASIN_F64), s), a)
    start = select.f64(far, select.f64(gt.f64(a, 0.0), 0.0, 2 * PI_2_F64), PI_2_F64)
    return fma.f64(arc, select.f64(far, 2.0, -1.0), start)


def in_range_f64(a, b):
    """As in_range, by the bits of the sizes: a nan is the larger one."""
    first, second = (band.u64(bits.u64.f64(x), 2**63 - 1) for x in (a, b))
    swapped = gt.u64(first, second)
    larger, smaller = select.u64(swapped, first, second), select.u64(swapped, second, first)
    return larger, smaller, band.u32(high(bits.f64.u64(larger)), 0x7fc00000), swapped


def is_infinite(size):
    return eq.u64(size, 0x7ff << 52)


def of_high(word):
    """The number whose low word is 0."""
    return bits.f64.u64(shlx.u64(cvt.u64.u32(word), 32))


def hypot_of_f64(a, b):
    larger, smaller, exponent, _ = in_range_f64(a, b)
    scale = of_high(sub.u32(0x7fd00000, exponent))
    x, y = mul.f64(bits.f64.u64(larger), scale), mul.f64(bits.f64.u64(smaller), scale)
    sum = fma.f64(x, x, fma.f64(y, y, 2.0**-1000))
    root = mul.f64(root_of(sum, rsqrtz.f64(sum)), of_high(add.u32(exponent, 0x00100000)))
    return select.f64(bor.pred(is_infinite(larger), is_infinite(smaller)), doubles.INF, root)


def atan2_of_f64(a, b):
    """Of an infinite size the quotient is 1 or 0."""
    larger, smaller, exponent, swapped = in_range_f64(a, b)
    scale = of_high(sub.u32(0x7fe00000, exponent))
    x, y = fma.f64(bits.f64.u64(larger), scale, 2.0**-900), mul.f64(bits.f64.u64(smaller), scale)
    r = rcpz.f64(x)
    e = fma.f64(neg.f64(x), r, 1.0)
    r = fma.f64(r, fma.f64(e, e, e), r)
    first = mul.f64(y, r)
    q = fma.f64(fma.f64(neg.f64(first), x, y), r, first)
    q = select.f64(is_infinite(larger), select.f64(is_infinite(smaller), 1.0, 0.0), q)
    square = mul.f64(q, q)
    t = fma.f64(mul.f64(doubles.horner(square, ATAN_F64), square), q, q)
    t = select.f64(swapped, fma.f64(PI_2_F64_BY, BY_F64, neg.f64(t)), t)
    t = select.f64(lt.i32(bits.i32.u32(high(b)), 0), fma.f64(2 * PI_2_F64_BY, BY_F64, neg.f64(t)), t)
    return copysign.f64(t, a)


F64 = [
    rewrite(asin.f64(a),                     asin_of_f64(a)),         # 48, 65 (sm_90: 76, 117; sm_120: 170, 248)
    rewrite(acos.f64(a),                     acos_of_f64(a)),         # 46, 70 (70, 124; 153, 248)
    rewrite(atan2.f64(a, b),                 atan2_of_f64(a, b)),     # 62, 74 (104, 114; 201, 236)
    rewrite(hypot.f64(a, b),                 hypot_of_f64(a, b)),     # 33, 40 (33, 44; 65, 92)
]
