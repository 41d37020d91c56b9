"""Instruction rules that use all that a rule can say (rules/patterns/tiles.py): right ones are accepted and run, wrong ones are refused.

usage: tile_rules.py BUILD [--target sm80] [--verbose]        BUILD: a build folder, whose compiler and ninja are used

The rules are put first into INSTR of a copy of patterns/, one list at a time; gen/ compiles the copy, the compiler is linked with its table, and each
rule goes the way of `./dev rule`: its text is proved as a term where it is one, its kernels run in the simulator, and ptxas assembles them. A wrong
rule must fail one of these.
"""
from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, Tuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
sys.dont_write_bytecode = True

from gen import ledger, load  # noqa: E402
from gen.lang import Rule  # noqa: E402
from gen.proof import rule, simulate, tile_kernels  # noqa: E402
from instruction_mutants import link  # noqa: E402


def texts(names: str) -> List[str]:
    """The rules of a list of tiles.py, each as the lines of its text."""
    lines = (ROOT / "tests" / "rules" / "patterns" / "tiles.py").read_text().splitlines()
    at = lines.index(f"{names} = [") + 1
    out: List[str] = []
    for line in lines[at:lines.index("]", at)]:
        out = [*out[:-1], out[-1] + "\n" + line] if line.startswith("     ") else [*out, line]
    return out


def built(build: Path, target: str, rules: List[str], folder: Path) -> Path:
    """The compiler with these rules first in the target's INSTR."""
    shutil.copytree(ROOT / "patterns", folder / "patterns", ignore=shutil.ignore_patterns("__pycache__"))
    head = (ROOT / "tests" / "rules" / "patterns" / "tiles.py").read_text().split("RIGHT = [")[0].split("import *\n", 1)[1]
    file = folder / "patterns" / f"{target}.py"
    file.write_text(file.read_text() + "\n" + head + "FIRST = [\n" + "\n".join(rules) + "\n]\nINSTR = [FIRST, INSTR]\n")
    made = subprocess.run([sys.executable, str(ROOT / "gen" / "gen_tables.py"), str(folder / "gen"), str(folder)], capture_output=True, text=True,
                          env={**os.environ, ledger.UNSIMULATED: "1"})
    if made.returncode:
        raise SystemExit("the rules do not compile: " + made.stderr)
    link(build, folder / "gen" / f"tables_{target}.c", folder / "warpburg")
    return folder / "warpburg"


def judged(program: Path, target: str, n: int) -> List[Tuple[Rule, List[str]]]:
    """The rules of the list, each with what speaks against it."""
    s = load.load_target(target)
    first = s.phases["isel"][:n]
    _, messages = rule.text_proofs(first)
    against: Dict[str, List[str]] = {r.name: [m for m in messages if m.startswith(f"{r.name}: ")] for r in first}
    made, faults = tile_kernels.kernels_on(target, "")
    kernels = [k for k in made if k.rule in against]
    results, notes = simulate.simulate(str(program), target.replace("sm", "sm_"), kernels)
    for k, r in results.items():
        against[k.rule] += r.faults
    for name, f in faults.items():
        against.get(name, []).append(f)
    return [(r, against[r.name] + [x for x in notes if len(first) == 1]) for r in first] + [(r, [x]) for r in first[:1] for x in notes if len(first) > 1]


def main() -> int:
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("--target", default="sm80", help="one that shares its tables with no other")
    p.add_argument("--verbose", action="store_true")
    o = p.parse_args()
    passed, bad = 0, []
    # every right rule at once: kernels are for one rule each, so a rule that takes the kernel of another is noticed. Wrong ones that share a left side
    # take turns
    rounds: List[Tuple[str, List[str]]] = [("RIGHT", texts("RIGHT"))]
    left = texts("WRONG")
    while left:
        seen: Dict[str, str] = {}
        for x in left:
            seen.setdefault(x.split("'")[0].split("(")[1] + x.split("(")[2][:6], x)
        rounds.append(("WRONG", list(seen.values())))
        left = [x for x in left if x not in seen.values()]
    for names, rules in rounds:
        with tempfile.TemporaryDirectory(prefix="warpburg-") as tmp:
            try:
                program = built((ROOT / o.build).resolve(), o.target, rules, Path(tmp))
                load.use(Path(tmp))
                found = judged(program, o.target, len(rules))
            finally:
                load.use(ROOT)
        for r, why in found:
            if o.verbose:
                print(f"{names} {r.text}\n    " + "\n    ".join(why))
            if bool(why) == (names == "WRONG"):
                passed += 1
            else:
                bad.append(f"{r.text}: " + ("accepted, though wrong" if names == "WRONG" else "refused: " + "; ".join(why)))
    print("\n".join(bad) + ("\n" if bad else "") + f"{passed} passed, {len(bad)} failed")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
