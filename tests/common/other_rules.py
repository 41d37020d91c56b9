"""A compiler with other rules than the tree's, for suites and benches that try rules.

    copied(folder)                                  patterns/ in folder
    unreached(folder, "sm80")                       the rules of the copy that others leave nothing for, as {(file, line)}
    compiled(build, folder, "sm80")                 the compiler of the build, with the copy's tables for sm_80 alone
"""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Set, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from gen import checks, ledger, load  # noqa: E402
from gen.proof import tables  # noqa: E402

Line = Tuple[str, int]


def copied(folder: Path) -> None:
    shutil.copytree(ROOT / "patterns", folder / "patterns", ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)


def refused(folder: Path, target: str) -> Set[Tuple[Line, str]]:
    """The lines of the copy that the checks of a build refuse, each with the message. Loads from the copy from now on."""
    load.use(folder)
    said = checks.check(load.load_index(), [load.load_target(target)])
    found = [(re.match(r"(patterns/\w+\.py):(\d+)", f), f) for f in said]
    return {((m[1], int(m[2])), f) for m, f in found if m}


def unreached(folder: Path, target: str) -> Set[Line]:
    return {line for line, message in refused(folder, target) if "error: never reached" in message}


def compiled(build: Path, folder: Path, target: str) -> Path:
    """The compiler with the copy's rules of the target, whose instructions may be without a ledger line."""
    file = folder / "made.tables"
    made = subprocess.run([sys.executable, str(ROOT / "gen" / "gen_tables.py"), str(file), str(folder), target], capture_output=True, text=True,
                          env={**os.environ, ledger.UNSIMULATED: "1"})
    if made.returncode:
        raise SystemExit("the rules do not compile: " + made.stderr)
    return tables.made(folder / "program", build, file.read_bytes()) / "warpburg"
