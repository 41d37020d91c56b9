"""Termination: the measure that index rules decrease, and a search for rules that undo each other.

The search starts from a term of each rule's left side and applies every rule, at the root and below it. If it comes back to the term, or
to one that contains it, it has found a circle, and prints it with the rule of each step.

    a.py:3: rules undo each other: (n // 6) -> ((n // 2) // 3) by a.py:3 -> (n // 6) by a.py:7
"""
from __future__ import annotations

import itertools
from typing import Callable, Dict, Iterator, List, Optional, Tuple

from gen import instances, match, ops, terms
from gen.forms import root_op
from gen.known import MAX, MIN, Facts
from gen.lang import Rule
from gen.opcodes import OPNUM, Program
from gen.terms import CONST, FLOORDIV, LEAF, MOD, PRED, SUM, VAR, Term

DEPTH = 4       # rules in a circle
TERMS = 6       # of each rule, to start the search from
STEPS = 400     # per term
MEASURED = 150  # terms of each index rule that are measured

Step = Tuple[Term, Rule]
Compiled = Callable[[Rule], List[Program]]  # a rule's programs


def undoing(rules: List[Rule], of: Compiled, told_already: List[Rule], is_new: Callable[[Rule], bool]) -> List[str]:
    """One message for each circle, at its newest rule, else at its first. told_already: rules with a message; a circle of one of them alone
    gets none."""
    by_root: Dict[int, List[Rule]] = {}
    for r in rules:
        by_root.setdefault(_root(r), []).append(r)
    out: List[str] = []
    told: set = set()
    alone = {id(r) for r in told_already}
    starts = {id(r): list(itertools.islice(instances.instances(r, sorted(set(instances.numbers_in(r)))), TERMS)) for r in rules}
    for depth, r in ((d, r) for d in range(1, DEPTH + 1) for r in rules):  # short circles first
        if id(r) in told:
            continue
        for start, facts in list(starts[id(r)]):
            found, all_of_it = _search(start, facts, r, by_root, of, depth)
            if all_of_it:
                starts[id(r)].remove((start, facts))
            circle = {id(by) for _, by in found or []}
            if found and not told & circle and not (len(circle) == 1 and circle <= alone):
                told |= circle
                way = " -> ".join(f"{terms.show(t)} by {by.name}" for t, by in found)
                who = "rules undo each other" if len(circle) > 1 else "the rule undoes itself"
                at = next((by for _, by in found if is_new(by)), r)
                out.append(f"{at.where[0]}:{at.where[1]}: error: {who}: {terms.show(start)} -> {way}")
                break
    return out


# --- the measure of the index phase ---------------------------------------------------------------------------------------------------
MEASURE = ("// % min max", "terms under divisions", "divisors", "negative constants under divisions", "constants under divisions",
           "comparisons other than with 0", "uses", "additions and coefficients", "constants")
Measure = Tuple[int, ...]


def measure(t: Term) -> Measure:
    """What an index rule must decrease, in lexicographic order, wherever t stands in a larger term. What is under n divisions counts 2**n
    times, so that a rule may move it out of one of them. A division of constants counts as nothing: it becomes a constant."""
    operations = under = divisors = negative = constants_under = relations = additions = uses = constants = 0
    rest = [(t, 0)]
    while rest:
        x, depth = rest.pop()
        weight = 1 << depth if depth else 0
        if x.op == CONST:
            constants += abs(int(x.imm))
        elif x.op == SUM:
            c = int(x.imm)
            negative += weight * (c < 0)
            constants_under += weight * abs(c)
            additions += len(x.args) + (c != 0) - 1 + sum(abs(k) != 1 for k in x.ks)
            constants += abs(c) + sum(2 * abs(k) + (k < 0) for k in x.ks)
            rest += [(y, depth) for y in x.args]
        elif x.op in (FLOORDIV, MOD):
            if all(y.op == CONST for y in x.args):
                continue
            operations, under = operations + 1, under + weight
            divisors += int(x.args[1].imm) if x.args[1].op == CONST else 0
            rest.append((x.args[0], depth + 1))
        else:
            under += weight
            operations += x.op in (MIN, MAX)
            uses += x.op in (LEAF, VAR)
            relations += x.type == PRED and 2 * ops.OPS[x.op].rank + (x.args[1] is not terms.index(0))
            rest += [(y, depth) for y in x.args]
    return operations, under, divisors, negative, constants_under, relations, uses, additions, constants


def growing(rule: Rule, earlier: List[Rule], of: Compiled) -> str:
    """Why an index rule does not shrink, with a term that no earlier rule matches; empty if it shrinks."""
    numbers = sorted(set(instances.numbers_in(rule)))
    for t, facts in itertools.islice(instances.instances(rule, numbers), MEASURED):
        made = next(match.firings(of(rule), t, facts), None)
        if made is not None and measure(made) >= measure(t) and not any(match.fires(of(e), t, facts) for e in earlier):
            grown = next((f"{what} go from {x} to {y}" for what, x, y in zip(MEASURE, measure(t), measure(made)) if x != y), "nothing decreases")
            return f"does not shrink: {grown}, as {terms.show(t)} -> {terms.show(made)}"
    return ""


def _search(start: Term, facts: Facts, first: Rule, by_root: Dict[int, List[Rule]], of: Compiled, depth: int) -> Tuple[Optional[List[Step]], bool]:
    """Searches depth first, with `first` as the first rule. Returns a circle or None, and whether a deeper search could find no more."""
    budget = [STEPS]
    whole = True

    def go(t: Term, path: List[Step]) -> Optional[List[Step]]:
        nonlocal whole
        for rule, made in _rewrites(t, facts, by_root if path else {_root(first): [first]}, of):
            budget[0] -= 1
            if budget[0] < 0:
                break
            way = [*path, (made, rule)]
            if _inside(start, made):
                return way
            if all(made is not seen for seen, _ in path):
                whole &= len(way) < depth
                found = go(made, way) if len(way) < depth else None
                if found:
                    return found
        return None

    found = go(start, [])
    return found, whole and budget[0] >= 0


def _inside(t: Term, where: Term) -> bool:
    return t is where or any(_inside(t, x) for x in where.args)


def _root(r: Rule) -> int:
    return OPNUM[root_op(r.left) or "none"]


def _rewrites(t: Term, facts: Facts, by_root: Dict[int, List[Rule]], of: Compiled) -> Iterator[Tuple[Rule, Term]]:
    """Every term that one application of a rule makes of t, at its root or inside it."""
    for rule in by_root.get(t.op, []):
        made = next(match.firings(of(rule), t, facts), None)
        if made is not None:
            yield rule, made
    for i, x in enumerate(t.args):
        for rule, made in _rewrites(x, facts, by_root, of):
            args = (*t.args[:i], made, *t.args[i + 1:])
            whole = terms.total(int(t.imm), zip(t.ks, args)) if t.op == SUM else terms.node(t.op, t.type, t.flags, args, t.imm)
            if whole is not None:
                yield rule, whole
