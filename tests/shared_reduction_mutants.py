#!/usr/bin/env python3
"""Kernels whose threads share terms, with one thing wrong each: `run --check` finds every one in some order of execution.

    shared_reduction_mutants.py WARPBURG

A mutant changes one line of the PTX: each barrier, shuffle, ticket, store, condition and read of a partial result has its own. What is no
fault is listed in EQUAL with its reason, and must be found in no order. Ends with `N passed, M failed`.
"""
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Dict, Iterator, List, Tuple

from shared_reductions import ORDERS, fusion
from warpburg_cli import Cli

CASES = (("s", 0), ("s", 1), ("n", 0))           # and seeds
# sums find what is combined twice; a product finds a part that is taken to be there, which is 0
KERNELS = {
    "tickets": (fusion("tickets", "f32", [128, 512], [0, 1], init="3"), "elements: vector 4, lane 32, warp 2, loop 4, grid 64"),
    "tiles": (fusion("tiles", "f32", [49, 24], [0], "multiply", init="3"), "columns: lane 8, grid 3; rows: lane 4, warp 2, register 3, grid 3"),
    "warps": (fusion("warps", "f32", [64, 1024], [1], init="3"), "rows: grid 64; columns: vector 4, lane 32, warp 2, register 4"),
}

# kind of mutant: what a line must match, and what replaces the match
KINDS: Dict[str, Tuple[str, str]] = {
    "no barrier": (r"bar\.sync", "// bar.sync"),
    "a ticket without order": (r"atom\.acq_rel\.gpu", "atom.relaxed.gpu"),
    "a ticket of the block's scope": (r"atom\.acq_rel\.gpu", "atom.acq_rel.cta"),
    "a ticket that does not release": (r"atom\.acq_rel\.gpu", "atom.acquire.gpu"),
    "a ticket that does not acquire": (r"atom\.acq_rel\.gpu", "atom.release.gpu"),
    "half the distance, or twice 1": (r"(shfl\.sync\.down\.b32 \t%r\d+, %r\d+), (\d+)", "half"),
    "up, not down": (r"shfl\.sync\.down\.b32 (\t%r\d+, %r\d+, \d+), 31", r"shfl.sync.up.b32 \1, 0"),
    "the condition inverted": (r"^\s*setp\.\w+", "invert"),
    "the branch inverted": (r"^\s*@%p", "\t@!%p"),
    "a part read as a constant": (r"ld\.global\.b(?=.*%part)", "ld.global.nc.b"),
    "no store": (r"^\s*st\.", "\t// st."),
    "one iteration less": (r"(setp\.lt\.u32.*, )(\d+)(?=;\s*// for)", "less"),
    "the initial value twice": (r"^\s*st\.global\.b32 \t\[(\S+)\], (%r\d+);(?=.*%out)", r"\tOP.rn.f32 \2, \2, 0f40400000; st.global.b32 [\1], \2;"),
}
INVERSE = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}
# kernel, kind, number of the line among those of its kind: why the kernel is right all the same
EQUAL: Dict[Tuple[str, str, int], str] = {
    ("tickets", "no barrier", 1): "thread 0 alone stores the block's part, and draws the ticket",
    # whether terms are there, 16 lanes on: lanes are rows of 8 columns
    ("tiles", "half the distance, or twice 1", 3): "of the last rows a warp has the first alone: rows 1 and 2 are there when rows 2 and 3 are",
    ("tiles", "half the distance, or twice 1", 7): "of 4 rows 3 have a part: rows 1 and 2 have one, and so have rows 2 and 3",
    ("tiles", "up, not down", 7): "of 4 rows 3 have a part: rows 0 and 1 have one, and so have rows 2 and 3",
}


def change(kind: str, line: str) -> str:
    pattern, to = KINDS[kind]
    if to == "invert":
        return re.sub(r"setp\.(\w+)", lambda m: f"setp.{INVERSE[m[1]]}", line)
    if to == "half":
        return re.sub(pattern, lambda m: f"{m[1]}, {int(m[2]) // 2 or 2}", line)
    if to == "less":
        return re.sub(pattern, lambda m: f"{m[1]}{int(m[2]) - 1}", line)
    return re.sub(pattern, to, line)


def mutants(kernel: str, text: str) -> Iterator[Tuple[Tuple[str, str, int], str]]:
    lines = text.splitlines()
    for kind, (pattern, _) in KINDS.items():
        for n, at in enumerate(k for k, line in enumerate(lines) if re.search(pattern, line)):
            changed = change(kind, lines[at]).replace("OP", "mul" if "mul.rn" in text else "add")
            yield (kernel, kind, n), "\n".join([*lines[:at], changed, *lines[at + 1:]])
    wrap = re.search(r"mov\.b32 \t(%r\d+), (\d+);.*\n.*\n\s*atom\.", text)
    if wrap:
        for n, by in enumerate((-1, 1)):
            moved = wrap[0].replace(f", {wrap[2]};", f", {int(wrap[2]) + by};")
            yield (kernel, "the ticket's last number", n), text.replace(wrap[0], moved)


def main() -> int:
    cli = Cli(os.path.abspath(sys.argv[1]))
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        jobs: List[Tuple[Tuple[str, str, int], Path]] = []
        for kernel, (f, layout) in KERNELS.items():
            file, first = Path(name, f"{f.name}.hlo"), Path(name, f.name)
            file.write_text(f.text, encoding="utf-8")
            made = cli.call("compile", str(file), "--layout", layout, "-o", str(first))
            text = cli.call("compile", str(file), "--layout", layout).stdout
            if made.returncode or not text:
                print(f"{kernel}: {made.stderr}")
                return 1
            for key, changed in [((kernel, "as it is", 0), text), *mutants(kernel, text)]:
                folder = Path(name, f"{f.name}.{len(jobs)}")
                folder.mkdir()
                for part in ("kernel.json", "fusion.hlo"):
                    (folder / part).write_bytes((first / part).read_bytes())
                (folder / "kernel.ptx").write_text(changed, encoding="utf-8")
                jobs.append((key, folder))

        def judge(job: Tuple[Tuple[str, str, int], Path]) -> str:
            right = job[0][1] == "as it is" or job[0] in EQUAL
            for case, seed in CASES:
                for order in ORDERS:
                    p = cli.call("run", str(job[1]), "--check", "--case", case, "--seed", str(seed), "--order", order)
                    if p.returncode not in (0, 4) or (right and p.returncode):
                        return f"--case {case} --seed {seed} --order {order}: exit {p.returncode}: {(p.stdout + p.stderr).strip()[:300]}"
                    if p.returncode:
                        return ""
            return "" if right else "not found"

        for (key, _), why in zip(jobs, cli.each(judge, jobs)):
            if why:
                failed += 1
                print(f"failed: {key}: {why}", flush=True)
    unknown = set(EQUAL) - {key for key, _ in jobs}
    for key in unknown:
        print(f"failed: {key}: there is no such mutant")
    print(f"{len(jobs) - len(KERNELS)} mutants, {len(EQUAL)} of them equal\n{len(jobs) - failed} passed, {failed + len(unknown)} failed")
    return int(failed + len(unknown) > 0)


if __name__ == "__main__":
    sys.exit(main())
