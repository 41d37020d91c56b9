"""Bundles written by hand, of several launches, with temporaries, tickets, dynamic shared memory and clusters: tests/programs/bundles/NAME.

usage: bundles.py build/warpburg-run [build/tests/libfake_cuda_driver.so]

- Each runs under --check in all cases of inputs, with several orders of blocks and threads of the host, and through the CUDA driver.
- With one thing wrong, in kernel.json or the PTX, the report names the fault.
- Without a member of kernel.json, or with null in its place, the bundle is refused with file, line and column, and exit status 1.

Ends with `N passed, M failed`.
"""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Iterator, List, NamedTuple, Tuple

HERE = Path(__file__).resolve().parent / "bundles"
NAMES = sorted(p.name for p in HERE.iterdir())
LAUNCHES = re.compile(r'(\{"entry": "partial".*?\}),\s*(\{"entry": "combine".*?\})\]\}', re.S)  # of partial_sums


class Fault(NamedTuple):
    bundle: str
    edits: Tuple[Tuple[str, str], ...]  # of kernel.json or kernel.ptx; each is there once. "launches": their initials, in order
    says: str
    status: int = 4


FAULTS = [
    # temporaries
    Fault("partial_sums", (('"bytes": 32', '"bytes": 28'),), "store of 4 bytes out of bounds: byte 28 of temporary buffer 1, which has 28"),
    Fault("partial_sums", (('"bytes": 32', '"bytes": 64'), ("and.b32 %r2, %r1, 7;", "and.b32 %r2, %r1, 15;")),
          "load of byte 32 of temporary buffer 1, which was never written"),
    Fault("partial_sums", (('"grid": [8, 1, 1]', '"grid": [7, 1, 1]'),), "load of byte 28 of temporary buffer 1, which was never written"),
    Fault("partial_sums", (('"align": 16, "init": "none"},', '"align": 2, "init": "none"},'),),
          "misaligned store of 4 bytes at byte 0 of temporary buffer 1, which is aligned to 2"),
    # the order of launches, and what each may write
    Fault("partial_sums", (("launches", "cp"),), "load of byte 0 of temporary buffer 1, which was never written"),
    Fault("partial_sums", (("launches", "pcc"),), "second store to byte 0 of output buffer 2"),
    Fault("partial_sums", (("launches", "ppc"),), "no fault", 0),
    Fault("partial_sums", (("launches", "pcp"),), "no fault", 0),  # the temporary, which ld.global.nc has read, is written again
    Fault("partial_sums", (("launches", "p"),), "buffer 2 is an argument of no launch", 1),
    Fault("partial_sums", (('"args": [0, 1]', '"args": [0, 2]'),), "store of 4 bytes out of bounds: byte 4 of output buffer 2"),
    Fault("partial_sums", (("st.global.f32 [%rd4], %f5;", "st.global.f32 [%rd2], %f5;"),), "race: store of byte 0 of temporary buffer 1"),
    Fault("partial_sums", (('"args": [0, 1]', '"args": [0, 1, 2]'), (".param .u64 sums)\n{\n\t.reg .pred %p<2>;\n\t.reg .b32 %r<12>", ".param .u64 sums,"
          " .param .u64 o)\n{\n\t.reg .pred %p<2>;\n\t.reg .b32 %r<12>"), ("st.global.f32 [%rd4], %f5;", "st.global.f32 [%rd4], %f5; ld.param.u64 %rd5, [o];"
          " setp.ne.u32 %p1, %r2, 0; @%p1 ret; st.global.f32 [%rd5], %f5;")), "second store to byte 0 of output buffer 2"),
    Fault("partial_sums", (("st.global.f32 [%rd2], %f1;", ""),), "4 of 4 bytes of output buffer 2 are never written"),
    # shared memory and clusters
    Fault("partial_sums", (('"shared": 65536', '"shared": 65532'),), "byte 65532 of shared memory, which has 65532"),
    Fault("partial_sums", (('"shared": 65536', '"shared": 232448'), (".reg .b64 %rd<6>;", ".reg .b64 %rd<6>; .shared .b8 more[16]; st.shared.b8 [more], 0;")),
          "16 bytes of static and 232448 of dynamic shared memory: sm_90 has 232448 for a block"),
    Fault("partial_sums", (('"sm_90"', '"sm_75"'), ('"shared": 65536', '"shared": 65537')), "65537 bytes of shared memory, sm_75 has 65536 for a block", 1),
    Fault("ticket", (('"cluster": [4, 1, 1]', '"cluster": [3, 1, 1]'),), "the grid is no multiple of the cluster in x", 1),
    # tickets
    Fault("ticket", (("[%rd5], 7;", "[%rd5], 8;"),), "byte 0 of temporary buffer 2, a ticket, is 0x08 after a run, and must be 0 again"),
    Fault("ticket", (('"init": "ticket"', '"init": "none"'),), "load of byte 0 of temporary buffer 2, which was never written"),
    Fault("ticket", (("setp.ne.u32 %p2, %r8, 7;", "setp.ne.u32 %p2, %r8, 6;"),), "load of byte 28 of temporary buffer 1, which was never written"),
    # outputs in the memory of operands
    Fault("in_place", (("ld.global.f32 %f1, [%rd1];", "ld.global.nc.f32 %f1, [%rd1];"),),
          "with output buffer 2 in the memory of buffer 0: subtract, block (0,0,0), thread (0,0,0): store to byte 0"),
    Fault("in_place", (("add.s64 %rd2, %rd2, %rd4;", "sub.s64 %rd2, %rd2, %rd4; add.s64 %rd2, %rd2, 1020;"),),
          "with output buffer 2 in the memory of buffer 1: subtract, block (1,0,0), thread", 4),
    Fault("in_place", (('"may_alias": [0, 1]', '"may_alias": [2]'),), "buffer 2 is no operand, whose memory an output may have", 1),
]


class Suite:
    def __init__(self, run: str, driver: str) -> None:
        self.run, self.driver = run, driver
        self.passed = self.failed = 0

    def call(self, *words: str) -> Tuple[int, str]:
        env = {**os.environ, "WARPBURG_LIBCUDA": self.driver}
        p = subprocess.run([self.run, "run", *words], capture_output=True, text=True, errors="replace", env=env)
        return p.returncode, p.stdout + p.stderr

    def expect(self, good: bool, what: str, said: str) -> None:
        self.passed += good
        self.failed += not good
        if not good:
            print(f"{what}: {said[:600]}")

    def right(self) -> None:
        for name in NAMES:
            ways: List[List[str]] = [["--case", c] for c in "wneptsu"]
            ways += [["--order", "reverse"], ["--order", "shuffle:3"], ["-j", "4"], ["--seed", "5", "--ulp-noise"]]
            ways += [["--on", "gpu"], ["--on", "gpu", "--repeat", "3"]] if self.driver else []
            for way in ways:
                rc, said = self.call(str(HERE / name), "--check", *way)
                good = rc == 0 and "no fault" in said and ("--on" not in way or "every bit as in the simulator" in said)
                self.expect(good, f"{name} {' '.join(way)}", said)
        for name in ("partial_sums", "ticket"):
            rc, said = self.call(str(HERE / name), "--blocks", "2")
            self.expect(rc == 1 and "a sample of blocks can be run of one launch whose blocks share no tickets" in said, f"{name} --blocks", said)

    def wrong(self, folder: Path) -> None:
        for k, f in enumerate(FAULTS):
            bundle = folder / str(k)
            shutil.copytree(HERE / f.bundle, bundle)
            texts = {p: p.read_text() for p in (bundle / "kernel.json", bundle / "kernel.ptx")}
            for old, new in f.edits:
                found = 0
                for p, text in texts.items() if old != "launches" else ():
                    found += text.count(old)
                    texts[p] = text.replace(old, new)
                if old == "launches":
                    order = ", ".join({"p": r"\1", "c": r"\2"}[c] for c in new)
                    texts[bundle / "kernel.json"], found = LAUNCHES.subn(order + "]}", texts[bundle / "kernel.json"])
                assert found == 1, (f.bundle, old, found)
            for p, text in texts.items():
                p.write_text(text)
            rc, said = self.call(str(bundle), "--check")
            self.expect(rc == f.status and f.says in said, f"{f.bundle} {f.edits[0]}", said)

    def members(self, folder: Path) -> None:
        """Members that are missing or null."""
        for name in NAMES:
            bundle = folder / name
            shutil.copytree(HERE / name, bundle)
            file = bundle / "kernel.json"
            text = file.read_text()
            for start, value, end in spans(text):
                file.write_text(text[:value] + "null" + text[end:])
                line, column = text.count("\n", 0, value) + 1, value - text.rfind("\n", 0, value)
                rc, said = self.call(str(bundle))
                self.expect(rc == 1 and f"{file}:{line}:{column}: error: " in said, f"{text[start:value]} null", said)
                rest = text[end:]
                file.write_text(text[:start] + (rest[1:].lstrip() if rest[0] == "," else rest) if rest[0] == "," else text[:start].rstrip(", \n") + rest)
                rc, said = self.call(str(bundle))
                key = text[start:value].split(":")[0]
                self.expect(rc == 1 and re.search(re.escape(str(file)) + rf":\d+:\d+: error: member {key} is missing", said) is not None, f"no {key}", said)


def spans(text: str) -> Iterator[Tuple[int, int, int]]:
    """Of each member: where its key begins, where its value begins and ends."""
    for m in re.finditer(r'"\w+": ', text):
        end, depth = m.end(), 0
        while depth or text[end] not in ",}]":
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(text[end], 0)
            end += 1
        yield m.start(), m.end(), end


def main() -> int:
    suite = Suite(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "")
    suite.right()
    with tempfile.TemporaryDirectory() as made:
        suite.wrong(Path(made))
        suite.members(Path(made))
    print(f"{suite.passed} passed, {suite.failed} failed")
    return suite.failed != 0


if __name__ == "__main__":
    sys.exit(main())
