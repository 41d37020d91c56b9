/* memory.c: the memory of a bundle's buffers, and its launches in the simulator over it.
 *
 * Needs a bundle and the values of its operands; leaves the outputs as the launches wrote them. What a launch wrote the
 * next ones may read: the end of a launch orders everything. Outputs have to be complete only after the last.
 *
 *     sums of 8 blocks: launch 0 writes 8 floats of a temporary, launch 1 reads them and writes the output
 */
#include "judge/memory.h"

#include <string.h>

/* Can buffer i use the operand's array as its memory? It is not written, and the array has the memory's layout. */
static bool can_use_array(const JudgeMemory *r, int i, size_t padding)
{
    const BdBuffer *d = &r->b->buffers[i];
    bool same = d->role == BD_IN && d->bits >= 8 && padding == 0 && d->bytes > 0 && bd_row_major(d);
    for (int k = 0; k < r->b->n_buffers; k++)
        if (k != i && r->home[k] == i) same = false;
    return same;
}

static SimBuffer buffer_of(WbbCx *cx, WbbArena *a, const JudgeMemory *r, int i, const JudgeOperands *operands,
                           size_t padding)
{
    const BdBuffer *d = &r->b->buffers[i];
    if (d->role == BD_IN && d->arg >= (int)operands->n)
        wbb_fail(cx, (WbbLoc){0}, "the bundle has %d operands, its fusion %u", d->arg + 1, operands->n);
    const void *array = d->role == BD_IN ? operands->arrays[d->arg] : NULL;
    const bool own = !array || !can_use_array(r, i, padding);
    /* The simulator reports a store to an operand as a fault, so `array` is not written. */
    void *bytes = own ? wbb_alloc(a, (size_t)d->bytes + padding + 16) : (void *)array;
    SimBuffer m = {.bytes = bytes, .size = (size_t)d->bytes, .align = (uint32_t)d->align, .role = d->role,
                   .writes = d->writes, .initialised = d->init == BD_INIT_ZERO || d->init == BD_INIT_TICKET};
    if (d->role == BD_IN && !array) m.source = judge_pages(a, operands, d);
    else if (d->role == BD_IN && own) bd_to_physical(cx, d, array, bytes);
    else if (d->role == BD_TEMP && !m.initialised) memset(bytes, BD_ANYTHING, m.size);
    return m;
}

JudgeMemory judge_memory(WbbCx *cx, WbbArena *a, const Bundle *b, const JudgeOperands *operands, size_t padding,
                         const JudgeShare *share)
{
    int *leaf = WBB_NEW_N(a, int, b->n_buffers + 1), *home = WBB_NEW_N(a, int, b->n_buffers + 1);
    JudgeMemory r = {.b = b, .memory = WBB_NEW_N(a, SimBuffer, b->n_buffers + 1), .home = home, .leaf = leaf};
    for (int i = 0; i < b->n_buffers; i++) {
        home[i] = b->buffers[i].copy_of >= 0 ? b->buffers[i].copy_of : i;
        if (share && i == share->output) home[i] = share->operand;
        if (b->buffers[i].role == BD_OUT) leaf[r.n_leaves++] = i;
    }
    for (int i = 0; i < b->n_buffers; i++)
        if (home[i] == i) r.memory[i] = buffer_of(cx, a, &r, i, operands, padding);
    for (int i = 0; i < b->n_buffers; i++) {
        if (home[i] == i) continue;
        SimBuffer *operand = &r.memory[home[i]]; /* the kernel may write it */
        operand->role = BD_OUT;
        operand->writes = b->buffers[i].writes;
        operand->initialised = true;
        r.memory[i] = *operand;
    }
    return r;
}

void judge_keep_temporaries(JudgeMemory *to, const JudgeMemory *from)
{
    for (int i = 0; i < to->b->n_buffers; i++)
        if (to->b->buffers[i].role == BD_TEMP) to->memory[i].bytes = from->memory[i].bytes;
}

BdLaunch *judge_launches(WbbArena *a, const JudgeMemory *r)
{
    BdLaunch *out = WBB_NEW_N(a, BdLaunch, r->b->n_launches + 1);
    for (int i = 0; i < r->b->n_launches; i++) {
        out[i] = r->b->launches[i];
        int *args = WBB_NEW_N(a, int, out[i].n_args + 1);
        for (int k = 0; k < out[i].n_args; k++)
            args[k] = out[i].args[k] == BD_NOTHING ? BD_NOTHING : r->home[out[i].args[k]];
        out[i].args = args;
    }
    return out;
}

void judge_launch_all(WbbCx *cx, WbbArena *a, const SimModule *ptx, JudgeMemory *r, const SimOptions *o,
                      SimReport *report)
{
    const BdLaunch *launches = judge_launches(a, r);
    const int n = r->b->n_launches;
    bool whole = false; /* launches update what those before them have stored */
    for (int k = 0; k < r->b->n_buffers; k++)
        whole = whole || (n > 1 && r->b->buffers[k].role == BD_OUT && r->b->buffers[k].writes == BD_ATOMIC);
    *report = (SimReport){0};
    for (int i = 0; i < n && report->n_faults == 0; i++) {
        SimOptions options = *o;
        SimReport one;
        options.more = i + 1 < n;
        if (whole) options.blocks = 0;
        if (o->profile) options.profile = o->profile + i;
        sim_run(cx, a, ptx, &launches[i], r->memory, r->b->n_buffers, &options, &one);
        sim_report_add(report, &one);
        report->written = one.written;
        for (int k = 0; k < r->b->n_buffers && one.written; k++) r->memory[k].written = one.written[k];
    }
}

bool judge_has_tickets(const Bundle *b)
{
    for (int i = 0; i < b->n_buffers; i++)
        if (b->buffers[i].init == BD_INIT_TICKET) return true;
    return false;
}

const char *judge_ticket_fault(WbbArena *a, const JudgeMemory *r)
{
    for (int i = 0; i < r->b->n_buffers; i++) {
        const uint8_t *bytes = r->memory[i].bytes;
        for (int64_t k = 0; r->b->buffers[i].init == BD_INIT_TICKET && k < r->b->buffers[i].bytes; k++)
            if (bytes[k])
                return wbb_format(a, "byte %lld of temporary buffer %d, a ticket, is 0x%02x after a run, and must be 0 "
                                  "again", (long long)k, i, bytes[k]);
    }
    return NULL;
}

int64_t judge_differing(WbbArena *a, const JudgeMemory *x, const JudgeMemory *y, const char **first)
{
    int64_t n = 0;
    for (uint32_t k = 0; k < x->n_leaves; k++) {
        const BdBuffer *d = &x->b->buffers[x->leaf[k]];
        const uint8_t *p = x->memory[x->leaf[k]].bytes, *q = y->memory[y->leaf[k]].bytes;
        for (int64_t i = 0; i < d->bytes; i++) {
            if (p[i] == q[i]) continue;
            if (!n++) *first = wbb_format(a, "output %u element %lld in memory", k, (long long)(i * 8 / d->bits));
        }
    }
    return n;
}
