/* control: loops, branches, and computations applied to elements.
 *
 * Needs: verified computations. Leaves: the wanted lanes.
 *
 * A loop runs as a whole the first time that any element of it is wanted. Its state is lanes; each iteration takes two
 * sub-evaluations, condition and body; the last state is kept (iterate.c).
 * A branch is evaluated as a call is, element by element, once the choice is known; in EV_BOUNDS the result is the
 * union of the branches that may be taken. An index out of range takes the last branch (XLA's operation semantics). So
 * is the last state of a loop whose condition may hold or not: the union of all states in which it may not.
 *
 *     while((s32[], f32[4]) init), condition=c, body=b         state: lanes of leaf 0, lanes of leaf 1
 */
#include "eval/inner.h"

#include <string.h>

/* ITERATIONS: over all loops of an evaluation, nested ones included; one takes some microseconds. Of those that begin
 * where the condition may hold or not: OPEN_ITERATIONS in all, WIDENING until the intervals of the state are made to
 * grow, FAR until an end that grows goes to the end of its type, as of a counter. */
enum { ITERATIONS = 1000 * 1000, OPEN_ITERATIONS = 10 * 1000, WIDENING = 64, FAR = 128 };

void *ev_map(Ev *e, EvTask *t)
{
    const HloInstruction *i = t->ref.i;
    void **x = WBB_NEW_N(e->block, void *, i->n_operands + 1), *out = NULL;
    bool all = true;
    for (uint32_t k = 0; k < i->n_operands; k++) {
        x[k] = ev_need(e, ev_operand(e, t, k), t->set);
        all = all && x[k];
    }
    if (!all) return NULL;
    const HloComputation *c = i->called[0];
    for (uint32_t k = 0; k < i->n_operands; k++)
        x[k] = ev_as(e, c->parameters[k]->shape->type, i->operands[k]->shape->type, t->set->n, x[k]);
    ev_apply(e, c, t->set->n, x, &out);
    return ev_as(e, i->shape->type, c->root->shape->type, t->set->n, out);
}

static const HloComputation *named(const HloInstruction *i, const char *attribute)
{
    for (uint32_t k = 0; k < i->n_called; k++)
        if (strcmp(i->called_by[k], attribute) == 0) return i->called[k];
    return i->called[0];
}

/* The branches that may be taken: first .. last. False: the choice has been asked for. */
static bool branches(Ev *e, EvTask *t, uint32_t *first, uint32_t *last)
{
    const HloInstruction *i = t->ref.i;
    EvRef choice = ev_operand(e, t, 0);
    ScType type = ev_ref_shape(choice)->type;
    const void *lanes = ev_need(e, choice, ev_range_set(e, 0, 1));
    if (!lanes) return false;
    int64_t low, high, count = i->n_called;
    if (!ev_int_of(e, type, lanes, 0, &low)) {
        const EvBound *b = lanes;
        low = type == SC_PRED ? (int64_t)b->lo.u : b->lo.i;
        high = type == SC_PRED ? (int64_t)b->hi.u : b->hi.i;
        if (type != SC_PRED && low < 0) high = count - 1;
    } else {
        high = low;
    }
    if (type == SC_PRED) { /* true is the first branch */
        int64_t swap = low;
        low = 1 - high;
        high = 1 - swap;
    }
    *first = (uint32_t)(low < 0 || low >= count ? (low < 0 && high != low ? 0 : count - 1) : low);
    *last = (uint32_t)(high < 0 || high >= count ? count - 1 : high);
    return true;
}

void *ev_conditional(Ev *e, EvTask *t)
{
    const HloInstruction *i = t->ref.i;
    uint32_t first, last;
    void *made = NULL;
    bool all = true;
    if (!branches(e, t, &first, &last)) return NULL;
    ScType type = ev_ref_shape(t->ref)->type, part = ev_part_type(type);
    for (uint32_t b = first; b <= last; b++) {
        EvFrame *f = ev_callee(e, t->ref.frame, i, b);
        void *lanes = ev_need(e, ev_resolve_leaf(e, f, f->c->root, t->ref.leaf), t->set);
        all = all && lanes;
        if (!all) continue;
        if (!made) {
            made = lanes;
            continue;
        }
        int64_t n = t->set->n * (part == type ? 1 : 2);
        EvBound *both = ev_lanes(e, (size_t)n * sizeof *both);
        for (int64_t k = 0; k < n; k++)
            both[k] = ev_bound_union(part, ((const EvBound *)made)[k], ((const EvBound *)lanes)[k]);
        made = both;
    }
    return all ? made : NULL;
}

typedef enum { ENDS, GOES_ON, OPEN } Condition;

/* OPEN, in EV_BOUNDS: the values that are allowed may end the loop or not. */
static Condition condition_of(Ev *e, const HloInstruction *i, void *const *state)
{
    const HloComputation *c = named(i, "condition");
    Ev *run = ev_sub(e, c, state);
    int64_t value = 0;
    ev_begin(run);
    const void *lanes = ev_demand(run, ev_resolve(run, run->root, c->root, NULL, 0), ev_range_set(run, 0, 1));
    const bool known = ev_int_of(run, SC_PRED, lanes, 0, &value);
    ev_part_end(e);
    return !known ? OPEN : value ? GOES_ON : ENDS;
}

/* The state of a loop, or what it may be at its end: lanes of each leaf. */
typedef struct {
    const HloInstruction *i;
    uint32_t n;
} Leaves;

/* A leaf's intervals; 0: a token has none. */
static int64_t bounds_of(const Leaves *l, uint32_t k, ScType *part)
{
    const HloShape *s = ev_leaf_shape(l->i->shape, k);
    *part = ev_part_type(s->type);
    return sc_type_info[s->type].cls == '-' ? 0 : hlo_elements(s) * (*part == s->type ? 1 : 2);
}

/* to = to or from, each of intervals; far: an end that this moves goes to that of its type. false: nothing changes. */
static bool unite(const Leaves *l, void *const *to, void *const *from, bool far)
{
    bool changes = false;
    for (uint32_t k = 0; k < l->n; k++) {
        ScType part;
        EvBound *x = to[k];
        const EvBound *y = from[k];
        for (int64_t n = bounds_of(l, k, &part), j = 0; x != y && j < n; j++) {
            EvBound both = ev_bound_union(part, x[j], y[j]);
            const bool lower = both.lo.u != x[j].lo.u;
            const bool higher = both.hi.u != x[j].hi.u;
            changes = changes || lower || higher || both.flags != x[j].flags;
            if (far && lower) both.lo = ev_bound_any(part).lo;
            if (far && higher) both.hi = ev_bound_any(part).hi;
            x[j] = both;
        }
    }
    return changes;
}

static void **copy_of(const Leaves *l, WbbArena *a, void *const *state)
{
    void **made = WBB_NEW_N(a, void *, l->n + 1);
    for (uint32_t k = 0; k < l->n; k++) {
        ScType part;
        const size_t bytes = wbb_mul_size(a, (size_t)bounds_of(l, k, &part), sizeof(EvBound));
        if (state[k]) made[k] = memcpy(wbb_alloc(a, bytes + 1), state[k], bytes);
    }
    return made;
}

/* Keeps the lanes of all leaves for the whole evaluation; returns those that are wanted. */
static void *keep_state(Ev *e, EvTask *t, void *const *state)
{
    const HloInstruction *i = t->ref.i;
    void *wanted = NULL;
    for (uint32_t k = 0; k < i->shape->n_leaves; k++) {
        const HloShape *s = ev_leaf_shape(i->shape, k);
        size_t bytes = ev_lane_bytes(e->mode, s->type),
               all = wbb_mul_size(e->kept_arena, (size_t)hlo_elements(s), bytes);
        if (!state[k]) continue;
        void *kept = memcpy(wbb_alloc(e->kept_arena, all), state[k], all);
        ev_keep(e, (EvRef){t->ref.frame, i, k}, k, kept);
        if (k != t->ref.leaf) continue;
        wanted = ev_lanes(e, (size_t)t->set->n * bytes);
        ev_gather(wanted, kept, bytes, t->set);
    }
    return wanted;
}

void *ev_while(Ev *e, EvTask *t)
{
    const HloInstruction *i = t->ref.i;
    const Leaves leaves = {i, i->shape->n_leaves};
    void **state = WBB_NEW_N(e->block, void *, leaves.n + 1), **next = WBB_NEW_N(e->block, void *, leaves.n + 1);
    void **ends = NULL; /* what the state may be at the end */
    ev_must_keep(e);
    for (uint32_t k = 0; k < leaves.n; k++)
        if (sc_type_info[ev_leaf_shape(i->shape, k)->type].cls != '-')
            state[k] = ev_all(e, ev_resolve_leaf(e, t->ref.frame, i->operands[0], k));
    WbbArena *now = wbb_arena_new(e->cx), *then = wbb_arena_new(e->cx), *at_end = wbb_arena_new(e->cx);
    EvStays stays = {wbb_arena_new(e->cx), WBB_NEW_N(e->block, void *, leaves.n + 1)};
    const HloComputation *body = named(i, "body");
    for (uint32_t open = 0;;) {
        const Condition c = condition_of(e, i, state);
        if (c == OPEN && !ends) ends = copy_of(&leaves, at_end, state);
        else if (ends && c != GOES_ON) unite(&leaves, ends, state, false);
        if (c == ENDS) break;
        open += c == OPEN;
        if (atomic_fetch_add(e->iterations, 1) >= ITERATIONS || open > OPEN_ITERATIONS)
            wbb_decline(e->cx, i->loc, WHY_SIZE, "%s has not ended after %d iterations of all loops", i->name,
                        open > OPEN_ITERATIONS ? OPEN_ITERATIONS : ITERATIONS);
        /* once the state may be one of several, what it was is needed after the iteration */
        ev_iterate(e, body, state, then, next, open ? NULL : &stays);
        if (open > WIDENING) { /* what the state was, it may be again: the intervals grow until they do not change */
            void **wider = copy_of(&leaves, then, state);
            if (!unite(&leaves, wider, next, open > FAR)) break;
            memcpy(next, wider, leaves.n * sizeof *next);
        }
        void **swap = state;
        state = next;
        next = swap;
        wbb_arena_free(now); /* the previous state */
        now = then;
        then = wbb_arena_new(e->cx);
    }
    void *wanted = keep_state(e, t, ends ? ends : state);
    wbb_arena_free(now);
    wbb_arena_free(then);
    wbb_arena_free(at_end);
    wbb_arena_free(stays.arena);
    return wanted;
}
