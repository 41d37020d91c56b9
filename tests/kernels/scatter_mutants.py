#!/usr/bin/env python3
"""Scatters with one thing wrong each: `run --check` finds every one in some order of execution.

    scatter_mutants.py WARPBURG [--every N]

A mutant changes one line of the PTX of a kernel that combines updates: an atomic operation becomes a load and a store, or one of its block's scope; a
lock does not acquire, or is not given back; a swap is not tried again; a store is no longer one that others may meet; a condition is inverted; what an
atomic sum lost is not added again; lanes of a vector are exchanged or left out. Updates meet in all blocks. What is no fault is listed in EQUAL with its
reason. --every takes every N-th mutant, and each kernel as it is. Ends with `N passed, M failed`.
"""
import argparse
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Dict, Iterator, List, Tuple

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parents[1] / "common")]
from gen import load  # noqa: E402
from mutant_runs import AS_IT_IS, Key, changed_lines, fault, rewritten, summed_up, write_mutant  # noqa: E402
from warpburg_cli import MAIN, Cli  # noqa: E402

ORDERS = ("forward", "reverse", "shuffle:1", "shuffle:2")
CASES = (("s", 0), ("n", 0), ("p", 1))  # and seeds
DIMS = "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1"


def single(t: str, combiner: str, updates: str = "u = T[128] parameter(1)", operand: str = "x = T[4] parameter(0)") -> str:
    """128 updates, in four blocks, of 4 elements; some indices are beyond them."""
    body, updates, operand = (re.sub(r"\bT\b", t, text) for text in (combiner, updates, operand))
    return f"""HloModule m
combine {{
  a = {t}[] parameter(0)
  b = {t}[] parameter(1)
  {body}
}}
ENTRY e {{
  {operand}
  {updates}
  n = s32[128,1] iota(), iota_dimension=0
  c = s32[] constant(5)
  d = s32[128,1] broadcast(c), dimensions={{}}
  at = s32[128,1] remainder(n, d)
  ROOT y = {t}[4] scatter(x, at, u), {DIMS}, to_apply=combine
}}
"""


def rows(t: str, width: int, of: int, *how: str) -> str:
    """As many updates of rows, which are so wide and of so many elements."""
    return single(t, "ROOT s = T[] add(a, b)", *how).replace(f"{t}[4]", f"{t}[4,{of}]").replace(f"{t}[128]", f"{t}[128,{width}]").replace(
        "update_window_dims={}", "update_window_dims={1}")


PAIR = f"""HloModule m
larger {{
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  gt = pred[] compare(b, a), direction=GT
  eq = pred[] compare(b, a), direction=EQ
  lt = pred[] compare(j, i), direction=LT
  tie = pred[] and(eq, lt)
  take = pred[] or(gt, tie)
  c = f32[] select(take, b, a)
  k = s32[] select(take, j, i)
  ROOT r = (f32[], s32[]) tuple(c, k)
}}
ENTRY e {{
  x = f32[4] parameter(0)
  i = s32[4] parameter(1)
  u = f32[128] parameter(2)
  j = s32[128] parameter(3)
  n = s32[128,1] iota(), iota_dimension=0
  c = s32[] constant(5)
  d = s32[128,1] broadcast(c), dimensions={{}}
  at = s32[128,1] remainder(n, d)
  ROOT y = (f32[4], s32[4]) scatter(x, i, at, u, j), {DIMS}, to_apply=larger
}}
"""
# updates whose sums are subnormal, of normal and subnormal terms
TINY = """t = f32[3] constant({3e-40, 2e-38, -1.99e-38})
  t0 = f32[43,3] broadcast(t), dimensions={1}
  t1 = f32[129] reshape(t0)
  u = f32[128] slice(t1), slice={[0:128]}"""


def in_order(text: str) -> str:
    """Neighbours have the same element."""
    text = text.replace("remainder(n, d)", "divide(n, d)").replace("=combine", "=combine, indices_are_sorted=true")
    return re.sub(r"\[4([],])", r"[24\1", text)


KERNELS = {
    "sums": single("f32", "ROOT s = T[] add(a, b)"),
    "tiny": single("f32", "ROOT s = T[] add(a, b)", TINY, "w = T[] constant(0)\n  x = T[4] broadcast(w), dimensions={}"),
    "integers": single("s32", "ROOT s = T[] add(a, b)"),
    "largest": single("f32", "ROOT s = T[] maximum(a, b)"),
    "below": single("f32", "ROOT s = T[] maximum(a, b)", "v = T[128] parameter(0)\n  p = T[128] abs(v)\n  u = T[128] negate(p)",
                    "w = T[4] constant({9e9, 8e9, 7e9, 6e9})\n  x = T[4] negate(w)"),
    "nans": single("f32", "ROOT s = T[] maximum(a, b)", "u = T[128] parameter(0)", "w = T[4] constant({nan, 1, nan, -2})\n  x = T[4] negate(w)"),
    "swaps": single("s32", "c = T[] add(b, b)\n  ROOT s = T[] xor(a, c)"),
    "differences": single("f32", "ROOT s = T[] subtract(a, b)"),
    "small swaps": single("s8", "ROOT s = T[] add(a, b)"),
    "swaps of 16 bytes": single("c128", "ROOT s = T[] multiply(a, b)"),
    "one stays": single("s32", "ROOT s = T[] copy(b)"),
    "quads": rows("f32", 4, 4),
    "eights": rows("bf16", 8, 8),
    "halves": rows("f16", 1, 2, "u = T[128] parameter(0)", "w = T[] constant(-0)\n  x = T[4] broadcast(w), dimensions={}"),    # the other half gets -0
    "locks": PAIR,
    "cells": rows("f32", 4, 4),     # of one thread each
    "cells of halves": rows("f16", 4, 4),
    "shared cells": single("s32", "ROOT s = T[] add(a, b)").replace("[4]", "[4000]").replace("constant(5)", "constant(41)"),
    "largest in cells": single("f32", "ROOT s = T[] maximum(a, b)"),
    "neighbours": in_order(single("s32", "ROOT s = T[] add(a, b)")).replace("128", "130"),  # the last thread has two of 16
    "neighbouring rows": in_order(rows("f32", 4, 4)),
    "runs": single("f32", "ROOT s = T[] add(a, b)"),    # with --deterministic: the kernel after the sort, and after that of the operand
}

# layouts with iterations: blocks combine their updates in cells of shared memory
CELLS = {"cells": "vector 2, lane 32, grid 2, register 2, loop 2", "cells of halves": "lane 32, warp 2, grid 2, loop 4",
         "shared cells": "lane 32, grid 2, loop 2", "largest in cells": "lane 32, grid 2, loop 2"}
# kind of mutant: what a line must match, and what replaces the match
KINDS: Dict[str, Tuple[str, str]] = {
    "a load and a store": (r"atom\.global\.(add)\.(\w+)\s+(\S+), \[(\S+)\], ([^;]+);", r"ld.global.\2 \3, [\4]; \1.\2 \3, \3, \5; st.global.\2 [\4], \3;"),
    "strong loads and stores": (r"atom\.global\.(add|min|max)\.(\w+)\s+(\S+), \[(\S+)\], ([^;]+);",
                                r"ld.relaxed.gpu.global.\2 \3, [\4]; \1.\2 \3, \3, \5; st.relaxed.gpu.global.\2 [\4], \3;"),
    "the block's scope": (r"atom\.global\.(add|min|max|exch|cas)", r"atom.relaxed.cta.global.\1"),
    "a swap of the block's scope": (r"atom\.relaxed\.gpu\.global\.cas", "atom.relaxed.cta.global.cas"),
    "a lock that does not acquire": (r"atom\.acquire\.gpu", "atom.relaxed.gpu"),
    "a lock that does not release": (r"atom\.release\.gpu", "atom.relaxed.gpu"),
    "a lock of the block's scope": (r"atom\.(acquire|release)\.gpu", r"atom.\1.cta"),
    "a weak read": (r"ld\.relaxed\.gpu", "ld"),
    "a weak store": (r"st\.relaxed\.gpu", "st"),
    "a store of the block's scope": (r"st\.relaxed\.gpu", "st.relaxed.cta"),
    "the condition inverted": (r"^\s*setp\.\w+", "invert"),
    "the branch inverted": (r"^\s*@!?%p", "branch"),
    "no store": (r"^\s*st\.", "\t// st."),
    "two lanes exchanged": (r"\], \{(%\w+), (%\w+)", r"], {\2, \1"),
    "half of the lanes": (r"\.v4\.(\S+)(\s+)\{(%\w+, %\w+), [^}]+\}, (\S+), \{(%\w+, %\w+), [^}]+\}", r".v2.\1\2{\3}, \4, {\5}"),
    "the other half": (r"selp\.b16(\s+\S+) ([^,]+), ([^,]+),", r"selp.b16\1 \3, \2,"),
    "a zero that is not negative": (r"(selp\.b16.*|mov\.b16.*)(0x8000|-32768)", r"\g<1>0"),
    "no atomic operation": (r"^\s*atom\.(global|shared)\.(add|min|max|exch)", r"\t// atom.\1.\2"),
    "no barrier": (r"bar\.sync", "// bar.sync"),
    "a load and a store of shared memory": (r"atom\.shared\.(add)\.(\w+)\s+(\S+), \[(\S+)\], ([^;]+);",
                                            r"ld.shared.\2 \3, [\4]; \1.\2 \3, \3, \5; st.shared.\2 [\4], \3;"),
    "a sum for a difference": (r"\bsub\.rn\.f32", "add.rn.f32"),
    "no shuffle": (r"shfl\.sync\.bfly\.b32(\s+\S+, )(%\w+), \w+, ", r"shfl.sync.bfly.b32\1\2, 0, "),
}
OF_CELLS = ("no barrier", "a load and a store of shared memory", "no shuffle", "the condition inverted", "the branch inverted", "no store")
OF_RUNS = ("the condition inverted", "the branch inverted", "two lanes exchanged", "no atomic operation")   # two threads meet at few of their elements
# kernel, kind, number of the line among those of its kind: why the kernel is right all the same
ALONE = "one block has all updates"
EQUAL: Dict[Key, str] = {
    ("tiny", "the block's scope", 0): ALONE,
    ("tiny", "the block's scope", 1): ALONE,
    **{("below", "the block's scope", k): ALONE for k in range(3)},
    **{("below", "the condition inverted", k): "what is there at first is below every update" for k in range(3)},
    **{("below", kind, k): "no update is positive or a nan" for kind, k in
       (("the condition inverted", 6), ("no atomic operation", 1), ("no atomic operation", 2), ("strong loads and stores", 1))},
    ("nans", "the block's scope", 0): ALONE,
    ("nans", "the block's scope", 1): ALONE,
    ("nans", "the block's scope", 2): ALONE,
    ("halves", "the block's scope", 0): ALONE,
    ("largest", "the block's scope", 2): "no nan of the other sign is in memory",
    ("largest", "no atomic operation", 2): "no nan of the other sign is in memory",
    **{(kernel, "the condition inverted", k): "of negative updates none is the largest" for kernel, k in
       (("largest", 5), ("nans", 8), ("largest in cells", 9))},
    ("largest in cells", "the branch inverted", 3): "another of the lanes that have read the cells does the same",
    ("largest in cells", "the condition inverted", 4): "another of the lanes that have read the cells does the same",
    ("one stays", "the condition inverted", 0): "elements that keep what was there: it lies between the updates, any of which may stay",
}


def change(kind: str, line: str) -> str:
    pattern, to = KINDS[kind]
    return rewritten(line, pattern, to).replace("exch.b32 add", "exch.b32")


def mutants(kernel: str, text: str) -> Iterator[Tuple[Key, str]]:
    lines = text.splitlines()
    last = max(k for k, line in enumerate(lines) if ".entry" in line) if kernel == "runs" else 0
    some = OF_RUNS if kernel.startswith("neighbour") else OF_CELLS if kernel in CELLS else KINDS
    kinds = {kind: KINDS[kind] for kind in KINDS if kind in some}
    return changed_lines(kernel, text, kinds, change, last)


def main() -> int:
    p = argparse.ArgumentParser()
    p.add_argument("warpburg")
    p.add_argument("--every", type=int, default=1)
    o = p.parse_args()
    cli = Cli(os.path.abspath(o.warpburg))
    with tempfile.TemporaryDirectory() as name:
        jobs: List[Tuple[Key, Path]] = []
        for kernel, hlo in KERNELS.items():
            stem = kernel.replace(" ", "_")
            file, first = Path(name, f"{stem}.hlo"), Path(name, stem)
            file.write_text(hlo, encoding="utf-8")
            how = ("--accuracy", "xla") if kernel in ("sums", "quads", "neighbouring rows", "cells") else ()  # of the others, "tiny" has all that "exact" adds
            if kernel in ("neighbours", "neighbouring rows"):
                layout = "vector 4, lane 4, grid 4" if "rows" in kernel else "lane 3, grid 3"
                how = (*how, "--disable", load.place_of("scatter.gain", MAIN), "--layout", f"elements: {layout}")  # the longest runs
            elif kernel in CELLS:
                how = (*how, "--layout", f"elements: {CELLS[kernel]}")
            elif kernel == "runs":
                how = ("--deterministic",)
            elif kernel not in ("tiny", "below", "nans", "halves"):   # which have a launch more
                vector = {"quads": "vector 4, ", "eights": "vector 8, "}.get(kernel, "")
                how = (*how, "--layout", f"elements: {vector}lane 32, grid 4")
            compiled = cli.call("compile", str(file), *how, "-o", str(first))
            if compiled.returncode:
                print(f"{kernel}: {compiled.stderr}")
                return 1
            text = (first / "kernel.ptx").read_text(encoding="utf-8")
            for key, changed in [((kernel, AS_IT_IS, 0), text), *list(mutants(kernel, text))[::o.every]]:
                jobs.append((key, write_mutant(first, Path(name, f"{stem}.{len(jobs)}"), changed)))

        def judge(job: Tuple[Key, Path]) -> str:
            key, folder = job
            return fault(cli, folder, key[1] == AS_IT_IS or key in EQUAL, ((*case, order) for case in CASES for order in ORDERS))

        keys = [key for key, _ in jobs]
        excused = {key: why for key, why in EQUAL.items() if o.every == 1 or key in keys}
        return summed_up(keys, cli.each(judge, jobs), excused, len(KERNELS))


if __name__ == "__main__":
    sys.exit(main())
