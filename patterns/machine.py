"""What several generations share: instructions that LLVM has no name for, and tuning values."""
from gen.lang import *

APPROXIMATE = [                                 # the special function unit; errors from the PTX manual
    asm (rsqrt.f32(a),                       'rsqrt.approx.f32 %d, %a;',  err=rel(2**-22.9)),
    asm (div.f32.approx(1.0, a),             'rcp.approx.f32 %d, %a;',    err=rel(2**-23)),
    asm (div.f32.approx(a, b),               'div.full.f32 %d, %a, %b;',  err=rel(2**-22)),
    asm (sqrt.f32.approx(a),                 'sqrt.approx.f32 %d, %a;',   err=rel(2**-22.6)),
    asm (tanh.f32.approx(a),                 'tanh.approx.f32 %d, %a;',   err=rel(2**-10.9)),
    asm (exp2.f32.approx(a),                 'ex2.approx.f32 %d, %a;',    err=rel(2**-22)),
    asm (log2.f32.approx(a),                 'lg2.approx.f32 %d, %a;',    err=rel(2**-22)),
    asm (sin.f32.approx(a),                  'sin.approx.f32 %d, %a;',    err=rel(2**-20.5)),
    asm (cos.f32.approx(a),                  'cos.approx.f32 %d, %a;',    err=rel(2**-20.5)),
]
WIDEN_BF16 = [                                  # two at a time by a shift and a mask; LLVM needs six more instructions
    asm (cvt.f32x2.bf16x2(a),                '{ .reg .b32 l, h; shl.b32 l, %a, 16; and.b32 h, %a, -65536; mov.b64 %d, {l, h}; }'),
]
SHIFT = [                                       # a shift by 32 or more gives 0 or the sign, as in HLO
    asm (op[t](a, b),                        f'{name} %d, %a, %b;')
    for t in (i32, u32) for op, name in ((shl, 'shl.b32'), (shrl, 'shr.u32'), (shra, 'shr.s32'))
]
F64_FROM_INTEGER = [                            # before sm_90: a step of the conversion from integer to bf16
    asm (cvt.f64.i32.approx(a),              'cvt.rn.f64.s32 %d, %a;'),
    asm (cvt.f64.u32.approx(a),              'cvt.rn.f64.u32 %d, %a;'),
    asm (cvt.f64.i64.approx(a),              'cvt.rn.f64.s64 %d, %a;'),
    asm (cvt.f64.u64.approx(a),              'cvt.rn.f64.u64 %d, %a;'),
]
BF16_FROM_INTEGER = [                           # from sm_90
    llvm(cvt.bf16.i32(a),                    'sitofp',                    ptx='cvt.rn.%t.%o'),
    llvm(cvt.bf16.i64(a),                    'sitofp',                    ptx='cvt.rn.%t.%o'),
    llvm(cvt.bf16.u32(a),                    'uitofp',                    ptx='cvt.rn.%t.%o'),
    llvm(cvt.bf16.u64(a),                    'uitofp',                    ptx='cvt.rn.%t.%o'),
]
F8 = [                                          # from sm_89
    asm (cvt.f16x2.f8e4m3fnx2(a),            'cvt.rn.f16x2.e4m3x2 %d, %a;'),
    asm (cvt.f16x2.f8e5m2x2(a),              'cvt.rn.f16x2.e5m2x2 %d, %a;'),
    asm (cvt.f16.f8e4m3fn(a),                '{ .reg .b32 p; .reg .b16 h; cvt.rn.f16x2.e4m3x2 p, %a; mov.b32 {%d, h}, p; }'),
    asm (cvt.f16.f8e5m2(a),                  '{ .reg .b32 p; .reg .b16 h; cvt.rn.f16x2.e5m2x2 p, %a; mov.b32 {%d, h}, p; }'),
    asm (cvtsat.f8e4m3fnx2.f32x2(a),         '{ .reg .f32 l, h; mov.b64 {l, h}, %a; cvt.rn.satfinite.e4m3x2.f32 %d, h, l; }'),
    asm (cvtsat.f8e5m2x2.f32x2(a),           '{ .reg .f32 l, h; mov.b64 {l, h}, %a; cvt.rn.satfinite.e5m2x2.f32 %d, h, l; }'),
    asm (cvtsat.f8e4m3fn.f32(a),             '{ .reg .f32 z; mov.f32 z, 0f00000000; cvt.rn.satfinite.e4m3x2.f32 %d, z, %a; }'),
    asm (cvtsat.f8e5m2.f32(a),               '{ .reg .f32 z; mov.f32 z, 0f00000000; cvt.rn.satfinite.e5m2x2.f32 %d, z, %a; }'),
]

UNROLL_16 = [
    tune('loop.unroll', bits=64, value=2,  because='16-byte accesses'),
    tune('loop.unroll', bits=32, value=4,  because='16-byte accesses'),
    tune('loop.unroll', bits=16, value=8,  because='16-byte accesses'),
    tune('loop.unroll', bits=8,  value=16, because='16-byte accesses'),
    tune('loop.unroll', bits=4,  value=32, because='16-byte accesses'),
]
UNROLL_32 = [
    tune('loop.unroll', bits=64, value=4,  because='32-byte accesses'),
    tune('loop.unroll', bits=32, value=8,  because='32-byte accesses'),
    tune('loop.unroll', bits=16, value=16, because='32-byte accesses'),
    tune('loop.unroll', bits=8,  value=32, because='32-byte accesses'),
    tune('loop.unroll', bits=4,  value=32, because='as many lanes as vectorising takes'),
]
TUNE = [                                        # every heuristic is data
    tune('loop.unroll', bits=2,  value=32, because='as many lanes as vectorising takes'),
    tune('loop.block',        value=128,    because='enough warps to a block to hide latency, few enough to fill every SM'),
    tune('loop.block_factor', value=2,      because='blocks from half to twice the number do as well'),
    tune('loop.max_accesses', value=2,      because='more accesses of a thread to one buffer would part what neighbouring threads access'),
    tune('loop.max_row',      value=16,     because='code for each element of a row, of which the operand is known'),
    tune('loop.coarsening',   value=4,      because='four accesses in flight, and a thread starts once for four'),
    tune('loop.coarse_work',  value=128,    because='with more work its start is a small part of a thread, and more vectors would cost registers'),
    tune('loop.coarse_bytes', value=128,    because='32 registers hold what is in flight, so that a multiprocessor still has all its threads'),
    tune('loop.rows',         value=8,      because='rows of a thread: the eighth part of what they share is as little as the rest'),
    tune('loop.rows_over',    value=20, off=0, because='per mille of the elements: threads beyond the end that whole rows may cost'),
    tune('loop.few_blocks',  value=8, because='blocks of an SM: SMs are busy equally long, of half as many twice as large ones as well'),
    tune('loop.tie',         value=25, off=0, because='per mille of the time: prices are models, so closer ones are equal'),
    tune('loop.rows_tie',    value=25, off=0, because='per mille of the time: for less the longer code of a thread with rows is not worth it'),
    tune('loop.registers_tie', value=50, off=0, because='per mille of the time: what several vectors a thread take longer on an H200 where they share nothing'),
    tune('loop.max_body',     value=1024,   because='beyond it the instruction cache is the bottleneck, not memory'),
    tune('loop.max_bytes',    value=256,    because='64 of 255 registers hold what a thread has loaded and will store'),
    tune('loop.max_iterations', value=1024, because='with more iterations in one thread the last threads keep the machine waiting'),
    tune('work.function',     value=12,     because='instructions of a quotient, root, exponential or logarithm of f32'),
    tune('work.long_function', value=40,    because='instructions of a sine, power or error function of f32'),
    tune('call.min_nodes',    value=256,    because='smaller bodies cost less where they are read than a call of them'),
    tune('call.budget',       value=40,     because='nodes for each instruction of the fusion: code stays linear in its size'),
    tune('call.nodes',        value=4,      because='a call takes as many: smaller bodies are never worth one'),
    tune('constant.selects',  value=64,     because='six selects, by bisection, take about as long as a load from a cache'),
    tune('branch.most',       value=32, off=0, because='values that share one branch for what is seldom needed: operands stay in registers until then'),
    tune('branch.costs',      value=64, off=0, because='clocks of latency of a branch and of the longer way of f32 to a root'),
    tune('select.max_nodes',  value=12,     because='computing both branches costs no more than a branch that parts a warp'),
    tune('reduce.max_per_output', value=1024, because='one thread alone waits for each element it reads'),
    tune('reduce.max_total',  value=1 << 36, because='about a second of the whole machine; threads that share sums would take no longer than memory'),
    tune('cut.times',   value=8,       because='times the least work, of which more is no detail any more'),
    tune('cut.terms',   value=1 << 21, because='loads that L2 serves in the time of another launch'),
    tune('cut.longest', value=512,     because='terms of one thread, whose loads take as long as another launch'),
    tune('reduce.max_nodes',  value=1024,   because='the instruction cache holds a loop body of this size many times over'),
    tune('reduce.straight',   value=64,     because='a loop over so few elements would cost more than half of their work'),
    tune('reduce.unroll',     value=32,     because='an iteration waits once for its loads: eight of 16 bytes are in flight'),
    tune('scan.straight',     value=16,     because='shorter prefixes are added up again for each element: a thread has them in registers'),
    tune('rows.piece',        value=1 << 14, because='elements of a piece of a long row: a block holds them, and reads them once for two results'),
    tune('rows.least',        value=1 << 11, because='elements of a piece, each of which has results of its own in memory'),
    tune('rows.long',         value=1 << 12, because='terms of a row, of which the bounds of a sum in any order are far wider than what pieces round'),
    tune('rows.side',         value=32,      because='columns side by side in a piece: runs of 128 bytes of f32'),
    tune('scan.cut',          value=64,     because='writing shorter scans for another kernel to read takes longer than adding them up again'),
    tune('scan.piece',        value=256,      because='shorter pieces of a scan have more of what is before them than of their own'),
    tune('sort.elements',     value=1024,   because='a block of fewer has more barriers than work'),
    tune('sort.merged',       value=2048,     because='eight elements for each of 256 threads, whose searches for their part overlap with other blocks'),
    tune('sort.exchange',     value=4,        because='clocks of an SM for 32 exchanges in registers: eight operations of pipe.alu for f32 and a position'),
    tune('sort.round',        value=170,      because='clocks of a round alone: a barrier, shared memory twice, three exchanges one after the other'),
    tune('sort.merge',        value=4600,     because='clocks of a block that merges alone: its search for its part, in L2, and its rounds'),
    tune('sort.merge_warp',   value=96,       because='clocks of an SM for 64 elements that are merged: 1.6 us for 2048 on an H100'),
    tune('sort.rows',         value=8,      because='neighbours that fill a sector, where a row is not contiguous'),
    tune('product.max_per_output', value=1024, because='one thread alone waits for each element it reads'),
    tune('product.max_total', value=2**26,  because='a millisecond of multiplications that a library does in tiles'),
    tune('range.max_count',   value=64,     because='a bisection of the blocks six deep, and no more code than that'),
    tune('range.max_parts',   value=8,      because='a thread starts once for operands of one shape, and computes once what they share'),
    tune('range.min_elements', value=4096,  because='blocks of its own are worth it where an operand fills several'),
    tune('while.straight',    value=512,    because='operations of all iterations: straight code of this size stays in the instruction cache'),
    tune('while.state',       value=48,     because='elements of the state of a loop: with more a thread would run out of registers'),
    tune('fuse.members',      value=512,    because='operations of a kernel cut from a module: the code stays in the instruction cache'),
    tune('fuse.roots',        value=16,     because='outputs of such a kernel: each takes an address, and a value that waits for its store'),
    tune('fuse.move',         value=4,      because='instructions of a pad or concatenate for an element: a comparison, a select, part of an index'),
    tune('fuse.tie',          value=10,     because='percent of a launch that computing a value again must save, where a kernel can leave it in memory'),
    tune('fuse.wait',         value=160,     because='clocks of an operation that others wait for, in long code: a load, a call'),
    tune('fuse.leaves',       value=8,      because='values in memory that a kernel reads to compute another again: each load takes a register and time'),
    tune('fuse.cone',         value=256,    because='operations that are looked at to say what computing a value again costs: more are never cheap'),
    tune('range.min_bytes',   value=128,    because='shorter contiguous stretches of an operand would fill cache lines in pieces'),
]
