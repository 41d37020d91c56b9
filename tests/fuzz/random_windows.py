#!/usr/bin/env python3
"""Random sums of shifted slices and pads of one array, whose threads may have neighbouring rows: compiled, run in the simulator, compared with the bounds.

    random_windows.py WARPBURG [COUNT] [--seed S] [--folder DIR]

An array is padded by a few rows and columns and sliced, or light values made of it are padded, each shifted by other numbers of rows and columns; they
are combined one after the other. Some are compiled for each target; a part must have a layout of neighbouring rows. Texts of those that fail stay in DIR.
Ends with `N passed, M failed`.
"""
import random
import sys
from typing import List

from seeds import TARGETS, Seeds, judged

WINDOWS = "neighbouring rows share"
LEAST_WINDOWS = 0.1


def text_of(seed: int) -> str:
    r = random.Random(seed)
    kind = r.choice(("f32", "f32", "bf16", "s32", "f16", "f64"))
    row, rows = r.choice((256, 512, 1024, 2048)), r.choice((4, 8, 16, 64)) * r.choice((1, 2, 3))
    images = max(1, r.choice((200, 400, 1200)) * 1000 // (row * rows))
    shape = f"{kind}[{images},{rows},{row}]"
    lines = [f"x = {shape} parameter(0)", f"w = {kind}[{row}] parameter(1)", f"z = {kind}[] constant({r.choice((0, 1, 3))})"]
    low, high = ([r.randint(0, 3), r.choice((0, 0, r.randint(0, 5)))] for _ in range(2))
    style, terms = r.choice(("slices", "pads", "both")), []  # type: str, List[str]
    if style != "pads":
        lines.append(f"p = {kind}[{images},{rows + low[0] + high[0]},{row + low[1] + high[1]}] pad(x, z), "
                     f"padding=0_0x{low[0]}_{high[0]}x{low[1]}_{high[1]}")
        for k in range(r.randint(2, 6)):
            at, column = r.randint(0, low[0] + high[0]), r.randint(0, low[1] + high[1])
            lines.append(f"s{k} = {shape} slice(p), slice={{[0:{images}], [{at}:{at + rows}], [{column}:{column + row}]}}")
            terms.append(f"s{k}")
    if style != "slices":
        lines.append(f"wide = {shape} broadcast(w), dimensions={{2}}")
        for k in range(r.randint(2, 4)):
            at, column = r.randint(-3, 3), r.choice((0, 0, r.randint(-4, 4)))
            lines.append(f"q{k} = {shape} {r.choice(('multiply(x, wide)', 'negate(x)'))}")
            lines.append(f"d{k} = {shape} pad(q{k}, z), padding=0_0x{at}_{-at}x{column}_{-column}")
            terms.append(f"d{k}")
    for k, term in enumerate(terms[1:]):
        lines.append(f"a{k} = {shape} {r.choice(('add', 'subtract', 'maximum'))}({f'a{k - 1}' if k else terms[0]}, {term})")
    lines[-1] = f"ROOT {lines[-1]}"
    body = "\n".join(f"  {line}" for line in lines)
    return (f"HloModule m\nf {{\n{body}\n}}\nENTRY e {{\n  x = {shape} parameter(0)\n  w = {kind}[{row}] parameter(1)\n"
            f"  ROOT y = {shape} fusion(x, w), kind=kLoop, calls=f\n}}\n")


if __name__ == "__main__":
    sys.exit(judged(Seeds(__doc__, "random_windows", 40), "windows", text_of, TARGETS, "pse", WINDOWS, LEAST_WINDOWS, "neighbouring rows"))
