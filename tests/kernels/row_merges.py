#!/usr/bin/env python3
"""Rows that are read again in pieces: what the options of patterns/arrays.py make of sums relative to a row's maximum and mean lies in the bounds.

    row_merges.py WARPBURG

Their proofs (gen/proof/rescales.py) are about real numbers and a few terms; here rows of 4,096 that make them lose most are evaluated in f32, whole and in
pieces, by `hlo --option N`. Each element of pieces must lie in the bounds of the text as it was, and be nan where that is: where terms are inf or -inf, as
masks make, where squares overflow, and sums. The largest part of the allowed error is printed. Ends with `N passed, M failed`.
"""
import argparse
import math
import os
import re
import struct
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
from npy import read, write  # noqa: E402
from warpburg_cli import Cli  # noqa: E402

INF = math.inf
N = 4096
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
               self.evaluate(whole, "plain", *options) or self.evaluate(pieces, "out", *options))
        if why:
            return math.inf, why
        most = 0.0
        for k in range(4):
            files = (("bounds", "lo"), ("bounds", "hi"), ("out", "out"), ("exact", "out"), ("plain", "out"))
            found = [values_of(self.folder / d / f"{n}{k}.npy") for d, n in files]
            for i, (a, b, x, y, z) in enumerate(zip(*found)):
                if math.isnan(x) != math.isnan(z) or not (math.isnan(x) or a <= x <= b):
                    return math.inf, f"element {i} of output {k} is {x}, not in {a} to {b}; the text's is {z}"
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
        "squares overflow": [1e30 * y for y in noise],
        "masked": [-INF if k < n // 2 + 7 else y for k, y in enumerate(noise)],
        "nothing": [-INF] * n,
        "inf": [INF if k == 5 else y for k, y in enumerate(noise)],
        "both": [INF if k == 5 else -INF if k == 6 else y for k, y in enumerate(noise)],
        "nan": [math.nan if k == n - 1 else y for k, y in enumerate(noise)],
        "sums overflow": [3e38] * n,
    }


def main() -> int:
    p = argparse.ArgumentParser(description="results of rows from those of pieces")
    p.add_argument("warpburg")
    o = p.parse_args()
    cli = Cli(os.path.abspath(o.warpburg))
    passed, failures = 0, []
    with tempfile.TemporaryDirectory() as scratch:
        numbers = Numbers(cli, Path(scratch))
        kinds = rows_of(N)
        text, file = text_of(len(kinds), N), Path(scratch) / "x.npy"
        write(file, "<f4", (len(kinds), N), struct.pack(f"<{len(kinds) * N}f", *(x for row in kinds.values() for x in row)))
        (Path(scratch) / "whole.hlo").write_text(text, encoding="utf-8")
        for terms in (2048, 256, 64, 1368, 184):
            split = cli.call("hlo", str(Path(scratch) / "whole.hlo"), "--option", str(terms)).stdout
            made = len(re.findall(r"(?m)^  [mtuv]\.part[.0-9]* = ", split))
            used, why = numbers.outside(text, split, "--input", str(file))
            if made != 5:  # of the maximum, of its exponentials, of the sum, and of squares and differences
                why = why or f"{made} sums of pieces, not 5"
            passed += not why
            failures += [f"pieces of {terms}: {why}"] if why else []
            print(f"rows of {N} in pieces of {terms}: {100 * used:.2g} % of the allowed error")
    for why in failures:
        print(f"failed: {why}")
    print(f"{passed} passed, {len(failures)} failed")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
