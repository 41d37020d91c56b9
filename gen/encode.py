"""Encodes the steps of match and build programs as the 32-bit words that src/rewrite/match.c runs.

The rules of one root operation are merged into an ordered trie. A rule shares steps only with the rule just before it, so the first rule
of the list still wins. Where a root has many branches, a FILTER comes before them. It looks at properties of the node that distinguish
the branches (the operation of an operand or of an operand's operand, the class of a constant there, the element type); a table maps each
value of a property to a row of bits, one for each branch. The branches in the intersection of the rows are tried in order.
"""
from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Dict, List, Tuple

from gen import ops
from gen.opcodes import NONE, OPNUM, WORD, Program, Step

FILTER_BRANCHES = 6  # fewer are tried one after another
FILTER_KEYS = 10
FILTER_MOST = 4096   # the most branches that the engine supports


@dataclass
class Trie:
    children: List[Tuple[Step, "Trie"]] = field(default_factory=list)

    def insert(self, steps: List[Step], leaf: Step) -> None:
        """Adds a program after all others, sharing steps with the last one. Steps from a PICK, GROUP, SWAP or ADDEND on are not shared: these try
        terms of a sum, or orders of operands, in turn, and a shared one would try all rules at one before the first rule at the next."""
        node = self
        for s in [*steps, leaf]:
            if not node.children or node.children[-1][0] != s or s[0] in ("PICK", "GROUP", "SWAP", "ADDEND"):
                node.children.append((s, Trie()))
            node = node.children[-1][1]


Key = Tuple[int, ...]  # a property, KIND or TYPE, then the path of operands from the root to the node that has it
KIND, TYPE = 0, 1  # the operation, or the class of a constant; the element type
SPECIAL = {0: 1, 1: 2, -1: 3, 2: 4}  # value -> class of constants; -0.0 has class 5, other values 6
CLASSES, ANY_CLASS = 7, 0x7E
WIDTHS = sorted({t.bits for t in ops.TYPES if t.cls in "IUX"})
VALUES = {KIND: (len(ops.OPS) + CLASSES + 3) // 4 * 4, TYPE: 64}


def literal_classes(bits: int, is_float: int) -> int:
    """Classes, as bits, that a literal can have after conversion to the type of its operand position: floats of few digits keep theirs."""
    if not is_float:
        value, out = bits - (1 << 64) if bits >> 63 else bits, 0
        for w in WIDTHS:
            if -1 << w - 1 <= value < 1 << w:  # only types that can hold it: slots.check_literal
                narrowed = value & (1 << w) - 1
                out |= 1 << SPECIAL.get(-1 if narrowed == (1 << w) - 1 else narrowed, 6)
        return out or ANY_CLASS
    x = struct.unpack("<d", struct.pack("<Q", bits))[0]
    if x in SPECIAL:
        return 1 << 5 if bits >> 63 and x == 0 else 1 << SPECIAL[x]
    return 1 << 6 if 0.25 <= abs(x) <= 8 and x * 4 == int(x * 4) and abs(x) in (0.25, 0.5, 1.5, 3.0, 4.0, 6.0, 8.0) else ANY_CLASS


def asked(steps: List[Step]) -> Dict[Key, int]:
    """What a program requires of its node: property -> set of kinds or types, as bits."""
    out: Dict[Key, int] = {}
    path: Dict[int, Tuple[int, ...]] = {0: ()}
    for step in steps:
        word, slot = step[0], step[1]
        if word == "OP" and step[3] != NONE and step[2] in path:
            path[slot] = (*path[step[2]], step[3])
            out[(KIND, *path[slot])] = 1 << step[4]
        elif word == "ANY" and step[2] in path:
            path[slot] = (*path[step[2]], step[3])
        elif word == "LIT" and slot in path:
            out[(KIND, *path[slot])] = literal_classes(step[4][1], step[2]) << len(ops.OPS)
        elif word == "KONST" and step[2] in path:
            out[(KIND, *path[step[2]])] = ANY_CLASS << len(ops.OPS)
        elif word == "TYPE" and slot in path:
            out[(TYPE, *path[slot])] = 1 << (step[4] & 63)
        elif word == "CLASS" and slot in path:
            out[(TYPE, *path[slot])] = step[4][1]
        elif word in ("PICK", "SPLIT", "GROUP", "ADDENDS"):
            break
    return {k: v for k, v in out.items() if len(k) <= 3}


def kinds_of_type(wanted: List[Dict[Key, int]]) -> Tuple[Key, List[int]]:
    """The key of the type that all programs ask for, and a group for each program, named by its first type. Types that one program accepts
    together, such as all integers, are in one group."""
    key = (TYPE,) if all((TYPE,) in w for w in wanted) else (TYPE, 0)
    groups: List[int] = []
    for w in wanted:
        types = w.get(key, -1)
        for g in [g for g in groups if g & types]:
            groups.remove(g)
            types |= g
        groups.append(types)
    return key, [next(g & -g for g in groups if g & w.get(key, -1)) for w in wanted]


def rows_of(key: Key, wanted: List[Dict[Key, int]]) -> List[int]:
    """For each value of a property, the branches that accept it, as bits."""
    out = [sum(1 << n for n, w in enumerate(wanted) if key not in w)] * VALUES[key[0]]
    for n, w in enumerate(wanted):
        bits = w.get(key, 0)
        while bits:
            out[(bits & -bits).bit_length() - 1] |= 1 << n
            bits &= bits - 1
    return out


def best_keys(wanted: List[Dict[Key, int]], first: List[Key]) -> List[Tuple[Key, List[int]]]:
    """The keys of a FILTER, with their rows. The keys after `first` are chosen greedily: each leaves the fewest branches on average, of those
    that remain if every key before it leaves as many as it can. Values that leave the same branches count once in the average, so that
    values that no branch accepts do not dominate it."""
    rows = {k: rows_of(k, wanted) for k in sorted({k for w in wanted for k in w})}
    remaining, out = (1 << len(wanted)) - 1, []

    def leaves(k: Key) -> float:
        different = {r & remaining for r in rows[k]}
        return sum(bin(r).count("1") for r in different) / len(different)

    while rows and len(out) < FILTER_KEYS:
        key = first[len(out)] if len(out) < len(first) else min(rows, key=leaves)
        if out and leaves(key) > 0.95 * bin(remaining).count("1"):
            break
        out.append((key, rows.pop(key)))
        remaining = max((r & remaining for r in out[-1][1]), key=lambda r: bin(r).count("1"))
    return out


@dataclass
class Tables:
    """Tables under construction. No program starts at word 0, so offset 0 means none."""

    code: List[int] = field(default_factory=lambda: [0])
    imm: List[int] = field(default_factory=list)
    tails: Dict[Tuple[Step, ...], int] = field(default_factory=dict)
    n_build: int = 0  # words of build programs
    n_filter: int = 0  # words of FILTERs and of their maps

    numbers: Dict[int, int] = field(default_factory=dict)  # immediate -> its index
    rows: Dict[Tuple[int, ...], int] = field(default_factory=dict)  # rows of a key of a FILTER -> their index among the immediates

    def immediate(self, bits: int) -> int:
        if bits not in self.numbers:
            self.numbers[bits] = len(self.imm)
            self.imm.append(bits)
        return self.numbers[bits]

    def put(self, s: Step) -> None:
        """Appends a step's words. Common steps take one word: opcode in 6 bits, a small number in 2, three operands of a byte each."""
        word, a, b, c, *more = s
        head = WORD[word]
        if word in ("OP", "OPX", "ANY", "ANYX"):
            self.code.append(head | (3 if c == NONE else c) << 6 | a << 8 | b << 16 | (more[0] if more else 0) << 24)
        elif word == "SPLIT":
            self.code += [head | more[1] << 6 | a << 8 | b << 16 | c << 24, more[0]]
        elif word == "LIT":
            self.code.append(head | b << 6 | a << 8 | self.immediate(more[0][1]) << 16)
        elif word == "TYPE":
            self.code.append(head | b << 6 | a << 8 | more[0] << 16)
        elif word == "CLASS":
            self.code.append(head | c << 6 | a << 8 | b << 16 | self.immediate(more[0][1]) << 24)
        else:
            self.code += [head | a << 8 | b << 16 | c << 24, *(self.immediate(x[1]) if isinstance(x, tuple) else x for x in more)]
        if self.code[-1] >> 32:
            raise ValueError("a step does not fit its words: more than 65,536 literals or 256 type classes")

    def build(self, steps: List[Step]) -> int:
        """Offset of a build program; equal programs are stored once."""
        key = tuple(steps)
        if key not in self.tails:
            self.tails[key] = len(self.code)
            for s in steps:
                self.put(s)
            self.n_build += len(self.code) - self.tails[key]
        return self.tails[key]

    def blob(self, words: List[int]) -> int:
        """Offset of some data words; equal ones are stored once."""
        key = ("blob", *words)
        if key not in self.tails:
            self.tails[key] = len(self.code)
            self.code += words
            self.n_filter += len(words)
        return self.tails[key]

    def key_table(self, key: Key, rows: List[int], n: int) -> List[int]:
        """Words of a key of a FILTER of n branches: its path, the offset of the map from value to row, the index of the rows."""
        number = {bits: i for i, bits in enumerate(dict.fromkeys(rows))}
        of = [number[bits] for bits in rows]
        data = tuple(bits >> 64 * i & (1 << 64) - 1 for bits in number for i in range((n + 63) // 64))
        if data not in self.rows:
            self.rows[data] = len(self.imm)
            self.imm += data
        path = [*key[1:], NONE, NONE][:2]
        return [key[0] | path[0] << 8 | path[1] << 16, self.blob([sum(of[i + j] << 8 * j for j in range(4)) for i in range(0, len(of), 4)]), self.rows[data]]

    def filtered(self, programs: List[Tuple[List[Step], Step]]) -> int:
        """Encodes programs (steps and ACCEPT) behind one FILTER; returns its offset. Programs of one group of types are adjacent, so that rows
        are empty at one end. Adjacent programs with the same requirements share a branch."""
        asks = [asked(steps) for steps, _ in programs]
        key, kinds = kinds_of_type(asks)
        wanted: List[Dict[Key, int]] = []
        branches: List[Trie] = []
        for n in sorted(range(len(programs)), key=lambda n: kinds[n]):
            if not wanted or asks[n] != wanted[-1]:
                wanted.append(asks[n])
                branches.append(Trie())
            branches[-1].insert(*programs[n])
        if len(branches) > FILTER_MOST:
            raise ValueError(f"more than {FILTER_MOST} rules of one operation")
        keys = best_keys(wanted, [key] if len(set(kinds)) > 1 and len(wanted) > 64 else [])
        tables = [w for k, rows in keys for w in self.key_table(k, rows, len(wanted))]
        at = len(self.code)
        self.code += [WORD["FILTER"] | len(keys) << 8 | len(wanted) << 16, *tables, *[0] * len(wanted)]
        self.n_filter += len(self.code) - at
        for n, branch in enumerate(branches):
            self.code[at + 1 + len(tables) + n] = len(self.code)
            self.trie(branch)
        return at

    def trie(self, t: Trie) -> None:
        for n, (step, child) in enumerate(t.children):
            try_at = len(self.code) if n + 1 < len(t.children) else -1
            if try_at >= 0:
                self.code.append(0)
            self.put(step)
            self.trie(child)
            if try_at >= 0:
                self.code[try_at] = WORD["TRY"] | (len(self.code) - try_at) << 8

    def classes(self, programs: List[Program]) -> None:
        """Adds the masks of type classes before all literals, also those of other phases: their indices must be small."""
        for mask in sorted({s[4][1] for p in programs for s in p.steps if s[0] == "CLASS"}):
            self.immediate(mask)

    def rules(self, programs: List[Program], first_rule: Dict[int, int]) -> Dict[str, int]:
        """Entry offset by root operation of one phase's programs, in list order."""
        by_root: Dict[str, List[Tuple[List[Step], Step]]] = {}
        self.classes(programs)
        for p in programs:
            leaf = ("ACCEPT", 0, 0, 0, first_rule[id(p.rule)], self.build(p.build))
            by_root.setdefault(p.root, []).append((p.steps, leaf))
        entry = {}
        for name in sorted(by_root, key=lambda n: OPNUM[n]):
            if len(by_root[name]) >= FILTER_BRANCHES:
                entry[name] = self.filtered(by_root[name])
                continue
            top = Trie()
            for steps, leaf in by_root[name]:
                top.insert(steps, leaf)
            entry[name] = len(self.code)
            self.trie(top)
        return entry
