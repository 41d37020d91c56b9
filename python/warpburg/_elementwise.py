"""Kernels without HLO: functions of elements, and reductions of them, over arrays of numpy, PyTorch, CuPy and others.

    gelu = warpburg.elementwise(lambda x: 0.5 * x * (1 + numpy.tanh(0.79788456 * (x + 0.044715 * x**3))))
    y = gelu(x)                                             # compiled once for each type and shape
    dots = warpburg.reduce(lambda x, y: x * y, axis=-1)     # the sum of products of each row, as one kernel
"""
from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from typing import Any, Callable, Dict, Optional, Sequence, Tuple

import numpy

from . import _program
from ._arrays import Spec, dtype_of, hlo_type, is_torch, like, on_gpu, spec_of, untraced
from ._kernel import one_or_all
from ._torch import joined
from ._trace import Trace, Value, number_type, spelled

LIMIT = 128  # kernels that a function keeps
_WIDER = {"f16": "f32", "bf16": "f32", "pred": "s64"}  # sums and products of these, as numpy and jax.numpy have them
_OPERATIONS = {"add": ("add", 0), "multiply": ("multiply", 1), "maximum": ("maximum", None), "minimum": ("minimum", None),
               "logical_and": ("and", True), "logical_or": ("or", False)}


class Elements:
    """What elementwise and reduce return. Threads may use one at once. A call compiles a kernel where its types and shapes are new."""

    def __init__(self, function: Callable[..., Any], options: Dict[str, Any]) -> None:
        self.function, self.options = function, options
        called = getattr(function, "__name__", type(function).__name__)
        self.__name__ = self.name = "".join(c if c.isalnum() or c == "_" else "_" for c in called).strip("_") or "elements"
        self.__doc__ = function.__doc__
        self._kernels: "OrderedDict[Tuple[Any, ...], Any]" = OrderedDict()
        self._lock = threading.Lock()

    def finish(self, trace: Trace, results: Any, shape: Tuple[int, ...]) -> Sequence[Value]:
        """The results of the module, of what the function returns."""
        out = results if isinstance(results, (tuple, list)) else [results]
        for r in out:
            if not isinstance(r, (Value, bool, int, float, complex, numpy.generic)):
                raise TypeError(f"{self.name} returns {type(r).__name__}: an element expected, or a tuple of some")
        return [trace.broadcast(r if isinstance(r, Value) else trace.constant(r, hlo_type(numpy.asarray(r).dtype)), shape) for r in out]

    def hlo(self, *arrays: Any) -> str:
        """The HLO text for arrays of these types and shapes."""
        return self._text(*self._signature(arrays))

    def kernel(self, *arrays: Any) -> Any:
        """The kernel for arrays of these types and shapes: a Kernel, with its PTX, check and profile; or a Program of several."""
        return self._kernel(*self._signature(arrays))

    def _signature(self, arrays: Sequence[Any]) -> Tuple[Tuple[Spec, ...], str]:
        """Types and shapes; a Python number has the type of the arrays, if that holds numbers of its kind. And Trace's `floats`."""
        if not arrays:
            raise TypeError(f"{self.name} takes an array at least")
        numbers = (bool, int, float, complex)
        plain = lambda a: isinstance(a, numbers) and not isinstance(a, numpy.generic)
        specs = [None if plain(a) else spec_of(f"input {n}", a) for n, a in enumerate(arrays)]
        floats = str(sys.modules["torch"].get_default_dtype()).rpartition(".")[2] if any(map(is_torch, arrays)) else ""
        given = [s for s in specs if s is not None]
        for n, a in enumerate(arrays):
            if specs[n] is None:
                kind = hlo_type(joined([*given, a], floats) if floats else number_type(a, [s.dtype for s in given]))
                specs[n] = Spec(kind, (), dtype_of(kind).itemsize)
        return tuple(s for s in specs if s is not None), floats

    def _text(self, specs: Sequence[Spec], floats: str) -> str:
        shape = numpy.broadcast_shapes(*(s.shape for s in specs))
        return Trace(self.name, floats).run(self.function, specs, lambda trace, results: self.finish(trace, results, shape))

    def _kernel(self, *signature: Any) -> Any:
        with self._lock:
            if signature in self._kernels:
                self._kernels.move_to_end(signature)
                return self._kernels[signature]
        made = _program.compile(self._text(*signature), file=f"<{self.name}>", **self.options)
        with self._lock:
            self._kernels[signature] = made
            while len(self._kernels) > LIMIT:
                self._kernels.popitem(last=False)
        return made

    @untraced
    def __call__(self, *arrays: Any, on: Optional[str] = None, threads: int = 1, stream: Any = None) -> Any:
        """Runs on these arrays. on: "sim" or "gpu" (None: on a GPU if the arrays are there). The result is an array of PyTorch or CuPy
        where an argument is, else of numpy, or a DeviceArray."""
        specs, floats = self._signature(arrays)
        kernel = self._kernel(specs, floats)
        arrays = tuple(numpy.asarray(a, dtype=s.dtype) if isinstance(a, (bool, int, float, complex)) else a for a, s in zip(arrays, specs))
        there = on == "gpu" or (on is None and any(on_gpu(a) for a in arrays))
        options = {"stream": stream} if stream is not None else {}
        out = kernel.run(*arrays, on="gpu" if there else "sim", threads=threads, **options)
        return one_or_all([like(arrays, o) for o in (out if isinstance(out, tuple) else (out,))])
    def __repr__(self) -> str:
        return f"<warpburg.{type(self).__name__.lower()} {self.name}, {len(self._kernels)} compiled>"


class Reduction(Elements):
    """The elements that a function makes, combined along dimensions."""

    def __init__(self, function: Callable[..., Any], op: str, axis: Any, keepdims: bool, options: Dict[str, Any]) -> None:
        super().__init__(function, options)
        if op not in _OPERATIONS:
            raise ValueError(f"op={op!r}: one of {', '.join(_OPERATIONS)} expected")
        self.op, self.axis, self.keepdims = op, axis, keepdims

    def finish(self, trace: Trace, results: Any, shape: Tuple[int, ...]) -> Sequence[Value]:
        axes = range(len(shape)) if self.axis is None else self.axis if isinstance(self.axis, (tuple, list)) else (self.axis,)
        axes = _normal(axes, len(shape))
        return [self.reduced(trace, x, axes) for x in super().finish(trace, results, shape)]

    def reduced(self, trace: Trace, x: Value, axes: Tuple[int, ...]) -> Value:
        op, init = _OPERATIONS[self.op]
        given = x.type
        if op in ("and", "or"):
            x = trace.convert(x, "pred")
        elif op in ("add", "multiply"):
            whole = "s64" if trace.floats or given[0] == "s" else "u64"
            x = trace.convert(x, _WIDER.get(given, whole if given in ("s8", "s16", "s32", "u8", "u16", "u32") else given))
        if op in ("maximum", "minimum"):
            op, init = _extreme(op, x.type)
        one = f"{x.type}[]"
        combiner = f"combine_{op}_{x.type}"
        text = f"{combiner} {{\n  a = {one} parameter(0)\n  b = {one} parameter(1)\n  ROOT r = {one} {op}(a, b)\n}}\n\n"
        if text not in trace.computations:
            trace.computations.append(text)
        left = tuple(n for d, n in enumerate(x.shape) if d not in axes)
        start = trace.line("constant", x.type, (), inside=spelled(init, x.type))
        out = trace.line("reduce", x.type, left, [x, start], more=f"dimensions={{{','.join(map(str, axes))}}}, to_apply={combiner}")
        if given in ("f16", "bf16"):
            out = trace.convert(out, given)
        return trace.line("reshape", out.type, tuple(1 if d in axes else n for d, n in enumerate(x.shape)), [out]) if self.keepdims else out


def _extreme(op: str, kind: str) -> Tuple[str, Any]:
    """The operation, and what it leaves as it is: the least value of the type, or the largest."""
    least = op == "maximum"
    if kind == "pred":
        return ("or", False) if least else ("and", True)
    if kind[0] in "su":
        bits = int(kind[1:])
        return op, (0 if kind[0] == "u" else -1 << bits - 1) if least else (1 << bits - (kind[0] == "s")) - 1
    return op, dtype_of(kind).type(-numpy.inf if least else numpy.inf) if kind in ("f16", "bf16", "f32", "f64") else _largest(kind) * (1 - 2 * least)


def _largest(kind: str) -> float:
    import ml_dtypes
    return float(ml_dtypes.finfo(dtype_of(kind)).max)


def _normal(axes: Any, rank: int) -> Tuple[int, ...]:
    out = sorted(a + rank if a < 0 else a for a in axes)
    if any(not 0 <= a < rank for a in out) or len(set(out)) < len(out):
        raise ValueError(f"axis={tuple(axes)} of an array of {rank} dimensions")
    return tuple(out)


def elementwise(function: Optional[Callable[..., Any]] = None, **options: Any) -> Any:
    """A function of elements as kernels: elementwise(lambda x, y: numpy.exp(x) * y), or @elementwise above a def.

    The function is called with Values, which take Python's operators and functions of numpy (where, clip, maximum ..) or torch, and returns one or
    a tuple. Arguments broadcast as numpy's do; types are numpy's, or torch's where an argument is one of its tensors. options: target,
    accuracy .. of compile. Raises Declined, HloError as compile does, and TypeError.
    """
    if function is None:
        return lambda f: Elements(f, options)
    return Elements(function, options)


def reduce(function: Optional[Callable[..., Any]] = None, op: str = "add", *, axis: Any = None, keepdims: bool = False, **options: Any) -> Any:
    """A reduction of what a function makes of elements: reduce(lambda x, y: x * y, axis=-1) has the sums of products along the last dimension.

    op: add, multiply, maximum, minimum, logical_and or logical_or. axis: a dimension, several, or None, all. Sums and products of small types are
    of numpy's: those of integers have 64 bits; those of f16 and bf16 are made in f32, and rounded once. In any order, as `check` allows.
    """
    if function is None:
        return lambda f: Reduction(f, op, axis, keepdims, options)
    return Reduction(function, op, axis, keepdims, options)


__all__ = ["elementwise", "reduce"]
