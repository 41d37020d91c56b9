"""gen/gen_scalar.py: every operation has a meaning at every type the table gives it, and the output is the same each time."""
from __future__ import annotations

import re
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from gen import gen_scalar, load, ops, semantics  # noqa: E402


class ScalarTables(unittest.TestCase):
    def test_every_operation_has_a_meaning(self) -> None:
        for o in ops.OPS:
            if o.sig in ("leaf", "frame", "convert", "select"):
                continue
            if set(ops.EFFECTS) & set(o.props.split()):
                # judge/ir_reference.c has their meaning
                others = ("atomic_exch", "atomic_cas", "ticket", "lock", "unlock", "mma", "read_matrix", "read_matrix_turned", "copy_async")
                self.assertTrue(o.name in semantics.SHUFFLES or o.name in semantics.COMBINERS or o.name in others, o.name)
                continue
            for t in ops.COMPUTE + ["index"]:
                wanted = ops.TYPE_BY_NAME[t].cls in o.classes
                self.assertEqual(semantics.meaning(o.name, t) is not None, wanted, f"{o.name}.{t}")

    def test_meanings_name_operations(self) -> None:
        for name in semantics.MEANING:
            self.assertIn(name, ops.OP_BY_NAME)

    def test_expressions_are_filled(self) -> None:
        for name in semantics.MEANING:
            for t in ops.COMPUTE + ["index"]:
                m = semantics.meaning(name, t)
                if m:
                    self.assertIsNone(re.search(r"\$|\b[TUSMw]\b", m.expr), f"{name}.{t}: {m.expr}")

    def test_conversions_cover_all_pairs(self) -> None:
        for to in ops.COMPUTE:
            for source in ops.COMPUTE:
                self.assertTrue(semantics.conversion(to, source)[1])
        # Rounded once: via double where that is exact, else rounded to odd in double first.
        self.assertIn("odd", semantics.conversion("bf16", "i64")[1])
        self.assertEqual(semantics.conversion("f32", "i64")[1], "(float)a")

    def test_budgets(self) -> None:
        for (op, t), (ulp, approx, absolute) in load.budgets().items():
            self.assertIn("F", ops.OP_BY_NAME[op].classes)
            self.assertIn(ops.TYPE_BY_NAME[t].cls, "FC")
            self.assertLessEqual(ulp, approx, f"{op}.{t}")
            self.assertGreaterEqual(absolute, 0, f"{op}.{t}")
        for exact in ("add", "sub", "mul", "fma", "min", "max", "rem", "floor", "round_even"):
            self.assertFalse([k for k in load.budgets() if k[0] == exact])

    def test_output_is_the_same_each_time(self) -> None:
        with tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b:
            self.assertEqual(gen_scalar.main(["", a]) + gen_scalar.main(["", b]), 0)
            for name in ("sc_tables.h", "sc_tables.c", "sc_functions.c"):
                text = Path(a, name).read_text(encoding="utf-8")
                self.assertEqual(text, Path(b, name).read_text(encoding="utf-8"))
                self.assertIn("gen/ops.py", text.splitlines()[0])


if __name__ == "__main__":
    unittest.main()
