#!/usr/bin/env python3
"""Every fusion of the corpus that corpus_loops.py does not run: compiled and right, or declined for the known reason.

    corpus_outcomes.py WARPBURG [--shared DIR] [--every N] [--only TEXT] [--list FILE] [--targets sm_80,sm_90] [--cases enps] [-j N] [--update]

The parts are emitter-tests, fusions, blocks, and the rest of programs. Each file is compiled, assembled, and its stores are enumerated: every element
must be stored exactly once. Kernels of few threads are run under --check and compared with golden outputs; of larger ones a sample of blocks is
run, and what these write is compared with the evaluator's bounds. --cases runs each kernel in these cases of inputs, in place of one for each target;
--list takes the names of files from the lines of FILE, those of corpus_loops.py, too. corpus_outcomes_known.tsv lists the files that are declined, with the
reason's word, those that are not run, and those that may differ from the golden outputs; another outcome than the listed one is a failure. --update
rewrites that list with the outcomes seen. Ends with `N passed, M failed`: a file counts once for each target; exit 1 if M is not 0.
"""
import argparse
import csv
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
import golden  # noqa: E402
import corpus_loop_files  # noqa: E402
from warpburg_cli import MAIN, TOO_LARGE, Cli, Compiled  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
KNOWN = Path(__file__).with_name("corpus_outcomes_known.tsv")
PARTS = ("emitter-tests", "fusions", "blocks", "programs")
UNJUDGED = "no element was compared"
OUT_OF_MEMORY = "out of memory: "  # of one process
WHOLE = 1 << 15     # threads up to which a kernel is run whole
BLOCKS = 12         # blocks that are run of a larger kernel
SECONDS = 600       # for a run
EXCEPTIONS = ("not run", "stored")  # words of files that compile: too large to be run; right, but different from the golden outputs
Key = Tuple[str, str]  # part, path in it


def known(path: Path = KNOWN) -> Dict[Key, Tuple[str, str]]:
    """(part, file) -> (word, why). The word is the reason for which the file is declined, or one of EXCEPTIONS."""
    if not path.exists():
        return {}
    with open(path, encoding="utf-8", newline="") as lines:
        return {(r["part"], r["file"]): (r["word"], r["why"]) for r in csv.DictReader(lines, delimiter="\t")}


def files_of(shared: Path, part: str, names: Sequence[str] = ()) -> List[str]:
    folder = shared / "corpus" / part
    if names:
        return sorted(name for f in folder.rglob("*.hlo") if (name := str(f.relative_to(folder))) in names)
    if part != "programs":
        return sorted(str(f.relative_to(folder)) for f in folder.rglob("*.hlo"))
    elsewhere = {Path(f).name for f in corpus_loop_files.select(folder)["S"]}
    return sorted(f.name for f in folder.glob("*.hlo") if f.name not in elsewhere)


class Outcomes:
    def __init__(self, compiler: Cli, cli: Cli, shared: Path, with_ptxas: bool, cases: str = "") -> None:
        self.compiler, self.cli, self.shared, self.with_ptxas, self.cases = compiler, cli, shared, with_ptxas, cases
        self.known = known()
        self.seen: Dict[Key, Tuple[str, str]] = {}
        self.passed = self.failed = 0
        self.lock = threading.Lock()
        self.counts: Counter = Counter()

    def count(self, what: str) -> None:
        with self.lock:
            self.counts[what] += 1

    def judge(self, part: str, file: str, c: Compiled, stored: Optional[golden.Golden]) -> str:
        """Why a compiled kernel fails; empty if it passes."""
        if self.with_ptxas and "sass" not in c.facts and c.facts.get("grid") != 0:
            return "not assembled"
        stores = c.facts.get("stores", "")
        if stores:
            return f"stores: {stores}"
        word = self.known.get((part, file), ("", ""))[0]
        if word in EXCEPTIONS:
            self.seen[part, file] = self.known[part, file]
        if word == "not run":
            return ""
        cases = self.cases or ("e" if c.target == MAIN else "n")
        return next((why for case in cases if (why := self.run(part, file, c, stored, case))), "")

    def run(self, part: str, file: str, c: Compiled, stored: Optional[golden.Golden], case: str) -> str:
        word = self.known.get((part, file), ("", ""))[0]
        seed = stored.seed(file, case) if stored else None
        whole = c.facts["grid"] * c.facts["block"] <= WHOLE
        with tempfile.TemporaryDirectory() as to:
            v = self.cli.run(c.file, c.target, case, seed or 1, (), to if whole and seed is not None else None, blocks=0 if whole else BLOCKS)
            if not v.ok and UNJUDGED in v.why:  # what a sample of a scatter's blocks leaves, others change
                whole = True
                v = self.cli.run(c.file, c.target, case, seed or 1, (), to if seed is not None else None)
            self.count("run whole" if whole else "run by a sample of blocks")
            if not v.ok and (TOO_LARGE in v.why or OUT_OF_MEMORY in v.why):
                print(f"skipped: {part}/{file}, {c.target}: compiled and its stores enumerated, not run: {v.why}", flush=True)
                self.count("not run: too large for this machine")
                return ""
            if not v.ok:
                return f"case {case}: {v.why}"
            if not whole or seed is None or not stored:
                return ""
            self.count("compared with golden outputs")
            why = stored.differs(file, case, Path(to))
            listed = (part, file, case) in golden.known() or word == "stored"
            return f"case {case}: {why}" if why and not listed else ""

    def one(self, part: str, file: str, c: Compiled, stored: Optional[golden.Golden]) -> None:
        word, reason = self.known.get((part, file), ("", ""))
        why = c.why
        if c.status == "declined":
            said = c.why.split(":")[0]
            self.seen[part, file] = (said, reason or c.why.split("declined: ")[-1].split(": ", 1)[-1])
            why = "" if word == said else f"declined: {c.why}"
            self.count(f"declined: {said}")
        elif c.status == "ok" and word not in ("", *EXCEPTIONS):
            why = f"is listed in {KNOWN.name} as declined ({word}) and compiles"
        elif c.status == "ok":
            why = self.judge(part, file, c, stored)
        with self.lock:
            self.passed, self.failed = self.passed + (not why), self.failed + bool(why)
            if why:
                print(f"failed: {part}/{file}, {c.target}: {why[:400]}", flush=True)

    def part(self, part: str, files: Sequence[str], target: str) -> None:
        folder = self.shared / "corpus" / part
        stored = None if golden.MISSING else golden.Golden(self.shared / "golden", part)
        compiled = self.compiler.compile([str(folder / f) for f in files], target, ("--bijection",))
        self.compiler.each(lambda fc: self.one(part, fc[0], fc[1], stored), zip(files, compiled))
        print(f"{part}, {target}: {len(files)} files", flush=True)


def update(seen: Dict[Key, Tuple[str, str]], path: Path = KNOWN) -> None:
    rows = ["part\tfile\tword\twhy", *("\t".join((*key, *seen[key])) for key in sorted(seen))]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def main() -> int:
    p = argparse.ArgumentParser(description="every fusion of the corpus that corpus_loops.py does not run")
    p.add_argument("warpburg")
    p.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    p.add_argument("--every", type=int, default=1)
    p.add_argument("--only", default="", help="only files whose path contains this")
    p.add_argument("--list", type=Path, help="only the files that its lines name")
    p.add_argument("--cases", default="", help="letters of cases, in place of e for sm_90 and n for others")
    p.add_argument("--parts", default=",".join(PARTS))
    p.add_argument("--targets", default="sm_80,sm_90")
    p.add_argument("-j", type=int, default=2, dest="jobs")
    p.add_argument("--update", action="store_true")
    o = p.parse_args()
    if not (o.shared / "corpus").is_dir():
        print(f"skipped: {o.shared / 'corpus'} is not there\n0 passed, 0 failed")
        return 0
    if golden.MISSING:
        print(f"skipped: golden outputs: {golden.MISSING}")
    compiler = Cli(o.warpburg, o.jobs, 3600)  # a process compiles two dozen files, and enumerates up to 2^33 stores of each
    with_ptxas = "sass" in compiler.compile([str(ROOT / "shaderdb" / "corpus" / "gelu.hlo")], o.targets.split(",")[0])[0].facts
    if not with_ptxas:
        print("skipped: assembling: no ptxas")
    outcomes = Outcomes(compiler, Cli(o.warpburg, o.jobs, SECONDS), o.shared, with_ptxas, o.cases)
    names = o.list.read_text(encoding="utf-8").split() if o.list else ()
    for part in o.parts.split(","):
        files = [f for f in files_of(o.shared, part, names)[::o.every] if o.only in f]
        for target in o.targets.split(","):
            outcomes.part(part, files, target)
    for what, n in sorted(outcomes.counts.items()):
        print(f"{n} {what}")
    if o.update:
        update(outcomes.seen)
    print(f"{outcomes.passed} passed, {outcomes.failed} failed")
    return 1 if outcomes.failed else 0


if __name__ == "__main__":
    sys.exit(main())
