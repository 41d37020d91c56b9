/* machine.c: memory of the host or of a GPU, and kernels of a program on a GPU.
 *
 * Needs: the CUDA driver, if the machine is a GPU. Leaves: memory that ends with the machine.
 *
 *     on a GPU, y in the memory of x where the bundle has no such pair: the kernel writes memory of its own, then copy
 */
#include "program/machine.h"

#include <string.h>

enum { BEHIND = 16 };

ProgMachine *prog_machine(WbbCx *cx, WbbArena *a, bool on_gpu)
{
    ProgMachine *m = WBB_NEW(a, ProgMachine);
    *m = (ProgMachine){.arena = a, .gpu = on_gpu ? gpu_open(cx, a) : NULL};
    return m;
}

static void release_all(WbbCx *cx, void *arg)
{
    ProgMachine *m = arg;
    while (m->taken.n) gpu_release(cx, m->gpu, m->taken.items[--m->taken.n]);
}

void prog_machine_free(WbbCx *cx, ProgMachine *m)
{
    if (!m->gpu) return;
    if (m->blas) gpu_blas_close(cx, m->blas);
    if (m->lt) gpu_blas_lt_close(cx, m->lt);
    while (m->loaded.n) gpu_unload(m->loaded.items[--m->loaded.n]);
    while (m->taken.n) wbb_guard(cx, release_all, m); /* memory that the driver does not take back is left */
    gpu_close(m->gpu);
}

uint64_t prog_allocate(WbbCx *cx, ProgMachine *m, uint64_t bytes)
{
    if (!m->gpu) return (uint64_t)(uintptr_t)wbb_alloc(m->arena, (size_t)bytes + BEHIND);
    const uint64_t address = gpu_allocate(cx, m->gpu, bytes + BEHIND);
    WBB_PUSH(m->arena, &m->taken, address);
    return address;
}

void prog_put(WbbCx *cx, const ProgMachine *m, uint64_t to, const void *from, uint64_t bytes)
{
    if (m->gpu) gpu_write(cx, m->gpu, to, from, bytes);
    else if (bytes) memcpy((void *)(uintptr_t)to, from, (size_t)bytes);
}

void prog_move(WbbCx *cx, const ProgMachine *m, uint64_t to, uint64_t from, uint64_t bytes)
{
    if (m->gpu) gpu_copy(cx, m->gpu, m->stream, to, from, bytes);
    else if (bytes) memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, (size_t)bytes);
}

const void *prog_bytes(WbbCx *cx, const ProgMachine *m, WbbArena *a, uint64_t from, uint64_t bytes)
{
    if (!m->gpu) return (const void *)(uintptr_t)from;
    void *out = wbb_alloc(a, (size_t)bytes + BEHIND);
    gpu_read(cx, m->gpu, out, from, bytes);
    return out;
}

bool prog_multiply(WbbCx *cx, ProgMachine *m, const GpuProduct *p, uint64_t x, uint64_t y, uint64_t z,
                   const GpuAdded *more)
{
    const bool adds = more->residual || more->bias;
    if (!m->gpu || (adds ? m->without_lt : m->without_blas)) return false;
    if (adds) {
        if (!m->lt) m->lt = gpu_blas_lt_open(cx, m->arena, m->gpu);
        m->without_lt = !m->lt;
        if (m->lt) gpu_multiply_add(cx, m->lt, m->stream, p, x, y, z, more);
        return m->lt != NULL;
    }
    if (!m->blas) m->blas = gpu_blas_open(cx, m->arena, m->gpu);
    m->without_blas = !m->blas;
    if (m->blas) gpu_multiply(cx, m->blas, m->stream, p, x, y, z);
    return m->blas != NULL;
}

/* --- kernels on a GPU --------------------------------------------------------------------------------------------- */
const GpuLoaded *prog_load_kernel(WbbCx *cx, ProgMachine *m, const Bundle *b)
{
    GpuLoaded *l = gpu_load(cx, m->arena, m->gpu, b, NULL);
    WBB_PUSH(m->arena, &m->loaded, l);
    return l;
}

/* Output i has the memory of an operand that it must not have. */
static bool overlaps(const Bundle *b, const uint64_t *addresses, int i)
{
    for (int k = 0; k < b->n_buffers; k++)
        if (b->buffers[k].role == BD_IN && b->buffers[k].bytes && b->buffers[i].bytes && addresses[k] == addresses[i])
            return !bd_may_share(&b->buffers[i], k);
    return false;
}

bool prog_launch(WbbCx *cx, const ProgMachine *m, WbbArena *a, const GpuLoaded *l, const Bundle *b,
                 const uint64_t *addresses)
{
    uint64_t *there = WBB_NEW_N(a, uint64_t, b->n_buffers + 1);
    bool copied = false;
    for (int i = 0; i < b->n_buffers; i++) {
        const bool elsewhere = b->buffers[i].role == BD_OUT && overlaps(b, addresses, i);
        there[i] = elsewhere ? gpu_take(cx, m->gpu, m->stream, (uint64_t)b->buffers[i].bytes + BEHIND) : addresses[i];
        copied = copied || elsewhere;
    }
    gpu_enqueue(cx, l, m->stream, there);
    for (int i = 0; copied && i < b->n_buffers; i++) {
        if (there[i] == addresses[i]) continue;
        gpu_copy(cx, m->gpu, m->stream, addresses[i], there[i], (uint64_t)b->buffers[i].bytes);
        gpu_give(cx, m->gpu, m->stream, there[i]);
    }
    return copied;
}
