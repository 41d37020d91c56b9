"""Hopper: H100, H200."""
from gen.lang import *
from patterns import arith, functions, tiles

TARGET = target('sm_90', ptx='8.8', warp=32, sms=132, smem=227*KiB, regs=255, vector_bytes=16)

PACKED = [                                   # what vectorising may build
    packed(bf16, 2, add, sub, mul, fma, max, min, neg, abs),
    packed(f16, 2, add, sub, mul, fma, max, min, neg, abs),
    packed(cvt, 2, (bf16, f32), (f32, bf16), (f16, f32)),
]
FREE = [                                     # of operands, at no cost: the machine code of each has as many instructions with as without
    free(neg, abs, on=(add.f32, mul.f32, fma.f32, max.f32, min.f32, add.f64, mul.f64, fma.f64, add.f16, mul.f16, fma.f16, max.f16)),
    free(neg,      on=fma.bf16),
]
TUNE = [                                     # every heuristic is data
    tune('loop.unroll', bits=64, value=2,  because='16-byte accesses'),
    tune('loop.unroll', bits=32, value=4,  because='16-byte accesses'),
    tune('loop.unroll', bits=16, value=8,  because='16-byte accesses'),
    tune('loop.unroll', bits=8,  value=16, because='16-byte accesses'),
    tune('loop.block',        value=128,    because='enough warps to a block to hide latency, few enough to fill every SM'),
    tune('loop.min_threads',  value=67584,  because='132 SMs with 512 threads each, four warps to a scheduler'),
    tune('loop.max_body',     value=1024,   because='beyond it the instruction cache is the bottleneck, not memory'),
    tune('loop.max_bytes',    value=256,    because='64 of 255 registers hold what a thread has loaded and will store'),
]

SIMPLIFY = arith.SIMPLIFY
LOWER = functions.LOWER + arith.LOWER

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
    llvm(cvt.bf16.i32(a),                    'sitofp'),
    llvm(cvt.bf16.i64(a),                    'sitofp'),
    llvm(cvt.bf16.u32(a),                    'uitofp'),
    llvm(cvt.bf16.u64(a),                    'uitofp'),
] + [                                        # by 32 or more: nothing is left, or the sign, as HLO says
    asm (op[t](a, b),                        f'{name} %d, %a, %b;')
    for t in (i32, u32) for op, name in ((shl, 'shl.b32'), (shrl, 'shr.u32'), (shra, 'shr.s32'))
] + tiles.ALL + functions.LIBDEVICE
