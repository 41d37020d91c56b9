"""PTX instructions on parts of a register as terms of the rule language: bfe, bfi, bmsk, brev, shf, prmt, dp2a, dp4a, lop3. gen/asm_text.py reads the text.

Positions and lengths beyond the width are as the manual says.

    bfe.u32 d, a, 8, 4      band.u32(shrl.u32(a, 8), 15), with the arithmetic of 8 and 4 written out
"""
from __future__ import annotations

from typing import Callable, List

from gen import ops
from gen.expr import Expr, Lit, Node, OpName, Type


class NoTerm(Exception):
    """An instruction without a meaning here."""


def bits_of(t: str) -> int: return ops.TYPE_BY_NAME[t].bits


def of(op: str, *types: str) -> Callable[..., Expr]:
    return OpName(ops.OP_BY_NAME[op], tuple(Type(t) for t in types))


def recast(v: Expr, to: str, frm: str) -> Expr:
    """The same bits at a type of the same width."""
    if to == frm:
        return v
    if isinstance(v, Node) and v.op.name == "bits" and v.types[0].name == frm:
        return recast(v.args[0], to, v.types[1].name)
    return of("bits", to, frm)(v)


class Fields:
    def operand(self, word: str, t: str) -> Expr:
        raise NotImplementedError

    def amount(self, by: Expr, t: str) -> Expr:
        """The low byte of a u32 as an amount of a shift at t."""
        low = of("band", "u32")(by, Lit(255))
        return low if t == "u32" else of("cvt", t, "u32")(low)

    def low_bits(self, count: Expr, t: str) -> Expr:
        """A mask of so many bits; of all where there are fewer."""
        return of("sub", t)(of("shl", t)(Lit(1), self.amount(count, t)), Lit(1))

    def field(self, x: Expr, at: Expr, count: Expr, t: str) -> Expr:
        return of("band", t)(of("shrl", t)(x, self.amount(at, t)), self.low_bits(count, t))

    def signed_field(self, x: Expr, at: Expr, count: Expr, t: str) -> Expr:
        n, signed, u = bits_of(t), f"i{t[1:]}", "u32"
        away = of("sub", u)(Lit(n), of("min", u)(of("band", u)(count, Lit(255)), Lit(n)))  # bits above the field
        away = recast(away if t == u else of("cvt", t, u)(away), signed, t)
        right = of("shra", signed)
        return recast(right(of("shl", signed)(right(x, recast(self.amount(at, t), signed, t)), away), away), t, signed)

    def insert(self, x: List[str], t: str) -> Expr:
        at, count = (self.operand(v, "u32") for v in x[2:])
        mask = of("shl", t)(self.low_bits(count, t), self.amount(at, t))
        moved = of("shl", t)(self.operand(x[0], t), self.amount(at, t))
        return of("bor", t)(of("band", t)(self.operand(x[1], t), of("bnot", t)(mask)), of("band", t)(moved, mask))

    def funnel(self, how: List[str], x: List[Expr]) -> Expr:
        low, high, by = x
        n = of("band", "u32")(by, Lit(31)) if how[1] == "wrap" else of("min", "u32")(by, Lit(32))
        rest = of("sub", "u32")(Lit(32), n)
        left, right = (n, rest) if how[0] == "l" else (rest, n)
        return of("bor", "u32")(of("shl", "u32")(high, left), of("shrl", "u32")(low, right))

    def mask(self, wraps: bool, at: Expr, count: Expr) -> Expr:
        """So many bits from this one on, as far as there are; 32 of them are a shift by 32, which is 0."""
        low = lambda e: of("band" if wraps else "min", "u32")(e, Lit(31 if wraps else 32))
        return of("shl", "u32")(of("sub", "u32")(of("shl", "u32")(Lit(1), low(count)), Lit(1)), low(at))

    def reversed_bits(self, v: Expr, t: str) -> Expr:
        """Halves change places, then halves of these, down to single bits."""
        n, every = bits_of(t) // 2, (1 << bits_of(t)) - 1
        while n:
            keep = Lit(every // ((1 << n) + 1))  # the lower of each two
            v = of("bor", t)(of("band", t)(of("shrl", t)(v, Lit(n)), keep), of("shl", t)(of("band", t)(v, keep), Lit(n)))
            n //= 2
        return v

    def dot(self, signed_a: bool, signed_b: bool, x: List[Expr], half: str = "") -> Expr:
        """c + the sum of the products of the four bytes of a and of b; half: of the two halves of a and two bytes of b, from 'lo' or 'hi' on."""
        def piece(v: Expr, at: int, bits: int, signed: bool) -> Expr:
            if not signed:
                return of("band", "u32")(of("shrl", "u32")(v, Lit(at)) if at else v, Lit((1 << bits) - 1))
            up = 32 - bits - at
            top = recast(of("shl", "u32")(v, Lit(up)) if up else v, "i32", "u32")
            return recast(of("shra", "i32")(top, Lit(32 - bits)), "u32", "i32")
        out, bits, first = x[2], 16 if half else 8, 16 if half == "hi" else 0
        for n in range(32 // bits):
            out = of("add", "u32")(out, of("mul", "u32")(piece(x[0], bits * n, bits, signed_a), piece(x[1], first + 8 * n, 8, signed_b)))
        return out

    def permute(self, x: List[str]) -> Expr:
        """Each nibble of the selector takes a byte of b:a, or its sign in every bit."""
        wide, u = of("cvt", "u64", "u32"), "u64"
        both = of("bor", u)(wide(self.operand(x[0], "u32")), of("shl", u)(wide(self.operand(x[1], "u32")), Lit(32)))
        select, out = wide(self.operand(x[2], "u32")), None
        for n in range(4):
            nibble = of("shrl", u)(select, Lit(4 * n))
            byte = of("band", u)(of("shrl", u)(both, of("mul", u)(of("band", u)(nibble, Lit(7)), Lit(8))), Lit(255))
            signs = of("select", u)(of("ge", u)(byte, Lit(128)), Lit(255), Lit(0))
            byte = of("select", u)(of("eq", u)(of("band", u)(nibble, Lit(8)), Lit(0)), byte, signs)
            moved = of("shl", u)(byte, Lit(8 * n))
            out = moved if out is None else of("bor", u)(out, moved)
        return of("cvt", "u32", u)(out)

    def lop3(self, x: List[str], table: int, t: str) -> Expr:
        """The table as a disjunction of its rows."""
        a, b, c = (self.operand(w, t) for w in x[:3])
        either, both, no = of("bor", t), of("band", t), of("bnot", t)
        rows = [both(both(a if r & 4 else no(a), b if r & 2 else no(b)), c if r & 1 else no(c)) for r in range(8) if table >> r & 1]
        out: Expr = rows[0] if rows else both(a, no(a))
        for r in rows[1:]:
            out = either(out, r)
        return out


__all__ = ["Fields", "NoTerm", "bits_of", "of", "recast"]
