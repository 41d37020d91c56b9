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
# ptxas 12.9 and 13.0 make one FFMA2 of a product and a sum of pairs, .rn or not, with --fmad=false as well, and when either is an fma with -0 or 1:
# one rounding for two. A logical operation between them, which changes nothing, keeps them apart; ptxas 12.9.41 to 13.5.37 drop it afterwards, so
# that the machine code of 13.1 and later is the same as without (assemblers.tsv, tests/rules/ptxas_faults.py). sm_120, where this does not help, has no pairs.
PAIRS = [
    asm (mul.f32x2(a, b),                    '{ .reg .b64 p; mul.rn.f32x2 p, %a, %b; xor.b64 %d, p, 0; }'),
]
MIXED = [                                       # from sm_100: narrow operands of f32 need no conversion; the last one is wide
    asm (add.f32(cvt.f32[t](a), b),          f'add.rn.f32.{t} %d, %{{a}}, %{{b}};') for t in (bf16, f16)
] + [
    asm (sub.f32(cvt.f32[t](a), b),          f'sub.rn.f32.{t} %d, %{{a}}, %{{b}};') for t in (bf16, f16)
] + [
    asm (fma.f32(cvt.f32[t](a), cvt.f32[t](b), c), f'fma.rn.f32.{t} %d, %a, %b, %c;') for t in (bf16, f16)
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
    tune('loop.min_threads',  value=512, per='sms', because='threads that an SM has at least: four warps to a scheduler'),
    tune('loop.block_factor', value=2,      because='blocks from half to twice the number do as well'),
    tune('loop.max_accesses', value=2,      because='more accesses of a thread to one buffer would part what neighbouring threads access'),
    tune('loop.max_row',      value=16,     because='code for each element of a row, of which the operand is known'),
    tune('loop.coarsening',   value=4,      because='four accesses in flight, and a thread starts once for four'),
    tune('loop.coarse_work',  value=128,    because='with more work its start is a small part of a thread, and more vectors would cost registers'),
    tune('loop.coarse_bytes', value=128,    because='32 registers hold what is in flight, so that a multiprocessor still has all its threads'),
    tune('loop.rows',         value=8,      because='rows of a thread: the eighth part of what they share is as little as the rest'),
    tune('loop.rows_over',    value=20, off=0, because='per mille of the elements: threads beyond the end that whole rows may cost'),
    tune('loop.few_blocks',  value=8, because='blocks of an SM: SMs are busy equally long, of half as many twice as large ones as well'),
    tune('loop.registers',   value=50, off=0, because='per mille of the time: what several vectors a thread take longer on an H200 where they share nothing'),
    tune('loop.max_body',     value=1024,   because='beyond it the instruction cache is the bottleneck, not memory'),
    tune('loop.max_bytes',    value=256,    because='64 of 255 registers hold what a thread has loaded and will store'),
    tune('loop.max_iterations', value=1024, because='with more iterations in one thread the last threads keep the machine waiting'),
    tune('work.function',     value=12,     because='instructions of a function that measured.tsv has not counted: quotients of integers, the larger f64'),
    tune('work.by_constant',  value=6,      because='instructions of a quotient of integers by a constant: a product, shifts, the sign'),
    tune('work.chain',        value=40,     because='instructions of a term that wait for each other, at most: the rest of a longer one is beside them'),
    tune('call.min_nodes',    value=256,    because='smaller bodies cost less where they are read than a call of them'),
    tune('call.budget',       value=40,     because='nodes for each instruction of the fusion: code stays linear in its size'),
    tune('call.nodes',        value=4,      because='a call takes as many: smaller bodies are never worth one'),
    tune('constant.selects',  value=64,     because='six selects, by bisection, take about as long as a load from a cache'),
    tune('branch.most',       value=32, off=0, because='values that share one branch for what is seldom needed: operands stay in registers until then'),
    tune('branch.registers',  value=32, off=0, because='registers of a thread besides operand and result of each value that shares a branch'),
    tune('branch.large',      value=80, off=0, because='per cent of the time of the long way that the quick one may take where registers do not hold all'),
    tune('branch.spilled',    value=130, off=10000, because='per cent of the registers that so many values take at most, from which on some are spilled'),
    tune('branch.apart',      value=8, off=32, because='values that share a branch then: results of as many as two accesses store wait for it'),
    tune('branch.costs',      value=64, off=0, because='clocks of latency of a branch and of the longer way of f32 to a root'),
    tune('select.max_nodes',  value=12,     because='computing both branches costs no more than a branch that parts a warp'),
    tune('select.few_warps',  value=256, off=12, because='instructions of a warp that has a scheduler alone take less than a latency of memory'),
    tune('rules.few_warps',   value=8, off=0, because='of a scheduler: so few wait for results, and for code, and have one or two quotients each'),
    tune('reduce.max_per_output', value=1024, because='one thread alone waits for each element it reads'),
    tune('reduce.max_total',  value=1 << 36, because='about a second of the whole machine; threads that share sums would take no longer than memory'),
    tune('work.look',   value=1 << 13, because='evaluations for an element, by the text, from which the code is asked: functions may do a thousand times more'),
    tune('work.apart',  value=1 << 22, because='operations of a thread in functions that call each other: 1e6 take as long as launches apart'),
    tune('reduce.max_nodes',  value=1024,   because='the instruction cache holds a loop body of this size many times over'),
    tune('reduce.straight',   value=64,     because='a loop over so few elements would cost more than half of their work'),
    tune('reduce.unroll',     value=32,     because='an iteration waits once for its loads: eight of 16 bytes are in flight'),
    tune('scan.straight',     value=3,       because='shorter prefixes are added up again for each element; longer ones load and add with 4 terms as many'),
    tune('scatter.run',       value=16, off=1, because='updates of a thread, each with code of its own'),
    tune('scatter.bytes',     value=128, off=0, because='of those updates, all of which are loaded before the first is combined: 32 registers'),
    tune('scatter.gain',      value=1000, off=100000, because='per mille of the work that runs twice as long may have; without it the longest are taken'),
    tune('scatter.flush',     value=120,      because='clocks of tests around an operation on memory whose result is looked at, else half of it'),
    tune('scatter.code',      value=50,       because='clocks until the code of an operation has come to an SM, twice if its result is looked at'),
    tune('scatter.at_once',   value=8, off=1,  because='updates in their order that a thread waits for together: what follows in the loop waits for their sum'),
    tune('scatter.many',      value=8,        because='updates of an element: as a minimum or maximum most change nothing, which a load finds out'),
    tune('cells.gain',        value=900, off=10**9, because='per mille of the time of updates in memory that those in cells may take; off: any'),
    tune('cells.code',        value=1600,     because='clocks until the code of setting, combining and storing cells has come to an SM'),
    tune('cells.bytes',       value=48*KiB, off=0, because='of shared memory that a block has statically'),
    tune('cells.registers',   value=4,        because='loads of a thread in flight, before the first of their updates is combined'),
    tune('cells.update',      value=24,       because='instructions of an update in cells, with its share of the loop'),
    tune('cells.own',         value=2,        because='instructions one after the other of an update in a cell of its own: a sum, an address'),
    tune('cells.loop',        value=3,        because='the same of a turn in the loop that ptxas makes of an atomic operation: a test more'),
    tune('sort.elements',     value=1024,   because='a block of fewer has more barriers than work'),
    tune('sort.merged',       value=2048,     because='eight elements for each of 256 threads, whose searches for their part overlap with other blocks'),
    tune('sort.values',       value=24,       because='numbers in registers of a thread: keys and positions of eight elements, twice as they are exchanged'),
    tune('sort.exchange',     value=3,        because='operations of an exchange, beside its comparator and selections: positions, which way is sorted'),
    tune('sort.word64',       value=6,        because='operations of an exchange of words of 64 bits: two comparisons and four selections'),
    tune('sort.word32',       value=4,        because='the same of 32 bits: a comparison, which way is sorted, and two selections'),
    tune('sort.place',        value=3,        because='operations of an element in each round beside exchanges: its place in shared memory'),
    tune('sort.banks',        value=150,      because='percent of the wavefronts, where a thread has four elements: lanes meet in banks'),
    tune('sort.round',        value=170,      because='clocks of a round alone, beside its exchanges: a barrier, shared memory twice'),
    tune('sort.merge',        value=4600,     because='clocks of a block that merges alone: its search for its part, in L2, and its rounds'),
    tune('sort.merge_warp',   value=96,       because='clocks of an SM for 64 elements that are merged: 1.6 us for 2048 on an H100'),
    tune('sort.rows',         value=8,      because='neighbours that fill a sector, where a row is not contiguous'),
    tune('product.max_per_output', value=1024, because='one thread alone waits for each element it reads'),
    tune('product.max_total', value=2**26,  because='a millisecond of multiplications that a library does in tiles'),
    tune('range.max_count',   value=64,     because='a bisection of the blocks six deep, and no more code than that'),
    tune('range.max_parts',   value=8,      because='a thread starts once for operands of one shape, and computes once what they share'),
    tune('range.min_elements', value=4096,  because='blocks of its own are worth it where an operand fills several'),
    tune('while.straight',    value=512,    because='operations of all iterations: straight code of this size stays in the instruction cache'),
    tune('while.most',        value=8192,   because='the same of all loops of a kernel, for all elements that are needed: ptxas takes seconds'),
    tune('parameter.bytes',   value=8192,   because='eight for each array: ptxas takes 2 s for 1,000, 24 for 2,000, minutes for 3,000; 32764 at most'),
    tune('called.branches',   value=512,    because='branches in that code, or half the text: LLVM takes seconds for 1024, and more with their square'),
    tune('called.most',       value=16384,  because='values of loops and branches in the code of a kernel, or twice the text: ptxas takes minutes for more'),
    tune('apart.few',         value=64, off=0, because='instructions of a text that is one kernel without a look at its loops: they take less than a launch'),
    tune('while.apart',       value=1024,   because='operations of a thread in the time of a launch: of a loop that one thread runs, for each launch instead'),
    tune('steps.operation',   value=5,      because='clocks of one in a loop that stores its steps: its few threads wait for their own results'),
    tune('while.state',       value=48,     because='elements of the state of a loop: with more a thread would run out of registers'),
    tune('fuse.members',      value=512,    because='operations of a kernel cut from a module: the code stays in the instruction cache'),
    tune('fuse.roots',        value=16,     because='outputs of such a kernel: each takes an address, and a value that waits for its store'),
    tune('fuse.move',         value=3,      because='instructions of a pad or concatenate beside its select: a comparison, part of an index'),
    tune('fuse.place',        value=12,     because='instructions of a gather or dynamic slice: indices, comparisons, a load that waits for them'),
    tune('fuse.loop',         value=384,      because='operations of a loop for one element, as far as the text does not say'),
    tune('fuse.block',        value=1024,     because='terms of a block that has a row, or a tile of columns: what the registers of its threads hold'),
    tune('fuse.side',         value=32,       because='columns side by side in such a tile: a line of f32'),
    tune('fuse.tie',          value=10,     because='percent of a launch that computing a value again must save, where a kernel can leave it in memory'),
    tune('fuse.beside',       value=10,     because='launches of kernels of which two become one, at most: a launch is less than a twentieth of longer ones'),
    tune('fuse.partners',     value=4,        because='kernels with which such a one is tried: what makes it, what needs it, and two that read what it reads'),
    tune('fuse.small',        value=2,        because='launches of a kernel that becomes part of one that it shares a value with; more is mostly work'),
    tune('fuse.save',         value=10, off=100, because='percent of the time of kernels that a cut near theirs must save: prices of loops err by as much'),
    tune('fuse.worth',        value=1,      because='percent of the time of all kernels: near one that could save less no other cut is tried'),
    tune('fuse.tries',        value=96,     because='kernels near a slow one that are priced in a row, none of which takes less: a millisecond each'),
    tune('fuse.rounds',       value=2,      because='times that choices near a slow kernel are gone through: what is stored decides which there are'),
    tune('fuse.neighbours',   value=8,      because='later kernels of the same size with which one may become one beside each other: each try is priced'),
    tune('fuse.positions',    value=4,      because='of one value in a kernel: one that is needed at more is counted, as if each had no place'),
    tune('fuse.readers',      value=64,     because='kernels that need a value and may become one because of it: each is held against all others'),
    tune('fuse.look',         value=32,     because='operations between a value and the reduction of whose results it is made: rows need few'),
    tune('fuse.walk',         value=1 << 15, because='values in memory of a walk that sees for what a kernel waits: a longer one says that it waits for all'),
    tune('fuse.vector',       value=8,      because='elements side by side of one thread, which computes once what they share'),
    tune('fuse.products',     value=2,      because='times what reads it that a library call may take, for one kernel to be priced: tiles take twice as long'),
    tune('fuse.wait',         value=160,     because='clocks of an operation that others wait for, in long code: a load, a call'),
    tune('fuse.leaves',       value=8,      because='values in memory that a kernel reads to compute another again: each load takes a register and time'),
    tune('fuse.cone',         value=256,    because='operations that are looked at to say what computing a value again costs: more are never cheap'),
    tune('fuse.window',       value=2,      because='instructions of a term of a window: the operation, and a step to its place'),
    tune('fuse.again',        value=2,      because='times that terms may take, which few blocks read: another launch reads them as often'),
    tune('range.min_bytes',   value=128,    because='shorter contiguous stretches of an operand would fill cache lines in pieces'),
    tune('loop.narrow',       value=8,        because='bytes of an access of a thread that has rows of windows in place of a wide vector'),
    tune('loop.windows',      value=1 << 17, off=0, because='bytes of rows that blocks of an SM have at once: L1 still has what is beside a vector'),
]
