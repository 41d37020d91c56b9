"""Blackwell: RTX PRO 6000."""
from gen.lang import *
from patterns import (angles, arith, complex, complex_div, doubles, fixed, functions, layouts, machine, order, polynomials, powers, quotients, rates, sharing,
                      small, tiles)

TARGET = target('sm_120', ptx='8.8', board='RTX PRO 6000',
    sms=188, warps=48, blocks=24,
    smem=99*KiB, sm_smem=100*KiB,
    regs=255, sm_regs=64*1024, warp=32,
    vector_bytes=32,
    features=('tanh.approx', 'ex2.f16', 'red.f16x2', 'ldmatrix', 'mma.f16',
              'bf16.fma', 'max.nan', 'redux', 'cp.async', 'mbarrier', 'mma.bf16',
              'cvt.f8', 'mma.f8',
              'bf16.add', 'ex2.bf16', 'red.v4', 'red.bf16x2', 'cas.b128', 'cluster', 'bulk.copy', 'dependent.launch', 'elect',
              'max3', 'add.f32x2', 'ld.v8'))

PACKED = [                                   # packed operations for vectorising
    packed(bf16, 2, add, sub, mul, fma, max, min, neg, abs),
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
    tune('loop.min_threads', value=96256, because='188 SMs with 512 threads each, four warps to a scheduler'),
]
RATE = rates.EVERY + rates.BLOCKS + rates.REDUX_UNSTATED + [
    rate('clock',          2.6e9,   unit='Hz',                              source=rates.BOARD),
    rate('dram',           1.792e12, unit='bytes/s',                        source=rates.BOARD),
    rate('l2',             unknown, unit='bytes/s', low=5.2e12, high=10e12, source='not stated; low: L40'),
    rate('l2.bytes',       131072*KiB, unit='bytes',                        source=rates.BOARD),
    rate('launch',         unknown, unit='s', low=0.4e-6, high=2.5e-6,      source='not stated; low: L40'),
    rate('l1.wavefront',   128,     unit='bytes/clk/SM',                    source=rates.GA102),
    rate('sm.fill',        unknown, unit='bytes/clk/SM', low=11, high=64,   source='not stated; low: least L2 bandwidth over 188 SMs'),
    rate('pipe.fma',       128,     unit='lanes/clk/SM',                    source=rates.BOARD),
    rate('pipe.alu',       unknown, unit='lanes/clk/SM', low=64, high=128,  source='not stated; its f32 lanes do integers too, ' + rates.JARMUSCH),
    rate('pipe.half',      64,      unit='lanes/clk/SM',                    source=rates.DATA_SHEET + ': f16 as fast as f32, 128 halves'),
    rate('pipe.bf16',      64,      unit='lanes/clk/SM',                    source=rates.DATA_SHEET + ': bf16 as fast as f32, 128 halves'),
    rate('pipe.f64',       2,       unit='lanes/clk/SM',                    source=rates.GUIDE),
    rate('pipe.conv',      unknown, unit='lanes/clk/SM', low=16, high=64,   source='not stated; high: as sm_90'),
    rate('pipe.conv64',    2,       unit='lanes/clk/SM',                    source='not stated; as many as f64'),
    rate('pipe.lsu',       16,      unit='lanes/clk/SM', high=32,           source='not stated; as sm_89'),
    rate('latency.f64',    64,      unit='clk',                             source=rates.JARMUSCH),
    rate('latency.shared', unknown, unit='clk', low=23, high=35,            source='not stated; about Ada'),
    rate('latency.l1',     unknown, unit='clk', low=30, high=43,            source='not stated; about Ada'),
    rate('latency.l2',     358,     unit='clk', low=276,                    source=rates.JARMUSCH + '; low: L40'),
    rate('latency.dram',   877,     unit='clk', low=631,                    source=rates.JARMUSCH + '; low: L40'),
    rate('latency.atomic', unknown, unit='clk', low=276, high=900,          source='not stated; at least that of L2 of L40'),
    rate('latency.cluster', unknown, unit='clk', low=180, high=260,         source='not stated; low: H100'),
]

SIMPLIFY = arith.SIMPLIFY + order.ORDER
LOWER = [                                    # of the rules for an operation the first that matches applies
    powers.ALL, quotients.QUICK,
    fixed.ALL, doubles.SHORT,
    angles.VIA_F32, polynomials.VIA_F32,
    functions.LOWER,
    arith.LOWER,
    small.HARDWARE,
    small.LOWER, complex_div.VIA_F32, complex.LOWER,
]

INSTR = [                                    # call and asm match the lanes that are written; llvm and intr any number
    machine.APPROXIMATE, machine.WIDEN_BF16, machine.SHIFT,
    machine.F8,
    machine.BF16_FROM_INTEGER,
    tiles.ALL, functions.LIBDEVICE,
    sharing.ATOMICS_90, sharing.ALL, sharing.REDUX,
]
