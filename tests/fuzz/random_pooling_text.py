"""Texts of random fusions with a select-and-scatter: any rank, type, window, padding (also below 0), selection and combination; windows that overlap, that
leave gaps, that lie in padding entirely, and such that hold an element so often that the fusion keeps a scatter."""
import random
from typing import List, Sequence

FLOATS, INTS = ("f32", "f32", "bf16", "f16", "f64"), ("s32", "s8", "u8", "s64")


def listed(values: Sequence[object], by: str = ",") -> str:
    return by.join(str(v) for v in values)


def generate_pooling(seed: int) -> str:
    rng = random.Random(seed)
    t = rng.choice(rng.choice((FLOATS, INTS)))
    rank = rng.choice((1, 2, 2, 3, 4))
    out: List[int] = []
    while not out or min(out) < 1:
        dims = [rng.randint(1, 9 if rank > 2 else 40) for _ in range(rank)]
        size, stride = [rng.randint(1, 4) for _ in dims], [rng.randint(1, 3) for _ in dims]
        low, high = [rng.choice((0, 0, 1, 2, 4, -1, -2)) for _ in dims], [rng.choice((0, 0, 1, 2, -1)) for _ in dims]
        if rank == 1 and rng.random() < 0.2:
            dims, size, stride, low = [150], [rng.randint(60, 90)], [1], [rng.randint(0, 100)]
        out = [(d + lo + hi - s) // by + 1 if d + lo + hi >= s else 0 for d, lo, hi, s, by in zip(dims, low, high, size, stride)]
    select, combine = rng.choice(("GE", "GE", "LE", "GT", "LT")), rng.choice(("add", "add", "add", "maximum", "multiply", "subtract"))
    order = list(range(rank))
    rng.shuffle(order)
    x, s = f"{t}[{listed(dims)}]{{{listed(order)}}}", f"{t}[{listed(out)}]"
    pad = listed([f"{lo}_{hi}" for lo, hi in zip(low, high)], "x")
    window = f"size={listed(size, 'x')} stride={listed(stride, 'x')} pad={pad}"
    before = f"two = {t}[] constant(2)\n  twos = {s} broadcast(two), dimensions={{}}\n  v = {s} multiply(s, twos)" if rng.random() < 0.5 else f"v = {s} copy(s)"
    result = f"{t}[{listed(dims)}]"
    end = f"ROOT sum = {result} add(pooled, x)" if rng.random() < 0.5 else f"ROOT same = {result} copy(pooled)"
    return f"""HloModule pooling_{seed}
select {{ a = {t}[] parameter(0) b = {t}[] parameter(1) ROOT c = pred[] compare(a, b), direction={select} }}
combine {{ a = {t}[] parameter(0) b = {t}[] parameter(1) ROOT c = {t}[] {combine}(a, b) }}
ENTRY fusion {{
  x = {x} parameter(0)
  s = {s} parameter(1)
  {before}
  init = {t}[] constant({rng.choice((0, 0, 1))})
  pooled = {result} select-and-scatter(x, v, init), window={{{window}}}, select=select, scatter=combine
  {end}
}}
"""
