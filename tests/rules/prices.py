#!/usr/bin/env python3
"""patterns/prices.tsv says of every form what ptxas makes of it.

    prices.py [--every 10]      one form of 10

1. Forms are assembled again for every target; machine operations, chain and slow path are those of the file.
2. The file with one row changed is not: another count, another operation, a target or a row less, another chain, another slow path.
3. The forms that kernels of the corpus hold have prices, and so has the machine code that ptxas makes of these kernels.

Without ptxas only the forms of kernels are checked. Another release of ptxas than the one that the file was measured with may differ in a few prices.
Ends with `N passed, M failed`.
"""
from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Callable, Dict, List, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from gen import load, prices  # noqa: E402
from gen.expr import PatternError  # noqa: E402
from gen.proof import price_forms, prices as measuring, sass_path, simulate  # noqa: E402

Row = List[str]  # form, targets, sass, chain, off
OTHER_RELEASE = 0.06  # share of prices that another release of ptxas may change; 13.5 changes 3.8 % of those of 13.0
MUTANTS = 8  # rows that each way of changing a row is tried on


def more(row: Row) -> Row:
    first, *rest = row[2].split()
    name, _, n = first.partition("*")
    return [*row[:2], " ".join([f"{name}*{int(n or 1) + 1}" if "/" not in n else name, *rest]), *row[3:]]


def other(row: Row) -> Row:
    return [*row[:2], re.sub(r"^[A-Z0-9.]+", "LOP3" if not row[2].startswith("LOP3") else "SHF", row[2]), *row[3:]]


def fewer_targets(row: Row) -> Row:
    names = prices.NAMES if row[1] == "all" else row[1].split()
    return [row[0], " ".join(names[1:]) or "-", *row[2:]]


WAYS: Dict[str, Callable[[Row], Row]] = {
    "another count": more, "another operation": other, "a target less": fewer_targets,
    "a longer chain": lambda r: [*r[:3], r[3].replace("-", "") + " alu*3", r[4]],
    "another slow path": lambda r: [*r[:4], str(int(r[4]) + 1)],
    "another form": lambda r: [r[0] + ".x", *r[1:]],
}


def mutants(found: measuring.Dict[str, Dict[str, prices.Price]], forms: List[str], sass: prices.Sass) -> List[Tuple[str, bool]]:
    """Each way of changing rows, and whether the comparison notices all of them."""
    lines = (ROOT / prices.FILE).read_text().splitlines()
    rows = [n for n, line in enumerate(lines) if line.split("\t")[0] in set(forms) and line.split("\t")[2] != "-"]
    out = []
    with tempfile.TemporaryDirectory() as folder:
        for what, way in WAYS.items():
            for n in random.Random(what).sample(rows, min(MUTANTS, len(rows))):
                row = way(lines[n].split("\t"))
                text = lines[:n] + ["\t".join(row)] * (row[1] != "-") + lines[n + 1:]
                path = Path(folder) / "prices.tsv"
                path.write_text("\n".join(text) + "\n")
                try:
                    noticed = bool(measuring.differences(found, prices.load_table(sass, path), forms, sass))
                except PatternError:
                    noticed = True  # the file does not load: the form has two rows for a target, or the target no such operation
                out.append((f"{what} in line {n + 1}: {lines[n]}", noticed))
    return out


def kernels(warpburg: str, every: int) -> List[Tuple[str, str, str]]:
    """(name, target, PTX) of kernels of the corpus, and of XLA's where the shared data is at hand."""
    out = []
    for hlo in sorted((ROOT / "shaderdb/corpus").glob("**/*.hlo"))[::every]:
        for t in prices.NAMES:
            p = subprocess.run([warpburg, "compile", str(hlo), "--target", t, "--emit", "ptx"], capture_output=True, text=True)
            if p.stdout:  # not declined
                out.append((f"{hlo.name} {t}", t, p.stdout))
    for ptx in sorted((ROOT.parent / "shared/anchors/ptx").glob("*/*.ptx"))[::every * 4]:
        out.append((ptx.name, "sm_90", ptx.read_text()))
    return out


def unpriced(texts: List[Tuple[str, str, str]], table: prices.Table) -> List[Tuple[str, str]]:
    """(which kernel, its forms without a price)"""
    out = []
    for name, t, text in texts:
        lacking = sorted(f for f in price_forms.forms(text) if not (table.price(f, t) or table.price(f.split(" ")[0], t)) and f not in UNPRICED)
        out.append((f"forms of {name}", ", ".join(lacking)))
    return out


def unknown(ptxas: str, texts: List[Tuple[str, str, str]], sass: prices.Sass) -> List[Tuple[str, str]]:
    """(which kernel, its machine operations that patterns/sass.tsv lacks)"""
    def operations(job: Tuple[str, str, str]) -> str:
        with tempfile.TemporaryDirectory() as folder:
            source, cubin = Path(folder) / "k.ptx", Path(folder) / "k.cubin"
            source.write_text(job[2])
            arch = re.search(r"^\.target\s+(\w+)", job[2], re.M)
            done = subprocess.run([ptxas, f"-arch={arch.group(1) if arch else job[1]}", "-o", str(cubin), str(source)], capture_output=True, text=True)
            if done.returncode:
                return done.stderr[:200]
            keys = {i.key for code in sass_path.code(cubin.read_bytes(), int(job[1][3:])).values() for i in code}
            return ", ".join(f"0x{k:03x}" for k in sorted(keys - set(sass.of(job[1]))))

    with ThreadPoolExecutor(measuring.JOBS) as pool:
        return [(f"machine code of {name}", why) for (name, _, _), why in zip(texts, pool.map(operations, texts))]


# Arguments of calls, which ptxas keeps in registers; the end of a kernel; an address in another block's memory, one for all loads from it
UNPRICED = {"st.param.b32", "st.param.b64", "trap", "mapa.shared::cluster.u32"}


def main() -> int:
    p = argparse.ArgumentParser()
    p.add_argument("warpburg")
    p.add_argument("--every", type=int, default=10, metavar="N", help="one form of N")
    args = p.parse_args()
    sass, ptxas = prices.load_sass(), simulate.ptxas_of()
    table = prices.load_table(sass)
    texts = kernels(args.warpburg, args.every)
    results = unpriced(texts, table)
    version = measuring.version(ptxas) if ptxas else ""
    if ptxas is None:
        print("skipped: comparison with ptxas: not found (WARPBURG_PTXAS can name it)")
    else:
        forms = sorted(table.forms)[::args.every]
        found = measuring.measure_all(ptxas, [load.load_target(t) for t in load.targets()], forms, sass)
        bad = measuring.differences(found, table, forms, sass)
        results += unknown(ptxas, texts, sass)
        if version == table.version:
            results += [(f"{t} {f}", "") for t in found for f in forms][len(bad):] + [(line, line) for line in bad]
            results += [(what, "" if noticed else "not noticed") for what, noticed in mutants(found, forms, sass)]
        else:
            all_rows = len(found) * len(forms)
            print(f"{prices.FILE} was measured with ptxas {table.version}, this one is {version}: {len(bad)} of {all_rows} prices differ")
            results.append((f"prices by {version}", "" if len(bad) <= OTHER_RELEASE * all_rows else f"more than {OTHER_RELEASE:.0%} of them differ"))
    for what, why in results:
        if why:
            print(why if why == what else f"failed: {what}: {why}")
    failed = sum(bool(why) for _, why in results)
    print(f"{len(results) - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
