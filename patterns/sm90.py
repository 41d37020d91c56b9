"""Hopper: H100, H200."""
from gen.lang import *
from patterns import (angles, arith, complex, complex_div, doubles, functions, layouts, machine, order, polynomials, powers, quotients, rates, sharing, small,
                      tiles)

TARGET = target('sm_90', ptx='8.8', board='H100, H200',
    sms=132, warps=64, blocks=32,
    smem=227*KiB, sm_smem=228*KiB,
    regs=255, sm_regs=64*1024, warp=32,
    vector_bytes=16,
    features=('tanh.approx', 'ex2.f16', 'red.f16x2', 'ldmatrix', 'mma.f16',
              'bf16.fma', 'max.nan', 'redux', 'cp.async', 'mbarrier', 'mma.bf16',
              'cvt.f8', 'mma.f8',
              'bf16.add', 'ex2.bf16', 'red.v4', 'red.bf16x2', 'cas.b128', 'cluster', 'bulk.copy', 'dependent.launch', 'elect'))

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
TUNE = machine.UNROLL_16 + machine.TUNE + layouts.TUNE + [
    tune('loop.min_threads', value=67584, because='132 SMs with 512 threads each, four warps to a scheduler'),
]
RATE = rates.EVERY + rates.REDUX + [             # of H200; H100 SXM has 3.352e12 bytes/s of DRAM and the same clock
    rate('clock',          1.98e9,  unit='Hz', low=1.755e9,                 source=rates.H200 + '; low: H100 PCIe'),
    rate('dram',           4.4e12,  unit='bytes/s', low=3.8e12, high=4.6e12, source=rates.TIMED + '; low: copies of 64 MiB; high: reads of 512 MiB'),
    rate('l2',             9.7e12,  unit='bytes/s', low=9.4e12, high=1.17e13, source=rates.H200 + ': 8 to 40 MiB by 264 blocks; high: by 132 blocks'),
    rate('l2.bytes',       61440*KiB, unit='bytes', low=51200*KiB,          source=rates.H200 + ': an attribute; low: ' + rates.BOARD),
    rate('launch',         1.1e-6,  unit='s', low=0.51e-6, high=1.8e-6,     source=rates.H200 + ': in a graph; low: of no work; high: in a stream'),
    rate('blocks',         0.83,    unit='blocks/clk',                      source=rates.H200 + ': 2112 and 16896 empty blocks, of 128 and of 256 threads'),
    rate('atomics',        49,      unit='sectors/clk', low=30,             source=rates.H200 + ': a lane in each sector; low: 4 lanes of f64'),
    rate('atomic.int',     1.45,    unit='clk',                             source=rates.H200 + ', u32 and u64'),
    rate('atomic.float',   3.47,    unit='clk',                             source=rates.H200 + ', f32, f64, f16x2 and v4.f32'),
    rate('l1.wavefront',   128,     unit='bytes/clk/SM',                    source=rates.H200),
    rate('sm.fill',        124,     unit='bytes/clk/SM', low=37,            source=rates.H200 + ', by one SM; low: L2 bandwidth over 132 SMs'),
    rate('sm.code',        4,       unit='bytes/clk/SM', low=2, high=8,     source=rates.TIMED),
    rate('pipe.fma',       128,     unit='lanes/clk/SM', low=125,           source=rates.H200),
    rate('pipe.alu',       64,      unit='lanes/clk/SM',                    source=rates.H200),
    rate('pipe.half',      64,      unit='lanes/clk/SM',                    source=rates.H200 + ': 128 halves, and as many by HFMA2.MMA'),
    rate('pipe.bf16',      64,      unit='lanes/clk/SM',                    source=rates.H200 + ': 128 halves, and as many by HFMA2.MMA'),
    rate('pipe.f64',       64,      unit='lanes/clk/SM', low=57,            source=rates.H200 + '; low: fma'),
    rate('pipe.conv',      64,      unit='lanes/clk/SM',                    source=rates.H200),
    rate('pipe.conv64',    16,      unit='lanes/clk/SM', low=14.2,          source=rates.H200),
    rate('pipe.lsu',       32,      unit='lanes/clk/SM',                    source=rates.H200),
    rate('latency.f64',    8,       unit='clk',                             source=rates.H200),
    rate('latency.shared', 23,      unit='clk', high=29,                    source=rates.H200 + '; high: ' + rates.LUO),
    rate('latency.l1',     34,      unit='clk', high=41,                    source=rates.H200 + '; high: ' + rates.LUO),
    rate('latency.l2',     282,     unit='clk', low=254, high=314,          source=rates.H200 + '; low, high: of 64 addresses'),
    rate('latency.dram',   678,     unit='clk', low=479,                    source=rates.H200 + '; low: ' + rates.LUO),
    rate('latency.atomic', 436,     unit='clk', high=958,                   source=rates.H200 + '; high: acq_rel'),
    rate('latency.cluster', 191,    unit='clk', low=180, high=362,          source=rates.H200 + ': loads; high: barriers that order memory; low: ' + rates.LUO),
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
    machine.APPROXIMATE, machine.WIDEN_BF16, machine.SHIFT,
    machine.F8,
    machine.BF16_FROM_INTEGER,
    tiles.ALL, functions.LIBDEVICE,
    sharing.ATOMICS_90, sharing.ALL, sharing.REDUX,
]
