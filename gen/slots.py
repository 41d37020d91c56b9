"""Slots of a rule's program for values, constants and type classes; steps for arithmetic of constants and for conditions.

Needs the pattern's expressions; leaves steps (see opcodes.py). compile.py walks the two sides of a rule on top of it.

    (m % k == 0) & within(rest, 0, k)   ->   KARITH k3 = k1 % k0, KIMM k4 = 0, CREL k3 == k4, KIMM k5 = 0, CFACT within v4 k5 k0
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Optional, Tuple

from gen import guards, ops
from gen.expr import All, Arith, Cond, Expr, Guard, Lit, Not, PatternError, Relation, Type, Var, Width
from gen.known import WITH_CLASSES
from gen.lang import Rule
from gen.opcodes import ARITH, FLAGBIT, REL, TYPENUM, Step, bits_of

FLIP = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


@dataclass
class Slots:
    """State while one variant of one rule is compiled."""

    rule: Rule
    phase: str
    any_lanes: bool
    steps: List[Step] = field(default_factory=list)
    value: Dict[int, int] = field(default_factory=dict)  # id of a Var or Node -> slot
    konst: Dict[int, int] = field(default_factory=dict)  # id of a const Var -> k slot
    types: Dict[str, int] = field(default_factory=dict)  # class -> t slot
    typed: Dict[int, str] = field(default_factory=dict)  # id of a bound expression -> its type or class
    names: Dict[str, str] = field(default_factory=dict)  # variable -> "v3", "k0": for messages
    n_values: int = 1
    n_konsts: int = 0

    def fail(self, what: str) -> None:
        raise PatternError(self.rule.where, what)

    def slot(self) -> int:
        self.n_values += 1
        if self.n_values > 250:
            self.fail("more than 250 values in one rule")
        return self.n_values - 1

    def kslot(self) -> int:
        self.n_konsts += 1
        if self.n_konsts > 60:
            self.fail("more than 60 constants in one rule")
        return self.n_konsts - 1

    def bind(self, v: Var, slot: int) -> None:
        if v.kind == "const":
            self.konst[id(v)] = slot
        else:
            self.value[id(v)] = slot
        self.names[v.name] = f"{'k' if v.kind == 'const' else 'v'}{slot}"

    # --- types -----------------------------------------------------------------------------------------------------------
    def check_type(self, t: Type, slot: int) -> None:
        if not t.is_class:
            self.steps.append(("TYPE", slot, int(self.any_lanes), 0, TYPENUM[t.name] | (t.lanes.bit_length() - 1) << 6))
        elif t.name in self.types:
            self.steps.append(("TEQ", slot, self.types[t.name], int(self.any_lanes)))
        else:
            self.types[t.name] = len(self.types)
            mask = sum(1 << TYPENUM[m] for m in t.members)
            self.steps.append(("CLASS", slot, self.types[t.name], int(self.any_lanes), ("imm", mask)))

    def type_code(self, t: Type) -> Tuple[int, int]:
        """(mode, number): mode 0 a type, 1 a bound class."""
        if t.is_class:
            if t.name not in self.types:
                self.fail(f"type class {t.name} on the right side is not bound by the left side")
            return 1, self.types[t.name]
        return 0, TYPENUM[t.name] | (t.lanes.bit_length() - 1) << 6

    def check_literal(self, e: Lit, t: Optional[Type]) -> None:
        """A literal must be a value of every type that its operand position can have; only floats may be rounded."""
        for member in t.members if t is not None and not isinstance(e.value, bool) else ():
            info = ops.TYPE_BY_NAME[member]
            if info.cls in "IUX" and (isinstance(e.value, float) or not -1 << info.bits - 1 <= e.value < 1 << info.bits):
                self.fail(f"{e} is no value of type {member}")
            if info.cls == "P":
                self.fail(f"{e} is no value of type pred: True or False")
            if info.cls == "F" and isinstance(e.value, int) and abs(e.value) > 1 << 53:
                self.fail(f"{e} is no value of type {member}: integers of more than 53 bits are written as floats")

    # --- constants ---------------------------------------------------------------------------------------------------------
    def bound(self, e: Expr) -> bool:
        if isinstance(e, Arith):
            return self.bound(e.x) and self.bound(e.y)
        return not isinstance(e, Var) or id(e) in self.konst

    def arithmetic(self, op: str, x: int, y: int, out: List[Step]) -> int:
        d = self.kslot()
        out.append(("KARITH", d, x, y, ARITH[op]))
        return d

    def constant(self, e: Expr, out: List[Step]) -> int:
        """k slot that holds a constant expression."""
        if isinstance(e, Var):
            if id(e) not in self.konst:
                self.fail(f"constant {e} is not bound by the left side")
            return self.konst[id(e)]
        if isinstance(e, Arith):
            return self.arithmetic(e.op, self.constant(e.x, out), self.constant(e.y, out), out)
        d = self.kslot()
        if isinstance(e, Lit):
            if isinstance(e.value, float):
                self.fail(f"{e}: constants of conditions and coefficients are integers")
            if not -1 << 63 <= e.value < 1 << 63:
                self.fail(f"{e}: constants of conditions and coefficients have 64 bits")
            out.append(("KIMM", d, 0, 0, ("imm", bits_of(int(e.value)))))
        elif isinstance(e, Width):
            if not self.types:
                self.fail("w stands for the width of the rule's type class; this rule binds none")
            out.append(("KWIDTH", d, 0, 0))
        else:
            self.fail(f"{e} is not a constant")
        return d

    def equate(self, e: Expr, k: int) -> None:
        """Steps that require slot k to hold the value of e. If one variable of e is unbound, they solve for it, as for m in k + 2*m."""
        if self.bound(e):
            self.steps.append(("CREL", k, self.constant(e, self.steps), REL["=="]))
        elif isinstance(e, Var):
            self.bind(e, k)
        elif isinstance(e, Arith) and e.op in "+-*" and self.bound(e.x):
            x = self.constant(e.x, self.steps)
            self.equate(e.y, self.arithmetic("-", k, x, self.steps) if e.op == "+" else self.arithmetic("-", x, k, self.steps)
                        if e.op == "-" else self.divide(k, x))
        elif isinstance(e, Arith) and e.op in "+-*" and self.bound(e.y):
            y = self.constant(e.y, self.steps)
            self.equate(e.x, self.arithmetic("-", k, y, self.steps) if e.op == "+" else self.arithmetic("+", k, y, self.steps)
                        if e.op == "-" else self.divide(k, y))
        elif isinstance(e, Arith) and e.op == "<<" and self.bound(e.x):
            of = k if isinstance(e.x, Lit) and e.x.value == 1 else self.divide(k, self.constant(e.x, self.steps))
            self.equate(e.y, self.arithmetic("log2", of, of, self.steps))
        else:
            self.fail(f"{e}: more than one of its constants is unbound where it is matched")

    def divide(self, k: int, x: int) -> int:
        zero = self.constant(Lit(0), self.steps)
        self.steps.append(("CREL", self.arithmetic("%", k, x, self.steps), zero, REL["=="]))
        return self.arithmetic("//", k, x, self.steps)

    # --- conditions --------------------------------------------------------------------------------------------------------
    def condition(self, c: Cond, negate: bool = False) -> None:
        if isinstance(c, All):
            if negate:
                self.fail("~ of several conditions: negate each")
            for item in c.items:
                self.condition(item)
        elif isinstance(c, Not):
            self.condition(c.x, not negate)
        elif isinstance(c, Relation):
            for side in (c.x, c.y):
                if isinstance(side, Var) and side.kind != "const":
                    self.fail(f"{c}: {side} is a value; relations compare constants; for values there are facts: within(..), multiple(..), ..")
            x, y = self.constant(c.x, self.steps), self.constant(c.y, self.steps)
            self.steps.append(("CREL", x, y, REL[FLIP[c.rel] if negate else c.rel]))
        elif isinstance(c, Guard):
            self.guard(c, negate)
        else:
            self.fail(f"{c} is not a condition")

    def guard(self, c: Guard, negate: bool) -> None:
        known = guards.BY_NAME[c.name]
        if known.kind == "feature":
            if self.phase == "index":
                self.fail(f"{c}: index rules hold for every target")
            return
        if known.kind == "plan":
            if negate or self.phase != "options" or not isinstance(c.args[0], Var):
                self.fail(f"{c}: is what free= of an option asks for")
            n = self.kslot()
            self.steps.append(("CGIVEN", n, 0, 0))
            self.equate(c.args[0], n)
            return
        if known.kind == "permit":
            if negate or self.phase not in (("options",) if c.name in ("regroups", "rescales") else ("simplify", "lower")):
                self.fail(f"{c}: says what sides of a rewrite may differ in" + ("; it cannot be negated" if negate else ""))
            return
        if known.kind == "flag":
            if self.phase == "index":
                self.fail(f"{c}: index arithmetic carries no flags")
            self.steps.append(("CFLAG", FLAGBIT[c.name], int(negate), 0))
            return
        if known.kind == "kernel":
            if self.phase not in ("simplify", "lower"):
                self.fail(f"{c}: is a condition of rewrites of a kernel's elements, and this is a rule of {self.phase}")
            self.steps.append(("CFACT", 0, 0, 0, guards.NUMBER[c.name] | int(negate) << 8))
            return
        if known.kind == "use" and self.phase != "isel":
            self.fail(f"{c}: uses are counted in isel only; a {self.phase} rule fires wherever it matches")
        if c.name in guards.NUMBERS and self.phase == "isel":
            self.fail(f"{c}: is a condition of rewrites; an instruction takes a literal that is written, or the immediate %{{k}} of a constant k")
        if c.name in ("fixed", "counts") and self.phase not in ("arrays", "options"):
            self.fail(f"{c}: of rules about folds, which are in arrays.py")
        v = self.value.get(id(c.args[0]))
        if isinstance(c.args[0], Var) and c.args[0].kind == "const":
            self.fail(f"{c}: {c.args[0]} matches an integer constant, and {c.name} is about a value: its relations say what is known, {c.args[0]} < 8")
        if v is None:
            self.fail(f"{c}: {c.args[0]} is not bound by the left side")
        self.check_subject(c, known)
        if c.name == "period":
            if negate or not isinstance(c.args[2], Var):
                self.fail(f"{c}: binds a constant; it cannot be negated, and its last argument is a variable")
            n = self.kslot()
            self.steps.append(("CPERIOD", n, v, self.constant(c.args[1], self.steps)))
            self.equate(c.args[2], n)
            return
        if c.name == "counts":
            if negate:
                self.fail(f"{c}: binds a constant; it cannot be negated")
            n = self.kslot()
            self.steps.append(("CCOUNTS", n, v, 0))
            self.equate(c.args[1], n)
            return
        if c.name == "fixed":
            other = self.value.get(id(c.args[1]))
            if other is None:
                self.fail(f"{c}: {c.args[1]} is not bound by the left side")
            self.steps.append(("CFIXED", v, other, int(negate)))
            return
        if c.name == "apart":
            other = self.value.get(id(c.args[1]))
            if other is None:
                self.fail(f"{c}: {c.args[1]} is not bound by the left side")
            self.steps.append(("CAPART", v, other, self.constant(c.args[2], self.steps), int(negate)))
            return
        ks = [self.constant(k, self.steps) for k in c.args[1:]]
        self.steps.append(("CFACT", v, *(ks + [0, 0])[:2], guards.NUMBER[c.name] | int(negate) << 8))

    def check_subject(self, c: Guard, known: guards.Guard) -> None:
        """The condition's first argument must be of a type that the condition is defined for."""
        found = self.typed.get(id(c.args[0]))
        for member in Type(found).members if found else ():
            if ops.TYPE_BY_NAME[member].cls not in known.classes:
                what = {"X": "indices", "IU": "integers", "F": "floats"}.get(known.classes, "elements")
                self.fail(f"{c}: {c.args[0]} is {found}; {c.name} is about {what}")
            of = {"power_of_two": WITH_CLASSES, "reciprocal_in_two": ("f32",)}.get(c.name)
            if of and member not in of:
                self.fail(f"{c}: {c.args[0]} is {found}; {c.name} is about {', '.join(of)}")
