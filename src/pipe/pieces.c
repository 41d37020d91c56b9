/* pieces.c: the plan of a fusion, of whichever text takes less time: its own, or one that a strategy writes anew, with
 * long scans, windows or rows in pieces, or with sums over rows in parts (patterns/strategies.py, at='text').
 *
 * Needs a normalised module of one fusion; leaves the module, the fusion and the plan that are to be compiled, and what
 * became of each strategy. Each is tried on what those before it left, in the text in which products of matrices are
 * sums.
 *
 *     softmax f32[1,1048576]     in 8 pieces: x is read once for the maximum and the sum
 */
#include "graph/graph.h"
#include "pipe/pipe.h"

#include <string.h>

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    const TgTarget *target;
    const PlanOptions *options;
    const HloModule *matrices, *sums; /* the module as it was given; with sums of products instead */
    PipePlanned *best;
    bool any, follows;    /* `best` has a plan; one is given, whose strategy says what is possible */
    PlanOutcome *tried; /* the strategy that is tried */
    PipePlanned made; /* what it made */
    RwCx *rules;      /* which rules are disabled, and counts the options that are taken; NULL: none is */
    const uint32_t *const *rows; /* of the option that made it; NULL: none did */
    int64_t number;   /* PlanGivenText.number; 0: any */
} Pieces;

/* Numbers of the instructions of the fusion's body, by computation. */
static const uint32_t **for_body(const Pieces *c, const PipePlanned *of, const uint32_t *numbers)
{
    const HloModule *m = of->module;
    const uint32_t **all = WBB_NEW_N(c->arena, const uint32_t *, m->n_computations + 1);
    for (uint32_t k = 0; k < m->n_computations; k++)
        if (m->computations[k] == of->fusion->body) all[k] = numbers;
    return all;
}

static uint32_t *numbers_for(const Pieces *c, const PipePlanned *of)
{
    return WBB_NEW_N(c->arena, uint32_t, of->fusion->body->n_instructions + 1);
}

/* What `of` says of the instructions of the fusion; NULL: nothing of any. */
static const uint32_t **numbers_of(const Pieces *c, uint32_t (*of)(const HloInstruction *, const TgTarget *))
{
    const HloComputation *body = c->best->fusion->body;
    uint32_t *list = numbers_for(c, c->best);
    bool any = false;
    for (uint32_t n = 0; n < body->n_instructions; n++) {
        list[n] = of(body->instructions[n], c->target);
        any = any || list[n];
    }
    return any ? for_body(c, c->best, list) : NULL;
}

static PipePlanned without_plan(const Pieces *c, const HloModule *m)
{
    PipePlanned x = {.module = m, .fusion = WBB_NEW(c->arena, HloFusion)};
    *x.fusion = hlo_fusion(c->cx, m);
    return x;
}

static PipePlanned as_written(const Pieces *c, const HloModule *m)
{
    PipePlanned x = without_plan(c, m);
    x.plan = plan_fusion(c->cx, c->arena, x.fusion, c->target, *c->options);
    return x;
}

typedef struct {
    const Pieces *c;
    const HloModule *m;
    PipePlanned made;
} Trial;

static void try_plan(WbbCx *cx, void *arg)
{
    Trial *t = arg;
    (void)cx;
    t->made = as_written(t->c, t->m);
}

/* Does f end without a decline? What it is declined with is forgotten. */
static bool is_possible(WbbCx *cx, void (*f)(WbbCx *cx, void *arg), void *arg)
{
    const size_t before = strlen(cx->messages);
    const WbbWhy why = cx->why;
    const WbbStatus s = wbb_guard(cx, f, arg);
    if (s == WBB_FAILED) wbb_rethrow(cx, s);
    if (s == WBB_OK) return true;
    wbb_forget_since(cx, before);
    cx->why = why;
    return false;
}

/* The text before any strategy, which may have no plan where products of matrices are too long for sums. */
static void begin(Pieces *c, const HloModule *m)
{
    Trial t = {.c = c};
    c->matrices = m, t.m = c->sums = gr_sums(c->cx, c->arena, m, c->rules);
    c->any = c->sums == m || is_possible(c->cx, try_plan, &t);
    if (c->sums == m) try_plan(c->cx, &t); /* what declines it declines the module */
    *c->best = c->any ? t.made : without_plan(c, c->sums);
}

static bool not_possible(Pieces *c, const char *why)
{
    c->tried->why = why;
    return false;
}

/* --- strategies: of each the text and the plan, in c->made -------------------------------------------------------- */
/* Products of matrices stay what they are, for tensor cores; in any other text they are sums of products. */
static bool make_matrices(Pieces *c)
{
    if (c->matrices == c->sums) return not_possible(c, "it has no product of matrices");
    Trial t = {.c = c, .m = c->matrices};
    const bool possible = is_possible(c->cx, try_plan, &t) && plan_has_product(&t.made.plan);
    c->made = possible ? t.made : without_plan(c, c->matrices);
    return possible || c->follows || not_possible(c, "no kernel for tensor cores computes it");
}

/* Folds with options that have these numbers. */
static bool make_option(Pieces *c, const uint32_t *const *numbers)
{
    const HloModule *made = gr_option(c->cx, c->arena, c->best->module, numbers, c->rules, false);
    c->rows = numbers;
    if (made == c->best->module) {
        const bool any = c->rules && gr_option(c->cx, c->arena, made, numbers, NULL, false) != made;
        return not_possible(c, any ? "the rule that says what it may be is disabled" : "no rule says what it may be");
    }
    c->made = as_written(c, made);
    return true;
}

static bool make_scans(Pieces *c)
{
    const uint32_t **numbers = numbers_of(c, plan_scan_pieces);
    return numbers ? make_option(c, numbers) : not_possible(c, "it has no long scan of few rows");
}

/* Where the first ones have a launch of their own. */
static bool make_windows(Pieces *c)
{
    const uint32_t **numbers = numbers_of(c, plan_window_first);
    if (!numbers) return not_possible(c, "it has no large window");
    if (!make_option(c, numbers)) return false;
    if (c->made.plan.n_kernels > c->best->plan.n_kernels) return true;
    return not_possible(c, "the first windows have no launch of their own");
}

static bool make_pieces(Pieces *c)
{
    uint32_t *pieces = numbers_for(c, c->best);
    if (!plan_row_pieces(c->cx, c->arena, &c->best->plan, c->target, pieces))
        return not_possible(c, "it has no long rows that are read again");
    return make_option(c, for_body(c, c->best, pieces));
}

/* Of as many blocks as take the least. */
static bool make_columns(Pieces *c)
{
    double least = 0;
    bool any = false;
    for (int64_t blocks = tg_tuned(c->target, "across.blocks"); blocks >= 1; blocks /= 2) {
        if (c->number && blocks != c->number) continue;
        uint32_t *parts = numbers_for(c, c->best);
        if (!plan_column_parts(c->best->fusion->body, c->target, blocks, parts)) continue;
        const uint32_t *const *rows = for_body(c, c->best, parts);
        const PipePlanned x = as_written(c, gr_option(c->cx, c->arena, c->best->module, rows, c->rules, false));
        if (!plan_has_across(&x.plan)) continue;
        const double us = plan_us(c->arena, &x.plan, c->target);
        if (!any || us < least) c->made = x, c->rows = rows, c->tried->number = blocks, least = us, any = true;
    }
    return any || not_possible(c, "it has no rows that are reduced, and sums over these rows");
}

static const struct {
    const char *name;
    bool (*make)(Pieces *c);
} makers[] = { /* make_NAME of each row at 'text' */
#define STRATEGY_fusion(function, name)
#define STRATEGY_text(function, name) {name, make_##function},
#include "strategies.def"
};

typedef struct {
    Pieces *c;
    bool (*make)(Pieces *c);
    bool made;
} Making;

static void make(WbbCx *cx, void *arg)
{
    Making *m = arg;
    (void)cx;
    m->made = m->make(m->c);
}

/* The text and the plan of c->made instead of the best so far. */
static void take(Pieces *c)
{
    if (c->rows && c->rules) (void)gr_option(c->cx, c->arena, c->best->module, c->rows, c->rules, true);
    *c->best = c->made;
    c->any = true;
}

/* Makes c->made, or says why not: a text that is declined is not possible. */
static bool is_made(Pieces *c, const TgStrategy *row)
{
    Making m = {.c = c};
    c->rows = NULL;
    for (size_t k = 0; k < WBB_LEN(makers); k++)
        if (!strcmp(makers[k].name, row->name)) m.make = makers[k].make;
    if (row->off) return not_possible(c, "left out");
    if (!m.make) return not_possible(c, "this program has no such strategy");
    return is_possible(c->cx, make, &m) ? m.made : not_possible(c, "the text is declined");
}

static const Plan *kept(const Pieces *c, const Plan *p)
{
    Plan *plan = WBB_NEW(c->arena, Plan);
    *plan = *p;
    return plan;
}

/* The plan that is given: texts in its order, then what it says of the last one. */
static PipePlanned follow(Pieces *c, const HloModule *m, const PlanGivenPlan *given)
{
    PlanOptions options = *c->options, free = *c->options;
    PipePlanned *best = c->best;
    PlanOutcome *tried = WBB_NEW_N(c->arena, PlanOutcome, given->n_texts + 1);
    options.given = given->plan, c->follows = true;
    c->options = &free;
    if (given->n_texts) begin(c, m);
    for (uint32_t k = 0; k < given->n_texts; k++) {
        const PlanGivenText *x = &given->texts[k];
        c->tried = &tried[k];
        *c->tried = (PlanOutcome){.row = x->row, .us = -1, .taken = true, .number = x->number};
        c->number = x->number;
        if (!is_made(c, x->row)) wbb_fail(c->cx, x->at, "%s is not possible: %s", x->row->name, c->tried->why);
        c->tried->plan = kept(c, &c->made.plan);
        take(c);
    }
    c->options = &options, c->follows = false;
    *best = as_written(c, given->n_texts ? best->module : gr_sums(c->cx, c->arena, m, c->rules));
    if (given->n_texts) tried[given->n_texts - 1].plan = kept(c, &best->plan);
    best->tried = tried, best->n_tried = given->n_texts;
    return *best;
}

PipePlanned pipe_plan_given(WbbCx *cx, WbbArena *a, const HloModule *m, const TgTarget *t, const PlanOptions *options,
                            const PlanGivenPlan *given, RwCx *rules)
{
    PipePlanned best = {0};
    Pieces c = {.cx = cx, .arena = a, .target = t, .options = options, .best = &best, .rules = rules};
    return follow(&c, m, given);
}

PipePlanned pipe_plan(WbbCx *cx, WbbArena *a, const HloModule *m, const TgTarget *t, const PlanOptions *options,
                      RwCx *rules)
{
    PipePlanned best = {0};
    Pieces c = {.cx = cx, .arena = a, .target = t, .options = options, .best = &best, .rules = rules};
    begin(&c, m);
    best.tried = WBB_NEW_N(a, PlanOutcome, t->n_strategies + 1);
    PlanOutcome *first = &best.tried[best.n_tried++];
    *first = (PlanOutcome){.us = -1, .taken = c.any, .why = "the text is declined"};
    if (c.any) first->plan = kept(&c, &best.plan);
    for (uint32_t k = 0; k < t->n_strategies && !options->layout; k++) {
        const TgStrategy *row = &t->strategies[k];
        if (row->at != TG_AT_TEXT || (row->rival && !c.any)) continue;
        c.tried = &best.tried[best.n_tried++];
        *c.tried = (PlanOutcome){.row = row, .us = -1};
        if (!is_made(&c, row)) continue;
        c.tried->plan = kept(&c, &c.made.plan);
        c.tried->us = plan_us(a, c.tried->plan, t);
        c.tried->taken = !c.any || row->taken != TG_CHEAPER ||
                         c.tried->us < plan_to_beat(row, NULL, plan_us(a, &best.plan, t));
        if (!c.tried->taken) continue;
        first->taken = false;
        c.made.tried = best.tried, c.made.n_tried = best.n_tried;
        take(&c);
    }
    return c.any ? best : as_written(&c, c.sums);
}
