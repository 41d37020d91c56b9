"""Physics, diffusion, recommendation, finance, random numbers."""
from __future__ import annotations

from catalogue import add
from hlo import Body, Value

# physics, diffusion, recommendation, random numbers ---------------------------------------------------------------------------------


def laplacian(b: Body, t: str, h: int, w: int) -> None:
    x = b.parameter(t, h, w)
    parts = [b.slice(x, (1 + i, h - 1 + i), (1 + k, w - 1 + k)) for i, k in ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1))]
    sum4 = b.op("add", b.op("add", parts[1], parts[2]), b.op("add", parts[3], parts[4]))
    lap = b.op("subtract", sum4, b.op("multiply", parts[0], b.splat(parts[0], 4)))
    b.finish(b.pad(b.op("add", parts[0], b.op("multiply", lap, b.splat(lap, 0.1))), 0, (1, 1), (1, 1)))


def lennard_jones(b: Body, n: int) -> None:
    p = b.parameter("f32", n, 3)
    i, k = b.broadcast(p, (n, n, 3), (0, 2)), b.broadcast(p, (n, n, 3), (1, 2))
    d = b.op("subtract", i, k)
    parts = [b.reshape(b.slice(b.op("multiply", d, d), (0, n), (0, n), (a, a + 1)), n, n) for a in range(3)]
    r2 = b.op("add", b.op("add", parts[0], parts[1]), b.op("add", parts[2], b.splat(parts[2], 0.01)))
    inverse = b.op("divide", b.splat(r2, 1), r2)
    six = b.op("multiply", inverse, b.op("multiply", inverse, inverse))
    b.finish(b.op("subtract", b.op("multiply", six, six), six))


def twiddle(b: Body, rows: int, n: int) -> None:
    x, w = b.parameter("c64", rows, n), b.parameter("c64", n)
    b.finish(b.op("multiply", x, b.broadcast(w, x.dims, (1,))))


def black_scholes(b: Body, n: int) -> None:
    s, k, t = (b.parameter("f32", n) for _ in range(3))
    root = b.op("multiply", b.op("sqrt", t), b.splat(t, 0.2))
    d1 = b.op("divide", b.op("add", b.op("log", b.op("divide", s, k)), b.op("multiply", t, b.splat(t, 0.07))), root)

    def phi(x: Value) -> Value:
        return b.op("multiply", b.op("add", b.op("erf", b.op("multiply", x, b.splat(x, 0.70710678))), b.splat(x, 1)), b.splat(x, 0.5))

    paid = b.op("multiply", k, b.op("exponential", b.op("multiply", t, b.splat(t, -0.05))))
    b.finish(b.op("subtract", b.op("multiply", s, phi(d1)), b.op("multiply", paid, phi(b.op("subtract", d1, root)))))


def diffuse(b: Body, t: str, n: int, *dims: int) -> None:
    x, noise, a = b.parameter(t, n, *dims), b.parameter(t, n, *dims), b.parameter("f32", n)
    keep, spoil = (b.broadcast(b.op("sqrt", v), x.dims, (0,)) for v in (a, b.op("subtract", b.splat(a, 1), a)))
    b.finish(b.convert(b.op("add", b.op("multiply", b.convert(x, "f32"), keep), b.op("multiply", b.convert(noise, "f32"), spoil)), t))


def group_scale_silu(b: Body, n: int, groups: int, c: int, hw: int) -> None:
    x, mean, r, w = b.parameter("bf16", n, groups, c, hw), b.parameter("f32", n, groups), b.parameter("f32", n, groups), b.parameter("f32", groups, c)
    y = b.op("subtract", b.convert(x, "f32"), b.broadcast(mean, x.dims, (0, 1)))
    y = b.op("multiply", b.op("multiply", y, b.broadcast(r, x.dims, (0, 1))), b.broadcast(w, x.dims, (1, 2)))
    b.finish(b.convert(b.op("multiply", y, b.op("logistic", y)), "bf16"))


def threefry(b: Body, n: int) -> None:
    x, y = b.iota("u32", (n,), 0), b.parameter("u32", n)
    for r in (13, 15, 26, 6):
        x = b.op("add", x, y)
        y = b.op("xor", x, b.op("or", b.op("shift-left", y, b.splat(y, r)), b.op("shift-right-logical", y, b.splat(y, 32 - r))))
    u = b.op("or", b.op("shift-right-logical", b.op("xor", x, y), b.splat(x, 9)), b.splat(x, 0x3f800000))
    f = b.op("bitcast-convert", u, type="f32")
    b.finish(b.op("subtract", f, b.splat(f, 1)))


def log_loss(b: Body, n: int) -> None:
    x, label = b.parameter("f32", n), b.parameter("f32", n)
    positive = b.op("maximum", x, b.splat(x, 0))
    b.finish(b.op("add", b.op("subtract", positive, b.op("multiply", x, label)), b.chain(x, "abs", "negate", "exponential", "log-plus-one")))


def hash_ids(b: Body, batch: int, fields: int) -> None:
    ids, sizes = b.parameter("s64", batch, fields), b.parameter("s64", fields)
    mixed = b.op("xor", b.op("multiply", ids, b.splat(ids, 2654435761)), b.op("shift-right-logical", ids, b.splat(ids, 16)))
    b.finish(b.convert(b.op("remainder", b.op("abs", mixed), b.broadcast(sizes, ids.dims, (1,))), "s32"))


add("laplacian_f32.L", "loop", "a stencil of five points with a border", laplacian, "f32", 4096, 4096)
add("laplacian_f64.S", "loop", "the same in double precision, odd", laplacian, "f64", 35, 51)
add("lennard_jones_f32.L", "loop", "all pairs: every input is read many times", lennard_jones, 4096)
add("twiddle_c64.L", "loop", "complex numbers", twiddle, 1024, 4096)
add("black_scholes_f32.L", "loop", "a long chain of functions", black_scholes, 1 << 22)
add("diffuse_bf16.L", "loop", "noise added by the schedule of each sample", diffuse, "bf16", 64, 4, 64, 64)
add("group_scale_silu_bf16.L", "loop", "what follows a group norm, with its activation", group_scale_silu, 16, 32, 10, 4096)
add("threefry_u32.L", "loop", "random bits to floats: rotations and xor", threefry, 1 << 24)
add("log_loss_f32.L", "loop", "a loss that does not overflow", log_loss, 1 << 20)
add("hash_ids_s64.L", "loop", "ids of 64 bits to rows of tables", hash_ids, 65536, 26)
