#!/usr/bin/env python3
"""What each of the passes that LLVM runs for us is worth after ptxas: the list of src/llvm/compile.c with one pass less, kernel by kernel.

usage: llvm_passes.py FOLDER.. [--every N] [--targets sm_80,sm_90,sm_120] [-j JOBS]

Builds the tree of HEAD in a temporary folder, and again with each pass of FUNCTION_PASSES left out, and with none. All compile the same fusions by
`--backend llvm`, assemble and profile them. Prints a row a build: machine instructions and registers over those of the whole list, in sum; how many
kernels have more than 1.02 of the instructions, and the worst; executed instructions and modelled time of a sample of blocks, in the geometric mean; the
milliseconds of LLVM. The last row is what the tables write of the same kernels (src/ptx).
"""
from __future__ import annotations

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Dict, List, Tuple

from back_ends import by

ROOT = Path(__file__).resolve().parents[2]
SOURCE = "src/llvm/compile.c"
BLOCKS = 12     # of a profile
LIST = re.compile(r'(#define FUNCTION_PASSES\s*\\\n)((?:\s*".*\n)+)')
PASSES = ("sroa", "early-cse", "instcombine<no-verify-fixpoint>", "simplifycfg", "loop-rotate", "licm", "early-cse<memssa>", "dce")

Kernels = Dict[Tuple[str, str], Dict[str, float]]  # by file and target


def without(passes: str) -> str:
    """The list that has these passes alone."""
    keep = passes.split()
    loops = [p for p in ("loop-rotate", "licm") if p in keep]
    out: List[str] = []
    for p in PASSES:
        if p in loops[:1]:
            out.append(f"loop-mssa({','.join(loops)})")
        elif p in keep and p not in loops:
            out.append(p)
    return f"function({','.join(out)})" if out else "function(verify)"


def build(tree: Path, listed: str, text: str) -> Path:
    (tree / SOURCE).write_text(LIST.sub(lambda m: f'{m[1]}    "{listed}"\n', text), encoding="utf-8")
    subprocess.run(["ninja", "-C", str(tree / "build"), "--quiet", "warpburg"], check=True, stdout=subprocess.DEVNULL)
    return tree / "build" / "warpburg"


def compiled(program: Path, backend: str, files: List[str], targets: List[str], jobs: int) -> Kernels:
    out: Kernels = {}
    with tempfile.TemporaryDirectory() as folder:
        for target in targets:
            for k in range(0, len(files), 50):
                options = ["--target", target, "--backend", backend, "--json", "--no-cache", "-j", str(jobs), "-o", folder]
                p = subprocess.run([str(program), "compile", *files[k:k + 50], *options], capture_output=True, text=True, check=False)
                for line in p.stdout.splitlines():
                    said = json.loads(line)
                    if said.get("status") == "ok" and "sass" in said:
                        llvm = sum(said["ms"][x] for x in ("build", "link", "optimise", "codegen"))
                        out[said["file"], target] = {"sass": said["sass"], "regs": said["regs"], "ms": llvm}
    with ThreadPoolExecutor(jobs) as pool:
        times = pool.map(lambda k: by(str(program), backend, k[0], k[1], BLOCKS), out)
        for facts, found in zip(out.values(), times):
            facts.update(zip(("executed", "us"), found or ()))
    return out


def mean(whole: Kernels, other: Kernels, what: str) -> float:
    """The geometric mean of the ratios of those that both have."""
    return math.exp(statistics.mean(math.log(other[k][what] / whole[k][what]) for k in whole if what in whole[k] and what in other.get(k, {})))


def row(name: str, whole: Kernels, other: Kernels) -> str:
    both = [k for k in whole if k in other]
    ratio = {x: sum(other[k][x] for k in both) / max(1, sum(whole[k][x] for k in both)) for x in ("sass", "regs", "ms")}
    worse = {k: other[k]["sass"] / whole[k]["sass"] for k in both if other[k]["sass"] > 1.02 * whole[k]["sass"]}
    worst = max(worse, key=lambda k: worse[k]) if worse else ("", "")
    return (f"| {name} | {len(both)} | {ratio['sass']:.3f} | {ratio['regs']:.3f} | {len(worse)} | "
            f"{worse.get(worst, 1):.2f} {Path(worst[0]).stem} {worst[1]} | {mean(whole, other, 'executed'):.3f} | {mean(whole, other, 'us'):.3f} | "
            f"{ratio['ms']:.2f} |")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--targets", default="sm_80,sm_90,sm_120")
    parser.add_argument("-j", type=int, default=2)
    args = parser.parse_args()
    files = [str(f.resolve()) for folder in args.folders for f in sorted(folder.rglob("*.hlo"))][::args.every]
    targets = args.targets.split(",")
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "-C", str(ROOT), "worktree", "add", "-q", "--detach", str(tree)], check=True)
        try:
            subprocess.run(["meson", "setup", "build"], cwd=tree, check=True, stdout=subprocess.DEVNULL, env=os.environ)
            text = (tree / SOURCE).read_text(encoding="utf-8")
            if not LIST.search(text):
                sys.exit(f"{SOURCE}: no FUNCTION_PASSES")
            whole = compiled(build(tree, without(" ".join(PASSES)), text), "llvm", files, targets, args.j)
            print("| without | kernels | instructions | registers | above 1.02 | worst | executed | modelled time | time of LLVM |")
            print("|---" * 9 + "|")
            for left in (*((p,) for p in PASSES), PASSES):
                program = build(tree, without(" ".join(p for p in PASSES if p not in left)), text)
                print(row("all" if left == PASSES else f"`{left[0]}`", whole, compiled(program, "llvm", files, targets, args.j)), flush=True)
            print(row("LLVM: the tables", whole, compiled(program, "ptx", files, targets, args.j)))
        finally:
            subprocess.run(["git", "-C", str(ROOT), "worktree", "remove", "--force", str(tree)], check=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
