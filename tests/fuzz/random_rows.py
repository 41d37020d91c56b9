#!/usr/bin/env python3
"""Random products of f16 and bf16 whose rows are reduced: compiled, run in the simulator, compared with the bounds.

    random_rows.py WARPBURG [COUNT] [--seed S] [--folder DIR]

Factors as in random_dots.py; a scale, a residual, a conversion, a mask of columns; greatest and least values, sums and sums of squares of rows, softmax and
norms; outputs that have an element for each result, for each row, or both, in any order of dimensions. Of three seeds of four the kernel is asked for,
whatever it costs. Texts of those that fail stay in DIR. Ends with `N passed, M failed`.
"""
import random
import sys
from typing import List, Tuple

from random_products import Text, product
from seeds import SINCE_80, Seeds, asked_for, judged

MADE = "of rows, by 4 lanes"
LEAST_MADE = 0.4  # of very few products it is none of matrices
SIZES = (3, 8, 16, 17, 30, 64, 96, 128, 130, 260)
LARGEST = {"maximum": "-inf", "minimum": "inf", "add": "0"}


class Rows:
    """A product's results, or what follows from them, and their reductions."""

    def __init__(self, t: Text, kind: str, dims: List[int]):
        self.t, self.kind, self.dims, self.computations = t, kind, dims, ""
        self.shape, self.rows = t.shape(kind, dims), t.shape(kind, dims[:-1])

    def number(self, value: str, rows: bool = False) -> str:
        shape = self.rows if rows else self.shape
        return self.t.put(shape, f"broadcast({self.t.put(f'{self.kind}[]', f'constant({value})')}), dimensions={{}}")

    def reduced(self, x: str, op: str) -> str:
        name = f"{op}.{self.kind}"
        if name not in self.computations:
            own = f"{self.kind}[]"
            self.computations += f"{name} {{ a = {own} parameter(0)\n  b = {own} parameter(1)\n  ROOT m = {own} {op}(a, b) }}\n"
        first = self.t.put(f"{self.kind}[]", f"constant({LARGEST[op]})")
        return self.t.put(self.rows, f"reduce({x}, {first}), dimensions={{{len(self.dims) - 1}}}, to_apply={name}")

    def spread(self, x: str) -> str:
        return self.t.put(self.shape, f"broadcast({x}), dimensions={{{','.join(map(str, range(len(self.dims) - 1)))}}}")

    def both(self, op: str, x: str, y: str, rows: bool = False) -> str:
        return self.t.put(self.rows if rows else self.shape, f"{op}({x}, {y})")

    def to(self, x: str, kind: str) -> str:
        if kind == self.kind:
            return x
        self.kind, self.shape, self.rows = kind, self.t.shape(kind, self.dims), self.t.shape(kind, self.dims[:-1])
        return self.t.put(self.shape, f"convert({x})")


def before(w: Rows, x: str) -> str:
    r, t = w.t.r, w.t
    if r.random() < 0.4:
        x = w.both("multiply", x, w.number(r.choice(("0.125", "0.0883789"))))
    if r.random() < 0.4:
        x = w.both("add", x, t.parameter(t.shape(w.kind, w.dims, True)))
    if r.random() < 0.2:
        x = t.put(w.shape, f"tanh({x})")
    if r.random() < 0.2:
        keep = t.parameter(f"pred[{w.dims[-1]}]{{0}}")
        keep = t.put(t.shape("pred", w.dims), f"broadcast({keep}), dimensions={{{len(w.dims) - 1}}}")
        x = t.put(w.shape, f"select({keep}, {x}, {w.number('-inf' if r.random() < 0.3 else '-3')})")
    return w.to(x, "f32") if r.random() < 0.7 else x


def text_of(seed: int) -> str:
    t = Text(random.Random(seed))
    r = t.r
    x, kind, dims, _ = product(t, ("bf16", "f16"), SIZES, SIZES)
    w = Rows(t, kind, dims)
    x = before(w, x)
    how = r.choice(("softmax", "norm", "one", "two"))
    of_rows: List[str] = []
    full: List[Tuple[str, str]] = [(x, w.kind)] if r.random() < 0.6 else []
    if how == "softmax":
        top = w.reduced(x, "maximum")
        e = t.put(w.shape, f"exponential({w.both('subtract', x, w.spread(top))})")
        total = w.reduced(e, "add")
        of_rows += [top, total][:r.choice((0, 1, 2))]
        full.append((w.both("divide", e, w.spread(total)), w.kind))
    elif how == "norm":
        total = w.reduced(w.both("multiply", x, x), "add")
        mean = w.both("add", w.both("multiply", total, w.number("0.0078125", True), True), w.number("0.00001", True), True)
        scale = t.put(w.rows, f"rsqrt({mean})")
        of_rows += [scale][:r.choice((0, 1))]
        full.append((w.both("multiply", x, w.spread(scale)), w.kind))
    else:
        terms = x if r.random() < 0.4 else w.both("multiply", x, x) if r.random() < 0.6 else t.put(w.shape, f"abs({x})")
        of_rows.append(w.reduced(terms, r.choice(("add", "add", "maximum", "minimum"))))
        if how == "two":
            of_rows.append(w.reduced(x, r.choice(("add", "maximum"))))
        if r.random() < 0.3:
            of_rows[0] = w.both("add", of_rows[0], t.parameter(t.shape(w.kind, w.dims[:-1])), True)
    outputs: List[Tuple[str, str]] = [(y, w.rows) for y in of_rows]
    for y, own in full:
        shape, order = t.shape(own, dims), list(range(len(dims)))
        if r.random() < 0.3:
            r.shuffle(order)
            shape = t.shape(own, [dims[d] for d in order])
            y = t.put(shape, f"transpose({y}), dimensions={{{','.join(map(str, order))}}}")
        outputs.append((y, shape))
    r.shuffle(outputs)
    result = outputs[0][1]
    lines = list(t.lines)
    if len(outputs) > 1:
        result = f"({', '.join(shape for _, shape in outputs)})"
        lines.append(f"ROOT out = {result} tuple({', '.join(y for y, _ in outputs)})")
    else:
        lines = [f"ROOT {line}" if line.startswith(f"{outputs[0][0]} =") else line for line in lines]
    body = "\n".join(f"  {line}" for line in lines)
    outer = "\n".join(f"  p{k} = {s} parameter({k})" for k, s in enumerate(t.parameters))
    operands = ", ".join(f"p{k}" for k in range(len(t.parameters)))
    return (f"HloModule m\n{w.computations}f {{\n{body}\n}}\n"
            f"ENTRY e {{\n{outer}\n  ROOT y = {result} fusion({operands}), kind=kCustom, calls=f\n}}\n")


if __name__ == "__main__":
    options = Seeds(__doc__, "random_rows", 40)
    with asked_for(options, "product", text_of) as more:
        sys.exit(judged(options, "rows", text_of, SINCE_80, "pnsedu", MADE, LEAST_MADE, "products whose rows are reduced", more))
