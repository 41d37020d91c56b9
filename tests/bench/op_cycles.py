#!/usr/bin/env python3
"""Our prices against cycles of single operations that XLA's authors measured on GPUs: rank correlation, and the operations that are furthest off.

    op_cycles.py [WARPBURG] [--shared DIR] [--targets sm_75,sm_90] [--ours] [--accuracy LEVEL] [--worst N] [--least R]

DIR/reference/xla-op-cycles.tsv has clock cycles of one HLO operation in a chain of them, as XLA lowered it. The price is that of XLA's own PTX for a fusion of
that operation, DIR/anchors/ptx/programs/*__wrapped_*.ptx, along the longest way from the load to the store: the larger of the latency of its longest
chain and the clocks of its busiest pipe for one warp. With --ours our PTX is priced, of every operation; its lowerings are others than those measured.

Ranks and ratios say something, absolute numbers little: chains of a sum count about two of it, and whether the measured values took a slow path is not known. A
ratio is predicted over measured, over the median ratio of its target.

Exits 1 if the rank correlation of a target is below R.
"""
from __future__ import annotations

import argparse
import math
import re
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Tuple

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from gen import load, prices  # noqa: E402
from gen.load import RuleSet  # noqa: E402
from gen.proof import price_forms  # noqa: E402

TYPES = ("s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64", "f16", "f32", "f64")
TWO = ("add", "subtract", "multiply", "divide", "power", "atan2")
STEMS = {"add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "power": "pow", "popcnt": "popcnt", "exponential": "exp",
         "exponential-minus-one": "expm1", "log": "log", "log-plus-one": "log1p", "logistic": "logistic", "rsqrt": "rsqrt", "sine": "sin", "cosine": "cos",
         "tan": "tan", "tanh": "tanh", "cbrt": "cbrt", "erf": "erf", "round-nearest-even": "rint"}


# --- PTX -------------------------------------------------------------------------------------------------------------------------------------
@dataclass
class Instruction:
    form: str
    guard: str
    dest: List[str]
    sources: List[str]
    to: str = ""  # label of a branch


def registers(text: str) -> List[str]:
    return re.findall(r"%[a-z]+\d+", text)


def parse(ptx: str) -> Tuple[List[Instruction], Dict[str, int]]:
    """The instructions of the first kernel, and the number that each label stands before."""
    out: List[Instruction] = []
    labels: Dict[str, int] = {}
    body = ptx[ptx.index(".visible .entry"):]
    for line in re.sub(r"//[^\n]*", "", body[body.index("{"):]).splitlines():
        label = re.match(r"^\s*(\$?\w+):", line)
        if label:
            labels[label.group(1)] = len(out)
            line = line[label.end():]
        for statement in re.sub(r"^\s*\{|\}\s*$", "", line).split(";"):
            text = statement.strip()
            guard = re.match(r"^@!?(%p\d+)\s+", text)
            form = price_forms.one(text)
            if form is None or not re.match(r"^(@|[a-z])", text):
                continue
            args = price_forms.operands(re.sub(r"^(@\S+\s+)?\S+\s*", "", text))
            stores = form.startswith(("st.", "bra", "ret", "bar"))
            locals_of_asm = [re.sub(r"\b([a-z])\b", r"%asm_\1", a) if not a.startswith("%") else a for a in args]
            names = [re.findall(r"%[a-z]+_?\w*", a) for a in locals_of_asm]
            out.append(Instruction(form, guard.group(1) if guard else "", [] if stores or not names else names[0],
                                   [n for a in (names if stores else names[1:]) for n in a], args[0] if form.startswith("bra") and args else ""))
    return out, labels


def longest_way(code: Sequence[Instruction], labels: Dict[str, int], weight: Sequence[float]) -> List[int]:
    """The way from the entry to a `ret` with the largest weight, no branch backwards taken. The usual values take it, by the polynomial; zeros,
    infinities and nans leave it. A slow path for large arguments lies on it too."""
    best: Dict[int, Tuple[float, int]] = {}  # by instruction: the weight from there on, and the instruction that follows
    for at in range(len(code) - 1, -1, -1):
        i = code[at]
        following = [labels[i.to]] if i.to in labels and labels[i.to] > at else []
        following += [at + 1] if (not i.to or i.guard) and i.form not in ("ret", "exit") else []
        ways = [(best[to][0] + weight[at], to) for to in following if to in best]
        if i.form in ("ret", "exit"):
            ways.append((0.0, -1))
        if ways:
            best[at] = max(ways)
    way, at = [], 0
    while at >= 0 and at in best:
        way.append(at)
        at = best[at][1]
    return way


def elements(form: str) -> int:
    """That a store stores."""
    found = re.search(r"\.v([248])\.", form)
    return int(found.group(1)) if found else 1


def predicted(ptx: str, s: RuleSet, table: prices.Table, sass: prices.Sass) -> Tuple[float, float, List[str]]:
    """Of what depends on what is loaded: latency of the longest chain, clocks of the busiest pipe for one element, forms without a price."""
    code, labels = parse(ptx)
    ready: Dict[str, float] = {}
    clocks, issue, longest, branched, stored = [0.0] * len(prices.UNITS), 0.0, 0.0, 0.0, 0
    lacking: List[str] = []
    found = [table.price(i.form, s.values["name"]) or table.price(i.form.split(" ")[0], s.values["name"]) for i in code]
    costs = [prices.cost(p, sass, s) if p is not None else None for p in found]
    for k in longest_way(code, labels, [c.issue if c else 1.0 for c in costs]):
        i, c = code[k], costs[k]
        if i.form.startswith("ld.global"):
            ready.update({r: branched for r in i.dest})
            continue
        known = [ready[r] for r in [*i.sources, i.guard] if r in ready]
        if not known:
            for r in i.dest:
                ready.pop(r, None)
            continue
        start = max([*known, branched])
        if i.form.startswith("st."):
            longest, stored = max(longest, start), stored + elements(i.form)
            continue
        if c is None:
            lacking.append(i.form)
            continue
        issue += c.issue
        clocks = [a + b for a, b in zip(clocks, c.cycles)]
        if i.form.startswith("bra"):
            branched = max(branched, start)
        ready.update({r: start + c.latency for r in i.dest})
    return longest, max(issue, *clocks) / max(1, stored), lacking


# --- measured ----------------------------------------------------------------------------------------------------------------------------------
def fusion(opcode: str, t: str) -> str:
    x, two = f"{t}[1]", opcode in TWO
    operands = "a, b" if two else "a"
    parameters = "".join(f"  {n} = {x} parameter({k})\n" for k, n in enumerate("ab"[:1 + two]))
    return (f"HloModule m\n\nbody {{\n{parameters}  ROOT r = {x} {opcode}({operands})\n}}\n\n"
            f"ENTRY main {{\n{parameters}  ROOT f = {x} fusion({operands}), kind=kLoop, calls=body\n}}\n")


def kernel_of_xla(shared: Path, opcode: str, t: str) -> Optional[str]:
    """XLA's PTX of the smallest fusion of that operation alone."""
    folder, name = shared / "anchors/ptx/programs", f"{STEMS.get(opcode, '-')}_{t}"
    found = [f for kind in ("un", "bin", "int") for f in folder.glob(f"{kind}_{name}.*__wrapped_*.ptx")]
    found.sort(key=lambda f: (".S__" not in f.name, f.name))
    return found[0].read_text() if found else None


def ranks(values: Sequence[float]) -> List[float]:
    """Ranks from 1; equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=lambda k: values[k])
    out, at = [0.0] * len(values), 0
    while at < len(order):
        end = at
        while end + 1 < len(order) and values[order[end + 1]] == values[order[at]]:
            end += 1
        for k in order[at:end + 1]:
            out[k] = (at + end) / 2 + 1
        at = end + 1
    return out


def correlation(x: Sequence[float], y: Sequence[float]) -> float:
    """Spearman's."""
    a, b = ranks(x), ranks(y)
    ma, mb = statistics.fmean(a), statistics.fmean(b)
    over = math.sqrt(sum((p - ma) ** 2 for p in a) * sum((q - mb) ** 2 for q in b))
    return sum((p - ma) * (q - mb) for p, q in zip(a, b)) / over if over else 0.0


@dataclass
class Row:
    target: str
    opcode: str
    type: str
    measured: float
    chain: float
    busiest: float

    @property
    def price(self) -> float:
        return max(self.chain, self.busiest)


def compiled(args: argparse.Namespace, opcode: str, t: str, target: str, folder: Path) -> Optional[str]:
    path = folder / f"{opcode}_{t}.hlo"
    path.write_text(fusion(opcode, t))
    command = [args.warpburg, "compile", str(path), "--target", target, "--emit", "ptx", "--accuracy", args.accuracy]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def main() -> int:
    p = argparse.ArgumentParser()
    p.add_argument("warpburg", nargs="?", default="build/warpburg")
    p.add_argument("--shared", default="../shared")
    p.add_argument("--targets", default="sm_75,sm_80,sm_86,sm_90,sm_100")
    p.add_argument("--ours", action="store_true", help="price our PTX instead of XLA's")
    p.add_argument("--accuracy", default="exact", choices=("exact", "xla", "approx"), help="of ours")
    p.add_argument("--worst", type=int, default=5, metavar="N", help="how many to list of each target")
    p.add_argument("--least", type=float, default=0.7, metavar="R", help="the rank correlation that each target must have")
    args = p.parse_args()
    source = Path(args.shared) / "reference" / "xla-op-cycles.tsv"
    if not source.exists():
        print(f"skipped: {source} is not there")
        return 0
    sass = prices.load_sass()
    table = prices.load_table(sass)
    sets = {s.values["name"]: s for s in map(load.load_target, load.targets()) if s.values["name"] in args.targets.split(",")}
    rows: List[Row] = []
    left_out: List[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for line in source.read_text().splitlines()[1:]:
            target, opcode, t, cycles = line.split("\t")
            if target not in sets or t not in TYPES:
                continue
            text = compiled(args, opcode, t, target, Path(folder)) if args.ours else kernel_of_xla(Path(args.shared), opcode, t)
            if text is None:
                left_out.append(f"{target} {opcode} {t}: no PTX")
                continue
            chain, busiest, lacking = predicted(text, sets[target], table, sass)
            if lacking or not chain:
                why = f"no price of {', '.join(sorted(set(lacking)))}" if lacking else "no chain from a load to a store"
                left_out.append(f"{target} {opcode} {t}: {why}")
            else:
                rows.append(Row(target, opcode, t, float(cycles), chain, busiest))
    return report(rows, left_out, args.worst, args.least)


def report(rows: List[Row], left_out: List[str], worst: int, least: float) -> int:
    print(f"{'':8}{'operations':>11}{'rank correlation':>18}{'of the chain':>14}{'busiest pipe':>14}{'median ratio':>14}{'within 2x':>11}")
    ratios: List[Tuple[float, Row]] = []
    low = False
    groups = [(t, [r for r in rows if r.target == t]) for t in dict.fromkeys(r.target for r in rows)]
    groups += [(kind, [r for r in rows if r.type in members]) for kind, members in (
        ("integers", TYPES[:8]), ("f16", ("f16",)), ("f32", ("f32",)), ("f64", ("f64",)))]
    for name, of in groups:
        if len(of) < 3:
            continue
        measured = [r.measured for r in of]
        median = statistics.median(r.price / r.measured for r in of)
        near = sum(0.5 <= r.price / r.measured / median <= 2 for r in of) / len(of)
        value = correlation([r.price for r in of], measured)
        print(f"{name:8}{len(of):11}{value:18.3f}{correlation([r.chain for r in of], measured):14.3f}"
              f"{correlation([r.busiest for r in of], measured):14.3f}{median:14.2f}{near:11.0%}")
        if name.startswith("sm_"):
            low = low or value < least
            ratios += [(r.price / r.measured / median, r) for r in of]
    print("\nfurthest off of each target: predicted over measured, over the median of the target")
    for target in dict.fromkeys(r.target for _, r in ratios):
        for ratio, r in sorted((x for x in ratios if x[1].target == target), key=lambda x: -abs(math.log(x[0])))[:worst]:
            print(f"  {ratio:6.2f}  {r.target:7}{r.opcode}.{r.type}: chain {r.chain:.0f}, busiest pipe {r.busiest:.0f}, measured {r.measured:.0f}")
    why_not = Counter(why.split(": ", 1)[1] for why in left_out)
    for why, n in why_not.most_common():
        print(f"left out: {n} operations: {why}")
    return int(low)


if __name__ == "__main__":
    sys.exit(main())
