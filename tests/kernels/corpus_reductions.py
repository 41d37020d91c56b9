#!/usr/bin/env python3
"""Every fusion of the corpus that reduces: compiled, run under --check, compared with stored outputs, on targets and cases that rotate.

    corpus_reductions.py WARPBURG [--shared DIR] [--parts fusions,modules] [--pairs N] [--every N] [--from N] [--only TEXT]
                         [--seconds N] [-j N]

The files with a reduction of emitter-tests/, fusions/ and programs/, and the kernels with one into which the whole modules of models/ and modules/
(*.L.hlo) are cut by price. Each is compiled and runs in N of the pairs of a target and a case of inputs: whole, or by a sample of blocks
where it has many threads that share nothing. Where another implementation's outputs are stored for the case, whole runs agree with them, but for
those of golden_known.tsv, and those that corpus_outcomes_known.tsv calls right and different. What is declined must stand in LIBRARY. A run that
takes longer than --seconds counts as a failure, and says so. Ends with `N passed, M failed`.
"""
import argparse
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple

import corpus_outcomes
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
import golden  # noqa: E402
from row_runs import count_wrong, pairs_of, threads_of  # noqa: E402
from warpburg_cli import TOO_LARGE, Cli  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("emitter-tests", "fusions", "programs")
WHOLE = 1 << 16     # threads up to which a kernel is run whole
BLOCKS = 6          # blocks that are run of a larger kernel
REDUCES = re.compile(r" reduce\(")
# Fusions with a reduction that are declined: the reason's word
LIBRARY: Dict[str, str] = {
}


class Job(NamedTuple):
    file: Path
    part: str       # of the corpus
    name: str       # path in it; of a kernel of a module, the module's and its own
    target: str
    case: str


class Reductions:
    def __init__(self, cli: Cli, shared: Path, scratch: Path) -> None:
        self.cli, self.scratch = cli, scratch
        self.stored = {} if golden.MISSING else {part: golden.Golden(shared / "golden", part) for part in PARTS}
        self.differ = {(part, name) for (part, name), (word, _) in corpus_outcomes.known().items() if word == "stored"}
        self.compared = self.whole = self.sampled = self.large = self.declined = 0

    def wrong(self, job: Job) -> str:
        """What is wrong with a job, or nothing."""
        stored = self.stored.get(job.part)
        seed = stored.seed(job.name, job.case) if stored else None
        with tempfile.TemporaryDirectory(dir=self.scratch) as own:
            bundle, outputs = Path(own) / "bundle", Path(own) / "outputs"
            p = self.cli.call("compile", str(job.file), "--target", job.target, "-o", str(bundle))
            if p.returncode == 3 and job.name in LIBRARY and LIBRARY[job.name] in p.stderr:
                self.declined += 1
                return ""
            if p.returncode:
                return f"compile: exit {p.returncode}: {p.stderr.strip()[-300:]}"
            threads = threads_of(bundle)
            v = self.cli.run(str(job.file), job.target, job.case, seed or 1, to=str(outputs), blocks=0 if threads <= WHOLE else BLOCKS,
                             options=["-j", "1"])
            if TOO_LARGE in v.why:
                self.large += 1
                return ""
            if not v.ok:
                return v.why
            self.whole, self.sampled = self.whole + (threads <= WHOLE), self.sampled + (threads > WHOLE)
            if seed is None or threads > WHOLE:
                return ""
            if (job.part, job.name, job.case) in golden.known() or (job.part, job.name) in self.differ:
                return ""
            self.compared += 1
            why = stored.differs(job.name, job.case, outputs)
            return f"stored outputs: {why}" if why else ""


def reduces(file: Path) -> bool:
    return bool(REDUCES.search(file.read_text(encoding="utf-8")))


def kernels_of(cli: Cli, corpus: Path, scratch: Path) -> Iterator[Path]:
    """The kernels with a reduction of whole modules, cut for sm_90; a module that is cut in the same way is in every pair."""
    modules = [*sorted((corpus / "models").glob("*.hlo")), *sorted((corpus / "modules").glob("*.L.hlo"))]
    for module in filter(reduces, modules):
        to = scratch / module.stem
        p = cli.call("fuse", str(module), "--cut", "priced", "--parts", str(to))
        if p.returncode:
            print(f"{module.name} is not cut: {p.stderr.strip()[-200:]}", flush=True)
            continue
        rows = [line.split("\t") for line in (to / "index.tsv").read_text(encoding="utf-8").splitlines()[1:]]
        yield from (to / row[0] for row in rows if not row[2] and reduces(to / row[0]))


def jobs_of(cli: Cli, corpus: Path, scratch: Path, o: argparse.Namespace) -> List[Job]:
    files = [(f, part, str(f.relative_to(corpus / part))) for part in PARTS if part in o.parts for f in sorted((corpus / part).rglob("*.hlo")) if reduces(f)]
    files += [(f, "modules", str(f.relative_to(scratch))) for f in (kernels_of(cli, corpus, scratch) if "modules" in o.parts else ())]
    files = [x for x in files if o.only in x[2]]
    return [Job(*x, *pair) for k, x in enumerate(files) if k >= o.first and k % o.every == 0 for pair in pairs_of(k // o.every, o.pairs)]


def main() -> int:
    p = argparse.ArgumentParser(description="reductions of the corpus, on targets and cases that rotate")
    p.add_argument("warpburg")
    p.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    p.add_argument("--parts", default=",".join((*PARTS, "modules")), type=lambda names: names.split(","))
    p.add_argument("--pairs", type=int, default=1)
    p.add_argument("--every", type=int, default=1)
    p.add_argument("--from", type=int, default=0, dest="first", metavar="N")
    p.add_argument("--only", default="")
    p.add_argument("--seconds", type=int, default=600)
    p.add_argument("-j", type=int, default=2, dest="jobs")
    o = p.parse_args()
    if not (o.shared / "corpus" / "programs").is_dir():
        print(f"skipped: {o.shared / 'corpus'} is not there\n0 passed, 0 failed")
        return 0
    cli = Cli(os.path.abspath(o.warpburg), o.jobs, o.seconds)
    with tempfile.TemporaryDirectory() as scratch:
        all_of = Reductions(cli, o.shared, Path(scratch))
        jobs = jobs_of(cli, o.shared / "corpus", Path(scratch), o)
        bad = count_wrong(cli, jobs, all_of.wrong, lambda job: f"{job.part}/{job.name}")
    print(f"{all_of.whole} runs whole, {all_of.sampled} by a sample of blocks, {all_of.large} too large for this machine, "
          f"{all_of.declined} declined; {all_of.compared} compared with stored outputs")
    print(f"{len(jobs) - bad} passed, {bad} failed")
    return int(bad > 0 or not jobs)


if __name__ == "__main__":
    sys.exit(main())
