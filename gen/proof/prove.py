"""Proves rewrite and lowering rules: compiles both sides to instructions, runs them over values, and gives them to z3 if it is installed.

For each binding of a rule's type classes, the proof is the strongest of:

    exhausted   every value, at small widths (integers up to 8 bits, 16 with one variable; one 16-bit float); where integers meet floats and z3 does
                not decide, of operands of 32 bits together
    proved      by z3: index rules over all integers, rules of bits at full width; or by steps (integers.py)
    tested      corner values in all combinations and random bits; every index in a box; values that meet conditions which none of these meets

Floats are equal if their bits are equal or both are nan. A function may be off by its budget: the proof moves the results of inexact
instructions by their errors, in both directions, and compares the rule's result with the exact one. `own` is the rule's error when those
instructions round correctly. The ledger has both errors; `./dev rule --check` fails if either grows (gen/proof/rule.py).

    proofs = prove(rules, errors_of(targets))        proofs[0].state      "exhausted(w=1..8) proved(i16..u64)"
"""
from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

from gen import constants, lang, load, ops
from gen.proof import complex_parts, conditions, driver, exponents, facts, fold_laws, folds, integers, regroups, rescales
from gen.proof.breakpoints import FORMATS, breakpoints, is_alone, operands
from gen.lang import Node, PatternError, Rule
from gen.ledger import assumed, modes_of
from gen.proof.driver import Domain, Job, Result
from gen.proof.code import EXACT, Errors, NotNarrow, Terms, cls, literal_bits, width
from gen.proof.sides import build

EXHAUST_BITS = 24  # all variables together have at most so many bits if every value is tried
MOST_LISTED = 1 << 22  # combinations with variables whose values are listed, at most
PAIRS = 1 << 22  # of two 16-bit floats
SIDES = 4  # inexact results that may be moved at once
INTEGERS = "PIUX"


@dataclass
class Case:
    """One binding of a rule's classes in one mode."""

    label: str  # "w=3" for integers of 3 bits, "bf16"
    approx: bool
    terms: Terms
    bind: Dict[str, str] = field(default_factory=dict)
    terms_of: Tuple[int, ...] = ()  # of a rule about folds: the extents of their ranges
    exponents: str = ""  # of a rule with powers of two: "m = 3"


@dataclass
class Outcome:
    case: Case
    state: str  # exhausted proved tested failed empty
    cases: int
    worst: float = 0
    result: Optional[Result] = None
    own: float = 0
    values: Dict[str, int] = field(default_factory=dict)


@dataclass
class Proof:
    rule: Rule
    outcomes: List[Outcome] = field(default_factory=list)

    @property
    def failed(self) -> List[Outcome]: return [o for o in self.outcomes if o.state in ("failed", "empty")]

    @property
    def state(self) -> str: return summary(self.outcomes)


# --- contracts --------------------------------------------------------------------------------------------------------------------
def budget_of(rule: Rule, t: str, approx: bool) -> Optional[Tuple[float, float]]:
    """(units in the last place, absolute) of the function at the left side's root; None where the sides must be equal."""
    if not isinstance(rule.left, Node):
        return None
    found = load.budgets().get((rule.left.op.name, t))
    if found is None or (not approx and found[0] == 0) or (approx and found[1] == found[2] == 0):
        return None
    return (found[1], found[2]) if approx else (found[0], 0)


def allowed(rule: Rule, errors: Errors, t: str, approx: bool) -> Optional[Tuple[float, float]]:
    """The budget, or what others assume of the operation where that is less and the rule is of one form of it."""
    budget, less = budget_of(rule, t, approx), assumed(errors, rule, t, approx)
    return (min(budget[0], less[0]), min(budget[1], less[1])) if budget and less else budget


def same_function(rule: Rule) -> bool:
    """Whether a rule only changes the operands of one function, exactly: then its result may be off by what the function may, if that of exact values
    is the same."""
    x, y = rule.left, rule.right
    if not isinstance(x, Node) or not isinstance(y, Node) or x.op is not y.op or list(map(str, x.types)) != list(map(str, y.types)) or x.flags != y.flags:
        return False
    inner = [e for n in (x, y) for e in load.walk(n) if isinstance(e, Node) and e is not n]
    return "costly" in x.op.props and not any("costly" in e.op.props for e in inner)


# --- cases --------------------------------------------------------------------------------------------------------------------------
def classes_of(rule: Rule) -> List[str]:
    nodes = [e for e in reversed(load.walk(rule.left)) if isinstance(e, Node)]
    return list(dict.fromkeys(t.name for n in nodes for t in n.types if t.is_class))


def cases_of(rule: Rule, errors: Errors) -> List[Case]:
    rule = regroups.as_integers(rule)
    if folds.has_folds(rule): return [replace(c, terms_of=n) for n, r in fold_laws.needed(rule) for c in cases_of(r, errors)]
    if exponents.exponents(rule): return [replace(c, exponents=said) for said, r in exponents.written(rule) for c in cases_of(r, errors)]
    effects = [e for side in (rule.left, rule.right) if isinstance(side, lang.Expr) for e in load.walk(side)
               if isinstance(e, Node) and {"address", "convergent"} & set(e.op.props.split())]
    if effects:
        raise PatternError(rule.where, f"{effects[0]}: what an operation does to memory or with other threads has no proof, so only an instruction takes it")
    long = long_way(rule)
    ways = [(rule, "")] + [(long, " long")] * (long is not rule)
    if complex_parts.is_complex(rule):
        return [Case(label + way, False, terms) for r, way in ways for label, terms in complex_parts.terms_of(r, errors)]
    names, out = classes_of(rule), []
    written = [e for side in (rule.left, rule.right) if isinstance(side, lang.Expr) for e in load.walk(side) if isinstance(e, Node)]
    pinned = {t.name for e in written for t in e.types if not t.is_class and t.name != "pred"} | {"" for e in written if e.op.sig == "convert"}
    for choice in itertools.product(*(ops.CLASSES[n] for n in names)):
        bind = dict(zip(names, choice))
        for approx in modes_of(rule):
            t = bind.get(written[0].types[0].name, written[0].types[0].name) if written else "index"
            of, budget = ({}, None) if same_function(rule) else (errors, allowed(rule, errors, t, approx))
            for r, way in ways:
                try:
                    terms = build(r, bind, of, approx, budget, SIDES)
                except NotNarrow:  # of a number that is no exponent
                    continue
                out.append(Case(("/".join(choice) or label_of(terms)) + way, approx, terms, bind))
        if len(names) == 1 and not pinned and choice[0] in ("i8", "u8"):
            out += narrow_cases(rule, names[0], choice[0][0], errors)
    return out


def long_way(rule: Rule) -> Rule:
    """The rule whose selects that are marked `rare` are their second operand, which a value may get because another one of its branch does
    (src/vector/rare.c): so that must be as right. The rule itself where it has none."""
    known: Dict[int, Any] = {}

    def taken(e: Any) -> Any:
        if not isinstance(e, Node):
            return e
        if id(e) not in known:
            args = [taken(x) for x in e.args]
            made = e if all(x is y for x, y in zip(args, e.args)) else Node(e.op, e.types, e.flags, args)
            known[id(e)] = args[1] if "rare" in e.flags else made
        return known[id(e)]

    right = taken(rule.right)
    return rule if right is rule.right else replace(rule, right=right)


def narrow_cases(rule: Rule, name: str, sign: str, errors: Errors) -> List[Case]:
    out = []
    for w in driver.NARROW:
        try:
            out.append(Case(f"{sign}{w}", False, build(rule, {name: f"{sign}{w}"}, errors), {name: f"{sign}{w}"}))
        except NotNarrow:
            continue
    return out


def label_of(t: Terms) -> str:
    found = [t.type_of(r) for r in (*range(len(t.types)), t.left) if t.type_of(r) not in ("side", "pred")]
    return next((x for x in found if x != EXACT), "index" if found else "pred")


# --- values -------------------------------------------------------------------------------------------------------------------------
def corners(t: str) -> Tuple[int, ...]:
    """Bits of values at which operations change their behaviour: limits, zeros, powers of two, infinities."""
    if t == "pred":
        return (0, 1)
    w = width(t)
    if cls(t) != "F":
        near = [x + d for x in (0, 1 << w - 1, 1 << w) for d in (-2, -1, 0, 1, 2)]
        powers = [1 << n for n in range(2, w - 1, 1 if w <= 16 else 4)]
        more = [x + d for x in (w, w // 2) for d in (-1, 0, 1)] + [3, 5, 7, 10, 100, (1 << w) // 3, -3, -7, (1 << 53) + 1 if w == 64 else 0]
        return tuple(dict.fromkeys(x & (1 << w) - 1 for x in near + powers + more))
    if t in ops.SMALL_FLOATS:
        return tuple(range(1 << w))
    fraction = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}[t]
    sign, one = 1 << w - 1, ((1 << w - 2 - fraction) - 1) << fraction
    inf, half = ((1 << w - 1 - fraction) - 1) << fraction, 1 << fraction
    least = [0, 1, 2, half - 1, half, half + 1]
    middle = [one + d for d in (0, 1, -1, half // 2)] + [one + e * half for e in (-1, 1, 2, 3, 7, 10, -4, -10)]
    whole = [one + (fraction + e) * half + d for e in (0, 1) for d in (0, 1) if one + (fraction + e) * half < inf]
    top = [inf - 1, inf - half, inf, inf + 1, inf + half // 2, inf + half // 2 + 1, inf + half - 1]
    return tuple(dict.fromkeys(x | s for x in least + middle + whole + top for s in (0, sign) if 0 <= x < sign))


def ties(t: str) -> Tuple[int, ...]:
    """Bits of f32 or f64 values at and next to the midpoints between values of 2 to 6 significant bits: where narrow conversions round."""
    fraction, bias = (23, 127) if t == "f32" else (52, 1023)
    out = []
    for digits in range(1, 6):
        for exponent in range(-20, 19) if digits > 1 else (*range(-20, 19), -128, -127, -126, -125, 126, 127):
            for kept in range(1 << digits):
                x = exponent + bias << fraction | kept << fraction - digits
                if exponent + bias < 1:
                    x = (1 << fraction | kept << fraction - digits) >> 1 - exponent - bias
                out += [x - 1, x, x + 1]
    return tuple(dict.fromkeys(x | s for x in out for s in (0, 1 << width(t) - 1)))


def exponential_limits(t: str) -> Tuple[int, ...]:
    """Bits of multiples of ln 2 / 4 near the arguments where exponentials overflow, underflow, or cross a power of two."""
    powers = ((-151, -149, -127, -126, -125, -24, -1, 0, 1, 24, 126, 127, 128) if t == "f32" else
              (-1076, -1074, -1023, -1022, -1021, -53, -1, 0, 1, 53, 1022, 1023, 1024))
    return tuple(literal_bits(0.6931471805599453 * (n + q / 4), t) for n in powers for q in (-2, -1, 0, 1, 2)) if t in ("f32", "f64") else ()


def quarter_turns(t: Terms, x: str) -> Tuple[int, ...]:
    """Bits of the f64 nearest to multiples of pi/2: there what a sine or cosine leaves of its argument is small."""
    waves = any(i.kind == "function" and i.op in ("sin", "cos", "tan") for i in t.code)
    return tuple(literal_bits(k * 1.5707963267948966, x) for n in range(0, 41, 2) for k in (2**n, 2**n + 1)) if waves and x == "f64" else ()


def domains_of(t: Terms) -> List[Domain]:
    narrow = any(t.type_of(r) in ops.SMALL_FLOATS for r in range(len(t.types) + len(t.code)))
    bits = sum(width(x) for n, x in enumerate(t.types) if x not in (EXACT, "side") and n not in t.listed)
    every = bits <= EXHAUST_BITS and math.prod(map(len, t.listed.values())) << bits <= MOST_LISTED
    exact = [n for n, x in enumerate(t.types) if x == EXACT]
    boxes = dict(zip(exact, box([t.names[n] for n in exact], limits(t))))
    out = []
    for n, (name, x) in enumerate(zip(t.names, t.types)):
        if x == "side":
            out.append(Domain("side", (0, 1, -1) if name else (0,)))
        elif x == EXACT:
            out.append(Domain("list", boxes[n]))
        elif n in t.listed:
            out.append(Domain("list", t.listed[n]))
        else:
            more = () if not narrow else ties(x) if x in ("f32", "f64") else integers.ties(x) if cls(x) in "IU" else ()
            if is_alone(t) and cls(x) in "IU":
                more += integers.step_ends(x) if integers.by_steps(t) else integers.multiples(t, x) if integers.with_floats(t) else ()
            at_constants = breakpoints(t, x) if x in FORMATS else ()
            if lang.VARIABLES.get(name) is not None and lang.VARIABLES[name].kind == "const":  # its conditions change there
                more = tuple(v for v in limits(t, 0) if 0 <= v < 1 << width(x))
            combined = tuple(dict.fromkeys((*corners(x), *more, *(at_constants + exponential_limits(x) + quarter_turns(t, x) if is_alone(t) else ()))))
            out.append(Domain("all") if every else Domain("sample", combined, () if is_alone(t) else at_constants + exponential_limits(x)))
    return out


def limits(t: Terms, above: int = 16) -> Tuple[int, ...]:
    """Numbers of a rule at which its conditions change, with their neighbours; those of up to `above` are tried anyway."""
    found = dict.fromkeys(i.imm for i in t.code if i.kind == "int" and abs(i.imm) > above)
    return tuple(dict.fromkeys(x + d for x in sorted(found, key=abs) for d in (-1, 0, 1)))


def box(names: List[str], ends: Tuple[int, ...] = ()) -> List[Tuple[int, ...]]:
    """Ranges of index variables and constants, and the limits of the conditions: the largest symmetric ones that make at most two million
    cases."""
    constants = sum(lang.VARIABLES[n].kind == "const" for n in names)
    top = 9 if constants < 3 else 6
    for half in (100, 60, 40, 24, 14, 8, 5, 3):
        if (top + 3 + len(ends)) ** constants * (2 * half + 1 + len(ends)) ** (len(names) - constants) <= 2_000_000:
            break
    order = lambda lo, hi: tuple(dict.fromkeys((*sorted(range(lo, hi + 1), key=lambda v: (abs(v), v < 0)), *ends)))
    return [order(-2, top) if lang.VARIABLES[n].kind == "const" else order(-half, half) for n in names]


# --- proofs -------------------------------------------------------------------------------------------------------------------------
def is_bits(t: Terms) -> bool:
    """Whether there are only integers, predicates and exact integers, for which z3 and C must agree bit by bit."""
    kinds = {cls(t.type_of(r)) for r in range(len(t.types) + len(t.code)) if t.type_of(r) != "side"}
    return kinds <= set(INTEGERS) and all(i.kind not in ("nudge", "function", "garbage") for i in t.code)


def is_index(t: Terms) -> bool: return EXACT in t.types


def job_of(case: Case, samples: int, first: bool = False) -> Job:
    """Two 16-bit floats are sampled more densely: a result that is rounded twice is wrong for one pair of a million."""
    pair = operands(case.terms) in (["f16", "f16"], ["bf16", "bf16"])
    dense = pair and not first and (case.terms.listed or case.terms.contract not in ("ulp", "complex"))
    return Job(case.terms, domains_of(case.terms), max(samples, PAIRS) if dense and samples else samples, first)


def retried(rule: Rule, o: Outcome, samples: int) -> Outcome:
    """A case of which no value satisfied the conditions, with constants that do."""
    t = o.case.terms
    found = constants.assignments(rule, next(map(width, o.case.bind.values()), 0))
    at = [{n: v for n, v in enumerate(map(x.get, t.names)) if v is not None} for x in found]
    some = [x for x in at if all(t.types[n] == EXACT or -1 << width(t.types[n]) - 1 <= v < 1 << width(t.types[n]) for n, v in x.items())]
    jobs = [Job(t, [Domain("list", (x[n] if t.types[n] == EXACT else x[n] & (1 << width(t.types[n])) - 1,)) if n in x else d
                    for n, d in enumerate(domains_of(t))], samples // len(some)) for x in some]
    results = driver.run(jobs)
    bad, tried = [r for r in results if not r.ok], sum(r.cases for r in results)
    return judged(o.case, bad[0] if bad else replace(results[0], cases=tried, exhaustive=False) if tried else o.result)  # type: ignore[arg-type]


def met(o: Outcome, samples: int) -> None:
    """Runs a case at values that meet those of its conditions that samples did not, each variable in turn at samples of its own."""
    t, missing = o.case.terms, o.result.unmet if o.result else []
    free, domains = [n for n, x in enumerate(t.types) if x != "side"], domains_of(t)
    jobs = [Job(t, [Domain("list", (at[m],)) if m in at and m != n else d for m, d in enumerate(domains)], samples)
            for at in conditions.meeting(t, conditions.unmet(t, missing)) for n in ([-1, *free] if len(free) > 1 else [-1])]
    for r in driver.run(jobs):
        if not r.ok:
            o.state, o.result = "failed", r
        o.cases, o.worst, o.own = o.cases + r.cases, max(o.worst, r.worst), max(o.own, r.own)


def judged(case: Case, r: Result) -> Outcome:
    if not r.ok or r.cases == 0:
        return Outcome(case, "empty" if r.ok else "failed", r.cases, result=r)
    return Outcome(case, "exhausted" if r.exhaustive and not is_index(case.terms) else "tested", r.cases, r.worst, r, own=r.own)


def prove(rules: Sequence[Rule], errors: Errors, solver: bool = True, samples: int = 1 << 16, whole: bool = False) -> List[Proof]:
    """A proof for each rule, in order. Without z3, cases that only it can prove are tested. whole: what z3 does not decide of one operand of 32 bits is
    run at every value, which takes minutes."""
    versions = [facts.fused(r) for r in rules]
    proofs = iter(prove_each([v for some in versions for v in some], errors, solver, samples))
    out = []
    for r, some in zip(rules, versions):
        found = [next(proofs) for _ in some]
        out.append(replace(next((p for p in found if not p.failed), found[0]), rule=r))
    left = [(p, n) for p in out for n, o in enumerate(p.outcomes) if whole and o.state == "tested" and operands(o.case.terms) == ["f32"]]
    for (p, n), r in zip(left, driver.run([replace(job, domains=[Domain("all") if x == "f32" else d for x, d in zip(job.terms.types, job.domains)])
                                           for job in (job_of(p.outcomes[n].case, 0, first=True) for p, n in left)])):
        p.outcomes[n] = judged(p.outcomes[n].case, r)
    return out


def prove_each(rules: Sequence[Rule], errors: Errors, solver: bool, samples: int) -> List[Proof]:
    from gen.proof import z3_formula

    cases = [(n, c) for n, r in enumerate(rules) if not rescales.asked(r) for c in cases_of(r, errors)]
    results = driver.run([job_of(c, samples) for _, c in cases])
    proofs = [Proof(r) for r in rules]
    found = {(n, c.label) for (n, c), r in zip(cases, results) if r.cases or not r.ok}
    for (n, c), r in zip(cases, results):
        narrow = c.label[1:] in map(str, driver.NARROW)  # no constant of the rule has so few bits
        if r.cases or not r.ok or not (narrow or (c.exponents and (n, c.label) in found)):
            o = judged(c, r)
            proofs[n].outcomes.append(retried(rules[n], o, samples) if o.state == "empty" and not c.exponents else o)
    for p in proofs: p.outcomes = rescales.outcomes(p.rule) if rescales.asked(p.rule) else folds.decided(p.outcomes)
    if solver and z3_formula.present():
        wanted = [o for p in proofs for o in p.outcomes if o.case.terms.contract not in ("ulp", "complex") and o.state == "tested"]
        for o, answer in zip(wanted, z3_formula.decide([o.case.terms for o in wanted])):
            if answer.state == "proved":
                o.state = "proved"
            elif answer.state == "refuted":
                confirm(o, answer.values)
    for o in (o for p in proofs for o in p.outcomes if o.state == "tested"):
        t = o.case.terms
        if integers.by_steps(t):
            o.state = "proved"
        elif solver and integers.countable(t):
            r = integers.run_every(t, domains_of(t))
            o.state, o.result, o.cases = "exhausted" if r.ok else "failed", r, r.cases
        elif solver and z3_formula.present():
            met(o, samples // 64)
    return proofs


def confirm(o: Outcome, values: Dict[int, int]) -> None:
    """Runs z3's counterexample in the driver: both must agree on it, and the driver gives the values of all registers."""
    domains = [Domain("list", (values.get(n, 0),)) for n in range(len(o.case.terms.types))]
    r = driver.run([Job(o.case.terms, domains)])[0]
    if r.ok and not is_bits(o.case.terms):  # z3 does not determine the bits of a nan
        return
    if r.ok:
        raise PatternError(("gen/proof/z3_formula.py", 0), f"z3 and C disagree: {o.case.label} {values}")
    o.state, o.result = "failed", r


# --- states as text -----------------------------------------------------------------------------------------------------------------
def labels(found: Iterable[str]) -> str:
    """`w=1..8,i16..i64,bf16`: integers of all widths below 9 as one range."""
    every = list(dict.fromkeys(found))
    small = sorted({int(x[1:]) for x in every if x[1:].isdigit() and x[0] in "iu" and int(x[1:]) <= 8})
    out = []
    if small:
        whole = small == list(range(small[0], small[-1] + 1)) and len(small) > 1
        out.append(f"w={small[0]}..{small[-1]}" if whole else "w=" + ",".join(map(str, small)))
    return ",".join(out + [x for x in every if not (x[1:].isdigit() and x[0] in "iu" and int(x[1:]) <= 8)])


def summary(outcomes: Sequence[Outcome]) -> str:
    """`exhausted(w=1..8) proved(i16,..) error(0.81 of 1 ulp, own 0.51)`."""
    out, states = [], ("proved", "exhausted", "tested", "empty", "failed")
    weakest = {o.case.label: state for state in states for o in outcomes if o.state == state}  # rules about folds have a case for each extent
    for state in states:
        of = [o for o in outcomes if o.state == state and weakest[o.case.label] == state]
        if state == "tested" and of:
            out.append(f"tested({labels(o.case.label for o in of)}: {min(o.cases for o in of)})")
        elif of:
            out.append(f"{state}({labels(o.case.label for o in of)})")
    off = [o for o in outcomes if o.case.terms.contract in ("ulp", "complex") and o.state not in ("failed", "empty")]
    for approx in (False, True):
        shares = [(o.worst, o.case.terms.budget[0], o.own) for o in off if o.case.approx == approx]
        if shares:
            worst = max(shares, key=lambda s: s[0] / max(s[1], 1e-9))
            out.append(f"{'approx-' if approx else ''}error({worst[0]:.2f} of {worst[1]:g} ulp, own {max(s[2] for s in shares):.2f})")
    return " ".join(out)
