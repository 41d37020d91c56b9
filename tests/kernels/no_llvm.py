#!/usr/bin/env python3
"""The compiler without LLVM (`meson setup -Dllvm=disabled`): what it writes is what `--backend ptx` writes, it runs, and it says what it has not.

    no_llvm.py BUILD

BUILD has build/tests/warpburg_no_llvm, the objects of `warpburg` linked without LLVM. Each text of shaderdb/corpus is compiled by both for each
target; one is run under --check. Ends with `N passed, M failed`.
"""
from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import List

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "common")]
from warpburg_cli import TARGETS  # noqa: E402

TEXTS = sorted((ROOT / "shaderdb" / "corpus").glob("*.hlo"))


def ran(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=300, env={**os.environ, "WARPBURG_CACHE": "off"})


def main() -> int:
    p = argparse.ArgumentParser()
    p.add_argument("build", type=Path)
    build = p.parse_args().build
    small, whole = str(build / "tests" / "warpburg_no_llvm"), str(build / "warpburg")
    faults: List[str] = []
    for target in TARGETS:
        ours, theirs = (ran(program, "compile", *more, "--target", target, *map(str, TEXTS)) for program, more in ((small, []), (whole, ["--backend", "ptx"])))
        if (ours.returncode, ours.stdout, ours.stderr) != (theirs.returncode, theirs.stdout, theirs.stderr) or ".entry" not in ours.stdout:
            faults.append(f"{target}: other text than that of --backend ptx: {ours.stderr[-300:]}")
    checked = ran(small, "run", str(ROOT / "shaderdb" / "corpus" / "gelu.hlo"), "--check", "--blocks", "4")
    if checked.returncode or "inside the bounds" not in checked.stdout:
        faults.append(f"run --check: {checked.stdout}{checked.stderr}")
    for words in (["--backend", "llvm"], ["--emit", "llvm"]):
        refused = ran(small, "compile", str(TEXTS[0]), *words)
        if refused.returncode != 1 or "LLVM" not in refused.stderr:
            faults.append(f"{' '.join(words)}: exit {refused.returncode}: {refused.stderr}")
    libraries = ran("ldd", small).stdout
    if "LLVM" in libraries or "stdc++" in libraries:
        faults.append(f"it needs {libraries}")
    for fault in faults:
        print(f"failed: {fault}")
    n = len(TARGETS) + 4
    print(f"{os.path.getsize(small) / 1e6:.0f} MB for {os.path.getsize(whole) / 1e6:.0f}\n{n - len(faults)} passed, {len(faults)} failed")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
