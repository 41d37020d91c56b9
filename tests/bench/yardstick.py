#!/usr/bin/env python3
"""Kernels of two builds, priced by a profile that does not change: that of commit c3e75855, which this script builds where it is not in the cache.

    yardstick.py OLD NEW [--shared DIR] [--every N] [--from K] [--plans] [--layouts N] [--accuracy LEVEL] [--blocks N] [-j N] [--out ROWS.tsv]
    yardstick.py --make              builds the yardstick alone, and prints where it is and how long it took

OLD and NEW: executables, or c3e75855. Kernels: every Nth fusion of programs/, blocks/, emitter-tests/ and fusions/ of the corpus, for sm_90. A kernel whose
PTX both builds agree on counts as 1 and is profiled once; with --plans one whose plan is the same counts as 1 without being made, so that the whole corpus
(--every 1) takes two minutes.  The profile errs by 12 to 15 % on single kernels, so that 3 % is a tie: the report has the geometric
mean, the worst decile and those above 1.10, by the yardstick and by NEW's own profile.

Layouts: those that a package for a GPU would time (tests/gpu/gpu.py --layouts N): of every Nth of the kernels that are timed up to 8, listed by the yardstick's
--explain and varied with seed 1. Each build's price of a layout, which the plan of a given layout states, is held against the yardstick's profile of the
kernel: the standard deviation of log(profile / price), and what the layout with the least price takes over the best one. The times of the 745 layouts that
three H200 took are not in the tree, so the yardstick stands in for them here: its own deviation from those is 0.05 to 0.12 (docs/profile.md).

What the yardstick said is kept in the cache by content; the cache is $XDG_CACHE_HOME/warpburg/yardstick (~/.cache).
"""
from __future__ import annotations

import argparse
import csv
import hashlib
import itertools
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "shaderdb"), str(ROOT / "tests" / "gpu")]

from tools import environment  # noqa: E402
from variants import listed, variants  # noqa: E402

COMMIT = "c3e75855"
PARTS = ("programs", "blocks", "emitter-tests", "fusions")
TIMED_PARTS = ("blocks", "programs", "fusions")
TRIES, LAYOUTS = 16, 8      # as tests/gpu/gpu.py
TIE, HIGH = 1.03, 1.10
COMMENT = re.compile(rb"[ \t]*//[^\n]*")
LISTED_PRICE = re.compile(r"^    ([\d.]+) us", re.M)  # the first one listed is the chosen layout's
GIVEN = re.compile(r"^  priced at ([\d.]+) us", re.M)
SECONDS = 240


# --- the yardstick ----------------------------------------------------------------------------------------------------------------------
def cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "warpburg" / "yardstick"


def yardstick(jobs: int) -> Path:
    """The executable of COMMIT; built from `git archive` where it is not there."""
    home = cache() / COMMIT
    if (home / "warpburg").exists():
        return home / "warpburg"
    since = time.monotonic()
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache()) as at:
        source, build = Path(at) / "source", Path(at) / "build"
        source.mkdir()
        archive = subprocess.run(["git", "-C", str(ROOT), "archive", COMMIT], capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x", "-C", str(source)], input=archive, check=True)
        said = subprocess.DEVNULL
        subprocess.run(["meson", "setup", str(build), str(source)], check=True, stdout=said)
        subprocess.run(["ninja", "-C", str(build), f"-j{jobs}", "warpburg"], check=True, stdout=said)
        for library in build.glob("libwarpburg.so*"):
            if library.is_file():
                shutil.copy(library, home, follow_symlinks=False)
        shutil.copy(build / "warpburg", home / "making")
        (home / "making").rename(home / "warpburg")
    print(f"yardstick: {COMMIT} built in {time.monotonic() - since:.0f} s", flush=True)
    return home / "warpburg"


class Tools(NamedTuple):
    yard: Path
    old: str
    new: str
    accuracy: str
    blocks: int

    def call(self, program: object, *words: str) -> "subprocess.CompletedProcess[str]":
        env = {**os.environ, **dict(environment())}
        try:
            return subprocess.run([str(program), *words], capture_output=True, text=True, errors="replace", check=False, env=env, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess([], 124, "", "takes too long")

    def bundle(self, program: str, file: Path, to: Path, *words: str) -> bool:
        return self.call(program, "compile", str(file), "--target", "sm_90", "--accuracy", self.accuracy, "-o", str(to), *words).returncode == 0

    def profile(self, program: object, bundle: Path) -> Optional[float]:
        """Microseconds; of grids of few blocks and of several launches all blocks run."""
        for words in (["--blocks", str(self.blocks)], []):  # case n: the one that the yardstick makes too
            p = self.call(program, "run", str(bundle), "--profile", "--json", "-j", "1", "--case", "n", *words)
            if p.returncode == 0:
                return float(json.loads(p.stdout)["kernels"][0]["us"])
            if "a sample of blocks" not in p.stderr:
                return None
        return None

    def by_yardstick(self, bundle: Path) -> Optional[float]:
        """What the cache has, else a profile."""
        key = hashlib.sha256(f"{COMMIT} {self.blocks} {digest(bundle)}".encode()).hexdigest()[:24]
        kept = cache() / COMMIT / "us" / key
        if kept.exists():
            word = kept.read_text(encoding="utf-8")
            return float(word) if word else None
        us = self.profile(self.yard, bundle)
        kept.parent.mkdir(parents=True, exist_ok=True)
        part = kept.with_suffix(f".{os.getpid()}.{id(bundle)}")
        part.write_text("" if us is None else repr(us), encoding="utf-8")
        part.rename(kept)
        return us


def digest(bundle: Path) -> str:
    """Of the kernel alone: comments of the PTX name rules by line, which move."""
    ptx = COMMENT.sub(b"", b"".join(p.read_bytes() for p in sorted(bundle.glob("*.ptx"))))
    facts = json.loads((bundle / "kernel.json").read_text(encoding="utf-8"))
    shape = json.dumps([facts.get("launches"), facts.get("buffers")], sort_keys=True)
    return hashlib.sha256(ptx + shape.encode()).hexdigest()


# --- kernels ----------------------------------------------------------------------------------------------------------------------------
class Row(NamedTuple):
    file: str
    same: bool
    old_yard: float     # microseconds, by the yardstick
    new_yard: float
    old_new: float      # by NEW's profile
    new_new: float


def compared(t: Tools, corpus: Path, file: Path) -> Tuple[Optional[Row], str]:
    with tempfile.TemporaryDirectory() as at:
        old, new = Path(at) / "old", Path(at) / "new"
        made = [t.bundle(program, file, to) for program, to in ((t.old, old), (t.new, new))]
        if not all(made):
            return None, "declined by both" if not any(made) else "declined by one"
        same = digest(old) == digest(new)
        yard = [t.by_yardstick(old)] + ([] if same else [t.by_yardstick(new)])
        own = [t.profile(t.new, old)] + ([] if same else [t.profile(t.new, new)])
    if None in yard + own:
        return None, "no profile"
    numbers = [x for x in (yard[0], yard[-1], own[0], own[-1]) if x is not None]
    return Row(str(file.relative_to(corpus)), same, *numbers), ""


def plan(t: Tools, program: str, file: Path) -> str:
    """What is decided before there is code; without prices and reasons, of which every build has its own."""
    said = t.call(program, "compile", str(file), "--target", "sm_90", "--accuracy", t.accuracy, "--emit", "plan").stdout
    kept = [line for line in said.split("\nchoices\n")[0].splitlines() if not line.startswith(("    ", "  layouts: ", "  priced at "))]
    return re.sub(r"[\d.]+ us\b.*|(?m:(?<=\d): .*$)", "", "\n".join(kept))


def replanned(t: Tools, file: Path) -> bool:
    return plan(t, t.old, file) != plan(t, t.new, file)


def mean(ratios: Sequence[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, ratios))) if ratios else math.nan


def worst_decile(ratios: Sequence[float]) -> float:
    some = sorted(ratios, reverse=True)
    return mean(some[:max(len(some) // 10, 1)])


def say_kernels(rows: List[Row]) -> None:
    changed = [r for r in rows if not r.same]
    print(f"{len(rows)} kernels, of which {len(changed)} changed")
    for name, ratios in (("by the yardstick", [r.new_yard / r.old_yard for r in rows]), ("by NEW's profile", [r.new_new / r.old_new for r in rows])):
        beyond = [x for x in ratios if not 1 / TIE <= x <= TIE]
        print(f"  NEW over OLD {name}: mean {mean(ratios):.4f}, worst decile {worst_decile(ratios):.4f}; beyond a tie: {sum(x < 1 for x in beyond)} faster, "
              f"{sum(x > 1 for x in beyond)} slower; above {HIGH}: {sum(x > HIGH for x in ratios)}")
    model = [r.new_new / r.new_yard for r in rows]
    print(f"  NEW's profile over the yardstick's, of NEW's kernels: mean {mean(model):.4f}, from {min(model):.3f} to {max(model):.3f}")
    for r in sorted(changed, key=lambda r: -r.new_yard / r.old_yard):
        ratio = r.new_yard / r.old_yard
        mark = "above 1.10" if ratio > HIGH else "slower" if ratio > TIE else "faster" if ratio < 1 / TIE else "tie"
        print(f"  {ratio:7.3f}  {mark:10}  {r.file}: {r.old_yard:.2f} -> {r.new_yard:.2f} us; by NEW's {r.old_new:.2f} -> {r.new_new:.2f}")


# --- layouts ----------------------------------------------------------------------------------------------------------------------------
class Layout(NamedTuple):
    text: str
    yard: float         # microseconds, by the yardstick's profile
    old: float          # prices; 0: none is stated, as of loops
    new: float


def price(t: Tools, program: str, file: Path, layout: str) -> float:
    plan = t.call(program, "compile", str(file), "--target", "sm_90", "--accuracy", t.accuracy, "--emit", "plan", "--layout", layout).stdout
    found = GIVEN.search(plan) or LISTED_PRICE.search(plan)
    return float(found[1]) if found else 0


def layouts_of(t: Tools, file: Path) -> List[Layout]:
    out: List[Layout] = []
    explained = t.call(t.yard, "compile", str(file), "--target", "sm_90", "--accuracy", "xla", "--explain").stdout
    texts = itertools.chain(listed(explained)[:1], variants(explained, 1))
    for text in itertools.islice(texts, TRIES):
        if len(out) == LAYOUTS:
            break
        prices = [price(t, program, file, text) for program in (t.old, t.new)]
        if not all(prices):
            continue
        with tempfile.TemporaryDirectory() as at:
            us = t.by_yardstick(Path(at) / "k") if t.bundle(str(t.yard), file, Path(at) / "k", "--layout", text) else None
        if us:
            out.append(Layout(text, us, *prices))
    return out


def timed(shared: Path, every: int) -> Iterator[Path]:
    """The kernels that are timed on a GPU: of programs those of large sizes, all of the others."""
    rows: List[Path] = []
    for part in TIMED_PARTS:
        with open(shared / "anchors" / f"{part}.tsv", encoding="utf-8", newline="") as lines:
            files = [r["file"] for r in csv.DictReader(lines, delimiter="\t") if r["status"] == "ok"]
        rows += [shared / "corpus" / part / f for f in files if part != "programs" or ".L__" in f]
    return iter(rows[::every])


def say_layouts(kernels: List[List[Layout]]) -> None:
    kernels = [k for k in kernels if len(k) > 1]
    every = [x for k in kernels for x in k]
    print(f"{len(every)} layouts of {len(kernels)} kernels")
    if not every:
        return
    for name, of in (("OLD", lambda x: x.old), ("NEW", lambda x: x.new)):
        logs = [math.log(x.yard / of(x)) for x in every]
        least = [min(k, key=of).yard / min(x.yard for x in k) for k in kernels]
        print(f"  {name}'s price: profile over price {math.exp(statistics.fmean(logs)):.4f}, standard deviation {100 * statistics.pstdev(logs):.1f} %; the "
              f"cheapest over the best {mean(least):.4f}, worst decile {worst_decile(least):.4f}")
    print(f"  {sum(x.old != x.new for x in every)} prices changed")


# --- the command ------------------------------------------------------------------------------------------------------------------------
def corpus_files(o: argparse.Namespace) -> List[Path]:
    files = [f for part in PARTS for f in sorted((o.shared / "corpus" / part).rglob("*.hlo")) if o.only in str(f)]
    return files[o.first::o.every] if o.every else []


def main() -> int:
    p = argparse.ArgumentParser(description="kernels of two builds by a profile that does not change")
    p.add_argument("builds", nargs="*", metavar="OLD NEW")
    p.add_argument("--make", action="store_true", help="build the yardstick alone")
    p.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    p.add_argument("--every", type=int, default=16, help="of the fusions of the corpus; 0: none")
    p.add_argument("--from", type=int, default=0, dest="first")
    p.add_argument("--plans", action="store_true", help="make only those kernels whose plans differ")
    p.add_argument("--only", default="", help="only files whose path contains this")
    p.add_argument("--layouts", type=int, default=10, help="of the kernels that are timed, every Nth; 0: none")
    p.add_argument("--accuracy", default="xla", choices=("exact", "xla", "approx"))
    p.add_argument("--blocks", type=int, default=16, help="of a grid that run")
    p.add_argument("-j", type=int, default=min(2, os.cpu_count() or 1), dest="jobs")
    p.add_argument("--out", type=Path, help="write a row for each kernel and layout")
    o = p.parse_args()
    if not o.make and len(o.builds) != 2:
        p.error("expected OLD and NEW")
    if not o.make and not (o.shared / "anchors").is_dir():
        print(f"skipped: {o.shared} is not there")
        return 0
    yard = yardstick(o.jobs)
    if o.make:
        print(yard)
        return 0
    t = Tools(yard, *(str(yard if b == COMMIT else Path(b).resolve()) for b in o.builds), o.accuracy, o.blocks)
    print(f"prices by {COMMIT}; accuracy {o.accuracy}, {o.blocks} blocks of a grid; every {o.every}th fusion, layouts of every {o.layouts}th timed kernel")
    table: List[Tuple[object, ...]] = []
    with ThreadPoolExecutor(o.jobs) as pool:
        files = corpus_files(o)
        if o.plans:
            different = list(pool.map(lambda f: replanned(t, f), files))
            print(f"plans of {len(files)} fusions, of which {sum(different)} differ", flush=True)
            files = [f for f, d in zip(files, different) if d]
        found = list(pool.map(lambda f: compared(t, o.shared / "corpus", f), files))
        rows = [row for row, _ in found if row]
        if rows:
            say_kernels(rows)
            table += [("kernel", r.file, r.old_yard, r.new_yard, r.old_new, r.new_new) for r in rows]
        left = [why for row, why in found if not row]
        print("  not compared: " + (", ".join(f"{left.count(w)} {w}" for w in sorted(set(left))) or "none"), flush=True)
        if o.layouts:
            kinds = list(timed(o.shared, o.layouts))
            kernels = list(pool.map(lambda f: layouts_of(t, f), kinds))
            say_layouts(kernels)
            table += [("layout", f"{f.name} {x.text}", x.yard, x.yard, x.old, x.new) for f, k in zip(kinds, kernels) for x in k]
    if o.out:
        o.out.write_text("".join("\t".join(map(str, row)) + "\n" for row in [("what", "name", "old_yard", "new_yard", "old", "new"), *table]), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
