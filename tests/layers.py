"""The rooms of src/ keep to their walls: includes, prefixes of symbols, and who may print or end the process; no file is too long to read;
gen/ has no imports in a circle; and the build knows what its tables are made from.

usage: layers.py [BUILD]      BUILD: a build folder, whose objects' symbols are checked

ALLOWED is the table of rooms in the design, with three changes: hlo includes scalar (element types and the rounding of literals
are one enumeration, not three); target and llvm include rewrite's table types, and no more of it; the executable without LLVM
uses pipe/judge.h, and no more of pipe.
"""
from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Dict, List, Set

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src"

TABLES = "rewrite/tables.h"
ALLOWED: Dict[str, Set[str]] = {  # rooms, or single headers
    "base": set(),
    "scalar": {"base"},
    "ir": {"base", "scalar"},
    "rewrite": {"base", "scalar", "ir"},
    "target": {"base", "scalar", "ir", TABLES},
    "hlo": {"base", "scalar"},
    "eval": {"base", "scalar", "hlo"},
    "fuse": {"base", "scalar", "hlo"},
    "index": {"base", "scalar", "ir", "rewrite", "hlo"},
    "partition": {"base", "scalar", "ir", "hlo", "index", "target"},
    "emit": {"base", "scalar", "ir", "rewrite", "hlo", "index", "partition", "target"},
    "vector": {"base", "scalar", "ir", "rewrite"},
    "llvm": {"base", "scalar", "ir", TABLES, "target"},
    "bundle": {"base"},
    "sim": {"base", "bundle"},
    "gpu": {"base", "bundle"},
}
EVERYTHING = set(ALLOWED)
ALLOWED.update(pipe=EVERYTHING, api=EVERYTHING | {"pipe", "warpburg.h"}, main=EVERYTHING | {"pipe"})
WITHOUT_LLVM = {"base", "scalar", "bundle", "hlo", "eval", "sim", "gpu", "pipe/judge.h"}  # what warpburg-run is made of
WITHOUT_LLVM_FILES = {"pipe/inputs.c", "pipe/judge.c", "main/run.c", "main/eval.c", "main/run_main.c", "main/dispatch.c", "main/options.c", "main/main.h",
                      "main/verdict.h", "pipe/judge.h"}

PREFIX = {"base": "wbb_", "scalar": "sc_", "ir": "ir_", "rewrite": "rw_", "target": "tg_", "hlo": "hlo_", "eval": "ev_", "fuse": "fuse_", "index": "ix_",
          "partition": "part_", "emit": "emit_", "vector": "vec_", "llvm": "ll_", "bundle": "bd_", "sim": "sim_", "gpu": "gpu_", "pipe": "pipe_",
          "api": "wb_", "main": "main"}
MAX_LINES, MAX_COLUMNS = {".c": 600, ".h": 600, ".py": 400}, 160  # columns of Python
IMPORT = re.compile(r"(?m)^([ \t]*)(?:from (gen(?:\.\w+)*) import (.+?)(?:  #.*)?$|import (gen(?:\.\w+)+))")
GEN_FOLDERS = ("gen", "gen/proof", "gen/mutation")  # a file imports from its own folder and from those before it
CALLS = re.compile(r"\b(malloc|calloc|realloc|free|printf|fprintf|puts|fputs|exit|abort)\s*\(")
MAY_CALL = {  # why
    "base": None, "main": None,                                   # memory and messages are theirs
    "llvm": {"free"},                                             # LLVM's own objects
    "rewrite/trace.c": {"fprintf", "abort"},                      # out of fuel: our own bug, with the last rules fired
    "ir/verify.c": {"fprintf", "abort"},                          # our own bug, with the node
}


def without_comments(text: str) -> str:
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(\\.|[^"\\\n])*"', lambda m: '""' if m[0][0] == '"' else "\n" * m[0].count("\n"), text, flags=re.S)


def check_includes(path: Path, text: str) -> List[str]:
    room, name = path.relative_to(SRC).parts[0], str(path.relative_to(SRC))
    faults = []
    for n, line in enumerate(text.splitlines(), 1):
        m = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if not m or "/" not in m[1] or m[1].split("/")[0] == room:
            continue
        target = m[1].split("/")[0]
        allowed = ALLOWED[room] if name not in WITHOUT_LLVM_FILES else WITHOUT_LLVM | {room}
        if target not in allowed and m[1] not in allowed:
            faults.append(f"src/{name}:{n}: error: {room} may not include {m[1]}")
    if room != "llvm":
        faults += [f"src/{name}: error: LLVM outside llvm/" for m in re.finditer(r'#\s*include\s*<llvm', text)]
    return faults


def check_calls(path: Path, text: str) -> List[str]:
    room, name = path.relative_to(SRC).parts[0], str(path.relative_to(SRC))
    allowed = MAY_CALL.get(name, MAY_CALL.get(room, set()))
    if allowed is None:
        return []
    return [f"src/{name}:{n}: error: {m[1]} outside base/ and main/" for n, line in enumerate(without_comments(text).splitlines(), 1)
            for m in CALLS.finditer(line) if m[1] not in allowed]


def check_symbols(build: Path) -> List[str]:
    """Every symbol that an object of a room defines for others has the room's prefix."""
    faults, seen = [], 0
    for o in sorted(build.glob("*.p/src_*.o")):
        room = o.name.split("_")[1]
        text = subprocess.run(["nm", "-g", "--defined-only", str(o)], capture_output=True, text=True, check=True).stdout
        for symbol in (line.split()[-1] for line in text.splitlines()):
            seen += 1
            if not symbol.startswith((PREFIX[room], "__", "DW.")):
                faults.append(f"{o.name}: error: {symbol} has not the prefix {PREFIX[room]}")
    if not seen:
        faults.append(f"{build}: error: no objects of rooms")
    return faults


def check_build() -> List[str]:
    """The build knows every file that tables are made from: an edit of one it does not know would change nothing."""
    text = (ROOT / "meson.build").read_text()
    named = {f"patterns/{name}.py" for name in re.findall(r"\bsm\d+\b", re.search(r"(?m)^targets = .*", text)[0])}
    named |= set(re.findall(r"'((?:patterns|gen)/[^']+)'", text))
    needed = [*(ROOT / "patterns").iterdir(), *imported(ROOT / "gen" / "gen_tables.py", set())]
    names = sorted(str(f.relative_to(ROOT)) for f in needed if f.suffix in (".py", ".tsv", ".txt"))
    return [f"meson.build: error: {name} is missing among what the tables depend on" for name in names if name not in named]


def check_sizes() -> List[str]:
    faults = []
    folders = ("src", "include", "gen", "patterns", "shaderdb", "tests")
    for path in sorted(f for d in folders for f in (ROOT / d).rglob("*") if f.suffix in MAX_LINES):
        lines = path.read_text().splitlines()
        if len(lines) > MAX_LINES[path.suffix]:
            faults.append(f"{path.relative_to(ROOT)}: error: {len(lines)} lines, {MAX_LINES[path.suffix]} at most")
        faults += [f"{path.relative_to(ROOT)}:{n}: error: {len(x)} columns, {MAX_COLUMNS} at most" for n, x in enumerate(lines, 1)
                   if path.suffix == ".py" and len(x) > MAX_COLUMNS]
    return faults


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


def check_circles() -> List[str]:
    """No imports in a circle in gen/, and none from a folder of GEN_FOLDERS to a later one."""
    folder = {f: n for n, name in enumerate(GEN_FOLDERS) for f in (ROOT / name).glob("*.py")}
    imports = {f: imports_of(f, indented=False) for f in folder}
    faults = [f"{f.relative_to(ROOT)}: error: {GEN_FOLDERS[folder[f]]}/ may not import {g.relative_to(ROOT)}"
              for f in sorted(folder) for g in sorted(imports_of(f)) if folder[g] > folder[f]]
    while True:
        ends = {f for f, named in imports.items() if not named & imports.keys()}
        if not ends:
            return faults + [f"{f.relative_to(ROOT)}: error: is in a circle of imports, or above one" for f in sorted(imports)]
        imports = {f: named for f, named in imports.items() if f not in ends}


def imported(file: Path, seen: Set[Path]) -> Set[Path]:
    """A file of gen/ and those of gen/ that it imports, directly or not."""
    if file not in seen:
        seen.add(file)
        for other in imports_of(file):
            imported(other, seen)
    return seen


def main(argv: List[str]) -> int:
    faults: List[str] = check_build() + check_sizes() + check_circles()
    files = sorted([*SRC.rglob("*.c"), *SRC.rglob("*.h")])
    for path in files:
        text = path.read_text()
        faults += check_includes(path, text) + check_calls(path, text)
    if len(argv) > 1:
        faults += check_symbols(Path(argv[1]))
    else:
        print("skipped: symbols (no build folder given)")
    print("\n".join([*faults, f"layers: {len(files)} files, {len(faults)} faults"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
