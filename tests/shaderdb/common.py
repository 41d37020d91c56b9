"""Shared by the tests of shaderdb: paths, small HLO files, and calls of its programs."""
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Sequence

ROOT = Path(__file__).resolve().parent.parent.parent
SHADERDB = ROOT / "shaderdb"
sys.path.insert(0, str(SHADERDB))
WARPBURG = os.environ.get("WARPBURG", str(ROOT / "build" / "warpburg"))

FUSION = """HloModule m
body {{
  x = f32[{n}] parameter(0)
  ROOT y = f32[{n}] {op}(x)
}}
ENTRY e {{
  p = f32[{n}] parameter(0)
  ROOT {name} = f32[{n}] fusion(p), kind=kLoop, calls=body
}}
"""


def write_corpus(folder: Path, n: int = 5) -> None:
    """Writes a corpus: n fusions that compile, one that is declined, and one file that is no module."""
    for k in range(n):
        (folder / f"f{k:02}.hlo").write_text(FUSION.format(n=1024 + k, op="negate", name=f"k{k}"))
    (folder / "declined.hlo").write_text("HloModule d\nENTRY e {\n  p = f32[8,8] parameter(0)\n  ROOT q = f32[8,8] dot(p, p), lhs_contracting_dims={1}, "
                                         "rhs_contracting_dims={0}\n}\n")
    (folder / "bad.hlo").write_text("this is no module\n")


def call(*words: object, rc: int = 0, **environment: str) -> "subprocess.CompletedProcess[str]":
    p = subprocess.run([str(w) for w in words], env={**os.environ, **environment}, capture_output=True, text=True, timeout=300, check=False)
    assert p.returncode == rc, f"{' '.join(map(str, words))}: exit {p.returncode}\n{p.stdout}{p.stderr}"
    return p


def run(folder: Path, out: Path, *words: str, warpburg: str = WARPBURG, **environment: str) -> "subprocess.CompletedProcess[str]":
    return call(sys.executable, SHADERDB / "run", folder, "-o", out, "--warpburg", warpburg, "-j", "2", *words, **environment)


def records(path: Path) -> List[Dict[str, Any]]:
    """Without the first line, which says what made them."""
    return [r for r in map(json.loads, path.read_text().splitlines()) if "run" not in r]


def write_records(path: Path, rows: Sequence[Dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))


def record(file: str, sass: int = 100, **more: Any) -> Dict[str, Any]:
    return {"file": file, "kernel": "k", "target": "sm_90", "count": 1, "status": "ok", "reason": "", "ptx": 50, "sass": sass, "warps": 4, "loops": 0,
            "compile_ms": 1.0, "ms": {"codegen": 1.0}, "rules": {"patterns/a.py:1": 2}, **more}
