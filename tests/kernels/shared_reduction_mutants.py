#!/usr/bin/env python3
"""Kernels whose threads share terms, with one thing wrong each: `run --check` finds every one in some order of execution.

    shared_reduction_mutants.py WARPBURG

A mutant changes one line of the PTX: each barrier, shuffle, ticket, store, condition and read of a partial result has its own. Others combine
the same terms in another order, or change the order that `kernel.json` documents. What is no fault is listed in EQUAL with its reason, and
must be found in no order of execution. Kernels with tickets run a second time, on the temporaries that the first run leaves: each run has the bits
that the kernel documents, and a ticket that counts on is found. Ends with `N passed, M failed`.
"""
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Dict, Iterator, List, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
from mutant_runs import AS_IT_IS, SECOND_RUN, Key, changed_lines, fault, rewritten, summed_up, write_mutant  # noqa: E402
from shared_reductions import ORDERS, Fusion, fusion  # noqa: E402
from warpburg_cli import Cli  # noqa: E402

CASES = (("s", 0), ("s", 1), ("n", 0))           # and seeds
ORDER_CASES = (("n", 0), ("n", 1), ("n", 2), ("n", 3))  # of mutants that take the same terms in another order
# the sum of terms that are all -0 is -0, and +0 as soon as one +0 is among them
ZEROS = Fusion("zeros", """HloModule m

c {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}

ENTRY e {
  x = f32[49,24]{1,0} parameter(0)
  zero = f32[] constant(-0)
  zeros = f32[49,24]{1,0} broadcast(zero), dimensions={}
  above = f32[49,24]{1,0} abs(x)
  terms = f32[49,24]{1,0} minimum(above, zeros)
  ROOT y = f32[24] reduce(terms, zero), dimensions={0}, to_apply=c
}
""", [("rows", 49, True), ("columns", 24, False)])
# sums find what is combined twice; a product finds a part that is taken to be there, which is 0
KERNELS = {
    "tickets": (fusion("tickets", "f32", [128, 512], [0, 1], init="3"), "elements: vector 4, lane 32, warp 2, loop 4, grid 64"),
    "tiles": (fusion("tiles", "f32", [49, 24], [0], "multiply", init="3"), "columns: lane 8, grid 3; rows: lane 4, warp 2, register 3, grid 3"),
    "stretches": (fusion("stretches", "f32", [40, 70, 4], [0, 1], init="0.5"), "columns: lane 4; rows: register 4, lane 8, loop 4, grid 22"),
    "clusters": (fusion("clusters", "f32", [6, 512], [1], init="3"), "rows: grid 6; columns: lane 32, warp 2, cluster 8"),
    "warps": (fusion("warps", "f32", [64, 1024], [1], init="3"), "rows: grid 64; columns: vector 4, lane 32, warp 2, register 4"),
    "parted": (fusion("parted", "f32", [50, 96], [0], "multiply", init="3"), "columns: vector 4, lane 8, grid 3; rows: lane 4, warp 4, register 4"),
    "zeros": (ZEROS, "columns: lane 8, grid 3; rows: lane 4, warp 2, register 3, grid 3"),
}

TWICE = ("tickets", "tiles")                     # kernels that run twice
ORDERS_ALONE = ("stretches",)                    # kernels of which the order alone is changed
FILLERS_ALONE = ("zeros",)                       # and what stands for terms beyond the end

# kind of mutant: what a line must match, and what replaces the match
KINDS: Dict[str, Tuple[str, str]] = {
    "no barrier": (r"bar\.sync", "// bar.sync"),
    "a ticket without order": (r"atom\.acq_rel\.gpu", "atom.relaxed.gpu"),
    "a ticket of the block's scope": (r"atom\.acq_rel\.gpu", "atom.acq_rel.cta"),
    "a ticket that does not release": (r"atom\.acq_rel\.gpu", "atom.acquire.gpu"),
    "a ticket that does not acquire": (r"atom\.acq_rel\.gpu", "atom.release.gpu"),
    "half the distance, or twice 1": (r"(shfl\.sync\.down\.b32\s+%r\d+, %r\d+), (\d+)", "half"),
    "a shuffle under a condition": (r"^\s*(shfl\.sync\.down\.b32 .*?;)",
                                   r"\t{ .reg .pred %low; .reg .b32 %of; mov.u32 %of, %laneid; setp.lt.u32 %low, %of, 16; @%low \1 }"),
    "up, not down": (r"shfl\.sync\.down\.b32(\s+%r\d+, %r\d+, \d+), 31", r"shfl.sync.up.b32\1, 0"),
    "the condition inverted": (r"^\s*setp\.\w+", "invert"),
    "the branch inverted": (r"^\s*@!?%p", "branch"),
    "a part read as a constant": (r"ld\.global\.b(?=.*%part)", "ld.global.nc.b"),
    "no cluster barrier": (r"barrier\.cluster\.(arrive|wait)", r"// \1"),
    "a cluster barrier that does not release": (r"barrier\.cluster\.arrive", "barrier.cluster.arrive.relaxed"),
    "another block's part": (r"(mapa\.shared::cluster.*), (\d+);", "another"),
    "no store": (r"^\s*st\.", "\t// st."),
    "one iteration less": (r"(setp\.lt\.u32.*, )(\d+)(?=;\s*// for)", "less"),
    "the initial value for terms beyond the end": (r"(selp\.f32.*), 0f3F800000,", r"\1, 0f40400000,"),
    "+0 for terms beyond the end": (r"(selp\.f32.*), 0f80000000,", r"\1, 0f00000000,"),
    "the initial value twice": (r"^\s*st\.global\.b32\s+\[(\S+)\], (%r\d+);(?=.*%out)", r"\tOP.rn.f32 \2, \2, 0f40400000; st.global.b32 [\1], \2;"),
}
# kernel, kind, number of the line among those of its kind: why the kernel is right all the same
ANOTHER = "another warp, which may read the parts of all warps as well, does the same"
LANES = "the other lanes of the warp have read the parts as well"
EQUAL: Dict[Key, str] = {
    **{(kernel, kind, k): ANOTHER for kernel, kind, numbers in (
        ("tickets", "the condition inverted", (2,)), ("tickets", "the branch inverted", (2, 7)), ("tiles", "the condition inverted", (4,)),
        ("tiles", "the branch inverted", (1, 6)), ("clusters", "the branch inverted", (1, 4)), ("warps", "the condition inverted", (1,)),
        ("warps", "the branch inverted", (1,))) for k in numbers},
    **{(kernel, "the branch inverted", k): LANES for kernel, k in (("tickets", 3), ("tiles", 2), ("clusters", 2))},
    ("tickets", "no barrier", 1): "thread 0 alone stores the block's part, and draws the ticket",
    ("clusters", "the condition inverted", 1): "the second warp of the cluster's first block, not the first, reads the blocks' parts",
    ("clusters", "a cluster barrier that does not release", 1): "the last one: nothing is read after it",
    ("tiles", "fold documented as chain", 10): "the first two of 3 blocks, then the third",
}


def change(kind: str, line: str) -> str:
    pattern, to = KINDS[kind]
    if to == "half":
        return re.sub(pattern, lambda m: f"{m[1]}, {int(m[2]) // 2 or 2}", line)
    if to == "another":
        return re.sub(pattern, lambda m: f"{m[1]}, {(int(m[2]) + 1) % 8};", line)
    if to == "less":
        return re.sub(pattern, lambda m: f"{m[1]}{int(m[2]) - 1}", line)
    return rewritten(line, pattern, to)


def other_orders(text: str) -> Iterator[Tuple[str, str]]:
    """Documents of another order than the kernel's."""
    order = re.search(r"tree; [^\"]*", text)[0]
    dims, steps = [c for c in order.split("; ") if "{" in c], [c for c in order.split("; ") if " of " in c]
    for k, step in enumerate(steps):
        for old, new in (("fold", "halves"), ("fold", "chain"), ("chain", "fold")):
            changed = [*steps[:k], re.sub(rf"{old} (?![123]\b)", f"{new} ", step), *steps[k + 1:]]
            yield f"{old} documented as {new}", "; ".join(["tree", *dims, *changed])
        stretch = re.match(r"chain (\d+), fold (\d+)", step)
        if stretch:                              # each thread has half of it, or twice as much
            n, lanes = int(stretch[1]), int(stretch[2])
            for by, other in ((2 * n, lanes // 2), (-(-n // 2), 2 * lanes)):
                changed = [*steps[:k], step.replace(stretch[0], f"chain {by}, fold {other}"), *steps[k + 1:]]
                if max(n, by) > 2:               # two are neighbours
                    yield "another stretch documented", "; ".join(["tree", *dims, *changed])
    for k in range(len(steps) - 1):
        yield "steps documented in another order", "; ".join(["tree", *dims, *steps[:k], steps[k + 1], steps[k], *steps[k + 2:]])


def other_shuffles(text: str) -> str:
    """The distances of the shuffles from the largest to the smallest."""
    found = re.findall(r"shfl\.sync\.down\.b32\s+%r\d+, %r\d+, (\d+)", text)
    to = dict(zip(dict.fromkeys(found), reversed(dict.fromkeys(found))))
    return re.sub(r"(shfl\.sync\.down\.b32\s+%r\d+, %r\d+), (\d+)", lambda m: f"{m[1]}, {to[m[2]]}", text)


def mutants(kernel: str, text: str) -> Iterator[Tuple[Key, str]]:
    kinds = {kind: x for kind, x in KINDS.items() if kernel not in FILLERS_ALONE or "beyond the end" in kind}
    operation = "mul" if "mul.rn" in text else "add"
    yield from changed_lines(kernel, text, kinds, lambda kind, line: change(kind, line).replace("OP", operation))
    if kernel in FILLERS_ALONE:
        return
    wrap = re.search(r"mov\.b32\s+(%r\d+), (\d+);.*\n.*\n\s*atom\.", text)
    if wrap:
        for n, by in enumerate((-1, 1)):
            moved = wrap[0].replace(f", {wrap[2]};", f", {int(wrap[2]) + by};")
            yield (kernel, "the ticket's last number", n), text.replace(wrap[0], moved)
    yield (kernel, "shuffles in another order", 0), other_shuffles(text)


def run_twice(first: Path, to: Path, ptx: str) -> Path:
    """The bundle `first` with each launch a second time, for an output of its own, and a text with both outputs."""
    document = json.loads((first / "kernel.json").read_text(encoding="utf-8"))
    buffers, launches = document["buffers"], document["launches"]
    out = next(k for k, b in enumerate(buffers) if b["role"] == "out")
    buffers.append({**buffers[out], "arg": 1})
    document["launches"] = launches + [{**x, "args": [len(buffers) - 1 if k == out else k for k in x["args"]]} for x in launches]
    write_mutant(first, to, ptx, json.dumps(document))
    text = (first / "fusion.hlo").read_text(encoding="utf-8")
    twice = re.sub(r"ROOT (\w+) = (\S+) reduce\((.*)", r"\1 = \2 reduce(\3\n  ROOT both = (\2, \2) tuple(\1, \1)", text)
    (to / "fusion.hlo").write_text(twice, encoding="utf-8")
    return to


def main() -> int:
    cli = Cli(os.path.abspath(sys.argv[1]))
    with tempfile.TemporaryDirectory() as name:
        jobs: List[Tuple[Key, Path]] = []
        for kernel, (f, layout) in KERNELS.items():
            file, first = Path(name, f"{f.name}.hlo"), Path(name, f.name)
            file.write_text(f.text, encoding="utf-8")
            compiled = cli.call("compile", str(file), "--layout", layout, "-o", str(first))
            text = cli.call("compile", str(file), "--layout", layout).stdout
            if compiled.returncode or not text:
                print(f"{kernel}: {compiled.stderr}")
                return 1
            document = (first / "kernel.json").read_text(encoding="utf-8")
            was = re.search(r"tree; [^\"]*", document)[0]
            of_ptx = [] if kernel in ORDERS_ALONE else mutants(kernel, text)
            made = [(key, changed, document) for key, changed in [((kernel, AS_IT_IS, 0), text), *of_ptx]]
            made += [((kernel, kind, n), text, document.replace(was, order)) for n, (kind, order) in enumerate(other_orders(document))
                     if order != was and kernel not in FILLERS_ALONE]
            if kernel in TWICE:
                counts_on = re.sub(r"(atom\S*\.global\.)inc(\.u32 .*), %r\d+;", r"\1add\2, 1;", text)
                jobs.append(((kernel, SECOND_RUN, 0), run_twice(first, Path(name, f"{f.name}.twice"), text)))
                jobs.append(((kernel, "a second run, of a ticket that counts on", 0), run_twice(first, Path(name, f"{f.name}.on"), counts_on)))
            for key, changed, described in made:
                jobs.append((key, write_mutant(first, Path(name, f"{f.name}.{len(jobs)}"), changed, described)))

        def judge(job: Tuple[Key, Path]) -> str:
            key, folder = job
            in_order = "order" in key[1].split() or "documented" in key[1]
            runs = ((*case, order) for case in (ORDER_CASES if in_order else CASES) for order in (ORDERS[:1] if in_order else ORDERS))
            return fault(cli, folder, key[1] in (AS_IT_IS, SECOND_RUN) or key in EQUAL, runs)

        return summed_up([key for key, _ in jobs], cli.each(judge, jobs), EQUAL, len(KERNELS) + len(TWICE))


if __name__ == "__main__":
    sys.exit(main())
