"""Rules that undo each other: by terms. From a term of each rule's left side every rule is tried, at the root and below it; coming
back to the term, or to one that has it inside, is a circle, and it is printed with the rule of every step.

    a.py:3: rules undo each other: (n // 6) -> ((n // 2) // 3) by a.py:3 -> (n // 6) by a.py:7
"""
from __future__ import annotations

import itertools
from typing import Dict, Iterator, List, Optional, Tuple

from gen import instances, terms
from gen.expr import Expr, Node, Type
from gen.forms import root_op
from gen.lang import Rule
from gen.terms import Env, Facts, Term

DEPTH = 4       # rules in a circle
TERMS = 6       # of each rule that circles are looked for from
STEPS = 400     # per term

Step = Tuple[Term, Rule]


def undoing(rules: List[Rule], told_already: List[Rule]) -> List[str]:
    """One message for each circle found, at the rule that it starts from; none for a circle of one rule that has its message."""
    by_root: Dict[Optional[str], List[Rule]] = {}
    for r in rules:
        by_root.setdefault(root_op(r.left), []).append(r)
    out: List[str] = []
    told: set = set()
    alone = {id(r) for r in told_already}
    for depth, r in ((d, r) for d in range(1, DEPTH + 1) for r in rules):  # short circles first
        if id(r) in told:
            continue
        for start, facts in itertools.islice(instances.instances(r, sorted(set(instances.numbers_in(r)))), TERMS):
            found = _search(start, facts, r, by_root, depth)
            circle = {id(by) for _, by in found or []}
            if found and not told & circle and not (len(circle) == 1 and circle <= alone):
                told |= circle
                way = " -> ".join(f"{terms.show(t)} by {by.name}" for t, by in found)
                who = "rules undo each other" if len(circle) > 1 else "the rule undoes itself"
                out.append(f"{r.where[0]}:{r.where[1]}: error: {who}: {terms.show(start)} -> {way}")
                break
    return out


def _search(start: Term, facts: Facts, first: Rule, by_root: Dict[Optional[str], List[Rule]], depth: int) -> Optional[List[Step]]:
    """Depth first from `first` on."""
    budget = [STEPS]

    def go(t: Term, path: List[Step]) -> Optional[List[Step]]:
        for rule, made in _rewrites(t, facts, by_root if path else {root_op(first.left): [first]}):
            budget[0] -= 1
            if budget[0] < 0:
                break
            way = [*path, (made, rule)]
            if _inside(start, made):
                return way
            if len(way) < depth and all(made != seen for seen, _ in path):
                found = go(made, way)
                if found:
                    return found
        return None

    return go(start, [])


def _inside(t: Term, where: Term) -> bool:
    return t == where or any(_inside(t, x) for x in _parts(where))


def _parts(t: Term) -> List[Term]:
    return list(t[5]) if t[0] == "op" else [x for x, _ in t[2]] if t[0] == "sum" else []


def _root(t: Term) -> Optional[str]:
    return t[1] if t[0] == "op" else "sum" if t[0] == "sum" else None


def _rewrites(t: Term, facts: Facts, by_root: Dict[Optional[str], List[Rule]]) -> Iterator[Tuple[Rule, Term]]:
    """Every term that one rule makes of t, at its root or inside."""
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
