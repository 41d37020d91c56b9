"""Functions of elements and reductions of the Python package, a part of python_package.py: what they compute, against numpy."""
from __future__ import annotations

import math
import threading
import unittest
import unittest.mock
from typing import Any, Callable, List, Tuple

import ml_dtypes
import numpy
import warpburg

EDGES = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.5, -2.5, 3.0, -7.25, 20.0, 1e-3, math.inf, -math.inf, math.nan, 1e30]
ZERO = 1e-9  # exact, but for the sign of a zero
ONE: List[Tuple[Callable[..., Any], float]] = [  # functions of one float, and how many units in the last place they may be off
    (lambda x: -x, 0), (abs, 0), (numpy.ceil, 0), (numpy.floor, 0), (numpy.rint, 0), (numpy.trunc, 0), (numpy.sign, 0), (numpy.square, 0),
    (numpy.isnan, 0), (numpy.isinf, 0), (numpy.isfinite, 0), (numpy.signbit, 0), (numpy.positive, 0), (numpy.logical_not, 0), (numpy.fabs, 0),
    (lambda x: numpy.where(x > 1, x, 2), 0), (lambda x: numpy.clip(x, -1, 2), 0), (lambda x: x.astype(numpy.float64) + 1, 0), (lambda x: x * 2 - 1, 0),
    (numpy.sqrt, 1), (numpy.reciprocal, 1), (numpy.cbrt, 3), (numpy.exp, 3), (numpy.expm1, 3), (numpy.log, 4), (numpy.log1p, 3), (numpy.sin, 3),
    (numpy.cos, 3), (numpy.tan, 4), (numpy.tanh, 4), (numpy.sinh, 4), (numpy.cosh, 4), (numpy.arcsin, 4), (numpy.arccos, 4), (numpy.arctan, 4),
    (numpy.arcsinh, 4), (numpy.arccosh, 6), (numpy.arctanh, 4), (numpy.exp2, 4), (numpy.log2, 8), (numpy.log10, 8), (lambda x: x**3, 3),
    (numpy.deg2rad, 1)]
TWO: List[Tuple[Callable[..., Any], float]] = [
    (lambda x, y: x + y, 0), (lambda x, y: x - y, 0), (lambda x, y: x * y, 0), (lambda x, y: x / y, 1), (numpy.maximum, ZERO), (numpy.minimum, ZERO),
    (numpy.fmax, ZERO), (numpy.fmin, ZERO), (lambda x, y: x < y, 0), (lambda x, y: x == y, 0), (lambda x, y: x != y, 0), (lambda x, y: (x > y) & (y > 0), 0),
    (numpy.copysign, 0), (numpy.fmod, 0), (numpy.remainder, 1), (lambda x, y: x // y, 0), (numpy.hypot, 4), (numpy.arctan2, 5), (numpy.logaddexp, 8)]
WHOLE: List[Callable[..., Any]] = [
    lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: x // y, lambda x, y: x % y, lambda x, y: x & y, lambda x, y: x | y,
    lambda x, y: x ^ y, lambda x, y: ~x, lambda x, y: x << (y & 7), lambda x, y: x >> (y & 7), lambda x, y: x >= y, numpy.maximum, numpy.minimum,
    lambda x, y: abs(x), lambda x, y: numpy.sign(x), lambda x, y: x + 1, lambda x, y: x * 2.5, lambda x, y: x / y]


class Elements(unittest.TestCase):
    def same(self, f: Callable[..., Any], ulp: float, *arrays: Any) -> None:
        with numpy.errstate(all="ignore"):
            want = f(*arrays)
        got = warpburg.elementwise(f)(*arrays)
        what = f"{getattr(f, '__name__', f)} {[str(a.dtype) for a in arrays]}, line {getattr(getattr(f, '__code__', None), 'co_firstlineno', '-')}"
        self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape), what)
        if ulp == 0 or want.dtype.kind in "biu":
            same = (got == want) | ((got != got) & (want != want))
            if want.dtype.kind == "f":
                same &= (numpy.signbit(got) == numpy.signbit(want)) | (want != want)
        else:
            with numpy.errstate(all="ignore"):
                apart, next_one = (abs(a.astype("f8") - want.astype("f8")) for a in (got, numpy.nextafter(want, numpy.array(math.inf, want.dtype))))
                same = (got == want) | ((got != got) & (want != want)) | (apart <= ulp * next_one)
        self.assertTrue(same.all(), f"{what}: {[(*(a[~same][:3] for a in arrays), got[~same][:3], want[~same][:3])]}")

    def test_floats(self) -> None:
        for kind in (numpy.float32, numpy.float64):
            x = numpy.array(EDGES, kind)
            for f, ulp in ONE:
                self.same(f, ulp, x)
            a, b = numpy.repeat(x, len(x)), numpy.tile(x, len(x))
            for f, ulp in TWO:
                self.same(f, ulp, a, b)

    def test_functions_of_arrays(self) -> None:
        """Functions of numpy that are no ufuncs; statements that give a name another value; numbers that a type does not have."""
        def steps(x: Any) -> Any:
            y = x * 2
            y += 1
            z = y + 0
            y **= 2
            return y - z

        for kind in ("f4", "f8"):
            x = numpy.array([-3.75, -0.5, -0.0, 0.0, 0.125, 1.5, 2.5, 3.149, 1e4, numpy.inf, -numpy.inf, numpy.nan], kind)
            for f in (numpy.round, lambda v: numpy.round(v, 1), lambda v: numpy.around(v, -1), numpy.fix, numpy.nan_to_num,
                      lambda v: numpy.nan_to_num(v, nan=7, posinf=1), lambda v: numpy.select([v < -1, v < 1], [v * 0, v], v * 2),
                      lambda v: numpy.isclose(v, 2.5, atol=0.7), lambda v: numpy.heaviside(v, 0.5),
                      lambda v: numpy.isclose(v, v, equal_nan=True), lambda v: v * 1e300, steps):
                self.same(f, 0, x)
            for f, ulp in ((numpy.degrees, 1), (numpy.radians, 1), (lambda v: numpy.logaddexp2(v, 1), 8),
                           (lambda v: numpy.polyval([1.0, 2.0, 3.0], v).astype(v.dtype), 8)):
                self.same(f, ulp, x)
            self.same(numpy.sinc, 8, x[2:6])
            for got, want in zip(warpburg.elementwise(numpy.modf)(x), numpy.modf(x)):
                numpy.testing.assert_array_equal(got, want)
        for kind in ("u1", "i2"):
            x = numpy.array([0, 1, 3, 200], kind)
            for f in (lambda v: v > -9, lambda v: -9 < v, lambda v: v == 10**6, lambda v: v != -70000, lambda v: v <= 10**6, lambda v: 10**6 <= v,
                      lambda v: numpy.clip(v, -70000, 3), lambda v: numpy.clip(v, 1, 10**6), numpy.bitwise_count, numpy.round):
                self.same(f, 0, x)

    def test_small_floats(self) -> None:
        """What is made of several operations is made in f32, and rounded once: within one unit of what ml_dtypes has."""
        for kind in (numpy.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2):
            x = numpy.array(EDGES, kind)
            a, b = numpy.repeat(x, len(x)), numpy.tile(x, len(x))
            for f, arrays in [*((f, [x]) for f, _ in ONE), *((f, [a, b]) for f, _ in TWO)]:
                with numpy.errstate(all="ignore"):
                    if f(*arrays).dtype in (x.dtype, bool):  # numpy's where has f32 of bf16 and 2
                        self.same(f, 1, *arrays)
        self.same(lambda x, y: x * y, 0, numpy.ones(4, "f2"), numpy.ones(4, ml_dtypes.bfloat16))
        self.assertEqual(warpburg.elementwise(lambda x, y, z: x * y * z)(numpy.ones(4, "f2"), numpy.ones(4, ml_dtypes.bfloat16), 2.5).dtype, numpy.float32)

    def test_integers(self) -> None:
        for kind in ("int8", "uint8", "int32", "uint32", "int64"):
            x = numpy.array([0, 1, 2, 3, 7, 100, 127, -1 if kind[0] == "i" else 255, -100 if kind[0] == "i" else 200, numpy.iinfo(kind).max], kind)
            a, b = numpy.repeat(x, len(x)), numpy.tile(x, len(x))
            for f in WHOLE:
                self.same(f, 0, a, b)

    def test_types(self) -> None:
        """Of two types numpy's; a number of Python takes the type of the other operand, of small floats too."""
        half, small = numpy.ones(4, ml_dtypes.bfloat16), numpy.ones(4, ml_dtypes.float8_e4m3fn)
        for f, arrays, kind in ((lambda x: x * 1.5, [half], "bfloat16"), (lambda x, y: x + y, [half, numpy.ones(4, "f4")], "float32"),
                                (lambda x: x + 1, [small], "float8_e4m3fn"), (lambda x: x + numpy.float64(1), [numpy.ones(4, "f4")], "float64"),
                                (lambda x: x + 1.5, [numpy.ones(4, "i4")], "float64"), (lambda x: x * 1j, [numpy.ones(4, "f4")], "complex64"),
                                (lambda x: (x * 1j).real, [numpy.ones(4, "c16")], "float64"), (numpy.exp, [numpy.ones(4, "i1")], "float16"),
                                (lambda x: abs(x), [numpy.ones(4, "c8")], "float32"), (lambda x: x + True, [numpy.ones(4, "?")], "bool"),
                                (lambda x, y: x + y, [numpy.ones(4, "f2"), 2], "float16"), (lambda x, y: x * y, [numpy.ones(4, "i4"), 2.5], "float64")):
            self.assertEqual(warpburg.elementwise(f)(*arrays).dtype.name, kind)
        numpy.testing.assert_array_equal(warpburg.elementwise(lambda x, y: x * y)(numpy.ones(4, "i4"), 2.5), numpy.full(4, 2.5))

    def test_shapes(self) -> None:
        x, y = numpy.arange(8, dtype="f4").reshape(8, 1), numpy.arange(16, dtype="f4")
        f = warpburg.elementwise(lambda x, y: (x * y, x))
        product, first = f(x, y)
        numpy.testing.assert_array_equal(product, x * y)
        numpy.testing.assert_array_equal(first, numpy.broadcast_to(x, (8, 16)))
        numpy.testing.assert_array_equal(f(x[0], 3)[0], x[0] * 3)
        self.assertEqual(f(x[:0], y)[0].shape, (0, 16))
        self.assertEqual(len(f._kernels), 3)
        with self.assertRaises(ValueError):
            f(x, y[:3, None, None] * numpy.ones((3, 2, 5), "f4"))

    def test_one_kernel_for_each_type(self) -> None:
        @warpburg.elementwise(target="sm_80", accuracy="xla")
        def silu(x: Any) -> Any:
            """x times its logistic function"""
            return x / (1 + numpy.exp(-x))
        x = numpy.linspace(-4, 4, 1000, dtype="f4")
        self.assertIs(silu.kernel(x), silu.kernel(x + 1))
        self.assertIsNot(silu.kernel(x), silu.kernel(x.astype("f8")))
        self.assertEqual((silu.kernel(x).target, silu.kernel(x).name, silu.__doc__), ("sm_80", "silu", "x times its logistic function"))
        self.assertTrue(silu.kernel(x).check())
        self.assertIn(f'source_file="{__file__}"', silu.hlo(x))
        with unittest.mock.patch("warpburg._elementwise.LIMIT", 2):
            for n in range(4):
                silu(x[:n + 1])
            self.assertEqual(len(silu._kernels), 2)
        right = lambda y: numpy.testing.assert_allclose(silu(y), y / (1 + numpy.exp(-y)), rtol=1e-5)
        threads = [threading.Thread(target=right, args=(x[n:],)) for n in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()

    def test_reductions(self) -> None:
        x = numpy.random.default_rng(1).standard_normal((3, 40, 5)).astype("f4")
        for axis in (None, 0, -1, (0, 2), (1,)):
            for keep in (False, True):
                total = warpburg.reduce(lambda x: x * x, axis=axis, keepdims=keep)(x)
                numpy.testing.assert_allclose(total, (x * x).sum(axis, keepdims=keep), rtol=1e-5)
        for op, name in (("maximum", "max"), ("minimum", "min"), ("add", "sum"), ("multiply", "prod")):
            for kind in ("f8", "i1", "u1", "i4", "?"):
                y = (x * 3).astype(kind)
                got, want = warpburg.reduce(lambda x: x, op, axis=1)(y), getattr(y, name)(axis=1)
                self.assertEqual(got.dtype, want.dtype, (op, kind))
                numpy.testing.assert_allclose(got, want, rtol=1e-12)
        for op, f in (("logical_and", numpy.all), ("logical_or", numpy.any)):
            numpy.testing.assert_array_equal(warpburg.reduce(lambda x: x > 2, op, axis=(0, 1))(x), f(x > 2, axis=(0, 1)))
        for kind in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, numpy.float16):
            y = x.astype(kind)
            self.assertEqual(warpburg.reduce(lambda x: x, "maximum", axis=1)(y).tobytes(), y.max(axis=1).tobytes())
        total = warpburg.reduce(lambda x: x, axis=0)(numpy.ones(3000, ml_dtypes.bfloat16))
        self.assertEqual((float(total), total.dtype.name), (3008.0, "bfloat16"))  # 3000 in f32, rounded once
        with self.assertRaisesRegex(ValueError, "axis="):
            warpburg.reduce(lambda x: x, axis=3)(x)
        with self.assertRaisesRegex(ValueError, "op='sum'"):
            warpburg.reduce(lambda x: x, "sum")

    def test_assume(self) -> None:
        x, y = numpy.arange(1, 9, dtype="f4") / 3, numpy.arange(1, 9, dtype="f4") / 7
        fused, apart = (warpburg.elementwise(lambda x, y: x * y + 0.1, assume=flags) for flags in ("contract", ""))
        exact = (x.astype("f8") * y + numpy.float32(0.1)).astype("f4")
        self.assertTrue((fused(x, y) == exact).all())
        self.assertTrue((apart(x, y) == x * y + numpy.float32(0.1)).all())
        self.assertTrue((x * y + numpy.float32(0.1) != exact).any())

    def test_what_is_refused(self) -> None:
        x = numpy.ones(4, "f4")
        for f, says in ((lambda x: x if x > 0 else -x, "numpy.where"), (lambda x: x + numpy.ones(4), "only its arguments"),
                        (lambda x: numpy.add.reduce(x), "no operation on elements"), (lambda x: numpy.sort(x), "no operation on elements"),
                        (lambda x: numpy.gcd(x.astype("i4"), 3), "no operation on elements that warpburg knows"), (math.exp, "before it has values"),
                        (lambda x: (x * 1j).astype("f4"), "complex"), (lambda x: "text", "returns str: an element expected"),
                        (lambda x: {"a": x}, "returns dict"), (lambda x: ((x, x), x), "returns tuple"), (lambda x: None, "returns NoneType"),
                        (lambda x: math.sqrt(x), "numpy has the functions of math"), (lambda x: x[0], "sees one of them"), (len, "sees one of them"),
                        (lambda x: numpy.mean(x), "warpburg.reduce combines them"), (lambda x: numpy.add(x, 1, out=x), "with out")):
            with self.assertRaisesRegex(TypeError, says):
                warpburg.elementwise(f)(x)
        with self.assertRaisesRegex(TypeError, "datetime"):
            warpburg.elementwise(lambda x: x)(numpy.zeros(2, "datetime64[s]"))
        with self.assertRaisesRegex(ValueError, "negative integer powers"):
            warpburg.elementwise(lambda x: x**-1)(numpy.ones(4, "i4"))
        with self.assertRaises(OverflowError):
            warpburg.elementwise(lambda x: x + 300)(numpy.ones(4, "u1"))

    def test_gpu(self) -> None:
        """Arrays of a GPU stay there; those of the host go there if the call says so."""
        f = warpburg.elementwise(lambda x, y: x * y + 1)
        x = numpy.arange(32, dtype="f4")
        numpy.testing.assert_array_equal(f(x, x, on="gpu"), x * x + 1)
        loaded = warpburg._arrays.Loaded(f.kernel(x, x)._pointer)
        there = warpburg.DeviceArray(loaded, f.kernel(x, x).inputs[0], 0)
        warpburg._library.called(warpburg._library.lib.wb_gpu_write, loaded._pointer, there.address, x.ctypes.data, x.nbytes)
        out = f(there, there)
        self.assertIsInstance(out, warpburg.DeviceArray)
        numpy.testing.assert_array_equal(numpy.asarray(out), x * x + 1)
