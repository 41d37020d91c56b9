/* accumulate: the accumulators of a reduction, window or scatter, one for each lane.
 *
 * Needs: a computation of two times n_arrays scalars, and the elements, step by step: a step has at most one for each
 * lane. Leaves: the lanes of the accumulators.
 *
 * HLO leaves the order of a sum of floats open. In EV_PLAIN the sum is taken in f64 and rounded once, which lies in the
 * middle of what the orders give. EV_BOUNDS covers every order: the interval is the sum of the intervals, widened as
 * exact.c says, a product of floats or complex values as product.c says. Other computations are applied in the order of
 * the steps.
 *
 *     add on f32, lane 0: 0, then 3, 4, 5      12;   with bounds [12 - 4e-6, 12 + 4e-6]
 */
#include "eval/bounds.h"

#include <math.h>
#include <string.h>

struct EvAccumulator {
    const HloComputation *c;
    uint32_t n_arrays;
    uint32_t which, results; /* array 0 is this one of the computation's results; the others are not wanted */
    const ScType *types;
    int64_t n, parts; /* lanes; accumulators a lane: 2 for a sum of complex values, else 1 */
    void **lanes;     /* [n_arrays] */
    ScOp op;          /* the operation of a computation that is one operation on its two parameters, else OP_NONE */
    ScType type;      /* of the accumulators of array 0 */
    ScType result;    /* SC_NONE, or the type of the results, where a documented order has its steps in another one */
    bool widened;     /* EV_PLAIN, sums of floats: lanes[0] is f64 */
    EvTerms *terms;   /* EV_BOUNDS, sums of floats: for each accumulator */
    bool *flushed;    /* for each accumulator: a term was added by what takes subnormals for 0; NULL: nothing does */
    EvProduct *products; /* EV_BOUNDS, products of floats and complex values: of each accumulator */
    EvDisc *discs;       /* and of complex values */
    bool subtracts, divides; /* of updates: a sum of terms that are subtracted, a product of factors that divide */
    ScLoop loop;            /* rows: the operation, unless widened */
    const char *elements;   /* rows: all elements, converted as the accumulators are */
};

/* The operation that result `which` of `n` is, of accumulator and element `which`. */
static ScOp single_op(const HloComputation *c, uint32_t which, uint32_t n, ScType type)
{
    const HloInstruction *r = c->root;
    if (n > 1 && (r->opcode != HLO_TUPLE || r->n_operands != n)) return OP_NONE;
    if (n > 1) r = r->operands[which];
    if (r->shape->type != type || c->n_parameters != 2 * n || c->parameters[which]->shape->type != type ||
        c->parameters[n + which]->shape->type != type)
        return OP_NONE;
    if (r->n_operands != 2 || !hlo_is_elementwise(r->opcode) || r->opcode == HLO_COMPARE) return OP_NONE;
    const int64_t pair[2] = {which, n + which};
    bool swapped = r->operands[0]->opcode == HLO_PARAMETER && r->operands[0]->number == pair[1];
    ScOp op = hlo_scalar(r->opcode);
    for (uint32_t k = 0; k < 2; k++)
        if (r->operands[k]->opcode != HLO_PARAMETER || r->operands[k]->number != pair[swapped ? 1 - k : k])
            return OP_NONE;
    return op == OP_NONE || (swapped && !sc_op_info[op].commutative) ? OP_NONE : op;
}

EvAccumulator *ev_acc_new(Ev *e, const HloComputation *c, uint32_t n_arrays, const ScType *types, int64_t n)
{
    EvAccumulator *a = WBB_NEW(e->block, EvAccumulator);
    *a = (EvAccumulator){.c = c,
                         .n_arrays = n_arrays,
                         .results = n_arrays,
                         .types = types,
                         .n = n,
                         .parts = 1,
                         .op = n_arrays == 1 ? single_op(c, 0, 1, types[0]) : OP_NONE};
    a->type = ev_lane_type(e->mode, types[0]);
    a->lanes = WBB_NEW_N(e->block, void *, n_arrays);
    return a;
}

EvAccumulator *ev_acc_of_result(Ev *e, const HloComputation *c, uint32_t which, uint32_t n_arrays, const ScType *types,
                                int64_t n)
{
    const ScOp op = single_op(c, which, n_arrays, types[which]);
    if (op == OP_NONE) return NULL;
    EvAccumulator *a = ev_acc_new(e, c, 1, types + which, n);
    a->op = op, a->which = which, a->results = n_arrays;
    return a;
}

void ev_acc_init(Ev *e, EvAccumulator *a, uint32_t array, const void *lanes, int64_t n)
{
    size_t bytes = ev_lane_bytes(e->mode, a->types[array]);
    char *acc = ev_lanes(e, wbb_mul_size(e->arena, (size_t)a->n, bytes));
    if (n == 1) ev_fill(acc, lanes, bytes, a->n);
    else memcpy(acc, lanes, (size_t)a->n * bytes);
    a->lanes[array] = acc;
}

void *ev_acc_lanes(Ev *part, const EvAccumulator *a, uint32_t array, EvRef operand, const EvSet *set)
{
    const EvRef r = ev_part_ref(part, operand);
    return ev_as(part, a->types[array], ev_ref_shape(r)->type, set->n, ev_demand(part, r, set));
}

/* Converts the accumulators of a sum to f64. */
static void widen(Ev *e, EvAccumulator *a)
{
    int64_t n = a->n * a->parts;
    double *acc = ev_lanes(e, (size_t)n * sizeof *acc);
    ev_doubles(a->type, acc, a->lanes[0], n);
    a->lanes[0] = acc;
    a->widened = true;
}

static void note_factors(EvAccumulator *a, const uint32_t *lanes, int64_t n, const EvBound *x)
{
    for (int64_t k = 0; k < n; k++) {
        const int64_t lane = lanes ? lanes[k] : k;
        if (a->divides && lanes) ev_note_divisor(&a->products[lane], &x[k]);
        else if (a->discs)
            ev_note_complex_factor(ev_part_type(a->type), &a->products[lane], &a->discs[lane], &x[2 * k]);
        else ev_note_factor(&a->products[lane], &x[k]);
    }
}

static void begin_products(Ev *e, EvAccumulator *a, bool complex)
{
    a->products = WBB_NEW_N(e->block, EvProduct, a->n + 1);
    if (complex) a->discs = WBB_NEW_N(e->block, EvDisc, a->n + 1);
    for (int64_t k = 0; complex && k < a->n; k++) a->discs[k] = EV_UNIT_DISC;
    note_factors(a, NULL, a->n, a->lanes[0]);
}

/* The steps are of type t: the terms and initial values become that, and in the end the results what they were. */
static void hold(Ev *e, EvAccumulator *a, ScType t)
{
    ScType *types = WBB_NEW(e->block, ScType);
    a->result = a->types[0];
    a->lanes[0] = ev_as(e, t, a->result, a->n, a->lanes[0]);
    a->type = *types = t;
    a->op = hlo_scalar(a->c->root->opcode);
    a->types = types;
}

size_t ev_acc_bytes(const Ev *e, const EvAccumulator *a, uint32_t array)
{
    return ev_lane_bytes(e->mode, a->types[array]);
}

bool ev_acc_any_order(EvAccumulator *a)
{
    const bool complex = sc_type_info[a->type].cls == 'C', rounds = complex || sc_is_float(a->type);
    switch (a->op) {
    case OP_ADD: case OP_MUL: case OP_MAX: case OP_MIN: case OP_BAND: case OP_BOR: case OP_BXOR: return true;
    case OP_SUB: a->subtracts = rounds; return true;
    case OP_DIV: return a->divides = rounds && !complex;
    default: return false;
    }
}

bool ev_acc_begin(Ev *e, EvAccumulator *a, const EvSerial *serial)
{
    if (serial && serial->type != SC_NONE && !serial->fused) hold(e, a, serial->type);
    if (serial) return false;
    bool complex = sc_type_info[a->type].cls == 'C';
    const bool sum = a->subtracts || (a->op == OP_ADD && (sc_is_float(a->type) || complex));
    if (sum && complex) {
        a->parts = 2;
        a->type = ev_part_type(a->type);
    }
    bool step_by_step = e->noise && ev_random(e) % 2; /* each addition is rounded, and the order is random */
    if (sum && e->mode != EV_BOUNDS && !step_by_step) widen(e, a);
    const bool product = a->divides || (a->op == OP_MUL && (sc_is_float(a->type) || complex));
    if (e->mode != EV_BOUNDS) return step_by_step && (sum || product);
    const EvBound *acc = a->lanes[0];
    if (sum) {
        a->terms = WBB_NEW_N(e->block, EvTerms, a->n * a->parts);
        for (int64_t k = 0; k < a->n * a->parts; k++) {
            a->terms[k] = EV_NO_TERMS;
            if (!(acc[k].flags & EV_MUST_NAN)) ev_add_term(&a->terms[k], acc[k].lo.f, acc[k].hi.f);
        }
    } else if (product) {
        begin_products(e, a, complex);
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

/* n parts of accumulators that lie side by side, from number `at` on. */
static void add_bounds(EvAccumulator *a, int64_t at, int64_t n, const EvBound *x)
{
    EvBound *acc = (EvBound *)a->lanes[0] + at;
    EvTerms *terms = a->terms + at;
    for (int64_t k = 0; k < n; k++) add_bound(&acc[k], &x[k], &terms[k]);
}

/* The terms of a sum: those of a computation that subtracts have the other sign. */
static EvBound term(const EvAccumulator *a, EvBound x)
{
    if (a->subtracts) return (EvBound){{.f = -x.hi.f}, {.f = -x.lo.f}, x.flags};
    return x;
}

static const double *as_doubles(Ev *part, const EvAccumulator *a, const void *x, int64_t n)
{
    if (a->type == SC_F64) return x;
    double *wide = ev_lanes(part, (size_t)n * sizeof *wide);
    ev_doubles(a->type, wide, x, n);
    return wide;
}

/* The operation itself, where the computation is one and every step takes it. */
static ScLoop own_loop(const Ev *e, const EvAccumulator *a)
{
    const bool plain = a->op != OP_NONE && e->mode != EV_BOUNDS && !e->noise;
    return plain ? sc_loop(a->op, a->type, a->type) : NULL;
}

/* The operation on n lanes of the accumulators' type and as many elements; false: the computation has to be applied. */
static bool operate(Ev *part, const EvAccumulator *a, int64_t n, const void *lanes, const void *x, void *out)
{
    const ScLoop loop = own_loop(part, a);
    if (loop) {
        loop((size_t)n, out, lanes, x, NULL);
        return true;
    }
    for (int64_t k = 0; k < n && a->result != SC_NONE; k++) {
        const EvBound pair[2] = {((const EvBound *)lanes)[k], ((const EvBound *)x)[k]};
        ((EvBound *)out)[k] = ev_bound_op(a->op, a->type, a->type, pair, part->accuracy);
    }
    return a->result != SC_NONE;
}

/* Any computation: applies it to the accumulators of these lanes and the elements of the step. */
static void apply(Ev *part, EvAccumulator *a, const uint32_t *lanes, int64_t n, void *const *x)
{
    const uint32_t arrays = a->n_arrays, all = a->results;
    void **operands = WBB_NEW_N(part->block, void *, 2 * all), **out = WBB_NEW_N(part->block, void *, all);
    for (uint32_t k = 0; k < 2 * all && all > arrays; k++) { /* of the results that are not wanted */
        const size_t bytes = (size_t)n * ev_lane_bytes(part->mode, a->c->parameters[k]->shape->type);
        operands[k] = memset(ev_lanes(part, bytes), 0, bytes);
    }
    out[0] = ev_lanes(part, (size_t)n * ev_acc_bytes(part, a, 0));
    for (uint32_t k = 0; k < arrays; k++) {
        size_t bytes = ev_acc_bytes(part, a, k);
        char *picked = a->lanes[k];
        if (lanes) picked = ev_lanes(part, (size_t)n * bytes);
        for (int64_t j = 0; lanes && j < n; j++)
            memcpy(picked + (size_t)j * bytes, (char *)a->lanes[k] + lanes[j] * bytes, bytes);
        const uint32_t own = a->which + k, second = all + own;
        const bool held = a->result != SC_NONE;
        operands[own] = held ? picked : ev_as(part, a->c->parameters[own]->shape->type, a->types[k], n, picked);
        operands[second] = held ? x[k] : ev_as(part, a->c->parameters[second]->shape->type, a->types[k], n, x[k]);
    }
    const bool done = operate(part, a, n, operands[a->which], x[0], out[0]);
    if (!done) ev_apply(part, a->c, n, operands, out);
    for (uint32_t k = 0; k < arrays; k++) {
        size_t bytes = ev_acc_bytes(part, a, k);
        const uint32_t own = a->which + k;
        const char *made =
            done ? out[k] : ev_as(part, a->types[k], ev_leaf_shape(a->c->root->shape, own)->type, n, out[own]);
        if (!lanes) memcpy(a->lanes[k], made, (size_t)n * bytes);
        for (int64_t j = 0; lanes && j < n; j++)
            memcpy((char *)a->lanes[k] + lanes[j] * bytes, made + (size_t)j * bytes, bytes);
    }
}

void ev_acc_add(Ev *part, EvAccumulator *a, const uint32_t *lanes, int64_t n, void *const *x)
{
    const int64_t p = a->parts;
    if (!lanes) {
        ev_acc_add_steps(part, a, 0, n, 1, x);
        return;
    }
    if (a->terms) {
        for (int64_t k = 0; k < n * p; k++) {
            const EvBound one = term(a, ((const EvBound *)x[0])[k]);
            add_bounds(a, lanes[k / p] * p + k % p, 1, &one);
        }
        for (int64_t k = 0; a->flushed && k < n * p; k++) a->flushed[lanes[k / p] * p + k % p] = true;
    } else if (a->widened) {
        const double *wide = as_doubles(part, a, x[0], n * p);
        double *acc = a->lanes[0];
        for (int64_t k = 0; k < n * p; k++) acc[lanes[k / p] * p + k % p] += a->subtracts ? -wide[k] : wide[k];
    } else {
        if (a->products) note_factors(a, lanes, n, x[0]);
        apply(part, a, lanes, n, x);
    }
}

/* Steps of any computation, one by one. */
static void apply_steps(Ev *part, EvAccumulator *a, int64_t lane, int64_t n, int64_t steps, void *const *x)
{
    void **one = WBB_NEW_N(part->block, void *, a->n_arrays);
    uint32_t *lanes = n == a->n ? NULL : ev_lanes(part, (size_t)n * sizeof *lanes);
    for (int64_t k = 0; lanes && k < n; k++) lanes[k] = (uint32_t)(lane + k);
    for (int64_t s = 0; s < steps; s++) {
        for (uint32_t k = 0; k < a->n_arrays; k++)
            one[k] = (char *)x[k] + (size_t)(s * n) * ev_lane_bytes(part->mode, a->types[k]);
        if (a->products) note_factors(a, lanes, n, one[0]);
        apply(part, a, lanes, n, one);
    }
}

int64_t ev_acc_wide(const Ev *e, const EvAccumulator *a)
{
    return a->terms || a->widened ? 1 : own_loop(e, a) ? 64 : 512;
}

void ev_acc_add_steps(Ev *part, EvAccumulator *a, int64_t lane, int64_t n, int64_t steps, void *const *x)
{
    const int64_t at = lane * a->parts, width = n * a->parts;
    const ScLoop loop = own_loop(part, a);
    if (a->terms) {
        for (int64_t s = 0; s < steps; s++) add_bounds(a, at, width, (const EvBound *)x[0] + s * width);
    } else if (a->widened) {
        const double *wide = as_doubles(part, a, x[0], width * steps);
        double *acc = (double *)a->lanes[0] + at;
        for (int64_t s = 0; s < steps; s++, wide += width)
            for (int64_t k = 0; k < width; k++) acc[k] += wide[k];
    } else if (loop) {
        const size_t bytes = sc_bytes(a->type);
        char *acc = (char *)a->lanes[0] + (size_t)lane * bytes;
        for (int64_t s = 0; s < steps; s++) loop((size_t)n, acc, acc, (char *)x[0] + (size_t)(s * n) * bytes, NULL);
    } else {
        apply_steps(part, a, lane, n, steps, x);
    }
}

static void close_products(EvAccumulator *a)
{
    EvBound *acc = a->lanes[0];
    for (int64_t k = 0; k < a->n; k++) {
        if (a->discs) ev_close_complex_product(ev_part_type(a->type), &a->products[k], &a->discs[k], &acc[2 * k]);
        else ev_close_product(a->type, &a->products[k], &acc[k]);
    }
}

void ev_acc_flush(Ev *e, EvAccumulator *a)
{
    if (a->terms && a->type == SC_F32 && !a->subtracts) a->flushed = WBB_NEW_N(e->block, bool, a->n * a->parts + 1);
}

/* Each term, and the sums before and after it, may lose up to the smallest normal float. What are multiples of that
 * have sums that are, too, and lose nothing. */
static void lose_subnormals(EvBound *b, EvTerms terms)
{
    const double least = 0x1p-126, lost = 3 * (double)(terms.n + 1) * least;
    if (b->flags & EV_MUST_NAN || (terms.unit >= least && terms.unit > 0)) return;
    if (isfinite(b->lo.f)) b->lo.f = sc_to_f64(SC_F32, sc_from_f64(SC_F32, b->lo.f - lost));
    if (isfinite(b->hi.f)) b->hi.f = sc_to_f64(SC_F32, sc_from_f64(SC_F32, b->hi.f + lost));
}

void **ev_acc_end(Ev *e, EvAccumulator *a)
{
    for (int64_t k = 0; a->terms && k < a->n * a->parts; k++) {
        EvBound *b = &((EvBound *)a->lanes[0])[k];
        ev_close_sum(a->type, b, a->terms[k], a->terms[k].n, 1, 0);
        if (a->flushed && a->flushed[k]) lose_subnormals(b, a->terms[k]);
    }
    if (a->products) close_products(a);
    if (a->widened && a->type != SC_F64) {
        const double *acc = a->lanes[0];
        char *r = ev_lanes(e, (size_t)(a->n * a->parts) * sc_bytes(a->type));
        for (int64_t k = 0; k < a->n * a->parts; k++) ev_set(a->type, r, k, sc_from_f64(a->type, acc[k]));
        a->lanes[0] = r;
    }
    if (a->result != SC_NONE) a->lanes[0] = ev_as(e, a->result, a->type, a->n, a->lanes[0]);
    return a->lanes;
}

bool ev_acc_takes_rows(const Ev *e, const HloComputation *c, uint32_t n_arrays, ScType type)
{
    const ScType t = ev_lane_type(e->mode, type);
    const ScOp op = n_arrays == 1 ? single_op(c, 0, 1, type) : OP_NONE;
    if (e->noise || op == OP_NONE || sc_type_info[t].cls == 'C') return false;
    return e->mode == EV_BOUNDS || (op == OP_ADD && sc_is_float(t)) || sc_loop(op, t, t);
}

void ev_acc_elements(Ev *e, EvAccumulator *a, void *lanes, int64_t n)
{
    if (a->widened) {
        double *wide = ev_lanes(e, wbb_mul_size(e->arena, (size_t)n, sizeof *wide));
        ev_doubles(a->type, wide, lanes, n);
        lanes = wide;
    } else {
        a->loop = own_loop(e, a);
    }
    a->elements = lanes;
}

/* The same for intervals. */
static void add_row_of_bounds(const Ev *e, EvAccumulator *a, int64_t lane, int64_t n, const EvBound *x, int64_t step)
{
    EvBound *acc = (EvBound *)a->lanes[0] + lane;
    if (a->terms) {
        for (int64_t k = 0; k < n; k++) add_bound(&acc[k], &x[k * step], &a->terms[lane + k]);
        return;
    }
    for (int64_t k = 0; k < n; k++) {
        const uint32_t at = (uint32_t)(lane + k);
        const EvBound pair[2] = {acc[k], x[k * step]};
        if (a->products) note_factors(a, &at, 1, &x[k * step]);
        acc[k] = ev_bound_op(a->op, a->type, a->type, pair, e->accuracy);
    }
}

void ev_acc_add_row(Ev *part, EvAccumulator *a, int64_t lane, int64_t n, int64_t position, int64_t step)
{
    if (part->mode == EV_BOUNDS) {
        add_row_of_bounds(part, a, lane, n, (const EvBound *)(const void *)a->elements + position, step);
        return;
    }
    if (a->widened) {
        double *acc = (double *)a->lanes[0] + lane;
        const double *x = (const double *)(const void *)a->elements + position;
        if (step == 1)
            for (int64_t k = 0; k < n; k++) acc[k] += x[k];
        else
            for (int64_t k = 0; k < n; k++) acc[k] += x[k * step];
        return;
    }
    const size_t bytes = sc_bytes(a->type);
    char *acc = (char *)a->lanes[0] + (size_t)lane * bytes;
    const char *x = a->elements + (size_t)position * bytes;
    uint64_t line[EV_ROW];
    if (step != 1) {
        for (int64_t k = 0; k < n; k++) memcpy((char *)line + (size_t)k * bytes, x + (size_t)(k * step) * bytes, bytes);
        x = (char *)line;
    }
    a->loop((size_t)n, acc, acc, x, NULL);
}

void ev_acc_copy_row(const Ev *e, EvAccumulator *a, int64_t to, int64_t from, int64_t n)
{
    const size_t bytes = a->widened ? sizeof(double) : ev_lane_bytes(e->mode, a->type);
    memcpy((char *)a->lanes[0] + (size_t)to * bytes, (char *)a->lanes[0] + (size_t)from * bytes, (size_t)n * bytes);
    if (a->terms) memcpy(a->terms + to, a->terms + from, (size_t)n * sizeof *a->terms);
    if (a->products) memcpy(a->products + to, a->products + from, (size_t)n * sizeof *a->products);
}
