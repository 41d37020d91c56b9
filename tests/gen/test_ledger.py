"""gen/ledger.py: a key depends on the meaning of a rule and nothing else; the build refuses missing or weak lines; stale lines are removed."""
from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.dont_write_bytecode = True

from gen import ledger, load  # noqa: E402
from gen.proof import rule as rule_command  # noqa: E402
from gen.lang import F, N, Rule, a, add, b, k, mul, rewrite, tanh  # noqa: E402
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
    def test_an_error_may_not_grow(self) -> None:
        stated = ledger.errors_in("tested(f32: 9) error(4.27 of 5 ulp, own 1.09) approx-error(5.00 of 8 ulp, own 0.50)")
        self.assertEqual(stated, {False: (4.27, 1.09), True: (5.0, 0.5)})
        self.assertFalse(ledger.exceeds((4.30, 1.10), stated[False]))
        self.assertTrue(ledger.exceeds((4.27, 1.20), stated[False]))
        self.assertTrue(ledger.exceeds((4.80, 1.09), stated[False]))


class Repository(unittest.TestCase):
    def test_every_rule_has_a_line_and_every_line_a_rule(self) -> None:
        sets = [load.load_index(), *(load.load_target(t) for t in load.targets())]
        self.assertEqual(ledger.check(sets), [])
        errors = ledger.errors_of(sets)
        have = {ledger.key(r, errors) for s in sets for r in s.rules}
        self.assertEqual([t for n, (_, t) in ledger.read().items() if n not in have], [], "run ./dev rule --all")


if __name__ == "__main__":
    unittest.main()
