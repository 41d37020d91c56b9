"""Functions of f64 in integer arithmetic, for machines where an operation of f64 takes as long as 32 or 64 of f32: numbers are words of 64 bits with a fixed
point, in which a product's upper half takes seven operations. Nothing is approximate but the polynomials, so that results are off by little more than the
last rounding; no argument needs a branch.

    sin(a)   |a| = m 2^e, and m times 192 bits of 2/pi, those whose product with m is below 4, is a number of quarters q and what is left of one, y,
             with 126 bits. r = |y| pi/2 is a word with its highest bit set and a power of two; t = r^2 a word. sin r = r (1 - t d(t)), cos r =
             1 - t d(t), tan r a quotient of f64 of two such.
    exp(a)   |a| log2(e) with 128 bits is n + f, and 2^-f a polynomial.
    erf(a)   below 1 a polynomial of a^2, times a; beyond, 1 less e^(-a^2) times a polynomial of a - 1, and 1 from 6 on.
    rem(a,b) |a| = m 2^d of a unit that b has, and m 2^d modulo an integer by the squares of 2, exactly.

The coefficients are from coefficients/fixed.py."""
from gen.lang import *
from patterns.doubles import INF, NAN, high

PI_2 = 14488038916154245685                  # pi/2 2^63
TINY = 1023 - 40                             # exponent below which sin a is a
# polynomials in t, of alternating signs, without their first coefficient, 1: words with 64 bits behind the point, then of 32 bits with 53 or 52
SIN = (3074457345618258598, 153722867280912736, 3660068268590453, 50834281490237), (225649301, 1446409, 6826)           # sin(r) / r
COS = (9223372036854775728, 768614336404561359, 25620477880106083, 457508533268371), (2482142122, 18803077, 102272)     # cos r
TAN = (2460482264183040624, 63176933726717888, 329471970074990), ()                                                     # tan(r) / r, above
TAN_BELOW = (8609396955419557858, 473410042371964749, 5751794428811340), (2243452389,)                                  # and below, with 52 bits

# erf: digits behind the point of each coefficient; those of erf(x) / 2x at x^2/8, of e^(x^2) erfc(x) at (x - 1)/8, whose last three have 8, and of 2^-f
DIGITS = 64, 62, 58, 58, 54, 54, 49, 49, 49, 40, 40, 40, 40
ERF = (10407460856758233153, 6938307237838779192, 1040746085674814305, 1982373496376357708, 192730755893768260, 252302049084686660, 8895236615217722,
       8809995162195279, 7766938467199463, 11958150906474, 8093540815862, 3673759274348)
ERFC = (7887524799467669106, 10079744229161829969, 2847652684871692881, 11691836955128283851, 2772346107131013122, 9835429937254402467, 1028609235345841156,
        3269064774079782082, 9917920626968711089, 56313520307983585, 157111336629300935, 419394597945076571, 1059168912591568940, 2474121395098817956,
        5167342472217118412, 9249288289350983068, 13515317422890397411, 15226753426187218256, 2853918347, 1448283082, 345969764)
EXP2 = ((12786308645202647901, 4431396893595285741, 1023870087570185183, 177423166023969227, 24596072929510052, 2841447824169449, 281358407424337,
         24370381565693), (912622299, 60695097, 2843305))
EXP = (*EXP2[0], 1869050468056, 124303559188, 5823089619), ()              # the same in words
LOG2_E, LOG2_E_LOW = 13306513097844322491, 13729222160132423304   # log2(e) 2^63, and 2^64 times the fraction of that
SIX = 0x40180000                             # the upper word of 6: beyond, erf is 1
TWO_OVER_ROOT_PI = 1.1283791670955126
NONE, EXP_END = 969 << 20, 0x40900000        # upper words: below 2^-54 exp is 1, from 1024 on it is infinite or 0


def word(x):
    return cvt.u64.u32(x)


def upper(x):
    return cvt.u32.u64(shrlx.u64(x, 32))


# --- quarters -------------------------------------------------------------------------------------------------------------------------------
def exponent(a):
    """The upper word without the sign."""
    return band.u32(high(a), 0x7fffffff)


def quarters(a):
    """q in the two upper bits of a word of 32, and the fraction y in -1/2 .. 1/2 as its sign, 0 or -1, and two words of its magnitude."""
    e = add.u32(exponent(a), 3 << 20)
    m = bor.u64(band.u64(bits.u64.f64(a), 2**52 - 1), 2**52)
    m = shlx.u64(m, word(band.u32(shrlx.u32(e, 20), 7)))
    k = word(shrlx.u32(e, 23))
    one, two, three = (two_over_pi_word.u64(add.u64(k, n - 123)) for n in (0, 8, 16))
    last = mul.u64(m, two)
    low = add.u64(last, mulhi.u64(m, three))
    carry = select.u64(lt.u64(low, last), 1, 0)
    top = add.u64(mul.u64(m, one), add.u64(mulhi.u64(m, two), carry))
    q = add.u32(upper(top), 1 << 29)
    y = bor.u64(shlx.u64(top, 2), shrlx.u64(low, 62))
    sign = select.u64(ne.u32(sign_of(upper(y)), 0), 2**64 - 1, 0)
    return q, sign, bxor.u64(y, sign), bxor.u64(shlx.u64(low, 2), sign)


def reduced(y, more):
    """r = |y| pi/2, with its highest bits set, the power of two by which it was multiplied, and t = r^2."""
    n = clz.u64(bor.u64(y, 1))
    z = bor.u64(shlx.u64(y, n), shrlx.u64(shrlx.u64(more, 1), bxor.u64(n, 63)))
    r = mulhi.u64(z, PI_2)
    whole = shrlx.u64(r, sub.u64(n, 1))
    return r, cvt.u32.u64(n), mulhi.u64(whole, whole)


def missing(of, t, behind=53):
    """1 less the polynomial at t."""
    words, halves = of
    d, short = None, upper(t)
    for c in reversed(halves):
        d = c if d is None else sub.u32(c, mulhi.u32(short, d))
    d = words[-1] if d is None else sub.u64(words[-1], shrlx.u64(mul.u64(word(short), word(d)), behind - 32))
    for c in reversed(words[:-1]):
        d = sub.u64(c, mulhi.u64(t, d))
    return mulhi.u64(t, d)


def rounded(v, n, sign):
    """v 2^-(63 + n), of v with one of its two highest bits set, to 53 bits, with this bit of the sign."""
    large = ge.u32(upper(v), 1 << 31)
    v = shrlx.u64(add.u64(v, select.u64(large, 1 << 10, 1 << 9)), select.u64(large, 11, 10))
    e = sub.u32(select.u32(large, 1022, 1021), n)
    return bits.f64.u64(add.u64(v, shlx.u64(word(add.u32(shlx.u32(e, 20), sign)), 32)))


def less(factor, part):
    return sub.u64(factor, mulhi.u64(factor, part))


def wave(odd, sign, r, n, t):
    """sin r, or cos r in odd quarters."""
    of = [[select[kind](odd, c, s) for c, s in zip(*some)] for kind, *some in zip((u64, u32), COS, SIN)]
    return rounded(less(select.u64(odd, 1 << 63, r), missing(of, t)), select.u32(odd, 0, n), sign)


def sign_of(x):
    return band.u32(x, 1 << 31)


def unless_odd(odd, y):
    """The sign of y, which a cosine does not have."""
    return select.u32(odd, 0, sign_of(upper(y)))


def is_odd(q):
    return ne.u32(band.u32(q, 1 << 30), 0)


def is_nan(a):
    return gt.u64(band.u64(bits.u64.f64(a), 2**63 - 1), 0x7ff << 52)


def special(a, small, other):
    x = exponent(a)
    return select.f64(lt.u32(x, TINY << 20), small, select.f64(ge.u32(x, 0x7ff << 20), NAN, other))


def sin_of(a):
    q, y_sign, y, more = quarters(a)
    odd = is_odd(q)
    sign = bxor.u32(sign_of(bxor.u32(q, high(a))), unless_odd(odd, y_sign))
    return special(a, a, wave(odd, sign, *reduced(y, more)))


def cos_of(a):
    q, y_sign, y, more = quarters(a)
    q = add.u32(q, 1 << 30)
    odd = is_odd(q)
    return special(a, 1.0, wave(odd, bxor.u32(sign_of(q), unless_odd(odd, y_sign)), *reduced(y, more)))


def quotient(x, y):
    """x / y, nearly rounded correctly, of numbers that are neither large nor small."""
    r = rcpz.f64(y)
    e = fma.f64(neg.f64(y), r, 1.0)
    r = fma.f64(r, fma.f64(e, e, e), r)
    q = mul.f64(x, r)
    return fma.f64(fma.f64(neg.f64(y), q, x), r, q)


def tan_of(a):
    """tan r, or in odd quarters -1 / tan r."""
    q, y_sign, y, more = quarters(a)
    odd, (r, n, t) = is_odd(q), reduced(y, more)
    above, below = rounded(less(r, missing(TAN, t)), n, 0), rounded(shrlx.u64(bnot.u64(missing(TAN_BELOW, t, 52)), 1), 0, 0)
    size = bits.u64.f64(quotient(select.f64(odd, below, above), select.f64(odd, above, below)))
    sign = sign_of(bxor.u32(bxor.u32(shlx.u32(q, 1), upper(y_sign)), high(a)))
    return special(a, a, bits.f64.u64(bor.u64(size, shlx.u64(word(sign), 32))))


# --- erf -------------------------------------------------------------------------------------------------------------------------------------
def erf_of(a):
    """Below 1, x p(x^2); beyond, 1 less e^(-x^2) p(x - 1), as 2 to the power of -n - f. Both polynomials are of x^2/8 or (x - 1)/8, so that one loop has
    the digits behind the point of either."""
    x = exponent(a)
    e = shrlx.u32(x, 20)
    near = lt.u32(e, 1023)
    m = shlx.u64(bor.u64(band.u64(bits.u64.f64(a), 2**52 - 1), 2**52), 11)
    whole = shrlx.u64(m, word(min.u32(sub.u32(select.u32(near, 1022, 1025), e), 63)))     # 64 or 61 digits behind the point
    square = mulhi.u64(whole, whole)
    v = select.u64(near, shrlx.u64(square, 3), sub.u64(whole, 1 << 61))
    short, h = upper(v), ERFC[-1]
    for c in ERFC[-2:-4:-1]:
        h = sub.u32(c, mulhi.u32(short, h))
    h = sub.u64(ERFC[17], mul.u64(word(short), word(h)))
    for c in ERFC[16:11:-1]:
        h = sub.u64(c, mulhi.u64(v, h))
    h = select.u64(near, 0, h)
    for k in range(11, -1, -1):
        part, digits = mulhi.u64(v, h), DIGITS[k] - DIGITS[k + 1]
        h = sub.u64(select.u64(near, ERF[k], ERFC[k]), shlx.u64(part, digits) if digits else part)
    z = mulhi.u64(square, LOG2_E)
    part = shlx.u64(z, 7)
    power = bnot.u64(missing(EXP2, part))
    w = mulhi.u64(select.u64(near, m, power), h)
    beyond = sub.u64(1 << 63, shrlx.u64(shrlx.u64(w, 1), word(band.u32(shrlx.u32(upper(z), 25), 63))))
    size = rounded(select.u64(near, w, beyond), select.u32(near, sub.u32(1022, e), 0), 0)
    size = select.u64(ge.u32(x, SIX), bits.u64.f64(1.0), bits.u64.f64(size))
    one = bits.f64.u64(bor.u64(size, shlx.u64(word(sign_of(high(a))), 32)))
    return select.f64(lt.u32(x, TINY << 20), mul.f64(a, TWO_OVER_ROOT_PI), select.f64(is_nan(a), NAN, one))


# --- exp -------------------------------------------------------------------------------------------------------------------------------------
def exp_of(a):
    """2^-n 2^-f, where n + f is |a| log2(e), or for positive arguments 2^(n + 1) 2^-(1 - f). Results below the least normal number keep fewer digits."""
    x = exponent(a)
    e = shrlx.u32(x, 20)
    m = shlx.u64(bor.u64(band.u64(bits.u64.f64(a), 2**52 - 1), 2**52), 11)
    last = mul.u64(m, LOG2_E)
    low = add.u64(last, mulhi.u64(m, LOG2_E_LOW))
    top = add.u64(mulhi.u64(m, LOG2_E), select.u64(lt.u64(low, last), 1, 0))
    by = word(min.u32(sub.u32(1032, e), 63))                                   # so that top has 11 digits before its point, below 2^11
    whole = shrlx.u64(top, by)
    part = bor.u64(shlx.u64(whole, 11), shrlx.u64(bor.u64(shlx.u64(shlx.u64(top, bxor.u64(by, 63)), 1), shrlx.u64(low, by)), 53))
    n = cvt.i32.u64(shrlx.u64(whole, 53))
    positive = eq.u32(sign_of(high(a)), 0)
    power = bnot.u64(missing(EXP, select.u64(positive, bnot.u64(part), part)))     # at least a half
    field = select.i32(positive, add.i32(n, 1023), sub.i32(1022, n))
    fewer = max.i32(sub.i32(1, field), 0)
    v = add.u64(shrlx.u64(power, word(bits.u32.i32(min.i32(add.i32(fewer, 10), 63)))), 1)
    v = add.u64(shrlx.u64(v, 1), shlx.u64(word(bits.u32.i32(max.i32(sub.i32(field, 1), 0))), 52))
    beyond = bor.pred(ge.u32(x, EXP_END), ge.i32(n, select.i32(positive, 1024, 1075)))
    out = select.f64(beyond, select.f64(positive, INF, 0.0), bits.f64.u64(v))
    return select.f64(lt.u32(x, NONE), 1.0, select.f64(is_nan(a), NAN, out))


ALL = [
    rewrite(sin.f64(a),                      sin_of(a)),
    rewrite(cos.f64(a),                      cos_of(a)),
    rewrite(tan.f64(a),                      tan_of(a)),
    rewrite(erf.f64(a),                      erf_of(a)),
    rewrite(exp.f64(a),                      exp_of(a)),
]


# --- remainders: m 2^d modulo n, of integers below 2^53 ---------------------------------------------------------------------------------------
def parted(a):
    """|a| = m 2^(e - 1075)."""
    size = band.u64(bits.u64.f64(a), 2**63 - 1)
    e = cvt.i32.u64(shrlx.u64(size, 52))
    return size, select.u64(gt.i32(e, 0), bor.u64(band.u64(size, 2**52 - 1), 2**52), size), max.i32(e, 1)


def product_of(x, y, n, inverse):
    """x y modulo n, for x y below 2^55 n. The quotient by f64 is off by less than 16, so that what it leaves has a word."""
    q = cvt.u64.f64(mul.f64(mul.f64(cvt.f64.u64(x), cvt.f64.u64(y)), inverse))
    return remx.u64(add.u64(sub.u64(mul.u64(x, y), mul.u64(q, n)), shlx.u64(n, 4)), n)


def power_of_two(e):
    return bits.f64.u64(shlx.u64(cvt.u64.i32(add.i32(e, 1023)), 52))


def rem_of(a, b):
    """2^d by squares, a bit of d after the other, doubled where the bit is one. The result is an integer below 2^53 times a power that b has."""
    (first, m, e), (second, n, f) = parted(a), parted(b)
    n, d = max.u64(n, 1), max.i32(sub.i32(e, f), 0)
    inverse, power = div.f64(1.0, cvt.f64.u64(n)), cvt.u64.i32(shrlx.i32(d, 10))
    power = shlx.u64(1, power)
    for k in reversed(range(10)):
        power = shlx.u64(product_of(power, power, n, inverse), cvt.u64.i32(band.i32(shrlx.i32(d, k), 1)))
    scale = sub.i32(f, 1075)
    half = shrax.i32(scale, 1)
    out = mul.f64(mul.f64(cvt.f64.u64(product_of(remx.u64(m, n), power, n, inverse)), power_of_two(half)), power_of_two(sub.i32(scale, half)))
    inf = 0x7ff0000000000000
    bad = bor.pred(bor.pred(ge.u64(first, inf), gt.u64(second, inf)), eq.u64(second, 0))
    return select.f64(bad, NAN, select.f64(lt.u64(first, second), a, copysign.f64(out, a)))


REMAINDERS = [                                  # libdevice's loops take less time
    rewrite(rem.f64(a, b),                   rem_of(a, b),                   when=no_llvm),
    rewrite(rem.f32(a, b),                   cvt.f32.f64(rem.f64(cvt.f64.f32(a), cvt.f64.f32(b))),   when=no_llvm),
]
WITHOUT_LLVM = [                                # where f64 is fast: libdevice's take less time
    rewrite(op.f64(a),                       of(a),                          when=no_llvm)
    for op, of in ((sin, sin_of), (cos, cos_of), (tan, tan_of), (erf, erf_of))
]

# --- isel -----------------------------------------------------------------------------------------------------------------------------------
BITS_OF_2_OVER_PI = bytes(12) + bytes.fromhex(
    'a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e006492eea09d1921cfe'
    '1deb1cb129a73ee88235f52ebb4484e99c7026b45f7e413991d639835339f49c845f8bbdf9283b1ff897ffde05980fef2f'
    '118b5a0a6d1f6d367ecf27cb09b74f463f669e5fea2d7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d085603') + bytes(106)
INSTR = [
    lookup(two_over_pi_word.u64(a),          [int.from_bytes(BITS_OF_2_OVER_PI[k:k + 8], 'big') for k in range(256)]),
]
