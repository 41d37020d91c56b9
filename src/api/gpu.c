/* gpu.c: a kernel or program in the memory of a GPU, and runs of it on a host's streams.
 *
 * Needs a kernel and the driver's library. A loaded kernel has a context of its own, so that it may outlive the
 * kernel's; what is enqueued is the host's to wait for.
 *
 *     wb_gpu_load(k, &loaded, NULL);
 *     wb_gpu_enqueue(loaded, stream, addresses, NULL);
 */
#include "api/gpu.h"

#include <string.h>

typedef struct {
    WbRun base;
    WbbCx *own;
    void (*fill)(WbbCx *cx, const void *what, wb_loaded *l);
    const void *what;
    wb_loaded *loaded;
    const wb_loaded *on;
    void *stream;
    const uint64_t *addresses;
    uint64_t address, bytes;
    const void *from;
    void *to;
} Job;

static const void *copied(WbbArena *a, const void *from, size_t n)
{
    void *to = wbb_alloc(a, n + 1);
    if (n) memcpy(to, from, n);
    return to;
}

static const char *copied_text(WbbArena *a, const char *z) { return z ? copied(a, z, strlen(z)) : NULL; }

static const Bundle *copied_bundle(WbbArena *a, const Bundle *b)
{
    Bundle *c = WBB_NEW(a, Bundle);
    *c = (Bundle){.target = copied_text(a, b->target), .ptx = copied_text(a, b->ptx), .n_buffers = b->n_buffers,
                  .n_launches = b->n_launches, .cubin_bytes = b->cubin_bytes};
    if (b->cubin) c->cubin = copied(a, b->cubin, b->cubin_bytes);
    c->buffers = (BdBuffer *)copied(a, b->buffers, (size_t)b->n_buffers * sizeof *b->buffers);
    c->launches = (BdLaunch *)copied(a, b->launches, (size_t)b->n_launches * sizeof *b->launches);
    for (int i = 0; i < b->n_launches; i++) {
        BdLaunch *l = &c->launches[i];
        l->entry = copied_text(a, l->entry);
        l->args = copied(a, l->args, (size_t)l->n_args * sizeof *l->args);
    }
    return c;
}

/* Constants of the entry in the order of device memory. */
static const void *const *constants_of(WbbCx *cx, const wb_kernel *k)
{
    const Bundle *b = k->made.bundle;
    const void **out = WBB_NEW_N(cx->arena, const void *, b->n_buffers + 1);
    for (int i = 0; i < b->n_buffers; i++) {
        const BdBuffer *d = &b->buffers[i];
        const void *array = d->role == BD_IN ? wb_kernel_constant(k, (uint32_t)d->arg) : NULL;
        if (!array) continue;
        void *bytes = wbb_alloc(cx->arena, (size_t)d->bytes + 1);
        bd_to_physical(cx, d, array, bytes);
        out[i] = bytes;
    }
    return out;
}

static void fill_kernel(WbbCx *cx, const void *what, wb_loaded *l)
{
    const wb_kernel *k = what;
    const Bundle *b = copied_bundle(cx->arena, k->made.bundle);
    l->context = l->own = gpu_open(cx, cx->arena);
    l->kernel = gpu_load(cx, cx->arena, l->own, b, constants_of(cx, k));
}

static void load_in_own(WbbCx *cx, void *arg)
{
    Job *j = arg;
    wb_loaded *l = WBB_NEW(cx->arena, wb_loaded);
    l->cx = cx;
    if (pthread_mutex_init(&l->lock, NULL)) wbb_fail(cx, (WbbLoc){0}, "no mutex for what is loaded");
    j->loaded = l;
    j->fill(cx, j->what, l);
}

static void load(WbbCx *cx, void *arg)
{
    Job *j = arg;
    const WbbStatus s = wbb_guard(j->own, load_in_own, j);
    if (s == WBB_OK) return;
    wbb_take_messages(cx, j->own);
    wbb_rethrow(cx, s);
}

wb_status wb_load(void (*fill)(WbbCx *, const void *, wb_loaded *), const void *what, wb_loaded **loaded,
                  wb_result **result)
{
    Job j = {.own = wbb_cx_new(), .fill = fill, .what = what};
    *loaded = NULL;
    if (!j.own) return WB_FAILED;
    const wb_status s = wb_result_of(NULL, load, &j.base, result);
    if (s == WB_OK) *loaded = j.loaded;
    else if (j.loaded) wb_gpu_unload(j.loaded);
    else wbb_cx_free(j.own);
    return s;
}

wb_status wb_gpu_load(const wb_kernel *k, wb_loaded **loaded, wb_result **result)
{
    return wb_load(fill_kernel, k, loaded, result);
}

void wb_gpu_unload(wb_loaded *l)
{
    if (!l) return;
    if (l->program) prog_unload(l->cx, l->program);
    if (l->kernel) gpu_unload(l->kernel);
    if (l->own) gpu_close(l->own);
    pthread_mutex_destroy(&l->lock);
    wbb_cx_free(l->cx);
}

bool wb_loaded_is_here(const wb_loaded *l) { return gpu_is_current(l->context); }

static void enqueue_program(WbbCx *cx, void *arg)
{
    const Job *j = arg;
    prog_enqueue(cx, j->on->program, j->stream, j->addresses);
}

static void enqueue(WbbCx *cx, void *arg)
{
    Job *j = arg;
    if (j->on->kernel) {
        gpu_enqueue(cx, j->on->kernel, j->stream, j->addresses);
        return;
    }
    pthread_mutex_t *lock = (pthread_mutex_t *)&j->on->lock;
    pthread_mutex_lock(lock);
    const WbbStatus s = wbb_guard(cx, enqueue_program, j);
    pthread_mutex_unlock(lock);
    if (s != WBB_OK) wbb_rethrow(cx, s);
}

static void allocate(WbbCx *cx, void *arg)
{
    Job *j = arg;
    j->address = gpu_allocate(cx, j->on->context, j->bytes);
}

static void release(WbbCx *cx, void *arg)
{
    const Job *j = arg;
    gpu_release(cx, j->on->context, j->address);
}

static void copy(WbbCx *cx, void *arg)
{
    const Job *j = arg;
    if (j->from) gpu_write(cx, j->on->context, j->address, j->from, j->bytes);
    else gpu_read(cx, j->on->context, j->to, j->address, j->bytes);
}

wb_status wb_gpu_enqueue(const wb_loaded *l, void *stream, const uint64_t *addresses, wb_result **result)
{
    Job j = {.on = l, .stream = stream, .addresses = addresses};
    return wb_result_of(NULL, enqueue, &j.base, result);
}

wb_status wb_gpu_allocate(const wb_loaded *l, uint64_t bytes, uint64_t *address, wb_result **result)
{
    Job j = {.on = l, .bytes = bytes};
    const wb_status s = wb_result_of(NULL, allocate, &j.base, result);
    *address = s == WB_OK ? j.address : 0;
    return s;
}

wb_status wb_gpu_release(const wb_loaded *l, uint64_t address, wb_result **result)
{
    Job j = {.on = l, .address = address};
    return wb_result_of(NULL, release, &j.base, result);
}

wb_status wb_gpu_write(const wb_loaded *l, uint64_t to, const void *from, uint64_t bytes, wb_result **result)
{
    Job j = {.on = l, .address = to, .from = from, .bytes = from ? bytes : 0};
    return wb_result_of(NULL, copy, &j.base, result);
}

wb_status wb_gpu_read(const wb_loaded *l, void *to, uint64_t from, uint64_t bytes, wb_result **result)
{
    Job j = {.on = l, .address = from, .to = to, .bytes = bytes};
    return wb_result_of(NULL, copy, &j.base, result);
}
