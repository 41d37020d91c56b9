"""Turing: T4."""
from gen.lang import *
from patterns import angles, arith, complex, complex_div, doubles, fixed, functions, layouts, machine, order, polynomials, powers, rates, sharing, small, tiles

TARGET = target('sm_75', ptx='8.8', board='T4',
    sms=40, warps=32, blocks=16,
    smem=64*KiB, sm_smem=64*KiB,
    regs=255, sm_regs=64*1024, warp=32,
    vector_bytes=16,
    features=('tanh.approx', 'ex2.f16', 'red.f16x2', 'ldmatrix', 'mma.f16'))

PACKED = [                                   # packed operations for vectorising
    packed(f16, 2, add, sub, mul, fma, neg, abs),
    packed(cvt, 2, (f32, bf16)),
    sharing.ATOMIC_LANES,
]
FREE = [                                     # modifiers of operands at no cost: the machine code has as many instructions with them as without
    free(neg, abs, on=(add.f32, mul.f32, fma.f32, max.f32, min.f32, add.f64, mul.f64, fma.f64, max.f64, min.f64)),
    free(neg, abs, on=(add.f16, mul.f16, fma.f16)),
]
TUNE = machine.UNROLL_16 + machine.TUNE + layouts.TUNE + [
    tune('loop.min_threads', value=20480, because='40 SMs with 512 threads each, four warps to a scheduler'),
]
RATE = rates.EVERY + rates.BLOCKS + [
    rate('clock',          1.59e9,  unit='Hz', low=0.585e9,                 source=rates.DATA_SHEET + ': boost; low: base, as 70 W do not hold the boost'),
    rate('dram',           320e9,   unit='bytes/s', low=220e9,              source=rates.DATA_SHEET + '; low: ' + rates.JIA),
    rate('l2',             1.27e12, unit='bytes/s',                         source=rates.JIA),
    rate('l2.bytes',       4096*KiB, unit='bytes',                          source=rates.JIA),
    rate('launch',         unknown, unit='s', low=0.5e-6, high=2.5e-6,      source='not stated; from L40 to H200'),
    rate('l1.wavefront',   64,      unit='bytes/clk/SM',                    source=rates.GA102 + '; ' + rates.JIA + ': 58.8'),
    rate('sm.fill',        unknown, unit='bytes/clk/SM', low=20, high=64,   source='not stated; low: L2 bandwidth over 40 SMs'),
    rate('pipe.fma',       64,      unit='lanes/clk/SM',                    source=rates.GUIDE),
    rate('pipe.alu',       64,      unit='lanes/clk/SM',                    source=rates.GUIDE),
    rate('pipe.half',      64,      unit='lanes/clk/SM',                    source=rates.GUIDE + ': 128 halves'),
    rate('pipe.f64',       2,       unit='lanes/clk/SM',                    source=rates.GUIDE),
    rate('pipe.conv',      16,      unit='lanes/clk/SM',                    source=rates.GUIDE),
    rate('pipe.conv64',    2,       unit='lanes/clk/SM',                    source=rates.GUIDE),
    rate('pipe.lsu',       16,      unit='lanes/clk/SM',                    source=rates.GA102),
    rate('latency.f64',    48,      unit='clk', low=40,                     source=rates.PROFILER),
    rate('latency.shared', 23,      unit='clk', low=19,                     source=rates.FENG + '; low: ' + rates.JIA),
    rate('latency.l1',     32,      unit='clk',                             source=rates.JIA),
    rate('latency.l2',     188,     unit='clk', high=236,                   source=rates.JIA + '; high: ' + rates.FENG),
    rate('latency.dram',   unknown, unit='clk', low=430, high=1000,         source='low: V100, ' + rates.BENCHES + '; high: ' + rates.FENG),
    rate('latency.atomic', unknown, unit='clk', low=188, high=500,          source='not stated; at least that of L2'),
]

SIMPLIFY = arith.SIMPLIFY + order.ORDER
LOWER = [                                    # of the rules for an operation the first that matches applies
    powers.ALL, fixed.ALL, doubles.SHORT, doubles.LONG,
    angles.VIA_F32, polynomials.VIA_F32,
    functions.LOWER,
    arith.BF16_VIA_F32,
    arith.BF16_COMPARE_VIA_F32,
    arith.BF16_FROM_INTEGER,
    arith.LOWER,
    small.SOFTWARE,
    small.LOWER, complex_div.VIA_F32, complex.LOWER,
]

INSTR = [                                    # call and asm match the lanes that are written; llvm and intr any number
    machine.APPROXIMATE, machine.WIDEN_BF16, machine.SHIFT,
    machine.F64_FROM_INTEGER,
    tiles.ALL, functions.LIBDEVICE,
    sharing.ALL,
]
