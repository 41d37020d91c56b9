"""The shared library as an embedder meets it: its soname, its symbols, its pkg-config file and header, the programs of examples/, and
threads that compile at once.

usage: library.py BUILD [--compiles N]      N compiles for each of 8 threads
"""
from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import List, Set

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "include" / "warpburg.h"
passed = failed = 0


def expect(what: str, ok: bool, seen: str = "") -> None:
    global passed, failed
    passed, failed = passed + ok, failed + (not ok)
    if not ok:
        print(f"{what}: {seen or 'wrong'}")


def call(command: List[str], **more: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600, **more)  # type: ignore[call-overload]


def declared() -> Set[str]:
    return set(re.findall(r"^WB_API [^;]*?\b(wb_\w+)\(", re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.S), re.M))


def check_symbols(library: Path) -> None:
    exported = {line.split()[-1] for line in call(["nm", "-D", "--defined-only", str(library)]).stdout.splitlines()}
    expect("symbols that the header does not declare", exported <= declared(), str(sorted(exported - declared())[:8]))
    expect("functions of the header that are not exported", declared() <= exported, str(sorted(declared() - exported)))
    version = re.findall(r"#define WB_VERSION_\w+ (\d+)", HEADER.read_text())
    soname = re.findall(r"SONAME.*\[(.*)\]", call(["readelf", "-d", str(library)]).stdout)
    expect("soname", soname == [f"libwarpburg.so.{'.'.join(version) if version[0] == '0' else version[0]}"], str(soname))


def check_examples(build: Path, folder: Path) -> None:
    """Installs the tree, and builds the examples as their first lines say, by pkg-config alone."""
    put = call(["meson", "install", "-C", str(build), "--no-rebuild", "--destdir", str(folder)])
    expect("meson install", put.returncode == 0, put.stdout[-500:])
    found = list(folder.rglob("warpburg.pc"))
    expect("warpburg.pc", len(found) == 1, str(found))
    if not found:
        return
    prefix = next(folder.rglob("include")).parent
    flags = call(["pkg-config", f"--define-variable=prefix={prefix}", "--cflags", "--libs", "warpburg"],
                 env={**os.environ, "PKG_CONFIG_PATH": str(found[0].parent)})
    library = next(folder.rglob("libwarpburg.so.*")).parent
    environment = {**os.environ, "LD_LIBRARY_PATH": str(library), "WARPBURG_LIBCUDA": "no_such_driver.so"}
    for compiler, standard, source, wanted in [
            ("cc", "-std=c11", "scale.c", ["run: 0 wrong elements, y[3][2] = 1", "check: 524288 elements, 0 outside their bounds, 0 faults",
                                           "bound by dram"]),
            ("cc", "-std=c11", "program.c", ["2 kernels, 1 library call; ", "step 1: library dot, bias makes sum, 32768 bytes\n", "run: 0 wrong elements",
                                             "check: 2 kernels judged, 0 elements outside their bounds; of the results 0 of 8192", " us in 2 launches"]),
            ("c++", "-std=c++17", "softmax.cpp", ["rows sum to 1 within 1e-5", "GPU: declined: no_gpu: no_such_driver.so",
                                                  "matmul.hlo:4:21: declined: library"])]:
        if shutil.which(compiler) is None:
            print(f"skipped: {source}: no {compiler}")
            continue
        program = folder / Path(source).stem
        made = call([compiler, standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror", str(ROOT / "examples" / source), *flags.stdout.split(),
                     "-o", str(program)])
        expect(f"{source} by pkg-config", made.returncode == 0, made.stdout[-800:])
        if made.returncode:
            continue
        ran = call([str(program), *([str(folder / "written")] if source == "program.c" else [])], env=environment)
        if source == "program.c":
            again = call([str(build / "warpburg-run"), "run", str(folder / "written"), "--check"])
            expect("the program that it wrote", again.returncode == 0 and "2 kernels judged" in again.stdout, again.stdout)
        expect(source, ran.returncode == 0 and all(w in ran.stdout for w in wanted), f"exit status {ran.returncode}: {ran.stdout}")


def check_subproject(folder: Path) -> None:
    """A project of meson that has this one as a subproject finds the library as a dependency; to build it takes as long as to build this one."""
    (folder / "subprojects").mkdir(parents=True)
    (folder / "subprojects" / "warpburg").symlink_to(ROOT)
    (folder / "meson.build").write_text("project('embedder', 'c')\nexecutable('scale', 'scale.c', dependencies: dependency('warpburg', version: '>=0.2',\n"
                                        "           fallback: 'warpburg', default_options: ['llvm=disabled']), override_options: ['c_std=c11'])\n")
    shutil.copy(ROOT / "examples" / "scale.c", folder)
    made = call(["meson", "setup", "--wrap-mode=forcefallback", str(folder / "build"), str(folder)])
    said = re.sub(r"\x1b\[[0-9;]*m", "", made.stdout)
    expect("a subproject", made.returncode == 0 and re.search("Dependency warpburg .*found: YES", said) is not None, said[-600:])


def check_threads(build: Path, compiles: int) -> None:
    files = sorted(str(f) for f in (ROOT / "shaderdb" / "corpus").rglob("*.hlo"))
    if compiles < len(files):
        files = files[::len(files) // compiles][:compiles]
    ran = call([str(build / "tests" / "library_threads"), str(compiles), *files])
    expect("8 threads", ran.returncode == 0 and ran.stdout.endswith(": 0 differ\n"), ran.stdout)
    print(ran.stdout, end="")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path)
    parser.add_argument("--compiles", type=int, default=8)
    args = parser.parse_args()
    check_symbols(args.build / "libwarpburg.so")
    with tempfile.TemporaryDirectory() as folder:
        check_examples(args.build, Path(folder))
        check_subproject(Path(folder) / "embedder")
    check_threads(args.build, args.compiles)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
