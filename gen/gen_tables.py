"""Compiles pattern files to constant C tables: `gen_tables.py OUTDIR` writes tables_index.c, tables_smNN.c, tg_targets.h, smNN.rules,
code.def and patterns.made; `gen_tables.py OUTDIR DIR` takes the rules of DIR/patterns; `gen_tables.py OUTDIR DIR sm80 sm90` those of some targets.
`gen_tables.py FILE.tables ..` writes the same tables as one file instead, which `warpburg --tables FILE.tables` takes.

The output is the same byte for byte for the same input; the first line of each file names its inputs. Faults go to stderr as
`file:line: error:`, with exit status 1.
"""
from __future__ import annotations

import gc
import hashlib
import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gen import checks, compile as comp, encode, guards, ledger, load, measured, opcodes, ops, permits, prices, strategies, structs, texts
from gen.expr import PatternError, Step, parts
from gen.lang import Rule
from gen.load import PHASES, RuleSet

Compiled = Tuple[encode.Tables, Dict[str, Dict[str, int]], List[Rule]]
Written = Callable[[Rule], List[texts.Text]]


def compile_set(s: RuleSet) -> Compiled:
    """Tables, entry offsets by phase and operation, and the rows of the instruction table."""
    number = {id(r): n for n, r in enumerate(s.rules)}
    instrs = [r for r in s.phases.get("isel", [])]
    tables, entries = encode.Tables(), {}
    made = {phase: [p for r in s.phases.get(phase, []) for p in comp.programs(s, phase, r)] for phase in PHASES}
    tables.classes([p for programs in made.values() for p in programs])
    for phase, programs in made.items():
        for p in programs:
            p.rule.names, p.rule.orders = " ".join(f"{name}={slot}" for name, slot in p.names.items()), p.orders
        entries[phase] = tables.rules(programs, number)
    return tables, entries, instrs


def conditions(r: Rule) -> str:
    """The conditions that the engine decides, one a line; those on features of the target were decided by load.py."""
    return "\n".join(str(c) for c in parts(r.when) if not load.of_feature(c))


def engine_values(s: RuleSet, compiled: Compiled, written: Written) -> Dict[str, Any]:
    """RwTables of a rule set, by field. written: the PTX of each row of the instruction table."""
    tables, entries, instrs = compiled
    number = {id(r): n for n, r in enumerate(s.rules)}
    phase_of = {id(r): name for name, rules in s.phases.items() for r in rules}
    steps, made = steps_of(s)
    return {
        "name": s.values.get("name", "index"), "code": tables.code, "n_build": tables.n_build, "n_filter": tables.n_filter, "imm": tables.imm or [0],
        "n_rows": sum(map(len, tables.rows)),
        "entry": [entries[phase].get(op, 0) for phase in PHASES for op in structs.OP],
        "late": permits.asked_late(s),
        "rules": [[r.where[0], r.where[1], r.instance, r.text, structs.PHASE[phase_of[id(r)]], r.names, conditions(r), r.ledger, made[n]]
                  for n, r in enumerate(s.rules)],
        "steps": [[x.file, x.name, x.line, x.head] for x in steps],
        "instrs": [[structs.KIND[r.kind], len(comp.operands_of(r)), number[id(r)], str(r.right), len(r.immediates), r.ptx,
                    [x.values() for x in written(r)]] for r in instrs],
        "packed": [[structs.OP[p.op], structs.TYPE[p.to], structs.TYPE[p.frm], p.lanes] for p in s.packed],
        "free": [[structs.OP[f.op], structs.OP[m], structs.TYPE[f.type]] for f in s.free for m in f.modifiers],
    }


def target_values(s: RuleSet, lowerings: List[structs.Values], priced: prices.Priced) -> Dict[str, Any]:
    """TgTarget of a target, by field, without its `tables`. Numbers and rates are looked up by name, and stand in the order of these."""
    facts = {k: " ".join(v) if isinstance(v, tuple) else v for k, v in s.values.items()}
    return {
        **facts,
        "tunes": [[t.name, t.bits, t.value, t.because, *t.where, t.off is not None, t.off or 0]
                  for t in sorted(s.tunes, key=lambda t: (t.name, t.bits))],
        "strategies": [r.values(s.strategies) for r in s.strategies],
        "rates": [[r.name, r.unit, float(r.value), float(r.low), float(r.high), r.source, r.stated] for r in sorted(s.rates, key=lambda r: r.name)],
        "prices": priced.rows, "price_of": priced.numbers, "forms": priced.forms, "sass_prices": priced.machine, "lowerings": lowerings,
    }


def steps_of(s: RuleSet) -> Tuple[List[Step], List[List[int]]]:
    """The steps that make right sides, and for each rule the numbers of those that make its nodes, in the order of building; 0: none."""
    number: Dict[Step, int] = {}
    made = [[number.setdefault(x, len(number) + 1) if x else 0 for x in r.made] if any(r.made) else [] for r in s.rules]
    return list(number), made


def engine_arrays(engine: Dict[str, Any], name: str, owners: List[str]) -> Tuple[str, str]:
    """The arrays that the engine runs, in C, and the prefix of their names. Targets with equal arrays share those in the file of owners[0]."""
    begin = f"tg_{owners[0]}_" if len(owners) > 1 else ""
    kinds = (f"uint32_t {begin}code[{len(engine['code'])}]", f"uint64_t {begin}imm[{len(engine['imm'])}]",
             f"uint32_t {begin}entry[RW_PHASE_COUNT][OP_COUNT]")
    declared = "".join(f"extern const {k};\n" for k in kinds) if begin else ""
    if name != owners[0]:
        return declared, begin
    n = len(structs.OP)
    entries = {phase: zip(structs.OP.values(), engine["entry"][i * n:][:n]) for i, phase in enumerate(PHASES)}
    rows = [f"    [{structs.PHASE[phase].symbol}] = {{{''.join(f' [{op.symbol}] = {at},' for op, at in of if at) or ' 0'} }},\n"
            for phase, of in entries.items()]
    bodies = structs.numbers(engine["code"], "0x{:x}u", 10), structs.numbers(engine["imm"], "0x{:x}u", 6), "".join(rows)
    return declared + "".join(f"{'' if begin else 'static '}const {k} = {{\n{body}}};\n" for k, body in zip(kinds, bodies)), begin


def c_file(s: RuleSet, engine: Dict[str, Any], own: str, owners: List[str], target: Dict[str, Any]) -> str:
    """The C file of a rule set. own: the pattern file that lists the rules, which other files may define; owners: see engine_arrays; target: of a target
    its TgTarget, by field."""
    inputs = ", ".join([own, *sorted({r.where[0] for r in s.rules} - {own})])
    arrays, begin = engine_arrays(engine, s.name, owners)
    out = [f"/* Generated from {inputs}. */\n", f'#include "{"target/target.h" if target else "rewrite/tables.h"}"\n\n', arrays]

    def fields(of: str, values: Dict[str, Any]) -> str:
        """The fields of the struct in C, behind the arrays that they point to."""
        said = []
        for name, kind in (f.split() for f in structs.STRUCTS[of]):
            if name in ("code", "imm", "entry"):
                said.append(f".{name} = {begin}{name}" + (f", .n_{name} = {len(values[name])}" if name != "entry" else ""))
            elif kind[0] == "=":
                said.append(f".{name} = &{name}")
            elif kind[0] != "[" and name in values:  # tests leave some out
                said.append(f".{name} = {structs.text_of(values[name])}")
            elif name == "forms" and values.get(name):
                said.append(f".forms = tg_forms, .n_forms = {len(values[name])}")
            elif values.get(name):
                symbol, of_it = "free_modifiers" if name == "free" else name, kind[1:-1]
                out.append(structs.rows(symbol, of_it, values[name]) if of_it in structs.STRUCTS else
                           f"static const uint16_t {symbol}[{len(values[name])}] = {{\n{structs.numbers(values[name], '{}', 24)}}};\n")
                said.append(f".{name} = {symbol}, .n_{name} = {len(values[name])}")
        return ",\n    ".join(said)

    static = "static const RwTables tables" if target else "RwTables ix_tables"
    said = fields("RwTables", engine)
    out.append(f"{static} = {{\n    {said}}};\n")
    if target:
        said = fields("TgTarget", target)
        out.append(f"const TgTarget tg_{s.name} = {{\n    {said}}};\n")
    return "".join(out)


def texts_of(own: bool) -> Tuple[Dict[Tuple[str, str, str], List[texts.Text]], Optional[Dict[Tuple[str, str, str], str]]]:
    """PTX of rows, and those without; rules of another folder need none: the back end that writes PTX then declines them."""
    lines = load.run("texts") if own or (load.root / "patterns/texts.py").exists() else None
    return (texts.flat(lines.ALL), lines.WITHOUT if own else None) if lines else ({}, None)


def worst(s: RuleSet) -> str:
    """Names the rule that is tried in the most operand orders; comp.MAX_VARIANTS is the limit."""
    r = max(s.rules, key=lambda x: x.orders, default=None)
    return f"; at most {r.orders} orders of operands, {r.name}" if r is not None and r.orders > 1 else ""


def size_of(s: RuleSet, tables: encode.Tables, owner: str) -> str:
    if s.name != owner:
        return f"{s.name}: {len(s.rules)} rules, tables of {owner}"
    size = 4 * len(tables.code) + 8 * len(tables.imm) + 4 * len(PHASES) * len(ops.OPS)
    return f"{s.name}: {len(s.rules)} rules, {size} bytes of tables ({4 * len(tables.code)} code, {8 * len(tables.imm)} immediates){worst(s)}"


def code_def() -> str:
    return ("/* Generated from gen/opcodes.py: opcodes of the words of RwTables.code, and facts of gen/guards.py. */\n" +
            "".join(f"WORD({w})\n" for w in opcodes.WORDS) + "".join(f"GUARD({g})\n" for g in guards.NUMBER))


class Made(NamedTuple):
    """The tables of the rules that were loaded."""

    index: RuleSet
    targets: List[RuleSet]
    compiled: Dict[str, Compiled]           # by name of the set
    engines: Dict[str, Dict[str, Any]]      # its RwTables
    machines: Dict[str, Dict[str, Any]]     # its TgTarget, of targets
    notes: List[str]                        # what is to be said, and forbids nothing

    def bytes(self) -> bytes:
        """What a file of tables holds (structs.file_of)."""
        values = lambda of, fields: [fields[f.split()[0]] for f in structs.STRUCTS[of]]
        engine = {name: values("RwTables", e) for name, e in self.engines.items()}
        return structs.file_of(engine["index"], [values("TgTarget", {**m, "tables": engine[name]}) for name, m in self.machines.items()])


def made(index: RuleSet, targets: Sequence[RuleSet], own: bool, check: bool = True) -> Tuple[Optional[Made], List[str]]:
    """The tables, or messages about what is wrong. own: the rules are those of the tree, whose rows must have PTX; check: they were not checked yet."""
    faults = checks.check(index, list(targets)) if check else []
    faults = faults or ledger.check([index, *targets])
    lowerings = measured.keyed(targets) if not faults else []
    off, notes = measured.check(lowerings)
    faults += off
    spelled, absent = texts_of(own)
    written = {s.name: {id(r): texts.of_row(r, spelled, s.values["features"]) for r in s.phases["isel"]} for s in targets}
    if absent is not None:
        faults += sorted({x for s in targets for r in s.phases["isel"] for x in texts.lacking(r, written[s.name][id(r)], absent)})
    if faults:
        return None, faults
    sass, table = prices.known()
    same: Dict[Tuple[int, ...], Compiled] = {}
    for s in [index, *targets]:
        if s.lists() not in same:
            same[s.lists()] = compile_set(s)
    compiled = {s.name: same[s.lists()] for s in [index, *targets]}
    engines = {"index": engine_values(index, compiled["index"], lambda r: [])}
    machines = {}
    for s in targets:
        engines[s.name] = engine_values(s, compiled[s.name], lambda r, of=written[s.name]: of[id(r)])
        machines[s.name] = target_values(s, measured.table_rows(s, lowerings), prices.of_target(s, table, sass))
    return Made(index, list(targets), compiled, engines, machines, notes), []


def sources() -> str:
    """The files that tables are made of, each with the name that git has for its contents."""
    files = [p for p in sorted((load.root / "patterns").iterdir()) if p.suffix in (".py", ".tsv")]
    return "".join(f"{hashlib.sha1(b'blob %d' % len(x) + bytes(1) + x).hexdigest()} {p.name}\n" for p in files for x in [p.read_bytes()])


def write_c(out: Path, m: Made) -> Dict[str, List[str]]:
    """The C files. Returns the names of the sets with equal engine tables, by the name of each."""
    out.mkdir(parents=True, exist_ok=True)
    alike: Dict[str, List[str]] = {}
    for name, e in m.engines.items():
        alike.setdefault(repr((e["code"], e["imm"], e["entry"])), []).append(name)
    owners = {name: names for names in alike.values() for name in names}
    for s in [m.index, *m.targets]:
        own = "patterns/indexing.py patterns/arrays.py" if s is m.index else f"patterns/{s.name}.py"
        (out / f"tables_{s.name}.c").write_text(c_file(s, m.engines[s.name], own, owners[s.name], m.machines.get(s.name, {})))
        if s is not m.index:
            (out / f"{s.name}.rules").write_text("".join(f"{r.name}: {r.text}\n" for r in s.rules))
    names = " ".join(f"X({s.name})" for s in m.targets)
    (out / "tg_targets.h").write_text(f"/* Generated from the names of patterns/sm*.py. */\n#define TG_TARGETS(X) {names}\n")
    forms = next((x["forms"] for x in m.machines.values() if x["forms"]), ["none"])
    (out / "tg_forms.h").write_text("/* Generated from patterns/prices.tsv: the forms of instructions that have prices, in order. */\n"
                                    f"const char *const tg_forms[{len(forms)}] = {{\n{''.join(f'    {structs.text_of(f)},' + chr(10) for f in forms)}}};\n")
    (out / "code.def").write_text(code_def())
    (out / "strategies.def").write_text(strategies.definitions(r for t in m.targets for r in t.strategies))
    (out / "patterns.made").write_text(sources())
    return owners


def main(argv: List[str]) -> int:
    gc.disable()  # rules live to the end: looking for garbage among them takes a quarter of the time
    start, out = time.monotonic(), Path(argv[1])
    if len(argv) > 2:
        load.use(Path(argv[2]).resolve())
    try:
        ops.check()
        m, faults = made(load.load_index(), [load.load_target(t) for t in argv[3:] or load.targets()], len(argv) <= 2)
        if m is None:
            print("\n".join(faults), file=sys.stderr)
            return 1
        owners = {name: [name] for name in m.engines}
        if out.suffix == ".tables":
            out.write_bytes(m.bytes())
        else:
            owners = write_c(out, m)
    except PatternError as e:
        print(e, file=sys.stderr)
        return 1
    for note in permits.idle([m.index, *m.targets]):
        print(note, file=sys.stderr)
    for s in [m.index, *m.targets]:
        print(size_of(s, m.compiled[s.name][0], owners[s.name][0]))
    if m.notes:
        print(f"{m.notes[0]}" + (f" ({len(m.notes) - 1} more)" if len(m.notes) > 1 else ""), file=sys.stderr)
    print(f"rules checked and compiled in {time.monotonic() - start:.2f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
