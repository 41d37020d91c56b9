"""PTX of the rows that LLVM spells, as patterns/texts.py lists it: which row has which text at which types.

A line is for the rows of a name, where the operation has one of some types. In its text %t stands for the type as PTX spells it, %b for the bits of its
register, %r for the type of the result; %d is the result, %a %b %c are operands, %p an address, %zero 16 bits of 0. (`.b%b` is bits, `%b,` an
operand.) Of a target without the feature that the line `needs`, or with the one that it is for machines `without`, it says nothing. The first line of
a row and its types holds.

Values of 16 bits lie in a register of 16, those of 8 bits and fewer in one of 32, whose upper bits mean nothing: `extend` says for each operand what they
must be: `z` zeros, `s` copies of the sign, `o` one of both by the operand's own type, `-` anything; and `clean` what they are of the result.
`packed` names the types of which a word of two, or for f32 a register of 64 bits, has the same text; `bits`: whatever lies in a word of 32.
`pair` is a text that makes a word of two of operands %a0 and %a1. `constant`: where %b is a constant, which then stands in the text (`b`), or %a the
number 1 (`1`). A text without a character is a value that is there already.
"""
from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Dict, Iterator, List, Tuple

from gen import ops, structs
from gen.expr import Node
from gen.lang import Rule


@dataclass(frozen=True)
class Text:
    name: str
    to: str
    frm: str
    ptx: str
    word: int = 0  # bits of the register that holds several values; 0: one value
    pair: bool = False
    extend: str = ""
    clean: str = ""
    needs: str = ""
    without: str = ""
    costly: bool = False
    constant: str = ""

    def values(self) -> structs.Values:
        """RwText, by field."""
        extend = [bytes([x]) for x in self.extend.encode().ljust(4, b"\0")]
        return [structs.TYPE[self.to], structs.TYPE[self.frm], self.word, self.pair, self.costly, ("", "b", "1").index(self.constant), extend,
                (self.clean or "-").encode(), self.ptx]


def bits_of(kind: str) -> int:
    """Of the register that holds one value."""
    bits = ops.TYPE_BY_NAME[kind].bits
    return 1 if kind == "pred" else 32 if bits < 16 else bits


def spelled(kind: str, packed: bool = False) -> str:
    t = ops.TYPE_BY_NAME[kind]
    name = f"{'s' if t.cls == 'I' else 'u'}{bits_of(kind)}" if t.cls in "IU" else kind
    return f"{name}x2" if packed else name


def filled(ptx: str, to: str, frm: str, packed: bool) -> str:
    """The text with its types. of: the type that is neither a predicate, nor, where there are two, the result's."""
    of = to if frm == "pred" else frm
    bits = (64 if of == "f32" else 32) if packed else bits_of(of)
    sign = {16: "0x8000", 32: "0x80008000"}[bits] if "%sign" in ptx else ""
    rest = {16: "0x7FFF", 32: "0x7FFF7FFF"}[bits] if "%magnitude" in ptx else ""
    ptx = ptx.replace("%sign", sign).replace("%magnitude", rest)
    ptx = re.sub(r"%t\b", spelled(of, packed), re.sub(r"%r\b", spelled(to), ptx))
    return re.sub(r"(\.[bus])%b\b", lambda m: m[1] + str(bits), ptx)


def text(name: str, kinds: str, ptx: str, to: str = "", frm: str = "", packed: str = "", pair: str = "", alone: bool = True, extend: str = "", clean: str = "",
         needs: str = "", without: str = "", costly: bool = False, constant: str = "") -> List[Text]:
    out = []
    for kind in kinds.split():
        result, operand = to or kind, frm or kind
        same = dict(extend=extend, clean=clean, needs=needs, without=without, costly=costly, constant=constant)
        if pair:
            out.append(Text(name, result, operand, pair, word=32, pair=True, **same))
        if packed == "bits" or kind in packed.split():
            whole = 64 if packed != "bits" and kind == "f32" or bits_of(kind) > 32 else 32
            both = re.sub(r"(\.b)%b\b", rf"\g<1>{whole}", ptx) if packed == "bits" else filled(ptx, result, operand, True)
            out.append(Text(name, result, operand, both, word=whole, **dict(same, extend="", clean="")))
        if alone:
            out.append(Text(name, result, operand, filled(ptx, result, operand, False), **same))
    return out


def flat(lines: List[List[Text]]) -> Dict[Tuple[str, str, str], List[Text]]:
    out: Dict[Tuple[str, str, str], List[Text]] = {}
    for x in (x for line in lines for x in line):
        out.setdefault((x.name, x.to, x.frm), []).append(x)
    return out


def instances(r: Rule) -> Iterator[Tuple[str, str]]:
    """The types of the result and of the first operand that a row may have."""
    assert isinstance(r.left, Node)
    op, kinds = r.left.op, [t.members for t in r.left.types]
    for to in kinds[0]:
        if op.sig == "compare":
            yield "pred", to
        elif op.sig == "select":
            yield to, "pred"
        elif len(kinds) > 1:
            yield from ((to, frm) for frm in kinds[1])
        else:
            yield to, to


def of_row(r: Rule, lines: Dict[Tuple[str, str, str], List[Text]], features: Tuple[str, ...]) -> List[Text]:
    """The texts of a row at all its types, for a machine with these features."""
    if r.kind not in ("llvm", "intr"):
        return []
    out = []
    for to, frm in instances(r):
        seen = set()
        for x in lines.get((str(r.right), to, frm), []):
            form = (x.word, x.constant)
            if (not x.needs or x.needs in features) and x.without not in features and form not in seen:
                seen.add(form)
                out.append(x)
    return out


def lacking(r: Rule, have: List[Text], without: Dict[Tuple[str, str, str], str]) -> List[str]:
    """The types at which a row has neither a text of its own, nor a reason why it has none."""
    if r.kind not in ("llvm", "intr"):
        return []
    alone = {(x.to, x.frm) for x in have if not x.word and not x.constant}
    return [f"{r.where[0]}:{r.where[1]}: error: '{r.right}' has no PTX at {to} of {frm}: patterns/texts.py says it, or why there is none"
            for to, frm in instances(r) if (to, frm) not in alone and (str(r.right), to, frm) not in without]

