#!/usr/bin/env python3
"""Definitions of the graph of a fusion (src/graph) have the values that the evaluator gives its instructions, and are the emitter's terms.

    graph_values.py BUILD [--shared DIR] [--every N] [-j N]

At three random indices of each term and fold of each N-th fusion of DIR/corpus, BUILD/tests/graph_values asks the evaluator for the elements that
the definition reads, and compares what it makes of them with the evaluator's element: bit for bit, of sums of floats inside its bounds. Of its
kernels BUILD/tests/graph_terms compares each stored value that is one term with what comes of the graph at the store's index: the same node.
Ends with `N passed, M failed`, in files.
"""
from __future__ import annotations

import argparse
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Set, Tuple

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("emitter-tests", "fusions", "blocks")
COMPARED = re.compile(r"(\d+) compared, (\d+) differ")


def check(program: Path, file: Path) -> Tuple[int, str]:
    """Elements that were compared, and what is wrong."""
    try:
        p = subprocess.run([str(program), str(file)], capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return 0, ""  # the evaluator takes long
    found = COMPARED.search(p.stdout)
    bad = p.returncode != 0 or (found is not None and found.group(2) != "0")
    return int(found.group(1)) if found else 0, (p.stdout + p.stderr)[:1000] or f"exit {p.returncode}" if bad else ""


def main() -> int:
    p = argparse.ArgumentParser(description="definitions of graphs against the evaluator")
    p.add_argument("build", type=Path)
    p.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    p.add_argument("--every", type=int, default=1)
    p.add_argument("-j", type=int, default=2, dest="jobs")
    o = p.parse_args()
    corpus = o.shared / "corpus"
    files = [f for part in PARTS for f in sorted((corpus / part).rglob("*.hlo"))][:: o.every]
    files += sorted((ROOT / "shaderdb" / "corpus").glob("*.hlo"))
    failed: Set[Path] = set()
    for program, what in (("graph_values", "elements"), ("graph_terms", "stores")):
        with ThreadPoolExecutor(o.jobs) as pool:
            results = list(pool.map(lambda f: check(o.build / "tests" / program, f), files))
        for f, (_, text) in zip(files, results):
            if text:
                failed.add(f)
                print(f"failed: {f.name}: {text}")
        print(f"{sum(n for n, _ in results)} {what} compared, {sum(n > 0 for n, _ in results)} files with any")
    print(f"{len(files) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
