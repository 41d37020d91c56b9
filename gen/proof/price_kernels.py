"""PTX kernels that hold a form of instruction a number of times and little else, so that ptxas shows what machine code one of them is.

A form is an opcode with its modifiers as PTX spells them, and a suffix where operands change the price: ` imm` a literal among the sources; of mov ` pack`,
` unpack`, ` special` (a special register), ` symbol`; ` 3` a minimum or maximum of three. Operands are loaded from memory, a thread its own, so that
nothing is known to be alike in all threads; results are stored. Each copy has registers of its own: nothing is merged or dropped.

    kernel("div.full.f32", "k7", 4)     .visible .entry k7(..) { ld.global.b32 a0, [p+0]; .. div.full.f32 d0, a0, b0; .. st.global.b32 [p+4096], d0; .. }
"""
from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Dict, List, Optional, Tuple

from gen.instructions import INSTRUCTIONS

TYPE = re.compile(r"^(?:[subf]|bf|tf|e\dm|ue\dm)\d+(?:x[24])?$|^pred$")
OUT, STEP = 65536, 64  # offset of results in memory; bytes between operands


def bits(t: str) -> int:
    """Width of a register that holds a value of the type; 1: a predicate."""
    if t == "pred":
        return 1
    if t[0] in "eu" and "m" in t:  # e4m3x2, ue8m0x2
        return 16
    n, _, lanes = re.sub(r"^[a-z]+", "", t).partition("x")
    return max(16, int(n) * int(lanes or 1))


def memory(t: str) -> int:
    """Bits that a value of the type has in memory."""
    return 8 if re.fullmatch(r"[sub]8", t) else bits(t)


@dataclass
class Shape:
    """How a form is called. dest: types of results; sources: types of operands, or texts after '='. Before and after it stand other instructions, whose own
    machine code is `less`."""

    dest: List[str]
    sources: List[str]
    imm: Optional[int] = None  # the source that is a literal under ` imm`
    before: str = ""
    after: str = ""
    less: List[str] = field(default_factory=list)


TWO = "add sub mul min max and or xor rem div copysign"
ONE = "abs neg not sqrt rsqrt rcp ex2 lg2 sin cos tanh popc clz brev bfind cnot"
THREE = "fma mad sad bfe prmt shf lop3 dp4a slct bfi"


def types_of(form: str) -> List[str]:
    return [w for w in form.split()[0].split(".")[1:] if TYPE.match(w)]


def carries(opcode: str) -> Shape:
    """Instructions of extended precision: with the instruction that makes, or takes, the carry."""
    base, t = opcode.split(".")[0], types_of(opcode)[-1]
    takes, gives = base in ("addc", "subc", "madc"), ".cc." in opcode
    plain = {"addc": "add", "subc": "sub", "madc": "mad"}.get(base, base)
    sources = [t] * (3 if plain == "mad" else 2)
    other = "sub" if plain == "sub" else "add"
    before = f"{other}.cc.{t} x#, a#, y#; " if takes else ""
    after = f"{other}c.{t} z#, y#, x#; " if gives else ""
    return Shape([t], sources, None, before, after, [f"{other}.{t}"] * (takes + gives))


def arithmetic(form: str) -> Optional[Shape]:
    opcode, _, suffix = form.partition(" ")
    row = INSTRUCTIONS.get(opcode)
    if row:
        return Shape([row.result], list(row.operands))
    words, t = opcode.split("."), types_of(form)
    base = words[0]
    if base in ("addc", "subc", "madc") or ".cc." in opcode:
        return carries(opcode)
    if base == "mul" and "wide" in words:
        return Shape([t[0][0] + str(2 * bits(t[0]))], [t[0]] * 2, 1)
    if base == "mad" and "wide" in words:
        wide = t[0][0] + str(2 * bits(t[0]))
        return Shape([wide], [t[0], t[0], wide], 1)
    if base in ("min", "max") and suffix == "3":
        return Shape([t[-1]], [t[-1]] * 3)
    if len(t) == 2 and base in ("add", "sub", "fma") and t[0] == "f32":  # mixed: the last source is wide
        return Shape(["f32"], [t[1]] * (2 if base == "fma" else 1) + ["f32"])
    if base in TWO.split():
        return Shape([t[-1]], [t[-1]] * 2, 1)
    if base in ONE.split():
        return Shape(["b32" if base in ("popc", "clz", "bfind") else t[-1]], [t[-1]], 0)
    if base in ("shl", "shr"):
        return Shape([t[-1]], [t[-1], "u32"], 1)
    if base == "shf":
        return Shape(["b32"], ["b32", "b32", "u32"], 2)
    if base == "bfe":
        return Shape([t[-1]], [t[-1], "u32", "u32" if suffix != "imm" else "=8"], 1)
    if base == "bfi":
        return Shape([t[-1]], [t[-1], t[-1], "u32", "u32" if suffix != "imm" else "=8"], 2)
    if base == "lop3":
        return Shape(["b32"], ["b32", "b32", "b32", "=0x96"])
    if base == "prmt":
        return Shape(["b32"], ["b32", "b32", "u32"], 2)
    if base == "slct":
        return Shape([t[0]], [t[0], t[0], t[1]])
    if base == "dp4a":
        return Shape([t[-1]], [t[0], t[1], t[-1]])
    return Shape([t[-1]], [t[-1]] * 3, 1) if base in THREE.split() else None


def predicates(form: str) -> Optional[Shape]:
    """Comparisons, selections, logic of predicates. The predicate that these read is a comparison's result."""
    words, t = form.split()[0].split("."), types_of(form)
    test, tests = "setp.ne.b32 {0}#, {0}n#, 0; ", ["setp.ne.b32 imm"]
    logic = any(w in words[2:] for w in ("and", "or", "xor")) and words[0] in ("setp", "set")
    if words[0] == "setp":
        pair = t[-1] in ("f16x2", "bf16x2")
        return Shape(["pred|pred"] if pair else ["pred"], [t[-1], t[-1]] + (["pred"] if logic else []), 1)
    if words[0] == "set":
        return Shape([t[0]], [t[-1], t[-1]] + (["pred"] if logic else []), 1)
    if words[0] == "selp":
        return Shape([t[-1]], [t[-1], t[-1], "pred"], 1)
    if words[0] in ("and", "or", "xor", "not", "mov") and t == ["pred"]:
        n = 1 if words[0] in ("not", "mov") else 2
        return Shape(["pred"], ["pred"] * n, None, "".join(test.format(c) for c in "ab"[:n]), "", tests * n)
    return None


def conversions(form: str) -> Optional[Shape]:
    words, t = form.split()[0].split("."), types_of(form)
    if words[0] == "cvta":
        return Shape(["b64"], ["b64"])
    if words[0] != "cvt" or len(t) != 2:
        return None
    two = t[0].endswith("x2") and not t[1].endswith("x2") or ".".join(words[1:3]) == "pack.sat"
    return Shape([t[0]], [t[1]] * (2 if two else 1))


def moves(form: str) -> Optional[Shape]:
    opcode, _, suffix = form.partition(" ")
    t = types_of(form)
    if not opcode.startswith("mov.") or t == ["pred"]:
        return None
    half = f"b{bits(t[0]) // 2}"
    shapes = {"": Shape(t, t), "imm": Shape(t, [t[0]], 0), "pack": Shape(t, ["{" + half]), "unpack": Shape(["{" + half], t),
              "special": Shape(t, ["=%ctaid.x"]), "symbol": Shape(t, ["=table"])}
    return shapes.get(suffix)


def lanes(form: str) -> Optional[Shape]:
    """What the threads of a warp or a block do together."""
    opcode = form.split()[0]
    words, t = opcode.split("."), types_of(form)
    if words[0] == "shfl":
        return Shape(["b32"], ["b32", "=1" if words[2] != "idx" else "=0", "=0x1f" if words[2] != "up" else "=0", "=-1"])
    if words[0] == "redux":
        return Shape([t[-1]], [t[-1], "=-1"])
    if words[0] == "vote":
        return Shape(["b32" if "ballot" in words else "pred"], ["pred", "=-1"], None, "setp.ne.b32 a#, an#, 0; ", "", ["setp.ne.b32 imm"])
    if words[0] == "activemask":
        return Shape(["b32"], [])
    if opcode in ("bar.sync", "barrier.sync", "barrier.sync.aligned", "bar.warp.sync"):
        return Shape([], ["=-1" if opcode == "bar.warp.sync" else "=0"])
    plain = ("membar", "fence", "barrier.cluster.arrive", "barrier.cluster.wait", "cp.async.commit_group", "cp.async.wait_all")
    if opcode.startswith(plain):
        return Shape([], [])
    return Shape([], ["=0"]) if opcode == "cp.async.wait_group" else None


def shape(form: str) -> Optional[Shape]:
    """None: no kernel is known for the form, as for accesses of memory, which `access` knows."""
    for way in (conversions, moves, predicates, lanes, arithmetic):
        found = way(form) if not any(s in form for s in ("ld.", "st.", "atom.", "red.")) or form.startswith(("setp", "set.")) else None
        if found:
            return found
    return None


# --- text ----------------------------------------------------------------------------------------------------------------------------------
def literal(t: str, copy: int, product: bool) -> str:
    """A literal of the type, another one for each copy, as code has: few shifts, odd divisors, constants of all 64 bits."""
    return {"f32": f"0f3FC{copy:01X}0A3D", "f64": f"0d3FF921FB5444{copy:02X}18"}.get(t, str((12345 if product else 7) + 2 * copy))


class Text:
    """The body of a kernel: declarations, loads, instructions, stores."""

    def __init__(self) -> None:
        self.loads: List[str] = []
        self.body: List[str] = []
        self.registers: Dict[str, int] = {}
        self.offset = 0

    def register(self, name: str, width: int) -> str:
        self.registers[name] = width
        return name

    def loaded(self, name: str, t: str) -> str:
        """A register with a value from memory."""
        if t == "pred":
            self.loaded(name + "v", "b32")
            self.loads.append(f"setp.ne.b32 {self.register(name, 1)}, {name}v, 0;")
            return name
        width, kind = bits(t), ("s8" if t == "s8" else f"b{memory(t)}")
        self.offset += STEP
        self.register(name, width)
        if width == 128:
            self.loads.append(f"{{ .reg .b64 lo, hi; ld.global.v2.b64 {{lo, hi}}, [p+{self.offset}]; mov.b128 {name}, {{lo, hi}}; }}")
        else:
            self.loads.append(f"ld.global.{kind} {name}, [p+{self.offset}];")
        return name

    def stored(self, name: str, t: str, at: int) -> None:
        width = memory(t)
        if t == "pred":
            self.body.append(f"@{name} st.global.b32 [p+{at}], one;")
        elif width == 128:
            self.body.append(f"{{ .reg .b64 lo, hi; mov.b128 {{lo, hi}}, {name}; st.global.v2.b64 [p+{at}], {{lo, hi}}; }}")
        else:
            self.body.append(f"st.global.b{width} [p+{at}], {name};")

    def kernel(self, name: str) -> str:
        regs = "".join(f".reg .{'pred' if w == 1 else f'b{w}'} {n};\n" for n, w in self.registers.items())
        lines = "\n".join(self.loads + self.body)
        return (f".visible .entry {name}(.param .u64 q) {{\n.reg .b64 p; .reg .b32 one, tid;\n{regs}"
                f"ld.param.u64 p, [q];\nmov.u32 tid, %tid.x;\nmad.wide.u32 p, tid, 32, p;\nld.global.b32 one, [p];\n{lines}\n"
                "st.global.b32 [p+32], one;\nret;\n}\n")


def operand(text: Text, s: Shape, form: str, k: int, copy: int) -> str:
    t, name = s.sources[k], f"{'abcd'[k]}{copy}"
    if t.startswith("="):
        return t[1:]
    if t.startswith("{"):
        return "{" + ", ".join(text.loaded(f"{name}_{i}", t[1:]) for i in "lh") + "}"
    if form.endswith(" imm") and s.imm == k:
        return literal(t, copy, form.startswith(("mul", "mad", "div", "rem")))
    if t == "pred" and s.before:  # made by an instruction of its own
        text.loaded(f"{name[0]}n{copy}", "b32")
        return text.register(name, 1)
    shared = t == "pred" or (k == 1 and form.startswith(("shl", "shr")))
    return text.loaded("shared_" + t if shared else name, t) if not shared or "shared_" + t not in text.registers else "shared_" + t


def add_copy(text: Text, form: str, s: Shape, copy: int) -> None:
    """One of the form, with operands of its own and its results stored."""
    dest: List[Tuple[str, str]] = []
    shown: List[str] = []
    for t in s.dest:
        if t.startswith("{"):
            dest += [(text.register(f"d{copy}_{i}", bits(t[1:])), t[1:]) for i in "lh"]
            shown.append("{" + ", ".join(n for n, _ in dest) + "}")
        elif t == "pred|pred":
            dest += [(text.register(f"d{copy}_{i}", 1), "pred") for i in "lh"]
            shown.append("|".join(n for n, _ in dest))
        else:
            dest.append((text.register(f"d{copy}", bits(t)), t))
            shown.append(f"d{copy}")
    operands = [operand(text, s, form, k, copy) for k in range(len(s.sources))]
    for c in "xyz":
        if f"{c}#" in s.before + s.after:
            text.loaded(f"{c}{copy}", "b32") if c == "y" else text.register(f"{c}{copy}", 32)
            if c != "y":
                dest.append((f"{c}{copy}", "b32"))
    text.body.append(s.before.replace("#", str(copy)))
    text.body.append(f"{form.split()[0]} {', '.join(shown + operands)};")
    text.body.append(s.after.replace("#", str(copy)))
    for n, (name, t) in enumerate(dest):
        text.stored(name, t, OUT + copy * 256 + n * STEP)
    if not dest:  # barriers: something stands between two
        text.stored("one", "b32", OUT + copy * 256)


def kernel(form: str, name: str, copies: int) -> str:
    """The text of a kernel with so many of the form; empty if none is known. With 0 of it the kernel has what all have."""
    from gen.proof import price_accesses
    text, s = Text(), shape(form)
    for copy in range(copies):
        if s is not None:
            add_copy(text, form, s, copy)
        elif not price_accesses.add_copy(text, form, copy):
            return ""
    return text.kernel(name)


def less(form: str) -> List[str]:
    """The forms that stand in the kernel beside each copy."""
    s = shape(form)
    if form.startswith("ld.param.") and ".v" not in form:
        return [f"add.s{bits(types_of(form)[-1])}"]
    return s.less if s else []


def waits(form: str) -> bool:
    """Accesses and what threads do together: their results are not only what their operands make of them."""
    return shape(form) is None or lanes(form) is not None
