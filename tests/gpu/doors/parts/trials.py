"""Doors are tried one after the other; each prints a line RESULT, and none stops the others."""
from __future__ import annotations

import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any, Callable, List

import numpy

ONLY = sys.argv[1] if len(sys.argv) > 1 and "/" not in sys.argv[1] else ""
THREADS = min(8, os.cpu_count() or 1)
bad: List[str] = []


def result(name: str, status: str, seconds: float, **facts: Any) -> None:
    print("RESULT " + json.dumps({"name": name, "status": status, "seconds": round(seconds, 2), **facts}), flush=True)
    if status == "FAIL":
        bad.append(name)


def trial(f: Callable[[], Any]) -> Callable[[], Any]:
    """Runs f at once; what it returns are facts."""
    if ONLY not in f.__name__:
        return f
    since = time.monotonic()
    try:
        facts = f() or {}
        result(f.__name__, "ok", time.monotonic() - since, **facts)
    except Exception as e:
        text = traceback.format_exc()
        result(f.__name__, "FAIL", time.monotonic() - since, error=f"{type(e).__name__}: {e}"[-600:], trace=text[-1500:])
    return f


def wide(x: Any) -> Any:
    x = numpy.asarray(x)
    return x if x.dtype.kind in "iub" else x.astype(numpy.complex128 if x.dtype.kind == "c" else numpy.float64)


def distance(a: Any, b: Any) -> float:
    """The largest difference, in parts of the largest element; 0 if all bits are the same."""
    a, b = numpy.asarray(a), numpy.asarray(b)
    assert a.shape == b.shape and a.dtype == b.dtype, (a.shape, b.shape, a.dtype, b.dtype)
    if a.tobytes() == b.tobytes():
        return 0.0
    if a.dtype.kind in "iub":
        return float((a != b).sum())
    x, y = wide(a), wide(b)
    odd = ~numpy.isfinite(y)
    if (numpy.isnan(x[odd]) != numpy.isnan(y[odd])).any() or not numpy.isfinite(x[~odd]).all():
        return float("inf")
    scale = float(numpy.abs(y[~odd]).max()) if (~odd).any() else 1.0
    return float(numpy.abs(x[~odd] - y[~odd]).max()) / (scale or 1.0) if (~odd).any() else 0.0


def close(a: Any, b: Any, limit: float, what: str) -> float:
    d = distance(a, b)
    assert d <= limit, f"{what}: {d:.3g} off, {limit:.3g} at most"
    return d


def ended() -> None:
    print(f"{len(bad)} failed", flush=True)
    sys.exit(bool(bad))


def text_of(file: str) -> str:
    return (Path(__file__).resolve().parent.parent / "hlo" / file).read_text(encoding="utf-8")
