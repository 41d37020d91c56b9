"""Ada: L40S."""
from gen.lang import *
from patterns import (angles, arith, boards, complex, complex_div, doubles, fixed, functions, halves, hyperbolic, layouts, literals, machine, order,
                      polynomials, powers, quotients, rates, sharing, small, strategies, tiles)

TARGET = target('sm_89', ptx='8.8', board='L40S',
    sms=142, warps=48, blocks=24,
    smem=99*KiB, sm_smem=100*KiB,
    regs=255, sm_regs=64*1024, warp=32,
    vector_bytes=16,
    features=('tanh.approx', 'ex2.f16', 'red.f16x2', 'ldmatrix', 'mma.f16',
              'bf16.fma', 'max.nan', 'redux', 'cp.async', 'mbarrier', 'mma.bf16',
              'cvt.f8', 'mma.f8'))

PACKED = [                                   # packed operations for vectorising
    packed(bf16, 2, fma, max, min, neg, abs),
    packed(f16, 2, add, sub, mul, fma, max, min, neg, abs),
    packed(cvt, 2, (bf16, f32), (f32, bf16), (f16, f32), (f16, f8e4m3fn), (f16, f8e5m2)),
    packed(cvtsat, 2, (f8e4m3fn, f32), (f8e5m2, f32)),
    sharing.ATOMIC_LANES,
]
FREE = [                                     # modifiers of operands at no cost: the machine code has as many instructions with them as without
    free(neg, abs, on=(add.f32, mul.f32, fma.f32, max.f32, min.f32, add.f64, mul.f64, fma.f64, max.f64, min.f64)),
    free(neg, abs, on=(add.f16, mul.f16, fma.f16, max.f16, min.f16)),
    free(neg,      on=(fma.bf16, max.bf16, min.bf16)),
]
TUNE = machine.UNROLL_16 + machine.TUNE + layouts.TUNE + strategies.TUNE
STRATEGIES = strategies.STRATEGIES
RATE = rates.EVERY + boards.of('sm_89')

SIMPLIFY = arith.SIMPLIFY + halves.FORMULAS + literals.ALL + order.ORDER
LOWER = [                                    # of the rules for an operation the first that matches applies
    powers.ALL, quotients.QUICK,
    fixed.ALL, doubles.SHORT, doubles.LONG, hyperbolic.WITHOUT_LLVM, fixed.REMAINDERS,
    angles.VIA_F32, polynomials.VIA_F32,
    functions.LOWER,
    arith.BF16_VIA_FMA,
    arith.BF16_COMPARE_VIA_F32,
    arith.BF16_FROM_INTEGER,
    arith.LOWER,
    small.HARDWARE,
    small.LOWER, complex_div.VIA_F32, complex.LOWER,
]

INSTR = [                                    # call and asm match the lanes that are written; llvm and intr any number
    machine.APPROXIMATE, machine.WIDEN_BF16, machine.SHIFT,
    machine.F8,
    machine.F64_FROM_INTEGER,
    tiles.ALL, functions.LIBDEVICE,
    sharing.ALL, sharing.REDUX, sharing.MMA, sharing.MATRICES, sharing.COPIES,
]
