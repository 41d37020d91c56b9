"""What torch computes of elements where numpy does something else: the types of results, and the functions that numpy lacks.

    joined([bf16[8], s64[8]], "f32")    ->    bf16: integers have no say where there are floats; numpy has f64
    FUNCTIONS["silu"](x)                ->    x * expit(x), of bf16 in f32 and rounded once, as torch does

Needs nothing of torch itself. A dimension weighs more than none, and an array without one more than a number of Python.
"""
from __future__ import annotations

import functools
import inspect
import math
from typing import Any, Callable, Dict, List, Optional, Sequence

import numpy

from ._arrays import category, dtype_of, hlo_type, wider

_DType = "numpy.dtype[Any]"


# --- types ------------------------------------------------------------------------------------------------------------

def _promoted(a: _DType, b: _DType) -> _DType:
    a, b = sorted((a, b), key=category)
    if category(a) == category(b):
        return wider(a, b)
    return numpy.dtype("complex128") if a.name == "float64" and category(b) == 3 else b


def _number(x: Any, default: str) -> _DType:
    kinds = {bool: "bool", int: "int64", float: default, complex: "complex128" if default == "float64" else "complex64"}
    return numpy.dtype(kinds[type(x)])


def joined(args: Sequence[Any], default: str) -> _DType:
    """The type in which torch combines arrays (with `dtype` and `shape`) and numbers of Python; default: the name of its type of floats."""
    arrays = [a for a in args if hasattr(a, "dtype")]
    groups = [[a.dtype for a in arrays if a.shape], [a.dtype for a in arrays if not a.shape],
              [_number(a, default) for a in args if not hasattr(a, "dtype")]]
    out: Optional[_DType] = None
    for group in groups:
        if not group:
            continue
        kind = functools.reduce(_promoted, group)
        if out is None:
            out = kind
        elif category(kind) > category(out):  # the less weighty has a say of the kind alone: complex of the other's bits
            out = numpy.dtype("complex128" if out.name == "float64" else "complex64") if category(out) == 2 else _promoted(out, kind)
    assert out is not None
    return out


def operand_type(ufunc: Any, args: Sequence[Any], default: str) -> _DType:
    """The type in which torch computes a function: of integers its type of floats, where numpy has floats."""
    kind = joined(args, default)
    computed = ufunc.resolve_dtypes((*[kind] * ufunc.nin, *[None] * ufunc.nout))[0]
    return numpy.dtype(default) if category(kind) < 2 <= category(computed) else kind


# --- functions --------------------------------------------------------------------------------------------------------

def _softplus(x: Any, beta: float = 1, threshold: float = 20) -> Any:
    return numpy.where(x * beta > threshold, x, numpy.log1p(numpy.exp(x * beta)) / beta)


def _gelu(x: Any, approximate: str = "none") -> Any:
    if approximate == "tanh":
        return 0.5 * x * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1 + (x * math.sqrt(0.5)).erf())


def _celu(x: Any, alpha: float = 1) -> Any: return numpy.where(x > 0, x, alpha * numpy.expm1(x / alpha))
def _elu(x: Any, alpha: float = 1) -> Any: return numpy.where(x > 0, x, alpha * numpy.expm1(x))
def _hardshrink(x: Any, lambd: float = 0.5) -> Any: return numpy.where((x < -lambd) | (x > lambd), x, numpy.where(x == x, 0, x))
def _hardsigmoid(x: Any) -> Any: return numpy.clip(x + 3, 0, 6) / 6
def _hardswish(x: Any) -> Any: return x * numpy.clip(x + 3, 0, 6) / 6
def _hardtanh(x: Any, min_val: float = -1, max_val: float = 1) -> Any: return numpy.clip(x, min_val, max_val)
def _leaky_relu(x: Any, negative_slope: float = 0.01) -> Any: return numpy.where(x > 0, x, x * negative_slope)
def _lerp(x: Any, end: Any, weight: Any) -> Any: return x + weight * (end - x)
def _logit(x: Any) -> Any: return numpy.log(x / (1 - x))
def _logsigmoid(x: Any) -> Any: return numpy.minimum(x, 0) - numpy.log1p(numpy.exp(-abs(x)))
def _mish(x: Any) -> Any: return x * numpy.tanh(_softplus(x))
def _relu(x: Any) -> Any: return numpy.maximum(x, 0)
def _selu(x: Any) -> Any: return 1.0507009873554805 * numpy.where(x > 0, x, 1.6732632423543772 * numpy.expm1(x))
def _silu(x: Any) -> Any: return x * x.sigmoid()
def _softshrink(x: Any, lambd: float = 0.5) -> Any: return numpy.where(x > lambd, x - lambd, numpy.where(x < -lambd, x + lambd, x * 0))
def _softsign(x: Any) -> Any: return x / (1 + abs(x))
def _tanhshrink(x: Any) -> Any: return x - numpy.tanh(x)
def _threshold(x: Any, threshold: float, value: float) -> Any: return numpy.where(x > threshold, x, numpy.where(x == x, value, x))


def _once_rounded(f: Callable[..., Any]) -> Callable[..., Any]:
    """Arrays of 16 bits are computed with in f32, and the result is rounded to their type."""
    signature = inspect.signature(f)

    @functools.wraps(f)
    def wrapped(*args: Any, inplace: bool = False, **options: Any) -> Any:
        if inplace:
            raise TypeError("a function of elements returns its results, and changes nothing in place")
        signature.bind(*args, **options)
        kinds = {a.dtype for a in args if hasattr(a, "dtype")}
        kind = functools.reduce(_promoted, kinds) if kinds else numpy.dtype("float32")
        if kind.itemsize > 2 or category(kind) != 2:
            return f(*args, **options)
        return f(*(a.astype(numpy.float32) if hasattr(a, "dtype") else a for a in args), **options).astype(kind)

    return wrapped


def _add(x: Any, y: Any, alpha: Any = 1) -> Any: return x + (y if alpha == 1 else y * alpha)
def _sub(x: Any, y: Any, alpha: Any = 1) -> Any: return x - (y if alpha == 1 else y * alpha)
def _addcdiv(x: Any, a: Any, b: Any, value: Any = 1) -> Any: return x + value * (a / b)
def _addcmul(x: Any, a: Any, b: Any, value: Any = 1) -> Any: return x + value * (a * b)
def _clamp_min(x: Any, min: Any) -> Any: return numpy.maximum(x, min)
def _clamp_max(x: Any, max: Any) -> Any: return numpy.minimum(x, max)
def _frac(x: Any) -> Any: return x - numpy.trunc(x)


def _div(x: Any, y: Any, rounding_mode: Optional[str] = None) -> Any:
    if rounding_mode == "floor":
        return x // y
    if rounding_mode == "trunc":
        return numpy.trunc(x / y) if category(x.dtype) > 1 else (x - numpy.fmod(x, y)) // y
    return x / y


def _to(x: Any, dtype: Any = None, copy: bool = False, non_blocking: bool = False, memory_format: Any = None) -> Any:
    if hasattr(dtype, "shape") and not isinstance(dtype, type):  # the type of another tensor
        return x.astype(dtype.dtype)
    try:
        kind = dtype_of(hlo_type(dtype))
    except TypeError:
        raise TypeError(f"to({dtype!r}): a type of elements expected; a kernel has its results where its arguments are") from None
    return x.astype(kind)


def _as(name: str) -> Callable[[Any], Any]:
    return lambda x: x.astype(dtype_of(name))


_ACTIVATIONS: List[Callable[..., Any]] = [_celu, _elu, _gelu, _hardshrink, _hardsigmoid, _hardswish, _hardtanh, _leaky_relu, _lerp, _logit, _logsigmoid,
                                          _mish, _selu, _silu, _softplus, _softshrink, _softsign, _tanhshrink, _threshold, _addcdiv, _addcmul]
# By torch's names, of functions and of methods. What is no activation rounds each operation, as it is one.
FUNCTIONS: Dict[str, Callable[..., Any]] = {f.__name__[1:]: _once_rounded(f) for f in _ACTIVATIONS}
FUNCTIONS.update(relu=_once_rounded(_relu), relu6=_once_rounded(lambda x: numpy.clip(x, 0, 6)), log_sigmoid=FUNCTIONS["logsigmoid"],
                 _threshold=FUNCTIONS["threshold"],
                 add=_add, sub=_sub, subtract=_sub,
                 div=_div, divide=_div, true_divide=_div, frac=_frac, clamp_min=_clamp_min, clamp_max=_clamp_max,
                 special_logit=FUNCTIONS["logit"],
                 rsub=lambda x, y: y - x, to=_to, type=_to, clone=lambda x, **_: x, contiguous=lambda x, **_: x, detach=lambda x: x)
FUNCTIONS.update({name: _as(kind) for name, kind in (("bool", "pred"), ("byte", "u8"), ("char", "s8"), ("short", "s16"), ("int", "s32"), ("long", "s64"),
                                                     ("half", "f16"), ("bfloat16", "bf16"), ("float", "f32"), ("double", "f64"))})

__all__ = ["FUNCTIONS", "joined", "operand_type"]
