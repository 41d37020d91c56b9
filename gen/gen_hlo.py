"""Writes the generated part of src/hlo: `gen_hlo.py OUTDIR` makes hlo_ops.h and hlo_ops.c there, of hlo_ops.py, hlo_defined.py and
patterns/powers.py, and hlo_limits.h, of patterns/limits.py.
Operations are sorted by text (as bytes), so that a text is found by binary search. The output is the same byte for byte for the same input.
"""
from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gen import hlo_defined, hlo_ops, hlo_powers, hlo_reads, limits

FROM = "/* Made by gen/gen_hlo.py from gen/hlo_ops.py. */\n"
OPS = sorted(hlo_ops.OPS, key=lambda o: o.text)


def header() -> str:
    lines = [FROM, "#ifndef HLO_OPS_H\n#define HLO_OPS_H\n\ntypedef enum {\n", *(f"    HLO_{o.name},\n" for o in OPS)]
    lines += ["    HLO_OPCODE_COUNT\n} HloOpcode;\n\ntypedef enum {\n"]
    lines += [f"    HLO_IS_{k.upper()}, /* {says} */\n" for k, says in hlo_ops.KINDS.items()]
    lines += ["} HloKind;\n\n/* What a combiner leaves as it is. */\ntypedef enum {\n    HLO_NO_IDENTITY,\n"]
    lines += [f"    HLO_IDENTITY_{name.upper()},\n" for name in hlo_ops.IDENTITIES]
    lines.append("} HloIdentity;\n\n/* Facts of an operation, a set. */\ntypedef enum {\n")
    lines += [f"    HLO_{name.upper()} = 1 << {k}, /* {says} */\n" for k, (name, says) in enumerate(hlo_ops.FACTS.items())]
    return "".join([*lines, "} HloFact;\n\n#endif\n"])


def table() -> str:
    lines = [FROM, '#include "hlo/hlo.h"\n\nconst HloOpInfo hlo_op_info[HLO_OPCODE_COUNT] = {\n']
    for o in OPS:
        identity = f"HLO_IDENTITY_{o.identity.upper()}" if o.identity else "HLO_NO_IDENTITY"
        facts = " | ".join(f"HLO_{word.upper()}" for word in hlo_ops.FACTS if word in o.facts.split()) or "0"
        needs = ", ".join(f'"{word}"' for word in o.needs.split()) or "NULL"
        why, sentence = o.reason
        lines.append(f'    [HLO_{o.name}] = {{"{o.text}", {o.operands}, HLO_IS_{o.kind.upper()}, OP_{(o.scalar or "none").upper()}, '
                     f'{identity}, {"true" if o.idempotent else "false"}, "{o.takes}", {facts}, {o.starts}, {{{needs}}}, WHY_{why.upper()}, "{sentence}"}},\n')
    return "".join([*lines, "};\n\n", *hlo_reads.function(OPS)])


def definitions() -> str:
    """The texts of operations that others define."""
    lines = ["\n/* From gen/hlo_defined.py. */\nconst HloDefined hlo_defined[] = {\n"]
    for d in hlo_defined.DEFINED:
        hlo_defined.check(d)
        operation = next(o.name for o in OPS if o.text == d.operation)
        text = "\n".join(f'     "{line}\\n"' for line in d.text.replace("\\", "\\\\").replace('"', '\\"').splitlines())
        lines.append(f'    {{HLO_{operation}, "{d.target}", "{d.classes}",\n{text}}},\n')
    return "".join([*lines, "    {HLO_OPCODE_COUNT, NULL, NULL, NULL},\n};\n"])


def main() -> int:
    hlo_ops.check()
    out = Path(sys.argv[1])
    (out / "hlo_ops.h").write_text(header(), encoding="utf-8")
    (out / "hlo_limits.h").write_text(limits.header(limits.rows()), encoding="utf-8")
    (out / "hlo_ops.c").write_text(table() + definitions() + hlo_powers.table(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
