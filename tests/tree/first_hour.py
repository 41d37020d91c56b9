"""README.md and docs/first-hour.md: their commands and programs run, in order, and print what the page says. `..` in a page stands for anything;
a text of HLO is a file with the name of its module.

usage: first_hour.py BUILD
"""
from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, Tuple

ROOT = Path(__file__).resolve().parents[2]
PAGES = (ROOT / "README.md", ROOT / "docs" / "first-hour.md")


def blocks(page: str) -> List[Tuple[str, str]]:
    """The fenced blocks of the page: (language, text)."""
    return re.findall(r"^```(\w+)\n(.*?)^```", page, re.M | re.S)


def missing(wanted: str, said: str) -> str:
    """The first line of `wanted` that is not in `said` behind the lines before it; "": none."""
    at = 0
    for line in filter(str.strip, wanted.splitlines()):
        pattern = ".*".join(re.escape(part) for part in line.strip().split(".."))
        m = re.compile(pattern).search(said, at)
        if not m:
            return line
        at = m.end()
    return ""


class Session:
    """A folder with the tree in it, where blocks run one after the other."""

    def __init__(self, build: Path, folder: str) -> None:
        self.folder, self.python = folder, sys.executable
        self.environment: Dict[str, str] = {**os.environ, "PATH": f"{build}:{os.environ['PATH']}", "JAX_PLATFORMS": "cpu"}
        self.jax = build / "jax-venv" / "bin" / "python"
        self.programs = ""
        for entry in ROOT.iterdir():
            if entry.name not in (".git", "build"):
                os.symlink(entry, f"{folder}/{entry.name}")
        os.symlink(build, f"{folder}/build")

    def shell(self, command: str) -> Tuple[int, str]:
        """Runs a command of a shell whose exports the next ones see."""
        ran = subprocess.run(["bash", "-c", f"{command}\nstatus=$?\nexport -p > .exports\nexit $status"], cwd=self.folder, env=self.environment,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        for line in Path(self.folder, ".exports").read_text().splitlines():
            m = re.match(r'declare -x (\w+)="(.*)"$', line)
            if m and m[1] not in ("PWD", "OLDPWD", "SHLVL"):
                self.environment[m[1]] = m[2]
        return ran.returncode, ran.stdout

    def program(self, text: str) -> Tuple[int, str]:
        """Runs a part of a program, behind the parts before it, whose output is cut off."""
        python = str(self.jax) if "import jax" in text else self.python
        mark = "=== here"
        whole = f"{self.programs}\nprint({mark!r}, flush=True)\n{text}"
        ran = subprocess.run([python, "-c", whole], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             timeout=300)
        self.programs = "" if "import jax" in text else f"{self.programs}\n{text}"
        return ran.returncode, ran.stdout.rpartition(mark)[2] or ran.stdout


def steps_of(page: List[Tuple[str, str]]) -> List[Tuple[str, str, str]]:
    """What a page says to do: (how, what, what it prints)."""
    steps = []
    for i, (language, text) in enumerate(page):
        if language == "console":
            for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
                command, _, wanted = part.partition("\n")
                steps.append(("shell", command, wanted))
        elif language == "hlo":
            steps.append(("shell", f"cat > {text.split()[1]}.hlo <<'EOF'\n{text}EOF", ""))
        elif language == "sh":
            steps.append(("shell", text, ""))
        elif language == "python" and re.match(r"# [\w/]+\.py:", text):  # lines of that file
            steps.append(("shell", f"cat {text[2:].split(':')[0]}", text.partition("\n")[2]))
        elif language == "python":
            steps.append(("program", text, page[i + 1][1] if page[i + 1:] and page[i + 1][0] == "output" else ""))
    return steps


def follow(file: Path, s: Session) -> Tuple[int, int]:
    """How many steps of a page passed and failed."""
    passed = failed = 0
    for how, what, wanted in steps_of(blocks(file.read_text())):
        if "import jax" in what and not s.jax.exists():
            print(f"skipped: a program that needs jax: {s.jax} is made by ./dev test --all")
            continue
        rc, said = s.shell(what) if how == "shell" else s.program(what)
        line = missing(wanted, said)
        good = rc == 0 and not line
        passed, failed = passed + good, failed + (not good)
        if not good:
            print(f"{file.relative_to(ROOT)}: {what.strip()}\n  exit status {rc}, missing: {line or 'nothing'}; it printed\n{said[-2000:]}")
    return passed, failed


def main() -> int:
    build = Path(sys.argv[1]).resolve()
    passed = failed = 0
    try:
        import ml_dtypes as _  # noqa: F401
    except ImportError as e:
        print(f"skipped: programs in Python: {e}")
        return 0
    for page in PAGES:
        with tempfile.TemporaryDirectory() as folder:
            p, f = follow(page, Session(build, folder))
        passed, failed = passed + p, failed + f
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
