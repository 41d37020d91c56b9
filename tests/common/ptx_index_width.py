"""Finds 64-bit index arithmetic and integer divisions in PTX, for kernels whose indices fit 32 bits.

Reads LLVM's PTX, one instruction a line. In 64 bits only addresses are allowed: a parameter, `mul.wide` of a 32-bit number, and its sum with a
parameter or another address.

    complaints("...\\n\\tdiv.u32 %r3, %r1, %r2;\\n...")   ->   ["div.u32: a division or remainder"]
"""
import re
from typing import List, Set

INSTRUCTION = re.compile(r"^\s*(?:@!?%p\d+\s+)?([a-z][\w.]*)\s+([^;]*);", re.M)
REGISTER = re.compile(r"%[a-z]+\d+")
WIDE = re.compile(r"\.[sub]64$")


def complaints(ptx: str) -> List[str]:
    """The instructions that are not allowed, each with the reason."""
    code = re.sub(r"//.*", "", ptx)
    found: List[str] = []
    addresses: Set[str] = set()
    offsets: Set[str] = set()
    for opcode, operands in INSTRUCTION.findall(code):
        registers = REGISTER.findall(operands)
        name = opcode.split(".")[0]
        if opcode == "ld.param.b64" or opcode.startswith("cvta"):
            addresses.add(registers[0])
        elif name in ("div", "rem") and not re.search(r"\.(f16|bf16|f32|f64)", opcode):
            found.append(f"{opcode}: a division or remainder")
        elif opcode in ("mul.wide.u32", "mul.wide.s32", "cvt.u64.u32", "cvt.s64.s32"):
            offsets.add(registers[0])
        elif opcode == "add.s64" or opcode.startswith("mad.wide"):
            base, rest = (1, 2) if opcode == "add.s64" else (-1, len(registers))
            if len(registers) > 1 and registers[base] in addresses and all(r in offsets for r in registers[rest:]):
                addresses.add(registers[0])
            else:
                found.append(f"{opcode} {operands}: 64-bit arithmetic that makes no address")
        elif WIDE.search(opcode) and name in ("add", "sub", "mul", "mad", "shl"):
            found.append(f"{opcode} {operands}: 64-bit arithmetic")
    return found
