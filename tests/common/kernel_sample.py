"""A sample of small kernels of all kinds and types, of which kernel_mutants.py makes mutants.

    for k in kernels(Path("../shared")): print(k.name, k.kind, k.text[:40])         # in an order of which every beginning is mixed

The families of shaderdb/corpus at small sizes and at every type; the small files of shaderdb/corpus and tests/lit/emit; and, where they are
present, the small fusions of real programs in the shared corpus. The kind is that of the costliest operation in the text.
"""
from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Callable, Dict, Iterator, List, NamedTuple, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "shaderdb" / "corpus"))

import elements  # noqa: E402
import generate  # noqa: E402
import movement  # noqa: E402
import sums  # noqa: E402
from catalogue import Fusion  # noqa: E402
from hlo import Body  # noqa: E402

FLOATS = ("f32", "bf16", "f16", "f64")
EIGHTS = ("f8e4m3fn", "f8e5m2")
INTEGERS = ("s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64")
LARGEST = {f"{s}{n}": (1 << n - (s == "s")) - 1 for s in "su" for n in (8, 16, 32, 64)}
KINDS = ("convolution", "dot", "scatter", "reduce-window", "argmax", "reduce", "gather", "dynamic-update-slice", "dynamic-slice", "concatenate", "pad",
         "transpose", "reverse", "slice", "convert", "select", "broadcast")     # the first whose operation is in the text; otherwise loop


class Sample(NamedTuple):
    name: str
    kind: str
    text: str


def kind_of(text: str) -> str:
    for kind in KINDS:
        if kind == "argmax" and re.search(r"= \([^=]*\) reduce\(", text) or re.search(rf"[ =]{kind}\(", text):
            return kind
    return "loop"


def arithmetic(b: Body, t: str, *dims: int) -> None:
    x, y = b.parameter(t, *dims), b.parameter(t, *dims)
    b.finish(b.op("subtract", b.op("multiply", x, y), y))


def bits(b: Body, t: str, *dims: int) -> None:
    x, y = b.parameter(t, *dims), b.parameter(t, *dims)
    b.finish(b.op("xor", b.op("and", x, y), b.op("or", x, b.op("not", y))))


def bias(b: Body, t: str, rows: int, n: int) -> None:
    x, w = b.parameter(t, rows, n), b.parameter(t, n)
    b.finish(b.op("maximum", b.op("add", x, b.broadcast(w, x.dims, (1,))), b.splat(x, 0)))


def converted(b: Body, t: str, to: str, *dims: int) -> None:
    b.finish(b.convert(b.parameter(t, *dims), to))


def clamped(b: Body, t: str, *dims: int) -> None:
    x = b.parameter(t, *dims)
    b.finish(b.op("clamp", b.splat(x, 1), x, b.splat(x, 3)))


def reversed_slice(b: Body, t: str, rows: int, n: int) -> None:
    x = b.slice(b.parameter(t, rows, n), (1, rows), (0, n, 2))
    b.finish(b.op("reverse", x, more=", dimensions={1}"))


def reduced(b: Body, op: str, t: str, start: object, over: List[int], *dims: int) -> None:
    b.finish(b.reduce(op, b.parameter(t, *dims), *over, start=start))


def pooled(b: Body, op: str, t: str, start: object, *dims: int) -> None:
    b.finish(b.window(op, b.parameter(t, *dims), (1, 3), (1, 2), ((0, 0), (1, 1)), start))


def dot(b: Body, t: str, to: str, m: int, n: int, k: int) -> None:
    x, y = b.parameter(t, m, k), b.parameter(t, k, n)
    b.finish(b.op("dot", x, y, type=to, dims=(m, n), more=", lhs_contracting_dims={1}, rhs_contracting_dims={0}"))


def convolution(b: Body, t: str, n: int, h: int, c: int, o: int) -> None:
    x, y = b.parameter(t, n, h, h, c), b.parameter(t, 3, 3, c, o)
    b.finish(b.op("convolution", x, y, type=t, dims=(n, h, h, o), more=", window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"))


def argmax(t: str, rows: int, n: int) -> str:
    low = "-inf" if t[0] in "fb" else "0" if t[0] == "u" else str(-1 - LARGEST[t])
    more = "" if t[0] in "fb" else ", type=UNSIGNED" if t[0] == "u" else ", type=SIGNED"
    return f"""HloModule argmax
step {{ a = {t}[] parameter(0) i = s32[] parameter(1) b = {t}[] parameter(2) j = s32[] parameter(3)
  ge = pred[] compare(a, b), direction=GE{more} eq = pred[] compare(a, b), direction=EQ{more} lt = pred[] compare(i, j), direction=LT
  gt = pred[] compare(a, b), direction=GT{more} tie = pred[] and(eq, lt) first = pred[] or(gt, tie)
  v = {t}[] select(ge, a, b) k = s32[] select(first, i, j) ROOT r = ({t}[], s32[]) tuple(v, k) }}
body {{ x = {t}[{rows},{n}] parameter(0) at = s32[{rows},{n}] iota(), iota_dimension=1 z = {t}[] constant({low}) o = s32[] constant(0)
  ROOT r = ({t}[{rows}], s32[{rows}]) reduce(x, at, z, o), dimensions={{1}}, to_apply=step }}
ENTRY main {{ e = {t}[{rows},{n}] parameter(0) ROOT m = ({t}[{rows}], s32[{rows}]) fusion(e), kind=kInput, calls=body }}
"""


def families() -> Iterator[Tuple[str, Callable[..., None], Tuple]]:
    """Name, function and its arguments after the body."""
    for t in FLOATS + EIGHTS + INTEGERS + ("s4", "c64"):
        yield f"arithmetic_{t}", arithmetic, (t, 7, 33)
        yield f"arithmetic_wide_{t}", arithmetic, (t, 32, 64)
    for t in INTEGERS + ("pred",):
        yield f"bits_{t}", bits, (t, 5, 31)
    for t in FLOATS:
        yield f"bias_{t}", bias, (t, 9, 40)
        yield f"silu_{t}", elements.silu, (t, 6, 35)
        yield f"relu_gradient_{t}", elements.relu_gradient, (t, 7, 30)
        yield f"softmax_{t}", sums.softmax, (t, 5, 24)
        yield f"convolution_{t}", convolution, (t, 1, 5, 3, 4)
    for t in FLOATS + ("s8", "u8", "s32", "pred", "s64", "f8e5m2"):
        yield f"transpose_{t}", movement.transposed, (t, [1, 0], 19, 24)
        yield f"transpose_021_{t}", movement.transposed, (t, [0, 2, 1], 3, 8, 16)
        yield f"concatenate_{t}", movement.concatenated, (t, 7, 3, 8, 5)
        yield f"cache_update_{t}", movement.cache_update, (t, 2, 9, 8)
        yield f"cache_read_{t}", movement.cache_read, (t, 4, 5, 8)
        yield f"embedding_{t}", movement.embedding, (t, 11, 12, 7)
        yield f"reverse_{t}", reversed_slice, (t, 5, 16)
    for t in FLOATS + ("s8", "s32", "u16", "f8e5m2"):
        yield f"pad_{t}", movement.padded, (t, 2, 4, 6, 4)
        yield f"split_heads_{t}", movement.split_heads, (t, 1, 4, 3, 8)
        yield f"clamp_{t}", clamped, (t, 5, 24)
        yield f"pool_{t}", pooled, ("add", t, 0, 6, 17)
        yield f"row_sum_{t}", reduced, ("add", t, 0, [1], 9, 33)
        yield f"column_sum_{t}", reduced, ("add", t, 0, [0], 40, 16)
    for t in FLOATS:
        yield f"row_max_{t}", reduced, ("maximum", t, "-inf", [1], 9, 28)
        yield f"product_{t}", reduced, ("multiply", t, 1, [1], 9, 9)
        yield f"max_pool_{t}", pooled, ("maximum", t, "-inf", 6, 17)
        yield f"row_sum_long_{t}", reduced, ("add", t, 0, [1], 3, 700)
    for t in INTEGERS:
        yield f"row_min_{t}", reduced, ("minimum", t, LARGEST[t], [1], 9, 28)
        yield f"row_product_{t}", reduced, ("multiply", t, 1, [1], 9, 9)
        yield f"row_and_{t}", reduced, ("and", t, -1 if t[0] == "s" else LARGEST[t], [1], 9, 19)
    yield "row_and_pred", reduced, ("and", "pred", "true", [1], 9, 33)
    yield "row_or_pred", reduced, ("or", "pred", "false", [1], 9, 33)
    for t, to in (("f32", "f32"), ("bf16", "bf16"), ("bf16", "f32"), ("f16", "f16"), ("f64", "f64"), ("s8", "s32"), ("s32", "s32"), ("f8e4m3fn", "f32"),
                  ("f8e5m2", "f16")):
        yield f"dot_{t}_{to}", dot, (t, to, 6, 10, 17)
        yield f"dot_long_{t}_{to}", dot, (t, to, 3, 5, 130)
    for t, to in (("f32", "bf16"), ("f32", "f16"), ("f64", "f32"), ("f32", "f8e4m3fn"), ("f16", "f8e5m2"), ("f32", "s8"), ("s32", "f32"), ("f64", "u32"),
                  ("s64", "f32"), ("pred", "f32"), ("u8", "bf16"), ("s4", "f16"), ("f8e4m3fn", "bf16"), ("s16", "u8"), ("bf16", "s16")):
        yield f"convert_{t}_{to}", converted, (t, to, 7, 30)


def built() -> Iterator[Sample]:
    for name, build, arguments in families():
        b = Body()
        build(b, *arguments)
        text = generate.text(Fusion(name, "loop", name, b))
        yield Sample(name, kind_of(text), text)
    for t in FLOATS + ("s32", "s16", "u8"):
        for n in (17, 80):
            yield Sample(f"argmax_{n}_{t}", "argmax", argmax(t, 24, n))


def files(shared: Path) -> Iterator[Sample]:
    corpus = ROOT / "shaderdb" / "corpus"
    found = sorted(corpus.glob("*.hlo")) + sorted(corpus.glob("generated/*.S.hlo")) + sorted((ROOT / "tests" / "lit" / "emit").glob("*.hlo"))
    for part, pattern in (("emitter-tests", "*/*.hlo"), ("fusions", "*.hlo"), ("blocks", "*.S__*.hlo"), ("programs", "*.S__*.hlo")):
        found += sorted((shared / "corpus" / part).glob(pattern))
    for f in found:
        text = f.read_text(encoding="utf-8")
        yield Sample(f"{f.parent.name}/{f.name}", kind_of(text), text)


def kernels(shared: Path) -> List[Sample]:
    """All kernels, one of each kind after the other; within a kind our families and files take turns with the shared corpus."""
    by_kind: Dict[str, List[Sample]] = {}
    ours, others = list(built()), list(files(shared))
    for group in (ours, others):
        taken: Dict[str, List[Sample]] = {}
        for k in group:
            taken.setdefault(k.kind, []).append(k)
        for kind, items in taken.items():
            step = next(s for s in (7, 11, 13, 1) if len(items) % s or s == 1)      # neighbours in the list are alike,
            items = [items[(len(by_kind) + n * step) % len(items)] for n in range(len(items))]  # and kinds begin with different types
            before = by_kind.get(kind, [])
            both: List[Sample] = []
            for n in range(max(len(before), len(items))):
                both += before[n:n + 1] + items[n:n + 1]
            by_kind[kind] = both
    out: List[Sample] = []
    for n in range(max(map(len, by_kind.values()))):
        out += [items[n] for items in by_kind.values() if n < len(items)]
    return out
