"""What a pattern expression is: constant, index, sum of terms; which operation it asks for; where operand order must be tried."""
from __future__ import annotations

from typing import Dict, List, Optional, Tuple

from gen.lang import Arith, Expr, Lit, Node, Var, Width


def is_const(e: Expr) -> bool:
    """An expression over integer constants only."""
    if isinstance(e, Arith):
        return is_const(e.x) and is_const(e.y)
    return isinstance(e, (Lit, Width)) or (isinstance(e, Var) and e.kind == "const")


def is_index(e: Expr) -> bool:
    """An expression of type index."""
    return isinstance(e, Arith) or (isinstance(e, Var) and e.kind in ("index", "rest")) or (
        isinstance(e, Node) and e.op.sig != "compare" and e.types[0].name == "index")


def terms_of(e: Expr) -> Tuple[List[Tuple[Expr, Optional[Expr]]], List[Tuple[int, Expr]]]:
    """A + - * expression as terms (index expression, coefficient or None for 1) and signed constants."""
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
    """The operation that a node matching e must have, if that is certain."""
    if isinstance(e, Node):
        return e.op.name
    if isinstance(e, Arith):
        return {"//": "floordiv", "%": "mod"}.get(e.op, "sum")
    return None


def swappable(e: Expr) -> List[Node]:
    """Commutative nodes whose operands must be tried in both orders: not where canonical order (constants right) or two fresh
    variables make the orders alike."""
    out: List[Node] = []
    seen: Dict[int, int] = {}

    def count(x: Expr) -> None:
        if isinstance(x, Var):
            seen[id(x)] = seen.get(id(x), 0) + 1
        for y in x.args if isinstance(x, Node) else (x.x, x.y) if isinstance(x, Arith) else ():
            count(y)

    def walk(x: Expr) -> None:
        if not isinstance(x, Node):
            return
        if "comm" in x.op.props.split():
            p, q = x.args
            fresh = isinstance(p, Var) and isinstance(q, Var) and seen[id(p)] == 1 and seen[id(q)] == 1 and p.kind == q.kind
            if not fresh and not is_const(q):
                out.append(x)
        for y in x.args:
            walk(y)

    count(e)
    walk(e)
    return out
