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
import sys
from pathlib import Path
from typing import List

from libfuzzer import fuzz

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


if __name__ == "__main__":
    sys.exit(fuzz(sys.argv, "hlo", seeds(), LONGEST))
