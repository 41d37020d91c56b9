"""Functions: how far a result may be off (BUDGETS), and by which way each is computed, best first."""
from gen.lang import *

LOG2_E, LN_2 = 1.4426950408889634, 0.6931471805599453

# --- lower: 16-bit types, through f32 -----------------------------------------------------------------------------------------------
TANH = [rewrite(tanh.bf16(a),        cvt.bf16.f32(tanh.f32.approx(cvt.f32.bf16(a))))]       # 2^-10.9 keeps the budget of bf16: 1 ulp
EXP  = [rewrite(exp[F16](a),         cvt[F16].f32(exp2.f32.approx(mul.f32(cvt.f32[F16](a), LOG2_E))))]     # product off by 2^-17
LOG  = [rewrite(log.bf16(a),         cvt.bf16.f32(mul.f32(log2.f32.approx(cvt.f32.bf16(a)), LN_2)))]
RSQRT = [rewrite(rsqrt[F16](a),      cvt[F16].f32(rsqrt.f32(cvt.f32[F16](a))))]
WIDEN = [rewrite(op[F16](a),         cvt[F16].f32(op.f32(cvt.f32[F16](a))))
         for op in (expm1, log, log1p, logistic, tanh, tan, sin, cos, sinh, cosh, asin, acos, asinh, acosh, atanh, erf, cbrt)]
WIDEN2 = [rewrite(op[F16](a, b),     cvt[F16].f32(op.f32(cvt.f32[F16](a), cvt.f32[F16](b)))) for op in (pow, atan2)]

# --- lower: from other functions. exp(-|x|) cannot overflow, so small results stay exact to the last subnormal ----------------------------
LOGISTIC = [rewrite(logistic[t](a),  select[t](lt[t](a, 0.0), div[t](exp[t](neg[t](abs[t](a))), add[t](exp[t](neg[t](abs[t](a))), 1.0)),
                                         div[t](1.0, add[t](exp[t](neg[t](abs[t](a))), 1.0)))) for t in (f32, f64)]

# --- lower, under --approx, which marks every function: what the machine has not itself (tanh, sin and cos it has) ----------------
APPROX = [
    rewrite(exp.f32.approx(a),       exp2.f32.approx(mul.f32(a, LOG2_E))),
    rewrite(log.f32.approx(a),       mul.f32(log2.f32.approx(a), LN_2)),
]
LOWER = TANH + EXP + LOG + RSQRT + WIDEN + WIDEN2 + LOGISTIC + APPROX

# --- select: libdevice, linked late ---------------------------------------------------------------------------------------------------------
LIBDEVICE = [
    call(op[t](a),                   f'__nv_{op}{suffix}')
    for op in (exp, expm1, log, log1p, tanh, tan, sin, cos, sinh, cosh, asin, acos, asinh, acosh, atanh, erf, cbrt)
    for t, suffix in ((f32, 'f'), (f64, ''))
] + [
    call(op[t](a, b),                f'__nv_{name}{suffix}')
    for op, name in ((pow, 'pow'), (atan2, 'atan2'), (rem, 'fmod'))
    for t, suffix in ((f32, 'f'), (f64, ''))
] + [
    call(rsqrt.f64(a),               '__nv_rsqrt'),
]
