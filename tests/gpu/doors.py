#!/usr/bin/env python3
"""Makes a package that tries the doors of warpburg on a GPU: JAX, PyTorch, CuPy, programs of C and C++, bundles, programs with cuBLAS.

    doors.py make --package DIR [--build BUILD] [--only TEXT] [--shared DIR]

DIR has the library and warpburg-run of BUILD, tests of the tree, bundles of the texts of door_texts.py, programs, what the simulator computes for
these, and try_doors.py, which runs all: `python3 try_doors.py` on a machine with a GPU. Without --build the library is built with LLVM linked into it
in build/doors-static. What is not at hand here (shared, jax, compilers) is left out, and a line says so. --only: bundles and programs with TEXT in
their names.
"""
from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Dict, List, Optional, Tuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT / "shaderdb")]

from door_texts import LAYOUTS, TEXTS  # noqa: E402
from tools import environment  # noqa: E402

TREE = ("include/warpburg.h", "src/api/xla.h", "shaderdb/corpus/gelu.hlo", "examples/scale.c", "examples/program.c", "examples/softmax.cpp",
        "tests/lit/control/while_chain.hlo")
FOLDERS = ("python", "tests/doors", "tests/common")
READ_BY_PARTS = ("softmax_512x2048", "softmax_64x32768", "sum_all")  # texts that parts/ compiles on the GPU's machine
OF_TESTS = ("in_place", "partial_sums", "ticket")  # bundles of tests/programs/bundles
MODULES: Dict[str, List[str]] = {  # programs of shared/corpus/modules: options
    **{name: [] for name in ("gpt_block_f32.S", "gpt_block_grad_bf16.S", "llama_block_grad.S", "kv_cache_step.S", "gpt_block_bf16.L")},
    **{name: ["--cut", "plain"] for name in ("lstm_scan.S", "gae.S", "ssm_scan.S", "mandelbrot.S", "categorical.S")},
}
LIBDEVICE = Path("/usr/local/cuda/nvvm/libdevice/libdevice.10.bc")
CARRIED: List[Tuple[str, Path, List[str]]] = [  # programs for machines without a compiler: name, source, compiler
    ("scale", ROOT / "examples/scale.c", ["gcc", "-O1"]),
    ("program", ROOT / "examples/program.c", ["gcc", "-O1"]),
    ("softmax", ROOT / "examples/softmax.cpp", ["g++", "-O1", "-static-libstdc++", "-static-libgcc"]),
    ("own_memory", HERE / "doors/parts/own_memory.c", ["gcc", "-O1"]),
    ("capture", HERE / "doors/parts/capture.cu", ["nvcc"]),
]


def build_static(build: Path) -> Path:
    """The library and the executables, with LLVM's archives linked into them."""
    if not (build / "build.ninja").is_file():
        subprocess.run(["meson", "setup", str(build), str(ROOT), "-Dllvm_link=static"], check=True)
    targets = ("warpburg:shared_library", "warpburg:executable", "warpburg-run:executable")
    subprocess.run(["meson", "compile", "-C", str(build), *targets], check=True)
    return build


def compiler_of(name: str) -> Optional[str]:
    """nvcc is often in no PATH."""
    return shutil.which(name) or (shutil.which(f"/usr/local/cuda/bin/{name}") if name == "nvcc" else None)


class Maker:
    def __init__(self, o: argparse.Namespace) -> None:
        self.o, self.package, self.build = o, o.package, o.build
        self.env = {**os.environ, **dict(environment())}

    def call(self, *words: str) -> str:
        """'' where the command succeeds, else the last line of what it says."""
        p = subprocess.run(words, capture_output=True, text=True, errors="replace", env=self.env)
        return "" if p.returncode == 0 else ((p.stderr + p.stdout).strip().splitlines() or [f"status {p.returncode}"])[-1]

    def without(self, name: str, reason: str) -> None:
        print(f"without {name}: {reason}", flush=True)

    def library(self) -> None:
        """The library under its own name and the linker's; libzstd and libdevice, which the other machine may lack."""
        at, library = self.package / "build", (self.build / "libwarpburg.so").resolve()
        soname = re.sub(r"(\.so\.\d+\.\d+)\..*", r"\1", library.name)
        for file, name in ((library, soname), (self.build / "warpburg-run", "warpburg-run")):
            said = self.call("strip", "-o", str(at / name), str(file))
            if said:
                raise SystemExit(f"error: {said}")
        (at / "libwarpburg.so").symlink_to(soname)
        needs = dict(re.findall(r"(\S+) => (\S+)", subprocess.run(["ldd", str(library)], capture_output=True, text=True).stdout))
        llvm = [name for name in needs if "LLVM" in name]
        if llvm:
            print(f"the library of {self.build} needs {llvm[0]} where it runs: a build with -Dllvm_link=static has it inside", flush=True)
        if "libzstd.so.1" in needs:
            shutil.copy(needs["libzstd.so.1"], at / "fallback/libzstd.so.1")
        libdevice = Path(self.env.get("WARPBURG_LIBDEVICE") or LIBDEVICE)
        if libdevice.is_file():
            shutil.copy(libdevice, at / "libdevice.10.bc")
        else:
            self.without("libdevice", f"no {libdevice}")

    def files(self) -> None:
        for name in TREE:
            (self.package / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.package / "tree" / name)
        no_caches = shutil.ignore_patterns("__pycache__")
        for name in FOLDERS:
            shutil.copytree(ROOT / name, self.package / "tree" / name, ignore=no_caches)
        shutil.copytree(HERE / "doors/parts", self.package / "parts", ignore=no_caches)
        shutil.copy(HERE / "doors/try_doors.py", self.package / "try_doors.py")
        for name, text in TEXTS.items():
            (self.package / "hlo" / f"{name}.hlo").write_text(text, encoding="utf-8")

    def carried(self) -> None:
        for name, source, (compiler, *words) in CARRIED:
            program = compiler_of(compiler)
            made = self.package / "carried" / name
            said = self.call(program, *words, str(source), f"-I{ROOT / 'include'}", f"-L{self.package / 'build'}", "-lwarpburg", "-o",
                             str(made)) if program else f"no {compiler}"
            if said:
                self.without(f"carried/{name}", said)
            else:
                self.call("strip", str(made))

    def compile(self, file: Path, at: str, *words: str) -> bool:
        said = self.call(str(self.build / "warpburg"), "compile", str(file), "--target", self.o.target, "-o", str(self.package / at), *words)
        if said:
            self.without(at, said)
        return not said

    def bundle(self, name: str) -> bool:
        text, words = LAYOUTS.get(name, (name, []))
        return self.compile(self.package / "hlo" / f"{text}.hlo", f"bundles/{name}", *words)

    def bundles(self) -> int:
        names = [n for n in (*TEXTS, *LAYOUTS) if self.o.only in n]
        with ThreadPoolExecutor(self.o.jobs) as pool:
            made = sum(pool.map(self.bundle, names))
        tests = [n for n in OF_TESTS if self.o.only in n]
        for name in tests:
            shutil.copytree(ROOT / "tests/programs/bundles" / name, self.package / "bundles" / name)
        return made + len(tests)

    def of_jax(self) -> List[Path]:
        """The texts of the programs of door_programs.py, which need jax."""
        python = next((p for p in (self.build / "jax-venv/bin/python", ROOT / "build/jax-venv/bin/python") if p.is_file()), None)
        at = self.package / "lowered"
        at.mkdir()
        if not python:
            self.without("programs of JAX", "no jax-venv in the build folder, which ./dev test --all makes")
            return []
        library = {"WARPBURG_LIBRARY": str(self.build / "libwarpburg.so"), "PYTHONPATH": str(ROOT / "python"), "JAX_PLATFORMS": "cpu"}
        words = [str(python), str(HERE / "door_programs.py"), str(at), self.o.only]
        p = subprocess.run(words, capture_output=True, text=True, env={**self.env, **library})
        if p.returncode:
            self.without("programs of JAX", (p.stderr.strip().splitlines() or ["no reason"])[-1])
        return sorted(at.glob("*.hlo"))

    def program(self, file: Path) -> bool:
        """A program, and the results of the simulator for it; not of a large one (.L), which would take too long."""
        name = file.name[:-len(".hlo")]
        if not self.compile(file, f"programs/{name}", *MODULES.get(name, [])):
            return False
        if not name.endswith(".L"):
            said = self.call(str(self.build / "warpburg-run"), "run", str(self.package / "programs" / name), "--seed", "1", "-o",
                             str(self.package / "stored" / name))
            if said:
                self.without(f"stored/{name}", said)
        return True

    def programs(self) -> int:
        files = [self.o.shared / f"corpus/modules/{name}.hlo" for name in MODULES if self.o.only in name]
        for file in files:
            if not file.is_file():
                self.without(f"programs/{file.name[:-len('.hlo')]}", f"no {file}")
        files = [f for f in files if f.is_file()] + self.of_jax()
        with ThreadPoolExecutor(self.o.jobs) as pool:
            return sum(pool.map(self.program, files))

    def make(self) -> Tuple[int, int]:
        """Returns the numbers of bundles and of programs."""
        if self.package.exists():
            shutil.rmtree(self.package)
        for folder in "build/fallback tree hlo bundles programs stored carried".split():
            (self.package / folder).mkdir(parents=True)
        self.library()
        self.files()
        self.carried()
        made = self.bundles(), self.programs()
        shutil.rmtree(self.package / "lowered")
        for name in set(TEXTS) - set(READ_BY_PARTS):
            (self.package / "hlo" / f"{name}.hlo").unlink()
        (self.package / "made.json").write_text(json.dumps({"target": self.o.target, "bundles": made[0], "programs": made[1]}), encoding="utf-8")
        return made


def main() -> int:
    p = argparse.ArgumentParser(prog="doors.py")
    p.add_argument("command", choices=("make",))
    p.add_argument("--package", type=Path, default=ROOT / "build" / "doors")
    p.add_argument("--build", type=Path, help="a folder with the library and the executables")
    p.add_argument("--target", default="sm_90")
    p.add_argument("--only", default="", metavar="TEXT", help="bundles and programs with TEXT in their names")
    p.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    p.add_argument("-j", type=int, default=min(2, os.cpu_count() or 1), dest="jobs")
    o = p.parse_args()
    o.package = o.package.resolve()
    o.build = o.build.resolve() if o.build else build_static(ROOT / "build" / "doors-static")
    bundles, programs = Maker(o).make()
    size = sum(f.stat().st_size for f in o.package.rglob("*") if f.is_file() and not f.is_symlink())
    print(f"{bundles} bundles and {programs} programs in {o.package}, {size / 1e6:.1f} MB: run `python3 try_doors.py` in it on a machine with a GPU")
    return 0


if __name__ == "__main__":
    sys.exit(main())
