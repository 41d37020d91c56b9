"""More than one way. `|` in conditions: a rule that has one is a rule for each way in which its conditions may hold. `cheaper`: a value with two lowerings.

    rewrite(x, y, when=A & (B | C))     rewrite(x, y, when=A & B), rewrite(x, y, when=A & C)
"""
from __future__ import annotations

import functools
import itertools
from typing import Any, List, Optional

from gen import ops
from gen.expr import All, Cond, Either, Expr, Lit, Node, Not, fail, lift


def ways(c: Optional[Cond]) -> List[Optional[Cond]]:
    """The conditions, without `|`, of which one holds where c does: of A & (B | C) these are A & B and A & C."""
    def inside(x: Cond) -> bool:
        return isinstance(x, Either) or (isinstance(x, Not) and inside(x.x)) or (isinstance(x, All) and any(map(inside, x.items)))

    def found(x: Cond, no: bool) -> List[List[Cond]]:
        if isinstance(x, Not):
            return found(x.x, not no)
        if isinstance(x, (All, Either)):
            each = [found(i, no) for i in x.items]
            if isinstance(x, Either) != no:
                return [some for one in each for some in one]
            return [[p for some in chosen for p in some] for chosen in itertools.product(*each)]
        return [[~x if no else x]]

    if c is None or not inside(c):
        return [c]
    return [All(some) if len(some) > 1 else some[0] for some in found(c, False)]


def each_way(make: Any) -> Any:
    """Of a rule with `|` in its conditions a list: a rule for each way in which they may hold."""
    @functools.wraps(make)
    def made(*sides: Any, when: Optional[Cond] = None, **more: Any) -> Any:
        if len(sides) > 2 or (when is not None and not isinstance(when, Cond)):
            return make(*sides, **({} if when is None else {"when": when}), **more)
        rules = [make(*sides, when=w, **more) for w in ways(when)]
        return rules if len(rules) > 1 else rules[0]
    return made


def cheaper(one: Any, other: Any) -> Expr:
    """A value that is computed in either of two ways, both right: the one that takes its target less time in the kernel, for all values of the rule."""
    one, other = lift(one), lift(other)
    t = next((x.result for x in (one, other) if isinstance(x, Node)), None)
    if t is None or any(ops.TYPE_BY_NAME[m].cls not in "PIUF" for m in t.members):
        fail(f"cheaper({one}, {other}): two ways of computing a value are expected, at least one of them an operation, and not of complex type")
    return Node(ops.OP_BY_NAME["select"], (t,), ("rare",), [Lit(False), other, one])  # src/pipe/branch.c decides selects whose condition never holds


def is_choice(e: Any) -> bool:
    """Whether e is what cheaper(..) makes: a rare select whose condition never holds."""
    return isinstance(e, Node) and "rare" in e.flags and isinstance(e.args[0], Lit) and not e.args[0].value


__all__ = ["cheaper", "each_way", "is_choice", "ways"]
