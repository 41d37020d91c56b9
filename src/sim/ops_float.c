/* ops_float: the rows of the instruction table on f32 and f64.
 *
 * Needs: lanes.h; soft.c for rounding modes that the host has not. Leaves: sim_rows_float. Modifiers .ftz, .sat and
 * .relu that have no row of their own are taken apart by decode.c into %ftz, %sat and %relu around the plain
 * instruction.
 *
 * An approximate instruction is its function in double, rounded once; with noise it moves within the bound that the
 * manual gives (the two last columns of APPROX: relative and absolute).
 *
 *     add.rn.f32 %r3, %r1, %r2   ->   op_add_f32: bits_f32(as_f32(a) + as_f32(b))
 */
#include "sim/lanes.h"

#define X as_f32(a)
#define Y as_f32(b)
#define DX as_f64(a)
#define DY as_f64(b)

/* A double that stands for an f32 result. The bounds are those of results: what noise has moved is not rounded
 * further away. */
SIM_INLINE u32 rounded(u64 seed, u32 a, double r, double relative, double absolute)
{
    if (r != r || r == 0.0 || r - r != 0.0) return bits_f32((float)r);
    const double moved = sim_noise(seed, a, r, relative, absolute);
    float f = (float)moved;
    if (moved > r ? (double)f > moved : moved < r && (double)f < moved) f = nextafterf(f, (float)r);
    return bits_f32(f);
}

SIM_INLINE u32 flushed(u32 r) { return flush32(r); }

/* Denominators of 2^126 and more give zero (PTX ISA, div.approx). */
SIM_INLINE double divided(float a, float b)
{
    double y = fabs((double)b);
    if (y > 0x1p126 && y < 0x1p128) return a - a != 0.0f ? (double)NAN : copysign(0.0, (double)a * (double)b);
    return (double)a / (double)b;
}

/* Approximate f64 reciprocals keep the upper 32 bits of an argument and of a result. */
SIM_INLINE u64 upper_only(u64 a) { return a & UINT64_C(0xffffffff00000000); }
SIM_INLINE u64 flush64(u64 a) { return a & UINT64_C(0x7ff0000000000000) ? a : a & (UINT64_C(1) << 63); }

SIM_INLINE u32 testp(u32 a, int which)
{
    u32 m = a & 0x7fffffffu;
    switch (which) {
    case 0: return m < 0x7f800000u;
    case 1: return m == 0x7f800000u;
    case 2: return m <= 0x7f800000u;
    case 3: return m > 0x7f800000u;
    case 4: return m >= 0x00800000u && m < 0x7f800000u;
    default: return m > 0 && m < 0x00800000u;
    }
}

SIM_INLINE bool testp64(u64 a, int which)
{
    u64 m = a & UINT64_C(0x7fffffffffffffff), inf = UINT64_C(0x7ff0000000000000), least = UINT64_C(0x0010000000000000);
    switch (which) {
    case 0: return m < inf;
    case 1: return m == inf;
    case 2: return m <= inf;
    case 3: return m > inf;
    case 4: return m >= least && m < inf;
    default: return m > 0 && m < least;
    }
}

/* Those with a row that has no noise, and so no call, stand here under names of their own; see QUIET. */
#define APPROX(OP, id, name, value, relative, absolute)                                                                  \
    OP(approx_##id, name ".f32", "ff", u32, u32, u32, u32, rounded(seed, a, value, relative, absolute))                  \
    OP(approx_ftz_##id, name ".ftz.f32", "ff", u32, u32, u32, u32, id##_flush(seed, a))
#define QUIET(OP, id, value)                                                                                             \
    OP(quiet_##id, "%quiet." #id ".f32", "ff", u32, u32, u32, u32, bits_f32((float)(value((double)X))))                  \
    OP(quiet_ftz_##id, "%quiet." #id ".ftz.f32", "ff", u32, u32, u32, u32,                                        \
       flush32(bits_f32((float)(value((double)as_f32(flush32(a)))))))

SIM_INLINE double reciprocal(double x) { return 1.0 / x; }
SIM_INLINE double reciprocal_root(double x) { return 1.0 / sqrt(x); }

#define FLUSHED(id, value, relative, absolute)                                                                           \
    SIM_INLINE u32 id##_flush(u64 seed, u32 bits)                                                                     \
    {                                                                                                                    \
        u32 a = flush32(bits);                                                                                           \
        return flush32(rounded(seed, a, value, relative, absolute));                                                     \
    }

#define EX2 exp2_f32((double)X)
#define LG2 log2((double)X)
#define RCP 1.0 / (double)X
#define RSQRT 1.0 / sqrt((double)X)
#define SQRT sqrt((double)X)
#define SIN sin((double)X)
#define COS cos((double)X)
FLUSHED(ex2, EX2, 0x1p-22, 0)
FLUSHED(lg2, LG2, 0, 0x1p-22)
FLUSHED(rcp, RCP, 0x1p-23, 0)
FLUSHED(rsqrt, RSQRT, 0x1.125p-23, 0)
FLUSHED(sqrt, SQRT, 0x1p-23, 0)
FLUSHED(sin, SIN, 0, 0x1p-21)
FLUSHED(cos, COS, 0, 0x1p-21)

/* tanh stays within one, whatever the noise. */
static u32 tanh_noisy(u64 seed, u32 a)
{
    double r = tanh_f32(a);
    if (r == r) r = fmax(-1.0, fmin(1.0, sim_noise(seed, a, r, 0x1p-11, 0)));
    return bits_f32((float)r);
}

#define COMPARE1(OP, id, op, F, types, T, read, nan)                                                                     \
    OP(setp_##id##_##F, "setp." #id "." #F, types, u8, T, T, T, read(a) op read(b))                                      \
    OP(setp_##id##u_##F, "setp." #id "u." #F, types, u8, T, T, T, (read(a) op read(b)) | nan(a) | nan(b))
#define COMPARES(OP, F, types, T, read, nan)                                                                             \
    COMPARE1(OP, eq, ==, F, types, T, read, nan)                                                                         \
    COMPARE1(OP, lt, <, F, types, T, read, nan)                                                                          \
    COMPARE1(OP, le, <=, F, types, T, read, nan)                                                                         \
    COMPARE1(OP, gt, >, F, types, T, read, nan)                                                                          \
    COMPARE1(OP, ge, >=, F, types, T, read, nan)                                                                         \
    OP(setp_ne_##F, "setp.ne." #F, types, u8, T, T, T, (read(a) != read(b)) & !nan(a) & !nan(b))                         \
    OP(setp_neu_##F, "setp.neu." #F, types, u8, T, T, T, read(a) != read(b))                                             \
    OP(setp_num_##F, "setp.num." #F, types, u8, T, T, T, !nan(a) & !nan(b))                                              \
    OP(setp_nan_##F, "setp.nan." #F, types, u8, T, T, T, nan(a) | nan(b))

#define MODES(OP, id, suffix, mode)                                                                                      \
    OP(add_##id, "add." suffix ".f32", "fff", u32, u32, u32, u32, fma_directed(a, 0x3f800000u, b, mode))                    \
    OP(sub_##id, "sub." suffix ".f32", "fff", u32, u32, u32, u32, fma_directed(a, 0x3f800000u, b ^ 0x80000000u, mode))      \
    OP(mul_##id, "mul." suffix ".f32", "fff", u32, u32, u32, u32, mul_directed(a, b, mode))                                 \
    OP(fma_##id, "fma." suffix ".f32 mad." suffix ".f32", "ffff", u32, u32, u32, u32, fma_directed(a, b, c, mode))          \
    OP(div_##id, "div." suffix ".f32", "fff", u32, u32, u32, u32, sim_div32(a, b, mode))                                 \
    OP(rcp_##id, "rcp." suffix ".f32", "ff", u32, u32, u32, u32, sim_div32(0x3f800000u, a, mode))                        \
    OP(sqrt_##id, "sqrt." suffix ".f32", "ff", u32, u32, u32, u32, sim_sqrt32(a, mode))                                  \
    OP(addd_##id, "add." suffix ".f64", "ggg", u64, u64, u64, u64, sim_fma64(a, ONE, b, mode))                           \
    OP(subd_##id, "sub." suffix ".f64", "ggg", u64, u64, u64, u64, sim_fma64(a, ONE, b ^ SIGN, mode))                    \
    OP(muld_##id, "mul." suffix ".f64", "ggg", u64, u64, u64, u64, sim_fma64(a, b, (a ^ b) & SIGN, mode))                \
    OP(fmad_##id, "fma." suffix ".f64 mad." suffix ".f64", "gggg", u64, u64, u64, u64, sim_fma64(a, b, c, mode))
#define ONE UINT64_C(0x3ff0000000000000)
#define SIGN (UINT64_C(1) << 63)

#define TESTS(OP, name, which)                                                                                           \
    OP(testp_##name##_f32, "testp." #name ".f32", "pf", u8, u32, u32, u32, testp(a, which))                              \
    OP(testp_##name##_f64, "testp." #name ".f64", "pg", u8, u64, u64, u64, testp64(a, which))

#define FLOATS(OP)                                                                                                       \
    OP(add_f32, "add.rn.f32 add.f32", "fff", u32, u32, u32, u32, bits_f32(X + Y))                                        \
    OP(sub_f32, "sub.rn.f32 sub.f32", "fff", u32, u32, u32, u32, bits_f32(X - Y))                                        \
    OP(mul_f32, "mul.rn.f32 mul.f32", "fff", u32, u32, u32, u32, bits_f32(X * Y))                                        \
    OP(fma_f32_soft, "%soft.fma.f32", "ffff", u32, u32, u32, u32, bits_f32(fma_f32(a, b, c)))                         \
    OP(div_f32, "div.rn.f32", "fff", u32, u32, u32, u32, bits_f32(X / Y))                                                \
    OP(rcp_f32, "rcp.rn.f32", "ff", u32, u32, u32, u32, bits_f32(1.0f / X))                                              \
    OP(sqrt_f32, "sqrt.rn.f32", "ff", u32, u32, u32, u32, bits_f32(sqrtf(X)))                                            \
    OP(max_f32, "max.f32", "fff", u32, u32, u32, u32, max32(a, b))                                                       \
    OP(min_f32, "min.f32", "fff", u32, u32, u32, u32, min32(a, b))                                                       \
    OP(max_nan_f32, "max.NaN.f32", "fff", u32, u32, u32, u32, nan32(a) | nan32(b) ? 0x7fffffffu : max32(a, b))           \
    OP(min_nan_f32, "min.NaN.f32", "fff", u32, u32, u32, u32, nan32(a) | nan32(b) ? 0x7fffffffu : min32(a, b))           \
    OP(neg_f32, "neg.f32", "ff", u32, u32, u32, u32, a ^ 0x80000000u)                                                    \
    OP(abs_f32, "abs.f32", "ff", u32, u32, u32, u32, a & 0x7fffffffu)                                                    \
    OP(copysign_f32, "copysign.f32", "fff", u32, u32, u32, u32, (b & 0x7fffffffu) | (a & 0x80000000u))                   \
    OP(sat_f32, "%sat.f32", "ff", u32, u32, u32, u32, X > 0.0f ? (X < 1.0f ? a : 0x3f800000u) : 0)                       \
    OP(sat_f64, "%sat.f64", "gg", u64, u64, u64, u64, DX > 0.0 ? (DX < 1.0 ? a : ONE) : 0)                               \
    OP(relu_f32, "%relu.f32", "ff", u32, u32, u32, u32, nan32(a) ? 0x7fffffffu : X > 0.0f ? a : 0)                       \
    OP(ftz_f32, "%ftz.f32", "ff", u32, u32, u32, u32, flushed(a))                                                        \
    OP(div_approx, "div.approx.f32", "fff", u32, u32, u32, u32, rounded(seed, a ^ b, divided(X, Y), 0x1p-22, 0))         \
    OP(div_full, "div.full.f32", "fff", u32, u32, u32, u32, rounded(seed, a ^ b, (double)X / (double)Y, 0x1p-22, 0))     \
    OP(add_f64, "add.rn.f64 add.f64", "ggg", u64, u64, u64, u64, bits_f64(DX + DY))                                      \
    OP(sub_f64, "sub.rn.f64 sub.f64", "ggg", u64, u64, u64, u64, bits_f64(DX - DY))                                      \
    OP(mul_f64, "mul.rn.f64 mul.f64", "ggg", u64, u64, u64, u64, bits_f64(DX * DY))                                      \
    OP(fma_f64_soft, "%soft.fma.f64", "gggg", u64, u64, u64, u64, bits_f64(fma(DX, DY, as_f64(c))))                   \
    OP(div_f64, "div.rn.f64", "ggg", u64, u64, u64, u64, bits_f64(DX / DY))                                              \
    OP(rcp_f64, "rcp.rn.f64", "gg", u64, u64, u64, u64, bits_f64(1.0 / DX))                                              \
    OP(sqrt_f64, "sqrt.rn.f64", "gg", u64, u64, u64, u64, bits_f64(sqrt(DX)))                                            \
    OP(max_f64, "max.f64", "ggg", u64, u64, u64, u64, max64(a, b))                                                       \
    OP(min_f64, "min.f64", "ggg", u64, u64, u64, u64, min64(a, b))                                                       \
    OP(neg_f64, "neg.f64", "gg", u64, u64, u64, u64, a ^ SIGN)                                                           \
    OP(abs_f64, "abs.f64", "gg", u64, u64, u64, u64, a & ~SIGN)                                                          \
    OP(copysign_f64, "copysign.f64", "ggg", u64, u64, u64, u64, (b & ~SIGN) | (a & SIGN))                                \
    OP(rcp_a64, "rcp.approx.ftz.f64", "gg", u64, u64, u64, u64, flush64(upper_only(raw_f64(1.0 / as_f64(flush64(upper_only(a))))))) \
    OP(rsqrt_a64, "rsqrt.approx.ftz.f64", "gg", u64, u64, u64, u64,                                                      \
       upper_only(raw_f64(1.0 / sqrt(as_f64(flush64(upper_only(a)))))))                                                  \
    OP(rsqrt_f64, "rsqrt.approx.f64", "gg", u64, u64, u64, u64, bits_f64(1.0 / sqrt(DX)))

#define FUNCTIONS(OP)                                                                                                    \
    APPROX(OP, ex2, "%noisy.ex2", EX2, 0x1p-22, 0)                                                                       \
    APPROX(OP, lg2, "lg2.approx", LG2, 0, 0x1p-22)                                                                       \
    APPROX(OP, rcp, "%noisy.rcp", RCP, 0x1p-23, 0)                                                                       \
    APPROX(OP, rsqrt, "%noisy.rsqrt", RSQRT, 0x1.125p-23, 0)                                                             \
    APPROX(OP, sqrt, "%noisy.sqrt", SQRT, 0x1p-23, 0)                                                                    \
    APPROX(OP, sin, "sin.approx", SIN, 0, 0x1p-21)                                                                       \
    APPROX(OP, cos, "cos.approx", COS, 0, 0x1p-21)                                                                       \
    QUIET(OP, ex2, exp2_f32) QUIET(OP, rcp, reciprocal) QUIET(OP, rsqrt, reciprocal_root) QUIET(OP, sqrt, sqrt)          \
    OP(tanh_quiet, "%quiet.tanh.f32", "ff", u32, u32, u32, u32, bits_f32((float)tanh_f32(a)))                            \
    OP(tanh_noisy, "%noisy.tanh.f32", "ff", u32, u32, u32, u32, tanh_noisy(seed, a))

#define ROWS(OP)                                                                                                         \
    FLOATS(OP) FUNCTIONS(OP)                                                                                             \
    MODES(OP, rz, "rz", RZ) MODES(OP, rm, "rm", RM) MODES(OP, rp, "rp", RP)                                              \
    COMPARES(OP, f32, "pff", u32, as_f32, nan32) COMPARES(OP, f64, "pgg", u64, as_f64, nan64)                            \
    TESTS(OP, finite, 0) TESTS(OP, infinite, 1) TESTS(OP, number, 2) TESTS(OP, notanumber, 3) TESTS(OP, normal, 4)       \
    TESTS(OP, subnormal, 5)
ROWS(SIM_OP)

/* A loop without noise is a loop without calls, whose lanes run side by side. */
#define FREQUENT(id, noisy, quiet)                                                                                       \
    static void op_##id(uint8_t *d, const uint8_t *regs, const SimOp *op)                                                \
    {                                                                                                                    \
        if (*(const uint64_t *)(const void *)regs) op_##noisy(d, regs, op);                                              \
        else op_##quiet(d, regs, op);                                                                                    \
    }

/* Where the host has fma in hardware it is taken; the bits are the same. */
#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx2,fma"))) static void op_fma_f32_host(uint8_t *d, const uint8_t *regs, const SimOp *op)
{
    const u32 *a = (const u32 *)(const void *)(regs + op->a), *b = (const u32 *)(const void *)(regs + op->b),
              *c = (const u32 *)(const void *)(regs + op->c);
    u32 *to = (u32 *)(void *)d;
    SIM_EACH to[l] = bits_f32(__builtin_fmaf(as_f32(a[l]), as_f32(b[l]), as_f32(c[l])));
}

__attribute__((target("avx2,fma"))) static void op_fma_f64_host(uint8_t *d, const uint8_t *regs, const SimOp *op)
{
    const u64 *a = (const u64 *)(const void *)(regs + op->a), *b = (const u64 *)(const void *)(regs + op->b),
              *c = (const u64 *)(const void *)(regs + op->c);
    u64 *to = (u64 *)(void *)d;
    SIM_EACH to[l] = bits_f64(__builtin_fma(as_f64(a[l]), as_f64(b[l]), as_f64(c[l])));
}

static bool host_fma(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
#else
#define op_fma_f32_host op_fma_f32_soft
#define op_fma_f64_host op_fma_f64_soft
static bool host_fma(void) { return false; }
#endif
#define FUSED(id)                                                                                                        \
    static void op_##id(uint8_t *d, const uint8_t *regs, const SimOp *op)                                                \
    {                                                                                                                    \
        if (host_fma()) op_##id##_host(d, regs, op);                                                                     \
        else op_##id##_soft(d, regs, op);                                                                                \
    }
FUSED(fma_f32)
FUSED(fma_f64)

FREQUENT(tanh, tanh_noisy, tanh_quiet)
FREQUENT(ex2, approx_ex2, quiet_ex2)
FREQUENT(ex2_ftz, approx_ftz_ex2, quiet_ftz_ex2)
FREQUENT(rcp, approx_rcp, quiet_rcp)
FREQUENT(rcp_ftz, approx_ftz_rcp, quiet_ftz_rcp)
FREQUENT(rsqrt, approx_rsqrt, quiet_rsqrt)
FREQUENT(rsqrt_ftz, approx_ftz_rsqrt, quiet_ftz_rsqrt)
FREQUENT(sqrt, approx_sqrt, quiet_sqrt)
FREQUENT(sqrt_ftz, approx_ftz_sqrt, quiet_ftz_sqrt)

const SimRow sim_rows_float[] = {ROWS(SIM_ROW){"fma.rn.f32 mad.rn.f32", "ffff", op_fma_f32},
                                 {"fma.rn.f64 mad.rn.f64", "gggg", op_fma_f64},
                                 {"tanh.approx.f32", "ff", op_tanh},
                                 {"ex2.approx.f32", "ff", op_ex2},
                                 {"ex2.approx.ftz.f32", "ff", op_ex2_ftz},
                                 {"rcp.approx.f32", "ff", op_rcp},
                                 {"rcp.approx.ftz.f32", "ff", op_rcp_ftz},
                                 {"rsqrt.approx.f32", "ff", op_rsqrt},
                                 {"rsqrt.approx.ftz.f32", "ff", op_rsqrt_ftz},
                                 {"sqrt.approx.f32", "ff", op_sqrt},
                                 {"sqrt.approx.ftz.f32", "ff", op_sqrt_ftz},
                                 {NULL, NULL, NULL}};
