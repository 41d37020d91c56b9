"""gen/mutate.py: each way of breaking a rule is made, is noticed, and is not mixed up with what is only another way to write it."""
from __future__ import annotations

import sys
import unittest
from pathlib import Path
from typing import Any, Dict

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.dont_write_bytecode = True

from gen import mutate, prove_z3  # noqa: E402
from gen.lang import N, U, a, add, b, band, bf16, div, exp, exp2, fma, k, lt, min, mul, n, quot, rewrite, select, sub, within  # noqa: E402,F401


def fates(rule: Any) -> Dict[str, str]:
    made = mutate.mutants(rule)
    for m in made:
        mutate.prepare(m, {})
    mutate.judge(made)
    return {m.what: m.fate for m in made}


class Mutants(unittest.TestCase):
    def test_every_kind_is_made(self) -> None:
        same = select.u8(lt.u8(a, k), sub.u8(a, 1), b)
        what = {m.what for m in mutate.mutants(rewrite(same, same, when=k > 3))}
        for kind in ("operands of sub.u8 swapped", "operands of select.u8 swapped", "1 is 2", "1 is 0", "lt is le", "sub is add", "without k > 3", "3 is 4",
                     "> is >= in k > 3"):
            self.assertIn(kind, what)

    def test_thresholds_of_what_states_an_error(self) -> None:
        what = {m.what: m for m in mutate.mutants(rewrite(exp.f32(a), select.f32(lt.f32(a, 2.0), exp2.f32(mul.f32(a, 1.5)), a)))}
        self.assertIn("lt is ge", what)
        self.assertIsNotNone(what["2.0 is 1.0 or 4.0"].other)
        self.assertIn("1.5 is 1.5234375", what)

    def test_one_that_differs_at_a_value_where_it_is_right(self) -> None:
        if prove_z3.present():  # at 7 the other way gives 7, too
            self.assertEqual(fates(rewrite(min[U](a, 7), select[U](lt[U](a, 7), a, 7)))["lt is le"], "right")

    def test_wrong_ones_are_killed(self) -> None:
        found = fates(rewrite(div[N](a, k), quot[N](a, k), when=k > 0))
        self.assertEqual(found["quot is left"], "killed")
        self.assertEqual(found["without k > 0"], "killed")
        self.assertEqual(found["operands of quot.N swapped"], "killed")

    @unittest.skipUnless(prove_z3.present(), "z3 is not here")
    def test_right_ones_are_shown_right(self) -> None:
        self.assertEqual(fates(rewrite(mul.bf16(a, b), fma.bf16(a, b, -0.0)))["-0.0 is 0.0"], "killed")
        self.assertEqual(fates(rewrite(n // k, 0, when=within(n, 0, k) & (k > 0)))["without k > 0"], "right")

    def test_parts_stay_shared(self) -> None:
        inner = add.u8(a, 1)
        m = next(m for m in mutate.mutants(rewrite(mul.u8(inner, b), mul.u8(b, inner))) if m.what == "1 is 2")
        self.assertIs(m.rule.left.args[0], m.rule.right.args[1])


if __name__ == "__main__":
    unittest.main()
