"""Prices of PTX instructions: reads patterns/prices.tsv (what ptxas makes of each form) and patterns/sass.tsv (what each machine operation keeps busy), and
computes clocks by the rates of a target.

A machine operation of 32 threads takes an issue slot, and 128 / n clocks of each pipe of n lanes that it uses: a quarter of the SM's lanes serve a warp.

    patterns/prices.tsv    div.full.f32   sm_90   FMUL*4 FSETP*2 MUFU     alu*2 fma*2 xu   0
    patterns/sass.tsv      0x108   MUFU   xu   xu   1
    price on sm_90         issue 7, fma 4, alu 4, xu 8, latency 34
"""
from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from gen import load, rates, structs
from gen.expr import PatternError
from gen.load import RuleSet

UNITS = ("fma", "alu", "imad", "half", "f64", "xu", "lsu", "redux", "tensor", "uniform", "control")  # TgPipe of src/target/target.h
CLASSES = ("integer", "f16", "f32", "f64", "conversion", "special", "move", "load", "store", "atomic", "control", "barrier", "lanes")  # TgClass there
FILE, SASS = "patterns/prices.tsv", "patterns/sass.tsv"  # under load.root
WEIGHTS = {"alu": 4.0, "fma": 4.0, "half": 5.0, "f64": 8.0, "xu": 18.0, "tensor": 30.0, "branch": 14.0, "l1": 34.0, "atomic": 400.0, "cluster": 200.0}
HEAD = "form\ttargets\tsass\tchain\toff\n"
NAMES = [f"sm_{t[2:]}" for t in load.targets()]


@dataclass
class Price:
    ops: Dict[int, Fraction]  # machine operations, by key of patterns/sass.tsv
    path: List[str]  # kinds of latency on the longest chain from an operand to the result
    off: int  # machine instructions of slow paths, which are not counted


@dataclass(frozen=True)
class Operation:
    name: str
    units: Tuple[Tuple[str, str], ...]  # (unit, rate of its lanes)
    latency: str  # its kind: latency.NAME is a rate
    low: float  # as often as one operation of the unit
    high: float
    kind: str  # its class, by which statistics count


def rows(path: Path, columns: int) -> Iterator[Tuple[Tuple[str, int], List[str]]]:
    """Lines without the heading and comments, with file and line."""
    if not path.exists():
        return
    for n, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("#") or not line or n == 1:
            continue
        where, cells = (f"patterns/{path.name}", n), line.split("\t")
        if len(cells) != columns:
            raise PatternError(where, f"{columns} columns expected, {len(cells)} found")
        yield where, cells


def targets_of(where: Tuple[str, int], text: str) -> List[str]:
    names = NAMES if text == "all" else text.split()
    for n in names:
        if n not in NAMES:
            raise PatternError(where, f"no target is called {n!r}; there are {' '.join(NAMES)}")
    return names


@dataclass
class Sass:
    """patterns/sass.tsv."""

    by_target: Dict[str, Dict[int, Operation]] = field(default_factory=lambda: {n: {} for n in NAMES})
    names: Dict[str, int] = field(default_factory=dict)

    def named(self, name: str) -> int:
        return self.names[name]

    def of(self, target: str) -> Dict[int, Operation]:
        return self.by_target[target]

    def weight(self, kind: str) -> float:
        """To compare chains by, alike on every target."""
        return WEIGHTS.get(kind, 30.0)

    def text(self, p: Price, target: str) -> str:
        ops = " ".join(sorted(self.of(target)[k].name + (f"*{n}" if n != 1 else "") for k, n in p.ops.items()))
        chain = " ".join(k + (f"*{n}" if n > 1 else "") for k, n in sorted(Counter(p.path).items()))
        return f"{ops or '-'}\t{chain or '-'}\t{p.off}"


def load_sass(path: Optional[Path] = None) -> Sass:
    out, path = Sass(), path or load.root / SASS
    for where, (number, name, kind, units, latency, factor, targets, source) in rows(path, 8):
        if kind not in CLASSES:
            raise PatternError(where, f"no class is called {kind!r}; there are {' '.join(CLASSES)}")
        for unit in units.split() if units != "-" else []:
            if unit.split(":")[0] not in UNITS or f"pipe.{unit.split(':')[-1]}" not in rates.NAMES:
                raise PatternError(where, f"no pipe is called {unit!r}; there are {' '.join(UNITS)}, and :RATE for other lanes")
        if latency != "-" and f"latency.{latency}" not in rates.NAMES:
            raise PatternError(where, f"no rate is called latency.{latency}")
        if not source.strip():
            raise PatternError(where, "the source is missing")
        bounds = re.fullmatch(r"([\d.]+)(?:-([\d.]+))?", factor)
        if not bounds or not 0 < float(bounds.group(1)) <= float(bounds.group(2) or bounds.group(1)):
            raise PatternError(where, f"a factor, or low-high, is expected, {factor!r} found")
        key = int(number, 16)
        op = Operation(name, tuple((u.split(":")[0], u.split(":")[-1]) for u in units.split() if u != "-"), latency.replace("-", ""),
                       float(bounds.group(1)), float(bounds.group(2) or bounds.group(1)), kind)
        if out.names.setdefault(name, key) != key:
            raise PatternError(where, f"{name} is operation 0x{out.names[name]:03x} already")
        for t in targets_of(where, targets):
            if key in out.by_target[t]:
                raise PatternError(where, f"operation {number} is stated twice for {t}")
            out.by_target[t][key] = op
    return out


# --- patterns/prices.tsv --------------------------------------------------------------------------------------------------------------------
def counted(where: Tuple[str, int], text: str) -> List[Tuple[str, Fraction]]:
    out = []
    for word in text.split() if text != "-" else []:
        name, _, n = word.partition("*")
        if n and not re.fullmatch(r"\d+(/\d+)?", n) or n in ("0",):
            raise PatternError(where, f"NAME*COUNT is expected, {word!r} found")
        out.append((name, Fraction(n or 1)))
    return out


@dataclass
class Table:
    forms: Dict[str, Dict[str, Price]] = field(default_factory=dict)  # by form and target
    lines: Dict[Tuple[str, str], int] = field(default_factory=dict)
    version: str = ""  # of the ptxas that it was measured with

    def price(self, form: str, target: str) -> Optional[Price]:
        """That of the form, else of the one without a literal, as tg_price."""
        plain = form[:-len(" imm")] if form.endswith(" imm") else form
        return self.forms.get(form, {}).get(target) or self.forms.get(plain, {}).get(target)

    def line(self, form: str, target: str) -> int:
        return self.lines.get((form, target)) or min((n for (f, _), n in self.lines.items() if f == form), default=1)

    def put(self, target: str, found: Dict[str, Price]) -> None:
        """The prices of one target in place of those it had."""
        for f in {*self.forms, *found}:
            self.forms.setdefault(f, {}).pop(target, None)
            if f in found:
                self.forms[f][target] = found[f]

    def drop_plain_literals(self, sass: Sass) -> None:
        """A form with a literal that costs on a target what the form without costs needs no row. Nor does one that no target has."""
        for f, by in list(self.forms.items()):
            plain = self.forms.get(f[:-len(" imm")], {}) if f.endswith(" imm") else {}
            for t in [t for t in by if t in plain and sass.text(by[t], t) == sass.text(plain[t], t)]:
                del by[t]
            if not by:
                del self.forms[f]

    def text(self, sass: Sass) -> str:
        out = [HEAD, f"# ptxas {self.version}\n"]
        for f in sorted(self.forms):
            alike: Dict[str, List[str]] = {}
            for t in NAMES:
                if t in self.forms[f]:
                    alike.setdefault(sass.text(self.forms[f][t], t), []).append(t)
            out += [f"{f}\t{'all' if ts == NAMES else ' '.join(ts)}\t{text}\n" for text, ts in alike.items()]
        return "".join(out)


def load_table(sass: Sass, path: Optional[Path] = None) -> Table:
    out, path = Table(), path or load.root / FILE
    out.version = next((line.split()[-1] for line in path.read_text().splitlines() if line.startswith("# ptxas ")), "") if path.exists() else ""
    for where, (form, targets, ops, chain, off) in rows(path, 5):
        for name, _ in counted(where, ops):
            if name not in sass.names:
                raise PatternError(where, f"patterns/sass.tsv has no operation {name!r}")
        path_of = [kind for kind, n in counted(where, chain) for _ in range(int(n))]
        for kind in path_of:
            if f"latency.{kind}" not in rates.NAMES:
                raise PatternError(where, f"no rate is called latency.{kind}")
        if not off.isdigit():
            raise PatternError(where, f"a number of instructions is expected, {off!r} found")
        for t in targets_of(where, targets):
            if t in out.forms.setdefault(form, {}):
                raise PatternError(where, f"{form} has a price for {t} already, at line {out.lines[form, t]}")
            for name, _ in counted(where, ops):
                if sass.names[name] not in sass.by_target[t]:
                    raise PatternError(where, f"patterns/sass.tsv has no operation {name!r} of {t}: a row names its targets")
            out.forms[form][t] = Price({sass.names[name]: n for name, n in counted(where, ops)}, path_of, int(off))
            out.lines[form, t] = where[1]
    return out


@lru_cache(maxsize=4)
def _read(root: Path, stamps: Tuple[int, ...]) -> Tuple[Sass, Table]:
    sass = load_sass()
    return sass, load_table(sass)


def known() -> Tuple[Sass, Table]:
    """The files of the folder, read once for all who only ask."""
    return _read(load.root, tuple(p.stat().st_mtime_ns if p.exists() else 0 for p in (load.root / SASS, load.root / FILE)))


# --- clocks ----------------------------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Cost:
    issue: float
    cycles: Tuple[float, ...]  # of each unit
    low: float  # bounds of the busiest unit
    high: float
    latency: float
    off: int


def cost(p: Price, sass: Sass, s: RuleSet) -> Cost:
    """What a form costs on a target, in clocks of a sub-partition for a warp."""
    rate = {r.name: r for r in s.rates}
    clocks = {u: [0.0, 0.0, 0.0] for u in UNITS}  # low, value, high
    for key, n in p.ops.items():
        op = sass.of(s.values["name"])[key]
        for unit, lanes in op.units:
            r = rate[f"pipe.{lanes}"]
            for k, (share, by) in enumerate(((op.low, r.high), (math.sqrt(op.low * op.high), r.value), (op.high, r.low))):
                clocks[unit][k] += float(n) * share * 128 / by
    latency = sum(rate[f"latency.{k}"].value for k in p.path)
    return Cost(float(sum(p.ops.values())), tuple(clocks[u][1] for u in UNITS), max(c[0] for c in clocks.values()), max(c[2] for c in clocks.values()),
                latency, p.off)


def rounded(x: float) -> float: return float(f"{x:.6g}")


class Priced(NamedTuple):
    """What the instructions of a target cost."""

    forms: List[str]             # of instructions that have a price on some target, in order
    rows: List[structs.Values]   # of TgPrice, those alike once
    numbers: List[int]           # for each form the number of its row, from 1, or 0: the target has no price of it
    machine: List[structs.Values]  # of TgSassPrice: its machine operations


def of_target(s: RuleSet, table: Table, sass: Sass) -> Priced:
    if not s.rates:
        return Priced([], [], [], [])
    target, forms, numbers = s.values["name"], sorted(table.forms), []
    found: Dict[Tuple[Any, ...], int] = {}
    for f in forms:
        p = table.price(f, target)
        if p is None:
            numbers.append(0)
            continue
        c = cost(p, sass, s)
        row = (rounded(c.issue), tuple(map(rounded, c.cycles)), rounded(c.low), rounded(c.high), rounded(c.latency), c.off)
        numbers.append(found.setdefault(row, len(found) + 1))
    machine = []
    for key, op in sorted(sass.of(target).items()):
        c = cost(Price({key: Fraction(1)}, [], 0), sass, s)
        machine.append([key, structs.Named(f"TG_{op.kind.upper()}", CLASSES.index(op.kind)), tuple(map(rounded, c.cycles))])
    return Priced(forms, [list(row) for row in found], numbers, machine)
