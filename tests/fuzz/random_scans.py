#!/usr/bin/env python3
"""Random scans: cumulative sums, products, extrema and others, from either end, exclusive or not, of any type along any dimension.

    random_scans.py WARPBURG [COUNT] [--seed S] [--folder DIR]

Each fusion is a scan, or several, with a prologue on its terms and an epilogue at its own position, or one elsewhere, which makes several
kernels of it. It is compiled for a target, some of those that are one kernel with a random legal layout, and runs under `run --check`: every
element must lie in the evaluator's bounds, without a fault, in an order of execution that rotates. A failing fusion is kept in the folder.
Ends with `N passed, M failed`.
"""
import os
import random
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import List, Optional, Sequence, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
from seeds import arguments  # noqa: E402
from warpburg_cli import TARGETS, Cli  # noqa: E402

ORDERS = ("forward", "reverse", "shuffle:1", "shuffle:2", "shuffle:3")
FLOATS = ("f32", "f32", "f16", "bf16", "f64")
COMPLEX = ("c64", "c128")
INTEGERS = ("s32", "u32", "s8", "u8", "s64", "u16", "s16")
LOGADDEXP = """c {{
  a = {t}[] parameter(0)
  b = {t}[] parameter(1)
  m = {t}[] maximum(a, b)
  d = {t}[] subtract(a, b)
  e = {t}[] abs(d)
  n = {t}[] negate(e)
  x = {t}[] exponential(n)
  l = {t}[] log-plus-one(x)
  ROOT r = {t}[] add(m, l)
}}
"""
FIRST_INDEX = """c {{
  v = {t}[] parameter(0)
  i = s32[] parameter(1)
  w = {t}[] parameter(2)
  j = s32[] parameter(3)
  least = pred[] compare(v, w), direction=GE
  nan = pred[] compare(v, v), direction=NE
  more = pred[] or(least, nan)
  value = {t}[] select(more, v, w)
  index = s32[] select(more, i, j)
  ROOT r = ({t}[], s32[]) tuple(value, index)
}}
"""
LEAST = {"s32": "-2147483648", "u32": "0", "s8": "-128", "u8": "0", "s64": "-9223372036854775808", "u16": "0", "s16": "-32768"}
MOST = {"s32": "2147483647", "u32": "4294967295", "s8": "127", "u8": "255", "s64": "9223372036854775807", "u16": "65535", "s16": "32767"}


@dataclass
class Scan:
    text: str
    layout: Optional[str]


def shape_text(t: str, dims: Sequence[int]) -> str:
    return f"{t}[{','.join(map(str, dims))}]"


def window(dims: Sequence[int], along: int, reverse: bool, more: int) -> Tuple[List[int], str]:
    """The result's dimensions and the window; more: 0 inclusive, else the window begins so many elements earlier."""
    n, out = dims[along], list(dims)
    pads = [n - 1 + more, 0]
    out[along] += more
    if reverse:
        pads.reverse()
    size = "x".join(str(n if d == along else 1) for d in range(len(dims)))
    pad = "x".join(f"{pads[0]}_{pads[1]}" if d == along else "0_0" for d in range(len(dims)))
    return out, f"window={{size={size} pad={pad}}}"


def covers(size: int, factors: Sequence[str]) -> bool:
    """Would the outermost factor not reach with one less?"""
    numbers = [int(f.split()[1]) for f in factors] or [1]
    inner = 1
    for n in numbers[:-1]:
        inner *= n
    return inner * numbers[-1] >= size > inner * (numbers[-1] - 1)


def layout_of(r: random.Random, dims: Sequence[int], along: int) -> Optional[str]:
    """A legal one, or none: what lanes and warps leave of the scanned dimension is the loop's, of the others the grid's."""
    outer, inner = 1, 1
    for d, size in enumerate(dims):
        if d < along:
            outer *= size
        elif d > along:
            inner *= size
    sizes = [(s, scanned) for s, scanned in ((outer, False), (dims[along], True), (inner, False)) if s > 1]
    names = ["elements"] if len(sizes) == 1 else ["rows", "columns"] if len(sizes) == 2 else ["d0", "d1", "d2"]
    lanes = r.choice((1, 2, 8, 32)) if len(sizes) > 1 else 32
    warps, left, text = r.choice((1, 2, 4)), 32 // lanes, []
    for (size, scanned), name in zip(sizes, names):
        rest, factors = size, []

        def take(level: str, wish: int) -> None:
            nonlocal rest
            n = min(wish, rest)
            if n > 1:
                factors.append(f"{level} {n}")
                rest = -(-rest // n)

        if scanned:
            take("vector", r.choice([v for v in (1, 2, 4) if size % v == 0]) if inner == 1 else 1)
            take("register", r.choice((1, 2, 3)))
            if lanes > 1:
                factors.append(f"lane {lanes}")
                rest = -(-rest // lanes)
            if warps > 1 and rest >= 1:
                factors.append(f"warp {warps}")
                rest = -(-rest // warps)
            take("loop", rest)
        else:
            if left > 1:
                factors.append(f"lane {left}")
                rest, left = -(-rest // left), 1
            take("grid", rest)
        if not covers(size, factors):
            return None
        text.append(f"{name}: {', '.join(factors or ['grid 1'])}")
    return "; ".join(text)


def make(seed: int) -> Scan:
    r = random.Random(seed)
    t = r.choice(FLOATS if r.random() < 0.6 else INTEGERS if r.random() < 0.7 else COMPLEX)
    rank = r.choice((1, 2, 2, 3))
    along = r.randrange(rank)
    dims = [r.choice((1, 2, 3, 5, 8, 17, 33)) for _ in range(rank)]
    dims[along] = r.choice((17, 20, 31, 64, 65, 100, 128, 200, 333, 512, 1000))
    is_float = t in FLOATS + COMPLEX
    more_kinds = ["logaddexp", "pairs"] if t in ("f32", "f64") else ["and", "or", "xor"] * (not is_float)
    kind = r.choice(["add", "add", "maximum", "minimum", "multiply"] + more_kinds if t not in COMPLEX else ["add", "multiply"])
    post = r.choice(("none", "none", "map", "tuple", "slice", "second"))
    reverse, more = r.random() < 0.4, r.choice((0, 0, 1, 1, 2)) if r.random() < 0.5 else 0
    if post == "slice":
        dims[along] = max(dims[along], 65)
    extremes = ("-inf", "inf") if is_float else (LEAST[t], MOST[t])
    init = {"maximum": extremes[0], "minimum": extremes[1], "multiply": "1", "and": extremes[1], "logaddexp": "-1000", "pairs": "-inf"}.get(kind, "0")
    init = f"({init}, 0)" if t in COMPLEX else init
    if kind in ("and",) and t.startswith("s"):
        init = "-1"
    out, w = window(dims, along, reverse, more)
    x, y = shape_text(t, dims), shape_text(t, out)
    lines = [f"  p = {x} parameter(0)", f"  z = {t}[] constant({init})"]
    term = "p"
    if r.random() < 0.5:
        term = "q"
        half = "(3, 4)" if t in COMPLEX else "0.5" if is_float else "3"   # (3, 4): products overflow soon
        lines += [f"  h = {t}[] constant({half})", f"  hb = {x} broadcast(h), dimensions={{}}", f"  q = {x} {'multiply' if is_float else 'xor'}(p, hb)"]
    if kind == "pairs":
        pair = f"({y}, {shape_text('s32', out)})"
        lines += [f"  i = {shape_text('s32', dims)} iota(), iota_dimension={along}", "  zi = s32[] constant(-1)",
                  f"  both = {pair} reduce-window({term}, i, z, zi), {w}, to_apply=c", f"  w = {shape_text('s32', out)} get-tuple-element(both), index=1"]
        result, rt = "w", "s32"
    else:
        lines.append(f"  w = {y} reduce-window({term}, z), {w}, to_apply=c")
        result, rt = "w", t
    whole, ry = True, shape_text(rt, out)
    if post == "map":
        lines.append(f"  ROOT m = {ry} {'not' if rt in INTEGERS else 'negate'}({result})")
    elif post == "tuple" and not more:
        op = "not" if rt in INTEGERS else "negate" if rt in COMPLEX else "abs"
        lines += [f"  m = {ry} {op}({result})", f"  ROOT all = ({ry}, {x}, {ry}) tuple({result}, {term}, m)"]
    elif post == "slice":
        few = [max(1, d // 2) for d in out]
        where = ", ".join(f"[{d - f}:{d}]" for d, f in zip(out, few))
        lines.append(f"  ROOT m = {shape_text(rt, few)} slice({result}), slice={{{where}}}")
        whole = False
    elif post == "second" and not more and kind != "pairs":
        lines.append(f"  ROOT v = {y} reduce-window({result}, z), {w}, to_apply=c")
    else:
        lines[-1] = "  ROOT " + lines[-1].strip()
    one = "c {{\n  a = {t}[] parameter(0)\n  b = {t}[] parameter(1)\n  ROOT r = {t}[] " + kind + "(a, b)\n}}\n"
    body = {"logaddexp": LOGADDEXP, "pairs": FIRST_INDEX}.get(kind, one)
    text = f"HloModule m\n{body.format(t=t)}ENTRY e {{\n" + "\n".join(lines) + "\n}\n"
    layout = layout_of(r, out, along) if whole and kind != "logaddexp" and r.random() < 0.4 else None
    return Scan(text, layout)


LOOPS: List[int] = []    # seeds of which a loop takes less time than a scan and another launch: few elements of short ones, as a slice leaves them
MOST_LOOPS = 0.2


def judge(cli: Cli, folder: Path, seed: int) -> Optional[str]:
    scan = make(seed)
    file = folder / f"{seed}.hlo"
    file.write_text(scan.text, encoding="utf-8")
    target, case = TARGETS[seed % len(TARGETS)], "enpsc"[seed // 3 % 5]
    plan = cli.call("compile", str(file), "--target", target, "--emit", "plan")
    if plan.returncode:
        return f"exit {plan.returncode}: {plan.stderr[:300]}"
    if "scan" not in plan.stdout.split(":")[0]:
        LOOPS.append(seed)
    options = ["--order", ORDERS[seed % len(ORDERS)]] + (["--layout", scan.layout] if scan.layout else [])
    v = cli.run(str(file), target, case, seed, options=options)
    return None if v.ok else f"{target} --case {case} {' '.join(options)}: {v.why}"


def main() -> int:
    o = arguments(__doc__, 100, "warpburg", folder="build/fuzz/scans")
    os.environ.pop("WARPBURG_PTXAS", None)
    cli = Cli(os.path.abspath(o.warpburg))
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        seeds = range(o.seed, o.seed + o.count)
        for seed, why in zip(seeds, cli.each(lambda s: judge(cli, Path(name), s), seeds)):
            if why:
                failed += 1
                kept = o.folder / f"{seed}.hlo"
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_text(make(seed).text, encoding="utf-8")
                print(f"{kept}: {why}")
    if len(LOOPS) > MOST_LOOPS * o.count:
        failed += 1
        print(f"{len(LOOPS)} of {o.count} are loops: {sorted(LOOPS)}")
    print(f"{o.count - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
