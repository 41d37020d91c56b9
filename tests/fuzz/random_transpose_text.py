"""Text of random fusions that read in one order and store in another: what random_transposes.py compiles and runs. The seed alone determines the text."""
from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Dict, List

sys.path.insert(0, str(Path(__file__).resolve().parent))
from random_fusion_ops import FLOATS, OPS, listed, volume  # noqa: E402
from random_fusions import COMPLEX, INTS, NIBBLES, SMALL, Fusion, Value, factors  # noqa: E402

SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65, 96, 100, 128, 130, 255, 256, 384, 1000, 1024]
LIMITS = [200, 2000, 8000, 20000, 40000]       # elements, at most
FEW = [op for op in OPS if op.__name__ not in ("reduce", "reduce_window", "dot", "convolution")]


def type_of(r: random.Random) -> str:
    return r.choice(r.choices([FLOATS, INTS, SMALL, NIBBLES, COMPLEX, ["pred"]], [50, 25, 6, 4, 10, 5])[0])


def dimensions(r: random.Random) -> List[int]:
    most, dims = r.choice(LIMITS), []
    for _ in range(r.choices([2, 3, 4, 5, 6], [45, 28, 15, 8, 4])[0]):
        dims.append(r.choice([n for n in SIZES if n <= most // max(volume(dims), 1)] or [1]))
    r.shuffle(dims)
    return dims


def transposed(f: Fusion, v: Value) -> Value:
    """By a permutation, a reshape around one, or a copy with another layout."""
    name, t, dims = v
    if f.r.random() < 0.3:
        split: List[int] = []
        for d in dims:
            split += factors(f.r, d) if f.r.random() < 0.6 and d > 1 else [d]
        if len(split) <= 8:
            name, t, dims = v = f.emit(t, split, f"reshape({name})")
    p = f.r.sample(range(len(dims)), len(dims))
    v = f.emit(t, [dims[i] for i in p], f"transpose({name})", f", dimensions={listed(p)}")
    if f.r.random() < 0.2:
        v = f.emit(t, factors(f.r, volume(dims)), f"reshape({v[0]})")
    return v


def interleaved(f: Fusion, v: Value) -> Value:
    """With another array, element by element along the fastest dimension; or the other way round, one of several."""
    name, t, dims = v
    n = f.r.choice([2, 3, 4])
    if f.r.random() < 0.4:
        from_, kept = f.r.randrange(n), dims[:-1] + [-(-dims[-1] // n)]
        cut = ", ".join(f"[0:{d}]" for d in dims[:-1])
        if dims[-1] <= from_:
            return f.emit(t, dims, f"reverse({name})", f", dimensions={{{len(dims) - 1}}}")
        kept[-1] = -(-(dims[-1] - from_) // n)
        return f.emit(t, kept, f"slice({name})", f", slice={{{cut}{', ' if cut else ''}[{from_}:{dims[-1]}:{n}]}}")
    others = [f.emit(t, dims + [1], f"reshape({x[0]})") for x in (v, *(f.same(t, dims) for _ in range(n - 1)))]
    return f.emit(t, dims + [n], f"concatenate({', '.join(x[0] for x in others)})", f", dimensions={{{len(dims)}}}")


def blocks_to_space(f: Fusion, v: Value) -> Value:
    """The fastest dimension, or one before two others, parted among two others."""
    name, t, dims = v
    n = volume(dims)
    b = f.r.choice([2, 3, 4])
    h, w = f.r.choice([2, 3, 8]), f.r.choice([4, 5, 16])
    c = max(min(n, LIMITS[-1]) // (b * b * h * w), 1)
    x = f.parameter(t, f.r.choice([[h, w, b, b, c], [b, b, c, h, w], [c, b, b, h, w], [h, w, c, b, b]]))
    order = {(h, w): [0, 2, 1, 3, 4], (b, b): [2, 3, 0, 4, 1], (c, b): [0, 3, 1, 4, 2]}.get((x[2][0], x[2][1]), [0, 3, 1, 4, 2])
    moved = [x[2][k] for k in order]
    y = f.emit(t, moved, f"transpose({x[0]})", f", dimensions={listed(order)}")
    return f.emit(t, [moved[0] * moved[1], moved[2] * moved[3], moved[4]], f"reshape({y[0]})")


def patches(f: Fusion, v: Value) -> Value:
    """Windows of an image side by side, as columns or as rows."""
    t = v[1]
    c, h, w = f.r.choice([1, 3, 8]), f.r.choice([4, 7, 16]), f.r.choice([8, 16, 30])
    k = f.r.choice([2, 3])
    image = f.parameter(t, [c, h + k - 1, w + k - 1])
    parts = []
    for i in range(k):
        for j in range(k):
            x = f.emit(t, [c, h, w], f"slice({image[0]})", f", slice={{[0:{c}], [{i}:{h + i}], [{j}:{w + j}]}}")
            parts.append(f.emit(t, [c, 1, h, w], f"reshape({x[0]})")[0])
    y = f.emit(t, [c, k * k, h, w], f"concatenate({', '.join(parts)})", ", dimensions={1}")
    order = f.r.choice([[2, 3, 0, 1], [2, 3, 1, 0], [0, 1, 2, 3]])
    return f.emit(t, [y[2][d] for d in order], f"transpose({y[0]})", f", dimensions={listed(order)}")


def three_orders(f: Fusion, v: Value) -> Value:
    """Two arrays, none of which is read in the order of the result."""
    t, dims = v[1], [f.r.choice([5, 8, 16, 33]) for _ in range(3)]
    sides = []
    for order in ([2, 1, 0], [0, 2, 1]):
        x = f.parameter(t, [dims[order.index(d)] for d in range(3)])
        sides.append(f.emit(t, dims, f"transpose({x[0]})", f", dimensions={listed(order)}")[0])
    return f.emit(t, dims, f"{'xor' if t == 'pred' else 'add'}({', '.join(sides)})")


def moved(f: Fusion, v: Value) -> Value:
    """Mostly transposed; else another exchange of orders, after or before a transpose or without one."""
    if f.r.random() < 0.6:
        return transposed(f, v)
    w = f.r.choice([interleaved, interleaved, blocks_to_space, patches, three_orders])(f, v)
    return transposed(f, w) if f.r.random() < 0.3 else w


def steps(f: Fusion, v: Value, n: int) -> Value:
    """Mostly elementwise operations, with operands of their own."""
    for _ in range(n):
        roll = f.r.random()
        w = f.elementwise(v) if roll < 0.8 else f.move(v) if roll < 0.9 else f.r.choice(FEW)(f, v)
        v = w if volume(w[2]) <= LIMITS[-1] and w[2] and len(w[2]) <= 8 else v
    return v


def generate(seed: int) -> str:
    r = random.Random(seed)
    f = Fusion(r)
    f.layouts = r.random() < 0.2
    dims = dimensions(r)
    before = steps(f, f.parameter(type_of(r), dims), r.choice([0, 0, 1, 2, 3]))
    v = moved(f, before)
    if r.random() < 0.2:        # several heroes, of the same or another permutation
        other = steps(f, f.parameter(type_of(r), dims), r.choice([0, 1]))
        w = transposed(f, other)
        if w[2] == v[2] and w[1] == v[1] and v[1] in FLOATS:
            v = f.emit(v[1], v[2], f"add({v[0]}, {w[0]})")
    v = steps(f, v, r.choice([0, 0, 1, 2, 3]))
    roots: Dict[str, Value] = {v[0]: v}
    while r.random() < 0.25:
        w = r.choice([before, f.elementwise(v), transposed(f, before), r.choice(f.values)])
        roots[w[0]] = w
    names = r.sample(list(roots), len(roots))
    result = f.shapes[names[0]] if len(names) == 1 else "(" + ", ".join(f.shapes[x] for x in names) + ")"
    if len(names) > 1:
        f.lines.append(f"  ROOT out = {result} tuple({', '.join(names)})")
    else:
        f.lines = [("  ROOT " + line[2:]) if line.startswith(f"  {names[0]} =") else line for line in f.lines]
    entry = [f"  p{i} = {s} parameter({i})" for i, s in enumerate(f.parameters)]
    operands = ", ".join(f"p{i}" for i in range(len(f.parameters)))
    return "\n".join([f"HloModule random_{seed}", "", *f.bodies.values(), "body {", *f.lines, "}", "", "ENTRY main {", *entry,
                      f"  ROOT random = {result} fusion({operands}), kind=kInput, calls=body", "}", ""])
