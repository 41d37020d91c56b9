/* window: reductions of windows that slide over an array, and where the elements of a window lie.
 *
 * Needs: window={size, stride, pad, lhs_dilate, rhs_dilate}. Leaves: for reduce-window the lanes wanted.
 *
 * Padding may be negative, the input dilated (elements stand lhs_dilate apart) and the window too. Positions outside the input, and
 * between dilated elements, take no part: a reduction of an empty window is its init value.
 *
 *     f32[4] reduce-window(f32[4] x, 0), window={size=3 pad=1_1}, to_apply=add     at {0}: x[0] + x[1]
 */
#include "eval/inner.h"

int64_t ev_window_at(const EvWindows *w, uint32_t d, int64_t out, int64_t element)
{
    const HloWindow *v = &w->windows[d];
    int64_t x = out * v->stride + element * v->rhs_dilate - v->low;
    if (x < 0 || x % v->lhs_dilate) return -1;
    x /= v->lhs_dilate;
    return x < w->in[d] ? x : -1;
}

/* Elements of a step: for these lanes, the input at these positions. */
typedef struct {
    uint32_t *lanes;
    int64_t *positions, n;
} Step;

/* Of each dimension whose window has more than one element or position: the part of a position for (coordinate, element), or -1. */
typedef struct {
    uint32_t n;
    uint32_t dim[HLO_RANK_LIMIT];
    int64_t *part[HLO_RANK_LIMIT];
    int64_t elements; /* of the window */
    int64_t *order;   /* of its elements; NULL: as they stand */
} Table;

static Table new_table(Ev *e, const HloInstruction *i, const HloShape *in, const HloShape *out)
{
    const EvWindows w = {in->rank, i->windows, in->dims};
    Table t = {.elements = 1};
    int64_t stride[HLO_RANK_LIMIT], n = 1;
    for (int d = in->rank - 1; d >= 0; d--) {
        stride[d] = n;
        n *= in->dims[d];
    }
    for (uint32_t d = 0; d < in->rank; d++) {
        int64_t size = i->windows[d].size;
        t.elements *= size;
        t.dim[t.n] = d;
        int64_t *part = t.part[t.n++] = WBB_NEW_N(e->block, int64_t, out->dims[d] * size);
        for (int64_t o = 0; o < out->dims[d]; o++)
            for (int64_t k = 0; k < size; k++) {
                int64_t x = ev_window_at(&w, d, o, k);
                part[o * size + k] = x < 0 ? -1 : x * stride[d];
            }
    }
    return t;
}

static Step find_step(Ev *part, const HloInstruction *i, const Table *table, const EvSet *set, const HloShape *out, int64_t element)
{
    Step s = {ev_lanes(part, (size_t)set->n * sizeof *s.lanes), ev_list(part, set->n), 0};
    int64_t at_element[HLO_RANK_LIMIT];
    for (int d = out->rank - 1; d >= 0; d--) {
        at_element[d] = element % i->windows[d].size;
        element /= i->windows[d].size;
    }
    EvWalk walk = ev_walk(out);
    for (int64_t k = 0; k < set->n; k++) {
        const int64_t *at = ev_walk_to(&walk, ev_position(set, k));
        int64_t position = 0;
        for (uint32_t d = 0; d < table->n; d++) {
            int64_t p = table->part[d][at[d] * i->windows[d].size + at_element[d]];
            position += p;
            if (p < 0) {
                position = -1;
                break;
            }
        }
        if (position < 0) continue;
        s.lanes[s.n] = (uint32_t)k;
        s.positions[s.n++] = position;
    }
    return s;
}

/* Some steps at once: their elements are asked for together. */
static int64_t fold_steps(Ev *e, Ev *part, EvTask *t, EvFold *f, const Table *table, int64_t from)
{
    const HloInstruction *i = t->ref.i;
    uint32_t n_arrays = i->n_operands / 2;
    int64_t most = WBB_MIN(WBB_MAX(EV_BLOCK / WBB_MAX(t->set->n, 1), 1), table->elements - from), n = 0;
    ev_begin(part);
    Step *steps = WBB_NEW_N(part->block, Step, most);
    int64_t *list = ev_list(part, most * t->set->n);
    for (int64_t k = 0; k < most; k++) {
        steps[k] = find_step(part, i, table, t->set, ev_ref_shape(t->ref), table->order ? table->order[from + k] : from + k);
        for (int64_t j = 0; j < steps[k].n; j++) list[n++] = steps[k].positions[j];
    }
    if (n) {
        char **lanes = WBB_NEW_N(part->block, char *, n_arrays);
        void **x = WBB_NEW_N(part->block, void *, n_arrays);
        const EvSet *set = ev_list_set(part, list, n);
        for (uint32_t k = 0; k < n_arrays; k++) lanes[k] = ev_fold_lanes(e, part, t, f, k, k, set);
        for (int64_t k = 0, done = 0; k < most; done += steps[k++].n) {
            for (uint32_t j = 0; j < n_arrays; j++) x[j] = lanes[j] + (size_t)done * ev_lane_bytes(e->mode, ev_leaf_shape(i->shape, j)->type);
            if (steps[k].n) ev_fold(part, f, steps[k].n == t->set->n ? NULL : steps[k].lanes, steps[k].n, x);
        }
    }
    ev_end(part);
    return most;
}

void *ev_reduce_window(Ev *e, EvTask *t)
{
    const HloInstruction *i = t->ref.i;
    EvFold *f = ev_fold_of(e, t);
    if (!f) return NULL;
    const bool shuffle = ev_fold_begin(e, f, ev_serial(e, i) != NULL);
    const HloShape *in = i->operands[0]->shape;
    Table table = new_table(e, i, in, ev_ref_shape(t->ref));
    if (shuffle) {
        table.order = ev_list(e, table.elements);
        for (int64_t k = 0; k < table.elements; k++) table.order[k] = k;
        ev_shuffle(e, table.order, table.elements);
    }
    bool empty = hlo_elements(in) == 0;
    Ev *part = ev_part(e);
    for (int64_t at = 0; at < table.elements && !empty;) at += fold_steps(e, part, t, f, &table, at);
    ev_part_end(e);
    return ev_fold_result(e, t, ev_fold_end(e, f), i->n_operands / 2);
}
