"""Kernels of ours that are worse than XLA's, each with its reason: for `compare_xla.py --widths` and `--larger`.

compare_xla_narrow.tsv and compare_xla_larger.tsv have the reasons that a person found, one for each file. Reasons that follow from the kernel are
determined here.
"""
from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Dict, List

if TYPE_CHECKING:
    from compare_xla import Pair

HERE = Path(__file__).resolve().parent
NARROW, LARGER = HERE / "compare_xla_narrow.tsv", HERE / "compare_xla_larger.tsv"


def written(path: Path) -> Dict[str, str]:
    with open(path, encoding="utf-8", newline="") as text:
        return {row["file"]: row["reason"] for row in csv.DictReader(text, delimiter="\t")}


def outdated(path: Path, pairs: List[Pair], needed: List[str]) -> None:
    """Prints the rows of a file of reasons that no kernel needs any more."""
    for file in sorted(set(written(path)) & {p.file for p in pairs} - set(needed)):
        print(f"{file}: {path.name} need not list it any more")


# --- widths ------------------------------------------------------------------------------------------------------------------------------
def widths(text: str) -> Dict[int, int]:
    """`4x1 16x2 4x2` -> {4: 3, 16: 2}"""
    out: Dict[int, int] = {}
    for word in text.split():
        size, count = word.split("x")
        out[int(size)] = out.get(int(size), 0) + int(count)
    return out


def narrower(p: Pair) -> str:
    """Our accesses whose widest is narrower than XLA's widest; empty if none."""
    out = []
    for kind in ("ldg", "stg"):
        mine, other = {int(k): n for k, n in p.ours[kind].items()}, widths(p.theirs[kind])
        if mine and other and max(mine) < max(other):
            out.append(f"{kind} {max(mine)} of {max(other)} bytes")
    return ", ".join(out)


OTHER_ORDER = {"reductions": "a thread reads along the dimension that it reduces, which need not be the minor one",
               "transposes": "a thread writes in memory order and reads with a stride; XLA's goes through shared memory"}


def check_widths(pairs: List[Pair]) -> int:
    reasons = written(NARROW)
    found = {p.file: (p.group, narrower(p)) for p in pairs if narrower(p)}
    bare = 0
    for file, (group, what) in sorted(found.items(), key=lambda x: (x[1][0], x[0])):
        reason = reasons.get(file) or OTHER_ORDER.get(group, "")
        bare += not reason
        print(f"{group}: {file}: {what}: {reason or 'no reason is stated'}")
    outdated(NARROW, pairs, list(found))
    print(f"{len(pairs)} kernels, {len(found)} with an access narrower than XLA's, {bare} of them without a reason")
    return int(bare > 0)


# --- size --------------------------------------------------------------------------------------------------------------------------------
ROUNDED = ("divide", "sqrt", "rsqrt", "power", "log-plus-one")  # ours are rounded correctly, XLA's are the machine's approximations


def check_larger(pairs: List[Pair], approximate: List[Pair]) -> int:
    """Large and medium loops. If ours is no larger when it is compiled at --accuracy xla, exact quotients and roots are the reason."""
    reasons, at_equal = written(LARGER), {p.file: p.ratio for p in approximate}
    larger = sorted((p for p in pairs if p.group == "loops" and p.scale in "LM" and p.ratio > 1), key=lambda p: (-p.ratio, p.file))
    bare, exact, needed = 0, 0, []
    for p in larger:
        ratio = at_equal.get(p.file, p.ratio)
        if ratio <= 1 and any(o.split(".")[0] in ROUNDED for o in p.operations):
            exact += 1
            print(f"{p.ratio:.2f} {p.file}: quotients and roots are rounded correctly; {ratio:.2f} at --accuracy xla")
            continue
        needed.append(p.file)
        bare += p.file not in reasons
        print(f"{p.ratio:.2f} {p.file}: {reasons.get(p.file) or 'no reason is stated'}")
    outdated(LARGER, pairs, needed)
    print(f"{len(larger)} kernels larger than XLA's: {exact} because of exact quotients and roots, {len(needed) - bare} for other reasons, "
          f"{bare} without a reason")
    return int(bare > 0)
