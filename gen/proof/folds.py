"""Rules about folds, written out: at each extent of the range from 1 to 4 both sides are terms without folds, which are proved as all others are.

A value that the range may change is one variable a term; an extent at which the rule's conditions do not hold has no case. Of a fold of folds each
range has each extent with each of the other's, and of an option its number is each up to the extent. An index of the left side that is no range, as where a
prefix ends, is each number that within(n, 0, k) leaves; so comparisons of indices are decided.

    fold_max.f32(a, b, i) -> max.f32(b, a)  when fixed(a, i)      at 2
    max.f32(max.f32(b, a), a) -> max.f32(b, a)
"""
from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any, Dict, Iterator, List, Optional, Tuple

from gen import check_folds, instances, ops
from gen.expr import All, Arith, Guard, Lit, Node, Not, PatternError, Relation, Var, parts
from gen.forms import compares_indices, digits, is_fold, part_of
from gen.lang import Rule
from gen.load import walk
from gen.match import RELATE
from gen.opcodes import REL
from gen.proof import driver

EXTENTS = (1, 2, 3, 4)  # arrays without elements, and folds without terms, are no terms: src/graph
MORE = (5, 12)          # of rules that compute with the extent; of floats z3 does not get to the last
MOST = check_folds.MOST


def has_folds(r: Rule) -> bool: return not isinstance(r.right, str) and any(is_fold(e) or isinstance(e, Node) and e.op.name == "take" for e in walk(r.left))


class Written:
    """One rule at one extent of each of its ranges."""

    def __init__(self, r: Rule, extents: Dict[int, int], points: Dict[int, int], given: Tuple[int, ...] = ()) -> None:
        """points: of indices that are no ranges; given: by a plan, of an option."""
        self.rule, self.extents, self.points = r, extents, points  # by id of an index variable
        self.made: Dict[Tuple[Any, ...], Var] = {}
        self.memo: Dict[Tuple[Any, ...], Any] = {}
        guards = [c for c in parts(r.when) if isinstance(c, Guard)]
        self.fixed = {(id(c.args[0]), id(c.args[1])) for c in guards if c.name == "fixed"}
        self.counts = [(c.args[1], extents[id(c.args[0])]) for c in guards if c.name == "counts"]
        self.counted = {id(k): n for k, n in self.counts if isinstance(k, Var)}
        self.counted.update(zip((id(c.args[0]) for c in guards if c.name == "given"), given))

    def varies(self, v: Var, at: Dict[int, int]) -> Dict[int, int]:
        """The ranges that a value may differ over, with where they are, in the order of the rule's."""
        return {i: at[i] for i in self.extents if i in at and (id(v), i) not in self.fixed}

    def value(self, v: Var, at: Dict[int, int]) -> Var:
        own = self.varies(v, at)
        half = [i for i in self.extents if i not in at and (id(v), i) not in self.fixed and any((op, i) in at for op in ("//", "%"))]
        if half:
            raise PatternError(self.rule.where, f"{v} stands where a part of its index is known alone, and may differ from term to term")
        key = (id(v), *own.items())
        if key not in self.made:
            self.made[key] = Var(v.name + "".join(map(str, own.values())), v.kind) if own else v
        return self.made[key]

    def index(self, e: Any, at: Dict[Any, int]) -> Optional[int]:
        """The number that an index is; None: it depends on what is no number here."""
        if isinstance(e, Var) and e.kind == "index":
            return self.points.get(id(e), at.get(id(e)))
        if isinstance(e, Lit) or getattr(e, "constant", False):
            return self.number(e)
        if not isinstance(e, Arith):
            return None
        part = part_of(e)
        if part and id(part[1]) in self.extents:
            return at.get((part[0], id(part[1])))
        x, y = self.index(e.x, at), self.index(e.y, at)
        if x is None or y is None or (e.op in ("//", "%") and y <= 0):
            return None
        return {"+": x + y, "-": x - y, "*": x * y, "//": x // max(y, 1), "%": x % max(y, 1)}.get(e.op)

    def compared(self, e: Node, at: Dict[Any, int]) -> bool:
        x, y = (self.index(z, at) for z in e.args)
        if x is None or y is None:
            raise PatternError(self.rule.where, f"{e}: compares an index that is no number where it stands")
        return {"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}[e.op.name]

    def number(self, k: Any) -> int:
        try:
            return instances.evaluate(k, instances.Env(dict(self.counted), {}, None, 1, 0))
        except instances.Undefined:
            raise PatternError(self.rule.where, f"{k}: a constant is bound by neither counts(i, k) nor free=") from None

    def places(self, over: Any, at: Dict[Any, int]) -> Iterator[Dict[Any, int]]:
        """Where the terms of a fold over an index are, in their order."""
        part = part_of(over)
        if part is None:
            ranges = [id(i) for i, _ in digits(over) or ()]
            outside = {key: n for key, n in at.items() if not (isinstance(key, tuple) and key[1] in ranges)}  # of a fold over the same index around it
            for some in itertools.product(*(range(self.extents[i]) for i in ranges)):
                yield {**outside, **dict(zip(ranges, some))}
            return
        op, i, m = part[0], id(part[1]), self.number(part[2])
        for n in range(self.extents[i] // m if op == "//" else m):
            here = {**at, (op, i): n}
            known = ("//", i) in here and ("%", i) in here
            yield {**here, i: here["//", i] * m + here["%", i]} if known else here

    def term(self, e: Any, at: Dict[Any, int]) -> Any:
        """e without folds. at: by id of an index variable, which of its values it has here; by operation and id, which that of a part of it has."""
        key = (id(e), *sorted(at.items(), key=str))
        if key not in self.memo:
            self.memo[key] = self._term(e, at)
        return self.memo[key]

    def _term(self, e: Any, at: Dict[int, int]) -> Any:
        if isinstance(e, Var):
            return Lit(self.counted[id(e)]) if id(e) in self.counted else e if e.kind != "value" else self.value(e, at)
        if isinstance(e, Arith) and e.constant:
            return Lit(self.number(e))
        if not isinstance(e, Node):
            return e
        if e.op.name == "select" and compares_indices(e.args[0]):
            there, elsewhere = self.term(e.args[1], at), self.term(e.args[2], at)  # both, so that all values of the left side are known
            return there if self.compared(e.args[0], at) else elsewhere
        if compares_indices(e):
            return Lit(self.compared(e, at))
        if is_fold(e):
            x, init, over = e.args
            out = self.term(init, at)
            for place in self.places(over, at):
                out = Node(ops.OP_BY_NAME[e.op.combiner], e.types, e.flags, [out, self.term(x, place)])
            return out
        if e.op.name == "take":
            return self.taken(e, at)
        if e.op.name == "idx":
            n = self.index(e.args[0], at)
            if n is None:
                raise PatternError(self.rule.where, f"{e}: an index that is no number where it stands")
            return Lit(n)
        return Node(e.op, e.types, e.flags, [self.term(x, at) for x in e.args])

    def taken(self, e: Node, at: Dict[int, int]) -> Any:
        """x where i is an integer, clamped: one of the terms by selects."""
        x, over, number = e.args
        last, n = self.extents[id(over)] - 1, self.term(number, at)
        out = self.term(x, {**at, id(over): max(last, 0)})
        for k in reversed(range(last)):
            below = Node(ops.OP_BY_NAME["le"], (e.types[1],), (), [n, Lit(k)])
            out = Node(ops.OP_BY_NAME["select"], (e.types[0],), (), [below, self.term(x, {**at, id(over): k}), out])
        return out


    def condition(self, c: Any) -> List[Any]:
        """What a condition says of the variables that stand for a value. Relations are decided, and what the ranges are is written out."""
        if isinstance(c, Relation) or (isinstance(c, Not) and isinstance(c.x, Relation)) or (isinstance(c, Guard) and (
                c.name in ("fixed", "counts", "given") or (c.name == "within" and id(c.args[0]) in self.points))):
            return []
        if isinstance(c, Guard) and c.args and isinstance(c.args[0], Var) and c.args[0].kind == "value":
            of = [v for key, v in self.made.items() if key[0] == id(c.args[0])]
            return [Guard(c.name, v, *c.args[1:]) for v in of]
        if isinstance(c, Guard) and not c.args:
            return [c]
        raise PatternError(self.rule.where, f"{c}: conditions of a rule about folds are fixed, counts, relations of constants, flags, and facts of values")


def points_of(r: Rule) -> List[Var]:
    """Indices of the left side that are no ranges."""
    ranges = {id(v) for v in ranges_of(r)}
    return list({id(e): e for e in walk(r.left) if isinstance(e, Var) and e.kind == "index" and id(e) not in ranges}.values())


def places_of(r: Rule, extents: Dict[int, int], given: Tuple[int, ...]) -> List[Tuple[int, ...]]:
    """The numbers that these may be: of each those of its within(n, 0, k), where it is the same at all values of the ranges."""
    w, out = Written(r, extents, {}, given), []
    guards = [c for c in parts(r.when) if isinstance(c, Guard)]
    for v in points_of(r):
        bounds = [c.args[1:] for c in guards if c.name == "within" and c.args[0] is v]
        if not bounds or any((id(v), i) not in w.fixed for i in extents):
            raise PatternError(r.where, f"{v}: which number it is: within({v}, 0, k) & fixed({v}, i) says between which it is, the same in each term")
        low, high = (max(x) if n == 0 else min(x) for n, x in enumerate(zip(*((w.number(lo), w.number(hi)) for lo, hi in bounds))))
        out.append(range(low, high))
    return list(itertools.product(*out))


def ranges_of(r: Rule) -> List[Var]:
    return list({id(e.args[2]): e.args[2] for e in walk(r.left) if is_fold(e)}.values())


def holds(r: Rule, w: Written) -> bool:
    """Whether the relations between constants hold, as far as the extents decide them."""
    env = instances.Env(dict(w.counted), {}, None, 1, 0)
    conditions = [(c.x, True) if isinstance(c, Not) else (c, False) for c in parts(r.when)]
    relations = [(c, negative) for c, negative in conditions if isinstance(c, Relation)]
    try:
        return all(instances.evaluate(k, env) == n for k, n in w.counts) and all(
            RELATE[REL[c.rel]](instances.evaluate(c.x, env), instances.evaluate(c.y, env)) != negative for c, negative in relations)
    except instances.Undefined:
        raise PatternError(r.where, f"{r.when}: a constant is bound by neither the left side nor counts(i, k)") from None


def extents_of(r: Rule) -> List[int]:
    """1 to 4, those near the numbers of the rule, and more where it computes with the extent."""
    counted = {id(c.args[1]) for c in parts(r.when) if isinstance(c, Guard) and c.name == "counts"}
    right = [e.value for e in walk(r.right) if isinstance(e, Lit) and type(e.value) is int]
    numbers = [n + d for n in [*instances.numbers_in(r), *right] for d in (-1, 0, 1, 2)]
    computes = any(id(x) in counted for x in walk(r.right))
    floats = any(ops.TYPE_BY_NAME[m].cls == "F" for e in walk(r.left) if isinstance(e, Node) for t in e.types for m in t.members)
    found = sorted({*EXTENTS, *(n for n in numbers if 0 < n <= MOST), *(MORE[:-1] if computes and floats else MORE if computes else ())})
    ranges = ranges_of(r)
    return [n for n in found if any(holds(r, Written(r, {id(v): n for v in ranges}, {}, m)) for m in numbers_of(r, n))] or list(range(1, MOST + 1))


def is_option(r: Rule) -> bool: return any(isinstance(c, Guard) and c.name == "given" for c in parts(r.when))


def numbers_of(r: Rule, most: int) -> List[Tuple[int, ...]]:
    """What a plan may give, of an option."""
    return [(n,) for n in range(1, most + 1)] if is_option(r) else [()]


def written(r: Rule) -> List[Tuple[Tuple[int, ...], Rule]]:
    """The rule at each extent; of several ranges, at all that each of them has with each of the others. Of an option with each number, behind these."""
    check_folds.check_ranges(r)
    ranges, out = ranges_of(r), []
    every = itertools.product(*(extents_of(r) if len(ranges) == 1 else EXTENTS for _ in ranges))
    points = points_of(r)
    of = lambda x: {id(v): n for v, n in zip(ranges, x)}
    for some in (x + p + n for x in every for n in numbers_of(r, max(x)) for p in places_of(r, of(x), n)):
        last = len(ranges) + len(points)
        w = Written(r, of(some), {id(v): n for v, n in zip(points, some[len(ranges):])}, some[last:])
        if not holds(r, w):
            continue
        left = w.term(r.left, {})
        bound = set(w.made)
        right = w.term(r.right, {})
        free = [v for key, v in w.made.items() if len(key) > 1 and key not in bound]
        if free:
            raise PatternError(r.where, f"{free[0]} stands in fewer folds on the right side, and may differ from term to term: fixed says that it does not")
        known = {id(x) for x in walk(left)}
        for v in (v for key, v in w.made.items() if key in bound and id(v) not in known and any(x is v for x in walk(right))):
            left = Node(ops.OP_BY_NAME["select"], (r.left.result,), (), [Lit(True), left, v])  # a term that only the right side has at this place
        rest = [x for c in parts(r.when) for x in w.condition(c)]
        out.append((some, replace(r, left=left, right=right, when=All(rest) if rest else None, programs={})))
    if not out:
        raise PatternError(r.where, f"nothing proved: no fold of up to {MOST} terms satisfies {r.when}")
    return out


def decided(outcomes: List[Any]) -> List[Any]:
    """Without the integers of no machine of which there are too many values to try: z3 has no such width, and proves the others."""
    beyond = {o.case.label for o in outcomes if o.state == "tested" and o.case.label[1:] in map(str, driver.NARROW)}
    return [o for o in outcomes if o.case.label not in beyond or o.state == "failed"]
