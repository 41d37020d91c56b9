#!/usr/bin/env python3
"""Kernels and bytes of whole programs, cut by us and by XLA.

    compare_programs.py WARPBURG [--shared ../shared] [--cut priced] [--target sm_90] [--worst N] [--only WORDS] [--models] [--times]
                        [--write | --check]

Both are counted alike (../shared/corpus/modules/README.md): the bytes of a kernel are those of its operands and results, each once, whatever part
of them it touches; library calls count neither as kernels nor in bytes. A kernel in the body of a loop counts once in both.

`--times` compares modelled time as well: that of our cut, and of XLA's cut (`fuse --like xla` of NAME.L.gpu.hlo), both compiled by warpburg and
profiled with `run --profile --blocks 12`, launches included. Kernels in a loop count as often as it runs, and copies and library calls count, the
latter by the roofline, on both sides: what one side leaves to a library the other may have in a kernel. The mean without library calls is printed, too.
`--write` makes tests/bench/compare_programs.tsv, with times where they were taken, `--check` exits with 1 where a program moves more than
it says, or all together more than 0.9 of XLA's bytes.
"""
from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Dict, List, NamedTuple, Tuple

HERE = Path(__file__).resolve().parent
TABLE = HERE / "compare_programs.tsv"
BITS = {"pred": 8, "s2": 2, "u2": 2, "s4": 4, "u4": 4, "s8": 8, "u8": 8, "s16": 16, "u16": 16, "s32": 32, "u32": 32, "s64": 64, "u64": 64,
        "f16": 16, "bf16": 16, "f32": 32, "f64": 64, "c64": 64, "c128": 128, "f4e2m1fn": 4, "token": 0}
SHAPE = re.compile(r"\b(pred|token|[suf]\d\w*|bf16|c\d+)\[([\d,<=]*)\]")
PART = re.compile(r"(?m)^// (\d+) of (\S+): (.+?)(, a library call)?$")


class Sum(NamedTuple):
    kernels: int
    bytes: int
    library: int


class Took(NamedTuple):
    us: float
    library: float  # of it library calls
    refused: int    # kernels that were not compiled


def bytes_of(text: str) -> int:
    """Of all arrays in the text of a shape, or of several."""
    total = 0
    for kind, dims in SHAPE.findall(text):
        n = 1
        for d in dims.replace("<=", "").split(","):
            n *= int(d) if d else 1
        total += (n * BITS.get(kind, 8) + 7) // 8
    return total


def kernel_bytes(part: str) -> int:
    """Of the parameters and the result of the entry of a part."""
    entry = part[part.rindex("\nENTRY "):]
    total = 0
    for line in entry.splitlines():
        if " parameter(" in line or line.lstrip().startswith("ROOT "):
            total += bytes_of(line.split(" = ", 1)[1].split(" parameter(")[0].split(" fusion(")[0])
    return total


def parts_of(warpburg: str, file: Path, cut: str, target: str) -> List[Tuple[str, int, int]]:
    """(name, count, bytes) of each kernel; of library calls bytes -1."""
    p = subprocess.run([warpburg, "fuse", "--cut", cut, "--target", target, str(file)], capture_output=True, text=True, errors="replace", check=False,
                       timeout=60)
    if p.returncode:
        sys.exit(f"{file}: {p.stderr.strip()}")
    out = []
    marks = list(PART.finditer(p.stdout))
    for k, m in enumerate(marks):
        text = p.stdout[m.end():marks[k + 1].start() if k + 1 < len(marks) else len(p.stdout)]
        out.append((m[2], int(m[1]), -1 if m[4] else kernel_bytes(text)))
    return out


def sum_of(parts: List[Tuple[str, int, int]]) -> Sum:
    return Sum(sum(n for _, n, b in parts if b >= 0), sum(n * b for _, n, b in parts if b >= 0), sum(n for _, n, b in parts if b < 0))


def xla_table(path: Path) -> Dict[str, Sum]:
    out = {}
    for line in path.read_text().splitlines()[1:]:
        c = line.split("\t")
        out[c[0]] = Sum(int(c[1]), int(c[2]), int(c[4]))
    return out


def profile(warpburg: str, program: str, target: str) -> Took:
    """Modelled time of a module or a program's folder."""
    p = subprocess.run([warpburg, "run", program, "--profile", "--json", "--blocks", "12", "--target", target], capture_output=True, text=True,
                       errors="replace", check=False, timeout=600)
    line = next((line for line in p.stdout.splitlines() if line.startswith("{")), None)
    if line is None:
        sys.exit(f"{program}: {p.stderr.strip()[-300:]}")
    facts = json.loads(line)
    return Took(facts["seconds"] * 1e6, facts["library_seconds"] * 1e6, facts["refused"])


def times(args: argparse.Namespace, name: str) -> Tuple[Took, Took]:
    """(ours, XLA's)"""
    folder = args.shared / "corpus/modules"
    with tempfile.TemporaryDirectory() as made:
        took = []
        for file, how in ((f"{name}.L.hlo", ["--cut", args.cut]), (f"{name}.L.gpu.hlo", ["--like", "xla"])):
            program = str(Path(made, file))
            p = subprocess.run([args.warpburg, "fuse", str(folder / file), *how, "--target", args.target, "-o", program], capture_output=True, text=True,
                               check=False)
            if p.returncode:
                sys.exit(f"{file}: {p.stderr.strip()[-300:]}")
            took.append(profile(args.warpburg, program, args.target))
    return took[0], took[1]


def mean(ratios: List[float]) -> float:
    return math.exp(sum(math.log(r) for r in ratios) / max(len(ratios), 1))


def is_whole(took: Tuple[Took, Took]) -> bool:
    return not any(t.refused or not t.us for t in took)


def print_times(took: Dict[str, Tuple[Took, Took]], ours: Dict[str, Sum], theirs: Dict[str, Sum], worst: int) -> None:
    whole = {n: t for n, t in took.items() if is_whole(t)}
    print("\nus\tXLA's\tratio\tlibrary\tXLA's\tprogram")
    for n in sorted(whole, key=lambda n: whole[n][1].us - whole[n][0].us)[:worst]:
        o, t = whole[n]
        print(f"{o.us:.2f}\t{t.us:.2f}\t{o.us / t.us:.2f}\t{o.library:.2f}\t{t.library:.2f}\t{n}")
    kernels = [(o.us - o.library, t.us - t.library) for o, t in whole.values()]
    print(f"{len(whole)} programs: {sum(o.us for o, _ in whole.values()):.0f} us and {sum(t.us for _, t in whole.values()):.0f} us, "
          f"{mean([o.us / t.us for o, t in whole.values()]):.3f} of XLA's time in the geometric mean; "
          f"{sum(o.us > 1.01 * t.us for o, t in whole.values())} take longer")
    print(f"without library calls: {sum(o for o, _ in kernels):.0f} us and {sum(t for _, t in kernels):.0f} us, "
          f"{mean([o / t for o, t in kernels if o and t]):.3f} in the geometric mean")
    print("not compared, a kernel is not compiled: " + (", ".join(sorted(set(took) - set(whole))) or "none"))
    print("move more bytes, and the time that this saves:")
    for n in sorted(whole):
        if ours[n].bytes > 1.001 * theirs[n].bytes:
            o, t = whole[n]
            print(f"  {n}: {(ours[n].bytes - theirs[n].bytes) / 1e6:.2f} MB more, {t.us - o.us:.2f} us less of {t.us:.2f}")


def models(args: argparse.Namespace) -> None:
    files = sorted((args.shared / "corpus/models").glob("*.hlo"))
    print("model\tkernels\tplain\tMB\tplain\tlibrary")
    for f in files:
        ours, plain = (sum_of(parts_of(args.warpburg, f, cut, args.target)) for cut in (args.cut, "plain"))
        print(f"{f.name[:-4]}\t{ours.kernels}\t{plain.kernels}\t{ours.bytes / 1e6:.1f}\t{plain.bytes / 1e6:.1f}\t{ours.library}")


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("warpburg")
    ap.add_argument("--shared", type=Path, default=HERE.parent.parent.parent / "shared")
    ap.add_argument("--cut", default="priced")
    ap.add_argument("--target", default="sm_90")
    ap.add_argument("--worst", type=int, default=20)
    ap.add_argument("--only", default="")
    ap.add_argument("--models", action="store_true")
    ap.add_argument("--times", action="store_true")
    ap.add_argument("--write", action="store_true")
    ap.add_argument("--check", action="store_true")
    args = ap.parse_args()
    if args.models:
        models(args)
        return
    folder = args.shared / "corpus/modules"
    theirs = {k: v for k, v in xla_table(folder / "xla.tsv").items() if all(w in k for w in args.only.split())}
    with ThreadPoolExecutor(2) as pool:
        parts = dict(zip(theirs, pool.map(lambda n: parts_of(args.warpburg, folder / f"{n}.L.hlo", args.cut, args.target), theirs)))
    ours = {n: sum_of(p) for n, p in parts.items()}
    more = sorted(theirs, key=lambda n: theirs[n].bytes - ours[n].bytes)
    print("MB more\tratio\tkernels\tXLA's\tlibrary\tXLA's\tprogram")
    for n in more[:args.worst]:
        o, t = ours[n], theirs[n]
        print(f"{(o.bytes - t.bytes) / 1e6:.2f}\t{o.bytes / t.bytes:.2f}\t{o.kernels}\t{t.kernels}\t{o.library}\t{t.library}\t{n}")
    ratio = sum(o.bytes for o in ours.values()) / sum(t.bytes for t in theirs.values())
    kernels = sum(o.kernels for o in ours.values()), sum(t.kernels for t in theirs.values())
    above = sum(ours[n].bytes > 1.001 * theirs[n].bytes for n in theirs)
    print(f"{len(theirs)} programs: {ratio:.3f} of XLA's bytes, {above} move more; kernels {kernels[0]} and {kernels[1]}, "
          f"{sum(ours[n].kernels > theirs[n].kernels for n in theirs)} have more")
    took: Dict[str, Tuple[Took, Took]] = {}
    if args.times:
        with ThreadPoolExecutor(2) as pool:
            took = dict(zip(theirs, pool.map(lambda n: times(args, n), theirs)))
        print_times(took, ours, theirs, args.worst)
    if args.write:
        def of(n: str) -> str:
            if n not in took or not is_whole(took[n]):
                return "\t" * 4
            o, t = took[n]
            return f"{o.us:.2f}\t{t.us:.2f}\t{o.us / t.us:.4f}\t{o.library:.2f}\t{t.library:.2f}"
        rows = [f"{n}\t{o.kernels}\t{o.bytes}\t{theirs[n].kernels}\t{theirs[n].bytes}\t{o.bytes / theirs[n].bytes:.2f}\t{of(n)}"
                for n, o in sorted(ours.items())]
        columns = "program kernels bytes xla_kernels xla_bytes ratio us xla_us time_ratio library_us xla_library_us".split()
        TABLE.write_text("\n".join(["\t".join(columns), *rows]) + "\n")
    if args.check:
        known = {c[0]: int(c[2]) for c in (line.split("\t") for line in TABLE.read_text().splitlines()[1:])}
        worse = [n for n in ours if ours[n].bytes > known.get(n, 0)]
        print("\n".join(f"{n} moves {ours[n].bytes} bytes, the table says {known.get(n, 0)}" for n in worse))
        sys.exit(1 if worse or ratio > 0.9 else 0)


if __name__ == "__main__":
    main()
