"""Layouts of reductions: which candidates are tried, and the constants of their price that are not rates of the machine.

src/partition/candidates.c and price.c say how each number is used. A set of powers of two is the sum of its members.
off: what `--disable layouts.py:LINE` makes of a number: a set of one member, a limit that is lifted or lets nothing through, a price without that
term. `rules why` and `rules ablate --rule` say what it decides. Numbers without one are facts of machines.
"""
from gen.lang import *

CANDIDATES = [
    tune('layout.vectors',          value=3, off=1,      because='the two widest vectors, and none'),
    tune('layout.min_run',          value=32, off=1,     because='a sector: lanes that read less side by side waste the rest of it, unless a row is shorter'),
    tune('layout.min_share',        value=25, off=0,     because='percent of the bytes of the largest array: of smaller ones it matters little'),
    tune('layout.padding',          value=135, off=100,  because='percent of the elements: a third of the work for nothing'),
    tune('layout.small',            value=1 << 16, off=0, because='elements of a space that is so small that latency decides, and work for nothing does not'),
    tune('layout.padding.small',    value=400, off=100,  because='percent of the elements of a small space: rows of 33 have a warp each'),
    tune('layout.start.warps',      value=8, off=1,      because='a middle number, with which lanes are compared before warps vary'),
    tune('layout.start.registers',  value=4, off=1,      because='a middle number, with which lanes and warps are compared before unrolled terms vary'),
    tune('layout.warps',            value=1 + 2 + 4 + 8 + 16 + 32, off=1, because='of a block, which has 1024 threads at most'),
    tune('layout.reduced_warps',    value=1 + 2 + 4, off=1, because='that share a result, besides all of a block'),
    tune('layout.registers',        value=1 + 2 + 4 + 8 + 16, off=1, because='unrolled terms: 16 loads in flight cover the latency of memory'),
    tune('layout.registers.whole',  value=32, off=1,     because='unrolled terms that leave no loop: one latency of memory instead of several'),
    tune('layout.kept_registers',   value=1 + 2 + 4, off=1, because='results of a thread, where a result has few terms'),
    tune('layout.few_terms',        value=16, off=0,     because='of a thread; with more it has enough loads in flight for one result'),
    tune('layout.blocks',           value=1 + 2 + 4, off=1, because='of an SM, at which a split of the reduced dimensions aims'),
    tune('layout.cluster',          value=8, off=1,      because='blocks of a cluster on every GPU that has clusters; 16 need leave of the driver'),
    tune('layout.beam',             value=6, off=1,      because='candidates that a stage passes to the next'),
    tune('layout.max_terms',        value=64,            because='in straight code, each with a register for its partial result'),
    tune('layout.max_code',         value=2048,          because='instructions of an iteration: compile time, and the instruction cache'),
    tune('layout.most_registers',   value=100, because='percent of what a thread has that the estimate may be: 152 bytes spilled cost a norm a factor of 1.65'),
    tune('layout.max_shared',       value=48 * KiB,      because='static shared memory of a block on every GPU'),
]
PRICE = [                                       # issue slots are instructions of a warp
    tune('layout.slots.access',     value=2, off=0,      because='the access, and half of an address'),
    tune('layout.slots.thread',     value=24, off=0,     because='numbers of block, warp and lane, parameters, the first address'),
    tune('layout.slots.iteration',  value=4, off=0,      because='counter, addresses, comparison, branch'),
    tune('layout.slots.mask',       value=4, off=0,      because='comparison, branch, zero where it is absent, select'),
    tune('layout.special',          value=2, off=0,      because='instructions of the unit of roots and exponentials in a function'),
    tune('layout.term',             value=5, off=0,      because='clocks of a term that one thread loads and adds, one after the other, beside its others'),
    tune('layout.regs.base',        value=24, off=0,     because='addresses, counters, indices of a thread'),
    tune('layout.regs.once',        value=8, off=64,     because='of an array that one pass of several reads: a few elements at a time'),
    tune('layout.run.32',           value=70, off=100,   because='percent of the DRAM rate that runs of 32 bytes reach: pages are opened for parts of them'),
    tune('layout.run.64',           value=85, off=100,   because='percent of the DRAM rate that runs of 64 bytes reach'),
    tune('layout.run.128',          value=97, off=100,   because='percent of the DRAM rate that runs of 128 bytes reach'),
    tune('layout.parts',            value=40, off=0,     because='percent of the DRAM time of a store of parts of sectors, that an H200 takes more'),
    tune('layout.warp_run.32',     value=70, off=100,   because='the same where threads share terms and a warp accesses runs of 32 bytes'),
    tune('layout.warp_run.64',     value=80, off=100,   because='percent of the DRAM rate that runs of 64 bytes reach'),
    tune('layout.warp_run.128',     value=86, off=100,   because='percent of the DRAM rate that runs of 128 bytes reach'),
    tune('layout.warp_run.256',     value=88, off=100,   because='percent of the DRAM rate that runs of 256 bytes reach'),
    tune('layout.warp_run.512',     value=95, off=100,   because='percent of the DRAM rate that runs of 512 bytes reach: as layout.in_flight'),
    tune('layout.base',             value=256, off=1,    because='bytes that divide where arrays begin, by allocators: rows begin at sectors'),
    tune('layout.l1_bytes',         value=64 * KiB,      because='of an SM, at least what its L1 has where shared memory takes the rest'),
    tune('layout.in_flight',        value=18 * KiB,      because='bytes of memory that an SM has on their way: from 919 layouts timed on an H200'),
    tune('layout.cluster.wave',     value=1080, off=0,    because='nanoseconds that clusters lose each time SMs are filled: as layout.in_flight'),
    tune('layout.few_warps',        value=100, off=0,     because='percent that is lost where an SM has next to no warps: as layout.in_flight'),
    tune('layout.busy_warps',       value=9, off=1,     because='warps of an SM that are not few'),
    tune('layout.few_blocks',       value=10, off=0,     because='percent that is lost where an SM has one block at once: as layout.in_flight'),
    tune('layout.cut',              value=10, off=0,     because='percent that several launches must save: prices of loops and reductions are not alike'),
    tune('layout.fence',            value=600, off=0,    because='clocks until the stores of a block are seen by another: the ticket releases them'),
    tune('layout.chain',            value=16, off=0,     because='terms that round one after the other: a sum of 2^24 is within 4 ulp times its condition'),
    tune('layout.few_bytes',        value=1 << 20, off=0, because='bytes that L2 gives in a part of a launch: no note says that fewer would do'),
    tune('layout.tie',              value=30, off=0,     because='per mille: measured times are 20 % from prices, so closer ones are equal'),
    tune('layout.tie.plain',        value=3, off=0,      because='the same of times at full rates, which then decide'),
]
CODE = [                                        # machine instructions of a reduction, fitted to what ptxas made of 1,045 layouts
    tune('layout.code.access',      value=62, off=0,     because='percent of an instruction for an access: others have a part of it as operands'),
    tune('layout.code.mask',        value=156, off=0,    because='percent, of an access that a mask guards'),
    tune('layout.code.term',        value=65, off=0,     because='percent, of an issue slot of terms'),
    tune('layout.code.combine',     value=115, off=0,    because='percent, of an issue slot of combining two results'),
    tune('layout.code.shuffle',     value=100, off=0,     because='percent, of a shuffle of 32 bits'),
    tune('layout.code.store',       value=250, off=0,    because='percent, of a store: its address, a conversion'),
    tune('layout.code.array',       value=4, off=0,      because='address of an array, its parameter'),
    tune('layout.code.reduction',   value=7, off=0,      because='the initial value, a branch'),
    tune('layout.code.warps',       value=14, off=0,     because='shared memory, a barrier, a branch'),
    tune('layout.code.split',       value=25, off=0,     because='a ticket, fences, branches'),
    tune('layout.code.repeated',    value=160, off=0,    because='up to so many instructions ptxas repeats a loop of a known number of iterations'),
]
EXCHANGE = [                                    # through a tile of shared memory
    tune('exchange.runs', value=8 + 16 + 32 + 64 + 128 + 256, off=32, because='elements side by side in the tile: from a sector of f32 to a page of DRAM'),
    tune('exchange.runs.bytes',     value=512, off=0,    because='the same, of elements of a byte or less: blocks of 256 of them begin too slowly'),
    tune('exchange.warps',          value=1 + 2 + 4 + 8 + 16, off=4, because='of a block: tiles beyond 48 KiB would leave an SM with few of them'),
    tune('exchange.odd',            value=8, off=0,      because='registers along a small dimension of odd size: more would leave no room for others'),
    tune('exchange.max_tile',       value=44 * KiB,      because='what static shared memory holds, but for padding'),
    tune('exchange.tie',            value=10, off=0,      because='per mille of the time: of closer ones the one that does less leaves more to other kernels'),
    tune('exchange.slack',          value=50, off=0,     because='nanoseconds beside exchange.tie: a thirtieth of what the smallest kernel takes'),
    tune('exchange.issue',          value=45, off=0,     because='percent of the issue slots of a loop, below which an exchange that takes as long is taken'),
    tune('exchange.mask',           value=7, off=0,      because='issue slots of a mask on a store: comparisons along two dimensions, a branch'),
    tune('exchange.pads',           value=1 + 2 + 4 + 8, off=1, because='accesses after which rows of the tile begin in another bank'),
]
TUNE = CANDIDATES + PRICE + CODE + EXCHANGE
