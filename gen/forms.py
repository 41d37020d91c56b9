"""Questions about a pattern expression: is it constant, an index, a sum of which terms; which operation must its match have; where must
both operand orders be tried; what is inside it, and itself with other parts."""
from __future__ import annotations

import copy
from functools import lru_cache
from typing import Any, Dict, List, Optional, Set, Tuple

from gen import guards, ops
from gen.expr import All, Arith, Cond, Expr, Guard, Lit, Node, Not, Relation, Total, Var, children, parts


@lru_cache(maxsize=None)
def inside(e: Expr) -> List[Expr]:
    """e and everything inside it, shared parts each time they occur. Cached: do not change the list."""
    return [e, *(x for y in children(e) for x in inside(y))]


def is_const(e: Expr) -> bool:
    """An expression over integer constants only."""
    return e.constant


def is_fold(e: Expr) -> bool: return isinstance(e, Node) and bool(e.op.combiner)


def compares_indices(e: Any) -> bool: return isinstance(e, Node) and e.op.sig == "compare" and e.types[0].name == "index"


def digits(e: Expr) -> Optional[List[Tuple[Var, Optional[Expr]]]]:
    """The ranges that an index of a fold counts, the slowest first, each with how many values it must have: none of i, of i*k + j i and j with k."""
    if isinstance(e, Var):
        return [(e, None)] if e.kind == "index" else None
    if not (isinstance(e, Arith) and e.op == "+" and isinstance(e.y, Var) and e.y.kind == "index" and isinstance(e.x, Arith) and e.x.op == "*"):
        return None
    above = digits(e.x.x)
    return [*above, (e.y, e.x.y)] if above else None


def part_of(e: Any) -> Optional[Tuple[str, Var, Expr]]:
    """i // m or i % m, of an index i: the operation, i and m."""
    if isinstance(e, Arith) and e.op in ("//", "%") and isinstance(e.x, Var) and e.x.kind == "index" and is_const(e.y):
        return e.op, e.x, e.y
    return None


def is_general(e: Expr) -> bool:
    """An operation on distinct variables: it matches every node of the operation at its types."""
    return isinstance(e, Node) and all(isinstance(a, Var) and a.kind in ("value", "index") for a in e.args) and len({id(a) for a in e.args}) == len(e.args)


def is_index(e: Expr) -> bool:
    """An expression of type index."""
    return isinstance(e, Arith) or (isinstance(e, Var) and e.kind in ("index", "rest")) or (
        isinstance(e, Node) and e.op.sig != "compare" and e.types[0].name == "index")


@lru_cache(maxsize=None)
def terms_of(e: Expr) -> Tuple[List[Tuple[Expr, Optional[Expr]]], List[Tuple[int, Expr]]]:
    """A + - * expression as terms (index expression, coefficient or None for 1) and signed constants. Cached: do not change the lists."""
    if isinstance(e, Arith) and e.op in "+-":
        tx, cx = terms_of(e.x)
        ty, cy = terms_of(e.y)
        if e.op == "-":
            ty = [(t, Arith("*", Lit(-1), k) if k is not None else Lit(-1)) for t, k in ty]
            cy = [(-s, k) for s, k in cy]
        return tx + ty, cx + cy
    if is_const(e):
        return [], ([] if isinstance(e, Lit) and e.value == 0 else [(1, e)])
    if isinstance(e, Arith) and e.op == "*":
        if is_const(e.y):
            return [(e.x, e.y)], []
        if is_const(e.x):
            return [(e.y, e.x)], []
    return [(e, None)], []


def root_op(e: Expr) -> Optional[str]:
    """The operation that every node matching e has; None if there is no single one."""
    if isinstance(e, Node):
        return e.op.name
    if isinstance(e, Arith) and not is_const(e):
        return {"//": "floordiv", "%": "mod"}.get(e.op, "sum")
    return None


def swappable(e: Expr, when: Optional[Cond] = None) -> List[Node]:
    """Commutative nodes whose operands must be tried in both orders. One order is enough where the right operand is a constant, because
    nodes are made with constants on the right, or where both operands are variables used nowhere else in the pattern or in when=."""
    conditions = [c.x if isinstance(c, Not) else c for c in parts(when)]
    asked = {id(x) for c in conditions if isinstance(c, Guard) for x in c.args}
    out: List[Node] = []
    seen: Dict[int, int] = {}

    def count(x: Expr) -> None:
        if isinstance(x, Var):
            seen[id(x)] = seen.get(id(x), 0) + 1
        for y in children(x):
            count(y)

    def walk(x: Expr) -> None:
        if not isinstance(x, Node):
            return
        if isinstance(x, Total):  # its terms are found in any order
            for y in x.terms:
                walk(y)
            return
        if "comm" in x.op.props.split():
            p, q = x.args
            fresh = isinstance(p, Var) and isinstance(q, Var) and seen[id(p)] == 1 and seen[id(q)] == 1 and p.kind == q.kind and not {id(p), id(q)} & asked
            if not fresh and not is_const(q):
                out.append(x)
        for y in x.args:
            walk(y)

    count(e)
    walk(e)
    return out


def operand_variables(e: Expr) -> List[Var]:
    """Variables of a left side, but for constants, in order of first appearance in its text."""
    out: List[Var] = []

    def walk(x: Expr) -> None:
        if isinstance(x, Var) and x.kind != "const" and not any(x is v for v in out):
            out.append(x)
        for y in children(x):
            walk(y)

    walk(e)
    return out


def may_be_off(op: ops.Op, t: str) -> bool:
    """Whether an operation at a type may have a budget: a function of floats, or any of complex values; others are rounded once."""
    cls = ops.TYPE_BY_NAME[t].cls
    return cls == "C" or (cls == "F" and "costly" in op.props.split())


def is_function(e: Expr) -> bool:
    """A function of floats, which --accuracy may mark `approx`."""
    return isinstance(e, Node) and "costly" in e.op.props.split() and any(ops.TYPE_BY_NAME[m].cls in "FC" for m in e.types[0].members)


def marked(e: Expr, memo: Dict[int, Expr]) -> Expr:
    """e with `approx` at its functions. memo: what has been marked, so that shared parts stay shared."""
    if not isinstance(e, (Node, Guard)) or isinstance(e, Total):
        return e
    if id(e) not in memo:
        out = memo[id(e)] = copy.copy(e)
        out.args = tuple(marked(x, memo) for x in e.args)
        if isinstance(out, Node) and is_function(out):
            out.flags = tuple(f for f in ops.FLAGS if f == "approx" or f in out.flags)
    return memo[id(e)]


def literals_of(when: Optional[Cond]) -> Set[str]:
    """The variables that stand for numbers."""
    return {str(c.args[0]) for c in parts(when) if isinstance(c, Guard) and c.name in guards.NUMBERS}


def is_number(e: Expr, literal: Set[str]) -> bool:
    """Whether the engine makes a number of it."""
    if isinstance(e, Node) and e.args and e.op.sig not in ("leaf", "frame"):
        return all(is_number(x, literal) for x in e.args)
    return isinstance(e, Lit) or (isinstance(e, Var) and str(e) in literal)


def copied(e: Any, memo: Dict[int, Any]) -> Any:
    """e with the parts in memo replaced. Shared parts stay shared; a node without replaced parts stays the same object."""
    if id(e) in memo:
        return memo[id(e)]
    out = e
    if isinstance(e, Node):
        args = [copied(x, memo) for x in e.args]
        out = Node(e.op, e.types, e.flags, args) if any(x is not y for x, y in zip(args, e.args)) else e
    elif isinstance(e, Arith):
        out = Arith(e.op, copied(e.x, memo), copied(e.y, memo))
    elif isinstance(e, Relation):
        out = Relation(e.rel, copied(e.x, memo), copied(e.y, memo))
    elif isinstance(e, Guard):
        out = Guard(e.name, *(copied(x, memo) for x in e.args), word=e.word)
    elif isinstance(e, Not):
        out = Not(copied(e.x, memo))
    elif isinstance(e, All):
        out = All([copied(x, memo) for x in e.items])
    memo[id(e)] = out
    return out


def everything(e: Any) -> List[Any]:
    """e and everything inside it, including conditions; shared parts once, in a fixed order."""
    out: Dict[int, Any] = {}

    def visit(x: Any) -> None:
        if id(x) in out or x is None:
            return
        out[id(x)] = x
        inside = x.args if isinstance(x, (Node, Guard)) else (x.x, x.y) if isinstance(x, (Arith, Relation)) else (x.x,) if isinstance(x, Not) else \
            x.items if isinstance(x, All) else ()
        for y in inside:
            visit(y)

    visit(e)
    return list(out.values())
