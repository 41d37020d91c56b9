"""The tables of the rules: the same bytes each time, small, made quickly; literals that are equal in Python stay distinct."""
from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from small import ROOT  # noqa: E402
from gen import compile as comp, encode, gen_tables, lang, load, opcodes  # noqa: E402


def make(out: Path, seed: str) -> None:
    subprocess.run([sys.executable, str(ROOT / "gen" / "gen_tables.py"), str(out), str(ROOT), "sm86", "sm90"], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "PYTHONHASHSEED": seed})


class Tables(unittest.TestCase):
    def test_same_bytes_each_time(self) -> None:
        with tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b:
            make(Path(a), "1"), make(Path(b), "2")
            names = sorted(p.name for p in Path(a).iterdir())
            self.assertIn("tables_sm90.c", names)
            self.assertEqual(names, sorted(p.name for p in Path(b).iterdir()))
            for name in names:
                self.assertEqual(Path(a, name).read_bytes(), Path(b, name).read_bytes(), name)
                if name.endswith((".c", ".h", ".def")):
                    self.assertIn("Generated from", Path(a, name).read_text().splitlines()[0])

    def test_size(self) -> None:
        for s in [load.load_index(), *map(load.load_target, load.targets())]:
            tables, _, _ = gen_tables.compile_set(s)
            size = 4 * len(tables.code) + 8 * len(tables.imm)
            print(f"{s.name}: {len(s.rules)} rules, {size} bytes")
            self.assertLess(size, 200 * max(500, len(s.rules)))

    def test_rule_names_are_unique(self) -> None:
        for s in [load.load_index(), *map(load.load_target, load.targets())]:
            names = [r.name for r in s.rules]
            self.assertEqual(len(names), len(set(names)))

    def programs(self, *rules: lang.Rule) -> encode.Tables:
        tables = encode.Tables()
        tables.rules([p for r in rules for p in comp.compile_rule(r, 0)], {id(r): n for n, r in enumerate(rules)})
        return tables

    def test_literals_stay_apart(self) -> None:
        a, add, mul = lang.VARIABLES["a"], lang.OPERATIONS["add"].f32, lang.OPERATIONS["mul"].f32
        left = self.programs(lang.rewrite(add(a, 0.0), a), lang.rewrite(add(a, -0.0), a), lang.rewrite(add(a, 0), a))
        self.assertEqual(len({w for w in left.code if w & 63 == opcodes.WORD["LIT"] and w >> 8 & 255 == 2}), 3)
        self.assertEqual(sorted(left.imm), [0, 1 << 63])
        right = self.programs(lang.rewrite(add(a, 1.0), mul(a, 0.0)), lang.rewrite(add(a, 2.0), mul(a, -0.0)), lang.rewrite(add(a, 3.0), mul(a, 0)))
        self.assertEqual(len(right.tails), 3)

    def test_first_of_the_list_wins_over_terms(self) -> None:
        # Two rules that begin with the same PICK share no step: all terms are tried with the first rule before the second.
        i, k, m, rest = (lang.VARIABLES[n] for n in ("i", "k", "m", "rest"))
        rules = [lang.rewrite((i*k + rest) // m, i, when=k > 5), lang.rewrite((i*k + rest) // m, rest, when=k > 1)]
        trie = encode.Trie()
        for r in rules:
            trie.insert(comp.compile_rule(r, 0)[0].steps, ("ACCEPT", 0, 0, 0, 0, 0))
        while len(trie.children) == 1:
            trie = trie.children[0][1]
        self.assertEqual([s[0] for s, _ in trie.children], ["GROUP", "GROUP"])


if __name__ == "__main__":
    unittest.main()
