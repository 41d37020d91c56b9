#!/usr/bin/env python3
"""Modelled times of sorts: rows of 2^6 to 2^22 elements, by types and numbers of operands, and of the first k of rows.

    sort_times.py WARPBURG [--target sm_90] [--most 20] [--out TABLE.md] [-j N]

Each text sorts by its first operand: floats in their total order, stably; the second operand is the place of each element (argsort), a third one more array
of the type. Every block of every launch is run in the simulator (`run --profile`), whose time of all launches is printed in microseconds, beside their number.
--most: log2 of the longest row; 2^20 elements take half a minute. XLA has one sort among the kernels of ../shared, fusions/hlo_fusion_analysis.SortFusion,
which `run --against` compares.
"""
import argparse
import json
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import List, Sequence, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
from warpburg_cli import Cli  # noqa: E402

ROWS: List[Tuple[str, int, int]] = [("f32", 1, 22), ("f32", 2, 22), ("f32", 3, 18), ("s32", 1, 18),  # type, operands, log2 of the longest row
                                    ("bf16", 1, 18), ("bf16", 2, 18), ("s64", 1, 18), ("u8", 1, 18)]
FIRST = [(k, rows, n) for rows, n in ((16, 65536), (1024, 1024), (4096, 128)) for k in (1, 2, 8, 64)]


def total(t: str) -> str:
    return ", type=TOTALORDER" if t in ("f32", "bf16") else ""


def sort_text(t: str, operands: int, n: int) -> str:
    types = [t, "s32", t][:operands]
    scalars = "".join(f"  a{k} = {u}[] parameter({2 * k})\n  b{k} = {u}[] parameter({2 * k + 1})\n" for k, u in enumerate(types))
    shapes = [f"{u}[{n}]" for u in types]
    lines = ["x = {0} parameter(0)".format(shapes[0]), "i = s32[{0}] iota(), iota_dimension=0".format(n), f"y = {t}[{n}] parameter(1)"][:operands]
    result = shapes[0] if operands == 1 else f"({', '.join(shapes)})"
    return (f"HloModule m\nbefore {{\n{scalars}  ROOT l = pred[] compare(a0, b0), direction=LT{total(t)}\n}}\nENTRY e {{\n  " + "\n  ".join(lines) +
            f"\n  ROOT s = {result} sort({', '.join('xiy'[:operands])}), dimensions={{0}}, is_stable=true, to_apply=before\n}}\n")


def first_text(k: int, rows: int, n: int) -> str:
    return f"HloModule m\nENTRY e {{\n  x = f32[{rows},{n}] parameter(0)\n  ROOT t = (f32[{rows},{k}], s32[{rows},{k}]) topk(x), k={k}, largest=true\n}}\n"


def time_of(cli: Cli, target: str, text: str) -> Tuple[float, int]:
    """Microseconds of all launches, and their number."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "s.hlo")
        file.write_text(text, encoding="utf-8")
        p = cli.call("run", str(file), "--target", target, "--profile", "--json")
        if p.returncode:
            raise SystemExit(p.stderr)
        kernel = json.loads(p.stdout)["kernels"][0]
        return kernel["us"], len(kernel["launches"])


def main(argv: Sequence[str]) -> int:
    p = argparse.ArgumentParser(description="modelled times of sorts")
    p.add_argument("warpburg")
    p.add_argument("--target", default="sm_90")
    p.add_argument("--most", type=int, default=18)
    p.add_argument("--out")
    p.add_argument("-j", "--jobs", type=int, default=1)
    o = p.parse_args(argv)
    cli = Cli(os.path.abspath(o.warpburg))
    sizes = [1 << b for b in range(6, o.most + 1, 2)]
    cells = [(t, operands, n) for t, operands, most in ROWS for n in sizes if n <= 1 << most]
    with ThreadPoolExecutor(o.jobs) as pool:
        times = dict(zip(cells, pool.map(lambda c: time_of(cli, o.target, sort_text(*c)), cells)))
        first = dict(zip(FIRST, pool.map(lambda c: time_of(cli, o.target, first_text(*c)), FIRST)))
    lines = ["| operands | " + " | ".join(f"2^{n.bit_length() - 1}" for n in sizes) + " |", "|---|" + "---|" * len(sizes)]
    for t, operands, _ in ROWS:
        row = [times.get((t, operands, n)) for n in sizes]
        lines.append(f"| {', '.join([t, 's32 places', t][:operands])} | " + " | ".join(f"{x[0]:.1f} ({x[1]})" if x else "" for x in row) + " |")
    lines += ["", "| the first k of | " + " | ".join(f"k = {k}" for k in (1, 2, 8, 64)) + " |", "|---|---|---|---|---|"]
    for rows, n in dict.fromkeys((r, n) for _, r, n in FIRST):
        lines.append(f"| f32[{rows},{n}] | " + " | ".join(f"{first[k, rows, n][0]:.1f} ({first[k, rows, n][1]})" for k in (1, 2, 8, 64)) + " |")
    text = "\n".join(lines) + "\n"
    print(text, end="")
    if o.out:
        Path(o.out).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
