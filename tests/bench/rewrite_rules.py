"""The cost of many rules: size of tables, time of gen/ and time a node with 300, 500 and 3,000 synthetic rules.

usage: rewrite_rules.py [FOLDER]      FOLDER: where the engines are built and kept, by default a new temporary folder

Bounds: 500 rules take less than 100 kB and 2 s, 3,000 less than 350 kB and 20 s, and the time a node with 3,000 is at most 1.5 times that
with 300; exit 1 otherwise. Needs a C compiler; the engine is built with optimisation and without assertions.
"""
from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import List, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "bench")]

import synthetic_rules  # noqa: E402
from gen import checks, gen_tables, load, ops, prices  # noqa: E402

SIZES = {300: (100_000, 2.0), 500: (100_000, 2.0), 3000: (350_000, 20.0)}  # rules: bytes, seconds
NODES = 60_000
ROUNDS = 5
FLAGS = ["-std=c11", "-O2", "-DNDEBUG", "-D_POSIX_C_SOURCE=200809L", "-ffp-contract=off", '-DWBB_VERSION="bench"', "-w"]


def pattern_files(folder: Path, lines: List[str]) -> None:
    """Writes the pattern files of one target, with these rules as SIMPLIFY."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "patterns", folder, ignore=shutil.ignore_patterns("__pycache__"))
    for other in load.targets()[:-1]:
        (folder / f"{other}.py").unlink(missing_ok=True)
    text = "from gen.lang import *\nALL = [\n" + "\n".join(lines) + "\n]\n"
    (folder / "synthetic.py").write_text(text)
    own = folder / f"{load.targets()[-1]}.py"
    own.write_text(own.read_text() + "\nfrom patterns import synthetic\nSIMPLIFY = synthetic.ALL\n")


def make(folder: Path, n: int) -> Tuple[load.RuleSet, int, float]:
    """Writes tables of n rules; rules that gen/ refuses, as those that an earlier rule hides, are left out and replaced."""
    lines = synthetic_rules.rules(n + n // 4)
    target = load.targets()[-1]
    while True:
        pattern_files(folder / "patterns", lines)
        load.use(folder)
        try:
            start = time.process_time()
            sets = [load.load_index(), load.load_target(target)]
            sets[1].phases.update(lower=[], isel=[])
            faults = [f for f in checks.check(sets[0], sets[1:]) if "selection is incomplete" not in f]
            bad = {int(f.split(":")[1]) - 3 for f in faults if f.startswith("patterns/synthetic.py:")}
            if not bad and not faults and len(lines) <= n:
                compiled = {s.name: gen_tables.compile_set(s) for s in sets}
                write(folder, sets, compiled)
                tables = compiled[target][0]
                return sets[1], 4 * len(tables.code) + 8 * len(tables.imm) + 16 * len(ops.OPS), time.process_time() - start
        finally:
            load.use(ROOT)
        if faults and not bad:
            raise SystemExit("\n".join(faults))
        lines = [line for i, line in enumerate(lines) if i not in bad] if bad else thinned(lines, n)


def thinned(lines: List[str], n: int) -> List[str]:
    """n of the lines, evenly spaced, so that every depth keeps its share."""
    return [lines[i * len(lines) // n] for i in range(n)] if len(lines) > n else lines


def write(folder: Path, sets: List[load.RuleSet], compiled: dict) -> None:
    for s in sets:
        engine = gen_tables.engine_values(s, compiled[s.name], lambda r: [])
        machine = gen_tables.target_values(s, [], prices.Priced([], [], [], [])) if s.values else {}
        (folder / f"tables_{s.name}.c").write_text(gen_tables.c_file(s, engine, "synthetic", [s.name], machine))
    (folder / "tg_targets.h").write_text("#define TG_TARGETS(X) " + " ".join(f"X({s.name})" for s in sets[1:]) + "\n")
    (folder / "code.def").write_text(gen_tables.code_def())


def build(folder: Path, common: Path) -> Path:
    """Compiles rewrite_nodes with the tables of a folder."""
    sources = [ROOT / "tests/bench/rewrite_nodes.c", ROOT / "src/target/target.c", *sorted(folder.glob("tables_*.c"))]
    for module in ("base", "scalar", "ir", "rewrite"):
        sources += sorted((ROOT / "src" / module).glob("*.c"))
    sources += [common / "sc_tables.c", common / "sc_functions.c"]
    out = folder / "rewrite_nodes"
    subprocess.run([*shlex.split(os.environ.get("CC", "cc")), *FLAGS, f"-I{ROOT / 'src'}", f"-I{common}", f"-I{folder}", *map(str, sources),
                    "-o", str(out), "-lm"], check=True)
    return out


def nanoseconds(program: Path) -> float:
    text = subprocess.run([str(program), "random", str(NODES), load.targets()[-1].replace("sm", "sm_")], check=True, capture_output=True, text=True).stdout
    print("  " + text.strip())
    return float(text.split(" ns a node")[0].split()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description="the cost of many rules")
    parser.add_argument("folder", type=Path, nargs="?")
    folder = (parser.parse_args().folder or Path(tempfile.mkdtemp())).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    common = folder / "scalar"
    subprocess.run([sys.executable, str(ROOT / "gen/gen_scalar.py"), str(common)], check=True, stdout=subprocess.DEVNULL)
    programs, failed = {}, 0
    for n, (most_bytes, most_seconds) in SIZES.items():
        own = folder / str(n)
        own.mkdir(exist_ok=True)
        rules, size, seconds = make(own, n)
        good = size < most_bytes and seconds < most_seconds
        failed += not good
        print(f"{len(rules.rules)} synthetic rules: {size} bytes of tables, gen {seconds:.2f} s{'' if good else ': too much'}")
        programs[n] = build(own, common)
    times = {300: float("inf"), 3000: float("inf")}
    for _ in range(ROUNDS):  # alternating, and the best of each, since other processes disturb
        for n in times:
            times[n] = min(times[n], nanoseconds(programs[n]))
    ratio = times[3000] / times[300]
    print(f"time a node, 3,000 rules against 300: {ratio:.2f} times (1.5 at most)")
    return 1 if failed or ratio > 1.5 else 0


if __name__ == "__main__":
    sys.exit(main())
