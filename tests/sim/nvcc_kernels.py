"""Kernels compiled by nvcc run right in the simulator, without a report: it is tested with more PTX than warpburg's own.

nvcc_kernels/NAME.cu has one kernel `k`, nvcc_kernels/NAME.hlo what it computes and how it is launched. Each is compiled for each of
TARGETS, and run under --check on case n. Without nvcc the suite is skipped. Ends with `N passed, M failed`.

    nvcc_kernels.py build/warpburg-run
"""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).with_name("nvcc_kernels")
TARGETS = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")


def nvcc() -> str:
    found = shutil.which("nvcc")
    usual = Path("/usr/local/cuda/bin/nvcc")
    return found or (str(usual) if usual.exists() else "")


def complaint(program: str, compiler: str, source: Path, target: str) -> str:
    launch = re.search(r"^// launch: grid (\S+) block (\S+)$", source.with_suffix(".hlo").read_text(encoding="utf-8"), re.M)
    if not launch:
        return "no launch in its .hlo"
    with tempfile.TemporaryDirectory() as folder:
        ptx = Path(folder) / f"{source.stem}.ptx"
        p = subprocess.run([compiler, "-ptx", f"-arch={target}", str(source), "-o", str(ptx)], capture_output=True, text=True, timeout=120)
        if p.returncode:
            return f"nvcc: {(p.stderr or p.stdout).strip()[:300]}"
        words = [program, "run", str(source.with_suffix(".hlo")), "--ptx", str(ptx), "--grid", launch.group(1), "--block", launch.group(2),
                 "--case", "n", "--check"]
        p = subprocess.run(words, capture_output=True, text=True, timeout=120)
        return "" if p.returncode == 0 else f"exit {p.returncode}: {(p.stdout + p.stderr).strip()[:400]}"


def main() -> int:
    compiler = nvcc()
    if not compiler:
        print("skipped: kernels of CUDA C: nvcc is not installed")
        print("0 passed, 0 failed")
        return 0
    passed = failed = 0
    for source in sorted(FOLDER.glob("*.cu")):
        for target in TARGETS:
            why = complaint(sys.argv[1], compiler, source, target)
            passed, failed = passed + (not why), failed + bool(why)
            if why:
                print(f"{source.name}, {target}: {why}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
