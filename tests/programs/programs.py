#!/usr/bin/env python3
"""Whole programs: the small modules of the corpus cut, compiled, run step by step under --check, and compared with stored results.

    programs.py WARPBURG RUN FUZZER [--shared DIR] [--on sm_90:priced,sm_80:plain] [--every N] [--only TEXT] [-j N]

Each NAME.S.hlo of modules/ becomes a program (`fuse -o`), cut by price and plainly. `run --check` must find no fault in a step, and no element of
the results outside the bounds of the module. The results are then compared with those of another implementation (NAME.S.npz): integers must be equal, floats no
further from the evaluation in f64 than 8 times the larger of two distances: that of the stored results, and that of the evaluator that rounds
each operation; nor than 64 units in the last place of the largest element. For ILL the stored results are worse than any reading of the text
allows, so only the evaluator counts. programs_known.tsv lists programs that are declined, with the reason's word, and where results may differ;
a line that is no longer true is a failure. Priced programs run on a GPU too, which is tests/gpu/fake_cuda_driver.c, and leave the same bits.

Then NAME.L.gpu.hlo as XLA cut it (`fuse --like xla`): as many kernels, library calls and bytes as modules/xla.tsv counts, and no fault in those
that are small enough to run.

Then dots of every order of dimensions on a GPU, by cuBLAS (tests/gpu/fake_cublas.c) where they are one product.

Then program.json with one thing changed, in all places: RUN and FUZZER (build/tests/program_fuzz) read it or refuse it at a place, and never
crash; faults of the data flow are found. Ends with `N passed, M failed`; a module counts once for each target. Needs numpy but for the last part.
"""
from __future__ import annotations

import argparse
import copy
import csv
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, Iterator, List, Sequence, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
from warpburg_cli import Cli  # noqa: E402

try:
    import numpy as np
except ImportError:
    np = None

HERE = Path(__file__).resolve().parent
KNOWN = HERE / "programs_known.tsv"
ILL = {"batchnorm_nchw_grad", "cplx_pow_c64", "gpt_block_grad_bf16", "gpt_block_grad_f32", "llama_block_grad", "nerf_render"}
INPUTS = ("--seed", "1", "--case", "n")         # those of the stored results
DIGITS = {"f64": 53, "f32": 24, "c64": 24, "c128": 53, "f16": 11, "bf16": 8, "f8e4m3fn": 4, "f8e5m2": 3}
FARTHER, UNITS = 8, 64


def known() -> Dict[str, Tuple[str, str]]:
    with open(KNOWN, encoding="utf-8", newline="") as lines:
        return {r["program"]: (r["word"], r["why"]) for r in csv.DictReader(lines, delimiter="\t")}


def numbers(array, kind: str):
    """Floats of any type as f64, complex values as their parts."""
    if kind == "bf16":
        return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if kind in ("f8e4m3fn", "f8e5m2"):
        import ml_dtypes
        return array.view(getattr(ml_dtypes, "float8_e4m3fn" if kind == "f8e4m3fn" else "float8_e5m2")).astype(np.float64)
    if array.dtype.kind == "c":
        return np.ascontiguousarray(array).view(np.float32 if array.dtype.itemsize == 8 else np.float64).astype(np.float64)
    return array.astype(np.float64)


def distance(values, exact) -> float:
    """The largest distance, in parts of the largest element; nan and infinities must be where they are in `exact`."""
    odd = ~np.isfinite(exact)
    if not np.array_equal(values[odd], exact[odd], equal_nan=True) or not np.isfinite(values[~odd]).all():
        return float("inf")
    if not exact[~odd].size:
        return 0.0
    scale = np.abs(exact[~odd]).max() or 1.0
    return float(np.abs(values[~odd] - exact[~odd]).max() / scale)


class Programs:
    def __init__(self, args: argparse.Namespace) -> None:
        self.cli = Cli(args.warpburg, args.jobs)
        self.known = known()
        self.passed = self.failed = 0
        self.modules = args.shared / "corpus" / "modules"
        os.environ["WARPBURG_LIBCUDA"] = str(Path(args.fuzzer).resolve().parent / "libfake_cuda_driver.so")
        self.totals = {"kernels": 0, "library": 0, "copies": 0, "iterations": 0, "compared": 0}

    def check(self, fine: bool, what: str) -> None:
        self.passed += fine
        self.failed += not fine
        if not fine:
            print(f"FAIL {what}", flush=True)

    def result(self, name: str, kind: str, k: int, folder: Path, stored) -> str:
        """How result k differs from the stored one; "": it agrees."""
        got, theirs = np.load(folder / "out" / f"out{k}.npy"), stored[f"out{k}"]
        if got.shape != theirs.shape:
            return f"result {k} is {got.shape}, stored {theirs.shape}"
        if kind not in DIGITS:
            differ = int((got.astype(np.int64) != theirs.astype(np.int64)).sum()) if kind != "u64" else int((got != theirs).sum())
            return f"result {k}: {differ} of {got.size} elements differ" if differ else ""
        exact = numbers(np.load(folder / "exact" / f"out{k}.npy"), "f64")
        ours, plain = distance(numbers(got, kind), exact), distance(numbers(np.load(folder / "plain" / f"out{k}.npy"), kind), exact)
        other = 0.0 if name in ILL else distance(numbers(theirs, kind), exact)
        limit = max(FARTHER * plain, FARTHER * other, UNITS * 2.0 ** -DIGITS[kind])
        return "" if ours <= limit or plain == other == float("inf") else f"result {k} ({kind}) is {ours:.3g} off, {limit:.3g} at most"

    def differs_on_gpu(self, folder: Path, target: str) -> str:
        """What goes wrong with the program on the driver that simulates a GPU, after it ran in the simulator; "": nothing."""
        p = self.cli.call("run", str(folder / "p"), "--on", "gpu", "--check", "--json", *INPUTS, "--target", target, "-o", str(folder / "gpu"))
        if p.returncode or not json.loads(p.stdout)["on_gpu"]:
            return "on a GPU: " + (p.stderr + p.stdout)[-500:]
        wrong = [f.name for f in (folder / "out").iterdir() if f.read_bytes() != (folder / "gpu" / f.name).read_bytes()]
        return f"on a GPU: {wrong[0]} has other bits" if wrong else ""

    def one(self, name: str, target: str, cut: str) -> Tuple[str, str]:
        """(outcome, why): right, a reason's word, differs, wrong."""
        file = str(self.modules / f"{name}.S.hlo")
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            p = self.cli.call("fuse", file, "--cut", cut, "--target", target, "-o", str(folder / "p"))
            if p.returncode:
                return "wrong", p.stderr[-300:]
            p = self.cli.call("run", str(folder / "p"), "--check", "--json", *INPUTS, "--target", target, "-o", str(folder / "out"))
            if p.returncode == 3:
                reason = re.search(r"declined: (\w+):", p.stderr)
                return (reason[1] if reason else "wrong"), p.stderr.strip()[:300]
            if p.returncode or not p.stdout:
                return "wrong", (p.stderr + p.stdout)[-500:]
            facts = json.loads(p.stdout)
            if facts["whole_skipped"] or facts["judged"] == 0 and facts["kernels"]:
                return "wrong", f"not judged: {facts['whole_skipped']}"
            for key in self.totals:
                self.totals[key] += facts[key]
            why = self.differs_on_gpu(folder, target) if cut == "priced" else ""
            if why:
                return "wrong", why
            for words in (["plain"], ["exact", "--f64"]):
                p = self.cli.call("eval", file, *INPUTS, "-o", str(folder / words[0]), *words[1:])
                if p.returncode:
                    return "wrong", p.stderr[-300:]
            program = json.loads((folder / "p" / "program.json").read_text())
            entry = program["computations"][program["entry"]]
            stored = np.load(self.modules / f"{name}.S.npz")
            for k, result in enumerate(entry["results"]):
                differs = self.result(name, entry["values"][result["value"]]["type"], k, folder, stored)
                if differs:
                    return "differs", differs
        return "right", ""

    def modules_on(self, names: List[str], target: str, cut: str) -> None:
        for name, (outcome, why) in zip(names, self.cli.each(lambda n: self.one(n, target, cut), names)):
            word, _ = self.known.get(name, ("right", ""))
            self.check(outcome == word, f"{name} on {target}, cut {cut}: {outcome}, {word} expected; {why}")


# --- XLA's cut --------------------------------------------------------------------------------------------------------------------------------
RUNS = 20_000_000  # bytes of a program's kernels, at most, that are run
CONDITION = 5  # bytes of the kernel that compares a counter: a loop whose iterations are counted has none, as XLA runs it, but xla.tsv counts it


def like_xla(tests: Programs, row: Dict[str, str]) -> Tuple[int, str]:
    """(kernels that were judged, what is wrong)."""
    file = tests.modules / f"{row['program']}.L.gpu.hlo"
    with tempfile.TemporaryDirectory() as made:
        p = tests.cli.call("fuse", str(file), "--like", "xla", "-o", made)
        if p.returncode:
            return 0, p.stderr[-300:]
        kinds = {"kernel": 0, "library": 0}
        moved = counted = 0
        for computation in json.loads(Path(made, "program.json").read_text())["computations"]:
            for step in computation["steps"]:
                kinds[step["kind"]] = kinds.get(step["kind"], 0) + 1
                counted += step.get("iterations", -1) >= 0
                if step["kind"] == "kernel":
                    moved += sum(computation["values"][v]["bytes"] for v in step["reads"] + step["makes"])
        got, stated = (kinds["kernel"] + counted, moved + CONDITION * counted, kinds["library"]), tuple(int(row[k]) for k in ("kernels", "bytes", "library"))
        if got != stated:
            return 0, f"kernels, bytes and library calls are {got}, {stated} in xla.tsv"
        if moved > RUNS or kinds["library"]:
            return 0, ""
        p = tests.cli.call("run", made, "--check", "--json", "--seed", "1")
        return (json.loads(p.stdout)["judged"], "") if p.returncode == 0 else (0, (p.stderr + p.stdout)[-500:])


def all_like_xla(tests: Programs, every: int) -> None:
    with open(tests.modules / "xla.tsv", encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))[::every]
    judged = 0
    for row, (kernels, why) in zip(rows, tests.cli.each(lambda r: like_xla(tests, r), rows)):
        tests.check(not why, f"{row['program']} like XLA: {why}")
        judged += kernels
    print(f"{len(rows)} programs as XLA cut them, {judged} kernels of these judged")

# --- products on a GPU ------------------------------------------------------------------------------------------------------------------------
def dots() -> Iterator[Tuple[str, bool]]:
    """(module, whether its dot is one product): every order of dimensions of three arrays, with and without a batch, and groups of dimensions, of
    so many rows and columns, and so many terms, that the dot is no sum and no product of a kernel."""
    def module(x: str, y: str, z: str, attributes: str) -> str:
        return f"HloModule m\nENTRY m {{\n  x = {x} parameter(0)\n  y = {y} parameter(1)\n  ROOT z = {z} dot(x, y), {attributes}\n}}\n"

    def order(at: Tuple[int, ...]) -> str:
        return "{" + ",".join(map(str, at)) + "}"

    for a, b, c in itertools.product(((1, 0), (0, 1)), repeat=3):
        for k, l in itertools.product((0, 1), repeat=2):
            x, y = ("5,7" if k else "7,5"), ("7,6" if l == 0 else "6,7")
            contracted = f"lhs_contracting_dims={{{k}}}, rhs_contracting_dims={{{l}}}"
            yield module(f"f32[{x}]{order(a)}", f"f32[{y}]{order(b)}", f"f32[5,6]{order(c)}", contracted), True
    batch = "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}"
    for a, b, c in itertools.product(itertools.permutations(range(3)), ((2, 1, 0), (0, 2, 1), (1, 0, 2)), itertools.permutations(range(3))):
        # one of the two dimensions of each matrix is the fastest
        fine = a[0] != 0 and b[0] != 0 and c[0] != 0
        yield module(f"bf16[4,5,7]{order(a)}", f"bf16[4,7,3]{order(b)}", f"f32[4,5,3]{order(c)}", batch), fine
    batch = "lhs_batch_dims={0,1}, rhs_batch_dims={0,1}, lhs_contracting_dims={3}, rhs_contracting_dims={3}"
    orders = ((3, 2, 1, 0), (3, 1, 2, 0), (2, 1, 3, 0), (3, 0, 1, 2), (2, 3, 0, 1), (1, 3, 2, 0))  # of (batch, head, row, column)
    for a, b, c in itertools.product(orders, repeat=3):
        fine = a[0] > 1 and b[0] > 1 and c[0] > 1
        yield module(f"f32[2,3,5,7]{order(a)}", f"f32[2,3,6,7]{order(b)}", f"f32[2,3,5,6]{order(c)}", batch), fine
    batch = "lhs_batch_dims={0,1,2}, rhs_batch_dims={0,1,2}, lhs_contracting_dims={4}, rhs_contracting_dims={3}"
    for a, fine in (((4, 3, 2, 1, 0), True), ((4, 2, 3, 1, 0), True), ((4, 1, 3, 2, 0), False)):
        yield module(f"bf16[2,3,2,5,7]{order(a)}", "bf16[2,3,2,7,3]{4,3,2,1,0}", "f32[2,3,2,5,3]{4,3,2,1,0}", batch), fine
    yield module("f64[3,4,8]{2,1,0}", "f64[8,9]{1,0}", "f64[3,4,9]{2,1,0}", "lhs_contracting_dims={2}, rhs_contracting_dims={0}"), True
    yield module("f64[3,4,8]{2,0,1}", "f64[8,9]{1,0}", "f64[3,4,9]{2,1,0}", "lhs_contracting_dims={2}, rhs_contracting_dims={0}"), False
    yield module("f32[5,3,8]{2,1,0}", "f32[3,8,6]{2,1,0}", "f32[5,6]{1,0}", "lhs_contracting_dims={1,2}, rhs_contracting_dims={0,1}"), True
    yield module("f32[5,3,8]{2,1,0}", "f32[3,8,6]{2,1,0}", "f32[5,6]{1,0}", "lhs_contracting_dims={2,1}, rhs_contracting_dims={1,0}"), False
    yield module("f32[0,9]{1,0}", "f32[9,6]{1,0}", "f32[0,6]{1,0}", "lhs_contracting_dims={1}, rhs_contracting_dims={0}"), False
    yield module("s32[5,9]{1,0}", "s32[9,6]{1,0}", "s32[5,6]{1,0}", "lhs_contracting_dims={1}, rhs_contracting_dims={0}"), False


def additions() -> Iterator[Tuple[str, bool]]:
    """(module, whether cuBLASLt adds): a dot of f32 in every order of dimensions to which an array and a row are added, in one step with it."""
    def module(x: str, y: str, z: str, orders: Sequence[str], attributes: str, adds: str) -> str:
        a, b, c, d = orders
        row = f"{z}{'{1,0}' if z.count(',') == 1 else '{2,1,0}'}"
        return (f"HloModule m\nENTRY m {{\n  x = {x}{a} parameter(0)\n  y = {y}{b} parameter(1)\n  r = {z}{d} parameter(2)\n  v = f32[6] parameter(3)\n"
                f"  w = {row} broadcast(v), dimensions={{{z.count(',')}}}\n  z = {z}{c} dot(x, y), {attributes}\n  {adds}\n}}\n").replace("Z", f"{z}{c}")

    one = ("{1,0}", "{0,1}")
    both, row = "s = Z add(r, z)  ROOT t = Z add(s, w)", "ROOT t = Z add(z, w)"
    for a, b, c in itertools.product(one, repeat=3):
        for k, l in itertools.product((0, 1), repeat=2):
            x, y = "f32[5,70]" if k else "f32[70,5]", "f32[70,6]" if l == 0 else "f32[6,70]"
            how = f"lhs_contracting_dims={{{k}}}, rhs_contracting_dims={{{l}}}"
            yield module(x, y, "f32[5,6]", (a, b, c, c), how, "ROOT s = Z add(z, r)"), True
            if c == "{1,0}":
                yield module(x, y, "f32[5,6]", (a, b, c, c), how, both), True
                yield module(x, y, "f32[5,6]", (a, b, c, c), how, row), True
    batch = "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}"
    for a in ("{2,1,0}", "{2,0,1}", "{1,2,0}"):
        yield module("f32[4,5,70]", "f32[4,70,6]", "f32[4,5,6]", (a, "{2,1,0}", "{2,1,0}", "{2,1,0}"), batch, both), True
        yield module("bf16[4,5,7]", "bf16[4,7,6]", "f32[4,5,6]", ("{2,1,0}", a, "{2,0,1}", "{2,0,1}"), batch, "ROOT s = Z add(z, r)"), True


def products(tests: Programs) -> None:
    """Each dot as a library call: computed by cuBLAS, which is tests/gpu/fake_cublas.c, or on the host, inside the bounds of the module."""
    for library in ("WARPBURG_LIBCUBLAS", "WARPBURG_LIBCUBLASLT"):
        os.environ[library] = str(Path(os.environ["WARPBURG_LIBCUDA"]).parent / "libfake_cublas.so")
    for text, fine in itertools.chain(dots(), additions()):
        with tempfile.TemporaryDirectory() as made:
            file = Path(made, "m.hlo")
            file.write_text(text)
            p = tests.cli.call("fuse", str(file), "-o", str(Path(made, "p")))
            if p.returncode == 0:
                p = tests.cli.call("run", str(Path(made, "p")), "--on", "gpu", "--check", "--json")
            facts = json.loads(p.stdout) if p.returncode == 0 else {}
            right = facts and facts["whole_skipped"] is None and facts["whole_outside"] == 0 and facts["library"] == 1 and facts["blas"] == fine
            right = right and ("add(" not in text or facts["kernels"] == 0)
            tests.check(bool(right), f"product, by cuBLAS {fine}: {p.stderr[-200:]} {facts}\n{text}")
    os.environ["FAKE_CUBLAS_FAIL"] = "13"
    for text, said in ((next(dots())[0], "cuBLAS: cublasGemmStridedBatchedEx"), (next(additions())[0], "cuBLASLt: cublasLtMatmul")):
        with tempfile.TemporaryDirectory() as made:
            Path(made, "m.hlo").write_text(text)
            tests.cli.call("fuse", str(Path(made, "m.hlo")), "-o", str(Path(made, "p")))
            p = tests.cli.call("run", str(Path(made, "p")), "--on", "gpu")
            tests.check(p.returncode == 1 and f"{said}: status 13" in p.stderr, f"a product that fails: {p.stderr}")
    del os.environ["FAKE_CUBLAS_FAIL"], os.environ["WARPBURG_LIBCUBLAS"], os.environ["WARPBURG_LIBCUBLASLT"]


# --- program.json with one thing changed ------------------------------------------------------------------------------------------------------
def places(value, path: Tuple = ()) -> Iterator[Tuple]:
    yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, path + (key,))


def changed(program, path: Tuple, to):
    """The program with `to` at the path; ... leaves it out."""
    out = copy.deepcopy(program)
    inner = out
    for key in path[:-1]:
        inner = inner[key]
    if to is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = to
    return out


def variants(program) -> Iterator[Tuple[str, object]]:
    for path in list(places(program))[1:]:
        inner = program
        for key in path:
            inner = inner[key]
        yield f"without {path}", changed(program, path, ...)
        for to in (None, [], {}, "x", -1, 0, 1, 2 ** 31, 2 ** 63, 10 ** 30, [0, 0]) if not isinstance(inner, str) else (None, 7, "", "../x", "x" * 300):
            yield f"{path} = {to}", changed(program, path, to)


def flow_faults(program) -> Iterator[Tuple[str, object, str]]:
    """Programs whose numbers are all in range, and what is wrong with each."""
    for c, computation in enumerate(program["computations"]):
        steps = computation["steps"]
        for s in range(len(steps)):
            reads = set(steps[s]["reads"]) & {v for step in steps[:s] for v in step["makes"]}
            if reads:
                yield f"step {s} first", changed(program, ("computations", c, "steps"), [steps[s], *steps[:s], *steps[s + 1:]]), "it reads "
            if steps[s].get("in_place"):
                yield f"step {s} not in place", changed(program, ("computations", c, "steps", s, "in_place"), []), "over "
            if steps[s]["kind"] == "loop":
                yield "a loop that reads less", changed(program, ("computations", c, "steps", s, "reads"), steps[s]["reads"][1:]), ""
                at = ("computations", c, "steps", s)
                if "flag" in steps[s]:
                    yield "condition and body exchanged", changed(program, at + ("calls",), steps[s]["calls"][::-1]), "results"
                else:
                    yield "a condition and a count", changed(program, at + ("calls",), steps[s]["calls"] * 2), "whose iterations are known"
                for k, (state, spare) in enumerate(steps[s].get("swaps", [])):
                    yield "turns that end elsewhere", changed(program, at + ("iterations",), steps[s]["iterations"] + 1), "turns end"
                    yield "no turns", changed(program, at + ("swaps",), []), "what takes turns"
                    other = steps[s]["reads"][state - 1]
                    yield "turns in other memory", changed(program, at + ("swaps", k, 1), other), "turns"


def refuse_faults(tests: Programs, folder: Path, program) -> None:
    """Each is refused at its place; the folder has the program again."""
    written = folder / "program.json"
    for what, text, says in flow_faults(program):
        written.write_text(json.dumps(text, indent=1))
        p = tests.cli.call("run", str(folder))
        right = p.returncode == 1 and re.search(r"program\.json:\d+:\d+: error: ", p.stderr) and says in p.stderr
        tests.check(bool(right), f"{what}: exit {p.returncode}, {p.stderr.strip()[-200:]}; '{says}' expected")
    written.write_text(json.dumps(program))


def bad_programs(tests: Programs, args: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made, "p")
        counted = Path(made, "counted")
        tests.check(tests.cli.call("fuse", str(HERE.parent / "lit" / "program" / "trips.hlo"), "-o", str(counted)).returncode == 0, "trips.hlo is no program")
        refuse_faults(tests, counted, json.loads((counted / "program.json").read_text()))
        file = HERE.parent / "lit" / "program" / "loop.hlo"
        tests.check(tests.cli.call("fuse", str(file), "--cut", "plain", "-o", str(folder)).returncode == 0, "loop.hlo is no program")
        written = folder / "program.json"
        program = json.loads(written.read_text())
        all_of_them = list(variants(program))[::args.every_variant]
        for k, (what, text) in enumerate(all_of_them):
            Path(made, f"{k}.json").write_text(json.dumps(text))
        for start in range(0, len(all_of_them), 500):
            end = min(start + 500, len(all_of_them))
            p = subprocess.run([args.fuzzer, *(str(Path(made, f"{k}.json")) for k in range(start, end))], capture_output=True, text=True, check=False)
            tests.check(p.returncode == 0, f"variants {start}..{end} of program.json: exit {p.returncode}; {p.stderr[-300:]}")
        refuse_faults(tests, folder, program)
        p = subprocess.run([args.run, "run", str(folder)], capture_output=True, text=True, check=False)
        tests.check(p.returncode == 1 and "is not compiled" in p.stderr, f"warpburg-run without bundles: exit {p.returncode}, {p.stderr[-200:]}")
        (folder / "steps" / "u.hlo").write_text((folder / "steps" / "j.hlo").read_text())
        p = tests.cli.call("run", str(folder))
        tests.check(p.returncode == 1 and "other operands or results" in p.stderr, f"another text for a step: exit {p.returncode}, {p.stderr[-200:]}")


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("warpburg")
    p.add_argument("run")
    p.add_argument("fuzzer")
    p.add_argument("--shared", type=Path, default=HERE.parents[2] / "shared")
    p.add_argument("--on", default="sm_90:priced,sm_80:plain", help="targets, and how modules are cut for each")
    p.add_argument("--every", type=int, default=1, help="of the modules, every Nth")
    p.add_argument("--every-variant", type=int, default=1, help="of the changed program.json, every Nth")
    p.add_argument("--only", default="", help="modules whose name has this in it")
    p.add_argument("-j", "--jobs", type=int, default=2)
    args = p.parse_args()
    tests = Programs(args)
    bad_programs(tests, args)
    products(tests)
    if (tests.modules / "xla.tsv").exists():
        all_like_xla(tests, args.every)
    names = [f.name[:-len(".S.hlo")] for f in sorted(tests.modules.glob("*.S.hlo")) if args.only in f.name]
    if np is None or not names:
        print(f"skipped: the modules need {'numpy' if np is None else tests.modules}")
    else:
        for k, place in enumerate(args.on.split(",")):
            tests.modules_on(names[k::args.every], *place.split(":"))
        print(", ".join(f"{n} {what}" for what, n in tests.totals.items()))
    print(f"{tests.passed} passed, {tests.failed} failed")
    return int(tests.failed != 0)


if __name__ == "__main__":
    sys.exit(main())
