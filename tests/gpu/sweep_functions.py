"""Functions of JAX at sizes of real use, for sweep.py: name, function, shapes of its arguments.

A shape is sizes and a type, for integers with the number of values they have: (64, 128, "i32", 1000).
"""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Tuple

import jax
import jax.numpy as jnp
from jax import lax

Case = Tuple[Callable[..., Any], List[Tuple[Any, ...]]]


def layer_norm(x: Any, g: Any, b: Any) -> Any:
    y = x.astype(jnp.float32)
    m = y.mean(-1, keepdims=True)
    v = ((y - m) ** 2).mean(-1, keepdims=True)
    return ((y - m) * lax.rsqrt(v + 1e-5) * g + b).astype(x.dtype)


def rms_norm(x: Any, g: Any) -> Any:
    y = x.astype(jnp.float32)
    return (y * lax.rsqrt((y * y).mean(-1, keepdims=True) + 1e-6) * g).astype(x.dtype)


def gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """Of all arguments but the last, which is that of the result."""
    return lambda *args: jax.vjp(f, *args[:-1])[1](args[-1])


def batch_norm(axes: Tuple[int, ...]) -> Callable[..., Any]:
    def f(x: Any, g: Any, b: Any) -> Any:
        shape = [1 if a in axes else s for a, s in enumerate(x.shape)]
        m = x.mean(axes, keepdims=True)
        v = ((x - m) ** 2).mean(axes, keepdims=True)
        return (x - m) * lax.rsqrt(v + 1e-5) * g.reshape(shape) + b.reshape(shape)
    return f


def group_norm(x: Any, g: Any, b: Any) -> Any:
    n, h, w, c = x.shape
    y = x.reshape(n, h * w, 32, c // 32)
    m = y.mean((1, 3), keepdims=True)
    v = ((y - m) ** 2).mean((1, 3), keepdims=True)
    return ((y - m) * lax.rsqrt(v + 1e-5)).reshape(x.shape) * g + b


def cross_entropy(logits: Any, labels: Any) -> Any:
    z = jax.nn.log_softmax(logits.astype(jnp.float32), -1)
    return -jnp.take_along_axis(z, labels[:, None], -1).mean()


def masked_softmax(x: Any) -> Any:
    n = x.shape[-1]
    return jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((n, n), bool)), x * 0.125, -1e9), -1)


def adamw(p: Any, m: Any, v: Any, g: Any) -> Any:
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    return p - 1e-3 * (m / (jnp.sqrt(v) + 1e-8) + 0.01 * p), m, v


def rotary(x: Any) -> Any:
    length, width = x.shape[1], x.shape[-1]
    angle = jnp.arange(length)[:, None] * 10000.0 ** (-jnp.arange(0, width, 2) / width)
    c, s = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None]
    a, b = x[..., :width // 2].astype(jnp.float32), x[..., width // 2:].astype(jnp.float32)
    return jnp.concatenate([a * c - b * s, a * s + b * c], -1).astype(x.dtype)


def quantise(x: Any) -> Any:
    scale = jnp.abs(x).max(-1, keepdims=True) / 127
    return jnp.round(x / scale).astype(jnp.int8), scale


def quantise_fp8(x: Any) -> Any:
    scale = jnp.abs(x.astype(jnp.float32)).max(-1, keepdims=True) / 448
    return (x / scale).astype(jnp.float8_e4m3fn), scale


def swiglu(x: Any) -> Any:
    a, b = jnp.split(x, 2, -1)
    return jax.nn.silu(a) * b


def welford(x: Any) -> Any:
    return x.mean(0), x.var(0)


def pool(x: Any) -> Any:
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def blur(x: Any) -> Any:
    return lax.reduce_window(x, 0.0, lax.add, (1, 3, 3), (1, 1, 1), "SAME") / 9


def heat(x: Any) -> Any:
    p = jnp.pad(x, 1)
    return x + 0.1 * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * x)


def ema(x: Any) -> Any:
    def step(h: Any, row: Any) -> Any:
        h = 0.9 * h + 0.1 * row
        return h, h
    return lax.scan(step, jnp.zeros_like(x[0]), x)[1]


def gru(x: Any, h: Any) -> Any:
    def step(h: Any, row: Any) -> Any:
        z = jax.nn.sigmoid(row[0] + h)
        h = (1 - z) * h + z * jnp.tanh(row[1])
        return h, h
    return lax.scan(step, h, x)


def lattice(x: Any) -> Any:
    """Escape times of z^2 + c."""
    def step(_: Any, s: Any) -> Any:
        r, i, n = s
        inside = r * r + i * i < 4
        return jnp.where(inside, r * r - i * i + x[0], r), jnp.where(inside, 2 * r * i + x[1], i), n + inside
    return lax.fori_loop(0, 64, step, (x[0], x[1], jnp.zeros_like(x[0], jnp.int32)))[2]


def top_gate(x: Any) -> Any:
    v, i = lax.top_k(x, 2)
    return jax.nn.softmax(v, -1), i


def label_smoothing(x: Any, labels: Any) -> Any:
    z = jax.nn.log_softmax(x, -1)
    return -(0.9 * jnp.take_along_axis(z, labels[:, None], -1)[:, 0] + 0.1 * z.mean(-1))


def moe_counts(e: Any) -> Any:
    return jnp.cumsum(jax.nn.one_hot(e, 64, dtype=jnp.int32), 0)


def rows(n: int, dtype: str = "f32", mib: int = 128) -> Tuple[int, int, str]:
    return (mib << 20) // (n * {"f32": 4, "bf16": 2, "f16": 2, "s8": 1}[dtype]), n, dtype


CASES: Dict[str, Case] = {
    # loops
    "gelu_bf16": (jax.nn.gelu, [rows(4096, "bf16")]),
    "gelu_erf": (lambda x: jax.nn.gelu(x, approximate=False), [rows(4096)]),
    "swiglu_bf16": (swiglu, [rows(8192, "bf16")]),
    "adamw": (adamw, [(32 << 20, "f32")] * 4),
    "rotary_bf16": (rotary, [(8, 2048, 32, 128, "bf16")]),
    "softplus_tanh": (lambda x: x * jnp.tanh(jax.nn.softplus(x)), [rows(4096)]),
    "sincos": (lambda x: jnp.sin(x) * jnp.cos(x), [rows(4096)]),
    "pow": (lambda x, y: jnp.abs(x) ** y, [rows(4096), rows(4096)]),
    "quotient": (lambda x, y: x / y, [rows(4096), rows(4096)]),
    "complex_quotient": (lambda a, b, c, d: jnp.abs(lax.complex(a, b) / lax.complex(c, d)), [(16 << 20, "f32")] * 4),
    "heat": (heat, [(4096, 8192, "f32")]),
    "bias_relu_nhwc": (lambda x, b: jax.nn.relu(x + b), [(64, 128, 128, 64, "bf16"), (64, "bf16")]),
    "escape_times": (lattice, [(2, 2048, 2048, "f32")]),
    "concat3": (lambda a, b, c: jnp.concatenate([a, b * 2, c], -1), [rows(512, "bf16", 64)] * 3),
    "roll": (lambda x: jnp.roll(x, 5, 1) - x, [rows(4096)]),
    "take_rows": (lambda x, i: x[i], [(50000, 1024, "bf16"), (65536, "i32", 50000)]),
    # reductions
    "sum_all": (jnp.sum, [rows(4096)]),
    "norm_all_bf16": (lambda x: jnp.sqrt(jnp.sum(jnp.square(x.astype(jnp.float32)))), [rows(4096, "bf16", 256)]),
    "sum_rows_1000": (lambda x: x.sum(-1), [rows(1000)]),
    "sum_rows_64": (lambda x: x.sum(-1), [rows(64)]),
    "sum_columns": (lambda x: x.sum(0), [rows(4096)]),
    "sum_columns_bf16_768": (lambda x: x.astype(jnp.float32).sum(0), [rows(768, "bf16")]),
    "sum_middle": (lambda x: x.sum(1), [(64, 1024, 512, "f32")]),
    "sum_nchw": (lambda x: x.sum((0, 2, 3)), [(64, 128, 64, 64, "f32")]),
    "max_argmax": (lambda x: (x.max(-1), x.argmax(-1)), [rows(32000)]),
    "argmax_columns": (lambda x: x.argmax(0), [rows(4096)]),
    "mean_var_columns": (welford, [rows(2048)]),
    "any_nan": (lambda x: jnp.isnan(x).any(), [rows(4096, "bf16", 256)]),
    "dot_rows": (lambda x, y: (x * y).sum(-1), [rows(1024), rows(1024)]),
    "matvec_bf16": (lambda a, x: (a.astype(jnp.float32) * x).sum(-1), [rows(8192, "bf16", 256), (8192, "f32")]),
    "avg_pool_all": (lambda x: x.mean((1, 2)), [(256, 32, 32, 256, "bf16")]),
    "int8_sum": (lambda x: x.astype(jnp.int32).sum(-1), [rows(4096, "s8")]),
    "logsumexp": (lambda x: jax.nn.logsumexp(x, -1), [rows(8192)]),
    # rows
    "softmax_256": (lambda x: jax.nn.softmax(x, -1), [rows(256)]),
    "softmax_4096_bf16": (lambda x: jax.nn.softmax(x, -1), [rows(4096, "bf16")]),
    "softmax_32768": (lambda x: jax.nn.softmax(x, -1), [rows(32768)]),
    "softmax_128256_bf16": (lambda x: jax.nn.softmax(x.astype(jnp.float32), -1), [(512, 128256, "bf16")]),
    "softmax_columns": (lambda x: jax.nn.softmax(x, 0), [rows(4096)]),
    "masked_softmax": (masked_softmax, [(32, 1024, 1024, "f32")]),
    "layer_norm_bf16": (layer_norm, [rows(4096, "bf16"), (4096, "f32"), (4096, "f32")]),
    "layer_norm_768": (layer_norm, [rows(768), (768, "f32"), (768, "f32")]),
    "layer_norm_gradient": (gradient(layer_norm), [rows(1024), (1024, "f32"), (1024, "f32"), rows(1024)]),
    "layer_norm_gradient_bf16": (gradient(layer_norm), [rows(4096, "bf16"), (4096, "f32"), (4096, "f32"), rows(4096, "bf16")]),
    "rms_norm_8192_bf16": (rms_norm, [rows(8192, "bf16"), (8192, "f32")]),
    "rms_norm_gradient_bf16": (gradient(rms_norm), [rows(2048, "bf16"), (2048, "f32"), rows(2048, "bf16")]),
    "batch_norm_nhwc": (batch_norm((0, 1, 2)), [(64, 64, 64, 64, "f32"), (64, "f32"), (64, "f32")]),
    "batch_norm_nhwc_gradient": (gradient(batch_norm((0, 1, 2))), [(64, 64, 64, 64, "f32"), (64, "f32"), (64, "f32"), (64, 64, 64, 64, "f32")]),
    "batch_norm_nchw": (batch_norm((0, 2, 3)), [(64, 64, 64, 64, "f32"), (64, "f32"), (64, "f32")]),
    "group_norm_nhwc": (group_norm, [(32, 64, 64, 128, "f32"), (128, "f32"), (128, "f32")]),
    "cross_entropy": (cross_entropy, [(8192, 32000, "bf16"), (8192, "i32", 32000)]),
    "cross_entropy_gradient": (jax.grad(cross_entropy), [(2048, 32000, "f32"), (2048, "i32", 32000)]),
    "label_smoothing": (label_smoothing, [(4096, 10000, "f32"), (4096, "i32", 10000)]),
    "quantise_rows": (quantise, [rows(4096)]),
    "quantise_rows_fp8": (quantise_fp8, [rows(4096, "bf16")]),
    "l2_normalise": (lambda x: x / jnp.linalg.norm(x, axis=-1, keepdims=True), [rows(128)]),
    # transposes
    "transpose": (lambda x: x.T * 2, [rows(4096)]),
    "transpose_bf16": (lambda x: x.T * 2, [rows(4096, "bf16")]),
    "transpose_int8": (lambda x: x.T + 1, [rows(4096, "s8", 64)]),
    "heads_bf16": (lambda x: x.reshape(8, 2048, 32, 128).transpose(0, 2, 1, 3) + 0, [(8, 2048, 4096, "bf16")]),
    "heads_last": (lambda x: x.reshape(16, 1024, 32, 64).transpose(0, 2, 3, 1) + 0, [(16, 1024, 2048, "f32")]),
    "nhwc_to_nchw": (lambda x: x.transpose(0, 3, 1, 2) + 0, [(64, 64, 64, 96, "f32")]),
    "add_transposed": (lambda x, y: x + y.T, [(4096, 4096, "f32"), (4096, 4096, "f32")]),
    "reverse_axes": (lambda x: x.transpose(2, 1, 0) + 0, [(256, 256, 512, "f32")]),
    # scatters, sorts, scans
    "histogram": (lambda i: jnp.zeros(1000, jnp.int32).at[i].add(1), [(16 << 20, "i32", 1000)]),
    "segment_sum": (lambda x, i: jax.ops.segment_sum(x, i, 512), [rows(128), (1 << 18, "i32", 512)]),
    "scatter_rows": (lambda t, i, u: t.at[i].add(u), [(50000, 512, "f32"), (32768, "i32", 50000), (32768, 512, "f32")]),
    "embedding_gradient": (lambda i, u: jnp.zeros((32000, 1024)).at[i].add(u), [(16384, "i32", 32000), (16384, 1024, "f32")]),
    "sort_rows_256": (lambda x: jnp.sort(x, -1), [rows(256)]),
    "sort_rows_4096": (lambda x: jnp.sort(x, -1), [rows(4096, "f32", 64)]),
    "sort_long": (jnp.sort, [(1 << 22, "f32")]),
    "argsort_rows_1024": (lambda x: jnp.argsort(x, -1), [rows(1024, "f32", 64)]),
    "top_2_of_64": (top_gate, [rows(64)]),
    "top_8_of_32000": (lambda x: lax.top_k(x, 8), [(1024, 32000, "f32")]),
    "median_rows": (lambda x: jnp.median(x, -1), [rows(1024, "f32", 64)]),
    "cumsum_rows": (lambda x: jnp.cumsum(x, -1), [rows(4096)]),
    "cumsum_columns": (lambda x: jnp.cumsum(x, 0), [(4096, 8192, "f32")]),
    "cumsum_long": (jnp.cumsum, [(32 << 20, "f32")]),
    "logcumsumexp": (lambda x: lax.cumlogsumexp(x, x.ndim - 1), [rows(2048)]),
    "moe_counts": (moe_counts, [(1 << 18, "i32", 64)]),
    "ema": (ema, [(1024, 32768, "f32")]),
    "gru": (gru, [(256, 2, 65536, "f32"), (65536, "f32")]),
    "max_pool": (pool, [(64, 128, 128, 64, "bf16")]),
    "box_blur": (blur, [(32, 1024, 1024, "f32")]),
    "random_normal": (lambda k: jax.random.normal(jax.random.key(k[0]), (32 << 20,)), [(1, "i32", 1000)]),
    "dropout": (lambda x, k: jnp.where(jax.random.bernoulli(jax.random.key(k[0]), 0.9, x.shape), x / 0.9, 0), [rows(4096, "bf16"), (1, "i32", 1000)]),
}
