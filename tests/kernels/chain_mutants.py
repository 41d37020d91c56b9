"""Chains of reductions that lose a term are found: rows of 700 whose sums, maxima or minima leave out an operand, in one place of the kernel each.

usage: chain_mutants.py WARPBURG [--all]        prints what is not found, then `N passed, M failed`

A term that a first reduction loses may hide behind what is done with its result: sum(exp(x - max)) is the same with a smaller maximum, but where it
overflows. Each kernel must pass the input cases of FIRST, and each mutant of it (kind `term skipped` of ptx_mutants.py, at additions, maxima and
minima of floats) must not. A second softmax of a softmax is left out: its maximum is at most 1, and any other number would do.
"""
from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable, Dict, Iterator, List, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
import ptx_mutants  # noqa: E402

ROWS, N = 4, 700
FIRST = [("s", 1), ("d", 16), ("e", 1), ("n", 1), ("p", 1), ("w", 1), ("u", 1), ("c", 4)]  # cases, and how many seeds
COMBINERS = {"sum": ("add", "0"), "max": ("maximum", "-inf"), "min": ("minimum", "inf")}
REDUCES = re.compile(r"\s*(add|max|min)(\.\w+)*\.(f32|bf16|bf16x2)\s")


class Text:
    """HLO text of a chain that reads x, an array of ROWS rows."""

    def __init__(self, t: str) -> None:
        self.t, self.lines = t, [f"x = {t}[{ROWS},{N}] parameter(0)"]

    def value(self, dims: str, text: str) -> str:
        self.lines.append(f"v{len(self.lines)} = {self.t}[{dims}] {text}")
        return f"v{len(self.lines) - 1}"

    def each(self, op: str, *operands: str) -> str:
        return self.value(f"{ROWS},{N}", f"{op}({', '.join(operands)})")

    def row(self, op: str, *operands: str) -> str:
        return self.value(f"{ROWS}", f"{op}({', '.join(operands)})")

    def constant(self, number: str) -> str:
        return self.value(f"{ROWS}", f"broadcast({self.value('', f'constant({number})')}), dimensions={{}}")

    def spread(self, row: str) -> str:
        return self.value(f"{ROWS},{N}", f"broadcast({row}), dimensions={{0}}")

    def reduce(self, x: str, name: str) -> str:
        return self.value(f"{ROWS}", f"reduce({x}, {self.value('', f'constant({COMBINERS[name][1]})')}), dimensions={{1}}, to_apply={name}")

    def mean(self, x: str) -> str:
        return self.row("divide", self.reduce(x, "sum"), self.constant(str(N)))

    def exponentials(self) -> Tuple[str, str]:
        """exp(x - max), and max."""
        most = self.reduce("x", "max")
        return self.each("exponential", self.each("subtract", "x", self.spread(most))), most


def logsumexp(t: Text) -> str:
    e, most = t.exponentials()
    return t.row("add", t.row("log", t.reduce(e, "sum")), most)


def softmax(t: Text) -> str:
    e, _ = t.exponentials()
    return t.each("divide", e, t.spread(t.reduce(e, "sum")))


def sum_of_exponentials(t: Text) -> str:
    return t.reduce(t.exponentials()[0], "sum")


def variance(t: Text) -> str:
    d = t.each("subtract", "x", t.spread(t.mean("x")))
    return t.mean(t.each("multiply", d, d))


def sum_then_max(t: Text) -> str:
    s = t.row("add", t.reduce(t.each("abs", "x"), "sum"), t.constant("0.001"))
    return t.reduce(t.each("divide", "x", t.spread(s)), "max")


def mean_then_max(t: Text) -> str:
    return t.reduce(t.each("abs", t.each("subtract", "x", t.spread(t.mean("x")))), "max")


def min_then_max(t: Text) -> str:
    y = t.each("subtract", "x", t.spread(t.reduce("x", "min")))
    return t.each("divide", y, t.spread(t.row("add", t.reduce(y, "max"), t.constant("0.001"))))


CHAINS: Dict[str, Callable[[Text], str]] = {
    f.__name__: f for f in (logsumexp, softmax, sum_of_exponentials, variance, sum_then_max, mean_then_max, min_then_max)}


def module(name: str, t: str) -> str:
    text = Text(t)
    root = CHAINS[name](text)
    combiners = "".join(f"{c} {{ a = {t}[] parameter(0) b = {t}[] parameter(1) ROOT r = {t}[] {op}(a, b) }}\n" for c, (op, _) in COMBINERS.items())
    lines = "".join(f"  {'ROOT ' if line.startswith(root + ' ') else ''}{line}\n" for line in text.lines)
    return f"HloModule m\n{combiners}ENTRY {name} {{\n{lines}}}\n"


def refused(warpburg: str, bundle: Path) -> str:
    """The case that does, or "" where all pass."""
    for case, seeds in FIRST:
        words = [warpburg, "run", str(bundle), "--edited", "--check", "-j", "1", "--case", case, "--seeds", str(seeds)]
        if subprocess.run(words, capture_output=True, timeout=60).returncode:
            return case
    return ""


def survivors(warpburg: str, folder: Path, name: str, t: str, step: int) -> Iterator[str]:
    """A line for the kernel, where it fails, and for each mutant that is not found; "" for each that is."""
    (folder / "chain.hlo").write_text(module(name, t))
    bundle = folder / f"{name}_{t}"
    subprocess.run([warpburg, "compile", str(folder / "chain.hlo"), "--target", "sm_90", "-o", str(bundle)], check=True, capture_output=True)
    ptx = (bundle / "kernel.ptx").read_text()
    why = refused(warpburg, bundle)
    yield why and f"{name} {t}: the kernel itself fails in case {why}"
    lines = ptx.split("\n")
    skipped: List[ptx_mutants.Mutant] = [m for m in ptx_mutants.mutants(ptx) if m.kind == "term skipped" and REDUCES.match(lines[m.line])]
    for m in skipped[::step]:
        (bundle / "kernel.ptx").write_text(m.text(ptx))
        yield "" if refused(warpburg, bundle) else f"{name} {t}: line {m.line + 1}: {m.what}: not found"


def main(argv: List[str]) -> int:
    whole = "--all" in argv
    kinds = [(name, t) for name in CHAINS for t in ("f32", "bf16")] if whole else [("logsumexp", "f32"), ("softmax", "bf16")]
    with tempfile.TemporaryDirectory() as folder:
        results = [line for name, t in kinds for line in survivors(argv[1], Path(folder), name, t, 1 if whole else 3)]
    failed = [line for line in results if line]
    print("\n".join(failed + [f"{len(results) - len(failed)} passed, {len(failed)} failed"]))
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv))
