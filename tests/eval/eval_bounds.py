"""Perturbed evaluations lie inside the evaluator's bounds: whatever HLO leaves open is decided at random, and the result must be inside.

Runs `eval --bounds --perturb N` over random fusions and over fusions of the shared corpus, and prints how wide the intervals are. A
fusion that the evaluator declines counts as declined, not as failed. Ends with `N passed, M failed`, in fusions.

    eval_bounds.py build/warpburg [--every 10] [--runs 8] [--random 100] [--only gelu] [--tightness] [--accuracy LEVEL]

--tightness: lists the fusions with the widest intervals.
"""
from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Sequence, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
from warpburg_cli import Cli  # noqa: E402

CASES = "enp"
LIMIT = 10  # seconds an evaluation, after which a fusion counts as declined; nested sums of large rows take longer
FLOATS = ("f16", "bf16", "f32", "f64", "f8e4m3fn", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz", "f8e4m3b11fnuz", "f8e3m4", "f4e2m1fn")
INTS = ("s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64")
UNARY = ("abs negate sign floor ceil round-nearest-afz round-nearest-even exponential exponential-minus-one log log-plus-one logistic "
         "tanh tan sine cosine sqrt rsqrt cbrt erf").split()
BINARY = "add subtract multiply divide remainder maximum minimum power atan2".split()
INT_UNARY = "abs negate sign not".split()
INT_BINARY = "add subtract multiply divide remainder maximum minimum and or xor shift-left shift-right-logical shift-right-arithmetic".split()
COMPLEX_UNARY = "negate sign exponential exponential-minus-one log log-plus-one logistic tanh tan sine cosine sqrt rsqrt".split()
COMPLEX_BINARY = "add subtract multiply divide power".split()
SHAPE = "[6,5]"


@dataclass
class Found:
    """The results of one fusion; `width` is the median width of its elements' intervals on case p, in ulp."""
    file: str
    why: str = ""
    declined: bool = False
    compared: int = 0
    floats: int = 0
    open: int = 0
    width: float = 0.0


class Maker:
    """A random fusion: a few values of any type, each computed from earlier ones."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.lines: List[str] = []
        self.values: Dict[str, List[str]] = {}
        self.n = 0

    def put(self, kind: str, text: str) -> str:
        name = f"v{self.n}"
        self.n += 1
        self.lines.append(f"  {name} = {kind}{SHAPE} {text}")
        self.values.setdefault(kind, []).append(name)
        return name

    def any(self, kind: str) -> str:
        """A value of a type, mostly one of the last three, so that errors accumulate."""
        have = self.values[kind]
        return self.r.choice(have[-3:] if self.r.random() < 0.7 else have)

    def step(self) -> None:
        kinds = sorted(k for k in self.values if k != "pred")
        kind, dice = self.r.choice(kinds), self.r.random()
        complex_, whole = kind in ("c64", "c128"), kind in INTS
        if dice < 0.4:
            self.put(kind, f"{self.r.choice(INT_UNARY if whole else COMPLEX_UNARY if complex_ else UNARY)}({self.any(kind)})"
                     if not (whole and kind[0] == "u") else f"not({self.any(kind)})")
        elif dice < 0.75:
            self.put(kind, f"{self.r.choice(INT_BINARY if whole else COMPLEX_BINARY if complex_ else BINARY)}({self.any(kind)}, {self.any(kind)})")
        elif dice < 0.85:
            direction = self.r.choice(["EQ", "NE"] if complex_ else ["EQ", "NE", "LT", "LE", "GT", "GE"])
            p = self.put("pred", f"compare({self.any(kind)}, {self.any(kind)}), direction={direction}")
            self.put(kind, f"select({p}, {self.any(kind)}, {self.any(kind)})")
        elif dice < 0.92 and complex_:
            part = "f32" if kind == "c64" else "f64"
            self.put(part, f"{self.r.choice(['real', 'imag', 'abs'])}({self.any(kind)})")
        elif dice < 0.92 and not whole:
            self.put(kind, f"clamp({self.any(kind)}, {self.any(kind)}, {self.any(kind)})")
        elif not complex_:
            self.put(self.r.choice(FLOATS + INTS), f"convert({self.any(kind)})")

    def text(self, steps: int) -> str:
        types = self.r.choice([("f32",), ("bf16",), ("f16", "f32"), ("f64",), ("c64",), ("c128",), ("f8e4m3fn", "f8e5m2"), ("s8", "u8"),
                               ("s32", "f32"), ("u64", "s16")])
        for k, kind in enumerate(types * 2):
            self.put(kind, f"parameter({k})")
        for _ in range(steps):
            self.step()
        root, kind = f"v{self.n - 1}", self.lines[-1].split(" = ")[1].split("[")[0]
        tail = [f"  ROOT out = {kind}{SHAPE} copy({root})"]
        if kind in ("f16", "bf16", "f32", "f64") and self.r.random() < 0.4:
            tail = [f"  zero = {kind}[] constant(0)", f"  ROOT out = {kind}[6] reduce({root}, zero), dimensions={{1}}, to_apply=sum"]
        add = f"sum {{\n  a = {kind}[] parameter(0)\n  b = {kind}[] parameter(1)\n  ROOT c = {kind}[] add(a, b)\n}}\n\n"
        return "HloModule m\n\n" + (add if len(tail) > 1 else "") + "ENTRY e {\n" + "\n".join(self.lines + tail) + "\n}\n"


def check(cli: Cli, file: str, runs: int, accuracy: str) -> Found:
    found = Found(file)
    for case in CASES:
        words = [cli.program, "eval", file, "--bounds", "--perturb", str(runs), "--json", "--case", case, "--seed", "7"]
        try:
            p = subprocess.run(words + ["--accuracy", accuracy], capture_output=True, text=True, errors="replace", timeout=LIMIT)
        except subprocess.TimeoutExpired:
            found.declined, found.why = True, f"not done within {LIMIT} s"
            return found
        if p.returncode == 3:
            found.declined, found.why = True, p.stderr.strip()[-200:]
            return found
        if p.returncode not in (0, 4):
            found.why = f"case {case}: exit {p.returncode}: {p.stderr.strip()[-300:]}"
            return found
        facts = json.loads(p.stdout)
        found.compared += facts["compared"]
        found.floats += facts["floats"]
        found.open += facts["open"]
        if case == "p":
            found.width = facts["median_ulp"] if facts["median_ulp"] >= 0 else float("inf")
        if p.returncode == 4:
            found.why = f"case {case}: {facts['outside']} of {facts['compared']} outside; {p.stderr.strip()[-300:]}"
            return found
    return found


def report(part: str, found: Sequence[Found], tightness: bool) -> Tuple[int, int]:
    failed = [f for f in found if f.why and not f.declined]
    declined = [f for f in found if f.declined]
    judged = [f for f in found if not f.why and f.floats]
    for f in failed:
        print(f"failed: {part}: {f.file}: {f.why}", flush=True)
    if judged:
        widths = sorted(f.width for f in judged)
        open_, floats = sum(f.open for f in judged), sum(f.floats for f in judged)
        print(f"{part}: {len(found) - len(failed) - len(declined)} sound, {sum(f.compared for f in found)} results inside; "
              f"median width {statistics.median(widths):.3g} ulp, nine tenths within {widths[len(widths) * 9 // 10]:.3g}; "
              f"{100 * open_ / floats:.1f} % of the intervals hold infinity or nan", flush=True)
    if declined:
        reasons = Counter(f.why.split("declined: ")[-1].split(" of ")[0][:80] for f in declined)
        print(f"{part}: {len(declined)} declined: " + ", ".join(f"{why} {n}" for why, n in reasons.most_common(5)))
    if tightness:
        for f in sorted(judged, key=lambda f: -f.width)[:20]:
            print(f"  {f.width:12.4g} ulp, {f.open} of {f.floats} open: {Path(f.file).name}")
    return len(found) - len(failed), len(failed)


def main() -> int:
    p = argparse.ArgumentParser(description="bounds against perturbed evaluations")
    p.add_argument("warpburg")
    p.add_argument("--shared", type=Path, default=Path(__file__).resolve().parents[3] / "shared")
    p.add_argument("--every", type=int, default=10, help="every Nth file")
    p.add_argument("--runs", type=int, default=8, help="perturbed evaluations of each case")
    p.add_argument("--random", type=int, default=100, help="random fusions")
    p.add_argument("--seed", type=int, default=1, help="seed of the random fusions")
    p.add_argument("--only", default="", help="only files whose path contains this")
    p.add_argument("--accuracy", default="exact", choices=("exact", "xla", "approx"))
    p.add_argument("--tightness", action="store_true")
    p.add_argument("--keep", type=Path, help="a folder in which the random fusions are kept")
    p.add_argument("-j", type=int, default=2, dest="jobs")
    o = p.parse_args()
    cli = Cli(o.warpburg, o.jobs)
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for k in range(o.random):
            files.append(Path(o.keep or folder, f"random{k}.hlo"))
            files[-1].write_text(Maker(o.seed * 1000003 + k).text(3 + k % 6), encoding="utf-8")
        good, bad = report("random fusions", cli.each(lambda f: check(cli, str(f), o.runs * 4, o.accuracy), files), False)
        passed, failed = passed + good, failed + bad
    for part in ("programs", "blocks", "fusions", "emitter-tests"):
        root = o.shared / "corpus" / part
        files = [f for f in sorted(root.rglob("*.hlo"))[::o.every] if o.only in str(f)]
        if not files:
            print(f"skipped: {root} is not there" if not root.is_dir() else f"{part}: no file")
            continue
        good, bad = report(part, cli.each(lambda f: check(cli, str(f), o.runs, o.accuracy), files), o.tightness)
        passed, failed = passed + good, failed + bad
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
