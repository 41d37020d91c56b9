#!/usr/bin/env python3
"""The check of plans is itself checked: src/base/order.c, which all plans pass, and what states the facts of a cut fail their unit tests with one thing wrong.

    legality_mutants.py BUILD [--every N] [--verbose]

A mutant has one condition turned round, one number off by one, one kind of touch exchanged, or one statement left out. It is compiled as the file is, linked
in its place to the file's unit test, and that must fail, crash or not end. EQUAL lists those that are as right as the file, with the reason. Ends with
`N passed, M failed`.
"""
import argparse
import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Iterator, List, NamedTuple, Optional, Tuple

TESTS = {"src/base/order.c": "base_order", "src/fuse/legal.c": "fuse_legal"}
SWAPS = [(r" == ", " != "), (r" != ", " == "), (r" && ", " || "), (r" \|\| ", " && "), (r" < ", " <= "), (r" \+ 1\b", ""), (r" - 1\b", ""), (r"!(?=\w)", ""),
         (r"\btrue\b", "false"), (r"\bWBB_READS\b", "WBB_KEEPS"), (r"\bWBB_MAKES\b", "WBB_READS"), (r"\bWBB_KEEPS\b", "WBB_READS"),
         (r"\|= ", "&= ")]
STATEMENT = re.compile(r" {4,}(?!const\b|return\b|static\b|uint32_t\b|Wbb\w+ |enum\b)[^{}]*;(\s*/\*.*\*/)?$")
SECONDS = 30


class Mutant(NamedTuple):
    source: str
    line: int
    text: str    # of the line as it is
    change: str
    whole: str   # of the file


EQUAL = [  # source, pattern of the line, pattern of the change, reason
    ("", r"WBB_NEW_N|wbb_alloc", r"\+ 1", "a spare element, so that no array is empty"),
    ("", r"^wbb_arena_free", "left out", "the context frees it, too"),
    ("src/base/order.c", r"^if \(c->live\[value\]\) return;", "left out", "a value that is there twice goes twice"),
    ("src/base/order.c", r"\.n = kept;", "left out", "what is gone was neither fixed nor to be read, or that was a fault"),
    ("src/base/order.c", r"j != k && \(j < k", "'<' -> '<='", "j is not k"),
]  # type: List[Tuple[str, str, str, str]]


def code_lines(text: str) -> Iterator[Tuple[int, str]]:
    """Lines without those of comments and before the first function."""
    within = begun = False
    for n, line in enumerate(text.splitlines()):
        within = within or line.lstrip().startswith("/*")
        begun = begun or line == "{"
        if begun and not within and line.strip() and not line.startswith("static"):
            yield n, line
        within = within and "*/" not in line


def mutants(source: str, text: str) -> Iterator[Mutant]:
    lines = text.splitlines()
    for n, line in code_lines(text):
        code = re.sub(r'"[^"]*"', lambda m: "\0" * len(m[0]), line)  # what messages say is no condition
        for pattern, to in SWAPS:
            for m in re.finditer(pattern, code):
                changed = line[:m.start()] + to + line[m.end():]
                yield Mutant(source, n + 1, line.strip(), f"'{m[0].strip()}' -> '{to.strip()}'", "\n".join([*lines[:n], changed, *lines[n + 1:]]) + "\n")
        if STATEMENT.match(line):
            yield Mutant(source, n + 1, line.strip(), "left out", "\n".join([*lines[:n], ";", *lines[n + 1:]]) + "\n")


def commands(build: Path, source: str, root: Path) -> Tuple[List[str], List[str]]:
    """How the file is compiled, and its test linked: words, with the file or the result last."""
    of = [c for c in json.loads((build / "compile_commands.json").read_text()) if (build / c["file"]).resolve() == root / source]
    compile_it = shlex.split(of[0]["command"])
    for option in ("-o", "-c", "-MF", "-MQ"):
        at = compile_it.index(option)
        del compile_it[at:at + 2]
    said = subprocess.run(["ninja", "-C", str(build), "-t", "commands", f"tests/{TESTS[source]}_test"], capture_output=True, text=True, check=True).stdout
    link = shlex.split(said.splitlines()[-1])
    at = link.index("-o")
    del link[at:at + 2]
    return [w for w in compile_it if w not in ("-MD", "-MMD", "-Werror")] + ["-w"], link


def survives(m: Mutant, build: Path, root: Path, folder: Path) -> Optional[bool]:
    """Does the test still pass? None: the mutant is no C."""
    compile_it, link = commands(build, m.source, root)
    file, made, program = folder / "mutant.c", folder / "mutant.o", folder / "test"
    file.write_text(m.whole)
    include = ["-I", str((root / m.source).parent)]
    if subprocess.run([*compile_it, *include, "-c", str(file), "-o", str(made)], cwd=build, capture_output=True).returncode:
        return None
    subprocess.run([*link[:1], str(made), *link[1:], "-o", str(program)], cwd=build, check=True, capture_output=True)
    try:
        return subprocess.run([str(program)], cwd=folder, capture_output=True, timeout=SECONDS).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def reason(m: Mutant) -> str:
    return next((why for source, line, change, why in EQUAL if source in m.source and re.search(line, m.text) and re.search(change, m.change)), "")


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("build", type=Path)
    p.add_argument("--every", type=int, default=1)
    p.add_argument("--verbose", action="store_true")
    o = p.parse_args()
    root, build = Path(__file__).resolve().parents[2], o.build.resolve()
    passed = failed = equal = 0
    with tempfile.TemporaryDirectory() as folder:
        for source in TESTS:
            text = (root / source).read_text()
            as_it_is = Mutant(source, 0, "", "as it is", text)
            if not survives(as_it_is, build, root, Path(folder)):
                print(f"{source}: its test fails without a change")
                failed += 1
                continue
            for m in list(mutants(source, text))[::o.every]:
                lives = survives(m, build, root, Path(folder))
                if lives is None:
                    continue
                why = reason(m)
                wrong = lives if not why else not lives
                passed, failed, equal = passed + (not wrong), failed + wrong, equal + bool(why)
                if wrong or o.verbose:
                    said = ("as right: " + why if lives else "listed as equal, and found") if why else "not found" if lives else "found"
                    print(f"{m.source}:{m.line}: {m.change}: {said}: {m.text}")
    print(f"{equal} mutants are as right as the file")
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
