"""The straight-line code that the prover runs: registers and their types, instructions, literals as bits.

A register holds a value of an element type (`bf16`, or `i3` for three bits), an exact integer (`exact`: index values and the constants
of rules), or the reference value of a function. The first registers are the rule's variables. A rule fires where all registers of `pre`
are true; no register of `bad` may be true there: each says that the right side uses an operation outside its domain.

    r0 = a: i8   r1 = 1: i8   r2 = mul.i8 r0 r1
    Terms(names ["a"], types ["i8"], code [Ins("literal", "i8", imm=1), Ins("scalar", "i8", (0, 1), "mul")])
"""
from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field
from typing import Dict, List, Tuple

from gen import ops
from gen.lang import Expr

EXACT = "exact"
RELATIONS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
# bits of exponent and fraction, bias, and what is special: infinities and nans as in IEEE; fn: a nan alone; fnuz: -0 is nan; power: an exponent alone
SMALL = {"f4e2m1fn": (2, 1, 1, "fn"), "f8e3m4": (3, 4, 3, "ieee"), "f8e4m3": (4, 3, 7, "ieee"), "f8e4m3fn": (4, 3, 7, "fn"),
         "f8e4m3b11fnuz": (4, 3, 11, "fnuz"), "f8e4m3fnuz": (4, 3, 8, "fnuz"),
         "f8e5m2": (5, 2, 15, "ieee"), "f8e5m2fnuz": (5, 2, 16, "fnuz"), "f8e8m0fnu": (8, 0, 127, "power")}
Error = Tuple[float, float, float]  # share of the value, units in the last place, absolute
Errors = Dict[Tuple[str, str, bool], Error]  # (operation, type, approx) -> error of the instruction, else the budget


@dataclass(frozen=True)
class Ins:
    """kind: scalar (op of the table), literal, int, of (value to exact), to (exact to value), add .. ge (exact), nudge, function,
    garbage."""

    kind: str
    type: str  # of the result; of the operands for relations
    args: Tuple[int, ...] = ()
    op: str = ""
    frm: str = ""
    imm: int = 0
    error: Error = (0, 0, 0)


@dataclass
class Terms:
    names: List[str] = field(default_factory=list)
    types: List[str] = field(default_factory=list)  # of the variables
    code: List[Ins] = field(default_factory=list)
    pre: List[int] = field(default_factory=list)
    bad: List[Tuple[int, str]] = field(default_factory=list)
    left: int = 0
    right: int = 0
    contract: str = "equal"  # equal, zeros (nsz), ulp
    shown: int = -1  # register of the left side where `left` is not (nearer.py)
    budget: Tuple[float, float] = (0, 0)
    listed: Dict[int, Tuple[int, ...]] = field(default_factory=dict)  # variables that have no other values
    note: Dict[int, Expr] = field(default_factory=dict)  # register -> the expression of the rule that it holds

    def type_of(self, r: int) -> str:
        if r < len(self.types):
            return self.types[r]
        i = self.code[r - len(self.types)]
        if i.kind in RELATIONS.values() or (i.kind == "scalar" and ops.OP_BY_NAME[i.op].sig in ("compare", "test")):
            return "pred"
        return i.type


def cls(t: str) -> str:
    return "X" if t == EXACT else ops.TYPE_BY_NAME[t].cls if t in ops.TYPE_BY_NAME else t[0].upper()


def width(t: str) -> int:
    return 1 if t == "pred" else ops.TYPE_BY_NAME[t].bits if t in ops.TYPE_BY_NAME else int(t[1:])


def bf16_bits(x: float) -> int:
    """The bits of a bf16, correctly rounded: via float, whose last bit is made odd where it is inexact."""
    u = literal_bits(x, "f32")
    f = struct.unpack("<f", struct.pack("<I", u))[0]
    if x != x:
        return u >> 16 | 0x40
    if f != x and abs(x) <= 3.4e38 and u & 1 == 0:
        u += 1 if abs(f) < abs(x) else -1
    return (u + 0x7FFF + (u >> 16 & 1)) >> 16


def small_value(code: int, t: str) -> float:
    """The value of a code of a format of SMALL."""
    exponent_bits, fraction, bias, special = SMALL[t]
    sign, exponent, low = code >> exponent_bits + fraction, code >> fraction & (1 << exponent_bits) - 1, code & (1 << fraction) - 1
    last = (1 << exponent_bits) - 1
    if special == "power":
        return math.nan if code == 255 else 2.0 ** (code - bias)
    if special == "fnuz" and code == 1 << exponent_bits + fraction or special == "fn" and t != "f4e2m1fn" and exponent == last and low == (1 << fraction) - 1:
        return math.nan
    if special == "ieee" and exponent == last:
        return math.nan if low else (-math.inf if sign else math.inf)
    size = (low | 1 << fraction) * 2.0 ** (exponent - bias - fraction) if exponent else low * 2.0 ** (1 - bias - fraction)
    return -size if sign else size


def small_bits(x: float, t: str) -> int:
    """The code of a value of a format of SMALL; ValueError where it has none."""
    same = lambda y: math.isnan(x) and math.isnan(y) or x == y and math.copysign(1, x) == math.copysign(1, y)
    for code in range(1 << sum(SMALL[t][:2]) + (SMALL[t][3] != "power")):
        if same(small_value(code, t)):
            return code
    raise ValueError(f"{x!r} is no value of {t}")


def literal_bits(value: object, t: str) -> int:
    """The bits of a literal at a type, converted as the engine does when the rule matches."""
    if cls(t) != "F":
        return int(value) & (1 << width(t)) - 1  # type: ignore[call-overload]
    x = float(value)  # type: ignore[arg-type]
    if t in SMALL:
        return small_bits(x, t)
    if t == "bf16":
        return bf16_bits(x)
    code = {"f16": ("<e", "<H"), "f32": ("<f", "<I"), "f64": ("<d", "<Q")}[t]
    try:
        return struct.unpack(code[1], struct.pack(code[0], x))[0]
    except OverflowError:
        return struct.unpack(code[1], struct.pack(code[0], float("inf") if x > 0 else float("-inf")))[0]


def fits(value: object, t: str) -> bool:
    """Whether an integer literal is a value of a narrow type; in an unsigned one -1 is all ones."""
    n, w = int(value), width(t)  # type: ignore[call-overload]
    return -1 << w - 1 <= n < 1 << w - 1 if cls(t) == "I" else -1 <= n < 1 << w


class NotNarrow(Exception):
    """A literal of the rule is not a value of the narrow type."""
