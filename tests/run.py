"""Every test, in one line of summary: unit tests (cmocka through meson), text tests (lit), gen/ (unittest), layers, and the programs of
PROGRAMS: proofs and their mutants, evaluator, simulator, random fusions, corpora.

usage: run.py --build DIR [--all] [--shared DIR] [--only lit,corpus]
"""
from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable, List, Tuple

ROOT = Path(__file__).resolve().parent.parent
Counts = Tuple[int, int]  # passed, failed


def call(command: List[str]) -> Tuple[int, str]:
    """Runs a command from the root, printing what it prints as it comes; its exit status and text."""
    p = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines: List[str] = []
    assert p.stdout
    for line in p.stdout:
        lines.append(line)
        print(line, end="", flush=True)
    return p.wait(), "".join(lines)


def number(pattern: str, text: str) -> int:
    found = re.findall(pattern, text, re.M)
    return int(found[-1]) if found else 0


def unit(args: argparse.Namespace) -> Counts:
    rc, text = call(["meson", "test", "-C", args.build, "--no-rebuild"])
    passed, failed = number(r"^Ok:\s+(\d+)", text), number(r"^Fail:\s+(\d+)", text) + number(r"^Timeout:\s+(\d+)", text)
    return passed, failed or int(rc != 0)


def lit(args: argparse.Namespace) -> Counts:
    program = shutil.which("lit-22") or shutil.which("lit")
    if program is None:
        print("skipped: lit is not here (llvm-22-tools)")
        return 0, 0
    rc, text = call([program, "--param", f"warpburg={Path(args.build).resolve() / 'warpburg'}", "tests/lit"])
    passed, failed = number(r"Passed\s*:\s*(\d+)", text), number(r"Failed\s*:\s*(\d+)", text) + number(r"Unresolved\s*:\s*(\d+)", text)
    return passed, failed or int(rc != 0)


def python(args: argparse.Namespace) -> Counts:
    rc, text = call([sys.executable, "-m", "unittest", "discover", "-s", "tests/gen", "-p", "test_*.py"])
    ran = number(r"^Ran (\d+) tests?", text)
    bad = number(r"failures=(\d+)", text) + number(r"errors=(\d+)", text)
    return ran - bad, bad or int(rc != 0)


def layers(args: argparse.Namespace) -> Counts:
    rc, _ = call([sys.executable, "tests/layers.py", args.build])
    return int(rc == 0), int(rc != 0)


# Programs that end with `N passed, M failed`: name, words, more words without and with --all. {wb}, {run}: the executables; {shared}.
PROGRAMS: List[Tuple[str, str, str, str]] = [
    ("proofs", "-m gen.proof.rule --check --build {build}", "", ""),
    ("mutants", "-m gen.mutation.mutate", "--sample 12", ""),
    ("mutants_every", "-m gen.mutation.mutate", "--again 100003", "--again 997"),
    ("tiles", "-m gen.proof.simulate --warpburg {wb}", "", "--every"),
    ("targets", "tests/targets.py {wb}", "", "--all"),
    ("tile_mutants", "tests/tile_mutants.py {build}", "", ""),
    ("rules_fuzz", "tests/fuzz/rules_fuzz.py", "200", "3000"),
    ("terms_fuzz", "tests/fuzz/terms_fuzz.py {wb}", "60", "2000"),
    ("roundtrip", "tests/roundtrip.py {wb} --shared {shared}", "", "--all"),
    ("index_analysis", "tests/index_analysis.py {wb} --shared {shared}", "", "--every 4"),
    ("normalise", "tests/normalise.py {wb} --shared {shared}", "", "--all"),
    ("index_maps", "tests/index_maps.py {wb} --shared {shared}", "--random 2000", "--random 100000"),
    ("index_census", "tests/index_census.py {wb} --shared {shared}", "--every 40", "--all"),
    ("stored", "tests/golden.py {wb} --shared {shared}", "--every 10", ""),
    ("bounds", "tests/bounds.py {wb} --shared {shared}", "--every 60 --random 60", "--every 10 --tightness"),
    ("planted", "tests/planted.py {run}", "", ""),
    ("cuda", "tests/cuda.py {run}", "", ""),
    ("libdevice", "tests/libdevice.py {build}/tests/accuracy --sample", "", ""),
    ("measured", "-m gen.proof.measure --check --build {build}", "--sample 24", "--every"),
    ("functions", "tests/functions.py", "", ""),
    ("formulas", "tests/formulas.py {wb} --shared {shared}", "", ""),
    ("function_values", "tests/function_values.py {wb}", "--count 40 --targets sm_90", "--count 1000"),
    ("complex_values", "tests/complex_values.py {wb}", "--targets sm_90", "--targets sm_75,sm_80,sm_86,sm_89,sm_90,sm_100,sm_120"),
    ("without_libdevice", "tests/without_libdevice.py {wb}", "--targets sm_90", "--all"),
    ("threads", "tests/sim_threads.py {run}", "", ""),
    ("semantics", "tests/sim_semantics.py {run}", "--every 4 --count 128", ""),
    ("foreign", "tests/foreign.py {run} --shared {shared}", "--most 16384 --every 40", "--most 65536 --every 10"),
    ("growth", "tests/growth.py {wb}", "", ""),
    ("types", "tests/element_types.py {wb}", "", "--all"),
    ("random_fusions", "tests/fuzz/fusions.py {wb}", "60", "10000"),
    ("shaderdb", "tests/shaderdb/all.py", "", "--all"),
    ("corpus", "tests/corpus.py {wb} --shared {shared}", "", "--all"),
    ("sweep", "tests/sweep.py {wb} --shared {shared}", "--every 80", "--targets sm_75,sm_80,sm_86,sm_89,sm_90,sm_100,sm_120"),
]


def program(words: str, some: str, every: str) -> Callable[[argparse.Namespace], Counts]:
    def run(args: argparse.Namespace) -> Counts:
        text = f"{words} {every if args.all else some}".format(wb=Path(args.build) / "warpburg", run=Path(args.build) / "warpburg-run",
                                                              shared=args.shared, build=args.build)
        rc, said = call([sys.executable, *text.split()])
        return number(r"^(\d+) passed, \d+ failed", said), number(r"^\d+ passed, (\d+) failed", said) or int(rc != 0)

    return run


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--shared", default="../shared")
    parser.add_argument("--all", action="store_true", help="every file of --shared instead of a fixed tenth")
    parser.add_argument("--only", default="", help="suites by name, with commas between")
    args = parser.parse_args()
    os.environ["WARPBURG"] = str(Path(args.build).resolve() / "warpburg")
    passed = failed = 0
    suites: List[Tuple[str, Callable[[argparse.Namespace], Counts]]] = [("unit", unit), ("lit", lit), ("python", python), ("layers", layers)]
    suites += [(name, program(*words)) for name, *words in PROGRAMS]
    for name, suite in suites:
        if args.only and name not in args.only.split(","):
            continue
        print(f"--- {name}", flush=True)
        since = time.monotonic()
        p, f = suite(args)
        print(f"--- {name}: {p} passed, {f} failed in {time.monotonic() - since:.0f} s", flush=True)
        passed, failed = passed + p, failed + f
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
