"""Which PTX a target's machine takes, as far as patterns/prices.tsv says: ptxas was given each of its forms for each target.

    patterns/machine.py:41: error: sm_75 does not have cvt.rn.f16x2.e4m3x2, which patterns/sm75.py takes (sm_89, sm_90, sm_100, sm_120 have it)
"""
from __future__ import annotations

import re
from typing import Iterator, List

from gen import prices
from gen.expr import Node
from gen.load import RuleSet


def opcodes(text: str) -> Iterator[str]:
    """The instructions of an asm text: `{ .reg .b32 h; @p mul.hi.u32 h, %a, 3; }` has mul.hi.u32."""
    for statement in re.split(r"[;{}]", text):
        m = re.match(r"\s*(?:@!?\w+\s+)?([a-z][\w.:]*)\s+\S", statement)
        if m:
            yield m.group(1)


def faults(s: RuleSet, table: prices.Table) -> List[str]:
    """A fault for each instruction rule whose text holds an instruction that other targets have and this one has not."""
    name, out = str(s.values["name"]), []
    for r in s.phases["isel"]:
        if r.kind != "asm" or not isinstance(r.left, Node):
            continue
        for form in opcodes(str(r.right)):
            having = [t for t in table.forms.get(form, {}) if t != name]
            if having and name not in table.forms[form]:
                out.append(f"{r.where[0]}:{r.where[1]}: error: {name} does not have {form}, which patterns/{s.name}.py takes ({', '.join(having)} have it)")
    return list(dict.fromkeys(out))


__all__ = ["faults", "opcodes"]
