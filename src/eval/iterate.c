/* iterate: one iteration of a loop, or one step of a scan.
 *
 * Needs: the lanes of each leaf of the state. Leaves: those of the next state. A leaf that the body returns unchanged
 * is not copied. One of which it updates a part stays where it is, and that part alone is written: a loop that stacks
 * its results takes time in proportion to them, and not to their square. All else that the iteration reads is
 * computed before anything is written.
 *
 *     s1 = f32[100,8] dynamic-update-slice(s, row, i, 0)       100 iterations write 8 elements each
 */
#include "eval/inner.h"

#include <string.h>

/* A part of a leaf that the iteration writes. */
typedef struct {
    uint32_t leaf;
    const HloInstruction *i; /* the dynamic-update-slice */
    int64_t start[HLO_RANK_LIMIT];
    char *lanes; /* of the update */
} Update;

static bool is_leaf(const HloComputation *c, EvRef r, uint32_t leaf)
{
    return r.i->opcode == HLO_PARAMETER && c->n_parameters == 1 && hlo_leaves_before(c, r.i->number) + r.leaf == leaf;
}

/* Where the update goes; false: what is allowed are several places. */
static bool find_start(Ev *run, EvRef r, int64_t *start)
{
    ev_begin(run);
    const int known = ev_starts(run, r, 2, r.i->shape, r.i->operands[1]->shape, start, ev_demand);
    ev_end(run);
    return known > 0;
}

/* Is leaf k, which is r, an update of a part of itself? Then its place and its lanes, computed in `to`. */
static bool find_update(Ev *run, const HloComputation *c, uint32_t k, EvRef r, WbbArena *to, Update *u)
{
    if (r.i->opcode != HLO_DYNAMIC_UPDATE_SLICE || run->noise) return false; /* random numbers are drawn in order */
    const HloShape *window = r.i->operands[1]->shape;
    if (window->type != r.i->shape->type || !is_leaf(c, ev_resolve_leaf(run, r.frame, r.i->operands[0], 0), k))
        return false;
    *u = (Update){.leaf = k, .i = r.i};
    if (!find_start(run, r, u->start)) return false;
    u->lanes = wbb_alloc(
        to, wbb_mul_size(to, (size_t)hlo_elements(window), ev_lane_bytes(run->mode, window->type)) + 1);
    ev_copy_all(run, ev_resolve_leaf(run, r.frame, r.i->operands[1], 0), u->lanes);
    return true;
}

/* Writes the rows of the update's last dimension. */
static void write_update(const Ev *e, const Update *u, char *to)
{
    const HloShape *in = u->i->shape, *window = u->i->operands[1]->shape;
    const size_t bytes = ev_lane_bytes(e->mode, in->type);
    const int64_t n = hlo_elements(window), row = in->rank ? window->dims[in->rank - 1] : 1;
    EvWalk walk = ev_walk(window);
    for (int64_t k = 0; k < n; k += row) {
        const int64_t *at = ev_walk_to(&walk, k);
        int64_t position = 0;
        for (uint32_t d = 0; d < in->rank; d++) position = position * in->dims[d] + at[d] + u->start[d];
        memcpy(to + (size_t)position * bytes, u->lanes + (size_t)k * bytes, (size_t)row * bytes);
    }
}

void ev_iterate(Ev *e, const HloComputation *c, void *const *state, WbbArena *to, void **out, EvStays *stays)
{
    Ev *run = ev_sub(e, c, state);
    ev_keep_costly(run, run->root);
    Update *updates = WBB_NEW_N(to, Update, c->root->shape->n_leaves + 1);
    uint32_t n = 0;
    for (uint32_t k = 0; k < c->root->shape->n_leaves; k++) {
        const EvRef r = ev_resolve_leaf(run, run->root, c->root, k);
        const HloShape *s = ev_ref_shape(r);
        const size_t bytes = wbb_mul_size(to, (size_t)hlo_elements(s), ev_lane_bytes(e->mode, s->type));
        if (sc_type_info[s->type].cls == '-') continue; /* a token */
        out[k] = state[k];
        if (is_leaf(c, r, k)) continue;
        if (stays && find_update(run, c, k, r, to, &updates[n])) {
            if (!stays->at[k]) stays->at[k] = wbb_alloc(stays->arena, bytes + 1);
            out[k] = stays->at[k];
            if (out[k] != state[k]) memcpy(out[k], state[k], bytes);
            n++;
            continue;
        }
        out[k] = wbb_alloc(to, bytes);
        ev_copy_all(run, r, out[k]);
    }
    for (uint32_t k = 0; k < n; k++) write_update(e, &updates[k], out[updates[k].leaf]);
    ev_part_end(e);
}
