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
]
INIT = [                                          # dropped, or taken twice
    rewrite(fold_max.f32(a, b, i),                            a,                                               when=fixed(a, i)),
    rewrite(fold_add.i32(a, b, i),                            mul.i32(a, k),                                   when=fixed(a, i) & counts(i, k)),
    rewrite(fold_add.i32(neg.i32(a), b, i),                   neg.i32(fold_add.i32(a, b, i))),
    rewrite(fold_add.u32(mul.u32(a, b), c, i),                mul.u32(fold_add.u32(a, c, i), b),               when=fixed(b, i)),
    rewrite(fold_bor.u32(band.u32(a, b), c, i),               band.u32(fold_bor.u32(a, c, i), b),              when=fixed(b, i)),
    rewrite(fold_band.u32(bnot.u32(a), -1, i),                bnot.u32(fold_bor.u32(a, -1, i))),
]
ZERO = [                                          # the sign of a zero
    rewrite(fold_add.f32(neg.f32(a), 0.0, i),                 neg.f32(fold_add.f32(a, 0.0, i))),
    rewrite(fold_add.f32(select.f32(eq.i32(idx.i32(i), a), b, 0.0), 0.0, i),
            select.f32(band.pred(ge.i32(a, 0), lt.i32(a, k)), take.f32.i32(b, i, a), 0.0),                     when=fixed(a, i) & counts(i, k) & (k < 2**31)),
    rewrite(fold_add.f32(select.f32(x, a, 0.0), -0.0, i),     select.f32(x, fold_add.f32(a, -0.0, i), -0.0),   when=fixed(x, i)),
    rewrite(fold_max.f32(neg.f32(a), b, i),                   neg.f32(fold_min.f32(a, b, i))),
]
NAN = [                                           # and infinities
    rewrite(fold_max.f32(add.f32(a, b), -INF, i),             add.f32(fold_max.f32(a, -INF, i), b),            when=fixed(b, i)),
    rewrite(fold_add.f32(mul.f32(a, 0.0), 0.0, i),            0.0),
    rewrite(fold_add.f32(mul.f32(a, 2.0), 0.0, i),            mul.f32(fold_add.f32(a, 0.0, i), 2.0)),          # 2**127 - 2**127
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
]

VALUES = [COUNTS, INIT, ZERO, NAN, PLACES]
TEXTS = []
EMPTY = []
