"""The tables of the engine and of targets, as the C structs that src/rewrite/tables.h and src/target/target.h declare: their fields in order, and the
values of one as C text, for a build, or as bytes, for `warpburg --tables FILE` (src/target/tables.c reads them).

    STRUCTS["RwStep"]                                ("file text", "name text", "line u32", "head u32")
    rows("RwStep steps", "RwStep", [[..], ..])       static const RwStep steps[2] = {..};
    file_of(index, targets)                          the bytes of a file
"""
from __future__ import annotations

import binascii
import json
import struct
from typing import Any, Dict, Iterable, List, Sequence, Tuple

from gen import guards, opcodes, ops
from gen.load import PHASES

Values = List[Any]  # the values of a struct, in the order of its fields; of an array field a list

# A field is "NAME KIND": text, u8 u16 u32 u64 i64 bool f32 f64 char, f32*11 for eleven of them, [T] for an array, whose number is the field n_NAME behind
# it in C, =T for another struct that the field points to. `entry` is the array of RwTables whose size is known.
STRUCTS: Dict[str, Tuple[str, ...]] = {
    "RwStep": ("file text", "name text", "line u32", "head u32"),
    "RwRule": ("file text", "line u32", "instance text", "text text", "phase u8", "names text", "when text", "ledger text", "made [u16]"),
    "RwText": ("to u8", "from u8", "word u8", "pair bool", "costly bool", "constant u8", "extend char*4", "clean char", "ptx text"),
    "RwInstr": ("kind u8", "n_operands u8", "rule u32", "text text", "n_immediates u8", "ptx text", "texts [RwText]"),
    "RwPacked": ("op u16", "type u8", "from u8", "lanes u8"),
    "RwFree": ("op u16", "modifier u16", "type u8"),
    "RwTables": ("name text", "code [u32]", "n_build u32", "n_filter u32", "imm [u64]", "n_rows u32", "entry entry", "late u32", "rules [RwRule]",
                 "steps [RwStep]", "instrs [RwInstr]", "packed [RwPacked]", "free [RwFree]"),
    "TgTune": ("name text", "bits u32", "value i64", "because text", "file text", "line u32", "optional bool", "off i64"),
    "TgStrategy": ("name text", "at u8", "taken u8", "rival bool", "save i64", "full_rates bool", "fewer i64", "launches i64", "first u32", "parts u32",
                   "tested text", "needed text", "because text", "file text", "line u32", "off bool"),
    "TgRate": ("name text", "unit text", "value f64", "low f64", "high f64", "source text", "stated bool"),
    "TgPrice": ("issue f32", "cycles f32*11", "low f32", "high f32", "latency f32", "off u16"),
    "TgSassPrice": ("operation u16", "class u8", "cycles f32*11"),
    "TgLowering": ("op u16", "type u16", "approx bool", "rule u32", "sass u32", "ulp f64", "noise f64"),
    "TgTarget": ("name text", "ptx text", "warp u32", "sms u32", "smem u32", "regs u32", "vector_bytes u32", "board text", "features text", "warps u32",
                 "blocks u32", "sm_smem u32", "sm_regs u32", "tables =RwTables", "tunes [TgTune]", "strategies [TgStrategy]", "rates [TgRate]",
                 "prices [TgPrice]", "price_of [u16]", "forms [text]", "sass_prices [TgSassPrice]", "lowerings [TgLowering]"),
    "TgTables": ("index =RwTables", "targets [TgTarget]"),
}
FORMAT = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i64": "q", "bool": "?", "f32": "f", "f64": "d", "char": "c", "text": "I"}
MAGIC = b"warpburg tables\n"
VERSION = 1


class Named(int):
    """An enumerator: its number, and its name in C."""

    def __new__(cls, symbol: str, number: int) -> "Named":
        out = super().__new__(cls, number)
        out.symbol = symbol  # type: ignore[attr-defined]
        return out


OP = {o.name: Named(f"OP_{o.name.upper()}", n) for n, o in enumerate(ops.OPS)}
TYPE = {t.name: Named(f"SC_{t.name.upper()}", n) for n, t in enumerate(ops.TYPES)}
PHASE = {p: Named(f"RW_{p.upper()}", n) for n, p in enumerate(PHASES)}  # RwPhase
KIND = {k: Named(f"RW_{k.upper()}", n) for n, k in enumerate(("llvm", "intr", "call", "asm", "lookup"))}  # RwInstrKind


# --- C text -------------------------------------------------------------------------------------------------------------------------------
def text_of(value: Any) -> str:
    if isinstance(value, Named):
        return str(value.symbol)  # type: ignore[attr-defined]
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return "'" + value.decode() + "'"
    if isinstance(value, (list, tuple)):
        return "{" + ", ".join(map(text_of, value)) + "}"
    return json.dumps(value) if isinstance(value, str) else repr(value)


def single(value: float) -> str:
    text = f"{value:.6g}"
    return text if text.isdigit() else text + "f"


def numbers(values: Sequence[int], fmt: str, per_line: int) -> str:
    lines = [", ".join(fmt.format(v) for v in values[i:i + per_line]) for i in range(0, len(values), per_line)]
    return "".join(f"    {line},\n" for line in lines)


def rows(name: str, of: str, values: Sequence[Values]) -> str:
    """The C array `name` of structs; before it the arrays that its rows point to. Empty where there are no rows."""
    fields = [f.split() for f in STRUCTS[of]]
    out, lines = "", [[] for _ in values]
    for n, (field, kind) in enumerate(fields):
        if kind[0] == "[":
            every = [x for row in values for x in row[n]]
            out += rows(f"{name}_{field}", kind[1:-1], every) if kind[1:-1] in STRUCTS else \
                f"static const uint16_t {name}_{field}[{len(every)}] = {{\n{numbers(every, '{}', 24)}}};\n" if every else ""
        at = 0
        for row, line in zip(values, lines):
            if kind[0] == "[":
                line.append(f"&{name}_{field}[{at}], {len(row[n])}" if row[n] else "NULL, 0")
                at += len(row[n])
            elif kind.startswith("f32"):
                line.append("{" + ", ".join(map(single, row[n])) + "}" if isinstance(row[n], (list, tuple)) else single(row[n]))
            else:
                line.append(text_of(row[n]) if not kind.startswith("char*") else json.dumps("".join(x.decode() for x in row[n]).rstrip("\0")))
    body = "".join(f"    {{{', '.join(line)}}},\n" for line in lines)
    return out + f"static const {of} {name}[{len(values)}] = {{\n{body}}};\n" if values else ""


# --- a file -------------------------------------------------------------------------------------------------------------------------------
def schema() -> str:
    """What the reader must agree on, a line each: fields, operations, types, words of programs and facts."""
    lines = [f"{name} {field}" for name, fields in STRUCTS.items() for field in fields]
    return "".join(f"{line}\n" for line in [*lines, *(o.name for o in ops.OPS), *(t.name for t in ops.TYPES), *opcodes.WORDS, *guards.NUMBER])


class Writer:
    def __init__(self) -> None:
        self.bytes, self.texts, self.at = bytearray(), bytearray(), {}  # type: ignore[var-annotated]

    def text(self, z: str) -> int:
        if z not in self.at:
            self.at[z] = len(self.texts)
            self.texts += z.encode() + b"\0"
        return int(self.at[z])

    def array(self, of: str, values: Sequence[Any]) -> None:
        self.bytes += struct.pack("<I", len(values))
        if of in STRUCTS:
            for x in values:
                self.struct(of, x)
        elif of == "text":
            self.bytes += struct.pack(f"<{len(values)}I", *map(self.text, values))
        else:
            self.bytes += struct.pack(f"<{len(values)}{FORMAT[of]}", *values)

    def struct(self, of: str, values: Values) -> None:
        form, some = FORMS[of], []
        if len(values) != len(form):
            raise ValueError(f"{of}: {len(values)} values for {len(form)} fields")
        for (kind, count, letter), x in zip(form, values):
            if kind[0] in "[=":
                if some:
                    self.bytes += struct.pack("<" + "".join(f for f, _ in some), *(x for _, x in some))
                    some = []
                if kind[0] == "=":
                    self.struct(kind[1:], x)
                else:
                    self.array(kind[1:-1], x)
            elif count > 1:
                some += [(letter, y) for y in x]
            else:
                some.append((letter, self.text(x) if kind == "text" else x))
        if some:
            self.bytes += struct.pack("<" + "".join(f for f, _ in some), *(x for _, x in some))


def form_of(field: str) -> Tuple[str, int, str]:
    kind, _, count = field.split()[1].partition("*")
    kind = "[u32]" if kind == "entry" else kind
    return kind, int(count or 1), FORMAT.get(kind, "")


FORMS = {name: [form_of(f) for f in fields] for name, fields in STRUCTS.items()}


def file_of(index: Values, targets: Iterable[Values]) -> bytes:
    """The head (magic, version, checksums of schema and contents, size), then all texts, then the structs."""
    w = Writer()
    w.struct("TgTables", [index, list(targets)])
    body = struct.pack("<I", len(w.texts)) + w.texts + w.bytes
    return MAGIC + struct.pack("<IIIQ", VERSION, binascii.crc32(schema().encode()), binascii.crc32(body), len(body)) + body
