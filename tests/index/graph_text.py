#!/usr/bin/env python3
"""The text of a graph is read back: `warpburg graph` prints what `compile --emit graph` printed, byte for byte; bad text has its place in a message.

usage: graph_text.py WARPBURG [--shared DIR] [--every N] [--damages N] [--seed S]

Files of DIR/corpus, each N-th, and of shaderdb/corpus are printed and read. Texts with a fault (BAD) are refused, each with the message that it names. Of
damaged texts, characters and words replaced, left out and doubled, each is refused at a line and column, or printed, and that text is then printed
alike. RULES are graphs and what the rules of patterns/arrays.py make of them. Ends with `N passed, M failed`.
"""
from __future__ import annotations

import argparse
import random
import re
import subprocess
import tempfile
from pathlib import Path
from typing import List, Tuple

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("emitter-tests", "fusions", "blocks", "models")
REFUSED = re.compile(r"^\S+\.graph:\d+:\d+: error: .+")

X = "x: f32[4,6] is parameter 0\n"
BAD: List[Tuple[str, str]] = [
    ("", "1:1: error: no definition"),
    ("x\n", "1:2: error: expected ':', found the end"),
    (X + "x: f32[4] is parameter 1\n", "2:1: error: 'x' is defined above"),
    (X + "y[d0 < 4]: f32 := z[d0]\n", "2:19: error: nothing above is called 'z'"),
    (X + "y[d0 < 4]: f32 := y[d0]\n", "2:19: error: nothing above is called 'y'"),
    (X + "y[d0 < 4]: f32 := x[d0]\n", "2:23: error: 'x' has 2 dimensions, 1 are given"),
    (X + "y[d0 < 4]: f32 := x[d0, 0, 0]\n", "2:26: error: 'x' has 2 dimensions, more are given"),
    (X + "y[d0 < 4]: f32 := x[d0, d1]\n", "2:25: error: nothing is called 'd1' here"),
    (X + "y[d0 < 4, d0 < 6]: f32 := x[d0, d0]\n", "2:11: error: 'd0' has a meaning here already"),
    (X + "y[d0 < 0]: f32 := 0.0\n", "2:8: error: how many values a variable has must be between 1 and"),
    (X + "y[1]: f32 := 0.0\n", "2:3: error: the index of a dimension of one element must be between 0 and 0"),
    (X + "y[d0 < 4]: f16 := x[d0, 0]\n", "2:19: error: expected a value of type f16, found one of type f32"),
    (X + "y[d0 < 4]: index := d0\n", "2:12: error: no array has elements of type index"),
    (X + "y[d0 < 4]: f32 := x[d0, 0] x[d0, 1]\n", "2:28: error: expected the end of the definition, found 'x'"),
    (X + "y[d0 < 4]: f32 := max.f32[k0 < 6] x[d0, k0]\n", "2:44: error: expected 'from', found the end"),
    (X + "y[d0 < 4]: f32 := max.f32[k0 < 6] x[d0, k0] where 1.0 from 0.0\n", "2:51: error: expected true or false, found '1.0'"),
    (X + "y[d0 < 4]: f32 := bxor.f32[k0 < 6] x[d0, k0] from 0.0\n", "2:24: error: no fold bxor of f32"),
    (X + "y[d0 < 4]: f32 := x[s0, 0] let s0 = x[d0, 0] in 0..4\n", "2:32: error: 's0' stands for no integer of an array"),
    (X + "y[d0 < 4]: f32 := x[s0, 0] let s0 = 1:i32 in 4..4\n", "2:46: error:"),
    (X + "y[d0 < 9223372036854775807, d1 < 3]: f32 := 0.0\n", "error: more elements than 63 bits of bytes hold"),
    (X + "t: (f32[4,6]) is tuple of x\ny[0]: f32 := t[0]\n", "3:14: error: 't' is a tuple: it has no elements"),
    (X + "t: (f32[4,6]) is tuple of z\n", "2:27: error: nothing above is called 'z'"),
    (X + "y: f33[4] is sort of x\n", "2:4: error:"),
    (X + "y[d0 < 4]: f32 := " + "neg.f32(" * 300 + "x[d0, 0]" + ")" * 300 + "\n", "error: nested deeper than 200"),
]
RULES: List[Tuple[str, str]] = [
    (X + "m[d0 < 4]: f32 := max.f32[k0 < 6] x[d0, k0] from -inf:f32\nr[]: f32 := max.f32[k0 < 4] m[k0] from -inf:f32\n",
     X + "r[]: f32 := max.f32[k0 < 4, k1 < 6] x[k0, k1] from -inf:f32\n"),
    ("v: f32[4] is parameter 0\nr[d0 < 4]: f32 := max.f32[k0 < 6] v[d0] from 0.0:f32\n",
     "v: f32[4] is parameter 0\nr[d0 < 4]: f32 := max.f32(v[d0], 0.0)\n"),
    (X + "l: s32[4] is parameter 1\nr[d0 < 4]: f32 := add.f32[k0 < 6] select.f32(eq.i32(idx.i32(k0), l[d0]), x[d0, k0], 0.0) from 0.0:f32\n",
     X + "l: s32[4] is parameter 1\nr[d0 < 4]: f32 := add.f32(select.f32(band.pred(ge.i32(l[d0], 0), lt.i32(l[d0], 6)), x[d0, s0], 0.0), 0.0) "
     "let s0 = min.i32(max.i32(l[d0], 0), 5) in 0..6\n"),
    (X + "s[d0 < 4]: f32 := add.f32[k0 < 6] x[d0, k0] from 0.0:f32\nr[]: f32 := add.f32[k0 < 4] s[k0] from 0.0:f32\n", ""),  # floats round
]


TOKENS = ("[", "]", "(", ")", "0", "d0", "s0", "let", "from", "-1", "99999999999999999999", "x", ":", ",", "f32", "nan", "# ", "\x01", "é")


class Runs:
    def __init__(self, warpburg: str, folder: Path) -> None:
        self.warpburg, self.file = warpburg, folder / "a.graph"
        self.passed = self.failed = 0

    def run(self, *words: str) -> Tuple[int, str, str]:
        p = subprocess.run([self.warpburg, *words], capture_output=True, timeout=60, check=False)
        return p.returncode, p.stdout.decode("utf-8", "replace"), p.stderr.decode("utf-8", "replace")

    def graph(self, text: str, *words: str) -> Tuple[int, str, str]:
        self.file.write_bytes(text.encode("utf-8", "surrogateescape"))
        return self.run("graph", str(self.file), *words)

    def count(self, fault: str) -> None:
        self.passed, self.failed = self.passed + (not fault), self.failed + bool(fault)
        if fault:
            print(fault)


def damaged(r: random.Random, text: str) -> str:
    lines = text.splitlines(keepends=True)
    for _ in range(r.randint(1, 3)):
        k = r.randrange(len(lines))
        words = re.findall(r"[\w.]+|\s+|.", lines[k]) or [" "]
        j = r.randrange(len(words))
        how = r.randrange(6)
        if how == 0:
            del words[j]
        elif how == 1:
            words.insert(j, words[r.randrange(len(words))])
        elif how == 2:
            words[j] = r.choice(TOKENS)
        elif how == 3:
            words[j] = words[j][::-1]
        elif how == 4:
            lines[k], lines[-1] = lines[-1], lines[k]
            continue
        else:
            words = words[:j]
        lines[k] = "".join(words)
    return "".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("warpburg")
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--damages", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    files = [f for part in PARTS for f in sorted((args.shared / "corpus" / part).rglob("*.hlo"))][:: args.every]
    files += sorted((ROOT / "shaderdb" / "corpus").glob("*.hlo"))
    texts: List[str] = []
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(args.warpburg, Path(folder))
        for f in files:
            status, text, _ = runs.run("compile", str(f), "--emit", "graph")
            if status:
                continue
            _, now, said = runs.graph(text)
            runs.count("" if now == text else f"{f}: {said or 'another text'}")
            texts.append(text)
        for text, wanted in BAD:
            status, _, said = runs.graph(text)
            runs.count("" if status == 1 and wanted in said and REFUSED.match(said) else f"{text}: exit {status}: {said} instead of {wanted}")
        for text, wanted in RULES:
            status, now, said = runs.graph(text, "--rules")
            runs.count("" if status == 0 and now == (wanted or text) else f"{text}: {now}{said} instead of {wanted}")
        r = random.Random(args.seed)
        small = [t for t in texts if len(t) < 4000] or [X]
        for _ in range(args.damages):
            text = damaged(r, r.choice(small))
            status, now, said = runs.graph(text)
            fine = runs.graph(now)[1] == now if status == 0 else status == 1 and REFUSED.match(said)
            runs.count("" if fine else f"damaged: {text!r}: exit {status}: {said[:300]}{now[:300]}")
        print(f"{len(texts)} graphs, {len(BAD)} bad texts, {len(RULES)} for the rules, {args.damages} damaged texts")
        print(f"{runs.passed} passed, {runs.failed} failed")
    return int(bool(runs.failed))


if __name__ == "__main__":
    raise SystemExit(main())
