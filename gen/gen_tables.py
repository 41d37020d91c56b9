"""Pattern files to const C tables: `gen_tables.py OUTDIR` writes tables_index.c, tables_smNN.c, tg_targets.h, smNN.rules, code.def.

`gen_tables.py OUTDIR DIR` takes the rules of DIR/patterns.

Deterministic byte for byte; the first line of each file names its inputs. Faults go to stderr as `file:line: error:`, exit 1.
"""
from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Dict, List, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gen import checks, compile as comp, encode, guards, ledger, load, ops
from gen.expr import Guard, Not, PatternError, parts
from gen.lang import Rule
from gen.load import STRATA, RuleSet

Compiled = Tuple[encode.Tables, Dict[str, Dict[str, int]], List[Rule]]
KINDS = {"llvm": "RW_LLVM", "intr": "RW_INTR", "call": "RW_CALL", "asm": "RW_ASM"}


def c_text(s: str) -> str:
    return json.dumps(s)


def numbers(values: List[int], fmt: str, per_line: int) -> str:
    lines = [", ".join(fmt.format(v) for v in values[i:i + per_line]) for i in range(0, len(values), per_line)]
    return "".join(f"    {line},\n" for line in lines)


def array(declaration: str, rows: List[str]) -> str:
    """`static const DECLARATION[n] = { rows };`, nothing where there are none."""
    return f"static const {declaration}[{len(rows)}] = {{\n{''.join(f'    {row}' + chr(10) for row in rows)}}};\n" if rows else ""


def compile_set(s: RuleSet) -> Compiled:
    """Tables, entry offsets by stratum and operation, and the rows of the instruction table."""
    number = {id(r): n for n, r in enumerate(s.rules)}
    instrs = [r for r in s.strata.get("select", [])]
    tables, entries = encode.Tables(), {}
    for stratum in STRATA:
        programs = [p for r in s.strata.get(stratum, []) for p in comp.programs(s, stratum, r)]
        for p in programs:
            p.rule.names, p.rule.orders = " ".join(f"{name}={slot}" for name, slot in p.names.items()), p.orders
        entries[stratum] = tables.rules(programs, number)
    return tables, entries, instrs


def conditions(r: Rule) -> str:
    """One a line, as the engine decides them; those on the target's features are decided here."""
    asked = [c.x if isinstance(c, Not) else c for c in parts(r.when)]
    return "\n".join(str(c) for c, a in zip(parts(r.when), asked) if not (isinstance(a, Guard) and guards.BY_NAME[a.name].kind == "feature"))


def c_file(s: RuleSet, compiled: Compiled, own: str) -> str:
    """own: the pattern file that the rules were listed by; the rules themselves may stand in others."""
    inputs = ", ".join([own, *sorted({r.where[0] for r in s.rules} - {own})])
    tables, entries, instrs = compiled
    number = {id(r): n for n, r in enumerate(s.rules)}
    stratum_of = {id(r): name for name, rules in s.strata.items() for r in rules}
    out = [f"/* Generated from {inputs}. */\n", '#include "target/target.h"\n\n']
    out.append(f"static const uint32_t code[{len(tables.code)}] = {{\n{numbers(tables.code, '0x{:x}u', 10)}}};\n")
    imm = tables.imm or [0]
    out.append(f"static const uint64_t imm[{len(imm)}] = {{\n{numbers(imm, '0x{:x}u', 6)}}};\n")
    out.append("static const uint32_t entry[RW_STRATUM_COUNT][OP_COUNT] = {\n")
    for stratum in STRATA:
        row = "".join(f" [OP_{op.upper()}] = {at}," for op, at in entries[stratum].items())
        out.append(f"    [RW_{stratum.upper()}] = {{{row or ' 0'} }},\n")
    out.append("};\n")
    out.append(array("RwRule rules", [f"{{{c_text(r.where[0])}, {r.where[1]}, {c_text(r.instance)}, {c_text(r.text)}, RW_{stratum_of[id(r)].upper()}, "
                                      f"{c_text(r.names)}, {c_text(conditions(r))}, {c_text(r.ledger)}}},"
                                      for r in s.rules]))
    out.append(array("RwInstr instrs", [f"{{{KINDS[r.kind]}, {len(comp.operands_of(r))}, {number[id(r)]}, {c_text(str(r.right))}}}, /* {r.left} */"
                                        for r in instrs]))
    out.append(array("RwPacked packed", [f"{{OP_{p.op.upper()}, SC_{p.to.upper()}, SC_{p.frm.upper()}, {p.lanes}}}," for p in s.packed]))
    out.append(array("RwFree free_modifiers", [f"{{OP_{f.op.upper()}, OP_{m.upper()}, SC_{f.type.upper()}}}," for f in s.free for m in f.modifiers]))
    name = s.values.get("name", "index")
    static, symbol = ("static ", "tables") if s.values else ("", "ix_tables")
    out.append(f"{static}const RwTables {symbol} = {{\n    .name = {c_text(name)}, .code = code, .n_code = {len(tables.code)}, .n_build = {tables.n_build}, .n_filter = {tables.n_filter}, "
               f".imm = imm, .n_imm = {len(imm)}, .entry = entry,\n    {f'.rules = rules, .n_rules = {len(s.rules)},' if s.rules else ''}")
    if instrs:
        out.append(f" .instrs = instrs, .n_instrs = {len(instrs)},")
    if s.packed:
        out.append(f" .packed = packed, .n_packed = {len(s.packed)},")
    if s.free:
        out.append(f" .free = free_modifiers, .n_free = {sum(len(f.modifiers) for f in s.free)},")
    out.append("\n};\n")
    if s.values:
        out.append(array("TgTune tunes", [f"{{{c_text(t.name)}, {t.bits}, {t.value}, {c_text(t.because)}}}," for t in s.tunes]))
        fields = ", ".join(f".{k} = {c_text(v) if isinstance(v, str) else v}" for k, v in s.values.items())
        out.append(f"const TgTarget tg_{s.name} = {{{fields},\n    .tables = &tables{f', .tunes = tunes, .n_tunes = {len(s.tunes)}' if s.tunes else ''}}};\n")
    text = "".join(out)
    if s.values:
        return text
    declared = "extern const RwTables ix_tables;\nconst RwTables"
    return text.replace('"target/target.h"', '"rewrite/tables.h"').replace("const RwTables", declared, 1)


def worst(s: RuleSet) -> str:
    """The rule that is tried in the most orders of operands; comp.MAX_VARIANTS is the bound."""
    r = max(s.rules, key=lambda x: x.orders, default=None)
    return f"; at most {r.orders} orders of operands, {r.name}" if r is not None and r.orders > 1 else ""


def size_of(s: RuleSet, tables: encode.Tables) -> str:
    hot = 4 * len(tables.code) + 8 * len(tables.imm) + 4 * len(STRATA) * len(ops.OPS)
    return f"{s.name}: {len(s.rules)} rules, {hot} bytes of tables ({4 * len(tables.code)} code, {8 * len(tables.imm)} immediates){worst(s)}"


def main(argv: List[str]) -> int:
    start, out = time.monotonic(), Path(argv[1])
    out.mkdir(parents=True, exist_ok=True)
    if len(argv) > 2:
        load.use(Path(argv[2]).resolve())
    try:
        ops.check()
        index = load.load_index()
        targets = [load.load_target(t) for t in load.targets()]
        faults = checks.check(index, targets)
        faults = faults or ledger.check([index, *targets])
        if faults:
            print("\n".join(faults), file=sys.stderr)
            return 1
        compiled = {s.name: compile_set(s) for s in [index, *targets]}
        (out / "tables_index.c").write_text(c_file(index, compiled["index"], "patterns/indexing.py"))
        for s in targets:
            (out / f"tables_{s.name}.c").write_text(c_file(s, compiled[s.name], f"patterns/{s.name}.py"))
            (out / f"{s.name}.rules").write_text("".join(f"{r.name}: {r.text}\n" for r in s.rules))
    except PatternError as e:
        print(e, file=sys.stderr)
        return 1
    names = " ".join(f"X({s.name})" for s in targets)
    (out / "tg_targets.h").write_text(f"/* Generated from the names of patterns/sm*.py. */\n#define TG_TARGETS(X) {names}\n")
    opcodes = "".join(f"WORD({w})\n" for w in encode.WORDS) + "".join(f"GUARD({g})\n" for g in guards.NUMBER)
    (out / "code.def").write_text(f"/* Generated from gen/encode.py: opcodes of the words of RwTables.code, and facts of gen/guards.py. */\n{opcodes}")
    for s in [index, *targets]:
        print(size_of(s, compiled[s.name][0]))
    print(f"rules checked and compiled in {time.monotonic() - start:.2f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
