"""Enumerates the terms that a rule matches: its left side with every type of its classes; with constants that satisfy its conditions,
small ones and those near the numbers in the rule and in rules beside it; with only the flags it asks for, and with all it allows. A
variable becomes a leaf of which only the facts of the conditions are known, so a rule that matches the term for every choice of types,
constants and flags matches everything that this rule matches.

    add[F16](a, 0.0)  ->  add.f16(a, 0.0), add.bf16(a, 0.0), the same with every flag
"""
from __future__ import annotations

import itertools
from typing import Any, Iterator, List, Optional, Tuple

from gen import guards
from gen.expr import Guard, Lit, Node, Not, Relation, Type, Var, children, parts
from gen.forms import is_index
from gen.lang import Rule
from gen.terms import FLAGS, RELATION, Env, Facts, Term, Undefined, build, constant, evaluate, inside, linear, subject_of

FIRST = {"k": 4, "m": 8, "p": 2, "q": 3}
SMALL = (4, 8, 6, 12, 1, 2, 3, 5, 7, 16, 0, -1, -2, -3, -8, 64, 100, 1000, 1 << 20, 1 << 31, 1 << 40)
MOST = 3000  # terms of one rule


def instances(r: Rule, numbers: List[int]) -> Iterator[Tuple[Term, Facts]]:
    """Terms that r matches, with common constants first. numbers: more constants to try, from r and from rules beside it."""
    everything = inside(r.left)
    variables = list({id(v): v for v in everything if isinstance(v, Var)}.values())
    bound = [c.args[2] for c in parts(r.when) if isinstance(c, Guard) and c.name == "period"]
    constants = [v for v in [*variables, *bound] if v.kind == "const"]  # type: ignore[attr-defined]
    classes = sorted({t.name for e in everything if isinstance(e, Node) for t in e.types if t.is_class})
    any_lanes = r.kind in ("llvm", "intr") and all(t.lanes == 1 for e in everything if isinstance(e, Node) for t in e.types)
    asked = frozenset(c.name for c in parts(r.when) if isinstance(c, Guard) and c.name in FLAGS)
    refused = frozenset(c.x.name for c in parts(r.when) if isinstance(c, Not) and isinstance(c.x, Guard))
    near = dict.fromkeys([*SMALL, *(n + d for n in numbers for d in (0, 1, -1))])
    choices = [list(dict.fromkeys([FIRST.get(v.name, 4), *near])) for v in constants]
    rests: List[Term] = [("leaf", "rest"), constant(0, "index"), ("sum", 3, ((("leaf", "rest"), 1),))]
    if not any(v.kind == "rest" for v in variables):
        rests = rests[:1]
    count = 0
    others = list(itertools.product(itertools.product(*(Type(c).members for c in classes)), rests,
                                    [asked] if is_index(r.left) else [asked, FLAGS - refused], (1, 2) if any_lanes else (1,)))
    numbers_of_all = itertools.islice(itertools.product(*choices), 40 * MOST)
    for numbers_of, (types, rest, flags, lanes) in ((n, o) for n in numbers_of_all for o in others):
        env = Env({id(v): rest if v.kind == "rest" else ("leaf", v.name) for v in variables if v.kind != "const"},
                  {id(v): k for v, k in zip(constants, numbers_of)}, dict(zip(classes, types)))
        made = _instance(r, env, lanes, flags)
        if made:
            yield made
            count += 1
            if count == MOST:
                return


def _instance(r: Rule, env: Env, lanes: int, flags: frozenset) -> Optional[Tuple[Term, Facts]]:
    """r's left side as a term, with the facts that its conditions assume; None where the constants violate them."""
    facts = Facts()
    try:
        for c in parts(r.when):
            negative, g = (True, c.x) if isinstance(c, Not) else (False, c)
            if isinstance(g, Relation):
                if RELATION[g.rel](evaluate(g.x, env), evaluate(g.y, env)) == negative:
                    return None
            elif isinstance(g, Guard) and g.name in ("apart", "period"):
                at, least, most = _interval_of(g, env)
                known = facts.within.get(at, (least, most))
                facts.within[at] = (max(least, known[0]), min(most, known[1]))
                if negative or facts.within[at][0] >= facts.within[at][1]:
                    return None
            elif isinstance(g, Guard) and guards.BY_NAME[g.name].kind in ("fact", "use"):
                subject, args = subject_of(g, env), tuple(evaluate(a, env) for a in g.args[1:])
                if negative:
                    facts.absent.append((g.name, subject, args))
                elif g.name == "within" and subject[0] == "const":
                    if not facts.holds(g.name, subject, args):
                        return None
                elif g.name == "within":
                    lo, hi = facts.within.get(subject, args)
                    facts.within[subject] = (max(lo, args[0]), min(hi, args[1]))
                    if facts.within[subject][0] >= facts.within[subject][1]:
                        return None
                else:
                    facts.known[g.name, subject] = args
        return build(r.left, None, env, lanes, flags), facts
    except Undefined:
        return None


def _interval_of(g: Guard, env: Env) -> Tuple[Term, int, int]:
    """The fact that `apart` or `period` assumes: a term and its half-open interval."""
    if g.name == "period":
        k, q = evaluate(g.args[1], env), evaluate(g.args[2], env)
        return subject_of(g, env), q * k, q * k + k
    return linear([(subject_of(g, env, 1), 1), (subject_of(g, env), -1)], 0), evaluate(g.args[2], env), 1 << 62


def numbers_in(r: Rule) -> List[int]:
    """The integer literals of a rule's left side and conditions."""
    out: List[int] = []
    def walk(e: Any) -> None:
        if isinstance(e, Lit) and isinstance(e.value, int):
            out.append(int(e.value))
        for x in [*children(e), *(e.args if isinstance(e, Guard) else (e.x, e.y) if isinstance(e, Relation) else (e.x,) if isinstance(e, Not) else ())]:
            walk(x)
    walk(r.left)
    for c in parts(r.when):
        walk(c)
    return out
