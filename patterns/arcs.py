"""asin, acos, atan2 and hypot of f32: the machine's estimates of roots and reciprocals, made more accurate by their remainders, and polynomials.

Needs the machine's fma and its functions with z; leaves a list that functions.py takes. The coefficients are from coefficients/f32.txt. The comment at
each rule is its number of SASS instructions (sm_80, sm_90, sm_120), then libdevice's.

    asin(a)     s = |a|, below 0.54; beyond, s = sqrt((1 - |a|) / 2), and pi/2 - 2 asin(s)
    atan2(a, b) q = the smaller size over the larger one, atan(q); pi/2 and pi less it by the octant
"""
from gen.lang import *
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
