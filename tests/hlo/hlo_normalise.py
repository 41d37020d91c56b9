#!/usr/bin/env python3
"""Normalisation keeps the meaning of a module: the evaluator gives the same bits before and after.

    hlo_normalise.py WARPBURG [--shared DIR] [--all] [-j N]

The modules are the texts of tests/lit/normalise/ whose first line begins neither with `// RUN: not` nor with `// UNEVALUATED`, and the fusions
of DIR/corpus (every tenth; with --all each). Each goes through `warpburg hlo --normalise`, and each text of tests/lit also through the --pass
of its RUN lines. If that changes the module, `warpburg eval` must give the same outputs for both on cases e, n and p, and the printed
text must stay the same when it is printed or normalised again. So must that of 60 random modules (with --all 2000), whose values other suites judge;
made values depend on what uses a parameter, dead instructions too.

Outputs of batch-norms may differ by TOLERANCE of the largest element (with numpy): their definition leaves the order of roundings open.
So may sums whose reducer calls another computation, and products that become sums, in finite elements: the evaluator adds a plain sum with less
error. A module that the evaluator declines, or that takes longer than TIMEOUT, is not judged; their number is printed.
Ends with `N passed, M failed`; exit 1 if M is not 0.
"""
import argparse
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import List, Optional, Sequence, Tuple

try:
    import numpy as np
except ImportError:
    np = None

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "fuzz"))
from random_program_text import text_of  # noqa: E402

CASES = "enp"
TIMEOUT = 20        # seconds an evaluation
TOLERANCE = 2e-5
FOLDERS = ("fusions", "programs", "blocks", "emitter-tests")
UNJUDGED = "not judged"


class Judge:
    def __init__(self, program: str) -> None:
        self.program = program

    def call(self, *words: str) -> "subprocess.CompletedProcess[str]":
        try:
            return subprocess.run([self.program, *words], capture_output=True, text=True, errors="replace", timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(words, 3, "", f"not done within {TIMEOUT} s")

    def rewritten(self, file: Path, words: Sequence[str]) -> Optional[str]:
        """The text after the pass; None if the pass changes nothing."""
        p = self.call("hlo", str(file), *words)
        if p.returncode:
            raise RuntimeError(f"{' '.join(words)}: exit {p.returncode}: {p.stderr.strip()}")
        return None if p.stdout == self.call("hlo", str(file)).stdout else p.stdout

    def repeats(self, after: Path, words: Sequence[str]) -> str:
        text = after.read_text(encoding="utf-8")
        if self.call("hlo", str(after)).stdout != text:
            return "the printed text prints differently when it is read again"
        if self.call("hlo", str(after), *words).stdout != text:
            return "the pass changes its own result"
        return ""

    def differs(self, before: Path, after: Path, case: str, folder: Path, loose: bool, products: bool) -> str:
        outputs: List[List[Path]] = []
        for name, file in (("before", before), ("after", after)):
            to = folder / f"{name}.{case}"
            p = self.call("eval", str(file), "--case", case, "--seed", "7", "-o", str(to))
            if p.returncode == 3 and (name == "before" or products):
                return UNJUDGED
            if p.returncode:
                return f"eval of the module {name}: {p.stderr.strip().splitlines()[-1] if p.stderr.strip() else p.returncode}"
            outputs.append(sorted(to.iterdir()))
        if [f.name for f in outputs[0]] != [f.name for f in outputs[1]]:
            return "other outputs"
        for x, y in zip(*outputs):
            if x.read_bytes() != y.read_bytes() and not (loose and close(x, y, products)):
                return f"case {case}: {x.name} differs"
        return ""

    def judge(self, file: Path, words: Sequence[str], cases: str = CASES) -> Optional[str]:
        """None if the pass changes nothing; else "" if the result is right, UNJUDGED, or why it is wrong."""
        try:
            text = self.rewritten(file, words)
        except RuntimeError as e:
            return str(e)
        if text is None:
            return None
        before = self.call("hlo", str(file)).stdout
        loose, products = may_round_differently(before), has_products(before)
        with tempfile.TemporaryDirectory() as folder:
            after = Path(folder, "after.hlo")
            after.write_text(text, encoding="utf-8")
            why = self.repeats(after, words)
            for case in cases:
                why = why or self.differs(file, after, case, Path(folder), loose, products)
        return why


def may_round_differently(text: str) -> bool:
    """Whether the module has a batch-norm, a product, or a reducer that calls a computation. `text`: as warpburg prints it, the braces of a computation at
    the ends of lines."""
    for name in set(re.findall(r"to_apply=%?([\w.-]+)", text)):
        body = re.search(r"^%?" + re.escape(name) + r" \{\n(.*?)^\}", text, re.M | re.S)
        if body and re.search(r" (fusion|call)\(", body.group(1)):
            return True
    return "batch-norm" in text or has_products(text)


def has_products(text: str) -> bool:
    """They become sums, which overflow where the evaluator's products do not."""
    return " dot(" in text


def numbers(path: Path) -> Tuple["np.ndarray", float]:
    """The values of an output, and by how much of the largest they may differ. bf16 is stored as u2."""
    a = np.load(path)
    if a.dtype == np.uint16:
        return (a.astype(np.uint32) << 16).view(np.float32).astype("f8"), 2.0**-7
    return a.astype("f8"), 2.0**-10 if a.dtype == np.float16 else TOLERANCE


def close(x: Path, y: Path, finite: bool) -> bool:
    """finite: of elements that are so in both."""
    if np is None:
        return True
    with np.errstate(all="ignore"):
        (a, tolerance), (b, _) = numbers(x), numbers(y)
        largest = np.max(np.abs(a[np.isfinite(a)]), initial=0.0)
        wrong = np.abs(a - b) > tolerance * largest
    if finite:
        return not np.any(wrong & np.isfinite(a) & np.isfinite(b))
    wrong |= np.isfinite(a) != np.isfinite(b)
    return not np.any(wrong)


def own_jobs() -> List[List[object]]:
    jobs: List[List[object]] = []
    for file in sorted((ROOT / "tests" / "lit" / "normalise").glob("*.hlo")):
        text = file.read_text(encoding="utf-8")
        if text.startswith(("// RUN: not", "// UNEVALUATED")):
            continue
        jobs.append([file, ["--normalise"]])
        jobs += [[file, ["--pass", name]] for name in sorted(set(re.findall(r"// RUN:.* --pass (\S+)", text)))]
    return jobs


def random_jobs(folder: Path, count: int) -> List[List[object]]:
    jobs: List[List[object]] = []
    for seed in range(1, count + 1):
        file = folder / f"random_{seed}.hlo"
        file.write_text(text_of(seed), encoding="utf-8")
        jobs.append([file, ["--normalise"], ""])
    return jobs


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("-j", type=int, default=2)
    args = parser.parse_args()
    judge = Judge(args.program)
    jobs = own_jobs()
    corpus = sorted(f for name in FOLDERS for f in (args.shared / "corpus" / name).rglob("*.hlo"))
    if not corpus:
        print(f"skipped: fusions of the corpus: {args.shared / 'corpus'} is not there")
    jobs += [[f, ["--normalise"]] for f in corpus[:: 1 if args.all else 10]]
    passed = failed = unjudged = same = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(max_workers=max(args.j, 1)) as pool:
        jobs += random_jobs(Path(folder), 2000 if args.all else 60)
        for (file, words, *_), why in zip(jobs, pool.map(lambda job: judge.judge(*job), jobs)):
            same += why is None
            unjudged += why == UNJUDGED
            passed += why == ""
            if why and why != UNJUDGED:
                failed += 1
                print(f"failed: {file.name} {' '.join(words)}: {why}", flush=True)
    print(f"{same} have nothing to normalise, {unjudged} are declined by the evaluator or too large")
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
