/* sieve: which results of f32 may be further off than what was seen before; exact.c judges these alone.
 *
 * Needs: exact.h; to be compiled with -ffast-math, with which libm has functions of vectors (glibc's, off by 4 units of a double at most,
 * which is 2^-27 of one of f32). Leaves: marks. Without such a libm the same loops are as slow as exact.c. Nothing here relies on what
 * comparisons say of nan: specials are told by their bits.
 *
 *     exp at 65536 arguments of which none is worse than the worst: no mark, in a tenth of the time
 */
#include "exact.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#if defined __x86_64__ && defined __gnu_linux__ && defined __GNUC__ && !defined __clang__ && !defined __SANITIZE_ADDRESS__
#define CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define CLONES
#endif

enum { BLOCK = 256 };

static inline uint64_t bits64(double x)
{
    uint64_t b;
    memcpy(&b, &x, 8);
    return b;
}

static inline uint32_t bits32(float x)
{
    uint32_t b;
    memcpy(&b, &x, 4);
    return b;
}

static inline double of_bits(uint64_t b)
{
    double x;
    memcpy(&x, &b, 8);
    return x;
}

#define EACH(VALUE)                                                                                          \
    for (int i = 0; i < BLOCK; i++) {                                                                        \
        const double x = (double)from[i];                                                                    \
        y[i] = VALUE;                                                                                        \
    }                                                                                                        \
    return true;

/* Of a block; false: this function is not here. */
CLONES static bool values(ScOp op, const float *restrict from, double *restrict y)
{
    switch (op) {
    case OP_EXP: EACH(exp(x))
    case OP_EXPM1: EACH(expm1(x))
    case OP_EXP2: EACH(exp2(x))
    case OP_LOG: EACH(log(x))
    case OP_LOG1P: EACH(log1p(x))
    case OP_LOG2: EACH(log2(x))
    case OP_LOGISTIC: EACH(1 / (1 + exp(-x)))
    case OP_TANH: EACH(tanh(x))
    case OP_TAN: EACH(tan(x))
    case OP_SIN: EACH(sin(x))
    case OP_COS: EACH(cos(x))
    case OP_ERF: EACH(erf(x))
    case OP_SQRT: EACH(sqrt(x))
    case OP_RSQRT: EACH(1 / sqrt(x))
    case OP_CBRT: EACH(cbrt(x))
    default: return false;
    }
}

/* A result is let pass that is nearer than the worst, where the exact one is ordinary; else what rounding the exact one gives, or a nan like it. */
CLONES static void mark(double worst, const float *restrict got, const double *restrict y, uint8_t *restrict suspect)
{
    const uint64_t least = bits64(0x1p-126), most = bits64(0x1p127), exponent = UINT64_C(0x7ff) << 52, sign = UINT64_C(1) << 63;
    const bool rounded = worst >= 0.5;
    for (int i = 0; i < BLOCK; i++) {
        const uint64_t size = bits64(y[i]) & ~sign;
        const uint32_t have = bits32(got[i]), plain = have & 0x7fffffff;
        const double unit = of_bits(size & exponent) * 0x1p-23;
        const bool near = (size >= least) & (size < most) & (plain != 0) & (plain < 0x7f800000) & (fabs((double)got[i] - y[i]) < (worst - 1e-6) * unit);
        const bool same = rounded & (bits32((float)y[i]) == have), nan = (size > exponent) & (plain > 0x7f800000);
        suspect[i] = !(near | same | nan);
    }
}

bool ex_sieve(ScOp op, const float *x, const float *got, uint64_t n, double worst, uint8_t *suspect)
{
    double y[BLOCK];
    if (n % BLOCK) return false;
    for (uint64_t i = 0; i < n; i += BLOCK) {
        if (!values(op, x + i, y)) return false;
        mark(worst, got + i, y, suspect + i);
    }
    return true;
}
