"""Threads of a host that changed the floating-point environment: every function of the library is called from one, computes what it computes elsewhere, bit for
bit, and leaves the environment as it was. The package's own tests run so, and kernels on every value of 8 bits and the odd ones of other types.

usage: float_environment.py BUILD
"""
from __future__ import annotations

import ctypes
import os
import re
import sys
import threading
import unittest
from pathlib import Path
from typing import Any, List

import hostile_floats

ROOT = Path(__file__).resolve().parents[2]
FLOATS = "f8e5m2 f8e4m3fn f8e4m3b11fnuz f8e5m2fnuz f8e4m3fnuz f8e4m3 f8e3m4 f8e8m0fnu f16 bf16 f32 f64".split()
ODD = {16: [0, 1, 0x3ff, 0x400, 0x3c00, 0x3c01, 0x7bff, 0x7c00, 0x7e00, 0x7f, 0x80, 0x3f80, 0x7f7f, 0x7f80, 0x7fc0],
       32: [0, 1, 0x116c2, 0x7fffff, 0x800000, 0x3f800000, 0x3f800001, 0x3f7fffff, 0x7f7fffff, 0x7f800000, 0x7fc00000, 0x7f800001],
       64: [0, 1, 0xfffffffffffff, 0x10000000000000, 0x3690000000000000, 0x380fffffe0000000, 0x3ff0000000000000, 0x3ff0000000000001, 0x7fefffffffffffff,
            0x7ff0000000000000, 0x7ff8000000000000]}


def values(kind: str) -> Any:
    """Every value of 8 bits; of other types subnormals, infinities, nan and their neighbours, with both signs."""
    dtype = warpburg.compile(text(kind, 1)).inputs[0].dtype
    bits = 8 * dtype.itemsize
    words = range(256) if bits == 8 else [w | s << (bits - 1) for w in ODD[bits] for s in (0, 1)]
    return numpy.array(words, f"u{dtype.itemsize}").view(dtype)


def text(kind: str, n: int) -> str:
    """In its own type, through f32 and back, and as f64."""
    k = f"{kind}[{n}]"
    own = f"  m = {k} multiply(x, y)\n  a = {k} add(m, x)\n" if kind != "f8e8m0fnu" else f"  a = {k} maximum(x, y)\n"
    return (f"HloModule m\nENTRY e {{\n  x = {k} parameter(0)\n  y = {k} parameter(1)\n{own}  f = f32[{n}] convert(x)\n  g = f32[{n}] convert(y)\n"
            f"  c = f32[] constant(1.5)\n  cs = f32[{n}] broadcast(c), dimensions={{}}\n  h = f32[{n}] multiply(f, cs)\n  i = f32[{n}] divide(h, g)\n"
            f"  j = {k} convert(h)\n  d = f64[{n}] convert(x)\n  ROOT t = ({k}, f32[{n}], f32[{n}], {k}, f64[{n}]) tuple(a, h, i, j, d)\n}}\n")


def same(xs: Any, ys: Any) -> bool:
    return [(x.dtype, x.tobytes()) for x in xs] == [(y.dtype, y.tobytes()) for y in ys]


class Kernels(unittest.TestCase):
    def test_types(self) -> None:
        """Compiled, run, checked and evaluated in a hostile thread, which may trap: the same texts, bits and verdicts."""
        for kind in FLOATS:
            x = values(kind)
            y = numpy.roll(x, 7)
            got: List[Any] = []
            for library in (plain, hostile, trapping):
                use(library)
                k = warpburg.compile(text(kind, len(x)))
                v = k.check(x, y)
                e = k.check(case="e")
                got.append((k.ptx, k.run(x, y), k.run(x, y, threads=2), (v.ok, v.report), (e.ok, e.report)))
            for g in got:
                self.assertTrue(g[3][0] and g[4][0], f"{kind}: {g[3][1]} {g[4][1]}")
                self.assertTrue(same(g[1], g[2]), f"{kind}: two threads of the simulator")
                self.assertTrue(same(g[1], got[0][1]), kind)
                self.assertEqual((g[0], g[3:]), (got[0][0], got[0][3:]), kind)

    def test_decimals(self) -> None:
        """Constants of the text, and numbers of Python, are rounded to nearest and kept when they are subnormal."""
        hlo = "HloModule m\nENTRY e { x = f32[3] parameter(0)  c = f32[3] constant({1e-40, 0.1, -3.4e38})  ROOT r = f32[3] add(x, c) }\n"
        wanted = numpy.array([1e-40, 0.1, -3.4e38], numpy.float32)
        for library in (hostile, trapping):
            use(library)
            numpy.testing.assert_array_equal(warpburg.compile(hlo).run(numpy.zeros(3, numpy.float32)), wanted)
        copy = warpburg.compile("HloModule m\nENTRY e { x = f32[3] parameter(0)  ROOT r = f32[3] copy(x) }\n")
        given = wanted.tolist()
        with hostile_floats.Host(flags=True):
            found = [copy.run(given), copy.run(tuple(given))]
        self.assertEqual([f.tobytes() for f in found], [wanted.tobytes()] * 2)

    def test_progress(self) -> None:
        """What the host is called back with is its own environment."""
        use(hostile)
        found: List[int] = []
        report = warpburg._watched.Watched._report

        def watched(self: Any, *arguments: Any) -> int:
            found.append(hostile_floats.control())
            return report(self, *arguments)

        warpburg._watched.Watched._report = watched
        self.addCleanup(setattr, warpburg._watched.Watched, "_report", report)
        k = warpburg.compile("HloModule m\nENTRY e { x = f32[262144] parameter(0)  ROOT r = f32[262144] exponential(x) }\n")
        t = threading.Thread(target=lambda: k.check())  # in the main thread another one makes the call
        t.start()
        t.join()
        assert hostile_floats.HERE
        self.assertEqual(set(found), {hostile_floats.HERE.hostile & hostile_floats.HERE.control})


class Entries(unittest.TestCase):
    def test_others(self) -> None:
        """What the package does not call, or only when Python ends."""
        lib, pointer, name = hostile, ctypes.c_void_p(), ctypes.c_char_p()
        self.assertEqual(lib.wb_version(), plain.wb_version())
        use(hostile)
        k, p = warpburg.compile(text("f32", 4)), warpburg.compile(text("f32", 4), program=True)
        self.assertGreater(sum(lib.wb_kernel_ms(k._pointer, i, ctypes.byref(name)) for i in range(lib.wb_kernel_steps(k._pointer))), 0)
        self.assertIn(b"HloModule", lib.wb_program_hlo(p._pointer))
        self.assertEqual(lib.wb_program_region(p._pointer, 0, 0, ctypes.byref(warpburg._library.Region())), 1)
        for new, of in ((lib.wb_xla_new, k), (lib.wb_xla_new_program, p)):
            handle = new(of._pointer, 1)
            self.assertEqual(lib.wb_xla_number(handle), plain.wb_xla_number(handle))
            lib.wb_xla_free(handle)
        warpburg._library.called(lib.wb_gpu_load_program, p._pointer, ctypes.byref(pointer))
        lib.wb_gpu_unload(pointer)
        own, hlo = warpburg._kernel.Context(), text("f32", 4).encode()
        self.assertEqual(lib.wb_library_calls(hlo, len(hlo)), plain.wb_library_calls(hlo, len(hlo)))
        own.expect(warpburg.HloError, lib.wb_compile, None, hlo, len(hlo), None, ctypes.byref(pointer))
        lib.wb_kernel_free(pointer)
        own.expect(warpburg.HloError, lib.wb_program_compile, None, hlo, len(hlo), None, ctypes.byref(pointer))
        lib.wb_program_free(pointer)

    def test_zz_every_entry(self) -> None:
        """Each function of the header was called from a hostile thread, by the tests above and those of the package."""
        header = re.sub(r"/\*.*?\*/", "", (ROOT / "include" / "warpburg.h").read_text(), flags=re.S)
        calls = set(hostile.called) | set(trapping.called)
        self.assertEqual(sorted(set(re.findall(r"WB_API [\w\s*]+?\b(wb_\w+)\(", header)) - calls), sorted(NOT_BY_PYTHON))


# Handlers, which XLA calls with a frame: tests/doors/jax_door.py calls them through XLA's own threads, which flush, and unit/api_xla_test.c.
NOT_BY_PYTHON = ["wb_xla_call_on_gpu", "wb_xla_call_on_host", "wb_xla_call_program_on_gpu"]


def use(library: Any) -> None:
    for module in (warpburg._library, warpburg._kernel, warpburg._program):
        module.lib = library


def main() -> int:
    global numpy, warpburg, plain, hostile, trapping
    build = Path(sys.argv[1]).resolve()
    os.environ.update(PYTHONPATH=str(ROOT / "python"), WARPBURG_LIBRARY=str(build / "libwarpburg.so"),
                      WARPBURG_LIBCUDA=str(build / "tests" / "libfake_cuda_driver.so"))
    sys.path.insert(0, str(ROOT / "python"))
    if not hostile_floats.HERE:
        print("skipped: how the environment of this machine is changed is not known")
        return 0
    try:
        import ml_dtypes as _  # noqa: F401
        import numpy
    except ImportError as e:
        print(f"skipped: {e}")
        return 0
    import warpburg
    plain = warpburg._library.lib
    names = [name for name, *_ in warpburg._library.FUNCTIONS]
    hostile, trapping = (hostile_floats.wrap(plain, names, traps) for traps in (False, True))
    import python_on_gpu
    import python_package
    import python_programs
    import python_saved
    import python_watched
    python_package.numpy, python_package.warpburg, python_package.BUILD = numpy, warpburg, build
    tests = unittest.TestSuite()
    for module in (sys.modules[__name__], python_package, python_on_gpu, python_programs, python_saved, python_watched):
        for case in vars(module).values():
            if isinstance(case, type) and issubclass(case, unittest.TestCase) and case not in (Entries, python_package.Declarations):
                if module.__name__ != __name__:
                    case.setUpClass = classmethod(lambda _: use(hostile))
                tests.addTests(unittest.defaultTestLoader.loadTestsFromTestCase(case))
    tests.addTests(unittest.defaultTestLoader.loadTestsFromTestCase(Entries))  # last: it sees what the others called
    result = unittest.TextTestRunner(verbosity=1).run(tests)
    bad = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - bad} passed, {bad} failed")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
