/* mac: sums of products, for dot and convolution.
 *
 * Needs: for each result the segments of the operands whose products it sums. Leaves: the wanted lanes.
 *
 * Floats are multiplied and added in f64 and rounded once, as sums are in accumulate.c; integers modulo 2^64, then cut;
 * pred and integers mix. In EV_BOUNDS the products are intervals and their sum is taken in any order, each product
 * rounded or not. Where few results of large operands are wanted, only their elements are demanded; else the operands
 * are computed whole, once.
 */
#include "eval/bounds.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 1 << 16, KIND_SHIFT = 24, MANY_RESULTS = 256 };
static const uint32_t widened = UINT32_C(1) << 31; /* a widened operand is kept under leaf | widened | kind */

typedef enum { FLOATS, INTEGERS, COMPLEX, BOUNDS, COMPLEX_BOUNDS } Kind;

static const size_t wide_bytes[] = {sizeof(double), sizeof(int64_t), 2 * sizeof(double), sizeof(EvBound),
                                    2 * sizeof(EvBound)};

/* The sum for one result: [0] re, [1] im. */
typedef struct {
    double f[2];
    uint64_t i;
    bool unknown; /* EV_BOUNDS, integers: some factor is an interval */
    EvBound b[2];
    EvTerms terms[2];
    int64_t additions;
} Sum;

static Kind kind_of(const Ev *e, const HloInstruction *i)
{
    bool complex = false, all_ints = true;
    for (int p = 0; p < 2; p++) {
        char cls = sc_type_info[i->operands[p]->shape->type].cls;
        complex = complex || cls == 'C';
        all_ints = all_ints && cls != 'C' && cls != 'F';
    }
    if (e->mode == EV_BOUNDS) return complex ? COMPLEX_BOUNDS : BOUNDS;
    return complex ? COMPLEX : all_ints ? INTEGERS : FLOATS;
}

/* Lanes as what is multiplied: doubles, 64-bit integers, pairs of doubles, intervals. */
static void widen(const Ev *e, Kind kind, ScType own, const void *lanes, int64_t n, void *to)
{
    ScType t = ev_lane_type(e->mode, own), part = ev_part_type(t);
    double *f = to;
    if (kind == BOUNDS || (kind == COMPLEX_BOUNDS && part != t)) {
        memcpy(to, lanes, (size_t)n * ev_lane_bytes(EV_BOUNDS, own));
        return;
    }
    for (int64_t k = 0; k < n; k++) {
        uint64_t bits = part == t ? ev_get(t, lanes, k) : 0;
        switch (kind) {
        case INTEGERS: ((int64_t *)to)[k] = (int64_t)sc_to_i128(t, bits); break;
        case FLOATS: f[k] = sc_to_f64(t, bits); break;
        case COMPLEX:
            f[2 * k] = part == t ? sc_to_f64(t, bits) : sc_to_f64(part, ev_get(part, lanes, 2 * k));
            f[2 * k + 1] = part == t ? 0 : sc_to_f64(part, ev_get(part, lanes, 2 * k + 1));
            break;
        default: /* a real factor of a complex product, as intervals */
            ((EvBound *)to)[2 * k] = ((const EvBound *)lanes)[k];
            ((EvBound *)to)[2 * k + 1] = ev_bound_exact(SC_F64, 0);
        }
    }
}

static void add_product(EvBound *sum, EvTerms *terms, const EvBound *a, const EvBound *b, bool negative)
{
    double least = (double)INFINITY, largest = -(double)INFINITY;
    sum->flags |= a->flags | b->flags;
    if ((a->flags | b->flags) & EV_MUST_NAN) return;
    for (int k = 0; k < 4; k++) {
        double p = (k & 1 ? a->hi.f : a->lo.f) * (k & 2 ? b->hi.f : b->lo.f);
        if (isnan(p)) {
            sum->flags |= EV_MAYBE_NAN;
            least = -(double)INFINITY, largest = (double)INFINITY;
            break;
        }
        least = ev_least(least, p);
        largest = ev_most(largest, p);
    }
    double low = negative ? -largest : least, high = negative ? -least : largest;
    ev_add_term(terms, low, high);
    if ((isinf(low) || isinf(high)) && isfinite(a->lo.f) && isfinite(a->hi.f) && isfinite(b->lo.f) && isfinite(b->hi.f))
        terms->magnitude = (double)INFINITY; /* unrounded it is a number, and other terms may bring the sum back */
    if (low == high && fma(a->lo.f, b->lo.f, negative ? low : -low) != 0) terms->unit = 0; /* rounded to a double */
    if ((a->flags | b->flags) & EV_MAYBE_NAN) terms->unit = 0;
    if ((sum->hi.f == (double)INFINITY && low == -(double)INFINITY) ||
        (sum->lo.f == -(double)INFINITY && high == (double)INFINITY)) {
        *sum = (EvBound){{.f = -(double)INFINITY}, {.f = (double)INFINITY}, sum->flags | EV_MAYBE_NAN};
        return;
    }
    sum->lo.f += low;
    sum->hi.f += high;
}

static void multiply_bounds(Sum *s, ScType x, ScType y, const EvBound *a, const EvBound *b)
{
    uint64_t bits[2];
    if (sc_is_float(x) || sc_is_float(y)) {
        EvBound u = sc_is_float(x) ? *a : ev_bound_convert(SC_F64, x, a),
                v = sc_is_float(y) ? *b : ev_bound_convert(SC_F64, y, b);
        add_product(&s->b[0], &s->terms[0], &u, &v, false);
        return;
    }
    if (!ev_bound_single(x, a, &bits[0]) || !ev_bound_single(y, b, &bits[1])) s->unknown = true;
    else s->i += (uint64_t)(sc_to_i128(x, bits[0]) * sc_to_i128(y, bits[1]));
}

static double fused(ScType t, double x, double y, double sum)
{
    return t == SC_F32 ? fmaf((float)x, (float)y, (float)sum) : fma(x, y, sum);
}

/* Adds n products in the order and by the additions that the kernel documents. Rounding is monotone, so the ends of the
 * factors and of the sum so far give the ends of the next sum. */
static void multiply_serial(const EvSerial *serial, Kind kind, Sum *s, const char *a, int64_t sa, const char *b,
                            int64_t sb, int64_t n)
{
    if (kind == FLOATS) {
        const double *x = (const void *)a, *y = (const void *)b;
        for (int64_t k = 0; k < n; k++) s->f[0] = fused(serial->type, x[k * sa], y[k * sb], s->f[0]);
        return;
    }
    const EvBound *x = (const void *)a, *y = (const void *)b;
    for (int64_t k = 0; k < n; k++) {
        const EvBound *u = &x[k * sa], *v = &y[k * sb], old = s->b[0];
        EvBound *sum = &s->b[0];
        sum->flags |= u->flags | v->flags;
        if (sum->flags & EV_MUST_NAN) return;
        sum->lo.f = (double)INFINITY, sum->hi.f = -(double)INFINITY;
        for (int corner = 0; corner < 8; corner++) {
            const double r = fused(serial->type, corner & 1 ? u->hi.f : u->lo.f, corner & 2 ? v->hi.f : v->lo.f,
                                   corner & 4 ? old.hi.f : old.lo.f);
            if (isnan(r)) {
                sum->flags |= EV_MAYBE_NAN;
                sum->lo.f = -(double)INFINITY, sum->hi.f = (double)INFINITY;
                break;
            }
            sum->lo.f = ev_least(sum->lo.f, r);
            sum->hi.f = ev_most(sum->hi.f, r);
        }
    }
}

/* Adds n products. a and b: widened elements, sa and sb elements apart. */
static void multiply(const EvSerial *serial, Kind kind, const HloInstruction *i, Sum *s, const char *a, int64_t sa,
                     const char *b, int64_t sb, int64_t n)
{
    s->additions += n;
    if (serial) {
        multiply_serial(serial, kind, s, a, sa, b, sb, n);
        return;
    }
    switch (kind) {
    case FLOATS: {
        const double *x = (const void *)a, *y = (const void *)b;
        double sum = s->f[0];
        for (int64_t k = 0; k < n; k++) sum += x[k * sa] * y[k * sb];
        s->f[0] = sum;
        break;
    }
    case INTEGERS: {
        const uint64_t *x = (const void *)a, *y = (const void *)b;
        uint64_t sum = s->i;
        for (int64_t k = 0; k < n; k++) sum += x[k * sa] * y[k * sb];
        s->i = sum;
        break;
    }
    case COMPLEX: {
        const double *x = (const void *)a, *y = (const void *)b;
        for (int64_t k = 0; k < n; k++) {
            const double *u = x + 2 * k * sa, *v = y + 2 * k * sb;
            s->f[0] += u[0] * v[0] - u[1] * v[1];
            s->f[1] += u[0] * v[1] + u[1] * v[0];
        }
        break;
    }
    case BOUNDS: {
        const EvBound *x = (const void *)a, *y = (const void *)b;
        for (int64_t k = 0; k < n; k++)
            multiply_bounds(s, i->operands[0]->shape->type, i->operands[1]->shape->type, &x[k * sa], &y[k * sb]);
        break;
    }
    case COMPLEX_BOUNDS: {
        const EvBound *x = (const void *)a, *y = (const void *)b;
        for (int64_t k = 0; k < n; k++)
            for (int re = 0; re < 2; re++)
                for (int im = 0; im < 2; im++) {
                    int part = re ^ im;
                    add_product(&s->b[part], &s->terms[part], &x[2 * k * sa + re], &y[2 * k * sb + im], re && im);
                }
        break;
    }
    }
}

/* A perturbed sum of products: each addition is rounded; random numbers decide the order and whether the products are
 * rounded. [0] re, [1] im. */
typedef struct {
    double *items[2];
    int64_t n[2];
} Terms;

static void add_terms(Kind kind, Terms *t, const char *a, int64_t sa, const char *b, int64_t sb, int64_t n)
{
    const double *x = (const void *)a, *y = (const void *)b;
    for (int64_t k = 0; k < n; k++) {
        if (kind == FLOATS) {
            t->items[0][t->n[0]++] = x[k * sa] * y[k * sb];
            continue;
        }
        const double *u = x + 2 * k * sa, *v = y + 2 * k * sb;
        t->items[0][t->n[0]++] = u[0] * v[0];
        t->items[0][t->n[0]++] = -u[1] * v[1];
        t->items[1][t->n[1]++] = u[0] * v[1];
        t->items[1][t->n[1]++] = u[1] * v[0];
    }
}

static void sum_terms(Ev *e, ScType part, Terms *t, Sum *s)
{
    const bool rounded = ev_random(e) % 2;
    for (int p = 0; p < 2; p++) {
        double *x = t->items[p], sum = 0;
        for (int64_t remaining = t->n[p]; remaining > 0; remaining--) {
            const int64_t k = (int64_t)(ev_random(e) % (uint64_t)remaining);
            const double one = rounded ? sc_to_f64(part, sc_from_f64(part, x[k])) : x[k];
            x[k] = x[remaining - 1];
            sum = sc_to_f64(part, sc_from_f64(part, sum + one));
        }
        s->f[p] = sum;
        t->n[p] = 0;
    }
}

static Terms *new_terms(Ev *e, Kind kind, const EvProducts *p)
{
    if (!e->noise || (kind != FLOATS && kind != COMPLEX) || ev_random(e) % 2) return NULL;
    Terms *t = WBB_NEW(e->block, Terms);
    const int64_t each = kind == COMPLEX ? 2 : 1;
    for (int64_t k = 0; k < each; k++)
        t->items[k] = ev_lanes(e, wbb_mul_size(e->arena, (size_t)(each * p->segments * p->count), sizeof(double)));
    return t;
}

/* An exact number as the result's type; integers wrap. */
static EvBound narrowed(ScType t, const Sum *s, int part, bool serial, double roundings)
{
    EvBound b = s->b[part];
    if (serial) return ev_bound_narrow(t, b);
    if (!sc_is_float(t)) return ev_bound_any(t);
    ev_close_products(t, &b, s->terms[part], s->additions, roundings);
    return b;
}

static void store(const Ev *e, const EvSerial *serial, Kind kind, const HloInstruction *i, const Sum *s, void *lanes,
                  int64_t k)
{
    ScType own = i->shape->type, t = ev_lane_type(e->mode, own), part = ev_part_type(t);
    EvBound *bounds = lanes;
    bool ints = !sc_is_float(i->operands[0]->shape->type) && !sc_is_float(i->operands[1]->shape->type);
    switch (kind) {
    case FLOATS: ev_set(t, lanes, k, sc_from_f64(t, s->f[0])); break;
    case INTEGERS: ev_set(t, lanes, k, sc_from_i128(t, (int64_t)s->i)); break;
    case COMPLEX:
        ev_set(part, lanes, 2 * k, sc_from_f64(part, s->f[0]));
        ev_set(part, lanes, 2 * k + 1, sc_from_f64(part, s->f[1]));
        break;
    case BOUNDS:
        if (!ints) bounds[k] = narrowed(own, s, 0, serial != NULL, ev_roundings(e, i));
        else bounds[k] = s->unknown ? ev_bound_any(own) : ev_bound_exact(own, sc_from_i128(own, (int64_t)s->i));
        break;
    case COMPLEX_BOUNDS:
        for (int p = 0; p < 2; p++) {
            Sum twice = *s;
            twice.additions *= 2;
            bounds[2 * k + p] = narrowed(ev_part_type(own), &twice, p, false, 1);
        }
        break;
    }
}

/* All elements of the operand, widened and kept. */
static char *widened_operand(Ev *e, EvTask *t, Kind kind, uint32_t operand)
{
    EvRef r = ev_operand(e, t, operand);
    uint32_t leaf = r.leaf | widened | (uint32_t)kind << KIND_SHIFT;
    char *kept = ev_kept(r, leaf);
    if (kept) return kept;
    ev_must_keep(e);
    const HloShape *s = ev_ref_shape(r);
    int64_t n = hlo_elements(s);
    const void *lanes = ev_all(e, r);
    kept = wbb_alloc(e->kept_arena, wbb_mul_size(e->kept_arena, (size_t)n, wide_bytes[kind]));
    widen(e, kind, s->type, lanes, n, kept);
    ev_keep(e, r, leaf, kept);
    return kept;
}

/* The widened elements of one operand at these positions. */
static char *picked(Ev *e, Ev *part, EvTask *t, Kind kind, uint32_t operand, const int64_t *list, int64_t n)
{
    EvRef r = ev_part_ref(part, ev_operand(e, t, operand));
    const void *lanes = ev_demand(part, r, ev_list_set(part, list, n));
    char *made = ev_lanes(part, (size_t)n * wide_bytes[kind]);
    widen(part, kind, ev_ref_shape(r)->type, lanes, n, made);
    return made;
}

/* Computes results [from, ..) from demanded elements only; returns how many. */
static int64_t some(Ev *e, Ev *part, EvTask *t, const EvSerial *serial, Kind kind, const EvProducts *p, Terms *terms,
                    EvWalk *walk, int64_t from, char *lanes)
{
    ev_begin(part);
    int64_t each = wbb_mul_size(part->arena, (size_t)p->segments, (size_t)WBB_MAX(p->count, 1)) > CHUNK
                       ? 1
                       : CHUNK / (p->segments * WBB_MAX(p->count, 1));
    int64_t count = WBB_MIN(each, t->set->n - from), n = 0, done = 0;
    int64_t *products = ev_list(part, count), *list[2];
    for (int k = 0; k < 2; k++) list[k] = ev_list(part, count * p->segments * p->count);
    for (int64_t k = 0; k < count; k++) {
        const int64_t *at = ev_walk_to(walk, ev_position(t->set, from + k)), before = n;
        int64_t position[2];
        for (int64_t j = 0; j < p->segments; j++) {
            if (!p->find(p->arg, at, j, position)) continue;
            for (int64_t m = 0; m < p->count; m++, n++)
                for (int o = 0; o < 2; o++) list[o][n] = position[o] + m * p->step[o];
        }
        products[k] = n - before;
    }
    char *x[2] = {NULL, NULL};
    for (uint32_t k = 0; k < 2 && n; k++) x[k] = picked(e, part, t, kind, k, list[k], n);
    for (int64_t k = 0; k < count; done += products[k++]) {
        Sum s = {.terms = {EV_NO_TERMS, EV_NO_TERMS}};
        size_t at = (size_t)done * wide_bytes[kind];
        if (products[k] && terms) add_terms(kind, terms, x[0] + at, 1, x[1] + at, 1, products[k]);
        else if (products[k]) multiply(serial, kind, t->ref.i, &s, x[0] + at, 1, x[1] + at, 1, products[k]);
        if (terms) sum_terms(e, ev_part_type(t->ref.i->shape->type), terms, &s);
        store(e, serial, kind, t->ref.i, &s, lanes, from + k);
    }
    ev_end(part);
    return count;
}

/* The sums of products of some results, from all elements of the operands. */
typedef struct {
    EvTask *t;
    const EvProducts *p;
    const EvSerial *serial;
    Kind kind;
    const char *x[2];
    Terms *terms;
    char *lanes;
} Results;

enum { RESULTS = 1024 }; /* computed by a thread at once */

static void compute_results(Ev *part, void *arg, int64_t block)
{
    const Results *s = arg;
    const HloInstruction *i = s->t->ref.i;
    const EvProducts *p = s->p;
    const int64_t bytes = (int64_t)wide_bytes[s->kind], end = WBB_MIN((block + 1) * RESULTS, s->t->set->n);
    EvWalk walk = ev_walk(i->shape);
    for (int64_t k = block * RESULTS; k < end; k++) {
        Sum sum = {.terms = {EV_NO_TERMS, EV_NO_TERMS}};
        const int64_t *at = ev_walk_to(&walk, ev_position(s->t->set, k));
        int64_t position[2];
        for (int64_t j = 0; j < p->segments; j++) {
            if (!p->find(p->arg, at, j, position)) continue;
            const char *a = s->x[0] + position[0] * bytes, *b = s->x[1] + position[1] * bytes;
            if (s->terms) add_terms(s->kind, s->terms, a, p->step[0], b, p->step[1], p->count);
            else multiply(s->serial, s->kind, i, &sum, a, p->step[0], b, p->step[1], p->count);
        }
        if (s->terms) sum_terms(part, ev_part_type(i->shape->type), s->terms, &sum);
        store(part, s->serial, s->kind, i, &sum, s->lanes, k);
    }
}

static bool is_whole(const EvTask *t) { return !t->set->list && t->set->n == hlo_elements(t->ref.i->shape); }

void *ev_products(Ev *e, EvTask *t, const EvProducts *p)
{
    const HloInstruction *i = t->ref.i;
    const Kind kind = kind_of(e, i);
    const EvSerial *serial = kind == FLOATS || kind == BOUNDS ? ev_serial(e, i) : NULL;
    const bool floats = sc_is_float(i->operands[0]->shape->type) && sc_is_float(i->operands[1]->shape->type);
    if (serial && (!serial->fused || !floats)) serial = NULL;
    int64_t n = t->set->n;
    const size_t bytes = ev_lane_bytes(e->mode, i->shape->type);
    char *lanes = ev_lanes(e, wbb_mul_size(e->arena, (size_t)n, bytes));
    Terms *terms = new_terms(e, kind, p);
    double wanted = 2.0 * (double)n * (double)p->segments * (double)p->count;
    if (wanted < (double)hlo_elements(i->operands[0]->shape) + (double)hlo_elements(i->operands[1]->shape)) {
        EvWalk walk = ev_walk(i->shape);
        Ev *part = ev_part(e);
        for (int64_t k = 0; k < n;) k += some(e, part, t, serial, kind, p, terms, &walk, k, lanes);
        ev_part_end(e);
        return lanes;
    }
    const bool fits = !serial && ev_matrix_fits(e, i);
    if (fits && !is_whole(t) && n >= MANY_RESULTS && n * 16 >= hlo_elements(i->shape)) {
        ev_gather(lanes, ev_all(e, t->ref), bytes, t->set);
        return lanes;
    }
    if (fits && is_whole(t)) {
        void *const all[2] = {ev_all(e, ev_operand(e, t, 0)), ev_all(e, ev_operand(e, t, 1))};
        if (ev_matrix(e, i, p, kind == FLOATS || (kind == BOUNDS && floats), all, lanes)) return lanes;
    }
    Results r = {t, p, serial, kind, {widened_operand(e, t, kind, 0), widened_operand(e, t, kind, 1)}, terms, lanes};
    ev_spread(e, NULL, 0, (n + RESULTS - 1) / RESULTS, compute_results, &r);
    return lanes;
}
