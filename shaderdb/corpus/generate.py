#!/usr/bin/env python3
"""Writes generated/*.hlo and README.md: fusions of every emitter kind, type and size class.

    generate.py [--check]       --check: write nothing; exit with 1 if a file would change

The fusions are in elements.py, movement.py, sums.py and science.py: a short function for each family, one `add` for each file.
"""
from __future__ import annotations

import sys
from pathlib import Path
from typing import Dict, List

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import elements, movement, science, sums  # noqa: E401, E402, F401
from catalogue import FUSIONS, Fusion  # noqa: E402

HEAD = """# Corpus

Fusions written for warpburg, one per file. The `*.hlo` files in this folder are written by hand; `tests/kernels/corpus_loops.py` runs them and
compares every element, and `../README.md` says what each is for. `generate.py` writes `generated/` from the families in `elements.py`,
`movement.py`, `sums.py` and `science.py`; `generate.py --check` fails if a file differs. A name ends in its size class: `L` a size of real
programs, `S` small and odd, with tails and bounds checks. A fusion that the compiler declines has a record like any other.

| generated file | emitter kind | types | what it is for |
|---|---|---|---|
"""


def files() -> Dict[str, str]:
    out: Dict[str, str] = {}
    lines: List[str] = []
    kinds = list(dict.fromkeys(f.kind for f in FUSIONS))    # in the order of the families: a remark may refer to the line above
    for f in sorted(FUSIONS, key=lambda f: kinds.index(f.kind)):
        out[f"generated/{f.name}.hlo"] = text(f)
        lines.append(f"| `{f.name}` | {f.kind} | {', '.join(f.body.types())} | {f.what} |")
    out["README.md"] = HEAD + "\n".join(lines) + "\n"
    return out


def text(f: Fusion) -> str:
    module = f.name.replace(".", "_")
    entry = [f"  e{n} = {shape} parameter({n})" for n, shape in enumerate(f.body.parameters)]
    operands = ", ".join(f"e{n}" for n in range(len(f.body.parameters)))
    kind = "kInput" if f.kind in ("row reduction", "column reduction", "scatter", "normalisation") else "kLoop"
    return "\n".join([f"// {f.what}", f"HloModule {module}", "", *f.body.functions, "body {", *f.body.lines, "}", "", "ENTRY main {", *entry,
                      f"  ROOT {module} = {f.body.result} fusion({operands}), kind={kind}, calls=body", "}", ""])


def main() -> int:
    check, stale = "--check" in sys.argv[1:], 0
    wanted = files()
    (HERE / "generated").mkdir(exist_ok=True)
    present = {f"generated/{p.name}" for p in (HERE / "generated").glob("*.hlo")}
    for name in sorted(present - set(wanted)):
        stale += 1
        if not check:
            (HERE / name).unlink()
    for name, content in wanted.items():
        path = HERE / name
        if path.is_file() and path.read_text(encoding="utf-8") == content:
            continue
        stale += 1
        if not check:
            path.write_text(content, encoding="utf-8")
    print(f"{len(wanted) - 1} fusions, {stale} files {'differ' if check else 'written'}")
    return int(check and stale > 0)


if __name__ == "__main__":
    sys.exit(main())
