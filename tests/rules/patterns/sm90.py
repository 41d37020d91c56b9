"""Right rules. The ideas are from other rule systems, named at each list with the file or section; the rules are written here, in our terms,
and hold for what HLO means by an operation.

Whether they would pay was tried, and can be again: bench/foreign_rules.py. Over a larger corpus, with all of SIMPLIFY but one in the tables, these
fire in the fusions, tests, blocks and programs of the corpus (sm_90, about 1,850 files; fires, files): add(a, neg b) 226, 36; not ne 160, 3; mul by
-1.0 28, 8; select.pred 8, 1; max of max 2, 2; or of and 1, 1; the others never. `rules ablate` finds that without each of the first five the IR grows
by 1 to 183 nodes, and PTX by no instruction, on sm_75 and sm_90: LLVM does the same. So none is in patterns/.

tests/gen/rule_corpus.py checks that each is accepted: SIMPLIFY and LOWER by every check and proof, TEXTS by the proofs of asm texts.
"""
from gen.lang import *

TARGET = target('sm_90')
INF = float('inf')

# LLVM InstCombine: InstCombineAddSub.cpp, InstCombineAndOrXor.cpp, InstructionSimplify.cpp
SUMS = [
    rewrite(add[N](a, neg[N](b)),               sub[N](a, b)),
    rewrite(sub[N](a, neg[N](b)),               add[N](a, b)),
    rewrite(sub[N](0, sub[N](a, b)),            sub[N](b, a)),
    rewrite(sub[N](add[N](a, b), a),            b),
    rewrite(add[N](sub[N](a, b), b),            a),
    rewrite(sub[N](a, sub[N](a, b)),            b),
    rewrite(neg[N](neg[N](a)),                  a),
    rewrite(add[N](bnot[N](a), 1),              neg[N](a)),
    rewrite(bnot[N](add[N](a, -1)),             neg[N](a)),
    rewrite(mul[N](neg[N](a), neg[N](b)),       mul[N](a, b)),
    rewrite(mul[N](a, -1),                      neg[N](a)),
    rewrite(add[N](bxor[N](a, b), band[N](a, b)), bor[N](a, b)),
    rewrite(add[N](bor[N](a, b), band[N](a, b)), add[N](a, b)),
    rewrite(sub[N](bor[N](a, b), band[N](a, b)), bxor[N](a, b)),
    rewrite(sub[N](bor[N](a, b), bxor[N](a, b)), band[N](a, b)),
    rewrite(sub[N](add[N](a, b), bor[N](a, b)), band[N](a, b)),
]
LOGIC = [
    rewrite(bnot[N](bnot[N](a)),                a),
    rewrite(bxor[N](bxor[N](a, b), b),          a),
    rewrite(bor[N](band[N](a, b), a),           a),
    rewrite(band[N](bor[N](a, b), a),           a),
    rewrite(band[N](a, bnot[N](a)),             0),
    rewrite(bor[N](a, bnot[N](a)),              -1),
    rewrite(bxor[N](a, bnot[N](a)),             -1),
    rewrite(bor[N](a, -1),                      -1),
    rewrite(bor[N](band[N](a, b), band[N](a, bnot[N](b))), a),
    rewrite(bor[N](bxor[N](a, b), band[N](a, b)), bor[N](a, b)),
    rewrite(bxor[N](band[N](a, b), bor[N](a, b)), bxor[N](a, b)),
    rewrite(band[N](bxor[N](a, b), a),          band[N](a, bnot[N](b))),
    rewrite(bnot[N](bxor[N](bnot[N](a), b)),    bxor[N](a, b)),
    rewrite(band.u32(shrl.u32(a, 24), 255),     shrl.u32(a, 24)),
    rewrite(band.pred(a, bnot.pred(a)),         False),
    rewrite(bor.pred(band.pred(a, b), a),       a),
]
# LLVM InstCombine: InstCombineCompares.cpp
COMPARE = [
    rewrite(op[N](a, a), value) for op, value in ((lt, False), (le, True), (gt, False), (ge, True), (eq, True), (ne, False))
] + [
    rewrite(bnot.pred(op[N](a, b)), other[N](a, b)) for op, other in ((lt, ge), (le, gt), (gt, le), (ge, lt), (eq, ne), (ne, eq))
] + [
    rewrite(eq[N](sub[N](a, b), 0),             eq[N](a, b)),
    rewrite(ne[N](bxor[N](a, b), 0),            ne[N](a, b)),
    rewrite(eq[N](add[N](a, b), add[N](a, c)),  eq[N](b, c)),
    rewrite(eq[N](neg[N](a), neg[N](b)),        eq[N](a, b)),
    rewrite(ge[U](a, 0),                        True),
    rewrite(lt[U](a, 0),                        False),
    rewrite(ne.i32(band.i32(a, -2**31), 0),     lt.i32(a, 0)),
    rewrite(lt.u32(clz.u32(a), 32),             ne.u32(a, 0)),
    rewrite(eq.u64(popcnt.u64(a), 0),           eq.u64(a, 0)),
    rewrite(band.pred(le[N](a, b), le[N](b, a)), eq[N](a, b)),
]
# LLVM InstCombine: InstCombineSelect.cpp, InstCombineCalls.cpp (min, max, abs)
CHOICE = [
    rewrite(select[N](eq[N](a, b), a, b),       b),
    rewrite(select[N](ne[N](a, b), a, b),       a),
    rewrite(select[T](bnot.pred(a), b, c),      select[T](a, c, b)),
    rewrite(select[N](lt[N](a, b), a, b),       min[N](a, b)),
    rewrite(select[N](gt[N](a, b), a, b),       max[N](a, b)),
    rewrite(max[N](min[N](a, b), a),            a),
    rewrite(min[N](max[N](a, b), a),            a),
    rewrite(max[T](max[T](a, b), b),            max[T](a, b)),
    rewrite(abs[I](neg[I](a)),                  abs[I](a)),
    rewrite(abs[I](abs[I](a)),                  abs[I](a)),
    rewrite(max[I](a, neg[I](a)),               abs[I](a)),                             # -2**31 too: both sides are it
]
# LLVM InstCombine: InstCombineCasts.cpp, InstCombineShifts.cpp, InstCombineMulDivRem.cpp
CASTS = [
    rewrite(cvt.i64.i32(cvt.i32.i16(a)),        cvt.i64.i16(a)),
    rewrite(cvt.i16.i32(cvt.i32.i64(a)),        cvt.i16.i64(a)),
    rewrite(cvt.i32.i64(cvt.i64.i32(a)),        a),
    rewrite(cvt.u32.u16(cvt.u16.u32(a)),        band.u32(a, 0xffff)),
    rewrite(bits.f32.u32(bits.u32.f32(a)),      a),
    rewrite(cvt.i32.f64(cvt.f64.i32(a)),        a),
    rewrite(lt.f64(cvt.f64.i32(a), cvt.f64.i32(b)), lt.i32(a, b)),
    rewrite(lt.f64(cvt.f64.i32(a), 1.5),        lt.i32(a, 2)),
    rewrite(ge.f64(cvt.f64.u32(a), 0.0),        True),
    rewrite(shrl[U](shrl[U](a, k), m),          shrl[U](a, k + m),      when=(k > 0) & (m > 0) & (k < w) & (m < w)),
    rewrite(div.u16(div.u16(a, k), m),          div.u16(a, k*m),        when=(k > 0) & (m > 0) & (k < 256) & (m < 256)),
    rewrite(div.u32(div.u32(a, k), m),          div.u32(a, k*m),        when=(k > 0) & (m > 0) & (k < 2**16) & (m < 2**16)),
    rewrite(rem.i32(rem.i32(a, k), k),          rem.i32(a, k),          when=k > 0),
    rewrite(rem[I](a, neg[I](b)),               rem[I](a, b)),                          # -2**31 too, and 0
    rewrite(rem.i64(a, abs.i64(b)),             rem.i64(a, b)),
]
# LLVM InstCombine: InstCombineMulDivRem.cpp, InstCombineShifts.cpp, InstCombineAndOrXor.cpp (or of disjoint bits) on indices
INDEX_BITS = [
    rewrite(shl.i32(idx.i32(n), 3),             idx.i32(n * 8),         when=within(n, 0, 2**28)),
    rewrite(shra.i32(idx.i32(n), 3),            idx.i32(n // 8)),
    rewrite(band.i32(idx.i32(n), 7),            idx.i32(n % 8)),
    rewrite(div.i32(idx.i32(n), 8),             idx.i32(n // 8),        when=within(n, 0, 2**31)),
    rewrite(bor.u32(idx.u32(n), idx.u32(i)),    idx.u32(n + i),         when=within(n, 0, 8) & multiple(i, 8)),
    rewrite(abs.i32(idx.i32(n)),                idx.i32(n),             when=within(n, 0, 2**31)),
]
# LLVM InstCombine: InstCombineAddSub.cpp and InstCombineMulDivRem.cpp on fneg, for complex values
COMPLEX = [
    rewrite(sub.c64(a, neg.c64(b)),             add.c64(a, b)),
    rewrite(neg.c64(neg.c64(a)),                a),
    rewrite(mul.c128(neg.c128(a), neg.c128(b)), mul.c128(a, b)),
]
# LLVM InstCombine: InstCombineAddSub.cpp (FNeg, FAdd, FSub), InstCombineMulDivRem.cpp (FMul, FDiv), InstructionSimplify.cpp
FLOATS = [
    rewrite(sub[F](a, neg[F](b)),               add[F](a, b)),
    rewrite(add[F](a, neg[F](b)),               sub[F](a, b)),
    rewrite(sub[F](-0.0, a),                    neg[F](a)),
    rewrite(mul[F](neg[F](a), neg[F](b)),       mul[F](a, b)),
    rewrite(div[F](neg[F](a), neg[F](b)),       div[F](a, b)),
    rewrite(mul[F](a, -1.0),                    neg[F](a)),
    rewrite(div[F](a, -1.0),                    neg[F](a)),
    rewrite(abs[F](copysign[F](a, b)),          abs[F](a)),
    rewrite(floor[F](floor[F](a)),              floor[F](a)),
    rewrite(trunc.f16(floor.f16(a)),            floor.f16(a)),
    rewrite(round_even[F](trunc[F](a)),         trunc[F](a)),
    rewrite(cvt.f64.f32(cvt.f32.f16(a)),        cvt.f64.f16(a)),
    rewrite(lt[F](neg[F](a), neg[F](b)),        lt[F](b, a)),
    rewrite(eq.f16(abs.f16(a), 0.0),            eq.f16(a, 0.0)),
]
# Mesa nir_opt_algebraic.py: fneg and fabs, fsat, ffma, b2f and b2i, bcsel on booleans, comparisons joined by iand and ior
NIR = [
    rewrite(fma[F](a, 1.0, b),                  add[F](a, b)),
    rewrite(fma[F](a, b, -0.0),                 mul[F](a, b)),
    rewrite(fma[F](neg[F](a), neg[F](b), c),    fma[F](a, b, c)),
    rewrite(fma[F](a, -1.0, b),                 sub[F](b, a)),
    rewrite(saturate.f32(saturate.f32(a)),      saturate.f32(a)),
    rewrite(min.f32(saturate.f32(a), 1.0),      saturate.f32(a)),
    rewrite(abs.f32(saturate.f32(a)),           saturate.f32(a)),
    rewrite(bor.pred(lt[F](a, b), eq[F](a, b)), le[F](a, b)),
    rewrite(select.pred(a, True, False),        a),
    rewrite(select.pred(a, False, True),        bnot.pred(a)),
    rewrite(select.pred(a, b, False),           band.pred(a, b)),
    rewrite(select.pred(a, True, b),            bor.pred(a, b)),
    rewrite(ne[N](select[N](a, 1, 0), 0),       a),
    rewrite(lt.f32(0.0, select.f32(a, 1.0, 0.0)), a),
    rewrite(mul[F](select[F](a, 1.0, 0.0), select[F](b, 1.0, 0.0)), select[F](band.pred(a, b), 1.0, 0.0)),
    rewrite(bnot.pred(eq[F](a, b)),             ne[F](a, b)),
    rewrite(bnot.pred(ne[F](a, b)),             eq[F](a, b)),
    rewrite(sub.f32(abs.f32(a), abs.f32(a)),    0.0,                    when=finite(a)),
    rewrite(sub.f32(a, trunc.f32(a)),           0.0,                    when=integral(a) & finite(a)),
    rewrite(max.f32(a, 0.0),                    a,                      when=unit(a) & never_negzero(a)),
    rewrite(lt.f32(sub.f32(a, b), 0.0),         lt.f32(a, b)),
]
# LLVM InstCombine: InstCombineAndOrXor.cpp (masks that complete each other), InstCombineAddSub.cpp, InstCombineShifts.cpp
CONSTANTS = [                                   # of values that the conditions fix or relate
    rewrite(bor.u32(band.u32(a, k), band.u32(a, m)), a,                 when=(k == 0xffff0000) & (m == 0xffff)),
    rewrite(add.i64(add.i64(a, k), m),          add.i64(a, k + m),     when=(k == 123456789012) & (m == 370370367036)),
    rewrite(shrlx.u32(shlx.u32(a, k), m),       a,                      when=(k + m == 40) & (k * m == 400) & known_zero(a, 0xfffff000)),
]
# LLVM InstCombine: InstructionSimplify.cpp (fabs of uitofp), InstCombineCompares.cpp (fcmp of sitofp)
INDICES = [
    rewrite(abs.f32(cvt.f32.i32(idx.i32(n))),   cvt.f32.i32(idx.i32(n)), when=within(n, 0, 2**31)),
    rewrite(lt.f32(cvt.f32.i32(idx.i32(n)), cvt.f32.i32(idx.i32(i))), lt.index(n, i), when=within(n, 0, 2**24) & within(i, 0, 2**24)),
]
# LLVM InstCombine: InstCombineAddSub.cpp (and with or), InstCombineCompares.cpp (sext), InstCombineShifts.cpp, InstCombineMulDivRem.cpp (fabs)
EXPECTED = [
    rewrite(eq.i64(cvt.i64.i32(a), cvt.i64.i32(b)), eq.i32(a, b)),
    rewrite(lt.i64(cvt.i64.i32(a), cvt.i64.i32(b)), lt.i32(a, b)),
    rewrite(shrl.u32(shl.u32(a, 24), 24),       band.u32(a, 255)),
    rewrite(band.u64(cvt.u64.u32(a), 0xffffffff), cvt.u64.u32(a)),
    rewrite(mul[F](abs[F](a), abs[F](a)),       mul[F](a, a)),
]
# Mesa nir_opt_algebraic.py: f2i of ftrunc, ffloor of i2f, conversions and back, fsat
EXPECTED += [
    rewrite(cvt.i32.f32(trunc.f32(a)),          cvt.i32.f32(a)),
    rewrite(floor.f32(cvt.f32.i32(a)),          cvt.f32.i32(a)),
    rewrite(cvt.f16.f32(cvt.f32.f16(a)),        a),
    rewrite(is_finite.f32(neg.f32(a)),          is_finite.f32(a)),
    rewrite(copysign.f32(a, a),                 a),
    rewrite(sub.f32(a, a),                      0.0,                    when=finite(a)),
    rewrite(min.f32(max.f32(a, 0.0), 1.0),      saturate.f32(a),        when=never_nan(a)),
]
NUMBERS = [                                     # of the text
    rewrite(sub[F](a, b),                       add[F](a, neg[F](b)),   when=literal(b)),
    rewrite(mul[F](neg[F](a), b),               mul[F](a, neg[F](b)),   when=literal(b)),
    rewrite(max[F16](max[F16](a, b), c),        max[F16](a, max[F16](b, c)), when=literal(b) & literal(c)),
    rewrite(mul[N](mul[N](a, b), c),            mul[N](a, mul[N](b, c)), when=literal(b) & literal(c)),
    rewrite(sub[N](add[N](a, b), c),            add[N](a, sub[N](b, c)), when=literal(b) & literal(c)),
    rewrite(eq[N](add[N](a, b), c),             eq[N](a, sub[N](c, b)), when=literal(b) & literal(c)),
    rewrite(lt[F](neg[F](a), b),                gt[F](a, neg[F](b)),    when=literal(b)),
    rewrite(min[F](max[F](min[F](max[F](a, b), c), x), y), min[F](max[F](a, max[F](b, x)), min[F](max[F](c, x), y)),    # a clamp of a clamp
            when=literal(b) & literal(c) & literal(x) & literal(y)),
    rewrite(lt[F](max[F](a, b), c),             band.pred(lt[F](a, c), lt[F](b, c)), when=literal(b) & literal(c)),
    rewrite(div.f16(neg.f16(a), b),             mul.f16(a, neg.f16(div.f16(1.0, b))), when=power_of_two(b)),
]
TOLERANCE = [                                   # what budgets leave, added up
    rewrite(div.f32(sin.f32(a), cos.f32(a)),    tan.f32(a),             when=approx & nearer, err=ulp(6)),
    rewrite(mul[F16](exp[F16](a), exp[F16](a)), exp[F16](add[F16](a, a)), when=approx & nearer & unit(a)),
    rewrite(div.f32(exp.f32(a), exp.f32(b)),    exp.f32(sub.f32(a, b)), when=approx & nearer & unit(a) & unit(b)),
    rewrite(log.f32(exp.f32(a)),                a,                      when=approx & nearer & unit(a) & never_negzero(a)),
    rewrite(div.f32(1.0, add.f32(exp.f32(neg.f32(a)), 1.0)), logistic.f32(a), when=approx & nearer & unit(a), err=ulp(6)),
]
SIMPLIFY = NUMBERS + TOLERANCE + SUMS + LOGIC + COMPARE + CHOICE + CASTS + FLOATS + NIR + CONSTANTS + INDICES + INDEX_BITS + COMPLEX + EXPECTED

# PTX ISA, sections on integer arithmetic, logic, shifts and data movement
TEXTS = [
    asm(mulhi.u64(a, b),                        'mul.hi.u64 %d, %a, %b;'),
    asm(mulhi.u32(a, b),                        '{ .reg .b64 h; .reg .b32 l; mul.wide.u32 h, %{a}, %{b}; mov.b64 {l, %d}, h; }'),
    asm(add.u32(mul.u32(band.u32(a, 65535), band.u32(b, 255)), add.u32(mul.u32(shrlx.u32(a, 16),
        band.u32(shrlx.u32(b, 8), 255)), c)), 'dp2a.lo.u32.u32 %d, %{a}, %{b}, %{c};'),
    asm(add.u32(mul.u32(a, b), c),              'mad.lo.u32 %d, %a, %b, %c;'),
    asm(mul.i64(cvt.i64.i32(a), cvt.i64.i32(b)), 'mul.wide.s32 %d, %a, %b;'),
    asm(bor.u32(band.u32(a, b), band.u32(bnot.u32(a), c)), 'lop3.b32 %d, %a, %b, %c, 0xca;'),
    asm(bxor.u32(bxor.u32(a, b), c),            'lop3.b32 %d, %a, %b, %c, 0x96;'),
    asm(select.u32(lt.u32(a, b), a, c),         '{ .reg .pred p; setp.lo.u32 p, %a, %b; selp.b32 %d, %a, %c, p; }'),
    asm(bor.u64(cvt.u64.u32(a), shl.u64(cvt.u64.u32(b), 32)), 'mov.b64 %d, {%a, %b};'),
    asm(cvt.u32.u64(shrl.u64(a, 32)),           '{ .reg .b32 l; mov.b64 {l, %d}, %a; }'),
    asm(div.u32(a, 10),                         '{ .reg .b32 h; mul.hi.u32 h, %a, 3435973837; shr.u32 %d, h, 3; }'),
    asm(shra.i32(a, b),                         '{ shr.s32 %d, %a, %b; }'),
    asm(cvt.u64.u32(popcnt.u32(a)),             '{ .reg .b32 h; popc.b32 h, %a; cvt.u64.u32 %d, h; }'),
    asm(max.i32(min.i32(a, b), c),              '{ .reg .s32 h; min.s32 h, %a, %b; max.s32 %d, h, %c; }'),
    asm(min.u32(a, b), '{ .reg .pred p; setp.lt.s32 p, %{a}, %{b}; selp.u32 %d, %{a}, %{b}, p; }', when=known_zero(a, 0x80000000) & known_zero(b, 0x80000000)),
    asm(shrl.u32(shl.u32(a, k), k), 'bfe.u32 %d, %{a}, 0, %{32 - k};', when=(k > 0) & (k < 32)),
    asm(bor.u32(shlx.u32(a, k), shrlx.u32(a, m)), 'shf.l.wrap.b32 %d, %{a}, %{a}, %{k};', when=(k > 0) & (k < 32) & (k + m == 32)),
    asm(div.u32(a, k), 'shr.u32 %d, %{a}, %{k - 1};', when=(k > 0) & (k < 3)),
    asm(neg.f32(a), '{ .reg .b32 h; xor.b32 h, %{a}, 0x80000000; mov.b32 %d, h; }'),
    asm(abs.f32(a), 'and.b32 %d, %{a}, 0x7fffffff;'),
    asm(select.f32(lt.f32(a, b), b, a), '{ .reg .pred p; setp.geu.f32 p, %{a}, %{b}; selp.f32 %d, %{a}, %{b}, p; }'),
    asm(cvt.f32.u16(a), '{ .reg .b32 h; cvt.u32.u16 h, %{a}; cvt.rn.f32.u32 %d, h; }'),
    asm(mul.f32(a, 2.0), 'add.rn.f32 %d, %{a}, %{a};'),
    asm(mulhi.i32(a, b), '{ .reg .b64 h; mul.wide.s32 h, %{a}, %{b}; shr.s64 h, h, 32; cvt.u32.u64 %d, h; }'),
    asm(mulhi.u16(a, b), '{ .reg .b32 h; mul.wide.u16 h, %{a}, %{b}; mov.b32 {_, %d}, h; }'),
    asm(add.u64(a, b), '{ .reg .b32 l, h, m, n; mov.b64 {l, h}, %{a}; mov.b64 {m, n}, %{b}; add.cc.u32 l, l, m; addc.u32 h, h, n; mov.b64 %d, {l, h}; }'),
    asm(sub.u64(a, b), '{ .reg .b32 l, h, m, n; mov.b64 {l, h}, %{a}; mov.b64 {m, n}, %{b}; sub.cc.u32 l, l, m; subc.u32 h, h, n; mov.b64 %d, {l, h}; }'),
    asm(sub.u32(max.u32(a, b), min.u32(a, b)), 'sad.u32 %d, %{a}, %{b}, 0;'),
    asm(sub.u32(31, clz.u32(a)), 'bfind.u32 %d, %{a};'),
    asm(select.u32(eq.u32(a, 0), 1, 0), 'cnot.b32 %d, %{a};'),
    asm(select.i32(ge.i32(c, 0), a, b), 'slct.s32.s32 %d, %{a}, %{b}, %{c};'),
    asm(band.pred(lt.u32(a, b), c), 'setp.lt.and.u32 %d, %{a}, %{b}, %{c};'),
    asm(bor.pred(lt.f32(a, b), c), 'setp.lt.or.f32 %d, %{a}, %{b}, %{c};'),
    asm(cvt.u16.u32(min.u32(a, 65535)), 'cvt.sat.u16.u32 %d, %{a};'),
    asm(cvt.i16.i32(max.i32(min.i32(a, 32767), -32768)), 'cvt.sat.s16.s32 %d, %{a};'),
    asm(add.i64(mul.i64(cvt.i64.i32(a), cvt.i64.i32(b)), c), 'mad.wide.s32 %d, %{a}, %{b}, %{c};'),
    asm(select.u32(a, bxor.u32(b, c), c), '{ .reg .b32 h; xor.b32 h, %{b}, %{c}; selp.b32 %d, h, %{c}, %{a}; }'),
    asm(bxor.pred(a, band.pred(b, c)), '{ .reg .pred h; and.pred h, %{b}, %{c}; xor.pred %d, %{a}, h; }'),
    asm(max.f32(a, 0.0), 'max.f32 %d, %{a}, 0f00000000;', when=nnan),
    asm(is_finite.f32(a), 'testp.finite.f32 %d, %{a};'),
    asm(add.f32(a, cvt.f32.bf16(b)), 'add.rn.f32.bf16 %d, %{b}, %{a};'),
    asm(sub.f32(cvt.f32.f16(a), b), 'sub.rn.f32.f16 %d, %{a}, %{b};'),
    asm(fma.f32(cvt.f32.f16(a), cvt.f32.f16(b), c), 'fma.rn.f32.f16 %d, %{a}, %{b}, %{c};'),
    asm(ne.f64(a, a), 'testp.notanumber.f64 %d, %{a};'),
    asm(bor.u32(shlx.u32(a, 24), bor.u32(band.u32(shlx.u32(a, 8), 0xff0000), bor.u32(band.u32(shrlx.u32(a, 8), 0xff00),
        shrlx.u32(a, 24)))), 'prmt.b32 %d, %{a}, 0, 0x0123;'),
    asm(shl.u32(sub.u32(shl.u32(1, b), 1), a), 'bmsk.clamp.b32 %d, %{a}, %{b};', when=known_zero(b, 0xffffffc0) & known_zero(a, 0xffffffc0)),
    asm(bor.u32(shlx.u32(band.u32(a, 1), 31), shrlx.u32(a, 31)), '{ .reg .b32 h; and.b32 h, %{a}, 0x80000001; brev.b32 %d, h; }'),
    asm(add.i16x2(a, b), 'add.s16x2 %d, %{a}, %{b};'),
    asm(min.u16x2(a, b), 'min.u16x2 %d, %{a}, %{b};'),
    asm(bxor.u8x4(a, b), 'xor.b32 %d, %{a}, %{b};'),                      # bytes: of one the register has 16 bits, with zeros above it
    asm(add.u8x4(a, b), '{ .reg .b32 h, l, s; and.b32 h, %{a}, 0x7f7f7f7f; and.b32 l, %{b}, 0x7f7f7f7f; add.u32 s, h, l; xor.b32 h, %{a}, %{b}; '
        'and.b32 h, h, 0x80808080; xor.b32 %d, s, h; }'),
    asm(add.u8x2(a, b), '{ .reg .b16 h, l; add.u16 l, %{a}, %{b}; and.b16 h, %{a}, 0xff00; add.u16 h, h, %{b}; and.b16 l, l, 0xff; '
        'and.b16 h, h, 0xff00; or.b16 %d, h, l; }'),
    asm(max.u8(a, b), 'max.u16 %d, %{a}, %{b};'),
    asm(max.i8(a, b), '{ .reg .b16 h, l; cvt.s16.s8 h, %{a}; cvt.s16.s8 l, %{b}; max.s16 %d, h, l; }'),
    asm(cvt.i32.i8(a), 'cvt.s32.s8 %d, %{a};'),
    asm(cvt.f32.u8(a), 'cvt.rn.f32.u8 %d, %{a};'),
    asm(cvt.u8.i32(max.i32(min.i32(a, 255), 0)), 'cvt.sat.u8.s32 %d, %{a};'),
    asm(neg.f16x2(a), 'xor.b32 %d, %{a}, 0x80008000;'),
    asm(abs.bf16x2(a), 'and.b32 %d, %{a}, 0x7fff7fff;'),
    asm(copysign.f16x2(a, b), 'lop3.b32 %d, %{a}, %{b}, 0x7fff7fff, 0xe4;'),
    asm(sub.f16x2(a, b), '{ .reg .b32 h; xor.b32 h, %{b}, 0x80008000; add.rn.f16x2 %d, %{a}, h; }'),
    asm(saturate.f32(a), '{ .reg .f32 h; max.f32 h, %{a}, 0f00000000; min.f32 %d, h, 0f3F800000; }'),
]
LOWER = []
INSTR = TEXTS
