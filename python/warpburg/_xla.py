"""Kernels and programs as custom calls of XLA's typed foreign function interface, whose handlers are in the C library: installing it takes neither
jaxlib's headers nor a compiler. Arrays have XLA's default layouts, and elements of whole bytes. On a GPU kernels are launched on XLA's stream, and may
be recorded into a command buffer. A program may not: it waits for library calls, which the host computes, and for the conditions of loops."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Union

import jax
import numpy

from . import _kernel, _program
from ._library import lib

PACKED = ("s2", "u2", "s4", "u4", "f4e2m1fn")  # types under 8 bits, which XLA's interface does not pass

_TARGET, _PROGRAM = "warpburg", "warpburg_program"
_kept: List[Any] = []             # what operations run: executables of XLA refer to them as long as the process lives
_registered: Dict[str, bool] = {}


def _register() -> None:
    if not _registered:
        for name, on_gpu in ((_TARGET, lib.wb_xla_call_on_gpu), (_PROGRAM, lib.wb_xla_call_program_on_gpu)):
            jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(lib.wb_xla_call_on_host), platform="cpu")
            jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(on_gpu), platform="CUDA")
        _registered["cpu"] = True


def operation(kernel: Union[_kernel.Kernel, _program.Program], *, vmap: str = "loop", threads: int = 1, in_place: Dict[int, int] = {}) -> Callable[..., Any]:
    """The kernel or program as a function of JAX arrays of exactly its types and shapes, which returns a list. `in_place`: inputs whose memory the
    outputs of these numbers may have."""
    methods = {"loop": "sequential", "inside": "broadcast_all"}
    if vmap not in methods:
        raise ValueError(f'vmap={vmap!r}: "loop" or "inside" expected')
    for what, specs in (("input", kernel.inputs), ("output", kernel.outputs)):
        for i, s in enumerate(specs):
            if s.type in PACKED:
                raise TypeError(f"{what} {i} of {kernel.name} is {s}: types under 8 bits are not passed to XLA")
            if jax.dtypes.canonicalize_dtype(s.dtype) != s.dtype:
                raise TypeError(f"{what} {i} of {kernel.name} is {s}: jax has no such type unless jax_enable_x64 is set")
    _register()
    whole = isinstance(kernel, _program.Program)
    handle = (lib.wb_xla_new_program if whole else lib.wb_xla_new)(kernel._pointer, threads)
    if not handle:
        raise MemoryError
    _kept.append((kernel, handle))
    temporaries = [] if isinstance(kernel, _program.Program) else [b.bytes for b in kernel.buffers if b.role == "temporary"]
    results = [jax.ShapeDtypeStruct(s.shape, s.dtype) for s in kernel.outputs] + [jax.ShapeDtypeStruct((n,), numpy.uint8) for n in temporaries]
    call = jax.ffi.ffi_call(_PROGRAM if whole else _TARGET, results, vmap_method=methods[vmap], input_output_aliases=in_place or None)
    number = numpy.int64(lib.wb_xla_number(handle))  # the same in every process: jax's cache on disk has executables with it
    return lambda *arrays: list(call(*arrays, kernel=number)[:len(kernel.outputs)])
