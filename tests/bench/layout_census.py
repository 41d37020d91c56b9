#!/usr/bin/env python3
"""How often each level is used in the layouts that reductions of the corpus get, and what decides their price.

    layout_census.py WARPBURG [--target sm_90] [--parts programs,blocks,emitter-tests,fusions] [--every N] [--list]

Every fusion with a reduction is planned (`compile --emit plan`). The table counts plans whose layout has the level, of a kept and of a
reduced dimension, with the sizes that occur most; then which term of the price is the largest, how many layouts were priced, and how many
were about as cheap. `--list` prints a line for each file instead.
"""
from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Tuple

ROOT = Path(__file__).resolve().parent.parent.parent
LEVELS = ("vector", "register", "loop", "lane", "warp", "cluster", "grid")
PRICED = re.compile(r"layouts: (\d+) priced, (\d+) about .*\n\s+([\d.]+) us, (\w+) ([\d.]+): (.*)")


class Plan(NamedTuple):
    file: str
    priced: int
    equal: int
    us: float
    term: str
    layout: str
    spaces: str  # kept and reduced dimensions, the fastest first: "rk"


def reduced_dims(text: str) -> Dict[str, bool]:
    """By the names that a plan gives: is the dimension reduced? From its line "kept rows 8192; reduced columns 1024"."""
    line = re.search(r"(?m)^  space (.*)$", text)
    pairs = (part.split() for part in line[1].split(";")) if line else ()
    return {words[1]: words[0] == "reduced" for words in pairs}


def plan_of(warpburg: str, file: Path, target: str) -> Optional[Tuple[Plan, Dict[str, bool]]]:
    p = subprocess.run([warpburg, "compile", str(file), "--target", target, "--emit", "plan"], capture_output=True, text=True, errors="replace",
                       check=False, timeout=300)
    m = PRICED.search(p.stdout)
    if p.returncode or not m:
        return None
    dims = reduced_dims(p.stdout)
    order = "".join("r" if dims.get(clause.split(":")[0].strip()) else "k" for clause in m[6].split(";"))
    return Plan(file.name, int(m[1]), int(m[2]), float(m[3]), m[4], m[6], order), dims


def factors(layout: str, dims: Dict[str, bool]) -> List[Tuple[str, str, int]]:
    """(level, kept or reduced, size) of each factor."""
    out = []
    for clause in layout.split(";"):
        name, _, rest = clause.partition(":")
        for level, size in re.findall(r"(\w+) (\d+)", rest):
            out.append((level, "reduced" if dims.get(name.strip()) else "kept", int(size)))
    return out


def main() -> int:
    p = argparse.ArgumentParser(description="levels of the layouts that reductions of the corpus get")
    p.add_argument("warpburg")
    p.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    p.add_argument("--target", default="sm_90")
    p.add_argument("--parts", default="programs,blocks,emitter-tests,fusions")
    p.add_argument("--every", type=int, default=1)
    p.add_argument("-j", type=int, default=2, dest="jobs")
    p.add_argument("--list", action="store_true")
    o = p.parse_args()
    os.nice(5)
    files = [f for part in o.parts.split(",") for f in sorted((o.shared / "corpus" / part).rglob("*.hlo"))]
    files = [f for f in files if " reduce(" in f.read_text(errors="replace")][::o.every]
    with ThreadPoolExecutor(o.jobs) as pool:
        made = [x for x in pool.map(lambda f: plan_of(o.warpburg, f, o.target), files) if x]
    if o.list:
        for plan, _ in made:
            print(f"{plan.us:9.2f} us  {plan.term:6} {plan.file}  {plan.layout}")
        return 0
    used: Counter[Tuple[str, str]] = Counter()
    sizes: Dict[Tuple[str, str], Counter[int]] = {}
    for plan, dims in made:
        kinds = factors(plan.layout, dims)
        used.update({(level, kind) for level, kind, _ in kinds})
        for level, kind, size in kinds:
            sizes.setdefault((level, kind), Counter())[size] += 1
    print(f"{len(files)} files with a reduction, {len(made)} plans whose threads share; {o.target}\n")
    for level in LEVELS:
        for kind in ("kept", "reduced"):
            common = ", ".join(f"{size} ({n})" for size, n in sizes.get((level, kind), Counter()).most_common(6))
            if used[level, kind]:
                print(f"{level:9} {kind:8} {used[level, kind]:5}   {common}")
    lanes = sum(plan.layout.count("lane ") > 1 for plan, _ in made)
    print(f"\nlanes of several dimensions {lanes}; by kinds of dimensions, the fastest first: "
          + ", ".join(f"{k} {n}" for k, n in Counter(plan.spaces for plan, _ in made).most_common(8)))
    print("largest term: " + ", ".join(f"{term} {n}" for term, n in Counter(plan.term for plan, _ in made).most_common()))
    for what, values in (("priced", [plan.priced for plan, _ in made]), ("about as cheap", [plan.equal for plan, _ in made])):
        print(f"{what}: median {statistics.median(values or [0]):g}, most {max(values or [0])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
