"""Where a rule's sides change their behaviour: the values of a variable at which something is compared with a constant. Proofs that stand on samples
try these.

    breakpoints(terms, "f64")      of select(eq(mul(a, a), 3.0), ..): the bits of both square roots of 3, and of their neighbours, ..
"""
from __future__ import annotations

import math
import struct
from contextlib import suppress
from typing import Dict, List, Optional, Tuple

from gen.proof.code import Terms, literal_bits, width

CHOICES = ("eq", "ne", "lt", "le", "gt", "ge", "max", "min", "select", "copysign")
FORMATS = {"f16": ("<e", "<H"), "f32": ("<f", "<I"), "f64": ("<d", "<Q"), "bf16": ("<f", "<I")}


def float_of(bits: int, t: str) -> float:
    code = FORMATS[t]
    return float(struct.unpack(code[0], struct.pack(code[1], bits << 16 if t == "bf16" else bits))[0])


def operands(t: Terms) -> List[str]: return [x for x in t.types if x != "side"]


def is_alone(t: Terms) -> bool: return len(operands(t)) == 1


def inverses(op: str, c: float, x: Optional[float], y: Optional[float]) -> Tuple[float, ...]:
    """Values of the operand that is no constant (None) for which op(x, y) is about c; of both, where they are one."""
    with suppress(ArithmeticError, ValueError):
        if x is None and y is None:
            return {"mul": (math.sqrt(c), -math.sqrt(c)), "add": (c / 2,), "sqrt": (c * c,), "neg": (-c,), "abs": (c, -c), "cvt": (c,)}.get(op, ())
        k = y if x is None else x
        assert k is not None
        return {"add": (c - k,), "sub": (c + k,) if x is None else (k - c,), "mul": (c / k,), "div": (c * k,) if x is None else (k / c,),
                "min": (c,), "max": (c,)}.get(op, ())
    return ()


def reaching(t: Terms, r: int, c: float) -> List[float]:
    """Values of a variable at which register r is about c, through operations with one operand that is no constant."""
    if r < len(t.types):
        return [c]
    i = t.code[r - len(t.types)]
    if i.kind == "scalar" and i.op == "select":
        return [v for a in i.args[1:] if literal_of(t, a) is None for v in reaching(t, a, c)]
    if i.kind != "scalar" or not i.args or len(i.args) > 2:
        return []
    constant = [literal_of(t, a) for a in i.args]
    open_ = list(dict.fromkeys(a for a, k in zip(i.args, constant) if k is None))
    x, y = constant if len(constant) == 2 else (None, None)
    return [v for at in inverses(i.op, c, x, y) for v in reaching(t, open_[0], at)] if len(open_) == 1 else []


def literal_of(t: Terms, r: int) -> Optional[float]:
    i = t.code[r - len(t.types)] if r >= len(t.types) else None
    return float_of(i.imm, i.type) if i and i.kind == "literal" and i.type in FORMATS else None


def compared(t: Terms, to: str) -> Dict[int, None]:
    """Bits of values, and of their neighbours, at which an operation on a variable is a constant with which it is compared."""
    out: Dict[int, None] = {}
    for i in (i for i in t.code if i.kind == "scalar" and i.op in CHOICES and len(i.args) == 2):
        for r, other in (i.args, i.args[::-1]):
            c = literal_of(t, other)
            for x in reaching(t, r, c) if c is not None and r >= len(t.types) else ():
                if math.isfinite(x):
                    bits = literal_bits(x, to)
                    out.update(dict.fromkeys(bits + d for d in range(-2, 3) if 0 <= bits + d < 1 << width(to)))
    return out


def breakpoints(t: Terms, to: str) -> Tuple[int, ...]:
    """Bits of the values at which the right side changes its behaviour: the constants that it compares with, selects or clamps to, with half
    and twice of each, the neighbours of all these, and both signs; where an operation is compared with a constant, the values at which they are equal;
    for a function of one variable all its constants."""
    used = {a for i in t.code if i.kind == "scalar" and (is_alone(t) or i.op in CHOICES) for a in i.args}
    out = compared(t, to)
    for r in sorted(used):
        i = t.code[r - len(t.types)] if r >= len(t.types) else None
        if i is None or i.kind != "literal" or i.type not in FORMATS:
            continue
        c = abs(float_of(i.imm, i.type))
        for x in (c, c / 2, c * 2) if 0 < c < float("inf") else ():
            bits = literal_bits(x, to)
            out.update(dict.fromkeys(b | s for b in (bits - 1, bits, bits + 1) for s in (0, 1 << width(to) - 1) if b >= 0))
    return tuple(out)
