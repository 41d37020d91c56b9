#!/usr/bin/env python3
"""Blocks of real programs (softmax, norms, their gradients), and all other fusions of the corpus that reduce: each as one launch.

    corpus_rows.py WARPBURG [--shared DIR] [--pairs N] [--every N] [--only TEXT] [--launches]

Every file of corpus/blocks is compiled for each target and must be one launch, as must every file of programs/ and fusions/ with a
reduction (--launches: of these all, else every eighth); those of CUT are more, for the reason given there. Files of blocks/ run under
`run --check` in N of the pairs of a target and a case of inputs, which rotate from one file to the next, whole or by a sample of blocks, and
store the same bits whether blocks and warps run by their numbers or in turns that a seed decides. Where another implementation's outputs are
stored for the case, whole runs agree with them. Ends with `N passed, M failed`.
"""
import argparse
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import List, NamedTuple, Optional

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
import golden  # noqa: E402
from row_runs import ORDERS, count_wrong, launches, outputs, pairs_of, threads_of, wrong_run  # noqa: E402
from warpburg_cli import TARGETS, TOO_LARGE, Cli  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
WHOLE = 1 << 15     # threads up to which a kernel is run whole
BLOCKS = 6          # blocks that are run of a larger kernel
REDUCES = re.compile(r" reduce\(")
# How many launches, and why not one
CUT = {
    "fusions/hlo_fusion_analysis.InvalidReduceMultiOutputFusion.hlo":
        (2, "sums along rows and sums along columns of one array: no block has both, so each is a kernel"),
}


class Job(NamedTuple):
    file: str       # its path in the corpus
    target: str
    case: str       # "": it is compiled only


class Rows:
    def __init__(self, cli: Cli, shared: Path, scratch: Path) -> None:
        self.cli, self.shared, self.scratch = cli, shared, scratch
        self.stored: Optional[golden.Golden] = None if golden.MISSING else golden.Golden(shared / "golden", "blocks")
        self.compared = self.whole = self.sampled = self.large = 0

    def launches(self, job: Job, folder: Path) -> str:
        """Why the file is not the launches that it should be, or nothing."""
        n, why = launches(self.cli, str(self.shared / "corpus" / job.file), job.target, folder)
        wanted, _ = CUT.get(job.file, (1, ""))
        if why:
            return why
        return "" if n == wanted else f"{n} launches, not {wanted}"

    def seed(self, job: Job) -> Optional[int]:
        name = Path(job.file).name
        return self.stored.seed(name, job.case) if self.stored else None

    def agrees(self, job: Job, outputs: Path) -> str:
        """With outputs that another implementation stored."""
        name = Path(job.file).name
        if not self.stored or self.seed(job) is None or ("blocks", name, job.case) in golden.known():
            return ""
        self.compared += 1
        why = self.stored.differs(name, job.case, outputs)
        return f"stored outputs: {why}" if why else ""

    def wrong(self, job: Job) -> str:
        with tempfile.TemporaryDirectory(dir=self.scratch) as own:
            folder = Path(own)
            why = self.launches(job, folder / "bundle")
            if why or not job.case:
                return why
            threads = threads_of(folder / "bundle")
            why = wrong_run(self.cli, str(self.shared / "corpus" / job.file), job.target, job.case, self.seed(job) or 1, folder,
                            0 if threads <= WHOLE else BLOCKS)
            if TOO_LARGE in why:
                self.large += 1
                return ""
            if why:
                return why
            self.whole, self.sampled = self.whole + (threads <= WHOLE), self.sampled + (threads > WHOLE)
            return self.agrees(job, outputs(folder, ORDERS[0])) if threads <= WHOLE else ""


def jobs_of(corpus: Path, pairs: int, every: int, only: str, launches: bool) -> List[Job]:
    jobs: List[Job] = []
    blocks = [f for f in sorted((corpus / "blocks").glob("*.hlo")) if only in f.name][::every]
    for k, file in enumerate(blocks):
        run = pairs_of(k, pairs)
        path = str(file.relative_to(corpus))
        jobs += [Job(path, t, c) for t, c in run]
        jobs += [Job(path, t, "") for t in TARGETS if t not in {x for x, _ in run}]
    others = [f for part in ("programs", "fusions") for f in sorted((corpus / part).rglob("*.hlo"))]
    others = [f for f in others if only in f.name and REDUCES.search(f.read_text(encoding="utf-8"))]
    for k, file in enumerate(others[:: every * (1 if launches else 8)]):
        path = str(file.relative_to(corpus))
        jobs += [Job(path, t, "") for t in (TARGETS if launches else (TARGETS[k % len(TARGETS)],))]
    return jobs


def main() -> int:
    p = argparse.ArgumentParser(description="blocks of real programs, each as one kernel")
    p.add_argument("warpburg")
    p.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    p.add_argument("--pairs", type=int, default=1)
    p.add_argument("--every", type=int, default=1)
    p.add_argument("--only", default="")
    p.add_argument("--launches", action="store_true")
    p.add_argument("-j", type=int, default=2, dest="jobs")
    o = p.parse_args()
    if not (o.shared / "corpus" / "blocks").is_dir():
        print(f"skipped: {o.shared / 'corpus'} is not there\n0 passed, 0 failed")
        return 0
    cli = Cli(os.path.abspath(o.warpburg), o.jobs)
    with tempfile.TemporaryDirectory() as scratch:
        rows = Rows(cli, o.shared, Path(scratch))
        jobs = jobs_of(o.shared / "corpus", o.pairs, o.every, o.only, o.launches)
        bad = count_wrong(cli, jobs, rows.wrong, lambda job: str(job.file))
    print(f"{rows.whole} runs whole, {rows.sampled} by a sample of blocks, {rows.large} too large for this machine; "
          f"{rows.compared} compared with stored outputs")
    print(f"{len(jobs) - bad} passed, {bad} failed")
    return int(bad > 0 or not jobs)


if __name__ == "__main__":
    sys.exit(main())
