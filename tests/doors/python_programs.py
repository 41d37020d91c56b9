"""Programs of the Python package, a part of python_package.py: listed, run, checked, profiled, written and read, partly declined."""
from __future__ import annotations

import gc
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy
import warpburg


class Programs(unittest.TestCase):
    """Modules that are more than one fusion."""
    layer = """HloModule layer
twice { x = f32[64,256] parameter(0)  ROOT s = f32[64,256] add(x, x) }
minus { d = f32[64,128] parameter(0)  ROOT n = f32[64,128] negate(d) }
ENTRY layer {
  x = f32[64,256] parameter(0)
  w = f32[256,128] parameter(1)
  s = f32[64,256] fusion(x), kind=kLoop, calls=twice
  d = f32[64,128] dot(s, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  n = f32[64,128] fusion(d), kind=kLoop, calls=minus
  ROOT y = (f32[64,128], f32[64,128]) tuple(d, n)
}
"""
    loop = """HloModule l
body { s = (s32[], f32[8]) parameter(0)  i = s32[] get-tuple-element(s), index=0  x = f32[8] get-tuple-element(s), index=1
  one = s32[] constant(1)  j = s32[] add(i, one)  y = f32[8] add(x, x)  ROOT t = (s32[], f32[8]) tuple(j, y) }
condition { s = (s32[], f32[8]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(3)  ROOT c = pred[] compare(i, n), direction=LT }
ENTRY e { p = f32[8] parameter(0)  o = s32[] constant(0)  t = (s32[], f32[8]) tuple(o, p)
  w = (s32[], f32[8]) while(t), condition=condition, body=body  ROOT r = f32[8] get-tuple-element(w), index=1 }
"""

    def setUp(self) -> None:
        self.x = (numpy.arange(64 * 256) % 7 - 3).astype(numpy.float32).reshape(64, 256)
        self.w = (numpy.arange(256 * 128) % 5 - 2).astype(numpy.float32).reshape(256, 128)

    def test_facts(self) -> None:
        p = warpburg.compile(self.layer, target="sm_80")
        self.assertEqual(repr(p), "<warpburg.Program layer for sm_80: (f32[64,256], f32[256,128]) -> (f32[64,128], f32[64,128]), 2 kernels, 1 library call>")
        self.assertEqual([s.kind for s in p.steps], ["kernel", "library", "kernel"])
        self.assertEqual((p.steps[0].kernel, p.steps[1].kernel, p.steps[2].kernel), (p.kernels[0], None, p.kernels[1]))
        self.assertEqual(repr(p.steps[1]), "<library d: dot(s f32[64,256], w f32[256,128]) -> d f32[64,128]>")
        self.assertIn(".target sm_80", p.kernels[0].ptx)
        self.assertEqual(p.memory.peak, sum(p.memory[:4]))
        self.assertEqual(p.memory.parameters, 4 * (64 * 256 + 256 * 128))
        self.assertIn('"warpburg program"', p.json)
        self.assertIn("<td>library</td>", p._repr_html_())

    def test_run(self) -> None:
        p = warpburg.compile(self.layer)
        d, n = p.run(self.x, self.w, threads=2)
        numpy.testing.assert_array_equal(d, 2 * self.x @ self.w)
        numpy.testing.assert_array_equal(n, -d)
        for got, same in zip(p.run(self.x, self.w, on="gpu"), (d, n)):
            numpy.testing.assert_array_equal(got, same)
        with self.assertRaisesRegex(ValueError, "on='cpu': \"sim\" or \"gpu\" expected"):
            p.run(self.x, self.w, on="cpu")
        for call in ("cuMemAlloc_v2", "cuLaunchKernel", "cuMemcpyDtoH_v2") if "WARPBURG_LIBCUDA" in os.environ else ():
            os.environ["FAKE_CUDA_FAIL"] = f"{call}:2"
            try:
                with self.assertRaisesRegex(warpburg.Error, call):
                    p.run(self.x, self.w, on="gpu")
            finally:
                del os.environ["FAKE_CUDA_FAIL"]
        with self.assertRaisesRegex(TypeError, r"input 1 is float32\[64,256\]; f32\[256,128\] expected"):
            p.run(self.x, self.x)
        with self.assertRaisesRegex(TypeError, "layer takes 2 arrays, 1 given"):
            p.run(self.x)

    def test_kernels_outlive_it(self) -> None:
        p = warpburg.compile(self.layer)
        kernel = p.kernels[0]
        del p
        gc.collect()
        numpy.testing.assert_array_equal(kernel.run(self.x), 2 * self.x)

    def test_check_and_profile(self) -> None:
        p = warpburg.compile(self.layer)
        v = p.check(case="e", seed=5)
        self.assertTrue(v)
        self.assertEqual((v.judged, v.outside, v.whole_compared, v.whole_outside, v.faults), (2, 0, 2 * 64 * 128, 0, ()))
        self.assertIn("2 kernels judged", str(p.check(self.x, self.w)))
        with self.assertRaisesRegex(ValueError, "case=.c.: one of w, n, e, p, t, u expected"):
            p.check(case="c")
        t = p.profile()
        self.assertIn("<h2>Kernels</h2>", p.page(blocks=4))
        self.assertIn("<iframe", p.page(blocks=4)._repr_html_())
        self.assertEqual((t.kernels, t.library, t.refused), (2, 1, 0))
        self.assertTrue(0 < t.launch < t.seconds - t.library_seconds < t.seconds < 1e-3)
        self.assertEqual(sorted(c["kind"] for c in t.data["costs"]), ["kernel", "kernel", "library"])
        self.assertIn("us</th>", t._repr_html_())
        self.assertRegex(str(t), rf"^.*: {1e6 * t.seconds:.2f} us on sm_90: 2 kernels .*1 library call.*\n.*kind.*\n(.*\n)*.*  dot  .*products\n")
        self.assertEqual(repr(t), f"<warpburg.ProgramProfile {1e6 * t.seconds:.2f} us in 2 launches, and 1 library call>")

    def test_loop_and_folder(self) -> None:
        """`program`: a loop that one kernel can run is a program where that is asked for; what is written is read, by the command line, too."""
        self.assertIsInstance(warpburg.compile(self.loop), warpburg.Kernel)
        p = warpburg.compile(self.loop, program=True, cut="plain")
        self.assertEqual([s.kind for s in p.steps if s.calls], ["loop"])
        self.assertEqual(set(p.steps[[s.kind for s in p.steps].index("loop")].calls), {next(iter(p.computations))}, "its iterations are counted: no condition")
        x = numpy.arange(8, dtype=numpy.float32)
        numpy.testing.assert_array_equal(p.run(x), 8 * x)
        with tempfile.TemporaryDirectory() as folder:
            p.write(Path(folder) / "out")
            program = Path(os.environ["WARPBURG_LIBRARY"]).parent / "warpburg-run"
            ran = subprocess.run([program, "run", f"{folder}/out", "--check"], capture_output=True, text=True)
            self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
            q = warpburg.read(Path(folder) / "out")
            (Path(folder) / "notes").write_text("mine")
            with self.assertRaisesRegex(warpburg.Error, "holds notes, which is no part of a program"):
                p.write(folder)
        self.assertEqual(q.json, p.json)
        numpy.testing.assert_array_equal(q.run(x), 8 * x)
        with self.assertRaisesRegex(warpburg.Error, "program.json"):
            warpburg.read("/nowhere")

    def test_better_apart(self) -> None:
        """What one kernel would compute again and again is a program, as on the command line."""
        text = (Path(__file__).parents[1] / "lit/control/while_chain.hlo").read_text(encoding="utf-8")
        p = warpburg.compile(text)
        self.assertIsInstance(p, warpburg.Program)
        self.assertEqual(p.check().outside, 0)
        self.assertIsInstance(warpburg.compile(text, program=False), warpburg.Kernel)

    two = ("HloModule d\na { x = f32[8] parameter(0)  ROOT y = f32[8] negate(x) }\nb { x = f32[8] parameter(0)  z = f32[] constant(0)\n"
           "  r = f32[8] rng(z, z), distribution=rng_uniform  ROOT y = f32[8] add(x, r) }\nENTRY e { p = f32[8] parameter(0)\n"
           "  f = f32[8] fusion(p), kind=kLoop, calls=a  ROOT g = f32[8] fusion(f), kind=kLoop, calls=b }\n")

    def test_declined(self) -> None:
        two = self.two
        with self.assertRaises(warpburg.Declined) as e:
            warpburg.compile(two)
        self.assertEqual(e.exception.reason, "random")
        p = warpburg.compile(two, partial=True)
        self.assertIsNone(p.kernels[1])
        self.assertIn("declined: random", p.messages)
        with self.assertRaises(warpburg.Declined):
            p.run(numpy.zeros(8, numpy.float32))
        self.assertEqual(p.profile().refused, 1)
        with self.assertRaises(warpburg.Declined):
            warpburg.compile(self.layer, program=False)
        unfused = self.layer.replace("fusion(x), kind=kLoop, calls=twice", "add(x, x)").replace("fusion(d), kind=kLoop, calls=minus", "negate(d)")
        self.assertIsInstance(warpburg.compile(unfused), warpburg.Program)
        self.assertIsInstance(warpburg.compile(unfused, program=False), warpburg.Kernel)
        with self.assertRaisesRegex(ValueError, "cut='well'"):
            warpburg.compile(self.layer, cut="well")
