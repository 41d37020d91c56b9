"""A file of tables (`warpburg --tables FILE`) says what the tables say that are built in: rules, sizes, budgets, PTX. What it does not say is not taken
from a cache. A damaged file is refused, whatever byte it is, and no checksum put right makes the reader leave its bounds.

usage: tables_file.py BUILD [--damages N]
"""
from __future__ import annotations

import argparse
import binascii
import os
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import List, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.dont_write_bytecode = True

from gen import gen_tables, load, structs  # noqa: E402

HEAD = len(structs.MAGIC) + 20
TARGET = "sm90"
FILES = [str(ROOT / f"shaderdb/corpus/{name}.hlo") for name in ("gelu", "bias_relu")]
HLO = "HloModule m\nENTRY e { a = f32[256] parameter(0) b = f32[256] parameter(1) ROOT c = f32[256] add(a, b) }\n"
COMMANDS = [["rules", "list", "--target", "sm_90", "--json"], ["rules", "size", "--target", "sm_90"], ["rules", "budget", "--target", "sm_90", "--json"],
            ["rules", "test", "mul.bf16(neg.bf16(neg.bf16(x)), add.bf16(y, -0.0))"], *(["compile", f, "--no-cache"] for f in FILES),
            *(["compile", f, "--no-cache", "--backend", "ptx"] for f in FILES)]


def ran(*words: str, env: Tuple[str, str] = ("WARPBURG_CACHE", "off")) -> Tuple[int, str, str]:
    p = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, env[0]: env[1]}, errors="replace")
    return p.returncode, p.stdout, p.stderr


def same(program: str, file: str) -> List[str]:
    return [f"{' '.join(c)}: other than with the tables that are built in" for c in COMMANDS if ran(program, "--tables", file, *c) != ran(program, *c)]


def caches(program: str, folder: Path, file: str, other: str) -> List[str]:
    """A kernel that was kept with one table is not found with another."""
    hlo, env = folder / "m.hlo", ("WARPBURG_CACHE", str(folder / "cache"))
    hlo.write_text(HLO)
    texts = [ran(program, *tables, "compile", str(hlo), env=env)[1] for tables in ([], ["--tables", other], ["--tables", file], ["--tables", other], [])]
    wanted = ["add.rn.f32", "sub.rn.f32", "add.rn.f32", "sub.rn.f32", "add.rn.f32"]
    return [f"caches: compile number {n}: no {want} in\n{text}" for n, (text, want) in enumerate(zip(texts, wanted)) if want not in text]


def damaged(program: str, folder: Path, whole: bytes, n: int) -> List[str]:
    """Texts that are no tables; half of them with a checksum that is right, which may be tables."""
    draw, out, file = random.Random(1), [], folder / "bad.tables"
    texts = struct.unpack_from("<I", whole, HEAD)[0]
    for i in range(n):
        bad = bytearray(whole)
        if i % 4 == 0:
            del bad[draw.randrange(len(bad)):]
        else:
            place = draw.choice([draw.randrange(HEAD), draw.randrange(HEAD, len(bad)), HEAD + 4 + texts + draw.randrange(400),
                                 len(bad) - 1 - draw.randrange(60000)])
            bad[place] ^= draw.choice([1, 128, 255])
        right = i % 2 == 1 and len(bad) > HEAD
        if right:
            struct.pack_into("<IQ", bad, HEAD - 12, binascii.crc32(bad[HEAD:]), len(bad) - HEAD)
        file.write_bytes(bad)
        status, _, said = ran(program, "--tables", str(file), "rules", "size")
        refused = status == 1 and "bad.tables: error: these are no tables for this program: " in said
        if not refused and not (right and status in (0, 2)):  # 2: the file has no such target
            out.append(f"damage {i}: exit status {status}: {said.strip()[:200]}")
    return out


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--damages", type=int, default=120)
    args = parser.parse_args()
    program = str(Path(args.build).resolve() / "warpburg")
    made, faults = gen_tables.made(load.load_index(), [load.load_target(TARGET)], own=True, check=False)
    if made is None:
        print("\n".join(faults))
        return 1
    with tempfile.TemporaryDirectory(prefix="warpburg-") as tmp:
        folder, file, other = Path(tmp), Path(tmp, "right.tables"), Path(tmp, "other.tables")
        file.write_bytes(made.bytes())
        rows = made.engines[TARGET]["instrs"]
        difference = next(row for row in rows if row[3] == "fsub")
        for row in rows:
            if row[3] == "fadd":  # what LLVM is told, and what is written without it
                row[3], row[-1] = difference[3], difference[-1]
        other.write_bytes(made.bytes())
        found = same(program, str(file)) + caches(program, folder, str(file), str(other)) + damaged(program, folder, file.read_bytes(), args.damages)
        for words in (["--tables"], ["--tables", str(file)]):
            if ran(program, *words)[0] != 2:
                found.append(f"{' '.join(words)}: exit status 2 expected")
    print("\n".join(found), end="\n" if found else "")
    n = len(COMMANDS) + args.damages + 7
    print(f"{n - len(found)} passed, {len(found)} failed")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
