#!/usr/bin/env python3
"""Runs the fuzzer of program.json (program_fuzz.c) on programs of small modules.

    program_fuzz.py FUZZER WARPBURG [SECONDS] [FOLDER]

FUZZER: program_fuzz of a build with `CC=clang meson setup build-fuzz -Dfuzz=true`. Seeds are the programs that WARPBURG makes of tests/lit/program
and tests/lit/fuse; the dictionary is program.dict. The fuzzer keeps its corpus in FOLDER (by default a temporary one). It runs for SECONDS (600) on
one core; exit 1 if it found a failure, whose input it writes and names.
"""
from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import List

from libfuzzer import fuzz

LIT = Path(__file__).resolve().parents[1] / "lit"


def seeds(warpburg: str) -> List[str]:
    found = []
    for file in sorted(LIT.glob("program/*.hlo")) + sorted(LIT.glob("fuse/*.hlo")):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([warpburg, "fuse", file, "-o", folder], check=True, capture_output=True)
            found.append(Path(folder, "program.json").read_text())
    return found


if __name__ == "__main__":
    sys.exit(fuzz(sys.argv[:2] + sys.argv[3:], "program", seeds(sys.argv[2]), 1 << 14))
