#!/usr/bin/env python3
"""Reductions whose terms threads share, with layouts written here and random legal ones: each result is what HLO allows.

    shared_reductions.py WARPBURG [--count N] [--seed S] [--every N]

Every fusion of FUSIONS runs under its own layouts and N random ones, under `run --check`, with a target, a case of inputs and an order of
execution that rotate. `--every` N leaves out all but each Nth of the runs of a layout. What is legal is worked out here, from the levels' definitions in
src/plan/reductions.md. Ends with `N passed, M failed`.
"""
import argparse
import os
import random
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
from warpburg_cli import TARGETS, Cli  # noqa: E402

ORDERS = ("forward", "reverse", "shuffle:1", "shuffle:2", "shuffle:3")
Factors = List[Tuple[str, int]]


@dataclass
class Fusion:
    name: str
    text: str
    dims: List[Tuple[str, int, bool]]     # of the space: name, size, whether it is reduced
    in_order: bool = False                # the computation is not known to commute
    layouts: Sequence[str] = ()
    cases: str = "nepst"


def computation(op: str, t: str) -> str:
    return f"c {{\n  a = {t}[] parameter(0)\n  b = {t}[] parameter(1)\n  ROOT r = {t}[] {op}(a, b)\n}}\n"


ARGMAX = """c {{
  v = {t}[] parameter(0)
  i = s32[] parameter(1)
  w = {t}[] parameter(2)
  j = s32[] parameter(3)
  more = pred[] compare(v, w), direction=GT
  nan = pred[] compare(v, v), direction=NE
  keep = pred[] or(more, nan)
  value = {t}[] select(keep, v, w)
  equal = pred[] compare(v, w), direction=EQ
  before = pred[] compare(i, j), direction=LT
  tie = pred[] and(equal, before)
  mine = pred[] or(keep, tie)
  index = s32[] select(mine, i, j)
  ROOT r = ({t}[], s32[]) tuple(value, index)
}}
"""


def text_of(dims: Sequence[int]) -> str:
    return ",".join(map(str, dims))


def space(shape: Sequence[int], reduced: Sequence[int], order: Sequence[int]) -> List[Tuple[str, int, bool]]:
    """Neighbours in memory that are all kept or all reduced are one dimension; those of size 1 are in none."""
    made: List[Tuple[int, bool]] = []
    for d in reversed(order):
        if shape[d] == 1:
            continue
        if made and made[-1][1] == (d in reduced):
            made[-1] = (made[-1][0] * shape[d], made[-1][1])
        else:
            made.append((shape[d], d in reduced))
    made = made or [(1, True)]
    names = ["elements"] if len(made) == 1 else ["rows", "columns"] if len(made) == 2 else [f"d{k}" for k in range(len(made))]
    return [(name, size, is_reduced) for name, (size, is_reduced) in zip(names, made)]


def fusion(name: str, t: str, shape: Sequence[int], reduced: Sequence[int], op: str = "add", order: Sequence[int] = (), init: str = "0",
           body: str = "", layouts: Sequence[str] = (), cases: str = "nepst", fused: bool = False) -> Fusion:
    """`body`: lines that compute x; empty: x is the parameter. fused: within a fusion, so that a reduction of one element stays one."""
    order = order or list(range(len(shape)))[::-1]
    kept = [n for d, n in enumerate(shape) if d not in reduced]
    of = f"{t}[{text_of(shape)}]{{{text_of(order)}}}"
    lines = body.format(of=of) if body else f"  x = {of} parameter(0)\n"
    text = (f"HloModule m\n\n{computation(op, t)}\nENTRY e {{\n{lines}  z = {t}[] constant({init})\n"
            f"  ROOT y = {t}[{text_of(kept)}] reduce(x, z), dimensions={{{text_of(reduced)}}}, to_apply=c\n}}\n")
    if fused:
        text = text.replace("ENTRY e", "f") + (f"\nENTRY e {{\n  x = {of} parameter(0)\n"
                                               f"  ROOT e = {t}[{text_of(kept)}] fusion(x), kind=kInput, calls=f\n}}\n")
    return Fusion(name, text, space(shape, reduced, order), False, layouts, cases)


def argmax(name: str, t: str, shape: Sequence[int], reduced: int, body: str = "", layouts: Sequence[str] = ()) -> Fusion:
    of, order = text_of(shape), list(range(len(shape)))[::-1]
    kept = text_of([n for d, n in enumerate(shape) if d != reduced])
    lines = body.format(of=f"{t}[{of}]") if body else f"  x = {t}[{of}] parameter(0)\n"
    text = (f"HloModule m\n\n{ARGMAX.format(t=t)}\nENTRY e {{\n{lines}  n = s32[{of}] iota(), iota_dimension={reduced}\n"
            f"  z = {t}[] constant(-inf)\n  o = s32[] constant(0)\n"
            f"  ROOT y = ({t}[{kept}], s32[{kept}]) reduce(x, n, z, o), dimensions={{{reduced}}}, to_apply=c\n}}\n")
    return Fusion(name, text, space(shape, [reduced], order), False, layouts)


def affine(shape: Sequence[int], reduced: Sequence[int], layouts: Sequence[str]) -> Fusion:
    """Functions x -> m x + n, one after the other: exact, and every order but one shows."""
    kept, of = text_of([n for d, n in enumerate(shape) if d not in reduced]), f"s32[{text_of(shape)}]"
    names = "\n".join(f"  {name} = s32[] parameter({k})" for k, name in enumerate("mnkl"))
    text = (f"HloModule m\n\nc {{\n{names}\n  mk = s32[] multiply(m, k)\n  nk = s32[] multiply(n, k)\n  s = s32[] add(nk, l)\n"
            f"  ROOT r = (s32[], s32[]) tuple(mk, s)\n}}\n\nENTRY e {{\n  x = {of} parameter(0)\n  y = {of} parameter(1)\n  one = s32[] constant(1)\n"
            f"  zero = s32[] constant(0)\n  ROOT r = (s32[{kept}], s32[{kept}]) reduce(x, y, one, zero), dimensions={{{text_of(reduced)}}}, to_apply=c\n}}\n")
    return Fusion("affine", text, space(shape, reduced, list(range(len(shape)))[::-1]), True, layouts)


PROLOGUE = "  a = {of} parameter(0)\n  b = {of} parameter(1)\n  e = {of} exponential(a)\n  x = {of} multiply(e, b)\n"
GATHER = ("  t = f32[50,96] parameter(0)\n  i = s32[40,1] parameter(1)\n  x = {of} gather(t, i), offset_dims={{1}}, collapsed_slice_dims={{0}}, "
          "start_index_map={{0}}, index_vector_dim=1, slice_sizes={{1,96}}\n")
TRANSPOSE = "  a = f32[96,70] parameter(0)\n  x = {of} transpose(a), dimensions={{1,0}}\n"
# few values, so many ties; not a number where the parameter is large
TIES = ("  a = s32[{dims}] parameter(0)\n  m = s32[] constant(5)\n  mm = s32[{dims}] broadcast(m), dimensions={{{{}}}}\n  r = s32[{dims}] remainder(a, mm)\n"
        "  f = {{of}} convert(r)\n  q = {{of}} sqrt(f)\n  x = {{of}} {last}\n")

FUSIONS = [
    fusion("rows", "f32", [64, 1024], [1], layouts=["rows: grid 64; columns: vector 4, lane 32, warp 2, register 4"]),
    fusion("rows_odd", "f32", [1001, 997], [1], init="2.5", layouts=["rows: grid 1001; columns: lane 32, warp 2, register 16"]),
    fusion("columns", "f32", [8192, 256], [0],
           layouts=["columns: vector 4, lane 8, grid 8; rows: lane 4, warp 8, loop 16, grid 16"]),
    fusion("columns_odd", "f32", [1001, 97], [0], init="-1.5", layouts=["columns: lane 8, grid 13; rows: lane 4, warp 8, loop 4, grid 8"]),
    fusion("all", "f32", [512, 512], [0, 1], layouts=["elements: vector 4, lane 32, warp 8, loop 16, grid 16"]),
    fusion("all_odd", "f32", [101, 97], [0, 1], init="3", layouts=["elements: lane 32, warp 3, register 2, loop 5, grid 11"]),
    fusion("middle", "f32", [6, 35, 48], [1]),
    fusion("outer", "f32", [6, 35, 48], [0, 2], init="0.5"),
    fusion("four", "f32", [3, 20, 7, 16], [1, 3]),
    fusion("one_row", "f32", [1, 333], [1]),
    fusion("f64", "f64", [40, 200], [1], init="1.25"),
    fusion("f64_all", "f64", [70, 91], [0, 1]),
    fusion("s32", "s32", [37, 120], [1], init="-7"),
    fusion("s64_columns", "s64", [50, 60], [0], init="7"),
    fusion("u8_xor", "u8", [40, 96], [1], "xor", init="85"),
    fusion("bf16_max", "bf16", [33, 256], [1], "maximum", init="-inf"),
    fusion("bf16_min_columns", "bf16", [130, 34], [0], "minimum", init="0.5"),
    fusion("pred_and", "pred", [40, 100], [1], "and", init="true"),
    fusion("pred_or_all", "pred", [40, 100], [0, 1], "or", init="false"),
    fusion("prologue", "f32", [36, 160], [1], init="0.5", body=PROLOGUE),
    fusion("gathered", "f32", [40, 96], [1], body=GATHER),
    fusion("transposed_operand", "f32", [70, 96], [1], body=TRANSPOSE),
    fusion("rows_transposed", "f32", [60, 128], [1], order=[0, 1]),
    fusion("columns_transposed", "f32", [128, 60], [0], order=[0, 1], init="1"),
    fusion("product_f16", "f16", [20, 64], [1], "multiply", init="1"),
    argmax("argmax_bf16", "bf16", [200, 2048], 1, layouts=["rows: warp 4, grid 50; columns: vector 8, register 8, lane 32"]),
    argmax("argmax_f32", "f32", [40, 300], 1),
    argmax("argmax_columns", "f32", [300, 40], 0),
    argmax("argmax_all", "f32", [5000], 0),
    affine([4, 48, 3, 32], [1, 3], ["d3: vector 4, lane 8; d2: grid 3; d1: lane 4, warp 12; d0: grid 4",
                                    "d1: lane 8, warp 6; d3: register 8, loop 4; d0: lane 4; d2: grid 3; lane: d0, d1"]),
    argmax("argmax_ties", "f32", [30, 400], 1, TIES.format(dims="30,400", last="convert(r)"),
           ["rows: grid 30; columns: vector 2, register 2, lane 32, warp 4", "rows: warp 2, grid 15; columns: vector 2, loop 6, lane 32, warp 2",
            "rows: grid 30; columns: register 2, loop 2, lane 32, warp 2, grid 2"]),
    argmax("argmax_nans", "f32", [30, 400], 1, TIES.format(dims="30,400", last="multiply(q, f)"), ["rows: grid 30; columns: lane 32, warp 4, grid 4"]),
]


def ceil(a: int, b: int) -> int:
    return -(-a // b)


def cover(rng: random.Random, size: int, sizes: Dict[str, int], in_order: bool) -> Optional[Factors]:
    """Factors of these sizes, the outermost cut or stretched so that they just cover; None: they cannot."""
    vector = sizes.get("vector", 1)
    rest = [level for level in ("register", "loop", "lane", "warp", "cluster", "grid") if sizes.get(level, 1) > 1 and level != "vector"]
    if not in_order:
        rng.shuffle(rest)
    factors: Factors = [("vector", vector)] if vector > 1 else []
    wanted = size // vector
    for k, level in enumerate(rest):
        n = wanted if k + 1 == len(rest) else sizes[level]
        n = min(n, wanted)
        factors.append((level, n))
        wanted = ceil(wanted, n)
        if wanted == 1:
            break
    return factors if wanted == 1 and factors else [("grid", 1)] if size == 1 else None


def keeps_order(f: Fusion, chosen: Dict[str, Factors]) -> bool:
    """Levels of the last reduced dimension come first; those that do not number threads are of one dimension."""
    levels = ("vector", "register", "loop", "lane", "warp", "cluster", "grid")
    last = -1
    for name in [name for name, _, reduced in reversed(f.dims) if reduced]:
        for level in [levels.index(level) for level, n in chosen[name] if n > 1]:
            if level < last or (level == last and level < levels.index("lane")):
                return False
            last = level
    return True


def legal(dims: List[Tuple[str, int, bool]], chosen: List[Factors]) -> bool:
    total = {level: 1 for level in ("vector", "register", "loop", "lane", "warp", "cluster", "grid")}
    vectors = loops = reduced_lanes = 0
    for (_, _, reduced), factors in zip(dims, chosen):
        for level, n in factors:
            total[level] *= n
            vectors += level == "vector"
            loops += level == "loop"
            if level == "lane" and reduced and n & (n - 1):
                return False
            if (level == "loop" and not reduced) or (level == "register" and n > 64):
                return False
            reduced_lanes += level == "lane" and reduced and n > 1
    return (vectors < 2 and loops < 2 and total["lane"] <= 32 and (total["lane"] == 32 or (not reduced_lanes and total["warp"] == 1)) and
            total["lane"] * total["warp"] <= 1024 and total["cluster"] <= 16 and
            total["vector"] * total["register"] <= 64 and total["grid"] <= 500 and total["loop"] <= 200)


def some_layout(rng: random.Random, f: Fusion) -> str:
    dims = rng.sample(f.dims, len(f.dims))      # the digits of a level are in the order of the text
    vector = rng.choice([*dims, None])
    loop = rng.choice([*[d for d in dims if d[2]], None])
    left = {"lane": rng.choice([32, 32, 32, 16, 5]), "warp": rng.choice([1, 1, 2, 3, 4, 8, 12])}
    chosen: List[Factors] = []
    for d in dims:
        sizes = {"register": rng.choice([1, 2, 3, 4, 8]), "grid": rng.choice([1, 2, 5, 16, 40])}
        for level in left:
            sizes[level] = rng.choice([n for n in range(1, left[level] + 1) if left[level] % n == 0])
            left[level] //= sizes[level]
        if d == vector:
            sizes["vector"] = rng.choice([n for n in (1, 2, 3, 4, 8, 16) if d[1] % n == 0])
        if d == loop:
            sizes["loop"] = rng.choice([2, 3, 7, 16])
        if d[2]:
            sizes["cluster"] = rng.choice([1, 1, 1, 1, 2, 3, 4, 8])
        factors = cover(rng, d[1], sizes, f.in_order and d[2])
        if factors is None:
            return ""
        chosen.append(factors)
    if not legal(dims, chosen) or (f.in_order and not keeps_order(f, {d[0]: factors for d, factors in zip(dims, chosen)})):
        return ""
    clauses = [f"{name}: {', '.join(f'{level} {n}' for level, n in factors)}" for (name, _, _), factors in zip(dims, chosen)]
    for level in ("lane", "warp", "cluster", "grid"):
        having = [d[0] for d, factors in zip(dims, chosen) if level in dict(factors)]
        if len(having) > 1 and rng.random() < 0.3:
            clauses.append(f"{level}: {', '.join(rng.sample(having, len(having)))}")
    return "; ".join(clauses)


def layouts(rng: random.Random, f: Fusion, count: int) -> List[str]:
    made: List[str] = []
    for _ in range(4000):
        if len(made) == count:
            break
        text = some_layout(rng, f)
        if text and text not in made:
            made.append(text)
    return made


def targets_of(layout: str) -> Sequence[str]:
    """The targets that have what the layout needs."""
    return [t for t in TARGETS if "cluster" not in layout or int(t[3:]) >= 90]


Job = Tuple[Fusion, str, str, str, str]       # fusion, layout, target, case, order


def jobs_of(rng: random.Random, count: int, every: int) -> List[Job]:
    made: List[Job] = []
    for f in FUSIONS:
        for layout in [*f.layouts, *layouts(rng, f, count)]:
            runs = [(case, order) for case in f.cases for order in ORDERS]
            made += [(f, layout, rng.choice(targets_of(layout)), *run) for run in rng.sample(runs, ceil(len(runs), every))]
    return made


def main() -> int:
    p = argparse.ArgumentParser(description="reductions whose terms threads share, with layouts")
    p.add_argument("warpburg")
    p.add_argument("--count", type=int, default=3)
    p.add_argument("--every", type=int, default=8)
    p.add_argument("--seed", type=int, default=1)
    o = p.parse_args()
    cli = Cli(os.path.abspath(o.warpburg))
    rng = random.Random(o.seed)
    jobs = jobs_of(rng, o.count, o.every)
    with tempfile.TemporaryDirectory() as folder:
        for f in FUSIONS:
            Path(folder, f"{f.name}.hlo").write_text(f.text, encoding="utf-8")

        def judge(job: Job) -> str:
            f, layout, target, case, order = job
            v = cli.run(f"{folder}/{f.name}.hlo", target, case, options=["--layout", layout, "--order", order])
            return "" if v.ok else v.why

        verdicts = cli.each(judge, jobs)
    failed = 0
    for (f, layout, target, case, order), why in zip(jobs, verdicts):
        if why:
            failed += 1
            print(f"failed: {f.name}, --layout '{layout}' --target {target} --case {case} --order {order}: {why}", flush=True)
    tried = {layout for _, layout, *_ in jobs}
    kinds = {re.sub(r"\d+", "", layout) for layout in tried}
    missing = [f.name for f in FUSIONS if sum(job[0] is f for job in jobs) < 2]
    for name in missing:
        print(f"failed: {name}: no random layout was found")
    print(f"{len(tried)} layouts, {len(kinds)} orders of factors, {sum('grid' in x for x in kinds)} with blocks, "
          f"{sum('cluster' in x for x in kinds)} with clusters")
    print(f"{len(jobs) - failed} passed, {failed + len(missing)} failed")
    return int(failed + len(missing) > 0)


if __name__ == "__main__":
    sys.exit(main())
