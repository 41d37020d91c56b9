/* kernel.c: the kernel of a plan: which thread has which elements of which range, and the stores.
 *
 * Needs a plan; leaves a kernel whose elements are raw nodes and whose index nodes are in normal form. A block finds
 * its range by its number, which is the same in all its threads. There are bounds checks only where a range has more
 * threads than it needs; inside them `let` states what they prove.
 *
 *     [7,33,129] f32, unroll 4:
 *         if lt.index(128*bid + tid, 7449) {
 *           let t = 128*bid + tid in 0..7449
 *           for v in 0..4 lanes 4 { store %out[4*t + v], .. }
 *         } else {
 *           if lt.index(128*bid + tid, 7452) { let r = 128*bid + tid + 22347 in 29796..29799  store %out[r], .. }
 *         }
 */
#include "emit/inner.h"

typedef struct {
    EmitValues *e;
    RwCx *rw;
    IrGraph *g;
    WbbArena *arena;
    const PartPlan *plan;
    const PartRange *r;  /* the range that is being made */
    IrRef bid, tid;
    IrRef thread; /* its number in the range */
    IrRef starts[HLO_RANK_LIMIT]; /* of an update, in every dimension; 0: not known yet */
} Emitter;

static void store(Emitter *m, uint32_t output, const HloShape *shape, const IrRef *at, IrRef value)
{
    const IrRef index = ix_linear(m->rw, shape, at);
    IrStmt *s = ir_stmt(m->g, emit_block(m->e), IR_STORE);
    s->buffer = m->plan->n_operands + output, s->index = index, s->value = value;
}

/* Compute every value before the first store: an in-place output may alias another value's operand. */
static void store_loop(Emitter *m, IrRef element)
{
    const PartRange *r = m->r;
    IrRef *values = WBB_NEW_N(m->arena, IrRef, r->n_outputs);
    for (uint32_t k = 0; k < r->n_outputs; k++) {
        const PartValue root = m->plan->roots[r->outputs[k]];
        const HloShape *shape = part_shape(root.i, root.part);
        IrRef *index = WBB_NEW_N(m->arena, IrRef, shape->rank + 1u);
        ix_delinear(m->rw, shape, element, index);
        values[k] = emit_value(m->e, root, index);
    }
    for (uint32_t k = 0; k < r->n_outputs; k++) {
        IrStmt *stmt = ir_stmt(m->g, emit_block(m->e), IR_STORE);
        stmt->buffer = m->plan->n_operands + r->outputs[k], stmt->index = element, stmt->value = values[k];
    }
}

/* The same element of each operand. */
static void store_concatenate(Emitter *m, IrRef element)
{
    const PartRange *r = m->r;
    const PartValue root = m->plan->roots[r->outputs[0]];
    const uint32_t rank = r->space->rank;
    IrRef *values = WBB_NEW_N(m->arena, IrRef, r->n_starts);
    IrRef *at = WBB_NEW_N(m->arena, IrRef, r->n_starts * (rank + 1u));
    for (uint32_t k = 0; k < r->n_starts; k++) {
        IrRef *index = at + k * (rank + 1u);
        ix_delinear(m->rw, r->space, element, index);
        index[r->dim] = rw_add(m->rw, index[r->dim], ir_index(m->g, r->starts[k]));
        values[k] = emit_value(m->e, root, index);
    }
    for (uint32_t k = 0; k < r->n_starts; k++)
        store(m, r->outputs[0], part_shape(root.i, root.part), at + k * (rank + 1u), values[k]);
}

/* Bitcast the value to the output's element type. */
static IrRef in_type(Emitter *m, IrRef value, ScType t)
{
    return IR_SC(ir_at(m->g, value)->type) == t ? value : ir_node(m->g, OP_BITS, IR_TYPE(t, 0), 0, value, 0, 0, 0);
}

/* The indices at which an update begins: run-time values, clamped, the same for all elements. */
static void find_starts(Emitter *m)
{
    const HloInstruction *u = m->r->update;
    const IxNeeds needs = ix_needs(m->arena, u);
    for (uint32_t d = 0; d < u->shape->rank; d++) m->starts[d] = ir_index(m->g, 0);
    for (uint32_t k = 0; k < needs.n_starts; k++) {
        IrRef at[HLO_RANK_LIMIT];
        const PartValue v = {u->operands[needs.starts[k].operand], 0};
        ix_start(m->rw, m->arena, u, k, m->starts, NULL, at);
        m->starts[needs.starts[k].dimension] =
            emit_start(m->e, emit_value(m->e, v, at), needs.starts[k].lo, needs.starts[k].hi);
    }
}

static void store_update(Emitter *m, IrRef element)
{
    const HloInstruction *u = m->r->update;
    IrRef *index = WBB_NEW_N(m->arena, IrRef, u->shape->rank + 1u);
    IrRef *at = WBB_NEW_N(m->arena, IrRef, u->shape->rank + 1u);
    ix_delinear(m->rw, m->r->space, element, index);
    const IrRef value = emit_value(m->e, (PartValue){u->operands[1], 0}, index);
    for (uint32_t d = 0; d < u->shape->rank; d++) at[d] = rw_add(m->rw, index[d], m->starts[d]);
    const uint32_t output = m->r->outputs[0];
    store(m, output, u->shape, at,
          in_type(m, emit_as(m->e, value, u->shape->type), m->plan->buffers[m->plan->n_operands + output].shape->type));
}

static void store_all(Emitter *m, IrRef element)
{
    if (m->r->kind == PART_ELEMENTS) store_loop(m, element);
    else if (m->r->kind == PART_CONCATENATE) store_concatenate(m, element);
    else store_update(m, element);
}

/* The number of the thread as one variable, so that index rules see at once what is a multiple of the elements of a
 * thread. Where a block has one row the sum stands as it is: the row is the block's number, the column the thread's. */
static IrRef number_of_thread(Emitter *m, int64_t n)
{
    if (m->r->exact && part_row_threads(m->r) == m->plan->block) return m->thread;
    if (n == 1 || ir_at(m->g, m->thread)->op == OP_VAR) return emit_let(m->e, "t", m->thread, 0, n - 1);
    const IrRef t = ir_let(m->g, emit_block(m->e), emit_name(m->e, "t"), m->thread, 0, n - 1);
    emit_bound(m->e, t);
    return t;
}

/* Elements first .. first + n - 1, as a loop over lanes. */
static void store_lanes(Emitter *m, uint32_t n, IrRef first)
{
    IrStmt *s = ir_stmt(m->g, emit_block(m->e), IR_FOR);
    s->lanes = n;
    s->var = ir_var_new(m->g, emit_name(m->e, "v"), IR_LOOP, 0, (int64_t)n - 1, 0);
    const uint32_t outer = emit_enter(m->e, &s->body);
    const IrRef v = ir_var(m->g, s->var);
    emit_bound(m->e, v);
    store_all(m, rw_add(m->rw, first, v));
    emit_switch(m->e, outer);
}

static void store_vectors(Emitter *m)
{
    const PartRange *r = m->r;
    const IrRef t = number_of_thread(m, r->vectors - (r->coarsening - 1) * (int64_t)m->plan->block);
    if (r->kind == PART_UPDATE) find_starts(m);
    for (uint32_t c = 0; c < r->coarsening; c++) {
        const IrRef vector = rw_add(m->rw, t, ir_index(m->g, (int64_t)c * m->plan->block));
        if (r->unroll == 1) store_all(m, vector);
        else store_lanes(m, r->unroll, rw_scale(m->rw, vector, r->unroll));
    }
}

/* The tail where each element has bytes of its own: a thread for each. */
static void store_tail(Emitter *m)
{
    const PartRange *r = m->r;
    const IrRef first = ir_index(m->g, ((int64_t)r->unroll - 1) * r->vectors);
    const IrRef element = emit_let(m->e, "r", rw_add(m->rw, m->thread, first), r->unroll * r->vectors, r->elements - 1);
    if (r->kind == PART_UPDATE) find_starts(m);
    store_all(m, element);
}

/* Lanes at .. at + n - 1 of a byte, of which the first n_values have values; the others are 0. */
static IrRef packed(Emitter *m, const IrRef *values, ScType t, uint32_t at, uint32_t n, uint32_t n_values)
{
    if (n == 1) return at < n_values ? values[at] : ir_const(m->g, IR_TYPE(t, 0), 0);
    const IrRef low = packed(m, values, t, at, n / 2, n_values);
    const IrRef high = packed(m, values, t, at + n / 2, n / 2, n_values);
    return ir_node(m->g, OP_PACK, IR_TYPE(t, n == 2 ? 1 : 2), 0, low, high, 0, 0);
}

/* The last n elements, which do not fill their bytes. Computes every value before the first store. */
static void store_partial(Emitter *m, int64_t first, uint32_t n)
{
    const PartRange *r = m->r;
    IrRef *values = WBB_NEW_N(m->arena, IrRef, r->n_outputs * n);
    for (uint32_t k = 0; k < r->n_outputs; k++)
        for (uint32_t j = 0; j < n; j++) {
            const PartValue root = m->plan->roots[r->outputs[k]];
            const HloShape *shape = part_shape(root.i, root.part);
            IrRef *index = WBB_NEW_N(m->arena, IrRef, shape->rank + 1u);
            ix_delinear(m->rw, shape, ir_index(m->g, first + j), index);
            values[k * n + j] = emit_value(m->e, root, index);
        }
    for (uint32_t k = 0; k < r->n_outputs; k++) {
        const uint32_t buffer = m->plan->n_operands + r->outputs[k];
        const ScType t = m->plan->buffers[buffer].shape->type;
        const uint32_t each = part_is_packed(t) ? 8u / sc_type_info[t].bits : 1;
        for (uint32_t j = 0; j < n; j += each) {
            IrStmt *stmt = ir_stmt(m->g, emit_block(m->e), IR_STORE);
            stmt->buffer = buffer, stmt->index = ir_index(m->g, first + j);
            stmt->value = packed(m, values + k * n, t, j, each, n);
        }
    }
}

/* Opens an `if` for x < bound; NULL: that always holds. */
static IrStmt *only_below(Emitter *m, IrRef x, int64_t bound)
{
    const IrRef below = rw_compare(m->rw, OP_LT, x, ir_index(m->g, bound));
    if (ir_is_const(m->g, below)) return NULL;
    IrStmt *s = ir_stmt(m->g, emit_block(m->e), IR_IF);
    s->condition = below;
    emit_enter(m->e, &s->body);
    return s;
}

/* The tail where several elements share a byte: a thread for each packed group, the last of which may be short. */
static void store_packed_tail(Emitter *m)
{
    const PartRange *r = m->r;
    const int64_t begin = r->unroll * r->vectors, full = (r->elements - begin) / r->packed_group;
    const int64_t rest = (r->elements - begin) % r->packed_group;
    const uint32_t outer = m->e->scope;
    IrStmt *s = full && rest ? only_below(m, m->thread, r->vectors + full) : NULL;
    if (full) {
        const IrRef group = emit_let(m->e, "r", rw_sub(m->rw, m->thread, ir_index(m->g, r->vectors)), 0, full - 1);
        store_lanes(m, r->packed_group, rw_add(m->rw, rw_scale(m->rw, group, r->packed_group), ir_index(m->g, begin)));
    }
    emit_switch(m->e, outer);
    if (!rest) return;
    if (s) emit_enter(m->e, &s->otherwise);
    store_partial(m, begin + full * r->packed_group, (uint32_t)rest);
}

static void range(Emitter *m, const PartRange *r)
{
    const uint32_t outer = m->e->scope;
    m->r = r;
    const IrRef block =
        emit_let(m->e, "b", rw_sub(m->rw, m->bid, ir_index(m->g, r->first_block)), 0, (int64_t)r->blocks - 1);
    const uint32_t inside = m->e->scope;
    m->thread = rw_add(m->rw, rw_scale(m->rw, block, (int64_t)m->plan->block * r->coarsening), m->tid);
    IrStmt *s = r->exact ? NULL : only_below(m, m->thread, r->vectors);
    if (r->vectors) store_vectors(m);
    emit_switch(m->e, inside);
    if (r->tail) {
        assert(s || !r->vectors);
        if (s) emit_enter(m->e, &s->otherwise);
        only_below(m, m->thread, r->vectors + r->tail);
        if (r->packed_group > 1) store_packed_tail(m);
        else store_tail(m);
    }
    emit_switch(m->e, outer);
}

/* Ranges lo .. hi-1, by bisection over the blocks. C calls nest as deep as the logarithm of their number. */
static void ranges(Emitter *m, uint32_t lo, uint32_t hi)
{
    if (hi - lo == 1) {
        range(m, &m->plan->ranges[lo]);
        return;
    }
    const uint32_t middle = lo + (hi - lo) / 2, outer = m->e->scope;
    IrStmt *s = only_below(m, m->bid, m->plan->ranges[middle].first_block);
    assert(s);
    ranges(m, lo, middle);
    emit_switch(m->e, outer);
    emit_enter(m->e, &s->otherwise);
    ranges(m, middle, hi);
    emit_switch(m->e, outer);
}

static IrKernel *new_kernel(WbbArena *a, IrGraph *g, const PartPlan *p)
{
    IrKernel *k = WBB_NEW(a, IrKernel);
    k->name = emit_identifier(a, p->fusion->name);
    k->g = g;
    k->n_buffers = p->n_operands + p->n_outputs;
    k->buffers = WBB_NEW_N(a, IrBuffer, k->n_buffers);
    for (uint32_t i = 0; i < k->n_buffers; i++) {
        const PartBuffer *from = &p->buffers[i];
        const ScType t = from->shape->type;
        const int64_t each = part_is_packed(t) ? 8 / sc_type_info[t].bits : 1;
        const int64_t whole = (from->elements + each - 1) / each * each;
        k->buffers[i] = (IrBuffer){.name = from->name, .type = t, .elements = whole, .align = p->align};
        k->buffers[i].space = !from->output ? IR_IN : from->alias < 0 ? IR_OUT : IR_INOUT;
        k->buffers[i].alias = (uint32_t)(from->alias + 1);
    }
    k->block = p->block, k->grid = p->grid;
    return k;
}

IrKernel *emit_kernel(WbbCx *cx, WbbArena *a, RwCx *rw, const PartPlan *plan)
{
    IrGraph *g = rw_graph(rw);
    IrKernel *k = new_kernel(a, g, plan);
    if (plan->grid == 0) return k;
    Emitter *m = WBB_NEW(a, Emitter);
    *m = (Emitter){.e = emit_values(cx, a, rw, k, plan), .rw = rw, .g = g, .arena = a, .plan = plan};
    m->bid = ir_var(g, ir_var_new(g, "bid", IR_BID, 0, (int64_t)plan->grid - 1, 0));
    m->tid = ir_var(g, ir_var_new(g, "tid", IR_TID, 0, (int64_t)plan->block - 1, 0));
    if (plan->grid == 1) m->bid = ir_index(g, 0);
    ranges(m, 0, plan->n_ranges);
    return k;
}
