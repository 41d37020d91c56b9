"""Ampere: A10."""
from gen.lang import *
from patterns import (angles, arith, complex, complex_div, doubles, fixed, functions, layouts, machine, order, polynomials, powers, quotients, rates, sharing,
                      small, tiles)

TARGET = target('sm_86', ptx='8.8', board='A10',
    sms=72, warps=48, blocks=16,
    smem=99*KiB, sm_smem=100*KiB,
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
    tune('loop.min_threads', value=36864, because='72 SMs with 512 threads each, four warps to a scheduler'),
]
RATE = rates.EVERY + rates.BLOCKS + rates.REDUX + [
    rate('clock',          1.695e9, unit='Hz',                              source=rates.DATA_SHEET + ': boost'),
    rate('dram',           600e9,   unit='bytes/s', low=540e9,              source=rates.DATA_SHEET + '; low: 0.9 of it, as A40 in ' + rates.BENCHES),
    rate('l2',             2.38e12, unit='bytes/s', low=1.9e12, high=2.44e12, source='by the clock, of A40: 2.44e12, ' + rates.BENCHES),
    rate('l2.bytes',       6144*KiB, unit='bytes',                          source=rates.DATA_SHEET),
    rate('launch',         unknown, unit='s', low=0.5e-6, high=2.1e-6,      source='high: 64 KiB in a stream take 2.05 us on A40, ' + rates.BENCHES),
    rate('l1.wavefront',   128,     unit='bytes/clk/SM',                    source=rates.GA102),
    rate('sm.fill',        unknown, unit='bytes/clk/SM', low=17, high=64,   source='not stated; low: L2 bandwidth over 84 SMs of A40'),
    rate('pipe.fma',       128,     unit='lanes/clk/SM',                    source=rates.GUIDE),
    rate('pipe.alu',       64,      unit='lanes/clk/SM',                    source=rates.GUIDE),
    rate('pipe.half',      64,      unit='lanes/clk/SM',                    source=rates.GUIDE + ': 128 halves'),
    rate('pipe.bf16',      64,      unit='lanes/clk/SM',                    source=rates.GUIDE + ': 128 halves'),
    rate('pipe.f64',       2,       unit='lanes/clk/SM',                    source=rates.GUIDE),
    rate('pipe.conv',      unknown, unit='lanes/clk/SM', low=16, high=64,   source=rates.GUIDE + ', not sure: 16 are those of XU, 64 those of sm_90'),
    rate('pipe.conv64',    2,       unit='lanes/clk/SM',                    source=rates.GUIDE),
    rate('pipe.lsu',       16,      unit='lanes/clk/SM',                    source=rates.GA102),
    rate('latency.f64',    49,      unit='clk', low=40,                     source=rates.PROFILER),
    rate('latency.shared', unknown, unit='clk', low=22, high=30,            source='between Turing and Ada'),
    rate('latency.l1',     unknown, unit='clk', low=33, high=43,            source='between A100 and Ada'),
    rate('latency.l2',     unknown, unit='clk', low=200, high=277,          source='between A100 and Ada'),
    rate('latency.dram',   unknown, unit='clk', low=470, high=640,          source='between A100 and Ada'),
    rate('latency.atomic', unknown, unit='clk', low=200, high=700,          source='not stated; low: that of L2; 1.5 times that on H200'),
]

SIMPLIFY = arith.SIMPLIFY + order.ORDER
LOWER = [                                    # of the rules for an operation the first that matches applies
    powers.ALL, quotients.QUICK,
    fixed.ALL, doubles.SHORT, doubles.LONG,
    angles.VIA_F32, polynomials.VIA_F32,
    functions.LOWER,
    arith.BF16_VIA_FMA,
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
    sharing.ALL, sharing.REDUX,
]
