"""Random loop fusions: each is compiled, run in the simulator, and compared with the evaluator's bounds.

They have all element types; odd, single, empty and large shapes; layouts of any order; every operation of loop fusions. The seed alone determines
the text of a fusion.

usage: random_fusions.py WARPBURG [COUNT] [--seed S] [--folder DIR]     failures are printed and their texts kept in DIR (build/fuzz); exit 1 if any
"""
from __future__ import annotations

import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Dict, List, Optional, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
from random_fusion_ops import FLOATS, OPS, of_type, volume  # noqa: E402
from seeds import arguments  # noqa: E402
from warpburg_cli import MAIN, TARGETS  # noqa: E402

INTS = ["s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64"]
SMALL = ["f8e4m3fn", "f8e5m2", "f8e4m3", "f8e3m4", "f8e4m3b11fnuz", "f8e4m3fnuz", "f8e5m2fnuz", "f8e8m0fnu", "f4e2m1fn"]
NIBBLES, COMPLEX = ["s2", "u2", "s4", "u4"], ["c64", "c128"]
UNARY_F = ["negate", "abs", "exponential", "tanh", "sqrt", "rsqrt", "floor", "ceil", "sign", "logistic", "sine", "cbrt", "log-plus-one",
           "round-nearest-even", "round-nearest-afz"]
BINARY_F = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "remainder", "atan2"]
UNARY_I = ["negate", "not", "popcnt", "count-leading-zeros", "sign"]
BINARY_I = ["add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "and", "or", "xor", "shift-left",
            "shift-right-logical", "shift-right-arithmetic", "power"]
UNARY_C, BINARY_C = ["negate", "exponential", "sqrt", "tanh", "sign"], ["add", "subtract", "multiply", "divide"]
Value = Tuple[str, str, List[int]]  # name, type, dims


class Fusion:
    """A computation under construction."""

    def __init__(self, r: random.Random) -> None:
        self.r, self.lines, self.values, self.parameters = r, [], [], []  # type: ignore[var-annotated]
        self.n = 0
        self.bodies: Dict[str, str] = {}  # reducers and mapped computations, by name
        self.shapes: Dict[str, str] = {}  # shapes of values, with their layouts
        self.layouts = r.random() < 0.3

    def emit(self, t: str, dims: List[int], op: str, attributes: str = "") -> Value:
        name = f"v{self.n}"
        self.n += 1
        self.shapes[name] = shape(t, dims)
        if self.layouts and len(dims) > 1:
            self.shapes[name] += f"{{{','.join(map(str, self.r.sample(range(len(dims)), len(dims))))}}}"
        self.lines.append(f"  {name} = {self.shapes[name]} {op}{attributes}")
        v = (name, t, dims)
        self.values.append(v)
        return v

    def text(self, seed: int, names: List[str], kind: str) -> str:
        """The module whose outputs are these values."""
        result = self.shapes[names[0]] if len(names) == 1 else "(" + ", ".join(self.shapes[x] for x in names) + ")"
        if len(names) > 1:
            self.lines.append(f"  ROOT out = {result} tuple({', '.join(names)})")
        else:
            self.lines = [("  ROOT " + line[2:]) if line.startswith(f"  {names[0]} =") else line for line in self.lines]
        entry = [f"  p{i} = {s} parameter({i})" for i, s in enumerate(self.parameters)]
        operands = ", ".join(f"p{i}" for i in range(len(self.parameters)))
        return "\n".join([f"HloModule random_{seed}", "", *self.bodies.values(), "body {", *self.lines, "}", "", "ENTRY main {", *entry,
                          f"  ROOT random = {result} fusion({operands}), kind={kind}, calls=body", "}", ""])

    def parameter(self, t: str, dims: List[int]) -> Value:
        v = self.emit(t, dims, f"parameter({len(self.parameters)})")
        self.parameters.append(self.shapes[v[0]])
        return v

    def same(self, t: str, dims: List[int]) -> Value:
        """A value of the type and shape: an earlier one, a new parameter, a broadcast constant or an iota."""
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
            to = r.choice([x for x in any_of(r, COMPLEX if t in COMPLEX else None) if x != t] or ["c128" if t == "c64" else "c64"])
            return self.emit(to, dims, f"convert({name})")
        if roll < 0.35:
            other = self.same(t, dims)
            order = ", type=TOTALORDER" if t in FLOATS + SMALL and r.random() < 0.2 else ""
            which = r.choice(["EQ", "NE"] if t in COMPLEX else ["EQ", "NE", "LT", "LE", "GT", "GE"])
            p = self.emit("pred", dims, f"compare({name}, {other[0]})", f", direction={which}{order}")
            return self.emit(t, dims, f"select({p[0]}, {name}, {self.same(t, dims)[0]})")
        if roll < 0.45:
            return of_type(self, v)
        if t == "pred":
            return self.emit(t, dims, r.choice([f"not({name})", f"{r.choice(['and', 'or', 'xor'])}({name}, {self.same(t, dims)[0]})"]))
        unary, binary = (UNARY_C, BINARY_C) if t in COMPLEX else (UNARY_F, BINARY_F) if t[0] in "fb" else (UNARY_I, BINARY_I)
        if roll < 0.65:
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
            to = factors(r, volume(dims))
            return self.emit(t, to, f"reshape({name})")
        if kind == "slice" and dims:
            cut = []
            for d in dims:
                lo = r.randrange(d) if d else 0
                hi = r.randrange(lo, d) + 1 if d else 0
                cut.append((lo, hi, r.choice([1, 1, 1, 2])))
            text = ", ".join(f"[{a}:{b}:{s}]" for a, b, s in cut)
            return self.emit(t, [-(-(b - a) // s) for a, b, s in cut], f"slice({name})", f", slice={{{text}}}")
        if kind == "reverse" and dims:
            return self.emit(t, dims, f"reverse({name})", f", dimensions={{{r.randrange(len(dims))}}}")
        if len(dims) < 4 and volume(dims) < 20000:
            at = r.randrange(len(dims) + 1)
            to = dims[:at] + [r.choice([1, 2, 3, 8])] + dims[at:]
            kept = [i for i in range(len(to)) if i != at]
            return self.emit(t, to, f"broadcast({name})", f", dimensions={{{','.join(map(str, kept))}}}")
        return v


def any_of(r: random.Random, only: Optional[List[str]] = None) -> List[str]:
    """A random group of types, most often the usual ones."""
    return only or r.choices([FLOATS + INTS, SMALL, NIBBLES, COMPLEX, ["pred"]], [75, 10, 8, 4, 3])[0]


def factors(r: random.Random, n: int) -> List[int]:
    """Random dimensions whose product is n."""
    if n == 0:
        return [r.choice([1, 3]), 0]
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
    if t in COMPLEX:
        return r.choice(["(0, 0)", "(1, -2)", "(0.5, 3)"])
    if t in FLOATS:
        return r.choice(["0", "1", "-1", "0.5", "2", "3.25", "-0", "inf"])
    if t in SMALL:
        return r.choice(["1", "0.5", "2", "4"])
    if t in NIBBLES:
        return r.choice(["0", "1"] + {"s2": ["-1", "-2"], "u2": ["2", "3"], "s4": ["7", "-8"], "u4": ["9", "15"]}[t])
    return r.choice(["0", "1", "2", "3", "7", "8"] + ([] if t[0] == "u" else ["-1", "-2"]))


def dimensions(r: random.Random) -> List[int]:
    roll = r.random()
    if roll < 0.04:
        return r.choice([[65537], [100003], [257, 300], [16, 33, 129], [1 << 17], [3, 1 << 15]])
    dims = [r.choice([1, 2, 3, 5, 8, 16, 33, 64]) for _ in range(r.randrange(4))]
    if roll < 0.06:
        dims.insert(r.randrange(len(dims) + 1), 0)
    return dims


def generate(seed: int) -> str:
    r = random.Random(seed)
    f = Fusion(r)
    dims = dimensions(r)
    v = f.parameter(r.choice(any_of(r)), dims)
    for _ in range(r.randrange(1, 14 if volume(dims) < 50000 else 6)):
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
    return f.text(seed, list(roots), "kLoop")


def judge(warpburg: str, file: Path, seed: int) -> Tuple[List[int], str]:
    """Exit statuses on two targets, of which the second depends on the seed, and the messages where they are not 0."""
    file.write_text(generate(seed))
    outcome, said = [], []
    others = [t for t in TARGETS if t != MAIN]
    for target, case in ((MAIN, "e"), (others[seed % len(others)], "n")):
        p = subprocess.run([warpburg, "run", str(file), "--target", target, "--check", "--case", case], capture_output=True, text=True, check=False)
        outcome.append(p.returncode)
        if p.returncode == 3:
            said.append(f"declined: {file} {target}: {p.stderr.strip()[-300:]}")
        elif p.returncode:
            said.append(f"{file} {target} {case}: exit {p.returncode}: {(p.stdout + p.stderr).strip()[-600:]}")
    if not any(outcome):
        file.unlink()
    return outcome, "\n".join(said)


def main() -> int:
    o = arguments(__doc__, 200, "warpburg", folder="build/fuzz")
    folder: Path = o.folder
    folder.mkdir(parents=True, exist_ok=True)
    good = bad = declined = 0
    with ThreadPoolExecutor(2) as pool:
        for outcome, said in pool.map(lambda n: judge(o.warpburg, folder / f"{n}.hlo", n), range(o.seed, o.seed + o.count)):
            if said:
                print(said, flush=True)
            good, bad, declined = good + (outcome == [0, 0]), bad + any(x not in (0, 3) for x in outcome), declined + (3 in outcome)
    print(f"{declined} declined\n{good} passed, {bad} failed")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
