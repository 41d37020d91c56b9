"""Opcodes of the programs that src/rewrite/match.c runs; numbers of operations, types and flags; a rule's compiled Program.

A step is a tuple; encode.py makes its 32-bit words.

    rewrite(sub[N](a, 0), a)     steps ("CLASS", 0, 0, 0, classes of N), ("ANY", 1, 0, 0), ("ANY", 2, 0, 1), ("LIT", 2, 0, 0, 0)
                                 build ("BROOT", 1, 0, 0)
"""
from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Dict, List, Tuple, Union

from gen import ops
from gen.lang import Rule

OPNUM = {o.name: i for i, o in enumerate(ops.OPS)}
TYPENUM = {t.name: i for i, t in enumerate(ops.TYPES)}
FLAGBIT = {f: 1 << i for i, f in enumerate(ops.FLAGS)}
NONE = 0xFF

# Opcodes. gen_tables.py writes code.def from this list, which src/rewrite/ includes.
WORDS = ("TRY FILTER SWAP OP OPX ANY ANYX TYPE CLASS TEQ FLAGS SAME LIT KONST SPLIT GROUP PICK PICKV REST "
         "ADDENDS ADDEND ADDREST KIMM KWIDTH KARITH CREL CFACT CAPART CPERIOD CFIXED CCOUNTS CGIVEN CFLAG ACCEPT "
         "BNODE BLIT BKONST BSUM BINSTR BROOT").split()
WORD = {name: i for i, name in enumerate(WORDS)}
ARITH = {"+": 0, "-": 1, "*": 2, "//": 3, "%": 4, "<<": 5, "log2": 6}  # log2 x, of a power of two; its second operand is no other
REL = {"==": 0, "!=": 1, "<": 2, "<=": 3, ">": 4, ">=": 5}

Step = Tuple  # (word, a, b, c, extra..): extras are ("imm", value) or numbers, one word each


def bits_of(value: Union[bool, int, float]) -> int:
    """As 64 bits. Steps hold bits because 0.0, -0.0, 0 and False are one key of a Python dictionary."""
    return struct.unpack("<Q", struct.pack("<d", value))[0] if isinstance(value, float) else int(value) & (1 << 64) - 1


@dataclass
class Program:
    """What one rule compiles to: the match steps without ACCEPT, and the build steps."""

    rule: Rule
    root: str  # operation's name
    steps: List[Step]
    build: List[Step]
    names: Dict[str, str]  # variable -> "v3" or "k0"
    orders: int            # number of operand orders that the rule is tried in
