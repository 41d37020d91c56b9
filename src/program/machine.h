/* machine.h: where the memory of a run is, and what runs kernels on it: the host and the simulator, or a GPU.
 *
 *     ProgMachine *m = prog_machine(cx, arena, true);
 *     uint64_t x = prog_allocate(cx, m, bytes);
 *     prog_put(cx, m, x, from, bytes);
 *     prog_machine_free(cx, m);                    // with all of its memory
 */
#ifndef PROG_MACHINE_H
#define PROG_MACHINE_H

#include "bundle/bundle.h"
#include "gpu/blas_lt.h"
#include "gpu/stream.h"

typedef struct {
    WbbArena *arena;
    GpuContext *gpu; /* NULL: memory of the host, whose addresses are pointers */
    void *stream;    /* of the GPU, on which kernels and copies are enqueued; NULL: the default one */
    GpuBlas *blas;   /* NULL: not opened, or there is none */
    GpuBlasLt *lt;   /* likewise */
    bool without_blas, without_lt;
    struct {
        uint64_t *items;
        uint32_t n, capacity;
    } taken; /* memory of the GPU */
    struct {
        GpuLoaded **items;
        uint32_t n, capacity;
    } loaded;
} ProgMachine;

/* `a` lives as long as the machine. Declines with WHY_NO_GPU if a GPU is wanted and there is none. */
ProgMachine *prog_machine(WbbCx *cx, WbbArena *a, bool on_gpu);
void prog_machine_free(WbbCx *cx, ProgMachine *m);

/* Memory for `bytes` and 16 more; on a GPU aligned to PROG_ALIGN. */
uint64_t prog_allocate(WbbCx *cx, ProgMachine *m, uint64_t bytes);
void prog_put(WbbCx *cx, const ProgMachine *m, uint64_t to, const void *from, uint64_t bytes);
void prog_move(WbbCx *cx, const ProgMachine *m, uint64_t to, uint64_t from, uint64_t bytes);
/* The bytes that are there: on a GPU a copy of them in `a`. */
const void *prog_bytes(WbbCx *cx, const ProgMachine *m, WbbArena *a, uint64_t from, uint64_t bytes);

/* The product on the machine's stream, with what is added to it; false: the machine is the host, or has no cuBLAS. */
bool prog_multiply(WbbCx *cx, ProgMachine *m, const GpuProduct *p, uint64_t x, uint64_t y, uint64_t z,
                   const GpuAdded *more);
/* On a GPU. `b` lives as long as the machine. */
const GpuLoaded *prog_load_kernel(WbbCx *cx, ProgMachine *m, const Bundle *b);
/* Enqueues the bundle with addresses[i] of buffer i (0: a temporary). An output that has the memory of an operand where
 * the bundle does not allow it is computed elsewhere and copied; then the result is true. */
bool prog_launch(WbbCx *cx, const ProgMachine *m, WbbArena *a, const GpuLoaded *l, const Bundle *b,
                 const uint64_t *addresses);

#endif
