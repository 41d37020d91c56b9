#!/usr/bin/env python3
"""Random programs with loops and branches: each is compiled, run in the simulator, and compared with the evaluator's bounds.

    random_loops.py WARPBURG [COUNT] [--seed S] [--folder DIR]

The state of a loop is arrays of one shape, scalars, and a table that no iteration changes. Loops are counted, as long as a parameter says, or run until
all elements are done; bodies compute, take rows of the table where the counter says, exchange arrays, rotate them, branch, or contain another loop.
Where one thread cannot hold the state, the text is no kernel and runs as a program of several: for nothing else. Texts of those that fail stay
in DIR. Ends with `N passed, M failed`.
"""
import random
import sys
from typing import Dict, List, Tuple

from seeds import TARGETS, Seeds, ended

DECLINED = "declined: control_flow: "
PROGRAM = "it is run as a program"
MOST_PROGRAMS = 0.4


class Body:
    """The instructions of one computation."""

    def __init__(self, made: "Program") -> None:
        self.made = made
        self.lines: List[str] = []
        self.cache: Dict[Tuple[str, str], str] = {}

    def op(self, shape: str, text: str, root: bool = False) -> str:
        if not root and (shape, text) in self.cache:
            return self.cache[shape, text]
        name = self.made.name("v")
        self.lines.append(f"  {'ROOT ' if root else ''}{name} = {shape} {text}")
        self.cache[shape, text] = name
        return name

    def scalar(self, kind: str, value: int) -> str:
        return self.op(f"{kind}[]", f"constant({value})")

    def splat(self, kind: str, n: int, scalar: str) -> str:
        return self.op(f"{kind}[{n}]", f"broadcast({scalar}), dimensions={{}}")


class Program:
    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.n = self.r.choice((1, 3, 8, 31, 100, 700))
        self.rows = self.r.randint(1, 9)
        self.kind = self.r.choice(("s32", "s32", "u32", "f32", "s64"))
        self.count, self.computations = 0, []               # type: int, List[str]

    def name(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def expression(self, b: Body, arrays: List[str], counter: str, table: str, depth: int) -> str:
        r, t, n = self.r, self.kind, self.n
        shape = f"{t}[{n}]"
        x = r.choice(arrays)
        if depth == 0:
            return x
        pick = r.randrange(12)
        if pick < 4:
            y = self.expression(b, arrays, counter, table, depth - 1)
            ops = ("add", "subtract", "maximum", "minimum") if t == "f32" else ("add", "subtract", "multiply", "xor", "and", "maximum")
            return b.op(shape, f"{r.choice(ops)}({x}, {y})")
        if pick == 4:
            y = self.expression(b, arrays, counter, table, depth - 1)
            p = b.op(f"pred[{n}]", f"compare({x}, {y}), direction={r.choice(('LT', 'GE', 'EQ'))}")
            return b.op(shape, f"select({p}, {x}, {self.expression(b, arrays, counter, table, depth - 1)})")
        if pick == 5:
            return b.op(shape, f"add({x}, {b.splat(t, n, b.op(f'{t}[]', f'convert({counter})'))})")
        if pick in (6, 7):
            row = b.op(f"{t}[1,{n}]", f"dynamic-slice({table}, {counter}, {b.scalar('s32', 0)}), dynamic_slice_sizes={{1,{n}}}")
            return b.op(shape, f"add({b.op(shape, f'reshape({row})')}, {x})")
        if pick == 8 and n <= 8:
            k = r.randrange(n)
            parts = [b.op(f"{t}[{j - i}]", f"slice({x}), slice={{[{i}:{j}]}}") for i, j in ((k, n), (0, k)) if j > i]
            return b.op(shape, f"concatenate({', '.join(parts)}), dimensions={{0}}") if len(parts) > 1 else x
        if pick == 9:
            return b.op(shape, f"{'negate' if t == 'f32' else 'not'}({self.expression(b, arrays, counter, table, depth - 1)})")
        if pick == 10:
            return self.branch(b, x, self.expression(b, arrays, counter, table, depth - 1), counter)
        return b.splat(t, n, b.scalar(t, r.randint(0, 9)))

    def branch(self, b: Body, x: str, y: str, counter: str) -> str:
        shape = f"{self.kind}[{self.n}]"
        names = []
        for _ in range(self.r.randint(2, 4)):
            c = Body(self)
            p = c.op(shape, "parameter(0)")
            c.op(shape, f"{self.r.choice(('add', 'maximum', 'subtract'))}({p}, {c.splat(self.kind, self.n, c.scalar(self.kind, self.r.randint(1, 5)))})", True)
            names.append(self.close(c, "branch"))
        which = b.op("s32[]", f"add({counter}, {b.scalar('s32', -1)})")
        operands = ", ".join(self.r.choice((x, y)) for _ in names)
        return b.op(shape, f"conditional({which}, {operands}), branch_computations={{{', '.join(names)}}}")

    def close(self, b: Body, stem: str) -> str:
        name = self.name(stem)
        self.computations.append(f"{name} {{\n" + "\n".join(b.lines) + "\n}\n")
        return name

    def loop(self, b: Body, arrays: List[str], first: str, limit: str, table: str, style: str, depth: int) -> Tuple[List[str], str]:
        """Makes a loop; returns the arrays after it, and the counter."""
        r, t, n = self.r, self.kind, self.n
        k = len(arrays)
        leaves = [f"{t}[{n}]"] * k + ["s32[]", "s32[]", f"{t}[{self.rows},{n}]"] + [f"pred[{n}]"] * (style == "any")
        state = f"({', '.join(leaves)})"

        def parts(c: Body) -> List[str]:
            s = c.op(state, "parameter(0)")
            return [c.op(leaf, f"get-tuple-element({s}), index={j}") for j, leaf in enumerate(leaves)]

        body, test = Body(self), Body(self)
        of = parts(body)
        changed = [self.expression(body, of[:k], of[k], of[k + 2], r.randint(1, 4)) for _ in range(k)]
        if depth and r.random() < 0.5:
            inner, _ = self.loop(body, changed, body.scalar("s32", 0), body.op("s32[]", f"and({of[k]}, {body.scalar('s32', 3)})"), of[k + 2],
                                 r.choice(("counted", "given")), depth - 1)
            changed = inner
        if r.random() < 0.3:
            r.shuffle(changed)
        counter = body.op("s32[]", f"add({of[k]}, {body.scalar('s32', 1)})")
        result = changed + [counter] + of[k + 1:k + 3]
        if style == "any":
            busy = of[k + 3]
            result[:k] = [body.op(leaves[0], f"select({busy}, {x}, {y})") for x, y in zip(changed, of[:k])]
            last = body.op("pred[]", f"compare({counter}, {of[k + 1]}), direction=LT")
            more = body.op(f"pred[{n}]", f"compare({result[0]}, {body.splat(t, n, body.scalar(t, r.randint(0, 50)))}), direction={r.choice(('LT', 'GT'))}")
            both = body.op(f"pred[{n}]", f"and({more}, {body.op(f'pred[{n}]', f'broadcast({last}), dimensions={{}}')})")
            result.append(body.op(f"pred[{n}]", f"and({busy}, {both})"))
        body.op(state, f"tuple({', '.join(result)})", True)
        of = parts(test)
        if style == "any":
            test.op("pred[]", f"reduce({of[k + 3]}, {test.op('pred[]', 'constant(false)')}), dimensions={{0}}, to_apply={self.any()}", True)
        else:
            end = test.scalar("s32", r.choice((0, 1, 3, 5, 40, 90))) if style == "counted" else of[k + 1]
            test.op("pred[]", f"compare({of[k]}, {end}), direction=LT", True)
        init = arrays + [first, limit, table] + ([b.splat("pred", n, b.op("pred[]", "constant(true)"))] if style == "any" else [])
        w = b.op(state, f"while({b.op(state, 'tuple(' + ', '.join(init) + ')')}), condition={self.close(test, 'test')}, body={self.close(body, 'body')}")
        return [b.op(leaves[0], f"get-tuple-element({w}), index={j}") for j in range(k)], b.op("s32[]", f"get-tuple-element({w}), index={k}")

    def any(self) -> str:
        b = Body(self)
        x, y = b.op("pred[]", "parameter(0)"), b.op("pred[]", "parameter(1)")
        b.op("pred[]", f"or({x}, {y})", True)
        return self.close(b, "any")

    def text(self) -> str:
        r, t, n = self.r, self.kind, self.n
        e = Body(self)
        arrays = [e.op(f"{t}[{n}]", f"parameter({k})") for k in range(r.randint(1, 3))]
        table = e.op(f"{t}[{self.rows},{n}]", f"parameter({len(arrays)})")
        given = e.op("s32[]", f"and({e.op('s32[]', f'parameter({len(arrays) + 1})')}, {e.scalar('s32', 15)})")
        after, counter = self.loop(e, arrays, e.scalar("s32", 0), given, table, r.choice(("counted", "given", "any")), 1)
        results = [e.op(f"{t}[{n}]", f"add({x}, {arrays[0]})") if r.random() < 0.3 else x for x in after[:r.randint(1, len(after))]]
        shapes = [f"{t}[{n}]"] * len(results) + ["s32[]"]
        e.op(f"({', '.join(shapes)})", f"tuple({', '.join(results + [counter])})", True)
        main = "ENTRY e {\n" + "\n".join(e.lines) + "\n}\n"
        return "\n".join(self.computations) + "\n" + main


def main() -> int:
    o = Seeds(__doc__, "random_loops", 60)
    passed = failed = programs = 0
    for seed in o.numbers:
        file = o.folder / f"loop_{seed}.hlo"
        file.write_text(Program(seed).text())
        command = [o.warpburg, "run", str(file), "--check", "--target", TARGETS[seed % len(TARGETS)], "--case", "ne"[seed // len(TARGETS) % 2], "-j", "1"]
        ends = [ended([*command, "--seed", str(k)]) for k in (1, 2)]
        wrong = next((said for rc, said in ends if rc), None)
        if wrong is None and any(PROGRAM in said for _, said in ends):
            why = ended([o.warpburg, "compile", str(file), "--emit", "ptx", "--target", TARGETS[seed % len(TARGETS)]])[1]
            wrong = None if DECLINED in why else why
        if wrong is not None:
            failed += 1
            print(f"{file}: {wrong[-400:]}")
            continue
        programs += PROGRAM in ends[0][1]
        passed += 1
        file.unlink()
    print(f"{programs} of {len(o.numbers)} are programs: a thread cannot hold the state")
    if programs > MOST_PROGRAMS * len(o.numbers):
        failed += 1
        print(f"more than {MOST_PROGRAMS:.0%}")
    return o.summed_up(passed, failed)


if __name__ == "__main__":
    sys.exit(main())
