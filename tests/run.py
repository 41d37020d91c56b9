"""Every test, in one line of summary: unit tests (cmocka through meson), text tests (lit), gen/ (unittest), layers, random
fusions, corpora.

usage: run.py --build DIR [--all] [--shared DIR]
"""
from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable, List, Tuple

ROOT = Path(__file__).resolve().parent.parent
Counts = Tuple[int, int]  # passed, failed


def call(command: List[str]) -> Tuple[int, str]:
    """Runs a command from the root, printing what it prints as it comes; its exit status and text."""
    p = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines: List[str] = []
    assert p.stdout
    for line in p.stdout:
        lines.append(line)
        print(line, end="", flush=True)
    return p.wait(), "".join(lines)


def number(pattern: str, text: str) -> int:
    found = re.findall(pattern, text, re.M)
    return int(found[-1]) if found else 0


def unit(args: argparse.Namespace) -> Counts:
    rc, text = call(["meson", "test", "-C", args.build, "--no-rebuild"])
    passed, failed = number(r"^Ok:\s+(\d+)", text), number(r"^Fail:\s+(\d+)", text) + number(r"^Timeout:\s+(\d+)", text)
    return passed, failed or int(rc != 0)


def lit(args: argparse.Namespace) -> Counts:
    program = shutil.which("lit-22") or shutil.which("lit")
    if program is None:
        print("skipped: lit is not here (llvm-22-tools)")
        return 0, 0
    rc, text = call([program, "--param", f"warpburg={Path(args.build).resolve() / 'warpburg'}", "tests/lit"])
    passed, failed = number(r"Passed\s*:\s*(\d+)", text), number(r"Failed\s*:\s*(\d+)", text) + number(r"Unresolved\s*:\s*(\d+)", text)
    return passed, failed or int(rc != 0)


def python(args: argparse.Namespace) -> Counts:
    rc, text = call([sys.executable, "-m", "unittest", "discover", "-s", "tests/gen", "-p", "test_*.py"])
    ran = number(r"^Ran (\d+) tests?", text)
    bad = number(r"failures=(\d+)", text) + number(r"errors=(\d+)", text)
    return ran - bad, bad or int(rc != 0)


def layers(args: argparse.Namespace) -> Counts:
    rc, _ = call([sys.executable, "tests/layers.py", args.build])
    return int(rc == 0), int(rc != 0)


def corpus(args: argparse.Namespace) -> Counts:
    command = [sys.executable, "tests/corpus.py", str(Path(args.build) / "warpburg"), "--shared", args.shared]
    rc, text = call(command + (["--all"] if args.all else []))
    passed, failed = number(r"^(\d+) passed, \d+ failed", text), number(r"^\d+ passed, (\d+) failed", text)
    return passed, failed or int(rc != 0)


def random_fusions(args: argparse.Namespace) -> Counts:
    rc, text = call([sys.executable, "tests/fuzz/fusions.py", str(Path(args.build) / "warpburg"), "600" if args.all else "60"])
    return number(r"^(\d+) passed, \d+ failed", text), number(r"^\d+ passed, (\d+) failed", text) or int(rc != 0)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--shared", default="../shared")
    parser.add_argument("--all", action="store_true", help="every file of --shared instead of a fixed tenth")
    args = parser.parse_args()
    passed = failed = 0
    suites: List[Callable[[argparse.Namespace], Counts]] = [unit, lit, python, layers, random_fusions, corpus]
    for suite in suites:
        print(f"--- {suite.__name__}", flush=True)
        since = time.monotonic()
        p, f = suite(args)
        print(f"--- {suite.__name__}: {p} passed, {f} failed in {time.monotonic() - since:.0f} s", flush=True)
        passed, failed = passed + p, failed + f
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
