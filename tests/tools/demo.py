"""./dev demo: compiles a GELU fusion for two targets, runs it in the simulator, and checks every element.

usage: demo.py WARPBURG
"""
from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
from warpburg_cli import llvm_ms  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
FUSION = "shaderdb/corpus/gelu.hlo"


def call(command: List[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def stop(what: str, p: "subprocess.CompletedProcess[str]") -> None:
    print(f"\n{what} (exit status {p.returncode})\n{p.stdout}{p.stderr}".rstrip())
    sys.exit(1)


def compile_for(wb: str, target: str, out: Path) -> Dict[str, Any]:
    p = call([wb, "compile", FUSION, "--target", target, "--json", "-o", str(out)])
    if p.returncode:
        stop("compiling failed", p)
    if p.stderr:
        print(p.stderr.strip())
    result: Dict[str, Any] = json.loads(p.stdout)
    return result


def run_case(wb: str, target: str, case: str) -> Dict[str, Any]:
    p = call([wb, "run", FUSION, "--target", target, "--check", "--case", case, "--json"])
    if p.returncode:
        stop(f"the kernel for {target} is wrong on {'edge values' if case == 'e' else 'random values'}", p)
    result: Dict[str, Any] = json.loads(p.stdout)
    return result


def report(wb: str, target: str) -> None:
    out = Path("build") / "demo" / target
    c = compile_for(wb, target, out)
    print(f"\n{FUSION} for {target}")
    print(f"  kernel     {c['kernel']}, {c['grid']} blocks of {c['block']} threads")
    for a in c["accesses"]:
        print(f"  {a['kind']:<10} %{a['buffer']}: {a['count']} access of {a['bytes']} bytes a thread: {a['why']}")
    if "sass" in c:
        print(f"  machine    {c['sass']} SASS instructions for 8 elements, {c['regs']} registers, {c['stack_bytes']} bytes of stack")
    else:
        print("  machine    ptxas was not found: PTX only")
    ms = c["ms"]
    llvm = llvm_ms(ms)
    made = sum(ms.values()) - ms["target"]
    print(f"  compiled   in {made:.1f} ms, of which LLVM {llvm:.1f}; ptxas {ms['target']:.0f} ms")
    for case, what in (("n", "random inputs"), ("e", "edge values")):
        v = run_case(wb, target, case)
        print(f"  {what:<14} {v['compared']:,} elements, all inside the bounds of HLO; {v['max_ulp']:.3g} ulp from f64 at most; "
              f"{v['instructions'] / 1e6:.0f} million instructions simulated in {v['ms_run'] / 1e3:.1f} s, no fault")
    print("  rules that fired, five of them:")
    for line in c["trace"]:
        print(f"    {line}")
    print(f"  PTX        {out / 'kernel.ptx'}")


def main() -> int:
    for target in ("sm_90", "sm_80"):
        report(sys.argv[1], target)
    print("\nboth kernels are correct")
    return 0


if __name__ == "__main__":
    sys.exit(main())
