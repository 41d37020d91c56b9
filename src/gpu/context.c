/* context.c: the context of a host, or the primary one, entered for each call.
 *
 * Needs: the driver. Leaves: the thread's current context as it was.
 *
 *     PyTorch made its context current: that one; nobody did: the primary context of device 0, retained until the end
 */
#include "gpu/context.h"
#include "gpu/load.h"

#define CALL(D, FUNCTION, ...) gpu_check(cx, (D), (D)->FUNCTION(__VA_ARGS__), #FUNCTION, NULL)

typedef struct {
    WbbArena *arena;
    GpuContext *c;
} Open;

static void find_context(WbbCx *cx, void *arg)
{
    const Open *o = arg;
    GpuContext *c = o->c;
    gpu_init(cx, &c->d);
    CALL(&c->d, cuCtxGetCurrent, &c->context);
    if (c->context) {
        CALL(&c->d, cuCtxGetDevice, &c->device);
    } else {
        c->device = gpu_first_device(cx, &c->d);
        CALL(&c->d, cuDevicePrimaryCtxRetain, &c->context, c->device);
        c->retained = true;
    }
    c->arch = gpu_arch(cx, o->arena, &c->d, c->device);
}

GpuContext *gpu_open(WbbCx *cx, WbbArena *a)
{
    GpuContext *c = WBB_NEW(a, GpuContext);
    Open job = {a, c};
    const WbbStatus s = wbb_guard(cx, find_context, &job);
    if (s == WBB_OK) return c;
    gpu_close(c);
    wbb_rethrow(cx, s);
}

void gpu_close(GpuContext *c)
{
    if (!c->d.library) return;
    if (c->retained) c->d.cuDevicePrimaryCtxRelease_v2(c->device);
    gpu_driver_close(&c->d);
}

bool gpu_is_current(const GpuContext *c)
{
    CuHandle now = NULL;
    if (c->d.cuCtxGetCurrent(&now)) return false;
    return now ? now == c->context : c->retained;
}

/* While a host records the stream, the driver refuses to allocate memory and to load code unless the thread's mode is
 * relaxed: neither is part of what is recorded. Returns the mode before. */
static int exchange_capture_mode(const CuDriver *d, int mode)
{
    if (d->cuThreadExchangeStreamCaptureMode) d->cuThreadExchangeStreamCaptureMode(&mode);
    return mode;
}

void gpu_inside(WbbCx *cx, const GpuContext *c, void (*body)(WbbCx *, void *), void *arg)
{
    CuHandle own;
    CALL(&c->d, cuCtxPushCurrent_v2, c->context);
    const int mode = exchange_capture_mode(&c->d, CU_CAPTURE_RELAXED);
    const WbbStatus s = wbb_guard(cx, body, arg);
    exchange_capture_mode(&c->d, mode);
    c->d.cuCtxPopCurrent_v2(&own);
    if (s != WBB_OK) wbb_rethrow(cx, s);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

typedef struct {
    const CuDriver *d;
    CuHandle stream;
    uint64_t address, bytes, source;
    void *to;
    const void *from;
} Memory;

static void allocate(WbbCx *cx, void *arg)
{
    Memory *m = arg;
    CALL(m->d, cuMemAlloc_v2, &m->address, (size_t)WBB_MAX(m->bytes, (uint64_t)16));
}

static void release(WbbCx *cx, void *arg)
{
    const Memory *m = arg;
    CALL(m->d, cuMemFree_v2, m->address);
}

static void take(WbbCx *cx, void *arg)
{
    Memory *m = arg;
    if (!m->d->cuMemAllocAsync || !m->d->cuMemFreeAsync)
        wbb_decline(cx, (WbbLoc){0}, WHY_NO_GPU, "the driver has no memory pools");
    CALL(m->d, cuMemAllocAsync, &m->address, (size_t)WBB_MAX(m->bytes, (uint64_t)16), m->stream);
}

static void give(WbbCx *cx, void *arg)
{
    const Memory *m = arg;
    CALL(m->d, cuMemFreeAsync, m->address, m->stream);
}

static void move(WbbCx *cx, void *arg)
{
    const Memory *m = arg;
    const size_t bytes = (size_t)m->bytes;
    if (!bytes) return;
    if (m->source) {
        CALL(m->d, cuMemcpyDtoDAsync_v2, m->address, m->source, bytes, m->stream);
        return;
    }
    gpu_check(cx, m->d, m->d->cuCtxSynchronize(), "cuCtxSynchronize", NULL);
    if (!m->from) {
        CALL(m->d, cuMemcpyDtoH_v2, m->to, m->address, bytes);
        return;
    }
    CALL(m->d, cuMemcpyHtoD_v2, m->address, m->from, bytes); /* returns when the elements have been read */
    gpu_check(cx, m->d, m->d->cuCtxSynchronize(), "cuCtxSynchronize", NULL);
}

uint64_t gpu_allocate(WbbCx *cx, const GpuContext *c, uint64_t bytes)
{
    Memory m = {.d = &c->d, .bytes = bytes};
    gpu_inside(cx, c, allocate, &m);
    return m.address;
}

void gpu_release(WbbCx *cx, const GpuContext *c, uint64_t address)
{
    gpu_inside(cx, c, release, &(Memory){.d = &c->d, .address = address});
}

void gpu_write(WbbCx *cx, const GpuContext *c, uint64_t to, const void *from, uint64_t bytes)
{
    gpu_inside(cx, c, move, &(Memory){.d = &c->d, .address = to, .bytes = bytes, .from = from});
}

void gpu_read(WbbCx *cx, const GpuContext *c, void *to, uint64_t from, uint64_t bytes)
{
    gpu_inside(cx, c, move, &(Memory){.d = &c->d, .address = from, .bytes = bytes, .to = to});
}

void gpu_copy(WbbCx *cx, const GpuContext *c, void *stream, uint64_t to, uint64_t from, uint64_t bytes)
{
    gpu_inside(cx, c, move, &(Memory){.d = &c->d, .stream = stream, .address = to, .source = from, .bytes = bytes});
}

uint64_t gpu_take(WbbCx *cx, const GpuContext *c, void *stream, uint64_t bytes)
{
    Memory m = {.d = &c->d, .stream = stream, .bytes = bytes};
    gpu_inside(cx, c, take, &m);
    return m.address;
}

void gpu_give(WbbCx *cx, const GpuContext *c, void *stream, uint64_t address)
{
    gpu_inside(cx, c, give, &(Memory){.d = &c->d, .stream = stream, .address = address});
}
