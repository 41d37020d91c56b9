"""The interpreters of Python on this machine that can make an environment, for tests of what other versions do.

    interpreters()    ->    [Interpreter((3, 9), "/usr/bin/python3.9"), .., Interpreter((3, 13), ..)], one a version

A name on PATH may be a stub that pyenv leaves, which ends with a message where its version is not the chosen one: each is run, and pyenv's folder is
looked into as well.
"""
from __future__ import annotations

import glob
import os
import subprocess
from typing import Dict, List, NamedTuple, Tuple

_ASK = "import ensurepip, sys, venv; print(*sys.version_info[:2], sys.executable)"


class Interpreter(NamedTuple):
    version: Tuple[int, int]
    path: str

    def __str__(self) -> str:
        return f"Python {'.'.join(map(str, self.version))} ({self.path})"


def interpreters() -> List[Interpreter]:
    """One for each version from 3.9 on, the oldest first."""
    folders = os.environ.get("PATH", "").split(os.pathsep)
    folders += sorted(glob.glob(os.path.join(os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv")), "versions", "*", "bin")))
    found: Dict[Tuple[int, int], str] = {}
    for path in (p for folder in folders for p in sorted(glob.glob(os.path.join(folder, "python3.[0-9]*")))):
        if not path.rpartition(".")[2].isdigit():
            continue
        ran = subprocess.run([path, "-c", _ASK], capture_output=True, text=True)
        if ran.returncode == 0:
            major, minor, where = ran.stdout.strip().split(" ", 2)
            found.setdefault((int(major), int(minor)), where)
    return [Interpreter(version, path) for version, path in sorted(found.items()) if version >= (3, 9)]
