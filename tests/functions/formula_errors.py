"""The errors of functions that are not HLO operations but formulas of them (erfc, erf-inv, lgamma, digamma, ..), and of exact operations.

usage: formula_errors.py WARPBURG [--shared FOLDER] [--update]

The corpus has small kernels of one such function each. They are compiled for sm_90; those of one or two floats run in the simulator, by
tests/measure, and so does XLA's kernel for the same text. A formula is no more exact than its text, so our error may be at most a tenth and
half a unit larger than XLA's; exact operations must be exact. Of integers and complex values only the machine instructions are counted.
tests/functions/formulas.tsv must agree with what is found (--update writes it); docs/functions.md shows it. Ends with `N passed, M failed`.
"""
from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, NamedTuple, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from gen.proof.sass import instructions  # noqa: E402

TABLE = ROOT / "tests" / "functions" / "formulas.tsv"
FORMULAS = {"erfc": "erfc", "erf_inv": "erf_inv", "lgamma": "lgamma", "digamma": "digamma", "exp2": "exp2", "atan": "atan", "hypot": "hypot"}
# The corpus's names of functions: ours.
EXACT = {"floor": "floor", "ceil": "ceil", "rint": "round_even", "sign": "sign", "fmod": "rem", "copysign": "copysign", "abs": "abs"}
COUNTED = ("clz", "popcnt", "div", "rem", "floordiv", "exp", "log", "pow", "sin", "sqrt", "mul", "angle")  # of integers and complex values
POINTS = {"f32": [0x3F800000, 0x40000000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 1, 0], "f64": [0x3FF0 << 48, 0x4000 << 48, 0x7FF0 << 48, 1, 0]}
TENTH = 1.1


FORMULA_TEXT = """erfc, erf-inv, lgamma, digamma, exp2 and atan are not operations of HLO: programs write them as formulas. Each operation of a formula is
within its budget; the error of the formula itself is shared by XLA's kernel for the same text. *wrong*: results that are a zero, infinity or nan and
should be another (digamma at 0, of both signs, is one). SASS is that of the whole kernel, for sm_90.
"""
EXACT_TEXT = """Exact for every value: floor, ceil, rounding to even, sign, and the remainder at any quotient. `tests/functions/function_values.py` compares
rounding away from zero, conversions, quotients and roots with rational arithmetic, and their rules are proved (`patterns/ledger.txt`).
"""
COUNTED_TEXT = """Integers are exact: their rules are proved (`patterns/ledger.txt`), and `tests/functions/function_values.py` runs them. For complex values
the ledger states the error of each formula (`error(..)`, in units of the larger part, where its operations miss by their budgets);
`tests/functions/complex_values.py` has their special values.
"""


class Found(NamedTuple):
    function: str
    file: str
    values: int  # 0: not measured, only the instructions were counted
    ulp: float
    at: str
    wrong: int
    sass: int  # machine instructions of the whole kernel
    xla_ulp: float
    xla_at: str
    xla_wrong: int
    xla_sass: int


def read() -> List[Found]:
    lines = TABLE.read_text(encoding="utf-8").splitlines()[1:] if TABLE.exists() else []
    rows = [x.split("\t") for x in lines]
    return [Found(w[0], w[1], int(w[2]), float(w[3]), w[4], int(w[5]), int(w[6]), float(w[7]), w[8], int(w[9]), int(w[10])) for w in rows]


def job(entry: str, name: str, t: str) -> str:
    """The arguments, as tests/measure reads them: all of 16 bits, every Nth of f32, random f64 and pairs; and POINTS with both signs."""
    width = int(re.sub(r"\D", "", t))
    points = [p | s for p in POINTS.get(t, []) for s in (0, 1 << width - 1)]
    how = f"all 0 {1 << width} 1" if width == 16 else "all 0 0x100000000 16381" if t == "f32" else "drawn 1 131072 1"
    return f"{entry} {name} {t} {how} 0 0 0 {len(points)} {' '.join(f'{p:x}' for p in points)}\n"


def run(program: Path, ptx: Path, shape: Tuple[int, int, int], line: str) -> List[str]:
    p = subprocess.run([str(program), str(ptx), *map(str, shape)], input=line, capture_output=True, text=True)
    if len(p.stdout.split()) < 6:
        raise SystemExit(f"{ptx.name}: {p.stderr.strip()[:300]}")
    return p.stdout.split()


def compiled(warpburg: Path, hlo: Path, folder: Path) -> Tuple[Path, str, int, int]:
    """(PTX, entry, blocks, threads); the cubin is written beside the PTX where ptxas is found."""
    subprocess.run([str(warpburg), "compile", str(hlo), "--target", "sm_90", "-o", str(folder)], check=True, stdout=subprocess.DEVNULL)
    launch = json.loads((folder / "kernel.json").read_text())["launches"][0]
    return folder / "kernel.ptx", launch["entry"], launch["grid"][0], launch["block"][0]


def size(folder: Path) -> int:
    cubin = folder / "kernel.sm_90.cubin"
    return instructions(cubin.read_bytes()) if cubin.exists() else 0


def shape_of(text: str) -> int:
    dims = re.search(r"ROOT %\S+ = \w+\[([\d,]+)\]", text)
    elements = 1
    for d in dims[1].split(",") if dims else []:
        elements *= int(d)
    return elements


def one(warpburg: Path, shared: Path, folder: Path, name: str, row: Dict[str, str]) -> Found:
    group, function, t = name.split("_", 1)[0], name.split("_", 1)[1].rsplit("_", 1)[0], name.rsplit("_", 1)[1]
    hlo, program = shared / "corpus" / "programs" / row["file"], warpburg.parent / "tests" / "measure"
    ptx, entry, blocks, threads = compiled(warpburg, hlo, folder)
    ours = theirs = ["", "0", "-1", "-", "0", "-"]
    if group in ("un", "bin"):
        op, elements, (grid, block) = {**FORMULAS, **EXACT}[function], shape_of(hlo.read_text()), (int(row[c].split(",")[0]) for c in ("grid", "block"))
        ours = run(program, ptx, (elements, blocks, threads), job(entry, op, t))
        theirs = run(program, shared / "anchors" / "ptx" / "programs" / row["file"].replace(".hlo", ".ptx"), (elements, grid, block), job(row["kernel"], op, t))
    return Found(f"{function}.{t}", row["file"].replace(".hlo", ""), int(ours[1]), float(ours[2]), ours[3], int(ours[4]), size(folder),
                 float(theirs[2]), theirs[3], int(theirs[4]), int(row["sass"]))


def measured(warpburg: Path, shared: Path) -> List[Found]:
    rows = [line.split("\t") for line in (shared / "anchors" / "programs.tsv").read_text().splitlines()]
    wanted = {"un": (*FORMULAS, *EXACT), "bin": (*FORMULAS, *EXACT), "int": COUNTED, "cplx": COUNTED}
    out = []
    with tempfile.TemporaryDirectory(prefix="warpburg-") as tmp:
        for r in rows[1:]:
            m = re.fullmatch(r"((un|bin|int|cplx)_(\w+)_[a-z]+\d+)\.S__.*", r[0])
            if m and m[3] in wanted[m[2]]:
                out.append(one(warpburg, shared, Path(tmp) / m[1], m[1], dict(zip(rows[0], r))))
    return sorted(out)


def worse(x: Found) -> str:
    """Why the error is too large; empty if it is not."""
    if x.wrong > x.xla_wrong:
        return f"{x.wrong} wrong zeros, infinities or nans; XLA's has {x.xla_wrong}"
    if x.function.split(".")[0] in EXACT and (x.ulp or x.wrong):
        return f"{x.ulp:g} ulp at {x.at}, {x.wrong} wrong: must be exact"
    return f"{x.ulp:g} ulp at {x.at}; XLA's kernel: {x.xla_ulp:g}" if x.ulp > TENTH * x.xla_ulp + 0.5 else ""


def page() -> List[str]:
    """Lines of docs/functions.md."""
    out, rows = [], read()
    put = lambda x: f"{x.ulp:.4g} | {x.at} | {x.wrong or ''} | {x.xla_ulp:.4g} | {x.xla_wrong or ''}"  # noqa: E731
    head = ["| function | values | ulp | at (bits) | wrong | XLA's ulp | wrong | SASS | XLA's SASS | kernel |",
            "|---|---:|---:|---|---:|---:|---:|---:|---:|---|"]
    for title, text, names in (("Formulas of HLO", FORMULA_TEXT, FORMULAS), ("Exact operations", EXACT_TEXT, EXACT)):
        out += [f"## {title}\n", text, *head]
        listed = [x for x in rows if x.values and x.function.split(".")[0] in names]
        out += [*(f"| {x.function} | {x.values:,} | {put(x)} | {x.sass} | {x.xla_sass} | `{x.file}` |" for x in listed), ""]
    out += ["## Integers and complex values\n", COUNTED_TEXT, "| function | SASS | XLA's SASS | kernel |", "|---|---:|---:|---|"]
    return out + [f"| {x.function} | {x.sass} | {x.xla_sass} | `{x.file}` |" for x in rows if not x.values] + [""]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("warpburg")
    parser.add_argument("--shared", default=str(ROOT.parent / "shared"))
    parser.add_argument("--update", action="store_true")
    args = parser.parse_args()
    if not (Path(args.shared) / "anchors" / "programs.tsv").is_file():
        print(f"skipped: XLA's kernels: {args.shared} has no anchors\n0 passed, 0 failed")
        return 0
    found = measured(Path(args.warpburg).resolve(), Path(args.shared))
    if args.update:
        TABLE.write_text("\n".join(["\t".join(Found._fields), *("\t".join(map(str, x)) for x in found)]) + "\n", encoding="utf-8")
    known = {x.function: x for x in read()}
    faults = [f"{x.function}: {worse(x)}" for x in found if worse(x)]
    faults += [f"{x.function}: {x.ulp:g} ulp, the table says {known[x.function].ulp if x.function in known else 'nothing'}: "
               "run tests/functions/formula_errors.py --update"
               for x in found if x.function not in known or abs(x.ulp - known[x.function].ulp) > 0.02 * x.ulp + 0.02]
    print("\n".join([*faults, f"{2 * len(found) - len(faults)} passed, {len(faults)} failed"]))
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
