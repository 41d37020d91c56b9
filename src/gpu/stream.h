/* stream.h: a bundle in the memory of a GPU, and runs of it on streams of a host.
 *
 *     GpuLoaded *l = gpu_load(cx, arena, gpu_open(cx, arena), bundle, NULL);
 *     gpu_enqueue(cx, l, stream, addresses);         // returns at once
 *     gpu_unload(l);
 */
#ifndef GPU_STREAM_H
#define GPU_STREAM_H

#include "base/base.h"
#include "bundle/bundle.h"
#include "gpu/context.h"

typedef struct GpuLoaded GpuLoaded;

/* `a`, `c` and `b` live as long as the result. constants[i]: the bytes of buffer i, which the result holds on the
 * device; NULL: not a constant; `constants` NULL: there are none. Fails and declines as gpu_run does. */
GpuLoaded *gpu_load(WbbCx *cx, WbbArena *a, const GpuContext *c, const Bundle *b, const void *const *constants);
void gpu_unload(GpuLoaded *l); /* errors of the driver are ignored */

/* Enqueues all launches on the stream (NULL: the default one). addresses[i]: of buffer i; 0: the loaded constant, or of
 * a temporary memory for this run. Zeros, tickets and copies of operands are written first, on the stream. Several
 * threads may call it at once, with contexts of their own. */
void gpu_enqueue(WbbCx *cx, const GpuLoaded *l, void *stream, const uint64_t *addresses);

#endif
