"""Machine code of a kernel, read from the cubin without a disassembler: the operations on the shortest way through it, and the longest chain of results.

An instruction has 16 bytes. Bits 0 to 8 are the operation, 9 to 11 the form of its operands, 12 to 15 the predicate that guards it; registers stand at bits
16 (result), 24, 32 and 64 (sources), predicates at 81 and 84 (results), 87 and 77 (sources). A branch has its distance from bit 34 on, from sm_90 on
with 8 further low bits at 16. Found with nvdisasm, as src/target/sass.c.

    code(cubin)["k7"]      [(0x181, ..), (0x023, ..), ..]
    shortest(code)         the operations that run where no slow path is taken: of `div.rn.f32` without the subroutine for subnormals
"""
from __future__ import annotations

import heapq
import struct
from dataclasses import dataclass
from typing import Dict, List, Optional, Tuple

from gen.proof import sass

NOP, S2R, BRA, CALL, RET, EXIT = 0x118, 0x119, 0x147, 0x144, 0x150, 0x14d
LOADS = {0x181, 0x17e}
STORES = {0x186, 0x17f, 0x185}
NONE = 255  # register RZ
TRUE = 7  # predicate PT
BF16 = 1 << 21  # bit 85: packed halves are bf16
HALVES = {0x030, 0x031, 0x032, 0x035}


@dataclass(frozen=True)
class Instruction:
    first: int
    second: int
    sm: int

    @property
    def operation(self) -> int:
        return self.first & 0x1ff

    @property
    def key(self) -> int:
        """The operation, plus 0x200 where packed halves are bf16, which has a rate of its own."""
        return self.operation + (0x200 if self.operation in HALVES and self.second & BF16 else 0)

    @property
    def guarded(self) -> bool:
        return self.first >> 12 & 7 != TRUE or (self.operation == BRA and self.second >> 23 & 7 != TRUE)

    def target(self, at: int) -> int:
        """The index of the instruction that a branch at index `at` goes to."""
        far = self.first >> 34 & 0x3fffffff
        if self.sm >= 90:
            far = far << 8 | (self.first >> 16 & 0xff)
        width = 38 if self.sm >= 90 else 30
        far -= (far >> (width - 1)) << width
        return at + 1 + far // 4


def code(elf: bytes, sm: int) -> Dict[str, List[Instruction]]:
    """The instructions of each kernel, without padding."""
    out = {}
    for name, text in sass.sections(elf).items():
        if name.startswith(".text."):
            words = [struct.unpack_from("<QQ", text, n) for n in range(0, len(text), 16)]
            found = [Instruction(x, y, sm) for x, y in words]
            while found and (found[-1].operation == NOP or (found[-1].operation == BRA and found[-1].target(len(found) - 1) == len(found) - 1)):
                found.pop()
            out[name[len(".text."):]] = found
    return out


def shortest(found: List[Instruction], start: int = 0, ends: Tuple[int, ...] = (EXIT,)) -> Optional[List[int]]:
    """Indices of the instructions on the shortest way from `start` to one that ends; calls with what they run. None: there is no way."""
    best, before = {start: 1}, {start: -1}
    called: Dict[int, Optional[List[int]]] = {}
    waiting = [(1, start)]
    while waiting:
        cost, at = heapq.heappop(waiting)
        if cost > best[at]:
            continue
        i = found[at]
        if i.operation in ends and not i.guarded:
            way = [at]
            while before[way[-1]] >= 0:
                way.append(before[way[-1]])
            out: List[int] = []
            for k in reversed(way):
                out += [k, *(called.get(k) or [])]
            return out
        following = []
        if i.operation == CALL:
            if at not in called:
                called[at] = None  # a subroutine that calls itself has no way
                called[at] = shortest(found, i.target(at), (RET,))
            inner = called[at]
            if inner is not None:
                following.append((at + 1, 1 + len(inner)))
        elif i.operation == BRA:
            following.append((i.target(at), 1))
            if i.guarded:
                following.append((at + 1, 1))
        elif i.operation not in (EXIT, RET) or i.guarded:
            following.append((at + 1, 1))
        for to, more in following:
            if 0 <= to < len(found) and cost + more < best.get(to, 1 << 60):
                best[to], before[to] = cost + more, at
                heapq.heappush(waiting, (cost + more, to))
    return None


# --- chains ----------------------------------------------------------------------------------------------------------------------------------
DATA = {0x18a, 0x18b, 0x18c, 0x18d, 0x18e, 0x1a3, 0x1a6, 0x1a8, 0x1a9, 0x187, 0x188}  # atomics and stores, with a register at bit 32
CONTROL = {BRA, CALL, RET, EXIT, NOP, 0x141, 0x145, 0x149, 0x11d}
PAIRS = {0x028, 0x029, 0x02b, 0x02a, 0x025, 0x110, 0x111, 0x112, 0x113}  # operands or results of two registers
TESTS = {0x00b, 0x00c, 0x02a, 0x034, 0x01c, 0x010, 0x011, 0x012, 0x102, 0x006, 0x08c, 0x090}  # results are predicates, or may be
CHOOSES = (TESTS - {0x102, 0x006}) | {0x007, 0x008, 0x009, 0x017, 0x024, 0x025, 0x048, 0x087}  # read predicates, or may
UNIFORM = {*range(0x080, 0x0c0), 0x1c2, 0x1c3, 0x1c4}  # results are uniform registers
WIDTHS = (1, 1, 1, 1, 1, 2, 4, 4)  # registers of a load or store, by bits 73 to 75

Place = Tuple[str, int]


def width(i: Instruction) -> int:
    return 8 if i.operation in (0x17e, 0x17f) else WIDTHS[i.second >> 9 & 7]


def reads(i: Instruction) -> List[Place]:
    """A store reads what it stores: when its address is there does not matter to the result."""
    form, bank = i.first >> 9 & 7, "u" if i.operation in range(0x080, 0x0c0) else "r"
    if i.operation in STORES:
        return [*(("r", (i.first >> 32 & 255) + k) for k in range(width(i))), ("p", i.first >> 12 & 7)]
    if i.operation == S2R:
        return []
    out = [(bank, i.first >> 24 & 255), (bank, i.second & 255)]
    if form == 1 and i.operation not in DATA:
        out.append((bank, i.first >> 32 & 255))
    if i.operation in DATA:
        out += [(bank, (i.first >> 32 & 255) + k) for k in range(width(i))]
    if form in (6, 7):
        out.append(("u", i.first >> 32 & 63))
    if i.operation in PAIRS:
        out += [(b, r + 1) for b, r in out]
    tests = [("p", i.second >> 23 & 7)] if i.operation in CHOOSES else []
    tests += [("p", i.second >> 13 & 7)] if i.operation in (0x010, 0x01c) else []
    return [*out, *tests, ("p", i.first >> 12 & 7), *([("p", i.second >> 23 & 7)] if i.operation in (BRA, 0x006) else [])]


def writes(i: Instruction) -> List[Place]:
    if i.operation in CONTROL:
        return []
    bank, dest = "u" if i.operation in UNIFORM else "r", i.first >> 16 & 255
    n = width(i) if i.operation in LOADS else 2 if i.operation in PAIRS else 1
    tests = [("p", i.second >> 17 & 7), ("p", i.second >> 20 & 7)] if i.operation in TESTS else []
    return [*((bank, dest + k) for k in range(n)), *tests]


def real(places: List[Place]) -> List[Place]:
    return [(b, r) for b, r in places if r != {"r": NONE, "u": 63, "p": TRUE}[b]]


def chain(found: List[Instruction], way: List[int], latency: Dict[int, Tuple[str, float]]) -> List[str]:
    """The kinds of latency along the longest chain from a load to a store. latency: of an operation, its kind and a weight to compare chains by.
    What follows a branch waits for its condition."""
    nothing: Tuple[float, List[str]] = (0.0, [])
    ready: Dict[Place, Tuple[float, List[str]]] = {}
    longest, branched = nothing, nothing
    for k in way:
        i = found[k]
        start = max((ready[n] for n in real(reads(i)) if n in ready), key=lambda x: x[0], default=nothing if branched is nothing else branched)
        start = max(start, branched, key=lambda x: x[0])
        kind, weight = latency.get(i.key, ("", 0.0))
        made = nothing if i.operation in LOADS else (start[0] + weight, [*start[1], *([kind] if kind else [])])
        if i.operation in STORES:
            longest = max(longest, start, key=lambda x: x[0])
        elif i.operation in CONTROL and i.guarded:
            branched = max(branched, made, key=lambda x: x[0])
        for place in real(writes(i)) if i.operation not in STORES else []:
            kept = ready.get(place, nothing) if i.first >> 12 & 7 != TRUE else nothing  # under a predicate the old value may stay
            ready[place] = max(made, kept, key=lambda x: x[0])
    return longest[1]
