"""Compiles rules of complex values to code on their parts: each variable becomes two, and each part of the result is a case.

Exact operations (sums, products by their formula, comparisons, moves) are on both sides the same operations on the parts, compared bit by bit. A
function is compared with the exact complex number; each part may be off by the budget, in units of the larger part. HLO does not define
the result where an operand is not finite or a divisor is 0: quotients are those of C11 Annex G there, and others
may be anything. A function of complex values on the right side is taken as exact, rounded to the parts' type.

    exp.c128(a) -> complex.c128.f64(..)     r0 = a.re: f64   r1 = a.im: f64   r2 = exp, exactly, part 0, of (r0, r1)   r3 = ..
"""
from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Dict, FrozenSet, Iterator, Tuple

from gen import load, ops
from gen.lang import Expr, Node, PatternError, Rule, Var
from gen.load import walk
from gen.proof.code import Errors, Ins, Terms
from gen.proof.sides import Builder

Pair = Tuple[int, int]
SIDES = 4  # inexact results that may move at once
EXACT_PARTS = ("add", "sub", "neg", "mul", "select")


def is_complex(rule: Rule) -> bool:
    return any(t.name in ops.COMPLEX for e in walk(rule.left) if isinstance(e, Node) for t in e.types)


@lru_cache(maxsize=None)
def referenced() -> FrozenSet[str]:
    """The functions that the driver knows exactly."""
    return frozenset(x.lower() for x in re.findall(r"case OP_(\w+):", Path(__file__).with_name("complex_reference.h").read_text()))


class Parts(Builder):
    """Builds each part of a complex expression."""

    pairs: Dict[int, Pair]

    def part_variables(self, e: Expr, t: str) -> None:
        """One variable for each value, two for a complex one."""
        if isinstance(e, Var) and id(e) not in self.var:
            self.var[id(e)] = len(self.t.types)
            part = ops.COMPLEX.get(t, t)
            self.t.names += [f"{e.name}.re", f"{e.name}.im"] if t in ops.COMPLEX else [e.name]
            self.t.types += [part, part] if t in ops.COMPLEX else [part]
        for n, x in enumerate(e.args if isinstance(e, Node) else ()):
            self.part_variables(x, self.element(e.operand_type(n)))

    def pair(self, e: Expr) -> Pair:
        if isinstance(e, Var):
            return self.var[id(e)], self.var[id(e)] + 1
        assert isinstance(e, Node)
        if id(e) not in self.pairs:
            t = ops.COMPLEX[e.types[0].name]
            if e.op.name == "complex":
                self.pairs[id(e)] = (self.value(e.args[0], t), self.value(e.args[1], t))
            elif e.op.name in EXACT_PARTS:
                self.pairs[id(e)] = (self.exact(e, 0), self.exact(e, 1))
            elif e.op.name not in referenced():
                raise PatternError(self.rule.where, f"{e.name} has no meaning inside a rule: write its parts, complex.c64.f32(.., ..)")
            else:
                inside = tuple(r for x in e.args for r in self.pair(x))
                self.pairs[id(e)] = (self.add(Ins("cpart", t, inside, e.op.name, imm=0)), self.add(Ins("cpart", t, inside, e.op.name, imm=1)))
        return self.pairs[id(e)]

    def exact(self, e: Node, part: int) -> int:
        """Register of a part of an operation of EXACT_PARTS."""
        t = ops.COMPLEX[e.types[0].name]
        if e.op.name == "select":
            return self.scalar("select", t, self.value(e.args[0], "pred"), self.pair(e.args[1])[part], self.pair(e.args[2])[part])
        values = [self.pair(x) for x in e.args]
        if e.op.name != "mul":
            return self.scalar(e.op.name, t, *(v[part] for v in values))
        (x, y), (u, v) = values
        product = lambda p, q: self.scalar("mul", t, p, q)
        return self.scalar("add", t, product(x, v), product(y, u)) if part else self.scalar("sub", t, product(x, u), product(y, v))

    def node(self, e: Node) -> int:
        of_complex = e.types[-1].name in ops.COMPLEX
        if e.op.name == "modulus":
            return self.scalar("hypot", ops.COMPLEX[e.types[-1].name], *self.pair(e.args[0]))
        if of_complex and e.op.name in ("eq", "ne"):
            (x, y), (u, v), t = *(self.pair(a) for a in e.args), ops.COMPLEX[e.types[-1].name]
            return self.scalar("band" if e.op.name == "eq" else "bor", "pred", self.scalar(e.op.name, t, x, u), self.scalar(e.op.name, t, y, v))
        if of_complex and e.op.name not in ("re", "im"):
            raise PatternError(self.rule.where, f"{e.name} has no meaning inside a rule: write it of its parts, re.f32.c64(..) and im.f32.c64(..)")
        return self.pair(e.args[0])[e.op.name == "im"] if e.op.name in ("re", "im") else super().node(e)


def meaning(b: Parts, left: Node, part: int) -> int:
    """Register of a part of the left side."""
    name, c = left.op.name, left.types[-1].name
    if c not in ops.COMPLEX or name in ("re", "im", "complex"):
        return b.pair(left)[part] if left.types[0].name in ops.COMPLEX else b.value(left, left.types[0].name)
    t = ops.COMPLEX[c]
    if name in EXACT_PARTS:
        return b.exact(left, part)
    values = [b.pair(x) for x in left.args]
    if name in ("eq", "ne"):
        return b.scalar("band" if name == "eq" else "bor", "pred", *(b.scalar(name, t, values[0][k], values[1][k]) for k in (0, 1)))
    budget = load.budgets()["abs" if name == "modulus" else name, c]
    if name == "modulus":
        b.t.contract, b.t.budget = "ulp", (budget[0], 0)
        return b.add(Ins("function", t, values[0], "hypot"))
    b.t.contract, b.t.budget = "complex", (budget[0], 0)
    return b.add(Ins("cref", t, tuple(r for v in values for r in v), name, imm=part))


def terms_of(rule: Rule, errors: Errors) -> Iterator[Tuple[str, Terms]]:
    """(label, terms) for each part of the result."""
    assert isinstance(rule.left, Node) and isinstance(rule.right, Expr)
    whole = rule.left.op.sig != "compare" and rule.left.types[0].name in ops.COMPLEX
    for part in (0, 1) if whole else (0,):
        b = Parts(rule, {}, errors, False)
        b.pairs = {}
        b.part_variables(rule.left, rule.left.types[0].name)
        b.t.names += [""] * SIDES
        b.t.types += ["side"] * SIDES
        b.left_ids = {id(e) for e in walk(rule.left)}
        b.t.left = meaning(b, rule.left, part)
        b.right_side = True
        b.t.right = b.pair(rule.right)[part] if whole else b.value(rule.right, "pred" if rule.left.op.sig == "compare" else rule.left.types[0].name)
        yield f"{next(t.name for t in rule.left.types if t.name in ops.COMPLEX)}.{'im' if part else 're'}", b.t


__all__ = ["is_complex", "terms_of"]
