"""What ptxas is known to get wrong, and that our kernels are not of that kind: products and sums of pairs of f32 that become one FFMA2, which rounds once.

usage: ptxas_faults.py WARPBURG [PTXAS ..]      without PTXAS: those at hand (gen/proof/roundings.py)

Of each ptxas the machine code of kernels whose PTX has mul.rn.f32x2 beside add.rn or sub.rn.f32x2, and no fma, must
have no FFMA2 and FFMA. To see that the test notices, the same PTX without the operation that keeps them apart (patterns/machine.py, PAIRS) is
assembled as well: versions of patterns/assemblers.tsv must fuse it, others not. The operations are read from the cubin, so that no disassembler is needed.
"""
from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import List, Set

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
from warpburg_cli import Cli  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from gen.proof.roundings import at_hand, faults_of, sections, version  # noqa: E402

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


def operations(cubin: bytes) -> Set[int]:
    return {code[k] for _, code in sections(cubin) for k in range(0, len(code), 16)}


def fused(ptxas: str, ptx: str, folder: str, *more: str) -> List[str]:
    Path(folder, "k.ptx").write_text(ptx)
    subprocess.run([ptxas, "-arch=sm_100", *more, "-o", f"{folder}/k.cubin", f"{folder}/k.ptx"], check=True)
    found = operations(Path(folder, "k.cubin").read_bytes())
    return [name for code, name in FUSED.items() if code in found]


def main() -> int:
    cli = Cli(sys.argv[1], 2)
    tools = sys.argv[2:] or at_hand()
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
                if bool(bare) != bool(faults_of(at, "sm_100")):
                    faults.append(f"{tool} {at} makes {bare or 'nothing fused'} of the text without a barrier: patterns/assemblers.tsv says otherwise")
            for fault in faults:
                print(f"{name}: {fault}")
            passed, failed = passed + (not faults), failed + bool(faults)
    if not tools:
        print("skipped: machine code, as there is no ptxas")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
