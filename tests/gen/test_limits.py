"""gen/limits.py: the rows of patterns/limits.py become enumerators, each of which the sources use; what is no row is refused."""
from __future__ import annotations

import re
import sys
import unittest
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.dont_write_bytecode = True

from gen import limits  # noqa: E402
from gen.lang import PatternError  # noqa: E402


class Limits(unittest.TestCase):
    def test_header(self) -> None:
        text = limits.header(limits.rows())
        for t in limits.rows():
            self.assertIn(f"{limits.symbol(t.name)} = {t.value}, /* {t.because} (patterns/limits.py:", text)

    def test_each_is_used_and_no_other(self) -> None:
        sources = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "src").rglob("*.c"))
        self.assertEqual(set(re.findall(r"\bHLO_LIMIT_\w+", sources)), {limits.symbol(t.name) for t in limits.rows()})

    def test_refused(self) -> None:
        one = limits.rows()[0]
        for wrong, says in (([replace(one, value=0)], "is expected"), ([replace(one, bits=8)], "is expected"), ([replace(one, off=0)], "is expected"),
                            (["sort.short"], "is expected"), ([one, one], "is stated twice")):
            with self.assertRaisesRegex(PatternError, says):
                limits.header(wrong)  # type: ignore[arg-type]


if __name__ == "__main__":
    unittest.main()
