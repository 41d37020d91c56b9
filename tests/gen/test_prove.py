"""gen/proof/: wrong rules fail with the smallest counterexample; right rules get the expected state; the driver and z3 agree."""
from __future__ import annotations

import sys
import unittest
from pathlib import Path
from typing import Any, List, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.dont_write_bytecode = True

from gen import guards, lang, ledger, load, ops  # noqa: E402
from gen.proof import driver, exponents, integers, prove, report, rule as rule_command, z3_formula  # noqa: E402
from gen.lang import (F, F16, I, N, a, add, b, div, finite, i, k, known_zero, lt, m, min, mul, n, never_nan, never_negzero, divx, p, q, rest,  # noqa: E402
                      neg, rewrite, select, shl, shlx, sub, tanh, within)
from gen.proof.code import SMALL, Ins, Terms, cls, literal_bits, width  # noqa: E402

ERRORS = {("tanh", "f32", True): (2**-10.9, 0, 0), ("exp", "f32", False): (0, 1, 0)}


def proof(rule: Any, **more: Any) -> prove.Proof:
    load.identify([rule])
    return prove.prove([rule], ERRORS, samples=1 << 12, **more)[0]


class Wrong(unittest.TestCase):
    def refused(self, rule: Any, *texts: str) -> str:
        message = "\n".join(report.report([proof(rule, solver=False)]))
        for t in texts:
            self.assertIn(t, message)
        return message

    def test_counterexample_is_small_and_complete(self) -> None:
        said = self.refused(rewrite(add.f32(a, 0.0), a), "not equal at f32", "add.f32(a, 0.0) -> a")
        self.assertRegex(said, r"a +=\s0x80000000  -0\.0")
        self.assertRegex(said, r"left  add\.f32\(a, 0\.0\) = 0x00000000  0\.0")
        self.assertRegex(said, r"right a +=\s0x80000000  -0\.0")

    def test_one_bit_too_many(self) -> None:
        self.refused(rewrite(sub[N](a, b), sub[N](b, a)), "not equal at")
        self.refused(rewrite(mul[N](a, 2), a), "0x")

    def test_outside_the_domain(self) -> None:
        self.refused(rewrite(div[N](a, b), divx[N](a, b)), "outside its domain, divx.N: divides by 0 or -1")
        self.refused(rewrite(shl[N](a, k), shlx[N](a, k), when=k > 0), "shifts by the width or more")

    def test_a_left_side_outside_its_domain_is_no_counterexample(self) -> None:
        said = self.refused(rewrite(divx.i32(a, b), b), "not equal at i32")
        self.assertNotRegex(said, r" b +=\s*0x00000000")
        self.assertFalse(proof(rewrite(shlx.u32(a, b), select.u32(lt.u32(b, 32), shlx.u32(a, b), 7))).failed)
        self.refused(rewrite(select.u32(lt.u32(b, 32), shlx.u32(a, b), 0), select.u32(lt.u32(b, 32), shlx.u32(a, b), 7)), "at u32", "right select")

    def test_a_long_way_that_others_take(self) -> None:
        """What a rare select computes for odd values, others of its branch get, too, unless a select inside keeps it from them."""
        large = lang.bxor.pred(lt.f32(lang.abs.f32(a), 2.0**127), True)
        endless = mul.f32(a, float("inf"))
        self.refused(rewrite(add.f32(a, a), select.f32.rare(large, endless, mul.f32(a, 2.0))), "not equal at f32 long")
        self.assertFalse(proof(rewrite(add.f32(a, a), select.f32.rare(large, select.f32(large, endless, add.f32(a, a)), mul.f32(a, 2.0)))).failed)

    def test_powers_of_two(self) -> None:
        """A case for each exponent; a constant of the left side is a value of its type."""
        part = lang.rem.u32(a, 1 << m)
        self.assertEqual(proof(rewrite(part, lang.band.u32(a, (1 << m) - 1))).state, "proved(u32)")
        self.assertEqual([c.exponents for c in prove.cases_of(rewrite(part, 0), {})][:2], ["m = 0", "m = 1"])
        self.refused(rewrite(part, lang.band.u32(a, (1 << m) + 1)), "not equal at u32 at m = 0")
        self.refused(rewrite(lang.div[I](a, 1 << m), lang.shra[I](a, m)), "at m = 1", "0xff  -1")
        self.refused(rewrite(lang.div.u8(a, 1 << m), lang.shrlx.u8(a, m - 1)), "outside its domain, shrlx.u8: shifts by the width or more")
        of = lambda y: {r.left.args[1].value for _, r in exponents.written(rewrite(add[I](a, k), add[I](a, 1 << y)))}  # type: ignore[union-attr]
        self.assertEqual((of(k), of(k + 3), of(lang.w - k)), (set(range(64)), set(range(-3, 61)), set(range(-62, 65))))
        self.refused(rewrite(add[I](a, k), add[I](a, k + (1 << (k + 9)) // 512)), "not equal at", "at k = ")
        self.assertEqual(proof(rewrite(sub.u32(a, k), sub.u32(a, k - (1 << (k + 9)) * 0))).state, "proved(u32)")
        with self.assertRaisesRegex(lang.PatternError, "an exponent is a constant of the left side, or its sum or difference with a number"):
            proof(rewrite(add[I](a, k), add[I](a, 1 << (k * 2))))
        self.refused(rewrite(part, 0, when=m > 40), "nothing proved at u32 at m = 0: no value satisfies the conditions")

    def test_either_way_is_right(self) -> None:
        """Of cheaper(one, other) the kernel decides, so both are proved."""
        from gen.lang import cheaper, fma
        self.refused(rewrite(add.f32(a, a), cheaper(mul.f32(a, 3.0), mul.f32(a, 2.0))), "not equal at f32", "mul.f32(a, 3.0)")
        self.refused(rewrite(add.f32(a, a), cheaper(mul.f32(a, 2.0), fma.f32(a, 2.0, 0.0))), "not equal at f32 long", "-0.0")
        self.assertFalse(proof(rewrite(add[F](a, a), cheaper(mul[F](a, 2.0), fma[F](a, 2.0, -0.0)))).failed)
        self.refused(rewrite(div.i32(a, 4), cheaper(lang.shra.i32(a, 2), divx.i32(a, 4))), "not equal at i32", "-1")
        self.refused(rewrite(mul.u32(a, 4), select.u32.rare(lang.eq.u32(a, 0), 0, lang.shl.u32(a, 2))), "the condition is not rare")

    def test_a_fold_is_answered_with_a_module(self) -> None:
        from gen.lang import counts, fixed, fold_add, fold_max
        said = self.refused(rewrite(fold_max.f32(a, b, i), a, when=fixed(a, i)), "not equal at f32 of 1 terms",
                            "ROOT r.1 = f32[] reduce(a.0, b), dimensions={0}")
        self.assertRegex(said, r"a = f32\[\] constant\(")
        self.refused(rewrite(fold_add.i32(a, b, i), add.i32(b, mul.i32(a, 2)), when=fixed(a, i) & counts(i, k) & (k > 1)), "of 3 terms",
                     "a.0 = s32[3] broadcast")
        with self.assertRaisesRegex(lang.PatternError, "no fold of up to 16 terms"):
            proof(rewrite(fold_add.i32(a, b, i), b, when=fixed(a, i) & counts(i, k) & (k > 100)))

    def test_a_fold_of_folds(self) -> None:
        """Each range has each extent; widths of which there are too many values to try are left out, and the proof is one of the others."""
        from gen.lang import counts, fixed, fold_add, j
        right = rewrite(fold_add[N](fold_add[N](a, 0, j), 0, i), fold_add[N](a, 0, j), when=fixed(a, i) & counts(i, 1))
        self.assertRegex(proof(right).state, r"^proved\(.*i64.*\) exhausted\(w=1")
        self.refused(rewrite(fold_add.i32(fold_add.i32(a, 0, j), 0, i), fold_add.i32(a, 0, j), when=fixed(a, i)), "not equal at i32 of", " by ")
        with self.assertRaisesRegex(lang.PatternError, "a0 stands in fewer folds on the right side"):
            proof(rewrite(fold_add.i32(fold_add.i32(a, 0, j), 0, i), fold_add.i32(a, 0, j), when=counts(i, 1)))
        self.refused(rewrite(fold_add.f32(fold_add.f32(a, -0.0, j), 0.0, i), fold_add.f32(a, -0.0, j), when=fixed(a, i) & counts(i, 1)), "-0.0")

    def test_integers_by_floats(self) -> None:
        """Multiples of a rule's numbers are among the samples; a single value that samples miss is found where every value is run."""
        by_f64 = lambda c: lang.cvt.u32.f64(mul.f64(lang.cvt.f64.u32(a), c))
        self.refused(rewrite(lang.rem.u32(a, 70061), sub.u32(a, mul.u32(by_f64(1 / 70061 * (1 - 2**-53)), 70061))), "not equal at u32")
        odd = select.f32(lang.eq.u16(mul.u16(a, 25173), 4321), 1.0, 0.0)
        rule = rewrite(lang.lt.f32(lang.cvt.f32.u16(a), lang.cvt.f32.u16(b)), lang.lt.f32(lang.add.f32(lang.cvt.f32.u16(a), odd), lang.cvt.f32.u16(b)))
        terms = prove.cases_of(rule, {})[0].terms
        self.assertTrue(integers.countable(terms))
        five = lambda v: round(v / 2**s) << s if (s := v.bit_length() - 5) > 0 else v  # to 5 significant bits, ties to even
        at = set(integers.step_ends("u16"))
        self.assertTrue(all({v, v + 1} <= at for v in range(2**16 - 1) if five(v) != five(v + 1)))
        self.assertTrue({70061 * n + d for n in (1, 2, 61302) for d in (-1, 0, 1)} <=
                        set(integers.multiples(prove.cases_of(rewrite(lang.div.u32(a, 70061), by_f64(0.5)), {})[0].terms, "u32")))

    def test_every_pair(self) -> None:
        """Of two variables that are run at every value the one with more is counted, in blocks, whichever it is; cases are those that the conditions leave."""
        odd = lambda b: lang.band.pred(lang.eq.u16(a, 54321), lang.eq.u8(b, 201))
        for t, when in ((lang.u8, None), (lang.i8, None), (lang.u8, known_zero(a, 1))):
            both = lang.add.f32(lang.cvt.f32.u16(a), lang.cvt.f32[t](b))
            same = prove.cases_of(rewrite(both, lang.add.f32(lang.cvt.f32[t](b), lang.cvt.f32.u16(a)), when=when), {})[0].terms
            r = integers.run_every(same, prove.domains_of(same))
            self.assertEqual((r.ok, r.cases), (True, 2**24 if when is None else 2**23))
        both = lambda x, y: lang.add.f32(lang.cvt.f32.u16(a), lang.cvt.f32.u8(b)) if x else select.f32(odd(b), -1.0, lang.add.f32(y, lang.cvt.f32.u8(b)))
        wrong = prove.cases_of(rewrite(both(True, None), both(False, lang.cvt.f32.u16(a))), {})[0].terms
        r = integers.run_every(wrong, prove.domains_of(wrong))
        self.assertEqual((r.ok, [int(v.split(":")[1], 16) for v in r.values[:2]]), (False, [54321, 201]))

    def test_a_conversion_to_8_bits_by_steps(self) -> None:
        of = lambda via: rewrite(lang.cvt.f8e5m2.i64(a), lang.cvt.f8e5m2[via](lang.cvt[via].i64(a)))
        self.assertEqual(proof(of(lang.f32)).state, "proved(i64)")
        self.assertTrue(proof(of(lang.f16)).failed)

    def test_literals_of_8_bits(self) -> None:
        import ml_dtypes
        for t in SMALL:
            own = __import__("numpy").arange(1 << (4 if t == "f4e2m1fn" else 8), dtype="uint8").view(getattr(ml_dtypes,
                "float4_e2m1fn" if t[1] == "4" else f"float8_{t[2:]}"))
            for code, x in enumerate(map(float, own)):
                if x == x:
                    self.assertEqual(code, literal_bits(x, t), (t, x))
        self.assertEqual(proof(rewrite(lang.mul.f8e5m2(a, 1.0), a)).state, "exhausted(f8e5m2)")
        with self.assertRaisesRegex(lang.PatternError, "0.3 is no value of f8e5m2"):
            proof(rewrite(lang.mul.f8e5m2(a, 0.3), a))

    def test_a_rule_without_meaning_costs_no_other(self) -> None:
        some = [rewrite(lang.mul.f8e5m2(a, 0.3), a), rewrite(add[N](a, 0), a)]
        load.identify(some)
        proofs, messages = rule_command.proved(some, ERRORS, False)
        self.assertEqual((len(proofs), len(messages)), (1, 1))
        self.assertFalse(proof(rewrite(lang.modulus.f32.c64(neg.c64(a)), lang.modulus.f32.c64(a))).failed)

    def test_every_value_of_one_f32(self) -> None:
        """A single value that samples miss: found where every value is run, which ends there."""
        odd = 0x00345678
        hidden = lang.eq.u32(mul.u32(lang.bits.u32.f32(a), 0x9E3779B9), odd * 0x9E3779B9 & 0xFFFFFFFF)
        rule = rewrite(lang.abs.f32(a), select.f32(hidden, 0.0, lang.abs.f32(a)))
        self.assertTrue(proof(rule, solver=False).state.startswith("tested(f32"))
        found = proof(rule, solver=False, whole=True)
        self.assertRegex("\n".join(report.report([found])), f"a += 0x{odd:08x}")

    def test_effects_have_no_proof(self) -> None:
        for rule in (rewrite(lang.atomic_max.f32(a), lang.bits.f32.i32(lang.atomic_max.i32(lang.bits.i32.f32(a)))), rewrite(lang.shuffle_xor.u32(a, b), a)):
            with self.assertRaisesRegex(lang.PatternError, "with other threads has no proof"):
                proof(rule)

    def test_no_case_is_no_proof(self) -> None:
        self.refused(rewrite(add[N](a, k), sub[N](a, k), when=k > 2**70), "nothing proved at")

    def test_constants_that_conditions_fix_together(self) -> None:
        said = self.refused(rewrite(select.i32(lt.i32(a, k), m, p), min.i32(a, m), when=(k == 100) & (m == 99) & (p == 200)), "not equal at i32")
        self.assertRegex(said, r"p += 0x000000c8")
        self.refused(rewrite(add.u32(add.u32(a, k), m), add.u32(a, 41), when=(k + m == 40) & (k*m == 391)), "not equal at u32")

    def test_index(self) -> None:
        said = self.refused(rewrite(n // k, 0, when=within(n, 0, k + 1)), "not equal at index")
        self.assertRegex(said, r"n += 0x1  1")

    def test_index_has_64_bits(self) -> None:
        """Each bound of indexing.py that keeps numbers in 64 bits is needed: without it the proof of its rule fails."""
        large = lambda c: isinstance(c, lang.Guard) and c.name == "within" and isinstance(c.args[1], lang.Lit) and c.args[1].value < -2**32
        tried = 0
        for r in load.load_index().rules:
            conditions = lang.parts(r.when)
            for c in filter(large, conditions):
                other = lang.Rule("rewrite", r.left, r.right, lang.All([x for x in conditions if x is not c]), r.where)
                load.identify([other])
                self.assertIn("more than 64 bits", report.report(prove.prove([other], {}, solver=False))[0], f"{r.text} without {c}")
                tried += 1
        self.assertGreater(tried, 10)

    def test_budget(self) -> None:
        self.refused(rewrite(tanh.bf16(a), a), "off by more than its budget at bf16", "exactly", "budget")

    def test_budget_has_the_sign_of_zero(self) -> None:
        """The power of -0 with 1.5 is 0, and not -0."""
        inf, product = float("inf"), mul.f32(a, lang.sqrt.f32(add.f32(a, 0.0)))
        self.refused(rewrite(lang.pow.f32(a, 1.5), select.f32(lang.eq.f32(a, -inf), inf, product)), "off by more than its budget at f32", "-0.0")

    def test_a_nan_of_an_approximate_conversion_is_anything(self) -> None:
        self.refused(rewrite(lang.cvt.i32.f64(a), lang.cvt.i32.f64.approx(a), when=~lang.approx), "nan")


class Right(unittest.TestCase):
    def test_states(self) -> None:
        self.assertEqual(proof(rewrite(mul[F16](a, 1.0), a)).state, "exhausted(f16,bf16)")
        self.assertTrue(proof(rewrite(add[N](a, 0), a), solver=False).state.startswith("exhausted(w=1..8,i16,u16) tested(i32,i64,u32,u64: "))
        self.assertIn("tested(index: ", proof(rewrite((n // k) // m, n // (k * m)), solver=False).state)

    def test_constants_that_conditions_fix_together(self) -> None:
        made = proof(rewrite(add.u32(add.u32(a, k), m), add.u32(a, 40), when=(k + m == 40) & (k*m == 391)))
        self.assertFalse(made.failed)
        self.assertEqual(made.state, "proved(u32)" if z3_formula.present() else "tested(u32: 4096)")

    def test_widths_begin_where_the_literals_fit(self) -> None:
        self.assertIn("w=2..8", proof(rewrite(lang.sign[I](a), lang.max[I](lang.min[I](a, 1), -1)), solver=False).state)

    def test_facts_are_assumptions(self) -> None:
        for rule in (rewrite(lang.band.u8(a, 7), 0, when=known_zero(a, 7)), rewrite(add.bf16(a, 0.0), a, when=never_negzero(a)),
                     rewrite(lang.is_finite.bf16(a), True, when=finite(a)), rewrite(lang.eq.bf16(a, a), True, when=never_nan(a))):
            self.assertFalse(proof(rule).failed, rule.left)
            self.assertTrue(proof(lang.rewrite(rule.left, rule.right)).failed, rule.left)

    def test_numbers_of_the_text(self) -> None:
        """What is computed of numbers alone is exact; every power of two is tried, of a float of 16 bits with every other operand."""
        from gen.lang import literal, neg, power_of_two
        quotient = (div.f16(a, b), mul.f16(a, div.f16(1.0, b)))
        self.assertEqual(proof(rewrite(*quotient, when=power_of_two(b)), solver=False).state.split(" ")[0], "exhausted(f16)")
        for when in (literal(b), None):
            self.assertTrue(proof(rewrite(*quotient, when=when)).failed)
        twice = mul[F16](mul[F16](a, b), lang.c), mul[F16](a, mul[F16](b, lang.c))
        self.assertTrue(proof(rewrite(*twice, when=power_of_two(b) & power_of_two(lang.c))).failed)
        for when in (~literal(b), ~power_of_two(b), ~literal(a) & literal(b)):
            self.assertFalse(proof(rewrite(mul[F16](neg[F16](a), b), mul[F16](a, neg[F16](b)), when=when)).failed, when)

    def test_every_fact_has_a_meaning(self) -> None:
        for g in (g for g in guards.FACTS if g.meaning):
            x = n if g.classes == "X" else a
            node = n // k if g.classes == "X" else add.f32(a, 1.0) if "F" in g.classes else add.u8(a, k)
            condition = lang.Guard(g.name, x, *([lang.Lit(0), lang.Lit(4)][:len(g.parameters) - 1]))
            self.assertTrue(prove.cases_of(rewrite(node, node, when=condition), {})[0].terms.pre, g.name)

    def test_permitted_differences(self) -> None:
        """contract: an fma for a product and a sum. nnan: no value is a nan, of comparisons too. nearer: between values that the left side may have."""
        from gen.lang import abs, c, contract, eq, exp, fma, max, min, nearer, neg, nnan, nsz, log1p, lt, sub  # noqa: A004
        grown = lambda x: mul.f32(2.0, exp.f32(x))
        for right, rule in ((True, rewrite(add.f32(mul.f32(a, b), c), fma.f32(a, b, c), when=contract)),
                            (True, rewrite(sub.f32(c, mul.f32(a, b)), fma.f32(neg.f32(a), b, c), when=contract)),
                            (False, rewrite(sub.f32(c, mul.f32(a, b)), fma.f32(a, b, c), when=contract)),
                            (False, rewrite(add.f32(mul.f32(a, b), c), fma.f32(a, b, c))),
                            (False, rewrite(add.f32(add.f32(a, b), c), add.f32(a, add.f32(b, c)), when=contract)),
                            (True, rewrite(eq.f32(a, a), True, when=nnan)), (False, rewrite(eq.f32(a, a), True, when=nsz)),
                            (True, rewrite(select.f32(lt.f32(a, b), a, b), min.f32(a, b), when=nnan & nsz)),
                            (False, rewrite(select.f32(lt.f32(a, b), a, b), min.f32(a, b), when=nnan)),
                            (True, rewrite(add.f32(exp.f32(a), exp.f32(a)), grown(a), when=nearer)),
                            (False, rewrite(add.f32(exp.f32(a), exp.f32(a)), grown(a))),
                            (False, rewrite(add.f32(exp.f32(a), exp.f32(a)), mul.f32(1.0, exp.f32(a)), when=nearer)),
                            (False, rewrite(add.f32(exp.f32(a), exp.f32(a)), mul.f32(2.000001, exp.f32(a)), when=nearer)),
                            (False, rewrite(mul.f32(exp.f32(a), 0.0), 0.0, when=nearer)),  # nan where exp is inf
                            (False, rewrite(log1p.f32(exp.f32(a)), max.f32(a, 0.0), when=nearer))):
            self.assertEqual(not proof(rule).failed, right, rule.text)
        with self.assertRaisesRegex(lang.PatternError, "0 functions that may be off"):
            proof(rewrite(add.f32(a, 0.0), abs.f32(a), when=nearer))

    def test_a_tolerance_is_the_sum_of_budgets(self) -> None:
        """approx & nearer: functions may be off by the budgets of that mode, and no more; inf, nan and zeros stay. err=: of real numbers."""
        from gen.lang import abs, approx, cos, exp, log, logistic, nearer, never_negzero, pow, rsqrt, sin, sqrt, tan, ulp, unit  # noqa: A004
        of, small = approx & nearer, unit(a) & unit(b)
        product, quotient = mul.f32(exp.f32(a), exp.f32(b)), div.f32(sin.f32(a), cos.f32(a))
        power = div.f32(1.0, add.f32(exp.f32(neg.f32(a)), 1.0))
        for right, rule in ((True, rewrite(product, exp.f32(add.f32(a, b)), when=of & small, err=ulp(146))),
                            (False, rewrite(product, exp.f32(add.f32(a, b)), when=of & small, err=ulp(60))),
                            (True, rewrite(product, exp.f32(add.f32(a, b)), when=nearer & small)),   # 9 units of exact mode
                            (False, rewrite(product, exp.f32(add.f32(a, b)), when=of)),              # one factor is inf, the other 0
                            (False, rewrite(product, exp.f32(sub.f32(a, b)), when=of & small)),
                            (False, rewrite(product, mul.f32(1.0001, exp.f32(add.f32(a, b))), when=of & small)),
                            (True, rewrite(quotient, tan.f32(a), when=of, err=ulp(6))), (False, rewrite(quotient, tan.f32(a), when=of, err=ulp(3))),
                            (False, rewrite(quotient, tan.f32(a), when=nearer)), (False, rewrite(quotient, abs.f32(tan.f32(a)), when=of)),
                            (True, rewrite(log.f32(exp.f32(a)), a, when=of & unit(a) & never_negzero(a))),
                            (False, rewrite(log.f32(exp.f32(a)), a, when=of & unit(a))),             # -0
                            (False, rewrite(log.f32(exp.f32(a)), a, when=of & never_negzero(a))),    # exp is inf or 0
                            (True, rewrite(power, logistic.f32(a), when=of & unit(a), err=ulp(6))),
                            (False, rewrite(power, logistic.f32(a), when=of)),                       # 0 where exp is inf
                            (False, rewrite(mul.f32(a, rsqrt.f32(a)), sqrt.f32(a), when=of & finite(a))),  # nan of 0
                            (False, rewrite(log.f32(pow.f32(a, b)), mul.f32(b, log.f32(a)), when=of & small))):  # of 0 to the 0th
            self.assertEqual(not proof(rule).failed, right, rule.text)
        said = self.said(rewrite(quotient, tan.f32(a), when=of, err=ulp(3)))
        for text in ("err= ", "= 3 ulp", "left of real numbers"):
            self.assertIn(text, said)
        with self.assertRaisesRegex(lang.PatternError, "no reference of real numbers is known for max.f32"):
            proof(rewrite(lang.max.f32(exp.f32(a), b), exp.f32(a), when=of, err=ulp(9)))

    @staticmethod
    def said(rule: Any) -> str: return "\n".join(report.report([proof(rule)]))

    def test_approx_is_asked_of_functions(self) -> None:
        """--accuracy marks functions, not sums: when=approx is a flag at each function of both sides, and shared parts stay shared."""
        from gen.lang import approx, exp, once
        rule = rewrite(mul.f32(inner := exp.f32(a), inner), exp.f32(add.f32(a, a)), when=approx & ~once(a) & never_nan(inner))
        load.identify([rule])
        self.assertEqual(rule.text, "mul.f32(exp.f32.approx(a), exp.f32.approx(a)) -> exp.f32.approx(add.f32(a, a))  "
                                    "when ~once(a) & never_nan(exp.f32.approx(a))")
        self.assertIs(rule.left.args[0], rule.left.args[1])
        self.assertIs(rule.when.items[1].args[0], rule.left.args[0])
        self.assertEqual(inner.flags, ())
        self.assertEqual(str(rewrite(add.f32(a, -0.0), a, when=approx).when), "approx")  # no function: never fires

    def test_error_is_measured(self) -> None:
        p = proof(rewrite(tanh.bf16(a), lang.cvt.bf16.f32(tanh.f32.approx(lang.cvt.f32.bf16(a)))))
        self.assertFalse(p.failed)
        self.assertTrue(all(0.4 < o.worst < 1 and o.cases == 3 * 65536 for o in p.outcomes), p.state)

    def test_repeatable(self) -> None:
        rule = rewrite(add.bf16(a, b), lang.fma.bf16(a, 1.0, b))
        self.assertEqual(proof(rule, solver=False).state, proof(rule, solver=False).state)


@unittest.skipUnless(z3_formula.present(), "z3 is not here")
class Operands(unittest.TestCase):
    """A rule that changes the operands of a function alone is off by what the function may be, and by no more."""

    def test_operands_of_one_function(self) -> None:
        errors = ledger.errors_of([load.load_target(t) for t in load.targets()])
        right = rewrite(div[F](neg[F](a), neg[F](b)), div[F](a, b))
        for r, found in ((right, []), (rewrite(div.f32(a, neg.f32(b)), div.f32(a, b)), ["not equal"]),
                         (rewrite(div.f32(add.f32(a, 0.0), b), div.f32(a, b)), ["not equal"])):
            said = report.report(prove.prove([r], errors, samples=1 << 12))
            self.assertEqual([x in m for x, m in zip(found, said)], [True] * len(said), r.text)
            self.assertEqual(len(said) > 0, bool(found), r.text)


class Solver(unittest.TestCase):
    def test_proves_and_refutes(self) -> None:
        self.assertEqual(proof(rewrite(mul.i64(a, 1), a)).state, "proved(i64)")
        self.assertEqual(proof(rewrite((i*k + rest) // k, i + rest // k)).state, "proved(index)")

    def test_quotients_of_quotients(self) -> None:
        self.assertEqual(proof(rewrite((n % k) // m, (n // m) % (k//m), when=k % m == 0)).state, "proved(index)")
        self.assertEqual(proof(rewrite((n % p)*m + (n // p % q)*(p*m) + rest, (n % (p*q))*m + rest)).state, "proved(index)")
        self.assertEqual(proof(rewrite((n % k) // m, (n // m) % (k//m))).state, "failed(index)")
        self.assertEqual(proof(rewrite((n % p)*m + (n // p % q)*(q*m) + rest, (n % (p*q))*m + rest)).state, "failed(index)")
        wrong = rewrite(select.u64(lang.eq.u64(a, 0x123456789ABCDEF), 0, a), a)  # no sample finds it
        said = report.report([proof(wrong)])
        self.assertIn("0x0123456789abcdef", said[0])

    def test_reads_what_c_runs(self) -> None:
        """z3's operations agree with the C of gen/semantics.py on corner values."""
        jobs: List[driver.Job] = []
        named: List[str] = []
        for name, t, frm in operations():
            for values in samples(ops.OP_BY_NAME[name], frm):
                terms = Terms(["abc"[x] for x in range(len(values))], operand_types(name, t, frm), [Ins("scalar", t, tuple(range(len(values))), name, frm)])
                terms.left = len(values)
                terms.code.append(Ins("literal", terms.type_of(terms.left), imm=by_z3(terms, values)))
                terms.right = len(values) + 1
                jobs.append(driver.Job(terms, [driver.Domain("list", (v,)) for v in values]))
                named.append(f"{name}.{t}.{frm}({', '.join(map(hex, values))})")
        self.assertGreater(len(jobs), 2000)
        self.assertEqual([w for w, r in zip(named, driver.run(jobs)) if not r.ok], [])


def operations() -> List[Tuple[str, str, str]]:
    floats = "add sub mul div fma max min neg abs sign floor ceil trunc round_even round_afz is_finite eq ne lt le gt ge select".split()
    ints = "add sub mul div rem max min band bor bxor shl shra shrl pow popcnt clz neg abs sign bnot lt eq select divx remx".split()
    out = [(o, t, t) for t in ("f16", "bf16", "f32") for o in floats] + [(o, t, t) for t in ("i8", "u8", "i32", "u64", "i64") for o in ints]
    pairs = (("i8", "f32"), ("u32", "f32"), ("i64", "f64"), ("bf16", "f32"), ("f16", "f32"), ("f32", "bf16"), ("bf16", "i64"), ("f16", "u32"),
             ("f32", "u64"), ("u8", "i32"), ("i64", "i8"), ("pred", "f32"), ("i32", "pred"))
    return out + [("cvt", to, frm) for to, frm in pairs]


def operand_types(name: str, t: str, frm: str) -> List[str]:
    return {"select": ["pred", t, t], "cvt": [frm]}.get(name, [t] * ops.OP_BY_NAME[name].arity)


def samples(op: ops.Op, t: str) -> List[Tuple[int, ...]]:
    values = prove.corners(t)
    step = [values[x::5] for x in range(op.arity)]
    wide = [tuple(v[x % len(v)] for v in step) for x in range(12)]
    near = [tuple(values[(x * 7 + y * 3) % len(values)] for y in range(op.arity)) for x in range(12)]
    return [(v[0] & 1, *v[1:]) for v in wide + near] if op.name == "select" else wide + near


def by_z3(terms: Terms, values: Tuple[int, ...]) -> int:
    import z3
    regs = [z3.BitVecVal(v, 8 if x == "pred" else width(x)) for x, v in zip(terms.types, values)]
    got = z3.simplify(z3_formula.z3_bits.scalar(terms.code[0], regs))
    t = terms.type_of(terms.left)
    if not z3.is_bv_value(got):  # the bits of a nan are undetermined
        s = z3.Solver()
        s.add(z3.Not(z3_formula.z3_floats.is_nan(got, t)))
        assert cls(t) == "F" and s.check() == z3.unsat, got
        return {"f16": 0x7E00, "bf16": 0x7FC0, "f32": 0x7FC00000}[t]
    return got.as_long()


if __name__ == "__main__":
    unittest.main()
