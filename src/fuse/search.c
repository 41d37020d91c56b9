/* search: choices of the walk that are better made the other way.
 *
 * Needs: the walk's grouping, and what kernels take. Leaves: a grouping near it that takes less time. Of a kernel that
 * takes much longer than its bytes do, each choice is tried the other way, one after the other, and stays so where the
 * kernels take less. All of them are given up where that does not save `save` percent: prices err. Kernels that all
 * together could save less than `worth` percent of the time are left as they are, and so are those whose text another
 * one had near which nothing was better: each try walks through the whole computation again.
 *
 *     y = concatenate(sine(a), cosine(a), sine(2 a), ..)     each thread computes one of these, by a long way there;
 *                                                            two kernels, of which the second one has less of it
 */
#include "fuse/priced.h"

#include <string.h>


/* What a kernel takes, found once. */
typedef struct {
    const char *text;
    double seconds; /* 0: not known */
    bool asked;     /* for its seconds */
    double least;   /* a launch, and the bytes that it reads and leaves */
    uint32_t seen;  /* the last grouping that has it */
    bool was, stays; /* the grouping before a kernel's choices has it; the best one does */
} Timed;

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    const HloComputation *c;
    const FuseHow *how;
    FuseGiven *given;
    WbbMap numbers; /* of a kernel, from 1 on, by its roots and members */
    WbbMap texts;   /* how often the grouping before has each text; 0: nothing is better near it, in no other layer */
    struct { Timed *items; uint32_t n, capacity; } kernels;
    uint32_t stamp;
} Search;

/* Where FuseGiven has a choice. */
static uint32_t at_of(const FusePoint *p) { return p->id * FUSE_CHOICES + p->what; }

/* Of a value in memory that a group reads: what the member that needs most of it needs. */
static double bytes_read(const Search *s, const FuseGroup *g, const HloInstruction *x)
{
    double most = 0;
    for (uint32_t k = 0; k < g->n_members; k++)
        for (uint32_t o = 0; o < g->members[k]->n_operands; o++)
            if (g->members[k]->operands[o] == x)
                most = WBB_MAX(most, fuse_bytes_read(s->arena, &s->how->rates, g->members[k], o));
    return most;
}

/* The kernel of a group, whose seconds may not have been asked for. */
static Timed *kernel_of(Search *s, const FuseGroup *g)
{
    WbbArena *scratch = wbb_arena_new(s->cx);
    uint32_t *key = WBB_NEW_N(scratch, uint32_t, g->n_roots + g->n_members + 1), n = 0;
    key[n++] = g->n_roots;
    for (uint32_t k = 0; k < g->n_roots; k++) key[n++] = g->roots[k]->id;
    for (uint32_t k = 0; k < g->n_members; k++) key[n++] = g->members[k]->id;
    WbbEntry *known = wbb_map_put_bytes(&s->numbers, key, n * sizeof *key);
    if (!known->value) {
        const FuseText t = fuse_write(scratch, s->c, g);
        Timed x = {.text = wbb_format(s->arena, "%s", t.text), .least = s->how->rates.launch};
        for (uint32_t k = 0; k < t.n_reads; k++) x.least += bytes_read(s, g, t.reads[k]) * s->how->rates.byte;
        for (uint32_t k = 0; k < g->n_roots; k++) x.least += (double)hlo_bytes(g->roots[k]->shape) * s->how->rates.byte;
        WBB_PUSH(s->arena, &s->kernels, x);
        known->value = s->kernels.n;
    }
    wbb_arena_free(scratch);
    return &s->kernels.items[known->value - 1];
}

static double seconds_of(Search *s, Timed *x)
{
    if (!x->asked) x->seconds = s->how->seconds(s->how->arg, x->text);
    x->asked = true;
    return x->seconds;
}

static Timed *timed(Search *s, const FuseGroup *g)
{
    Timed *x = kernel_of(s, g);
    seconds_of(s, x);
    return x;
}

/* Do kernels of a grouping that the best one lacks take less than those of the best one that it lacks? Then it is the
 * best from now on. Kernels without a price are the same in both. A price takes long: none is asked for once what is
 * known of the new ones, and the least that the others take, is too much. */
static bool is_better(Search *s, const FuseGrouping *g)
{
    double new = 0, old = 0;
    bool known = true;
    s->stamp++;
    for (uint32_t k = 0; k < g->n_groups; k++) kernel_of(s, &g->groups[k])->seen = s->stamp;
    for (uint32_t k = 0; k < s->kernels.n && known; k++) {
        const Timed *x = &s->kernels.items[k];
        if (x->stays && x->seen != s->stamp) old += x->seconds, known = x->seconds > 0;
        if (!x->stays && x->seen == s->stamp) new += x->asked ? x->seconds : x->least;
    }
    for (uint32_t k = 0; k < s->kernels.n && known && new < old; k++) {
        Timed *x = &s->kernels.items[k];
        if (x->stays || x->seen != s->stamp) continue;
        const double so_far = x->asked ? x->seconds : x->least;
        new += seconds_of(s, x) - so_far;
        known = x->seconds > 0;
    }
    if (!known || new >= old) return false;
    for (uint32_t k = 0; k < s->kernels.n; k++) s->kernels.items[k].stays = s->kernels.items[k].seen == s->stamp;
    return true;
}

/* Is the best grouping so much better than the one before? If not, that one is the best again. */
static bool pays(Search *s)
{
    double new = 0, old = 0;
    for (uint32_t k = 0; k < s->kernels.n; k++) {
        const Timed *x = &s->kernels.items[k];
        if (x->stays && !x->was) new += x->seconds;
        if (x->was && !x->stays) old += x->seconds;
    }
    const bool enough = new < old * (1 - s->how->rates.save);
    for (uint32_t k = 0; k < s->kernels.n; k++) {
        Timed *x = &s->kernels.items[k];
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

/* Makes some choices the other way, if that is better. */
static bool try_other(Search *s, const Places *p)
{
    WbbArena *scratch = wbb_arena_new(s->cx);
    turn(s, p);
    const FuseGrouping other = group(s, scratch);
    const bool better = is_better(s, &other);
    if (!better) turn(s, p);
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
        for (uint32_t k = 0; k < now.n_points && s->kernels.n <= t->since + s->how->rates.tries; k++) {
            uint32_t at = at_of(&now.points[k]);
            const Places p = alike ? all_like(s, t->a, &now, k, marked) : (Places){.items = &at, .n = 1};
            if (!marked[now.points[k].id] || p.n < 1u + alike || !try_other(s, &p)) continue;
            for (uint32_t j = 0; j < p.n; j++) WBB_PUSH(t->a, &t->changed, p.items[j]);
            any = true;
            t->since = s->kernels.n;
        }
    }
}

/* Returns whether some choices for values that are marked are made the other way now. */
static bool try_all(Search *s, const bool *marked)
{
    Tries t = {.a = wbb_arena_new(s->cx), .since = s->kernels.n};
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
static bool is_slow(Search *s, const FuseGroup *g)
{
    const Timed *t = timed(s, g);
    return t->stays && t->seconds * (1 - s->how->rates.save) > t->least;
}

static WbbEntry *of_text(Search *s, const FuseGroup *g)
{
    const char *text = kernel_of(s, g)->text;
    return wbb_map_put_bytes(&s->texts, text, strlen(text));
}

/* Choices that are made the other way than the walk would. */
static void put_others(const Search *s, const FuseGrouping *g, WbbBuf *b)
{
    for (uint32_t k = 0; k < g->n_points; k++)
        for (uint32_t e = 0; e < FUSE_CHOICES; e++)
            if (fuse_edges[e].choice == g->points[k].what && s->given->other[at_of(&g->points[k])])
                wbb_putf(b, "  %s, %s: the other way takes less time\n", s->c->instructions[g->points[k].id]->name,
                         fuse_edges[e].name);
}

/* What all kernels take; 0: that is not known. */
static double sum_of(Search *s, const FuseGrouping *g)
{
    double sum = 0;
    bool known = true;
    for (uint32_t k = 0; k < g->n_groups; k++) {
        const double seconds = timed(s, &g->groups[k])->seconds;
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

void fuse_search(WbbCx *cx, const HloComputation *c, const FuseHow *how, FuseGiven *given, const FuseGrouping *g,
                 WbbBuf *explain)
{
    Search s = {.cx = cx, .arena = wbb_arena_new(cx), .c = c, .how = how, .given = given};
    s.numbers.arena = s.texts.arena = s.arena;
    if (how->combinations) search_all(&s, explain);
    double all = 0;
    for (uint32_t k = 0; k < g->n_groups; k++) {
        if (wbb_progress(cx, "prices of kernels", k, g->n_groups)) wbb_stop(cx);
        Timed *t = timed(&s, &g->groups[k]);
        t->was = t->stays = true;
        all += t->seconds;
        of_text(&s, &g->groups[k])->value++;
    }
    (void)wbb_progress(cx, "prices of kernels", g->n_groups, g->n_groups);
    for (uint32_t k = 0; k < g->n_groups && !how->combinations; k++) {
        const FuseGroup *x = &g->groups[k];
        if (wbb_progress(cx, "other cuts of kernels", k, g->n_groups)) wbb_stop(cx);
        if (has_terms(&s, x) || !is_slow(&s, x)) continue;
        WbbEntry *like = of_text(&s, x);
        if ((double)like->value * (timed(&s, x)->seconds - timed(&s, x)->least) <= how->rates.worth * all) continue;
        bool *marked = WBB_NEW_N(s.arena, bool, c->n_instructions + 1);
        for (uint32_t j = 0; j < x->n_members; j++) {
            marked[x->members[j]->id] = true;
            for (uint32_t o = 0; o < x->members[j]->n_operands; o++) marked[x->members[j]->operands[o]->id] = true;
        }
        if (!try_all(&s, marked)) like->value = 0;
    }
    (void)wbb_progress(cx, "other cuts of kernels", g->n_groups, g->n_groups);
    if (explain) {
        const FuseGrouping now = group(&s, s.arena);
        put_others(&s, &now, explain);
    }
    wbb_arena_free(s.arena);
}
