/* shadow: the last accesses of each byte, and whether they are ordered before the access that comes now.
 *
 * Needs: accesses that lie inside their segments (memory.c). Leaves: faults for races.
 *
 * Two accesses of one byte, one of them a store, by different threads are a race unless something orders them.
 * Inside a block that is a barrier that both warps take part in, kept as one clock for each pair of warps; inside a
 * warp it is bar.warp.sync or a barrier, for lanes are not promised to run in step (PTX ISA 8.7); between blocks
 * nothing orders. Atomic operations, and loads and stores that are volatile, relaxed, acquire or release, do not
 * race with each other, and order nothing else. Two lanes that store different bits to one byte in one instruction
 * are a race, the same bits are not.
 *
 * Shared memory is watched always, global memory where a kernel may read what it writes: buffers with contents at
 * the start, temporaries, outputs that may be written more than once, and from the first load of one on all outputs;
 * the stores before that load are not known. A second store to an output that is written once is memory.c's.
 *
 *     st.shared [%r1] by thread 3, ld.shared [%r1] by thread 40, no barrier between them: a race at the load
 */
#include "sim/inner.h"

enum { PAGE = 1024, MAX_PAGES = 1 << 14 }; /* cells a page; pages of a launch: 512 MiB */

/* One access; block 0: none. */
typedef struct {
    uint32_t block, time;
    uint16_t thread, syncs;
    uint32_t op; /* number of the operation, doubled; odd: it was atomic */
} Touch;

typedef struct {
    Touch store, load;
} Cell;

struct SimShadow {
    Cell **pages;
    uint64_t size;
    bool per_block;     /* shared memory: another block's touches are of no concern */
    bool stores_judged; /* a second store is a fault of its own */
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
        if (b->shadow_pages == MAX_PAGES) return NULL;
        b->shadow_pages++;
        *page = WBB_NEW_N(b->arena, Cell, PAGE);
    }
    return &(*page)[at % PAGE];
}

/* The warp starts a new time of its own after it, so that later accesses are not taken for earlier ones. */
void sim_release(Block *b, const Warp *w, uint32_t clock[LANES])
{
    const int p = (int)w->first_thread / LANES;
    for (int q = 0; q < LANES; q++) clock[q] = WBB_MAX(clock[q], b->clock[p][q]);
    b->clock[p][p]++;
}

void sim_acquire(Block *b, Warp *w, const uint32_t clock[LANES])
{
    uint32_t *own = b->clock[w->first_thread / LANES];
    for (int q = 0; q < LANES; q++) own[q] = WBB_MAX(own[q], clock[q]);
    w->syncs++;
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

static bool before(const Block *b, const Touch *t, const Touch *now)
{
    if (t->block != now->block) return false;
    if (t->thread == now->thread) return true;
    const int p = now->thread / LANES, q = t->thread / LANES;
    return p == q ? t->syncs != now->syncs : b->clock[p][q] >= t->time;
}

static bool races(const Block *b, const SimShadow *s, const Touch *t, const Touch *now)
{
    if (!t->block || (s->per_block && t->block != now->block) || before(b, t, now)) return false;
    return !((t->op & 1) && (now->op & 1));
}

static void report(Block *b, Warp *w, const SimOp *op, int lane, const char *what, uint64_t at, const char *name,
                   const Touch *t)
{
    const SimOp *other = &b->m->ops.items[t->op >> 1];
    const char *kind = other->kind == OP_LOAD ? "a load" : other->kind == OP_STORE ? "a store" : "an access";
    const uint32_t *grid = b->launch->grid, *block = b->launch->block, k = t->block - 1;
    if (k == b->number)
        sim_fault(b, w, op, lane,
                  "race: %s of byte %llu of %s and %s of it by thread (%u,%u,%u), line %d, which nothing orders", what,
                  (unsigned long long)at, name, kind, t->thread % block[0], t->thread / block[0] % block[1],
                  t->thread / block[0] / block[1], other->line);
    else
        sim_fault(b, w, op, lane,
                  "race: %s of byte %llu of %s and %s of it by block (%u,%u,%u), line %d: blocks run in any order",
                  what, (unsigned long long)at, name, kind, k % grid[0], k / grid[0] % grid[1], k / grid[0] / grid[1],
                  other->line);
}

/* True if both are lanes of one execution of an instruction. */
static bool same_instruction(const Touch *t, const Touch *now)
{
    return t->op == now->op && t->thread / LANES == now->thread / LANES && t->time == now->time &&
           t->syncs == now->syncs;
}

void sim_touch(Block *b, Warp *w, const SimOp *op, int lane, SimShadow *s, uint64_t at, size_t size, SimTouch kind,
               const uint8_t *value, const uint8_t *memory, const char *name)
{
    const int p = (int)w->first_thread / LANES;
    const bool atomic = kind == SIM_TOUCH_ATOMIC || op->mode == SIM_STRONG;
    Touch now = {.block = b->number + 1,
                 .time = b->clock[p][p],
                 .thread = (uint16_t)(w->first_thread + (uint32_t)lane),
                 .syncs = w->syncs,
                 .op = (uint32_t)(op - b->m->ops.items) << 1 | atomic};
    for (size_t i = 0; i < size && at + i < s->size; i++) {
        Cell *c = cell_at(b, s, at + i);
        if (!c) return;
        const bool store = kind != SIM_TOUCH_LOAD;
        const bool judged = store && s->stores_judged;
        const bool equal = value && same_instruction(&c->store, &now) && value[i] == memory[i];
        if (!equal && !judged && races(b, s, &c->store, &now)) {
            report(b, w, op, lane, store ? "store" : "load", at + i, name, &c->store);
            return;
        }
        if (store && races(b, s, &c->load, &now)) {
            report(b, w, op, lane, "store", at + i, name, &c->load);
            return;
        }
        /* Of several unordered readers, or atomic operations, the first is kept. */
        if (store && (!atomic || !c->store.block || c->store.block != now.block || before(b, &c->store, &now)))
            c->store = now;
        if (!store && (!c->load.block || c->load.block != now.block || before(b, &c->load, &now))) c->load = now;
    }
}
