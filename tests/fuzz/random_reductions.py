#!/usr/bin/env python3
"""Random fusions with reductions: each is compiled, run in the simulator, and compared with the evaluator's bounds and the documented order.

    random_reductions.py WARPBURG WARPBURG_RUN [COUNT] [--seed S] [--folder DIR]

Fusions follow from seeds S, S + 1, .. (fuzz/random_reduction_text.py): any rank, memory layout, type and combiner, prologues, epilogues, several
reductions, chains of them. Each is compiled for two targets with the layout that the compiler chooses, and runs in the cases of RUNS; one of several
also with a random layout. A fusion that is declined for a reason of ALLOWED is counted apart, one declined for any other has failed. Texts of those that
fail stay in DIR. Ends with `N passed, M failed`.
"""
import json
import os
import random
import re
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Tuple

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "common"), str(TESTS / "kernels")]
from random_reduction_text import Made, generate  # noqa: E402
from seeds import arguments  # noqa: E402
from shared_reductions import ORDERS, Fusion, layouts, space, targets_of  # noqa: E402
from warpburg_cli import MAIN, TARGETS, Cli  # noqa: E402

RUNS = ("neps", "ne")     # cases of inputs: of the first target, and of the second
LAYOUT_RUNS = "ns"
EVERY_LAYOUT = 2          # of so many fusions one has a random layout too
# what a message of a fusion that is declined may say, and why that is no fault
ALLOWED: Dict[str, str] = {
    r"operation: .*no scalar operation|operation: \S+ of ": "an operation that no kernel has at the type",
}


class Job(NamedTuple):
    seed: int
    made: Made
    target: str
    cases: str
    layout: str


class Outcome(NamedTuple):
    status: str          # passed, declined, refused, failed
    why: str
    shared: bool         # threads share terms


def matching(table: Dict[str, str], text: str) -> Optional[str]:
    return next((why for pattern, why in table.items() if re.search(pattern, text)), None)


def some_layout(rng: random.Random, made: Made) -> str:
    """A legal layout of the space of the fusion's largest reduction; empty: none is found."""
    spaces = [s for s in made.spaces if s.shape]
    if not spaces:
        return ""
    s = max(spaces, key=lambda x: len(x.reduced))
    dims = space(s.shape, s.reduced, s.order)
    in_order = any(x.in_order for x in spaces)
    if in_order and s.order != sorted(s.order, reverse=True):   # terms have the order of the text
        return ""
    found = layouts(rng, Fusion("", "", dims, in_order), 1)
    return found[0] if found else ""


def jobs_of(seed: int) -> List[Job]:
    made, rng = generate(seed), random.Random(seed)
    others = [t for t in TARGETS if t != MAIN]
    jobs = [Job(seed, made, MAIN, RUNS[0], ""), Job(seed, made, others[seed % len(others)], RUNS[1], "")]
    layout = some_layout(rng, made) if seed % EVERY_LAYOUT == 0 else ""
    return jobs + ([Job(seed, made, rng.choice(targets_of(layout)), LAYOUT_RUNS, layout)] if layout else [])


def is_shared(compiler: Cli, file: Path, target: str) -> bool:
    """Does the compiler choose a kernel whose threads share terms?"""
    plan = compiler.call("compile", str(file), "--target", target, "--emit", "plan").stdout
    return bool(re.match(r"plan @\S+ reduction:", plan))


def judge(compiler: Cli, runner: Cli, folder: Path, job: Job) -> Outcome:
    name = f"{job.seed}_{job.target}{'_layout' if job.layout else ''}"
    file, bundle = folder / f"{name}.hlo", folder / name
    file.write_text(job.made.text, encoding="utf-8")
    p = compiler.call("compile", str(file), "--target", job.target, "-o", str(bundle), *(["--layout", job.layout] if job.layout else []))
    if p.returncode:
        why = p.stderr.strip().replace(f"{file}:", "")[-400:]
        known = matching(ALLOWED, why) if p.returncode == 3 else None
        if job.layout and "blocks share the results of one stage" in why:
            return Outcome("refused", "blocks of the grid share results that a later stage reads", False)
        if job.layout and "elements share a byte of the output" in why:
            return Outcome("refused", "a layout that parts the elements of a byte", False)
        if job.layout and p.returncode == 3 and re.search("(one thread|a loop) reduces at most", why):
            return Outcome("refused", "a layout of a fusion that would be cut into several kernels", False)
        if job.layout and ("kernels take no given layout" in why or "only the layout of a single one can be given" in why):
            return Outcome("refused", "a layout of several kernels or launch ranges", False)
        if job.layout and p.returncode == 3 and "is needed by threads that do not have it" in why and is_shared(compiler, file, job.target):
            return Outcome("refused", "a layout under which threads lack what a later stage needs", False)
        if job.layout and p.returncode == 1 and re.search(r"layout:\d+:\d+: error: .*( does not cover |of a reduced dimension)", why):
            return Outcome("refused", "a layout of terms whose memory has another order", False)
        if job.layout and p.returncode == 1 and not is_shared(compiler, file, job.target):
            return Outcome("refused", "a layout of the terms of a fusion whose threads do not share them", False)
        return Outcome("failed" if known is None else "declined", known or f"compile: exit {p.returncode}: {why}", False)
    shared = ": tree" in (bundle / "kernel.json").read_text(encoding="utf-8")
    for case in job.cases:
        order = ORDERS[(job.seed + ord(case)) % len(ORDERS)]
        p = runner.call("run", str(bundle), "--check", "--json", "--case", case, "--seed", str(job.seed), "--order", order, "-j", "1")
        if p.returncode:
            facts = json.loads(p.stdout) if p.returncode == 4 and p.stdout.startswith("{") else {}
            said = (facts.get("faults") or [facts.get("first")])[0] if facts else (p.stdout + p.stderr).strip()[-400:]
            if "run-away loop" in str(said) and not shared:
                return Outcome("declined", "one thread combines more than the simulator runs", shared)
            return Outcome("failed", f"--case {case} --seed {job.seed} --order {order}: exit {p.returncode}: {said}", shared)
    shutil.rmtree(bundle)
    return Outcome("passed", "", shared)


def report(job: Job, outcome: Outcome, to: Path) -> None:
    kept = to / f"{job.seed}.hlo"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(job.made.text, encoding="utf-8")
    layout = f" --layout '{job.layout}'" if job.layout else ""
    print(f"failed: {kept} --target {job.target}{layout}: {outcome.why}", flush=True)


def main() -> int:
    o = arguments(__doc__, 150, "warpburg", "warpburg_run", folder="build/fuzz/reductions")
    os.environ.pop("WARPBURG_PTXAS", None)      # nothing here needs machine code
    compiler, runner = Cli(os.path.abspath(o.warpburg)), Cli(os.path.abspath(o.warpburg_run))
    tally: Counter[Tuple[str, str]] = Counter()
    shared = failed = 0
    with tempfile.TemporaryDirectory() as name:

        def both(seed: int) -> List[Tuple[Job, Outcome]]:
            return [(job, judge(compiler, runner, Path(name), job)) for job in jobs_of(seed)]

        for pairs in compiler.pool.map(both, range(o.seed, o.seed + o.count)):
            for job, outcome in pairs:
                shared += outcome.shared
                tally[outcome.status, outcome.why if outcome.status != "failed" else ""] += 1
                if outcome.status == "failed":
                    failed += 1
                    report(job, outcome, o.folder)
    for (status, why), n in sorted(tally.items()):
        if why:
            print(f"{n} {status}: {why}")
    print(f"{sum(tally.values())} kernels of {o.count} fusions, threads share terms in {shared}")
    print(f"{tally['passed', '']} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
