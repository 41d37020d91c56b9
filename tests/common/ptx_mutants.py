"""Mutants of PTX: one instruction of a kernel is replaced by a wrong one, as text.

    text = Path("kernel.ptx").read_text()
    for m in mutants(text): print(m.kind, m.line, m.what)        # every mutant of every kind, in the order of the text
    Path("kernel.ptx").write_text(m.text(text))

The kinds, and what an instruction becomes:

    load address          the address of a load moves by one access, forward or back
    store address         the same of a store
    store dropped         the store is left out
    loop bound            the comparison that ends a loop, one more or one less
    mask                  another comparison of integers, one more or one less
    comparison            a comparison of floats the other way round: lt becomes gt
    predicate             a branch, or an access, under the opposite condition
    term skipped          a sum, product, maximum .. is its first operand; a fused multiply-add is its addend
    term doubled          the instruction stands twice, the second time on its own result
    combiner              add and sub, max and min, and and or exchanged; mul becomes add, xor becomes or
    initial value         a constant that a loop changes starts as another one
    operands swapped      of an instruction that does not commute
    rounding              a conversion to the nearest rounds towards zero
    constant              another immediate operand: n + 1, twice the float, 1 for 0
    lanes                 two registers of a vector exchanged

What the cases of inputs have to reach, which mutants() leaves out and cases() has, one of each:

    flush                 every sum and difference of f32 takes subnormals for 0
    index cut             a loaded index is one of the first eight
"""
from __future__ import annotations

import re
from typing import Dict, Iterator, List, NamedTuple, Optional, Set

INSTRUCTION = re.compile(r"^(\s*)(@!?%\w+\s+)?([a-z][\w.:]*)\s*(?:\s([^;]*))?;(.*)$")
LABEL = re.compile(r"^\s*(\$\w+):")
INTEGER = re.compile(r"^-?\d+$")
FLOAT = re.compile(r"^0([fd])([0-9A-F]{8,16})$")
WIDTH = re.compile(r"\.(?:[bfsu](16|32|64)|(f16x2|bf16x2)|(bf16|f16))$")
ADDRESS = re.compile(r"^\[(%\w+|\w+)(?:\+(-?\d+))?\]$")
COMBINERS: Dict[str, str] = {"add": "sub", "sub": "add", "max": "min", "min": "max", "and": "or", "or": "and", "mul": "add", "xor": "or"}
TERMS = {"add", "sub", "mul", "max", "min", "and", "or", "xor", "fma", "mad"}
ONCE = {"max", "min", "and", "or"}          # twice the same operand changes nothing
ORDERED = {"sub", "div", "rem", "shl", "shr"}
RELATIONS: Dict[str, str] = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "ltu": "gtu", "gtu": "ltu", "leu": "geu", "geu": "leu",
                             "eq": "ne", "ne": "eq", "equ": "neu", "neu": "equ", "lo": "hi", "hi": "lo", "num": "nan", "nan": "num"}
EXACT = re.compile(r"cvt\.rn\.(f32\.[su](8|16)|f64\.[su](8|16|32)|bf16\.[su]8|f16\.[su]8)$")  # conversions that never round


class Instruction(NamedTuple):
    line: int
    indent: str
    guard: str
    opcode: str
    operands: List[str]
    comment: str

    def text(self, opcode: str = "", operands: Optional[List[str]] = None, guard: Optional[str] = None) -> str:
        ops = self.operands if operands is None else operands
        return f"{self.indent}{self.guard if guard is None else guard}{opcode or self.opcode} \t{', '.join(ops)};{self.comment}"

    @property
    def head(self) -> str:
        return self.opcode.split(".")[0]

    @property
    def width(self) -> str:
        found = WIDTH.search(self.opcode)
        return "" if not found else found[1] or ("32" if found[2] else "16")


class Mutant(NamedTuple):
    kind: str
    line: int           # from 0
    lines: List[str]    # that take its place
    what: str           # before -> after, registers without numbers
    count: int = 1      # how many lines they take the place of

    def text(self, ptx: str) -> str:
        all_lines = ptx.split("\n")
        return "\n".join(all_lines[:self.line] + self.lines + all_lines[self.line + self.count:])


def split(operands: str) -> List[str]:
    """Operands at commas outside of brackets and braces."""
    out, depth, word = [], 0, ""
    for c in operands:
        depth += (c in "[{(") - (c in "]})")
        if c == "," and depth == 0:
            out.append(word.strip())
            word = ""
        else:
            word += c
    return out + [word.strip()] if word.strip() else out


class Kernel:
    """What the mutants need to know of a PTX text."""

    def __init__(self, ptx: str) -> None:
        self.lines = ptx.split("\n")
        self.instructions: List[Instruction] = []
        self.defined: Dict[str, int] = {}       # registers: how many instructions define them
        labels: Dict[str, int] = {}
        self.ends_loop: Set[str] = set()        # predicates of branches that go back
        for n, line in enumerate(self.lines):
            label = LABEL.match(line)
            if label:
                labels[label[1]] = n
            m = INSTRUCTION.match(line)
            if not m or m[3].startswith("."):
                continue
            i = Instruction(n, m[1], m[2] or "", m[3], split(m[4] or ""), m[5])
            self.instructions.append(i)
            if i.operands and i.head not in ("st", "bra", "ret", "bar"):
                for r in i.operands[0].strip("{}").split(","):
                    self.defined[r.strip()] = self.defined.get(r.strip(), 0) + 1
            if i.head == "bra" and i.guard and i.operands[0] in labels:
                self.ends_loop.add(i.guard.strip().lstrip("@!"))


def other_constant(word: str) -> str:
    """Another immediate, far enough from it to matter: a float of twice the size, 1 for 0, 0 for infinity; n + 1, or 5/4 n where n is a
    multiplier of a division or the bits of a float."""
    if INTEGER.match(word):
        n = int(word)
        if abs(n) < 1 << 16:
            return str(n + 1)
        if n & 0x7fffff == 0 and 0 < n < 1 << 31:
            return str((n + 0x800000) & 0x7fffffff)
        return str(n - (n >> 2) if n > 0 else n + (-n >> 2))
    m = FLOAT.match(word)
    assert m
    digits, exponent = len(m[2]), (0x7f800000, 0x800000, 0x3f800000) if m[1] == "f" else (0x7ff << 52, 1 << 52, 0x3ff << 52)
    bits = int(m[2], 16)
    sign = 1 << (4 * digits - 1)
    if bits & ~sign == 0:
        bits = exponent[2]
    elif bits & exponent[0] == exponent[0]:
        bits = 0
    else:
        bits += exponent[1]
    return f"0{m[1]}{bits:0{digits}X}"


def other_operand(i: Instruction, n: int) -> str:
    """Another constant for operand n. A mask loses its lowest bit and a field its length: the bits beside may be
    known to be zero. Bits of 16 change to about 1 of any small float."""
    word = i.operands[n]
    if i.head == "and" and INTEGER.match(word) and int(word) > 0:
        return str(int(word) & int(word) - 1)
    if i.head == "bfe" and n == 3:
        return str(int(word) - 1)
    if i.opcode == "mov.b16" and word == "0":
        return "60"
    return other_constant(word)


def is_constant(word: str) -> bool:
    return bool(INTEGER.match(word) or FLOAT.match(word))


def shifted(i: Instruction, at: int) -> Iterator[Instruction]:
    """The instruction with the address of operand `at` one access forward and back."""
    m = ADDRESS.match(i.operands[at])
    scale = re.search(r"\.[bfsu](8|16|32|64)$", i.opcode)
    if not m or not scale:
        return
    count = int((re.search(r"\.v(\d)", i.opcode) or [0, "1"])[1])
    for by in (1, -1):
        ops = list(i.operands)
        ops[at] = f"[{m[1]}+{int(m[2] or 0) + by * count * int(scale[1]) // 8}]"
        yield i._replace(operands=ops)


def permuted(operand: str) -> Optional[str]:
    """A vector with two different registers exchanged."""
    regs = [r.strip() for r in operand.strip("{}").split(",")]
    for k in range(len(regs) - 1):
        if regs[k] != regs[k + 1]:
            regs[k], regs[k + 1] = regs[k + 1], regs[k]
            return "{" + ", ".join(regs) + "}"
    return None


def memory(i: Instruction) -> Iterator[tuple]:
    if i.head == "ld" and ".param" not in i.opcode:
        for other in shifted(i, 1):
            yield "load address", [other.text()]
    if i.head == "st":
        for other in shifted(i, 0):
            yield "store address", [other.text()]
        yield "store dropped", [f"{i.indent}// no store"]
    for k, operand in enumerate(i.operands):
        turned = permuted(operand) if operand.startswith("{") else None
        if turned:
            yield "lanes", [i.text(operands=i.operands[:k] + [turned] + i.operands[k + 1:])]


def comparison(i: Instruction, k: Kernel) -> Iterator[tuple]:
    words = i.opcode.split(".")
    if words[-1][0] in "sub" and INTEGER.match(i.operands[-1]) and abs(int(i.operands[-1])) < 1 << 62:
        kind = "loop bound" if i.operands[0] in k.ends_loop else "mask"
        for by in (1, -1):
            yield kind, [i.text(operands=i.operands[:-1] + [str(int(i.operands[-1]) + by)])]
    if words[1] in RELATIONS and i.operands[0] not in k.ends_loop:
        words[1] = RELATIONS[words[1]]
        yield "comparison", [i.text(".".join(words))]


def arithmetic(i: Instruction, k: Kernel) -> Iterator[tuple]:
    ops, head = i.operands, i.head
    if head == "add" and ops[-1] in ("0f00000000", "0d0000000000000000"):
        return  # turns -0 into 0, which is judged the same
    plain = len(ops) == 3 and ".wide" not in i.opcode and ".hi" not in i.opcode
    if head in TERMS and i.width and (plain or len(ops) == 4 and ".sat" not in i.opcode and ".wide" not in i.opcode and ".hi" not in i.opcode):
        yield "term skipped", [i.text(f"mov.b{i.width}", [ops[0], ops[1] if plain else ops[3]])]
        if head not in ONCE and ops[0] not in ops[1:]:
            again = [ops[0], ops[0], ops[2]] if plain else ops[:3] + [ops[0]]
            yield "term doubled", [i.text(), i.text(operands=again)]
    if head in COMBINERS and plain and ops[1] != ops[2]:
        yield "combiner", [i.text(re.sub(rf"^{head}(\.lo)?", COMBINERS[head], i.opcode))]
    if head in ("fma", "mad") and len(ops) == 4 and ops[1] != ops[3] and ".wide" not in i.opcode:
        yield "combiner", [i.text(operands=[ops[0], ops[3], ops[2], ops[1]])] if not is_constant(ops[3]) else [i.text(f"mov.b{i.width}", [ops[0], ops[2]])]
    if head in ORDERED and ops[1] != ops[2] and not is_constant(ops[1]) and not is_constant(ops[2]) and head not in ("shl", "shr"):
        yield "operands swapped", [i.text(operands=[ops[0], ops[2], ops[1]])]
    if head == "selp" and ops[1] != ops[2]:
        yield "operands swapped", [i.text(operands=[ops[0], ops[2], ops[1], ops[3]])]
    if head == "cvt" and len(ops) == 3 and ops[1] != ops[2]:
        yield "operands swapped", [i.text(operands=[ops[0], ops[2], ops[1]])]
    for n in range(1, len(ops)):
        if is_constant(ops[n]) and head != "prmt" and not (head == "mov" and k.defined.get(ops[0], 0) > 1):
            yield "constant", [i.text(operands=ops[:n] + [other_operand(i, n)] + ops[n + 1:])]


def of_instruction(i: Instruction, k: Kernel) -> Iterator[tuple]:
    if i.guard and i.guard.strip().lstrip("@!") not in k.ends_loop:
        guard = i.guard.replace("@!", "@") if "@!" in i.guard else i.guard.replace("@", "@!")
        yield "predicate", [i.text(guard=guard)]
    if i.head in ("ld", "st") or i.operands and any(o.startswith("{") for o in i.operands):
        yield from memory(i)
    elif i.head == "setp":
        yield from comparison(i, k)
    elif i.head in ("bra", "ret", "bar", "call", "cvta"):
        return
    else:
        yield from arithmetic(i, k)
    if i.head == "cvt" and ".rn." in i.opcode and not EXACT.match(i.opcode):
        yield "rounding", [i.text(i.opcode.replace(".rn.", ".rz.", 1))]
    if i.head == "cvt" and ".rni." in i.opcode:
        yield "rounding", [i.text(i.opcode.replace(".rni.", ".rzi.", 1))]
    if i.head == "mov" and len(i.operands) == 2 and is_constant(i.operands[1]) and k.defined.get(i.operands[0], 0) > 1:
        yield "initial value", [i.text(operands=[i.operands[0], other_operand(i, 1)])]


def anonymous(line: str) -> str:
    """An instruction without numbers of registers, blanks and comment: what a list of known mutants can name."""
    return re.sub(r"\s+", " ", re.sub(r"(%[a-z]+)\d+", r"\1", line.split("//")[0].split(";")[0])).strip()


def mutants(ptx: str) -> List[Mutant]:
    k = Kernel(ptx)
    out = []
    for i in k.instructions:
        for kind, lines in of_instruction(i, k):
            what = f"{anonymous(k.lines[i.line])} -> {'; '.join(anonymous(line) for line in lines) or 'none'}"
            out.append(Mutant(kind, i.line, lines, what))
    return out


FLUSHED = re.compile(r"\b(add|sub)(\.rn)?\.f32\b")


def cases(ptx: str, indices: bool) -> List[Mutant]:
    """Mutants that show at some inputs alone. indices: the first integer that is loaded alone is an index."""
    k, out = Kernel(ptx), []
    sums = [i.line for i in k.instructions if FLUSHED.match(i.opcode)]
    if sums:
        lines = [FLUSHED.sub(r"\1\2.ftz.f32", line) for line in k.lines[sums[0]:sums[-1] + 1]]
        out.append(Mutant("flush", sums[0], lines, "add.f32 -> add.ftz.f32, everywhere", len(lines)))
    used = {i.operands[n].strip() for i in k.instructions for n in range(1, len(i.operands))
            if re.match(r"(mul\.wide|mad\.wide|mul\.lo|setp\.\w+|min|max|cvt|shl|add|sub)\S*\.[su](32|64)$", i.opcode)}
    loads = [i for i in k.instructions if re.match(r"ld\.global\S*\.[bsu](32|64)$", i.opcode) and i.operands[0] in used]
    if indices and loads:
        i = loads[0]
        cut = f"{i.indent}and.b{i.width} \t{i.operands[0]}, {i.operands[0]}, 7;"
        out.append(Mutant("index cut", i.line, [k.lines[i.line], cut], f"{anonymous(k.lines[i.line])}; {anonymous(cut)}"))
    return out
