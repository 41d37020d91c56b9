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
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import List

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from index_text import random_map  # noqa: E402

LONGEST = 1 << 10


def seeds() -> List[str]:
    texts = []
    for file in sorted((ROOT / "tests" / "lit" / "map").glob("*.test")):
        texts += re.findall(r"'(\([^']*->[^']*)'", file.read_text(encoding="utf-8"))
    dice = random.Random(1)
    texts += [random_map(dice) for _ in range(500)]
    return [t for t in texts if len(t) <= LONGEST]


def main(argv: List[str]) -> int:
    seconds = argv[2] if len(argv) > 2 else "600"
    with tempfile.TemporaryDirectory() as made:
        kept = Path(argv[3]) if len(argv) > 3 else Path(made, "kept")
        given = Path(made, "seeds")
        kept.mkdir(parents=True, exist_ok=True)
        given.mkdir()
        texts = seeds()
        for k, text in enumerate(texts):
            (given / f"{k}.map").write_text(text, encoding="utf-8")
        print(f"{len(texts)} seeds, {seconds} s", flush=True)
        return subprocess.run([argv[1], f"-dict={ROOT / 'tests' / 'fuzz' / 'map.dict'}", f"-max_total_time={seconds}", "-timeout=20",
                               "-rss_limit_mb=3000", f"-max_len={LONGEST}", str(kept), str(given)], check=False).returncode and 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
