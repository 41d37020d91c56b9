"""Limits of what is decided before a target is known: how HLO is rewritten, and how a module is cut plainly. gen/limits.py makes an enumerator of each."""
from gen.lang import *

LIMITS = [
    tune('sort.short',          value=4,   because='places of a row that rounds of exchanges sort: a thread may compute all of them for each of its elements'),
    tune('sort.light',          value=8,   because='the same of a light sort, whose eight rounds are few instructions'),
    tune('sort.light.operands', value=2,   because='operands of such a sort: each exchange selects both places of each'),
    tune('sort.light.steps',    value=24,  because='instructions of its comparator, which each exchange computes'),
    tune('window.covers',       value=64,  because='windows that may hold an element: the combination has a copy for each; beyond these a scatter is shorter'),
    tune('window.apart',        value=8,   because='terms of windows that share none, from which on threads share a window: they read it side by side'),
    tune('product.bits',        value=8,   because='bits of an element of a matrix for each result it counts in: threads sum them at the rate of memory'),
    tune('matrix.least',        value=3,   because='rows and columns of a product of f16 or bf16 that has tiles: of fewer it is a sum that threads share'),
    tune('matrix.depth',        value=16,  because='products of such a tile: of fewer most are zeros'),
    tune('matrix.width',        value=256, because='results of a row of a second product in the kernel of the first: a warp has their sums in registers'),
    tune('hoist.bytes',         value=2,   because='bytes that a loop may read, for one of what a fold, gather or function makes them of in each iteration'),
    tune('cut.members',         value=200, because='instructions of a kernel of the plain cut, which asks for no price'),
    tune('cut.constant',        value=64,  because='elements of a constant that is written into kernels: six selects find one (constant.selects)'),
    tune('cut.whole',           value=64,  because='elements of an array of which each thread of a loop may have all'),
    tune('cut.combinations',    value=1 << 14, because='choices of a cut that are all priced: seconds of a small module'),
    tune('loop.nested',         value=8,   because='loops in each other that one thread runs for its element'),
    tune('loop.rounds',         value=4,   because='walks through a loop until its state is where it began: each may move an element once'),
    tune('part.align',          value=128, because='bytes at multiples of which a part of an array begins that a library reads: as the arrays themselves'),
]
