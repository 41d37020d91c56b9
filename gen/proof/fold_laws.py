"""Laws of combiners: terms of a fold that is written out may stand in any order and any brackets, as far as the operation has these laws.

Two sides that are one by such laws need no search: of folds of folds with sixteen terms z3 does not find it. Each law that is used is a case of the
rule's proof, of two or three variables, and proved as all others; so a law that an operation lacks fails the rule that needs it.

    max.f32(max.f32(b, max.f32(c, a0)), max.f32(c, a1))   =>   max.f32 of a0, a1, b, c
"""
from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, List, Set, Tuple

from gen import ops
from gen.expr import Lit, Node, Type, Var
from gen.lang import Rule
from gen.proof import folds

IDEMPOTENT = ("max", "min", "band", "bor")
IDENTITY: Dict[str, Tuple[Any, ...]] = {"add": (0, False), "bor": (0, False), "bxor": (0, False), "band": (-1, True)}  # of integers and preds
Law = Tuple[str, str, Tuple[Type, ...]]  # name, operation, types


def has_laws(e: Any) -> bool:
    """Sums of floats round, and products of wide integers are beyond z3: these stand as they are."""
    if not isinstance(e, Node) or e.flags or e.op.name not in (*IDEMPOTENT, *IDENTITY):
        return False
    return e.op.name in IDEMPOTENT or all(ops.TYPE_BY_NAME[m].cls in "PIU" for t in e.types for m in t.members)


def key(e: Any) -> str:
    if isinstance(e, Node):
        return f"{e.op.name}.{'.'.join(t.name for t in e.types)}.{'.'.join(map(str, e.flags))}({', '.join(map(key, e.args))})"
    return f"{e}:{id(e)}" if isinstance(e, Var) else repr(getattr(e, "value", e))


def is_identity(op: str, e: Any) -> bool:
    return isinstance(e, Lit) and any(e.value == n and isinstance(e.value, bool) == isinstance(n, bool) for n in IDENTITY.get(op, ()))


def ordered(e: Any, used: Set[Law]) -> Any:
    """e with the terms of each operation that has laws in one order, once each where that is the same."""
    if not isinstance(e, Node):
        return e
    if not has_laws(e):
        return Node(e.op, e.types, e.flags, [ordered(x, used) for x in e.args])
    name, todo, leaves = e.op.name, [e], []  # type: str, List[Any], List[Any]
    while todo:
        x = todo.pop()
        if isinstance(x, Node) and x.op is e.op and not x.flags and [t.name for t in x.types] == [t.name for t in e.types]:
            todo += x.args
        else:
            leaves.append(ordered(x, used))
    kept = [x for x in leaves if not is_identity(name, x)] or leaves[:1]
    by = {key(x): x for x in kept}
    some = [by[k] for k in sorted(by)] if name in IDEMPOTENT else sorted(kept, key=key)
    used |= {(law, name, tuple(e.types)) for law, yes in (("any brackets", True), ("any order", True), ("the same twice", len(some) < len(kept)),
                                                          ("identity", len(kept) < len(leaves))) if yes}
    out = some[0]
    for x in some[1:]:
        out = Node(e.op, e.types, (), [out, x])
    return out


def as_rule(r: Rule, law: Law) -> Rule:
    """The law as a rule, at the place of the one that needs it."""
    name, op, types = law
    a, b, c = (Var(n, "value") for n in "abc")
    of = lambda x, y: Node(ops.OP_BY_NAME[op], types, (), [x, y])
    pred = all(t.name in ("pred", "P") for t in types)
    sides = {"any brackets": (of(of(a, b), c), of(a, of(b, c))), "any order": (of(a, b), of(b, a)), "the same twice": (of(a, a), a),
             "identity": (of(a, Lit(IDENTITY.get(op, (0, 0))[int(pred)])), a)}
    left, right = sides[name]
    return replace(r, left=left, right=right, when=None, programs={})


def making_one(r: Rule) -> Set[Law]:
    """The laws by which both sides of a rule that is written out are one; none where these do not suffice, or none is needed."""
    used: Set[Law] = set()
    return used if key(ordered(r.left, used)) == key(ordered(r.right, used)) else set()


def needed(r: Rule) -> List[Tuple[Tuple[int, ...], Rule]]:
    """What is to be proved of a rule about folds: the rule at each extent, with that; of folds of folds, those at which laws do not make its sides one,
    and those laws. Of one fold z3 finds more: of floats it knows that 4 maxima may stand in any order, and not that 3 may."""
    several = len(folds.ranges_of(r)) > 1 or folds.is_option(r)
    some = [(n, x, making_one(x) if several else set()) for n, x in folds.written(r)]
    laws = sorted({law for _, _, used in some for law in used}, key=str)
    return [(n, x) for n, x, used in some if not used] + [((), as_rule(r, law)) for law in laws]
