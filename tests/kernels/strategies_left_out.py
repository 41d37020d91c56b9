#!/usr/bin/env python3
"""Whatever strategies are left out (`--disable strategies.py:LINE`), a fusion compiles and is right: no strategy is needed by another one.

    strategies_left_out.py WARPBURG [--programs N] [--subsets N] [--seed S] [--folder DIR]

A program is one of those of the random suites, of each kind in turn: chains of reductions, scans, sorts, scatters, loops that store their steps, reductions,
transposes, poolings; and after those the texts of TEXTS, for strategies that few of them have. Of each, every subset is planned, and each plan that
differs from the others is compiled, run in the simulator and judged by the evaluator. Subsets are random halves of the rows that may be left out, and before
these each row alone. Programs that fail stay in DIR. Ends with `N passed, M failed`.
"""
import argparse
import json
import random
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Callable, Dict, List, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "fuzz"), str(ROOT / "tests" / "common")]

import random_chain_text  # noqa: E402
import random_pooling_text  # noqa: E402
import random_reduction_text  # noqa: E402
import random_scans  # noqa: E402
import random_scatter_text  # noqa: E402
import random_sorts  # noqa: E402
import random_steps  # noqa: E402
import random_transpose_text  # noqa: E402
from warpburg_cli import Cli  # noqa: E402

KINDS: List[Tuple[str, Callable[[int], str]]] = [
    ("chain", lambda n: random_chain_text.text_of(random_chain_text.chain_of(n))),
    ("scan", lambda n: random_scans.make(n).text),
    ("steps", lambda n: random_steps.module_of(random.Random(n))),
    ("reduction", lambda n: random_reduction_text.generate(n).text),
    ("scatter", random_scatter_text.generate),
    ("transpose", random_transpose_text.generate),
    ("sort", random_sorts.make),
    ("pooling", random_pooling_text.generate_pooling),
]
ADD = "add {{ a = {0}[] parameter(0) b = {0}[] parameter(1) ROOT c = {0}[] add(a, b) }}\n"
TEXTS = {  # strategies that are worth it for long rows alone
    "columns": "HloModule m\n" + ADD.format("f32") + """ENTRY e {
  x = f32[512,256] parameter(0)  g = f32[512,256] parameter(1)  z = f32[] constant(0)
  p = f32[512,256] multiply(x, g)
  r = f32[512] reduce(p, z), dimensions={1}, to_apply=add
  b = f32[512,256] broadcast(r), dimensions={0}
  d = f32[512,256] subtract(g, b)
  s = f32[256] reduce(g, z), dimensions={0}, to_apply=add
  t = f32[256] reduce(p, z), dimensions={0}, to_apply=add
  ROOT o = (f32[512,256], f32[256], f32[256]) tuple(d, s, t)
}
""",
    "rows": "HloModule m\n" + ADD.format("f32") + """larger { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] maximum(a, b) }
ENTRY e {
  x = f32[1,65536] parameter(0)  least = f32[] constant(-inf)  z = f32[] constant(0)
  m = f32[1] reduce(x, least), dimensions={1}, to_apply=larger
  n = f32[1,65536] broadcast(m), dimensions={0}
  d = f32[1,65536] subtract(x, n)
  e = f32[1,65536] exponential(d)
  s = f32[1] reduce(e, z), dimensions={1}, to_apply=add
  t = f32[1,65536] broadcast(s), dimensions={0}
  ROOT q = f32[1,65536] divide(e, t)
}
""",
    "sides": "HloModule m\nadd { a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = s32[] add(a, b) }\n" + """ENTRY e {
  x = s8[1024,512] parameter(0)  z = s32[] constant(0)
  w = s32[1024,512] convert(x)
  s = s32[1024] reduce(w, z), dimensions={1}, to_apply=add
  t = s8[512,1024] transpose(x), dimensions={1,0}
  ROOT o = (s32[1024], s8[512,1024]) tuple(s, t)
}
""",
    "scans": "HloModule m\n" + ADD.format("f32") + """ENTRY e {
  x = f32[40000] parameter(0)  z = f32[] constant(0)
  ROOT s = f32[40000] reduce-window(x, z), window={size=40000 pad=39999_0}, to_apply=add
}
""",
}
CASES = "nps"
MOST = 1e9  # operations of all threads, that are run
TIMEOUT = 100  # seconds of a process: a scan of a scan as a loop is right, and slow


def choices(cli: Cli) -> List[str]:
    """FILE:LINE of the rows that may be left out."""
    rows = [json.loads(line) for line in cli.call("rules", "list", "--strategies", "--json").stdout.splitlines()]
    return [r["place"] for r in rows if not r["needed"] and r["at"] != "module"]


def subsets(places: List[str], n: int, seed: int) -> List[List[str]]:
    r = random.Random(seed)
    return ([[p] for p in places] + [[p for p in places if r.random() < 0.5] for _ in range(n)])[:n]


def program(n: int) -> Tuple[str, str]:
    """The name of program number n, and its text."""
    if n % 10 == 9:
        return f"{list(TEXTS)[n // 10 % len(TEXTS)]}_{n}", list(TEXTS.values())[n // 10 % len(TEXTS)]
    kind, make = KINDS[n % len(KINDS)]
    return f"{kind}_{n}", make(n)


def takes_long(note: str) -> bool:
    """Reductions in reductions that only a loop is left for: the note of a compile says that a thread, or all, compute far more than a simulator can."""
    return "a thread may have to evaluate" in note or any(float(n) > MOST for n in re.findall(r"([0-9.e+]+) operations, where", note))


def without(places: List[str]) -> List[str]: return [w for p in places for w in ("--disable", p)]


def faults(cli: Cli, folder: Path, n: int, tried: List[List[str]], target: str) -> Tuple[List[str], int, int, int]:
    """What went wrong, plans that were run, those that would take too long, and whether the program compiles at all."""
    name, text = program(n)
    file = folder / f"{name}.hlo"
    file.write_text(text, encoding="utf-8")
    plan = lambda places: cli.call("compile", str(file), "--emit", "plan", "--target", target, *without(places))
    if plan([]).returncode:
        file.unlink()
        return [], 0, 0, 0
    said, plans = [], {}  # type: List[str], Dict[str, List[str]]
    for places in tried:
        p = plan(places)
        if p.returncode:
            said.append(f"{file} --target {target} {' '.join(without(places))}: no plan, exit {p.returncode}: {p.stderr.strip()[-300:]}")
        else:
            plans.setdefault(p.stdout, places)
    long = 0
    for places in plans.values():
        p = cli.call("compile", str(file), "--emit", "ir", "--target", target, *without(places))
        if p.returncode == 0 and takes_long(p.stderr):
            long += 1
            continue
        p = cli.call("run", str(file), "--check", "--target", target, "--case", CASES[n % len(CASES)], "--seed", str(n), "-j", "1", *without(places))
        if p.returncode == 124:
            long += 1
        elif p.returncode:
            said.append(f"{file} --target {target} {' '.join(without(places))}: run: exit {p.returncode}: {(p.stdout + p.stderr).strip()[-300:]}")
    if not said:
        file.unlink()
    return said, len(plans) - long, long, 1


def main() -> int:
    a = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    a.add_argument("warpburg")
    a.add_argument("--programs", type=int, default=20)
    a.add_argument("--subsets", type=int, default=30)
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--folder", type=Path)
    o = a.parse_args()
    cli = Cli(o.warpburg)
    cli.timeout = TIMEOUT
    folder = o.folder or Path(tempfile.mkdtemp(prefix="left_out"))
    folder.mkdir(parents=True, exist_ok=True)
    tried = subsets(choices(cli), o.subsets, o.seed)
    passed = failed = long = compiled = 0
    with ThreadPoolExecutor(2) as pool:
        one = lambda n: faults(cli, folder, n, tried, ("sm_90", "sm_80", "sm_120")[n % 3])
        for said, ran, skipped, compiles in pool.map(one, range(o.seed - 1, o.seed - 1 + o.programs)):
            print("\n".join(said), end="\n" if said else "", flush=True)
            failed += len(said)
            passed += ran - sum(": run: " in x for x in said)
            long, compiled = long + skipped, compiled + compiles
    print(f"{compiled} of {o.programs} programs compile; {len(tried)} subsets of each have {passed + failed + long} plans that differ, of which {long} compute "
          "reductions in reductions or scans in scans in a loop, and would run too long")
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
