/* texts.c: the strategies that write the text of a fusion anew, with long scans, windows or rows in pieces, or with
 * sums over rows in parts (patterns/strategies.py, at='text').
 *
 * Each needs the plan of the text that those before it left, at first that in which products of matrices are sums, and
 * leaves the plan of another one.
 *
 *     softmax f32[1,1048576]     in 8 pieces: x is read once for the maximum and the sum
 */
#include "graph/graph.h"
#include "plan/strategies.h"

static const HloModule *module_of(const Plan *p) { return p->fusion->body->module; }

/* Numbers of the instructions of the fusion's body, by computation. */
static const uint32_t **for_body(const PlanTry *x, const uint32_t *numbers)
{
    const HloModule *m = module_of(x->found);
    const uint32_t **all = WBB_NEW_N(x->a, const uint32_t *, m->n_computations + 1);
    for (uint32_t k = 0; k < m->n_computations; k++)
        if (m->computations[k] == x->found->fusion->body) all[k] = numbers;
    return all;
}

static uint32_t *numbers_for(const PlanTry *x)
{
    return WBB_NEW_N(x->a, uint32_t, x->found->fusion->body->n_instructions + 1);
}

/* What `of` says of the instructions of the fusion; NULL: nothing of any. */
static const uint32_t **numbers_of(const PlanTry *x, uint32_t (*of)(const HloInstruction *, const TgTarget *))
{
    const HloComputation *body = x->found->fusion->body;
    uint32_t *list = numbers_for(x);
    bool any = false;
    for (uint32_t n = 0; n < body->n_instructions; n++) {
        list[n] = of(body->instructions[n], x->t);
        any = any || list[n];
    }
    return any ? for_body(x, list) : NULL;
}

HloFusion *plan_fusion_of(const PlanTry *x, const HloModule *m)
{
    HloFusion *f = WBB_NEW(x->a, HloFusion);
    *f = hlo_fusion(x->cx, m);
    return f;
}

static Plan as_written(const PlanTry *x, const HloModule *m)
{
    return x->plan(x->cx, x->a, plan_fusion_of(x, m), x->t, *x->options);
}

/* --- strategies --------------------------------------------------------------------------------------------------- */
/* The text before any of them, which may have no plan where products of matrices are too long for sums. */
bool plan_make_written(PlanTry *x, Plan *p)
{
    *p = as_written(x, x->texts->sums);
    return true;
}

/* Products of matrices stay what they are, for tensor cores; in any other text they are sums of products. */
bool plan_make_matrices(PlanTry *x, Plan *p)
{
    if (x->texts->matrices == x->texts->sums) return plan_not(x, "it has no product of matrices");
    if (plan_only_asked(x)) return false;
    *p = as_written(x, x->texts->matrices);
    return x->texts->follows || plan_has_product(p) || plan_not(x, "no kernel for tensor cores computes it");
}

/* The text whose folds have options with these numbers; NULL: no rule says what they may be. */
static const HloModule *with_option(PlanTry *x, const uint32_t *const *numbers, bool taken)
{
    const HloModule *m = module_of(x->found), *made = gr_option(x->cx, x->a, m, numbers, x->texts->rules, taken);
    return made == m ? NULL : made;
}

static bool make_option(PlanTry *x, Plan *p, const uint32_t *const *numbers)
{
    if (plan_only_asked(x)) return false;
    const HloModule *made = with_option(x, numbers, false);
    if (!made) {
        const HloModule *m = module_of(x->found);
        const bool any = x->texts->rules && gr_option(x->cx, x->a, m, numbers, NULL, false) != m;
        return plan_not(x, any ? "the rule that says what it may be is disabled" : "no rule says what it may be");
    }
    x->texts->rows = numbers;
    *p = as_written(x, made);
    return true;
}

bool plan_make_scans(PlanTry *x, Plan *p)
{
    const uint32_t **numbers = numbers_of(x, plan_scan_pieces);
    return numbers ? make_option(x, p, numbers) : plan_not(x, "it has no long scan of few rows");
}

/* Where the first ones have a launch of their own. */
bool plan_make_windows(PlanTry *x, Plan *p)
{
    const uint32_t **numbers = numbers_of(x, plan_window_first);
    if (!numbers) return plan_not(x, "it has no large window");
    if (!make_option(x, p, numbers)) return false;
    return p->n_kernels > x->found->n_kernels || plan_not(x, "the first windows have no launch of their own");
}

bool plan_make_pieces(PlanTry *x, Plan *p)
{
    uint32_t *pieces = numbers_for(x);
    if (!plan_row_pieces(x->cx, x->a, x->found, x->t, pieces))
        return plan_not(x, "it has no long rows that are read again");
    return make_option(x, p, for_body(x, pieces));
}

/* Of as many blocks as take the least. */
bool plan_make_columns(PlanTry *x, Plan *p)
{
    double least = 0;
    bool any = false;
    for (int64_t blocks = tg_tuned(x->t, "across.blocks"); blocks >= 1; blocks /= 2) {
        if (x->texts->number && blocks != x->texts->number) continue;
        uint32_t *parts = numbers_for(x);
        if (!plan_column_parts(x->found->fusion->body, x->t, blocks, parts)) continue;
        if (plan_only_asked(x)) return false;
        const uint32_t *const *rows = for_body(x, parts);
        const HloModule *made = with_option(x, rows, false);
        if (!made) continue;
        const Plan one = as_written(x, made);
        if (!plan_has_across(&one)) continue;
        const double us = plan_us(x->a, &one, x->t);
        if (!any || us < least) *p = one, x->texts->rows = rows, x->number = blocks, least = us, any = true;
    }
    return any || plan_not(x, "it has no rows that are reduced, and sums over these rows");
}

void plan_take_text(PlanTry *x, const Plan *p)
{
    if (x->texts->rows && x->texts->rules) (void)with_option(x, x->texts->rows, true);
    x->texts->rows = NULL;
    x->found = p;
}
