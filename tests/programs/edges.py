#!/usr/bin/env python3
"""Where values live in a module that is cut (rows at='edge' of patterns/strategies.py): the search against all combinations of choices.

    edges.py WARPBURG [COUNT] [--seed S] [--folder DIR]

Random small modules of elementwise operations, sums of rows, broadcasts and several results. Of each, by the prices that `fuse --explain` says:
  all combinations (`--cut exhaustive`) take no more time than what the search found (`--cut priced`);
  with any one of the rows left out, all combinations take no less time than with all of them;
  the module is right, run in the simulator and judged, with all rows and with a random half of them left out.
How much longer the search's cut takes than the best one is printed, in the mean and at most; 1.02 in the mean at most. Modules whose combinations are too
many are counted, and at most a quarter. Texts of those that fail stay in DIR. Ends with `N passed, M failed`.
"""
import argparse
import json
import random
import re
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "common")]

from warpburg_cli import Cli  # noqa: E402

SHAPES = ((2048, 512), (4096, 128), (256, 4096), (8192, 32))
SMALL = 8  # times fewer rows and columns in the module that runs
UNARY = ("exponential", "sine", "negate", "sqrt", "tanh")
BINARY = ("add", "multiply", "subtract", "maximum")
MOST_REGRET, MOST_SKIPPED, LEAST_COMBINATIONS, TIE = 1.02, 0.25, 8, 1e-4


def text_of(seed: int, small: bool) -> str:
    r = random.Random(seed)
    rows, columns = r.choice(SHAPES)
    if small:
        rows, columns = max(rows // SMALL, 8), max(columns // SMALL, 8)
    whole, row = f"f32[{rows},{columns}]", f"f32[{rows}]"
    lines, values, unused = ["  zero = f32[] constant(0)"], [], []  # type: List[str], List[str], List[str]
    for k in range(r.randint(1, 3)):
        lines.append(f"  p{k} = {whole} parameter({k})")
        values.append(f"p{k}")
    for k in range(r.randint(3, 7)):
        kind, a = r.choice(("unary", "binary", "binary", "sum", "sum")), r.choice(values[-3:])
        if kind == "sum":
            lines += [f"  s{k} = {row} reduce({a}, zero), dimensions={{1}}, to_apply=add", f"  v{k} = {whole} broadcast(s{k}), dimensions={{0}}"]
        elif kind == "unary":
            lines.append(f"  v{k} = {whole} {r.choice(UNARY)}({a})")
        else:
            b = r.choice(values)
            lines.append(f"  v{k} = {whole} {r.choice(BINARY)}({a}, {b})")
            unused = [u for u in unused if u != b]
        unused = [u for u in unused if u != a] + [f"v{k}"]
        values.append(f"v{k}")
    roots = unused[-3:]
    lines.append(f"  ROOT t = ({', '.join([whole] * len(roots))}) tuple({', '.join(roots)})")
    return "HloModule m\nadd { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\nENTRY e {\n" + "\n".join(lines) + "\n}\n"


def cut_of(cli: Cli, file: Path, cut: str, without: Sequence[str] = ()) -> Optional[Tuple[float, int]]:
    """What all kernels take in us, of how many combinations; None: that is not known, or there are too many combinations."""
    options = [w for place in without for w in ("--disable", place)]
    said = cli.call("fuse", str(file), "--cut", cut, "--explain", "--target", "sm_90", *options)
    found = re.findall(r"its kernels take ([\d.]+) us", said.stdout)
    tried = re.findall(r"all (\d+) combinations", said.stdout)
    return (float(found[0]), int(tried[0]) if tried else 1) if said.returncode == 0 and len(found) == 1 else None


def faults(cli: Cli, seed: int, file: Path, edges: Dict[str, str], regrets: List[float], combinations: List[int]) -> Optional[List[str]]:
    """What is wrong with a module; None: it has too many combinations."""
    file.write_text(text_of(seed, small=False))
    by_search, by_all = cut_of(cli, file, "priced"), cut_of(cli, file, "exhaustive")
    if by_all is None or by_search is None:
        return None
    priced, best = by_search[0], by_all[0]
    combinations.append(by_all[1])
    out = [f"the search found {priced} us, all combinations {best}"] if best > priced * (1 + TIE) else []
    regrets.append(priced / best)
    for name, place in edges.items():
        less = cut_of(cli, file, "exhaustive", [place])
        if less is not None and less[0] < best * (1 - TIE):
            out.append(f"without {name} all combinations take {less[0]} us, with it {best}")
    run = file.with_name(f"{file.stem}_run.hlo")
    run.write_text(text_of(seed, small=True))
    half = random.Random(seed).sample(sorted(edges.values()), len(edges) // 2)
    for without in ([], half):
        said = cli.call("run", str(run), "--check", "--target", "sm_90", "-j", "1", *[w for place in without for w in ("--disable", place)])
        if said.returncode:
            out.append(f"without {without}: {(said.stdout + said.stderr).strip()[-300:]}")
    if not out:
        run.unlink()
    return out


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("warpburg")
    p.add_argument("count", type=int, nargs="?", default=8)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--folder", type=Path)
    o = p.parse_args()
    cli, folder = Cli(o.warpburg), o.folder or Path(tempfile.mkdtemp(prefix="edges"))
    folder.mkdir(parents=True, exist_ok=True)
    rows = [json.loads(line) for line in cli.call("rules", "list", "--strategies", "--json").stdout.splitlines()]
    edges = {r["strategy"]: r["place"] for r in rows if r.get("at") == "edge"}
    regrets, combinations = [], []  # type: List[float], List[int]
    passed, failed, skipped = 0, int(len(edges) < 4), 0
    for seed in range(o.seed, o.seed + o.count):
        file = folder / f"edges_{seed}.hlo"
        found = faults(cli, seed, file, edges, regrets, combinations)
        skipped += found is None
        passed += found == []
        failed += bool(found)
        for what in found or []:
            print(f"{file}: {what}")
        if not found:
            file.unlink()
    mean = statistics.geometric_mean(regrets) if regrets else 0
    choices = statistics.geometric_mean(combinations) if combinations else 0
    print(f"{len(regrets)} modules of {choices:.0f} combinations in the mean, {skipped} of too many or without a price")
    print(f"the search takes {mean:.4f} of the best cut in the mean, {max(regrets, default=0):.4f} at most")
    if not 0 < mean <= MOST_REGRET or skipped > MOST_SKIPPED * o.count or choices < LEAST_COMBINATIONS:
        failed += 1
        print(f"at most {MOST_REGRET} in the mean are expected, {MOST_SKIPPED:.0%} without, and {LEAST_COMBINATIONS} combinations")
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
