/* views: what a thread knows to come before its next access, as far as barriers of its block do not say it.
 *
 * Needs: the clocks of the warps of a block. Leaves: views that threads, barriers and addresses share (order.c).
 *
 * A view has a leaf for each block that it knows of, a sorted list: of a lane of a warp of the block, or of all its
 * lanes, every access up to a time. Above are nodes of FAN children by the block's serial number, where more than one
 * has something. Nodes never change; they are counted, and those that nothing holds are used again. Two views join in
 * the time of what differs: the views that a lock hands from thread to thread share all but a path to the last leaf.
 * Where one would have more than MOST entries, views are given up for the launch, and threads are taken as ordered
 * wherever a barrier does not tell.
 *
 *     block 0: {warp 0 lane 0: 7, warp 1 all lanes: 5}
 *         ->   what lane 0 of warp 0 did at time 6 comes before, what lane 1 did at that time does not
 */
#include "sim/inner.h"

enum { MOST = 1 << 16, FAN_BITS = 4, FAN = 1 << FAN_BITS };

/* A view is its topmost node, which covers the blocks whose serial >> FAN_BITS * level is its own. */
struct SimView {
    uint32_t refs, entries, serial;
    uint8_t level; /* 0: a leaf */
    uint8_t class; /* a leaf has room for 1 << class entries */
    SimView *next; /* of the spare ones */
};

/* Accesses by `who`, a warp and lane (or ALL_LANES) in this order, up to a time. */
typedef struct {
    uint32_t who, until;
} Known;

typedef struct {
    SimView v;
    Known items[]; /* [v.entries] */
} Leaf;

typedef struct {
    SimView v;
    SimView *child[FAN];
} Inner;

static const Known *items_of(const SimView *v) { return ((const Leaf *)v)->items; }
static SimView *const *children_of(const SimView *v) { return ((const Inner *)v)->child; }
static uint32_t at_level(uint32_t serial, uint32_t level) { return (uint32_t)((uint64_t)serial >> FAN_BITS * level); }
static uint32_t slot(uint32_t serial, uint32_t level) { return at_level(serial, level - 1) % FAN; }

static SimView *take(Block *b, SimView **spare, size_t bytes)
{
    SimView *v = *spare;
    if (v) *spare = v->next;
    else v = wbb_alloc(b->arena, bytes);
    return v;
}

static Leaf *new_leaf(Block *b, uint32_t serial, uint32_t room)
{
    const uint8_t class = (uint8_t)(room <= 8 ? 3 : 32 - __builtin_clz(room - 1));
    SimView *v = take(b, &b->all->spare_leaves[class], sizeof(Leaf) + sizeof(Known) * ((size_t)1 << class));
    *v = (SimView){.refs = 1, .class = class, .serial = serial};
    return (Leaf *)v;
}

static SimView *new_inner(Block *b, uint32_t serial, uint8_t level, SimView *const child[FAN])
{
    SimView *v = take(b, &b->all->spare_views, sizeof(Inner));
    *v = (SimView){.refs = 1, .level = level, .serial = serial};
    for (uint32_t k = 0; k < FAN; k++) {
        ((Inner *)v)->child[k] = child[k];
        v->entries += child[k] ? child[k]->entries : 0;
    }
    return v;
}

static SimView *hold(SimView *v)
{
    if (v) v->refs++;
    return v;
}

void sim_view_drop(Block *b, SimView **v)
{
    SimView *old = *v;
    *v = NULL;
    if (!old || --old->refs) return;
    for (uint32_t k = 0; old->level && k < FAN; k++) sim_view_drop(b, &((Inner *)old)->child[k]);
    SimView **spare = old->level ? &b->all->spare_views : &b->all->spare_leaves[old->class];
    old->next = *spare;
    *spare = old;
}

void sim_view_set(Block *b, SimView **to, SimView *v)
{
    hold(v);
    sim_view_drop(b, to);
    *to = v;
}

static void push(Leaf *to, uint32_t who, uint32_t until)
{
    if (until) to->items[to->v.entries++] = (Known){who, until};
}

/* How a pair of leaves compare: entries of both together, and whether one has all that the other has. */
typedef struct {
    uint32_t n;
    bool first, second;
} Union;

static uint32_t who_at(const SimView *leaf, uint32_t k)
{
    return k < leaf->entries ? items_of(leaf)[k].who : UINT32_MAX;
}

static Union compare(const SimView *x, const SimView *y)
{
    Union u = {0, true, true};
    for (uint32_t i = 0, k = 0; i < x->entries || k < y->entries; u.n++) {
        const uint32_t p = who_at(x, i), q = who_at(y, k);
        const uint32_t s = p <= q ? items_of(x)[i].until : 0, t = q <= p ? items_of(y)[k].until : 0;
        if (s < t) u.first = false;
        if (t < s) u.second = false;
        i += p <= q, k += q <= p;
    }
    return u;
}

static SimView *both_leaves(Block *b, SimView *x, SimView *y)
{
    const Union u = compare(x, y);
    if (u.first || u.second) return hold(u.first ? x : y);
    Leaf *v = new_leaf(b, x->serial, u.n);
    for (uint32_t i = 0, k = 0; i < x->entries || k < y->entries;) {
        const uint32_t p = who_at(x, i), q = who_at(y, k);
        const uint32_t s = p <= q ? items_of(x)[i].until : 0, t = q <= p ? items_of(y)[k].until : 0;
        push(v, WBB_MIN(p, q), WBB_MAX(s, t));
        i += p <= q, k += q <= p;
    }
    return &v->v;
}

/* What both have: x or y where that has all, which the caller then holds once more. */
static SimView *both(Block *b, SimView *x, SimView *y)
{
    if (x == y || !y) return hold(x);
    if (!x) return hold(y);
    uint8_t level = WBB_MAX(x->level, y->level);
    while (at_level(x->serial, level) != at_level(y->serial, level)) level++;
    if (!level) return both_leaves(b, x, y);
    SimView *const *left = x->level == level ? children_of(x) : NULL, *child[FAN] = {NULL};
    SimView *const *right = y->level == level ? children_of(y) : NULL;
    bool first = left != NULL, second = right != NULL, joined[FAN];
    for (uint32_t k = 0; k < FAN; k++) {
        SimView *p = left ? left[k] : k == slot(x->serial, level) ? x : NULL;
        SimView *q = right ? right[k] : k == slot(y->serial, level) ? y : NULL;
        joined[k] = p != q;
        child[k] = joined[k] ? both(b, p, q) : p;
        first = first && child[k] == p, second = second && child[k] == q;
    }
    const bool is_new = !first && !second;
    SimView *v = is_new ? new_inner(b, x->serial, level, child) : hold(first ? x : y);
    for (uint32_t k = 0; k < FAN; k++) { /* those that were joined are held already */
        if (is_new && !joined[k]) hold(child[k]);
        if (!is_new && joined[k]) sim_view_drop(b, &child[k]);
    }
    return v;
}

/* Add what `from` has to *to. Lanes often join the same pair one after the other: the last result is kept. */
void sim_view_join(Block *b, SimView **to, SimView *from)
{
    SimView **last = b->all->joined;
    if (!from || *to == from || b->all->given_up) return;
    if (!*to) {
        *to = hold(from);
        return;
    }
    if (last[0] == *to && last[1] == from) {
        sim_view_set(b, to, last[2]);
        return;
    }
    SimView *v = both(b, *to, from);
    if (v->entries > MOST) b->all->given_up = true;
    sim_view_set(b, &last[0], *to);
    sim_view_set(b, &last[1], from);
    sim_view_set(b, &last[2], v);
    sim_view_drop(b, to);
    *to = v;
}

/* What the view knows of a block; NULL: nothing. */
static const SimView *leaf_at(const SimView *v, uint32_t serial)
{
    while (v && v->level && at_level(v->serial, v->level) == at_level(serial, v->level))
        v = children_of(v)[slot(serial, v->level)];
    return v && v->serial == serial && !v->level ? v : NULL;
}

static uint32_t until(const SimView *leaf, uint32_t who)
{
    const Known *items = items_of(leaf);
    uint32_t low = 0, high = leaf->entries;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (items[middle].who < who) low = middle + 1;
        else high = middle;
    }
    return low < leaf->entries && items[low].who == who ? items[low].until : 0;
}

static uint32_t warp_of(uint32_t warp) { return warp << 8; }

bool sim_view_knows(const SimView *v, uint32_t serial)
{
    const SimView *leaf = leaf_at(v, serial);
    return leaf && leaf->entries;
}

uint32_t sim_view_open(const Block *b, uint32_t thread, uint32_t serial, uint32_t warp, uint32_t time, uint32_t lanes)
{
    if (b->all->given_up) return 0;
    const SimView *leaf = leaf_at(b->threads[thread].view, serial);
    if (!leaf) return lanes;
    const uint32_t who = warp_of(warp);
    if (until(leaf, who | ALL_LANES) >= time) return 0;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(rest);
        if (until(leaf, who | lane) >= time) lanes &= ~(1u << lane);
    }
    return lanes;
}

/* What barriers of the block order before the next access of a lane, or of all lanes, with what they did themselves. */
SimView *sim_view_own(Block *b, const Warp *w, uint32_t lane)
{
    const uint32_t q = w->first_thread / LANES;
    Leaf *to = new_leaf(b, b->serial, (uint32_t)b->n_warps + 1);
    for (uint32_t r = 0; r < (uint32_t)b->n_warps; r++) {
        const uint32_t who = warp_of(r);
        if (r == q) push(to, who | lane, b->clock[q][q]);
        if (r != q) push(to, who | ALL_LANES, b->clock[q][r]);
        else if (lane != ALL_LANES) push(to, who | ALL_LANES, b->synced[q] - 1);
    }
    return &to->v;
}

void sim_view_clocks(Block *b, const Warp *w, const SimView *v)
{
    const uint32_t q = w->first_thread / LANES;
    const SimView *leaf = leaf_at(v, b->serial);
    for (uint32_t i = 0; leaf && i < leaf->entries; i++) {
        const uint32_t who = items_of(leaf)[i].who, time = items_of(leaf)[i].until, r = who >> 8;
        if ((who & ALL_LANES) != ALL_LANES) continue;
        if (r == q) b->synced[q] = WBB_MAX(b->synced[q], time + 1);
        else b->clock[q][r] = WBB_MAX(b->clock[q][r], time);
    }
}
