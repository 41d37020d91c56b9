"""Shows by z3 that a mutant is equal to its rule.

It asks three questions, the cheapest first. Is the mutant proved by itself? Is the changed part equal to the original one for all values of
its nearest operands? Are both right sides equal with uninterpreted functions, except at a few values, at which the mutant is run?

    q << 30 & 0x80000000 changed to q << 30 & 0x80000001     equal for every q, whatever the sine around it
"""
from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List, Set, Tuple

from gen import ledger, ops
from gen.proof import complex_parts, folds, driver, prove, z3_bits, z3_floats, z3_formula, z3_solve
from gen.lang import Expr, Node, PatternError, Rule, Var
from gen.mutation.mutants import Mutant, copied, everything
from gen.proof.code import NotNarrow, Terms
from gen.proof.sides import build

FEW = 6  # values at which a mutant may differ from the rule, if it is right at each
DEPTHS = (1, 3, 6)  # depths of operands below a change that are kept
HIGHEST = 6  # parts above a change that are tried


def shown(case: prove.Case) -> str:
    return z3_formula.decide([case.terms])[0].state if z3_formula.present() and case.terms.contract not in ("ulp", "complex") else "unknown"


def ways_up(x: Any, y: Any) -> Iterator[Any]:
    """Pairs of a part before and after the change, the innermost first."""
    if isinstance(x, Node) and isinstance(y, Node) and x is not y:
        if x.op is y.op and len(x.args) == len(y.args):
            for p, q in zip(x.args, y.args):
                yield from ways_up(p, q)
        yield x, y


def nearest(x: Node, changed: Set[int], depth: int) -> Dict[int, Any]:
    """Variables for the parts that are more than `depth` below the changed ones."""
    level: Dict[int, int] = {}
    of_complex: Set[int] = set()
    waiting = [(x, 0)]
    while waiting:
        e, n = waiting.pop()
        n = 0 if id(e) in changed else n + 1
        if not isinstance(e, Node) or level.get(id(e), depth + 2) <= n:
            continue
        level[id(e)] = n
        if n and e.op.name in ("re", "im"):
            of_complex.add(id(e))
        elif n <= depth:
            waiting += [(a, n) for a in e.args]
    return {i: Var(f"v{k}", "value") for k, (i, n) in enumerate(level.items()) if n > depth or i in of_complex}


def hides_nans(whole: Expr, part: Node, t: str) -> bool:
    """Whether nothing around a part of a float type reads its bits or its sign, which are undetermined for a nan."""
    inside = lambda e: any(x is part for x in everything(e))
    looks = lambda e: e.op.name == "bits" or (e.op.name == "copysign" and inside(e.args[1]))
    return ops.TYPE_BY_NAME[t].cls != "F" or not any(isinstance(e, Node) and looks(e) and inside(e) for e in everything(whole))


def places(m: Mutant) -> List[Tuple[Node, Node]]:
    """Pairs of a part before and after the change that contain the whole change, the innermost first."""
    if m.before is None or m.rule.left is not m.before.left or m.dropped or str(m.rule.when) != str(m.before.when) or folds.has_folds(m.before):
        return []
    after = ledger.spelled([m.rule.right])
    found = {id(x): (x, y) for x, y in ways_up(m.before.right, m.rule.right)}
    return [(x, y) for x, y in found.values() if ledger.spelled([copied(m.before.right, {id(x): y})]) == after][:HIGHEST]


def same_in_place(m: Mutant, case: prove.Case) -> bool:
    """Whether the changed part is equal to the original for all values of its operands, so that the rules are equal."""
    return z3_formula.present() and any(same_part(m, x, y, depth, case) for x, y in places(m) for depth in DEPTHS)


def same_part(m: Mutant, x: Node, y: Node, depth: int, case: prove.Case) -> bool:
    t = case.bind.get(x.result.name, x.result.name)
    if t in ops.COMPLEX:
        return False
    old = {id(e) for e in everything(y)}
    changed = {id(e) for e in everything(x) if id(e) not in old} | {id(x)}
    leaves = nearest(x, changed, depth)
    try:
        terms = build(Rule("rewrite", copied(x, dict(leaves)), copied(y, dict(leaves)), None, m.rule.where), case.bind, {}, case.approx)
        if not hides_nans(m.before.right, x, t):  # type: ignore[union-attr, arg-type]
            return same_bits(terms)
        return z3_formula.same(terms) or (not z3_bits.hard(terms) and z3_formula.decide_one(terms).state == "proved")
    except (PatternError, NotNarrow, KeyError, z3_floats.Unsupported):
        return False


def alike(x: Expr, y: Expr) -> bool: return bool(ledger.spelled([x]) == ledger.spelled([y]))


def same_left(m: Mutant) -> bool:
    """Whether only the left side of a rule about folds is changed, and is equal to the original at every extent that a proof tries."""
    if m.before is None or not folds.has_folds(m.before) or not alike(m.rule.right, m.before.right) or str(m.rule.when) != str(m.before.when):
        return False
    try:
        cases = prove.cases_of(Rule("rewrite", m.before.left, m.rule.left, m.before.when, m.rule.where), m.errors)
    except PatternError:
        return False
    asked = [c for c in cases if c.label in {o.label for o in m.open}]
    return bool(asked) and all(shown(c) == "proved" for c in asked)


def proved_elsewhere(m: Mutant) -> bool:
    """Whether only the condition of a rule about folds is changed, the proof holds for all values of some type of its class, and no other type refutes
    it: what a condition admits are indices, and the sides are the rule's own."""
    if m.before is None or not folds.has_folds(m.before) or not (alike(m.rule.left, m.before.left) and alike(m.rule.right, m.before.right)):
        return False
    states = {o.state for p in prove.prove([m.rule], m.errors) for o in p.outcomes}
    return "failed" not in states and bool(states & {"exhausted", "proved"})


def same_as_before(m: Mutant, case: prove.Case) -> bool:
    """Whether the right side is equal to the original right side."""
    if m.before is None or not isinstance(m.before.right, Node) or m.dropped or folds.has_folds(m.before):
        return False  # of rules about folds, a case is the sides written out at one extent
    before, after = m.before.right, m.rule.right
    try:
        if small_float(before, after):
            whole = Rule("rewrite", before.args[0], after.args[0], None, m.rule.where)
            return same_codes(build(whole, case.bind, {}, case.approx), before.types[0].name)
        if all(isinstance(e, Node) and e.name == before.name and e.op.name in ("cvt", "cvtsat") and e.types[0].name in ops.SMALL_FLOATS
               for e in (before, after)):
            whole = Rule("rewrite", before.args[0], after.args[0], None, m.rule.where)  # both are the same conversion: compare the operands
            t = build(whole, case.bind, {}, case.approx)
            return same(t, case) or (z3_formula.present() and z3_formula.decide_one(t).state == "proved")
        is_complex = complex_parts.is_complex(m.before)
        whole = Rule("rewrite", before, after, None, m.rule.where)
        t = parts_of(whole, m.before, case) if is_complex else build(whole, case.bind, {}, case.approx)
        t.contract = "zeros" if case.terms.contract in ("ulp", "complex") else t.contract  # the sign of a zero is not an error
        return same(t, case)
    except (PatternError, NotNarrow):
        return False


def same(t: Terms, case: prove.Case) -> bool:
    """Whether two sides are equal with uninterpreted functions, except at a few values, at which the mutant is run."""
    if not z3_formula.present():
        return False
    z3_bits.abstract = True
    try:
        f = z3_formula.Formula(t)
        goals = [f.wrong()]
        # enough work that chance does not decide; sides of functions that are equal are proved soon
        limit = 2 * z3_solve.LIMIT if case.terms.contract in ("ulp", "complex") else z3_formula.SIZED_LIMIT
        for _ in range(FEW):
            state, model = z3_solve.check(limit, *goals)
            if state != "refuted":
                return state == "proved"
            found = {n: z3_formula.number(model, v, False) for n, v in enumerate(f.vars) if t.types[n] != "side"}
            if not right_at({t.names[n]: v for n, v in found.items()}, case):
                return False
            goals.append(z3_formula.z3.Or(*(f.vars[n] != v for n, v in found.items())))
        return False
    except z3_floats.Unsupported:
        return False
    finally:
        z3_bits.abstract = False


def right_at(values: Dict[str, int], case: prove.Case) -> bool:
    t = case.terms
    where = [d if x == "side" else driver.Domain("list", (values.get(name, 0),)) for name, x, d in zip(t.names, t.types, prove.domains_of(t))]
    return driver.run([driver.Job(t, where)])[0].ok


def small_float(before: Any, after: Any) -> bool:
    """Whether both are a small float made from its integer code."""
    return all(isinstance(e, Node) and e.op.name == "bits" and e.types[0].name in ops.SMALL_FLOATS for e in (before, after)) and before.types == after.types


NANS: Dict[str, Callable[[int], bool]] = {  # code -> is it a nan; for other types only 0x80 is
    "f4e2m1fn": lambda c: False, "f8e3m4": lambda c: c & 127 > 0x70, "f8e4m3": lambda c: c & 127 > 0x78, "f8e5m2": lambda c: c & 127 > 0x7c,
    "f8e4m3fn": lambda c: c & 127 == 127, "f8e8m0fnu": lambda c: c == 255}


def same_codes(t: Terms, name: str) -> bool:
    """Whether the codes of a small float are equal, or both nan, for all values, by z3 without abstraction."""
    is_nan = NANS.get(name, lambda c: c == 0x80)
    return z3_formula.present() and equal_registers(t, is_nan)


def same_bits(t: Terms) -> bool:
    """Whether the bits of two sides are equal, also those of nans, whatever functions the hard operations are."""
    z3_bits.abstract = True
    try:
        return equal_registers(t, lambda c: False)
    finally:
        z3_bits.abstract = False


def equal_registers(t: Terms, is_nan: Callable[[int], bool]) -> bool:
    """Whether both sides have the same bits, or both those of a nan; only types of 8 bits or fewer have some."""
    try:
        f = z3_formula.Formula(t)
    except z3_floats.Unsupported:
        return False
    left, right = f.reg[t.left], f.reg[t.right]
    nans = [c for c in range(1 << min(8, left.size())) if is_nan(c)]
    nan = lambda x: z3_formula.z3.Or(*(x == c for c in nans))
    other = z3_formula.z3.And(left != right, z3_formula.z3.Not(z3_formula.z3.And(nan(left), nan(right))))
    wrong = z3_formula.z3.And(*f.given, z3_formula.z3.Or(other, *(f.reg[b] != 0 for b, _ in t.bad)))
    return z3_solve.check(z3_formula.SIZED_LIMIT, wrong)[0] == "proved"


def parts_of(whole: Rule, before: Rule, case: prove.Case) -> Terms:
    """Both right sides of a rule of complex values, for the part of this case."""
    assert isinstance(before.left, Node)
    b = complex_parts.Parts(whole, {}, {}, False)
    b.pairs = {}
    t = "pred" if before.left.op.sig == "compare" else before.left.types[0].name
    b.part_variables(before.left, before.left.types[0].name)
    side = lambda e: b.pair(e)[case.label.endswith(".im")] if t in ops.COMPLEX else b.value(e, t)
    b.t.left, b.t.right = side(whole.left), side(whole.right)
    if any(i.kind in ("cpart", "cref") for i in b.t.code):
        raise PatternError(whole.where, "z3 has no complex functions")
    return b.t
