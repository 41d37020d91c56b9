#!/usr/bin/env python3
"""Time of simplifying index maps: the maps of the corpus, random ones, and sums of many terms.

    index_map_time.py BUILD [--shared DIR] [--random N]

Builds and runs BUILD/tests/index_map_time. Bounds: median 20 microseconds, 99th percentile 500, a sum of 1,000 terms 5 ms; exit 1 beyond.
"""
from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "common"))
from index_map_text import random_map  # noqa: E402

COLUMNS = {"simplify": 1, "transform": 2, "compose": 1, "canonicalize": 2, "roundtrip": 1, "analysis": 6}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    parser.add_argument("--random", type=int, default=5000)
    args = parser.parse_args()
    subprocess.run(["ninja", "--quiet", "-C", args.build, "tests/index_map_time"], check=True)
    folder = args.shared / "corpus" / "index-maps"
    texts = []
    for table, column in COLUMNS.items():
        if folder.is_dir():
            rows = (folder / f"{table}.tsv").read_text(encoding="utf-8").splitlines()[1:]
            texts += [row.split("\t")[column] for row in rows if row.split("\t")[column]]
    if not texts:
        print(f"skipped: the maps of the corpus: {folder} is not there")
    dice = random.Random(1)
    with tempfile.TemporaryDirectory() as made:
        files = []
        for name, lines in (("corpus", texts), ("random", [random_map(dice) for _ in range(args.random)])):
            if lines:
                files.append(Path(made, name))
                files[-1].write_text("\n".join(lines) + "\n", encoding="utf-8")
        return subprocess.run([str(Path(args.build, "tests", "index_map_time").resolve()), *map(str, files)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
