#!/usr/bin/env python3
"""Quick ways to quotients, reciprocals and roots of f32, at every significand: right, or the operands are odd and take the long way.

usage: significands.py [--step N] [--mutants N] [--cc CC]

A rule `select.f32.rare(odd, long, quick)` of a target's pattern file becomes a C function of the operands and the estimate that the machine makes.
functions/significands.c calls it with each significand of a divisor or radicand and each estimate that the PTX manual allows, with dividends whose
quotient is next to a tie, and with values of all exponents, zeros, infinities and nan. --step N takes every N-th divisor of quotients. Each of
the rules is then changed in one place, every N-th of these with --mutants N, and must be found wrong. Ends with `N passed, M failed`.
"""
from __future__ import annotations

import argparse
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from gen import load  # noqa: E402
from gen.expr import Expr, Lit, Node, Var  # noqa: E402

C_TYPES = {"f32": "float", "u32": "uint32_t", "pred": "bool"}
INFIX = {"add": "+", "sub": "-", "mul": "*", "band": "&", "bor": "|", "bxor": "^", "ge": ">=", "gt": ">", "lt": "<", "le": "<=", "eq": "==", "ne": "!="}
ESTIMATES = ("rcpz", "rsqrtz")
LEFT = {"fma": (2,), "select": (1, 2), "add": (0, 1)}  # operands that a mutant has instead of the step


class Way(NamedTuple):
    kind: str
    odd: Expr
    quick: Expr
    targets: str
    zeros: bool


def ways() -> List[Way]:
    """Those of all targets, equal ones once."""
    found: Dict[Tuple[str, str, str], Way] = {}
    quotients = load.run("quotients")  # where a zero of any sign goes the quick way; but a number of the text, of which 0 has no sign
    of_zeros = [r for r in quotients.QUICK if all(r is not x for x in quotients.OF_NUMBER)]
    for target in load.targets():
        for rule in load.load_target(target).phases["lower"]:
            right = rule.right
            if not isinstance(right, Node) or not isinstance(rule.left, Node) or "rare" not in right.flags or str(right.types[0]) != "f32":
                continue
            if rule.left.op.name not in ("div", "sqrt") or not estimates(right.args[2]):
                continue  # a quotient by a number of the text has no estimate: the condition holds that number against every dividend
            name, one = rule.left.op.name, isinstance(rule.left.args[0], Lit)
            kind = "ROOT" if name == "sqrt" else "RECIPROCAL" if one else "QUOTIENT"
            key = (kind, str(right.args[0]), str(right.args[2]))
            before = found[key].targets + " " if key in found else ""
            found[key] = Way(kind, right.args[0], right.args[2], before + target, kind != "RECIPROCAL" and any(rule is x for x in of_zeros))
    return list(found.values())


def estimates(e: Expr) -> List[Node]: return [x for x in load.walk(e) if isinstance(x, Node) and x.op.name in ESTIMATES]


# --- C of a rule ----------------------------------------------------------------------------------------------------------------------
def literal(value: float, t: str) -> str:
    return str(value).lower() if t == "pred" else f"{int(value)}u" if t == "u32" else "INFINITY" if value == math.inf else f"{float(value).hex()}f"


class Writer:
    def __init__(self) -> None:
        self.lines: List[str] = []
        self.names: Dict[int, str] = {}

    def name(self, e: Expr, t: str) -> str:
        if isinstance(e, Lit):
            return literal(e.value, t)
        if isinstance(e, Var):
            return e.name
        assert isinstance(e, Node)
        if id(e) not in self.names:
            text = self.text(e)
            self.names[id(e)] = f"v{len(self.lines)}"
            self.lines.append(f"    const {C_TYPES[str(e.result)]} v{len(self.lines)} = {text};")
        return self.names[id(e)]

    def text(self, e: Node) -> str:
        op = e.op.name
        if op in ESTIMATES:
            return "r"
        args = [self.name(x, str(e.operand_type(i))) for i, x in enumerate(e.args)]
        if op in INFIX:
            return f"{args[0]} {INFIX[op]} {args[1]}"
        named = {"fma": "fmaf", "abs": "fabsf", "min": "least", "bits": "u32_of" if str(e.result) == "u32" else "f32_of"}
        if op == "neg":
            return f"-{args[0]}"
        if op == "select":
            return f"{args[0]} ? {args[1]} : {args[2]}"
        return f"{named[op]}({', '.join(args)})"


def function(number: int, way: Way) -> str:
    w = Writer()
    odd, quick = w.name(way.odd, "pred"), w.name(way.quick, "f32")
    return "\n".join([f"static bool way{number}(float a, float b, float r, float *q)", "{", "    (void)a, (void)b;", *w.lines, f"    *q = {quick};",
                      f"    return {odd};", "}", "", *estimated(number, way)])


def estimated(number: int, way: Way) -> List[str]:
    """What the way has an estimate of."""
    w, e = Writer(), estimates(way.quick)[0]
    operand = w.name(e.args[0], "f32")
    return [f"static float estimated{number}(float a, float b)", "{", "    (void)a, (void)b;", *w.lines, f"    return {operand};", "}"]


# --- changes --------------------------------------------------------------------------------------------------------------------------
def replaced(e: Expr, old: Expr, new: Expr, memo: Dict[int, Expr]) -> Expr:
    if e is old:
        return new
    if not isinstance(e, Node):
        return e
    if id(e) not in memo:
        memo[id(e)] = Node(e.op, e.types, e.flags, [replaced(x, old, new, memo) for x in e.args])
    return memo[id(e)]


def changes(way: Way) -> Iterator[Tuple[str, Way]]:
    """The way with one step of the quick result left out, or one test of the operands."""
    def changed(old: Expr, new: Expr) -> Way:
        memo: Dict[int, Expr] = {}
        return way._replace(odd=replaced(way.odd, old, new, memo), quick=replaced(way.quick, old, new, memo))

    for x in load.walk(way.quick):
        for part in [x.args[i] for i in LEFT.get(x.op.name, ())] if isinstance(x, Node) else []:
            yield f"{x.name} with {str(part)[:40]} is that operand", changed(x, part)
    for x in load.walk(way.odd):
        if isinstance(x, Node) and x.op.name in ("ge", "gt", "lt", "le", "ne", "eq"):
            yield f"the test {x.name} always holds", changed(x, Lit(True))
            yield f"the test {x.name} never holds", changed(x, Lit(False))


# --- runs -----------------------------------------------------------------------------------------------------------------------------
def build(cc: str, folder: Path, all_of: List[Way]) -> Path:
    file, out = folder / "ways.h", folder / "significands"
    table = ",\n".join(f"    {{{w.kind}, {str(w.zeros).lower()}, way{n}, estimated{n}}}" for n, w in enumerate(all_of))
    file.write_text("\n\n".join(function(n, w) for n, w in enumerate(all_of)) + f"\n\nstatic const Way ways[] = {{\n{table}\n}};\n")
    subprocess.run([cc, "-std=c11", "-O2", "-march=native", "-ffp-contract=off", f'-DWAYS_FILE="{file}"', str(ROOT / "tests/functions/significands.c"),
                    "-lm", "-o", str(out)], check=True)
    return out


def main() -> int:
    p = argparse.ArgumentParser()
    p.add_argument("--step", type=int, default=1)
    p.add_argument("--mutants", type=int, default=1)
    p.add_argument("--cc", default="cc")
    o = p.parse_args()
    found = ways()
    mutants = [m for w in found for m in list(changes(w))][::o.mutants]
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        tried = found + [w for _, w in mutants]
        program = build(o.cc, Path(folder), tried)
        for n, w in enumerate(tried):
            ran = subprocess.run([program, str(n), str(o.step if n < len(found) else 64)], capture_output=True, text=True, check=False)
            good = (ran.returncode == 0) == (n < len(found))
            passed, failed = passed + good, failed + (not good)
            what = w.targets if n < len(found) else mutants[n - len(found)][0]
            if not good or n < len(found):
                print(f"{w.kind}, {what}: {ran.stdout.strip() or ran.returncode}", flush=True)
    if not found:
        print("no quick way was found")
        return 1
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
