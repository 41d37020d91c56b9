"""Long calls, a part of python_package.py: Ctrl-C stops them, and a person is told how far they are."""
from __future__ import annotations

import io
import os
import signal
import threading
import time
import unittest
import unittest.mock
from typing import Any, List

import numpy

import warpburg
from python_texts import unary


class Notebook(io.StringIO):
    """What a notebook's kernel has as sys.stderr: no terminal."""

    __module__ = "ipykernel.iostream"


class Watched(unittest.TestCase):
    def test_interrupt(self) -> None:
        """Ctrl-C stops a run, in one thread and in several, and the kernel can be run again."""
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))  # a shell's background ignores it
        k, x = warpburg.compile(unary("f32", 1 << 25, "exponential")), numpy.zeros(1 << 25, numpy.float32)
        for long in (lambda: k.run(x), lambda: k.run(x, threads=2), lambda: k.check(x), lambda: k.profile(x)):
            since = time.monotonic()
            threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            with self.assertRaises(KeyboardInterrupt):
                long()
            self.assertLess(time.monotonic() - since, 20)
        self.assertEqual(warpburg.compile(unary("f32", 4)).run(x[:4]).tolist(), [0] * 4)

    def test_compile(self) -> None:
        """Ctrl-C stops a compile where it says how far it is."""
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        told: List[bytes] = []

        def report(watched: Any, _: Any, what: bytes, done: int, total: int) -> int:
            told.append(what)
            os.kill(os.getpid(), signal.SIGINT)
            while not watched.stop:
                time.sleep(0.01)
            return watched.stop

        layer = "HloModule layer\nENTRY e { x = f32[64,64] parameter(0)  p = f32[64,64] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}" \
                "  ROOT y = f32[64,64] exponential(p) }"
        with unittest.mock.patch("warpburg._watched.Watched._report", report), self.assertRaises(KeyboardInterrupt):
            warpburg.compile(layer)
        self.assertEqual(told, [b"prices of kernels"])
        self.assertEqual(warpburg.compile(layer).summary.partition(";")[0], "1 kernel, 1 library call")

    def test_progress(self) -> None:
        """In a notebook too there is one line, which the next one covers, and which is gone at the end; elsewhere nothing."""
        def slow() -> int:
            for done in range(0, 100, 20):
                watched._report(None, b"blocks", done + 1, 100)
                time.sleep(0.25)
            return 0

        for stream, is_told in ((Notebook(), True), (io.StringIO(), False)):
            watched = warpburg._watched.Watched()
            with unittest.mock.patch("sys.stderr", stream), unittest.mock.patch("warpburg._watched._SOON", 0.3):
                self.assertEqual(watched.call(slow), 0)
            told = stream.getvalue().split("\r")
            self.assertEqual(len(told) > 3, is_told, told)
            if is_told:
                self.assertRegex(told[1], r"blocks: \d+ of 100, [\d.]+ a second, \d+ s left")
                self.assertEqual([t.strip() for t in told[-2:]], ["", ""])
                self.assertGreaterEqual(len(told[-2]), len(told[-3].rstrip()))
