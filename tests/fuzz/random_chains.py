#!/usr/bin/env python3
"""Random chains of reductions: each is compiled, run in the simulator, and compared with the evaluator's bounds and the documented order.

    random_chains.py WARPBURG [COUNT] [--seed S] [--folder DIR]

A chain is two to five reductions, each of what the results before have made of the value: as softmax, norms and their gradients, along rows, columns
or several dimensions, with masks, side outputs, several types and a pick by label (fuzz/random_chain_text.py). Each runs for two targets in a case of
inputs. An argmax over many terms of dimensions that are not neighbours, which one thread would have to take in order, is declined, and counted apart. Of
a chain that fails a smaller one is looked for that fails, too, and stays in DIR. Ends with `N passed, M failed`.
"""
import sys
from pathlib import Path
from typing import List, Optional

from random_chain_text import Chain, chain_of, smaller, text_of
from seeds import TARGETS, Seeds, ended

CASES = "neps"
DECLINED = "one thread reduces at most"
TRIES = 60          # smaller chains of one that fails


def command(warpburg: str, file: Path, seed: int, target: str) -> List[str]:
    return [warpburg, "run", str(file), "--check", "--target", target, "--case", CASES[seed // 2 % len(CASES)], "--seed", str(seed), "-j", "1"]


def wrong(warpburg: str, file: Path, chain: Chain, seed: int, target: str) -> Optional[str]:
    file.write_text(text_of(chain), encoding="utf-8")
    words = command(warpburg, file, seed, target)
    status, said = ended(words)
    return f"{' '.join(words)}: exit {status}: {said[-400:]}" if status else None


def smallest(warpburg: str, file: Path, chain: Chain, seed: int, target: str, said: str) -> str:
    """What is said of the smallest chain that fails in the same way, whose text is left in the file."""
    tries, status = TRIES, said.split(": exit ")[1].split(":")[0]
    found = True
    while found and tries > 0:
        found = False
        for less in smaller(chain):
            tries -= 1
            again = wrong(warpburg, file, less, seed, target) if tries >= 0 else None
            if again and again.split(": exit ")[1].split(":")[0] == status:
                chain, said, found = less, again, True
                break
    file.write_text(text_of(chain), encoding="utf-8")
    return said


def main() -> int:
    o = Seeds(__doc__, "random_chains", 40)
    passed = failed = declined = 0
    for seed in o.numbers:
        chain, k = chain_of(seed), seed % len(TARGETS)
        said = []
        for target in (TARGETS[k], TARGETS[(k + 3) % len(TARGETS)]):
            file = o.folder / f"chain_{seed}_{target}.hlo"
            fault = wrong(o.warpburg, file, chain, seed, target)
            if fault and DECLINED in fault and any(s.op == "argmax" and len(s.reduced) > 1 for s in chain.steps):
                fault, declined = None, declined + 1
            if fault:
                said.append(smallest(o.warpburg, file, chain, seed, target, fault))
            else:
                file.unlink()
        failed += bool(said)
        passed += not said
        print("\n".join(said), end="\n" if said else "", flush=True)
    print(f"{declined} kernels declined: an argmax in the order of several dimensions")
    return o.summed_up(passed, failed)


if __name__ == "__main__":
    sys.exit(main())
