"""gen/measured.py: lists of lowerings, keys of their chains, and what the build refuses."""
from __future__ import annotations

import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from gen import load, measured  # noqa: E402
from gen.proof import measure  # noqa: E402
from gen.measured import Row  # noqa: E402


class Measured(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.sets = [load.load_target("sm80"), load.load_target("sm90")]
        cls.entries = measured.keyed(cls.sets)

    def row(self, key: str, x: measured.Lowering, ulp: float, wrong: int = 0) -> Row:
        return Row(key, x.function, x.mode, ulp, "3f800000", ulp, 65536, "all", wrong, "-", "sm_90=3", x.rule.text)

    def refused(self, change: object) -> list:
        """Faults of a file in which each lowering has a line and one line is changed."""
        rows = {k: self.row(k, x, 0.5) for k, x in self.entries}
        assert callable(change)
        change(rows)
        path, here = measured.path, Path(tempfile.mkdtemp()) / "measured.tsv"
        try:
            measured.path = lambda: here  # type: ignore[assignment]
            measured.write(rows)
            self.assertEqual(measured.read(), {k: replace(r, ulp=round(r.ulp, 4), noise=round(r.noise, 4), lowering=r.lowering) for k, r in rows.items()})
            return list(measured.check(self.entries))
        finally:
            measured.path = path  # type: ignore[assignment]

    def one(self, function: str, mode: str = "-") -> tuple:
        return next((k, x) for k, x in self.entries if x.function == function and x.mode == mode and x.place == 0)

    def test_nothing_is_refused(self) -> None:
        self.assertEqual(self.refused(lambda rows: None), [[], []])

    def test_budget(self) -> None:
        k, x = self.one("tanh.bf16")
        faults, notes = self.refused(lambda rows: rows.update({k: self.row(k, x, 1.25)}))
        self.assertEqual(notes, [])
        self.assertTrue(any(f"{x.rule.where[0]}:{x.rule.where[1]}: error: tanh.bf16 is off by 1.25 ulp" in f for f in faults), faults)

    def test_special_values(self) -> None:
        k, x = self.one("exp.f64")
        faults, _ = self.refused(lambda rows: rows.update({k: self.row(k, x, 0.5, wrong=2)}))
        self.assertTrue(any("a wrong nan, infinity or zero" in f for f in faults), faults)

    def test_not_measured(self) -> None:
        k, x = self.one("log.f64")
        faults, notes = self.refused(lambda rows: rows.pop(k))
        self.assertEqual(faults, [])
        self.assertTrue(notes and f"run ./dev rule {x.rule.where[0]}:{x.rule.where[1]}" in notes[0], notes)

    def test_chain(self) -> None:
        """A lowering's key changes with the rules that lower its right side."""
        k, x = self.one("tanh.bf16")
        self.assertEqual({r.left.op.name for r in x.chain}, {"tanh"})
        self.assertEqual(len(x.chain), 2)  # to tanh.approx.f32, and that to an instruction
        keys = {id(r): str(n) for n, r in enumerate(x.chain)}
        self.assertNotEqual(measured.key(x, keys), measured.key(x, {**keys, id(x.chain[1]): "other"}))

    def test_order(self) -> None:
        """The first of a list is what the rules select; later ones name the rules to disable."""
        found = [x for _, x in self.entries if x.function == "tanh.bf16" and not x.approx and x.set is self.sets[1]]
        self.assertEqual([x.place for x in found], list(range(len(found))))
        self.assertEqual([len(x.before) for x in found], [x.place for x in found])

    def test_coefficients(self) -> None:
        """The constants of patterns/doubles.py are those of coefficients/f64.txt."""
        from patterns import doubles
        found: dict = {}
        title: str = ""
        for line in (ROOT / "patterns" / "coefficients" / "f64.txt").read_text().splitlines():
            words = line.split()
            if line.startswith("    "):
                found[title].append(float.fromhex(words[1]))
            else:
                title = words[0]
                found[title] = [float.fromhex(w) for w in words[1:] if w.startswith("0x")]
        self.assertEqual((found["exp"], found["log"], tuple(found["ln(2)"])), (doubles.EXP[2:], doubles.LOG, doubles.LN_2))
        self.assertEqual(found["log2(e)"], [doubles.LOG2_E])

    def test_arguments(self) -> None:
        """The edges include special values, and the constants of the formula with their neighbours."""
        _, x = self.one("logistic.f32")
        found = set(measure.edges(x))
        for bits in (0, 1 << 31, 0x7f800000, 0x7fc00000, 1, 0x3f800000, 0x3f7fffff):
            self.assertIn(bits, found)
        for v in measure.literals(x):
            self.assertIn(measure.bits_of(v, "f32"), found)


if __name__ == "__main__":
    unittest.main()
