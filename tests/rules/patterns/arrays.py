"""Right rules about folds, as an algebraic simplifier has them. tests/gen/rule_corpus.py checks that each is accepted."""
from gen.lang import *

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
]
