#!/usr/bin/env python3
"""Random modules: each is cut into a program, compiled, run step by step in the simulator, and compared with the evaluator's bounds.

    random_programs.py WARPBURG [COUNT] [--seed S] [--folder DIR]

A module is a graph of 8 to 40 operations on arrays of a few sizes: elementwise work, broadcasts, reductions, transposes, slices, pads,
concatenations, updates, gathers, scatters, windows, prefix sums, sorts, argmax, products of matrices, loops, branches and calls, with values
used several times, parameters that are results, and memory of parameters given away. Odd seeds are of integers, for which every result must be
equal. Each is cut by price and plainly, for two targets; a module that is declined has failed. Texts of those that fail stay in DIR. Ends with
`N passed, M failed`.
"""
import sys
from pathlib import Path
from typing import Optional

from random_program_text import text_of
from seeds import TARGETS, Seeds, ended



def wrong(warpburg: str, file: Path, seed: int, cut: str, target: str) -> Optional[str]:
    command = [warpburg, "run", str(file), "--check", "--cut", cut, "--target", target, "--case", "ne"[seed // 2 % 2], "--seed", str(seed), "-j", "1"]
    status, said = ended(command)
    return f"{' '.join(command)}: exit {status}: {said[-400:]}" if status else None


def main() -> int:
    o = Seeds(__doc__, "random_programs", 30)
    passed = failed = 0
    for seed in o.numbers:
        file = o.folder / f"program_{seed}.hlo"
        file.write_text(text_of(seed))
        k = seed % len(TARGETS)
        said = [w for w in (wrong(o.warpburg, file, seed, "priced", TARGETS[k]), wrong(o.warpburg, file, seed, "plain", TARGETS[(k + 3) % len(TARGETS)])) if w]
        failed += bool(said)
        passed += not said
        print("\n".join(said), end="\n" if said else "")
        if not said:
            file.unlink()
    return o.summed_up(passed, failed)


if __name__ == "__main__":
    sys.exit(main())
