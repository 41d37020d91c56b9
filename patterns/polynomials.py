"""Functions of f32 as expressions: an exact reduction of the argument, then a polynomial or one of the machine's approximations.

Needs the machine's fma and its functions with z (subnormals are zeros); leaves lists that functions.py puts in order. The coefficients
are from coefficients/f32.txt, which `sollya coefficients/f32.sollya` prints with the error of each polynomial. The comment at each rule
is its number of SASS instructions, then libdevice's.

    expm1(a)   n = a / ln 2 rounded, r = a - n ln 2, 2^n (r + r^2 p(r)) + (2^n - 1)
"""
from gen.lang import *
from patterns import doubles

hexadecimal = lambda text: [float.fromhex(x) for x in text.split()]

LOG2_E, LOG2_E_LOW = hexadecimal('0x1.715476p+0 0x1.4ae0cp-26')          # their sum is the constant to 48 bits
LN_2, LN_2_LOW = hexadecimal('0x1.62e43p-1 -0x1.05c61p-29')
ROUND = 1.5 * 2**23                          # x + ROUND has the integer nearest to x in its last bits, for |x| < 2^22
ONE = 127                                    # exponent of 1.0
LEAST = 2.0**-126                            # the least normal number
FAR = 2.0**31                                # any number but 1 and -1 to this power is 0 or inf
INF, NAN = float('inf'), float('nan')

EXPM1 = hexadecimal('0x1.fffffep-2 0x1.5554bp-3 0x1.555716p-5 0x1.12279ep-7 0x1.6b7376p-10')
LOG = hexadecimal('0x1.5555a4p-2 -0x1.000042p-2 0x1.996966p-3 -0x1.54ef16p-3 0x1.2886b8p-3 -0x1.0d93f4p-3 0x1.aca08ep-4 -0x1.713e36p-5')
TANH = hexadecimal('-0x1.55546cp-2 0x1.10ecb2p-3 -0x1.b641dcp-5 0x1.4d8f32p-6 -0x1.9a297p-8 0x1.155a94p-10')
TWELFTH, TWELFTH_LOW = hexadecimal('0x1.555556p-4 -0x1.555556p-29')
POW = hexadecimal('0x1.999aap-7 0x1.241a4ap-9 0x1.e8e598p-12')
POW_BY_F64 = hexadecimal('0x1.71547652bedfap+1 0x1.ec709d12c01f1p-1 0x1.27777ff7edfb3p-1 0x1.a58d8p-2 0x1.5ce91p-2')        # in f64
EXP2_BY_F64 = hexadecimal('0x1p+0 0x1.62e430af1c333p-1 0x1.ebfbdc3827c97p-3 0x1.c6aee8970f96bp-5 0x1.3b2d5p-7 0x1.5f3e5p-10 0x1.41f9ap-13')
ERF = hexadecimal('0x1.06eba6p-3 -0x1.8126f4p-2 0x1.ce1d3ep-4 -0x1.b6b838p-6 0x1.48558cp-8 -0x1.3ed77ap-11')
ERFC = hexadecimal('-0x1.0c5694p-12 -0x1.a08308p+0 -0x1.d691e4p-1 -0x1.33651ap-3 0x1.074976p-5 -0x1.20e92ap-8 0x1.2a4de4p-12')
LOG_OF_F16 = hexadecimal('-0x1.fffd28p-2 0x1.552f12p-2 -0x1.009b58p-2 0x1.a66d6p-3 -0x1.575a38p-3 0x1.54fdc8p-4')


def horner(x, coefficients):
    """c0 + c1 x + c2 x^2 + .."""
    sum = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        sum = fma.f32(sum, x, c)
    return sum


def sign_of(a):
    return band.u32(bits.u32.f32(a), 1 << 31)


def with_sign(a, sign):
    return bits.f32.u32(bxor.u32(bits.u32.f32(a), sign))


def power_of_2(j):
    """2^n, where the last bits of j are n + 127."""
    return bits.f32.i32(shlx.i32(bits.i32.f32(j), 23))


# --- exp, logistic, tanh: 2^f by the machine ----------------------------------------------------------------------------------------
def whole(a, unit, low, high):
    """n = a * unit, rounded and clamped to low..high; 2^n; f = a * unit - n, which has the rest. saturate takes nan to 0."""
    t = saturate.f32(fma.f32(a, unit / (high - low), -low / (high - low)))
    j = fma.f32(t, float(high - low), ROUND + ONE + low)
    return sub.f32(j, ROUND + ONE), power_of_2(j)


def exp_of(a):
    """n is at least -126, so that 2^n is normal and only the last product rounds to a subnormal."""
    n, scale = whole(a, LOG2_E, -126, 127)
    return mul.f32(exp2z.f32(fma.f32(a, LOG2_E_LOW, fma.f32(a, LOG2_E, neg.f32(n)))), scale)


def parts_of_logistic(a):
    """s = 2^n and e = 2^(n - a / ln 2), with result s / (s + e): neither overflows, and small results are as exact as exp."""
    n, scale = whole(a, LOG2_E, -126, 30)
    return scale, exp2z.f32(fma.f32(neg.f32(a), LOG2_E_LOW, fma.f32(neg.f32(a), LOG2_E, n)))


def logistic_of(a):
    """The remainder of the reciprocal r corrects its error and the rounding error of the sum. The sum is too large on purpose, so that 1 - r e is
    never below 0, and saturate may take it to 0 where e is infinite and it is nan."""
    s, e = parts_of_logistic(a)
    r = rcpz.f32(fma.f32(e, 1 + 2**-21, s))
    left = fma.f32(neg.f32(r), s, saturate.f32(fma.f32(neg.f32(r), e, 1.0)))
    return mul.f32(s, fma.f32(r, left, r))


def tanh_of(a):
    """The polynomial covers the range in which the errors of the machine's functions would matter."""
    square = mul.f32(a, a)
    small = fma.f32(mul.f32(horner(square, TANH), square), abs.f32(a), abs.f32(a))
    large = fma.f32(rcpz.f32(add.f32(exp2z.f32(mul.f32(abs.f32(a), 2 * LOG2_E)), 1.0)), -2.0, 1.0)
    return with_sign(select.f32(lt.f32(abs.f32(a), 1.0), small, large), sign_of(a))


def erf_of(a):
    """1 - 2^p(|a|) beyond 0.9; 1 beyond 3.95."""
    square = mul.f32(a, a)
    small = fma.f32(horner(square, ERF), abs.f32(a), abs.f32(a))
    large = sub.f32(1.0, exp2z.f32(horner(min.f32(abs.f32(a), 3.95), ERFC)))
    return with_sign(select.f32(lt.f32(abs.f32(a), 0.9), small, large), sign_of(a))


def expm1_of(a):
    """2^(n-1) is used twice, because n may be 128. Below -25 the result is -1, above 88.8 inf."""
    cut = min.f32(max.f32(a, -25.0), 88.8)
    j = fma.f32(cut, LOG2_E, ROUND + ONE - 1)
    n = sub.f32(j, ROUND + ONE - 1)
    r = fma.f32(n, -LN_2_LOW, fma.f32(n, -LN_2, cut))
    scale = power_of_2(j)
    half = fma.f32(scale, fma.f32(mul.f32(r, r), horner(r, EXPM1), r), sub.f32(scale, 0.5))
    return select.f32(lt.f32(abs.f32(a), 2.0**-25), a, add.f32(half, half))


# --- log, log1p: 2^k (1 + f) with 1 + f up to 3/2 --------------------------------------------------------------------------------------
EXPONENT = -2**23                            # mask of the sign and exponent bits


def exponent_of(bits_of_a):
    """k, in the bits of the exponent. k is 0 for 3/2, so that f = a for a sum 1 + a that only rounds to 3/2."""
    return band.i32(sub.i32(bits_of_a, 0x3f400001), EXPONENT)


def log_of_1_and(f):
    square = mul.f32(f, f)
    return fma.f32(square, fma.f32(horner(f, LOG), f, -0.5), f)


def is_positive(a):
    """Whether the argument is positive and finite."""
    return lt.u32(sub.u32(bits.u32.f32(a), 1), 0x7f7fffff)


def taken_apart(a):
    """k and f with a = 2^k (1 + f), and a itself, scaled if it is subnormal; k includes the scale."""
    scaled = select.f32(lt.f32(a, LEAST), mul.f32(a, 2.0**23), a)
    k = exponent_of(bits.i32.f32(scaled))
    f = sub.f32(bits.f32.i32(sub.i32(bits.i32.f32(scaled), k)), 1.0)
    return fma.f32(cvt.f32.i32(k), 2.0**-23, select.f32(lt.f32(a, LEAST), -23.0, 0.0)), f, scaled


def log_of(a):
    """For arguments that are not positive and finite, the machine's logarithm: -inf, inf or nan."""
    k, f, scaled = taken_apart(a)
    return select.f32(is_positive(scaled), fma.f32(k, LN_2, log_of_1_and(f)), log2z.f32(scaled))


def log_of_sum(a):
    """log(1 + a), and the sum: f = 2^-k a + (2^-k - 1), rounded once; 2^-k a by its exponent."""
    above = add.f32(a, 1.0)
    k = exponent_of(bits.i32.f32(above))
    f = add.f32(bits.f32.i32(sub.i32(bits.i32.f32(a), k)), fma.f32(bits.f32.i32(sub.i32(0x40800000, k)), 0.25, -1.0))
    return fma.f32(cvt.f32.i32(k), LN_2 * 2.0**-23, log_of_1_and(f)), above


def log1p_of(a):
    """Special results have the sign of a: -0, and -1 times inf."""
    log, above = log_of_sum(a)
    return select.f32(band.pred(is_positive(above), ne.f32(a, 0.0)), log, mul.f32(a, abs.f32(log2z.f32(above))))


# --- pow: 2^(b log2 |a|), the logarithm as the sum of two floats --------------------------------------------------------------------------
def rest_of_sum(sum, larger, smaller):
    """The rounding error of the sum of the two."""
    return sub.f32(smaller, sub.f32(sum, larger))


def rest_of_product(product, x, y):
    return fma.f32(x, y, neg.f32(product))


def log2_in_two(k, f):
    """k + log2(1 + f). With u = 2 f / (2 + f), log(1 + f) = u + u^3/12 + u^5 p(u^2); the rounding errors of u and u^3/12 are kept."""
    inverse = rcpz.f32(add.f32(f, 2.0))
    u = mul.f32(add.f32(f, f), inverse)
    left = sub.f32(f, u)
    u_rest = mul.f32(fma.f32(neg.f32(u), f, add.f32(left, left)), inverse)       # (2 f - u (2 + f)) / (2 + f)
    square = mul.f32(u, u)
    cube = mul.f32(u, square)
    cube_rest = fma.f32(u, rest_of_product(square, u, u), rest_of_product(cube, u, square))
    third = mul.f32(cube, TWELFTH)
    third_rest = fma.f32(cube_rest, TWELFTH, rest_of_product(third, cube, TWELFTH))
    tail = fma.f32(cube, fma.f32(square, horner(square, POW), TWELFTH_LOW), third_rest)
    log = add.f32(u, third)
    rest = add.f32(rest_of_sum(log, u, third), add.f32(tail, fma.f32(u_rest, mul.f32(square, 0.25), u_rest)))
    log2 = mul.f32(log, LOG2_E)
    log2_rest = fma.f32(rest, LOG2_E, fma.f32(log, LOG2_E_LOW, rest_of_product(log2, log, LOG2_E)))
    sum = add.f32(k, log2)
    return sum, add.f32(log2_rest, rest_of_sum(sum, k, log2))


def power_of_product(size, b, is_usual):
    """2^(b log2 size) of two floats."""
    k, f, _ = taken_apart(size)
    log2, log2_rest = log2_in_two(k, f)
    product = mul.f32(b, log2)
    rest = fma.f32(b, log2_rest, rest_of_product(product, b, log2))
    product = select.f32(is_usual, product, copysign.f32(FAR * FAR, product))
    n, scale = whole(product, 1.0, -126, 126)
    return mul.f32(exp2z.f32(add.f32(sub.f32(product, n), rest)), scale)


def power_by_f64(size, b, is_usual):
    """The same in f64, rounded once; s = (m - 1) / (m + 1) with size = 2^k m. The conversion to f32 handles overflow and subnormals."""
    k, m = doubles.parted(cvt.f64.f32(size))
    d = add.f64(m, 1.0)
    y = rcpz.f64(d)
    s = mul.f64(sub.f64(m, 1.0), fma.f64(fma.f64(neg.f64(d), y, 1.0), y, y))
    log2 = fma.f64(s, doubles.horner(mul.f64(s, s), POW_BY_F64), doubles.integer(k))
    product = mul.f64(cvt.f64.f32(b), log2)
    is_far = bor.pred(gt.f64(abs.f64(product), 1000.0), bnot.pred(is_usual))
    product = doubles.with_high(product, select.u32(is_far, doubles.high(copysign.f64(1000.0, product)), doubles.high(product)))
    t = add.f64(product, doubles.WHOLE)
    r = sub.f64(product, sub.f64(t, doubles.WHOLE))
    return cvt.f32.f64(doubles.times_power_of_two(doubles.horner(r, EXP2_BY_F64), doubles.low(t)))


def pow_of(a, b, power_of):
    """Special values as in the C standard, F.10.4.4. A size of 0 or inf has a logarithm of the right sign, and a power beyond the largest or the
    least; b is clamped to a range beyond which every other a overflows. odd is b - 2 trunc(b / 2): 1 or -1 if b is an odd number."""
    size, cut = abs.f32(a), min.f32(max.f32(b, -FAR), FAR)
    power = power_of(size, cut, is_positive(size))
    odd = fma.f32(trunc.f32(mul.f32(cut, 0.5)), -2.0, cut)
    is_odd = eq.f32(abs.f32(odd), 1.0)
    power = with_sign(power, band.u32(select.u32(is_odd, bits.u32.f32(a), 0), 1 << 31))
    root_of_negative = band.pred(lt.u32(sub.u32(bits.u32.f32(a), (1 << 31) + 1), 0x7f7fffff), bnot.pred(bor.pred(is_odd, eq.f32(odd, 0.0))))
    is_nan = bor.pred(ne.f32(a, a), ne.f32(b, b))
    power = select.f32(bor.pred(root_of_negative, is_nan), NAN, power)
    return select.f32(bor.pred(eq.f32(a, 1.0), eq.f32(b, 0.0)), 1.0, power)


# --- cbrt: one Newton step from a^(-2/3) by the machine's functions ----------------------------------------------------------------------------------
def cbrt_of(a):
    """For 0, inf and nan the result is twice the argument."""
    r = exp2z.f32(mul.f32(log2.f32.approx(abs.f32(a)), -2 / 3))
    y = mul.f32(a, r)
    error = fma.f32(neg.f32(mul.f32(y, y)), r, 1.0)
    return select.f32(eq.f32(add.f32(a, a), a), a, fma.f32(mul.f32(y, error), 1 / 3, y))


F32 = [
    rewrite(exp.f32(a),                      exp_of(a),                   when=~approx),       # 8, 8
    rewrite(logistic.f32(a),                 logistic_of(a)),                                  # 10, 54 with a quotient
    rewrite(tanh.f32(a),                     tanh_of(a),                  when=~approx),       # 15, 15
    rewrite(expm1.f32(a),                    expm1_of(a)),                                     # 17, 28
    rewrite(log.f32(a),                      log_of(a),                   when=~approx),       # 23, 24
    rewrite(log1p.f32(a),                    log1p_of(a)),                                     # 26, 26
    rewrite(cbrt.f32(a),                     cbrt_of(a)),                                      # 14, 16
    rewrite(erf.f32(a),                      erf_of(a)),                                       # 18, 28
]

VIA_F64 = [
    rewrite(pow.f32(a, b),                   pow_of(a, b, power_by_f64)),                      # 75, 91
]
VIA_F32 = [                                  # for machines where one f64 operation takes as long as 64 of f32
    rewrite(pow.f32(a, b),                   pow_of(a, b, power_of_product)),                  # 86, 91
]

# --- isel -----------------------------------------------------------------------------------------------------------------------------------
INSTR = [
    asm (exp2z.f32(a),                       'ex2.approx.ftz.f32 %d, %a;', err=rel(2**-22)),
    asm (log2z.f32(a),                       'lg2.approx.ftz.f32 %d, %a;', err=rel(2**-22)),
    asm (rcpz.f32(a),                        'rcp.approx.ftz.f32 %d, %a;', err=rel(2**-23)),
    asm (rsqrtz.f32(a),                      'rsqrt.approx.ftz.f32 %d, %a;', err=rel(2**-22.9)),
    asm (sat(fma.f32(a, b, c)),              'fma.rn.sat.f32 %d, %a, %b, %c;'),
    asm (saturate.f32(a),                    'cvt.sat.f32.f32 %d, %a;'),
]
