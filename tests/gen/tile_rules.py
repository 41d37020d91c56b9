"""Instruction rules that use all that a rule can say (rules/patterns/tiles.py): right ones are accepted and run, wrong ones are refused.

usage: tile_rules.py BUILD [--target sm80] [--verbose]        BUILD: a build folder, whose compiler and ninja are used

The rules are put first into INSTR of a copy of patterns/, one list at a time; gen/ compiles the copy, the compiler is linked with its table, and each
rule goes the way of `./dev rule`: its text is proved as a term where it is one, its kernels run in the simulator, and ptxas assembles them. A wrong
rule must fail one of these. A kernel of two right ones is right by both back ends.
"""
from __future__ import annotations

import argparse
import runpy
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "common")]
sys.dont_write_bytecode = True

import other_rules  # noqa: E402
from gen import load  # noqa: E402
from gen.lang import Rule  # noqa: E402
from gen.proof import rule, simulate, tile_kernels  # noqa: E402


def texts(names: str) -> List[str]:
    """The rules of a list of tiles.py, each as the lines of its text."""
    lines = (ROOT / "tests" / "rules" / "patterns" / "tiles.py").read_text().splitlines()
    at = lines.index(f"{names} = [") + 1
    out: List[str] = []
    for line in lines[at:lines.index("]", at)]:
        out = [*out[:-1], out[-1] + "\n" + line] if line.startswith("     ") else [*out, line]
    return out


def built(build: Path, target: str, rules: List[str], folder: Path) -> Path:
    """The compiler with these rules first in the target's INSTR, without those of the tree that they leave nothing for."""
    other_rules.copied(folder)
    head = (ROOT / "tests" / "rules" / "patterns" / "tiles.py").read_text().split("RIGHT = [")[0].split("import *\n", 1)[1]
    file = folder / "patterns" / f"{target}.py"
    own = file.read_text() + "\n" + head + "FIRST = [\n" + "\n".join(rules) + "\n]\n"
    first = range(own.split("FIRST = [")[0].count("\n") + 1, own.count("\n") + 1)
    file.write_text(own + "INSTR = [FIRST, INSTR]\n")
    gone = sorted(x for x in other_rules.unreached(folder, target) if x[0] != f"patterns/{target}.py" or x[1] not in first)
    file.write_text(own + f"from gen.load import flat\nINSTR = [FIRST, [r for r in flat(INSTR, 'INSTR') if r.where not in {gone}]]\n")
    return other_rules.compiled(build, folder, target)


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


def together(program: Path, target: str, folder: Path) -> List[str]:
    """What is wrong with the kernel TOGETHER, by both back ends."""
    file, out = folder / "together.ir", []
    file.write_text(runpy.run_path(str(ROOT / "tests" / "rules" / "patterns" / "tiles.py"))["TOGETHER"])
    for backend in ("llvm", "ptx"):
        answer, = simulate.check(str(program), target.replace("sm", "sm_"), folder, [file], "", backend)
        if answer["status"] != "ok" or len(answer["rules"]) != 2:
            out.append(f"{backend}: {answer}")
    return out


def main() -> int:
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("--target", default="sm80")
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
                bad += together(program, o.target, Path(tmp)) if names == "RIGHT" else []
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
