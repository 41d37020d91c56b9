/* best_text.c: the plan of a module of one fusion, of whichever text takes less time: its own, or one that strategies
 * write anew.
 *
 * Needs a normalised module; leaves the plan, whose fusion is of the text that it is made for, and what became of each
 * strategy. Their rows are tried by the loop of all strategies (strategies.c).
 *
 *     softmax f32[1,1048576]     as written 12.59 us, in pieces 9.09
 */
#include "graph/graph.h"
#include "plan/given.h"
#include "plan/strategies.h"

/* The plan that is given: texts in its order, then what it says of the last one. */
static PlanOfText follow(PlanTry *x, const PlanGivenPlan *given)
{
    PlanOutcome *tried = WBB_NEW_N(x->a, PlanOutcome, given->n_texts + 1);
    Plan *p = WBB_NEW(x->a, Plan);
    x->texts->follows = true;
    p->fusion = plan_fusion_of(x, x->texts->sums);
    if (given->n_texts && !plan_try_row(x, NULL, p)) p->fusion = plan_fusion_of(x, x->texts->sums);
    x->found = p;
    for (uint32_t k = 0; k < given->n_texts; k++) {
        const PlanGivenText *of = &given->texts[k];
        Plan *made = WBB_NEW(x->a, Plan);
        x->texts->number = of->number;
        if (!plan_try_row(x, of->row, made))
            wbb_fail(x->cx, of->at, "%s is not possible: %s", of->row->name, x->why_not);
        tried[k] = (PlanOutcome){.row = of->row, .plan = made, .taken = true, .number = of->number};
        plan_take_text(x, made);
    }
    PlanOptions options = *x->options;
    options.given = given->plan;
    Plan *last = WBB_NEW(x->a, Plan);
    *last = x->plan(x->cx, x->a, x->found->fusion, x->t, options);
    if (given->n_texts) tried[given->n_texts - 1].plan = last;
    return (PlanOfText){*last, tried, given->n_texts};
}

PlanOfText plan_texts(WbbCx *cx, WbbArena *a, const HloModule *m, const TgTarget *t, const PlanOptions *options,
                      const PlanGivenPlan *given, RwCx *rules)
{
    PlanTexts texts = {.matrices = m, .sums = gr_sums(cx, a, m, rules), .rules = rules};
    PlanTry x = {.cx = cx, .a = a, .t = t, .options = options, .plan = plan_fusion, .at = TG_AT_TEXT,
                 .texts = &texts};
    if (given) return follow(&x, given);
    const Plan best = plan_best(&x);
    return (PlanOfText){.plan = best, .tried = x.tried, .n_tried = x.n_tried};
}
