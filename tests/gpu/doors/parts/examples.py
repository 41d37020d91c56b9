"""The examples and two more programs, compiled here where there is a compiler, else as carried; each runs on the GPU where it has a part for that."""
from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Dict, List

from trials import ended, trial

HERE = Path(__file__).resolve().parent.parent
BUILD = HERE / "build"
FAKE = os.environ.get("DOORS_FAKE") == "1"
made = HERE / "made"
made.mkdir(exist_ok=True)

for name, source, words, wanted in (
        ("scale", HERE / "tree/examples/scale.c", ["gcc", "-std=c11", "-Wall"], ["run: 0 wrong elements", "0 outside their bounds, 0 faults"]),
        ("program", HERE / "tree/examples/program.c", ["gcc", "-std=c11", "-Wall"], ["run: 0 wrong elements", "of the results 0 of 8192"]),
        ("softmax", HERE / "tree/examples/softmax.cpp", ["g++", "-std=c++17", "-Wall"],
         ["simulator: rows sum to 1", "GPU: rows sum to 1 within", "declined: library"]),
        ("own_memory", HERE / "parts/own_memory.c", ["gcc", "-std=c11", "-O1"], ["every element of the second run", "wb_program_check"]),
        ("capture", HERE / "parts/capture.cu", ["nvcc"], ["graph, turn 3: 3145728.0", "stream: 3145728.0"])):
    def one(name: str = name, source: Path = source, words: List[str] = words, wanted: List[str] = wanted) -> Dict[str, Any]:
        program, how = made / name, "carried"
        if name == "capture" and FAKE:
            return {"skipped": "a real driver only"}
        said = ""
        if shutil.which(words[0]):
            command = [*words, str(source), f"-I{HERE}/tree/include", f"-L{BUILD}", "-lwarpburg", "-o", str(program)]
            p = subprocess.run(command, capture_output=True, text=True)
            how, said = ("compiled", "") if p.returncode == 0 else ("carried", (p.stdout + p.stderr)[-400:])
        if how == "carried":
            program = HERE / "carried" / name
        p = subprocess.run([str(program)], capture_output=True, text=True, timeout=30)
        out = p.stdout + p.stderr
        assert p.returncode == 0 and all(w in out for w in wanted), (how, said, p.returncode, out[-1200:])
        lines = [x for x in out.splitlines() if "GPU" in x or "gb_per_s" in x or "graph" in x]
        return {"how": how, "said": said, "lines": lines[:6]}
    one.__name__ = name
    trial(one)
ended()
