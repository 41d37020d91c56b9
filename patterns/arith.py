"""Algebra of elements, and lowerings by arithmetic alone, in lists that a target names for what it lacks."""
from gen.lang import *

INF = float('inf')
LARGEST = 2.0**127 * (2 - 2.0**-23)          # the largest f32

WIDTHS = (8, 16, 32, 64)
SIGNED, UNSIGNED = (i8, i16, i32, i64), (u8, u16, u32, u64)
WIDTH = {**dict(zip(SIGNED, WIDTHS)), **dict(zip(UNSIGNED, WIDTHS)), f16: 16, bf16: 16, f32: 32, f64: 64}
LOW, HIGH = {t.name: -2**(n - 1) for t, n in zip(SIGNED, WIDTHS)}, {t.name: 2**(n - 1) - 1 for t, n in zip(SIGNED, WIDTHS)}
LOW.update({t.name: 0 for t in UNSIGNED})
HIGH.update({t.name: 2**n - 1 for t, n in zip(UNSIGNED, WIDTHS)})

# --- simplify: exact for every value, nan and -0 included ---------------------------------------------------------------------
SIMPLIFY = [
    rewrite(add[N](a, 0),                    a),
    rewrite(sub[N](a, 0),                    a),
    rewrite(sub[N](a, a),                    0),
    rewrite(mul[N](a, 1),                    a),
    rewrite(mul[N](a, 0),                    0),
    rewrite(add[F](a, -0.0),                 a),
    rewrite(sub[F](a, 0.0),                  a),
    rewrite(mul[F](a, 1.0),                  a),
    rewrite(div[F](a, 1.0),                  a),
    rewrite(div[N](a, 1),                    a),
    rewrite(neg[F](neg[F](a)),               a),
    rewrite(add[F](a, neg[F](b)),            sub[F](a, b)),
    rewrite(sub[F](a, neg[F](b)),            add[F](a, b)),
    rewrite(abs[F](abs[F](a)),               abs[F](a)),
    rewrite(abs[F](neg[F](a)),               abs[F](a)),
    rewrite(max[T](a, a),                    a),
    rewrite(min[T](a, a),                    a),
    rewrite(band[N](a, a),                   a),
    rewrite(bor[N](a, a),                    a),
    rewrite(bxor[N](a, a),                   0),
    rewrite(bxor[N](a, bxor[N](a, b)),       b),
    rewrite(band[N](a, 0),                   0),
    rewrite(bor[N](a, 0),                    a),
    rewrite(bxor[N](a, 0),                   a),
    rewrite(shl[N](a, 0),                    a),
    rewrite(shrl[N](a, 0),                   a),
    rewrite(shra[N](a, 0),                   a),
    rewrite(band.pred(a, True),              a),
    rewrite(band.pred(a, False),             False),
    rewrite(bor.pred(a, False),              a),
    rewrite(bor.pred(a, True),               True),
    rewrite(bnot.pred(bnot.pred(a)),         a),
    rewrite(select[T](a, b, b),              b),
    rewrite(select[T](True, a, b),           a),
    rewrite(select[T](False, a, b),          b),
    rewrite(select.pred(True, a, b),         a),
    rewrite(select.pred(False, a, b),        b),
    rewrite(select.pred(a, b, b),            b),
    rewrite(select[T](a, select[T](b, x, y), y), select[T](band.pred(a, b), x, y)),
    rewrite(select[T](a, x, select[T](b, x, y)), select[T](bor.pred(a, b), x, y)),
    rewrite(add[F](select[F](a, b, -0.0), select[F](a, c, -0.0)), select[F](a, add[F](b, c), -0.0)),    # terms of a thread, all there or none
    rewrite(add[N](select[N](a, b, 0), select[N](a, c, 0)), select[N](a, add[N](b, c), 0)),
    rewrite(max[F](select[F](a, b, -INF), select[F](a, c, -INF)), select[F](a, max[F](b, c), -INF)),
    rewrite(min[F](select[F](a, b, INF), select[F](a, c, INF)), select[F](a, min[F](b, c), INF)),
    rewrite(div[F](a, select[F](b, 2.0, 1.0)), mul[F](a, select[F](b, 0.5, 1.0))),  # the derivative of a maximum
    rewrite(bor.pred(gt[T](a, b), eq[T](a, b)), ge[T](a, b)),
    rewrite(bor.pred(lt[T](a, b), eq[T](a, b)), le[T](a, b)),
    rewrite(bor.pred(ge[T](a, b), eq[T](a, b)), ge[T](a, b)),
    rewrite(bor.pred(le[T](a, b), eq[T](a, b)), le[T](a, b)),
    rewrite(add[F](a, 0.0),                  a,                           when=never_negzero(a)),
    rewrite(cvt[F16].f32(cvt.f32[F16](a)),   a),                          # widening loses nothing
    rewrite(cvt.f32.f64(cvt.f64.f32(a)),     a),
    rewrite(max.f32(cvt.f32[F16](a), cvt.f32[F16](b)), cvt.f32[F16](max[F16](a, b)), when=has('max.nan')),
    rewrite(min.f32(cvt.f32[F16](a), cvt.f32[F16](b)), cvt.f32[F16](min[F16](a, b)), when=has('max.nan')),
] + [                                        # decided by facts about an index
    rewrite(op[I](idx[I](n), k),             op.index(n, k)) for op in (eq, ne, lt, le, gt, ge)
] + [
    rewrite(op[I](idx[I](n), idx[I](i)),     op.index(n, i)) for op in (eq, ne, lt, le, gt, ge)
] + [
    rewrite(op[I](idx[I](n), idx[I](i)),     idx[I](op.index(n, i))) for op in (max, min)
] + [                                        # identities: what a thread combines where it has no element
    rewrite(max[F](a, -INF),                 a),
    rewrite(min[F](a, INF),                  a),
    rewrite(band[N](a, -1),                  a),
    rewrite(bxor.pred(a, False),             a),
    rewrite(ne.pred(a, False),               a),
    rewrite(eq.pred(a, True),                a),
] + [                                        # as jnp.floor_divide and jnp.remainder ask: the sign of a, and whether a quotient is exact
    rewrite(ne[I](sign[I](a), 1),            le[I](a, 0)),
    rewrite(eq[I](sign[I](a), 1),            gt[I](a, 0)),
] + [
    rewrite(op[I](rem[I](a, 1 << m), 0),     op[I](band[I](a, (1 << m) - 1), 0)) for op in (eq, ne)
] + [                                        # by 2**m: they round down, and so do a shift and the low bits
    rewrite(select[I](band.pred(le[I](a, 0), ne[I](band[I](a, (1 << m) - 1), 0)), less[I](div[I](a, 1 << m), one), div[I](a, 1 << m)), shra[I](a, m))
    for less, one in ((sub, 1), (add, -1))
] + [
    rewrite(select[I](band.pred(lt[I](rem[I](a, 1 << m), 0), ne[I](band[I](a, (1 << m) - 1), 0)), add[I](rem[I](a, 1 << m), 1 << m), rem[I](a, 1 << m)),
            band[I](a, (1 << m) - 1)),
] + [                                        # the sign of a remainder, as jnp.remainder asks
    rewrite(lt[t](a, 0),                     False,                       when=known_zero(a, LOW[t.name])) for t in SIGNED
] + [
    rewrite(ge[t](a, 0),                     True,                        when=known_zero(a, LOW[t.name])) for t in SIGNED
] + [
    rewrite(max[t](a, 0),                    a,                           when=known_zero(a, LOW[t.name])) for t in SIGNED
] + [
    rewrite(max[t](a, LOW[t.name]),          a) for t in SIGNED + UNSIGNED
] + [                                        # no bit above those of the bound: an index that wraps around a table's size
    rewrite(le[U](a, k),                     True,                        when=known_zero(a, -1 - k)),
] + [
    rewrite(min[t](a, HIGH[t.name]),         a) for t in SIGNED + UNSIGNED
] + [
    rewrite(op.pred(a, False),               a) for op in (add, max)
] + [
    rewrite(op.pred(a, True),                a) for op in (mul, min)
]

# --- lower: pred is one bit ------------------------------------------------------------------------------------------------------
PRED = [
    rewrite(add.pred(a, b),                  bor.pred(a, b)),
    rewrite(max.pred(a, b),                  bor.pred(a, b)),
    rewrite(mul.pred(a, b),                  band.pred(a, b)),
    rewrite(min.pred(a, b),                  band.pred(a, b)),
    rewrite(bnot.pred(a),                    bxor.pred(a, True)),
    rewrite(cvt[T].pred(a),                  select[T](a, 1, 0)),
    rewrite(cvt.pred[T](a),                  ne[T](a, 0)),
]

# --- lower: HLO's integers, where x / 0 is all ones, x % 0 is x, MIN / -1 is MIN, and a shift by the width or more is 0 or the sign ---------
def quotient(t, power):
    """a / 2**power towards zero, of type t with a sign: a negative a needs 2**power - 1 more before its low bits are cut off."""
    return shrax[t](add[t](a, shrlx[t](shrax[t](a, WIDTH[t] - 1), WIDTH[t] - power)), power)


DIVIDE = [                                   # by 2**m: a shift, or the low bits. A quotient of 16 bits with a sign takes no longer than the shifts
    rewrite(div[U](a, 1 << m),               shrlx[U](a, m),              when=m > 0),
    rewrite(rem[U](a, 1 << m),               band[U](a, (1 << m) - 1)),
] + [
    rewrite(div[t](a, 1 << m),               shrlx[t](a, m),              when=(m > 0) & known_zero(a, LOW[t.name])) for t in SIGNED
] + [
    rewrite(rem[t](a, 1 << m),               band[t](a, (1 << m) - 1),    when=known_zero(a, LOW[t.name])) for t in SIGNED
] + [
    rewrite(div[t](a, 1 << m),               quotient(t, m),              when=m > 0) for t in (i8, i32, i64)
] + [
    rewrite(rem[t](a, 1 << m),               sub[t](a, shlx[t](quotient(t, m), m)), when=m > 0) for t in (i8, i32, i64)
] + [
    rewrite(div[N](a, k),                    divx[N](a, k),               when=k > 0),
    rewrite(rem[N](a, k),                    remx[N](a, k),               when=k > 0),
    rewrite(div[U](a, b),                    select[U](eq[U](b, 0), -1, divx[U](a, max[U](b, 1)))),
    rewrite(rem[U](a, b),                    select[U](eq[U](b, 0), a, remx[U](a, max[U](b, 1)))),
    rewrite(div[I](a, b),                    select[I](eq[I](b, 0), -1, select[I](eq[I](b, -1), neg[I](a),
                                                 divx[I](a, select[I](bor.pred(eq[I](b, 0), eq[I](b, -1)), 1, b))))),
    rewrite(rem[I](a, b),                    select[I](eq[I](b, 0), a, select[I](eq[I](b, -1), 0,
                                                 remx[I](a, select[I](bor.pred(eq[I](b, 0), eq[I](b, -1)), 1, b))))),
]
SHIFT = [
    rewrite(shl[N](a, k),                    shlx[N](a, k),               when=(k > 0) & (k < w)),
    rewrite(shrl[N](a, k),                   shrlx[N](a, k),              when=(k > 0) & (k < w)),
    rewrite(shra[N](a, k),                   shrax[N](a, k),              when=(k > 0) & (k < w)),
] + [                                        # the machine's shifts of 32 bits are as HLO's: see INSTR
    rewrite(op[t](a, b),                     select[t](lt[u](bits[u][t](b), n), opx[t](a, bits[t][u](band[u](bits[u][t](b), n - 1))), 0))
    for op, opx in ((shl, shlx), (shrl, shrlx)) for t, u, n in zip(SIGNED, UNSIGNED, WIDTHS) if n != 32
] + [
    rewrite(op[u](a, b),                     select[u](lt[u](b, n), opx[u](a, band[u](b, n - 1)), 0))
    for op, opx in ((shl, shlx), (shrl, shrlx)) for u, n in zip(UNSIGNED, WIDTHS) if n != 32
] + [
    rewrite(shra[t](a, b),                   shrax[t](a, bits[t][u](min[u](bits[u][t](b), n - 1)))) for t, u, n in zip(SIGNED, UNSIGNED, WIDTHS) if n != 32
] + [
    rewrite(shra[u](a, b),                   shrax[u](a, min[u](b, n - 1))) for u, n in zip(UNSIGNED, WIDTHS) if n != 32
]
SIGN = [
    rewrite(sign[I](a),                      max[I](min[I](a, 1), -1)),
    rewrite(sign[U](a),                      min[U](a, 1)),
    rewrite(sign[F](a),                      select[F](lt[F](a, 0.0), -1.0, select[F](gt[F](a, 0.0), 1.0, a))),
    rewrite(abs[U](a),                       a),
    rewrite(neg[N](a),                       sub[N](0, a)),
    rewrite(bnot[N](a),                      bxor[N](a, -1)),
    rewrite(is_finite.f32(a),                le.f32(abs.f32(a), LARGEST)),          # LLVM turns comparisons with infinity into integer arithmetic
    rewrite(is_finite[F](a),                 lt[F](abs[F](a), INF)),
]


def power16(t, width):
    """a ** (b modulo 2**16) modulo 2**width, by repeated squaring: one bit of the exponent a step."""
    result, square = 1, a
    for step in range(16 if width > 16 else width):
        odd = ne[t](band[t](b, 1 << step if step < width - 1 or t in UNSIGNED else LOW[t.name]), 0)
        result = select[t](odd, square if step == 0 else mul[t](square, result), result)
        square = mul[t](square, square)
    return result


def power(t, width):
    """a ** b for b >= 0, sixteen bits of the exponent at a time."""
    result, base = pow16[t](a, b), a
    for low in range(16, width, 16):
        for _ in range(16):
            base = mul[t](base, base)
        result = mul[t](result, pow16[t](base, shrlx[t](b, low)))
    return result


MULHI = [                                    # the machine has mulhi of 16 bits and more
    rewrite(mulhi[t](a, b),                  cvt[t].i32(shrax.i32(mul.i32(cvt.i32[t](a), cvt.i32[t](b)), 8))) for t in (i8, u8)
]
POWER = [rewrite(pow16[t](a, b), power16(t, n)) for t, n in zip(SIGNED + UNSIGNED, WIDTHS * 2)] + [
    rewrite(pow[t](a, b),                    power(t, n)) for t, n in zip(UNSIGNED, WIDTHS)
] + [                                        # a negative exponent gives 1, -1 or 0
    rewrite(pow[t](a, b),                    select[t](lt[t](b, 0), select[t](eq[t](a, 1), 1, select[t](eq[t](a, -1),
                                                 select[t](ne[t](band[t](b, 1), 0), -1, 1), 0)), power(t, n)))
    for t, n in zip(SIGNED, WIDTHS)
]

# --- lower: conversions. The hardware saturates to 32 and 64 bits and takes nan to 0 only between 32-bit types ---------------------
CONVERT = [
    rewrite(cvt[t].f32(a),                   cvt[t].i32(min.i32(max.i32(cvt.i32.f32(a), LOW[t.name]), HIGH[t.name]))) for t in (i8, i16, u8, u16)
] + [
    rewrite(cvt[t].f64(a),                   cvt[t].i32(min.i32(max.i32(cvt.i32.f64(a), LOW[t.name]), HIGH[t.name]))) for t in (i8, i16, u8, u16)
] + [
    rewrite(cvt[t].f64(a),                   select[t](ne.f64(a, a), 0, cvt[t].f64.approx(a)), when=~approx) for t in (i32, u32, i64, u64)
] + [
    rewrite(cvt[t].f32(a),                   select[t](ne.f32(a, a), 0, cvt[t].f32.approx(a)), when=~approx) for t in (i64, u64)
] + [
    rewrite(cvt[N][F16](a),                  cvt[N].f32(cvt.f32[F16](a))),
    rewrite(cvt.bf16.f16(a),                 cvt.bf16.f32(cvt.f32.f16(a))),
    rewrite(cvt.f16.bf16(a),                 cvt.f16.f32(cvt.f32.bf16(a))),
    rewrite(cvt.f16[N](a),                   cvt.f16.f32(cvt.f32[N](a))),          # f32 rounds only beyond 2**24, where f16 is inf
] + [
    rewrite(cvt.bf16[t](a),                  cvt.bf16.f32(cvt.f32[t](a))) for t in (i8, i16, u8, u16)
]

# --- lower: bf16 where the machine has only some operations -------------------------------------------------------------------------------
BF16_VIA_FMA = [                             # before sm_90 bf16 has fma but no add, sub, mul
    rewrite(add.bf16(a, b),                  fma.bf16(a, 1.0, b)),
    rewrite(sub.bf16(a, b),                  fma.bf16(b, -1.0, a)),
    rewrite(mul.bf16(a, b),                  fma.bf16(a, b, -0.0)),
]
STICKY = 2**11                               # stands for the bits of an i64 that f64 cannot hold: set if one of them is, so that later rounding sees no tie
BF16_FROM_INTEGER = [                        # exactly to f64, then rounded to bf16. The first step is hidden from LLVM, which would convert via f32
    rewrite(cvt.bf16[t](a),                  cvt.bf16.f64(cvt.f64[t].approx(a))) for t in (i32, u32)
] + [
    rewrite(cvt.bf16.i64(a),                 cvt.bf16.f64(cvt.f64.i64.approx(select.i64(lt.u64(bits.u64.i64(add.i64(a, 2**53)), 2**54), a,
                                                 bor.i64(band.i64(a, -STICKY), select.i64(ne.i64(band.i64(a, STICKY - 1), 0), STICKY, 0)))))),
    rewrite(cvt.bf16.u64(a),                 cvt.bf16.f64(cvt.f64.u64.approx(select.u64(lt.u64(a, 2**53), a,
                                                 bor.u64(band.u64(a, -STICKY), select.u64(ne.u64(band.u64(a, STICKY - 1), 0), STICKY, 0)))))),
]

def upper(whole):
    """The bf16 that is the upper half of the u32."""
    return bits.bf16.u16(cvt.u16.u32(shrlx.u32(whole, 16)))


def rounded():
    """An f32 rounded to bf16: its upper half, plus one if the lower half rounds up; ties to even."""
    whole = bits.u32.f32(a)
    even = add.u32(add.u32(whole, 0x7fff), band.u32(shrlx.u32(whole, 16), 1))
    return upper(select.u32(ne.f32(a, a), 0x7fc00000, even))


def odd():
    """An f64 rounded to odd in f32: where it is inexact the last bit is 1, so that a later rounding sees no tie."""
    near = cvt.f32.f64(a)
    whole = bits.u32.f32(near)
    toward = select.u32(lt.f64(abs.f64(cvt.f64.f32(near)), abs.f64(a)), add.u32(whole, 1), sub.u32(whole, 1))
    keep = bor.pred(eq.f64(cvt.f64.f32(near), a), ne.u32(band.u32(whole, 1), 0))
    return bits.f32.u32(select.u32(keep, whole, toward))


def fused():
    """a * b + c in f64, where the product is exact; the sum is rounded to odd, as in odd()."""
    product, third = mul.f64(cvt.f64.bf16(a), cvt.f64.bf16(b)), cvt.f64.bf16(c)
    total = add.f64(product, third)
    part = sub.f64(total, product)
    lost = add.f64(sub.f64(product, sub.f64(total, part)), sub.f64(third, part))
    whole = bits.i64.f64(total)
    toward = add.i64(whole, bor.i64(shra.i64(bxor.i64(bits.i64.f64(lost), whole), 63), 1))  # -1 where the signs differ, else 1
    lossy = band.pred(bor.pred(lt.f64(lost, 0.0), gt.f64(lost, 0.0)), eq.i64(band.i64(whole, 1), 0))
    return bits.f64.i64(select.i64(lossy, toward, whole))


BF16_VIA_F32 = [                             # before sm_80 there is no bf16: f32 computes, and integer arithmetic rounds
    rewrite(cvt.f32.bf16(upper(a)),          bits.f32.u32(band.u32(a, -65536))),     # from one operation to the next
    rewrite(cvt.bf16.f32(a),                 rounded()),
    rewrite(cvt.bf16.f64(a),                 cvt.bf16.f32(odd())),
    rewrite(cvt.f64.bf16(a),                 cvt.f64.f32(cvt.f32.bf16(a))),
    rewrite(fma.bf16(a, b, c),               cvt.bf16.f64(fused())),
    rewrite(neg.bf16(a),                     bits.bf16.u16(bxor.u16(bits.u16.bf16(a), 0x8000))),
    rewrite(abs.bf16(a),                     bits.bf16.u16(band.u16(bits.u16.bf16(a), 0x7fff))),
] + [                                        # rounding to f32 first changes no result: 24 >= 2 * 8 + 2
    rewrite(op.bf16(a, b),                   cvt.bf16.f32(op.f32(cvt.f32.bf16(a), cvt.f32.bf16(b)))) for op in (add, sub, mul)
] + [                                        # exact
    rewrite(op.bf16(a, b),                   upper(bits.u32.f32(op.f32(cvt.f32.bf16(a), cvt.f32.bf16(b))))) for op in (max, min)
]
BF16_COMPARE_VIA_F32 = [rewrite(op.bf16(a, b), op.f32(cvt.f32.bf16(a), cvt.f32.bf16(b))) for op in (eq, ne, lt, le, gt, ge)]
HALF_VIA_F32 = [                             # rounding to f32 first changes no result: 24 >= 2 * 11 + 2
    rewrite(op[F16](a, b),                   cvt[F16].f32(op.f32(cvt.f32[F16](a), cvt.f32[F16](b)))) for op in (div, rem)
] + [
    rewrite(op[F16](a),                      cvt[F16].f32(op.f32(cvt.f32[F16](a)))) for op in (sqrt, floor, ceil, round_even, round_afz)
]

LOWER = PRED + DIVIDE + SHIFT + SIGN + MULHI + POWER + CONVERT + HALF_VIA_F32

# --- simplify: functions that are off by less than their budgets leave together; of a / sqrt(b) the product a * rsqrt(b) may be off by more ----------
SIMPLIFY += [
    rewrite(div.f32(1.0, sqrt.f32(a)),       rsqrt.f32(a),                 when=approx & nearer),   # at --accuracy xla, too
]

# --- simplify: what --assume permits, before what needs no permission
SIMPLIFY = [
    rewrite(sub[F](a, a),                    0.0,                          when=nnan),          # of an infinity it is nan
    rewrite(div[F](a, a),                    1.0,                          when=nnan),
    rewrite(mul[F](a, 0.0),                  0.0,                          when=nnan & nsz),
    rewrite(add[F](a, 0.0),                  a,                            when=nsz),
    rewrite(sub[F](0.0, a),                  neg[F](a),                    when=nsz),
    rewrite(neg[F](sub[F](a, b)),            sub[F](b, a),                 when=nsz),
] + [                                        # tests for nan
    rewrite(op[F](a, a),                     True,                         when=nnan) for op in (eq, le, ge)
] + [
    rewrite(ne[F](a, a),                     False,                        when=nnan),
] + [                                        # a comparison and a choice
    rewrite(select[F](op[F](a, b), a, b),    least[F](a, b),               when=nnan & nsz) for op, least in ((lt, min), (le, min), (gt, max), (ge, max))
] + [                                        # one rounding for two
    rewrite(add[t](mul[t](a, b), c),         fma[t](a, b, c),              when=contract) for t in (f16, f32, f64)
] + [
    rewrite(sub[t](mul[t](a, b), c),         fma[t](a, b, neg[t](c)),      when=contract) for t in (f16, f32, f64)
] + [
    rewrite(sub[t](c, mul[t](a, b)),         fma[t](neg[t](a), b, c),      when=contract) for t in (f16, f32, f64)
] + [
    rewrite(add.bf16(mul.bf16(a, b), c),     fma.bf16(a, b, c),            when=contract & has('bf16.fma')),
    rewrite(sub.bf16(mul.bf16(a, b), c),     fma.bf16(a, b, neg.bf16(c)),  when=contract & has('bf16.fma')),
    rewrite(sub.bf16(c, mul.bf16(a, b)),     fma.bf16(neg.bf16(a), b, c),  when=contract & has('bf16.fma')),
] + SIMPLIFY
