/* reduce: reductions, and computations applied to lanes.
 *
 * Needs: the set of results wanted. Leaves: their lanes, for all arrays of a variadic reduction.
 *
 * The operands are asked for in parts of the reduced elements, each in a run of its own whose memory is dropped, and folded in
 * row-major order into one accumulator for each result. HLO leaves the order of a sum of floats open. In EV_PLAIN it is taken in
 * f64 and rounded once, which is in the middle of what the orders give. In EV_BOUNDS every order counts: the interval is
 * the sum of the intervals, widened by (number of additions) * (half a unit at 1) * (sum of magnitudes), which bounds the error
 * of every order (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 4.2).
 *
 *     r = f32[2] reduce(f32[2,3] x, f32[] 0), dimensions={1}, to_apply=add     at {1}: x at {3, 4, 5}
 */
#include "eval/inner.h"

#include <math.h>
#include <string.h>

enum { NESTING = 16 };

static void *apply_leaf(Ev *e, const HloInstruction *i, int64_t n, void *const *x)
{
    EvRef r = {NULL, i, 0};
    if (i->opcode == HLO_PARAMETER) return x[i->number];
    const EvSet one = {.n = 1};
    if (!i->literal) wbb_decline(e->cx, i->loc, WHY_OPERATION, "the text leaves out the value of constant %s", i->name);
    size_t bytes = ev_lane_bytes(e->mode, ev_ref_shape(r)->type);
    char *lanes = ev_lanes(e, (size_t)n * bytes);
    const void *value = ev_import(e, i->shape->type, i->literal, &one);
    ev_fill(lanes, value, bytes, n);
    return lanes;
}

/* The computation on n lanes at once: parameter k is x[k]; leaves of its root to out. Scalars only. */
static void apply(Ev *e, const HloComputation *c, int64_t n, void *const *x, void **out, unsigned depth)
{
    void ***value = WBB_NEW_N(e->block, void **, c->n_instructions); /* [instruction][leaf] */
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        const HloInstruction *i = c->instructions[k];
        bool tuple = i->shape->type == SC_TUPLE;
        if (i->shape->rank != 0 || depth > NESTING)
            wbb_decline(e->cx, i->loc, WHY_OPERATION, "the evaluator applies computations of scalars only");
        value[k] = WBB_NEW_N(e->block, void *, tuple ? i->shape->n_elements : 1);
        void **operands = WBB_NEW_N(e->block, void *, i->n_operands);
        for (uint32_t p = 0; p < i->n_operands; p++) operands[p] = value[i->operands[p]->id][0];
        switch (i->opcode) {
        case HLO_PARAMETER:
        case HLO_CONSTANT: value[k][0] = apply_leaf(e, i, n, x); break;
        case HLO_TUPLE: memcpy(value[k], operands, i->n_operands * sizeof *operands); break;
        case HLO_GET_TUPLE_ELEMENT: value[k][0] = value[i->operands[0]->id][i->number]; break;
        case HLO_FUSION:
        case HLO_CALL: apply(e, i->called[0], n, operands, value[k], depth + 1); break;
        case HLO_RESHAPE:
        case HLO_BROADCAST:
        case HLO_BITCAST:
            value[k][0] = ev_bits(e, i->shape->type, i->operands[0]->shape->type, n, operands[0]);
            break;
        default:
            if (!hlo_is_elementwise(i->opcode))
                wbb_decline(e->cx, i->loc, WHY_OPERATION, "the evaluator applies no %s", hlo_opcode_name(i->opcode));
            value[k][0] = ev_elementwise(e, i, n, operands);
        }
    }
    uint32_t leaves = c->root->shape->type == SC_TUPLE ? c->root->shape->n_elements : 1;
    memcpy(out, value[c->root->id], leaves * sizeof *out);
}

/* What is folded so far. */
typedef struct {
    uint32_t n_arrays;
    int64_t n; /* results */
    void **lanes; /* [n_arrays] */
    ScOp op;      /* of a body that is one operation on its two parameters, else OP_NONE */
    ScType type;  /* of the accumulators */
    bool widened; /* EV_PLAIN, sums of floats: lanes[0] is f64 */
    double *magnitude; /* EV_BOUNDS, sums of floats: of the finite parts */
} Fold;

static ScOp single_op(const HloComputation *c)
{
    const HloInstruction *r = c->root;
    if (c->n_parameters != 2 || r->n_operands != 2 || !hlo_is_elementwise(r->opcode) || r->opcode == HLO_COMPARE) return OP_NONE;
    for (uint32_t k = 0; k < 2; k++)
        if (r->operands[k]->opcode != HLO_PARAMETER || r->operands[k]->number != (int64_t)k) return OP_NONE;
    return sc_op_of_hlo(hlo_opcode_name(r->opcode));
}

static void add_bounds(Fold *f, const EvBound *x)
{
    EvBound *acc = f->lanes[0];
    for (int64_t k = 0; k < f->n; k++) {
        EvBound *a = &acc[k];
        double m = fmax(fabs(x[k].lo.f), fabs(x[k].hi.f));
        a->flags |= x[k].flags;
        if (x[k].flags & EV_MUST_NAN) continue;
        bool opposite = (a->hi.f == (double)INFINITY && x[k].lo.f == -(double)INFINITY) ||
                        (a->lo.f == -(double)INFINITY && x[k].hi.f == (double)INFINITY);
        if (isfinite(m)) f->magnitude[k] += m;
        if (opposite) *a = (EvBound){{.f = -(double)INFINITY}, {.f = (double)INFINITY}, a->flags | EV_MAYBE_NAN};
        else {
            a->lo.f += x[k].lo.f;
            a->hi.f += x[k].hi.f;
        }
    }
}

/* One more element into every result; x[array]: its lanes. Memory of `part` only, but for the accumulators. */
static void fold(Ev *part, const HloInstruction *i, Fold *f, void **x)
{
    if (f->magnitude) {
        add_bounds(f, x[0]);
        return;
    }
    ScLoop loop = f->op != OP_NONE && part->mode != EV_BOUNDS ? sc_loop(f->op, f->type, f->type) : NULL;
    if (loop) {
        void *one = x[0];
        if (f->widened) {
            one = ev_lanes(part, (size_t)f->n * sizeof(double));
            sc_loop(OP_CVT, SC_F64, i->operands[0]->shape->type)((size_t)f->n, one, x[0], NULL, NULL);
        }
        loop((size_t)f->n, f->lanes[0], f->lanes[0], one, NULL);
        return;
    }
    void **operands = WBB_NEW_N(part->block, void *, 2 * f->n_arrays), **out = WBB_NEW_N(part->block, void *, f->n_arrays);
    memcpy(operands, f->lanes, f->n_arrays * sizeof *operands);
    memcpy(operands + f->n_arrays, x, f->n_arrays * sizeof *operands);
    apply(part, i->called[0], f->n, operands, out, 0);
    for (uint32_t k = 0; k < f->n_arrays; k++)
        memcpy(f->lanes[k], out[k], (size_t)f->n * ev_lane_bytes(part->mode, i->operands[k]->shape->type));
}

/* Every order: the interval of exact sums, widened by the largest error. */
static void close_sum(Fold *f, ScType t, int64_t additions)
{
    EvBound *acc = f->lanes[0];
    double largest = t == SC_F16 ? 65504.0 : t == SC_BF16 ? 0x1.fep127 : t == SC_F32 ? 0x1.fffffep127 : 0x1.fffffffffffffp1023;
    double unit = ev_ulp(t, 1.0) / 2 + (t == SC_F64 ? 0 : 0x1p-53);
    for (int64_t k = 0; k < f->n; k++) {
        EvBound *a = &acc[k];
        if (a->flags & EV_MUST_NAN) continue;
        double error = f->magnitude[k] * ((double)additions * unit * 1.125);
        bool overflows = !(f->magnitude[k] + error <= largest);
        if (overflows) *a = (EvBound){{.f = -(double)INFINITY}, {.f = (double)INFINITY}, EV_MAYBE_NAN};
        if (isfinite(a->lo.f)) a->lo.f = sc_to_f64(t, sc_from_f64(t, a->lo.f - error));
        if (isfinite(a->hi.f)) a->hi.f = sc_to_f64(t, sc_from_f64(t, a->hi.f + error));
    }
}

/* The accumulators of a sum to f64, and back. */
static void widen(Ev *e, Fold *f)
{
    ScLoop to_double = sc_loop(OP_CVT, SC_F64, f->type);
    if (!to_double) return;
    double *acc = WBB_NEW_N(e->block, double, f->n);
    to_double((size_t)f->n, acc, f->lanes[0], NULL, NULL);
    f->lanes[0] = acc;
    f->type = SC_F64;
    f->widened = true;
}

static void narrow(Ev *e, Fold *f, ScType t)
{
    void *r = ev_lanes(e, (size_t)f->n * sc_bytes(t));
    sc_loop(OP_CVT, t, SC_F64)((size_t)f->n, r, f->lanes[0], NULL, NULL);
    f->lanes[0] = r;
}

/* Where the reduced elements of each result start, and the distance of each reduced element from there. */
typedef struct {
    int64_t *base;    /* [results] */
    int64_t *offset;  /* [reduced] */
    int64_t reduced;
} Paths;

static Paths find_paths(Ev *e, const HloInstruction *i, const EvSet *set, const HloShape *result)
{
    const HloShape *in = i->operands[0]->shape;
    int64_t stride[HLO_RANK_LIMIT], n = 1;
    EvWalk walk = ev_walk(result);
    bool gone[HLO_RANK_LIMIT] = {false};
    Paths p = {WBB_NEW_N(e->block, int64_t, set->n), NULL, 1};
    for (uint32_t k = 0; k < i->n_dimensions; k++) {
        gone[i->dimensions[k]] = true;
        p.reduced *= in->dims[i->dimensions[k]];
    }
    for (int d = in->rank - 1; d >= 0; d--) {
        stride[d] = n;
        n *= in->dims[d];
    }
    for (int64_t k = 0; k < set->n; k++) {
        const int64_t *at = ev_walk_to(&walk, ev_position(set, k));
        for (uint32_t d = 0, kept = 0; d < in->rank; d++)
            if (!gone[d]) p.base[k] += at[kept++] * stride[d];
    }
    p.offset = WBB_NEW_N(e->block, int64_t, p.reduced);
    for (int64_t k = 0; k < p.reduced; k++) {
        int64_t rest = k;
        for (int d = in->rank - 1; d >= 0; d--) {
            if (!gone[d]) continue;
            p.offset[k] += rest % in->dims[d] * stride[d];
            rest /= in->dims[d];
        }
    }
    return p;
}

/* Fold reduced elements [from, from + count). */
static void fold_part(Ev *e, Ev *part, EvTask *t, Fold *f, const Paths *p, int64_t from, int64_t count)
{
    const HloInstruction *i = t->ref.i;
    ev_begin(part);
    int64_t *list = ev_list(part, count * f->n);
    for (int64_t r = 0; r < count; r++)
        for (int64_t k = 0; k < f->n; k++) list[r * f->n + k] = p->base[k] + p->offset[from + r];
    const EvSet *set = ev_list_set(part, list, count * f->n);
    char **lanes = WBB_NEW_N(part->block, char *, f->n_arrays);
    void **x = WBB_NEW_N(part->block, void *, f->n_arrays);
    for (uint32_t k = 0; k < f->n_arrays; k++) lanes[k] = ev_demand(part, ev_part_ref(part, ev_operand(e, t, k)), set);
    for (int64_t r = 0; r < count; r++) {
        for (uint32_t k = 0; k < f->n_arrays; k++)
            x[k] = lanes[k] + (size_t)(r * f->n) * ev_lane_bytes(e->mode, i->operands[k]->shape->type);
        fold(part, i, f, x);
    }
    ev_end(part);
}

void *ev_reduce(Ev *e, EvTask *t)
{
    const HloInstruction *i = t->ref.i;
    Fold f = {.n_arrays = i->n_operands / 2, .n = t->set->n, .op = single_op(i->called[0])};
    f.lanes = WBB_NEW_N(e->block, void *, f.n_arrays);
    f.type = ev_lane_type(e->mode, i->operands[0]->shape->type);
    bool all = true;
    for (uint32_t k = 0; k < f.n_arrays; k++) {
        size_t bytes = ev_lane_bytes(e->mode, i->operands[k]->shape->type);
        const void *init = ev_need(e, ev_operand(e, t, f.n_arrays + k), ev_run_set(e, 0, 1));
        all = all && init;
        if (!all) continue;
        char *acc = ev_lanes(e, (size_t)f.n * bytes);
        ev_fill(acc, init, bytes, f.n);
        f.lanes[k] = acc;
    }
    if (!all) return NULL;
    bool sum = f.op == OP_ADD && sc_is_float(f.type), bounds = sum && e->mode == EV_BOUNDS;
    if (sum && e->mode == EV_PLAIN) widen(e, &f);
    if (bounds) {
        f.magnitude = WBB_NEW_N(e->block, double, f.n);
        for (int64_t k = 0; k < f.n; k++) f.magnitude[k] = fabs(((const EvBound *)f.lanes[0])[k].hi.f);
    }
    Paths p = find_paths(e, i, t->set, ev_ref_shape(t->ref));
    Ev *part = ev_part(e);
    int64_t size = WBB_MAX(EV_BLOCK / f.n, 1);
    for (int64_t at = 0; at < p.reduced; at += size) fold_part(e, part, t, &f, &p, at, WBB_MIN(size, p.reduced - at));
    ev_part_end(e);
    if (bounds) close_sum(&f, f.type, p.reduced);
    if (f.widened) narrow(e, &f, i->operands[0]->shape->type);
    for (uint32_t k = 0; k < f.n_arrays; k++)
        if (k != t->ref.leaf) ev_put_memo(e, t->ref, k, t->set, f.lanes[k]);
    return f.lanes[t->ref.leaf];
}
