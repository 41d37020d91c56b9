#!/usr/bin/env python3
"""Rows that are read again in pieces: the results of pieces make those of the row, for all real numbers; what that rounds lies in the bounds.

    row_merges.py WARPBURG

The text that `hlo --row-pieces N` makes of sums of exp(x - c) and (x - c)^2 is read as formulas of a piece: its elements x are known by L, their
number, sum x, sum x^2 and sum exp(x), in which a reduction is linear; the piece's maximum, the row's maximum and the row's sum are any numbers.
Where the last piece is shorter it is a case of its own, and what it is filled up with is known beside its elements.
z3 proves of each result of a row that what a piece adds to it is what the text says that its terms add, with exp(a) exp(b) = exp(a + b) and
L sum x^2 >= (sum x)^2 alone. The same text with one operation or constant changed is refused, with a counterexample; or proved, where only the
number changes that the terms are relative to, which may be any. Then the text of pieces is evaluated in f32 on rows that make it lose most; each
element must lie in the bounds of the text as it was. The largest part of the allowed error is printed. Ends with `N passed, M failed`.
"""
import argparse
import math
import os
import struct
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
from npy import read, write  # noqa: E402
from row_formulas import Formulas, Line, Refused, f32, lines_of, refused, z3  # noqa: E402
from warpburg_cli import Cli  # noqa: E402

LEAST = 2.0 ** -126     # the least normal number: what is smaller may round to 0
REDUCERS = "".join(f"{n} {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] {n}(a, b)\n}}\n\n" for n in ("add", "maximum"))


def text_of(rows: int, n: int) -> str:
    """The sums of a row of n elements, relative to its maximum and to its mean."""
    x, r = f"f32[{rows},{n}]", f"f32[{rows}]"
    return f"""HloModule rows

{REDUCERS}ENTRY e {{
  x = {x} parameter(0)
  zero = f32[] constant(0)
  least = f32[] constant(-inf)
  m = {r} reduce(x, least), dimensions={{1}}, to_apply=maximum
  mx = {x} broadcast(m), dimensions={{0}}
  d = {x} subtract(x, mx)
  e = {x} exponential(d)
  t = {r} reduce(e, zero), dimensions={{1}}, to_apply=add
  u = {r} reduce(x, zero), dimensions={{1}}, to_apply=add
  part = f32[] constant({1 / n!r})
  parts = {r} broadcast(part), dimensions={{}}
  mean = {r} multiply(u, parts)
  means = {x} broadcast(mean), dimensions={{0}}
  f = {x} subtract(x, means)
  q = {x} multiply(f, f)
  v = {r} reduce(q, zero), dimensions={{1}}, to_apply=add
  ROOT o = ({r}, {r}, {r}, {r}) tuple(m, t, u, v)
}}
"""


# --- changed texts ----------------------------------------------------------------------------------------------------
# What makes the number that terms are relative to, for pieces of equal size, and where the last one is shorter; of these, CLAMPS keep it far from the
# numbers that f32 has not
ANY = ("t.maximum", "t.minimum", "t.constant", "t.constant.1", "v.constant", "v.multiply")
ANY_SHORTER = (*ANY, "v.constant.1", "v.constant.2", "v.select", "v.compare")
CLAMPS = ("t.maximum", "t.minimum")


def changes(line: Line) -> List[Line]:
    swapped = line._replace(operands=line.operands[::-1])
    if line.op == "subtract":
        return [swapped, line._replace(op="add")]
    if line.op == "constant" and line.type == "pred":
        return [line._replace(operands=["false" if line.operands[0] == "true" else "true"])]
    if line.op == "constant" and line.type == "s32":
        return [line._replace(operands=[str(int(line.operands[0]) + 1)])]
    if line.op == "compare":
        return [line._replace(rest=", direction=GE")]
    if line.op == "select":
        return [line._replace(operands=[line.operands[0], *line.operands[:0:-1]])]
    if line.op == "pad" and line.type == "f32":
        return [line._replace(operands=[line.operands[0], "zero" if line.operands[1] == "least" else "least"])]
    if line.op == "constant" and "." in line.name:
        return [line._replace(operands=[repr(float(f32(line.operands[0])) / 2 + 1)])]
    others = {"add": ["subtract", "multiply"], "multiply": ["add"], "maximum": ["minimum"], "minimum": ["maximum"], "exponential": ["copy"]}
    found = [line._replace(op=op) for op in others.get(line.op, [])]
    if line.op == "reduce" and "." in line.name:
        found.append(line._replace(rest=line.rest.replace("=add", "=maximum") if "=add" in line.rest else line.rest.replace("=maximum", "=add")))
    return found


# --- numbers ----------------------------------------------------------------------------------------------------------
def values_of(file: Path) -> List[float]:
    data, wide = read(file), b"'<f8'" in file.read_bytes()[:128]
    return list(struct.unpack(f"<{len(data) // (8 if wide else 4)}{'d' if wide else 'f'}", data))


class Numbers:
    def __init__(self, cli: Cli, folder: Path) -> None:
        self.cli, self.folder = cli, folder

    def evaluate(self, text: str, to: str, *options: str) -> str:
        file = self.folder / f"{to}.hlo"
        file.write_text(text, encoding="utf-8")
        p = self.cli.call("eval", str(file), *options, "-o", str(self.folder / to))
        return p.stderr if p.returncode else ""

    def outside(self, whole: str, pieces: str, *options: str) -> Tuple[float, str]:
        """The largest part of the allowed error that an element takes, and the first that leaves the bounds."""
        why = (self.evaluate(whole, "bounds", "--bounds", *options) or self.evaluate(whole, "exact", "--f64", *options) or
               self.evaluate(pieces, "out", *options))
        if why:
            return math.inf, why
        most = 0.0
        for k in range(4):
            found = [values_of(self.folder / d / f"{n}{k}.npy") for d, n in (("bounds", "lo"), ("bounds", "hi"), ("out", "out"), ("exact", "out"))]
            for i, (a, b, x, y) in enumerate(zip(*found)):
                if math.isnan(x) or not a <= x <= b:
                    return math.inf, f"element {i} of output {k} is {x}, not in {a} to {b}"
                allowed = b - y if x > y else y - a
                if x != y and abs(y) >= LEAST and math.isfinite(allowed) and allowed > 0:
                    most = max(most, abs(x - y) / allowed)
        return most, ""


def rows_of(n: int) -> Dict[str, List[float]]:
    """Rows on which a sum of pieces could lose: each a list of n numbers."""
    noise = [math.sin(1.7 * k * k) for k in range(n)]
    return {
        "noise": noise,
        "ascending by 100": [100 * k / n for k in range(n)],
        "descending by 100": [-100 * k / n for k in range(n)],
        "one large element": [50.0 if k == n // 3 else y for k, y in enumerate(noise)],
        "far from zero": [1e4 + y for y in noise],
        "pieces far apart": [1e3 * (k * 8 // n) + y for k, y in enumerate(noise)],
        "all the same": [0.1] * n,
        "largest numbers": [3e18 * y for y in noise],
        "subnormal": [1e-40 * y for y in noise],
    }


def main() -> int:
    p = argparse.ArgumentParser(description="results of rows from those of pieces")
    p.add_argument("warpburg")
    o = p.parse_args()
    cli = Cli(os.path.abspath(o.warpburg))
    if z3 is None:
        print("skipped: z3 is not there\n0 passed, 0 failed")
        return 0
    passed, failures, any_number, also = 0, [], 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        numbers = Numbers(cli, Path(scratch))

        def in_pieces(text: str, n: int) -> str:
            file = Path(scratch) / "whole.hlo"
            file.write_text(text, encoding="utf-8")
            return cli.call("hlo", str(file), "--row-pieces", str(n)).stdout

        def refused_in(text: str, split: str, rows: int, n: int) -> str:
            """The result that is not proved of one of the pieces, if there is one."""
            if "t.piece" not in split:
                return "nothing is split"
            pieces, each = next(x.dims for x in lines_of(split) if x.name == "m.reshape")[1:]
            missing = pieces * each - n
            for number, lacks in [(0, 0), *([(pieces - 1, missing)] if missing else [])]:
                whole = Formulas(lines_of(text), rows * n, rows, each - lacks)
                try:
                    bad = refused(whole, Formulas(lines_of(split), rows * n, rows, each - lacks, number, lacks))
                except Refused as why:
                    bad = str(why)
                if bad:
                    return bad
            return ""

        for rows, n, pieces in ((3, 24, 4), (1, 14, 7), (2, 4096, 2), (2, 4096, 64), (3, 30, 4), (1, 17, 2), (2, 4093, 3)):
            text = text_of(rows, n)
            bad = refused_in(text, in_pieces(text, pieces), rows, n)
            passed += not bad
            failures += [f"[{rows},{n}] in {pieces} pieces: {bad} is not proved"] if bad else []
        for n, names in ((24, ANY), (30, ANY_SHORTER)):
            text, split = text_of(3, n), in_pieces(text_of(3, n), 4)
            for line in lines_of(split):
                for other in changes(line):
                    changed = split.replace(line.text(), other.text())
                    bad = refused_in(text, changed, 3, n)
                    seen = numbers.outside(text, changed, "--case", "n")[1]
                    right = bool(bad) != (line.name in names) and (bool(bad) or bool(seen) == (line.name in CLAMPS))
                    any_number, also = any_number + (not bad), also + (bool(bad) and bool(seen))
                    passed += right
                    failures += [] if right else [f"{other.text().strip()}: {bad or 'proved'}; on numbers: {seen or 'in the bounds'}"]
        print(f"{passed} proved or refused: {any_number} of the changed texts are right over the reals, as terms may be relative to any number; "
              f"{also} leave the bounds on numbers of case n, too")
        for pieces in (2, 16, 64, 3, 23):
            text = text_of(9, 4096)
            split = in_pieces(text, pieces)
            file = Path(scratch) / "x.npy"
            kinds = rows_of(4096)
            write(file, "<f4", (9, 4096), struct.pack("<36864f", *(x for row in kinds.values() for x in row)))
            used, why = numbers.outside(text, split, "--input", str(file))
            passed += not why
            failures += [f"{pieces} pieces: {why}"] if why else []
            print(f"rows of 4096 in {pieces} pieces: {100 * used:.2g} % of the allowed error")
    for why in failures:
        print(f"failed: {why}")
    print(f"{passed} passed, {len(failures)} failed")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
