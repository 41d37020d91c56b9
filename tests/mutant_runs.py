"""Shared by the suites of kernels with one thing wrong each: a mutant is a bundle whose PTX, or document, is not that of its kernel."""
from pathlib import Path
from typing import Dict, Iterable, List, Sequence, Tuple

from warpburg_cli import Cli

AS_IT_IS = "as it is"             # the kind of the kernel itself, which every run must find right
Key = Tuple[str, str, int]        # kernel, kind, number of the line among those of its kind
Run = Tuple[str, int, str]        # input case, seed, order of execution


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


def summed_up(keys: Sequence[Key], faults: Sequence[str], equal: Dict[Key, str], kernels: int) -> int:
    """Prints what failed, and the counts; the exit status. `equal`: mutants that are right; each must be there."""
    wrong: List[str] = [f"failed: {key}: {why}" for key, why in zip(keys, faults) if why]
    unknown = [f"failed: {key}: there is no such mutant" for key in equal if key not in set(keys)]
    print("\n".join([*wrong, *unknown, f"{len(keys) - kernels} mutants, {len(equal)} of them equal",
                     f"{len(keys) - len(wrong)} passed, {len(wrong) + len(unknown)} failed"]))
    return int(bool(wrong or unknown))
