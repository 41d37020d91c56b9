/* tree: a reduction whose terms are combined in the tree that the kernel documents.
 *
 * Needs: the set of wanted results, and a tree that has each term once. Leaves: their lanes, for all arrays.
 *
 * Every term has a number: the digits that the parts of the steps have, the first part the lowest. Combining a part
 * turns so many neighbouring numbers into one; so the first parts turn each stretch of `low` numbers into a partial
 * result, which are computed on several threads, for groups of results at once, and the others combine those. A row
 * (rows.c) is a partial result of each result of the group; since all results have terms at the same numbers, it is
 * there or absent as a whole. The initial value is the left operand of the last step.
 *
 *     10 terms, fold 4 of columns.vector; chain 3 of columns.loop:    init + (((0 + 1) + (2 + 3)) + (..) + (8 + 9))
 */
#include "eval/bounds.h"

#include <string.h>

enum { LOW = 4096 }; /* numbers of a stretch, but for the first part, of which no more is wanted */

typedef struct {
    EvTask *t;
    const EvTree *tree;
    EvCombine how;
    uint32_t arrays;
    size_t *bytes;      /* [arrays] of a lane */
    EvAccumulator *acc; /* for ev_acc_lanes: types of the terms */
    EvRef *operands;    /* [arrays] */
    const HloShape *in;
    int64_t stride[HLO_RANK_LIMIT];
    int64_t *base;      /* [results] position of the result's first term */
    int64_t n;          /* results */
    uint32_t n_parts, n_low; /* of all steps; parts of a stretch */
    EvTreePart *parts;
    int64_t low, high;  /* numbers of a stretch; stretches */
    int64_t group, groups; /* results of a piece; groups of them */
    char **partial;     /* [arrays] rows of all results, by stretch */
    bool *present;      /* [high] */
} Tree;

/* --- terms -------------------------------------------------------------------------------------------------------- */
/* The distance of term `number` from the result's first; -1: it is absent. */
static int64_t offset_of(const Tree *m, int64_t number)
{
    const EvTree *t = m->tree;
    int64_t position[HLO_RANK_LIMIT] = {0}, offset = 0;
    for (uint32_t k = 0; k < t->n_steps; k++) {
        const EvTreeStep *s = &t->steps[k];
        int64_t digits = 0, weight = 1;
        for (uint32_t p = 0; p < s->n_parts; p++) {
            digits += number % s->parts[p].size * weight;
            number /= s->parts[p].size;
            weight *= s->parts[p].size;
        }
        if (digits >= s->size) return -1;
        for (uint32_t d = 0; d < s->n_digits; d++) {
            const EvDigit *x = &t->digits[s->digits[d]];
            position[x->dim] += digits % x->size * x->weight;
            digits /= x->size;
        }
    }
    for (uint32_t d = 0; d < t->n_dims; d++) {
        const EvTreeDim *x = &t->dims[d];
        int64_t rest = position[d];
        for (uint32_t k = x->n; k-- > 0; rest /= m->in->dims[x->of[k]])
            offset += rest % m->in->dims[x->of[k]] * m->stride[x->of[k]];
        if (rest) return -1;
    }
    return offset;
}

/* The terms of stretch `high`, of `n` results from `result` on. */
static EvRows terms_of(Ev *part, const Tree *m, int64_t high, int64_t result, int64_t n)
{
    EvRows r = ev_rows(part, &m->how, m->low, n);
    int64_t *list = ev_list(part, m->low * n), *numbers = ev_list(part, m->low), count = 0;
    for (int64_t k = 0; k < m->low; k++) {
        const int64_t offset = offset_of(m, high * m->low + k);
        if (offset < 0) continue;
        for (int64_t j = 0; j < n; j++) list[count * n + j] = m->base[result + j] + offset;
        numbers[count++] = k;
    }
    if (!count) return r;
    const EvSet *set = ev_list_set(part, list, count * n);
    for (uint32_t a = 0; a < m->arrays; a++) {
        char *x = ev_acc_lanes(part, m->acc, a, m->operands[a], set);
        for (int64_t k = 0; k < count; k++) r.row[a][numbers[k]] = x + (size_t)(k * n) * m->bytes[a];
    }
    return r;
}

/* --- combining ---------------------------------------------------------------------------------------------------- */
/* Steps 1 .. of the chains of all stretches at once, as far as all rows are there; returns the step after them. */
static int64_t chain_whole(Ev *e, const Tree *m, EvRows *r, int64_t size)
{
    const int64_t stretches = r->numbers / size;
    int64_t end = 0, *first = ev_list(e, stretches), *others = ev_list(e, r->numbers), n = 0;
    for (bool whole = true; whole && end < size; end += whole)
        for (int64_t g = 0; g < stretches; g++) whole = whole && r->row[0][g * size + end];
    if (end < 2) return 1;
    for (int64_t g = 0; g < stretches; g++) first[g] = g * size;
    for (int64_t k = 1; k < end; k++)
        for (int64_t g = 0; g < stretches; g++) others[n++] = g * size + k;
    void **made = ev_combine(e, &m->how, stretches * r->lanes, end - 1, ev_rows_beside(e, r, first, stretches),
                             ev_rows_beside(e, r, others, n));
    for (uint32_t a = 0; a < m->arrays; a++)
        for (int64_t g = 0; g < stretches; g++)
            r->row[a][g * size] = (char *)made[a] + (size_t)(g * r->lanes) * m->bytes[a];
    return end;
}

/* One round of a part: of the `left` rows that each stretch of `size` still has. Returns how many are left then. */
static int64_t round_of(Ev *e, const Tree *m, EvRows *r, EvPairing pairing, int64_t size, int64_t left, int64_t step)
{
    const int64_t stretches = r->numbers / size, half = (left + 1) / 2;
    const int64_t pairs = pairing == EV_CHAIN ? 1 : left / 2;
    int64_t *x = ev_list(e, stretches * pairs), *y = ev_list(e, stretches * pairs), n = 0;
    for (int64_t g = 0; g < stretches; g++)
        for (int64_t k = 0; k < pairs; k++, n++) {
            x[n] = g * size + (pairing == EV_FOLD ? 2 * k : k);
            y[n] = g * size + (pairing == EV_FOLD ? 2 * k + 1 : pairing == EV_HALVES ? half + k : step);
        }
    ev_rows_pairs(e, r, n, x, y, x);
    if (pairing != EV_FOLD) return half;
    for (uint32_t a = 0; a < m->arrays; a++) /* results and the one that waits move together */
        for (int64_t g = 0; g < stretches; g++)
            for (int64_t k = 1; k < half; k++) r->row[a][g * size + k] = r->row[a][g * size + 2 * k];
    return half;
}

/* Combines the stretches of one part: each becomes one row. */
static void combine_part(Ev *e, const Tree *m, EvRows *r, EvTreePart part)
{
    if (part.pairing == EV_CHAIN)
        for (int64_t k = chain_whole(e, m, r, part.size); k < part.size; k++)
            round_of(e, m, r, EV_CHAIN, part.size, part.size, k);
    else
        for (int64_t left = part.size; left > 1;) left = round_of(e, m, r, part.pairing, part.size, left, 0);
    r->numbers /= part.size;
    for (uint32_t a = 0; a < m->arrays; a++)
        for (int64_t k = 1; k < r->numbers; k++) r->row[a][k] = r->row[a][k * part.size];
}

/* --- pieces ------------------------------------------------------------------------------------------------------- */
/* Piece k: a stretch of a group of results. */
static void compute_piece(Ev *part, void *arg, int64_t k)
{
    const Tree *m = arg;
    const int64_t high = k / m->groups, result = k % m->groups * m->group, n = WBB_MIN(m->group, m->n - result);
    ev_begin(part);
    EvRows r = terms_of(part, m, high, result, n);
    for (uint32_t p = 0; p < m->n_low; p++) combine_part(part, m, &r, m->parts[p]);
    if (!result) m->present[high] = r.row[0][0];
    for (uint32_t a = 0; a < m->arrays && r.row[0][0]; a++)
        memcpy(m->partial[a] + (size_t)(high * m->n + result) * m->bytes[a], r.row[a][0], (size_t)n * m->bytes[a]);
    ev_end(part);
}

/* The partial results of all stretches, then the initial value. */
static void **finish(Ev *e, const Tree *m, void *const *init)
{
    EvRows r = ev_rows(e, &m->how, m->high, m->n);
    void **x = WBB_NEW_N(e->block, void *, m->arrays);
    for (uint32_t a = 0; a < m->arrays; a++)
        for (int64_t k = 0; k < m->high; k++)
            r.row[a][k] = m->present[k] ? m->partial[a] + (size_t)(k * m->n) * m->bytes[a] : NULL;
    for (uint32_t p = m->n_low; p < m->n_parts; p++) combine_part(e, m, &r, m->parts[p]);
    for (uint32_t a = 0; a < m->arrays; a++) {
        x[a] = ev_lanes(e, (size_t)m->n * m->bytes[a]);
        ev_fill(x[a], init[a], m->bytes[a], m->n);
    }
    if (!r.row[0][0]) return x;
    const int64_t first = 0;
    return ev_combine(e, &m->how, m->n, 1, x, ev_rows_beside(e, &r, &first, 1));
}

static void find_parts(Ev *e, Tree *m)
{
    const EvTree *t = m->tree;
    for (uint32_t k = 0; k < t->n_steps; k++) m->n_parts += t->steps[k].n_parts;
    m->parts = WBB_NEW_N(e->block, EvTreePart, m->n_parts + 1);
    uint32_t n = 0;
    for (uint32_t k = 0; k < t->n_steps; k++)
        for (uint32_t p = 0; p < t->steps[k].n_parts; p++) m->parts[n++] = t->steps[k].parts[p];
    m->low = m->high = 1;
    while (m->n_low < n && (!m->n_low || m->parts[m->n_low].size <= LOW / m->low))
        m->low *= m->parts[m->n_low++].size;
    for (uint32_t k = m->n_low; k < n; k++)
        m->high = (int64_t)wbb_mul_size(e->arena, (size_t)m->high, (size_t)m->parts[k].size);
}

static void find_results(Ev *e, Tree *m)
{
    const EvTask *t = m->t;
    EvWalk walk = ev_walk(ev_ref_shape(t->ref));
    const HloInts reduced = {t->ref.i->dimensions, t->ref.i->n_dimensions};
    m->n = t->set->n;
    m->group = WBB_MAX(WBB_MIN(EV_BLOCK / m->low, m->n), 1);
    m->groups = (m->n + m->group - 1) / m->group;
    m->base = WBB_NEW_N(e->block, int64_t, m->n + 1);
    ev_strides(m->in, m->stride);
    for (int64_t k = 0; k < m->n; k++) {
        const int64_t *at = ev_walk_to(&walk, ev_position(t->set, k));
        for (uint32_t d = 0, kept = 0; d < m->in->rank; d++)
            if (!hlo_holds(reduced, d)) m->base[k] += at[kept++] * m->stride[d];
    }
    m->present = WBB_NEW_N(e->block, bool, m->high);
    for (uint32_t a = 0; a < m->arrays; a++)
        m->partial[a] = ev_lanes(e, wbb_mul_size(e->arena, wbb_mul_size(e->arena, (size_t)m->high, (size_t)m->n),
                                                 m->bytes[a]));
}

/* False: an initial value was asked for. */
static bool find_arrays(Ev *e, Tree *m, void **init)
{
    const HloInstruction *i = m->t->ref.i;
    bool all = true;
    m->how.types = WBB_NEW_N(e->block, ScType, m->arrays);
    m->bytes = m->how.bytes = WBB_NEW_N(e->block, size_t, m->arrays);
    m->operands = WBB_NEW_N(e->block, EvRef, m->arrays);
    m->partial = WBB_NEW_N(e->block, char *, m->arrays);
    for (uint32_t a = 0; a < m->arrays; a++) {
        m->how.types[a] = m->tree->type != SC_NONE ? m->tree->type : ev_leaf_shape(i->shape, a)->type;
        m->bytes[a] = ev_lane_bytes(e->mode, m->how.types[a]);
        m->operands[a] = ev_operand(e, m->t, a);
        void *x = ev_need(e, ev_operand(e, m->t, m->arrays + a), ev_range_set(e, 0, 1));
        if (x) init[a] = ev_as(e, m->how.types[a], i->operands[m->arrays + a]->shape->type, 1, x);
        all = all && x;
    }
    m->acc = ev_acc_new(e, m->how.c, m->arrays, m->how.types, m->n);
    return all;
}

void *ev_reduce_tree(Ev *e, EvTask *t, const EvTree *tree)
{
    const HloInstruction *i = t->ref.i;
    Tree m = {.t = t, .tree = tree, .how = {.c = i->called[0], .arrays = i->n_operands / 2},
              .arrays = i->n_operands / 2, .in = i->operands[0]->shape};
    void **init = WBB_NEW_N(e->block, void *, m.arrays), **r = WBB_NEW_N(e->block, void *, m.arrays);
    if (!find_arrays(e, &m, init)) return NULL;
    if (tree->type != SC_NONE) m.how.op = hlo_scalar(m.how.c->root->opcode);
    find_parts(e, &m);
    find_results(e, &m);
    const bool empty = !m.n || !hlo_elements(m.in); /* no result, or none that has a term */
    for (uint32_t a = 0; a < m.arrays; a++)
        r[a] = ev_lanes(e, (size_t)m.n * ev_lane_bytes(e->mode, ev_leaf_shape(i->shape, a)->type));
    Ev *part = ev_part(e);
    if (!empty) compute_piece(part, &m, 0); /* alone: it computes what all of them need */
    ev_part_end(e);
    if (!empty) ev_spread(e, i->name, 1, m.high * m.groups, compute_piece, &m);
    part = ev_part(e);
    ev_begin(part);
    void **made = finish(part, &m, init);
    for (uint32_t a = 0; a < m.arrays; a++) {
        const ScType type = ev_leaf_shape(i->shape, a)->type;
        memcpy(r[a], ev_as(part, type, m.how.types[a], m.n, made[a]), (size_t)m.n * ev_lane_bytes(e->mode, type));
    }
    ev_part_end(e);
    return ev_leaf_result(e, t, r, m.arrays);
}
