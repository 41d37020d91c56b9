"""Times of operations beside XLA's own jit of the same function: arrays of 64 MiB and more in turns, so that none is in the cache."""
from __future__ import annotations

import os
import statistics
import time
from typing import Any, Callable, Dict, List, Tuple

import jax
import jax.numpy as jnp
import numpy
import warpburg
import warpburg.jax
from trials import ended, trial

FAKE = os.environ.get("DOORS_FAKE") == "1"
MIB = 1 << 12 if FAKE else 1 << 20
RUNS = 3 if FAKE else 200
random = numpy.random.default_rng(3)


def array(*shape: int, dtype: Any = jnp.float32) -> Any:
    return jax.random.normal(jax.random.key(int(random.integers(1 << 30))), shape, dtype)


def half(*shape: int) -> Any:
    return array(*shape, dtype=jnp.bfloat16)


def indices(count: int, most: int) -> Any:
    return jax.random.randint(jax.random.key(1), (count,), 0, most)


def layernorm(x: Any, g: Any, b: Any) -> Any:
    m = x.mean(-1, keepdims=True)
    v = ((x - m) ** 2).mean(-1, keepdims=True)
    return (x - m) * jax.lax.rsqrt(v + 1e-5) * g + b


def rmsnorm(x: Any, g: Any) -> Any:
    y = x.astype(jnp.float32)
    y = y * jax.lax.rsqrt((y * y).mean(-1, keepdims=True) + 1e-6)
    return (y * g).astype(x.dtype)


def adam(p: Any, m: Any, v: Any, g: Any) -> Any:
    m = 0.9 * m + 0.1 * g
    v = 0.99 * v + 0.01 * g * g
    return p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), m, v


N = 16 * MIB  # elements of f32 in 64 MiB
CASES = {
    "scale_add": (lambda x: x * 2 + 1, lambda: (array(N),)),
    "gelu": (jax.nn.gelu, lambda: (array(N),)),
    "gelu_bf16": (jax.nn.gelu, lambda: (half(2 * N),)),
    "softmax_4096": (lambda x: jax.nn.softmax(x, axis=-1), lambda: (array(N // 4096, 4096),)),
    "softmax_32768": (lambda x: jax.nn.softmax(x, axis=-1), lambda: (array(max(N // 32768, 1), 32768),)),
    "layernorm_bf16": (layernorm, lambda: (half(2 * N // 4096, 4096), half(4096), half(4096))),
    "rmsnorm_bf16": (rmsnorm, lambda: (half(2 * N // 2048, 2048), array(2048))),
    "transpose": (lambda x: x.T + 0, lambda: (array(N // 4096, 4096),)),
    "sum_all": (lambda x: jnp.sum(x * x), lambda: (array(N),)),
    "sum_columns": (lambda x: x.sum(0), lambda: (array(N // 2048, 2048),)),
    "adam": (adam, lambda: tuple(jnp.abs(array(N // 4)) for _ in range(4))),
    "cumsum": (lambda x: jnp.cumsum(x, axis=-1), lambda: (array(N // 4096, 4096),)),
    "scatter_add": (lambda x, i, u: x.at[i].add(u), lambda: (array(N // 64, 64), indices(N // 256, N // 64), array(N // 256, 64))),
    "sort_rows": (lambda x: jnp.sort(x, axis=-1), lambda: (array(N // 2048, 2048),)),
}


@jax.jit
def off(a: Any, b: Any) -> Any:
    a, b = a.astype(jnp.float32), b.astype(jnp.float32)
    return jnp.abs(a - b).max() / jnp.abs(b).max()


def difference(a: Any, b: Any) -> float:
    assert a.shape == b.shape and a.dtype == b.dtype
    return float(off(a, b))


def times(run: Callable[..., Any], sets: List[Any]) -> Tuple[float, float]:
    """(median of single runs, mean of runs that are enqueued one behind the other), microseconds"""
    for s in sets:
        jax.block_until_ready(run(*s))
    single = []
    for k in range(RUNS):
        s = sets[k % len(sets)]
        since = time.perf_counter()
        jax.block_until_ready(run(*s))
        single.append(time.perf_counter() - since)
    since, kept = time.perf_counter(), []
    for k in range(RUNS):
        kept.append(run(*sets[k % len(sets)]))
        del kept[:-4]
    jax.block_until_ready(kept)
    return round(1e6 * statistics.median(single), 1), round(1e6 * (time.perf_counter() - since) / RUNS, 1)


for name, (f, make) in CASES.items():
    def one(f: Callable[..., Any] = f, make: Callable[[], Any] = make) -> Dict[str, Any]:
        sets = [make() for _ in range(3)]
        xla = jax.jit(f)
        facts = {"MiB": round(sum(a.nbytes for a in sets[0]) / 2 ** 20)}
        want = jax.tree_util.tree_leaves(xla(*sets[0]))
        for accuracy in ("exact", "xla") if one.__name__ in ("gelu", "softmax_4096") else ("xla",):
            op = warpburg.jax.compile(f, *sets[0], accuracy=accuracy)
            if not hasattr(op, "kernel"):
                facts["program"] = len(op.program.kernels)
            ours = jax.jit(op)
            small = any(a.dtype.itemsize == 2 for a in sets[0])
            facts["off_" + accuracy] = max(difference(a, b) for a, b in zip(jax.tree_util.tree_leaves(ours(*sets[0])), want))
            facts["ours_us_" + accuracy] = times(ours, sets)
        facts["xla_us"] = times(xla, sets)
        facts["ratio"] = [round(a / b, 3) for a, b in zip(facts["ours_us_xla"], facts["xla_us"])]
        assert all(v <= (2e-2 if small else 1e-4) for k, v in facts.items() if k.startswith("off_")), facts
        return facts
    one.__name__ = name
    trial(one)
ended()
