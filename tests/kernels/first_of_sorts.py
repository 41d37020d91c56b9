#!/usr/bin/env python3
"""The first and the last of sorted rows, which a kernel finds without a sort: the bits that a stable sort puts there, for all values.

    first_of_sorts.py WARPBURG

Rows have two elements, every pair of values of types of 8 bits; of wider types every pair of values at which sign, exponent, significand, infinity or nan
begin and end, and one row has every value of 16 bits, many of them twice. Each text sorts a row with the places of its elements, ascending and
descending, floats by their total order, and keeps the first or the last; it must have become a reduction. The kernel's results are compared, bit by bit, with
those of Python's stable sort of the bits' integers. Ends with `N passed, M failed`.
"""
import os
import random
import sys
import tempfile
from array import array
from pathlib import Path
from typing import List, Sequence, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
import npy  # noqa: E402
from warpburg_cli import TARGETS, Cli  # noqa: E402

# bits, those of the exponent; 0: an integer
FLOATS = {"f8e4m3fn": (8, 4), "f8e5m2": (8, 5), "f8e4m3fnuz": (8, 4), "f16": (16, 5), "bf16": (16, 8), "f32": (32, 8), "f64": (64, 11)}
TYPES = {**FLOATS, "s8": (8, 0), "u8": (8, 0), "s16": (16, 0), "u16": (16, 0), "s32": (32, 0), "u32": (32, 0), "s64": (64, 0), "u64": (64, 0)}
CODES = {8: "B", 16: "H", 32: "I", 64: "Q"}


def edges(bits: int, exponent: int) -> List[int]:
    """Neighbours of the bit patterns at which a part begins or ends."""
    cuts = {0, 1 << bits - 1}
    if exponent:
        fraction = bits - 1 - exponent
        cuts |= {s << bits - 1 | e << fraction | f for s in (0, 1) for e in (0, 1, (1 << exponent) - 1) for f in (0, 1 << fraction - 1)}
    return sorted({(c + d) % (1 << bits) for c in cuts for d in (-1, 0, 1)})


def key(t: str, x: int) -> int:
    """Of the bits of a value its number in the order."""
    bits = TYPES[t][0]
    if t in FLOATS:
        return x if x >> bits - 1 == 0 else -1 - (x ^ 1 << bits - 1)
    return x - (1 << bits) if t[0] == "s" and x >> bits - 1 else x


def text_of(t: str, shape: Tuple[int, int], falls: bool, last: bool) -> str:
    rows, n = shape
    at = n - 1 if last else 0
    total = ", type=TOTALORDER" if t in FLOATS else ""
    cut = f"slice={{[0:{rows}], [{at}:{at + 1}]}}"
    return f"""HloModule m
before {{
  a = {t}[] parameter(0)
  b = {t}[] parameter(1)
  c = s32[] parameter(2)
  d = s32[] parameter(3)
  ROOT l = pred[] compare({'b, a' if last else 'a, b'}), direction={'GT' if falls != last else 'LT'}{total}
}}
ENTRY e {{
  x = {t}[{rows},{n}] parameter(0)
  i = s32[{rows},{n}] iota(), iota_dimension=1
  s = ({t}[{rows},{n}], s32[{rows},{n}]) sort(x, i), dimensions={{1}}, is_stable=true, to_apply=before
  v = {t}[{rows},{n}] get-tuple-element(s), index=0
  w = s32[{rows},{n}] get-tuple-element(s), index=1
  y = {t}[{rows},1] slice(v), {cut}
  z = s32[{rows},1] slice(w), {cut}
  ROOT r = ({t}[{rows},1], s32[{rows},1]) tuple(y, z)
}}
"""


def kind_of(t: str) -> str:
    bits = TYPES[t][0]
    return ("|" if bits == 8 else "<") + {"u": "u", "s": "i", "f": "u" if bits == 8 else "f", "b": "u"}[t[0]] + str(bits // 8)


def judge(cli: Cli, folder: Path, t: str, rows: Sequence[Sequence[int]], n: int) -> List[str]:
    bits, wrong = TYPES[t][0], []
    shape = len(rows), len(rows[0])
    data = folder / "x.npy"
    npy.write(data, kind_of(t), shape, array(CODES[bits], [x for row in rows for x in row]).tobytes())
    for falls in (False, True):
        for last in (False, True):
            file, out = folder / "t.hlo", folder / "out"
            file.write_text(text_of(t, shape, falls, last), encoding="utf-8")
            what = f"{t}[{shape[0]},{shape[1]}]{' falls' if falls else ''}{' last' if last else ''}"
            plan = cli.call("compile", str(file), "--emit", "plan").stdout
            if "sort" in plan:
                wrong.append(f"{what}: it is sorted")
            p = cli.call("run", str(file), "--target", TARGETS[n % len(TARGETS)], "--input", str(data), "-o", str(out))
            if p.returncode:
                wrong.append(f"{what}: exit {p.returncode}: {p.stderr.strip()[-200:]}")
                continue
            found = array(CODES[bits], npy.read(out / "out0.npy")), array("i", npy.read(out / "out1.npy"))
            sign = -1 if falls else 1
            places = [sorted(range(len(row)), key=lambda k, row=row: sign * key(t, row[k]))[-1 if last else 0] for row in rows]
            bad = [k for k, at in enumerate(places) if (found[0][k], found[1][k]) != (rows[k][at], at)]
            if bad:
                k = bad[0]
                wrong.append(f"{what}: row {k} of {[hex(x) for x in rows[k][:4]]}: {found[0][k]:#x} at {found[1][k]}, "
                             f"not {rows[k][places[k]]:#x} at {places[k]}")
    return wrong


def main(warpburg: str) -> int:
    cli, r = Cli(os.path.abspath(warpburg)), random.Random(7)
    cases = []
    for t, (bits, exponent) in TYPES.items():
        values = list(range(256)) if bits == 8 else edges(bits, exponent)
        cases.append((t, [(x, y) for x in values for y in values]))
        if bits == 16:
            cases.append((t, [[r.randrange(1 << 16) for _ in range(1 << 14)] + r.sample(range(1 << 16), 1 << 16)]))
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        for n, (t, rows) in enumerate(cases):
            wrong = judge(cli, Path(name), t, rows, n)
            failed += bool(wrong)
            for line in wrong:
                print(line)
    print(f"{len(cases) - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
