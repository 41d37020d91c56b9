"""shaderdb/bench: reading and comparing results, and a complete run on the CUDA driver that runs kernels in the simulator, where it was built."""
from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import sys
import tempfile
import unittest
from pathlib import Path

from common import FUSION, SHADERDB, WARPBURG, call, records

loader = importlib.machinery.SourceFileLoader("bench", str(SHADERDB / "bench"))
bench = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench", loader))
loader.exec_module(bench)
FAKE = Path(WARPBURG).parent / "tests" / "libfake_cuda_driver.so"


def line(file: str, ms: float, status: str = "ok") -> dict:
    return {"file": file, "target": "sm_90", "status": status, "ms": ms, "share": 0.5}


class Bench(unittest.TestCase):
    def test_reads_one_run(self) -> None:
        said = '{"file": "x", "gpu": {"device": "G", "arch": "sm_90", "ms": 0.5, "gb_per_s": 1500, "copy_gb_per_s": 2000}}\n'
        self.assertEqual(bench.gpu_part("note\n" + said)["share"], 0.75)
        self.assertEqual(bench.gpu_part('{"file": "x"}'), {})

    def test_ratios(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            before, after = Path(folder, "b"), Path(folder, "a")
            before.write_text("".join(json.dumps(line(f"f{k}", 1.0)) + "\n" for k in range(8)) + json.dumps(line("gone", 1)) + "\n")
            after.write_text("".join(json.dumps(line(f"f{k}", 0.5 + k / 100)) + "\n" for k in range(8)) + json.dumps(line("bad", 1, "failed")) + "\n")
            text = bench.compared(str(before), str(after))
        self.assertIn("f7 sm_90: 1000.0 us -> 570.0 us, 0.570 of the time", text.splitlines()[0])
        self.assertIn("over 8 kernels: geometric mean 0.535, median 0.535, 0.500 to 0.570", text)
        self.assertIn("faster", text)
        self.assertIn("8 compared, 2 in one file only", text)

    def test_without_a_gpu(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "a.hlo").write_text(FUSION.format(n=64, op="negate", name="k"))
            out = Path(folder, "out.jsonl")
            p = call(sys.executable, SHADERDB / "bench", folder, "-o", out, WARPBURG_LIBCUDA="/nonexistent/libcuda.so", WARPBURG=WARPBURG)
            self.assertIn("skipped: there is no GPU", p.stdout)
            self.assertEqual(records(out)[0]["status"], "declined")

    @unittest.skipUnless(FAKE.exists(), "fake_cuda_driver was not built")
    def test_whole(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "a.hlo").write_text(FUSION.format(n=4096, op="negate", name="k"))
            out = Path(folder, "out.jsonl")
            call(sys.executable, SHADERDB / "bench", folder, "-o", out, "--repeat", "3", WARPBURG_LIBCUDA=str(FAKE), WARPBURG=WARPBURG)
            r = records(out)[0]
        self.assertEqual((r["file"], r["status"]), ("a.hlo", "ok"))
        self.assertGreater(r["ms"], 0)
        self.assertGreater(r["copy_gb_per_s"], 0)


if __name__ == "__main__":
    unittest.main()
