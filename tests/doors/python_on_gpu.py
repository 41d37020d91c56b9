"""Kernels of the Python package on a GPU, a part of python_package.py: the driver's kernels run in the simulator, or with WARPBURG_TEST_GPU=real on the
GPU of this machine."""
from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import types
import unittest
import unittest.mock
from typing import Any, Tuple

import numpy
import warpburg
from python_texts import SCALE, SUM, unary


class OnGpu(unittest.TestCase):
    def on_gpu(self, k: Any, x: Any) -> Any:
        """The kernel's output for an array of the host, on the GPU."""
        from warpburg._arrays import DeviceArray, Loaded
        loaded = Loaded(k._pointer)
        a = DeviceArray(loaded, k.inputs[0], 0)
        warpburg._library.called(warpburg._library.lib.wb_gpu_write, loaded._pointer, a.address, x.ctypes.data, x.nbytes)
        return k.run(a, on="gpu")

    def test_host_arrays(self) -> None:
        k = warpburg.compile(SCALE)
        x, row = numpy.arange(32, dtype=numpy.float32).reshape(4, 8), numpy.arange(8, dtype=numpy.float32)
        numpy.testing.assert_array_equal(k.run(x, row, on="gpu"), x * row)

    def test_device_arrays(self) -> None:
        """An output is the input of the next run, by both ways and in place; numpy copies it back."""
        k = warpburg.compile(unary("bf16", 64, "negate"))
        x = numpy.arange(64).astype(k.inputs[0].dtype)
        b = self.on_gpu(k, x)
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

    def test_capsules_beside_other_libraries(self) -> None:
        """jax.ffi.pycapsule sets the types of ctypes.pythonapi.PyCapsule_New, which is one object in a process."""
        from warpburg._arrays import _exported
        shared = ctypes.pythonapi.PyCapsule_New
        before = shared.restype, shared.argtypes
        k = warpburg.compile(unary("f32", 64, "negate"))
        out = self.on_gpu(k, numpy.ones(64, numpy.float32))
        try:
            shared.restype, shared.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.CFUNCTYPE(None, ctypes.py_object))
            capsule = out.__dlpack__()
            self.assertEqual(len(_exported), 1)
            del capsule
            self.assertEqual(len(_exported), 0)
        finally:
            shared.restype, shared.argtypes = before

    def test_tensors_of_torch(self) -> None:
        """Types that numpy lacks, of which PyTorch's __cuda_array_interface__ and DLPack do not have all."""
        class Tensor:
            requires_grad = False

            def __init__(self, of: Any, dtype: str) -> None:
                self.of, self.dtype, self.shape = of, dtype, of.shape
                self.layout, self.device = "torch.strided", types.SimpleNamespace(type="cuda" if isinstance(of, warpburg.DeviceArray) else "cpu")

            def data_ptr(self) -> int:
                return 1

            def detach(self) -> "Tensor":
                return self

            resolve_conj = resolve_neg = detach

            def view(self, dtype: str) -> "Tensor":
                return Tensor(self.of.view({"torch.uint8": "u8", "torch.int16": "s16"}[dtype]) if isinstance(self.of, warpburg.DeviceArray)
                              else self.of.view(dtype[len("torch."):]), dtype)

            def __getattr__(self, name: str) -> Any:
                if name == "__cuda_array_interface__" and isinstance(self.of, warpburg.DeviceArray):
                    return {"torch.uint8": self.of, "torch.int16": self.of}[self.dtype].__cuda_array_interface__
                if name == "__array__" and not isinstance(self.of, warpburg.DeviceArray):
                    return {"torch.uint8": self.of, "torch.int16": self.of}[self.dtype].__array__
                raise AttributeError(name)

        torch = types.SimpleNamespace(Tensor=Tensor, uint8="torch.uint8", int16="torch.int16", strided="torch.strided", is_grad_enabled=lambda: True)
        with unittest.mock.patch.dict(sys.modules, torch=torch):
            for kind, name, operation in (("f8e4m3fn", "float8_e4m3fn", "copy"), ("f8e5m2", "float8_e5m2", "copy"), ("bf16", "bfloat16", "negate")):
                k = warpburg.compile(unary(kind, 64, operation))
                x = numpy.arange(64).astype(k.inputs[0].dtype)
                out = self.on_gpu(k, x)
                for of, more in ((out, {"on": "gpu"}), (x if operation == "copy" else -x, {})):
                    again = k.run(Tensor(of, f"torch.{name}"), **more)
                    self.assertEqual(numpy.asarray(again).tobytes(), x.tobytes())
                    with self.assertRaisesRegex(TypeError, rf"input 0 is torch.float8_e3m4\[64\]; {kind}\[64\] expected"):
                        k.run(Tensor(of, "torch.float8_e3m4"), **more)
                with self.assertRaisesRegex(TypeError, "requires a gradient"):
                    with unittest.mock.patch.object(Tensor, "requires_grad", True):
                        k.run(Tensor(out, f"torch.{name}"), on="gpu")
                seen = out.view("u8" if operation == "copy" else "u16")
                del out
                self.assertEqual(seen.__cuda_array_interface__["typestr"][1], "u")
                self.assertEqual(numpy.asarray(seen).tobytes(), (x if operation == "copy" else -x).tobytes())
                with self.assertRaisesRegex(TypeError, "elements of"):
                    seen.view("f32")

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
