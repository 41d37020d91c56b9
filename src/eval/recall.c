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

enum { FIRST_ROOM = 64, MOST = 1 << 20 }; /* elements; with more the memory starts anew */
static const uint32_t remembered = UINT32_C(1) << 30; /* of the leaf under which a memory is kept */

/* Positions in a table with open addressing; slots hold the number of an element + 1. */
typedef struct {
    uint32_t *slot, mask;
} Table;

typedef struct {
    Table table;
    int64_t *position; /* [n] */
    char *lanes;       /* [n] */
    uint32_t n, capacity;
} Memory;

static Table new_table(WbbArena *a, int64_t elements)
{
    uint32_t size = 16;
    while (size < 2 * elements) size *= 2;
    return (Table){WBB_NEW_N(a, uint32_t, size), size - 1};
}

/* The slot of a position, which is 0 if the table does not have it. */
static uint32_t *slot_of(const Table *t, const int64_t *position, int64_t wanted)
{
    uint64_t mixed = (uint64_t)wanted * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t h = (uint32_t)(mixed >> 32) & t->mask;
    while (t->slot[h] && position[t->slot[h] - 1] != wanted) h = (h + 1) & t->mask;
    return &t->slot[h];
}

static Memory *memory_of(Ev *e, EvRef r)
{
    Memory *m = ev_kept(r, r.leaf | remembered);
    if (m) return m;
    m = WBB_NEW(e->home, Memory);
    ev_keep(e, r, r.leaf | remembered, m);
    return m;
}

static void grow(Ev *e, Memory *m, int64_t more, size_t bytes)
{
    if (m->n + more <= m->capacity) return;
    const int64_t capacity = WBB_MAX(WBB_MAX(2 * (int64_t)m->capacity, m->n + more), FIRST_ROOM);
    int64_t *position = WBB_NEW_N(e->home, int64_t, capacity);
    char *lanes = wbb_alloc(e->home, wbb_mul_size(e->home, (size_t)capacity, bytes));
    if (m->n) {
        memcpy(position, m->position, m->n * sizeof *position);
        memcpy(lanes, m->lanes, m->n * bytes);
    }
    m->position = position;
    m->lanes = lanes;
    m->capacity = (uint32_t)capacity;
    m->table = new_table(e->home, capacity);
    for (uint32_t k = 0; k < m->n; k++) *slot_of(&m->table, position, position[k]) = k + 1;
}

static void remember(Ev *e, Memory *m, const EvSet *set, const char *lanes, size_t bytes)
{
    if (set->n > MOST) return;
    if (m->n + set->n > MOST && m->capacity) {
        memset(m->table.slot, 0, ((size_t)m->table.mask + 1) * sizeof *m->table.slot);
        m->n = 0;
    }
    grow(e, m, set->n, bytes);
    for (int64_t k = 0; k < set->n; k++) {
        const int64_t position = ev_position(set, k);
        uint32_t *slot = slot_of(&m->table, m->position, position);
        if (*slot) continue;
        m->position[m->n] = position;
        memcpy(m->lanes + m->n * bytes, lanes + (size_t)k * bytes, bytes);
        *slot = ++m->n;
    }
}

/* What is not known of a set, each position once, in the set's order; the set itself where that is all of it. */
static const EvSet *missing(Ev *e, const Memory *m, const EvSet *set)
{
    if (!m->n && !set->list) return set;
    int64_t *list = ev_list(e, set->n), n = 0;
    const Table seen = new_table(e->block, set->list ? set->n : 0);
    for (int64_t k = 0; k < set->n; k++) {
        const int64_t position = ev_position(set, k);
        if (m->n && *slot_of(&m->table, m->position, position)) continue;
        if (set->list) {
            uint32_t *slot = slot_of(&seen, list, position);
            if (*slot) continue;
            *slot = (uint32_t)n + 1;
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
        const uint32_t at = *slot_of(&m->table, m->position, ev_position(t->set, k));
        memcpy(lanes + (size_t)k * bytes, m->lanes + (at - 1) * bytes, bytes);
    }
    return lanes;
}
