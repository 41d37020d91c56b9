/* order: what comes before what between threads that synchronise through memory (PTX ISA 8, causality order).
 *
 * Needs: strong accesses and fences as they happen, clocks of the warps of a block (shadow.c). Leaves: for each thread
 * a view, what comes before its next access.
 *
 * A write that releases leaves the view of its thread (views.c), and what the barriers of its block order before it, as
 * a message at its address; a read that acquires takes the message into its own view. A fence releases for the strong
 * writes after it, and acquires what the strong reads before it have seen. Atomic operations add to the message that
 * they find, so a counter passes on what all threads released that have counted before. A message reaches only threads
 * that the scopes of both sides include. Barriers, bar.warp.sync and the barrier of a cluster join the views of all
 * threads that come.
 *
 * Fences of .sc order no more than others: no race depends on it. Proxies are not modelled. mbarriers count as wide
 * enough for the cluster.
 *
 *     block 0: st [data]; fence.acq_rel.gpu; st.relaxed.gpu [flag]   ->   message at flag: block 0 up to the fence
 *     block 1: ld.relaxed.gpu [flag]; fence.acq_rel.gpu; ld [data]   ->   its view has block 0 up to there: no race
 */
#include "sim/inner.h"

/* Decoding ------------------------------------------------------------------------------------- */

uint8_t sim_order_of(const Inst *inst, int scope)
{
    int order = 0;
    for (int i = 1; i < inst->n_parts; i++) {
        const char *part = inst->part[i];
        if (!strcmp(part, "acquire")) order |= ORDER_ACQUIRE;
        else if (!strcmp(part, "release")) order |= ORDER_RELEASE;
        else if (!strcmp(part, "acq_rel") || !strcmp(part, "sc")) order |= ORDER_ACQUIRE | ORDER_RELEASE;
        else if (!strcmp(part, "cta")) scope = SCOPE_CTA;
        else if (!strcmp(part, "cluster")) scope = SCOPE_CLUSTER;
        else if (!strcmp(part, "gpu") || !strcmp(part, "sys") || !strcmp(part, "gl")) scope = SCOPE_GPU;
    }
    return (uint8_t)(order | scope << ORDER_SCOPE);
}

/* fence and membar; fences between proxies order nothing here. */
void sim_decode_fence(Parser *p, const Inst *inst)
{
    uint8_t order = sim_order_of(inst, SCOPE_GPU);
    if (sim_has(inst, "proxy")) return;
    if (!strcmp(inst->part[0], "membar")) order |= ORDER_ACQUIRE | ORDER_RELEASE;
    p->func->orders = true;
    sim_emit(p, OP_FENCE)->order = order;
}

/* Later accesses of the warp get a new time: they are not what was released. */
static void next_time(Block *b, const Warp *w)
{
    const uint32_t q = w->first_thread / LANES;
    b->clock[q][q]++;
}

/* Messages ------------------------------------------------------------------------------------- */

/* True if a message by a block at this scope is meant for this one. */
static bool reaches(const Block *b, uint32_t serial, int scope)
{
    return scope == SCOPE_GPU || serial == b->serial || (scope == SCOPE_CLUSTER && sim_same_cluster(serial, b->serial));
}

static void read_message(Block *b, const SimOp *op, SimThread *t, const Message *m)
{
    const int scope = op->order >> ORDER_SCOPE & 3;
    const bool acquires = op->order & ORDER_ACQUIRE;
    for (int k = 0; k <= scope; k++)
        if (reaches(b, m->block, k) && !(acquires && k < scope && m->by[k] == m->by[k + 1]))
            sim_view_join(b, acquires ? &t->view : &t->seen[k], m->by[k]);
}

static void write_message(Block *b, const Warp *w, const SimOp *op, int lane, const SimThread *t, Message *m)
{
    const int scope = op->order >> ORDER_SCOPE & 3;
    SimView *mine = op->order & ORDER_RELEASE ? sim_view_own(b, w, (uint32_t)lane) : NULL;
    for (int k = 0; k < SCOPES; k++) {
        if (op->kind == OP_STORE || !reaches(b, m->block, k)) sim_view_drop(b, &m->by[k]);
        if (k > scope) continue;
        sim_view_join(b, &m->by[k], mine);
        if (mine) sim_view_join(b, &m->by[k], t->view);
        sim_view_join(b, &m->by[k], t->fenced[k]);
        sim_view_join(b, &m->by[k], t->fenced_view[k]);
    }
    m->block = b->serial;
    if (mine) next_time(b, w);
    sim_view_drop(b, &mine);
}

void sim_order_read(Block *b, const Warp *w, const SimOp *op, int lane, SimShadow *s, uint64_t at)
{
    const Message *m = op->order & ORDER_READ ? sim_message(b, s, at, false) : NULL;
    if (m) read_message(b, op, &b->threads[w->first_thread + (uint32_t)lane], m);
}

void sim_order_write(Block *b, const Warp *w, const SimOp *op, int lane, SimShadow *s, uint64_t at)
{
    write_message(b, w, op, lane, &b->threads[w->first_thread + (uint32_t)lane], sim_message(b, s, at, true));
}

void sim_fence(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    const int scope = op->order >> ORDER_SCOPE & 3;
    if (!b->orders) return;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(rest);
        SimThread *t = &b->threads[w->first_thread + lane];
        for (int k = 0; k <= scope && op->order & ORDER_ACQUIRE; k++) {
            sim_view_join(b, &t->view, t->seen[k]);
            sim_view_drop(b, &t->seen[k]);
        }
        if (!(op->order & ORDER_RELEASE)) continue;
        SimView *mine = sim_view_own(b, w, lane);
        for (int k = 0; k <= scope; k++) {
            sim_view_set(b, &t->fenced[k], mine);
            sim_view_set(b, &t->fenced_view[k], t->view);
        }
        sim_view_drop(b, &mine);
    }
    next_time(b, w);
}

/* Barriers ------------------------------------------------------------------------------------- */

void sim_order_give(Block *b, const Warp *w, uint32_t mask, SimView **to)
{
    for (uint32_t rest = b->orders ? mask : 0; rest; rest &= rest - 1)
        sim_view_join(b, to, b->threads[w->first_thread + (uint32_t)__builtin_ctz(rest)].view);
}

void sim_order_take(Block *b, const Warp *w, uint32_t mask, SimView *from)
{
    for (uint32_t rest = from ? mask : 0; rest; rest &= rest - 1)
        sim_view_join(b, &b->threads[w->first_thread + (uint32_t)__builtin_ctz(rest)].view, from);
}

void sim_order_warp(Block *b, const Warp *w, uint32_t mask)
{
    SimView *all = NULL;
    sim_order_give(b, w, mask, &all);
    sim_order_take(b, w, mask, all);
    sim_view_drop(b, &all);
}

void sim_order_arrive(Block *b, const Warp *w, const SimOp *op)
{
    SimView **to = &b->cluster->arriving;
    if (!b->orders) return;
    if (op->order & ORDER_RELEASE) {
        SimView *mine = sim_view_own(b, w, ALL_LANES);
        sim_view_join(b, to, mine);
        sim_order_give(b, w, w->live, to);
        next_time(b, w);
        sim_view_drop(b, &mine);
    }
    for (uint32_t rest = w->live; rest; rest &= rest - 1) {
        const SimThread *t = &b->threads[w->first_thread + (uint32_t)__builtin_ctz(rest)];
        sim_view_join(b, to, t->fenced[SCOPE_CLUSTER]);
        sim_view_join(b, to, t->fenced_view[SCOPE_CLUSTER]);
    }
}

void sim_order_wait(Block *b, const Warp *w)
{
    b->met = true;
    sim_order_take(b, w, w->live, b->cluster->came);
    sim_view_clocks(b, w, b->cluster->came);
}

void sim_order_reset(Block *b)
{
    for (uint32_t i = 0; b->orders && i < (uint32_t)b->n_warps * LANES; i++) {
        SimThread *t = &b->threads[i];
        sim_view_drop(b, &t->view);
        for (int k = 0; k < SCOPES; k++) {
            sim_view_drop(b, &t->seen[k]);
            sim_view_drop(b, &t->fenced[k]);
            sim_view_drop(b, &t->fenced_view[k]);
        }
    }
}
