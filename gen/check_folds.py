"""Structure of rules about folds: they get fewer or smaller, their values keep to the ranges that may change them, and a fold of the right side counts
each term once. Options are taken once, as a plan asks for it, and need not shrink.

    fold_add.N(fold_add.N(a, 0, j), b, i) -> fold_add.N(a, b, i*k + j)                      refused without counts(j, k)
"""
from __future__ import annotations

from typing import Iterable, List, Optional, Tuple

from gen import ops
from gen.expr import Arith, Expr, Guard, Lit, Node, PatternError, Relation, Var, children, parts
from gen.forms import compares_indices, digits, is_fold, part_of
from gen.lang import Rule
from gen.load import walk

MOST = 16  # terms of a fold that a proof writes out: of those behind them it shows nothing


def folds(e: Expr) -> Tuple[int, int, int]:
    """What rules about folds decrease, in lexicographic order: folds, operations that each term of one has, all operations."""
    over = [x for x in walk(e) if is_fold(x)]
    inside = {id(y): y for f in over for y in walk(f.args[0]) if isinstance(y, Node)}
    return len(over), len(inside), sum(isinstance(x, Node) for x in walk(e))


def check_scopes(r: Rule, right: Expr) -> None:
    """A value that a range may change stands in a fold or a take of the right side, too: elsewhere the range has no value."""
    def outside(e: Expr) -> Iterable[Expr]:
        over = is_fold(e) or (isinstance(e, Node) and e.op.name == "take")
        return [e, *(y for x in children(e)[1 if over else 0:] for y in outside(x))]

    fixed = {id(c.args[0]) for c in parts(r.when) if isinstance(c, Guard) and c.name == "fixed"}
    free = {id(x) for x in outside(r.left)}
    for x in outside(right):
        if isinstance(x, Var) and x.kind == "value" and id(x) not in free | fixed:
            raise PatternError(r.where, f"{x} stands in no fold on the right side, and may differ from term to term: fixed({x}, i) says that it does not")
        if isinstance(x, Node) and x.op.name == "idx":
            raise PatternError(r.where, f"{x} stands in no fold on the right side, where the index has no value")


def check_ranges(r: Rule) -> None:
    """A fold of the left side has one index, one of the right side may have several as digits of a number: i*k + j, where j has k values. Two of an
    option's may have a part of an index each: i // m and i % m."""
    counted = {(id(c.args[0]), id(c.args[1])) for c in parts(r.when) if isinstance(c, Guard) and c.name == "counts"}
    check_parts(r, [f for f in walk(r.right) if is_fold(f) and part_of(f.args[2])])  # type: ignore[arg-type, attr-defined]
    for f, most in [(f, n) for side, n in ((r.left, 1), (r.right, 2)) for f in walk(side) if is_fold(f)]:  # type: ignore[arg-type]
        if most == 2 and part_of(f.args[2]):  # type: ignore[attr-defined]
            continue
        over = digits(f.args[2])  # type: ignore[attr-defined]
        if not over or min(len(over), 2) > most:
            raise PatternError(r.where, f"{f}: a fold goes over an index, i; one of the right side may go over i*k + j")
        if len({id(i) for i, _ in over}) < len(over):
            raise PatternError(r.where, f"{f}: counts some terms twice, and others never")
        for i, k in over:
            if k is not None and (id(i), id(k)) not in counted:
                raise PatternError(r.where, f"{f}: {f.args[2]} counts each term once where {i} has {k} values: counts({i}, {k})")  # type: ignore[attr-defined]


def check_parts(r: Rule, folds: List[Node]) -> None:
    """Folds over parts of an index: all terms, each once, are those of i // m with those of i % m, where m divides the number of values."""
    counted = {id(c.args[0]): c.args[1] for c in parts(r.when) if isinstance(c, Guard) and c.name == "counts"}
    divided = {(id(c.x.x), id(c.x.y)) for c in parts(r.when) if isinstance(c, Relation) and c.rel == "==" and getattr(c.x, "op", "") == "%"
               and str(c.y) == "0"}
    found = {(op, id(i), id(m)) for f in folds for op, i, m in [part_of(f.args[2])]}  # type: ignore[misc]
    for f in folds:
        op, i, m = part_of(f.args[2])  # type: ignore[misc]
        other = "%" if op == "//" else "//"
        if (other, id(i), id(m)) not in found:
            raise PatternError(r.where, f"{f}: counts some terms alone: another fold goes over {i} {other} {m}")
        if (id(counted.get(id(i))), id(m)) not in divided:
            raise PatternError(r.where, f"{f}: counts each term once where {m} divides the number of values of {i}: counts({i}, k) & (k % {m} == 0)")


def of_place(r: Rule, e: Expr) -> Optional[str]:
    """What an element has of an index: it "is" the integer of one, is "computed" of one by what holds of all numbers if it does of some, as sums and
    products do modulo 2^w, or neither. Whatever else is made of such an integer is refused."""
    if not isinstance(e, Node) or e.op.name == "idx":
        return "is" if isinstance(e, Node) else None
    name, found = e.op.combiner or e.op.name, [of_place(r, x) for x in (e.args[:2] if e.op.combiner else e.args)]
    if not any(found) or (e.op.sig == "compare" and "computed" not in found):
        return None
    if name in ("select", "take") or (name in ("max", "min") and "computed" not in found):
        return "computed" if "computed" in found else "is"
    if name in ("add", "sub", "mul", "neg") and all(ops.TYPE_BY_NAME[m].cls in "IU" for m in e.types[0].members):
        return "computed"
    x = next(x for x, yes in zip(e.args, found) if yes)
    raise PatternError(r.where, f"{e}: a proof writes out {MOST} terms, and what {e.op.name} makes of {x} there is not shown of larger numbers")


def check_places(r: Rule) -> None:
    """Terms behind those that a proof writes out are like them: no number is compared with their place or computed with how many there are that is as
    large. On the right side the integer that a place is has a type that is known to hold it."""
    both = [*walk(r.left), *walk(r.right)]  # type: ignore[arg-type]
    at = [e for e in both if isinstance(e, Node) and e.op.name == "idx"]
    inside = [y for e in both for y in ([x for z in walk(e) for x in children(z)] if isinstance(e, Arith) else [])]
    for n in both if at or any(map(compares_indices, both)) else inside:
        if isinstance(n, Lit) and type(n.value) is int and n.value > MOST - 2:
            raise PatternError(r.where, f"{n} beside an index or a count: a proof writes out {MOST} terms, and says nothing of those behind them; a constant k "
                                        "of counts(i, k) is any number")
    for side in (r.left, r.right) if at else ():
        of_place(r, side)  # type: ignore[arg-type]
    known = {(t.name, id(e.args[0])) for e in at for t in e.types if any(e is x for x in walk(r.left))}
    for e in at:
        t = e.types[0]
        if (t.name, id(e.args[0])) not in known and any(ops.TYPE_BY_NAME[m].bits < 64 for m in t.members):
            raise PatternError(r.where, f"{e}: {t} may not hold the index, which the left side does not have in this type")


def check(r: Rule, phase: str) -> None:
    """Rules about arrays, and they alone, have folds, which get fewer or smaller."""
    about = any(map(is_fold, walk(r.left)))
    if about != (phase in ("arrays", "options")):
        what = f"{'about' if about else 'without'} folds in the {phase} phase"
        raise PatternError(r.where, f"{r.left}: a rule {what}; ALL of arrays.py has rules about folds")
    if not about or not isinstance(r.right, Expr):
        return
    check_scopes(r, r.right)
    check_ranges(r)
    check_places(r)
    if (phase == "options") != any(isinstance(c, Guard) and c.name == "given" for c in parts(r.when)):
        raise PatternError(r.where, f"{r.left}: option(.., free=m) is of OPTIONS of arrays.py, and rewrite(..) of ALL")
    if phase == "options":
        return
    left, right = folds(r.left), folds(r.right)
    if right >= left:
        grown = next((f"{x} {what} on the left, {y} on the right" for what, x, y in
                      zip(("folds", "operations in their terms", "operations"), left, right) if x != y), "nothing decreases")
        raise PatternError(r.where, f"does not shrink: {grown}")
