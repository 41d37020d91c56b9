"""Instructions that LLVM selects on every target. llvm and intr match any number of lanes. A target's file lists the machine's own
instructions before these."""
from gen.lang import *
from patterns.arith import SIGNED, UNSIGNED, WIDTH

RELATIONS = (eq, ne, lt, le, gt, ge)

FLOAT = [
    llvm(add[F](a, b),                       'fadd',                      ptx='add.rn.%t'),
    llvm(sub[F](a, b),                       'fsub',                      ptx='sub.rn.%t'),
    llvm(mul[F](a, b),                       'fmul',                      ptx='mul.rn.%t'),
    llvm(neg[F](a),                          'fneg'),
    intr(fma.bf16(a, b, c),                  'llvm.fma',                  when=has('bf16.fma'), ptx='fma.rn.%t'),
    intr(abs[F](a),                          'llvm.fabs'),
    intr(copysign.f32(a, b),                 'llvm.copysign',             ptx='copysign.%t'),
    intr(copysign.f64(a, b),                 'llvm.copysign',             ptx='copysign.%t'),
    intr(max[F](a, b),                       'llvm.maximum',              ptx='max.NaN.%t max.%t'),
    intr(min[F](a, b),                       'llvm.minimum',              ptx='min.NaN.%t min.%t'),
] + [
    llvm(op[F](a, b),                        f'fcmp {name}',             ptx=f'setp.{op}.%o')
    for op, name in zip(RELATIONS, ('oeq', 'une', 'olt', 'ole', 'ogt', 'oge'))
] + [
    intr(fma[t](a, b, c),                    'llvm.fma',                  ptx='fma.rn.%t') for t in (f16, f32, f64)
] + [
    llvm(div[t](a, b),                       'fdiv',                      ptx='div.rn.%t') for t in (f32, f64)
] + [
    intr(op[t](a),                           f'llvm.{name}',             ptx=ptx)
    for op, name, ptx in ((sqrt, 'sqrt', 'sqrt.rn.%t'), (floor, 'floor', 'cvt.rmi.%t.%t'), (ceil, 'ceil', 'cvt.rpi.%t.%t'),
                          (round_even, 'roundeven', 'cvt.rni.%t.%t'), (round_afz, 'round', 'cvt.rzi.%t.%t'), (trunc, 'trunc', 'cvt.rzi.%t.%t'))
    for t in (f32, f64)
]
INTEGER = [
    asm(bor.u64(shlx.u64(cvt.u64.u32(a), 32), cvt.u64.u32(b)), 'mov.b64 %d, {%b, %a};'),     # two words
] + [
    llvm(op[N](a, b),                        name,                        ptx=ptx)
    for op, name, ptx in ((add, 'add', 'add.%t'), (sub, 'sub', 'sub.%t'), (mul, 'mul', 'mul.lo.%t'), (band, 'and', 'and.b%b'), (bor, 'or', 'or.b%b'),
                          (bxor, 'xor', 'xor.b%b'), (shlx, 'shl', 'shl.b%b'), (shrlx, 'lshr', 'shr.u%b'), (shrax, 'ashr', 'shr.s%b'))
] + [
    llvm(op[t](a, b),                        f'{sign}{name}',            ptx=f'{name}.%t')
    for t, sign in ((I, 's'), (U, 'u')) for op, name in ((divx, 'div'), (remx, 'rem'))
] + [
    intr(op[t](a, b),                        f'llvm.{sign}{name}',       ptx=f'{name}.%t')
    for t, sign in ((I, 's'), (U, 'u')) for op, name in ((max, 'max'), (min, 'min'))
] + [
    llvm(op[t](a, b),                        f'icmp {op}',               ptx='' if t is pred else f'setp.{op}.b%w') for t in (N, pred) for op in (eq, ne)
] + [
    llvm(op[t](a, b),                        f'icmp {sign}{op}',         ptx='' if t is pred else f'setp.{op}.%o')
    for t, sign in ((I, 's'), (U, 'u'), (pred, 'u')) for op in (lt, le, gt, ge)
] + [
    intr(abs[I](a),                          'llvm.abs(%a, i1 0)',        ptx='abs.%t'),
    asm (mulhi.i16(a, b),                    'mul.hi.s16 %d, %a, %b;'),
    asm (mulhi.u16(a, b),                    'mul.hi.u16 %d, %a, %b;'),
    intr(mulhi.i32(a, b),                    'llvm.nvvm.mulhi.i',       ptx='mul.hi.%t'),
    intr(mulhi.u32(a, b),                    'llvm.nvvm.mulhi.ui',      ptx='mul.hi.%t'),
    intr(mulhi.i64(a, b),                    'llvm.nvvm.mulhi.ll',      ptx='mul.hi.%t'),
    intr(mulhi.u64(a, b),                    'llvm.nvvm.mulhi.ull',     ptx='mul.hi.%t'),
    intr(popcnt[N](a),                       'llvm.ctpop',                ptx='popc.b%b'),
    intr(clz[N](a),                          'llvm.ctlz(%a, i1 0)',       ptx='clz.b%b'),
]
CHOICE = [
    llvm(band.pred(a, b),                    'and'),
    llvm(bor.pred(a, b),                     'or'),
    llvm(bxor.pred(a, b),                    'xor'),
    llvm(select[T](a, b, c),                 'select',                    ptx='selp.b%b'),
    llvm(select.pred(a, b, c),               'select'),
    llvm(select[F8](a, b, c),                'select'),
    llvm(select[I4](a, b, c),                'select'),
    llvm(select[U4](a, b, c),                'select'),
]
CONVERT = [
    llvm(cvt[to][t](a),                      'fpext',                     ptx='shl.b32' if t is bf16 else 'cvt.%t.%o')
    for to, t in ((f32, f16), (f32, bf16), (f64, f16), (f64, bf16), (f64, f32))
] + [
    llvm(cvt[to][t](a),                      'fptrunc',                   ptx='cvt.rn.%t.%o')
    for to, t in ((f16, f32), (bf16, f32), (f16, f64), (bf16, f64), (f32, f64))
] + [
    llvm(cvt[to][t](a),                      'trunc' if WIDTH[to] < WIDTH[t] else 'bitcast' if WIDTH[to] == WIDTH[t] else 'sext' if t in SIGNED else 'zext',
         ptx='' if WIDTH[to] == WIDTH[t] else 'cvt.%t.%o')
    for to in SIGNED + UNSIGNED for t in SIGNED + UNSIGNED if to is not t
] + [
    llvm(cvt[to][t](a),                      'sitofp' if t in SIGNED else 'uitofp', ptx='cvt.rn.%t.%o') for to in (f32, f64) for t in SIGNED + UNSIGNED
] + [
    llvm(bits[to][t](a),                     'bitcast')
    for to in SIGNED + UNSIGNED + (f16, bf16, f32, f64) for t in SIGNED + UNSIGNED + (f16, bf16, f32, f64)
    if to is not t and WIDTH[to] == WIDTH[t] and {to, t} != {f16, bf16}
] + [                                        # LLVM's instcombine makes a wrong `and` of such a bitcast that is compared with 0
    asm(bits[to][t](a),                      'mov.b16 %d, %a;') for to, t in ((f16, bf16), (bf16, f16))
] + [                                        # 8 bits and below: see small.py
    llvm(cvt[I4][N](a),                      'trunc'),
    llvm(cvt[U4][N](a),                      'trunc'),
    llvm(cvt[N][I4](a),                      'sext'),
    llvm(cvt[N][U4](a),                      'zext'),
    llvm(cvt.i2.i4(a),                       'trunc'),
    llvm(cvt.i4.i2(a),                       'sext'),
    llvm(cvt.u2.u4(a),                       'trunc'),
    llvm(cvt.u4.u2(a),                       'zext'),
    llvm(bits[E8][H8](a),                    'bitcast'),
] + [
    llvm(bits[to][t](a),                     'bitcast') for x in (i8, u8) for to, t in ((E8, x), (x, E8))
] + [
    llvm(bits[to][t](a),                     'bitcast') for to in (i4, u4, f4e2m1fn) for t in (i4, u4, f4e2m1fn) if to is not t
] + [
    llvm(bits[to][t](a),                     'bitcast') for to, t in ((i2, u2), (u2, i2))
] + [                                        # the machine saturates, but takes nan to 0 only between 32-bit types: see arith.CONVERT
    intr(cvt.i32.f32(a),                     'llvm.nvvm.f2i.rz',        ptx='cvt.rzi.%t.%o'),
    intr(cvt.u32.f32(a),                     'llvm.nvvm.f2ui.rz',       ptx='cvt.rzi.%t.%o'),
    intr(cvt.i64.f32.approx(a),              'llvm.nvvm.f2ll.rz',       ptx='cvt.rzi.%t.%o'),
    intr(cvt.u64.f32.approx(a),              'llvm.nvvm.f2ull.rz',      ptx='cvt.rzi.%t.%o'),
    intr(cvt.i32.f64.approx(a),              'llvm.nvvm.d2i.rz',        ptx='cvt.rzi.%t.%o'),
    intr(cvt.u32.f64.approx(a),              'llvm.nvvm.d2ui.rz',       ptx='cvt.rzi.%t.%o'),
    intr(cvt.i64.f64.approx(a),              'llvm.nvvm.d2ll.rz',       ptx='cvt.rzi.%t.%o'),
    intr(cvt.u64.f64.approx(a),              'llvm.nvvm.d2ull.rz',      ptx='cvt.rzi.%t.%o'),
]
SATURATED = [                                # .sat takes nan to 0, a minimum of a maximum keeps it; one machine operation instead of two or three
    asm (min.f32(max.f32(of, 0.0), 1.0),     text,                        when=never_nan(of)) for of, text in (
        (fma.f32(a, b, c), 'fma.rn.sat.f32 %d, %a, %b, %c;'), (mul.f32(a, b), 'mul.rn.sat.f32 %d, %a, %b;'),
        (add.f32(a, b), 'add.rn.sat.f32 %d, %a, %b;'), (a, 'cvt.sat.f32.f32 %d, %a;'))
]
ALL = SATURATED + FLOAT + INTEGER + CHOICE + CONVERT
