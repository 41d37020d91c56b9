"""Golden outputs: those that another implementation stored for the same inputs.

Needs numpy and the folder `golden` of the shared data: its golden_check.py has the comparison, its README the meaning of the
tolerances. A Golden answers, for a file and a case, with which seed its inputs are made and whether the .npy files of a folder agree.

    g = Golden(Path("../shared/golden"), "programs")
    seed = g.seed("x.hlo", "e")                          None: nothing stored for it
    why = g.differs("x.hlo", "e", folder_of_outputs)     "" where all agree

Disagreements with a known cause stand in golden_known.tsv, each with whose fault it is.
"""
import csv
import importlib.util
import sys
from pathlib import Path
from typing import Dict, List, Optional, Set, Tuple

PARTS = ("programs", "blocks", "fusions", "emitter-tests")
CASES = "enp"

# Files whose outputs may differ by more than the stored tolerance: by how many times, and why.
WIDER = {
    "un_lgamma_f32.S__loop_select_fusion.hlo":
        (1.5, "terms of size 2 cancel to -0.11, where the 1 ulp that log and log-plus-one may miss by is more than 4 times the "
              "distance of the stored value from f64"),
}

try:
    import numpy as np
    MISSING = ""
except ImportError:
    MISSING = "numpy is not installed"


def checker(folder: Path):
    """The folder's golden_check.py as a module; it imports inputs.py beside it."""
    sys.path.insert(0, str(folder))
    spec = importlib.util.spec_from_file_location("golden_check", folder / "golden_check.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Golden:
    def __init__(self, root: Path, part: str) -> None:
        folder = root / part
        self.c = checker(root)
        self.blob = np.memmap(folder / "outputs.bin", dtype=np.uint8, mode="r")
        self.rows: Dict[Tuple[str, str], List[Dict[str, str]]] = {}
        with open(folder / "index.tsv", encoding="utf-8", newline="") as index:
            for row in csv.DictReader(index, delimiter="\t"):
                self.rows.setdefault((row["file"], row["case"]), []).append(row)
        doubtful = folder / "doubtful.tsv"
        lines = doubtful.read_text(encoding="utf-8").splitlines() if doubtful.exists() else []
        self.doubtful: Set[Tuple[str, ...]] = {tuple(line.split("\t")[:2]) for line in lines}

    def _key(self, file: str, case: str) -> Tuple[str, str]:
        """The key of a file's rows: its path within the part, or its name where the part has no folders."""
        return (file, case) if (file, case) in self.rows else (Path(file).name, case)

    def seed(self, file: str, case: str, doubtful: bool = False) -> Optional[int]:
        """The seed of the inputs; None if nothing is stored, or if the data calls the case doubtful and `doubtful` is not set."""
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


def known(path: Path = Path(__file__).with_name("golden_known.tsv")) -> Dict[Tuple[str, str, str], Tuple[str, str]]:
    """(part, file, case) -> (whose fault, why) of the disagreements with a known cause."""
    with open(path, encoding="utf-8", newline="") as lines:
        return {(r["part"], r["file"], r["case"]): (r["fault"], r["why"]) for r in csv.DictReader(lines, delimiter="\t")}
