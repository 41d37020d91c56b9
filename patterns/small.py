"""Types of 8 bits and below: integers of 2 and 4 bits by those of 8, floats of 8 bits and f4 by f32, where rounding twice is the same as
rounding once: 24 >= 2 * 5 + 2. Conversions are integer arithmetic on the bits; HARDWARE has those that the machine does."""
from gen.lang import *
from patterns.functions import WIDENED, WIDENED2

NAN = bits.f32.u32(0x7fc00000)

# --- lower: integers of 2 and 4 bits, which wrap as those of 8 bits do -------------------------------------------------------
def through(op, small, t, n):
    """op of n operands, on values of 8 bits."""
    values = (a, b)[:n]
    return rewrite(op[small](*values),       cvt[small][t](op[t](*(cvt[t][small](v) for v in values))))


KINDS = ((I4, i8, (i2, i4)), (U4, u8, (u2, u4)))
WIDTH = {i2: 2, i4: 4, u2: 2, u4: 4}
INTEGERS = [
    through(op, small, t, 2) for small, t, _ in KINDS for op in (add, sub, mul, div, rem, pow, max, min, band, bor, bxor, shl)
] + [
    through(op, small, t, 1) for small, t, _ in KINDS for op in (neg, abs, sign, bnot)
] + [
    rewrite(op[small](a, b),                 op[t](cvt[t][small](a), cvt[t][small](b))) for small, t, _ in KINDS for op in (eq, ne, lt, le, gt, ge)
] + [
    through(shra, I4, i8, 2),
    through(shrl, U4, u8, 2),
    through(popcnt, U4, u8, 1),
] + [                                        # shifts and counts of the other signedness: on the same bits
    rewrite(op[t](a, b),                     bits[t][u](op[u](bits[u][t](a), bits[u][t](b))))
    for op, t, u in ((shrl, i2, u2), (shrl, i4, u4), (shra, u2, i2), (shra, u4, i4))
] + [
    rewrite(op[t](a),                        bits[t][u](op[u](bits[u][t](a)))) for op in (popcnt, clz) for t, u in ((i2, u2), (i4, u4))
] + [
    rewrite(clz[t](a),                       cvt[t].u8(sub.u8(clz.u8(cvt.u8[t](a)), 8 - n))) for t, n in ((u2, 2), (u4, 4))
] + [
    rewrite(mulhi[t](a, b),                  cvt[t][o](shift[o](mul[o](cvt[o][t](a), cvt[o][t](b)), n)))
    for t, o, shift, n in ((i2, i8, shra, 2), (i4, i8, shra, 4), (u2, u8, shrl, 2), (u4, u8, shrl, 4))
] + [
    rewrite(cvt[small][other](a),            cvt[small][t](cvt[t][other](a))) for small, t, other in ((I4, i8, U4), (U4, u8, I4))
] + [
    rewrite(cvt[small].pred(a),              select[small](a, 1, 0)) for small in (I4, U4)
] + [
    rewrite(cvt.pred[small](a),              cvt.pred[t](cvt[t][small](a))) for small, t, _ in KINDS
] + [
    rewrite(cvt.f32[small](a),               cvt.f32[o](cvt[o][t](cvt[t][small](a)))) for small, t, o in ((I4, i8, i32), (U4, u8, u32))
] + [
    rewrite(cvt[X][small](a),                cvt[X][t](cvt[t][small](a))) for small, t, _ in KINDS for X in (F, F8)
] + [
    rewrite(cvt[t][F](a),                    cvt[t].i32(min.i32(max.i32(cvt.i32[F](a), lo), hi)))
    for t, lo, hi in ((i2, -2, 1), (i4, -8, 7), (u2, 0, 3), (u4, 0, 15))
] + [
    rewrite(cvt[small][F8](a),               cvt[small].f32(cvt.f32[F8](a))) for small in (I4, U4)
]

# --- lower: floats of 8 bits and f4 ---------------------------------------------------------------------------------------------------
FORMATS = {                                  # bits of exponent and fraction, bias, encoding of infinity and nan
    f4e2m1fn: (2, 1, 1, 'none'), f8e3m4: (3, 4, 3, 'ieee'), f8e4m3: (4, 3, 7, 'ieee'), f8e4m3fn: (4, 3, 7, 'ones'),
    f8e4m3b11fnuz: (4, 3, 11, 'minus zero'), f8e4m3fnuz: (4, 3, 8, 'minus zero'), f8e5m2: (5, 2, 15, 'ieee'), f8e5m2fnuz: (5, 2, 16, 'minus zero'),
}
WIDE = {f32: (u32, 32, 23, 127), f64: (u64, 64, 52, 1023)}  # integer type, bits, bits of the fraction, bias


def codes(t):
    """(code of nan, code above the largest finite value, the sign's bit)."""
    exponent, fraction, _, special = FORMATS[t]
    sign, infinity = 1 << exponent + fraction, ((1 << exponent) - 1) << fraction
    return {'ieee': (infinity | 1 << fraction - 1, infinity), 'ones': (sign - 1, sign - 1),
            'minus zero': (sign, sign), 'none': (sign, sign - 1)}[special] + (sign,)


def bits_of(t):
    """The integer type of a small float's width."""
    return u4 if t is f4e2m1fn else u8


def widened(t):
    """a of type t in f32: its exponent and fraction, moved to those of f32, give the value times a power of two, also if subnormal."""
    exponent, fraction, bias, special = FORMATS[t]
    nan, beyond, sign = codes(t)
    code = cvt.u32[bits_of(t)](bits[bits_of(t)][t](a))
    magnitude = band.u32(code, sign - 1)
    small = mul.f32(bits.f32.u32(shlx.u32(magnitude, 23 - fraction)), 2.0**(127 - bias))
    if special == 'ieee':                    # infinity and nan are those of f32, shifted
        small = select.f32(ge.u32(magnitude, beyond), bits.f32.u32(bor.u32(shlx.u32(magnitude, 23 - fraction), 0x7f800000)), small)
    if special == 'ones':
        small = select.f32(eq.u32(magnitude, nan), NAN, small)
    signed = bits.f32.u32(bor.u32(bits.u32.f32(small), shlx.u32(band.u32(code, sign), 31 - exponent - fraction)))
    return select.f32(eq.u32(code, nan), NAN, signed) if special == 'minus zero' else signed


def narrowed(t, s):
    """a of type s, f32 or f64, rounded to t."""
    exponent, fraction, bias, special = FORMATS[t]
    u, width, s_fraction, s_bias = WIDE[s]
    nan, beyond, sign = codes(t)
    whole = bits[u][s](a)
    magnitude = band[u](whole, (1 << width - 1) - 1)
    drop = s_fraction - fraction
    # a normal result: adding half a unit less one, plus the last kept bit, carries where it rounds up
    odd = band[u](shrlx[u](magnitude, drop), 1)
    normal = shrlx[u](add[u](magnitude, add[u](odd, (1 << drop - 1) - 1 - (s_bias - bias << s_fraction))), drop)
    # a subnormal result: adding a power of two makes the float addition round at t's last place
    magic = 2.0**(1 - bias - fraction + s_fraction)
    magic_bits = 1 - bias - fraction + s_fraction + s_bias << s_fraction
    subnormal = sub[u](bits[u][s](add[s](bits[s][u](magnitude), magic)), magic_bits)
    finite = select[u](lt[u](magnitude, 1 - bias + s_bias << s_fraction), subnormal, normal)
    code = min[u](finite, beyond)            # also for infinity
    shifted = band[u](shrlx[u](whole, width - 1 - exponent - fraction), sign)
    if special == 'minus zero':              # the code of -0 is the only nan, and zero has no sign
        out = select[u](ge[u](code, beyond), nan, select[u](eq[u](code, 0), 0, bor[u](code, shifted)))
        return bits[t].u8(cvt.u8[u](out))
    out = bor[u](code, shifted)
    out = select[u](ne[s](a, a), nan, out) if special == 'none' else select[u](gt[u](magnitude, s_bias * 2 + 1 << s_fraction), bor[u](nan, shifted), out)
    return bits[t][bits_of(t)](cvt[bits_of(t)][u](out))


def power_of_two():
    """a of type f32 in f8e8m0fnu: the rounded exponent, up in a tie; zeros and negative numbers become nan."""
    whole = bits.u32.f32(a)
    rounded = shrlx.u32(add.u32(whole, 0x400000), 23)  # of infinity 255, which is nan
    code = select.u32(lt.u32(whole, 0x800000), select.u32(gt.u32(whole, 0x400000), 1, 0), rounded)  # 2^-127 is subnormal in f32
    return bits.f8e8m0fnu.u8(cvt.u8.u32(select.u32(gt.f32(a, 0.0), code, 255)))


def exponent_alone():
    """a of type f8e8m0fnu in f32."""
    code = cvt.u32.u8(bits.u8.f8e8m0fnu(a))
    normal = select.u32(eq.u32(code, 0), 0x400000, shlx.u32(code, 23))
    return bits.f32.u32(select.u32(eq.u32(code, 255), 0x7fc00000, normal))


FLOATS = [
    rewrite(op[F8](a, b),                    cvt[F8].f32(op.f32(cvt.f32[F8](a), cvt.f32[F8](b)))) for op in (add, sub, mul, div, rem, max, min, *WIDENED2)
] + [
    rewrite(op[F8](a),                       cvt[F8].f32(op.f32(cvt.f32[F8](a))))
    for op in (neg, abs, sign, floor, ceil, round_even, round_afz, sqrt, exp, rsqrt, *WIDENED)
] + [
    rewrite(op[F8](a, b),                    op.f32(cvt.f32[F8](a), cvt.f32[F8](b))) for op in (eq, ne, lt, le, gt, ge)
] + [
    rewrite(is_finite[F8](a),                is_finite.f32(cvt.f32[F8](a))),
    rewrite(cvt[F8].pred(a),                 cvt[F8].f32(select.f32(a, 1.0, 0.0))),
    rewrite(cvt.pred[F8](a),                 ne.f32(cvt.f32[F8](a), 0.0)),
    rewrite(cvt[F8][G8](a),                  cvt[F8].f32(cvt.f32[G8](a))),
    rewrite(cvt[F8][F16](a),                 cvt[F8].f32(cvt.f32[F16](a))),
    rewrite(cvt.bf16[F8](a),                 cvt.bf16.f32(cvt.f32[F8](a))),
    rewrite(cvt.f64[F8](a),                  cvt.f64.f32(cvt.f32[F8](a))),
    rewrite(cvt[N][F8](a),                   cvt[N].f32(cvt.f32[F8](a))),
] + [                                        # by way of f32, as ml_dtypes converts
    rewrite(cvt.f8e8m0fnu[t](a),             cvt.f8e8m0fnu.f32(cvt.f32[t](a))) for t in (i8, i16, i32, i64, u8, u16, u32, u64)
] + [                                        # f32 rounds only beyond 2**24, which is out of range of these
    rewrite(cvt[t][N](a),                    cvt[t].f32(cvt.f32[N](a))) for t in FORMATS
] + [
    rewrite(cvt.f8e8m0fnu.f64(a),            cvt.f8e8m0fnu.f32(cvt.f32.f64(a))),
    rewrite(cvt.f8e8m0fnu.f32(a),            power_of_two()),
] + [
    rewrite(cvt.f32.f8e8m0fnu(a),            exponent_alone()),
]
MACHINE = (f8e4m3fn, f8e5m2)                 # types that later machines convert from f32 and to f16
BY_BITS = [rewrite(cvt.f32[t](a),            widened(t)) for t in FORMATS if t not in MACHINE] + [
    rewrite(cvt[t][s](a),                    narrowed(t, s)) for t in FORMATS for s in WIDE if s is f64 or t not in MACHINE
] + [
    rewrite(cvt.f16[t](a),                   cvt.f16.f32(cvt.f32[t](a))) for t in (*FORMATS, f8e8m0fnu) if t not in MACHINE
]
SOFTWARE = [                                 # conversions that machines have from sm_89 on
    rewrite(cvt.f32[t](a),                   widened(t)) for t in MACHINE
] + [
    rewrite(cvt[t].f32(a),                   narrowed(t, f32)) for t in MACHINE
] + [
    rewrite(cvt.f16[t](a),                   cvt.f16.f32(cvt.f32[t](a))) for t in MACHINE
]

# --- lower: the machine's conversions, two at a time; they saturate where HLO has nan and infinity ------------------------------------
HARDWARE = [                                 # a value that is clamped to the type's largest ones is what saturates
    rewrite(cvt.f8e4m3fn.f32(min.f32(max.f32(a, -448.0), 448.0)), cvtsat.f8e4m3fn.f32(a)),
    rewrite(cvt.f8e5m2.f32(min.f32(max.f32(a, -57344.0), 57344.0)), cvtsat.f8e5m2.f32(a)),
    rewrite(cvt.f8e4m3fn.f32(a),             cvtsat.f8e4m3fn.f32(select.f32(gt.f32(abs.f32(a), 464.0), NAN, a))),
    rewrite(cvt.f8e5m2.f32(a),               select.f8e5m2(ge.f32(a, 61440.0), bits.f8e5m2.u8(0x7c), select.f8e5m2(le.f32(a, -61440.0), bits.f8e5m2.u8(0xfc),
                                                 cvtsat.f8e5m2.f32(a)))),
    rewrite(cvt.f32.f8e4m3fn(a),             cvt.f32.f16(cvt.f16.f8e4m3fn(a))),
    rewrite(cvt.f32.f8e5m2(a),               cvt.f32.f16(cvt.f16.f8e5m2(a))),
]
LOWER = INTEGERS + FLOATS + BY_BITS

# --- lower: bytes to f32, for machines that convert them in the special function unit ---------------------------------------------------
def behind_one(low, sign):
    """2^23 and a byte behind its one, without 2^23: two operations, of other units."""
    return sub.f32(bits.f32.u32(bxor.u32(low, 0x4b000000 + sign)), 2.0**23 + sign)


BYTES = [                                    # a sum of u8 on sm_80 takes 0.89 of the time, what compares more than it converts up to 1.04
    rewrite(cvt.f32.u8(a),                   cheaper(cvt.f32.u32(cvt.u32.u8(a)), behind_one(cvt.u32.u8(a), 0))),
    rewrite(cvt.f32.i8(a),                   cheaper(cvt.f32.i32(cvt.i32.i8(a)), behind_one(cvt.u32.u8(bits.u8.i8(a)), 128))),
]
