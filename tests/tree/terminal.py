"""What a person at a terminal sees: colours of messages and verdicts, and how far long work is; and that neither is written elsewhere.

usage: terminal.py WARPBURG
"""
from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Dict, List, Optional

ROOT = Path(__file__).resolve().parents[2]
WARPBURG = sys.argv[1] if len(sys.argv) > 1 else "build/warpburg"
BAD = "HloModule m\nENTRY e {\n  ROOT y = f32[8] nothing()\n}\n"
GOOD = "HloModule m\nENTRY e {\n  x = f32[64] parameter(0)\n  ROOT y = f32[64] negate(x)\n}\n"
STEPS = "".join(f"  y{k + 1} = f32[67108864] cosine(y{k})\n" for k in range(12))
LONG = f"HloModule m\nENTRY e {{\n  y0 = f32[67108864] parameter(0)\n{STEPS}  ROOT z = f32[67108864] negate(y12)\n}}\n"
SUM = ("HloModule s\nadd { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT z = f32[] add(x, y) }\nENTRY e {\n  p = f32[268435456] parameter(0)\n"
       "  q = f32[268435456] cosine(p)\n  o = f32[] constant(0)\n  ROOT r = f32[] reduce(q, o), dimensions={0}, to_apply=add\n}\n")


def on_terminal(command: List[str], until: str = "", seconds: float = 60, stdout: bool = False, environment: Optional[Dict[str, str]] = None) -> str:
    """What the command writes to stderr (with `stdout` to both), which is a terminal, up to a match of `until`, when it is ended."""
    ours, theirs = pty.openpty()
    clean = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")}
    p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=theirs if stdout else subprocess.DEVNULL, stderr=theirs, cwd=ROOT,
                         env={**clean, "TERM": "xterm", **(environment or {})})
    os.close(theirs)
    said, last = "", time.monotonic() + seconds
    while time.monotonic() < last and not (until and re.search(until, said)):
        if not select.select([ours], [], [], 0.1)[0]:
            continue
        try:
            said += os.read(ours, 65536).decode()
        except OSError:  # the end of a terminal
            break
    if until:
        p.kill()
    p.wait()
    os.close(ours)
    return said


class Terminal(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        for name, text in (("bad", BAD), ("good", GOOD), ("long", LONG), ("sum", SUM)):
            Path(self.folder, f"{name}.hlo").write_text(text)

    def command(self, *words: str) -> List[str]:
        return [WARPBURG, *(f"{self.folder}/{w}" if w.endswith(".hlo") else w for w in words)]

    def test_messages(self) -> None:
        said = on_terminal(self.command("compile", "bad.hlo"))
        self.assertIn("bad.hlo:3:19\x1b[0m\x1b[1;31m: error:\x1b[0m unknown operation", said)
        for off in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            self.assertNotIn("\x1b", on_terminal(self.command("compile", "bad.hlo"), environment=off), off)
        self.assertIn("\x1b[1;31m", on_terminal(self.command("compile", "bad.hlo"), environment={"NO_COLOR": ""}))
        ran = subprocess.run(self.command("compile", "bad.hlo"), capture_output=True, text=True)
        self.assertIn("bad.hlo:3:19: error: unknown operation", ran.stderr)
        self.assertNotIn("\x1b", ran.stderr)

    def test_verdicts(self) -> None:
        said = on_terminal(self.command("run", "good.hlo", "--check"), stdout=True)
        self.assertIn("64 elements\x1b[1;32m inside the bounds\x1b[0m", said)
        self.assertNotIn("\x1b", on_terminal(self.command("run", "good.hlo", "--check"), stdout=True, environment={"NO_COLOR": "1"}))
        self.assertNotIn("\x1b", subprocess.run(self.command("run", "good.hlo", "--check"), capture_output=True, text=True).stdout)

    def seen(self, what: str, *words: str) -> None:
        line = rf"\r{what}: (\d+) of (\d+), [\d.e+]+ a second, (\d+:)?\d+:\d\d left"
        said = on_terminal(self.command(*words), line, 120)
        found = re.search(line, said)
        self.assertIsNotNone(found, f"{' '.join(words)}: {said[-400:]!r}")
        assert found
        self.assertLess(int(found[1]), int(found[2]))

    def test_run(self) -> None:
        self.seen("blocks", "run", "long.hlo", "--jobs", "1")
        self.seen("blocks", "run", "long.hlo", "--jobs", "2")

    def test_eval(self) -> None:
        self.seen(r"[\w.]+", "eval", "sum.hlo")

    def test_many_files(self) -> None:
        text = Path(ROOT, "shaderdb/corpus/gelu.hlo").read_text()
        for k in range(3000):  # more than two seconds of work on any machine, if LLVM writes the PTX
            Path(self.folder, f"many{k}.hlo").write_text(text)
        Path(self.folder, "bad.hlo").unlink()
        self.seen("files", "compile", self.folder, "--backend", "llvm", "--no-cache")
        self.seen("files", "stats", self.folder)
        self.seen("files", "stats", self.folder, "--jobs", "1")

    def test_short_work_and_files(self) -> None:
        """Nothing is shown of what takes less than two seconds, nor where stderr is no terminal."""
        self.assertEqual(on_terminal(self.command("run", "good.hlo")), "")
        ran = subprocess.Popen(self.command("run", "long.hlo"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        time.sleep(4)
        ran.kill()
        self.assertEqual(ran.communicate()[1], b"")

    def test_line_is_cleared(self) -> None:
        """The line is gone when the work is done."""
        Path(self.folder, "some.hlo").write_text(LONG.replace("67108864", "1048576"))
        said = on_terminal(self.command("run", "some.hlo", "--jobs", "1", "--check"), seconds=120)
        if "\r" in said:  # else it took less than two seconds
            self.assertTrue(said.endswith("\r\x1b[K"), repr(said[-200:]))


def main() -> int:
    result = unittest.TextTestRunner(verbosity=1).run(unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__]))
    bad = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - bad} passed, {bad} failed")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
