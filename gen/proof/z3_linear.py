"""Relations of polynomials as linear ones: each product of variables becomes a variable of its own, so that what is proved holds for the products.

    x*y + 2*x == y*x      product0 + 2*x - product0 == 0
"""
from __future__ import annotations

import math
from typing import Any, Dict, List

try:
    import z3
except ImportError:
    z3 = None  # type: ignore[assignment]


def factors(e: Any) -> List[Any]:
    return [f for x in e.children() for f in factors(x)] if z3.is_mul(e) else [e]


def monomials(e: Any, table: Dict[str, Any]) -> Any:
    """A polynomial with each product of variables replaced by a new variable: what is proved then holds for the products."""
    if z3.is_add(e):
        return z3.Sum([monomials(x, table) for x in e.children()])
    names = sorted(x.sexpr() for x in factors(e) if not z3.is_int_value(x))
    if len(names) < 2:
        return e
    number = math.prod(x.as_long() for x in factors(e) if z3.is_int_value(x))
    return number * table.setdefault(" ".join(names), z3.Int(f"product{len(table)}"))


def linear(e: Any, table: Dict[str, Any]) -> Any:
    """e with every relation of polynomials made linear."""
    if e.num_args() == 2 and z3.is_bool(e) and e.arg(0).sort() == z3.IntSort():
        difference = monomials(z3.simplify(e.arg(0) - e.arg(1), som=True), table)
        return e.decl()(difference, z3.IntVal(0))
    inner = [linear(x, table) for x in e.children()]
    if z3.is_and(e) or z3.is_or(e):
        return (z3.And if z3.is_and(e) else z3.Or)(*inner)
    return e.decl()(*inner) if inner else e
