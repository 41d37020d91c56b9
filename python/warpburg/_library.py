"""The C library through ctypes: its structures and functions as include/warpburg.h declares them, and calls that raise.

ctypes, because it is part of Python: one wheel serves every Python version, and neither the one who builds it nor the one who installs it
needs more than the library itself. tests/python_package.py compares the declarations below with the header. A call releases the
interpreter's lock, so kernels compile and run in parallel on Python's threads.
"""
from __future__ import annotations

import ctypes
import os
import re
import weakref
from ctypes import POINTER, Structure, byref, c_char, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any, Callable, List, Optional, Sequence, Tuple

OK, FAILED, DECLINED, CHECK = 0, 1, 3, 4
ACCURACIES = ("exact", "approx", "xla")                  # wb_accuracy
ROLES = ("operand", "output", "temporary")               # wb_role
CONTENTS = ("anything", "zeros", "copy", "ticket")       # wb_contents


class Options(Structure):
    _fields_ = [("target", c_char_p), ("accuracy", c_int), ("align", c_uint32), ("lines", c_int), ("cubin", c_int), ("layout", c_char_p)]


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
    _fields_ = [("threads", c_uint32), ("inputs", c_char), ("seed", c_uint64), ("blocks", c_uint64)]


class Verdict(Structure):
    _fields_ = [("compared", c_uint64), ("outside", c_uint64), ("max_ulp", c_double), ("faults", c_uint32)]


class Time(Structure):
    _fields_ = [("seconds", c_double), ("launch", c_double), ("latency", c_double), ("work", c_double), ("tail", c_double), ("binds", c_char * 32)]


POINTERS = POINTER(c_void_p)  # const void *const *
OPAQUE = c_void_p             # wb_context, wb_kernel, wb_result, wb_loaded

FUNCTIONS: List[Tuple[str, Any, Sequence[Any]]] = [  # name, result, parameters
    ("wb_version", c_char_p, []),
    ("wb_reason_name", c_char_p, [c_int]),
    ("wb_reason_text", c_char_p, [c_int]),
    ("wb_context_new", OPAQUE, []),
    ("wb_context_free", None, [OPAQUE]),
    ("wb_target_name", c_char_p, [c_uint32]),
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
    ("wb_kernel_statistics", c_int, [OPAQUE, POINTER(OPAQUE)]),
    ("wb_gpu_load", c_int, [OPAQUE, POINTER(OPAQUE), POINTER(OPAQUE)]),
    ("wb_gpu_unload", None, [OPAQUE]),
    ("wb_gpu_enqueue", c_int, [OPAQUE, c_void_p, POINTER(c_uint64), POINTER(OPAQUE)]),
    ("wb_gpu_allocate", c_int, [OPAQUE, c_uint64, POINTER(c_uint64), POINTER(OPAQUE)]),
    ("wb_gpu_release", c_int, [OPAQUE, c_uint64, POINTER(OPAQUE)]),
    ("wb_gpu_write", c_int, [OPAQUE, c_uint64, c_void_p, c_uint64, POINTER(OPAQUE)]),
    ("wb_gpu_read", c_int, [OPAQUE, c_void_p, c_uint64, c_uint64, POINTER(OPAQUE)]),
    ("wb_gpu_run", c_int, [OPAQUE, POINTERS, POINTERS, c_uint32, POINTER(OPAQUE)]),
    ("wb_xla_new", OPAQUE, [OPAQUE, c_uint32]),
    ("wb_xla_free", None, [OPAQUE]),
    ("wb_xla_call_on_host", c_void_p, [c_void_p]),
    ("wb_xla_call_on_gpu", c_void_p, [c_void_p]),
    ("wb_xla_process", c_int64, []),
]


def _open() -> ctypes.CDLL:
    """The library: what WARPBURG_LIBRARY names, else the one beside this package, else the one that the system's loader finds."""
    here = Path(__file__).parent.parent / ".warpburg.mesonpy.libs" / "libwarpburg.so"
    name = os.environ.get("WARPBURG_LIBRARY") or (str(here) if here.exists() else "libwarpburg.so.0.2")
    library = ctypes.CDLL(name)
    for function, result, parameters in FUNCTIONS:
        f = getattr(library, function)
        f.restype, f.argtypes = result, parameters
    return library


lib = _open()


def text(b: Optional[bytes]) -> str:
    return b.decode("utf-8", "replace") if b else ""


class Error(Exception):
    """What the library refuses. `file`, `line` and `column` say where, counted from 1 (None: not known); `message` says what."""

    def __init__(self, said: str) -> None:
        super().__init__(said.rstrip("\n"))
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
