"""What compiling costs: the median over N compiles of one file in one process, by room, and what share of the whole that is.

usage: compile_time.py WARPBURG [FILE.hlo] [N]      FILE: GELU of the corpus; N: 40
"""
from __future__ import annotations

import re
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Dict, List

GELU = Path(__file__).resolve().parents[2] / "shaderdb" / "corpus" / "gelu.hlo"


def main(argv: List[str]) -> int:
    file, n = argv[2] if len(argv) > 2 else str(GELU), int(argv[3]) if len(argv) > 3 else 40
    per_call = 20
    ms: Dict[str, List[float]] = {}
    for _ in range((n + per_call - 1) // per_call):
        text = subprocess.run([argv[1], "compile", "--time", *[file] * per_call], check=True, capture_output=True, text=True).stdout
        for line in re.findall(r"^ms: (.*)$", text, re.M):
            words = line.split()
            for room, value in zip(words[::2], words[1::2]):
                ms.setdefault(room, []).append(float(value))
    whole = statistics.median(ms["all"])
    for room, values in ms.items():
        median = statistics.median(values)
        print(f"{room:10} {median:8.3f} ms {100 * median / whole:5.1f} %")
    print(f"{len(ms['all'])} compiles of {Path(file).name}; without LLVM {100 * (1 - statistics.median(ms['llvm']) / whole):.1f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
