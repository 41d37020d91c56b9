"""The ledger: the result of each rule's proof, one line a rule, committed as patterns/ledger.txt and checked by every build.

A line is `KEY STATE  TEXT`. The key is a hash of what a rule means: both sides, the condition, the types of its classes, the meanings of
its operations, and for functions the budgets and the errors of instructions. A rule that is moved keeps its key; if the rule or the
meaning of its operations changes, it must be proved again.

    0c4e1b9a77d2 exhausted(w=1..8) proved(i16,i32,i64,u16,u32,u64)  add.N(a, 0) -> a
"""
from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

from gen import asm_rule, load, ops, semantics
from gen.errors import FRACTION, Error, Table, forms_of
from gen.forms import is_fold, is_general
from gen.lang import Expr, Guard, Lit, Node, Not, Rule, Ulp, Var, Width, children, parts
from gen.load import RuleSet, walk

Errors = Dict[Tuple[str, str, bool], Error]  # by operation, type, approx
Budgets = Dict[Tuple[str, str], Tuple[float, float, float]]
Lines = Dict[str, Tuple[str, str]]  # key -> (state, text)
UNSIMULATED = "WARPBURG_UNSIMULATED"  # set by `./dev rule` while it builds the program that simulates instruction rules: these need no line yet
ERROR_MARGIN = 0.03  # an error may exceed the ledger's by this share and this many units
HEAD = """# The state of each rule's proof: `./dev rule FILE:LINE` writes a rule's line, `./dev rule --all` all of them. The key is a hash of what the
# rule means. exhausted: every value (w: bits of integers; index: a box). proved: by z3. tested: so many corner values and random bits.
# error: the largest seen, of the budget; own: the same if the instructions round correctly. simulated: the instruction's PTX was run in the
# simulator on so many values. prover: a hash of the programs that proved them all, which `./dev rule --all` writes.
"""


def path() -> Path:
    return load.root / "patterns" / "ledger.txt"


def modes_of(rule: Rule) -> List[bool]:
    """Whether the matched nodes carry `approx`, as the rule says; both values if it does not say and the nodes are functions."""
    nodes = [e for e in load.walk(rule.left) if isinstance(e, Node)]
    if any("approx" in n.flags for n in nodes):
        return [True]
    for c in parts(rule.when):
        if isinstance(c, Not) and isinstance(c.x, Guard) and c.x.name == "approx":
            return [False]
        if isinstance(c, Guard) and c.name == "approx":
            return [True]
    return [False, True] if any("costly" in n.op.props and ops.TYPE_BY_NAME[m].cls == "F" for n in nodes for m in n.types[0].members) else [False]


# --- errors of instructions and budgets ---------------------------------------------------------------------------------
def errors_of(targets: Sequence[load.RuleSet]) -> Errors:
    """For each function, the stated error of the instruction that computes it, the largest over targets; else its budget. Under approx the
    looser budget applies only if there is a lowering or an instruction with that flag. gen/errors.py says what counts of forms."""
    lowered = {(r.left.op.name, t, approx) for s in targets for r in s.phases.get("lower", []) if isinstance(r.left, Node) and is_general(r.left)
               for t in r.left.types[0].members for approx in modes_of(r)}
    stated: Errors = {}
    forms: Dict[Tuple[str, str, bool], List[Tuple[Node, Error]]] = {}
    own = set(lowered)
    for r in (r for s in targets for r in s.phases.get("lower", []) if r.err is not None and isinstance(r.left, Node)):  # one form: check_phase says so
        for t in r.left.types[0].members:  # type: ignore[attr-defined]
            for approx in modes_of(r):
                forms.setdefault((r.left.op.name, t, approx), []).append((r.left, (0.0, float(r.err), 0)))  # type: ignore[attr-defined, arg-type]
    for r in (r for s in targets for r in s.phases.get("isel", []) if isinstance(r.left, Node)):
        assert isinstance(r.left, Node)
        share, ulp = (0.0, 0.0) if r.err is None else (0.0, float(r.err)) if isinstance(r.err, Ulp) else (float(r.err), 0.0)
        for key in [(r.left.op.name, t, "approx" in r.left.flags) for t in r.left.types[0].members]:
            if r.err is not None and not is_general(r.left):
                forms.setdefault(key, []).append((r.left, (share, ulp, 0)))
                continue
            own.add(key)
            if r.err is not None and key not in lowered:
                was = stated.get(key, (0, 0, 0))
                stated[key] = (max(was[0], share), max(was[1], ulp), 0)
    out: Errors = {}
    for (op, t), (ulp, approx, absolute) in load.budgets().items():
        plain = out[op, t, False] = stated.get((op, t, False), (0, ulp, 0))
        loose = stated.get((op, t, True), (0, approx, 0))
        out[op, t, True] = (loose[0], loose[1], absolute) if (op, t, True) in own else plain
    return Table({**stated, **out}, forms)


def assumed(errors: Errors, rule: Rule, t: str, approx: bool) -> Optional[Tuple[float, float]]:
    """How far a lowering of a form may be off, in units and absolutely, which is what proofs assume of its operation; None: its budget alone counts."""
    if not isinstance(rule.left, Node) or is_general(rule.left) or t not in FRACTION:
        return None
    if rule.err is not None:
        return float(rule.err), 0
    share, ulp, absolute = errors.get((rule.left.op.name, t, approx), (0, 0, 0))
    return (ulp + share * 2**FRACTION[t], absolute) if share or ulp or absolute else None


# --- keys ---------------------------------------------------------------------------------------------------------------------------
def spelled(sides: Sequence[Any]) -> str:
    """Expressions as text in which a shared part is written once."""
    number: Dict[int, int] = {}
    out: List[str] = []

    def visit(e: Any) -> str:
        if isinstance(e, (Var, Width)):
            return str(e)
        if isinstance(e, Lit):
            return f"{type(e.value).__name__}:{e.value!r}"
        if id(e) not in number:
            inside = ",".join(visit(x) for x in children(e))
            head = e.name if isinstance(e, Node) else e.op
            number[id(e)] = len(number)
            out.append(f"{head}({inside})")
        return f"#{number[id(e)]}"

    return "; ".join([visit(s) if isinstance(s, Expr) else repr(s) for s in sides] + out)


def meanings(nodes: Sequence[Node], table: Budgets) -> List[str]:
    """The meanings of operations and the budgets of functions, as text."""
    out = set()
    for n in nodes:
        out.add(f"{n.op.name}:{sorted(semantics.MEANING.get(n.op.name, {}).items())}")
        for t in (m for t in n.types for m in t.members):
            if (n.op.name, t) in table:
                out.add(f"{n.op.name}.{t}:{table[n.op.name, t]}")
        if n.op.name == "cvt":
            out |= {repr(semantics.conversion(to, frm)) for to in n.types[0].members for frm in n.types[1].members
                    if to in semantics.NATIVE and frm in semantics.NATIVE}
    return sorted(out)


def key(rule: Rule, errors: Errors, table: Optional[Budgets] = None) -> str:
    """A rule's key. table: the budgets; pass them where many keys are made."""
    nodes = [e for side in (rule.left, rule.right) if isinstance(side, Expr) for e in walk(side) if isinstance(e, Node)]
    names = {t.name for n in nodes for t in n.types if t.is_class}
    of = {(n.op.name, m) for n in nodes for m in n.types[0].members}
    text = [rule.kind, spelled([rule.left, rule.right]), str(rule.when), repr(rule.err), *map(str, rule.immediates),
            *meanings(nodes, load.budgets() if table is None else table),
            *(f"{n}={ops.CLASSES[n]}" for n in sorted(names)),
            *sorted(f"{k}:{errors[k]}" for k in ((*x, approx) for x in of for approx in (False, True)) if k in errors),
            *sorted({f"{n.name} {k}:{v}" for n in nodes for k, v in forms_of(errors, n)})]
    return hashlib.sha256("\n".join(text).encode()).hexdigest()[:12]


# --- errors in states --------------------------------------------------------------------------------------------------------
def errors_in(state: str) -> Dict[bool, Tuple[float, float]]:
    """`error(0.81 of 1 ulp, own 0.51)` -> {False: (0.81, 0.51)}; an approx-error has the key True."""
    found = re.findall(r"(approx-)?error\(([0-9.e+-]+) of [0-9.e+-]+ ulp, own ([0-9.e+-]+)\)", state)
    return {bool(approx): (float(worst), float(own)) for approx, worst, own in found}


def exceeds(now: Tuple[float, float], stated: Tuple[float, float]) -> bool:
    """Whether an error grew by more than a different libm explains."""
    return any(x > y * (1 + ERROR_MARGIN) + ERROR_MARGIN for x, y in zip(now, stated))


# --- the file -----------------------------------------------------------------------------------------------------------------------
def read(file: Optional[Path] = None) -> Lines:
    file = file or path()
    out: Lines = {}
    for line in file.read_text().splitlines() if file.exists() else ():
        m = re.match(r"([0-9a-f]{12}) (.*?)  (.*)", line)
        if m:
            out[m.group(1)] = (m.group(2), m.group(3))
    return out


def prover_of(file: Optional[Path] = None) -> str:
    """The hash of the prover that proved every line; empty if none is named."""
    file = file or path()
    found = re.search(r"^# prover ([0-9a-f]{12})$", file.read_text(), re.M) if file.exists() else None
    return found.group(1) if found else ""


def write(lines: Lines, file: Optional[Path] = None, prover: str = "") -> bool:
    """True if the file changed. prover: of all these lines; without it the one that the file names stays there."""
    named = prover or prover_of(file)
    body = f"# prover {named}\n" if named else ""
    body += "".join(f"{k} {state}  {text}\n" for k, (state, text) in sorted(lines.items(), key=lambda x: (x[1][1], x[0])))
    file = file or path()
    if file.exists() and file.read_text() == HEAD + body:
        return False
    file.write_text(HEAD + body)
    return True


def kept(rules: Sequence[Rule], states: Dict[str, Tuple[str, str]], errors: Errors) -> Lines:
    """The lines of the ledger that belong to one of `rules`, updated with new states."""
    have = {key(r, errors) for r in {id(r): r for r in rules}.values()}  # targets share rules
    old = {k: v for k, v in read().items() if k in have}
    return {**old, **states}


# --- what the build checks ----------------------------------------------------------------------------------------------------------
def on_integers(rule: Rule) -> bool:
    """Whether a rule computes with integers and preds alone, one value at a time: no float, no memory, no other thread."""
    nodes = [e for e in walk(rule.left) if isinstance(e, Node)]
    effects = {"address", "convergent", "reads", "writes"} & {p for n in nodes for p in n.op.props.split()}
    return not effects and all(ops.TYPE_BY_NAME[m].cls in "PIU" for n in nodes for t in n.types for m in t.members)


def takes_integers(rule: Rule) -> bool:
    """Whether a variable of the left side is an integer or an index. However the rule computes, such values are single: samples miss them."""
    for e in walk(rule.left):
        if isinstance(e, Node) and any(isinstance(x, Var) and ops.TYPE_BY_NAME[m].cls in "IU" for n, x in enumerate(e.args) for m in operand_members(e, n)):
            return True
    if any(map(is_fold, walk(rule.left))):  # of which proofs write out the values
        return False
    return any(isinstance(e, Var) and e.kind in ("index", "rest") for e in walk(rule.left))


def operand_members(e: Node, n: int) -> Sequence[str]:
    """The types that operand n may have; none of an index."""
    t = e.operand_type(n)
    return () if t.name == "index" else t.members


def weak(rule: Rule, state: str) -> str:
    """Why a state is weaker than a rule of this kind needs; empty if it is strong enough."""
    if rule.kind != "rewrite":
        if not re.match(r"simulated\([1-9]|device\(", state):
            return "instruction rules must be simulated"
        proved = re.search(r"(proved|exhausted)\(", state) and not re.search(r"tested\(|failed|empty", state)
        permits = [c.name for c in parts(rule.when) if isinstance(c, Guard) and c.name in ops.PERMISSIONS]
        if permits and not asm_rule.meanings(rule):
            return f"a run shows nothing where {permits[0]} permits any result: its text needs a meaning in gen/asm_text.py"
        unknown = "and it has an instruction whose meaning gen/asm_text.py does not know"
        if not asm_rule.meanings(rule):
            integers = rule.kind == "asm" and on_integers(rule)
            what = "an asm text on integers" if integers else "an asm text with conditions or integers" if asm_rule.computes(rule) else ""
            return f"{what} must be proved, {unknown}" if what else ""
        if on_integers(rule) or takes_integers(rule):
            return "" if proved else "an asm text on integers must be proved: samples miss single values"
        return "" if re.search(r"(proved|exhausted|tested)\(", state) and not re.search("failed|empty", state) else "the term of its text must be proved"
    nodes = [e for side in (rule.left, rule.right) if isinstance(side, Expr) for e in walk(side) if isinstance(e, Node)]
    variables = [e for e in walk(rule.left) if isinstance(e, Var)]
    tested = re.search(r"tested\(([^:]*):", state)
    if "failed" in state or "empty" in state:
        return "its proof fails"
    if tested and takes_integers(rule):
        return ("a rule on integers must be proved, or run at every value (32 bits of operands at most), whatever it computes with; samples are no "
                "proof. Conditions that bound its numbers (within, k < 2**16), or two rules of one step each, help z3")
    if tested and len(variables) == 1 and {"f16", "bf16"} & set(tested.group(1).split(",")) and \
            all(ops.TYPE_BY_NAME[m].bits <= 16 for n in nodes if n is rule.left for t in n.types[-1:] for m in t.members if m in ("f16", "bf16")):
        return "a rule on one 16-bit float must be exhausted: it has 65,536 values"
    return ""


def check(sets: Sequence[RuleSet]) -> List[str]:
    """Returns faults, and stores each rule's state in the rule. A patterns folder without a ledger has no faults."""
    if not path().exists():
        return []
    lines, faults, errors, table = read(), [], errors_of(sets), load.budgets()
    done: Set[int] = set()
    for s in sets:
        for phase, rules in s.phases.items():
            for r in (r for r in rules if id(r) not in done):
                done.add(id(r))
                where = f"{r.where[0]}:{r.where[1]}"
                r.ledger = lines.get(key(r, errors, table), ("", ""))[0]
                if phase == "isel" and UNSIMULATED in os.environ:
                    continue
                if not r.ledger:
                    faults.append(f"{where}: error: not proved: run ./dev rule {where}")
                elif weak(r, r.ledger):
                    faults.append(f"{where}: error: only {r.ledger}: {weak(r, r.ledger)}")
    return list(dict.fromkeys(faults))
