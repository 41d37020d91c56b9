/* recall: elements of costly operations, remembered one by one for the whole run.
 *
 * Needs: a task of an operation that reads many elements for one (a reduction, a product, a scatter, ..). Leaves: its lanes; of the
 * positions wanted, just those that the run has not met before are computed, each once.
 *
 * The parts of a reduction ask for their operands at lists that repeat positions and overlap from part to part: where an operand is made
 * from another reduction, each of its elements would be reduced again and again, and again for each reduction further in. A run over
 * all elements keeps whole arrays instead (ev_keep_heavy).
 *
 *     r = f32[2,3] broadcast(sum), dimensions={0}     at {0, 3, 1, 4}: sum at {0, 1, 0, 1}, computed at {0, 1}
 */
#include "eval/inner.h"

#include <string.h>

enum { MOST = 1 << 20 }; /* elements; with more the memory starts anew */
static const uint32_t remembered = UINT32_C(1) << 30; /* of the leaf under which a memory is kept */

typedef struct {
    WbbMap known; /* positions */
    char *lanes;  /* [capacity] elements, by the number of their entry in `known` */
    uint32_t capacity;
} Memory;

static Memory *memory_of(Ev *e, EvRef r)
{
    Memory *m = ev_kept(r, r.leaf | remembered);
    if (m) return m;
    m = WBB_NEW(e->home, Memory);
    m->known.arena = e->home;
    ev_keep(e, r, r.leaf | remembered, m);
    return m;
}

static void remember(Ev *e, Memory *m, const EvSet *set, const char *lanes, size_t bytes)
{
    if (set->n > MOST) return;
    if (m->known.n + set->n > MOST) wbb_map_clear(&m->known);
    const uint32_t most = m->known.n + (uint32_t)set->n;
    if (most > m->capacity) {
        const uint32_t capacity = WBB_MAX(2 * m->capacity, most);
        m->lanes = wbb_grow(e->home, m->lanes, m->known.n * bytes, wbb_mul_size(e->home, capacity, bytes));
        m->capacity = capacity;
    }
    for (int64_t k = 0; k < set->n; k++) {
        const uint32_t before = m->known.n;
        wbb_map_put(&m->known, (uint64_t)ev_position(set, k));
        if (m->known.n > before) memcpy(m->lanes + before * bytes, lanes + (size_t)k * bytes, bytes);
    }
}

/* What is not known of a set, each position once, in the set's order; the set itself where that is all of it. */
static const EvSet *missing(Ev *e, const Memory *m, const EvSet *set)
{
    if (!m->known.n && !set->list) return set;
    int64_t *list = ev_list(e, set->n), n = 0;
    WbbMap seen = {.arena = e->block};
    for (int64_t k = 0; k < set->n; k++) {
        const int64_t position = ev_position(set, k);
        if (wbb_map_get(&m->known, (uint64_t)position)) continue;
        if (set->list) {
            wbb_map_put(&seen, (uint64_t)position);
            if (seen.n == n) continue;
        }
        list[n++] = position;
    }
    return n == set->n ? set : ev_list_set(e, list, n);
}

bool ev_recalls(const Ev *e, const EvTask *t) { return t->ref.i != e->filling && t->set->n > 0 && t->set->n <= MOST; }

void *ev_recall(Ev *e, EvTask *t, void *(*compute)(Ev *, EvTask *))
{
    const size_t bytes = ev_lane_bytes(e->mode, ev_ref_shape(t->ref)->type);
    Memory *m = memory_of(e, t->ref);
    const EvSet *unknown = missing(e, m, t->set);
    if (unknown == t->set) {
        void *made = compute(e, t);
        if (made) remember(e, m, t->set, made, bytes);
        return made;
    }
    if (unknown->n) {
        const void *made = ev_need(e, t->ref, unknown); /* there if another leaf of the operation was wanted */
        if (made) remember(e, m, unknown, made, bytes);
        return NULL; /* taken again, all is known */
    }
    char *lanes = ev_lanes(e, (size_t)t->set->n * bytes);
    for (int64_t k = 0; k < t->set->n; k++) {
        const WbbEntry *known = wbb_map_get(&m->known, (uint64_t)ev_position(t->set, k));
        memcpy(lanes + (size_t)k * bytes, m->lanes + (size_t)(known - m->known.entries) * bytes, bytes);
    }
    return lanes;
}
