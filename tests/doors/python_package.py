"""The Python package: its declarations against include/warpburg.h; compiling, running, checking and profiling; arrays of other libraries;
exceptions; a GPU, which is a driver whose kernels run in the simulator.

usage: python_package.py BUILD [--wheel]      --wheel: build the wheel as pip does, install it into a fresh environment, run ten lines
       WARPBURG_TEST_GPU=real python3 tests/doors/python_package.py BUILD       with the CUDA driver of this machine, and its GPU
"""
from __future__ import annotations

import argparse
import copy
import ctypes
import os
import pickle
import shutil
import re
import sys
import tempfile
import threading
import unittest
from ctypes import c_char, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any, List, Tuple

from python_texts import SCALE, SCATTER, SUM, unary

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path("build")


ROWS = """HloModule rows
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
ENTRY e {
  x = f32[4096,1000] parameter(0)
  zero = f32[] constant(0)
  s = f32[4096] reduce(x, zero), dimensions={1}, to_apply=add
  wide = f32[4096,1000] broadcast(s), dimensions={0}
  ROOT d = f32[4096,1000] divide(x, wide)
}
"""


class Declarations(unittest.TestCase):
    """_library.py declares what the header declares."""
    header = re.sub(r"/\*.*?\*/", "", (ROOT / "include" / "warpburg.h").read_text(), flags=re.S)
    plain = {"int": c_int, "uint32_t": c_uint32, "uint64_t": c_uint64, "int64_t": c_int64, "size_t": c_size_t, "double": c_double, "char": c_char,
             "wb_status": c_int, "wb_reason": c_int, "wb_accuracy": c_int, "wb_backend": c_int, "wb_role": c_int, "wb_contents": c_int,
             "wb_cut": c_int, "wb_place": c_int,
             "wb_kind": c_int, "wb_step_kind": c_int, "void": None}

    structures = {name: "".join(map(str.title, name.split("_"))) for name in
                  "options array buffer launch run_options verdict time program_options memory computation value region share swap step program_verdict "
                  "program_time".split()}

    def ctype(self, text: str) -> Any:
        structures = {f"wb_{name}": ours for name, ours in self.structures.items()}
        kind, stars = re.sub(r"\bconst\b|\*", "", text).strip(), text.count("*")
        base = getattr(self.library, structures[kind]) if kind in structures else self.plain.get(kind)
        if kind == "char" and stars:
            base, stars = c_char_p, stars - 1
        elif (kind == "void" or kind not in {*self.plain, *structures}) and stars:
            base, stars = c_void_p, stars - 1
        for _ in range(stars):
            base = ctypes.POINTER(base)
        return base

    def setUp(self) -> None:
        import warpburg._library
        self.library = warpburg._library

    def test_functions(self) -> None:
        declared = {}
        for result, name, parameters in re.findall(r"WB_API ([\w\s*]+?)\b(wb_\w+)\(([^)]*)\);", self.header):
            words = [] if parameters.strip() == "void" else [re.sub(r"\w+$", "", " ".join(p.split())) for p in parameters.split(",")]
            declared[name] = (self.ctype(result), [self.ctype(w) for w in words])
        ours = {name: (result, list(parameters)) for name, result, parameters in self.library.FUNCTIONS}
        self.assertEqual(sorted(declared), sorted(ours))
        for name, signature in declared.items():
            self.assertEqual(signature, ours[name], name)

    def test_structures(self) -> None:
        names = self.structures
        found = 0
        for body, name in re.findall(r"typedef struct \{([^}]*)\} wb_(\w+);", self.header):
            fields: List[Tuple[str, Any]] = []
            for line in body.split(";"):
                kind, _, rest = " ".join(line.split()).rpartition(" ") if "," not in line else " ".join(line.split()).partition(" ")
                if "," in line and line.split()[0] == "const":
                    kind, _, rest = rest.partition(" ")
                for word in filter(None, rest.split(",")):
                    stars = (kind + word).count("*")
                    word = word.replace("*", " ")
                    m = re.match(r"(\w+)(?:\[(\d+)\])?", word.strip())
                    assert m
                    base = self.ctype(kind.replace("*", "") + "*" * stars)
                    fields.append((m[1], base * int(m[2]) if m[2] else base))
            self.assertEqual(fields, list(getattr(self.library, names[name])._fields_), name)
            found += 1
        self.assertEqual(found, len(names))

    def test_enumerations(self) -> None:
        for name, words in (("accuracy", self.library.ACCURACIES), ("role", self.library.ROLES), ("contents", self.library.CONTENTS),
                            ("cut", self.library.CUTS), ("kind", self.library.KINDS), ("place", self.library.PLACES), ("step_kind", self.library.STEPS)):
            m = re.search(rf"typedef enum \{{([^}}]*)\}} wb_{name};", self.header)
            assert m
            self.assertEqual([w.strip().lower() for w in m[1].split(",")], [f"wb_{w}" for w in words])


class Compiling(unittest.TestCase):
    def test_facts(self) -> None:
        k = warpburg.compile(SCALE, target="sm_80")
        self.assertEqual(repr(k), "<warpburg.Kernel scale for sm_80: (f32[4,8], f32[8]) -> (f32[4,8]), 1 launch>")
        self.assertIn(".target sm_80", k.ptx)
        self.assertIn("accesses of a thread", k.explain())
        self.assertIn('"launches"', k.json)
        self.assertEqual([b.role for b in k.buffers], ["operand", "operand", "output"])
        self.assertEqual((k.buffers[1].type, k.buffers[1].shape, k.buffers[1].bytes, k.buffers[1].input), ("f32", (8,), 32, 1))
        self.assertEqual((k.launches[0].entry, k.launches[0].arguments), ("scale", (0, 1, 2)))
        self.assertEqual(k.outputs[0].dtype, numpy.float32)
        self.assertIn("<table>", k._repr_html_())
        self.assertEqual(k.statistics()["status"], "ok")
        self.assertIn("sm_90", warpburg.targets())
        self.assertRegex(warpburg.__version__, r"^\d+\.\d+\.\d+$")

    def test_stages(self) -> None:
        k = warpburg.compile(SCALE)
        self.assertEqual((k.plan, k.ir, k.trace), tuple(map(k.emit, ("plan", "ir", "trace"))))
        for stage, has in (("plan", "layout elements"), ("ir", "kernel"), ("llvm", "define"), ("ptx", ".entry"), ("hlo", "multiply"), ("trace", ".py:")):
            self.assertIn(has, k.emit(stage), stage)
        with self.assertRaisesRegex(ValueError, "stage='sass': one of hlo, maps"):
            k.emit("sass")

    def test_tuned(self) -> None:
        """The kernel that `tuned` gives is that of the listed layouts whose profile is the shortest, and is right."""
        k = warpburg.compile(ROWS)
        self.assertGreater(len(k.layouts), 2)
        self.assertIn("  layout " + k.layouts[0] + "\n", k.emit("plan"))
        t = k.tuned(blocks=4)
        self.assertEqual(sorted(t.tried), sorted(k.layouts))
        self.assertEqual(t.profile(blocks=4).seconds, min(t.tried.values()))
        self.assertTrue(t.check(blocks=4))
        total = warpburg.compile(SUM)  # its blocks share tickets: all of them are profiled
        self.assertEqual(sorted(total.tuned().tried), sorted(total.layouts))
        self.assertEqual(total.profile(blocks=2).seconds, total.profile().seconds)
        self.assertEqual(warpburg.compile(ROWS, tune="profile").ptx, k.tuned().ptx)
        self.assertEqual(warpburg.compile(ROWS, tune="profile", layout=k.layouts[1]).tried, {})
        with self.assertRaisesRegex(ValueError, "tune='gpu'"):
            warpburg.compile(ROWS, tune="gpu")

    def test_files_and_options(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "f.hlo").write_text(SCALE)
            self.assertIn("multiply", warpburg.compile(Path(folder) / "f.hlo").hlo)
        self.assertIn(".loc", warpburg.compile(SCALE, lines=True).ptx)
        self.assertEqual([True, False], ["atom" in warpburg.compile(SCATTER, deterministic=d).ptx for d in (False, True)])
        self.assertIn("div.full", warpburg.compile(SCALE.replace("multiply", "divide"), accuracy="xla").ptx)
        self.assertNotIn("div.full", warpburg.compile(SCALE.replace("multiply", "divide")).ptx)
        with self.assertRaisesRegex(ValueError, "accuracy='best'"):
            warpburg.compile(SCALE, accuracy="best")
        summed = SCALE.replace("ROOT y = f32[4,8] multiply(x, r)", "m = f32[4,8] multiply(x, r)\n  ROOT y = f32[4,8] add(m, x)")
        k = warpburg.compile(summed, assume="contract,nsz")
        self.assertIn("fma.rn", k.ptx)
        self.assertNotIn("fma.rn", warpburg.compile(summed).ptx)
        self.assertIn('"assume": "contract,nsz"', k.json)
        self.assertEqual(pickle.loads(pickle.dumps(k)).ptx, k.ptx)
        with self.assertRaisesRegex(ValueError, "assume='fast': some of contract, nnan and nsz"):
            warpburg.compile(SCALE, assume="fast")

    def test_machine_code(self) -> None:
        k = warpburg.compile(SCALE)
        if os.environ.get("WARPBURG_PTXAS") or shutil.which("ptxas") or os.path.exists("/usr/local/cuda/bin/ptxas"):
            self.assertEqual(k.cubin[:4], b"\177ELF")
        else:
            with self.assertRaisesRegex(warpburg.Error, "ptxas"):
                _ = k.cubin

    def test_errors(self) -> None:
        with self.assertRaises(warpburg.HloError) as e:
            warpburg.compile(SCALE.replace("multiply", "frobnicate"), file="a b.hlo")
        self.assertEqual((e.exception.file, e.exception.line, e.exception.column), ("a b.hlo", 6, 21))
        self.assertEqual(e.exception.message, "unknown operation 'frobnicate'")
        with self.assertRaises(warpburg.Declined) as d:
            warpburg.compile("HloModule f\nENTRY e {\n  z = f32[] constant(0)\n  ROOT r = f32[8] rng(z, z), distribution=rng_uniform\n}\n")
        self.assertEqual((d.exception.reason, d.exception.line), ("random", 4))
        self.assertIn("random numbers", d.exception.explanation)
        with self.assertRaisesRegex(FileNotFoundError, "'gelu.hlo': HLO text expected, and there is no such file"):
            warpburg.compile("gelu.hlo")
        with self.assertRaisesRegex(ValueError, "target='sm_1': one of sm_75, .*sm_120 expected"):
            warpburg.compile(SCALE, target="sm_1")
        for name, value in (("target", 90), ("layout", 5), ("assume", 1), ("file", 5), ("align", 1.5), ("align", "16")):
            with self.assertRaisesRegex(TypeError, f"^{name}={value!r}: a (name|string|whole number) expected"):
                warpburg.compile(SCALE, **{name: value})
        with self.assertRaisesRegex(TypeError, "^seed='1': a whole number expected"):
            warpburg.compile(SCALE).check(seed="1")

    def test_threads(self) -> None:
        """8 threads compile at once, and free kernels that others have made."""
        alone, got = warpburg.compile(SUM).ptx, []
        threads = [threading.Thread(target=lambda: got.extend(warpburg.compile(SUM).ptx for _ in range(4))) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(got, [alone] * 32)


class Running(unittest.TestCase):
    def test_numpy(self) -> None:
        k = warpburg.compile(SCALE)
        x, row = numpy.arange(32, dtype=numpy.float32).reshape(4, 8), numpy.arange(8, dtype=numpy.float32)
        numpy.testing.assert_array_equal(k.run(x, row), x * row)
        numpy.testing.assert_array_equal(k(x[::-1], row, threads=2), x[::-1] * row)  # is copied
        numpy.testing.assert_array_equal(k.run(x, list(map(float, row))), x * row)

    def test_types(self) -> None:
        """Every type that arrays have comes back bit by bit."""
        random = numpy.random.default_rng(1)
        for kind in ["pred", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64", "c64", "c128", "s4", "u4", "f8e5m2", "f8e4m3fn",
                     "f8e4m3b11fnuz", "f8e5m2fnuz", "f8e4m3fnuz", "f8e4m3", "f8e3m4"]:
            k = warpburg.compile(unary(kind))
            dtype = k.inputs[0].dtype
            x = random.integers(0, 2 if kind == "pred" else 7 if kind[1:] == "4" else 100, 16).astype(dtype)
            y = k.run(x)
            self.assertEqual((y.dtype, y.tobytes()), (dtype, x.tobytes()), kind)

    def test_wrong_arrays(self) -> None:
        k = warpburg.compile(SCALE)
        x, row = numpy.zeros((4, 8), numpy.float32), numpy.zeros(8, numpy.float32)
        for arrays, said in (((x,), "takes 2 arrays, 1 given"), ((x, x), r"input 1 is float32\[4,8\]; f32\[8\] expected"),
                             ((x.astype(numpy.float64), row), r"input 0 is float64\[4,8\]; f32\[4,8\] expected")):
            with self.assertRaisesRegex(TypeError, said):
                k.run(*arrays)
        with self.assertRaisesRegex(ValueError, "on='tpu'"):
            k.run(x, row, on="tpu")

    def test_dlpack(self) -> None:
        class Foreign:
            """An array of a library that numpy does not know."""

            def __init__(self, x: Any) -> None:
                self.x = x

            def __dlpack__(self, **more: Any) -> Any:
                return self.x.__dlpack__(**more)

            def __dlpack_device__(self) -> Tuple[int, int]:
                return (1, 0)

        k = warpburg.compile(SCALE)
        x, row = numpy.arange(32, dtype=numpy.float32).reshape(4, 8), numpy.ones(8, numpy.float32)
        numpy.testing.assert_array_equal(k.run(Foreign(x), Foreign(row)), x)
        with self.assertRaisesRegex(TypeError, r"DLPack array of shape \(8, 4\)"):
            k.run(Foreign(x.reshape(8, 4)), row)
        with self.assertRaisesRegex(ValueError, "row-major"):
            k.run(Foreign(numpy.arange(32, dtype=numpy.float32).reshape(8, 4).T), row)
        with self.assertRaisesRegex(TypeError, "type code 0, 32 bits"):
            k.run(Foreign(x.astype(numpy.int32)), row)

    def test_arrays_of_any_kind(self) -> None:
        """What an array is in memory does not matter; what it means does."""
        k = warpburg.compile(unary("f32", 16, "negate").replace("[16]", "[4,4]"))
        x = numpy.arange(16, dtype=numpy.float32).reshape(4, 4)
        fixed = x.copy()
        fixed.setflags(write=False)
        unaligned = numpy.frombuffer(b"\0" + x.tobytes(), numpy.uint8)[1:].view(numpy.float32).reshape(4, 4)
        for given in (x, x.T.copy().T, x.astype(">f4"), numpy.asfortranarray(x), fixed, unaligned, memoryview(x), numpy.matrix(x), x.tolist(),
                      tuple(map(tuple, x.tolist()))):
            numpy.testing.assert_array_equal(k.run(given), -x)
        numpy.testing.assert_array_equal(k.run(numpy.broadcast_to(numpy.float32(3), (4, 4))), numpy.full((4, 4), -3))
        for wrong in (numpy.ma.array(x, mask=x > 3), x.view("V4"), x.astype(object), None, "abc", 1.0, x.astype(complex)):
            with self.assertRaises(TypeError):
                k.run(wrong)
        none = warpburg.compile(unary("f32", 0, "negate"))
        self.assertEqual((none.run(numpy.zeros(0, numpy.float32)).shape, bool(none.check())), ((0,), True))
        one = warpburg.compile(unary("f32", 1, "negate").replace("[1]", "[]"))
        self.assertEqual([one.run(v).shape for v in (3.0, numpy.float32(3), numpy.array(3, numpy.float32))], [()] * 3)

    def test_wrong_words(self) -> None:
        k, x = warpburg.compile(unary("f32", 4)), numpy.zeros(4, numpy.float32)
        for wrong, call in ((ValueError, lambda: k.run(x, threads=-1)), (TypeError, lambda: k.run(x, threads="2")), (ValueError, lambda: k.check(case="")),
                            (ValueError, lambda: k.check(case="nn")), (ValueError, lambda: k.check(blocks=-1)),
                            (TypeError, lambda: k.check(seed="1")), (TypeError, lambda: warpburg.compile(None)),
                            (TypeError, lambda: warpburg.compile(SCALE, target=None)), (ValueError, lambda: warpburg.compile(SCALE, align=1 << 40)),
                            (ValueError, lambda: warpburg.compile(str(ROOT / "shaderdb/corpus/gelu.hlo"))), (warpburg.HloError, lambda: warpburg.compile("")),
                            (warpburg.HloError, lambda: warpburg.compile(Path(sys.executable)))):
            with self.assertRaises(wrong):
                call()

    def test_copies(self) -> None:
        """Copies, by pickle as well, are compiled anew; a kernel runs in a forked process."""
        k, x = warpburg.compile(SCALE, target="sm_80", file="s.hlo"), numpy.ones((4, 8), numpy.float32)
        for other in (copy.copy(k), copy.deepcopy(k), pickle.loads(pickle.dumps(k))):
            self.assertEqual((other.ptx, other.target), (k.ptx, "sm_80"))
            numpy.testing.assert_array_equal(other.run(x, x[0]), x)
        pid = os.fork()
        if pid == 0:
            os._exit(0 if (k.run(x, x[0]) == x).all() else 1)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)

    def test_check_and_profile(self) -> None:
        k = warpburg.compile(SUM)
        for case in "nes":
            v = k.check(case=case, seed=3)
            self.assertTrue(v)
            self.assertEqual((v.compared, v.outside, v.faults), (1, 0, ()))
        x = numpy.ones(262144, numpy.float32)
        self.assertIn("1 elements inside the bounds", str(k.check(x)))
        with self.assertRaisesRegex(ValueError, "case='q': one of w, n, e, p, d, t, u, s, c expected"):
            k.check(case="q")
        p = k.profile(x)
        self.assertTrue(1e-7 < p.seconds < 1e-3 and p.binds, repr(p))
        self.assertEqual(p.data["kernels"][0]["target"], "sm_90")
        self.assertIn(p.binds, str(p))
        self.assertIn("srcdoc", p._repr_html_())


def main() -> int:
    global BUILD, numpy, warpburg
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path)
    parser.add_argument("--wheel", action="store_true")
    args = parser.parse_args()
    BUILD = args.build.resolve()
    os.environ.update(PYTHONPATH=str(ROOT / "python"), WARPBURG_LIBRARY=str(BUILD / "libwarpburg.so"))
    if os.environ.get("WARPBURG_TEST_GPU") != "real":
        os.environ["WARPBURG_LIBCUDA"] = str(BUILD / "tests" / "libfake_cuda_driver.so")
    sys.path.insert(0, str(ROOT / "python"))
    try:
        import ml_dtypes as _  # noqa: F401
        import numpy
    except ImportError as e:
        print(f"skipped: {e}")
        return 0
    import warpburg
    import python_elements
    import python_inputs
    import python_on_gpu
    import python_programs
    import python_saved
    import python_torch
    import python_watched
    import python_wheel
    modules = (sys.modules[__name__], python_elements, python_on_gpu, python_programs, python_inputs, python_saved, python_torch, python_watched)
    tests = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromModule(m) for m in modules)
    result = unittest.TextTestRunner(verbosity=1).run(tests)
    bad = len(result.failures) + len(result.errors)
    good = result.testsRun - bad
    if args.wheel:
        built = python_wheel.installs()
        good, bad = good + built, bad + (not built)
    print(f"{good} passed, {bad} failed")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
