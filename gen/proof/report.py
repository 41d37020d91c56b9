"""What a failed proof prints: the rule, the smallest counterexample with its bindings, and both sides, in hexadecimal and decimal.

    patterns/arith.py:31: error: not equal at f32: add.F(a, 0.0) -> a
        a                    = 0x80000000  -0.0
        left  add.F(a, 0.0)  = 0x00000000  0.0
        right a              = 0x80000000  -0.0
"""
from __future__ import annotations

import struct
import subprocess
import tempfile
from pathlib import Path
from typing import List, Optional, Tuple

from gen import load, ops
from gen.lang import Expr, Node, PatternError
from gen.proof import fold_modules, folds, regroups
from gen.proof.prove import Outcome, Proof
from gen.proof.code import EXACT, cls, width


evaluator: Optional[Path] = None  # warpburg-run of a build; rule.py says where


def exact_value(text: str) -> int:
    high, low = (int(x, 16) for x in text.split(":"))
    n = high << 64 | low
    return n - (1 << 128) if n >> 127 else n


def decimal(bits: int, t: str) -> str:
    """A value in decimal."""
    if t == "pred":
        return "true" if bits else "false"
    if t in ops.SMALL_FLOATS:
        return f"code {bits}"
    if cls(t) == "F":
        if t == "bf16":
            bits, t = bits << 16, "f32"
        code = {"f16": ("<H", "<e"), "f32": ("<I", "<f"), "f64": ("<Q", "<d")}[t]
        return repr(struct.unpack(code[1], struct.pack(code[0], bits))[0])
    return str(bits - (1 << width(t)) if cls(t) == "I" and bits >> width(t) - 1 else bits)


def shown(text: str, t: str) -> str:
    """A register's value: hexadecimal, then decimal; exact integers and reference values in decimal."""
    if text.startswith("~"):
        return f"exactly {text[1:]}"
    if t == EXACT:
        n = exact_value(text)
        return f"{'-' if n < 0 else ''}{abs(n):#x}  {n}"
    bits = int(text.split(":")[1], 16) & (1 << width(t)) - 1
    return f"0x{bits:0{(width(t) + 3) // 4}x}  {decimal(bits, t)}"


def rows(o: Outcome) -> List[Tuple[str, str]]:
    t, r = o.case.terms, o.result
    assert r is not None
    out = []
    for n, name in enumerate(t.names):
        if not name:
            continue
        if t.types[n] == "side":
            value = int(r.values[n].split(":")[1], 16) & 255
            moved = ("not moved", "moved up by its error")[value] if value < 2 else "moved down by its error"
            out.append((name, moved))
        else:
            out.append((name, shown(r.values[n], t.types[n])))
    return out


def explain(p: Proof, o: Outcome) -> str:
    """The message about one failed case."""
    t, r, rule = o.case.terms, o.result, p.rule
    where = f"{rule.where[0]}:{rule.where[1]}"
    at = o.case.label + (f" at {o.case.exponents}" if o.case.exponents else "")
    at += " under approx" if o.case.approx else ""
    sizes = [str(n) for n in o.case.terms_of]
    if sizes:
        ranges, points = len(folds.ranges_of(p.rule)), folds.points_of(p.rule)
        at += f" of {' by '.join(sizes[:ranges])} terms" + (f" by {sizes[-1]}" if folds.is_option(p.rule) else "")
        at += "".join(f", {v} = {n}" for v, n in zip(points, sizes[ranges:]))
    if o.state == "empty":
        return f"{where}: error: nothing proved at {at}: no value satisfies the conditions of {rule.text}"
    assert r is not None
    right = load.text(rule.right) if isinstance(rule.right, Expr) else str(rule.right)
    what = "not equal" if t.contract != "ulp" else "off by more than its budget"
    left = t.left if t.shown < 0 else t.shown
    table = rows(o)
    if r.why >= 0:
        what = f"outside its domain, {t.bad[r.why][1]}," if t.shown < 0 else f"{t.bad[r.why][1]},"
    table += [(f"left  {load.text(rule.left)}", shown(r.values[left], t.type_of(left))),
              (f"right {right}", shown(r.values[t.right], t.type_of(t.right)))]
    if t.contract == "ulp":
        ulp, absolute = t.budget
        if t.shown >= 0:
            table.append(("left of real numbers", shown(r.values[t.left], t.type_of(t.left))))
        table.append(("budget" if t.shown < 0 else "err=", f"{ulp:g} ulp" + (f" and {absolute:g}" if absolute else "")))
    for reg in sorted(t.note):
        e = t.note[reg]
        if isinstance(e, Node) and reg not in (left, t.right) and len(t.note) <= 16:
            table.append((f"  {load.text(e)}", shown(r.values[reg], t.type_of(reg))))
    wide = min(max(len(n) for n, _ in table), 60)
    modules = counterexample(p, o) if o.case.terms_of else []
    return "\n".join([f"{where}: error: {what} at {at}: {rule.text}", *(f"    {n:{wide}} = {v}" for n, v in table), *modules])


def counterexample(p: Proof, o: Outcome) -> List[str]:
    """The smallest module of a rule about folds, with the values at which its sides differ; what the evaluator makes of both, where it is built."""
    t, r, values = o.case.terms, o.result, {}
    assert r is not None
    for n, name in enumerate(t.names):
        if name and t.types[n] not in (EXACT, "side"):
            values[name] = decimal(int(r.values[n].split(":")[1], 16) & (1 << width(t.types[n])) - 1, t.types[n])
    if any(x not in ops.TYPE_BY_NAME for x in o.case.bind.values()):
        return []
    rule, sides = regroups.as_integers(p.rule), []
    for right in (False, True):
        try:
            sides.append(fold_modules.module(rule, o.case.terms_of, o.case.bind, right, values))
        except PatternError:
            if not right:
                return []
    out = ["    the smallest module:", *(f"        {line}" for line in sides[0].splitlines())]
    if evaluator is not None and evaluator.exists():
        for name, text in zip(("left", "right"), sides):
            with tempfile.NamedTemporaryFile("w", suffix=".hlo") as f:
                f.write(text)
                f.flush()
                said = subprocess.run([str(evaluator), "eval", f.name], capture_output=True, text=True, check=False)
            out.append(f"    evaluated, {name}: {(said.stdout or said.stderr).strip().replace(f.name, name + '.hlo')}")
    return out


def report(proofs: List[Proof]) -> List[str]:
    """One message for each rule that failed, about the failed case that is easiest to read."""
    out = []
    for p in proofs:
        if p.failed:
            bits = lambda o: width(o.case.label) if o.case.label[-1:].isdigit() and "/" not in o.case.label else 99
            easiest = lambda o: (o.state == "empty", abs(bits(o) - 8))  # near 8 bits: in one bit -1 is 1
            out.append(explain(p, min(p.failed, key=easiest)))
    return out
