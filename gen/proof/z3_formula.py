"""Proofs by z3: both sides of a rule as one formula. Values are bit vectors (z3_bits.py, z3_floats.py); index values and their constants
are mathematical integers, or bit vectors too wide to overflow where the rule computes with floats.

A build does not need z3: without it nothing here is used, and the ledger keeps the states that z3 proved.
"""
from __future__ import annotations

import multiprocessing
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Sequence, Tuple

from gen.proof import z3_bits, z3_floats
from gen.proof.z3_bits import C
from gen.proof.code import EXACT, Ins, Terms, cls, width
from gen.proof.z3_solve import LIMIT, check, contradictory_bits, linearly

try:
    import z3
except ImportError:
    z3 = None  # type: ignore[assignment]

SIZED_LIMIT = 20_000_000  # for pieces that are known to be easy, so that the limit does not decide
WORKERS = 2
MOST_HARD = 6  # hard operations in one formula; more take too long
WIDE = 136  # bits of an exact integer in a formula of bit vectors: a product of two constants of 64 bits fits
INDEX = 64  # bits of an index


@dataclass
class Answer:
    state: str  # proved refuted unknown
    values: Dict[int, int] = field(default_factory=dict)  # of the variables


def present() -> bool:
    return z3 is not None


# --- terms ------------------------------------------------------------------------------------------------------------------------------
EXACT_OPS: Dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y,
    "min": lambda x, y: z3.If(x < y, x, y), "max": lambda x, y: z3.If(x > y, x, y),
    "eq": lambda x, y: x == y, "ne": lambda x, y: x != y, "lt": lambda x, y: x < y, "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y, "ge": lambda x, y: x >= y}
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
WRAPPING = ("add", "sub", "mul")  # of typed integers
QUOTIENTS = ("mulhi", "div", "divx", "rem", "remx")
SHIFTS = ("shl", "shra", "shrl", "shlx", "shrax", "shrlx")
DIVIDES = ("cdiv", "cmod", "floordiv", "mod")


def least(t: str) -> int: return -(1 << width(t) - 1) if cls(t) == "I" else 0


def has_floats(t: Terms) -> bool:
    return any(cls(t.type_of(r)) == "F" for r in range(len(t.types) + len(t.code)) if t.type_of(r) != "side")


class Formula:
    def __init__(self, t: Terms, integers: bool = False, lenient: bool = False, bits: bool = False) -> None:
        """integers: typed integers are mathematical ones, as they are where an index occurs without floats; this makes quotients by constants linear.
        lenient: the result of an operation that z3 does not know is any value. bits: an index is a bit vector, too."""
        self.t, self.integers = t, integers or (EXACT in t.types and not bits and not has_floats(t))
        self.given: List[Any] = []
        self.quotients: List[Tuple[Any, Any, Any, Any]] = []  # dividend, quotient, remainder, divisor
        self.known: Dict[Tuple[str, str], Tuple[Any, Any]] = {}
        self.vars = [self.variable(n, x) for n, x in enumerate(t.types)]
        self.reg = [z3.SignExt(WIDE - INDEX, v) if x == EXACT and not self.integers else v for v, x in zip(self.vars, t.types)]
        self.bits = [INDEX if x == EXACT else 0 for x in t.types]  # of exact integers
        for i in t.code:
            self.bits.append(self.bits_of(i))
            r = self.any_result(i) if lenient else self.instruction(i)
            self.reg.append(r if self.integers else z3.simplify(r))

    def variable(self, n: int, t: str) -> Any:
        if t == EXACT:
            return z3.Int(f"v{n}") if self.integers else z3.BitVec(f"v{n}", INDEX)
        if t == "side":
            return z3.BitVecVal(0, 8)
        if self.integers and cls(t) in "IU":
            v = z3.Int(f"v{n}")
            self.given += [v >= least(t), v < least(t) + (1 << width(t))]
            return v
        v = z3.BitVec(f"v{n}", 8 if t == "pred" else width(t))
        if t == "pred":
            self.given.append(z3.ULE(v, 1))
        return v

    def bits_of(self, i: Ins) -> int:
        """Bits that hold the exact integer of an instruction."""
        if i.type != EXACT or i.kind not in (*EXACT_OPS, *DIVIDES, "int", "of"):
            return 0
        of = [self.bits[a] for a in i.args]
        if i.kind in ("int", "of"):
            return (i.imm.bit_length() if i.kind == "int" else width(self.t.type_of(i.args[0]))) + 1
        return sum(of) if i.kind == "mul" else max(of) + (i.kind in ("add", "sub", *DIVIDES))

    def divide(self, x: Any, y: Any) -> Tuple[Any, Any]:
        """Floor quotient and remainder by a positive divisor; by others any."""
        if not self.integers:
            floored = x / y - z3.If(z3.SRem(x, y) < 0, z3.BitVecVal(1, WIDE), z3.BitVecVal(0, WIDE))
            return floored, x - floored * y
        key = (x.sexpr(), y.sexpr())
        if key not in self.known:
            n = len(self.quotients)
            q, r = z3.Int(f"q{n}"), z3.Int(f"r{n}")
            self.given.append(z3.Implies(y > 0, z3.And(x == q * y + r, 0 <= r, r < y)))
            self.quotients.append((x, q, r, y))
            self.known[key] = q, r
        return self.known[key]

    def any_result(self, i: Ins) -> Any:
        try:
            return self.instruction(i)
        except z3_floats.Unsupported:
            return z3.FreshConst(z3.BitVecSort(WIDE if i.type == EXACT else 8 if i.type == "pred" else width(i.type)))

    def instruction(self, i: Ins) -> Any:
        args = [self.reg[a] for a in i.args]
        if not self.integers and self.bits[-1] > WIDE or i.kind in ("nudge", "function", "cpart", "cref"):
            raise z3_floats.Unsupported(i.kind)
        if self.integers and any(z3.is_int(a) for a in args) and i.kind in ("scalar", "of", "to"):
            return self.of_integers(i, args)
        if i.kind == "scalar":
            return z3_bits.scalar(i, args)
        if i.kind == "literal" and self.integers and cls(i.type) in "IU":
            return z3.IntVal(i.imm - (i.imm >> width(i.type) - 1 << width(i.type)) if cls(i.type) == "I" else i.imm)
        if i.kind == "literal":
            return z3.BitVecVal(i.imm, 8 if i.type == "pred" else width(i.type))
        if i.kind == "int":
            return z3.IntVal(i.imm) if self.integers else z3.BitVecVal(i.imm, WIDE)
        if i.kind == "of":
            return C(args[0], cls(self.t.type_of(i.args[0])) == "I").to(WIDE, True).bits
        if i.kind == "garbage":
            return z3.If(z3_floats.is_nan(args[1], self.t.type_of(i.args[1])), z3.BitVecVal(0xA5A5A5A5A5A5A5A5, width(i.type)), args[0])
        if i.kind == "to":
            return z3.Extract(width(i.type) - 1, 0, args[0])
        if i.kind in DIVIDES:
            if i.kind in ("cdiv", "cmod"):
                self.given.append(args[1] > 0)
            q, r = self.divide(*args)
            return q if i.kind in ("cdiv", "floordiv") else r
        r = EXACT_OPS[i.kind](*args)
        return z3.If(r, z3.BitVecVal(1, 8), z3.BitVecVal(0, 8)) if z3.is_bool(r) else r

    def of_integers(self, i: Ins, args: List[Any]) -> Any:
        """An instruction on typed integers in a formula of mathematical integers, where comparisons, conversions and WRAPPING occur."""
        if i.kind == "of":
            return args[0]
        if i.kind == "to":
            return (args[0] - least(i.type)) % (1 << width(i.type)) + least(i.type)
        if i.op != "select" and not all(z3.is_int(a) for a in args):
            raise z3_floats.Unsupported(i.op)
        if i.op in WRAPPING:
            return self.wrapped(EXACT_OPS[i.op](*args), i.type)
        if i.op not in COMPARISONS:
            return self.typed_instruction(i, args)
        return z3.If(EXACT_OPS[i.op](*args), z3.BitVecVal(1, 8), z3.BitVecVal(0, 8))

    def wrapped(self, exact: Any, t: str) -> Any:
        """The value at type t of the same low bits."""
        low, end = least(t), least(t) + (1 << width(t))
        return z3.If(z3.And(low <= exact, exact < end), exact, (exact - low) % (1 << width(t)) + low)

    def typed_instruction(self, i: Ins, args: List[Any]) -> Any:
        number = lambda n: args[n].as_long() if z3.is_int_value(args[n]) else None
        if i.op in ("bits", "cvt") and cls(i.type) in "IU" and cls(i.frm) in "IU":
            return self.wrapped(args[0], i.type)
        if i.op in ("min", "max"):
            return EXACT_OPS[i.op](*args)
        if i.op == "select":
            return z3.If(args[0] != 0, args[1], args[2])
        if i.op == "mulhi" and not number(0) is number(1) is None:
            return self.divide(args[0] * args[1], z3.IntVal(1 << width(i.type)))[0]
        shift, unsigned = number(-1), cls(i.type) == "U"
        if i.op in ("shrl", "shrlx") and unsigned or i.op in ("shra", "shrax") and not unsigned:
            if shift is not None and 0 <= shift < width(i.type):
                return self.divide(args[0], z3.IntVal(1 << shift))[0]
        if i.op in ("abs", "neg"):
            return self.wrapped(-args[0] if i.op == "neg" else z3.If(args[0] < 0, -args[0], args[0]), i.type)
        if i.op in ("shl", "shlx") and shift is not None and 0 <= shift < width(i.type):
            return self.wrapped(args[0] * (1 << shift), i.type)
        if i.op in ("div", "divx", "rem", "remx"):
            return self.quotient(args[0], args[1], i.op in ("rem", "remx"), i.type)
        if i.op == "band" and shift is not None and shift >= 0 == shift & shift + 1:
            return self.divide(args[0], z3.IntVal(shift + 1))[1]
        raise z3_floats.Unsupported(i.op)

    def quotient(self, x: Any, y: Any, remainder: bool, t: str) -> Any:
        """HLO's quotient or remainder, which truncate."""
        size = lambda v: v if cls(t) == "U" else z3.simplify(z3.If(v < 0, -v, v))
        q, r = self.divide(size(x), size(y))
        if cls(t) == "U":
            return z3.If(y == 0, x if remainder else z3.IntVal((1 << width(t)) - 1), r if remainder else q)
        if remainder:
            return z3.If(y == 0, x, z3.If(x < 0, -r, r))
        return self.wrapped(z3.If(y == 0, -1, z3.If((x < 0) != (y < 0), -q, q)), t)

    def constants(self) -> List[Any]:
        return [v for v, n in zip(self.vars, self.t.names) if n in ("k", "m", "p", "q")]

    def lemmas(self) -> List[List[Any]]:
        """Facts about products that help nonlinear arithmetic, in growing sets. The first has the definition of each quotient,
        multiplied by each constant. The second adds the definitions multiplied by the quotients, bounds of multiples of remainders, and
        that quotients that differ by 1 or more, from each other or from 0, differ by a divisor after multiplication with it. The third,
        for formulas with a quotient of a quotient, adds those of `nested`."""
        constants = self.constants()
        times: Callable[[Any], List[Any]] = lambda c: [z3.Implies(d > 0, x * c == q * d * c + r * c) for x, q, r, d in self.quotients]
        few = [fact for c in constants for fact in times(c)]
        many = few + [fact for _, q, _, _ in self.quotients for fact in times(q)]
        for n, (_, q, r, d) in enumerate(self.quotients):
            many += [z3.Implies(z3.And(d > 0, c > 0), z3.And((d - r - 1) * c >= 0, r * c >= 0, d * c > 0)) for c in constants]
            for u, y in ((q - p, y) for p in [0, *(p for _, p, _, _ in self.quotients[:n])] for _, _, _, y in self.quotients):
                many += [z3.Implies(z3.And(u >= 1, y > 0), u * y >= y), z3.Implies(z3.And(u <= -1, y > 0), u * y <= -y)]
        return [few, many, many + self.nested()] if any(x.eq(q) for x, *_ in self.quotients for _, q, _, _ in self.quotients) else [few, many]

    def nested(self) -> List[Any]:
        """x = q d + r and q = q2 d2 + r2 give x = q2 (d d2) + (r2 d + r), where what is added is below d d2. Quotients are compared with remainders
        too, and products of equal factors, or of 0, are equal."""
        out = []
        for x, q, r, d in self.quotients:
            for x2, q2, r2, d2 in self.quotients:
                if x2.eq(q):
                    low = r2 * d + r
                    out.append(z3.Implies(z3.And(d > 0, d2 > 0), z3.And(x == q2 * d * d2 + low, low >= 0, low <= d * d2 - 1)))
                    out += [z3.Implies(p == low, p * c == low * c) for _, _, p, _ in self.quotients for c in self.constants()]
            out += [z3.Implies(r == 0, r * p == 0) for _, p, _, _ in self.quotients]
            out += [z3.Implies(q == p, q * y == p * y) for _, p, _, _ in self.quotients if p is not q for _, _, _, y in self.quotients]
            for u, y in ((q - p, y) for _, _, p, _ in self.quotients for _, _, _, y in self.quotients):
                out += [z3.Implies(z3.And(u >= 1, y > 0), u * y >= y), z3.Implies(z3.And(u <= -1, y > 0), u * y <= -y), z3.Implies(u == 0, u * y == 0)]
        return out

    def wrong(self) -> Any:
        """The formula that is true where the rule fires and is wrong."""
        left, right = self.reg[self.t.left], self.reg[self.t.right]
        fires = [self.reg[p] != 0 for p in self.t.pre]
        bad = [self.reg[b] != 0 for b, _ in self.t.bad]
        t = self.t.type_of(self.t.left)
        differ = z3_floats.differ(left, right, t, self.t.contract == "zeros") if cls(t) == "F" else left != right
        return z3.And(*self.given, *fires, z3.Or(differ, *bad))


def abstractly(t: Terms) -> bool:
    """Whether the sides are equal even if each hard operation is any function of its operands."""
    z3_bits.abstract = True
    try:
        goal = Formula(t).wrong()
    finally:
        z3_bits.abstract = False
    state, _ = check(LIMIT, goal)
    return state == "proved" or (state == "unknown" and contradictory_bits(goal))


def sized(f: Formula, goal: Any) -> Answer:
    """A rule that converts one integer to a float, proved separately for each position of the integer's leading bit, where the conversion
    shifts by a constant. Integers below 2**53 (of 32 bits: below 2**24), which f64 (f32) holds exactly, are one piece."""
    v, n = f.vars[0], f.vars[0].size()
    exact = 53 if n > 53 and f.t.types[0] != EXACT else 24
    signed = cls(f.t.types[0]) in "IX"
    size = z3.If(v < 0, -v, v) if signed else v
    pieces = [z3.And(goal, z3.ULT(size, 1 << exact))]
    for p in range(exact, n):
        low = z3.Concat(z3.BitVecVal(1, n - p), z3.BitVec("low", p))
        for x in (low, -low) if signed else (low,):
            pieces.append(z3.And(z3.substitute(goal, (v, x)), v == x))
    for piece in pieces:
        state, model = check(SIZED_LIMIT, z3.simplify(piece))
        if state != "proved":
            return Answer(state, smallest(f, goal, model) if state == "refuted" else {})
    return Answer("proved")


def is_sized(t: Terms) -> bool:
    """Whether the rule converts one wide integer to a float."""
    return len([x for x in t.types if x != "side"]) == 1 and (t.types[0] == EXACT or cls(t.types[0]) in "IU" and width(t.types[0]) >= 32) and \
        any(i.op == "cvt" and cls(i.type) == "F" for i in t.code)


def decide_one(t: Terms) -> Answer:
    try:
        if (EXACT not in t.types or has_floats(t)) and abstractly(t):
            return Answer("proved")
        answer = by_integers(t)
        if answer.state != "unknown":
            return answer
        if z3_bits.hard(t) > MOST_HARD:
            return Answer("unknown")
        f = Formula(t)
    except z3_floats.Unsupported:
        return by_wide_bits(t) if EXACT in t.types and not has_floats(t) else Answer("unknown")
    goal = f.wrong()
    if is_sized(t):
        return sized(f, goal)
    lemmas = f.lemmas() if f.integers else []
    if any(linearly([goal, *extra]) for extra in lemmas):
        return Answer("proved")
    state, model = check(LIMIT, goal)
    if state == "unknown" and any(check(LIMIT, goal, *extra)[0] == "proved" for extra in lemmas):
        return Answer("proved")
    if state == "unknown" and not f.integers and all(x == "side" or cls(x) in "PIU" for x in t.types):
        state, model = by_amount(f, goal)  # a rule on integers has no weaker proof
    return Answer(state, smallest(f, goal, model) if state == "refuted" else {})


def by_wide_bits(t: Terms) -> Answer:
    """With indices as bit vectors: typed integers of which bits are taken."""
    try:
        f = Formula(t, bits=True)
    except z3_floats.Unsupported:
        return Answer("unknown")
    goal = f.wrong()
    state, model = check(SIZED_LIMIT, goal)
    return Answer(state, smallest(f, goal, model) if state == "refuted" else {})


def by_amount(f: Formula, goal: Any) -> Tuple[str, Any]:
    """Separately for each value of a constant that is an amount of bits, and for all others."""
    constants = [v for v, n in zip(f.vars, f.t.names) if n in ("k", "m", "p", "q")]
    if not constants or not any(i.op in SHIFTS for i in f.t.code):
        return check(SIZED_LIMIT, goal)
    v, n = constants[-1], max(x.size() for x in f.vars)
    for piece in [z3.substitute(goal, (v, z3.BitVecVal(x, v.size()))) for x in range(n)] + [z3.And(goal, z3.UGE(v, n))]:
        state, model = check(SIZED_LIMIT, z3.simplify(piece))
        if state != "proved":
            return check(SIZED_LIMIT, goal) if state == "refuted" else (state, None)
    return "proved", None


def by_integers(t: Terms) -> Answer:
    """With typed integers as mathematical ones: quotients by constants as products and shifts."""
    if EXACT in t.types or not any(i.op in QUOTIENTS for i in t.code):
        return Answer("unknown")
    try:
        f = Formula(t, integers=True)
    except z3_floats.Unsupported:
        return Answer("unknown")
    goal, lemmas = f.wrong(), f.lemmas() if nonlinear(t) else []
    if any(linearly([goal, *extra]) for extra in lemmas):
        return Answer("proved")
    state, model = check(LIMIT if lemmas else SIZED_LIMIT, goal)
    if state == "unknown" and any(check(LIMIT, goal, *extra)[0] == "proved" for extra in lemmas):
        return Answer("proved")
    return Answer(state, smallest(f, goal, model) if state == "refuted" else {})


def nonlinear(t: Terms) -> bool:
    """Whether a product or quotient is by a variable."""
    constant = lambda r: r >= len(t.types) and t.code[r - len(t.types)].kind in ("literal", "int")
    return any(i.kind == "scalar" and i.op in (*QUOTIENTS, "mul") and not any(map(constant, i.args[-1:] if i.op != "mul" else i.args)) for i in t.code)


def number(model: Any, v: Any, signed: bool) -> int:
    got = model.eval(v, model_completion=True)
    return got.as_signed_long() if signed else got.as_long()


def smallest(f: Formula, goal: Any, model: Any) -> Dict[int, int]:
    """The values of a counterexample, below the least power of two for which z3 finds one."""
    for bits in (1, 2, 3, 4, 6, 8):
        small = [z3.And(-(1 << bits) < v, v < 1 << bits) for v in f.vars if v.sort() == z3.IntSort() or v.size() > bits + 1]
        state, found = check(LIMIT // 10, goal, *small)
        if state == "refuted":
            model = found
            break
    return values(f, model)


def values(f: Formula, model: Any) -> Dict[int, int]:
    return {n: number(model, v, f.t.types[n] == EXACT and not f.integers) for n, v in enumerate(f.vars) if f.t.types[n] != "side"}


def decide(problems: Sequence[Terms]) -> List[Answer]:
    """Decides all, on WORKERS processes if there are many."""
    global asked
    asked = problems
    if len(problems) < 2 * WORKERS:
        return [decide_alone(n) for n in range(len(problems))]
    with multiprocessing.get_context("fork").Pool(WORKERS) as pool:
        return pool.map(decide_alone, range(len(problems)), chunksize=1)


asked: Sequence[Terms] = ()  # the problems, for the processes


def decide_alone(n: int) -> Answer:
    """Decides a problem in a context of its own: what z3 does within its limit depends on the expressions that it knows."""
    z3.z3._main_ctx = None
    return decide_one(asked[n])


def same(t: Terms) -> bool:
    """Whether the sides are equal whatever functions of their operands the operations are."""
    try:
        return present() and abstractly(t)
    except z3_floats.Unsupported:
        return False


__all__ = ["Answer", "decide", "decide_one", "present", "same"]
