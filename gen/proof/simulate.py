"""Runs each instruction rule (llvm, intr, call, asm, lookup) in the simulator, in a kernel that stores the value of the rule's left side:
warpburg compiles it, and `warpburg ir --check` compares the results of its PTX with the reference meaning of the operations.

usage: python -m gen.proof.simulate [--warpburg build/warpburg] [--target sm90].. [--every] [--rule TEXT].. [--backend ptx] [--verbose]

It prints a line for each rule: `patterns/tiles.py:9 simulated(57344)` with the number of results that were compared, over every type of the
rule's class and every number of lanes in PACKED, on the oldest and the newest target that has the rule (--every: on all). Operands are
edge values in all combinations, then random bits. The rule under test must be the one that was selected. An instruction with a stated
error is moved by as much as the PTX manual allows. ptxas assembles every kernel for its target; without ptxas that is skipped, with a
message. With --backend ptx the texts of patterns/texts.py are run so, and rules that call libdevice, which that back end declines, are left out.
What llvm/ emits without a rule (load, store, pack, part, splat, index arithmetic) is run too, under the names `lower: ...`.

The two sides of the comparison are independent: integers, comparisons, select and moves are defined in gen/semantics.py and in
src/sim/ops_int.c; float arithmetic, conversions and rounding in gen/semantics.py with the host's arithmetic and in src/sim/soft.c and
convert.c with integers. Only approximate instructions are the same libm functions on both sides, moved by noise: for these the check
covers the template, not the hardware's error.
"""
from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from gen import load
from gen.proof.tile_kernels import Kernel, chosen, kernels_on


@dataclass
class Result:
    """The result of one kernel, or of all kernels of a rule."""

    compared: int = 0
    kernels: int = 0
    every: bool = True  # whether all values of the operands were tried
    faults: List[str] = field(default_factory=list)


LIBRARY = "the ptx back end has no text for the function of libdevice"


# --- runs --------------------------------------------------------------------------------------------------------------------------
def check(warpburg: str, target: str, folder: Path, files: List[Path], err: str, backend: str) -> List[Dict[str, Any]]:
    """Runs one process; returns an answer for each file."""
    command = [warpburg, "ir", "--check", "--json", "--from", "width", "--target", target, "--backend", backend, "-o", str(folder / "ptx")]
    command += err.split()
    p = subprocess.run(command + [str(f) for f in files], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    answers = [json.loads(line) for line in p.stdout.splitlines()]
    if len(answers) != len(files):
        stopped = files[len(answers)].read_text()
        return answers + [{"status": "failed", "message": f"warpburg stopped ({p.returncode}) at {stopped}{p.stderr[-500:]}"}] * (len(files) - len(answers))
    return answers


def judge(k: Kernel, answer: Dict[str, Any], result: Result) -> None:
    result.kernels += 1
    status = answer["status"]
    if LIBRARY in answer.get("message", ""):
        return
    if status != "ok":
        what = answer.get("first") or answer.get("message", "")
        result.faults.append(f"{k.instance}: {status}: {what.strip()}")
        return
    if not k.rule.startswith("lower: ") and k.rule not in answer["rules"]:
        result.faults.append(f"{k.instance}: selected by {', '.join(answer['rules']) or 'no rule'}")
    if answer["compared"] == 0:
        result.faults.append(f"{k.instance}: nothing was compared")
    result.compared += answer["compared"]
    result.every = result.every and answer["all"]


def ptxas_of() -> Optional[str]:
    """The program that WARPBURG_PTXAS names; where it names a library, or a kind by a word, the one that is found."""
    own = os.environ.get("WARPBURG_PTXAS", "")
    if own in ("nvptxcompiler", "ptxas", "nvjitlink") or ".so" in Path(own).name:
        own = ""
    usual = "/usr/local/cuda/bin/ptxas"
    return own or shutil.which("ptxas") or (usual if os.path.exists(usual) else None)


def assemble(ptxas: str, target: str, folder: Path, batches: int) -> List[str]:
    """Assembles all kernels of a target in a few modules; kernels whose PTX has functions or constants (libdevice) each alone."""
    head, bodies, jobs = "", [], []
    for f in sorted((folder / "ptx").glob("*.ptx")):
        text = f.read_text()
        first = re.search(r"^(\.extern )?\.shared\b|^\.visible \.entry", text, re.M)  # an array of a block stands before its kernel
        at = first.start() if first else -1
        if re.search(r"^\.(func|global|const|visible \.func)\b|^\.visible \.(global|const)", text[:at] if at >= 0 else text, re.M) or "\n.func" in text:
            jobs.append(f)
            continue
        head, body = text[:text.find("\n\t// .globl") if "\n\t// .globl" in text else at], text[at:]
        bodies.append(body)
    for i in range(min(batches, len(bodies))):
        jobs.append(folder / f"all{i}.ptx")
        jobs[-1].write_text(head + "\n" + "\n".join(bodies[i::batches]))
    out = []
    for f in jobs:
        p = subprocess.run([ptxas, f"-arch={target}", "-O0", "-o", os.devnull, str(f)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if p.returncode:
            out.append(f"{target}: ptxas refuses {f.name}: {p.stdout.strip()[:800]}")
    return out


def simulate(warpburg: str, target: str, kernels: List[Kernel], jobs: int = 2, assembled: bool = True,
             backend: str = "llvm") -> Tuple[Dict[Kernel, Result], List[str]]:
    """Runs kernels on a target (sm_90). Returns their results and the messages of ptxas."""
    notes: List[str] = []
    results: Dict[Kernel, Result] = {}
    with tempfile.TemporaryDirectory(prefix="warpburg-") as tmp:
        folder = Path(tmp)
        groups: Dict[Tuple[str, int], List[Tuple[Kernel, Path]]] = {}
        for i, k in enumerate(kernels):
            path = folder / f"k{i}.ir"
            path.write_text(k.text.replace("@NAME", f"@k{i}"))
            groups.setdefault((k.err, 0 if k.err else i % jobs), []).append((k, path))
        with ThreadPoolExecutor(jobs) as pool:
            answers = pool.map(lambda g: check(warpburg, target, folder, [p for _, p in g[1]], g[0][0], backend), groups.items())
            for group, some in zip(groups.values(), answers):
                for (k, _), answer in zip(group, some):
                    judge(k, answer, results.setdefault(k, Result()))
        ptxas = ptxas_of()
        if not assembled:
            pass
        elif ptxas is None:
            print(f"{target}: not assembled: ptxas is not here (WARPBURG_PTXAS)", file=sys.stderr)
        else:
            notes += assemble(ptxas, target, folder, jobs)
    return results, notes


def by_rule(results: Dict[Kernel, Result]) -> Dict[str, Result]:
    out: Dict[str, Result] = {}
    for k, r in results.items():
        of = out.setdefault(k.rule, Result())
        of.compared, of.kernels, of.every, of.faults = of.compared + r.compared, of.kernels + 1, of.every and r.every, of.faults + r.faults
    return out


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m gen.proof.simulate")
    parser.add_argument("--warpburg", default="build/warpburg")
    parser.add_argument("--target", action="append", help="sm90 or sm_90; all if left out")
    parser.add_argument("--every", action="store_true", help="each kernel on all targets that have it, not only on the oldest and the newest")
    parser.add_argument("--rule", action="append", help="only rules whose name or text contains this, or another that is given")
    parser.add_argument("--backend", default="llvm", choices=("llvm", "ptx"))
    parser.add_argument("--verbose", action="store_true", help="also the number of kernels, and what llvm/ emits without a rule")
    args = parser.parse_args()
    found = {t: kernels_on(t, *(args.rule or [""])) for t in [t.replace("_", "") for t in args.target or load.targets()]}
    by_kernel: Dict[Kernel, Result] = {}
    notes: List[str] = []
    for name, kernels in chosen({t: k for t, (k, _) in found.items()}, args.every).items():
        results, said = simulate(args.warpburg, str(load.run(name).TARGET.name), kernels, backend=args.backend)
        notes += said
        for k, r in results.items():
            for f in r.faults:
                print(f"{k.rule} failed on {name}: {f}")
            before = by_kernel.setdefault(k, r)
            before.compared = min(before.compared, r.compared)
            before.faults = before.faults or r.faults
    rules = by_rule(by_kernel)
    for name, (_, faults) in found.items():
        for rule, f in faults.items():
            print(f"{rule} failed on {name}: {f}")
            rules.setdefault(rule, Result()).faults.append(f)
    failed = sum(bool(r.faults) for r in rules.values())
    for rule, r in rules.items():
        if not r.faults and (args.verbose or not rule.startswith("lower: ")):
            print(f"{rule} simulated({r.compared})" + (f"  {r.kernels} kernels" + (", all values" if r.every else "") if args.verbose else ""))
    for n in notes:
        print(n)
    ok = sum(not r.faults for r in rules.values())
    print(f"{ok} passed, {failed + len(notes)} failed", file=sys.stderr)
    return int(failed + len(notes) > 0)


if __name__ == "__main__":
    sys.exit(main())
