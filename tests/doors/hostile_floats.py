"""The floating-point environment of a host that changed it: subnormals flushed (FTZ, DAZ: XLA:CPU's own threads), rounding upwards, operations that trap.

    hostile_floats.wrap(warpburg._library.lib, names)      # from now on each call of the library comes from such a thread, and must leave it so

Linux on x86-64 or aarch64, where the C library's fenv_t holds MXCSR or FPCR; elsewhere `wrap` returns False."""
from __future__ import annotations

import ctypes
import platform
from typing import Any, Iterable, List, NamedTuple, Optional

FE_DFL_ENV = ctypes.c_void_p(-1)


class Machine(NamedTuple):
    offset: int   # of the register in fenv_t
    control: int  # its bits that are no flags of exceptions
    hostile: int
    trapping: int  # the same, and invalid operations, divisions by zero and, on x86, subnormal operands trap


MACHINES = {"x86_64": Machine(28, 0xffc0, 0x8040 | 0x4000 | 0x1f80, 0x8040 | 0x4000 | 0x1f80 & ~0x380),  # FTZ, DAZ, upwards; all traps masked
            "aarch64": Machine(0, 0x07f79f00, 1 << 24 | 1 << 19 | 1 << 22, 1 << 24 | 1 << 19 | 1 << 22)}  # FZ, FZ16, upwards; few cores trap
HERE = MACHINES.get(platform.machine()) if platform.system() == "Linux" else None
_libm = ctypes.CDLL("libm.so.6") if HERE else None


def _environment() -> Any:
    buffer = ctypes.create_string_buffer(64)
    assert _libm and _libm.fegetenv(buffer) == 0
    return buffer


def _register(buffer: Any) -> ctypes.c_uint32:
    assert HERE
    return ctypes.c_uint32.from_buffer(buffer, HERE.offset)


def control() -> int:
    """The register of this thread, without the flags of exceptions."""
    assert HERE
    return _register(_environment()).value & HERE.control


class Host:
    """with Host(): the thread's environment is hostile. Behind it the thread has what it had before. At the end it must be hostile still, and no flag
    of an exception raised, unless `flags`: where other code computes, too."""

    def __init__(self, traps: bool = False, flags: bool = False) -> None:
        assert HERE
        self.wanted = HERE.trapping if traps else HERE.hostile
        self.seen = HERE.control if flags else 0xffffffff

    def __enter__(self) -> "Host":
        self.before = _environment()
        changed = _environment()
        _register(changed).value = self.wanted
        assert _libm
        _libm.fesetenv(changed)
        return self

    def __exit__(self, *_: Any) -> None:
        assert _libm and HERE
        after = _register(_environment()).value & self.seen
        _libm.fesetenv(self.before)
        assert after == self.wanted & self.seen, f"the floating-point environment of the thread was 0x{self.wanted:x} before the call, and is 0x{after:x}"


class _Library:
    """A ctypes library whose functions are called from a hostile thread."""

    def __init__(self, library: Any, names: Iterable[str], traps: bool) -> None:
        self._library = library
        self.called: List[str] = []
        for name in names:
            setattr(self, name, self._hostile(name, getattr(library, name), traps))

    def _hostile(self, name: str, function: Any, traps: bool) -> Any:
        def call(*arguments: Any) -> Any:
            self.called.append(name)
            with Host(traps):
                return function(*arguments)
        return call


def wrap(library: Any, names: Iterable[str], traps: bool = False) -> Optional[_Library]:
    return _Library(library, names, traps) if HERE else None
