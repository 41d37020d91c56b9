#!/usr/bin/env python3
"""Random fusions with scatters: each is compiled, run in the simulator, and compared with the evaluator's bounds.

    random_scatters.py WARPBURG WARPBURG_RUN [COUNT] [--seed S] [--folder DIR]

Fusions follow from seeds S, S + 1, .. (fuzz/random_scatter_text.py): any rank, dimension numbers, type and combiner, several operands, what is
computed before and after; every fifth is a select-and-scatter (fuzz/random_pooling_text.py).
Each is compiled for two targets and runs in the cases of RUNS, under an order of blocks and warps that depends on the seed. For
the first target it is compiled with --deterministic, too: updates are combined in the order of the text, and all orders of blocks give the same bits. If
indices are sorted, it is compiled for a third one, too, in such a way that threads combine the longest runs of them; and for one so that blocks combine
their updates in shared memory wherever they can. A fusion that is declined for a reason of ALLOWED is counted apart, one declined for any other has
failed. Texts of those that fail stay in DIR. Ends with `N passed, M failed`.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Dict, List, Sequence, Tuple

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "common"), str(TESTS.parent)]
from gen import load  # noqa: E402
from random_pooling_text import generate_pooling  # noqa: E402
from random_scatter_text import generate  # noqa: E402
from seeds import arguments  # noqa: E402
from warpburg_cli import MAIN, TARGETS, Cli  # noqa: E402

# cases of inputs: of the first target, of the second, of the first with --deterministic, with the longest runs, and in cells
RUNS = ("nepst", "e", "en", "ne", "ent")
ORDERS = ("forward", "reverse", "shuffle:3")
POOLING = 5     # one in so many seeds is a select-and-scatter
ALLOWED: Dict[str, str] = {r"type: .*combined in order: elements share bytes": "updates in their order, of elements that share bytes",
                           r"operation: .*no scalar operation|operation: \S+ of ": "an operation that no kernel has at the type"}
Outcome = Tuple[str, str]  # passed, declined or failed; why


def said_of(p: "subprocess.CompletedProcess[str]") -> str:
    facts = json.loads(p.stdout) if p.returncode == 4 and p.stdout.startswith("{") else {}
    said = (facts.get("faults") or [facts.get("first")])[0] if facts else (p.stdout + p.stderr).strip()[-400:]
    return f"exit {p.returncode}: {said}"


def judge(compiler: Cli, runner: Cli, folder: Path, seed: int, text: str, target: str, cases: str, how: Sequence[str] = ()) -> Outcome:
    stem = re.sub(r"\W", "_", f"{seed}_{target}{'_'.join(how)}")
    file, bundle = folder / f"{stem}.hlo", folder / stem
    file.write_text(text, encoding="utf-8")
    p = compiler.call("compile", str(file), "--target", target, *how, "-o", str(bundle))
    if p.returncode:
        why = p.stderr.strip().replace(f"{file}:", "")[-400:]
        known = next((said for pattern, said in ALLOWED.items() if re.search(pattern, why)), None) if p.returncode == 3 else None
        return ("declined", known) if known else ("failed", f"compile: exit {p.returncode}: {why}")
    for case in cases:
        order = ORDERS[(seed + ord(case)) % len(ORDERS)]
        p = runner.call("run", str(bundle), "--check", "--json", "--case", case, "--seed", str(seed), "--order", order, "-j", "1")
        if p.returncode:
            return "failed", f"{' '.join(how)} --case {case} --seed {seed} --order {order}: {said_of(p)}"
    why = same_bits(runner, bundle, cases[0], seed) if "--deterministic" in how else ""
    shutil.rmtree(bundle)
    return ("failed", why) if why else ("passed", "")


def same_bits(runner: Cli, bundle: Path, case: str, seed: int) -> str:
    """Why not: results under each order of blocks and warps."""
    results: List[Dict[str, bytes]] = []
    for k, order in enumerate(ORDERS):
        out = bundle / f"out_{k}"
        p = runner.call("run", str(bundle), "--case", case, "--seed", str(seed), "--order", order, "-o", str(out))
        if p.returncode:
            return f"--order {order}: {said_of(p)}"
        results.append({f.name: f.read_bytes() for f in sorted(out.glob("out*.npy"))})
    if not results[0]:
        return "no result was written"
    return "" if all(r == results[0] for r in results) else f"--deterministic --case {case} --seed {seed}: the bits depend on --order"


def main() -> int:
    o = arguments(__doc__, 100, "warpburg", "warpburg_run", folder="build/fuzz/scatters")
    os.environ.pop("WARPBURG_PTXAS", None)      # nothing here needs machine code
    compiler, runner = Cli(os.path.abspath(o.warpburg)), Cli(os.path.abspath(o.warpburg_run))
    others = [t for t in TARGETS if t != MAIN]
    tally: Counter[Outcome] = Counter()
    failed = 0
    longest = {t: load.place_of("scatter.gain", t) for t in TARGETS}
    cells = {t: load.place_of("cells.gain", t) for t in TARGETS}
    with tempfile.TemporaryDirectory() as name:

        def both(seed: int) -> List[Tuple[int, str, str, Outcome]]:
            text = generate_pooling(seed) if seed % POOLING == 0 else generate(seed)
            jobs = [(MAIN, RUNS[0], ()), (others[seed % len(others)], RUNS[1], ()), (MAIN, RUNS[2], ("--deterministic",))]
            fourth = TARGETS[seed % len(TARGETS)]
            jobs.append((fourth, RUNS[4], ("--disable", cells[fourth])))
            if "indices_are_sorted" in text:
                third = TARGETS[seed // 2 % len(TARGETS)]
                jobs.append((third, RUNS[3], ("--disable", longest[third])))
            return [(seed, text, target, judge(compiler, runner, Path(name), seed, text, target, cases, how)) for target, cases, how in jobs]

        for outcomes in compiler.pool.map(both, range(o.seed, o.seed + o.count)):
            for seed, text, target, (status, why) in outcomes:
                tally[status, why if status != "failed" else ""] += 1
                if status == "failed":
                    failed += 1
                    kept = o.folder / f"{seed}.hlo"
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
    sys.exit(main())
