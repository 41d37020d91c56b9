"""Operations of random fusions: selections, dynamic slices and updates, gathers, reductions and others. Each function takes a fusion under
construction and one of its values, and returns a new value, or the same value where the operation does not apply."""
from __future__ import annotations

from typing import TYPE_CHECKING, List

if TYPE_CHECKING:
    from random_fusions import Fusion, Value

FLOATS = ["f16", "bf16", "f32", "f64"]
BITS = {"s4": 4, "u4": 4, "s8": 8, "u8": 8, "f8e5m2": 8, "f8e4m3fn": 8, "s16": 16, "u16": 16, "f16": 16, "bf16": 16, "s32": 32, "u32": 32,
        "f32": 32, "s64": 64, "u64": 64, "f64": 64}
LIMIT = 6000  # elements of a value, at most


def listed(numbers: List[int]) -> str:
    return "{" + ",".join(map(str, numbers)) + "}"


def volume(dims: List[int]) -> int:
    n = 1
    for d in dims:
        n *= d
    return n


def pad(f: "Fusion", v: "Value") -> "Value":
    name, t, dims = v
    out, text = [], []
    for d in dims:
        low, high = f.r.choice([0, 0, 1, 3, 8, -1]), f.r.choice([0, 0, 2, 5, 8, -1])
        inner = f.r.choice([0, 0, 0, 1, 2])
        n = d + max(d - 1, 0) * inner + low + high
        if n < 1:
            low, high, inner, n = 0, 0, 0, d
        out.append(n)
        text.append(f"{low}_{high}_{inner}" if inner else f"{low}_{high}")
    if not dims or volume(out) > LIMIT:
        return v
    return f.emit(t, out, f"pad({name}, {f.same(t, [])[0]})", f", padding={'x'.join(text)}")


def concatenate(f: "Fusion", v: "Value") -> "Value":
    name, t, dims = v
    if not dims or volume(dims) > LIMIT // 4:
        return v
    at = f.r.randrange(len(dims))
    parts, total = [name], dims[at]
    for _ in range(f.r.randrange(1, 4)):
        other = list(dims)
        other[at] = f.r.choice([dims[at], 1, 2, 5, 8, 16])
        w = f.same(t, other)
        parts.insert(f.r.randrange(len(parts) + 1), w[0])
        total += other[at]
    return f.emit(t, dims[:at] + [total] + dims[at + 1:], f"concatenate({', '.join(parts)})", f", dimensions={{{at}}}")


def of_type(f: "Fusion", v: "Value") -> "Value":
    """An operation that only some types have, or a bitcast-convert."""
    name, t, dims = v
    if t in ("c64", "c128"):
        return f.emit("f32" if t == "c64" else "f64", dims, f"{f.r.choice(['real', 'imag', 'abs'])}({name})")
    if t in ("f32", "f64") and f.r.random() < 0.3:
        return f.emit("c64" if t == "f32" else "c128", dims, f"complex({name}, {f.same(t, dims)[0]})")
    if t in FLOATS and f.r.random() < 0.3:
        e, m = f.r.choice([(8, 7), (5, 10), (5, 2), (4, 3), (8, 23), (2, 0)])
        return f.emit(t, dims, f"reduce-precision({name})", f", exponent_bits={e}, mantissa_bits={m}")
    if t in FLOATS and f.r.random() < 0.3:
        return f.emit("pred", dims, f"is-finite({name})")
    if t != "pred" and f.r.random() < 0.5:
        return f.emit(t, dims, f"clamp({f.same(t, dims)[0]}, {name}, {f.same(t, dims)[0]})")
    if t in BITS and f.r.random() < 0.5:
        to = f.r.choice([x for x in BITS if x != t and BITS[x] == BITS[t]])
        return f.emit(to, dims, f"bitcast-convert({name})")
    if t in BITS and BITS[t] < 64:
        k = f.r.choice([x for x in set(BITS.values()) if x > BITS[t]])
        parts = k // BITS[t]
        if dims and dims[-1] == parts:
            return f.emit(f.r.choice([x for x in BITS if BITS[x] == k]), dims[:-1], f"bitcast-convert({name})")
    if t in BITS and BITS[t] > 8 and volume(dims) < LIMIT:
        k = f.r.choice([x for x in set(BITS.values()) if x < BITS[t]])
        return f.emit(f.r.choice([x for x in BITS if BITS[x] == k]), dims + [BITS[t] // k], f"bitcast-convert({name})")
    return f.emit(t, dims, f"copy({name})")


def starts(f: "Fusion", n: int) -> List[str]:
    t = f.r.choice(["s32", "s32", "s64", "u32", "s8", "u8"])
    return [f.same(t, [])[0] for _ in range(n)]


def dynamic_slice(f: "Fusion", v: "Value") -> "Value":
    name, t, dims = v
    if not dims:
        return v
    sizes = [f.r.choice([d, 1, f.r.randrange(1, d + 1)]) if d else 0 for d in dims]
    return f.emit(t, sizes, f"dynamic-slice({', '.join([name] + starts(f, len(dims)))})", f", dynamic_slice_sizes={listed(sizes)}")


def update(f: "Fusion", v: "Value") -> "Value":
    name, t, dims = v
    if not dims:
        return v
    sizes = [f.r.choice([d, 1, f.r.randrange(1, d + 1)]) if d else 0 for d in dims]
    return f.emit(t, dims, f"dynamic-update-slice({', '.join([name, f.same(t, sizes)[0]] + starts(f, len(dims)))})")


def gather(f: "Fusion", v: "Value") -> "Value":
    name, t, dims = v
    if not dims or len(dims) > 3:
        return v
    n, k = f.r.choice([1, 3, 8]), f.r.randrange(1, len(dims) + 1)
    sizes = [f.r.choice([d, 1, f.r.randrange(1, d + 1)]) if d else 0 for d in dims]
    which = sorted(f.r.sample(range(len(dims)), k)) if f.r.random() < 0.7 else f.r.sample(range(len(dims)), k)
    collapsed = [d for d in range(len(dims)) if sizes[d] == 1 and f.r.random() < 0.5]
    window = [s for d, s in enumerate(sizes) if d not in collapsed]
    at = f.same(f.r.choice(["s32", "s64", "u32"]), [n, k])
    if n * volume(window) > LIMIT:
        return v
    return f.emit(t, [n] + window, f"gather({name}, {at[0]})",
                  f", offset_dims={listed(list(range(1, 1 + len(window))))}, collapsed_slice_dims={listed(collapsed)}, "
                  f"start_index_map={listed(which)}, index_vector_dim=1, slice_sizes={listed(sizes)}")


def body(f: "Fusion", t: str) -> str:
    """The name of a random reducer for the type, which is added to the module."""
    if t in ("c64", "c128"):
        ops = ["add", "multiply"]
    elif t == "pred":
        ops = ["and", "or", "xor"]
    else:
        ops = ["add", "maximum", "minimum"] + (["multiply"] if t[0] in "fb" else ["and", "or", "xor"])
    op = f.r.choice(ops)
    name = f"{op}_{t}"
    f.bodies[name] = f"{name} {{\n  a = {t}[] parameter(0)\n  b = {t}[] parameter(1)\n  ROOT c = {t}[] {op}(a, b)\n}}\n"
    return name


def reduce(f: "Fusion", v: "Value") -> "Value":
    name, t, dims = v
    gone = sorted(f.r.sample(range(len(dims)), f.r.randrange(len(dims) + 1)))
    if not gone or volume([dims[d] for d in gone]) > 200:
        return v
    kept = [d for i, d in enumerate(dims) if i not in gone]
    return f.emit(t, kept, f"reduce({name}, {f.same(t, [])[0]})", f", dimensions={listed(gone)}, to_apply={body(f, t)}")


def reduce_window(f: "Fusion", v: "Value") -> "Value":
    name, t, dims = v
    if not dims:
        return v
    out, size, stride, edge = [], [], [], []
    for d in dims:
        w, s = f.r.choice([1, 1, 2, 3]), f.r.choice([1, 1, 2])
        low, high = f.r.choice([0, 0, 1]), f.r.choice([0, 0, 2])
        n = (d + low + high - w) // s + 1
        if d + low + high < w or n < 1:
            w, s, low, high, n = 1, 1, 0, 0, d
        out.append(n)
        size.append(w)
        stride.append(s)
        edge.append(f"{low}_{high}")
    text = f"size={'x'.join(map(str, size))} stride={'x'.join(map(str, stride))} pad={'x'.join(edge)}"
    return f.emit(t, out, f"reduce-window({name}, {f.same(t, [])[0]})", f", window={{{text}}}, to_apply={body(f, t)}")


def dot(f: "Fusion", v: "Value") -> "Value":
    name, t, dims = v
    if len(dims) != 2 or dims[1] > 64 or t == "pred":
        return v
    n = f.r.choice([1, 4, 7])
    if f.r.random() < 0.5:
        other, rhs = f.same(t, [dims[1], n]), 0
    else:
        other, rhs = f.same(t, [n, dims[1]]), 1
    return f.emit(t, [dims[0], n], f"dot({name}, {other[0]})", f", lhs_contracting_dims={{1}}, rhs_contracting_dims={{{rhs}}}")


def dense(f: "Fusion", v: "Value") -> "Value":
    """Adds a constant whose elements differ."""
    name, t, dims = v
    if t not in ("s8", "s32", "u64", "f16", "f32", "f64") or not 0 < volume(dims) <= 300 or len(dims) > 2:
        return v
    values = iter([str(f.r.randrange(100)) for _ in range(volume(dims))])

    def nested(k: int) -> str:
        return next(values) if k == len(dims) else "{" + ", ".join(nested(k + 1) for _ in range(dims[k])) + "}"

    c = f.emit(t, dims, f"constant({nested(0)})")
    return f.emit(t, dims, f"add({name}, {c[0]})")


def mapped(f: "Fusion", v: "Value") -> "Value":
    name, t, dims = v
    if t not in FLOATS + ["s32", "u8", "s64"] or not dims:
        return v
    f.bodies[f"map_{t}"] = (f"map_{t} {{\n  a = {t}[] parameter(0)\n  b = {t}[] parameter(1)\n  m = {t}[] multiply(a, b)\n"
                            f"  ROOT c = {t}[] maximum(m, a)\n}}\n")
    return f.emit(t, dims, f"map({name}, {f.same(t, dims)[0]})", f", dimensions={listed(list(range(len(dims))))}, to_apply=map_{t}")


def convolution(f: "Fusion", v: "Value") -> "Value":
    name, t, dims = v
    if t not in ("f16", "bf16", "f32", "f64", "s32") or len(dims) != 3 or dims[2] > 16 or volume(dims) > 3000 or not volume(dims):
        return v
    width, out = f.r.choice([1, 2, 3]), f.r.choice([1, 3])
    low, high, stride = f.r.choice([0, 1]), f.r.choice([0, 2]), f.r.choice([1, 1, 2])
    n = (dims[1] + low + high - width) // stride + 1
    if dims[1] + low + high < width:
        return v
    kernel = f.same(t, [width, dims[2], out])
    return f.emit(t, [dims[0], n, out], f"convolution({name}, {kernel[0]})",
                  f", window={{size={width} stride={stride} pad={low}_{high}}}, dim_labels=b0f_0io->b0f")


OPS = [pad, pad, concatenate, concatenate, dynamic_slice, dynamic_slice, update, update, gather, reduce, reduce_window, dot, dense, mapped, convolution]
