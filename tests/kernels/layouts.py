#!/usr/bin/env python3
"""Loop fusions compiled with random legal layouts: every element is stored once, and is what HLO allows.

    layouts.py WARPBURG [--count N] [--seed S]

N layouts for each of the fusions below. What is legal is worked out here: factors in any order that cover the elements and no more than
one of the outermost too many. `--bijection` goes through the stores of all threads, `run --check` judges the elements of all blocks, or of
some where there are many. The layout that the compiler chose, given back, must make the same PTX. Ends with `N passed, M failed`.
"""
import argparse
import os
import random
import re
import sys
from pathlib import Path
from typing import List, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
from warpburg_cli import Cli  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "shaderdb" / "corpus"
# file, and how many elements share a byte of the output
FUSIONS = [("convert_chains.hlo", 1), ("odd_sizes.hlo", 1), ("select_compare_s32.hlo", 1), ("two_outputs.hlo", 1), ("odd_tail.hlo", 1),
           ("causal_mask.hlo", 1), ("bias_relu.hlo", 1), ("swish_f16.hlo", 1), ("generated/rotary_bf16.S.hlo", 1),
           ("generated/laplacian_f64.S.hlo", 1), ("generated/arithmetic_s4.S.hlo", 2), ("scalar.hlo", 1)]
BLOCKS = 12  # that are run, where there are more


def chosen(cli: Cli, file: str) -> Tuple[int, int, str]:
    """Elements, the widest vector that is tried, and the text of the layout that the compiler chooses."""
    plan = cli.call("compile", file, "--emit", "plan").stdout
    text = re.search(r"(?m)^  layout (.*)$", plan)[1]
    vector = re.search(r"vector (\d+)", text)
    return int(re.search(r"elements (\d+)", plan)[1]), int(vector[1]) if vector else 1, text


def ceil(a: int, b: int) -> int:
    return -(-a // b)


def some_layout(rng: random.Random, n: int, widest: int, packed: int) -> str:
    vector = rng.choice([v for v in (1, 2, 4, 8, 16) if v <= max(widest, 2) and v % packed == 0])
    left = n // vector + ceil(n % vector, packed)  # vectors, then an element each, or a byte
    lane, warp = rng.choice([(32, rng.randint(1, 16)), (rng.randint(1, 32), 1)])
    sizes = {"lane": lane, "warp": warp, "grid": 0}
    if n % vector == 0:
        sizes["register"] = rng.randint(1, 4)
    order = rng.sample(sorted(sizes), len(sizes))
    if rng.random() < 0.6:                    # the usual order, the grid outermost
        order = [level for level in ("lane", "warp", "register", "grid") if level in sizes]
    grid = order.index("grid")
    inner = 1
    for level in order:
        if level != "grid":
            inner *= sizes[level]
    # the grid covers what the others leave; where it is not the outermost, the outermost is then cut
    sizes["grid"] = max(1, left // inner if grid + 1 < len(order) else ceil(left, inner))
    factors, covered = ([f"vector {vector}"] if vector > 1 else []), 1
    for k, level in enumerate(order):
        size = sizes[level]
        needed = ceil(left, covered)
        last = k + 1 == len(order) or needed <= size
        if last and level in ("lane", "warp") and needed != size:
            return ""                         # fewer lanes or warps than planned: the block would have another shape
        size = needed if last else size
        factors.append(f"{level} {size}")
        covered *= size
        if last:
            break
    got = {f.split()[0]: int(f.split()[1]) for f in factors}
    whole_warps = got.get("warp", 1) == 1 or got.get("lane", 1) == 32
    return f"elements: {', '.join(factors)}" if whole_warps and got.get("register", 1) <= 8 else ""


def layouts(rng: random.Random, n: int, widest: int, packed: int, count: int) -> List[str]:
    made: List[str] = []
    for _ in range(1000):
        text = some_layout(rng, n, widest, packed)
        if text and text not in made:
            made.append(text)
        if len(made) == count:
            break
    return made


def main() -> int:
    p = argparse.ArgumentParser(description="loop fusions with random layouts")
    p.add_argument("warpburg")
    p.add_argument("--count", type=int, default=3)
    p.add_argument("--seed", type=int, default=1)
    o = p.parse_args()
    cli = Cli(os.path.abspath(o.warpburg))
    rng = random.Random(o.seed)
    jobs: List[Tuple[str, str, str]] = []
    for name, packed in FUSIONS:
        file = str(CORPUS / name)
        n, widest, text = chosen(cli, file)
        jobs += [("given back", file, text)]
        jobs += [("random", file, layout) for layout in layouts(rng, n, widest, packed, o.count)]

    def judge(job: Tuple[str, str, str]) -> str:
        what, file, layout = job
        if what == "given back":
            ours, theirs = (cli.call("compile", file, *options).stdout for options in ([], ["--layout", layout]))
            return "" if ours and ours == theirs else "the chosen layout makes other PTX"
        stores = cli.call("compile", file, "--layout", layout, "--bijection")
        if stores.returncode:
            return (stores.stdout + stores.stderr).strip()
        grid = re.search(r"grid (\d+)", layout)
        v = cli.run(file, "sm_90", rng.choice("en"), blocks=BLOCKS if grid and int(grid[1]) > BLOCKS else 0, options=["--layout", layout])
        return "" if v.ok else v.why

    failed = 0
    for (what, file, layout), why in zip(jobs, cli.each(judge, jobs)):
        if why:
            failed += 1
            print(f"failed: {Path(file).name}, {what} --layout '{layout}': {why}", flush=True)
    kinds = {re.sub(r"\d+", "", layout) for what, _, layout in jobs if what == "random"}
    if len(kinds) < 6:
        failed += 1
        print(f"failed: only {len(kinds)} orders of factors were tried")
    print(f"{len(jobs)} layouts, {len(kinds)} orders of factors\n{len(jobs) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
