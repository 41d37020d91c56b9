"""Texts of gen/hlo_defined.py: a word that nothing stands for is refused, and would be 0 otherwise."""
from __future__ import annotations

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from gen import hlo_defined  # noqa: E402


class Words(unittest.TestCase):
    def test_own(self) -> None:
        for d in hlo_defined.DEFINED:
            hlo_defined.check(d)

    def test_refused(self) -> None:
        for text in ("$epsilom", "$wide[] $shap0", "$part1", "$shape", "$k"):
            with self.subTest(text), self.assertRaisesRegex(ValueError, r"clamp: \$\w+ is neither a word"):
                hlo_defined.check(hlo_defined.Defined("clamp", text, attributes="" if text != "$epsilom" else "epsilon"))

    def test_unused(self) -> None:
        with self.assertRaisesRegex(ValueError, r"no word of the text is \$epsilon"):
            hlo_defined.check(hlo_defined.Defined("clamp", "$wide", attributes="epsilon"))

    def test_taken(self) -> None:
        hlo_defined.check(hlo_defined.Defined("clamp", "$wide $wide0 $k", attributes="k"))


if __name__ == "__main__":
    unittest.main()
