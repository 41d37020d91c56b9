#!/usr/bin/env python3
"""Random fusions with scatters: each is compiled, run in the simulator, and compared with the evaluator's bounds.

    random_scatters.py WARPBURG WARPBURG_RUN [--count N] [--seed S] [--folder DIR]

Fusions follow from seeds S, S + 1, .. (fuzz/random_scatter_text.py): any rank, dimension numbers, type and combiner, several operands, what is
computed before and after. Each is compiled for two targets and runs in the cases of RUNS, under an order of blocks and warps that depends on the seed. A
fusion that is declined for a reason of ALLOWED is counted apart, one declined for any other has failed. Texts of those that fail stay in DIR. Ends with
`N passed, M failed`.
"""
import argparse
import json
import os
import re
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Dict, List, Sequence, Tuple

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "fuzz"))
from random_scatter_text import generate  # noqa: E402
from warpburg_cli import MAIN, TARGETS, Cli  # noqa: E402

RUNS = ("nepst", "e")     # cases of inputs: of the first target, and of the second
ORDERS = ("forward", "reverse", "shuffle:3")
ALLOWED: Dict[str, str] = {r"operation: .*no scalar operation|operation: \S+ of ": "an operation that no kernel has at the type"}
Outcome = Tuple[str, str]  # passed, declined or failed; why


def judge(compiler: Cli, runner: Cli, folder: Path, seed: int, text: str, target: str, cases: str) -> Outcome:
    file, bundle = folder / f"{seed}_{target}.hlo", folder / f"{seed}_{target}"
    file.write_text(text, encoding="utf-8")
    p = compiler.call("compile", str(file), "--target", target, "-o", str(bundle))
    if p.returncode:
        why = p.stderr.strip().replace(f"{file}:", "")[-400:]
        known = next((said for pattern, said in ALLOWED.items() if re.search(pattern, why)), None) if p.returncode == 3 else None
        return ("declined", known) if known else ("failed", f"compile: exit {p.returncode}: {why}")
    for case in cases:
        order = ORDERS[(seed + ord(case)) % len(ORDERS)]
        p = runner.call("run", str(bundle), "--check", "--json", "--case", case, "--seed", str(seed), "--order", order, "-j", "1")
        if p.returncode:
            facts = json.loads(p.stdout) if p.returncode == 4 and p.stdout.startswith("{") else {}
            said = (facts.get("faults") or [facts.get("first")])[0] if facts else (p.stdout + p.stderr).strip()[-400:]
            return "failed", f"--case {case} --seed {seed} --order {order}: exit {p.returncode}: {said}"
    shutil.rmtree(bundle)
    return "passed", ""


def main(argv: Sequence[str]) -> int:
    p = argparse.ArgumentParser(description="random fusions with scatters")
    p.add_argument("warpburg")
    p.add_argument("warpburg_run")
    p.add_argument("--count", type=int, default=100)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--folder", default="build/fuzz/scatters")
    o = p.parse_args(argv)
    os.environ.pop("WARPBURG_PTXAS", None)      # nothing here needs machine code
    compiler, runner = Cli(os.path.abspath(o.warpburg)), Cli(os.path.abspath(o.warpburg_run))
    others = [t for t in TARGETS if t != MAIN]
    tally: Counter[Outcome] = Counter()
    failed = 0
    with tempfile.TemporaryDirectory() as name:

        def both(seed: int) -> List[Tuple[int, str, str, Outcome]]:
            text = generate(seed)
            return [(seed, text, target, judge(compiler, runner, Path(name), seed, text, target, cases))
                    for target, cases in ((MAIN, RUNS[0]), (others[seed % len(others)], RUNS[1]))]

        for outcomes in compiler.pool.map(both, range(o.seed, o.seed + o.count)):
            for seed, text, target, (status, why) in outcomes:
                tally[status, why if status != "failed" else ""] += 1
                if status == "failed":
                    failed += 1
                    kept = Path(o.folder) / f"{seed}.hlo"
                    kept.parent.mkdir(parents=True, exist_ok=True)
                    kept.write_text(text, encoding="utf-8")
                    print(f"failed: {kept} --target {target}: {why}", flush=True)
    for (status, why), n in sorted(tally.items()):
        if why:
            print(f"{n} {status}: {why}")
    print(f"{sum(tally.values())} kernels of {o.count} fusions")
    print(f"{tally['passed', '']} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
