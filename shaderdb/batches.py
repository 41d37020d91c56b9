"""One batch of files through `warpburg stats`, on this machine or on another; nothing else of shaderdb is needed here.

A batch that crashes, ends early or comes to no end is cut in two until the file that does it stands alone; that file then gets a record
that says so.

    lines = run_batch(Setup("build/warpburg", ("sm_90",)), "corpus", ["gelu.hlo"])
"""
from __future__ import annotations

import json
import os
import subprocess
import tempfile
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

START_S, FILE_S = 120, 60   # a batch may take so long, and so long more for each file


class Setup(NamedTuple):
    warpburg: str
    targets: Tuple[str, ...]
    cache: str = ""             # folder; "": none
    cache_limit: int = 1024     # MiB
    options: Tuple[str, ...] = ()
    environment: Tuple[Tuple[str, str], ...] = ()


def _record(name: str, target: str, message: str) -> bytes:
    r = {"file": name, "kernel": "", "target": target, "count": 1, "status": "failed", "reason": "", "message": message}
    return json.dumps(r).encode() + b"\n"


def _call(setup: Setup, folder: str, names: Sequence[str]) -> Tuple[Optional[bytes], str]:
    """The records, or None and why there are none."""
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
            return None, "warpburg came to no end"
        except OSError as why:
            raise SystemExit(f"{setup.warpburg}: error: {why.strerror}") from why
        if p.returncode == 2:
            raise SystemExit(p.stderr.decode(errors="replace"))
        if p.returncode == 0:
            with open(out, "rb") as f:
                return f.read(), ""
    said = p.stderr.decode(errors="replace").strip().splitlines()
    return None, f"warpburg ended with status {p.returncode}: {said[-1] if said else ''}"


def run_batch(setup: Setup, folder: str, names: Sequence[str]) -> bytes:
    """One line a kernel and target, in order."""
    lines, why = _call(setup, folder, names)
    if lines is not None:
        return lines
    if len(names) == 1:
        return b"".join(_record(names[0], t, why) for t in sorted(setup.targets))
    half = len(names) // 2
    return run_batch(setup, folder, names[:half]) + run_batch(setup, folder, names[half:])


def run_texts(setup: Setup, texts: Dict[str, bytes]) -> bytes:
    """The same for files that are handed over: a worker need not see the corpus."""
    with tempfile.TemporaryDirectory(prefix="shaderdb.") as folder:
        names: List[str] = []
        for name, text in texts.items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as f:
                f.write(text)
            names.append(name)
        return run_batch(setup, folder, names)
