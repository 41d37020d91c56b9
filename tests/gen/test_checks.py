"""gen/checks.py and gen/compile.py refuse rules that are wrong by themselves or together with others."""
from __future__ import annotations

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from small import faults  # noqa: E402


class Checks(unittest.TestCase):
    def one(self, text: str, message: str, line: int = 2) -> None:
        self.assertEqual(faults(text), [f"patterns/sm80.py:{line}: error: {message}"])

    def index(self, text: str, message: str, line: int = 2) -> None:
        self.assertEqual(faults("", text), [f"patterns/indexing.py:{line}: error: {message}"])

    def test_folds(self) -> None:
        """Rules about arrays have folds, which get fewer or smaller, and values of a range stand in them."""
        from gen import checks, lang
        from gen.lang import a, b, counts, fixed, fold_add, i, j, k, m, mul, neg
        twice = fold_add.i32(fold_add.i32(a, 0, j), b, i)
        for phase, rule, wanted in (
                ("arrays", lang.rewrite(neg.f32(neg.f32(a)), a), "without folds in the arrays phase"),
                ("simplify", lang.rewrite(fold_add.f32(a, b, i), lang.add.f32(b, a), when=fixed(a, i)), "about folds in the simplify phase"),
                ("arrays", lang.rewrite(fold_add.f32(a, b, i), lang.add.f32(b, a)), "a stands in no fold on the right side"),
                ("arrays", lang.rewrite(fold_add.i32(lang.idx.i32(i), b, i), lang.idx.i32(i)), "the index has no value"),
                ("arrays", lang.rewrite(fold_add.i32(neg.i32(a), b, i), fold_add.i32(mul.i32(a, -1), b, i)), "does not shrink"),
                ("arrays", lang.rewrite(twice, fold_add.i32(a, b, i*k + j), when=counts(i, k)), "counts each term once where j has k values"),
                ("arrays", lang.rewrite(twice, fold_add.i32(a, b, i*m + j), when=counts(j, k) & (m > 1)), "where j has m values"),
                ("arrays", lang.rewrite(twice, fold_add.i32(a, b, j*k + j), when=counts(j, k)), "counts some terms twice"),
                ("arrays", lang.rewrite(twice, fold_add.i32(a, b, i + j)), "a fold goes over an index"),
                ("arrays", lang.rewrite(fold_add.i32(neg.i32(a), b, i*k + j), fold_add.i32(a, b, i), when=counts(j, k)), "a fold goes over an index")):
            with self.assertRaisesRegex(lang.PatternError, wanted):
                checks.check_phase(rule, phase)
        checks.check_phase(lang.rewrite(fold_add.i32(a, b, i), lang.add.i32(b, mul.i32(a, k)), when=fixed(a, i) & counts(i, k)), "arrays")

    def test_places(self) -> None:
        """What a proof shows of the terms that it writes out holds of all: no larger number, and nothing that goes another way at larger indices."""
        from gen import checks, lang
        from gen.lang import a, add, b, counts, cvt, fixed, fold_add, fold_max, fold_min, i, idx, index, k, lt, max, mul, rewrite, select
        at, of = idx.i32(i), lambda c: fold_add.i32(select.i32(c, a, 0), b, i)
        for rule, wanted in (
                (rewrite(of(lt.index(i, 20)), fold_add.i32(a, b, i)), "20 beside an index"),
                (rewrite(of(lang.eq.i32(at, 100)), b), "100 beside an index"),
                (rewrite(fold_max.i8(idx.i8(i), 15, i), 15), "15 beside an index"),
                (rewrite(fold_add.i32(a, b, i), add.i32(b, mul.i32(a, k % 100)), when=fixed(a, i) & counts(i, k)), "100 beside an index or a count"),
                (rewrite(of(lt.i32(mul.i32(at, at), 0)), b), r"what lt makes of mul.i32\(idx.i32\(i\), idx.i32\(i\)\)"),
                (rewrite(of(lt.i32(add.i32(max.i32(at, 0), 1), 0)), b), "what lt makes of add.i32"),
                (rewrite(fold_min.i8(cvt.i8.i32(at), b, i), lang.min.i8(b, 0)), r"what cvt makes of idx.i32\(i\)"),
                (rewrite(select.i32(lt.i32(fold_add.i32(at, 0, i), 0), a, b), b), "what lt makes of fold_add.i32"),
                (rewrite(fold_max.i64(max.i64(a, b), 0, i), fold_max.i64(max.i64(a, cvt.i64.i8(idx.i8(i))), 0, i)), "what cvt makes of idx.i8"),
                (rewrite(fold_max.i8(max.i8(max.i8(a, a), b), 0, i), fold_max.i8(max.i8(a, idx.i8(i)), 0, i)), "i8 may not hold the index")):
            with self.assertRaisesRegex(lang.PatternError, wanted):
                checks.check_phase(rule, "arrays")
        for rule in (rewrite(fold_max.i32(at, b, i), max.i32(b, k - 1), when=counts(i, k)), rewrite(of(lt.i32(at, 0)), b),
                     rewrite(fold_add.i32(mul.i32(at, 2), b, i), add.i32(b, k*(k - 1)), when=counts(i, k)),
                     rewrite(fold_add.i32(lang.band.i32(a, 255), b, i), add.i32(b, lang.band.i32(a, 255)), when=fixed(a, i) & counts(i, 1))):
            checks.check_phase(rule, "arrays")

    def test_fixed_is_known_of_what_is_made_of_fixed_values(self) -> None:
        from gen import compile as comp, lang, reach
        from gen.lang import a, b, fixed, fold_max, i, max, neg, rewrite
        first = rewrite(fold_max.f32(a, b, i), max.f32(b, a), when=fixed(a, i))
        programs = lambda r: comp.compile_rule(r, 0, "arrays")
        with self.assertRaisesRegex(lang.PatternError, "never reached"):
            reach.check(rewrite(fold_max.f32(neg.f32(a), b, i), max.f32(b, neg.f32(a)), when=fixed(a, i)), [first], programs, reach.Normal())
        reach.check(rewrite(fold_max.f32(neg.f32(a), b, i), neg.f32(lang.fold_min.f32(a, neg.f32(b), i))), [first], programs, reach.Normal())

    def test_options(self) -> None:
        """A fold of parts counts each term once, in types that lose nothing; only options have a number of a plan, and permission to regroup."""
        from gen import checks, lang
        from gen.lang import a, add, b, c, counts, cvt, fold_add, fold_max, fold_mul, i, j, k, m, mul, option, regroups, rewrite
        from gen.proof import prove, regroups as contract
        parts = lambda zero, init, inner, outer: fold_add.f32(fold_add.f32(a, zero, inner), init, outer)
        even = counts(i, k) & (k % m == 0)
        for phase, rule, wanted in (
                ("options", option(fold_add.f32(a, b, i), parts(0.0, b, i % m, i // m), free=m, when=counts(i, k) & regroups), "m divides the number"),
                ("options", option(fold_add.f32(a, b, i), parts(0.0, b, i % m, i % m), free=m, when=even & regroups), "another fold goes over i // m"),
                ("options", option(fold_add.f32(a, b, i), fold_add.f32(a, b, i // m), free=m, when=even & regroups), "another fold goes over i % m"),
                ("options", rewrite(fold_add.i32(a, b, i), fold_add.i32(a, b, i)), r"option\(.., free=m\) is of OPTIONS"),
                ("arrays", option(fold_add.f32(a, b, i), parts(0.0, b, i % m, i // m), free=m, when=even & regroups), r"rewrite\(..\) of ALL")):
            with self.assertRaisesRegex(lang.PatternError, wanted):
                checks.check_phase(rule, phase)
        half = lambda x: cvt.f32.f16(cvt.f16.f32(x))
        inner = fold_add.f32(a, 0.0, i % m)
        for left, right, wanted in (
                (fold_add.f32(a, b, i), parts(1.0, b, i % m, i // m), "1.0 is a term that the left side lacks"),
                (fold_add.f32(a, b, i), parts(b, 0.0, i % m, i // m), "a part of its index is known alone"),
                (fold_add.f32(add.f32(a, c), b, i), add.f32(parts(0.0, b, i % m, i // m), fold_add.f32(c, 0.0, i)), "is rounded by the text, and is no part"),
                (fold_mul.f32(mul.f32(a, c), b, i), mul.f32(fold_mul.f32(a, b, i), fold_mul.f32(c, 1.0, i)), "is rounded by the text, and is no part"),
                (fold_add.f32(a, add.f32(b, c), i), add.f32(c, parts(0.0, b, i % m, i // m)), "is rounded by the text, and is no part"),
                (add.f32(fold_add.f32(a, b, i), c), parts(0.0, add.f32(b, c), i % m, i // m), "is rounded by the text, and is no part"),
                (fold_add.f32(fold_add.f32(a, 0.0, j), b, i), parts(0.0, b, i % m, i // m), "is rounded by the text, and is no part"),
                (fold_add.f32(a, b, i), fold_add.f32(half(inner), b, i // m), "rounds a part of the sum"),
                (fold_add.f64(a, b, i), cvt.f64.f32(fold_add.f32(fold_add.f32(cvt.f32.f64(a), 0.0, i % m), cvt.f32.f64(b), i // m)), "not hold all values"),
                (fold_mul.f32(a, b, i), fold_mul.f32(fold_mul.f32(a, 0.0, i % m), b, i // m), "0.0 is a term that the left side lacks"),
                (fold_mul.f32(a, b, i), fold_mul.f32(fold_add.f32(a, 1.0, i % m), b, i // m), "is no product"),
                (fold_max.f32(a, b, i), fold_max.f32(fold_max.f32(a, b, i % m), b, i // m), "is no sum"),
                (fold_add.i32(a, b, i), fold_add.i32(fold_add.i32(a, 0, i % m), b, i // m), "is no sum of floats, and no product")):
            with self.assertRaisesRegex(lang.PatternError, wanted):
                prove.cases_of(option(left, right, free=m, when=even & regroups), {})
        self.assertIs(type(contract.as_integers(option(fold_add.f32(a, b, i), parts(0.0, b, i % m, i // m), free=m, when=even & regroups))), lang.Rule)
        with self.assertRaisesRegex(lang.PatternError, "a constant is expected"):
            option(fold_add.f32(a, b, i), a, free=i)
        self.one("SIMPLIFY = [rewrite(add.i32(a, b), add.i32(b, m), when=given(m))]\n", "given(m): is what free= of an option asks for")
        self.one("SIMPLIFY = [rewrite(add.f32(a, neg.f32(b)), sub.f32(a, b), when=regroups)]\n", "regroups: says what sides of a rewrite may differ in")

    def test_rescales(self) -> None:
        """Sums of exponentials and squares of long rows alone; what f32 does not show is refused of real numbers."""
        from gen import lang
        from gen.lang import a, b, c, counts, exp, fixed, fold_add, fold_max, i, integral, k, m, mul, option, rescales, sin, sub
        from gen.proof import prove
        square = lambda v: mul.f32(v, v)
        parts = lambda x, by=1.0: fold_add.f32(mul.f32(fold_add.f32(x, 0.0, i % m), by), 0.0, i // m)
        near, even = sub.f32(a, c), counts(i, k) & (k % m == 0) & fixed(c, i) & rescales
        long = even & (k >= 1024)
        for left, right, when, wanted in (
                (fold_add.f32(exp.f32(near), 0.0, i), parts(exp.f32(near)), even & (k >= 512), "of 512 terms may"),
                (fold_add.f32(exp.f32(near), 0.0, i), parts(exp.f32(near)), even, "of 1 terms may"),
                (fold_add.f32(exp.f32(near), b, i), parts(exp.f32(near)), long & fixed(b, i), "no sum of exponentials or squares"),
                (fold_max.f32(exp.f32(near), 0.0, i), parts(exp.f32(near)), long, "no sum of exponentials or squares"),
                (fold_add.f16(exp.f16(sub.f16(a, c)), 0.0, i), a, long, "no sum of exponentials or squares"),
                (fold_add.f32(mul.f32(a, near), 0.0, i), parts(mul.f32(a, near)), long, "no sum of exponentials or squares"),
                (fold_add.f32(exp.f32(sin.f32(near)), 0.0, i), parts(exp.f32(sin.f32(near))), long, "no operation on f32 that the lemma"),
                (fold_add.f32(square(near), 0.0, i), parts(square(near)), long & integral(c), "a condition that the lemma is not about"),
                (fold_add.f32(square(near), 0.0, i), parts(square(near), 1 + 2**-20), long, "of real numbers the left side is a0")):
            with self.assertRaisesRegex(lang.PatternError, wanted):
                prove.prove([option(left, right, free=m, when=when)], {})
        self.assertEqual(prove.prove([option(fold_add.f32(square(near), 0.0, i), parts(square(near)), free=m, when=long)], {})[0].state, "proved(f32)")
        self.one("SIMPLIFY = [rewrite(exp.f32(sub.f32(a, a)), 1.0, when=rescales)]\n", "rescales: says what sides of a rewrite may differ in")

    def test_scans(self) -> None:
        """Where a prefix ends is one number, which within bounds; what is not among the terms of a sum or product is nothing to it."""
        from gen import lang
        from gen.lang import a, add, b, counts, eq, fixed, fold_add, fold_mul, i, k, le, lt, m, mul, n, option, regroups, select, within
        from gen.proof import prove

        def scan(fold, op, zero, one, when):  # type: ignore[no-untyped-def]
            kept = lambda c, x: select.f32(c, x, one)
            own = fold.f32(kept(eq.index(i // m, n // m), fold.f32(kept(le.index(i % m, n % m), a), one, i % m)), one, i // m)
            right = op.f32(fold.f32(kept(lt.index(i // m, n // m), fold.f32(a, one, i % m)), b, i // m), own)
            return option(fold.f32(select.f32(lt.index(n, i), zero, a), b, i), right, free=m, when=counts(i, k) & (k % m == 0) & regroups & when)
        place = fixed(n, i) & within(n, 0, k)
        self.assertTrue(prove.cases_of(scan(fold_add, add, -0.0, 0.0, place), {}))
        for fold, op, zero, one, when, wanted in (
                (fold_add, add, 1.0, 0.0, place, "1.0 is a term that the left side lacks"),
                (fold_mul, mul, 1.0, 0.0, place, "0.0 is a term that the left side lacks"),
                (fold_mul, mul, 0.0, 1.0, place, "0.0 is a term that the left side lacks"),
                (fold_mul, add, 1.0, 1.0, place, "is no product"),
                (fold_add, add, -0.0, 0.0, within(n, 0, k), r"within\(n, 0, k\) & fixed\(n, i\)"),
                (fold_add, add, -0.0, 0.0, fixed(n, i), r"within\(n, 0, k\) & fixed\(n, i\)")):
            with self.assertRaisesRegex(lang.PatternError, wanted):
                prove.cases_of(scan(fold, op, zero, one, when), {})

    def test_two_ways(self) -> None:
        """cheaper(..) is of right sides of LOWER; a condition on the kernel of rules of its elements, and shadows as any other."""
        self.one("SIMPLIFY = [rewrite(mul.f32(add.f32(a, a), b), cheaper(mul.f32(a, b), add.f32(a, b)))]\n",
                 "cheaper(..): two ways of computing a value are of the right side of a rule of LOWER: simplify would take one of them away")
        self.one("LOWER = [rewrite(tanh.f32(a), cheaper(a, a))]\n",
                 "cheaper(a, a): two ways of computing a value are expected, at least one of them an operation, and not of complex type")
        self.one("INSTR = [asm(neg.f32(a), 'neg.f32 %d, %a;', when=~few_warps)]\n",
                 "few_warps: is a condition of rewrites of a kernel's elements, and this is a rule of isel")
        self.assertEqual(faults("LOWER = [rewrite(tanh.f32(a), exp.f32(a), when=~few_warps),\n    rewrite(tanh.f32(a), exp.f32(a), when=few_warps)]\n"), [])
        self.one("LOWER = [rewrite(tanh.f32(a), exp.f32(a), when=~few_warps),\n         rewrite(tanh.f32(b), sin.f32(b), when=~few_warps)]\n",
                 "never reached: patterns/sm80.py:2 matches every term it matches, for example tanh.f32(b)", 3)

    def test_unbound_on_the_right(self) -> None:
        self.one("LOWER = [rewrite(tanh.f32(a), add.f32(a, b))]\n", "b is not bound by the left side")
        self.assertIn("patterns/sm80.py:2: error: exp.F(1.0) is F where the left side takes f32",
                      faults("LOWER = [rewrite(tanh.f32(exp.f32(a)), exp[F](1.0))]\n"))
        self.one("LOWER = [rewrite(cvt.f32.f64(a), cvt.f32[F16](cvt[F16].f64(a)))]\n",
                 "type class F16 on the right side is not bound by the left side")
        self.index("ALL = [rewrite(n // k, n // m)]\n", "constant m is not bound by the left side")

    def test_unbound_in_a_condition(self) -> None:
        self.index("ALL = [rewrite(n // k, 0, when=within(i, 0, k))]\n", "within(i, 0, k): i is not bound by the left side")
        self.one("LOWER = [rewrite(shl.i32(a, k), shlx.i32(a, k), when=k < w)]\n",
                 "w stands for the width of the rule's type class; this rule binds none")

    def test_types_are_kept(self) -> None:
        self.one("LOWER = [rewrite(tanh.bf16(a), tanh.f32(cvt.f32.bf16(a)))]\n",
                 "tanh.f32(cvt.f32.bf16(a)) is f32 where the left side takes bf16")
        self.one("LOWER = [rewrite(tanh.f32(a), exp.f32(cvt.f64.f32(a)))]\n", "cvt.f64.f32(a) is f64 where exp.f32 takes f32")
        self.one("LOWER = [rewrite(tanh.f32(a), cvt.f32.bf16(a))]\n", "a is bf16 in cvt.f32.bf16 and f32 elsewhere")

    def test_literal_of_its_type(self) -> None:
        self.one("SIMPLIFY = [rewrite(max.i8(a, 300), a)]\n", "300 is no value of type i8")
        self.one("SIMPLIFY = [rewrite(add[N](a, 0.5), a)]\n", "0.5 is no value of type i8")
        self.one("LOWER = [rewrite(bnot.pred(a), bxor.pred(a, 1))]\n", "1 is no value of type pred: True or False")

    def test_shadowed(self) -> None:
        self.one("SIMPLIFY = [rewrite(max[T](a, a), a),\n            rewrite(max.f32(b, b), b)]\n",
                 "never reached: patterns/sm80.py:2 matches every term it matches, for example max.f32(b, b)", 3)
        self.index("ALL = [rewrite(n // k, 0, when=within(n, 0, k)),\n       rewrite(n // k, 0, when=within(n, 0, k) & (k > 1))]\n",
                   "never reached: patterns/indexing.py:2 matches every term it matches, for example (n // 4)", 3)

    def test_not_shadowed(self) -> None:
        self.assertEqual(faults("SIMPLIFY = [rewrite(add.f32(a, 0.0), a),\n            rewrite(add.f32(a, -0.0), a)]\n"), [])
        self.assertEqual(faults("SIMPLIFY = [rewrite(max.f32(a, a), a),\n            rewrite(max.f32(a, 0.0), a)]\n"), [])

    def test_smaller_tile_above_a_larger_one(self) -> None:
        self.one("INSTR = [llvm(add[F](a, b), 'fadd'),\n         asm(add.f32(mul.f32(a, b), c), 'fma.rn.f32 %d, %a, %b, %c;')]\n",
                 "never reached: patterns/sm80.py:2 matches every term it matches, for example add.f32(mul.f32(a, b), c)", 3)

    def test_strata(self) -> None:
        self.one("SIMPLIFY = [rewrite(n // 1, n)]\n", "(n // 1): an index rule in the simplify phase")
        self.one("LOWER = [rewrite(n // k, n)]\n", "(n // k): an index rule in the lower phase")
        self.one("LOWER = [rewrite(2.5, 0)]\n", "the left side is no operation")
        self.index("ALL = [rewrite(neg.f32(neg.f32(a)), a)]\n", "neg.f32(neg.f32(a)): an element rule in the index phase")
        self.one("LOWER = [llvm(add.f32(a, b), 'fadd')]\n", "llvm(..) does not belong to the lower phase")
        self.one("INSTR = [rewrite(tanh.f32(a), exp.f32(a))]\n", "rewrite(..) does not belong to the isel phase")
        self.one("LOWER = [rewrite(cvt.f32.i64(idx.i64(n // k)), cvt.f32.i64(idx.i64(n)))]\n",
                 "(n // k): an index pattern under an operation on elements; index rules hold in every pass")

    def test_simplify_shrinks(self) -> None:
        self.one("SIMPLIFY = [rewrite(add.f32(a, b), sub.f32(a, neg.f32(b)))]\n",
                 "does not shrink: (rank of functions, nodes, variable uses, rank, constants) go from (0, 1, 2, 3, 0) to (0, 2, 2, 7, 0)")
        self.one("SIMPLIFY = [rewrite(add.f32(a, b), add.f32(b, a))]\n",
                 "does not shrink: (rank of functions, nodes, variable uses, rank, constants) go from (0, 1, 2, 3, 0) to (0, 1, 2, 3, 0)")
        self.one("SIMPLIFY = [rewrite(exp.f32(exp.f32(a)), mul.f32(a, a))]\n", "does not shrink: a is used 1 times on the left, 2 on the right")

    def test_never_reached_by_union_or_condition(self) -> None:
        both = "".join(f"rewrite(max.{t}(a, a), a), " for t in ("f16", "bf16"))
        self.one(f"SIMPLIFY = [{both}\n            rewrite(max[F16](a, a), a)]\n", "never reached: patterns/sm80.py:2[max.f16], patterns/sm80.py:2[max.bf16] "
                 "together match every term it matches, for example max.f16(a, a)", 3)
        self.assertEqual(faults("SIMPLIFY = [rewrite(max.f16(a, a), a),\n            rewrite(max[F16](a, a), a)]\n"), [])  # bf16 remains reachable
        self.one("SIMPLIFY = [rewrite(mul[N](a, k), 0, when=k == 0),\n            rewrite(mul[N](a, 0), 0)]\n",
                 "never reached: patterns/sm80.py:2 matches every term it matches, for example mul.i8(a, 0)", 3)
        self.index("ALL = [rewrite(n // k, 0, when=within(n, 0, 8) & (k > 8)),\n       rewrite(n // k, 0, when=within(n, 0, 4) & (k > 9))]\n",
                   "never reached: patterns/indexing.py:2 matches every term it matches, for example (n // 12)", 3)
        self.assertEqual(faults("", "ALL = [rewrite(n // k, 0, when=within(n, 0, 8) & (k > 8)),\n"
                                    "       rewrite(n // k, 0, when=within(n, 0, 4) & (k > 7))]\n"), [])
        self.assertEqual(faults("", "ALL = [rewrite(n // k, 0, when=within(n, 0, k) & (k < 1000)),\n       rewrite(n // k, 0, when=within(n, 0, k))]\n"), [])

    def test_never_matches(self) -> None:
        self.index("ALL = [rewrite(n % k, n, when=within(n, 0, k)),\n       rewrite(n % k, 0, when=(k > 5) & (k < 3))]\n",
                   "never matches: no constants found that satisfy (k > 5) & (k < 3)", 3)

    def test_rules_that_undo_each_other(self) -> None:
        self.index("ALL = [rewrite((n // k) // m, n // (k*m)),\n       rewrite(n // k, (n // 2) // (k//2), when=(k % 2 == 0) & (k > 2))]\n",
                   "rules undo each other: (n // 4) -> ((n // 2) // 2) by patterns/indexing.py:3 -> (n // 4) by patterns/indexing.py:2", 3)
        found = faults("SIMPLIFY = [rewrite(mul[F](neg[F](a), b), neg[F](mul[F](a, b))),\n            rewrite(neg[F](mul[F](a, b)), mul[F](b, neg[F](a)))]\n")
        self.assertTrue(any("rules undo each other" in f and "patterns/sm80.py:2" in f and "patterns/sm80.py:3" in f for f in found), found)

    def test_a_use_less_is_worth_a_coefficient_more(self) -> None:
        from gen import cycles, terms
        from gen.terms import FLOORDIV, INDEX, MOD

        x, two = terms.leaf("x", INDEX), terms.index(2)
        more = terms.total(1, [(1, x)])
        assert more
        before = terms.total(0, [(1, terms.node(MOD, INDEX, 0, (more, two))), (-1, x)])
        after = terms.total(1, [(-2, terms.node(FLOORDIV, INDEX, 0, (more, two)))])
        assert before and after
        self.assertLess(cycles.measure(after), cycles.measure(before), f"{terms.show(before)} -> {terms.show(after)}")

    def test_index_rules_shrink(self) -> None:
        self.index("ALL = [rewrite(n % k, n - (n // k)*k, when=k > 1)]\n",
                   "does not shrink: uses go from 1 to 2, as (n % 4) -> (-4*(n // 4) + n)")
        self.index("ALL = [rewrite((n // k) // m, (n // m) // k, when=k > m)]\n",
                   "does not shrink: nothing decreases, as ((n // 4) // 1) -> ((n // 1) // 4)")
        self.index("ALL = [rewrite((i*k + rest) // m, (i*k + rest + 1) // m, when=(k == 4) & (m == 8))]\n",
                   "does not shrink: constants under divisions go from 0 to 2, as (4*i // 8) -> ((4*i + 1) // 8)")

    def test_steps_of_the_engine(self) -> None:
        """What the engine does with a sum, and its pattern does not say: a divisor is found for several terms; coefficients are reduced."""
        self.index("ALL = [rewrite((i*k + rest) // m, i // (m//k), when=(m % k == 0) & within(rest, 0, k)),\n"
                   "       rewrite((i*p + n*q + rest) // m, (i*3 + n) // 2, when=(p == 12) & (q == 4) & (m == 8) & within(rest, 0, 4))]\n",
                   "never reached: patterns/indexing.py:2 matches every term it matches, for example ((12*i + 4*n + rest) // 8)", 3)
        self.index("ALL = [rewrite((i*k + rest) % k, rest % k),\n"
                   "       rewrite((i*p + n + rest) % k, (i + n + rest) % k, when=(p == 5) & (k == 4))]\n",
                   "never reached: patterns/indexing.py:2 matches every term it matches, for example ((5*i + n + rest) % 4)", 3)

    def test_lowering_circle(self) -> None:
        self.one("LOWER = [rewrite(tanh.f32(a), exp.f32(a)),\n         rewrite(exp.f32(a), tanh.f32(a))]\n",
                 "lowering goes in a circle: tanh.f32 (patterns/sm80.py:2) -> exp.f32 (patterns/sm80.py:3) -> tanh.f32", 3)

    def test_lowering_circle_through_flags(self) -> None:
        self.one("LOWER = [rewrite(tanh.f32(a), tanh.f32.approx(a))]\n",
                 "lowering goes in a circle: tanh.f32.approx (patterns/sm80.py:2) -> tanh.f32.approx")
        self.assertEqual(faults("LOWER = [rewrite(tanh.f32(a), tanh.f32.approx(a), when=~approx)]\n"), [])

    def test_a_tolerance_is_of_simplify(self) -> None:
        rule = "[rewrite(mul.f32(exp.f32(a), exp.f32(b)), exp.f32(add.f32(a, b)), when=approx & nearer, err=ulp(9))]\n"
        self.assertEqual(faults("SIMPLIFY = " + rule), [])
        self.one("LOWER = " + rule, "nearer: only of SIMPLIFY, whose functions may be off by their budgets; those that lowerings make are held to less")
        found = faults("SIMPLIFY = " + rule.replace(" & nearer", ""))
        self.assertRegex("\n".join(found), "of several functions when=approx & nearer in SIMPLIFY permits it$")

    def test_lowering_circle_through_inherited_flags(self) -> None:
        self.one("LOWER = [rewrite(tanh.f32.approx(a), exp.f32(a)),\n         rewrite(exp.f32.approx(a), tanh.f32(a))]\n",
                 "lowering goes in a circle: tanh.f32.approx (patterns/sm80.py:2) -> exp.f32.approx (patterns/sm80.py:3) -> tanh.f32.approx", 3)

    def test_selection_is_complete(self) -> None:
        found = faults("INSTR = [llvm(add[N](a, b), 'add')]\n", incomplete=True)
        self.assertEqual(found, ["patterns/sm80.py:2: error: selection is incomplete: no INSTR rule takes add.pred (HLO has it)"])
        self.assertEqual(faults("LOWER = [rewrite(add.pred(a, b), bor.pred(a, b))]\n", incomplete=True),
                         ["patterns/sm80.py:2: error: selection is incomplete: no INSTR rule takes bor.pred (patterns/sm80.py:2 lowers add.pred to it)"])
        # an instruction rule with a condition, or of two nodes, does not match every add
        for tile in ("llvm(add.pred(a, b), 'or', when=approx)", "asm(add.pred(a, add.pred(b, c)), 'mov.pred %d, %a;')"):
            self.assertEqual(faults(f"INSTR = [{tile}]\n", incomplete=True), found)

    def test_selection_by_a_feature(self) -> None:
        """An instruction rule with has(..) is unconditional on a target with the feature, and absent on others."""
        lower = "LOWER = [rewrite(add.pred(a, b), bor.pred(a, b))]\n"
        head = "TARGET = target('sm_80', features=('logic',)); "
        missing = "patterns/sm80.py:3: error: selection is incomplete: no INSTR rule takes "
        without = "patterns/sm80.py:2: error: selection is incomplete: no INSTR rule takes bor.pred (patterns/sm80.py:2 lowers add.pred to it)"
        tile = "INSTR = [llvm(bor.pred(a, b), 'or', when=has('logic'))]\n"
        self.assertEqual(faults(lower + tile, incomplete=True), [without])
        self.assertTrue(faults(head + lower + tile, incomplete=True)[0].startswith(missing))
        self.assertNotIn("bor.pred", faults(head + lower + tile, incomplete=True)[0])
        self.assertEqual(faults(head + lower + tile.replace("has", "~has"), incomplete=True), [without])

    def test_operand_orders(self) -> None:
        def sum_of(n: int) -> str:
            return "exp.f32(a)" if n == 0 else f"add.f32({sum_of(n - 1)}, neg.f32({sum_of(n - 1)}))"
        self.one(f"LOWER = [rewrite({sum_of(3)}, exp.f32(a))]\n", "128 orders of operands to try, 64 at most")

    def test_tile_operands(self) -> None:
        self.one("INSTR = [asm(add.f32(mul.f32(a, b), mul.f32(c, x)), 'fma')]\n", "an instruction has three operands at most; a, b, c, x are 4")
        self.one("INSTR = [asm(mul.i32(a, k), 'shl.b32 %d, %a, %b;')]\n",
                 "'shl.b32 %d, %a, %b;': %b is no operand of mul.i32(a, k), which has 1: %a is the first; %{a} names one; k is a constant, which %{k} writes")
        self.one("INSTR = [asm(mul.i32(a, k), 'shl.b32 %d, %a, %{m};')]\n", "constant m is not bound by the left side")
        self.one("INSTR = [asm(mul.i32(a, k), 'shl.b32 %d, %a, %{k / 2};')]\n",
                 "'shl.b32 %d, %a, %{k / 2};': %{k / 2} is neither an operand nor arithmetic of the constants k m p q w with + - * // %")

    def test_sums_by_terms(self) -> None:
        self.one("LOWER = [rewrite(total(mul.i32(a, b), c), a)]\n",
                 "total(..): sums by their terms are matched in isel only; a lower rule matches one addition after the other")
        self.one("INSTR = [asm(total(mul.f32(a, b), c), 'x')]\n",
                 "total(mul.f32(a, b), c): two or more terms are expected, operations on integers")
        self.one("INSTR = [asm(total(mul.i32(a, b), c, x), 'x')]\n",
                 "total(mul.i32(a, b), c, x): terms are operations but additions, and one variable at most, for what is left")
        self.one("INSTR = [lop3(bxor.u32(mul.u32(a, b), c))]\n", "lop3(..): mul.u32(a, b) is neither and, or, xor, not, 0, -1 nor one of three operands")

    def test_sums(self) -> None:
        self.index("ALL = [rewrite((i*k + 3) // k, i)]\n", "a sum pattern is one or more terms and `rest`; constants belong to the rest")
        # the term that binds the coefficient of another may come last
        self.assertEqual(faults("", "ALL = [rewrite((n // k)*(k*m) + (n % k)*m + rest, n*m + rest)]\n"), [])

    def test_left_side_is_an_operation(self) -> None:
        self.assertIn("patterns/indexing.py:2: error: the left side is no operation", faults("", "ALL = [rewrite(n, n + 0)]\n"))


if __name__ == "__main__":
    unittest.main()
