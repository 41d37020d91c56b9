"""Operations of warpburg.jax under jit, vmap, loops and in recorded command buffers: against the simulator and jax.numpy."""
from __future__ import annotations

import os
from typing import Any, Callable, Dict, List

import jax
import jax.numpy as jnp
import numpy
import warpburg
import warpburg.jax
from trials import close, distance, ended, trial, THREADS

FAKE = os.environ.get("DOORS_FAKE") == "1"
random = numpy.random.default_rng(3)


def array(*shape: int, dtype: Any = jnp.float32) -> Any:
    return jnp.asarray(random.standard_normal(shape), dtype)


def on_gpu(*arrays: Any) -> None:
    assert FAKE or all(d.platform != "cpu" for a in arrays for d in a.devices()), [a.devices() for a in arrays]


def layernorm(x: Any, g: Any, b: Any) -> Any:
    m = x.mean(-1, keepdims=True)
    v = ((x - m) ** 2).mean(-1, keepdims=True)
    return (x - m) * jax.lax.rsqrt(v + 1e-5) * g + b


def rotary(x: Any, t: Any) -> Any:
    a, b = x[..., ::2], x[..., 1::2]
    return jnp.concatenate([a * jnp.cos(t) - b * jnp.sin(t), a * jnp.sin(t) + b * jnp.cos(t)], -1)


def mlp(x: Any, w: Any, v: Any) -> Any:
    return jax.nn.gelu(x @ w) @ v


def attention(q: Any, k: Any, v: Any) -> Any:
    return jax.nn.softmax(q @ k.T / 8) @ v


CASES = {
    "softmax": (lambda x: jax.nn.softmax(x, axis=-1), lambda: (array(128, 2048),)),
    "softmax_long_rows": (lambda x: jax.nn.softmax(x, axis=-1), lambda: (array(4, 32768),)),
    "softmax_bf16": (lambda x: jax.nn.softmax(x, axis=-1), lambda: (array(64, 2048, dtype=jnp.bfloat16),)),
    "layernorm": (layernorm, lambda: (array(96, 1000), array(1000), array(1000))),
    "gelu_chain": (lambda x, y: jax.nn.gelu(x * y + 1) - jnp.tanh(y), lambda: (array(100, 1001), array(1001))),
    "swish_f16": (lambda x: jax.nn.silu(x) * 2, lambda: (array(65537, dtype=jnp.float16),)),
    "functions": (lambda x: jnp.sin(x) + jnp.exp(-x * x) + jnp.log1p(x * x) + jax.scipy.special.erf(x), lambda: (array(50000),)),
    "transpose": (lambda x: x.T * 2, lambda: (array(517, 301),)),
    "scatter": (lambda x, i, u: x.at[i].add(u), lambda: (array(500, 32), jnp.asarray(random.integers(0, 500, 3000), jnp.int32), array(3000, 32))),
    "gather": (lambda x, i: x[i] + 1, lambda: (array(500, 32), jnp.asarray(random.integers(0, 500, 3000), jnp.int32))),
    "sort": (lambda x: jnp.sort(x, axis=-1), lambda: (array(16, 5000),)),
    "argsort": (lambda x: jnp.argsort(x, axis=-1), lambda: (array(32, 1000),)),
    "cumsum": (lambda x: jnp.cumsum(x, axis=-1), lambda: (array(16, 4096),)),
    "sum_all": (jnp.sum, lambda: (array(300000),)),
    "sum_columns": (lambda x: (x * x).sum(0), lambda: (array(1000, 130),)),
    "argmax": (lambda x: jnp.argmax(x, axis=-1), lambda: (array(64, 999),)),
    "rotary": (rotary, lambda: (array(64, 16, 64), array(64, 1, 32))),
    "two_results": (lambda x: (jnp.exp(x), jnp.exp(x).sum(-1)), lambda: (array(200, 300),)),
    "integers": (lambda x: (x * jnp.uint32(2654435761)) ^ (x >> 13), lambda: (jnp.asarray(random.integers(0, 1 << 31, 70000), jnp.uint32),)),
    "complex": (lambda x: jnp.exp(x) * x, lambda: (jnp.asarray(random.standard_normal(9000) + 1j * random.standard_normal(9000), jnp.complex64),)),
    "mlp_program": (mlp, lambda: (array(64, 128) / 8, array(128, 256) / 8, array(256, 128) / 8)),
    "attention_program": (attention, lambda: (array(64, 32), array(64, 32), array(64, 32))),
    "loop_program": (lambda x: jax.lax.fori_loop(0, 5, lambda i, y: jnp.tanh(y @ x) + y, x), lambda: (array(32, 32) / 6,)),
}
for name, (f, make) in CASES.items():
    def one(f: Callable[..., Any] = f, make: Callable[[], Any] = make) -> Dict[str, Any]:
        args = make()
        on_gpu(*args)
        op = warpburg.jax.compile(f, *args)
        run = jax.jit(op)
        found = jax.tree_util.tree_leaves(run(*args))
        on_gpu(*found)
        again = jax.tree_util.tree_leaves(run(*args))
        object_ = getattr(op, "kernel", None) or op.program
        sim = object_.run(*map(numpy.asarray, args), threads=THREADS)
        sim = sim if isinstance(sim, tuple) else (sim,)
        reference = jax.tree_util.tree_leaves(jax.jit(f)(*args))
        half = any(a.dtype.itemsize == 2 for a in args)
        facts = {"kind": "kernel" if hasattr(op, "kernel") else "program"}
        facts["off_simulator"] = max(close(a, b, 1e-2 if half else 5e-6, "simulator") for a, b in zip(found, sim))
        facts["off_jnp"] = max(close(a, b, 2e-2 if half else 2e-5, "jax.numpy") for a, b in zip(found, reference))
        facts["off_again"] = max(distance(a, b) for a, b in zip(found, again))
        assert facts["off_again"] == 0 or one.__name__ == "scatter" or facts["kind"] == "program", "a second run has other bits"
        return facts
    one.__name__ = name
    trial(one)


@trial
def vmap() -> Dict[str, Any]:
    x, y = array(5, 64, 100), array(100)
    f = lambda a, b: jax.nn.softmax(a * b)
    want = jax.vmap(f, in_axes=(0, None))(x, y)
    facts = {}
    for how in ("loop", "inside"):
        op = warpburg.jax.compile(f, x[0], y, vmap=how)
        found = jax.jit(jax.vmap(op, in_axes=(0, None)))(x, y)
        on_gpu(found)
        facts[how] = close(found, want, 2e-6, how)
    return facts


@trial
def many_calls() -> None:
    """More calls than contexts are expected: what is loaded is found again."""
    x = array(1000)
    op = jax.jit(warpburg.jax.compile(lambda a: jnp.tanh(a) + 1, x))
    for _ in range(200):
        y = op(x)
    close(y, jnp.tanh(x) + 1, 2e-6, "the last one")


@trial
def in_loops_of_xla() -> Dict[str, Any]:
    x = array(64, 64)
    op = warpburg.jax.compile(lambda a: jnp.tanh(a) * 0.5 + a, x)
    found = jax.jit(lambda a: jax.lax.fori_loop(0, 50, lambda i, b: op(b), a))(x)
    want = jax.jit(lambda a: jax.lax.fori_loop(0, 50, lambda i, b: jnp.tanh(b) * 0.5 + b, a))(x)
    return {"off": close(found, want, 1e-4, "50 iterations")}


@trial
def among_operations_of_xla() -> Dict[str, Any]:
    x, w = array(128, 128), array(128, 128) / 11
    op = warpburg.jax.compile(lambda a: jax.nn.softmax(a, axis=-1), x)
    found = jax.jit(lambda a, b: op(op(a @ b) @ b) + a)(x, w)
    soft = lambda a: jax.nn.softmax(a, axis=-1)
    return {"off": close(found, jax.jit(lambda a, b: soft(soft(a @ b) @ b) + a)(x, w), 1e-5, "chain")}


@trial
def recorded() -> Dict[str, Any]:
    """Twelve operations in a row, which XLA may record into a command buffer; new inputs each time."""
    x = array(64, 1000)
    fs = [lambda a, i=i: jnp.tanh(a * (1 + i / 16)) + i / 8 for i in range(6)]
    ops = [warpburg.jax.compile(f, x) for f in fs] * 2
    total = warpburg.jax.compile(jnp.sum, array(300000))

    def chain(a: Any, many: List[Any]) -> Any:
        for f in many:
            a = f(a)
        return a
    run, want = jax.jit(lambda a: chain(a, ops)), jax.jit(lambda a: chain(a, fs * 2))
    off = 0.0
    for k in range(6):
        y = x + k / 4
        off = max(off, close(run(y), want(y), 1e-5, f"run {k}"))
    big = array(300000)
    sums = jax.jit(lambda a: [total(a * k) for k in range(1, 9)])
    for k in range(4):
        for n, s in enumerate(sums(big + k)):
            close(s, jnp.sum((big + k) * (n + 1)), 1e-4, f"sum {n}")
    return {"off": off}


@trial
def gradients_beside() -> Dict[str, Any]:
    """The operation in a function whose other part is differentiated."""
    x = array(100)
    op = warpburg.jax.compile(lambda a: jnp.sin(a), x)
    g = jax.grad(lambda a: (op(jax.lax.stop_gradient(a)) * a).sum())(x)
    return {"off": close(g, jnp.sin(x), 2e-6, "gradient")}


@trial
def arrays_handed_over() -> Dict[str, Any]:
    """k.run on JAX's arrays, and its results as JAX's arrays."""
    x = array(256, 512)
    k = warpburg.jax.compile(lambda a: jax.nn.softmax(a, axis=-1), x).kernel
    x.block_until_ready()
    out = k.run(x, on="sim" if FAKE else "gpu")
    back = jnp.from_dlpack(out)
    b = array(64, 64, dtype=jnp.bfloat16)
    kb = warpburg.jax.compile(lambda a: -a, b).kernel
    bb = jnp.from_dlpack(kb.run(b, on="gpu")) if not FAKE else -b
    close(bb, -b, 0, "bf16")
    return {"type": type(out).__name__, "off": close(back, jax.nn.softmax(x, axis=-1), 2e-6, "softmax")}


ended()
