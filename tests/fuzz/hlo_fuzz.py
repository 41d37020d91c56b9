#!/usr/bin/env python3
"""The fuzzer of HLO text over seeds made of our own tests.

    hlo_fuzz.py FUZZER [SECONDS] [FOLDER]

FUZZER: hlo_fuzz of a build with `CC=clang meson setup build-fuzz -Dfuzz=true`. Seeds are every .hlo of tests/lit and shaderdb/corpus
without its directives, each module of a file with several also by itself; words come from hlo.dict. What the fuzzer keeps goes to
FOLDER (a new one by default, removed at the end). Runs for SECONDS (600) on one core; exit 1 if anything was found: the fuzzer names
the file that it wrote.
"""
from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import List

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 1 << 14


def seeds() -> List[str]:
    texts = []
    for folder in (ROOT / "tests" / "lit", ROOT / "shaderdb" / "corpus"):
        for file in sorted(folder.rglob("*.hlo")):
            text = file.read_text(encoding="utf-8")
            text = re.sub(r"^\s*// (RUN|CHECK|not)[^\n]*\n", "", text, flags=re.M)
            texts += [text] + [part for part in text.split("// -----") if part != text]
    return [t for t in texts if len(t) <= LONGEST]


def main(argv: List[str]) -> int:
    seconds = argv[2] if len(argv) > 2 else "600"
    with tempfile.TemporaryDirectory() as made:
        kept = Path(argv[3]) if len(argv) > 3 else Path(made, "kept")
        given = Path(made, "seeds")
        kept.mkdir(parents=True, exist_ok=True)
        given.mkdir()
        for k, text in enumerate(seeds()):
            (given / f"{k}.hlo").write_text(text, encoding="utf-8")
        print(f"{k + 1} seeds, {seconds} s", flush=True)
        return subprocess.run([argv[1], f"-dict={ROOT / 'tests' / 'fuzz' / 'hlo.dict'}", f"-max_total_time={seconds}", "-timeout=20",
                               "-rss_limit_mb=3000", f"-max_len={LONGEST}", str(kept), str(given)], check=False).returncode and 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
