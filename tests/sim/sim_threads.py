"""The simulator on several host threads gives the outputs, reports, faults and counts of one thread.

The kernels have 1024 blocks: a plain one, one with shared memory and barriers, one with atomics, and some with faults that involve several
blocks or occur in late ones. Each runs with and without --check, with noise, with a sample of blocks, and in other orders, with several -j. Outputs and all
printed text except times must be equal, and the expected fault must be named. Ends with `N passed, M failed`.

    sim_threads.py build/warpburg-run
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, NamedTuple, Tuple

BLOCKS, BLOCK = 1024, 128
N = BLOCKS * BLOCK


class Case(NamedTuple):
    body: str
    plain: str = ""    # part of the fault without --check; empty: no fault
    checked: str = ""
    module: str = ""   # before the kernel


HEAD = """.version 8.0
.target sm_90
.address_size 64
MODULE
.visible .entry k(.param .u64 in, .param .u64 out)
{
.reg .pred %p<8>; .reg .b32 %r<24>; .reg .f32 %f<8>; .reg .b64 %rd<24>;
ld.param.u64 %rd1, [in];
ld.param.u64 %rd2, [out];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mad.lo.s32 %r4, %r2, 128, %r1;
mul.wide.u32 %rd3, %r4, 4;
add.s64 %rd4, %rd1, %rd3;
add.s64 %rd5, %rd2, %rd3;
ld.global.f32 %f1, [%rd4];
neg.f32 %f2, %f1;
BODY
ret;
}
"""
STORE = "st.global.f32 [%rd5], %f2;\n"
CASES: Dict[str, Case] = {
    "plain": Case(STORE),
    "shared": Case("shl.b32 %r5, %r1, 2; mov.u32 %r6, tile; add.u32 %r6, %r6, %r5; st.shared.f32 [%r6], %f2; bar.sync 0; ld.shared.f32 %f3, [%r6];"
                   "st.global.f32 [%rd5], %f3;", module=".shared .align 4 .b8 tile[512];"),
    "noisy": Case("ex2.approx.f32 %f4, %f1; sub.f32 %f4, %f4, %f4; add.f32 %f2, %f2, %f4;" + STORE),
    "bounds": Case("setp.eq.u32 %p1, %r2, 900; @%p1 add.s64 %rd5, %rd5, 1048576;" + STORE, "store of 4 bytes out of bounds", "store of 4 bytes out of bounds"),
    "two faults": Case("setp.ge.u32 %p1, %r2, 700; @%p1 ld.global.f32 %f3, [%rd4+4194304];" + STORE, "block (700,0,0)", "block (700,0,0)"),
    "twice": Case("setp.eq.u32 %p1, %r2, 1000; @%p1 sub.s64 %rd5, %rd5, 512000;" + STORE, "", "second store"),
    "never": Case("setp.ne.u32 %p1, %r2, 513; @%p1 st.global.f32 [%rd5], %f2;", "", "512 of 524288 bytes of output buffer 1 are never written"),
    "read": Case(STORE + "setp.eq.u32 %p1, %r2, 800; @%p1 ld.global.f32 %f3, [%rd2];", "", "race: load of byte 0"),
    "variable": Case("mov.u64 %rd6, cell; st.global.u32 [%rd6], %r2;" + STORE, "", "race: store of byte 0 of variable cell", ".global .align 4 .u32 cell;"),
    "atomic": Case("mov.u64 %rd6, cell; atom.global.add.u32 %r7, [%rd6], 1; and.b32 %r7, %r7, 0; cvt.rn.f32.u32 %f3, %r7; add.f32 %f2, %f2, %f3;" + STORE,
                   module=".global .align 4 .u32 cell;"),
    "trap": Case("setp.eq.u32 %p1, %r4, 100000; @%p1 trap;" + STORE, "the program trapped", "the program trapped"),
}

RACES = "twice"  # blocks store different values into one element: the last one stays, which is any


def run(program: str, folder: Path, name: str, words: List[str]) -> Tuple[str, bytes, bytes]:
    command = [program, "run", str(folder / "negate.hlo"), "--ptx", str(folder / f"{name}.ptx"), "--grid", str(BLOCKS), "--block", str(BLOCK), "--case", "n",
               "--json", "--counts", "-o", str(folder / "out"), *words]
    p = subprocess.run(command, capture_output=True, text=True, timeout=300)
    return re.sub(r'"ms_\w+": [\d.]+', "", p.stdout + p.stderr), (folder / "out" / "out0.npy").read_bytes(), (folder / "expected" / "out0.npy").read_bytes()


def complaint(program: str, folder: Path, name: str, case: Case) -> str:
    (folder / f"{name}.ptx").write_text(HEAD.replace("MODULE", case.module).replace("BODY", case.body), encoding="utf-8")
    for mode, wanted in (([], case.plain), (["--check"], case.checked), (["--ulp-noise", "--seed", "7"], None), (["--blocks", "301"], None),
                         (["--order", "reverse"], None), (["--order", "shuffle:3", "--check"], None)):
        said, output, expected = run(program, folder, name, [*mode, "-j", "1"])
        for threads in ("2", "3", "8"):
            again = run(program, folder, name, [*mode, "-j", threads])
            if again[0] != said or again[1] != output and name != RACES:
                return f"{' '.join(mode)} -j {threads} differs from one thread"
        if wanted is None:
            continue
        if wanted not in said or ('"faults": []' in said) != (not wanted):
            return f"{' '.join(mode)}: wanted {wanted!r}: {said[:400]}"
        if not wanted and not case.checked and output != expected:
            return f"{' '.join(mode)}: a wrong output"
    return ""


def main() -> int:
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "negate.hlo").write_text(f"HloModule negate\nENTRY main {{\n  x = f32[{N}]{{0}} parameter(0)\n  ROOT y = f32[{N}]{{0}} negate(x)\n}}\n",
                                           encoding="utf-8")
        subprocess.run([sys.argv[1], "eval", str(folder / "negate.hlo"), "--case", "n", "-o", str(folder / "expected")], check=True, stdout=subprocess.DEVNULL)
        for case in CASES:
            why = complaint(sys.argv[1], folder, case, CASES[case])
            if why:
                failed += 1
                print(f"{case}: {why}", flush=True)
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
