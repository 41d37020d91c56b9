"""Integer operations for z3: the C expressions of gen/semantics.py as bit vectors, with C's promotions. z3_floats.py has the floats.

In abstract mode a product, a quotient or a shift by a variable is an uninterpreted function of its operands, a quotient of signed integers one of
their sizes. That is cheap, and enough where both sides apply the same operations to the same operands.
"""
from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Tuple

from gen import ops, semantics
from gen.proof.code import Ins, Terms, cls

try:
    import z3
except ImportError:
    z3 = None  # type: ignore[assignment]

HARD = ("mul", "div", "rem", "divx", "remx", "pow", "pow16", "fma", "sqrt")


def hard(t: Terms) -> int:
    """How many operations of both sides are hard: of numbers they are numbers."""
    numbers = {len(t.types) + n for n, i in enumerate(t.code) if i.kind == "literal"}
    return sum(i.op in HARD and not numbers.issuperset(i.args) for i in t.code)


@dataclass
class C:
    """A C value: bits and whether its type is signed. A truth value is an int."""

    bits: Any
    signed: bool

    def to(self, bits: int, signed: bool) -> "C":
        n = self.bits.size()
        if bits > n:
            return C((z3.SignExt if self.signed else z3.ZeroExt)(bits - n, self.bits), signed)
        return C(z3.Extract(bits - 1, 0, self.bits) if bits < n else self.bits, signed)

    def promoted(self) -> "C":
        return self.to(32, True) if self.bits.size() < 32 else self

    def true(self) -> Any:
        return self.bits != 0


def balanced(x: C, y: C) -> Tuple[C, C]:
    """The usual arithmetic conversions."""
    x, y = x.promoted(), y.promoted()
    n = max(x.bits.size(), y.bits.size())
    unsigned = any(not v.signed and v.bits.size() == n for v in (x, y))
    return x.to(n, not unsigned), y.to(n, not unsigned)


def truth(b: Any) -> C:
    return C(z3.If(b, z3.BitVecVal(1, 32), z3.BitVecVal(0, 32)), True)


BINARY = [["|"], ["^"], ["&"], ["==", "!="], ["<", ">", "<=", ">="], ["<<", ">>"], ["+", "-"], ["*", "/", "%"]]


class Reader:
    """Evaluates a C expression of gen/semantics.py."""

    def __init__(self, text: str, names: Dict[str, C], types: Dict[str, Tuple[int, bool]]) -> None:
        self.words = re.findall(r"0x[0-9a-f]+|\d+|\w+|<<|>>|[<>=!]=|.", text.replace(" ", ""))
        self.at, self.names, self.types = 0, names, types

    def peek(self, n: int = 0) -> str:
        return self.words[self.at + n] if self.at + n < len(self.words) else ""

    def take(self, want: str = "") -> str:
        w = self.peek()
        assert not want or w == want, (self.words, self.at, want)
        self.at += 1
        return w

    def expression(self) -> C:
        c = self.binary(0)
        if self.peek() != "?":
            return c
        self.take()
        x = self.expression()
        self.take(":")
        y = self.expression()
        x, y = balanced(x, y)
        return C(z3.If(c.true(), x.bits, y.bits), x.signed)

    def binary(self, level: int) -> C:
        if level == len(BINARY):
            return self.unary()
        x = self.binary(level + 1)
        while self.peek() in BINARY[level]:
            op = self.take()
            x = apply(op, x, self.binary(level + 1))
        return x

    def unary(self) -> C:
        w = self.take()
        if w == "~":
            x = self.unary().promoted()
            return C(~x.bits, x.signed)
        if w == "-":
            x = self.unary().promoted()
            return C(-x.bits, x.signed)
        if w == "(" and self.peek() in self.types and self.peek(1) == ")":
            t = self.types[self.take()]
            self.take(")")
            return self.unary().to(*t)
        if w == "(":
            x = self.expression()
            self.take(")")
            return x
        if self.peek() == "(":
            return self.call(w)
        return self.names[w] if w in self.names else C(z3.BitVecVal(int(w, 0), 32), True)

    def call(self, name: str) -> C:
        self.take("(")
        args = [self.expression()]
        while self.peek() == ",":
            self.take()
            args.append(self.expression())
        self.take(")")
        if name not in CALLS:
            from gen.proof import z3_floats

            raise z3_floats.Unsupported(name)
        return CALLS[name](*args)


abstract = False  # whether hard operations are uninterpreted functions


def opaque(name: str, a: Any, b: Any) -> Any:
    n = a.size()
    return z3.Function(f"{name}{n}", a.sort(), b.sort(), a.sort())(a, b)


def product(a: Any, b: Any) -> Any:
    """Modulo the width of a."""
    if not abstract:
        return a * b
    one = [x for x in (a, b) if z3.is_bv_value(x) and x.as_long() == 1]
    if one:
        return b if one[0] is a else a
    a, b = sorted((a, b), key=lambda x: x.get_id())
    return opaque("mul", a, b)


def apply(op: str, x: C, y: C) -> C:
    if op in ("<<", ">>"):
        x, amount = x.promoted(), y.promoted()
        n = amount.to(x.bits.size(), False).bits
        if abstract and not z3.is_bv_value(z3.simplify(n)):
            return C(opaque({"<<": "shl", ">>": "sar" if x.signed else "shr"}[op], x.bits, n), x.signed)
        return C(x.bits << n if op == "<<" else x.bits >> n if x.signed else z3.LShR(x.bits, n), x.signed)
    x, y = balanced(x, y)
    a, b, s = x.bits, y.bits, x.signed
    if abstract and op in "/%":
        size = lambda v: z3.If(v < 0, -v, v) if s else v
        of_sizes = z3.If(size(b) == 1, size(a) if op == "/" else z3.BitVecVal(0, a.size()), opaque({"/": "div", "%": "rem"}[op], size(a), size(b)))
        return C(z3.If((a < 0) != (b < 0) if op == "/" else a < 0, -of_sizes, of_sizes) if s else of_sizes, s)
    if op in ("==", "!="):
        return truth(a == b if op == "==" else a != b)
    if op in ("<", "<=", ">", ">="):
        signed = {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}
        unsigned = {"<": z3.ULT, "<=": z3.ULE, ">": z3.UGT, ">=": z3.UGE}
        return truth(signed[op] if s else unsigned[op](a, b))
    divide, left = (a / b, z3.SRem(a, b)) if s else (z3.UDiv(a, b), z3.URem(a, b))
    return C({"|": a | b, "^": a ^ b, "&": a & b, "+": a + b, "-": a - b, "*": a * b, "/": divide, "%": left}[op], s)


def popcnt(x: C) -> C:
    """A tree of sums, each one bit wider than its terms: narrow adders are easy."""
    sums = [z3.Extract(i, i, x.bits) for i in range(x.bits.size())]
    while len(sums) > 1:
        sums = [z3.ZeroExt(1, a) + z3.ZeroExt(1, b) for a, b in zip(sums[::2], sums[1::2])]
    return C(z3.ZeroExt(32 - sums[0].size(), sums[0]), False)


def length(x: C) -> C:
    out = z3.BitVecVal(0, 32)
    for i in range(x.bits.size()):
        out = z3.If(z3.Extract(i, i, x.bits) == 1, z3.BitVecVal(i + 1, 32), out)
    return C(out, False)


def power(x: Any, n: Any) -> Any:
    """x ** n modulo 2**width of x, by repeated squaring, for the low sixteen bits of n."""
    factors, base = [], x
    for low in range(0, n.size(), 16):
        r = z3.BitVecVal(1, x.size())
        for i in range(low, min(low + 16, n.size())):
            odd = z3.simplify(n & z3.BitVecVal(1 << i, n.size()) != 0)
            r = z3.simplify(z3.If(odd, product(r, base), r))
            base = product(base, base)
        factors.append(r)
    out = factors[0]
    for f in factors[1:]:
        out = product(out, f)
    return out


def power_signed(x: Any, n: Any) -> Any:
    one, zero = z3.BitVecVal(1, x.size()), z3.BitVecVal(0, x.size())
    odd = z3.Extract(0, 0, n) == 1
    return z3.If(n >= 0, power(x, n), z3.If(x == 1, one, z3.If(x == -1, z3.If(odd, -one, one), zero)))


TABLES = {"two_over_pi": 64, "two_over_pi_part": 128, "two_over_pi_word": 256}  # lookup tables: uninterpreted functions of the index modulo this
CALLS: Dict[str, Callable[..., C]] = {"sc_popcnt": popcnt, "sc_length": length}


def scalar(i: Ins, args: List[Any]) -> Any:
    """An operation of the table over bit vectors of its types; pred has 8 bits, as in C."""
    if i.op == "select":
        return z3.If(args[0] != 0, args[1], args[2])
    if i.op == "bits":
        return args[0]
    if "F" in (cls(i.type), cls(i.frm)):
        from gen.proof import z3_floats
        return z3_floats.scalar(i, args, abstract)
    if i.op in TABLES:
        place = args[0] & TABLES[i.op] - 1
        return opaque(i.op, place, place)
    if i.op == "mulhi":  # a part of the product of twice the width, which an instruction that widens has too
        n = args[0].size()
        return z3.Extract(2 * n - 1, n, product(*((z3.SignExt if cls(i.type) == "I" else z3.ZeroExt)(n, x) for x in args)))
    if i.op == "mul" and cls(i.type) in "IU":  # a product modulo 2**width is the same whatever the width C computes it in
        return product(*args)
    if i.op == "pow16":
        return power(args[0], z3.Extract(min(15, args[1].size() - 1), 0, args[1]))
    if i.op == "pow":
        return (power_signed if cls(i.type) == "I" else power)(*args)
    t = i.frm if i.op == "cvt" else i.type
    native = lambda name: (semantics.NATIVE[name].width, cls(name) == "I")
    store, text = native(t), semantics.MEANING[i.op][cls(t)] if i.op != "cvt" else ""
    if i.op == "cvt":
        text, store = re.sub(r"\(u?int\d+_t\)", "(T)", semantics.conversion(i.type, i.frm)[1]), native(i.type)
    bits, signed = native(t)
    names = {x: C(v, signed) for x, v in zip("abc", args)}
    names["w"] = C(z3.BitVecVal(bits, 32), True)
    wrap = 64 if bits == 64 else 32
    types = {"T": (store if i.op == "cvt" else (bits, signed)), "U": (bits, False), "S": (bits, True), "M": (wrap, False), "uint32_t": (32, False)}
    r = Reader(text, names, types).expression()
    relation = ops.OP_BY_NAME[i.op].sig == "compare" or i.type == "pred"
    return r.to(8 if relation else store[0], True).bits
