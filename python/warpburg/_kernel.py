"""Kernels: compile, Kernel, and what running one leaves."""
from __future__ import annotations

import ctypes
import html
import json
import os
import re
import weakref
from ctypes import byref, c_void_p
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy

from . import _library
from ._arrays import DeviceArray, Loaded, Memory, Spec, dtype_of, memory_of, untraced
from ._library import Error, HloError, called, error_of, lib, text
from ._watched import Watched


class Buffer(NamedTuple):
    """A buffer of device memory. `role` is operand, output or temporary; `contents` what it must hold before the first launch: anything,
    zeros, a copy of buffer `copy_of`, or zeros that each run leaves again (ticket). Elements lie in the order of `minor_to_major`."""
    role: str
    number: int
    bytes: int
    align: int
    contents: str
    copy_of: int
    may_alias: Tuple[int, ...]
    type: str
    bits: int
    shape: Tuple[int, ...]
    minor_to_major: Tuple[int, ...]
    input: int
    constant: Optional["numpy.ndarray[Any, Any]"]


class Launch(NamedTuple):
    """A launch: argument i of the PTX kernel `entry` is the address of buffer arguments[i]. `shared_bytes` is dynamic shared memory."""
    entry: str
    grid: Tuple[int, int, int]
    block: Tuple[int, int, int]
    cluster: Tuple[int, int, int]
    shared_bytes: int
    arguments: Tuple[int, ...]


class Verdict(NamedTuple):
    """What a check found; true if nothing is wrong. `max_ulp`: the largest distance from an evaluation in f64, in units in the last place."""
    ok: bool
    compared: int
    outside: int
    max_ulp: float
    faults: Tuple[str, ...]
    report: str

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        return self.report


class Profile:
    """The time of a kernel on its GPU, as modelled: `seconds` of all launches; of the longest one `launch`, `latency`, `work` and `tail`, in
    seconds, and what `binds` its work. str() is the report, `data` all numbers, `html` a page, which a notebook shows."""

    def __init__(self, t: _library.Time, result: _library.Result) -> None:
        self.seconds, self.launch, self.latency, self.work, self.tail = t.seconds, t.launch, t.latency, t.work, t.tail
        self.binds, self.text, self.html = t.binds.decode(), result.text, result.html
        self.data: Dict[str, Any] = json.loads(result.json)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<warpburg.Profile {1e6 * self.seconds:.2f} us, bound by {self.binds or 'nothing'}>"

    def _repr_html_(self) -> str:
        return Page(self.html)._repr_html_()


class Page(str):
    """The text of an HTML page that loads nothing; a notebook shows it. pathlib.Path("page.html").write_text(page) keeps it."""

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html.escape(self)}" style="width:100%;height:40em;border:0"></iframe>'


def folder_name(folder: Union[str, "os.PathLike[str]"]) -> str:
    name = os.fspath(folder)
    if "\0" in name:
        raise ValueError("the name of a folder has a NUL byte")
    return name


def specs_of(kernel: c_void_p, function: Any) -> Tuple[Spec, ...]:
    a = _library.Array()
    out: List[Spec] = []
    while function(kernel, len(out), byref(a)):
        out.append(Spec(text(a.type), tuple(a.dims[i] for i in range(a.rank)), a.bytes))
    return tuple(out)


class Context:
    """Owns kernels and programs: it is freed when none of their objects is left."""

    def __init__(self) -> None:
        self.pointer = lib.wb_context_new()
        if not self.pointer:
            raise MemoryError
        weakref.finalize(self, lib.wb_context_free, self.pointer)

    def call(self, function: Any, *arguments: Any) -> int:
        """Calls a function that compiles in this context, or asks how."""
        w = Watched(self)
        lib.wb_context_on_progress(self.pointer, w.options.progress, None)
        try:
            return w.call(function, self.pointer, *arguments)
        finally:
            lib.wb_context_on_progress(self.pointer, None, None)

    def expect(self, failed: Callable[[str], Error], function: Any, *arguments: Any) -> None:
        status = self.call(function, *arguments)
        if status:
            raise error_of(status, text(lib.wb_messages(self.pointer)), lib.wb_declined(self.pointer), failed)


_STAGES = ("hlo", "maps", "graph", "plan", "ir", "llvm", "ptx", "json", "trace")
# Of a plan's text: "    18.91 us, DRAM 15.04: columns: vector 4, lane 32"
_PRICED = re.compile(r"(?m)^    [0-9.]+ us, [^:\n]*: (.+)$")


def c_options(options: Dict[str, Any]) -> _library.Options:
    return _library.Options(target=options["target"].encode(), accuracy=_library.ACCURACIES.index(options["accuracy"]), align=options["align"],
                            lines=options["lines"], cubin=options["cubin"], layout=(options["layout"] or "").encode() or None,
                            deterministic=options["deterministic"])


def memory_for(name: str, specs: Sequence[Spec], arrays: Sequence[Any], stream: int = 0) -> List[Memory]:
    """The memory of arrays that must be of these types and shapes."""
    if len(arrays) != len(specs):
        raise TypeError(f"{name} takes {len(specs)} arrays, {len(arrays)} given")
    return [memory_of(f"input {i}", x, s, stream) for i, (x, s) in enumerate(zip(arrays, specs))]


def addresses_of(memory: Sequence[Memory]) -> Any:
    return (c_void_p * max(len(memory), 1))(*(m.address for m in memory))


def outputs_of(specs: Sequence[Spec]) -> Tuple[List[Any], Any]:
    """New arrays of the host of these types and shapes, and their addresses."""
    outputs = [numpy.empty(s.shape, s.dtype) for s in specs]
    return outputs, (c_void_p * max(len(outputs), 1))(*(o.ctypes.data for o in outputs))


def one_or_all(outputs: List[Any]) -> Any:
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


class Kernel:
    """A compiled fusion. Threads may use one at once. `inputs` and `outputs` are the arrays of the entry: type and shape."""

    def __init__(self, hlo: str, file: str, options: Dict[str, Any]) -> None:
        context, data, pointer = Context(), hlo.encode(), c_void_p()
        context.expect(HloError, lib.wb_compile, file.encode(), data, len(data), byref(c_options(options)), byref(pointer))
        self._take(pointer, file, options, context)

    @classmethod
    def _of(cls, pointer: c_void_p, file: str, options: Dict[str, Any], context: Context) -> "Kernel":
        """A kernel that is in the context already."""
        k = cls.__new__(cls)
        k._take(pointer, file, options, context)
        return k

    def _take(self, pointer: c_void_p, file: str, options: Dict[str, Any], context: Context) -> None:
        self._pointer, self._options, self._file, self._context = pointer, options, file, context
        self._loaded: Optional[Loaded] = None
        self.tried: Dict[str, float] = {}
        self.name, self.target, self.accuracy = text(lib.wb_kernel_name(self._pointer)), text(lib.wb_kernel_target(self._pointer)), options["accuracy"]
        self.inputs = specs_of(self._pointer, lib.wb_kernel_input)
        self.outputs = specs_of(self._pointer, lib.wb_kernel_output)

    def __reduce__(self) -> Any:
        """A copy, or one that is unpickled, is compiled anew, to the same bytes."""
        return Kernel, (self.hlo, self._file, self._options)

    # --- what it is ---
    @property
    def ptx(self) -> str:
        return text(lib.wb_kernel_ptx(self._pointer))

    @property
    def hlo(self) -> str:
        return text(lib.wb_kernel_hlo(self._pointer))

    @property
    def json(self) -> str:
        """The text of kernel.json: buffers, launches, orders of reductions."""
        return text(lib.wb_kernel_json(self._pointer))

    @property
    def cubin(self) -> bytes:
        """Machine code, made when it is asked for. Raises an Error where ptxas is not found."""
        n, missing = ctypes.c_size_t(), ctypes.c_char_p()
        at = lib.wb_kernel_cubin(self._pointer, byref(n), byref(missing))
        if not at and not self._options["cubin"]:
            return Kernel(self.hlo, self._file, {**self._options, "cubin": True}).cubin
        if not at:
            raise Error(f"no machine code: {text(missing.value)}")
        return ctypes.string_at(at, n.value)

    def save(self, folder: Union[str, "os.PathLike[str]"]) -> None:
        """Writes a folder from which warpburg.load takes the kernel without compiling: PTX, launches and plan, machine code where there is ptxas,
        the text, the options, and hashes of all. `warpburg run FOLDER` takes it, too."""
        called(lib.wb_kernel_write, self._pointer, folder_name(folder).encode())

    def explain(self) -> str:
        """Why the kernel is as it is: its layout, the widths of accesses, the functions that are linked."""
        return text(lib.wb_kernel_explain(self._pointer))

    def emit(self, stage: str) -> str:
        """What the compile is at a stage: hlo, maps, graph, plan (the layout among it), ir, llvm, ptx with comments; or trace, the rules that
        fired. It is compiled once more."""
        if stage not in _STAGES:
            raise ValueError(f"stage={stage!r}: one of {', '.join(_STAGES)} expected")
        return called(lib.wb_kernel_emit, self._pointer, stage.encode()).text

    @property
    def plan(self) -> str:
        return self.emit("plan")

    @property
    def ir(self) -> str:
        return self.emit("ir")

    @property
    def trace(self) -> str:
        """The rules that fired, each with its file and line, and what it made of what."""
        return self.emit("trace")

    @property
    def layouts(self) -> List[str]:
        """The texts of the layouts that were about as cheap by price, the chosen one first; each may be compile's `layout`."""
        return _PRICED.findall(self.plan)

    def tuned(self, *, case: str = "w", seed: int = 0, blocks: int = 12) -> "Kernel":
        """This kernel, or that of another of its `layouts` if it takes less time in the profile of a sample of blocks, which counts what a price
        estimates. The order of sums follows from the layout. The kernel has `tried`: seconds for each layout."""
        kernels: Dict[str, Kernel] = {}
        for layout in self.layouts:
            kernels[layout] = Kernel(self.hlo, self._file, {**self._options, "layout": layout}) if kernels else self
        tried = {layout: k.profile(case=case, seed=seed, blocks=blocks).seconds for layout, k in kernels.items()}
        best = kernels[min(tried, key=tried.__getitem__)] if tried else self
        best.tried = tried
        return best

    @property
    def buffers(self) -> List[Buffer]:
        b = _library.Buffer()
        out: List[Buffer] = []
        while lib.wb_kernel_buffer(self._pointer, len(out), byref(b)):
            shape, kind = tuple(b.dims[i] for i in range(b.rank)), text(b.type)
            constant = None
            if b.constant:
                dtype = dtype_of(kind)
                size = int(numpy.prod(shape, dtype=numpy.int64)) * dtype.itemsize
                constant = numpy.frombuffer(ctypes.string_at(b.constant, size), dtype).reshape(shape)
            out.append(Buffer(_library.ROLES[b.role], b.number, b.bytes, b.align, _library.CONTENTS[b.contents], b.copy_of,
                              tuple(b.may_alias[i] for i in range(b.n_may_alias)), kind, b.bits, shape,
                              tuple(b.minor_to_major[i] for i in range(b.rank)), b.input, constant))
        return out

    @property
    def launches(self) -> List[Launch]:
        x = _library.Launch()
        out: List[Launch] = []
        while lib.wb_kernel_launch(self._pointer, len(out), byref(x)):
            out.append(Launch(text(x.entry), tuple(x.grid), tuple(x.block), tuple(x.cluster), x.shared_bytes,
                              tuple(x.arguments[i] for i in range(x.n_arguments))))
        return out

    def statistics(self) -> Dict[str, Any]:
        """The record of `warpburg stats`: instructions, registers, bytes, rules that fired."""
        return dict(json.loads(called(lib.wb_kernel_statistics, self._pointer).json))

    # --- running it ---
    @untraced
    def run(self, *arrays: Any, on: str = "sim", threads: int = 1, stream: Any = None) -> Any:
        """Runs the kernel: an array for each of `inputs`, of its type and shape; returns the output, or a tuple of them.

        on="sim": in the simulator, on arrays of the host (numpy with ml_dtypes, or anything with DLPack or __array__); returns numpy arrays.
        `threads` of the host run blocks. A fault of the kernel raises Fault.
        on="gpu": arrays of the host are copied there and back; arrays on the GPU (CuPy, PyTorch, JAX, DeviceArray: by
        __cuda_array_interface__ or DLPack) are used in place, the run is enqueued on `stream` (an int; None: the default one) without
        waiting, and DeviceArrays are returned. Where there is no GPU it raises Declined with reason no_gpu.
        """
        memory = self._memory(arrays, int(stream or 0))
        if on not in ("sim", "gpu"):
            raise ValueError(f'on={on!r}: "sim" or "gpu" expected')
        if any(m.on_gpu for m in memory):
            if on == "sim" or not all(m.on_gpu for m in memory):
                raise ValueError("some arrays are on a GPU: all must be, and on=\"gpu\"")
            return one_or_all(self._enqueue(memory, int(stream or 0)))
        outputs, into = outputs_of(self.outputs)
        if on == "gpu":
            called(lib.wb_gpu_run, self._pointer, addresses_of(memory), into, 0)
        else:
            w = Watched(self, memory, outputs, threads=threads)
            w.called(lib.wb_kernel_run, self._pointer, addresses_of(memory), into, byref(w.options))
        return one_or_all(outputs)

    __call__ = run

    def check(self, *arrays: Any, case: str = "w", seed: int = 0, blocks: int = 0, threads: int = 1) -> Verdict:
        """Runs the kernel in the simulator, checks every access to memory, and compares each element with the bounds of what the HLO text
        allows. Without arrays inputs are made: `case` w, n, e, p, d, t, u, s or c (warpburg.h), by `seed`. `blocks`: only a sample of so many."""
        memory, v = self._memory(arrays) if arrays else [], _library.Verdict()
        w = Watched(self, memory, threads=threads, case=case, seed=seed, blocks=blocks)
        wrong, report = w.checked(lib.wb_kernel_check, self._pointer, addresses_of(memory) if arrays else None, byref(w.options), byref(v))
        return Verdict(not wrong, v.compared, v.outside, v.max_ulp, wrong, report)

    def profile(self, *arrays: Any, case: str = "w", seed: int = 0, blocks: int = 0) -> Profile:
        """Models the kernel's time on its GPU, from a run in the simulator (of a sample of so many blocks, if `blocks` is not 0)."""
        memory, t = self._memory(arrays) if arrays else [], _library.Time()
        w = Watched(self, memory, threads=1, case=case, seed=seed, blocks=blocks)
        given = addresses_of(memory) if arrays else None
        return Profile(t, w.called(lib.wb_kernel_profile, self._pointer, given, byref(w.options), byref(t)))

    def page(self, *arrays: Any, case: str = "w", seed: int = 0, blocks: int = 0) -> Page:
        """What the kernel costs, as a page: HLO, IR, PTX and machine code with the share of each line."""
        return Page(self.profile(*arrays, case=case, seed=seed, blocks=blocks).html)

    def _memory(self, arrays: Sequence[Any], stream: int = 0) -> List[Memory]:
        return memory_for(self.name, self.inputs, arrays, stream)

    def _enqueue(self, memory: Sequence[Memory], stream: int) -> List[DeviceArray]:
        loaded = self._loaded = self._loaded or Loaded(self._pointer)
        for m in memory:
            if m.busy and m.address:
                loaded.wait(m.address)
                break
        outputs = [DeviceArray(loaded, s, stream) for s in self.outputs]
        addresses: List[int] = []
        for b in self.buffers:
            if tuple(b.minor_to_major) != tuple(reversed(range(len(b.shape)))) or (b.role != "temporary" and b.bits < 8):
                raise ValueError(f"buffer {len(addresses)} has an order of elements of its own: only arrays of the host are converted")
            at = memory[b.input].address if b.role == "operand" and b.input >= 0 else outputs[b.number].address if b.role == "output" else 0
            addresses.append(at)
        loaded.enqueue(stream, (ctypes.c_uint64 * max(len(addresses), 1))(*addresses))
        return outputs

    # --- shown ---
    def __repr__(self) -> str:
        ins, outs = ", ".join(map(str, self.inputs)), ", ".join(map(str, self.outputs))
        n = len(self.launches)
        return f"<warpburg.Kernel {self.name} for {self.target}: ({ins}) -> ({outs}), {n} launch{'es' * (n != 1)}>"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{x.entry}</td><td>{'x'.join(map(str, x.grid))}</td><td>{'x'.join(map(str, x.block))}</td></tr>" for x in self.launches)
        parts = "".join(f"<details><summary>{name}</summary><pre>{html.escape(body)}</pre></details>"
                        for name, body in (("why", self.explain()), ("PTX", self.ptx), ("HLO", self.hlo)))
        return f"<p>{html.escape(repr(self)[1:-1])}</p><table><tr><th>launch</th><th>grid</th><th>block</th></tr>{rows}</table>{parts}"


def targets() -> List[str]:
    """The names of all targets: sm_75, .."""
    out: List[str] = []
    while name := lib.wb_target_name(len(out)):
        out.append(text(name))
    return out
