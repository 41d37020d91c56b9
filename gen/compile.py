"""Rules to match tries and build programs.

Each rule becomes a list of match steps (tuples, so that equal prefixes merge), then ACCEPT; the rules of one root operation are
merged into an ordered trie: a step is shared only with the rule before, so the first rule of the list still wins. `encode` turns
tries and build programs into 32-bit words. src/rewrite/match.c describes the words and runs them.

Slots are numbered along a path: v0 is the root; t0.. are the classes a rule binds, k0.. its constants.
"""
from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Dict, List, Optional, Tuple

from gen import ops
from gen.lang import (All, Arith, Cond, Expr, Guard, Lit, Node, Not, PatternError, Relation, Rule, Type, Var, Width, parts)

OPNUM = {o.name: i for i, o in enumerate(ops.OPS)}
TYPENUM = {t.name: i for i, t in enumerate(ops.TYPES)}
FLAGBIT = {f: 1 << i for i, f in enumerate(ops.FLAGS)}
NONE = 0xFF
MAX_VARIANTS = 64  # orders of commutative operands a rule may be tried in

# Opcodes of the words; the C side has the same list in the same order (src/rewrite/code.def is written from it).
WORDS = ("TRY OP ANY TYPE CLASS TEQ FLAGS SAME LIT KONST SPLIT PICK REST "
         "KIMM KWIDTH KARITH CREL CWITHIN CMULTIPLE CFLAG ACCEPT "
         "BNODE BLIT BKONST BSUM BINSTR BROOT").split()
WORD = {name: i for i, name in enumerate(WORDS)}
ARITH = {"+": 0, "-": 1, "*": 2, "//": 3, "%": 4}
REL = {"==": 0, "!=": 1, "<": 2, "<=": 3, ">": 4, ">=": 5}

Step = Tuple  # (word, a, b, c, extra..): extras are ("imm", value) or numbers, one word each


def is_const(e: Expr) -> bool:
    """An expression over integer constants only."""
    if isinstance(e, Arith):
        return is_const(e.x) and is_const(e.y)
    return isinstance(e, (Lit, Width)) or (isinstance(e, Var) and e.kind == "const")


def is_index(e: Expr) -> bool:
    """An expression of type index."""
    return isinstance(e, Arith) or (isinstance(e, Var) and e.kind in ("index", "rest")) or (
        isinstance(e, Node) and e.op.sig != "compare" and e.types[0].name == "index")


def terms_of(e: Expr) -> Tuple[List[Tuple[Expr, Optional[Expr]]], List[Tuple[int, Expr]]]:
    """A + - * expression as terms (index expression, coefficient or None for 1) and signed constants."""
    if isinstance(e, Arith) and e.op in "+-":
        tx, cx = terms_of(e.x)
        ty, cy = terms_of(e.y)
        if e.op == "-":
            ty = [(t, Arith("*", Lit(-1), k) if k is not None else Lit(-1)) for t, k in ty]
            cy = [(-s, k) for s, k in cy]
        return tx + ty, cx + cy
    if is_const(e):
        return [], ([] if isinstance(e, Lit) and e.value == 0 else [(1, e)])
    if isinstance(e, Arith) and e.op == "*":
        if is_const(e.y):
            return [(e.x, e.y)], []
        if is_const(e.x):
            return [(e.y, e.x)], []
    return [(e, None)], []


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
    n_args: int = 0

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

    # --- left side -----------------------------------------------------------------------------------------------------
    def match(self, e: Expr, slot: int, swaps: Dict[int, bool], implied: Optional[Type]) -> None:
        """Steps that check that slot's node matches e. `implied`: the type that its place already gives it."""
        if isinstance(e, Var):
            self.match_var(e, slot)
        elif isinstance(e, Lit):
            v = e.value
            self.steps.append(("LIT", slot, int(isinstance(v, float)), 0, ("float" if isinstance(v, float) else "imm", v)))
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
        waiting = list(terms)
        while waiting:
            for t in waiting:
                if t[1] is None or isinstance(t[1], Var) or self.bound(t[1]):
                    break
            else:
                self.fail(f"no order of terms binds the coefficients of {e}")
            waiting.remove(t)
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
            out.append(("KIMM", d, 0, 0, ("imm", int(e.value))))
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
            kind = "float" if isinstance(e.value, float) else "imm"
            out.append(("BLIT", d, int(kind == "float"), mode, number, (kind, e.value)))
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


def root_op(e: Expr) -> Optional[str]:
    """The operation that a node matching e must have, if that is certain."""
    if isinstance(e, Node):
        return e.op.name
    if isinstance(e, Arith):
        return {"//": "floordiv", "%": "mod"}.get(e.op, "sum")
    return None


def swappable(e: Expr) -> List[Node]:
    """Commutative nodes whose operands must be tried in both orders: not where canonical order (constants right) or two fresh
    variables make the orders alike."""
    out: List[Node] = []
    seen: Dict[int, int] = {}

    def count(x: Expr) -> None:
        if isinstance(x, Var):
            seen[id(x)] = seen.get(id(x), 0) + 1
        for y in x.args if isinstance(x, Node) else (x.x, x.y) if isinstance(x, Arith) else ():
            count(y)

    def walk(x: Expr) -> None:
        if not isinstance(x, Node):
            return
        if "comm" in x.op.props.split():
            p, q = x.args
            fresh = isinstance(p, Var) and isinstance(q, Var) and seen[id(p)] == 1 and seen[id(q)] == 1 and p.kind == q.kind
            if not fresh and not is_const(q):
                out.append(x)
        for y in x.args:
            walk(y)

    count(e)
    walk(e)
    return out


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


# --- tries and words ----------------------------------------------------------------------------------------------------------
@dataclass
class Trie:
    children: List[Tuple[Step, "Trie"]] = field(default_factory=list)

    def insert(self, steps: List[Step], leaf: Step) -> None:
        """Behind everything that is there; shares steps with the rule just before."""
        node = self
        for s in [*steps, leaf]:
            if not node.children or node.children[-1][0] != s:
                node.children.append((s, Trie()))
            node = node.children[-1][1]


@dataclass
class Tables:
    """Code under construction; word 0 is never a program, so offset 0 means none."""

    code: List[int] = field(default_factory=lambda: [0])
    imm: List[int] = field(default_factory=list)
    tails: Dict[Tuple[Step, ...], int] = field(default_factory=dict)

    def immediate(self, kind: str, value: object) -> int:
        import struct
        bits = struct.unpack("<Q", struct.pack("<d", value))[0] if kind == "float" else int(value) & (1 << 64) - 1  # type: ignore[call-overload]
        if bits not in self.imm:
            self.imm.append(bits)
        return self.imm.index(bits)

    def put(self, s: Step) -> None:
        word, a, b, c = s[0], s[1], s[2], s[3]
        self.code.append(WORD[word] | a << 8 | b << 16 | c << 24)
        for x in s[4:]:
            self.code.append(self.immediate(*x) if isinstance(x, tuple) else x)

    def build(self, steps: List[Step]) -> int:
        """Offset of a build program; equal programs are stored once."""
        key = tuple(steps)
        if key not in self.tails:
            self.tails[key] = len(self.code)
            for s in steps:
                self.put(s)
        return self.tails[key]

    def trie(self, t: Trie) -> None:
        for n, (step, child) in enumerate(t.children):
            try_at = len(self.code) if n + 1 < len(t.children) else -1
            if try_at >= 0:
                self.code.append(0)
            self.put(step)
            self.trie(child)
            if try_at >= 0:
                self.code[try_at] = WORD["TRY"] | (len(self.code) - try_at) << 8

    def rules(self, programs: List[Program], first_rule: Dict[int, int]) -> Dict[str, int]:
        """Entry offset by root operation of one stratum's programs, in list order."""
        tries: Dict[str, Trie] = {}
        for p in programs:
            leaf = ("ACCEPT", 0, 0, 0, first_rule[id(p.rule)], self.build(p.build))
            tries.setdefault(p.root, Trie()).insert(p.steps, leaf)
        entry = {}
        for name in sorted(tries, key=lambda n: OPNUM[n]):
            entry[name] = len(self.code)
            self.trie(tries[name])
        return entry
