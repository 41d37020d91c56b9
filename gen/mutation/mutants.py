"""Makes the mutants of a rule: swaps operands, changes constants, drops conditions, replaces operations, one place at a time.

Needs rules from load.py; leaves a Mutant for each place, which gen/mutation/mutate.py judges. A change must be large enough to matter, so
it depends on the use of a constant:

    number                -c; c + c/64, or 2 c where no value shows c + c/64 because c only corrects the last digits; an integer: c + 1, c - 1
    threshold             c/2 or 2 c, as one mutant, killed if either is: at least one direction must matter. In a rule that states an error or
                          corrects an estimate, both branches are right near a threshold, so no proof can tell nearby thresholds apart. A
                          threshold is a constant that is only compared with, selected or clamped to; or added before low digits are dropped,
                          which rounds; or part of the operand of an instruction that estimates an f64. A selected factor is a number
    threshold of range    a power of two from 2^32 or below 2^-32, which keeps values within the range of their type: half or twice its exponent
    threshold on bits     added to the bits of a float: one exponent more, one less
    mask                  an end of a run of ones, or a single one, moved by a bit in either direction, as one mutant
    factor of `mulhi`     c + c/64: the factor is a fraction with more digits than the result needs; a term of one: that or c/2, as one mutant
    nan, compared zero    not changed
    condition             not so that it holds more seldom: a right rule stays right

Only rules that state an error or correct an estimate have masks, thresholds and fractions; in other rules each constant is a number. In these
other rules < becomes <=; in rules with thresholds < becomes >=, because at the threshold itself both branches are right. A comparison with 0
is changed as in other rules, except on a part of a complex value, where both branches are right on the axis.

    mutants(rewrite(mul[N](a, 2), shl[N](a, 1)))    "2 is 3", "2 is 1", "1 is 2", "1 is 0", "shl is shrl", "operands of shl.N swapped"
"""
from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from gen import ops
from gen.forms import copied, everything
from gen.proof import breakpoints, complex_parts, prove
from gen.lang import All, Arith, Cond, Guard, Lit, Node, Not, Relation, Rule, parts
from gen.ledger import Errors, modes_of

MOST = 24  # mutants of one rule; evenly chosen where it has more places
TWINS = [("add", "sub"), ("mul", "add"), ("max", "min"), ("lt", "le"), ("gt", "ge"), ("eq", "ne"), ("band", "bor"), ("bxor", "bor"),
         ("shl", "shrl"), ("shra", "shrl"), ("shlx", "shrlx"), ("shrax", "shrlx"), ("divx", "remx"), ("div", "rem"), ("floor", "ceil"),
         ("round_even", "round_afz"), ("neg", "abs"), ("exp", "expm1"), ("exp2", "exp"), ("log2", "log"), ("log1p", "log"), ("sin", "cos"),
         ("sinh", "cosh"), ("asin", "acos"), ("asinh", "acosh"), ("tanh", "tan"), ("sqrt", "rsqrt"), ("cbrt", "sqrt"), ("erf", "tanh"),
         ("logistic", "tanh"), ("atanh", "tanh"), ("rsqrt", "sqrt"), ("trunc", "floor"), ("sign", "abs"), ("bnot", "neg"), ("atan2", "pow")]
TWIN = {**{b: a for a, b in reversed(TWINS)}, **dict(TWINS)}
OPPOSITE = {"lt": "ge", "ge": "lt", "le": "gt", "gt": "le", "eq": "ne", "ne": "eq"}
GUESSES = ("exp2z", "log2z", "rcpz", "rsqrtz")
SYMMETRIC = ("hypot", "mulhi")  # their operands may change places
MASKING = ("band", "bor", "bxor")
RANGE = 32
FRACTION = {32: 23, 64: 52}  # bits of floats of that width
ARITH = {"+": "-", "-": "+", "*": "+", "//": "%", "%": "//", "<<": "*"}
RELATION = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">"}
Change = Tuple[str, List[Any]]  # description; the replacements, two if killing either is enough


@dataclass
class Mutant:
    rule: Rule
    what: str
    before: Optional[Rule] = None
    dropped: str = ""  # the condition
    cases: List[prove.Case] = field(default_factory=list)
    stated: Dict[bool, Tuple[float, float]] = field(default_factory=dict)  # errors of its rule in the ledger: ledger.errors_in
    errors: Errors = field(default_factory=dict)
    other: "Optional[Mutant]" = None  # the change of the same place in the other direction
    open: List[prove.Case] = field(default_factory=list)  # cases that no value refuted and that were not exhausted
    coarse: bool = False  # only `other` was killed
    fate: str = ""  # killed refused equal right survived


# --- the parts of a rule ------------------------------------------------------------------------------------------------------------
class Users:
    """The users of each part of a rule, and how they use it."""

    def __init__(self, every: Sequence[Any]) -> None:
        self.every = every
        self.of: Dict[int, List[Node]] = {}
        for x in every:
            for a in x.args if isinstance(x, Node) else ():
                self.of.setdefault(id(a), []).append(x)

    def all_are(self, part: Any, *names: str) -> bool:
        users = self.of.get(id(part), [])
        return bool(users) and all(x.op.name in names for x in users)

    def cut_off(self, x: Node) -> bool:
        """Whether every user of x drops its low digits."""
        number = lambda u, at: u.args[at].value if isinstance(u.args[at], Lit) else 0
        drops = lambda u: (u.op.name == "band" and any(number(u, n) and not number(u, n) & 1 for n in (0, 1))) or \
            (u.op.name in ("shrlx", "shrax") and number(u, 1) > 0 and u.args[0] is x)
        users = self.of.get(id(x), [])
        return bool(users) and all(map(drops, users))

    def guessed(self, x: Node) -> bool:
        """Whether x is used only as operand of instructions that estimate an f64."""
        return self.all_are(x, *GUESSES) and all(u.types[0].name == "f64" for u in self.of[id(x)])

    def is_compared_zero(self, part: Any) -> bool:
        """Whether part is a zero that is only compared with: its sign does not matter."""
        return is_float(part) and part.value == 0 and any(x.op.sig == "compare" for x in self.of.get(id(part), [])) and \
            all(x.op.sig == "compare" for x in self.of[id(part)])

    def is_factor(self, part: Any) -> bool:
        """Whether part, or what a select makes of it and others, is only multiplied with."""
        users = self.of.get(id(part), [])
        return bool(users) and all(x.op.name == "mul" or (x.op.name == "select" and x.args[0] is not part and self.is_factor(x)) for x in users)

    def is_fraction(self, part: Any) -> bool:
        """Whether part is an integer with a fixed point: a factor of mulhi or of a product whose low digits are dropped, or a term of one."""
        passes = lambda x: x.op.name in ("add", "sub", "cvt", "shrlx") or (x.op.name == "select" and x.args[0] is not part)
        drops = lambda x: x.op.name == "mulhi" or (x.op.name == "mul" and isinstance(part, Node) and self.all_are(x, "shrlx"))
        users = self.of.get(id(part), [])
        return bool(users) and all(drops(x) or (passes(x) and self.is_fraction(x)) for x in users)

    def is_threshold(self, part: Any) -> bool:
        if not may_be_threshold(part) or self.is_factor(part):
            return False
        users = self.of.get(id(part), [])
        return self.all_are(part, *breakpoints.CHOICES) or (bool(users) and all(
            self.guessed(x) if is_float(part) else x.op.name in ("add", "sub") and self.cut_off(x) for x in users))

    def is_bits_of_float(self, part: Any) -> bool:
        """Whether part is an integer of more than 16 bits that is added to or subtracted from the bits of a float."""
        return isinstance(part, Lit) and isinstance(part.value, int) and abs(part.value) >> 16 != 0 and self.is_threshold(part) and \
            self.all_are(part, "add", "sub") and any(isinstance(a, Node) and a.op.name == "bits" for x in self.of[id(part)] for a in x.args)


def is_float(e: Any) -> bool: return isinstance(e, Lit) and isinstance(e.value, float)


def may_be_threshold(e: Any) -> bool:
    return isinstance(e, Lit) and not isinstance(e.value, bool) and e.value != 0 and abs(e.value) != float("inf")


def has_error(r: Rule) -> bool:
    """Whether the function at the root has a budget, or the rule corrects an instruction's estimate."""
    if complex_parts.is_complex(r) or any(isinstance(x, Node) and x.op.name in GUESSES for x in everything(r.right)):
        return True
    return isinstance(r.left, Node) and any(prove.budget_of(r, m, approx) for m in r.left.types[0].members for approx in modes_of(r))


# --- changes ------------------------------------------------------------------------------------------------------------------------
def replaced(v: Any, *by: Any) -> Change:
    return f"{v!r} is {' or '.join(map(repr, by))}", [Lit(x) for x in by]


def mask_changed(v: int, t: str) -> Iterator[Change]:
    """Changes of a mask; runs of ones keep an end at the type's lowest or highest bit."""
    width, signed = ops.TYPE_BY_NAME[t].bits, t[0] == "i"
    most = (1 << width) - 1
    of_type = lambda x: x - most - 1 if signed and x >> width - 1 else x
    u, bit = v & most, lambda n: v >> n & 1
    if u & u - 1 == 0:
        yield replaced(v, *(of_type(x & most) for x in (u >> 1, u << 1)))
        return
    for n in range(1, width):
        if bit(n) != bit(n - 1):
            yield replaced(v, of_type(u ^ 1 << n), of_type(u ^ 1 << n - 1))


def float_changed(v: float, threshold: bool, inexact: bool) -> Iterator[Change]:
    if v != v:
        return
    yield replaced(v, -v)
    if v and abs(v) != float("inf"):
        yield replaced(v, *moved_far(v)) if threshold else replaced(v, v * 1.015625, *([v * 2] if inexact else []))


def moved_far(v: float) -> Tuple[float, float]:
    """A threshold moved towards 1 or 0 and away from it."""
    fraction, exponent = math.frexp(v)
    if abs(fraction) != 0.5 or abs(exponent - 1) < RANGE:
        return v / 2, v * 2
    power = lambda e: math.copysign(math.ldexp(1, e) if e < 1024 else math.inf, v)
    return power((exponent - 1) // 2), power(2 * (exponent - 1))


def integer_changed(e: Lit, users: Optional[Users]) -> Iterator[Change]:
    """users: None for a rule that is exact."""
    v = e.value
    t = next((x.types[-1].name for x in users.of.get(id(e), [])), "") if users else ""
    width = ops.TYPE_BY_NAME[t].bits if t in ops.TYPE_BY_NAME else 0
    if users and width > 1 and users.all_are(e, *MASKING):
        yield from mask_changed(v, t)
    elif users and width in FRACTION and users.is_bits_of_float(e):
        yield from (replaced(v, v + d) for d in (1 << FRACTION[width], -1 << FRACTION[width]))
    elif users and users.all_are(e, "mulhi"):
        yield replaced(v, v + v // 64)
    elif users and v >= 64 and users.is_fraction(e):
        yield replaced(v, v + v // 64, v // 2)
    elif users and users.is_threshold(e):
        yield replaced(v, v // 2, v * 2)
    else:
        yield from (replaced(v, v + d) for d in (1, -1))


def is_same(x: Any, y: Any) -> bool:
    """Is it the same term: one object, or an operation on the same objects?"""
    nodes = isinstance(x, Node) and isinstance(y, Node) and x.op is y.op and len(x.args) == len(y.args)
    return x is y or (nodes and x.types == y.types and x.flags == y.flags and all(p is q for p, q in zip(x.args, y.args)))


def node_changed(e: Node, opposite: bool) -> Iterator[Change]:
    if len(e.args) > 1 and "comm" not in e.op.props.split() and e.op.name not in SYMMETRIC:
        i, j = (1, 2) if e.op.sig == "select" or e.op.name == "fma" else (0, 1)  # not the factors of a product
        args = list(e.args)
        args[i], args[j] = args[j], args[i]
        if not is_same(args[i], args[j]):
            yield f"operands of {e.name} swapped", [Node(e.op, e.types, e.flags, args)]
    twin = ops.OP_BY_NAME.get((OPPOSITE if opposite else TWIN).get(e.op.name, ""))
    if twin and twin.arity == e.op.arity and all(ops.TYPE_BY_NAME[m].cls in twin.classes for t in e.types for m in t.members):
        yield f"{e.op.name} is {twin.name}", [Node(twin, e.types, e.flags, e.args)]


def changes(e: Any, users: Users, inexact: bool, planes: bool = False) -> Iterator[Change]:
    """The small changes of one part. inexact: of a rule that has_error; planes: of a rule of complex values."""
    if isinstance(e, Lit):
        v = e.value
        if isinstance(v, bool):
            yield replaced(v, not v)
        elif isinstance(v, int):
            yield from integer_changed(e, users if inexact else None)
        elif not users.is_compared_zero(e):
            yield from float_changed(v, inexact and users.is_threshold(e), inexact)
    elif isinstance(e, Node):
        yield from node_changed(e, inexact and e.op.sig == "compare" and (any(map(may_be_threshold, e.args)) or (planes and e.op.name not in ("eq", "ne"))))
    elif isinstance(e, Arith):
        yield f"{e.op} is {ARITH[e.op]} in {e}", [Arith(ARITH[e.op], e.x, e.y)]
        if e.op not in "+*":
            yield f"operands of {e} swapped", [Arith(e.op, e.y, e.x)]
    elif isinstance(e, Relation):
        yield f"{e.rel} is {RELATION[e.rel]} in {e}", [Relation(RELATION[e.rel], e.x, e.y)]


LOWER = {"<": -1, "<=": -1, ">": 1, ">=": 1}  # the way in which a bound at the right moves where fewer values pass


def narrows(when: Optional[Cond], part: Any, new: Any) -> bool:
    """Whether the condition with the change holds nowhere but where it held, so that a right rule stays right."""
    for c in parts(when):
        sign, x = (-1, c.x) if isinstance(c, Not) else (1, c)
        if isinstance(part, Relation) and part is x:
            return (part.rel, new.rel)[::sign] in (("<=", "<"), (">=", ">"))
        if not (isinstance(part, Lit) and isinstance(new, Lit)):
            continue
        higher = (new.value > part.value) - (new.value < part.value)
        if isinstance(x, Guard) and x.name == "within" and any(part is a for a in x.args[1:]):
            return sign * higher == (1 if part is x.args[1] else -1)
        if isinstance(x, Relation) and x.rel in LOWER and (part is x.x or part is x.y):
            return sign * higher * (1 if part is x.y else -1) == LOWER[x.rel]
    return False


def with_change(r: Rule, memo: Dict[int, Any], when: Optional[Cond]) -> Rule:
    return Rule(r.kind, copied(r.left, memo), copied(r.right, memo), None if when is None else copied(when, memo), r.where, r.err, r.instance)


def mutants(r: Rule, most: int = MOST) -> List[Mutant]:
    out = []
    every = list({id(x): x for side in (r.left, r.right, r.when) for x in everything(side)}.values())
    users, inexact = Users(every), has_error(r)
    on_sides = {id(x) for side in (r.left, r.right) for x in everything(side)}
    for part in every:
        for what, some in changes(part, users, inexact, complex_parts.is_complex(r)):
            if id(part) not in on_sides and narrows(r.when, part, some[0]):
                continue
            made = [Mutant(with_change(r, {id(part): new}, r.when), what, r) for new in some]
            made[0].other = made[1] if len(made) > 1 else None
            out.append(made[0])
    for n, c in enumerate(parts(r.when)):
        flag = c.x if isinstance(c, Not) else c
        if isinstance(flag, Guard) and not flag.args:
            continue  # flags select the contract
        rest = [x for i, x in enumerate(parts(r.when)) if i != n]
        out.append(Mutant(with_change(r, {}, All(rest) if rest else None), f"without {c}", r, str(c)))
    step = max(1, -(-len(out) // most)) if most else 1
    return [m for n, m in enumerate(out) if n % step == 0 or m.dropped]


__all__ = ["MOST", "Mutant", "Users", "changes", "copied", "everything", "mutants", "with_change"]
