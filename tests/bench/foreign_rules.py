"""Which identities of other rule systems (rules/patterns/sm90.py: XLA's and LLVM's InstCombine, Mesa's nir_opt_algebraic) fire on a corpus and are missing
in patterns/, and what they change there.

usage: foreign_rules.py BUILD FILE.hlo|FOLDER.. [--target sm80]

Each is put after the target's own SIMPLIFY in a copy of patterns/, but for those that the tree has already (nothing reaches them); the compiler is linked
with that table. `rules cover` counts where they fire, `rules ablate` what the IR and the PTX lose without each. Prints a line for each that fires.
"""
from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict, List

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "common")]
sys.dont_write_bytecode = True

import other_rules  # noqa: E402
from gen import ledger, load  # noqa: E402
from gen.lang import Rule  # noqa: E402
from gen.proof import rule  # noqa: E402


def put(folder: Path, target: str, without: List[int]) -> None:
    """The copy of patterns/ with the rules, but for those of these lines."""
    other_rules.copied(folder)
    shutil.copy(ROOT / "tests" / "rules" / "patterns" / "sm90.py", folder / "patterns" / "foreign.py")
    file = folder / "patterns" / f"{target}.py"
    file.write_text(file.read_text() + f"\nfrom patterns import foreign\nSIMPLIFY = [SIMPLIFY, [r for r in foreign.SIMPLIFY if r.where[1] not in {without}]]\n")


def missing(folder: Path, target: str) -> List[Rule]:
    """Puts the rules; those that a rule of the tree leaves nothing for, or that the phase refuses, are taken out again. Proves the others."""
    without: List[int] = []
    while True:
        put(folder, target, without)
        bad = sorted({n for (file, n), _ in other_rules.refused(folder, target) if file == "patterns/foreign.py"})
        if not bad:
            break
        without += bad
    own = [r for r in load.load_target(target).phases["simplify"] if r.where[0] == "patterns/foreign.py"]
    every = [load.load_index(), *(load.load_target(t) for t in load.targets())]
    errors = ledger.errors_of(every[1:])
    done, messages, _ = rule.states_of(own, errors, True)
    ledger.write(ledger.kept([r for s in every for r in s.rules], done, errors))
    bad = [r.where[1] for r in own if ledger.key(r, errors) not in done or ledger.weak(r, done[ledger.key(r, errors)][0])]
    for m in messages:
        print(f"left out: {m.splitlines()[0]}")
    kept = ledger.path().read_text()
    put(folder, target, without + bad)
    ledger.path().write_text(kept)
    return [r for r in own if r.where[1] not in bad]


def told(program: Path, *words: str) -> List[Dict[str, Any]]:
    said = subprocess.run([str(program), "rules", *words, "--json"], capture_output=True, text=True, check=False).stdout
    return [json.loads(line) for line in said.splitlines()]


def main() -> int:
    p = argparse.ArgumentParser(description="identities of other rule systems over a corpus")
    p.add_argument("build")
    p.add_argument("corpus", nargs="+")
    p.add_argument("--target", default="sm80")
    o = p.parse_args()
    sm = o.target.replace("sm", "sm_")
    with tempfile.TemporaryDirectory(prefix="warpburg-") as tmp:
        folder = Path(tmp)
        own = missing(folder, o.target)
        program = other_rules.compiled(Path(o.build).resolve(), folder, o.target)
        text = {r.name: r.text for r in own}
        fired = [x for x in told(program, "cover", *o.corpus, "--target", sm) if x.get("rule") in text and x.get("hits")]
        print(f"{len(own)} rules that the tree does not have; {len(fired)} fire")
        for x in sorted(fired, key=lambda x: -int(x["hits"])):
            worth = next(iter(told(program, "ablate", *o.corpus, "--target", sm, "--rule", str(x["rule"]))), {})
            print(f"{x['hits']:5} times in {x['files']:4} files; without it IR nodes {worth.get('nodes', 0):+}, PTX instructions {worth.get('ptx', 0):+}: "
                  f"{text[str(x['rule'])]}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
