"""The contract of `when=rescales`: a sum of exp(a - c) or of (a - c)^2 over a row, of sums relative to other numbers k, one for each piece of the row.

Lemma. sum exp(a - c) is exp(k - c) sum exp(a - k), and sum (a - c)^2 is sum (a - k)^2 + (k - c) (2 sum (a - k) + L (k - c)), for any real numbers k and
c, L being the number of terms. What that rounds, beside the sums, is 2 u (c - a) in a term's exponent, a few u of the parts of squares and a budget
of exp, u being half a unit: less than the N/2 u by which sums of N terms in any order may differ, N being what the rule states, k >= N. No term is negative.

What is proved is, at each extent of the range and each number of terms of a piece:

    of real numbers   the sides are the same polynomial in numbers and in exponentials of these, where what is no sum, product, difference or exponential,
                      as a maximum, is any number; select takes each of its ways; a maximum with 0 is its operand where that is a sum of squares
    of f32            at all combinations of numbers at which arithmetic changes its behaviour (inf, -inf, nan, those whose sums or squares overflow) both
                      sides are nan, or the same infinity, or differ by N/2 u at most

    fold_add.f32(exp.f32(sub.f32(a, c)), 0.0, i)      at 2 of 1 each: E(a0) E(c)^-1 + E(a1) E(c)^-1
"""
from __future__ import annotations

import ctypes
import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

from gen.expr import All, Guard, Lit, Node, PatternError, Relation, Var, parts
from gen.forms import compares_indices, is_fold
from gen.lang import Rule
from gen.load import text, walk
from gen.proof import driver, folds
from gen.proof.code import literal_bits
from gen.proof.sides import build

INF, NAN = math.inf, math.nan
MOST = 4                                                # terms of f32
FEW = (INF, -INF, NAN, 0.0, 1.5, -1.5 * 2.0**126)       # values of each of four
MANY = (*FEW, -40.0, 2.0**60, 2.0**-128, -2.0**100, 1.875 * 2.0**127)  # of fewer
UNIT = 2.0 ** -24
LEAST_TERMS = 1024                                      # a term's exponent may be off by 2 u (c - a), where c - a is 104 at most, or the term is 0
LEAST = 2.0 ** -126                                     # below it a result may be 0


def asked(r: Rule) -> bool: return any(isinstance(c, Guard) and c.name == "rescales" for c in parts(r.when))


def bounds_terms(r: Rule, c: Any) -> bool:
    """k >= N, where k counts the terms."""
    counted = {id(g.args[1]) for g in parts(r.when) if isinstance(g, Guard) and g.name == "counts"}
    return isinstance(c, Relation) and c.rel == ">=" and id(c.x) in counted and isinstance(c.y, Lit)


def least_terms(r: Rule) -> int: return max((int(c.y.value) for c in parts(r.when) if bounds_terms(r, c)), default=1)  # type: ignore[union-attr]


def written(r: Rule) -> List[Tuple[Tuple[int, ...], Rule]]:
    """The rule without folds, at each extent and each number, for any number of terms."""
    f = r.left
    term = f.args[0] if isinstance(f, Node) and is_fold(f) else None
    term = term.args[1] if isinstance(term, Node) and term.op.name == "select" and compares_indices(term.args[0]) else term
    square = isinstance(term, Node) and term.op.name == "mul" and text(term.args[0]) == text(term.args[1])
    if not isinstance(f, Node) or f.op.name != "fold_add" or f.result.name != "f32" or not isinstance(f.args[1], Lit) or f.args[1].value != 0 or not (
            square or (isinstance(term, Node) and term.op.name == "exp")):
        raise PatternError(r.where, f"rescales: {f} is no sum of exponentials or squares of f32, from 0.0")
    if least_terms(r) < LEAST_TERMS:
        raise PatternError(r.where, f"rescales: the order of {least_terms(r)} terms may change less than this does: counts(i, k) & (k >= {LEAST_TERMS})")
    rest = [c for c in parts(r.when) if not (isinstance(c, Guard) and c.name == "rescales") and not bounds_terms(r, c)]
    return folds.written(replace(r, when=All(rest) if len(rest) > 1 else rest[0] if rest else None, programs={}))


# --- real numbers --------------------------------------------------------------------------------------------------------------
Monomial = Tuple[Tuple[str, int], ...]  # names of numbers, and of exponentials of these, with their powers
Poly = Dict[Monomial, Fraction]
LOWEST = object()  # -inf, which is added to any number


def constant(x: Any) -> Poly: return {(): Fraction(x)} if x else {}


def plus(x: Poly, y: Poly, by: int = 1) -> Poly:
    out = dict(x)
    for m, c in y.items():
        out[m] = out.get(m, Fraction(0)) + by * c
    return {m: c for m, c in out.items() if c}


def times(x: Poly, y: Poly) -> Poly:
    out: Poly = {}
    for (m, c), (n, d) in itertools.product(x.items(), y.items()):
        powers = dict(m)
        for name, p in n:
            powers[name] = powers.get(name, 0) + p
        key = tuple(sorted((name, p) for name, p in powers.items() if p))
        out = plus(out, {key: c * d})
    return out


def squares(x: Poly) -> bool:
    """Is it a sum of squares of numbers? By Gauss on the symmetric matrix of its products."""
    names = sorted({name for m in x for name, _ in m})
    at = {n: k for k, n in enumerate(names)}
    a = [[Fraction(0)] * len(names) for _ in names]
    for m, c in x.items():
        flat = [at[name] for name, p in m for _ in range(p)] if all(p > 0 for _, p in m) else []
        if len(flat) != 2:
            return False
        a[flat[0]][flat[1]] += c / 2
        a[flat[1]][flat[0]] += c / 2
    for k in range(len(a)):
        if a[k][k] < 0 or (a[k][k] == 0 and any(a[k][k:])):
            return False
        for j in range(k + 1, len(a)) if a[k][k] else ():
            by = a[j][k] / a[k][k]
            a[j] = [v - by * u for u, v in zip(a[k], a[j])]
    return True


class Reals:
    """Terms without folds, of numbers: where masks have these values."""

    def __init__(self, r: Rule, masks: Dict[str, bool]) -> None:
        self.rule, self.masks = r, masks
        self.memo: Dict[int, Any] = {}
        self.relative = {self.name(e.args[1]) for e in walk(r.left) if isinstance(e, Node) and e.op.name == "sub"}  # what terms are relative to

    def of(self, e: Any) -> Any:
        if id(e) not in self.memo:
            self.memo[id(e)] = self._of(e)
        return self.memo[id(e)]

    def name(self, e: Any) -> str:
        """Of a value that is any number: equal ones have one name, with masked parts as they are here."""
        if isinstance(e, Node) and e.op.name == "select":
            return self.name(e.args[1 if self.masked(e.args[0]) else 2])
        return f"{e.op.name}({', '.join(map(self.name, e.args))})" if isinstance(e, Node) else str(e.value if isinstance(e, Lit) else e.name)

    def masked(self, e: Any) -> bool:
        if isinstance(e, Lit):
            return bool(e.value)
        if isinstance(e, Node) and e.op.name == "lt" and isinstance(e.args[1], Lit) and e.args[1].value == INF:
            return True  # of any number
        if isinstance(e, Var) and e.name in self.masks:
            return self.masks[e.name]
        raise PatternError(self.rule.where, f"rescales: {e} is no condition that says which terms there are")

    def _of(self, e: Any) -> Any:
        if isinstance(e, Lit) and math.isfinite(e.value):
            return constant(Fraction(e.value))
        if isinstance(e, Lit) and e.value == -INF:
            return LOWEST
        if not isinstance(e, Node) or self.name(e) in self.relative:
            return {((self.name(e), 1),): Fraction(1)}
        if e.op.name == "select":
            return self.of(e.args[1 if self.masked(e.args[0]) else 2])
        args = [self.of(x) for x in e.args] if e.op.name in ("add", "sub", "mul", "exp", "max") else []
        if LOWEST in args[1:] or (args[:1] == [LOWEST] and e.op.name not in ("sub", "exp")):
            args = []
        if args and e.op.name in ("add", "sub") and args[0] is not LOWEST:
            return plus(args[0], args[1], 1 if e.op.name == "add" else -1)
        if args and e.op.name == "mul":
            return times(*args)
        if args and args[0] is LOWEST:
            return LOWEST if e.op.name == "sub" else {}
        if args and e.op.name == "exp" and all(c.denominator == 1 and len(m) == 1 and m[0][1] == 1 for m, c in args[0].items()):
            return {tuple(sorted((f"E({m[0][0]})", int(c)) for m, c in args[0].items())): Fraction(1)}
        if args and e.op.name == "max" and args[1] == {} and squares(args[0]):
            return args[0]
        return {((self.name(e), 1),): Fraction(1)}


def said(x: Any) -> str:
    return " + ".join(" ".join([*([str(c)] if c != 1 or not m else []), *(n + (f"^{p}" if p != 1 else "") for n, p in m)]) for m, c in x.items()) or "0"


def masks_of(r: Rule) -> List[Dict[str, bool]]:
    names = sorted({x.name for side in (r.left, r.right) for e in walk(side) if isinstance(e, Node) and e.op.name == "select"  # type: ignore[arg-type]
                    for x in e.args[:1] if isinstance(x, Var)})
    return [dict(zip(names, some)) for some in itertools.product((True, False), repeat=len(names))]


def check_reals(r: Rule) -> None:
    """The sides of a rule without folds are the same of real numbers."""
    for masks in masks_of(r):
        of = Reals(r, masks)
        x, y = of.of(r.left), of.of(r.right)
        if x is LOWEST or y is LOWEST or x != y:
            left, right = ("-inf" if v is LOWEST else said(v) for v in (x, y))
            raise PatternError(r.where, f"rescales: of real numbers the left side is {left}, the right one {right}")


# --- f32 -----------------------------------------------------------------------------------------------------------------------
def f32(x: float) -> float: return ctypes.c_float(x).value


def guarded(f: Callable[[float], float], over: float) -> Callable[[float], float]:
    def of(x: float) -> float:
        try:
            return f(x)
        except OverflowError:
            return over
    return of


def extreme(pick: Callable[..., float]) -> Callable[[float, float], float]:
    return lambda x, y: NAN if x != x or y != y else pick(x, y)


def quotient(x: float, y: float) -> float:
    return x / y if y else NAN if x == 0 or x != x else math.copysign(INF, x) * math.copysign(1, y)


FUNCTIONS: Dict[str, Callable[..., Any]] = {
    "exp": guarded(math.exp, INF), "abs": abs, "neg": lambda x: -x, "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y,
    "div": quotient, "max": extreme(max), "min": extreme(min), "select": lambda p, x, y: x if p else y, "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y, "gt": lambda x, y: x > y, "ge": lambda x, y: x >= y, "eq": lambda x, y: x == y, "ne": lambda x, y: x != y}


def program(r: Rule, e: Any, names: Sequence[str]) -> Callable[..., float]:
    """A term as a function of its variables, in the order of names."""
    lines: List[str] = []
    known: Dict[int, str] = {}

    def value(x: Any) -> str:
        if isinstance(x, Var):
            return x.name
        if isinstance(x, Lit):
            return repr(x.value) if isinstance(x.value, bool) else f"float('{f32(float(x.value))!r}')"
        if not isinstance(x, Node) or x.op.name not in FUNCTIONS or x.flags:
            raise PatternError(r.where, f"rescales: {x} is no operation on f32 that the lemma is about")
        if id(x) not in known:
            made = f"{x.op.name}_({', '.join(map(value, x.args))})"
            known[id(x)] = f"t{len(lines)}"
            lines.append(f"    {known[id(x)]} = {made if x.result.name == 'pred' or x.op.name in ('select', 'max', 'min') else f'f32({made})'}")
        return known[id(x)]

    last = value(e)
    scope: Dict[str, Any] = {"f32": f32, **{f"{name}_": f for name, f in FUNCTIONS.items()}}
    exec("\n".join([f"def term({', '.join(names)}):", *lines, f"    return {last}"]), scope)
    return scope["term"]  # type: ignore[no-any-return]


def values_of(r: Rule, v: Var, many: bool) -> Sequence[Any]:
    """Those that a variable has."""
    if v.kind == "const":
        return (1, 3)
    guards = {c.name for c in parts(r.when) if isinstance(c, Guard) and c.args and c.args[0] is v}
    if guards - {"nonnegative"}:
        raise PatternError(r.where, f"rescales: {v} has a condition that the lemma is not about")
    return ((0.0, 0.25, 1.0, 3.0, INF) if many else (0.25, 3.0)) if guards else MANY if many else FEW


def variables(r: Rule) -> Tuple[List[Var], List[str]]:
    """Of the values of a rule without folds, and of its masks."""
    some = [x for side in (r.left, r.right) for x in walk(side) if isinstance(x, Var)]  # type: ignore[arg-type]
    masks = set(masks_of(r)[0])
    return list({v.name: v for v in some if v.name not in masks}.values()), sorted(masks)


def cases(r: Rule, terms: int) -> Iterator[Dict[str, Any]]:
    """Values of a rule without folds, of so many terms."""
    floats, masks = variables(r)
    for some in itertools.product(*(values_of(r, v, terms < MOST) for v in floats)):
        for there in masks_of(r):
            yield {**{v.name: x for v, x in zip(floats, some)}, **there}


def unlike(r: Rule, least: int) -> Optional[Dict[str, Any]]:
    """Values at which the sides are not alike; of a rule without folds. least: terms of a row."""
    floats, masks = variables(r)
    terms = sum(not any(isinstance(c, Guard) and c.args and c.args[0] is v for c in parts(r.when)) for v in floats)
    names = [*(v.name for v in floats), *masks]
    left, right = program(r, r.left, names), program(r, r.right, names)
    for at in cases(r, terms):
        x, y = left(**at), right(**at)
        if x == y or (x != x and y != y):
            continue
        if not abs(x - y) <= least / 2 * UNIT * abs(x) + LEAST:
            return at
    return None


def outcomes(rule: Rule) -> List[Any]:
    """The cases of a proof, up to the first values at which the sides are not alike."""
    from gen.proof.prove import Case, Outcome

    some, out = written(rule), []
    for extents, r in some:
        t, found = build(r, {}, {}), unlike(r, least_terms(rule))
        case = Case("f32", False, t, terms_of=extents)
        if found is not None:
            at = [driver.Domain("list", (literal_bits(found[name], x),)) for name, x in zip(t.names, t.types)]
            return [Outcome(case, "failed", 1, result=driver.run([driver.Job(t, at)])[0])]
        out.append(Outcome(case, "proved", 1))
    for _, r in some:
        check_reals(r)
    return out


__all__ = ["asked", "outcomes"]
