"""Tensors of PyTorch on the GPU: on its current stream, on other streams, in threads, in recorded graphs."""
from __future__ import annotations

import ctypes
import threading
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy
import torch
import warpburg
from warpburg._arrays import Loaded
from trials import close, ended, trial, text_of

SOFTMAX, SUM, CLUSTER = text_of("softmax_512x2048.hlo"), text_of("sum_all.hlo"), text_of("softmax_64x32768.hlo")
CLUSTER16 = "columns: vector 4, lane 32, warp 2, register 8, cluster 16; rows: grid 64"
torch.manual_seed(1)


def unary(kind: str, n: int = 1000, operation: str = "negate") -> str:
    return f"HloModule m\nENTRY e {{\n  x = {kind}[{n}] parameter(0)\n  ROOT y = {kind}[{n}] {operation}(x)\n}}\n"


def now() -> int:
    return torch.cuda.current_stream().cuda_stream


def agree(a: Any, b: Any, limit: float = 2e-6) -> float:
    d = float((a.double() - b.double()).abs().max() / b.double().abs().max())
    assert d <= limit, f"{d:.3g} off"
    return d


@trial
def current_stream() -> Dict[str, Any]:
    k = warpburg.compile(SOFTMAX)
    x = torch.randn(512, 2048, device="cuda")
    out = k.run(x, on="gpu", stream=now())
    y = torch.from_dlpack(out)
    assert y.data_ptr() == out.address and y.is_cuda
    del out
    off = agree(y, torch.softmax(x, -1))
    return {"off_torch": off, "off_simulator": close(y.cpu().numpy(), k.run(x.cpu().numpy(), threads=4), 2e-6, "simulator")}


@trial
def by_cuda_array_interface() -> Dict[str, Any]:
    k = warpburg.compile(SOFTMAX)
    x = torch.randn(512, 2048, device="cuda")
    out = k.run(x, on="gpu", stream=now())
    y = torch.as_tensor(out, device="cuda")
    return {"same_memory": y.data_ptr() == out.address, "off": agree(y, torch.softmax(x, -1))}


@trial
def other_stream() -> Dict[str, Any]:
    """Work of torch before and behind the kernel on a stream that does not wait for the default one."""
    k, k16 = warpburg.compile(CLUSTER), warpburg.compile(CLUSTER, layout=CLUSTER16)
    a = torch.randn(4096, 4096, device="cuda")
    x = torch.randn(64, 32768, device="cuda")
    torch.cuda.synchronize()
    offs = []
    for kernel in (k, k16):
        for turn in range(5):
            s = torch.cuda.Stream()
            with torch.cuda.stream(s):
                b = a
                for _ in range(6):
                    b = (b @ a) / 64
                z = x + b[0, 0] * 0 + turn
                y = torch.from_dlpack(kernel.run(z, on="gpu", stream=s.cuda_stream)) * 2
            s.synchronize()
            offs.append(agree(y, 2 * torch.softmax(x + turn, -1)))
    return {"off": max(offs), "clusters": [k.launches[0].cluster[0], k16.launches[0].cluster[0]]}


@trial
def sums_on_several_streams() -> Dict[str, Any]:
    """A kernel with temporaries and a ticket, on streams at once: each run has memory of its own."""
    k = warpburg.compile(SUM)
    assert {"temporary"} <= {b.role for b in k.buffers}, k.buffers
    streams = [torch.cuda.Stream() for _ in range(4)]
    xs = [torch.randn(2097152, device="cuda") + i for i in range(4)]
    torch.cuda.synchronize()
    outs = [(i, k.run(xs[i], on="gpu", stream=streams[i].cuda_stream)) for _ in range(20) for i in range(4)]
    torch.cuda.synchronize()
    offs = [abs(float(numpy.asarray(out)) / float(xs[i].double().sum()) - 1) for i, out in outs if i]
    assert max(offs) < 1e-5, max(offs)
    return {"runs": len(outs), "off": max(offs)}


@trial
def constants_on_other_streams() -> Dict[str, Any]:
    """A kernel that has just been loaded, with a constant of its own, on a stream that does not wait for the default one."""
    n = 1 << 18
    text = ("HloModule m\nbody { x = f32[%d] parameter(0)  c = f32[%d] parameter(1)  ROOT y = f32[%d] add(x, c) }\n"
            "ENTRY e { p = f32[%d] parameter(0)  c = f32[%d] constant({%s})  ROOT r = f32[%d] fusion(p, c), kind=kLoop, calls=body }\n"
            % (n, n, n, n, n, ",".join(str(i % 1000) for i in range(n)), n))
    x = torch.ones(n, device="cuda")
    want = torch.arange(n, device="cuda").remainder(1000) + 1.0
    for _ in range(5):
        k, s = warpburg.compile(text), torch.cuda.Stream()
        torch.cuda.synchronize()
        y = torch.from_dlpack(k.run(x, on="gpu", stream=s.cuda_stream))
        s.synchronize()
        assert torch.equal(y, want), (y, want)
    return {"constants": [b.bytes for b in k.buffers if b.constant is not None]}


@trial
def threads() -> None:
    k = warpburg.compile(SOFTMAX)
    x = [torch.randn(512, 2048, device="cuda") for _ in range(4)]
    torch.cuda.synchronize()
    k.run(x[0], on="gpu")
    wrong = []

    def work(i: int) -> None:
        s = torch.cuda.Stream()
        with torch.cuda.stream(s):
            for _ in range(25):
                y = torch.from_dlpack(k.run(x[i], on="gpu", stream=s.cuda_stream))
            s.synchronize()
            try:
                agree(y, torch.softmax(x[i], -1))
            except AssertionError as e:
                wrong.append(str(e))
    all_ = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [t.start() for t in all_]
    [t.join() for t in all_]
    assert not wrong, wrong


for kind, dtype in (("f32", torch.float32), ("f64", torch.float64), ("f16", torch.float16), ("bf16", torch.bfloat16), ("s8", torch.int8),
                    ("s32", torch.int32), ("s64", torch.int64), ("c64", torch.complex64)):
    def one(kind: str = kind, dtype: Any = dtype) -> None:
        k = warpburg.compile(unary(kind))
        x = (torch.randn(1000, device="cuda") * 50).to(dtype)
        y = torch.from_dlpack(k.run(x, on="gpu", stream=now()))
        assert y.dtype == dtype and torch.equal(y, -x), (y.dtype, y[:4], x[:4])
    one.__name__ = "type_" + kind
    trial(one)


for kind, dtype in (("u8", torch.uint8), ("pred", torch.bool), ("f8e4m3fn", torch.float8_e4m3fn), ("f8e5m2", torch.float8_e5m2)):
    def one(kind: str = kind, dtype: Any = dtype) -> Dict[str, Any]:
        k = warpburg.compile(unary(kind, operation="copy"))
        x = torch.arange(1000, device="cuda").remainder(100).to(torch.uint8)
        x = x.remainder(2).bool() if dtype == torch.bool else x.view(dtype)
        bits = x.view(torch.uint8)
        out = k.run(x, on="gpu", stream=now())
        facts = {"taken": "as it is"}
        try:
            y = torch.from_dlpack(out)
            assert y.dtype == dtype, y.dtype
        except (BufferError, RuntimeError) as e:  # a DLPack of PyTorch without floats of 8 bits
            if not kind.startswith("f8"):
                raise
            y, facts["taken"] = torch.from_dlpack(out.view("u8")).view(dtype), f"as u8: {e}"[:120]
        assert torch.equal(y.view(torch.uint8), bits), (y, x)
        assert k.run(x.cpu()).tobytes() == bits.cpu().numpy().tobytes(), "a tensor of the host"
        return facts
    one.__name__ = "type_" + kind
    trial(one)


@trial
def refused() -> Dict[str, Any]:
    """What is no row-major array without a gradient is refused with a reason."""
    k = warpburg.compile(unary("f32").replace("[1000]", "[10,100]"))
    said = {}
    for name, x in (("transposed", torch.zeros(100, 10, device="cuda").T), ("on_host", torch.zeros(10, 100)),
                    ("type", torch.zeros(10, 100, device="cuda", dtype=torch.float64)),
                    ("shape", torch.zeros(100, 10, device="cuda")), ("gradient", torch.zeros(10, 100, device="cuda", requires_grad=True))):
        try:
            out = k.run(x, on="gpu")
            said[name] = type(out).__name__
        except Exception as e:
            said[name] = f"{type(e).__name__}: {e}"[:150]
    assert "ValueError" in said["transposed"] and "TypeError" in said["type"] and "TypeError" in said["shape"], said
    assert said["on_host"] == "ndarray", said
    return said


@trial
def memory_is_given_back() -> Dict[str, Any]:
    k = warpburg.compile(unary("f32", 64 << 20))
    x = torch.zeros(64 << 20, device="cuda")
    torch.cuda.synchronize()
    k.run(x, on="gpu")
    free = torch.cuda.mem_get_info()[0]
    for _ in range(20):
        y = torch.from_dlpack(k.run(x, on="gpu", stream=now()))
        del y
    torch.cuda.synchronize()
    left = free - torch.cuda.mem_get_info()[0]
    assert left <= 2 << 30, left  # 20 outputs are 5 GiB; other parts take memory at the same time
    return {"bytes_less": left}


@trial
def aligned_views() -> Dict[str, Any]:
    """A view whose first element is not aligned as the kernel asks for."""
    k = warpburg.compile(unary("f32"))
    base = torch.arange(1004, device="cuda", dtype=torch.float32)
    try:
        k.run(base[1:1001], on="gpu")
        said = "ran"
    except warpburg.Error as e:
        said = str(e)
    assert "aligned" in said, said
    y = torch.from_dlpack(k.run(base[4:], on="gpu", stream=now()))
    assert torch.equal(y, -base[4:])
    return {"said": said}


def recorded(text: str, shape: Tuple[int, ...], reference: Callable[[Any], Any], temporaries: bool,
             limit: float = 1e-5, layout: Optional[str] = None) -> Dict[str, Any]:
    """A run with addresses of its own in a graph, replayed on new inputs."""
    k = warpburg.compile(text, layout=layout)
    loaded = Loaded(k._pointer)
    x = torch.randn(*shape, device="cuda")
    out = torch.empty(k.outputs[0].shape, device="cuda")
    kept, addresses = [], []
    for b in k.buffers:
        if b.role == "temporary" and temporaries:
            kept.append(torch.empty(b.bytes + 16, dtype=torch.uint8, device="cuda"))
        addresses.append(x.data_ptr() if b.role == "operand" and b.input >= 0 else out.data_ptr() if b.role == "output" else kept[-1].data_ptr() if
                         b.role == "temporary" and temporaries else 0)
    packed = (ctypes.c_uint64 * len(addresses))(*addresses)
    torch.cuda.synchronize()
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        loaded.enqueue(now(), packed)
        loaded.enqueue(now(), packed)
    offs: List[float] = []
    for turn in range(4):
        x.copy_(torch.randn(*shape, device="cuda") + turn + 1)
        out.fill_(-1)
        g.replay()
        torch.cuda.synchronize()
        offs.append(agree(out, reference(x), limit))
    return {"off": max(offs)}


@trial
def graph_softmax() -> Dict[str, Any]:
    return recorded(SOFTMAX, (512, 2048), lambda x: torch.softmax(x, -1), True)


@trial
def graph_cluster() -> Dict[str, Any]:
    return recorded(CLUSTER, (64, 32768), lambda x: torch.softmax(x, -1), True)


@trial
def graph_cluster_16() -> Dict[str, Any]:
    return recorded(CLUSTER, (64, 32768), lambda x: torch.softmax(x, -1), True, layout=CLUSTER16)


@trial
def graph_ticket_own_temporaries() -> Dict[str, Any]:
    return recorded(SUM, (2097152,), lambda x: x.double().sum(), True, 1e-3)


@trial
def graph_ticket_memory_of_the_pool() -> Dict[str, Any]:
    return recorded(SUM, (2097152,), lambda x: x.double().sum(), False, 1e-3)


@trial
def graph_of_run() -> Dict[str, Any]:
    """Kernel.run itself inside a graph: loaded and allocated while it is recorded."""
    k = warpburg.compile(SOFTMAX)
    x = torch.randn(512, 2048, device="cuda")
    torch.cuda.synchronize()
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        out = k.run(x, on="gpu", stream=now())
        y = torch.from_dlpack(out)
    x.copy_(torch.randn(512, 2048, device="cuda"))
    g.replay()
    torch.cuda.synchronize()
    return {"off": agree(y, torch.softmax(x, -1))}


ended()
