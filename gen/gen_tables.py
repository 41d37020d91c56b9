"""Compiles pattern files to constant C tables: `gen_tables.py OUTDIR` writes tables_index.c, tables_smNN.c, tg_targets.h, smNN.rules
and code.def; `gen_tables.py OUTDIR DIR` takes the rules of DIR/patterns; `gen_tables.py OUTDIR DIR sm80 sm90` those of some targets.

The output is the same byte for byte for the same input; the first line of each file names its inputs. Faults go to stderr as
`file:line: error:`, with exit status 1.
"""
from __future__ import annotations

import itertools
import json
import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gen import checks, compile as comp, encode, guards, ledger, load, measured, opcodes, ops, prices, texts
from gen.expr import PatternError, Step, parts
from gen.lang import Rule
from gen.load import PHASES, RuleSet

Compiled = Tuple[encode.Tables, Dict[str, Dict[str, int]], List[Rule]]
KINDS = {"llvm": "RW_LLVM", "intr": "RW_INTR", "call": "RW_CALL", "asm": "RW_ASM", "lookup": "RW_LOOKUP"}


def c_text(s: str) -> str:
    return json.dumps(s)


def numbers(values: List[int], fmt: str, per_line: int) -> str:
    lines = [", ".join(fmt.format(v) for v in values[i:i + per_line]) for i in range(0, len(values), per_line)]
    return "".join(f"    {line},\n" for line in lines)


def array(declaration: str, rows: List[str]) -> str:
    """`static const DECLARATION[n] = { rows };`; empty where there are no rows."""
    return f"static const {declaration}[{len(rows)}] = {{\n{''.join(f'    {row}' + chr(10) for row in rows)}}};\n" if rows else ""


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


def field_of(fact: Any) -> str:
    """A value of TARGET in C; several words become one string."""
    return c_text(" ".join(fact)) if isinstance(fact, tuple) else c_text(fact) if isinstance(fact, str) else str(fact)


def engine_tables(s: RuleSet, compiled: Compiled, owners: List[str]) -> Tuple[str, str]:
    """The arrays that the engine runs, and the prefix of their names. Targets with equal arrays share those in the file of owners[0]."""
    tables, entries, _ = compiled
    imm, begin = tables.imm or [0], f"tg_{owners[0]}_" if len(owners) > 1 else ""
    kinds = f"uint32_t {begin}code[{len(tables.code)}]", f"uint64_t {begin}imm[{len(imm)}]", f"uint32_t {begin}entry[RW_PHASE_COUNT][OP_COUNT]"
    declared = "".join(f"extern const {k};\n" for k in kinds) if begin else ""
    if s.name != owners[0]:
        return declared, begin
    rows = [f"    [RW_{n.upper()}] = {{{''.join(f' [OP_{op.upper()}] = {at},' for op, at in entries[n].items()) or ' 0'} }},\n" for n in PHASES]
    bodies = numbers(tables.code, "0x{:x}u", 10), numbers(imm, "0x{:x}u", 6), "".join(rows)
    return declared + "".join(f"{'' if begin else 'static '}const {k} = {{\n{body}}};\n" for k, body in zip(kinds, bodies)), begin


def steps_of(s: RuleSet) -> Tuple[List[Step], List[List[int]]]:
    """The steps that make right sides, and for each rule the numbers of those that make its nodes, in the order of building; 0: none."""
    number: Dict[Step, int] = {}
    made = [[number.setdefault(x, len(number) + 1) if x else 0 for x in r.made] if any(r.made) else [] for r in s.rules]
    return list(number), made


def c_file(s: RuleSet, compiled: Compiled, own: str, owners: List[str], lowerings: List[str], priced: Tuple[List[str], List[int]] = ([], []),
           machine: List[str] = [], written: Optional[Callable[[Rule], List[texts.Text]]] = None) -> str:
    """The C file of a rule set. own: the pattern file that lists the rules, which other files may define; owners: see engine_tables;
    lowerings: rows of TgLowering; priced: rows of TgPrice, and for each form the number of its row."""
    inputs = ", ".join([own, *sorted({r.where[0] for r in s.rules} - {own})])
    tables, _, instrs = compiled
    number = {id(r): n for n, r in enumerate(s.rules)}
    phase_of = {id(r): name for name, rules in s.phases.items() for r in rules}
    arrays, begin = engine_tables(s, compiled, owners)
    out = [f"/* Generated from {inputs}. */\n", '#include "target/target.h"\n\n', arrays]
    steps, made = steps_of(s)
    out.append(array("RwStep steps", [f"{{{c_text(x.file)}, {c_text(x.name)}, {x.line}, {x.head}}}," for x in steps]))
    if steps:
        out.append(f"static const uint16_t made[{sum(map(len, made))}] = {{\n{numbers([x for some in made for x in some], '{}', 24)}}};\n")
    first = [0, *itertools.accumulate(map(len, made))]
    out.append(array("RwRule rules", [f"{{{c_text(r.where[0])}, {r.where[1]}, {c_text(r.instance)}, {c_text(r.text)}, RW_{phase_of[id(r)].upper()}, "
                                      f"{c_text(r.names)}, {c_text(conditions(r))}, {c_text(r.ledger)}, " +
                                      (f"&made[{first[n]}], {len(made[n])}}}," if made[n] else "NULL, 0},")
                                      for n, r in enumerate(s.rules)]))
    own_texts = [written(r) if written else [] for r in instrs]
    out.append(array("RwText texts", texts.c_rows([x for some in own_texts for x in some])))
    at = [0, *itertools.accumulate(map(len, own_texts))]
    out.append(array("RwInstr instrs", [f"{{{KINDS[r.kind]}, {len(comp.operands_of(r))}, {number[id(r)]}, {c_text(str(r.right))}, "
                                        f"{len(r.immediates)}, {c_text(r.ptx)}, {f'&texts[{at[n]}]' if own_texts[n] else 'NULL'}, "
                                        f"{len(own_texts[n])}}}, /* {r.left} */"
                                        for n, r in enumerate(instrs)]))
    out.append(array("RwPacked packed", [f"{{OP_{p.op.upper()}, SC_{p.to.upper()}, SC_{p.frm.upper()}, {p.lanes}}}," for p in s.packed]))
    out.append(array("RwFree free_modifiers", [f"{{OP_{f.op.upper()}, OP_{m.upper()}, SC_{f.type.upper()}}}," for f in s.free for m in f.modifiers]))
    name = s.values.get("name", "index")
    static, symbol = ("static ", "tables") if s.values else ("", "ix_tables")
    out.append(f"{static}const RwTables {symbol} = {{\n    .name = {c_text(name)}, .code = {begin}code, .n_code = {len(tables.code)}, "
               f".n_build = {tables.n_build}, .n_filter = {tables.n_filter}, .imm = {begin}imm, .n_imm = {max(1, len(tables.imm))}, "
               f".n_rows = {sum(map(len, tables.rows))}, .entry = {begin}entry,\n    {f'.rules = rules, .n_rules = {len(s.rules)},' if s.rules else ''}")
    if steps:
        out.append(f" .steps = steps, .n_steps = {len(steps)},")
    if instrs:
        out.append(f" .instrs = instrs, .n_instrs = {len(instrs)},")
    if s.packed:
        out.append(f" .packed = packed, .n_packed = {len(s.packed)},")
    if s.free:
        out.append(f" .free = free_modifiers, .n_free = {sum(len(f.modifiers) for f in s.free)},")
    out.append("\n};\n")
    if s.values:
        out.append(array("TgTune tunes", [f"{{{c_text(t.name)}, {t.bits}, {t.value}, {c_text(t.because)}, {c_text(t.where[0])}, {t.where[1]}, "
                                          f"{str(t.off is not None).lower()}, {t.off or 0}}}," for t in s.tunes]))
        out.append(array("TgRate rates", [f"{{{c_text(r.name)}, {c_text(r.unit)}, {r.value!r}, {r.low!r}, {r.high!r}, {c_text(r.source)}, "
                                          f"{str(r.stated).lower()}}}," for r in s.rates]))
        fields = ", ".join(f".{k} = {field_of(v)}" for k, v in s.values.items())
        out.append(array("TgLowering lowerings", lowerings))
        out.append(array("TgPrice prices", priced[0]))
        out.append(array("TgSassPrice sass_prices", machine))
        if priced[0]:
            out.append(f"static const uint16_t price_of[{len(priced[1])}] = {{\n{numbers(priced[1], '{}', 24)}}};\n")
        more = ((f", .sass_prices = sass_prices, .n_sass_prices = {len(machine)}" if machine else "") +
                (", .prices = prices, .price_of = price_of" if priced[0] else "") +
                (f", .tunes = tunes, .n_tunes = {len(s.tunes)}" if s.tunes else "") +
                (f", .rates = rates, .n_rates = {len(s.rates)}" if s.rates else "") +
                (f", .lowerings = lowerings, .n_lowerings = {len(lowerings)}" if lowerings else ""))
        out.append(f"const TgTarget tg_{s.name} = {{{fields},\n    .tables = &tables{more}}};\n")
    text = "".join(out)
    if s.values:
        return text
    declared = "extern const RwTables ix_tables;\nconst RwTables"
    return text.replace('"target/target.h"', '"rewrite/tables.h"').replace("const RwTables", declared, 1)


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


def main(argv: List[str]) -> int:
    start, out = time.monotonic(), Path(argv[1])
    out.mkdir(parents=True, exist_ok=True)
    if len(argv) > 2:
        load.use(Path(argv[2]).resolve())
    try:
        ops.check()
        index = load.load_index()
        targets = [load.load_target(t) for t in argv[3:] or load.targets()]
        faults = checks.check(index, targets)
        faults = faults or ledger.check([index, *targets])
        lowerings = measured.keyed(targets) if not faults else []
        off, lacking = measured.check(lowerings)
        faults += off
        spelled, absent = texts_of(len(argv) <= 2)
        written = {s.name: {id(r): texts.of_row(r, spelled, s.values["features"]) for r in s.phases["isel"]} for s in targets}
        if absent is not None:
            faults += sorted({x for s in targets for r in s.phases["isel"] for x in texts.lacking(r, written[s.name][id(r)], absent)})
        if faults:
            print("\n".join(faults), file=sys.stderr)
            return 1
        sass = prices.load_sass()
        table = prices.load_table(sass)
        forms = sorted(table.forms)
        compiled = {s.name: compile_set(s) for s in [index, *targets]}
        alike: Dict[str, List[str]] = {}  # names of sets by their engine tables
        for name, (t, entries, _) in compiled.items():
            alike.setdefault(repr((t.code, t.imm, entries)), []).append(name)
        owners = {name: names for names in alike.values() for name in names}
        (out / "tables_index.c").write_text(c_file(index, compiled["index"], "patterns/indexing.py", owners["index"], []))
        for s in targets:
            priced = prices.c_rows(s, table, sass, forms) if s.rates else ([], [])
            lowered = measured.table_rows(s, lowerings)
            (out / f"tables_{s.name}.c").write_text(
                c_file(s, compiled[s.name], f"patterns/{s.name}.py", owners[s.name], lowered, priced,
                       prices.sass_rows(s, sass) if s.rates else [], lambda r, of=written[s.name]: of[id(r)]))
            (out / f"{s.name}.rules").write_text("".join(f"{r.name}: {r.text}\n" for r in s.rules))
    except PatternError as e:
        print(e, file=sys.stderr)
        return 1
    names = " ".join(f"X({s.name})" for s in targets)
    (out / "tg_targets.h").write_text(f"/* Generated from the names of patterns/sm*.py. */\n#define TG_TARGETS(X) {names}\n")
    (out / "tg_forms.h").write_text("/* Generated from patterns/prices.tsv: the forms of instructions that have prices, in order. */\n" + (
        array("char *const forms", [f"{c_text(f)}," for f in forms]) or "static const char *const forms[1] = {0};\n"))
    (out / "code.def").write_text(code_def())
    for note in checks.idle(r for s in [index, *targets] for r in s.rules):
        print(note, file=sys.stderr)
    for s in [index, *targets]:
        print(size_of(s, compiled[s.name][0], owners[s.name][0]))
    if lacking:
        print(f"{lacking[0]}" + (f" ({len(lacking) - 1} more)" if len(lacking) > 1 else ""), file=sys.stderr)
    print(f"rules checked and compiled in {time.monotonic() - start:.2f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
