"""How long a rule writer waits: `./dev rule FILE:LINE` on rules of the tree, and on new rules in a copy of it.

usage: rule_loop.py [--rules N] [--new N] [--price N] [--firing N] [--build FOLDER] [--most-proof S] [--most-all S]

Prints median and worst, in seconds by the clock and of processors, of the proof alone (fresh: nothing of an earlier proof is used) and with build, tests
and prices (`--price`): of N of the new rules, and of N rules that fire in the corpus. The rules of the tree are spread over all files, rewrites and
instructions alike; instructions need --build. The new ones are right rules of rules/patterns/sm90.py, few of which fire. Each is put last into SIMPLIFY
of the copy, as a user would. Exit 1 where the median of proofs exceeds --most-proof, or a median with prices --most-all, or a rule is refused.
"""
from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Dict, List, Sequence, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.dont_write_bytecode = True

from gen import load  # noqa: E402

FIRING = [  # rules of SIMPLIFY that fire in the corpus of --price; those that the tree has are taken out of the copy first
    "rewrite(gt[F](a, b),                     lt[F](b, a)),",
    "rewrite(ge[F](a, b),                     le[F](b, a)),",
    "rewrite(add[F](a, neg[F](b)),            sub[F](a, b)),",
    "rewrite(div[F](a, 2.0),                  mul[F](a, 0.5)),",
    "rewrite(sub.f32(a, 1.0),                 add.f32(a, -1.0)),",
    "rewrite(bor.pred(a, False),              a),",
    "rewrite(max[F](a, -INF),                 a),",
    "rewrite(mul[N](a, 1),                    a),",
    "rewrite(band.pred(a, True),              a),",
    "rewrite(bnot.pred(ne[F](a, b)),          eq[F](a, b)),",
]
Spent = Tuple[str, float, float, int, str]  # rule, seconds, seconds of processors, exit status, output


def places(n: int) -> List[str]:
    """FILE:LINE of n rules, of each phase as many as its share of lines, spread over its files; at least one of each phase."""
    sets = [load.load_index(), *(load.load_target(t) for t in load.targets())]
    by_phase: Dict[str, List[str]] = {}
    for s in sets:
        for phase, rules in s.phases.items():
            by_phase.setdefault(phase, []).extend(f"{r.where[0]}:{r.where[1]}" for r in rules)
    out: List[str] = []
    lines = {phase: sorted(set(some), key=lambda x: (x.split(":")[0], int(x.split(":")[1]))) for phase, some in by_phase.items()}
    total = sum(map(len, lines.values()))
    for some in lines.values():
        share = max(1, round(n * len(some) / total))
        out += [some[k * len(some) // share] for k in range(share)]
    return out


def new_rules(n: int) -> List[str]:
    """Lines of n rules that the tree does not have, each whole on its line, spread over the lists of rules/patterns/sm90.py."""
    text = (ROOT / "tests" / "rules" / "patterns" / "sm90.py").read_text().split("TEXTS = [")[0]
    lines = [line.strip() for line in text.splitlines() if re.match(r" {4}rewrite\(.*\),$", line) and " for " not in line]
    return [lines[k * len(lines) // n] for k in range(n)]


def run(tree: Path, words: Sequence[str]) -> Spent:
    """`./dev rule` without its look for packages, which a second run does not need."""
    before, since = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    p = subprocess.run([sys.executable, "-m", "gen.proof.rule", *words], cwd=tree, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return words[0], time.monotonic() - since, cpu, p.returncode, p.stdout + p.stderr


class Copy:
    """A copy of the tree with a commit, in which rules are tried."""

    def __init__(self, folder: Path) -> None:
        self.tree = folder / "tree"
        names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for name in (x for x in names.splitlines() if (ROOT / x).is_file()):
            (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, self.tree / name)
        self.file = self.tree / "patterns" / "arith.py"
        self.text = "\n".join(line for line in self.file.read_text().split("\n") if not line.startswith(tuple(f"    {x}" for x in FIRING)))
        self.file.write_text(self.text)
        self.ledger = (self.tree / "patterns" / "ledger.txt").read_text()
        git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@localhost"]
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "as it was"]):
            subprocess.run([*git, *words], cwd=self.tree, check=True, stdout=subprocess.DEVNULL)

    def built(self) -> None:
        for words in (["meson", "setup", "build"], ["ninja", "-C", "build", "--quiet", "warpburg", "tests/measure"]):
            subprocess.run(words, cwd=self.tree, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def put(self, rule: str) -> str:
        """Puts the rule last into SIMPLIFY; its FILE:LINE."""
        lines = self.text.split("\n")
        at = next(n for n, line in enumerate(lines) if line.startswith("] + [") and n > next(k for k, x in enumerate(lines) if x.startswith("SIMPLIFY")))
        lines.insert(at, f"    {rule}")
        self.file.write_text("\n".join(lines))
        (self.tree / "patterns" / "ledger.txt").write_text(self.ledger)
        return f"patterns/arith.py:{at + 1}"


def show(what: str, spent: Sequence[Spent]) -> None:
    if not spent:
        return
    print(f"{what}: {len(spent)} rules, {sum(not x[3] for x in spent)} accepted; median {statistics.median(x[1] for x in spent):.1f} s "
          f"({statistics.median(x[2] for x in spent):.1f} s of processors), worst {max(x[1] for x in spent):.1f} s "
          f"({max(x[2] for x in spent):.1f} s): {max(spent, key=lambda x: x[2])[0]}", flush=True)


def main() -> int:
    p = argparse.ArgumentParser(description="time of ./dev rule")
    p.add_argument("--rules", type=int, default=40, help="rules of the tree")
    p.add_argument("--new", type=int, default=20, help="new rules in a copy")
    p.add_argument("--price", type=int, default=5, help="of the new rules: with build, tests and prices too")
    p.add_argument("--firing", type=int, default=0, help="of the rules that fire: with build, tests and prices")
    p.add_argument("--build", default="", help="build folder, whose simulator runs instructions")
    p.add_argument("--most-proof", type=float, default=float("inf"), help="seconds")
    p.add_argument("--most-all", type=float, default=float("inf"), help="seconds")
    p.add_argument("--verbose", action="store_true")
    o = p.parse_args()
    build = ["--build", o.build] if o.build else []

    def all_of(what: str, some: Sequence[Tuple[str, Sequence[str]]], tree: Path) -> List[Spent]:
        out = []
        for place, more in some:
            out.append(run(tree, [place, *more]))
            if o.verbose or out[-1][3]:
                print(f"  {out[-1][1]:6.1f} {out[-1][2]:6.1f}  {place}" + (f"\n{out[-1][4]}" if o.verbose or out[-1][3] else ""), flush=True)
        show(what, out)
        return out

    own = all_of("proofs, rules of the tree", [(x, ["--fresh", *build]) for x in places(o.rules)] if o.rules else [], ROOT)
    with tempfile.TemporaryDirectory(prefix="warpburg-") as tmp:
        os.environ.setdefault("WARPBURG_PROVE", str(ROOT / "build" / "prove"))  # the program that proofs run on
        copy = Copy(Path(tmp))
        new = new_rules(o.new) if o.new else []
        spent: List[Spent] = []
        for rule in new:
            spent.append((rule, *run(copy.tree, [copy.put(rule), "--fresh"])[1:]))
            if o.verbose or spent[-1][3]:
                print(f"  {spent[-1][1]:6.1f} {spent[-1][2]:6.1f}  {rule}\n{spent[-1][4]}", flush=True)
        show("proofs, new rules", spent)
        if o.price or o.firing:
            copy.put("")
            copy.built()

        def priced(rules: Sequence[str]) -> List[Spent]:
            out: List[Spent] = []
            for rule in rules:
                more = ["--fresh", "--price", "--build", "build", "--shared", str(ROOT.parent / "shared")]
                out.append((rule, *run(copy.tree, [copy.put(rule), *more])[1:]))
                if o.verbose or out[-1][3]:
                    print(f"  {out[-1][1]:6.1f} {out[-1][2]:6.1f}  {rule}\n{out[-1][4]}", flush=True)
            return out

        with_all = [priced(new[:o.price]), priced(FIRING[:o.firing])]
        show("with build, tests and prices, new rules", with_all[0])
        show("with build, tests and prices, rules that fire", with_all[1])
        print(f"{sum(' fires ' in x[4] and '; fires' not in x[4].split(' fires ')[0] for x in with_all[1])} of these fire in the corpus" if with_all[1] else "")
    proofs = [x[1] for x in own + spent]
    slow = (proofs and statistics.median(proofs) > o.most_proof) or any(some and statistics.median(x[1] for x in some) > o.most_all for some in with_all)
    return int(bool(slow) or any(x[3] for x in [*own, *spent, *with_all[0], *with_all[1]]))


if __name__ == "__main__":
    sys.exit(main())
