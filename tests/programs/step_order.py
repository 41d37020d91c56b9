#!/usr/bin/env python3
"""Every ordered pair and triple of kinds of operations, each working on what the one before it leaves: all in one kernel, and as a module.

    step_order.py WARPBURG [--all] [--every N] [--only NAME] [--targets sm_90,sm_80] [--folder DIR]

The kinds are those of step_texts.py: loop, reduce, scan, sort, scatter, update (dynamic-update-slice), transpose, window, gather, a while that stacks, one
that folds, conditional, dot. Pairs stand in every role of the second kind, with and without the first result as a result of the module, with and without
memory of a parameter given away; in triples these take turns. Each text runs under `run --check`, once as a fusion, which may be declined, once as a module
that is cut by price, and once as the body of a loop; every third one once more by the plain cut, and fusions with scatters once more with --deterministic.
A plain run takes every N-th case on targets that take turns, --all takes all on each target. Texts of those that fail stay in DIR, if one is given. Ends
with `N passed, M failed`.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Iterator, List, NamedTuple, Tuple

from step_texts import Case, pairs, triples

DECLINED = 3
BATCH = 80  # command lines a process
WAYS = {"fusion": [], "module": [], "plain": ["--cut", "plain"], "ordered": ["--deterministic"], "looped": [], "looped_plain": ["--cut", "plain"]}


class Job(NamedTuple):
    case: Case
    way: str
    target: str
    file: Path

    def command(self) -> List[str]:
        return ["run", str(self.file), "--check", "-j", "1", "--target", self.target, "--seed", str(self.case.number), *WAYS[self.way]]


def jobs_of(cases: List[Case], targets: List[str], every: bool, folder: Path) -> Iterator[Job]:
    for n, c in enumerate(cases):
        ways = ["fusion", "module", "looped"] + (["plain", "looped_plain"] if n % 3 == 0 else []) + (["ordered"] if "scatter" in c.kinds else [])
        for k, way in enumerate(ways):
            fused, looped = way in ("fusion", "ordered"), way.startswith("looped")
            file = folder / f"{len(c.kinds)}_{c.number}_{c.name}_{'fusion' if fused else 'looped' if looped else 'module'}.hlo"
            file.write_text(c.text(fused, looped))
            for t in targets if every else [targets[(n + k) % len(targets)]]:
                yield Job(c, way, t, file)


def statuses(warpburg: str, jobs: List[Job], folder: Path) -> Iterator[int]:
    """The exit status of each command line; a process that ends early failed at the line after the last one that it told."""
    lines = folder / "jobs"
    while jobs:
        lines.write_text("".join("\t".join(j.command()) + "\n" for j in jobs))
        try:
            said = subprocess.run([warpburg, "batch", str(lines)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=600).stdout
        except subprocess.TimeoutExpired as e:
            said = (e.stdout or b"").decode()
        found = [json.loads(line)["status"] for line in said.splitlines() if line.startswith('{"line":')]
        yield from found
        if len(found) < len(jobs):
            yield -1
        jobs = jobs[len(found) + 1:]
    lines.unlink()


def message(warpburg: str, job: Job) -> str:
    try:
        done = subprocess.run([warpburg, *job.command()], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return "not done after 120 seconds"
    return f"exit {done.returncode}: {done.stdout.strip()[-500:]}"


def main() -> int:
    a = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    a.add_argument("warpburg")
    a.add_argument("--all", action="store_true")
    a.add_argument("--every", type=int, default=40)
    a.add_argument("--only", default="")
    a.add_argument("--targets", default="sm_90,sm_80")
    a.add_argument("--folder", type=Path)
    o = a.parse_args()
    folder: Path = o.folder or Path(tempfile.mkdtemp(prefix="step_order"))
    folder.mkdir(parents=True, exist_ok=True)
    cases = [c for c in (*pairs(), *triples()) if o.only in c.name]
    cases = cases if o.all or o.only else cases[::o.every]
    jobs = list(jobs_of(cases, o.targets.split(","), o.all, folder))
    outcomes: "Counter[Tuple[str, str]]" = Counter()
    kept = set()
    for at in range(0, len(jobs), BATCH):
        part = jobs[at:at + BATCH]
        for job, status in zip(part, list(statuses(o.warpburg, part, folder))):
            how = "passed" if status == 0 else "declined" if status == DECLINED and job.way in ("fusion", "ordered") else "failed"
            outcomes[job.way, how] += 1
            if how == "failed":
                kept.add(job.file)
                print(f"{' '.join(job.command())}: {message(o.warpburg, job)}", flush=True)
    for file in {j.file for j in jobs} - kept:
        file.unlink()
    if not kept and not o.folder:
        folder.rmdir()
    for (way, how), n in sorted(outcomes.items()):
        print(f"{way}: {n} {how}")
    print(f"{sum(1 for c in cases if len(c.kinds) == 2)} pairs, {sum(1 for c in cases if len(c.kinds) == 3)} triples")
    failed = sum(n for (_, how), n in outcomes.items() if how == "failed")
    print(f"{sum(outcomes.values()) - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
