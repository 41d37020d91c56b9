"""The errors that proofs assume of an operation, form by form.

A lowering or an instruction whose operands are plain variables says how far its operation may be off wherever it is made. One whose left side
holds more (`div.f32.approx(1.0, a)`) is a *form*: it counts where a made node may match it, and only if it is worse than the rest. A lowering
of a form states no error of its own: it is proved to be off by no more than others assume of its operation.

    error_of(table, div.f32.approx(a, 3.0), "f32", True)    (2**-22, 0, 0): div.full, since 3.0 is not the 1.0 of rcp
"""
from __future__ import annotations

from typing import Dict, List, Tuple

from gen.expr import Expr, Lit, Node, Var

Error = Tuple[float, float, float]  # share of the value, units in the last place, absolute
Key = Tuple[str, str, bool]  # operation, type, approx
FRACTION = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}  # bits of the types' fractions: a value is 2**n to 2**(n + 1) of its unit


class Table(Dict[Key, Error]):
    """Errors of operations; `forms` has what is worse, for some operands."""

    def __init__(self, known: Dict[Key, Error], forms: Dict[Key, List[Tuple[Node, Error]]]) -> None:
        super().__init__(known)
        worse = {k: [(form, e) for form, e in some if any(x > y for x, y in zip(e, known.get(k, (0, 0, 0))))] for k, some in forms.items()}
        self.forms = {k: some for k, some in worse.items() if some}


def may_match(form: Expr, e: Expr) -> bool:
    """Whether a node made as e may match a form's left side: a variable may stand for any value."""
    if isinstance(form, Var) and form.kind == "const":
        return isinstance(e, (Lit, Var))
    if isinstance(form, Var) or isinstance(e, Var):
        return True
    if isinstance(form, Lit) or isinstance(e, Lit):
        return isinstance(form, Lit) and isinstance(e, Lit) and repr(form.value) == repr(e.value)
    if not isinstance(form, Node) or not isinstance(e, Node):
        return True
    if form.op is not e.op or not set(form.flags) <= set(e.flags) or not all(set(x.members) & set(y.members) for x, y in zip(form.types, e.types)):
        return False
    orders = [e.args, e.args[::-1]] if "comm" in form.op.props and len(e.args) == 2 else [e.args]
    return any(all(map(may_match, form.args, args)) for args in orders)


def forms_of(errors: Dict[Key, Error], e: Node) -> List[Tuple[Key, Error]]:
    """The forms that a made node may match and that are worse than its operation."""
    forms = errors.forms if isinstance(errors, Table) else {}
    return [(k, error) for k, some in forms.items() if k[0] == e.op.name and k[1] in e.types[0].members
            for form, error in some if all(map(may_match, form.args, e.args))]


def covers(x: Error, y: Error, t: str) -> bool:
    """Whether what is within y is within x at every value: a share is twice as many units at one end of an octave as at the other."""
    units = y[0] * 2 ** (FRACTION[t] + 1) if t in FRACTION else 0 if y[0] == 0 else float("inf")
    return all(p >= q for p, q in zip(x, y)) or (x[1] >= y[1] + units and x[2] >= y[2])


def error_of(errors: Dict[Key, Error], e: Node, t: str, approx: bool) -> Error:
    """The error of a made node at type t: the largest of what may compute it."""
    found = {errors.get((e.op.name, t, approx), (0.0, 0.0, 0.0)), *(error for k, error in forms_of(errors, e) if k[1:] == (t, approx))}
    some = [x for x in found if not any(covers(y, x, t) and (y > x or not covers(x, y, t)) for y in found)]
    return max(x[0] for x in some), max(x[1] for x in some), max(x[2] for x in some)


__all__ = ["Error", "Table", "error_of", "forms_of", "may_match"]
