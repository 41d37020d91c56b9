"""Small kernels and fusions of the shared data, `cases/`, in which something is wrong: each is refused, declined or reported as a fault.

usage: shared_cases.py WARPBURG [--shared DIR]     without the data the suite is skipped
"""
from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import List, NamedTuple


class Expected(NamedTuple):
    status: int
    words: str  # among what is printed


RACE = "race"
ONE_WARP = {  # PTX: its fusion, what is found
    "war_blocks_value": ("pair", RACE), "war_blocks": ("pair", RACE), "war_lanes": ("update", RACE), "war_lanes_swapped": ("update", RACE),
    "war_shared": ("update", RACE), "uninit_register": ("negate", "never written"), "uninit_predicate": ("negate", "never written"),
    "nc_of_written": ("negate", "ld.global.nc"), "clock": ("negate", "%clock"), "smid": ("negate", "%smid"), "reqntid": ("negate", ".reqntid"),
    "maxntid": ("negate", ".maxntid"), "static_shared": ("negate", "static shared memory"), "shfl_exited": ("negate", "which has ended"),
}


def main() -> int:
    p = argparse.ArgumentParser()
    p.add_argument("warpburg")
    p.add_argument("--shared", default="../shared")
    o = p.parse_args()
    cases = Path(o.shared) / "cases"
    if not cases.exists():
        print(f"skipped: {cases} is not there\n0 passed, 0 failed")
        return 0
    wb, passed, wrong = o.warpburg, 0, []

    def check(name: str, expected: Expected, *words: object) -> None:
        nonlocal passed
        try:
            r = subprocess.run([wb, *map(str, words)], capture_output=True, text=True, timeout=300)
        except subprocess.TimeoutExpired:
            wrong.append(f"{name}: out of time")
            return
        if r.returncode == expected.status and expected.words in r.stdout + r.stderr:
            passed += 1
        else:
            wrong.append(f"{name}: exit {r.returncode}, {expected.status} and '{expected.words}' expected: {(r.stdout + r.stderr).strip()[-300:]}")

    def run_ptx(name: str, fusion: str, grid: str, words: str) -> None:
        check(name, Expected(4, words), "run", cases / f"{fusion}.hlo", "--ptx", cases / f"{name}.ptx", "--grid", grid, "--block", "32,1,1", "--check")

    for name, (fusion, words) in ONE_WARP.items():
        run_ptx(name, fusion, "2,1,1", words)
    run_ptx("bomb24", "add", "1,1,1", "")
    run_ptx("bomb30", "add", "1,1,1", "run-away loop or calls")
    for name, status, words in (("t", 3, "no kernel addresses tiles"), ("e32", 3, "E(8)"), ("sot_bc", 3, "which another operand or output has, too")):
        check(name, Expected(status, words), "compile", cases / f"{name}.hlo")
    check("r33", Expected(0, "1 elements inside the bounds"), "run", cases / "r33.hlo", "--check")
    check("e8m0", Expected(0, "no fault"), "run", cases / "e8m0.hlo", "--check", "--case", "e")
    with tempfile.TemporaryDirectory() as folder:
        check("e8m0", Expected(0, ""), "eval", cases / "e8m0.hlo", "--input", cases / "zero.npy", "-o", folder)
        codes: List[int] = list((Path(folder) / "out0.npy").read_bytes()[-4:])
        if codes == [255, 127, 129, 130] or codes == [255, 128, 129, 130]:  # 1.5 is a tie between 127 and 128
            passed += 1
        else:
            wrong.append(f"e8m0: codes {codes} of 0, 1.5, 3, 6")
        bundle = Path(folder) / "bundle"
        check("zero", Expected(0, ""), "compile", cases / "zero.hlo", "-o", bundle)
        shutil.copy(cases / "red_bf16.hlo", bundle / "fusion.hlo")
        check("red_bf16", Expected(1, "hash"), "run", bundle, "--check", "--case", "p")
        check("red_bf16 --edited", Expected(4, ""), "run", bundle, "--edited", "--check", "--case", "s")
    for line in wrong:
        print(line)
    print(f"{passed} passed, {len(wrong)} failed")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
