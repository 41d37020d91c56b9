"""What suites of fusions that read rows again share: the pairs of a target and a case of inputs in which a file runs, its launches, and its bits."""
import itertools
import json
import math
from pathlib import Path
from typing import Any, Callable, Dict, List, Sequence, Tuple

from warpburg_cli import TARGETS, Cli

CASES = "enps"
PAIRS = [(t, c) for c, t in itertools.product(CASES, TARGETS)]
STEP = next(n for n in range(len(TARGETS) + 2, len(PAIRS)) if math.gcd(n, len(PAIRS)) == 1)  # from one pair to the next of a file: changes target and case
ORDERS = ("forward", "shuffle:1")  # of blocks and warps: by their numbers, or in turns that a seed decides


def pairs_of(file: int, n: int) -> List[Tuple[str, str]]:
    """n pairs for the file of that number, which rotate from one file to the next; 0: all."""
    n = min(n or len(PAIRS), len(PAIRS))
    return [PAIRS[(file * n + i) * STEP % len(PAIRS)] for i in range(n)]


def launches(cli: Cli, file: str, target: str, folder: Path) -> Tuple[int, str]:
    """How many launches the bundle has that a file is compiled to, or why it is none."""
    p = cli.call("compile", file, "--target", target, "-o", str(folder))
    if p.returncode:
        return 0, f"compile: exit {p.returncode}: {(p.stdout + p.stderr).strip()[-300:]}"
    if not (folder / "kernel.json").exists():
        return 0, "it is a program of several kernels"
    return len(json.loads((folder / "kernel.json").read_text(encoding="utf-8"))["launches"]), ""


def threads_of(bundle: Path) -> int:
    """Threads of the largest launch of a bundle; 0: it is a program of several kernels."""
    description = bundle / "kernel.json"
    launched = json.loads(description.read_text(encoding="utf-8"))["launches"] if description.exists() else []
    return max((math.prod(x["grid"]) * math.prod(x["block"]) for x in launched), default=0)


def count_wrong(cli: Cli, jobs: Sequence[Any], wrong: Callable[[Any], str], name: Callable[[Any], str]) -> int:
    """How many jobs are wrong; each is printed as soon as it is known, with its reason."""
    def judge(job: Any) -> str:
        why = wrong(job)
        if why:
            print(f"failed: {name(job)}, --target {job.target} --case {job.case or '-'}: {why[:400]}", flush=True)
        return why

    return sum(map(bool, cli.each(judge, jobs)))


def outputs(folder: Path, order: str) -> Path:
    return folder / order.replace(":", "_")


def wrong_run(cli: Cli, file: str, target: str, case: str, seed: int, folder: Path, blocks: int = 0) -> str:
    """Why `run --check` fails in one of ORDERS, or that they store other bits; nothing if all is right."""
    stored: List[Dict[str, bytes]] = []
    for order in ORDERS:  # the bits of the second are judged by being those of the first
        to = outputs(folder, order)
        v = cli.run(file, target, case, seed, to=str(to), blocks=blocks, options=["--order", order, "-j", "1"], check=not stored)
        stored.append({f.name: f.read_bytes() for f in sorted(to.glob("*.npy"))} if v.ok else {})
        if not stored[-1]:
            return f"--order {order}: {v.why or 'no output'}"
    return "" if stored[0] == stored[1] else f"other bits in the order {ORDERS[1]}"
