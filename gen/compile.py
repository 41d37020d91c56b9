"""A rule to match steps and build steps.

Each rule becomes a list of match steps (tuples, so that encode.py can merge equal prefixes) and a list of build steps; one program
for each order of commutative operands that must be tried. src/rewrite/match.c describes the words that the steps become.

Slots are numbered along a path: v0 is the root; t0.. are the classes a rule binds, k0.. its constants.
"""
from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Dict, List, Optional, Tuple

from gen import ops
from gen.encode import ARITH, FLAGBIT, NONE, OPNUM, REL, TYPENUM, Step, bits_of
from gen.forms import is_const, is_index, root_op, swappable, terms_of
from gen.lang import (All, Arith, Cond, Expr, Guard, Lit, Node, Not, PatternError, Relation, Rule, Type, Var, Width, parts)

MAX_VARIANTS = 64  # orders of commutative operands a rule may be tried in


@dataclass
class Program:
    """What one rule compiles to: steps up to and without ACCEPT, then the build."""

    rule: Rule
    root: str  # operation's name
    steps: List[Step]
    build: List[Step]


@dataclass
class Compiler:
    """State while one variant of one rule is compiled."""

    rule: Rule
    any_lanes: bool
    steps: List[Step] = field(default_factory=list)
    value: Dict[int, int] = field(default_factory=dict)  # id of a Var or Node -> slot
    konst: Dict[int, int] = field(default_factory=dict)  # id of a const Var -> k slot
    types: Dict[str, int] = field(default_factory=dict)  # class -> t slot
    order: List[Var] = field(default_factory=list)  # value variables in order of first appearance
    n_values: int = 1
    n_konsts: int = 0

    def fail(self, what: str) -> None:
        raise PatternError(self.rule.where, what)

    def slot(self) -> int:
        self.n_values += 1
        if self.n_values > 200:
            self.fail("more than 200 values in one rule")
        return self.n_values - 1

    def kslot(self) -> int:
        self.n_konsts += 1
        if self.n_konsts > 60:
            self.fail("more than 60 constants in one rule")
        return self.n_konsts - 1

    # --- types ---------------------------------------------------------------------------------------------------------
    def check_type(self, t: Type, slot: int) -> None:
        if not t.is_class:
            exact = TYPENUM[t.name] | (t.lanes.bit_length() - 1) << 6
            self.steps.append(("TYPE", slot, int(self.any_lanes), 0, exact))
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
        """A literal must be a value of every type that its place can have: narrowing rounds floats and changes no integer."""
        for member in t.members if t is not None and not isinstance(e.value, bool) else ():
            info = ops.TYPE_BY_NAME[member]
            if info.cls in "IUX" and (isinstance(e.value, float) or not -1 << info.bits - 1 <= e.value < 1 << info.bits):
                self.fail(f"{e} is no value of type {member}")
            if info.cls == "P":
                self.fail(f"{e} is no value of type pred: True or False")

    # --- left side -----------------------------------------------------------------------------------------------------
    def match(self, e: Expr, slot: int, swaps: Dict[int, bool], implied: Optional[Type]) -> None:
        """Steps that check that slot's node matches e. `implied`: the type that its place already gives it."""
        if isinstance(e, Var):
            self.match_var(e, slot)
        elif isinstance(e, Lit):
            self.check_literal(e, implied)
            self.steps.append(("LIT", slot, int(isinstance(e.value, float)), 0, ("imm", bits_of(e.value))))
        elif isinstance(e, Node):
            self.match_node(e, slot, swaps, implied)
        elif is_const(e):
            k = self.kslot()
            self.steps.append(("KONST", k, slot, 0))
            self.steps.append(("CREL", k, self.constant(e, self.steps), REL["=="]))
        elif isinstance(e, Arith) and e.op in ("//", "%"):
            y = self.slot()
            self.steps.append(("ANY", y, slot, 1))
            self.match(e.y, y, swaps, None)  # the divisor first: it binds what a split needs
            self.operand(e.x, slot, 0, swaps, Type("index"))
        elif isinstance(e, Arith):
            self.match_sum(e, slot, swaps)
        else:
            self.fail(f"{e} cannot stand on a left side")

    def match_var(self, v: Var, slot: int) -> None:
        if v.kind == "const":
            if id(v) in self.konst:
                k = self.kslot()
                self.steps += [("KONST", k, slot, 0), ("CREL", k, self.konst[id(v)], REL["=="])]
            else:
                self.konst[id(v)] = self.kslot()
                self.steps.append(("KONST", self.konst[id(v)], slot, 0))
        elif id(v) in self.value:
            self.steps.append(("SAME", slot, self.value[id(v)], 0))
        else:
            self.value[id(v)] = slot
            self.order.append(v)

    def operand(self, e: Expr, slot: int, k: int, swaps: Dict[int, bool], implied: Optional[Type]) -> None:
        """Fetch operand k of slot and match it."""
        name = root_op(e)
        s = self.slot()
        self.steps.append(("OP", s, slot, k, OPNUM[name]) if name else ("ANY", s, slot, k))
        self.match(e, s, swaps, implied)

    def match_node(self, e: Node, slot: int, swaps: Dict[int, bool], implied: Optional[Type]) -> None:
        self.value[id(e)] = slot
        if e.flags:
            self.steps.append(("FLAGS", slot, sum(FLAGBIT[f] for f in e.flags), 0))
        if e.op.sig not in ("compare", "test") and (implied is None or str(implied) != str(e.result)):
            self.check_type(e.result, slot)
        needs_operand_type = e.op.sig in ("compare", "test", "convert")
        places = list(range(e.op.arity))
        if swaps.get(id(e)):
            places[0], places[1] = 1, 0
        for n, (arg, place) in enumerate(zip(e.args, places)):
            if needs_operand_type and n == 0:
                name = root_op(arg)
                s = self.slot()
                self.steps.append(("OP", s, slot, place, OPNUM[name]) if name else ("ANY", s, slot, place))
                if e.types[-1].name != "index":
                    self.check_type(e.types[-1], s)
                self.match(arg, s, swaps, e.operand_type(0))
            else:
                self.operand(arg, slot, place, swaps, e.operand_type(n))

    def match_sum(self, e: Arith, slot: int, swaps: Dict[int, bool]) -> None:
        terms, constants = terms_of(e)
        rests = [t for t, k in terms if isinstance(t, Var) and t.kind == "rest"]
        terms = [(t, k) for t, k in terms if not (isinstance(t, Var) and t.kind == "rest")]
        if constants or len(rests) != 1 or not terms:
            self.fail("a sum pattern is one or more terms and `rest`; constants belong to the rest")
        if len(terms) == 1 and isinstance(terms[0][0], Var) and isinstance(terms[0][1], Var) and id(terms[0][1]) in self.konst:
            i, r = self.slot(), self.slot()
            self.steps.append(("SPLIT", i, slot, self.konst[id(terms[0][1])], r))
            self.match_var(terms[0][0], i)
            self.match_var(rests[0], r)
            return
        # picks: a free or bound coefficient first, computed ones once what they need is bound
        if any(s[0] in ("PICK", "REST") for s in self.steps):
            self.fail(f"{e}: one sum of a pattern may pick terms")
        waiting = list(terms)
        while waiting:
            for t in waiting:
                if t[1] is None or isinstance(t[1], Var) or self.bound(t[1]):
                    break
            else:
                self.fail(f"no order of terms binds the coefficients of {e}")
            waiting = [other for other in waiting if other is not t]  # not remove(): patterns have no truth value
            self.pick(t[0], t[1], slot, swaps)
        r = self.slot()
        self.steps.append(("REST", r, slot, 0))
        self.match_var(rests[0], r)

    def bound(self, e: Expr) -> bool:
        if isinstance(e, Arith):
            return self.bound(e.x) and self.bound(e.y)
        return not isinstance(e, Var) or id(e) in self.konst

    def pick(self, e: Expr, k: Optional[Expr], slot: int, swaps: Dict[int, bool]) -> None:
        s = self.slot()
        if isinstance(k, Var) and id(k) not in self.konst:
            self.konst[id(k)] = self.kslot()
            self.steps.append(("PICK", s, slot, self.konst[id(k)], 0))
        else:
            self.steps.append(("PICK", s, slot, self.constant(k if k is not None else Lit(1), self.steps), 1))
        name = root_op(e)
        if name:
            self.steps.append(("OP", s, s, NONE, OPNUM[name]))  # operand 255: the node itself
        self.match(e, s, swaps, Type("index"))

    # --- constants and conditions ------------------------------------------------------------------------------------------
    def constant(self, e: Expr, out: List[Step]) -> int:
        """k slot that holds a constant expression."""
        if isinstance(e, Var):
            if id(e) not in self.konst:
                self.fail(f"constant {e} is not bound by the left side")
            return self.konst[id(e)]
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
        elif isinstance(e, Arith):
            x, y = self.constant(e.x, out), self.constant(e.y, out)
            out.append(("KARITH", d, x, y, ARITH[e.op]))
        else:
            self.fail(f"{e} is not a constant")
        return d

    def condition(self, c: Cond, negate: bool = False) -> None:
        if isinstance(c, All):
            if negate:
                self.fail("~ of several conditions: negate each")
            for item in c.items:
                self.condition(item)
        elif isinstance(c, Not):
            self.condition(c.x, not negate)
        elif isinstance(c, Relation):
            flip = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
            rel = flip[c.rel] if negate else c.rel
            x, y = self.constant(c.x, self.steps), self.constant(c.y, self.steps)
            self.steps.append(("CREL", x, y, REL[rel]))
        elif isinstance(c, Guard) and c.name in ("within", "multiple"):
            v = self.value.get(id(c.args[0]))
            if v is None:
                self.fail(f"{c}: {c.args[0]} is not bound by the left side")
            ks = [self.constant(k, self.steps) for k in c.args[1:]]
            self.steps.append(("CWITHIN" if c.name == "within" else "CMULTIPLE", v, *(ks + [0])[:2], int(negate)))
        elif isinstance(c, Guard):
            self.steps.append(("CFLAG", FLAGBIT[c.name], int(negate), 0))
        else:
            self.fail(f"{c} is not a condition")

    # --- right side ----------------------------------------------------------------------------------------------------------
    def build(self, e: Expr, t: Optional[Type], out: List[Step]) -> int:
        """Slot that holds e on the right side; t: the type its place asks for."""
        if isinstance(e, Var) and e.kind != "const":
            if id(e) not in self.value:
                self.fail(f"{e} is not bound by the left side")
            return self.value[id(e)]
        if id(e) in self.value:  # an inner value named with :=, or shared on the right
            return self.value[id(e)]
        if t is not None and t.name != "index" and (is_const(e) or isinstance(e, Lit)):
            return self.build_constant(e, t, out)
        if isinstance(e, Node):
            args = [self.build(a, e.operand_type(i), out) for i, a in enumerate(e.args)]
            d = self.value[id(e)] = self.slot()
            mode, number = self.type_code(e.result)
            flags = sum(FLAGBIT[f] for f in e.flags)
            out.append(("BNODE", d, flags, mode, OPNUM[e.op.name] | number << 16, pack(args)))
            return d
        return self.build_index(e, out)

    def build_constant(self, e: Expr, t: Type, out: List[Step]) -> int:
        d = self.slot()
        mode, number = self.type_code(t)
        if isinstance(e, Lit):
            self.check_literal(e, t)
            out.append(("BLIT", d, int(isinstance(e.value, float)), mode, number, ("imm", bits_of(e.value))))
        else:
            out.append(("BKONST", d, self.constant(e, out), mode, number))
        return d

    def build_index(self, e: Expr, out: List[Step]) -> int:
        if isinstance(e, Arith) and e.op in ("//", "%") and not is_const(e):
            x = self.build(e.x, Type("index"), out)
            y = self.build(e.y, Type("index"), out)
            d = self.slot()
            op = "floordiv" if e.op == "//" else "mod"
            out.append(("BNODE", d, 0, 0, OPNUM[op] | TYPENUM["index"] << 16, pack([x, y])))
            return d
        terms, constants = terms_of(e)
        slots = [(self.build(x, Type("index"), out), NONE if k is None else self.constant(k, out)) for x, k in terms]
        c = NONE
        if constants:
            total: Expr = Lit(0)
            for sign, k in constants:
                total = Arith("+" if sign > 0 else "-", total, k)
            c = self.constant(total, out)
        d = self.slot()
        out.append(("BSUM", d, len(slots), c, *(s | k << 8 for s, k in slots)))
        return d


def pack(slots: List[int]) -> int:
    s = (slots + [NONE] * 3)[:3]
    return s[0] | s[1] << 8 | s[2] << 16


def compile_rule(rule: Rule, row: int) -> List[Program]:
    """All variants (operand orders) of a rule. row: of the target's instruction table, for select rules."""
    if isinstance(rule.left, (Var, Lit)) or is_const(rule.left):
        raise PatternError(rule.where, "the left side is no operation")
    nodes = swappable(rule.left)
    if 2 ** len(nodes) > MAX_VARIANTS:
        raise PatternError(rule.where, f"{2 ** len(nodes)} orders of operands to try, {MAX_VARIANTS} at most")
    out = []
    for choice in itertools.product((False, True), repeat=len(nodes)):
        c = Compiler(rule, rule.kind in ("llvm", "intr"))
        c.match(rule.left, 0, {id(x): s for x, s in zip(nodes, choice)}, Type("index") if is_index(rule.left) else None)
        for cond in parts(rule.when):
            c.condition(cond)
        build: List[Step] = []
        if isinstance(rule.right, str):
            for v in operands_of(rule):
                if v.kind == "const":
                    c.fail(f"{v} is a constant and no operand of a tile; write a value variable or the number")
            if len(c.order) > 3:
                c.fail(f"a tile has three operands at most; {', '.join(map(str, c.order))} are {len(c.order)}")
            build.append(("BINSTR", len(c.order), 0, 0, row, pack([c.value[id(v)] for v in operands_of(rule)])))
        else:
            t = rule.left.result if isinstance(rule.left, Node) else Type("index")
            build.append(("BROOT", c.build(rule.right, t, build), 0, 0))
        out.append(Program(rule, root_op(rule.left) or "", c.steps, build))
    return out


def operands_of(rule: Rule) -> List[Var]:
    """A tile's operands: the variables of its left side in order of first appearance in the text, whatever order is matched."""
    out: List[Var] = []

    def walk(e: Expr) -> None:
        if isinstance(e, Var) and not any(e is v for v in out):
            out.append(e)
        for x in e.args if isinstance(e, Node) else (e.x, e.y) if isinstance(e, Arith) else ():
            walk(x)

    walk(rule.left)
    return out
