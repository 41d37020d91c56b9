"""tests/gpu/rates.py up to the launch: the kernels of a package assemble and hold what they time; run_rates.py gets over each way in which a kernel
can fail; the report finds a price that is wrong.

usage: rates_package.py build/tests/libfake_rates_driver.so

Without ptxas no package can be made, and nothing is checked. Ends with `N passed, M failed`.
"""
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, List, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "gpu"), str(ROOT / "tests" / "bench")]

from gen import load, prices  # noqa: E402
from gen.proof import sass_path, simulate  # noqa: E402
import rate_code  # noqa: E402
import rate_report  # noqa: E402

RATES = str(ROOT / "tests" / "gpu" / "rates.py")
HOLDS = {"fma.rn.f32": "FFMA", "ex2.approx.ftz.f32": "MUFU", "cvt.f64.f32": "F2F.64", "cvt.rn.f32.f64": "F2F.64", "shfl.sync.bfly.b32": "SHFL",
         "setp.lt.f32": "FSETP", "fma.rn.f64": "DFMA", "mad.lo.s32": "IMAD", "div.rn.f32": "FCHK", "div.rn.f32 imm": "FCHK", "lop3.b32": "LOP3",
         "add.rn.f16": "HADD2", "max.bf16": "HMNMX2", "mul.wide.u32": "IMAD.WIDE", "popc.b64": "POPC", "redux.sync.add.s32": "REDUX",
         "vote.sync.ballot.b32": "VOTE", "min.s32": "VIMNMX", "cvt.rn.bf16x2.f32": "F2FP", "selp.b32": "SEL", "addc.u32": "IADD3",
         "mov.b32 pack": "PRMT", "sqrt.rn.f32": "MUFU", "div.u64": "I2F.64"}
TWICE = {"popc.b64"}
WRONG = "ex2.approx.ftz.f32"


def call(words: List[str], **more: str) -> Tuple[int, str]:
    p = subprocess.run([sys.executable, *words], capture_output=True, text=True, env={**os.environ, **more})
    return p.returncode, p.stdout + p.stderr


class Suite:
    def __init__(self) -> None:
        self.counts = {True: 0, False: 0}

    def expect(self, good: bool, what: str, said: str) -> None:
        self.counts[good] += 1
        if not good:
            print(f"{what}: {said[-800:]}")

    def kernels(self, package: Path, made: Dict[str, Any]) -> None:
        """The machine code of each cubin is read again; each kernel of HOLDS has its operation in the loop as often as its job says."""
        sass = prices.load_sass()
        jobs = {(j["form"], j["mode"]): j for j in made["jobs"] if "form" in j}
        code = {name: sass_path.code((package / name).read_bytes(), 90) for name in ("throughput.cubin", "latency.cubin", "memory.cubin")}
        for form, operation in HOLDS.items():
            for mode in ("throughput", "latency"):
                j = jobs.get((form, mode))
                loop = rate_code.counted(code[j["cubin"]][j["kernel"]], sass, "sm_90") if j else {}
                n = loop.get(operation, 0) - (operation in rate_code.LOOP)
                want = j["ops"] * (2 if form in TWICE else 1) if j else 1
                self.expect(n == want and j["loop"] == loop, f"{mode} of {form}", f"{operation} {n}, {j}")
        lacking = [j["name"] for j in made["jobs"] if j["kernel"] not in code[j["cubin"]]]
        self.expect(not lacking, "kernels of all jobs", str(lacking))
        fma = jobs["fma.rn.f32", "throughput"]
        price, half = prices.load_table(sass).forms["fma.rn.f32"]["sm_90"], {**fma["loop"], "FFMA": fma["ops"] // 2}
        c = rate_code.Choice("", "", rate_code.Way(), 1, fma["ops"], "", (), 0.0)
        for loop, clean in ((fma["loop"], True), (half, False)):
            c = replace(c, off=rate_code.difference(loop, price, [], fma["ops"], sass, "sm_90"))
            self.expect(c.clean(1.0) == clean, "a loop with half of the form", str(loop))

    def runs(self, package: Path, results: Path, driver: str, n: int) -> None:
        run = [str(package / "run_rates.py"), "--results", str(results)]
        rc, said = call(run, WARPBURG_LIBCUDA="/nowhere/libcuda.so.1")
        self.expect(rc == 3 and "no GPU: " in said, "without a driver", said)
        for more, failed, why in (({}, "0 failed", ""), ({"FAKE_RATES_REFUSE": "bar"}, "6 failed", "latency.barrier.32: CudaError: cuLaunchKernel"),
                                  ({"FAKE_RATES_FAIL": "chase_ca"}, "1 failed", "(719)"),
                                  ({"FAKE_RATES_HANG": "sts_4"}, "1 failed", "shared.store.b128: the process ended with None")):
            rc, said = call([*run, "--silent", "4"], WARPBURG_LIBCUDA=driver, **more)
            lines = [json.loads(line) for line in results.read_text().splitlines()]
            self.expect(rc == 0 and len(lines) == n and failed in said and why in said, f"a run with {more or 'all kernels'}", said)
        rc, said = call([*run, "--seconds", "3"], WARPBURG_LIBCUDA=driver, FAKE_RATES_HANG="bar")
        self.expect(rc == 1 and "time is over" in said, "a run that takes too long", said)

    def reports(self, package: Path, results: Path, made: Dict[str, Any]) -> None:
        """Results that are as stated, but for one form that takes three times as long."""
        target, sass = load.load_target("sm90"), prices.load_sass()
        table, lines = prices.load_table(sass), []
        one = [{"name": j["name"], "kind": j["kind"], "rows": [{"arg": 0, "turn": 1.0}]} for j in made["jobs"]]
        results.write_text("".join(json.dumps(x) + "\n" for x in one))
        stated = {r["form"]: r for r in rate_report.compared(rate_report.Measured(package, results), target, table, sass)}
        values = {"latency.shared": 23 * 16, "sm.fill": 65536 / 124, "l2.264": 65536 * 264 / 9.7e12, "shared.load.b32": 2 * 8 * 32}
        for j in made["jobs"]:
            if "form" in j and j["form"] in stated:
                r = stated[j["form"]]
                turn = j["ops"] * (r["latency_stated"] if j["mode"] == "latency" else r["stated"] * 8 * (3 if j["form"] == WRONG else 1))
            elif j["name"] in values:
                turn = values[j["name"]]
            else:
                continue
            lines.append({"name": j["name"], "kind": j["kind"], "rows": [{"arg": j["args"][0], "turn": turn}]})
        lines.append({"name": "device", "kind": "device", "card": "a GPU", "sms": 132, "l2_bytes": 61440 << 10})
        lines.append({"name": "latency.l1", "kind": "clocks", "error": "CudaError: something"})
        results.write_text("".join(json.dumps(x) + "\n" for x in lines))
        page = results.with_name("rates.md")
        rc, text = call([RATES, "report", "--package", str(package), "--results", str(results), "--page", str(page)])
        head = text[text.find("Clocks of forms"):text.find("Clocks of loops")]
        self.expect(rc == 0 and "further off than 1.5: 1.\n" in head and f"- {WRONG}: 24, stated 8, ratio 3.00" in head, "the wrong price", head)
        tail = text[text.find("\nLatencies:"):text.find("## Machine operations")]
        self.expect("geometric mean 1.000, rank correlation 1.000; further off than 1.5: 0." in tail, "latencies", tail)
        for row in ("| latency.shared | clk | 23 (23 .. 29) | 23 | 1.00 |", "| sm.fill | bytes/clk/SM | 124 (37 .. 124) | 124 | 1.00 |",
                    "| l2.bytes | bytes | 6.291e7 (5.243e7 .. 6.291e7) | 6.291e+07 | 1.00 |",
                    "| pipe.lsu | lanes/clk/SM | 32 | 16 | 0.50, outside |", "| window | instructions | 256 (128 .. 512) | - | - | not measured |",
                    "- latency.l1: CudaError: something", "| MUFU | 8.00 |", "132 SMs"):
            self.expect(row in text, row, text[:3000])
        self.expect(page.read_text() + "\n" == text, "the page", "")


def main() -> int:
    driver, s = str(Path(sys.argv[1]).resolve()), Suite()
    if simulate.ptxas_of() is None:
        print("skipped: tests/gpu/rates.py: ptxas is not found (WARPBURG_PTXAS can name it)")
        print("0 passed, 0 failed")
        return 0
    with tempfile.TemporaryDirectory() as tmp:
        package, results = Path(tmp) / "package", Path(tmp) / "rates.jsonl"
        rc, said = call([RATES, "make", "--package", str(package), "--forms", ",".join(HOLDS)])
        s.expect(rc == 0 and "were not made" not in said, "the package", said)
        made = json.loads((package / "jobs.json").read_text())
        s.kernels(package, made)
        s.runs(package, results, driver, len(made["jobs"]))
        s.reports(package, results, made)
    print(f"{s.counts[True]} passed, {s.counts[False]} failed")
    return int(s.counts[False] > 0)


if __name__ == "__main__":
    sys.exit(main())
