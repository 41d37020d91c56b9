"""The forms of instructions that a PTX text holds, spelled as src/target/target.h says: `fma.rn.f32`, `shl.b32 imm`, `mov.b64 pack`.

    forms("mad.lo.s32 %r1, %r2, 128, %r3;")      {"mad.lo.s32 imm": 1}
"""
from __future__ import annotations

import re
from collections import Counter
from typing import Counter as Counts, List, Optional

STATEMENT = re.compile(r"^(?:@!?%?\w+\s+)?([a-z]\w*(?:\.[\w:]+)*)(?:\s+(.*))?$", re.S)
LITERAL = re.compile(r"^-?(?:0[xX][0-9a-fA-F]+U?|\d+U?|0[fFdD][0-9a-fA-F]+)$")
SPECIAL = re.compile(r"^%(?:n?tid|n?ctaid|laneid|n?warpid|n?smid|clock|globaltimer|lanemask|gridid|n?clusterid|cluster_n?ctaid|cluster_n?ctarank|"
                     r"is_explicit_cluster|dynamic_smem_size|total_smem_size|aggr_smem_size|envreg)")
PLAIN = ("ld", "st", "atom", "red", "shfl", "vote", "redux", "bar", "barrier", "bra", "call", "ret", "exit", "cp", "ldmatrix", "stmatrix", "match", "lop3",
         "mbarrier", "activemask", "fence", "membar", "elect", "brx", "cvta", "mapa", "griddepcontrol", "nanosleep", "prefetch", "mma",
         "isspacep", "bmsk", "trap")


def operands(text: str) -> List[str]:
    """Parts between commas outside brackets."""
    out, depth, at = [], 0, 0
    for k, c in enumerate(text + ","):
        depth += (c in "{[(") - (c in "}])")
        if c == "," and depth == 0:
            out.append(text[at:k].strip())
            at = k + 1
    return [x for x in out if x]


def form(opcode: str, args: List[str]) -> str:
    base, sources = opcode.split(".")[0], args[1:]
    if base in PLAIN:
        return opcode
    if base == "mov" and sources:
        x = sources[0]
        suffix = (" pack" if x.startswith("{") else " unpack" if args[0].startswith("{") else " imm" if LITERAL.match(x) else
                  " special" if SPECIAL.match(x) else "" if x.startswith("%") or x in ("l", "h", "p") else " symbol")
        return opcode + suffix
    if base in ("min", "max") and len(sources) == 3:
        return opcode + " 3"
    return opcode + (" imm" if any(LITERAL.match(x) for x in sources) else "")


def is_global(f: str) -> bool:
    """Does the form access global memory, or some memory that may be global?"""
    words = f.split()[0].split(".")
    return "global" in words or not any(w.split("::")[0] in ("shared", "local", "const", "param") for w in words)


def one(statement: str) -> Optional[str]:
    text = statement.strip()
    found = STATEMENT.match(text)
    if not found or not text or text.startswith("."):
        return None
    return form(found.group(1), operands(found.group(2) or ""))


def forms(ptx: str) -> Counts[str]:
    """How often each form stands in the text."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", ptx, flags=re.S)
    out: Counts[str] = Counter()
    for line in text.splitlines():
        line = re.sub(r"^\s*[$\w]+:(?!:)", "", line).strip()
        if line.startswith((".", "(", ")")) or not line:
            continue
        if line.startswith("{") and line.endswith("}"):  # inline assembly
            line = line[1:-1]
        for statement in line.split(";"):
            found = one(re.sub(r"^\s*\{(?=\s*\.reg)", "", statement)) if ";" in line else None
            if found:
                out[found] += 1
    return out


def arithmetic() -> List[str]:
    """Arithmetic on every type, comparisons by every operator, conversions between all types, with registers and with literals."""
    out = []
    for t in ("s16", "u16", "s32", "u32", "s64", "u64"):
        out += [f"{op}.{t}" for op in ("add", "sub", "mul.lo", "mul.hi", "mad.lo", "min", "max", "div", "rem", *(("abs", "neg") if t[0] == "s" else ()))]
        out += [f"shr.{t}", f"shl.b{t[1:]}"] + [f"setp.{c}.{t}" for c in ("lt", "le", "gt", "ge", *(() if t[0] == "s" else ("eq", "ne")))]
        out += [f"mul.wide.{t}", f"mad.wide.{t}"] * (t[1:] != "64")
    for n in ("16", "32", "64"):
        out += [f"{op}.b{n}" for op in ("and", "or", "xor", "not", "selp")] + [f"setp.{c}.b{n}" for c in ("eq", "ne")]
    out += [f"{op}.pred" for op in ("and", "or", "xor", "not")] + ["bfe.s32", "bfe.u32", "bfe.u64", "shf.l.wrap.b32", "shf.r.wrap.b32", "prmt.b32"]
    out += ["popc.b32", "popc.b64", "clz.b32", "clz.b64", "brev.b32", "brev.b64", "lop3.b32", "bfi.b32"]
    for t in ("f16", "f16x2", "bf16", "bf16x2", "f32", "f64", "f32x2"):
        pair = t == "f32x2"
        out += [f"{op}.rn.{t}" for op in ("add", "sub", "mul", "fma")] + ([] if pair else [f"neg.{t}", f"abs.{t}", f"min.{t}", f"max.{t}"])
        out += [] if pair or t == "f64" else [f"min.NaN.{t}", f"max.NaN.{t}"]
        if "x" not in t:
            out += [f"setp.{c}{u}.{t}" for c in ("eq", "ne", "lt", "le", "gt", "ge") for u in ("", "u")] + [f"setp.nan.{t}", f"setp.num.{t}"]
    out += ["max.NaN.f32 3", "min.NaN.f32 3", "add.rn.f32.bf16", "add.rn.f32.f16", "sub.rn.f32.bf16", "fma.rn.f32.bf16"]
    out += ["selp.f32", "selp.f64", "copysign.f32", "copysign.f64"]
    for t in ("f32", "f64"):
        out += [f"div.rn.{t}", f"rcp.rn.{t}", f"sqrt.rn.{t}"]
    out += [f"{f}.approx{ftz}.f32" for f in ("rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos") for ftz in ("", ".ftz")]
    out += ["tanh.approx.f32", "tanh.approx.f16", "tanh.approx.f16x2", "tanh.approx.bf16x2", "ex2.approx.f16", "ex2.approx.f16x2"]
    out += ["div.approx.f32", "div.full.f32", "div.full.ftz.f32", "rcp.approx.ftz.f64", "rsqrt.approx.ftz.f64"]
    integers, floats = ("s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"), ("f16", "bf16", "f32", "f64")
    out += [f"cvt.{d}.{s}" for d in integers for s in integers if d[1:] != s[1:]] + [f"cvt.rn.{d}.{s}" for d in floats for s in integers]
    out += [f"cvt.rzi.{d}.{s}" for d in integers for s in floats] + ["cvt.rni.s32.f32", "cvt.rn.bf16x2.f32", "cvt.rn.f16x2.f32", "cvt.sat.f32.f32"]
    out += [f"cvt.{'rn.' if floats.index(d) < floats.index(s) else ''}{d}.{s}" for d in floats for s in floats if d != s]
    out += [f"cvt.{how}.{t}.{t}" for how in ("rni", "rzi", "rmi", "rpi") for t in ("f16", "f32", "f64")]
    out += [f"cvt.rn.satfinite.{t}.f32" for t in ("e4m3x2", "e5m2x2")] + [f"cvt.rn.f16x2.{t}" for t in ("e4m3x2", "e5m2x2")]
    moves = [f"mov.{t}{how}" for t in ("b16", "b32", "b64", "u32") for how in ("", " imm")]
    moves += [f"mov.{t} {how}" for t in ("b32", "b64") for how in ("pack", "unpack")]
    return [*out, *(f + " imm" for f in out if may_have_literal(f)), *moves, "mov.u32 special", "mov.b32 special", "mov.b64 symbol", "mov.b32 symbol"]


def may_have_literal(f: str) -> bool:
    base, last = f.split(".")[0], f.split(".")[-1]
    return base in ("add", "sub", "mul", "mad", "fma", "min", "max", "div", "rem", "setp", "selp", "shl", "shr", "shf", "prmt", "bfe", "and", "or", "xor") and \
        last not in ("pred", "f32x2", "f16", "bf16", "f16x2", "bf16x2") and len([w for w in f.split(".") if w in ("f32", "bf16", "f16")]) < 2 and " " not in f


def usual() -> List[str]:
    """Accesses and atomics of every width, and what threads do together, whether or not a kernel at hand holds them."""
    out = arithmetic()
    for space in ("ld.global", "ld.global.nc", "ld.shared", "ld.local", "ld.const", "st.global", "st.shared", "st.local"):
        for width in (8, 16, 32, 64):
            out += [f"{space}.{v}b{width}" for v, n in (("", 1), ("v2.", 2), ("v4.", 4)) if width * n <= 128]
    out += [f"{op}.{v}" for op in ("ld.global", "ld.global.nc", "st.global") for v in ("v8.b32", "v4.b64")]
    out += [f"ld.shared::cluster.{v}b32" for v in ("", "v2.", "v4.")] + ["ld.shared::cluster.b64"]
    for op in ("atom", "red"):
        for space in ("global", "shared"):
            out += [f"{op}.{space}.{how}" for how in ("add.u32", "add.u64", "add.f32", "add.f64", "add.noftz.f16x2", "add.noftz.bf16x2", "inc.u32")]
            out += [f"{op}.{space}.{how}" for how in ("min.s32", "max.s32", "min.u32", "max.u32", "and.b32", "or.b32", "xor.b32")]
    out += [f"atom.{space}.{how}" for space in ("global", "shared") for how in ("cas.b32", "cas.b64", "exch.b32")]
    out += ["atom.acq_rel.gpu.global.inc.u32", "red.global.v4.f32.add", "atom.global.v4.f32.add"]
    out += [f"atom.global.{how}" for how in ("cas.b16", "exch.b64", "and.b64", "or.b64", "xor.b64", "add.noftz.f16", "add.noftz.bf16")]
    out += [f"atom.global.{op}.{t}" for op in ("min", "max") for t in ("s64", "u64")]
    out += [f"atom.{order}.gpu.global.exch.b32" for order in ("acquire", "release")]
    out += [f"{op}.relaxed.gpu.global.b{width}" for op in ("ld", "st") for width in (8, 16, 32, 64)]
    out += [f"shfl.sync.{way}.b32" for way in ("bfly", "down", "up", "idx")] + ["vote.sync.ballot.b32", "bar.warp.sync", "bar.sync", "barrier.sync.aligned"]
    out += [f"redux.sync.{how}" for how in ("add.s32", "add.u32", "min.s32", "max.s32", "min.u32", "max.u32", "and.b32", "or.b32", "xor.b32")]
    out += ["cp.async.ca.shared.global", "cp.async.cg.shared.global", "cp.async.commit_group", "cp.async.wait_group", "membar.gl", "fence.acq_rel.gpu"]
    out += ["barrier.cluster.arrive.aligned", "barrier.cluster.wait.aligned", "bra", "bra.uni", "ret", "exit", "call.uni"]
    out += [f"mma.sync.aligned.m16n8k16.row.col.f32.{t}.{t}.f32" for t in ("f16", "bf16")]
    out += [f"{matrix}.sync.aligned.m8n8.x{n}{turned}.shared.b16" for matrix in ("ldmatrix", "stmatrix") for n in (1, 2, 4) for turned in ("", ".trans")]
    return out
