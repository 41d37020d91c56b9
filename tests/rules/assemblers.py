"""The oldest assembler that takes our PTX, the newest that was looked at, and what both make of the corpus.

usage: assemblers.py WARPBURG --folder FOLDER [--shared DIR] [--install] [--version V]..

The versions are looked for in FOLDER/VERSION, packages of PyPI; --install puts there what is missing, some 150 MB a version. One that is not there is
skipped, with a line that says so. With each:

1. It rounds once what patterns/assemblers.tsv lists for it, on each target, and nothing else.
2. It assembles the kernels of shaderdb/corpus and CASES for every target, and each of its operations has a class in patterns/sass.tsv.
3. Apart from control (NOPs, which versions place differently), each kernel has the instructions that it has by the first of them, or at most one in 12
   more or fewer.
4. Its nvPTXCompiler, linked as a library by `assembler --link`, makes the cubins of its ptxas but for the note that names the tool.
"""
from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, Optional, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "common"), str(ROOT)]
from gen.proof import roundings  # noqa: E402
from warpburg_cli import TARGETS, Cli  # noqa: E402

VERSIONS = ("12.9.86", "13.5.37")   # PTX 8.8, which all targets but sm_110 say, is that of CUDA 12.9
TOOL_NOTE = ".note.nv.tkinfo"
Key = Tuple[str, str, str]          # file, kernel, target

# Of ../shared: two maxima, which newer versions make dearer where they are one of three operands on sm_120; sums of 64 bits; pairs of f32; floats of the
# uniform datapath; branches so deep that barriers are saved.
CASES = ("max_of_three", "s64_add", "gelu_pairs", "mul_add_pairs", "program_welford_refused", "shiftadd20_one_kernel")


def known_to(ptxas: str) -> List[str]:
    """The targets that a version has heard of: 12.9 calls sm_110 another name."""
    said = subprocess.run([ptxas, "--help"], capture_output=True, text=True).stdout
    return [t for t in TARGETS if f"'{t}'" in said]


class Suite:
    def __init__(self, warpburg: str, folder: Path, shared: Optional[Path], work: Path) -> None:
        self.cli, self.warpburg, self.folder, self.work = Cli(warpburg, 2), str(Path(warpburg).resolve()), folder, work
        self.passed = self.failed = 0
        self.files = sorted(str(f) for f in (ROOT / "shaderdb/corpus").glob("*.hlo"))
        cases = [shared / "cases/turn3" / f"{name}.hlo" for name in CASES] if shared else []
        self.files += [str(f) for f in cases if f.exists()]
        if not any(f.exists() for f in cases):
            print("skipped: the cases of the shared data, which are not there")
        self.first: Optional[Dict[Key, Dict]] = None

    def check(self, name: str, faults: List[str]) -> None:
        self.passed, self.failed = self.passed + (not faults), self.failed + bool(faults)
        for fault in faults[:8]:
            print(f"{name}: {fault}", flush=True)
        if len(faults) > 8:
            print(f"{name}: {len(faults)} of these")

    def call(self, *words: str, **env: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([self.warpburg, *words], capture_output=True, text=True, env={**os.environ, "WARPBURG_CACHE": "off", **env})

    def tool(self, version: str, name: str) -> Optional[Path]:
        return next((f for f in sorted((self.folder / version).rglob(name)) if f.is_file()), None)

    def kernels(self, ptxas: str) -> Dict[Key, Dict]:
        out = self.work / "stats.jsonl"
        p = self.call("stats", *self.files, "--target", ",".join(known_to(ptxas)), "-o", str(out), WARPBURG_PTXAS=ptxas)
        assert p.returncode == 0, p.stderr
        records = [json.loads(line) for line in out.read_text().splitlines()]
        return {(r["file"], r["kernel"], r["target"]): r for r in records if r["status"] != "declined"}

    def corpus(self, version: str, ptxas: str) -> None:
        found = self.kernels(ptxas)
        bad = [f"{' '.join(k)}: {r['message']}" for k, r in found.items() if r["status"] != "ok"]
        bad += [f"{' '.join(k)}: {r['classes']['other']} operations that patterns/sass.tsv lacks" for k, r in found.items()
                if r["status"] == "ok" and r["classes"].get("other")]
        self.check(f"{version}: assembles", bad)
        self.first = self.first or found
        bad = []
        for k, r in found.items():
            if r["status"] == "ok" and self.first.get(k, r)["status"] == "ok":
                a, b = (x["sass"] - x["classes"].get("control", 0) for x in (self.first.get(k, r), r))
                if abs(a - b) * 12 > a:
                    bad.append(f"{' '.join(k)}: {b} instructions, {a} by the first version")
        self.check(f"{version}: as many instructions", bad)

    def library(self, version: str, ptxas: str) -> None:
        nvidia = next(iter(sorted((self.folder / version).glob("nvidia"))), None)
        if nvidia is None or self.tool(version, "libnvptxcompiler_static.a") is None:
            return print(f"skipped: nvPTXCompiler {version} is not there")
        cache = str(self.work / f"cache-{version}")
        p = self.call("assembler", "--link", WARPBURG_CACHE=cache, WARPBURG_NVIDIA=str(nvidia), VIRTUAL_ENV="", CONDA_PREFIX="",
                      PATH=os.pathsep.join(f for f in os.environ["PATH"].split(os.pathsep) if not Path(f, "ptxas").exists()))
        bad = [] if p.returncode == 0 else [p.stderr]
        for target in known_to(ptxas) if p.returncode == 0 else ():
            made = []
            for n, by in enumerate((ptxas, f"{cache}/assembler/libnvptxcompiler.so")):
                to = self.work / f"by{n}-{version}-{target}"
                self.call("compile", *self.files, "--target", target, "-o", str(to), "--no-cache", WARPBURG_PTXAS=by)
                made.append({str(f.relative_to(to)): dict(roundings.sections(f.read_bytes(), "")) for f in sorted(to.rglob("*.cubin"))})
            bad += [f"{target}: {len(made[0])} cubins, and {len(made[1])}"] if made[0].keys() != made[1].keys() or not made[0] else []
            bad += [f"{target} {name}: section {s} differs" for name, of in made[0].items() for s in of
                    if s != TOOL_NOTE and of[s] != made[1].get(name, {}).get(s)]
        self.check(f"{version}: nvPTXCompiler", bad)

    def run(self, version: str) -> None:
        found = self.tool(version, "ptxas")
        if found is None:
            return print(f"skipped: ptxas {version} is not in {self.folder}; --install puts it there")
        found.chmod(0o755)      # packages do not say that it is a program
        ptxas = str(found.resolve())
        self.check(f"{version}: rounds", roundings.check(ptxas, [int(t[3:]) for t in known_to(ptxas)]))
        self.corpus(version, ptxas)
        self.library(version, ptxas)


def install(folder: Path, version: str) -> None:
    if (folder / version).exists():
        return
    packages = ["nvidia-cuda-nvcc-cu12"] if version.startswith("12.") else ["nvidia-cuda-nvcc", "nvidia-nvptxcompiler"]
    p = subprocess.run([sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", "--no-input", "install", "--no-deps", "--target",
                        str(folder / version), *(f"{name}=={version}" for name in packages)], capture_output=True, text=True)
    if p.returncode:
        print(f"could not install ptxas {version} from PyPI: {(p.stderr.strip().splitlines() or ['no message'])[-1]}")


def main() -> int:
    p = argparse.ArgumentParser()
    p.add_argument("warpburg")
    p.add_argument("--folder", type=Path, required=True)
    p.add_argument("--shared", type=Path)
    p.add_argument("--install", action="store_true")
    p.add_argument("--version", action="append", default=[])
    o = p.parse_args()
    with tempfile.TemporaryDirectory() as work:
        s = Suite(o.warpburg, o.folder, o.shared, Path(work))
        for version in o.version or VERSIONS:
            if o.install:
                install(o.folder, version)
            s.run(version)
    print(f"{s.passed} passed, {s.failed} failed")
    return s.failed > 0


if __name__ == "__main__":
    sys.exit(main())
