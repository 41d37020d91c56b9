/* loop.c: the kernel of a loop fusion: which thread has which elements, and the stores.
 *
 * Needs a plan; leaves a kernel whose elements are raw nodes and whose index nodes are in normal form. Bounds checks are there only
 * where the threads are more than the elements need; inside them `let` states what they prove.
 *
 *     [7,33,129] f32, unroll 4:
 *         if lt.index(128*bid + tid, 7449) {
 *           let t = 128*bid + tid in 0..7449
 *           for v in 0..4 lanes 4 { store %out[4*t + v], .. }
 *         } else { if lt.index(128*bid + tid, 7452) { let r = 128*bid + tid + 22347 in 29796..29799  store %out[r], .. } }
 */
#include "emit/emit.h"
#include "index/index.h"

#include <string.h>

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    RwCx *rw;
    IrGraph *g;
    const PartPlan *plan;
    EmitValues *values;
    IrRef thread; /* number of the thread in the grid */
} Loop;

/* Store element number `element` of every output. */
static void store_all(Loop *l, IrBlock *b, IrRef element)
{
    for (uint32_t k = 0; k < l->plan->n_outputs; k++) {
        const HloInstruction *root = l->plan->roots[k];
        IrRef *index = WBB_NEW_N(l->arena, IrRef, root->shape->rank + 1u);
        ix_delinear(l->rw, root->shape, element, index);
        const IrRef value = emit_value(l->values, root, index);
        IrStmt *s = ir_stmt(l->g, b, IR_STORE);
        s->buffer = l->plan->n_operands + k, s->index = element, s->value = value;
    }
}

/* let NAME = definition in lo..hi; what can be one number only is that number. */
static IrRef let(Loop *l, IrBlock *b, const char *name, IrRef definition, int64_t lo, int64_t hi)
{
    if (hi - lo == 1) return ir_index(l->g, lo);
    const uint32_t var = ir_var_new(l->g, name, IR_LET, lo, hi - 1, definition);
    ir_stmt(l->g, b, IR_BIND)->var = var;
    return ir_var(l->g, var);
}

static void main_part(Loop *l, IrBlock *b)
{
    const PartPlan *p = l->plan;
    const IrRef t = let(l, b, "t", l->thread, 0, p->vectors);
    if (p->unroll == 1) {
        store_all(l, b, t);
        return;
    }
    IrStmt *s = ir_stmt(l->g, b, IR_FOR);
    s->lanes = p->unroll;
    s->var = ir_var_new(l->g, "v", IR_LOOP, 0, (int64_t)p->unroll - 1, 0);
    store_all(l, &s->body, rw_add(l->rw, rw_scale(l->rw, t, p->unroll), ir_var(l->g, s->var)));
}

static void tail_part(Loop *l, IrBlock *b)
{
    const PartPlan *p = l->plan;
    const IrRef first = ir_index(l->g, ((int64_t)p->unroll - 1) * p->vectors);
    store_all(l, b, let(l, b, "r", rw_add(l->rw, l->thread, first), p->unroll * p->vectors, p->elements));
}

/* The block that threads below `bound` reach; b itself where all are. */
static IrStmt *only_below(Loop *l, IrBlock *b, int64_t bound)
{
    const IrRef below = rw_compare(l->rw, OP_LT, l->thread, ir_index(l->g, bound));
    if (ir_is_const(l->g, below)) return NULL;
    IrStmt *s = ir_stmt(l->g, b, IR_IF);
    s->condition = below;
    return s;
}

static void body(Loop *l, IrBlock *b)
{
    const PartPlan *p = l->plan;
    IrStmt *inside = p->exact ? NULL : only_below(l, b, p->vectors);
    main_part(l, inside ? &inside->body : b);
    if (!p->tail) return;
    assert(inside);
    IrStmt *tail = only_below(l, &inside->otherwise, p->vectors + p->tail);
    tail_part(l, tail ? &tail->body : &inside->otherwise);
}

/* Letters, digits and '_', no digit first; `_` alone is PTX's sink. */
static const char *kernel_name(WbbArena *a, const char *wish)
{
    if (!strcmp(wish, "_")) return "kernel";
    char *name = wbb_format(a, "%s%s", *wish >= '0' && *wish <= '9' ? "_" : "", wish);
    for (char *c = name; *c; c++) {
        const bool fine = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9');
        if (!fine) *c = '_';
    }
    return name;
}

static IrKernel *new_kernel(WbbArena *a, IrGraph *g, const PartPlan *p)
{
    IrKernel *k = WBB_NEW(a, IrKernel);
    k->name = kernel_name(a, p->fusion->name);
    k->g = g;
    k->n_buffers = p->n_operands + p->n_outputs;
    k->buffers = WBB_NEW_N(a, IrBuffer, k->n_buffers);
    for (uint32_t i = 0; i < k->n_buffers; i++) {
        const PartBuffer *b = &p->buffers[i];
        k->buffers[i] = (IrBuffer){b->name, b->shape->type, b->elements, b->output, p->align};
    }
    k->block = p->block, k->grid = p->grid;
    return k;
}

IrKernel *emit_kernel(WbbCx *cx, WbbArena *a, RwCx *rw, const PartPlan *plan)
{
    IrGraph *g = rw_graph(rw);
    IrKernel *k = new_kernel(a, g, plan);
    if (plan->grid == 0) return k;
    Loop l = {.cx = cx, .arena = a, .rw = rw, .g = g, .plan = plan, .values = emit_values(cx, a, rw)};
    const IrRef bid = ir_var(g, ir_var_new(g, "bid", IR_BID, 0, (int64_t)plan->grid - 1, 0));
    const IrRef tid = ir_var(g, ir_var_new(g, "tid", IR_TID, 0, (int64_t)plan->block - 1, 0));
    l.thread = plan->grid == 1 ? tid : rw_add(rw, rw_scale(rw, bid, plan->block), tid);
    body(&l, &k->body);
    return k;
}
