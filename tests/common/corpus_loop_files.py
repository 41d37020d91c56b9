"""The loop fusions of the shared corpus of real programs that must compile: of kind kLoop, with OPERATIONS and TYPES only.

Needs ../shared/corpus/programs (index.tsv and the .hlo files). `select` returns their paths by scale (S, M, L), sorted.

    files = select(Path("../shared/corpus/programs"));  len(files["S"]), len(files["M"]) + len(files["L"])   ->   251, 473
"""
import csv
import re
from pathlib import Path
from typing import Dict, List

OPERATIONS = set("""
    add subtract multiply divide remainder power maximum minimum negate abs sign exponential exponential-minus-one log log-plus-one
    logistic tanh sine cosine tan sqrt rsqrt cbrt atan2 erf floor ceil round-nearest-afz round-nearest-even is-finite not and or xor
    shift-left shift-right-arithmetic shift-right-logical popcnt count-leading-zeros sinh cosh asin acos atan asinh acosh atanh
    reduce-precision constant broadcast iota reshape bitcast slice reverse transpose convert bitcast-convert compare select clamp
    tuple get-tuple-element copy parameter fusion""".split())
TYPES = set("pred s8 s16 s32 s64 u8 u16 u32 u64 f16 bf16 f32 f64".split())
OPERATION = re.compile(r"=\s*(?:\([^=]*?\)|\S+)\s+([a-z][\w\-]*)\(")


def select(folder: Path) -> Dict[str, List[str]]:
    found: Dict[str, List[str]] = {"S": [], "M": [], "L": []}
    with open(folder / "index.tsv", encoding="utf-8", newline="") as index:
        for row in csv.DictReader(index, delimiter="\t"):
            if row["kind"] != "kLoop" or set(row["dtypes"].split()) - TYPES:
                continue
            text = (folder / row["file"]).read_text(encoding="utf-8")
            if not set(OPERATION.findall(text)) - OPERATIONS:
                found[row["scale"]].append(str(folder / row["file"]))
    return {scale: sorted(files) for scale, files in found.items()}
