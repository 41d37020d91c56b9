#!/usr/bin/env python3
"""The PTX of the corpus, before and after a change: every file on every target, byte for byte.

    same_ptx.py WARPBURG --save FILE.tsv [options]       a digest of each file and target, and the time it took
    same_ptx.py WARPBURG --against FILE.tsv [options]    the same, compared with what was saved; each difference is printed
    options: [--shared DIR] [--targets T,..] [--every N] [--only TEXT] [-j N]

The files are the fusions of emitter-tests/, fusions/, programs/ and blocks/, and the kernels that `warpburg fuse` cuts from models/ and
from modules/*.L.hlo. A digest covers the exit status and, where that is 0, the PTX without comments: comments name rules by line, and a
line may move. Messages of declined files are not compared, their status is. Ends with `N passed, M failed`; exit 1 if M is not 0.
"""
import argparse
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Dict, List, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "common"))
from warpburg_cli import TARGETS  # noqa: E402

PARTS = ("emitter-tests", "fusions", "programs", "blocks")
COMMENT = re.compile(rb"[ \t]*//[^\n]*")
Key = Tuple[str, str]  # file below corpus/, target


def cut(warpburg: str, corpus: Path, to: Path, jobs: int) -> List[Tuple[str, Path]]:
    """The kernels of whole modules: name below corpus/ and file. A program's kernels stand in a folder of its name."""
    modules = sorted([*corpus.glob("models/**/*.hlo"), *corpus.glob("modules/*.L.hlo")])

    def one(f: Path) -> List[Tuple[str, Path]]:
        folder = to / f.stem
        subprocess.run([warpburg, "fuse", str(f), "--parts", str(folder)], capture_output=True, check=False)
        return [(f"{f.relative_to(corpus)}/{k.name}", k) for k in sorted(folder.rglob("*.hlo"))]

    with ThreadPoolExecutor(jobs) as pool:
        return [k for kernels in pool.map(one, modules) for k in kernels]


def digest(warpburg: str, file: Path, target: str) -> str:
    p = subprocess.run([warpburg, "compile", str(file), "--target", target], capture_output=True, check=False)
    if p.returncode:
        return f"exit {p.returncode}"
    return hashlib.sha256(COMMENT.sub(b"", p.stdout)).hexdigest()[:16]


def read(path: Path) -> Dict[Key, str]:
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    return {(file, target): value for file, target, value in rows}


def main() -> int:
    p = argparse.ArgumentParser(description="the PTX of the corpus, before and after a change")
    p.add_argument("warpburg")
    p.add_argument("--save", type=Path)
    p.add_argument("--against", type=Path)
    p.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    p.add_argument("--targets", default=",".join(TARGETS))
    p.add_argument("--every", type=int, default=1)
    p.add_argument("--only", default="", help="files whose path has this in it")
    p.add_argument("-j", type=int, default=2, dest="jobs")
    o = p.parse_args()
    corpus = o.shared / "corpus"
    if not corpus.is_dir():
        print(f"skipped: {corpus} is not there\n0 passed, 0 failed")
        return 0
    os.nice(5)
    before = read(o.against) if o.against else {}
    with tempfile.TemporaryDirectory() as to:
        files = [(str(f.relative_to(corpus)), f) for part in PARTS for f in sorted((corpus / part).rglob("*.hlo"))]
        files += cut(o.warpburg, corpus, Path(to), o.jobs)
        files = [f for f in files if o.only in f[0]][::o.every]
        keys = [(name, file, target) for name, file in files for target in o.targets.split(",")]
        with ThreadPoolExecutor(o.jobs) as pool:
            found = dict(pool.map(lambda k: ((k[0], k[2]), digest(o.warpburg, k[1], k[2])), keys))
    if o.save:
        o.save.write_text("".join(f"{file}\t{target}\t{value}\n" for (file, target), value in sorted(found.items())), encoding="utf-8")
    failed = 0
    for key, value in found.items():
        if o.against and before.get(key) != value:
            failed += 1
            print(f"failed: {key[0]}, {key[1]}: {before.get(key, 'not there')} before, {value} now", flush=True)
    print(f"{len(found) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
