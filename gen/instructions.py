"""PTX instructions of which the tree says one thing, the row here: operands, result, and the meaning as a term of the rule language.

Made of a row are what an asm text with the instruction computes (asm_text.py), the simulator's handler (gen_sim.py) and the kernel that prices it
(proof/price_kernels.py). tests/sim/sim_instructions.py has a formula for each that shares nothing with these; tests/gen/test_instructions.py asks for it.

    Instruction('mul24.lo.u32', 'u32 u32', 'u32', ..)      mul24.lo.u32 d, a, b;    cvt.u32.u64(mul.u64(cvt.u64.u32(band.u32(a, 16777215)), ..))

Registers of integers are unsigned; where a meaning is signed, the term says so. Of two values in a register the term has the bits, and so it has of a
float whose bits it changes; a nan that it computes is the one that the machine makes.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Dict, List, Tuple

from gen.asm_fields import of, recast
from gen.expr import Expr, Lit


@dataclass(frozen=True)
class Instruction:
    form: str
    operands: Tuple[str, ...]  # types of registers: u16 u32 u64 pred f32 f64
    result: str
    term: Callable[..., Expr]


def row(form: str, operands: str, result: str, term: Callable[..., Expr]) -> Instruction:
    return Instruction(form, tuple(operands.split()), result, term)


# --- terms -----------------------------------------------------------------------------------------------------------------------------
def low24(x: Expr, signed: bool) -> Expr:
    """The low 24 bits as u64, sign-extended if signed."""
    if not signed:
        return of("cvt", "u64", "u32")(of("band", "u32")(x, Lit(0xFFFFFF)))
    i = "i32"
    return recast(of("cvt", "i64", i)(of("shra", i)(of("shl", i)(recast(x, i, "u32"), Lit(8)), Lit(8))), "u64", "i64")


def product24(high: bool, signed: bool) -> Callable[[Expr, Expr], Expr]:
    """The low 32 bits of the product of 24 bits each, or those from bit 16 on."""
    def term(a: Expr, b: Expr) -> Expr:
        whole = of("mul", "u64")(low24(a, signed), low24(b, signed))
        return of("cvt", "u32", "u64")(of("shrl", "u64")(whole, Lit(16)) if high else whole)
    return term


def plus(term: Callable[..., Expr]) -> Callable[..., Expr]:
    return lambda *x: of("add", "u32")(term(*x[:-1]), x[-1])


def extended(wraps: bool, signed: bool) -> Callable[[Expr, Expr], Expr]:
    """The lowest b bits of a, extended; all from 32 on, or b counts modulo 32."""
    def term(a: Expr, b: Expr) -> Expr:
        away = of("sub", "u32")(Lit(32), of("band" if wraps else "min", "u32")(b, Lit(31 if wraps else 32)))
        if not signed:
            return of("shrl", "u32")(of("shl", "u32")(a, away), away)
        i, by = "i32", recast(away, "i32", "u32")
        return recast(of("shra", i)(of("shl", i)(recast(a, i, "u32"), by), by), "u32", i)
    return term


def distances(bits: int, signed: bool) -> Callable[..., Expr]:
    """c and the distances of the parts of a from those of b."""
    def term(a: Expr, b: Expr, c: Expr) -> Expr:
        i, out = "i32", c
        def part(x: Expr, n: int) -> Expr:
            top = of("shl", i)(recast(x, i, "u32"), Lit(32 - bits - n * bits)) if n * bits + bits < 32 else recast(x, i, "u32")
            if signed:
                return of("shra", i)(top, Lit(32 - bits))
            return recast(of("shrl", "u32")(recast(top, "u32", i), Lit(32 - bits)), i, "u32")
        for n in range(32 // bits):
            out = of("add", "u32")(out, recast(of("abs", i)(of("sub", i)(part(a, n), part(b, n))), "u32", i))
        return out
    return term


# --- rows ------------------------------------------------------------------------------------------------------------------------------
SIGNS = (("s32", True), ("u32", False))
ROWS: List[Instruction] = [
    # PTX ISA 9.7.1: 24-bit products, extended fields; 9.7.17: sums of distances
    *(row(f"mul24.{part}.{t}", "u32 u32", "u32", product24(part == "hi", signed)) for part in ("lo", "hi") for t, signed in SIGNS),
    *(row(f"mad24.{part}.{t}", "u32 u32 u32", "u32", plus(product24(part == "hi", signed))) for part in ("lo", "hi") for t, signed in SIGNS),
    *(row(f"szext.{how}.{t}", "u32 u32", "u32", extended(how == "wrap", signed)) for how in ("clamp", "wrap") for t, signed in SIGNS),
    *(row(f"vabsdiff{32 // bits}.u32.{t}.{t}.add", "u32 u32 u32", "u32", distances(bits, signed)) for bits in (8, 16) for t, signed in SIGNS),
]
INSTRUCTIONS: Dict[str, Instruction] = {r.form: r for r in ROWS}

__all__ = ["INSTRUCTIONS", "ROWS", "Instruction"]
