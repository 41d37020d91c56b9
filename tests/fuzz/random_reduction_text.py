"""Text of random fusions with reductions: what random_reductions.py compiles and runs. The seed alone determines the text."""
from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parent))
from random_fusion_ops import FLOATS, OPS, listed, volume  # noqa: E402
from random_fusions import COMPLEX, INTS, NIBBLES, SMALL, Fusion, Value, constant  # noqa: E402
from random_reducers import REDUCERS, Reducer, simple  # noqa: E402

SIZES = [1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 32, 33, 64, 97, 100, 127, 128, 255, 256, 257, 384, 1000, 1024, 1031]
LIMIT = 24000       # elements of the terms, at most
PROLOGUES = [op for op in OPS if op.__name__ not in ("reduce", "reduce_window", "dot", "convolution")]


class Space(NamedTuple):
    """The terms of a reduction: a layout is one of this space."""
    shape: List[int]
    reduced: List[int]
    order: List[int]     # minor to major
    in_order: bool       # a computation of it is not known to commute


class Made(NamedTuple):
    text: str
    spaces: List[Space]  # of its reductions


def type_of(r: random.Random) -> str:
    return r.choice(r.choices([FLOATS, INTS, SMALL, NIBBLES, COMPLEX, ["pred"]], [62, 18, 6, 4, 5, 5])[0])


def shape_of(r: random.Random, limits: List[int]) -> Tuple[List[int], List[int]]:
    """Dimensions and which are reduced: most often few large ones, sometimes many, empty or single ones."""
    rank = r.choices([1, 2, 3, 4, 5], [18, 42, 24, 11, 5])[0]
    most = r.choice(limits)
    dims: List[int] = []
    for _ in range(rank):
        room = most // max(volume(dims), 1)
        dims.append(r.choice([n for n in SIZES if n <= room] or [1]))
    r.shuffle(dims)
    if r.random() < 0.03:
        dims[r.randrange(rank)] = 0
    gone = sorted(r.sample(range(rank), r.choice([1, 1, 1, max(1, rank // 2), max(1, rank - 1), rank])))
    return dims, gone if r.random() > 0.01 else []


class Reduction(Fusion):
    """A fusion under construction, with reductions over one space."""

    def __init__(self, r: random.Random) -> None:
        super().__init__(r)
        self.spaces: List[Space] = []
        self.results: List[Value] = []

    def order_of(self, v: Value) -> List[int]:
        text = self.shapes[v[0]]
        return [int(x) for x in text[text.index("{") + 1:-1].split(",")] if text.endswith("}") else list(range(len(v[2])))[::-1]

    def init(self, t: str, neutral: str) -> Value:
        """An initial value: the neutral one, any constant, or a parameter."""
        roll = self.r.random()
        if roll < 0.15 and len(self.parameters) < 8:
            return self.parameter(t, [])
        if roll < 0.55:
            return self.emit(t, [], f"constant({neutral})")
        odd = ["nan", "-0", "inf", "-inf", "3.5", "-60000"] if t in FLOATS else [constant(self.r, t)]
        return self.emit(t, [], f"constant({self.r.choice(odd)})")

    def of_type(self, t: str, dims: List[int], of: Optional[Value] = None) -> Value:
        """A value of the type and shape: `of` itself, converted, or another one."""
        if of and of[1] == t:
            return of
        if of and self.r.random() < 0.7 and (t in COMPLEX) == (of[1] in COMPLEX):
            return self.emit(t, dims, f"convert({of[0]})")
        return self.same(t, dims)

    def reduced(self, v: Value, gone: List[int], reducer: Optional[Reducer] = None) -> List[Value]:
        """The results of a reduction of v, and of further arrays where the computation has several."""
        _, t, dims = v
        kept = [d for i, d in enumerate(dims) if i not in gone]
        c = reducer or (simple(self.r, t) if self.r.random() < 0.75 or t not in FLOATS + INTS else self.r.choice(REDUCERS)(self.r, t))
        self.bodies[c.name] = c.text
        arrays = [self.of_type(c.types[0], dims, v)]
        for made, want in zip(c.terms[1:], c.types[1:]):
            arrays.append(self.term(made, want, dims, gone, v))
        inits = [self.init(want, neutral) if made != "count" else self.emit(want, [], f"constant({neutral})")
                 for made, want, neutral in zip(c.terms, c.types, c.neutral)]
        operands = ", ".join(x[0] for x in arrays + inits)
        attributes = f", dimensions={listed(gone)}, to_apply={c.name}"
        if volume(dims):
            self.spaces.append(Space(dims, gone, self.order_of(arrays[0]), not c.commutes))
        if len(arrays) == 1:
            return [self.emit(c.types[0], kept, f"reduce({operands})", attributes)]
        shapes = [self.shape_text(want, kept) for want in c.types]
        name = f"v{self.n}"
        self.n += 1
        self.lines.append(f"  {name} = ({', '.join(shapes)}) reduce({operands}){attributes}")
        out = []
        for k, want in enumerate(c.types):
            self.lines.append(f"  v{self.n} = {shapes[k]} get-tuple-element({name}), index={k}")
            self.shapes[f"v{self.n}"] = shapes[k]
            out.append((f"v{self.n}", want, kept))
            self.values.append(out[-1])
            self.n += 1
        return out

    def shape_text(self, t: str, dims: List[int]) -> str:
        return f"{t}[{','.join(map(str, dims))}]" + (f"{{{','.join(map(str, range(len(dims) - 1, -1, -1)))}}}" if self.layouts and len(dims) > 1 else "")

    def term(self, made: str, t: str, dims: List[int], gone: List[int], v: Value) -> Value:
        """A further array of a reduction: element numbers, a constant, a parameter, or a value made of the first array's."""
        if made == "index":
            return self.emit(t, dims, "iota()", f", iota_dimension={self.r.choice(gone or [0])}") if dims else self.emit(t, dims, "constant(0)")
        if made in ("0", "1", "count"):
            c = self.emit(t, [], f"constant({1 if made == 'count' else made})")
            return self.emit(t, dims, f"broadcast({c[0]})", ", dimensions={}") if dims else c
        return self.of_type(t, dims, v if made == "own" and self.r.random() < 0.5 else None)

    def back(self, v: Value, dims: List[int], gone: List[int]) -> Value:
        """A result at every element of the space."""
        kept = [i for i in range(len(dims)) if i not in gone]
        return self.emit(v[1], dims, f"broadcast({v[0]})", f", dimensions={listed(kept)}")

    def joined(self, x: Value, y: Value) -> Value:
        """Two values of one shape, combined."""
        t = x[1]
        other = y if y[1] == t else self.of_type(t, x[2], y)
        ops = ["and", "or", "xor"] if t == "pred" else ["add", "multiply"] if t in COMPLEX else ["add", "subtract", "multiply", "maximum"]
        return self.emit(t, x[2], f"{self.r.choice(ops)}({x[0]}, {other[0]})")


def prologue(f: Reduction, dims: List[int]) -> Value:
    r = f.r
    v = f.parameter(type_of(r), dims)
    for _ in range(r.choice([0, 0, 1, 1, 2, 3, 5])):
        roll = r.random()
        w = f.move(v) if roll < 0.25 else r.choice(PROLOGUES)(f, v) if roll < 0.45 else masked(f, v) if roll < 0.55 else f.elementwise(v)
        v = w if volume(w[2]) <= LIMIT and len(w[2]) <= 6 else v
    return v


def masked(f: Reduction, v: Value) -> Value:
    """Elements on one side of a diagonal, or before a position, and a constant instead of the others."""
    name, t, dims = v
    if not dims:
        return v
    d, e = f.r.randrange(len(dims)), f.r.randrange(len(dims))
    i = f.emit("s32", dims, "iota()", f", iota_dimension={d}")
    if d == e:
        c = f.emit("s32", [], f"constant({f.r.randrange(max(dims[d], 1) + 1)})")
        j = f.emit("s32", dims, f"broadcast({c[0]})", ", dimensions={}")
    else:
        j = f.emit("s32", dims, "iota()", f", iota_dimension={e}")
    p = f.emit("pred", dims, f"compare({i[0]}, {j[0]})", f", direction={f.r.choice(['LT', 'GE', 'NE'])}")
    c = f.emit(t, [], f"constant({constant(f.r, t)})")
    other = f.emit(t, dims, f"broadcast({c[0]})", ", dimensions={}")
    return f.emit(t, dims, f"select({p[0]}, {name}, {other[0]})")


def epilogue(f: Reduction, v: Value) -> Value:
    r = f.r
    for _ in range(r.choice([0, 0, 0, 1, 2, 3])):
        roll = r.random()
        w = f.move(v) if roll < 0.3 else f.elementwise(v)
        v = w if volume(w[2]) <= LIMIT else v
    return v


def one(f: Reduction, v: Value, gone: List[int]) -> List[Value]:
    out = f.reduced(v, gone)
    if len(out) == 1 or f.r.random() < 0.4:
        return [epilogue(f, w) for w in out]
    return out if f.r.random() < 0.7 else out[:1]


def several(f: Reduction, v: Value, gone: List[int]) -> List[Value]:
    """Reductions of one value, or of values that are computed from it, over one space."""
    out: List[Value] = []
    for _ in range(f.r.choice([2, 2, 3, 4])):
        w = v if f.r.random() < 0.5 else f.elementwise(v)
        out += [epilogue(f, x) for x in f.reduced(w if w[2] == v[2] else v, gone)]
    return out


def chain(f: Reduction, v: Value, gone: List[int]) -> List[Value]:
    """As softmax and layer norm: what is reduced depends on results of reductions before."""
    out: List[Value] = []
    dims = v[2]
    for _ in range(f.r.choice([1, 1, 2])):
        r = f.reduced(v, gone)[0]
        if f.r.random() < 0.3:
            out.append(epilogue(f, r))
        e = f.elementwise(r)
        v = f.joined(v, f.back(e if f.r.random() < 0.4 and e[2] == r[2] else r, dims, gone))
        for _ in range(f.r.choice([0, 1, 1])):
            w = f.elementwise(v)
            v = w if w[2] == dims else v
    roll = f.r.random()
    if roll < 0.7 or not out:
        last = f.reduced(v, gone)[0]
        if roll < 0.35:
            v = f.joined(v, f.back(last, dims, gone))
            if f.r.random() < 0.3:
                out.append(epilogue(f, last))
            return out + [f.elementwise(v) if f.r.random() < 0.5 else v]
        return out + [epilogue(f, last)]
    return out + [v]


def generate(seed: int) -> Made:
    r = random.Random(seed)
    f = Reduction(r)
    kind = r.choices([one, several, chain], [5, 3, 3])[0]
    # where threads do not share, a chain reduces again for each element
    dims, gone = shape_of(r, [60, 200, 600, 600, 4000, LIMIT] if kind is chain else [60, 600, 4000, LIMIT])
    v = prologue(f, dims)
    if len(v[2]) != len(dims) or r.random() < 0.2:
        n = len(v[2])
        gone = sorted(r.sample(range(n), r.randrange(1, n + 1))) if n else []
    roots: Dict[str, Value] = {}
    for w in kind(f, v, gone):
        roots[w[0]] = w
    while r.random() < 0.15:      # an output of full shape, or of any other
        w = v if r.random() < 0.6 else r.choice(f.values)
        roots[w[0]] = w
    names = r.sample(list(roots), len(roots))
    return Made(f.text(seed, names, "kInput"), f.spaces)
