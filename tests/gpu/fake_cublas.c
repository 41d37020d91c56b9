/* fake_cublas: the entry points of cuBLAS that src/gpu/blas.c calls, on the memory of fake_cuda_driver, which is the
 * host's.
 *
 * Tests name it in WARPBURG_LIBCUBLAS. Sums are taken in f64, one after the other; FAKE_CUBLAS_FAIL is the status that
 * a product ends with.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
enum { F32 = 0, F64 = 1, BF16 = 14, SUM_F32 = 68, SUM_F64 = 70, SUCCESS = 0, INVALID = 7, NOT_SUPPORTED = 15 };

static int created, streams;

EXPORT int cublasCreate_v2(void **handle)
{
    *handle = &created;
    return created++ ? INVALID : SUCCESS; /* one at a time */
}

EXPORT int cublasDestroy_v2(void *handle)
{
    (void)handle;
    created--;
    return SUCCESS;
}

EXPORT int cublasSetStream_v2(void *handle, void *stream)
{
    (void)stream;
    streams++;
    return handle == &created ? SUCCESS : INVALID;
}

EXPORT int cublasSetMathMode(void *handle, int mode)
{
    return handle == &created && mode == 16 ? SUCCESS : INVALID;
}

static double get(const void *from, int type, int64_t at)
{
    uint32_t bits = 0;
    float f;
    if (type == F64) return ((const double *)from)[at];
    if (type == F32) return ((const float *)from)[at];
    bits = (uint32_t)((const uint16_t *)from)[at] << 16;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static void set(void *to, int type, int64_t at, double value)
{
    uint32_t bits;
    const float f = (float)value;
    if (type == F64) ((double *)to)[at] = value;
    else if (type == F32) ((float *)to)[at] = f;
    else {
        memcpy(&bits, &f, sizeof bits); /* to nearest, ties to even; the tests have no nan */
        ((uint16_t *)to)[at] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
}

EXPORT int cublasGemmStridedBatchedEx(void *handle, int turn_a, int turn_b, int m, int n, int k, const void *alpha,
                                      const void *a, int type_a, int lda, long long stride_a, const void *b, int type_b,
                                      int ldb, long long stride_b, const void *beta, void *c, int type_c, int ldc,
                                      long long stride_c, int batch, int compute, int algorithm)
{
    const char *fail = getenv("FAKE_CUBLAS_FAIL");
    const int sum = type_a == F64 ? SUM_F64 : SUM_F32;
    if (fail) return atoi(fail);
    if (handle != &created || !streams || type_a != type_b || algorithm != -1) return INVALID;
    if (compute != sum || (type_a != F32 && type_a != F64 && type_a != BF16)) return NOT_SUPPORTED;
    if (lda < (turn_a ? k : m) || ldb < (turn_b ? n : k) || ldc < m) return INVALID;
    if (get(alpha, sum == SUM_F64, 0) != 1 || get(beta, sum == SUM_F64, 0) != 0) return INVALID;
    for (int64_t q = 0; q < batch; q++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; i < m; i++) {
                double total = 0;
                for (int64_t t = 0; t < k; t++)
                    total += get(a, type_a, q * stride_a + (turn_a ? t + i * lda : i + t * lda)) *
                             get(b, type_b, q * stride_b + (turn_b ? j + t * ldb : t + j * ldb));
                set(c, type_c, q * stride_c + i + j * ldc, total);
            }
    return SUCCESS;
}
