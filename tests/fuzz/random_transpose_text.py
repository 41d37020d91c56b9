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
    v = transposed(f, before)
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
