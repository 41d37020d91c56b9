"""The structure of the source: which module may include which, prefixes of symbols, who may print or end the process, what macros evaluate
twice, which files of a module call each other in circles, lengths of files and lines, imports of gen/, what the build's tables depend on, functions of
warpburg.h that compute in their caller's floating-point environment, messages of the library in words of the command line, and tests/README.md.

usage: layers.py [BUILD] [--columns]
    BUILD       a build folder; its objects are checked for prefixes and circles
    --columns   list the lines of C that are too long

Each rule is a table below; where a rule has an exception, the table has the reason.
"""
from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Dict, List, NamedTuple, Set, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from gen.imports import imported, imports_of  # noqa: E402
SRC = ROOT / "src"

TABLES = "rewrite/tables.h"
ALLOWED: Dict[str, Set[str]] = {  # what a module may include: modules, or single headers
    "base": set(),
    "scalar": {"base"},
    "ir": {"base", "scalar"},
    "rewrite": {"base", "scalar", "ir"},
    "target": {"base", "scalar", "ir", TABLES},
    "hlo": {"base", "scalar"},
    "eval": {"base", "scalar", "hlo"},
    "fuse": {"base", "scalar", "hlo", "graph"},
    "index": {"base", "scalar", "ir", "rewrite", "hlo"},
    "graph": {"base", "scalar", "ir", "rewrite", "hlo", "index"},
    "layout": {"base", "index", "target", "price/time.h"},
    "plan": {"base", "scalar", "ir", "hlo", "index", "graph", "target", "layout", "price/time.h"},
    "emit": {"base", "scalar", "ir", "rewrite", "hlo", "index", "graph", "layout", "plan", "target"},
    "vector": {"base", "scalar", "ir", "rewrite"},
    "llvm": {"base", "scalar", "ir", TABLES, "target"},
    "ptx": {"base", "scalar", "ir", TABLES, "target"},
    "bundle": {"base"},
    "sim": {"base", "bundle"},
    "gpu": {"base", "bundle"},
    "price": {"base", "bundle", "sim", "target"},
    "judge": {"base", "scalar", "bundle", "hlo", "ir", "index", "graph", "eval", "sim", "gpu"},
    "program": {"base", "scalar", "bundle", "hlo", "graph", "eval", "fuse", "sim", "gpu", "judge"},
}
EVERYTHING = set(ALLOWED)
ALLOWED.update(pipe=EVERYTHING - {"program"}, report=EVERYTHING | {"pipe"})
ALLOWED.update(api=EVERYTHING | {"pipe", "report", "warpburg.h"}, main=EVERYTHING | {"pipe", "report"})
# what warpburg-run is made of
WITHOUT_LLVM = {"base", "scalar", "bundle", "hlo", "ir", "rewrite", "index", "graph", "eval", "fuse", "program", "sim", "gpu", "judge"}
WITHOUT_LLVM_FILES = {f"main/{name}" for name in "command.c command.h complete.c counts.c dispatch.c eval.c help.c main.h man.c parse.c "
                                                  "program.c program.h run.c run.h run_main.c terminal.c".split()}

PREFIX = {"base": "wbb_", "scalar": "sc_", "ir": "ir_", "rewrite": "rw_", "target": "tg_", "hlo": "hlo_", "eval": "ev_", "fuse": "fuse_", "index": "ix_",
          "graph": "gr_", "layout": "lay_", "plan": "plan_", "emit": "emit_", "vector": "vec_", "ptx": "ptx_", "llvm": "ll_", "bundle": "bd_",
          "sim": "sim_", "gpu": "gpu_",
          "price": "price_", "judge": "judge_", "pipe": "pipe_", "report": "report_", "program": "prog_",
          "api": "wb_", "main": "main"}
MAX_LINES = {".c": 750, ".h": 750, ".py": 400}  # what nobody finishes reading; where a shorter file should be cut is a question of its meaning
MAX_COLUMNS = {".c": 120, ".h": 120, ".py": 160}
LONG_LINES_OF_C_FAIL = True  # while False, their number is printed and nothing fails
GEN_FOLDERS = ("gen", "gen/proof", "gen/mutation")  # a file imports from its own folder and from those before it
CALLS = re.compile(r"\b(malloc|calloc|realloc|free|printf|fprintf|puts|fputs|exit|abort|pthread_create|fesetenv)\s*\(")
MAY_CALL = {  # modules or files, with the reason; None: anything
    "base": None, "main": None,                                   # memory is base's, messages are main's
    "llvm": {"free"},                                             # LLVM's own objects
    "ir/verify.c": {"fprintf", "abort"},                          # a bug of ours, with the node
}
# Files of a module that call each other in a circle, directly or through a table, with the reason. A circle that is not in the list is an
# error, and so is an entry that is no circle any more. "Not recursive" means that moving a function to another file ends the circle.
CIRCLES: List[Tuple[str, str, str]] = [
    ("base", "map string", "not recursive: interned strings are in a map, which calls wbb_hash of string.c"),
    ("base", "arena context", "a context owns arenas; an arena that gets no memory fails through its context"),
    ("eval", "accumulate apply bits commute control conv demand dot eval gather iterate mac move random recall reduce rows scan scan_order scatter "
     "select_scatter sort tree window window_scan",
     "recursive: an operation demands elements of its operands, which their operations compute"),
    ("hlo", "parse parse_attributes", "recursive: an attribute may be a computation, whose instructions have attributes"),
    ("rewrite", "builder guards match replacement sums", "recursive: what a rule builds is rewritten as it is built"),
]


def without_comments(text: str) -> str:
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(\\.|[^"\\\n])*"', lambda m: '""' if m[0][0] == '"' else "\n" * m[0].count("\n"), text, flags=re.S)


def check_includes(path: Path, text: str) -> List[str]:
    module, name = path.relative_to(SRC).parts[0], str(path.relative_to(SRC))
    faults = []
    for n, line in enumerate(text.splitlines(), 1):
        m = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if not m or "/" not in m[1] or m[1].split("/")[0] == module:
            continue
        target = m[1].split("/")[0]
        allowed = ALLOWED[module] if name not in WITHOUT_LLVM_FILES else WITHOUT_LLVM | {module}
        if target not in allowed and m[1] not in allowed:
            faults.append(f"src/{name}:{n}: error: {module} may not include {m[1]}")
    if module != "llvm":
        faults += [f"src/{name}: error: LLVM outside llvm/" for m in re.finditer(r'#\s*include\s*<llvm', text)]
    return faults


def check_calls(path: Path, text: str) -> List[str]:
    module, name = path.relative_to(SRC).parts[0], str(path.relative_to(SRC))
    allowed = MAY_CALL.get(name, MAY_CALL.get(module, set()))
    if allowed is None:
        return []
    return [f"src/{name}:{n}: error: {m[1]} outside base/ and main/" for n, line in enumerate(without_comments(text).splitlines(), 1)
            for m in CALLS.finditer(line) if m[1] not in allowed]


def check_words(path: Path, text: str, options: Set[str]) -> List[str]:
    """Below main no message names an option of the command line, which callers of the library have not: only commands that are quoted whole do."""
    code = re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)
    return [f"src/{path.relative_to(SRC)}:{n}: error: {option} is a word of the command line" for n, line in enumerate(code.splitlines(), 1)
            for m in re.finditer(r'"((?:\\.|[^"\\\n])*)"', line) if m[1] not in options
            for option in re.findall(r"(?<![\w,-])--[a-z][\w-]*", re.sub(r"`[a-z][^`]*`", "", m[1])) if option in options]


def check_macros(path: Path, text: str) -> List[str]:
    """WBB_MAX and WBB_MIN evaluate an argument twice: none may change anything."""
    text, faults = without_comments(text), []
    for m in re.finditer(r"\bWBB_(?:MAX|MIN)\(", text):
        end, depth = m.end(), 1
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        if re.search(r"\+\+|--|[^=!<>]=[^=]", text[m.end():end]):
            faults.append(f"src/{path.relative_to(SRC)}:{text.count(chr(10), 0, m.start()) + 1}: error: {m[0][:-1]} of what changes something")
    return faults


class Symbols(NamedTuple):
    """The symbols of the objects of src/, each object under its module and file: {"emit": {"value.c": {"emit_value", ..}}}."""
    defined: Dict[str, Dict[str, Set[str]]]
    used: Dict[str, Dict[str, Set[str]]]


def source_of(object: Path) -> Path:
    module, file = object.name[len("src_"):-len(".o")].split("_", 1)
    return SRC / module / file


def symbols_of(build: Path) -> Symbols:
    objects = [str(o) for o in sorted(build.glob("*.p/src_*.c.o")) if source_of(o).is_file()]  # a renamed file leaves its old object behind
    text = subprocess.run(["nm", "-A", "-g", *objects], capture_output=True, text=True, check=True).stdout if objects else ""
    found = Symbols(defaultdict(lambda: defaultdict(set)), defaultdict(lambda: defaultdict(set)))
    for line in text.splitlines():
        object, _, words = line.partition(":")
        module, file = source_of(Path(object)).relative_to(SRC).parts
        kind, symbol = words.split()[-2:]
        (found.used if kind == "U" else found.defined)[module][file].add(symbol)
    return found


def check_prefixes(symbols: Symbols) -> List[str]:
    """Every symbol that an object of a module defines for others has the module's prefix."""
    return [f"src/{module}/{file}: error: {symbol} lacks the prefix {PREFIX[module]}" for module, files in symbols.defined.items()
            for file, names in files.items() for symbol in sorted(names) if not symbol.startswith((PREFIX[module], "__", "DW."))]


def circles_in(calls: Dict[str, Dict[str, str]]) -> List[List[str]]:
    """The circles of a graph {file: {called file: symbol}}: its strongly connected components of two files and more, by Tarjan's algorithm."""
    order: Dict[str, int] = {}
    lowest: Dict[str, int] = {}
    stack: List[str] = []
    found: List[List[str]] = []

    def visit(file: str) -> None:
        order[file] = lowest[file] = len(order)
        stack.append(file)
        for callee in calls.get(file, {}):
            if callee not in order:
                visit(callee)
            if callee in stack:
                lowest[file] = min(lowest[file], lowest[callee])
        if lowest[file] == order[file]:
            at = stack.index(file)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for file in sorted(calls):
        if file not in order:
            visit(file)
    return found


def shown(calls: Dict[str, Dict[str, str]], circle: List[str]) -> str:
    """A shortest way round from the first file of a circle: `a.c -> b.c (f) -> a.c (g)`."""
    ways, seen = [[circle[0]]], {circle[0]}
    while True:
        way = ways.pop(0)
        for callee in calls[way[-1]]:
            if callee == circle[0]:
                steps = zip([*way, callee], [*way[1:], callee])
                return way[0] + "".join(f" -> {b} ({calls[a][b]})" for a, b in steps)
            if callee in circle and callee not in seen:
                seen.add(callee)
                ways.append([*way, callee])


def check_circles(symbols: Symbols) -> List[str]:
    """The circles of files of a module, by calls and tables, are those that CIRCLES lists."""
    faults = []
    for module in sorted(symbols.used):
        owner = {symbol: file for file, names in symbols.defined[module].items() for symbol in names}
        calls: Dict[str, Dict[str, str]] = defaultdict(dict)
        for file, names in symbols.used[module].items():
            for symbol in sorted(names & owner.keys()):
                if owner[symbol] != file:
                    calls[file].setdefault(owner[symbol], symbol)
        found = circles_in(calls)
        if found:
            print(f"circles: {module}: " + ", ".join(f"{len(c)} files" for c in found))
        listed = [sorted(f"{name}.c" for name in names.split()) for m, names, _ in CIRCLES if m == module]
        faults += [f"src/{module}: error: these files call each other in a circle that CIRCLES does not list: {' '.join(c)}; {shown(calls, c)}"
                   for c in found if c not in listed]
        faults += [f"src/{module}: error: CIRCLES lists files that are no such circle any more: {' '.join(c)}" for c in listed if c not in found]
    return faults


def check_build() -> List[str]:
    """meson.build names every file that the tables are made from; an edit of a file that it does not name would rebuild nothing."""
    text = (ROOT / "meson.build").read_text()
    named = {f"patterns/{name}.py" for name in re.findall(r"\bsm\d+\b", re.search(r"(?m)^targets = .*", text)[0])}
    named |= set(re.findall(r"'((?:patterns|gen)/[^']+)'", text))
    needed = [*(ROOT / "patterns").iterdir(), *imported(ROOT / "gen" / "gen_tables.py", set())]
    names = sorted(str(f.relative_to(ROOT)) for f in needed if f.suffix in (".py", ".tsv", ".txt"))
    return [f"meson.build: error: {name} is missing among what the tables depend on" for name in names if name not in named]


def table_lines(text: str) -> Set[int]:
    """The lines, from 1, of initialisers of arrays and of lists of macro calls (`    X(a, b) \\`): tables of data, which may be wide."""
    code, lines = without_comments(text), set()
    for m in re.finditer(r"\]\s*=\s*\{", code):
        depth, end = 1, m.end()
        while depth and end < len(code):
            depth += {"{": 1, "}": -1}.get(code[end], 0)
            end += 1
        lines |= set(range(code.count("\n", 0, m.start()) + 1, code.count("\n", 0, end) + 2))
    return lines | {n for n, line in enumerate(code.splitlines(), 1) if re.match(r"\s+[A-Z][A-Z0-9_]*\(.*\)\s*\\$", line)}


def check_sizes(listed: bool) -> List[str]:
    """Lengths of files and of lines; `listed`: print each line of C that is too long."""
    faults, long = [], []
    folders = ("src", "include", "examples", "python", "gen", "patterns", "shaderdb", "tests")
    for path in sorted(f for d in folders for f in (ROOT / d).rglob("*") if f.suffix in MAX_LINES):
        text, name, most = path.read_text(), path.relative_to(ROOT), MAX_COLUMNS[path.suffix]
        lines = text.splitlines()
        if len(lines) > MAX_LINES[path.suffix]:
            faults.append(f"{name}: error: {len(lines)} lines, {MAX_LINES[path.suffix]} at most")
        over = {n: len(re.sub(r"\s*\\$", "", x)) for n, x in enumerate(lines, 1)}
        over = {n: columns for n, columns in over.items() if columns > most}
        tables = table_lines(text) if over and path.suffix != ".py" else set()
        texts = [f"{name}:{n}: error: {columns} columns, {most} at most" for n, columns in over.items() if n not in tables]
        if path.suffix == ".py":
            faults += texts
        else:
            long += texts
    print("\n".join([*(long if listed else []), f"columns: {len(long)} lines of C, tables of data apart, have more than {MAX_COLUMNS['.c']}"]))
    return faults + (long if LONG_LINES_OF_C_FAIL else [])


def check_tests() -> List[str]:
    """tests/README.md names the folders of suites, unit/, bench/ and fuzz/README.md their files, and the build each unit test."""
    tests = ROOT / "tests"
    units = sorted(f.stem[:-len("_test")] for f in (tests / "unit").glob("*_test.c"))
    named = {"": re.findall(r'(?m)^    "(\w+)": \[', (tests / "suites.py").read_text()), "unit": units,
             **{d: [f.name for f in (tests / d).glob("*.py")] for d in ("bench", "fuzz")}}
    faults = []
    for folder, names in named.items():
        text = (tests / folder / "README.md").read_text()
        faults += [f"tests/{folder}/README.md: error: {name} is missing" for name in sorted(names) if f"`{name}" not in text]
    programs = [f for f in tests.glob("*/*.py") if "__main__" in f.read_text() and not re.match(r'(#!.*\n)?r?"""', f.read_text())]
    faults += [f"{f.relative_to(ROOT)}:1: error: no docstring says what it does" for f in programs]
    meson = (tests / "meson.build").read_text()
    return faults + [f"tests/meson.build: error: unit/{name}_test.c is not built" for name in units if f"'{name}'" not in meson]


def check_imports() -> List[str]:
    """No imports in a circle in gen/, and none from a folder of GEN_FOLDERS to a later one."""
    folder = {f: n for n, name in enumerate(GEN_FOLDERS) for f in (ROOT / name).glob("*.py")}
    imports = {f: imports_of(f, indented=False) for f in folder}
    faults = [f"{f.relative_to(ROOT)}: error: {GEN_FOLDERS[folder[f]]}/ may not import {g.relative_to(ROOT)}"
              for f in sorted(folder) for g in sorted(imports_of(f)) if folder[g] > folder[f]]
    while True:
        ends = {f for f, named in imports.items() if not named & imports.keys()}
        if not ends:
            return faults + [f"{f.relative_to(ROOT)}: error: is in a circle of imports, or imports one" for f in sorted(imports)]
        imports = {f: named for f, named in imports.items() if f not in ends}


def functions_of(text: str) -> Dict[str, str]:
    """The functions that a file defines, and their bodies: a line without indentation that ends in `)` or in a body, then lines up to `}`."""
    text = without_comments(text)
    return {m[1]: m[2] for m in re.finditer(r"(?m)^(?!#)\w[^;={}\n]*?\b(\w+)\([^;{}]*\)\s*(\{.*\}$|\{\n(?:.*\n)*?\}$)", text)}


def check_entries() -> List[str]:
    """Each function of warpburg.h computes inside wbb_guard, which sets the floating-point environment and restores the host's: either a call of it comes to
    wbb_guard, or it holds no arithmetic of floats, nor does what it calls."""
    bodies = {path: functions_of(path.read_text()) for path in SRC.rglob("*.c")}
    shared = {name: path for path, functions in bodies.items() for name in functions if name.startswith(tuple(PREFIX.values()))}
    faults = []
    for name in re.findall(r"(?m)^WB_API [\w\s*]+?\b(wb_\w+)\(", (ROOT / "include" / "warpburg.h").read_text()):
        if name not in shared:
            faults.append(f"include/warpburg.h: error: {name} is not defined in src/api")
            continue
        guarded, floats, todo, seen = False, False, [(shared[name], name)], set()
        while todo and not guarded:
            path, at = todo.pop()
            if (path, at) in seen:
                continue
            seen.add((path, at))
            body = bodies[path][at]
            guarded = "wbb_guard(" in body
            floats |= bool(re.search(r"\b(?:double|float)\b|[^\w.]\d+\.\d|\bldexp\b", body))
            for called in re.findall(r"\b(\w+)\b", body):
                if called in bodies[path] or called in shared:
                    todo.append((path if called in bodies[path] else shared[called], called))
        if floats and not guarded:
            faults.append(f"{shared[name].relative_to(ROOT)}: error: {name} computes with floats outside wbb_guard, in the environment of its caller")
    return faults


def check_architecture() -> List[str]:
    """docs/architecture.md names every module, and each entry point stands in the file that it names."""
    page = ROOT / "docs" / "architecture.md"
    text = page.read_text()
    faults = [f"docs/architecture.md: error: module {d.name} is missing" for d in sorted(SRC.iterdir()) if d.is_dir() and f"`{d.name}`" not in text]
    for m in re.finditer(r"`(\w+)`, (src/[\w/]+\.c)", text):
        file = ROOT / m[2]
        if not file.is_file() or not re.search(rf"\b{m[1]}\b", file.read_text()):
            faults.append(f"docs/architecture.md: error: {m[2]} has no {m[1]}")
    return faults


def main(argv: List[str]) -> int:
    words = [w for w in argv[1:] if w != "--columns"]
    faults: List[str] = check_architecture() + check_build() + check_sizes("--columns" in argv) + check_imports() + check_tests() + check_entries()
    files = sorted([*SRC.rglob("*.c"), *SRC.rglob("*.h")])
    options = set(re.findall(r'"(--[a-z][\w-]*)"', "".join(f.read_text() for f in (SRC / "main").glob("*.c"))))
    for path in files:
        text = path.read_text()
        faults += check_words(path, text, options) if path.parent.name != "main" else []
        faults += check_includes(path, text) + check_calls(path, text) + check_macros(path, text)
    if words:
        symbols = symbols_of(Path(words[0]))
        faults += check_prefixes(symbols) + check_circles(symbols) if symbols.defined else [f"{words[0]}: error: holds no objects of src/"]
    else:
        print("skipped: prefixes of symbols and circles (no build folder given)")
    print("\n".join([*faults, f"layers: {len(files)} files, {len(faults)} faults"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
