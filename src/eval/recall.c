/* recall: elements of costly operations, remembered one by one for the whole evaluation.
 *
 * Needs: a task of an operation that reads many elements for one (a reduction, a product, a scatter, ..). Leaves: its
 * lanes; only positions that were not computed before are computed, each once.
 *
 * The pieces of a reduction demand their operands at lists that repeat positions and overlap from piece to piece. Where
 * an operand is computed from another reduction, each of its elements would be reduced again for each use, and again
 * for each further level. An evaluation of all elements keeps whole arrays instead (ev_keep_costly).
 *
 *     r = f32[2,3] broadcast(sum), dimensions={0}     at {0, 3, 1, 4}: sum at {0, 1, 0, 1}, computed at {0, 1}
 */
#include "eval/inner.h"

#include <string.h>

enum { MOST = 1 << 20 }; /* elements; a memory that would hold more is emptied first */
static const uint32_t remembered = UINT32_C(1) << 30; /* a memory is kept under leaf | remembered */

typedef struct Memory {
    WbbMap known; /* positions */
    char *lanes;  /* [capacity] elements; the element of entry k of `known` is the k-th */
    uint32_t capacity;
    const struct Memory *older; /* of a chunk: the memory of what it is a part of, which it only reads */
} Memory;

static Memory *memory_of(Ev *e, EvRef r)
{
    const Memory *older = ev_kept(r, r.leaf | remembered);
    if (older && older->known.arena == e->kept_arena) return (Memory *)older;
    Memory *m = WBB_NEW(e->kept_arena, Memory);
    *m = (Memory){.known.arena = e->kept_arena, .older = older};
    ev_keep(e, r, r.leaf | remembered, m);
    return m;
}

/* The element at a position; NULL if it is not known. */
static const char *recalled(const Memory *m, int64_t position, size_t bytes)
{
    for (; m; m = m->older) {
        const WbbEntry *known = wbb_map_get(&m->known, (uint64_t)position);
        if (known) return m->lanes + (size_t)(known - m->known.entries) * bytes;
    }
    return NULL;
}

static void remember(Ev *e, Memory *m, const EvSet *set, const char *lanes, size_t bytes)
{
    if (set->n > MOST) return;
    if (m->known.n + set->n > MOST) wbb_map_clear(&m->known);
    const uint32_t most = m->known.n + (uint32_t)set->n;
    if (most > m->capacity) {
        const uint32_t capacity = WBB_MAX(2 * m->capacity, most);
        m->lanes = wbb_grow(e->kept_arena, m->lanes, m->known.n * bytes, wbb_mul_size(e->kept_arena, capacity, bytes));
        m->capacity = capacity;
    }
    for (int64_t k = 0; k < set->n; k++) {
        const uint32_t before = m->known.n;
        wbb_map_put(&m->known, (uint64_t)ev_position(set, k));
        if (m->known.n > before) memcpy(m->lanes + before * bytes, lanes + (size_t)k * bytes, bytes);
    }
}

/* The positions of a set that are not known, each once, in the set's order; the set itself where no position is known
 * or repeated. */
static const EvSet *missing(Ev *e, const Memory *m, const EvSet *set)
{
    if (!m->known.n && !m->older && !set->list) return set;
    int64_t *list = ev_list(e, set->n), n = 0;
    WbbMap seen = {.arena = e->block};
    for (int64_t k = 0; k < set->n; k++) {
        const int64_t position = ev_position(set, k);
        if (recalled(m, position, 0)) continue;
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
    if (unknown->n && t->ref.i->opcode == HLO_SORT) { /* what one element of a row takes, all of them take */
        unknown = ev_sorted_rows(e, t->ref.i, unknown);
        if (unknown->n == t->set->n) unknown = t->set;
    }
    if (unknown == t->set) {
        void *made = compute(e, t);
        if (made) remember(e, m, t->set, made, bytes);
        return made;
    }
    if (unknown->n) {
        const void *made = ev_need(e, t->ref, unknown); /* known already if another leaf of the operation was wanted */
        if (made) remember(e, m, unknown, made, bytes);
        return NULL; /* the step is repeated, and then all is known */
    }
    char *lanes = ev_lanes(e, (size_t)t->set->n * bytes);
    for (int64_t k = 0; k < t->set->n; k++) {
        memcpy(lanes + (size_t)k * bytes, recalled(m, ev_position(t->set, k), bytes), bytes);
    }
    return lanes;
}
