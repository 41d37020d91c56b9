"""Rules with integer variables that compute with floats on the way: the values at which they break, and the proofs that need no solver.

An integer has no neighbourhood: `div.u32(a, 70061)` by a product in f64 is right at every sample that is not a multiple of 70061. So samples hold
multiples of the rule's numbers, and what samples pass is run at every value where the operands have 32 bits together, or is proved by steps:

    cvt.f8e5m2.i64(a) -> cvt.f8e5m2.f32(cvt.f32.i64(a))       both sides are step functions, equal at the ends of each step of the left one
"""
from __future__ import annotations

import math
from dataclasses import replace
from typing import Dict, List, Sequence, Tuple

from gen import ops
from gen.proof import driver
from gen.proof.breakpoints import FORMATS, float_of, operands
from gen.proof.code import Terms, cls, width
from gen.proof.driver import Domain, Job, Result

EVERY_BITS = 32  # all operands together have at most so many bits if every value is run where nothing else decides
PIECES = 16  # runs of one case: the first that fails ends it
MULTIPLES = 96  # of each number, spread over the type
NUMBERS = 12  # of a rule, and quotients of two of them
EXACT_TO = 64  # integers up to this are steps of their own in formats of 8 bits


def with_floats(t: Terms) -> bool:
    """Whether integers and floats meet in the code."""
    kinds = {cls(t.type_of(r)) for r in range(len(t.types) + len(t.code)) if t.type_of(r) != "side"}
    return "F" in kinds and any(cls(x) in "IU" for x in operands(t))


# --- samples -------------------------------------------------------------------------------------------------------------------------
def numbers(t: Terms) -> List[int]:
    """Integers that the literals of a rule stand for: themselves, of floats the nearest one to them and to their reciprocals, and quotients and
    products of two."""
    found: Dict[float, None] = {}
    for i in t.code:
        x = float(i.imm) if i.kind == "int" else math.nan
        if i.kind == "literal":
            x = float_of(i.imm, i.type) if i.type in FORMATS else float(i.imm - (i.imm >> width(i.type) - 1 << width(i.type)) if cls(i.type) == "I" else i.imm)
        found.update(dict.fromkeys(abs(y) for y in ((x, 1 / x) if x else ()) if math.isfinite(y)))
    some = list(found)[:NUMBERS]
    pairs = [y for n, x in enumerate(some) for z in some[:n] for y in (x / z, z / x, x * z)]
    return list(dict.fromkeys(round(x) for x in (*some, *pairs) if math.isfinite(x) and 2 <= x + 0.5 < 2.0**64))[:4 * NUMBERS]


def multiples(t: Terms, x: str) -> Tuple[int, ...]:
    """Values of an integer variable of type x at and next to multiples of the rule's numbers: the first, the last, and some between."""
    signed, top = cls(x) == "I", (1 << width(x) - (cls(x) == "I")) - 1
    out: Dict[int, None] = {}
    for c in numbers(t):
        most = top // c
        at = [1, 2, 3, most, most - 1, *(most * k // MULTIPLES + k % 2 for k in range(1, MULTIPLES))] if most else [0]
        for m in dict.fromkeys(k for k in at if 0 < k <= most):
            out.update(dict.fromkeys(s * (m * c) + d & (1 << width(x)) - 1 for s in ((1, -1) if signed else (1,)) for d in (0, -1, 1)))
    return tuple(out)


def ties(t: str) -> Tuple[int, ...]:
    """Integers at and next to the midpoints between values of 1 to 5 significant bits: where conversions to narrow floats round."""
    w = width(t)
    odd = [(kept, digits) for digits in range(2, 7) for kept in range((1 << digits - 1) + 1, 1 << digits, 2)]
    near = [(kept << n) + d for kept, digits in odd for n in range(w - digits + 1) for d in (-1, 0, 1)]
    return tuple(dict.fromkeys(s * x & (1 << w) - 1 for x in near for s in ((1, -1) if cls(t) == "I" else (1,))))


# --- every value ---------------------------------------------------------------------------------------------------------------------
def countable(t: Terms) -> bool:
    """Whether every value can be run: an integer among at most EVERY_BITS of operands."""
    return with_floats(t) and sum(map(width, operands(t))) <= EVERY_BITS and t.contract == "equal" and not any(i.kind == "nudge" for i in t.code)


def run_every(t: Terms, domains: Sequence[Domain]) -> Result:
    """All values of all operands, the first one in pieces."""
    first = next(n for n, x in enumerate(t.types) if x != "side")
    of = 1 << width(t.types[first])
    pieces = min(PIECES, of)
    jobs = [Job(t, [Domain("range", (of * p // pieces, of // pieces)) if n == first else d if x == "side" else Domain("all")
                    for n, (x, d) in enumerate(zip(t.types, domains))], first=True) for p in range(pieces)]
    results = driver.run(jobs)
    bad = [r for r in results if not r.ok]
    return bad[0] if bad else replace(results[0], cases=sum(r.cases for r in results), exhaustive=True)


# --- by steps ------------------------------------------------------------------------------------------------------------------------
def by_steps(t: Terms) -> bool:
    """Whether both sides convert one integer to a format of 8 bits, each step to a float or in the end to that format. Such a function grows with
    its operand (nan is the last step on either side of 0), so equality at both ends of each step of the left one is equality: the samples have them
    (`step_ends`)."""
    if len(operands(t)) != 1 or cls(operands(t)[0]) not in "IU" or t.pre or t.bad or t.type_of(t.left) not in ops.SMALL_FLOATS:
        return False
    return len(chain(t, t.left)) == 1 and len(chain(t, t.right)) >= 1


def chain(t: Terms, r: int) -> List[str]:
    """The types of the conversions from the variable to register r; none where other operations are among them."""
    out: List[str] = []
    while r >= len(t.types):
        i = t.code[r - len(t.types)]
        if i.kind != "scalar" or i.op != "cvt" or cls(i.type) != "F":
            return []
        out.append(i.type)
        r = i.args[0]
    return out


def step_ends(x: str) -> Tuple[int, ...]:
    """Integers on both sides of each value at which a conversion to a format of at most 5 significant bits changes: small ones, and all with at most
    6 significant bits, with their neighbours."""
    w, mask = width(x), (1 << width(x)) - 1
    near = [(kept << n) + d for n in range(w) for kept in range(32, 64) for d in (-1, 0, 1) if kept << n < 1 << w + 1]
    every = [*range(EXACT_TO + 1), *near, (1 << w - 1) - 1, 1 << w - 1]
    inside = [v for v in every if v <= mask]
    return tuple(dict.fromkeys(s * v & mask for v in inside for s in ((1, -1) if cls(x) == "I" else (1,))))
