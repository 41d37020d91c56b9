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
#include "partition/chooser.h"

#include <string.h>

PartChooser *part_chooser(WbbArena *a, const TgTarget *t, const PartProgram *by, void *of)
{
    PartChooser *c = WBB_NEW(a, PartChooser);
    *c = (PartChooser){.a = a, .t = t, .r = part_rates(a, t), .by = by, .of = of, .seen = {.arena = a},
                       .max_terms = tg_tuned(t, "layout.max_terms"), .max_code = tg_tuned(t, "layout.max_code"),
                       .most_registers = tg_tuned(t, "layout.most_registers"),
                       .max_shared = tg_tuned(t, "layout.max_shared"), .beam = (uint32_t)tg_tuned(t, "layout.beam")};
    return c;
}

bool part_within(const PartChooser *c, const PartNeeds *needs)
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

bool part_try(PartChooser *c, const void *wish)
{
    uint64_t hash;
    if (!c->what) c->what = wbb_alloc(c->a, c->by->bytes);
    if (!c->by->make(c->of, wish, c->what, &hash)) return false;
    WbbEntry *e = wbb_map_put(&c->seen, hash);
    if (e->value) return false;
    e->value = 1;
    const PartNeeds needs = c->by->needs(c->of, c->what);
    if (!part_within(c, &needs)) return false;
    const PartTried new = {.what = c->what, .price = c->by->price(c->of, c->what, &needs), .finished = !c->by->finish};
    WBB_PUSH(c->a, &c->all, new);
    c->what = NULL;
    return true;
}

uint32_t part_cheapest(const PartChooser *c, uint32_t *best, uint32_t n)
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

static void finish(PartChooser *c, PartTried *x)
{
    if (!x->finished) c->by->finish(c->of, x);
    x->finished = true;
}

/* The cheapest one, finished. */
static uint32_t least_of(PartChooser *c)
{
    for (;;) {
        uint32_t best;
        part_cheapest(c, &best, 1);
        if (c->all.items[best].finished) return best;
        finish(c, &c->all.items[best]);
    }
}

/* What decides among those that take up to `most`. */
static PartTie tie_of(const PartChooser *c, const PartPrice *least, double work, double most)
{
    const double *term = least->term, memory = WBB_MAX(WBB_MAX(term[PART_DRAM], term[PART_L2]), term[PART_FILL]);
    PartTie tie = {.plain = least->plain, .unit = work * (double)tg_tuned(c->t, "layout.tie.plain") / 1000,
                   .chain = tg_tuned(c->t, "layout.chain"), .few_terms = tg_tuned(c->t, "layout.short"),
                   .usual_block = tg_tuned(c->t, "loop.block"), .sms = c->t->sms, .waits = least->effort < memory};
    for (uint32_t k = 0; k < c->all.n; k++)
        if (c->all.items[k].price.us <= most) tie.plain = WBB_MIN(tie.plain, c->all.items[k].price.plain);
    return tie;
}

/* The preferred one of those that take up to `most`, whether they are finished or not. *equal: how many there are. */
static uint32_t preferred(const PartChooser *c, const PartTie *tie, double most, uint32_t *equal)
{
    int64_t best_key[PART_KEYS], key[PART_KEYS];
    uint32_t best = UINT32_MAX;
    *equal = 0;
    for (uint32_t k = 0; k < c->all.n; k++) {
        const PartTried *x = &c->all.items[k];
        if (x->price.us > most) continue;
        ++*equal;
        memset(key, 0, sizeof key);
        c->by->prefer(c->of, tie, x, key);
        int order = best == UINT32_MAX ? -1 : 0;
        for (int p = 0; p < PART_KEYS && !order; p++) order = (key[p] > best_key[p]) - (key[p] < best_key[p]);
        if (order > 0 || (order == 0 && x->price.us >= c->all.items[best].price.us)) continue;
        best = k;
        memcpy(best_key, key, sizeof key);
    }
    return best;
}

static PartPriced listed(const PartChooser *c, const PartTried *x)
{
    PartPriced p = {.price = x->price, .decides = PART_DRAM};
    for (int k = 0; k < PART_LATENCY; k++)
        if (p.price.term[k] > p.price.term[p.decides]) p.decides = (PartTerm)k;
    c->by->list(c->of, x, &p);
    return p;
}

bool part_decide(PartChooser *c, uint32_t *taken, PartChoice *choice)
{
    *choice = (PartChoice){.candidates = c->all.n};
    if (!c->all.n) return false;
    const PartPrice least = c->all.items[least_of(c)].price;
    const double work = least.us - least.term[PART_LAUNCH] - least.term[PART_LATENCY]; /* which every layout takes */
    const double most = least.us + work * (double)tg_tuned(c->t, "layout.tie") / 1000;
    const PartTie tie = tie_of(c, &least, work, most);
    do {
        *taken = preferred(c, &tie, most, &choice->equal);
        if (c->all.items[*taken].finished) break;
        finish(c, &c->all.items[*taken]);
    } while (true);
    uint32_t best[PART_BEST + 1];
    const uint32_t n = part_cheapest(c, best, PART_BEST);
    choice->best[choice->n++] = listed(c, &c->all.items[*taken]);
    for (uint32_t k = 0; k < n && choice->n < PART_BEST; k++)
        if (best[k] != *taken && c->all.items[best[k]].finished)
            choice->best[choice->n++] = listed(c, &c->all.items[best[k]]);
    return true;
}
