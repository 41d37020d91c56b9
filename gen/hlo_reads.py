"""C of the texts `reads` in hlo_ops.py: `hlo_reads(i, d, &read)`, a switch over the moves that have one.

A text is Python: a linear term of one index of the result, `X % n`, or one of two such texts by `d in dimensions`. A term is kept as the dimension
of the result, the factor and the addend, each a text of C.

    n - 1 - i[d] if d in dimensions else i[d]    ->    *read = hlo_among(i, d) ? (HloRead){d, -1, n - 1, 0} : (HloRead){d, 1, 0, 0};
"""
from __future__ import annotations

import ast
from typing import NamedTuple, Optional

NAMES = {"d": "(int64_t)d", "n": "i->operands[0]->shape->dims[d]", "start": "i->slices[d].start", "stride": "i->slices[d].stride"}


class Term(NamedTuple):
    dim: Optional[str]  # None: no index of the result
    scale: str
    offset: str


def value(node: ast.expr, text: str) -> str:
    """C of a number that does not depend on the index."""
    t = term(node, text)
    if t.dim is not None:
        raise ValueError(f"gen/hlo_ops.py: reads={text!r}: an index where a number is expected")
    return t.offset


def times(x: str, y: str) -> str:
    return y if x == "1" else x if y == "1" else "0" if "0" in (x, y) else f"({x}) * ({y})"


def plus(x: str, y: str) -> str:
    return y if x == "0" else x if y == "0" else f"{x} + {y}"


def term(node: ast.expr, text: str) -> Term:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return Term(None, "0", str(node.value))
    if isinstance(node, ast.Name) and node.id in NAMES:
        return Term(None, "0", NAMES[node.id])
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        at = value(node.slice.value if isinstance(node.slice, ast.Index) else node.slice, text)  # type: ignore[attr-defined]
        if node.value.id == "i":
            return Term(at, "1", "0")
        if node.value.id == "dimensions":
            return Term(None, "0", f"i->dimensions[{at}]")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "place" and len(node.args) == 1:
        return Term(None, "0", f"hlo_place(i, {value(node.args[0], text)})")
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        x, y = term(node.left, text), term(node.right, text)
        if isinstance(node.op, ast.Sub):
            y = Term(y.dim, y.scale if y.dim is None else f"-({y.scale})", "0" if y.offset == "0" else f"-({y.offset})")
        if x.dim is None or y.dim is None:
            return Term(x.dim or y.dim, plus(x.scale, y.scale), plus(x.offset, y.offset))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        x, y = term(node.left, text), term(node.right, text)
        if x.dim is None:
            return Term(y.dim, times(x.offset, y.scale), times(x.offset, y.offset))
    raise ValueError(f"gen/hlo_ops.py: reads={text!r}: {ast.dump(node)} is no linear term of one index")


def read(node: ast.expr, text: str) -> str:
    """C of a HloRead."""
    if isinstance(node, ast.IfExp):
        if ast.dump(node.test) != ast.dump(ast.parse("d in dimensions", mode="eval").body):
            raise ValueError(f"gen/hlo_ops.py: reads={text!r}: `d in dimensions` is the only condition")
        return f"hlo_among(i, d) ? {read(node.body, text)} : {read(node.orelse, text)}"
    modulus = "0"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        node, modulus = node.left, value(node.right, text)
    t = term(node, text)
    return f"(HloRead){{{'-1' if t.dim is None else t.dim}, {t.scale}, {t.offset}, {modulus}}}"


def function(ops: list) -> list[str]:
    lines = ["bool hlo_reads(const HloInstruction *i, uint32_t d, HloRead *read)\n{\n    switch (i->opcode) {\n"]
    for o in ops:
        if o.reads:
            made = read(ast.parse(o.reads, mode="eval").body, o.reads)
            lines.append(f"    case HLO_{o.name}: /* {o.reads} */\n        *read = {made};\n        return true;\n")
    return [*lines, "    default: return false;\n    }\n}\n"]
