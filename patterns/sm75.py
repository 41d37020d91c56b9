"""Turing: T4."""
from gen.lang import *
from patterns import arith, complex, doubles, functions, polynomials, small, tiles

TARGET = target('sm_75', ptx='8.8', board='T4',
    sms=40, warps=32, blocks=16,
    smem=64*KiB, sm_smem=64*KiB,
    regs=255, sm_regs=64*1024, warp=32,
    vector_bytes=16,
    features=('tanh.approx', 'ex2.f16', 'red.f16x2', 'ldmatrix', 'mma.f16'))

PACKED = [                                   # what vectorising may build
    packed(f16, 2, add, sub, mul, fma, neg, abs),
    packed(cvt, 2, (f32, bf16)),
]
FREE = [                                     # of operands, at no cost: the machine code of each has as many instructions with as without
    free(neg, abs, on=(add.f32, mul.f32, fma.f32, max.f32, min.f32, add.f64, mul.f64, fma.f64, max.f64, min.f64)),
    free(neg, abs, on=(add.f16, mul.f16, fma.f16)),
]
TUNE = [                                     # every heuristic is data
    tune('loop.unroll', bits=64, value=2,  because='16-byte accesses'),
    tune('loop.unroll', bits=32, value=4,  because='16-byte accesses'),
    tune('loop.unroll', bits=16, value=8,  because='16-byte accesses'),
    tune('loop.unroll', bits=8,  value=16, because='16-byte accesses'),
    tune('loop.unroll', bits=4,  value=32, because='16-byte accesses'),
    tune('loop.unroll', bits=2,  value=32, because='as many lanes as vectorising takes'),
    tune('loop.block',        value=128,    because='enough warps to a block to hide latency, few enough to fill every SM'),
    tune('loop.min_threads',  value=20480,  because='40 SMs with 512 threads each, four warps to a scheduler'),
    tune('loop.rounds',       value=4,      because='four accesses on their way, and a thread begins once for four'),
    tune('loop.round_work',   value=128,    because='beyond it what a thread begins with is little of what it does, and rounds would cost registers'),
    tune('loop.round_bytes',  value=128,    because='32 registers hold what is on its way, so that a multiprocessor still has all its threads'),
    tune('loop.max_body',     value=1024,   because='beyond it the instruction cache is the bottleneck, not memory'),
    tune('loop.max_bytes',    value=256,    because='64 of 255 registers hold what a thread has loaded and will store'),
    tune('call.min_nodes',    value=256,    because='smaller bodies cost less where they are read than a call of them'),
    tune('call.budget',       value=40,     because='nodes for each instruction of the fusion: code stays linear in its size'),
    tune('reduce.max_turns',  value=1024,   because='one thread alone waits for each element it reads'),
    tune('reduce.most',       value=1 << 36, because='a second or so of the whole machine; sums that threads share take no more than memory does'),
    tune('product.max_turns', value=1024,   because='one thread alone waits for each element it reads'),
    tune('product.most',      value=2**26,  because='a millisecond of multiplications that a library does in tiles'),
    tune('fold.most',         value=512,    because='a loop body that the instruction cache holds many times over'),
    tune('section.most',      value=64,     because='a bisection of the blocks six deep, and no more code than that'),
    tune('section.elements',  value=4096,   because='blocks of its own are worth it where a part fills several'),
    tune('section.bytes',     value=128,    because='shorter runs of a part would fill cache lines in pieces'),
    tune('loop.max_turns',    value=1024,   because='more turns in one thread and the last threads keep the machine waiting'),
]

SIMPLIFY = arith.SIMPLIFY
LOWER = doubles.ALL + polynomials.VIA_F32 + functions.LOWER + arith.BF16_VIA_F32 + arith.BF16_COMPARE_VIA_F32 + arith.BF16_FROM_INTEGER + arith.LOWER + small.SOFTWARE + small.LOWER + complex.LOWER

# call and asm match what is written; llvm and intr of tiles.py any number of lanes.
INSTR = [
    asm (rsqrt.f32(a),                       'rsqrt.approx.f32 %d, %a;',  err=rel(2**-22.9)),
    asm (div.f32.approx(a, b),               'div.full.f32 %d, %a, %b;',  err=rel(2**-22)),
    asm (sqrt.f32.approx(a),                 'sqrt.approx.f32 %d, %a;',   err=rel(2**-22.6)),
    asm (tanh.f32.approx(a),                 'tanh.approx.f32 %d, %a;',   err=rel(2**-10.9)),
    asm (exp2.f32.approx(a),                 'ex2.approx.f32 %d, %a;',    err=rel(2**-22)),
    asm (log2.f32.approx(a),                 'lg2.approx.f32 %d, %a;',    err=rel(2**-22)),
    asm (sin.f32.approx(a),                  'sin.approx.f32 %d, %a;',    err=rel(2**-20.5)),
    asm (cos.f32.approx(a),                  'cos.approx.f32 %d, %a;',    err=rel(2**-20.5)),
    asm (cvt.f32x2.bf16x2(a),                '{ .reg .b32 l, h; shl.b32 l, %a, 16; and.b32 h, %a, -65536; mov.b64 %d, {l, h}; }'),
    asm (cvt.f64.i32.approx(a),              'cvt.rn.f64.s32 %d, %a;'),
    asm (cvt.f64.u32.approx(a),              'cvt.rn.f64.u32 %d, %a;'),
    asm (cvt.f64.i64.approx(a),              'cvt.rn.f64.s64 %d, %a;'),
    asm (cvt.f64.u64.approx(a),              'cvt.rn.f64.u64 %d, %a;'),
] + [                                        # by 32 or more: nothing is left, or the sign, as HLO says
    asm (op[t](a, b),                        f'{name} %d, %a, %b;')
    for t in (i32, u32) for op, name in ((shl, 'shl.b32'), (shrl, 'shr.u32'), (shra, 'shr.s32'))
] + tiles.ALL + functions.LIBDEVICE
