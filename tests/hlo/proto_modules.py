#!/usr/bin/env python3
"""Modules that XLA dumped as protocol buffers are read as their texts are.

    proto_modules.py WARPBURG BUILD [--flips N]

1. Each module of proto_by_hand.py is the text beside it; what is wrong with a file is said with its byte.
2. Of damaged files, shorter at each byte or with N bits flipped, each is read or refused with its name in the message.
3. Where BUILD/jax-venv has jax: each dump of proto_of_jax.py is the text that XLA dumped beside it, and the folder without the texts compiles, is counted
   and is cut as the one with them.

Ends with `N passed, M failed`.
"""
import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import List

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[2] / "shaderdb")]
import files
import proto_by_hand

ENDED_WELL = (0, 1, 3)


class Suite:
    def __init__(self, warpburg: str, folder: Path) -> None:
        self.warpburg, self.folder, self.passed, self.failed = warpburg, folder, 0, 0
        self.environment = {**os.environ, "WARPBURG_CACHE": "off"}

    def judge(self, good: bool, what: str) -> None:
        self.passed, self.failed = self.passed + good, self.failed + (not good)
        if not good:
            print(f"FAILED: {what}")

    def call(self, *words: str, given: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run([self.warpburg, *words], input=given, capture_output=True, timeout=600, env=self.environment)

    def printed(self, path: Path) -> str:
        p = self.call("hlo", str(path))
        return f"exit {p.returncode}: {p.stderr.decode()}" if p.returncode else p.stdout.decode()

    def by_hand(self) -> None:
        proto, text = self.folder / "a.hlo.pb", self.folder / "a.hlo"
        for what, data, expected in proto_by_hand.all_modules():
            proto.write_bytes(data)
            text.write_text(expected)
            found, wanted = self.printed(proto), self.printed(text)
            self.judge(same(found, wanted) and not wanted.startswith("exit"), f"{what}:\n{found}\nexpected\n{wanted}")
            stream = self.call("hlo", "-", given=data)
            self.judge(stream.stdout.decode() == found, f"{what} on standard input: {stream.stderr.decode()}")
        for what, data, said in proto_by_hand.REFUSED:
            proto.write_bytes(data)
            p = self.call("compile", str(proto))
            self.judge(p.returncode == 1 and p.stderr.decode().startswith(f"{proto}: error: ") and said in p.stderr.decode(), f"{what}: {p.stderr.decode()}")

    def damaged(self, flips: int) -> None:
        whole = proto_by_hand.scheduled()[0]
        cut = [whole[:n] for n in range(len(whole))]
        chance = random.Random(1)
        for _ in range(flips):
            data = bytearray(chance.choice(proto_by_hand.all_modules())[1])
            for _ in range(chance.choice((1, 1, 2, 8))):
                data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            cut.append(bytes(data))
        lines = []
        for k, data in enumerate(cut):
            path = self.folder / f"{k}.hlo.pb"
            path.write_bytes(data)
            lines.append(f"hlo\t{path}")
        (self.folder / "lines").write_text("\n".join(lines))
        p = self.call("batch", str(self.folder / "lines"))
        ends = [int(n) for n in re.findall(r'^\{"line":\d+,"status":(\d+),"schema":"batch.1"\}$', p.stdout.decode(errors="replace"), re.M)]
        said = [line for line in p.stderr.decode(errors="replace").splitlines() if ".hlo.pb" in line]
        self.judge(len(ends) == len(cut) and set(ends) <= set(ENDED_WELL),
                   f"damaged files end with {sorted(set(ends))}, {len(ends)} of {len(cut)}: {p.stderr[-500:]!r}")
        self.judge(len(said) >= sum(e != 0 for e in ends), f"{sum(e != 0 for e in ends)} damaged files were refused, {len(said)} messages name one")
        self.judge(sum(e != 0 for e in ends[:len(whole)]) == len(whole), "a file that was cut short was taken")

    def of_jax(self, python: Path) -> None:
        dump, packed = self.folder / "dump", self.folder / "packed"
        p = subprocess.run([str(python), str(Path(__file__).with_name("proto_of_jax.py")), str(dump)], capture_output=True, text=True, timeout=600)
        if p.returncode:
            self.judge(False, f"proto_of_jax.py: {p.stderr[-2000:]}")
            return
        packed.mkdir()
        protos = sorted(dump.glob("module_*optimizations.hlo.pb"))
        for proto in protos:
            shutil.copy(proto, packed)
            found, wanted = self.printed(proto), self.printed(Path(str(proto)[:-len(".hlo.pb")] + ".txt"))
            self.judge(same(found, wanted), f"{proto.name}:\n{difference(found, wanted)}")
        self.judge(len(protos) >= 2 * int(p.stdout), f"{p.stdout.strip()} programs, {len(protos)} modules")
        for command in (["compile"], ["stats"], ["fuse"]):
            ends = []
            for folder in (dump, packed):
                out = ["-o", str(self.folder / f"{command[0]}.{folder.name}")]
                ends.append(self.call(*command, str(folder), *(out if command[0] != "fuse" else ["--parts", out[1]])))
            notes = [e.stderr.decode().strip().splitlines()[-1:] for e in ends]
            self.judge(notes[0] == notes[1] and bool(notes[0]), f"{command[0]} of the folders: {notes[0]}, as protocol buffers {notes[1]}")
        for folder in (dump, packed):
            records = Path(self.folder, f"stats.{folder.name}").read_text().splitlines()
            taken = {Path(json.loads(r)["file"]).name for r in records}
            found = {name for _, name in files.find([str(folder)])}
            self.judge(taken == found and len(found) >= int(p.stdout),
                       f"shaderdb finds {len(found)} modules in {folder.name}, stats {len(taken)}: {sorted(taken ^ found)[:3]}")


def blocks(text: str) -> List[str]:
    """Computations in any order, without what only the text has."""
    text = re.sub(r", allow_spmd[a-z_]*=\{[^}]*\}|, (origin|statistics)=\{\{.*?\}\}|, (origin|statistics)=\{.*?\}(?=[,\n])", "", text)
    return sorted(text.rstrip("\n").split("\n\n"))


def same(found: str, wanted: str) -> bool:
    return blocks(found) == blocks(wanted)


def difference(found: str, wanted: str) -> str:
    x, y = (sorted(line for b in blocks(t) for line in b.splitlines()) for t in (found, wanted))
    only = [f"  {a}" for a in x if a not in y][:3] + ["the text has"] + [f"  {a}" for a in y if a not in x][:3]
    return "\n".join(only)


def main() -> int:
    p = argparse.ArgumentParser()
    p.add_argument("warpburg")
    p.add_argument("build")
    p.add_argument("--flips", type=int, default=2000)
    o = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        s = Suite(os.path.abspath(o.warpburg), Path(folder))
        s.by_hand()
        s.damaged(o.flips)
        python = Path(o.build, "jax-venv/bin/python")
        if python.is_file():
            s.of_jax(python)
        else:
            print(f"skipped: modules of jax: {python} is missing, which ./dev test --all makes")
    print(f"{s.passed} passed, {s.failed} failed")
    return s.failed != 0


if __name__ == "__main__":
    sys.exit(main())
