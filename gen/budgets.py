"""How far a function may be off, in units in the last place of its type: (operations, types, ulp, ulp with `approx`).

Every operation that is not listed is correctly rounded (0). A later line overrides an earlier one. The sources:

  16 bits  computed in f32 by a function that is off by far less than a unit, then rounded: less than 1 unit.
  f32, f64 the larger of XLA's own budget on GPUs (exp 7, log 1, log1p 1, tanh 3, sin 1, cos 1, tan 4, atan 1, erf 2, cbrt 2,
           rsqrt 1 for f32; 1 for f64, tan 4, cbrt 2) and the maximum error that the CUDA Math API states for libdevice. A function
           that XLA has no budget for has CUDA's. logistic is exp, an add and a divide: 2 more than exp.
  approx   what the PTX manual states for ex2, lg2, sin, cos, tanh, rsqrt, rcp and div .approx, scaled by the argument where the
           instruction's error is absolute; 8192 ulp is 2^-10 of the value: tanh.approx.f32 (2^-10.987) and its users.
"""
from __future__ import annotations

BUDGETS: list[tuple[str, str, float, float]] = [
    ("exp expm1 exp2 log2 log log1p logistic tanh tan sin cos sinh cosh asin acos atan asinh acosh atanh erf rsqrt cbrt pow atan2",
     "f16 bf16", 1, 2),
    ("div sqrt rcp", "f16 bf16", 0, 1),
    ("div", "f32", 0, 2), ("rcp", "f32", 0, 1), ("sqrt", "f32", 0, 2),  # div.approx 2, rcp.approx 1, sqrt.approx 2^-22.6
    ("exp", "f32", 7, 16),        # XLA 7 (CUDA 1)
    ("exp2", "f32", 2, 4),        # CUDA 2
    ("expm1", "f32", 1, 16),      # CUDA 1
    ("log", "f32", 1, 32),        # XLA 1, CUDA 1
    ("log2", "f32", 1, 32),       # CUDA 1
    ("log1p", "f32", 1, 32),      # XLA 1, CUDA 1
    ("logistic", "f32", 9, 8192),  # exp + 2; approx: through tanh
    ("tanh", "f32", 3, 8192),     # XLA 3 (CUDA 2)
    ("sin cos", "f32", 2, 32),    # CUDA 2 (XLA 1)
    ("tan", "f32", 4, 64),        # XLA 4, CUDA 4
    ("sinh", "f32", 3, 32), ("cosh", "f32", 2, 32),              # CUDA
    ("asin acos atan", "f32", 2, 8), ("atan2", "f32", 3, 8),     # CUDA
    ("asinh", "f32", 3, 32), ("acosh", "f32", 4, 32), ("atanh", "f32", 3, 32),  # CUDA
    ("pow", "f32", 4, 64),        # CUDA 4
    ("erf", "f32", 2, 16),        # XLA 2, CUDA 2
    ("cbrt", "f32", 2, 4),        # XLA 2 (CUDA 1)
    ("rsqrt", "f32", 2, 4),       # CUDA 2 (XLA 1; rsqrt.approx.f32 is 2^-22.9)
    # f64: CUDA's table of the double functions; approx changes nothing there
    ("exp exp2 expm1 log log2 log1p", "f64", 1, 1),
    ("logistic", "f64", 3, 3),
    ("tanh", "f64", 2, 2), ("sin cos", "f64", 2, 2), ("tan", "f64", 4, 4), ("sinh", "f64", 2, 2), ("cosh", "f64", 1, 1),
    ("asin acos atan atan2", "f64", 2, 2), ("asinh acosh atanh", "f64", 3, 3),
    ("pow", "f64", 2, 2), ("erf", "f64", 2, 2), ("cbrt", "f64", 2, 2), ("rsqrt", "f64", 1, 1),
]


def budgets() -> dict[tuple[str, str], tuple[float, float]]:
    """(operation, type) -> (ulp, approx ulp)."""
    return {(op, t): (ulp, approx) for names, types, ulp, approx in BUDGETS for op in names.split() for t in types.split()}
