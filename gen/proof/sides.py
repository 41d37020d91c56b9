"""Compiles both sides of a rule, at one binding of its type classes, to straight-line code (code.py), which the driver runs and z3 reads.

    terms = build(rule, {"N": "i8"}, errors)      rewrite(mul[N](a, 1), a)     r0 = a: i8   r1 = 1: i8   r2 = mul.i8 r0 r1
                                                        left 2, right 0
"""
from __future__ import annotations

from typing import Dict, Optional, Set, Tuple

from gen import constants, ops
from gen.errors import error_of
from gen.proof import facts, nearer
from gen.proof.breakpoints import FORMATS
from gen.forms import is_const, is_number, literals_of
from gen.lang import All, Arith, Cond, Expr, Guard, Lit, Node, Not, PatternError, Relation, Rule, Type, Var, Width, children, parts
from gen.load import walk
from gen.proof.code import EXACT, RELATIONS, Error, Errors, Ins, NotNarrow, Terms, cls, fits, literal_bits, width

UNDEFINED = {"divx": "divides by 0 or -1", "remx": "divides by 0 or -1", "shlx": "shifts by the width or more",
             "shrlx": "shifts by the width or more", "shrax": "shifts by the width or more"}
FAR = {"f32": 2.0**120, "f64": 2.0**1016, "f16": 2.0**12, "bf16": 2.0**120}  # results beyond, or below one over it, are near overflow or underflow
KEEPS_NAN = ("bits", "select", "copysign")  # the PTX manual leaves the bits of other results that are nan to the machine, those of neg and abs too
INT_OPS = {"+": "add", "-": "sub", "*": "mul", "//": "cdiv", "%": "cmod"}


class Builder:
    """State while one rule is compiled; ids are those of the rule's expressions."""

    def __init__(self, rule: Rule, bind: Dict[str, str], errors: Errors, approx: bool) -> None:
        self.rule, self.bind, self.errors, self.approx = rule, bind, errors, approx
        self.numbers = literals_of(rule.when)
        self.t = Terms()
        self.var: Dict[int, int] = {}
        self.memo: Dict[Tuple[int, str, bool], int] = {}
        self.same: Dict[Ins, int] = {}
        self.moved: Dict[int, int] = {}
        self.right_side = False
        self.shows_bits = False  # whether the right side reads the bits of floats
        self.shared: Set[str] = set()  # flags that every matched node has
        self.left_ids: Set[int] = set()

    def element(self, t: Type) -> str:
        return EXACT if t.name == "index" else self.bind.get(t.name, t.name)

    def add(self, i: Ins) -> int:
        if i not in self.same:
            self.t.code.append(i)
            self.same[i] = len(self.t.types) + len(self.t.code) - 1
        return self.same[i]

    def scalar(self, op: str, t: str, *args: int, frm: str = "") -> int:
        return self.add(Ins("scalar", t, tuple(args), op, frm or t))

    def literal(self, t: str, value: object) -> int:
        return self.add(Ins("literal", t, imm=literal_bits(value, t)))

    def integer(self, n: int) -> int:
        return self.add(Ins("int", EXACT, imm=n))

    # --- variables: all of them before the first instruction --------------------------------------------------------------------
    def variables(self) -> None:
        found: Dict[int, Tuple[Var, str]] = {}

        def visit(e: Expr, t: str) -> None:
            if isinstance(e, Var):
                found.setdefault(id(e), (e, EXACT if e.kind in ("index", "rest") else t))
            elif isinstance(e, Node):
                for n, a in enumerate(e.args):
                    visit(a, self.element(e.operand_type(n)))
            elif isinstance(e, Arith):
                visit(e.x, EXACT)
                visit(e.y, EXACT)

        visit(self.rule.left, EXACT)
        for v, t in self.rule.more:
            found.setdefault(id(v), (v, t))
        for c in parts(self.rule.when):
            if isinstance(c, Guard) and c.name == "period":  # binds its last argument
                visit(c.args[2], EXACT)
        for n, (v, t) in enumerate(found.values()):
            self.var[id(v)] = n
            self.t.names.append(v.name)
            self.t.types.append(t)

    # --- expressions -------------------------------------------------------------------------------------------------------------
    def constant(self, e: Expr) -> int:
        """Register of an integer constant, in exact arithmetic. Where it has no result the rule does not fire, and the case is skipped."""
        if isinstance(e, Lit):
            return self.integer(int(e.value))
        if isinstance(e, Width):
            first = next((t for t in self.bind.values()), None)
            return self.integer(width(first) if first else 0)
        if isinstance(e, Var):
            if id(e) not in self.var:
                raise PatternError(self.rule.where, f"constant {e} is not bound by the left side")
            r = self.var[id(e)]
            return r if self.t.types[r] == EXACT else self.add(Ins("of", EXACT, (r,)))
        assert isinstance(e, Arith)
        if e.op == "<<":  # exponents.py has made its second operand a number
            return self.add(Ins("mul", EXACT, (self.constant(e.x), self.integer(1 << self.number(e.y)))))
        return self.add(Ins(INT_OPS[e.op], EXACT, (self.constant(e.x), self.constant(e.y))))

    def number(self, e: Expr) -> int:
        found = constants.value(e, {}, width(next(iter(self.bind.values()), "pred")))
        if found is None or not 0 <= found < 64:
            raise NotNarrow  # the rule does not match
        return found

    def value(self, e: Expr, t: str) -> int:
        """Register of e in an operand position of type t."""
        if isinstance(e, Var):
            if id(e) not in self.var:
                raise PatternError(self.rule.where, f"{e} is not bound by the left side")
            r = self.var[id(e)]
            return r if self.t.types[r] == t else self.convert_constant(e, t)
        if isinstance(e, Lit) and t != EXACT:
            if t not in ops.TYPE_BY_NAME and not fits(e.value, t):
                raise NotNarrow
            try:
                return self.literal(t, e.value)
            except ValueError as x:
                raise PatternError(self.rule.where, f"{e}: {x}") from x
        key = (id(e), t, self.right_side and id(e) not in self.left_ids)
        if key not in self.memo:
            self.memo[key] = r = self.compound(e, t)
            self.t.note.setdefault(r, e)
        return self.memo[key]

    def convert_constant(self, e: Expr, t: str) -> int:
        r = self.constant(e)
        if t == EXACT:
            return r
        made = self.add(Ins("to", t, (r,)))
        if isinstance(e, Arith) and not self.right_side:  # a literal of the text is a value of its type
            self.t.pre.append(self.add(Ins("eq", EXACT, (self.add(Ins("of", EXACT, (made,))), r))))
        return made

    def compound(self, e: Expr, t: str) -> int:
        if is_const(e):
            return self.convert_constant(e, t)
        if isinstance(e, Arith):
            x, y = self.value(e.x, EXACT), self.value(e.y, EXACT)
            if e.op in ("//", "%"):
                self.positive(y, e)
                self.holds_64(e.x, x)
            return self.add(Ins({"//": "floordiv", "%": "mod"}.get(e.op) or INT_OPS[e.op], EXACT, (x, y)))
        assert isinstance(e, Node)
        return self.node(e)

    def positive(self, divisor: int, e: Expr) -> None:
        if self.right_side:
            self.t.bad.append((self.add(Ins("le", EXACT, (divisor, self.integer(0)))), f"{e}: the divisor is not positive"))
        else:
            self.t.pre.append(self.add(Ins("gt", EXACT, (divisor, self.integer(0)))))

    def holds_64(self, e: Expr, r: int) -> None:
        """The machine has 64 bits: a sum or product that is divided, compared or chosen must fit. (Elsewhere it wraps, and the result fits.)"""
        if self.right_side and isinstance(e, Arith) and e.op in "+-*" and id(e) not in self.left_ids and not is_const(e):
            self.t.bad.append((self.outside_64(r), f"{e}: more than 64 bits"))

    def outside_64(self, r: int) -> int:
        low, high = self.add(Ins("lt", EXACT, (r, self.integer(-2**63)))), self.add(Ins("ge", EXACT, (r, self.integer(2**63))))
        return self.scalar("bor", "pred", low, high)

    def assume_64(self) -> None:
        """Where the right side must fit: the variables of the left side do, and what it divides or compares."""
        if not any(why.endswith("more than 64 bits") for _, why in self.t.bad):
            return
        inside = [x for e in walk(self.rule.left) for x in (children(e) if isinstance(e, Node) or (isinstance(e, Arith) and e.op in ("//", "%")) else ())]
        summed = {self.memo[k] for x in inside for k in ((id(x), EXACT, False),) if k in self.memo}
        for r in sorted({n for n, x in enumerate(self.t.types) if x == EXACT} | summed):
            self.t.pre.append(self.scalar("bnot", "pred", self.outside_64(r)))

    def node(self, e: Node) -> int:
        t, name = self.element(e.types[0]), e.op.name
        args = [self.value(a, self.element(e.operand_type(n))) for n, a in enumerate(e.args)]
        if name == "splat":  # rules see one lane
            return args[0]
        if name == "pack":
            raise PatternError(self.rule.where, f"{e}: a rewrite sees one lane")
        if name == "idx":
            made = self.add(Ins("to", t, tuple(args)))
            held = Ins("of", EXACT, (made,))
            if not self.right_side:  # the pass that made idx has shown that t holds the value
                self.t.pre.append(self.add(Ins("eq", EXACT, (self.add(held), args[0]))))
            elif id(e) not in self.left_ids:  # the rule must show it
                self.t.bad.append((self.add(Ins("ne", EXACT, (self.add(held), args[0]))), f"{e}: {t} does not hold the index"))
            return made
        if t == EXACT:
            for a, r in zip(e.args, args):
                self.holds_64(a, r)
            if name in ("floordiv", "mod"):
                self.positive(args[1], e)
            return self.add(Ins(name, EXACT, tuple(args)))
        if e is self.rule.left and name in UNDEFINED:  # of its result, not of a part that a select may drop
            self.t.pre.append(self.scalar("bnot", "pred", self.outside(name, t, args[1])))
        if self.right_side and name in UNDEFINED:
            self.t.bad.append((self.outside(name, t, args[1]), f"{e.name}: {UNDEFINED[name]}"))
        r = self.scalar(name, t, *args, frm=self.element(e.types[-1]))
        if self.right_side and "rare" in e.flags:
            self.t.bad.append((self.scalar("band", "pred", args[0], self.ordinary(r, t)), f"{e.name}: the condition is not rare"))
        inside = self.right_side and id(e) not in self.left_ids
        if not inside or is_number(e, self.numbers):
            return r
        flags = set(e.flags) | self.shared
        if "approx" in flags and name == "cvt" and cls(t) in "IU" and cls(self.element(e.types[-1])) == "F":
            return self.add(Ins("garbage", t, (r, args[0])))  # the machine decides what a nan becomes
        error = error_of(self.errors, e, t, "approx" in flags) if cls(t) == "F" else (0, 0, 0)
        if nearer.asked(self.rule):  # what a later rule makes of the function may be off by its budget, which no instruction or lowering exceeds
            budget = nearer.budget(e.op.name, t, "approx" in flags)
            error = budget if any(budget) else error
        r = self.nudge(r, name, t, error) if any(error) else r
        decided = self.shows_bits and self.t.type_of(r) in FORMATS and name not in KEEPS_NAN
        return self.some_nan(r, t) if decided else r

    def some_nan(self, r: int, t: str) -> int:
        """Where the right side reads the bits of floats: a nan that the machine computes is not one of the operands, but its own."""
        own = self.add(Ins("literal", t, imm=(1 << width(t) - 1) - 1))
        return self.scalar("select", t, self.scalar("eq", t, r, r), r, own)

    def nudge(self, r: int, name: str, t: str, error: Error) -> int:
        """An inexact result: one more variable says whether it is moved up or down by its error. Without a free slot it is not moved."""
        if r not in self.moved:
            side = self.slot(f"side of {name}")
            self.moved[r] = r if side is None else self.add(Ins("nudge", t, (r, side), name, error=error))
        return self.moved[r]

    def slot(self, name: str) -> Optional[int]:
        """A variable besides those of the rule; None if no slot is free."""
        free = next((n for n, x in enumerate(self.t.names) if x == ""), None)
        if free is not None:
            self.t.names[free] = name
        return free

    def ordinary(self, r: int, t: str) -> int:
        """Register: the floats of the rule have a magnitude from 2^-10 to 2^10 and few bits, the first of two may be 0, and the result r of the select
        is some powers of two away from overflow and underflow, or 0 of 0. There no condition of a select that is marked `rare` may hold."""
        floats = [(n, t) for n, t in enumerate(self.t.types) if t in FAR]
        out = self.literal("pred", 1)
        if t in FAR:  # all results of other types are ordinary
            size = self.scalar("abs", t, r)
            far = self.scalar("ge", t, size, self.literal(t, 1 / FAR[t]))
            if len(floats) > 1:
                far = self.scalar("bor", "pred", far, self.scalar("eq", t, r, self.literal(t, 0)))
            out = self.scalar("band", "pred", far, self.scalar("le", t, size, self.literal(t, FAR[t])))
        for n, t in floats:
            u = {"f32": "u32", "f64": "u64"}.get(t, "u16")
            bits, size = self.scalar("bits", u, n, frm=t), self.scalar("abs", t, n)
            good = self.scalar("band", "pred", self.scalar("ge", t, size, self.literal(t, 2.0**-10)), self.scalar("le", t, size, self.literal(t, 2.0**10)))
            low = self.scalar("band", u, bits, self.literal(u, {"f32": 0xFFF, "f64": 2**41 - 1}.get(t, 0)))
            good = self.scalar("band", "pred", good, self.scalar("eq", u, low, self.literal(u, 0)))
            if n == 0 and len(floats) > 1:
                good = self.scalar("bor", "pred", good, self.scalar("eq", u, bits, self.literal(u, 0)))
            out = self.scalar("band", "pred", out, good)
        return out

    def outside(self, name: str, t: str, b: int) -> int:
        """Register that says whether operand b is outside the domain of an operation of UNDEFINED."""
        if name in ("divx", "remx"):
            zero = self.scalar("eq", t, b, self.literal(t, 0))
            return zero if cls(t) == "U" else self.scalar("bor", "pred", zero, self.scalar("eq", t, b, self.literal(t, -1)))
        amount, n = self.add(Ins("of", EXACT, (b,))), self.integer(width(t))
        big = self.add(Ins("ge", EXACT, (amount, n)))
        return big if cls(t) == "U" else self.scalar("bor", "pred", big, self.add(Ins("lt", EXACT, (amount, self.integer(0)))))

    # --- conditions --------------------------------------------------------------------------------------------------------------
    def condition(self, c: Cond) -> Optional[int]:
        """Register of a condition; None for flags, which select the contract."""
        if isinstance(c, Not):
            listed = dict(self.t.listed)
            r = self.condition(c.x)
            self.t.listed = listed  # of what holds
            return None if r is None else self.scalar("bnot", "pred", r)
        if isinstance(c, All):
            found = [r for r in map(self.condition, c.items) if r is not None]
            out = found[0] if found else None
            for r in found[1:]:
                out = self.scalar("band", "pred", out, r)  # type: ignore[arg-type]
            return out
        if isinstance(c, Relation):
            return self.add(Ins(RELATIONS[c.rel], EXACT, (self.constant(c.x), self.constant(c.y))))
        assert isinstance(c, Guard)
        return facts.meaning(self, c)


def shared_flags(rule: Rule) -> Set[str]:
    """Flags that are written at each node of the left side."""
    nodes = [e for e in walk(rule.left) if isinstance(e, Node)]
    return set.intersection(*(set(n.flags) for n in nodes)) if nodes else set()


def build(rule: Rule, bind: Dict[str, str], errors: Errors, approx: bool = False,
          budget: Optional[Tuple[float, float]] = None, nudges: int = 0) -> Terms:
    """approx: every matched node carries that flag. budget: how far the function at the root may be off; None: the sides
    must be equal. nudges: the number of inexact results that may be moved. Raises NotNarrow where a literal does not fit a narrow type."""
    b = Builder(rule, bind, errors, approx)
    b.shared = shared_flags(rule) | ({"approx"} if approx else set())
    b.variables()
    b.t.names += [""] * nudges
    b.t.types += ["side"] * nudges
    b.left_ids = set() if nearer.asked(rule) else {id(e) for e in walk(rule.left)}  # under nearer a part of both sides may be off like others
    left = rule.left
    t = b.element(left.result if isinstance(left, Node) else Type("index"))
    if budget is not None and isinstance(left, Node) and not nearer.asked(rule):
        args = tuple(b.value(a, b.element(left.operand_type(n))) for n, a in enumerate(left.args))
        b.t.left = b.add(Ins("function", t, args, left.op.name))
        facts.float_contract(b, b.value(left, t) if facts.flagged(rule, "nnan") else b.t.left, t)
        b.t.contract, b.t.budget = "ulp", budget
    else:
        b.t.left = b.value(left, t)
        facts.float_contract(b, b.t.left, t)
    for c in parts(rule.when):
        r = b.condition(c)
        if r is not None:
            b.t.pre.append(r)
    b.right_side = True
    assert isinstance(rule.right, Expr)
    b.shows_bits = any(isinstance(e, Node) and e.op.name == "bits" and id(e) not in b.left_ids and cls(b.element(e.types[0])) in "IU" and
                       cls(b.element(e.types[1])) == "F" for e in walk(rule.right))
    b.t.right = b.value(rule.right, t)
    if nearer.asked(rule):
        nearer.contract(b, b.t.right, t)
    b.assume_64()
    return b.t

