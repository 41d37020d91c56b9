/* blas_lt.h: products of matrices to which something is added before they are stored, by cuBLASLt, which is loaded at
 * run time: libcublasLt.so.13, .12 or .11, or the library that WARPBURG_LIBCUBLASLT names; with a driver that
 * WARPBURG_LIBCUDA names, that one alone.
 *
 *     GpuBlasLt *b = gpu_blas_lt_open(cx, arena, context);        // NULL: there is none that works
 *     gpu_multiply_add(cx, b, stream, &p, x, y, z, &(GpuAdded){.residual = r, .bias = v});
 *
 * Source: the cuBLAS documentation, "Using the cuBLASLt API": D = epilogue(alpha (A B) + beta C), of which the epilogue
 * BIAS adds a vector that is as long as D has rows to each column.
 */
#ifndef GPU_BLAS_LT_H
#define GPU_BLAS_LT_H

#include "gpu/blas.h"

typedef struct GpuBlasLt GpuBlasLt;

/* What is added to z, in this order: an array that lies in memory as z does, and a vector of m numbers. 0: nothing. */
typedef struct { uint64_t residual, bias; } GpuAdded;

/* NULL: it is not found, or does not work. */
GpuBlasLt *gpu_blas_lt_open(WbbCx *cx, WbbArena *a, const GpuContext *c);
void gpu_blas_lt_close(WbbCx *cx, GpuBlasLt *b);
/* z in f32. */
void gpu_multiply_add(WbbCx *cx, const GpuBlasLt *b, void *stream, const GpuProduct *p, uint64_t x, uint64_t y,
                      uint64_t z, const GpuAdded *more);

#endif
