#!/usr/bin/env python3
"""Random products of matrices of f16 and bf16, alone and between other operations: compiled, run in the simulator, compared with the bounds.

    random_dots.py WARPBURG [COUNT] [--seed S] [--folder DIR]

As random_products.py, but both factors have several rows, so that tensor cores add the products of a part: sizes that tiles divide and sizes that they do
not, dimensions in any order in memory. Of three seeds of five operands go through shared memory where they can. Texts of
those that fail stay in DIR. Ends with `N passed, M failed`.
"""
import random
import sys
from pathlib import Path
from typing import List

from random_products import Text, around, product
from seeds import SINCE_80, Seeds, judged

MADE = "tensor cores add its products"
LEAST_MADE = 0.3  # small ones are sums where lanes may not read memory
SIZES = (3, 8, 16, 17, 30, 64, 96, 128, 130)
STRATEGIES = Path(__file__).resolve().parents[2] / "patterns/strategies.py"
DIRECT = next(n for n, line in enumerate(STRATEGIES.read_text(encoding="utf-8").split("\n"), 1) if "'product.direct'" in line)


def through_memory(seed: int) -> List[str]:
    return ["--disable", f"strategies.py:{DIRECT}"] if seed % 5 < 3 else []


def text_of(seed: int) -> str:
    t = Text(random.Random(seed))
    return around(t, *product(t, ("bf16", "f16"), SIZES, SIZES), 1 << 30)


if __name__ == "__main__":
    sys.exit(judged(Seeds(__doc__, "random_dots", 40), "product", text_of, SINCE_80, "pnse", MADE, LEAST_MADE, "tensor cores add products", through_memory))
