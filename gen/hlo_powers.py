"""What a power with a constant exponent costs: the function that its rule of patterns/powers.py leaves, for src/hlo, which knows no rules.

    rewrite(pow[t](a, 1.5), with_infinity(t, a, three_halves(t, a), INF))      =>      {1.5, SC_F32, OP_SQRT}, {1.5, SC_F64, OP_SQRT}
"""
from __future__ import annotations

import importlib
from typing import List, Tuple

from gen.expr import Lit, Node
from gen.lang import Rule
from gen.load import walk


def rows() -> List[Tuple[float, str, str]]:
    """(exponent, type, operation of gen/ops.py that is costly; "none": products are left), as the rules stand; of several the one whose operand
    another one takes, which is computed first."""
    out: List[Tuple[float, str, str]] = []
    rules: List[Rule] = importlib.import_module("patterns.powers").ALL
    for r in rules:
        assert isinstance(r.left, Node) and isinstance(r.left.args[1], Lit), r.text
        costly = [e for e in walk(r.right) if isinstance(e, Node) and "costly" in e.op.props.split()]  # type: ignore[arg-type]
        first = [e for e in costly if sum(x is y for x in costly for y in walk(e)) == 1]
        out += [(float(r.left.args[1].value), t, first[0].op.name if first else "none") for t in r.left.types[0].members]
    return out


def table() -> str:
    lines = [f"    {{{exponent!r}, SC_{t.upper()}, OP_{op.upper()}}},\n" for exponent, t, op in rows()]
    return "".join(["\n/* From patterns/powers.py. */\nconst HloPower hlo_powers[] = {\n", *lines, "    {0, SC_NONE, OP_NONE},\n};\n"])
