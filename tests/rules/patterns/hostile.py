"""Wrong rules that look right, by the kind of fault: each holds at nearly every value, or for nearly every constant that its conditions let through.
tests/rule_corpus.py checks that each is refused, with values at which the sides differ."""
from gen.lang import *

INF = float('inf')
LEAST = 2.0**-126                               # the smallest f32 that is not subnormal

OVERFLOW = [                                    # at 2^31, 2^32, 2^53, 2^63 and 2^64
    rewrite(lt.i32(shra.i32(add.i32(a, b), 1), a), lt.i32(b, a)),
    rewrite(mul.i64(cvt.i64.i32(a), 3),         cvt.i64.i32(mul.i32(a, 3))),
    rewrite(cvt.i32.f32(neg.f32(cvt.f32.i32(a))), neg.i32(a)),
    rewrite(cvt.u32.f64(mul.f64(cvt.f64.u32(a), 2.0)), mul.u32(a, 2)),
    rewrite(abs.i32(sub.i32(a, b)),             sub.i32(max.i32(a, b), min.i32(a, b))),
    rewrite(lt.i64(a, 2**63 - 1),               True),
    rewrite(gt.u64(add.u64(a, 1), 0),           True),
    rewrite(eq.f64(cvt.f64.i64(a), cvt.f64.i64(add.i64(a, 1))), False),
    rewrite(div.i64(mul.i64(a, k), k),          a,                      when=k == 3),
    rewrite(shrl.u32(mul.u32(a, 0x10001), 16),  add.u32(shrl.u32(a, 16), band.u32(a, 0xffff))),
    rewrite(div.u32(add.u32(a, k), k),          add.u32(div.u32(a, k), 1), when=k > 0),
    rewrite(div.u32(a, 7),                      shrl.u32(mulhi.u32(a, 0x92492493), 2)),
    rewrite(div.u32(a, 641),                    shrl.u32(mulhi.u32(a, 0xcc7a4d1b), 9)),
    rewrite(div.i32(a, 3),                      mulhi.i32(a, 0x55555556)),
    rewrite(lt.i64(idx.i64(n), idx.i64(i)),     lt.i32(cvt.i32.i64(idx.i64(n)), cvt.i32.i64(idx.i64(i))),
            when=within(n, 0, 2**31) & within(i, 0, 2**31 + 1)),
    rewrite(add.i64(idx.i64(n), idx.i64(i)),    idx.i64(n + i),         when=within(n, 0, 2**62 + 1) & within(i, 0, 2**62 + 1)),
    rewrite(mul.i32(idx.i32(n), idx.i32(i)),    idx.i32(n*2),           when=within(n, 0, 2**30 + 1) & within(i, 2, 3)),
    rewrite(lt.index(n*k + rest, 0),            lt.index(n, 0),         when=within(rest, 0, k + 1)),
]
ONE_VALUE = [                                   # or one constant
    rewrite(band.u32(mul.u32(a, a), 2),         select.u32(eq.u32(a, 0x6d2b79f5), 2, 0)),
    rewrite(ne.u64(bxor.u64(a, 0x5851f42d4c957f2d), 0x14057b7ef767814f), True),
    rewrite(lt.u64(mulhi.u64(a, 3), 2),         lt.u64(a, 0xaaaaaaaaaaaaaaaa)),
    rewrite(rem.u32(a, k),                      band.u32(a, k - 1),     when=(k > 0) & (k < 4) & (k % 2 == 1)),
    rewrite(add.u32(a, k),                      bor.u32(a, k),          when=(k == 4096) & known_zero(a, 2048)),
    rewrite(shl.u32(a, k),                      shlx.u32(a, k),         when=k < 33),
    rewrite(rem.i32(a, k),                      sub.i32(a, mul.i32(shra.i32(a, 4), 16)), when=k == 16),
    rewrite(eq.u16(popcnt.u16(a), 16),          False),
    rewrite(is_finite.f64(a),                   lt.f64(abs.f64(a), 2.0**1023 * (2 - 2.0**-52))),
    rewrite(floor.f32(mul.f32(a, 0.5)),         mul.f32(floor.f32(a), 0.5)),
    rewrite(cvt.i32.f32(a),                     cvt.i32.f32(select.f32(eq.f32(a, 8388607.0), 8388606.0, a))),
]
FLUSHED = [
    rewrite(gt.f32(abs.f32(a), 0.0),            ge.f32(abs.f32(a), LEAST)),
    rewrite(cvt.f32.f64(a),                     select.f32(lt.f64(abs.f64(a), LEAST), 0.0, cvt.f32.f64(a))),
    rewrite(fma.f32(a, b, -0.0),                select.f32(lt.f32(abs.f32(mul.f32(a, b)), LEAST), copysign.f32(0.0, mul.f32(a, b)), mul.f32(a, b))),
    rewrite(sub.f64(a, b),                      select.f64(lt.f64(abs.f64(sub.f64(a, b)), 2.0**-1022), 0.0, sub.f64(a, b))),
    rewrite(max.f16(a, 2.0**-24),               max.f16(a, 0.0)),
    rewrite(cvt.bf16.f32(a),                    select.bf16(lt.f32(abs.f32(a), LEAST), 0.0, cvt.bf16.f32(a))),
]
NAN = [                                         # and infinities
    rewrite(bor.pred(lt.f64(a, b), ge.f64(a, b)), True),
    rewrite(select.f32(ne.f32(a, a), 0.0, a),   max.f32(a, -INF)),
    rewrite(max.f32(min.f32(a, 1.0), 0.0),      saturate.f32(a)),
    rewrite(band.u32(bits.u32.f32(a), 0x7fffffff), bits.u32.f32(max.f32(a, neg.f32(a)))),
    rewrite(add.f32(a, INF),                    INF),
    rewrite(mul.f64(a, 0.0),                    copysign.f64(0.0, a)),
    rewrite(div.f32(a, INF),                    copysign.f32(0.0, a)),
    rewrite(eq.f16(sub.f16(a, a), 0.0),         True,                   when=never_nan(a)),
    rewrite(gt.f32(a, -INF),                    is_finite.f32(a)),
    rewrite(bnot.pred(le.f16(a, b)),            gt.f16(a, b)),
    rewrite(ge.f32(sub.f32(a, b), 0.0),         ge.f32(a, b),           when=never_nan(a) & never_nan(b)),
]
ZERO = [
    rewrite(fma.f16(a, 0.0, b),                 b,                      when=finite(a)),
    rewrite(mul.f32(a, sign.f32(b)),            select.f32(lt.f32(b, 0.0), neg.f32(a), a), when=finite(a) & never_nan(b)),
    rewrite(neg.f64(sub.f64(a, b)),             sub.f64(b, a),          when=finite(a) & finite(b)),
    rewrite(sub.f32(a, trunc.f32(a)),           rem.f32(a, 1.0),        when=finite(a)),
    rewrite(div.f32(1.0, a),                    div.f32(1.0, add.f32(a, 0.0))),
    rewrite(round_even.f32(a),                  sub.f32(add.f32(a, 12582912.0), 12582912.0), when=unit(a)),
    rewrite(max.f32(a, 0.0),                    select.f32(ge.f32(a, 0.0), a, 0.0), when=never_nan(a)),
    rewrite(min.f32(a, sub.f32(0.0, a)),        select.f32(lt.f32(a, 0.0), a, neg.f32(a)), when=never_nan(a)),
    rewrite(trunc.f16(a),                       select.f16(lt.f16(abs.f16(a), 1.0), 0.0, trunc.f16(a))),
    rewrite(mul.f32(a, neg.f32(b)),             sub.f32(0.0, mul.f32(a, b)), when=never_nan(a)),
]
ROUNDING = [
    rewrite(cvt.f16.f64(a),                     cvt.f16.bf16(cvt.bf16.f64(a))),
    rewrite(cvt.f32.i64(a),                     cvt.f32.f64(cvt.f64.i64(a))),
    rewrite(sqrt.f32(a),                        cvt.f32.f64(sqrt.f64(cvt.f64.bf16(cvt.bf16.f32(a))))),
    rewrite(add.bf16(a, b),                     cvt.bf16.f16(add.f16(cvt.f16.bf16(a), cvt.f16.bf16(b)))),
    rewrite(mul.f16(mul.f16(a, 0.5), b),        mul.f16(a, mul.f16(b, 0.5))),
    rewrite(add.f64(a, a),                      mul.f64(mul.f64(a, 4.0), 0.5)),
    rewrite(cvt.f8e5m2.f32(a),                  cvt.f8e5m2.bf16(cvt.bf16.f32(a))),
    rewrite(mul.f32(a, 0.1),                    div.f32(a, 10.0)),
    rewrite(div.f32(a, 7.0),                    mul.f32(a, 1 / 7)),
    rewrite(cvt.f32.f64(mul.f64(cvt.f64.f32(a), 0.1)), mul.f32(a, 0.1)),
]
WIDTH = [
    rewrite(cvt.i64.u32(a),                     cvt.i64.i32(bits.i32.u32(a))),
    rewrite(cvt.u16.u32(shrl.u32(a, 8)),        cvt.u16.u8(cvt.u8.u32(shrl.u32(a, 8)))),
    rewrite(clz.u32(cvt.u32.u16(a)),            cvt.u32.u16(clz.u16(a))),
    rewrite(mulhi.i64(cvt.i64.i32(a), cvt.i64.i32(b)), 0),
    rewrite(shl.u16(a, 16),                     a),
    rewrite(cvt.u64.i32(a),                     cvt.u64.u32(bits.u32.i32(a))),
    rewrite(sub.u64(cvt.u64.u32(a), cvt.u64.u32(b)), cvt.u64.u32(sub.u32(a, b))),
    rewrite(lt.u16(a, b),                       lt.i16(bits.i16.u16(a), bits.i16.u16(b))),
    rewrite(shra[I](a, w),                      0),
]
CONSTANTS = [                                   # several, related or fixed by their conditions
    rewrite(bor.u32(band.u32(a, k), band.u32(b, m)), a,                 when=(k == 0xff00) & (m == 0x00ff)),
    rewrite(add.u32(mul.u32(a, k), m),          mul.u32(add.u32(a, 3), k), when=(k == 1000) & (m == 3001)),
    rewrite(shrl.u32(shl.u32(a, k), m),         band.u32(a, 0x7fffff),  when=(k == 8) & (m == 8)),
    rewrite(band.u32(shrl.u32(a, k), m),        shrl.u32(band.u32(a, m), k), when=(k == 4) & (m == 15)),
    rewrite(bor.u32(shl.u32(a, k), shrl.u32(a, m)), bor.u32(shl.u32(a, m), shrl.u32(a, k)), when=(k + m == 32) & (k > 0) & (m > 0)),
    rewrite(select.i32(lt.i32(a, k), m, p),     min.i32(a, m),          when=(k == 100) & (m == 99) & (p == 200)),
    rewrite(div.u32(mul.u32(a, k), m),          mul.u32(a, k // m),     when=(k == 300) & (m == 100)),
]
TEXTS = [
    asm(div.u32(a, 7),                          '{ .reg .b32 h; mul.hi.u32 h, %a, 0x92492493; shr.u32 %d, h, 2; }'),
    asm(rem.u32(a, 8),                          'and.b32 %d, %a, 8;'),
    asm(shrl.u32(a, b),                         'shr.s32 %d, %a, %b;'),
    asm(cvt.u32.u8(cvt.u8.u32(a)),              'bfe.u32 %d, %a, 0, 7;'),
    asm(add.u32(add.u32(a, b), c),              '{ .reg .b32 h; add.u32 h, %a, %b; sub.u32 %d, h, %c; }'),
    asm(bor.u32(shl.u32(a, 7), shrl.u32(a, 25)), 'shf.r.wrap.b32 %d, %a, %a, 7;'),
    asm(band.u32(shrl.u32(a, 8), 255),          'prmt.b32 %d, %a, 0, 0x4442;'),
    asm(max.i32(min.i32(a, b), c),              '{ .reg .b32 h; min.u32 h, %a, %b; max.s32 %d, h, %c; }'),
    asm(cvt.i64.i32(mul.i32(a, b)),             'mul.wide.s32 %d, %a, %b;'),
    asm(sub.u64(a, cvt.u64.u32(b)),             '{ .reg .b64 h; cvt.s64.s32 h, %b; sub.u64 %d, %a, h; }'),
    asm(eq.u32(a, 0x9e3779b9),                  'setp.eq.u32 %d, %a, 0x9e3779b8;'),
    asm(band.u32(a, select.u32(eq.u32(a, 0xcafebabe), 0, 0xffffffff)), 'mov.u32 %d, %a;'),
]
VALUES = OVERFLOW + ONE_VALUE + FLUSHED + NAN + ZERO + ROUNDING + WIDTH + CONSTANTS
