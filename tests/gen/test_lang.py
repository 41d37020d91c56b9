"""The rule language refuses what is not a rule, with file and line of the pattern."""
from __future__ import annotations

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from small import ROOT, faults  # noqa: E402

from gen import lang, load, ops, tunes  # noqa: E402


class Language(unittest.TestCase):
    def one(self, text: str, message: str, line: int = 2) -> None:
        self.assertEqual(faults(text), [f"patterns/sm80.py:{line}: error: {message}"])

    def test_either_condition(self) -> None:
        """`|` makes a rule for each way, with brackets and ~ as in logic."""
        k, m, of = lang.VARIABLES["k"], lang.VARIABLES["m"], lang.OPERATIONS["mul"].u32(lang.VARIABLES["a"], lang.VARIABLES["k"])
        made = lang.rewrite(of, 0, when=(k > 8) & ((k == 9) | ~((k == 1) | (k > 90))))
        self.assertEqual([str(r.when) for r in made], ["(k > 8) & (k == 9)", "(k > 8) & ~k == 1 & ~k > 90"])
        self.assertEqual([str(r.when) for r in lang.rewrite(of, 0, when=~((k == 1) & ~((k == 2) | (k == 3))))], ["~k == 1", "k == 2", "k == 3"])
        self.assertEqual(len({(str(r.when), r.where) for r in lang.asm(of, "mul.lo.u32 %d, %a, %{k};", when=(k == 3) | (k == 5))}), 2)
        self.assertIsInstance(lang.rewrite(of, 0, when=(k == 3) & ~(m == 1)), lang.Rule)

    def test_good_rules_have_no_faults(self) -> None:
        self.assertEqual(faults("SIMPLIFY = [rewrite(neg[F](neg[F](a)), a), rewrite(add[N](a, 0), a)]\n"), [])

    def test_unknown_name(self) -> None:
        self.one("SIMPLIFY = [rewrite(tahn.f32(a), a)]\n", "name 'tahn' is not defined")

    def test_line_is_that_of_the_rule(self) -> None:
        self.one("X = 1\n\nSIMPLIFY = [\n    rewrite(neg.f32(a, b), a),\n]\n", "neg.f32: 1 operand expected, 2 found", 5)

    def test_rates(self) -> None:
        unit = "unit='bytes/s', source='data sheet'"
        self.one("RATE = [rate('dram', -1, unit='bytes/s', source='x')]\n", "rate dram: a positive number is expected, -1 found")
        self.one("RATE = [rate('dram', 'fast', unit='bytes/s', source='x')]\n", "rate dram: a positive number is expected, 'fast' found")
        self.one("RATE = [rate('dram', 2, low=0, unit='bytes/s', source='x')]\n", "rate dram: a positive number is expected, 0 found")
        self.one("RATE = [rate('dram', 2, unit='bytes/s')]\n", "rate dram: source= is missing; a number without a source is a guess")
        self.one("RATE = [rate('dram', 2, unit='GB/s', source='x')]\n", "rate dram: unit='bytes/s' is expected, 'GB/s' found")
        self.one(f"RATE = [rate('dram', 2, low=3, high=4, {unit})]\n", "rate dram: low <= value <= high is expected, 3, 2, 4 found")
        self.one(f"RATE = [rate('dram', unknown, low=3, {unit})]\n", "rate dram is unknown: low= and high= are expected")
        self.one(f"RATE = [rate('dram', unknown, low=3, high=2, {unit})]\n", "rate dram: low <= value <= high is expected, 3, unknown, 2 found")
        self.one(f"RATE = [rate('dram', 4800, {unit})]\n", "rate dram: 4800 bytes/s: a number from 1e+10 to 1e+15 is expected")
        self.one("RATE = [rate('pipe.f64', 64, high=256, unit='lanes/clk/SM', source='x')]\n",
                 "rate pipe.f64: 256 lanes/clk/SM: a number from 0.5 to 128 is expected")
        self.assertIn("patterns/sm80.py:2: error: no rate is called 'drum'; there are clock, dram,", faults(f"RATE = [rate('drum', 2, {unit})]\n")[0])

    def test_budgets(self) -> None:
        from gen.lang import abs, add, budget, c64, f32, i32, marks, pow  # noqa: A004
        for make, wanted in ((lambda: budget(pow, f32, ulp=-5), "0 <= ulp <= xla and approx is expected"),
                             (lambda: budget(pow, f32, ulp=5, approx=2), "5, 5 and 2 found"), (lambda: budget(pow, i32, ulp=5), "pow.i32 is no function"),
                             (lambda: budget(abs, f32, ulp=5), "abs.f32 is no function"), (lambda: marks((add, pow), f32), "add.f32 is no function")):
            with self.assertRaisesRegex(lang.PatternError, wanted):
                make()
        self.assertEqual(budget((abs, pow), c64, ulp=2, xla=3).approx, 2)

    def test_lists_of_rates(self) -> None:
        row = "rate('dram', 2e12, unit='bytes/s', source='x')"
        self.one(f"RATE = [{row},\n    {row}]\n", "rate dram is stated twice, first at patterns/sm80.py:2", 3)
        self.one("RATE = [2]\n", "RATE holds 2, which is not a rate")
        self.one("RATE = [rate('pipe.redux', 16, unit='lanes/clk/SM', source='x')]\n",
                 "rate pipe.redux: the target does not have 'redux' in features=")
        self.assertRegex(faults(f"RATE = [{row}]\n")[0],
                         r"^patterns/sm80.py:2: error: RATE lacks clock, l2, l2.bytes, (?!.*pipe.redux).*latency.branch, window$")

    def test_numbers(self) -> None:
        row = "tune('layout.vectors', value={}, because='two')"
        self.assertEqual(faults(f"TUNE = [{row.format(3)}]\n"), [])
        for value in ("'three'", "-3", "2.0", "True"):
            self.assertIn("an integer of at least 0 is expected", "".join(faults(f"TUNE = [{row.format(value)}]\n")))
        twice = faults(f"TUNE = [{row.format(3)},\n        {row.format(1)}]\n")
        self.assertEqual(twice, ["patterns/sm80.py:3: error: tune('layout.vectors', ..) is stated twice, first at patterns/sm80.py:2"])

    def test_numbers_of_the_compiler(self) -> None:
        self.assertGreater(len(tunes.asked(ROOT / "src")), 100)  # what the build holds rows against (gen/rows.py)

    def test_syntax_error(self) -> None:
        found = faults("SIMPLIFY = [rewrite(\n")
        self.assertRegex(found[0], r"^patterns/sm80.py:2: error: ")

    def test_wrong_arity(self) -> None:
        self.one("SIMPLIFY = [rewrite(add.f32(a), a)]\n", "add.f32: 2 operands expected, 1 found")

    def test_types_of_a_name(self) -> None:
        self.one("SIMPLIFY = [rewrite(add.f33(a, b), a)]\n", "add.f33: f33 is neither a type nor a flag")
        self.one("SIMPLIFY = [rewrite(add(a, b), a)]\n", "add: 1 type expected in the name, 0 found")
        self.one("SIMPLIFY = [rewrite(cvt.f32(a), a)]\n", "cvt.f32: 2 types expected in the name, 1 found")
        self.one("SIMPLIFY = [rewrite(add['F'](a, b), a)]\n", "add[..] takes a type class: " + ", ".join(ops.CLASSES))

    def test_type_without_meaning(self) -> None:
        self.one("SIMPLIFY = [rewrite(tanh.i32(a), a)]\n", "tanh.i32: tanh has no meaning at type i32")
        self.one("SIMPLIFY = [rewrite(tanh[T](a), a)]\n", "tanh.T: tanh has no meaning at type i8")

    def test_operation_as_a_value(self) -> None:
        self.one("SIMPLIFY = [rewrite(neg.f32(exp), a)]\n", "operation exp is used as a value; it needs a type and operands, as in exp.f32(a)")
        self.one("SIMPLIFY = [rewrite(neg.f32('x'), a)]\n", "'x' is not part of the rule language")

    def test_no_truth_value(self) -> None:
        message = "an expression has no truth value: write (x) & (y) for `and`, ~x for `not`, two comparisons for a chain"
        for when in ("(k > 1) and (m > 1)", "0 < k < m", "not (k > 1)", "k in (1, 2)"):
            self.one(f"SIMPLIFY = [rewrite(add.i32(mul.i32(a, k), m), a, when={when})]\n", message)

    def test_comparison_without_brackets(self) -> None:
        self.one("SIMPLIFY = [rewrite(mul.i32(a, k), a, when=approx & k)]\n",
                 "the right side of & is not a condition; comparisons need brackets: (k > 1) & (m % k == 0)")
        self.one("SIMPLIFY = [rewrite(mul.i32(a, k), a, when=True)]\n", "when= is not a condition")

    def test_what_python_has_and_the_language_has_not(self) -> None:
        self.one("SIMPLIFY = [rewrite(add.f32(a, -0.0, when=approx), a)]\n",
                 "add.f32: when= belongs to the rule, after the right side: rewrite(left, right, when=..)")
        for text, op, what in (("1 << b", "<<", "b"), ("2**k", "**", "k"), ("k / 2", "/", "k"), ("k >> 1", ">>", "k")):
            self.one(f"SIMPLIFY = [rewrite(shl[N](a, k), band[N](a, {text}))]\n",
                     f"{what}: {op} is not among the arithmetic of constants, which is + - * // % <<; for element values write the operation, "
                     "as in shl.i32(a, b)")

    def test_rebound_variable(self) -> None:
        self.one("for k in (1, 2): pass\n", "pattern variable k was rebound to 2; every later rule would use that")
        self.one("a = exp.f32(b)\n", "pattern variable a was rebound to exp.f32(b); every later rule would use that")
        self.assertEqual(faults("SIMPLIFY = [rewrite(neg[t](neg[t](a)), a) for t in (f32, f64)]\n"), [])

    def test_name_bound_inside_a_rule_stays_there(self) -> None:
        self.one("SIMPLIFY = [rewrite(sub.f32(p := neg.f32(neg.f32(a)), b), sub.f32(a, b)),\n"
                 "            rewrite(exp.f32(p), a)]\n",
                 "p is neg.f32(neg.f32(a)) here, bound with := on line 2; use another name in one of them", 3)

    def test_lists(self) -> None:
        self.one("SIMPLIFY = [1]\n", "SIMPLIFY holds 1, which is not a rule")
        self.one("del INSTR\n", "INSTR is missing", 1)


class Operands(unittest.TestCase):
    """%{name} in an instruction's text is the operand of that name; %a is the first, whatever its name."""

    def test_names_are_places(self) -> None:
        from gen.lang import a, add, asm, b, c, fma, intr
        self.assertEqual(asm(add.f32(b, a), "add.f32 %d, %{a}, %{b};").right, "add.f32 %d, %b, %a;")
        self.assertEqual(asm(add.f32(b, a), "add.f32 %d, %a, %b;").right, "add.f32 %d, %a, %b;")
        self.assertEqual(intr(fma.f32(c, a, b), "llvm.fma(%{c}, %{a}, %{b})").right, "llvm.fma(%a, %b, %c)")

    def test_no_operand(self) -> None:
        from gen.lang import PatternError, a, asm, b, c, neg, sub, x
        for left, text, said in ((neg.f32(a), "neg.f32 %d, %{b};", "%{b} is no operand of neg.f32(a), which has a"),
                                 (neg.f32(x), "neg.f32 %d, %b;", "%b is no operand of neg.f32(x), which has 1"),
                                 (sub.f32(a, c), "sub.f32 %d, %a, %c;", "%c is no operand"), (sub.f32(a, b), "sub.f32 %d, %a, %e;", "%e is no operand")):
            with self.assertRaises(PatternError) as e:
                asm(left, text)
            self.assertIn(said, str(e.exception))
        self.assertEqual(asm(neg.f32(a), "{ mov.u32 %d, %tid.x; }").right, "{ mov.u32 %d, %tid.x; }")


if __name__ == "__main__":
    unittest.main()
