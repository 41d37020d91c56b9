"""Activations, types, optimisers: elementwise fusions."""
from __future__ import annotations

from catalogue import add
from hlo import Body

# activations and their gradients ---------------------------------------------------------------------------------------------------


def silu(b: Body, t: str, *dims: int) -> None:
    x = b.convert(b.parameter(t, *dims), "f32" if t != "f64" else t)
    b.finish(b.convert(b.op("multiply", x, b.op("logistic", x)), t))


def swiglu(b: Body, t: str, rows: int, n: int) -> None:
    both = b.parameter(t, rows, 2 * n)
    gate, up = (b.convert(b.slice(both, (0, rows), (k * n, (k + 1) * n)), "f32") for k in range(2))
    b.finish(b.convert(b.op("multiply", b.op("multiply", gate, b.op("logistic", gate)), up), t))


def relu_gradient(b: Body, t: str, *dims: int) -> None:
    x, d = b.parameter(t, *dims), b.parameter(t, *dims)
    b.finish(b.select(b.compare("GT", x, b.splat(x, 0)), d, b.splat(x, 0)))


def unary(b: Body, op: str, t: str, *dims: int) -> None:
    b.finish(b.op(op, b.parameter(t, *dims)))


def mish(b: Body, t: str, *dims: int) -> None:
    x = b.parameter(t, *dims)
    b.finish(b.op("multiply", x, b.chain(x, "exponential", "log-plus-one", "tanh")))


def gelu_erf(b: Body, t: str, *dims: int) -> None:
    x = b.parameter(t, *dims)
    e = b.op("add", b.op("erf", b.op("multiply", x, b.splat(x, 0.70710678))), b.splat(x, 1))
    b.finish(b.op("multiply", b.op("multiply", x, b.splat(x, 0.5)), e))


for kind, t, size, dims in (("loop", "bf16", "L", (8, 2048, 4096)), ("loop", "f16", "S", (7, 129, 33)), ("loop", "f32", "L", (8192, 4096)),
                            ("loop", "f64", "S", (61, 77))):
    add(f"silu_{t}.{size}", kind, "SiLU: a logistic and a product, computed in f32 where it pays", silu, t, *dims)
add("swiglu_bf16.L", "loop", "the gate of a transformer's feed-forward: two halves of one matrix", swiglu, "bf16", 4096, 11008)
add("swiglu_f32.S", "loop", "the same where nothing divides", swiglu, "f32", 33, 57)
add("relu_gradient_bf16.L", "loop", "a select by a comparison with zero", relu_gradient, "bf16", 64, 256, 56, 56)
add("mish_f32.L", "loop", "three functions of libdevice in a row", mish, "f32", 4096, 4096)
add("gelu_erf_f32.L", "loop", "GELU by erf", gelu_erf, "f32", 8192, 3072)
add("gelu_erf_f16.S", "loop", "the same, in half precision and odd sizes", gelu_erf, "f16", 13, 331)
for op, t in (("cosine", "f32"), ("power", ""), ("cbrt", "f64"), ("round-nearest-even", "f32"), ("popcnt", "u32"), ("count-leading-zeros", "s64"),
              ("not", "pred"),
              ("is-finite", "bf16"), ("sign", "f32"), ("exponential-minus-one", "f16"), ("log", "bf16"), ("rsqrt", "f32")):
    if op == "is-finite":
        add("is_finite_bf16.L", "loop", "what a loss scaler asks of gradients", lambda b: b.finish(b.op("is-finite",
                                                                                                        b.parameter("bf16", 4096, 4096), type="pred")))
    elif t:
        add(f"{op.replace('-', '_')}_{t}.L", "loop", f"{op} alone: what one function costs", unary, op, t, 4096, 4096)


# types ---------------------------------------------------------------------------------------------------------------------------


def convert(b: Body, source: str, target: str, *dims: int) -> None:
    b.finish(b.convert(b.parameter(source, *dims), target))


def arithmetic(b: Body, t: str, *dims: int) -> None:
    x, y = b.parameter(t, *dims), b.parameter(t, *dims)
    b.finish(b.op("subtract", b.op("multiply", x, y), b.op("add", x, y)))


def dequantise(b: Body, t: str, rows: int, n: int, group: int) -> None:
    q, scale = b.parameter(t, rows, n), b.parameter("bf16", rows, n // group)
    s = b.reshape(b.broadcast(scale, (rows, n // group, group), (0, 1)), rows, n)
    b.finish(b.op("multiply", b.convert(b.convert(q, "s8" if t == "s4" else t), "bf16"), s))


def quantise(b: Body, t: str, low: float, high: float, *dims: int) -> None:
    x, scale = b.convert(b.parameter("bf16", *dims), "f32"), b.parameter("f32")
    y = b.op("multiply", x, b.broadcast(scale, dims, ()))
    if t.startswith("s"):
        y = b.op("round-nearest-even", y)
    b.finish(b.convert(b.op("clamp", b.splat(y, low), y, b.splat(y, high)), t))


for source, target in (("f32", "bf16"), ("bf16", "f32"), ("f16", "f64"), ("s32", "f32"), ("f32", "s8"), ("pred", "bf16"), ("u8", "f32"), ("f32", "f8e4m3fn"),
                       ("f8e5m2", "f16"),
                       ("s64", "s16"), ("f64", "u32")):
    add(f"convert_{source}_{target}.L", "loop", "a conversion alone", convert, source, target, 4096, 4096)
for t in ("s8", "u16", "s32", "s64", "f16", "f64", "c64", "c128"):
    add(f"arithmetic_{t}.L", "loop", "add, subtract and multiply of one type", arithmetic, t, 2048, 2048)
add("arithmetic_s4.S", "loop", "types below a byte: one thread owns a byte", arithmetic, "s4", 31, 64)
add("dequantise_s8.L", "loop", "weights of 8 bits with a scale for each group of 64", dequantise, "s8", 4096, 4096, 64)
add("dequantise_s4.L", "loop", "weights of 4 bits, two in a byte", dequantise, "s4", 4096, 4096, 128)
add("quantise_s8.L", "loop", "scale, round, clamp and narrow", quantise, "s8", -127, 127, 4096, 4096)
add("quantise_f8e4m3fn.L", "loop", "the same to a float of 8 bits", quantise, "f8e4m3fn", -448, 448, 4096, 4096)


# optimisers ------------------------------------------------------------------------------------------------------------------------


def momentum(b: Body, t: str, *dims: int) -> None:
    w, g, m = (b.parameter(t, *dims) for _ in range(3))
    m2 = b.op("add", b.op("multiply", m, b.splat(m, 0.9)), g)
    b.finish(b.op("subtract", w, b.op("multiply", m2, b.splat(m, 0.01))), m2)


def adam(b: Body, weight: str, *dims: int) -> None:
    w, g, m, v = b.parameter(weight, *dims), b.parameter(weight, *dims), b.parameter("f32", *dims), b.parameter("f32", *dims)
    rate, g32, w32 = b.parameter("f32"), b.convert(g, "f32"), b.convert(w, "f32")
    m2 = b.op("add", b.op("multiply", m, b.splat(m, 0.9)), b.op("multiply", g32, b.splat(m, 0.1)))
    v2 = b.op("add", b.op("multiply", v, b.splat(v, 0.999)), b.op("multiply", b.op("multiply", g32, g32), b.splat(v, 0.001)))
    step = b.op("divide", m2, b.op("add", b.op("sqrt", v2), b.splat(v, 1e-8)))
    step = b.op("add", step, b.op("multiply", w32, b.splat(m, 0.01)))
    b.finish(b.convert(b.op("subtract", w32, b.op("multiply", b.broadcast(rate, dims, ()), step)), weight), m2, v2)


def lion(b: Body, *dims: int) -> None:
    w, g, m = (b.parameter("bf16", *dims) for _ in range(3))
    u = b.op("sign", b.op("add", b.op("multiply", m, b.splat(m, 0.9)), b.op("multiply", g, b.splat(m, 0.1))))
    b.finish(b.op("subtract", w, b.op("multiply", u, b.splat(u, 0.0001))), b.op("add", b.op("multiply", m, b.splat(m, 0.99)), b.op("multiply", g,
                                                                                                                                   b.splat(m, 0.01))))


def clip(b: Body, *dims: int) -> None:
    g, norm = b.parameter("f32", *dims), b.parameter("f32")
    one = b.scalar("f32", 1)
    factor = b.op("divide", one, b.op("maximum", one, norm))
    b.finish(b.op("multiply", g, b.broadcast(factor, dims, ())))


add("momentum_f32.L", "loop", "an optimiser with two results", momentum, "f32", 1024, 4096)
add("adamw_f32.L", "loop", "an optimiser with three results, a division and a square root", adam, "f32", 4096, 4096)
add("adamw_bf16.L", "loop", "the same on bf16 weights with f32 moments", adam, "bf16", 4096, 4096)
add("adamw_f32.S", "loop", "a bias of odd length", adam, "f32", 4099)
add("lion_bf16.L", "loop", "an optimiser by signs", lion, 4096, 4096)
add("clip_gradient_f32.L", "loop", "one number computed from another for every element", clip, 4096, 4096)
