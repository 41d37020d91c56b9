"""Strategies: the ways in which a fusion may become kernels, in the order in which they are tried.

Of the rows at 'fusion' the first that is possible makes the base. Each further one that is possible, and states save=, is priced; the cheapest takes the place
of the base if it saves `save=` percent of its time (0: more than a tie), or takes as long with less than `fewer=` percent of its issue slots; of equal ones the
first. It is not tried where its launches (`launches=` at least) and bytes alone take longer than it may. tested= says why a row has no such price, and what
its own test is: it takes the place of the base where that holds. A strategy that cuts a fusion plans its parts alike; first= and parts= are strategies that its
first part, and each part, does not try. Rows at 'text' write a text anew, each on what those before it left; those at 'module' make one several.
needed= says why a row cannot be left out: `--disable strategies.py:LINE` leaves out any other one, and each fusion still compiles; `--explain` lists what was
tried. rival=True: it is made of the base, and is none. The row's name is that of its C function: plan_make_NAME of src/plan.
"""
from gen.lang import *

PLANS = [                                       # the first that is possible; prices of scatters, sorts and steps know too little of folds to be compared
    strategy('steps.before', launches=2, because='what the few threads of a loop read step by step is in memory before: others make it sooner'),
    strategy('steps.after',  launches=2, because='the results of a loop\'s iterations are in memory before the rest, which has more threads'),
    strategy('across',       launches=2, because='rows and columns of one array: the kernel of the rows sums columns of its own rows; one read'),
    strategy('sums',         because='the part of such a plan that reduces rows: across alone asks for it'),
    strategy('order',        launches=2, needed='beside a sort no kernel has what other threads need of it', because='a sort or scan needed elsewhere'),
    strategy('scatter.apart', launches=2, because='a scatter whose result is folded by more terms than a thread takes: beside it threads share none'),
    strategy('attention',    because='two products of matrices, and rows that are weighed between them: what lies between stays on chip'),
    strategy('product',      because='tensor cores add the products of a dot of f16 or bf16, with what comes before and after it'),
    strategy('product.apart', launches=2, because='a product whose results are needed in another way: in memory, where the next kernel has them'),
    strategy('share',        because='threads share the terms of reductions, in a kernel or several: each term is read once'),
    strategy('window',       save=10, launches=2, because='windows that hold an element of many outputs: a loop over these would reduce each again'),
    strategy('reductions',   save=10, launches=2, first=('reductions', 'short', 'sides'), because='no kernel shares them: in memory'),
    strategy('share.alone',  save=10, because='as share, but each thread folds the long reductions of other shapes by itself'),
    strategy('scatter',      needed='nothing else combines updates', because='a thread for each update, or a block with cells'),
    strategy('sort',         needed='nothing else sorts', because='blocks sort tiles, and merge them'),
    strategy('scan',         because='threads share what is before their elements'),
    strategy('steps',        because='a thread stores the results of a loop step by step'),
    strategy('loop',         save=10, needed='what nothing else computes', because='a thread computes all that its elements need'),
]
RIVALS = [                                      # where they take less time than that
    strategy('tile.results', save=0, rival=True, because='results of few terms, stored in another order than these are read: they go through a tile'),
    strategy('loop.few',     tested='its clocks against those of telling', rival=True, because='few elements of few terms: a thread has them all sooner'),
    strategy('short',        save=10, launches=2, first=('reductions',), parts=('short', 'sides'), rival=True, because='results of few terms in memory'),
    strategy('rows',         save=10, launches=2, rival=True, because='few long rows: launches that fill the machine, in place of one that does not'),
    strategy('sides',        save=10, launches=2, full_rates=True, parts=('short', 'sides'), rival=True, because='outputs in another order than terms'),
    strategy('exchange',     save=0, fewer=45, rival=True, because='values are read in one order and stored in another: through a tile'),
]
TEXTS = [                                       # each on what those before it left, first on a text whose products of matrices are sums of products
    strategy('matrices', at='text', save=0, because='products of matrices as they are: tensor cores add them, with what is around them'),
    strategy('scans',   at='text', save=10, rival=True, because='long scans of few rows, in pieces: a few blocks would take one iteration after the other'),
    strategy('windows', at='text', tested='it has kernels more: loops over windows have no price', rival=True, because='windows of windows'),
    strategy('pieces',  at='text', save=5, rival=True, because='long rows in pieces, read once for two results; others have launches, too'),
    strategy('columns', at='text', save=5, rival=True, because='sums over rows in parts, which the kernel of these rows makes; less is no sure gain'),
]
MODULES = [
    strategy('again', at='module', tested='how often it computes them', rival=True, because='launches compute once what one kernel would again and again'),
    strategy('apart', at='module', save=10, launches=2, rival=True, because='several kernels take less time than the one that could compute it'),
]
EDGES = [                                       # of a module that is cut: where a value lives that others need; tried the other way near slow kernels, too
    strategy('edge.join',  at='edge', tested='the same elements', because='kernels that need the same elements of a value are one, and read it once'),
    strategy('edge.into',  at='edge', tested='its work against memory', because='the one kernel that needs a value computes it: it goes through registers'),
    strategy('edge.again', at='edge', tested='their work against memory', because='each kernel that needs a value computes it: that takes less than memory'),
    strategy('edge.leave', at='edge', tested='bytes', because='a kernel that computes a value leaves it in memory for others: no kernel of its own'),
    strategy('edge.epilogue', at='edge', tested='bytes', because='a library adds what follows a product of f32 to its sums before it stores them'),
    strategy('edge.loop',  at='edge', save=10, because='threads run a counted loop, whose state they hold: no launches for each iteration'),
    strategy('edge.beside', at='edge', save=2, because='kernels of the same space, of which none waits for the other, are one: a launch less'),
    strategy('edge.small',  at='edge', save=5, because='a kernel hardly longer than a launch is part of one that it shares a value with, of any space'),
]
STRATEGIES = PLANS + RIVALS + TEXTS + MODULES + EDGES

TUNE = [                                        # numbers by which they find out whether they are possible
    tune('cut.times',       value=8,       because='times the least work, of which more is no detail any more'),
    tune('cut.terms',       value=1 << 21, because='loads that L2 serves in the time of another launch'),
    tune('cut.longest',     value=512, upto='cut.terms', because='terms of one thread, whose loads take as long as another launch'),
    tune('cut.term',        value=26,      because='clocks for each term that one thread folds: 33 of rows, 25 of columns, of 128 to 512 terms'),
    tune('cut.windows',     value=2,       because='times that an element of a window is computed, from which it is computed again'),
    tune('cut.once',        value=3,       because='combinations for an element of a window or a result, where results of parts of windows are kept'),
    tune('share.kernels',   value=8,       because='reductions from which kernels of a fusion are made, each with outputs of its own'),
    tune('scan.cut',        value=64,      because='writing shorter scans for another kernel to read takes longer than adding them up again'),
    tune('scan.piece',      value=64,      because='shorter pieces of a scan have more of what is before them than of their own; else price decides'),
    tune('scan.blocks',     value=2,       because='of an SM, of pieces of a scan: one computes while the other one loads'),
    tune('across.blocks',   value=8,       because='of an SM whose rows are summed up by columns, at most: each leaves a row of sums'),
    tune('across.busy',     value=75, off=0, most=100, because='percent of the SMs that the most blocks of a split would have: with fewer the others are idle'),
    tune('rows.piece', value=1 << 14, power=True, least=32, most=1 << 24, because='elements of a piece of a row: a block holds them, read for two results'),
    tune('rows.least', value=1 << 11, power=True, least=32, most=1 << 24, upto='rows.piece', because='elements of a piece, which has results in memory'),
    tune('rows.long',       value=1 << 12, because='terms of a row, of which the bounds of a sum in any order are far wider than what pieces round'),
    tune('rows.launches',   value=2, off=0, because='times a launch that rows must take, of which another launch is a part'),
    tune('product.threads', value=256, power=True, most=1024, because='threads of a block: its warps meet in L1, and more of them leave at the same time'),
    tune('product.shared', value=96 << 10, off=0, most=96 << 10, because='bytes of shared memory for operands that all warps of a block read; else lanes do'),
    tune('product.blocks',  value=4, off=0, most=8, because='blocks of an SM, at most, where several share results: each has a part of the products'),
    tune('product.direct',  value=8, off=0, most=8, because='warps that share results, at most, of lanes that read memory; without it operands are tiles'),
    tune('rows.side',       value=32, power=True, most=1024, because='columns side by side in a piece: runs of 128 bytes of f32'),
    tune('attention.within', value=128, off=1 << 30, because='columns from which on a row\'s sum of exponentials may have any base: src/plan/products.md'),
    tune('product.rows', value=4, off=0, most=8, because='reductions of rows of results, at most, that the kernel of the product has: lanes hold their terms'),
    tune('product.regs',    value=40, off=0, most=255, because='registers of a thread beside tiles: indices and addresses'),
    tune('attention.regs',  value=48, off=0, most=255, because='the same, a fragment of the right matrix, and values on their way'),
    tune('product.spare',   value=15, off=0, most=255, because='registers that ptxas takes beside what is counted'),
    tune('product.slots',   value=12, off=0, because='issue slots of an iteration beside its loads and products: a counter, addresses, a branch'),
    tune('product.ring',    value=8, off=0,  because='issue slots of an iteration of tiles: the barrier of their ring, and its place'),
    tune('product.copy',    value=3, off=0,  because='issue slots of a copy to shared memory, with its addresses'),
    tune('product.chain',   value=8, off=0,  because='steps of an iteration that follow each other beside loads and products'),
    tune('product.parts',   value=8, off=0,  because='clocks of a sum of another warp that a lane takes from shared memory, and adds'),
    tune('product.row_slots', value=4, off=0, because='issue slots of a statistic of a row, beside those for each warp that has a part of it'),
    tune('product.row_chain', value=4, off=0, because='steps that follow each other until four lanes have combined a statistic of a row'),
    tune('product.work',    value=1 << 10,   because='operations on an element of an operand, at most: of more nobody knows how many run'),
    tune('attention.slots', value=24, off=0, because='issue slots of a tile of columns: the barrier of the ring, and its indices'),
    tune('attention.result', value=12, off=0, because='issue slots of a result: its place, and the store'),
    tune('attention.chain', value=24, off=0, because='steps that follow each other for a tile of scores, beside products and fragments'),
    tune('sort.heads',      value=4,         because='rows of the first few elements that a block sorts together, at least'),
    tune('share.paths',     value=8,         because='values below an output that are held against the terms of a reduction: the first ones that threads have'),
]
