"""Writes the generated part of src/sim: `gen_sim.py OUTDIR` makes sim_terms.c there, a row of the simulator's table for each of instructions.py. The output
is the same byte for byte for the same input.

    static u32 szext_wrap_u32(u32 a, u32 b) { const u32 t0 = b & 31; const u32 t1 = 32 - t0; ..; return t3; }
"""
from __future__ import annotations

import math
import re
import sys
from pathlib import Path
from typing import Dict, List

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gen import ops, semantics
from gen.expr import Expr, Lit, Node, Var
from gen.instructions import ROWS, Instruction

HEAD = """/* Made by gen/gen_sim.py from gen/instructions.py: the rows of the instruction table whose meaning is a term. */
#include "sim/lanes.h"
"""
LETTERS = {"u16": "h", "u32": "w", "u64": "d", "pred": "p", "f32": "f", "f64": "g", "f16": "h", "bf16": "h"}
HALVES = {"f16": ("of_h", "to_h"), "bf16": ("of_bf", "to_bf")}  # bits here, of which a term makes f32 before it computes
COLUMN = {"pred": "u8", "f32": "u32", "f64": "u64"}  # what a register of the simulator holds, where that is not the type
CASTS = {("f32", "u32"): "as_f32", ("u32", "f32"): "raw_f32", ("f64", "u64"): "as_f64", ("u64", "f64"): "raw_f64"}


def c_type(t: str) -> str:
    return semantics.NATIVE[t].store


class Function:
    """The C function of a row: one constant for each operation of its term."""

    def __init__(self, r: Instruction) -> None:
        self.lines: List[str] = []
        self.known: Dict[int, str] = {}
        self.named = [Var(letter, "value") for letter in "abc"[:len(r.operands)]]
        self.root = r.term(*self.named)  # keeps the ids of its parts
        result = self.value(self.root, r.result)
        head = ", ".join(f"{c_type(t)} {v.name}" for v, t in zip(self.named, r.operands))
        self.text = "\n".join([f"SIM_INLINE {c_type(r.result)} {name_of(r)}({head})", "{", *(f"    {x}" for x in self.lines), f"    return {result};", "}"])

    def value(self, e: Expr, t: str) -> str:
        """A C expression without operators: a name or a literal."""
        if isinstance(e, Lit):
            if ops.TYPE_BY_NAME[t].cls == "F":
                v = float(e.value)
                return ("NAN" if math.isnan(v) else "INFINITY" if v > 0 else "-INFINITY") if not math.isfinite(v) else v.hex() + "f" * (t == "f32")
            return f"({c_type(t)}){int(e.value)}" + ("u" if ops.TYPE_BY_NAME[t].cls == "U" else "")
        if isinstance(e, Var):
            return e.name
        assert isinstance(e, Node)
        if id(e) not in self.known:
            args = [self.value(x, e.operand_type(n).name) for n, x in enumerate(e.args)]
            named = dict(zip("abc", args))
            text = re.sub(r"\b[abc]\b", lambda m: named[m.group()], self.formula(e))
            self.known[id(e)] = f"t{len(self.lines)}"
            self.lines.append(f"const {c_type(e.result.name)} {self.known[id(e)]} = {text};")
        return self.known[id(e)]

    @staticmethod
    def formula(e: Node) -> str:
        """Of an operation, over its operands a, b and c."""
        t, frm = e.types[0].name, e.types[-1].name
        if t in HALVES or frm in HALVES:
            other = {"cvt": {("f32", frm): f"{HALVES[frm][0]}(a)" if frm in HALVES else "", (t, "f32"): f"(u16){HALVES[t][1]}(a)" if t in HALVES else ""},
                     "bits": {("u16", frm): "a", (t, "u16"): "a"}}.get(e.op.name, {}).get((t, frm), "")
            if not other:
                raise ValueError(f"gen/instructions.py: no C for {e.name}: halves are converted to f32 and from it")
            return other
        if e.op.name == "select":
            return "a ? b : c"
        if e.op.name == "bits":
            return f"{CASTS[t, e.types[1].name]}(a)" if "F" in (ops.TYPE_BY_NAME[t].cls, ops.TYPE_BY_NAME[e.types[1].name].cls) else f"({c_type(t)})a"
        if e.op.name == "cvt":
            return semantics.conversion(t, e.types[1].name)[1]
        m = semantics.meaning(e.op.name, t)
        if m is None or "sc_" in m.expr:  # a function of src/scalar, which src/sim does not have
            raise ValueError(f"gen/instructions.py: no C for {e.name}")
        return f"({c_type(e.result.name)})({m.expr})"


def name_of(r: Instruction) -> str:
    return r.form.replace(".", "_").replace("::", "_")


def row(r: Instruction) -> str:
    types = "".join(LETTERS[t] for t in (r.result, *r.operands))
    columns = [c_type(COLUMN.get(t, t)) for t in (r.result, *r.operands, *["u32"] * (3 - len(r.operands)))]
    values = [f"{CASTS[t, COLUMN[t]]}({x})" if (t, COLUMN.get(t)) in CASTS else x for x, t in zip("abc", r.operands)]
    made = f"{name_of(r)}({', '.join(values)})"
    return f'    OP({name_of(r)}, "{r.form}", "{types}", {", ".join(columns)}, {f"bits_{r.result}({made})" if r.result in ("f32", "f64") else made})'


def text() -> str:
    rows = " \\\n".join(map(row, ROWS))
    return "\n".join([HEAD, *(f"{Function(r).text}\n" for r in ROWS), f"#define ROWS(OP) \\\n{rows}\nROWS(SIM_OP)\n",
                      "const SimRow sim_rows_terms[] = {ROWS(SIM_ROW){NULL, NULL, NULL}};\n"])


def main(argv: List[str]) -> int:
    if len(argv) != 2:
        print("usage: gen_sim.py OUTDIR", file=sys.stderr)
        return 2
    Path(argv[1]).mkdir(parents=True, exist_ok=True)
    (Path(argv[1]) / "sim_terms.c").write_text(text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
