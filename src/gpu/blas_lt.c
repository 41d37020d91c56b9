/* blas_lt.c: one product of matrices with its epilogue on the stream of a run.
 *
 * Needs: a context, and cuBLASLt. Leaves: the product enqueued. No workspace is given, so that the library sums up
 * without one; sums stay in f32 to the end, and each addition rounds once.
 *
 *     f32[64,256] x f32[256,128] + f32[128], row-major: cublasLtMatmul(.., y, 128 x 256, x, 256 x 64, .., bias of 128)
 */
#include "gpu/blas_lt.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { SUM_F32 = 68, SCALE_F32 = 0 };                                        /* cublasComputeType_t, cudaDataType */
enum { DESC_TURN_X = 3, DESC_TURN_Y = 4, DESC_EPILOGUE = 7, DESC_BIAS = 8 }; /* cublasLtMatmulDescAttributes_t */
enum { LAYOUT_BATCH = 5, LAYOUT_STRIDE = 6 };                                /* cublasLtMatrixLayoutAttribute_t */
enum { EPILOGUE_NONE = 1, EPILOGUE_BIAS = 4 };                               /* cublasLtEpilogue_t */

#define LT_FUNCTIONS(X)                                                                                                \
    X(cublasLtCreate, (void **handle))                                                                                 \
    X(cublasLtDestroy, (void *handle))                                                                                 \
    X(cublasLtMatmulDescCreate, (void **desc, int compute, int scale_type))                                            \
    X(cublasLtMatmulDescDestroy, (void *desc))                                                                         \
    X(cublasLtMatmulDescSetAttribute, (void *desc, int attribute, const void *value, size_t bytes))                    \
    X(cublasLtMatrixLayoutCreate, (void **layout, int type, uint64_t rows, uint64_t columns, int64_t step))            \
    X(cublasLtMatrixLayoutDestroy, (void *layout))                                                                     \
    X(cublasLtMatrixLayoutSetAttribute, (void *layout, int attribute, const void *value, size_t bytes))                \
    X(cublasLtMatmul, (void *handle, void *desc, const void *alpha, const void *x, void *x_layout, const void *y,      \
                       void *y_layout, const void *beta, const void *c, void *c_layout, void *d, void *d_layout,       \
                       const void *algorithm, void *workspace, size_t workspace_bytes, void *stream))

#define MEMBER(NAME, PARAMETERS) int(*NAME) PARAMETERS;
struct GpuBlasLt {
    LT_FUNCTIONS(MEMBER) /* first, as gpu_blas_library fills them */
    const GpuContext *context;
    void *library, *handle;
};

static void check(WbbCx *cx, int status, const char *call)
{
    if (status) wbb_fail(cx, (WbbLoc){0}, "cuBLASLt: %s: status %d", call, status);
}

static void create(WbbCx *cx, void *arg)
{
    GpuBlasLt *b = arg;
    (void)cx;
    if (b->cublasLtCreate(&b->handle)) b->handle = NULL;
}

GpuBlasLt *gpu_blas_lt_open(WbbCx *cx, WbbArena *a, const GpuContext *c)
{
    static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11", NULL};
    GpuBlasLt *b = WBB_NEW(a, GpuBlasLt);
    b->context = c;
#define NAMED(NAME, PARAMETERS) #NAME,
    static const char *const functions[] = {LT_FUNCTIONS(NAMED) NULL};
#undef NAMED
    b->library = gpu_blas_library("WARPBURG_LIBCUBLASLT", names, functions, b);
    if (!b->library) return NULL;
    gpu_inside(cx, c, create, b);
    if (b->handle) return b;
    dlclose(b->library);
    return NULL;
}

static void destroy(WbbCx *cx, void *arg)
{
    const GpuBlasLt *b = arg;
    (void)cx;
    b->cublasLtDestroy(b->handle); /* an error of it is ignored */
}

void gpu_blas_lt_close(WbbCx *cx, GpuBlasLt *b)
{
    gpu_inside(cx, b->context, destroy, b);
    dlclose(b->library);
}

/* What one call needs; all of it is destroyed after the call, or after an error. */
typedef struct {
    const GpuBlasLt *b;
    void *stream;
    const GpuProduct *p;
    uint64_t x, y, z;
    const GpuAdded *more;
    void *desc, *layouts[3]; /* of x, y, z */
} Call;

static void set(WbbCx *cx, const Call *c, int attribute, const void *value, size_t bytes)
{
    check(cx, c->b->cublasLtMatmulDescSetAttribute(c->desc, attribute, value, bytes), "cublasLtMatmulDescSetAttribute");
}

static void describe(WbbCx *cx, Call *c)
{
    const GpuProduct *p = c->p;
    const int32_t turn_x = p->x_turned, turn_y = p->y_turned, epilogue = c->more->bias ? EPILOGUE_BIAS : EPILOGUE_NONE;
    check(cx, c->b->cublasLtMatmulDescCreate(&c->desc, SUM_F32, SCALE_F32), "cublasLtMatmulDescCreate");
    set(cx, c, DESC_TURN_X, &turn_x, sizeof turn_x);
    set(cx, c, DESC_TURN_Y, &turn_y, sizeof turn_y);
    set(cx, c, DESC_EPILOGUE, &epilogue, sizeof epilogue);
    if (c->more->bias) set(cx, c, DESC_BIAS, &c->more->bias, sizeof c->more->bias);
}

/* A matrix as it lies in memory: turned, it has its columns as rows. */
static void lay(WbbCx *cx, Call *c, int which, const char *type, int64_t rows, int64_t columns, int64_t step,
                int64_t batch_step)
{
    void **layout = &c->layouts[which];
    const int32_t batch = (int32_t)c->p->batch;
    check(cx, c->b->cublasLtMatrixLayoutCreate(layout, gpu_blas_type(type), (uint64_t)rows, (uint64_t)columns, step),
          "cublasLtMatrixLayoutCreate");
    if (batch == 1) return;
    check(cx, c->b->cublasLtMatrixLayoutSetAttribute(*layout, LAYOUT_BATCH, &batch, sizeof batch),
          "cublasLtMatrixLayoutSetAttribute");
    check(cx, c->b->cublasLtMatrixLayoutSetAttribute(*layout, LAYOUT_STRIDE, &batch_step, sizeof batch_step),
          "cublasLtMatrixLayoutSetAttribute");
}

static void multiply(WbbCx *cx, void *arg)
{
    Call *c = arg;
    const GpuProduct *p = c->p;
    const float one = 1, beta = c->more->residual ? 1 : 0;
    const uint64_t in = gpu_blas_bytes(p->type), out = gpu_blas_bytes(p->result);
    describe(cx, c);
    lay(cx, c, 0, p->type, p->x_turned ? p->k : p->m, p->x_turned ? p->m : p->k, p->x_step, p->batch_x);
    lay(cx, c, 1, p->type, p->y_turned ? p->n : p->k, p->y_turned ? p->k : p->n, p->y_step, p->batch_y);
    lay(cx, c, 2, p->result, p->m, p->n, p->z_step, p->batch_z);
    for (uint64_t i = 0; i < (uint64_t)p->outer; i++) {
        const uint64_t at = i * (uint64_t)p->outer_z * out, x = c->x + i * (uint64_t)p->outer_x * in;
        const uint64_t y = c->y + i * (uint64_t)p->outer_y * in, z = c->z + at;
        const uint64_t from = c->more->residual ? c->more->residual + at : z;
        check(cx, c->b->cublasLtMatmul(c->b->handle, c->desc, &one, (const void *)(uintptr_t)x, c->layouts[0],
                                       (const void *)(uintptr_t)y, c->layouts[1], &beta,
                                       (const void *)(uintptr_t)from, c->layouts[2], (void *)(uintptr_t)z,
                                       c->layouts[2], NULL, NULL, 0, c->stream),
              "cublasLtMatmul");
    }
}

/* Inside the context: the call, and then the end of what it made. */
static void call(WbbCx *cx, void *arg)
{
    Call *c = arg;
    const WbbStatus status = wbb_guard(cx, multiply, c);
    for (int k = 0; k < 3; k++)
        if (c->layouts[k]) c->b->cublasLtMatrixLayoutDestroy(c->layouts[k]);
    if (c->desc) c->b->cublasLtMatmulDescDestroy(c->desc);
    if (status != WBB_OK) wbb_rethrow(cx, status);
}

void gpu_multiply_add(WbbCx *cx, const GpuBlasLt *b, void *stream, const GpuProduct *p, uint64_t x, uint64_t y,
                      uint64_t z, const GpuAdded *more)
{
    gpu_inside(cx, b->context, call, &(Call){.b = b, .stream = stream, .p = p, .x = x, .y = y, .z = z, .more = more});
}
