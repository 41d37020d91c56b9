"""The evaluator against every golden output.

Every file with golden outputs is evaluated in its three cases; before that, the inputs that warpburg generates are compared with
those of the implementation that stored the outputs, for every type. Needs numpy and the shared data. Disagreements with a known cause
stand in golden_known.tsv, each with whose fault it is; a listed one that no longer differs is a failure, so the list stays true.
Ends with `N passed, M failed`, in files.

    eval_golden.py build/warpburg [--every 10] [--only gelu]
"""
import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import List, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
from golden import CASES, MISSING, PARTS, Golden, checker, known  # noqa: E402
from warpburg_cli import Cli  # noqa: E402

if not MISSING:
    import numpy as np

GENERATED = "pred s4 u4 s8 u8 s16 u16 s32 u32 s64 u64 f8e4m3fn f8e5m2 f16 bf16 f32 f64 c64 c128".split()


def generated_inputs(cli: Cli, reference, count: int = 5000) -> List[str]:
    """How the inputs that warpburg generates differ from those of inputs.py: for every type and case, ranged indices included."""
    bad = []
    for case in CASES:
        for ranged in (False, True):
            kinds = [t for t in GENERATED if not ranged or t in ("s32", "u32", "s64", "u64")]
            lines = [f"  p{k} = {t}[{count}] parameter({k})" for k, t in enumerate(kinds)]
            lines += [f"  c{k} = {t}[{count}] copy(p{k})" for k, t in enumerate(kinds)]
            results = ", ".join(f"{t}[{count}]" for t in kinds)
            if ranged:  # with a dynamic-slice, their elements are indices
                lines += ["  zero = s32[] constant(0)", f"  d = {kinds[0]}[1] dynamic-slice(p0, zero), dynamic_slice_sizes={{1}}"]
            lines.append(f"  ROOT t = ({results}) tuple({', '.join(f'c{k}' for k in range(len(kinds)))})")
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder, "inputs.hlo")
                file.write_text("HloModule m\n\nENTRY e {\n" + "\n".join(lines) + "\n}\n", encoding="utf-8")
                v = cli.eval(str(file), case, 12345, folder)
                for k, t in enumerate(kinds):
                    if not v.ok:
                        bad.append(f"{case}: {v.why}")
                        break
                    got = np.load(Path(folder, f"out{k}.npy"))
                    wanted = reference.inputs.values(12345, k, t, count, case, ranged)
                    if got.tobytes() != np.ascontiguousarray(wanted).tobytes():
                        bad.append(f"inputs of type {t}, case {case}{', ranged' if ranged else ''}, are not those of inputs.py")
    return bad


def evaluate(cli: Cli, stored: Golden, root: Path, file: str, case: str) -> Tuple[str, str]:
    """The outcome of one case of one file: ("agrees" | "differs" | "declined" | "failed" | "missing", why)."""
    seed = stored.seed(file, case, doubtful=True)
    if seed is None:
        return "missing", ""
    with tempfile.TemporaryDirectory() as folder:
        v = cli.eval(str(root / file), case, seed, folder)
        if not v.ok:
            return "declined" if v.declined else "failed", v.why
        why = stored.differs(file, case, Path(folder))
        return ("differs" if why else "agrees"), why


def main() -> int:
    p = argparse.ArgumentParser(description="the evaluator against every golden output")
    p.add_argument("warpburg")
    p.add_argument("--shared", type=Path, default=Path(__file__).resolve().parents[3] / "shared")
    p.add_argument("--every", type=int, default=1, help="every Nth file")
    p.add_argument("--only", default="", help="only files whose path contains this")
    p.add_argument("-j", type=int, default=2, dest="jobs")
    o = p.parse_args()
    if MISSING or not (o.shared / "golden").is_dir():
        print(f"skipped: golden outputs: {MISSING or o.shared / 'golden'} {'' if MISSING else 'is not there'}")
        print("0 passed, 0 failed")
        return 0
    cli, rows_known = Cli(o.warpburg, o.jobs), known()
    counts: Counter = Counter()
    wrong = generated_inputs(cli, checker(o.shared / "golden"))
    bad = len(wrong)
    print("\n".join(wrong) if wrong else f"generated inputs: {len(GENERATED)} types agree with inputs.py bit for bit in all cases", flush=True)
    for part in PARTS:
        stored, root = Golden(o.shared / "golden", part), o.shared / "corpus" / part
        files = [f for f in sorted({f for f, _ in stored.rows})[::o.every] if o.only in f]
        work = [(f, c) for f in files for c in CASES]
        results = cli.each(lambda fc: evaluate(cli, stored, root, *fc), work)
        failed = set()
        for (f, c), (word, why) in zip(work, results):
            fault, reason = rows_known.get((part, f, c), ("", ""))
            counts[f"{word}, known ({fault})" if fault else word] += 1
            if fault and word == "agrees":
                print(f"agrees, but listed in golden_known.tsv: {part}/{f} {c}")
                failed.add(f)
            elif word == "agrees":
                continue
            elif fault:
                print(f"known: {part}/{f} {c}: {fault}: {reason}")
            else:
                print(f"{word}: {part}/{f} {c}: {why}", flush=True)
                failed.add(f)
        print(f"{part}: {len(files)} files, {len(files) - len(failed)} agree in all cases", flush=True)
        counts["files"] += len(files)
        bad += len(failed)
    print(", ".join(f"{n} {word}" for word, n in sorted(counts.items()) if word != "files") + " (cases)")
    print(f"{counts['files'] - bad} passed, {bad} failed")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
