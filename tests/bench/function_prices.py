#!/usr/bin/env python3
"""What a function costs on each target: issue slots, clocks of each pipe, and the modelled time of a kernel, beside XLA's own lowering.

    function_prices.py [WARPBURG] [--shared DIR] [--targets sm_80,sm_90] [--only TEXT] [-j N] [--update | --check]

A kernel that computes the function of ELEMENTS values is profiled (`run --profile`, docs/profile.md), on positive inputs. From it the kernel of a
negation, of an addition where the function has two operands, is subtracted: what is left is the function's, for one element of a warp. XLA's PTX for the
same function on few elements (DIR/anchors) is treated likewise, on sm_90 and later targets. `us` is the time of a kernel of ELEMENTS: the terms of ours for a
negation or an addition, and the function's besides, by the formula of docs/profile.md.

--update writes function_prices.tsv and docs/function-prices.md.
--check compares the lines of `exact` and `xla` with the file, and says which exact function has a busier pipe than XLA's, or issues over 1.7 times as much.
"""
from __future__ import annotations

import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Tuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "shaderdb"), str(ROOT / "tests" / "common")]

from patterns.layouts import SUM  # noqa: E402
from tools import environment, find_warpburg  # noqa: E402
from warpburg_cli import TARGETS  # noqa: E402

NORM = next(t.value for t in SUM if t.name == "price.norm")  # src/price/time.h, of which profiles are made

TABLE, PAGE = HERE / "function_prices.tsv", ROOT / "docs" / "function-prices.md"
ELEMENTS = 1 << 24
THEIR_TARGETS = tuple(t for t in TARGETS if int(t[3:]) >= 90)  # XLA's PTX is for sm_90
BUSIEST, ISSUED = 1.0, 1.7  # of XLA's: what an exact function may have, where memory does not bind

# function -> HLO of its result y, of a and b; the stem of XLA's kernel; what to replace in it
FUNCTIONS: Dict[str, Tuple[str, str, str]] = {
    "div.f32": ("divide(a, b)", "bin_div_f32", ""), "rcp.f32": ("divide(one, a)", "un_recip_f32", ""),
    "sqrt.f32": ("sqrt(a)", "un_neg_f32", "sqrt.approx.f32"), "rsqrt.f32": ("rsqrt(a)", "un_neg_f32", "rsqrt.approx.f32"),
    "exp.f32": ("exponential(a)", "un_exp2_f32", ""), "expm1.f32": ("exponential-minus-one(a)", "un_expm1_f32", ""),
    "log.f32": ("log(a)", "un_log_f32", ""), "log1p.f32": ("log-plus-one(a)", "un_log1p_f32", ""), "tanh.f32": ("tanh(a)", "un_tanh_f32", ""),
    "logistic.f32": ("logistic(a)", "un_logistic_f32", ""), "sin.f32": ("sine(a)", "un_sin_f32", ""), "cos.f32": ("cosine(a)", "un_cos_f32", ""),
    "tan.f32": ("tan(a)", "un_tan_f32", ""), "pow.f32": ("power(a, b)", "bin_pow_f32", ""), "cbrt.f32": ("cbrt(a)", "un_cbrt_f32", ""),
    "rcp.bf16": ("divide(one, a)", "un_recip_bf16", ""), "rsqrt.bf16": ("rsqrt(a)", "un_rsqrt_bf16", ""), "exp.bf16": ("exponential(a)", "un_exp_bf16", ""),
    "div.f64": ("divide(a, b)", "bin_div_f64", ""), "exp.f64": ("exponential(a)", "un_exp_f64", ""), "log.f64": ("log(a)", "un_log_f64", ""),
    "tanh.f64": ("tanh(a)", "un_tanh_f64", ""), "sin.f64": ("sine(a)", "un_sin_f64", ""), "cos.f64": ("cosine(a)", "un_cos_f64", ""),
    "tan.f64": ("tan(a)", "un_tan_f64", ""), "erf.f64": ("erf(a)", "un_erf_f64", ""),
}
EMPTY = {("f32", 1): ("negate(a)", "un_neg_f32"), ("f32", 2): ("add(a, b)", "bin_add_f32"), ("f64", 1): ("negate(a)", "un_neg_f64"),
         ("f64", 2): ("add(a, b)", "bin_add_f64"), ("bf16", 1): ("abs(a)", "un_abs_bf16")}
Terms = Dict[str, float]  # seconds by name of the term, for one element of a warp


class Row(NamedTuple):
    state: str  # exact, xla, theirs
    function: str
    target: str
    issue: float
    pipe: str  # the busiest
    clocks: float
    us: float
    pipes: str


def hlo(result: str, t: str, n: int) -> str:
    x, two = f"{t}[{n}]", ", b)" in result
    names = "ab"[:1 + two]
    parameters = "".join(f"  {v} = {x} parameter({k})\n" for k, v in enumerate(names))
    one = f"  c = {t}[] constant(1)\n  one = {x} broadcast(c), dimensions={{}}\n" if "one" in result else ""
    operands = ", ".join(names)
    return (f"HloModule m\n\nbody {{\n{parameters}{one}  ROOT y = {x} {result}\n}}\n\n"
            f"ENTRY main {{\n{parameters}  ROOT f = {x} fusion({operands}), kind=kLoop, calls=body\n}}\n")


class Bench:
    def __init__(self, warpburg: str, shared: Path, folder: Path) -> None:
        self.warpburg, self.shared, self.folder = warpburg, shared, folder
        with open(shared / "anchors" / "programs.tsv", encoding="utf-8", newline="") as lines:
            self.rows = [r for r in csv.DictReader(lines, delimiter="\t") if r["status"] == "ok"]
        self.known: Dict[Tuple[str, ...], Optional[Tuple[Terms, Terms]]] = {}

    def profile(self, words: List[str], elements: int) -> Optional[Tuple[Terms, Terms]]:
        """(clocks of a sub-partition or slots for one element of a warp, seconds of each term of the launch)"""
        p = subprocess.run([self.warpburg, "run", *words, "--profile", "--json", "-j", "1", "--case", "p"], capture_output=True, text=True,
                           env={**os.environ, **dict(environment())})
        if p.returncode:
            return None
        launch = json.loads(p.stdout)["kernels"][0]["launches"][0]
        of = {k: v["amount"] * (4 if k.startswith("pipe.") else 1) / (elements / 32) for k, v in launch["terms"].items()
              if k == "issue" or k.startswith("pipe.")}
        return of, {k: v["us"] for k, v in launch["terms"].items()} | {"fixed": launch["launch"] + launch["latency"]} | \
            {f"rate {k}": v["rate"] for k, v in launch["terms"].items()}

    def ours(self, name: str, result: str, t: str, target: str, accuracy: str) -> Optional[Tuple[Terms, Terms]]:
        file = self.folder / f"{name}.hlo"
        file.write_text(hlo(result, t, ELEMENTS))
        level = ["--accuracy", accuracy] if accuracy != "exact" else []
        return self.profile([str(file), "--target", target, "--blocks", "2", *level], ELEMENTS)

    def theirs(self, stem: str, other: str, target: str) -> Optional[Tuple[Terms, Terms]]:
        row = next((r for r in self.rows if r["file"].startswith(stem + ".S__")), None)
        if row is None:
            return None
        text = (self.shared / "anchors/ptx/programs" / row["file"].replace(".hlo", ".ptx")).read_text()
        text = re.sub(r"\.target \w+", f".target {target}", text)
        if other:
            text = re.sub(r"\bneg\.f32\b", other, text)
        ptx = self.folder / f"{stem}{other}.{target}.ptx"
        ptx.write_text(text)
        source = self.shared / "corpus/programs" / row["file"]
        dims = re.search(r"ROOT %?\S+ = \w+\[([\d,]+)\]", source.read_text())
        if not dims:
            return None
        elements = 1
        for d in dims[1].split(","):
            elements *= int(d)
        return self.profile([str(source), "--ptx", str(ptx), "--grid", row["grid"], "--block", row["block"], "--padding", "256"],
                            (elements + 31) // 32 * 32)

    def empty(self, t: str, operands: int, target: str) -> Tuple[Optional[Tuple[Terms, Terms]], Optional[Tuple[Terms, Terms]]]:
        result, stem = EMPTY[t, operands]
        for key in (("ours", t, str(operands), target), ("theirs", t, str(operands), target)):
            if key not in self.known and (key[0] == "ours" or target in THEIR_TARGETS):
                self.known[key] = self.ours(f"empty_{t}_{operands}_{target}", result, t, target, "exact") if key[0] == "ours" else \
                    self.theirs(stem, "", target)
        return self.known["ours", t, str(operands), target], self.known.get(("theirs", t, str(operands), target))

    def row(self, state: str, function: str, target: str) -> Optional[Row]:
        result, stem, other = FUNCTIONS[function]
        t, operands = function.split(".")[1], 2 if ", b)" in result else 1
        mine, of_xla = self.empty(t, operands, target)
        found = self.theirs(stem, other, target) if state == "theirs" else \
            self.ours(f"{function}_{target}_{state}", result, t, target, "xla" if state == "xla" else "exact")
        base = of_xla if state == "theirs" else mine
        if not found or not base or not mine:
            return None
        cost = {k: max(0.0, found[0].get(k, 0.0) - base[0].get(k, 0.0)) for k in found[0]}
        if other and state == "theirs":  # neg was an instruction too
            cost["issue"] += 1
        terms = {k: v for k, v in mine[1].items() if k != "fixed" and not k.startswith("rate ")}
        for k, clocks in cost.items():
            terms[k] = terms.get(k, 0.0) + clocks * (ELEMENTS / 32) / (4 if k.startswith("pipe.") else 1) / mine[1][f"rate {k}"] * 1e6
        blocks = terms.pop("blocks", 0.0)
        us = mine[1]["fixed"] + max(sum(v**NORM for v in terms.values())**(1 / NORM), blocks)
        pipes = {k[5:]: v for k, v in cost.items() if k.startswith("pipe.")}
        busiest = max(pipes, key=lambda k: pipes[k])
        text = " ".join(f"{k}={v:.3g}" for k, v in pipes.items() if v >= 0.05)
        return Row(state, function, target, round(cost["issue"], 1), busiest, round(pipes[busiest], 1), round(us, 2), text)


# --- the file and the page ------------------------------------------------------------------------------------------------------------
def read() -> List[Row]:
    lines = TABLE.read_text(encoding="utf-8").splitlines()[1:] if TABLE.exists() else []
    found = [line.split("\t") for line in lines]
    return [Row(w[0], w[1], w[2], float(w[3]), w[4], float(w[5]), float(w[6]), w[7]) for w in found]


def write(rows: List[Row]) -> None:
    order, states = list(FUNCTIONS), ["exact", "xla", "theirs"]
    rows = sorted(rows, key=lambda r: (order.index(r.function), TARGETS.index(r.target), states.index(r.state)))
    TABLE.write_text("\n".join(["\t".join(Row._fields), *("\t".join(map(str, r)) for r in rows)]) + "\n", encoding="utf-8")


HEAD = """# What functions cost

Made by `tests/bench/function_prices.py --update` from the simulator's profiles and the prices of [profile.md](profile.md); no number was measured on a GPU.
A cell says *issue slots / clocks of the busiest pipe, its name / microseconds*: the first two are the function's own, for one element of each lane of a
warp, on a sub-partition; the time is that of a kernel that loads, computes and stores 2^24 elements, which memory binds nearly everywhere. Inputs are
positive, so a slow path for zeros, infinities or large arguments is not taken.

`exact` is the default; `xla` is `--accuracy xla`; `XLA's` is the PTX that XLA made for sm_90, assembled for it and for later targets.
"""


TRIED = """
## What was tried

**Quotients, reciprocals and roots of f32 by f32**, with a branch to the formula in f64 for odd values. One branch for each quotient, as ptxas makes
it of div.rn.f32, lengthens the chain of a thread up to 2.9 times: a softmax of bf16 took 1.45 times the time, the reduction of LAMB 1.34, a quotient by a
shared scale 1.58. One branch for all values of a thread (`src/vector/rare.c`), taken only where the price of the kernel falls by it
(`src/pipe/branch.c`), is what stands: over 113 fusions with quotients or roots (sm_90, every fourth of the corpus) the modelled time is 0.992 of the formula in
f64 alone, 0.75 at least, 1.010 at most. Every significand of the divisor with every estimate that the PTX manual allows, and each dividend whose quotient is
next to a tie, were tried. ptxas's own five steps are wrong for 2^k / (2 - 2^-23) if the estimate is 1/2; r + r (e + e^2) does not mend it, since e + e^2 has
25 bits; the divisor's odd values are tested for instead.

**Kernels of few warps**, eight on a scheduler at most, wait for results and for code, and have one or two quotients a thread. With one warp on a scheduler
they had the formula in f64: the latency of our branch is longer than what the quick way saves; with more they had both, and the code of both comes to each
SM. There `div.rn`, `rcp.rn` and `sqrt.rn` stay as they are (the condition `few_warps` of their rules): their test and their five steps overlap, and the
subroutine for odd values is fetched only where it is called. Of 129 loops with a function (every third of the corpus, sm_90) 44 changed by the first warp of
a scheduler, to 0.972 of their modelled time in the geometric mean, 0.91 at least, 1.002 at most, and of these 34 take at most 1.01 of XLA's, 8 before; of 183
(every second) 13 by the other seven, to 0.979, 0.96 at least, 1.002 at most. Reductions of few warps have many quotients a thread: nine changed, 0.94 to
1.07, so they keep ours.

**A root in 1.7 times XLA's issue slots** (6.8 of 4) was not found: ptxas's own steps of sqrt.rn are wrong for two significands if the estimate is at some
values that the manual allows, and the shortest steps found right are 8 operations besides the test, 9.2 slots on sm_90.

**Zeros.** Where f64 is slow (sm_86, sm_89, sm_120), one lane on the long way takes a warp some 600 clocks, so a dividend of -0 (as masked gradients have)
and a zero under a root take the quick way there: one operation more for a quotient, two for a root. Elsewhere they take the long way.

**sine, cosine, tangent of f32 where f64 is slow.** The reduced argument of 64 bits was converted to f32 with three conversions of 64 bits, and each
takes 64 clocks there. Its magnitude in two integers of 32 bits costs 7 instructions more and 16 clocks or none instead of 192: the kernel of a sine takes
422 us for 487 on sm_75, 226 for 258 on sm_86, 77 for 80 on sm_120.

**sine, cosine, tangent of f32 below 2^17** take three multiples of pi/2 off the argument by f32, behind the branch that quotients have: issue slots and
clocks of the busiest pipe go from 24 and 16 to 19 and 12 on sm_90, from 50 and 44 to 18 and 14 on sm_120; a kernel of cosines takes
0.94 of the time on sm_90. The cosine needs three coefficients, as its error may be two units; the tangent by a polynomial of its own and one
reciprocal is 6 slots shorter than the quotient of sine and cosine. Without the step that corrects the reciprocal it misses by 4.6 units of 4. Two
parts of pi/2 would miss near its multiples. A value beyond 2^17 takes the long way alone: the two ways differ in the last bits.

**sine, cosine, tangent, erf and exp of f64 where f64 is slow** kept its unit busy for 896 to 2624 clocks: libdevice has 16 operations of f64 for a sine, 41
for erf, ours had 14 for exp, and one takes 64 clocks (sm_75, sm_86, sm_89, sm_120). A sine in f64 of ours would have had 14. In integers with a fixed point
(`patterns/fixed.py`) the upper half of a product of 64 bits is seven instructions, some 12 clocks: 190 instructions a sine, 170 exp, 370 erf, 200 and six
operations of f64 a tangent. Their errors are 0.6, 0.5, 0.8 and 1.9 units, of what stood before 1.5, 0.9, 1.4 and 1.9, and no argument takes longer. What
`IMAD.WIDE` takes is not stated; if two clocks for one of IMAD, as on sm_90, the pipe is busy for up to 1.4 times as long. Lanes of many exponents read the
table of 2/pi one after the other, which no price has. On sm_80, sm_90 and sm_100 they would take longer than libdevice's.

**tanh of f64** kept both operands of its quotient in two parts, within 1.0 units; its budget is two. Rounded, with the error of the sum alone corrected, it
misses by 1.8 and has 32 operations for 39. Without that correction it would miss by 2.6. Without the two parts of e^2|a| - 1, too, it has 5 fewer, but
1.93 units of 2 were seen in 2 10^7 arguments.

**tanh of f32** needs the machine's exponential and reciprocal, 16 clocks of one unit for XLA's 15 of another, at 15 issue slots for 23: its kernels are
faster than XLA's. An exponential by a polynomial would balance the units at 9 slots more.

**exp of f64** where f64 is fast has 15 operations of that unit, as libdevice's: arguments beyond 708 are told by their high word, as a number of f32, and go
behind a branch that shares the steps before it. It was 18, of which three compared the argument and multiplied twice by a power of two. Where f64 is slow
that took 0.84 of the time (sm_75, sm_86) or 0.87 (sm_120), before it was of integers.

**pow of f32 by f64** kept the unit of conversions busy for 72 clocks, XLA's any unit for 52. Now it is 46: the exponent becomes a number by a sum with
2^52; one trunc of b / 2 says whether b is whole and whether it is odd; for a size of 0 or inf the product is clamped, in place of the machine's functions
beside the formula. Sums that change the high word alone are written as such: ptxas keeps the carry of a sum of 64 bits even if the low words are 0.
By f32 alone it would be 48 clocks for 46 where f64 is fast, but 81 issue slots for 65, and an error of 1.1 units for 0.53: left.
"""


def page(rows: List[Row]) -> str:
    by = {(r.state, r.function, r.target): r for r in rows}
    out = [HEAD, "| function | | " + " | ".join(TARGETS) + " |", "|---|---|" + "---|" * len(TARGETS)]
    cell = lambda r: f"{r.issue:g} / {r.clocks:g} {r.pipe} / {r.us:g}" if r else ""
    for f in FUNCTIONS:
        lines: List[Tuple[str, List[str]]] = []
        for state, title in (("exact", "exact"), ("xla", "xla"), ("theirs", "XLA's")):
            cells = [cell(by.get((state, f, t))) for t in TARGETS]
            if lines and state in ("exact", "xla") and cells == lines[-1][1]:
                lines[-1] = (f"{lines[-1][0]}, {title}", cells)
            elif any(cells):
                lines.append((title, cells))
        out += ["| " + " | ".join([f"**{f}**" if n == 0 else "", title, *cells]) + " |" for n, (title, cells) in enumerate(lines)]
    beyond = exceeding(rows)
    out += ["", f"Exact functions whose busiest pipe is busier than XLA's, or which issue over {ISSUED} times as much, alone: "
            f"{len(beyond)} of {sum(r.state == 'exact' and ('theirs', r.function, r.target) in by for r in rows)}.", "", *beyond, TRIED]
    return "\n".join(out) + "\n"


def exceeding(rows: List[Row]) -> List[str]:
    theirs = {(r.function, r.target): r for r in rows if r.state == "theirs"}
    out: Dict[str, List[str]] = {}
    for r in rows:
        x = theirs.get((r.function, r.target))
        if r.state == "exact" and x and x.clocks and x.issue and (r.clocks / x.clocks > BUSIEST + 0.01 or r.issue / x.issue > ISSUED + 0.01):
            out.setdefault(r.function, []).append(f"{r.target} {r.clocks / x.clocks:.2f} and {r.issue / x.issue:.2f}")
    return [f"- {f}: {'; '.join(words)}" for f, words in out.items()]


def main() -> int:
    p = argparse.ArgumentParser()
    p.add_argument("warpburg", nargs="?", default="")
    p.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    p.add_argument("--targets", default=",".join(TARGETS))
    p.add_argument("--only", default="", help="functions whose name contains this")
    p.add_argument("-j", type=int, default=min(2, os.cpu_count() or 1), dest="jobs")
    p.add_argument("--update", action="store_true")
    p.add_argument("--check", action="store_true")
    o = p.parse_args()
    if not (o.shared / "anchors").is_dir():
        print(f"skipped: {o.shared}/anchors is not there")
        return 0
    states = ["exact", "xla"] if o.check else ["exact", "xla", "theirs"]
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(find_warpburg(o.warpburg), o.shared, Path(folder))
        targets = [t for t in TARGETS if t in o.targets.split(",")]
        functions = [f for f in FUNCTIONS if o.only in f]
        with ThreadPoolExecutor(o.jobs) as pool:
            list(pool.map(lambda t: [bench.empty(*k, t) for k in EMPTY], targets))
            work = [(s, f, t) for f in functions for t in targets for s in states if s != "theirs" or t in THEIR_TARGETS]
            found = [r for r in pool.map(lambda w: bench.row(*w), work) if r]
    made = {(r.state, r.function, r.target): r for r in found}
    known = {(r.state, r.function, r.target): r for r in read()}
    if o.check:
        wrong = [k for k, r in made.items() if known.get(k) != r]
        for k in wrong:
            print(f"{' '.join(k)}: {made[k]}, the file has {known.get(k)}")
        print(f"{len(made) - len(wrong)} passed, {len(wrong)} failed")
        return int(bool(wrong))
    if o.update:
        rows = list({**known, **made}.values())
        write(rows)
        PAGE.write_text(page(rows), encoding="utf-8")
    for r in found:
        print("\t".join(map(str, r)))
    print("\n".join(exceeding(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
