"""Whether a rule can fire: some term that it matches must get to its phase, and no earlier rule may match that term.

A term gets to a phase only in normal form: no rule of the index phase matches any part of it, no rule of the phase itself, and in isel none of
lower, a part below its root. What simplify takes away comes back in lower only where a lowering makes it.

    abs[I](neg[I](a)) in LOWER    never reached: patterns/arith.py:35[abs.I] of simplify matches abs.i8(neg.i8(a)) in every term ..
"""
from __future__ import annotations

from typing import Callable, Dict, Iterator, List, Optional, Set, Tuple

from gen import instances, match, ops, terms
from gen.compile import Program
from gen.expr import Lit, Node, PatternError, Var
from gen.forms import root_op
from gen.known import Facts
from gen.lang import Rule
from gen.load import walk
from gen.opcodes import OPNUM, TYPENUM
from gen.terms import CONST, INDEX, LEAF, VAR, Term

Compiled = Callable[[Rule], List[Program]]
ByRoot = Dict[Optional[str], List[Rule]]
Op = Tuple[int, int]  # operation and type of a node of one lane


class Normal:
    """What a term of a phase cannot hold."""

    def __init__(self) -> None:
        self.whole: List[Tuple[str, ByRoot, Compiled]] = []  # rules that match no part of the term
        self.below: List[Tuple[str, ByRoot, Compiled]] = []  # rules that match no part below its root
        self.before: List[Tuple[str, ByRoot, Compiled]] = []  # rules of simplify, for terms that no lowering can have made
        self.made: Set[Op] = set()  # what lowerings make

    def taken(self, t: Term, facts: Facts) -> Optional[Tuple[Rule, str, Term]]:
        """A rule that matches a part that t cannot hold; its phase; the part."""
        inside = [x for x in terms.parts(t) if x.op not in (LEAF, VAR, CONST)]
        original = not any((x.op, x.type & 63) in self.made for x in inside)
        for phase, by_root, of in self.whole + (self.before if original else []):
            for x in inside:
                found = first(by_root, of, x, facts) if phase != "index" or of_index(x) else None
                if found:
                    return found, phase, x
        for phase, by_root, of in self.below:
            for x in inside:
                found = first(by_root, of, x, facts) if x is not t and (phase != "index" or of_index(x)) else None
                if found:
                    return found, phase, x
        return None


def of_index(t: Term) -> bool: return INDEX in (t.type, *(x.type for x in t.args[-1:]))


def first(by_root: ByRoot, of: Compiled, t: Term, facts: Facts) -> Optional[Rule]:
    for r in by_root.get(ops.OPS[t.op].name, ()):
        try:
            if match.fires(of(r), t, facts):
                return r
        except PatternError:  # r has a fault of its own
            continue
    return None


def by_root(rules: List[Rule]) -> ByRoot:
    out: ByRoot = {}
    for r in rules:
        out.setdefault(root_op(r.left), []).append(r)
    return out


def made_by(edges: Iterator[Tuple[str, Tuple[str, ...]]]) -> Set[Op]:
    """Operation and result type of the nodes that lowerings make; edges: their operations and types."""
    out = set()
    for name, types in edges:
        o = ops.OPS[OPNUM[name]]
        out.add((OPNUM[name], TYPENUM["pred"] if o.sig in ("compare", "test") else TYPENUM.get(types[0], -1)))
    return out


def numbers_of(r: Rule, others: List[Rule]) -> List[int]:
    if not any(isinstance(v, Var) and v.kind == "const" for v in walk(r.left)):
        return []
    return sorted({n for x in [r, *others] for n in instances.numbers_in(x)}, key=lambda n: (abs(n), n))[:40]


def check(r: Rule, earlier: List[Rule], of: Compiled, normal: Normal) -> None:
    """r must match a term of its phase that no earlier rule with the same root matches."""
    nested = any(isinstance(a, Node) or not isinstance(a, (Var, Lit)) for a in getattr(r.left, "args", (r.left,)))
    if not earlier and not nested and not normal.whole:
        return
    by: Dict[int, Rule] = {}
    example, away = None, None
    for term, facts in instances.instances(r, numbers_of(r, earlier)):
        found = next((e for e in earlier if match.fires(of(e), term, facts)), None)
        if found is not None:
            by[id(found)] = found
            example = example or terms.show(term)
            continue
        if not match.fires(of(r), term, facts):
            continue
        taken = normal.taken(term, facts)
        if taken is None:
            return
        away = away or (*taken, terms.show(term))
    if away is not None:
        rule, phase, part, whole = away
        raise PatternError(r.where, f"never reached: every term it matches has a part that a rule of {phase} takes away first: "
                           f"{rule.name} matches {terms.show(part)}" + (f" in {whole}" if terms.show(part) != whole else ""))
    if example is None:
        raise PatternError(r.where, f"never matches: no constants found that satisfy {r.when}")
    names = [e.name for e in by.values()]
    who = f"{names[0]} matches" if len(names) == 1 else f"{', '.join(names)} together match"
    raise PatternError(r.where, f"never reached: {who} every term it matches, for example {example}")


__all__ = ["Normal", "by_root", "check", "made_by"]
