"""Which files of gen/ a file imports: for the layers of the tree, and for what decides a proof (gen/proof/rule.py)."""
from __future__ import annotations

import re
from pathlib import Path
from typing import Set

ROOT = Path(__file__).resolve().parents[1]
IMPORT = re.compile(r"(?m)^([ \t]*)(?:from (gen(?:\.\w+)*) import (.+?)(?:  #.*)?$|import (gen(?:\.\w+)+))")


def imports_of(file: Path, indented: bool = True) -> Set[Path]:
    """The files of gen/ that a file imports. An indented import is one for TYPE_CHECKING, or of a module that may be absent."""
    found: Set[Path] = set()
    for m in re.finditer(IMPORT, file.read_text()):
        if m[1] and not indented:
            continue
        base = ROOT / (m[2] or m[4]).replace(".", "/")
        names = [base] if base.with_suffix(".py").is_file() else [base / name for name in re.findall(r"\w+", m[3] or "")]
        found |= {name.with_suffix(".py") for name in names if name.with_suffix(".py").is_file()}
    return found


def imported(file: Path, seen: Set[Path]) -> Set[Path]:
    """A file of gen/ and those of gen/ that it imports, directly or not."""
    if file not in seen:
        seen.add(file)
        for other in imports_of(file):
            imported(other, seen)
    return seen
