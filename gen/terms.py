"""Terms: a small model of IR nodes. Matches a pattern with a term, decides conditions, builds right sides.

checks.py and cycles.py use terms to decide whether a rule is ever reached and whether rules undo each other: they rewrite terms rather
than compare the texts of rules. instances.py enumerates the terms that a rule matches.

    fires(n // k -> 0 when within(n, 0, k), term (x // 8), x assumed within [0, 8))  ->  n = x, k = 8
"""
from __future__ import annotations

import operator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from gen import guards, ops
from gen.expr import Arith, Expr, Guard, Lit, Node, Not, Relation, Src, Type, Var, Width, children, parts
from gen.forms import is_const, terms_of
from gen.lang import Rule

# ("leaf", name) ("const", type, text) ("op", name, types, lanes, flags, args) ("sum", constant, ((term, coefficient), ..))
Term = Tuple[Any, ...]
FLAGS = frozenset(f for f in ops.FLAGS if f != "wide")


class Undefined(Exception):
    """Constant arithmetic without a result; the rule does not match."""


@dataclass
class Env:
    """What a match binds."""

    value: Dict[int, Term] = field(default_factory=dict)
    konst: Dict[int, int] = field(default_factory=dict)
    types: Dict[str, str] = field(default_factory=dict)
    flags: Optional[frozenset] = None  # flags that all matched nodes have


ARITH = {"+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod}
RELATION = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


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
    x, y = evaluate(e.x, env), evaluate(e.y, env)
    if e.op in ("//", "%") and y <= 0:
        raise Undefined
    return ARITH[e.op](x, y)


def constant(value: Any, t: str) -> Term:
    """A literal converted to type t, as text, so that 0.0, -0.0 and 0 differ."""
    info = ops.TYPE_BY_NAME[t]
    if info.cls == "F":
        return ("const", t, repr(float(value)))
    if info.cls == "P":
        return ("const", t, repr(bool(value)))
    bits = int(value) & (1 << info.bits) - 1
    return ("const", t, str(bits - (1 << info.bits) if info.cls in "IX" and bits >> info.bits - 1 else bits))


def integer(t: Term) -> Optional[int]:
    return int(t[2]) if t[0] == "const" and ops.TYPE_BY_NAME[t[1]].cls in "IUX" else None


def linear(items: List[Tuple[Term, int]], c: int) -> Term:
    """The canonical form of a sum."""
    total: Dict[Term, int] = {}
    for t, k in items:
        if t[0] == "sum":
            c += k * t[1]
            for x, q in t[2]:
                total[x] = total.get(x, 0) + k * q
        elif t[0] == "const":
            c += k * int(t[2])
        else:
            total[t] = total.get(t, 0) + k
    kept = tuple(sorted(((t, k) for t, k in total.items() if k), key=lambda x: (-abs(x[1]), show(x[0]))))
    if not kept:
        return constant(c, "index")
    return kept[0][0] if c == 0 and len(kept) == 1 and kept[0][1] == 1 else ("sum", c, kept)


def show(t: Term) -> str:
    if t[0] == "leaf":
        return t[1]
    if t[0] == "const":
        return t[2]
    if t[0] == "sum":
        out = " + ".join([*(show(x) if k == 1 else f"{k}*{show(x)}" for x, k in t[2]), *([str(t[1])] if t[1] else [])])
        return f"({out})" if len(t[2]) + (t[1] != 0) > 1 else out
    if t[1] in ("floordiv", "mod"):
        return f"({show(t[5][0])} {'//' if t[1] == 'floordiv' else '%'} {show(t[5][1])})"
    types = [n if lanes == 1 else f"{n}x{lanes}" for n, lanes in zip(t[2], t[3])]
    return f"{'.'.join([t[1], *types, *(f for f in ops.FLAGS if f in t[4])])}({', '.join(map(show, t[5]))})"


# --- building -------------------------------------------------------------------------------------------------------------------
def build(e: Expr, t: Optional[Type], env: Env, lanes: int, extra: frozenset = frozenset()) -> Term:
    """e as a term, with variables and classes as env binds them. lanes: of all nodes whose type says one lane; extra: more flags of nodes."""
    if isinstance(e, Src):
        e = e.x
    if isinstance(e, Var) and e.kind != "const":
        return env.value[id(e)]
    if t is not None and t.name != "index" and is_const(e):
        return constant(e.value if isinstance(e, Lit) else evaluate(e, env), env.types.get(t.name, t.name))
    if is_const(e):
        return constant(evaluate(e, env), "index")
    if isinstance(e, Node):
        args = tuple(build(a, e.operand_type(i), env, lanes, extra) for i, a in enumerate(e.args))
        if "comm" in e.op.props:
            args = tuple(sorted(args, key=lambda x: (("op", "sum", "leaf", "const").index(x[0]), show(x))))
        return ("op", e.op.name, tuple(env.types.get(x.name, x.name) for x in e.types), tuple(lanes if x.lanes == 1 else x.lanes for x in e.types),
                frozenset(e.flags) | extra if e.types[0].name != "index" else frozenset(), args)
    assert isinstance(e, Arith)
    if e.op in ("//", "%"):
        k = evaluate(e.y, env)
        if k <= 0:
            raise Undefined
        return ("op", "floordiv" if e.op == "//" else "mod", ("index",), (1,), frozenset(), (build(e.x, None, env, lanes), constant(k, "index")))
    found, constants = terms_of(e)
    return linear([(build(x, None, env, lanes), 1 if k is None else evaluate(k, env)) for x, k in found], sum(s * evaluate(k, env) for s, k in constants))


# --- facts ----------------------------------------------------------------------------------------------------------------
@dataclass
class Facts:
    """Facts assumed of terms: intervals [lo, hi), other facts by name and arguments, and `absent`: facts assumed not to be known."""

    within: Dict[Term, Tuple[int, int]] = field(default_factory=dict)
    known: Dict[Tuple[str, Term], Tuple[int, ...]] = field(default_factory=dict)
    absent: List[Tuple[Any, ...]] = field(default_factory=list)

    def interval(self, t: Term) -> Optional[Tuple[int, int]]:
        """The least and the largest value; None if unbounded."""
        if t in self.within:
            lo, hi = self.within[t]
            return (lo, hi - 1)
        if t[0] == "const":
            return (int(t[2]), int(t[2]))
        if t[0] == "sum":
            lo = hi = t[1]
            for x, k in t[2]:
                inner = self.interval(x)
                if inner is None:
                    return None
                lo, hi = lo + min(k * inner[0], k * inner[1]), hi + max(k * inner[0], k * inner[1])
            return (lo, hi)
        if t[0] == "op" and t[1] in ("floordiv", "mod"):
            k, inner = int(t[5][1][2]), self.interval(t[5][0])
            if t[1] == "mod":
                return inner if inner and 0 <= inner[0] and inner[1] < k else (0, k - 1)
            return inner and (inner[0] // k, inner[1] // k)
        return None

    def holds(self, name: str, t: Term, args: Tuple[int, ...]) -> bool:
        if name == "within":
            inner = self.interval(t)
            return inner is not None and args[0] <= inner[0] and inner[1] < args[1]
        if name == "multiple" and t[0] == "const":
            return args[0] > 0 and int(t[2]) % args[0] == 0
        known = self.known.get((name, t))
        if known is None or name not in ("multiple", "known_zero", "known_one"):
            return known is not None
        return known[0] % args[0] == 0 if name == "multiple" and args[0] > 0 else known[0] & args[0] == args[0]


def satisfied(r: Rule, env: Env, root: Term, facts: Facts) -> bool:
    """Whether the conditions of a rule that matched follow from the facts."""
    try:
        return all(_one(c, env, root, facts) for c in parts(r.when))
    except Undefined:
        return False


def _one(c: Any, env: Env, root: Term, facts: Facts) -> bool:
    negative, c = (True, c.x) if isinstance(c, Not) else (False, c)
    if isinstance(c, Relation):
        return RELATION[c.rel](evaluate(c.x, env), evaluate(c.y, env)) != negative
    assert isinstance(c, Guard)
    if guards.BY_NAME[c.name].kind == "feature":
        return True
    if guards.BY_NAME[c.name].kind == "flag":
        return c.name not in root[4] if negative else c.name in (env.flags or frozenset())
    if c.name == "apart":
        inner = facts.interval(linear([(subject_of(c, env, 1), 1), (subject_of(c, env), -1)], 0))
        return (inner is not None and inner[0] >= evaluate(c.args[2], env)) != negative
    if c.name == "period":
        inner, k = facts.interval(subject_of(c, env)), evaluate(c.args[1], env)
        if inner is None or k <= 0 or inner[0] // k != inner[1] // k:
            return False
        return env.konst.setdefault(id(c.args[2]), inner[0] // k) == inner[0] // k
    subject, args = subject_of(c, env), tuple(evaluate(a, env) for a in c.args[1:])
    if negative:  # the engine may know more of a leaf than `facts` does, so only an assumed absence counts
        return (c.name, subject, args) in facts.absent
    return facts.holds(c.name, subject, args)


def subject_of(c: Guard, env: Env, n: int = 0) -> Term:
    e = c.args[n]
    return env.value[id(e)] if id(e) in env.value else build(e, None, env, 1)


# --- matching ------------------------------------------------------------------------------------------------------------------
# All matches share one Env: a generator binds, yields, and undoes the bindings that the next match tests. The values of whole nodes
# stay in it, because each match sets them again.
def match(p: Expr, t: Term, env: Env, any_lanes: bool) -> Iterator[None]:
    """Yields once for each way in which pattern p matches t. The bindings are in env until the generator is resumed."""
    if isinstance(p, Src):
        for name in ("neg", "abs"):
            t = t[5][0] if t[0] == "op" and t[1] == name else t
        p = p.x
    if is_const(p):
        yield from _match_constant(p, t, env)
    elif isinstance(p, Var):
        was = env.value.get(id(p))
        if was is None:
            env.value[id(p)] = t
            yield
            del env.value[id(p)]
        elif was == t:
            yield
    elif isinstance(p, Node):
        yield from _match_node(p, t, env, any_lanes)
    elif isinstance(p, Arith) and p.op in ("//", "%"):
        if t[0] == "op" and t[1] == ("floordiv" if p.op == "//" else "mod"):
            for _ in _match_all((p.y, p.x), t[5][::-1], env, any_lanes):
                env.value[id(p)] = t
                yield
    elif t[0] == "sum":
        yield from _match_sum(p, t, env, any_lanes)


def _match_constant(p: Expr, t: Term, env: Env) -> Iterator[None]:
    if isinstance(p, Lit):
        if t[0] == "const" and constant(p.value, t[1]) == t and (isinstance(p.value, bool) == (t[1] == "pred")):
            yield
        return
    n = integer(t)
    if n is None:
        return
    free = [id(v) for v in inside(p) if isinstance(v, Var) and id(v) not in env.konst]
    if len(free) > 1:
        return
    for k in (None,) if not free else (n,) if isinstance(p, Var) else range(-70, 71):  # a free variable inside an expression: try small values
        if k is not None:
            env.konst[free[0]] = k
        try:
            found = evaluate(p, env) == n
        except Undefined:
            found = False
        if found:
            yield
            break
    for v in free:
        del env.konst[v]


@lru_cache(maxsize=None)
def inside(e: Expr) -> List[Expr]:
    """e and everything inside it, shared parts each time they occur. Cached: do not change the list."""
    return [e, *(x for y in children(e) for x in inside(y))]


def _match_node(p: Node, t: Term, env: Env, any_lanes: bool) -> Iterator[None]:
    if t[0] != "op" or t[1] != p.op.name or not t[4].issuperset(p.flags) or len(t[2]) != len(p.types):
        return
    flags, types = env.flags, env.types
    for x, name, lanes in zip(p.types, t[2], t[3]):
        if name not in x.members or (lanes != x.lanes and not any_lanes):
            break
        if x.is_class and env.types.get(x.name) != name:
            if x.name in env.types:
                break
            env.types = {**env.types, x.name: name}
    else:
        env.flags = t[4] if flags is None else flags & t[4]
        env.value[id(p)] = t
        for args in (t[5],) if "comm" not in p.op.props else (t[5], t[5][::-1]):
            yield from _match_all(p.args, args, env, any_lanes)
    env.flags, env.types = flags, types


def _match_all(ps: Sequence[Expr], ts: Sequence[Term], env: Env, any_lanes: bool) -> Iterator[None]:
    if len(ps) == 1:
        yield from match(ps[0], ts[0], env, any_lanes)
        return
    for _ in match(ps[0], ts[0], env, any_lanes):
        yield from _match_all(ps[1:], ts[1:], env, any_lanes)


def _match_sum(p: Expr, t: Term, env: Env, any_lanes: bool) -> Iterator[None]:
    found, constants = terms_of(p)
    rest = next((x for x, _ in found if isinstance(x, Var) and x.kind == "rest"), None)
    if rest is None and constants:  # n + k
        if t[1]:
            yield from _match_all([found[0][0], constants[0][1]], [linear(list(t[2]), 0), constant(t[1], "index")], env, any_lanes)
        return
    if rest is None:  # 0 - n
        if t[2][0][1] < 0:
            yield from match(found[0][0], linear([(t, -1)], 0), env, any_lanes)
        return
    wanted = [(x, k if k is not None else Lit(1)) for x, k in found if x is not rest]
    x, k = wanted[0]
    if len(wanted) == 1 and isinstance(x, Var) and isinstance(k, Var) and id(k) in env.konst:
        n = env.konst[id(k)]
        yes = [(s, q // n) for s, q in t[2] if n > 0 and q % n == 0]
        if n > 0 and (yes or t[1] // n):
            remaining = linear([(s, q) for s, q in t[2] if q % n], t[1] % n)
            yield from _match_all([x, rest], [linear(yes, t[1] // n), remaining], env, any_lanes)
        return

    def pick(todo: List[Tuple[Expr, Expr]], remaining: Tuple[Tuple[Term, int], ...]) -> Iterator[None]:
        if not todo:
            yield from match(rest, linear(list(remaining), t[1]), env, any_lanes)
            return
        at = next((i for i, (_, k) in enumerate(todo) if isinstance(k, Var) or all(id(v) in env.konst for v in inside(k) if isinstance(v, Var))), None)
        if at is None:
            return
        x, k = todo[at]
        free = isinstance(k, Var) and id(k) not in env.konst
        for i, (s, q) in enumerate(remaining):
            if free:
                env.konst[id(k)] = q
            try:
                taken = evaluate(k, env) == q
            except Undefined:
                taken = False
            for _ in match(x, s, env, any_lanes) if taken else ():
                yield from pick(todo[:at] + todo[at + 1:], remaining[:i] + remaining[i + 1:])
        if free:
            del env.konst[id(k)]

    yield from pick(wanted, t[2])


# --- firing -----------------------------------------------------------------------------------------------------------------------
def _possible(p: Expr, t: Term) -> bool:
    """A quick test by operations alone: false where p certainly does not match t."""
    if isinstance(p, Var):
        return not p.constant or t[0] == "const"
    if isinstance(p, Node):
        if t[0] != "op" or t[1] != p.op.name:
            return False
        return all(map(_possible, p.args, t[5])) or ("comm" in p.op.props and all(map(_possible, p.args, t[5][::-1])))
    if p.constant:
        return t[0] == "const"
    if not isinstance(p, Arith):
        return True
    if p.op in ("//", "%"):
        return t[0] == "op" and t[1] == ("floordiv" if p.op == "//" else "mod") and _possible(p.x, t[5][0])
    return t[0] == "sum" and all(isinstance(x, Var) or any(_possible(x, s) for s, _ in t[2]) for x, _ in terms_of(p)[0])


def fires(r: Rule, t: Term, facts: Facts) -> Iterator[Env]:
    """Yields the bindings of every way in which r fires at the root of t. The Env is valid until the generator is resumed."""
    if not _possible(r.left, t):
        return
    env = Env()
    for _ in match(r.left, t, env, r.kind in ("llvm", "intr")):
        konst = env.konst.copy()  # satisfied() may bind another: `period` does
        if satisfied(r, env, t, facts):
            yield env
        env.konst = konst
