#!/usr/bin/env python3
"""HLO text prints back: parse(print(m)) is m, for every module of a corpus.

    hlo_round_trip.py WARPBURG [--shared DIR] [--all] [-j N]

Each .hlo of shaderdb/corpus and of every folder of DIR/corpus, the models included (every tenth, with --all every one), goes
through `warpburg hlo` twice:

1. The second text must be the first.
2. The first text must have the same operations as the original, by name and opcode. A regular expression reads them from the original,
   independently of warpburg's parser.

Prints each failure and ends with `N passed, M failed`; exit 1 if M is not 0.
"""
from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import List, Tuple

ROOT = Path(__file__).resolve().parents[2]
COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.S)
# name = shape opcode(   where the shape has no '=' and the opcode is directly followed by its parenthesis
INSTRUCTION = re.compile(r"(?:^|[\s{}])%?([A-Za-z_0-9][\w.-]*)\s*=\s*(?:[a-z][a-z0-9]*\[[^=]*?|\([^=]*?\)\s*)?\b([a-z][a-z0-9-]*)\(")


def operations(text: str) -> Counter:
    """(name, opcode) of each instruction."""
    bare = COMMENT.sub(lambda m: '""' if m.group(0)[0] == '"' else " ", text)
    return Counter(INSTRUCTION.findall(bare))


def printed(warpburg: str, path: str) -> Tuple[str, str]:
    """(printed text, error message)."""
    p = subprocess.run([warpburg, "hlo", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=120)
    return p.stdout, "" if p.returncode == 0 else p.stderr.strip() or f"exit {p.returncode}"


def judge(warpburg: str, file: Path) -> str:
    """Why the file fails; empty if it passes."""
    once, why = printed(warpburg, str(file))
    if why:
        return why
    with tempfile.NamedTemporaryFile("w", suffix=".hlo", encoding="utf-8") as f:
        f.write(once)
        f.flush()
        twice, why = printed(warpburg, f.name)
    if why:
        return f"the printed text is refused: {why}"
    if once != twice:
        line = next(k for k, (a, b) in enumerate(zip(once.split("\n"), twice.split("\n") + [""])) if a != b)
        return f"line {line + 1} differs when the printed text is printed again"
    before, after = operations(file.read_text(encoding="utf-8")), operations(once)
    lost, made = before - after, after - before
    if lost or made:
        return f"{sum(lost.values())} instructions are missing ({list(lost)[:3]}), {sum(made.values())} are new ({list(made)[:3]})"
    return ""


def main() -> int:
    p = argparse.ArgumentParser(description="HLO text through the parser and the printer, twice")
    p.add_argument("warpburg")
    p.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    p.add_argument("--all", action="store_true", help="every file, not every tenth")
    p.add_argument("-j", type=int, default=2, dest="jobs")
    o = p.parse_args()
    files: List[Path] = sorted((ROOT / "shaderdb" / "corpus").glob("*.hlo"))
    if (o.shared / "corpus").is_dir():
        files += sorted((o.shared / "corpus").rglob("*.hlo"))
    else:
        print(f"skipped: the corpora of real programs: {o.shared / 'corpus'} is not there")
    files = files[:: 1 if o.all else 10]
    with ThreadPoolExecutor(o.jobs) as pool:
        judged = list(pool.map(lambda f: judge(o.warpburg, f), files))
    for file, why in zip(files, judged):
        if why:
            print(f"failed: {file.name}: {why}")
    failed = sum(bool(why) for why in judged)
    print(f"{len(files) - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
