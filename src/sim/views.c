/* views: what a thread knows to come before its next access, as far as barriers of its block do not say it.
 *
 * Needs: the clocks of the warps of a block. Leaves: views that threads, barriers and addresses share (order.c).
 *
 * A view is a sorted list: of a lane of a warp of a block, or of all its lanes, every access up to a time. Views never
 * change; they are counted, and those that nothing holds are used again. Where one would have more than MOST entries,
 * views are given up for the launch, and threads are taken as ordered wherever a barrier does not tell.
 *
 *     {block 0 warp 0 lane 0: 7, block 0 warp 1 all lanes: 5}
 *         ->   what lane 0 of warp 0 did at time 6 comes before, what lane 1 did at that time does not
 */
#include "sim/inner.h"

enum { MOST = 1 << 16 };

/* Accesses by `who`, a block, warp and lane (or ALL_LANES) in this order, up to a time. */
typedef struct {
    uint64_t who;
    uint32_t until;
} Known;

struct SimView {
    uint32_t refs, n, class; /* room for 1 << class */
    SimView *next;           /* of the spare ones */
    Known items[];
};

static SimView *view_of(Block *b, uint32_t n)
{
    const uint32_t class = n <= 8 ? 3 : 32 - (uint32_t)__builtin_clz(n - 1);
    SimView *v = b->all->spare_views[class];
    if (v) b->all->spare_views[class] = v->next;
    else v = wbb_alloc(b->arena, sizeof(SimView) + sizeof(Known) * ((size_t)1 << class));
    v->refs = 1, v->n = 0, v->class = class;
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
    old->next = b->all->spare_views[old->class];
    b->all->spare_views[old->class] = old;
}

void sim_view_set(Block *b, SimView **to, SimView *v)
{
    hold(v);
    sim_view_drop(b, to);
    *to = v;
}

static void push(SimView *v, uint64_t who, uint32_t until)
{
    if (until) v->items[v->n++] = (Known){who, until};
}

/* How a pair of views compare: entries of both together, and whether one has all that the other has. */
typedef struct {
    uint32_t n;
    bool first, second;
} Union;

static Union compare(const SimView *x, const SimView *y)
{
    Union u = {0, true, true};
    for (uint32_t i = 0, k = 0; i < x->n || k < y->n; u.n++) {
        const uint64_t p = i < x->n ? x->items[i].who : UINT64_MAX, q = k < y->n ? y->items[k].who : UINT64_MAX;
        if (p < q) u.second = false, i++;
        else if (q < p) u.first = false, k++;
        else {
            if (x->items[i].until < y->items[k].until) u.first = false;
            if (x->items[i].until > y->items[k].until) u.second = false;
            i++, k++;
        }
    }
    return u;
}

static SimView *both(Block *b, const SimView *x, const SimView *y, uint32_t n)
{
    SimView *v = view_of(b, n);
    for (uint32_t i = 0, k = 0; i < x->n || k < y->n;) {
        const uint64_t p = i < x->n ? x->items[i].who : UINT64_MAX, q = k < y->n ? y->items[k].who : UINT64_MAX;
        if (p < q) v->items[v->n++] = x->items[i++];
        else if (q < p) v->items[v->n++] = y->items[k++];
        else {
            push(v, p, WBB_MAX(x->items[i].until, y->items[k].until));
            i++, k++;
        }
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
    const Union u = compare(*to, from);
    if (u.first) return;
    if (u.n > MOST) {
        b->all->given_up = true;
        return;
    }
    SimView *v = u.second ? hold(from) : both(b, *to, from, u.n);
    sim_view_set(b, &last[0], *to);
    sim_view_set(b, &last[1], from);
    sim_view_set(b, &last[2], v);
    sim_view_drop(b, to);
    *to = v;
}

static uint32_t until(const SimView *v, uint64_t who)
{
    uint32_t low = 0, high = v->n;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (v->items[middle].who < who) low = middle + 1;
        else high = middle;
    }
    return low < v->n && v->items[low].who == who ? v->items[low].until : 0;
}

static uint64_t warp_of(uint32_t serial, uint32_t warp) { return (uint64_t)serial << 16 | warp << 8; }

bool sim_view_knows(const SimView *v, uint32_t serial)
{
    bool knows = false;
    for (uint32_t i = 0; v && i < v->n && !knows; i++) knows = v->items[i].who >> 16 == serial;
    return knows;
}

uint32_t sim_view_open(const Block *b, uint32_t thread, uint32_t serial, uint32_t warp, uint32_t time, uint32_t lanes)
{
    const SimView *v = b->threads[thread].view;
    if (b->all->given_up) return 0;
    if (!v) return lanes;
    const uint64_t who = warp_of(serial, warp);
    if (until(v, who | ALL_LANES) >= time) return 0;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(rest);
        if (until(v, who | lane) >= time) lanes &= ~(1u << lane);
    }
    return lanes;
}

/* What barriers of the block order before the next access of a lane, or of all lanes, with what they did themselves. */
SimView *sim_view_own(Block *b, const Warp *w, uint32_t lane)
{
    const uint32_t q = w->first_thread / LANES;
    SimView *v = view_of(b, (uint32_t)b->n_warps + 1);
    for (uint32_t r = 0; r < (uint32_t)b->n_warps; r++) {
        const uint64_t who = warp_of(b->serial, r);
        if (r == q) push(v, who | lane, b->clock[q][q]);
        if (r != q) push(v, who | ALL_LANES, b->clock[q][r]);
        else if (lane != ALL_LANES) push(v, who | ALL_LANES, b->synced[q] - 1);
    }
    return v;
}

void sim_view_clocks(Block *b, const Warp *w, const SimView *v)
{
    const uint32_t q = w->first_thread / LANES;
    for (uint32_t i = 0; v && i < v->n; i++) {
        const uint32_t r = (uint32_t)(v->items[i].who >> 8 & 255), time = v->items[i].until;
        if (v->items[i].who != (warp_of(b->serial, r) | ALL_LANES)) continue;
        if (r == q) b->synced[q] = WBB_MAX(b->synced[q], time + 1);
        else b->clock[q][r] = WBB_MAX(b->clock[q][r], time);
    }
}
