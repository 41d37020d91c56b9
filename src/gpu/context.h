/* context.h: a CUDA context, and memory in it.
 *
 *     GpuContext *c = gpu_open(cx, arena);
 *     uint64_t x = gpu_allocate(cx, c, bytes);
 *     gpu_write(cx, c, x, from, bytes);
 *     gpu_close(c);                                  // memory that was not released stays taken
 */
#ifndef GPU_CONTEXT_H
#define GPU_CONTEXT_H

#include "gpu/driver.h"

typedef struct {
    CuDriver d;
    CuDevice device;
    CuHandle context;
    bool retained; /* the primary context of the device, which nobody had made current */
    const char *arch; /* "sm_90" */
} GpuContext;

/* The context that is current in this thread, else the primary one of device 0. `a` lives as long as the result.
 * Declines with WHY_NO_GPU without a driver or a device. */
GpuContext *gpu_open(WbbCx *cx, WbbArena *a);
void gpu_close(GpuContext *c); /* errors of the driver are ignored */
/* In this thread gpu_open would find this context: it is current, or none is, and it is the primary one. */
bool gpu_is_current(const GpuContext *c);

/* Calls body(cx, arg) with the context current, also while a host records the stream. The thread's own context is
 * current again when it returns, or fails. */
void gpu_inside(WbbCx *cx, const GpuContext *c, void (*body)(WbbCx *cx, void *arg), void *arg);

/* Memory: at least 16 bytes. gpu_write and gpu_read wait until the context is idle and the copy is made, also for
 * streams that do not wait for the default one; gpu_copy, gpu_take and gpu_give are enqueued on the stream (NULL: the
 * default one), memory that is taken comes from its pool. */
uint64_t gpu_allocate(WbbCx *cx, const GpuContext *c, uint64_t bytes);
void gpu_release(WbbCx *cx, const GpuContext *c, uint64_t address);
void gpu_write(WbbCx *cx, const GpuContext *c, uint64_t to, const void *from, uint64_t bytes);
void gpu_read(WbbCx *cx, const GpuContext *c, void *to, uint64_t from, uint64_t bytes);
void gpu_copy(WbbCx *cx, const GpuContext *c, void *stream, uint64_t to, uint64_t from, uint64_t bytes);
uint64_t gpu_take(WbbCx *cx, const GpuContext *c, void *stream, uint64_t bytes);
void gpu_give(WbbCx *cx, const GpuContext *c, void *stream, uint64_t address);

#endif
