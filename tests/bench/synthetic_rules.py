"""Any number of random rules with the shapes of a large driver's algebraic rules, for measuring tables and matching.

usage: synthetic_rules.py N [SEED]     prints a pattern file

The depths have the distribution of that driver (22 % of depth 1, 61 % of depth 2, and so on up to 14). A fifth of the operations are ternary, a
quarter of the leaves are literals or constants, a fifth of the rules have a fixed type. A right side is a variable of the left side, or
one operation on two of them, so that every rule shrinks its term. Every left side has a literal; without one it would match too much.
"""
from __future__ import annotations

import random
import sys
from typing import List

DEPTHS = [1] * 583 + [2] * 1614 + [3] * 305 + [4] * 96 + [5] * 14 + [6] * 9 + [8] * 6 + [11] * 4 + [14] * 4
INTEGER = (("add", "sub", "mul", "div", "rem", "max", "min", "band", "bor", "bxor", "shl", "shra", "shrl"),
           ("neg", "abs", "bnot", "popcnt", "clz", "sign"), ())
FLOAT = (("add", "sub", "mul", "div", "max", "min", "pow", "rem"),
         ("neg", "abs", "floor", "ceil", "sqrt", "exp", "log", "sin", "cos", "sign", "rsqrt"), ("fma",))
RELATIONS = ("eq", "ne", "lt", "le", "gt", "ge")
MOST_NODES = 60


class Maker:
    """One rule at a time."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)

    def rule(self) -> str:
        r = self.r
        self.is_float = r.random() < 0.4
        pinned = r.choice(("f16", "f32", "f64", "bf16") if self.is_float else ("i8", "i32", "u32", "i64", "u16"))
        self.type = f".{pinned}" if r.random() < 0.2 else "[F]" if self.is_float else "[N]"
        self.used: List[str] = []
        self.nodes = 0
        depth = r.choice(DEPTHS)
        left = self.operation(depth, r.random() < 0.2)
        used = sorted(set(self.used))
        counts = {v: self.used.count(v) for v in used}
        right = r.choice(used) if used else "1.0" if self.is_float else "1"
        if len(used) > 1 and self.nodes > 2 and r.random() < 0.5:
            right = f"{r.choice(('add', 'max'))}{self.type}({used[0]}, {used[1]})"
        return f"    rewrite({left}, {right})," if counts or "(" in left else ""

    def leaf(self) -> str:
        x = self.r.random()
        if x < 0.2:
            return self.r.choice(("0.0", "1.0", "-1.0", "0.5", "2.0", "-0.0") if self.is_float else ("0", "1", "-1", "2", "7", "16", "31"))
        v = self.r.choice("abcxy")
        self.used.append(v)
        return v

    def operation(self, depth: int, ternary: bool) -> str:
        """A term that is exactly `depth` operations deep along one operand."""
        self.nodes += 1
        two, one, three = FLOAT if self.is_float else INTEGER
        r = self.r
        deep = self.operation(depth - 1, r.random() < 0.2) if depth > 1 else self.value(0)
        if ternary and three and r.random() < 0.4:
            args = [deep, self.value(depth - 1), self.value(depth - 1)]
            r.shuffle(args)
            return f"{r.choice(three)}{self.type}({', '.join(args)})"
        if ternary:
            test = f"{r.choice(RELATIONS)}{self.type}({self.value(depth - 2)}, {self.value(0)})"
            args = [deep, self.value(depth - 2)]
            r.shuffle(args)
            return f"select{self.type}({test}, {', '.join(args)})"
        if r.random() < 0.25:
            return f"{r.choice(one)}{self.type}({deep})"
        args = [deep, self.value(depth - 1)]
        if not args[0].lstrip("-")[0].isdigit():
            r.shuffle(args)
        if all(a.lstrip("-")[0].isdigit() for a in args):
            args[0] = "a"
            self.used.append("a")
        if args[0].lstrip("-")[0].isdigit():
            args.reverse()
        return f"{r.choice(two)}{self.type}({args[0]}, {args[1]})"

    def value(self, depth: int) -> str:
        if depth < 1 or self.nodes > MOST_NODES or self.r.random() < 0.7:
            return self.leaf()
        return self.operation(1 + self.r.randrange(min(depth, 3)), False)


def rules(n: int, seed: int = 1) -> List[str]:
    """n different rules as lines of a pattern file, larger left sides first, so that no rule hides a later one."""
    maker, found = Maker(seed), {}
    while len(found) < n:
        line = maker.rule()
        left = line[len("    rewrite("):].rsplit("), ", 1)[0]
        if maker.used and any(c.isdigit() for c in left.replace("f16", "").replace("32", "").replace("64", "").replace("i8", "").replace("u16", "")):
            found.setdefault(left, line)
    return sorted(found.values(), key=lambda line: -line.count("("))


if __name__ == "__main__":
    print("from gen.lang import *\nALL = [")
    print("\n".join(rules(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)))
    print("]")
