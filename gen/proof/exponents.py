"""Rules with a power of two, `1 << m`: a proof has a case for each exponent, in which it is a number.

    rem.u32(a, 1 << m) -> band.u32(a, (1 << m) - 1)      at m = 3
    rem.u32(a, 1 << 3) -> band.u32(a, (1 << 3) - 1)
"""
from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Dict, Iterator, List, Set, Tuple

from gen import constants
from gen.expr import Arith, Expr, Lit, PatternError, Var
from gen.forms import copied, everything
from gen.lang import Rule

BITS = 64  # an exponent is from 0 to 63: with others the engine does not match
WIDTHS = (*range(1, 9), 16, 32, 64)


def numbers(r: Rule, y: Expr) -> Tuple[Var, Set[int]]:
    """The constant in an exponent, and the values that it may have: m, m + 1, w - m."""
    v = next(x for x in everything(y) if isinstance(x, Var))
    sides = (y.x, y.y) if isinstance(y, Arith) and y.op in ("+", "-") else (y, Lit(0))
    if not any(x is v for x in sides) or sum(isinstance(x, Var) for x in everything(y)) > 1:
        raise PatternError(r.where, f"{y}: an exponent is a constant of the left side, or its sum or difference with a number")
    minus, other = isinstance(y, Arith) and y.op == "-", sides[1] if sides[0] is v else sides[0]
    beside = {n for w in WIDTHS for n in (constants.value(other, {}, w),) if n is not None}
    return v, {(n - k if minus and sides[0] is not v else k + n if minus else k - n) for n in beside for k in range(BITS)}


def exponents(r: Rule) -> Dict[int, Tuple[Var, Set[int]]]:
    """The constants in the exponents of a rule, by id, with the values that they may have."""
    out: Dict[int, Tuple[Var, Set[int]]] = {}
    for e in (e for side in (r.left, r.right, r.when) for e in everything(side)):
        if isinstance(e, Arith) and e.op == "<<" and any(isinstance(x, Var) for x in everything(e.y)):
            v, found = numbers(r, e.y)
            out.setdefault(id(v), (v, set()))[1].update(found)
    return out


def written(r: Rule) -> Iterator[Tuple[str, Rule]]:
    """The rule at each choice of its exponents, and `m = 3`."""
    found: List[Tuple[Var, Set[int]]] = list(exponents(r).values())
    for some in itertools.product(*(sorted(n for n in values if n >= 0) + sorted(n for n in values if n < 0) for _, values in found)):
        memo = {id(v): Lit(n) for (v, _), n in zip(found, some)}
        said = ", ".join(f"{v.name} = {n}" for (v, _), n in zip(found, some))
        yield said, replace(r, left=copied(r.left, dict(memo)), right=copied(r.right, dict(memo)), when=copied(r.when, dict(memo)), programs={})


__all__ = ["exponents", "written"]
