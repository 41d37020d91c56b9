"""Shared by the suites of kernels with one thing wrong each: a mutant is a bundle whose PTX, or document, is not that of its kernel."""
import argparse
import fnmatch
import os
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import Callable, Dict, Iterable, Iterator, List, Sequence, Set, Tuple

import ptx_mutants
from warpburg_cli import Cli

AS_IT_IS = "as it is"             # the kind of the kernel itself, which every run must find right
SECOND_RUN = "a second run"            # the same on the temporaries of the first
Key = Tuple[str, str, int]        # kernel, kind, number of the line among those of its kind
Job = Tuple[str, str, str, Path]  # kernel, kind, what is changed, folder
Pattern = Tuple[str, str, str]    # of the first three
Run = Tuple[str, int, str]        # input case, seed, order of execution
INVERSE = {"nan": "num", "eq": "ne", "lt": "ge", "gt": "le", "equ": "neu", "ltu": "geu", "gtu": "leu"}
INVERSE |= {y: x for x, y in INVERSE.items()}


def inverted(line: str) -> str:
    """The line with the opposite condition."""
    return re.sub(r"setp\.(\w+)", lambda m: f"setp.{INVERSE[m[1]]}", line)


def other_way(line: str) -> str:
    """A branch that is taken where the line's is not."""
    return re.sub("@!?", lambda m: "@" if m[0] == "@!" else "@!", line)


def rewritten(line: str, pattern: str, to: str) -> str:
    """The line with `to` for what the pattern matches; "invert" and "branch": with the opposite condition, with the other way."""
    return inverted(line) if to == "invert" else other_way(line) if to == "branch" else re.sub(pattern, to, line)


def changed_lines(kernel: str, text: str, kinds: Dict[str, Tuple[str, str]], change: Callable[[str, str], str], first: int = 0) -> Iterator[Tuple[Key, str]]:
    """Each line from number `first` on that a kind's pattern matches, changed in the way of that kind: (key, text of the whole mutant)."""
    lines = text.splitlines()
    for kind, (pattern, _) in kinds.items():
        for n, at in enumerate(k for k, line in enumerate(lines) if k >= first and re.search(pattern, line)):
            yield (kernel, kind, n), "\n".join([*lines[:at], change(kind, lines[at]), *lines[at + 1:]])


def write_mutant(of: Path, to: Path, ptx: str, document: str = "") -> Path:
    """The bundle `of` with other PTX, and another kernel.json if `document` is not empty; returns its folder."""
    to.mkdir()
    for name in ("fusion.hlo", "kernel.json"):
        (to / name).write_bytes((of / name).read_bytes())
    (to / "kernel.ptx").write_text(ptx, encoding="utf-8")
    if document:
        (to / "kernel.json").write_text(document, encoding="utf-8")
    return to


def fault(cli: Cli, bundle: Path, right: bool, runs: Iterable[Run], statuses: Sequence[int] = (0, 4), options: Sequence[str] = ()) -> str:
    """"" if `run --check` says of the bundle what it should: of one that is right in every run that it is, of another in some run that it is not."""
    for case, seed, order in runs:
        p = cli.call("run", str(bundle), "--edited", "--check", "--case", case, "--seed", str(seed), "--order", order, *options)
        if p.returncode not in statuses or (right and p.returncode):
            return f"--case {case} --seed {seed} --order {order}: exit {p.returncode}: {(p.stdout + p.stderr).strip()[:300]}"
        if p.returncode:
            return ""
    return "" if right else "not found"


def table(made: Iterable[str], missed: Iterable[str]) -> str:
    """A row for each kind of mutant: how many were made and how many were found."""
    all_of_them, not_found = Counter(made), Counter(missed)
    return "\n".join([f"{'kind of mutant':60} {'made':>6} {'found':>6}",
                      *(f"{kind:60} {n:6} {n - not_found[kind]:6}" for kind, n in sorted(all_of_them.items()))])


def matches(key: Tuple[str, str, str], mutant: Tuple[str, str, str]) -> bool:
    return all(fnmatch.fnmatchcase(x, pattern.replace("[", "[[]")) for x, pattern in zip(mutant, key))


def judged_but_equal(cli: Cli, jobs: Sequence[Job], runs: Sequence[Run], equal: Dict[Pattern, str], whole: bool) -> int:
    """Prints what failed, and the counts; the exit status. `equal`: patterns of mutants that are right, each of which must excuse one if all were made."""
    def judge(job: Job) -> str:
        return fault(cli, job[3], job[1] == AS_IT_IS, runs, (0, 1, 4, 124), ("-j", "1"))

    failed, survived, met = 0, [], set()  # type: int, List[str], Set[Pattern]
    for (kernel, kind, what, _), why in zip(jobs, cli.each(judge, jobs)):
        survived += [kind] if why else []
        excuses = [key for key in equal if matches(key, (kernel, kind, what))] if why == "not found" else []
        met.update(excuses)
        if why and not excuses:
            failed += 1
            print(f"failed: {(kernel, kind, what)}: {why}", flush=True)
    unknown = [key for key in equal if whole and key not in met]
    for key in unknown:
        print(f"failed: {key}: no mutant that is not found")
    print(table((kind for _, kind, _, _ in jobs if kind != AS_IT_IS), survived))
    print(f"{len(jobs)} kernels\n{len(jobs) - failed} passed, {failed + len(unknown)} failed")
    return int(failed + len(unknown) > 0)


def of_instructions(ptx: str, every: int) -> Iterator[Tuple[str, str, str]]:
    """Each Nth mutant of ptx_mutants.py: kind, what is changed without numbers of registers, the PTX."""
    for n, m in enumerate(ptx_mutants.mutants(ptx)):
        if n % every == 0:
            yield m.kind, re.sub(r"%([a-z]+)\d+", r"%\1", m.what), m.text(ptx)


def run_mutants(about: str, kernels: Dict[str, Tuple[str, Sequence[str]]], mutants: Callable[[str, int], Iterable[Tuple[str, str, str]]],
                runs: Sequence[Run], equal: Dict[Pattern, str], plan: str = "") -> int:
    """A suite: each kernel, its HLO and options of compile, with `plan` if there is one, as it is and with one thing wrong each; the exit status."""
    p = argparse.ArgumentParser(description=about)
    p.add_argument("warpburg")
    p.add_argument("--every", type=int, default=1)
    p.add_argument("--only", default="")
    o = p.parse_args()
    cli = Cli(os.path.abspath(o.warpburg), timeout=60)
    jobs: List[Job] = []
    with tempfile.TemporaryDirectory() as name:
        choices = Path(name, "plan.txt")
        choices.write_text(plan, encoding="utf-8")
        for kernel, (hlo, options) in kernels.items():
            if o.only not in kernel:
                continue
            file, first = Path(name, f"{kernel}.hlo"), Path(name, kernel)
            file.write_text(hlo, encoding="utf-8")
            compiled = cli.call("compile", str(file), *(("--plan", str(choices)) if plan else ()), *options, "-o", str(first))
            if compiled.returncode:
                print(f"failed: {kernel}: {compiled.stderr}")
                return 1
            ptx = (first / "kernel.ptx").read_text(encoding="utf-8")
            for kind, what, changed in [(AS_IT_IS, "", ptx), *mutants(ptx, o.every)]:
                jobs.append((kernel, kind, what, write_mutant(first, Path(name, f"{kernel}.{len(jobs)}"), changed)))
        return judged_but_equal(cli, jobs, runs, equal, o.every == 1 and not o.only)


def summed_up(keys: Sequence[Key], faults: Sequence[str], equal: Dict[Key, str], kernels: int) -> int:
    """Prints what failed, and the counts; the exit status. `equal`: mutants that are right; each must be there."""
    wrong: List[str] = [f"failed: {key}: {why}" for key, why in zip(keys, faults) if why]
    unknown = [f"failed: {key}: there is no such mutant" for key in equal if key not in set(keys)]
    mutants = [(key, why) for key, why in zip(keys, faults) if key[1] not in (AS_IT_IS, SECOND_RUN)]
    print(table((key[1] for key, _ in mutants), (key[1] for key, why in mutants if why or key in equal)))
    print("\n".join([*wrong, *unknown, f"{len(keys) - kernels} mutants, {len(equal)} of them equal",
                     f"{len(keys) - len(wrong)} passed, {len(wrong) + len(unknown)} failed"]))
    return int(bool(wrong or unknown))
