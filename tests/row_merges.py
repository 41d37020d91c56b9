#!/usr/bin/env python3
"""Rows that are read again in pieces: the results of pieces make those of the row, for all real numbers; what that rounds lies in the bounds.

    row_merges.py WARPBURG

The text that `hlo --row-pieces N` makes of sums of exp(x - c) and (x - c)^2 is read as formulas of a piece: its elements x are known by L, their
number, sum x, sum x^2 and sum exp(x), in which a reduction is linear; the piece's maximum, the row's maximum and the row's sum are any numbers.
z3 proves of each result of a row that what a piece adds to it is what the text says that its terms add, with exp(a) exp(b) = exp(a + b) and
L sum x^2 >= (sum x)^2 alone. The same text with one operation or constant changed is refused, with a counterexample; or proved, where only the
number changes that the terms are relative to, which may be any. Then the text of pieces is evaluated in f32 on rows that make it lose most; each
element must lie in the bounds of the text as it was. The largest part of the allowed error is printed. Ends with `N passed, M failed`.
"""
import argparse
import math
import os
import re
import struct
import sys
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from npy import read, write
from warpburg_cli import Cli

try:
    import z3
except ImportError:
    z3 = None

LEAST = 2.0 ** -126     # the least normal number: what is smaller may round to 0
REDUCERS = "".join(f"{n} {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] {n}(a, b)\n}}\n\n" for n in ("add", "maximum"))


def text_of(rows: int, n: int) -> str:
    """The sums of a row of n elements, relative to its maximum and to its mean."""
    x, r = f"f32[{rows},{n}]", f"f32[{rows}]"
    return f"""HloModule rows

{REDUCERS}ENTRY e {{
  x = {x} parameter(0)
  zero = f32[] constant(0)
  least = f32[] constant(-inf)
  m = {r} reduce(x, least), dimensions={{1}}, to_apply=maximum
  mx = {x} broadcast(m), dimensions={{0}}
  d = {x} subtract(x, mx)
  e = {x} exponential(d)
  t = {r} reduce(e, zero), dimensions={{1}}, to_apply=add
  u = {r} reduce(x, zero), dimensions={{1}}, to_apply=add
  part = f32[] constant({1 / n!r})
  parts = {r} broadcast(part), dimensions={{}}
  mean = {r} multiply(u, parts)
  means = {x} broadcast(mean), dimensions={{0}}
  f = {x} subtract(x, means)
  q = {x} multiply(f, f)
  v = {r} reduce(q, zero), dimensions={{1}}, to_apply=add
  ROOT o = ({r}, {r}, {r}, {r}) tuple(m, t, u, v)
}}
"""


# --- texts as formulas ------------------------------------------------------------------------------------------------
class Line(NamedTuple):
    name: str
    dims: Tuple[int, ...]
    op: str
    operands: List[str]
    rest: str

    def text(self) -> str:
        return f"  {self.name} = f32[{','.join(map(str, self.dims))}] {self.op}({', '.join(self.operands)}){self.rest}"


LINE = re.compile(r"^  ([\w.]+) = f32\[([\d,]*)\] ([\w-]+)\(([^)]*)\)(.*)$")


def lines_of(text: str) -> List[Line]:
    found = [LINE.match(line) for line in text[text.index("ENTRY"):].splitlines()]
    return [Line(m[1], tuple(map(int, m[2].split(","))) if m[2] else (), m[3], m[4].split(", "), m[5]) for m in found if m]


class Poly(NamedTuple):
    """A term: a polynomial of x whose coefficients are numbers of the piece."""
    by: Dict[int, Any]


class Power(NamedTuple):
    """A term exp(x + s)."""
    s: Any


Value = Union[Poly, Power, Any]


class Refused(Exception):
    pass


class Undecided(Exception):
    pass


def f32(literal: str) -> Fraction:
    return Fraction(struct.unpack("f", struct.pack("f", float(literal)))[0])


class Formulas:
    """The lines of a text for one piece. `row`: what the text reduces over whole rows; `adds`: what the piece adds to that."""

    def __init__(self, lines: Sequence[Line], elements: int, rows: int, length: int) -> None:
        self.elements, self.rows, self.length = elements, rows, length
        self.env: Dict[str, Value] = {}
        self.adds: Dict[str, Tuple[str, Any]] = {}
        self.powers: List[Tuple[Any, Any]] = []
        for line in lines:
            self.env[line.name] = self.value(line)

    def exp(self, s: Any) -> Any:
        """A number for exp(s), which `facts` relates to those of other arguments."""
        self.powers.append((z3.simplify(s), z3.Real(f"exp({z3.simplify(s)})")))
        return self.powers[-1][1]

    def reduced(self, op: str, x: Value) -> Any:
        if op == "maximum" and isinstance(x, Poly) and set(x.by) == {1}:
            return z3.Real("maximum of the piece")
        if op == "add" and isinstance(x, Poly):
            of = (z3.RealVal(self.length), z3.Real("sum x"), z3.Real("sum x^2"))
            return sum((c * of[d] for d, c in x.by.items()), z3.RealVal(0))
        if op == "add" and isinstance(x, Power):
            return self.exp(x.s) * z3.Real("sum exp(x)")
        raise Refused(f"{op} of other terms")

    def reduce(self, line: Line) -> Any:
        x, op = self.env[line.operands[0]], line.rest.split("to_apply=")[1]
        value = self.reduced(op, x) if isinstance(x, (Poly, Power)) else x
        if math.prod(line.dims) != self.rows:
            return value
        name = line.name[:-4] if line.name.endswith(".row") else line.name
        self.adds[name] = (op, value)
        return z3.Real(f"row {name}")

    def value(self, line: Line) -> Value:
        if line.op == "parameter":
            return Poly({1: z3.RealVal(1)})
        if line.op == "constant":
            return None if "inf" in line.operands[0] else z3.RealVal(f32(line.operands[0]))
        if line.op in ("reshape", "copy", "broadcast"):
            x = self.env[line.operands[0]]
            return Poly({0: x}) if math.prod(line.dims) == self.elements and not isinstance(x, (Poly, Power)) else x
        if line.op == "reduce":
            return self.reduce(line)
        of = [self.env[o] for o in line.operands]
        return self.of_terms(line.op, of) if isinstance(of[0], (Poly, Power)) else self.of_numbers(line.op, of)

    def of_terms(self, op: str, of: Sequence[Value]) -> Value:
        if not all(isinstance(x, Poly) for x in of):
            raise Refused(f"{op} of exponentials")
        a = of[0].by
        if op == "exponential" and z3.is_true(z3.simplify(a.get(1, z3.RealVal(0)) == 1)) and 2 not in a:
            return Power(a.get(0, z3.RealVal(0)))
        b = of[-1].by
        if op == "multiply" and max(a) + max(b) <= 2:
            by: Dict[int, Any] = {}
            for i, p in a.items():
                for j, q in b.items():
                    by[i + j] = by.get(i + j, z3.RealVal(0)) + p * q
            return Poly(by)
        if op in ("add", "subtract"):
            zero = z3.RealVal(0)
            return Poly({d: a.get(d, zero) + b.get(d, zero) if op == "add" else a.get(d, zero) - b.get(d, zero) for d in {*a, *b}})
        raise Refused(f"{op} of terms")

    def of_numbers(self, op: str, of: Sequence[Any]) -> Any:
        a, b = of[0], of[-1]
        if op == "exponential":
            return self.exp(a)
        return {"add": a + b, "subtract": a - b, "multiply": a * b, "maximum": z3.If(a >= b, a, b), "minimum": z3.If(a <= b, a, b)}[op]


def holds(facts: Sequence[Any], claim: Any) -> bool:
    """Refused are only claims of which a counterexample is found."""
    s = z3.Solver()
    s.set("timeout", 20000)
    s.add(*facts, z3.Not(claim))
    found = s.check()
    if found == z3.unknown:
        raise Undecided(str(claim))
    return bool(found == z3.unsat)


def facts_of(powers: Sequence[Tuple[Any, Any]], length: int) -> List[Any]:
    facts = [z3.RealVal(length) * z3.Real("sum x^2") >= z3.Real("sum x") * z3.Real("sum x"), z3.Real("sum exp(x)") > 0]
    for a, exp_a in powers:
        facts.append(exp_a > 0)
        for b, exp_b in powers:
            facts += [exp_a * exp_b == exp_c for c, exp_c in powers if holds([], a + b == c)]
            facts += [exp_a == exp_b] if holds([], a == b) else []
    return facts


def refused(whole: Formulas, pieces: Formulas) -> Optional[str]:
    """The result of rows for which it is not proved that pieces make it, if there is one."""
    facts = facts_of(whole.powers + pieces.powers, pieces.length)
    for name, (op, claim) in whole.adds.items():
        of, adds = pieces.adds.get(name, ("", None))
        if of != op or not holds(facts, adds == claim):
            return name
    return None


# --- changed texts ----------------------------------------------------------------------------------------------------
# What makes the number that terms are relative to; of these, CLAMPS keep it far from the numbers that f32 has not
ANY = ("t.maximum", "t.minimum", "t.constant", "t.constant.1", "v.constant", "v.multiply")
CLAMPS = ("t.maximum", "t.minimum")


def changes(line: Line) -> List[Line]:
    swapped = line._replace(operands=line.operands[::-1])
    if line.op == "subtract":
        return [swapped, line._replace(op="add")]
    if line.op == "constant" and "." in line.name:
        return [line._replace(operands=[repr(float(f32(line.operands[0])) / 2 + 1)])]
    others = {"add": ["subtract", "multiply"], "multiply": ["add"], "maximum": ["minimum"], "minimum": ["maximum"], "exponential": ["copy"]}
    found = [line._replace(op=op) for op in others.get(line.op, [])]
    if line.op == "reduce" and "." in line.name:
        found.append(line._replace(rest=line.rest.replace("=add", "=maximum") if "=add" in line.rest else line.rest.replace("=maximum", "=add")))
    return found


# --- numbers ----------------------------------------------------------------------------------------------------------
def values_of(file: Path) -> List[float]:
    data, wide = read(file), b"'<f8'" in file.read_bytes()[:128]
    return list(struct.unpack(f"<{len(data) // (8 if wide else 4)}{'d' if wide else 'f'}", data))


class Numbers:
    def __init__(self, cli: Cli, folder: Path) -> None:
        self.cli, self.folder = cli, folder

    def evaluate(self, text: str, to: str, *options: str) -> str:
        file = self.folder / f"{to}.hlo"
        file.write_text(text, encoding="utf-8")
        p = self.cli.call("eval", str(file), *options, "-o", str(self.folder / to))
        return p.stderr if p.returncode else ""

    def outside(self, whole: str, pieces: str, *options: str) -> Tuple[float, str]:
        """The largest part of the allowed error that an element takes, and the first that leaves the bounds."""
        why = (self.evaluate(whole, "bounds", "--bounds", *options) or self.evaluate(whole, "exact", "--f64", *options) or
               self.evaluate(pieces, "out", *options))
        if why:
            return math.inf, why
        most = 0.0
        for k in range(4):
            found = [values_of(self.folder / d / f"{n}{k}.npy") for d, n in (("bounds", "lo"), ("bounds", "hi"), ("out", "out"), ("exact", "out"))]
            for i, (a, b, x, y) in enumerate(zip(*found)):
                if math.isnan(x) or not a <= x <= b:
                    return math.inf, f"element {i} of output {k} is {x}, not in {a} to {b}"
                allowed = b - y if x > y else y - a
                if x != y and abs(y) >= LEAST and math.isfinite(allowed) and allowed > 0:
                    most = max(most, abs(x - y) / allowed)
        return most, ""


def rows_of(n: int) -> Dict[str, List[float]]:
    """Rows on which a sum of pieces could lose: each a list of n numbers."""
    noise = [math.sin(1.7 * k * k) for k in range(n)]
    return {
        "noise": noise,
        "ascending by 100": [100 * k / n for k in range(n)],
        "descending by 100": [-100 * k / n for k in range(n)],
        "one large element": [50.0 if k == n // 3 else y for k, y in enumerate(noise)],
        "far from zero": [1e4 + y for y in noise],
        "pieces far apart": [1e3 * (k * 8 // n) + y for k, y in enumerate(noise)],
        "all the same": [0.1] * n,
        "largest numbers": [3e18 * y for y in noise],
        "subnormal": [1e-40 * y for y in noise],
    }


def main() -> int:
    p = argparse.ArgumentParser(description="results of rows from those of pieces")
    p.add_argument("warpburg")
    o = p.parse_args()
    cli = Cli(os.path.abspath(o.warpburg))
    if z3 is None:
        print("skipped: z3 is not there\n0 passed, 0 failed")
        return 0
    passed, failures, any_number, also = 0, [], 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        numbers = Numbers(cli, Path(scratch))

        def in_pieces(text: str, n: int) -> str:
            file = Path(scratch) / "whole.hlo"
            file.write_text(text, encoding="utf-8")
            return cli.call("hlo", str(file), "--row-pieces", str(n)).stdout

        for rows, n, pieces in ((3, 24, 4), (1, 14, 7), (2, 4096, 2), (2, 4096, 64)):
            text = text_of(rows, n)
            split = in_pieces(text, pieces)
            whole = Formulas(lines_of(text), rows * n, rows, n // pieces)
            bad = refused(whole, Formulas(lines_of(split), rows * n, rows, n // pieces)) if "t.piece" in split else "nothing is split"
            passed += not bad
            failures += [f"[{rows},{n}] in {pieces} pieces: {bad} is not proved"] if bad else []
        text, split = text_of(3, 24), in_pieces(text_of(3, 24), 4)
        whole = Formulas(lines_of(text), 72, 3, 6)
        for line in lines_of(split):
            for other in changes(line):
                changed = split.replace(line.text(), other.text())
                try:
                    bad = refused(whole, Formulas(lines_of(changed), 72, 3, 6))
                except Refused as why:
                    bad = str(why)
                seen = numbers.outside(text, changed, "--case", "n")[1]
                right = bool(bad) != (line.name in ANY) and (bool(bad) or bool(seen) == (line.name in CLAMPS))
                any_number, also = any_number + (not bad), also + (bool(bad) and bool(seen))
                passed += right
                failures += [] if right else [f"{other.text().strip()}: {bad or 'proved'}; on numbers: {seen or 'in the bounds'}"]
        print(f"{passed} proved or refused: {any_number} of the changed texts are right over the reals, as terms may be relative to any number; "
              f"{also} leave the bounds on numbers of case n, too")
        for pieces in (2, 16, 64):
            text = text_of(9, 4096)
            split = in_pieces(text, pieces)
            file = Path(scratch) / "x.npy"
            kinds = rows_of(4096)
            write(file, "<f4", (9, 4096), struct.pack("<36864f", *(x for row in kinds.values() for x in row)))
            used, why = numbers.outside(text, split, "--input", str(file))
            passed += not why
            failures += [f"{pieces} pieces: {why}"] if why else []
            print(f"rows of 4096 in {pieces} pieces: {100 * used:.2g} % of the allowed error")
    for why in failures:
        print(f"failed: {why}")
    print(f"{passed} passed, {len(failures)} failed")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
