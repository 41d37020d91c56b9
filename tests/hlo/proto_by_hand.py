"""Modules as protocol buffers, written field by field (xla/service/hlo.proto, xla/xla_data.proto), each with the HLO text that it must be.

    message((1, "jit_f"), (5, 3))     ->     0a 05 6a 69 74 5f 66 28 03
"""
import struct
from typing import Any, Dict, List, Optional, Sequence, Tuple

TYPES = {"pred": 1, "s8": 2, "s16": 3, "s32": 4, "s64": 5, "u8": 6, "u16": 7, "u32": 8, "u64": 9, "f16": 10, "f32": 11, "f64": 12, "tuple": 13, "c64": 15,
         "bf16": 16, "token": 17, "c128": 18, "f8e5m2": 19, "f8e4m3fn": 20, "s4": 21, "u4": 22, "f8e4m3b11fnuz": 23, "f8e5m2fnuz": 24, "f8e4m3fnuz": 25,
         "s2": 26, "u2": 27, "f8e4m3": 28, "f8e3m4": 29, "f4e2m1fn": 32, "f8e8m0fnu": 33}


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def message(*fields: Tuple[int, Any]) -> bytes:
    """int and bool: a number. str and bytes: bytes. float: 4 bytes. A list of ints: packed."""
    out = b""
    for number, value in fields:
        if isinstance(value, float):
            out += varint(number << 3 | 5) + struct.pack("<f", value)
        elif isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            data = value.encode() if isinstance(value, str) else b"".join(map(varint, value)) if isinstance(value, list) else value
            out += varint(number << 3 | 2) + varint(len(data)) + data
    return out


def shape(kind: str, dims: Sequence[int] = (), order: Optional[Sequence[int]] = None) -> bytes:
    order = list(order if order is not None else reversed(range(len(dims))))
    return message((2, TYPES[kind]), (3, list(dims)), (5, message((1, order), (16, 1))))


def of_tuple(*parts: bytes) -> bytes:
    return message((2, TYPES["tuple"]), *((4, p) for p in parts))


class Module:
    """Computations of instructions; each gets the next id, which `add` returns, and the last one of a computation is its root."""

    def __init__(self, name: str = "m", high: bool = False) -> None:
        self.name, self.computations, self.header = name, [], []  # type: str, List[bytes], List[Tuple[int, Any]]
        self.instructions: List[bytes] = []
        self.next, self.high = 0, high  # high: ids have the number of the computation in their upper half, as those of XLA since 2025

    def id_of(self, number: int) -> int:
        return (len(self.computations) + 1) << 32 | number if self.high else number

    def add(self, name: str, opcode: str, result: bytes, *operands: int, **fields: Any) -> int:
        """fields: f14=[1] is field 14."""
        self.next += 1
        extra = [(int(key[1:]), value) for key, values in fields.items() for value in (values if isinstance(values, tuple) else (values,))]
        numbers = [(36, [self.id_of(o) for o in operands])] if operands else []
        self.instructions.append(message((1, name), (2, opcode), (3, result), (35, self.id_of(self.next)), *numbers, *extra))
        return self.next

    def parameter(self, name: str, number: int, of: bytes) -> int:
        return self.add(name, "parameter", of, **({"f9": number} if number else {}))

    def end(self, name: str, entry: bool = False) -> int:
        number = len(self.computations) + 1
        self.computations.append(message((1, name), *((2, i) for i in self.instructions), (5, number), (6, self.id_of(self.next))))
        self.instructions = []
        if entry:
            self.header += [(2, name), (6, number)]
        return number

    def bytes(self, proto: bool = False) -> bytes:
        """proto: inside an HloProto."""
        whole = message((1, self.name), *self.header, *((3, c) for c in self.computations))
        return message((1, whole), (3, message((1, b"")))) if proto else whole


def combiner(m: Module, opcode: str = "add") -> int:
    x, y = m.parameter("x", 0, shape("f32")), m.parameter("y", 1, shape("f32"))
    m.add("sum", opcode, shape("f32"), x, y)
    return m.end("combine")


COMBINE = "combine { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT sum = f32[] add(x, y) }\n"


def literals() -> List[Tuple[str, bytes, str]]:
    """A constant of each type: the field of LiteralProto, its value, and the text."""
    p = struct.pack
    rows: Dict[str, Tuple[int, Any, str]] = {
        "pred": (2, b"\1\0\1", "true, false, true"), "s8": (15, p("<3b", -128, 0, 7), "-128, 0, 7"), "u8": (3, b"\0\1\xff", "0, 1, 255"),
        "s16": (17, p("<3h", -300, 1, 2), "-300, 1, 2"), "u16": (16, p("<3H", 65535, 1, 2), "65535, 1, 2"), "s32": (4, [-1, 2, 1 << 30], "-1, 2, 1073741824"),
        "u32": (6, [4294967295, 0, 3], "4294967295, 0, 3"), "s64": (5, [-(1 << 63), 0, 9], "-9223372036854775808, 0, 9"),
        "u64": (7, [(1 << 64) - 1, 0, 9], "18446744073709551615, 0, 9"), "f32": (8, p("<3f", 0.1, float("-inf"), 2), "0.1, -inf, 2"),
        "f64": (9, p("<3d", 0.1, float("nan"), -0.0), "0.1, nan, -0"), "f16": (11, p("<3e", 1.5, -2, 65504), "1.5, -2, 65504"),
        "bf16": (13, bytes.fromhex("c03f00c0803f"), "1.5, -2, 1"), "c64": (12, p("<6f", 1, 2, 3, -4, 0, 0), "(1, 2), (3, -4), (0, 0)"),
        "c128": (18, p("<6d", 1, 2, 3, -4, 0, 0), "(1, 2), (3, -4), (0, 0)"), "s4": (21, b"\x78\x0f", "-8, 7, -1"), "u4": (22, b"\x1f\x02", "15, 1, 2"),
        "s2": (26, b"\x36", "-2, 1, -1"), "u2": (27, b"\x36", "2, 1, 3"), "f8e4m3fn": (20, b"\x38\x3c\xb8", "1, 1.5, -1"),
        "f8e5m2": (19, b"\x3c\x3e\xbc", "1, 1.5, -1"), "f8e4m3": (28, b"\x38\x3c\xb8", "1, 1.5, -1"), "f8e3m4": (29, b"\x30\x38\xb0", "1, 1.5, -1"),
        "f8e4m3b11fnuz": (23, b"\x58\x5c\xd8", "1, 1.5, -1"), "f8e5m2fnuz": (24, b"\x40\x42\xc0", "1, 1.5, -1"),
        "f8e4m3fnuz": (25, b"\x40\x44\xc0", "1, 1.5, -1"),
        "f8e8m0fnu": (33, b"\x7f\x80\x7e", "1, 2, 0.5"), "f4e2m1fn": (32, b"\x32\x0a", "1, 1.5, -1")}
    out = []
    for kind, (field, value, text) in rows.items():
        m = Module()
        m.add("c", "constant", shape(kind, [3]), f8=message((1, shape(kind, [3])), (field, value)))
        m.end("e", entry=True)
        out.append((f"literal of {kind}", m.bytes(), f"HloModule m\nENTRY e {{ ROOT c = {kind}[3]{{0}} constant({{{text}}}) }}"))
    return out


def transposed() -> Tuple[bytes, str]:
    """Values of a literal stand in the order of its layout."""
    m = Module(high=True)
    m.add("c", "constant", shape("s32", [2, 3], [0, 1]), f8=message((1, shape("s32", [2, 3], [0, 1])), (4, [1, 4, 2, 5, 3, 6])))
    m.end("e", entry=True)
    return m.bytes(proto=True), "HloModule m\nENTRY e { ROOT c = s32[2,3]{0,1} constant({{1, 2, 3}, {4, 5, 6}}) }"


def scheduled() -> Tuple[bytes, str]:
    """A reduction of a padded product, in the order of a schedule; with notes, and an input whose memory may be used."""
    m = Module(high=True)
    body = combiner(m)
    x = m.parameter("p", 0, shape("f32", [4, 8]))
    zero = m.add("zero", "constant", shape("f32"), f8=message((1, shape("f32")), (8, struct.pack("<f", 0))))
    edges = message((1, message((1, 1))), (1, message((2, 2), (3, 1))))
    padded = m.add("padded", "pad", shape("f32", [5, 17]), x, zero, f21=edges)
    m.add("r", "reduce", shape("f32", [5]), padded, zero, f14=[1], f38=[body], f7=message((2, 'jit(f)/"sum"'), (15, 2)))
    m.end("e", entry=True)
    ids = [m.id_of(n) & 0xffffffff | 2 << 32 for n in (zero, x, padded, m.next)]
    m.header += [(7, message((1, message((1, 2), (2, message((1, ids))))))), (4, message((1, shape("f32", [4, 8])), (2, shape("f32", [5])))),
                 (18, message((1, message((1, 0))))), (17, message((1, "a.py"), (2, "f"), (3, message((1, 1), (2, 1), (3, 7))), (4, message((1, 1)))))]
    text = f"""HloModule m, is_scheduled=true, buffer_donor={{ (0, {{}}) }}, entry_computation_layout={{(f32[4,8]{{1,0}})->f32[5]{{0}}}}

FileNames
1 "a.py"

FunctionNames
1 "f"

FileLocations
1 {{file_name_id=1 function_name_id=1 line=7 end_line=0 column=0 end_column=0}}

StackFrames
1 {{file_location_id=1 parent_frame_id=1}}

{COMBINE}
ENTRY e {{
  zero = f32[] constant(0)
  p = f32[4,8]{{1,0}} parameter(0)
  padded = f32[5,17]{{1,0}} pad(p, zero), padding=1_0x0_2_1
  ROOT r = f32[5]{{0}} reduce(padded, zero), dimensions={{1}}, to_apply=combine, metadata={{op_name="jit(f)/\\"sum\\"" stack_frame_id=2}}
}}
"""
    return m.bytes(), text


def control() -> Tuple[bytes, str]:
    """A loop, a branch, tuples, comparisons, slices and a control edge."""
    m = Module()
    state = of_tuple(shape("s32"), shape("f32", [8]))
    s = m.parameter("s", 0, state)
    n = m.add("n", "get-tuple-element", shape("s32"), s)
    ten = m.add("ten", "constant", shape("s32"), f8=message((1, shape("s32")), (4, [10])))
    m.add("go", "compare", shape("pred"), n, ten, f63="LT", f72="SIGNED")
    condition = m.end("condition")
    s = m.parameter("s2", 0, state)
    n = m.add("n2", "get-tuple-element", shape("s32"), s)
    x = m.add("x2", "get-tuple-element", shape("f32", [8]), s, f13=1)
    one = m.add("one", "constant", shape("s32"), f8=message((1, shape("s32")), (4, [1])))
    more = m.add("more", "add", shape("s32"), n, one)
    half = m.add("half", "slice", shape("f32", [4]), x, f17=message((1, 1), (2, 8), (3, 2)), f37=[more])
    twice = m.add("twice", "concatenate", shape("f32", [8]), half, half, f14=[0])
    m.add("next", "tuple", state, more, twice)
    body = m.end("body")
    p = m.parameter("p", 0, state)
    m.add("w", "while", state, p, f38=[body, condition])
    m.end("e", entry=True)
    return m.bytes(), """HloModule m
condition {
  s = (s32[], f32[8]{0}) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  ten = s32[] constant(10)
  ROOT go = pred[] compare(n, ten), direction=LT
}
body {
  s2 = (s32[], f32[8]{0}) parameter(0)
  n2 = s32[] get-tuple-element(s2), index=0
  x2 = f32[8]{0} get-tuple-element(s2), index=1
  one = s32[] constant(1)
  more = s32[] add(n2, one)
  half = f32[4]{0} slice(x2), slice={[1:8:2]}, control-predecessors={more}
  twice = f32[8]{0} concatenate(half, half), dimensions={0}
  ROOT next = (s32[], f32[8]{0}) tuple(more, twice)
}
ENTRY e { p = (s32[], f32[8]{0}) parameter(0)  ROOT w = (s32[], f32[8]{0}) while(p), condition=condition, body=body }
"""


def devices() -> Tuple[bytes, str]:
    """Collectives with groups in both forms, a sharding, and the number of partitions."""
    m = Module()
    body = combiner(m)
    x = m.parameter("p", 0, shape("f32", [8]))
    sharding = message((1, 3), (3, [2]), (9, [2]))
    first = m.add("a", "all-reduce", shape("f32", [8]), x, f38=[body], f49=(message((1, [0, 1])),), f26=1, f71=True)
    second = m.add("b", "all-reduce", shape("f32", [8]), first, f38=[body], f92=message((1, 1), (2, 2), (3, [2])), f40=sharding)
    m.add("c", "collective-permute", shape("f32", [8]), second, f52=(message((2, 1)), message((1, 1))), f26=2)
    m.end("e", entry=True)
    m.header.append((15, message((1, 1), (2, 2))))
    return m.bytes(), f"""HloModule m, num_partitions=2
{COMBINE}
ENTRY e {{
  p = f32[8]{{0}} parameter(0)
  a = f32[8]{{0}} all-reduce(p), channel_id=1, replica_groups={{{{0,1}}}}, use_global_device_ids=true, to_apply=combine
  b = f32[8]{{0}} all-reduce(a), replica_groups=[1,2]<=[2], sharding={{devices=[2]<=[2]}}, to_apply=combine
  ROOT c = f32[8]{{0}} collective-permute(b), channel_id=2, source_target_pairs={{{{0,1}},{{1,0}}}}
}}
"""


def begun() -> Tuple[bytes, str]:
    """Operations that are begun here and done elsewhere, and a product with an algorithm."""
    m = Module()
    x = m.parameter("x", 0, shape("f32", [2, 2]))
    m.add("d", "dot", shape("f32", [2, 2]), x, x, f30=message((1, [1]), (2, [0])), f51=message((1, [2, 2]), (2, 11)))
    body = m.end("body")
    p = m.parameter("p", 0, shape("f32", [2, 2]))
    state = of_tuple(of_tuple(shape("f32", [2, 2])), shape("f32", [2, 2]), shape("u32"))
    start = m.add("start", "async-start", state, p, f38=[body], f79="main")
    m.add("done", "async-done", shape("f32", [2, 2]), start)
    m.end("e", entry=True)
    m.header.append((8, message((1, message((2, 0), (4, 2))))))
    return m.bytes(), """HloModule m, input_output_alias={ {}: (0, {}, must-alias) }
body {
  x = f32[2,2]{1,0} parameter(0)
  ROOT d = f32[2,2]{1,0} dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}, operand_precision={highest,highest}, algorithm=dot_f32_f32_f32
}
ENTRY e {
  p = f32[2,2]{1,0} parameter(0)
  start = ((f32[2,2]{1,0}), f32[2,2]{1,0}, u32[]) async-start(p), calls=body
  ROOT done = f32[2,2]{1,0} async-done(start)
}
"""


def all_modules() -> List[Tuple[str, bytes, str]]:
    made = [(f.__name__, *f()) for f in (transposed, scheduled, control, devices, begun)]
    return literals() + made


REFUSED: List[Tuple[str, bytes, str]] = []  # what it is, the bytes, a part of the message


def _refuse(what: str, said: str, data: bytes) -> None:
    REFUSED.append((what, data, said))


def _one(opcode: str = "negate", result: bytes = b"", **fields: Any) -> bytes:
    m = Module()
    x = m.parameter("p", 0, shape("f32", [4]))
    m.add("r", opcode, result or shape("f32", [4]), x, **fields)
    m.end("e", entry=True)
    return m.bytes()


_refuse("an unknown operation", "byte 49: unknown operation 'negat', did you mean 'negate'?", _one("negat"))
_refuse("a field of tomorrow", "field 200 of an instruction is not known: is the file of a newer XLA?", _one(f200=1))
_refuse("an operand that is not there", "no operand has the id 77", _one(f36=[77]))
_refuse("a type that is not there", "no element type has the number 99", _one(result=message((2, 99))))
_refuse("a layout that is none", "the layout is no permutation", _one(result=message((2, 11), (3, [2, 2]), (5, message((1, [0, 0]))))))
_refuse("a size that overflows", "dimension product overflows", _one(result=message((2, 11), (3, [1 << 40, 1 << 40]))))
_refuse("a negative size", "a dimension is negative: -1", _one(result=message((2, 11), (3, [-1]))))
_refuse("a name of two words", "the name of an instruction has the character 0x20", _one(f1="a b"))
_refuse("a compressed file", "the file is compressed", b"\x1f\x8b\x08\0\0\0")
_refuse("no module", "this is no module of XLA", message((1, "jit_f"), (2, "e"), (7, b"")))
_refuse("two entries", "0 computations are the entry", Module("m").bytes() + message((6, 9), (3, message((1, "e"), (5, 1), (6, 1), (2, message(
    (1, "p"), (2, "parameter"), (3, shape("f32")), (35, 1)))))))
_refuse("too few values", "a literal has 2 values, 4 of type f32 expected", _one("constant", f8=message((1, shape("f32", [4])), (8, b"\0" * 8))))
