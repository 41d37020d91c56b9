/* fold: elements folded into accumulators, one accumulator a lane.
 *
 * Needs: a computation of two times n_arrays scalars, and the elements, step by step: a step has at most one for each lane.
 * Leaves: the lanes of the accumulators.
 *
 * HLO leaves the order of a sum of floats open. In EV_PLAIN it is taken in f64 and rounded once, which is in the middle of what
 * the orders give. In EV_BOUNDS every order counts: the interval is the sum of the intervals, widened as exact.c says. A product of
 * floats is widened by that many relative roundings, but where its factors have so few digits that no order rounds; where the
 * magnitudes above 1 or those below 1 multiply out of the range, some order overflows or vanishes, and nothing is known. Other
 * computations are applied in the order of the steps.
 *
 *     add on f32, lane 0: 0, then 3, 4, 5      12;   with bounds [12 - 4e-6, 12 + 4e-6]
 */
#include "eval/bounds.h"

#include <math.h>
#include <string.h>

struct EvFold {
    const HloComputation *c;
    uint32_t n_arrays;
    const ScType *types;
    int64_t n, parts;  /* lanes; accumulators a lane: 2 of a sum of complex values, else 1 */
    void **lanes;      /* [n_arrays] */
    ScOp op;           /* of a body that is one operation on its two parameters, else OP_NONE */
    ScType type;       /* of the accumulators of array 0 */
    bool widened;      /* EV_PLAIN, sums of floats: lanes[0] is f64 */
    EvTerms *terms;    /* EV_BOUNDS, sums of floats: of each accumulator */
    double *above, *below; /* EV_BOUNDS, products of floats: log2 of the product of the magnitudes over 1, and of those under 1 */
    double *digits;    /* the same: binary digits that the exact product may need; infinity: some factor is not one known number */
    int64_t steps;
};

static ScOp single_op(const HloComputation *c, ScType type)
{
    const HloInstruction *r = c->root;
    if (r->shape->type != type || c->n_parameters != 2 || c->parameters[0]->shape->type != type || c->parameters[1]->shape->type != type) return OP_NONE;
    if ( r->n_operands != 2 || !hlo_is_elementwise(r->opcode) || r->opcode == HLO_COMPARE) return OP_NONE;
    bool swapped = r->operands[0]->opcode == HLO_PARAMETER && r->operands[0]->number == 1;
    ScOp op = sc_op_of_hlo(hlo_opcode_name(r->opcode));
    for (uint32_t k = 0; k < 2; k++)
        if (r->operands[k]->opcode != HLO_PARAMETER || r->operands[k]->number != (int64_t)(swapped ? 1 - k : k)) return OP_NONE;
    return op == OP_NONE || (swapped && !sc_op_info[op].commutative) ? OP_NONE : op;
}

EvFold *ev_fold_new(Ev *e, const HloComputation *c, uint32_t n_arrays, const ScType *types, int64_t n)
{
    EvFold *f = WBB_NEW(e->block, EvFold);
    *f = (EvFold){.c = c, .n_arrays = n_arrays, .types = types, .n = n, .parts = 1, .op = n_arrays == 1 ? single_op(c, types[0]) : OP_NONE};
    f->type = ev_lane_type(e->mode, types[0]);
    f->lanes = WBB_NEW_N(e->block, void *, n_arrays);
    return f;
}

void ev_fold_init(Ev *e, EvFold *f, uint32_t array, const void *lanes, int64_t n)
{
    size_t bytes = ev_lane_bytes(e->mode, f->types[array]);
    char *acc = ev_lanes(e, wbb_mul_size(e->arena, (size_t)f->n, bytes));
    if (n == 1) ev_fill(acc, lanes, bytes, f->n);
    else memcpy(acc, lanes, (size_t)f->n * bytes);
    f->lanes[array] = acc;
}

void *ev_fold_lanes(Ev *e, Ev *part, const EvTask *t, const EvFold *f, uint32_t array, uint32_t operand, const EvSet *set)
{
    const EvRef r = ev_part_ref(part, ev_operand(e, t, operand));
    return ev_as(part, f->types[array], ev_ref_shape(r)->type, set->n, ev_demand(part, r, set));
}

/* The accumulators of a sum to f64. */
static void widen(Ev *e, EvFold *f)
{
    int64_t n = f->n * f->parts;
    double *acc = ev_lanes(e, (size_t)n * sizeof *acc);
    for (int64_t k = 0; k < n; k++) acc[k] = sc_to_f64(f->type, ev_get(f->type, f->lanes[0], k));
    f->lanes[0] = acc;
    f->widened = true;
}

static void note_factors(EvFold *f, const uint32_t *lanes, int64_t n, const EvBound *x)
{
    for (int64_t k = 0; k < n; k++) {
        int64_t lane = lanes ? lanes[k] : k;
        double a = fabs(x[k].lo.f), b = fabs(x[k].hi.f);
        bool zero = x[k].lo.f <= 0 && x[k].hi.f >= 0;
        const int digits = x[k].lo.f == x[k].hi.f && isfinite(a) ? ev_digits(a) : -1;
        f->digits[lane] += digits < 0 ? (double)INFINITY : digits > 1 ? digits : 0;
        if (x[k].flags & EV_MUST_NAN) continue;
        f->above[lane] += log2(fmax(fmax(a, b), 1));
        f->below[lane] += zero ? (a == 0 && b == 0 ? 0 : -(double)INFINITY) : log2(fmin(fmin(a, b), 1));
    }
}

bool ev_fold_begin(Ev *e, EvFold *f, bool serial)
{
    if (serial) return false;
    bool complex = sc_type_info[f->type].cls == 'C', sum = f->op == OP_ADD && (sc_is_float(f->type) || complex);
    if (sum && complex) {
        f->parts = 2;
        f->type = ev_part_type(f->type);
    }
    bool in_order = e->noise && ev_random(e) % 2; /* each addition rounded, in a random order */
    if (sum && e->mode != EV_BOUNDS && !in_order) widen(e, f);
    if (e->mode != EV_BOUNDS) return in_order && (sum || (f->op == OP_MUL && sc_is_float(f->type)));
    const EvBound *acc = f->lanes[0];
    if (sum) {
        f->terms = WBB_NEW_N(e->block, EvTerms, f->n * f->parts);
        for (int64_t k = 0; k < f->n * f->parts; k++) {
            f->terms[k] = EV_NO_TERMS;
            if (!(acc[k].flags & EV_MUST_NAN)) ev_add_term(&f->terms[k], acc[k].lo.f, acc[k].hi.f);
        }
    } else if (f->op == OP_MUL && sc_is_float(f->type)) {
        f->above = WBB_NEW_N(e->block, double, f->n);
        f->below = WBB_NEW_N(e->block, double, f->n);
        f->digits = WBB_NEW_N(e->block, double, f->n);
        note_factors(f, NULL, f->n, acc);
    }
    return false;
}

static void add_bound(EvBound *a, const EvBound *x, EvTerms *terms)
{
    a->flags |= x->flags;
    if (x->flags & EV_MUST_NAN) return;
    bool opposite = (a->hi.f == (double)INFINITY && x->lo.f == -(double)INFINITY) ||
                    (a->lo.f == -(double)INFINITY && x->hi.f == (double)INFINITY);
    ev_add_term(terms, x->lo.f, x->hi.f);
    if (x->flags & EV_MAYBE_NAN) terms->unit = 0;
    if (opposite) {
        *a = (EvBound){{.f = -(double)INFINITY}, {.f = (double)INFINITY}, a->flags | EV_MAYBE_NAN};
    } else {
        a->lo.f += x->lo.f;
        a->hi.f += x->hi.f;
    }
}

static void add_bounds(EvFold *f, const uint32_t *lanes, int64_t n, const EvBound *x)
{
    EvBound *acc = f->lanes[0];
    for (int64_t k = 0; k < n; k++) {
        int64_t lane = lanes ? lanes[k] : k;
        for (int64_t p = 0; p < f->parts; p++)
            add_bound(&acc[lane * f->parts + p], &x[k * f->parts + p], &f->terms[lane * f->parts + p]);
    }
}

static void add_wide(Ev *part, EvFold *f, const uint32_t *lanes, int64_t n, const void *x)
{
    double *acc = f->lanes[0];
    const double *one = x;
    if (f->type != SC_F64) {
        double *wide = ev_lanes(part, (size_t)(n * f->parts) * sizeof *wide);
        ScLoop loop = sc_loop(OP_CVT, SC_F64, f->type);
        if (loop) loop((size_t)(n * f->parts), wide, x, NULL, NULL);
        else
            for (int64_t k = 0; k < n * f->parts; k++) wide[k] = sc_to_f64(f->type, ev_get(f->type, x, k));
        one = wide;
    }
    if (!lanes) {
        for (int64_t k = 0; k < n * f->parts; k++) acc[k] += one[k];
        return;
    }
    for (int64_t k = 0; k < n; k++)
        for (int64_t p = 0; p < f->parts; p++) acc[lanes[k] * f->parts + p] += one[k * f->parts + p];
}

/* Any computation: the accumulators of these lanes, the step, and back. */
static void apply(Ev *part, EvFold *f, const uint32_t *lanes, int64_t n, void *const *x)
{
    uint32_t arrays = f->n_arrays;
    void **operands = WBB_NEW_N(part->block, void *, 2 * arrays), **out = WBB_NEW_N(part->block, void *, arrays);
    for (uint32_t k = 0; k < arrays; k++) {
        size_t bytes = ev_lane_bytes(part->mode, f->types[k]);
        char *picked = f->lanes[k];
        if (lanes) picked = ev_lanes(part, (size_t)n * bytes);
        for (int64_t j = 0; lanes && j < n; j++) memcpy(picked + (size_t)j * bytes, (char *)f->lanes[k] + lanes[j] * bytes, bytes);
        operands[k] = ev_as(part, f->c->parameters[k]->shape->type, f->types[k], n, picked);
        operands[arrays + k] = ev_as(part, f->c->parameters[arrays + k]->shape->type, f->types[k], n, x[k]);
    }
    ScLoop loop = f->op != OP_NONE && part->mode != EV_BOUNDS && !part->noise ? sc_loop(f->op, f->type, f->type) : NULL;
    if (loop) {
        out[0] = ev_lanes(part, (size_t)n * sc_bytes(f->type));
        loop((size_t)n, out[0], operands[0], x[0], NULL);
    } else {
        ev_apply(part, f->c, n, operands, out);
    }
    for (uint32_t k = 0; k < arrays; k++) {
        size_t bytes = ev_lane_bytes(part->mode, f->types[k]);
        const char *made = loop ? out[k] : ev_as(part, f->types[k], ev_leaf_shape(f->c->root->shape, k)->type, n, out[k]);
        if (!lanes) memcpy(f->lanes[k], made, (size_t)n * bytes);
        for (int64_t j = 0; lanes && j < n; j++) memcpy((char *)f->lanes[k] + lanes[j] * bytes, made + (size_t)j * bytes, bytes);
    }
}

void ev_fold(Ev *part, EvFold *f, const uint32_t *lanes, int64_t n, void *const *x)
{
    f->steps++;
    if (f->terms) {
        add_bounds(f, lanes, n, x[0]);
    } else if (f->widened) {
        add_wide(part, f, lanes, n, x[0]);
    } else {
        if (f->above) note_factors(f, lanes, n, x[0]);
        apply(part, f, lanes, n, x);
    }
}

static const EvBound nothing_known = {{.f = -(double)INFINITY}, {.f = (double)INFINITY}, EV_MAYBE_NAN};

static void close_product(EvFold *f)
{
    EvBound *acc = f->lanes[0];
    double unit = ev_ulp(f->type, 1.0), top = log2(ev_largest(f->type)) - 1, least = log2(ev_ulp(f->type, 0)) - log2(unit) + 1;
    for (int64_t k = 0; k < f->n; k++) {
        EvBound *a = &acc[k];
        if (f->steps < 2) continue;
        if (f->digits[k] <= 1 - log2(unit) && f->above[k] <= top && (f->below[k] >= least || f->below[k] == -(double)INFINITY)) {
            if (f->below[k] == -(double)INFINITY) a->lo.f = -0.0, a->hi.f = 0.0;
            continue;
        }
        if (f->above[k] > top || f->below[k] < least) { /* also where this order made nan of an overflow */
            *a = nothing_known;
            continue;
        }
        if (a->flags & EV_MUST_NAN) continue;
        double grow = 1 + (double)f->steps * 2 * unit;
        a->lo.f = sc_to_f64(f->type, sc_from_f64(f->type, a->lo.f > 0 ? a->lo.f / grow : a->lo.f * grow));
        a->hi.f = sc_to_f64(f->type, sc_from_f64(f->type, a->hi.f > 0 ? a->hi.f * grow : a->hi.f / grow));
    }
}

void **ev_fold_end(Ev *e, EvFold *f)
{
    if (f->terms)
        for (int64_t k = 0; k < f->n * f->parts; k++) ev_close_sum(f->type, &((EvBound *)f->lanes[0])[k], f->terms[k], f->steps, 0);
    if (f->above) close_product(f);
    if (f->widened && f->type != SC_F64) {
        const double *acc = f->lanes[0];
        char *r = ev_lanes(e, (size_t)(f->n * f->parts) * sc_bytes(f->type));
        for (int64_t k = 0; k < f->n * f->parts; k++) ev_set(f->type, r, k, sc_from_f64(f->type, acc[k]));
        f->lanes[0] = r;
    }
    return f->lanes;
}
