"""Measures what each form of PTX instruction is in machine code: writes patterns/prices.tsv.

    python -m gen.proof.prices                       every target (./dev prices)
    python -m gen.proof.prices --target sm_90        one target; the others keep what they have
    python -m gen.proof.prices --collect a.ptx ..    adds the forms of these texts; of HLO files the PTX of each target

ptxas assembles for each form a kernel with 4 of it and one with 8 (price_kernels.py). Their difference on the shortest way through the kernel is the
machine code of 4; what lies off that way is a slow path. A form that ptxas refuses for a target has no price there. tests/rules/prices.py compares the
file with ptxas.
"""
from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Counter as Counts, Dict, Iterable, List, Optional, Sequence, Set, Tuple, TypeVar

from gen import load, prices
from gen.load import RuleSet
from gen.prices import Price, Sass
from gen.proof import price_forms, price_kernels, sass_path, simulate

FEW, MANY = 4, 8
STATED = {"bra": {"BRA": 1}, "bra.uni": {"BRA": 1}, "ret": {"EXIT": 1}, "exit": {"EXIT": 1}, "call.uni": {"CALL": 1},
          "barrier.cluster.arrive.aligned": {"UCGABAR": 1}, "barrier.cluster.wait.aligned": {"UCGABAR": 1}}  # no kernel holds only these
JOBS = min(2, os.cpu_count() or 1)
ERROR = re.compile(r"line (\d+); (?:error|fatal)", re.I)


def version(ptxas: str) -> str:
    found = re.search(r"V[\d.]+", subprocess.run([ptxas, "--version"], capture_output=True, text=True).stdout)
    return found.group(0) if found else "unknown"


class Refused(Exception):
    """ptxas fails and names no line."""


# --- assembling ------------------------------------------------------------------------------------------------------------------------------
HEAD = (".version {}\n.target {}\n.address_size 64\n.extern .shared .align 16 .b8 tile[];\n.const .align 16 .b8 table[16384];\n")


def parameters(text: str, form: str) -> str:
    """Kernels of loads from parameters have one for each copy."""
    names = sorted(set(re.findall(r"\[(q\d+)\]", text)))
    return text.replace("(.param .u64 q)", "(.param .u64 q" + "".join(f", .param .{form.split('.')[-1]} {n}" for n in names) + ")")


Key = TypeVar("Key", int, str)


def assembled(ptxas: str, head: str, kernels: List[Tuple[Key, str]], cubin: Path, target: str) -> Dict[str, List[sass_path.Instruction]]:
    """The machine code, which the cubin then holds, of the kernels behind their keys: not of those that share a key with one that ptxas refuses."""
    source = cubin.with_suffix(".ptx")
    while kernels:
        at, begins = head.count("\n"), []
        for _, text in kernels:
            begins.append(at)
            at += text.count("\n")
        source.write_text(head + "".join(text for _, text in kernels))
        done = subprocess.run([ptxas, f"-arch={target}", "-o", str(cubin), str(source)], capture_output=True, text=True)
        if done.returncode == 0:
            return sass_path.code(cubin.read_bytes(), int(target[3:]))
        lines = [int(x) for x in ERROR.findall(done.stderr)]
        refused = {kernels[max(k for k, b in enumerate(begins) if b < line)][0] for line in lines}
        if not refused:
            raise Refused(f"{target}: {done.stderr[:2000]}")
        kernels = [(key, text) for key, text in kernels if key not in refused]
    return {}


def assemble(ptxas: str, s: RuleSet, forms: Sequence[str], folder: Path) -> Dict[str, List[sass_path.Instruction]]:
    """The machine code of the kernels of each form that the target takes, by name: kFORM_COPIES."""
    target = s.values["name"]
    head = HEAD.format(s.values["ptx"], target)
    kernels = [(n, parameters(price_kernels.kernel(f, f"k{n}_{c}", c), f)) for n, f in enumerate(forms) for c in {1, *copies(f)} if f not in STATED]
    kernels = [(n, text) for n, text in kernels if text]
    return assembled(ptxas, head, kernels, folder / f"{target}.cubin", target)


# --- counting --------------------------------------------------------------------------------------------------------------------------------
def counted(found: List[sass_path.Instruction], way: Iterable[int]) -> Counts[int]:
    return Counter(found[k].key for k in way)


def left_out(form: str) -> Set[int]:
    """Operations by which a kernel gets operands and stores results."""
    base = form.split(".")[0]
    reads, writes = base == "ld" and price_forms.is_global(form), base in ("st",) and price_forms.is_global(form)
    return (set() if reads else sass_path.LOADS) | (set() if writes else sass_path.STORES)


def copies(form: str) -> Tuple[int, int]:
    """Of how many copies kernels are compared. ptxas does two operations of 16 bits in one, with moves that depend on what stands around them, and
    reads a special register once: one of such a form is compared with none. The others are many, since ptxas spreads integer operations over the pipes."""
    if form.endswith((" special", " symbol")):
        return (0, 1)
    if price_kernels.shape(form) is None or form.startswith(("mov.", "selp.")):
        return (FEW, MANY)
    return (0, 1) if any(price_kernels.bits(t) == 16 for t in price_kernels.types_of(form)) else (FEW, MANY)


def measured(form: str, code: Dict[str, List[sass_path.Instruction]], n: int, sass: Sass, target: str) -> Optional[Price]:
    """None: the target has no such form, or ptxas merged the copies."""
    if form in STATED:
        if any(sass.named(name) not in sass.of(target) for name in STATED[form]):
            return None
        rows = [sass.of(target)[sass.named(name)] for name in STATED[form]]
        return Price({sass.named(name): Fraction(c) for name, c in STATED[form].items()}, [r.latency for r in rows if r.latency], 0)
    if f"k{n}_1" not in code:
        return None
    least, most = copies(form)
    few, many, single = (code[f"k{n}_{c}"] for c in (least, most, 1))
    ways = [sass_path.shortest(x) for x in (few, many, single)]
    if any(w is None for w in ways):
        return None
    ops: Dict[int, Fraction] = {}
    a, b = counted(few, ways[0]), counted(many, ways[1])
    for key in a.keys() | b.keys():
        x = Fraction(b[key] - a[key], most - least)
        if x > 0 and not (key & 0x1ff) in left_out(form):
            ops[key] = x
    return Price(ops, [], len(single) - len(set(ways[2])))


def chain(form: str, p: Price, code: Dict[str, List[sass_path.Instruction]], n: int, sass: Sass, target: str) -> List[str]:
    """The kinds of latency from operand to result. What has no result in a register, or gets it from memory, takes the longest of its operations."""
    if form in STATED:
        return p.path
    kinds = {k: (r.latency, sass.weight(r.latency)) for k, r in sass.of(target).items() if r.latency and k in p.ops}
    if "shared::cluster" in form:
        return ["cluster"]
    path: List[str] = []
    for count in (1, copies(form)[0]):  # of one copy ptxas may make something else: of a selection a load under a predicate
        found = code.get(f"k{n}_{count}", [])
        path = path or sass_path.chain(found, sass_path.shortest(found) or [] if found else [], kinds)
    if not path and price_kernels.waits(form) and kinds:
        path = [max(kinds.values(), key=lambda x: x[1])[0]]
    return path


SUMS = ("IADD3", "IMAD", "VIADD", "IADD")  # ptxas takes one for another, to spread sums over the pipes


def subtract(forms: Sequence[str], found: Dict[str, Price], sass: Sass) -> None:
    """Takes off what stands beside a form in its kernel."""
    sums = [sass.named(name) for name in SUMS]
    for f in forms:
        if f in found:
            ops = found[f].ops
            for other in price_kernels.less(f):
                beside = found.get(other) or found.get(other.replace("u32", "s32")) or Price({}, [], 0)
                for key, n in beside.ops.items():
                    for k in [key, *(sums if key in sums else [])]:
                        taken = min(n, ops.get(k, Fraction(0)))
                        n -= taken
                        if taken:
                            ops[k] -= taken
            found[f].ops = {k: n for k, n in ops.items() if n}


def measure(ptxas: str, s: RuleSet, forms: Sequence[str], sass: Sass) -> Dict[str, Price]:
    with tempfile.TemporaryDirectory() as folder:
        code = assemble(ptxas, s, forms, Path(folder))
    out: Dict[str, Price] = {}
    for n, form in enumerate(forms):
        price = measured(form, code, n, sass, s.values["name"])
        if price is not None:
            out[form] = price
    subtract(forms, out, sass)
    for n, form in enumerate(forms):
        if form in out:
            out[form].path = chain(form, out[form], code, n, sass, s.values["name"])
    unknown = sorted({k for p in out.values() for k in p.ops if k not in sass.of(s.values["name"])})
    for k in unknown:
        users = [f for f, p in out.items() if k in p.ops]
        print(f"{s.values['name']}: patterns/sass.tsv lacks operation 0x{k:03x}, in {', '.join(users[:4])}", file=sys.stderr)
    return {f: p for f, p in out.items() if not any(k in unknown for k in p.ops)}


# --- forms -----------------------------------------------------------------------------------------------------------------------------------
def collected(warpburg: str, files: Sequence[str], sets: Sequence[RuleSet]) -> Counts[str]:
    out: Counts[str] = Counter()

    def ptx(job: Tuple[str, str]) -> str:
        return subprocess.run([warpburg, "compile", job[0], "--target", job[1], "--emit", "ptx"], capture_output=True, text=True).stdout

    for f in files:
        if f.endswith(".ptx"):
            out += price_forms.forms(Path(f).read_text())
    with ThreadPoolExecutor(JOBS) as pool:
        for text in pool.map(ptx, [(f, s.values["name"]) for f in files if f.endswith(".hlo") for s in sets]):
            out += price_forms.forms(text)
    return out


def needed(forms: Sequence[str]) -> List[str]:
    """What the kernels of these forms subtract has to be measured with them."""
    return sorted({*forms, *(o for f in forms for o in price_kernels.less(f)), *(o.replace("u32", "s32") for f in forms for o in price_kernels.less(f))})


def measure_all(ptxas: str, sets: Sequence[RuleSet], forms: Sequence[str], sass: Sass) -> Dict[str, Dict[str, Price]]:
    """By target and form."""
    asked = needed(forms)
    with ThreadPoolExecutor(JOBS) as pool:
        return dict(zip((s.values["name"] for s in sets), pool.map(lambda s: measure(ptxas, s, asked, sass), sets)))


def differences(found: Dict[str, Dict[str, Price]], table: prices.Table, forms: Sequence[str], sass: Sass) -> List[str]:
    """A message for each form and target whose price is not that of the table."""
    say = lambda p, t: "none" if p is None else sass.text(p, t).replace("\t", " | ")  # noqa: E731
    return [f"patterns/prices.tsv:{table.line(f, t)}: error: {t} {f}: the file says {say(table.price(f, t), t)}, ptxas makes {say(of.get(f), t)}"
            for t, of in found.items() for f in forms if say(table.price(f, t), t) != say(of.get(f), t)]


def main() -> int:
    p = argparse.ArgumentParser(description="measures the machine code of each form of PTX instruction")
    p.add_argument("--target", help="only this target")
    p.add_argument("--file", default=str(load.root / prices.FILE), help="read and write this file instead of patterns/prices.tsv")
    p.add_argument("--warpburg", default="build/warpburg")
    p.add_argument("--collect", nargs="*", default=[], metavar="FILE", help="add the forms of these .ptx and .hlo files")
    args = p.parse_args()
    ptxas, sass = simulate.ptxas_of(), prices.load_sass()
    if ptxas is None:
        print("error: ptxas is not found (WARPBURG_PTXAS can name it)", file=sys.stderr)
        return 1
    all_sets = [load.load_target(t) for t in load.targets()]
    sets = [s for s in all_sets if args.target in (None, s.values["name"])]
    if not sets:
        p.error(f"no target {args.target}")
    table = prices.load_table(sass, Path(args.file))
    if args.target and table.version not in ("", version(ptxas)):
        p.error(f"the prices of the other targets were measured with another ptxas than {version(ptxas)}: measure all")
    forms = {*table.forms, *price_forms.usual(), *collected(args.warpburg, args.collect, sets)}
    no_kernel = sorted(f for f in forms if f not in STATED and not price_kernels.kernel(f, "k", 1))
    if no_kernel:
        print(f"no kernel is known for {len(no_kernel)} forms: {', '.join(no_kernel)}")
    asked = sorted(forms - set(no_kernel))
    for target, found in measure_all(ptxas, sets, asked, sass).items():
        table.put(target, {f: found[f] for f in asked if f in found})
        print(f"{target}: {sum(f in found for f in asked)} of {len(asked)} forms")
    table.drop_plain_literals(sass)
    table.version = version(ptxas)
    Path(args.file).write_text(table.text(sass))
    print(f"wrote {args.file}: {len(table.forms)} forms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
