"""`strategy(..)`: its words, and what is wrong with a row. A name is that of the function that makes such a plan, with dots as underscores: plan_make_NAME
of src/plan for a row at 'fusion' or 'text'; 'edge.NAME' is that of a move, fuse_move_NAME of src/fuse, and of its choice. `definitions` lists these for C,
which declares and calls them by it, and those at 'module', make_NAME of src/pipe/better_apart.c. The order of the rows is the order of trying.

    fault([strategy("sort", because=" ")])      ("patterns/strategies.py", 7), "strategy('sort', ..): because= is empty; .."
"""
from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

from gen.expr import here

PLACES = ("fusion", "text", "module", "edge")  # where it is tried; TgPlace of src/target/target.h
TAKEN = ("first", "cheaper", "tested")  # TgTaken of src/target/target.h
NAME = re.compile(r"[a-z]+(\.[a-z]+)*")
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
    rival: bool    # it is made of the plan whose place it takes
    where: Tuple[str, int] = ("?", 0)

    def taken(self) -> str:
        return "cheaper" if self.save is not None else "tested" if self.tested else "first"

    def values(self, rows: Sequence["Strategy"]) -> List[Any]:
        """TgStrategy, by field."""
        bits = {r.name: 1 << n for n, r in enumerate(rows)}
        mask = lambda names: sum(bits[n] for n in names)
        return [self.name, PLACES.index(self.at), TAKEN.index(self.taken()), self.rival, self.save or 0, self.full_rates, self.fewer, self.launches,
                mask(self.first), mask(self.parts), self.tested, self.needed, self.because, *self.where, False]


def strategy(name: str, because: str, at: str = "fusion", save: Optional[int] = None, full_rates: bool = False, fewer: int = 0, launches: int = 1,
             tested: str = "", needed: str = "", first: Sequence[str] = (), parts: Sequence[str] = (), rival: bool = False) -> Strategy:
    """A way to make kernels; patterns/strategies.py explains the words."""
    return Strategy(name, at, because, save, full_rates, fewer, launches, tested, needed, tuple(first), tuple(parts), rival, here())


def faults(rows: Sequence[Strategy]) -> Iterator[Tuple[Tuple[str, int], str]]:
    """What is wrong with the rows of a target."""
    seen: Dict[str, Strategy] = {}
    for r in rows:
        say = lambda what, r=r: (r.where, f"strategy('{r.name}', ..): {what}")
        if not NAME.fullmatch(r.name):
            yield say("lower-case words, joined by dots, are expected, which name a C function")
        if seen.setdefault(r.name, r) is not r:
            yield say(f"it is stated twice, first at {':'.join(map(str, seen[r.name].where))}")
        if (r.at == "edge") != r.name.startswith("edge."):
            yield say("a row at 'edge', and no other, is called edge.NAME")
        if r.at not in PLACES:
            yield say(f"at='{r.at}': one of {', '.join(PLACES)} is expected")
        if not r.because.strip():
            yield say("because= is empty; a strategy without a reason is a guess")
        if r.save is not None and (type(r.save) is not int or not 0 <= r.save <= 99):
            yield say(f"save={r.save!r}: percent from 0 to 99 are expected")
        if r.save is not None and r.tested:
            yield say("save= and tested=: a time decides or a test of its own, not both")
        if type(r.fewer) is not int or not 0 <= r.fewer <= 99:
            yield say(f"fewer={r.fewer!r}: percent from 0 to 99 are expected")
        if r.launches not in (1, 2) or (r.launches == 2 and r.at not in ("fusion", "module")):
            yield say(f"launches={r.launches!r}: 1, or 2 of a strategy that cuts a fusion or a module, are expected")
        if r.rival and (r.at == "edge" or (r.save is None and not r.tested)):
            yield say("rival: with save= or tested=, and of no edge, is expected")
        for name in (n for n in (*r.first, *r.parts) if not any(x.name == n and x.at == "fusion" for x in rows)):
            yield say(f"its parts do not try '{name}', which no fusion does")
    for r in (r for n, r in enumerate(rows) if n >= MOST and r.at == "fusion"):
        yield r.where, f"strategy('{r.name}', ..): rows at 'fusion' are among the first {MOST}"


def definitions(rows: Iterable[Strategy]) -> str:
    """strategies.def: what C has for each row, each once; an includer defines the macros of those that it wants."""
    made = {r.name: r for r in rows}
    moves = {r.name: r.name[len("edge."):].replace(".", "_") for r in made.values() if r.at == "edge"}
    named = lambda macro, *at: [f'{macro}({r.name.replace(".", "_")}, "{r.name}")' for r in made.values() if r.at in at]
    lists = {"STRATEGY": named("STRATEGY", "fusion", "text"), "MODULE": named("MODULE", "module"),
             "EDGE": [f'EDGE({move}, {move.upper()}, "{name}")' for name, move in moves.items()]}
    return ("/* Generated from patterns/strategies.py: a C function for each row, a move and a choice for one of an edge. */\n" +
            "".join(f"#ifdef {macro}\n" + "".join(f"{line}\n" for line in lines) + "#endif\n" for macro, lines in lists.items()))


__all__ = ["PLACES", "Strategy", "definitions", "faults", "strategy"]
