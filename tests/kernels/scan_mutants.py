#!/usr/bin/env python3
"""Scans with one thing wrong each: `run --check` finds every one in some order of execution.

    scan_mutants.py WARPBURG

A mutant changes one line of the PTX: a barrier, a shuffle, a condition, a store, an iteration, what a warp or an iteration takes over; or the order that
`kernel.json` documents. What is no fault is listed in EQUAL with its reason, and must be found in no order of execution. Ends with `N passed, M failed`.
"""
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
from mutant_runs import AS_IT_IS, Key, changed_lines, fault, rewritten, summed_up, write_mutant  # noqa: E402
from warpburg_cli import Cli  # noqa: E402

ORDERS = ("forward", "reverse", "shuffle:1", "shuffle:2")
CASES = (("n", 0), ("s", 0), ("n", 1))           # and seeds


def scan(operation: str, init: str, rows: int, columns: int, pad: str = "prefixes") -> str:
    """Prefixes, suffixes, or prefixes without their own element, of rows."""
    more = columns - 1
    size, low, high = {"prefixes": (columns, more, 0), "suffixes": (columns, 0, more), "exclusive": (columns, columns, -1)}[pad]
    shape = f"f32[{rows},{columns}]"
    return f"""HloModule m
c {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] {operation}(a, b)
}}
ENTRY e {{
  x = {shape} parameter(0)
  init = f32[] constant({init})
  ROOT y = {shape} reduce-window(x, init), window={{size=1x{size} pad=0_0x{low}_{high}}}, to_apply=c
}}
"""


KERNELS: Dict[str, Tuple[str, str]] = {           # text, layout
    "lanes": (scan("add", "3", 6, 256), "columns: vector 4, lane 32, loop 2; rows: grid 6"),
    "warps": (scan("add", "3", 5, 500), "columns: vector 2, lane 32, warp 4, loop 2; rows: grid 5"),
    "suffixes": (scan("add", "3", 5, 500, "suffixes"), "columns: vector 2, lane 32, warp 4, loop 2; rows: grid 5"),
    "exclusive": (scan("multiply", "3", 4, 100, "exclusive"), "columns: register 2, lane 16, loop 4; rows: lane 2, grid 2"),
}
# kind of mutant: what a line must match, and what replaces the match
KINDS: Dict[str, Tuple[str, str]] = {
    "no barrier": (r"bar(rier)?\.sync", "// bar.sync"),
    "half the distance, or twice 1": (r"(shfl\.sync\.(?:up|down)\.b32\s+%r\d+, %r\d+), (\d+)", "half"),
    "the other direction": (r"shfl\.sync\.(up|down)\.b32(\s+%r\d+, %r\d+, \d+), \d+", "turn"),
    "another lane's total": (r"(shfl\.sync\.idx\.b32\s+%r\d+, %r\d+), (\d+)", "another"),
    "a shuffle under a condition": (r"^\s*(shfl\.sync\.\w+\.b32 .*?;)",
                                   r"\t{ .reg .pred %low; .reg .b32 %of; mov.u32 %of, %laneid; setp.lt.u32 %low, %of, 16; @%low \1 }"),
    "the condition inverted": (r"^\s*setp\.\w+", "invert"),
    "the branch inverted": (r"^\s*@!?%p", "branch"),
    "no store": (r"^\s*st\.", "\t// st."),
    "another initial value": (r"0f40400000", "0f40800000"),
}
ORDER_KINDS = {
    "twice the terms of a thread documented": (r"thread (\d+); lane (\d+)", lambda m: f"thread {2 * int(m[1])}; lane {int(m[2]) // 2}"),
    "half of the lanes documented, in twice the iterations": (r"lane (\d+)(.*); loop (\d+)", lambda m: f"lane {int(m[1]) // 2}{m[2]}; loop {2 * int(m[3])}"),
    "the other end documented": (r"scan( from the last)?", lambda m: "scan" if m[1] else "scan from the last"),
}
# kernel, kind, number of the line among those of its kind: why the kernel is right all the same
EQUAL: Dict[Key, str] = {}


def change(kind: str, line: str) -> str:
    pattern, to = KINDS[kind]
    if to == "half":
        return re.sub(pattern, lambda m: f"{m[1]}, {int(m[2]) // 2 or 2}", line)
    if to == "another":
        return re.sub(pattern, lambda m: f"{m[1]}, {int(m[2]) ^ 1}", line)
    if to == "turn":
        return re.sub(pattern, lambda m: f"shfl.sync.{'down' if m[1] == 'up' else 'up'}.b32 {m[2]}, {31 if m[1] == 'up' else 0}", line)
    return rewritten(line, pattern, to)


def main() -> int:
    cli = Cli(os.path.abspath(sys.argv[1]))
    with tempfile.TemporaryDirectory() as name:
        jobs: List[Tuple[Key, Path]] = []
        for kernel, (hlo, layout) in KERNELS.items():
            file, first = Path(name, f"{kernel}.hlo"), Path(name, kernel)
            file.write_text(hlo, encoding="utf-8")
            compiled = cli.call("compile", str(file), "--layout", layout, "-o", str(first))
            text = cli.call("compile", str(file), "--layout", layout).stdout
            if compiled.returncode or not text:
                print(f"{kernel}: {compiled.stderr}")
                return 1
            document = (first / "kernel.json").read_text(encoding="utf-8")
            order = re.search(r"scan[^\"]*", document)[0]
            made = [(key, changed, document) for key, changed in [((kernel, AS_IT_IS, 0), text), *changed_lines(kernel, text, KINDS, change)]]
            made += [((kernel, kind, 0), text, document.replace(order, re.sub(pattern, to, order))) for kind, (pattern, to) in ORDER_KINDS.items()
                     if re.search(pattern, order)]
            for key, changed, described in made:
                jobs.append((key, write_mutant(first, Path(name, f"{kernel}.{len(jobs)}"), changed, described)))

        def judge(job: Tuple[Key, Path]) -> str:
            key, folder = job
            runs = ((*case, order) for case in CASES for order in (ORDERS[:1] if "documented" in key[1] else ORDERS))
            return fault(cli, folder, key[1] == AS_IT_IS or key in EQUAL, runs, (0, 1, 4) if "documented" in key[1] else (0, 4))

        return summed_up([key for key, _ in jobs], cli.each(judge, jobs), EQUAL, len(KERNELS))


if __name__ == "__main__":
    sys.exit(main())
