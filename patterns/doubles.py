"""Functions of f64 by polynomials: those that are as short and as accurate as libdevice's, each within one unit in the last place, tanh within 1.8. The
coefficients are from coefficients/f64.sollya, in hexadecimal. There are no branches: arguments out of range are handled by a select at the end."""
from gen.lang import *

INF = float('inf')
LOG2_E = float.fromhex('0x1.71547652b82fep0')
LN_2 = float.fromhex('0x1.62e42fefa38p-1'), float.fromhex('0x1.ef35793c7673p-45')       # in two parts, the first of 42 bits
NAN = float('nan')
ONE, ROOT_HALF = 0x3ff00000, 0x3fe6a09e       # high words of 1 and of the square root of a half
HIGH_708 = float.fromhex('0x1.0c4p2')             # the high word of 708, as a number of f32: nan and infinity have nan
WHOLE = 1.5 * 2.0**52                        # a number added to it is rounded to an integer, in the low word of the sum

EXP = [float.fromhex(x) for x in (
    '0x1p0', '0x1p0', '0x1.000000000000ap-1', '0x1.55555555554fep-3', '0x1.55555555506bcp-5', '0x1.1111111126b36p-7', '0x1.6c16c18477083p-10',
    '0x1.a01a012fee99cp-13', '0x1.a019995efb00fp-16', '0x1.71df18ef76144p-19', '0x1.28adfccb26cd8p-22', '0x1.ad92e899366cbp-26')]
LOG = [float.fromhex(x) for x in (           # in z = s^2: (log((1 + s) / (1 - s)) / s - 2) / z
    '0x1.5555555555592p-1', '0x1.999999997ff2bp-2', '0x1.24924941e0829p-2', '0x1.c71c5214811cdp-3', '0x1.74663d04574f6p-3',
    '0x1.39a1e2daf37a4p-3', '0x1.2f041b8e6ae83p-3')]

EXP2 = [float.fromhex(x) for x in (
    '0x1p0', '0x1.62e42fefa39efp-1', '0x1.ebfbdff82c5a6p-3', '0x1.c6b08d704a12cp-5', '0x1.3b2ab6fb9fda6p-7', '0x1.5d87fe789e96fp-10',
    '0x1.4309130f6cbdbp-13', '0x1.ffcbfc6685f06p-17', '0x1.62bfc6596be12p-20', '0x1.b52522bc15f8fp-24', '0x1.e61d43321746dp-28',
    '0x1.e973179a994acp-32')]
POW = [float.fromhex(x) for x in (           # in u^2: (log((2 + u) / (2 - u)) - u - u^3 / 12) / u^5
    '0x1.9999999999996p-7', '0x1.2492492492f4bp-9', '0x1.c71c71c597986p-12', '0x1.745d1828c5b6p-14', '0x1.3b1364f1cde6cp-16',
    '0x1.11206905d7b7bp-18', '0x1.de3e687dc7f69p-21', '0x1.eabdd44e8ef79p-23')]
LOG2_E_LOW = float.fromhex('0x1.777d0ffda0d24p-56')
TWELFTH, TWELFTH_LOW = float.fromhex('0x1.5555555555555p-4'), float.fromhex('0x1.5555555555555p-58')


def horner(x, coefficients):
    out = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        out = fma.f64(out, x, c)
    return out


def low(x):
    """The low word of x."""
    return cvt.i32.i64(bits.i64.f64(x))


def high(x):
    """The high word of x."""
    return cvt.u32.u64(shrlx.u64(bits.u64.f64(x), 32))


def with_high(x, word):
    """x with another high word."""
    return bits.f64.u64(bor.u64(shlx.u64(cvt.u64.u32(word), 32), cvt.u64.u32(cvt.u32.u64(bits.u64.f64(x)))))


def power_of_two(n):
    """2^n for -1022 <= n <= 1023."""
    return bits.f64.i64(shlx.i64(cvt.i64.i32(add.i32(n, 1023)), 52))


def times_power_of_two(x, n):
    """2^n x, where both are normal."""
    return with_high(x, add.u32(high(x), shlx.u32(bits.u32.i32(n), 20)))


def reduced(x):
    """n as i32, r, and the rounding error of r: x = n ln(2) + r + error."""
    t = fma.f64(x, LOG2_E, WHOLE)
    n = sub.f64(t, WHOLE)
    near = fma.f64(n, -LN_2[0], x)
    r = fma.f64(n, -LN_2[1], near)
    return low(t), r, fma.f64(n, -LN_2[1], sub.f64(near, r))


def scaled(n, *values):
    """The values times 2^n, -2044 <= n <= 2046: in two steps, so that a subnormal result is rounded once."""
    half = shrax.i32(n, 1)
    first, second = power_of_two(half), power_of_two(sub.i32(n, half))
    return [mul.f64(mul.f64(v, first), second) for v in values]


def within(x, limit):
    """x clamped to -limit..limit; nan stays."""
    return select.f64(gt.f64(abs.f64(x), limit), copysign.f64(limit, x), x)


def exp_of(a):
    """Up to 708 the result is normal: n is added to its exponent. Beyond, the two steps of scaled give subnormal numbers, and from 746 on 0 or infinity."""
    n, r, _ = reduced(a)
    power = horner(r, EXP)
    beyond = select.f64(gt.f64(abs.f64(a), 746.0), select.f64(gt.f64(a, 0.0), INF, 0.0), scaled(n, power)[0])
    return select.f64.rare(bxor.pred(lt.f32(abs.f32(bits.f32.u32(high(a))), HIGH_708), True), beyond, times_power_of_two(power, n))


def reciprocal(d, order=2):
    """1 / d for 1 <= d <= 4: off by 2^-45 of it with order 2, by rounding errors alone with order 3."""
    y = cvt.f64.f32(rcpz.f32(cvt.f32.f64(d)))
    e = fma.f64(neg.f64(d), y, 1.0)
    return fma.f64(fma.f64(e, e, e) if order == 3 else e, y, y)


def logistic_of(a):
    """By e^-|a| in two parts, the second the rounding error of the first; the quotient is corrected by its remainder."""
    n, r, off = reduced(select.f64(gt.f64(abs.f64(a), 746.0), -746.0, neg.f64(abs.f64(a))))
    tail = fma.f64(horner(r, EXP[1:]), r, off)
    whole = add.f64(tail, 1.0)
    e, rest = scaled(n, whole, add.f64(sub.f64(1.0, whole), tail))
    d = add.f64(e, 1.0)
    more = add.f64(add.f64(sub.f64(1.0, d), e), rest)
    negative, y = lt.f64(a, 0.0), reciprocal(d)
    q = mul.f64(select.f64(negative, e, 1.0), y)
    left = fma.f64(neg.f64(q), more, fma.f64(neg.f64(d), q, select.f64(negative, e, 1.0)))
    return fma.f64(add.f64(left, select.f64(negative, rest, 0.0)), y, q)


def expm1_of(a):
    n, r, off = reduced(within(a, 710.0))
    power = power_of_two(max.i32(min.i32(n, 1023), -100))
    large, small = sub.f64(power, 1.0), mul.f64(power, r)
    first = add.f64(large, small)
    left = add.f64(sub.f64(large, first), small)
    out = add.f64(first, fma.f64(power, fma.f64(horner(r, EXP[2:]), mul.f64(r, r), fma.f64(off, r, off)), left))
    return copysign.f64(mul.f64(out, select.f64(gt.i32(n, 1023), 2.0, 1.0)), a)


def tanh_of(a):
    """x / (x + 2) for x = e^2|a| - 1, rounded: an error of x counts at most once, as x + 2 has it, too. From 22 on it is 1."""
    size = abs.f64(a)
    n, r, _ = reduced(select.f64(gt.f64(size, 22.0), 44.0, add.f64(size, size)))
    power = power_of_two(n)
    large, small = sub.f64(power, 1.0), mul.f64(power, r)
    first = add.f64(large, small)
    rest = fma.f64(power, mul.f64(horner(r, EXP[2:]), mul.f64(r, r)), add.f64(sub.f64(large, first), small))
    x = add.f64(first, rest)
    d = add.f64(x, 2.0)
    more = add.f64(sub.f64(2.0, d), x)
    y = cvt.f64.f32(rcpz.f32(cvt.f32.f64(d)))
    y = fma.f64(fma.f64(neg.f64(d), y, 1.0), y, y)
    q = mul.f64(x, y)
    left = fma.f64(neg.f64(q), more, fma.f64(neg.f64(d), q, x))
    return copysign.f64(fma.f64(left, y, q), a)


def quotient(f):
    """f / (2 + f), -1/2 <= f <= 2."""
    y = reciprocal(add.f64(f, 2.0))
    s = mul.f64(f, y)
    return fma.f64(fma.f64(neg.f64(s), f, fma.f64(s, -2.0, f)), y, s)


def parted(u):
    """k and m with u = 2^k m and m between the square roots of 1/2 and 2."""
    above = add.u32(high(u), ONE - ROOT_HALF)
    k = sub.i32(bits.i32.u32(shrlx.u32(above, 20)), 1023)
    return k, with_high(u, add.u32(band.u32(above, 2**20 - 1), ROOT_HALF))


def integer(k):
    """k >= -1023 as a number, without a conversion: in the last bits of 2^52 + 1023 + k."""
    return sub.f64(with_high(bits.f64.i64(cvt.i64.i32(add.i32(k, 1023))), 0x43300000), 2.0**52 + 1023)


def log_near(f, k, more):
    """k ln(2) + log(1 + f) + more, as a sum whose largest term is f where k is 0."""
    s, half, n = quotient(f), mul.f64(mul.f64(f, f), 0.5), cvt.f64.i32(k)
    z = mul.f64(s, s)
    inside = fma.f64(s, fma.f64(horner(z, LOG), z, half), fma.f64(n, LN_2[1], more))
    return fma.f64(n, LN_2[0], sub.f64(f, sub.f64(half, inside)))


def log_of(a):
    subnormal = lt.f64(a, 2.0**-1022)
    k, m = parted(select.f64(subnormal, mul.f64(a, 2.0**54), a))
    out = log_near(sub.f64(m, 1.0), select.i32(subnormal, sub.i32(k, 54), k), 0.0)
    return select.f64(gt.f64(a, 0.0), select.f64(lt.f64(a, INF), out, a), select.f64(eq.f64(a, 0.0), -INF, NAN))


def log1p_of(a):
    """By the logarithm of u = a + 1 and, below 2^53, the rounding error of u; where u is near 1, by a itself."""
    u = add.f64(a, 1.0)
    off = sub.f64(a, sub.f64(u, 1.0))
    k, m = parted(u)
    near = eq.i32(k, 0)
    more = mul.f64(off, cvt.f64.f32(rcpz.f32(cvt.f32.f64(u))))
    out = log_near(select.f64(near, a, sub.f64(m, 1.0)), k, select.f64(near, 0.0, more))
    return select.f64(gt.f64(a, -1.0), select.f64(lt.f64(a, INF), copysign.f64(out, a), a), select.f64(eq.f64(a, -1.0), -INF, NAN))


# --- pow: 2^(b log2 |a|), the logarithm as the sum of two -------------------------------------------------------------------------------------
def rest_of_product(product, x, y):
    return fma.f64(x, y, neg.f64(product))


def log2_in_two(k, f):
    """k + log2(1 + f). With u = 2 f / (2 + f), log(1 + f) = u + u^3/12 + u^5 p(u^2); the rounding errors of u and u^3/12 are kept."""
    inverse = reciprocal(add.f64(f, 2.0), 3)
    u = mul.f64(add.f64(f, f), inverse)
    left = sub.f64(f, u)
    u_rest = mul.f64(fma.f64(neg.f64(u), f, add.f64(left, left)), inverse)       # (2 f - u (2 + f)) / (2 + f)
    square = mul.f64(u, u)
    cube = mul.f64(u, square)
    cube_rest = fma.f64(u, rest_of_product(square, u, u), rest_of_product(cube, u, square))
    third = mul.f64(cube, TWELFTH)
    third_rest = fma.f64(cube_rest, TWELFTH, rest_of_product(third, cube, TWELFTH))
    tail = fma.f64(cube, fma.f64(square, horner(square, POW), TWELFTH_LOW), third_rest)
    log = add.f64(u, third)
    rest = add.f64(sub.f64(third, sub.f64(log, u)), add.f64(tail, fma.f64(u_rest, mul.f64(square, fma.f64(square, 0.0625, 0.25)), u_rest)))
    log2 = mul.f64(log, LOG2_E)
    log2_rest = fma.f64(rest, LOG2_E, fma.f64(log, LOG2_E_LOW, rest_of_product(log2, log, LOG2_E)))
    sum = add.f64(k, log2)
    return sum, add.f64(log2_rest, sub.f64(log2, sub.f64(sum, k)))


def power_of_sum(product, rest):
    """2^(product + rest). Beyond 1100 it is infinite or zero."""
    far = gt.f64(abs.f64(product), 1100.0)
    near = select.f64(far, copysign.f64(1100.0, product), product)
    t = add.f64(near, WHOLE)
    r = add.f64(sub.f64(near, sub.f64(t, WHOLE)), select.f64(far, 0.0, rest))
    return scaled(low(t), horner(r, EXP2))[0]


def pow_of(a, b):
    """Special values as in the C standard, F.10.4.4. The logarithms of 0 and inf are infinite; b is clamped to a range beyond which every
    other a overflows."""
    size = abs.f64(a)
    subnormal = lt.f64(size, 2.0**-1022)
    k, m = parted(select.f64(subnormal, mul.f64(size, 2.0**54), size))
    log2, rest = log2_in_two(cvt.f64.i32(select.i32(subnormal, sub.i32(k, 54), k)), sub.f64(m, 1.0))
    finite = lt.f64(size, INF)
    log2 = select.f64(finite, select.f64(eq.f64(size, 0.0), -INF, log2), size)
    cut = within(b, 2.0**63)
    product = mul.f64(cut, log2)
    power = power_of_sum(product, fma.f64(cut, rest, rest_of_product(product, cut, log2)))
    half, whole = mul.f64(b, 0.5), trunc.f64(b)
    is_odd = band.pred(eq.f64(whole, b), ne.f64(trunc.f64(half), half))
    power = copysign.f64(power, select.f64(is_odd, a, 1.0))
    power = select.f64(band.pred(band.pred(lt.f64(a, 0.0), finite), ne.f64(whole, b)), NAN, power)
    return select.f64(bor.pred(eq.f64(a, 1.0), eq.f64(b, 0.0)), 1.0, power)


# --- roots: from the machine's estimate, whose error is computed exactly -----------------------
def rsqrt_of(a):
    """r has 21 bits, so r r and e = 1 - a r r are exact: 1 / sqrt(a) = r (1 + e/2 + 3/8 e^2 + ..). For 0 and inf r is the result."""
    tiny = lt.f64(a, 2.0**-1022)
    x = mul.f64(a, select.f64(tiny, 2.0**108, 1.0))
    r = rsqrtz.f64(x)
    e = fma.f64(neg.f64(x), mul.f64(r, r), 1.0)
    out = fma.f64(r, mul.f64(e, fma.f64(e, 0.375, 0.5)), r)
    return mul.f64(select.f64(eq.f64(add.f64(r, r), r), r, out), select.f64(tiny, 2.0**54, 1.0))


def cbrt_of(a):
    """|a| = 8^k x with 1 <= x < 8, and c near x^(-1/3) in f32: cbrt(x) = x c^2 (1 - e)^(-2/3) with e = 1 - x c^3; `low` is the rounding
    error of x c^2. For 0, inf and nan the result is twice the argument."""
    tiny = lt.f64(abs.f64(a), 2.0**-1022)
    size = bits.u64.f64(mul.f64(abs.f64(a), select.f64(tiny, 2.0**54, 1.0)))
    k = band.u32(mulhi.u32(cvt.u32.u64(shrlx.u64(size, 32)), 0x55555556), 0xfff00000)
    x = bits.f64.u64(sub.u64(size, shlx.u64(cvt.u64.u32(sub.u32(mul.u32(k, 3), 1023 << 20)), 32)))
    c = cvt.f64.f32(exp2z.f32(mul.f32(log2z.f32(cvt.f32.f64(x)), -1 / 3)))
    square = mul.f64(c, c)
    y = mul.f64(x, square)
    low = fma.f64(x, square, neg.f64(y))
    e = fma.f64(neg.f64(low), c, fma.f64(neg.f64(y), c, 1.0))
    y = add.f64(y, fma.f64(y, mul.f64(e, fma.f64(e, 5 / 9, 2 / 3)), low))
    up = sub.u32(k, select.u32(tiny, 359 << 20, 341 << 20))
    out = bits.f64.u64(add.u64(bits.u64.f64(y), shlx.u64(cvt.u64.u32(up), 32)))
    twice = add.f64(a, a)
    return select.f64(gt.f64(abs.f64(twice), abs.f64(a)), copysign.f64(out, a), twice)


SHORT = [rewrite(op.f64(a), of(a)) for op, of in ((log, log_of), (log1p, log1p_of), (logistic, logistic_of), (rsqrt, rsqrt_of))] + [
    rewrite(pow.f64(a, b),                   pow_of(a, b))]
OF_LONG = ((expm1, expm1_of), (tanh, tanh_of), (cbrt, cbrt_of))
LONG = [rewrite(op.f64(a), of(a)) for op, of in OF_LONG]  # sm_120 does without: libdevice's are shorter there
WITHOUT_LLVM = [rewrite(op.f64(a), of(a), when=no_llvm) for op, of in OF_LONG]
ALL = [rewrite(exp.f64(a), exp_of(a))] + SHORT + LONG   # the exponential where f64 is fast: elsewhere fixed.py has it
INSTR = [
    asm (rcpz.f64(a),                        'rcp.approx.ftz.f64 %d, %a;',     err=rel(2**-20)),
    asm (rsqrtz.f64(a),                      'rsqrt.approx.ftz.f64 %d, %a;',   err=rel(2**-20)),
]
