#!/usr/bin/env python3
"""Runs the fuzzer of HLO text (hlo_fuzz.c) on seeds from the tests.

    hlo_fuzz.py FUZZER [SECONDS] [FOLDER]

FUZZER: hlo_fuzz of a build with `CC=clang meson setup build-fuzz -Dfuzz=true`. Seeds are the .hlo files of tests/lit and shaderdb/corpus,
without their directives; each module of a file with several is a seed of its own, too. The dictionary is hlo.dict. The fuzzer keeps its corpus in
FOLDER (by default a temporary one). It runs for SECONDS (600) on one core; exit 1 if it found a failure, whose input it writes and names.
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
