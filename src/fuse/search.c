/* search: choices of the walk that are better made the other way.
 *
 * Needs: the walk's grouping, and what kernels take. Leaves: a grouping near it that takes less time. Of a kernel that
 * takes much longer than its bytes do, each choice is tried the other way, one after the other, and stays so where the
 * kernels take less. All of them are given up where that does not save `save` percent: prices err. Kernels that all
 * together could save less than `worth` percent of the time are left as they are, and so are those whose text another
 * one had near which nothing was better: each try walks through the whole computation again. Then kernels become one by
 * price (beside.c, small.c), and what lives between those is tried the other way with all that become one.
 *
 *     y = concatenate(sine(a), cosine(a), sine(2 a), ..)     each thread computes one of these, by a long way there;
 *                                                            two kernels, of which the second one has less of it
 */
#include "fuse/priced.h"

#include <string.h>

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    const HloComputation *c;
    const FuseHow *how;
    FuseGiven *given;
    FusePrices *prices;
    WbbMap texts;   /* how often the grouping before has each text; 0: nothing is better near it, in no other layer */
    uint32_t stamp;
    uint32_t asked; /* kernels of groupings that were looked at */
} Search;

/* Where FuseGiven has a choice. */
static uint32_t at_of(const FusePoint *p) { return p->id * FUSE_CHOICES + p->what; }

static uint32_t n_kernels(const Search *s) { return s->prices->kernels.n; }
static FusePrice *kernel(const Search *s, uint32_t k) { return &s->prices->kernels.items[k]; }
static double seconds_of(const Search *s, const FuseGroup *g) { return fuse_price(s->prices, g); }

/* What kernels of a grouping that the best one lacks may take more than those of the best one that it lacks, so that it
 * still is to be looked at: what becomes one in the end, once all of its kernels are asked for, saves launches. */
static double to_save(const Search *s)
{
    uint32_t n = 0, best = 0;
    for (uint32_t k = 0; k < n_kernels(s); k++) n += kernel(s, k)->seen == s->stamp, best += kernel(s, k)->stays;
    return n > best ? (n - best) * s->how->rates.launch : 0;
}

/* Do kernels of a grouping that the best one lacks take less than those of the best one that it lacks? Kernels without
 * a price are the same in both. A price takes long: none is asked for once what is known of the new ones, and the least
 * that the others take, is too much. final: all kernels that may become one were asked for. */
static bool is_better(Search *s, const FuseGrouping *g, bool final)
{
    double new = 0, old = 0;
    bool known = true;
    s->stamp++;
    for (uint32_t k = 0; k < g->n_groups; k++) fuse_price_of(s->prices, &g->groups[k])->seen = s->stamp;
    for (uint32_t k = 0; k < n_kernels(s) && known; k++) {
        const FusePrice *x = kernel(s, k);
        if (x->stays && x->seen != s->stamp) old += x->seconds, known = x->seconds > 0;
        if (!x->stays && x->seen == s->stamp) new += x->asked ? x->seconds : x->least;
    }
    if (!final) old += to_save(s);
    for (uint32_t k = 0; k < n_kernels(s) && known && new < old; k++) {
        FusePrice *x = kernel(s, k);
        if (x->stays || x->seen != s->stamp) continue;
        const double so_far = x->asked ? x->seconds : x->least;
        s->asked += !x->asked;
        new += fuse_ask(s->prices, x) - so_far;
        known = x->seconds > 0;
    }
    return known && new < old;
}

/* The grouping that was looked at last is the best one from now on. */
static void take(Search *s)
{
    for (uint32_t k = 0; k < n_kernels(s); k++) kernel(s, k)->stays = kernel(s, k)->seen == s->stamp;
}

/* Is the best grouping so much better than the one before? If not, that one is the best again. */
static bool pays(Search *s)
{
    double new = 0, old = 0;
    for (uint32_t k = 0; k < n_kernels(s); k++) {
        const FusePrice *x = kernel(s, k);
        if (x->stays && !x->was) new += x->seconds;
        if (x->was && !x->stays) old += x->seconds;
    }
    const bool enough = new < old * (1 - s->how->rates.save);
    for (uint32_t k = 0; k < n_kernels(s); k++) {
        FusePrice *x = kernel(s, k);
        if (enough) x->was = x->stays;
        else x->stays = x->was;
    }
    return enough;
}

static FuseGrouping group(Search *s, WbbArena *a)
{
    return fuse_group(s->cx, a, s->c, &s->how->rates, s->given, NULL);
}

/* Choices of one kind for values of one operation and shape, as both halves of a level of a scan of pairs. */
static bool is_like(const Search *s, const FusePoint *p, const FusePoint *q)
{
    const HloInstruction *x = s->c->instructions[p->id], *y = s->c->instructions[q->id];
    return p->what == q->what && x->opcode == y->opcode && hlo_same_shape(x->shape, y->shape);
}

typedef struct { uint32_t *items; uint32_t n, capacity; } Places;

static void turn(Search *s, const Places *p)
{
    for (uint32_t k = 0; k < p->n; k++) s->given->other[p->items[k]] = !s->given->other[p->items[k]];
}

/* Makes some choices the other way, if that is better. Which kernels become one in the end takes a price for each two:
 * these are asked for where what is known of them leaves it open. */
static bool try_other(Search *s, const Places *p)
{
    WbbArena *scratch = wbb_arena_new(s->cx);
    turn(s, p);
    s->prices->asks = s->prices->missed = false;
    FuseGrouping other = group(s, scratch);
    s->prices->asks = true;
    bool better = is_better(s, &other, !s->prices->missed);
    if (better && s->prices->missed) {
        other = group(s, scratch);
        better = is_better(s, &other, true);
    }
    if (better) take(s);
    else turn(s, p);
    wbb_arena_free(scratch);
    return better;
}

/* Point k and those after it that are like it; none where one before it is. */
static Places all_like(const Search *s, WbbArena *a, const FuseGrouping *g, uint32_t k, const bool *marked)
{
    Places p = {0};
    for (uint32_t j = 0; j < g->n_points; j++) {
        if (!marked[g->points[j].id] || !is_like(s, &g->points[k], &g->points[j])) continue;
        if (j < k) return (Places){0};
        WBB_PUSH(a, &p, at_of(&g->points[j]));
    }
    return p;
}

/* Choices that were made the other way. */
typedef struct {
    WbbArena *a;
    Places changed;
    uint32_t since; /* kernels that had been priced when one was better */
} Tries;

/* Tries the choices for values that are marked, each alone, or all that are like it: a kernel that waits for two chains
 * gains once both are shorter. */
static void try_each(Search *s, Tries *t, const bool *marked, bool alike)
{
    bool any = true;
    for (uint32_t round = 0; round < s->how->rates.rounds && any; round++) {
        const FuseGrouping now = group(s, t->a);
        any = false;
        for (uint32_t k = 0; k < now.n_points && s->asked <= t->since + s->how->rates.tries; k++) {
            uint32_t at = at_of(&now.points[k]);
            const Places p = alike ? all_like(s, t->a, &now, k, marked) : (Places){.items = &at, .n = 1};
            if (!marked[now.points[k].id] || p.n < 1u + alike || !try_other(s, &p)) continue;
            for (uint32_t j = 0; j < p.n; j++) WBB_PUSH(t->a, &t->changed, p.items[j]);
            any = true;
            t->since = s->asked;
        }
    }
}

/* Returns whether some choices for values that are marked are made the other way now. */
static bool try_all(Search *s, const bool *marked)
{
    Tries t = {.a = wbb_arena_new(s->cx), .since = s->asked};
    try_each(s, &t, marked, false);
    try_each(s, &t, marked, true);
    const bool stay = t.changed.n && pays(s);
    if (!stay) turn(s, &t.changed);
    wbb_arena_free(t.a);
    return stay;
}

/* Threads that share the terms of reductions have many layouts, and a price takes as long as a compile: the walk knows
 * what they do. */
static bool has_terms(Search *s, const FuseGroup *g)
{
    const FuseRates *r = &s->how->rates;
    for (uint32_t k = 0; k < g->n_members; k++)
        if (g->members[k]->opcode == HLO_REDUCE && fuse_work(s->arena, r, g->members[k]) > r->straight) return true;
    return false;
}

/* Would a kernel that takes little more than its bytes gain by being another? */
static bool is_slow(Search *s, FusePrice *x)
{
    return x->stays && fuse_ask(s->prices, x) * (1 - s->how->rates.save) > x->least;
}

static WbbEntry *of_text(Search *s, const FusePrice *x)
{
    return wbb_map_put_bytes(&s->texts, x->text, strlen(x->text));
}

/* Choices that are made the other way than the walk would. */
static void put_others(const Search *s, const FuseGrouping *g, WbbBuf *b)
{
    for (uint32_t k = 0; k < g->n_points; k++)
        if (s->given->other[at_of(&g->points[k])])
            wbb_putf(b, "  %s, %s: the other way takes less time\n", s->c->instructions[g->points[k].id]->name,
                     fuse_choice_name[g->points[k].what]);
}

/* What all kernels take; 0: that is not known. */
static double sum_of(Search *s, const FuseGrouping *g)
{
    double sum = 0;
    bool known = true;
    for (uint32_t k = 0; k < g->n_groups; k++) {
        const double seconds = seconds_of(s, &g->groups[k]);
        sum += seconds, known = known && seconds > 0;
    }
    return known ? sum : 0;
}

/* --- all combinations --------------------------------------------------------------------------------------------- */
typedef struct {
    Search *s;
    bool *fixed, *best; /* [id * FUSE_CHOICES + choice] */
    double seconds;     /* of the best one; 0: there is none yet */
    uint32_t left;      /* combinations that may still be tried */
} All;

/* Both ways of the first choice that is not fixed: which ones there are depends on those before. */
static void try_both(All *x)
{
    Search *s = x->s;
    WbbArena *a = wbb_arena_new(s->cx);
    const FuseGrouping g = group(s, a);
    uint32_t k = 0;
    while (k < g.n_points && x->fixed[at_of(&g.points[k])]) k++;
    if (k == g.n_points) {
        const double seconds = sum_of(s, &g);
        if (x->left-- == 0)
            wbb_decline(s->cx, s->c->root->loc, WHY_SIZE, "%s has more than %u combinations of choices", s->c->name,
                        s->how->combinations);
        if (seconds > 0 && (x->seconds <= 0 || seconds < x->seconds)) {
            x->seconds = seconds;
            memcpy(x->best, s->given->other, (s->c->n_instructions + 1) * FUSE_CHOICES * sizeof(bool));
        }
    } else {
        const uint32_t at = at_of(&g.points[k]);
        wbb_arena_free(a);
        a = NULL;
        x->fixed[at] = true;
        for (int other = 0; other < 2; other++) {
            s->given->other[at] = other;
            try_both(x);
        }
        x->fixed[at] = s->given->other[at] = false;
    }
    if (a) wbb_arena_free(a);
}

static void search_all(Search *s, WbbBuf *explain)
{
    const uint32_t n = (s->c->n_instructions + 1) * FUSE_CHOICES;
    All x = {s, WBB_NEW_N(s->arena, bool, n), WBB_NEW_N(s->arena, bool, n), 0, s->how->combinations};
    try_both(&x);
    if (x.seconds > 0) memcpy(s->given->other, x.best, n * sizeof(bool));
    if (explain) wbb_putf(explain, "  all %u combinations of its choices were priced\n", s->how->combinations - x.left);
}

/* Tries the choices for what the slow kernels of a grouping compute and read. Returns whether any is made otherwise. */
static bool search_near(Search *s, const FuseGrouping *g)
{
    double all = 0;
    bool any = false;
    for (uint32_t k = 0; k < n_kernels(s); k++) {
        FusePrice *x = kernel(s, k);
        x->tried = x->stays;
        x->was = x->stays = false;
    }
    s->texts = (WbbMap){.arena = s->arena};
    for (uint32_t k = 0; k < g->n_groups; k++) {
        if (wbb_progress(s->cx, "prices of kernels", k, g->n_groups)) wbb_stop(s->cx);
        FusePrice *x = fuse_price_of(s->prices, &g->groups[k]);
        all += fuse_ask(s->prices, x);
        x->was = x->stays = true;
        of_text(s, x)->value++;
    }
    (void)wbb_progress(s->cx, "prices of kernels", g->n_groups, g->n_groups);
    for (uint32_t k = 0; k < g->n_groups; k++) {
        const FuseGroup *x = &g->groups[k];
        if (wbb_progress(s->cx, "other cuts of kernels", k, g->n_groups)) wbb_stop(s->cx);
        if (has_terms(s, x)) continue;
        FusePrice *price = fuse_price_of(s->prices, x);
        if (!is_slow(s, price) || price->tried) continue;
        WbbEntry *like = of_text(s, price);
        if ((double)like->value * (price->seconds - price->least) <= s->how->rates.worth * all) continue;
        bool *marked = WBB_NEW_N(s->arena, bool, s->c->n_instructions + 1);
        for (uint32_t j = 0; j < x->n_members; j++) {
            marked[x->members[j]->id] |= !g->merged || g->roles[x->members[j]->id] == FUSE_ROOT;
            for (uint32_t o = 0; o < x->members[j]->n_operands; o++) {
                const HloInstruction *of = x->members[j]->operands[o];
                marked[of->id] |= !g->merged || g->roles[of->id] != FUSE_INLINE;
            }
        }
        const bool better = try_all(s, marked);
        if (!better) like->value = 0;
        any = any || better;
    }
    (void)wbb_progress(s->cx, "other cuts of kernels", g->n_groups, g->n_groups);
    return any;
}

FuseGrouping fuse_search(WbbCx *cx, WbbArena *a, const HloComputation *c, const FuseHow *how, FuseGiven *given,
                         WbbBuf *walk, WbbBuf *others)
{
    Search s = {.cx = cx, .arena = wbb_arena_new(cx), .c = c, .how = how, .given = given};
    s.prices = fuse_prices(cx, s.arena, c, how);
    if (how->combinations) {
        given->prices = s.prices;
        search_all(&s, others);
    } else {
        const FuseGrouping alone = group(&s, s.arena);
        (void)search_near(&s, &alone);
        given->prices = s.prices;
    }
    FuseGrouping g = fuse_group(cx, a, c, &how->rates, given, walk);
    if (!how->combinations && g.merged && search_near(&s, &g)) {
        if (walk) *walk = wbb_buf(walk->arena);
        g = fuse_group(cx, a, c, &how->rates, given, walk);
    }
    if (others) put_others(&s, &g, others);
    given->prices = NULL;
    wbb_arena_free(s.arena);
    return g;
}
