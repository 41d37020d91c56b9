#!/usr/bin/env python3
"""The fuzzer of index maps over seeds made of random maps and our own tests.

    map_fuzz.py FUZZER [SECONDS] [FOLDER]

FUZZER: map_fuzz of a build with `CC=clang meson setup build-fuzz -Dfuzz=true`. Seeds are the maps of tests/lit/map and random ones;
words come from map.dict. What the fuzzer keeps goes to FOLDER (a new one by default, removed at the end). Runs for SECONDS (600) on
one core; exit 1 if anything was found: the fuzzer names the file that it wrote.
"""
from __future__ import annotations

import random
import re
import sys
from pathlib import Path
from typing import List

from libfuzzer import fuzz

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
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
