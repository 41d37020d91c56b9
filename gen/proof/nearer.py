"""The contract of `when=nearer`: the right side lies between values that the left side may have, its functions moved by their budgets.

That is what the evaluator's bounds allow, and it is no further from the exact value than the left side may be: the distance to a point is
largest at an end. Without it a rule must give the left side's bits, or, if its root is a function, stay within the budget of that alone.
Where every value of the left side is inf or nan, so is the right side; a zero keeps its sign. The functions of the right side are moved by their
budgets, too, so that such rules may follow each other. Budgets are those of the mode: under `approx` the looser ones, of what --accuracy xla
marks no more than it allows. With err=ulp(n) the right side is, besides, at most n units off the left side of real numbers.

    exp.f32(a) + exp.f32(a) -> 2.0 * exp.f32(a)        right: each exp may be off
"""
from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Dict, List, Sequence

from gen import load
from gen.expr import Expr, Guard, Node, PatternError, parts
from gen.load import walk
from gen.proof.code import Error, Ins, cls, width

if TYPE_CHECKING:
    from gen.lang import Rule
    from gen.proof.sides import Builder

MOST = 4  # functions of a left side, each of which is moved both ways


REAL = ("add", "sub", "mul", "neg", "abs")  # what the driver computes of real numbers besides functions


def asked(rule: "Rule") -> bool: return any(isinstance(c, Guard) and c.name == "nearer" for c in parts(rule.when))


def budget(op: str, t: str, approx: bool) -> Error:
    """How far a function may be off: (share, units, absolute)."""
    ulp, loose, absolute = load.budgets().get((op, t), (0, 0, 0))
    if approx and (op, t) in load.marked_xla():
        units, more = load.xla_budgets()[op, t]
        return 0, min(loose, units), min(absolute, more)
    return (0, loose, absolute) if approx else (0, ulp, 0)


class Left:
    """Values of the left side."""

    def __init__(self, b: "Builder") -> None:
        self.b = b
        self.explicit = any("approx" in e.flags for e in walk(b.rule.left) if isinstance(e, Node))  # else all nodes carry it, or none
        self.functions = [e for e in walk(b.rule.left) if isinstance(e, Node) and any(self.budget(e))]
        if not 1 <= len(self.functions) <= MOST:
            raise PatternError(b.rule.where, f"nearer: the left side has {len(self.functions)} functions that may be off; 1 to {MOST} are expected")

    def budget(self, e: Node) -> Error:
        return budget(e.op.name, self.b.element(e.types[0]), "approx" in e.flags or (self.b.approx and not self.explicit))

    def at(self, sides: Sequence[int]) -> int:
        """The left side with its functions moved up (1), down (-1) or not."""
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
                    r = b.add(Ins("nudge", to, (r, b.literal("i8", moved[id(e)])), e.op.name, error=self.budget(e)))
                memo[id(e)] = r
            return memo[id(e)]

        return value(b.rule.left, "")


def real(b: "Builder", e: Expr, t: str) -> int:
    """A term as a number of more digits: no step is rounded to the type, or overflows."""
    if not isinstance(e, Node):
        return b.value(e, t)
    if e.op.name not in REAL and not load.budgets().get((e.op.name, b.element(e.types[0]))):
        raise PatternError(b.rule.where, f"err=: no reference of real numbers is known for {e.name}")
    return b.add(Ins("function", b.element(e.types[0]), tuple(real(b, x, b.element(e.operand_type(n))) for n, x in enumerate(e.args)), e.op.name))


def contract(b: "Builder", right: int, t: str) -> None:
    """Says what the right side must be; both sides of the comparison of bits are then the right side."""
    if cls(t) != "F":
        raise PatternError(b.rule.where, f"nearer: the sides are {t}, which no value lies between")
    left, plain, s = Left(b), b.t.left, b.scalar
    values: List[int] = [left.at(sides) for sides in itertools.product((1, 0, -1), repeat=len(left.functions))]
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
    if b.rule.err is not None:
        b.t.left, b.t.contract, b.t.budget = real(b, b.rule.left, t), "ulp", (b.rule.err, 0)


__all__ = ["asked", "contract"]
