"""Counts the machine instructions of a cubin, an ELF file: 16 bytes each in `.text.KERNEL`. NOPs at the end are padding and do not count."""
from __future__ import annotations

import struct

NOP = 0x918  # operation and form, bits 0 to 11 of an instruction


def sections(elf: bytes) -> "dict[str, bytes]":
    at, = struct.unpack_from("<Q", elf, 0x28)
    size, count, names = struct.unpack_from("<HHH", elf, 0x3A)
    heads = [struct.unpack_from("<IIQQQQ", elf, at + n * size) for n in range(count)]
    start = heads[names][4]
    return {elf[start + h[0]:elf.index(b"\0", start + h[0])].decode(): elf[h[4]:h[4] + h[5]] for h in heads if h[1] != 8}


def length(code: bytes) -> int:
    """The number of instructions of one function."""
    ops = [struct.unpack_from("<Q", code, n)[0] & 0xFFF for n in range(0, len(code), 16)]
    while ops and ops[-1] == NOP:
        ops.pop()
    return len(ops)


def instructions(elf: bytes) -> int:
    """The number of instructions of all functions of the file."""
    return sum(length(code) for name, code in sections(elf).items() if name.startswith(".text"))
