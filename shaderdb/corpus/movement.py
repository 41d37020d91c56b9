"""Broadcasts, transposes, concatenations, gathers and scatters."""
from __future__ import annotations

from typing import List

from catalogue import add
from hlo import Body

# broadcasts, movement ---------------------------------------------------------------------------------------------------------------


def rotary(b: Body, batch: int, length: int, heads: int, n: int) -> None:
    x, cos, sin = b.parameter("bf16", batch, length, heads, n), b.parameter("f32", length, n), b.parameter("f32", length, n)
    all_of = [(0, batch), (0, length), (0, heads)]
    low, high = b.slice(x, *all_of, (0, n // 2)), b.slice(x, *all_of, (n // 2, n))
    turned = b.convert(b.concatenate(3, b.op("negate", high), low), "f32")
    c, s = (b.broadcast(v, x.dims, (1, 3)) for v in (cos, sin))
    b.finish(b.convert(b.op("add", b.op("multiply", b.convert(x, "f32"), c), b.op("multiply", turned, s)), "bf16"))


def split_heads(b: Body, t: str, batch: int, length: int, heads: int, n: int) -> None:
    b.finish(b.transpose(b.reshape(b.parameter(t, batch, length, heads * n), batch, length, heads, n), 0, 2, 1, 3))


def transposed(b: Body, t: str, order: List[int], *dims: int) -> None:
    b.finish(b.transpose(b.parameter(t, *dims), *order))


def transposed_sum(b: Body, t: str, m: int, n: int) -> None:
    x, y = b.parameter(t, m, n), b.parameter(t, n, m)
    b.finish(b.op("add", b.op("exponential", b.transpose(x, 1, 0)), y))


def nearest(b: Body, n: int, h: int, w: int, c: int) -> None:
    x = b.parameter("f32", n, h, w, c)
    b.finish(b.reshape(b.broadcast(x, (n, h, 2, w, 2, c), (0, 1, 3, 5)), n, 2 * h, 2 * w, c))


def normalise_image(b: Body, n: int, h: int, w: int) -> None:
    x, mean, scale = b.parameter("u8", n, h, w, 3), b.parameter("f32", 3), b.parameter("f32", 3)
    y = b.op("multiply", b.convert(x, "f32"), b.splat(x, 0.003921569, "f32"))
    y = b.op("multiply", b.op("subtract", y, b.broadcast(mean, y.dims, (3,))), b.broadcast(scale, y.dims, (3,)))
    b.finish(b.convert(b.transpose(y, 0, 3, 1, 2), "bf16"))


def concatenated(b: Body, t: str, rows: int, *widths: int) -> None:
    b.finish(b.concatenate(1, *(b.parameter(t, rows, w) for w in widths)))


def padded(b: Body, t: str, *dims: int) -> None:
    b.finish(b.pad(b.parameter(t, *dims), 0, *((1, 1) if k in (1, 2) else (0, 0) for k in range(len(dims)))))


def causal(b: Body, batch: int, n: int) -> None:
    x = b.parameter("f32", batch, n, n)
    keep = b.compare("GE", b.iota("s32", x.dims, 1), b.iota("s32", x.dims, 2))
    b.finish(b.select(keep, b.op("multiply", x, b.splat(x, 0.125)), b.splat(x, "-inf")))


def positions(b: Body, n: int, d: int) -> None:
    i, k = b.convert(b.iota("s32", (n, d), 0), "f32"), b.convert(b.iota("s32", (n, d), 1), "f32")
    b.finish(b.op("sine", b.op("multiply", i, b.op("exponential", b.op("multiply", k, b.splat(k, -0.0180))))))


add("rotary_bf16.L", "loop", "rotary embedding: slices, a concatenation and two broadcasts", rotary, 4, 2048, 32, 128)
add("rotary_bf16.S", "loop", "the same, small", rotary, 1, 7, 3, 6)
add("split_heads_bf16.L", "loop", "heads of attention: a transpose that keeps rows whole", split_heads, "bf16", 8, 2048, 32, 128)
add("transpose_f32.L", "transpose", "a matrix turned: through shared memory or not", transposed, "f32", [1, 0], 4096, 4096)
add("transpose_bf16.L", "transpose", "the same with elements of two bytes", transposed, "bf16", [1, 0], 4096, 4096)
add("transpose_s8.L", "transpose", "the same with bytes", transposed, "s8", [1, 0], 4096, 4096)
add("transpose_f32.S", "transpose", "tiles that are cut on both sides", transposed, "f32", [1, 0], 67, 129)
add("transpose_021_f16.L", "transpose", "the last two of three dimensions", transposed, "f16", [0, 2, 1], 64, 1024, 512)
add("transpose_210_f32.S", "transpose", "all three dimensions", transposed, "f32", [2, 1, 0], 33, 5, 65)
add("transpose_sum_f32.L", "transpose", "a turned operand beside a straight one, with arithmetic", transposed_sum, "f32", 4096, 2048)
add("upsample_nearest_f32.L", "loop", "each pixel four times", nearest, 8, 64, 64, 256)
add("normalise_image_u8.L", "transpose", "bytes to planes: a convert, two broadcasts, a transpose", normalise_image, 64, 224, 224)
add("concatenate_bf16.L", "concatenate", "query, key and value side by side", concatenated, "bf16", 4096, 4096, 1024, 1024)
add("concatenate_f32.S", "concatenate", "boundaries that nothing divides", concatenated, "f32", 9, 3, 5, 1)
add("pad_f32.L", "loop", "a border of zeros before a convolution", padded, "f32", 32, 112, 112, 64)
add("pad_bf16.S", "loop", "the same, small", padded, "bf16", 2, 5, 7, 3)
add("causal_scale_f32.L", "loop", "scale and mask of attention", causal, 16, 2048)
add("positions_f32.L", "loop", "no input at all: iota and functions", positions, 8192, 1024)


# indexed reads and writes -----------------------------------------------------------------------------------------------------------


def embedding(b: Body, t: str, words: int, n: int, batch: int) -> None:
    table, ids = b.parameter(t, words, n), b.parameter("s32", batch, 1)
    b.finish(b.op("gather", table, ids, type=t, dims=(batch, n),
                  more=f", offset_dims={{1}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, index_vector_dim=1, slice_sizes={{1,{n}}}"))


def embedding_gradient(b: Body, t: str, words: int, n: int, batch: int) -> None:
    table, ids, rows = b.parameter(t, words, n), b.parameter("s32", batch, 1), b.parameter(t, batch, n)
    more = f", update_window_dims={{1}}, inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply={b.reducer('add', t)}"
    b.finish(b.op("scatter", table, ids, rows, type=t, dims=(words, n), more=more))


def cache_update(b: Body, t: str, batch: int, length: int, n: int) -> None:
    cache, new, at = b.parameter(t, batch, length, n), b.parameter(t, batch, 1, n), b.parameter("s32")
    zero = b.scalar("s32", 0)
    b.finish(b.op("dynamic-update-slice", cache, new, zero, at, zero, type=t, dims=cache.dims))


def cache_read(b: Body, t: str, layers: int, length: int, n: int) -> None:
    cache, at = b.parameter(t, layers, length, n), b.parameter("s32")
    zero = b.scalar("s32", 0)
    b.finish(b.op("dynamic-slice", cache, at, zero, zero, type=t, dims=(1, length, n), more=f", dynamic_slice_sizes={{1,{length},{n}}}"))


def pool(b: Body, op: str, start: object, n: int, h: int, w: int, c: int) -> None:
    b.finish(b.window(op, b.parameter("f32", n, h, w, c), (1, 3, 3, 1), (1, 2, 2, 1), ((0, 0), (1, 1), (1, 1), (0, 0)), start))


add("embedding_bf16.L", "gather", "rows of a table by number", embedding, "bf16", 50257, 4096, 8192)
add("embedding_f32.S", "gather", "short rows of an odd length", embedding, "f32", 101, 13, 37)
add("embedding_gradient_f32.L", "scatter", "rows added to a table: atomics", embedding_gradient, "f32", 50257, 1024, 8192)
add("embedding_gradient_f32.S", "scatter", "the same, small", embedding_gradient, "f32", 11, 7, 29)
add("cache_update_bf16.L", "update in place", "one position of a key-value cache", cache_update, "bf16", 16, 4096, 1024)
add("cache_read_bf16.L", "loop", "one layer of a stack, by number", cache_read, "bf16", 32, 4096, 1024)
add("max_pool_f32.L", "window", "windows of 3 by 3 with stride 2", pool, "maximum", "-inf", 32, 112, 112, 64)
add("sum_pool_f32.S", "window", "the same as a sum, small", pool, "add", 0, 1, 9, 11, 3)
