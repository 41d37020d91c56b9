"""The speed of the simulator: million lane instructions a second of one core, for GELU in bf16 and f32, with and without --check.

Counts the instructions and the processor time of the launch alone, without making inputs and judging outputs; the best of several runs.
The aims are 1000 and, under --check, 300. Needs warpburg, to compile the bundles.

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
    """Million instructions a second, the best of several runs."""
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
    p.add_argument("--threads", type=int, default=1, help="host threads; with more than one, elapsed time is measured")
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
