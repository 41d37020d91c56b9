"""Random loop fusions, differential: each is compiled, run in the simulator under --check and compared with the evaluator.

usage: fusions.py WARPBURG [COUNT] [SEED]        prints what fails, with its text kept under build/fuzz; exit 1 if something did
"""
from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Dict, List, Tuple

from fusion_ops import OPS

FLOATS, INTS = ["f16", "bf16", "f32", "f64"], ["s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64"]
UNARY_F = ["negate", "abs", "exponential", "tanh", "sqrt", "rsqrt", "floor", "ceil", "sign", "logistic", "sine", "cbrt", "log-plus-one",
           "round-nearest-even", "round-nearest-afz"]
BINARY_F = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "remainder", "atan2"]
UNARY_I = ["negate", "not", "popcnt", "count-leading-zeros", "sign"]
BINARY_I = ["add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "and", "or", "xor", "shift-left",
            "shift-right-logical", "shift-right-arithmetic", "power"]
Value = Tuple[str, str, List[int]]  # name, type, dims


class Fusion:
    """A computation under construction."""

    def __init__(self, r: random.Random) -> None:
        self.r, self.lines, self.values, self.parameters = r, [], [], []  # type: ignore[var-annotated]
        self.n = 0
        self.bodies: Dict[str, str] = {}  # of reductions, by name

    def emit(self, t: str, dims: List[int], op: str, attributes: str = "") -> Value:
        name = f"v{self.n}"
        self.n += 1
        self.lines.append(f"  {name} = {shape(t, dims)} {op}{attributes}")
        v = (name, t, dims)
        self.values.append(v)
        return v

    def parameter(self, t: str, dims: List[int]) -> Value:
        self.parameters.append((t, dims))
        return self.emit(t, dims, f"parameter({len(self.parameters) - 1})")

    def same(self, t: str, dims: List[int]) -> Value:
        """A value of that type and shape: an old one, a new parameter, a broadcast constant or an iota."""
        fits = [v for v in self.values if v[1] == t and v[2] == dims]
        roll = self.r.random()
        if fits and roll < 0.6:
            return self.r.choice(fits)
        if roll < 0.85 and len(self.parameters) < 6:
            return self.parameter(t, dims)
        if t != "pred" and dims and roll < 0.9:
            return self.emit(t, dims, "iota()", f", iota_dimension={self.r.randrange(len(dims))}")
        c = self.emit(t, [], f"constant({constant(self.r, t)})")
        return self.emit(t, dims, f"broadcast({c[0]})", ", dimensions={}") if dims else c

    def elementwise(self, v: Value) -> Value:
        name, t, dims = v
        r = self.r
        roll = r.random()
        if roll < 0.2:
            to = r.choice([x for x in FLOATS + INTS if x != t])
            return self.emit(to, dims, f"convert({name})")
        if roll < 0.35:
            other = self.same(t, dims)
            p = self.emit("pred", dims, f"compare({name}, {other[0]})", f", direction={r.choice(['EQ', 'NE', 'LT', 'LE', 'GT', 'GE'])}")
            return self.emit(t, dims, f"select({p[0]}, {name}, {self.same(t, dims)[0]})")
        unary, binary = (UNARY_F, BINARY_F) if t in FLOATS else (UNARY_I, BINARY_I)
        if roll < 0.6:
            op = r.choice(unary)
            return self.emit(t, dims, f"{op if t[0] != 'u' or op != 'sign' else 'not'}({name})")
        return self.emit(t, dims, f"{r.choice(binary)}({name}, {self.same(t, dims)[0]})")

    def move(self, v: Value) -> Value:
        name, t, dims = v
        r = self.r
        kind = r.choice(["transpose", "reshape", "slice", "reverse", "broadcast"])
        if kind == "transpose" and len(dims) > 1:
            p = r.sample(range(len(dims)), len(dims))
            return self.emit(t, [dims[i] for i in p], f"transpose({name})", f", dimensions={{{','.join(map(str, p))}}}")
        if kind == "reshape":
            to = factors(r, size(dims))
            return self.emit(t, to, f"reshape({name})")
        if kind == "slice" and dims:
            cut = []
            for d in dims:
                lo = r.randrange(d)
                hi = r.randrange(lo, d) + 1
                cut.append((lo, hi, r.choice([1, 1, 1, 2])))
            text = ", ".join(f"[{a}:{b}:{s}]" for a, b, s in cut)
            return self.emit(t, [-(-(b - a) // s) for a, b, s in cut], f"slice({name})", f", slice={{{text}}}")
        if kind == "reverse" and dims:
            return self.emit(t, dims, f"reverse({name})", f", dimensions={{{r.randrange(len(dims))}}}")
        if len(dims) < 4 and size(dims) < 20000:
            at = r.randrange(len(dims) + 1)
            to = dims[:at] + [r.choice([1, 2, 3, 8])] + dims[at:]
            kept = [i for i in range(len(to)) if i != at]
            return self.emit(t, to, f"broadcast({name})", f", dimensions={{{','.join(map(str, kept))}}}")
        return v


def size(dims: List[int]) -> int:
    n = 1
    for d in dims:
        n *= d
    return n


def factors(r: random.Random, n: int) -> List[int]:
    """Dimensions of product n."""
    out: List[int] = []
    while n > 1 and len(out) < 3:
        d = r.choice([k for k in range(1, n + 1) if n % k == 0])
        out.append(d)
        n //= d
    return out + [n] if n > 1 or not out else out


def shape(t: str, dims: List[int]) -> str:
    return f"{t}[{','.join(map(str, dims))}]"


def constant(r: random.Random, t: str) -> str:
    if t == "pred":
        return r.choice(["true", "false"])
    if t in FLOATS:
        return r.choice(["0", "1", "-1", "0.5", "2", "3.25", "-0", "inf"])
    return r.choice(["0", "1", "2", "3", "7", "8"] + ([] if t[0] == "u" else ["-1", "-2"]))


def generate(seed: int) -> str:
    r = random.Random(seed)
    f = Fusion(r)
    dims = [r.choice([1, 2, 3, 5, 8, 16, 33, 64]) for _ in range(r.randrange(4))]
    v = f.parameter(r.choice(FLOATS + INTS), dims)
    for _ in range(r.randrange(1, 14)):
        roll = r.random()
        v = f.move(v) if roll < 0.25 else r.choice(OPS)(f, v) if roll < 0.6 else f.elementwise(v)
    roots: Dict[str, Value] = {v[0]: v}
    if r.random() < 0.3:
        w = f.elementwise(v)
        if w[2] == v[2]:
            roots[w[0]] = w
    while r.random() < 0.2:  # outputs of other sizes
        w = r.choice(f.values)
        roots[w[0]] = w
    root = list(roots.values())
    result = shape(*root[0][1:]) if len(root) == 1 else "(" + ", ".join(shape(*x[1:]) for x in root) + ")"
    if len(root) > 1:
        f.lines.append(f"  ROOT out = {result} tuple({', '.join(x[0] for x in root)})")
    else:
        f.lines = [("  ROOT " + line[2:]) if line.startswith(f"  {root[0][0]} =") else line for line in f.lines]
    entry = [f"  p{i} = {shape(t, d)} parameter({i})" for i, (t, d) in enumerate(f.parameters)]
    names = ", ".join(f"p{i}" for i in range(len(f.parameters)))
    return "\n".join([f"HloModule random_{seed}", "", *f.bodies.values(), "body {", *f.lines, "}", "", "ENTRY main {", *entry,
                      f"  ROOT random = {result} fusion({names}), kind=kLoop, calls=body", "}", ""])


def main(argv: List[str]) -> int:
    count, seed = int(argv[2]) if len(argv) > 2 else 200, int(argv[3]) if len(argv) > 3 else 1
    folder = Path("build/fuzz")
    folder.mkdir(parents=True, exist_ok=True)
    good = bad = declined = 0
    for n in range(seed, seed + count):
        file = folder / f"{n}.hlo"
        file.write_text(generate(n))
        outcome = []
        for target, case in (("sm_90", "e"), ("sm_80", "n")):
            p = subprocess.run([argv[1], "run", str(file), "--target", target, "--check", "--case", case], capture_output=True, text=True, check=False)
            outcome.append(p.returncode)
            if p.returncode not in (0, 3):
                print(f"{file} {target} {case}: exit {p.returncode}: {(p.stdout + p.stderr).strip()[-600:]}", flush=True)
        good, bad, declined = good + (outcome == [0, 0]), bad + any(x not in (0, 3) for x in outcome), declined + (3 in outcome)
        if outcome == [0, 0] or 3 in outcome:
            file.unlink()
    print(f"{declined} declined\n{good} passed, {bad} failed")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
