/* fake_cublas: the entry points of cuBLAS that src/gpu/blas.c calls, and those of cuBLASLt of src/gpu/blas_lt.c, on the
 * memory of fake_cuda_driver, which is the host's.
 *
 * Tests name it in WARPBURG_LIBCUBLAS and WARPBURG_LIBCUBLASLT. Sums are taken in f64, one after the other, and rounded
 * before something is added; FAKE_CUBLAS_FAIL is the status that a product ends with.
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

/* --- cuBLASLt ----------------------------------------------------------------------------------------------------- */
typedef struct { int turn_a, turn_b, epilogue; const float *bias; } Desc;
typedef struct { int type, batch; int64_t rows, columns, step, stride; } Layout;
enum { TURN_A = 3, TURN_B = 4, EPILOGUE = 7, BIAS = 8, BATCH = 5, STRIDE = 6, NO_EPILOGUE = 1, ADDS_BIAS = 4 };
static int lt_created, lt_alive; /* descriptors and layouts that are not destroyed */

EXPORT int cublasLtCreate(void **handle)
{
    *handle = &lt_created;
    return lt_created++ ? INVALID : SUCCESS;
}

EXPORT int cublasLtDestroy(void *handle)
{
    lt_created--;
    return handle == &lt_created && !lt_alive ? SUCCESS : INVALID;
}

EXPORT int cublasLtMatmulDescCreate(void **desc, int compute, int scale_type)
{
    Desc *d = calloc(1, sizeof *d);
    d->epilogue = NO_EPILOGUE, *desc = d, lt_alive++;
    return compute == SUM_F32 && scale_type == F32 ? SUCCESS : NOT_SUPPORTED;
}

EXPORT int cublasLtMatmulDescDestroy(void *desc)
{
    lt_alive--;
    free(desc);
    return SUCCESS;
}

EXPORT int cublasLtMatmulDescSetAttribute(void *desc, int attribute, const void *value, size_t bytes)
{
    Desc *d = desc;
    int *numbers[] = {[TURN_A] = &d->turn_a, [TURN_B] = &d->turn_b, [EPILOGUE] = &d->epilogue, [BIAS] = NULL};
    if (attribute < TURN_A || attribute > BIAS || (attribute != BIAS && !numbers[attribute])) return INVALID;
    if (bytes != (attribute == BIAS ? sizeof(void *) : sizeof(int))) return INVALID;
    memcpy(attribute == BIAS ? (void *)&d->bias : numbers[attribute], value, bytes);
    return SUCCESS;
}

EXPORT int cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t columns, int64_t step)
{
    Layout *l = malloc(sizeof *l);
    *l = (Layout){type, 1, (int64_t)rows, (int64_t)columns, step, 0}, *layout = l, lt_alive++;
    return step >= (int64_t)rows ? SUCCESS : INVALID;
}

EXPORT int cublasLtMatrixLayoutDestroy(void *layout)
{
    lt_alive--;
    free(layout);
    return SUCCESS;
}

EXPORT int cublasLtMatrixLayoutSetAttribute(void *layout, int attribute, const void *value, size_t bytes)
{
    Layout *l = layout;
    if (attribute == BATCH && bytes == sizeof l->batch) memcpy(&l->batch, value, bytes);
    else if (attribute == STRIDE && bytes == sizeof l->stride) memcpy(&l->stride, value, bytes);
    else return INVALID;
    return SUCCESS;
}

EXPORT int cublasLtMatmul(void *handle, void *desc, const void *alpha, const void *a, void *layout_a, const void *b,
                          void *layout_b, const void *beta, const void *c, void *layout_c, void *d, void *layout_d,
                          const void *algorithm, void *workspace, size_t workspace_bytes, void *stream)
{
    const Desc *e = desc;
    const Layout *x = layout_a, *y = layout_b, *z = layout_d;
    const char *fail = getenv("FAKE_CUBLAS_FAIL");
    const int64_t k = e->turn_a ? x->rows : x->columns;
    (void)stream;
    if (fail) return atoi(fail);
    if (handle != &lt_created || algorithm || workspace || workspace_bytes || layout_c != layout_d) return INVALID;
    if (z->type != F32 || x->type != y->type || (x->type != F32 && x->type != BF16)) return NOT_SUPPORTED;
    if ((e->turn_a ? x->columns : x->rows) != z->rows) return INVALID;
    if ((e->turn_b ? y->rows : y->columns) != z->columns) return INVALID;
    if ((e->turn_b ? y->columns : y->rows) != k || x->batch != z->batch || y->batch != z->batch) return INVALID;
    if (e->epilogue != (e->bias ? ADDS_BIAS : NO_EPILOGUE) || *(const float *)alpha != 1) return INVALID;
    for (int64_t q = 0; q < z->batch; q++)
        for (int64_t j = 0; j < z->columns; j++)
            for (int64_t i = 0; i < z->rows; i++) {
                double total = 0;
                for (int64_t t = 0; t < k; t++)
                    total += get(a, x->type, q * x->stride + (e->turn_a ? t + i * x->step : i + t * x->step)) *
                             get(b, y->type, q * y->stride + (e->turn_b ? j + t * y->step : t + j * y->step));
                const int64_t at = q * z->stride + i + j * z->step;
                float sum = (float)total;
                if (*(const float *)beta != 0) sum += *(const float *)beta * ((const float *)c)[at];
                if (e->bias) sum += e->bias[i];
                ((float *)d)[at] = sum;
            }
    return SUCCESS;
}
