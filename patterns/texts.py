"""The PTX of rows whose text is a name of LLVM's: what src/ptx writes for an `llvm` or `intr` row. Rows of `asm` are PTX already. gen/texts.py says what
a line means and holds every row of every target against them: a row has a text at each of its types, or stands in WITHOUT with the reason."""
from typing import Dict, Tuple

from gen.texts import text

SIGNED, UNSIGNED, TINY_SIGNED, TINY_UNSIGNED = "i16 i32 i64", "u16 u32 u64", "i2 i4 i8", "u2 u4 u8"
TINY, WIDE = f"{TINY_SIGNED} {TINY_UNSIGNED}", f"{SIGNED} {UNSIGNED}"
INTEGERS, TINY_FLOATS = f"{TINY} {WIDE}", "f4e2m1fn f8e3m4 f8e4m3 f8e4m3fn f8e4m3b11fnuz f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0fnu"
HALVES, FLOATS = "f16 bf16", "f16 bf16 f32 f64"
BITS = f"{INTEGERS} {TINY_FLOATS} {FLOATS}"
SHIFTS = (("shl", "shl.b", "-z"), ("lshr", "shr.u", "zz"), ("ashr", "shr.s", "sz"))  # the number of places is a word of 32 bits
RELATIONS = ("eq", "ne", "lt", "le", "gt", "ge")


def nan(op: str, kind: str) -> str:
    """A minimum or maximum that keeps nan, of the one that drops it."""
    quiet = {"f32": "0f7FC00000", "f64": "0d7FF8000000000000"}[kind]
    return (f"{{ .reg .pred p; .reg .{kind} m; {op}.{kind} m, %a, %b; setp.nan.{kind} p, %a, %b; selp.{kind} %d, {quiet}, m, p; }}")


# bf16 of the f32 in x without an instruction for that, rounded to even; p, n and h are free
ROUND = ("setp.nan.f32 p, x, x; bfe.u32 n, x, 16, 1; add.s32 n, x, n; add.s32 n, n, 32767; mov.b32 {_, h}, n; selp.b16 %d, 0x7FC0, h, p;")
# x: the f32 next to the f64 %a whose last bit is odd, where %a is none: what is rounded again then is right
ODD = ("abs.f64 a, %a; cvt.rn.f32.f64 x, %a; cvt.f64.f32 w, x; abs.f64 v, w; setp.gt.f64 p, a, v; selp.b32 n, 1, -1, p; add.s32 y, x, n; and.b32 n, x, 1; "
       "setp.ne.s32 p, n, 0; selp.b32 y, x, y, p; setp.equ.f64 p, %a, w; selp.b32 x, x, y, p;")
HEAD = "{ .reg .pred p; .reg .b16 h; .reg .b32 n, x, y; .reg .b64 a, v, w; "

FLOAT = [
    *(text(f"f{op}", "f16 f32 f64", f"{op}.rn.%t %d, %a, %b;", packed="f16") for op in ("add", "sub", "mul")),
    *(text(f"f{op}", "bf16", f"{op}.rn.%t %d, %a, %b;", packed="bf16", needs="bf16.add") for op in ("add", "sub", "mul")),
    *(text(f"f{op}", "bf16", f"{{ .reg .b16 k; mov.b16 k, {k}; fma.rn.bf16 %d, {terms}; }}", needs="bf16.fma")
      for op, k, terms in (("add", "0x3F80", "%a, k, %b"), ("sub", "0xBF80", "%b, k, %a"), ("mul", "0x8000", "%a, %b, k"))),
    *(text(f"f{op}", "bf16", f"{HEAD}mov.b16 h, 0; mov.b32 x, {{h, %a}}; mov.b32 y, {{h, %b}}; {op}.rn.f32 x, x, y; {ROUND} }}")
      for op in ("add", "sub", "mul")),
    text("llvm.fma", FLOATS, "fma.rn.%t %d, %a, %b, %c;", packed=HALVES),
    *(text(f"f{op}", "f32", f"{op}.rn.%t %d, %a, %b;", packed="f32", alone=False, needs="add.f32x2") for op in ("add", "sub")),
    text("llvm.fma", "f32", "fma.rn.%t %d, %a, %b, %c;", packed="f32", alone=False, needs="add.f32x2"),
    text("fneg", "bf16", "xor.b%b %d, %a, %sign;", packed="bf16", without="bf16.fma"),
    text("llvm.fabs", "bf16", "and.b%b %d, %a, %magnitude;", packed="bf16", without="bf16.fma"),
    text("fneg", FLOATS, "neg.%t %d, %a;", packed=HALVES),
    text("llvm.fabs", FLOATS, "abs.%t %d, %a;", packed=HALVES),
    text("llvm.copysign", "f32 f64", "copysign.%t %d, %b, %a;"),
    *(text(f"llvm.{op}imum", "f16 bf16 f32", f"{op}.NaN.%t %d, %a, %b;", packed=HALVES, needs="max.nan") for op in ("max", "min")),
    *(text(f"llvm.{op}imum", kind, nan(op, kind)) for op in ("max", "min") for kind in ("f32", "f64")),
    *(text(f"llvm.{op}imum", "f16", f"{{ .reg .pred p; .reg .b32 x, y; cvt.f32.f16 x, %a; cvt.f32.f16 y, %b; setp.nan.f32 p, x, y; {op}.f32 x, x, y; "
           "selp.b32 x, 0x7FC00000, x, p; cvt.rn.f16.f32 %d, x; }") for op in ("max", "min")),
    *(text(f"llvm.{op}imum", "bf16", f"{{ .reg .pred p; .reg .b32 x, y; mov.b32 x, {{%zero, %a}}; mov.b32 y, {{%zero, %b}}; "
           f"setp.nan.f32 p, x, y; {op}.f32 x, x, y; selp.b32 x, 0x7FC00000, x, p; mov.b32 {{_, %d}}, x; }}") for op in ("max", "min")),
    text("fdiv", "f32 f64", "rcp.rn.%t %d, %b;", constant="1", costly=True),
    text("fdiv", "f32 f64", "div.rn.%t %d, %a, %b;", costly=True),
    text("llvm.sqrt", "f32 f64", "sqrt.rn.%t %d, %a;", costly=True),
    *(text(f"llvm.{name}", "f32 f64", f"cvt.{mode}.%t.%t %d, %a;")
      for name, mode in (("floor", "rmi"), ("ceil", "rpi"), ("roundeven", "rni"), ("trunc", "rzi"))),
    text("llvm.round", "f32", "{ .reg .pred p, q; .reg .b32 h, m, x, y; and.b32 h, %a, -2147483648; or.b32 h, h, 1056964608; add.rn.f32 x, %a, h; "
         "cvt.rzi.f32.f32 x, x; abs.f32 m, %a; setp.gt.f32 p, m, 0f4B000000; selp.b32 x, %a, x, p; cvt.rzi.f32.f32 y, %a; "
         "setp.lt.f32 q, m, 0f3F000000; selp.b32 %d, y, x, q; }"),
    text("llvm.round", "f64", "{ .reg .pred p, q; .reg .b64 m, x; abs.f64 m, %a; setp.lt.f64 p, m, 0d3FE0000000000000; add.rn.f64 x, m, 0d3FE0000000000000; "
         "cvt.rzi.f64.f64 x, x; selp.b64 x, 0, x, p; copysign.f64 x, %a, x; setp.gt.f64 q, m, 0d4330000000000000; selp.b64 %d, %a, x, q; }"),
    *(text(f"fcmp {name}", kinds, f"setp.{op}.%t %d, %a, %b;", to="pred", without=without)
      for name, op in (("oeq", "eq"), ("une", "neu"), ("olt", "lt"), ("ole", "le"), ("ogt", "gt"), ("oge", "ge"))
      for kinds, without in (("f16 f32 f64", ""),)),
    *(text(f"fcmp {name}", "bf16", f"setp.{op}.bf16 %d, %a, %b;", to="pred", needs="bf16.add")
      for name, op in (("oeq", "eq"), ("une", "neu"), ("olt", "lt"), ("ole", "le"), ("ogt", "gt"), ("oge", "ge"))),
    *(text(f"fcmp {name}", "bf16",
           f"{{ .reg .b32 x, y; mov.b32 x, {{%zero, %a}}; mov.b32 y, {{%zero, %b}}; setp.{op}.f32 %d, x, y; }}", to="pred")
      for name, op in (("oeq", "eq"), ("une", "neu"), ("olt", "lt"), ("ole", "le"), ("ogt", "gt"), ("oge", "ge"))),
]
INTEGER = [
    *(text(op, INTEGERS, f"{op}.%t %d, %a, %b;") for op in ("add", "sub")),
    text("mul", INTEGERS, "mul.lo.%t %d, %a, %b;"),
    *(text(op, "pred", f"{op}.pred %d, %a, %b;") for op in ("and", "or", "xor")),
    *(text(op, INTEGERS, f"{op}.b%b %d, %a, %b;", packed="bits") for op in ("and", "or", "xor")),
    *(text(name, INTEGERS, f"{op}%b %d, %a, %b;", extend=extend, constant="b") for name, op, extend in SHIFTS),
    *(text(name, f"{TINY} i32 u32", f"{op}%b %d, %a, %b;", extend=extend) for name, op, extend in SHIFTS),
    *(text(name, f"i{n} u{n}", f"{{ .reg .b32 n; cvt.u32.u{n} n, %b; {op}%b %d, %a, n; }}") for name, op, _ in SHIFTS for n in (16, 64)),
    *(text(f"{letter}{op}", kinds, f"{op}.%t %d, %a, %b;", extend=2 * letter.replace("u", "z"), costly=True)
      for letter, kinds in (("s", f"{TINY_SIGNED} {SIGNED}"), ("u", f"{TINY_UNSIGNED} {UNSIGNED}")) for op in ("div", "rem")),
    *(text(f"llvm.{letter}{op}", kinds, f"{op}.%t %d, %a, %b;", extend=2 * letter.replace("u", "z"), clean=letter.replace("u", "z"))
      for letter, kinds in (("s", f"{TINY_SIGNED} {SIGNED}"), ("u", f"{TINY_UNSIGNED} {UNSIGNED}")) for op in ("max", "min")),
    *(text(f"icmp {op}", f"{TINY_UNSIGNED} {UNSIGNED} {TINY_SIGNED} {SIGNED}", f"setp.{op}.b%b %d, %a, %b;", to="pred", extend="oo") for op in ("eq", "ne")),
    *(text(f"icmp {letter}{op}", kinds, f"setp.{op}.%t %d, %a, %b;", to="pred", extend=2 * letter.replace("u", "z"))
      for letter, kinds in (("s", f"{TINY_SIGNED} {SIGNED}"), ("u", f"{TINY_UNSIGNED} {UNSIGNED}")) for op in RELATIONS[2:]),
    text("llvm.abs(%a, i1 0)", f"{TINY_SIGNED} {SIGNED}", "abs.%t %d, %a;", extend="s"),
    *(text(f"llvm.nvvm.mulhi.{name}", kind, "mul.hi.%t %d, %a, %b;") for name, kind in (("i", "i32"), ("ui", "u32"), ("ll", "i64"), ("ull", "u64"))),
    text("llvm.ctpop", f"{TINY} i32 u32", "popc.b32 %d, %a;", extend="z", clean="z"),
    text("llvm.ctpop", "i16 u16", "{ .reg .b32 n; cvt.u32.u16 n, %a; popc.b32 n, n; cvt.u16.u32 %d, n; }"),
    text("llvm.ctpop", "i64 u64", "{ .reg .b32 n; popc.b64 n, %a; cvt.u64.u32 %d, n; }"),
    *(text("llvm.ctlz(%a, i1 0)", f"i{n} u{n}", f"{{ .reg .b32 n; clz.b32 n, %a; sub.s32 %d, n, {32 - n}; }}", extend="z", clean="z") for n in (2, 4, 8)),
    text("llvm.ctlz(%a, i1 0)", "i16 u16", "{ .reg .b32 n; cvt.u32.u16 n, %a; clz.b32 n, n; sub.s32 n, n, 16; cvt.u16.u32 %d, n; }"),
    text("llvm.ctlz(%a, i1 0)", "i32 u32", "clz.b32 %d, %a;"),
    text("llvm.ctlz(%a, i1 0)", "i64 u64", "{ .reg .b32 n; clz.b64 n, %a; cvt.u64.u32 %d, n; }"),
]
CHOICE = [
    text("icmp eq", "pred", "{ .reg .pred p; xor.pred p, %a, %b; not.pred %d, p; }", to="pred"),
    text("icmp ne", "pred", "xor.pred %d, %a, %b;", to="pred"),
    text("icmp ult", "pred", "{ .reg .pred p; not.pred p, %a; and.pred %d, p, %b; }", to="pred"),
    text("icmp ugt", "pred", "{ .reg .pred p; not.pred p, %b; and.pred %d, p, %a; }", to="pred"),
    text("icmp ule", "pred", "{ .reg .pred p; not.pred p, %a; or.pred %d, p, %b; }", to="pred"),
    text("icmp uge", "pred", "{ .reg .pred p; not.pred p, %b; or.pred %d, p, %a; }", to="pred"),
    text("select", "pred", "{ .reg .pred p, q; and.pred p, %a, %b; not.pred q, %a; and.pred q, q, %c; or.pred %d, p, q; }"),
    text("select", "f32 f64", "selp.%t %d, %b, %c, %a;", frm="pred"),          # takes a sign with it
    text("select", BITS, "selp.b%b %d, %b, %c, %a;", frm="pred"),
]


def resized(name: str, to: str, frm: str) -> str:
    """An integer in a register of another size; the value of 8 bits or fewer is in one of 32, below bits that mean nothing."""
    have, want = (max(int(t[1:]), 16) if int(t[1:]) > 8 else 32 for t in (frm, to))
    sign = "s" if name == "sext" else "u"
    return f"cvt.{sign}{want}.{sign}{have} %d, %a;" if want != have else ""


CONVERT = [
    *(text(name, frm, resized(name, to, frm), to=to, extend={"trunc": "-", "sext": "s", "zext": "z"}[name], clean={"sext": "s", "zext": "z"}.get(name, ""))
      for to in INTEGERS.split() for frm in INTEGERS.split()
      for name in (("trunc",) if int(to[1:]) < int(frm[1:]) else ("sext",) if frm[0] == "i" else ("zext",)) if int(to[1:]) != int(frm[1:])),
    *(text("bitcast", frm, "", to=to, packed="bits") for to in BITS.split() for frm in BITS.split()),
    text("fpext", "f16", "cvt.f32.f16 %d, %a;", to="f32"),
    text("fpext", "f16", "cvt.f64.f16 %d, %a;", to="f64"),
    text("fpext", "bf16", "mov.b32 %d, {%zero, %a};", to="f32"),
    text("fpext", "bf16", "{ .reg .b32 x; mov.b32 x, {%zero, %a}; cvt.f64.f32 %d, x; }", to="f64"),
    text("fpext", "f32", "cvt.f64.f32 %d, %a;", to="f64"),
    text("fptrunc", "f32", "cvt.rn.bf16.f32 %d, %a;", to="bf16", needs="bf16.fma", pair="cvt.rn.bf16x2.f32 %d, %a1, %a0;"),
    text("fptrunc", "f32", f"{HEAD}mov.b32 x, %a; {ROUND} }}", to="bf16"),
    text("fptrunc", "f32", "cvt.rn.f16.f32 %d, %a;", to="f16", without="bf16.fma"),
    text("fptrunc", "f32", "cvt.rn.f16.f32 %d, %a;", to="f16", pair="cvt.rn.f16x2.f32 %d, %a1, %a0;"),
    text("fptrunc", "f64", "cvt.rn.f16.f64 %d, %a;", to="f16"),
    text("fptrunc", "f64", "cvt.rn.bf16.f64 %d, %a;", to="bf16", needs="bf16.add"),
    text("fptrunc", "f64", f"{HEAD}{ODD} cvt.rn.bf16.f32 %d, x; }}", to="bf16", needs="bf16.fma"),
    text("fptrunc", "f64", f"{HEAD}{ODD} {ROUND} }}", to="bf16"),
    text("fptrunc", "f64", "cvt.rn.f32.f64 %d, %a;", to="f32"),
    *(text(name, kinds, "cvt.rn.%r.%t %d, %a;", to=to, extend=name[0].replace("u", "z"))
      for to in ("f32", "f64") for name, kinds in (("sitofp", f"i8 {SIGNED}"), ("uitofp", f"u8 {UNSIGNED}"))),
    *(text(name, kinds, "cvt.rn.bf16.%t %d, %a;", to="bf16", needs="bf16.add") for name, kinds in (("sitofp", "i32 i64"), ("uitofp", "u32 u64"))),
    *(text(f"llvm.nvvm.{letter}2{name}.rz", frm, "cvt.rzi.%r.%t %d, %a;", to=to)
      for letter, frm in (("f", "f32"), ("d", "f64")) for name, to in (("i", "i32"), ("ui", "u32"), ("ll", "i64"), ("ull", "u64"))),
]
TOGETHER = [  # what threads do together, and on memory; %s is the space of the address, with its dot
    *(text(f"llvm.nvvm.shfl.sync.{way}.i32(i32 -1, %a, %b, i32 {last})", "u32", f"shfl.sync.{way}.b32 %d, %a, %b, {last}, -1;", costly=True, constant=constant)
      for way, last in (("bfly", 31), ("down", 31), ("idx", 31), ("up", 0)) for constant in ("b", "")),
    text("llvm.nvvm.vote.ballot.sync(i32 -1, %a)", "pred", "vote.sync.ballot.b32 %d, %a, -1;", to="u32", costly=True),
    *(text(f"llvm.nvvm.redux.sync.{sign}{op}(%a, i32 -1)", kinds, f"redux.sync.{op}.%t %d, %a, -1;", costly=True)
      for op, sign, kinds in (("add", "", "i32 u32"), ("max", "", "i32"), ("max", "u", "u32"), ("min", "", "i32"), ("min", "u", "u32"))),
    *(text(f"llvm.nvvm.redux.sync.{op}(%a, i32 -1)", "u32", f"redux.sync.{op}.b32 %d, %a, -1;", costly=True) for op in ("and", "or", "xor")),
    text("atomicrmw add", "i32 u32 i64 u64", "atom%s.add.u%b %d, [%p], %a;", costly=True),
    text("atomicrmw fadd", "f32 f64", "atom%s.add.%t %d, [%p], %a;", costly=True),
    *(text(f"atomicrmw {sign}{op}", kinds, f"atom%s.{op}.%t %d, [%p], %a;", costly=True)
      for op in ("max", "min") for sign, kinds in (("", "i32 i64"), ("u", "u32 u64"))),
    *(text(f"atomicrmw {name}", "u32 u64", f"atom%s.{op}.b%b %d, [%p], %a;", costly=True)
      for name, op in (("and", "and"), ("or", "or"), ("xor", "xor"), ("xchg", "exch"))),
    text("cmpxchg", "u32 u64", "atom%s.cas.b%b %d, [%p], %a, %b;", costly=True),
]
ALL = FLOAT + INTEGER + CHOICE + CONVERT + TOGETHER
# rows without a text, by the row's name and types, with the reason: the back end that writes PTX declines them
WITHOUT: Dict[Tuple[str, str, str], str] = {}
