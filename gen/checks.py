"""What is refused before any table is made, each with `file:line: error:`: mixed strata, rules that are never reached, simplify
rules that do not shrink, lowerings that go round in a circle, and operations that nothing selects."""
from __future__ import annotations

from typing import Dict, List, Set, Tuple

from gen import ops
from gen.lang import Arith, Expr, Guard, Lit, Node, Not, PatternError, Rule, Var, parts
from gen.compile import is_const, is_index
from gen.load import RuleSet, walk

Key = Tuple[str, Tuple[str, ...], Tuple[str, ...]]  # operation, types, flags


def check(index: RuleSet, targets: List[RuleSet]) -> List[str]:
    """All faults of all rules, in order; the first fault of a rule only."""
    faults: List[str] = []
    for s in [index, *targets]:
        for stratum, rules in s.strata.items():
            for n, rule in enumerate(rules):
                try:
                    check_stratum(rule, stratum)
                    check_reached(rule, rules[:n], stratum)
                    if stratum == "simplify":
                        check_shrinks(rule)
                except PatternError as e:
                    faults.append(str(e))
        if s is not index:
            try:
                check_acyclic(s.strata["lower"])
                check_complete(s)
            except PatternError as e:
                faults.append(str(e))
    return list(dict.fromkeys(faults))


def check_stratum(r: Rule, stratum: str) -> None:
    index_root = is_index(r.left) or (isinstance(r.left, Node) and r.left.types[0].name == "index")
    if index_root != (stratum == "index"):
        raise PatternError(r.where, f"{r.left}: an {'index' if index_root else 'element'} rule in the {stratum} stratum")
    if stratum != "index":
        for e in walk(r.left):
            if isinstance(e, Arith) and not is_const(e):
                raise PatternError(r.where, f"{e}: an index pattern under an operation on elements; index rules hold in every pass")
    if (stratum == "select") != (r.kind != "rewrite"):
        raise PatternError(r.where, f"{r.kind}(..) does not belong to the {stratum} stratum")


# --- never reached ----------------------------------------------------------------------------------------------------------------
def covers(p: Expr, t: Expr, bound: Dict[int, Expr], any_lanes: bool) -> bool:
    """Pattern p matches every term that pattern t matches."""
    if isinstance(p, Var):
        if p.kind == "const" and not is_const(t):
            return False
        if p.kind == "rest" and not (isinstance(t, Var) and t.kind == "rest"):
            return False
        if id(p) in bound:
            return str(bound[id(p)]) == str(t)
        bound[id(p)] = t
        return True
    if isinstance(p, Lit):
        return isinstance(t, Lit) and str(p) == str(t)
    if isinstance(p, Arith):
        return isinstance(t, Arith) and p.op == t.op and covers(p.x, t.x, bound, any_lanes) and covers(p.y, t.y, bound, any_lanes)
    if not (isinstance(p, Node) and isinstance(t, Node)) or p.op is not t.op or not set(p.flags) <= set(t.flags):
        return False
    for x, y in zip(p.types, t.types):
        if not set(y.members) <= set(x.members) or (x.lanes != y.lanes and not any_lanes):
            return False
    orders = [t.args] if "comm" not in p.op.props.split() else [t.args, (t.args[1], t.args[0])]
    for args in orders:
        trial = dict(bound)
        if all(covers(x, y, trial, any_lanes) for x, y in zip(p.args, args)):
            bound.update(trial)
            return True
    return False


def check_reached(r: Rule, earlier: List[Rule], stratum: str) -> None:
    conditions = {str(c) for c in parts(r.when)}
    for e in earlier:
        bound: Dict[int, Expr] = {}
        if not covers(e.left, r.left, bound, e.kind in ("llvm", "intr")):
            continue
        renamed = {str(c) for c in parts(e.when)}
        if all(str(k) == n for k, n in ((bound[id(v)], v.name) for v in walk(e.left) if isinstance(v, Var) and id(v) in bound)) \
                and renamed <= conditions or e.when is None:
            raise PatternError(r.where, f"never reached: {e.name} matches every term it matches, for example {witness(r.left)}")


def witness(e: Expr) -> str:
    """A term that e matches: classes as their first type, constants as small numbers."""
    if isinstance(e, Node):
        names = [e.op.name, *(f"{t.members[0]}x{t.lanes}" if t.lanes > 1 else t.members[0] for t in e.types), *e.flags]
        return f"{'.'.join(names)}({', '.join(map(witness, e.args))})"
    if isinstance(e, Arith):
        return f"({witness(e.x)} {e.op} {witness(e.y)})"
    if isinstance(e, Var) and e.kind == "const":
        return {"k": "4", "m": "8", "p": "2", "q": "3"}[e.name]
    return str(e)


# --- termination ------------------------------------------------------------------------------------------------------------------
def size(e: Expr) -> Tuple[int, int, int, int]:
    """Nodes, uses of variables, sum of ranks, size of constants."""
    inside = walk(e)
    uses = [a for x in inside for a in (x.args if isinstance(x, Node) else (x.x, x.y) if isinstance(x, Arith) else ())] + [e]
    literals = [x.value for x in inside if isinstance(x, Lit)]
    constants = sum(int(abs(v)) for v in literals if v == v and abs(v) != float("inf"))
    return (sum(not isinstance(x, Var) for x in inside), sum(isinstance(x, Var) for x in uses),
            sum(x.op.rank for x in inside if isinstance(x, Node)), constants)


def check_shrinks(r: Rule) -> None:
    assert isinstance(r.right, Expr)
    left, right = size(r.left), size(r.right)
    if right >= left:
        raise PatternError(r.where, f"does not shrink: (nodes, variable uses, rank, constants) go from {left} to {right}")


def keys(n: Node) -> Set[Key]:
    out: Set[Key] = set()
    first = n.types[0]
    for m in first.members:
        types = tuple(m if t.name == first.name else t.name for t in n.types)
        out |= {(n.op.name, tuple(ts), n.flags) for ts in expand(types)}
    return out


def expand(types: Tuple[str, ...]) -> List[Tuple[str, ...]]:
    out: List[Tuple[str, ...]] = [()]
    for t in types:
        out = [o + (m,) for o in out for m in ops.CLASSES.get(t, [t])]
    return out


def edges_of(r: Rule) -> List[Tuple[Key, Set[Key]]]:
    """For each instance of a rule: the root's key and the keys its right side makes."""
    assert isinstance(r.left, Node) and isinstance(r.right, Expr)
    names = sorted({t.name for e in walk(r.left) if isinstance(e, Node) for t in e.types if t.is_class})
    out = []
    for choice in expand(tuple(names)):
        bind = dict(zip(names, choice))
        key = lambda n: (n.op.name, tuple(bind.get(t.name, t.name) for t in n.types), n.flags)
        inner = {id(e) for e in walk(r.left)}
        made = {key(e) for e in walk(r.right) if isinstance(e, Node) and id(e) not in inner}
        out.append((key(r.left), made))
    return out


def excluded(r: Rule) -> Set[str]:
    """Flags whose absence the rule's condition asks for."""
    return {c.x.name for c in parts(r.when) if isinstance(c, Not) and isinstance(c.x, Guard)}


def check_acyclic(rules: List[Rule]) -> None:
    """No way of firing leads from an operation back to itself. A rule that names no flag matches flagged nodes, too."""
    by_op: Dict[Tuple[str, Tuple[str, ...]], List[Tuple[Key, Rule, Set[Key]]]] = {}
    for r in rules:
        for root, made in edges_of(r):
            by_op.setdefault(root[:2], []).append((root, r, made))
    state: Dict[Key, int] = {}

    def visit(k: Key, path: List[Key]) -> None:
        state[k] = 1
        for root, r, made in by_op.get(k[:2], []):
            if not set(root[2]) <= set(k[2]) or excluded(r) & set(k[2]):
                continue
            for m in sorted(made):
                if state.get(m) == 1:
                    circle = " -> ".join(show(x) for x in [*(path[path.index(m):] if m in path else []), k, m])
                    raise PatternError(r.where, f"lowering goes round in a circle: {circle}")
                if m not in state:
                    visit(m, path + [k])
        state[k] = 2

    for entries in by_op.values():
        for k, _, _ in entries:
            if k not in state:
                visit(k, [])


def show(k: Key) -> str:
    return ".".join([k[0], *k[1], *k[2]])


# --- selection is complete -----------------------------------------------------------------------------------------------------------
def general(r: Rule) -> bool:
    """Matches every node of its operation at its types: plain distinct variables, at most a condition on `approx`."""
    assert isinstance(r.left, Node)
    return all(isinstance(a, Var) and a.kind in ("value", "index") for a in r.left.args) and len({id(a) for a in r.left.args}) == len(r.left.args)


def check_complete(s: RuleSet) -> None:
    lower: Dict[Key, List[Tuple[Rule, Set[Key]]]] = {}
    for r in s.strata["lower"]:
        for root, made in edges_of(r):
            lower.setdefault(root, []).append((r, made))
    tiles: Set[Key] = set()
    for r in s.strata["select"]:
        if isinstance(r.left, Node) and general(r) and r.when is None:
            tiles |= keys(r.left) if len(r.left.types) == 1 else {(r.left.op.name, ts, r.left.flags) for ts in expand(tuple(t.name for t in r.left.types))}
    seen: Set[Key] = set()

    def reach(k: Key, why: str) -> None:
        if k in seen:
            return
        seen.add(k)
        done = False
        for r, made in lower.get(k, []):
            for m in made:
                reach(m, f"{r.name} lowers {show(k)} to it")
            if general(r) and (r.when is None or excluded(r) == {str(r.when)[1:]} and not k[2]):
                done = True
                break
        if not done and k not in tiles and (k[0], k[1], ()) not in tiles and not (k[0] == "idx"):
            raise PatternError((f"patterns/{s.name}.py", 0), f"selection is incomplete: no INSTR rule takes {show(k)} ({why})")

    for k in sources():
        reach(k, "HLO has it")


def sources() -> List[Key]:
    """Every operation on elements that HLO can ask for, at every type that is computed with."""
    out: List[Key] = []
    for o in ops.OPS:
        if o.hlo is None and o.sig != "compare":
            continue
        for t in ops.COMPUTE:
            cls = ops.TYPE_BY_NAME[t].cls
            if cls not in o.classes:
                continue
            if o.sig != "convert":
                out.append((o.name, (t,), ()))
                continue
            for f in ops.COMPUTE:
                same_width = ops.TYPE_BY_NAME[t].bits == ops.TYPE_BY_NAME[f].bits and "pred" not in (t, f)
                if f != t and (o.name == "cvt" or same_width):
                    out.append((o.name, (t, f), ()))
    return out


