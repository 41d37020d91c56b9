"""Looks for products and sums that an assembler rounds once where PTX says twice: `.rn` on both, so that no contraction is allowed.

usage: roundings.py [--target SM].. [PTXAS ..]      without PTXAS: those at hand

For each pair of arithmetic instructions of one type, the first one's result an operand of the second, three kernels are assembled: with the first, with
the second, with both. Where the third has fewer operations of floats than the other two together, the assembler has fused them. What is found must be
what patterns/assemblers.tsv lists for that version and target, no more and no less; that table also says what keeps our kernels from it.
"""
from __future__ import annotations

import argparse
import os
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, Iterator, List, Set, Tuple

from gen import prices, rows
from gen.proof import simulate

ROOT = Path(__file__).resolve().parent.parent.parent
TARGETS = sorted(int(p.stem[2:]) for p in (ROOT / "patterns").glob("sm*.py") if p.stem[2:].isdigit())
# type: bits of a register, first target that has products and sums of it
TYPES = {"f32": (32, 75), "f64": (64, 75), "f16": (16, 75), "f16x2": (32, 75), "bf16": (16, 90), "bf16x2": (32, 90), "f32x2": (64, 100)}
FLOATS = {"FMUL", "FADD", "FFMA", "FMUL2", "FADD2", "FFMA2", "DMUL", "DADD", "DFMA", "HMUL2", "HADD2", "HFMA2", "HFMA2.MMA"}
NOBITS = 8   # a section without bytes in the file: shared memory
Version = Tuple[int, int]
Row = Tuple[Version, Version, str, str]      # first and last version, targets, text


def listed() -> List[Row]:
    rows = [line.split("\t") for line in (ROOT / "patterns/assemblers.tsv").read_text().splitlines()[1:]]
    return [(version_of(r[0]), version_of(r[1]), r[2], r[3]) for r in rows]


def version_of(text: str) -> Version:
    m = re.search(r"(\d+)\.(\d+)", text)
    assert m, text
    return int(m[1]), int(m[2])


def version(ptxas: str) -> Version:
    said = subprocess.run([ptxas, "--version"], capture_output=True, text=True).stdout
    return version_of(said[said.index("release "):])


def faults_of(at: Version, target: str) -> Set[str]:
    return {text for first, last, of, text in listed() if first <= at <= last and target in of.split()}


def sections(cubin: bytes, prefix: str = ".text.") -> Iterator[Tuple[str, bytes]]:
    """The sections whose names begin so, without that: the code of each kernel."""
    start, = struct.unpack_from("<Q", cubin, 0x28)
    size, n, names = struct.unpack_from("<HHH", cubin, 0x3a)
    header = [struct.unpack_from("<IIQQQQ", cubin, start + k * size) for k in range(n)]
    for name, kind, _, _, at, length in header:
        begin = header[names][4] + name
        text = cubin[begin:cubin.index(b"\0", begin)].decode()
        if text.startswith(prefix):
            yield text[len(prefix):], bytes(length) if kind == NOBITS else cubin[at:at + length]


def operations(code: bytes) -> List[int]:
    return [struct.unpack_from("<Q", code, k)[0] & 0x1ff for k in range(0, len(code), 16)]


def floats(target: int) -> Set[int]:
    """The operations of FLOATS; a number may be another operation on another target: 0x035 adds integers on sm_100 and sm_120."""
    return {key & 0x1ff for key, op in prices.load_sass().of(f"sm_{target}").items() if op.name in FLOATS}


def instruction(op: str, kind: str, result: str, x: str, y: str) -> str:
    return f"{op}.rn.{kind} {result}, {x}, {y};"


def kernel(name: str, kind: str, lines: List[str]) -> str:
    bits = TYPES[kind][0]
    loads = "".join(f"ld.global.b{bits} %x{k}, [%a+{8 * k}]; " for k in range(3))
    return (f".visible .entry {name}(.param .u64 p) {{ .reg .b{bits} %x<9>; .reg .b64 %a; ld.param.u64 %a, [p]; cvta.to.global.u64 %a, %a; {loads}"
            f"{' '.join(lines)} st.global.b{bits} [%a+64], %x5; ret; }}\n")


def kernels(target: int) -> Tuple[str, Dict[str, Tuple[str, str, str]]]:
    """Their text, and for each pair the names of the kernels of the first, the second and both."""
    out: Dict[str, str] = {}
    pairs: Dict[str, Tuple[str, str, str]] = {}
    for kind, (_, since) in TYPES.items():
        if target < since:
            continue
        for op in ("add", "sub", "mul"):
            out[f"one_{op}_{kind}"] = kernel(f"one_{op}_{kind}", kind, [instruction(op, kind, "%x5", "%x0", "%x1")])
            for then in ("add", "sub", "mul"):
                for side, words in (("l", ("%x4", "%x2")), ("r", ("%x2", "%x4"))):
                    name = f"both_{op}_{then}_{side}_{kind}"
                    out[name] = kernel(name, kind, [instruction(op, kind, "%x4", "%x0", "%x1"), instruction(then, kind, "%x5", *words)])
                    pairs[name] = (f"{op}.rn.{kind} {then}.rn.{kind}", f"one_{op}_{kind}", f"one_{then}_{kind}")
    ptx = max(rows.first_version(target), "8.8" if target >= 100 else "7.8")
    return f".version {ptx}\n.target sm_{target}\n.address_size 64\n" + "".join(out.values()), pairs


def fused(ptxas: str, target: int, *more: str) -> Set[str]:
    """The pairs that it rounds once."""
    text, pairs = kernels(target)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "k.ptx").write_text(text)
        done = subprocess.run([ptxas, f"-arch=sm_{target}", *more, "-o", f"{folder}/k.cubin", f"{folder}/k.ptx"], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"error: {ptxas} assembles nothing for sm_{target}: {(done.stderr or done.stdout).strip()[:500]}")
        cubin = Path(folder, "k.cubin").read_bytes()
    counted = floats(target)
    count = {name: sum(op in counted for op in operations(code)) for name, code in sections(cubin)}
    assert all(count[one] for _, one, _ in pairs.values()), "a kernel of one instruction has no operation of floats"
    return {what for name, (what, first, second) in pairs.items() if count[name] < count[first] + count[second]}


def known(ptxas: str, targets: List[int]) -> List[int]:
    """Those of the targets that it has: 12.9 has no sm_110."""
    has = set(re.findall(r"'sm_(\d+)'", subprocess.run([ptxas, "--help"], capture_output=True, text=True).stdout))
    return [t for t in targets if str(t) in has]


def check(ptxas: str, targets: List[int]) -> List[str]:
    at, out = version(ptxas), []
    for target in targets:
        for more in ((), ("--fmad=false",)):
            found, expected = fused(ptxas, target, *more), faults_of(at, f"sm_{target}")
            where = f"{ptxas} {at} sm_{target} {' '.join(more)}"
            out += [f"{where}: rounds once: {what}: patterns/assemblers.tsv does not list it" for what in sorted(found - expected)]
            out += [f"{where}: rounds twice: {what}, though patterns/assemblers.tsv lists it" for what in sorted(expected - found)]
    return out


def at_hand() -> List[str]:
    """The ptxas that is found, and those that tests/rules/assemblers.py has installed."""
    installed = map(str, sorted(ROOT.glob("build/assemblers/*/nvidia/*/bin/ptxas")))
    return [p for p in (simulate.ptxas_of(), *installed) if p and os.access(p, os.X_OK)]


def main() -> int:
    p = argparse.ArgumentParser()
    p.add_argument("ptxas", nargs="*")
    p.add_argument("--target", action="append", type=lambda t: int(t[3:]), default=[])
    o = p.parse_args()
    tools = o.ptxas or at_hand()
    targets = o.target or TARGETS
    runs = [(tool, known(tool, targets)) for tool in tools]
    for tool, has in runs:
        print("".join(f"skipped: {tool} has no sm_{t}\n" for t in targets if t not in has), end="")
    faults = [fault for tool, has in runs for fault in check(tool, has)]
    print("\n".join(faults if tools else ["skipped: there is no ptxas"]))
    print(f"{sum(len(has) for _, has in runs)} passed, {len(faults)} failed")
    return len(faults) > 0 or not all(has for _, has in runs)


if __name__ == "__main__":
    sys.exit(main())
