"""Reductions, and kernels with several of them."""
from __future__ import annotations

from typing import List

from catalogue import add
from hlo import Body

# reductions ---------------------------------------------------------------------------------------------------------------------------


def reduce_as_f32(b: Body, op: str, t: str, start: object, over: List[int], *dims: int) -> None:
    wide = "f32" if t in ("bf16", "f16") else t
    b.finish(b.convert(b.reduce(op, b.convert(b.parameter(t, *dims), wide), *over, start=start), t))


def mean_square(b: Body, rows: int, n: int) -> None:
    x = b.convert(b.parameter("bf16", rows, n), "f32")
    b.finish(b.op("multiply", b.reduce("add", b.op("multiply", x, x), 1), b.broadcast(b.scalar("f32", 1 / n), (rows,), ())))


def two_sums(b: Body, rows: int, n: int) -> None:
    x, y = b.parameter("f32", rows, n), b.parameter("f32", rows, n)
    b.finish(b.reduce("add", x, 0), b.reduce("add", b.op("multiply", x, y), 0))


def cross_entropy(b: Body, rows: int, n: int) -> None:
    x, label = b.parameter("f32", rows, n), b.parameter("s32", rows)
    hit = b.compare("EQ", b.iota("s32", x.dims, 1), b.broadcast(label, x.dims, (0,)))
    b.finish(b.reduce("add", b.select(hit, x, b.splat(x, 0)), 1))


for name, what, op, t, start, over, dims in (
        ("row_sum_f32.L", "a long row: warps and shared memory", "add", "f32", 0, [1], (4096, 4096)),
        ("row_sum_bf16.L", "the same, loaded as bf16", "add", "bf16", 0, [1], (4096, 8192)),
        ("row_sum_f32.S", "rows shorter than a warp", "add", "f32", 0, [1], (1031, 17)),
        ("row_max_f16.L", "a maximum, where order does not matter", "maximum", "f16", "-inf", [1], (8192, 1024)),
        ("row_sum_f64.L", "doubles", "add", "f64", 0, [1], (2048, 2048)),
        ("all_sum_f32.L", "everything to one number", "add", "f32", 0, [0, 1], (4096, 4096)),
        ("all_pred.L", "do all hold", "and", "pred", "true", [1], (4096, 4096)),
        ("row_product_s32.S", "integers that wrap", "multiply", "s32", 1, [1], (63, 65)),
        ("row_sum_3d_f32.L", "the last two of three dimensions", "add", "f32", 0, [1, 2], (256, 64, 512))):
    add(name, "row reduction", what, reduce_as_f32, op, t, start, over, *dims)
for name, what, t, over, dims in (
        ("column_sum_f32.L", "a bias's gradient", "f32", [0], (8192, 4096)),
        ("column_sum_bf16.L", "the same in bf16", "bf16", [0], (8192, 4096)),
        ("column_sum_f32.S", "few and odd columns", "f32", [0], (517, 19)),
        ("middle_sum_f32.L", "the middle of three dimensions", "f32", [1], (64, 512, 768))):
    add(name, "column reduction", what, reduce_as_f32, "add", t, 0, over, *dims)
add("mean_square_bf16.L", "row reduction", "what RMS norm needs of a row", mean_square, 8192, 4096)
add("two_sums_f32.L", "column reduction", "two results of one reduction's shape", two_sums, 8192, 1024)
add("pick_label_f32.L", "row reduction", "the logit of the label: a comparison with iota", cross_entropy, 4096, 32000)


# normalisation --------------------------------------------------------------------------------------------------------------------


def softmax(b: Body, t: str, rows: int, n: int) -> None:
    x = b.convert(b.parameter(t, rows, n), "f32")
    top = b.broadcast(b.reduce("maximum", x, 1, start="-inf"), x.dims, (0,))
    e = b.op("exponential", b.op("subtract", x, top))
    b.finish(b.convert(b.op("divide", e, b.broadcast(b.reduce("add", e, 1), x.dims, (0,))), t))


def rms_norm(b: Body, t: str, rows: int, n: int) -> None:
    x, w = b.parameter(t, rows, n), b.parameter(t, n)
    y = b.convert(x, "f32")
    mean = b.op("multiply", b.reduce("add", b.op("multiply", y, y), 1), b.broadcast(b.scalar("f32", 1 / n), (rows,), ()))
    r = b.op("rsqrt", b.op("add", mean, b.splat(mean, 1e-6)))
    b.finish(b.convert(b.op("multiply", b.op("multiply", y, b.broadcast(r, y.dims, (0,))), b.broadcast(b.convert(w, "f32"), y.dims, (1,))), t))


def layer_norm(b: Body, t: str, rows: int, n: int) -> None:
    x, w, bias = b.convert(b.parameter(t, rows, n), "f32"), b.convert(b.parameter(t, n), "f32"), b.convert(b.parameter(t, n), "f32")
    part = b.broadcast(b.scalar("f32", 1 / n), (rows,), ())
    centred = b.op("subtract", x, b.broadcast(b.op("multiply", b.reduce("add", x, 1), part), x.dims, (0,)))
    variance = b.op("multiply", b.reduce("add", b.op("multiply", centred, centred), 1), part)
    r = b.broadcast(b.op("rsqrt", b.op("add", variance, b.splat(variance, 1e-5))), x.dims, (0,))
    b.finish(b.convert(b.op("add", b.op("multiply", b.op("multiply", centred, r), b.broadcast(w, x.dims, (1,))), b.broadcast(bias, x.dims, (1,))), t))


for t, size, rows, n in (("bf16", "L", 8192, 4096), ("f32", "S", 37, 100)):
    add(f"softmax_{t}.{size}", "normalisation", "two reductions and what reads them in one kernel", softmax, t, rows, n)
    add(f"rms_norm_{t}.{size}", "normalisation", "a reduction and what reads it", rms_norm, t, rows, n)
    add(f"layer_norm_{t}.{size}", "normalisation", "mean, variance, scale and shift", layer_norm, t, rows, n)
