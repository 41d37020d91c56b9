/* strategies_text.c: what became of the strategies, for --explain.
 *
 *     share        taken, 8.86 us, DRAM 7.00
 *     rows         not possible: its rows are held, not read again, or take less than launches do
 *     short        lost, 9.91 us, where less than 7.97 is asked: launch 2.90 more
 */
#include "plan/strategies.h"
#include "plan/work.h"

#include <string.h>

static const char *name_of(const PlanOutcome *x) { return x->row ? x->row->name : "as written"; }

static LayPrice price_of(WbbBuf *out, const PlanOutcome *x, const TgTarget *t)
{
    return x->price ? *x->price : plan_price(out->arena, x->plan, t);
}

/* The term by which one plan takes longer than another one. */
static LayTerm more_of(const LayPrice *x, const LayPrice *than)
{
    LayTerm most = LAY_DRAM;
    for (int k = 0; k < LAY_TERMS; k++)
        if (x->term[k] - than->term[k] > x->term[most] - than->term[most]) most = (LayTerm)k;
    return most;
}

static void print_lost(WbbBuf *out, const PlanOutcome *x, const PlanOutcome *taken, bool base, const TgTarget *t)
{
    const LayPrice own = price_of(out, x, t), other = price_of(out, taken, t);
    const LayTerm most = more_of(&own, &other);
    const double more = own.term[most] - other.term[most];
    wbb_putf(out, "lost, %.2f us", own.us);
    if (!base && x->row && x->row->taken == TG_CHEAPER && x->row->save)
        wbb_putf(out, ", where it must save %lld %%", (long long)x->row->save);
    if (more >= 0.005 && other.us > 0)
        wbb_putf(out, ": %s %.2f more than in %s", lay_term_name[most], more, name_of(taken));
    wbb_put(out, "\n");
}

static void print_taken(WbbBuf *out, const PlanOutcome *x, const TgTarget *t)
{
    const LayPrice price = price_of(out, x, t);
    LayTerm most = LAY_DRAM;
    for (int k = 0; k < LAY_LATENCY; k++)
        if (price.term[k] > price.term[most]) most = (LayTerm)k;
    wbb_put(out, "taken");
    if (price.us > 0) wbb_putf(out, ", %.2f us, %s %.2f", price.us, lay_term_name[most], price.term[most]);
    if (x->row && x->row->taken == TG_TESTED) wbb_putf(out, ", by its own test: %s", x->row->tested);
    wbb_put(out, "\n");
}

/* The outcomes, those that are not possible only where `all`. Returns the one that was taken. */
static const PlanOutcome *print_tried(WbbBuf *out, const PlanOutcome *tried, uint32_t n, const TgTarget *t, bool all,
                                      int indent)
{
    const PlanOutcome *taken = NULL, *base = NULL;
    for (uint32_t k = n; k-- > 0;)
        if (tried[k].plan) base = &tried[k];
    for (uint32_t k = 0; k < n; k++)
        if (tried[k].taken) taken = &tried[k]; /* of texts the last one, which has the others in it */
    for (uint32_t k = 0; k < n; k++) {
        const PlanOutcome *x = &tried[k];
        if (!x->plan && !all) continue;
        wbb_putf(out, "%*s%-13s ", indent, "", name_of(x));
        const bool says_all = x->why && (!strcmp(x->why, "left out") || x->why == plan_why_too_long);
        if (!x->plan) wbb_putf(out, says_all ? "%s\n" : "not possible: %s\n", x->why);
        else if (x->taken) print_taken(out, x, t);
        else if (taken) print_lost(out, x, taken, x == base, t);
        else wbb_putf(out, "lost, %.2f us\n", x->price ? x->price->us : 0);
    }
    return taken;
}

static void print_plan(WbbBuf *out, const Plan *p, const TgTarget *t, bool all, int indent)
{
    const PlanOutcome *taken = print_tried(out, p->tried, p->n_tried, t, all, indent);
    for (int part = 0; taken && taken->plan->parts && part < 2; part++) {
        wbb_putf(out, "%*spart %d of %s:\n", indent, "", part + 1, taken->row->name);
        print_plan(out, &taken->plan->parts[part], t, false, indent + 2);
    }
}

void plan_visit_taken(const PlanOutcome *tried, uint32_t n, PlanVisitTaken *visit, void *arg)
{
    for (uint32_t k = 0; k < n; k++) {
        const PlanOutcome *x = &tried[k];
        if (!x->taken || !x->row) continue;
        visit(arg, x->row);
        for (int part = 0; x->row->at == TG_AT_FUSION && x->plan->parts && part < 2; part++)
            plan_visit_taken(x->plan->parts[part].tried, x->plan->parts[part].n_tried, visit, arg);
    }
}

void plan_print_outcomes(WbbBuf *out, const char *of, const PlanOutcome *tried, uint32_t n, const TgTarget *t)
{
    if (n) wbb_putf(out, "%s:\n", of);
    print_tried(out, tried, n, t, true, 2);
}

void plan_print_strategies(WbbBuf *out, const Plan *p, const PlanOutcome *texts, uint32_t n, const TgTarget *t)
{
    wbb_put(out, "strategies of patterns/strategies.py, the first that is possible, and rivals of it:\n");
    print_plan(out, p, t, true, 2);
    plan_print_outcomes(out, "strategies that write the text anew", texts, n, t);
}
