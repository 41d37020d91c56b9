/* there.c: a bundle run on the memory of its caller: a step of a program.
 *
 * Needs memory for every operand and output. Leaves the outputs in it, and a verdict. The operands are kept as they
 * were for the judge, since an output may overwrite one.
 *
 *     y = x + 1 in place: memory {p, p}; the simulator has one buffer that is read and written
 */
#include "judge/memory.h"

#include <string.h>

/* The operand whose memory output i has; -1: none. */
static int operand_at(const Bundle *b, void *const *memory, int i)
{
    for (int k = 0; k < b->n_buffers; k++)
        if (b->buffers[k].role == BD_IN && b->buffers[k].bytes && memory[k] == memory[i]) return k;
    return -1;
}

/* Arrays of the operands, as the evaluator wants them. */
static const void **operand_arrays(WbbCx *cx, WbbArena *a, const Bundle *b, void *const *memory)
{
    const void **arrays = WBB_NEW_N(a, const void *, b->n_buffers + 1);
    for (int i = 0; i < b->n_buffers; i++) {
        const BdBuffer *d = &b->buffers[i];
        if (d->role != BD_IN) continue;
        const size_t n = (size_t)bd_elements(d->dims, d->rank);
        void *logical = wbb_alloc(a, wbb_mul_size(a, n, (size_t)bd_npy_bytes(d->type)) + 16);
        bd_to_logical(cx, d, memory[i], logical);
        arrays[d->arg] = logical;
    }
    return arrays;
}

static SimBuffer buffer_of(const BdBuffer *d, void *bytes)
{
    return (SimBuffer){.bytes = bytes, .size = (size_t)d->bytes, .align = (uint32_t)d->align, .role = d->role,
                       .writes = d->writes, .initialised = d->init == BD_INIT_ZERO || d->init == BD_INIT_TICKET};
}

/* The memory of output i: the caller's, or its own where it must not be that of the operand `at`. */
static void *output_memory(WbbArena *a, const BdBuffer *d, void *const *memory, int i, int at, int *home)
{
    void *bytes = at >= 0 && !bd_may_share(d, at) ? wbb_alloc(a, (size_t)d->bytes + 16) : memory[i];
    *home = i;
    if (d->init == BD_INIT_COPY) {
        *home = d->copy_of;
        if (bytes != memory[d->copy_of]) memcpy(bytes, memory[d->copy_of], (size_t)d->bytes);
    } else if (bytes == memory[i] && at >= 0) {
        *home = at;
    }
    if (d->init == BD_INIT_ZERO && d->bytes) memset(bytes, 0, (size_t)d->bytes);
    return bytes;
}

static JudgeMemory memory_there(WbbArena *a, const Bundle *b, void *const *memory)
{
    int *leaf = WBB_NEW_N(a, int, b->n_buffers + 1), *home = WBB_NEW_N(a, int, b->n_buffers + 1);
    JudgeMemory r = {.b = b, .memory = WBB_NEW_N(a, SimBuffer, b->n_buffers + 1), .home = home, .leaf = leaf};
    for (int i = 0; i < b->n_buffers; i++) {
        const BdBuffer *d = &b->buffers[i];
        home[i] = i;
        if (d->role == BD_OUT) continue;
        void *bytes = memory[i];
        if (d->role == BD_TEMP) {
            bytes = wbb_alloc(a, (size_t)d->bytes + 16);
            if (d->init == BD_INIT_NONE) memset(bytes, BD_ANYTHING, (size_t)d->bytes);
        }
        r.memory[i] = buffer_of(d, bytes);
    }
    for (int i = 0; i < b->n_buffers; i++) {
        const BdBuffer *d = &b->buffers[i];
        if (d->role != BD_OUT) continue;
        leaf[r.n_leaves++] = i;
        void *bytes = output_memory(a, d, memory, i, operand_at(b, memory, i), &home[i]);
        if (home[i] != i) { /* one buffer, which the kernel reads and writes */
            SimBuffer *operand = &r.memory[home[i]];
            operand->bytes = bytes;
            operand->role = BD_OUT;
            operand->writes = d->writes;
            operand->initialised = true;
        } else {
            r.memory[i] = buffer_of(d, bytes);
        }
    }
    for (int i = 0; i < b->n_buffers; i++)
        if (home[i] != i) r.memory[i] = r.memory[home[i]];
    return r;
}

JudgeVerdict judge_run_there(WbbCx *cx, WbbArena *a, const Bundle *b, const SimModule *ptx, const HloModule *m,
                             const JudgeRun *run, void *const *memory, bool judged, bool *copied)
{
    JudgeVerdict v = {.seed = run->seed};
    const HloFusion f = hlo_fusion(cx, m);
    const bool judges = run->check && judged;
    JudgeOperands operands = {0};
    if (judges) operands = judge_given_operands(cx, a, f.body, operand_arrays(cx, a, b, memory));
    JudgeMemory r = memory_there(a, b, memory);
    const SimOptions o = {.check = run->check, .order = run->order, .order_seed = run->order_seed, .seed = run->seed,
                          .threads = run->threads, .ulp_noise = run->ulp_noise,
                          .counts = run->counts ? &v.counts : NULL, .profile = run->profiles};
    const double since = wbb_now_ms();
    judge_launch_all(cx, a, ptx, &r, &o, &v.report);
    v.ms_run = wbb_now_ms() - since;
    *copied = false;
    for (uint32_t k = 0; k < r.n_leaves; k++) {
        const int i = r.leaf[k];
        if (r.memory[i].bytes == memory[i] || !b->buffers[i].bytes) continue;
        memcpy(memory[i], r.memory[i].bytes, (size_t)b->buffers[i].bytes);
        *copied = true;
    }
    const double judging = wbb_now_ms();
    if (judges) judge_need_end(cx, a, f.body, &operands, &v.report, NULL);
    if (judges && v.report.n_faults == 0) judge_fusion(cx, a, &f, m, &operands, &r, run, &v);
    v.ms_eval = wbb_now_ms() - judging;
    return v;
}
