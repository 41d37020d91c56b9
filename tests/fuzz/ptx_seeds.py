"""Writes seeds for ptx_fuzz: the kernels of the tests and, where warpburg is given, its kernels for shaderdb/corpus.

    ptx_seeds.py FOLDER [build/warpburg]
    build-fuzz/tests/ptx_fuzz -dict=tests/fuzz/ptx.dict -max_len=16384 FOLDER
"""
import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Iterator, List

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 16384
TARGETS = ("sm_80", "sm_90")


def kernels(program: List[str]) -> Iterator[bytes]:
    for file in sorted([*(ROOT / "tests" / "sim" / "seeded_faults").glob("*.ptx"), *(ROOT / "tests" / "lit" / "sim").rglob("*.ptx")]):
        yield file.read_bytes()
    for file in sorted((ROOT / "shaderdb" / "corpus").glob("*.hlo")) if program else []:
        for target in TARGETS:
            p = subprocess.run([*program, "compile", str(file), "--target", target, "--emit", "ptx"], capture_output=True)
            if p.returncode == 0:
                yield p.stdout


def main() -> int:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    n = 0
    for text in kernels(sys.argv[2:3]):
        lines = (line.split(b"//")[0].strip() for line in text.splitlines())  # without comments, which only cost time
        short = b"\n".join(line for line in lines if line) + b"\n"
        if len(short) <= LONGEST:
            (folder / hashlib.sha1(short).hexdigest()).write_bytes(short)
            n += 1
    print(f"{n} texts in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
