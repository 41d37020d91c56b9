"""The measured error of each lowering of a function, committed as patterns/measured.tsv; every build compares it with the budgets.

A function at a type has a list of lowerings, best first: the rewrites of LOWER whose left side it is, then the instructions and calls of
INSTR. A line of the file is about one lowering, with the rules that lower its right side (its *chain*). The line's key is a hash of the
ledger keys of all these rules: if one of them changes, the lowering must be measured again.

    exp.f16, first lowering: rewrite(exp[F16](a), cvt[F16].f32(exp2.f32.approx(..))) and the ex2.approx that this selects
    6c0f..  exp.f16  -  0.5078  2d2a  0.5081  65536  all  0  0  sm_80=6 sm_90=6  exp.F16(a) -> ..
"""
from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from gen import guards, hlo_ops, ledger, load, ops, structs
from gen.lang import Expr, Guard, Node, Not, Rule, Var, parts
from gen.load import RuleSet

COLUMNS = ("key", "function", "mode", "ulp", "at", "noise", "values", "how", "wrong", "wrong_at", "sass", "lowering")
Function = Tuple[str, str, bool]  # operation, type, under --approx
INNER = ("exp2", "log2", "hypot")  # functions besides those of HLO that are measured: formulas use them


@dataclass(frozen=True)
class Row:
    """A measured lowering. at: bits of the operands with the largest error. wrong: number of wrong nans, infinities and zeros."""

    key: str
    function: str  # "exp.f16"
    mode: str  # "approx", "-"
    ulp: float
    at: str
    noise: float  # the error with approximate instructions moved within the bounds of the PTX manual
    values: int
    how: str  # "all", "every 257", "drawn", "edges": see gen/proof/measure.py
    wrong: int
    wrong_at: str
    sass: str  # "sm_80=14 sm_90=13": machine instructions that usual operands execute, more than those of a kernel without a function
    lowering: str

    def line(self) -> str:
        values = (getattr(self, c) for c in COLUMNS)
        return "\t".join(f"{v:.4f}" if isinstance(v, float) else str(v) or "-" for v in values)


@dataclass(frozen=True)
class Lowering:
    """One entry of a function's list on one target."""

    op: str
    type: str
    approx: bool
    rule: Rule
    chain: Tuple[Rule, ...]  # the rule and those that lower its right side
    before: Tuple[Rule, ...]  # earlier rules of the list
    place: int  # index in the list
    set: RuleSet

    @property
    def function(self) -> str: return f"{self.op}.{self.type}"
    @property
    def mode(self) -> str: return "approx" if self.approx else "-"


# --- lists ------------------------------------------------------------------------------------------------------------------------
def is_function(rule: Rule) -> bool:
    """Whether the left side is one operation on distinct variables, and conditions are only on `approx`, and on the
    kernel, whatever of which holds. What a kernel has only without LLVM stands before libdevice in no list: other targets measure the same formula."""
    left = rule.left
    return isinstance(left, Node) and all(isinstance(a, Var) and a.kind == "value" for a in left.args) and \
        len({id(a) for a in left.args}) == len(left.args) and all(isinstance(flag_of(c), Guard) for c in parts(rule.when))


def flag_of(c: Any) -> Any:
    inside = c.x if isinstance(c, Not) else c
    usual = isinstance(inside, Guard) and inside.name != "no_llvm"
    return inside if usual and (inside.name == "approx" or guards.BY_NAME[inside.name].kind == "kernel") else None


def matches(rule: Rule, op: str, t: str, approx: bool) -> bool:
    left = rule.left
    assert isinstance(left, Node)
    if left.op.name != op or t not in left.types[0].members or left.types[0].lanes > 1 or set(left.flags) - ({"approx"} if approx else set()):
        return False
    return all(flag_of(c).name != "approx" or isinstance(c, Not) != approx for c in parts(rule.when))


def index_of(s: RuleSet) -> Dict[str, List[Rule]]:
    """Rules of functions by operation, in the order they are tried."""
    out: Dict[str, List[Rule]] = {}
    for phase in ("lower", "isel"):
        for r in s.phases.get(phase, []):
            if is_function(r):
                assert isinstance(r.left, Node)
                out.setdefault(r.left.op.name, []).append(r)
    return out


def bound(rule: Rule, t: str) -> Dict[str, str]:
    assert isinstance(rule.left, Node)
    return {rule.left.types[0].name: t} if rule.left.types[0].is_class else {}


@lru_cache(maxsize=None)
def operations(r: Rule) -> Tuple[Node, ...]:
    """The operations of the right side."""
    return tuple(n for n in load.walk(r.right) if isinstance(n, Node)) if isinstance(r.right, Expr) else ()


def chain_of(by_op: Dict[str, List[Rule]], functions: Any, rule: Rule, t: str, approx: bool) -> Tuple[Rule, ...]:
    """The rule, the first rule for each function of its right side, and so on down."""
    out: Dict[int, Rule] = {}
    waiting = [(rule, t, approx)]
    while waiting:
        r, at, flagged = waiting.pop()
        if id(r) in out:
            continue
        out[id(r)] = r
        binding = bound(r, at)
        for n in operations(r):
            to, flag = binding.get(n.types[0].name, n.types[0].name), flagged or "approx" in n.flags
            if (n.op.name, to) in functions or "approx" in n.flags:
                waiting += [(found, to, flag) for found in [x for x in by_op.get(n.op.name, []) if matches(x, n.op.name, to, flag)][:1]]
    return tuple(out.values())


def lowerings(s: RuleSet, budgets: Optional[Dict[Tuple[str, str], Any]] = None) -> Iterator[Lowering]:
    """The lowerings of every real function with a budget; under --approx only the first one and those that name the flag."""
    by_op, functions = index_of(s), load.budgets() if budgets is None else budgets
    for op, t in functions:
        if ops.TYPE_BY_NAME[t].cls != "F" or (op not in hlo_ops.HLO_OF and op not in INNER):
            continue
        for approx in (False, True):
            found = [r for r in by_op.get(op, []) if matches(r, op, t, approx)]
            for n, r in enumerate(found):
                assert isinstance(r.left, Node)
                if not approx or n == 0 or "approx" in r.left.flags:
                    yield Lowering(op, t, approx, r, chain_of(by_op, functions, r, t, approx), tuple(found[:n]), n, s)


def key(x: Lowering, keys: Dict[int, str]) -> str:
    """keys: ledger keys by id of a rule."""
    text = [x.function, x.mode, *sorted(keys[id(r)] for r in x.chain)]
    return hashlib.sha256("\n".join(text).encode()).hexdigest()[:12]


def keyed(sets: Sequence[RuleSet]) -> List[Tuple[str, Lowering]]:
    """Each lowering of each target with its key. Computed once for the same sets."""
    asked = [s for s in sets if s.values]
    if not (_kept and len(_kept[0]) == len(asked) and all(a is b for a, b in zip(_kept[0], asked))):
        _kept[:] = [asked, _keyed(asked)]
    return list(_kept[1])


_kept: List[Any] = []  # the sets asked for last, and their lowerings


def _keyed(sets: Sequence[RuleSet]) -> List[Tuple[str, Lowering]]:
    errors, table = ledger.errors_of(sets), load.budgets()
    found = [x for s in sets for x in lowerings(s, table)]
    keys = {id(r): ledger.key(r, errors, table) for r in {id(r): r for x in found for r in x.chain}.values()}
    return [(key(x, keys), x) for x in found]


# --- the file -----------------------------------------------------------------------------------------------------------------------
def path() -> Path:
    return load.root / "patterns" / "measured.tsv"


def read(file: Optional[Path] = None) -> Dict[str, Row]:
    out: Dict[str, Row] = {}
    file = file or path()
    for line in file.read_text(encoding="utf-8").splitlines()[1:] if file.exists() else ():
        w = line.split("\t")
        out[w[0]] = Row(w[0], w[1], w[2], float(w[3]), w[4], float(w[5]), int(w[6]), w[7], int(w[8]), w[9], w[10], w[11])
    return out


def write(rows: Dict[str, Row], file: Optional[Path] = None) -> bool:
    """True if the file changed."""
    text = "\t".join(COLUMNS) + "\n" + "".join(r.line() + "\n" for r in sorted(rows.values(), key=lambda r: (r.function, r.mode, r.lowering, r.key)))
    file = file or path()
    if file.exists() and file.read_text(encoding="utf-8") == text:
        return False
    file.write_text(text, encoding="utf-8")
    return True


# --- what the build checks ----------------------------------------------------------------------------------------------------------
def budget_of(x: Lowering, table: Dict[Tuple[str, str], Tuple[float, float, float]]) -> float:
    """The budget in units; at least the half unit of correct rounding."""
    plain, approx, _ = table[x.op, x.type]
    return max(0.5, approx if x.approx else plain)


def error_of(x: Lowering, row: Row) -> float:
    """The larger of both measured errors; for libdevice the error without noise, because NVIDIA tuned it to the instructions as they are."""
    return row.ulp if any(r.kind == "call" for r in x.chain) else max(row.ulp, row.noise)


def fault(x: Lowering, row: Row, table: Dict[Tuple[str, str], Tuple[float, float, float]]) -> str:
    """Why the lowering may not be in its list; empty if it may."""
    allowed = budget_of(x, table)
    name = f"{x.function}{' under --approx' if x.approx else ''}"
    if error_of(x, row) > allowed + 5e-4:
        return f"{name} is off by {error_of(x, row):g} ulp, as at {row.at}; its budget is {allowed:g}: {row.lowering}"
    allowed = load.xla_budgets()[x.op, x.type][0] if x.approx and (x.op, x.type) in load.marked_xla() else allowed
    if error_of(x, row) > max(0.5, allowed) + 5e-4:
        return f"{name} is off by {error_of(x, row):g} ulp, as at {row.at}; MARKED_XLA has it, and its budget at --accuracy xla is {allowed:g}: {row.lowering}"
    if row.wrong and not x.approx:
        return f"{name} gives a wrong nan, infinity or zero for {row.wrong} operands, the first {row.wrong_at}: {row.lowering}"
    return ""


def check(entries: Sequence[Tuple[str, Lowering]]) -> Tuple[List[str], List[str]]:
    """(faults: lowerings that exceed their budgets; notes: lowerings not measured since they changed, which ./dev test refuses). A patterns
    folder without measured.tsv has neither."""
    if not path().exists():
        return [], []
    rows, table, faults, lacking = read(), load.budgets(), [], []
    for k, x in entries:
        where = f"{x.rule.where[0]}:{x.rule.where[1]}"
        if k not in rows:
            lacking.append(f"{where}: note: {x.function} has not been measured since its rules changed: run ./dev rule {where}")
        elif fault(x, rows[k], table):
            faults.append(f"{where}: error: {fault(x, rows[k], table)}")
    return list(dict.fromkeys(faults)), list(dict.fromkeys(lacking))


def table_rows(s: RuleSet, entries: Sequence[Tuple[str, Lowering]]) -> List[structs.Values]:
    """The TgLowering rows of a target."""
    rows, number, out = read(), {id(r): n for n, r in enumerate(s.rules)}, []
    for k, x in entries:
        if x.set is not s or x.type in ops.SMALL_FLOATS:
            continue
        row = rows.get(k)
        sass = dict(w.split("=") for w in row.sass.split() if "=" in w).get(s.values["name"], "0") if row else "0"
        off = (round(row.ulp, 4), round(row.noise, 4)) if row else (-1, -1)
        out.append([structs.OP[x.op], structs.TYPE[x.type], x.approx, number[id(x.rule)], int(sass), *off])
    return out
