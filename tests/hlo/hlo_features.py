"""src/hlo/features.def against the program: for each row there are texts here that show its account. A row without a text fails, and so
does a text whose word is not listed.

HONOURED   two values of the attribute end differently: in other elements, or in an error
SILENT     the PTX, or the evaluation where nothing is compiled, is that of the text without the word
PROMISE    the evaluation is that of the text without the word, and the PTX is not
OPERATION  `compile` declines the operation, and not because of the attribute
DECLINED   `compile` declines the text because of the word, and compiles it without
JUDGED     values of both kinds

usage: hlo_features.py WARPBURG
"""
from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Tuple

from hlo_feature_texts import Case, CASES

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r'^HLO_FEATURE\((\w+), "([^"]*)", "([^"]*)", (\w+), "((?:[^"\\]|\\.)*)"\)', re.M)


class Outcome(NamedTuple):
    rc: int
    out: str
    err: str


class Program:
    def __init__(self, wb: str, folder: Path) -> None:
        self.wb, self.file = wb, folder / "x.hlo"

    def run(self, command: str, text: str) -> Outcome:
        self.file.write_text(text)
        kernel = ["--emit", "ptx"] if command == "compile" else []  # of one kernel: what none computes is no program
        p = subprocess.run([self.wb, command, str(self.file), *kernel], capture_output=True, text=True, timeout=120)
        return Outcome(p.returncode, p.stdout, p.stderr)

    def meaning(self, text: str) -> Tuple[str, Outcome]:
        """What the text means: its PTX; if it is declined, its evaluation; if that is declined too, the module as it is read."""
        for command in ("compile", "eval", "hlo"):
            o = self.run(command, text)
            if o.rc != 3:
                break
        return command, o


def fault(p: Program, account: str, case: Case) -> Optional[str]:
    """What is wrong with a case; None: nothing."""
    if account == "HONOURED":
        a, b = (p.run("eval", case.text(v)) for v in case.values)
        if a.rc not in (0, 3):
            return f"{case.values[0]} fails: {a.err.strip()}"
        return None if (a.rc, a.out) != (b.rc, b.out) else f"{case.values[0]} and {case.values[1]} make no difference"
    if account == "SILENT":
        (command, a), (other, b) = p.meaning(case.text(case.values[0])), p.meaning(case.text(""))
        if a.rc or b.rc:
            return f"fails: {(a.err or b.err).strip()}"
        if command == "hlo":
            return "neither compiled nor evaluated"
        return None if (command, a.out) == (other, b.out) else "the result is another one with it"
    if account == "PROMISE":
        with_it, without_it = ([p.run(command, case.text(v)) for command in ("eval", "compile")] for v in (case.values[0], ""))
        if any(x.rc for x in with_it + without_it):
            return f"fails: {[x.err.strip() for x in with_it + without_it]}"
        if with_it[0].out != without_it[0].out:
            return "the evaluation is another one with it"
        return None if with_it[1].out != without_it[1].out else "no kernel relies on it"
    a = p.run("compile", case.text(case.values[0]))
    if a.rc != 3:
        return f"exit status {a.rc}, declined expected: {a.err.strip()[:200]}"
    of_feature = ": feature:" in a.err or (case.name == "<=" and ": dynamic:" in a.err)
    if of_feature != (account != "OPERATION"):
        return f"declined for another reason: {a.err.strip()[:200]}"
    without = case.values[1:] or [""]  # a case that cannot do without the word repeats it
    for value in [v for v in without if v != case.values[0]] if account in ("JUDGED", "DECLINED") else []:
        b = p.meaning(case.text(value))[1]
        if b.rc:
            return f"{value or 'without it'} is refused: {b.err.strip()[:200]}"
    return None


def unlisted(p: Program) -> List[str]:
    """Words that no list has are errors with a location."""
    texts = {"attribute": "HloModule m\nENTRY e {\n p = f32[8] parameter(0)\n ROOT n = f32[8] negate(p), frobnicate={1}\n}",
             "operation": "HloModule m\nENTRY e {\n p = f32[8] parameter(0)\n ROOT n = f32[8] negate(p), iota_dimension=0\n}",
             "module": "HloModule m, frobnicate=true\nENTRY e {\n p = f32[8] parameter(0)\n ROOT n = f32[8] negate(p)\n}",
             "computation": "HloModule m\nENTRY e {\n p = f32[8] parameter(0)\n ROOT n = f32[8] negate(p)\n}, frobnicate=1",
             "layout": "HloModule m\nENTRY e {\n p = f32[8]{0:Z(3)} parameter(0)\n ROOT n = f32[8] negate(p)\n}",
             "layout without a value": "HloModule m\nENTRY e {\n p = f32[8]{0:T} parameter(0)\n ROOT n = f32[8] negate(p)\n}"}
    wrong = []
    for name, text in texts.items():
        o = p.run("hlo", text)
        if o.rc != 1 or not re.search(r"x\.hlo:\d+:\d+: error: ", o.err):
            wrong.append(f"an unlisted {name}: exit status {o.rc}, {o.err.strip()[:200]}")
    return wrong


def main() -> int:
    rows: Dict[Tuple[str, str], List[str]] = {}
    text = (ROOT / "src/hlo/features.def").read_text()
    for where, name, _, account, _ in ROW.findall(text):
        rows.setdefault((where, name), []).append(account)
    wrong = [] if sum(map(len, rows.values())) == text.count("\nHLO_FEATURE(") else ["features.def has a row that is not understood"]
    passed = 0
    with tempfile.TemporaryDirectory() as folder:
        p = Program(sys.argv[1], Path(folder))
        wrong += unlisted(p)
        for key, accounts in rows.items():
            cases = [c for c in CASES if (c.where, c.name) == key]
            if not cases:
                wrong.append(f"{key[0]} {key[1]}: no text shows that it is {accounts[0]}")
            for case in cases:
                what = fault(p, case.account or accounts[0], case)
                passed += what is None
                if what:
                    wrong.append(f"{case.where} {case.name}, {accounts[0]}: {what}")
        wrong += [f"{c.where} {c.name}: the list has no such row" for c in CASES if (c.where, c.name) not in rows]
    for line in wrong:
        print(line)
    print(f"{passed} passed, {len(wrong)} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
