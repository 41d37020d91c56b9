"""Wrong kernels are found: single instructions of compiled kernels are replaced by wrong ones, and `run --check` must report each.

usage: kernel_mutants.py WARPBURG WARPBURG_RUN [--shared DIR] [--kernels 200] [--mutants 10] [--seed 0] [--seeds 2000] [--only NAME] [--verbose]

Each kernel of kernel_sample.py is compiled and must pass the input cases w, u, n, e, p, s, c and d. Then each of its mutants (ptx_mutants.py; the kinds
take turns, the seed chooses) runs on the same cases, until one finds a fault, an element outside the bounds, or PTX that is refused; a mutant
that does not end is stopped. A survivor meets further seeds of cases c, e, n, p, t, u, w and, where there are reductions, d and s: --seeds of each for a small
kernel, fewer for a larger one. Where they find a mutant, the kernel itself must pass them. Sums of f32 that flush, and indices that are cut to the
first eight, are tried on each kernel that has such.

A survivor must stand in kernel_mutants_known.tsv with its class and reason: `same`, every input gives the same result, which the suite checks
bit for bit on some; `allowed`, results differ by no more than the bounds allow; `rare`, one element in so many differs that the cases seldom
reach it; `missed`, the checks should find it and do not. Its columns kernel, kind and mutant are patterns with *. The score is the part that is
found of the mutants that are neither the same nor allowed; it is printed without and with the rare ones, and must be 99.9 % with them.
Kernels with reductions for which case s finds no inputs are listed and count like all others.
"""
from __future__ import annotations

import argparse
import csv
import fnmatch
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))

import kernel_sample  # noqa: E402
import ptx_mutants  # noqa: E402

KNOWN = Path(__file__).with_name("kernel_mutants_known.tsv")
# input cases, first seeds and how many, which the kernel must pass
FIRST = [("s", 0, 1), ("e", 0, 1), ("n", 0, 1), ("p", 0, 1), ("w", 0, 1), ("u", 0, 1), ("c", 0, 4), ("d", 0, 16)]
SUMS = ("reduce", "reduce-window", "scatter")   # kinds of kernels whose sums may be subnormal
INDEXED = ("gather", "scatter")                 # kinds of kernels that load indices
WORK = 100e6            # instructions of all further seeds of a case, reading the PTX included
MOST_BYTES = 1 << 18    # of all buffers: larger kernels are left out
MOST_INSTRUCTIONS = 1 << 21
COLUMNS = ("found", "excused", "rare", "missed")
TITLES = ("kind of mutant", "element type", "kind of kernel", "reductions in case s")
LEAST = 99.9            # % of the mutants that are neither the same nor allowed must be found
BITS = [("e", 0), ("n", 0), ("p", 0), ("s", 0), ("e", 1), ("n", 1)]     # cases and seeds on which outputs are compared bit for bit
SECONDS = 10            # for a mutant on the first seeds; the kernels themselves take milliseconds
MANY_SECONDS = 300      # on many seeds
MEMORY = 3 << 30


class Tried(NamedTuple):
    mutant: ptx_mutants.Mutant
    line: str           # of the kernel
    case: str           # that found it; "" if none
    same: bool          # no bit of its outputs differed from the kernel's


class Result(NamedTuple):
    name: str
    kind: str
    type: str
    unjudged: str       # reductions for which case s has no inputs; "-" if there are no reductions
    tried: List[Tried]
    why: str            # why the kernel itself fails; "" if it does not


def run(program: str, bundle: Path, case: str, seed: int, seeds: int) -> Tuple[int, str]:
    words = [program, "run", str(bundle), "--edited", "--check", "--json", "-j", "1", "--case", case, "--seed", str(seed), "--seeds", str(seeds)]
    try:
        p = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=SECONDS if seeds < 10 else MANY_SECONDS)
    except subprocess.TimeoutExpired:
        return 124, f"not done within {SECONDS} s"
    return p.returncode, p.stdout + p.stderr


def found_by(program: str, bundle: Path, further: List[Tuple[str, int, int]]) -> str:
    """What finds the kernel of the bundle wrong; "" if nothing does."""
    for k, (case, seed, n) in enumerate(FIRST + further):
        rc, said = run(program, bundle, case, seed, n)
        if rc and (rc != 124 or k < len(FIRST)):
            at = json.loads(said.splitlines()[0]).get("seed", seed) if rc == 4 else 0
            return {1: "refused", 4: f"{case} {at}", 124: "endless"}.get(rc, f"exit {rc}")
    return ""


def outputs(program: str, bundle: Path) -> List[List[bytes]]:
    out = []
    for case, seed in BITS:
        with tempfile.TemporaryDirectory(prefix="warpburg-") as folder:
            subprocess.run([program, "run", str(bundle), "--edited", "--case", case, "--seed", str(seed), "-o", folder], capture_output=True, timeout=SECONDS)
            out.append([f.read_bytes() for f in sorted(Path(folder).iterdir())])
    return out


def further_runs(most: int, ptx: str, instructions: int, reduces: bool) -> List[Tuple[str, int, int]]:
    """Cases, first seeds and how many, for survivors. Cases e, n and p have most magnitudes in common where they share a seed; case s searches for
    its inputs, and without reductions it is case n."""
    n = max(20, min(most, int(WORK / (instructions + 100 * ptx.count("\n")))))
    runs = [("c", 4, n), ("e", 1, n), ("n", 1 + n, n), ("p", 1 + 2 * n, n), ("t", 0, n), ("u", 1, n), ("w", 1, n)]
    return runs + [("d", 16, n), ("s", 1, n // 10 + 1)] * reduces


def chosen(all_of_them: List[ptx_mutants.Mutant], n: int, rng: random.Random) -> List[ptx_mutants.Mutant]:
    """n mutants: the kinds take turns, each gives a random one."""
    by_kind: Dict[str, List[ptx_mutants.Mutant]] = {}
    for m in all_of_them:
        by_kind.setdefault(m.kind, []).append(m)
    for kind in by_kind.values():
        rng.shuffle(kind)
    kinds = sorted(by_kind)
    rng.shuffle(kinds)
    out: List[ptx_mutants.Mutant] = []
    while len(out) < min(n, len(all_of_them)):
        out += [by_kind[kind].pop() for kind in kinds if by_kind[kind]]
    return out[:n]


def flushes(k: kernel_sample.Sample) -> bool:
    """May sums be subnormal in f32? Not those of a function, of numbers near 1, of f64, or of types whose subnormals are normal in f32."""
    others = re.search(r"\b(f16|f64|f8\w+|[su]\d+)\[[\d,]+\]\S* parameter", k.text)
    return k.kind in SUMS and not others and not re.search(r" (exponential|log|tanh|power|divide|sqrt|rsqrt|constant\([1-9])", k.text)


def try_kernel(o: argparse.Namespace, k: kernel_sample.Sample) -> Optional[Result]:
    """The fate of a kernel's mutants; None where the fusion is declined or too large."""
    with tempfile.TemporaryDirectory(prefix="warpburg-") as tmp:
        hlo, bundle = Path(tmp) / "kernel.hlo", Path(tmp) / "bundle"
        hlo.write_text(k.text, encoding="utf-8")
        p = subprocess.run([o.warpburg, "compile", str(hlo)], capture_output=True, text=True)
        if p.returncode == 3:
            return None
        ptx = p.stdout
        no_cubin = {**os.environ, "WARPBURG_PTXAS": "none"}
        p = subprocess.run([o.warpburg, "compile", str(hlo), "-o", str(bundle)], capture_output=True, text=True, env=no_cubin)
        if p.returncode:
            return Result(k.name, k.kind, "", "", [], f"exit {p.returncode}: {p.stderr.strip()[:200]}")
        facts = json.loads((bundle / "kernel.json").read_text())
        if sum(b["bytes"] for b in facts["buffers"]) > MOST_BYTES:
            return None
        kind_of_element = next(b["type"] for b in facts["buffers"] if b["role"] != "in")
        (bundle / "kernel.ptx").write_text(ptx)
        unjudged = "-"
        for case, seed, n in FIRST:
            rc, said = run(o.run, bundle, case, seed, n)
            if rc:
                return Result(k.name, k.kind, kind_of_element, "", [], f"case {case}: exit {rc}: {said.strip()[:200]}")
            facts = json.loads(said.splitlines()[0])
            if facts["instructions"] > MOST_INSTRUCTIONS:
                return None
            if facts.get("spikes", {}).get("reductions"):
                unjudged = facts["spikes"]["unjudged"]
        lines, tried = ptx.split("\n"), []
        more = further_runs(o.seeds, ptx, facts["instructions"], unjudged != "-")
        right, further = outputs(o.run, bundle), False
        some = chosen(ptx_mutants.mutants(ptx), o.mutants, random.Random(f"{o.seed}:{k.name}"))
        for m in some + [m for m in ptx_mutants.cases(ptx, k.kind in INDEXED) if m.kind != "flush" or flushes(k)]:
            (bundle / "kernel.ptx").write_text(m.text(ptx))
            by = found_by(o.run, bundle, more)
            further = further or " " in by and int(by.split()[1]) > 3
            tried.append(Tried(m, lines[m.line].strip(), by, not by and outputs(o.run, bundle) == right))
        (bundle / "kernel.ptx").write_text(ptx)
        why = found_by(o.run, bundle, more) if further else ""
    return Result(k.name, k.kind, kind_of_element, unjudged, tried, why and f"seed {why}: the kernel itself fails") if tried else None


def known() -> List[Dict[str, str]]:
    with open(KNOWN, encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))


def excused(e: Dict[str, str], r: Result, m: ptx_mutants.Mutant) -> bool:
    pairs = ((r.name, e["kernel"]), (m.kind, e["kind"]), (m.what, e["mutant"]))
    return all(fnmatch.fnmatchcase(text, pattern.replace("[", "[[]")) for text, pattern in pairs)


def table(title: str, counts: Dict[str, Counter]) -> None:
    print(f"\n{title:22} {'mutants':>8} {'found':>7} {'same or allowed':>16} {'rare':>6} {'missed':>7} {'score':>8}")
    for name in sorted(set().union(*counts.values())):
        n = {c: counts[c][name] for c in COLUMNS}
        score = 100 * n["found"] / max(n["found"] + n["missed"], 1)
        print(f"{name:22} {sum(n.values()):8} {n['found']:7} {n['excused']:16} {n['rare']:6} {n['missed']:7} {score:7.2f}%")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("warpburg")
    parser.add_argument("run")
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--kernels", type=int, default=200)
    parser.add_argument("--mutants", type=int, default=10, help="mutants a kernel")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=2000, help="most seeds of a case that a survivor meets")
    parser.add_argument("--only", default="", help="kernels whose name holds this")
    parser.add_argument("--verbose", action="store_true", help="print every mutant")
    o = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    excuses = known()
    candidates = [k for k in kernel_sample.kernels(o.shared) if o.only in k.name]
    results: List[Result] = []
    with ThreadPoolExecutor(max_workers=2) as pool:
        while candidates and len(results) < o.kernels:
            some, candidates = candidates[:o.kernels - len(results)], candidates[o.kernels - len(results):]
            results += [r for r in pool.map(lambda k: try_kernel(o, k), some) if r]
    failed, by = 0, Counter()
    tables: Dict[str, Dict[str, Counter]] = {t: {c: Counter() for c in COLUMNS} for t in TITLES}
    for r in results:
        if r.why:
            failed += 1
            print(f"{r.name}: {r.why}")
        if r.unjudged not in ("-", ""):
            print(f"{r.name}: no inputs of case s for {r.unjudged}")
        reductions = {"-": "none", "": "all judged"}.get(r.unjudged, "some unjudged")
        for t in r.tried:
            excuse = None if t.case else next((e for e in excuses if excused(e, r, t.mutant)), None)
            column = "found" if t.case else "missed" if not excuse or excuse["class"] == "missed" else "rare" if excuse["class"] == "rare" else "excused"
            for title, name in (("kind of mutant", t.mutant.kind), ("element type", r.type), ("kind of kernel", r.kind),
                                ("reductions in case s", reductions)):
                tables[title][column][name] += 1
            by[t.case.split()[0] if t.case else "none"] += 1
            if not t.case and not excuse:
                failed += 1
                print(f"{r.name}: line {t.mutant.line + 1}: {t.mutant.kind}: not found: {t.mutant.what}\n    {t.line}")
                for line in t.mutant.lines:
                    print(f"    -> {line.strip()}")
            elif not t.case and excuse["class"] == "same" and not t.same:
                failed += 1
                print(f"{r.name}: line {t.mutant.line + 1}: {t.mutant.kind}: is not the same: {t.mutant.what}")
            elif o.verbose:
                print(f"{r.name}: {t.mutant.kind}: {t.case or excuse['class']}: {t.mutant.what}")
            if t.case.startswith("exit"):
                print(f"{r.name}: {t.mutant.kind}: {t.case}: {t.mutant.what}")
    for title, counts in tables.items():
        table(title, counts)
    total = {c: sum(tables["element type"][c].values()) for c in COLUMNS}
    made, judged = sum(total.values()), total["found"] + total["missed"]
    first = sum(1 for r in results for t in r.tried if t.case and (t.case[-2:] == " 0" or " " not in t.case))
    print(f"\n{len(results)} kernels; found by {', '.join(f'{k}: {n}' for k, n in by.most_common() if k != 'none')}; {first} with the first seed")
    print(f"{made} mutants: {total['found']} found, {total['excused']} the same or allowed, {total['rare']} rare, {total['missed']} missed: score "
          f"{100 * total['found'] / max(judged, 1):.2f} %, {100 * total['found'] / max(judged + total['rare'], 1):.2f} % with the rare")
    not_found = total["rare"] + total["missed"]
    if not_found > max(1, (judged + total["rare"]) * (100 - LEAST) / 100):
        failed += 1
        print(f"{not_found} mutants that differ are not found: the score must be {LEAST} %")
    print(f"{made + len(results) - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
