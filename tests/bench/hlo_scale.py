"""Time and memory of reading HLO as modules grow: milliseconds and bytes for each MB of text, at 1, 2 and 4 times a size.

usage: hlo_scale.py WARPBURG [MODEL.hlo] [N]      MODEL: by default the largest of ../shared/corpus/models; N: runs, of which the best counts (9)

Modules of a given size are made from copies of the model's computations under other names. Prints a table; exit 1 unless 4 MB parse and verify in
less than 100 ms and 10 bytes of memory for each byte of text, and four times the size costs at most five times as much time and memory.
Times are processor times, but other processes on the machine slow them down, too: the bound of 100 ms is for one free core.
"""
from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import List, Tuple

MODELS = Path(__file__).resolve().parents[3] / "shared" / "corpus" / "models"
MB = 1 << 20
# the first and last line of a computation are not indented
COMPUTATION = re.compile(r"^(ENTRY )?(%?[\w.-]+)[^\n]*\{\n.*?^\}[^\n]*\n", re.M | re.S)
CALL = re.compile(r"\b(to_apply|calls|body|condition|select|scatter|true_computation|false_computation)=(%?[\w.-]+)")
CALLS = re.compile(r"\b(branch_computations|called_computations)=\{([^}]*)\}")


def renamed(text: str, suffix: str) -> str:
    """A copy of a computation, with the suffix on its name and the names of those that it calls, and without ENTRY."""
    text = CALL.sub(lambda m: f"{m.group(1)}={m.group(2)}{suffix}", text)
    text = CALLS.sub(lambda m: f"{m.group(1)}={{{', '.join(n.strip() + suffix for n in m.group(2).split(','))}}}", text)
    return re.sub(r"^(?:ENTRY )?(%?[\w.-]+)", lambda m: m.group(1) + suffix, text, count=1)


def module(computations: List[str], size: int) -> str:
    """Whole computations, callees first, up to about this size; the last one is the entry."""
    out, total, copy = ["HloModule scaled\n\n"], 0, 0
    while total < size:
        copy += 1
        for c in computations:
            if total >= size and copy > 1:
                break
            out.append(renamed(c, f".x{copy}") + "\n")
            total += len(out[-1])
    return "".join(out)


def cost(warpburg: str, path: str, runs: int) -> Tuple[float, int, int]:
    """(best ms of CPU time, bytes of text, bytes of memory)"""
    best, text_bytes, memory = float("inf"), 0, 0
    for _ in range(runs):
        line = subprocess.run([warpburg, "hlo", "--time", path], check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout
        found = re.search(r"([\d.]+) ms of CPU time, (\d+) bytes of text, (\d+) bytes of memory", line)
        assert found, line
        best, text_bytes, memory = min(best, float(found.group(1))), int(found.group(2)), int(found.group(3))
    return best, text_bytes, memory


def main(argv: List[str]) -> int:
    model = Path(argv[2]) if len(argv) > 2 else max(MODELS.glob("*.hlo"), key=lambda p: p.stat().st_size)
    runs = int(argv[3]) if len(argv) > 3 else 9
    computations = [m.group(0) for m in COMPUTATION.finditer(model.read_text(encoding="utf-8"))]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for times in (1, 2, 4):
            path = Path(folder, f"{times}.hlo")
            path.write_text(module(computations, times * 4 * MB), encoding="utf-8")
            ms, size, memory = cost(argv[1], str(path), runs)
            rows.append((ms, size, memory))
            print(f"{times}x: {size / MB:6.2f} MB {ms:8.2f} ms {ms / (size / MB):6.2f} ms/MB {memory / size:5.2f} bytes a byte")
    for_4mb = rows[0][0] * 4 * MB / rows[0][1]
    time_ratio, memory_ratio = rows[2][0] / rows[0][0], rows[2][2] / rows[0][2]
    print(f"4 MB of {model.name}: {for_4mb:.1f} ms, {rows[0][2] / rows[0][1]:.2f} bytes a byte; "
          f"four times that: {time_ratio:.2f} times the time, {memory_ratio:.2f} times the memory")
    return int(for_4mb >= 100 or rows[0][2] >= 10 * rows[0][1] or time_ratio > 5 or memory_ratio > 5)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
