"""The names of `strategy(..)`: src/plan/strategies.c, src/pipe/pieces.c and src/pipe/better_apart.c have a C function for each, src/fuse/grouping.c a
choice for those of an edge. The order of the rows is the order of trying, and belongs to the pattern file.

    fault([strategy("sort", because="..")])      ("patterns/strategies.py", 7), "strategy('sort', ..): needed= is missing: .."
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from gen.expr import here

PLACES: Dict[str, str] = {  # where it is tried, and the names
    "fusion": "steps.before steps.after across sums order scatter.apart attention product share window reductions share.alone scatter sort scan steps loop "
              "tile.results loop.few short rows sides exchange",
    "text": "scans windows pieces columns",
    "module": "again apart",
    "edge": "edge.join edge.into edge.again edge.leave edge.beside",
}
NAMES: Dict[str, str] = {name: place for place, some in PLACES.items() for name in some.split()}
NEEDED = ("loop", "order", "scatter", "sort")  # without which some fusion has no kernel
TAKEN = ("first", "cheaper", "tested")  # TgTaken of src/target/target.h
MOST = 32  # the numbers of rows at 'fusion' are bits of a word


@dataclass(frozen=True)
class Strategy:
    name: str
    at: str
    because: str
    save: Optional[int]  # percent of the time of the plan whose place it takes; None: it has no time that says so
    full_rates: bool
    fewer: int     # percent of its issue slots, below which one that takes as long takes its place, too
    launches: int  # that it has at least
    tested: str
    needed: str
    first: Tuple[str, ...]  # strategies that its first part does not try
    parts: Tuple[str, ...]  # that no part of it tries
    where: Tuple[str, int] = ("?", 0)

    def taken(self) -> str:
        return "cheaper" if self.save is not None else "tested" if self.tested else "first"

    def values(self, rows: Sequence["Strategy"]) -> List[Any]:
        """TgStrategy, by field."""
        bits = {r.name: 1 << n for n, r in enumerate(rows)}
        mask = lambda names: sum(bits[n] for n in names)
        return [self.name, list(PLACES).index(self.at), TAKEN.index(self.taken()), self.save or 0, self.full_rates, self.fewer, self.launches,
                mask(self.first), mask(self.parts), self.tested, self.needed, self.because, *self.where, False]


def strategy(name: str, because: str, at: str = "fusion", save: Optional[int] = None, full_rates: bool = False, fewer: int = 0, launches: int = 1,
             tested: str = "", needed: str = "", first: Sequence[str] = (), parts: Sequence[str] = ()) -> Strategy:
    """A way to make kernels; patterns/strategies.py explains the words."""
    return Strategy(name, at, because, save, full_rates, fewer, launches, tested, needed, tuple(first), tuple(parts), here())


def faults(rows: Sequence[Strategy], where: Tuple[str, int]) -> Iterator[Tuple[Tuple[str, int], str]]:
    """What is wrong with the rows of a target. where: of its list."""
    seen: Dict[str, Strategy] = {}
    for r in rows:
        say = lambda what, r=r: (r.where, f"strategy('{r.name}', ..): {what}")
        if r.name not in NAMES:
            yield say("no strategy is called so; gen/strategies.py has the names")
            continue
        if seen.setdefault(r.name, r) is not r:
            yield say(f"it is stated twice, first at {':'.join(map(str, seen[r.name].where))}")
        if r.at != NAMES[r.name]:
            yield say(f"at='{r.at}': '{NAMES[r.name]}' is expected")
        if not r.because.strip():
            yield say("because= is empty; a strategy without a reason is a guess")
        if r.save is not None and (type(r.save) is not int or not 0 <= r.save <= 99):
            yield say(f"save={r.save!r}: percent from 0 to 99 are expected")
        if r.save is not None and r.tested:
            yield say("save= and tested=: a time decides or a test of its own, not both")
        if type(r.fewer) is not int or not 0 <= r.fewer <= 99:
            yield say(f"fewer={r.fewer!r}: percent from 0 to 99 are expected")
        if r.launches not in (1, 2) or (r.launches == 2 and r.at != "fusion"):
            yield say(f"launches={r.launches!r}: 1, or 2 of a strategy that cuts a fusion, are expected")
        if bool(r.needed) != (r.name in NEEDED):
            yield say("needed= is missing: some fusion has no other kernel" if not r.needed else "needed=: every fusion has another kernel")
        for name in (n for n in (*r.first, *r.parts) if NAMES.get(n) != "fusion"):
            yield say(f"its parts do not try '{name}', which no fusion does")
    for name in (n for n in NAMES if n not in seen):
        yield where, f"STRATEGIES lacks '{name}'"
    for r in (r for n, r in enumerate(rows) if n >= MOST and r.at == "fusion"):
        yield r.where, f"strategy('{r.name}', ..): rows at 'fusion' are among the first {MOST}"


__all__ = ["NAMES", "PLACES", "Strategy", "faults", "strategy"]
