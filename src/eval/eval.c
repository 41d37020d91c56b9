/* eval: the entry to the evaluator.
 *
 * Needs: a verified computation and the values of its parameters. Leaves: the values of the leaves of its root.
 *
 * A whole run goes over each leaf a block of elements at a time, so that memory stays bounded and lanes stay in the cache.
 * Reductions are computed once, before that, and kept: a block may ask for any part of them. A run for a few elements computes
 * what they need of reductions, and no more.
 *
 *     EvResult *r = ev_run(cx, arena, body, inputs, EV_F64);       // outputs[0].data: doubles
 */
#include "eval/inner.h"

#include <string.h>

typedef struct {
    EvRef *items;
    uint32_t n, room;
} Refs;

/* Leaves of the root, depth first; path[0] is the outermost element. */
static void find_leaves(Ev *e, WbbArena *a, const HloShape *s, uint32_t *path, uint32_t depth, Refs *leaves)
{
    if (s->type != SC_TUPLE) {
        WBB_PUSH(a, leaves, ev_resolve(e, e->root, e->root->c->root, path, depth));
        return;
    }
    for (uint32_t k = 0; k < s->n_elements; k++) {
        path[depth] = k;
        find_leaves(e, a, s->elements[k], path, depth + 1, leaves);
    }
}

/* Elements a block: fewer for a long computation, since a block keeps one array for each instruction. */
static int64_t block_size(const Ev *e)
{
    int64_t n = EV_BLOCK, instructions = 1;
    for (const EvFrame *f = e->frames; f; f = f->next) instructions += f->c->n_instructions;
    while (n > 256 && n * instructions > INT64_C(1) << 21) n /= 2;
    return n;
}

/* All elements of r, to data. */
static void run_all(Ev *e, EvRef r, char *data)
{
    int64_t n = hlo_elements(ev_ref_shape(r)), size = block_size(e);
    size_t bytes = ev_lane_bytes(e->mode, ev_ref_shape(r)->type);
    for (int64_t at = 0; at < n; at += size) {
        ev_begin(e);
        int64_t lanes = WBB_MIN(size, n - at);
        memcpy(data + (size_t)at * bytes, ev_demand(e, r, ev_run_set(e, at, lanes)), (size_t)lanes * bytes);
        ev_end(e);
    }
}

/* Reductions of a frame and of what it calls, operands before users. */
static void keep_reductions(Ev *e, EvFrame *f)
{
    for (uint32_t k = 0; k < f->c->n_instructions; k++) {
        const HloInstruction *i = f->c->instructions[k];
        if (i->opcode == HLO_FUSION || i->opcode == HLO_CALL) keep_reductions(e, ev_callee(e, f, i));
        if (i->opcode != HLO_REDUCE) continue;
        uint32_t leaves = i->shape->type == SC_TUPLE ? i->shape->n_elements : 1;
        for (uint32_t leaf = 0; leaf < leaves; leaf++) {
            EvRef r = {f, i, leaf};
            const HloShape *s = ev_ref_shape(r);
            char *data = wbb_alloc(e->arena, (size_t)hlo_elements(s) * ev_lane_bytes(e->mode, s->type));
            run_all(e, r, data);
            ev_keep(e, r, leaf, data);
        }
    }
}

static EvValue new_value(Ev *e, WbbArena *arena, EvRef r, const int64_t *dims, uint8_t rank, int64_t n)
{
    ScType t = ev_ref_shape(r)->type;
    if (sc_type_info[t].cls == '-') wbb_decline(e->cx, r.i->loc, WHY_TYPE, "a result of type %s", sc_type_info[t].name);
    return (EvValue){.type = ev_lane_type(e->mode, t), .rank = rank, .dims = dims,
                     .data = wbb_alloc(arena, (size_t)n * ev_lane_bytes(e->mode, t))};
}

/* One call of ev_run or ev_run_at. */
typedef struct {
    Ev *e;
    WbbArena *arena;
    const EvPositions *at; /* NULL: everything */
    EvResult *result;
} Request;

/* The elements of leaf r that are wanted, block by block. */
static void run_some(Ev *e, EvRef r, const EvPositions *at, char *data)
{
    size_t bytes = ev_lane_bytes(e->mode, ev_ref_shape(r)->type);
    int64_t size = block_size(e);
    for (int64_t p = 0; p < at->n; p += size) {
        ev_begin(e);
        int64_t lanes = WBB_MIN(size, at->n - p);
        memcpy(data + (size_t)p * bytes, ev_demand(e, r, ev_list_set(e, at->positions + p, lanes)), (size_t)lanes * bytes);
        ev_end(e);
    }
}

static void run_body(WbbCx *cx, void *arg)
{
    (void)cx;
    Request *q = arg;
    Ev *e = q->e;
    Refs leaves = {0};
    uint32_t path[EV_PATH];
    find_leaves(e, q->arena, e->root->c->root->shape, path, 0, &leaves);
    q->result = WBB_NEW(q->arena, EvResult);
    q->result->n = leaves.n;
    q->result->outputs = WBB_NEW_N(q->arena, EvValue, leaves.n);
    int64_t wanted = 0;
    for (uint32_t k = 0; q->at && k < leaves.n; k++) wanted += q->at[k].n;
    if (!q->at || wanted >= EV_MANY) keep_reductions(e, e->root);
    for (uint32_t k = 0; k < leaves.n; k++) {
        EvRef r = leaves.items[k];
        const HloShape *s = ev_ref_shape(r);
        EvValue *v = &q->result->outputs[k];
        if (q->at) {
            int64_t *dims = WBB_NEW(q->arena, int64_t);
            dims[0] = q->at[k].n;
            *v = new_value(e, q->arena, r, dims, 1, dims[0]);
            run_some(e, r, &q->at[k], v->data);
        } else {
            *v = new_value(e, q->arena, r, s->dims, s->rank, hlo_elements(s));
            run_all(e, r, v->data);
        }
    }
}

EvResult *ev_run_at(WbbCx *cx, WbbArena *arena, const HloComputation *c, const void *const *inputs, EvMode mode,
                    const EvPositions *at)
{
    Request q = {ev_new(cx, c, inputs, mode), arena, at, NULL};
    WbbStatus status = wbb_guard(cx, run_body, &q);
    ev_free(q.e);
    if (status != WBB_OK) wbb_rethrow(cx, status);
    return q.result;
}

EvResult *ev_run(WbbCx *cx, WbbArena *arena, const HloComputation *c, const void *const *inputs, EvMode mode)
{
    return ev_run_at(cx, arena, c, inputs, mode, NULL);
}
