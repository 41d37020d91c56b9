"""How fast machines are: sources of the numbers, and the rates that all generations have alike. Rates of one generation are in its own file."""
from gen.lang import *

# Stated by NVIDIA
GUIDE = 'CUDA C++ Programming Guide, throughput of native arithmetic instructions'
DATA_SHEET = "the board's data sheet"
AMPERE = 'NVIDIA A100 whitepaper'
GA102 = 'NVIDIA GA102 whitepaper: load and store units, L1 of Turing and GA10x'
BOARD = "XLA's target configuration of the board"
# Measured by tests/gpu/rates.py
H200 = 'measured on an H200 on 2026-11-26, shaderdb/history/rates.md'
TIMED = 'fitted to 908 kernels timed on an H200 on 2026-11-26'
# Measured by others
BENCHES = 'measured, github.com/te42kyfo/gpu-benches'
JIA = 'measured on a T4, Jia et al., arXiv:1903.07486'
FENG = 'measured on an RTX 2070, github.com/sjfeng1999/gpu-arch-microbenchmark'
ABDELKHALIK = 'measured on an A100, Abdelkhalik et al., arXiv:2208.11174'
LUO = 'measured, Luo et al., arXiv:2402.13499'
JARMUSCH = 'measured on an RTX 5080, Jarmusch et al., arXiv:2507.10789'
PROFILER = "half of a chain's step in XLA's hlo_op_profiler, which counts about two operations for one"

EVERY = [
    rate('issue',           4,       unit='warps/clk/SM', source='four sub-partitions issue one instruction each, since Volta'),
    rate('pipe.imad',       64,      unit='lanes/clk/SM', source=GUIDE),
    rate('pipe.xu',         16,      unit='lanes/clk/SM', source=GUIDE),
    rate('pipe.shuffle',    32,      unit='lanes/clk/SM', source=GUIDE),
    rate('pipe.uniform',    64,      unit='lanes/clk/SM', high=128,       source=H200 + '; not known of others'),
    rate('pipe.control',    32,      unit='lanes/clk/SM', low=23, high=128, source=H200 + ': from 23 for branches to 34 with BSSY and BSYNC'),
    rate('product.reached', unknown, unit='of the peak', low=0.5, high=0.9, source='not measured here; a large product at the clocks that its power allows'),
    rate('latency.alu',     4,       unit='clk', high=6,          source=H200 + '; ' + JIA + '; the same since Volta'),
    rate('latency.fma',     4,       unit='clk',                  source=H200 + '; ' + JIA + '; the same since Volta'),
    rate('latency.half',    5,       unit='clk', low=4, high=8,   source=JIA + '; low, high: ' + H200 + ', HFMA2 alone, and with HFMA2.MMA in turn'),
    rate('latency.xu',      17,      unit='clk', low=14, high=24, source=H200 + '; ' + JIA + '; ' + ABDELKHALIK),
    rate('latency.shuffle', 24,      unit='clk', low=20, high=30, source=H200 + '; low, high: as it was not known'),
    rate('latency.barrier', 28.6,    unit='clk', low=12, high=77, source=H200 + ': 12.6 and two for each warp, of 8 warps; high: of 32'),
    rate('latency.branch',  14,      unit='clk', low=7, high=24,  source=H200 + ': low: behind a long chain; high: two ways that meet again'),
    rate('window',          256,     unit='instructions', low=128, high=512,
         source='machine code of ptxas 13.0: of a block of 400 with eight independent chains it loads all first, and has four chains at a time'),
]
