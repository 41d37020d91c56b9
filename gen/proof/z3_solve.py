"""Whether z3 finds facts that contradict each other: within a limit of work, with products as any numbers, or bit by bit.

    check(LIMIT, x > 1, x < 1)      ("proved", None)
"""
from __future__ import annotations

from typing import Any, Dict, Sequence, Tuple

from gen.proof import z3_linear

try:
    import z3
except ImportError:
    z3 = None  # type: ignore[assignment]

LIMIT = 1_000_000  # z3's unit of work, not time: a slow machine proves the same as a fast one
STEPS_TO_SAT = ("simplify", "propagate-values", "solve-eqs", "ackermannize_bv", "simplify", "bit-blast", "sat")  # z3's tactics


def check(limit: int, *facts: Any) -> Tuple[str, Any]:
    s = z3.Solver()
    s.set("rlimit", limit)
    s.add(*facts)
    r = s.check()
    return ("proved", None) if r == z3.unsat else ("refuted", s.model()) if r == z3.sat else ("unknown", None)


def linearly(facts: Sequence[Any]) -> bool:
    """Whether the facts contradict each other even if each product is any number."""
    table: Dict[str, Any] = {}
    return check(LIMIT, *(z3_linear.linear(f, table) for f in facts))[0] == "proved"


def contradictory_bits(goal: Any) -> bool:
    """Whether no bits satisfy a formula of bit vectors and functions, by SAT. An operand of a function may be a sum of others, which `check` is slow at."""
    s = z3.Then(*STEPS_TO_SAT).solver()
    s.set("rlimit", LIMIT)
    s.add(goal)
    try:
        return bool(s.check() == z3.unsat)
    except z3.Z3Exception:  # one that has no bits
        return False
