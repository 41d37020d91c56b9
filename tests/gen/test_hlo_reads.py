"""gen/hlo_reads.py: texts of reads become C, and what is no linear term of one index is refused."""
from __future__ import annotations

import ast
import sys
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from gen import hlo_ops, hlo_reads  # noqa: E402


def made(text: str) -> str:
    return hlo_reads.read(ast.parse(text, mode="eval").body, text)


class Reads(unittest.TestCase):
    def test_terms(self) -> None:
        n = hlo_reads.NAMES["n"]
        for text, c in {"i[d]": "{(int64_t)d, 1, 0, 0}", "start + stride * i[d]": "{(int64_t)d, i->slices[d].stride, i->slices[d].start, 0}",
                        "3": "{-1, 0, 3, 0}", "(i[d] + 1) % n": f"{{(int64_t)d, 1, 1, {n}}}",
                        "2 * (i[place(d)] + 3)": "{hlo_place(i, (int64_t)d), 2, (2) * (3), 0}",
                        "1 - 2 * i[d]": "{(int64_t)d, -(2), 1, 0}"}.items():
            self.assertEqual(made(text), f"(HloRead){c}", text)
        self.assertIn("hlo_among(i, d) ? (HloRead)", made("1 if d in dimensions else i[d]"))

    def test_refused(self) -> None:
        for text in ("i[d] * i[d]", "i[d] + i[0]", "i[i[d]]", "x", "i[d] // 2", "start[d]", "(i[d] % n) + 1",
                     "1 if d == 0 else i[d]", "i[d] % i[d]", "place(d, d)"):
            with self.assertRaisesRegex(ValueError, "gen/hlo_ops.py: reads="):
                made(text)

    def test_moves(self) -> None:
        without = [o.text for o in hlo_ops.OPS if o.kind == "move" and not o.reads]
        self.assertEqual(without, ["bitcast", "reshape"])
        for wrong in (hlo_ops.Op("turn", 1, "move"), hlo_ops.Op("turn", 1, "move", reads="i[d]", facts="in_order"),
                      hlo_ops.Op("turn", 1, "element", facts="in_order")):
            with mock.patch.object(hlo_ops, "OPS", [*hlo_ops.OPS, wrong]), self.assertRaisesRegex(ValueError, "turn: a move reads by a text"):
                hlo_ops.check()


if __name__ == "__main__":
    unittest.main()
