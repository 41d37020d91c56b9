"""Terms: a model of IR nodes, made as src/ir/graph.c makes them. Equal terms are one object; operands and sums have their canonical order.

The checks of rules run the compiled steps of rules on terms (match.py). instances.py makes the terms that a rule matches.

    total(3, [(8, t), (1, v)])  ->  the term 8*t + v + 3
"""
from __future__ import annotations

import math
import struct
from functools import cmp_to_key
from typing import Dict, Iterable, List, Optional, Tuple, Union

from gen import ops
from gen.opcodes import FLAGBIT, OPNUM, TYPENUM

CONST, SUM, LEAF, VAR, FLOORDIV, MOD = (OPNUM[n] for n in ("const", "sum", "value", "var", "floordiv", "mod"))
INDEX, PRED = TYPENUM["index"], TYPENUM["pred"]
COMMUTATIVE = frozenset(n for n, o in enumerate(ops.OPS) if "comm" in o.props.split())
FORMAT = {"f16": (10, 15), "bf16": (7, 127), "f32": (23, 127)}  # bits of the fraction, bias; other floats keep a literal as it is
INT64 = range(-1 << 63, 1 << 63)


class Term:
    """A node. imm: a constant's value (of a float the bits of a double), the name of a leaf, the constant of a sum; ks: coefficients of a sum."""

    __slots__ = ("op", "type", "flags", "args", "imm", "ks", "number")
    op: int     # as in ops.OPS
    type: int   # IrType: number of the element type, log2 of the lanes << 6
    flags: int
    args: Tuple["Term", ...]
    imm: Union[int, str]
    ks: Tuple[int, ...]
    number: int  # older terms have smaller ones


_terms: Dict[Tuple[object, ...], Term] = {}


def forget() -> None:
    """Starts anew: terms from before are not equal to later ones."""
    _terms.clear()


def made(op: int, t: int, flags: int, args: Tuple[Term, ...], imm: Union[int, str] = 0, ks: Tuple[int, ...] = ()) -> Term:
    """The one term with these parts; nothing is put in order."""
    key = (op, t, flags, args, imm, ks)
    x = _terms.get(key)
    if x is None:
        x = _terms[key] = Term()
        x.op, x.type, x.flags, x.args, x.imm, x.ks = key
        x.number = len(_terms)
    return x


def node(op: int, t: int, flags: int, args: Tuple[Term, ...], imm: Union[int, str] = 0) -> Term:
    """Of a commutative operation a constant stands right, else the older term stands first; indices are ordered by structure."""
    if op in COMMUTATIVE:
        a, b = args
        if a.op == CONST if (a.op == CONST) != (b.op == CONST) else compare(b, a) < 0 if a.type == INDEX else b.number < a.number:
            args = (b, a)
    return made(op, t, flags, args, imm)


def leaf(name: str, t: int) -> Term: return made(VAR if t == INDEX else LEAF, t, 0, (), name)
def index(value: int) -> Term: return made(CONST, INDEX, 0, (), value)
def constant(t: int, value: Union[bool, int, float]) -> Term: return made(CONST, t, 0, (), literal(t & 63, value, isinstance(value, float)))


def type_code(name: str, lanes: int = 1) -> int:
    return TYPENUM[name] | (lanes.bit_length() - 1) << 6


def total(c: int, terms: Iterable[Tuple[int, Term]]) -> Optional[Term]:
    """The canonical form of a sum; None where a number leaves 64 bits."""
    found: Dict[Term, int] = {}
    waiting = list(terms)[::-1]
    while waiting:
        k, x = waiting.pop()
        if x.op == CONST:
            c += k * int(x.imm)
        elif x.op == SUM:
            c += k * int(x.imm)
            waiting += [(k * q, y) for q, y in zip(x.ks, x.args)][::-1]
        else:
            found[x] = found.get(x, 0) + k
    kept = [(k, x) for x, k in found.items() if k]
    if c not in INT64 or any(k not in INT64 for k, _ in kept):
        return None
    if not kept:
        return index(c)
    if len(kept) == 1:
        if c == 0 and kept[0][0] == 1:
            return kept[0][1]
    else:
        kept.sort(key=cmp_to_key(_before))
    return made(SUM, INDEX, 0, tuple(x for _, x in kept), c, tuple(k for k, _ in kept))


def _before(x: Tuple[int, Term], y: Tuple[int, Term]) -> int:
    return abs(y[0]) - abs(x[0]) or compare(x[1], y[1])


def compare(x: Term, y: Term) -> int:
    """By structure, operations by name: negative, 0 or positive. As ir_compare."""
    if x is y:
        return 0
    if x.op != y.op:
        return -1 if ops.OPS[x.op].name < ops.OPS[y.op].name else 1
    if (x.type, x.flags) != (y.type, y.flags):
        return -1 if (x.type, x.flags) < (y.type, y.flags) else 1
    if len(x.args) != len(y.args):
        return -1 if len(x.args) < len(y.args) else 1
    for i, (a, b) in enumerate(zip(x.args, y.args)):
        if x.ks and x.ks[i] != y.ks[i]:
            return -1 if x.ks[i] > y.ks[i] else 1
        c = compare(a, b)
        if c:
            return c
    p, q = (v & (1 << 64) - 1 if isinstance(v, int) else v for v in (x.imm, y.imm))
    return (p > q) - (p < q)  # type: ignore[operator]


# --- constants --------------------------------------------------------------------------------------------------------------------
def bits_of(x: float) -> int: return int(struct.unpack("<Q", struct.pack("<d", x))[0])
def float_of(bits: int) -> float: return float(struct.unpack("<d", struct.pack("<Q", bits))[0])


def literal(sc: int, value: Union[bool, int, float], is_float: bool) -> int:
    """The value that a literal has in an element type."""
    t = ops.TYPES[sc]
    if t.cls in "FC":
        return bits_of(rounded(float(value), t.name))
    if t.cls == "P":
        return int(value != 0)
    bits = int(value) & (1 << t.bits) - 1
    return bits - (1 << t.bits) if t.cls in "IX" and bits >> t.bits - 1 else bits


def rounded(x: float, t: str) -> float:
    if t not in FORMAT or x == 0 or x - x != 0:
        return x
    fraction, bias = FORMAT[t]
    e = max(math.frexp(x)[1] - 1, 1 - bias)
    y = round(math.ldexp(x, fraction - e))  # half to even
    size = math.inf if abs(y) >> fraction >= 2 and e == bias or e > bias else math.ldexp(abs(y), e - fraction)
    return math.copysign(size, x)


def integer(t: Term) -> Optional[int]:
    return int(t.imm) if t.op == CONST and ops.TYPES[t.type & 63].cls in "IUX" else None


# --- text -------------------------------------------------------------------------------------------------------------------------
def show_type(t: int) -> str:
    return ops.TYPES[t & 63].name + (f"x{1 << (t >> 6)}" if t >> 6 else "")


def show(t: Term) -> str:
    if t.op in (LEAF, VAR):
        return str(t.imm)
    if t.op == CONST:
        cls = ops.TYPES[t.type & 63].cls
        return str(bool(t.imm)) if cls == "P" else repr(float_of(int(t.imm))) if cls in "FC" else str(t.imm)
    if t.op == SUM:
        out = " + ".join([*(show(x) if k == 1 else f"{k}*{show(x)}" for k, x in zip(t.ks, t.args)), *([str(t.imm)] if t.imm else [])])
        return f"({out})" if len(t.args) + (t.imm != 0) > 1 else out
    if t.op in (FLOORDIV, MOD):
        return f"({show(t.args[0])} {'//' if t.op == FLOORDIV else '%'} {show(t.args[1])})"
    o = ops.OPS[t.op]
    types = [t.args[0].type] if o.sig in ("compare", "test") else [t.type, t.args[0].type] if o.sig in ("convert", "product") else [t.type]
    number = f"<{t.imm}>" if o.name in ("instr", "part") else ""
    return f"{'.'.join([o.name, *map(show_type, types), *(f for f in ops.FLAGS if FLAGBIT[f] & t.flags)])}{number}({', '.join(map(show, t.args))})"


def parts(t: Term) -> List[Term]:
    """t and all terms inside it, operands before users, each once."""
    out: Dict[Term, None] = {}

    def visit(x: Term) -> None:
        if x not in out:
            for y in x.args:
                visit(y)
            out[x] = None

    visit(t)
    return list(out)
