"""The commands of patterns/README.md print what it shows.

A ```console block is a command after `$ ` and its output; a line `...` stands for any lines. `warpburg rules ..` runs the built program
($WARPBURG, or build/warpburg). `./dev rule FILE:LINE` runs the part of that command before its build: the checks of gen/ and the proof of
the rules of that line. A ```python block with the first line `# FILE, last in LIST` adds its rule at the end of a list, in a copy of patterns/
made for this test; `# FILE, instead` replaces the rule that was added last. Line numbers are compared as `:#`.

    python tests/gen/test_readme.py --update        updates the output in the README, and the lines in its commands
"""
from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import List, Optional, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.dont_write_bytecode = True

from gen import load, vocabulary_page  # noqa: E402
from gen.proof import rule, z3_formula  # noqa: E402

README = ROOT / "patterns" / "README.md"
WARPBURG = Path(os.environ.get("WARPBURG", ROOT / "build" / "warpburg"))
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.M | re.S)
PLACE = re.compile(r"# (patterns/\w+\.py), (?:last in (\w+)|instead)\n")


class Scratch:
    """A copy of patterns/ to which rules are added."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.at: Optional[Tuple[str, int]] = None  # file and line, from 0, of the last rule
        shutil.copytree(ROOT / "patterns", self.folder / "patterns", ignore=shutil.ignore_patterns("__pycache__"))

    def put(self, file: str, name: Optional[str], new: List[str]) -> None:
        lines = (ROOT / file).read_text().split("\n")
        if name is None:
            assert self.at and self.at[0] == file, "`instead` of what?"
            at = self.at[1]
        else:
            at = next(n for n, line in enumerate(lines) if re.match(rf"{name}\s*=\s*\[", line))
            while not lines[at].startswith("]"):
                at += 1
        self.at = (file, at)
        lines[at:at] = new
        (self.folder / file).write_text("\n".join(lines))

    def rule(self, place: str) -> Optional[str]:
        """The output of `./dev rule PLACE` before it builds; None if it passes without z3, which might have refused it."""
        said = io.StringIO()
        load.use(self.folder)
        try:
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                failed = rule.main([place])
        finally:
            load.use(ROOT)
        if not failed and not z3_formula.present():
            return None
        return re.sub(r"^\d+ rules, \d+ proved now.*\n", "", said.getvalue(), flags=re.M).strip("\n")


def line_of_rule(name: str) -> str:
    """`indexing.py:13` with the current line of the README's rule, which ANCHORS identifies by its text."""
    text = ANCHORS[name.split(":")[0]]
    for n, line in enumerate((ROOT / "patterns" / name.split(":")[0]).read_text().split("\n"), 1):
        if text in line:
            return f"{name.split(':')[0]}:{n}"
    raise AssertionError(f"{text} is not in patterns/{name}")


ANCHORS = {"indexing.py": "rewrite(n // k,                  0,"}


def run(command: str, scratch: Scratch) -> Tuple[str, Optional[str]]:
    """The command with current lines, and its output; None if it cannot be run."""
    words = shlex.split(command)
    if words[:2] == ["./dev", "rule"]:
        assert scratch.at, "./dev rule needs a rule before it"
        place = f"{scratch.at[0]}:{scratch.at[1] + 1}"
        return f"./dev rule {place}", scratch.rule(place)
    assert words[:2] == ["warpburg", "rules"], command
    now = re.sub(r"\b\w+\.py:\d+", lambda m: line_of_rule(m[0]), command)
    if not WARPBURG.exists():
        return now, None
    p = subprocess.run([str(WARPBURG), *shlex.split(now)[1:]], cwd=ROOT, capture_output=True, text=True, timeout=60)
    return now, (p.stdout + p.stderr).strip("\n")


def plain(text: str) -> str: return re.sub(r"\.py:\d+", ".py:#", text)


def agrees(shown: str, printed: str) -> bool:
    parts = [re.escape(plain(x).strip("\n")) for x in re.split(r"^\.\.\.$", shown, flags=re.M)]
    return re.fullmatch(r".*".join(parts), plain(printed).strip("\n"), re.S) is not None


def walk(text: str, scratch: Scratch) -> List[Tuple[str, str, str, Optional[str]]]:
    """For each console block: the command shown, the command with current lines, the output shown, the current output."""
    out = []
    for kind, body in BLOCK.findall(text):
        place = PLACE.match(body)
        if kind == "python" and place:
            scratch.put(place[1], place[2], body[place.end():].rstrip("\n").split("\n"))
        elif kind == "console":
            command, _, shown = body.partition("\n")
            now, printed = run(command[2:], scratch)
            out.append((command[2:], now, shown, printed))
    return out


class Vocabulary(unittest.TestCase):
    def test_up_to_date(self) -> None:
        self.assertEqual(vocabulary_page.PAGE.read_text(), vocabulary_page.page(), "run python -m gen.vocabulary_page")

    def test_names_all(self) -> None:
        text = vocabulary_page.page()
        for name in ("`add.T(a, b)`", "`cvt.T.S(a)`", "`within(n, lo, hi)`", "`F16`", "`rest`", "`lop3`"):
            self.assertIn(name, text)
        self.assertNotIn("`barrier", text)  # only passes make it


class Readme(unittest.TestCase):
    def test_console(self) -> None:
        with tempfile.TemporaryDirectory() as d:
            blocks = walk(README.read_text(), Scratch(d))
        self.assertGreater(len(blocks), 5)
        for command, _, shown, printed in blocks:
            if printed is None:
                print(f"skipped: {command}: {WARPBURG if command.startswith('warpburg') else 'z3'} is not installed")
                continue
            with self.subTest(command=command):
                self.assertTrue(agrees(shown, printed), f"shown:\n{shown}\nprinted:\n{printed}\n`python tests/gen/test_readme.py --update` updates it")

    def test_a_change_is_noticed(self) -> None:
        self.assertTrue(agrees("a\n...\nc", "a\nb\nb\nc"))
        self.assertTrue(agrees("patterns/x.py:3: error", "patterns/x.py:17: error"))
        self.assertFalse(agrees("a\n...\nc", "a\nb\nd"))
        self.assertFalse(agrees("a", "a\nb"))


def update() -> None:
    text = README.read_text()
    with tempfile.TemporaryDirectory() as d:
        blocks = walk(text, Scratch(d))
    for command, now, shown, printed in blocks:
        more = "...\n" if shown.endswith("...\n") else ""
        new = shown if printed is None or (more and agrees(shown, printed)) else printed + "\n" + more
        text = text.replace(f"```console\n$ {command}\n{shown}```", f"```console\n$ {now}\n{new}```", 1)
    README.write_text(text)


if __name__ == "__main__":
    update() if "--update" in sys.argv else unittest.main()
