"""The limits of patterns/limits.py as enumerators of C, which no target changes: gen_hlo.py writes them into hlo_limits.h.

    tune('sort.short', value=4, because='places of a row ..')      =>      HLO_LIMIT_SORT_SHORT = 4, /* places of a row .. (patterns/limits.py:5) */
"""
from __future__ import annotations

import importlib
from typing import Iterator, List, Sequence

from gen.lang import PatternError, Tune

MOST = 1 << 16


def rows() -> List[Tune]:
    return list(importlib.import_module("patterns.limits").LIMITS)


def symbol(name: str) -> str:
    return "HLO_LIMIT_" + name.replace(".", "_").upper()


def faults(limits: Sequence[Tune]) -> Iterator[PatternError]:
    seen = set()
    for t in limits:
        if not isinstance(t, Tune) or t.bits or t.off is not None or not 1 <= t.value <= MOST:
            where = getattr(t, "where", ("patterns/limits.py", 1))
            yield PatternError(where, f"LIMITS holds {t!r}: a tune(..) of 1 to {MOST} without bits= and off= is expected")
        elif t.name in seen:
            yield PatternError(t.where, f"'{t.name}' is stated twice")
        else:
            seen.add(t.name)


def header(limits: Sequence[Tune]) -> str:
    for fault in faults(limits):
        raise fault
    lines = [f"    {symbol(t.name)} = {t.value}, /* {t.because} ({t.where[0]}:{t.where[1]}) */\n" for t in limits]
    return "".join(["/* Made by gen/gen_hlo.py from patterns/limits.py. */\n#ifndef HLO_LIMITS_H\n#define HLO_LIMITS_H\n\nenum {\n", *lines, "};\n\n#endif\n"])
