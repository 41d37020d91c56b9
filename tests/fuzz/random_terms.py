#!/usr/bin/env python3
"""Random terms keep their values through the rules of every target.

    random_terms.py WARPBURG [COUNT] [--seed S]

A term is an IR kernel that loads operands and stores one random expression of them. Constants that rules match (0, 1, -1, powers of two) and
repeated operands are frequent, so that rules fire. `warpburg ir --check` rewrites and compiles the kernel, runs it in the simulator on edge
values and random bits, and compares each element with the value of the original term.

    mul.i32(sub.i32(a, a), 4)  ->  simplify gives 0; the value of the original term is 0 as well
"""
from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, List

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
from seeds import arguments  # noqa: E402
from warpburg_cli import TARGETS  # noqa: E402

BATCH = 8
INTS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
FLOATS = ("bf16", "f16", "f32", "f64")
BOTH = "add sub mul max min".split()
OF_INTS = "div rem band bor bxor shl shra shrl".split()
ONE_INT = "neg abs bnot popcnt clz sign".split()
ONE_FLOAT = "neg abs floor ceil sqrt sign round_even".split()
RELATIONS = "eq ne lt le gt ge".split()
THREADS = 128


class Maker:
    def __init__(self, r: random.Random) -> None:
        self.r = r
        self.operands: Dict[str, str] = {}

    def leaf(self, t: str) -> str:
        if self.r.random() < 0.45:
            if t == "pred":
                return self.r.choice(("true", "false"))
            return self.r.choice(("0.0", "-0.0", "1.0", "-1.0", "2.0", "0.5")) if t in FLOATS else self.r.choice(("0", "1", "2", "3", "4", "8", "7", "64"))
        name = f"{t}_{self.r.randrange(2)}"
        self.operands[name] = t
        return f"load %{name}[t]"

    def term(self, t: str, depth: int) -> str:
        if depth == 0:
            return self.leaf(t)
        r, x = self.r, self.r.random()
        if t == "pred":
            if x < 0.3:
                return f"{r.choice(('band', 'bor', 'bxor'))}.pred({self.term(t, depth - 1)}, {self.term(t, depth - 1)})"
            of = r.choice(INTS + FLOATS)
            return f"{r.choice(RELATIONS)}.{of}({self.term(of, depth - 1)}, {self.term(of, depth - 1)})"
        if x < 0.15:
            return self.leaf(t)
        if x < 0.25:
            return f"select.{t}({self.term('pred', depth - 1)}, {self.term(t, depth - 1)}, {self.term(t, depth - 1)})"
        if x < 0.4:
            of = r.choice([o for o in INTS + FLOATS + ("pred",) if o != t])
            return f"cvt.{t}.{of}({self.term(of, depth - 1)})"
        if x < 0.55:
            return f"{r.choice(ONE_FLOAT if t in FLOATS else ONE_INT)}.{t}({self.term(t, depth - 1)})"
        same = self.term(t, depth - 1)
        other = same if r.random() < 0.15 else self.term(t, depth - 1)
        return f"{r.choice(BOTH + (['div'] if t in FLOATS else OF_INTS))}.{t}({same}, {other})"

    def kernel(self, name: str) -> str:
        t = self.r.choice(INTS + FLOATS)
        value = self.term(t, self.r.choice((1, 2, 2, 3, 3, 4)))
        buffers = [f"%{n}: {of}[{THREADS}]" for n, of in sorted(self.operands.items())] + [f"%out: out {t}[{THREADS}]"]
        return (f"kernel @{name}({', '.join(buffers)}) block 128 grid {THREADS // 128} {{\n  let t = 128*bid + tid in 0..{THREADS}\n"
                f"  store %out[t], {value}\n}}\n")


def check(warpburg: str, target: str, files: List[Path]) -> List[str]:
    """For each file an empty text if it keeps its values, else the message."""
    p = subprocess.run([warpburg, "ir", "--check", "--json", "--target", target, *map(str, files)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    rows = [json.loads(line) for line in p.stdout.splitlines()]
    said = ["" if row["status"] == "ok" else str(row.get("first") or row.get("message", "")) for row in rows]
    return said + [f"warpburg stopped ({p.returncode}): {p.stderr[-400:]}"] * (len(files) - len(said))


def main() -> int:
    o = arguments(__doc__, 200, "warpburg")
    n: int = o.count
    r, failed = random.Random(o.seed), 0
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for i in range(n):
            files.append(Path(folder) / f"k{i}.ir")
            files[-1].write_text(Maker(r).kernel(f"k{i}"))
        for i in range(0, n, BATCH):
            target = TARGETS[i // BATCH % len(TARGETS)]
            for f, said in zip(files[i:i + BATCH], check(o.warpburg, target, files[i:i + BATCH])):
                if said:
                    failed += 1
                    print(f"{target}: {said}\n{f.read_text()}")
    print(f"{n - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
