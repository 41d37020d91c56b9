"""How fast the simulator is: million instructions of a lane in a second of one core, GELU of bf16 and of f32, plainly and under --check.

Needs compiled bundles, which `warpburg` makes. Counted are the launch's own instructions and the processor time that it took, the best
of some runs; what makes inputs and judges outputs is not. The aims are 1000 and, under --check, 300.

    sim_speed.py build/warpburg [--repeat 5] [--threads 1]
"""
import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import List

ROOT = Path(__file__).resolve().parents[2]
AIMS = {False: 1000, True: 300}


def measured(words: List[str], repeat: int, clock: str) -> float:
    """million instructions a second, the best of some runs"""
    best = 0.0
    for _ in range(repeat):
        p = subprocess.run(words, stdout=subprocess.PIPE, text=True)
        try:
            run = json.loads(p.stdout)
            best = max(best, run["instructions"] / max(run[clock], 1e-3) / 1e3)
        except (ValueError, KeyError):
            raise SystemExit(f"{' '.join(words)}: status {p.returncode}: {p.stdout.strip()[:300]}") from None
    return best


def main() -> int:
    p = argparse.ArgumentParser(description="speed of the simulator")
    p.add_argument("warpburg")
    p.add_argument("--repeat", type=int, default=5)
    p.add_argument("--threads", type=int, default=1, help="host threads; more than one are measured by the clock on the wall")
    o = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in ("gelu", "gelu_f32"):
            source = (ROOT / "shaderdb" / "corpus" / f"{name}.hlo").read_text(encoding="utf-8")
            file = Path(folder) / f"{name}.hlo"
            file.write_text(re.sub(r"\[\d+,\d+,\d+\]", "[16,512,2048]", source), encoding="utf-8")
            bundle = str(Path(folder) / name)
            subprocess.run([o.warpburg, "compile", str(file), "--target", "sm_90", "-o", bundle], check=True, stdout=subprocess.DEVNULL)
            for check in (False, True):
                words = [o.warpburg, "run", bundle, "--json", "-j", str(o.threads)] + ["--check"] * check
                speed = measured(words, o.repeat, "ms_cpu" if o.threads == 1 else "ms_run")
                print(f"{name}{' --check' * check}: {speed:.0f} million lane-instructions a second; {AIMS[check]} wanted")
    return 0


if __name__ == "__main__":
    sys.exit(main())
