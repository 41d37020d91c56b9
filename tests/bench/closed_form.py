#!/usr/bin/env python3
"""The closed form's price of plans beside the profile of their kernels, for kinds of launches that layouts alone do not describe.

    closed_form.py BUILD.. [--kind NAME] [--files LIST] [--all]

BUILD: executables of warpburg; several are held against each other, as before and after a change. A kernel's price is that of `compile --explain`, its profile
`run --profile` of the same build, for sm_90. Says of each kind the geometric mean of price over profile, its standard deviation, and the kernels that are
furthest off on both sides; with --all each one. The kinds, whose texts are made here (`TEXTS`):

    update   dynamic-update-slices in place
    beside   loops of a fusion with a scatter: what it stores first, and what is made of its result; there are few updates
    plain    updates of which no two meet
    set      updates that replace what was there, at indices that are random
    lock     updates of several results that depend on each other, at such indices
    file     instead of these, the fusions whose files LIST names, a line each, that become a loop or exchange
"""
from __future__ import annotations

import argparse
import array
import json
import math
import random
import re
import statistics
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

TAKEN = re.compile(r"^  (?:scatter|loop|order|exchange)\S* +taken, ([\d.]+) us", re.M)
SECONDS = 120
ROWS = "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1"


# --- texts ------------------------------------------------------------------------------------------------------------------------------
def update(t: str, whole: str, part: str, made: str = "u", alike: bool = False) -> str:
    """made: the update, of u and of s, which is what is there now; alike: the starts along all but the first dimension are 0."""
    rank = whole.count(",") + 1
    starts = [f"i{d}" if d == 0 or not alike else "z" for d in range(rank)]
    at = ", ".join(starts)
    indices = "".join(f"  i{d} = s32[] parameter({d + 2})\n" for d in range(rank))
    slices = f"  s = {t}[{part}] dynamic-slice(x, {at}), dynamic_slice_sizes={{{part}}}\n" if "s" in re.findall(r"\w+", made) else ""
    value = "u" if made == "u" else "v"
    line = "" if made == "u" else f"  v = {t}[{part}] {made}\n"
    return (f"HloModule m\nENTRY e {{\n  x = {t}[{whole}] parameter(0)\n  u = {t}[{part}] parameter(1)\n{indices}  z = s32[] constant(0)\n"
            f"{slices}{line}  ROOT y = {t}[{whole}] dynamic-update-slice(x, {value}, {at})\n}}\n")


def scatter(t: str, rows: int, width: int, n: int, alone: bool, combine: str = "add(a, b)", before: str = "x", after: str = "") -> str:
    """n updates of rows of `width` elements, of so many; alone: no two meet; before: the operand, of x; after: the root, of y."""
    window, dims = (f",{width}", "{1}") if width else ("", "{}")
    shape = f"{t}[{rows}{window}]"
    operand = "x" if before == "x" else "w"
    line = "" if before == "x" else f"  w = {shape} {before}\n"
    root = "" if combine == "b" else f"  ROOT c = {t}[] {combine}\n"
    last = f"\n  ROOT z = {shape} {after}" if after else ""
    b = f"  {'ROOT ' if combine == 'b' else ''}b = {t}[] parameter(1)\n"
    unique = "unique_indices=true, " if alone else ""
    return f"""HloModule m
combine {{
  a = {t}[] parameter(0)
{b}{root}}}
ENTRY e {{
  i = s32[{n},1] parameter(0)
  x = {shape} parameter(1)
  u = {t}[{n}{window}] parameter(2)
{line}  {'' if after else 'ROOT '}y = {shape} scatter({operand}, i, u), update_window_dims={dims}, {ROWS}, {unique}to_apply=combine{last}
}}
"""


def largest(t: str, rows: int, width: int, n: int) -> str:
    """The largest update of each element, and its number: two results that depend on each other."""
    window, dims = (f",{width}", "{1}") if width else ("", "{}")
    return f"""HloModule m
larger {{
  a = {t}[] parameter(0)
  i = s32[] parameter(1)
  b = {t}[] parameter(2)
  j = s32[] parameter(3)
  c = pred[] compare(a, b), direction=GE
  x = {t}[] select(c, a, b)
  k = s32[] select(c, i, j)
  ROOT r = ({t}[], s32[]) tuple(x, k)
}}
ENTRY e {{
  i = s32[{n},1] parameter(0)
  x = {t}[{rows}{window}] parameter(1)
  k = s32[{rows}{window}] parameter(2)
  u = {t}[{n}{window}] parameter(3)
  v = s32[{n}{window}] parameter(4)
  ROOT y = ({t}[{rows}{window}], s32[{rows}{window}]) scatter(x, k, i, u, v), update_window_dims={dims}, {ROWS}, to_apply=larger
}}
"""


UPDATES = (  # type, the whole, the part, what is stored, are the starts alike
    ("f32", "4096,4096", "128,4096", "u", True), ("f32", "4096,4096", "4096,128", "u", False), ("f32", "4096,4096", "1024,4096", "tanh(u)", True),
    ("bf16", "8,2048,8,128", "8,1,8,128", "u", False), ("bf16", "32,1024,8,128", "32,16,8,128", "u", False), ("f32", "1048576", "1", "u", False),
    ("f32", "1048576", "262144", "u", False), ("f32", "16777216", "8388608", "add(s, u)", False), ("f32", "4096,1024", "2048,1024", "add(s, u)", True),
    ("bf16", "4096,4096", "2048,4096", "multiply(s, u)", True), ("f64", "2048,2048", "1024,2048", "add(s, u)", True),
    ("s8", "8192,8192", "4096,8192", "u", True), ("f16", "256,256,256", "64,256,256", "u", True), ("f16", "256,256,256", "256,64,256", "u", False),
    ("f16", "256,256,256", "256,256,64", "u", False), ("f32", "64,64,64,64", "8,64,64,64", "exponential(u)", True),
    ("f32", "8192,512", "8192,1", "u", False), ("f32", "512,8192", "1,8192", "add(s, u)", True), ("bf16", "16384,4096", "8192,4096", "u", True),
    ("f32", "1000,1000", "999,999", "u", False))
BESIDE = (  # type, rows, width, the operand of x, the root of y
    ("f32", 1 << 20, 0, "x", "tanh(y)"), ("f32", 1 << 22, 0, "x", "tanh(y)"), ("f32", 1 << 24, 0, "x", "add(y, y)"), ("f32", 1 << 20, 0, "negate(x)", ""),
    ("f32", 1 << 22, 0, "negate(x)", ""), ("f32", 1 << 24, 0, "exponential(x)", ""), ("f32", 4096, 1024, "x", "multiply(y, x)"),
    ("f32", 4096, 4096, "x", "multiply(y, x)"), ("f32", 4096, 1024, "negate(x)", "tanh(y)"), ("f32", 8192, 1024, "negate(x)", ""),
    ("bf16", 4096, 1024, "x", "tanh(y)"), ("bf16", 8192, 4096, "x", "negate(y)"), ("bf16", 8192, 4096, "multiply(x, x)", ""),
    ("f16", 8192, 512, "x", "add(y, x)"), ("f64", 2048, 512, "x", "negate(y)"), ("f64", 4096, 1024, "negate(x)", ""), ("s32", 4096, 1024, "negate(x)", ""),
    ("s32", 1 << 22, 0, "x", "negate(y)"), ("f32", 50257, 768, "x", "negate(y)"), ("f32", 50257, 768, "negate(x)", ""))
ALONE = ((1 << 20, 0, 1024), (1 << 20, 0, 1 << 16), (1 << 22, 0, 1 << 20), (8192, 256, 1024), (8192, 1024, 4096), (65536, 128, 16384), (4096, 64, 4096))
LOCKED = ((1 << 20, 0, 1024), (1 << 20, 0, 1 << 16), (1 << 16, 0, 1 << 16), (1024, 0, 4096), (256, 0, 4096), (64, 0, 4096), (8192, 256, 1024),
          (8192, 64, 4096), (512, 64, 4096), (64, 128, 1024))


def texts() -> Iterator[Tuple[str, str, str]]:
    """Kind, name, text."""
    for t, whole, part, made, alike in UPDATES:
        yield "update", f"{t}[{whole}] part [{part}] {made}", update(t, whole, part, made, alike)
    for t, rows, width, before, after in BESIDE:
        yield "beside", f"{t}[{rows},{width}] {before}; {after or 'y'}", scatter(t, rows, width, 32, False, before=before, after=after)
    for t in ("f32", "bf16", "f64"):
        for rows, width, n in ALONE[:6 if t == "f64" else 7]:
            yield "plain", f"{t}[{rows},{width}] of {n}", scatter(t, rows, width, n, True)
            yield "set", f"{t}[{rows},{width}] of {n}", scatter(t, rows, width, n, False, "b")
    for t in ("f32", "bf16"):
        for rows, width, n in LOCKED:
            yield "lock", f"{t}[{rows},{width}] of {n}", largest(t, rows, width, n)


# --- price and profile -----------------------------------------------------------------------------------------------------------------
class Row(NamedTuple):
    kind: str
    name: str
    price: float
    profile: float

    @property
    def ratio(self) -> float:
        return self.price / self.profile


def write_inputs(at: Path, text: str) -> List[str]:
    """The options that give a scatter its inputs: parameter 0 says where updates go, anywhere, all alike; the others are 0."""
    out = []
    choice = random.Random(1)
    entry = text[text.index("ENTRY"):]
    rows = int(re.search(r"x = \w+\[(\d+)", entry)[1])  # type: ignore[index]
    for t, dims, number in re.findall(r"= (\w+)\[([\d,]+)\] parameter\((\d+)\)", entry):
        size, form = math.prod(map(int, dims.split(","))), {"s32": "<i4", "f32": "<f4", "f64": "<f8", "bf16": "<u2"}[t]
        head = f"{{'descr': '{form}', 'fortran_order': False, 'shape': ({dims},), }}"
        head += " " * (63 - (10 + len(head)) % 64) + "\n"
        values = array.array("i", (choice.randrange(rows) for _ in range(size))).tobytes() if number == "0" else bytes(size * int(form[2]))
        file = at / f"{number}.npy"
        file.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + values)
        out += ["--input", str(file)]
    return out


def call(*words: str) -> str:
    try:
        p = subprocess.run(words, capture_output=True, text=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return ""
    return p.stdout + p.stderr if p.returncode == 0 else ""


def profile(build: str, file: str, *inputs: str) -> Optional[float]:
    for sample in (["--blocks", "16"], []):  # of kernels of several launches all blocks run
        said = call(build, "run", file, "--target", "sm_90", "--accuracy", "xla", "--profile", "--json", "-j", "1", *inputs, *sample)
        if said:
            return float(json.loads(said)["kernels"][0]["us"])
    return None


def row(build: str, kind: str, name: str, text: str) -> Optional[Row]:
    with tempfile.TemporaryDirectory() as at:
        file = str(Path(at) / "k.hlo")
        Path(file).write_text(text, encoding="utf-8")
        found = TAKEN.search(call(build, "compile", file, "--target", "sm_90", "--accuracy", "xla", "--explain"))
        inputs = write_inputs(Path(at), text) if kind in ("set", "lock") else []
        us = profile(build, file, *inputs) if found else None
    return Row(kind, name, float(found[1]), us) if found and us else None


def say(build: str, rows: List[Row], every: bool) -> None:
    print(build)
    kinds: Dict[str, List[Row]] = {}
    for r in rows:
        kinds.setdefault(r.kind, []).append(r)
    for kind, some in kinds.items():
        logs = [math.log(r.ratio) for r in some]
        some.sort(key=lambda r: r.ratio)
        mean, deviation = math.exp(statistics.fmean(logs)), 100 * statistics.pstdev(logs)
        print(f"  {kind:8} {len(some):3} kernels: price over profile {mean:.3f}, standard deviation {deviation:.0f} %")
        for r in some if every else (some[0], some[-1]):
            print(f"    {r.ratio:6.3f}  {r.price:8.2f} of {r.profile:8.2f} us  {r.name}")


def main() -> int:
    p = argparse.ArgumentParser(description="prices of the closed form beside profiles")
    p.add_argument("builds", nargs="+", metavar="BUILD")
    p.add_argument("--kind", default="", help="only this kind")
    p.add_argument("--files", type=Path, metavar="LIST", help="the kind `file`: fusions that LIST names")
    p.add_argument("--all", action="store_true", help="a line for each kernel")
    o = p.parse_args()
    for build in o.builds:
        of_files = ((("file", f, Path(f).read_text(encoding="utf-8")) for f in o.files.read_text(encoding="utf-8").split()) if o.files else texts())
        made = [(name, row(build, kind, name, text)) for kind, name, text in of_files if o.kind in ("", kind)]
        say(build, [r for _, r in made if r], o.all)
        for name in (n for n, r in made if not r):
            print(f"  no price or no profile: {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
