"""What ptxas is known to get wrong, and that our kernels are not of that kind: products and sums of pairs of f32 that become one FFMA2, which rounds once.

usage: ptxas_faults.py WARPBURG [PTXAS ..]

Of each ptxas (given, or the one that warpburg finds) the machine code of kernels whose PTX has mul.rn.f32x2 beside add.rn or sub.rn.f32x2, and no fma, must
have no FFMA2 and FFMA. To see that the test notices, the same PTX without the operation that keeps them apart (patterns/machine.py, PAIRS) is
assembled as well: versions of FUSING must fuse it, others not. The operations are read from the cubin, so that no disassembler is needed.
"""
from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
from warpburg_cli import Cli  # noqa: E402

FUSING = ((12, 9), (13, 0))                 # of CUDA's versions 12.9.41 to 13.5.37, which were all tried
FUSED = {0x49: "FFMA2", 0x23: "FFMA"}       # the low 8 bits of an operation's code; patterns/sass.tsv
BARRIER = re.compile(r"\{ \.reg \.b64 p; (mul\.rn\.f32x2) p, (%rd\d+), (%rd\d+); xor\.b64 (%rd\d+), p, 0; \}")
N = 1 << 20
BODIES = {
    "add": "m = TYPE multiply(x, y)\n  ROOT r = TYPE add(m, z)",
    "subtract from": "m = TYPE multiply(x, y)\n  ROOT r = TYPE subtract(z, m)",
    "subtract": "m = TYPE multiply(x, y)\n  ROOT r = TYPE subtract(m, z)",
    "negated": "m = TYPE multiply(x, y)\n  n = TYPE negate(m)\n  ROOT r = TYPE add(z, n)",
    "two products": "m = TYPE multiply(x, y)\n  n = TYPE multiply(x, z)\n  ROOT r = TYPE add(m, n)",
    "polynomial": "m = TYPE multiply(x, y)\n  a = TYPE add(m, z)\n  n = TYPE multiply(a, y)\n  b = TYPE add(n, x)\n  o = TYPE multiply(b, y)\n"
                  "  ROOT r = TYPE add(o, z)",
    "used twice": "m = TYPE multiply(x, y)\n  a = TYPE add(m, z)\n  b = TYPE subtract(m, x)\n  ROOT r = TYPE maximum(a, b)",
}


def text(body: str) -> str:
    t = f"f32[{N}]"
    return f"HloModule m\nENTRY e {{\n  x = {t} parameter(0)\n  y = {t} parameter(1)\n  z = {t} parameter(2)\n  {body.replace('TYPE', t)}\n}}\n"


def operations(cubin: bytes) -> Dict[int, int]:
    """How often each operation stands in the sections of code: instructions of 16 bytes."""
    found: Dict[int, int] = {}
    start, = struct.unpack_from("<Q", cubin, 0x28)
    size, n, names = struct.unpack_from("<HHH", cubin, 0x3a)
    header = [struct.unpack_from("<IIQQQQ", cubin, start + k * size) for k in range(n)]
    for name, _, _, _, at, length in header:
        begin = header[names][4] + name
        if cubin[begin:cubin.index(b"\0", begin)].startswith(b".text."):
            for k in range(at, at + length, 16):
                code = cubin[k] & 0xff
                found[code] = found.get(code, 0) + 1
    return found


def version(ptxas: str) -> Tuple[int, int]:
    m = re.search(r"release (\d+)\.(\d+)", subprocess.run([ptxas, "--version"], capture_output=True, text=True).stdout)
    assert m, f"{ptxas} does not say its version"
    return int(m[1]), int(m[2])


def fused(ptxas: str, ptx: str, folder: str, *more: str) -> List[str]:
    Path(folder, "k.ptx").write_text(ptx)
    subprocess.run([ptxas, "-arch=sm_100", *more, "-o", f"{folder}/k.cubin", f"{folder}/k.ptx"], check=True)
    found = operations(Path(folder, "k.cubin").read_bytes())
    return [name for code, name in FUSED.items() if found.get(code)]


def main() -> int:
    cli = Cli(sys.argv[1], 2)
    usual = os.environ.get("WARPBURG_PTXAS") or shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
    tools = sys.argv[2:] or ([usual] if os.path.exists(usual) else [])
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, body in BODIES.items():
            Path(folder, "f.hlo").write_text(text(body))
            compiled = cli.call("compile", f"{folder}/f.hlo", "--target", "sm_100", "--emit", "ptx")
            assert compiled.returncode == 0, compiled.stderr
            ptx = compiled.stdout
            faults = [] if BARRIER.search(ptx) and re.search(r"(add|sub)\.rn\.f32x2", ptx) and "fma" not in ptx else ["no pairs, or an fma of ours"]
            if re.sub(BARRIER, "", ptx).count("mul.rn.f32x2"):
                faults.append("a product of pairs that nothing keeps from its sum")
            for tool in tools:
                at = version(tool)
                for more in ((), ("--fmad=false",)):
                    if found := fused(tool, ptx, folder, *more):
                        faults.append(f"{tool} {at} {more} makes {found}")
                bare = fused(tool, BARRIER.sub(r"\1 \4, \2, \3;", ptx), folder)
                if bool(bare) != (at in FUSING):
                    faults.append(f"{tool} {at} makes {bare or 'nothing fused'} of the text without a barrier: FUSING is not what it does")
            for fault in faults:
                print(f"{name}: {fault}")
            passed, failed = passed + (not faults), failed + bool(faults)
    if not tools:
        print("skipped: machine code, as there is no ptxas")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
