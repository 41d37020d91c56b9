/* neighbours: how many updates of a scatter that follow each other have equal indices?
 *
 * Needs a verified HLO module; leaves a note at each scatter whose text tells, which decides about time alone: a thread
 * may combine neighbours of one element before it goes to memory (partition/scatter_price.c). Indices that depend on no
 * data (iotas, constants, arithmetic of them) are computed for the first updates, and counted. Those that follow from
 * a sort, or from a running sum or maximum, are in runs of unknown length, and so is each function of these, element
 * by element: equal values stay neighbours. What the text states of sorted indices is kept.
 *
 *     s32[4096,1] divide(iota, broadcast(32))            =>   frontend_attributes={equal_neighbours="32"}
 *     s32[4096,1] reshape(get-tuple-element(sort(..)))   =>   frontend_attributes={equal_neighbours="some"}
 */
#include "hlo/normalise.h"

enum {
    SAMPLE = 1024, /* updates that are counted: neighbours are alike, or change with the data */
    DEEP = 200,
};

#define EQUAL INT64_MAX /* all neighbours of an array are equal */

/* The values of some elements, in 64 bits each; NULL: not known. */
typedef struct {
    const HloInstruction *i;
    const int64_t *at;
    const uint64_t *values;
} Known;

typedef struct {
    WbbArena *a;
    int64_t *run; /* by id: neighbours in row-major order that are equal, in the mean; 0: not yet known */
    uint8_t *pure; /* by id: 0 not yet known, 1 no, 2 depends on no data */
    uint32_t deep; /* calls of the search inside each other */
    struct { Known *items; uint32_t n, capacity; } known;
    int64_t n; /* elements of `at` */
} Search;

static bool is_scalar_type(const HloShape *s) { return s->type != SC_TUPLE && sc_type_info[s->type].bits <= 64; }

/* --- values ------------------------------------------------------------------------------------------------------- */
static bool is_pure(Search *s, const HloInstruction *i);

static bool has_pure_operands(Search *s, const HloInstruction *i)
{
    bool pure = s->deep < DEEP;
    s->deep++;
    for (uint32_t k = 0; pure && k < i->n_operands; k++) pure = is_pure(s, i->operands[k]);
    s->deep--;
    return pure;
}

static bool is_pure(Search *s, const HloInstruction *i)
{
    uint8_t *known = &s->pure[i->id];
    if (*known) return *known == 2;
    *known = 1;
    if (!is_scalar_type(i->shape) || !(sc_is_int(i->shape->type) || i->shape->type == SC_PRED)) return false;
    switch (i->opcode) {
    case HLO_IOTA: break;
    case HLO_CONSTANT: if (!i->literal) return false; break;
    case HLO_BROADCAST: case HLO_RESHAPE: case HLO_CONVERT: case HLO_COPY: case HLO_COMPARE: case HLO_SELECT: break;
    case HLO_BITCAST: {
        const HloShape *from = i->operands[0]->shape;
        if (from->type != i->shape->type || !hlo_is_row_major(from) || !hlo_is_row_major(i->shape)) return false;
        break;
    }
    default:
        if (!hlo_is_elementwise(i->opcode) || hlo_scalar(i->opcode) == 0) return false;
    }
    const bool pure = has_pure_operands(s, i);
    *known = pure ? 2 : 1;
    return pure;
}

static const uint64_t *values_of(Search *s, const HloInstruction *i, const int64_t *at);

static void coordinates(const HloShape *of, int64_t at, int64_t *to)
{
    for (uint32_t d = of->rank; d-- > 0; at /= of->dims[d]) to[d] = at % of->dims[d];
}

static void put_leaf(const Search *s, const HloInstruction *i, const int64_t *at, uint64_t *r)
{
    for (int64_t k = 0; k < s->n; k++) {
        int64_t to[HLO_RANK_LIMIT + 1];
        if (i->opcode == HLO_IOTA) {
            coordinates(i->shape, at[k], to);
            r[k] = sc_from_i128(i->shape->type, to[i->number]);
        } else {
            r[k] = hlo_literal_bits(i, at[k]);
        }
    }
}

static const uint64_t *broadcast_of(Search *s, const HloInstruction *i, const int64_t *at)
{
    const HloShape *from = i->operands[0]->shape;
    int64_t *of = WBB_NEW_N(s->a, int64_t, s->n + 1), to[HLO_RANK_LIMIT + 1];
    for (int64_t k = 0; k < s->n; k++) {
        coordinates(i->shape, at[k], to);
        for (uint32_t d = 0; d < from->rank; d++) of[k] = of[k] * from->dims[d] + to[i->dimensions[d]];
    }
    return values_of(s, i->operands[0], of);
}

static bool holds(HloDirection d, WbbI128 x, WbbI128 y)
{
    switch (d) {
    case HLO_EQ: return x == y;
    case HLO_NE: return x != y;
    case HLO_LT: return x < y;
    case HLO_LE: return x <= y;
    case HLO_GT: return x > y;
    default: return x >= y;
    }
}

static bool apply(const HloInstruction *i, const uint64_t *x, uint64_t *r)
{
    const ScType from = i->operands[0]->shape->type, to = i->shape->type;
    switch (i->opcode) {
    case HLO_COPY: *r = x[0]; return true;
    case HLO_SELECT: *r = x[0] & 1 ? x[1] : x[2]; return true;
    case HLO_COMPARE: *r = holds(i->direction, sc_to_i128(from, x[0]), sc_to_i128(from, x[1])); return true;
    case HLO_CONVERT:
        *r = to == SC_PRED ? sc_to_i128(from, x[0]) != 0 : sc_from_i128(to, sc_to_i128(from, x[0]));
        return true;
    default: return sc_eval(hlo_scalar(i->opcode), to, from, x, r);
    }
}

/* Elements `at` of a value that depends on no data. Recursion: each value is computed once for each `at`. */
static const uint64_t *values_of(Search *s, const HloInstruction *i, const int64_t *at)
{
    enum { OPERANDS = 3 };
    for (uint32_t k = 0; k < s->known.n; k++)
        if (s->known.items[k].i == i && s->known.items[k].at == at) return s->known.items[k].values;
    uint64_t *r = WBB_NEW_N(s->a, uint64_t, s->n + 1);
    const uint64_t *made = r, *x[OPERANDS] = {0};
    if (i->opcode == HLO_IOTA || i->opcode == HLO_CONSTANT) {
        put_leaf(s, i, at, r);
    } else if (i->opcode == HLO_BROADCAST) {
        made = broadcast_of(s, i, at);
    } else if (i->opcode == HLO_RESHAPE || i->opcode == HLO_BITCAST) {
        made = values_of(s, i->operands[0], at);
    } else {
        bool fine = i->n_operands <= OPERANDS;
        for (uint32_t o = 0; fine && o < i->n_operands; o++)
            fine = hlo_same_dims(i->operands[o]->shape, i->shape) && (x[o] = values_of(s, i->operands[o], at));
        for (int64_t k = 0; fine && k < s->n; k++) {
            uint64_t of[OPERANDS];
            for (uint32_t o = 0; o < i->n_operands; o++) of[o] = x[o][k];
            fine = apply(i, of, &r[k]);
        }
        if (!fine) made = NULL;
    }
    const Known known = {i, at, made};
    WBB_PUSH(s->a, &s->known, known);
    return made;
}

/* The mean length of runs of equal values. */
static int64_t counted(Search *s, const HloInstruction *i)
{
    int64_t *at = WBB_NEW_N(s->a, int64_t, SAMPLE + 1), runs = 1;
    s->n = WBB_MIN(hlo_elements(i->shape), SAMPLE);
    for (int64_t k = 0; k < s->n; k++) at[k] = k;
    const uint64_t *x = s->n > 0 ? values_of(s, i, at) : NULL;
    if (!x) return 1;
    for (int64_t k = 1; k < s->n; k++) runs += x[k] != x[k - 1];
    return runs == 1 ? EQUAL : WBB_MAX(s->n / runs, 1);
}

/* --- runs --------------------------------------------------------------------------------------------------------- */
static int64_t run_of(Search *s, const HloInstruction *i);

/* Is dimension d the last one of more than one element? */
static bool is_last(const HloShape *s, int64_t d)
{
    for (uint32_t k = (uint32_t)d + 1; k < s->rank; k++)
        if (s->dims[k] != 1) return false;
    return true;
}

/* The operand of a sort that its comparator reads first. */
static uint32_t first_key(const HloInstruction *sort)
{
    const HloComputation *c = sort->called[0];
    for (uint32_t k = 0; k < c->n_parameters; k++)
        if (c->parameters[k]->n_users) return k / 2;
    return 0;
}

/* Sums or maxima of all elements up to each, in their order or against it. */
static bool is_running(const HloInstruction *i)
{
    if (i->opcode != HLO_REDUCE_WINDOW || i->shape->type == SC_TUPLE || !sc_is_int(i->shape->type)) return false;
    const HloShape *of = i->operands[0]->shape;
    bool found = false;
    for (uint32_t d = 0; d < of->rank; d++) {
        const HloWindow *w = &i->windows[d];
        if (w->stride != 1 || w->lhs_dilate != 1 || w->rhs_dilate != 1) return false;
        if (w->size == 1 && !w->low && !w->high) continue;
        if (found || w->size < of->dims[d] || !is_last(of, d)) return false;
        if (w->low < of->dims[d] - 1 && w->high < of->dims[d] - 1) return false;
        found = true;
    }
    return found;
}

/* Rows of a broadcast are repeated, or its elements. */
static int64_t broadcast_run(Search *s, const HloInstruction *i)
{
    const HloShape *from = i->operands[0]->shape, *to = i->shape;
    int64_t each = 1;
    uint32_t last = to->rank;
    for (uint32_t d = from->rank; d-- > 0;) {
        const uint32_t at = (uint32_t)i->dimensions[d];
        for (uint32_t k = last; k-- > at + 1;) {
            if (to->dims[k] == 1) continue;
            if (d + 1u < from->rank) return 1; /* between dimensions of the operand */
            each *= to->dims[k];
        }
        if (at >= last) return 1;
        last = at;
    }
    const int64_t run = from->rank ? run_of(s, i->operands[0]) : EQUAL;
    return run >= HLO_SOME / each ? WBB_MAX(run, HLO_SOME) : run * each;
}

/* Short arrays before or after a long one do not count. */
static int64_t joined_run(Search *s, const HloInstruction *i)
{
    enum { PART = 8 };
    const int64_t all = hlo_elements(i->shape);
    int64_t run = EQUAL;
    for (int64_t d = 0; d < i->dimensions[0]; d++)
        if (i->shape->dims[d] != 1) return 1;
    for (uint32_t k = 0; k < i->n_operands; k++)
        if (hlo_elements(i->operands[k]->shape) >= all / PART) run = WBB_MIN(run, run_of(s, i->operands[k]));
    return run;
}

static int64_t found_run(Search *s, const HloInstruction *i)
{
    int64_t run = EQUAL;
    if (is_pure(s, i)) return counted(s, i);
    switch (i->opcode) {
    case HLO_SORT: return i->shape->type != SC_TUPLE && is_last(i->shape, i->dimensions[0]) ? HLO_SOME : 1;
    case HLO_GET_TUPLE_ELEMENT: {
        const HloInstruction *of = i->operands[0];
        const bool key = of->opcode == HLO_SORT && !of->spelling && first_key(of) == (uint32_t)i->number;
        return key && is_last(i->shape, of->dimensions[0]) ? HLO_SOME : 1;
    }
    case HLO_REDUCE_WINDOW: return is_running(i) ? HLO_SOME : 1;
    case HLO_RESHAPE: return run_of(s, i->operands[0]);
    case HLO_BITCAST:
        return hlo_is_row_major(i->operands[0]->shape) && hlo_is_row_major(i->shape) ? run_of(s, i->operands[0]) : 1;
    case HLO_BROADCAST: return broadcast_run(s, i);
    case HLO_CONCATENATE: return joined_run(s, i);
    case HLO_SLICE:
        for (uint32_t d = 0, first = 1; d < i->shape->rank; d++) {
            const int64_t n = i->operands[0]->shape->dims[d];
            if (n != i->shape->dims[d] && (!first || i->slices[d].stride != 1)) return 1;
            first = first && n == 1;
        }
        return run_of(s, i->operands[0]);
    default:
        if (!hlo_is_elementwise(i->opcode) || !i->n_operands) return 1;
        for (uint32_t k = 0; k < i->n_operands; k++) run = WBB_MIN(run, run_of(s, i->operands[k]));
        return run;
    }
}

static int64_t run_of(Search *s, const HloInstruction *i)
{
    if (i->shape->type == SC_TUPLE) return 1;
    if (s->run[i->id]) return s->run[i->id];
    s->deep++;
    s->run[i->id] = s->deep < DEEP ? found_run(s, i) : 1;
    s->deep--;
    return s->run[i->id];
}

/* Of index vectors: the least of their columns. */
static int64_t run_of_rows(Search *s, const HloInstruction *x, int64_t vector)
{
    if (vector == x->shape->rank || x->shape->dims[vector] == 1) return run_of(s, x);
    if (vector + 1 != x->shape->rank || x->opcode != HLO_CONCATENATE || x->dimensions[0] != vector) return 1;
    int64_t run = EQUAL;
    for (uint32_t k = 0; k < x->n_operands; k++) run = WBB_MIN(run, run_of_rows(s, x->operands[k], vector));
    return run;
}

static int64_t neighbours_of(Search *s, const HloInstruction *i)
{
    const HloScatterDims d = hlo_scatter_dims(s->a, i);
    const HloInstruction *indices = i->operands[i->n_operands / 2];
    if (d.neighbours || d.input_batching.n || d.index_vector_dim < 0 || hlo_elements(indices->shape) < 2) return 0;
    const int64_t run = run_of_rows(s, indices, d.index_vector_dim);
    return run == EQUAL ? hlo_elements(indices->shape) : run > 1 ? run : 0;
}

/* --- the pass ----------------------------------------------------------------------------------------------------- */
static bool is_scatter(const HloInstruction *i) { return i->opcode == HLO_SCATTER; }

static HloInstruction *rewrite(HloBuilder *b, const HloInstruction *i)
{
    static const char *const replaced[] = {"frontend_attributes", NULL};
    const uint32_t n = is_scatter(i) && b->same ? b->same[i->id] : 0;
    if (!n) return NULL;
    HloInstruction *s = hlo_copy(b, i);
    hlo_set_attributes(b, s, wbb_format(b->arena, "%s%s", hlo_attributes_without(b->arena, i, replaced),
                                        hlo_neighbours_attribute(b->arena, n == UINT32_MAX ? HLO_SOME : n)));
    return s;
}

/* By id of the scatters of a computation; UINT32_MAX: some. NULL: none of any. */
static const uint32_t *of_scatters(WbbArena *a, const HloComputation *c)
{
    Search s = {.a = a};
    uint32_t *all = NULL;
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        if (!is_scatter(c->instructions[k])) continue;
        if (!s.run) s.run = WBB_NEW_N(a, int64_t, c->n_instructions), s.pure = WBB_NEW_N(a, uint8_t, c->n_instructions);
        const int64_t n = neighbours_of(&s, c->instructions[k]);
        if (n && !all) all = WBB_NEW_N(a, uint32_t, c->n_instructions);
        if (n) all[k] = (uint32_t)WBB_MIN(n, UINT32_MAX);
    }
    return all;
}

const HloModule *hlo_pass_neighbours(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    const uint32_t **all = WBB_NEW_N(a, const uint32_t *, m->n_computations + 1);
    bool any = false;
    for (uint32_t c = 0; c < m->n_computations; c++) {
        all[c] = of_scatters(a, m->computations[c]);
        any = any || all[c];
    }
    return any ? hlo_rewrite(cx, a, m, &(HloRewriter){.rewrite = rewrite, .same = all}) : m;
}
