"""The command `./dev rule`: proves rules and writes their ledger lines; with --price it also runs their tests, and shows what they do to the
corpus. Instructions (asm, intr, ..) are run in the simulator of a build's program, which takes the tables from a file: rules need no build.

    ./dev rule patterns/arith.py:31       one line of a pattern file
    ./dev rule patterns/arith.py          every rule of the file
    ./dev rule patterns/arith.py:DIVIDE   a list of the file; several places may be given
    ./dev rule patterns/arith.py:31 --price
    ./dev rule patterns/sm90.py           the same, and every instruction that the target takes is run, and assembled for it by ptxas
    ./dev rule --all                      every rule; removes ledger lines that belong to no rule
    ./dev rule --check                    proves every rule and compares with the ledger; writes nothing (./dev test runs this with --every)
"""
from __future__ import annotations

import argparse
import gc
import hashlib
import json
import os
import re
import sys
import threading
import time
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Callable, Dict, List, Optional, Sequence, Set, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from gen import asm_rule, checks, gen_tables, imports, ledger, load, measured, permits  # noqa: E402
from gen.proof import after_proof, driver, measure, prove, report, tables, z3_formula  # noqa: E402
from gen.lang import Expr, Node, PatternError, Rule  # noqa: E402
from gen.proof.code import Errors  # noqa: E402

Compiler = Callable[[], Tuple[Optional[Path], List[str]]]  # a folder with the compiler of the rules, made once; None and messages: there is none
REFERENCES = ("complex_reference.h", "driver.c", "float_reference.h")  # what proofs decide with, beside Python


def proved_rules(sets: Sequence[load.RuleSet]) -> List[Rule]:
    """The rewrites of all phases, each once."""
    return list({id(r): r for s in sets for name in load.REWRITES for r in s.phases.get(name, [])}.values())


def chosen(rules: Sequence[Rule], what: str) -> List[Rule]:
    """The rules of FILE, FILE:LINE or FILE:LIST. A line in the middle of a rule selects that rule, one of a function the rules whose right sides the
    function makes there."""
    file, _, line = what.partition(":")
    file = "patterns/" + Path(file).name
    own = [r for r in rules if r.where[0] == file]
    if not line:
        return own
    if not line.isdigit():
        listed = load.flat(getattr(load.run(Path(file).stem), line, []), line)
        return [r for r in rules if any(r is x for x in listed)]
    using = [r for r in rules if isinstance(r.right, Expr) and any(isinstance(e, Node) and e.step and e.step.file == file and int(line) in
                                                                   (e.step.line, e.step.head) for e in load.walk(r.right))]
    if using:
        return using
    lines = [r.where[1] for r in own if r.where[1] <= int(line)]
    return [r for r in own if lines and r.where[1] == max(lines)]


# --- proofs, cached by the contents of rule and prover -----------------------------------------------------------------------------------------------
@lru_cache(None)
def prover_version() -> str:
    """A hash of what decides proofs; the same on every machine."""
    digest = hashlib.sha256(driver.program().parent.name.encode())
    for file in sorted({*imports.imported(ROOT / "gen/proof/prove.py", set()), *(Path(__file__).with_name(name) for name in REFERENCES)}):
        digest.update(file.read_bytes())
    digest.update(b"z3" if z3_formula.present() else b"no z3")
    return digest.hexdigest()[:12]


def cached(rules: Sequence[Rule], errors: Errors, fresh: bool, whole: bool = False) -> Tuple[Dict[int, str], List[str], int]:
    """(state by id of each rule that is proved, messages, number proved now). A state that the same prover found for the same key is taken from the
    cache. whole: as in prove.prove."""
    store = driver.program().parent / f"states-{prover_version()}.json"
    known: Dict[str, str] = json.loads(store.read_text()) if store.exists() else {}
    keys = {id(r): ("whole " if whole else "") + ledger.key(r, errors) for r in rules}
    unknown = list({keys[id(r)]: r for r in rules if fresh or keys[id(r)] not in known}.values())
    proofs, refused = proved(unknown, errors, whole)
    for p in proofs:
        known.pop(keys[id(p.rule)], None)
        if not p.failed:
            known[keys[id(p.rule)]] = p.state
    if unknown:
        store.write_text(json.dumps(known, sort_keys=True, indent=0))
    return {id(r): known[keys[id(r)]] for r in rules if keys[id(r)] in known}, refused + report.report(proofs), len(unknown)


def proved(rules: Sequence[Rule], errors: Errors, whole: bool) -> Tuple[List[prove.Proof], List[str]]:
    """Proofs, and messages about rules that have no meaning to prove. One of these costs the others nothing."""
    try:
        return prove.prove(rules, errors, whole=whole), []
    except PatternError as e:
        if len(rules) == 1:
            return [], [str(e)]
    some = [proved([r], errors, whole) for r in rules]
    return [p for found, _ in some for p in found], [m for _, said in some for m in said]


def states_of(rules: Sequence[Rule], errors: Errors, fresh: bool) -> Tuple[Dict[str, Tuple[str, str]], List[str], int]:
    """(key -> (state, text), messages, number proved now)"""
    found, messages, new = cached(rules, errors, fresh)
    return {ledger.key(r, errors): (found[id(r)], line_of(r)) for r in rules if id(r) in found}, messages, new


def line_of(r: Rule) -> str:
    """What its line of the ledger says of a rule."""
    return r.text if r.kind != "rewrite" else load.text(r.left) + " -> " + r.text.split(" -> ", 1)[1]


def leaning(rules: Sequence[Rule], some: Sequence[Rule], errors: Errors) -> List[Rule]:
    """Rules that the ledger has, but not with the errors that `some` state of operations which they make."""
    lines = ledger.read() if any(r.err is not None for r in some) else {}
    texts = {text for _, text in lines.values()}
    return [r for r in rules if line_of(r) in texts and ledger.key(r, errors) not in lines and not any(r is x for x in some)]


def strength(state: str) -> Tuple[Set[str], int, str]:
    """What must not get weaker in a state: the types that were only tested, the number of simulated results, the budgets of errors."""
    tested = {t for found in re.findall(r"tested\(([^:]*):", state) for t in found.split(",")}
    simulated = re.search(r"simulated\((\d+)", state)
    return tested, int(simulated.group(1)) if simulated else 0, " ".join(re.findall(r"of [0-9.e+-]+ ulp", state))


def weaker(now: str, ledger_says: str) -> bool:
    tested, simulated, errors = strength(now)
    was_tested, was_simulated, was_errors = strength(ledger_says)
    was, is_now = ledger.errors_in(ledger_says), ledger.errors_in(now)
    grown = any(approx in was and ledger.exceeds(e, was[approx]) for approx, e in is_now.items())
    return not tested <= was_tested or simulated < was_simulated or errors != was_errors or grown


def compare(done: Dict[str, Tuple[str, str]], rules: Sequence[Rule], errors: Errors) -> List[str]:
    """Where the ledger claims more than the proofs just made. Without z3 a `proved` of the ledger is taken as it is."""
    lines, out = ledger.read(), []
    for r in rules:
        k = ledger.key(r, errors)
        where = f"{r.where[0]}:{r.where[1]}"
        if k not in lines:
            out.append(f"{where}: error: not proved: run ./dev rule {where}")
        elif k in done and weaker(done[k][0], lines[k][0]) and not ("proved" in lines[k][0] and not z3_formula.present()):
            out.append(f"{where}: error: the ledger says {lines[k][0]}, the proof {done[k][0]}: run ./dev rule {where}")
    return list(dict.fromkeys(out))


def too_weak(done: Dict[str, Tuple[str, str]], rules: Sequence[Rule], errors: Errors) -> List[str]:
    """Messages about rules whose proofs a build would not take; `done` loses their lines. Without z3 there are none: more is only tested."""
    out = []
    for r in rules if z3_formula.present() else ():
        state, _ = done.get(ledger.key(r, errors), ("", ""))
        if state and ledger.weak(r, state):
            out.append(f"{r.where[0]}:{r.where[1]}: error: only {state}: {ledger.weak(r, state)}: {r.text}")
            del done[ledger.key(r, errors)]
    return out


def instructions(sets: Sequence[load.RuleSet]) -> List[Rule]:
    """The instruction rules of all targets, each once."""
    return list({r.name: r for s in sets for r in s.phases.get("isel", [])}.values())


def text_proofs(rules: Sequence[Rule], fresh: bool = True) -> Tuple[Dict[str, str], List[str]]:
    """The proofs of asm texts that have terms, lane by lane: (state by name, messages). fresh: without the cache of proofs."""
    asked = [(r, replace(r, kind="rewrite", left=left, right=right, more=more, programs={})) for r in rules for left, right, more in asm_rule.meanings(r)]
    for r, made in asked:
        made.text = f"{made.left} -> {load.text(made.right)}, the meaning of '{r.right}'"
    states, messages, _ = cached([made for _, made in asked], {}, fresh, whole=True)
    out: Dict[str, List[str]] = {}
    for r, made in asked:
        out.setdefault(r.name, []).append(states.get(id(made), ""))
    return {name: " ".join(dict.fromkeys(some)) for name, some in out.items() if all(some)}, messages


def simulate(compiler: Compiler, rules: Sequence[Rule], errors: Errors, fresh: bool) -> Tuple[Dict[str, Tuple[str, str]], List[str]]:
    """Runs each of these instruction rules in the simulator of the folder's program: (key -> (state, text), messages)."""
    folder, said = compiler() if rules else (None, [])
    if folder is None:
        return {}, said
    found, failed = after_proof.simulated(folder, [r.name for r in rules], fresh=fresh)
    proofs, wrong = text_proofs(rules, fresh)
    found.update({r.name: f"{found[r.name]} {proofs[r.name]}" for r in rules if r.name in found and r.name in proofs})
    failed += wrong
    silent = [f"{r.where[0]}:{r.where[1]}: error: not simulated: {r.text}" for r in rules if r.name not in found and not any(r.name in m for m in failed)]
    return {ledger.key(r, errors): (found[r.name], r.text) for r in rules if r.name in found}, failed + silent


def number_at(sets: Sequence[load.RuleSet], what: str) -> str:
    """What to say of a line that states a number of TUNE; empty of others."""
    file, _, line = what.partition(":")
    at = f"{Path(file).name}:{line}"
    found = next((t.name for s in sets for t in s.tunes if (Path(t.where[0]).name, str(t.where[1])) == (Path(file).name, line)), "")
    return f"{found} is a number, which has no proof; warpburg rules why {at} FILE.hlo and rules ablate FOLDER --rule {at} say what it decides" if found else ""


def whole_targets(what: Sequence[str]) -> List[str]:
    """The targets whose files are asked for as a whole."""
    return [name for name in load.targets() if any(":" not in w and Path(w).stem == name for w in what)]


def run_target(compiler: Compiler, name: str) -> List[str]:
    """Runs every instruction that the target takes, and gives it to ptxas. Prints how many there are; returns messages about those that fail."""
    folder, said = compiler()
    if folder is None:
        return said
    states, failed = after_proof.simulated(folder, [], name)
    print(f"patterns/{name}.py: {len(states)} instruction rules run on the target and assembled for it")
    return failed + ([] if states else [f"patterns/{name}.py: error: no instruction was run"])


def measure_new(compiler: Compiler, sets: Sequence[load.RuleSet]) -> List[str]:
    """Measures lowerings of functions that patterns/measured.tsv lacks. Returns messages about those that exceed their budgets."""
    every, rows = measured.keyed(sets), measured.read()
    if not measured.path().exists() or all(k in rows for k, _ in every):
        return []
    folder, said = compiler()
    return measure.update(folder, every) if folder else said


def program(build: Path, sets: Sequence[load.RuleSet]) -> Tuple[Optional[Path], List[str]]:
    """A folder with the compiler of these rules; None and messages if there is none. Instructions need no ledger line yet."""
    if tables.stale(build):
        rc, text = tables.build(build, unsimulated=True)
        if rc:
            return None, [text.strip()]
    os.environ[ledger.UNSIMULATED] = "1"
    made, faults = gen_tables.made(sets[0], sets[1:], own=True, check=False)
    del os.environ[ledger.UNSIMULATED]
    return (None, faults) if made is None else (tables.made(build / "rules", build, made.bytes()), [])


def few(sets: Sequence[load.RuleSet], rules: Sequence[Rule]) -> List[str]:
    """The oldest and the newest target that has one of the rules: the corpus is compiled for these."""
    wanted = {r.name for r in rules}
    having = [str(s.values["name"]) for s in sets if s.values and any(r.name in wanted for r in s.rules)] or [str(s.values["name"]) for s in sets if s.values]
    return list(dict.fromkeys([having[0], having[-1]]))


class Effect:
    """What rules do to the corpus. What it was before is found out while the rules are proved."""

    def __init__(self, args: argparse.Namespace, rules: Sequence[Rule], sets: Sequence[load.RuleSet]) -> None:
        self.build, self.targets = (ROOT / args.build).resolve(), few(sets, rules)
        self.files = after_proof.corpus((ROOT / args.shared).resolve())
        self.found: List[after_proof.Before] = []
        self.asked = threading.Thread(target=lambda: self.found.append(self.ask()), daemon=True)  # of a refused rule nobody waits for it
        if not tables.stale(self.build):  # a build would take the program away
            self.asked.start()

    def ask(self) -> after_proof.Before: return after_proof.as_committed(self.build, self.files, self.targets)

    def before(self) -> after_proof.Before:
        if self.asked.is_alive():
            self.asked.join()
        return self.found[0] if self.found else self.ask()


def show_effect(args: argparse.Namespace, effect: Effect, compiler: Compiler, rules: Sequence[Rule]) -> List[str]:
    """Runs tests, and prints hits and costs over the corpus. Returns error messages."""
    targets, files = effect.targets, effect.files
    folder, faults = compiler()
    if folder is None:
        return faults
    said = after_proof.tests(folder, rules if args.what else [], targets)
    print(said, flush=True)
    now = after_proof.listed(folder / "warpburg", files, targets)
    if args.what:
        counts = after_proof.hits(now, rules)
        for r in rules:
            n, of = counts.get(r.name, (0, 0))
            print(f"{r.name}: " + (f"fires {n} times in {of} of {len(now)} kernels" if n else "never fires in the corpus"))
    print("\n".join(after_proof.delta(effect.build, folder, effect.before(), now, files, targets)), flush=True)
    return ["a test failed"] if "FAIL" in said else []


def difference(before: ledger.Lines, now: ledger.Lines) -> str:
    """What became of the ledger, in words."""
    new, gone = sum(before.get(k) != line for k, line in now.items()), sum(k not in now for k in before)
    said = [f"{n} line{'s' if n > 1 else ''} {what}" for n, what in ((new, "written"), (gone, "of rules that are no more removed")) if n]
    return ", ".join(said) + "; commit it with the rules" if said else "unchanged"


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="./dev rule", description="Proves rules and writes their ledger lines.")
    parser.add_argument("what", nargs="*", help="FILE, FILE:LINE or FILE:LIST of patterns/")
    parser.add_argument("--all", action="store_true", help="every rule")
    parser.add_argument("--check", action="store_true", help="prove all, compare with the ledger, write nothing")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="with --check: prove again one rule in N, if the prover is the one that the "
                        "ledger names, since it proved the others, too")
    parser.add_argument("--fresh", action="store_true", help="ignore the cache of proofs")
    parser.add_argument("--price", action="store_true", help="run the tests in which the rules fire, and compare the corpus before and after")
    parser.add_argument("--build", default="", help="build folder")
    parser.add_argument("--shared", default="../shared", help="folder with more of a corpus")
    args = parser.parse_args(argv)
    if not (args.what or args.all or args.check):
        parser.error("FILE[:LINE|:LIST].., --all or --check expected")
    report.evaluator = ROOT / (args.build or "build") / "warpburg-run"
    since, before = time.monotonic(), ledger.read()
    gc.disable()  # rules live to the end: looking for garbage among them takes a quarter of the time
    try:
        sets = [load.load_index(), *(load.load_target(t) for t in load.targets())]
        faults = checks.check(sets[0], sets[1:])
        if faults:
            print("\n".join(faults), file=sys.stderr)
            return 1
        gc.enable()
        errors, rules, tiles = ledger.errors_of(sets[1:]), proved_rules(sets), instructions(sets)
        found = {what: (chosen(rules, what), chosen(tiles, what)) for what in args.what}
        for what, (x, y) in found.items():
            if not x + y and not whole_targets([what]):
                print(f"{what}: {number_at(sets, what) or 'no rule there'}", file=sys.stderr)
                return 1
        if args.what:
            rules, tiles = ([r for r in every if any(r is x for x in some)] for every, some in
                            zip((rules, tiles), ([r for pair in found.values() for r in pair[n]] for n in (0, 1))))
            rules += leaning(proved_rules(sets), rules + tiles, errors)
        every = rules + tiles
        effect = Effect(args, every, sets) if args.price and args.build and not args.check else None
        if args.check and args.every > 1 and ledger.prover_of() == prover_version():
            rules, tiles = ([r for r in some if int(ledger.key(r, errors), 16) % args.every == 0] for some in (rules, tiles))
        done, messages, fresh = states_of(rules, errors, args.fresh)
        messages += too_weak(done, rules, errors)
    except PatternError as e:
        print(e, file=sys.stderr)
        return 1
    compiler = lru_cache(None)(lambda: program((ROOT / args.build).resolve(), sets))
    wanted = rules
    if not messages and args.build and (tiles or args.price or whole_targets(args.what)):
        if not args.check:  # the build for the simulator needs ledger lines of the proved rules
            ledger.write(ledger.kept([r for s in sets for r in s.rules], done, errors))
        states, messages = simulate(compiler, tiles, errors, args.fresh)
        done.update(states)
        messages += too_weak(done, tiles, errors)
        for name in whole_targets(args.what):
            messages += run_target(compiler, name)
        wanted = rules + tiles
    if args.check:
        wanted = every
        messages += compare(done, wanted, errors)
    else:  # a rule that failed gets no line
        lines = ledger.kept([r for s in sets for r in s.rules], done, errors)
        ledger.write(lines, prover=prover_version() if args.all and not messages else "")
        for r in (r for r in (wanted if args.what else ()) if ledger.key(r, errors) in done):
            print(f"{r.name}: {done[ledger.key(r, errors)][0]}")
        print(f"patterns/ledger.txt: {difference(before, lines)}")
        print("".join(f"{note}\n" for note in permits.idle(sets, {id(r) for r in wanted} if args.what else set())), end="")
    if tiles and not args.build:
        print(f"{len(tiles)} instruction rules were not simulated: --build FOLDER expected")
    if not messages and not args.check and args.build:
        messages = measure_new(compiler, sets) or (show_effect(args, effect, compiler, wanted) if effect else [])
    if messages:
        print("\n".join(messages), file=sys.stderr)
    weak = [] if z3_formula.present() else ["z3 is not installed: what it proves was only tested"]
    failed = len({m.split(": error")[0].split(" failed")[0] for m in messages})
    print("; ".join([f"{len(wanted)} rules, {fresh} proved now, {failed} failed, {time.monotonic() - since:.1f} s", *weak]))
    if args.check:
        print(f"{len(wanted) - failed} passed, {failed} failed")
    return int(bool(messages))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
