/* blas.c: one product of matrices on the stream of a run.
 *
 * Needs: a context, and cuBLAS. Leaves: the product enqueued. Sums of 16-bit floats stay in f32 to the end: cuBLAS may
 * otherwise add parts of them in 16 bits.
 *
 *     f32[64,256] x f32[256,128], row-major: cublasGemmStridedBatchedEx(.., 128, 64, 256, .., y, 128, x, 256, z, 128)
 */
#include "gpu/blas.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { SUM_F32 = 68, SUM_F64 = 70, NOT_TURNED = 0, TURNED = 1, ANY_ALGORITHM = -1, NO_NARROW_SUMS = 16 };

#define BLAS_FUNCTIONS(X)                                                                                              \
    X(cublasCreate_v2, (void **handle))                                                                                \
    X(cublasDestroy_v2, (void *handle))                                                                                \
    X(cublasSetStream_v2, (void *handle, void *stream))                                                                \
    X(cublasSetMathMode, (void *handle, int mode))                                                                     \
    X(cublasGemmStridedBatchedEx,                                                                                      \
      (void *handle, int turn_a, int turn_b, int m, int n, int k, const void *alpha, const void *a, int type_a,        \
       int lda, long long stride_a, const void *b, int type_b, int ldb, long long stride_b, const void *beta,          \
       void *c, int type_c, int ldc, long long stride_c, int batch, int compute, int algorithm))

#define MEMBER(NAME, PARAMETERS) int(*NAME) PARAMETERS;
struct GpuBlas {
    BLAS_FUNCTIONS(MEMBER) /* first, as gpu_blas_library fills them */
    const GpuContext *context;
    void *library, *handle;
};

int gpu_blas_type(const char *type)
{
    static const struct {
        const char *type;
        int number;
    } rows[] = {{"f32", 0}, {"f64", 1}, {"f16", 2}, {"bf16", 14}};
    for (size_t k = 0; k < WBB_LEN(rows); k++)
        if (!strcmp(rows[k].type, type)) return rows[k].number;
    return -1;
}

bool gpu_blas_takes(const GpuProduct *p)
{
    const int64_t sizes[] = {p->m, p->n, p->k, p->batch, p->x_step, p->y_step, p->z_step};
    const bool same = !strcmp(p->type, p->result);
    for (size_t k = 0; k < WBB_LEN(sizes); k++)
        if (sizes[k] < 1 || sizes[k] > INT32_MAX) return false;
    return gpu_blas_type(p->type) >= 0 && (same || (!strcmp(p->result, "f32") && strcmp(p->type, "f64")));
}

static void check(WbbCx *cx, int status, const char *call)
{
    if (status) wbb_fail(cx, (WbbLoc){0}, "cuBLAS: %s: status %d", call, status);
}

static const char *setting(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* The system's cuBLAS calls the system's driver. */
static void *open_library(const char *variable, const char *const *names)
{
    const char *chosen = setting(variable);
    void *found = NULL;
    if (chosen) return dlopen(chosen, RTLD_NOW | RTLD_LOCAL);
    if (setting("WARPBURG_LIBCUDA")) return NULL;
    for (; !found && *names; names++) found = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
    return found;
}

void *gpu_blas_library(const char *variable, const char *const *names, const char *const *functions, void *to)
{
    void *library = open_library(variable, names);
    for (size_t k = 0; library && functions[k]; k++) {
        void *at = dlsym(library, functions[k]);
        memcpy((char *)to + k * sizeof at, &at, sizeof at);
        if (at) continue;
        dlclose(library);
        library = NULL;
    }
    return library;
}

static void create(WbbCx *cx, void *arg)
{
    GpuBlas *b = arg;
    if (b->cublasCreate_v2(&b->handle)) b->handle = NULL;
    else check(cx, b->cublasSetMathMode(b->handle, NO_NARROW_SUMS), "cublasSetMathMode");
}

GpuBlas *gpu_blas_open(WbbCx *cx, WbbArena *a, const GpuContext *c)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", NULL};
    GpuBlas *b = WBB_NEW(a, GpuBlas);
    b->context = c;
#define NAMED(NAME, PARAMETERS) #NAME,
    static const char *const functions[] = {BLAS_FUNCTIONS(NAMED) NULL};
#undef NAMED
    b->library = gpu_blas_library("WARPBURG_LIBCUBLAS", names, functions, b);
    if (!b->library) return NULL;
    gpu_inside(cx, c, create, b);
    if (b->handle) return b;
    dlclose(b->library);
    return NULL;
}

static void destroy(WbbCx *cx, void *arg)
{
    const GpuBlas *b = arg;
    (void)cx;
    b->cublasDestroy_v2(b->handle); /* an error of it is ignored */
}

void gpu_blas_close(WbbCx *cx, GpuBlas *b)
{
    wbb_guard(cx, destroy, b);
    dlclose(b->library);
}

typedef struct {
    const GpuBlas *b;
    void *stream;
    const GpuProduct *p;
    uint64_t x, y, z;
} Multiply;

uint64_t gpu_blas_bytes(const char *type) { return !strcmp(type, "f64") ? 8 : !strcmp(type, "f32") ? 4 : 2; }

static void multiply_batch(WbbCx *cx, const Multiply *m, uint64_t x, uint64_t y, uint64_t z)
{
    const GpuProduct *p = m->p;
    const GpuBlas *b = m->b;
    const int type = gpu_blas_type(p->type);
    const float one_f32 = 1, zero_f32 = 0;
    const double one_f64 = 1, zero_f64 = 0;
    const bool wide = !strcmp(p->type, "f64");
    check(cx, b->cublasGemmStridedBatchedEx(
                  b->handle, p->x_turned ? TURNED : NOT_TURNED, p->y_turned ? TURNED : NOT_TURNED, (int)p->m, (int)p->n,
                  (int)p->k, wide ? (const void *)&one_f64 : &one_f32, (const void *)(uintptr_t)x, type,
                  (int)p->x_step, p->batch_x, (const void *)(uintptr_t)y, type, (int)p->y_step, p->batch_y,
                  wide ? (const void *)&zero_f64 : &zero_f32, (void *)(uintptr_t)z, gpu_blas_type(p->result),
                  (int)p->z_step, p->batch_z, (int)p->batch, wide ? SUM_F64 : SUM_F32, ANY_ALGORITHM),
          "cublasGemmStridedBatchedEx");
}

static void multiply(WbbCx *cx, void *arg)
{
    const Multiply *m = arg;
    const GpuProduct *p = m->p;
    const uint64_t in = gpu_blas_bytes(p->type), out = gpu_blas_bytes(p->result);
    check(cx, m->b->cublasSetStream_v2(m->b->handle, m->stream), "cublasSetStream");
    for (uint64_t i = 0; i < (uint64_t)p->outer; i++)
        multiply_batch(cx, m, m->x + i * (uint64_t)p->outer_x * in, m->y + i * (uint64_t)p->outer_y * in,
                       m->z + i * (uint64_t)p->outer_z * out);
}

void gpu_multiply(WbbCx *cx, const GpuBlas *b, void *stream, const GpuProduct *p, uint64_t x, uint64_t y, uint64_t z)
{
    gpu_inside(cx, b->context, multiply, &(Multiply){b, stream, p, x, y, z});
}
