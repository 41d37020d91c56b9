"""Checks of the rules before tables are made; each fault is a `file:line: error:`. Refused are: a rule of another phase; sides or
operands of different types; a rule that is never reached; an index or simplify rule that does not shrink; lowering rules in a circle; an
operation for which no instruction is selected.

    patterns/arith.py:31: error: never reached: patterns/arith.py:29 matches every term it matches, for example add.f16(a, 0.0)
"""
from __future__ import annotations

from functools import lru_cache
from typing import Callable, Dict, List, Optional, Set, Tuple

from gen import asm_rule, check_folds, compile as comp, cycles, hlo_ops, ledger, llvm_text, load, machine, ops, prices, reach, rows
from gen.expr import Arith, Expr, Guard, Lit, Node, Not, PatternError, Type, Var, children, parts
from gen.forms import is_const, is_general, is_index, is_number, literals_of, root_op
from gen.lang import Rule, Ulp
from gen.load import RuleSet, of_feature, walk
from gen.ways import is_choice

Key = Tuple[str, Tuple[str, ...], Tuple[str, ...]]  # operation, types, flags


def check(index: RuleSet, targets: List[RuleSet]) -> List[str]:
    """The faults of all rules in order, one for each rule."""
    faults = nowhere(targets) + rows.faults(targets)
    is_new = newness([index, *targets])
    # numbers of (what came before, the programs of a rule), which are the same where targets share lists
    series: Dict[Tuple[int, ...], int] = {}
    passed: Set[Tuple[int, int, int]] = set()  # of rules: what lower and simplify have, the earlier rules with its root, its programs
    typed: Set[Tuple[int, str]] = set()
    whole: Set[Tuple[int, ...]] = set()  # lists of rules of targets that can be lowered and selected
    for s in [index, *targets]:
        for phase, rules in s.phases.items():
            of = lambda r, s=s, phase=phase: comp.shared(s, phase, r)
            growing: List[Rule] = []
            normal = normal_form(index, s, phase)
            own = series.setdefault(tuple(id(r) for name in ("simplify", "lower") if phase in ("lower", "isel") for r in s.phases[name]), len(series))
            earlier: Dict[Optional[str], int] = {}
            before: Dict[Optional[str], List[Rule]] = {}  # rules that can be compiled, by the operation at the root
            for rule in rules:
                try:
                    same_root = before.setdefault(root_op(rule.left), [])
                    if (id(rule), phase) not in typed:
                        check_phase(rule, phase)
                        check_types(rule)
                        typed.add((id(rule), phase))
                    key = (own, earlier.get(root_op(rule.left), -1), id(of(rule)))
                    fresh = key not in passed
                    if fresh:
                        reach.check(rule, same_root, of, normal)
                    same_root.append(rule)
                    earlier[root_op(rule.left)] = series.setdefault(key[1:], len(series))
                    if fresh and phase == "simplify":
                        check_shrinks(rule)
                    why = cycles.growing(rule, same_root[:-1], of) if phase == "index" else ""
                    if why:
                        raise PatternError(rule.where, why)
                    passed.add(key)
                except PatternError as e:
                    faults.append(str(e))
                    growing.append(rule)
            if phase == "index" or (phase == "simplify" and growing):  # where every rule shrinks there is no circle
                circles = cycles.undoing([r for same_root in before.values() for r in same_root], of, growing, is_new)
                at = {c.split(" error:")[0] for c in circles} if phase == "index" else set()
                faults = [f for f in faults if not ("not shrink" in f and f.split(" error:")[0] in at)] + circles
        lists = s.lists()
        if s is not index and not faults and lists not in whole:
            try:
                check_acyclic(s.phases["lower"], is_new)
                check_complete(s)
                whole.add(lists)
            except PatternError as e:
                faults.append(str(e))
    return list(dict.fromkeys(faults or unknown_to_machine(targets)))


def nowhere(targets: List[RuleSet]) -> List[str]:
    """Rules that every target that joins them lacks the features for; of one target alone, rules that ask for what no target can be."""
    taken = {id(r) for s in targets for r in s.rules}
    both = lambda r: {str(c) for c in parts(r.when)} & {str(c.x) for c in parts(r.when) if isinstance(c, Not)}
    return [f"{r.where[0]}:{r.where[1]}: error: never reached: no target that joins it is as {r.when} asks" for s in targets for r in s.left_out
            if id(r) not in taken and (len(targets) > 1 or both(r))]


def unknown_to_machine(targets: List[RuleSet]) -> List[str]:
    """Instructions that a target does not have, as far as the folder has prices."""
    if not (load.root / prices.FILE).exists():
        return []
    table = prices.known()[1]
    return [f for s in targets for f in machine.faults(s, table)]


def normal_form(index: RuleSet, s: RuleSet, phase: str) -> reach.Normal:
    """What no term of this phase of a target holds."""
    of = lambda own, name: (name, reach.by_root(own.phases[name]), lambda r: comp.shared(own, name, r))
    out = reach.Normal()
    if phase == "index":
        out.below = [of(index, "index")]
        return out
    out.whole = [of(index, "index")]
    out.below = [of(s, "lower" if phase == "isel" else "arrays" if phase == "options" else phase)]  # a call of a library stays for those who disable a lowering
    if phase == "lower":
        out.before = [of(s, "simplify")]
        rewrites = [r for r in s.phases["lower"] if r.kind == "rewrite" and isinstance(r.left, Node) and isinstance(r.right, Expr)]  # others are refused
        out.made = reach.made_by((m[0], m[1]) for r in rewrites for _, made in edges_of(r) for m in made)
    return out


def newness(sets: List[RuleSet]) -> Callable[[Rule], bool]:
    """A function that says whether a rule has no ledger line yet. Of rules that undo each other the message names the newest."""
    known: Dict[str, object] = {}

    def is_new(r: Rule) -> bool:
        if not ledger.path().exists():
            return False
        if not known:
            known.update(lines=ledger.read(), errors=ledger.errors_of(sets[1:]))
        return ledger.key(r, known["errors"]) not in known["lines"]  # type: ignore[arg-type, operator]

    return is_new


def check_phase(r: Rule, phase: str) -> None:
    check_folds.check(r, phase)
    index_root = is_index(r.left) or (isinstance(r.left, Node) and r.left.types[0].name == "index")
    if index_root != (phase == "index"):
        raise PatternError(r.where, f"{r.left}: an {'index' if index_root else 'element'} rule in the {phase} phase")
    if phase != "index":
        for e in walk(r.left):
            if isinstance(e, Arith) and not is_const(e):
                raise PatternError(r.where, f"{e}: an index pattern under an operation on elements; index rules hold in every pass")
    if any(is_choice(e) for e in walk(r.left)) or (phase != "lower" and isinstance(r.right, Expr) and any(is_choice(e) for e in walk(r.right))):
        raise PatternError(r.where, "cheaper(..): two ways of computing a value are of the right side of a rule of LOWER: simplify would take one of them away")
    if (phase == "isel") != (r.kind != "rewrite"):
        raise PatternError(r.where, f"{r.kind}(..) does not belong to the {phase} phase")
    nearer = any(isinstance(c, Guard) and c.name == "nearer" for c in parts(r.when))
    if nearer and phase != "simplify":
        raise PatternError(r.where, "nearer: only of SIMPLIFY, whose functions may be off by their budgets; those that lowerings make are held to less")
    if r.kind == "rewrite" and r.err is not None and not (nearer and isinstance(r.err, Ulp)):
        if phase != "lower" or is_general(r.left) or not isinstance(r.err, Ulp):
            raise PatternError(r.where, "err= is for lowerings of one form of a function, in units: rewrite(div.f32.approx(a, sqrt.f32(b)), .., err=ulp(5)); "
                               "of a whole function BUDGETS in functions.py say it; of several functions when=approx & nearer in SIMPLIFY permits it")
    inexact = next((x for x in machine.opcodes(str(r.right)) if {"approx", "full"} & set(x.split("."))), None) if r.kind == "asm" else None
    if inexact and r.err is None:  # the simulator computes it exactly, and moves the result by the error that the rule states
        raise PatternError(r.where, f"{inexact} is not exact: state its error, err=rel(..) or err=ulp(..)")
    wrong = (asm_rule.careless(r) if r.kind == "asm" else "") or (llvm_text.fault(r) if phase == "isel" else "")
    if wrong:
        raise PatternError(r.where, wrong)


def type_of(e: Expr) -> Optional[Type]:
    """None for variables of element values and for literals, whose type is that of the operand position."""
    return e.result if isinstance(e, Node) else Type("index") if is_index(e) and not is_const(e) else None


def check_types(r: Rule) -> None:
    """Both sides have the same type, each operand has the type that its operation takes, each variable one type throughout."""
    var: Dict[int, Type] = {}

    def expect(e: Expr, want: Type, of: str) -> None:
        if isinstance(e, Var) and e.kind == "const" and want.name != "index" and all(ops.TYPE_BY_NAME[m].cls == "F" for m in want.members):
            raise PatternError(r.where, f"{e} matches integer constants, and {of} takes a float: write its value, 2.0, or a variable of values, a")
        if isinstance(e, Var) and e.kind == "value":
            was = var.setdefault(id(e), want)
            if str(was) != str(want):
                raise PatternError(r.where, f"{e} is {want} in {of} and {was} elsewhere")
        found = type_of(e)
        if found is not None and str(found) != str(want):
            raise PatternError(r.where, f"{e} is {found} where {of} takes {want}")

    sides = [s for s in (r.left, r.right) if isinstance(s, Expr)]
    for e in (x for s in sides for x in walk(s)):
        for n, a in enumerate(e.args if isinstance(e, Node) else ()):
            expect(a, e.operand_type(n), e.name)
        for a in (e.x, e.y) if isinstance(e, Arith) and not is_const(e) else ():
            expect(a, Type("index"), e.op)
    floats = any(ops.TYPE_BY_NAME[m].cls in "FC" for e in walk(r.left) if isinstance(e, Node) for t in e.types for m in t.members)
    for c in parts(r.when):
        asked = c.x if isinstance(c, Not) else c
        if isinstance(asked, Guard) and asked.name in ("nnan", "nsz", "contract") and not floats:
            raise PatternError(r.where, f"{c}: no operation on floats carries it in {r.left}")
    if len(sides) == 2:
        expect(sides[1], type_of(sides[0]) or Type("index"), "the left side")


# --- termination ------------------------------------------------------------------------------------------------------------------
NUMBER = Var("number", "value")


def folded(e: Expr, literal: Set[str]) -> Expr:
    """With one variable for each operation on numbers alone, and for what is computed of constants."""
    if not isinstance(e, Node):
        return NUMBER if isinstance(e, Arith) and is_const(e) else e
    args = [folded(x, literal) for x in e.args]
    made = e if all(x is y for x, y in zip(args, e.args)) else Node(e.op, e.types, e.flags, args)
    return NUMBER if is_number(e, literal) else made


def size(e: Expr) -> Tuple[int, int, int, int, int]:
    """What simplify rules decrease, in lexicographic order: ranks of functions, nodes, uses of variables, sum of ranks, sum of constants."""
    inside = walk(e)
    uses = [a for x in inside for a in children(x)] + [e]
    literals = [x.value for x in inside if isinstance(x, Lit)]
    constants = sum(int(abs(v)) for v in literals if v == v and abs(v) != float("inf"))
    functions = sum(x.op.rank for x in inside if isinstance(x, Node) and "costly" in x.op.props.split())
    return (functions, sum(not isinstance(x, Var) for x in inside), sum(isinstance(x, Var) for x in uses),
            sum(x.op.rank for x in inside if isinstance(x, Node)), constants)


def uses(e: Expr) -> Dict[str, int]:
    """How often each variable except constants is used; a shared part counts once."""
    inside = walk(e)
    out: Dict[str, int] = {}
    for x in [*(a for x in inside for a in children(x)), e]:
        if isinstance(x, Var) and x.kind != "const":
            out[str(x)] = out.get(str(x), 0) + 1
    return out


def check_shrinks(r: Rule) -> None:
    assert isinstance(r.right, Expr)
    literal = literals_of(r.when)
    made = folded(r.right, literal)
    left, right, uses_left, uses_right = size(folded(r.left, set())), size(made), uses(r.left), uses(made)
    if right >= left:
        raise PatternError(r.where, f"does not shrink: (rank of functions, nodes, variable uses, rank, constants) go from {left} to {right}")
    for v in (v for v in uses_right if v not in literal and v != str(NUMBER)):
        if uses_right[v] > uses_left.get(v, 0):  # the variable may stand for a term of any size
            raise PatternError(r.where, f"does not shrink: {v} is used {uses_left.get(v, 0)} times on the left, {uses_right[v]} on the right")


def expand(types: Tuple[str, ...]) -> List[Tuple[str, ...]]:
    out: List[Tuple[str, ...]] = [()]
    for t in types:
        out = [o + (m,) for o in out for m in ops.CLASSES.get(t, [t])]
    return out


@lru_cache(maxsize=None)
def edges_of(r: Rule) -> List[Tuple[Key, Set[Key]]]:
    """For each binding of a rule's type classes: the key of the root, and the keys of the nodes that its right side makes, numbers apart."""
    assert isinstance(r.left, Node) and isinstance(r.right, Expr)
    names = sorted({t.name for e in walk(r.left) if isinstance(e, Node) for t in e.types if t.is_class})
    numbers, out = literals_of(r.when), []
    for choice in expand(tuple(names)):
        bind = dict(zip(names, choice))
        key = lambda n: (n.op.name, tuple(bind.get(t.name, t.name) for t in n.types), n.flags)
        inner = {id(e) for e in walk(r.left)}
        made = {key(e) for e in walk(r.right) if isinstance(e, Node) and id(e) not in inner and not is_number(e, numbers)}
        out.append((key(r.left), made))
    return out


def excluded(r: Rule) -> Set[str]:
    """Flags that the rule's condition asks to be absent."""
    return {c.x.name for c in parts(r.when) if isinstance(c, Not) and isinstance(c.x, Guard)}


def inherit(made: Key, root: Key) -> Key:
    """The key with the flags that a made node has: those written in the rule and those that all matched nodes have."""
    return made[0], made[1], tuple(f for f in ops.FLAGS if f in made[2] or f in root[2])


def check_acyclic(rules: List[Rule], is_new: Callable[[Rule], bool]) -> None:
    """No sequence of lowerings leads from an operation back to itself. A rule that names no flag also matches flagged nodes."""
    by_op: Dict[Tuple[str, Tuple[str, ...]], List[Tuple[Key, Rule, Set[Key]]]] = {}
    for r in rules:
        for root, made in edges_of(r):
            by_op.setdefault(root[:2], []).append((root, r, made))
    state: Dict[Key, int] = {}

    def visit(k: Key, path: List[Tuple[Key, Rule]]) -> None:
        state[k] = 1
        for root, r, made in by_op.get(k[:2], []):
            if not set(root[2]) <= set(k[2]) or excluded(r) & set(k[2]):
                continue
            for m in sorted(inherit(x, k) for x in made):
                if state.get(m) == 1:
                    way = [*path, (k, r)]
                    way = way[next(i for i, (x, _) in enumerate(way) if x == m):]
                    circle = " -> ".join(f"{show(x)} ({by.name})" for x, by in way)
                    at = next((by for _, by in way if is_new(by)), r)
                    raise PatternError(at.where, f"lowering goes in a circle: {circle} -> {show(m)}")
                if m not in state:
                    visit(m, [*path, (k, r)])
        state[k] = 2

    for entries in by_op.values():
        for k, _, _ in entries:
            if k not in state:
                visit(k, [])


def show(k: Key) -> str:
    return ".".join([k[0], *k[1], *k[2]])


# --- isel is complete -----------------------------------------------------------------------------------------------------------
def check_complete(s: RuleSet) -> None:
    """Every operation of HLO (functions also under --approx) lowers to operations for which an unconditional instruction rule exists."""
    lower: Dict[Tuple[str, Tuple[str, ...]], List[Tuple[Rule, Key, Set[Key]]]] = {}
    for r in s.phases["lower"]:
        for root, made in edges_of(r):
            lower.setdefault(root[:2], []).append((r, root, made))
    tiles: Dict[Tuple[str, Tuple[str, ...]], List[Tuple[Rule, Set[str]]]] = {}
    for r in s.phases["isel"]:
        if isinstance(r.left, Node) and is_general(r.left):
            for types in expand(tuple(t.name for t in r.left.types)):
                tiles.setdefault((r.left.op.name, types), []).append((r, set(r.left.flags)))
    seen: Set[Key] = set()

    def always(r: Rule, flags: Set[str], k: Key) -> bool:
        """Whether r matches every node of key k."""
        asked = [c for c in parts(r.when) if not of_feature(c)]  # the target has the features of its rules: load.offered
        return is_general(r.left) and flags <= set(k[2]) and all(isinstance(c, Not) and isinstance(c.x, Guard) and c.x.name not in k[2] for c in asked)

    def reach(k: Key, why: str, where: Tuple[str, int]) -> None:
        if k in seen:
            return
        seen.add(k)
        for r, root, made in lower.get(k[:2], []):
            if not set(root[2]) <= set(k[2]) or excluded(r) & set(k[2]):
                continue
            for m in sorted(made):
                reach(inherit(m, k), f"{r.name} lowers {show(k)} to it", r.where)
            if always(r, set(root[2]), k):
                return
        if k[0] not in ("idx", "complex", "re", "im") and not any(always(r, flags, k) for r, flags in tiles.get(k[:2], [])):
            raise PatternError(where, f"selection is incomplete: no INSTR rule takes {show(k)} ({why})")

    for k in sources():
        reach(k, "HLO has it", (f"patterns/{s.name}.py", s.line_of_instr))
    for r in s.phases["simplify"]:
        for root, made in edges_of(r):
            for m in sorted(x for x in made if x[1][0] != "index" and x != root):
                reach(inherit(m, root), f"{r.name} makes it of {show(root)}", r.where)


def sources() -> List[Key]:
    """The keys of every operation on elements that HLO has, at every type that is computed with."""
    out: List[Key] = []
    for o in ops.OPS:
        if o.name not in hlo_ops.HLO_OF and o.sig != "compare":
            continue
        for t in ops.COMPUTE:
            cls = ops.TYPE_BY_NAME[t].cls
            if cls not in o.classes:
                continue
            if o.sig != "convert":
                out += [(o.name, (t,), flags) for flags in ([(), ("approx",)] if "costly" in o.props and cls == "F" else [()])]
                continue
            for f in ops.COMPUTE:
                same_width = o.name == "bits" and ops.TYPE_BY_NAME[t].bits == ops.TYPE_BY_NAME[f].bits and "pred" not in (t, f)
                if f != t and (o.name == "cvt" or same_width):
                    out.append((o.name, (t, f), ()))
    both = [(), ("approx",)]
    out += [(o.name, (t,), flags) for o in ops.OPS if "C" in o.classes and o.sig in ("same", "compare", "select") for t in ops.COMPLEX for flags in both]
    return out + [("modulus", (part, t), flags) for t, part in ops.COMPLEX.items() for flags in both]
