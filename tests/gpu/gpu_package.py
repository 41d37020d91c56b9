"""`./dev gpu` up to the launch: without a GPU it makes the package and says so; with a driver whose kernels run in the simulator
(tests/gpu/fake_cuda_driver.c) run.py checks and times every kernel of the package, finds a wrong one, and the report has modelled and measured time.

usage: gpu_package.py build/warpburg build/warpburg-run build/tests/libfake_cuda_driver.so
"""
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import List, Tuple

ROOT = Path(__file__).resolve().parents[2]
GPU = ROOT / "tests" / "gpu" / "gpu.py"
HLO = """HloModule m

body {
  a = f32[4096] parameter(0)
  ROOT y = f32[4096] OP
}

ENTRY main {
  a = f32[4096] parameter(0)
  ROOT f = f32[4096] fusion(a), kind=kLoop, calls=body
}
"""
THEIRS = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 from, .param .u64 to)
{
  .reg .b32 %r<4>; .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [from]; ld.param.u64 %rd2, [to];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r3, %r1, 256, %r2;
  mul.wide.u32 %rd3, %r3, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
  ld.global.b32 %r1, [%rd4]; xor.b32 %r1, %r1, 0x80000000; st.global.b32 [%rd5], %r1;
  ret;
}
"""
COLUMNS = ("file", "kernel", "status", "block", "grid", "shared")


def materials(folder: Path) -> None:
    """A corpus of two kernels to check, and a fusion with PTX of another compiler to time."""
    for part in ("corpus", "shared/corpus/programs", "shared/anchors/ptx/programs"):
        (folder / part).mkdir(parents=True)
    (folder / "corpus/negate.hlo").write_text(HLO.replace("OP", "negate(a)"))
    (folder / "corpus/sine.hlo").write_text(HLO.replace("OP", "sine(a)"))
    name = "negate.L__loop_negate_fusion"
    (folder / f"shared/corpus/programs/{name}.hlo").write_text(HLO.replace("OP", "negate(a)"))
    (folder / f"shared/anchors/ptx/programs/{name}.ptx").write_text(THEIRS)
    row = (f"{name}.hlo", "k", "ok", "256,1,1", "16,1,1", "0")
    (folder / "shared/anchors/programs.tsv").write_text("\t".join(COLUMNS) + "\n" + "\t".join(row) + "\n")


def call(words: List[str], driver: str) -> Tuple[int, str]:
    p = subprocess.run([sys.executable, *words], capture_output=True, text=True, env={**os.environ, "WARPBURG_LIBCUDA": driver})
    return p.returncode, p.stdout + p.stderr


def main() -> int:
    warpburg, run, driver = (str(Path(w).resolve()) for w in sys.argv[1:4])
    counts = {True: 0, False: 0}

    def expect(good: bool, what: str, said: str) -> None:
        counts[good] += 1
        if not good:
            print(f"{what}: {said[-800:]}")

    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        package, results = folder / "package", folder / "package" / "results.jsonl"
        materials(folder)
        make = [str(GPU), warpburg, run, "--package", str(package), "--shared", str(folder / "shared"), "--corpus", str(folder / "corpus"), "-j", "1",
                "--accuracy", "xla"]
        rc, said = call(make, "/nowhere/libcuda.so.1")
        expect(rc == 3 and "6 jobs" in said and "This machine has no GPU" in said and "no GPU: " in said, "without a driver", said)
        expect(not results.exists(), "results without a GPU", said)
        for cubin in package.rglob("*.cubin"):
            cubin.unlink()  # this driver compiles PTX alone
        jobs = package / "jobs.jsonl"
        jobs.write_text("".join(json.dumps({**j, "words": [w for w in j["words"] if "cubin" not in w]}) + "\n" for j in map(json.loads, jobs.open())))
        rc, said = call([str(package / "run.py"), "--repeat", "3"], driver)
        expect(rc == 0 and "6 jobs, 0 checks failed, no time for 0 checks and 0 timings" in said, "a run", said)
        found = [json.loads(line) for line in results.read_text().splitlines()]
        expect(sum(r["what"] == "check" and r["outside"] == 0 for r in found) == 4, "checks", str(found))
        expect(sum(r["what"] == "time" and r["ms"] > 0 for r in found) == 2, "timings", str(found))
        rc, said = call([str(package / "run.py")], driver)
        expect(rc == 0 and len(results.read_text().splitlines()) == 6, "a run that is continued", said)
        page = folder / "gpu.md"
        rc, said = call([str(GPU), "--package", str(package), "--results", str(results), "--page", str(page)], driver)
        expect(rc == 0 and "4 checks, 0 of them failed" in said and "| XLA's |" in said, "the report", said)
        expect(page.exists() and re.search(r"\| ours xla \| all \| 1 \| 1\.000 \| (0\.9|1\.0)\d", page.read_text()) is not None, "the page", said)
        ptx = package / "bundles/corpus__negate.hlo.exact/kernel.ptx"
        ptx.write_text(ptx.read_text().replace("neg.f32", "abs.f32"))
        stated = json.loads(ptx.with_name("kernel.json").read_text())  # whose hashes would tell
        ptx.with_name("kernel.json").write_text(json.dumps({k: v for k, v in stated.items() if k not in ("files", "text")}))
        results.unlink()
        rc, said = call([str(package / "run.py"), "--only", "negate"], driver)
        expect(rc == 1 and "2 checks failed" in said, "a wrong kernel", said)
        rc, said = call([str(GPU), "--package", str(package), "--results", str(results)], driver)
        expect(rc == 1 and "2 of them failed" in said and "- corpus/negate.hlo n: output 0" in said, "its report", said)
    print(f"{counts[True]} passed, {counts[False]} failed")
    return int(counts[False] > 0)


if __name__ == "__main__":
    sys.exit(main())
