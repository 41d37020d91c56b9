#!/usr/bin/env python3
"""Bytes that softmax and norms move, for rows from 1 to 2^20 elements, against the fewest that they can.

    row_traffic.py WARPBURG [--targets T,..] [--only TEXT] [--all]

Each kernel of 2^22 elements (softmax, layer norm, RMS norm; f32 and bf16; rows and columns) is profiled in the simulator. A row is read once where it
fits in what a block holds (HELD bytes of f32), twice beyond, and written once; of columns those that share sectors have to fit, or memory is asked for
parts. Bytes are sectors that pass the L2 cache, those of all launches together. A line for each kernel beyond 1.02 of the least: READ is how often the
input's size passes L2 beside one output (sectors stored in two halves count twice), DRAM the bytes from and to memory as a part of one read and one
write. Without --all every fourth power of two. Exit 1 if there is such a line.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Iterator, List, Tuple

ELEMENTS = 1 << 22
HELD = 128 << 10    # bytes of a row in f32 that half the registers of an SM hold
LIMIT = 1.02
SECTOR = 32
BYTES = {"f32": 4, "bf16": 2}
REDUCER = "%s {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] %s(a, b)\n}\n\n"


def text_of(kind: str, scalar: str, length: int, columns: bool) -> str:
    rows = ELEMENTS // length
    dims, reduced, kept = (f"[{length},{rows}]", 0, 1) if columns else (f"[{rows},{length}]", 1, 0)
    x, r = f"f32{dims}", f"f32[{rows}]"
    b: List[str] = [f"p = {scalar}{dims} parameter(0)", f"x = {x} convert(p)", "zero = f32[] constant(0)"]

    def results(name: str, of: str, start: str, by: str) -> None:
        b.append(f"{name} = {r} reduce({of}, {start}), dimensions={{{reduced}}}, to_apply={by}")

    def spread(name: str, of: str) -> None:
        b.append(f"{name} = {x} broadcast({of}), dimensions={{{kept}}}")

    if kind == "softmax":
        b.append("least = f32[] constant(-inf)")
        results("m", "x", "least", "most")
        spread("mx", "m")
        b += [f"s = {x} subtract(x, mx)", f"e = {x} exponential(s)"]
        results("t", "e", "zero", "sum")
        spread("tx", "t")
        b.append(f"y = {x} divide(e, tx)")
    else:
        b += [f"n = f32[] constant({1 / length!r})", f"nr = {r} broadcast(n), dimensions={{}}", "eps = f32[] constant(1e-6)",
              f"er = {r} broadcast(eps), dimensions={{}}"]
        if kind == "layernorm":
            results("t", "x", "zero", "sum")
            b.append(f"mean = {r} multiply(t, nr)")
            spread("mx", "mean")
        b.append(f"c = {x} subtract(x, mx)" if kind == "layernorm" else f"c = {x} copy(x)")
        b.append(f"q = {x} multiply(c, c)")
        results("v", "q", "zero", "sum")
        b += [f"w = {r} multiply(v, nr)", f"u = {r} add(w, er)", f"i = {r} rsqrt(u)"]
        spread("ix", "i")
        b.append(f"y = {x} multiply(c, ix)")
    b.append(f"ROOT o = {scalar}{dims} convert(y)")
    body = "".join(f"  {line}\n" for line in b)
    return ("HloModule rows\n\n" + REDUCER % ("sum", "add") + REDUCER % ("most", "maximum") + f"body {{\n{body}}}\n\n"
            f"ENTRY main {{\n  p0 = {scalar}{dims} parameter(0)\n"
            f"  ROOT f = {scalar}{dims} fusion(p0), kind=kInput, calls=body\n}}\n")


def kernels(whole: bool) -> Iterator[Tuple[str, str, int, bool]]:
    for power in range(0, 21, 1 if whole else 4):
        for scalar in BYTES:
            for kind in ("softmax", "layernorm", "rmsnorm"):
                for columns in (False, True):
                    yield kind, scalar, 1 << power, columns


def main() -> int:
    o = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    o.add_argument("warpburg")
    o.add_argument("--targets", default="sm_90,sm_80")
    o.add_argument("--only", default="")
    o.add_argument("--all", action="store_true")
    options = o.parse_args()
    passed = failed = cached = 0
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.hlo"
        for kind, scalar, length, columns in kernels(options.all):
            name = f"{kind} {scalar} {'columns' if columns else 'rows'} of {length}"
            if options.only not in name:
                continue
            file.write_text(text_of(kind, scalar, length, columns), encoding="utf-8")
            for target in options.targets.split(","):
                ran = subprocess.run([options.warpburg, "run", str(file), "--profile", "--json", "--target", target, "-j", "1"],
                                     capture_output=True, text=True, check=False)
                if ran.returncode:
                    print(f"{target} {name}: exit {ran.returncode}: {ran.stderr.strip()[-200:]}", flush=True)
                    failed += 1
                    continue
                kernel = json.loads(ran.stdout.splitlines()[-1])["kernels"][0]
                moved = sum(launch["terms"]["l2"]["amount"] for launch in kernel["launches"])
                side = min(SECTOR // BYTES[scalar], ELEMENTS // length) if columns else 1
                array, reads = ELEMENTS * BYTES[scalar], 1 if side * length * 4 <= HELD else 2
                memory = sum(launch["terms"]["dram"]["amount"] for launch in kernel["launches"])
                over = moved / (array * (reads + 1))
                if over > LIMIT:
                    print(f"{target} {name}: {over:.3f} of the least, READ {moved / array - 1:.2f} times for {reads}, "
                          f"DRAM {memory / array / 2:.3f}, {len(kernel['launches'])} launches, {kernel['us']:.2f} us", flush=True)
                passed, failed = passed + (over <= LIMIT), failed + (over > LIMIT)
                cached += over > LIMIT >= memory / (array * (reads + 1))
    print(f"{cached} kernels move more through L2 alone: what is read again is there")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
