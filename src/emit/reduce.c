/* reduce.c: operations that take many elements: reductions, windows, dot products, convolutions; and map, a body at
 * each element.
 *
 * Leaves a `for` for each range of the operation, one inside the other, which carries the accumulators; the innermost
 * combines one or several elements with them in each iteration. Short ranges have no loop. Reductions accumulate in the
 * type that their body has, but sums and products of floats under 32 bits in f32, rounded once; sums of products in f32
 * or wider, or in the result's integers, which wrap.
 *
 *     reduce(f32[4,8], 0), dimensions={1}, add at i
 *       =>    a = for k in 0..8 carry b = 0.0 { yield add.f32(b, load %p[8*i + k]) }
 */
#include "emit/inner.h"

enum {
    REDUCE_INITS,   /* asks for the initial values, then opens the loops */
    REDUCE_ELEMENT, /* begins the next element of an iteration: its indices, an `if` where it may not take part */
    REDUCE_INPUTS,  /* asks for the element of each input; combines products */
    REDUCE_BODY,    /* asks for the results of the reduction's body */
    REDUCE_COMBINED,/* ends the element */
    REDUCE_END,     /* closes the loops and finishes */
};

typedef struct {
    const IxNeeds *needs;
    bool products;       /* dot, convolution */
    bool empty;          /* a range has no elements: the result is the initial value */
    uint32_t n;          /* accumulators */
    uint32_t n_inputs;   /* arrays whose elements are combined with them */
    ScType type;         /* of the products' sum; of the accumulator, if it is wider than the body's; else SC_NONE */
    IrRef *acc, *old, *x, *ranges;
    uint32_t straight;        /* of the ranges, the last ones, which have no loop */
    /* elements that one iteration of the innermost loop combines, in order; which of them comes next */
    uint32_t unroll, element;
    IrRef last;               /* number of the last range's loop, times unroll; 0: it has none */
    EmitLoop *loops;
    EmitIf branch;
    IrRef guard;              /* whether the element takes part, if it is combined all the same; 0: it does */
    const IrRef **index; /* of each input */
    uint32_t env;
} Reduce;

/* Neighbours along the last range are combined in one iteration, so that their loads become one wide load, or are in
 * flight together: all elements of a short range, or of several whose product is short, as long as the code stays
 * small. */
static void choose_unroll(const EmitValues *e, const EmitFrame *f, Reduce *w)
{
    const uint32_t n = w->needs->n_ranges;
    /* an element: all instructions before this one */
    const int64_t most = (int64_t)e->plan->reduce_nodes / (4 + (int64_t)(f->env ? 1 : f->i->id));
    w->unroll = 1;
    if (w->empty || n == 0) return;
    for (int64_t size; w->straight < n; w->straight++, w->unroll = (uint32_t)size) {
        size = w->needs->sizes[n - 1 - w->straight];
        if (size > e->plan->reduce_straight) break;
        size *= w->unroll;
        if (size > e->plan->reduce_straight || size > most) break;
    }
    if (w->straight) return;
    /* whole accesses of four, where the range has no others */
    const int64_t size = w->needs->sizes[n - 1], wide = size % 4 == 0 ? 4 : 1;
    for (int64_t u = WBB_MIN(e->plan->reduce_unroll, most); u > 1 && w->unroll == 1; u--)
        if (size % u == 0 && (u % wide == 0 || u < 4)) w->unroll = (uint32_t)u;
}

static Reduce *begin(EmitValues *e, EmitFrame *f)
{
    Reduce *w = f->data = WBB_NEW(e->arena, Reduce);
    w->needs = emit_needs(e, f);
    w->products = hlo_has(f->i->opcode, HLO_PRODUCTS);
    w->n = w->products ? 1 : f->i->n_operands / 2;
    w->n_inputs = w->products ? 2 : w->n;
    w->acc = WBB_NEW_N(e->arena, IrRef, w->n);
    w->old = WBB_NEW_N(e->arena, IrRef, w->n);
    w->x = WBB_NEW_N(e->arena, IrRef, w->n_inputs);
    w->index = WBB_NEW_N(e->arena, const IrRef *, w->n_inputs);
    w->ranges = WBB_NEW_N(e->arena, IrRef, w->needs->n_ranges + 1);
    w->loops = WBB_NEW_N(e->arena, EmitLoop, w->needs->n_ranges + 1);
    for (uint32_t k = 0; k < w->needs->n_ranges; k++) w->empty = w->empty || w->needs->sizes[k] == 0;
    w->type = w->products ? SC_NONE : plan_float_sum(f->i);
    if (w->products) {
        w->type = gr_product_type(f->i);
        const ScType part = gr_part_type(w->type);
        w->acc[0] = gr_convert(e->g, w->type, part, ir_const(e->g, IR_TYPE(part, 0), 0));
    }
    return w;
}

static void open_loops(EmitValues *e, EmitFrame *f, Reduce *w)
{
    const uint32_t n = w->needs->n_ranges;
    choose_unroll(e, f, w);
    for (uint32_t k = 0; k + w->straight < n && !w->empty; k++) {
        const uint32_t u = k + 1 == n ? w->unroll : 1;
        const int64_t iterations = w->needs->sizes[k] / u;
        w->loops[k] = emit_for(e, "k", iterations, w->n, w->acc, &w->ranges[k]);
        if (k + 1 == n) w->last = rw_scale(e->rw, w->ranges[k], u);
    }
}

/* The element's index in the ranges that have no loop, the last one running fastest, or in the last range. */
static void find_ranges(EmitValues *e, Reduce *w)
{
    const uint32_t n = w->needs->n_ranges;
    int64_t rest = w->element;
    for (uint32_t k = n; k-- > n - w->straight; rest /= w->needs->sizes[k])
        w->ranges[k] = ir_index(e->g, rest % w->needs->sizes[k]);
    if (w->last) w->ranges[n - 1] = rw_add(e->rw, w->last, ir_index(e->g, w->element));
}

/* An element that may lie beyond the end is one within: a light one is computed instead of asking first, so that no
 * branch parts the warp, or the loads of a window from each other. */
static bool is_light(const EmitValues *e, const EmitFrame *f, const Reduce *w)
{
    bool light = f->env == 0 && !w->products;
    for (uint32_t k = 0; k < w->n_inputs && light; k++)
        light = e->plan->element_work[f->i->operands[k]->id] <= (int64_t)(e->plan->select_nodes / w->n_inputs);
    return light;
}

/* Opens the `if` around the code of one element and finds the index of each input; false: the element takes no part. */
static bool open_element(EmitValues *e, EmitFrame *f, Reduce *w)
{
    find_ranges(e, w);
    w->guard = 0;
    for (uint32_t k = 0; k < w->n_inputs; k++) {
        IxAccess access;
        ix_access(e->rw, e->arena, f->i, k, f->index, w->ranges, NULL, &access);
        if (k == 0) {
            IrRef inside = emit_inside(e, &access);
            if (inside && !ir_is_const(e->g, inside) && is_light(e, f, w)) w->guard = inside, inside = 0;
            w->branch = emit_if_using(e, inside, w->n, w->acc);
        }
        if (!w->branch.s && !w->branch.known) return false;
        const HloShape *s = f->i->operands[k]->shape;
        IrRef *index = WBB_NEW_N(e->arena, IrRef, s->rank + 1u);
        for (uint32_t d = 0; d < s->rank; d++) {
            const IrRef x = w->guard ? emit_nearest(e, access.index[d], s->dims[d]) : access.index[d];
            index[d] = emit_let(e, "d", x, 0, s->dims[d] - 1);
        }
        w->index[k] = index;
    }
    for (uint32_t k = 0; k < w->n; k++) {
        w->old[k] = emit_in_branch(e, &w->branch, false, w->acc[k]);
        w->acc[k] = emit_in_branch(e, &w->branch, true, w->acc[k]);
    }
    return true;
}

/* acc + x * y */
static IrRef add_product(EmitValues *e, const Reduce *w)
{
    const IrType t = IR_TYPE(w->type, 0);
    const IrRef x = emit_as(e, w->x[0], w->type), y = emit_as(e, w->x[1], w->type);
    if (sc_is_float(w->type)) return ir_node(e->g, OP_FMA, t, 0, x, y, w->acc[0], 0);
    if (w->type == SC_PRED)
        return ir_node(e->g, OP_BOR, t, 0, w->acc[0], ir_node(e->g, OP_BAND, t, 0, x, y, 0, 0), 0, 0);
    return ir_node(e->g, OP_ADD, t, 0, w->acc[0], ir_node(e->g, OP_MUL, t, 0, x, y, 0, 0), 0, 0);
}

/* The accumulators and the elements as parameters of the reduction's body. */
static void bind(EmitValues *e, const EmitFrame *f, Reduce *w)
{
    const HloComputation *c = f->i->called[0];
    IrRef *args = WBB_NEW_N(e->arena, IrRef, 2 * w->n);
    for (uint32_t k = 0; k < w->n; k++) {
        args[k] = emit_as(e, w->acc[k], c->parameters[k]->shape->type);
        args[w->n + k] = emit_as(e, w->x[k], c->parameters[w->n + k]->shape->type);
    }
    w->env = emit_env(e, 2 * w->n, args);
}

static void close_loops(EmitValues *e, EmitFrame *f, Reduce *w)
{
    for (uint32_t k = w->needs->n_ranges; k-- > 0;)
        emit_end_for(e, &w->loops[k], w->n, w->acc);
    for (uint32_t k = 0; k < w->n; k++) {
        const IrRef value = emit_as(e, w->acc[k], plan_shape(f->i, k)->type);
        if (k != f->part) emit_remember(e, f, k, value);
        w->acc[k] = value;
    }
    emit_done(e, f, w->acc[f->part]);
}

static ScType type_of(const EmitFrame *f, const Reduce *w, uint32_t accumulator)
{
    return w->type != SC_NONE ? w->type : plan_shape(f->i, accumulator)->type;
}

/* Combines a term in a type that is wider than the body's. */
static void combine_wide(EmitValues *e, const EmitFrame *f, Reduce *w)
{
    const ScOp op = hlo_scalar(f->i->called[0]->root->opcode);
    w->acc[0] = ir_node(e->g, op, IR_TYPE(w->type, 0), 0, w->acc[0], emit_as(e, w->x[0], w->type), 0, 0);
}

/* More than 60 lines with its comments: one state after the other. */
void emit_step_reduce(EmitValues *e, EmitFrame *f)
{
    Reduce *w = f->data ? f->data : begin(e, f);
    const uint32_t asked = f->asked;
    switch (f->state) {
    case REDUCE_INITS:
        if (asked > 0) w->acc[asked - 1] = emit_as(e, f->result, type_of(f, w, asked - 1));
        if (!w->products && asked < w->n) {
            f->asked++;
            emit_want(e, f, f->i->operands[w->n + asked], 0, NULL);
            return;
        }
        open_loops(e, f, w);
        emit_next(f, w->empty ? REDUCE_END : REDUCE_ELEMENT);
        return;
    case REDUCE_ELEMENT:
        if (w->element == w->unroll) emit_next(f, REDUCE_END);
        else if (open_element(e, f, w)) emit_next(f, REDUCE_INPUTS);
        else w->element++;
        return;
    case REDUCE_INPUTS:
        if (asked > 0) w->x[asked - 1] = f->result;
        if (asked < w->n_inputs) {
            f->asked++;
            emit_want(e, f, f->i->operands[asked], 0, w->index[asked]);
            return;
        }
        if (w->products) w->acc[0] = add_product(e, w);
        else if (w->type != SC_NONE) combine_wide(e, f, w);
        else bind(e, f, w);
        emit_next(f, w->type != SC_NONE ? REDUCE_COMBINED : REDUCE_BODY);
        return;
    case REDUCE_BODY:
        if (asked > 0) w->acc[asked - 1] = emit_as(e, f->result, type_of(f, w, asked - 1));
        if (asked < w->n) {
            f->asked++;
            emit_want_in(e, f, w->env, f->i->called[0]->root, asked, NULL);
            return;
        }
        emit_next(f, REDUCE_COMBINED);
        return;
    case REDUCE_COMBINED:
        for (uint32_t k = 0; k < w->n && w->guard; k++) {
            const IrType t = ir_at(e->g, w->acc[k])->type;
            w->acc[k] = ir_node(e->g, OP_SELECT, t, 0, w->guard, w->acc[k], w->old[k], 0);
        }
        emit_else(e, &w->branch);
        emit_end_if(e, &w->branch, w->n, w->acc, w->old, w->acc);
        w->element++;
        emit_next(f, REDUCE_ELEMENT);
        return;
    default:
        close_loops(e, f, w);
    }
}

/* map --------------------------------------------------------------------------------------------------------- */

enum { MAP_OPERANDS, MAP_BODY };

void emit_step_map(EmitValues *e, EmitFrame *f)
{
    const HloComputation *c = f->i->called[0];
    const uint32_t n = f->i->n_operands, asked = f->asked;
    if (f->state == MAP_BODY) {
        emit_done(e, f, emit_as(e, f->result, f->i->shape->type));
        return;
    }
    if (!f->operands) f->operands = WBB_NEW_N(e->arena, IrRef, n + 1);
    if (asked > 0) f->operands[asked - 1] = emit_as(e, f->result, c->parameters[asked - 1]->shape->type);
    if (asked < n) {
        f->asked++;
        emit_want(e, f, f->i->operands[asked], 0, f->index);
        return;
    }
    emit_next(f, MAP_BODY);
    emit_want_in(e, f, emit_env(e, n, f->operands), c->root, 0, NULL);
}
