#!/usr/bin/env python3
"""Simplified, transformed and composed index maps keep their values at every point: tables of the corpus, and random maps.

    index_map_algebra.py WARPBURG [--shared DIR] [--random N] [--seed N]

For every row of simplify, canonicalize, transform, compose and roundtrip.tsv our map must have the same domain as the expected one and the same
values at every point (at SAMPLES of them where there are more), and no more operations. Rows in which ours has fewer are listed.

N random maps, up to six operations deep, with constraints and coefficients of both signs up to 2**40, must keep the values of their text when
they are simplified, and stay as they are when they are simplified again. index_map_text.py evaluates both, in exact integers.

Prints each failure, and ends with `N passed, M failed`; exit 1 if M is not 0.
"""
from __future__ import annotations

import argparse
import itertools
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, List, Optional, Sequence, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
from index_map_text import Map, cost, parse, random_map  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = 3000
TABLES = ("simplify", "canonicalize", "transform", "compose", "roundtrip")


def points(m: Map, most: int, dice: random.Random) -> List[Tuple[int, ...]]:
    """All points of the intervals, or `most` random ones with half of the coordinates near an end. An unbounded variable gets -60 to 60."""
    ranges = [(-60, 60) if lo == -2**63 else (lo, hi) for _, lo, hi in m.variables]
    size = 1
    for lo, hi in ranges:
        size *= max(hi - lo + 1, 0)
    if size <= most:
        return list(itertools.product(*(range(lo, hi + 1) for lo, hi in ranges)))

    def value(lo: int, hi: int) -> int:
        kind = dice.randrange(4)
        near = dice.randrange(min(4, hi - lo + 1))
        return lo + near if kind == 0 else hi - near if kind == 1 else dice.randint(lo, hi)

    return [tuple(value(lo, hi) for lo, hi in ranges) for _ in range(most)]


def differ(x: Map, y: Map, most: int, dice: random.Random) -> str:
    """How two maps over the same variables differ, in words; empty if they do not."""
    for name, a, b in (("first", x, y), ("second", y, x)):
        if a.state == "UNDEFINED" or b.state == "UNDEFINED":
            return "" if a.state == b.state else "only one is undefined"
        if a.state == "KNOWN EMPTY":
            continue
        if b.state != "KNOWN EMPTY" and len(a.variables) != len(b.variables):
            return "they have different numbers of variables"
        for p in points(a, most, dice):
            u, v = a.at(p), b.at(p)
            if u != v:
                return f"at {p} {name} gives {u}, the other {v}"
    return ""


class Judge:
    def __init__(self, program: str, shared: Path, seed: int) -> None:
        self.program, self.shared, self.seed = program, shared, seed
        self.passed = self.failed = 0
        self.shorter: List[str] = []
        self.longer: List[str] = []

    def warpburg(self, *words: str) -> str:
        p = subprocess.run([self.program, "map", *words], capture_output=True, text=True, timeout=60)
        return p.stdout.strip() if p.returncode == 0 else f"exit {p.returncode}: {p.stderr.strip()}"

    def report(self, name: str, why: str) -> None:
        self.passed += not why
        self.failed += bool(why)
        if why:
            print(f"failed: {name}: {why}", flush=True)

    def compare(self, name: str, ours: str, expected: str, written: Optional[str] = None) -> None:
        """Our map must equal `expected`, and `written` where given, and have no more operations."""
        dice = random.Random(self.seed)
        try:
            x, y = parse(ours), parse(expected)
        except ValueError as e:
            self.report(name, f"{ours}: {e}")
            return
        why = differ(x, y, SAMPLES, dice)
        if not why and written:
            why = differ(parse(written), x, SAMPLES, dice)
        if why:
            self.report(name, f"{why}\n    ours     {ours}\n    expected {expected}")
            return
        a, b = cost(x), cost(y)
        line = f"{name}: {a} operations for {b}\n    ours     {ours}\n    expected {expected}"
        if a < b:
            self.shorter.append(line)
        if a > b:
            self.longer.append(line)
        self.report(name, "longer than expected" if a > b else "")

    # --- the tables ---------------------------------------------------------------------------------------------------------------
    def simplify(self, row: Sequence[str]) -> None:
        name, text, expected, flags = row
        words = ["--op", "keep-points"] if "preserve-point-dimensions" in flags else []
        ours = self.warpburg(text, *words)
        again = self.warpburg(ours, *words)
        if ours != again:
            self.report(name, f"simplified twice\n    once  {ours}\n    twice {again}")
            return
        self.compare(name, ours, "KNOWN EMPTY" if "known-empty" in flags else expected or text, text)

    def canonicalize(self, row: Sequence[str]) -> None:
        name, _, text, expected, _ = row
        self.compare(name, self.warpburg(text), expected, text)

    def transform(self, row: Sequence[str]) -> None:
        name, op, text, expected, _ = row
        self.compare(name, self.warpburg(text, "--op", op), expected or text)

    def compose(self, row: Sequence[str]) -> None:
        name, first, second, expected = row
        self.compare(name, self.warpburg(first, "--compose", second), expected)

    def roundtrip(self, row: Sequence[str]) -> None:
        name, text, prints = row
        ours = self.warpburg(text, "--op", "read")
        self.report(name, "" if ours == (prints or text) else f"reads and prints\n    {ours}")

    def tables(self) -> None:
        folder = self.shared / "corpus" / "index-maps"
        if not folder.is_dir():
            print(f"skipped: the tables of index maps: {folder} is not there")
            return
        for table in TABLES:
            judge: Callable[[Sequence[str]], None] = getattr(self, table)
            for line in (folder / f"{table}.tsv").read_text(encoding="utf-8").splitlines()[1:]:
                judge(line.split("\t"))
        for title, lines in (("shorter than expected", self.shorter), ("longer than expected", self.longer)):
            print(f"{len(lines)} rows are {title}")
            for line in lines:
                print(f"  {line}")

    # --- random maps ---------------------------------------------------------------------------------------------------------------
    def batch(self, texts: Sequence[str], folder: str) -> List[str]:
        file = Path(folder, "maps")
        file.write_text("\n".join(texts) + "\n", encoding="utf-8")
        p = subprocess.run([self.program, "map", "--files-from", str(file)], capture_output=True, text=True, timeout=900)
        lines = p.stdout.splitlines()
        if len(lines) != len(texts):
            raise RuntimeError(f"{len(lines)} answers for {len(texts)} maps, exit {p.returncode}: {p.stderr[:500]}")
        return lines

    def random(self, n: int) -> None:
        dice = random.Random(self.seed)
        refused = shorter = 0
        for start in range(0, n, 5000):
            texts = [random_map(dice) for _ in range(min(5000, n - start))]
            with tempfile.TemporaryDirectory() as folder:
                once = self.batch(texts, folder)
                kept = [k for k, line in enumerate(once) if "error: " not in line]
                twice = dict(zip(kept, self.batch([once[k] for k in kept], folder)))
            for k, (text, ours) in enumerate(zip(texts, once)):
                if "error: " in ours:
                    allowed = "64 bits" in ours
                    refused += allowed
                    if not allowed:
                        self.report("random map", f"{ours}\n    {text}")
                    continue
                x, y = parse(text), parse(ours)
                why = differ(x, y, 40, dice)
                if not why and twice[k] != ours:
                    why = f"simplified twice it is\n    {twice[k]}"
                shorter += y.state != "KNOWN EMPTY" and cost(y) < cost(x)
                self.report("random map", f"{why}\n    {text}\n    {ours}" if why else "")
        print(f"{n} random maps: {shorter} became shorter, {refused} refused because they leave 64 bits")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    parser.add_argument("--random", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    args: Any = parser.parse_args()
    judge = Judge(args.program, args.shared, args.seed)
    judge.tables()
    judge.random(args.random)
    print(f"{judge.passed} passed, {judge.failed} failed")
    return int(judge.failed > 0)


if __name__ == "__main__":
    sys.exit(main())
