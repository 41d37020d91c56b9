"""Permissions: which nodes of a right side carry them, rules that ask for one that nothing has, and rules that are right or wrong under them."""
from __future__ import annotations

import sys
import unittest
from pathlib import Path
from typing import Any, Dict, List

sys.path.insert(0, str(Path(__file__).resolve().parent))

from small import ROOT  # noqa: E402, F401
from gen import load, permits  # noqa: E402
from gen.lang import Rule  # noqa: E402
from gen.proof import prove, z3_formula  # noqa: E402

# left side -> right side when flags
RIGHT = """
sub.f16(a, a) -> 0.0 when nnan
div.f16(a, a) -> 1.0 when nnan
mul.f16(a, 0.0) -> 0.0 when nnan & nsz
mul.f16(a, -0.0) -> 0.0 when nnan & nsz
add.f16(a, 0.0) -> a when nsz
sub.f16(0.0, a) -> neg.f16(a) when nsz
neg.f16(sub.f16(a, b)) -> sub.f16(b, a) when nsz
eq.f16(a, a) -> True when nnan
ne.f16(a, a) -> False when nnan
bnot.pred(lt.f16(a, b)) -> ge.f16(a, b) when nnan
bor.pred(lt.f16(a, b), gt.f16(a, b)) -> ne.f16(a, b) when nnan
select.f16(ne.f16(a, a), b, a) -> a when nnan
select.f16(eq.f16(a, a), a, b) -> a when nnan
select.f16(lt.f16(a, b), a, b) -> min.f16(a, b) when nnan & nsz
select.f16(ge.f16(a, b), a, b) -> max.f16(a, b) when nnan & nsz
select.f16(lt.f16(a, 0.0), neg.f16(a), a) -> abs.f16(a) when nnan & nsz
select.f16(eq.f16(a, 0.0), 0.0, a) -> a when nsz
select.f16(eq.f16(a, b), a, b) -> b when nsz
abs.f16(sub.f16(a, a)) -> 0.0 when nnan
max.f16(a, -INF) -> a when nnan
min.f16(max.f16(a, b), a) -> a when nnan & nsz
max.f16(neg.f16(a), neg.f16(b)) -> neg.f16(min.f16(a, b)) when nnan
mul.f16(a, select.f16(eq.f16(b, b), 1.0, 0.0)) -> a when nnan
add.f16(mul.f16(a, b), c) -> fma.f16(a, b, c) when contract
sub.f16(mul.f16(a, b), c) -> fma.f16(a, b, neg.f16(c)) when contract
sub.f16(c, mul.f16(a, b)) -> fma.f16(neg.f16(a), b, c) when contract
add.f32(mul.f32(a, b), mul.f32(c, x)) -> fma.f32(a, b, mul.f32(c, x)) when contract
add.f32(a, mul.f32(a, b)) -> fma.f32(a, b, a) when contract
sub.f16(add.f16(a, 0.0), b) -> sub.f16(a, b) when nsz
add.f16(sub.f16(a, a), b) -> b when nnan & nsz
select.f16(lt.f16(a, 0.0), neg.f16(a), a) -> abs.f16(a) when nsz
sub.f16(mul.f16(a, b), mul.f16(a, b)) -> 0.0 when contract & nnan & nsz
sub.f64(a, a) -> 0.0 when nnan
"""
WRONG = """
sub.f16(a, a) -> 0.0
sub.f16(a, a) -> 0.0 when nsz
sub.f16(a, a) -> 0.0 when contract
sub.f16(a, a) -> -0.0 when nnan
div.f16(a, a) -> 1.0
div.f16(a, a) -> 1.0 when nsz
div.f16(a, a) -> -1.0 when nnan
div.f16(a, b) -> 1.0 when nnan
mul.f16(a, 0.0) -> 0.0
mul.f16(a, 0.0) -> 0.0 when nnan
mul.f16(a, 0.0) -> 0.0 when nsz
mul.f16(a, 0.0) -> a when nnan & nsz
add.f16(a, 0.0) -> a
add.f16(a, 0.0) -> a when nnan
add.f16(a, 0.0) -> a when contract
sub.f16(0.0, a) -> neg.f16(a)
sub.f16(0.0, a) -> neg.f16(a) when nnan
sub.f16(0.0, a) -> a when nsz
neg.f16(sub.f16(a, b)) -> sub.f16(b, a)
neg.f16(sub.f16(a, b)) -> sub.f16(a, b) when nsz & nnan
eq.f16(a, a) -> True
eq.f16(a, a) -> True when nsz
eq.f16(a, a) -> False when nnan
ne.f16(a, a) -> False when nsz
lt.f16(a, a) -> True when nnan
eq.f16(a, b) -> eq.u16(bits.u16.f16(a), bits.u16.f16(b)) when nnan
eq.f16(a, b) -> eq.u16(bits.u16.f16(a), bits.u16.f16(b)) when nnan & nsz
bits.u16.f16(add.f16(a, 0.0)) -> bits.u16.f16(a) when nsz
bnot.pred(lt.f16(a, b)) -> ge.f16(a, b)
bnot.pred(lt.f16(a, b)) -> ge.f16(a, b) when nsz
bnot.pred(lt.f16(a, b)) -> gt.f16(a, b) when nnan
bor.pred(lt.f16(a, b), gt.f16(a, b)) -> ne.f16(a, b) when nsz
select.f16(lt.f16(a, b), a, b) -> min.f16(a, b)
select.f16(lt.f16(a, b), a, b) -> min.f16(a, b) when nnan
select.f16(lt.f16(a, b), a, b) -> min.f16(a, b) when nsz
select.f16(lt.f16(a, b), a, b) -> max.f16(a, b) when nnan & nsz
select.f16(lt.f16(a, b), a, c) -> min.f16(a, b) when nnan & nsz
select.f16(lt.f16(a, 0.0), neg.f16(a), a) -> abs.f16(a) when nnan
select.f16(lt.f16(a, 0.0), neg.f16(a), a) -> a when nnan & nsz
select.f16(eq.f16(a, 0.0), 0.0, a) -> a
select.f16(eq.f16(a, 0.0), 0.0, a) -> a when nnan
select.f16(eq.f16(a, b), a, b) -> a when nsz & nnan
select.f16(a, b, 0.0) -> mul.f16(b, select.f16(a, 1.0, 0.0)) when nnan & nsz
select.f16(a, b, 0.0) -> b when nnan & nsz
select.f16(a, b, c) -> add.f16(select.f16(a, b, 0.0), mul.f16(c, select.f16(a, 0.0, 1.0))) when nnan & nsz
select.f16(ne.f16(a, a), b, a) -> b when nnan
div.f16(1.0, add.f16(a, 0.0)) -> div.f16(1.0, a) when nsz
div.f16(1.0, sub.f16(0.0, a)) -> div.f16(-1.0, a) when nsz
copysign.f16(a, add.f16(b, 0.0)) -> copysign.f16(a, b) when nsz
atan2.f16(add.f16(a, 0.0), -1.0) -> atan2.f16(a, -1.0) when nsz
mul.f16(a, 2.0) -> add.f16(a, 1.0) when contract & nnan & nsz
abs.f16(a) -> a when nsz
max.f16(a, 0.0) -> a when nnan & nsz
add.f16(mul.f16(a, b), c) -> fma.f16(a, b, c)
add.f16(mul.f16(a, b), c) -> fma.f16(a, b, c) when nnan & nsz
sub.f16(c, mul.f16(a, b)) -> fma.f16(a, b, c) when contract
sub.f16(mul.f16(a, b), c) -> fma.f16(a, b, c) when contract
add.f16(add.f16(a, b), c) -> add.f16(a, add.f16(b, c)) when contract
mul.f16(mul.f16(a, b), c) -> mul.f16(a, mul.f16(b, c)) when contract & nnan & nsz
mul.f16(a, b) -> fma.f16(a, b, 0.0) when contract
fma.f16(a, b, c) -> add.f16(mul.f16(a, b), c) when contract
mul.f16(a, add.f16(b, c)) -> fma.f16(a, b, mul.f16(a, c)) when contract
add.f16(mul.f16(a, b), mul.f16(a, c)) -> mul.f16(a, add.f16(b, c)) when contract
"""


def rules_of(text: str) -> List[Rule]:
    scope: Dict[str, Any] = {}
    lines = []
    for line in text.strip().splitlines():
        left, _, rest = line.partition(" -> ")
        right, _, when = rest.partition(" when ")
        lines.append(f"rewrite({left}, {right}{', when=' + when if when else ''})")
    exec("from gen.lang import *\nINF = float('inf')\nRULES = [" + ",\n".join(lines) + "]", scope)  # noqa: S102
    load.identify(scope["RULES"])
    for n, r in enumerate(scope["RULES"]):
        r.where = ("patterns/sm90.py", n + 1)
    return list(scope["RULES"])


class Permits(unittest.TestCase):
    def test_right_and_wrong_rules(self) -> None:
        load.use(ROOT)
        right, wrong = rules_of(RIGHT), rules_of(WRONG)
        proofs = prove.prove(right + wrong, {}, samples=1 << 14, solver=z3_formula.present())
        failed = [r.text for r, p in zip(right, proofs) if p.failed]
        held = [r.text for r, p in zip(wrong, proofs[len(right):]) if not p.failed]
        self.assertEqual((failed, held), ([], []))

    def carried(self, text: str, phase: str = "simplify") -> Dict[str, int]:
        r, = rules_of(text)
        masks = permits.carried(r, phase)
        return {e.name: masks.get(id(e), 0) for e in load.walk(r.right) if hasattr(e, "op") and hasattr(e, "types")}

    def test_what_made_nodes_carry(self) -> None:
        both = permits.NNAN | permits.NSZ
        self.assertEqual(self.carried("mul.f32(neg.f32(a), b) -> neg.f32(mul.f32(a, b))"), {"neg.f32": both | permits.CONTRACT, "mul.f32": both})
        self.assertEqual(self.carried("mul.f32(neg.f32(a), b) -> neg.f32(mul.f32(a, b))", "lower"), {"neg.f32": both, "mul.f32": 0})
        self.assertEqual(self.carried("mul.f32(a, 2.0) -> mul.f32(2.0, a)"), {"mul.f32": permits.ALL})
        self.assertEqual(self.carried("div.f32(a, 2.0) -> mul.f32(a, 0.5)"), {"mul.f32": both})  # a quotient is rounded
        # a nan that a select does not choose, the sign of a divisor
        made = self.carried("tanh.f32(a) -> select.f32(lt.f32(a, 1.0), exp.f32(a), div.f32(1.0, neg.f32(a)))")
        self.assertEqual((made["exp.f32"], made["neg.f32"]), (permits.CONTRACT, permits.CONTRACT))
        self.assertEqual(made["select.f32"], permits.NSZ | permits.CONTRACT)
        self.assertEqual(self.carried("neg.f32(a) -> sub.f32(-0.0, a)", "isel"), {"sub.f32": 0})

    def test_idle(self) -> None:
        load.use(ROOT)
        sets = [load.load_index(), load.load_target("sm90")]
        self.assertEqual(permits.idle(sets), [])
        more = rules_of("bor.pred(gt.f32(a, b), eq.f32(a, b)) -> ge.f32(a, b) when nnan")
        sets[1].phases["simplify"].extend(more)
        notes = permits.idle(sets)
        self.assertEqual(len(notes), 1, notes)
        self.assertIn("never fires: no option, no HLO and no rule makes bor.pred with nnan", notes[0])


if __name__ == "__main__":
    unittest.main()
