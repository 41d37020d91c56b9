"""Blackwell: B200."""
from gen.lang import *
from patterns import (angles, arith, boards, complex, complex_div, doubles, fixed, functions, halves, hyperbolic, layouts, literals, machine, order,
                      polynomials, powers, quotients, rates, sharing, small, strategies, tiles)

TARGET = target('sm_100', ptx='8.8', board='B200',
    sms=148, warps=64, blocks=32,
    smem=227*KiB, sm_smem=228*KiB,
    regs=255, sm_regs=64*1024, warp=32,
    vector_bytes=32,
    features=('tanh.approx', 'ex2.f16', 'red.f16x2', 'ldmatrix', 'mma.f16',
              'bf16.fma', 'max.nan', 'redux', 'cp.async', 'mbarrier', 'mma.bf16',
              'cvt.f8', 'mma.f8',
              'bf16.add', 'ex2.bf16', 'red.v4', 'red.bf16x2', 'cas.b128', 'cluster', 'bulk.copy', 'dependent.launch', 'elect',
              'max3', 'add.f32x2', 'ld.v8'))

PACKED = [                                   # packed operations for vectorising
    packed(bf16, 2, add, sub, mul, fma, max, min, neg, abs),
    packed(f32, 2, add, sub, mul, fma, neg),
    packed(f16, 2, add, sub, mul, fma, max, min, neg, abs),
    packed(cvt, 2, (bf16, f32), (f32, bf16), (f16, f32), (f16, f8e4m3fn), (f16, f8e5m2)),
    packed(cvtsat, 2, (f8e4m3fn, f32), (f8e5m2, f32)),
    sharing.ATOMIC_LANES, sharing.ATOMIC_LANES_90,
]
FREE = [                                     # modifiers of operands at no cost: the machine code has as many instructions with them as without
    free(neg, abs, on=(add.f32, mul.f32, fma.f32, max.f32, min.f32, add.f64, mul.f64, fma.f64, max.f64, min.f64)),
    free(neg, abs, on=(add.f16, mul.f16, fma.f16, max.f16, min.f16)),
    free(neg,      on=(add.bf16, mul.bf16, fma.bf16, max.bf16, min.bf16)),
]
TUNE = machine.UNROLL_32 + machine.TUNE + layouts.TUNE + strategies.TUNE
STRATEGIES = strategies.STRATEGIES
RATE = rates.EVERY + boards.of('sm_100')

SIMPLIFY = arith.SIMPLIFY + halves.FORMULAS + literals.ALL + order.ORDER
LOWER = [                                    # of the rules for an operation the first that matches applies
    powers.ALL, quotients.VIA_F64,
    doubles.ALL, hyperbolic.FAST, fixed.WITHOUT_LLVM, fixed.REMAINDERS,
    angles.VIA_F64, polynomials.VIA_F64,
    functions.LOWER,
    arith.LOWER,
    small.HARDWARE,
    small.LOWER, complex_div.VIA_F64, complex.LOWER,
]

INSTR = [                                    # call and asm match the lanes that are written; llvm and intr any number
    machine.APPROXIMATE, machine.WIDEN_BF16, machine.MIXED, machine.PAIRS, machine.SHIFT,
    machine.F8,
    machine.BF16_FROM_INTEGER,
    tiles.ALL, functions.LIBDEVICE,
    sharing.ATOMICS_90, sharing.ALL, sharing.REDUX, sharing.MMA, sharing.MATRICES, sharing.COPIES,
]
