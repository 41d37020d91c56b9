"""Loads pattern files: runs them, reports faults of the language, gives each rule its text and its name.

    load_target("sm90").phases["isel"][0].name      "patterns/tiles.py:12[add.f32]"
"""
from __future__ import annotations

import importlib
import re
import sys
import traceback
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, Dict, List, Set, Tuple

from gen import lang, ops, rates
from gen.strategies import Strategy
from gen.lang import Expr, Guard, Node, Not, PatternError, Rule

PHASES = ("index", "arrays", "options", "simplify", "lower", "isel")
REWRITES = PHASES[:-1]  # whose rules are proved
root = Path(__file__).resolve().parent.parent  # the folder that `patterns` is in


@dataclass
class RuleSet:
    """One target's rules by phase, or the target-free index rules."""

    name: str
    phases: Dict[str, List[Rule]]
    packed: List[lang.Packed] = field(default_factory=list)
    free: List[lang.Free] = field(default_factory=list)
    tunes: List[lang.Tune] = field(default_factory=list)
    rates: List[rates.Rate] = field(default_factory=list)
    values: Dict[str, Any] = field(default_factory=dict)
    left_out: List[Rule] = field(default_factory=list)  # rules for what the target lacks
    line_of_instr: int = 0  # of the file's INSTR list; faults about a missing rule are reported there
    line_of_tune: int = 0  # the same of TUNE
    strategies: List[Strategy] = field(default_factory=list)
    target_where: Tuple[str, int] = ("?", 0)
    programs: Dict[int, Any] = field(default_factory=dict)  # id of a rule -> its programs; compile.programs fills this

    rows: Dict[int, int] = field(default_factory=dict)  # id of an instruction rule -> its row in the instruction table

    def row_of(self, rule: Rule) -> int:
        if not self.rows:
            self.rows.update({id(r): n for n, r in reversed(list(enumerate(self.phases["isel"])))})
        return self.rows[id(rule)]

    def lists(self) -> Tuple[int, ...]:
        """The same numbers for two targets that have the same rules in the same order."""
        return tuple(n for phase in PHASES for n in (*map(id, self.phases.get(phase, [])), 0))

    @property
    def rules(self) -> List[Rule]:
        return [r for s in PHASES for r in self.phases.get(s, [])]


def use(directory: Path) -> None:
    """Loads pattern files from directory/patterns from now on."""
    global root
    for name in [n for n in sys.modules if n == "patterns" or n.startswith("patterns.")]:
        del sys.modules[name]
    sys.path[:] = [str(directory), *(p for p in sys.path if p != str(root) or root.joinpath("gen").is_dir())]
    root = directory
    importlib.invalidate_caches()
    for cached in (budgets, xla_budgets, marked_xla):
        cached.cache_clear()


def run(name: str) -> ModuleType:
    """Import patterns/NAME.py; any fault in it becomes a PatternError with its line."""
    try:
        module = importlib.import_module(f"patterns.{name}")
    except PatternError:
        raise
    except SyntaxError as e:
        raise PatternError((f"patterns/{Path(e.filename or name).name}", e.lineno or 0), e.msg) from e
    except Exception as e:
        frames = [f for f in traceback.extract_tb(e.__traceback__) if lang.pattern_file(f.filename)]
        where = (f"patterns/{Path(frames[-1].filename).name}", frames[-1].lineno or 0) if frames else (f"patterns/{name}.py", 0)
        raise PatternError(where, f"{e}") from e
    check_variables(module, f"patterns/{name}.py")
    return module


def check_variables(module: ModuleType, file: str) -> None:
    """No pattern variable is rebound, except by `:=`, which names a value for one rule."""
    rules = [x for v in vars(module).values() if isinstance(v, list) for x in flat(v, file) if isinstance(x, Rule)]
    for n, v in lang.VARIABLES.items():
        now = getattr(module, n, v)
        if now is v:
            continue
        line = assignment_line(module, n)
        if line or not isinstance(now, Expr):
            raise PatternError((file, line), f"pattern variable {n} was rebound to {now if isinstance(now, Expr) else repr(now)}; "
                               "every later rule would use that")
        users = sorted({r.where for r in rules if any(e is now for side in (r.left, r.right) if isinstance(side, Expr) for e in walk(side))})
        if len(users) > 1:
            raise PatternError(users[1], f"{n} is {now} here, bound with := on line {users[0][1]}; use another name in one of them")


def assignment_line(module: ModuleType, name: str, last: bool = False) -> int:
    """The line where a module binds `name`: the first (or last) `for name in` or `name =` at the left margin or after a `;`."""
    lines = Path(module.__file__ or "").read_text().splitlines()
    found = [n for n, line in enumerate(lines, 1) if re.match(rf"for\s.*\b{name}\b.*\bin\b|(.*;\s*)?{name}\s*=[^=]", line)]
    return found[-1 if last else 0] if found else 0


def flat(items: Any, where: str) -> List[Any]:
    out: List[Any] = []
    for x in items:
        out += flat(x, where) if isinstance(x, (list, tuple)) else [x]
    return out


def identify(rules: List[Rule]) -> None:
    """Sets text and instance of each rule. Rules of the same line differ by the operation at their root, or by a number."""
    by_line: Dict[Tuple[str, int], List[Rule]] = {}
    for r in rules:
        if not r.text:  # targets share rules
            right = f"{r.kind} '{r.right}'" if isinstance(r.right, str) else text(r.right)
            right += "".join(f", %{letter} = {e}" for letter, e in zip("ijk", r.immediates))
            r.text = f"{r.left} -> {right}" + (f"  when {r.when}" if r.when is not None else "")
        by_line.setdefault(r.where, []).append(r)
    for same in by_line.values():
        if len(same) == 1:
            continue
        roots = [str(r.left).split("(")[0] if isinstance(r.left, Node) else str(r.left) for r in same]
        for n, r in enumerate(same):
            earlier = roots[:n].count(roots[n])
            r.instance = f"[{roots[n]}]" + (f"#{earlier + 1}" if earlier else "")


def line_of(module: ModuleType, name: str) -> int:
    """The line where a module has `name` from: its last assignment, or the import of another target's file that states it."""
    lines = Path(module.__file__ or "").read_text().splitlines()
    return assignment_line(module, name, last=True) or next((n for n, line in enumerate(lines, 1) if re.match(r"from patterns\.sm\d+ import", line)), 0)


def rules_of(module: ModuleType, name: str) -> List[Rule]:
    rules = flat(get(module, name), name)
    for r in rules:
        if not isinstance(r, Rule):
            raise PatternError((file_of(module), line_of(module, name)), f"{name} holds {r!r}, which is not a rule")
    return rules


def file_of(module: ModuleType) -> str:
    return f"patterns/{module.__name__.rsplit('.', 1)[1]}.py"


def get(module: ModuleType, name: str) -> Any:
    if not hasattr(module, name):
        raise PatternError((file_of(module), 1), f"{name} is missing")
    return getattr(module, name)


def load_index() -> RuleSet:
    s = RuleSet("index", {"index": rules_of(run("indexing"), "ALL")})
    if (root / "patterns/arrays.py").exists():  # folders of tests have none
        s.phases["arrays"] = rules_of(run("arrays"), "ALL")
        s.phases["options"] = rules_of(run("arrays"), "OPTIONS") if hasattr(run("arrays"), "OPTIONS") else []
    identify(s.rules)
    return s


def load_target(name: str) -> RuleSet:
    m = run(name)
    target = get(m, "TARGET")
    if not isinstance(target, lang.Target):
        raise PatternError((file_of(m), line_of(m, "TARGET")), f"TARGET is {target!r}; target('sm_{name[2:]}', ..) is expected")
    values = dict(target.values, name=target.name)
    features = values.get("features", ())
    lists = {"simplify": "SIMPLIFY", "lower": "LOWER", "isel": "INSTR"}
    every = {phase: rules_of(m, of) for phase, of in lists.items()}
    s = RuleSet(name, {phase: [r for r in rules if offered(r, features)] for phase, rules in every.items()},
                flat(getattr(m, "PACKED", []), "PACKED"), flat(getattr(m, "FREE", []), "FREE"), tunes_of(m, values),
                rates_of(m, features), values, [r for rules in every.values() for r in rules if not offered(r, features)],
                line_of(m, "INSTR"), line_of(m, "TUNE"), strategies_of(m), target.where)
    identify(s.rules)
    return s


def place_of(tune: str, target: str) -> str:
    """FILE:LINE of a number of a target, as --disable takes it. target: sm_90, or sm90."""
    path, line = next(t.where for t in load_target(target.replace("_", "")).tunes if t.name == tune)
    return f"{Path(path).name}:{line}"


def tunes_of(m: ModuleType, facts: Dict[str, Any]) -> List[lang.Tune]:
    """The rows of TUNE, each name once for a number of bits. facts: of TARGET."""
    seen: Dict[Tuple[str, int], lang.Tune] = {}
    for t in flat(getattr(m, "TUNE", []), "TUNE"):
        if not isinstance(t, lang.Tune):
            raise PatternError((file_of(m), line_of(m, "TUNE")), f"TUNE holds {t!r}, which is no tune(..)")
        first = seen.setdefault((t.name, t.bits), t)
        if first is not t:
            raise PatternError(t.where, f"tune('{t.name}', ..) is stated twice, first at {':'.join(map(str, first.where))}")
        if t.per and type(facts.get(t.per)) is not int:
            raise PatternError(t.where, f"tune('{t.name}', ..): per='{t.per}': a number of TARGET is expected")
    return [replace(t, value=t.value * facts[t.per], because=f"{t.because}, {facts[t.per]} {t.per}") if t.per else t for t in seen.values()]


def strategies_of(m: ModuleType) -> List[Strategy]:
    """The rows of STRATEGIES, in the order of trying; none where a file has no such list."""
    rows = flat(getattr(m, "STRATEGIES", []), "STRATEGIES")
    for r in rows:
        if not isinstance(r, Strategy):
            raise PatternError((file_of(m), line_of(m, "STRATEGIES")), f"STRATEGIES holds {r!r}, which is no strategy(..)")
    return rows


def rates_of(m: ModuleType, features: Any) -> List[rates.Rate]:
    """The rows of RATE; none where a file has no such list. Each name once, and all names that a target with these features needs."""
    if not hasattr(m, "RATE"):
        return []
    rows, line = flat(m.RATE, "RATE"), (file_of(m), line_of(m, "RATE"))
    seen: Dict[str, rates.Rate] = {}
    for r in rows:
        if not isinstance(r, rates.Rate):
            raise PatternError(line, f"RATE holds {r!r}, which is not a rate")
        if r.name in seen:
            raise PatternError(r.where, f"rate {r.name} is stated twice, first at {':'.join(map(str, seen[r.name].where))}")
        seen[r.name] = r
    for r in rates.surplus(rows, features):
        raise PatternError(r.where, f"rate {r.name}: the target does not have {rates.NAMES[r.name][2]!r} in features=")
    absent = rates.missing(rows, features)
    if absent:
        raise PatternError(line, f"RATE lacks {', '.join(absent)}")
    return sorted(rows, key=lambda r: list(rates.NAMES).index(r.name))


def of_feature(c: lang.Cond) -> bool:
    """Whether c is has(..) or ~has(..), which `offered` decides once for a target."""
    asked = c.x if isinstance(c, Not) else c
    return isinstance(asked, Guard) and asked.name == "has"


def offered(r: Rule, features: Any) -> bool:
    """The target has what the rule's has(..) conditions ask for."""
    return all((c.x.word not in features if isinstance(c, Not) else c.word in features) for c in lang.parts(r.when) if of_feature(c))


@lru_cache(maxsize=None)
def budgets() -> Dict[Tuple[str, str], Tuple[float, float, float]]:
    """(operation, type) -> (ulp, ulp under --approx, absolute under --approx); of two lines the later one holds. Types of 8 bits and below
    have the budgets of f16: their functions are computed in a wider type and rounded."""
    records = flat(run("functions").BUDGETS, "BUDGETS")
    table = {(op, t): (b.ulp, b.approx, b.approx_abs) for b in records for op in b.ops for t in b.types}
    table.update({(op, t): found for (op, of), found in list(table.items()) if of == "f16" for t in ops.SMALL_FLOATS})
    return table


@lru_cache(maxsize=None)
def xla_budgets() -> Dict[Tuple[str, str], Tuple[float, float]]:
    """The same for --accuracy xla: (ulp, absolute)."""
    records = flat(run("functions").BUDGETS, "BUDGETS")
    table = {(op, t): (b.xla, b.xla_abs) for b in records for op in b.ops for t in b.types}
    table.update({(op, t): found for (op, of), found in list(table.items()) if of == "f16" for t in ops.SMALL_FLOATS})
    return table


@lru_cache(maxsize=None)
def marked_xla() -> Set[Tuple[str, str]]:
    """The (operation, type) that MARKED_XLA names: --accuracy xla lowers them as --accuracy approx does. What holds for f16 holds for 8 bits."""
    out = {(op, t) for m in flat(run("functions").MARKED_XLA, "MARKED_XLA") for op in m.ops for t in m.types}
    return out | {(op, t) for op, of in out if of == "f16" for t in ops.SMALL_FLOATS}


def targets() -> List[str]:
    """Names of the GPU generations that have a pattern file, in order."""
    return sorted((p.stem for p in root.joinpath("patterns").glob("sm*.py") if p.stem[2:].isdigit()), key=lambda n: int(n[2:]))


def walk(e: Any) -> List[Expr]:
    """e and everything inside it; shared parts once."""
    out: Dict[int, Expr] = {}
    waiting = [e]
    while waiting:
        x = waiting.pop()
        if id(x) not in out:
            out[id(x)] = x
            waiting += lang.children(x)
    return list(out.values())


def text(e: Expr) -> str:
    """e on one line; of an expression of more than 60 parts, shared ones written out, the functions of pattern files that make it, in the order in
    which they compute, and its number of operations: <within, reduced, horner, low, power_of_two, scaled: 43 operations>"""
    if written(e, {}) <= 60:
        return str(e)
    names: Dict[str, None] = {}
    done: Set[int] = set()

    def visit(x: Expr) -> None:
        if id(x) not in done:
            done.add(id(x))
            for y in lang.children(x):
                visit(y)
            if isinstance(x, Node) and x.step:
                names.setdefault(x.step.name)

    visit(e)
    return f"<{', '.join(names)}{': ' if names else ''}{len(done)} operations>"


def written(e: Any, size: Dict[int, int]) -> int:
    """The number of parts of e when shared ones are written out each time."""
    if id(e) not in size:
        size[id(e)] = 1 + sum(written(x, size) for x in lang.children(e))
    return size[id(e)]


__all__ = ["RuleSet", "PHASES", "REWRITES", "budgets", "load_index", "load_target", "marked_xla", "targets", "text", "use", "walk", "xla_budgets"]
