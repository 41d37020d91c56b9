"""Every instruction rule (llvm, intr, call, asm), alone, in the simulator: a kernel is made whose stored value is the rule's left side,
warpburg selects for it, and `warpburg ir --check` compares what its PTX gives with the reference meaning of the operations.

usage: python -m gen.proof.simulate [--warpburg build/warpburg] [--target sm90].. [--every] [--rule TEXT] [--verbose]

One line a rule: `patterns/tiles.py:9 simulated(57344)`: so many results, over every type that the rule's class has and every number of
lanes that PACKED says, each on the oldest and the newest target that has it (--every: on all); edge values in all combinations, then
random bits. It must be this rule that was selected. An instruction with a stated error is run as far off as the PTX manual allows. ptxas
assembles every kernel for its own target; without ptxas that is skipped, and said. What llvm/ emits without a rule (load, store, pack,
part, splat, index arithmetic) is run as well, under the names `lower: ...`.

What this proves: operations on integers, comparisons, select and moves are written twice (gen/semantics.py, src/sim/ops_int.c); float
arithmetic, conversions and rounding twice (gen/semantics.py over the host's arithmetic; src/sim/soft.c and convert.c in integers).
Approximate instructions are the same libm functions on both sides, moved by noise: there the check is of the template, not of the
hardware's error.
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
    """What a kernel came to, or all kernels of a rule."""

    compared: int = 0
    kernels: int = 0
    every: bool = True  # all values that the operands may have were tried
    faults: List[str] = field(default_factory=list)


# --- runs --------------------------------------------------------------------------------------------------------------------------
def check(warpburg: str, target: str, folder: Path, files: List[Path], err: str) -> List[Dict[str, Any]]:
    """One process; an answer a file."""
    command = [warpburg, "ir", "--check", "--json", "--from", "width", "--target", target, "-o", str(folder / "ptx")]
    command += ["--err", *err.split()] if err else []
    p = subprocess.run(command + [str(f) for f in files], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    answers = [json.loads(line) for line in p.stdout.splitlines()]
    if len(answers) != len(files):
        stopped = files[len(answers)].read_text()
        return answers + [{"status": "failed", "message": f"warpburg stopped ({p.returncode}) at {stopped}{p.stderr[-500:]}"}] * (len(files) - len(answers))
    return answers


def judge(k: Kernel, answer: Dict[str, Any], result: Result) -> None:
    result.kernels += 1
    status = answer["status"]
    if status != "ok":
        what = answer.get("first") or answer.get("message", "")
        result.faults.append(f"{k.instance}: {status}: {what.strip()}")
        return
    if not k.rule.startswith("lower: ") and k.rule not in answer["rules"]:
        result.faults.append(f"{k.instance}: selected by {', '.join(answer['rules']) or 'nothing'}")
    if answer["compared"] == 0:
        result.faults.append(f"{k.instance}: nothing was compared")
    result.compared += answer["compared"]
    result.every = result.every and answer["all"]


def ptxas_of() -> Optional[str]:
    own = os.environ.get("WARPBURG_PTXAS")
    usual = "/usr/local/cuda/bin/ptxas"
    return own or shutil.which("ptxas") or (usual if os.path.exists(usual) else None)


def assemble(ptxas: str, target: str, folder: Path, batches: int) -> List[str]:
    """All kernels of a target, in a few modules; those with functions or constants of their own (libdevice's) each alone."""
    head, bodies, jobs = "", [], []
    for f in sorted((folder / "ptx").glob("*.ptx")):
        text = f.read_text()
        at = text.find(".visible .entry")
        if re.search(r"^\.(func|global|const|visible \.func)\b|^\.visible \.(global|const)", text[:at] if at >= 0 else text, re.M) or "\n.func" in text:
            jobs.append(f)
            continue
        head, body = text[:text.find("\n\t// .globl") if "\n\t// .globl" in text else at], text[at:]
        bodies.append(body)
    for i in range(batches):
        jobs.append(folder / f"all{i}.ptx")
        jobs[-1].write_text(head + "\n" + "\n".join(bodies[i::batches]))
    out = []
    for f in jobs:
        p = subprocess.run([ptxas, f"-arch={target}", "-O0", "-o", os.devnull, str(f)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if p.returncode:
            out.append(f"{target}: ptxas refuses {f.name}: {p.stdout.strip()[:800]}")
    return out


def simulate(warpburg: str, target: str, kernels: List[Kernel], jobs: int = 2, assembled: bool = True) -> Tuple[Dict[Kernel, Result], List[str]]:
    """Kernels on a target (sm_90), and what ptxas said."""
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
            answers = pool.map(lambda g: check(warpburg, target, folder, [p for _, p in g[1]], g[0][0]), groups.items())
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
    parser.add_argument("--every", action="store_true", help="each kernel on all targets that have it, not on the oldest and the newest")
    parser.add_argument("--rule", default="", help="only rules whose identity or text holds this")
    parser.add_argument("--verbose", action="store_true", help="the number of kernels, too, and what llvm/ emits by itself")
    args = parser.parse_args()
    found = {t: kernels_on(t, args.rule) for t in [t.replace("_", "") for t in args.target or load.targets()]}
    by_kernel: Dict[Kernel, Result] = {}
    notes: List[str] = []
    for name, kernels in chosen({t: k for t, (k, _) in found.items()}, args.every).items():
        results, said = simulate(args.warpburg, str(load.run(name).TARGET.name), kernels)
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
