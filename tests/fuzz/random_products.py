#!/usr/bin/env python3
"""Random products of a matrix with few rows, alone and between other operations: compiled, run in the simulator, compared with the bounds.

    random_products.py WARPBURG [COUNT] [--seed S] [--folder DIR]

One factor is large and has its dimensions in any order in memory; it is a parameter, or bytes with scales, or rows that a mask leaves. The other has one
to nine rows. Batches, several contracted dimensions, results in another order, a bias, a residual, a maximum of rows. Texts are a fusion or a module,
for each target in turn. A part must have threads that share the terms. Texts of those that fail stay in DIR. Ends with `N passed, M failed`.
"""
import math
import random
import sys
from typing import List, Sequence, Tuple

from seeds import TARGETS, Seeds, judged

SHARED = "threads share its terms"
LEAST_SHARED = 0.3
MOST = 2000000
LONGEST = 1024  # of a module that is one product, and no thin one: a thread sums it, or a library
TYPES = ("bf16", "bf16", "f16", "f32", "f32", "f64", "s8", "s32", "u8", "f8e4m3fn", "pred")


class Text:
    def __init__(self, r: random.Random):
        self.r, self.lines, self.parameters = r, [], []  # type: random.Random, List[str], List[str]

    def parameter(self, shape: str) -> str:
        name = f"p{len(self.parameters)}"
        self.parameters.append(shape)
        self.lines.append(f"{name} = {shape} parameter({len(self.parameters) - 1})")
        return name

    def put(self, shape: str, what: str) -> str:
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {shape} {what}")
        return name

    def shape(self, kind: str, dims: List[int], shuffled: bool = False) -> str:
        order = list(range(len(dims)))[::-1]
        if shuffled:
            self.r.shuffle(order)
        return f"{kind}[{','.join(map(str, dims))}]{{{','.join(map(str, order))}}}"

    def factor(self, kind: str, dims: List[int]) -> str:
        """A factor: read as it is, or made of what is read."""
        plain, how = self.shape(kind, dims), self.r.choice(("plain", "plain", "bytes", "mask"))
        if how == "bytes" and kind in ("bf16", "f16", "f32"):
            x, scale = self.parameter(self.shape("s8", dims, True)), self.parameter(f"{kind}[{dims[-1]}]{{0}}")
            x, scale = self.put(plain, f"convert({x})"), self.put(plain, f"broadcast({scale}), dimensions={{{len(dims) - 1}}}")
            return self.put(plain, f"multiply({x}, {scale})")
        x = self.parameter(self.shape(kind, dims, True))
        if how == "mask" and kind not in ("pred", "f8e4m3fn"):
            zero, mask = self.put(f"{kind}[]", "constant(0)"), self.parameter(f"pred[{dims[0]}]{{0}}")
            zero, mask = self.put(plain, f"broadcast({zero}), dimensions={{}}"), self.put(self.shape("pred", dims), f"broadcast({mask}), dimensions={{0}}")
            return self.put(plain, f"select({mask}, {x}, {zero})")
        return x


Sizes = Sequence[int]


def product(t: Text, kinds: Sequence[str] = TYPES, some: Sizes = (1, 1, 2, 2, 3, 4, 8, 9), others: Sizes = (1, 5, 33, 64, 128, 515)) \
        -> Tuple[str, str, List[int], int]:
    """Its name, type and dimensions, and how many products are summed: one factor has so many rows, the other one has others."""
    r, kind = t.r, t.r.choice(kinds)
    batch = [r.choice((2, 3, 8)) for _ in range(r.choice((0, 0, 0, 1, 2)))]
    summed = [r.choice((1, 7, 32, 64, 100, 256, 1000))] + [r.choice((3, 8))] * (r.random() < 0.2 and kind != "pred")
    few, many = [r.choice(some)], [r.choice(others)]
    while math.prod(batch + summed + few + many) > MOST:  # the judge sums each
        if summed[0] == 1 and batch:
            batch.pop()
        summed[0] = max(summed[0] // 2, 1)
    sides, dims = [few, many], []
    r.shuffle(sides)
    names, numbers = [], []
    for own in sides:
        all_dims = [("b", n) for n in range(len(batch))] + [("k", n) for n in range(len(summed))] + [("own", 0)]
        if r.random() < 0.7:
            tail = all_dims[len(batch):]
            r.shuffle(tail)
            all_dims = all_dims[:len(batch)] + tail
        else:
            r.shuffle(all_dims)
        sizes = [{"b": batch, "k": summed, "own": own}[what][n] for what, n in all_dims]
        names.append(t.factor(kind, sizes))
        numbers.append([[all_dims.index((what, n)) for n in range(len(of))] for what, of in (("b", batch), ("k", summed))])
    dims = batch + sides[0] + sides[1]
    out = {"s8": "s32", "u8": "s32", "f8e4m3fn": "f32"}.get(kind, r.choice((kind, "f32")) if kind in ("bf16", "f16") else kind)
    attributes = "".join(f", {side}_{what}_dims={{{','.join(map(str, numbers[s][w]))}}}" for w, what in enumerate(("batch", "contracting"))
                         for s, side in enumerate(("lhs", "rhs")) if numbers[s][w] or what == "contracting")
    return t.put(t.shape(out, dims), f"dot({', '.join(names)}){attributes}"), out, dims, math.prod(summed)


def text_of(seed: int) -> str:
    t = Text(random.Random(seed))
    return around(t, *product(t), LONGEST)


def around(t: Text, name: str, kind: str, dims: List[int], summed: int, longest: int) -> str:
    """What follows from a product; a module where no more than so many are summed."""
    r = t.r
    shape = t.shape(kind, dims)
    if kind != "pred" and r.random() < 0.5:
        bias = t.parameter(f"{kind}[{dims[-1]}]{{0}}")
        name = t.put(shape, f"add({name}, {t.put(shape, f'broadcast({bias}), dimensions={{{len(dims) - 1}}}')})")
    if kind in ("bf16", "f16", "f32") and r.random() < 0.4:
        name = t.put(shape, f"{r.choice(('tanh', 'logistic', 'negate'))}({name})")
    if kind != "pred" and r.random() < 0.3:
        name = t.put(shape, f"add({name}, {t.parameter(t.shape(kind, dims, True))})")
    if r.random() < 0.3:
        order = list(range(len(dims)))
        r.shuffle(order)
        shape = t.shape(kind, [dims[d] for d in order])
        name = t.put(shape, f"transpose({name}), dimensions={{{','.join(map(str, order))}}}")
    lines = list(t.lines)
    lines[-1] = f"ROOT {lines[-1]}"
    body = "\n".join(f"  {line}" for line in lines)
    if r.random() < 0.5 and summed <= longest:
        return f"HloModule m\nENTRY e {{\n{body}\n}}\n"
    outer = "\n".join(f"  p{k} = {s} parameter({k})" for k, s in enumerate(t.parameters))
    operands = ", ".join(f"p{k}" for k in range(len(t.parameters)))
    return f"HloModule m\nf {{\n{body}\n}}\nENTRY e {{\n{outer}\n  ROOT y = {shape} fusion({operands}), kind=kCustom, calls=f\n}}\n"


if __name__ == "__main__":
    sys.exit(judged(Seeds(__doc__, "random_products", 40), "product", text_of, TARGETS, "pnse", SHARED, LEAST_SHARED, "threads that share the terms"))
