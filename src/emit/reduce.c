/* reduce.c: values that take many elements: reductions, windows, products of matrices, convolutions; and bodies at each element.
 *
 * Needs frames; leaves a `for` for each range of the operation, one inside the other, which carries the accumulators, and in the
 * innermost the body that folds one element in. Reductions fold in the type that their body has; sums of products in f32 or wider,
 * or in the result's integers, which wrap.
 *
 *     reduce(f32[4,8], 0), dimensions={1}, add at i    =>    a = for k in 0..8 carry b = 0.0 { yield add.f32(b, load %p[8*i + k]) }
 */
#include "emit/inner.h"

typedef struct {
    const IxNeeds *needs;
    bool products;       /* dot, convolution */
    bool empty;          /* nothing takes part */
    uint32_t n;          /* accumulators */
    uint32_t n_inputs;   /* elements that are folded in at once */
    ScType type;         /* of the products' sum */
    IrRef *acc, *old, *x, *ranges;
    uint32_t whole;        /* of the ranges, the last ones, which have no loop */
    uint32_t unroll, turn; /* elements that one turn of the innermost loop folds, one after the other: all of the whole ranges, or of the last */
    IrRef last;            /* the last range's loop, times unroll; 0: it is whole */
    EmitLoop *loops;
    EmitChoice choice;
    const IrRef **index; /* of each input */
    uint32_t env;
} Fold;

/* What products are summed in: at least as wide as each factor and the result. */
static ScType sum_type(const HloInstruction *i)
{
    ScType t = i->shape->type;
    const ScType x = i->operands[0]->shape->type, y = i->operands[1]->shape->type;
    if (sc_type_info[t].cls == 'C') return x == SC_C128 || y == SC_C128 ? SC_C128 : t;
    if (!sc_is_float(t) && !sc_is_float(x) && !sc_is_float(y)) return t;
    return t == SC_F64 || x == SC_F64 || y == SC_F64 ? SC_F64 : SC_F32;
}

/* Neighbours along the last range are folded in one turn, so that their loads can be one and wait together; all of a short range or of
 * several that are short together, if the code stays small. */
static void choose_unroll(const EmitValues *e, const EmitFrame *f, Fold *w)
{
    const uint32_t n = w->needs->n_ranges;
    const int64_t most = (int64_t)e->plan->fold_nodes / (4 + (int64_t)(f->env ? 1 : f->i->id));
    w->unroll = 1;
    if (w->empty || n == 0) return;
    for (int64_t size; w->whole < n; w->whole++, w->unroll = (uint32_t)size) {
        size = w->needs->sizes[n - 1 - w->whole];
        if (size > e->plan->fold_short) break;
        size *= w->unroll;
        if (size > e->plan->fold_short || size > most) break;
    }
    if (w->whole) return;
    const int64_t size = w->needs->sizes[n - 1], whole_loads = size % 4 == 0 ? 4 : 1;
    for (int64_t u = WBB_MIN(e->plan->fold_turn, most); u > 1 && w->unroll == 1; u--)
        if (size % u == 0 && (u % whole_loads == 0 || u < 4)) w->unroll = (uint32_t)u;
}

static Fold *begin(EmitValues *e, EmitFrame *f)
{
    Fold *w = f->own = WBB_NEW(e->arena, Fold);
    w->needs = emit_needs(e, f);
    w->products = f->i->opcode == HLO_DOT || f->i->opcode == HLO_CONVOLUTION;
    w->n = w->products ? 1 : f->i->n_operands / 2;
    w->n_inputs = w->products ? 2 : w->n;
    w->acc = WBB_NEW_N(e->arena, IrRef, w->n);
    w->old = WBB_NEW_N(e->arena, IrRef, w->n);
    w->x = WBB_NEW_N(e->arena, IrRef, w->n_inputs);
    w->index = WBB_NEW_N(e->arena, const IrRef *, w->n_inputs);
    w->ranges = WBB_NEW_N(e->arena, IrRef, w->needs->n_ranges + 1);
    w->loops = WBB_NEW_N(e->arena, EmitLoop, w->needs->n_ranges + 1);
    for (uint32_t k = 0; k < w->needs->n_ranges; k++) w->empty = w->empty || w->needs->sizes[k] == 0;
    if (w->products) {
        w->type = sum_type(f->i);
        const ScType part = w->type == SC_C64 ? SC_F32 : w->type == SC_C128 ? SC_F64 : w->type;
        w->acc[0] = emit_convert(e->g, w->type, part, ir_const(e->g, IR_TYPE(part, 0), 0));
    }
    return w;
}

/* Open the loops. */
static void open_loops(EmitValues *e, EmitFrame *f, Fold *w)
{
    const uint32_t n = w->needs->n_ranges;
    choose_unroll(e, f, w);
    for (uint32_t k = 0; k + w->whole < n && !w->empty; k++) {
        const uint32_t u = k + 1 == n ? w->unroll : 1;
        const int64_t turns = w->needs->sizes[k] / u;
        w->ranges[k] = ir_index(e->g, 0);
        if (turns > 1) w->loops[k] = emit_for(e, "k", turns, w->n, w->acc, &w->ranges[k]);
        if (k + 1 == n) w->last = rw_scale(e->rw, w->ranges[k], u);
    }
}

/* Where this turn is in the ranges that have no loop, the last one running fastest, or in the last one. */
static void place_turn(EmitValues *e, Fold *w)
{
    const uint32_t n = w->needs->n_ranges;
    int64_t rest = w->turn;
    for (uint32_t k = n; k-- > n - w->whole; rest /= w->needs->sizes[k]) w->ranges[k] = ir_index(e->g, rest % w->needs->sizes[k]);
    if (w->last) w->ranges[n - 1] = rw_add(e->rw, w->last, ir_index(e->g, w->turn));
}

/* Open the `if` around what one element does, and find the index of each input. */
static void open_element(EmitValues *e, EmitFrame *f, Fold *w)
{
    for (uint32_t k = 0; k < w->n; k++) w->old[k] = w->acc[k];
    if (!w->empty) place_turn(e, w);
    for (uint32_t k = 0; k < w->n_inputs && !w->empty; k++) {
        IxAccess access;
        ix_access(e->rw, e->arena, f->i, k, f->index, w->ranges, NULL, &access);
        if (k == 0) w->choice = emit_if_of(e, emit_inside(e, &access), w->n, w->acc);
        if (k == 0 && !w->choice.s && !w->choice.known) return;
        const HloShape *s = f->i->operands[k]->shape;
        IrRef *index = WBB_NEW_N(e->arena, IrRef, s->rank + 1u);
        for (uint32_t d = 0; d < s->rank; d++) index[d] = emit_let(e, "d", access.index[d], 0, s->dims[d] - 1);
        w->index[k] = index;
    }
}

/* acc + x * y */
static IrRef add_product(EmitValues *e, const Fold *w)
{
    const IrType t = IR_TYPE(w->type, 0);
    const IrRef x = emit_as(e, w->x[0], w->type), y = emit_as(e, w->x[1], w->type);
    if (sc_is_float(w->type)) return ir_node(e->g, OP_FMA, t, 0, x, y, w->acc[0], 0);
    if (w->type == SC_PRED) return ir_node(e->g, OP_BOR, t, 0, w->acc[0], ir_node(e->g, OP_BAND, t, 0, x, y, 0, 0), 0, 0);
    return ir_node(e->g, OP_ADD, t, 0, w->acc[0], ir_node(e->g, OP_MUL, t, 0, x, y, 0, 0), 0, 0);
}

/* The accumulators and the elements as parameters of the reduction's body. */
static void bind(EmitValues *e, const EmitFrame *f, Fold *w)
{
    const HloComputation *c = f->i->called[0];
    IrRef *args = WBB_NEW_N(e->arena, IrRef, 2 * w->n);
    for (uint32_t k = 0; k < w->n; k++) {
        args[k] = emit_as(e, w->acc[k], c->parameters[k]->shape->type);
        args[w->n + k] = emit_as(e, w->x[k], c->parameters[w->n + k]->shape->type);
    }
    w->env = emit_env(e, 2 * w->n, args);
}

static void close_loops(EmitValues *e, EmitFrame *f, Fold *w)
{
    for (uint32_t k = w->needs->n_ranges; k-- > 0;)
        if (w->loops[k].s) emit_end_for(e, &w->loops[k], w->n, w->acc);
    for (uint32_t k = 0; k < w->n; k++) {
        const IrRef value = emit_as(e, w->acc[k], part_shape(f->i, k)->type);
        if (k != f->part) emit_remember(e, f, k, value);
        w->acc[k] = value;
    }
    emit_done(e, f, w->acc[f->part]);
}

/* The step `at` of those for one element: its inputs, then the results of the body. True when it is folded in. */
static bool fold_element(EmitValues *e, EmitFrame *f, Fold *w, uint32_t at)
{
    const uint32_t results = w->products ? 0 : w->n, end = w->n_inputs + results;
    if (at > 0 && at <= w->n_inputs) w->x[at - 1] = f->answer;
    else if (at > w->n_inputs) w->acc[at - w->n_inputs - 1] = emit_as(e, f->answer, part_shape(f->i, at - w->n_inputs - 1)->type);
    if (at == 0) {
        open_element(e, f, w);
        if (!w->choice.s && !w->choice.known) return true;
        for (uint32_t k = 0; k < w->n; k++) {
            w->acc[k] = emit_seen(e, &w->choice, true, w->old[k]);
            w->old[k] = emit_seen(e, &w->choice, false, w->old[k]);
        }
    }
    if (at == w->n_inputs) {
        if (w->products) w->acc[0] = add_product(e, w);
        else bind(e, f, w);
    }
    if (at < w->n_inputs) {
        emit_want(e, f, f->i->operands[at], 0, w->index[at]);
        return false;
    }
    if (at < end) {
        emit_want_in(e, f, w->env, f->i->called[0]->root, at - w->n_inputs, NULL);
        return false;
    }
    emit_else(e, &w->choice);
    emit_end_if(e, &w->choice, w->n, w->acc, w->old, w->acc);
    return true;
}

/* In order: the initial values, then element by element; each step takes in what the one before has asked for. */
void emit_step_fold(EmitValues *e, EmitFrame *f)
{
    Fold *w = f->own ? f->own : begin(e, f);
    const uint32_t inits = w->products ? 0 : w->n;
    const uint32_t at = f->at++;
    if (at > 0 && at <= inits) w->acc[at - 1] = emit_as(e, f->answer, part_shape(f->i, at - 1)->type);
    if (at < inits) {
        emit_want(e, f, f->i->operands[w->n + at], 0, NULL);
        return;
    }
    if (at == inits && w->turn == 0) open_loops(e, f, w);
    if (!w->empty) {
        if (!fold_element(e, f, w, at - inits)) return;
        if (++w->turn < w->unroll) {
            f->answer = inits ? w->acc[inits - 1] : 0; /* which the first step takes in again */
            f->at = inits;
            return;
        }
    }
    close_loops(e, f, w);
}

/* map -------------------------------------------------------------------------------------------------------------------------------- */

void emit_step_map(EmitValues *e, EmitFrame *f)
{
    const HloComputation *c = f->i->called[0];
    const uint32_t n = f->i->n_operands, at = f->at++;
    if (at == 0) f->x = WBB_NEW_N(e->arena, IrRef, n + 1);
    else if (at <= n) f->x[at - 1] = emit_as(e, f->answer, c->parameters[at - 1]->shape->type);
    if (at < n) emit_want(e, f, f->i->operands[at], 0, f->index);
    else if (at == n) emit_want_in(e, f, emit_env(e, n, f->x), c->root, 0, NULL);
    else emit_done(e, f, emit_as(e, f->answer, f->i->shape->type));
}
