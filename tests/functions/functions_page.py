"""docs/functions.md: the error of every lowering of every function, and its machine instructions beside those of libdevice and XLA.

usage: functions_page.py [--update] [--xla BUILD --shared FOLDER]

Checks that the page is what patterns/measured.tsv and tests/functions/xla.tsv say (--update writes it), that every lowering of the rules has
been measured, and that no lowering of ours that is preferred to libdevice's has more machine instructions on any target, or, where it is of integers, is busy
for longer. --xla runs XLA's kernels
of --shared in the simulator and writes xla.tsv. Ends with `N passed, M failed`.
"""
from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import formula_errors  # noqa: E402
from gen import load, measured, ops  # noqa: E402
from gen.proof import measure  # noqa: E402
from gen.measured import Lowering, Row  # noqa: E402

PAGE, XLA = ROOT / "docs" / "functions.md", ROOT / "tests" / "functions" / "xla.tsv"
PRICES = [ROOT / "tests" / "bench" / "function_prices.tsv", ROOT / "shaderdb" / "history" / "function_prices_before.tsv"]
TYPES = (("f32", "f32"), ("f64", "f64"), ("f16", "f16"), ("bf16", "bf16"))
EMPTY = {"f32": "un_neg_f32", "f64": "un_neg_f64", "f16": "un_abs_f16", "bf16": "un_abs_bf16"}  # XLA's kernels whose function is one instruction
EMPTY_TWO = {"f32": "bin_add_f32", "f64": "bin_add_f64", "f16": "bin_mul_f16", "bf16": "bin_copysign_bf16"}
NAMES = {"fmod": "rem"}  # the corpus', ours
OTHERS = ("un_exp2", "un_atan", "bin_hypot", "bin_pow_bf16")  # no kernels of the function itself: exp of a product, atan2 by 1, a formula, operands swapped


class Theirs(NamedTuple):
    function: str
    file: str
    ulp: float
    noise: float
    at: str
    wrong: int
    sass: int


Listed = List[Tuple[Lowering, Optional[Row]]]


# --- the page -----------------------------------------------------------------------------------------------------------------------
def kind(x: Lowering) -> str:
    """`libdevice` for a call, `instruction` for one of the machine, else `ours`."""
    if any(r.kind == "call" for r in x.chain):
        return "libdevice"
    return "instruction" if x.rule.kind != "rewrite" else "ours"


def argument(bits: str, t: str) -> str:
    return ", ".join(value(int(b, 16), t) for b in bits.split(","))


def value(bits: int, t: str) -> str:
    import struct
    if t in ops.SMALL_FLOATS:
        return f"0x{bits:02x}"
    if t == "f64":
        v = struct.unpack("<d", struct.pack("<Q", bits))[0]
    elif t == "f16":
        v = struct.unpack("<e", struct.pack("<H", bits))[0]
    else:
        v = struct.unpack("<f", struct.pack("<I", bits << 16 if t == "bf16" else bits))[0]
    return re.sub(r"\.?0*p", "p", v.hex()) if v == v and abs(v) != float("inf") else str(v)


def number(x: float) -> str:
    return f"{x:.4g}" if x < 1000 else f"{x:.0f}"


def table(listed: Listed, t: str, approx: bool, targets: List[str], xla: Dict[str, Theirs]) -> List[str]:
    """The rows of one type: each lowering of each function, then XLA's."""
    budgets, out, last = load.budgets(), [], ""
    for x, row in listed:
        if x.type != t or x.approx != approx:
            continue
        if x.function != last and last in xla and not approx:
            out.append(theirs(xla[last], t, targets))
        ulp, loose, absolute = budgets[x.op, x.type]
        theirs_may = load.xla_budgets()[x.op, x.type][0]
        dagger = "†" if (x.op, x.type) in load.marked_xla() else ""
        more = f", xla {theirs_may:g}{dagger}" if not approx and theirs_may > ulp else ""
        allowed = f"{loose if approx else ulp:g}{more}" + (f" + 2^{measure.math.log2(absolute):.1f}" if approx and absolute else "")
        cells = [f"**{x.op}**" if x.function != last else "", kind(x), allowed if x.function != last else ""]
        if row is None:
            cells += ["not measured", "", "", ""] + [""] * len(targets)
        else:
            sass = dict(w.split("=") for w in row.sass.split() if "=" in w)
            noise = number(row.noise) if row.noise > row.ulp + 5e-5 else ""
            cells += [number(row.ulp), argument(row.at, t) if row.ulp else "", noise, f"{row.values:,} ({row.how})", *(sass.get(s, "") for s in targets)]
        out.append("| " + " | ".join([*cells, f"`{x.rule.name.replace('patterns/', '')}`"]) + " |")
        last = x.function
    if last in xla and not approx:
        out.append(theirs(xla[last], t, targets))
    return out


def theirs(x: Theirs, t: str, targets: List[str]) -> str:
    sass = [str(x.sass) if s == "sm_90" else "" for s in targets]
    noise = number(x.noise) if x.noise > x.ulp + 5e-5 else ""
    return "| " + " | ".join(["", "XLA's", "", number(x.ulp), argument(x.at, t) if x.ulp else "", noise, "a sample", *sass, f"`{x.file}`"]) + " |"


def small_table(listed: Listed) -> List[str]:
    """f8 and f4, computed through f32: a row for each function, with the worst of these types."""
    out = []
    for op in dict.fromkeys(x.op for x, _ in listed):
        rows = [r for x, r in listed if x.op == op and x.type in ops.SMALL_FLOATS and not x.approx and r]
        if rows:
            worst = max(rows, key=lambda r: r.ulp)
            at = f"{worst.function.split('.')[1]} {worst.at}" if worst.ulp else ""
            out.append(f"| {op} | {len(rows)} | {number(worst.ulp)} | {at} | {sum(r.wrong for r in rows)} |")
    return out


HEAD = """# Functions: their errors and their costs

Generated by `tests/functions/functions_page.py` from `patterns/measured.tsv`, which `python -m gen.proof.measure` writes; `./dev test` compares all three, and
`./dev test --all` repeats the measurements that cover every value (half an hour).

Each function has a list of lowerings, best first (`patterns/functions.py`, `halves.py`, `polynomials.py`, `angles.py`, `doubles.py`, `fixed.py`): an
instruction whose error is within the budget, a formula of ours, libdevice. The first that the target has is taken; `gen/` refuses one whose
measured error exceeds its budget. Each is measured alone, in a kernel that runs in the simulator.

- *ulp*: the largest error, in units in the last place of the exact result, and *at* which argument. 0.5 is correct rounding. The exact
  result is libm's double for 32 bits and less; for f64 it is MPFR with 200 bits wherever long double finds an error near the largest. Here every
  approximate instruction returns the exact value rounded once, the best that any machine could do, so the error is that of the formula.
- *noise*: the same where every approximate instruction misses by as much as the PTX manual allows, at random for each argument, in either direction;
  shown where it is larger. Our lowerings must keep their budgets with it. A machine always gives the same bits for the same argument, somewhere
  between the two columns; the manual does not say where. libdevice's authors knew, so for libdevice the first column counts.
- Of ours in f32, exp, logistic, tanh, and pow where f64 is slow, exceed 2 units with noise alone. The cause is ex2, for which PTX states an error of
  2^-22 of the value: 2 units, and 4 just below a power of two. libdevice's expf is our exp, with the same instruction and as many others; CUDA
  states 2 units for it and for exp2f, which is ex2 with its argument scaled, after running every value. exp without ex2, by EXPM1's polynomial of
  `polynomials.py`, misses by 0.87 units without any noise, but has 16 instructions before its range is clamped, where these have 10: it would be
  longer than libdevice's, which no lowering of ours may be by over a fifth but those of `fixed.py`, of which a pipe must take fewer clocks.
  `logistic` corrects the error of its reciprocal, so ex2's error alone remains.
- *arguments*: how many, and which: all; every 257th (or 16381st) bit pattern; drawn: half of them random bits, half between 2^-20 and 2^7; and
  always the edges: every power of two, the constants of the formula, multiples of pi/2 and ln(2)/2, overflow and underflow, each with its
  neighbours; zeros, infinities, nans, subnormals. A wrong nan, infinity or zero, or a zero with the wrong sign, is a failure.
- *sm_80*, ..: machine instructions beyond those of a kernel whose function is one instruction (neg; add), plus one; what seldom runs, behind a
  branch for odd values, is not counted. For XLA: those of its own kernel
  for the same function on small arrays, from its PTX, less those of its kernel for negation (16 bits: abs), plus one, \
without the subroutines
  that ptxas appends to a kernel (for div, sqrt), but with all other code for odd values.
- *budget*: in units in the last place; at `--accuracy approx`, and of logistic at `xla`, a budget may have an absolute part besides, and the ulp
  column counts what exceeds it.
- *xla*: in the column of the budget, that of `--accuracy xla` where it is larger; † : there the function is lowered as under `approx`. XLA's own lowerings
  are within it, with the errors that the PTX manual allows.
"""


def page(listed: Listed, xla: Dict[str, Theirs]) -> str:
    targets = sorted({w.split("=")[0] for _, r in listed if r for w in r.sass.split() if "=" in w}, key=lambda s: int(s[3:]))
    head = ["| function | lowering | budget | ulp | at | noise | arguments | " + " | ".join(targets) + " | rule |",
            "|---|---|---:|---:|---|---:|---|" + "---:|" * len(targets) + "---|"]
    out = [HEAD]
    for t, title in TYPES:
        out += [f"## {title}\n", *head, *table(listed, t, False, targets, xla), ""]
    out += ["## f8, f4\n",
            "Computed through f32 and rounded: the worst over all values of all types of 8 bits and below. "
            "Here 0 is the exact result, rounded.\n",
            "| function | types | ulp | at | wrong |", "|---|---:|---:|---|---:|", *small_table(listed), ""]
    for t, title in TYPES:
        out += [f"## {title} at --accuracy approx\n", *head, *table(listed, t, True, targets, xla), ""]
    out += formula_errors.page()
    return "\n".join(out)


# --- XLA's kernels --------------------------------------------------------------------------------------------------------------------
def measure_xla(build: Path, shared: Path) -> List[Theirs]:
    """Runs the small kernels of the corpus whose function is one of ours."""
    rows = [line.split("\t") for line in (shared / "anchors" / "programs.tsv").read_text().splitlines()]
    columns, by_name = rows[0], {re.sub(r"\.S__.*", "", r[0]): r for r in rows[1:] if ".S__" in r[0]}
    sass = {n: int(r[columns.index("sass")]) for n, r in by_name.items() if r[columns.index("sass")].isdigit()}
    lowerings = {x.function: x for _, x in measured.keyed([load.load_target("sm90")]) if not x.approx and x.place == 0}
    out = []
    for name, r in by_name.items():
        m = re.fullmatch(r"(un|bin)_(\w+)_(f32|f64|f16|bf16)", name)
        function = f"{NAMES.get(m[2], m[2])}.{m[3]}" if m else ""
        if not m or function not in lowerings or name.startswith(OTHERS):
            continue
        x, file = lowerings[function], r[0]
        ptx = shared / "anchors" / "ptx" / "programs" / file.replace(".hlo", ".ptx")
        text = (shared / "corpus" / "programs" / file).read_text()
        dims = re.search(r"ROOT %\S+ = \w+\[([\d,]+)\]", text)
        if not dims or not ptx.exists():
            continue
        elements = str(measure.math.prod(map(int, dims[1].split(","))))
        slack = load.xla_budgets()[x.op, x.type][1]
        block, grid = (r[columns.index(c)].split(",")[0] for c in ("block", "grid"))
        p = subprocess.run([str(build / "tests" / "measure"), str(ptx), elements, grid, block],
                           input="".join(measure.job(x, r[1], "sample", noise, slack) for noise in (0, 1)), capture_output=True, text=True)
        quiet, *noisy = [line.split() for line in p.stdout.splitlines()] or [[]]
        if not quiet:
            print(f"{file}: {p.stderr.strip()[:200]}")
            continue
        empty = (EMPTY if m[1] == "un" else EMPTY_TWO)[m[3]]
        out.append(Theirs(function, file.replace(".hlo", ""), float(quiet[2]), float(noisy[0][2]) if noisy else 0.0, quiet[3], int(quiet[4]),
                          sass[name] - sass[empty] + 1))
    return out


def read_xla() -> Dict[str, Theirs]:
    lines = XLA.read_text().splitlines()[1:] if XLA.exists() else []
    found = [line.split("\t") for line in lines]
    return {w[0]: Theirs(w[0], w[1], float(w[2]), float(w[3]), w[4], int(w[5]), int(w[6])) for w in found}


# Targets that came later, and one of before whose f64 is as slow: that decides which pipe of libdevice's is the busiest.
OLD_F64 = {"sm_103": "sm_120", "sm_110": "sm_120"}


# --- checks -----------------------------------------------------------------------------------------------------------------------------
def cheaper() -> Dict[Tuple[str, str], bool]:
    """(function, target) -> whether the busiest pipe of ours takes fewer clocks than what stood before, libdevice's."""
    clocks = {tuple(w[:3]): float(w[5]) for w in (line.split("\t") for p in PRICES for line in p.read_text().splitlines()[1:])}
    return {(f, t): c < clocks.get(("before", f, OLD_F64.get(t, t)), 0) for (state, f, t), c in clocks.items() if state == "exact"}


# Ours may be longer by a fifth: what usual operands execute differs by a tenth with the layout, and a branch costs more than its instructions, which is why
# ours avoid them where they can. rsqrt.f64 has none, so that the elements of a thread overlap; libdevice leaves zeros, subnormals and
# infinities to a subroutine.
LONGER, NO_BRANCH = 1.2, ("rsqrt.f64",)


def longer_than_libdevice(listed: Listed) -> List[str]:
    """Lists in which a lowering of ours comes before libdevice's and executes more machine instructions, and is not one of integers that is cheaper."""
    out, lists, priced = [], {}, cheaper()
    for x, row in listed:
        if row:
            lists.setdefault((x.function, x.approx, x.set.name), []).append((x, row))
    for found in lists.values():
        x, row = found[0]
        for other, theirs_ in found[1:]:
            if kind(x) == "libdevice" or kind(other) != "libdevice":
                continue
            target = x.set.values["name"]
            a, b = (dict(w.split("=") for w in r.sass.split() if "=" in w).get(target) for r in (row, theirs_))
            may = x.function in NO_BRANCH or ("fixed.py" in x.rule.name and priced.get((x.function, target)))
            if a and b and int(a) > LONGER * int(b) and not may:
                out.append(f"{x.function} on {target}: {a} instructions by {x.rule.name}, {b} by {other.rule.name}")
    return out


def beyond_budget(xla: Dict[str, Theirs]) -> List[str]:
    """XLA's lowerings that are off by more than the budget of --accuracy xla."""
    budgets = {f"{op}.{t}": xla_ulp for (op, t), (xla_ulp, _) in load.xla_budgets().items()}
    return [f"{x.file}: XLA's {x.function} is off by {max(x.ulp, x.noise):g} ulp, its budget at --accuracy xla is {budgets[x.function]:g}"
            for x in xla.values() if max(x.ulp, x.noise) > max(0.5, budgets[x.function]) + 5e-4]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--xla", default="")
    parser.add_argument("--shared", default=str(ROOT.parent / "shared"))
    args = parser.parse_args()
    if args.xla:
        lines = ["\t".join(map(str, t)) for t in measure_xla(Path(args.xla), Path(args.shared))]
        XLA.write_text("\n".join(["\t".join(Theirs._fields), *lines]) + "\n", encoding="utf-8")
    entries = measured.keyed([load.load_index(), *(load.load_target(t) for t in load.targets())])
    rows, shown = measured.read(), {}
    for k, x in entries:  # one row for a lowering that several targets share
        shown.setdefault((k, x.place), (x, rows.get(k)))
    order = {o.name: n for n, o in enumerate(ops.OPS)}
    listed = sorted(((x, rows.get(k)) for k, x in entries), key=lambda e: (order[e[0].op], e[0].type, e[0].approx, e[0].place))
    text = page(sorted(shown.values(), key=lambda e: (order[e[0].op], e[0].type, e[0].approx, e[0].place)), read_xla())
    faults = longer_than_libdevice(listed) + beyond_budget(read_xla())
    faults += sorted({f"{x.function} {x.mode}: not measured with the rules as they are: run ./dev rule --all" for x, row in listed if row is None})
    if args.update:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        faults.append("docs/functions.md is not what the measurements say: run tests/functions/functions_page.py --update")
    print("\n".join([*faults, f"{len(entries) + 1 - len(faults)} passed, {len(faults)} failed"]))
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
