#!/usr/bin/env python3
"""Random pattern files: gen/ makes tables of each or refuses it with messages that have file and line, and never ends in a traceback.

    random_rules.py [COUNT] [--seed S]
"""
from __future__ import annotations

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gen"))

from seeds import arguments  # noqa: E402
from small import faults  # noqa: E402

OPS = "add mul sub neg abs fma select eq lt cvt bits max band shl exp splat pack idx min floordiv load const".split()
TYPES = [".f32", ".bf16", ".i32", ".u8", ".pred", ".f32x2", "[F]", "[N]", "[T]", "[F16]", ".index", ".f32.approx", "", ".i32.f32", "[N][F]"]
LEAVES = "a b c x i j n k m p rest w 0 1 -1 0.0 -0.0 2.5 True 2**70 'x' None approx F f32".split()
CONDITIONS = ["k > 1", "k % m == 0", "within(n, 0, k)", "multiple(i, m)", "approx", "~contract", "once(a)", "finite(a)", "known_zero(a, 7)", "has('x')",
              "(k > 1) & (m % k == 0)", "~(k > 1)", "within(a, 0, 3)", "k // 0 == m", "a == b", "1", "k", "within(n, 0)"]


def expression(r: random.Random, depth: int) -> str:
    x = r.random()
    if depth == 0 or x < 0.25:
        return r.choice(LEAVES)
    inner = lambda: expression(r, depth - 1)
    if x < 0.45:
        return f"({inner()} {r.choice(('+', '-', '*', '//', '%'))} {inner()})"
    if x < 0.5:
        return f"{r.choice(('relu', 'sat', 'satfinite', 'src'))}({inner()})"
    if x < 0.55:
        return f"{r.choice(('lanes(f32, ', 'ramp(i32, 2, '))}{inner()}, {inner()})"
    return f"{r.choice(OPS)}{r.choice(TYPES)}({', '.join(inner() for _ in range(r.choice((1, 2, 2, 2, 3))))})"


def rule(r: random.Random) -> str:
    when = f", when={r.choice(CONDITIONS)}" if r.random() < 0.4 else ""
    if r.random() < 0.3:
        return f"{r.choice(('asm', 'llvm', 'call', 'intr'))}({expression(r, 3)}, 'x'{when})"
    if r.random() < 0.1:
        return f"rewrite(({expression(r, 2)}, {expression(r, 2)}), ({expression(r, 2)}, {expression(r, 2)}){when})"
    return f"rewrite({expression(r, 3)}, {expression(r, 2)}{when})"


def main() -> int:
    o = arguments(__doc__, 400)
    n: int = o.count
    r, good = random.Random(o.seed), 0
    for _ in range(n):
        lists = {name: [rule(r) for _ in range(r.choice((0, 1, 1)))] for name in ("SIMPLIFY", "LOWER", "INSTR")}
        text = "".join(f"{name} = [{', '.join(rules)}]\n" for name, rules in lists.items())
        index = f"ALL = [{rule(r)}]\n" if r.random() < 0.5 else "ALL = []\n"
        try:
            found = faults(text, index)
        except Exception as e:
            print(f"{text}{index}{type(e).__name__}: {e}")
            return 1
        for f in found:
            parts = f.split(":")
            if not (parts[0].startswith("patterns/") and int(parts[1]) > 0 and parts[2] == " error"):
                print(f"{text}{index}no place: {f}")
                return 1
        good += not found
    print(f"{n} random pattern files: {good} compiled, {n - good} refused with file and line")
    print(f"{n} passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
