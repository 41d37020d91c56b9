"""The rows of `tune(..)`: between which values each is a number at all, and who asks for it. Beyond its range kernels race, launches fail, or the planner
divides by 0. A row says its range itself; which names are asked for is read in src, so that no list of names is kept.

    fault(tune('loop.block', value=100, power=True, least=32, most=1024, ..), 100)      "100: a power of two from 32 to 1024 is expected"
"""
from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import FrozenSet, Pattern

from gen.lang import MANY, Tune

BITS = (64, 32, 16, 8, 4, 2)  # sizes of types: a number that depends on these has a row for each
ASKED = re.compile(r'tg_tuned?\([^"();]*(?:\([^"();]*\))?[^"();]*"([a-z_]+\.[a-z0-9_.]+)"')
LITERAL = re.compile(r'"([a-z_]+(?:\.[a-z0-9_]+)+)"')


def fault(t: Tune, value: int, off: bool = False) -> str:
    """What is wrong with a value of the row; empty if nothing."""
    right = t.least <= value <= t.most and (not t.power or value & value - 1 == 0)
    kind = "a power of two" if t.power else "a sum of powers of two, its members," if t.powers else "a number"
    high = "2**40" if t.most == MANY else str(t.most)
    return "" if right else f"{'off=' if off else ''}{value}: {kind} from {t.least} to {high} is expected"


@lru_cache(maxsize=None)
def asked(src: Path, how: Pattern[str] = ASKED) -> FrozenSet[str]:
    """The names that C asks for by the two functions that do."""
    return frozenset(name for f in src.rglob("*.c") for name in how.findall(f.read_text()))


def is_asked(src: Path, name: str) -> bool:
    """By these, or by a function that calls them."""
    return name in asked(src, LITERAL)


__all__ = ["BITS", "asked", "fault", "is_asked"]
