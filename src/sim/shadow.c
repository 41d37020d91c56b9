/* shadow: the last accesses of each byte, and whether they are ordered before the access that comes now.
 *
 * Needs: accesses that lie inside their segments (memory.c). Leaves: faults for races.
 *
 * Two accesses of one byte, one of them a store, by different threads are a race unless something orders them.
 * Inside a block that is a barrier that both warps take part in, kept as one clock for each pair of warps; inside a
 * warp it is bar.warp.sync or a barrier, for lanes are not promised to run in step (PTX ISA 8.7). Where the entry has
 * fences, or accesses that acquire or release, and between the blocks of a cluster, the views of order.c say what else
 * is ordered. Atomic operations, and loads and stores that are volatile, relaxed, acquire or release, do not race with
 * each other, where the scopes of both include the other thread. Two lanes that store different bits to one byte in one
 * instruction are a race, the same bits are not.
 *
 * Of each byte the last store is kept, and all loads and atomic operations since then that are not ordered among
 * each other. Where views order threads they are a list of groups, each the lanes of a warp at one time. Elsewhere,
 * where nothing orders blocks: those of one warp as a mask of lanes, those of several warps in a table of all warps,
 * of those of several blocks one of another block.
 *
 * Shared memory is watched always, global memory where a kernel may read what it writes: buffers with contents at
 * the start, temporaries, outputs that may be written more than once, all outputs where views order threads, and from
 * the first load of one on all outputs; the stores before that load are not known. A second store to an output that
 * is written once is memory.c's. Shared memory of other blocks of a cluster is watched until a copy goes there.
 *
 *     st.shared [%r1] by thread 3, ld.shared [%r1] by thread 40, no barrier between them: a race at the load
 *     ld.shared [%r1] by threads 3 and 40, bar.sync of warp 0 alone, st.shared [%r1] by thread 3: a race at the store
 */
#include "sim/inner.h"

enum { PAGE = 1024, MAX_PAGES = 1 << 13 }; /* cells a page; pages of a launch: 384 MiB */
enum { MAX_SEVERAL = 1 << 18 /* of a segment: 75 MiB */, MAX_GROUPS = 1 << 22 /* 96 MiB */ };

/* One access. `block` is Block.serial: 1 + its rank in the cluster + MAX_CLUSTER times the number of the cluster; 0 for
 * none. */
typedef struct {
    uint32_t block, time;
    uint32_t op; /* number of the operation, doubled; odd: it was atomic or strong */
    uint16_t thread;
} Touch;

/* Accesses of several warps or blocks: one by another block, and of each warp of a block the time and lanes of its
 * last. */
typedef struct {
    Touch other;
    uint32_t time[LANES], lanes[LANES];
} Several;

/* Accesses of lanes of a warp at one time, where views order threads. */
typedef struct {
    Touch touch;
    uint32_t lanes, next; /* next: 1 + number of a AccessGroup, or 0 */
} AccessGroup;

/* Accesses that are not ordered among each other. */
typedef struct {
    Touch last;
    uint32_t lanes;  /* of the warp of `last`, at its time */
    uint32_t others; /* 1 + number of a Several, or where views order threads of a AccessGroup; or 0 */
    uint32_t n : 24;    /* groups behind `others` */
    uint32_t kinds : 8; /* of all of them and the last, where views order threads: a bit of kind_of for each */
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
    struct { AccessGroup *items; uint32_t n, capacity; } groups;
    uint32_t spare_group; /* 1 + number of the first one, or 0 */
    struct { Message *items; uint32_t n, capacity; } messages;
    WbbMap message_at; /* 1 + number of a message, by offset */
};

SimShadow *sim_shadow(WbbArena *a, uint64_t size, bool per_block, bool stores_judged)
{
    SimShadow *s = WBB_NEW(a, SimShadow);
    *s = (SimShadow){.pages = WBB_NEW_N(a, Cell *, (size_t)(size / PAGE) + 1), .size = size, .per_block = per_block,
                     .stores_judged = stores_judged, .message_at.arena = a};
    return s;
}

Message *sim_message(Block *b, SimShadow *s, uint64_t at, bool make)
{
    WbbEntry *e = make ? wbb_map_put(&s->message_at, at) : wbb_map_get(&s->message_at, at);
    if (!e) return NULL;
    if (!e->value) {
        WBB_PUSH(b->arena, &s->messages, (Message){0});
        e->value = s->messages.n;
    }
    return &s->messages.items[e->value - 1];
}

static void forget(Block *b, Message *m)
{
    for (int k = 0; m && k < SCOPES; k++) sim_view_drop(b, &m->by[k]);
}

void sim_shadow_reset(Block *b, SimShadow *s)
{
    for (uint32_t i = 0; i < s->messages.n; i++) forget(b, &s->messages.items[i]);
    s->messages.n = 0;
    wbb_map_clear(&s->message_at);
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
    b->synced[p] = ++b->clock[p][p];
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

void sim_clock_reset(Block *b)
{
    memset(b->clock, 0, sizeof b->clock);
    for (int p = 0; p < LANES; p++) b->clock[p][p] = b->synced[p] = 1;
}

/* The lanes, of one warp at one time, whose access nothing orders before this one. */
static uint32_t open_lanes(const Block *b, const SimShadow *s, const Touch *t, uint32_t lanes, const Touch *now)
{
    const int p = now->thread / LANES, q = t->thread / LANES;
    if (t->block != now->block) {
        if (s->per_block && !sim_same_cluster(t->block, now->block)) return 0;
    } else if (p == q) {
        lanes &= ~(1u << now->thread % LANES);
        if (t->time < b->synced[p]) return 0;
    } else if (b->clock[p][q] >= t->time) {
        return 0;
    }
    return lanes && b->orders ? sim_view_open(b, now->thread, t->block, (uint32_t)q, t->time, lanes) : lanes;
}

/* True if both are strong, and the scopes of both include the other thread (PTX ISA 8.7, morally strong). */
static bool strong_pair(const Block *b, const Touch *t, const Touch *now)
{
    if (!(t->op & now->op & 1)) return false;
    if (t->block == now->block) return true;
    const int x = b->m->ops.items[t->op >> 1].order >> ORDER_SCOPE & 3,
              y = b->m->ops.items[now->op >> 1].order >> ORDER_SCOPE & 3;
    return WBB_MIN(x, y) >= (sim_same_cluster(t->block, now->block) ? SCOPE_CLUSTER : SCOPE_GPU);
}

/* The same for any single access. */
static bool races(const Block *b, const SimShadow *s, const Touch *t, const Touch *now)
{
    const int p = now->thread / LANES, q = t->thread / LANES;
    if (!t->block) return false;
    if (t->block == now->block && (p == q ? t->time < b->synced[p] : b->clock[p][q] >= t->time)) return false;
    return !strong_pair(b, t, now) && open_lanes(b, s, t, 1u << t->thread % LANES, now);
}

/* An access by several warps or blocks that nothing orders before this one, or NULL. */
static const Touch *racing_several(const Block *b, const SimShadow *s, const Accesses *a, const Touch *now,
                                   Touch *found)
{
    const Several *w = &s->several.items[a->others - 1];
    const int p = now->thread / LANES;
    if (w->other.block && w->other.block != now->block && !s->per_block) return &w->other;
    if (a->last.block != now->block) return NULL;
    for (int r = 0; r < LANES; r++) {
        const uint32_t lanes = r == p ? w->lanes[r] & ~(1u << now->thread % LANES) : w->lanes[r];
        if (!lanes || (r == p ? w->time[r] < b->synced[p] : b->clock[p][r] >= w->time[r])) continue;
        *found = a->last;
        found->thread = (uint16_t)(r * LANES + __builtin_ctz(lanes));
        return found;
    }
    return NULL;
}

/* The access of one of these lanes, if there is one. */
static const Touch *racing_group(const Block *b, const SimShadow *s, const Touch *t, uint32_t lanes, const Touch *now,
                                 Touch *found)
{
    const uint32_t open = strong_pair(b, t, now) ? 0 : open_lanes(b, s, t, lanes, now);
    if (!open) return NULL;
    *found = *t;
    if (!(open >> t->thread % LANES & 1)) found->thread = (uint16_t)(t->thread / LANES * LANES + __builtin_ctz(open));
    return found;
}

/* Weak accesses are of kind 1, strong ones of a kind for each scope. */
static uint32_t kind_of(const Block *b, const Touch *t)
{
    return t->op & 1 ? 2u << (b->m->ops.items[t->op >> 1].order >> ORDER_SCOPE & 3) : 1u;
}

/* All accesses are strong, of one scope, and this one is, too. */
static bool alike(const Accesses *a, uint32_t kind) { return kind != 1 && a->kinds == kind; }

/* No access can race with this one: it and all of them are strong, in scopes that include all threads. */
static bool meets_all(const Accesses *a, uint32_t kind)
{
    const uint32_t wide = 2u << SCOPE_GPU;
    return kind & wide && !(a->kinds & ~wide);
}

/* One of the accesses that nothing orders before this one, or NULL. */
static const Touch *racing(const Block *b, const SimShadow *s, const Accesses *a, const Touch *now, Touch *found)
{
    if (!a->last.block || (b->orders && meets_all(a, kind_of(b, now)))) return NULL;
    const Touch *t = racing_group(b, s, &a->last, a->lanes, now, found);
    if (t || !a->others) return t;
    if (!b->orders) return a->last.op & now->op & 1 ? NULL : racing_several(b, s, a, now, found);
    for (uint32_t i = a->others; i && !t; i = s->groups.items[i - 1].next)
        t = racing_group(b, s, &s->groups.items[i - 1].touch, s->groups.items[i - 1].lanes, now, found);
    return t;
}

/* NULL where there is memory for no more: then the accesses that were there stand for all. */
static Several *several_of(Block *b, SimShadow *s, Accesses *a)
{
    if (!a->others) {
        if (s->several.n == MAX_SEVERAL) return NULL;
        WBB_PUSH(b->arena, &s->several, (Several){0});
        a->others = s->several.n;
    }
    return &s->several.items[a->others - 1];
}

/* One access more, beside those that are not ordered before it. */
static void add_access(Block *b, SimShadow *s, Accesses *a, const Touch *now)
{
    const uint32_t lane = 1u << now->thread % LANES;
    const int p = now->thread / LANES, q = a->last.thread / LANES;
    if (!a->last.block || (s->per_block && a->last.block != now->block)) {
        a->lanes = lane;
        if (a->others) s->several.items[a->others - 1] = (Several){0};
    } else if (a->last.block != now->block) {
        Several *w = several_of(b, s, a);
        if (!w) return;
        *w = (Several){.other = a->last};
        a->lanes = lane;
    } else if (p == q) {
        a->lanes = a->last.time == now->time ? a->lanes | lane : lane;
    } else {
        if (a->others || b->clock[p][q] < a->last.time) {
            Several *w = several_of(b, s, a);
            if (!w) return;
            w->time[q] = a->last.time, w->lanes[q] = a->lanes;
        }
        a->lanes = lane;
    }
    a->last = *now;
}

static void free_group(SimShadow *s, Accesses *a, uint32_t *at)
{
    const uint32_t i = *at;
    *at = s->groups.items[i - 1].next;
    s->groups.items[i - 1].next = s->spare_group;
    s->spare_group = i;
    a->n = (a->n - 1) & 0xffffff;
}

static void keep_group(Block *b, SimShadow *s, Accesses *a, const Touch *t, uint32_t lanes)
{
    uint32_t i = s->spare_group;
    if (i) s->spare_group = s->groups.items[i - 1].next;
    else if (s->groups.n == MAX_GROUPS) return;
    else {
        WBB_PUSH(b->arena, &s->groups, (AccessGroup){0});
        i = s->groups.n;
    }
    s->groups.items[i - 1] = (AccessGroup){*t, lanes, a->others};
    a->others = i;
    a->n = (a->n + 1) & 0xffffff;
}

/* The lanes of an access before this one that are still to be kept. One that is ordered before it goes, unless a strong
 * access after both would race with it alone. */
static uint32_t still_open(const Block *b, const SimShadow *s, const Touch *t, uint32_t lanes, const Touch *now)
{
    return now->op & ~t->op & 1 ? lanes : open_lanes(b, s, t, lanes, now);
}

static bool same_group(const Touch *t, const Touch *now)
{
    return t->block == now->block && t->time == now->time && t->thread / LANES == now->thread / LANES &&
           !((t->op ^ now->op) & 1);
}

/* Does this access stand for an earlier one of its thread? What is ordered after it, or strong enough to meet it, is so
 * for the earlier one, too. A loop that waits makes such accesses without end. */
static bool stands_for(const Block *b, const Touch *now, const Touch *t)
{
    if (t->block != now->block || t->thread / LANES != now->thread / LANES || ((t->op ^ now->op) & 1)) return false;
    return !((b->m->ops.items[t->op >> 1].order ^ b->m->ops.items[now->op >> 1].order) >> ORDER_SCOPE & 3);
}

/* Take the group of this access out of the list, if it is there; its lanes. The lanes of a thread stand in one group of
 * accesses that are alike, and the groups of a warp in their order, the newest first: where its own is found, none that
 * is further on matters. So the search ends near the front for a warp that waits, however many have waited before. */
static uint32_t take_group(const Block *b, SimShadow *s, Accesses *a, const Touch *now)
{
    const uint32_t lane = 1u << now->thread % LANES;
    const bool one = alike(a, kind_of(b, now));
    uint32_t lanes = 0;
    bool found = false;
    for (uint32_t *i = &a->others; *i && !(one && found);) {
        AccessGroup *g = &s->groups.items[*i - 1];
        const bool same = same_group(&g->touch, now), older = !same && stands_for(b, now, &g->touch);
        found = (same || older) && g->lanes & lane;
        if (same) lanes = g->lanes;
        else if (older) g->lanes &= ~lane;
        if (same || !g->lanes) free_group(s, a, i);
        else i = &g->next;
    }
    return lanes;
}

/* The same, where views order threads. Of a long list those that are ordered before the access go now and then. */
static void add_group(Block *b, SimShadow *s, Accesses *a, const Touch *now)
{
    const uint32_t lane = 1u << now->thread % LANES, kind = kind_of(b, now);
    uint32_t lanes = lane;
    if (!a->last.block) {
        while (a->others) free_group(s, a, &a->others);
        a->kinds = 0;
    }
    const bool one = alike(a, kind);
    a->kinds = (a->kinds | kind) & 0xff;
    if (a->last.block && same_group(&a->last, now)) {
        if (one && !(a->lanes & lane)) take_group(b, s, a, now);
        a->lanes |= lane;
        a->last = *now;
        return;
    }
    const bool again = a->last.block && a->lanes & lane && stands_for(b, now, &a->last);
    if (!(one && again)) lanes |= take_group(b, s, a, now);
    const uint32_t n = a->n;
    for (uint32_t *i = &a->others; *i && (n < 8 || !(n & (n - 1)));) {
        AccessGroup *g = &s->groups.items[*i - 1];
        g->lanes = still_open(b, s, &g->touch, g->lanes, now);
        if (!g->lanes) free_group(s, a, i);
        else i = &g->next;
    }
    uint32_t open = a->last.block ? still_open(b, s, &a->last, a->lanes, now) : 0;
    if (again) open &= ~lane;
    if (open) keep_group(b, s, a, &a->last, open);
    a->last = *now, a->lanes = lanes;
}

static void report(Block *b, Warp *w, const SimOp *op, int lane, const char *what, uint64_t at, const char *name,
                   const Touch *t, const Touch *now)
{
    const SimOp *other = &b->m->ops.items[t->op >> 1];
    const char *kind = other->kind == OP_LOAD ? "a load" : other->kind == OP_STORE ? "a store" : "an access";
    const char *why = t->op & now->op & 1 ? ": their scopes do not include each other"
                      : b->orders         ? ", which nothing orders"
                                          : ": blocks run in any order";
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
                  "race: %s of byte %llu of %s and %s of it by block (%u,%u,%u), line %d%s", what,
                  (unsigned long long)at, name, kind, id[0], id[1], id[2], other->line, why);
}

/* True if both are lanes of one execution of an instruction. */
static bool same_instruction(const Touch *t, const Touch *now)
{
    return t->op == now->op && t->block == now->block && t->thread / LANES == now->thread / LANES &&
           t->time == now->time;
}

/* What one byte's access races with, or NULL; `equal`: a lane of the same instruction stored the same bits. */
static const Touch *clash(const Block *b, const SimShadow *s, const Cell *c, const Touch *now, bool store, bool equal,
                          Touch *found)
{
    if (!equal && !(store && s->stores_judged) && races(b, s, &c->store, now)) return &c->store;
    const Touch *t = store ? racing(b, s, &c->loads, now, found) : NULL;
    return t || !c->atomics ? t : racing(b, s, &s->atomics.items[c->atomics - 1], now, found);
}

static bool same_thread(const Touch *t, const Touch *now) { return t->block == now->block && t->thread == now->thread; }

/* The common case, that no other thread has touched the byte: true if it is so, and then the access is kept. */
static bool touched_alone(Cell *c, const Touch *now, bool store)
{
    const uint32_t lane = 1u << now->thread % LANES;
    if (c->atomics || c->loads.others || (c->store.block && !same_thread(&c->store, now))) return false;
    if (c->loads.last.block && !(same_thread(&c->loads.last, now) && c->loads.lanes == lane)) return false;
    if (store) {
        c->store = *now;
        c->loads.last.block = 0;
    } else {
        c->loads.last = *now, c->loads.lanes = lane, c->loads.kinds = 1;
    }
    return true;
}

void sim_touch(Block *b, Warp *w, const SimOp *op, int lane, SimShadow *s, uint64_t at, size_t size, SimTouch kind,
               const uint8_t *value, const uint8_t *memory, const char *name)
{
    void (*const add)(Block *, SimShadow *, Accesses *, const Touch *) = b->orders ? add_group : add_access;
    const int p = (int)w->first_thread / LANES;
    const bool atomic = kind == SIM_TOUCH_ATOMIC || op->order != 0, store = kind != SIM_TOUCH_LOAD;
    const Touch now = {.block = b->serial,
                       .time = b->clock[p][p],
                       .thread = (uint16_t)(w->first_thread + (uint32_t)lane),
                       .op = (uint32_t)(op - b->m->ops.items) << 1 | atomic};
    Touch found;
    if (at >= s->size) return;
    Cell *c = cell_at(b, s, at); /* an access is aligned, so its cells lie in one page */
    size = WBB_MIN(size, (size_t)(s->size - at));
    for (size_t i = 0; c && i < size; i++, c++) {
        if (!atomic && touched_alone(c, &now, store)) continue;
        const bool equal = value && value[i] == memory[i] && same_instruction(&c->store, &now);
        const Touch *t = clash(b, s, c, &now, store, equal, &found);
        if (t) {
            report(b, w, op, lane, store ? "store" : "load", at + i, name, t, &now);
            return;
        }
        if (!store) {
            add(b, s, &c->loads, &now);
        } else if (atomic) {
            if (!c->atomics) {
                WBB_PUSH(b->arena, &s->atomics, (Accesses){0});
                c->atomics = s->atomics.n;
            }
            add(b, s, &s->atomics.items[c->atomics - 1], &now);
        } else { /* it comes after all that was there */
            c->store = now;
            c->loads.last.block = 0;
            if (!c->atomics) continue;
            s->atomics.items[c->atomics - 1].last.block = 0;
            if (b->orders) forget(b, sim_message(b, s, at + i, false));
        }
    }
}
