"""Tests the prover: changes rules in small ways, one at a time, and checks that the proof fails. A proof that accepts wrong rules is no proof.

usage: python -m gen.mutation.mutate [--sample N] [--most N] [--rule TEXT] [--every] [--verbose]

gen/mutation/mutants.py says what is changed and how: where it makes two changes for one place, one of them must be killed. A mutant must
fail its proof, or be shown equal to its rule by z3 (gen/mutation/equivalent.py), or be as right as its rule at every value of its operands
(gen/mutation/every_value.py). A mutant that only samples fail to tell from its rule has survived; at most 1 % of a pattern file's mutants
may survive: those of a file with more are counted as failed. A dropped condition that no proof needs is reported: it only keeps the rule
from firing, or, where the report says so, keeps rewriting from never ending.

A mutant of a function's rule must keep what the rule keeps: the budget, and the two errors that the ledger states for the rule, with the
instructions moved by their errors and without (ledger.exceeds, as in `./dev rule --check`). So a coefficient that is off by a sixty-fourth
or less fails even if the budget would allow it. A larger error counts only if the rule has a smaller one on the same values.
"""
from __future__ import annotations

import argparse
import math
import sys
import time
from dataclasses import replace
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from gen import checks, ledger, load
from gen.proof import driver, prove
from gen.mutation import every_value
from gen.lang import PatternError, Rule
from gen.ledger import Errors
from gen.mutation.mutants import MOST, Mutant, mutants
from gen.mutation.equivalent import proved_elsewhere, same_as_before, same_in_place, same_left, shown

ALLOWED = 0.01
PRODUCT = 1 << 17  # combinations that the driver tries
CLOSER = 1 << 20  # values drawn for what would survive; of complex ones, which take longer, a quarter


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


def stated(made: Sequence[Tuple[Rule, Mutant]], errors: Errors) -> List[Mutant]:
    """The mutants, and the second mutants of the same place, with the errors that their rules state."""
    lines, table, of = ledger.read(), load.budgets(), {}
    out = [(r, x) for r, m in made for x in (m, m.other) if x]
    for r, x in out:
        if id(r) not in of:
            of[id(r)] = ledger.errors_in(lines.get(ledger.key(r, errors, table), ("", ""))[0])
        x.stated, x.errors = of[id(r)], errors
    return [x for _, x in out]


class Rules:
    """The cases of the rules that mutants were made from, built once."""

    def __init__(self) -> None:
        self.cases: Dict[int, Dict[Any, prove.Case]] = {}

    def case(self, m: Mutant, c: prove.Case) -> Optional[prove.Case]:
        """The same case of the rule itself."""
        assert m.before
        if id(m.before) not in self.cases:
            self.cases[id(m.before)] = {(x.label, x.approx, x.terms_of): x for x in prove.cases_of(m.before, m.errors)}
        found = self.cases[id(m.before)].get((c.label, c.approx, c.terms_of))
        return found if found and found.terms.types == c.terms.types and found.terms.names == c.terms.names else None


def kill(alive: Sequence[Mutant], some: Callable[[Mutant], List[prove.Case]], samples: int, rules: Rules) -> Dict[int, List[prove.Outcome]]:
    """Runs some cases of each mutant and kills those with a failing case. Returns the outcomes by mutant."""
    jobs = [(m, c) for m in alive for c in some(m)]
    results = driver.run([prove.job_of(c, samples, True) for _, c in jobs])
    out: Dict[int, List[prove.Outcome]] = {id(m): [] for m in alive}
    worse = []
    for (m, c), r in zip(jobs, results):
        o = prove.judged(c, r)
        out[id(m)].append(o)
        if o.state == "failed":
            m.fate = "killed"
        elif c.approx in m.stated and ledger.exceeds((o.worst, o.own), m.stated[c.approx]):
            worse.append((m, c, o))
    compare([w for w in worse if not w[0].fate], samples, rules)
    for m in alive:
        if not m.fate and len(out[id(m)]) == len(m.cases) and all(o.state == "empty" for o in out[id(m)]):
            m.fate = "killed"  # it never fires: nothing is proved
    return out


def compare(worse: Sequence[Any], samples: int, rules: Rules) -> None:
    """Kills the mutants whose rule has a smaller error on the same values."""
    like = [rules.case(m, c) for m, c, _ in worse]
    jobs = [driver.Job(b.terms, prove.domains_of(c.terms), samples) for (_, c, _), b in zip(worse, like) if b]
    found = iter(driver.run(jobs))
    for (m, _, o), b in zip(worse, like):
        r = next(found) if b else None
        if r is None or not r.ok or ledger.exceeds((o.worst, o.own), (r.worst, r.own)):
            m.fate = "killed"


def by_samples(some: Sequence[Mutant], rules: Rules) -> None:
    """Kills the mutants that fail on sampled values; a mutant that passes at every value is right."""
    alive = [m for m in some if not m.fate]
    kill(alive, lambda m: m.cases[:2], 1 << 10, rules)
    alive = [m for m in alive if not m.fate]
    found = kill(alive, lambda m: m.cases, 1 << 16, rules)
    for m in (m for m in alive if not m.fate):
        alike = {(tuple(o.case.terms.code), o.case.terms.right, o.case.terms.contract): o.case for o in found[id(m)] if o.state == "tested"}
        m.open = list(alike.values())  # most cases under approx have the same code as without
        m.fate = "" if m.open else "right" if any(c.terms.contract in ("ulp", "complex") for c in m.cases) else "equal"
    look_closer([m for m in alive if not m.fate and m.stated], rules)


def directed(b: prove.Case) -> driver.Job:
    """A job over all combinations of the values at which the rule changes its behaviour, with no result moved."""
    where = [d if d.mode != "side" else driver.Domain("side", (0,)) for d in prove.domains_of(b.terms)]
    all_of = lambda d: replace(d, values=tuple(dict.fromkeys(d.values + d.more)), more=())
    joined = [all_of(d) if d.mode == "sample" else d for d in where]
    return driver.Job(b.terms, joined if math.prod(len(d.values) for d in joined) <= PRODUCT else where)


def look_closer(some: Sequence[Mutant], rules: Rules) -> None:
    """Runs survivors of rules that state an error over more values, and compares them with their rules on the same values."""
    jobs = [(m, c, b) for m in some for c in m.cases for b in [rules.case(m, c)] if b]
    drawn = lambda b: driver.Job(b.terms, prove.domains_of(b.terms), CLOSER >> 2 * (b.terms.contract == "complex"))
    own = {id(b): b for _, _, b in jobs}
    for way in (directed, drawn):
        values = dict(zip(own, driver.run([way(b) for b in own.values()])))
        open_ = [(m, c, b) for m, c, b in jobs if not m.fate]
        for (m, c, b), r in zip(open_, driver.run([replace(way(b), terms=c.terms) for _, c, b in open_])):
            was = values[id(b)]
            if not r.ok or (was.ok and ledger.exceeds((r.worst, r.own), (was.worst, was.own))):
                m.fate = "killed"


def by_proof(some: Sequence[Mutant], rules: Rules, every: bool) -> None:
    """Judges the remaining mutants by z3, and by runs over every value."""
    every_value.settle([m for m in some if not m.fate], rules.case, False)
    for m in (m for m in some if not m.fate):
        answers = {"proved"} if same_left(m) or proved_elsewhere(m) else {"proved" if same_in_place(m, c) or same_as_before(m, c) else shown(c) for c in m.open}
        m.fate = "killed" if "refuted" in answers else "survived" if "unknown" in answers else "equal"
    if every:
        every_value.settle([m for m in some if m.fate == "survived"], rules.case, True)


def judge(all_mutants: Sequence[Mutant], every: bool = False) -> None:
    """Judges all mutants. Of two mutants of the same place one must be killed, or both must be right."""
    rules = Rules()
    by_samples(all_mutants, rules)
    by_samples([m.other for m in all_mutants if m.other and m.fate not in ("killed", "refused")], rules)
    for m in (m for m in all_mutants if m.other and m.other.fate == "killed" and m.fate != "killed"):
        m.fate, m.coarse = "killed", True
    by_proof([x for m in all_mutants if m.fate not in ("killed", "refused") for x in (m, m.other) if x], rules, every)
    for m in (m for m in all_mutants if m.other and m.fate != "killed"):
        fates = {m.fate, m.other.fate}
        m.fate = next(f for f in ("survived", "right", "equal", "refused") if f in fates)


class Tally(NamedTuple):
    tried: int
    survived: int

    def bad(self, sampled: bool = False) -> bool:
        """Whether too many survive. In a sample of a file one may: the limit is a share of all mutants."""
        return self.survived > max(ALLOWED * self.tried, int(sampled))


def tally(what: str, some: Sequence[Mutant]) -> Tally:
    """Counts and prints the fates of some mutants."""
    n = {f: sum(m.fate == f for m in some) for f in ("killed", "equal", "right", "refused", "survived")}
    tried, coarse = len(some) - n["refused"], sum(m.coarse for m in some)
    print(f"{what}: {tried} mutants: {n['killed']} killed ({coarse} by the larger of two changes alone), {n['equal']} shown equal, "
          f"{n['right']} as right over every value, {n['survived']} survive: {100 * (tried - n['survived']) / max(1, tried):.2f} % "
          f"({n['refused']} refused by gen/)")
    return Tally(tried, n["survived"])


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m gen.mutation.mutate", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sample", type=int, default=0, help="every Nth mutant only")
    parser.add_argument("--rule", default="", help="only rules whose name contains this")
    parser.add_argument("--most", type=int, default=MOST, help="mutants of a rule; 0: at every place")
    parser.add_argument("--every", action="store_true", help="run survivors over every value, and write patterns/mutants.txt")
    parser.add_argument("--again", type=int, default=0, metavar="STEP", help="only check patterns/mutants.txt, over one value in STEP")
    parser.add_argument("--verbose", action="store_true", help="one line a mutant")
    args = parser.parse_args(argv)
    since = time.monotonic()
    sets = [load.load_index(), *(load.load_target(t) for t in load.targets())]
    errors = ledger.errors_of(sets)
    rules = {id(r): r for s in sets for name in load.REWRITES for r in s.phases.get(name, []) if args.rule in r.name}
    if args.again:
        every = stated([(r, m) for r in rules.values() if every_value.has_few_bits(r) for m in mutants(r, 0)], errors)
        good, bad = every_value.again(every, lambda m: prepare(m, errors), Rules().case, args.again)
        print(f"{good} passed, {bad} failed")
        return int(bad > 0)
    made = [(r, m) for r in rules.values() for m in mutants(r, args.most)]
    made = made[::args.sample] if args.sample else made
    for m in stated(made, errors):
        prepare(m, errors)
    judge([m for _, m in made], args.every)
    tallies = [tally(file, [m for r, m in made if r.where[0] == file]) for file in dict.fromkeys(r.where[0] for r, _ in made)]
    failed = [t for t in tallies if t.bad(args.sample > 0)]
    for r, m in made:
        if m.fate == "survived" or args.verbose:
            print(f"{r.name}: {m.fate}: {m.what}: {r.text}")
        if m.dropped and m.fate in ("equal", "right"):
            print(f"{r.name}: warning: condition not needed: {m.dropped}: {r.text}")
    places = f"at most {args.most} of each" if args.most else "all places"
    whole = tally(f"{len(rules)} rules, {places}, {time.monotonic() - since:.0f} s", [m for _, m in made])
    wrong = whole.survived if whole.bad() else sum(t.survived for t in failed)
    print(f"{whole.tried - wrong} passed, {wrong} failed")
    return int(whole.tried == 0 or wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
