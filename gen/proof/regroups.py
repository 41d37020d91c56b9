"""The contract of `when=regroups`: both sides of a rule about sums of floats are sums of the same terms, each once; or of products, likewise.

Lemma. A reduction of HLO takes its terms in any order and any brackets, and src/eval holds a kernel to the bounds of all of them. So a sum in other
brackets is as right, and so is one whose partial sums are of a type that holds all values of the text's, or begin with 0, whose sign no bound sees. So
is a product, whose parts begin with 1. A product of integers is one number in any brackets, that of the ring of integers modulo 2^w; z3 does not find it.

What is left to prove has nothing to do with rounding: with integers of every width in place of floats, sums in place of products, and no conversions,
the sides are equal. Sums of integers that are equal at all values have the same terms, as each variable is a term that may be 1 where all others are 0.
The left side is one fold, of values as they are: what the text computes of a term, of the init or of the result it rounds, and no reduction may take that in
other brackets.

    fold_add.f32(a, b, i) -> fold_add.f32(fold_add.f32(a, 0.0, i % m), b, i // m)      is proved of fold_add.N and 0
"""
from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict

from gen import ops
from gen.expr import All, Guard, Lit, Node, PatternError, Type, Var, parts
from gen.forms import compares_indices, is_fold
from gen.lang import Rule
from gen.load import walk

NEUTRAL = {"add": 0, "mul": 1}
HOLDS = {"f32": ("f16", "bf16", *ops.SMALL_FLOATS), "f64": ("f16", "bf16", "f32", *ops.SMALL_FLOATS)}  # all values of these


def asked(r: Rule) -> bool: return any(isinstance(c, Guard) and c.name == "regroups" for c in parts(r.when))


class Integers:
    """A rule with its floats as integers."""

    def __init__(self, r: Rule) -> None:
        self.rule = r
        self.own = r.left.types[0] if isinstance(r.left, Node) else Type("?")
        root = r.left.op if isinstance(r.left, Node) else None
        self.combiner = (root.combiner or root.name) if root else ""
        self.memo: Dict[int, Any] = {}

    def fail(self, e: Any, why: str) -> None:
        raise PatternError(self.rule.where, f"regroups: {e} {why}")

    def check_left(self) -> None:
        """The left side adds by its fold alone."""
        for e in walk(self.rule.left):
            if isinstance(e, Node) and e is not self.rule.left and not compares_indices(e) and not (e.op.name == "select" and compares_indices(e.args[0])):
                self.fail(e, "is rounded by the text, and is no part of the reduction")
        if not is_fold(self.rule.left):
            self.fail(self.rule.left, "is rounded by the text: the left side is a fold")

    def holds(self, t: Type) -> bool: return t.name == self.own.name or all(m in HOLDS.get(t.name, ()) for m in self.own.members)

    def of(self, e: Any, root: bool) -> Any:
        if id(e) not in self.memo:
            self.memo[id(e)] = self._of(e, root)
        return self.memo[id(e)]

    def _of(self, e: Any, root: bool) -> Any:
        if isinstance(e, Lit):
            if e.value != NEUTRAL.get(self.combiner):
                self.fail(e, "is a term that the left side lacks; a sum may begin with 0, a product with 1")
            return Lit(0)
        if not isinstance(e, Node):
            return e
        to = e.types[0]
        if e.op.name == "select" and compares_indices(e.args[0]) and self.holds(to):  # by where a term stands, and no value
            return Node(e.op, (Type("N"),), (), [e.args[0], self.of(e.args[1], False), self.of(e.args[2], False)])
        if e.op.name == "cvt":
            there, back = isinstance(e.args[0], Var) and self.holds(to), root and to.name == self.own.name and self.holds(e.types[1])
            if not there and not back:
                self.fail(e, f"rounds a part of the sum, or to a type that does not hold all values of {self.own}")
            return self.of(e.args[0], False)
        of = e.op.combiner or e.op.name
        if of not in NEUTRAL or of != self.combiner or e.flags or not self.holds(to):
            what = "product" if self.combiner == "mul" else "sum"
            self.fail(e, f"is no {what} in a type that holds all values of {self.own}")
        as_sum = ops.OP_BY_NAME["fold_add" if e.op.combiner else "add"]
        return Node(as_sum, (Type("N"),), (), [self.of(e.args[0], False), self.of(e.args[1], False), *e.args[2:]])


def as_integers(r: Rule) -> Rule:
    """What is to be proved of a rule that asks for it; the rule itself if it does not."""
    if not asked(r):
        return r
    made = Integers(r)
    classes = {ops.TYPE_BY_NAME[m].cls for m in made.own.members}
    if not classes <= ({"F", "I", "U"} if made.combiner == "mul" else {"F"}) or any(isinstance(e, Node) and e.op.name == "cvt" for e in walk(r.left)):
        made.fail(r.left, "is no sum of floats, and no product")
    made.check_left()
    rest = [c for c in parts(r.when) if not (isinstance(c, Guard) and c.name == "regroups")]
    return replace(r, left=made.of(r.left, True), right=made.of(r.right, True), when=All(rest) if len(rest) > 1 else rest[0] if rest else None, programs={})


__all__ = ["as_integers", "asked"]
