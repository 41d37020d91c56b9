/* eval: the entry to the evaluator.
 *
 * Needs: a verified computation and the values of its parameters. Leaves: the values of the leaves of its root.
 *
 * An evaluation of all elements computes each leaf a block of elements at a time, so that memory stays bounded and
 * lanes stay in the cache. Costly operations, which read many elements for one (reductions, products, sorts, loops,
 * ..), are computed before that, once, and kept, since a block may ask for any of their elements. An evaluation of a
 * few elements computes what these need of costly operations, and no more.
 *
 *     EvResult *r = ev_run(cx, arena, body, inputs, EV_F64);       // outputs[0].data: doubles
 */
#include "eval/inner.h"

#include <string.h>

typedef struct {
    EvRef *items;
    uint32_t n, capacity;
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

/* The most elements, of n or fewer, that a block may have: fewer for a long computation, since a block holds lanes for
 * each instruction. */
static int64_t block_of(const Ev *e, int64_t n)
{
    int64_t instructions = 1;
    for (const EvFrame *f = e->frames; f; f = f->next) instructions += f->c->n_instructions;
    while (n > 256 && n * instructions > INT64_C(1) << 21) n /= 2;
    return n;
}

static int64_t block_size(const Ev *e) { return block_of(e, EV_BLOCK); }

/* Operations that are computed in one block: those that read all of their operands whatever is wanted, and those that
 * are faster for all elements at once. */
static bool at_once(const Ev *e, const HloInstruction *i)
{
    switch (i->opcode) {
    case HLO_SCATTER:
    case HLO_SORT:
    case HLO_SELECT_AND_SCATTER:
    case HLO_WHILE:
    case HLO_SCAN: return true;
    case HLO_DOT:
    case HLO_CONVOLUTION: return ev_matrix_fits(e, i);
    case HLO_REDUCE_WINDOW: return ev_window_at_once(e, i);
    default: return false;
    }
}

/* Elements of an array, or of several leaves of an instruction, that are computed block by block. */
typedef struct {
    EvRef ref;
    uint32_t leaves;          /* ref.leaf, ref.leaf + 1, .. */
    const int64_t *positions; /* NULL: all, in order */
    int64_t n, size;
    char *const *to;          /* [leaves] */
} Blocks;

static void copy_block(Ev *part, void *arg, int64_t k)
{
    const Blocks *b = arg;
    const int64_t at = k * b->size, n = WBB_MIN(b->size, b->n - at);
    EvRef r = ev_part_ref(part, b->ref);
    ev_begin(part);
    const EvSet *set = b->positions ? ev_list_set(part, b->positions + at, n) : ev_range_set(part, at, n);
    for (uint32_t l = 0; l < b->leaves; l++, r.leaf++) {
        const size_t bytes = ev_lane_bytes(part->mode, ev_ref_shape(r)->type);
        memcpy(b->to[l] + (size_t)at * bytes, ev_demand(part, r, set), (size_t)n * bytes);
    }
    ev_end(part);
}

/* The first block is computed by `e` itself, so that what all blocks need is known to all of them. */
static void copy_blocks(Ev *e, Blocks *b)
{
    const int64_t count = (b->n + b->size - 1) / b->size;
    if (count > 0) copy_block(e, b, 0);
    ev_spread(e, b->ref.i->name, 1, count, copy_block, b);
}

static void copy_leaves(Ev *e, EvRef first, uint32_t leaves, char *const *to)
{
    const int64_t n = hlo_elements(ev_ref_shape(first)), size = at_once(e, first.i) ? WBB_MAX(n, 1) : block_size(e);
    copy_blocks(e, &(Blocks){.ref = first, .leaves = leaves, .n = n, .size = size, .to = to});
}

void ev_copy_all(Ev *e, EvRef r, void *to) { copy_leaves(e, r, 1, (char *[]){to}); }

/* Operations that compute all leaves of their result together; these have the same dimensions. */
static bool has_leaves(HloOpcode op)
{
    return op == HLO_REDUCE || op == HLO_REDUCE_WINDOW || op == HLO_SCATTER || op == HLO_SORT;
}

void *ev_all(Ev *e, EvRef r)
{
    const HloShape *s = ev_ref_shape(r);
    int64_t n = hlo_elements(s);
    void *kept = ev_kept(r, r.leaf);
    if (kept) return kept;
    bool is_input = r.i->opcode == HLO_PARAMETER &&
                    (e->state || (!e->source && e->mode == EV_PLAIN && sc_type_info[s->type].bits >= 8));
    uint32_t number = is_input ? hlo_leaves_before(e->root->c, r.i->number) + r.leaf : 0;
    if (is_input) return e->state ? e->state[number] : (void *)e->inputs[number];
    ev_must_keep(e);
    const uint32_t leaves = has_leaves(r.i->opcode) ? r.i->shape->n_leaves : 1;
    EvRef first = {r.frame, r.i, leaves > 1 ? 0 : r.leaf};
    char **data = WBB_NEW_N(e->kept_arena, char *, leaves);
    for (uint32_t l = 0; l < leaves; l++) {
        const ScType t = ev_leaf_shape(r.i->shape, first.leaf + l)->type;
        data[l] = wbb_alloc(e->kept_arena, wbb_mul_size(e->kept_arena, (size_t)n, ev_lane_bytes(e->mode, t)));
    }
    Ev *part = ev_part(e);
    part->filling = r.i;
    copy_leaves(part, ev_part_ref(part, first), leaves, data);
    ev_part_end(e);
    for (uint32_t l = 0; l < leaves; l++) ev_keep(e, first, first.leaf + l, data[l]);
    return data[r.leaf - first.leaf];
}

static bool is_costly(HloOpcode op)
{
    switch (op) {
    case HLO_REDUCE:
    case HLO_REDUCE_WINDOW:
    case HLO_SELECT_AND_SCATTER:
    case HLO_SCATTER:
    case HLO_DOT:
    case HLO_CONVOLUTION:
    case HLO_SORT: case HLO_WHILE: case HLO_CONDITIONAL: case HLO_SCAN:
        return true;
    default: return false;
    }
}

/* Costly operations of the module. A chain of more than EV_DEPTH of them would nest too deep for evaluation on demand.
 */
static uint32_t count_costly(const HloModule *m)
{
    uint32_t n = 0;
    for (uint32_t c = 0; c < m->n_computations; c++)
        for (uint32_t k = 0; k < m->computations[c]->n_instructions; k++)
            n += is_costly(m->computations[c]->instructions[k]->opcode);
    return n;
}

/* By instruction: is it an array that several live users read elsewhere than at their own elements? */
static bool *find_shared(Ev *e, const HloComputation *c, const bool *live)
{
    bool *moved = WBB_NEW_N(e->arena, bool, c->n_instructions), *shared = WBB_NEW_N(e->arena, bool, c->n_instructions);
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        const HloInstruction *i = c->instructions[k];
        if (!live[k] || hlo_is_elementwise(i->opcode) || i->shape->depth) continue;
        for (uint32_t o = 0; o < i->n_operands; o++) {
            const HloInstruction *x = i->operands[o];
            shared[x->id] = moved[x->id] && x->n_operands && !x->shape->depth;
            moved[x->id] = true;
        }
    }
    return shared;
}

/* Costly operations that are computed whole and kept: those of one block whatever is wanted, or all. */
typedef enum { NO_COSTLY, COSTLY_AT_ONCE, ALL_COSTLY } Costly;

/* Computes and keeps what a value of the frame needs: values that several moves read, as an associative scan has on
 * each of its levels, of `most` elements at most: on demand each is computed anew for each way of moves that leads to
 * it, of which there are twice as many from level to level. And costly operations. */
static void keep(Ev *e, EvFrame *f, const HloInstruction *of, int64_t most, Costly costly)
{
    bool *live = WBB_NEW_N(e->arena, bool, f->c->n_instructions);
    live[of->id] = true;
    hlo_mark_operands(f->c, live);
    const bool *shared = find_shared(e, f->c, live);
    for (uint32_t k = 0; k < f->c->n_instructions; k++) {
        const HloInstruction *i = f->c->instructions[k];
        if (!live[k]) continue;
        if (i->opcode == HLO_FUSION || i->opcode == HLO_CALL || ev_is_expanded(i)) {
            EvFrame *callee = ev_callee(e, f, i, 0);
            keep(e, callee, callee->c->root, most, costly);
        } else if (is_costly(i->opcode)) {
            const bool kept = costly == ALL_COSTLY || (costly == COSTLY_AT_ONCE && at_once(e, i));
            for (uint32_t leaf = 0; kept && leaf < i->shape->n_leaves; leaf++) ev_all(e, (EvRef){f, i, leaf});
        } else if (shared[k] && ev_resolve_leaf(e, f, i, 0).i == i && hlo_elements(i->shape) <= most)
            ev_all(e, (EvRef){f, i, 0});
    }
}

void ev_keep_costly(Ev *e, EvFrame *f) { keep(e, f, f->c->root, EV_MANY, ALL_COSTLY); }

/* The dims are copied: a leaf may belong to an expansion, which ends with the evaluation. */
static EvValue new_value(Ev *e, WbbArena *arena, EvRef r, const int64_t *dims, uint8_t rank, int64_t n)
{
    ScType t = ev_ref_shape(r)->type;
    int64_t *copy = WBB_NEW_N(arena, int64_t, rank + 1);
    for (uint8_t d = 0; d < rank; d++) copy[d] = dims[d];
    if (sc_type_info[t].cls == '-') wbb_decline(e->cx, r.i->loc, WHY_TYPE, "a result of type %s", sc_type_info[t].name);
    return (EvValue){.type = ev_lane_type(e->mode, t), .rank = rank, .dims = copy,
                     .data = wbb_alloc(arena, (size_t)n * ev_lane_bytes(e->mode, t))};
}

/* One call of ev_run or ev_run_at. */
typedef struct {
    Ev *e;
    WbbArena *arena;
    const EvPositions *at; /* NULL: everything */
    EvResult *result;
    const HloInstruction *call,
        *inside; /* of ev_value_at: the one value that is wanted; NULL: the leaves of the root */
    uint32_t leaf;
} Request;

/* Computes the wanted elements of leaf r, block by block. */
static void run_some(Ev *e, EvRef r, const EvPositions *at, int64_t block, char *data)
{
    Blocks b = {.ref = r, .leaves = 1, .positions = at->positions, .n = at->n, .size = block, .to = &data};
    copy_blocks(e, &b);
}

/* If so few of the elements are wanted that a costly operation is better computed for what they need than for all of
 * its result, although each block computes it anew: the elements of a block. Else 0. */
static int64_t block_of_few(const Ev *e, const Refs *leaves, const EvPositions *at, int64_t wanted)
{
    enum { SHARE = 16 };
    int64_t most = 1, all = 0;
    for (uint32_t k = 0; k < leaves->n; k++) {
        all += hlo_elements(ev_ref_shape(leaves->items[k]));
        most = WBB_MAX(most, at[k].n);
    }
    const int64_t block = block_of(e, most), blocks = (most + block - 1) / block;
    return wanted * blocks <= all / SHARE ? block : 0;
}

static void run_body(WbbCx *cx, void *arg)
{
    Request *q = arg;
    Ev *e = q->e;
    wbb_work_on(cx, e->root->c->root->loc);
    Refs leaves = {0};
    uint32_t path[EV_PATH];
    if (q->inside) {
        const EvRef r = ev_resolve_leaf(e, q->call ? ev_callee(e, e->root, q->call, 0) : e->root, q->inside, q->leaf);
        WBB_PUSH(q->arena, &leaves, r);
    } else {
        find_leaves(e, q->arena, e->root->c->root->shape, path, 0, &leaves);
    }
    q->result = WBB_NEW(q->arena, EvResult);
    q->result->n = leaves.n;
    q->result->outputs = WBB_NEW_N(q->arena, EvValue, leaves.n);
    int64_t wanted = 0;
    for (uint32_t k = 0; k < leaves.n; k++) wanted += q->at ? q->at[k].n : hlo_elements(ev_ref_shape(leaves.items[k]));
    const bool many = !q->at || wanted >= EV_MANY;
    const int64_t few = many && q->at ? block_of_few(e, &leaves, q->at, wanted) : 0;
    const bool whole = (many && !few) || count_costly(e->root->c->module) >= EV_DEPTH;
    /* a source may have no more than what the wanted elements need */
    const int64_t most = e->source ? 0 : many ? 4 * wanted : EV_MANY / 4;
    const HloInstruction *of = q->call ? q->call : q->inside ? q->inside : e->root->c->root;
    keep(e, e->root, of, most, whole ? ALL_COSTLY : few ? COSTLY_AT_ONCE : NO_COSTLY);
    for (uint32_t k = 0; k < leaves.n; k++) {
        EvRef r = leaves.items[k];
        const HloShape *s = ev_ref_shape(r);
        EvValue *v = &q->result->outputs[k];
        if (q->at) {
            *v = new_value(e, q->arena, r, &q->at[k].n, 1, q->at[k].n);
            run_some(e, r, &q->at[k], few ? few : block_size(e), v->data);
        } else {
            *v = new_value(e, q->arena, r, s->dims, s->rank, hlo_elements(s));
            ev_copy_all(e, r, v->data);
        }
    }
}

static EvResult *finish(WbbCx *cx, Request *q)
{
    const WbbStatus status = wbb_guard(cx, run_body, q);
    ev_free(q->e);
    if (status != WBB_OK) wbb_rethrow(cx, status);
    return q->result;
}

static EvResult *run(WbbCx *cx, WbbArena *arena, const HloComputation *c, const void *const *inputs, EvMode mode,
                     const EvPositions *at, ScAccuracy accuracy, uint64_t *noise, const EvSource *source)
{
    Request q = {.e = ev_new(cx, c, inputs, mode), .arena = arena, .at = at};
    q.e->source = source;
    if (accuracy) q.e->accuracy = accuracy;
    q.e->noise = noise;
    return finish(cx, &q);
}

EvResult *ev_run_in_order(WbbCx *cx, WbbArena *arena, const HloComputation *c, const void *const *inputs,
                          const EvSource *source, EvMode mode, const EvPositions *at, const EvOrder *order)
{
    Request q = {.e = ev_new(cx, c, inputs, mode), .arena = arena, .at = at};
    q.e->source = source;
    q.e->order = order;
    return finish(cx, &q);
}

EvValue ev_value_at(WbbCx *cx, WbbArena *arena, const HloComputation *c, const HloInstruction *call,
                    const HloInstruction *i, uint32_t leaf, const EvSource *source, EvMode mode, EvPositions at)
{
    Request q = {.e = ev_new(cx, c, NULL, mode), .arena = arena, .at = &at, .call = call, .inside = i, .leaf = leaf};
    q.e->source = source;
    return finish(cx, &q)->outputs[0];
}

EvResult *ev_run_at(WbbCx *cx, WbbArena *arena, const HloComputation *c, const void *const *inputs, EvMode mode,
                    const EvPositions *at)
{
    return run(cx, arena, c, inputs, mode, at, false, NULL, NULL);
}

EvResult *ev_run_from(WbbCx *cx, WbbArena *arena, const HloComputation *c, const EvSource *source, EvMode mode,
                      const EvPositions *at)
{
    return run(cx, arena, c, NULL, mode, at, false, NULL, source);
}

EvResult *ev_run_perturbed(WbbCx *cx, WbbArena *arena, const HloComputation *c, const void *const *inputs,
                           const EvSource *source, ScAccuracy accuracy, const EvPositions *at, uint64_t seed)
{
    return run(cx, arena, c, inputs, EV_PLAIN, at, accuracy, &seed, source);
}

EvResult *ev_run(WbbCx *cx, WbbArena *arena, const HloComputation *c, const void *const *inputs, EvMode mode)
{
    return ev_run_at(cx, arena, c, inputs, mode, NULL);
}
