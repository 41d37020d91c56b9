#!/usr/bin/env python3
"""Wavefronts of tiles of shared memory, as the price of their layouts has them and as the simulator counts them.

    tile_wavefronts.py WARPBURG [FOLDER|FILE.hlo ..] [--target SM] [--every N] [--blocks N] [--list]

Of each fusion that is one exchange (default: those of our corpus and of the text tests) a sample of blocks runs. Where all tiles are whole, both must agree;
at the edge of an array threads get an element again. --list prints for each the price's and the simulator's wavefronts of a warp, put and got, what they
are of those that the bytes fill, and the sectors touched over those that the bytes fill; then the names of those above. Ends with `N passed, M failed`.
"""
import argparse
import json
import math
import os
import re
import sys
from pathlib import Path
from typing import NamedTuple, Optional

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = [str(ROOT / name) for name in ("shaderdb/corpus", "tests/lit/emit", "tests/lit/plan")]
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
from warpburg_cli import Cli  # noqa: E402

LINE = re.compile(r"wavefronts of a warp: put ([\d.]+), its bytes fill ([\d.]+); get ([\d.]+), ([\d.]+)")
MOVES = re.compile(r" (?:transpose|copy|bitcast|reshape|broadcast|concatenate)\(")


class Row(NamedTuple):
    file: str
    put: float
    get: float
    ran_put: float
    ran_get: float
    least: float            # of both sides
    sectors: float          # touched over needed
    whole: bool             # is every tile?

    @property
    def differs(self) -> bool:
        return any(abs(x - y) > 0.02 * max(x, y) for x, y in ((self.put, self.ran_put), (self.get, self.ran_get)))

    @property
    def above(self) -> float:
        return (self.ran_put + self.ran_get) / self.least


def are_whole(plan: str) -> bool:
    """Do the layouts of both stages have each position once?"""
    space = dict(re.findall(r"\b(d\d+) (\d+)", re.search(r"(?m)^  space (.*)$", plan)[1]))
    for layout in re.findall(r"(?m)^  (?:put|get) (.*)$", plan):
        for name, factors in re.findall(r"(d[\d_]+): ([^;]*)", layout):
            if math.prod(int(space[f"d{d}"]) for d in name[1:].split("_")) != math.prod(map(int, re.findall(r"[a-z]+ (\d+)", factors))):
                return False
    return True


def row_of(cli: Cli, file: str, target: str, blocks: int) -> Optional[Row]:
    plan = cli.call("compile", file, "--target", target, "--emit", "plan").stdout
    m = LINE.search(plan)
    if not m or len(re.findall(r"(?m)^  grid \d+:", plan)) != 1:
        return None
    p = cli.call("run", file, "--target", target, "--counts", "--json", "--blocks", str(blocks), "-j", "1")
    if p.returncode:
        print(f"{file}: {(p.stdout + p.stderr).strip()[-200:]}")
        return None
    counts = json.loads(p.stdout)["counts"]
    warps, shared, memory = counts["warps"], counts["memory"]["shared"], counts["memory"]["global"]
    touched, needed = (sum(memory[k][what] for k in ("load", "store")) for what in ("sectors", "bytes"))
    return Row(file, float(m[1]), float(m[3]), shared["store"]["wavefronts"] / warps, shared["load"]["wavefronts"] / warps, float(m[2]) + float(m[4]),
               32 * touched / max(needed, 1), are_whole(plan))


def main() -> int:
    p = argparse.ArgumentParser(description="wavefronts of tiles: price and simulator")
    p.add_argument("warpburg")
    p.add_argument("paths", nargs="*", default=FOLDERS)
    p.add_argument("--target", default="sm_90")
    p.add_argument("--every", type=int, default=1)
    p.add_argument("--blocks", type=int, default=4)
    p.add_argument("--list", action="store_true")
    o = p.parse_args()
    cli = Cli(os.path.abspath(o.warpburg), timeout=120)
    files = [str(f) for path in map(Path, o.paths) for f in (sorted(path.rglob("*.hlo")) if path.is_dir() else [path])
             if MOVES.search(f.read_text(encoding="utf-8"))][::o.every]
    rows = [r for r in cli.each(lambda f: row_of(cli, f, o.target, o.blocks), files) if r]
    for r in rows if o.list else []:
        print(f"{r.put:8.2f} {r.ran_put:8.2f} put {r.get:8.2f} {r.ran_get:8.2f} got  {r.above:6.2f} of bytes  sectors {r.sectors:5.2f}"
              f"{' whole' if r.whole else '      '}  {r.file}")
    whole = [r for r in rows if r.whole]
    for r in whole:
        if r.differs:
            print(f"failed: {r.file}: of a warp {r.put} put and {r.get} got by the price, {r.ran_put} and {r.ran_get} in the simulator")
    if o.list:
        for name, some in (("more wavefronts than the bytes fill", [r for r in rows if r.above > 1.02]),
                           ("more sectors", [r for r in whole if r.sectors > 1.05])):
            print(f"{name}: {len(some)} of {len(rows)}: {' '.join(Path(r.file).name for r in some)}")
    failed = sum(r.differs for r in whole)
    print(f"{len(whole) - failed} passed, {failed} failed")
    return int(failed > 0 or not whole)


if __name__ == "__main__":
    sys.exit(main())
