/* shadow: the last accesses of each byte, and whether they are ordered before the access that comes now.
 *
 * Needs: accesses that lie inside their segments (memory.c). Leaves: faults for races.
 *
 * Two accesses of one byte, one of them a store, by different threads are a race unless something orders them.
 * Inside a block that is a barrier that both warps take part in, kept as one clock for each pair of warps; inside a
 * warp it is bar.warp.sync or a barrier, for lanes are not promised to run in step (PTX ISA 8.7); between the blocks
 * of a cluster it is the cluster's barrier, counted by its arrivals; between other blocks nothing orders. Atomic
 * operations, and loads and stores that are volatile, relaxed, acquire or release, do not race with each other, and
 * order nothing else. Two lanes that store different bits to one byte in one instruction are a race, the same bits
 * are not.
 *
 * Of each byte the last store is kept, and all loads and atomic operations since then that are not ordered among
 * each other: those of one warp as a mask of lanes, those of several warps in a table of all warps, of those of
 * several blocks one of another block.
 *
 * Shared memory is watched always, global memory where a kernel may read what it writes: buffers with contents at
 * the start, temporaries, outputs that may be written more than once, and from the first load of one on all outputs;
 * the stores before that load are not known. A second store to an output that is written once is memory.c's. Shared
 * memory of other blocks of a cluster is watched until an mbarrier, a copy, a strong access or, beside fences, an
 * atomic operation goes there: they may order more than is known here.
 *
 *     st.shared [%r1] by thread 3, ld.shared [%r1] by thread 40, no barrier between them: a race at the load
 *     ld.shared [%r1] by threads 3 and 40, bar.sync of warp 0 alone, st.shared [%r1] by thread 3: a race at the store
 */
#include "sim/inner.h"

enum { PAGE = 1024, MAX_PAGES = 1 << 13 }; /* cells a page; pages of a launch: 360 MiB */
enum { MAX_SEVERAL = 1 << 18 /* of a segment: 75 MiB */ };

/* One access. `block` is 1 + its number in the cluster + MAX_CLUSTER times the number of the cluster, or 0 for none. */
typedef struct {
    uint32_t block, time;
    uint16_t thread, arrivals; /* arrivals: of its warp at the cluster's barrier */
    uint32_t op;               /* number of the operation, doubled; odd: it was atomic */
} Touch;

/* Accesses of several warps or blocks: one by another block, and of each warp of a block the time and lanes of its
 * last. */
typedef struct {
    Touch other;
    uint32_t time[LANES], lanes[LANES];
} Several;

/* Accesses that are not ordered among each other. */
typedef struct {
    Touch last;
    uint32_t lanes;   /* of the warp of `last`, at its time */
    uint32_t several; /* 1 + number of a Several for the others, or 0 */
} Accesses;

typedef struct {
    Touch store;
    Accesses loads;
    uint32_t atomics; /* 1 + number of Accesses, or 0 */
} Cell;

struct SimShadow {
    Cell **pages;
    uint64_t size;
    bool per_block;     /* shared memory: touches by other clusters are of no concern */
    bool stores_judged; /* a second store is a fault of its own */
    struct { Several *items; uint32_t n, capacity; } several;
    struct { Accesses *items; uint32_t n, capacity; } atomics;
};

SimShadow *sim_shadow(WbbArena *a, uint64_t size, bool per_block, bool stores_judged)
{
    SimShadow *s = WBB_NEW(a, SimShadow);
    *s = (SimShadow){.pages = WBB_NEW_N(a, Cell *, (size_t)(size / PAGE) + 1), .size = size, .per_block = per_block,
                     .stores_judged = stores_judged};
    return s;
}

static Cell *cell_at(Block *b, SimShadow *s, uint64_t at)
{
    Cell **page = &s->pages[at / PAGE];
    if (!*page) {
        if (b->all->shadow_pages == MAX_PAGES) return NULL;
        b->all->shadow_pages++;
        *page = WBB_NEW_N(b->arena, Cell, PAGE);
    }
    return &(*page)[at % PAGE];
}

/* Order ---------------------------------------------------------------------------------------- */

void sim_warp_ordered(Block *b, const Warp *w)
{
    const int p = (int)w->first_thread / LANES;
    b->clock[p][p]++;
}

/* The warp starts a new time of its own after it, so that later accesses are not taken for earlier ones. */
void sim_release(Block *b, const Warp *w, uint32_t clock[LANES])
{
    const int p = (int)w->first_thread / LANES;
    for (int q = 0; q < LANES; q++) clock[q] = WBB_MAX(clock[q], b->clock[p][q]);
    sim_warp_ordered(b, w);
}

void sim_acquire(Block *b, Warp *w, const uint32_t clock[LANES])
{
    uint32_t *own = b->clock[w->first_thread / LANES];
    for (int q = 0; q < LANES; q++) own[q] = WBB_MAX(own[q], clock[q]);
    sim_warp_ordered(b, w);
}

void sim_ordered(Block *b, uint32_t mask)
{
    uint32_t latest[LANES] = {0};
    for (uint32_t rest = mask; rest; rest &= rest - 1) sim_release(b, &b->warps[__builtin_ctz(rest)], latest);
    for (uint32_t rest = mask; rest; rest &= rest - 1) sim_acquire(b, &b->warps[__builtin_ctz(rest)], latest);
}

void sim_clock_reset(Block *b)
{
    memset(b->clock, 0, sizeof b->clock);
    for (int p = 0; p < LANES; p++) b->clock[p][p] = 1;
}

static bool same_cluster(const Touch *t, const Touch *now)
{
    return (t->block - 1) / MAX_CLUSTER == (now->block - 1) / MAX_CLUSTER;
}

/* True if nothing orders an access by another block before this one. */
static bool block_races(const SimShadow *s, const Touch *t, const Touch *now, uint16_t waits)
{
    if (same_cluster(t, now)) return (int16_t)(uint16_t)(t->arrivals - waits) >= 0;
    return !s->per_block;
}

/* The same for any single access. */
static bool races(const Block *b, const SimShadow *s, const Touch *t, const Touch *now, uint16_t waits)
{
    if (!t->block || (t->op & now->op & 1)) return false;
    if (t->block != now->block) return block_races(s, t, now, waits);
    if (t->thread == now->thread) return false;
    const int p = now->thread / LANES, q = t->thread / LANES;
    return p == q ? t->time == now->time : b->clock[p][q] < t->time;
}

/* An access by several warps or blocks that nothing orders before this one, or NULL. */
static const Touch *racing_several(const Block *b, const SimShadow *s, const Accesses *a, const Touch *now,
                                   uint16_t waits, Touch *found)
{
    const Several *w = &s->several.items[a->several - 1];
    const int p = now->thread / LANES;
    if (w->other.block && w->other.block != now->block && block_races(s, &w->other, now, waits)) return &w->other;
    if (a->last.block != now->block) return NULL;
    for (int r = 0; r < LANES; r++) {
        const uint32_t lanes = r == p ? w->lanes[r] & ~(1u << now->thread % LANES) : w->lanes[r];
        if (!lanes || (r == p ? w->time[r] != now->time : b->clock[p][r] >= w->time[r])) continue;
        *found = a->last;
        found->thread = (uint16_t)(r * LANES + __builtin_ctz(lanes));
        return found;
    }
    return NULL;
}

/* One of the accesses that nothing orders before this one, or NULL. */
static const Touch *racing(const Block *b, const SimShadow *s, const Accesses *a, const Touch *now, uint16_t waits,
                           Touch *found)
{
    if (!a->last.block || (a->last.op & now->op & 1)) return NULL;
    if (a->last.block != now->block) {
        if (block_races(s, &a->last, now, waits)) return &a->last;
    } else {
        const int p = now->thread / LANES, q = a->last.thread / LANES;
        const uint32_t others = a->lanes & ~(1u << now->thread % LANES);
        *found = a->last;
        if (p != q && b->clock[p][q] < a->last.time) return found;
        if (p == q && a->last.time == now->time && others) {
            if (a->last.thread == now->thread) found->thread = (uint16_t)(p * LANES + __builtin_ctz(others));
            return found;
        }
    }
    return a->several ? racing_several(b, s, a, now, waits, found) : NULL;
}

/* NULL where there is memory for no more: then the accesses that were there stand for all. */
static Several *several_of(Block *b, SimShadow *s, Accesses *a)
{
    if (!a->several) {
        if (s->several.n == MAX_SEVERAL) return NULL;
        WBB_PUSH(b->arena, &s->several, (Several){0});
        a->several = s->several.n;
    }
    return &s->several.items[a->several - 1];
}

/* One access more, beside those that are not ordered before it. */
static void add_access(Block *b, SimShadow *s, Accesses *a, const Touch *now, uint16_t waits)
{
    const uint32_t lane = 1u << now->thread % LANES;
    const int p = now->thread / LANES, q = a->last.thread / LANES;
    if (!a->last.block || (s->per_block && !same_cluster(&a->last, now))) {
        a->lanes = lane;
        if (a->several) s->several.items[a->several - 1] = (Several){0};
    } else if (a->last.block != now->block) {
        const bool open = block_races(s, &a->last, now, waits);
        if (open || a->several) {
            Several *w = several_of(b, s, a);
            if (!w) return;
            *w = (Several){.other = open ? a->last : w->other};
        }
        a->lanes = lane;
    } else if (p == q) {
        a->lanes = a->last.time == now->time ? a->lanes | lane : lane;
    } else {
        if (a->several || b->clock[p][q] < a->last.time) {
            Several *w = several_of(b, s, a);
            if (!w) return;
            w->time[q] = a->last.time, w->lanes[q] = a->lanes;
        }
        a->lanes = lane;
    }
    a->last = *now;
}

static void report(Block *b, Warp *w, const SimOp *op, int lane, const char *what, uint64_t at, const char *name,
                   const Touch *t)
{
    const SimOp *other = &b->m->ops.items[t->op >> 1];
    const char *kind = other->kind == OP_LOAD ? "a load" : other->kind == OP_STORE ? "a store" : "an access";
    const uint32_t *block = b->launch->block;
    uint32_t id[3];
    sim_block_ids(b->launch, (t->block - 1) / MAX_CLUSTER, (t->block - 1) % MAX_CLUSTER, id);
    if (!memcmp(id, b->id, sizeof id))
        sim_fault(b, w, op, lane,
                  "race: %s of byte %llu of %s and %s of it by thread (%u,%u,%u), line %d, which nothing orders", what,
                  (unsigned long long)at, name, kind, t->thread % block[0], t->thread / block[0] % block[1],
                  t->thread / block[0] / block[1], other->line);
    else
        sim_fault(b, w, op, lane,
                  "race: %s of byte %llu of %s and %s of it by block (%u,%u,%u), line %d: blocks run in any order",
                  what, (unsigned long long)at, name, kind, id[0], id[1], id[2], other->line);
}

/* True if both are lanes of one execution of an instruction. */
static bool same_instruction(const Touch *t, const Touch *now)
{
    return t->op == now->op && t->block == now->block && t->thread / LANES == now->thread / LANES &&
           t->time == now->time;
}

/* What one byte's access races with, or NULL; `equal`: a lane of the same instruction stored the same bits. */
static const Touch *clash(const Block *b, const SimShadow *s, const Cell *c, const Touch *now, bool store, bool equal,
                          uint16_t waits, Touch *found)
{
    if (!equal && !(store && s->stores_judged) && races(b, s, &c->store, now, waits)) return &c->store;
    const Touch *t = store ? racing(b, s, &c->loads, now, waits, found) : NULL;
    return t || !c->atomics ? t : racing(b, s, &s->atomics.items[c->atomics - 1], now, waits, found);
}

static bool same_thread(const Touch *t, const Touch *now) { return t->block == now->block && t->thread == now->thread; }

/* The common case, that no other thread has touched the byte: true if it is so, and then the access is kept. */
static bool touched_alone(Cell *c, const Touch *now, bool store)
{
    const uint32_t lane = 1u << now->thread % LANES;
    if (c->atomics || c->loads.several || (c->store.block && !same_thread(&c->store, now))) return false;
    if (c->loads.last.block && !(same_thread(&c->loads.last, now) && c->loads.lanes == lane)) return false;
    if (store) {
        c->store = *now;
        c->loads.last.block = 0;
    } else {
        c->loads.last = *now, c->loads.lanes = lane;
    }
    return true;
}

void sim_touch(Block *b, Warp *w, const SimOp *op, int lane, SimShadow *s, uint64_t at, size_t size, SimTouch kind,
               const uint8_t *value, const uint8_t *memory, const char *name)
{
    const int p = (int)w->first_thread / LANES;
    const bool atomic = kind == SIM_TOUCH_ATOMIC || op->mode == SIM_STRONG, store = kind != SIM_TOUCH_LOAD;
    const uint16_t waits = w->cluster_waits;
    const Touch now = {.block = b->serial,
                       .time = b->clock[p][p],
                       .thread = (uint16_t)(w->first_thread + (uint32_t)lane),
                       .arrivals = w->cluster_arrivals,
                       .op = (uint32_t)(op - b->m->ops.items) << 1 | atomic};
    Touch found;
    if (at >= s->size) return;
    Cell *c = cell_at(b, s, at); /* an access is aligned, so its cells lie in one page */
    size = WBB_MIN(size, (size_t)(s->size - at));
    for (size_t i = 0; c && i < size; i++, c++) {
        if (!atomic && touched_alone(c, &now, store)) continue;
        const bool equal = value && value[i] == memory[i] && same_instruction(&c->store, &now);
        const Touch *t = clash(b, s, c, &now, store, equal, waits, &found);
        if (t) {
            report(b, w, op, lane, store ? "store" : "load", at + i, name, t);
            return;
        }
        if (!store) {
            add_access(b, s, &c->loads, &now, waits);
        } else if (atomic) {
            if (!c->atomics) {
                WBB_PUSH(b->arena, &s->atomics, (Accesses){0});
                c->atomics = s->atomics.n;
            }
            add_access(b, s, &s->atomics.items[c->atomics - 1], &now, waits);
        } else { /* it comes after all that was there */
            c->store = now;
            c->loads.last.block = 0;
            if (c->atomics) s->atomics.items[c->atomics - 1].last.block = 0;
        }
    }
}
