#!/usr/bin/env python3
"""A compiler built by another C compiler prints the same bytes: what C leaves open, the order in which arguments are evaluated first of all, shows in
nothing. gcc evaluates arguments from the last one on, clang from the first.

usage: two_compilers.py WARPBURG [--make] [--shared DIR] [--every N] [-j N]     --make: builds, which takes minutes; without it nothing is compared

The tree is built once more, without LLVM, in the folder `other` of WARPBURG's build, by clang if that was built by gcc, and the other way round. Then
both print the PTX of every Nth fusion of the corpus with the reasons for it (--explain), and cut its models, and stdout, stderr and status are compared.
"""
from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import List, Tuple

ROOT = Path(__file__).resolve().parents[2]
TARGETS = ("sm_80", "sm_90", "sm_120")


def other_compiler(build: Path) -> str:
    """clang or gcc, whichever the build was not made by; "": it is not here."""
    words = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))[0]["command"].split()
    said = subprocess.run([next(w for w in words if "ccache" not in w), "--version"], capture_output=True, text=True, check=True).stdout
    names = ["gcc"] if "clang" in said else ["clang", *(f"clang-{v}" for v in range(30, 11, -1))]
    return next((n for n in names if shutil.which(n)), "")


def made_by(compiler: str, folder: Path) -> Path:
    environment = {**os.environ, "CC": f"{'ccache ' if shutil.which('ccache') else ''}{compiler}"}
    environment.pop("CC_LD", None)  # of the other one's build
    if not (folder / "build.ninja").exists():
        subprocess.run(["meson", "setup", str(folder), "-Dllvm=disabled"], cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    made = subprocess.run(["ninja", "-C", str(folder), "warpburg"], env=environment, capture_output=True, text=True)
    if made.returncode:
        raise SystemExit(made.stdout[-4000:])
    return folder / "warpburg"


def printed(warpburg: Path, words: Tuple[str, ...]) -> Tuple[int, bytes, bytes]:
    p = subprocess.run([str(warpburg), *words], capture_output=True, check=False, timeout=600, env={**os.environ, "WARPBURG_CACHE": "off"})
    return p.returncode, p.stdout, p.stderr


def commands(shared: Path, every: int) -> List[Tuple[str, ...]]:
    own = sorted((ROOT / "shaderdb" / "corpus").rglob("*.hlo"))
    corpus = shared / "corpus"
    files = own + [f for part in ("emitter-tests", "fusions", "programs", "blocks") for f in sorted((corpus / part).rglob("*.hlo"))]
    models = sorted([*corpus.glob("models/**/*.hlo"), *corpus.glob("modules/*.L.hlo")])
    return [*(("compile", str(f), "--target", t, "--backend", "ptx", "--emit", "ptx", "--explain") for f in files[::every] for t in TARGETS),
            *(("fuse", str(f)) for f in models[::every])]


def main() -> int:
    p = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    p.add_argument("warpburg", type=Path)
    p.add_argument("--make", action="store_true")
    p.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    p.add_argument("--every", type=int, default=8)
    p.add_argument("-j", type=int, default=2, dest="jobs")
    o = p.parse_args()
    build = o.warpburg.resolve().parent
    compiler = other_compiler(build)
    if not o.make or not compiler:
        print(f"skipped: a compiler built by another C compiler: {'with --all' if compiler else 'neither gcc nor clang is here beside that of the build'}")
        print("0 passed, 0 failed")
        return 0
    other = made_by(compiler, build / "other")
    failed, todo = 0, commands(o.shared, o.every)
    with ThreadPoolExecutor(o.jobs) as pool:
        for words, (ours, theirs) in zip(todo, pool.map(lambda w: (printed(o.warpburg, w), printed(other, w)), todo)):
            if ours == theirs:
                continue
            failed += 1
            at = next((f"{a!r} and {b!r}" for x, y in zip(ours[1:], theirs[1:]) for a, b in zip(x.splitlines(), y.splitlines()) if a != b), "lengths")
            print(f"FAILED: {' '.join(words)}: by {compiler} status {theirs[0]} (ours {ours[0]}); first difference: {at[:300]}", flush=True)
    print(f"{len(todo) - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
