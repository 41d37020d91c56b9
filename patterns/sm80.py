"""Ampere: A100."""
from gen.lang import *
from patterns import (angles, arith, complex, complex_div, doubles, functions, layouts, machine, order, polynomials, powers, quotients, rates, sharing, small,
                      tiles)

TARGET = target('sm_80', ptx='8.8', board='A100',
    sms=108, warps=64, blocks=32,
    smem=163*KiB, sm_smem=164*KiB,
    regs=255, sm_regs=64*1024, warp=32,
    vector_bytes=16,
    features=('tanh.approx', 'ex2.f16', 'red.f16x2', 'ldmatrix', 'mma.f16',
              'bf16.fma', 'max.nan', 'redux', 'cp.async', 'mbarrier', 'mma.bf16'))

PACKED = [                                   # packed operations for vectorising
    packed(bf16, 2, fma, max, min, neg, abs),
    packed(f16, 2, add, sub, mul, fma, max, min, neg, abs),
    packed(cvt, 2, (bf16, f32), (f32, bf16), (f16, f32)),
    sharing.ATOMIC_LANES,
]
FREE = [                                     # modifiers of operands at no cost: the machine code has as many instructions with them as without
    free(neg, abs, on=(add.f32, mul.f32, fma.f32, max.f32, min.f32, add.f64, mul.f64, fma.f64, max.f64, min.f64)),
    free(neg, abs, on=(add.f16, mul.f16, fma.f16, max.f16, min.f16)),
    free(neg,      on=(fma.bf16, max.bf16, min.bf16)),
]
TUNE = machine.UNROLL_16 + machine.TUNE + layouts.TUNE + [
    tune('loop.min_threads', value=55296, because='108 SMs with 512 threads each, four warps to a scheduler'),
]
RATE = rates.EVERY + rates.BLOCKS + rates.REDUX + [             # of the board with 80 GB
    rate('clock',          1.41e9,  unit='Hz',                              source=rates.BOARD),
    rate('dram',           2.03904e12, unit='bytes/s', low=1.73e12,         source=rates.BOARD + '; low: ' + rates.BENCHES),
    rate('l2',             5.4e12,  unit='bytes/s', low=2.8e12, high=7.22e12, source=rates.BENCHES + '; low: ' + rates.LUO + '; high: ' + rates.AMPERE),
    rate('l2.bytes',       40960*KiB, unit='bytes',                         source=rates.BOARD),
    rate('launch',         0.8e-6,  unit='s', low=0.5e-6, high=2.5e-6,      source=rates.BENCHES + ': 64 KiB take 1.34 us in a graph, 0.6 of it latency'),
    rate('l1.wavefront',   128,     unit='bytes/clk/SM',                    source=rates.AMPERE),
    rate('sm.fill',        64,      unit='bytes/clk/SM', low=35.5,          source=rates.AMPERE + '; low: L2 bandwidth over 108 SMs'),
    rate('pipe.fma',       64,      unit='lanes/clk/SM',                    source=rates.GUIDE),
    rate('pipe.alu',       64,      unit='lanes/clk/SM',                    source=rates.GUIDE),
    rate('pipe.half',      128,     unit='lanes/clk/SM',                    source=rates.GUIDE + ': 256 halves'),
    rate('pipe.bf16',      64,      unit='lanes/clk/SM',                    source=rates.GUIDE + ': 128 halves'),
    rate('pipe.f64',       32,      unit='lanes/clk/SM',                    source=rates.GUIDE),
    rate('pipe.conv',      unknown, unit='lanes/clk/SM', low=16, high=64,   source=rates.GUIDE + ', not sure: 16 are those of XU, 64 those of sm_90'),
    rate('pipe.conv64',    16,      unit='lanes/clk/SM',                    source=rates.GUIDE),
    rate('pipe.lsu',       32,      unit='lanes/clk/SM',                    source=rates.AMPERE),
    rate('latency.f64',    8,       unit='clk', low=4,                      source=rates.PROFILER + ' on sm_90; low: ' + rates.ABDELKHALIK),
    rate('latency.shared', 29,      unit='clk', low=23,                     source=rates.LUO + '; low: ' + rates.ABDELKHALIK),
    rate('latency.l1',     36,      unit='clk', low=33, high=38,            source=rates.BENCHES + '; low: ' + rates.ABDELKHALIK + '; high: ' + rates.LUO),
    rate('latency.l2',     211,     unit='clk', low=200, high=424,          source=rates.BENCHES + '; high: the far half of L2'),
    rate('latency.dram',   570,     unit='clk', low=466,                    source=rates.BENCHES + '; low: ' + rates.LUO),
    rate('latency.atomic', unknown, unit='clk', low=211, high=700,          source='not stated; low: that of L2; 1.5 times that on H200'),
]

SIMPLIFY = arith.SIMPLIFY + order.ORDER
LOWER = [                                    # of the rules for an operation the first that matches applies
    powers.ALL, quotients.VIA_F64,
    doubles.ALL,
    angles.VIA_F64, polynomials.VIA_F64,
    functions.LOWER,
    arith.BF16_VIA_FMA,
    arith.BF16_COMPARE_VIA_F32,
    arith.BF16_FROM_INTEGER,
    arith.LOWER,
    small.SOFTWARE,
    small.LOWER, complex_div.VIA_F64, complex.LOWER,
]

INSTR = [                                    # call and asm match the lanes that are written; llvm and intr any number
    machine.APPROXIMATE, machine.WIDEN_BF16, machine.SHIFT,
    machine.F64_FROM_INTEGER,
    tiles.ALL, functions.LIBDEVICE,
    sharing.ALL, sharing.REDUX,
]
