"""Meanings of named conditions (guards.py) in a proof. A fact is an assumption about values; the flags nsz and
nnan weaken what the two sides must agree in."""
from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, List, Optional, Set, Tuple

from gen import guards, ops, reciprocals
from gen.lang import Expr, Guard, Node, Not, PatternError, Rule, Var, parts
from gen.load import walk
from gen.proof.code import EXACT, Ins, cls, literal_bits, width

if TYPE_CHECKING:
    from gen.proof.sides import Builder


def meaning(b: "Builder", c: Guard) -> Optional[int]:
    """Register that says whether a named condition holds; None if the condition is not a fact about values."""
    if guards.BY_NAME[c.name].kind != "fact":
        return None
    variable = b.var.get(id(c.args[0]))
    x = variable if variable is not None else b.value(c.args[0], b.element(c.args[0].result))  # type: ignore[attr-defined]
    t = b.t.type_of(x)
    both = lambda p, q: b.scalar("band", "pred", p, q)
    if c.name in ("within", "multiple"):
        exact = x if t == EXACT else b.add(Ins("of", EXACT, (x,)))
        ks = [b.constant(k) for k in c.args[1:]]
        if c.name == "within":
            return both(b.add(Ins("le", EXACT, (ks[0], exact))), b.add(Ins("lt", EXACT, (exact, ks[1]))))
        divides = b.add(Ins("eq", EXACT, (b.add(Ins("mod", EXACT, (exact, ks[0]))), b.integer(0))))
        return both(b.add(Ins("gt", EXACT, (ks[0], b.integer(0)))), divides)
    if c.name == "apart":
        return b.add(Ins("le", EXACT, (b.constant(c.args[2]), b.add(Ins("sub", EXACT, (b.value(c.args[1], EXACT), x))))))
    if c.name == "period":
        k, q = b.constant(c.args[1]), b.constant(c.args[2])
        low = b.add(Ins("mul", EXACT, (q, k)))
        inside = both(b.add(Ins("le", EXACT, (low, x))), b.add(Ins("lt", EXACT, (x, b.add(Ins("add", EXACT, (low, k)))))))
        return both(b.add(Ins("gt", EXACT, (k, b.integer(0)))), inside)
    if c.name in ("known_zero", "known_one"):
        mask = b.add(Ins("to", t, (b.constant(c.args[1]),)))
        inside = b.scalar("band", t, x, mask)
        return b.scalar("eq", t, inside, b.literal(t, 0) if c.name == "known_zero" else mask)
    if c.name == "literal":  # proved of all values
        return None
    if c.name == "reciprocal_in_two":  # some of them
        b.t.listed[x] = tuple(literal_bits(x, t) for x in reciprocals.some())
        return None
    if c.name == "power_of_two":
        bits, exponent, fraction = f"u{width(t)}", *power_masks(t)
        word = b.scalar("bits", bits, x, frm=t)
        scale, rest = (b.scalar("band", bits, word, b.literal(bits, mask)) for mask in (exponent, fraction))
        if x < len(b.t.types) and len(b.t.listed) < 2:  # of more, random bits are tried, of which few are powers
            b.t.listed[x] = powers_of_two(t)
        inside = both(b.scalar("gt", bits, scale, b.literal(bits, 0)), b.scalar("lt", bits, scale, b.literal(bits, exponent - fraction - 1)))
        return both(b.scalar("eq", bits, rest, b.literal(bits, 0)), inside)
    zero, one, yes = b.literal(t, 0.0), b.literal(t, 1.0), b.scalar("eq", t, x, x)
    if c.name == "finite":
        return b.scalar("is_finite", t, x)
    if c.name == "never_nan":
        return yes
    if c.name == "integral":
        return b.scalar("eq", t, x, b.scalar("trunc", t, x))
    if c.name == "unit":
        return both(b.scalar("ge", t, x, zero), b.scalar("le", t, x, one))
    if c.name == "nonnegative":
        i = f"i{width(t)}"
        return both(b.scalar("ge", t, x, zero), b.scalar("ge", i, b.scalar("bits", i, x, frm=t), b.literal(i, 0)))
    if c.name == "never_negzero":
        u = f"u{width(t)}"
        return b.scalar("ne", u, b.scalar("bits", u, x, frm=t), b.literal(u, 1 << width(t) - 1))
    raise PatternError(b.rule.where, f"{c}: the prover does not know {c.name}")


def power_masks(t: str) -> Tuple[int, int]:
    """The bits of a float's exponent, and those of its fraction."""
    fraction = (1 << {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}[t]) - 1
    return (1 << width(t) - 1) - 1 - fraction, fraction


def powers_of_two(t: str) -> Tuple[int, ...]:
    """The bits of the values of which the condition power_of_two holds."""
    exponent, fraction = power_masks(t)
    return tuple(sign | x for x in range(fraction + 1, exponent - fraction - 1, fraction + 1) for sign in (0, 1 << width(t) - 1))


def flagged(rule, flag: str) -> bool:  # type: ignore[no-untyped-def]
    """Whether all matched nodes carry a flag: it is written at each of them, or is a condition."""
    nodes = [e for e in walk(rule.left) if isinstance(e, Node)]
    written = bool(nodes) and all(flag in n.flags for n in nodes)
    return written or any(isinstance(c, Guard) and not isinstance(c, Not) and c.name == flag for c in parts(rule.when))


def fused(rule: Rule) -> List[Rule]:
    """The rule, and where it says `contract` also with one or more products of its left side fused into the sums they are terms of: the
    right side must be one of these."""
    if not flagged(rule, "contract"):
        return [rule]
    out, fma, neg = [rule], ops.OP_BY_NAME["fma"], ops.OP_BY_NAME["neg"]

    def versions(e: Expr) -> List[Expr]:
        if not isinstance(e, Node):
            return [e]
        made: List[Expr] = [e if all(x is y for x, y in zip(args, e.args)) else Node(e.op, e.types, e.flags, args)
                            for args in itertools.product(*map(versions, e.args))]
        for x in [x for x in made if isinstance(x, Node) and x.op.name in ("add", "sub")]:
            minus = lambda y, x=x: Node(neg, x.types, x.flags, [y]) if x.op.name == "sub" else y
            for n, (p, other) in enumerate((x.args, x.args[::-1])):
                if isinstance(p, Node) and p.op.name == "mul" and p.types == x.types:
                    factors = [p.args[0], p.args[1], minus(other)] if n == 0 else [minus(p.args[0]), p.args[1], other]
                    made.append(Node(fma, x.types, x.flags, factors))
        return made

    for left in versions(rule.left)[1:]:
        out.append(replace(rule, left=left, programs={}))
    return out


def always_used(e: Expr) -> Set[str]:
    """Variables that the value of e needs whatever a select in it chooses."""
    if isinstance(e, Var):
        return {e.name}
    needed = e.args[:1] if isinstance(e, Node) and e.op.name == "select" else e.args if isinstance(e, Node) else []
    return set().union(*map(always_used, needed))


def float_contract(b: "Builder", left: int, result: str) -> None:
    """left: register of the left side. nsz: the sides may differ in the sign of a zero. nnan: no value is a nan, but for one that a
    select does not choose."""
    if cls(result) == "F" and flagged(b.rule, "nsz"):
        b.t.contract = "zeros"
    if flagged(b.rule, "nnan"):
        used = always_used(b.rule.left)
        values = [r for r, t in enumerate(b.t.types) if t != "side" and cls(t) == "F" and b.t.names[r] in used]
        b.t.pre += [b.scalar("eq", b.t.type_of(r), r, r) for r in values + ([left] if cls(result) == "F" else [])]

