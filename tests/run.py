"""Runs test suites and sums up what passed and failed. suites.py lists them, README.md describes them.

usage: run.py --build DIR [--all] [--shared DIR] [--jobs N] [--list] [--changed [REV]] [NAME..] [-- OPTION..]

NAME: a suite, a folder of suites, `lit/MODULE` or `unit/MODULE`; OPTIONs go to the one suite that is named, in place of its own.
--changed: the suites of the modules whose files differ from REV (HEAD: what is not committed).
Several suites run side by side, since many keep one core busy; what one prints comes when it has ended.
"""
from __future__ import annotations

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Callable, Dict, Iterable, List, Optional, Set, Tuple

from suites import MODULES, SUITES, Row

ROOT = Path(__file__).resolve().parent.parent
Counts = Tuple[int, int]  # passed, failed


class Runner:
    """Runs the commands of one suite in the root folder, and keeps what they print and the CPU time that they take."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.lines: List[str] = []
        self.cpu_seconds = 0.0

    def say(self, line: str) -> None:
        self.lines.append(line)
        if self.args.jobs == 1:
            print(line, end="", flush=True)

    def call(self, command: List[str]) -> Tuple[int, str]:
        """Exit status and output."""
        p = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        first = len(self.lines)
        assert p.stdout
        for line in p.stdout:
            self.say(line)
        _, status, used = os.wait4(p.pid, 0)
        self.cpu_seconds += used.ru_utime + used.ru_stime
        return os.waitstatus_to_exitcode(status), "".join(self.lines[first:])


Suite = Callable[[Runner], Counts]


# --- the kinds of suites ------------------------------------------------------------------------------------------------------------
def number(pattern: str, text: str) -> int:
    found = re.findall(pattern, text, re.M)
    return int(found[-1]) if found else 0


def unit(modules: Set[str], *more: str) -> Suite:
    """The unit tests whose names begin with one of the modules; without modules all. more: options of meson."""
    def run(runner: Runner) -> Counts:
        names = sorted(f.stem[:-len("_test")] for f in ROOT.glob("tests/unit/*_test.c"))
        names = [n for n in names if n.split("_")[0] in modules] if modules else []
        rc, text = runner.call(["meson", "test", "-C", runner.args.build, "--no-rebuild", *more, *names])
        passed, failed = number(r"^Ok:\s+(\d+)", text), number(r"^Fail:\s+(\d+)", text) + number(r"^Timeout:\s+(\d+)", text)
        return passed, failed or int(rc != 0)

    return run


def lit(folders: Set[str], *more: str) -> Suite:
    """The text tests of these folders of tests/lit; without folders all. more: options of lit."""
    def run(runner: Runner) -> Counts:
        program = shutil.which("lit-22") or shutil.which("lit")
        if program is None:
            runner.say("skipped: lit is not installed (llvm-22-tools)\n")
            return 0, 0
        where = [f"tests/lit/{f}" for f in sorted(folders)] or ["tests/lit"]
        rc, text = runner.call([program, "--param", f"warpburg={Path(runner.args.build).resolve() / 'warpburg'}", *more, *where])
        passed, failed = number(r"Passed\s*:\s*(\d+)", text), number(r"Failed\s*:\s*(\d+)", text) + number(r"Unresolved\s*:\s*(\d+)", text)
        return passed, failed or int(rc != 0)

    return run


def gen(runner: Runner) -> Counts:
    rc, text = runner.call([sys.executable, "-m", "unittest", "discover", "-s", "tests/gen", "-p", "test_*.py"])
    ran = number(r"^Ran (\d+) tests?", text)
    bad = number(r"failures=(\d+)", text) + number(r"errors=(\d+)", text)
    return ran - bad, bad or int(rc != 0)


def layers(runner: Runner) -> Counts:
    rc, _ = runner.call([sys.executable, "tests/tree/layers.py", runner.args.build])
    return int(rc == 0), int(rc != 0)


def program(row: Row) -> Suite:
    """A program that prints `N passed, M failed` last."""
    def run(runner: Runner) -> Counts:
        args = runner.args
        options = " ".join(args.options) or (row.full if args.all else row.short)
        text = f"{row.command} {options}".format(wb=Path(args.build) / "warpburg", run=Path(args.build) / "warpburg-run", shared=args.shared, build=args.build)
        rc, said = runner.call([sys.executable, *text.split()])
        return number(r"^(\d+) passed, \d+ failed", said), number(r"^\d+ passed, (\d+) failed", said) or int(rc != 0)

    return run


# --- what is run --------------------------------------------------------------------------------------------------------------------
class Chosen:
    """The suites of some names; without names all."""

    def __init__(self, names: Iterable[str]) -> None:
        self.rows: Dict[str, Row] = {}
        self.unknown: List[str] = []
        self.whole: Set[str] = set()  # of unit, lit, gen and layers
        self.parts: Dict[str, Set[str]] = {"unit": set(), "lit": set()}
        for name in names:
            self.add(name)

    def add(self, name: str) -> None:
        kind, _, part = name.partition("/")
        rows = [r for folder, some in SUITES.items() for r in some if name in (folder, r.name)]
        if name in ("unit", "lit", "layers", "gen"):
            self.whole.add(name)
        elif kind in self.parts and part and next(ROOT.glob(f"tests/lit/{part}/" if kind == "lit" else f"tests/unit/{part}_*test.c"), None):
            self.parts[kind].add(part)
        elif not rows:
            self.unknown.append(name)
        self.rows.update((r.name, r) for r in rows)

    def suites(self) -> List[Tuple[str, Suite]]:
        out: List[Tuple[str, Suite]] = []
        for kind, make in (("unit", unit), ("lit", lit)):
            if kind in self.whole or self.parts[kind]:
                out.append((kind, make(set() if kind in self.whole else self.parts[kind])))
        out += [(name, suite) for name, suite in (("gen", gen), ("layers", layers)) if name in self.whole]
        return out + [(r.name, program(r)) for r in self.rows.values()]


def every() -> Chosen:
    return Chosen(["unit", "lit", "gen", "layers", *SUITES])


def changed(revision: str) -> Chosen:
    """The suites of the modules with a file that differs from the revision, or is not known to git."""
    git = ["git", "-C", str(ROOT)]
    texts = [subprocess.run([*git, *words], stdout=subprocess.PIPE, text=True, check=True).stdout
             for words in (["diff", "--name-only", revision], ["ls-files", "--others", "--exclude-standard"])]
    out = Chosen(["layers"])
    for file in sorted({f for text in texts for f in text.split("\n") if f}):
        top, _, rest = file.partition("/")
        part = rest.partition("/")[0]
        if top == "tests" and part in ("lit", "unit"):
            below = rest.split("/")[1]
            names = [f"{part}/{below if part == 'lit' else below.split('_')[0]}"]
        else:
            names = [part] if top == "tests" else [f"lit/{part}", f"unit/{part}", *MODULES.get(part, ())] if top == "src" else MODULES.get(top, ("tree",))
        for name in names:
            out.add(name)
    return out


def purpose(row: Optional[Row], name: str) -> str:
    """The first sentence of the docstring of a suite's program."""
    if not row:
        return {"unit": "functions of each module", "lit": "commands on small texts, and what they print", "gen": "the rule language and compiler",
                "layers": "includes, symbols and sizes of files"}[name]
    words = row.command.split()
    file = ROOT / (words[1].replace(".", "/") + ".py" if words[0] == "-m" else words[0])
    return re.split(r"(?<=\.)\s", " ".join((ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "").split()))[0]


def run_suite(name: str, suite: Suite, args: argparse.Namespace) -> Tuple[Runner, Counts]:
    runner, since = Runner(args), time.monotonic()
    runner.say(f"--- {name}\n")
    passed, failed = suite(runner)
    runner.say(f"--- {name}: {passed} passed, {failed} failed in {time.monotonic() - since:.0f} s, {runner.cpu_seconds:.0f} s of CPU\n")
    return runner, (passed, failed)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(usage=(__doc__ or "").split("usage: ")[1].split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--build", default="build")
    parser.add_argument("--shared", default="../shared")
    parser.add_argument("--all", action="store_true", help="the long tests: every file, target and sample")
    parser.add_argument("--changed", nargs="?", const="HEAD", default="", metavar="REV", help="the suites of the modules that differ from REV (default: HEAD)")
    parser.add_argument("-j", "--jobs", type=int, default=min(2, os.cpu_count() or 1), help="suites that run side by side (default: %(default)s)")
    parser.add_argument("--list", action="store_true", help="print the names of the suites")
    words = sys.argv[1:]
    at = words.index("--") if "--" in words else len(words)
    args = parser.parse_args(words[:at])
    args.options = words[at + 1:]
    args.chosen = changed(args.changed) if args.changed else Chosen(args.names) if args.names else every()
    if args.changed:
        args.chosen.unknown.clear()  # a module without suites of a kind
        for name in args.names:
            args.chosen.add(name)
    if args.chosen.unknown:
        parser.error(f"no suite {', '.join(sorted(args.chosen.unknown))}; --list prints their names")
    if args.options and len(args.chosen.rows) != 1:
        parser.error("options after -- are for one suite that is a program: name it")
    return args


def main() -> int:
    args = arguments()
    suites = args.chosen.suites()
    if args.list:
        width = max(len(name) for name, _ in suites)
        print("\n".join(f"{name:{width}}  {purpose(args.chosen.rows.get(name), name)}" for name, _ in suites))
        return 0
    os.environ.setdefault("WARPBURG_CACHE", "off")  # what a suite tests is made anew
    os.environ["WARPBURG"] = str(Path(args.build).resolve() / "warpburg")
    passed = failed = 0
    cpu_seconds = 0.0
    with ThreadPoolExecutor(max_workers=args.jobs) as pool:
        for ended in as_completed(pool.submit(run_suite, name, suite, args) for name, suite in suites):
            runner, (p, f) = ended.result()
            if args.jobs > 1:
                print("".join(runner.lines), end="", flush=True)
            passed, failed, cpu_seconds = passed + p, failed + f, cpu_seconds + runner.cpu_seconds
    print(f"{cpu_seconds:.0f} s of CPU\n{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
