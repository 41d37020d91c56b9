/* products: products of matrices that a kernel computes, with what is around them.
 *
 * Needs: the groups of a cut in which each product is a library call, and what kernels and calls take. Leaves: groups
 * of which some have products, where one kernel takes less time than the call and the kernels in whose place it is.
 *
 * A product whose results one kernel alone reads, as they are or through views, may be computed in it, and a kernel
 * whose one result that product alone reads may go into it, too. A library multiplies faster than tiles in registers
 * do; but what only elementwise work follows then goes to memory and back. Two products, of which the second needs
 * the first, may be one kernel with all that lies between them (attention), and with what follows.
 *
 *     s = dot(q, k)  ROOT y = multiply(s, scale)     f16[16,2048,2048] of 64 products each: 33 + 61 us, and 61 in one
 */
#include "fuse/kernels.h"

#include <string.h>

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    const HloComputation *c;
    const FuseHow *how;
    FuseGrouping *g;
    uint32_t *first, *users; /* of instruction i: users[first[i]] .. users[first[i + 1] - 1] */
    uint32_t *group;         /* [id] 1 + number of the group of which it is a root; 0: none */
    uint32_t *in;            /* [id] the same of the group that computes it; SEVERAL */
    uint32_t *seen, stamp;   /* [id] of a list of members */
} Products;

enum { SEVERAL = UINT32_MAX };

typedef struct { const HloInstruction **items; uint32_t n, capacity; } List;

static void find_groups(Products *p)
{
    memset(p->group, 0, (p->c->n_instructions + 1) * sizeof *p->group);
    memset(p->in, 0, (p->c->n_instructions + 1) * sizeof *p->in);
    for (uint32_t k = 0; k < p->g->n_groups; k++) {
        const FuseGroup *g = &p->g->groups[k];
        for (uint32_t r = 0; r < g->n_roots; r++) p->group[g->roots[r]->id] = k + 1;
        for (uint32_t m = 0; m < g->n_members; m++) {
            uint32_t *in = &p->in[g->members[m]->id];
            *in = *in ? SEVERAL : k + 1;
        }
    }
}

/* Marks members of a group: those that are are no new ones. */
static void see(Products *p, const FuseGroup *g)
{
    p->stamp++;
    for (uint32_t k = 0; g && k < g->n_members; k++) p->seen[g->members[k]->id] = p->stamp;
}

static bool is_seen(const Products *p, const HloInstruction *i) { return p->seen[i->id] == p->stamp; }

/* Does nobody need it? */
static bool is_dead(const Products *p, const HloInstruction *i)
{
    return p->g->roles[i->id] == FUSE_NOTHING && p->first[i->id] == p->first[i->id + 1] && i != p->c->root;
}

/* --- what is around a product ------------------------------------------------------------------------------------- */
/* The one group that reads the values of `all`: a product, to which views of it are added; NULL: other things do. */
static FuseGroup *reader_of(Products *p, List *all)
{
    FuseGroup *reader = NULL;
    find_groups(p);
    for (uint32_t at = 0; at < all->n; at++) {
        const HloInstruction *i = all->items[at];
        if (i == p->c->root || i->n_predecessors) return NULL;
        for (uint32_t k = p->first[i->id]; k < p->first[i->id + 1]; k++) {
            const HloInstruction *user = p->c->instructions[p->users[k]];
            if (is_dead(p, user)) continue;
            if (p->g->roles[user->id] == FUSE_ALIAS) {
                WBB_PUSH(p->arena, all, user);
                continue;
            }
            const uint32_t in = p->in[user->id];
            FuseGroup *one = in && in != SEVERAL ? &p->g->groups[in - 1] : NULL;
            if (!one || (reader && one != reader)) return NULL;
            reader = one;
        }
    }
    return reader;
}

/* The group whose one result the instruction `by` alone reads as its operand x; adds the views between them. NULL:
 * there is none. */
static FuseGroup *maker_of(Products *p, const HloInstruction *by, const HloInstruction *x, List *views)
{
    for (;; by = x, x = x->operands[0]) {
        if (x == p->c->root || x->n_predecessors) return NULL;
        for (uint32_t k = p->first[x->id]; k < p->first[x->id + 1]; k++)
            if (p->users[k] != by->id) return NULL;
        if (p->g->roles[x->id] != FUSE_ALIAS) break;
        WBB_PUSH(p->arena, views, x);
    }
    if (p->g->roles[x->id] != FUSE_ROOT || !p->group[x->id]) return NULL;
    FuseGroup *maker = &p->g->groups[p->group[x->id] - 1];
    return maker->n_roots == 1 ? maker : NULL;
}

/* --- prices ------------------------------------------------------------------------------------------------------- */
static double seconds_of(const Products *p, const FuseGroup *g)
{
    return fuse_seconds(p->cx, p->c, p->how, g);
}

static double call_seconds(const Products *p, const HloInstruction *i)
{
    const FuseGroup call = {.roots = &i, .members = &i, .n_roots = 1, .n_members = 1, .library = true};
    return seconds_of(p, &call);
}

/* A group with the roots of `of` and these members, too. */
static FuseGroup with(Products *p, const FuseGroup *of, const HloInstruction *const *more, uint32_t n)
{
    FuseGroup g = *of;
    g.members = WBB_NEW_N(p->arena, const HloInstruction *, of->n_members + n + 1);
    see(p, of);
    for (uint32_t k = 0; k < of->n_members; k++) g.members[k] = of->members[k];
    for (uint32_t k = 0; k < n; k++) {
        if (is_seen(p, more[k])) continue;
        p->seen[more[k]->id] = p->stamp;
        g.members[g.n_members++] = more[k];
    }
    fuse_sort(g.members, g.n_members);
    return g;
}

static void be_inline(const Products *p, const List *all)
{
    for (uint32_t k = 0; k < all->n; k++) p->g->roles[all->items[k]->id] = FUSE_INLINE;
}

/* Takes the group out of the list; `kept`, which stays, may move. */
static FuseGroup *without(Products *p, FuseGroup *gone, FuseGroup *kept)
{
    FuseGroup *last = &p->g->groups[--p->g->n_groups];
    if (gone != last) *gone = *last;
    return kept == last ? gone : kept;
}

/* Kernels that make the product's operands and nothing else become part of its own, while that takes less time. */
static double take_makers(Products *p, const HloInstruction *product, FuseGroup **own, double seconds)
{
    for (uint32_t k = 0; k < product->n_operands; k++) {
        List more = {0};
        find_groups(p);
        FuseGroup *maker = maker_of(p, product, product->operands[k], &more);
        if (!maker || maker == *own) continue;
        List views = more;
        for (uint32_t n = 0; n < maker->n_members; n++) WBB_PUSH(p->arena, &more, maker->members[n]);
        const FuseGroup all = with(p, *own, more.items, more.n);
        const double before = seconds_of(p, maker), now = before > 0 ? seconds_of(p, &all) : 0;
        if (now <= 0 || now >= seconds + before) continue;
        const List roots = {.items = maker->roots, .n = 1};
        be_inline(p, &views), be_inline(p, &roots);
        **own = all;
        *own = without(p, maker, *own);
        seconds = now;
    }
    return seconds;
}

/* --- one product -------------------------------------------------------------------------------------------------- */
static void take(Products *p, const HloInstruction *i, WbbBuf *explain)
{
    List all = {0};
    WBB_PUSH(p->arena, &all, i);
    FuseGroup *reader = reader_of(p, &all);
    if (!reader || reader->n_members + all.n > p->how->rates.members) return;
    const double call = call_seconds(p, i), after = seconds_of(p, reader);
    if (call - p->how->rates.launch > p->how->rates.products * after) return;
    const FuseGroup one = with(p, reader, all.items, all.n);
    const double now = after > 0 ? seconds_of(p, &one) : 0;
    if (now <= 0 || now >= (call + after) * (1 - p->how->rates.save)) {
        if (explain && now > 0)
            wbb_putf(explain, "  %s: a library call, %.3f us with what reads it; %.3f in one kernel\n", i->name,
                     (call + after) * 1e6, now * 1e6);
        return;
    }
    be_inline(p, &all);
    *reader = one;
    const double last = take_makers(p, i, &reader, now);
    if (explain)
        wbb_putf(explain, "  %s: in the kernel of %s, %.3f us; a library call and what reads it take %.3f\n", i->name,
                 reader->roots[0]->name, last * 1e6, (call + after) * 1e6);
}

/* --- two products ------------------------------------------------------------------------------------------------- */
/* What lies between two products. */
typedef struct {
    const HloInstruction *first, *second;
    bool *in;        /* by id: it needs the first, and the second needs it; both are in, too */
    bool *own;       /* by group: it has some of that */
    FuseGroup *last; /* the group of what follows the second, which is in the kernel; NULL: there is none */
    List after;      /* the second, and views of it that the last group reads */
} Between;

static bool is_dot(const Products *p, const HloInstruction *i)
{
    return p->g->roles[i->id] == FUSE_LIBRARY && i->opcode == HLO_DOT;
}

static bool is_call(const Products *p, const HloInstruction *i)
{
    return p->g->roles[i->id] == FUSE_LIBRARY && hlo_is_matrix_product(p->arena, i);
}

/* The last product that the second one needs; false: there is none, or results of a row are too many for one kernel. */
static bool find_between(const Products *p, const HloInstruction *second, Between *b)
{
    const uint32_t all = p->c->n_instructions + 1;
    bool *needed = WBB_NEW_N(p->arena, bool, all);
    *b = (Between){.second = second, .in = WBB_NEW_N(p->arena, bool, all),
                   .own = WBB_NEW_N(p->arena, bool, p->g->n_groups + 1)};
    needed[second->id] = true;
    hlo_mark_operands(p->c, needed);
    for (uint32_t k = second->id; k-- > 0 && !b->first;)
        if (needed[k] && is_call(p, p->c->instructions[k])) b->first = p->c->instructions[k];
    if (!b->first) return false;
    const HloProduct of = hlo_product(p->arena, second);
    b->in[b->first->id] = true;
    for (uint32_t k = b->first->id + 1; k <= second->id; k++)
        for (uint32_t n = 0; needed[k] && n < p->c->instructions[k]->n_operands; n++)
            b->in[k] = b->in[k] || b->in[p->c->instructions[k]->operands[n]->id];
    const bool right = b->in[second->operands[1]->id]; /* the weights are */
    return (right ? of.rows : of.columns) <= HLO_LIMIT_MATRIX_WIDTH;
}

/* Is what lies between needed there alone, or in the last group, and nothing but kernels and views? */
static bool is_closed(Products *p, const Between *b)
{
    see(p, b->last);
    for (uint32_t k = b->first->id; k < b->second->id; k++) {
        const HloInstruction *i = p->c->instructions[k];
        const FuseRole role = p->g->roles[k];
        if (!b->in[k]) continue;
        if (i != b->first && role != FUSE_INLINE && role != FUSE_ALIAS && role != FUSE_ROOT) return false;
        if (i == p->c->root || i->n_predecessors) return false;
        for (uint32_t n = p->first[k]; n < p->first[k + 1]; n++) {
            const HloInstruction *user = p->c->instructions[p->users[n]];
            if (!b->in[user->id] && !is_dead(p, user) && !is_seen(p, user)) return false;
        }
    }
    return true;
}

/* The groups that have some of it; their seconds, 0 where those are not known or one leaves other results, too. */
static double seconds_between(const Products *p, Between *b)
{
    double sum = 0;
    for (uint32_t k = 0; k < p->g->n_groups; k++) {
        const FuseGroup *g = &p->g->groups[k];
        b->own[k] = false;
        for (uint32_t n = 0; n < g->n_members && g != b->last; n++) b->own[k] = b->own[k] || b->in[g->members[n]->id];
        for (uint32_t r = 0; b->own[k] && r < g->n_roots; r++)
            if (!b->in[g->roots[r]->id]) return 0;
        const double own = b->own[k] ? seconds_of(p, g) : 0;
        if (b->own[k] && own <= 0) return 0;
        sum += own;
    }
    return sum + 1e-12; /* a score may be a weight: then nothing is between */
}

/* The kernel of all of it; its root is that of the last group, or the second product. */
static FuseGroup group_of(Products *p, const Between *b)
{
    List more = {0};
    for (uint32_t k = 0; k < p->g->n_groups; k++)
        for (uint32_t n = 0; b->own[k] && n < p->g->groups[k].n_members; n++)
            WBB_PUSH(p->arena, &more, p->g->groups[k].members[n]);
    for (uint32_t k = b->first->id; k <= b->second->id; k++)
        if (b->in[k]) WBB_PUSH(p->arena, &more, p->c->instructions[k]);
    for (uint32_t k = 1; k < b->after.n; k++) WBB_PUSH(p->arena, &more, b->after.items[k]);
    FuseGroup own = {.roots = WBB_NEW(p->arena, const HloInstruction *), .n_roots = 1};
    own.roots[0] = b->second;
    return with(p, b->last ? b->last : &own, more.items, more.n);
}

/* Makes it one kernel, if that takes less time. */
static bool take_both(Products *p, Between *b, WbbBuf *explain)
{
    if (!is_closed(p, b)) return false;
    const double between = seconds_between(p, b), after = b->last ? seconds_of(p, b->last) : 0;
    const double calls = call_seconds(p, b->first) + call_seconds(p, b->second);
    if (between <= 0 || (b->last && after <= 0)) return false;
    FuseGroup one = group_of(p, b);
    if (one.n_members > p->how->rates.members) return false;
    const double before = calls + between + after, now = seconds_of(p, &one);
    if (now <= 0 || now >= before * (1 - p->how->rates.save)) {
        if (explain && now > 0)
            wbb_putf(explain, "  %s and %s: library calls and kernels, %.3f us; %.3f in one kernel\n", b->first->name,
                     b->second->name, before * 1e6, now * 1e6);
        return false;
    }
    uint32_t n = 0;
    for (uint32_t k = b->first->id; k <= b->second->id; k++)
        if (b->in[k]) p->g->roles[k] = FUSE_INLINE;
    be_inline(p, &b->after);
    if (!b->last) p->g->roles[b->second->id] = FUSE_ROOT;
    for (uint32_t k = 0; k < p->g->n_groups; k++)
        if (!b->own[k] && &p->g->groups[k] != b->last) p->g->groups[n++] = p->g->groups[k];
    p->g->groups[n] = one, p->g->n_groups = n + 1;
    FuseGroup *own = &p->g->groups[n];
    double seconds = take_makers(p, b->first, &own, now);
    seconds = take_makers(p, b->second, &own, seconds);
    if (explain)
        wbb_putf(explain,
                 "  %s and %s: in one kernel with what is between them, %.3f us; library calls and kernels take %.3f\n",
                 b->first->name, b->second->name, seconds * 1e6, before * 1e6);
    return true;
}

/* With the one group that reads its results, as they are or through views; else without. */
static void take_two(Products *p, const HloInstruction *second, WbbBuf *explain)
{
    Between b;
    if (!find_between(p, second, &b)) return;
    WBB_PUSH(p->arena, &b.after, second);
    b.last = reader_of(p, &b.after);
    if (b.last && take_both(p, &b, explain)) return;
    b.last = NULL, b.after.n = 1;
    take_both(p, &b, explain);
}

/* --- what a library adds to the results of a product -------------------------------------------------------------- */
/* The one instruction that reads x, if the group that is seen computes it; NULL: others do, or memory is to hold x. */
static const HloInstruction *only_user(const Products *p, const HloInstruction *x)
{
    const HloInstruction *one = NULL;
    if (x == p->c->root || x->n_predecessors) return NULL;
    for (uint32_t k = p->first[x->id]; k < p->first[x->id + 1]; k++) {
        const HloInstruction *user = p->c->instructions[p->users[k]];
        if (is_dead(p, user)) continue;
        if ((one && one != user) || !is_seen(p, user)) return NULL;
        one = user;
    }
    return one;
}

static bool leaves(const FuseGroup *g, const HloInstruction *i)
{
    for (uint32_t k = 0; k < g->n_roots; k++)
        if (g->roots[k] == i) return true;
    return false;
}

/* Members of the call: the product and what is added to it, as far as memory holds that before the reader begins. */
static HloEpilogue find_epilogue(Products *p, const HloInstruction *dot, const FuseGroup *reader, List *members)
{
    HloEpilogue found = {.product = dot};
    WBB_PUSH(p->arena, members, dot);
    see(p, reader);
    for (const HloInstruction *x = dot; !leaves(reader, x); x = found.root) {
        const HloInstruction *user = only_user(p, x);
        HloEpilogue more = found;
        if (!user || !hlo_epilogue_add(p->arena, &more, user)) break;
        const HloInstruction *other = more.bias != found.bias ? more.bias : more.residual;
        if (is_seen(p, other) || p->g->roles[other->id] == FUSE_INLINE) break;
        found = more;
        WBB_PUSH(p->arena, members, user);
    }
    if (found.repeated) WBB_PUSH(p->arena, members, found.repeated);
    return found;
}

/* What is left of a group whose values of `gone` a call makes. */
static FuseGroup rest_of(Products *p, const FuseGroup *of, const List *gone, const HloEpilogue *e)
{
    FuseGroup g = *of;
    bool *out = WBB_NEW_N(p->arena, bool, p->c->n_instructions + 1);
    for (uint32_t k = 0; k < gone->n; k++) out[gone->items[k]->id] = true;
    see(p, of);
    if (e->repeated) { /* the group may need it elsewhere */
        const uint32_t id = e->repeated->id;
        for (uint32_t k = p->first[id]; k < p->first[id + 1]; k++)
            out[id] = out[id] && (out[p->users[k]] || !is_seen(p, p->c->instructions[p->users[k]]));
    }
    g.roots = WBB_NEW_N(p->arena, const HloInstruction *, of->n_roots + 1), g.n_roots = 0;
    g.members = WBB_NEW_N(p->arena, const HloInstruction *, of->n_members + 1), g.n_members = 0;
    for (uint32_t k = 0; k < of->n_roots; k++)
        if (!out[of->roots[k]->id]) g.roots[g.n_roots++] = of->roots[k];
    for (uint32_t k = 0; k < of->n_members; k++)
        if (!out[of->members[k]->id]) g.members[g.n_members++] = of->members[k];
    return g;
}

/* A product of f32 that stays a call adds what follows, where that saves reading and writing it once more. */
static void take_epilogue(Products *p, const HloInstruction *dot, WbbBuf *explain)
{
    List all = {0}, members = {0};
    WBB_PUSH(p->arena, &all, dot);
    FuseGroup *reader = reader_of(p, &all);
    if (!reader || reader->library || all.n > 1) return;
    const HloEpilogue e = find_epilogue(p, dot, reader, &members);
    if (!e.root) return;
    FuseGroup call = {.roots = WBB_NEW(p->arena, const HloInstruction *), .n_roots = 1, .members = members.items,
                      .n_members = members.n, .library = true};
    call.roots[0] = e.root;
    fuse_sort(call.members, call.n_members);
    const FuseGroup rest = rest_of(p, reader, &members, &e);
    const double before = call_seconds(p, dot) + seconds_of(p, reader), after = rest.n_roots ? seconds_of(p, &rest) : 0;
    const double now = seconds_of(p, &call) + after;
    if (seconds_of(p, reader) <= 0 || (rest.n_roots && after <= 0) || now >= before) return;
    p->g->roles[dot->id] = FUSE_INLINE, p->g->roles[e.root->id] = FUSE_ROOT;
    *reader = rest.n_roots ? rest : p->g->groups[--p->g->n_groups];
    FuseGroup *groups = WBB_NEW_N(p->arena, FuseGroup, p->g->n_groups + 1);
    for (uint32_t k = 0; k < p->g->n_groups; k++) groups[k] = p->g->groups[k];
    groups[p->g->n_groups++] = call, p->g->groups = groups;
    if (explain)
        wbb_putf(explain, "  %s: the library adds to it what %s needs, %.3f us; a call and what reads it take %.3f\n",
                 dot->name, e.root->name, now * 1e6, before * 1e6);
}

/* Has the computation a product? Then its groups are looked at. */
static bool begin(Products *p, WbbCx *cx, WbbArena *a, const HloComputation *c, const FuseHow *how, FuseGrouping *g)
{
    bool any = false;
    *p = (Products){.cx = cx, .arena = a, .c = c, .how = how, .g = g};
    for (uint32_t k = 0; k < c->n_instructions && !any; k++) any = is_dot(p, c->instructions[k]);
    if (!any) return false;
    p->group = WBB_NEW_N(a, uint32_t, c->n_instructions + 1);
    p->in = WBB_NEW_N(a, uint32_t, c->n_instructions + 1);
    p->seen = WBB_NEW_N(a, uint32_t, c->n_instructions + 1);
    fuse_find_users(a, c, &p->first, &p->users);
    return true;
}

void fuse_products(WbbCx *cx, WbbArena *a, const HloComputation *c, const FuseHow *how, FuseGrouping *g,
                   WbbBuf *explain)
{
    Products p;
    if (!how->multiplies || !begin(&p, cx, a, c, how, g)) return;
    for (uint32_t k = 0; k < c->n_instructions; k++)
        if (is_call(&p, c->instructions[k])) take_two(&p, c->instructions[k], explain);
    for (uint32_t k = 0; k < c->n_instructions; k++)
        if (is_call(&p, c->instructions[k])) take(&p, c->instructions[k], explain);
}

static void take_epilogues(WbbCx *cx, WbbArena *a, const HloComputation *c, const FuseHow *how, FuseGrouping *g,
                           WbbBuf *explain)
{
    Products p;
    if (!begin(&p, cx, a, c, how, g)) return;
    for (uint32_t k = 0; k < c->n_instructions; k++)
        if (is_dot(&p, c->instructions[k])) take_epilogue(&p, c->instructions[k], explain);
}

const FuseMove fuse_move_epilogue = {.calls = take_epilogues};
