#!/usr/bin/env python3
"""Runs the fuzzer of index maps (map_fuzz.c) on random maps and seeds from the tests.

    map_fuzz.py FUZZER [SECONDS] [FOLDER]

FUZZER: map_fuzz of a build with `CC=clang meson setup build-fuzz -Dfuzz=true`. Seeds are the maps of tests/lit/map and random ones; the dictionary is
map.dict. The fuzzer keeps its corpus in FOLDER (by default a temporary one). It runs for SECONDS (600) on one core; exit 1 if it found a
failure, whose input it writes and names.
"""
from __future__ import annotations

import random
import re
import sys
from pathlib import Path
from typing import List

from libfuzzer import fuzz

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "common"))
from index_map_text import random_map  # noqa: E402

LONGEST = 1 << 10


def seeds() -> List[str]:
    texts = []
    for file in sorted((ROOT / "tests" / "lit" / "map").glob("*.test")):
        texts += re.findall(r"'(\([^']*->[^']*)'", file.read_text(encoding="utf-8"))
    dice = random.Random(1)
    texts += [random_map(dice) for _ in range(500)]
    return [t for t in texts if len(t) <= LONGEST]


if __name__ == "__main__":
    sys.exit(fuzz(sys.argv, "map", seeds(), LONGEST))
