"""Kernels of price_kernels.py for instructions that access memory.

Loads and stores go to addresses that ptxas knows up to a literal, each to one of its own. Loads of constant and local memory have an address that was
loaded. What is loaded is stored to global memory, what is stored was loaded from there; prices.py leaves those accesses out of the count.
A parameter is added to something, as addresses of buffers are.

    add_copy(text, "ld.shared.v4.b32", 0)      { ld.shared.v4.b32 {d0_0, d0_1, d0_2, d0_3}, [s+16]; st.global.b32 [p+..], d0_0; .. }
"""
from __future__ import annotations

import re
from typing import List, Tuple

from gen.proof.price_kernels import OUT, Text, bits, types_of

SPACES = ("global", "shared", "local", "const", "param", "shared::cta", "shared::cluster")
BYTES = 65536 * 2  # of the arrays that are accessed


def space_of(opcode: str) -> str:
    return next((w.replace("shared::cta", "shared") for w in opcode.split(".")[1:] if w in SPACES), "generic")


def count_of(opcode: str) -> int:
    """Elements of a vector, or matrices."""
    found = re.search(r"\.[vx]([1248])(?:\.|$)", opcode)
    return int(found.group(1)) if found else 1


def address(text: Text, opcode: str, copy: int) -> str:
    """An address of its own for each copy; what it needs is declared."""
    space, at = space_of(opcode), 4096 + copy * 256
    if space in ("global", "generic"):
        if space == "generic" and "g" not in text.registers:
            text.loaded(text.register("g", 64), "b64")
        return f"[{'g' if space == 'generic' else 'p'}+{at}]"
    if space == "param":
        return f"[q{copy}]"
    base = {"shared": "s", "shared::cluster": "m", "local": "l", "const": "c"}[space]
    if base not in text.registers:
        width = 64 if base in "lc" else 32
        text.registers[base] = width
        text.loaded(base + "i", f"b{width}")
        symbol = {"s": "tile", "m": "tile", "l": "frame", "c": "table"}[base]
        if base == "l":
            text.loads.insert(0, ".local .align 16 .b8 frame[16384];")
        text.loads.append(f"mov.b{width} {base}, {symbol}; add.s{width} {base}, {base}, {base}i;")
        if base == "m":
            text.loads.append("mapa.shared::cluster.u32 m, m, 1;")
    return f"[{base}+{at % 16384}]"


def vector(names: List[str]) -> str:
    return names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"


def results(text: Text, opcode: str, t: str, n: int, copy: int) -> str:
    """Registers that are stored after the instruction: to be added after it, so the stores go through `late`."""
    names = [text.register(f"d{copy}_{i}", bits(t)) for i in range(n)]
    late(text, [(name, t) for name in names], copy)
    return vector(names)


def late(text: Text, dest: List[Tuple[str, str]], copy: int) -> None:
    at = len(text.body)
    for i, (name, t) in enumerate(dest):
        text.stored(name, t, OUT + copy * 512 + i * 16)
    text.pending = text.body[at:]  # type: ignore[attr-defined]
    del text.body[at:]


def values(text: Text, t: str, n: int, copy: int, name: str = "v") -> str:
    """Registers to be stored."""
    return vector([text.loaded(f"{name}{copy}_{i}", t) for i in range(n)])


def atomic(text: Text, opcode: str, copy: int) -> str:
    words, t = opcode.split("."), types_of(opcode)[-1]
    n, where = count_of(opcode), address(text, opcode, copy)
    dest = results(text, opcode, t, n, copy) + ", " if words[0] == "atom" else ""
    if "cas" in words:
        return f"{opcode} {dest}{where}, {values(text, t, 1, copy)}, {values(text, t, 1, copy, 'w')};"
    return f"{opcode} {dest}{where}, {values(text, t, n, copy)};"


def copied(text: Text, opcode: str, copy: int) -> str:
    size = 4 if ".ca." in opcode else 16
    return f"{opcode} {address(text, 'ld.shared', copy)}, [p+{4096 + copy * 256}], {size};"


def add_copy(text: Text, form: str, copy: int) -> bool:
    """False: the form is not known here."""
    opcode = form.split()[0]
    words, t = opcode.split("."), types_of(opcode)
    text.pending = []  # type: ignore[attr-defined]
    if words[0] in ("atom", "red") and t:
        line = atomic(text, opcode, copy)
    elif words[0] == "ldmatrix":
        line = f"{opcode} {{{results(text, opcode, 'b32', count_of(opcode), copy).strip('{}')}}}, {address(text, opcode, copy)};"
    elif words[0] == "mma":
        have = ", ".join("{" + values(text, "b32", n, copy).strip("{}") + "}" for n in (4, 2, 4))
        line = f"{opcode} {{{results(text, opcode, 'b32', 4, copy).strip('{}')}}}, {have};"
    elif words[0] == "stmatrix":
        line = f"{opcode} {address(text, opcode, copy)}, {{{values(text, 'b32', count_of(opcode), copy).strip('{}')}}};"
    elif opcode.startswith("cp.async.c") and "shared" in opcode:
        line = copied(text, opcode, copy)
    elif words[0] == "ld" and t:
        where = address(text, opcode, copy)
        line = f"{opcode} {results(text, opcode, t[-1], count_of(opcode), copy)}, {where};"
        if space_of(opcode) == "param":
            line += f" add.s{bits(t[-1])} d{copy}_0, d{copy}_0, {text.loaded(f'y{copy}', t[-1])};"
    elif words[0] == "st" and t and space_of(opcode) != "param":
        line = f"{opcode} {address(text, opcode, copy)}, {values(text, t[-1], count_of(opcode), copy)};"
    else:
        return False
    text.body += [line, *text.pending]  # type: ignore[attr-defined]
    return True
