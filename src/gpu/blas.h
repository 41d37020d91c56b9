/* blas.h: products of matrices by cuBLAS, which is loaded at run time: libcublas.so.13, .12 or .11, or the library that
 * the environment variable WARPBURG_LIBCUBLAS names; with a driver that WARPBURG_LIBCUDA names, that one alone.
 *
 *     GpuBlas *b = gpu_blas_open(cx, arena, context);            // NULL: there is none that works
 *     if (gpu_blas_takes(&p)) gpu_multiply(cx, b, stream, &p, x, y, z);
 *
 * Source: the cuBLAS documentation, cublasGemmStridedBatchedEx.
 */
#ifndef GPU_BLAS_H
#define GPU_BLAS_H

#include "gpu/context.h"

typedef struct GpuBlas GpuBlas;

/* z[m,n] = x[m,k] y[k,n], column-major: the first dimension of z has stride 1. Element (i, j) of x is at
 * i + j * x_step, with `x_turned` at i * x_step + j; y likewise. `batch` such products, whose arrays are batch_x, ..
 * elements apart, and `outer` batches, outer_x, .. elements apart. Products are summed in f64 for f64, else in f32. */
typedef struct {
    const char *type, *result; /* of HLO, of x and y, and of z */
    int64_t m, n, k, batch;
    bool x_turned, y_turned;
    int64_t x_step, y_step, z_step;
    int64_t batch_x, batch_y, batch_z;
    int64_t outer, outer_x, outer_y, outer_z;
} GpuProduct;

bool gpu_blas_takes(const GpuProduct *p); /* types and sizes that cuBLAS has */
GpuBlas *gpu_blas_open(WbbCx *cx, WbbArena *a, const GpuContext *c);
void gpu_blas_close(WbbCx *cx, GpuBlas *b);
void gpu_multiply(WbbCx *cx, const GpuBlas *b, void *stream, const GpuProduct *p, uint64_t x, uint64_t y, uint64_t z);

/* For cuBLASLt, too (blas_lt.c): cudaDataType of an HLO type, -1: cuBLAS is not asked; bytes of a number; the library
 * that an environment variable names, else the first of `names` that is found, with its functions in order at `to`;
 * NULL: there is none that has them all. Lists end with NULL. */
int gpu_blas_type(const char *type);
uint64_t gpu_blas_bytes(const char *type);
void *gpu_blas_library(const char *variable, const char *const *names, const char *const *functions, void *to);

#endif
