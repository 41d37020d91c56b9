#!/usr/bin/env python3
"""Reductions of the corpus that case s judges exactly, and those for which it finds no inputs.

    judged_reductions.py WARPBURG [--shared DIR] [--every N] [-j N] [--update]

Every fusion of emitter-tests/, fusions/, blocks/ and programs/ with a reduction, window, dot, convolution or scatter that compiles is run
under --check on inputs of case s, a sample of its blocks. A fault or an element outside the bounds is a failure. A reduction for which
no inputs are found that tell each of its terms is unjudged: it must stand in judged_reductions_known.tsv with its file, and one that is
judged must not. Where blocks share results no sample of them can be run: what then takes more than WHOLE seconds is named, and not judged.
--update writes the file of known ones anew. That the suite tells these apart is tested first, on fusions of its own. Ends with
`N passed, M failed`, where a file counts once.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Dict, List, Tuple

ROOT = Path(__file__).resolve().parents[2]
KNOWN = Path(__file__).with_name("judged_reductions_known.tsv")
PARTS = ("emitter-tests", "fusions", "blocks", "programs")
REDUCES = re.compile(r" (reduce|reduce-window|dot|convolution|scatter|select-and-scatter)\(")
DECLINED = 3
WHOLE = 200  # seconds


def known() -> Dict[str, str]:
    rows = (line.split("\t") for line in KNOWN.read_text(encoding="utf-8").splitlines()[1:]) if KNOWN.exists() else ()
    return {file: names for file, names in rows}


class Judged:
    def __init__(self, warpburg: str, corpus: Path) -> None:
        self.warpburg, self.corpus = warpburg, corpus
        self.known = known()

    def one(self, name: str) -> Tuple[str, str, str, int]:
        """The file, why it fails ("" if it does not), its unjudged reductions, and how many it has; -1 where it is declined."""
        words = [self.warpburg, "run", str(self.corpus / name), "--check", "--case", "s", "--seed", "1", "--json"]
        p = subprocess.run([*words, "--blocks", "4"], capture_output=True, text=True, errors="replace", check=False, timeout=600)
        if "tickets" in p.stderr:  # blocks share results, so that no sample of them is run
            try:
                p = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False, timeout=WHOLE)
            except subprocess.TimeoutExpired:
                print(f"not judged: {name}: more than {WHOLE} s", flush=True)
                return name, "", self.known.get(name, ""), 0
        if p.returncode == DECLINED:
            return name, "", "", -1
        lines = p.stdout.strip().splitlines()
        if not lines:
            return name, p.stderr[-300:], "", 0
        verdict = json.loads(lines[-1])
        spikes = verdict.get("spikes") or {"reductions": 0, "unjudged": ""}
        why = (verdict["faults"] or [verdict["first"]])[0] if p.returncode else ""
        if not why and spikes["unjudged"] != self.known.get(name, ""):
            why = f"unjudged: '{spikes['unjudged']}', {KNOWN.name} has '{self.known.get(name, '')}'"
        return name, why, spikes["unjudged"], spikes["reductions"]


def own_faults(warpburg: str) -> List[str]:
    """What the suite says of reductions that case s judges and that it cannot judge, listed and not, where that is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        for name, operand in (("judged", "x"), ("unjudged", "steps")):
            Path(folder, f"{name}.hlo").write_text(
                "add { p = f32[] parameter(0) q = f32[] parameter(1) ROOT r = f32[] add(p, q) }\nENTRY e { x = f32[4,16] parameter(0) zero = f32[] "
                f"constant(0) steps = f32[4,16] iota(), iota_dimension=1 ROOT sums = f32[4] reduce({operand}, zero), dimensions={{1}}, to_apply=add }}\n")
        out = []
        for name, listed, passes in (("judged", "", True), ("judged", "sums", False), ("unjudged", "", False), ("unjudged", "sums", True)):
            judged = Judged(warpburg, Path(folder))
            judged.known = {f"{name}.hlo": listed}
            _, why, unjudged, n = judged.one(f"{name}.hlo")
            if (not why) != passes or n != 1 or unjudged != ("sums" if name == "unjudged" else ""):
                out.append(f"{name}, listed as '{listed}': {n} reductions, unjudged '{unjudged}': {why or 'passes'}")
    return out


def main() -> int:
    p = argparse.ArgumentParser(description="reductions that case s judges")
    p.add_argument("warpburg")
    p.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    p.add_argument("--every", type=int, default=1)
    p.add_argument("-j", type=int, default=2, dest="jobs")
    p.add_argument("--update", action="store_true")
    o = p.parse_args()
    faults = own_faults(o.warpburg)
    for fault in faults:
        print(f"failed: {fault}")
    corpus = o.shared / "corpus"
    if not corpus.is_dir():
        print(f"skipped: {corpus} is not there\n{4 - len(faults)} passed, {len(faults)} failed")
        return int(bool(faults))
    os.nice(5)
    files = [f for part in PARTS for f in sorted((corpus / part).rglob("*.hlo")) if REDUCES.search(f.read_text(errors="replace"))]
    judged = Judged(o.warpburg, corpus)
    with ThreadPoolExecutor(o.jobs) as pool:
        rows = list(pool.map(lambda f: judged.one(str(f.relative_to(corpus))), files[::o.every]))
    for name, why, _, _ in rows:
        if why:
            print(f"failed: {name}: {why}")
    reductions, unjudged = sum(max(n, 0) for *_, n in rows), sum(len(names.split()) for _, _, names, _ in rows)
    print(f"{reductions} reductions, {unjudged} unjudged; {sum(n < 0 for *_, n in rows)} files declined")
    if o.update:
        text = "".join(f"{name}\t{names}\n" for name, _, names, _ in rows if names)
        KNOWN.write_text("file\tunjudged\n" + text, encoding="utf-8")
    failed = sum(bool(why) for _, why, _, _ in rows) + len(faults)
    print(f"{len(rows) + 4 - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
