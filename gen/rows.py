"""Rows of a target's file that are no rules: TARGET, PACKED, FREE, TUNE, and `ptx=` of an instruction. What each name may be, between which values, and
which rows must agree with others. A build refuses the rest with the line: a plan by a number that no machine has is wrong in silence, or ends in an assertion.

    patterns/sm80.py:7: error: target('sm_80', ..): warp=64: 32 is expected: lanes of a warp are in every plan
    patterns/machine.py:68: error: tune('loop.maximum', ..): no number is called so; 'loop.max_row' is
"""
from __future__ import annotations

import difflib
import re
from typing import Any, Dict, Iterator, List, Optional, Tuple

from gen import load, lang, ops, prices, strategies, texts, tunes
from gen.expr import Node
from gen.features import FEATURES, SINCE
from gen.lang import Rule
from gen.load import RuleSet

KiB = 1024
RANGES: Dict[str, Tuple[int, int, int, str]] = {  # of TARGET: least, most, what divides it, why
    "sms": (1, 1024, 1, "SMs of the board"),
    "warps": (16, 64, 4, "warps of an SM, shared by four schedulers"),
    "blocks": (8, 32, 1, "blocks of an SM"),
    "smem": (48 * KiB, 256 * KiB, KiB, "bytes of shared memory that a block may have; every plan takes 48 KiB"),
    "sm_smem": (48 * KiB, 256 * KiB, KiB, "bytes of shared memory of an SM"),
    "regs": (255, 255, 1, "registers of a thread, since sm_35"),
    "sm_regs": (64 * KiB, 64 * KiB, 1, "registers of an SM, since sm_50"),
    "warp": (32, 32, 1, "lanes of a warp are in every plan"),
    "vector_bytes": (16, 32, 16, "bytes of the widest access of a thread"),
}
TEXTS = ("ptx", "board", "features", "name")
VERSIONS = ("6.3", "6.4", "6.5", *(f"7.{n}" for n in range(9)), *(f"8.{n}" for n in range(9)), "9.0")  # of PTX, that LLVM writes
FIRST = {75: "6.3", 80: "7.0", 86: "7.1", 87: "7.4", 88: "9.0", 89: "7.8", 90: "7.8", 100: "8.6", 103: "8.8", 107: "9.4", 110: "9.0", 120: "8.7",
         121: "8.8"}  # has it
TEXT = "8.0"  # the least that the texts of sharing.py and cp.async need together
# operations that plans use without asking a rule, at these types; of machines with the feature
NEEDED: Dict[str, List[Tuple[str, str, int]]] = {
    "": [*((f"shuffle_{x}", "u32", 1) for x in ("xor", "down", "up", "idx")), ("ballot", "u32", 1), ("ticket", "u32", 1), ("lock", "u32", 1), ("unlock",
        "u32", 1),
         ("atomic_add", "f16", 1), ("atomic_add", "f16", 2), ("atomic_add", "f32", 1), ("atomic_add", "f64", 1), ("atomic_cas", "u16", 1),
         *((f"atomic_{x}", t, 1) for x in ("add", "min", "max") for t in ("i32", "i64", "u32", "u64")),
         *((f"atomic_{x}", t, 1) for x in ("and", "or", "xor", "exch", "cas") for t in ("u32", "u64"))],
    "redux": [*((f"redux_{x}", t, 1) for x in ("add", "min", "max") for t in ("i32", "u32")), *((f"redux_{x}", "u32", 1) for x in ("and", "or", "xor"))],
    "cas.b128": [("atomic_cas", "u64", 2)], "red.bf16x2": [("atomic_add", "bf16", 1), ("atomic_add", "bf16", 2)],
    "red.v4": [("atomic_add", "f32", 2), ("atomic_add", "f32", 4)],
}
# features that pairs and modifiers of a type need, by operation; "": any other operation
PAIRS = {"f16": {"max": "max.nan", "min": "max.nan", "": ""}, "bf16": {**dict.fromkeys(("add", "sub", "mul"), "bf16.add"), "": "bf16.fma"},
         "f32": {"": "add.f32x2"}}
MOST_BYTES = 16  # of lanes that one instruction takes


def at(where: Tuple[str, int], what: str) -> str: return f"{where[0]}:{where[1]}: error: {what}"


def first_version(generation: int) -> str:
    """The first version of PTX that knows a generation; of one that is not listed, the one before it."""
    return FIRST[max((g for g in FIRST if g <= generation), default=min(FIRST))]


def like(name: str, known: Any) -> str:
    """`; 'loop.block' is`: the known name that is most like a wrong one."""
    near = difflib.get_close_matches(name, list(known), 1, 0.5)
    return f"; '{near[0]}' is" if near else ""


# --- TARGET --------------------------------------------------------------------------------------------------------------------------
def of_target(s: RuleSet) -> Iterator[str]:
    v, where = s.values, s.target_where
    name, say = str(v.get("name")), lambda what: at(where, f"target('{v.get('name')}', ..): {what}")
    if not re.fullmatch(r"sm_\d+", name) or name.replace("_", "") != s.name:
        yield say(f"the file is that of sm_{s.name[2:]}")
        return
    for k in (k for k in v if k not in RANGES and k not in TEXTS):
        yield say(f"no fact is called {k}{like(k, [*RANGES, *TEXTS])}")
    for k in (k for k in [*RANGES, *TEXTS] if k not in v):
        yield say(f"{k}= is missing" + (f": {RANGES[k][3]}" if k in RANGES else ""))
    for k, (low, high, by, why) in RANGES.items():
        x = v.get(k, low)
        if type(x) is not int or not low <= x <= high or x % by:
            wanted = f"{low}" if low == high else f"{low} to {high}" + (f", of which {by} is a divisor," if by > 1 else "")
            yield say(f"{k}={x!r}: {wanted} is expected: {why}")
    yield from (say(x) for x in related(v, int(name[3:])))


def related(v: Dict[str, Any], generation: int) -> Iterator[str]:
    ptx, words = v.get("ptx"), v.get("features", ())
    first = first_version(generation)
    least = VERSIONS.index(first) if first in VERSIONS else len(VERSIONS)
    if least == len(VERSIONS):
        yield f"PTX {first} is the first that has this machine, and LLVM writes {VERSIONS[-1]} at most"
    elif ptx not in VERSIONS:
        yield f"ptx={ptx!r}: a version of PTX that LLVM writes is expected, {VERSIONS[0]} to {VERSIONS[-1]}"
    elif VERSIONS.index(ptx) < max(least, VERSIONS.index(TEXT)):
        yield f"ptx={ptx!r}: {VERSIONS[max(least, VERSIONS.index(TEXT))]} is the first that has this machine and the texts of rules"
    if not isinstance(v.get("board", ""), str) or v.get("board", "-").strip() in ("", "?"):
        yield "board=: the name of a board is expected"
    if not isinstance(words, tuple) or not all(isinstance(w, str) for w in words):
        yield "features=: words in a tuple are expected, as in ('redux',)"
        return
    for w in words:
        if w not in FEATURES:
            yield f"features=: no feature is called '{w}'{like(w, FEATURES)}; gen/features.py has the words"
        elif words.count(w) > 1:
            yield f"features=: '{w}' is stated twice"
        elif SINCE[w] > generation:
            yield f"features=: '{w}' is there from sm_{SINCE[w]} on"
    for w in (w for w, since in SINCE.items() if since <= generation and w not in words):
        yield f"features=: '{w}' is missing, which every machine from sm_{SINCE[w]} on has: {FEATURES[w].what}"
    number = lambda k: v[k] if type(v.get(k)) is int else 0
    if number("smem") > number("sm_smem"):
        yield f"smem={v['smem']} is more than the SM has, sm_smem={v['sm_smem']}"
    elif generation >= 80 and number("smem") > number("sm_smem") - KiB:
        yield f"smem={v['smem']}: the system takes 1024 bytes for each block from sm_80 on, of sm_smem={v['sm_smem']}"
    if (number("vector_bytes") == 32) != ("ld.v8" in words):
        yield f"vector_bytes={v.get('vector_bytes')}: accesses of 32 bytes are the feature 'ld.v8'"
    if number("blocks") > number("warps"):
        yield f"blocks={v['blocks']} is more than warps={v['warps']}: a block has a warp at least"


# --- PACKED and FREE -------------------------------------------------------------------------------------------------------------------
def takes(s: RuleSet, op: str, to: str, frm: str, lanes: int) -> List[Rule]:
    """The instruction rules that take an operation at a type and number of lanes. frm: of a conversion."""
    return [r for r in s.phases["isel"] if isinstance(r.left, Node) and r.left.op.name == op and to in r.left.types[0].members and
            (not frm or frm in r.left.types[-1].members) and (r.kind in ("llvm", "intr") or r.left.result.lanes == lanes)]


def of_packed(s: RuleSet, table: Any) -> Iterator[str]:
    seen: Dict[Tuple[str, str, str, int], Tuple[str, int]] = {}
    words, target = s.values.get("features", ()), str(s.values["name"])
    unpriced: List[Tuple[Tuple[str, int], str]] = []
    for p in s.packed:
        if not isinstance(p, lang.Packed):
            yield at(getattr(p, "where", s.target_where), f"PACKED holds {p!r}, which is no packed(..)")
            continue
        name = f"{p.op}.{p.to}x{p.lanes}" + (f".{p.frm}x{p.lanes}" if p.frm != p.to else "")
        key = (p.op, p.to, p.frm, p.lanes)
        if key in seen:
            yield at(p.where, f"{name} is stated twice, first at {':'.join(map(str, seen[key]))}")
            continue
        seen[key] = p.where
        most = MOST_BYTES * 8 // max(ops.TYPE_BY_NAME[t].bits for t in (p.to, p.frm))
        alone = p.op.startswith("atomic")
        if type(p.lanes) is not int or p.lanes not in ((2, 4, 8) if alone else (2,)) or p.lanes > most:
            yield at(p.where, f"{name}: {'2, 4 or 8 lanes, of 16 bytes together at most,' if alone else '2 lanes'} are expected")
            continue
        kinds = {ops.TYPE_BY_NAME[t].cls for t in (p.to, p.frm)}
        need = PAIRS.get(p.to, {}) if not alone and p.op not in ("cvt", "cvtsat") else {"": ""}
        if kinds != {"F"} or not need:
            yield at(p.where, f"{name}: no machine has an instruction for these lanes; pairs are of {', '.join(PAIRS)}")
            continue
        word = need.get(p.op, need[""])
        if word and word not in words:
            yield at(p.where, f"{name}: {target} lacks the feature '{word}' that pairs need: they would be computed lane by lane, at twice the price")
            continue
        rules = takes(s, p.op, p.to, p.frm, p.lanes)
        if not rules:
            yield at(p.where, f"{name}: no INSTR rule takes it")
        spelled = [f for r in rules for f in forms(r, p.to, p.frm, p.lanes)]
        if table and spelled and not any(target in table.forms.get(f, {}) for f in spelled):
            unpriced.append((p.where, f"{name}: {prices.FILE} has no form {spelled[0]} of {target}"))
    for where, what in unpriced[:1]:
        yield at(where, what + (f", nor those of {len(unpriced) - 1} more rows: `./dev prices --target {target}` writes them" if unpriced[1:] else ""))


def of_free(s: RuleSet) -> Iterator[str]:
    seen: Dict[Tuple[str, str, str], Tuple[str, int]] = {}
    for f in s.free:
        if not isinstance(f, lang.Free):
            yield at(getattr(f, "where", s.target_where), f"FREE holds {f!r}, which is no free(..)")
            continue
        if ops.TYPE_BY_NAME[f.type].cls != "F" or f.op not in ("add", "mul", "fma", "max", "min", "sub"):
            yield at(f.where, f"free({', '.join(f.modifiers)}, on={f.op}.{f.type}): sums, products, fma, max and min of floats have modifiers of operands")
            continue
        for m in f.modifiers:
            if (f.op, f.type, m) in seen:
                yield at(f.where, f"{m} of {f.op}.{f.type} is stated twice, first at {':'.join(map(str, seen[f.op, f.type, m]))}")
            seen[f.op, f.type, m] = f.where
        if not takes(s, f.op, f.type, f.type, 1):
            yield at(f.where, f"free(.., on={f.op}.{f.type}): no INSTR rule takes {f.op}.{f.type}")


# --- TUNE ------------------------------------------------------------------------------------------------------------------------------
def of_tunes(s: RuleSet) -> Iterator[str]:
    have = {(t.name, t.bits): t for t in s.tunes}
    src = load.root / "src"
    names = {t.name: t.bits != 0 for t in s.tunes}  # whether it depends on the size of a type
    for t in s.tunes:
        what = f"tune('{t.name}', ..)"
        if tunes.asked(src) and not tunes.is_asked(src, t.name):
            yield at(t.where, f"{what}: src asks for no number that is called so{like(t.name, tunes.asked(src))}")
            continue
        if not t.because.strip():
            yield at(t.where, f"{what}: because= is empty; a number without a reason is a guess")
        if (t.bits != 0) != names[t.name]:
            yield at(t.where, f"{what}: bits={t.bits}: a number has rows of types' sizes, or one row without bits=")
        elif t.bits not in (0, *tunes.BITS):
            yield at(t.where, f"{what}: bits={t.bits}: one of {', '.join(map(str, tunes.BITS))} is expected")
        wrong = tunes.fault(t, t.value) or (tunes.fault(t, t.off, True) if t.off is not None else "")
        if wrong:
            yield at(t.where, f"{what}: {wrong}")
        if t.bits and t.value * t.bits > 8 * max(s.values.get("vector_bytes", 16), 16):
            yield at(t.where, f"{what}: {t.value} lanes of {t.bits} bits are more than vector_bytes={s.values.get('vector_bytes')}")
        large = have.get((t.upto, t.bits))
        if t.upto and not large:
            yield at(t.where, f"{what}: upto='{t.upto}': no number is called so{like(t.upto, names)}")
        elif large and t.value > large.value:
            yield at(t.where, f"{t.name}={t.value} is more than {t.upto}={large.value}")
    for name in sorted({*names, *tunes.asked(src)}) if s.tunes else ():
        for bits in tunes.BITS if names.get(name) else (0,):
            if (name, bits) not in have:
                yield at((f"patterns/{s.name}.py", s.line_of_tune), f"TUNE lacks '{name}'" + (f" of bits={bits}" if bits else ""))


# --- instructions ----------------------------------------------------------------------------------------------------------------------
def suffix(t: str, lanes: int) -> str:
    o = ops.TYPE_BY_NAME[t]
    name = t if o.cls == "F" else "pred" if o.cls == "P" else f"{'s' if o.cls == 'I' else 'u'}{o.bits}"
    return f"{name}x{lanes}" if lanes > 1 else name


def forms(r: Rule, to: str, frm: str, lanes: int = 1) -> List[str]:
    """The forms of the price table that `ptx=` spells at these types, as src/pipe/branch.c does."""
    letters = {"%t": suffix(to, lanes), "%o": suffix(frm, 1 if to in ("f16", "bf16") else lanes), "%b": str(ops.TYPE_BY_NAME[to].bits),
               "%w": str(ops.TYPE_BY_NAME[frm].bits)}
    return [re.sub("%[tobw]", lambda m: letters[m[0]], word) for word in r.ptx.split()]


def stem(form: str) -> str:
    """`mul.hi` of mul.hi.u32: an instruction without its types, which may be wider where the machine has no narrow ones. A comparison that is true of nan
    costs what the other one does."""
    return ".".join(w for w in form.split(".") if not re.fullmatch(r"(bf|[bsufe])\d\w*", w)).replace("setp.neu", "setp.ne")


def unlike_its_text(r: Rule, lines: Any, features: Tuple[str, ...]) -> str:
    """A form of `ptx=` of another instruction than the one which patterns/texts.py has for the row; empty if there is none."""
    for x in (x for x in texts.of_row(r, lines, features) if not x.word and not x.pair and not x.constant and x.ptx.count(";") == 1):
        own = stem(x.ptx.split()[0])
        if own != "mov" and own not in map(stem, forms(r, x.to, x.frm)):
            return f"ptx='{r.ptx}': patterns/texts.py has {x.ptx.split()[0]} for '{r.right}' of {x.frm}"
    return ""


def of_forms(targets: List[RuleSet], table: Any) -> Iterator[str]:
    lines = texts.flat(load.run("texts").ALL) if (load.root / "patterns/texts.py").exists() else {}
    for s in targets:
        features = tuple(s.values.get("features", ()))
        yield from (at(r.where, said) for r in s.phases["isel"] if r.ptx for said in [unlike_its_text(r, lines, features)] if said)
    done: Dict[int, Rule] = {}
    for r in (r for s in targets for r in s.phases["isel"] if r.ptx):
        if id(r) in done or not isinstance(r.left, Node):
            continue
        done[id(r)] = r
        types = [(to, frm) for to in r.left.result.members for frm in r.left.types[-1].members]
        if not any(f in table.forms for to, frm in types for f in forms(r, to, frm)):
            yield at(r.where, f"ptx='{r.ptx}': {prices.FILE} has no form {forms(r, *types[0])[0]}, nor one of another type of {r.left}"
                     + like(forms(r, *types[0])[0], table.forms))


def of_plans(s: RuleSet) -> Iterator[str]:
    """Operations that plans use where the target has the feature, and no rule takes."""
    for word, some in NEEDED.items():
        there = not word or word in s.values.get("features", ())
        lacking = [f"{op}.{t}" + (f"x{lanes}" if lanes > 1 else "") for op, t, lanes in some if there and not takes(s, op, t, "", lanes)]
        if lacking:
            yield at((f"patterns/{s.name}.py", s.line_of_instr), f"no INSTR rule takes {', '.join(lacking)}, which plans use" +
                     (f" on machines with the feature '{word}'" if word else "") + "; patterns/sharing.py has the lists")


def faults(targets: List[RuleSet], table: Optional[prices.Table] = None) -> List[str]:
    """The faults of all rows, each once. table: of prices, if it is read already. Folders without prices are those of tests, whose targets
    state little: there only what is written is asked."""
    whole = (load.root / prices.FILE).exists()
    table = prices.known()[1] if whole and table is None else table
    out: List[str] = []
    for s in targets:
        if whole:
            out += [*of_target(s), *of_tunes(s), *of_plans(s)]
            out += [at(*x) for x in strategies.faults(s.strategies)]
        out += [*of_packed(s, table), *of_free(s)]
    if table:
        out += of_forms(targets, table)
    return list(dict.fromkeys(out))


__all__ = ["faults", "first_version", "forms"]
