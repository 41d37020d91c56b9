/* frame: evaluations, the uses of computations in them, and which array a value is.
 *
 * Needs: a verified computation. Leaves: an evaluation; frames, one for each use of a computation; references resolved
 * through tuples, calls and parameters, so that these cost nothing.
 *
 * inner.h says what a part and a sub-evaluation are.
 *
 *     g = get-tuple-element(fusion(x), calls=f), index=1        the second operand of the tuple that is f's root, in
 * f's frame
 */
#include "eval/inner.h"

#include <string.h>

const HloShape *ev_leaf_shape(const HloShape *s, uint32_t leaf)
{
    while (s->type == SC_TUPLE) {
        uint32_t k = 0;
        while (leaf >= s->elements[k]->n_leaves) leaf -= s->elements[k++]->n_leaves;
        s = s->elements[k];
    }
    return s;
}

const HloShape *ev_ref_shape(EvRef r) { return ev_leaf_shape(r.i->shape, r.leaf); }

enum { COPIES = 1 << 21 }; /* instructions of all computations that are called, once for each call */

static EvFrame *new_frame(Ev *e, const HloComputation *c, EvFrame *caller, const HloInstruction *call, EvFrame *origin)
{
    if (caller && (e->copies += c->n_instructions) > COPIES)
        wbb_decline(e->cx, call->loc, WHY_SIZE,
                    "computations that are called, each once for each call, have more than %d instructions", COPIES);
    EvFrame *f = WBB_NEW(e->arena, EvFrame);
    f->c = c;
    f->caller = caller;
    f->call = call;
    f->origin = origin;
    f->callee = WBB_NEW_N(e->arena, EvFrame *, c->n_instructions);
    f->memo = WBB_NEW_N(e->arena, EvMemo *, c->n_instructions);
    f->kept = origin && e->chunk != e ? origin->kept : WBB_NEW_N(e->arena, EvMemo *, c->n_instructions);
    if (origin && e->chunk == e) memcpy(f->kept, origin->kept, c->n_instructions * sizeof *f->kept);
    f->next = e->frames;
    e->frames = f;
    return f;
}

static EvFrame *known_callee(const EvFrame *f, const HloInstruction *call, uint32_t branch)
{
    EvFrame *g = f->callee[call->id];
    while (g && g->branch != branch) g = g->sibling;
    return g;
}

EvFrame *ev_callee(Ev *e, EvFrame *f, const HloInstruction *call, uint32_t branch)
{
    EvFrame *g = known_callee(f, call, branch), *origin = NULL;
    if (g) return g;
    if (f->origin) /* several threads may read what a chunk is a part of, so it makes no frame there */
        origin = e->chunk == e ? known_callee(f->origin, call, branch) : ev_callee(e->whole, f->origin, call, branch);
    const HloComputation *c = origin ? origin->c : ev_expansion(e, call);
    g = new_frame(e, c ? c : call->called[branch], f, call, origin);
    g->branch = branch;
    g->sibling = f->callee[call->id];
    f->callee[call->id] = g;
    return g;
}

static Ev *new_run(WbbCx *cx)
{
    WbbArena *arena = wbb_arena_new(cx);
    Ev *e = WBB_NEW(arena, Ev);
    e->cx = cx;
    e->arena = e->kept_arena = arena;
    return e;
}

EvMode ev_bounds_mode(ScAccuracy accuracy) { return (EvMode)(EV_BOUNDS + accuracy); }

Ev *ev_new(WbbCx *cx, const HloComputation *c, const void *const *inputs, EvMode mode)
{
    Ev *e = new_run(cx);
    e->mode = mode > EV_BOUNDS ? EV_BOUNDS : mode;
    e->accuracy = mode > EV_BOUNDS ? (ScAccuracy)(mode - EV_BOUNDS) : SC_EXACT;
    e->inputs = inputs;
    e->iterations = wbb_alloc(e->arena, sizeof *e->iterations);
    e->root = new_frame(e, c, NULL, NULL, NULL);
    return e;
}

static Ev *new_inner(Ev *outer, WbbCx *cx)
{
    Ev *e = new_run(cx);
    e->mode = outer->mode;
    e->accuracy = outer->accuracy;
    e->noise = outer->noise;
    e->order = outer->order;
    e->iterations = outer->iterations;
    e->depth = outer->depth + 1;
    if (e->depth > EV_DEPTH)
        wbb_decline(e->cx, outer->root->c->loc, WHY_SIZE, "costly operations nest more than %d deep", EV_DEPTH);
    return e;
}

/* An evaluation inside a step of another. The caller copies its results before it ends. */
static Ev *nested(Ev *outer)
{
    return outer->part = new_inner(outer, outer->cx);
}

static void take_part(Ev *e, Ev *whole)
{
    e->whole = whole;
    e->inputs = whole->inputs;
    e->source = whole->source;
    e->state = whole->state;
    e->root = new_frame(e, whole->root->c, NULL, NULL, whole->root);
}

Ev *ev_part(Ev *whole)
{
    Ev *e = nested(whole);
    e->kept_arena = whole->kept_arena;
    e->chunk = whole->chunk;
    take_part(e, whole);
    return e;
}

Ev *ev_chunk(Ev *whole, WbbCx *cx)
{
    Ev *e = new_inner(whole, cx);
    e->kept_arena = wbb_arena_new(cx);
    e->chunk = e;
    e->filling = whole->filling;
    take_part(e, whole);
    return e;
}

void ev_chunk_again(Ev *e)
{
    for (EvFrame *f = e->frames; f; f = f->next) {
        const size_t bytes = f->c->n_instructions * sizeof *f->kept;
        if (f->origin) memcpy(f->kept, f->origin->kept, bytes);
        else memset(f->kept, 0, bytes);
    }
    wbb_arena_free(e->kept_arena);
    e->kept_arena = wbb_arena_new(e->cx);
}

Ev *ev_sub(Ev *outer, const HloComputation *c, void *const *state)
{
    Ev *e = nested(outer);
    e->state = state;
    e->root = new_frame(e, c, NULL, NULL, NULL);
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
    if (e->chunk == e) wbb_arena_free(e->kept_arena);
    wbb_arena_free(e->arena);
}

static EvFrame *part_frame(Ev *part, EvFrame *f)
{
    return f->caller ? ev_callee(part, part_frame(part, f->caller), f->call, f->branch) : part->root;
}

EvRef ev_part_ref(Ev *part, EvRef r) { return (EvRef){part_frame(part, r.frame), r.i, r.leaf}; }

void ev_begin(Ev *e)
{
    e->block = wbb_arena_new(e->cx);
    e->slab = e->slabs;
    if (e->slab) e->slab->used = 0;
    e->sets = (WbbMap){.arena = e->block};
    for (EvFrame *f = e->frames; f; f = f->next) memset(f->memo, 0, f->c->n_instructions * sizeof *f->memo);
}

void ev_end(Ev *e)
{
    wbb_arena_free(e->block);
    e->block = NULL;
}

/* Is it a custom call that returns its operand, marked for a partitioner or a memory space? */
static bool is_identity(const HloInstruction *i)
{
    static const char *const targets[] = {"Sharding",
                                          "SPMDFullToShardShape",
                                          "SPMDShardToFullShape",
                                          "xla.sdy.FuncResultSharding",
                                          "annotate_device_placement",
                                          "MoveToDevice",
                                          "MoveToHost",
                                          "Pin",
                                          "Unpin",
                                          "LayoutConstraint"};
    if (i->n_operands != 1 || !i->target || !hlo_same_shape(i->shape, i->operands[0]->shape)) return false;
    for (size_t k = 0; k < WBB_LEN(targets); k++)
        if (strcmp(i->target, targets[k]) == 0) return true;
    return false;
}

/* Does the instruction return its operand 0 unchanged? */
static bool passes(const HloInstruction *i)
{
    switch (i->opcode) {
    case HLO_COPY:
    case HLO_OPT_BARRIER:
    case HLO_ADD_DEPENDENCY:
    case HLO_DOMAIN:
    case HLO_COPY_DONE:
    case HLO_ASYNC_UPDATE:
    case HLO_ASYNC_DONE: return true;
    case HLO_CUSTOM_CALL: return is_identity(i);
    case HLO_ALL_REDUCE_DONE: return hlo_is_alone_done(i);
    default: return false;
    }
}

/* Is the result of the instruction that of a computation which it names? */
static bool calls(const HloInstruction *i)
{
    switch (i->opcode) {
    case HLO_FUSION:
    case HLO_CALL: return true;
    case HLO_ASYNC_START: return i->spelling || i->n_called == 1;
    default: return ev_is_expanded(i);
    }
}

bool ev_is_resolved(const HloInstruction *i)
{
    switch (i->opcode) {
    case HLO_PARAMETER: case HLO_CONSTANT: case HLO_TUPLE: case HLO_GET_TUPLE_ELEMENT: case HLO_COPY_START:
    case HLO_AFTER_ALL:
        return true;
    default: return passes(i) || calls(i) || hlo_is_alone_done(i);
    }
}

/* Tuple indices that remain to be applied, the next one last. */
typedef struct {
    uint32_t items[2 * EV_PATH], n;
} Path;

/* The leaf of instruction i that the path leads to. */
static EvRef at_array(EvFrame *f, const HloInstruction *i, Path *p)
{
    const HloShape *s = i->shape;
    uint32_t leaf = 0;
    while (p->n && s->type == SC_TUPLE) {
        uint32_t k = p->items[--p->n];
        for (uint32_t j = 0; j < k; j++) leaf += s->elements[j]->n_leaves;
        s = s->elements[k];
    }
    return (EvRef){f, i, leaf};
}

EvRef ev_resolve(Ev *e, EvFrame *f, const HloInstruction *i, const uint32_t *path, uint32_t depth)
{
    Path p = {.n = 0};
    for (uint32_t k = depth; k > 0 && p.n < EV_PATH; k--) p.items[p.n++] = path[k - 1];
    for (;;) {
        if (i->opcode == HLO_GET_TUPLE_ELEMENT) {
            if (p.n == WBB_LEN(p.items)) wbb_fail(e->cx, i->loc, "tuples nest too deep");
            p.items[p.n++] = (uint32_t)i->number;
            i = i->operands[0];
        } else if (i->opcode == HLO_TUPLE && p.n) {
            i = i->operands[p.items[--p.n]];
        } else if (i->opcode == HLO_PARAMETER && f->caller) {
            i = f->call->operands[(f->call->opcode == HLO_CONDITIONAL ? f->branch + 1 : 0) + i->number];
            f = f->caller;
        } else if (calls(i)) {
            /* async-start returns ((operands), result, ..), where `result` is that of its computation */
            if (i->opcode == HLO_ASYNC_START && p.n && p.items[p.n - 1] == 0 && i->shape->type == SC_TUPLE)
                return at_array(f, i, &p);
            if (i->opcode == HLO_ASYNC_START && p.n && p.items[p.n - 1] == 1 && i->shape->type == SC_TUPLE) p.n--;
            f = ev_callee(e, f, i, 0);
            i = f->c->root;
        } else if ((i->opcode == HLO_ASYNC_DONE && i->operands[0]->shape->type == SC_TUPLE) ||
                   (hlo_is_alone_done(i) && i->opcode != HLO_ALL_REDUCE_DONE)) {
            if (p.n == WBB_LEN(p.items)) wbb_fail(e->cx, i->loc, "tuples nest too deep");
            p.items[p.n++] = 1;
            i = i->operands[0];
        } else if (i->opcode == HLO_COPY_START && p.n) {
            p.n--;
            i = i->operands[0];
        } else if (i->opcode == HLO_COPY_DONE && i->operands[0]->opcode == HLO_COPY_START) {
            i = i->operands[0]->operands[0];
        } else if (passes(i)) {
            i = i->operands[0];
        } else {
            return at_array(f, i, &p);
        }
    }
}

EvRef ev_resolve_leaf(Ev *e, EvFrame *f, const HloInstruction *i, uint32_t leaf)
{
    uint32_t path[EV_PATH], depth = 0;
    for (const HloShape *s = i->shape; s->type == SC_TUPLE && depth < EV_PATH; ) {
        uint32_t k = 0;
        while (leaf >= s->elements[k]->n_leaves) leaf -= s->elements[k++]->n_leaves;
        path[depth++] = k;
        s = s->elements[k];
    }
    return ev_resolve(e, f, i, path, depth);
}
