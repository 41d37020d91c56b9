"""PTX kernels that time one form of instruction: chains of it in a loop, between two reads of the clock.

A chain feeds its result back as an operand, so that nothing is dropped, hoisted or merged: `fma.rn.f32 x0, x0, b0, c0;`. Other operands are loaded, a
thread its own. Where the result has another type than the operand, glue makes one of the other; where ptxas would merge neighbours (sums of three,
logic, a literal twice), a breaker stands between, an xor or a sum with a loaded zero. A Way says which; rates.py takes the first whose
machine code has the form as often as the kernel's text.

Operands keep the fast path: floats stay near 1 (x*1, x/1, 1/x, a quotient by literals 1.5 and 1/1.5 in turn), never subnormal, infinite or nan in
forms that have a slow one. Integers are small: no form of integers has another path for large ones.

    kernel("fma.rn.f32", "t12", Way(), chains=8, copies=128)     128 of it in a turn of the loop, 16 in each of 8 chains
"""
from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Dict, List, Optional, Tuple

from gen.proof.price_kernels import Shape, bits, memory, shape, types_of

SIGNATURE = "(.param .u64 q, .param .u64 r, .param .u32 turns, .param .u32 arg)"
HEAD = ".version {}\n.target {}\n.address_size 64\n.extern .shared .align 16 .b8 tile[];\n"
IN, OUT, REGION, SLOT = 1 << 20, 16 << 20, 1 << 18, 1 << 13  # offsets in the buffer q; bytes for each value and for each operand of it
HALVES = {"f16": (0x3d00, 0x3c00, 0x1400), "bf16": (0x3fa0, 0x3f80, 0x3a80), "e4m3": (0x3838,) * 3, "e5m2": (0x3c3c,) * 3}
VALUES: List[int] = [0x3fa000003fa00000, 0x3f8000003f800000]  # of 8 bytes: region n of the input holds VALUES[n]; first 1.25 and 1.0 of f32


def region(value: int) -> int:
    if value not in VALUES:
        VALUES.append(value)
    return IN + VALUES.index(value) * REGION


def value(t: str, role: int) -> int:
    """8 bytes of the value of an operand: the first, second or third source."""
    base = t.split("x")[0]
    if base == "f32":
        return int.from_bytes(struct.pack("<2f", *[(1.25, 1.0, 2.0**-10)[role]] * 2), "little")
    if base == "f64":
        return int.from_bytes(struct.pack("<d", (1.25, 1.0, 2.0**-10)[role]), "little")
    if base in HALVES:
        return HALVES[base][role] * 0x0001000100010001
    return (12345, 3, 5)[min(role, 2)] * (0x0001000100010001 if memory(t) <= 16 else 0x100000001 if memory(t) == 32 else 1)


@dataclass(frozen=True)
class Way:
    """How a chain goes on: through which source; what glue makes an operand of the result; what stands between two of the form."""

    source: int = 0
    glue: str = "take"  # or "both": of a wide result its two halves; "pack": beside a loaded half; of a predicate "guard" or "select"
    breaker: str = ""  # "xor", "add"; "old": an xor with the operand


def ways(form: str, latency: bool) -> List[Way]:
    """In the order in which they are tried."""
    s = shape(form)
    if s is None or form in HAND:
        return [Way(0, "take", b) for b in ("", "xor", "add")]
    if s.dest == ["pred"]:
        return [Way(0, "select")] if latency else [Way(0, "guard"), Way(0, "select")]
    loaded = [k for k, t in enumerate(s.sources) if not t.startswith("=") and t != "pred" and not (form.endswith(" imm") and s.imm == k)]
    if form.startswith(("div", "rem")) and 1 in loaded and form not in ("rem.s64", "rem.u64"):
        loaded = [1, 0]  # else ptxas takes the reciprocal out of the loop; what rem.s64 calls may look at a divisor of 0
    widths = [bits(t) for t in s.sources if t[0] not in "={"]
    if form.endswith(" imm") and form.startswith(("shl", "shr", "bfe")):
        return [Way(0, "take", "old")]  # shifted by literals an operand would be gone after a few
    glues = ("take", "both") if bits(s.dest[0]) > min(widths) else ("pack", "take") if bits(s.dest[0]) == 16 and widths[0] == 32 else ("take",)
    return [Way(k, g, b) for g in glues for b in ("", "xor", "add") for k in loaded or [0]]


class Body:
    """Registers, loads and lines of a kernel."""

    def __init__(self) -> None:
        self.registers: Dict[str, int] = {}
        self.loads: List[str] = []
        self.slots: Dict[int, int] = {}
        self.lines: List[str] = []

    def register(self, name: str, width: int) -> str:
        self.registers[name] = width
        return name

    def loaded(self, name: str, t: str, content: int) -> str:
        if name in self.registers:
            return name
        if t == "pred":
            self.loaded(name + "v", "b32", content)
            self.register(name, 1)
            self.loads.append(f"setp.ne.b32 {name}, {name}v, 0;")
            return name
        at = region(content)
        slot = self.slots[at] = self.slots.get(at, -1) + 1
        assert slot < REGION // SLOT
        self.loads.append(f"ld.global.{'s8' if t == 's8' else f'b{memory(t)}'} {self.register(name, bits(t))}, [pin+{at + slot * SLOT}];")
        return name

    def zero(self, width: int) -> str:
        return self.loaded(f"zero{width}", f"b{width}", 0)

    def chain(self, k: int, t: str, content: int) -> str:
        return self.loaded(f"x{k}", t, content)


def literal(form: str, t: str, copy: int) -> str:
    """As price_kernels.literal, but quotients and products of floats stay near 1."""
    if t == "f32":
        return ("0f3FC00A3D", "0f3F2AA17B")[copy % 2]
    if t == "f64":
        return ("0d3FF8014700000000", "0d3FE5542F00000000")[copy % 2]
    if form.startswith(("shl", "shr", "bfe")):
        return str(1 + copy % 7)
    return str((12345 if form.startswith(("mul", "mad", "div", "rem")) else 7) + 2 * (copy % 16))


def operands(b: Body, form: str, s: Shape, w: Way, copy: int, x: str) -> List[str]:
    """x stands for the source that the chain goes through; the others are loaded, two registers of each in turn."""
    out = []
    for k, t in enumerate(s.sources):
        if k == w.source and x:
            out.append(x)
        elif t.startswith("="):
            out.append(t[1:])
        elif form.endswith(" imm") and s.imm == k:
            out.append(literal(form, t, copy))
        elif t == "pred":
            out.append(b.loaded(f"p{copy % 2}", "pred", 1))
        else:
            out.append(b.loaded(f"r{k}_{copy % (2 if x else 4)}", t, value(t, k)))
    return out


def glue(b: Body, d: str, wide: int, x: str, narrow: int, how: str, high: int) -> None:
    """Makes x of `narrow` bits of the result d of `wide` bits."""
    low32, word = f"{d}_l", f"{d}_h"
    if wide == narrow:
        return
    if narrow > wide:  # the operand has more bits than the result
        if how == "pack":
            b.lines.append(f"mov.b32 {x}, {{{d}, {b.loaded('high16', 'b16', 0)}}};")
        elif wide == 16:
            b.lines.append(f"cvt.u32.u16 {b.register(low32, 32) if narrow == 64 else x}, {d};")
        if narrow == 64:
            b.lines.append(f"mov.b64 {x}, {{{low32 if wide == 16 else d}, {b.loaded('high', 'b32', high)}}};")
        return
    if wide == 64:
        b.lines.append(f"mov.b64 {{{b.register(low32, 32)}, {b.register(word, 32)}}}, {d};")
        if how == "both":
            b.lines.append(f"xor.b32 {word}, {word}, {low32};")
        b.lines.append(f"mov.b32 {x}, {word};" if narrow == 32 else f"cvt.u16.u32 {x}, {word};")
    elif how == "both":
        b.lines += [f"mov.b32 {{{b.register(low32, 16)}, {b.register(word, 16)}}}, {d};", f"xor.b16 {x}, {low32}, {word};"]
    else:
        b.lines.append(f"cvt.u16.u32 {x}, {d};")


def predicate_step(b: Body, form: str, s: Shape, w: Way, k: int, copy: int) -> str:
    """A comparison. Its result guards the next one, or selects the operand of the next one."""
    t, opcode = s.sources[0], form.split()[0]
    if w.glue == "guard":
        g = b.loaded(f"x{k}", "pred", 1)
        b.lines.append(f"@{g} {opcode} {g}, {', '.join(operands(b, form, s, Way(-1), copy + k, ''))};")
        return g
    x, n = b.chain(k, t, value(t, 0)), bits(t)
    b.lines.append(f"{opcode} {b.register(f'g{k}', 1)}, {', '.join(operands(b, form, s, w, copy, x))};")
    b.lines.append(f"selp.b{n} {x}, {b.loaded('one', t, value(t, 1))}, {b.loaded('other', t, value(t, 2))}, g{k};")
    return x


def carries(b: Body, opcode: str, k: int, copy: int) -> List[str]:
    """With the instruction that makes, or takes, the carry; each has a chain of its own."""
    words, y = opcode.split("."), b.loaded(f"r1_{copy % 2}", "u32", value("u32", 1))
    base = {"addc": "add", "subc": "sub", "madc": "mad"}.get(words[0], words[0])
    other = "sub" if base == "sub" else "add"
    xs = [b.loaded(f"{n}{k}", "u32", value("u32", 0)) for n in ("x", *("v" * (base != words[0])), *("w" * (".cc." in opcode)))]
    if base != words[0]:
        b.lines.append(f"{other}.cc.u32 v{k}, v{k}, {y};")
    b.lines.append(f"{opcode} x{k}, x{k}, {y}{', ' + y if base == 'mad' else ''};")
    if ".cc." in opcode:
        b.lines.append(f"{other}c.u32 w{k}, w{k}, {y};")
    return xs


def swap(b: Body, form: str, k: int) -> List[str]:
    x = b.chain(k, "b32", value("b32", 0))
    b.lines.append(f"{{ .reg .b16 l, h; mov.b32 {{l, h}}, {x}; mov.b32 {x}, {{h, l}}; }}")
    return [x]


def ballot(b: Body, form: str, k: int) -> List[str]:
    x = b.chain(k, "b32", value("b32", 0))
    b.lines.append(f"setp.ne.b32 {b.register(f'g{k}', 1)}, {x}, {b.loaded('one', 'b32', 1)}; vote.sync.ballot.b32 {x}, g{k}, -1;")
    return [x]


HAND = {"mov.b32 pack": swap, "mov.b32 unpack": swap, "vote.sync.ballot.b32": ballot}


def step(b: Body, form: str, w: Way, k: int, copy: int) -> List[Tuple[str, int]]:
    """One of the form in chain k. Returns the registers that carry the chain, with their widths."""
    opcode, s = form.split()[0], shape(form)
    if form in HAND:
        xs = HAND[form](b, form, k)
    elif opcode.split(".")[0] in ("addc", "subc", "madc") or ".cc." in opcode:
        xs = carries(b, opcode, k, copy)
    elif s is None:
        return []
    elif s.dest == ["pred"]:
        xs = [predicate_step(b, form, s, w, k, copy)]
    else:
        t, made = s.sources[w.source], s.dest[0]
        x, narrow, wide = b.chain(k, t, value(t, w.source)), bits(t), bits(made)
        d = x if wide == narrow and w.breaker != "old" else b.register(f"d{k}", wide)
        b.lines.append(f"{opcode} {d}, {', '.join(operands(b, form, s, w, copy, x))};")
        if w.breaker == "old":
            b.lines.append(f"xor.b{narrow} {x}, {x}, {d};")
        glue(b, d, wide, x, narrow, w.glue, 0x3ff40000 if t == "f64" else 0)
        xs = [x]
    out = [(x, b.registers[x]) for x in xs]
    for x, n in out[:1]:
        if w.breaker in ("xor", "add") and n > 1:
            b.lines.append(f"{'xor.b' if w.breaker == 'xor' else 'add.s'}{n} {x}, {x}, {b.zero(n)};")
    return out


def timed(name: str, registers: str, before: str, loop: str, after: str, more: str = "") -> str:
    """A kernel around a loop: `p` is q, `pin` q plus 8 bytes for each thread, `tid` the thread. Each warp stores at q the clock and the nanosecond
    before the loop and after it."""
    return (f".visible .entry {name}{SIGNATURE} .maxntid 1024, 1, 1 {more} {{\n.reg .pred again; .reg .b32 tid, n, ctaid, wid; "
            f".reg .b64 p, pin, t8, c0, c1, ns0, ns1, at;\n{registers}"
            "ld.param.u64 p, [q]; ld.param.u32 n, [turns]; mov.u32 tid, %tid.x; mov.u32 ctaid, %ctaid.x; "
            "mul.wide.u32 t8, tid, 8; add.s64 pin, p, t8;\n"
            f"{before}\nbar.sync 0;\nmov.u64 ns0, %globaltimer; mov.u64 c0, %clock64;\nloop:\n.pragma \"nounroll\";\n{loop}\n"
            f"add.s32 n, n, -1; setp.ne.s32 again, n, 0;\n@again bra loop;\nmov.u64 c1, %clock64; mov.u64 ns1, %globaltimer;\n{after}\n"
            "shr.u32 wid, tid, 5; mad.lo.u32 wid, ctaid, 32, wid; mul.wide.u32 at, wid, 32; add.s64 at, p, at;\n"
            "st.global.v2.b64 [at], {c0, c1}; st.global.v2.b64 [at+16], {ns0, ns1};\nret;\n}\n")


def kernel(form: str, name: str, w: Way, chains: int, copies: int) -> str:
    b, carried = Body(), {}
    for copy in range(copies // chains):
        for k in range(chains):
            carried.update(dict(step(b, form, w, k, copy)))
    widths = {1: "pred", 16: "b16", 32: "b32", 64: "b64"}
    registers = "".join(f".reg .{widths[w]} {n};\n" for n, w in b.registers.items()) + ".reg .b32 result;\n"
    after = []
    for n, (x, width) in enumerate(carried.items()):
        after += [f"selp.b32 result, 1, 0, {x};"] if width == 1 else []
        after.append(f"st.global.b{32 if width == 1 else width} [pin+{OUT + n * SLOT}], {'result' if width == 1 else x};")
    return timed(name, registers, "\n".join(b.loads), "\n".join(b.lines), "\n".join(after))


def beside(form: str, w: Way) -> List[str]:
    """The forms that a kernel has once for each of the form."""
    s, opcode = shape(form), form.split()[0]
    out = []
    if form == "vote.sync.ballot.b32":
        out.append("setp.ne.b32")
    elif opcode.split(".")[0] in ("addc", "subc", "madc") or ".cc." in opcode:
        other = "sub" if opcode.startswith("sub") else "add"
        out += [f"{other}.cc.u32"] * (opcode.split(".")[0] in ("addc", "subc", "madc")) + [f"{other}c.u32"] * (".cc." in opcode)
    elif s is not None and s.dest == ["pred"]:
        out += [f"selp.b{bits(s.sources[0])}"] if w.glue == "select" else []
    if w.breaker and not (s and s.dest == ["pred"]):
        n = 32 if s is None or form in HAND else bits(s.sources[w.source])
        out.append(f"add.s{n}" if w.breaker == "add" else f"xor.b{n}")
    if s is not None and s.dest and s.dest != ["pred"] and w.glue == "both":
        out.append(f"xor.b{min(32, bits(s.dest[0]) // 2)}")
    return out


def measurable(form: str) -> Optional[Shape]:
    """The shape of a form that a chain can hold; None: one without result, or whose operand is known."""
    s = shape(form)
    if s is None or form in HAND:
        return s
    no = form.startswith(("cvta", "bar", "fence", "membar", "cp.", "mov.")) or not s.dest or len(s.dest) > 1 or "{" in s.dest[0] or "|" in s.dest[0]
    no = no or any("pred" == t for t in types_of(form)) or all(t[0] == "=" for t in s.sources) or any("128" in t for t in s.dest)
    return None if no else s
