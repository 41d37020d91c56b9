"""Index maps in text: a reader, an evaluator and a generator of random maps, independent of warpburg; for index_map_algebra.py and others.

Expressions become Python expressions over exact integers. `/` rounds down; `mod` gives r with 0 <= r < |b|.

    parse("(d0)[s0] -> (d0 * 4 + s0), domain: d0 in [0, 7], s0 in [0, 3]").at((2, 1))     # (9,)
"""
from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from typing import Any, Callable, List, Optional, Tuple

TOKEN = re.compile(r"\s*(->|floordiv|floorDiv|ceildiv|ceilDiv|[A-Za-z_]\w*|\d+|[-+*/(){}\[\],:])")
WHOLE = {"KNOWN EMPTY": "KNOWN EMPTY", "UNDEFINED": "UNDEFINED", "unknown indexing": "UNDEFINED"}


@dataclass
class Map:
    state: str = ""  # or "KNOWN EMPTY", "UNDEFINED"
    kinds: List[str] = field(default_factory=list)  # of each variable: d, s or rt
    variables: List[Tuple[str, int, int]] = field(default_factory=list)
    results: List[str] = field(default_factory=list)  # Python expressions over x[0], x[1], ..
    constraints: List[Tuple[str, int, int]] = field(default_factory=list)
    operations: int = 0
    function: Optional[Callable[[Tuple[int, ...]], Any]] = None

    def at(self, point: Tuple[int, ...]) -> Optional[Tuple[int, ...]]:
        """The values; None outside the domain."""
        if self.state:
            return None
        if self.function is None:
            domain = [f"{lo} <= x[{i}] <= {hi}" for i, (_, lo, hi) in enumerate(self.variables)]
            domain += [f"{lo} <= {e} <= {hi}" for e, lo, hi in self.constraints]
            text = f"lambda x: ({''.join(r + ', ' for r in self.results)}) if {' and '.join(domain) or True} else None"
            self.function = eval(text, {"min": min, "max": max})  # made of tokens that were checked
        return self.function(point)


class Reader:
    def __init__(self, text: str) -> None:
        self.tokens: List[str] = []
        at = 0
        text = text.rstrip()
        while at < len(text):
            m = TOKEN.match(text, at)
            if not m:
                raise ValueError(f"what is {text[at:at + 20]!r}")
            self.tokens.append(m.group(1))
            at = m.end()
        self.tokens.append("")
        self.at = 0
        self.names: List[str] = []
        self.operations = 0

    def take(self, *words: str) -> str:
        word = self.tokens[self.at]
        if word not in words:
            return ""
        self.at += 1
        return word

    def expect(self, word: str) -> None:
        if not self.take(word):
            raise ValueError(f"expected {word!r}, found {self.tokens[self.at]!r}")

    def integer(self) -> int:
        sign = -1 if self.take("-") else 1
        self.at += 1
        return sign * int(self.tokens[self.at - 1])

    def factor(self) -> str:
        if self.take("-"):
            inner = self.factor()
            self.operations += not inner.isdigit()
            return f"(-{inner})"
        if self.take("("):
            inner = self.expression()
            self.expect(")")
            return inner
        word = self.take("min", "max")
        if word:
            self.expect("(")
            x = self.expression()
            self.expect(",")
            y = self.expression()
            self.expect(")")
            self.operations += 1
            return f"{word}({x}, {y})"
        word = self.tokens[self.at]
        self.at += 1
        return word if word.isdigit() else f"x[{self.names.index(word)}]"

    def product(self) -> str:
        x = self.factor()
        while True:
            op = self.take("*", "/", "mod", "floordiv", "floorDiv", "ceildiv", "ceilDiv")
            if not op:
                return x
            y = self.factor()
            self.operations += 1
            if op == "*":
                x = f"({x} * {y})"
            elif op == "mod":
                x = f"({x} % abs({y}))"
            else:
                x = f"(-(-{x} // {y}))" if op.startswith("ceil") else f"({x} // {y})"

    def expression(self) -> str:
        x = self.product()
        while True:
            op = self.take("+", "-")
            if not op:
                return x
            self.operations += 1
            x = f"({x} {op} {self.product()})"

    def interval(self) -> Tuple[int, int]:
        self.expect("[")
        lo = self.integer()
        self.expect(",")
        hi = self.integer()
        self.expect("]")
        return lo, hi

    def declared(self, left: str, right: str) -> List[str]:
        names: List[str] = []
        if self.take(left):
            while not self.take(right):
                names.append(self.tokens[self.at])
                self.at += 1
                self.take(",")
        return names


def parse(text: str) -> Map:
    if text.strip() in WHOLE:
        return Map(state=WHOLE[text.strip()])
    r, m = Reader(text), Map()
    for kind, left, right in (("d", "(", ")"), ("s", "[", "]"), ("rt", "{", "}")):
        names = r.declared(left, right)
        r.names += names
        m.kinds += [kind] * len(names)
    r.expect("->")
    r.expect("(")
    while not r.take(")"):
        m.results.append(r.expression())
        r.take(",")
    m.variables = [(name, -2**63, 2**63 - 1) for name in r.names]
    if r.take(","):
        r.expect("domain")
        r.expect(":")
        for i, name in enumerate(r.names):
            r.expect(name)
            r.expect("in")
            m.variables[i] = (name, *r.interval())
            r.take(",")
        while r.tokens[r.at]:
            e = r.expression()
            r.expect("in")
            m.constraints.append((e, *r.interval()))
            r.take(",")
    if r.tokens[r.at]:
        raise ValueError(f"after the map: {r.tokens[r.at]!r}")
    if any(lo > hi for _, lo, hi in m.variables + m.constraints):
        return Map(state="KNOWN EMPTY")
    m.operations = r.operations
    return m


def cost(m: Map) -> int:
    """The number of operations, plus one for each constraint."""
    return m.operations + len(m.constraints)


# --- random texts -----------------------------------------------------------------------------------------------------------------------
def _constant(dice: random.Random) -> int:
    kind = dice.randrange(10)
    if kind < 5:
        return dice.choice((1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32, 60, 64, 128))
    return dice.randint(1, 40) if kind < 8 else dice.randint(1, 2**20) if kind < 9 else dice.randint(1, 2**40)


def _signed(dice: random.Random) -> int:
    return _constant(dice) * dice.choice((1, 1, -1))


def _expression(dice: random.Random, names: List[str], depth: int) -> str:
    if depth == 0 or dice.randrange(8) == 0:
        return dice.choice(names) if dice.randrange(5) else str(dice.randint(-20, 20))
    x = _expression(dice, names, depth - 1)
    kind = dice.randrange(12)
    if kind < 4:
        return f"({x} {dice.choice('+-')} {_expression(dice, names, depth - 1)})"
    if kind < 6:
        return f"(({x}) * {_signed(dice)})"
    if kind < 8:
        return f"(({x}) / {_constant(dice)})"
    if kind < 10:
        return f"(({x}) mod {_constant(dice)})"
    if kind == 10:
        word = dice.choice(("min", "max"))
        return f"{word}({x}, {_expression(dice, names, depth - 1)})"
    op = dice.choice(("ceildiv {k}", "/ -{k}", "mod -{k}", "* {v}")).format(k=_constant(dice), v=dice.choice(names))
    return f"(({x}) {op})"


def random_map(dice: random.Random) -> str:
    """A random map with up to four variables and up to two constraints: like those of XLA's analysis, and more irregular ones."""
    counts = [dice.randint(1, 2), dice.randint(0, 2), dice.choice((0, 0, 0, 1))]
    kinds = [[f"{prefix}{i}" for i in range(n)] for prefix, n in zip(("d", "s", "rt"), counts)]
    names = sum(kinds, [])
    text = f"({', '.join(kinds[0])})" + (f"[{', '.join(kinds[1])}]" if kinds[1] else "") + (f"{{{', '.join(kinds[2])}}}" if kinds[2] else "")
    results = [_expression(dice, names, dice.randint(1, 6)) for _ in range(dice.randint(1, 2))]
    domain = []
    for name in names:
        lo = dice.choice((0, 0, 0, 0, dice.randint(-40, 10), -_constant(dice)))
        domain.append(f"{name} in [{lo}, {lo + dice.choice((dice.randrange(12), _constant(dice) - 1))}]")
    for _ in range(dice.choice((0, 0, 1, 2))):
        lo = dice.randint(-10, 30)
        depth = dice.choice((0, 1, 1, 2))
        kind = dice.randrange(3)
        e, k = _expression(dice, names, depth), dice.randint(2, 12)
        left = dice.randrange(k)
        domain.append(f"{e} in [{lo}, {lo + dice.randrange(40)}]" if kind else f"({e}) mod {k} in [{left}, {left}]")
    return f"{text} -> ({', '.join(results)}), domain: {', '.join(domain)}"
