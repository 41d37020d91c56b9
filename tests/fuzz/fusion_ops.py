"""Operations of random fusions that choose between operands, start where a value says, or fold elements. Each takes a fusion under
construction and a value of it, and gives a new value, or the same where it cannot."""
from __future__ import annotations

from typing import TYPE_CHECKING, List

if TYPE_CHECKING:
    from fusions import Fusion, Value

FLOATS = ["f16", "bf16", "f32", "f64"]
LIMIT = 6000  # elements of a value


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
        n = d + (d - 1) * inner + low + high
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


def starts(f: "Fusion", n: int) -> List[str]:
    t = f.r.choice(["s32", "s32", "s64", "u32", "s8", "u8"])
    return [f.same(t, [])[0] for _ in range(n)]


def dynamic_slice(f: "Fusion", v: "Value") -> "Value":
    name, t, dims = v
    if not dims:
        return v
    sizes = [f.r.choice([d, 1, f.r.randrange(1, d + 1)]) for d in dims]
    return f.emit(t, sizes, f"dynamic-slice({', '.join([name] + starts(f, len(dims)))})", f", dynamic_slice_sizes={listed(sizes)}")


def update(f: "Fusion", v: "Value") -> "Value":
    name, t, dims = v
    if not dims:
        return v
    sizes = [f.r.choice([d, 1, f.r.randrange(1, d + 1)]) for d in dims]
    return f.emit(t, dims, f"dynamic-update-slice({', '.join([name, f.same(t, sizes)[0]] + starts(f, len(dims)))})")


def gather(f: "Fusion", v: "Value") -> "Value":
    name, t, dims = v
    if not dims or len(dims) > 3:
        return v
    n, k = f.r.choice([1, 3, 8]), f.r.randrange(1, len(dims) + 1)
    sizes = [f.r.choice([d, 1, f.r.randrange(1, d + 1)]) for d in dims]
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
    """The name of a reduction's body, written the first time."""
    op = f.r.choice(["add", "maximum", "minimum"] + (["multiply"] if t in FLOATS else ["and", "or", "xor"]))
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
    if len(dims) != 2 or dims[1] > 64:
        return v
    n = f.r.choice([1, 4, 7])
    if f.r.random() < 0.5:
        other, rhs = f.same(t, [dims[1], n]), 0
    else:
        other, rhs = f.same(t, [n, dims[1]]), 1
    return f.emit(t, [dims[0], n], f"dot({name}, {other[0]})", f", lhs_contracting_dims={{1}}, rhs_contracting_dims={{{rhs}}}")


OPS = [pad, pad, concatenate, concatenate, dynamic_slice, dynamic_slice, update, update, gather, reduce, reduce_window, dot]
