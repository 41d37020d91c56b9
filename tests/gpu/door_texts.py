"""HLO texts of the package that doors.py makes: fusions of every kind of kernel, with sizes that fill a GPU. TEXTS has them by name; LAYOUTS,
by the name of another bundle, the text and options that it is compiled with."""
from __future__ import annotations

from typing import Dict, List, Tuple


def combine(name: str, kind: str, operation: str) -> str:
    return f"{name} {{ a = {kind}[] parameter(0)  b = {kind}[] parameter(1)  ROOT c = {kind}[] {operation}(a, b) }}\n"


def softmax(rows: int, columns: int, kind: str = "f32") -> str:
    x, r = f"{kind}[{rows},{columns}]", f"{kind}[{rows}]"
    return (combine("add", kind, "add") + combine("max", kind, "maximum") +
            f"ENTRY e {{\n  x = {x} parameter(0)\n  least = {kind}[] constant(-inf)\n  zero = {kind}[] constant(0)\n"
            f"  m = {r} reduce(x, least), dimensions={{1}}, to_apply=max\n  wide = {x} broadcast(m), dimensions={{0}}\n"
            f"  d = {x} subtract(x, wide)\n  e = {x} exponential(d)\n  s = {r} reduce(e, zero), dimensions={{1}}, to_apply=add\n"
            f"  sums = {x} broadcast(s), dimensions={{0}}\n  ROOT y = {x} divide(e, sums)\n}}\n")


def total(shape: str, out: str, dimension: int, kind: str = "f32") -> str:
    return (combine("add", kind, "add") + f"ENTRY e {{ x = {kind}[{shape}] parameter(0)  o = {kind}[] constant(0)  "
            f"ROOT r = {kind}[{out}] reduce(x, o), dimensions={{{dimension}}}, to_apply=add }}\n")


def running_sum(shape: str, window: str) -> str:
    return (combine("add", "f32", "add") + f"ENTRY e {{ x = f32[{shape}] parameter(0)  o = f32[] constant(0)  "
            f"ROOT y = f32[{shape}] reduce-window(x, o), window={{{window}}}, to_apply=add }}\n")


def less(kind: str, more: str = "") -> str:
    order = "" if kind == "s32" else ", type=TOTALORDER"
    return f"less {{ a = {kind}[] parameter(0)  b = {kind}[] parameter(1)  {more}ROOT c = pred[] compare(a, b), direction=LT{order} }}\n"


def sort(shape: str, kind: str = "f32") -> str:
    return less(kind) + f"ENTRY e {{ x = {kind}[{shape}] parameter(0)  ROOT y = {kind}[{shape}] sort(x), dimensions={{1}}, to_apply=less }}\n"


def argsort(shape: str, dimension: int, kind: str = "f32") -> str:
    x, k = f"{kind}[{shape}]", f"s32[{shape}]"
    return (less(kind, "i = s32[] parameter(2)  j = s32[] parameter(3)  ") +
            f"ENTRY e {{ x = {x} parameter(0)  k = {k} iota(), iota_dimension={dimension}  "
            f"ROOT y = ({x}, {k}) sort(x, k), dimensions={{{dimension}}}, is_stable=true, to_apply=less }}\n")


SCATTER = "update_window_dims={%s}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add"
BODIES: Dict[str, str] = {
    "complex": "ENTRY e { x = c64[40000] parameter(0)  y = c64[40000] exponential(x)  ROOT z = c64[40000] multiply(x, y) }\n",
    "fp8_convert": """ENTRY e { x = f32[100000] parameter(0)  y = f8e4m3fn[100000] convert(x)  z = f8e5m2[100000] convert(x)
  ROOT t = (f8e4m3fn[100000], f8e5m2[100000]) tuple(y, z) }
""",
    "functions": """ENTRY e { x = f32[65536] parameter(0)  a = f32[65536] tanh(x)  b = f32[65536] sine(x)  c = f32[65536] log-plus-one(x)
  d = f32[65536] erf(x)  e = f32[65536] add(a, b)  f = f32[65536] add(c, d)  ROOT y = f32[65536] multiply(e, f) }
""",
    "functions_f64": """ENTRY e { x = f64[16384] parameter(0)  a = f64[16384] exponential(x)  b = f64[16384] cosine(x)  c = f64[16384] power(x, b)
  ROOT y = f64[16384] add(a, c) }
""",
    "gather": """ENTRY e { x = f16[5000,96] parameter(0)  i = s32[3000,1] parameter(1)
  ROOT y = f16[3000,96] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,96} }
""",
    "histogram": combine("add", "s32", "add") + """ENTRY e { z = s32[] constant(0)  x = s32[256] broadcast(z), dimensions={}
  i = s32[500000,1] parameter(0)  one = s32[] constant(1)  u = s32[500000] broadcast(one), dimensions={}
  ROOT y = s32[256] scatter(x, i, u), """ + SCATTER % "" + " }\n",
    "scatter_add": combine("add", "f32", "add") + """ENTRY e { x = f32[4096,64] parameter(0)  i = s32[20000,1] parameter(1)
  u = f32[20000,64] parameter(2)  ROOT y = f32[4096,64] scatter(x, i, u), """ + SCATTER % "1" + " }\n",
    "max_window": combine("max", "f32", "maximum") + """ENTRY e { x = f32[8,130,130,16] parameter(0)  o = f32[] constant(-inf)
  ROOT y = f32[8,64,64,16] reduce-window(x, o), window={size=1x3x3x1 stride=1x2x2x1}, to_apply=max }
""",
    "norm_all": combine("add", "f32", "add") + """ENTRY e { x = f32[1048576] parameter(0)  o = f32[] constant(0)
  q = f32[1048576] multiply(x, x)  s = f32[] reduce(q, o), dimensions={0}, to_apply=add  r = f32[] sqrt(s)
  w = f32[1048576] broadcast(r), dimensions={}  ROOT y = f32[1048576] divide(x, w) }
""",
    "threefry": "ENTRY e { s = u64[2] parameter(0)  ROOT r = (u64[2], u32[100001]) rng-bit-generator(s), algorithm=rng_three_fry }\n",
    "transpose": "ENTRY e { x = f32[2048,1023] parameter(0)  ROOT y = f32[1023,2048] transpose(x), dimensions={1,0} }\n",
    "transpose_bf16_add": """ENTRY e { x = bf16[33,512,100] parameter(0)  b = bf16[33,100,512] parameter(1)
  t = bf16[33,100,512] transpose(x), dimensions={0,2,1}  ROOT y = bf16[33,100,512] add(t, b) }
""",
    "argsort_8x16384": argsort("8,16384", 1),
    "sort_300x40_dim0": argsort("300,40", 0, "bf16"),
    "sort_64x1024": sort("64,1024"),
    "sort_4x49152": sort("4,49152"),
    "sort_2x32768": sort("2,32768", "s32"),
    "cumsum_256x4096": running_sum("256,4096", "size=1x4096 pad=0_0x4095_0"),
    "cumsum_4x65536": running_sum("4,65536", "size=1x65536 pad=0_0x65535_0"),
    "cumsum_262144": running_sum("262144", "size=262144 pad=262143_0"),
    "softmax_bf16_128x8192": softmax(128, 8192, "bf16"),
    "sum_all": total("2097152", "", 0),
    "sum_all_f64": total("1048577", "", 0, "f64"),
    "sum_all_s64": total("1048577", "", 0, "s64"),
    "sum_rows": total("1024,4096", "1024", 1),
    "sum_cols": total("8192,257", "257", 0),
    "sum_mid": total("16,1000,64", "16,64", 1),
    **{f"softmax_{rows}x{columns}": softmax(rows, columns) for rows, columns in ((512, 2048), (64, 32768), (4, 131072), (2, 524288), (1, 1048576))},
}
TEXTS: Dict[str, str] = {name: f"HloModule {name}\n{body}" for name, body in BODIES.items()}
LAYOUTS: Dict[str, Tuple[str, List[str]]] = {
    "softmax_4_cluster16": ("softmax_4x131072", ["--layout", "columns: vector 4, lane 32, warp 8, register 8, cluster 16; rows: grid 4"]),
    "softmax_64_cluster16": ("softmax_64x32768", ["--layout", "columns: vector 4, lane 32, warp 2, register 8, cluster 16; rows: grid 64"]),
    "scatter_add_deterministic": ("scatter_add", ["--deterministic"]),
    "functions_xla": ("functions", ["--accuracy", "xla"]),
    "functions_approx": ("functions", ["--accuracy", "approx"]),
}
