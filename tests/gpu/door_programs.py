"""Programs of JAX for the package that doors.py makes, as HLO texts: door_programs.py FOLDER [TEXT], those with TEXT in their names."""
from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

import jax
import jax.numpy as jnp
import warpburg.jax


def shape(*sizes: int, dtype: str = "float32") -> Any:
    return jax.ShapeDtypeStruct(sizes, dtype)


def norm(x: Any) -> Any:
    m = x.mean(-1, keepdims=True)
    return (x - m) * jax.lax.rsqrt(((x - m) ** 2).mean(-1, keepdims=True) + 1e-5)


def block(x: Any, wq: Any, wk: Any, wv: Any, wo: Any, w1: Any, w2: Any) -> Any:
    """A block of a transformer, four heads."""
    y = norm(x)
    q, k, v = ((y @ w).reshape(128, 4, 32).transpose(1, 0, 2) for w in (wq, wk, wv))
    s = jnp.einsum("hqd,hkd->hqk", q, k) / 32 ** .5
    s = jnp.where(jnp.tril(jnp.ones((128, 128), bool)), s, -1e9)
    a = jnp.einsum("hqk,hkd->hqd", jax.nn.softmax(s, -1), v).transpose(1, 0, 2).reshape(128, 128) @ wo
    x = x + a
    return x + jax.nn.gelu(norm(x) @ w1) @ w2


def block_gradients(*args: Any) -> Any:
    return jax.grad(lambda *b: (block(*b) ** 2).sum() * 1e-3, argnums=tuple(range(7)))(*args)


def recurrent(x: Any, w: Any, u: Any, h: Any) -> Any:
    def step(h: Any, row: Any) -> Any:
        h = jnp.tanh(row @ w + h @ u)
        return h, h.sum(-1)
    return jax.lax.scan(step, h, x)


def newton(x: Any) -> Any:
    """A loop whose end depends on its values."""
    half = jnp.eye(16, dtype=x.dtype) * 0.5
    return jax.lax.while_loop(lambda s: jnp.abs(s[0] @ s[0] - s[1]).max() > 1e-3, lambda s: (s[0] * 0.5 + half, s[1] * 0.5 + half), (x, x))[0]


def top(x: Any, w: Any) -> Any:
    values, indices = jax.lax.top_k(x @ w, 8)
    return jax.nn.softmax(values, -1), indices


def sorts(x: Any) -> Any:
    return jnp.cumsum(jnp.sort(x, axis=-1), -1), jnp.argsort(x, axis=-1)


def weights(dtype: str) -> List[Any]:
    return [shape(128, 128, dtype=dtype)] * 5 + [shape(128, 512, dtype=dtype), shape(512, 128, dtype=dtype)]


PROGRAMS: Dict[str, Tuple[Callable[..., Any], List[Any]]] = {
    "block_f32": (block, weights("float32")),
    "block_bf16": (block, weights("bfloat16")),
    "block_gradients": (block_gradients, weights("float32")),
    "recurrent": (recurrent, [shape(24, 16, 64), shape(64, 128), shape(128, 128), shape(16, 128)]),
    "top": (top, [shape(64, 128), shape(128, 512)]),
    "sorts": (sorts, [shape(4, 256)]),
    "dot_f64": (lambda a, b: jnp.sin(a) @ jnp.cos(b), [shape(64, 96, dtype="float64"), shape(96, 80, dtype="float64")]),
    "newton": (newton, [shape(16, 16)]),
}


def main() -> int:
    folder, only = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
    jax.config.update("jax_enable_x64", True)
    for name, (function, args) in PROGRAMS.items():
        if only in name:
            (folder / f"{name}.hlo").write_text(warpburg.jax.lower(function, *args), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
