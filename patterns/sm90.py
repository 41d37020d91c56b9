"""Hopper: H100, H200."""
from gen.lang import *
from patterns import arith, functions
from patterns.arith import SIGNED, UNSIGNED, WIDTH

TARGET = target('sm_90', ptx='8.8', warp=32, sms=132, smem=227*KiB, regs=255, vector_bytes=16)

PACKED = [                                   # what vectorising may build
    packed(bf16, 2, add, sub, mul, fma, max, min, neg, abs),
    packed(f16, 2, add, sub, mul, fma, max, min, neg, abs),
    packed(cvt, 2, (bf16, f32), (f32, bf16), (f16, f32)),
]
TUNE = [                                     # every heuristic is data
    tune('loop.unroll', bits=64, value=2,  because='16-byte accesses'),
    tune('loop.unroll', bits=32, value=4,  because='16-byte accesses'),
    tune('loop.unroll', bits=16, value=8,  because='16-byte accesses'),
    tune('loop.unroll', bits=8,  value=16, because='16-byte accesses'),
    tune('loop.block',        value=128,    because='enough warps to a block to hide latency, few enough to fill every SM'),
    tune('loop.min_threads',  value=270336, because='132 SMs hold 2,048 threads each; fewer elements get one thread each'),
    tune('loop.max_body',     value=1024,   because='beyond it the instruction cache is the bottleneck, not memory'),
    tune('loop.max_bytes',    value=256,    because='64 of 255 registers hold what a thread has loaded and will store'),
]

SIMPLIFY = arith.SIMPLIFY
LOWER = functions.LOWER + arith.LOWER

# llvm and intr match any number of lanes; call and asm match what is written.
INSTR = [
    # --- float ------------------------------------------------------------------------------------------------------------------
    llvm(add[F](a, b),                       'fadd'),
    llvm(sub[F](a, b),                       'fsub'),
    llvm(mul[F](a, b),                       'fmul'),
    llvm(neg[F](a),                          'fneg'),
    intr(fma[F](a, b, c),                    'llvm.fma'),
    intr(abs[F](a),                          'llvm.fabs'),
    intr(max[F](a, b),                       'llvm.maximum'),
    intr(min[F](a, b),                       'llvm.minimum'),
] + [
    llvm(op[F](a, b),                        f'fcmp {name}')
    for op, name in ((eq, 'oeq'), (ne, 'une'), (lt, 'olt'), (le, 'ole'), (gt, 'ogt'), (ge, 'oge'))
] + [
    asm (rsqrt.f32(a),                       'rsqrt.approx.f32 %d, %a;',  err=rel(2**-22.9)),
    asm (div.f32.approx(a, b),               'div.full.f32 %d, %a, %b;',  err=rel(2**-22)),
    asm (sqrt.f32.approx(a),                 'sqrt.approx.f32 %d, %a;',   err=rel(2**-22.6)),
    asm (tanh.f32.approx(a),                 'tanh.approx.f32 %d, %a;',   err=rel(2**-10.9)),
    asm (exp2.f32.approx(a),                 'ex2.approx.f32 %d, %a;',    err=rel(2**-22)),
    asm (log2.f32.approx(a),                 'lg2.approx.f32 %d, %a;',    err=rel(2**-22)),
    asm (sin.f32.approx(a),                  'sin.approx.f32 %d, %a;',    err=rel(2**-20.5)),
    asm (cos.f32.approx(a),                  'cos.approx.f32 %d, %a;',    err=rel(2**-20.5)),
] + [
    llvm(div[t](a, b),                       'fdiv') for t in (f32, f64)
] + [
    intr(op[t](a),                           name)
    for op, name in ((sqrt, 'llvm.sqrt'), (floor, 'llvm.floor'), (ceil, 'llvm.ceil'), (round_even, 'llvm.roundeven'), (round_afz, 'llvm.round'))
    for t in (f32, f64)
] + functions.LIBDEVICE + [
    # --- integer and pred ---------------------------------------------------------------------------------------------------------
    llvm(op[N](a, b),                        name)
    for op, name in ((add, 'add'), (sub, 'sub'), (mul, 'mul'), (band, 'and'), (bor, 'or'), (bxor, 'xor'), (shlx, 'shl'), (shrlx, 'lshr'), (shrax, 'ashr'))
] + [
    llvm(op[t](a, b),                        name)
    for t, ops in ((I, ((quot, 'sdiv'), (left, 'srem'))), (U, ((quot, 'udiv'), (left, 'urem')))) for op, name in ops
] + [
    intr(op[t](a, b),                        name)
    for t, ops in ((I, ((max, 'llvm.smax'), (min, 'llvm.smin'))), (U, ((max, 'llvm.umax'), (min, 'llvm.umin')))) for op, name in ops
] + [
    asm (op[t](a, b),                        f'{name} %d, %a, %b;')                # by 32 or more: nothing is left, or the sign
    for t in (i32, u32) for op, name in ((shl, 'shl.b32'), (shrl, 'shr.u32'), (shra, 'shr.s32'))
] + [
    intr(abs[I](a),                          'llvm.abs(%a, i1 0)'),
    intr(popcnt[N](a),                       'llvm.ctpop'),
    intr(clz[N](a),                          'llvm.ctlz(%a, i1 0)'),
    llvm(band.pred(a, b),                    'and'),
    llvm(bor.pred(a, b),                     'or'),
    llvm(bxor.pred(a, b),                    'xor'),
    llvm(select[T](a, b, c),                 'select'),
    llvm(select.pred(a, b, c),               'select'),
] + [
    llvm(op[t](a, b),                        f'icmp {sign}{name}' if name not in ('eq', 'ne') else f'icmp {name}')
    for t, sign in ((I, 's'), (U, 'u'), (pred, 'u'))
    for op, name in ((eq, 'eq'), (ne, 'ne'), (lt, 'lt'), (le, 'le'), (gt, 'gt'), (ge, 'ge'))
] + [
    # --- conversion -----------------------------------------------------------------------------------------------------------------
    asm (cvt.f32x2.bf16x2(a),                '{ .reg .b32 l, h; shl.b32 l, %a, 16; and.b32 h, %a, -65536; mov.b64 %d, {l, h}; }'),
] + [
    llvm(cvt[to][t](a),                      'fpext' if (t, to) != (f64, f32) and to in (f32, f64) else 'fptrunc')
    for to, t in ((f32, f16), (f32, bf16), (f64, f16), (f64, bf16), (f64, f32), (f16, f32), (bf16, f32), (f16, f64), (bf16, f64), (f32, f64))
] + [
    llvm(cvt[to][t](a),                      'trunc' if WIDTH[to] < WIDTH[t] else 'bitcast' if WIDTH[to] == WIDTH[t] else 'sext' if t in SIGNED else 'zext')
    for to in SIGNED + UNSIGNED for t in SIGNED + UNSIGNED if to is not t
] + [
    llvm(cvt[to][t](a),                      'sitofp' if t in SIGNED else 'uitofp') for to in (f32, f64) for t in SIGNED + UNSIGNED
] + [
    intr(cvt.i32.f32(a),                     'llvm.nvvm.f2i.rz'),
    intr(cvt.u32.f32(a),                     'llvm.nvvm.f2ui.rz'),
    intr(cvt.i64.f32.approx(a),              'llvm.nvvm.f2ll.rz'),
    intr(cvt.u64.f32.approx(a),              'llvm.nvvm.f2ull.rz'),
    intr(cvt.i32.f64.approx(a),              'llvm.nvvm.d2i.rz'),
    intr(cvt.u32.f64.approx(a),              'llvm.nvvm.d2ui.rz'),
    intr(cvt.i64.f64.approx(a),              'llvm.nvvm.d2ll.rz'),
    intr(cvt.u64.f64.approx(a),              'llvm.nvvm.d2ull.rz'),
] + [
    llvm(bits[to][t](a),                     'bitcast')
    for to in SIGNED + UNSIGNED + (f16, bf16, f32, f64) for t in SIGNED + UNSIGNED + (f16, bf16, f32, f64)
    if to is not t and WIDTH[to] == WIDTH[t]
]
