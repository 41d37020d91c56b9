#!/usr/bin/env python3
"""Every elementwise operation at every type that it takes, and every conversion: compiled, run, and compared with the evaluator's bounds.

    element_types.py WARPBURG [--all] [--targets sm_75,sm_90] [--only TEXT] [-j N] [--keep DIR]

A generated fusion has operands of one type and up to OUTPUTS operations, each an output of its own; conversions from a type are fusions of
their own. Each is compiled, assembled where ptxas is found, and run under --check on cases e (edge values) and n. It has 1,037 elements, which no
unroll factor and no block size divides; a further fusion of each type is so large that a thread has a vector. What warpburg declines must be
listed in DECLINED with its reason, and what is listed must be declined. Without --all every 16th fusion is run, for one target. Ends with
`N passed, M failed`.
"""
import argparse
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Dict, Iterator, List, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
from warpburg_cli import TARGETS  # noqa: E402

ELEMENTS, WIDE, OUTPUTS = 1037, 1 << 17, 8

SIGNED, UNSIGNED = ("s2", "s4", "s8", "s16", "s32", "s64"), ("u2", "u4", "u8", "u16", "u32", "u64")
SMALL = ("f4e2m1fn", "f8e3m4", "f8e4m3", "f8e4m3fn", "f8e4m3b11fnuz", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "f8e8m0fnu")
FLOATS, COMPLEX = (*SMALL, "f16", "bf16", "f32", "f64"), ("c64", "c128")
NUMBERS = (*SIGNED, *UNSIGNED, *FLOATS)

ARITHMETIC = ("add", "subtract", "multiply", "divide")
FUNCTIONS = ("exponential", "exponential-minus-one", "log", "log-plus-one", "logistic", "tanh", "tan", "sine", "cosine", "sinh", "cosh", "asin",
             "acos", "acosh", "asinh", "atanh", "sqrt", "rsqrt", "cbrt")
UNARY = {"float": ("abs", "negate", "sign", "floor", "ceil", "round-nearest-even", "round-nearest-afz", "erf", *FUNCTIONS),
         "signed": ("abs", "negate", "sign", "not", "popcnt", "count-leading-zeros"),
         "unsigned": ("negate", "sign", "not", "popcnt", "count-leading-zeros"),
         "pred": ("not",),
         "complex": ("negate", "sign", *FUNCTIONS)}
BINARY = {"float": (*ARITHMETIC, "remainder", "power", "maximum", "minimum", "atan2"),
          "pred": ("add", "multiply", "maximum", "minimum", "and", "or", "xor"),
          "complex": (*ARITHMETIC, "power")}
BINARY["signed"] = BINARY["unsigned"] = (*ARITHMETIC, "remainder", "power", "maximum", "minimum", "and", "or", "xor", "shift-left",
                                         "shift-right-arithmetic", "shift-right-logical", "mulhi")
DIRECTIONS = ("EQ", "NE", "LT", "LE", "GT", "GE")
DECLINED: Dict[str, str] = {}  # name of a fusion -> reason

Operation = Tuple[str, str]  # type of the result, text with %a, %b, %c, %p for operands


def kind_of(t: str) -> str:
    return "pred" if t == "pred" else "complex" if t in COMPLEX else "signed" if t in SIGNED else "unsigned" if t in UNSIGNED else "float"


def bits_of(t: str) -> int:
    digits = "".join(c for c in t.split("e")[0] if c.isdigit())
    return 8 if t == "pred" else int(digits)


def reductions(t: str) -> Iterator[Tuple[int, int]]:
    """(exponent bits, mantissa bits) of reduce-precision: more than the type has, as many, and fewer."""
    yield from ((8, 7), (5, 10), (5, 2), (4, 3), (3, 1), (8, 23), (2, 0)) if t in ("f16", "bf16", "f32", "f64") else ((4, 1), (3, 2), (2, 0))


def operations(t: str) -> Iterator[Operation]:
    kind = kind_of(t)
    for name in UNARY[kind]:
        yield t, f"{name}(a)"
    for name in BINARY[kind]:
        yield t, f"{name}(a, b)"
    for d in DIRECTIONS[:2] if kind == "complex" else DIRECTIONS:
        yield "pred", f"compare(a, b), direction={d}"
    yield t, "select(p, a, b)"
    yield t, "copy(a)"
    yield t, "clamp(a, b, c)"
    if kind == "complex":
        part = "f32" if t == "c64" else "f64"
        yield from ((part, "real(a)"), (part, "imag(a)"), (part, "abs(a)"))
    if kind == "float":
        yield "pred", "is-finite(a)"
        for d in DIRECTIONS:
            yield "pred", f"compare(a, b), direction={d}, type=TOTALORDER"
        for e, m in reductions(t):
            yield t, f"reduce-precision(a), exponent_bits={e}, mantissa_bits={m}"
        if t in ("f32", "f64"):
            yield "c64" if t == "f32" else "c128", "complex(a, b)"


def fusion(name: str, t: str, ops: List[Operation], n: int) -> str:
    """A fusion with an output for each operation; operands that no operation reads are left out."""
    lines, used = [], " ".join(text for _, text in ops)
    wanted = [(x, "pred" if x == "p" else t) for x in "abcp" if any(f"{left}{x}{right}" in used for left in "( " for right in ",)")]
    for k, (x, of) in enumerate(wanted):
        lines.append(f"  {x} = {of}[{n}] parameter({k})")
    for k, (of, text) in enumerate(ops):
        lines.append(f"  {'ROOT ' if len(ops) == 1 else ''}r{k} = {of}[{n}] {text}")
    if len(ops) > 1:
        lines.append(f"  ROOT t = ({', '.join(f'{of}[{n}]' for of, _ in ops)}) tuple({', '.join(f'r{k}' for k in range(len(ops)))})")
    return f"{name} {{\n" + "\n".join(lines) + "\n}\n"


def convertible(to: str, t: str) -> bool:
    return to != t and not (t in COMPLEX and to not in COMPLEX)


def fusions() -> Iterator[Tuple[str, str]]:
    """(name, text) of every fusion, in order."""
    for t in ("pred", *NUMBERS, *COMPLEX):
        every = list(operations(t))
        for k in range(0, len(every), OUTPUTS):
            yield f"{t}_{k // OUTPUTS}", fusion(f"{t}_{k // OUTPUTS}", t, every[k:k + OUTPUTS], ELEMENTS)
        to = [x for x in ("pred", *NUMBERS, *COMPLEX) if convertible(x, t)]
        for k in range(0, len(to), OUTPUTS):
            ops = [(x, "convert(a)") for x in to[k:k + OUTPUTS]]
            yield f"convert_{t}_{k // OUTPUTS}", fusion(f"convert_{t}_{k // OUTPUTS}", t, ops, ELEMENTS)
        if t not in COMPLEX:
            same = [(x, "bitcast-convert(a)") for x in NUMBERS if x != t and t != "pred" and bits_of(x) == bits_of(t)]
            for k in range(0, len(same), OUTPUTS):
                yield f"bits_{t}_{k // OUTPUTS}", fusion(f"bits_{t}_{k // OUTPUTS}", t, same[k:k + OUTPUTS], ELEMENTS)
        if t in FLOATS:
            random = f"u{bits_of(t)}"
            for to_type in ("s8", "s4", "u32", "s64"):
                text = (f"  a = {t}[{ELEMENTS}] parameter(0)\n  b = {random}[{ELEMENTS}] parameter(1)\n"
                        f"  ROOT r = {to_type}[{ELEMENTS}] stochastic-convert(a, b)\n")
                yield f"stochastic_{t}_{to_type}", f"stochastic_{t}_{to_type} {{\n{text}}}\n"
        small = [("add(a, b)" if t != "pred" else "and(a, b)"), "copy(a)"]
        yield f"wide_{t}", fusion(f"wide_{t}", t, [(t, x) for x in small] + ([("f32", "convert(a)")] if t not in COMPLEX else []), WIDE + 3)


def run(warpburg: str, path: Path, target: str, case: str) -> Tuple[int, str]:
    command = [warpburg, "run", str(path), "--target", target, "--check", "--case", case]
    p = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
    return p.returncode, p.stdout.strip()


def check(warpburg: str, path: Path, target: str) -> str:
    """Why the fusion fails; empty if it passes."""
    for case in "en":
        rc, text = run(warpburg, path, target, case)
        if rc == 3 and path.stem in DECLINED:
            return ""
        if rc:
            return f"case {case}, exit {rc}: {text[:400]}"
    return f"is listed in DECLINED ({DECLINED[path.stem]}) and works" if path.stem in DECLINED else ""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("warpburg")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--only", default="")
    parser.add_argument("-j", type=int, default=2)
    parser.add_argument("--keep", help="a folder in which the fusions are kept")
    args = parser.parse_args()
    targets = args.targets.split(",")
    chosen = [(n, t) for n, t in fusions() if args.only in n]
    jobs: List[Tuple[Path, str]] = []
    with tempfile.TemporaryDirectory(prefix="warpburg-") as tmp:
        folder = Path(args.keep or tmp)
        folder.mkdir(exist_ok=True)
        for k, (name, text) in enumerate(chosen):
            path = folder / f"{name}.hlo"
            path.write_text(text)
            jobs += [(path, t) for j, t in enumerate(targets) if args.all or args.only or (k % 16 == 5 and k // 16 % len(targets) == j)]
        with ThreadPoolExecutor(args.j) as pool:
            answers = list(pool.map(lambda job: check(args.warpburg, *job), jobs))
    for (path, target), why in zip(jobs, answers):
        if why:
            print(f"failed: {path.stem}, {target}: {why}")
    failed = sum(bool(a) for a in answers)
    print(f"{len(jobs) - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
