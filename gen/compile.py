"""Compiles a rule to match steps and build steps.

A rule becomes a list of match steps (tuples, so that encode.py can merge equal prefixes) and a list of build steps: one program for
each order of the root's operands that must be tried; a SWAP step tries both orders below the root. src/rewrite/match.c describes the
words that encode.py makes of the steps. v0 is the slot of the root; t0.. hold the types of the rule's classes, k0.. its constants.
"""
from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Dict, List, Optional

from gen import permits
from gen.expr import Arith, Expr, Guard, Lit, Node, PatternError, Step as Line, Total, Type, Var, parts
from gen.forms import is_const, is_index, operand_variables, root_op, swappable, terms_of
from gen.load import walk as inside
from gen.lang import Rule
from gen.load import RuleSet
from gen.slots import Slots
from gen.opcodes import FLAGBIT, NONE, OPNUM, TYPENUM, Program, Step, bits_of

MAX_VARIANTS = 64  # orders of commutative operands a rule may be tried in


@dataclass
class Compiler(Slots):
    """One variant of one rule, both sides."""

    choices: Dict[int, Node] = field(default_factory=dict)          # nodes below the root whose operands are tried in both orders, by id
    divisor: int = NONE                                             # k slot of the divisor of the sum that is matched next
    swapping: List[int] = field(default_factory=list)               # slots of the nodes of `choices`
    carried: Dict[int, int] = field(default_factory=dict)           # permissions of nodes of the right side, by id
    made: List[Optional[Line]] = field(default_factory=list)        # the step of a pattern file that makes each BNODE

    # --- left side -----------------------------------------------------------------------------------------------------
    def match(self, e: Expr, slot: int, swaps: Dict[int, bool], implied: Optional[Type]) -> None:
        """Steps that match the node in `slot` with e. implied: the type that the operand position already gives it."""
        if isinstance(e, Var):
            self.match_var(e, slot, implied)
        elif isinstance(e, Lit):
            self.check_literal(e, implied)
            self.steps.append(("LIT", slot, int(isinstance(e.value, float)), 0, ("imm", bits_of(e.value))))
        elif isinstance(e, Node):
            self.match_node(e, slot, swaps, implied)
        elif is_const(e):
            k = self.kslot()
            self.steps.append(("KONST", k, slot, 0))
            self.equate(e, k)
        elif isinstance(e, Arith) and e.op in ("//", "%"):
            y = self.slot()
            self.steps.append(("ANY", y, slot, 1))
            self.match(e.y, y, swaps, None)  # the divisor first: SPLIT and GROUP need its constant
            self.divisor = self.konst.get(id(e.y), NONE) if isinstance(e.y, Var) else NONE
            self.value[id(e)] = slot
            self.operand(e.x, None, slot, 0, swaps, Type("index"))
        elif isinstance(e, Arith):
            self.match_sum(e, slot, swaps)
        else:
            self.fail(f"{e} cannot be on a left side")

    def match_var(self, v: Var, slot: int, t: Optional[Type] = None) -> None:
        if v.kind == "const":
            k = self.kslot()
            self.steps.append(("KONST", k, slot, 0))
            self.equate(v, k)
        elif id(v) in self.value:
            self.steps.append(("SAME", slot, self.value[id(v)], 0))
        else:
            self.bind(v, slot)
            self.typed[id(v)] = t.name if t is not None else "index"

    def operand(self, e: Expr, of: Optional[Node], slot: int, k: int, swaps: Dict[int, bool], implied: Optional[Type],
                typed: bool = False) -> None:
        """Fetch operand k of slot and match it. of: the pattern's node whose operand it is; typed: check its type here."""
        name = root_op(e)
        s = self.slot()
        x = "X" if slot in self.swapping and k < 2 else ""
        self.steps.append(("OP" + x, s, slot, k, OPNUM[name]) if name else ("ANY" + x, s, slot, k))
        if typed and of is not None and of.types[-1].name != "index":
            self.check_type(of.types[-1], s)
        self.match(e, s, swaps, implied)

    def match_node(self, e: Node, slot: int, swaps: Dict[int, bool], implied: Optional[Type]) -> None:
        self.divisor = NONE
        self.value[id(e)] = slot
        self.typed[id(e)] = e.result.name
        if e.flags:
            self.steps.append(("FLAGS", slot, sum(FLAGBIT[f] for f in e.flags), 0))
        if e.op.sig not in ("compare", "test") and (implied is None or str(implied) != str(e.result)):
            self.check_type(e.result, slot)
        if isinstance(e, Total):
            self.match_total(e, slot, swaps)
            return
        if id(e) in self.choices:
            self.steps.append(("SWAP", slot, 0, 0))
            self.swapping.append(slot)
        places = list(range(e.op.arity))
        if swaps.get(id(e)):
            places[0], places[1] = 1, 0
        for n, (arg, place) in enumerate(zip(e.args, places)):
            self.operand(arg, e, slot, place, swaps, e.operand_type(n), n == 0 and e.op.sig in ("compare", "test", "convert", "product"))

    def match_total(self, e: Total, slot: int, swaps: Dict[int, bool]) -> None:
        if self.phase != "isel":
            self.fail(f"total(..): sums by their terms are matched in isel only; a {self.phase} rule matches one addition after the other")
        if any(s[0] in ("PICK", "REST", "ADDENDS") for s in self.steps):
            self.fail("only one sum of a pattern may be given by its terms")
        self.steps.append(("ADDENDS", slot, 0, 0))
        for t in e.terms:
            if isinstance(t, Node):
                s = self.slot()
                self.steps.append(("ADDEND", s, slot, OPNUM[t.op.name]))
                self.match(t, s, swaps, e.result)
        rest = next((t for t in e.terms if isinstance(t, Var)), None)
        r = NONE if rest is None else self.slot()
        self.steps.append(("ADDREST", r, slot, 0))
        if rest is not None:
            self.match_var(rest, r, e.result)

    def match_sum(self, e: Arith, slot: int, swaps: Dict[int, bool]) -> None:
        terms, constants = terms_of(e)
        rests = [t for t, k in terms if isinstance(t, Var) and t.kind == "rest"]
        terms = [(t, k) for t, k in terms if not (isinstance(t, Var) and t.kind == "rest")]
        if constants or len(rests) != 1 or not terms:
            self.fail("a sum pattern is one or more terms and `rest`; constants belong to the rest")
        if len(terms) == 1 and isinstance(terms[0][0], Var) and isinstance(terms[0][1], Var) and id(terms[0][1]) in self.konst:
            i, r = self.slot(), self.slot()
            guarded = [x for c in parts(self.rule.when) if isinstance(c, Guard) for x in c.args]
            asked = [*inside(self.rule.right), *guarded] if isinstance(self.rule.right, Expr) else []
            self.steps.append(("SPLIT", i, slot, self.konst[id(terms[0][1])], r, int(not any(x is terms[0][0] for x in asked))))
            self.match_var(terms[0][0], i)
            self.match_var(rests[0], r)
            return
        if len(terms) == 1 and isinstance(terms[0][0], Var) and id(terms[0][0]) not in self.value and isinstance(terms[0][1], Var):
            i, r = self.slot(), self.slot()
            self.bind(terms[0][1], self.kslot())
            self.steps.append(("GROUP", i, slot, self.konst[id(terms[0][1])], r | self.divisor << 8))
            self.match_var(terms[0][0], i)
            self.match_var(rests[0], r)
            return
        # pick terms with an unbound or bound coefficient first; those with a computed one once its constants are bound
        if any(s[0] in ("PICK", "REST") for s in self.steps):
            self.fail(f"{e}: only one sum of a pattern may pick terms")
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

    def pick(self, e: Expr, k: Optional[Expr], slot: int, swaps: Dict[int, bool]) -> None:
        if id(e) in self.value and isinstance(e, Var):
            self.steps.append(("PICKV", self.value[id(e)], slot, self.constant(k if k is not None else Lit(1), self.steps)))
            return
        s = self.slot()
        op = OPNUM[root_op(e) or ""] << 8 if root_op(e) else 0
        if isinstance(k, Var) and id(k) not in self.konst:
            self.bind(k, self.kslot())
            self.steps.append(("PICK", s, slot, self.konst[id(k)], op))
        else:
            self.steps.append(("PICK", s, slot, self.constant(k if k is not None else Lit(1), self.steps), 1 | op))
        self.match(e, s, swaps, Type("index"))

    # --- right side ----------------------------------------------------------------------------------------------------------
    def build(self, e: Expr, t: Optional[Type], out: List[Step]) -> int:
        """Slot that holds e on the right side. t: the type of its operand position."""
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
            mode |= self.carried.get(id(e), 0)  # permissions have the bits above the mode's
            self.made.append(e.step)
            out.append(("BNODE", d, flags, mode, OPNUM[e.op.name] | number << 16, pack(args)))
            return d
        return self.build_index(e, out)

    def tile(self, row: int, out: List[Step]) -> None:
        """An instruction, its operands and its immediates."""
        operands = operand_variables(self.rule.left)
        if len(operands) > 3:
            self.fail(f"an instruction has three operands at most; {', '.join(map(str, operands))} are {len(operands)}")
        slots = [self.value[id(v)] for v in operands]
        numbers = [self.constant(e, out) for e in self.rule.immediates]
        out.append(("BINSTR", len(slots), len(numbers), 0, row, pack(slots), pack(numbers)))

    def build_constant(self, e: Expr, t: Type, out: List[Step]) -> int:
        mode, number = self.type_code(t)
        if isinstance(e, Lit):
            self.check_literal(e, t)
            rest: Step = (int(isinstance(e.value, float)), mode, number, ("imm", bits_of(e.value)))
            same = next((x[1] for x in out if x[0] == "BLIT" and x[2:] == rest), None)
            if same is not None:  # one value for equal literals
                return same
        d = self.slot()
        if isinstance(e, Lit):
            out.append(("BLIT", d, *rest))
        else:
            out.append(("BKONST", d, self.constant(e, out), mode, number))
        return d

    def build_index(self, e: Expr, out: List[Step]) -> int:
        if isinstance(e, Arith) and e.op in ("//", "%") and not is_const(e):
            if not isinstance(e.y, Lit):  # the match fails where the divisor is not positive, as in all arithmetic of constants
                k = self.constant(e.y, out)
                self.arithmetic("//", k, k, out)
            x = self.build(e.x, Type("index"), out)
            y = self.build(e.y, Type("index"), out)
            d = self.slot()
            op = "floordiv" if e.op == "//" else "mod"
            self.made.append(None)
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


def compile_rule(rule: Rule, row: int, phase: str = "") -> List[Program]:
    """All variants of a rule, by operand order of the root. row: of the target's instruction table, for isel rules."""
    if isinstance(rule.left, (Var, Lit)) or is_const(rule.left):
        raise PatternError(rule.where, "the left side is no operation")
    phase = phase or ("isel" if isinstance(rule.right, str) else "index" if is_index(rule.left) else "lower")
    nodes = swappable(rule.left, rule.when)
    if 2 ** len(nodes) > MAX_VARIANTS:
        raise PatternError(rule.where, f"{2 ** len(nodes)} orders of operands to try, {MAX_VARIANTS} at most")
    out = []
    below = {id(n): n for n in nodes if n is not rule.left}
    for swap in (False, True) if any(n is rule.left for n in nodes) else (False,):  # at the root one program for each order: a FILTER can tell them apart
        c = Compiler(rule, phase, rule.kind in ("llvm", "intr"), choices=below)
        c.match(rule.left, 0, {id(rule.left): swap}, Type("index") if is_index(rule.left) else None)
        for cond in parts(rule.when):
            c.condition(cond)
        build: List[Step] = []
        if isinstance(rule.right, str):
            c.tile(row, build)
        else:
            t = rule.left.result if isinstance(rule.left, Node) else Type("index")
            c.carried = permits.carried(rule, phase)
            build.append(("BROOT", c.build(rule.right, t, build), 0, 0))
            rule.made = c.made
        out.append(Program(rule, root_op(rule.left) or "", c.steps, build, c.names, 2 ** len(nodes)))
    return out


def shared(s: RuleSet, phase: str, rule: Rule) -> List[Program]:
    """Programs of a rule of a set, an instruction rule's for row 0. Targets that share a rule share them."""
    if id(rule) not in s.programs:
        if phase not in rule.programs:
            rule.programs[phase] = compile_rule(rule, 0, phase)
        s.programs[id(rule)] = rule.programs[phase]
    return s.programs[id(rule)]


def programs(s: RuleSet, phase: str, rule: Rule) -> List[Program]:
    """The same, with rows."""
    made = shared(s, phase, rule)
    return [placed(p, s.row_of(rule)) for p in made] if phase == "isel" else made


def placed(p: Program, row: int) -> Program:
    """An instruction rule's program with its row of the target's instruction table."""
    return replace(p, build=[(*x[:4], row, *x[5:]) if x[0] == "BINSTR" else x for x in p.build])


def operands_of(rule: Rule) -> List[Var]:
    return operand_variables(rule.left)
