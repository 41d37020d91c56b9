"""Kernels of the Python package on a GPU, a part of python_package.py: the driver's kernels run in the simulator, or with WARPBURG_TEST_GPU=real on the
GPU of this machine."""
from __future__ import annotations

import gc
import os
import subprocess
import sys
import unittest
from typing import Any, Tuple

import numpy
import warpburg
from python_texts import SCALE, SUM, unary


class OnGpu(unittest.TestCase):
    def test_host_arrays(self) -> None:
        k = warpburg.compile(SCALE)
        x, row = numpy.arange(32, dtype=numpy.float32).reshape(4, 8), numpy.arange(8, dtype=numpy.float32)
        numpy.testing.assert_array_equal(k.run(x, row, on="gpu"), x * row)

    def test_device_arrays(self) -> None:
        """An output is the input of the next run, by both ways and in place; numpy copies it back."""
        k = warpburg.compile(unary("bf16", 64, "negate"))
        x = numpy.arange(64).astype(k.inputs[0].dtype)
        first = k._memory([x])
        from warpburg._arrays import DeviceArray, Loaded
        loaded = Loaded(k._pointer)
        a = DeviceArray(loaded, k.inputs[0], 0)
        warpburg._library.called(warpburg._library.lib.wb_gpu_write, loaded._pointer, a.address, first[0].address, 128)
        b = k.run(a, on="gpu")
        self.assertIsInstance(b, warpburg.DeviceArray)
        self.assertEqual(numpy.asarray(b).tobytes(), (-x).tobytes())
        self.assertEqual(b.__cuda_array_interface__["data"][0], b.address)

        asked = []

        class OnlyDlpack:
            def __dlpack__(self, stream: Any = None) -> Any:
                asked.append(stream)
                return b.__dlpack__()

            def __dlpack_device__(self) -> Tuple[int, int]:
                return b.__dlpack_device__()

        self.assertEqual(numpy.asarray(k.run(OnlyDlpack(), on="gpu")).tobytes(), x.tobytes())
        self.assertEqual(asked, [1])
        self.assertEqual(len(warpburg._arrays._exported), 0)
        with self.assertRaisesRegex(ValueError, "on a GPU"):
            k.run(b)
        if "WARPBURG_LIBCUDA" in os.environ:  # whose context cannot be waited for: another stream waits, the same one does not
            os.environ["FAKE_CUDA_FAIL"] = "cuCtxSynchronize:2"
            try:
                for stream in (None, 1, -1):
                    b.__dlpack__(stream=stream)
                with self.assertRaisesRegex(warpburg.Error, "cuCtxSynchronize"):
                    b.__dlpack__(stream=4096)

                class Filled:
                    def __init__(self, stream: Any) -> None:
                        self.__cuda_array_interface__ = {**b.__cuda_array_interface__, "stream": stream}

                for stream in (None, 1):
                    k.run(Filled(stream), on="gpu")
                with self.assertRaisesRegex(warpburg.Error, "cuCtxSynchronize"):
                    k.run(Filled(4096), on="gpu")
            finally:
                del os.environ["FAKE_CUDA_FAIL"]

    def test_collected_together(self) -> None:
        """An output, what stands for it in a capsule, and the kernel's code end in any order."""
        from warpburg._arrays import DeviceArray, Loaded, _exported

        class Holder:
            pass

        for first in ("array", "loaded"):
            k, holder = warpburg.compile(unary("f32", 64, "negate")), Holder()
            loaded = Loaded(k._pointer)
            array = DeviceArray(loaded, k.outputs[0], 0)
            for name in (first, "array", "loaded"):
                setattr(holder, name, {"array": array, "loaded": loaded}[name])
            holder.capsule, holder.itself = array.__dlpack__(), holder
            self.assertEqual(len(_exported), 1)
            del k, holder, array, loaded
            gc.collect()
            self.assertEqual(len(_exported), 0)

    def test_temporaries(self) -> None:
        k = warpburg.compile(SUM)
        self.assertIn("temporary", [b.role for b in k.buffers])
        self.assertEqual(float(k.run(numpy.ones(262144, numpy.float32), on="gpu")), 262144)

    def test_no_gpu(self) -> None:
        code = ("import warpburg, numpy\ntry:\n    warpburg.compile('HloModule m\\nENTRY e { x = f32[2] parameter(0) ROOT y = f32[2] negate(x) }')"
                ".run(numpy.zeros(2, numpy.float32), on='gpu')\nexcept warpburg.Declined as e:\n    print(e.reason, e)\n")
        ran = subprocess.run([sys.executable, "-c", code], env={**os.environ, "WARPBURG_LIBCUDA": "no_driver.so"}, capture_output=True, text=True)
        self.assertEqual(ran.stdout, "no_gpu declined: no_gpu: no_driver.so cannot be opened\n", ran.stderr)
