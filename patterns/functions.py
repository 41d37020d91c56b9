"""Functions: how far a result may be off (BUDGETS), and the lowerings of each, best first."""
from gen.lang import *
from patterns import angles, arcs, doubles, fixed, halves, hyperbolic, polynomials

LOG2_E, LN_2 = 1.4426950408889634, 0.6931471805599453

# --- how far a result may be off, in units in the last place of its type, and how far at --accuracy xla and approx -----------------
# What is not listed is correctly rounded. A later line overrides an earlier one. Sources:
#   16 bits   computed in f32 by a function that is off by far less than a unit, then rounded
#   f32, f64  the larger of XLA's own budget on GPUs (August 2026) and the maximum error that the CUDA Math API states for libdevice;
#             where our formula uses an approximation of PTX, the error that PTX states for it and the formula's own
#   xla, xla_abs   where XLA's own lowering is off by more than `ulp`: its error, measured from its PTX in the simulator with the errors that the PTX
#             manual allows (tests/functions/xla.tsv; tests/functions/functions_page.py compares)
#   approx    what the PTX manual states for the .approx instructions; 8192 ulp is 2^-11 of a value below a power of two: tanh.approx.f32
#   approx_abs  where it states an absolute error: sin, cos in [-100 pi, 100 pi] (none beyond), lg2 where the result is near 0
HALVES = (exp, expm1, exp2, log2, log, log1p, logistic, tanh, tan, sin, cos, sinh, cosh, asin, acos, atan, asinh, acosh, atanh, erf, rsqrt, cbrt, pow, atan2)
BUDGETS = [
    budget(HALVES,                   F16, ulp=1, approx=2),
    budget((tanh, logistic),         F16, ulp=1, approx=3),           # f16 below a power of two: 2^-11 is two units, rounding one half
    budget((sin, cos),               F16, ulp=1, approx=4, approx_abs=2**-14.69),  # 2^-14.7, then rounded to bf16
    budget((div, sqrt, rcp),         F16, ulp=0, xla=1, approx=1),
    budget(div,                      f32, ulp=0, xla=5, approx=5),            # 2^-22 of the value, then rounded
    budget(sqrt,                     f32, ulp=0, xla=3, approx=3),            # 2^-23
    budget(rcp,                      f32, ulp=0, xla=3, approx=3),            # 2^-23
    budget(exp,                      f32, ulp=4.5, approx=72),        # XLA 7; PTX's ex2 alone 4 at the most; approx: a * LOG2_E is off by 5.5e-6 at 88
    budget(exp2,                     f32, ulp=2, approx=4),           # CUDA 2
    budget(expm1,                    f32, ulp=2),                     # CUDA states 1; 1.3 seen at -0.182265
    budget((log, log2),              f32, ulp=1, approx=32, approx_abs=2**-22),  # XLA 1, CUDA 1
    budget(log1p,                    f32, ulp=1.5),                   # XLA 1, CUDA 1, counted from the rounded result
    budget(logistic,                 f32, ulp=5, xla=5.1, xla_abs=2**-127),  # PTX's ex2: 4; where exp overflows XLA has 0
    budget(tanh,                     f32, ulp=2.4, xla=6.8, approx=8200),  # PTX's ex2 and rcp 1.3, beyond 1; XLA has a rational function
    budget((sin, cos),               f32, ulp=2, approx=32, approx_abs=2**-14.7),  # CUDA 2 (XLA 1)
    budget(tan,                      f32, ulp=4),                     # XLA 4, CUDA 4
    budget((sinh, asinh, atanh),     f32, ulp=3, approx=32),          # CUDA, as all below
    budget(cosh,                     f32, ulp=2.5, approx=32),         # CUDA 2, counted from the rounded result
    budget((asin, acos, atan),       f32, ulp=2, approx=8),
    budget(atan2,                    f32, ulp=3),
    budget(acosh,                    f32, ulp=4, approx=32),
    budget(pow,                      f32, ulp=5),                     # PTX's ex2 alone 4 at the most (CUDA 4)
    budget(erf,                      f32, ulp=2),
    budget(cbrt,                     f32, ulp=2),
    budget(rsqrt,                    f32, ulp=2.2, approx=4),         # CUDA 2, PTX 2^-22.9 of the value
    budget(hypot,                    f32, ulp=3),
    budget(hypot,                    f64, ulp=2),
    budget((exp, exp2, log),         f64, ulp=1),
    budget(logistic,                 f64, ulp=1, xla=2.1, xla_abs=2**-1023),
    budget((expm1, log1p, log2, cosh, rsqrt), f64, ulp=1.5),          # CUDA 1, counted from the rounded result
    budget((tanh, sin, cos, sinh, asin, acos, atan, atan2, pow, erf), f64, ulp=2),
    budget((asinh, acosh, atanh), f64, ulp=3),
    budget(tan,                      f64, ulp=4),
    budget(cbrt,                     f64, ulp=2),                     # XLA 2
    budget((exp2z, log2z),           f32, ulp=4),                     # PTX 2^-22
    budget(rcpz,                     f32, ulp=2),                     # PTX 2^-23
    budget(rsqrtz,                   f32, ulp=2.2),                   # PTX 2^-22.9
    budget((rcpz, rsqrtz),           f64, ulp=2**33),                 # 2^-20: only the upper word is computed
    # complex: units of the larger part. The formulas nest several functions of the parts; abs is hypot, for which CUDA states 3
    budget((exp, expm1, log, log1p, logistic, sqrt, rsqrt, cbrt, sin, cos, tan, sinh, cosh, tanh, pow,
            asin, acos, asinh, acosh, atanh), (c64, c128), ulp=24, approx=8300, approx_abs=2**-14),
    budget(exp,                      c64, ulp=50, approx=8300, approx_abs=2**-14),  # the fourth power of a part
    budget(logistic,                 c128, ulp=32, approx=8300, approx_abs=2**-14),
    budget((div, sign),              (c64, c128), ulp=8, approx=16),
    budget(abs,                      (c64, c128), ulp=4, approx=8),
]
MARKED_XLA = [                                 # lowered at --accuracy xla as at approx: there XLA has the machine's approximation, too
    marks((div, sqrt, rcp),          (f32, F16)),
]

# --- lower: 16-bit types, by f32 -----------------------------------------------------------------------------------------------
TANH = [rewrite(tanh.bf16(a),        cvt.bf16.f32(tanh.f32.approx(cvt.f32.bf16(a))))]       # 2^-10.9 keeps the budget of bf16: 1 ulp
EXP  = [rewrite(exp.bf16(a),         cvt.bf16.f32(exp2.f32.approx(mul.f32(cvt.f32.bf16(a), LOG2_E))))]     # the product is off by 2^-17
LOG  = [rewrite(log.bf16(a),         cvt.bf16.f32(mul.f32(log2.f32.approx(cvt.f32.bf16(a)), LN_2)))]
RSQRT = [rewrite(rsqrt.bf16(a),      cvt.bf16.f32(rsqrt.f32(cvt.f32.bf16(a))))]
WIDENED, WIDENED2 = (expm1, log, log1p, logistic, tanh, tan, sin, cos, sinh, cosh, asin, acos, asinh, acosh, atanh, erf, cbrt), (pow, atan2)
WIDEN = [rewrite(op[F16](a),         cvt[F16].f32(op.f32(cvt.f32[F16](a)))) for op in WIDENED if op not in (tan, logistic, log1p, expm1, sinh, cosh, atanh)]
WIDEN2 = [rewrite(op[F16](a, b),     cvt[F16].f32(op.f32(cvt.f32[F16](a), cvt.f32[F16](b)))) for op in WIDENED2]

# --- lower, at --accuracy approx, which marks every function: those that are not instructions (tanh, sin and cos are) ----------------
APPROX = [
    rewrite(exp.f32.approx(a),       exp2.f32.approx(mul.f32(a, LOG2_E))),
    rewrite(log.f32.approx(a),       mul.f32(log2.f32.approx(a), LN_2)),
]
LOWER = halves.HALVES + TANH + EXP + LOG + RSQRT + WIDEN + WIDEN2 + APPROX + polynomials.F32 + hyperbolic.F32 + hyperbolic.F64 + arcs.F32 + arcs.F64

# --- isel: libdevice, linked late ---------------------------------------------------------------------------------------------------------
# Functions for which we tried a formula and kept libdevice, or have no list:
#   sin, cos of f64        where f64 is fast; below 2^31 libdevice runs 40 instructions, 16 of f64, and branches around the rest. Ours of fixed.py has
#                          190 of integers for every argument, some 200 clocks of the busiest pipe of sm_90 for 32
#   erf of f64             where f64 is fast; one range takes 37 multiply-adds, 55 instructions, and is off by 1.4 ulp; two ranges within 1 ulp each take more
#   exp2, log2             no list: HLO does not have them, and rules lower to them only for 16 bits and under --approx
#   exp, logistic of f32   use ex2, whose error is 2 to 4 ulp by the PTX manual, and 2 by CUDA's figure for expf, the same formula: with the
#                          polynomial of expm1 instead, exp has 16 instructions and more for its range; libdevice's exp has 10
#   expm1, tanh, cbrt of f64 on sm_120     see doubles.LONG
#   sinh of f64 but on sm_90, sm_100       see hyperbolic.FAST
#   remainders of f32 and f64              libdevice's loop subtracts as many bits at a time as the quotient has; a term has no loop
# Where nothing links libdevice (no_llvm) the lists WITHOUT_LLVM of fixed.py, hyperbolic.py and doubles.py and fixed.REMAINDERS have all of these.
# err: stated where it is below the budget and a lowering needs that. CUDA states 1 for exp; 2 covers the whole error of ex2.approx
LIBDEVICE = doubles.INSTR + polynomials.INSTR + angles.INSTR + fixed.INSTR + [
    call(exp.f32(a),                 '__nv_expf', err=ulp(2)),
] + [
    call(op[t](a),                   f'__nv_{op}{suffix}')
    for op in (exp, expm1, log, log1p, tanh, tan, sin, cos, sinh, cosh, asin, acos, asinh, acosh, atanh, erf, cbrt)
    for t, suffix in ((f32, 'f'), (f64, '')) if not (op is exp and t is f32)
] + [
    call(op[t](a, b),                f'__nv_{name}{suffix}')
    for op, name in ((pow, 'pow'), (atan2, 'atan2'), (rem, 'fmod'), (hypot, 'hypot'))
    for t, suffix in ((f32, 'f'), (f64, ''))
] + [
    call(rsqrt.f64(a),               '__nv_rsqrt'),
]
