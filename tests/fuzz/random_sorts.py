#!/usr/bin/env python3
"""Random sorts: any number of operands, keys, types and dimensions, plain and total comparisons, ascending and descending.

    random_sorts.py WARPBURG [COUNT] [--seed S] [--folder DIR]

Operands may be computed, one may be the index of each element (argsort); results may be used at their own places, at others (the first k of a
row, or any stretch of it, of one result or of all), or be sorted again. One in eight has rows longer than a block's shared memory. Each fusion is compiled
for a target and runs under `run --check`: every element must be the one that a stable sort puts there, or any of its row where the comparator contradicts
itself, without a fault, in an order of execution that rotates. Every tenth has a comparator that is no order at all: each element of a row must still be
there once. A failing fusion is kept in the folder. Ends with `N passed, M failed`.
"""
import array
import math
import os
import random
import sys
import tempfile
from pathlib import Path
from typing import List, Optional, Sequence

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
import npy  # noqa: E402
from seeds import arguments  # noqa: E402
from warpburg_cli import TARGETS, Cli  # noqa: E402

ORDERS = ("forward", "reverse", "shuffle:1", "shuffle:2", "shuffle:3")
TYPES = ("f32", "f32", "s32", "bf16", "f16", "f64", "s8", "u8", "u32", "s64", "s16", "pred", "s4", "u4", "u2")
FLOATS = ("f32", "bf16", "f16", "f64")


def shape_text(t: str, dims: Sequence[int]) -> str:
    return f"{t}[{','.join(map(str, dims))}]"


def comparator(r: random.Random, types: Sequence[str], keys: Sequence[int]) -> str:
    """Lexicographic over the keys; of one key a plain comparison may be of floats with nans."""
    lines: List[str] = []
    for k, t in enumerate(types):
        lines += [f"  a{k} = {t}[] parameter({2 * k})", f"  b{k} = {t}[] parameter({2 * k + 1})"]
    total = len(keys) > 1 or r.random() < 0.7
    result = ""
    for n, k in enumerate(reversed(keys)):
        kind = ", type=TOTALORDER" if total and types[k] in FLOATS else ""
        lines.append(f"  l{n} = pred[] compare(a{k}, b{k}), direction={r.choice(('LT', 'GT'))}{kind}")
        if result:
            lines += [f"  e{n} = pred[] compare(a{k}, b{k}), direction=EQ{kind}", f"  t{n} = pred[] and(e{n}, {result})", f"  o{n} = pred[] or(l{n}, t{n})"]
        result = f"o{n}" if result else f"l{n}"
    lines[-1] = "  ROOT " + lines[-1].strip()
    return "before {\n" + "\n".join(lines) + "\n}\n"


def stretches(r: random.Random, types: Sequence[str], shapes: Sequence[str], dims: Sequence[int], dim: int) -> List[str]:
    """A stretch of each row of all results, rarely another of one, and what is made of them."""
    lines, roots, of = [], [], []
    n = r.choice((1, r.randrange(1, dims[dim] + 1), r.randrange(1, min(dims[dim], 40) + 1), r.randrange(1, min(dims[dim], 9) + 1)))
    first = r.choice((0, 0, min(7, dims[dim] - n), dims[dim] - n, r.randrange(dims[dim] - n + 1)))
    odd = r.randrange(len(types)) if r.random() < 0.15 else -1
    for k, (t, shape) in enumerate(zip(types, shapes)):
        lines.append(f"  v{k} = {shape} {f'get-tuple-element(s), index={k}' if len(types) > 1 else 'copy(s)'}")
        low, count = (0, max(1, n // 2)) if k == odd else (first, n)
        few = [count if d == dim else size for d, size in enumerate(dims)]
        where = ", ".join(f"[{low}:{low + count}]" if d == dim else f"[0:{size}]" for d, size in enumerate(dims))
        shape = shape_text(t, few)
        lines.append(f"  w{k} = {shape} slice(v{k}), slice={{{where}}}")
        roots.append(f"w{k}")
        how = r.choice(("", "", "map", "flat", "turned"))
        if how:
            flat = few[::-1] if how == "turned" else [int(math.prod(few))]
            shape = shape if how == "map" else shape_text(t, flat)
            turns = f", dimensions={{{','.join(str(d) for d in reversed(range(len(few))))}}}"
            operation = {"map": "negate" if t in FLOATS else "not", "flat": "reshape", "turned": "transpose"}[how]
            lines.append(f"  x{k} = {shape} {operation}(w{k}){turns if how == 'turned' else ''}")
            roots[-1] = f"x{k}"
        of.append(shape)
    return lines + ([f"  t = ({', '.join(of)}) tuple({', '.join(roots)})"] if len(roots) > 1 else [])


def make(seed: int) -> str:
    r = random.Random(seed)
    rank = r.choice((1, 2, 2, 3))
    dim = r.randrange(rank)
    dims = [r.choice((1, 2, 3, 5, 9, 17)) for _ in range(rank)]
    dims[dim] = r.choice((1, 2, 3, 7, 16, 33, 64, 100, 200, 257, 512, 1000))
    types = [r.choice(TYPES) for _ in range(r.choice((1, 1, 2, 2, 3)))]
    if seed % 8 == 0:
        dims = [2, 1, 1][:rank]
        dims[dim] = r.choice((9000, 14000, 20000))
        types = [r.choice(("f32", "s32", "s64"))] + types[1:2]
    keys = sorted(r.sample(range(len(types)), r.choice((1, 1, min(2, len(types))))))
    shapes = [shape_text(t, dims) for t in types]
    lines, operands = [], []
    for k, t in enumerate(types):
        lines.append(f"  p{k} = {shapes[k]} parameter({k})")
        operands.append(f"p{k}")
        if t in FLOATS and r.random() < 0.3:
            lines.append(f"  n{k} = {shapes[k]} negate(p{k})")
            operands[k] = f"n{k}"
    if r.random() < 0.5:
        types.append("s32")
        shapes.append(shape_text("s32", dims))
        lines.append(f"  i = {shapes[-1]} iota(), iota_dimension={dim}")
        operands.append("i")
    result = shapes[0] if len(types) == 1 else f"({', '.join(shapes)})"
    stable = ", is_stable=true" if r.random() < 0.7 else ""
    lines.append(f"  s = {result} sort({', '.join(operands)}), dimensions={{{dim}}}{stable}, to_apply=before")
    post = r.choice(("none", "none", "map", "first", "stretch", "stretch", "again"))
    which = r.randrange(len(types))
    value = "s"
    if post not in ("none", "stretch") and len(types) > 1:
        lines.append(f"  v = {shapes[which]} get-tuple-element(s), index={which}")
        value = "v"
    t, shape = types[which], shapes[which]
    if post == "stretch":
        lines += stretches(r, types, shapes, dims, dim)
    elif post == "map":
        lines.append(f"  m = {shape} {'negate' if t in FLOATS else 'not'}({value})")
    elif post == "first":
        few = [max(1, d // 4) if n == dim else d for n, d in enumerate(dims)]
        where = ", ".join(f"[0:{f}]" for f in few)
        lines.append(f"  m = {shape_text(t, few)} slice({value}), slice={{{where}}}")
    elif post == "again" and len(types) == 1:
        other = (dim + 1) % rank
        lines.append(f"  m = {shape} sort({value}), dimensions={{{other}}}, to_apply=before")
    lines[-1] = "  ROOT " + lines[-1].strip()
    return f"HloModule m\n{comparator(r, types, keys)}ENTRY e {{\n" + "\n".join(lines) + "\n}\n"


def make_odd(seed: int) -> str:
    """A comparator that contradicts itself: nans beside a second key, a relation that goes in circles, or one without any rule."""
    r = random.Random(seed)
    n, rows = r.choice((700, 3000, 5000, 20000, 33000)), r.choice((1, 1, 3))
    kind = r.choice(("nans", "circle", "none"))
    t = "f32" if kind == "nans" else "u32"
    lines = [f"  a{k} = {v}[] parameter({2 * k})\n  b{k} = {v}[] parameter({2 * k + 1})" for k, v in enumerate((t, "s32"))]
    if kind == "nans":
        lines += ["  l = pred[] compare(a0, b0), direction=LT", "  e = pred[] compare(a0, b0), direction=EQ",
                  "  m = pred[] compare(a1, b1), direction=GT", "  t = pred[] and(e, m)", "  ROOT o = pred[] or(l, t)"]
    else:
        mixed = "multiply(c, g)" if kind == "none" else "and(c, m)"
        lines += ["  c = u32[] subtract(a0, b0)", "  m = u32[] constant(3)", "  g = u32[] constant(2654435761)", f"  d = u32[] {mixed}",
                  "  h = u32[] constant(1431655765)" if kind == "none" else "  h = u32[] constant(1)", "  ROOT o = pred[] compare(d, h), direction=LT"]
    x, i = f"{t}[{rows},{n}]", f"s32[{rows},{n}]"
    value = "  x = f32[{0}] divide(p, q)".format(f"{rows},{n}") if kind == "nans" else f"  x = {x} add(p, q)"
    return (f"HloModule m\nbefore {{\n" + "\n".join(lines) + f"\n}}\nENTRY e {{\n  p = {x} parameter(0)\n  q = {x} parameter(1)\n{value}\n"
            f"  i = {i} iota(), iota_dimension=1\n  ROOT s = ({x}, {i}) sort(x, i), dimensions={{1}}, is_stable=true, to_apply=before\n}}\n")


def judge_odd(cli: Cli, folder: Path, seed: int) -> Optional[str]:
    """Are the positions that the sort leaves those of all elements?"""
    file, out = folder / f"{seed}.hlo", folder / f"{seed}.out"
    file.write_text(make_odd(seed), encoding="utf-8")
    v = cli.run(str(file), TARGETS[seed % len(TARGETS)], "e", seed, options=["--order", ORDERS[seed % len(ORDERS)], "-o", str(out)])
    if not v.ok:
        return v.why
    n = int(file.read_text(encoding="utf-8").split("iota_dimension")[0].rsplit("[", 1)[1].split("]")[0].split(",")[1])
    found = array.array("i", npy.read(out / "out1.npy"))
    rows = [sorted(found[k : k + n]) for k in range(0, len(found), n)]
    return None if all(row == list(range(n)) for row in rows) else "elements are lost"


def judge(cli: Cli, folder: Path, seed: int) -> Optional[str]:
    if seed % 10 == 9:
        return judge_odd(cli, folder, seed)
    file = folder / f"{seed}.hlo"
    file.write_text(make(seed), encoding="utf-8")
    target, case = TARGETS[seed % len(TARGETS)], "enpsc"[seed // 3 % 5]
    order = ORDERS[seed % len(ORDERS)]
    v = cli.run(str(file), target, case, seed, options=["--order", order])
    return None if v.ok else f"{target} --case {case} --order {order}: {v.why}"


def main() -> int:
    o = arguments(__doc__, 100, "warpburg", folder="build/fuzz/sorts")
    os.environ.pop("WARPBURG_PTXAS", None)
    cli = Cli(os.path.abspath(o.warpburg))
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        seeds = range(o.seed, o.seed + o.count)
        for seed, why in zip(seeds, cli.each(lambda s: judge(cli, Path(name), s), seeds)):
            if why:
                failed += 1
                kept = o.folder / f"{seed}.hlo"
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_text(make_odd(seed) if seed % 10 == 9 else make(seed), encoding="utf-8")
                print(f"{kept}: {why}")
    print(f"{o.count - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
