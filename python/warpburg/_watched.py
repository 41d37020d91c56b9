"""Long calls of the library: Ctrl-C stops them, and a person is told how far they are."""
from __future__ import annotations

import _thread
import ctypes
import sys
import threading
import time
from ctypes import byref, c_char_p, c_int, c_int64, c_void_p
from typing import Any, List, Optional, Tuple

from ._library import CHECK, DECLINED, FAILED, Result, RunOptions, whole

_SOON = 2  # seconds in which nobody needs to be told
CASES = "wnepdtusc"  # of inputs that are made, wb_run_options
_Progress = ctypes.CFUNCTYPE(c_int, c_void_p, c_char_p, c_int64, c_int64)  # wb_progress


def _is_read() -> bool:
    """Whether a person sees what is written to stderr at once: a notebook's stream is of ipykernel, and no terminal."""
    return sys.stderr is not None and (sys.stderr.isatty() or type(sys.stderr).__module__.startswith("ipykernel"))


class Watched:
    """A long call that Ctrl-C stops, and that says on a terminal or in a notebook how far it is: after two seconds, on one line that is cleared at the end.

    A signal reaches Python in the main thread, and only between two of its instructions. So there the call is made by another thread,
    whose callback says whether it goes on; in other threads it is made as it is. `keep`: what the call uses, which must live as long as it.
    """

    def __init__(self, *keep: Any, threads: int = 1, case: str = "w", seed: int = 0, blocks: int = 0, on: str = "sim",
                 cases: str = CASES) -> None:
        if on not in ("sim", "gpu"):
            raise ValueError(f'on={on!r}: "sim" or "gpu" expected')
        seed = whole("seed", seed)
        for name, value in (("threads", threads), ("blocks", blocks)):
            if whole(name, value) < 0:
                raise ValueError(f"{name}={value}: 0 or more expected")
        if case not in tuple(cases):
            raise ValueError(f"case={case!r}: one of {', '.join(cases)} expected")
        self.at: Optional[Tuple[bytes, int, int]] = None
        self.since = 0.0  # when what `at` says was begun
        self.stop, self._width = 0, 0
        self.status: Optional[int] = None
        self._keep = keep
        self._callback = _Progress(self._report)
        self.options = RunOptions(threads=min(threads, 1 << 16), inputs=case.encode(), seed=seed % (1 << 64), blocks=min(blocks, (1 << 64) - 1),
                                  progress=ctypes.cast(self._callback, c_void_p), on_gpu=on == "gpu")

    def _report(self, _: Any, what: bytes, done: int, total: int) -> int:
        if not self.at or (what, total) != (self.at[0], self.at[2]):
            self.since = time.monotonic()
        self.at = (what, done, total)
        return self.stop

    def _show(self, seconds: float) -> bool:
        """Says how far the call is; false: there is nobody to read it, or it is too early."""
        at = self.at
        if not at or seconds < _SOON or not _is_read():
            return False
        what, done, total = at
        seconds = max(time.monotonic() - self.since, 1e-3)
        left = f", {done / seconds:.3g} a second, {(total - done) * seconds / done:.0f} s left" if done else ""
        self._write(f"{what.decode(errors='replace')}: {done} of {total}{left}")
        return True

    def _write(self, line: str) -> None:
        """Instead of what was written last; spaces over its rest, for a notebook knows no other way to clear a line."""
        print(f"\r{line.ljust(self._width)}{chr(13) * (not line)}", end="", file=sys.stderr, flush=True)
        self._width = len(line)

    def call(self, function: Any, *arguments: Any) -> int:
        """The status that the call returns; raises KeyboardInterrupt if that is why it was stopped."""
        if threading.current_thread() is not threading.main_thread():
            return int(function(*arguments))
        failed: List[BaseException] = []
        running = threading.Lock()  # Thread.join forgets a thread that runs on when it is interrupted
        running.acquire()

        def run() -> None:
            try:
                self.status = int(function(*arguments))
            except BaseException as e:
                failed.append(e)
            running.release()

        _thread.start_new_thread(run, ())
        since, shown, interrupted = time.monotonic(), False, False
        while self.status is None and not failed:
            try:
                while self.status is None and not failed and not running.acquire(timeout=0.2):
                    shown = self._show(time.monotonic() - since) or shown
            except KeyboardInterrupt:
                interrupted, self.stop = True, 1
        if shown:
            self._write("")
        if interrupted:
            raise KeyboardInterrupt
        if failed:
            raise failed[0]
        return int(self.status or 0)

    def called(self, function: Any, *arguments: Any) -> Result:
        r = Result()
        return r.take(self.call(function, *arguments, byref(r.pointer)))

    def checked(self, function: Any, *arguments: Any) -> Tuple[Tuple[str, ...], str]:
        """What a check found wrong, a message each, and its report."""
        r = Result()
        r.take(self.call(function, *arguments, byref(r.pointer)), (FAILED, DECLINED))
        return tuple(r.messages.splitlines()) if r.status == CHECK else (), r.text.rstrip("\n")
