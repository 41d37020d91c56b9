"""Words and tries: how steps of match and build programs become the 32-bit words that src/rewrite/match.c runs.

The rules of one root operation are merged into an ordered trie: a step is shared only with the rule just before, so the first rule
of the list still wins.
"""
from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Dict, List, Tuple, Union

from gen import ops

if TYPE_CHECKING:
    from gen.compile import Program

OPNUM = {o.name: i for i, o in enumerate(ops.OPS)}
TYPENUM = {t.name: i for i, t in enumerate(ops.TYPES)}
FLAGBIT = {f: 1 << i for i, f in enumerate(ops.FLAGS)}
NONE = 0xFF

# Opcodes of the words; the C side has the same list in the same order (src/rewrite/code.def is written from it).
WORDS = ("TRY OP ANY TYPE CLASS TEQ FLAGS SAME LIT KONST SPLIT PICK REST "
         "KIMM KWIDTH KARITH CREL CWITHIN CMULTIPLE CFLAG ACCEPT "
         "BNODE BLIT BKONST BSUM BINSTR BROOT").split()
WORD = {name: i for i, name in enumerate(WORDS)}
ARITH = {"+": 0, "-": 1, "*": 2, "//": 3, "%": 4}
REL = {"==": 0, "!=": 1, "<": 2, "<=": 3, ">": 4, ">=": 5}

Step = Tuple  # (word, a, b, c, extra..): extras are ("imm", value) or numbers, one word each


def bits_of(value: Union[bool, int, float]) -> int:
    """As 64 bits. Steps hold bits, since Python takes 0.0, -0.0, 0 and False for one key of a dictionary."""
    return struct.unpack("<Q", struct.pack("<d", value))[0] if isinstance(value, float) else int(value) & (1 << 64) - 1


@dataclass
class Trie:
    children: List[Tuple[Step, "Trie"]] = field(default_factory=list)

    def insert(self, steps: List[Step], leaf: Step) -> None:
        """Behind everything that is there; shares steps with the rule just before. Not from a PICK on: there the next term
        would be tried for the first of the rules only after all of them had failed at this one."""
        node = self
        for s in [*steps, leaf]:
            if not node.children or node.children[-1][0] != s or s[0] == "PICK":
                node.children.append((s, Trie()))
            node = node.children[-1][1]


@dataclass
class Tables:
    """Code under construction; word 0 is never a program, so offset 0 means none."""

    code: List[int] = field(default_factory=lambda: [0])
    imm: List[int] = field(default_factory=list)
    tails: Dict[Tuple[Step, ...], int] = field(default_factory=dict)

    def immediate(self, bits: int) -> int:
        if bits not in self.imm:
            self.imm.append(bits)
        return self.imm.index(bits)

    def put(self, s: Step) -> None:
        word, a, b, c = s[0], s[1], s[2], s[3]
        self.code.append(WORD[word] | a << 8 | b << 16 | c << 24)
        for x in s[4:]:
            self.code.append(self.immediate(x[1]) if isinstance(x, tuple) else x)

    def build(self, steps: List[Step]) -> int:
        """Offset of a build program; equal programs are stored once."""
        key = tuple(steps)
        if key not in self.tails:
            self.tails[key] = len(self.code)
            for s in steps:
                self.put(s)
        return self.tails[key]

    def trie(self, t: Trie) -> None:
        for n, (step, child) in enumerate(t.children):
            try_at = len(self.code) if n + 1 < len(t.children) else -1
            if try_at >= 0:
                self.code.append(0)
            self.put(step)
            self.trie(child)
            if try_at >= 0:
                self.code[try_at] = WORD["TRY"] | (len(self.code) - try_at) << 8

    def rules(self, programs: "List[Program]", first_rule: Dict[int, int]) -> Dict[str, int]:
        """Entry offset by root operation of one stratum's programs, in list order."""
        tries: Dict[str, Trie] = {}
        for p in programs:
            leaf = ("ACCEPT", 0, 0, 0, first_rule[id(p.rule)], self.build(p.build))
            tries.setdefault(p.root, Trie()).insert(p.steps, leaf)
        entry = {}
        for name in sorted(tries, key=lambda n: OPNUM[n]):
            entry[name] = len(self.code)
            self.trie(tries[name])
        return entry
