/* kernel.c: the kernel of a plan: which thread has which elements of which section, and the stores.
 *
 * Needs a plan; leaves a kernel whose elements are raw nodes and whose index nodes are in normal form. Sections are told apart by the
 * number of the block, which is the same in all its threads. Bounds checks are there only where the threads are more than the elements
 * need; inside them `let` states what they prove.
 *
 *     [7,33,129] f32, unroll 4:
 *         if lt.index(128*bid + tid, 7449) {
 *           let t = 128*bid + tid in 0..7449
 *           for v in 0..4 lanes 4 { store %out[4*t + v], .. }
 *         } else { if lt.index(128*bid + tid, 7452) { let r = 128*bid + tid + 22347 in 29796..29799  store %out[r], .. } }
 */
#include "emit/inner.h"

typedef struct {
    EmitValues *e;
    RwCx *rw;
    IrGraph *g;
    WbbArena *arena;
    const PartPlan *plan;
    const PartSection *s;
    IrRef bid, tid;
    IrRef thread; /* number of the thread in the section */
    IrRef starts[HLO_RANK_LIMIT]; /* of an update, in every dimension; 0: not known yet */
} Kernel;

static void store(Kernel *l, uint32_t output, const HloShape *shape, const IrRef *at, IrRef value)
{
    const IrRef index = ix_linear(l->rw, shape, at);
    IrStmt *s = ir_stmt(l->g, emit_block(l->e), IR_STORE);
    s->buffer = l->plan->n_operands + output, s->index = index, s->value = value;
}

/* All values are there before the first is stored: an output in place may be what another reads. */
static void store_loop(Kernel *l, IrRef element)
{
    const PartSection *s = l->s;
    IrRef *values = WBB_NEW_N(l->arena, IrRef, s->n_outputs);
    for (uint32_t k = 0; k < s->n_outputs; k++) {
        const PartValue root = l->plan->roots[s->outputs[k]];
        const HloShape *shape = part_shape(root.i, root.part);
        IrRef *index = WBB_NEW_N(l->arena, IrRef, shape->rank + 1u);
        ix_delinear(l->rw, shape, element, index);
        values[k] = emit_value(l->e, root, index);
    }
    for (uint32_t k = 0; k < s->n_outputs; k++) {
        IrStmt *stmt = ir_stmt(l->g, emit_block(l->e), IR_STORE);
        stmt->buffer = l->plan->n_operands + s->outputs[k], stmt->index = element, stmt->value = values[k];
    }
}

/* The same place of each part. */
static void store_slab(Kernel *l, IrRef element)
{
    const PartSection *s = l->s;
    const PartValue root = l->plan->roots[s->outputs[0]];
    const uint32_t rank = s->space->rank;
    IrRef *values = WBB_NEW_N(l->arena, IrRef, s->n_starts), *at = WBB_NEW_N(l->arena, IrRef, s->n_starts * (rank + 1u));
    for (uint32_t k = 0; k < s->n_starts; k++) {
        IrRef *index = at + k * (rank + 1u);
        ix_delinear(l->rw, s->space, element, index);
        index[s->dim] = rw_add(l->rw, index[s->dim], ir_index(l->g, s->starts[k]));
        values[k] = emit_value(l->e, root, index);
    }
    for (uint32_t k = 0; k < s->n_starts; k++) store(l, s->outputs[0], part_shape(root.i, root.part), at + k * (rank + 1u), values[k]);
}

/* The value in the type of the output, which a bitcast may have changed. */
static IrRef in_type(Kernel *l, IrRef value, ScType t)
{
    return IR_SC(ir_at(l->g, value)->type) == t ? value : ir_node(l->g, OP_BITS, IR_TYPE(t, 0), 0, value, 0, 0, 0);
}

/* Where an update begins: values, clamped. They are the same for all elements. */
static void find_starts(Kernel *l)
{
    const HloInstruction *u = l->s->update;
    const IxNeeds needs = ix_needs(l->arena, u);
    for (uint32_t d = 0; d < u->shape->rank; d++) l->starts[d] = ir_index(l->g, 0);
    for (uint32_t k = 0; k < needs.n_starts; k++) {
        IrRef at[HLO_RANK_LIMIT];
        const PartValue v = {u->operands[needs.starts[k].operand], 0};
        ix_start(l->rw, l->arena, u, k, l->starts, NULL, at);
        l->starts[needs.starts[k].dimension] = emit_start(l->e, emit_value(l->e, v, at), needs.starts[k].lo, needs.starts[k].hi);
    }
}

static void store_update(Kernel *l, IrRef element)
{
    const HloInstruction *u = l->s->update;
    IrRef *index = WBB_NEW_N(l->arena, IrRef, u->shape->rank + 1u), *at = WBB_NEW_N(l->arena, IrRef, u->shape->rank + 1u);
    ix_delinear(l->rw, l->s->space, element, index);
    const IrRef value = emit_value(l->e, (PartValue){u->operands[1], 0}, index);
    for (uint32_t d = 0; d < u->shape->rank; d++) at[d] = rw_add(l->rw, index[d], l->starts[d]);
    const uint32_t output = l->s->outputs[0];
    store(l, output, u->shape, at, in_type(l, emit_as(l->e, value, u->shape->type), l->plan->buffers[l->plan->n_operands + output].shape->type));
}

static void store_all(Kernel *l, IrRef element)
{
    if (l->s->kind == PART_LOOP) store_loop(l, element);
    else if (l->s->kind == PART_SLAB) store_slab(l, element);
    else store_update(l, element);
}

/* The number of the thread as one variable: what is a multiple of the elements of a thread is then seen at once. Where a block has a row,
 * rows and what is along them are the block's and the thread's own numbers. */
static IrRef number_of_thread(Kernel *l, int64_t n)
{
    if (l->s->exact && part_row_threads(l->s) == l->plan->block) return l->thread;
    if (n == 1 || ir_at(l->g, l->thread)->op == OP_VAR) return emit_let(l->e, "t", l->thread, 0, n - 1);
    const IrRef t = ir_let(l->g, emit_block(l->e), emit_name(l->e, "t"), l->thread, 0, n - 1);
    emit_bound(l->e, t);
    return t;
}

/* Elements first .. first + n - 1, in lanes. */
static void store_lanes(Kernel *l, uint32_t n, IrRef first)
{
    IrStmt *s = ir_stmt(l->g, emit_block(l->e), IR_FOR);
    s->lanes = n;
    s->var = ir_var_new(l->g, emit_name(l->e, "v"), IR_LOOP, 0, (int64_t)n - 1, 0);
    const uint32_t outer = emit_enter(l->e, &s->body);
    const IrRef v = ir_var(l->g, s->var);
    emit_bound(l->e, v);
    store_all(l, rw_add(l->rw, first, v));
    emit_switch(l->e, outer);
}

static void main_part(Kernel *l)
{
    const PartSection *p = l->s;
    const IrRef t = number_of_thread(l, p->vectors - (p->rounds - 1) * (int64_t)l->plan->block);
    if (p->kind == PART_UPDATE) find_starts(l);
    for (uint32_t r = 0; r < p->rounds; r++) {
        const IrRef run = rw_add(l->rw, t, ir_index(l->g, (int64_t)r * l->plan->block));
        if (p->unroll == 1) store_all(l, run);
        else store_lanes(l, p->unroll, rw_scale(l->rw, run, p->unroll));
    }
}

static void tail_part(Kernel *l)
{
    const PartSection *p = l->s;
    const IrRef first = ir_index(l->g, ((int64_t)p->unroll - 1) * p->vectors);
    const IrRef r = emit_let(l->e, "r", rw_add(l->rw, l->thread, first), p->unroll * p->vectors, p->elements - 1);
    if (p->kind == PART_UPDATE) find_starts(l);
    store_all(l, r);
}

/* Lanes [at, at + n) of a byte, of which `left` are there; the others are 0. */
static IrRef packed(Kernel *l, const IrRef *values, ScType t, uint32_t at, uint32_t n, uint32_t left)
{
    if (n == 1) return at < left ? values[at] : ir_const(l->g, IR_TYPE(t, 0), 0);
    const IrRef low = packed(l, values, t, at, n / 2, left), high = packed(l, values, t, at + n / 2, n / 2, left);
    return ir_node(l->g, OP_PACK, IR_TYPE(t, n == 2 ? 1 : 2), 0, low, high, 0, 0);
}

/* The last elements, fewer than fill the bytes that they are in. All values are there before the first is stored. */
static void store_left(Kernel *l, int64_t first, uint32_t left)
{
    const PartSection *s = l->s;
    IrRef *values = WBB_NEW_N(l->arena, IrRef, s->n_outputs * left);
    for (uint32_t k = 0; k < s->n_outputs; k++)
        for (uint32_t j = 0; j < left; j++) {
            const PartValue root = l->plan->roots[s->outputs[k]];
            const HloShape *shape = part_shape(root.i, root.part);
            IrRef *index = WBB_NEW_N(l->arena, IrRef, shape->rank + 1u);
            ix_delinear(l->rw, shape, ir_index(l->g, first + j), index);
            values[k * left + j] = emit_value(l->e, root, index);
        }
    for (uint32_t k = 0; k < s->n_outputs; k++) {
        const uint32_t buffer = l->plan->n_operands + s->outputs[k];
        const ScType t = l->plan->buffers[buffer].shape->type;
        const uint32_t each = part_is_packed(t) ? 8u / sc_type_info[t].bits : 1;
        for (uint32_t j = 0; j < left; j += each) {
            IrStmt *stmt = ir_stmt(l->g, emit_block(l->e), IR_STORE);
            stmt->buffer = buffer, stmt->index = ir_index(l->g, first + j);
            stmt->value = packed(l, values + k * left, t, j, each, left);
        }
    }
}

/* Open the block that threads below `bound` reach; NULL where all are. */
static IrStmt *only_below(Kernel *l, IrRef x, int64_t bound)
{
    const IrRef below = rw_compare(l->rw, OP_LT, x, ir_index(l->g, bound));
    if (ir_is_const(l->g, below)) return NULL;
    IrStmt *s = ir_stmt(l->g, emit_block(l->e), IR_IF);
    s->condition = below;
    emit_enter(l->e, &s->body);
    return s;
}

/* The tail where several elements are a byte: a thread for each group of them, the last of which may be short. */
static void tail_groups(Kernel *l)
{
    const PartSection *p = l->s;
    const int64_t begin = p->unroll * p->vectors, full = (p->elements - begin) / p->group, left = (p->elements - begin) % p->group;
    const uint32_t here = l->e->scope;
    IrStmt *s = full && left ? only_below(l, l->thread, p->vectors + full) : NULL;
    if (full) {
        const IrRef r = emit_let(l->e, "r", rw_sub(l->rw, l->thread, ir_index(l->g, p->vectors)), 0, full - 1);
        store_lanes(l, p->group, rw_add(l->rw, rw_scale(l->rw, r, p->group), ir_index(l->g, begin)));
    }
    emit_switch(l->e, here);
    if (!left) return;
    if (s) emit_enter(l->e, &s->otherwise);
    store_left(l, begin + full * p->group, (uint32_t)left);
}

static void section(Kernel *l, uint32_t number)
{
    const PartSection *p = l->s = &l->plan->sections[number];
    const uint32_t outer = l->e->scope;
    const IrRef block = emit_let(l->e, "b", rw_sub(l->rw, l->bid, ir_index(l->g, p->first_block)), 0, (int64_t)p->blocks - 1);
    const uint32_t inside = l->e->scope;
    l->thread = rw_add(l->rw, rw_scale(l->rw, block, (int64_t)l->plan->block * p->rounds), l->tid);
    IrStmt *s = p->exact ? NULL : only_below(l, l->thread, p->vectors);
    if (p->vectors) main_part(l);
    emit_switch(l->e, inside);
    if (p->tail) {
        assert(s || !p->vectors);
        if (s) emit_enter(l->e, &s->otherwise);
        only_below(l, l->thread, p->vectors + p->tail);
        if (p->group > 1) tail_groups(l);
        else tail_part(l);
    }
    emit_switch(l->e, outer);
}

/* Sections lo .. hi-1, by bisection over the blocks. C calls nest as deep as the logarithm of their number. */
static void sections(Kernel *l, uint32_t lo, uint32_t hi)
{
    if (hi - lo == 1) {
        section(l, lo);
        return;
    }
    const uint32_t middle = lo + (hi - lo) / 2, outer = l->e->scope;
    IrStmt *s = only_below(l, l->bid, l->plan->sections[middle].first_block);
    assert(s);
    sections(l, lo, middle);
    emit_switch(l->e, outer);
    emit_enter(l->e, &s->otherwise);
    sections(l, middle, hi);
    emit_switch(l->e, outer);
}

static IrKernel *new_kernel(WbbArena *a, IrGraph *g, const PartPlan *p)
{
    IrKernel *k = WBB_NEW(a, IrKernel);
    k->name = emit_identifier(a, p->fusion->name);
    k->g = g;
    k->n_buffers = p->n_operands + p->n_outputs;
    k->buffers = WBB_NEW_N(a, IrBuffer, k->n_buffers);
    for (uint32_t i = 0; i < k->n_buffers; i++) {
        const PartBuffer *b = &p->buffers[i];
        const int64_t each = part_is_packed(b->shape->type) ? 8 / sc_type_info[b->shape->type].bits : 1; /* whole bytes are there */
        k->buffers[i] = (IrBuffer){.name = b->name, .type = b->shape->type, .elements = (b->elements + each - 1) / each * each, .output = b->output, .align = p->align,
                                   .alias = (uint32_t)(b->alias + 1)};
    }
    k->block = p->block, k->grid = p->grid;
    return k;
}

IrKernel *emit_kernel(WbbCx *cx, WbbArena *a, RwCx *rw, const PartPlan *plan)
{
    IrGraph *g = rw_graph(rw);
    IrKernel *k = new_kernel(a, g, plan);
    if (plan->grid == 0) return k;
    Kernel *l = WBB_NEW(a, Kernel);
    *l = (Kernel){.e = emit_values(cx, a, rw, k, plan), .rw = rw, .g = g, .arena = a, .plan = plan};
    l->bid = ir_var(g, ir_var_new(g, "bid", IR_BID, 0, (int64_t)plan->grid - 1, 0));
    l->tid = ir_var(g, ir_var_new(g, "tid", IR_TID, 0, (int64_t)plan->block - 1, 0));
    if (plan->grid == 1) l->bid = ir_index(g, 0);
    sections(l, 0, plan->n_sections);
    return k;
}
