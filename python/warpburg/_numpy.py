"""Functions of numpy that are several of its ufuncs, of elements: as numpy's own, which take whole arrays.

    FUNCTIONS["sinc"](x)    ->    where(x == 0, 1, sin(pi * x) / (pi * x))
"""
from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Sequence

import numpy

from ._arrays import category


def _isclose(x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    near = numpy.where(numpy.isfinite(y * 1.0), abs(x - y) <= atol + rtol * abs(y), x == y)
    return near | ((x != x) & (y != y)) if equal_nan else near


def _nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: Optional[float] = None, neginf: Optional[float] = None) -> Any:
    most = float(numpy.finfo(x.dtype).max)
    x = numpy.where(x == float("inf"), most if posinf is None else posinf, numpy.where(x == -float("inf"), -most if neginf is None else neginf, x))
    return numpy.where(x == x, x, nan)


def _polyval(p: Sequence[Any], x: Any) -> Any:
    y = x * 0
    for c in p:
        y = y * x + (c.item() if isinstance(c, numpy.generic) else c)
    return y


def _round(x: Any, decimals: int = 0) -> Any:
    """To even, after a multiplication."""
    if not decimals or category(x.dtype) < 2 and decimals > 0:
        return x if category(x.dtype) < 2 else numpy.rint(x)
    scale = 10 ** abs(decimals)
    return (numpy.rint(x * scale) / scale if decimals > 0 else numpy.rint(x / scale) * scale).astype(x.dtype)


def _select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    out = default
    for condition, choice in reversed(list(zip(condlist, choicelist))):
        out = numpy.where(condition, choice, out)
    return out


def _sinc(x: Any) -> Any:
    y = x * numpy.pi
    return numpy.where(x == 0, 1, numpy.sin(y) / y)


FUNCTIONS: Dict[str, Callable[..., Any]] = {"fix": lambda x: numpy.trunc(x), "isclose": _isclose, "nan_to_num": _nan_to_num, "polyval": _polyval,
                                            "around": _round, "round": _round, "select": _select, "sinc": _sinc}

__all__ = ["FUNCTIONS"]
