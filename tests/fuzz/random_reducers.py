"""Computations of random reductions: one operation, or associative ones that programs write."""
from __future__ import annotations

import random
from typing import Callable, List, NamedTuple

COMPLEX = ("c64", "c128")
FLOATS = ("f16", "bf16", "f32", "f64")


class Reducer(NamedTuple):
    name: str
    text: str
    types: List[str]     # of its arrays, that of the first given
    terms: List[str]     # how each is made; the first is the value: index, 0, 1, count (a constant 1 that starts as 0), own (any value)
    neutral: List[str]   # an initial value of each
    commutes: bool       # known to


def is_float(t: str) -> bool:
    return t[0] in "fb"


def simple(r: random.Random, t: str) -> Reducer:
    """One operation on both parameters."""
    if t in COMPLEX:
        ops = ["add", "add", "multiply"]
    elif t == "pred":
        ops = ["and", "or", "xor"]
    elif is_float(t):
        ops = ["add", "add", "add", "maximum", "minimum", "multiply"]
    else:
        ops = ["add", "add", "maximum", "minimum", "multiply", "and", "or", "xor"]
    op = r.choice(ops)
    if t == "f8e8m0fnu" and op == "add":             # it has no 0
        op = "multiply"
    neutral = {"add": "0", "multiply": "1", "maximum": "-inf" if t in FLOATS else "1", "minimum": "inf" if t in FLOATS else "1",
               "and": "true", "or": "false", "xor": "false"}[op]
    if t in COMPLEX:
        neutral = {"add": "(0, 0)", "multiply": "(1, 0)"}[op]
    elif t != "pred" and op in ("and", "or", "xor"):
        neutral = "1" if op == "and" else "0"
    x, y = ("a", "b") if r.random() < 0.8 else ("b", "a")
    name = f"{op}_{t}{'' if x == 'a' else '_swapped'}"
    text = f"{name} {{\n  a = {t}[] parameter(0)\n  b = {t}[] parameter(1)\n  ROOT c = {t}[] {op}({x}, {y})\n}}\n"
    return Reducer(name, text, [t], ["value"], [neutral], True)


def computation(name: str, types: List[str], lines: str, results: List[str]) -> str:
    """`lines` name the parameters a0, a1, .. (left) and b0, b1, .. (right); T0, T1, .. are the types."""
    parameters = [f"  {side}{k} = {t}[] parameter({k + len(types) * (side == 'b')})" for side in "ab" for k, t in enumerate(types)]
    for k, t in enumerate(types):
        lines = lines.replace(f"T{k}", f"{t}[]")
    made = [line.strip() for line in lines.strip().splitlines()]
    if len(types) > 1:
        made.append(f"ROOT out = ({', '.join(f'{t}[]' for t in types)}) tuple({', '.join(results)})")
    else:
        made = [("ROOT " + line) if line.startswith(f"{results[0]} =") else line for line in made]
    return "\n".join([f"{name} {{", *parameters, *[f"  {line}" for line in made], "}\n"])


def extreme(r: random.Random, t: str) -> Reducer:
    """The greatest or least value, and where it is; of equal ones the first; nan is kept where there is one."""
    index, greatest = r.choice(["s32", "s64", "u32", "s16"]), r.random() < 0.5
    name = f"{'argmax' if greatest else 'argmin'}_{t}_{index}"
    lines = f"""more = pred[] compare(a0, b0), direction={'GT' if greatest else 'LT'}
        nan = pred[] compare(a0, a0), direction=NE
        keep = pred[] or(more, nan)
        value = T0 select(keep, a0, b0)
        equal = pred[] compare(a0, b0), direction=EQ
        before = pred[] compare(a1, b1), direction=LT
        tie = pred[] and(equal, before)
        mine = pred[] or(keep, tie)
        number = T1 select(mine, a1, b1)"""
    start = ("-inf" if greatest else "inf") if t in FLOATS else "0"
    return Reducer(name, computation(name, [t, index], lines, ["value", "number"]), [t, index], ["value", "index"], [start, "0"], False)


def welford(r: random.Random, t: str) -> Reducer:
    """Mean, sum of squared distances, and count."""
    t = t if t in FLOATS else "f32"
    name = f"welford_{t}"
    lines = """n = T0 add(a2, b2)
        one = T0 constant(1)
        m = T0 maximum(n, one)
        delta = T0 subtract(b0, a0)
        share = T0 divide(b2, m)
        step = T0 multiply(delta, share)
        mean = T0 add(a0, step)
        square = T0 multiply(delta, delta)
        weight = T0 multiply(a2, share)
        between = T0 multiply(square, weight)
        within = T0 add(a1, b1)
        sum = T0 add(within, between)"""
    return Reducer(name, computation(name, [t] * 3, lines, ["mean", "sum", "n"]), [t] * 3, ["value", "0", "count"], ["0", "0", "0"], False)


def log_sum(r: random.Random, t: str) -> Reducer:
    """The maximum, and the sum of the exponentials of the distances from it."""
    t = t if t in FLOATS else "f32"
    name = f"log_sum_{t}"
    lines = """top = T0 maximum(a0, b0)
        da = T0 subtract(a0, top)
        db = T0 subtract(b0, top)
        ea = T0 exponential(da)
        eb = T0 exponential(db)
        sa = T0 multiply(a1, ea)
        sb = T0 multiply(b1, eb)
        sum = T0 add(sa, sb)"""
    return Reducer(name, computation(name, [t, t], lines, ["top", "sum"]), [t, t], ["value", "1"], ["-1000", "0"], False)


def matrices(r: random.Random, t: str) -> Reducer:
    """Products of matrices of 2 by 2, row by row."""
    name = f"matrices_{t}"
    lines = "\n".join(f"x{i}{j} = T0 multiply(a{2 * i}, b{j})\ny{i}{j} = T0 multiply(a{2 * i + 1}, b{j + 2})\nr{i}{j} = T0 add(x{i}{j}, y{i}{j})"
                      for i in range(2) for j in range(2))
    return Reducer(name, computation(name, [t] * 4, lines, ["r00", "r01", "r10", "r11"]), [t] * 4, ["value", "own", "own", "own"],
                   ["1", "0", "0", "1"], False)


def affine(r: random.Random, t: str) -> Reducer:
    """Functions x -> m x + n, the left one first."""
    name = f"affine_{t}"
    lines = "m = T0 multiply(a0, b0)\nx = T0 multiply(a1, b0)\nn = T0 add(x, b1)"
    return Reducer(name, computation(name, [t, t], lines, ["m", "n"]), [t, t], ["value", "own"], ["1", "0"], False)


def first(r: random.Random, t: str) -> Reducer:
    """The first, or the last, that is above 0."""
    side = r.choice(["first", "last"])
    x, y = ("a0", "b0") if side == "first" else ("b0", "a0")
    name = f"{side}_{t}"
    lines = f"zero = T0 constant(0)\nabove = pred[] compare({x}, zero), direction=GT\nr = T0 select(above, {x}, {y})"
    return Reducer(name, computation(name, [t], lines, ["r"]), [t], ["value"], ["0"], False)


def largest_magnitude(r: random.Random, t: str) -> Reducer:
    name = f"magnitude_{t}"
    sign = "T0 negate" if t[0] == "u" else "T0 abs"
    lines = f"x = {sign}(a0)\ny = {sign}(b0)\nmore = pred[] compare(x, y), direction=GE\nr = T0 select(more, a0, b0)"
    return Reducer(name, computation(name, [t], lines, ["r"]), [t], ["value"], ["0"], False)


def both_sums(r: random.Random, t: str) -> Reducer:
    """A sum and a maximum of one pass."""
    name = f"sum_max_{t}"
    lines = "s = T0 add(a0, b0)\nm = T0 maximum(a1, b1)"
    return Reducer(name, computation(name, [t, t], lines, ["s", "m"]), [t, t], ["value", "own"], ["0", "0"], False)


REDUCERS: List[Callable[[random.Random, str], Reducer]] = [extreme, extreme, extreme, welford, log_sum, matrices, affine, first, largest_magnitude,
                                                           both_sums]
