"""A compiler with other rules than the tree's, for suites and benches that try rules.

    copied(folder)                                  patterns/ in folder
    unreached(folder, "sm80")                       the rules of the copy that others leave nothing for, as {(file, line)}
    compiled(build, folder, "sm80")                 folder/warpburg, with the copy's table for sm_80
"""
from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Set, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from gen import checks, ledger, load  # noqa: E402

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


def link(build: Path, tables: Path, out: Path) -> None:
    """Compiles the table and links the compiler with it, by the commands of the build; its object precedes the archive with the right table."""
    said = subprocess.run(["ninja", "-C", str(build), "-t", "commands", "warpburg"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    compiles = [shlex.split(c) for c in said if f"/{tables.name}" in c or f" {tables.name}" in c]
    one = next(c for c in compiles if "-c" in c)
    source = next(i for i, word in enumerate(one) if word.endswith(tables.name))
    one[source], one[one.index("-o") + 1] = str(tables), str(tables.with_suffix(".o"))
    drop = [i for i, word in enumerate(one) if word in ("-MQ", "-MF")]
    words = [w for i, w in enumerate(one) if w != "-MD" and i not in drop and i - 1 not in drop]
    subprocess.run(words + ["-O0", "-w"], cwd=build, check=True)
    last = shlex.split(said[-1])
    at = last.index("-o")
    last[at + 1] = str(out)
    subprocess.run(last[:at + 2] + [str(tables.with_suffix(".o"))] + last[at + 2:], cwd=build, check=True)


def compiled(build: Path, folder: Path, target: str) -> Path:
    """The compiler with the copy's rules of the target, whose instructions may be without a ledger line."""
    made = subprocess.run([sys.executable, str(ROOT / "gen" / "gen_tables.py"), str(folder / "gen"), str(folder), target], capture_output=True, text=True,
                          env={**os.environ, ledger.UNSIMULATED: "1"})
    if made.returncode:
        raise SystemExit("the rules do not compile: " + made.stderr)
    link(build, folder / "gen" / f"tables_{target}.c", folder / "warpburg")
    return folder / "warpburg"
