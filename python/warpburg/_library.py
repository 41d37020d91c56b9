"""The C library through ctypes: its structures and functions as include/warpburg.h declares them, and calls that raise.

ctypes, because it is part of Python: one wheel serves every Python version, and neither the one who builds it nor the one who installs it
needs more than the library itself. tests/doors/python_package.py compares the declarations below with the header. A call releases the
interpreter's lock, so kernels compile and run in parallel on Python's threads.
"""
from __future__ import annotations

import ctypes
import importlib.util
import operator
import os
import re
import sys
import weakref
from ctypes import POINTER, Structure, byref, c_char, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any, Callable, List, Optional, Sequence, Tuple

OK, FAILED, DECLINED, CHECK = 0, 1, 3, 4
ACCURACIES = ("exact", "approx", "xla")                  # wb_accuracy
ROLES = ("operand", "output", "temporary")               # wb_role
CONTENTS = ("anything", "zeros", "copy", "ticket")       # wb_contents
CUTS = ("priced", "plain")                               # wb_cut
KINDS = ("one_step", "several_steps", "with_calls", "several_fusions")  # wb_kind
PLACES = ("of_parameter", "of_result", "of_constant", "of_frame")  # wb_place
STEPS = ("step_kernel", "step_library", "step_copy", "step_loop", "step_branch", "step_call")  # wb_step_kind


class Options(Structure):
    _fields_ = [("target", c_char_p), ("accuracy", c_int), ("align", c_uint32), ("lines", c_int), ("cubin", c_int), ("layout", c_char_p),
                ("deterministic", c_int), ("backend", c_int)]


class Array(Structure):
    _fields_ = [("type", c_char_p), ("element_bytes", c_uint32), ("rank", c_uint32), ("dims", POINTER(c_int64)), ("bytes", c_uint64)]


class Buffer(Structure):
    _fields_ = [("role", c_int), ("number", c_uint32), ("bytes", c_uint64), ("align", c_uint32), ("contents", c_int), ("copy_of", c_int),
                ("may_alias", POINTER(c_int)), ("n_may_alias", c_uint32), ("type", c_char_p), ("bits", c_uint32), ("rank", c_uint32),
                ("dims", POINTER(c_int64)), ("minor_to_major", POINTER(c_int)), ("input", c_int), ("constant", c_void_p)]


class Launch(Structure):
    _fields_ = [("entry", c_char_p), ("grid", c_uint32 * 3), ("block", c_uint32 * 3), ("cluster", c_uint32 * 3), ("shared_bytes", c_uint32),
                ("arguments", POINTER(c_int)), ("n_arguments", c_uint32)]


class RunOptions(Structure):
    _fields_ = [("threads", c_uint32), ("inputs", c_char), ("seed", c_uint64), ("blocks", c_uint64),
                ("progress", c_void_p), ("progress_arg", c_void_p), ("on_gpu", c_int)]


class Verdict(Structure):
    _fields_ = [("compared", c_uint64), ("outside", c_uint64), ("max_ulp", c_double), ("faults", c_uint32)]


class Time(Structure):
    _fields_ = [("seconds", c_double), ("launch", c_double), ("latency", c_double), ("work", c_double), ("tail", c_double), ("binds", c_char * 32)]


class ProgramOptions(Structure):
    _fields_ = [("kernels", Options), ("cut", c_int), ("partial", c_int)]


class Memory(Structure):
    _fields_ = [("parameters", c_uint64), ("results", c_uint64), ("constants", c_uint64), ("temporaries", c_uint64), ("peak", c_uint64)]


class Computation(Structure):
    _fields_ = [("name", c_char_p), ("n_values", c_uint32), ("n_regions", c_uint32), ("n_steps", c_uint32), ("parameters", POINTER(c_uint32)),
                ("n_parameters", c_uint32), ("results", POINTER(c_uint32)), ("in_place", POINTER(c_int64)), ("n_results", c_uint32), ("frame", c_uint64)]


class Value(Structure):
    _fields_ = [("name", c_char_p), ("type", c_char_p), ("rank", c_uint32), ("dims", POINTER(c_int64)), ("minor_to_major", POINTER(c_int)),
                ("bytes", c_uint64), ("region", c_uint32), ("view_of", c_uint32),
                ("start", c_uint64), ("step", c_int64)]


class Region(Structure):
    _fields_ = [("place", c_int), ("number", c_uint32), ("bytes", c_uint64), ("offset", c_uint64), ("first", c_uint32), ("last", c_uint32),
                ("constant", c_void_p), ("splat", c_int)]


class Share(Structure):
    _fields_ = [("output", c_uint32), ("operand", c_uint32)]


class Swap(Structure):
    _fields_ = [("state", c_uint32), ("spare", c_uint32)]


class Step(Structure):
    _fields_ = [("kind", c_int), ("name", c_char_p), ("operation", c_char_p), ("text", c_char_p), ("kernel", c_int), ("reads", POINTER(c_uint32)),
                ("makes", POINTER(c_uint32)), ("n_reads", c_uint32), ("n_makes", c_uint32), ("in_place", POINTER(Share)), ("n_in_place", c_uint32),
                ("calls", POINTER(c_uint32)), ("taken", POINTER(c_uint32)), ("n_calls", c_uint32), ("flag", c_uint32), ("frame", c_int64),
                ("iterations", c_int64), ("swaps", POINTER(Swap)), ("n_swaps", c_uint32)]


class ProgramVerdict(Structure):
    _fields_ = [("kernels", c_uint64), ("library", c_uint64), ("copies", c_uint64), ("iterations", c_uint64), ("judged", c_uint64),
                ("compared", c_uint64), ("outside", c_uint64), ("max_ulp", c_double), ("whole_compared", c_uint64), ("whole_outside", c_uint64),
                ("whole_max_ulp", c_double)]


class ProgramTime(Structure):
    _fields_ = [("seconds", c_double), ("library_seconds", c_double), ("launch", c_double), ("launches", c_uint64), ("kernels", c_uint32),
                ("copies", c_uint32), ("library", c_uint32), ("loops", c_uint32), ("open_loops", c_uint32), ("refused", c_uint32)]


POINTERS = POINTER(c_void_p)  # const void *const *
OPAQUE = c_void_p             # wb_context, wb_kernel, wb_program, wb_result, wb_loaded

FUNCTIONS: List[Tuple[str, Any, Sequence[Any]]] = [  # name, result, parameters
    ("wb_version", c_char_p, []),
    ("wb_reason_name", c_char_p, [c_int]),
    ("wb_reason_text", c_char_p, [c_int]),
    ("wb_context_new", OPAQUE, []),
    ("wb_context_free", None, [OPAQUE]),
    ("wb_context_on_progress", None, [OPAQUE, c_void_p, c_void_p]),
    ("wb_target_name", c_char_p, [c_uint32]),
    ("wb_hlo_text", c_int, [c_char_p, c_void_p, c_size_t, POINTER(OPAQUE)]),
    ("wb_hlo_assume", c_int, [c_char_p, c_size_t, c_char_p, POINTER(OPAQUE)]),
    ("wb_compile", c_int, [OPAQUE, c_char_p, c_char_p, c_size_t, POINTER(Options), POINTER(OPAQUE)]),
    ("wb_messages", c_char_p, [OPAQUE]),
    ("wb_declined", c_int, [OPAQUE]),
    ("wb_kernel_free", None, [OPAQUE]),
    ("wb_kernel_name", c_char_p, [OPAQUE]),
    ("wb_kernel_target", c_char_p, [OPAQUE]),
    ("wb_kernel_ptx", c_char_p, [OPAQUE]),
    ("wb_kernel_json", c_char_p, [OPAQUE]),
    ("wb_kernel_hlo", c_char_p, [OPAQUE]),
    ("wb_kernel_explain", c_char_p, [OPAQUE]),
    ("wb_kernel_cubin", c_void_p, [OPAQUE, POINTER(c_size_t), POINTER(c_char_p)]),
    ("wb_kernel_input", c_int, [OPAQUE, c_uint32, POINTER(Array)]),
    ("wb_kernel_output", c_int, [OPAQUE, c_uint32, POINTER(Array)]),
    ("wb_kernel_buffer", c_int, [OPAQUE, c_uint32, POINTER(Buffer)]),
    ("wb_kernel_launch", c_int, [OPAQUE, c_uint32, POINTER(Launch)]),
    ("wb_kernel_ms", c_double, [OPAQUE, c_int, POINTER(c_char_p)]),
    ("wb_kernel_steps", c_int, [OPAQUE]),
    ("wb_result_messages", c_char_p, [OPAQUE]),
    ("wb_result_text", c_char_p, [OPAQUE]),
    ("wb_result_json", c_char_p, [OPAQUE]),
    ("wb_result_html", c_char_p, [OPAQUE]),
    ("wb_result_declined", c_int, [OPAQUE]),
    ("wb_result_free", None, [OPAQUE]),
    ("wb_kernel_run", c_int, [OPAQUE, POINTERS, POINTERS, POINTER(RunOptions), POINTER(OPAQUE)]),
    ("wb_kernel_check", c_int, [OPAQUE, POINTERS, POINTER(RunOptions), POINTER(Verdict), POINTER(OPAQUE)]),
    ("wb_kernel_profile", c_int, [OPAQUE, POINTERS, POINTER(RunOptions), POINTER(Time), POINTER(OPAQUE)]),
    ("wb_kernel_emit", c_int, [OPAQUE, c_char_p, POINTER(OPAQUE)]),
    ("wb_kernel_write", c_int, [OPAQUE, c_char_p, POINTER(OPAQUE)]),
    ("wb_kernel_read", c_int, [OPAQUE, c_char_p, POINTER(OPAQUE)]),
    ("wb_kernel_statistics", c_int, [OPAQUE, POINTER(OPAQUE)]),
    ("wb_kind_of", c_int, [c_char_p, c_size_t]), ("wb_library_calls", c_int, [c_char_p, c_size_t]),
    ("wb_better_apart", c_int, [OPAQUE, c_char_p, c_size_t, POINTER(Options)]),
    ("wb_program_compile", c_int, [OPAQUE, c_char_p, c_char_p, c_size_t, POINTER(ProgramOptions), POINTER(OPAQUE)]),
    ("wb_program_read", c_int, [OPAQUE, c_char_p, POINTER(ProgramOptions), POINTER(OPAQUE)]),
    ("wb_program_write", c_int, [OPAQUE, c_char_p, POINTER(OPAQUE)]),
    ("wb_program_free", None, [OPAQUE]),
    ("wb_program_name", c_char_p, [OPAQUE]),
    ("wb_program_target", c_char_p, [OPAQUE]),
    ("wb_program_hlo", c_char_p, [OPAQUE]),
    ("wb_program_json", c_char_p, [OPAQUE]),
    ("wb_program_summary", c_char_p, [OPAQUE]),
    ("wb_program_input", c_int, [OPAQUE, c_uint32, POINTER(Array)]),
    ("wb_program_output", c_int, [OPAQUE, c_uint32, POINTER(Array)]),
    ("wb_program_memory", None, [OPAQUE, POINTER(Memory)]),
    ("wb_program_kernels", c_uint32, [OPAQUE]),
    ("wb_program_kernel", OPAQUE, [OPAQUE, c_uint32]),
    ("wb_program_entry", c_uint32, [OPAQUE]),
    ("wb_program_computation", c_int, [OPAQUE, c_uint32, POINTER(Computation)]),
    ("wb_program_value", c_int, [OPAQUE, c_uint32, c_uint32, POINTER(Value)]),
    ("wb_program_region", c_int, [OPAQUE, c_uint32, c_uint32, POINTER(Region)]),
    ("wb_program_step", c_int, [OPAQUE, c_uint32, c_uint32, POINTER(Step)]),
    ("wb_program_run", c_int, [OPAQUE, POINTERS, POINTERS, POINTER(RunOptions), POINTER(OPAQUE)]),
    ("wb_program_check", c_int, [OPAQUE, POINTERS, POINTER(RunOptions), POINTER(ProgramVerdict), POINTER(OPAQUE)]),
    ("wb_program_profile", c_int, [OPAQUE, POINTER(RunOptions), POINTER(ProgramTime), POINTER(OPAQUE)]),
    ("wb_program_page", c_int, [OPAQUE, POINTER(RunOptions), POINTER(OPAQUE)]),
    ("wb_gpu_load", c_int, [OPAQUE, POINTER(OPAQUE), POINTER(OPAQUE)]),
    ("wb_gpu_load_program", c_int, [OPAQUE, POINTER(OPAQUE), POINTER(OPAQUE)]),
    ("wb_gpu_unload", None, [OPAQUE]),
    ("wb_gpu_enqueue", c_int, [OPAQUE, c_void_p, POINTER(c_uint64), POINTER(OPAQUE)]),
    ("wb_gpu_allocate", c_int, [OPAQUE, c_uint64, POINTER(c_uint64), POINTER(OPAQUE)]),
    ("wb_gpu_release", c_int, [OPAQUE, c_uint64, POINTER(OPAQUE)]),
    ("wb_gpu_write", c_int, [OPAQUE, c_uint64, c_void_p, c_uint64, POINTER(OPAQUE)]),
    ("wb_gpu_read", c_int, [OPAQUE, c_void_p, c_uint64, c_uint64, POINTER(OPAQUE)]),
    ("wb_gpu_run", c_int, [OPAQUE, POINTERS, POINTERS, c_uint32, POINTER(OPAQUE)]),
    ("wb_xla_new", OPAQUE, [OPAQUE, c_uint32]),
    ("wb_xla_new_program", OPAQUE, [OPAQUE, c_uint32]),
    ("wb_xla_free", None, [OPAQUE]),
    ("wb_xla_call_on_host", c_void_p, [c_void_p]),
    ("wb_xla_call_on_gpu", c_void_p, [c_void_p]),
    ("wb_xla_call_program_on_gpu", c_void_p, [c_void_p]),
    ("wb_xla_number", c_int64, [OPAQUE]),
]


def _tell_packages() -> None:
    """The folders of NVIDIA's packages that this Python has, where the library looks for ptxas and libdevice."""
    try:
        found = importlib.util.find_spec("nvidia")
    except (ImportError, ValueError):
        found = None
    if found and found.submodule_search_locations:
        os.environ.setdefault("WARPBURG_NVIDIA", ":".join(found.submodule_search_locations))


def _open() -> ctypes.CDLL:
    """The library: what WARPBURG_LIBRARY names, else the one beside this package, else the one that the system's loader finds."""
    here = Path(__file__).parent.parent / ".warpburg.mesonpy.libs" / "libwarpburg.so"
    _tell_packages()
    name = os.environ.get("WARPBURG_LIBRARY") or (str(here) if here.exists() else "libwarpburg.so.0.2")
    library = ctypes.CDLL(name)
    for function, result, parameters in FUNCTIONS:
        f = getattr(library, function)
        f.restype, f.argtypes = result, parameters
    return library


lib = _open()


class DefaultFloats:
    """with DefaultFloats(): numpy rounds to nearest and keeps subnormals, whatever this thread does otherwise: XLA:CPU's flush them. The library's own
    functions see to that themselves. On Linux alone, where the default environment of floats is known as address -1."""

    def __enter__(self) -> None:
        self.host = ctypes.create_string_buffer(64) if _process else None  # a fenv_t has 32 bytes at most
        if self.host and _process:
            _process.fegetenv(self.host)
            _process.fesetenv(c_void_p(-1))

    def __exit__(self, *_: Any) -> None:
        if self.host and _process:
            _process.fesetenv(self.host)


_process = ctypes.CDLL("libm.so.6") if sys.platform == "linux" else None


def whole(name: str, value: Any) -> int:
    """The argument of this name as a whole number."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name}={value!r}: a whole number expected") from None


def text(b: Optional[bytes]) -> str:
    return b.decode("utf-8", "replace") if b else ""


class Error(Exception):
    """What the library refuses. `file`, `line` and `column` say where, counted from 1 (None: not known); `message` says what."""

    def __init__(self, said: str) -> None:
        super().__init__(said.rstrip("\n").removeprefix("error: "))
        lines = said.splitlines()
        m = next((m for m in (re.match(r"(?:(.+?):)?(?:(\d+):)?(?:(\d+):)? ?(?:error|declined: \w+): (.*)", x) for x in lines) if m), None)
        self.file: Optional[str] = m[1] if m else None
        self.line: Optional[int] = int(m[2]) if m and m[2] else None
        self.column: Optional[int] = int(m[3]) if m and m[3] else None
        self.message: str = m[4] if m else said.rstrip("\n")


class HloError(Error, ValueError):
    """The HLO text, or an option, has an error."""


class Declined(Error):
    """The HLO text is well-formed, but not supported. `reason` is a word of a closed list, `explanation` a sentence about it."""

    def __init__(self, said: str, reason: int) -> None:
        super().__init__(said)
        self.reason: str = text(lib.wb_reason_name(reason))
        self.explanation: str = text(lib.wb_reason_text(reason))


class Fault(Error):
    """A kernel did what it must not do: an access out of bounds, a race, a wrong result."""


def error_of(status: int, said: str, reason: int, failed: Callable[[str], Error] = Error) -> Error:
    return Declined(said, reason) if status == DECLINED else Fault(said) if status == CHECK else failed(said)


class Result:
    """What a call left: messages and texts. Freed with this object."""

    def __init__(self) -> None:
        self.pointer = OPAQUE()

    def take(self, status: int, fails: Sequence[int] = (FAILED, DECLINED, CHECK)) -> "Result":
        """Takes over what the call set; raises what its status says."""
        if not self.pointer:
            raise MemoryError
        weakref.finalize(self, lib.wb_result_free, OPAQUE(self.pointer.value))
        self.status = status
        if status in fails:
            raise error_of(status, self.messages, lib.wb_result_declined(self.pointer))
        return self

    @property
    def messages(self) -> str:
        return text(lib.wb_result_messages(self.pointer))

    @property
    def text(self) -> str:
        return text(lib.wb_result_text(self.pointer))

    @property
    def json(self) -> str:
        return text(lib.wb_result_json(self.pointer))

    @property
    def html(self) -> str:
        return text(lib.wb_result_html(self.pointer))


def called(function: Any, *arguments: Any) -> Result:
    """function(*arguments, &result); raises unless it succeeds."""
    r = Result()
    return r.take(function(*arguments, byref(r.pointer)))
