"""The names of `tune(..)`: what plans ask for, and between which values each number is a plan at all. Beyond them kernels race, launches fail, or the
planner divides by 0. src/plan, src/pipe and src/fuse say how each is used; tests/gen/test_rows.py compares this list with the names that they ask for.

    fault("loop.block", 100)      "100: a power of two from 32 to 1024 is expected"
"""
from __future__ import annotations

from typing import Dict, NamedTuple, Tuple


class Range(NamedTuple):
    kind: str  # power: of two; set: a sum of powers of two, its members; "": any number
    low: int
    high: int


KiB, MANY = 1024, 1 << 40
GROUPS: Tuple[Tuple[str, int, int, str], ...] = (
    ("power", 32, 1024, "loop.block"),
    ("power", 1, 64, "loop.unroll loop.coarsening loop.max_row loop.block_factor layout.start.warps layout.start.registers layout.registers.whole"),
    ("power", 1, 8, "layout.cluster"),
    ("power", 1, 4096, "layout.base"),
    ("power", 64, 8192, "sort.elements sort.merged"),
    ("power", 1, 1024, "rows.side product.threads"),
    ("power", 32, 1 << 24, "rows.piece rows.least"),
    ("set", 1, 63, "layout.warps layout.reduced_warps layout.registers layout.kept_registers layout.blocks layout.vectors exchange.warps exchange.pads"),
    ("set", 8, 1023, "exchange.runs"), ("set", 0, 1023, "exchange.runs.bytes"),
    ("", 1, 48 * KiB, "layout.max_shared exchange.max_tile"), ("", 0, 48 * KiB, "cells.bytes"), ("", 1, 32764, "parameter.bytes"),
    ("", 0, 96 * KiB, "product.shared"), ("", 0, 8, "product.direct product.blocks product.rows"),
    ("", 1, 64, "layout.beam layout.repeated_registers scatter.run scatter.at_once loop.rows sort.rows cells.registers loop.max_accesses fuse.roots"),
    ("", 0, 64, "layout.rows_read"),
    # percent and per mille
    ("", 1, 100, "layout.most_registers layout.run.32 layout.run.64 layout.run.128 layout.warp_run.32 layout.warp_run.64 layout.warp_run.128 "
                 "layout.warp_run.256 layout.warp_run.512"),
    ("", 0, 100, "across.busy layout.min_share layout.parts layout.few_warps layout.few_blocks layout.again "
                 "fuse.tie fuse.save fuse.worth branch.large"),
    ("", 1, 1000, "layout.part.l2 layout.part.issue layout.part.pipe layout.part.code layout.part.tail"),
    ("", 0, 1000, "loop.rows_over loop.registers layout.tie layout.tie.plain exchange.guard"),
    ("", 100, 10000, "layout.padding layout.padding.small parts.times"),
    ("", 0, 255, "branch.registers layout.regs.base"),  # of a thread
    # amounts: of work, code, memory, clocks
    ("", 1, MANY, "loop.coarse_work loop.coarse_bytes loop.few_blocks loop.max_body loop.max_bytes loop.max_iterations loop.min_threads work.function "
                  "work.by_constant work.chain work.look work.apart call.min_nodes call.budget call.nodes constant.selects branch.spilled branch.apart "
                  "select.max_nodes select.few_warps reduce.max_per_output reduce.max_total reduce.max_nodes reduce.straight reduce.unroll cut.times "
                  "cut.terms cut.longest cut.term scan.straight scan.cut scan.piece across.blocks rows.long scatter.gain scatter.flush scatter.code "
                  "scatter.many cells.gain cells.code cells.update sort.exchange sort.word64 sort.word32 sort.round sort.merge sort.merge_warp "
                  "product.max_per_output product.max_total range.max_count range.max_parts range.min_elements range.min_bytes while.straight while.most "
                  "while.apart while.state called.branches called.most steps.operation fuse.members fuse.move fuse.place fuse.loop fuse.block fuse.side "
                  "fuse.wait fuse.tries fuse.leaves fuse.cone layout.min_run layout.max_terms layout.max_code layout.l1_bytes layout.in_flight "
                  "layout.busy_warps layout.repeat layout.regs.once loop.narrow sort.values cut.windows share.kernels scan.blocks sort.place sort.banks "
                  "attention.within cells.own cells.loop fuse.window fuse.again fuse.beside fuse.small fuse.partners "
                  "fuse.rounds fuse.neighbours fuse.positions fuse.readers fuse.look fuse.walk fuse.vector fuse.products"),
    ("", 0, MANY, "branch.most branch.costs rules.few_warps scatter.bytes loop.windows layout.min_bytes layout.small "
                  "layout.rows_of_lanes layout.few_terms layout.slots.access layout.slots.thread layout.slots.iteration layout.slots.mask layout.special "
                  "layout.term layout.cluster.wave layout.fence layout.chain layout.few_bytes layout.code.access layout.code.mask "
                  "layout.code.term layout.code.combine layout.code.shuffle layout.code.store layout.code.carried layout.code.array layout.code.digit "
                  "layout.code.warps layout.code.split layout.code.repeated exchange.odd exchange.mask exchange.address exchange.packed exchange.pixels "
                  "layout.stay layout.ticket layout.short parts.bytes rows.launches apart.few"),
    ("", 2, 4, "price.norm price.norm.together price.norm.apart"),
)
NAMES: Dict[str, Range] = {name: Range(kind, low, high) for kind, low, high, some in GROUPS for name in some.split()}
BY_BITS, BITS = ("loop.unroll",), (64, 32, 16, 8, 4, 2)  # numbers of a type's size, and the sizes
ORDERED = (  # of two numbers the first is no larger
    ("sort.elements", "sort.merged", "blocks that merge have what a block sorts"),
    ("rows.least", "rows.piece", "a piece has so many elements at least"),
    ("layout.reduced_warps", "layout.warps", "warps that share a result are of one block"),
    ("cut.longest", "cut.terms", "one thread's terms are among all"),
    *((f"layout.{run}.{n}", f"layout.{run}.{2 * n}", "longer runs reach as much at least") for run, of in (("run", (32, 64)), ("warp_run", (32, 64, 128, 256)))
      for n in of),
)


def fault(name: str, value: int, off: bool = False) -> str:
    """What is wrong with a value; empty if nothing."""
    r = NAMES[name]
    right = r.low <= value <= r.high and (r.kind != "power" or value & value - 1 == 0)
    kind = {"power": "a power of two", "set": "a sum of powers of two, its members,", "": "a number"}[r.kind]
    high = "2**40" if r.high == MANY else str(r.high)
    return "" if right else f"{'off=' if off else ''}{value}: {kind} from {r.low} to {high} is expected"


__all__ = ["BITS", "BY_BITS", "NAMES", "ORDERED", "fault"]
