"""PyTorch's functions, types and tensors in the Python package, a part of python_package.py: against PyTorch where it is installed, else by the values and
types that it has (of 2.15), through stand-ins for how it asks for them."""
from __future__ import annotations

import itertools
import types
import unittest
from typing import Any, Callable, Dict, List, Tuple

import ml_dtypes
import numpy
import warpburg
from warpburg._torch import joined, operand_type

try:
    import torch
except ImportError:
    torch = None

VALUES: List[Tuple[str, Dict[str, Any], float, float]] = [  # function, options, argument, value
    ("silu", {}, 1, 0.7310585786), ("silu", {"inplace": False}, -1, -0.2689414214), ("gelu", {}, 1, 0.8413447461),
    ("gelu", {"approximate": "tanh"}, 1, 0.8411919906),
    ("mish", {}, 1, 0.8650983883), ("softplus", {}, 1, 1.3132616875), ("softplus", {"beta": 2}, 1, 1.0634640055), ("softplus", {}, 90, 90),
    ("elu", {"alpha": 2.0}, -1, -1.2642411177), ("celu", {"alpha": 2.0}, -1, -0.7869386806), ("selu", {}, -1, -1.1113307378), ("selu", {}, 2, 2.1014019707),
    ("hardswish", {}, 1, 0.6666666667), ("hardsigmoid", {}, -1, 0.3333333333), ("hardtanh", {"min_val": -2, "max_val": 2}, 5, 2), ("relu6", {}, 9, 6),
    ("leaky_relu", {"negative_slope": 0.1}, -2, -0.2), ("logsigmoid", {}, 0, -0.6931471806), ("log_sigmoid", {}, -100, -100), ("softsign", {}, 3, 0.75),
    ("tanhshrink", {}, 1, 0.2384058440), ("softshrink", {}, -2, -1.5), ("hardshrink", {}, 0.25, 0), ("threshold", {"threshold": 1, "value": -7}, 0.5, -7),
    ("relu", {}, -3, 0), ("frac", {}, -2.75, -0.75), ("logit", {}, 0.75, 1.0986122887), ("clamp_min", {"min": 2}, 1, 2), ("sigmoid", {}, 0, 0.5),
    ("clamp", {"max": 2}, 3, 2)]
F32, BF16, F16, F64, S64, S32, U8, BOOL, C64 = map(numpy.dtype, ("f4", ml_dtypes.bfloat16, "f2", "f8", "i8", "i4", "u1", "?", "c8"))
TYPES: List[Tuple[Tuple[Any, ...], Any]] = [  # arrays (their dimensions behind the types) and numbers, and what torch has of them
    ((S64, 1, F32, 1), F32), ((S64, 1, BF16, 1), BF16), ((BF16, 1, F32, 0), BF16), ((BF16, 0, F32, 1), F32), ((S32, 1, F64, 0), F64), ((BF16, 1, F16, 1), F32),
    ((BF16, 1, 2.5), BF16), ((S32, 1, 2.5), F32), ((S32, 0, 2), S32), ((BOOL, 1, 2), S64), ((U8, 1, S64, 0), U8), ((F64, 1, 1j), numpy.dtype("c16")),
    ((F32, 1, C64, 0), C64), ((BOOL, 1, BOOL, 0), BOOL), ((U8, 1, numpy.dtype("i1"), 1), numpy.dtype("i2")), ((S64, 0, F16, 0), F16), ((F64, 0, F32, 0), F64)]


def given(row: Tuple[Any, ...]) -> List[Any]:
    out = []
    for n, x in enumerate(row):
        if isinstance(x, numpy.dtype):
            out.append(types.SimpleNamespace(dtype=x, shape=(4,) * row[n + 1]))
        elif not (n and isinstance(row[n - 1], numpy.dtype)):
            out.append(x)
    return out


def applied(name: str, options: Dict[str, Any]) -> Callable[[Any], Any]:
    """The function as torch calls it for an argument that is none of its tensors."""
    return lambda x: type(x).__torch_function__(types.SimpleNamespace(__name__=name), (), (x,), options)


class Torch(unittest.TestCase):
    def test_values(self) -> None:
        for name, options, x, value in VALUES:
            for kind, near in (("f4", 2e-6), ("f2", 5e-4), (ml_dtypes.bfloat16, 4e-3)):  # half a unit of each type, as torch has it
                got = warpburg.elementwise(applied(name, options))(numpy.full(3, x, kind))
                self.assertEqual(got.dtype, kind)
                self.assertTrue(numpy.all(abs(got.astype("f8") - value) <= near * abs(value) + 1e-7), (name, options, x, got, value))

    def test_types(self) -> None:
        for row, kind in TYPES:
            self.assertEqual(joined(given(row), "float32"), kind, row)
        for ufunc, kinds, default, kind in ((numpy.exp, (S64, 1), "float32", F32), (numpy.divide, (S32, 1, S32, 1), "float32", F32),
                                            (numpy.exp, (U8, 1), "float64", F64), (numpy.add, (S32, 1, S32, 1), "float32", S32)):
            self.assertEqual(operand_type(ufunc, given(kinds), default), kind)

    def test_stand_ins(self) -> None:
        """Methods; types as methods; what changes in place, and what is on another device, is refused."""
        x = numpy.linspace(-4, 4, 64, dtype="f4")
        f = warpburg.elementwise(lambda x: applied("sigmoid", {})(x) + x.relu().clamp(max=2))
        numpy.testing.assert_allclose(f(x), 1 / (1 + numpy.exp(-x)) + numpy.clip(x, 0, 2), rtol=1e-6)
        for name, kind in (("half", "float16"), ("bfloat16", "bfloat16"), ("double", "float64"), ("int", "int32"), ("long", "int64"), ("bool", "bool")):
            got = warpburg.elementwise(lambda x: getattr(x, name)())(x)
            self.assertEqual(got.dtype.name, kind)
            numpy.testing.assert_array_equal(got, x.astype(got.dtype))
        small = numpy.linspace(-4, 4, 64).astype(ml_dtypes.float8_e4m3fn)
        numpy.testing.assert_array_equal(warpburg.elementwise(lambda x: (x.float() * 3).to(numpy.float16))(small), (small.astype("f4") * 3).astype("f2"))
        for f, says in ((lambda x: x.silu(inplace=True), "in place"), (lambda x: x.to("cuda"), "a type of elements expected"),
                        (lambda x: x.elu(slope=2), "slope"), (applied("linear", {}), "linear is no operation on elements")):
            with self.assertRaisesRegex(TypeError, says):
                warpburg.elementwise(f)(x)

    @unittest.skipUnless(torch, "no PyTorch")
    def test_tensors(self) -> None:
        for kind in (torch.float32, torch.bfloat16, torch.float64, torch.float16):
            x, y = torch.linspace(-4, 4, 64).to(kind), torch.arange(64).to(kind)
            out = warpburg.elementwise(lambda x, y: torch.sigmoid(x) * y + x.relu())(x, y)
            self.assertEqual(out.dtype, kind)
            torch.testing.assert_close(out, torch.sigmoid(x) * y + x.relu())
        twice, same = warpburg.elementwise(lambda x: x + x), warpburg.elementwise(lambda x: x)
        for kind in (torch.uint16, torch.uint64, torch.complex64, torch.float8_e5m2, torch.float8_e4m3fn, torch.float8_e4m3fnuz, torch.float8_e8m0fnu):
            x = torch.arange(1, 7, dtype=torch.float32).to(kind).reshape(2, 3)
            self.assertEqual((same(x).dtype, same(x.T).tolist()), (kind, x.T.tolist()))
        x, z = torch.arange(24, dtype=torch.float32).reshape(4, 6), torch.tensor([1 + 2j])
        for view in (x.T, x[::2, 1::2], x[1:], x[:1].expand(4, 6), x[0, 1], x[:0], z.conj(), z.conj().imag):
            for kind in (view.dtype,) if view.is_complex() else (view.dtype, torch.bfloat16):
                self.assertTrue(torch.equal(twice(view.to(kind)), (view + view).to(kind)))
        for kind in (torch.float32, torch.bfloat16):
            leaf = x.to(kind, copy=True).requires_grad_()
            with self.assertRaisesRegex(TypeError, "input 0 requires a gradient.*no_grad"):
                twice(leaf)
            with torch.no_grad():
                self.assertTrue(torch.equal(twice(leaf), leaf + leaf))
        for wrong, says in ((torch.empty(3, device="meta"), "PyTorch's device meta"), (torch.eye(3).to_sparse(), "to_dense")):
            with self.assertRaisesRegex(TypeError, says):
                twice(wrong)
        with self.assertRaisesRegex(TypeError, "no elements in memory"):
            torch.func.vmap(twice)(x)

    @unittest.skipUnless(torch, "no PyTorch")
    def test_against_torch(self) -> None:
        """Every function of VALUES, and types of results of pairs of types, with and without dimensions, are torch's own."""
        x = torch.linspace(-6, 6, 97)
        for name, options, *_ in VALUES:
            of = next((at for at in (torch.nn.functional, torch, torch.Tensor) if hasattr(at, name)), None)
            if of is None:  # log_sigmoid is a name of what it calls
                continue
            for kind in (torch.float32, torch.float16, torch.bfloat16):
                y = (torch.sigmoid(x) if name == "logit" else x).to(kind)
                want = getattr(of, name)(y.float(), **options).to(kind)  # its own tanhshrink of f16 rounds twice
                torch.testing.assert_close(warpburg.elementwise(lambda a: getattr(of, name)(a, **options))(y), want, equal_nan=True)
        kinds = [torch.bool, torch.uint8, torch.int16, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64]
        for f in (lambda a, b: a * b, lambda a, b: a / b, lambda a, b: a // b, torch.atan2, torch.maximum, lambda a, b: torch.where(a == b, a, b),
                  lambda a, b: torch.lerp(a, b, 0.25), lambda a, b: torch.div(a, b, rounding_mode="trunc"), lambda a, b: (a + 1) * (b + 2.5)):
            warm = warpburg.elementwise(f)
            for a, b, (n, m) in itertools.product(kinds, kinds, (((5,), (5,)), ((5,), ()), ((), (5,)))):
                x, y = (torch.arange(1, 6).to(k) if d else torch.tensor(3).to(k) for k, d in ((a, n), (b, m)))
                try:
                    want = f(x, y)
                except (RuntimeError, TypeError):
                    continue
                torch.testing.assert_close(warm(x, y), want, rtol=1e-2, atol=0)
        for kind in (torch.uint8, torch.bool, torch.bfloat16):
            out, want = warpburg.reduce(lambda a: a, "add")(torch.ones(5).to(kind)), torch.ones(5).to(kind).sum()
            self.assertEqual((out.dtype, out.item()), (want.dtype, want.item()))

    @unittest.skipUnless(torch, "no PyTorch")
    def test_compiled(self) -> None:
        """Between two graphs of torch.compile, which traces neither a kernel's run nor a function of elements."""
        x = torch.linspace(-4, 4, 64)
        silu, kernel = warpburg.elementwise(torch.nn.SiLU()), warpburg.compile("HloModule m\nENTRY e { x = f32[64] parameter(0)  ROOT y = f32[64] negate(x) }")
        for f in (lambda a: silu(a) + 1, lambda a: torch.from_numpy(kernel.run(a)) * 2):
            torch.testing.assert_close(torch.compile(f, backend="eager")(x), f(x))
