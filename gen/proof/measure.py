"""Measures the error of each lowering of a function: runs it in a kernel of its own in the simulator and compares with exact results.

usage: python -m gen.proof.measure --build FOLDER [--all | --every | --check [--every]] [--only TEXT]

Without a flag it measures, from a sample of values, what patterns/measured.tsv lacks, and removes lines that belong to no rule. --all measures
from as many values as docs/functions.md states whatever was measured from fewer; --every measures the functions of EVERY at every f32, two to
eight minutes each. Both can be stopped and continued. --check writes nothing: every lowering must have a line, and its error on a sample (with
--every: at every value for lines about every value) must not exceed the line's. To reach a lowering that is not the first of its list, those
before it are disabled.

Where a function has a quick way and, behind a branch, a long one, kernels that always take the long one are measured too, with --every
at every 257th f32: the worse error counts.

    arguments   one operand of at most 16 bits: all values; one f32: every 257th (sample: 16381st); f64 and pairs: 2^24 random ones of f32, 2^22
                of others (sample: 2^17); and edges: powers of two, constants of the rules and functions, special values, with neighbours
"""
from __future__ import annotations

import argparse
import json
import math
import re
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Dict, Iterable, List, Optional, Sequence, Set, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from gen import hlo_ops, load, measured, ops  # noqa: E402
from gen.proof import sass_path, simulate, tile_kernels  # noqa: E402
from gen.lang import Expr, Lit  # noqa: E402
from gen.measured import Lowering, Row  # noqa: E402
from gen.proof.sass import instructions  # noqa: E402

THREADS, WORKERS = 65536, 2
EVERY = ("erf", "cbrt", "rsqrt", "sqrt", "exp", "log", "log1p", "tanh", "expm1", "logistic", "sin", "cos", "tan", "sinh", "cosh", "asin", "acos", "asinh",
         "acosh", "atanh")  # measured at every f32 by --every
STEP, SAMPLE_STEP, DRAWN, DRAWN_F32, SAMPLE = 257, 16381, 1 << 22, 1 << 24, 1 << 17
FAR = 100 * math.pi  # the PTX manual states no error of sin.approx and cos.approx beyond
Job = Tuple[str, str]  # entry, line for tests/measure
Size = Tuple[int, int]  # machine instructions of a kernel, and of the shortest way through it


# --- arguments ------------------------------------------------------------------------------------------------------------------------
FORMAT = {"f16": (10, 15), "bf16": (7, 127), "f32": (23, 127), "f64": (52, 1023)}  # bits of the fraction, bias
POINTS = [k * math.pi / 2 for k in (*range(1, 9), 100, 200, 1e5, 1e15)] + [k * math.log(2) / 2 for k in range(1, 9)] + [
    0.5, 0.75, 0.25, 1.5, 3.0, 5.0, 9.0, 22.0, 1 / 3, 0.7071067811865476, 1.4142135623730951, 1e30, 1e22, 1e10, 0.17, 0.3, 0.35, 4.0, 6.0, 27.0,
    88.0, 89.0, 88.72283905206835, 87.33654475055310, 103.9720770839918, 104.0, 128.0, 126.0, 149.0, 709.782712893384, 745.1332191019412, 1024.0, 1074.0]


def bits_of(x: float, t: str) -> Optional[int]:
    """The bits of x, rounded to type t; None if x is too large."""
    if t == "f64":
        return int(struct.unpack("<Q", struct.pack("<d", x))[0])
    try:
        single = int(struct.unpack("<I", struct.pack("<f", x))[0])
        return single if t == "f32" else single >> 16 if t == "bf16" else int(struct.unpack("<H", struct.pack("<e", x))[0])
    except OverflowError:
        return None


def literals(x: Lowering) -> Set[float]:
    return {abs(float(e.value)) for r in x.chain if isinstance(r.right, Expr) for e in load.walk(r.right)
            if isinstance(e, Lit) and isinstance(e.value, float) and math.isfinite(e.value)}


def edges(x: Lowering) -> List[int]:
    """Bits of arguments at which functions or lowerings change their behaviour, with their neighbours."""
    fraction, bias = FORMAT[x.type]
    width = ops.TYPE_BY_NAME[x.type].bits
    sign, one = 1 << width - 1, bias << fraction
    top = (2 * bias + 1) << fraction
    two = ops.OP_BY_NAME[x.op].arity == 2
    points = [b for v in (*POINTS, *sorted(literals(x))) for b in [bits_of(v, x.type)] if b is not None]
    powers = [e << fraction for e in range(1, 2 * bias + 1)] + [1 << k for k in range(fraction)]
    if two:
        points = points[:24:2] + points[-4:]
        powers = [one + (e << fraction) for e in (-2, -1, 0, 1, 2, 3, fraction, fraction + 1) if one + (e << fraction) < top] + [1 << fraction]
    near = {b + d for b in points for d in ((0,) if two else range(-3, 4))} | {b + d for b in powers for d in (-1, 0, 1)}
    near |= {0, 1, 2, top - 1, top, top + (1 << fraction - 1), top - (1 << fraction)}
    return [b | s for b in sorted(b for b in near if 0 <= b < sign) for s in (0, sign)]


def plan(x: Lowering, level: str) -> Tuple[str, int, int, int]:
    """(how, first, last, step) in a job of tests/measure. level: sample, full or every."""
    width, one = ops.TYPE_BY_NAME[x.type].bits, ops.OP_BY_NAME[x.op].arity == 1
    if one and width <= 16:
        return "all", 0, 1 << width, 1
    if not one and width <= 8:
        return "drawn", 0, 1 << 16, 1
    if x.type == "f32" and one:
        return "all", 0, 1 << 32, 1 if level == "every" else STEP if level == "full" else SAMPLE_STEP
    return "drawn", 1, SAMPLE if level == "sample" else DRAWN_F32 if x.type == "f32" else DRAWN, 1


def described(how: str, last: int, step: int) -> str:
    return f"drawn {last}" if how == "drawn" else "all" if step == 1 else f"every {step}"


def job(x: Lowering, entry: str, level: str, noise: int, slack: float = 0) -> str:
    """slack: absolute error that does not count; that of the budget for lowerings under approx."""
    how, first, last, step = plan(x, level)
    slack = load.budgets()[x.op, x.type][2] if x.approx else slack
    limit = FAR if slack and x.op in ("sin", "cos") else 0
    at = edges(x) if x.type in FORMAT and how != "all" or x.type == "f32" else []
    return f"{entry} {x.op} {x.type} {how} {first} {last} {step} {noise} {slack!r} {limit!r} {len(at)} {' '.join(f'{b:x}' for b in at)}\n"


# --- kernels --------------------------------------------------------------------------------------------------------------------------
def kernel(name: str, op: str, t: str, flags: str = "") -> str:
    """A kernel in which each thread loads operands and stores op of them."""
    small = t in tile_kernels.BYTES
    stored = tile_kernels.BYTES.get(t, t)
    operands = "ab"[:ops.OP_BY_NAME[op].arity]
    loads = [f"load %{v}[t]" for v in operands]
    value = f"{op}.{t}{flags}({', '.join(tile_kernels.narrow(t, x) if small else x for x in loads)})"
    buffers = ", ".join([*(f"%{v}: {stored}[{THREADS}]" for v in operands), f"%out: out {stored}[{THREADS}]"])
    return (f"kernel @{name}({buffers}) block 256 grid {THREADS // 256} {{\n  let t = 256*bid + tid in 0..{THREADS}\n"
            f"  store %out[t], {tile_kernels.widened(t, value) if small else value}\n}}\n")


def compiled(warpburg: str, target: str, folder: Path, files: Sequence[Tuple[Path, Tuple[str, ...]]], usual: bool = True) -> Dict[str, str]:
    """PTX of each kernel, by its file's name. Each file comes with the rules to disable. A function with a quick way, which leaves odd values to
    another, takes both if `usual`: a branch costs nothing; else the other alone."""
    groups: Dict[Tuple[str, ...], List[Path]] = {}
    for f, off in files:
        groups.setdefault((*off, load.place_of("branch.costs" if usual else "branch.most", target)), []).append(f)
    out = folder / (target if usual else f"{target}_long")
    out.mkdir(exist_ok=True)
    tasks = [(off, some[n::WORKERS]) for off, some in groups.items() for n in range(WORKERS) if some[n::WORKERS]]

    def one(task: Tuple[Tuple[str, ...], List[Path]]) -> None:
        off, some = task
        disabled = [w for r in off for w in ("--disable", r)]
        command = [warpburg, "ir", "--target", target, "-o", str(out), *disabled, "--emit", "ptx"]
        if subprocess.run([*command, *map(str, some)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
            for f in some:  # a failing file stops the others, so each is compiled alone
                subprocess.run([*command, str(f)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(one, tasks))
    return {f.stem: (out / f"{f.stem}.ptx").read_text() if (out / f"{f.stem}.ptx").exists() else "" for f, _ in files}


def sizes(ptxas: str, target: str, folder: Path, names: Sequence[str]) -> Dict[str, Size]:
    """Of each kernel that ptxas takes; kernels of equal text are assembled once."""
    def one(source: Path) -> Optional[Size]:
        cubin = source.with_suffix(".cubin")
        if subprocess.run([ptxas, f"-arch={target}", "-o", str(cubin), str(source)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
            return None
        code = cubin.read_bytes()
        return instructions(code), min(len(sass_path.shortest(k) or ()) for k in sass_path.code(code, int(target[3:])).values())

    alike: Dict[str, List[str]] = {}
    for name in names:
        source = folder / target / f"{name}.ptx"
        if source.exists():
            code = re.sub(r"\s*//[^\n]*", "", source.read_text())  # comments name rules, which may differ
            alike.setdefault(re.sub(rf"\b{name}\b|\b{name}_param", "k", code), []).append(name)
    with ThreadPoolExecutor(WORKERS) as pool:
        found = pool.map(one, [folder / target / f"{same[0]}.ptx" for same in alike.values()])
        return {name: n for same, n in zip(alike.values(), found) if n for name in same}


def fusion(op: str, t: str) -> str:
    """HLO text of a fusion of op."""
    x, names = f"{t}[{THREADS}]", "ab"[:ops.OP_BY_NAME[op].arity]
    parameters = "".join(f"  {v} = {x} parameter({k})\n" for k, v in enumerate(names))
    operands = ", ".join(names)
    return (f"HloModule m\n\nbody {{\n{parameters}  ROOT y = {x} {hlo_ops.HLO_OF[op]}({operands})\n}}\n\n"
            f"ENTRY main {{\n{parameters}  ROOT f = {x} fusion({operands}), kind=kLoop, calls=body\n}}\n")


def executed(warpburg: str, target: str, file: Path, op: str, t: str, options: Sequence[str] = ()) -> Optional[float]:
    """Machine instructions that a warp executes for an element of each lane, of usual positive operands: the profile's. None: there is no profile."""
    file.write_text(fusion(op, t))
    command = [warpburg, "run", str(file), "--target", target, "--profile", "--json", "-j", "1", "--case", "p", "--blocks", "2", "--no-cache",
               "--disable", load.place_of("branch.costs", target), *options]
    p = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if p.returncode:
        return None
    return float(json.loads(p.stdout)["kernels"][0]["launches"][0]["terms"]["issue"]["amount"]) / (THREADS / 32)


def counts(warpburg: str, ptxas: str, target: str, folder: Path, lowerings: Dict[str, Lowering], files: Dict[str, Path]) -> Dict[str, int]:
    """Machine instructions of lowerings, more than those of a kernel without a function. Where ways of different lengths lead through a kernel, those
    that usual operands execute, and the shortest at least: what is off them, as for subnormals or large arguments, few threads take."""
    base, out = skeletons(folder, warpburg, ptxas, target), {}
    size = sizes(ptxas, target, folder, [f.stem for f in files.values()])
    nothing: Dict[str, Optional[float]] = {}

    def one(k: str) -> None:
        x, name = lowerings[k], files[k].stem
        if name not in size:
            return
        kind = f"{x.type}_{ops.OP_BY_NAME[x.op].arity}"
        whole, quick = (n - of for n, of in zip(size[name], base[kind]))
        out[k] = quick
        if whole == quick or x.op not in hlo_ops.HLO_OF:
            return
        if kind not in nothing:
            nothing[kind] = executed(warpburg, target, folder / f"{target}_{kind}.hlo", "neg" if kind.endswith("1") else "add", x.type)
        options = [w for r in x.before for w in ("--disable", r.name)] + ["--approx"] * x.approx
        usual, of_nothing = executed(warpburg, target, folder / f"{target}_{name}.hlo", x.op, x.type, options), nothing[kind]
        if usual is not None and of_nothing is not None:
            out[k] = max(quick, round(usual - of_nothing + 1))

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(one, lowerings))
    return out


# --- runs -------------------------------------------------------------------------------------------------------------------------------
def measure(program: str, ptx: Path, jobs: Iterable[str]) -> List[List[str]]:
    p = subprocess.run([program, str(ptx)], input="".join(jobs), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if p.returncode:
        print(f"{ptx.name}: {p.stderr.strip()[:300]}", file=sys.stderr)
    return [line.split() for line in p.stdout.splitlines()]


def row_of(program: str, folder: Path, name: str, k: str, x: Lowering, level: str, text: str, both: bool) -> Optional[Row]:
    """both: the function has a quick way; the kernels that take the long one for all arguments are measured, too."""
    target = x.set.values["name"]
    noisy = ".approx" in text
    sample = "full" if level == "every" else level
    found: List[List[List[str]]] = []
    for way, at in ((target, level), (f"{target}_long", sample))[:1 + both]:
        ptx = folder / way / f"{name}.ptx"
        jobs = [job(x, name, at, 0)] + ([job(x, name, sample, 1)] if noisy else [])
        found.append(measure(program, ptx, jobs) if ptx.exists() else [])
        if len(found[-1]) < 1 + noisy:
            return None
    quiet, loud = (max((f[n] for f in found), key=lambda f: float(f[2])) for n in (0, -1))
    wrong = max((f[0] for f in found), key=lambda f: int(f[4]))
    how, _, last, step = plan(x, level)
    return Row(k, x.function, x.mode, float(quiet[2]), quiet[3], float(loud[2]), int(found[0][0][1]), described(how, last, step),
               int(wrong[4]), wrong[5] if wrong[4] != "0" else "-", "-", x.rule.text[:160])


Entry = Tuple[str, Lowering]


def by_key(entries: Iterable[Entry]) -> Dict[str, List[Lowering]]:
    out: Dict[str, List[Lowering]] = {}
    for k, x in entries:
        out.setdefault(k, []).append(x)
    return out


def skeletons(folder: Path, warpburg: str, ptxas: str, target: str) -> Dict[str, Size]:
    """Those of a kernel without its function, by type and number of operands: a kernel of one instruction, less one."""
    files = [(folder / f"s_{t}_{n}.ir", ()) for t in FORMAT for n in (1, 2)]
    for f, _ in files:
        _, t, n = f.stem.split("_")
        f.write_text(kernel(f.stem, "neg" if n == "1" else "add", t))
    compiled(warpburg, target, folder, files)
    return {name[2:]: (n - 1, quick - 1) for name, (n, quick) in sizes(ptxas, target, folder, [f.stem for f, _ in files]).items()}


def rows_of(build: Path, lowerings: Dict[str, List[Lowering]], level: str, keep: object = None) -> Dict[str, Row]:
    """Rows by key. keep, if given, is called with each row when it is made."""
    warpburg, program, ptxas = str(build / "warpburg"), str(build / "tests" / "measure"), simulate.ptxas_of()
    out: Dict[str, Row] = {}
    with tempfile.TemporaryDirectory(prefix="warpburg-") as tmp:
        folder = Path(tmp)
        names = {k: f"k{n}" for n, k in enumerate(lowerings)}
        texts: Dict[str, str] = {}
        two_ways: Set[Tuple[str, str]] = set()
        sass: Dict[str, List[str]] = {k: [] for k in lowerings}
        for s in sorted({x.set.values["name"] for xs in lowerings.values() for x in xs}):
            here = {k: next(x for x in xs if x.set.values["name"] == s) for k, xs in lowerings.items() if any(x.set.values["name"] == s for x in xs)}
            files = [(folder / f"{names[k]}.ir", tuple(r.name for r in x.before)) for k, x in here.items()]
            for (f, _), x in zip(files, here.values()):
                f.write_text(kernel(f.stem, x.op, x.type, ".approx" if x.approx else ""))
            texts.update(compiled(warpburg, s, folder, files))
            long = compiled(warpburg, s, folder, files, usual=False)
            two_ways |= {(k, s) for k in here if long[names[k]] != texts[names[k]]}
            wanted = {k: x for k, x in here.items() if x.type in FORMAT}
            if ptxas and wanted:
                for k, n in counts(warpburg, ptxas, s, folder, wanted, {k: folder / f"{names[k]}.ir" for k in wanted}).items():
                    sass[k].append(f"{s}={n}")

        def one(item: Tuple[str, List[Lowering]]) -> None:
            k, xs = item
            row = row_of(program, folder, names[k], k, xs[-1], level, texts[names[k]], (k, xs[-1].set.values["name"]) in two_ways)
            if row is None:
                print(f"{xs[-1].function} {xs[-1].mode}: could not be measured: {xs[-1].rule.text[:120]}", file=sys.stderr, flush=True)
                return
            out[k] = replace(row, sass=" ".join(sass[k]) or "-")
            if callable(keep):
                keep(out[k])

        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(one, lowerings.items()))
    return out


def counted(xs: Sequence[Lowering], row: Row) -> bool:
    """Whether machine instructions were counted on each target that has the lowering; true without ptxas."""
    return xs[0].type not in FORMAT or all(f"{x.set.values['name']}=" in row.sass for x in xs) or simulate.ptxas_of() is None


def is_full(x: Lowering, row: Row, level: str) -> bool:
    how, _, last, step = plan(x, level)
    return row.how == described(how, last, step) or row.how == "all"


def swept(lowerings: Dict[str, List[Lowering]]) -> Dict[str, List[Lowering]]:
    """The lowerings that --every runs over every value."""
    return {k: xs for k, xs in lowerings.items() if xs[0].type == "f32" and xs[0].op in EVERY and not xs[0].approx and xs[0].place == 0}


def update(build: Path, every: List[Entry], level: str = "sample", only: str = "") -> List[str]:
    """Measures lowerings without a line, and at a higher level those measured from fewer values; writes the file. Returns error messages."""
    rows = {k: r for k, r in measured.read().items() if k in dict(every)}
    missing = {k: xs for k, xs in by_key(every).items() if only in xs[0].function and
               (k not in rows or not counted(xs, rows[k]) or (level != "sample" and not is_full(xs[0], rows[k], level)))}
    if level == "every":
        missing = swept(missing)

    def keep(row: Row) -> None:
        known = rows.get(row.key)
        more = known and known.values > row.values  # only its machine instructions were missing
        rows[row.key] = replace(known, sass=row.sass) if known and more else row
        if level != "sample" or len(rows) % 16 == 0:  # so that it can be stopped
            measured.write(dict(rows))

    found = rows_of(build, missing, level, keep)
    measured.write(rows)
    table = load.budgets()
    faults = [f"{x.rule.where[0]}:{x.rule.where[1]}: error: {measured.fault(x, rows[k], table)}"
              for k, x in every if k in rows and measured.fault(x, rows[k], table)]
    return list(dict.fromkeys(faults)) + [f"{xs[0].function}: could not be measured" for k, xs in missing.items() if k not in found]


def sizes_of(row: Row) -> Dict[str, int]:
    """{"sm_80": 14, ..}"""
    return {target: int(n) for target, n in (w.split("=") for w in row.sass.split() if "=" in w)}


def check(build: Path, every: List[Entry], only: str, most: int, all_values: bool) -> Tuple[int, List[str]]:
    """(number that pass, messages). Every lowering must have a line, and its error on a sample must not exceed the line's. most: run so many
    lowerings, evenly chosen; 0: all. all_values: run at every value those whose lines are about every value."""
    rows, keys = measured.read(), by_key(every)
    out = [f"{xs[0].function} {xs[0].mode}: not measured with the rules as they are: run ./dev rule --all" for k, xs in keys.items() if k not in rows]
    lowerings = {k: xs for k, xs in keys.items() if k in rows and only in xs[0].function and not (xs[0].type in ops.SMALL_FLOATS and xs[0].approx)}
    runs = [("every", {k: xs for k, xs in swept(lowerings).items() if rows[k].how == "all"})] if all_values else []
    if most:
        lowerings = dict(list(lowerings.items())[::max(1, len(lowerings) // most)])
    for level, some in [("sample", lowerings), *runs]:
        found, of = rows_of(build, some, level), "a sample" if level == "sample" else "every value"
        for k, xs in some.items():
            if k not in found or found[k].ulp > rows[k].ulp + 0.02 or (found[k].wrong and not rows[k].wrong):
                out.append(f"{xs[0].function} {xs[0].mode}: the line says {rows[k].ulp:g} ulp, {of} " +
                           (f"{found[k].ulp:g} at {found[k].at}" if k in found else "does not run"))
            said, now = sizes_of(rows[k]), sizes_of(found[k]) if k in found else {}
            out += [f"{xs[0].function} {xs[0].mode}: the line says {said[s]} machine instructions on {s}, here are {now[s]}"
                    for s in said if s in now and abs(now[s] - said[s]) > max(2, said[s] / 10)]
    return len(lowerings) + sum(len(some) for _, some in runs) - len(out), out


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m gen.proof.measure")
    parser.add_argument("--build", default="build")
    parser.add_argument("--all", action="store_true", help="2^24 values of f32, 2^22 of f64")
    parser.add_argument("--every", action="store_true", help="every f32, for the functions of EVERY")
    parser.add_argument("--check", action="store_true", help="a sample, compared with the file")
    parser.add_argument("--sample", type=int, default=0, help="with --check: run so many lowerings")
    parser.add_argument("--only", default="", help="only functions whose name contains this: exp.f32")
    args = parser.parse_args()
    every = measured.keyed([load.load_index(), *(load.load_target(t) for t in load.targets())])
    if args.check:
        good, messages = check(Path(args.build), every, args.only, args.sample, args.every)
        print("\n".join([*messages, f"{good} passed, {len(messages)} failed"]))
        return int(bool(messages))
    messages = update(Path(args.build), every, "every" if args.every else "full" if args.all else "sample", args.only)
    print("\n".join([*messages, f"patterns/measured.tsv: {len(measured.read())} lowerings"]))
    return int(bool(messages))


if __name__ == "__main__":
    sys.exit(main())
