"""Shorthands of the rule language for terms that are written often: clamped results, lanes with a value each, sums of terms in any order.

    sat(add.f32(a, b))      saturate.f32(add.f32(a, b))
    lanes(f32, a, 1.0)      pack.f32x2(a, 1.0)
"""
from __future__ import annotations

from typing import Any, Optional

from gen import ops as _ops
from gen.expr import Arith, Expr, Lit, Node, Total, Type, Var, fail, lift


def total(*terms: Any) -> Total:
    """total(mul.u32(a, b), c): a sum of integers with these terms, whatever their order and brackets; on left sides of instructions."""
    return Total([lift(x) for x in terms])


def _of_float(e: Any, what: str) -> Node:
    if not isinstance(e, Node) or any(_ops.TYPE_BY_NAME[m].cls != "F" for m in e.result.members):
        fail(f"{what}({e}): the operand of a destination modifier must be an operation on floats")
    return e


def _clamp(e: Any, what: str, low: float, high: Optional[float] = None) -> Node:
    """e clamped. A literal is the same value in each lane."""
    t = _of_float(e, what).result
    over = Node(_ops.OP_BY_NAME["max"], (t,), (), [e, Lit(low)])
    return over if high is None else Node(_ops.OP_BY_NAME["min"], (t,), (), [over, Lit(high)])


def relu(e: Any) -> Node: return _clamp(e, "relu", 0.0)
def sat(e: Any) -> Node: return Node(_ops.OP_BY_NAME["saturate"], (_of_float(e, "sat").result,), (), [e])  # nan is 0, as in the machine


def satfinite(e: Any) -> Node:
    """e clamped to the finite values of its type."""
    name = _of_float(e, "satfinite").result.name
    if name not in LARGEST:
        fail(f"satfinite({e}): the largest value of {name} is not listed; one of {', '.join(LARGEST)} is expected")
    return _clamp(e, "satfinite", -LARGEST[name], LARGEST[name])


LARGEST = {"f16": 65504.0, "bf16": 2.0**127 * (2 - 2.0**-7), "f32": 2.0**127 * (2 - 2.0**-23), "f8e4m3fn": 448.0, "f8e5m2": 57344.0}


def lanes(t: Any, *values: Any) -> Expr:
    """lanes(f32, a, 1.0): two lanes with a value each. As in the IR: pairs of halves; equal literals are one literal."""
    n = len(values)
    if not isinstance(t, Type) or t.lanes > 1 or n not in (1, 2, 4, 8, 16):
        fail(f"lanes({t}, ..): an element type, then 1, 2, 4, 8 or 16 values are expected")
    items = [lift(v) for v in values]
    if n == 1 or all(isinstance(i, Lit) and repr(i.value) == repr(items[0].value) for i in items):
        return items[0]
    return Node(_ops.OP_BY_NAME["pack"], (Type(t.name, n),), (), [lanes(t, *items[:n // 2]), lanes(t, *items[n // 2:])])


def ramp(t: Any, n: int, base: Any, step: Any) -> Expr:
    """ramp(i32, 4, k, m): lanes k, k + m, k + 2*m, k + 3*m; if the base is a value a: a, add(a, m), add(a, 2*m), .."""
    start, by = lift(base), lift(step)
    def at(lane: int) -> Expr:
        if lane == 0:
            return start
        far = by if lane == 1 else Lit(by.value * lane) if isinstance(by, Lit) else Arith("*", by, Lit(lane))
        constant = isinstance(start, Lit) or (isinstance(start, Var) and start.kind == "const")
        return Arith("+", start, far) if constant else Node(_ops.OP_BY_NAME["add"], (t,), (), [start, far])
    if not isinstance(t, Type) or any(_ops.TYPE_BY_NAME[m].cls not in "IU" for m in t.members):
        fail(f"ramp({t}, ..): an integer type is expected")
    return lanes(t, *map(at, range(n)))


__all__ = ["lanes", "ramp", "relu", "sat", "satfinite", "total"]
