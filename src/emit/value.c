/* value.c: how each operation is computed, and the value of any instruction of a fusion at any index.
 *
 * Needs a fusion that plan accepted; leaves nodes, and at the end of the open block the statements that they need.
 * Elementwise operations, moves and leaves have their steps here, the others in choose.c, bits.c, reduce.c, control.c
 * runs them.
 *
 *     value(%slice, (i, j))   =>   the operand at (i + 4, 2*j), which for a parameter is load %p[128*i + 2*j + 512]
 */
#include "emit/inner.h"

#include <string.h>

/* elementwise operations, moves, dynamic-slice and gather ----------------------------------------------------- */

enum { PLAIN_STARTS, PLAIN_OPERANDS };

typedef struct {
    const IxNeeds *needs;
    IrRef *starts;
    /* operands that are arrays, by age: what another operand needs, too, is computed first, where both may use it */
    uint32_t *order, n;
    IxAccess access;
} Plain;

static Plain *plain_begin(EmitValues *e, EmitFrame *f)
{
    Plain *p = f->data = WBB_NEW(e->arena, Plain);
    p->needs = emit_needs(e, f);
    p->starts = WBB_NEW_N(e->arena, IrRef, p->needs->n_starts + 1);
    p->order = WBB_NEW_N(e->arena, uint32_t, f->i->n_operands + 1);
    f->operands = WBB_NEW_N(e->arena, IrRef, f->i->n_operands + 1);
    for (uint32_t k = 0; k < f->i->n_operands; k++) {
        if (hlo_is_start(f->i, k)) continue;
        uint32_t at = p->n++;
        for (; at > 0 && f->i->operands[p->order[at - 1]]->id > f->i->operands[k]->id; at--)
            p->order[at] = p->order[at - 1];
        p->order[at] = k;
    }
    return p;
}

static void step_plain(EmitValues *e, EmitFrame *f)
{
    Plain *p = f->data ? f->data : plain_begin(e, f);
    if (f->state == PLAIN_STARTS) {
        if (emit_starts(e, f, p->needs, p->starts)) emit_next(f, PLAIN_OPERANDS);
        return;
    }
    if (f->asked > 0) f->operands[p->order[f->asked - 1]] = f->result;
    if (f->asked == p->n) {
        emit_done(e, f, gr_element(e->rw, f->i, f->operands));
        return;
    }
    const uint32_t k = p->order[f->asked++];
    ix_access(e->rw, e->arena, f->i, k, f->index, NULL, p->starts, &p->access);
    assert(!p->access.never && !p->access.n_conditions);
    emit_want(e, f, f->i->operands[k], 0, p->access.index);
}

/* parameters, constants, iota --------------------------------------------------------------------------------- */

static const char *table_name(EmitValues *e, const HloInstruction *i)
{
    for (;;) {
        const char *name = emit_name(e, wbb_format(e->arena, "%s.", emit_identifier(e->arena, i->name)));
        uint32_t b = 0;
        while (b < e->k->n_buffers && strcmp(e->k->buffers[b].name, name)) b++;
        if (b == e->k->n_buffers) return name;
    }
}

/* The number of the buffer that holds a constant, added to the kernel when first asked for. */
static uint32_t table_of(EmitValues *e, const HloInstruction *i)
{
    IrKernel *k = e->k;
    for (uint32_t n = 0; n < e->tables.n; n++)
        if (e->tables.items[n].of == i) return e->tables.items[n].buffer;
    const EmitTable table = {i, k->n_buffers};
    WBB_PUSH(e->arena, &e->tables, table);
    const ScType t = i->shape->type;
    const size_t bytes = sc_bytes(t), n = (size_t)hlo_elements(i->shape);
    const size_t each = plan_packed_group(t);
    const size_t whole = (n + each - 1) / each * each; /* elements of whole bytes */
    char *data = wbb_alloc(e->arena, wbb_mul_size(e->arena, whole, bytes));
    memset(data, 0, whole * bytes);
    memcpy(data, i->literal, n * bytes);
    k->buffers =
        wbb_grow(e->arena, k->buffers, k->n_buffers * sizeof *k->buffers, (k->n_buffers + 1) * sizeof *k->buffers);
    k->buffers[k->n_buffers] =
        (IrBuffer){.name = table_name(e, i), .space = IR_TABLE, .type = t,
                   .elements = (int64_t)whole, .align = 16, .table = data};
    return k->n_buffers++;
}

static bool is_table(const EmitValues *e, const HloInstruction *i)
{
    return i->opcode == HLO_CONSTANT && !i->literal_splat && hlo_elements(i->shape) > e->plan->constant_selects;
}

static void step_leaf(EmitValues *e, EmitFrame *f)
{
    IrRef value;
    if (is_table(e, f->i)) {
        value = emit_table_element(e->rw, f->i->shape, table_of(e, f->i), f->index);
    } else if (f->i->opcode != HLO_PARAMETER) {
        value = gr_leaf(e->rw, f->i, f->index);
    } else {
        const HloShape *s = plan_shape(f->i, f->part);
        const IrRef offset = emit_address(e, ix_linear(e->rw, s, f->index));
        value = emit_load(e->rw, s->type, e->plan->first_leaf[f->i->number] + f->part, offset);
    }
    emit_done(e, f, value);
}

/* What an earlier launch has left in memory. */
static void step_made(EmitValues *e, EmitFrame *f)
{
    const PlanKernel *k = e->kernel;
    uint32_t n = 0;
    while (n < k->n_made && (k->made[n].value.i != f->i || k->made[n].value.part != f->part)) n++;
    assert(n < k->n_made);
    const HloShape *s = plan_shape(f->i, f->part);
    const ScType in_memory = e->k->buffers[k->made[n].buffer].type;
    const IrRef value = emit_load(e->rw, in_memory, k->made[n].buffer, emit_address(e, ix_linear(e->rw, s, f->index)));
    emit_done(e, f, in_memory == s->type ? value : ir_node(e->g, OP_BITS, IR_TYPE(s->type, 0), 0, value, 0, 0, 0));
}

/* all operations ---------------------------------------------------------------------------------------------- */

static EmitStep step_of(const HloInstruction *i)
{
    switch (hlo_kind(i->opcode)) {
    case HLO_IS_LEAF: return step_leaf;
    case HLO_IS_FOLD: return emit_step_reduce;
    default: break;
    }
    switch (i->opcode) {
    case HLO_SCATTER: return step_made;
    case HLO_CONCATENATE: return emit_step_concat;
    case HLO_DYNAMIC_UPDATE_SLICE:
    case HLO_PAD: return emit_step_pad;
    case HLO_MAP: return emit_step_map;
    case HLO_CALL:
    case HLO_FUSION: return emit_step_call;
    case HLO_CONDITIONAL: return emit_step_conditional;
    case HLO_WHILE: return emit_step_while;
    case HLO_RNG_BIT_GENERATOR: return emit_step_random;
    case HLO_BITCAST:
    case HLO_BITCAST_CONVERT: return plan_same_width(i) ? step_plain : emit_step_bits;
    default: return step_plain;
    }
}

EmitValues *emit_values(WbbCx *cx, WbbArena *a, RwCx *rw, IrKernel *k, const Plan *plan, const PlanKernel *kernel)
{
    EmitValues *e = WBB_NEW(a, EmitValues);
    e->cx = cx, e->arena = a, e->rw = rw, e->g = rw_graph(rw), e->k = k;
    e->plan = plan, e->kernel = kernel;
    e->step_of = step_of, e->function_step = emit_step_function, e->held_step = emit_step_held_array;
    e->memo.arena = e->lets.arena = e->calls.arena = e->asked.arena = a;
    e->info = WBB_NEW_N(a, EmitInfo, plan->fusion->body->n_instructions + 1);
    e->scopes.arena = a;
    ir_open_scope(&e->scopes, 0, NULL, NULL); /* around all bodies */
    const EmitEnv none = {0};
    WBB_PUSH(a, &e->envs, none);
    e->first_node = e->g->n;
    emit_enter(e, &k->body);
    return e;
}

IrRef emit_value(EmitValues *e, PlanValue v, const IrRef *index) { return emit_value_in(e, 0, v, index); }

IrRef emit_value_in(EmitValues *e, uint32_t env, PlanValue v, const IrRef *index)
{
    const uint32_t origin = e->g->making_origin;
    EmitFrame caller = {0};
    assert(!e->top);
    emit_want_in(e, &caller, env, v.i, v.part, index);
    e->result = caller.result;
    while (e->top) {
        EmitFrame *f = e->top;
        e->g->making_origin = f->origin;
        f->step(e, f);
    }
    e->g->making_origin = origin;
    return e->result;
}
