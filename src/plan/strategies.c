/* strategies.c: one loop over the strategies of the target (patterns/strategies.py), of a fusion or of its text: which
 * are possible, what the plans take that they make, and which one is taken.
 *
 * Needs a fusion with its roots, buffers and limits; leaves its plan, and of each strategy what became of it. The first
 * that is possible makes the base. Each further one that is possible, and could take less by its launches and bytes, is
 * priced, and the cheapest of those that save enough takes its place. A strategy whose kernels are declined, or whose
 * plan is not legal (order.c), is not possible.
 *
 *     softmax f32[1,1048576]     share: 30.3 us     rows: 12.5 us, which saves 10 % and more: it is taken
 */
#include "plan/given.h"
#include "plan/strategies.h"

#include <string.h>

static const PlanMaker makers[] = {
    {NULL, plan_make_written},
#define STRATEGY(function, name) {name, plan_make_##function},
#include "strategies.def"
};

/* NULL: the rows of another program, which this one was given, have one more. */
static PlanMake *maker_of(const PlanTry *x, const TgStrategy *row)
{
    const PlanOthers of = x->others ? *x->others : (PlanOthers){makers, WBB_LEN(makers), NULL};
    for (size_t k = 0; k < of.n_makers; k++) {
        const char *name = of.makers[k].name;
        if (row && name ? !strcmp(name, row->name) : !row && !name) return of.makers[k].make;
    }
    return NULL;
}

/* What a plan takes that one of those tried has made. */
static LayPrice price_of(PlanTry *x, const Plan *p)
{
    LayPrice *price = WBB_NEW(x->a, LayPrice);
    *price = x->others ? x->others->price(x, p) : plan_price(x->a, p, x->t);
    for (uint32_t k = 0; k < x->n_tried; k++)
        if (x->tried[k].plan == p) x->tried[k].price = price;
    return *price;
}

/* --- one strategy ------------------------------------------------------------------------------------------------- */
typedef struct {
    PlanTry *x;
    PlanMake *make;
    Plan plan;
    bool made;
} Making;

static void make(WbbCx *cx, void *arg)
{
    Making *m = arg;
    m->made = m->make(m->x, &m->plan);
    if (m->made && m->x->at == TG_AT_FUSION) plan_legal(cx, &m->plan, m->x->t); /* another text's plan is legal */
}

/* The first strategy that was declined: what the fusion is declined with if all are. */
typedef struct {
    size_t before; /* bytes of messages */
    WbbWhy why;
    bool any;
} Declined;

/* The text of a message behind "FILE:LINE:COLUMN: declined: ". */
static const char *sentence_of(const PlanTry *x, size_t before)
{
    const char *text = x->cx->messages + before, *at = strstr(text, "declined: ");
    text = at ? at + strlen("declined: ") : text;
    return wbb_format(x->a, "declined: %.*s", (int)strcspn(text, "\n"), text);
}

static bool is_made(PlanTry *x, const TgStrategy *row, Plan *p, Declined *first)
{
    Making m = {.x = x, .make = maker_of(x, row)};
    const size_t before = strlen(x->cx->messages);
    if (x->base) m.plan = *x->base;
    x->row = row, x->why_not = "", x->number = 0;
    if (!m.make) return plan_not(x, "this program has no such strategy");
    const WbbStatus s = wbb_guard(x->cx, make, &m);
    *p = m.plan;
    if (s == WBB_FAILED) wbb_rethrow(x->cx, s);
    if (s == WBB_OK) return m.made;
    x->why_not = sentence_of(x, before);
    if (!first->any) *first = (Declined){before, x->cx->why, true};
    else wbb_forget_since(x->cx, before);
    return false;
}

/* --- the loop ----------------------------------------------------------------------------------------------------- */
/* The range of a plan whose one kernel has threads that share, and a layout that was chosen; else NULL. */
static const PlanRange *shared_range(const Plan *p, const PlanOptions *options)
{
    if (p->n_kernels != 1 || p->kernels[0].of || p->kernels[0].n_ranges != 1 || options->layout) return NULL;
    const PlanRange *r = p->kernels[0].ranges;
    const bool reduces = r->hero && r->hero->opcode == HLO_REDUCE;
    return reduces && p->reduced && r->choice ? r : NULL;
}

bool plan_try_row(PlanTry *x, const TgStrategy *row, Plan *p)
{
    const size_t before = strlen(x->cx->messages);
    const WbbWhy why = x->cx->why;
    Declined declined = {0};
    const bool made = is_made(x, row, p, &declined);
    wbb_forget_since(x->cx, before);
    x->cx->why = why;
    return made;
}

/* Of a row that is not tried: a condition that does not hold, where its maker finds out before any work; else that. */
static const char *why_not_tried(PlanTry *x, const TgStrategy *row)
{
    Plan none;
    x->asks = true;
    const bool made = plan_try_row(x, row, &none);
    x->asks = false;
    return made ? plan_why_too_long : x->why_not;
}

/* Tries a row: its plan, or NULL. The outcome is the last of those tried. */
static const Plan *try_row(PlanTry *x, const TgStrategy *row, Declined *declined)
{
    PlanOutcome *t = &x->tried[x->n_tried++];
    Plan *p = WBB_NEW(x->a, Plan);
    *t = (PlanOutcome){.row = row};
    if (row && row->off) t->why = "left out";
    else if (!is_made(x, row, p, declined)) t->why = x->why_not;
    else t->plan = p, t->number = x->number;
    return t->plan;
}

/* The best plan so far, and the base, which is the first. */
typedef struct {
    PlanOutcome *of;
    LayPrice base, best; /* .us 0: nobody has asked for it */
} Search;

static void take(Search *s, PlanOutcome *x)
{
    if (s->of) s->of->taken = false;
    s->of = x, x->taken = true;
}

static void find_base_price(PlanTry *x, Search *s)
{
    if (s->base.us > 0) return;
    s->base = s->best = price_of(x, x->found);
}

/* Could a plan of this strategy take the place of the best one? */
static bool may_take_less(PlanTry *x, Search *s, const TgStrategy *row)
{
    if (row->taken == TG_TESTED) return s->of->plan == x->found;
    if (x->options->layout) return row->rival; /* the base has taken it */
    find_base_price(x, s);
    if (s->base.bytes_alone) return false;
    const double most = WBB_MIN(s->best.us, plan_to_beat(row, x->shared, s->base.us));
    return row->fewer || plan_bound_us(x->found, &s->base, row, x->t) < most;
}

/* The price of the base that a plan is held against: of a loop in whose place a tile is, the one that counts accesses
 * by the dimensions of the tile, as the tile's does. */
static const LayPrice *price_of_base(const PlanTry *x, const Search *s, const Plan *p)
{
    const PlanRange *of = p->n_kernels == 1 && x->at == TG_AT_FUSION ? p->kernels[0].ranges : NULL;
    const PlanRange *base = x->found->n_kernels ? x->found->kernels[0].ranges : NULL;
    return of && of->tile && base && base->stages->kind == PLAN_ELEMENTS ? of->tile->loop : &s->base;
}

/* Does a plan that was made take the place of the best one? */
static bool takes_less(PlanTry *x, Search *s, PlanOutcome *t)
{
    if (t->row->taken == TG_TESTED || x->options->layout) {
        s->best.us = 0;
        return true;
    }
    find_base_price(x, s);
    const LayPrice own = price_of(x, t->plan);
    if (!plan_takes_less(x->t, t->row, x->shared, &own, price_of_base(x, s, t->plan))) return false;
    if (s->of->plan != x->found && own.us >= s->best.us) return false;
    s->best = own;
    return true;
}

/* What further rows are held against: of a fusion its base; of a text the best one so far, which they write anew. */
static void hold(PlanTry *x, Search *s, const Plan *p)
{
    if (x->texts) {
        plan_take_text(x, p);
        s->base = s->best;
    } else if (!x->found) {
        x->found = p, x->shared = shared_range(p, x->options);
    }
}

/* The plan of the first row that is possible, and of each further one that takes less; NULL: none is possible.
 * all: else the first alone. */
static const Plan *search(PlanTry *x, Declined *declined, bool all)
{
    Search s = {0};
    x->tried = WBB_NEW_N(x->a, PlanOutcome, x->t->n_strategies + 1), x->n_tried = 0;
    const bool prices = tg_find_rate(x->t, "clock"); /* a target without rates has none, and the first plan is taken */
    x->found = NULL, x->shared = NULL;
    if (x->at != TG_AT_FUSION && try_row(x, NULL, declined)) {
        take(&s, x->tried);
        hold(x, &s, s.of->plan);
    }
    for (uint32_t k = 0; k < x->t->n_strategies && !(x->found && !(all && prices)); k++) {
        const TgStrategy *row = &x->t->strategies[k];
        const bool base = !row->rival, further = row->taken != TG_FIRST;
        if (row->at != x->at || !(x->found ? further : base)) continue;
        if (x->at == TG_AT_FUSION ? x->options->without >> k & 1 : x->options->layout != NULL) continue;
        if (x->found && !row->off && !may_take_less(x, &s, row)) {
            x->tried[x->n_tried++] = (PlanOutcome){.row = row, .why = why_not_tried(x, row)};
            continue;
        }
        const Plan *p = try_row(x, row, declined);
        if (!p || (x->found && !takes_less(x, &s, &x->tried[x->n_tried - 1]))) continue;
        take(&s, &x->tried[x->n_tried - 1]);
        if (row->taken == TG_TESTED && !x->texts) break;
        hold(x, &s, p);
    }
    return s.of ? s.of->plan : NULL;
}

/* --- a plan that is given ----------------------------------------------------------------------------------------- */
/* The base whose place a rival takes, which is chosen as if nothing were given. */
static void find_base(PlanTry *x, Declined *declined)
{
    PlanOptions free = *x->options;
    const PlanOptions *given = x->options;
    free.given = NULL, free.layout = NULL;
    x->options = &free;
    (void)search(x, declined, false);
    x->options = given;
    if (!x->found) wbb_fail(x->cx, x->given->at, "%s takes the place of another plan, and there is none",
                            x->given->row->name);
}

/* Makes what is given, or fails at its place. */
static Plan follow(PlanTry *x)
{
    const PlanGiven *given = x->given;
    const size_t before = strlen(x->cx->messages);
    const WbbWhy why = x->cx->why;
    const WbbOrigin inside = {.file = "layout", .at = given->layout_at, .inside = true};
    PlanOptions options = *x->options;
    Declined declined = {0};
    Plan *p = WBB_NEW(x->a, Plan);
    options.layout = given->layout;
    x->options = &options;
    if (given->row->rival) find_base(x, &declined);
    const WbbOrigin *former = given->layout ? wbb_come_from(x->cx, &inside) : NULL;
    const bool made = is_made(x, given->row, p, &declined);
    if (given->layout) wbb_come_from(x->cx, former);
    wbb_forget_since(x->cx, before);
    x->cx->why = why;
    if (!made) wbb_fail(x->cx, given->at, "%s is not possible: %s", given->row->name, x->why_not);
    if (!p->parts && given->n_parts)
        wbb_fail(x->cx, given->parts[0]->at, "%s does not cut the fusion, and has no parts", given->row->name);
    p->tried = WBB_NEW(x->a, PlanOutcome);
    Plan *kept = WBB_NEW(x->a, Plan);
    *kept = *p;
    p->tried[0] = (PlanOutcome){.row = given->row, .plan = kept, .taken = true};
    p->n_tried = 1;
    return *p;
}

Plan plan_best(PlanTry *x)
{
    x->given = x->options->given;
    if (x->given && !x->texts) return follow(x);
    const WbbWhy why = x->cx->why;
    Declined declined = {0};
    const Plan *found = search(x, &declined, true);
    if (!found && declined.any) {
        x->cx->why = declined.why;
        wbb_rethrow(x->cx, WBB_DECLINED);
    }
    if (!found) { /* sums that were asked for, and no kernel has */
        const Plan none = {.fusion = x->base->fusion, .tried = x->tried, .n_tried = x->n_tried};
        return none;
    }
    Plan best = *found;
    if (declined.any) wbb_forget_since(x->cx, declined.before);
    x->cx->why = why;
    if (!x->texts) best.tried = x->tried, best.n_tried = x->n_tried;
    return best;
}
