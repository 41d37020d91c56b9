"""What an asm text computes, as a term of the rule language: PTX on integers, bits and floats, of which the meaning is the manual's.

gen/proof proves that the term is the rule's left side (gen/asm_rule.py). An instruction that is not listed here has no term (approximate ones, memory, warps).

    mul.hi.u32 h, %a, 3435973837; shr.u32 %d, h, 3;     shrl.u32(mulhi.u32(a, 3435973837), 3)
"""
from __future__ import annotations

import re
import struct
from typing import Callable, Dict, List, Sequence, Tuple

from gen import ops
from gen.asm_fields import Fields, NoTerm, bits_of, of, recast
from gen.expr import Expr, Lit
from gen.instructions import INSTRUCTIONS

Value = Tuple[Expr, str]  # and its type: u16 u32 u64 pred
UNSIGNED = {"16": "u16", "32": "u32", "64": "u64", "pred": "pred"}
BINARY = {"add": "add", "sub": "sub", "mul.lo": "mul", "mul.hi": "mulhi", "and": "band", "or": "bor", "xor": "bxor", "min": "min", "max": "max"}
COMPARE = {"eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge", "lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
FLOATS = {"f16": "u16", "bf16": "u16", "f32": "u32", "f64": "u64"}
ROUND = {"cvt.rmi": "floor", "cvt.rpi": "ceil", "cvt.rzi": "trunc", "cvt.rni": "round_even"}
UNORDERED = {"ltu": "ge", "leu": "gt", "gtu": "le", "geu": "lt"}  # true where the ordered opposite is not
JOIN = {"and": "band", "or": "bor", "xor": "bxor"}
COUNT = {"popc": "popcnt", "clz": "clz"}  # results of 32 bits


def integer(kind: str) -> str:
    """The type of s8 to u64 as rules name it."""
    return f"i{kind[1:]}" if kind[0] == "s" else kind


def part(v: Expr, t: str, to: str, n: int) -> Expr:
    """The n-th part of type `to` of a value of unsigned type t, from the low bits on."""
    return v if t == to else of("cvt", to, t)(of("shrl", t)(v, Lit(n * bits_of(to))) if n else v)


def joined(parts: Sequence[Expr], t: str, frm: str) -> Expr:
    """The value of unsigned type t that has these parts of type frm."""
    if t == frm:
        return parts[0]
    out = of("cvt", t, frm)(parts[0])
    for n, v in enumerate(parts[1:], 1):
        out = of("bor", t)(out, of("shl", t)(of("cvt", t, frm)(v), Lit(n * bits_of(frm))))
    return out


class Text(Fields):
    """State while one text is read."""

    def __init__(self, result: str, operands: Sequence[Value], immediates: Sequence[Expr] = ()) -> None:
        """result: the type of the register of the result."""
        self.immediates = {f"%{letter}": e for letter, e in zip("ijk", immediates)}
        self.widths = {"%d": result}
        self.values: Dict[str, Value] = {f"%{letter}": x for letter, x in zip("abc", operands)}
        self.carry: List[Expr] = []  # the flag, if an instruction has set it

    def operand(self, word: str, t: str) -> Expr:
        """At unsigned type t, to which PTX widens no register."""
        if word in self.values:
            v, own = self.values[word]
            if own != t:
                raise NoTerm(f"{word} has {own} where {t} is taken")
            return v
        if word in self.immediates and t != "pred":
            return self.immediates[word]
        if re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|\d+)U?", word) and t != "pred":
            return Lit(int(word.rstrip("U"), 0) & (1 << bits_of(t)) - 1)
        raise NoTerm(f"{word} has no value")

    def signed(self, word: str, t: str) -> Expr: return recast(self.operand(word, t), f"i{t[1:]}", t)

    def put(self, word: str, v: Expr, t: str) -> None:
        if self.widths.get(word) != t:
            raise NoTerm(f"{word} is no register of {t}")
        self.values[word] = v, t

    # --- instructions ---------------------------------------------------------------------------------------------------------------
    def run(self, statement: str) -> None:
        declared = re.fullmatch(r"\.reg\s+\.(pred|b?[busf](16|32|64))\s+(.*)", statement)
        if declared:
            for name in declared.group(3).split(","):
                self.widths[name.strip()] = UNSIGNED[declared.group(2) or "pred"]
            return
        m = re.fullmatch(r"(?:@(!?)(\w+)\s+)?([a-z][\w.]*)\s+(.*)", statement)
        if not m:
            raise NoTerm(statement)
        words = [x.strip() for x in re.findall(r"\{[^}]*\}|[^,{}]*[^,{}\s]", m.group(4))]
        before = self.values.get(words[0])
        guard = self.operand(m.group(2), "pred") if m.group(2) else None  # the instruction may write it
        if guard is not None and m.group(3).split(".")[1] == "cc":
            raise NoTerm("a carry on a condition")
        self.instruction(m.group(3), words)
        if guard is not None:
            if before is None:
                raise NoTerm(f"{words[0]} may have no value")
            new, t = self.values[words[0]]
            other = before[0]
            self.values[words[0]] = of("select", t)(guard, *((other, new) if m.group(1) else (new, other))), t

    def instruction(self, opcode: str, words: List[str]) -> None:
        row = INSTRUCTIONS.get(opcode)
        if row:
            if len(words) != 1 + len(row.operands):
                raise NoTerm(opcode)
            v = row.term(*(self.real(w, t) if t in FLOATS else self.operand(w, t) for w, t in zip(words[1:], row.operands)))
            to = FLOATS.get(row.result, row.result)
            return self.put(words[0], recast(v, to, row.result), to)
        *name, kind = opcode.split(".")
        if kind in FLOATS:
            return self.floating(".".join(name), kind, words)
        if kind in ("f16x2", "bf16x2", "f32x2"):
            return self.pair(".".join(name), kind[:-2], words)
        if re.fullmatch(r"[us](16x2|8x4)", kind):
            return self.lanes_of_integers(".".join(name), kind, words)
        base, t = ".".join(name), UNSIGNED.get(kind[1:] if kind[0] in "bus" else kind, "")
        if base.startswith("cvt"):
            return self.convert(base, words, kind)
        if not t:
            raise NoTerm(opcode)
        sign = kind[0] == "s"
        if base == "mov" and any(w.startswith("{") for w in words):
            self.move_parts(words, t)
        elif base.startswith("setp.") and base.split(".")[1] in COMPARE and not (sign and base.split(".")[1] in ("lo", "ls", "hi", "hs")):
            at = f"i{t[1:]}" if sign else t
            self.set(words, base, of(COMPARE[base.split(".")[1]], at)(*(recast(self.operand(w, t), at, t) for w in words[1:3])))
        elif base in ("mul.wide", "mad.wide"):
            self.wide(words, t, sign)
        else:
            v, to = self.value(base, words, t, sign)
            self.put(words[0], v, to)

    def set(self, words: List[str], base: str, v: Expr) -> None:
        """A predicate, joined with another one in setp.lt.and."""
        join = base.split(".")[2:]
        if len(join) > 1 or len(words) != 3 + len(join) or not set(join) <= set(JOIN):
            raise NoTerm(base)
        self.put(words[0], of(JOIN[join[0]], "pred")(v, self.operand(words[3], "pred")) if join else v, "pred")

    def carried(self, base: str, x: Expr, y: Expr, t: str) -> Expr:
        """add.cc, addc, addc.cc, sub.cc, subc, subc.cc: the flag is the carry, or the borrow."""
        plus, below = base.startswith("add"), of("lt", t)
        op = of("add" if plus else "sub", t)
        v, out = op(x, y), below(op(x, y), x) if plus else below(x, y)
        if base[3] == "c":
            if not self.carry:
                raise NoTerm("no carry")
            one = of("select", t)(self.carry[0], Lit(1), Lit(0))
            out = of("bor", "pred")(out, below(op(v, one), v) if plus else below(v, one))
            v = op(v, one)
        if base.endswith(".cc"):
            self.carry = [out]
        return v

    def value(self, base: str, words: List[str], t: str, sign: bool) -> Value:
        x = words[1:]
        at = f"i{t[1:]}" if sign else t
        take: Callable[[int], Expr] = lambda n: recast(self.operand(x[n], t), at, t)
        back: Callable[[Expr], Value] = lambda v: (recast(v, t, at), t)
        if base == "mov":
            return self.operand(x[0], t), t
        if base in BINARY:
            return back(of(BINARY[base], at)(take(0), take(1)))
        if base in ("mad.lo", "mad.hi"):
            return back(of("add", at)(of("mul" if base == "mad.lo" else "mulhi", at)(take(0), take(1)), take(2)))
        if base == "not":
            return of("bnot", t)(take(0)), t
        if base in ("neg", "abs") and sign:
            return back(of("sub", at)(Lit(0), take(0)) if base == "neg" else of("abs", at)(take(0)))
        if base in ("add.cc", "addc", "addc.cc", "sub.cc", "subc", "subc.cc"):
            return self.carried(base, self.operand(x[0], t), self.operand(x[1], t), t), t
        if base == "sad":
            apart = of("select", at)(of("lt", at)(take(0), take(1)), of("sub", at)(take(1), take(0)), of("sub", at)(take(0), take(1)))
            return back(of("add", at)(apart, take(2)))
        if base == "bfind":
            v = of("select", at)(of("lt", at)(take(0), Lit(0)), of("bnot", at)(take(0)), take(0)) if sign else take(0)
            found = of("sub", t)(Lit(bits_of(t) - 1), of("clz", t)(recast(v, t, at)))
            return (found if t == "u32" else of("cvt", "u32", t)(found)), "u32"
        if base == "cnot":
            return of("select", t)(of("eq", t)(take(0), Lit(0)), Lit(1), Lit(0)), t
        if re.fullmatch(r"slct\.[busf](32|64)", base) and sign and t == "u32":
            to = f"u{base[-2:]}"
            return of("select", to)(of("ge", "i32")(take(2), Lit(0)), self.operand(x[0], to), self.operand(x[1], to)), to
        if base in COUNT:
            v = of(COUNT[base], t)(take(0))
            return (v if t == "u32" else of("cvt", "u32", t)(v)), "u32"
        if base == "selp":
            return of("select", t)(self.operand(x[2], "pred"), self.operand(x[0], t), self.operand(x[1], t)), t
        if base in ("shl", "shr"):
            by = self.operand(x[1], "u32")
            if t != "u32":  # more than 16 bits of an amount count
                by = of("cvt", t, "u32")(of("min", "u32")(by, Lit(bits_of(t))))
            if base == "shl":
                return of("shl", t)(self.operand(x[0], t), by), t
            return (of("shra" if sign else "shrl", t)(self.operand(x[0], t), by)), t
        if base == "lop3":
            if x[3] in self.immediates:
                raise NoTerm("lop3 with a table that is not written out")
            return self.lop3(x, int(x[3], 0), t), t
        if base == "bfe":
            return (self.signed_field if sign else self.field)(take(0), *(self.operand(v, "u32") for v in x[1:]), t), t
        if base == "bfi":
            return self.insert(x, t), t
        if base.startswith("shf.") and t == "u32":
            return self.funnel(base.split(".")[1:], [self.operand(v, t) for v in x]), t
        products = re.fullmatch(r"(dp4a|dp2a\.(lo|hi))\.([us])32", base)
        if products and t == "u32":
            return self.dot(products.group(3) == "s", sign, [self.operand(v, t) for v in x], products.group(2) or ""), t
        if base == "brev":
            return self.reversed_bits(self.operand(x[0], t), t), t
        if base in ("bmsk.clamp", "bmsk.wrap") and t == "u32":
            return self.mask(base == "bmsk.wrap", *(self.operand(v, t) for v in x)), t
        if base == "prmt" and t == "u32":
            return self.permute(x), t
        raise NoTerm(base)

    # --- floats: bits of registers, whose results are those of the manual but for the bits of a nan ---
    def real(self, word: str, f: str) -> Expr:
        if re.fullmatch(r"0f[0-9a-fA-F]{8}" if f == "f32" else r"0d[0-9a-fA-F]{16}" if f == "f64" else "none", word):
            return Lit(struct.unpack(">f" if f == "f32" else ">d", bytes.fromhex(word[2:]))[0])
        return recast(self.operand(word, FLOATS[f]), f, FLOATS[f])

    def flushed(self, v: Expr, f: str) -> Expr:
        """0 with the sign of v where v is subnormal."""
        return of("select", f)(of("lt", f)(of("abs", f)(v), Lit(2.0**-126)), of("copysign", f)(Lit(0.0), v), v) if f == "f32" else v

    def floating(self, base: str, f: str, words: List[str]) -> None:
        flush = ".ftz" in f"{base}."
        if flush and not (base.startswith(("cvt.f", "cvt.rn")) or f == "f32" and base.startswith(("add", "sub", "mul", "fma", "setp"))):
            raise NoTerm(base)  # f16 is flushed too
        base = base.replace(".ftz", "")
        converted = re.fullmatch(r"cvt(\.rn)?\.(b?f\d\d)", base)
        whole = re.fullmatch(r"(cvt\.r[nzmp]i)\.([us])32", base)
        mixed = re.fullmatch(r"(add|sub|fma)(\.rn)?\.f32", base)
        if base.startswith("testp.") and f in ("f32", "f64"):
            self.put(words[0], self.kind_of(base[6:], f, self.real(words[1], f)), "pred")
        elif base.startswith("setp."):
            self.set(words, base, self.relation(base.split(".")[1], f, *(self.operand_of(w, f, flush) for w in words[1:3])))
        elif base == "selp":
            self.put(words[0], of("select", FLOATS[f])(self.operand(words[3], "pred"), *(recast(self.real(w, f), FLOATS[f], f) for w in words[1:3])), FLOATS[f])
        elif converted and converted.group(2) != f:
            to = converted.group(2)
            v = of("cvt", to, f)(self.operand_of(words[1], f, flush))
            self.put(words[0], recast(self.flushed(v, to) if flush else v, FLOATS.get(to, ""), to), FLOATS.get(to, ""))
        elif mixed and f in ("f16", "bf16"):  # from sm_100: all operands but the last are narrow
            x = [of("cvt", "f32", f)(self.real(w, f)) for w in words[1:-1]] + [self.real(words[-1], "f32")]
            self.put(words[0], recast(self.arithmetic(mixed.group(1), "f32", x), "u32", "f32"), "u32")
        elif whole and f == "f32":  # of wider types the machine takes nan elsewhere
            to = f"{'i' if whole.group(2) == 's' else 'u'}32"
            x = self.real(words[1], f)
            self.put(words[0], recast(of("cvt", to, f)(x if whole.group(1) == "cvt.rzi" else of(ROUND[whole.group(1)], f)(x)), "u32", to), "u32")
        else:
            v = self.arithmetic(base.removesuffix(f".{f}").removesuffix(".sat"), f, [self.operand_of(w, f, flush) for w in words[1:]])
            v = of("saturate", f)(v) if ".sat" in base else v
            self.put(words[0], recast(self.flushed(v, f) if flush else v, FLOATS[f], f), FLOATS[f])

    def pair(self, base: str, f: str, words: List[str]) -> None:
        """An instruction on both halves of 32 or 64 bits."""
        half, whole = FLOATS[f], "u64" if f == "f32" else "u32"
        halves = [self.arithmetic(base, f, [recast(part(self.operand(w, whole), whole, half, n), f, half) for w in words[1:]]) for n in (0, 1)]
        self.put(words[0], joined([recast(v, half, f) for v in halves], whole, half), whole)

    def lanes_of_integers(self, base: str, kind: str, words: List[str]) -> None:
        """An instruction on each half or byte of 32 bits; .sat clamps to the type."""
        bits, n = (16, 2) if kind.endswith("16x2") else (8, 4)
        at = f"{'i' if kind[0] == 's' else 'u'}{bits}"
        name = base.removesuffix(".sat")
        if name not in ("add", "sub", "min", "max", "neg") or name == "neg" and kind[0] == "u" or base != name and name not in ("add", "sub"):
            raise NoTerm(f"{base}.{kind}")
        wide, low, high = "i32", *((-1 << bits - 1, (1 << bits - 1) - 1) if kind[0] == "s" else (0, (1 << bits) - 1))
        out = []
        for lane in range(n):
            v = [recast(part(self.operand(w, "u32"), "u32", f"u{bits}", lane), at, f"u{bits}") for w in words[1:]]
            if base != name:
                sum_ = of(name, wide)(*(of("cvt", wide, at)(e) for e in v))
                out.append(of("cvt", at, wide)(of("max", wide)(of("min", wide)(sum_, Lit(high)), Lit(low))))
            else:
                out.append(of(name, at)(*v))
        self.put(words[0], joined([recast(v, f"u{bits}", at) for v in out], "u32", f"u{bits}"), "u32")

    def operand_of(self, word: str, f: str, flush: bool) -> Expr: return self.flushed(self.real(word, f), f) if flush else self.real(word, f)

    def arithmetic(self, base: str, f: str, x: List[Expr]) -> Expr:
        name = base.removesuffix(".rn")
        if (name in ("add", "sub", "mul", "fma", "abs", "neg") or base in ("sqrt.rn", "div.rn")) and len(x) == ops.OP_BY_NAME[name].arity:
            return of(name, f)(*x)
        if base == "rcp.rn":
            return of("div", f)(Lit(1.0), *x)
        if base in ("min.NaN", "max.NaN") and len(x) == 3 and f == "f32":  # from sm_100
            return of(base[:3], f)(of(base[:3], f)(x[0], x[1]), x[2])
        if base in ("min.NaN", "max.NaN") and len(x) == 2:
            return of(base[:3], f)(*x)
        if base in ("min", "max"):  # a number, if one operand is
            number = of("select", f)(of("ne", f)(x[1], x[1]), x[0], of(base, f)(*x))
            return of("select", f)(of("ne", f)(x[0], x[0]), x[1], number)
        if base == "copysign":
            return of("copysign", f)(x[1], x[0])
        if base in ROUND:
            return of(ROUND[base], f)(x[0])
        if base in ("mov", "cvt"):
            return x[0]
        raise NoTerm(base)

    def kind_of(self, name: str, f: str, x: Expr) -> Expr:
        """testp: zero is normal."""
        size, inf, no, both = of("abs", f)(x), Lit(float("inf")), of("bnot", "pred"), of("band", "pred")
        small = both(of("ne", f)(x, Lit(0.0)), of("lt", f)(size, Lit(2.0**-126 if f == "f32" else 2.0**-1022)))
        found = {"finite": of("lt", f)(size, inf), "infinite": of("eq", f)(size, inf), "number": of("eq", f)(x, x), "notanumber": of("ne", f)(x, x),
                 "subnormal": small, "normal": both(of("lt", f)(size, inf), no(small))}
        if name not in found:
            raise NoTerm(f"testp.{name}")
        return found[name]

    def relation(self, name: str, f: str, x: Expr, y: Expr) -> Expr:
        no, both, ordered = of("bnot", "pred"), of("band", "pred"), of("band", "pred")(of("eq", f)(x, x), of("eq", f)(y, y))
        if name in ("eq", "lt", "le", "gt", "ge"):
            return of(name, f)(x, y)
        if name in UNORDERED:
            return no(of(UNORDERED[name], f)(x, y))
        found = {"neu": of("ne", f)(x, y), "ne": both(of("ne", f)(x, y), ordered), "num": ordered, "nan": no(ordered),
                 "equ": no(both(of("ne", f)(x, y), ordered))}
        if name not in found:
            raise NoTerm(name)
        return found[name]

    def wide(self, words: List[str], t: str, sign: bool) -> None:
        to = {"u16": "u32", "u32": "u64"}.get(t)
        if to is None:
            raise NoTerm("mul.wide")
        frm, result = (f"i{t[1:]}", f"i{to[1:]}") if sign else (t, to)
        x, y = (of("cvt", result, frm)(recast(self.operand(w, t), frm, t)) for w in words[1:3])
        product = recast(of("mul", result)(x, y), to, result)
        self.put(words[0], of("add", to)(product, self.operand(words[3], to)) if words[3:] else product, to)

    def low(self, word: str, kind: str) -> Expr:
        """An operand of a conversion at its integer type; of a wider register the low bits."""
        t = f"u{kind[1:]}"
        own = self.values[word][1] if word in self.values else t
        if own == "pred" or bits_of(own) < bits_of(t):
            raise NoTerm(f"{word} has {own} where {t} is taken")
        v = self.operand(word, own)
        return recast(v if own == t else of("cvt", t, own)(v), integer(kind), t)

    def convert(self, base: str, words: List[str], kind: str) -> None:
        m = re.fullmatch(r"cvt(?:\.rn\.(f\d\d)|(?:\.sat)?\.([us]\d+))", base)
        if not m or any(not re.fullmatch("[us](8|16|32|64)", k) for k in (kind, m[2] or kind)):
            raise NoTerm(f"{base}.{kind}")
        v, frm = self.low(words[1], kind), integer(kind)
        if m[1]:
            return self.put(words[0], recast(of("cvt", m[1], frm)(v), FLOATS[m[1]], m[1]), FLOATS[m[1]])
        if ".sat" in base:
            (low, high), (least, most) = (((-1 << int(k[1:]) - 1, (1 << int(k[1:]) - 1) - 1) if k[0] == "s" else (0, (1 << int(k[1:])) - 1)
                                           for k in (m[2], kind)))
            v = of("max", frm)(v, Lit(low)) if low > least else v
            v = of("min", frm)(v, Lit(high)) if high < most else v
        to, whole = integer(m[2]), self.widths.get(words[0], "")
        v = recast(v, to, frm) if bits_of(to) == bits_of(frm) else of("cvt", to, frm)(v)
        if whole in UNSIGNED.values() and whole != "pred" and bits_of(whole) > bits_of(to):  # a wider register, into which it is extended
            v, to = of("cvt", whole, to)(v), whole
        self.put(words[0], recast(v, f"u{bits_of(to)}", to), f"u{bits_of(to)}")

    def move_parts(self, words: List[str], t: str) -> None:
        half = {"u64": "u32", "u32": "u16"}.get(t)
        inner = [w.strip() for w in next(w for w in words if w.startswith("{"))[1:-1].split(",")]
        if half is None or len(inner) != 2:
            raise NoTerm("mov of parts")
        if words[0].startswith("{"):
            v = self.operand(words[1], t)
            for n, word in enumerate(inner):
                if word != "_":
                    self.put(word, part(v, t, half, n), half)
        else:
            self.put(words[0], joined([self.operand(w, half) for w in inner], t, half), t)


def bits_name(t: str) -> str:
    """The unsigned type with the bits of t, of which registers have one value or several."""
    if t == "pred":
        return t
    if t in FLOATS:
        return FLOATS[t]
    if ops.TYPE_BY_NAME[t].cls not in "IU" or bits_of(t) < 8:
        raise NoTerm(t)
    return f"u{bits_of(t)}"


__all__ = ["NoTerm", "Text", "bits_name", "bits_of", "joined", "part", "recast"]
