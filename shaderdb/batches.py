"""Runs `warpburg stats` on one batch of files, on this machine or another. Imports nothing else of shaderdb, so that workers can run it.

A batch that crashes, ends early or exceeds its time is halved until the file that causes it is alone; that file gets a record of the failure.

    lines = run_batch(Setup("build/warpburg", ("sm_90",)), "corpus", ["gelu.hlo"])
"""
from __future__ import annotations

import json
import os
import subprocess
import tempfile
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

START_S, FILE_S = 120, 60   # time limit of a batch: START_S, and FILE_S for each file


class Setup(NamedTuple):
    warpburg: str
    targets: Tuple[str, ...]
    cache: str = ""             # folder; "": no cache
    cache_limit: int = 1024     # MiB
    options: Tuple[str, ...] = ()
    environment: Tuple[Tuple[str, str], ...] = ()


def _record(name: str, target: str, message: str) -> bytes:
    r = {"file": name, "kernel": "", "target": target, "count": 1, "status": "failed", "reason": "", "message": message}
    return json.dumps(r).encode() + b"\n"


def _call(setup: Setup, folder: str, names: Sequence[str]) -> Tuple[Optional[bytes], str]:
    """The records and "", or None and the reason."""
    with tempfile.TemporaryDirectory(prefix="shaderdb.") as scratch:
        listed, out = os.path.join(scratch, "files"), os.path.join(scratch, "out")
        with open(listed, "wb") as f:
            f.write(b"\n".join(os.fsencode(n) for n in names) + b"\n")
        words = [setup.warpburg, "stats", "--files-from", listed, "-o", out, "-j", "1", "--target", ",".join(setup.targets), *setup.options]
        if setup.cache:
            words += ["--cache", setup.cache, "--cache-limit", str(setup.cache_limit)]
        try:
            p = subprocess.run(words, cwd=folder, env={**os.environ, **dict(setup.environment)}, stdin=subprocess.DEVNULL, capture_output=True,
                               timeout=START_S + FILE_S * len(names), check=False)
        except subprocess.TimeoutExpired:
            return None, "warpburg exceeded its time"
        except OSError as why:
            raise SystemExit(f"{setup.warpburg}: error: {why.strerror}") from why
        if p.returncode == 2:
            raise SystemExit(p.stderr.decode(errors="replace"))
        if p.returncode == 0:
            with open(out, "rb") as f:
                return f.read(), ""
    messages = p.stderr.decode(errors="replace").strip().splitlines()
    return None, f"warpburg ended with status {p.returncode}: {messages[-1] if messages else ''}"


def run_batch(setup: Setup, folder: str, names: Sequence[str]) -> bytes:
    """The records of all kernels and targets, one per line, in order."""
    lines, why = _call(setup, folder, names)
    if lines is not None:
        return lines
    if len(names) == 1:
        return b"".join(_record(names[0], t, why) for t in sorted(setup.targets))
    half = len(names) // 2
    return run_batch(setup, folder, names[:half]) + run_batch(setup, folder, names[half:])


def run_texts(setup: Setup, texts: Dict[str, bytes]) -> bytes:
    """run_batch for files that are passed as texts: a worker does not need the corpus."""
    with tempfile.TemporaryDirectory(prefix="shaderdb.") as folder:
        names: List[str] = []
        for name, text in texts.items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as f:
                f.write(text)
            names.append(name)
        return run_batch(setup, folder, names)
