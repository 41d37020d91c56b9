"""Enumerates the terms that a rule matches: its left side with every type of its classes; with constants that satisfy its conditions,
small ones and those near the numbers in the rule and in rules beside it; with only the flags it asks for, and with all it allows. A
variable becomes a leaf of which only the facts of the conditions are known, so a rule that matches the term for every choice of types,
constants and flags matches everything that this rule matches.

    add[F16](a, 0.0)  ->  add.f16(a, 0.0), add.bf16(a, 0.0), the same with every flag
"""
from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Optional, Tuple

from gen import constants as satisfying, guards, ops
from gen.expr import Arith, Expr, Guard, Lit, Node, Not, Relation, Type, Var, Width, children, parts
from gen.forms import inside, is_const, is_index, terms_of
from gen.known import EXCLUDES, INF, NAN, NEGZERO, Facts
from gen.lang import Rule
from gen.match import RELATE, arithmetic
from gen.opcodes import FLAGBIT, OPNUM, REL
from gen.terms import CONST, INDEX, SUM, Term, constant, index, leaf, node, total, type_code

FIRST = {"k": 4, "m": 8, "p": 2, "q": 3}
SMALL = (4, 8, 6, 12, 1, 2, 3, 5, 7, 16, 0, -1, -2, -3, -8, 64, 100, 1000, 1 << 20, 1 << 31, 1 << 40)
MOST = 3000  # terms of one rule
FLAGS = frozenset(f for f in ops.FLAGS if f != "wide")
FAR = 1 << 62


class Undefined(Exception):
    """The left side with these numbers is no term, or its conditions do not hold."""


@dataclass
class Env:
    """What the variables of a left side stand for."""

    konst: Dict[int, int]
    types: Dict[str, str]
    rest: Optional[int]      # `rest` is a leaf plus this number; None: no terms are left
    lanes: int               # of all nodes whose type says one lane
    flags: int               # that all nodes have, with those that the rule writes
    value: Dict[int, Term] = field(default_factory=dict)  # by id of a variable

    def type(self, t: Type) -> int:
        return type_code(self.types.get(t.name, t.name), self.lanes if t.lanes == 1 else t.lanes)


def evaluate(e: Expr, env: Env) -> int:
    if isinstance(e, Lit):
        return int(e.value)
    if isinstance(e, Width):
        return ops.TYPE_BY_NAME[next(iter(env.types.values()))].bits
    if isinstance(e, Var):
        if id(e) not in env.konst:
            raise Undefined
        return env.konst[id(e)]
    assert isinstance(e, Arith)
    found = arithmetic(e.op, evaluate(e.x, env), evaluate(e.y, env))
    if found is None:
        raise Undefined
    return found


def values_of(t: str) -> range:
    """The numbers of an integer type."""
    o = ops.TYPE_BY_NAME[t]
    return range(1 << o.bits) if o.cls == "U" else range(-1 << o.bits - 1, 1 << o.bits - 1)


def total_of(c: int, terms: List[Tuple[int, Term]]) -> Term:
    found = total(c, terms)
    if found is None:
        raise Undefined
    return found


def build(e: Expr, t: Type, env: Env) -> Term:
    """A left side as a term. t: the type of its operand position."""
    if isinstance(e, Var) and e.kind != "const":
        if id(e) not in env.value:
            x = leaf(e.name, INDEX if e.kind != "value" else env.type(t))
            env.value[id(e)] = x if e.kind != "rest" else index(0) if env.rest is None else total_of(env.rest, [(1, x)])
        return env.value[id(e)]
    if is_const(e):
        n = e.value if isinstance(e, Lit) else evaluate(e, env)
        if isinstance(e, Arith) and int(n) not in values_of(t.name if t.name == "index" else env.types.get(t.name, t.name)):
            raise Undefined
        return index(int(n)) if t.name == "index" else constant(env.type(t), n)
    if isinstance(e, Node):
        args = tuple(build(a, e.operand_type(i), env) for i, a in enumerate(e.args))
        own = sum(FLAGBIT[f] for f in e.flags)
        return node(OPNUM[e.op.name], env.type(e.result), own | env.flags if e.types[0].name != "index" else 0, args)
    assert isinstance(e, Arith)
    if e.op in ("//", "%"):
        k = evaluate(e.y, env)
        if k <= 0:
            raise Undefined
        return node(OPNUM["floordiv" if e.op == "//" else "mod"], INDEX, 0, (build(e.x, t, env), index(k)))
    found, constants = terms_of(e)
    return total_of(sum(s * evaluate(k, env) for s, k in constants), [(1 if k is None else evaluate(k, env), build(x, t, env)) for x, k in found])


def instances(r: Rule, numbers: List[int]) -> Iterator[Tuple[Term, Facts]]:
    """Terms that r matches, with common constants first. numbers: more constants to try, from r and from rules beside it."""
    everything = inside(r.left)
    variables = list({id(v): v for v in everything if isinstance(v, Var)}.values())
    bound = [c.args[-1] for c in parts(r.when) if isinstance(c, Guard) and c.name in ("period", "counts", "given") and isinstance(c.args[-1], Var)]
    constants = [v for v in [*variables, *bound] if v.kind == "const"]  # type: ignore[attr-defined]
    classes = sorted({t.name for e in everything if isinstance(e, Node) for t in e.types if t.is_class})
    any_lanes = r.kind in ("llvm", "intr") and all(t.lanes == 1 for e in everything if isinstance(e, Node) for t in e.types)
    asked = frozenset(c.name for c in parts(r.when) if isinstance(c, Guard) and c.name in FLAGS)
    refused = frozenset(c.x.name for c in parts(r.when) if isinstance(c, Not) and isinstance(c.x, Guard))
    near = dict.fromkeys([*SMALL, *(n + d for n in numbers for d in (0, 1, -1))])
    choices = [list(dict.fromkeys([FIRST.get(v.name, 4), *near])) for v in constants]
    rests = (0, None, 3, -3) if any(v.kind == "rest" for v in variables) else (0,)
    flags = [sum(FLAGBIT[f] for f in fs) for fs in ([asked] if is_index(r.left) else [asked, FLAGS - refused])]
    count = 0
    others = list(itertools.product(itertools.product(*(Type(c).members for c in classes)), rests, flags, (1, 2) if any_lanes else (1,)))
    def numbers_of_all() -> Iterator[Tuple[int, ...]]:
        yield from itertools.islice(itertools.product(*choices), 40 * MOST)
        if not count:  # they are related, or far from each other
            w = ops.TYPE_BY_NAME[others[0][0][0]].bits if classes else 0
            yield from (tuple(at[v.name] for v in constants) for at in satisfying.assignments(r, w) if all(v.name in at for v in constants))

    for numbers_of, (types, rest, own, lanes) in ((n, o) for n in numbers_of_all() for o in others):
        env = Env({id(v): k for v, k in zip(constants, numbers_of)}, dict(zip(classes, types)), rest, lanes, own)
        try:
            if all(RELATE[REL[c.rel]](evaluate(c.x, env), evaluate(c.y, env)) != negative for c, negative in conditions(r) if isinstance(c, Relation)):
                t = build(r.left, Type("index"), env)
                yield t, assumed(r, env)
                count += 1
        except Undefined:
            continue
        if count == MOST:
            return


def conditions(r: Rule) -> List[Tuple[Any, bool]]:
    """Each condition, and whether it is negated."""
    return [(c.x, True) if isinstance(c, Not) else (c, False) for c in parts(r.when)]


def assumed(r: Rule, env: Env) -> Facts:
    """The facts that the conditions of r ask for. Raises Undefined where they contradict each other."""
    facts = Facts()
    for g, negative in conditions(r):
        kind = guards.BY_NAME[g.name].kind if isinstance(g, Guard) else ""
        if kind == "kernel" and negative:
            facts.unknown.append((g.name, (), ()))
        elif kind == "kernel":
            facts.kernel.add(g.name)
        if kind == "plan":
            facts.given = evaluate(g.args[0], env)
        if kind not in ("fact", "use"):
            continue
        x = env.value[id(g.args[0])] if id(g.args[0]) in env.value else build(g.args[0], Type("index"), env)
        if negative:
            both = (x, env.value[id(g.args[1])]) if g.name in ("apart", "fixed") else (x,)
            facts.unknown.append((g.name, both, tuple(evaluate(a, env) for a in g.args[len(both):])))
        elif g.name == "apart":
            _within(facts, total_of(0, [(1, env.value[id(g.args[1])]), (-1, x)]), evaluate(g.args[2], env), FAR)
        elif g.name == "fixed":
            facts.fixed.add((x, env.value[id(g.args[1])]))
        elif g.name == "counts":
            facts.counts[x] = evaluate(g.args[1], env)
            _within(facts, x, 0, facts.counts[x])
        elif g.name == "period":
            k, q = evaluate(g.args[1], env), evaluate(g.args[2], env)
            _within(facts, x, q * k, q * k + k)
        elif g.name == "within":
            _within(facts, x, evaluate(g.args[1], env), evaluate(g.args[2], env))
        elif g.name == "multiple":
            facts.residue[x] = evaluate(g.args[1], env)
            if facts.residue[x] <= 0:
                raise Undefined
        elif g.name in ("known_zero", "known_one"):
            mask = evaluate(g.args[1], env) & (1 << ops.TYPES[x.type & 63].bits) - 1
            zero, one = facts.bits.get(x, (0, 0))
            facts.bits[x] = (zero | mask, one) if g.name == "known_zero" else (zero, one | mask)
        elif g.name in guards.NUMBERS:
            facts.number.setdefault(x, set()).update({"literal", g.name})
            facts.excluded[x] = facts.excluded.get(x, 0) | (0 if g.name == "literal" else NAN | INF | NEGZERO)
        elif g.name == "once":
            facts.once = (*facts.once, x)  # type: ignore[misc]
        else:
            facts.excluded[x] = facts.excluded.get(x, 0) | EXCLUDES[g.name]
    return facts


def _within(facts: Facts, x: Term, lo: int, end: int) -> None:
    """Assumes lo <= x < end, of x + c by an assumption of x."""
    if x.op == CONST and not lo <= int(x.imm) < end:
        raise Undefined
    if x.op == CONST:
        return
    if x.op == SUM and x.ks == (1,):
        lo, end, x = lo - int(x.imm), end - int(x.imm), x.args[0]
    known = facts.within.get(x, (lo, end - 1))
    facts.within[x] = (max(lo, known[0]), min(end - 1, known[1]))
    if facts.within[x][0] > facts.within[x][1]:
        raise Undefined


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
