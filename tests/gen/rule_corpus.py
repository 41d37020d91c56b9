"""Wrong rules are refused, right ones are accepted: the bar that `./dev rule` and the build set, over a corpus of rules (rules/).

usage: rule_corpus.py [--sample N] [--verbose]        --sample: every N-th rule of values; those of structure are always run all

A wrong rule of rules/patterns/wrong.py, hostile.py and folds.py must fail its proof with a counterexample (one of EMPTY: since no value satisfies its
conditions), one of folds.py with the smallest module that shows it and what the evaluator makes of both sides, one of rules/structure.py must be
refused with a message that says why. A right one of rules/patterns/sm90.py, indexing.py and arrays.py must pass every check of a build (but for
completeness of selection, which a few rules never have) and have a proof that the ledger takes.
"""
from __future__ import annotations

import argparse
import importlib.util
import re
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import List, Sequence, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT)]
sys.dont_write_bytecode = True

from gen import checks, lang, ledger, load, machine, prices  # noqa: E402
from gen.lang import PatternError, Rule  # noqa: E402
from gen.proof import prove, report, rule, z3_formula  # noqa: E402
from small import faults  # noqa: E402

RULES = ROOT / "tests" / "rules"
EVALUATED = re.compile(r"evaluated, (left|right): (output 0: .*)")
OF_Z3 = ("exhausted", "proved")  # without z3 most proofs are samples


def module(name: str) -> ModuleType:
    """A file of rules/, which is no package."""
    spec = importlib.util.spec_from_file_location(Path(name).stem, RULES / name)
    assert spec and spec.loader
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def some(rules: Sequence[Rule], every: int) -> List[Rule]:
    return [r for n, r in enumerate(rules) if n % every == 0]


def proved(rules: Sequence[Rule]) -> List[Tuple[Rule, str, str]]:
    """(rule, state, message)"""
    tiles = [r for r in rules if r.kind != "rewrite"]
    states, messages = rule.text_proofs(tiles)
    said = {m.split(": error")[0]: m for m in messages}
    proofs = prove.prove([r for r in rules if r.kind == "rewrite"], ledger.errors_of([]))
    return [(r, states.get(r.name, ""), said.get(r.name, "")) for r in tiles] + [(p.rule, p.state, "".join(report.report([p]))) for p in proofs]


# --- what must be refused ------------------------------------------------------------------------------------------------------------
def wrong_values(every: int, verbose: bool) -> Tuple[int, List[str]]:
    files = [module(f"patterns/{name}.py") for name in ("wrong", "hostile", "folds")]
    rules = load.flat([[*made.VALUES, *made.TEXTS, *getattr(made, "EMPTY", [])] for made in files], "")
    load.identify(rules)
    rules, bad = some(rules, every), []
    for r in rules:
        checks.check_types(r)
    run = ROOT / "build" / "warpburg-run"
    report.evaluator = run if run.exists() else None
    for r, state, message in proved(rules):
        if r.where[0].endswith("folds.py") and z3_formula.present():
            said = dict(EVALUATED.findall(message))
            if "the smallest module:" not in message or (run.exists() and (len(said) != 2 or said["left"] == said["right"])):
                bad.append(f"wrong, and no module shows it: {r.name}: {r.text}: {message}")
        if "no value satisfies" in message if r in files[1].EMPTY else "\n" in message and "=" in message:
            if verbose:
                print(message)
        elif z3_formula.present():
            bad.append(f"wrong, and accepted as {state or 'a text without a proof'}: {r.name}: {r.text}")
    return len(rules), bad


def wrong_structure(verbose: bool) -> Tuple[int, List[str]]:
    made = module("structure.py")
    cases, lacking, bad = made.WRONG, made.ABSENT, []
    for text, index, wanted in cases:
        found = faults(text, index or "ALL = []\n")
        if verbose:
            print("\n".join(found))
        if not any(wanted in f and f.startswith("patterns/") for f in found):
            bad.append(f"wrong, and {found or 'accepted'} instead of '{wanted}': {text or index}")
    table = prices.load_table(prices.load_sass())
    for name, have, absent in (("F8", "sm75", "cvt.rn.f16x2.e4m3x2"), ("F8", "sm80", "cvt.rn.satfinite.e4m3x2.f32"), ("APPROXIMATE", "", "")):
        if not have:
            continue
        s = load.load_target(have)
        s.phases["isel"] = [*s.phases["isel"], *load.flat(getattr(load.run("machine"), name), name)]
        if absent not in " ".join(machine.faults(s, table)):
            bad.append(f"wrong, and accepted: {name} on {have}")
    for text, have, absent in lacking:
        s = load.load_target(have)
        s.phases["isel"] = [*s.phases["isel"], eval(text, vars(lang))]
        if absent not in " ".join(machine.faults(s, table)):
            bad.append(f"wrong, and accepted: {text} on {have}")
    return len(cases) + 2 + len(lacking), bad


# --- what must be accepted -----------------------------------------------------------------------------------------------------------
def right(every: int, verbose: bool) -> Tuple[int, List[str]]:
    load.use(RULES)
    try:
        sets = [load.load_index(), load.load_target("sm90")]
        bad = [f"right, and refused: {f}" for f in checks.check(sets[0], sets[1:]) if "selection is incomplete" not in f]
    except PatternError as e:
        return 1, [str(e)]
    finally:
        load.use(ROOT)
    rules = some([r for s in sets for r in s.rules], every)
    for r, state, message in proved(rules):
        if verbose:
            print(f"{r.name}: {state or message}")
        why = ledger.weak(r, state if r.kind == "rewrite" else f"simulated(1) {state}") if z3_formula.present() else ""
        if message or why:
            bad.append(f"right, and refused: {r.name}: {r.text}: {message or f'{state}: {why}'}")
    return len(rules), bad


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sample", type=int, default=1)
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    since, failed, total = time.monotonic(), 0, 0
    for what, (n, bad) in (("wrong by structure", wrong_structure(args.verbose)), ("wrong at some values", wrong_values(args.sample, args.verbose)),
                           ("right", right(args.sample, args.verbose))):
        print(f"{n} rules {what}: {n - len(bad)} as they should be")
        print("\n".join(bad), end="\n" if bad else "")
        total, failed = total + n, failed + len(bad)
    print(f"{time.monotonic() - since:.1f} s" + ("" if z3_formula.present() else "; z3 is not installed: proofs were samples"))
    print(f"{total - failed} passed, {failed} failed")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
