"""Right rules about folds, as an algebraic simplifier has them. tests/gen/rule_corpus.py checks that each is accepted."""
from gen.lang import *

INF = float('inf')

ALL = [
    rewrite(fold_add.i32(neg.i32(a), 0, i),                   neg.i32(fold_add.i32(a, 0, i))),
    rewrite(fold_add.u32(mul.u32(a, b), 0, i),                mul.u32(fold_add.u32(a, 0, i), b),               when=fixed(b, i)),
    rewrite(fold_mul.u8(a, b, i),                             mul.u8(b, mul.u8(a, a)),                         when=fixed(a, i) & counts(i, 2)),
    rewrite(fold_bxor.u32(a, b, i),                           b,                                               when=fixed(a, i) & counts(i, k) & (k % 2 == 0)),
    rewrite(fold_bxor.u32(a, b, i),                           bxor.u32(b, a),                                  when=fixed(a, i) & counts(i, k) & (k % 2 == 1)),
    rewrite(fold_band.u32(bnot.u32(a), -1, i),                bnot.u32(fold_bor.u32(a, 0, i))),
    rewrite(fold_bor.pred(bnot.pred(a), False, i),            bnot.pred(fold_band.pred(a, True, i))),
    rewrite(fold_max.i32(neg.i32(a), b, i),                   neg.i32(fold_min.i32(a, neg.i32(b), i)),
            when=known_zero(a, 2**31) & known_zero(b, 2**31)),
    rewrite(fold_max.f32(neg.f32(a), neg.f32(b), i),          neg.f32(fold_min.f32(a, b, i))),
    rewrite(fold_max.f32(cvt.f32.f16(a), cvt.f32.f16(b), i),  cvt.f32.f16(fold_max.f16(a, b, i))),
    rewrite(fold_min.f32(cvt.f32.bf16(a), cvt.f32.bf16(b), i), cvt.f32.bf16(fold_min.bf16(a, b, i))),
    rewrite(fold_max.f32(select.f32(x, a, b), b, i),          select.f32(x, fold_max.f32(a, b, i), b),         when=fixed(x, i) & fixed(b, i)),
    rewrite(fold_add.f32(a, b, i),                            add.f32(b, a),                                   when=fixed(a, i) & counts(i, 1)),
    rewrite(fold_mul.f32(a, b, i),                            mul.f32(b, a),                                   when=fixed(a, i) & counts(i, 1)),
    rewrite(fold_add.f32(select.f32(x, a, 0.0), 0.0, i),      select.f32(x, fold_add.f32(a, 0.0, i), 0.0),     when=fixed(x, i)),
    rewrite(fold_add.i32(select.i32(eq.i32(idx.i32(i), a), b, 0), c, i),
            add.i32(c, select.i32(band.pred(ge.i32(a, 0), lt.i32(a, k)), take.i32.i32(b, i, a), 0)),           when=fixed(a, i) & counts(i, k) & (k < 2**31)),
    rewrite(fold_max.u8(min.u8(a, b), c, i),                  max.u8(c, min.u8(fold_max.u8(a, 0, i), b)),      when=fixed(b, i)),
    rewrite(fold_bor.u32(band.u32(a, b), c, i),               bor.u32(c, band.u32(fold_bor.u32(a, 0, i), b)),  when=fixed(b, i)),
    rewrite(fold_add.i32(idx.i32(i), b, i),                   add.i32(b, k*(k - 1)//2),                        when=counts(i, k) & (k < 2**15)),
    rewrite(fold_max.i32(idx.i32(i), b, i),                   max.i32(b, k - 1),                               when=counts(i, k) & (k < 2**31)),
    rewrite(fold_min.i32(idx.i32(i), b, i),                   min.i32(b, 0)),
    rewrite(fold_band.pred(lt.i32(idx.i32(i), a), True, i),   ge.i32(a, k),                                    when=fixed(a, i) & counts(i, k) & (k < 2**31)),
    rewrite(fold_bor.pred(lt.i32(idx.i32(i), a), False, i),   gt.i32(a, 0),                                    when=fixed(a, i)),
    rewrite(fold_bor.pred(eq.i32(idx.i32(i), a), False, i),   band.pred(ge.i32(a, 0), lt.i32(a, k)),           when=fixed(a, i) & counts(i, k) & (k < 2**31)),
    rewrite(fold_add.i32(select.i32(lt.i32(idx.i32(i), a), 1, 0), 0, i), max.i32(min.i32(a, k), 0),            when=fixed(a, i) & counts(i, k) & (k < 2**31)),
    rewrite(fold_max.f32(select.f32(eq.i32(idx.i32(i), a), b, -INF), -INF, i),
            select.f32(band.pred(ge.i32(a, 0), lt.i32(a, k)), take.f32.i32(b, i, a), -INF),                    when=fixed(a, i) & counts(i, k) & (k < 2**31)),
    rewrite(fold_add.u8(cvt.u8.u32(a), 0, i),                 cvt.u8.u32(fold_add.u32(a, 0, i))),
    rewrite(fold_max.u32(bnot.u32(a), bnot.u32(b), i),        bnot.u32(fold_min.u32(a, b, i))),
    rewrite(fold_min.f16(neg.f16(a), neg.f16(b), i),          neg.f16(fold_max.f16(a, b, i))),
    rewrite(fold_max.f32(fold_max.f32(a, b, j), b, i),        fold_max.f32(a, b, j),                           when=fixed(a, i) & fixed(b, i)),
    rewrite(fold_min.u16(fold_min.u16(a, c, j), b, i),        min.u16(b, fold_min.u16(a, c, j)),               when=fixed(a, i) & fixed(c, i)),
    rewrite(fold_add.i32(fold_add.i32(a, 0, j), 0, i),        mul.i32(fold_add.i32(a, 0, j), k),               when=fixed(a, i) & counts(i, k)),
    rewrite(fold_bxor.u32(bnot.u32(a), b, i),                 bnot.u32(fold_bxor.u32(a, b, i)),                when=counts(i, k) & (k % 2 == 1)),
    rewrite(fold_mul.f32(neg.f32(a), b, i),                   fold_mul.f32(a, b, i),                           when=counts(i, k) & (k % 2 == 0)),
    rewrite(fold_band.u32(bor.u32(a, b), -1, i),              bor.u32(fold_band.u32(a, -1, i), b),             when=fixed(b, i)),
    rewrite(fold_max.i32(max.i32(a, b), c, i),                max.i32(fold_max.i32(a, c, i), b),               when=fixed(b, i)),
    rewrite(fold_add.i32(sub.i32(a, b), c, i),                sub.i32(fold_add.i32(a, c, i), mul.i32(b, k)),   when=fixed(b, i) & counts(i, k)),
    rewrite(fold_bor.pred(band.pred(a, x), b, i),             bor.pred(b, band.pred(fold_bor.pred(a, False, i), x)), when=fixed(x, i)),
    rewrite(fold_add.u32(select.u32(x, a, 0), b, i),          select.u32(x, fold_add.u32(a, b, i), b),         when=fixed(x, i)),
    rewrite(fold_band.u32(band.u32(a, b), c, i),              band.u32(fold_band.u32(a, c, i), b),             when=fixed(b, i)),
    rewrite(fold_max.u16(cvt.u16.u8(a), cvt.u16.u8(b), i),    cvt.u16.u8(fold_max.u8(a, b, i))),
    rewrite(fold_max.f32(fold_max.f32(a, c, j), b, i),        fold_max.f32(a, max.f32(b, c), i*k + j),         when=counts(j, k) & fixed(c, i)),
    rewrite(fold_max.i32(fold_max.i32(a, c, j), b, i),        fold_max.i32(a, max.i32(b, c), j*k + i),         when=counts(i, k) & fixed(c, i)),
    rewrite(fold_add.u8(fold_add.u8(a, 0, j), b, i),          fold_add.u8(a, b, i*k + j),                      when=counts(j, k)),
    rewrite(fold_add.i32(fold_add.i32(a, c, j), b, i),        fold_add.i32(a, add.i32(b, mul.i32(c, m)), i*k + j),
            when=counts(j, k) & counts(i, m) & fixed(c, i)),
    rewrite(fold_band.pred(fold_band.pred(a, True, j), True, i), fold_band.pred(a, True, i*k + j),             when=counts(j, k)),
    rewrite(fold_bor.pred(ne.i32(idx.i32(i), a), False, i),   True,                              when=fixed(a, i) & counts(i, k) & (k > 1) & (k < 2**31)),
    rewrite(fold_band.pred(ge.i32(idx.i32(i), a), True, i),   le.i32(a, 0),                                    when=fixed(a, i)),
    rewrite(fold_add.i32(select.i32(x, 1, 0), 0, i),          select.i32(x, k, 0),                             when=fixed(x, i) & counts(i, k) & (k < 2**31)),
    rewrite(fold_band.u32(cvt.u32.u8(a), -1, i),              cvt.u32.u8(fold_band.u8(a, -1, i))),
    rewrite(fold_mul.f32(select.f32(eq.i32(idx.i32(i), a), b, 1.0), 1.0, i),
            select.f32(band.pred(ge.i32(a, 0), lt.i32(a, k)), take.f32.i32(b, i, a), 1.0),                     when=fixed(a, i) & counts(i, k) & (k < 2**31)),
    rewrite(fold_bor.u32(select.u32(eq.i32(idx.i32(i), a), b, 0), 0, i),
            select.u32(band.pred(ge.i32(a, 0), lt.i32(a, k)), take.u32.i32(b, i, a), 0),                       when=fixed(a, i) & counts(i, k) & (k < 2**31)),
    rewrite(fold_add.i32(mul.i32(idx.i32(i), 2), b, i),       add.i32(b, k*(k - 1)),                           when=counts(i, k) & (k < 2**15)),
    rewrite(fold_add.i32(shl.i32(a, 3), 0, i),                shl.i32(fold_add.i32(a, 0, i), 3)),
    rewrite(fold_bxor.u32(bxor.u32(a, b), c, i),              fold_bxor.u32(a, c, i),                          when=fixed(b, i) & counts(i, k) & (k % 2 == 0)),
    rewrite(fold_min.i32(max.i32(a, b), c, i),                min.i32(c, max.i32(fold_min.i32(a, 2**31 - 1, i), b)), when=fixed(b, i)),
    rewrite(fold_max.u32(select.u32(x, a, b), b, i),          select.u32(x, fold_max.u32(a, b, i), b),         when=fixed(x, i) & fixed(b, i)),
    rewrite(fold_max.f32(mul.f32(fold_max.f32(a, -INF, j), 2.0), -INF, i), mul.f32(fold_max.f32(a, -INF, i*k + j), 2.0), when=counts(j, k)),
    rewrite(fold_min.u8(min.u8(a, b), c, i),                  min.u8(fold_min.u8(a, c, i), b),                 when=fixed(b, i)),
]


def scan(fold, op, t, zero, e, before=lt.index(i // m, n // m), own=le.index(i % m, n % m), outside=lt.index(n, i), when=None):
    kept = lambda c, x: select[t](c, x, e)
    rest = fold[t](kept(before, fold[t](a, e, i % m)), b, i // m)
    right = op[t](rest, fold[t](kept(eq.index(i // m, n // m), fold[t](kept(own, a), e, i % m)), e, i // m))
    base = counts(i, k) & (k % m == 0) & fixed(n, i) & within(n, 0, k)
    return option(fold[t](select[t](outside, zero, a), b, i), right, free=m, when=base if when is None else base & when)


def exps(own, factor):
    most, number = fold_max.f32(a, -INF, i), own(fold_max.f32(a, -INF, i % m))
    piece = fold_add.f32(exp.f32(sub.f32(a, number)), 0.0, i % m)
    return option(fold_add.f32(exp.f32(sub.f32(a, most)), 0.0, i), fold_add.f32(factor(piece, exp.f32(sub.f32(number, most))), 0.0, i // m), free=m,
                  when=counts(i, k) & (k % m == 0) & (k >= 1024) & rescales)


OPTIONS = [
    exps(own=lambda v: max.f32(add.f32(v, 2.0), -(2 - 2**-23)*2.0**127), factor=lambda x, y: mul.f32(y, x)),  # a number is any that is near
    scan(fold_add, add, f32, -0.0, 0.0, when=regroups),
    scan(fold_add, add, i32, 0, 0, own=lt.index(i % m, n % m + 1)),
    scan(fold_bxor, bxor, u32, 0, 0, before=lt.index(i // m * m, n - n % m)),
    scan(fold_max, max, i32, b, b, when=fixed(b, i)),
    scan(fold_bor, bor, pred, False, False, before=gt.index(i // m, n // m), own=ge.index(i % m, n % m), outside=lt.index(i, n)),
    option(fold_add.f16(a, b, i),  fold_add.f16(fold_add.f16(a, 0.0, i // m), b, i % m),         free=m, when=counts(i, k) & (k % m == 0) & regroups),
    option(fold_add.bf16(a, b, i), cvt.bf16.f32(add.f32(cvt.f32.bf16(b), fold_add.f32(fold_add.f32(cvt.f32.bf16(a), 0.0, i % m), 0.0, i // m))), free=m,
           when=counts(i, k) & (k % m == 0) & regroups),
    option(fold_add.i32(a, b, i),  fold_add.i32(fold_add.i32(a, 0, i % m), b, i // m),             free=m, when=counts(i, k) & (k % m == 0)),
    option(fold_max.f32(a, b, i),  fold_max.f32(fold_max.f32(a, -INF, i % m), b, i // m),          free=m, when=counts(i, k) & (k % m == 0)),
    option(fold_min.u8(a, b, i),   fold_min.u8(fold_min.u8(a, 255, i // m), b, i % m),             free=m, when=counts(i, k) & (k % m == 0) & (m > 1)),
    option(fold_bor.u32(a, b, i),  fold_bor.u32(fold_bor.u32(a, b, i % m), b, i // m),             free=m, when=counts(i, k) & (k % m == 0) & fixed(b, i)),
]
