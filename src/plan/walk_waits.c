/* walk_waits.c: how long a thread waits behind branches for what it loads there.
 *
 * Needs the needs and loads that a walk found; leaves clocks. A concatenate or a pad, whose operand positions choose,
 * is a branch: loads behind it begin there, and what is computed of them is waited for before the next branch. Each
 * such wait adds a latency. Loads behind no branch, or behind one of few instructions, are under way together.
 *
 *     pad(f(concatenate(x, f(pad(f(y, z))), w)))    =>    y and z are waited for, then w: two latencies, f being long
 */
#include "plan/walk.h"

typedef struct {
    double waited;  /* clocks, one after the other */
    double pending; /* clocks until what is on its way is there */
    bool computed;  /* an operation takes what is on its way */
    double nodes;   /* operations and loads */
} Waits;

/* A need whose operands are being visited: the next one is at an edge. */
typedef struct {
    uint32_t number, edge;
    Waits sum;
} Open;

typedef struct {
    const PlanWalk *w;
    struct { Open *items; uint32_t n, capacity; } open;
    uint32_t *first; /* by need: its first edge, from 1 on */
    bool *known;     /* by need */
    bool *read;      /* by array: one of its elements was loaded before */
    double far, l2, near;
} Cx;

/* What another load of the thread has brought is near; of an array that all threads have read before, L2 has more. */
static double latency_of(Cx *cx, uint32_t load)
{
    const LayAccess *x = &cx->w->loads.items[load - 1];
    const double latency = x->near ? cx->near : cx->read[x->buffer] ? cx->l2 : cx->far;
    cx->read[x->buffer] = true;
    return latency;
}

/* The part of the positions that have an element of the operand of a pad. Where elements are apart some lane of each
 * warp has one. */
static double part_of(const HloInstruction *i)
{
    for (uint32_t d = 0; i->opcode == HLO_PAD && d < i->shape->rank; d++)
        if (i->paddings[d].interior) return 1;
    return i->opcode == HLO_PAD ? hlo_operand_share(i, 0) : 1;
}

/* A thread is on one side of a choice, at most the longest; what is computed there has come when it leaves the branch.
 * Few instructions are predicated: no branch. */
static void add_side(const Cx *cx, Waits *to, Waits side, double part)
{
    to->nodes += side.nodes;
    to->computed = to->computed || side.computed;
    if (side.computed && side.nodes > cx->w->p->select_nodes) side.waited += side.pending, side.pending = 0;
    side.waited *= part;
    if (side.waited + side.pending > to->waited + to->pending) to->waited = side.waited, to->pending = side.pending;
}

static void add_operand(Waits *to, Waits x)
{
    to->waited += x.waited, to->nodes += x.nodes;
    to->pending = WBB_MAX(to->pending, x.pending);
    to->computed = to->computed || x.computed;
}

/* What the innermost open need has of an operand. */
static void give(Cx *cx, Waits of)
{
    Open *to = &cx->open.items[cx->open.n - 1];
    const HloInstruction *i = cx->w->needs.items[to->number].value.i;
    if (hlo_joins(i->opcode)) add_side(cx, &to->sum, of, part_of(i));
    else add_operand(&to->sum, of);
}

static void open(Cx *cx, uint32_t number)
{
    cx->known[number] = true;
    WBB_PUSH(cx->w->a, &cx->open, ((Open){.number = number, .edge = cx->first[number]}));
}

/* What is there already is not waited for again. */
static Waits waits_of(Cx *cx, uint32_t root)
{
    const PlanWalk *w = cx->w;
    Waits sum = {0};
    open(cx, root);
    while (cx->open.n) {
        Open *x = &cx->open.items[cx->open.n - 1];
        const PlanNeed *need = &w->needs.items[x->number];
        if (x->edge && x->edge <= w->edges.n && w->edges.items[x->edge - 1].user == x->number) {
            const uint32_t of = w->edges.items[x->edge++ - 1].of;
            if (!cx->known[of]) open(cx, of);
            continue;
        }
        sum = x->sum;
        const HloInstruction *i = need->value.i;
        const double slots = need->load || hlo_joins(i->opcode) ? 0 : plan_cost_of(w->t, i).slots;
        if (need->load) sum = (Waits){.pending = latency_of(cx, need->load), .nodes = 1};
        sum.nodes += slots, sum.computed = sum.computed || (slots > 0 && sum.pending > 0);
        if (--cx->open.n) give(cx, sum);
    }
    return sum;
}

static uint32_t n_arrays(const PlanWalk *w)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < w->loads.n; k++) n = WBB_MAX(n, w->loads.items[k].buffer + 1);
    return n;
}

double plan_walk_waits(const PlanWalk *w)
{
    Cx cx = {.w = w, .first = WBB_NEW_N(w->a, uint32_t, w->needs.n + 1u),
             .known = WBB_NEW_N(w->a, bool, w->needs.n + 1u),
             .read = WBB_NEW_N(w->a, bool, n_arrays(w) + 1u), .l2 = tg_rate(w->t, "latency.l2")->value,
             .far = tg_rate(w->t, "latency.dram")->value, .near = tg_rate(w->t, "latency.l1")->value};
    bool *operand = WBB_NEW_N(w->a, bool, w->needs.n + 1u);
    Waits sum = {0};
    for (uint32_t e = w->edges.n; e > 0; e--) cx.first[w->edges.items[e - 1].user] = e;
    for (uint32_t e = 0; e < w->edges.n; e++) operand[w->edges.items[e].of] = true;
    for (uint32_t k = 0; k < w->needs.n; k++)
        if (!operand[k]) add_operand(&sum, waits_of(&cx, k));
    /* the first latency is that of any kernel */
    return WBB_MAX(sum.waited + sum.pending - cx.far, 0);
}
