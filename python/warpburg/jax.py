"""warpburg in JAX: under jit, vmap, grad and shard_map, on the CPU in the simulator, on a GPU on XLA's own stream.

    @warpburg.jax.jit                                                    # as jax.jit: what warpburg does not compile is left to XLA
    def f(x, w): ..
    print(f.parts(x, w))                                                 # its kernels and programs

    op = warpburg.jax.compile(lambda x, y: jax.nn.gelu(x) * y, x, y)     # one whole function: op.kernel, or op.program; or Declined
    op = warpburg.jax.call(warpburg.compile(hlo))                        # or HLO text
    jax.jit(op)(x, y)
"""
from __future__ import annotations

import os
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, Union

import jax

from . import _kernel, _program

OLDEST = (0, 5)  # before it jax.ffi does not exist
if jax.__version_info__ < OLDEST:
    raise ImportError(f"warpburg.jax needs jax {'.'.join(map(str, OLDEST))} or newer, and this is jax {jax.__version__}; warpburg alone needs none")

from . import _operation, _rules, _xla  # noqa: E402,F401
from ._jit import Part, Parts, jit, parts  # noqa: E402


class Operation:
    """A kernel or program as a function of JAX: `kernel`, or `program`, is what it runs."""

    def __init__(self, compiled: Union[_kernel.Kernel, _program.Program], run: Callable[..., Any]) -> None:
        self._run, self.__name__, self.__doc__ = run, compiled.name, repr(compiled)
        setattr(self, "program" if isinstance(compiled, _program.Program) else "kernel", compiled)

    def __call__(self, *arrays: Any) -> Any:
        return self._run(*arrays)

    def __repr__(self) -> str:
        return f"<warpburg.jax.Operation of {self.__doc__}>"


def call(kernel: Union[_kernel.Kernel, _program.Program], *, vmap: str = "loop", threads: int = 1) -> Operation:
    """The kernel or program as a function of JAX arrays, of the types and shapes of its `inputs`; it returns one array, or a tuple. In
    jax.shard_map it runs on each device's part, whose shape `inputs` must have.

    vmap: how a batch is computed. "loop": a loop of XLA around the operation, where what is not batched stays as it is. "inside": one
    operation, whose handler runs the kernel for each element of the batch; all operands are broadcast to it first. To compile the batched
    shape, use warpburg.jax.compile(jax.vmap(f), ..). threads: of the simulator.
    """
    operation = _xla.operation(kernel, vmap=vmap, threads=threads)

    def run(*arrays: Any) -> Any:
        if len(arrays) != len(kernel.inputs):
            raise TypeError(f"{kernel.name} takes {len(kernel.inputs)} arrays, {len(arrays)} given")
        arrays = tuple(jax.numpy.asarray(x) for x in arrays)
        for i, (x, s) in enumerate(zip(arrays, kernel.inputs)):
            if x.dtype != s.dtype or x.shape != s.shape:
                raise TypeError(f"input {i} of {kernel.name} is {x.dtype}{list(x.shape)}; {s} expected")
        return _kernel.one_or_all(operation(*arrays))

    return Operation(kernel, run)


def lower(f: Callable[..., Any], *args: Any) -> str:
    """The HLO text of a function at the types and shapes of `args` (arrays, or jax.ShapeDtypeStructs; trees of them), all in row-major order."""
    return _operation.text_of(f, *args)


def compile(f: Callable[..., Any], *args: Any, target: str = "sm_90", accuracy: str = "exact", vmap: str = "loop", threads: int = 1,
            layout: Optional[str] = None, program: Optional[bool] = None, cut: str = "priced", deterministic: bool = False,
            assume: str = "") -> Operation:
    """Compiles a function at the types and shapes of `args`, and returns an operation of the same arguments and result. Its attribute `kernel`
    is the Kernel where the function is one fusion, else `program` is the Program: kernels, library calls, loops. program=True: a Program in
    any case; False: a Kernel. Other options are those of warpburg.compile. Raises warpburg.Declined with a reason. Large arrays of the function's own
    are further inputs of the kernel or program."""
    tree = jax.tree_util.tree_structure(args)
    text, own, shape = _operation.with_own_arrays(f, *args)
    name = _operation.called_as(f)
    compiled = _program.compile(_operation.entry_called(text, name), target=target, accuracy=accuracy, layout=layout, file=name,
                                program=program, cut=cut, deterministic=deterministic, assume=assume)
    operation = call(compiled, vmap=vmap, threads=threads)
    if shape.num_leaves != len(compiled.outputs):
        raise TypeError(f"the function returns {shape.num_leaves} arrays, what was compiled of it {len(compiled.outputs)}")

    def run(*given: Any) -> Any:
        leaves, found = jax.tree_util.tree_flatten(given)
        if found != tree:
            raise TypeError(f"{name} takes arguments of the tree {tree}, and {found} was given")
        out = operation(*leaves, *own)
        return jax.tree_util.tree_unflatten(shape, [out] if len(compiled.outputs) == 1 else out)

    return Operation(compiled, run)


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
    ours = _program.compile(lower(f, *args), file=_operation.called_as(f), **more)
    theirs = _program.compile(xla, file=None if isinstance(xla, os.PathLike) else "XLA's text", partial=True, **more)
    for what, a, b in (("arguments", ours.inputs, theirs.inputs), ("results", ours.outputs, theirs.outputs)):
        if a != b:
            raise ValueError(f"XLA's text is of another function: its {what} are {', '.join(map(str, b))}; {', '.join(map(str, a))} expected")
    return Comparison(ours.profile(blocks=blocks), theirs.profile(blocks=blocks), ours, theirs)


__all__ = ["Comparison", "Operation", "Part", "Parts", "call", "compare", "compile", "jit", "lower", "parts"]
