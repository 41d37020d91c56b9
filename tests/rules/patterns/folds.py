"""Wrong rules about folds. tests/gen/rule_corpus.py checks that each is refused, with values at which the sides differ."""
from gen.lang import *

INF = float('inf')

COUNTS = [                                        # the extent, its ends, an extent of 1
    rewrite(fold_add.i32(a, b, i),                            add.i32(b, mul.i32(a, k - 1)),                   when=fixed(a, i) & counts(i, k)),
    rewrite(fold_add.i32(a, b, i),                            add.i32(b, mul.i32(a, 2)),                       when=fixed(a, i) & counts(i, k) & (k > 1)),
    rewrite(fold_bxor.u32(a, b, i),                           b,                                               when=fixed(a, i)),
    rewrite(fold_mul.f32(a, b, i),                            mul.f32(b, mul.f32(a, a)),                       when=fixed(a, i) & counts(i, k) & (k > 1)),
    rewrite(fold_add.i32(idx.i32(i), b, i),                   add.i32(b, k*(k + 1)//2),                        when=counts(i, k) & (k < 2**15)),
    rewrite(fold_max.i32(idx.i32(i), b, i),                   max.i32(b, k),                                   when=counts(i, k) & (k < 2**31)),
    rewrite(fold_mul.u8(a, b, i),                             mul.u8(b, a),                                    when=fixed(a, i)),
    rewrite(fold_add.i32(a, b, i),                            add.i32(b, mul.i32(a, k//2*2)),                  when=fixed(a, i) & counts(i, k)),
    rewrite(fold_add.i64(idx.i64(i), b, i),                   add.i64(b, k*k//2),                              when=counts(i, k) & (k < 2**31)),
    rewrite(fold_min.i32(idx.i32(i), b, i),                   min.i32(b, 1)),
    rewrite(fold_max.u32(idx.u32(i), b, i),                   max.u32(b, k - 2),                               when=counts(i, k) & (k > 1) & (k < 2**31)),
    rewrite(fold_bxor.u32(a, b, i),                           bxor.u32(b, a),                                  when=fixed(a, i) & counts(i, k) & (k % 2 == 0)),
    rewrite(fold_bxor.u32(bnot.u32(a), b, i),                 bnot.u32(fold_bxor.u32(a, b, i))),
    rewrite(fold_mul.f32(neg.f32(a), b, i),                   fold_mul.f32(a, b, i),                           when=counts(i, k) & (k % 2 == 1)),
    rewrite(fold_add.i32(fold_add.i32(a, 0, j), 0, i),        fold_add.i32(a, 0, j),                           when=fixed(a, i) & counts(i, 2)),
    rewrite(fold_add.i32(fold_add.i32(a, 0, j), 0, i),        mul.i32(fold_add.i32(a, 0, j), m),               when=fixed(a, i) & counts(i, k) & counts(j, m)),
    rewrite(fold_band.pred(lt.i32(idx.i32(i), a), True, i),   lt.i32(k, a),                                    when=fixed(a, i) & counts(i, k) & (k < 2**31)),
    rewrite(fold_bor.pred(lt.i32(idx.i32(i), a), False, i),   lt.i32(k - 1, a),                                when=fixed(a, i) & counts(i, k) & (k < 2**31)),
    rewrite(fold_add.i32(a, b, i),                            add.i32(b, mul.i32(a, k % 14)),                  when=fixed(a, i) & counts(i, k)),
    rewrite(fold_max.i8(idx.i8(i), 13, i),                    13),                                             # two terms behind the number
    rewrite(fold_add.u32(select.u32(lt.index(i, 9), a, 0), b, i), fold_add.u32(a, b, i)),
]
INIT = [                                          # dropped, or taken twice
    rewrite(fold_max.f32(a, b, i),                            a,                                               when=fixed(a, i)),
    rewrite(fold_add.i32(a, b, i),                            mul.i32(a, k),                                   when=fixed(a, i) & counts(i, k)),
    rewrite(fold_add.i32(neg.i32(a), b, i),                   neg.i32(fold_add.i32(a, b, i))),
    rewrite(fold_add.u32(mul.u32(a, b), c, i),                mul.u32(fold_add.u32(a, c, i), b),               when=fixed(b, i)),
    rewrite(fold_bor.u32(band.u32(a, b), c, i),               band.u32(fold_bor.u32(a, c, i), b),              when=fixed(b, i)),
    rewrite(fold_band.u32(bnot.u32(a), -1, i),                bnot.u32(fold_bor.u32(a, -1, i))),
    rewrite(fold_max.f32(fold_max.f32(a, c, j), b, i),        fold_max.f32(a, b, j),                           when=fixed(a, i) & fixed(c, i)),
    rewrite(fold_add.f32(fold_add.f32(a, 0.0, j), b, i),      fold_add.f32(a, 0.0, j),                         when=fixed(a, i) & counts(i, 1)),
    rewrite(fold_add.i32(a, b, i),                            mul.i32(add.i32(a, b), k),                       when=fixed(a, i) & counts(i, k)),
    rewrite(fold_bor.u32(a, b, i),                            a,                                               when=fixed(a, i)),
    rewrite(fold_min.f32(neg.f32(a), INF, i),                 neg.f32(fold_max.f32(a, INF, i))),
    rewrite(fold_max.u32(bnot.u32(a), b, i),                  bnot.u32(fold_min.u32(a, b, i))),
]
ZERO = [                                          # the sign of a zero
    rewrite(fold_add.f32(neg.f32(a), 0.0, i),                 neg.f32(fold_add.f32(a, 0.0, i))),
    rewrite(fold_add.f32(select.f32(eq.i32(idx.i32(i), a), b, 0.0), 0.0, i),
            select.f32(band.pred(ge.i32(a, 0), lt.i32(a, k)), take.f32.i32(b, i, a), 0.0),                     when=fixed(a, i) & counts(i, k) & (k < 2**31)),
    rewrite(fold_add.f32(select.f32(x, a, 0.0), -0.0, i),     select.f32(x, fold_add.f32(a, -0.0, i), -0.0),   when=fixed(x, i)),
    rewrite(fold_max.f32(neg.f32(a), b, i),                   neg.f32(fold_min.f32(a, b, i))),
    rewrite(fold_add.f32(fold_add.f32(a, -0.0, j), 0.0, i),   fold_add.f32(a, -0.0, j),                        when=fixed(a, i) & counts(i, 1)),
    rewrite(fold_add.f32(neg.f32(a), -0.0, i),                neg.f32(fold_add.f32(a, 0.0, i))),
    rewrite(fold_add.f32(select.f32(x, a, 0.0), b, i),        select.f32(x, fold_add.f32(a, b, i), b),         when=fixed(x, i)),
    rewrite(fold_add.f32(a, 0.0, i),                          a,                                               when=fixed(a, i) & counts(i, 1)),
]
NAN = [                                           # and infinities
    rewrite(fold_max.f32(add.f32(a, b), -INF, i),             add.f32(fold_max.f32(a, -INF, i), b),            when=fixed(b, i)),
    rewrite(fold_add.f32(mul.f32(a, 0.0), 0.0, i),            0.0),
    rewrite(fold_add.f32(mul.f32(a, 2.0), 0.0, i),            mul.f32(fold_add.f32(a, 0.0, i), 2.0)),          # 2**127 - 2**127
    rewrite(fold_mul.f32(a, 0.0, i),                          0.0),
    rewrite(fold_add.f32(sub.f32(a, a), 0.0, i),              0.0),
    rewrite(fold_max.f32(a, 0.0, i),                          select.f32(gt.f32(a, 0.0), a, 0.0),              when=fixed(a, i)),
    rewrite(fold_min.f32(abs.f32(a), 0.0, i),                 0.0),
    rewrite(fold_max.f32(mul.f32(a, b), -INF, i),             mul.f32(fold_max.f32(a, -INF, i), b),            when=fixed(b, i)),
    rewrite(fold_max.f32(abs.f32(a), 0.0, i),                 abs.f32(fold_max.f32(a, 0.0, i))),
]
PLACES = [                                        # clamped against out of bounds, other signs, a value that the range changes
    rewrite(fold_add.i32(select.i32(eq.i32(idx.i32(i), a), b, 0), 0, i), take.i32.i32(b, i, a),                when=fixed(a, i)),
    rewrite(fold_add.i32(select.i32(eq.i32(idx.i32(i), a), b, 0), 0, i),
            select.i32(lt.i32(a, k), take.i32.i32(b, i, a), 0),                                                when=fixed(a, i) & counts(i, k) & (k < 2**31)),
    rewrite(fold_add.i32(select.i32(eq.i32(idx.i32(i), a), b, 0), 0, i),
            select.i32(band.pred(ge.i32(a, 0), le.i32(a, k)), take.i32.i32(b, i, a), 0),                       when=fixed(a, i) & counts(i, k) & (k < 2**31)),
    rewrite(fold_add.i32(select.i32(eq.i32(idx.i32(i), a), b, 0), 0, i),
            select.i32(band.pred(gt.i32(a, 0), lt.i32(a, k)), take.i32.i32(b, i, a), 0),                       when=fixed(a, i) & counts(i, k) & (k < 2**31)),
    rewrite(fold_add.i32(select.i32(ne.i32(idx.i32(i), a), b, 0), 0, i),
            select.i32(band.pred(ge.i32(a, 0), lt.i32(a, k)), take.i32.i32(b, i, a), 0),                       when=fixed(a, i) & counts(i, k) & (k < 2**31)),
    rewrite(fold_add.i32(select.i32(le.i32(idx.i32(i), a), b, 0), 0, i),
            select.i32(band.pred(ge.i32(a, 0), lt.i32(a, k)), take.i32.i32(b, i, a), 0),                       when=fixed(a, i) & counts(i, k) & (k < 2**31)),
    rewrite(fold_max.i32(select.i32(eq.i32(idx.i32(i), a), b, 0), 0, i),
            select.i32(band.pred(ge.i32(a, 0), lt.i32(a, k)), take.i32.i32(b, i, a), 0),                       when=fixed(a, i) & counts(i, k) & (k < 2**31)),
    rewrite(fold_add.i32(add.i32(a, b), 0, i),                add.i32(fold_add.i32(a, 0, i), b),               when=fixed(b, i)),
    rewrite(fold_min.i32(a, b, i),                            max.i32(b, a),                                   when=fixed(a, i)),
    rewrite(fold_max.u8(min.u8(a, b), c, i),                  min.u8(fold_max.u8(a, c, i), b),                 when=fixed(b, i)),
    rewrite(fold_max.i32(neg.i32(a), b, i),                   neg.i32(fold_min.i32(a, neg.i32(b), i))),        # the smallest integer
    rewrite(fold_mul.u8(mul.u8(a, b), c, i),                  mul.u8(fold_mul.u8(a, c, i), b),                 when=fixed(b, i)),
    rewrite(fold_max.i32(cvt.i32.i64(a), cvt.i32.i64(b), i),  cvt.i32.i64(fold_max.i64(a, b, i))),
    rewrite(fold_max.u32(bits.u32.i32(a), bits.u32.i32(b), i), bits.u32.i32(fold_max.i32(a, b, i))),
    rewrite(fold_max.f16(cvt.f16.f32(a), cvt.f16.f32(b), i),  cvt.f16.f32(fold_add.f32(a, b, i))),
    rewrite(fold_max.f32(select.f32(eq.i32(idx.i32(i), a), b, -INF), -INF, i), take.f32.i32(b, i, a),          when=fixed(a, i)),
    rewrite(fold_add.u32(select.u32(eq.u32(idx.u32(i), a), b, 0), 0, i), take.u32.u32(b, i, a),                when=fixed(a, i)),
    rewrite(fold_add.i32(select.i32(eq.i32(idx.i32(i), a), b, 1), 0, i),
            select.i32(band.pred(ge.i32(a, 0), lt.i32(a, k)), take.i32.i32(b, i, a), 0),                       when=fixed(a, i) & counts(i, k) & (k < 2**31)),
    rewrite(fold_add.i32(select.i32(eq.i32(idx.i32(i), a), b, 0), c, i),
            select.i32(band.pred(ge.i32(a, 0), lt.i32(a, k)), take.i32.i32(b, i, a), c),                       when=fixed(a, i) & counts(i, k) & (k < 2**31)),
    rewrite(fold_mul.i32(select.i32(eq.i32(idx.i32(i), a), b, 0), 1, i), 0,                                    when=fixed(a, i)),
    rewrite(fold_bor.pred(eq.i32(idx.i32(i), a), False, i),   band.pred(ge.i32(a, 0), le.i32(a, k)),           when=fixed(a, i) & counts(i, k) & (k < 2**31)),
    rewrite(fold_add.i32(select.i32(lt.i32(idx.i32(i), a), 1, 0), 0, i), a,                                    when=fixed(a, i)),
    rewrite(fold_add.i32(select.i32(lt.i32(idx.i32(i), a), 1, 0), 0, i), min.i32(a, k),                        when=fixed(a, i) & counts(i, k) & (k < 2**31)),
    rewrite(fold_max.i32(abs.i32(a), 0, i),                   abs.i32(fold_max.i32(a, 0, i))),
    rewrite(fold_add.u32(cvt.u32.u8(a), 0, i),                cvt.u32.u8(fold_add.u8(a, 0, i))),               # 255 + 1
    rewrite(fold_max.i32(add.i32(a, b), c, i),                add.i32(fold_max.i32(a, sub.i32(c, b), i), b),   when=fixed(b, i)),
    rewrite(fold_max.u32(bits.u32.i32(a), bits.u32.i32(b), i), bits.u32.i32(fold_min.i32(a, b, i))),
]

JOINS = [                                         # folds of folds: an init of each inner one, roundings, repeated terms
    rewrite(fold_max.i32(fold_max.i32(a, c, j), b, i),        fold_max.i32(a, c, i*k + j),                     when=counts(j, k) & fixed(c, i)),
    rewrite(fold_add.i32(fold_add.i32(a, c, j), b, i),        fold_add.i32(a, add.i32(b, c), i*k + j),         when=counts(j, k) & fixed(c, i)),
    rewrite(fold_bxor.u32(fold_bxor.u32(a, c, j), b, i),      fold_bxor.u32(a, b, i*k + j),                    when=counts(j, k) & fixed(c, i)),
    rewrite(fold_bxor.u32(fold_bxor.u32(a, c, j), b, i),      fold_bxor.u32(a, bxor.u32(b, c), i*k + j),       when=counts(j, k) & fixed(c, i)),
    rewrite(fold_add.f32(fold_add.f32(a, 0.0, j), 0.0, i),    fold_add.f32(a, 0.0, i*k + j),                   when=counts(j, k)),
    rewrite(fold_add.f64(fold_add.f64(a, -0.0, j), b, i),     fold_add.f64(a, b, i*k + j),                     when=counts(j, k)),
    rewrite(fold_mul.f32(fold_mul.f32(a, 1.0, j), 1.0, i),    fold_mul.f32(a, 1.0, i*k + j),                   when=counts(j, k)),
    rewrite(fold_max.i32(fold_min.i32(a, c, j), b, i),        fold_max.i32(a, b, i*k + j),                     when=counts(j, k) & fixed(c, i)),
    rewrite(fold_min.f32(fold_max.f32(a, -INF, j), INF, i),   fold_min.f32(a, INF, i*k + j),                   when=counts(j, k)),
    rewrite(fold_band.pred(fold_bor.pred(a, False, j), True, i), fold_band.pred(a, True, i*k + j),             when=counts(j, k)),
    rewrite(fold_bor.u32(fold_bor.u32(a, c, j), b, i),        bor.u32(b, fold_bor.u32(a, 0, i*k + j)),         when=counts(j, k) & fixed(c, i)),
    rewrite(fold_add.i32(neg.i32(fold_add.i32(a, 0, j)), b, i), fold_add.i32(a, b, i*k + j),                   when=counts(j, k)),
    rewrite(fold_add.i64(cvt.i64.i32(fold_add.i32(a, 0, j)), b, i), fold_add.i64(cvt.i64.i32(a), b, i*k + j),  when=counts(j, k)),
    rewrite(fold_add.i32(fold_add.i32(a, 0, j), b, i),        fold_add.i32(mul.i32(a, k), b, i),               when=fixed(a, j) & counts(i, k) & fixed(a, i)),
    rewrite(fold_max.f32(mul.f32(fold_max.f32(a, -INF, j), b), c, i), fold_max.f32(mul.f32(a, b), c, i*k + j), when=counts(j, k) & fixed(b, i) & fixed(b, j)),
]
EVERYDAY = [                                      # what looks like its right neighbour in arrays.py
    rewrite(fold_bor.pred(ne.i32(idx.i32(i), a), False, i),   True,                                            when=fixed(a, i) & counts(i, k) & (k < 2**31)),
    rewrite(fold_band.pred(ge.i32(idx.i32(i), a), True, i),   lt.i32(a, 0),                                    when=fixed(a, i)),
    rewrite(fold_band.pred(gt.i32(idx.i32(i), a), True, i),   le.i32(a, 0),                                    when=fixed(a, i)),
    rewrite(fold_add.i32(select.i32(x, 1, 0), 0, i),          select.i32(x, 1, 0),                             when=fixed(x, i)),
    rewrite(fold_band.u32(cvt.u32.u8(a), b, i),               cvt.u32.u8(fold_band.u8(a, -1, i))),
    rewrite(fold_mul.f32(select.f32(eq.i32(idx.i32(i), a), b, 1.0), 1.0, i), take.f32.i32(b, i, a),            when=fixed(a, i)),
    rewrite(fold_mul.f32(select.f32(eq.i32(idx.i32(i), a), b, 0.0), 1.0, i), 0.0,                              when=fixed(a, i) & counts(i, k) & (k > 1)),
    rewrite(fold_bor.u32(select.u32(eq.i32(idx.i32(i), a), b, 1), 0, i),
            select.u32(band.pred(ge.i32(a, 0), lt.i32(a, k)), take.u32.i32(b, i, a), 1),                       when=fixed(a, i) & counts(i, k) & (k < 2**31)),
    rewrite(fold_add.i32(mul.i32(idx.i32(i), 2), b, i),       add.i32(b, k*(k + 1)),                           when=counts(i, k) & (k < 2**15)),
    rewrite(fold_add.i32(shl.i32(a, 3), b, i),                shl.i32(fold_add.i32(a, b, i), 3)),
    rewrite(fold_bxor.u32(bxor.u32(a, b), c, i),              fold_bxor.u32(a, c, i),                          when=fixed(b, i)),
    rewrite(fold_min.i32(max.i32(a, b), c, i),                max.i32(fold_min.i32(a, c, i), b),               when=fixed(b, i)),
    rewrite(fold_max.f32(min.f32(a, b), c, i),                min.f32(fold_max.f32(a, c, i), b),               when=fixed(b, i)),
    rewrite(fold_max.u32(select.u32(x, a, b), b, i),          select.u32(x, fold_max.u32(a, 0, i), b),         when=fixed(x, i) & fixed(b, i)),
]

PARTS = [                                         # the init of parts, or of all; another operation; a strange term
    option(fold_add.f32(a, b, i),  fold_add.f32(fold_add.f32(a, 0.0, i % m), 0.0, i // m),         free=m, when=counts(i, k) & (k % m == 0) & regroups),
    option(fold_add.f16(a, b, i),  add.f16(b, fold_add.f16(fold_add.f16(a, 0.0, i % m), b, i // m)), free=m, when=counts(i, k) & (k % m == 0) & regroups),
    option(fold_add.f32(a, b, i),  fold_add.f32(fold_add.f32(a, 0.0, i % m), b, i // m),           free=m, when=counts(i, k) & (k % m == 0)),
    option(fold_add.u32(a, b, i),  fold_add.u32(fold_add.u32(a, 1, i % m), b, i // m),             free=m, when=counts(i, k) & (k % m == 0)),
    option(fold_add.u32(a, b, i),  fold_add.u32(fold_bor.u32(a, 0, i % m), b, i // m),             free=m, when=counts(i, k) & (k % m == 0)),
    option(fold_max.f32(a, b, i),  fold_max.f32(fold_max.f32(a, 0.0, i % m), b, i // m),           free=m, when=counts(i, k) & (k % m == 0)),
    option(fold_max.i32(a, b, i),  fold_max.i32(fold_max.i32(a, 0, i // m), b, i % m),             free=m, when=counts(i, k) & (k % m == 0)),
    option(fold_band.u32(a, b, i), fold_band.u32(fold_band.u32(a, 1, i % m), b, i // m),           free=m, when=counts(i, k) & (k % m == 0)),
    option(fold_bxor.u32(a, b, i), bxor.u32(b, fold_bxor.u32(fold_bxor.u32(a, m, i % m), 0, i // m)), free=m, when=counts(i, k) & (k % m == 0) & (m < 2**15)),
    # products, idempotent ones, what begins with another identity, parts that are no parts
    option(fold_mul.f32(a, b, i),  fold_mul.f32(fold_mul.f32(a, 1.0, i % m), b, i // m),           free=m, when=counts(i, k) & (k % m == 0)),
    option(fold_mul.f32(a, b, i),  fold_mul.f32(fold_mul.f32(a, 1.0, i % m), 1.0, i // m),         free=m, when=counts(i, k) & (k % m == 0) & regroups),
    option(fold_mul.f16(a, b, i),  cvt.f16.f32(fold_mul.f32(fold_mul.f32(cvt.f32.f16(a), cvt.f32.f16(b), i % m), cvt.f32.f16(b), i // m)), free=m,
           when=counts(i, k) & (k % m == 0) & fixed(b, i) & regroups),
    option(fold_add.f32(a, b, i),  fold_add.f32(fold_add.f32(a, b, i % m), b, i // m),             free=m,
           when=counts(i, k) & (k % m == 0) & fixed(b, i) & regroups),
    option(fold_add.f32(a, b, i),  fold_add.f32(fold_add.f32(a, b, i // m), 0.0, i % m),           free=m,
           when=counts(i, k) & (k % m == 0) & fixed(b, i) & regroups),
    option(fold_add.i32(a, b, i),  fold_add.i32(fold_add.i32(a, 0, i % m), 0, i // m),             free=m, when=counts(i, k) & (k % m == 0)),
    option(fold_bxor.u32(a, b, i), fold_bxor.u32(fold_bxor.u32(a, b, i % m), b, i // m),           free=m, when=counts(i, k) & (k % m == 0) & fixed(b, i)),
    option(fold_max.f32(a, b, i),  fold_max.f32(fold_min.f32(a, b, i % m), b, i // m),             free=m, when=counts(i, k) & (k % m == 0) & fixed(b, i)),
    option(fold_min.f32(a, b, i),  fold_max.f32(fold_min.f32(a, b, i % m), b, i // m),             free=m, when=counts(i, k) & (k % m == 0) & fixed(b, i)),
    option(fold_max.f32(a, b, i),  max.f32(b, fold_max.f32(fold_max.f32(a, INF, i % m), -INF, i // m)), free=m, when=counts(i, k) & (k % m == 0)),
    option(fold_max.f32(a, b, i),  fold_max.f32(fold_max.f32(a, 0.0, i % m), 0.0, i // m),         free=m, when=counts(i, k) & (k % m == 0)),
    option(fold_min.i8(a, b, i),   fold_min.i8(fold_min.i8(a, 127, i % m), 127, i // m),           free=m, when=counts(i, k) & (k % m == 0)),
    option(fold_bor.pred(a, b, i), fold_bor.pred(fold_band.pred(a, True, i % m), b, i // m),       free=m, when=counts(i, k) & (k % m == 0)),
    option(fold_bor.u32(a, b, i),  fold_bor.u32(fold_bor.u32(a, -1, i % m), b, i // m),            free=m, when=counts(i, k) & (k % m == 0)),
    option(fold_max.u16(a, b, i),  cvt.u16.u8(fold_max.u8(fold_max.u8(cvt.u8.u16(a), 0, i % m), cvt.u8.u16(b), i // m)), free=m,
           when=counts(i, k) & (k % m == 0)),
]


def scan(before, own, there=eq.index(i // m, n // m), outside=lt.index(n, i), fold=fold_add, op=add, t=i32, zero=0, e=0, parts=0, first=b, when=None):
    """A scan in pieces; each wrong rule changes one thing."""
    kept = lambda c, x: select[t](c, x, e)
    rest = fold[t](kept(before, fold[t](a, parts, i % m)), first, i // m)
    right = op[t](rest, fold[t](kept(there, fold[t](kept(own, a), e, i % m)), e, i // m))
    base = counts(i, k) & (k % m == 0) & fixed(n, i) & within(n, 0, k)
    return option(fold[t](select[t](outside, zero, a), b, i), right, free=m, when=base if when is None else base & when)


UP, OWN = lt.index(i // m, n // m), le.index(i % m, n % m)  # of a prefix
SCANS = [                                         # a bound off by one, a piece twice or never, an init that is dropped, or taken for each piece
    scan(le.index(i // m, n // m), OWN),
    scan(UP, lt.index(i % m, n % m)),
    scan(UP, le.index(i % m, n // m)),
    scan(UP, ge.index(i % m, n % m)),
    scan(gt.index(i // m, n // m), OWN),
    scan(UP, OWN, there=eq.index(i // m, n % m)),
    scan(UP, OWN, there=ne.index(i // m, n // m)),
    scan(UP, OWN, there=le.index(i // m, n // m)),
    scan(UP, OWN, outside=lt.index(i, n)),
    scan(UP, OWN, first=0),
    scan(UP, OWN, parts=b, when=fixed(b, i)),
    scan(UP, OWN, parts=1),
    scan(UP, OWN, zero=1),
    scan(UP, OWN, e=1),
    scan(ne.index(i // m, n // m), OWN),
    scan(UP, OWN, fold=fold_max, op=max, t=f32, zero=0.0, e=0.0, parts=0.0),
    scan(UP, OWN, fold=fold_max, op=max, t=f32, zero=-INF, e=-INF, parts=-INF, first=0.0),
    scan(UP, OWN, fold=fold_max, op=min, t=f32, zero=b, e=b, parts=b, when=fixed(b, i)),
    scan(UP, OWN, fold=fold_add, op=add, t=f32, zero=-0.0, e=0.0, parts=0.0),                                  # without regroups
    scan(UP, lt.index(i % m, n % m), fold=fold_band, op=band, t=u32, zero=-1, e=-1, parts=-1),
    scan(gt.index(i // m, n // m), gt.index(i % m, n % m), outside=lt.index(i, n)),                            # suffixes
    scan(ge.index(i // m, n // m), ge.index(i % m, n % m), outside=lt.index(i, n), fold=fold_bxor, op=bxor, t=u32),
]

MOST = (2 - 2**-23) * 2.0**127
ROW = counts(i, k) & (k % m == 0) & (k >= 4096) & rescales
EVERY, FIRST = (lambda v, e: v), (lambda v, e: select.f32(lt.index(i, n), v, e))
LAST = fixed(n, i) & within(n, k - m + 1, k + 1)


def kept(v): return max.f32(v, -MOST)


def exps(there=EVERY, lacks=-INF, of=None, own=kept, relative=None, begin=0.0, factor=lambda k, c: exp.f32(sub.f32(k, c)), times=mul.f32, over=fold_add.f32,
         inside=None, when=ROW):
    """A sum of exponentials in pieces; each wrong rule changes one thing."""
    c = fold_max.f32(there(a, -INF), -INF, i) if of is None else of
    number = own(fold_max.f32((inside or there)(a, lacks), -INF, i % m))
    piece = fold_add.f32(exp.f32(sub.f32((inside or there)(a, lacks), number if relative is None else relative)), begin, i % m)
    right = over(times(piece, factor(number, c)), 0.0, i // m)
    return option(fold_add.f32(there(exp.f32(sub.f32(a, c)), 0.0), 0.0, i), right, free=m, when=when)


def squares(there=EVERY, mean=None, own=lambda v: v, twice=lambda s: add.f32(s, s), by=lambda k, c: sub.f32(k, c), terms=None, masked=None, infinite=True,
            off=lambda s, c: abs.f32(sub.f32(s, c)), begin=0.0, when=ROW & fixed(y, i) & nonnegative(y)):
    c = mul.f32(fold_add.f32(there(a, 0.0), 0.0, i), y) if mean is None else mean
    count = fold_add.f32(there(1.0, 0.0), 0.0, i % m)
    number = own(mul.f32(fold_add.f32(there(a, 0.0), begin, i % m), div.f32(1.0, count)))
    d, apart = (masked or there)(sub.f32(there(a, 0.0), number), 0.0), by(number, c)
    first, second = fold_add.f32(d, 0.0, i % m), fold_add.f32(mul.f32(d, d), 0.0, i % m)
    piece = max.f32(add.f32(second, mul.f32(apart, add.f32(twice(first), mul.f32(apart, count if terms is None else terms)))), 0.0)
    piece = select.f32(lt.f32(second, INF), piece, add.f32(second, off(first, c))) if infinite else piece
    term = there(mul.f32(sub.f32(a, c), sub.f32(a, c)), 0.0)
    return option(fold_add.f32(term, 0.0, i), fold_add.f32(piece, 0.0, i // m), free=m, when=when)


ROWS = [                                          # where inf, -inf and nan lie; what is not there; a factor, a sign, a term
    exps(own=lambda v: v),
    exps(own=lambda v: min.f32(v, MOST)),
    exps(own=lambda v: min.f32(v, -MOST)),
    exps(own=lambda v: max.f32(v, 0.0)),
    exps(own=lambda v: max.f32(v, -2.0**100)),                                                                 # rows of less than that
    exps(own=lambda v: kept(add.f32(v, 200.0))),
    exps(of=c, when=ROW & fixed(c, i)),                                                                        # -inf, where others are more
    exps(factor=lambda k, c: exp.f32(sub.f32(c, k))),
    exps(factor=lambda k, c: 1.0),
    exps(factor=lambda k, c: sub.f32(k, c)),
    exps(times=add.f32),
    exps(over=fold_max.f32),
    exps(begin=1.0),
    exps(relative=fold_max.f32(a, -INF, i)),
    exps(there=FIRST, lacks=0.0, when=ROW & LAST),
    exps(there=FIRST, inside=EVERY, when=ROW & LAST),
    exps(there=FIRST, when=ROW & fixed(n, i) & within(n, 0, k + 1)),                                           # no term at all
    squares(own=lambda v: mul.f32(v, INF)),
    squares(own=lambda v: 0.0),                                                                                # a number, but none of the piece
    squares(mean=c, when=ROW & fixed(c, i)),
    squares(when=ROW & fixed(y, i)),
    squares(by=lambda k, c: add.f32(k, c)),
    squares(terms=1.0),
    squares(infinite=False),
    squares(off=lambda s, c: 0.0),
    squares(off=lambda s, c: abs.f32(s)),
    squares(there=FIRST, masked=EVERY, when=ROW & LAST & fixed(y, i) & nonnegative(y)),
    squares(there=FIRST, when=ROW & fixed(n, i) & within(n, 1, k + 1) & fixed(y, i) & nonnegative(y)),         # a piece without terms
]

VALUES = [COUNTS, INIT, ZERO, NAN, PLACES, JOINS, EVERYDAY, PARTS, SCANS, ROWS]
TEXTS = []
EMPTY = []
