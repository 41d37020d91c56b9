"""Blackwell: B200."""
from gen.lang import *
from patterns import (angles, arith, complex, complex_div, doubles, functions, layouts, machine, order, polynomials, powers, quotients, rates, sharing, small,
                      tiles)

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
TUNE = machine.UNROLL_32 + machine.TUNE + layouts.TUNE + [
    tune('loop.min_threads', value=75776, because='148 SMs with 512 threads each, four warps to a scheduler'),
]
RATE = rates.EVERY + rates.BLOCKS + rates.REDUX_UNSTATED + [
    rate('clock',          1.965e9, unit='Hz',                              source=rates.BOARD),
    rate('dram',           7.67232e12, unit='bytes/s',                      source=rates.BOARD),
    rate('l2',             unknown, unit='bytes/s', low=9.7e12, high=21e12, source='not stated; low: H200'),
    rate('l2.bytes',       132644864, unit='bytes',                         source=rates.BOARD),
    rate('launch',         unknown, unit='s', low=0.51e-6, high=1.8e-6,     source='not stated; as H200'),
    rate('l1.wavefront',   128,     unit='bytes/clk/SM',                    source=rates.LUO + ' on H100'),
    rate('sm.fill',        64,      unit='bytes/clk/SM', low=33, high=124,  source=rates.AMPERE + '; low: L2 over 148 SMs; high: one SM of H200'),
    rate('pipe.fma',       128,     unit='lanes/clk/SM',                    source=rates.BOARD),
    rate('pipe.alu',       64,      unit='lanes/clk/SM', high=128,          source=rates.BOARD),
    rate('pipe.half',      64,      unit='lanes/clk/SM', high=128,          source=rates.BOARD + ': 128 halves'),
    rate('pipe.bf16',      64,      unit='lanes/clk/SM', high=128,          source=rates.BOARD + ': 128 halves'),
    rate('pipe.f64',       64,      unit='lanes/clk/SM',                    source=rates.BOARD),
    rate('pipe.conv',      unknown, unit='lanes/clk/SM', low=16, high=64,   source='not stated; high: as sm_90'),
    rate('pipe.conv64',    16,      unit='lanes/clk/SM',                    source='not stated; as sm_90, which has as many f64'),
    rate('pipe.lsu',       32,      unit='lanes/clk/SM', low=16,            source='not stated; as sm_90'),
    rate('latency.f64',    8,       unit='clk',                             source=rates.PROFILER),
    rate('latency.shared', unknown, unit='clk', low=23, high=35,            source='not stated; low and high: about H100'),
    rate('latency.l1',     unknown, unit='clk', low=34, high=45,            source='not stated; low: H100'),
    rate('latency.l2',     unknown, unit='clk', low=265, high=475,          source='not stated; low and high: the halves of H100'),
    rate('latency.dram',   unknown, unit='clk', low=600, high=900,          source='not stated; about H100 and RTX 5080'),
    rate('latency.atomic', unknown, unit='clk', low=282, high=900,          source='not stated; low: L2 of H200, whose atomics take 436'),
    rate('latency.cluster', unknown, unit='clk', low=180, high=260,         source='not stated; low: H100'),
]

SIMPLIFY = arith.SIMPLIFY + order.ORDER
LOWER = [                                    # of the rules for an operation the first that matches applies
    powers.ALL, quotients.VIA_F64,
    doubles.ALL,
    angles.VIA_F64, polynomials.VIA_F64,
    functions.LOWER,
    arith.LOWER,
    small.HARDWARE,
    small.LOWER, complex_div.VIA_F64, complex.LOWER,
]

INSTR = [                                    # call and asm match the lanes that are written; llvm and intr any number
    machine.APPROXIMATE, machine.WIDEN_BF16, machine.PAIRS, machine.SHIFT,
    machine.F8,
    machine.BF16_FROM_INTEGER,
    tiles.ALL, functions.LIBDEVICE,
    sharing.ATOMICS_90, sharing.ALL, sharing.REDUX,
]
