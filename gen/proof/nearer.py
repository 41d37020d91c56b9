"""The contract of `when=nearer`: the right side lies between values that the left side may have, its functions moved by their budgets.

That is what the evaluator's bounds allow, and it is no further from the exact value than the left side may be: the distance to a point is
largest at an end. Without it a rule must give the left side's bits, or, if its root is a function, stay within the budget of that alone.
Where every value of the left side is inf or nan, so is the right side; a zero keeps its sign.

    exp.f32(a) + exp.f32(a) -> 2.0 * exp.f32(a)        right: each exp may be off
"""
from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Dict, List, Sequence

from gen import load
from gen.expr import Expr, Guard, Node, PatternError, parts
from gen.load import walk
from gen.proof.code import Ins, cls, width

if TYPE_CHECKING:
    from gen.lang import Rule
    from gen.proof.sides import Builder

MOST = 4  # functions of a left side, each of which is moved both ways


def asked(rule: "Rule") -> bool: return any(isinstance(c, Guard) and c.name == "nearer" for c in parts(rule.when))


class Left:
    """Values of the left side."""

    def __init__(self, b: "Builder") -> None:
        self.b = b
        self.functions = [e for e in walk(b.rule.left) if isinstance(e, Node) and self.budget(e, b.element(e.types[0]))]
        if not 1 <= len(self.functions) <= MOST:
            raise PatternError(b.rule.where, f"nearer: the left side has {len(self.functions)} functions that may be off; 1 to {MOST} are expected")

    @staticmethod
    def budget(e: Node, t: str) -> float: return load.budgets().get((e.op.name, t), (0, 0, 0))[0]

    def at(self, sides: Sequence[int]) -> int:
        """The left side with its functions moved up (1) or down (-1)."""
        b, moved = self.b, dict(zip(map(id, self.functions), sides))
        memo: Dict[int, int] = {}

        def value(e: Expr, t: str) -> int:
            if not isinstance(e, Node):
                return b.value(e, t)
            if id(e) not in memo:
                to = b.element(e.types[0])
                args = [value(a, b.element(e.operand_type(n))) for n, a in enumerate(e.args)]
                r = b.scalar(e.op.name, to, *args, frm=b.element(e.types[-1]))
                if id(e) in moved:
                    r = b.add(Ins("nudge", to, (r, b.literal("i8", moved[id(e)])), e.op.name, error=(0, self.budget(e, to), 0)))
                memo[id(e)] = r
            return memo[id(e)]

        return value(b.rule.left, "")


def contract(b: "Builder", right: int, t: str) -> None:
    """Says what the right side must be; both sides of the comparison of bits are then the right side."""
    if cls(t) != "F":
        raise PatternError(b.rule.where, f"nearer: the sides are {t}, which no value lies between")
    left, plain, s = Left(b), b.t.left, b.scalar
    values: List[int] = [left.at(sides) for sides in itertools.product((1, -1), repeat=len(left.functions))]
    low = high = plain
    for r in values:
        low, high = s("min", t, low, r), s("max", t, high, r)  # nan if one is
    is_nan = lambda r: s("ne", t, r, r)
    between = s("band", "pred", s("le", t, low, right), s("le", t, right, high))
    some_nan = s("band", "pred", is_nan(low), s("bnot", "pred", is_nan(plain)))  # beyond the end of the domain, as of log at 1 moved down
    good = s("bor", "pred", s("bor", "pred", between, s("band", "pred", is_nan(plain), is_nan(right))), some_nan)
    b.t.bad.append((s("bnot", "pred", good), "further from the exact value than the left side may be"))
    u, i = f"u{width(t)}", f"i{width(t)}"
    unlike = s("lt", i, s("bits", i, s("bxor", u, s("bits", u, right, frm=t), s("bits", u, plain, frm=t)), frm=u), b.literal(i, 0))
    zeros = s("band", "pred", s("eq", t, right, b.literal(t, 0.0)), s("eq", t, plain, b.literal(t, 0.0)))
    b.t.bad.append((s("band", "pred", zeros, unlike), "a zero of another sign"))
    b.t.shown, b.t.left = plain, right


__all__ = ["asked", "contract"]
