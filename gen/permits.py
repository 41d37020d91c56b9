"""Which permissions (contract, nnan, nsz) the nodes that a rule makes carry, where all nodes that it matched carry them.

A permission is about values of the text, and the right side may have others: a quick way that is nan where a select takes the long one,
a zero whose sign becomes an infinity, a product whose rounding error the next line computes. So a made node carries

- nnan where a nan in it, or in one of its operands, is a nan of the root, and with that of the left side, or is an operand that the left
  side has, too;
- nsz where the sign of its zero can be seen in nothing but the sign of a zero of the root;
- in LOWER nothing below the root: the same node made for two places would be two nodes where one of them may carry less;
- contract in SIMPLIFY, and a product only in the place of a product: of others the left side permits no unrounded ones.

    mul[F](neg[F](a), b) -> neg[F](mul[F](a, b))       in SIMPLIFY: both carry nnan and nsz, the negation contract
    tanh.f32(a) -> .. select.f32(lt.f32(..), p, q)     in LOWER: the select carries nsz, what it chooses from nothing
"""
from __future__ import annotations

from typing import Dict, List, Optional, Set, Tuple

from gen import hlo_ops
from gen.expr import Expr, Guard, Node, Not, parts
from gen.lang import Rule
from gen.load import RuleSet, walk
from gen.ops import CLASSES, PERMISSIONS, TYPE_BY_NAME
from gen.opcodes import FLAGBIT

CONTRACT, NNAN, NSZ = (FLAGBIT[f] for f in ("contract", "nnan", "nsz"))
ALL = sum(FLAGBIT[f] for f in PERMISSIONS)
# of one type of floats: a nan operand makes the result nan; the sign of a zero operand changes nothing but the sign of a zero
STRICT = {"add", "sub", "mul", "div", "fma", "neg", "abs", "sqrt", "rsqrt", "max", "min", "exp", "log", "sin", "cos", "tan", "tanh"}
SIGN_ONLY = {"add", "sub", "mul", "fma", "neg", "abs", "sqrt", "max", "min", "sin", "tan", "tanh"}


def of_floats(e: Node) -> bool:
    """Whether all its types are floats of 16 bits and more: a conversion between them, or an operation on them."""
    return all(m in CLASSES["F"] for t in (*e.types, e.result) for m in t.members)


def carried(rule: Rule, phase: str) -> Dict[int, int]:
    """By id of a node of the right side the permissions that it carries; nodes that are not there carry none."""
    if phase not in ("simplify", "lower") or not isinstance(rule.right, Node):
        return {}
    left = {id(e) for e in walk(rule.left)}
    product = isinstance(rule.left, Node) and rule.left.op.name == "mul"
    out: Dict[int, int] = {}
    seen: Set[Tuple[int, int]] = set()  # terms share parts: without, the number of paths counts

    def visit(e: Expr, through: int, root: bool) -> None:
        """through: NNAN, NSZ of all nodes from the root down to this one."""
        if not isinstance(e, Node) or id(e) in left or (id(e), through) in seen:
            return
        seen.add((id(e), through))
        strict = of_floats(e) and (e.op.name in STRICT or e.op.name == "cvt")
        sign = of_floats(e) and (e.op.name in SIGN_ONLY or e.op.name == "cvt")
        mine = through
        if not strict and any(isinstance(x, Node) and id(x) not in left for x in e.args):
            mine &= ~NNAN
        if phase == "simplify" and (e.op.name != "mul" or (root and product)):
            mine |= CONTRACT
        out[id(e)] = out.get(id(e), ALL) & mine
        below = 0 if phase == "lower" else through & ((NNAN if strict else 0) | (NSZ if sign else 0))
        for x in e.args:
            visit(x, below, False)

    visit(rule.right, NNAN | NSZ, True)
    return out


def some_float(e: Node) -> bool:
    return any(TYPE_BY_NAME[m].cls == "F" for t in (*e.types, e.result) for m in t.members)


def asked(rule: Rule) -> List[str]:
    """Permissions without which the rule does not fire."""
    nodes = [e for e in walk(rule.left) if isinstance(e, Node)]
    said = {c.name for c in parts(rule.when) if isinstance(c, Guard) and not isinstance(c, Not)} | {f for n in nodes for f in n.flags}
    return [f for f in PERMISSIONS if f in said]


def asked_late(s: RuleSet) -> int:
    """Permissions that rules of LOWER and INSTR of a target ask for, nnan also as the fact that a value is no nan. Before LOWER a node loses the
    others: it would be another node than an equal one that a rule makes."""
    late = [r for phase in ("lower", "isel") for r in s.phases.get(phase, ())]
    facts = any(isinstance(c, Guard) and c.name == "never_nan" for r in late for c in parts(r.when))
    return sum({FLAGBIT[f] for r in late for f in asked(r)} | ({NNAN} if facts else set()))


def idle(sets: List[RuleSet], among: Optional[Set[int]] = None) -> List[str]:
    """Notes on rules that ask for a permission which a node they match never has: operations of HLO on floats have it, and what rules make
    that carry it. among: ids of the rules to look at; None: all."""
    of_text = {o.scalar for o in hlo_ops.OPS if o.kind == "element" and o.scalar} | {"eq", "ne", "lt", "le", "gt", "ge", "cvt", "min", "max"}
    phase_of = {id(r): phase for s in sets for phase, rules in s.phases.items() for r in rules}
    rules = {id(r): r for s in sets for rules in s.phases.values() for r in rules}
    wanted = [r for i, r in rules.items() if (among is None or i in among) and asked(r)]
    having: Dict[str, Set[str]] = {f: set(of_text) for f in PERMISSIONS}
    for r in rules.values() if wanted else ():
        masks = carried(r, phase_of[id(r)])
        for e in walk(r.right) if masks else ():
            for f in PERMISSIONS:
                if masks.get(id(e), 0) & FLAGBIT[f]:
                    having[f].add(e.op.name)
    out = []
    for r in wanted:
        without = [f"{e.name} with {f}" for e in walk(r.left) if isinstance(e, Node) for f in asked(r) if e.op.name not in having[f] or not some_float(e)]
        if phase_of[id(r)] in ("index", "arrays", "options"):
            without = [f"indices and folds with {asked(r)[0]}"]
        if without:
            out.append(f"{r.where[0]}:{r.where[1]}: note: never fires: no option, no HLO and no rule makes {without[0]}, only a text of the IR")
    return list(dict.fromkeys(out))
