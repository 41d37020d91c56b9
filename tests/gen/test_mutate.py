"""gen/mutation/mutate.py: each kind of mutant is made and killed, and is told apart from mutants that are equal to their rule."""
from __future__ import annotations

import sys
import unittest
from pathlib import Path
from typing import Any, Dict

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.dont_write_bytecode = True

from gen.proof import prove, z3_formula  # noqa: E402
from gen.mutation import every_value, mutate  # noqa: E402
from gen.lang import (Lit, N, U, a, add, b, band, bits, bnot, bxor, cvt, div, exp, exp2, fma, k, lt, min, mul, mulhi, n, divx, rcpz,  # noqa: E402,F401
                      rewrite, select, shlx, shrlx, sin, sqrt, sub, within)  # noqa: E402,F401
from gen.mutation.mutants import copied, everything  # noqa: E402


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
        for kind in ("operands of sub.u8 swapped", "operands of select.u8 swapped", "1 is 2", "1 is 0", "lt is le", "sub is add", "without k > 3", "3 is 2",
                     "> is >= in k > 3"):
            self.assertIn(kind, what)

    def test_no_mutant_is_a_condition_that_holds_more_seldom(self) -> None:
        same = sub.i8(a, k)
        for when, stays, goes in ((k > 3, "3 is 2", "3 is 4"), (~(k > 3), "3 is 4", "3 is 2"), (within(k, 3, 9), "3 is 2", "3 is 4"),
                                  (within(k, 3, 9), "9 is 10", "9 is 8"), (k <= 3, "3 is 4", "<= is < in k <= 3"), (k < 3, "< is <= in k < 3", "3 is 2")):
            what = {m.what for m in mutate.mutants(rewrite(same, same, when=when))}
            self.assertIn(stays, what, str(when))
            self.assertNotIn(goes, what, str(when))

    def test_thresholds_of_what_states_an_error(self) -> None:
        what = {m.what: m for m in mutate.mutants(rewrite(exp.f32(a), select.f32(lt.f32(a, 2.0), exp2.f32(mul.f32(a, 1.5)), a)))}
        self.assertIn("lt is ge", what)
        self.assertIsNotNone(what["2.0 is 1.0 or 4.0"].other)
        self.assertIn("1.5 is 1.5234375 or 3.0", what)

    def test_what_constants_are_for(self) -> None:
        turned = shrlx.u32(add.u32(bnot.u32(bits.u32.f32(a)), 1 << 29), 30)
        near = band.u32(sub.u32(bits.u32.f32(a), 0x3f400001), 0xff800000)
        guessed = rcpz.f64(fma.f64(cvt.f64.f32(a), 2.0**-20, 1.0))
        right = add.f32(cvt.f32.u32(mulhi.u32(bxor.u32(turned, near), 0x55555556)), cvt.f32.f64(guessed))
        what = {m.what: m for m in mutate.mutants(rewrite(exp.f32(a), right), 0)}
        for name in (f"{1 << 29} is {1 << 28} or {1 << 30}", f"{0xff800000} is {0xff000000} or {0xffc00000}", f"{2.0**-20} is {2.0**-21} or {2.0**-19}"):
            self.assertIsNotNone(what[name].other)
        for name in (f"{0x3f400001} is {0x3fc00001}", f"{0x3f400001} is {0x3ec00001}", f"{0x55555556} is {0x55555556 + 0x1555555}", "30 is 31"):
            self.assertIsNone(what[name].other)
        fixed = cvt.f32.u32(mulhi.u32(bits.u32.f32(a), sub.u32(0x40000000, mulhi.u32(bits.u32.f32(a), 0x20000000))))
        self.assertIsNotNone({m.what: m for m in mutate.mutants(rewrite(exp.f32(a), fixed), 0)}[f"{1 << 30} is {65 << 24} or {1 << 29}"].other)
        self.assertIn("5 is 6", {m.what for m in mutate.mutants(rewrite(band.u32(a, 5), band.u32(5, a)))})  # in an exact rule every constant is a number

    @unittest.skipUnless(z3_formula.present(), "z3 is not here")
    def test_what_is_the_same_where_it_stands(self) -> None:
        sign = band.u32(shlx.u32(bits.u32.f32(a), 30), 1 << 31)
        rule = rewrite(sin.f32(a), bits.f32.u32(bxor.u32(bits.u32.f32(sin.f32(a)), sign)))
        m = mutate.mutants(rule, 0)[0]
        for mask, one in ((0x80000001, True), (0xc0000000, False)):
            m.rule = rewrite(rule.left, copied(rule.right, {id(x): Lit(mask) for x in everything(rule.right) if isinstance(x, Lit) and x.value == 1 << 31}))
            mutate.prepare(m, {})
            self.assertEqual(mutate.same_in_place(m, m.cases[0]), one)

    def test_over_every_value(self) -> None:
        rule = rewrite(sqrt.f16(a), cvt.f16.f32(sqrt.f32(add.f32(cvt.f32.f16(a), 0.0))))
        for other, state in ((-0.0, "right"), (2.0**-10, "killed")):
            zero = next(x for x in everything(rule.right) if isinstance(x, Lit))
            m = mutate.Mutant(rewrite(rule.left, copied(rule.right, {id(zero): Lit(other)})), "", rule)
            m.rule.left = rule.left
            mutate.prepare(m, {})
            c = prove.cases_of(rule, {})[0]
            self.assertEqual(every_value.judge(c, [(m, m.cases[0])]), [state])

    def test_one_that_differs_at_a_value_where_it_is_right(self) -> None:
        if z3_formula.present():  # at 7 the other branch gives 7 too
            self.assertEqual(fates(rewrite(min[U](a, 7), select[U](lt[U](a, 7), a, 7)))["lt is le"], "equal")

    def test_wrong_ones_are_killed(self) -> None:
        found = fates(rewrite(div[N](a, k), divx[N](a, k), when=k > 0))
        self.assertEqual(found["divx is remx"], "killed")
        self.assertEqual(found["without k > 0"], "killed")
        self.assertEqual(found["operands of divx.N swapped"], "killed")

    @unittest.skipUnless(z3_formula.present(), "z3 is not here")
    def test_right_ones_are_shown_right(self) -> None:
        self.assertEqual(fates(rewrite(mul.bf16(a, b), fma.bf16(a, b, -0.0)))["-0.0 is 0.0"], "killed")
        self.assertEqual(fates(rewrite(n // k, 0, when=within(n, 0, k) & (k > 0)))["without k > 0"], "equal")

    def test_parts_stay_shared(self) -> None:
        inner = add.u8(a, 1)
        m = next(m for m in mutate.mutants(rewrite(mul.u8(inner, b), mul.u8(b, inner))) if m.what == "1 is 2")
        self.assertIs(m.rule.left.args[0], m.rule.right.args[1])


if __name__ == "__main__":
    unittest.main()
