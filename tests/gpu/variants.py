"""Other layouts of a kernel, to see on a GPU whether the one that was chosen is the fastest: those that `compile --explain` lists after it, and others that
move a factor of 2, 4 or 8 from one part of a dimension to another.

    columns: vector 4, lane 32; rows: warp 4, grid 64   ->   columns: vector 4, lane 32; rows: warp 8, grid 32
"""
from __future__ import annotations

import random
import re
from typing import Dict, Iterator, List

MISSES = 200
PARTS = ("vector", "lane", "warp", "cluster", "register", "grid")
Layout = Dict[str, Dict[str, int]]  # dimension, part: size

LISTED = re.compile(r"^    [\d.]+ us, [\w ]+ [\d.]+: (.*)$", re.M)  # not those of two stages, which --layout cannot say
CHOSEN = re.compile(r"^  layout (.*)$", re.M)


def listed(explained: str) -> List[str]:
    """The layouts that --explain lists, of which the first is the chosen one; where it lists none, the chosen one."""
    return LISTED.findall(explained) or CHOSEN.findall(explained)[:1]


def read(text: str) -> Layout:
    layout: Layout = {}
    for dimension in text.split(";"):
        name, parts = dimension.split(":")
        layout[name.strip()] = {w.split()[0]: int(w.split()[1]) for w in parts.split(",")}
    return layout


def write(layout: Layout) -> str:
    return "; ".join(f"{d}: " + ", ".join(f"{p} {parts[p]}" for p in sorted(parts, key=PARTS.index) if parts[p] > 1) for d, parts in layout.items()
                     if any(n > 1 for n in parts.values()))


def moved(layout: Layout, r: random.Random) -> Layout:
    """One or two factors moved; what a lane loses in one dimension it is given in another where that is possible."""
    new = {d: dict(parts) for d, parts in layout.items()}
    for _ in range(r.choice((1, 1, 2))):
        d, factor = r.choice(sorted(new)), r.choice((2, 2, 4, 8))
        givers = [p for p, n in new[d].items() if n % factor == 0 and p in PARTS]
        if not givers:
            continue
        giver = r.choice(givers)
        taker = r.choice([p for p in PARTS if p != giver])
        new[d][giver] //= factor
        new[d][taker] = new[d].get(taker, 1) * factor
    return new


def variants(explained: str, seed: int) -> Iterator[str]:
    """Texts for --layout, of which the compiler may decline some; first those that are listed, then others until MISSES in a row are known already.
    None of a kernel without a layout."""
    known = listed(explained)
    seen = set(known[:1])
    for text in known[1:]:
        seen.add(text)
        yield text
    r = random.Random(seed)
    misses = 0
    while known and misses < MISSES:
        misses += 1
        try:
            text = write(moved(read(r.choice(known)), r))
        except ValueError:
            return  # a layout that says more than sizes
        if text not in seen:
            seen.add(text)
            misses = 0
            yield text
