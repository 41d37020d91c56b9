"""Constants that satisfy the conditions of a rule, where values chosen for each alone do not meet: `(k == 100) & (m == 99)`, `k + m == 32`.

Needs the conditions of a rule; leaves assignments, for proofs and for terms that the rule matches. Constants are bound in order: an equation with one
constant that is not bound gives it, where it is linear in it; others take each number near the literals of the conditions.

    assignments(rule, 32)      [{"k": 1, "m": 31}, {"k": 2, "m": 30}, ..]
"""
from __future__ import annotations

from typing import Dict, Iterator, List, Optional, Sequence

from gen.expr import Arith, Cond, Expr, Lit, Not, Relation, Var, Width, parts
from gen.forms import inside
from gen.lang import Rule
from gen.match import RELATE, arithmetic
from gen.opcodes import REL

Bound = Dict[str, int]
MOST = 16        # assignments a rule
TRIED = 200_000  # values for all of them


def value(e: Expr, at: Bound, w: int) -> Optional[int]:
    """e with these constants; None where one is not bound, or a divisor is not positive."""
    if isinstance(e, Lit):
        return int(e.value)
    if isinstance(e, Width):
        return w
    if isinstance(e, Var):
        return at.get(e.name)
    assert isinstance(e, Arith)
    x, y = value(e.x, at, w), value(e.y, at, w)
    return None if x is None or y is None else arithmetic(e.op, x, y)


def compared(c: Cond) -> List[Expr]:
    """The expressions of a relation between constants; none of another condition."""
    r = c.x if isinstance(c, Not) else c
    return [*inside(r.x), *inside(r.y)] if isinstance(r, Relation) else []


def holds(c: Cond, at: Bound, w: int) -> bool:
    r = c.x if isinstance(c, Not) else c
    assert isinstance(r, Relation)
    x, y = value(r.x, at, w), value(r.y, at, w)
    return x is not None and y is not None and bool(RELATE[REL[r.rel]](x, y)) != isinstance(c, Not)


def solved(c: Cond, name: str, at: Bound, w: int) -> Optional[int]:
    """The value of the constant for which an equation holds that is linear in it."""
    if not isinstance(c, Relation) or c.rel != "==":
        return None
    off = [None if x is None or y is None else x - y for v in (0, 1) for x, y in ((value(c.x, {**at, name: v}, w), value(c.y, {**at, name: v}, w)),)]
    if off[0] is None or off[1] is None or off[0] == off[1] or off[0] % (off[0] - off[1]):
        return None
    return off[0] // (off[0] - off[1])


def assignments(rule: Rule, w: int) -> List[Bound]:
    """At most MOST assignments of the rule's constants that satisfy its relations; w: the width of its class."""
    names = list(dict.fromkeys(v.name for v in inside(rule.left) if isinstance(v, Var) and v.kind == "const"))
    conditions = [(c, {v.name for v in compared(c) if isinstance(v, Var)}) for c in parts(rule.when) if compared(c)]
    literals = {int(e.value) + d for c, _ in conditions for e in compared(c) if isinstance(e, Lit) for d in (-1, 0, 1)}
    numbers = sorted({*range(-2, 34), *literals, w - 1, w, w + 1, *(1 << n for n in range(5, 64))}, key=lambda n: (n <= 0, abs(n)))
    tries = iter(range(TRIED))

    def bound(rest: Sequence[str], at: Bound) -> Iterator[Bound]:
        if not rest:
            yield at
            return
        given = next(((name, v) for name in rest for c, of in conditions if of - set(at) == {name} for v in (solved(c, name, at, w),) if v is not None), None)
        name, some = (given[0], [given[1]]) if given else (rest[0], numbers)
        for v in some:
            if next(tries, None) is None:
                return
            now = {**at, name: v}
            if all(holds(c, now, w) for c, of in conditions if name in of and of <= set(now)):
                yield from bound([x for x in rest if x != name], now)

    return [at for _, at in zip(range(MOST), bound(names, {}))] if names and conditions else []
