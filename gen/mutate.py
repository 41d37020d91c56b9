"""Breaks every rule in small ways, one at a time, and sees whether the prover notices: a proof that a wrong rule passes proves nothing.

usage: python -m gen.mutate [--sample N] [--rule TEXT] [--verbose]

Operands are swapped, constants changed, conditions dropped, operations replaced. A mutant must fail its proof, or be shown right: by
all values, or by z3. One that only samples failed to tell from a right rule has survived; at most 1 % of those of a pattern file may. A
dropped condition that nothing needs is reported: it only keeps the rule from firing (or, where it says so, from going on for ever).

What a proof of a function holds a mutant to is the contract of the rule that it was made from: the budget, and the two errors that the
ledger states of that rule, the one with the instructions moved by theirs and the rule's own (ledger.exceeds is what `./dev rule --check`
asks, too). So a coefficient that is off by a sixty-fourth, or by less, fails although the budget has room for it.

Where a rule that states an error, or corrects a guess of the machine, turns from one way of computing to another, both ways are right on a
stretch around the threshold: that is how such rules are made, and no proof can or should tell thresholds of one stretch apart. There a
constant that is only compared with, chosen or cut at is halved and doubled instead of moved by a sixty-fourth, as one mutant, which is
killed if either is: it must matter that the threshold stands where it does, on one side at least. And < is not made <=, which moves one
value from one way to the other, but >=, which makes each way serve the values of the other. A comparison with 0 stays as strict as with
integers.
"""
from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple

from gen import checks, ledger, load, ops, prove, prove_bits, prove_c, prove_complex, prove_floats, prove_z3
from gen.lang import All, Arith, Cond, Guard, Lit, Node, Not, PatternError, Relation, Rule, Src, Var, parts
from gen.ledger import Errors, modes_of
from gen.prove_terms import NotNarrow, Terms, build

MOST = 24  # mutants of one rule; evenly chosen where it has more places
ALLOWED = 0.01
CLOSER = 1 << 20  # values drawn for what would survive; of complex ones, which take longer, a quarter
FEW = 6  # values at which a mutant may differ from the rule, if it is right at each
TWINS = [("add", "sub"), ("mul", "add"), ("max", "min"), ("lt", "le"), ("gt", "ge"), ("eq", "ne"), ("band", "bor"), ("bxor", "bor"),
         ("shl", "shrl"), ("shra", "shrl"), ("shlx", "shrlx"), ("shrax", "shrlx"), ("quot", "left"), ("div", "rem"), ("floor", "ceil"),
         ("round_even", "round_afz"), ("neg", "abs"), ("exp", "expm1"), ("exp2", "exp"), ("log2", "log"), ("log1p", "log"), ("sin", "cos"),
         ("sinh", "cosh"), ("asin", "acos"), ("asinh", "acosh"), ("tanh", "tan"), ("sqrt", "rsqrt"), ("cbrt", "sqrt"), ("erf", "tanh"),
         ("logistic", "tanh"), ("atanh", "tanh"), ("rsqrt", "sqrt"), ("trunc", "floor"), ("sign", "abs"), ("bnot", "neg"), ("atan2", "pow")]
TWIN = {**{b: a for a, b in reversed(TWINS)}, **dict(TWINS)}
TURNED = {"lt": "ge", "ge": "lt", "le": "gt", "gt": "le", "eq": "ne", "ne": "eq"}
GUESSES = ("exp2z", "log2z", "rcpz", "rsqrtz")
SYMMETRIC = ("hypot", "mulhi")  # their operands may change places
ARITH = {"+": "-", "-": "+", "*": "+", "//": "%", "%": "//"}
RELATION = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">"}


@dataclass
class Mutant:
    rule: Rule
    what: str
    before: Optional[Rule] = None
    dropped: str = ""  # the condition
    cases: List[prove.Case] = field(default_factory=list)
    stated: Dict[bool, Tuple[float, float]] = field(default_factory=dict)  # errors of the rule that it was made from: ledger.errors_in
    errors: Errors = field(default_factory=dict)
    other: "Optional[Mutant]" = None  # the same place moved the other way: one mutant with this one
    fate: str = ""  # killed refused right survived


# --- making them --------------------------------------------------------------------------------------------------------------------
def copied(e: Any, memo: Dict[int, Any]) -> Any:
    """e with the parts that memo names replaced; what is shared stays shared."""
    if id(e) not in memo:
        memo[id(e)] = e
        if isinstance(e, Node):
            memo[id(e)] = Node(e.op, e.types, e.flags, [copied(x, memo) for x in e.args])
        elif isinstance(e, Arith):
            memo[id(e)] = Arith(e.op, copied(e.x, memo), copied(e.y, memo))
        elif isinstance(e, Relation):
            memo[id(e)] = Relation(e.rel, copied(e.x, memo), copied(e.y, memo))
        elif isinstance(e, Guard):
            memo[id(e)] = Guard(e.name, *(copied(x, memo) for x in e.args), word=e.word)
        elif isinstance(e, Not):
            memo[id(e)] = Not(copied(e.x, memo))
        elif isinstance(e, All):
            memo[id(e)] = All([copied(x, memo) for x in e.items])
    return memo[id(e)]


def everything(e: Any) -> List[Any]:
    """e and all inside, conditions too, shared parts once, in a fixed order."""
    out: Dict[int, Any] = {}

    def visit(x: Any) -> None:
        if id(x) in out or x is None:
            return
        out[id(x)] = x
        inside = x.args if isinstance(x, (Node, Guard)) else (x.x, x.y) if isinstance(x, (Arith, Relation)) else (x.x,) if isinstance(x, (Not, Src)) else \
            x.items if isinstance(x, All) else ()
        for y in inside:
            visit(y)

    visit(e)
    return list(out.values())


def number_changed(v: float, threshold: bool) -> Iterator[Tuple[str, List[Any]]]:
    yield f"{v!r} is {-v!r}", [Lit(-v)]
    if not v or abs(v) == float("inf"):
        return
    if threshold:
        yield f"{v!r} is {v / 2!r} or {v * 2!r}", [Lit(v / 2), Lit(v * 2)]
    else:
        yield f"{v!r} is {v * 1.015625!r}", [Lit(v * 1.015625)]


def replacements(e: Any, threshold: bool, turned: bool) -> Iterator[Tuple[str, List[Any]]]:
    """Each small change of one part, in words; two parts where either will do. threshold: a constant that a rule with an error chooses or
    compares with. turned: a comparison with such a one."""
    if isinstance(e, Lit):
        v = e.value
        if isinstance(v, bool):
            yield f"{v} is {not v}", [Lit(not v)]
        elif isinstance(v, int) and threshold:
            yield f"{v} is {v // 2} or {v * 2}", [Lit(v // 2), Lit(v * 2)]
        elif isinstance(v, int):
            yield f"{v} is {v + 1}", [Lit(v + 1)]
            yield f"{v} is {v - 1}", [Lit(v - 1)]
        else:
            yield from number_changed(v, threshold)
    elif isinstance(e, Node):
        if len(e.args) > 1 and "comm" not in e.op.props.split() and e.op.name not in SYMMETRIC:
            i, j = (1, 2) if e.op.sig == "select" or e.op.name == "fma" else (0, 1)  # a product's factors may change places
            args = list(e.args)
            args[i], args[j] = args[j], args[i]
            if args[i] is not args[j]:
                yield f"operands of {e.name} swapped", [Node(e.op, e.types, e.flags, args)]
        twin = ops.OP_BY_NAME.get((TURNED if turned else TWIN).get(e.op.name, ""))
        if twin and twin.arity == e.op.arity and all(ops.TYPE_BY_NAME[m].cls in twin.classes for t in e.types for m in t.members):
            yield f"{e.op.name} is {twin.name}", [Node(twin, e.types, e.flags, e.args)]
    elif isinstance(e, Arith):
        yield f"{e.op} is {ARITH[e.op]} in {e}", [Arith(ARITH[e.op], e.x, e.y)]
        if e.op not in "+*":
            yield f"operands of {e} swapped", [Arith(e.op, e.y, e.x)]
    elif isinstance(e, Relation):
        yield f"{e.rel} is {RELATION[e.rel]} in {e}", [Relation(RELATION[e.rel], e.x, e.y)]


def with_change(r: Rule, memo: Dict[int, Any], when: Optional[Cond]) -> Rule:
    return Rule(r.kind, copied(r.left, memo), copied(r.right, memo), None if when is None else copied(when, memo), r.where, r.err, r.instance)


def compared_zeros(every: Sequence[Any]) -> Set[int]:
    """Zeros that are only compared with: their sign is nothing."""
    users = [(x, a) for x in every if isinstance(x, Node) for a in x.args if isinstance(a, Lit) and isinstance(a.value, float) and a.value == 0]
    return {id(a) for _, a in users} - {id(a) for x, a in users if x.op.sig != "compare"}


def is_threshold(e: Any) -> bool:
    return isinstance(e, Lit) and not isinstance(e.value, bool) and e.value != 0 and abs(e.value) != float("inf")


def chosen_only(every: Sequence[Any]) -> Set[int]:
    """Constants that are only compared with, chosen or cut at."""
    users = [(x, a) for x in every if isinstance(x, Node) for a in x.args if is_threshold(a)]
    return {id(a) for _, a in users} - {id(a) for x, a in users if x.op.name not in prove.CHOICES}


def has_error(r: Rule) -> bool:
    """Some function at the root states how far it may be off; or the rule starts from a guess of the machine and corrects it."""
    if prove_complex.is_complex(r) or any(isinstance(x, Node) and x.op.name in GUESSES for x in everything(r.right)):
        return True
    return isinstance(r.left, Node) and any(prove.budget_of(r, m, approx) for m in r.left.types[0].members for approx in modes_of(r))


def mutants(r: Rule) -> List[Mutant]:
    out = []
    every = list({id(x): x for side in (r.left, r.right, r.when) for x in everything(side)}.values())
    zeros, inexact = compared_zeros(every), has_error(r)
    chosen = chosen_only(every) if inexact else set()
    for part in (x for x in every if id(x) not in zeros):
        turned = inexact and isinstance(part, Node) and part.op.sig == "compare" and any(map(is_threshold, part.args))
        for what, some in replacements(part, id(part) in chosen, turned):
            made = [Mutant(with_change(r, {id(part): new}, r.when), what, r) for new in some]
            made[0].other = made[1] if len(made) > 1 else None
            out.append(made[0])
    for n, c in enumerate(parts(r.when)):
        flag = c.x if isinstance(c, Not) else c
        if isinstance(flag, Guard) and not flag.args:
            continue  # flags choose the contract
        rest = [x for i, x in enumerate(parts(r.when)) if i != n]
        out.append(Mutant(with_change(r, {}, All(rest) if rest else None), f"without {c}", r, str(c)))
    step = max(1, -(-len(out) // MOST))
    return [m for n, m in enumerate(out) if n % step == 0 or m.dropped]


# --- judging them -------------------------------------------------------------------------------------------------------------------
def prepare(m: Mutant, errors: Errors) -> None:
    try:
        checks.check_types(m.rule)
        m.cases = prove.cases_of(m.rule, errors)
    except (PatternError, KeyError, StopIteration, AssertionError):
        m.fate = "refused"
    m.errors = errors
    small = lambda c: (c.label[1:] not in ("4", "8"), c.label)
    m.cases.sort(key=small)
    if not m.fate and not m.cases:
        m.fate = "refused"


def kill(alive: Sequence[Mutant], some: Callable[[Mutant], List[prove.Case]], samples: int) -> Dict[int, List[prove.Outcome]]:
    """Runs some cases of each; those of which one fails are killed. The outcomes of the others, by mutant."""
    jobs = [(m, c) for m in alive for c in some(m)]
    results = prove_c.run([prove.job_of(c, samples, True) for _, c in jobs])
    out: Dict[int, List[prove.Outcome]] = {id(m): [] for m in alive}
    for (m, c), r in zip(jobs, results):
        o = prove.judged(c, r)
        out[id(m)].append(o)
        if o.state == "failed" or (c.approx in m.stated and ledger.exceeds((o.worst, o.own), m.stated[c.approx])):
            m.fate = "killed"
    for m in alive:
        if not m.fate and len(out[id(m)]) == len(m.cases) and all(o.state == "empty" for o in out[id(m)]):
            m.fate = "killed"  # it never fires: nothing is proved
    return out


def judge_each(all_mutants: Sequence[Mutant]) -> None:
    alive = [m for m in all_mutants if not m.fate]
    kill(alive, lambda m: m.cases[:2], 1 << 10)
    alive = [m for m in alive if not m.fate]
    found = kill(alive, lambda m: m.cases, 1 << 16)
    for m in (m for m in alive if not m.fate):
        alike = {(tuple(o.case.terms.code), o.case.terms.right, o.case.terms.contract): o for o in found[id(m)] if o.state == "tested"}
        open_ = alike.values()  # under approx, too, most are what they are without
        answers = {o.case.label if same_as_before(m, o.case) else shown(o.case) for o in open_}
        m.fate = "killed" if "refuted" in answers else "survived" if "unknown" in answers else "right"
    look_closer([m for m in alive if m.fate == "survived" and m.stated])


def look_closer(left: Sequence[Mutant]) -> None:
    """Survivors of rules that state an error once more, over more values: each against the errors of its own rule on the same values."""
    cases: Dict[int, Dict[Tuple[str, bool], prove.Case]] = {}
    for m in left:
        if m.before and id(m.before) not in cases:
            cases[id(m.before)] = {(c.label, c.approx): c for c in prove.cases_of(m.before, m.errors)}
    jobs = [(m, c, cases[id(m.before)][c.label, c.approx]) for m in left for c in m.cases]
    same_values = lambda c, like: prove_c.Job(c.terms, prove.domains_of(like.terms), CLOSER >> 2 * (c.terms.contract == "complex"))
    rules = {(id(b), b.label): b for _, _, b in jobs}
    errors = {k: (r.worst, r.own) for k, r in zip(rules, prove_c.run([same_values(b, b) for b in rules.values()]))}
    for (m, c, b), r in zip(jobs, prove_c.run([same_values(c, b) for _, c, b in jobs])):
        if not r.ok or ledger.exceeds((r.worst, r.own), errors[id(b), b.label]):
            m.fate = "killed"


def judge(all_mutants: Sequence[Mutant]) -> None:
    """Each, and where it stands the one that is moved the other way: of both one must be killed, or both be right."""
    judge_each(all_mutants)
    again = [m for m in all_mutants if m.other and m.fate != "killed"]
    judge_each([m.other for m in again if m.other])
    for m in again:
        fates = {m.fate, m.other.fate if m.other else ""}
        m.fate = next(f for f in ("killed", "survived", "refused", "right") if f in fates)


def shown(case: prove.Case) -> str:
    return prove_z3.decide([case.terms])[0].state if prove_z3.present() and case.terms.contract not in ("ulp", "complex") else "unknown"


def same_as_before(m: Mutant, case: prove.Case) -> bool:
    """The right side is another way of writing the right side that was."""
    if m.before is None or not isinstance(m.before.right, Node) or m.dropped:
        return False
    before, after = m.before.right, m.rule.right
    try:
        if small_float(before, after):
            whole = Rule("rewrite", before.args[0], after.args[0], None, m.rule.where)
            return same_codes(build(whole, case.bind, {}, case.approx), before.types[0].name)
        if all(isinstance(e, Node) and e.name == before.name and e.op.name in ("cvt", "cvtsat") and e.types[0].name in ops.SMALL_FLOATS for e in (before, after)):
            whole = Rule("rewrite", before.args[0], after.args[0], None, m.rule.where)  # one conversion of what is the same
            t = build(whole, case.bind, {}, case.approx)
            return same(t, case) or (prove_z3.present() and prove_z3.decide_one(t).state == "proved")
        is_complex = prove_complex.is_complex(m.before)
        whole = Rule("rewrite", before, after, None, m.rule.where)
        t = parts_of(whole, m.before, case) if is_complex else build(whole, case.bind, {}, case.approx)
        t.contract = "zeros" if case.terms.contract in ("ulp", "complex") else t.contract  # the sign of a zero is no error
        return same(t, case)
    except (PatternError, NotNarrow):
        return False


def same(t: Terms, case: prove.Case) -> bool:
    """Whether two sides are one where functions are any functions of their operands, but for a few values, at which the mutant is tried."""
    if not prove_z3.present():
        return False
    prove_bits.abstract = True
    try:
        f = prove_z3.Formula(t)
        goals = [f.wrong()]
        # so much work that chance does not decide; of functions what is one at all is one soon
        limit = 2 * prove_z3.LIMIT if case.terms.contract in ("ulp", "complex") else prove_z3.SIZED_LIMIT
        for _ in range(FEW):
            state, model = prove_z3.check(limit, *goals)
            if state != "refuted":
                return state == "proved"
            found = {n: prove_z3.number(model, v) for n, v in enumerate(f.vars) if t.types[n] != "side"}
            if not right_at({t.names[n]: v for n, v in found.items()}, case):
                return False
            goals.append(prove_z3.z3.Or(*(f.vars[n] != v for n, v in found.items())))
        return False
    except prove_floats.Unsupported:
        return False
    finally:
        prove_bits.abstract = False


def right_at(values: Dict[str, int], case: prove.Case) -> bool:
    t = case.terms
    where = [d if x == "side" else prove_c.Domain("list", (values.get(name, 0),)) for name, x, d in zip(t.names, t.types, prove.domains_of(t))]
    return prove_c.run([prove_c.Job(t, where)])[0].ok


def small_float(before: Any, after: Any) -> bool:
    """Both are made of an integer, their code."""
    return all(isinstance(e, Node) and e.op.name == "bits" and e.types[0].name in ops.SMALL_FLOATS for e in (before, after)) and before.types == after.types


NANS: Dict[str, Callable[[int], bool]] = {  # of a code; others have one nan, 0x80
    "f4e2m1fn": lambda c: False, "f8e3m4": lambda c: c & 127 > 0x70, "f8e4m3": lambda c: c & 127 > 0x78, "f8e5m2": lambda c: c & 127 > 0x7c,
    "f8e4m3fn": lambda c: c & 127 == 127, "f8e8m0fnu": lambda c: c == 255}


def same_codes(t: Terms, name: str) -> bool:
    """Whether the codes of a small float are one, or nans, for all values: by z3, with floats as they are."""
    if not prove_z3.present():
        return False
    try:
        f = prove_z3.Formula(t)
    except prove_floats.Unsupported:
        return False
    left, right = f.reg[t.left], f.reg[t.right]
    nans = [c for c in range(1 << left.size()) if NANS.get(name, lambda c: c == 0x80)(c)]
    nan = lambda x: prove_z3.z3.Or(*(x == c for c in nans))
    other = prove_z3.z3.And(left != right, prove_z3.z3.Not(prove_z3.z3.And(nan(left), nan(right))))
    wrong = prove_z3.z3.And(*f.given, prove_z3.z3.Or(other, *(f.reg[b] != 0 for b, _ in t.bad)))
    return prove_z3.check(prove_z3.SIZED_LIMIT, wrong)[0] == "proved"


def parts_of(whole: Rule, before: Rule, case: prove.Case) -> Terms:
    """Both right sides of a rule of complex values, of the part that the case is of."""
    assert isinstance(before.left, Node)
    b = prove_complex.Parts(whole, {}, {}, False)
    b.pairs = {}
    t = "pred" if before.left.op.sig == "compare" else before.left.types[0].name
    b.places(before.left, before.left.types[0].name)
    side = lambda e: b.pair(e)[case.label.endswith(".im")] if t in ops.COMPLEX else b.value(e, t)
    b.t.left, b.t.right = side(whole.left), side(whole.right)
    if any(i.kind in ("cpart", "cref") for i in b.t.code):
        raise PatternError(whole.where, "z3 has no complex functions")
    return b.t


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m gen.mutate", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sample", type=int, default=0, help="every Nth mutant only")
    parser.add_argument("--rule", default="", help="rules whose name holds this")
    parser.add_argument("--but", nargs="*", default=[], metavar="NAME", help="not the rules whose name holds one of these")
    parser.add_argument("--verbose", action="store_true", help="one line a mutant")
    args = parser.parse_args(argv)
    since = time.monotonic()
    sets = [load.load_index(), *(load.load_target(t) for t in load.targets())]
    errors = ledger.errors_of(sets)
    wanted = lambda r: args.rule in r.name and not any(name in r.name for name in args.but)
    rules = {id(r): r for s in sets for name in ("index", "simplify", "lower") for r in s.strata.get(name, []) if wanted(r)}
    if args.but:
        print(f"skipped: mutants of {', '.join(args.but)}")
    made = [(r, m) for r in rules.values() for m in mutants(r)]
    made = made[::args.sample] if args.sample else made
    lines, table = ledger.read(), load.budgets()
    for r, m in made:
        for x in filter(None, (m, m.other)):
            x.stated = ledger.errors_in(lines.get(ledger.key(r, errors, table), ("", ""))[0])
            prepare(x, errors)
    judge([m for _, m in made])
    count = lambda some: {f: sum(m.fate == f for m in some) for f in ("killed", "right", "refused", "survived")}
    fates, failed = count([m for _, m in made]), 0
    for file in dict.fromkeys(r.where[0] for r, _ in made):
        of = count([m for r, m in made if r.where[0] == file])
        tried = of["killed"] + of["right"] + of["survived"]
        failed += of["survived"] > max(ALLOWED * tried, int(args.sample > 0))
        print(f"{file}: {tried} mutants: {of['killed']} killed, {of['right']} shown right, {of['survived']} survived")
    for r, m in made:
        if m.fate == "survived" or args.verbose:
            print(f"{r.name}: {m.fate}: {m.what}: {r.text}")
        if m.dropped and m.fate == "right":
            print(f"{r.name}: warning: condition not needed: {m.dropped}: {r.text}")
    tried = fates["killed"] + fates["right"] + fates["survived"]
    print(f"{tried} mutants of {len(rules)} rules: {fates['killed']} killed, {fates['right']} shown right, {fates['survived']} survived; "
          f"{fates['refused']} refused by gen/; {time.monotonic() - since:.0f} s; at most {MOST} of a rule")
    print(f"{tried - fates['survived']} passed, {fates['survived']} failed")
    return int(tried == 0 or failed or fates["survived"] > ALLOWED * tried)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
