#!/usr/bin/env python3
"""The annotations of the Python package hold, by mypy as pyproject.toml sets it, and a user's program is checked by them (py.typed).

usage: python_types.py        needs mypy and numpy in this Python; without mypy nothing is checked, and a line says so
"""
import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GOOD = """import warpburg
p = warpburg.read("folder", target="sm_80")
seconds: float = p.profile().seconds
names: list[str] = [s.name for s in p.steps]
k = warpburg.load("folder")
if isinstance(k, warpburg.Kernel):
    text: str = k.ptx
    verdict: bool = k.check(case="e").ok
    k.save("other")
"""
BAD = {"p.profile().seconds": "p.profile().hours", 'target="sm_80"': "target=80", "text: str": "text: int", 'case="e"': 'kase="e"', "s.name for": "s.nam for"}


def mypy(*words: str, cwd: Path = ROOT) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "MYPYPATH": str(ROOT / "python")}
    return subprocess.run([sys.executable, "-m", "mypy", *words], capture_output=True, text=True, timeout=600, cwd=cwd, env=environment)


def main() -> int:
    if importlib.util.find_spec("mypy") is None:
        print("skipped: mypy is not installed in this Python")
        print("0 passed, 0 failed")
        return 0
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        cache = ("--cache-dir", f"{folder}/cache")
        whole = mypy(*cache, "--config-file", "pyproject.toml")
        results = [(whole.returncode == 0, whole.stdout + whole.stderr)]
        for k, (old, new) in enumerate([("", ""), *BAD.items()]):
            assert old in GOOD
            file = Path(folder, f"user{k}.py")
            file.write_text(GOOD.replace(old, new, 1) if old else GOOD)
            p = mypy(*cache, "--config-file", str(ROOT / "pyproject.toml"), str(file), cwd=Path(folder))
            results.append(((p.returncode == 0) == (not old), f"{new or 'the program as it is'}: {p.stdout}"))
    for good, said in results:
        passed, failed = passed + good, failed + (not good)
        if not good:
            print(f"FAILED: {said}")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
