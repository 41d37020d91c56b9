#!/usr/bin/env python3
"""Random attention of f16 and bf16: two products of matrices, and rows that are weighed between them: compiled, run in the simulator, compared with the bounds.

    random_attention.py WARPBURG [COUNT] [--seed S] [--folder DIR]

Batches, sizes that tiles divide and sizes that they do not, dimensions in any order in memory, operands of both products either way round, operands that are
parameters or made of what is read; scores of f32 or of 16 bits; a scale, a bias, a mask of rows and columns, causal masks of -inf or of a large number;
softmax of f32 or of 16 bits, its quotient before the second product or after it, or other weights; what follows. Of three seeds of four the kernel is
asked for, whatever it costs. Texts of those that fail stay in DIR. Ends with `N passed, M failed`.
"""
import random
import sys
from typing import List, Sequence, Tuple

from random_products import Text
from seeds import SINCE_80, Seeds, asked_for, judged

MADE = "stay on chip between two products"
LEAST_MADE = 0.5  # of very few columns a product is none of matrices; small ones may take less time as sums
SIZES = (3, 16, 17, 30, 32, 48, 64, 65, 96, 100, 128, 130, 200)
WIDTHS = (16, 32, 32, 40, 64, 64, 64, 80, 96, 128)
REDUCTIONS = """
max.{0} {{ a = {0}[] parameter(0)
  b = {0}[] parameter(1)
  ROOT m = {0}[] maximum(a, b) }}
add.{0} {{ a = {0}[] parameter(0)
  b = {0}[] parameter(1)
  ROOT m = {0}[] add(a, b) }}
"""


def matrix(t: Text, kind: str, batch: List[int], own: List[int]) -> Tuple[str, List[int], List[int]]:
    """An operand of a product with batch dimensions and two of its own: its name, and which of its dimensions these are."""
    r, n = t.r, len(batch)
    order = list(range(n + 2))
    if r.random() < 0.4:
        r.shuffle(order)
    elif r.random() < 0.5:
        order[n:] = order[:n - 1:-1] if n else order[::-1]
    sizes = [[*batch, *own][d] for d in order]
    name = t.factor(kind, sizes) if r.random() < 0.3 else t.parameter(t.shape(kind, sizes, r.random() < 0.2))
    return name, [order.index(d) for d in range(n)], [order.index(n), order.index(n + 1)]


def dot(t: Text, kind: str, batch: List[int], rows: int, columns: int, left: Tuple[str, List[int], int], right: Tuple[str, List[int], int]) -> Tuple[str, bool]:
    """The product of operands with their batch dimensions and the contracted one: its name, and whether rows come last."""
    turned = t.r.random() < 0.4
    (a, ab, ak), (b, bb, bk) = (right, left) if turned else (left, right)
    ends = [columns, rows] if turned else [rows, columns]
    of_batch = f", lhs_batch_dims={{{','.join(map(str, ab))}}}, rhs_batch_dims={{{','.join(map(str, bb))}}}" if batch else ""
    return t.put(t.shape(kind, [*batch, *ends]), f"dot({a}, {b}){of_batch}, lhs_contracting_dims={{{ak}}}, rhs_contracting_dims={{{bk}}}"), turned


def constant(t: Text, shape: str, kind: str, value: str) -> str:
    return t.put(shape, f"broadcast({t.put(f'{kind}[]', f'constant({value})')}), dimensions={{}}")


def spread(t: Text, shape: str, x: str, dims: Sequence[int]) -> str:
    return t.put(shape, f"broadcast({x}), dimensions={{{','.join(map(str, dims))}}}")


def masked(t: Text, kind: str, dims: List[int], row: int, x: str) -> str:
    """Scores with a mask: x[.., row, .., column ..]; row and column are the last two, either way round."""
    r, shape, column = t.r, t.shape(kind, dims), len(dims) * 2 - 3 - row
    how = r.choice(("none", "none", "causal", "causal", "bias", "rows"))
    if how == "bias":
        bias = t.parameter(t.shape(kind, dims[-2:]))
        return t.put(shape, f"add({x}, {spread(t, shape, bias, [len(dims) - 2, len(dims) - 1])})")
    if how == "none":
        return x
    preds, other = t.shape("pred", dims), constant(t, shape, kind, r.choice(("-inf", "-inf", "-30000")))
    if how == "rows":
        keep = spread(t, preds, t.parameter(f"pred[{dims[column]}]{{0}}"), [column])
        return t.put(shape, f"select({keep}, {x}, {other})")
    numbers = t.shape("s32", dims)
    i, j = t.put(numbers, f"iota(), iota_dimension={row}"), t.put(numbers, f"iota(), iota_dimension={column}")
    if r.random() < 0.3:
        i = t.put(numbers, f"add({i}, {constant(t, numbers, 's32', str(r.choice((-20, 1, 40))))})")
    a, b, direction = r.choice(((i, j, "GE"), (i, j, "GT"), (j, i, "LE"), (j, i, "LT")))
    keep = t.put(preds, f"compare({a}, {b}), direction={direction}")
    return t.put(shape, f"select({keep}, {x}, {other})")


def text_of(seed: int) -> str:
    t = Text(random.Random(seed))
    r = t.r
    kind = r.choice(("f16", "bf16"))
    scored, weighed = r.choice(("f32", "f32", kind)), r.choice(("f32", "f32", "f32", kind))
    batch = [r.choice((2, 3)) for _ in range(r.choice((0, 1, 1, 2)))]
    rows, columns, depth, width = r.choice(SIZES), r.choice(SIZES), r.choice(WIDTHS), r.choice(WIDTHS)
    n = len(batch)
    q, qb, (_, qk) = matrix(t, kind, batch, [rows, depth])
    k, kb, (_, kk) = matrix(t, kind, batch, [columns, depth])
    x, turned = dot(t, scored, batch, rows, columns, (q, qb, qk), (k, kb, kk))
    dims = [*batch, columns, rows] if turned else [*batch, rows, columns]
    row, column = (n + 1, n) if turned else (n, n + 1)
    shape = t.shape(scored, dims)
    if r.random() < 0.7:
        x = t.put(shape, f"multiply({x}, {constant(t, shape, scored, r.choice(('0.125', '0.25', '0.0883789')))})")
    if r.random() < 0.2:
        x = t.put(shape, f"tanh({x})")
    x = masked(t, scored, dims, row, x)
    if scored != weighed:
        x = t.put(t.shape(weighed, dims), f"convert({x})")
    shape, kept = t.shape(weighed, dims), [d for d in range(n + 2) if d != column]
    of_rows = t.shape(weighed, [dims[d] for d in kept])
    least, zero = t.put(f"{weighed}[]", "constant(-inf)"), t.put(f"{weighed}[]", "constant(0)")
    how, total = r.choice(("softmax",) * 8 + ("plain", "norm")), ""
    if how != "plain":
        if how == "softmax":
            top = t.put(of_rows, f"reduce({x}, {least}), dimensions={{{column}}}, to_apply=max.{weighed}")
            if r.random() < 0.2:
                top = t.put(of_rows, f"maximum({top}, {constant(t, of_rows, weighed, '-1000')})")
            x = t.put(shape, f"subtract({x}, {spread(t, shape, top, kept)})")
            x = t.put(shape, f"exponential({x})")
            term = x
        else:
            term = t.put(shape, f"abs({x})")
        total = t.put(of_rows, f"reduce({term}, {zero}), dimensions={{{column}}}, to_apply=add.{weighed}")
        if r.random() < 0.8:
            x, total = t.put(shape, f"divide({x}, {spread(t, shape, total, kept)})"), ""
    if weighed != kind:
        x = t.put(t.shape(kind, dims), f"convert({x})")
    if r.random() < 0.1:
        order = [*range(n), n + 1, n]
        x = t.put(t.shape(kind, [dims[d] for d in order]), f"transpose({x}), dimensions={{{','.join(map(str, order))}}}")
        column = order.index(column)
    v, vb, (vk, _) = matrix(t, kind, batch, [columns, width])
    to = r.choice((kind, "f32"))
    x, turned = dot(t, to, batch, rows, width, (x, list(range(n)), column), (v, vb, vk))
    dims = [*batch, width, rows] if turned else [*batch, rows, width]
    shape = t.shape(to, dims)
    if total:
        part = total if weighed == to else t.put(t.shape(to, [dims[d] for d in range(n)] + [rows]), f"convert({total})")
        x = t.put(shape, f"divide({x}, {spread(t, shape, part, [*range(n), n + 1 if turned else n])})")
    if r.random() < 0.3:
        x = t.put(shape, f"add({x}, {t.parameter(t.shape(to, dims, True))})")
    if r.random() < 0.3:
        order = list(range(n + 2))
        r.shuffle(order)
        shape = t.shape(to, [dims[d] for d in order])
        x = t.put(shape, f"transpose({x}), dimensions={{{','.join(map(str, order))}}}")
    lines = list(t.lines)
    lines[-1] = f"ROOT {lines[-1]}"
    body = "\n".join(f"  {line}" for line in lines)
    outer = "\n".join(f"  p{i} = {s} parameter({i})" for i, s in enumerate(t.parameters))
    operands = ", ".join(f"p{i}" for i in range(len(t.parameters)))
    entry = f"{outer}\n  ROOT y = {shape} fusion({operands}), kind=kCustom, calls=f"
    return f"HloModule m\n{REDUCTIONS.format(weighed)}\nf {{\n{body}\n}}\nENTRY e {{\n{entry}\n}}\n"


if __name__ == "__main__":
    options = Seeds(__doc__, "random_attention", 40)
    with asked_for(options, "attention", text_of) as more:
        sys.exit(judged(options, "attention", text_of, SINCE_80, "pnsedtu", MADE, LEAST_MADE, "kernels of two products", more))
