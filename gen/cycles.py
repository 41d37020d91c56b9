"""Termination: the measure that index rules decrease, and a search for rules that undo each other.

The search starts from a term of each rule's left side and applies every rule, at the root and below it. If it comes back to the term, or
to one that contains it, it has found a circle, and prints it with the rule of each step.

    a.py:3: rules undo each other: (n // 6) -> ((n // 2) // 3) by a.py:3 -> (n // 6) by a.py:7
"""
from __future__ import annotations

import itertools
from typing import Callable, Dict, Iterator, List, Optional, Tuple

from gen import instances, ops, terms
from gen.expr import Expr, Node, Type
from gen.forms import root_op
from gen.lang import Rule
from gen.terms import Env, Facts, Term

DEPTH = 4       # rules in a circle
TERMS = 6       # of each rule, to start the search from
STEPS = 400     # per term
MEASURED = 150  # terms of each index rule that are measured
DIVIDES = ("floordiv", "mod")

Step = Tuple[Term, Rule]


def undoing(rules: List[Rule], told_already: List[Rule], is_new: Callable[[Rule], bool]) -> List[str]:
    """One message for each circle, at its newest rule, else at its first. told_already: rules with a message; a circle of one of them alone
    gets none."""
    by_root: Dict[Optional[str], List[Rule]] = {}
    for r in rules:
        by_root.setdefault(root_op(r.left), []).append(r)
    out: List[str] = []
    told: set = set()
    alone = {id(r) for r in told_already}
    starts = {id(r): list(itertools.islice(instances.instances(r, sorted(set(instances.numbers_in(r)))), TERMS)) for r in rules}
    for depth, r in ((d, r) for d in range(1, DEPTH + 1) for r in rules):  # short circles first
        if id(r) in told:
            continue
        for start, facts in list(starts[id(r)]):
            found, all_of_it = _search(start, facts, r, by_root, depth)
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
MEASURE = "divisions, terms under them, additions and coefficients, uses, rank, constants"
Measure = Tuple[int, int, int, int, int, int]


def measure(t: Term) -> Measure:
    """What an index rule must decrease, in lexicographic order. A division of constants counts as its result."""
    divisions = under = additions = uses = rank = constants = 0
    todo = [t]
    while todo:
        x = todo.pop()
        if x[0] == "leaf":
            uses += 1
        elif x[0] == "const":
            constants += abs(int({"True": 1, "False": 0}.get(x[2], x[2])))
        elif x[0] == "sum":
            additions += len(x[2]) + (x[1] != 0) - 1 + sum(abs(k) != 1 for _, k in x[2])
            constants += abs(x[1]) + sum(abs(k) for _, k in x[2])
        elif x[1] in DIVIDES and all(y[0] == "const" for y in x[5]):
            continue
        else:
            divisions += x[1] in DIVIDES
            under += (len(x[5][0][2]) + (x[5][0][1] != 0) if x[5][0][0] == "sum" else 1) if x[1] in DIVIDES else 0
            rank += ops.OP_BY_NAME[x[1]].rank
        todo += _parts(x)
    return divisions, under, additions, uses, rank, constants


def growing(rule: Rule, earlier: List[Rule]) -> str:
    """Why an index rule does not shrink, with a term that no earlier rule matches; empty if it shrinks."""
    numbers = sorted(set(instances.numbers_in(rule)))
    for t, facts in itertools.islice(instances.instances(rule, numbers), MEASURED):
        for env in itertools.islice(terms.fires(rule, t, facts), 1):
            made = _right(rule, env)
            if made is not None and measure(made) >= measure(t) and not any(next(terms.fires(e, t, facts), None) for e in earlier):
                return f"does not shrink: ({MEASURE}) go from {measure(t)} to {measure(made)}, as {terms.show(t)} -> {terms.show(made)}"
    return ""


def _search(start: Term, facts: Facts, first: Rule, by_root: Dict[Optional[str], List[Rule]], depth: int) -> Tuple[Optional[List[Step]], bool]:
    """Searches depth first, with `first` as the first rule. Returns a circle or None, and whether a deeper search could find no more."""
    budget = [STEPS]
    whole = True

    def go(t: Term, path: List[Step]) -> Optional[List[Step]]:
        nonlocal whole
        for rule, made in _rewrites(t, facts, by_root if path else {root_op(first.left): [first]}):
            budget[0] -= 1
            if budget[0] < 0:
                break
            way = [*path, (made, rule)]
            if _inside(start, made):
                return way
            if all(made != seen for seen, _ in path):
                whole &= len(way) < depth
                found = go(made, way) if len(way) < depth else None
                if found:
                    return found
        return None

    found = go(start, [])
    return found, whole and budget[0] >= 0


def _inside(t: Term, where: Term) -> bool:
    return t == where or any(_inside(t, x) for x in _parts(where))


def _parts(t: Term) -> List[Term]:
    return list(t[5]) if t[0] == "op" else [x for x, _ in t[2]] if t[0] == "sum" else []


def _root(t: Term) -> Optional[str]:
    return t[1] if t[0] == "op" else "sum" if t[0] == "sum" else None


def _rewrites(t: Term, facts: Facts, by_root: Dict[Optional[str], List[Rule]]) -> Iterator[Tuple[Rule, Term]]:
    """Every term that one application of a rule makes of t, at its root or inside it."""
    for rule in by_root.get(_root(t), []):
        for env in terms.fires(rule, t, facts):
            made = _right(rule, env)
            if made is not None:
                yield rule, made
            break
    if t[0] == "op":
        for i, x in enumerate(t[5]):
            for rule, made in _rewrites(x, facts, by_root):
                yield rule, (*t[:5], (*t[5][:i], made, *t[5][i + 1:]))
    elif t[0] == "sum":
        for i, (x, k) in enumerate(t[2]):
            for rule, made in _rewrites(x, facts, by_root):
                yield rule, terms.linear([*t[2][:i], (made, k), *t[2][i + 1:]], t[1])


def _right(rule: Rule, env: Env) -> Optional[Term]:
    assert isinstance(rule.right, Expr)
    try:
        t = rule.left.result if isinstance(rule.left, Node) else Type("index")
        return terms.build(rule.right, t, env, 1, env.flags or frozenset())
    except (terms.Undefined, KeyError):
        return None
