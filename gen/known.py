"""What is known of a term wherever it is evaluated, by the transfer functions of src/ir/facts.c and src/ir/element_facts.c: of an index an
interval and a residue; of an element the bits that are always 0 or 1, or the classes of floats that it may belong to.

    t in 0..512  =>  8*t + 3: interval [3, 4091], residue 3 modulo 8
"""
from __future__ import annotations

from dataclasses import dataclass, field
from math import frexp, gcd
from typing import Container, Dict, List, NamedTuple, Set, Tuple

from gen import guards, ops, reciprocals
from gen.opcodes import FLAGBIT, OPNUM
from gen.terms import CONST, FLOORDIV, INT64, MOD, SUM, VAR, Term, float_of

LIMIT = 1 << 100  # intervals are cut to this
LARGEST = (1 << 63) - 1
MIN, MAX = OPNUM["min"], OPNUM["max"]


class Fact(NamedTuple):
    """lo <= value <= hi; value is rem modulo mod. mod 0: it is the constant rem; mod 1: no residue is known."""

    lo: int
    hi: int
    mod: int
    rem: int

    @property
    def base(self) -> int: return self.rem if self.mod else self.lo

    @property
    def far(self) -> bool: return self.lo <= -LIMIT or self.hi >= LIMIT


NOTHING = Fact(-LIMIT, LIMIT, 1, 0)
clamp = lambda x: max(-LIMIT, min(LIMIT, x))


def exactly(v: int) -> Fact: return Fact(v, v, 0, v)


def with_residue(lo: int, hi: int, mod: int, base: int) -> Fact:
    """Values in [lo, hi] that are base modulo mod."""
    if mod > 1 and lo > -LIMIT and hi < LIMIT:
        up, down = lo + (base - lo) % mod, hi - (hi - base) % mod
        if up <= down:
            lo, hi = up, down
    if lo == hi and lo in INT64:
        return exactly(lo)
    mod = mod or 1
    return Fact(clamp(lo), clamp(hi), mod, base % mod)


def plus(s: Fact, k: int, x: Fact) -> Fact:
    """s + k*x"""
    size = abs(k) * x.mod
    mod = gcd(s.mod, abs(k) if x.mod and size > LARGEST else size)
    base = s.base + k * x.base if not mod else s.base % mod + k * x.base % mod
    ends = sorted((clamp(k * x.lo), clamp(k * x.hi)))
    return with_residue(-LIMIT if x.far or s.lo <= -LIMIT else clamp(s.lo + ends[0]), LIMIT if x.far or s.hi >= LIMIT else clamp(s.hi + ends[1]), mod, base)


def quotient(x: Fact, y: Fact) -> Fact:
    if y.lo != y.hi or y.lo <= 0:  # the divisor is positive, even if that is not known
        least = max(y.lo, 1)
        most = max(y.hi, least)
        return with_residue(x.lo // (least if x.lo < 0 else most), x.hi // (most if x.hi < 0 else least), 1, 0)
    k = y.lo
    mod, base = (x.mod // k, x.rem // k) if x.mod and x.mod % k == 0 else (1, 0)
    return with_residue(-LIMIT if x.lo <= -LIMIT else x.lo // k, LIMIT if x.hi >= LIMIT else x.hi // k, mod, base)


def remainder(x: Fact, y: Fact) -> Fact:
    if y.lo != y.hi or y.lo <= 0:
        if x.lo >= 0 and x.hi < y.lo:
            return x
        return with_residue(0, max(min(x.hi, y.hi - 1) if x.lo >= 0 else y.hi - 1, 0), 1, 0)
    k, m = y.lo, gcd(x.mod, y.lo)
    if not x.far and x.lo // k == x.hi // k:
        shift = x.lo // k * k
        return with_residue(x.lo - shift, x.hi - shift, x.mod, x.base - shift)
    return with_residue(x.base % m, k - m + x.base % m, m, x.base)


def extreme(x: Fact, y: Fact, of: int) -> Fact:
    """The smaller or the larger one."""
    if x.hi <= y.lo or y.hi <= x.lo:
        return x if (x.hi <= y.lo) == (of == MIN) else y
    pick = min if of == MIN else max
    distance = abs(x.base - y.base)
    return with_residue(pick(x.lo, y.lo), pick(x.hi, y.hi), gcd(gcd(x.mod, y.mod), 1 if distance > LARGEST else distance), x.base)


# --- elements -----------------------------------------------------------------------------------------------------------------------
Bits = Tuple[int, int]  # known to be 0, known to be 1
ALL64 = (1 << 64) - 1
DEPTH = 6  # operands of operands that a fact of an element is derived from
NAN, INF, NEGZERO, FRACTION, NEGATIVE, EXCEED_1 = 1, 2, 4, 8, 16, 32
ANY = 63
EXCLUDES = {"finite": NAN | INF, "never_nan": NAN, "never_negzero": NEGZERO, "integral": NAN | FRACTION, "unit": NAN | NEGATIVE | EXCEED_1,
            "nonnegative": NAN | NEGATIVE | NEGZERO}
CERTAIN = frozenset(OPNUM[n] for n in "floor ceil trunc round_even round_afz".split())
BELOW_1 = frozenset(OPNUM[n] for n in "tanh erf sign".split())
NARROW_INT, WIDE_FLOATS = 16, ("f32", "f64", "bf16")
WITH_CLASSES = ("f16", "bf16", "f32", "f64")


def above(may_be_set: int) -> int:
    """All bits above the highest that may be set."""
    return ALL64 & ~((1 << may_be_set.bit_length()) - 1)


def low_zeros(zero: int) -> int:
    return zero & ~(zero + 1)


def either(x: Bits, y: Bits) -> Bits: return x[0] & y[0], x[1] & y[1]


def shifted(name: str, x: Bits, by: int, mask: int, width: int) -> Bits:
    left, logical = name in ("shl", "shlx"), name in ("shrl", "shrlx")
    if by >= width:
        return (mask, 0) if name in ("shl", "shrl") else (0, 0)
    if left:
        return (x[0] << by | (1 << by) - 1) & mask, x[1] << by & mask
    high, sign = mask & ~(mask >> by), 1 << width - 1
    return (x[0] & mask) >> by | (high if logical or x[0] & sign else 0), (x[1] & mask) >> by | (high if not logical and x[1] & sign else 0)


def is_power_of_two(t: ops.Type, value: float) -> bool:
    """2^k or -2^k of which the reciprocal is one too, neither subnormal."""
    x = abs(value) if t.name in WITH_CLASSES else 0.0
    return 0 < x < float("inf") and frexp(x)[0] == 0.5 and abs(frexp(x)[1] - 1) < {"f16": 15, "f64": 1023}.get(t.name, 127)


HOLDS = {"literal": lambda t, x: True, "power_of_two": is_power_of_two, "reciprocal_in_two": lambda t, x: t.name == "f32" and reciprocals.in_two(x)}


def of_constant(x: float) -> int:
    if x != x:
        return NAN
    infinite = x - x != 0
    fraction = not infinite and abs(x) < 2.0**53 and x != int(x)
    return (INF * infinite | NEGATIVE * (x < 0) | EXCEED_1 * (x > 1) | NEGZERO * (str(x) == "-0.0") | FRACTION * fraction)


def of_pair(name: str, x: int, y: int) -> int:
    both, either_one = x & y, x | y
    if name == "max":
        least = NEGZERO | NEGATIVE
        negzero = (x & NEGZERO and y & least) or (y & NEGZERO and x & least)
        return either_one & (NAN | INF | FRACTION | EXCEED_1) | both & NEGATIVE | (NEGZERO if negzero else 0)
    if name == "min":
        return either_one & ~EXCEED_1 | both & EXCEED_1
    if name == "add":
        return either_one & (NAN | NEGATIVE | FRACTION) | (NAN if both & INF else 0) | INF | EXCEED_1 | both & NEGZERO
    if name == "mul":
        return (either_one & (NAN | FRACTION | EXCEED_1) | (NAN if either_one & INF else 0) | INF |
                (NEGATIVE | NEGZERO | EXCEED_1 if either_one & (NEGATIVE | NEGZERO) else 0))
    return ANY


def of_one(op: int, x: int) -> int:
    name = ops.OPS[op].name
    if name == "neg":
        return x & (NAN | INF | FRACTION) | NEGZERO | NEGATIVE | (EXCEED_1 if x & NEGATIVE else 0)
    if name == "abs":
        return x & (NAN | INF | FRACTION | EXCEED_1) | (EXCEED_1 if x & NEGATIVE else 0)
    if op in CERTAIN:
        return x & ~FRACTION | (NEGZERO if x & NEGATIVE else 0)
    if name == "logistic":
        return x & NAN | FRACTION
    if name in ("exp", "exp2"):
        return x & NAN | INF | FRACTION | EXCEED_1
    if op in BELOW_1:
        kept = x & (NAN | NEGZERO | NEGATIVE)
        return FRACTION | kept | (NEGZERO if kept else 0)
    return ANY


@dataclass
class Facts:
    """Facts assumed of leaves (and intervals of any index), and all that follows."""

    within: Dict[Term, Tuple[int, int]] = field(default_factory=dict)   # least and largest value
    residue: Dict[Term, int] = field(default_factory=dict)              # a number that divides an index
    bits: Dict[Term, Bits] = field(default_factory=dict)
    excluded: Dict[Term, int] = field(default_factory=dict)             # classes of floats that a value never belongs to
    number: Dict[Term, Set[str]] = field(default_factory=dict)          # literals, and powers of two
    fixed: Set[Tuple[Term, Term]] = field(default_factory=set)          # a value that is the same wherever an index is
    counts: Dict[Term, int] = field(default_factory=dict)               # an index that has each of so many values
    given: int = 0                                                      # the number of an option; 0: there is none
    kernel: Set[str] = field(default_factory=set)                       # what holds of the kernel
    once: Container[Term] = ()                                          # have one user
    unknown: List[Tuple[object, ...]] = field(default_factory=list)     # conditions (name, term, numbers) that are not known to hold
    complete: bool = False  # all that does not follow is unknown; else only what `unknown` lists: more may be known of a leaf
    found: Dict[Term, Fact] = field(default_factory=dict)

    def index(self, t: Term) -> Fact:
        f = self.found.get(t)
        if f is None:
            f = self.found[t] = self._index(t)
        return f

    def _index(self, t: Term) -> Fact:
        f = NOTHING
        if t.op == CONST:
            f = exactly(int(t.imm))
        elif t.op == SUM:
            f = exactly(int(t.imm))
            for k, x in zip(t.ks, t.args):
                f = plus(f, k, self.index(x))
        elif t.op == FLOORDIV:
            f = quotient(*map(self.index, t.args))
        elif t.op == MOD:
            f = remainder(*map(self.index, t.args))
        elif t.op in (MIN, MAX):
            f = extreme(*map(self.index, t.args), t.op)
        elif t.op == VAR and t in self.residue:
            f = Fact(-LIMIT, LIMIT, self.residue[t], 0)
        if t in self.within:
            lo, hi = self.within[t]
            f = with_residue(max(lo, f.lo), max(lo, f.lo, min(hi, f.hi)), f.mod, f.base)
        return f

    def element_bits(self, t: Term, depth: int = DEPTH) -> Bits:
        info, name, args = ops.TYPES[t.type & 63], ops.OPS[t.op].name, t.args
        mask = ALL64 if info.bits == 64 else (1 << info.bits) - 1
        if t.op == CONST:
            return ~int(t.imm) & mask, int(t.imm) & mask
        if t in self.bits:
            return self.bits[t]
        if depth == 0 or info.cls not in "IU":
            return 0, 0
        inner = lambda i: self.element_bits(args[i], depth - 1)
        if name in ("band", "bor", "bxor", "max", "min", "add", "mul"):
            (zero, one), (no, yes) = inner(0), inner(1)
            if name == "band":
                return zero | no, one & yes
            if name == "bor":
                return zero & no, one | yes
            if name == "bxor":
                return zero & no | one & yes, zero & yes | one & no
            if name in ("max", "min"):
                return zero & no, one & yes
            if name == "mul":
                return (low_zeros(zero) | low_zeros(no)) & mask, 0
            top = above(~(zero & no) & mask)
            return (low_zeros(zero & no) | top << 1 & top & ALL64) & mask, 0
        if name in ("shl", "shrl", "shra", "shlx", "shrlx", "shrax"):
            return shifted(name, inner(0), int(args[1].imm) & mask, mask, info.bits) if args[1].op == CONST else (0, 0)
        if name in ("select", "pack"):
            return either(inner(len(args) - 2), inner(len(args) - 1))
        if name == "bnot":
            return inner(0)[::-1]
        if name == "cvt":
            return self._converted(args[0], mask, depth - 1)
        if name == "bits":
            return inner(0) if ops.TYPES[args[0].type & 63].cls in "IU" else (0, 0)
        if name == "idx":
            return self._of_index(self.index(args[0]), mask)
        return inner(0) if name == "splat" else (0, 0)

    def _converted(self, x: Term, mask: int, depth: int) -> Bits:
        info = ops.TYPES[x.type & 63]
        if info.cls == "P":
            return mask & ~1, 0
        if info.cls not in "IU":
            return 0, 0
        zero, one = self.element_bits(x, depth)
        own, sign = (1 << info.bits) - 1, 1 << info.bits - 1
        above_it = ALL64 & ~own
        zeros, ones = info.cls == "U" or zero & sign, info.cls == "I" and one & sign
        return (zero & own | (above_it if zeros else 0)) & mask, (one & own | (above_it if ones else 0)) & mask

    @staticmethod
    def _of_index(f: Fact, mask: int) -> Bits:
        zero = above(f.hi) & mask if f.lo >= 0 and f.hi <= LARGEST else 0
        low = (f.mod & -f.mod) - 1 if f.mod else 0
        return zero | low & ~f.rem & mask, low & f.rem & mask

    def float_may(self, t: Term, depth: int = DEPTH) -> int:
        info, o = ops.TYPES[t.type & 63], ops.OPS[t.op]
        if t.op == CONST:
            return of_constant(float_of(int(t.imm)))
        if t in self.excluded:
            return ANY & ~self.excluded[t]
        if depth == 0 or info.name not in WITH_CLASSES:
            return ANY
        known = ANY & ~NAN if t.flags & FLAGBIT["nnan"] else ANY
        if t.flags & FLAGBIT["approx"]:
            return known
        inner = lambda i: self.float_may(t.args[i], depth - 1)
        if o.name == "cvt":
            return known & self._float_of(t.args[0], info, depth - 1)
        if o.name in ("select", "pack"):
            return known & (inner(len(t.args) - 2) | inner(len(t.args) - 1))
        if o.name == "splat":
            return known & inner(0)
        if o.sig != "same" or len(t.args) > 2:
            return known
        return known & (of_pair(o.name, inner(0), inner(1)) if len(t.args) == 2 else of_one(t.op, inner(0)))

    def _float_of(self, x: Term, to: ops.Type, depth: int) -> int:
        of = ops.TYPES[x.type & 63]
        if of.cls == "P":
            return 0
        if of.cls in "IU":
            finite = to.name in WIDE_FLOATS or of.bits < NARROW_INT
            return EXCEED_1 | (NEGATIVE if of.cls == "I" else 0) | (0 if finite else ANY & ~NEGZERO)
        may = self.float_may(x, depth)
        exact = to.name == "f64" or (to.name == "f32" and of.name != "f64")
        return may if exact else may | INF | (NEGZERO if may & NEGATIVE else 0)

    # --- conditions ---------------------------------------------------------------------------------------------------------------
    def holds(self, name: str, t: Term, k: int, m: int) -> bool:
        """A fact of guards.py about t, as `fact` of src/rewrite/guards.c decides it."""
        info = ops.TYPES[t.type & 63]
        if name == "within":
            return info.cls == "X" and self.index(t).lo >= k and self.index(t).hi < m
        if name == "multiple":
            f = self.index(t) if info.cls == "X" else NOTHING
            return 0 < k <= LARGEST and (f.lo % k == 0 if f.mod == 0 else f.mod % k == 0 and f.rem % k == 0)
        if name in ("known_zero", "known_one"):
            top = 1 << info.bits
            return info.cls in "IU" and -top // 2 <= k < top and k % top & ~self.element_bits(t)[name == "known_one"] == 0
        if name == "once":
            return t in self.once
        if name in guards.NUMBERS:
            return name in self.number.get(t, ()) or (t.op == CONST and HOLDS[name](info, float_of(int(t.imm)) if info.cls == "F" else 0.0))
        return info.cls == "F" and not self.float_may(t) & EXCLUDES[name]
