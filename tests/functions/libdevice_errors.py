"""The errors of libdevice's functions in the simulator are no larger than NVIDIA publishes.

libdevice_errors.py PROGRAM --sample                                                          a fixed sample of each function, in seconds
libdevice_errors.py PROGRAM [--state FILE] [--table FILE] [--only NAME ..] [--full NAME ..]   the long test, which docs/libdevice.md shows

PROGRAM is built from libdevice_errors/accuracy.c. Each function gets a kernel of its own, linked with libdevice by llvm-link, opt and llc of
LLVM 22. f32 functions of one argument are run over every 257th bit pattern, or over all of them (--full, a sixteenth at a time); all others
over random pairs or values of a fixed generator. The long test keeps its results in FILE and does not run again what FILE has. Ends with
`N passed, M failed`.
"""
from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, NoReturn, Optional, Tuple, Union

ROOT = Path(__file__).resolve().parents[2]
TARGET = "sm_90"
PAIRS = 1 << 22
PART = 1 << 28  # bit patterns of a part, after each of which the state is written

# Maximum error in ulp as the CUDA C++ Programming Guide publishes it, 13.1 "Standard Functions"; name: f32, f64, arguments.
# None: not published, or libm has no reference for it.
Bounds = Dict[str, Tuple[Optional[int], Optional[int], int]]
Result = Dict[str, Union[int, str, None]]
PUBLISHED: Bounds = {
    "exp": (2, 1, 1), "exp2": (2, None, 1), "exp10": (2, 1, 1), "expm1": (1, 1, 1), "log": (1, 1, 1), "log2": (1, 1, 1), "log10": (2, 1, 1),
    "log1p": (1, 1, 1), "sin": (2, 2, 1), "cos": (2, 2, 1), "tan": (4, 2, 1), "sinpi": (1, 2, 1), "cospi": (1, 2, 1), "asin": (2, 2, 1),
    "acos": (2, 2, 1), "atan": (2, 2, 1), "sinh": (3, 2, 1), "cosh": (2, 1, 1), "tanh": (2, 1, 1), "asinh": (3, 3, 1), "acosh": (4, 3, 1),
    "atanh": (3, 2, 1), "erf": (2, 2, 1), "erfc": (4, 5, 1), "erfinv": (2, None, 1), "erfcinv": (4, None, 1), "erfcx": (4, None, 1),
    "normcdf": (5, None, 1), "normcdfinv": (5, None, 1), "lgamma": (6, 4, 1), "tgamma": (5, 10, 1), "cbrt": (1, 1, 1), "rcbrt": (1, 1, 1),
    "sqrt": (0, 0, 1), "rsqrt": (2, 1, 1), "j0": (9, None, 1), "j1": (9, None, 1), "y0": (9, None, 1), "y1": (9, None, 1),
    "floor": (0, 0, 1), "ceil": (0, 0, 1), "trunc": (0, 0, 1), "round": (0, 0, 1), "rint": (0, 0, 1), "nearbyint": (0, 0, 1), "logb": (0, 0, 1),
    "fabs": (0, 0, 1), "pow": (4, 2, 2), "atan2": (3, 2, 2), "hypot": (3, 2, 2), "rhypot": (2, 1, 2), "fmod": (0, 0, 2), "remainder": (0, 0, 2),
    "fdim": (0, 0, 2), "fmax": (0, 0, 2), "fmin": (0, 0, 2), "copysign": (0, 0, 2),
}


class Function(NamedTuple):
    name: str  # without `__nv_`
    kind: str  # float or double
    arguments: int
    bound: int


def functions() -> List[Function]:
    out: List[Function] = []
    for name, (single, double, arguments) in PUBLISHED.items():
        if single is not None:
            out.append(Function(name + "f", "float", arguments, single))
        if double is not None:
            out.append(Function(name, "double", arguments, double))
    return out


def skip(why: str) -> NoReturn:
    print(f"skipped: {why}\n0 passed, 0 failed")
    raise SystemExit(0)


def tool(name: str) -> str:
    found = shutil.which(name + "-22") or shutil.which(name)
    if found is None:
        skip(f"{name} of LLVM 22 is not installed")
    return found


def libdevice() -> Path:
    places = [os.environ.get("WARPBURG_LIBDEVICE", ""), "/usr/local/cuda/nvvm/libdevice/libdevice.10.bc",
              *map(str, (ROOT / ".venv").rglob("libdevice.10.bc"))]
    for place in places:
        if place and Path(place).is_file():
            return Path(place)
    skip("no libdevice.10.bc was found; WARPBURG_LIBDEVICE can name it")


def kernel(f: Function) -> str:
    """LLVM IR: out[i] = f(in[i], ..)."""
    t, names = f.kind, [f"a{k}" for k in range(f.arguments)]
    loads = "".join(f"  %p{n} = getelementptr {t}, ptr addrspace(1) %{n}, i64 %i\n  %v{n} = load {t}, ptr addrspace(1) %p{n}\n" for n in names)
    return (f"declare {t} @__nv_{f.name}({', '.join([t] * f.arguments)})\n"
            f"define ptx_kernel void @k_{f.name}({', '.join(f'ptr addrspace(1) %{n}' for n in [*names, 'out'])}) {{\n"
            f"  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n"
            f"  %s = shl i32 %b, 8\n  %n = or i32 %s, %t\n  %i = zext i32 %n to i64\n{loads}"
            f"  %r = call {t} @__nv_{f.name}({', '.join(f'{t} %v{n}' for n in names)})\n"
            f"  %o = getelementptr {t}, ptr addrspace(1) %out, i64 %i\n  store {t} %r, ptr addrspace(1) %o\n  ret void\n}}\n")


def ptx_of(fs: List[Function], folder: Path, library: Path) -> Path:
    source, linked, small, ptx = (folder / f"functions.{end}" for end in ("ll", "linked.bc", "bc", "ptx"))
    head = ('target triple = "nvptx64-nvidia-cuda"\n'
            "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\ndeclare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n")
    source.write_text(head + "".join(map(kernel, fs)), encoding="utf-8")
    steps = [[tool("llvm-link"), "--only-needed", "--internalize", str(source), str(library), "-o", str(linked)],
             [tool("opt"), f"-mcpu={TARGET}", "-passes=default<O2>", str(linked), "-o", str(small)],
             [tool("llc"), f"-mcpu={TARGET}", "-mattr=+ptx80", str(small), "-o", str(ptx)]]
    for step in steps:
        subprocess.run(step, check=True, capture_output=True, text=True)
    return ptx


Range = Tuple[Function, int, int, int]  # first, last, step


def run(accuracy: str, ptx: Path, ranges: List[Range]) -> Dict[str, Result]:
    words = [str(w) for f, *numbers in ranges for w in (f.name, *numbers)]
    p = subprocess.run([accuracy, str(ptx), *words], capture_output=True, text=True)
    if p.returncode:
        print(p.stderr.strip(), flush=True)
    out: Dict[str, Result] = {}
    for line in p.stdout.splitlines():
        w = line.split()
        out[w[0]] = {"n": int(w[1]), "ulp": int(w[2]), "at": ", ".join(w[3:-2])}
    return out


def is_good(f: Function, r: Result) -> bool:
    return r["ulp"] is not None and int(str(r["ulp"])) <= f.bound and int(str(r["n"])) > 0


def has_patterns(f: Function) -> bool:
    return f.kind == "float" and f.arguments == 1


def sample(accuracy: str, library: Path) -> int:
    """Runs a fixed small part of every function's arguments."""
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        ranges: List[Range] = [(f, 0, 1 << 32, 1048573) if has_patterns(f) else (f, 0, 4096, 1) for f in functions()]
        results = run(accuracy, ptx_of(functions(), Path(folder), library), ranges)
    for f in functions():
        r = results.get(f.name, {"n": 0, "ulp": None, "at": ""})
        if not is_good(f, r):
            failed += 1
            print(f"{f.name}: {r['ulp']} ulp at {r['at']}, {f.bound} published", flush=True)
    print(f"{len(functions()) - failed} passed, {failed} failed")
    return int(failed > 0)


def table(results: Dict[str, Dict[str, Result]]) -> str:
    rows: List[str] = []
    for f in functions():
        for step, r in sorted(results.get(f.name, {}).items(), key=lambda item: -int(item[0])):
            kind = "pairs" if f.arguments == 2 else "values"
            over = f"{kind} drawn" if f.kind == "double" or f.arguments == 2 else "all patterns" if step == "1" else f"every {step}th pattern"
            met = "yes" if is_good(f, r) else "**no**"
            rows.append(f"| `__nv_{f.name}` | {over} | {r['n']:,} | {r['ulp']} | {r['at'] if r['ulp'] else ''} | {f.bound} | {met} |")
    return "\n".join(rows)


HEAD = """# libdevice in the simulator

Generated by `tests/functions/libdevice_errors.py`. Each function of libdevice, linked into a kernel for sm_90, runs in the simulator and is compared
with libm: f32 with double, f64 with long double. The error is NVIDIA's measure, the distance in units in the last place between the
result and the correctly rounded one. *Published* is the maximum that the CUDA C++ Programming Guide states (Mathematical Functions,
Standard Functions), entered by hand and not yet compared with its current edition. Where the guide states it for a part of the arguments
(lgamma outside of -10.001 .. -2.264, here only above; Bessel functions below 8), only that part is compared. Drawn arguments come from a
fixed generator: half have random bits, half are of ordinary size. Functions without a row have not been run.

| function | arguments | how many | max ulp | at | published | met |
|---|---|---:|---:|---|---:|---|
"""


def whole(accuracy: str, ptx: Path, f: Function, parts: Dict[str, Result], keep: Callable[[], None]) -> Result:
    """Runs all bit patterns, part by part; `parts` has the results of earlier runs."""
    for first in range(0, 1 << 32, PART):
        if str(first) not in parts:
            found = run(accuracy, ptx, [(f, first, first + PART, 1)])
            if f.name not in found:
                return {"n": 0, "ulp": None, "at": "did not run"}
            parts[str(first)] = found[f.name]
            keep()
    worst = max(parts.values(), key=lambda r: int(str(r["ulp"])))
    return {"n": sum(int(str(r["n"])) for r in parts.values()), "ulp": worst["ulp"], "at": worst["at"]}


def slow(args: argparse.Namespace, library: Path) -> int:
    state = Path(args.state)
    kept = json.loads(state.read_text()) if state.exists() else {}
    results: Dict[str, Dict[str, Result]] = kept.setdefault("results", {})
    parts: Dict[str, Dict[str, Result]] = kept.setdefault("parts", {})
    failed = 0

    def keep() -> None:
        state.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")

    with tempfile.TemporaryDirectory() as folder:
        for f in functions():
            if args.only and f.name not in args.only and f.name not in args.full:
                continue
            patterns = has_patterns(f)
            for step in [257, 1] if f.name in args.full and patterns else [257] if patterns else [1]:
                done = results.setdefault(f.name, {})
                if str(step) not in done:
                    ptx = ptx_of([f], Path(folder), library)
                    if patterns and step == 1:
                        done["1"] = whole(args.accuracy, ptx, f, parts.setdefault(f.name, {}), keep)
                        del parts[f.name]
                    else:
                        found = run(args.accuracy, ptx, [(f, 0, 1 << 32 if patterns else PAIRS, step)])
                        done[str(step)] = found.get(f.name, {"n": 0, "ulp": None, "at": "did not run"})
                    keep()
                    print(f.name, step, done[str(step)], flush=True)
                r = done[str(step)]
                failed += not is_good(f, r)
                Path(args.table).write_text(HEAD + table(results) + "\n", encoding="utf-8")
    print(f"{sum(len(r) for r in results.values()) - failed} passed, {failed} failed")
    return int(failed > 0)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("accuracy")
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--state", default=str(ROOT / "tests" / "functions" / "libdevice_errors" / "results.json"))
    parser.add_argument("--table", default=str(ROOT / "docs" / "libdevice.md"))
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--full", nargs="*", default=[])
    args = parser.parse_args()
    library = libdevice()
    return sample(args.accuracy, library) if args.sample else slow(args, library)


if __name__ == "__main__":
    sys.exit(main())
