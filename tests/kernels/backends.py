#!/usr/bin/env python3
"""Both back ends make the same kernels: what `--backend ptx` writes is assembled, runs under --check, and stores the bits that LLVM's stores.

    backends.py WARPBURG --shared SHARED [--count N] [--every N] [--random N] [--seed S] [--targets sm_90,..] [--folder DIR] [--figures] [-j N]

The first N kernels of common/kernel_sample.py, which takes turns between kinds and types, or with --every one in N of all; with --folder the files
below it instead; with --random so many random ones besides: loops, reductions, transposes, windows and scatters of the generators of tests/fuzz, from
seed S on. Each is compiled for one target by both back ends, and assembled where ptxas is found. What the ptx back end declines must name what it has
no text for, or be declined by LLVM's too. Each is run by both on case w (as much as 8 blocks of it, where blocks share nothing), the ptx one under
--check, and the outputs are compared byte for byte, but those of scatters, whose updates meet in any order, and of comparisons in total order,
which see the sign of a nan. --figures: what the two became, in sums
and for the worst, and how long both took.
Ends with `N passed, M failed`.
"""
from __future__ import annotations

import argparse
import collections
import io
import math
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import numpy

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / folder) for folder in ("common", "fuzz")]
import random_fusions  # noqa: E402
import random_pooling_text  # noqa: E402
import random_reduction_text  # noqa: E402
import random_scatter_text  # noqa: E402
import random_transpose_text  # noqa: E402
from kernel_sample import kernels  # noqa: E402
from warpburg_cli import MAIN, TARGETS, Cli, Compiled, llvm_ms  # noqa: E402

NAMED = "the ptx back end has no"
CASE, BLOCKS = "w", 8
IN_ANY_ORDER = (" scatter(", " select-and-scatter(")
OF_NAN_BITS = ("type=TOTALORDER",)  # which nan an operation makes is left open, and such a comparison sees its sign
STEPS = ("hlo", "plan", "emit", "rewrite", "build", "link", "optimise", "codegen")  # HLO to PTX


RANDOM: Tuple[Callable[[int], str], ...] = (
    random_fusions.generate, lambda seed: random_reduction_text.generate(seed).text, random_transpose_text.generate, random_fusions.generate,
    random_pooling_text.generate_pooling, random_scatter_text.generate)


class Pair(NamedTuple):
    name: str
    file: str
    target: str
    llvm: Compiled
    ptx: Compiled


def said(c: Compiled) -> str:
    """Why it was declined or failed, in the words of the message."""
    lines = c.facts.get("message", c.why).split("\n")
    return next((line for line in lines if NAMED in line), lines[0])


def compiled(cli: Cli, files: List[Tuple[str, str]], target: str) -> List[Pair]:
    paths = [path for _, path in files]
    ours, theirs = (cli.compile(paths, target, ["--backend", b, "--no-cache"]) for b in ("ptx", "llvm"))
    return [Pair(name, path, target, y, x) for (name, path), x, y in zip(files, ours, theirs)]


def same(x: bytes, y: bytes, bf16: bool) -> bool:
    """The bytes of two .npy files; which nan it is makes no difference. bf16: uint16 may be that."""
    if x == y:
        return True
    a, b = numpy.load(io.BytesIO(x)), numpy.load(io.BytesIO(y))
    if bf16 and a.dtype == numpy.uint16:
        a, b = (z.astype(numpy.uint32).__lshift__(16).view(numpy.float32) for z in (a, b))
    return a.dtype.kind in "fc" and numpy.array_equal(a, b, equal_nan=True)


def run_by_llvm(cli: Cli, p: Pair, to: Path) -> bool:
    """Whether LLVM's kernel is right: else this is no difference between the two, and is named."""
    v = cli.run(p.file, p.target, CASE, to=str(to), blocks=0, check=True, options=["--backend", "llvm", "--no-cache", "--jobs", "1"])
    if not v.ok:
        print(f"{p.name} for {p.target}: wrong by both back ends: {v.why}")
    return v.ok


def fault_of(cli: Cli, p: Pair, folder: Path) -> Optional[str]:
    """What is wrong with what the ptx back end made; None: nothing."""
    if p.ptx.status != "ok":
        if p.ptx.status == p.llvm.status or (p.ptx.status == "declined" and NAMED in said(p.ptx)):
            return None
        return f"{p.ptx.status}: {said(p.ptx)}"
    if p.llvm.status != "ok":
        return None
    outputs: Dict[str, Dict[str, bytes]] = {}
    for backend in ("llvm", "ptx"):
        to = folder / backend
        run = lambda blocks: cli.run(p.file, p.target, CASE, to=str(to), blocks=blocks, check=backend == "ptx",
                                     options=["--backend", backend, "--no-cache", "--jobs", "1"])
        v = run(BLOCKS)
        v = run(0) if not v.ok and ("blocks run" in v.why or "no element was compared" in v.why) else v
        if not v.ok:
            if backend == "ptx" and "out of memory" not in v.why and run_by_llvm(cli, p, to):
                return f"case {CASE}: {v.why}"
            return None
        outputs[backend] = {f.name: f.read_bytes() for f in to.glob("*.npy")}
        shutil.rmtree(to)
    text = Path(p.file).read_text(encoding="utf-8")
    if any(word in text for word in IN_ANY_ORDER + OF_NAN_BITS) or p.llvm.facts.get("libdevice"):  # where there is no LLVM rules have another formula
        return None
    different = sorted(n for n, data in outputs["llvm"].items() if not same(data, outputs["ptx"].get(n, b""), "bf16[" in text))
    return f"other bits than LLVM's in {', '.join(different)}" if different else None


def milliseconds(facts: Dict[str, Any]) -> float:
    return sum(facts["ms"][s] for s in STEPS)


def figures(pairs: List[Pair]) -> None:
    both = [p for p in pairs if p.ptx.status == p.llvm.status == "ok" and p.llvm.facts.get("sass")]
    declined = collections.Counter(said(p.ptx).split(NAMED, 1)[-1].strip() if NAMED in said(p.ptx) else "also with LLVM"
                                  for p in pairs if p.ptx.status != "ok")
    print(f"{len(pairs)} kernels: {sum(p.ptx.status == 'ok' for p in pairs)} written, {sum(declined.values())} declined")
    for why, n in declined.most_common():
        print(f"  {n:4} {why}")
    if not both:
        return
    for key in ("sass", "regs", "stack_bytes"):
        x, y = (sum(c.facts[key] for c in (p.ptx if ours else p.llvm for p in both)) for ours in (True, False))
        more, fewer = (sum((p.ptx.facts[key] > p.llvm.facts[key]) == up and p.ptx.facts[key] != p.llvm.facts[key] for p in both) for up in (True, False))
        print(f"{key}: {x} for {y}, {x / max(y, 1):.3f}; more in {more}, fewer in {fewer}, equal in {len(both) - more - fewer}")
    ratio = lambda p: p.ptx.facts["sass"] / p.llvm.facts["sass"]
    print(f"sass, geometric mean of the ratios: {math.exp(statistics.mean(math.log(ratio(p)) for p in both)):.3f}; "
          f"above 1.05: {sum(ratio(p) > 1.05 for p in both)}")
    times = [milliseconds(p.ptx.facts) / milliseconds(p.llvm.facts) for p in both]
    share = [llvm_ms(p.llvm.facts["ms"]) + p.llvm.facts["ms"]["build"] for p in both], [p.ptx.facts["ms"]["build"] for p in both]
    print(f"HLO to PTX, median of the ratios: {statistics.median(times):.2f}; the back end alone, median: {statistics.median(share[1]):.3f} ms for "
          f"{statistics.median(share[0]):.3f}")
    for p in sorted(both, key=ratio, reverse=True)[:15]:
        print(f"  {ratio(p):.2f}  sass {p.ptx.facts['sass']} for {p.llvm.facts['sass']}, registers {p.ptx.facts['regs']} for {p.llvm.facts['regs']}  {p.name}")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("warpburg")
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--targets", default=MAIN)
    parser.add_argument("--folder", type=Path, action="append")
    parser.add_argument("--figures", action="store_true")
    parser.add_argument("-j", type=int, default=2)
    args = parser.parse_args()
    cli = Cli(args.warpburg, args.j)
    with tempfile.TemporaryDirectory() as made:
        if args.folder:
            files = [(str(f), str(f)) for folder in args.folder for f in sorted(folder.rglob("*.hlo"))]
        else:
            files = []
            for n, k in enumerate(kernels(args.shared)):
                path = Path(made) / f"{n}.hlo"
                path.write_text(k.text, encoding="utf-8")
                files.append((k.name, str(path)))
        files = files[::args.every][:args.count or None]
        for seed in range(args.seed, args.seed + args.random):
            path = Path(made) / f"random{seed}.hlo"
            path.write_text(RANDOM[seed % len(RANDOM)](seed), encoding="utf-8")
            files.append((f"random {seed}", str(path)))
        targets = TARGETS if args.targets == "all" else args.targets.split(",")
        pairs = [p for i, t in enumerate(targets) for p in compiled(cli, files[i::len(targets)], t)]
        if args.figures:
            figures(pairs)
        faults = cli.each(lambda x: fault_of(cli, x[1], Path(made) / str(x[0])), enumerate(pairs))
    for p, fault in zip(pairs, faults):
        if fault:
            print(f"{p.name} for {p.target}: {fault}")
    failed = sum(f is not None for f in faults)
    print(f"{len(pairs)} kernels, {sum(p.ptx.status == 'ok' for p in pairs)} written by both back ends")
    print(f"{len(pairs) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
