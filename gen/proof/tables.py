"""Compilers whose rules are those of some pattern files, without a build: the program of the build, which takes the tables from a file.

    made(build / "rules", build, tables)     build/rules/warpburg, a script that calls `build/warpburg --tables build/rules/rules.tables`

Only what no table holds needs a build: the sources, gen/, and how far functions may be off, which the evaluator reads (BUDGETS, MARKED_XLA).
"""
from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from typing import Dict, Optional, Sequence, Tuple

from gen import gen_scalar, ledger

ROOT = Path(__file__).resolve().parents[2]
Sources = ("src/**/*.[ch]", "src/**/*.def", "src/**/meson.build", "include/*.h", "gen/*.py", "meson.build", "meson_options.txt")


def call(command: Sequence[str], cwd: Path = ROOT, more: Optional[Dict[str, str]] = None) -> Tuple[int, str]:
    p = subprocess.run(list(command), cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **(more or {})})
    return p.returncode, p.stdout


def stale(build: Path) -> bool:
    """Whether the build's programs are older than what no table holds."""
    program, stamp, budgets = build / "warpburg", build / "rules" / "built", build / "sc_tables.c"
    if not all(p.exists() for p in (program, build / "tests" / "measure", budgets)):
        return True
    since = max(p.stat().st_mtime_ns for p in (program, stamp) if p.exists())  # a build that finds nothing to do leaves the program as it is
    return any(p.stat().st_mtime_ns > since for pattern in Sources for p in ROOT.glob(pattern)) or budgets.read_text() != gen_scalar.tables_c()


def build(folder: Path, unsimulated: bool = False) -> Tuple[int, str]:
    """unsimulated: instruction rules may lack ledger lines. The ledger is then marked as changed, so that the next build checks for them."""
    found = call(["ninja", "-C", str(folder), "--quiet", "warpburg", "tests/measure"], more={ledger.UNSIMULATED: "1"} if unsimulated else None)
    if unsimulated and ledger.path().exists():
        os.utime(ledger.path())
    if not found[0]:
        (folder / "rules").mkdir(exist_ok=True)
        (folder / "rules" / "built").touch()
    return found


def made(folder: Path, build_folder: Path, tables: Optional[bytes] = None) -> Path:
    """A folder that serves as a build's: warpburg and tests/measure. Without tables: those that the program has."""
    folder.mkdir(parents=True, exist_ok=True)
    program, file, script = build_folder.resolve() / "warpburg", folder.resolve() / "rules.tables", folder / "warpburg"
    if tables is not None:
        file.write_bytes(tables)
    text = f"#!/bin/sh\nexec {shlex.quote(str(program))}{'' if tables is None else f' --tables {shlex.quote(str(file))}'} \"$@\"\n"
    if not script.exists() or script.read_text() != text:
        script.write_text(text)
        script.chmod(0o755)
    if not (folder / "tests").is_symlink():
        (folder / "tests").symlink_to(build_folder.resolve() / "tests")
    return folder
