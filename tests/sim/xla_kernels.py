"""XLA's own kernels for the shared corpus give the golden outputs in the simulator.

Needs numpy and, of the shared data, anchors (PTX and launches), corpus (HLO) and golden (seeds of inputs, outputs, tolerances). Each kernel runs
on the inputs of each case with golden outputs, by `run FILE.hlo --ptx FILE.ptx`, with 256 bytes of padding behind every buffer, as the README
of the anchors asks. Kernels without golden outputs run on case n and must end. Differences with a known cause are listed in
xla_kernels_known.tsv, each with whose fault it is; a listed kernel that no longer differs is a failure, so the list stays true. Outputs of a kernel
that is listed as `inside` must lie inside the evaluator's bounds in every case.

Kernels differ in work by six orders of magnitude: --most leaves out those of many threads, and of large ones without golden outputs a sample of
blocks is run.

    xla_kernels.py build/warpburg-run [--every 10] [--most 65536] [--only softmax] [--part programs]
"""
import argparse
import csv
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Dict, List, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
from golden import CASES, MISSING, PARTS, Golden  # noqa: E402
from warpburg_cli import TOO_LARGE, Cli  # noqa: E402

KNOWN = Path(__file__).with_name("xla_kernels_known.tsv")
PADDING = 256
SAMPLE = 64         # blocks that are run of a kernel without golden outputs and with more than THREADS threads
THREADS = 1 << 15


def known() -> Dict[Tuple[str, str], Dict[str, str]]:
    """(part, file) -> its row: whose fault, whether the outputs are inside the bounds, why."""
    with open(KNOWN, encoding="utf-8", newline="") as lines:
        return {(r["part"], r["file"]): r for r in csv.DictReader(lines, delimiter="\t")}


def launches(table: Path) -> List[Dict[str, str]]:
    with open(table, encoding="utf-8", newline="") as lines:
        return [r for r in csv.DictReader(lines, delimiter="\t") if r["status"] in ("ok", "wrong")]


def threads(row: Dict[str, str]) -> int:
    n = 1
    for word in (row["grid"] + "," + row["block"]).split(","):
        n *= int(word)
    return n


def command(shared: Path, part: str, row: Dict[str, str]) -> List[str]:
    file = row["file"]
    ptx = shared / "anchors" / "ptx" / part / (file[:-len(".hlo")].replace("/", "__") + ".ptx")
    return ["run", str(shared / "corpus" / part / file), "--ptx", str(ptx), "--grid", row["grid"], "--block", row["block"],
            "--shared", row["shared"] or "0", "--padding", str(PADDING)]


def seeds(stored: Golden, file: str) -> List[Tuple[str, int]]:
    return [(case, seed) for case in CASES for seed in [stored.seed(file, case)] if seed is not None]


def outside(cli: Cli, shared: Path, part: str, stored: Golden, row: Dict[str, str]) -> str:
    """Why the outputs are not inside the bounds; empty if they are."""
    for case, seed in seeds(stored, row["file"]):
        p = cli.call(*command(shared, part, row), "--check", "--case", case, "--seed", str(seed))
        if p.returncode:
            return f"case {case}: {last(p)}"
    return ""


def run(cli: Cli, shared: Path, part: str, stored: Golden, row: Dict[str, str]) -> Tuple[str, str]:
    """The outcome of a kernel over all its cases: ("agrees" | "runs" | "differs" | "failed" | "declined" | "too large", why)."""
    file = row["file"]
    words = [*command(shared, part, row), "--json"]
    cases = seeds(stored, file)
    if not cases:
        p = cli.call(*words, "--case", "n", *(["--blocks", str(SAMPLE)] if threads(row) > THREADS else []))
        word = "runs" if p.returncode == 0 else "declined" if p.returncode == 3 else "too large" if TOO_LARGE in p.stderr else "failed"
        return word, "" if p.returncode == 0 else last(p)
    for case, seed in cases:
        with tempfile.TemporaryDirectory() as folder:
            p = cli.call(*words, "--case", case, "--seed", str(seed), "-o", folder)
            if p.returncode:
                return "declined" if p.returncode == 3 else "failed", f"case {case}: {last(p)}"
            why = stored.differs(file, case, Path(folder))
            if why:
                return "differs", f"case {case}: {why}"
    return "agrees", ""


def last(p) -> str:
    lines = [line for line in (p.stderr or p.stdout).strip().splitlines() if line]
    return f"exit {p.returncode}: {lines[-1][-300:] if lines else 'no message'}"


def main() -> int:
    p = argparse.ArgumentParser(description="XLA's kernels in the simulator")
    p.add_argument("warpburg")
    p.add_argument("--shared", type=Path, default=Path(__file__).resolve().parents[3] / "shared")
    p.add_argument("--every", type=int, default=1, help="every Nth kernel")
    p.add_argument("--most", type=int, default=0, help="leave out kernels with more threads; 0: none")
    p.add_argument("--least", type=int, default=0, help="leave out kernels with fewer threads")
    p.add_argument("--only", default="", help="only files whose path contains this")
    p.add_argument("--part", default="", help="one of " + ", ".join(PARTS))
    p.add_argument("-j", type=int, default=2, dest="jobs")
    o = p.parse_args()
    if MISSING or not (o.shared / "anchors").is_dir() or not (o.shared / "golden").is_dir():
        print(f"skipped: XLA's kernels: {MISSING or o.shared / 'anchors'} {'' if MISSING else 'is not there'}")
        print("0 passed, 0 failed")
        return 0
    cli, rows_known = Cli(o.warpburg, o.jobs), known()
    counts: Counter = Counter()
    passed = failed = 0
    for part in [o.part] if o.part else PARTS:
        stored = Golden(o.shared / "golden", part)
        rows = [r for r in launches(o.shared / "anchors" / f"{part}.tsv") if o.only in r["file"] and o.least <= threads(r) <= (o.most or 1 << 62)][::o.every]
        for row, (word, why) in zip(rows, cli.each(lambda r: run(cli, o.shared, part, stored, r), rows)):
            listed = rows_known.get((part, row["file"]))
            good = word in ("agrees", "runs")
            why_outside = outside(cli, o.shared, part, stored, row) if listed and listed["bounds"] == "inside" else ""
            counts[word + (", known" if listed else "")] += 1
            if word == "too large":
                print(f"skipped: {part}/{row['file']}: {why}", flush=True)
                continue
            if good == bool(listed) or why_outside:
                print(f"{word}{', but listed in ' + KNOWN.name if listed else ''}: {part}/{row['file']}: {why_outside or why}", flush=True)
                failed += 1
            else:
                passed += 1
                if listed:
                    print(f"known: {part}/{row['file']}: {listed['fault']}, {listed['bounds']} the bounds: {listed['why']}", flush=True)
    print(", ".join(f"{n} {word}" for word, n in sorted(counts.items())))
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
