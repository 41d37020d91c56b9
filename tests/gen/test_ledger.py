"""gen/ledger.py: a key depends on the meaning of a rule and nothing else; the build refuses missing or weak lines; stale lines are removed."""
from __future__ import annotations

import contextlib
import io
import re
import sys
import tempfile
import unittest
from pathlib import Path
from typing import List, Tuple
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.dont_write_bytecode = True

from gen import ledger, llvm_text, load  # noqa: E402
from gen.errors import error_of  # noqa: E402
from gen.proof import prove, rule as rule_command, z3_formula  # noqa: E402
from gen.lang import F, N, Rule, a, abs, add, asm, b, cvt, div, gt, k, llvm, mul, neg, rel, rewrite, rsqrt, sqrt, tanh, ticket, ulp  # noqa: E402
from gen.load import RuleSet  # noqa: E402


def key(r: Rule) -> str:
    return ledger.key(r, {})


class Keys(unittest.TestCase):
    def test_place_does_not_count(self) -> None:
        first = rewrite(add[N](a, 0), a)
        second = rewrite(add[N](a, 0), a)
        second.where, second.instance = ("patterns/other.py", 99), "[x]"
        self.assertEqual(key(first), key(second))

    def test_meaning_counts(self) -> None:
        rules = [rewrite(add[N](a, 0), a), rewrite(add[N](a, 1), a), rewrite(add[N](a, 0), 0), rewrite(mul[N](a, 0), a), rewrite(add[F](a, 0.0), a),
                 rewrite(add[F](a, -0.0), a), rewrite(add[N](a, k), a), rewrite(add[N](a, k), a, when=k == 0), rewrite(add[N](a, b), a)]
        self.assertEqual(len({key(r) for r in rules}), len(rules))

    def test_errors_of_instructions_count(self) -> None:
        r = rewrite(tanh.f32(a), tanh.f32.approx(a))
        self.assertNotEqual(ledger.key(r, {("tanh", "f32", True): (0.001, 0, 0)}), ledger.key(r, {("tanh", "f32", True): (0.002, 0, 0)}))
        self.assertEqual(ledger.key(r, {}), ledger.key(r, {("exp", "f32", True): (0.002, 0, 0)}))


class Forms(unittest.TestCase):
    """Errors are those of the forms that a rule's nodes may match, not of every rule with the operation."""

    def targets(self, *lower: Rule, isel: Tuple[Rule, ...] = ()) -> List[RuleSet]:
        full = asm(div.f32.approx(a, b), "div.full.f32 %d, %a, %b;", err=rel(2**-22))
        return [RuleSet("sm80", {"lower": list(lower), "isel": [full, *isel]})]

    def test_a_lowering_of_one_form(self) -> None:
        """Lowering a quotient by a root leaves the lines of other quotients as they are, and is held to the error that they assume."""
        form = rewrite(div.f32.approx(a, sqrt.f32(b)), mul.f32(a, rsqrt.f32(b)))
        plain, with_form = ledger.errors_of(self.targets()), ledger.errors_of(self.targets(form))
        for r in (rewrite(div[N](a, 1), a), rewrite(tanh.f32(a), div.f32.approx(a, b)), rewrite(div.f16(a, b), cvt.f16.f32(div.f32(a, b)))):
            self.assertEqual(ledger.key(r, plain), ledger.key(r, with_form))
        self.assertEqual(ledger.assumed(with_form, form, "f32", True), (2.0, 0))  # 2**-22 is two units at least; its budget is 5
        self.assertIsNone(ledger.assumed(with_form, rewrite(div.f32.approx(a, b), a), "f32", True))
        self.assertEqual(prove.prove([form], with_form)[0].outcomes[0].case.terms.budget, (2.0, 0))

    def test_an_instruction_of_one_form(self) -> None:
        """A worse instruction for some operands counts where a made node may have them."""
        worse = asm(div.f32.approx(a, sqrt.f32(b)), "x %d, %a, %b;", err=rel(2**-18))
        plain, with_form = ledger.errors_of(self.targets()), ledger.errors_of(self.targets(isel=(worse,)))
        by_three = rewrite(tanh.f32.approx(a), div.f32.approx(a, 3.0))
        by_any = rewrite(tanh.f32.approx(a), div.f32.approx(1.0, a))
        self.assertEqual(ledger.key(by_three, plain), ledger.key(by_three, with_form))
        self.assertNotEqual(ledger.key(by_any, plain), ledger.key(by_any, with_form))
        share = lambda r: error_of(with_form, r.right, "f32", True)[0]
        self.assertEqual((share(by_three), share(by_any)), (2**-22, 2**-18))

    def test_other_types_do_not_count(self) -> None:
        r = rewrite(div[N](a, 1), a)
        self.assertEqual(ledger.key(r, {("div", "f32", True): (2**-22, 0, 0)}), ledger.key(r, {("div", "f32", True): (2**-20, 0, 0)}))


class File(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.root = load.root
        load.root = Path(self.folder.name)
        load.root.joinpath("patterns").mkdir()
        self.rules = [rewrite(add[N](a, 0), a), rewrite(mul[N](a, 1), a)]
        for n, r in enumerate(self.rules):
            r.where = ("patterns/x.py", n + 1)
        self.set = RuleSet("sm80", {"simplify": self.rules})
        self.budgets, load.budgets = load.budgets, lambda: {}

    def tearDown(self) -> None:
        load.budgets, load.root = self.budgets, self.root
        self.folder.cleanup()

    def state(self, r: Rule, text: str) -> ledger.Lines:
        return {key(r): (text, "text")}

    def test_no_ledger_no_faults(self) -> None:
        self.assertEqual(ledger.check([self.set]), [])

    def test_missing_and_weak(self) -> None:
        ledger.write(self.state(self.rules[0], "exhausted(w=1..8)"))
        self.assertEqual(ledger.check([self.set]), ["patterns/x.py:2: error: not proved: run ./dev rule patterns/x.py:2"])
        self.assertEqual(self.rules[0].ledger, "exhausted(w=1..8)")
        ledger.write({**ledger.read(), **self.state(self.rules[1], "exhausted(w=1..8) tested(i64: 100)")})
        self.assertIn("patterns/x.py:2: error: only exhausted(w=1..8) tested(i64: 100): a rule on integers must be proved",
                      ledger.check([self.set])[0])
        ledger.write({**ledger.read(), **self.state(self.rules[1], "exhausted(w=1..8) proved(i64)")})
        self.assertEqual(ledger.check([self.set]), [])

    def test_stale_lines_go(self) -> None:
        stale = {"0123456789ab": ("proved(i8)", "gone")}
        ledger.write({**stale, **self.state(self.rules[0], "proved(i8)")})
        self.assertEqual(set(ledger.kept(self.rules, {}, {})), {key(self.rules[0])})

    def test_written_the_same_each_time(self) -> None:
        lines = {**self.state(self.rules[0], "proved(i8)"), **self.state(self.rules[1], "proved(u8)")}
        self.assertTrue(ledger.write(lines))
        self.assertFalse(ledger.write(dict(reversed(list(lines.items())))))
        self.assertEqual(ledger.read(), lines)


class Command(unittest.TestCase):
    def test_a_line_inside_a_rule(self) -> None:
        rules = [rewrite(add[N](a, 0), a), rewrite(mul[N](a, 1), a)]
        rules[0].where, rules[1].where = ("patterns/x.py", 10), ("patterns/x.py", 13)
        self.assertEqual(rule_command.chosen(rules, "patterns/x.py:11"), rules[:1])
        self.assertEqual(rule_command.chosen(rules, "x.py:13"), rules[1:])
        self.assertEqual(rule_command.chosen(rules, "patterns/x.py"), rules)
        self.assertEqual(rule_command.chosen(rules, "patterns/x.py:9"), [])


class Errors(unittest.TestCase):
    def test_what_became_of_the_ledger(self) -> None:
        before = {"1": ("proved(i8)", "a -> b"), "2": ("proved(i8)", "c -> d")}
        self.assertEqual(rule_command.difference(before, dict(before)), "unchanged")
        self.assertEqual(rule_command.difference(before, {**before, "3": ("proved(i8)", "e -> f")}), "1 line written; commit it with the rules")
        self.assertEqual(rule_command.difference(before, {**before, "1": ("tested(i8: 9)", "a -> b")}), "1 line written; commit it with the rules")
        self.assertEqual(rule_command.difference(before, {"1": before["1"], "4": before["2"]}),
                         "1 line written, 1 line of rules that are no more removed; commit it with the rules")

    def test_an_error_may_not_grow(self) -> None:
        stated = ledger.errors_in("tested(f32: 9) error(4.27 of 5 ulp, own 1.09) approx-error(5.00 of 8 ulp, own 0.50)")
        self.assertEqual(stated, {False: (4.27, 1.09), True: (5.0, 0.5)})
        self.assertFalse(ledger.exceeds((4.30, 1.10), stated[False]))
        self.assertTrue(ledger.exceeds((4.27, 1.20), stated[False]))
        self.assertTrue(ledger.exceeds((4.80, 1.09), stated[False]))

    def test_a_form_states_an_error_of_its_own(self) -> None:
        """Two units are what other rules assume of a quotient under approx, five its budget: a form may be off by more than they assume if it says so."""
        form = lambda err: rewrite(div.f32.approx(a, sqrt.f32.approx(b)), mul.f32(a, rsqrt.f32(b)), err=err)
        sets = lambda r: [RuleSet("sm80", {"lower": [r], "isel": [asm(rsqrt.f32(a), "rsqrt.approx.f32 %d, %a;", err=rel(2**-22.9)),
                                                                  asm(div.f32.approx(a, b), "div.full.f32 %d, %a, %b;", err=rel(2**-22))]})]
        budget = lambda r: prove.prove([r], ledger.errors_of(sets(r)))[0].outcomes[0].case.terms.budget[0]
        self.assertEqual([budget(form(None)), budget(form(ulp(4))), budget(form(ulp(9)))], [2.0, 4.0, 5.0])
        other = rewrite(tanh.f32.approx(a), div.f32.approx(a, b))
        of = {n: ledger.errors_of(sets(form(n and ulp(n)))) for n in (None, 3, 4)}
        self.assertNotEqual(ledger.key(other, of[4]), ledger.key(other, of[None]))
        # 2**-22 of a value is two to four of its units: four units are no more than this and four units, three may be less
        self.assertEqual([error_of(of[n], other.right, "f32", True) for n in of], [(2**-22, 0, 0), (2**-22, 3, 0), (0, 4, 0)])

    def test_rules_that_lean_on_an_error(self) -> None:
        """Who states one proves again what was proved without it."""
        form = rewrite(div.f32.approx(a, sqrt.f32.approx(b)), mul.f32(a, rsqrt.f32(b)), err=ulp(4))
        other, new = rewrite(tanh.f32.approx(a), div.f32.approx(a, b)), rewrite(neg.f32(neg.f32(a)), a)
        load.identify([form, other, new])
        before, now = ledger.errors_of([]), ledger.errors_of([RuleSet("sm80", {"lower": [form], "isel": []})])
        with patch.object(ledger, "read", lambda: {ledger.key(other, before): ("tested(f32: 9)", rule_command.line_of(other))}):
            self.assertEqual(rule_command.leaning([form, other, new], [form], now), [other])
            self.assertEqual(rule_command.leaning([form, other, new], [new], now), [])

    def test_texts_of_llvm_are_terms(self) -> None:
        """A text that is the left side's own operation needs no proof; another one is proved to be the left side."""
        self.assertIsNone(llvm_text.meaning(llvm(add[N](a, b), "add")))
        self.assertEqual(str(llvm_text.meaning(llvm(neg.i32(a), "sub(0, %a)"))), "sub.i32(0, a)")
        for right in (llvm(neg.i32(a), "sub(0, %a)"), llvm(mul.u32(a, 2), "shl(%a, 1)"), llvm(gt.i32(a, b), "icmp slt(%b, %a)")):
            load.identify([right])
            self.assertEqual(llvm_text.fault(right), "")
            state = rule_command.text_proofs([right])[0][right.name]
            self.assertRegex(state, r"proved\([iu]32\)" if z3_formula.present() else "")
            self.assertIn("must be proved", ledger.weak(right, "simulated(5120)"))
            self.assertEqual(ledger.weak(right, "simulated(5120) proved(i32)"), "")

    @unittest.skipUnless(z3_formula.present(), "z3 is not installed")
    def test_a_text_of_llvm_that_is_no_operation(self) -> None:
        """A row of gen/llvm_text.py says its meaning as a term, by which right and wrong rules are told apart. src/llvm has its name."""
        from gen.lang import band, bnot, bor, intr, max, popcnt, select, lt, shl, shrl, sub  # noqa: A004
        low = bor.u16(shl.u16(a, 8), shrl.u16(a, 8))
        for right, rule in ((True, intr(sub.u32(max.u32(a, b), b), "llvm.usub.sat")), (False, intr(sub.u32(max.u32(a, b), a), "llvm.usub.sat")),
                            (True, intr(low, "llvm.bswap")), (False, intr(low, "llvm.bitreverse")), (True, intr(low, "llvm.fshl(%a, %a, 8)")),
                            (False, intr(low, "llvm.fshl(%a, %a, 7)")),
                            (True, intr(popcnt.i64(band.i64(bnot.i64(a), sub.i64(a, 1))), "llvm.cttz(%a, i1 0)")),
                            (False, intr(select.i8(lt.i8(b, 0), a, add.i8(a, b)), "llvm.sadd.sat"))):
            load.identify([rule])
            self.assertEqual(llvm_text.fault(rule), "", rule.text)
            states, said = rule_command.text_proofs([rule])
            self.assertEqual(not said, right, rule.text)
            self.assertTrue(states.get(rule.name, "").startswith(("proved", "exhausted")) or not right, rule.text)
        own = (Path(__file__).resolve().parents[2] / "src/llvm/intrinsics.c").read_text()
        self.assertEqual([n for n in llvm_text.INTRINSICS if f'"llvm.{n}"' not in own], [])

    def test_a_rule_with_an_integer_variable_is_one_on_integers(self) -> None:
        """Whatever it computes with."""
        by_float = rewrite(div.u32(a, 7), cvt.u32.f64(mul.f64(cvt.f64.u32(a), 1 / 7)))
        self.assertIn("a rule on integers must be proved", ledger.weak(by_float, "tested(u32: 65568)"))
        self.assertEqual(ledger.weak(by_float, "exhausted(u32)"), "")
        self.assertEqual(ledger.weak(rewrite(add.f32(a, 0.0), a), "tested(f32: 65568)"), "")

    def test_texts_on_integers_do_not_stand_on_samples(self) -> None:
        """A text that no term can be made of is proved by nothing: one wrong value among 2^32 would pass."""
        clever = "{ .reg .pred p, q; setp.eq.and.u32 p|q, %a, 305419896, 1; add.u32 %d, %a, 1; @p mov.u32 %d, 7; }"
        self.assertIn("whose meaning gen/asm_text.py does not know", ledger.weak(asm(add.u32(a, 1), clever), "simulated(5120)"))
        self.assertEqual(ledger.weak(asm(add.u32(a, 1), "add.u32 %d, %a, 1;"), "simulated(5120) proved(u32)"), "")
        self.assertEqual(ledger.weak(asm(add.f32(a, 1.0), "add.f32 %d, %a, 0f3f800000;"), "simulated(5120) proved(f32)"), "")
        self.assertIn("must be proved", ledger.weak(asm(add.f32(a, 1.0), "add.f32 %d, %a, 0f3f800000;"), "simulated(5120)"))
        hidden = "{ .reg .f32 h; .reg .pred p; ex2.approx.f32 h, %a; setp.eq.f32 p, h, 0f40490fdb; abs.f32 %d, %a; @p mov.f32 %d, %a; }"
        self.assertIn("with conditions", ledger.weak(asm(abs.f32(a), hidden), "simulated(5120)"))
        self.assertEqual(ledger.weak(asm(ticket.u32(a), "atom.acq_rel.gpu.global.inc.u32 %d, [%p], %a;"), "simulated(5120)"), "")


class Repository(unittest.TestCase):
    def test_every_rule_has_a_line_and_every_line_a_rule(self) -> None:
        sets = [load.load_index(), *(load.load_target(t) for t in load.targets())]
        self.assertEqual(ledger.check(sets), [])
        errors = ledger.errors_of(sets)
        have = {ledger.key(r, errors) for s in sets for r in s.rules}
        self.assertEqual([t for n, (_, t) in ledger.read().items() if n not in have], [], "run ./dev rule --all")

    def test_a_long_right_side_is_written_as_its_steps(self) -> None:
        texts = {r.text for t in load.targets() for r in load.load_target(t).rules}
        self.assertIn("exp.f64(a) -> <high, exp_of, reduced, horner, low, scaled, power_of_two, times_power_of_two, with_high: 88 operations>", texts)
        self.assertEqual([t for t in texts if re.search(r"<\d+ operations>", t)], [], "a helper function names what it computes")
        self.assertTrue({t for t in texts if "operations>" in t} <= {t for _, t in ledger.read().values()}, "run ./dev rule --all")

    def test_operations_of_pattern_files_are_written_by_name(self) -> None:
        found = [f"{f.name}:{n}" for f in sorted(load.root.joinpath("patterns").glob("*.py")) for n, line in enumerate(f.read_text().split("\n"), 1)
                 if re.search(r"getattr|globals\(\)", line)]
        self.assertEqual(found, [])


class Targets(unittest.TestCase):
    def test_the_file_of_a_target_is_all_that_it_takes(self) -> None:
        """It holds no rule of its own: its instructions stand in lists that it joins."""
        self.assertEqual(rule_command.whole_targets(["patterns/sm90.py", "patterns/sm80.py:40", "patterns/tiles.py"]), ["sm90"])
        with contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertEqual(rule_command.main(["--check", "patterns/sm90.py"]), 0)
        self.assertIn("0 failed", said.getvalue())


if __name__ == "__main__":
    unittest.main()
