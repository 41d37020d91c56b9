"""The wheel as pip builds it, in environments that have nothing else: by this Python, and by the oldest and the newest that are here; part of
python_package.py, with --wheel.
"""
from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Dict

from python_texts import SCALE

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "common"))

from interpreters import Interpreter, interpreters  # noqa: E402

TEN_LINES = """
import numpy, warpburg
k = warpburg.compile({scale!r}, target="sm_90")
x = numpy.arange(32, dtype=numpy.float32).reshape(4, 8)
row = numpy.arange(8, dtype=numpy.float32)
assert (k.run(x, row) == x * row).all()
assert k.check(case="e")
print(k, k.profile().binds)
"""


def installs() -> bool:
    """Builds the wheel and installs it into an environment that has nothing else; then by the oldest and the newest Python that are here."""
    clean: Dict[str, str] = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "WARPBURG_LIBRARY")}
    this = Interpreter(sys.version_info[:2], sys.executable)
    known = [this, *interpreters()]
    with tempfile.TemporaryDirectory() as folder:
        def ended(*command: str) -> str:
            ran = subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True, timeout=1500)
            if ran.returncode:
                raise AssertionError(f"{' '.join(command[1:5])}: {ran.stdout[-2000:]}{ran.stderr[-2000:]}")
            return ran.stdout

        try:
            for n, of in enumerate(dict.fromkeys([this, min(known), max(known)])):
                since, python = time.monotonic(), f"{folder}/venv{n}/bin/python"
                pip = [python, "-m", "pip", "-q", "--disable-pip-version-check"]
                ended(of.path, "-m", "venv", f"{folder}/venv{n}")
                if not n:
                    ended(*pip, "wheel", "--no-deps", str(ROOT), "-w", f"{folder}/wheels", "-Ccompile-args=-j2")
                    file = next(Path(f"{folder}/wheels").glob("warpburg-*-py3-none-*.whl"))
                ended(*pip, "install", "--find-links", f"{folder}/wheels", "warpburg")
                print(f"{file.name}: {file.stat().st_size / 1e6:.1f} MB, {'' if n else 'built and '}installed by {of} in {time.monotonic() - since:.0f} s")
                ran = ended(python, "-c", TEN_LINES.format(scale=SCALE))
                print(ran, end="")
                if "warpburg.Kernel scale" not in ran:
                    return False
        except (AssertionError, StopIteration) as e:
            print(e)
            return False
        return True
