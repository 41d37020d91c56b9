"""Asm texts as rules have them: what must hold of the form of each, and what it computes as terms of the rule language, which gen/proof compares with
the rule's left side.

A text with an instruction that gen/asm_text.py does not list is run in the simulator on samples alone, and refused if it computes with integers or
conditions (gen/ledger.py).

    meanings(asm(quot.u32(a, 10), '{ .reg .b32 h; mul.hi.u32 h, %a, 3435973837; shr.u32 %d, h, 3; }'))
        [(quot.u32(a, 10), shrl.u32(mulhi.u32(a, 3435973837), 3), ())]
"""
from __future__ import annotations

import re
from typing import Dict, Iterator, List, Tuple

from gen import llvm_text
from gen.asm_text import NoTerm, Text, bits_name, bits_of, joined, part, recast
from gen.expr import Expr, Lit, Node, PatternError, Type, Var
from gen.forms import operand_variables
from gen.instructions import INSTRUCTIONS
from gen.lang import Rule, parts
from gen.load import of_feature

Meaning = Tuple[Expr, Expr, Tuple[Tuple[Var, str], ...]]  # the left side, the text's term, variables of other lanes with their types
CONDITIONS = re.compile(r"@!?\w|\b(setp?|selp|slct|clz|popc|bfind|brev|bmsk|testp|and|or|xor|not|cnot|lop3|sh[lrf]|bf[ei]|prmt|"
                        r"(add|sub|mul|mad|min|max|sad|dp[24]a)[.\w]*\.[usb]\d)\b")
# form
OTHERS = ("shfl", "vote", "match", "activemask", "redux", "elect", "mma", "ldmatrix")  # instructions that threads execute together
MEMORY = ("ld", "ldu", "st", "atom", "red", "cp", "prefetch", "tex", "suld", "sust", "ldmatrix")
CONTROL = ("bra", "brx", "call", "ret", "exit", "trap", "bar", "barrier", "membar", "fence", "nanosleep")
FUSED = re.compile(r"(add|sub|mul)(\.ftz|\.sat)*\.(b?f16(x2)?|f32(x2)?|f64)")
STATEMENT = re.compile(r"(?:@!?[%\w]+\s+)?([a-z][\w.:]*)\s*(\{[^}]*\}|[^,]*)(.*)")


# --- what must hold of the form ---------------------------------------------------------------------------------------------------------
def statements(text: str) -> Iterator[str]:
    """Of a text, which may stand in braces."""
    inside = text.strip()
    inside = inside[1:-1] if inside.startswith("{") and inside.endswith("}") else inside
    return filter(None, map(str.strip, inside.split(";")))


def opcodes(text: str) -> Iterator[Tuple[str, str, str]]:
    """(opcode, destination, the rest) of each statement; `.reg` has no destination."""
    for s in statements(text):
        m = STATEMENT.fullmatch(s)
        yield (m[1], m[2], m[3]) if m else (s.split()[0], "", s)


def careless(r: Rule) -> str:
    """What is wrong with the form of an asm text, whatever it computes; empty if nothing is."""
    text, done = str(r.right), False
    props = r.left.op.props.split() if isinstance(r.left, Node) else []
    if ".reg" in text and not text.strip().startswith("{"):
        return "a text that declares registers stands in braces: a kernel may hold it twice"
    for opcode, to, rest in opcodes(text):
        base = opcode.split(".")[0]
        own = re.search(r"%[abc](?!\w)", to)
        if own and "[" not in to:
            return f"{opcode} writes {own[0]}, an operand, which others may read"
        if done and re.search(r"%[abc](?!\w)", f"{to} {rest}"):
            return f"{opcode} reads an operand after %d is written, and both may be one register: compute in a register of the text and move it last"
        if FUSED.fullmatch(opcode):
            return f"{opcode} may become part of an fma: say {opcode.replace(base, base + '.rn', 1)}"
        if base in CONTROL or base in MEMORY and "address" not in props or base in OTHERS and "convergent" not in props:
            return f"{opcode} does more than compute {r.left} from its operands"
        done = done or bool(re.search(r"%d(?!\w)", to))
    return ""


# --- what it computes -------------------------------------------------------------------------------------------------------------------
def meanings(r: Rule) -> List[Meaning]:
    """One for each lane; none where the text has an instruction, or the rule a type, that has no meaning here."""
    by_llvm = llvm_text.meaning(r)
    if by_llvm is not None:
        return [(r.left, by_llvm, ())]
    if r.kind != "asm" or not isinstance(r.left, Node) or {"address", "convergent"} & set(r.left.op.props.split()):
        return []
    try:
        return read(r, r.left)
    except (NoTerm, PatternError):  # more operands than the instruction has: ptxas says so
        return []


def register(t: str, lanes: int) -> str:
    """The type of the register that holds so many values; of one byte, with zeros above it, one of 16 bits."""
    whole = bits_of(bits_name(t)) * lanes
    if t == "pred" and lanes == 1:
        return t
    if whole not in (8, 16, 32, 64) or t == "pred":
        raise NoTerm(f"{t}x{lanes}")
    return f"u{max(whole, 16)}"


def read(r: Rule, left: Node) -> List[Meaning]:
    types: Dict[int, str] = {}
    to, lanes = left.result.name, left.result.lanes

    def visit(e: Expr) -> None:
        for n, a in enumerate(e.args if isinstance(e, Node) else ()):
            if isinstance(a, Var):
                t = e.operand_type(n)  # type: ignore[attr-defined]
                if t.lanes != lanes or t.is_class or a.kind not in (("value", "const") if lanes == 1 else ("value",)):
                    raise NoTerm(str(t))
                types[id(a)] = t.name
            visit(a)

    visit(left)
    if left.result.is_class or (lanes > 1 and not all(map(of_feature, parts(r.when)))):
        raise NoTerm(str(left))
    of_lanes = [[v, *(Var(f"{v.name}{n}", "value") for n in range(1, lanes))] for v in operand_variables(left)]
    values = []
    for some, t in zip(of_lanes, (types[id(v)] for v in operand_variables(left))):
        bits, whole = bits_name(t), register(t, lanes)
        values.append((joined([recast(v, bits, t) for v in some], whole, bits), whole))
    text = Text(register(to, lanes), values, r.immediates)
    for statement in statements(str(r.right)):
        text.run(statement)
    if "%d" not in text.values:
        raise NoTerm("%d has no value")
    v, t = text.values["%d"]
    others = [tuple((x[m], types[id(x[0])]) for x in of_lanes for m in range(lanes) if m != n) for n in range(lanes)]
    return [(lane(left, {id(x[0]): x[n] for x in of_lanes}) if lanes > 1 else left, recast(part(v, t, bits_name(to), n), to, bits_name(to)), others[n])
            for n in range(lanes)]


def lane(e: Expr, at: Dict[int, Var]) -> Expr:
    """An expression of vectors as one of the elements that `at` has for its variables."""
    if isinstance(e, Var):
        return at[id(e)]
    if not isinstance(e, Node) or e.op.name in ("pack", "part", "splat", "ramp"):
        if isinstance(e, Lit):
            return e
        raise NoTerm(str(e))
    return Node(e.op, [Type(t.name) for t in e.types], e.flags, [lane(a, at) for a in e.args])


def computes(r: Rule) -> bool:
    """Whether a text on floats also computes with integers, or does something on a condition: single values may go another way."""
    pure = isinstance(r.left, Node) and not {"address", "convergent"} & set(r.left.op.props.split())
    return r.kind == "asm" and pure and (bool(CONDITIONS.search(str(r.right))) or any(op in INSTRUCTIONS for op, _, _ in opcodes(str(r.right))))


def literals(r: Rule) -> List[int]:
    """The integers of a text, which its operands must meet where it is run on samples; of a float its bits (0f3f800000)."""
    found = re.findall(r"(?<![\w.%])(-?(?:0[xX][0-9a-fA-F]+|\d+))U?\b", str(r.right))
    return list(dict.fromkeys([int(x, 0) for x in found] + [int(x, 16) for x in re.findall(r"\b0[fd]([0-9a-fA-F]+)\b", str(r.right))]))


__all__ = ["careless", "computes", "literals", "meanings"]
