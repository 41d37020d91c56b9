"""Run by jax's Python: programs whose modules XLA dumps, as text and as protocol buffers, before and after its passes.

    proto_of_jax.py FOLDER     prints how many programs there were
"""
import os
import sys
from typing import Any, Callable, Dict, Tuple

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = (f"--xla_dump_to={sys.argv[1]} --xla_dump_hlo_as_proto --xla_dump_hlo_as_text --xla_dump_large_constants "
                           "--xla_force_host_platform_device_count=2")
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

F = jnp.float32
X, V, N, B, C = (jax.ShapeDtypeStruct(s, t) for s, t in (((8, 6), F), ((6,), F), ((16,), jnp.int32), ((4, 4), jnp.bfloat16), ((6,), jnp.complex64)))
IMAGE, KERNEL = jax.ShapeDtypeStruct((1, 8, 8, 3), F), jax.ShapeDtypeStruct((3, 3, 3, 4), F)
SQUARE = jax.ShapeDtypeStruct((4, 4), F)


def convolution(x: Any, w: Any, *how: Any, **more: Any) -> Any:
    return lax.conv_general_dilated(x, w, *how, dimension_numbers=("NHWC", "HWIO", "NHWC"), **more)


def constant(kind: Any) -> Callable[..., Any]:
    values = np.array([[0, 1, -2], [1, -1, 0]]).astype(kind)
    return lambda n: (n[:3].astype(F) + jnp.asarray(values).astype(F)).sum()


PROGRAMS: Dict[str, Tuple[Callable[..., Any], Tuple[Any, ...]]] = {
    "gelu": (jax.nn.gelu, (X,)), "softmax": (lambda x: jax.nn.softmax(x, axis=-1), (X,)), "matmul": (lambda x, y: x @ y, (X, V)),
    "dot_precise": (lambda x: lax.dot_general(x, x, (((1,), (1,)), ((), ())), precision="highest", preferred_element_type=F), (X,)),
    "dot_batched": (lambda x: jnp.einsum("bij,bjk->bik", x, x), (jax.ShapeDtypeStruct((2, 4, 4), F),)),
    "convolution": (lambda x, w: convolution(x, w, (2, 1), "SAME", rhs_dilation=(1, 2)), (IMAGE, KERNEL)),
    "convolution_grad": (jax.grad(lambda w, x: convolution(x, w, (2, 2), "VALID").sum()), (KERNEL, IMAGE)),
    "depthwise": (lambda x, w: convolution(x, w, (1, 1), "SAME", feature_group_count=3), (IMAGE, jax.ShapeDtypeStruct((3, 3, 1, 6), F))),
    "pooling": (lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"), (IMAGE,)),
    "pooling_grad": (jax.grad(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID").sum()), (IMAGE,)),
    "gather": (lambda x, n: x[n % 8], (X, N)), "take_pairs": (lambda x, n: x[n % 8, n % 6], (X, N)),
    "scatter": (lambda x, n: x.at[n % 8].add(1.0), (X, N)),
    "scatter_unique": (lambda x, n: x.at[n[:3]].set(1.0, unique_indices=True, indices_are_sorted=True), (X, N)),
    "dynamic_slice": (lambda x, n: lax.dynamic_slice(x, (n[0], n[1]), (2, 3)), (X, N)), "update": (lambda x, n: x.at[n[0]].set(x[0]), (X, N)),
    "sort": (lambda x: jnp.sort(x, axis=0), (X,)), "argsort": (lambda x: jnp.argsort(x, axis=1), (X,)), "top_k": (lambda x: lax.top_k(x, 2), (X,)),
    "cumsum": (lambda x: jnp.cumsum(x, axis=1), (X,)), "scan": (lambda x: lax.scan(lambda c, r: (c * 0.5 + r, c.sum()), jnp.zeros(6), x), (X,)),
    "while": (lambda v: lax.while_loop(lambda s: s.sum() < 100, lambda s: s * 2 + 1, v), (V,)),
    "cond": (lambda v: lax.cond(v[0] > 0, jnp.sin, jnp.cos, v), (V,)), "switch": (lambda v, n: lax.switch(n[0], [jnp.sin, jnp.cos, jnp.tan], v), (V, N)),
    "pad": (lambda x: lax.pad(x, 0.0, ((1, -1, 2), (0, 3, 0))), (X,)), "reverse": (lambda x: x[::-1, ::2], (X,)),
    "compare": (lambda x: (jnp.isnan(x), jnp.maximum(x, 0), lax.sort([x, -x], num_keys=2)[1]), (X,)), "clamp": (lambda x: jnp.clip(x, -1, 1), (X,)),
    "complex": (lambda c: jnp.exp(c * (1 + 2j)), (C,)), "fft": (lambda v: jnp.fft.rfft(v), (V,)), "bits": (lambda v: v.view(jnp.int32) ^ 5, (V,)),
    "bf16": (lambda b: jnp.tanh(b) @ b, (B,)), "cholesky": (lambda s: jnp.linalg.cholesky(s @ s.T + jnp.eye(4)), (SQUARE,)),
    "solve": (lambda s: jax.scipy.linalg.solve_triangular(s, s, lower=True, unit_diagonal=True), (SQUARE,)),
    "random": (lambda n: jax.random.normal(jax.random.key(3), (5, 7)) + n[0], (N,)),
    "philox": (lambda n: jax.random.bits(jax.random.key(3, impl="rbg"), (64,)) + n[0].astype(jnp.uint32), (N,)),
    "transposed": (lambda x: x.T + jnp.asarray(np.arange(48, dtype=np.float32).reshape(6, 8)), (X,)),
    "large": (lambda v: v + jnp.asarray(np.sin(np.arange(6000.)).reshape(1000, 6), F).sum(0), (V,)),
    "precision": (lambda x: lax.reduce_precision(x, 5, 4), (X,)), "any": (lambda x: (x > 0).all(axis=0), (X,)),
    "norm": (lambda x: (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True), (X,)),
    **{f"constant_{np.dtype(k).name}": (constant(k), (N,)) for k in (
        np.bool_, np.int8, np.uint16, np.float16, ml_dtypes.bfloat16, ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2,
        ml_dtypes.float4_e2m1fn)},
}

for name, (function, arguments) in PROGRAMS.items():
    function.__name__ = name
    jax.jit(function).lower(*arguments).compile()
mesh = Mesh(np.array(jax.devices()), ("d",))
split = NamedSharding(mesh, PartitionSpec("d"))
jax.jit(lambda x: x.sum(), in_shardings=split).lower(X).compile()
jax.jit(lambda x: x * 2, donate_argnums=0).lower(X).compile()
print(len(PROGRAMS) + 2)
