/* chooser.c: prices layouts, keeps them, and takes one.
 *
 * Needs a program of layouts (chooser.h) and its wishes; leaves a choice. The same on every machine: layouts are tried
 * in the order of their wishes, and of two with the same time and the same preferences the first is taken.
 *
 * Prices are off from measured times by an eighth, so what is within layout.tie of the cheapest takes as long. Of these
 * the program prefers one. Where the price of a layout is only what it takes at least, as its bank conflicts are not
 * counted, few are finished: those that may be the cheapest, then the preferred ones of those that may take as long.
 *
 *     38 layouts, 2.20 us the cheapest, three of them up to 2.23; the second one has no loop    =>   the second one
 */
#include "layout/chooser.h"

#include <string.h>

LayChooser *lay_chooser(WbbArena *a, const TgTarget *t, const LayProgram *by, void *of)
{
    LayChooser *c = WBB_NEW(a, LayChooser);
    *c = (LayChooser){.a = a, .t = t, .r = lay_rates(a, t), .by = by, .of = of, .seen = {.arena = a},
                      .max_terms = tg_tuned(t, "layout.max_terms"), .max_code = tg_tuned(t, "layout.max_code"),
                      .most_registers = tg_tuned(t, "layout.most_registers"),
                      .max_shared = tg_tuned(t, "layout.max_shared"), .beam = (uint32_t)tg_tuned(t, "layout.beam")};
    return c;
}

bool lay_within(const LayChooser *c, const LayNeeds *needs)
{
    const double threads = needs->counts.threads;
    if (threads > TG_MAX_THREADS || needs->counts.blocks > INT32_MAX) return false;
    if (needs->shared > (double)c->max_shared) return false;
    const double elements = needs->counts.kept * needs->counts.terms;
    if (elements <= 1) return true; /* there is no smaller one */
    const double each = price_most_registers(c->t, (uint64_t)threads) * (double)c->most_registers / 100;
    return elements <= (double)c->max_terms && needs->code <= (double)c->max_code &&
           needs->registers <= WBB_MIN((double)c->t->regs, each);
}

bool lay_try(LayChooser *c, const void *wish)
{
    uint64_t hash;
    if (!c->what) c->what = wbb_alloc(c->a, c->by->bytes);
    if (!c->by->make(c->of, wish, c->what, &hash)) return false;
    WbbEntry *e = wbb_map_put(&c->seen, hash);
    if (e->value) return false;
    e->value = 1;
    LayNeeds needs;
    if (!c->by->needs(c->of, c->what, &needs) || !lay_within(c, &needs)) return false;
    const LayTried new = {.what = c->what, .price = c->by->price(c->of, c->what, &needs), .finished = !c->by->finish};
    WBB_PUSH(c->a, &c->all, new);
    c->what = NULL;
    return true;
}

uint32_t lay_cheapest(const LayChooser *c, uint32_t *best, uint32_t n)
{
    uint32_t found = 0;
    for (uint32_t k = 0; k < c->all.n; k++) {
        uint32_t at = found;
        while (at > 0 && c->all.items[k].price.us < c->all.items[best[at - 1]].price.us) at--;
        if (at == n) continue;
        found = WBB_MIN(found + 1, n);
        memmove(best + at + 1, best + at, (found - 1 - at) * sizeof *best);
        best[at] = k;
    }
    return found;
}

static void finish(LayChooser *c, LayTried *x)
{
    if (!x->finished) c->by->finish(c->of, x);
    x->finished = true;
}

/* The cheapest one, finished. */
static uint32_t least_of(LayChooser *c)
{
    for (;;) {
        uint32_t best;
        lay_cheapest(c, &best, 1);
        if (c->all.items[best].finished) return best;
        finish(c, &c->all.items[best]);
    }
}

double lay_as_long(const TgTarget *t, const LayPrice *least)
{
    const double work = least->us - least->term[LAY_LAUNCH] - least->term[LAY_LATENCY]; /* which every layout takes */
    return least->us + work * (double)tg_tuned(t, "layout.tie") / 1000;
}

/* Those that take as long as the least. */
typedef struct {
    LayTie tie;
    double most;
    uint32_t n;
} Equal;

static Equal equal_to(const LayChooser *c, const LayPrice *least)
{
    const double *term = least->term, memory = WBB_MAX(WBB_MAX(term[LAY_DRAM], term[LAY_L2]), term[LAY_FILL]);
    const double work = least->us - least->term[LAY_LAUNCH] - least->term[LAY_LATENCY];
    Equal e = {.most = lay_as_long(c->t, least)};
    e.tie = (LayTie){.plain = least->plain, .least = least->us, .width = e.most - least->us,
                     .unit = work * (double)tg_tuned(c->t, "layout.tie.plain") / 1000,
                     .chain = tg_tuned(c->t, "layout.chain"), .few_terms = tg_tuned(c->t, "layout.short"),
                     .usual_block = tg_tuned(c->t, "loop.block"), .sms = c->t->sms, .waits = least->effort < memory};
    for (uint32_t k = 0; k < c->all.n; k++) {
        if (c->all.items[k].price.us > e.most) continue;
        e.tie.plain = WBB_MIN(e.tie.plain, c->all.items[k].price.plain);
        e.n++;
    }
    return e;
}

typedef struct {
    int64_t key[LAY_KEYS];
    double us;
    uint32_t number;
} Preference;

static bool is_before(const Preference *x, const Preference *y)
{
    for (int p = 0; p < LAY_KEYS; p++)
        if (x->key[p] != y->key[p]) return x->key[p] < y->key[p];
    return x->us < y->us;
}

static bool is_among(const uint32_t *numbers, uint32_t n, uint32_t k)
{
    for (uint32_t j = 0; j < n; j++)
        if (numbers[j] == k) return true;
    return false;
}

/* Of those that are equal, the n preferred ones that are not among the first `others` numbers, after these. */
static uint32_t preferred(const LayChooser *c, const Equal *e, uint32_t *numbers, uint32_t others, uint32_t n)
{
    Preference *best = WBB_NEW_N(c->a, Preference, n + 1u);
    uint32_t found = 0;
    for (uint32_t k = 0; k < c->all.n; k++) {
        const LayTried *x = &c->all.items[k];
        Preference new = {.us = x->price.us, .number = k};
        if (x->price.us > e->most || is_among(numbers, others, k)) continue;
        c->by->prefer(c->of, &e->tie, x, new.key);
        uint32_t at = found;
        while (at > 0 && is_before(&new, &best[at - 1])) at--;
        if (at == n) continue;
        found = WBB_MIN(found + 1, n);
        memmove(best + at + 1, best + at, (found - 1 - at) * sizeof *best);
        best[at] = new;
    }
    for (uint32_t k = 0; k < found; k++) numbers[others + k] = best[k].number;
    return others + found;
}

uint32_t lay_promising(const LayChooser *c, uint32_t *best, uint32_t n)
{
    const uint32_t cheap = lay_cheapest(c, best, n);
    if (!cheap) return 0;
    const Equal e = equal_to(c, &c->all.items[best[0]].price);
    return preferred(c, &e, best, cheap, n);
}

static LayPriced listed(const LayChooser *c, const LayTried *x)
{
    LayPriced p = {.price = x->price, .decides = LAY_DRAM};
    for (int k = 0; k < LAY_LATENCY; k++)
        if (p.price.term[k] > p.price.term[p.decides]) p.decides = (LayTerm)k;
    c->by->list(c->of, x, &p);
    return p;
}

bool lay_decide(LayChooser *c, uint32_t *taken, LayChoice *choice)
{
    *choice = (LayChoice){.candidates = c->all.n};
    if (!c->all.n) return false;
    const LayPrice least = c->all.items[least_of(c)].price;
    const Equal e = equal_to(c, &least);
    for (preferred(c, &e, taken, 0, 1); !c->all.items[*taken].finished; preferred(c, &e, taken, 0, 1))
        finish(c, &c->all.items[*taken]);
    uint32_t best[LAY_BEST + 1];
    const uint32_t n = lay_cheapest(c, best, LAY_BEST);
    choice->equal = e.n;
    choice->best[choice->n++] = listed(c, &c->all.items[*taken]);
    for (uint32_t k = 0; k < n && choice->n < LAY_BEST; k++)
        if (best[k] != *taken && c->all.items[best[k]].finished)
            choice->best[choice->n++] = listed(c, &c->all.items[best[k]]);
    return true;
}
