"""Outputs against those that another implementation stored for the same inputs.

Needs numpy and the folder `golden` of the shared data: its golden_check.py has the comparison, its README the meaning of the
tolerances. A Golden answers, for a file and a case, with which seed its inputs are made and whether the .npy files of a folder agree.

    g = Golden(Path("../shared/golden"), "programs")
    seed = g.seed("x.hlo", "e")                          None: nothing stored for it
    why = g.differs("x.hlo", "e", folder_of_outputs)     "" where all agree

As a program it evaluates every file with stored outputs, all three cases, two processes at once, and ends with `N passed, M failed`
in files. Disagreements that are understood stand in golden_known.tsv, each with whose fault it is; one that is listed and does not
differ any more is a failure, so that the list stays true.

    golden.py build/warpburg [--every 10] [--only gelu]
"""
import argparse
import csv
import importlib.util
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Dict, List, Optional, Set, Tuple

from warpburg_cli import Cli

# Differences that are understood and nobody's fault: how many times the stored tolerance `run` may miss by, and why.
UNDERSTOOD = {
    "un_lgamma_f32.S__loop_select_fusion.hlo":
        (1.5, "terms of size 2 cancel to -0.11, where the 1 ulp that log and log-plus-one may miss by is more than 4 times the "
              "distance of the stored value from f64"),
}

try:
    import numpy as np
    MISSING = ""
except ImportError:
    MISSING = "this Python has no numpy"


def _checker(folder: Path):
    """golden_check.py as a module; it imports its neighbour inputs.py."""
    sys.path.insert(0, str(folder))
    spec = importlib.util.spec_from_file_location("golden_check", folder / "golden_check.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Golden:
    def __init__(self, root: Path, part: str) -> None:
        folder = root / part
        self.c = _checker(root)
        self.blob = np.memmap(folder / "outputs.bin", dtype=np.uint8, mode="r")
        self.rows: Dict[Tuple[str, str], List[Dict[str, str]]] = {}
        with open(folder / "index.tsv", encoding="utf-8", newline="") as index:
            for row in csv.DictReader(index, delimiter="\t"):
                self.rows.setdefault((row["file"], row["case"]), []).append(row)
        doubtful = folder / "doubtful.tsv"
        lines = doubtful.read_text(encoding="utf-8").splitlines() if doubtful.exists() else []
        self.doubtful: Set[Tuple[str, ...]] = {tuple(line.split("\t")[:2]) for line in lines}

    def _key(self, file: str, case: str) -> Tuple[str, str]:
        """Rows know a file by its path within the part; its name alone is as good where the part has no folders."""
        return (file, case) if (file, case) in self.rows else (Path(file).name, case)

    def seed(self, file: str, case: str, doubtful: bool = False) -> Optional[int]:
        """`doubtful`: also of a case that the stored table itself calls doubtful."""
        key = self._key(file, case)
        rows = self.rows.get(key)
        return int(rows[0]["seed"]) if rows and (doubtful or key not in self.doubtful) else None

    def differs(self, file: str, case: str, outputs: Path, wider: float = 1.0) -> str:
        rows = self.rows[self._key(file, case)]
        if (outputs / f"out{len(rows)}.npy").exists():
            return f"more than {len(rows)} outputs"
        for row in rows:
            why = self._one(row, outputs / f"out{row['output']}.npy", wider)
            if why:
                return f"output {row['output']} ({row['dtype']}) {why}"
        return ""

    def _one(self, row: Dict[str, str], path: Path, wider: float) -> str:
        c, t, n, stored = self.c, row["dtype"], int(row["elements"]), int(row["stored"])
        a = np.load(path)
        if a.dtype != np.dtype(c.NPY[t]):
            return f"has type {a.dtype}, {c.NPY[t]} expected"
        if "x".join(map(str, a.shape)) != row["shape"].replace("scalar", ""):
            return f"has shape {a.shape}, {row['shape']} expected"
        parts, bits = 2 if t in ("c64", "c128") else 1, c.BITS_TYPE[c.SIZE[t]]
        at = c.inputs.sample_positions(n).astype(np.int64)
        got = np.ascontiguousarray(a).reshape(-1).view(bits).reshape(n, parts)[at].reshape(-1)
        reference = self._stored(int(row["offset"]), stored * parts * c.SIZE[t], bits)
        tolerance = None
        if row["tolerance_offset"]:
            tolerance = self._stored(int(row["tolerance_offset"]), 4 * stored * parts, np.float32).astype(np.float64) * wider
        ok = c.close(got, reference, t, tolerance)
        if ok.all():
            return ""
        k = int(np.argmin(ok))
        allowed = "" if tolerance is None else f", tolerance {tolerance[k]:.3g}"
        return f"element {int(at[k // parts])} is 0x{int(got[k]):x}, stored 0x{int(reference[k]):x}{allowed}; {int((~ok).sum())} of {ok.size}"

    def _stored(self, offset: int, size: int, kind) -> "np.ndarray":
        return np.frombuffer(self.blob[offset:offset + size].tobytes(), dtype=kind)


# every stored output, by the evaluator ------------------------------------------------------------------------------------------

PARTS = ("programs", "blocks", "fusions", "emitter-tests")
CASES = "enp"


def known(path: Path = Path(__file__).with_name("golden_known.tsv")) -> Dict[Tuple[str, str, str], Tuple[str, str]]:
    """(part, file, case) -> (whose fault, why) of the disagreements that are understood."""
    with open(path, encoding="utf-8", newline="") as lines:
        return {(r["part"], r["file"], r["case"]): (r["fault"], r["why"]) for r in csv.DictReader(lines, delimiter="\t")}


GENERATED = "pred s4 u4 s8 u8 s16 u16 s32 u32 s64 u64 f8e4m3fn f8e5m2 f16 bf16 f32 f64 c64 c128".split()


def generator(cli: Cli, checker, count: int = 5000) -> List[str]:
    """What differs between the inputs that warpburg makes and those of inputs.py: every type, every case, ranged indices too."""
    bad = []
    for case in CASES:
        for ranged in (False, True):
            kinds = [t for t in GENERATED if not ranged or t in ("s32", "u32", "s64", "u64")]
            lines = [f"  p{k} = {t}[{count}] parameter({k})" for k, t in enumerate(kinds)]
            lines += [f"  c{k} = {t}[{count}] copy(p{k})" for k, t in enumerate(kinds)]
            results = ", ".join(f"{t}[{count}]" for t in kinds)
            if ranged:  # what makes an index of each of them
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
                    wanted = checker.inputs.values(12345, k, t, count, case, ranged)
                    if got.tobytes() != np.ascontiguousarray(wanted).tobytes():
                        bad.append(f"inputs of type {t}, case {case}{', ranged' if ranged else ''}, are not those of inputs.py")
    return bad


def evaluate(cli: Cli, stored: Golden, root: Path, file: str, case: str) -> Tuple[str, str]:
    """("agrees" | "differs" | "declined" | "failed" | "missing", why) of one case of one file."""
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
    p = argparse.ArgumentParser(description="the evaluator against every stored output")
    p.add_argument("warpburg")
    p.add_argument("--shared", type=Path, default=Path(__file__).resolve().parents[2] / "shared")
    p.add_argument("--every", type=int, default=1, help="one file of so many")
    p.add_argument("--only", default="", help="files whose path has this in it")
    p.add_argument("-j", type=int, default=2, dest="jobs")
    o = p.parse_args()
    if MISSING or not (o.shared / "golden").is_dir():
        print(f"skipped: stored outputs: {MISSING or o.shared / 'golden'} {'' if MISSING else 'is not there'}")
        print("0 passed, 0 failed")
        return 0
    cli, understood = Cli(o.warpburg, o.jobs), known()
    counts: Counter = Counter()
    wrong = generator(cli, _checker(o.shared / "golden"))
    bad = len(wrong)
    print("\n".join(wrong) if wrong else f"generated inputs: {len(GENERATED)} types agree with inputs.py bit for bit in all cases", flush=True)
    for part in PARTS:
        stored, root = Golden(o.shared / "golden", part), o.shared / "corpus" / part
        files = [f for f in sorted({f for f, _ in stored.rows})[::o.every] if o.only in f]
        work = [(f, c) for f in files for c in CASES]
        results = cli.each(lambda fc: evaluate(cli, stored, root, *fc), work)
        failed = set()
        for (f, c), (word, why) in zip(work, results):
            fault, reason = understood.get((part, f, c), ("", ""))
            counts[f"{word}, understood ({fault})" if fault else word] += 1
            if fault and word == "agrees":
                print(f"understood, but agrees: {part}/{f} {c}")
                failed.add(f)
            elif word == "agrees":
                continue
            elif fault:
                print(f"understood: {part}/{f} {c}: {fault}: {reason}")
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
