"""Arrays of CuPy, arrays that go from one library to the next, and kernels without any other library in the process before."""
from __future__ import annotations

from typing import Any, Dict

import numpy
import warpburg
from trials import close, ended, trial, text_of

SOFTMAX, SUM = text_of("softmax_512x2048.hlo"), text_of("sum_all.hlo")
x = numpy.random.default_rng(1).standard_normal((512, 2048)).astype(numpy.float32)
k = warpburg.compile(SOFTMAX)
want = k.run(x, threads=4)


@trial
def arrays_of_the_host() -> Dict[str, Any]:
    """Before any library has a context: each run opens the primary one and gives it back."""
    for _ in range(3):
        off = close(k.run(x, on="gpu"), want, 2e-6, "simulator")
    s = warpburg.compile(SUM)
    y = numpy.ones(2097152, numpy.float32)
    assert float(s.run(y, on="gpu")) == 2097152
    return {"off": off}


@trial
def program_on_gpu() -> None:
    import time
    text = """HloModule m
twice { x = f32[256,512] parameter(0)  ROOT s = f32[256,512] add(x, x) }
minus { d = f32[256,384] parameter(0)  ROOT n = f32[256,384] negate(d) }
ENTRY layer { x = f32[256,512] parameter(0)  w = f32[512,384] parameter(1)  s = f32[256,512] fusion(x), kind=kLoop, calls=twice
  d = f32[256,384] dot(s, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  n = f32[256,384] fusion(d), kind=kLoop, calls=minus
  ROOT y = (f32[256,384], f32[256,384]) tuple(d, n) }
"""
    p = warpburg.compile(text)
    a = (numpy.arange(256 * 512) % 7 - 3).astype(numpy.float32).reshape(256, 512)
    w = (numpy.arange(512 * 384) % 5 - 2).astype(numpy.float32).reshape(512, 384)
    since = time.monotonic()
    d, n = p.run(a, w, on="gpu")
    taken = time.monotonic() - since
    assert (d == 2 * a @ w).all() and (n == -d).all()
    v = p.check(a, w, on="gpu")
    assert v, v
    return {"seconds_run": round(taken, 3), "report": str(v)[:300]}


import cupy  # noqa: E402  the cases above run before it


@trial
def cupy_arrays() -> Dict[str, Any]:
    a = cupy.asarray(x)
    out = k.run(a, on="gpu", stream=cupy.cuda.get_current_stream().ptr)
    b, c = cupy.asarray(out), cupy.from_dlpack(out)
    assert b.data.ptr == out.address == c.data.ptr
    close(cupy.asnumpy(c), want, 2e-6, "from_dlpack")
    return {"off": close(cupy.asnumpy(b), want, 2e-6, "asarray"), "numpy": close(numpy.asarray(out), want, 2e-6, "numpy")}


@trial
def cupy_stream() -> Dict[str, Any]:
    s = cupy.cuda.Stream(non_blocking=True)
    with s:
        a = cupy.asarray(x)
        for _ in range(50):
            a = a + 1
        a = a - 50
        out = k.run(a, on="gpu", stream=s.ptr)
        y = cupy.from_dlpack(out) * 2
    s.synchronize()
    return {"off": close(cupy.asnumpy(y) / 2, want, 1e-4, "stream")}


@trial
def cupy_types() -> None:
    for kind, dtype in (("f16", "float16"), ("f64", "float64"), ("s64", "int64"), ("u32", "uint32"), ("c128", "complex128"), ("pred", "bool")):
        t = warpburg.compile(f"HloModule m\nENTRY e {{\n  x = {kind}[777] parameter(0)\n  ROOT y = {kind}[777] copy(x)\n}}\n")
        a = cupy.arange(777).astype(dtype)
        y = cupy.from_dlpack(t.run(a, on="gpu"))
        assert y.dtype == a.dtype and bool((y == a).all()), kind


@trial
def cupy_graph() -> Dict[str, Any]:
    import ctypes
    from warpburg._arrays import Loaded
    loaded = Loaded(k._pointer)
    a, out = cupy.asarray(x), cupy.zeros((512, 2048), cupy.float32)
    packed = (ctypes.c_uint64 * 2)(a.data.ptr, out.data.ptr)
    cupy.cuda.Device().synchronize()
    s = cupy.cuda.Stream(non_blocking=True)
    with s:
        s.begin_capture()
        loaded.enqueue(s.ptr, packed)
        g = s.end_capture()
        g.launch(s)
    s.synchronize()
    return {"off": close(cupy.asnumpy(out), want, 2e-6, "graph")}


@trial
def to_torch_and_back() -> Dict[str, Any]:
    import torch
    a = torch.from_numpy(x).cuda()
    torch.cuda.synchronize()
    out = k.run(a, on="gpu")
    b = k.run(torch.from_dlpack(out), on="gpu")          # softmax of softmax
    c = cupy.from_dlpack(k.run(out, on="gpu"))           # the same, handed over directly
    cupy.cuda.Device().synchronize()
    return {"off": close(cupy.asnumpy(c), numpy.asarray(b), 0, "both ways")}


ended()
