"""Conditions of a rule's right side that no sample of its proof met or failed, and values at which they do.

    unmet(terms, [8])          [8]: no case had r8 = eq.u64(mul.u64(bits.u64.f64(a), ..), 12345)
    meeting(terms, [8])        [{0: 0xc3d6cd6a4b8a43ed}]: values of the variables, by z3
"""
from __future__ import annotations

from typing import Dict, List, Sequence

from gen.proof import z3_formula, z3_solve
from gen.proof.code import Terms

MODELS = 3  # for each condition: at some of them the sides may be equal


def unmet(t: Terms, found: Sequence[int]) -> List[int]:
    """Those of the conditions (registers that no case met, ~registers that none failed) on which the right side depends; not whether a value is equal
    to itself."""
    used = {t.right}
    for r in range(len(t.types) + len(t.code) - 1, len(t.types) - 1, -1):
        used |= set(t.code[r - len(t.types)].args) if r in used else set()
    itself = {len(t.types) + n for n, i in enumerate(t.code) if i.op == "eq" and len(set(i.args)) == 1}
    return [c for c in found if max(c, ~c) in used - itself]


def meeting(t: Terms, conditions: Sequence[int]) -> List[Dict[int, int]]:
    """Values of the variables at which the rule fires and a condition holds, or of ~register does not hold: MODELS of each that z3 decides."""
    if not conditions or not z3_formula.present():
        return []
    z3_formula.z3.z3._main_ctx = None  # what z3 does within its limit depends on the expressions that it knows
    f = z3_formula.Formula(t, lenient=True)
    out = []
    for c in conditions:
        facts = [*f.given, *(f.reg[p] != 0 for p in t.pre), f.reg[c] != 0 if c >= 0 else f.reg[~c] == 0]
        for _ in range(MODELS):
            state, model = z3_solve.check(z3_solve.LIMIT, *facts)
            if state != "refuted":
                break
            out.append(z3_formula.values(f, model))
            facts += [f.vars[n] != v for n, v in out[-1].items()]
    return out
