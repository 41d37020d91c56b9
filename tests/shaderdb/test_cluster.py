"""shaderdb/run --cluster: a scheduler and two workers as processes of their own, one of them killed in the middle."""
from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import List

from common import SHADERDB, WARPBURG, run, write_corpus

try:
    import distributed  # noqa: F401
    HAVE = True
except ImportError:
    HAVE = False


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@unittest.skipUnless(HAVE, "distributed is not installed (pip install distributed)")
class Cluster(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = Path(folder.name)
        self.corpus = self.top / "corpus"
        self.corpus.mkdir()
        write_corpus(self.corpus, 60)
        self.processes: List["subprocess.Popen[bytes]"] = []
        self.address = f"tcp://127.0.0.1:{free_port()}"
        self.log = open(self.top / "log", "wb")
        self.start("scheduler", "--host", "127.0.0.1", "--port", self.address.rsplit(":", 1)[1], "--no-dashboard")
        self.workers = [self.start("worker", self.address, "--no-nanny", "--nthreads", "1", "--no-dashboard", "--name", str(k)) for k in range(2)]
        self.wait_for_workers()

    def start(self, *words: str) -> "subprocess.Popen[bytes]":
        p = subprocess.Popen([sys.executable, "-m", "distributed.cli.dask_" + words[0], *words[1:]], stdout=self.log, stderr=self.log, cwd=self.top,
                             env={**os.environ, "PYTHONPATH": ""})
        self.processes.append(p)
        return p

    def wait_for_workers(self) -> None:
        with distributed.Client(self.address, timeout=60, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)

    def tearDown(self) -> None:
        for p in self.processes:
            if p.poll() is None:
                p.kill()
            p.wait()
        self.log.close()

    def test_same_bytes_with_a_worker_killed(self) -> None:
        local, remote = self.top / "local.jsonl", self.top / "remote.jsonl"
        run(self.corpus, local, "--no-cache", "--no-ms")
        slow = self.top / "warpburg"    # slow enough to kill a worker during the run
        slow.write_text(f'#!/bin/sh\nsleep 0.5\necho x >> {self.top}/calls\nexec {WARPBURG} "$@"\n')
        slow.chmod(0o755)
        command = [sys.executable, str(SHADERDB / "run"), str(self.corpus), "-o", str(remote), "--warpburg", str(slow), "--no-cache", "--no-ms",
                   "--cluster", self.address, "--batch", "3"]
        p = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        calls = self.top / "calls"
        end = time.monotonic() + 60
        while time.monotonic() < end and (not calls.exists() or len(calls.read_text()) < 8):
            time.sleep(0.05)
        self.assertIsNone(p.poll(), "the run was over before a worker could be killed")
        os.kill(self.workers[0].pid, signal.SIGKILL)
        said = p.communicate(timeout=200)[1]
        self.assertEqual(p.returncode, 0, said)
        self.assertIsNotNone(self.workers[0].wait(10))
        self.assertEqual(remote.read_bytes(), local.read_bytes())

    def test_warm_with_times(self) -> None:
        """Both runs use one cache, so even the compile times are equal."""
        local, remote, cache = self.top / "local.jsonl", self.top / "remote.jsonl", str(self.top / "cache")
        run(self.corpus, local, "--cache", cache)
        run(self.corpus, remote, "--cache", cache, "--cluster", self.address)
        self.assertEqual(remote.read_bytes(), local.read_bytes())


if __name__ == "__main__":
    unittest.main()
