"""What every operation does to one value: the single reference that constant folding, the evaluator and the rule prover share.

A meaning is a C expression over `a`, `b`, `c`. Its key says for which types it holds, and in which C types the operands are:

  P, I, U, X   pred, signed, unsigned, index: the native integer type
  F            floats computed in their own precision and rounded once: f16 and bf16 in float, f32 in float, f64 in double
  W            floats computed in a wider type and rounded once: f16, bf16, f32 in double, f64 in long double
  H            f16 and bf16 in double, before F

Names in an expression: `T` the native type, `U` and `S` the unsigned and signed integers of its width, `M` the unsigned type in
which integer arithmetic wraps, `w` the width in bits; `f$` is libm's f for the type computed in (fmodf, fmod, fmodl). HLO defines
the edge cases: on integers x / 0 is all ones, x % 0 is x, MIN / -1 is MIN; a shift by the width or more (a negative amount counts as
large) is 0, or the sign; conversions to integers saturate and take nan to 0; min and max propagate nan and order -0 below +0.
"""
from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Optional

from gen import ops

SHIFT = "((U)b < w ? (U)b : (U)(w - 1))"  # an amount that C can shift by

_DIV_I = "b == 0 ? (T)-1 : b == -1 ? (T)(0 - (M)a) : (T)(a / b)"
_REM_I = "b == 0 ? a : b == -1 ? (T)0 : (T)(a % b)"
_DIV_U = "b == 0 ? (T)-1 : (T)(a / b)"
_REM_U = "b == 0 ? a : (T)(a % b)"
_SHL = "(U)b < w ? (T)((M)a << %s) : (T)0" % SHIFT
_SHRA = "(T)((S)a >> %s)" % SHIFT
_SHRL = "(U)b < w ? (T)((U)a >> %s) : (T)0" % SHIFT


def _wrap(op: str) -> dict[str, str]:
    expr = f"(T)((M)a {op} (M)b)"
    return {"I": expr, "U": expr, "F": f"a {op} b"}


def _compare(op: str) -> dict[str, str]:
    return dict.fromkeys("PIUXF", f"a {op} b")


def _both(signed: str, unsigned: str, **more: str) -> dict[str, str]:
    return {"I": signed, "U": unsigned, **more}


def _libm(name: str) -> dict[str, str]:
    return {"W": f"{name}$(a)"}


MEANING: dict[str, dict[str, str]] = {
    "add": {"P": "a | b", **_wrap("+")},
    "sub": _wrap("-"),
    "mul": {"P": "a & b", **_wrap("*")},
    "div": _both(_DIV_I, _DIV_U, F="a / b"),
    "rem": _both(_REM_I, _REM_U, F="fmod$(a, b)"),
    "divx": _both(_DIV_I, _DIV_U),
    "remx": _both(_REM_I, _REM_U),
    # on integers by repeated squaring; a negative exponent gives 1, -1 or 0. glibc's powl(-inf, -2**63) is inf; its pow is right
    "pow": _both("(T)sc_pow_signed(a, b)", "(T)sc_pow_unsigned(a, b)", W="isinf(a) ? (T)pow((double)a, (double)b) : pow$(a, b)"),
    "pow16": _both("(T)sc_pow_unsigned((uint64_t)a, (uint64_t)b & 0xffff)", "(T)sc_pow_unsigned(a, b & 0xffff)"),
    "max": {"P": "a | b", "I": "a > b ? a : b", "U": "a > b ? a : b", "X": "a > b ? a : b", "F": "sc_max$(a, b)"},
    "min": {"P": "a & b", "I": "a < b ? a : b", "U": "a < b ? a : b", "X": "a < b ? a : b", "F": "sc_min$(a, b)"},
    "atan2": {"W": "atan2$(a, b)"},
    "band": dict.fromkeys("PIU", "(T)(a & b)"),
    "bor": dict.fromkeys("PIU", "(T)(a | b)"),
    "bxor": dict.fromkeys("PIU", "(T)(a ^ b)"),
    "shl": _both(_SHL, _SHL), "shra": _both(_SHRA, _SHRA), "shrl": _both(_SHRL, _SHRL),
    "shlx": _both(_SHL, _SHL), "shrax": _both(_SHRA, _SHRA), "shrlx": _both(_SHRL, _SHRL),
    "floordiv": {"X": "b > 0 ? (T)(a / b - (a % b < 0)) : (T)0"},
    "mod": {"X": "b > 0 ? (T)(a % b + (a % b < 0 ? b : 0)) : (T)0"},
    "fma": {"H": "sc_fma_odd(a, b, c)", "F": "fma$(a, b, c)"},  # a product of 16-bit floats is exact in double
    "eq": _compare("=="), "ne": _compare("!="),
    "lt": _compare("<"), "le": _compare("<="), "gt": _compare(">"), "ge": _compare(">="),
    "is_finite": {"F": "fabs$(a) < (T)INFINITY"},
    "hypot": {"W": "hypot$(a, b)"}, "copysign": {"F": "copysign$(a, b)"},
    "mulhi": _both("(T)sc_mulhi_signed(a, b, w)", "(T)sc_mulhi_unsigned(a, b, w)"),
    "neg": _both("(T)(0 - (M)a)", "(T)(0 - (M)a)", F="-a"),
    "abs": _both("a < 0 ? (T)(0 - (M)a) : a", "a", F="fabs$(a)"),
    "sign": _both("(T)((a > 0) - (a < 0))", "(T)(a > 0)", F="a > 0 ? (T)1 : a < 0 ? (T)-1 : a"),
    "bnot": {"P": "a == 0", "I": "(T)~a", "U": "(T)~a"},
    "popcnt": dict.fromkeys("IU", "(T)sc_popcnt((U)a)"),
    "clz": dict.fromkeys("IU", "(T)(w - sc_length((U)a))"),
    "floor": {"F": "floor$(a)"}, "ceil": {"F": "ceil$(a)"}, "trunc": {"F": "trunc$(a)"},
    "round_even": {"F": "rint$(a)"}, "round_afz": {"F": "round$(a)"},
    "exp": _libm("exp"), "expm1": _libm("expm1"), "exp2": _libm("exp2"),
    "log": _libm("log"), "log1p": _libm("log1p"), "log2": _libm("log2"),
    "logistic": {"W": "1 / (1 + exp$(-a))"}, "tanh": _libm("tanh"),
    "tan": _libm("tan"), "sin": _libm("sin"), "cos": _libm("cos"),
    "sinh": _libm("sinh"), "cosh": _libm("cosh"), "asin": _libm("asin"), "acos": _libm("acos"), "atan": _libm("atan"),
    "asinh": _libm("asinh"), "acosh": _libm("acosh"), "atanh": _libm("atanh"), "erf": _libm("erf"),
    "sqrt": {"F": "sqrt$(a)"}, "rsqrt": {"W": "1 / sqrt$(a)"}, "cbrt": _libm("cbrt"), "rcp": {"F": "1 / a"},
    "exp2z": {"W": "sc_normal((double)exp2$((T)sc_normal((double)a)))"}, "log2z": {"W": "sc_normal((double)log2$((T)sc_normal((double)a)))"},
    # f64 (T is long double): PTX reads the upper word of the argument and writes the upper word of the result
    "rcpz": {"W": "sizeof(T) == 8 ? (T)sc_normal(1 / sc_normal((double)a)) : (T)sc_upper(1 / sc_upper((double)a))"},
    "rsqrtz": {"W": "sizeof(T) == 8 ? (T)sc_normal(1 / sqrt((double)sc_normal((double)a))) : (T)sc_upper(1 / sqrt(sc_upper((double)a)))"},
    "saturate": {"F": "a > 0 ? a < 1 ? a : 1 : 0"}, "two_over_pi": {"U": "(T)sc_two_over_pi((uint32_t)a)"},
    "two_over_pi_part": {"U": "(T)sc_two_over_pi_part((uint32_t)a)"}, "two_over_pi_word": {"U": "(T)sc_two_over_pi_word((uint32_t)a)"},
}


@dataclass(frozen=True)
class Native:
    """How C holds a value of a type in arrays (`store`), and the types that a meaning is computed in."""

    store: str
    unsigned: str
    signed: str
    wrap: str
    narrow: str  # T under F: float, double; the native type for integers
    wide: str    # T under W
    width: int


def _integer(bits: int, signed: bool) -> Native:
    u, s = f"uint{bits}_t", f"int{bits}_t"
    t = s if signed else u
    return Native(t, u, s, "uint64_t" if bits == 64 else "uint32_t", t, t, bits)


def _float(bits: int, store: str, narrow: str, wide: str) -> Native:
    return Native(store, f"uint{bits}_t", f"int{bits}_t", f"uint{bits}_t", narrow, wide, bits)


SATURATING = {"f8e4m3fn": "448.0", "f8e5m2": "57344.0"}  # types that cvtsat converts f32 to, with their largest values

NATIVE: dict[str, Native] = {
    "pred": _integer(8, False), "index": _integer(64, True),
    **{f"i{n}": _integer(n, True) for n in (8, 16, 32, 64)},
    **{f"u{n}": _integer(n, False) for n in (8, 16, 32, 64)},
    **{f"{s}{n}": Native(t, "uint8_t", "int8_t", "uint32_t", t, t, n) for n in (2, 4) for s, t in (("i", "int8_t"), ("u", "uint8_t"))},
    **{t: Native("uint8_t", "uint8_t", "int8_t", "uint8_t", "double", "double", ops.TYPE_BY_NAME[t].bits) for t in ops.SMALL_FLOATS},
    "f16": _float(16, "uint16_t", "float", "double"), "bf16": _float(16, "uint16_t", "float", "double"),
    "f32": _float(32, "float", "float", "double"), "f64": _float(64, "double", "double", "long double"),
}
LIBM_SUFFIX = {"float": "f", "double": "", "long double": "l"}


@dataclass(frozen=True)
class Meaning:
    """A meaning at one type: the C expression with its names filled in, and the C type of its operands."""

    expr: str
    operand: str  # C type that a, b, c have
    wide: bool


def meaning(op: str, type_name: str) -> Optional[Meaning]:
    """The meaning of `op` at a type; None where it has none. `conversion` has cvt; gen_scalar.py has select."""
    cls = ops.TYPE_BY_NAME[type_name].cls
    table = MEANING.get(op, {})
    n = NATIVE[type_name]
    keys = [cls] if cls != "F" else ["H", "F", "W"] if n.width == 16 else ["F", "W"]
    key = next((k for k in keys if k in table), "")
    if not key or cls not in ops.OP_BY_NAME[op].classes:
        return None
    wide = key in "HW"
    t = n.wide if wide else n.narrow
    expr = narrow_text(table[key], n.width, cls == "I") if type_name in ops.SMALL_INTS else table[key]
    return Meaning(_fill(expr, n, t), t, wide)


# --- what the threads of a warp, or all threads, do together --------------------------------------------------------------------------
# Of a shuffle: the lane whose value thread `lane` gets, by its second operand b.
SHUFFLES = {
    "shuffle_xor": "lane ^ (b & 31)",
    "shuffle_down": "lane + (b & 31) < 32 ? lane + (b & 31) : lane",
    "shuffle_up": "lane >= (b & 31) ? lane - (b & 31) : lane",
    "shuffle_idx": "b & 31",
}
# The operation that combines the values of a warp, or an element in memory and a value.
COMBINERS = {f"{kind}_{name}": op for kind in ("redux", "atomic")
             for name, op in (("add", "add"), ("min", "min"), ("max", "max"), ("and", "band"), ("or", "bor"), ("xor", "bxor"))}


# Integers of fewer than 8 bits are stored in 8, sign-extended if signed.
NARROW = ("#define UNSIGNED(w, x) ((uint8_t)((uint32_t)(x) & ((1u << (w)) - 1)))\n"
          "#define SIGNED(w, x) ((int8_t)((int32_t)((uint32_t)(x) << (32 - (w))) >> (32 - (w))))\n")


def operand_end(text: str, at: int) -> int:
    """End of the operand that a cast before text[at] applies to."""
    while text[at] in " ~-!":
        at += 1
    if text[at] != "(":
        at = re.compile(r"\w+").match(text, at).end()  # type: ignore[union-attr]
    if at < len(text) and text[at] == "(":
        depth = 0
        while True:
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
            if depth == 0:
                break
    return at


def narrow_text(expr: str, w: int, signed: bool) -> str:
    """A meaning at an integer type of w < 8 bits: casts to T, U and S keep w bits."""
    while True:
        m = re.search(r"\(([TUS])\)", expr)
        if m is None:
            break
        end = operand_end(expr, m.end())
        keep = "SIGNED" if m.group(1) == "S" or (m.group(1) == "T" and signed) else "UNSIGNED"
        expr = f"{expr[:m.start()]}{keep}({w}, {expr[m.end():end]}){expr[end:]}"
    return re.sub(r"\bw\b", str(w), re.sub(r"\(M\)", "(uint32_t)", expr))


def _fill(expr: str, n: Native, t: str) -> str:
    names = {"T": t, "U": n.unsigned, "S": n.signed, "M": n.wrap, "w": str(n.width)}
    expr = re.sub(r"\b[TUSMw]\b", lambda m: names[m.group()], expr)
    return expr.replace("$", LIBM_SUFFIX.get(t, ""))


def conversion(to: str, source: str) -> tuple[str, str]:
    """cvt.to.source: (C type of the operand `a`, expression that gives the stored value of type `to`)."""
    t, s = ops.TYPE_BY_NAME[to], ops.TYPE_BY_NAME[source]
    n, m = NATIVE[to], NATIVE[source]
    a_type = m.narrow
    if to == source:
        return m.store, "a"
    if t.cls == "P":
        return a_type, "a != 0"
    if t.cls in "IU":
        if s.cls != "F":
            return a_type, f"({n.store})a"
        if n.width < 8:
            low, high = (-(1 << n.width - 1), (1 << n.width - 1) - 1) if t.cls == "I" else (0, (1 << n.width) - 1)
            return a_type, f"({n.store})(a != a ? 0 : a <= {low} ? {low} : a >= {high} ? {high} : a)"
        half = f"0x1p{n.width - 1 if t.cls == 'I' else n.width}"
        top = f"{half}f" if a_type == "float" else half
        least = f"-{top}" if t.cls == "I" else "0"
        lo = f"INT{n.width}_MIN" if t.cls == "I" else "0"
        hi = f"INT{n.width}_MAX" if t.cls == "I" else f"UINT{n.width}_MAX"
        return a_type, f"a != a ? ({n.store})0 : a <= {least} ? ({n.store}){lo} : a >= {top} ? ({n.store}){hi} : ({n.store})a"
    if to in ("f32", "f64"):
        return a_type, f"({n.store})a"
    if to in ops.SMALL_FLOATS:
        exact = f"sc_double_odd_{'signed' if s.cls == 'I' else 'unsigned'}(a)" if m.width == 64 and s.cls in "IU" else "(double)a"
        return a_type, f"(uint8_t)sc_small_from_f64(SC_{to.upper()}, {exact})"
    # f16 and bf16: from float where it holds the source exactly; else round to odd first, so that the second rounding is correct
    if s.cls == "F" and source != "f64" or m.width <= 16:
        return a_type, f"sc_{to}_of_float((float)a)"
    if m.width == 64 and s.cls in "IU":
        return a_type, f"sc_{to}_of_double(sc_double_odd_{'signed' if s.cls == 'I' else 'unsigned'}(a))"
    return a_type, f"sc_{to}_of_double((double)a)"
