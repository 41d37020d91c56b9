#!/usr/bin/env python3
"""Writes random fusions for `gpu.py --corpus DIR`: `random_texts.py DIR [--count N] [--seed S]`, N each of the kinds that the random_* suites try."""
import argparse
import random
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "common"), str(TESTS / "kernels"), str(TESTS / "fuzz")]

import random_chain_text  # noqa: E402
import random_reduction_text  # noqa: E402
import random_scans  # noqa: E402
import random_scatter_text  # noqa: E402
import random_sorts  # noqa: E402
import random_steps  # noqa: E402
import random_transpose_text  # noqa: E402

KINDS = {
    "chains": lambda seed: random_chain_text.text_of(random_chain_text.chain_of(seed)),
    "reductions": lambda seed: random_reduction_text.generate(seed).text,
    "scans": lambda seed: random_scans.make(seed).text,
    "scatters": random_scatter_text.generate,
    "sorts": random_sorts.make,
    "steps": lambda seed: random_steps.module_of(random.Random(seed)),
    "transposes": random_transpose_text.generate,
}


def main() -> int:
    p = argparse.ArgumentParser(description="writes random fusions")
    p.add_argument("folder", type=Path)
    p.add_argument("--count", type=int, default=100)
    p.add_argument("--seed", type=int, default=0)
    o = p.parse_args()
    for kind, make in KINDS.items():
        (o.folder / kind).mkdir(parents=True, exist_ok=True)
        for seed in range(o.seed, o.seed + o.count):
            (o.folder / kind / f"{seed}.hlo").write_text(make(seed), encoding="utf-8")
    print(f"{len(KINDS) * o.count} fusions in {o.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
