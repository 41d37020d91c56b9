#!/usr/bin/env python3
"""Plans of modules as a user may write them (`fuse --plan FILE`): each is refused at its line, or its program is right.

    stated_plans.py WARPBURG [COUNT] [--seed S] [--folder DIR]

The random modules of edges.py. The plan that `--emit plan` prints makes the program that no plan makes, kernel for kernel, and prints itself again; with
`compile`, too. Then it is changed at
random: a kernel no longer computes a value, computes one more, leaves one in memory, is two kernels, or two become one. What `fuse` takes is run in the
simulator and judged; else there is one message, with the plan's file, or the line too. Both kinds have to occur. Damaged text is taken or has such a
message. Texts of those that fail stay in DIR. Ends with `N passed, M failed`.
"""
import argparse
import random
import re
import sys
import tempfile
from pathlib import Path
from typing import List, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "common"), str(ROOT / "tests" / "programs")]

from edges import text_of  # noqa: E402
from warpburg_cli import Cli  # noqa: E402

Kernel = Tuple[List[str], List[str]]  # what it leaves, what else it computes
CHANGES, DAMAGED = 3, 4


def kernels_of(plan: str) -> List[Kernel]:
    kernels = []  # type: List[Kernel]
    for line in plan.splitlines():
        words = line.split("//")[0].split(None, 1)
        if words[:1] == ["kernel"]:
            kernels.append((words[1].replace(" ", "").split(","), []))
        elif words[:1] == ["computes"]:
            kernels[-1][1].extend(words[1].replace(" ", "").split(","))
    return kernels


def text_of_plan(kernels: List[Kernel]) -> str:
    lines = ["choices", "  computation e"]
    for leaves, computes in kernels:
        lines.append(f"    kernel {', '.join(leaves)}")
        lines += [f"      computes {name}" for name in computes]
    return "\n".join(lines) + "\n"


def change(r: random.Random, kernels: List[Kernel]) -> None:
    names = [name for leaves, computes in kernels for name in leaves + computes]
    k = r.randrange(len(kernels))
    leaves, computes = kernels[k]
    what = r.choice(("drop", "more", "leave", "split", "merge"))
    if what == "drop" and computes:
        computes.remove(r.choice(computes))
    elif what == "more":
        computes.append(r.choice(names))
    elif what == "leave" and computes:
        leaves.append(computes.pop(r.randrange(len(computes))))
    elif what == "split" and len(leaves) > 1:
        kernels.append(([leaves.pop(r.randrange(len(leaves)))], list(computes)))
    elif what == "merge" and len(kernels) > 1:
        other = kernels.pop(r.choice([j for j in range(len(kernels)) if j != k]))
        leaves += [name for name in other[0] if name not in leaves]
        computes += other[1]


def damaged(r: random.Random, text: str) -> str:
    at, n = r.randrange(len(text)), r.randint(0, 20)
    return text[:at] + r.choice(("", ",", " ", "\n", "//", "kernel ", "\0", text[:n])) + text[at + n:]


def refusal(cli: Cli, plan: Path, *words: str) -> str:
    """What is wrong with how a plan is taken or refused; empty: nothing."""
    said = cli.call("fuse", *words, "--plan", str(plan))
    if said.returncode in (0, 3):
        return ""
    message = re.fullmatch(re.escape(str(plan)) + r":(\d+:\d+:)? error: .*\n", said.stderr)
    return "" if said.returncode == 1 and message else f"refused with exit status {said.returncode}: {said.stderr[-300:]}"


def other_kernels(cli: Cli, file: Path, plan: Path) -> str:
    """Compares the kernels that `compile` makes by a printed plan with those that it makes without; empty: they are the same, or are declined."""
    texts = []
    for words in (("--cut", "priced"), ("--plan", str(plan))):
        out = file.with_suffix("." + words[0].strip("-"))
        if cli.call("fuse", str(file), *words, "-o", str(out)).returncode or cli.call("compile", str(out)).returncode:
            return ""
        texts.append({k.parent.name: k.read_text() for k in sorted(out.glob("steps/*/kernel.ptx"))})
    return "" if texts[0] == texts[1] else "a plan that was printed has kernels with other code"


def wrong_with(cli: Cli, seed: int, file: Path, refused: List[str]) -> str:
    """What is wrong with the plans of a module; empty: nothing."""
    r = random.Random(seed)
    plan, out = file.with_suffix(".plan"), file.with_suffix("")
    file.write_text(text_of(seed, small=True))
    emitted = cli.call("fuse", str(file), "--emit", "plan").stdout
    plan.write_text(emitted)
    if cli.call("fuse", str(file), "--plan", str(plan), "--emit", "plan").stdout != emitted:
        return "a plan is printed in another way than it was read"
    if cli.call("fuse", str(file), "--plan", str(plan)).stdout != cli.call("fuse", str(file), "--cut", "priced").stdout:
        return "a plan that was printed has other kernels"
    wrong = other_kernels(cli, file, plan)
    if wrong:
        return wrong
    for _ in range(DAMAGED):
        plan.write_text(damaged(r, emitted))
        wrong = refusal(cli, plan, str(file))
        if wrong:
            return wrong
    kernels = kernels_of(emitted)
    for _ in range(r.randint(1, CHANGES)):
        change(r, kernels)
    plan.write_text(text_of_plan(kernels))
    said = cli.call("fuse", str(file), "--plan", str(plan), "-o", str(out))
    if said.returncode:
        refused.append(said.stderr)
        return refusal(cli, plan, str(file))
    said = cli.call("run", str(out), "--check", "-j", "1")
    return f"not right: {(said.stdout + said.stderr).strip()[-300:]}" if said.returncode not in (0, 3) else ""


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("warpburg")
    p.add_argument("count", type=int, nargs="?", default=24)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--folder", type=Path)
    o = p.parse_args()
    cli, folder = Cli(o.warpburg), o.folder or Path(tempfile.mkdtemp(prefix="plans"))
    folder.mkdir(parents=True, exist_ok=True)
    refused = []  # type: List[str]
    passed = failed = 0
    for seed in range(o.seed, o.seed + o.count):
        file = folder / f"plan_{seed}.hlo"
        wrong = wrong_with(cli, seed, file, refused)
        passed, failed = passed + (not wrong), failed + bool(wrong)
        if wrong:
            print(f"{file}: {wrong}")
    print(f"{len(refused)} of {o.count} changed plans are refused")
    if not o.count / 8 <= len(refused) <= o.count * 7 / 8:
        failed += 1
        print("an eighth at least has to be refused, and an eighth taken")
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
