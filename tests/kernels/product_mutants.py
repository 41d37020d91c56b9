#!/usr/bin/env python3
"""Kernels whose tensor cores add products, with one thing wrong each: `run --check` finds every one in some order of execution.

    product_mutants.py WARPBURG [--every N]

A mutant changes one instruction of the PTX, as ptx_mutants.py does, or takes out a barrier, an mma, an asynchronous copy, the commit or the wait of a group
of these, or lets a group more be under way, or exchanges two registers of one operand of an mma, or of what ldmatrix reads, or turns that, or lets copies
begin before the barrier behind which their place is free. What is not found must be listed in EQUAL with its reason, and each row there must excuse a
mutant. --every N tries each Nth mutant of ptx_mutants.py. Ends with `N passed, M failed`.
"""
import re
import sys
from pathlib import Path
from typing import Dict, Iterator, List, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
from exchange_mutants import ORDERS, RUNS  # noqa: E402
from mutant_runs import of_instructions, run_mutants  # noqa: E402

TEXT = """HloModule m
f {{
  a = {left} parameter(0)
  b = {right} parameter(1)
  c = f32[{columns}] parameter(2)
  d = f32[{result}] dot(a, b), {how}
  e = f32[{result}] broadcast(c), dimensions={{{last}}}
  ROOT r = f32[{result}] add(d, e)
}}
ENTRY e {{
  a = {left} parameter(0)
  b = {right} parameter(1)
  c = f32[{columns}] parameter(2)
  ROOT y = f32[{result}] fusion(a, b, c), kind=kCustom, calls=f
}}
"""

COMBINERS = """max { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT m = f32[] maximum(x, y) }
add { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT m = f32[] add(x, y) }"""


def text(left: str, right: str, result: str, how: str) -> str:
    sizes = result.split(",")
    return TEXT.format(left=left, right=right, result=result, columns=sizes[-1], last=len(sizes) - 1, how=how)


KERNELS: Dict[str, str] = {
    "whole": text("bf16[64,96]", "bf16[96,64]", "64,64", "lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
    "rows": text("f16[96,64]", "f16[64,96]", "64,64", "lhs_contracting_dims={0}, rhs_contracting_dims={1}"),
    "depth": text("bf16[16,2048]", "bf16[24,2048]", "16,24", "lhs_contracting_dims={1}, rhs_contracting_dims={1}"),
    "partial": text("bf16[2,37,50]", "bf16[2,50,29]", "2,37,29", "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}"),
}
# operands go through shared memory: by copies, in lines along the products and along rows and columns, which fill each place again; and as values, of
# sizes that no copy takes
TILES: Dict[str, str] = {
    "copies": text("bf16[32,2048]", "bf16[2048,32]", "32,32", "lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
    "turned": text("f16[380,48]", "f16[380,40]", "48,40", "lhs_contracting_dims={0}, rhs_contracting_dims={0}"),
    "values": text("bf16[36,124]", "bf16[124,44]", "36,44", "lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
}
# statistics of rows: lanes and warps combine them, for all elements; and blocks, of which the last one stores them
ROWS: Dict[str, str] = {
    "warps": f"""HloModule m
{COMBINERS}
f {{
  a = f16[40,64] parameter(0)
  b = f16[64,64] parameter(1)
  d = f32[40,64] dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  least = f32[] constant(-inf)
  top = f32[40] reduce(d, least), dimensions={{1}}, to_apply=max
  tops = f32[40,64] broadcast(top), dimensions={{0}}
  x = f32[40,64] subtract(d, tops)
  e = f32[40,64] abs(x)
  zero = f32[] constant(0)
  l = f32[40] reduce(e, zero), dimensions={{1}}, to_apply=add
  ls = f32[40,64] broadcast(l), dimensions={{0}}
  ROOT r = f32[40,64] subtract(x, ls)
}}
ENTRY e {{
  a = f16[40,64] parameter(0)
  b = f16[64,64] parameter(1)
  ROOT y = f32[40,64] fusion(a, b), kind=kCustom, calls=f
}}
""",
    "blocks": f"""HloModule m
{COMBINERS}
f {{
  a = bf16[20,64] parameter(0)
  b = bf16[64,328] parameter(1)
  d = f32[20,328] dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  s = f32[20,328] abs(d)
  zero = f32[] constant(0)
  ROOT l = f32[20] reduce(s, zero), dimensions={{1}}, to_apply=add
}}
ENTRY e {{
  a = bf16[20,64] parameter(0)
  b = bf16[64,328] parameter(1)
  ROOT y = f32[20] fusion(a, b), kind=kCustom, calls=f
}}
""",
}

# kernel, kind, the changed instruction as ptx_mutants.py writes it without numbers of registers, as patterns: why the kernel is right all the same
EQUAL: Dict[Tuple[str, str, str], str] = {
    ("*", "*", "mov.b32 %r, 0 -> mov.b32 %r, 1"): "the least subnormal in place of 0",
    ("*", "constant", "mov.b16 %rs, 0 -> mov.b16 %rs, 60"): "beyond the end products of two numbers next to 0 in place of 0",
    ("rows", "term skipped", "and.b32 %r, %r, 31 -> mov.b32 %r, %r"): "only 32 threads get there",
    ("depth", "term skipped", "and.b32 %r, %r, 31 -> mov.b32 %r, %r"): "only 32 threads get there",
    ("depth", "mask", "setp.eq.b32 %p, %r, 0 -> setp.eq.b32 %p, %r, 1"): "the second thread draws",
    ("depth", "mask", "setp.ge.s32 %p, %r, 32 -> setp.ge.s32 %p, %r, 31"): "a lane of the first warp stores where the ticket comes later",
    ("turned", "mask", "setp.ge.s32 %p, %r, 32 -> setp.ge.s32 %p, %r, 31"): "lane 31 stores in a place that all have read",
    ("turned", "term skipped", "and.b32 %r, %r, 7 -> mov.b32 %r, %r"): "only 32 threads get there, in groups of four",
    ("turned", "constant", "min.s32 %r, %r, 4 -> min.s32 %r, %r, 5"): "columns beyond the end, which are not stored, are those of the next line",
    ("copies", "combiner", "add.s32 %r, %r, %r -> sub.s32 %r, %r, %r"): "of the two groups of a line of 16 the other one, either way",
    ("copies", "term skipped", "add.s32 %r, %r, 65536 -> mov.b32 %r, %r"): "sums of other warps in a place that all warps have read",
    ("copies", "constant", "add.s32 %r, %r, 65536 -> add.s32 %r, %r, 49152"): "the same",
    ("values", "combiner", "add.s32 %r, %r, 2 -> sub.s32 %r, %r, 2"): "of the four groups of a line the second next, either way",
    ("values", "term doubled", "add.s32 %r, %r, %r -> add.s32 %r, %r, %r; add.s32 %r, %r, %r"): "tiles 0, 2, 2, 4, of which the last is beyond the end",
    ("values", "*", "mul.lo.s32 %r, %r, 704 -> *"): "of rows 8 later only the first blocks' are stored, whose number is 0",
    ("depth", "term skipped", "add.rn.f32 %r, %r, %r -> mov.b32 %r, %r"): "the bias, which is less than the bounds of a sum of 2048 products",
    ("copies", "term skipped", "add.rn.f32 %r, %r, %r -> mov.b32 %r, %r"): "the bias, which is less than the bounds of a sum of 2048 products",
    ("*", "constant", "shfl.sync.bfly.b32 %r, %r, 2, 31, -1 -> shfl.sync.bfly.b32 %r, %r, 3, 31, -1"): "the other two lanes have the same after the first step",
    ("blocks", "predicate", "@!%p bra $L__BB0_1 -> @%p bra $L__BB0_1"): "the other lanes of a row store the same",
    ("blocks", "comparison", "setp.eq.b32 %p, %r, 0 -> setp.ne.b32 %p, %r, 0"): "the other lanes of a row store the same",
    ("blocks", "initial value", "mov.b32 %r, -2147483648 -> mov.b32 %r, -1610612736"): "1e-19 in place of 0",
    ("blocks", "two of result exchanged", "0 of mma 3"): "columns of a row after the last mma, in another order, of which the sum is the same",
    ("blocks", "two of result exchanged", "2 of mma 3"): "the same of the other row",
    ("blocks", "loop bound", "setp.le.s32 %p, %r, 5 -> setp.le.s32 %p, %r, 6"): "a round in which no lane has a block",
    ("blocks", "mask", "setp.eq.b32 %p, %r, 0 -> setp.eq.b32 %p, %r, 1"): "the second lane of a row stores the same, or the second thread draws",
    ("warps", "comparison", "setp.eq.b32 %p, %r, 0 -> setp.ne.b32 %p, %r, 0"): "the other lanes of a row store the same",
    ("warps", "predicate", "@!%p bra $L__BB0_1 -> @%p bra $L__BB0_1"): "the other lanes of a row store the same",
    ("warps", "predicate", "@!%p bra $L__BB0_2 -> @%p bra $L__BB0_2"): "the other lanes of a row store the same",
    ("warps", "mask", "setp.eq.b32 %p, %r, 0 -> setp.eq.b32 %p, %r, 1"): "the second lane of a row stores the same",
    ("turned", "combiner", "add.s32 %r, %r, %r -> sub.s32 %r, %r, %r"): "of the two groups of a line of 16 the other one, either way",
    ("turned", "term skipped", "min.s32 %r, %r, 4 -> mov.b32 %r, %r"): "columns beyond the end, which are not stored, are those of the next line",
}
OPERAND = re.compile(r"\{[^}]*\}")
STRATEGIES = Path(__file__).resolve().parents[2] / "patterns/strategies.py"
DIRECT, SHARED = (next(n for n, line in enumerate(STRATEGIES.read_text(encoding="utf-8").split("\n"), 1) if f"'product.{what}'" in line)
                  for what in ("direct", "shared"))


TAKEN_OUT = {"bar.sync": "no barrier", "cp.async.cg": "no copy", "cp.async.commit_group": "no commit", "cp.async.wait_group": "no wait"}


def tile_mutants(lines: List[str], k: int) -> Iterator[Tuple[str, str, str]]:
    """Of a line that brings a tile, or takes a fragment from one."""
    line = lines[k]
    group = re.search(r"(cp\.async\.wait_group\s+)(\d+)", line)
    if group:
        yield "a shorter wait", "", "\n".join([*lines[:k], line.replace(group[0], f"{group[1]}{int(group[2]) + 1}"), *lines[k + 1:]])
    if "ldmatrix" in line:
        other = line.replace(".trans", "") if ".trans" in line else line.replace(".x4.", ".x4.trans.")
        yield "a matrix turned", "", "\n".join([*lines[:k], other, *lines[k + 1:]])
        of = OPERAND.search(line)
        found = of[0].strip("{}").split(", ")  # type: ignore[index]
        for i in range(3):
            swapped = "{" + ", ".join([*found[:i], found[i + 1], found[i], *found[i + 2:]]) + "}"
            yield "two of a read exchanged", str(i), "\n".join([*lines[:k], line.replace(of[0], swapped), *lines[k + 1:]])  # type: ignore[index]
    first = next((n for n in range(k, len(lines)) if "ldmatrix" in lines[n]), 0)
    if "bar.sync" in line and any("cp.async.cg" in x for x in lines[k:first]):
        yield "copies too early", "", "\n".join([*lines[:k], *lines[k + 1:first], line, *lines[first:]])


def mutants(ptx: str, every: int) -> Iterator[Tuple[str, str, str]]:
    """Kind, what is changed, the PTX."""
    lines, number = ptx.splitlines(), -1
    for k, line in enumerate(lines):
        for what, kind in TAKEN_OUT.items():
            if what in line:
                yield kind, "", "\n".join([*lines[:k], *lines[k + 1:]])
        yield from tile_mutants(lines, k)
        if "mma.sync" not in line:
            continue
        number += 1
        operands = list(OPERAND.finditer(line))
        to, own = (re.findall(r"%r\d+|\b0\b", operands[n][0]) for n in (0, 3))
        yield "no mma", "", "\n".join([*lines[:k], *(f"\tmov.b32 {x}, {y};" for x, y in zip(to, own) if x != y), *lines[k + 1:]])
        for n, name in ((0, "result"), (1, "left"), (2, "right"), (3, "sum")):
            found = operands[n][0].strip("{}").split(", ")
            for i in range(len(found) - 1):
                if found[i] == found[i + 1]:
                    continue
                other = ", ".join([*found[:i], found[i + 1], found[i], *found[i + 2:]])
                changed = f"{line[:operands[n].start()]}{{{other}}}{line[operands[n].end():]}"
                yield f"two of {name} exchanged", f"{i} of mma {number}", "\n".join([*lines[:k], changed, *lines[k + 1:]])
    yield from (m for m in of_instructions(ptx, every) if m[0] != "lanes" or "mma.sync" not in m[1])  # these are above


def main() -> int:
    kernels = {kernel: (hlo, ("--disable", f"strategies.py:{DIRECT if kernel in TILES else SHARED}")) for kernel, hlo in {**KERNELS, **TILES, **ROWS}.items()}
    # sums that are exact show what one large term hides; edge values of these seeds end a row, or a column, in an infinity
    runs = [*RUNS, ("s", 0, ORDERS[0]), *(("e", seed, ORDERS[0]) for seed in (2, 10))]
    return run_mutants("kernels whose tensor cores add products, with one thing wrong each", kernels, mutants, runs, EQUAL,
                       "choices\n  text matrices\n  strategy product\n")


if __name__ == "__main__":
    sys.exit(main())
