#!/usr/bin/env python3
"""Random fusions that read in one order and store in another: each is compiled, run in the simulator, and compared with the evaluator's bounds.

    random_transposes.py WARPBURG WARPBURG_RUN [COUNT] [--seed S] [--folder DIR]

Fusions follow from seeds S, S + 1, .. (fuzz/random_transpose_text.py): any rank, type and permutation, reshapes, prologues, epilogues, several
transposes and outputs. Each is compiled for two targets: as an exchange through shared memory where one is legal, whatever it costs (`--layout exchange`),
and as the compiler chooses. A fusion that is declined for an operation that no kernel has is counted apart. Texts of those that fail stay in DIR.
Ends with `N passed, M failed`.
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
from typing import List, NamedTuple, Tuple

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "common"), str(TESTS / "kernels")]
from random_transpose_text import generate  # noqa: E402
from seeds import arguments  # noqa: E402
from shared_reductions import ORDERS  # noqa: E402
from warpburg_cli import MAIN, TARGETS, Cli  # noqa: E402

CASES = "enps"            # of inputs: one of them for each run
NO_KERNEL = r"operation: .*no scalar operation|operation: \S+ of |reduction: "
NO_EXCHANGE = r"layout:1:1: error: (exchange: nothing is read|\d+ kernels take|the kernel has)"


class Outcome(NamedTuple):
    status: str           # exchange, loop, declined, failed
    why: str


def judge(compiler: Cli, runner: Cli, folder: Path, seed: int, target: str, forced: bool) -> Outcome:
    name = f"{seed}_{target}_{int(forced)}"
    file, bundle = folder / f"{name}.hlo", folder / name
    file.write_text(generate(seed), encoding="utf-8")
    words = ["compile", str(file), "--target", target, "-o", str(bundle)]
    p = compiler.call(*words, *(["--layout", "exchange"] if forced else []))
    if forced and p.returncode == 1 and re.search(NO_EXCHANGE, p.stderr):
        p = compiler.call(*words)
    if p.returncode:
        why = p.stderr.strip().replace(f"{file}:", "")[-400:]
        declined = p.returncode == 3 and re.search(NO_KERNEL, why)
        return Outcome("declined" if declined else "failed", "no kernel" if declined else f"compile: exit {p.returncode}: {why}")
    rng = random.Random(seed + forced)
    case, order = rng.choice(CASES), rng.choice(ORDERS)
    kind = "exchange" if ".shared" in (bundle / "kernel.ptx").read_text(encoding="utf-8") else "loop"
    p = runner.call("run", str(bundle), "--check", "--json", "--case", case, "--seed", str(seed), "--order", order, "-j", "1")
    if p.returncode:
        facts = json.loads(p.stdout) if p.returncode == 4 and p.stdout.startswith("{") else {}
        said = (facts.get("faults") or [facts.get("first")])[0] if facts else (p.stdout + p.stderr).strip()[-400:]
        return Outcome("failed", f"--case {case} --seed {seed} --order {order}: exit {p.returncode}: {said}")
    shutil.rmtree(bundle)
    return Outcome(kind, "")


def main() -> int:
    o = arguments(__doc__, 150, "warpburg", "warpburg_run", folder="build/fuzz/transposes")
    os.environ.pop("WARPBURG_PTXAS", None)      # nothing here needs machine code
    compiler, runner = Cli(os.path.abspath(o.warpburg)), Cli(os.path.abspath(o.warpburg_run))
    others = [t for t in TARGETS if t != MAIN]
    tally: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:

        def both(seed: int) -> List[Tuple[int, str, bool, Outcome]]:
            runs = [(MAIN, True), (others[seed % len(others)], seed % 3 != 0)]
            return [(seed, target, forced, judge(compiler, runner, Path(name), seed, target, forced)) for target, forced in runs]

        for outcomes in compiler.pool.map(both, range(o.seed, o.seed + o.count)):
            for seed, target, forced, outcome in outcomes:
                tally[outcome.status] += 1
                if outcome.status != "failed":
                    continue
                kept = o.folder / f"{seed}.hlo"
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_text(generate(seed), encoding="utf-8")
                print(f"failed: {kept} --target {target}{' --layout exchange' * forced}: {outcome.why}", flush=True)
    print(", ".join(f"{n} {status}" for status, n in sorted(tally.items())))
    enough = tally["exchange"] * 5 >= sum(tally.values())       # else the generator or the choice has lost its subject
    if not enough:
        print("failed: less than a fifth of the kernels exchange")
    print(f"{tally['exchange'] + tally['loop']} passed, {tally['failed'] + (not enough)} failed")
    return int(tally["failed"] > 0 or not enough)


if __name__ == "__main__":
    sys.exit(main())
