#!/usr/bin/env python3
"""Loop fusions, end to end: compiled, assembled, run under --check, compared with golden outputs.

    corpus_loops.py WARPBURG [--shared DIR] [--all] [--targets sm_75,sm_90] [-j N]

Three sets of fusions; with --all each for every target, else for sm_90 and one other in turn:

1. shaderdb/corpus/: every element is compared, on cases e, n and p. GELU is also run on all 65,536 bf16 values, and its machine code is checked.
2. DIR/corpus/programs, scale S: the same, and the outputs of `run` and `eval` are compared with DIR/golden/programs.
3. DIR/corpus/programs, scales L and M: compiled and assembled.

Of 2 and 3 every tenth file, with --all every one. Parts that need DIR (by default ../shared beside the repository), numpy or ptxas are skipped
without it, with a line that says so. Prints each failure with its reason and ends with `N passed, M failed`: a fusion counts once for each
target, and once for `eval`; exit 1 if M is not 0. A fusion that warpburg declines does not fail; it is counted by its reason.
"""
import argparse
import struct
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
import golden  # noqa: E402
import npy  # noqa: E402
import corpus_loop_files  # noqa: E402
from ptx_index_width import complaints  # noqa: E402
from warpburg_cli import MAIN, TARGETS, Cli, Compiled, shared_out  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
CASES = "enp"
COMPILE_ONLY = {"elements_2_31.hlo"}        # 4 GiB a buffer
ORDER = ("passed", "declined", "failed")
USUAL_SASS = 9.4                            # machine instructions of GELU for each bf16 element, at most
MOST_SASS = {"sm_75": 70.0}                 # the same, where a target needs more: sm_75 rounds by integer arithmetic


class Tally:
    """Outcomes counted by (part, target), and the worst outcome of each file and target. Prints failures as they come."""

    def __init__(self) -> None:
        self.counts: Dict[Tuple[str, str], Counter] = {}
        self.worst: Dict[Tuple[str, str], str] = {}
        self.reasons: Counter = Counter()

    def add(self, part: str, target: str, file: str, why: str, declined: bool = False) -> None:
        word = "passed" if not why else "declined" if declined else "failed"
        self.counts.setdefault((part, target), Counter())[word] += 1
        key = (file, target.split()[-1])
        self.worst[key] = max(word, self.worst.get(key, word), key=ORDER.index)
        if declined:
            self.reasons[why.split(":")[0]] += 1
        if why:
            print(f"{word}: {part}, {Path(file).name}, {target}: {why}", flush=True)

    def total(self, word: str) -> int:
        """How many pairs of file and target have this outcome."""
        return sum(w == word for w in self.worst.values())

    def print(self) -> None:
        for (part, target), c in self.counts.items():
            print(f"{part}, {target}: {c['passed']} passed, {c['failed']} failed, {c['declined']} declined")
        if self.reasons:
            print("declined: " + ", ".join(f"{reason} {n}" for reason, n in self.reasons.most_common()))
        print(f"{self.total('passed')} passed, {self.total('failed')} failed")


def assembled(c: Compiled) -> bool:
    return "sass" in c.facts or c.facts.get("grid") == 0


# --- shaderdb/corpus ----------------------------------------------------------------------------------------------------------------


def check_own(cli: Cli, tally: Tally, files: Sequence[str], target: str, with_ptxas: bool) -> None:
    compiled = cli.compile(files, target)

    def one(c: Compiled) -> str:
        if c.status != "ok":
            return c.why
        if with_ptxas and not assembled(c):
            return "not assembled"
        for case in "" if Path(c.file).name in COMPILE_ONLY else CASES:
            v = cli.run(c.file, target, case)
            if not v.ok:
                return f"case {case}: {v.why}"
        return ""

    for c, why in zip(compiled, cli.each(one, compiled)):
        tally.add("shaderdb/corpus", target, c.file, why)


def check_gelu(cli: Cli, tally: Tally, target: str, with_ptxas: bool) -> None:
    """Runs GELU with every bf16 value in every lane of a vector, and checks its PTX and machine code."""
    source = ROOT / "shaderdb" / "corpus" / "gelu.hlo"
    rows, values = 16, 1 << 16
    with tempfile.TemporaryDirectory() as folder:
        small, inputs = Path(folder, "gelu.hlo"), Path(folder, "p0.npy")
        text = source.read_text(encoding="utf-8").replace("[6,512,4096]{2,1,0}", f"[{rows},{values}]{{1,0}}")
        small.write_text(text, encoding="utf-8")
        data = [(k + row) % values for row in range(rows) for k in range(values)]
        npy.write(inputs, "<u2", (rows, values), struct.pack(f"<{rows * values}H", *data))
        v = cli.run(str(small), target, "n", inputs=[str(inputs)])
        if v.ok:
            print(f"gelu, {target}: all 65,536 bf16 values inside the bounds, {v.facts['max_ulp']:.3g} ulp from f64 at most", flush=True)
        tally.add("gelu, all 65,536 bf16 values", target, str(source), v.why)
        noisy = [cli.run(str(small), target, "n", seed=seed, inputs=[str(inputs)], noise=True).why for seed in range(4 if target == MAIN else 1)]
        tally.add("gelu, the same with the errors that approximate instructions may have", target, str(source), "; ".join(filter(None, noisy)))
    ptx = cli.call("compile", str(source), "--target", target, "--emit", "ptx").stdout
    c = cli.compile([str(source)], target)[0]
    why = [] if c.status == "ok" else [c.why]
    if not ptx:
        why.append("no PTX")
    why += complaints(ptx)
    if c.status == "ok" and with_ptxas:
        f = c.facts
        if list(f["ldg"]) != ["16"] or list(f["stg"]) != ["16"]:
            why.append(f"loads {f['ldg']}, stores {f['stg']}: expected 16 bytes each")
        if f["stack_bytes"] or f["ldl"] or f["stl"]:
            why.append(f"local memory: {f['stack_bytes']} bytes, {f['ldl']} loads, {f['stl']} stores")
        if f["branch"]:
            why.append(f"{f['branch']} branches")
        elements = 8 * sum(f["ldg"].values())
        if f["sass"] > elements * MOST_SASS.get(target, USUAL_SASS):
            why.append(f"{f['sass']} SASS instructions for {elements} elements, expected at most {MOST_SASS.get(target, USUAL_SASS)} each")
    tally.add("gelu, the code", target, str(source), "; ".join(why))


# --- real programs ------------------------------------------------------------------------------------------------------------------


def small_program(cli: Cli, stored: Optional[golden.Golden], file: str, targets: Sequence[str]) -> List[Tuple[str, str, str, bool]]:
    """Runs and evaluates a file that compiled: (part, target, why, declined) of each comparison."""
    out = []
    agrees = "programs S against golden outputs"
    with tempfile.TemporaryDirectory() as folder:
        for target in [*targets, "eval"]:
            check = differs = ""
            wider = golden.WIDER.get(Path(file).name, (1.0, ""))[0] if target != "eval" else 1.0
            declined, compared = False, 0
            for case in CASES:
                seed = stored.seed(file, case) if stored else None
                to = Path(folder, target, case)
                to.mkdir(parents=True)
                if target == "eval" and seed is None:
                    continue
                v = cli.eval(file, case, seed or 0, str(to)) if target == "eval" else cli.run(file, target, case, seed or 1, (), str(to))
                if not v.ok and not check:
                    check, declined = f"case {case}: {v.why}", v.declined
                if stored and seed is not None and any(to.iterdir()):
                    compared += 1
                    why = stored.differs(file, case, to, wider)
                    differs = differs or (why and f"case {case}: {why}")
            if target != "eval":
                out.append(("programs S under --check", target, check, declined))
            elif check:
                differs = differs or check
            if compared or (target == "eval" and check):
                out.append((agrees, f"run {target}" if target != "eval" else "eval", differs, declined and differs == check))
    return out


def whole(files: Sequence[str], targets: Sequence[str]) -> Dict[str, List[str]]:
    return {t: list(files) for t in targets}


def check_small(cli: Cli, tally: Tally, stored: Optional[golden.Golden], by_target: Dict[str, List[str]], with_ptxas: bool) -> None:
    files = list(dict.fromkeys(f for of in by_target.values() for f in of))
    good: Dict[str, List[str]] = {f: [] for f in files}
    for target, of in by_target.items():
        for c in compile_all(cli, tally, "programs S", of, target, with_ptxas):
            good[c.file].append(target)
    for file, judged in zip(files, cli.each(lambda f: small_program(cli, stored, f, good[f]), files)):
        for part, target, why, declined in judged:
            tally.add(part, target, file, why, declined)


def compile_all(cli: Cli, tally: Tally, part: str, files: Sequence[str], target: str, with_ptxas: bool) -> List[Compiled]:
    """Compiles and assembles the files; returns those that succeeded."""
    good = []
    for c in cli.compile(files, target):
        why = c.why or ("not assembled" if with_ptxas and not assembled(c) else "")
        tally.add(f"{part} compiled" + (" and assembled" if with_ptxas else ""), target, c.file, why, c.status == "declined")
        if not why:
            good.append(c)
    return good


def check_programs(cli: Cli, tally: Tally, shared: Path, all_of_them: bool, targets: Sequence[str], with_ptxas: bool) -> None:
    every, out = (1, whole) if all_of_them else (10, shared_out)
    folder = shared / "corpus" / "programs"
    if not (folder / "index.tsv").exists():
        print(f"skipped: the fusions of real programs: {folder} is not there")
        return
    stored = None
    if golden.MISSING:
        print(f"skipped: golden outputs: {golden.MISSING}")
    elif not (shared / "golden" / "programs" / "index.tsv").exists():
        print(f"skipped: golden outputs: {shared / 'golden'} is not there")
    else:
        stored = golden.Golden(shared / "golden", "programs")
    found = corpus_loop_files.select(folder)
    small, large = found["S"], sorted(found["L"] + found["M"])
    print(f"programs: {len(small)} files of scale S, {len(large)} of L and M; 1 in {every} is taken", flush=True)
    if stored:
        bare = [Path(f).name for f in small[::every] if not any(stored.seed(f, case) is not None for case in CASES)]
        print(f"programs S: {len(bare)} of {len(small[::every])} have no golden outputs: {', '.join(bare)}", flush=True)
    for file in sorted(golden.WIDER.keys() & {Path(f).name for f in small[::every]}):
        print(f"known: {file}, {golden.WIDER[file][0]} times the stored tolerance: {golden.WIDER[file][1]}")
    check_small(cli, tally, stored, out(small[::every], targets), with_ptxas)
    for target, files in out(large[::every], targets).items():
        compile_all(cli, tally, "programs L and M", files, target, with_ptxas)


def main() -> int:
    p = argparse.ArgumentParser(description="loop fusions, end to end")
    p.add_argument("warpburg")
    p.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    p.add_argument("--all", action="store_true", help="every file instead of every tenth, on every target")
    p.add_argument("--targets", default=",".join(TARGETS))
    p.add_argument("-j", type=int, default=2, dest="jobs")
    o = p.parse_args()
    cli, tally, targets = Cli(o.warpburg, o.jobs), Tally(), o.targets.split(",")
    own = sorted(str(f) for f in (ROOT / "shaderdb" / "corpus").glob("*.hlo"))
    with_ptxas = "sass" in cli.compile([str(ROOT / "shaderdb" / "corpus" / "gelu.hlo")], targets[0])[0].facts
    if not with_ptxas:
        print("skipped: assembling, and the checks of machine code: no ptxas")
    for target, files in (whole if o.all else shared_out)(own, targets).items():
        check_own(cli, tally, files, target, with_ptxas)
        check_gelu(cli, tally, target, with_ptxas)
    check_programs(cli, tally, o.shared, o.all, targets, with_ptxas)
    tally.print()
    return 1 if tally.total("failed") else 0


if __name__ == "__main__":
    sys.exit(main())
