/* stream.c: enqueues runs of a loaded bundle on streams that belong to a host: a program of its own, PyTorch, or XLA.
 *
 * Needs: the driver, and the host's CUDA context or none. Leaves: work on the stream, and nothing that waits for it.
 * Temporaries that the caller does not bring are taken from the stream's memory pool and given back behind the last
 * launch; tickets are set to zero before every run, so that runs on several streams may follow each other in any way.
 *
 *     buffers in, out, partials (temporary, address 0), ticket:
 *         cuMemAllocAsync partials; cuMemsetD8Async ticket; launch; cuMemFreeAsync partials
 */
#include "gpu/stream.h"
#include "gpu/load.h"

#include <string.h>

struct GpuLoaded {
    WbbArena *arena;
    const GpuContext *in;
    const Bundle *b;
    GpuCode code;
    int most;             /* arguments of a launch */
    CuPointer *constants; /* by buffer; 0: none */
};

typedef struct {
    GpuLoaded *l;
    const void *const *constants; /* by buffer; NULL: none */
    CuHandle stream;              /* on which they are copied */
} Load;

#define CALL(D, FUNCTION, ...) gpu_check(cx, (D), (D)->FUNCTION(__VA_ARGS__), #FUNCTION, NULL)

/* --- loading ------------------------------------------------------------------------------------------------------ */

static void allocate_constants(WbbCx *cx, const Load *job)
{
    GpuLoaded *l = job->l;
    for (int i = 0; i < l->b->n_buffers; i++)
        if (job->constants[i])
            CALL(&l->in->d, cuMemAlloc_v2, &l->constants[i], WBB_MAX((size_t)l->b->buffers[i].bytes, (size_t)16));
}

static void fill_constants(WbbCx *cx, void *arg)
{
    const Load *job = arg;
    const GpuLoaded *l = job->l;
    const CuDriver *d = &l->in->d;
    for (int i = 0; i < l->b->n_buffers; i++) {
        const size_t bytes = (size_t)l->b->buffers[i].bytes;
        if (!job->constants[i] || !bytes) continue;
        CALL(d, cuMemcpyHtoDAsync_v2, l->constants[i], job->constants[i], bytes, job->stream);
    }
    CALL(d, cuStreamSynchronize, job->stream);
}

/* On a stream of their own: a host's stream does not wait for the default one, which is not to be used while the host
 * records. */
static void load_constants(WbbCx *cx, Load *job)
{
    const CuDriver *d = &job->l->in->d;
    allocate_constants(cx, job);
    CALL(d, cuStreamCreate, &job->stream, CU_STREAM_NON_BLOCKING);
    const WbbStatus s = wbb_guard(cx, fill_constants, job);
    d->cuStreamDestroy_v2(job->stream);
    if (s != WBB_OK) wbb_rethrow(cx, s);
}

static void load(WbbCx *cx, void *arg)
{
    Load *job = arg;
    GpuLoaded *l = job->l;
    const Bundle *b = l->b;
    gpu_load_code(cx, l->arena, &l->in->d, b, b->launches, l->in->arch, &l->code);
    for (int i = 0; i < b->n_launches; i++) l->most = WBB_MAX(l->most, b->launches[i].n_args);
    bool some = false;
    for (int i = 0; i < b->n_buffers && job->constants; i++) some = some || job->constants[i];
    if (some) load_constants(cx, job);
}

static void load_inside(WbbCx *cx, void *arg)
{
    const Load *job = arg;
    gpu_inside(cx, job->l->in, load, arg);
}

GpuLoaded *gpu_load(WbbCx *cx, WbbArena *a, const GpuContext *c, const Bundle *b, const void *const *constants)
{
    GpuLoaded *l = WBB_NEW(a, GpuLoaded);
    *l = (GpuLoaded){.arena = a, .in = c, .b = b, .constants = WBB_NEW_N(a, CuPointer, b->n_buffers + 1)};
    Load job = {.l = l, .constants = constants};
    const WbbStatus s = wbb_guard(cx, load_inside, &job);
    if (s == WBB_OK) return l;
    gpu_unload(l);
    wbb_rethrow(cx, s);
}

void gpu_unload(GpuLoaded *l)
{
    CuHandle own;
    const CuDriver *d = &l->in->d;
    if (d->cuCtxPushCurrent_v2(l->in->context)) return;
    for (int i = 0; i < l->b->n_buffers; i++)
        if (l->constants[i]) d->cuMemFree_v2(l->constants[i]);
    if (l->code.module) d->cuModuleUnload(l->code.module);
    d->cuCtxPopCurrent_v2(&own);
}

/* --- runs --------------------------------------------------------------------------------------------------------- */

typedef struct {
    const GpuLoaded *l;
    CuHandle stream;
    const uint64_t *given;
    CuPointer *addresses; /* by buffer */
    bool *taken;          /* by buffer: memory of this run */
    void **parameters;
} Run;

static void take(WbbCx *cx, Run *r, int i)
{
    const CuDriver *d = &r->l->in->d;
    if (!d->cuMemAllocAsync || !d->cuMemFreeAsync)
        wbb_decline(cx, (WbbLoc){0}, WHY_NO_GPU, "the driver has no memory pools: buffer %d needs an address", i);
    CALL(d, cuMemAllocAsync, &r->addresses[i], (size_t)WBB_MAX(r->l->b->buffers[i].bytes, 16), r->stream);
    r->taken[i] = true;
}

static void check_addresses(WbbCx *cx, Run *r)
{
    for (int i = 0; i < r->l->b->n_buffers; i++) {
        const BdBuffer *b = &r->l->b->buffers[i];
        r->addresses[i] = r->given[i] ? r->given[i] : r->l->constants[i];
        if (!r->addresses[i] && b->role != BD_TEMP && b->bytes)
            wbb_fail(cx, (WbbLoc){0}, "buffer %d has no address", i);
        if (r->addresses[i] % (uint64_t)b->align)
            wbb_fail(cx, (WbbLoc){0}, "buffer %d is at address 0x%llx, and must be aligned to %d bytes", i,
                     (unsigned long long)r->addresses[i], b->align);
    }
}

/* The contents that buffers have before the first launch. */
static void prepare(WbbCx *cx, Run *r)
{
    const CuDriver *d = &r->l->in->d;
    for (int i = 0; i < r->l->b->n_buffers; i++) {
        const BdBuffer *b = &r->l->b->buffers[i];
        const size_t bytes = (size_t)b->bytes;
        if (b->role == BD_TEMP && !r->addresses[i]) take(cx, r, i);
        if (!bytes) continue;
        if (b->init == BD_INIT_ZERO || b->init == BD_INIT_TICKET)
            CALL(d, cuMemsetD8Async, r->addresses[i], 0, bytes, r->stream);
        if (b->init == BD_INIT_COPY && r->addresses[i] != r->addresses[b->copy_of])
            CALL(d, cuMemcpyDtoDAsync_v2, r->addresses[i], r->addresses[b->copy_of], bytes, r->stream);
    }
}

static void enqueue(WbbCx *cx, void *arg)
{
    Run *r = arg;
    const Bundle *b = r->l->b;
    prepare(cx, r);
    for (int i = 0; i < b->n_launches; i++)
        gpu_launch(cx, &r->l->in->d, r->l->code.functions[i], &b->launches[i], r->stream, r->addresses, r->parameters);
}

static void run_inside(WbbCx *cx, void *arg)
{
    Run *r = arg;
    const GpuLoaded *l = r->l;
    const WbbStatus s = wbb_guard(cx, enqueue, r);
    CuResult freed = 0;
    for (int i = 0; i < l->b->n_buffers; i++)
        if (r->taken[i]) freed = l->in->d.cuMemFreeAsync(r->addresses[i], r->stream) ? 1 : freed;
    if (s != WBB_OK) wbb_rethrow(cx, s);
    gpu_check(cx, &l->in->d, freed, "cuMemFreeAsync", NULL);
}

void gpu_enqueue(WbbCx *cx, const GpuLoaded *l, void *stream, const uint64_t *addresses)
{
    WbbArena *a = wbb_arena_new(cx);
    Run r = {.l = l, .stream = stream, .given = addresses, .addresses = WBB_NEW_N(a, CuPointer, l->b->n_buffers + 1),
             .taken = WBB_NEW_N(a, bool, l->b->n_buffers + 1), .parameters = WBB_NEW_N(a, void *, l->most + 1)};
    check_addresses(cx, &r);
    gpu_inside(cx, l->in, run_inside, &r);
    wbb_arena_free(a);
}
