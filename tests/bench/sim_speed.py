"""How fast the simulator is: million instructions of a lane in a second of one core, GELU of bf16 and of f32.

Needs compiled bundles, which `warpburg` makes. A run makes its inputs, too: so the time is what a run of the whole grid takes more than
a run of one block, and likewise the instructions. User time, the best of some runs; the aim is 1000.

    sim_speed.py build/warpburg [--repeat 5]
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import List, Tuple

ROOT = Path(__file__).resolve().parents[2]
AIM = 1000


def measured(words: List[str], repeat: int) -> Tuple[float, int]:
    """(best user seconds, instructions executed)"""
    best = 1e9
    for _ in range(repeat):
        p = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert p.stdout
        text = p.stdout.read()
        _, status, usage = os.wait4(p.pid, 0)
        if status:
            raise SystemExit(f"{' '.join(words)}: status {status}: {text.strip()[:300]}")
        best = min(best, usage.ru_utime)
    try:
        return best, int(json.loads(text)["instructions"])
    except (ValueError, KeyError):
        raise SystemExit(f"no count of instructions in: {text.strip()[:300]}") from None


def main() -> int:
    p = argparse.ArgumentParser(description="speed of the simulator")
    p.add_argument("warpburg")
    p.add_argument("--repeat", type=int, default=5)
    o = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in ("gelu", "gelu_f32"):
            source = (ROOT / "shaderdb" / "corpus" / f"{name}.hlo").read_text(encoding="utf-8")
            file = Path(folder) / f"{name}.hlo"
            file.write_text(re.sub(r"\[2,256,1024\]", "[16,256,1024]", source), encoding="utf-8")
            bundle = str(Path(folder) / name)
            subprocess.run([o.warpburg, "compile", str(file), "--target", "sm_90", "-o", bundle], check=True, stdout=subprocess.DEVNULL)
            words = [o.warpburg, "run", bundle, "--json"]
            base = measured(words + ["--blocks", "1"], o.repeat)
            whole = measured(words, o.repeat)
            speed = (whole[1] - base[1]) / max(whole[0] - base[0], 1e-6) / 1e6
            print(f"{name}: {speed:.0f} million lane-instructions a second; {AIM} wanted")
    return 0


if __name__ == "__main__":
    sys.exit(main())
