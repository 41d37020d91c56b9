/* sieve: marks the results of f32 whose error may exceed the largest so far, so that exact.c need measure only these.
 *
 * Needs exact.h, and -ffast-math, with which glibc has vector functions (with errors of 4 units of a double at most,
 * 2^-27 of a unit of f32). Leaves marks. Without vector functions it is as slow as exact.c. Comparisons with nan are
 * undefined under -ffast-math, so special values are recognised by their bits.
 *
 *     exp at 65536 arguments without a larger error: no mark, in a tenth of the time
 */
#include "exact.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#if defined __x86_64__ && defined __gnu_linux__ && defined __GNUC__ && !defined __clang__ &&                           \
    !defined __SANITIZE_ADDRESS__
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

/* The exact results of a block; false if the function is not known here. */
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

/* No mark where the exact result is ordinary and the error is below `worst`, where both are nan, or where the result is
 * correctly rounded and `worst` is at least 0.5. */
CLONES static void mark(double worst, const float *restrict got, const double *restrict y, uint8_t *restrict suspect)
{
    const uint64_t least = bits64(0x1p-126), most = bits64(0x1p127), exponent = UINT64_C(0x7ff) << 52,
                   sign = UINT64_C(1) << 63;
    const bool rounded = worst >= 0.5;
    for (int i = 0; i < BLOCK; i++) {
        const uint64_t size = bits64(y[i]) & ~sign;
        const uint32_t have = bits32(got[i]), plain = have & 0x7fffffff;
        const double unit = of_bits(size & exponent) * 0x1p-23;
        const bool near = (size >= least) & (size < most) & (plain != 0) & (plain < 0x7f800000) &
                          (fabs((double)got[i] - y[i]) < (worst - 1e-6) * unit);
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
