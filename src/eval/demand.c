/* demand: the run of an evaluation; who needs which elements of whom.
 *
 * Needs: a verified computation. Leaves: the lanes of any array at any set of positions.
 *
 * There is no recursion over instructions, however long their chain: a step that lacks an operand's lanes asks for them, which
 * puts a task on a stack, gives up, and is taken again when they are there. What was computed is remembered for the block, so
 * that an instruction is computed once for each set. Moving operations ask for other sets than their own.
 *
 *     r = f32[8] add(x, broadcast(s))     at {3, 4}: asks x at {3, 4}, s at {0}; then adds two lanes
 */
#include "eval/inner.h"

#include <string.h>

const HloShape *ev_ref_shape(EvRef r)
{
    const HloShape *s = r.i->shape;
    return s->type == SC_TUPLE ? s->elements[r.leaf] : s;
}

static EvFrame *new_frame(Ev *e, const HloComputation *c, EvFrame *caller, const HloInstruction *call, EvFrame *origin)
{
    EvFrame *f = WBB_NEW(e->arena, EvFrame);
    f->c = c;
    f->caller = caller;
    f->call = call;
    f->origin = origin;
    f->callee = WBB_NEW_N(e->arena, EvFrame *, c->n_instructions);
    f->memo = WBB_NEW_N(e->arena, EvMemo *, c->n_instructions);
    f->kept = origin ? origin->kept : WBB_NEW_N(e->arena, EvMemo *, c->n_instructions);
    f->next = e->frames;
    e->frames = f;
    return f;
}

EvFrame *ev_callee(Ev *e, EvFrame *f, const HloInstruction *call)
{
    EvFrame **slot = &f->callee[call->id];
    if (!*slot) {
        EvFrame *origin = f->origin ? f->origin->callee[call->id] : NULL;
        *slot = new_frame(e, call->called[0], f, call, origin);
    }
    return *slot;
}

Ev *ev_new(WbbCx *cx, const HloComputation *c, const void *const *inputs, EvMode mode)
{
    WbbArena *arena = wbb_arena_new(cx);
    Ev *e = WBB_NEW(arena, Ev);
    e->cx = cx;
    e->arena = arena;
    e->mode = mode == EV_BOUNDS_APPROX ? EV_BOUNDS : mode;
    e->approx = mode == EV_BOUNDS_APPROX;
    e->inputs = inputs;
    e->root = new_frame(e, c, NULL, NULL, NULL);
    return e;
}

Ev *ev_part(Ev *whole)
{
    WbbArena *arena = wbb_arena_new(whole->cx);
    Ev *e = WBB_NEW(arena, Ev);
    e->cx = whole->cx;
    e->arena = arena;
    whole->part = e;
    e->mode = whole->mode;
    e->approx = whole->approx;
    e->inputs = whole->inputs;
    e->root = new_frame(e, whole->root->c, NULL, NULL, whole->root);
    return e;
}

void ev_part_end(Ev *whole)
{
    Ev *part = whole->part;
    whole->part = NULL;
    ev_free(part);
}

void ev_free(Ev *e)
{
    if (e->part) ev_part_end(e);
    if (e->block) ev_end(e);
    wbb_arena_free(e->arena);
}

static EvFrame *part_frame(Ev *part, EvFrame *f)
{
    return f->caller ? ev_callee(part, part_frame(part, f->caller), f->call) : part->root;
}

EvRef ev_part_ref(Ev *part, EvRef r) { return (EvRef){part_frame(part, r.frame), r.i, r.leaf}; }

void ev_begin(Ev *e)
{
    e->block = wbb_arena_new(e->cx);
    e->slab = e->slabs;
    if (e->slab) e->slab->used = 0;
    memset(e->buckets, 0, sizeof e->buckets);
    for (EvFrame *f = e->frames; f; f = f->next) memset(f->memo, 0, f->c->n_instructions * sizeof *f->memo);
}

void ev_end(Ev *e)
{
    wbb_arena_free(e->block);
    e->block = NULL;
}

EvRef ev_resolve(Ev *e, EvFrame *f, const HloInstruction *i, const uint32_t *path, uint32_t depth)
{
    uint32_t stack[2 * EV_PATH], n = 0; /* the next element to take is the last one */
    for (uint32_t k = depth; k > 0 && n < EV_PATH; k--) stack[n++] = path[k - 1];
    for (;;) {
        switch (i->opcode) {
        case HLO_GET_TUPLE_ELEMENT:
            if (n == WBB_LEN(stack)) wbb_fail(e->cx, i->loc, "tuples nest too deep");
            stack[n++] = (uint32_t)i->number;
            i = i->operands[0];
            continue;
        case HLO_TUPLE:
            if (n == 0) break;
            i = i->operands[stack[--n]];
            continue;
        case HLO_PARAMETER:
            if (!f->caller) break;
            i = f->call->operands[i->number];
            f = f->caller;
            continue;
        case HLO_FUSION:
        case HLO_CALL:
            f = ev_callee(e, f, i);
            i = f->c->root;
            continue;
        case HLO_COPY:
        case HLO_OPT_BARRIER:
        case HLO_ADD_DEPENDENCY:
            i = i->operands[0];
            continue;
        default: break;
        }
        break;
    }
    if (n > 1 || (n == 1 && i->opcode == HLO_PARAMETER))
        wbb_decline(e->cx, i->loc, WHY_OPERATION, "the evaluator has no %s with nested tuples", hlo_opcode_name(i->opcode));
    return (EvRef){f, i, n ? stack[0] : 0};
}

static const EvSet *intern_set(Ev *e, EvSet s)
{
    EvSet **slot = &e->buckets[s.hash % EV_BUCKETS];
    for (EvSet *p = *slot; p; p = p->next) {
        if (p->hash != s.hash || p->n != s.n || p->start != s.start || !p->list != !s.list) continue;
        if (!s.list || memcmp(p->list, s.list, (size_t)s.n * sizeof *s.list) == 0) return p;
    }
    EvSet *made = WBB_NEW(e->block, EvSet);
    *made = s;
    made->next = *slot;
    *slot = made;
    return made;
}

const EvSet *ev_run_set(Ev *e, int64_t start, int64_t n)
{
    int64_t key[2] = {start, n};
    return intern_set(e, (EvSet){.n = n, .start = start, .hash = wbb_hash(key, sizeof key, 1)});
}

const EvSet *ev_list_set(Ev *e, const int64_t *list, int64_t n)
{
    int64_t k = 1;
    while (k < n && list[k] == list[0] + k) k++;
    if (n == 0 || k == n) return ev_run_set(e, n ? list[0] : 0, n);
    return intern_set(e, (EvSet){.n = n, .start = list[0], .list = list, .hash = wbb_hash(list, (size_t)n * sizeof *list, 2)});
}

static void *find(EvRef r, const EvSet *set)
{
    for (EvMemo *m = r.frame->memo[r.i->id]; m; m = m->next)
        if (m->set == set && m->leaf == r.leaf) return m->data;
    return NULL;
}

void ev_put_memo(Ev *e, EvRef r, uint32_t leaf, const EvSet *set, void *data)
{
    EvMemo *m = WBB_NEW(e->block, EvMemo);
    *m = (EvMemo){set, leaf, data, r.frame->memo[r.i->id]};
    r.frame->memo[r.i->id] = m;
}

void ev_keep(Ev *e, EvRef r, uint32_t leaf, void *data)
{
    EvMemo *m = WBB_NEW(e->arena, EvMemo);
    *m = (EvMemo){NULL, leaf, data, r.frame->kept[r.i->id]};
    r.frame->kept[r.i->id] = m;
}

void *ev_kept(EvRef r, uint32_t leaf)
{
    for (EvMemo *m = r.frame->kept[r.i->id]; m; m = m->next)
        if (m->leaf == leaf) return m->data;
    return NULL;
}

/* What needs no other array. */
static void *leaf_lanes(Ev *e, EvRef r, const EvSet *set)
{
    ScType t = ev_ref_shape(r)->type;
    void *kept = ev_kept(r, r.leaf);
    if (kept) {
        size_t bytes = ev_lane_bytes(e->mode, t);
        void *lanes = ev_lanes(e, (size_t)set->n * bytes);
        ev_gather(lanes, kept, bytes, set);
        return lanes;
    }
    if (r.i->opcode == HLO_PARAMETER) return ev_import(e, t, e->inputs[r.i->number], set);
    if (r.i->opcode != HLO_CONSTANT) return NULL;
    if (!r.i->literal) wbb_decline(e->cx, r.i->loc, WHY_OPERATION, "the text leaves out the value of constant %s", r.i->name);
    if (r.i->literal_splat) {
        const EvSet one = {.n = 1};
        void *value = ev_import(e, t, r.i->literal, &one);
        size_t bytes = ev_lane_bytes(e->mode, t);
        char *lanes = ev_lanes(e, (size_t)set->n * bytes);
        ev_fill(lanes, value, bytes, set->n);
        return lanes;
    }
    return ev_import(e, t, r.i->literal, set);
}

void *ev_need(Ev *e, EvRef r, const EvSet *set)
{
    void *lanes = find(r, set);
    if (lanes) return lanes;
    lanes = leaf_lanes(e, r, set);
    if (lanes) {
        ev_put_memo(e, r, r.leaf, set, lanes);
        return lanes;
    }
    EvTask *t = WBB_NEW(e->block, EvTask);
    *t = (EvTask){r, set, NULL, e->top};
    e->top = t;
    return NULL;
}

EvRef ev_operand(Ev *e, const EvTask *t, uint32_t k) { return ev_resolve(e, t->ref.frame, t->ref.i->operands[k], NULL, 0); }

/* Bounds of clamp and the predicate of select may be scalars where the result is not: their lane stands for all. */
static void *spread(Ev *e, ScType t, int64_t n, const void *one)
{
    size_t bytes = ev_lane_bytes(e->mode, t);
    char *lanes = ev_lanes(e, (size_t)n * bytes);
    ev_fill(lanes, one, bytes, n);
    return lanes;
}

static void *elementwise(Ev *e, EvTask *t)
{
    const HloInstruction *i = t->ref.i;
    void **x = WBB_NEW_N(e->block, void *, i->n_operands);
    bool all = true;
    for (uint32_t k = 0; k < i->n_operands; k++) {
        EvRef r = ev_operand(e, t, k);
        bool scalar = ev_ref_shape(r)->rank == 0 && i->shape->rank != 0;
        x[k] = ev_need(e, r, scalar ? ev_run_set(e, 0, 1) : t->set);
        if (x[k] && scalar) x[k] = spread(e, ev_ref_shape(r)->type, t->set->n, x[k]);
        all = all && x[k];
    }
    return all ? ev_elementwise(e, i, t->set->n, x) : NULL;
}

/* Bits are read anew element by element; a type of another width would take parts of elements, or several. */
static void check_width(Ev *e, const HloInstruction *i)
{
    ScType from = i->operands[0]->shape->type, to = i->shape->type;
    if (sc_type_info[from].bits != sc_type_info[to].bits)
        wbb_decline(e->cx, i->loc, WHY_OPERATION, "the evaluator reads no %s as %s, which has another width", sc_type_info[from].hlo,
                    sc_type_info[to].hlo);
}

static void *step(Ev *e, EvTask *t)
{
    HloOpcode op = t->ref.i->opcode;
    if (op == HLO_BITCAST || op == HLO_BITCAST_CONVERT) check_width(e, t->ref.i);
    if (op == HLO_REDUCE) return ev_reduce(e, t);
    if (op == HLO_GATHER) return ev_gather_op(e, t);
    if (ev_moves(op)) return ev_move(e, t);
    if (hlo_is_elementwise(op)) return elementwise(e, t);
    wbb_decline(e->cx, t->ref.i->loc, WHY_OPERATION, "the evaluator has no %s", hlo_opcode_name(op));
}

void *ev_demand(Ev *e, EvRef r, const EvSet *set)
{
    e->top = NULL;
    void *lanes = ev_need(e, r, set);
    if (lanes) return lanes;
    while (e->top) {
        EvTask *t = e->top;
        void *made = find(t->ref, t->set);
        if (!made) {
            made = step(e, t);
            if (!made) continue; /* what it lacks is on top of it now */
            if (!find(t->ref, t->set)) ev_put_memo(e, t->ref, t->ref.leaf, t->set, made);
        }
        assert(e->top == t);
        e->top = t->below;
    }
    return find(r, set);
}
