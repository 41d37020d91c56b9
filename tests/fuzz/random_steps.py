#!/usr/bin/env python3
"""Random loops that keep a result of each iteration, as jax.lax.scan makes them: what they store step by step.

    random_steps.py WARPBURG [COUNT] [--seed S] [--folder DIR]

Each module is a `while` whose state has a counter, arrays that each iteration changes, arrays of which it reads one position a step, forwards or
backwards, and arrays of which it replaces one; then elementwise operations, moves or a reduction of what it has left, some of them outputs. It is
compiled for a target, as one kernel or several, or as a program, and runs under `run --check`: every element must lie in the evaluator's bounds,
without a fault. Of those that are made for it the plan must say that steps are stored. A failing module is kept in the folder. Ends with
`N passed, M failed`.
"""
import os
import random
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import List

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
from seeds import arguments  # noqa: E402
from warpburg_cli import TARGETS, Cli  # noqa: E402

TYPES = ("f32", "f32", "f32", "f16", "bf16", "f64", "s32", "u8")
UNARY = {"f": ("abs", "negate", "tanh", "cosine"), "s": ("abs", "negate"), "u": ("not", "not")}
BINARY = {"f": ("add", "multiply", "maximum", "subtract"), "s": ("add", "multiply", "minimum", "xor"), "u": ("add", "and", "maximum", "xor")}


@dataclass
class Module:
    lines: List[str] = field(default_factory=list)
    parameters: List[str] = field(default_factory=list)
    n: int = 0

    def add(self, shape: str, text: str) -> str:
        self.n += 1
        self.lines.append(f"  v{self.n} = {shape} {text}")
        return f"v{self.n}"


def shape(t: str, dims: List[int]) -> str:
    return f"{t}[{','.join(map(str, dims))}]"


def inserted(dims: List[int], at: int, size: int) -> List[int]:
    return dims[:at] + [size] + dims[at:]


def body_of(r: random.Random, t: str, dims: List[int], trips: int, carried: int, read: List[int], kept: List[int], down: bool) -> List[str]:
    """The lines of the body: read, kept: of each array the dimension along which steps lie."""
    state = ["s32[]"] + [shape(t, dims)] * carried + [shape(t, inserted(dims, d, trips)) for d in read + kept]
    out, n = [f"  s = ({', '.join(state)}) parameter(0)"], 0
    out += [f"  g{k} = {x} get-tuple-element(s), index={k}" for k, x in enumerate(state)]
    out += ["  one = s32[] constant(1)", "  zero = s32[] constant(0)", "  next = s32[] add(g0, one)", f"  last = s32[] constant({trips - 1})"]
    out += ["  down = s32[] subtract(last, g0)"] if down else ["  down = s32[] copy(g0)"]
    values, own = [f"g{1 + k}" for k in range(carried)], shape(t, dims)
    for k, d in enumerate(read):
        starts = ", ".join("down" if x == d else "zero" for x in range(len(dims) + 1))
        sizes = inserted(dims, d, 1)
        out.append(f"  x{k} = {shape(t, sizes)} dynamic-slice(g{1 + carried + k}, {starts}), dynamic_slice_sizes={{{','.join(map(str, sizes))}}}")
        out.append(f"  r{k} = {own} reshape(x{k})")
        values.append(f"r{k}")
    for _ in range(r.randrange(4, 12)):
        n += 1
        op = r.choice(UNARY[t[0] if t[0] != "b" else "f"] if r.random() < 0.4 else BINARY[t[0] if t[0] != "b" else "f"])
        operands = [r.choice(values[-3:] + values)] + ([r.choice(values)] if op in ("add", "multiply", "maximum", "minimum", "subtract", "xor", "and") else [])
        out.append(f"  y{n} = {own} {op}({', '.join(operands)})")
        values.append(f"y{n}")
    if t[0] in "fb":  # bounded, so that a difference would be seen
        out += [f"  h = {t}[] constant(0.5)", f"  hh = {own} broadcast(h), dimensions={{}}"]
        for k in range(carried):
            out += [f"  m{k} = {own} multiply({values[-1 - k]}, hh)", f"  c{k} = {own} tanh(m{k})"]
    else:
        out += [f"  c{k} = {own} add({values[-1 - k]}, g{1 + k})" for k in range(carried)]
    left = ["next"] + [f"c{k}" for k in range(carried)] + [f"g{1 + carried + k}" for k in range(len(read))]
    for k, d in enumerate(kept):
        starts = ", ".join("down" if x == d else "zero" for x in range(len(dims) + 1))
        value = r.choice(values[-2:] + [f"c{x}" for x in range(carried)])
        out.append(f"  u{k} = {shape(t, inserted(dims, d, 1))} reshape({value})")
        out.append(f"  w{k} = {shape(t, inserted(dims, d, trips))} dynamic-update-slice(g{1 + carried + len(read) + k}, u{k}, {starts})")
        left.append(f"w{k}")
    return out + [f"  ROOT root = ({', '.join(state)}) tuple({', '.join(left)})"]


def after(r: random.Random, m: Module, t: str, value: str, dims: List[int]) -> str:
    """What follows from an array that the loop has left: the shape and name of an output, as `shape name`."""
    kind, of = r.choice(("same", "same", "negate", "transpose", "reduce", "reshape", "slice", "pair")), shape(t, dims)
    if kind == "negate":
        value = m.add(of, f"{'not' if t[0] == 'u' else 'negate'}({value})")
    elif kind == "pair":
        other = m.add(of, f"{'not' if t[0] == 'u' else 'abs'}({value})")
        value = m.add(of, f"add({value}, {other})")
    elif kind == "transpose":
        order = list(range(len(dims)))
        r.shuffle(order)
        dims = [dims[d] for d in order]
        value = m.add(shape(t, dims), f"transpose({value}), dimensions={{{','.join(map(str, order))}}}")
    elif kind == "reduce":
        d = r.randrange(len(dims))
        first = m.add(f"{t}[]", "constant(0)")
        dims = dims[:d] + dims[d + 1:]
        value = m.add(shape(t, dims), f"reduce({value}, {first}), dimensions={{{d}}}, to_apply=combine")
    elif kind == "reshape" and len(dims) > 1:
        dims = [dims[0] * dims[1]] + dims[2:]
        value = m.add(shape(t, dims), f"reshape({value})")
    elif kind == "slice":
        bounds = ", ".join(f"[{d // 3}:{d}]" for d in dims)
        dims = [d - d // 3 for d in dims]
        value = m.add(shape(t, dims), f"slice({value}), slice={{{bounds}}}")
    return f"{shape(t, dims)} {value}"


def module_of(r: random.Random) -> str:
    t, rank = r.choice(TYPES), r.choice((0, 1, 1, 1, 2, 2))
    dims = [r.choice((1, 2, 3, 8, 16, 33, 64)) for _ in range(rank)]
    trips = r.choice((5, 33, 64, 100, 130, 257))
    carried, reads, keeps = r.choice((1, 1, 2)), r.choice((0, 1, 1, 2)), r.choice((1, 1, 2))
    read = [r.randrange(rank + 1) if r.random() < 0.3 else 0 for _ in range(reads)]
    kept = [r.randrange(rank + 1) if r.random() < 0.3 else 0 for _ in range(keeps)]
    combine = f"combine {{\n  a = {t}[] parameter(0)\n  b = {t}[] parameter(1)\n  ROOT c = {t}[] maximum(a, b)\n}}\n\n"
    loop = body_of(r, t, dims, trips, carried, read, kept, r.random() < 0.3)
    state = loop[0].split(" = ")[1].rsplit(" parameter", 1)[0]
    test = (f"test {{\n  s = {state} parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n  n = s32[] constant({trips})\n"
            "  ROOT c = pred[] compare(i, n), direction=LT\n}\n\n")
    m, first = Module(), []
    for k in range(carried):
        if r.random() < 0.5:
            m.parameters.append(shape(t, dims))
            first.append(m.add(shape(t, dims), f"parameter({len(m.parameters) - 1})"))
        else:
            zero = m.add(f"{t}[]", f"constant({r.choice((0, 1, 2))})")
            first.append(m.add(shape(t, dims), f"broadcast({zero}), dimensions={{}}"))
    for d in read:
        whole = inserted(dims, d, trips)
        m.parameters.append(shape(t, whole))
        x = m.add(shape(t, whole), f"parameter({len(m.parameters) - 1})")
        if r.random() < 0.3:
            x = m.add(shape(t, whole), f"{r.choice(UNARY[t[0] if t[0] != 'b' else 'f'])}({x})")
        first.append(x)
    for d in kept:
        zero = m.add(f"{t}[]", "constant(3)")
        first.append(m.add(shape(t, inserted(dims, d, trips)), f"broadcast({zero}), dimensions={{}}"))
    begin = m.add("s32[]", "constant(0)")
    tuple_ = m.add(state, f"tuple({', '.join([begin] + first)})")
    loop_ = m.add(state, f"while({tuple_}), condition=test, body=body")
    outputs = []
    for k, d in enumerate(kept):
        whole = inserted(dims, d, trips)
        outputs.append(after(r, m, t, m.add(shape(t, whole), f"get-tuple-element({loop_}), index={1 + carried + reads + k}"), whole))
    if r.random() < 0.5:
        outputs.append(f"{shape(t, dims)} " + m.add(shape(t, dims), f"get-tuple-element({loop_}), index=1"))
    shapes, names = [o.rsplit(" ", 1)[0] for o in outputs], [o.rsplit(" ", 1)[1] for o in outputs]
    if r.random() < 0.25:  # a program: a sort, which has a kernel of its own, after it
        order = "order {\n" + f"  a = {t}[] parameter(0)\n  b = {t}[] parameter(1)\n  ROOT c = pred[] compare(a, b), direction=LT\n}}\n\n"
        if shapes[0].split("[")[1] != "]":
            combine += order
            names[0] = m.add(shapes[0], f"sort({names[0]}), dimensions={{0}}, to_apply=order")
    m.lines.append(f"  ROOT root = ({', '.join(shapes)}) tuple({', '.join(names)})")
    return (f"HloModule steps\n\n{combine}body {{\n" + "\n".join(loop) + f"\n}}\n\n{test}ENTRY e {{\n" + "\n".join(m.lines) + "\n}\n")


def main() -> int:
    args = arguments(__doc__, 60, "warpburg")
    cli = Cli(args.warpburg)
    passed = failed = stored = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for seed in range(args.seed, args.seed + args.count):
            r = random.Random(seed)
            path = folder / f"steps_{seed}.hlo"
            path.write_text(module_of(r))
            target, case = r.choice(TARGETS), r.choice("nnep" if "sort(" not in path.read_text() else "np")  # `<` is no order of NaNs
            ran = cli.call("run", str(path), "--check", "--target", target, "--case", case, "--seed", str(seed))
            plan = cli.call("compile", str(path), "--emit", "plan", "--target", target)
            stored += "steps" in plan.stdout.split("\n")[0].split(":")[0]
            if ran.returncode == 0:
                passed += 1
                path.unlink()
            else:
                failed += 1
                print(f"seed {seed}, {target}, case {case}: {(ran.stderr or ran.stdout).strip().splitlines()[-1:]}", flush=True)
    print(f"{stored} of {args.count} have kernels that store steps")
    if args.count >= 40 and stored * 4 < args.count:
        print("too few of them have such kernels")
        failed += 1
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
