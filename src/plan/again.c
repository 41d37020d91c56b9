/* again.c: how often the kernels of a plan compute what they need, against once, and how many bytes threads that share
 * terms ask for, against each byte once.
 *
 * Needs a plan with kernels; leaves a ratio of operations, and the value that is to blame. An element is computed once
 * where threads share it: results of shared reductions, scans and sorts, and what goes through memory. A reduction that
 * each thread folds by itself is computed for every element that needs it, and so is all that its terms need. What
 * reads no reduction may be computed for each of its users, too: that is cheaper than memory, and not counted.
 * Windows of an associative computation that overlap need three operations an element at most, whatever their size:
 * prefixes and suffixes of stretches as long as a window, and one of each for a result. A thread that has one by itself
 * takes all its terms.
 *
 *     s = f32[64] reduce(x), {1}   ROOT y = f32[64,9] broadcast(s), in a loop    =>   %s: 9 times
 */
#include "graph/graph.h"
#include "plan/work.h"
#include "plan/steps.h"

typedef struct {
    WbbCx *cx;
    WbbArena *a;
    const TgTarget *t;
    double *same, *all;    /* by id: evaluations by users at the user's own index, and at others */
    bool *under;           /* by id: a term of a fold needs it */
    double least, more;    /* operations that are needed once; those beyond */
    double most, times;    /* operations beyond, of `worst`; how often it is computed */
    const HloInstruction *worst;
    double outputs, serial; /* their elements; operations of a loop for one of them, over those of launches instead */
    bool window;           /* what is beyond are terms of its windows */
    const PlanSteps *steps; /* a loop that runs once for each element of a step; NULL: there is none */
} Counting;

/* Operations for a result where results are kept, of `each` by itself. */
static double once_of(const Counting *c, const HloInstruction *i, double each)
{
    if (i->opcode != HLO_REDUCE_WINDOW || gr_associates(c->cx, c->a, i->called[0]) == GR_NO) return each;
    const double elements = (double)(hlo_elements(i->operands[0]->shape) + hlo_elements(plan_shape(i, 0)));
    const double of_all = (double)tg_tuned(c->t, "cut.once") * elements;
    return WBB_MIN(each, of_all / (double)WBB_MAX(hlo_elements(plan_shape(i, 0)), 1));
}

/* For an iteration of a loop: one for each fold, and one for what is left. */
static double launches_of(WbbArena *a, const HloInstruction *i)
{
    const HloComputation *body = plan_called(i, "body");
    double n = 1;
    for (uint32_t k = 0; k < body->n_instructions; k++) {
        const HloOpcode op = body->instructions[k]->opcode;
        n += hlo_terms(a, body->instructions[k]) > 1 || hlo_kind(op) == HLO_IS_WHOLE;
    }
    return n;
}

/* Adds a loop that computes so many operations in all, of which `least` would do. */
static void add_loop(Counting *c, const HloInstruction *i, double all, double least)
{
    c->least += least, c->more += all - least;
    if (all - least <= c->most) return;
    c->most = all - least, c->worst = i;
    c->window = false, c->times = all / least;
}

/* A loop that folds its state: what each element needs of all iterations, against the state of each iteration once.
 * Of another loop, each element of its results once: a fold whose terms are such elements runs it for each term. */
static void count_loop(Counting *c, const HloInstruction *i)
{
    const bool steps = c->steps && c->steps->loop == i;
    const double trips = (double)hlo_repeats(i);
    const double n = steps ? (double)hlo_elements(c->steps->space) : c->same[i->id] + c->all[i->id];
    const PlanWhileWork *work = plan_while_work(c->a, i);
    double all = 0, elements = 1;
    for (uint32_t l = 0; l < i->shape->n_leaves; l++) {
        elements = WBB_MAX(elements, (double)hlo_elements(plan_shape(i, l)));
        for (uint32_t k = 0; k < i->shape->n_leaves; k++)
            c->all[plan_value(i->operands[0], k).i->id] += n * work->leaves[l].state[k];
        all = WBB_MAX(all, n * work->leaves[l].operations);
    }
    if (work->terms <= 1) {
        if (c->under[i->id] && n > elements) add_loop(c, i, all, all * elements / n);
        return;
    }
    const double least = WBB_MIN(all, trips * work->whole);
    c->serial = WBB_MAX(c->serial, all / (steps ? n : c->outputs) / (trips * launches_of(c->a, i)));
    add_loop(c, i, all, least);
}

static void count(Counting *c, const HloInstruction *i, bool shared)
{
    if (i->opcode == HLO_WHILE) {
        count_loop(c, i);
        return;
    }
    const double elements = (double)WBB_MAX(hlo_elements(plan_shape(i, 0)), 0), terms = hlo_terms(c->a, i);
    const double n = shared ? elements : c->same[i->id] + c->all[i->id];
    const bool folds = terms > 1 && !shared;
    const double each = WBB_MAX(terms, 1), once = shared ? each : once_of(c, i, each);
    const double least = WBB_MIN(n, elements) * once, beyond = n * each - least;
    c->least += least;
    if ((folds || c->under[i->id]) && !plan_is_free(i)) {
        c->more += beyond;
        if (beyond > c->most) {
            c->most = beyond, c->worst = i;
            c->window = once < each && n <= elements, c->times = c->window ? each : n / WBB_MAX(elements, 1);
        }
    }
    for (uint32_t k = 0; k < i->n_operands; k++) {
        const uint32_t of = i->operands[k]->id;
        const bool is_term = terms > 0 && hlo_is_term(i, k);
        const double share = terms > 0 ? (is_term ? each : 0) : hlo_operand_share(i, k);
        c->under[of] |= (folds && is_term) || (c->under[i->id] && share);
        if (share < 0) c->same[of] = WBB_MAX(c->same[of], n);
        else c->all[of] += n * share;
    }
}

/* Adds what the kernels of one plan compute that has none of other plans. */
static void add_plan(WbbArena *a, const Plan *p, const TgTarget *t, Counting *sum)
{
    const HloComputation *body = p->fusion->body;
    const uint32_t n = body->n_instructions + 1;
    Counting c = {.cx = rw_graph(p->rw)->cx, .a = a, .t = t, .same = WBB_NEW_N(a, double, n),
                  .all = WBB_NEW_N(a, double, n), .under = WBB_NEW_N(a, bool, n),
                  .most = sum->most, .times = sum->times, .worst = sum->worst,
                  .window = sum->window, .serial = sum->serial, .outputs = 1, .steps = p->steps};
    for (uint32_t o = 0; o < p->n_outputs; o++) {
        const HloInstruction *i = p->roots[o].i;
        c.outputs = WBB_MAX(c.outputs, (double)hlo_elements(plan_shape(i, p->roots[o].part)));
        c.same[i->id] = WBB_MAX(c.same[i->id], (double)hlo_elements(plan_shape(i, p->roots[o].part)));
    }
    for (uint32_t k = body->n_instructions; k-- > 0;) {
        const HloInstruction *i = body->instructions[k];
        if (c.same[k] + c.all[k] > 0) count(&c, i, p->reduced && p->reduced[k]);
    }
    sum->least += c.least, sum->more += c.more;
    sum->most = c.most, sum->times = c.times, sum->worst = c.worst, sum->window = c.window;
    sum->serial = c.serial;
}

/* What all kernels of a plan compute; false: not so much more than is needed. */
static bool count_plan(WbbArena *a, const Plan *p, const TgTarget *t, Counting *sum)
{
    *sum = (Counting){0};
    for (uint32_t k = 0; k < p->n_kernels; k++) {
        const Plan *of = plan_of_kernel(p, &p->kernels[k]);
        bool before = false;
        for (uint32_t j = 0; j < k; j++) before = before || plan_of_kernel(p, &p->kernels[j]) == of;
        if (!before) add_plan(a, of, t, sum);
    }
    return sum->worst && sum->least + sum->more > (double)tg_tuned(t, "cut.times") * sum->least;
}

/* Does a loop take a thread longer than launches of its iterations? */
static bool is_long(const Counting *sum, const TgTarget *t)
{
    return sum->serial > (double)tg_tuned(t, "while.apart");
}

/* Does what is computed again take less time than another launch? */
static bool is_shorter(const Counting *sum, const TgTarget *t)
{
    return !is_long(sum, t) && sum->least + sum->more <= (double)tg_tuned(t, "cut.terms");
}

/* Does a plan whose loop is stored step by step have products of matrices, which are a library's in a program? */
static bool has_products_and_steps(const Plan *p)
{
    bool steps = false, products = false;
    for (uint32_t k = 0; k < p->n_kernels; k++) {
        const Plan *of = plan_of_kernel(p, &p->kernels[k]);
        steps = steps || of->steps;
        for (uint32_t n = 0; n < of->fusion->body->n_instructions; n++) {
            const HloOpcode op = of->fusion->body->instructions[n]->opcode;
            products = products || hlo_has(op, HLO_PRODUCTS);
        }
    }
    return steps && products;
}

bool plan_better_apart(WbbArena *a, const Plan *p, const TgTarget *t)
{
    Counting sum;
    const bool again = count_plan(a, p, t, &sum);
    return has_products_and_steps(p) || is_long(&sum, t) || (again && !sum.window && !is_shorter(&sum, t));
}

const char *plan_again(WbbArena *a, const Plan *p, const TgTarget *t, const HloInstruction **at)
{
    Counting sum;
    if (!count_plan(a, p, t, &sum)) return NULL;
    const double all = sum.least + sum.more;
    *at = sum.worst;
    if (sum.window)
        return wbb_format(a, "%.3g operations, where %.3g would do: each thread combines the %.3g terms of a window of "
                          "%%%s by itself, though windows overlap",
                          all, sum.least, sum.times, sum.worst->name);
    return wbb_format(a,
                      "%.3g operations, where %.3g would do: each thread that needs an element of %%%s computes it by "
                      "itself, %.3g times as often as there are elements; %s",
                      all, sum.least, sum.worst->name, sum.times,
                      is_shorter(&sum, t) ? "that takes less time than another launch, with the results in memory"
                                          : "in a fusion of its own it is computed once");
}

/* Of threads that share terms; NULL: they share none. */
static const LayTraffic *traffic_of(WbbArena *a, const Plan *p, const PlanRange *r, const TgTarget *t)
{
    const PlanKind kind = r->stages[0].kind;
    if (r->choice && r->choice->n) return r->choice->traffic;
    if (!r->hero || (kind != PLAN_REDUCE && kind != PLAN_SCAN)) return NULL;
    const LayWork work = plan_work_of(a, p, r, t);
    return lay_traffic(a, &work, &r->stages[0].layout, lay_rates(a, t));
}

const char *plan_apart(WbbArena *a, const Plan *p, const TgTarget *t, const HloInstruction **at)
{
    const double times = (double)tg_tuned(t, "cut.times");
    const double few = (double)tg_tuned(t, "layout.few_bytes");
    const LayTraffic *worst = NULL;
    const char *name = NULL, *why = NULL;
    for (uint32_t k = 0; k < p->n_kernels; k++) {
        const PlanKernel *kernel = &p->kernels[k];
        if (!kernel->n_ranges) continue;
        const PlanRange *r = &kernel->ranges[0];
        const Plan *of = plan_of_kernel(p, kernel);
        const LayTraffic *x = traffic_of(a, of, r, t);
        if (!x || x->l2 < few || x->l2 <= times * x->least || (worst && worst->l2 >= x->l2)) continue;
        worst = x, *at = r->hero, name = of->buffers[x->buffer].name;
        why = r->choice ? "of the layouts that were tried none takes less time" : "the layout was given";
    }
    if (!worst) return NULL;
    return wbb_format(a, "threads ask L2 for %.3g bytes, where %.3g would do: for %.3g of %%%s, which has %.3g; %s",
                      worst->l2, worst->least, worst->of_buffer, name, worst->least_of_buffer, why);
}
