"""JAX operations of kernels and programs: under jit, vmap and shard_map, on the CPU in the simulator, on a GPU on XLA's own stream.

    op = warpburg.jax.compile(lambda x, y: jax.nn.gelu(x) * y, x, y)     # a function: op.kernel, or op.program where it is more than one fusion
    op = warpburg.jax.call(warpburg.compile(hlo))                        # or HLO text
    jax.jit(op)(x, y)

The operation is a custom call of XLA's typed foreign function interface, whose handlers are in the C library: installing it takes neither
jaxlib's headers nor a compiler. Arrays have XLA's default layouts; types under 8 bits are refused. On a GPU kernels are launched on XLA's
stream, and may be recorded into a command buffer. A program may not: it waits for library calls, which the host computes, and for the conditions
of loops. Both have run on an H200, with jax 0.11.2.
"""
from __future__ import annotations

import os
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, Union

import jax
import numpy

from . import _kernel, _program
from ._library import lib

OLDEST = (0, 5)  # before it jax.ffi does not exist
if jax.__version_info__ < OLDEST:
    raise ImportError(f"warpburg.jax needs jax {'.'.join(map(str, OLDEST))} or newer, and this is jax {jax.__version__}; warpburg alone needs none")

_TARGET, _PROGRAM = "warpburg", "warpburg_program"
_kept: List[Any] = []             # what operations run: executables of XLA refer to them as long as the process lives
_registered: Dict[str, bool] = {}


def _register() -> None:
    if not _registered:
        for name, on_gpu in ((_TARGET, lib.wb_xla_call_on_gpu), (_PROGRAM, lib.wb_xla_call_program_on_gpu)):
            jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(lib.wb_xla_call_on_host), platform="cpu")
            jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(on_gpu), platform="CUDA")
        _registered["cpu"] = True


def call(kernel: Union[_kernel.Kernel, _program.Program], *, vmap: str = "loop", threads: int = 1) -> Callable[..., Any]:
    """The kernel or program as a function of JAX arrays, of the types and shapes of its `inputs`; it returns one array, or a tuple. In
    jax.shard_map it runs on each device's part, whose shape `inputs` must have.

    vmap: how a batch is computed. "loop": a loop of XLA around the operation, where what is not batched stays as it is. "inside": one
    operation, whose handler runs the kernel for each element of the batch; all operands are broadcast to it first. To compile the batched
    shape, use warpburg.jax.compile(jax.vmap(f), ..). threads: of the simulator.
    """
    methods = {"loop": "sequential", "inside": "broadcast_all"}
    if vmap not in methods:
        raise ValueError(f'vmap={vmap!r}: "loop" or "inside" expected')
    for what, specs in (("input", kernel.inputs), ("output", kernel.outputs)):
        for i, s in enumerate(specs):
            if s.type in ("s2", "u2", "s4", "u4", "f4e2m1fn"):
                raise TypeError(f"{what} {i} of {kernel.name} is {s}: types under 8 bits are not passed to XLA")
            if jax.dtypes.canonicalize_dtype(s.dtype) != s.dtype:
                raise TypeError(f"{what} {i} of {kernel.name} is {s}: jax has no such type unless jax_enable_x64 is set")
    _register()
    whole = isinstance(kernel, _program.Program)
    handle = (lib.wb_xla_new_program if whole else lib.wb_xla_new)(kernel._pointer, threads)
    if not handle:
        raise MemoryError
    _kept.append((kernel, handle))
    temporaries = [] if whole else [b.bytes for b in kernel.buffers if b.role == "temporary"]
    results = [jax.ShapeDtypeStruct(s.shape, s.dtype) for s in kernel.outputs] + [jax.ShapeDtypeStruct((n,), numpy.uint8) for n in temporaries]
    operation = jax.ffi.ffi_call(_PROGRAM if whole else _TARGET, results, vmap_method=methods[vmap])
    process = numpy.int64(lib.wb_xla_process())

    def run(*arrays: Any) -> Any:
        if len(arrays) != len(kernel.inputs):
            raise TypeError(f"{kernel.name} takes {len(kernel.inputs)} arrays, {len(arrays)} given")
        arrays = tuple(jax.numpy.asarray(x) for x in arrays)
        for i, (x, s) in enumerate(zip(arrays, kernel.inputs)):
            if x.dtype != s.dtype or x.shape != s.shape:
                raise TypeError(f"input {i} of {kernel.name} is {x.dtype}{list(x.shape)}; {s} expected")
        outputs = operation(*arrays, kernel=numpy.int64(handle), process=process)[:len(kernel.outputs)]
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    run.__name__ = kernel.name
    run.__doc__ = repr(kernel)
    setattr(run, "program" if whole else "kernel", kernel)
    return run


def lower(f: Callable[..., Any], *args: Any) -> str:
    """The HLO text of a function at the types and shapes of `args` (arrays, or jax.ShapeDtypeStructs; trees of them), all in row-major order."""
    text = jax.jit(f, keep_unused=True).lower(*args).compiler_ir("hlo").as_hlo_text(print_large_constants=True)
    return _program.row_major(text)


def compile(f: Callable[..., Any], *args: Any, target: str = "sm_90", accuracy: str = "exact", vmap: str = "loop", threads: int = 1,
            layout: Optional[str] = None, program: Optional[bool] = None, cut: str = "priced", deterministic: bool = False) -> Callable[..., Any]:
    """Compiles a function at the types and shapes of `args`, and returns an operation of the same arguments and result. Its attribute `kernel`
    is the Kernel where the function is one fusion, else `program` is the Program: kernels, library calls, loops. program=True: a Program in
    any case; False: a Kernel. Other options are those of warpburg.compile. Raises warpburg.Declined with a reason."""
    compiled = _program.compile(lower(f, *args), target=target, accuracy=accuracy, layout=layout, file=getattr(f, "__name__", "function"),
                                program=program, cut=cut, deterministic=deterministic)
    operation = call(compiled, vmap=vmap, threads=threads)
    shape = jax.tree_util.tree_structure(jax.eval_shape(f, *args))
    if shape.num_leaves != len(compiled.outputs):
        raise TypeError(f"the function returns {shape.num_leaves} arrays, what was compiled of it {len(compiled.outputs)}")

    def run(*given: Any) -> Any:
        out = operation(*jax.tree_util.tree_leaves(given))
        return jax.tree_util.tree_unflatten(shape, [out] if len(compiled.outputs) == 1 else out)

    run.__name__, run.__doc__ = compiled.name, repr(compiled)
    setattr(run, "program" if isinstance(compiled, _program.Program) else "kernel", compiled)
    return run


class Comparison(NamedTuple):
    """A function cut into kernels by warpburg (`ours`) and by XLA:GPU (`xla`), both compiled by warpburg for one target, so that what differs is
    the cut alone. Library calls have no time in either; `refused` kernels of XLA's have none in its."""
    ours: _program.ProgramProfile
    xla: _program.ProgramProfile
    our_program: _program.Program
    xla_program: _program.Program

    def _rows(self) -> List[Tuple[str, str, str]]:
        a, b = self.ours, self.xla
        rows = [(word, str(getattr(a, word)), str(getattr(b, word))) for word in ("kernels", "launches", "library", "loops", "refused")]
        us = [("modelled us", f"{1e6 * a.seconds:.2f}", f"{1e6 * b.seconds:.2f}"), ("of it launches", f"{1e6 * a.launch:.2f}", f"{1e6 * b.launch:.2f}")]
        return us + rows + [("bytes at the peak", f"{self.our_program.memory.peak:,}", f"{self.xla_program.memory.peak:,}")]

    def __str__(self) -> str:
        head = [(f"{self.our_program.name} for {self.our_program.target}", "warpburg's cut", "XLA's cut")]
        return "\n".join(f"{a:<32} {b:>16} {c:>16}" for a, b, c in head + self._rows())

    def __repr__(self) -> str:
        return f"<warpburg.jax.Comparison {1e6 * self.ours.seconds:.2f} us, XLA's fusions {1e6 * self.xla.seconds:.2f} us>"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{a}</td><td>{b}</td><td>{c}</td></tr>" for a, b, c in self._rows())
        return f"<table><tr><th></th><th>warpburg's cut</th><th>XLA's cut</th></tr>{rows}</table>"


def compare(f: Callable[..., Any], *args: Any, xla: Union[str, "os.PathLike[str]", None] = None, target: str = "sm_90", accuracy: str = "exact",
            blocks: int = 12) -> Comparison:
    """Models the time of a function's kernels as warpburg cuts it, and as XLA:GPU does.

    xla: the HLO text that XLA:GPU's passes leave, or its path: what jax.jit(f).lower(..).compile().as_text() is where jax has a GPU (then it is
    made here if it is not given), or the file *_gpu_after_optimizations.txt that --xla_dump_to leaves. jax on the CPU has no such text: the
    fusions of XLA:CPU are other ones. It must be of the same arguments and results. blocks: a sample of so many blocks of each kernel runs.
    """
    if xla is None:
        if jax.default_backend() != "gpu":
            raise ValueError("jax has no GPU here, and XLA:CPU's fusions are not those of a GPU: xla= the text that XLA:GPU's passes leave")
        xla = jax.jit(f, keep_unused=True).lower(*args).compile().as_text()
    more: Dict[str, Any] = {"target": target, "accuracy": accuracy, "program": True}
    ours = _program.compile(lower(f, *args), file=getattr(f, "__name__", "function"), **more)
    theirs = _program.compile(xla, file=None if isinstance(xla, os.PathLike) else "XLA's text", partial=True, **more)
    for what, a, b in (("arguments", ours.inputs, theirs.inputs), ("results", ours.outputs, theirs.outputs)):
        if a != b:
            raise ValueError(f"XLA's text is of another function: its {what} are {', '.join(map(str, b))}; {', '.join(map(str, a))} expected")
    return Comparison(ours.profile(blocks=blocks), theirs.profile(blocks=blocks), ours, theirs)
