"""tests/gpu/doors.py up to the launch: a package of one bundle is made; without a GPU try_doors.py says so; with a driver whose kernels run in the
simulator (tests/gpu/fake_cuda_driver.c) the bundle is right, and a wrong kernel is found.

usage: doors_package.py BUILD
"""
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict, List, Tuple

ROOT = Path(__file__).resolve().parents[2]
GPU = ROOT / "tests" / "gpu"
sys.path[:0] = [str(GPU), str(GPU / "doors")]

from door_texts import LAYOUTS, TEXTS  # noqa: E402
from doors import READ_BY_PARTS  # noqa: E402
from try_doors import EDGES  # noqa: E402

BUNDLE = "functions_approx"


def call(words: List[str]) -> Tuple[int, str]:
    """No cubins are made, as the driver compiles PTX alone, and no driver of a GPU is found."""
    env = {**os.environ, "WARPBURG_PTXAS": "/nowhere/ptxas", "WARPBURG_LIBCUDA": "/nowhere/libcuda.so.1"}
    p = subprocess.run([sys.executable, *words], capture_output=True, text=True, env=env)
    return p.returncode, p.stdout + p.stderr


def main() -> int:
    build = Path(sys.argv[1]).resolve()
    counts = {True: 0, False: 0}

    def expect(good: bool, what: str, said: str = "") -> None:
        counts[good] += 1
        if not good:
            print(f"{what}: {said[-800:]}")

    unknown = {*EDGES, *READ_BY_PARTS, *(text for text, _ in LAYOUTS.values())} - {*TEXTS, *LAYOUTS}
    expect(not unknown, "names without a text", str(unknown))
    with tempfile.TemporaryDirectory() as tmp:
        package = Path(tmp) / "doors"
        doors, results = [str(package / "try_doors.py")], package / "doors.jsonl"
        make = [str(GPU / "doors.py"), "make", "--package", str(package), "--build", str(build), "--shared", tmp, "-j", "1"]
        rc, said = call([*make, "--only", BUNDLE])
        expect(rc == 0 and "1 bundles and 0 programs" in said, "the package", said)
        missing = [name for name in ("build/libwarpburg.so", "build/warpburg-run", "parts/trials.py", "tree/python/warpburg/__init__.py",
                                     "hlo/sum_all.hlo", f"bundles/{BUNDLE}/kernel.ptx") if not (package / name).exists()]
        expect(not missing, "files of the package", str(missing))
        tests = {f.stem: f.read_text() for f in package.glob("tree/tests/*/*.py")}
        known = {f.stem for d in ("doors", "common", "programs") for f in (ROOT / "tests" / d).glob("*.py")}
        needed = {m for text in tests.values() for m in re.findall(r"(?m)^\s*(?:import|from) (\w+)", text) if m in known}
        expect({"python_package", "jax_door"} <= tests.keys() and needed <= tests.keys(), "what its tests import", str(needed - tests.keys()))
        rc, said = call(doors)
        expect(rc == 3 and said.startswith("no GPU: ") and not results.exists(), "without a GPU", said)
        fake = [*doors, "--fake", str(build / "tests"), "--only", "nothing,bundle/"]
        rc, said = call(fake)
        found: List[Dict[str, Any]] = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
        expect(rc == 0 and [(r["part"], r["verdict"]) for r in found] == [(f"bundle/{BUNDLE}/n", "ok")], "a run", said)
        expect(all(r["json"].get("outside") == 0 for r in found), "its verdict", str(found))
        ptx = package / "bundles" / BUNDLE / "kernel.ptx"
        ptx.write_text(ptx.read_text().replace("add.rn.f32", "sub.rn.f32"))
        stated = json.loads(ptx.with_name("kernel.json").read_text())  # whose hashes would tell
        ptx.with_name("kernel.json").write_text(json.dumps({k: v for k, v in stated.items() if k not in ("files", "text")}))
        rc, said = call(fake)
        found = [json.loads(line) for line in results.read_text().splitlines()]
        expect(rc == 1 and [r["verdict"] for r in found] == ["FAIL"] and found[0]["json"].get("outside", 0) > 0, "a wrong kernel", said)
    print(f"{counts[True]} passed, {counts[False]} failed")
    return int(counts[False] > 0)


if __name__ == "__main__":
    sys.exit(main())
