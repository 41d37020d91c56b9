/* strategies.c: one loop over the strategies of the target (patterns/strategies.py): which are possible, what the plans
 * take that they make, and which one is taken.
 *
 * Needs a fusion with its roots, buffers and limits; leaves its plan, and of each strategy what became of it. The first
 * that is possible makes the plan, the base. Each rival that is possible is priced, and the cheapest of those that
 * save enough takes its place. A strategy whose kernels are declined is not possible.
 *
 *     softmax f32[1,1048576]     share: 30.3 us     rows: 12.5 us, which saves 10 % and more: it is taken
 */
#include "plan/given.h"
#include "plan/strategies.h"

#include <string.h>

typedef struct {
    const char *name;
    PartMake *make;
} Maker;

static const Maker makers[] = {
    {"steps.before", part_make_before_steps},
    {"steps.after", part_make_after_steps},
    {"across", part_make_across},
    {"sums", part_make_sums},
    {"order", part_make_order},
    {"scatter.apart", part_make_scatter_apart},
    {"attention", part_make_attention},
    {"product", part_make_product},
    {"share", part_make_share},
    {"window", part_make_window},
    {"reductions", part_make_reductions},
    {"share.alone", part_make_share_alone},
    {"scatter", part_make_scatter},
    {"sort", part_make_sort},
    {"scan", part_make_scan},
    {"steps", part_make_steps},
    {"loop", part_make_loop},
    {"tile.results", part_make_tile_results},
    {"loop.few", part_make_few},
    {"short", part_make_short},
    {"rows", part_make_rows},
    {"sides", part_make_sides},
    {"exchange", part_make_exchange},
};

static PartMake *maker_of(const char *name)
{
    for (size_t k = 0; k < WBB_LEN(makers); k++)
        if (!strcmp(makers[k].name, name)) return makers[k].make;
    return NULL;
}

/* --- one strategy ------------------------------------------------------------------------------------------------- */
typedef struct {
    PartTry *x;
    PartMake *make;
    PartPlan plan;
    bool made;
} Making;

static void make(WbbCx *cx, void *arg)
{
    Making *m = arg;
    (void)cx;
    m->made = m->make(m->x, &m->plan);
}

/* The first strategy that was declined: what the fusion is declined with if all are. */
typedef struct {
    size_t before; /* bytes of messages */
    WbbWhy why;
    bool any;
} Declined;

/* The text of a message behind "FILE:LINE:COLUMN: declined: ". */
static const char *sentence_of(const PartTry *x, size_t before)
{
    const char *text = x->cx->messages + before, *at = strstr(text, "declined: ");
    text = at ? at + strlen("declined: ") : text;
    return wbb_format(x->a, "declined: %.*s", (int)strcspn(text, "\n"), text);
}

static bool is_made(PartTry *x, const TgStrategy *row, PartPlan *p, Declined *first)
{
    Making m = {.x = x, .make = maker_of(row->name), .plan = *x->base};
    const size_t before = strlen(x->cx->messages);
    x->row = row, x->why_not = "";
    if (!m.make) return part_not(x, "this program has no such strategy");
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
static const PartRange *shared_range(const PartPlan *p, const PartOptions *options)
{
    if (p->n_kernels != 1 || p->kernels[0].of || p->kernels[0].n_ranges != 1 || options->layout) return NULL;
    const PartRange *r = p->kernels[0].ranges;
    const bool reduces = r->hero && r->hero->opcode == HLO_REDUCE;
    return reduces && p->reduced && r->choice ? r : NULL;
}

/* Tries a row: its plan, or NULL. The outcome is the last of the log. */
static PartPlan *tried(PartTry *x, PartPlan *log, const TgStrategy *row, Declined *declined)
{
    PartOutcome *t = &log->tried[log->n_tried++];
    PartPlan *p = WBB_NEW(x->a, PartPlan);
    *t = (PartOutcome){.row = row, .us = -1};
    if (row->off) t->why = "left out";
    else if (!is_made(x, row, p, declined)) t->why = x->why_not;
    else t->plan = p;
    return t->plan ? p : NULL;
}

/* Makes the first plan that is possible; NULL: none is. */
static const PartPlan *first_of(PartTry *x, PartPlan *log, Declined *declined)
{
    for (uint32_t k = 0; k < x->t->n_strategies; k++) {
        const TgStrategy *row = &x->t->strategies[k];
        if (row->at != TG_AT_FUSION || row->taken != TG_FIRST || x->options->without >> k & 1) continue;
        const PartPlan *p = tried(x, log, row, declined);
        if (!p) continue;
        log->tried[log->n_tried - 1].taken = true;
        return p;
    }
    return NULL;
}

/* The rivals of the plan that was found; returns the one that takes its place, or the plan itself. */
static const PartPlan *cheapest_of(PartTry *x, PartPlan *log, Declined *declined)
{
    const PartPlan *best = x->found;
    PartOutcome *of_best = &log->tried[log->n_tried - 1];
    double found_us = -1, best_us = 0;
    for (uint32_t k = 0; k < x->t->n_strategies; k++) {
        const TgStrategy *row = &x->t->strategies[k];
        const bool tests = row->taken == TG_TESTED;
        if (row->at != TG_AT_FUSION || row->taken == TG_FIRST || x->options->without >> k & 1) continue;
        if (tests && best != x->found) continue;
        const PartPlan *p = tried(x, log, row, declined);
        PartOutcome *t = &log->tried[log->n_tried - 1];
        if (!p) continue;
        if (!tests) {
            if (found_us < 0) best_us = found_us = part_plan_us(x->a, x->found, x->t);
            t->us = part_plan_us(x->a, p, x->t);
            if (t->us >= part_to_beat(row, x->shared, found_us) || (best != x->found && t->us >= best_us)) continue;
            best_us = t->us;
        }
        of_best->taken = false, t->taken = true;
        of_best = t, best = p;
        if (tests) break;
    }
    return best;
}

/* --- a plan that is given ----------------------------------------------------------------------------------------- */
/* The base whose place a rival takes, which is chosen as if nothing were given. */
static void find_base(PartTry *x, Declined *declined)
{
    PartOptions free = *x->options;
    PartPlan log = {.tried = WBB_NEW_N(x->a, PartOutcome, x->t->n_strategies + 1)};
    const PartOptions *given = x->options;
    free.given = NULL, free.layout = NULL;
    x->options = &free;
    x->found = first_of(x, &log, declined);
    x->options = given;
    if (!x->found) wbb_fail(x->cx, x->given->at, "%s takes the place of another plan, and there is none",
                            x->given->row->name);
    x->shared = shared_range(x->found, &free);
}

/* Makes what is given, or fails at its place. */
static PartPlan follow(PartTry *x)
{
    const PartGiven *given = x->given;
    const size_t before = strlen(x->cx->messages);
    const WbbWhy why = x->cx->why;
    const WbbOrigin inside = {.file = "layout", .at = given->layout_at, .inside = true};
    PartOptions options = *x->options;
    Declined declined = {0};
    PartPlan *p = WBB_NEW(x->a, PartPlan);
    options.layout = given->layout;
    x->options = &options;
    if (given->row->taken != TG_FIRST) find_base(x, &declined);
    const WbbOrigin *former = given->layout ? wbb_come_from(x->cx, &inside) : NULL;
    const bool made = is_made(x, given->row, p, &declined);
    if (given->layout) wbb_come_from(x->cx, former);
    wbb_forget_since(x->cx, before);
    x->cx->why = why;
    if (!made) wbb_fail(x->cx, given->at, "%s is not possible: %s", given->row->name, x->why_not);
    if (!p->parts && given->n_parts)
        wbb_fail(x->cx, given->parts[0]->at, "%s does not cut the fusion, and has no parts", given->row->name);
    p->tried = WBB_NEW(x->a, PartOutcome);
    PartPlan *kept = WBB_NEW(x->a, PartPlan);
    *kept = *p;
    p->tried[0] = (PartOutcome){.row = given->row, .plan = kept, .us = -1, .taken = true};
    p->n_tried = 1;
    return *p;
}

PartPlan part_best(PartTry *x)
{
    x->given = x->options->given;
    if (x->given) return follow(x);
    const WbbWhy why = x->cx->why;
    Declined declined = {0};
    PartPlan log = {.tried = WBB_NEW_N(x->a, PartOutcome, x->t->n_strategies + 1)};
    x->found = first_of(x, &log, &declined);
    if (!x->found && declined.any) {
        x->cx->why = declined.why;
        wbb_rethrow(x->cx, WBB_DECLINED);
    }
    if (!x->found) { /* sums that were asked for, and no kernel has */
        log.fusion = x->base->fusion;
        return log;
    }
    x->shared = shared_range(x->found, x->options);
    PartPlan best = *cheapest_of(x, &log, &declined);
    if (declined.any) wbb_forget_since(x->cx, declined.before);
    x->cx->why = why;
    best.tried = log.tried, best.n_tried = log.n_tried;
    return best;
}
