/* pieces.c: the plan of a fusion, of whichever text takes less time: its own, or one with long scans, windows or rows
 * in pieces, or with sums over rows in parts.
 *
 * Needs a normalised module of one fusion; leaves the module, the fusion and the plan that are to be compiled.
 *
 *     softmax f32[1,1048576]     in 8 pieces: x is read once for the maximum and the sum
 */
#include "pipe/pipe.h"

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    const TgTarget *target;
    const PartOptions *options;
    PipePlanned *best;
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

static PipePlanned planned(const Pieces *c, const HloModule *m)
{
    PipePlanned x = {.module = m, .fusion = WBB_NEW(c->arena, HloFusion)};
    *x.fusion = hlo_fusion(c->cx, m);
    x.plan = part_plan(c->cx, c->arena, x.fusion, c->target, *c->options);
    return x;
}

static PipePlanned split(const Pieces *c, const PipePlanned *of, const char *pass, const uint32_t *const *numbers)
{
    return planned(c, hlo_run_split(c->cx, c->arena, of->module, pass, numbers));
}

static bool pays(const Pieces *c, const PipePlanned *x, int64_t percent)
{
    return part_pieces_pay(c->arena, &x->plan, &c->best->plan, c->target, percent);
}

/* Long scans of few rows in pieces, and large windows as windows of windows, where the first ones have a launch of
 * their own. */
static void try_pieces(Pieces *c)
{
    for (int windows = 0; windows < 2; windows++) {
        const uint32_t **numbers = numbers_of(c, windows ? part_window_first : part_scan_pieces);
        if (!numbers) continue;
        const PipePlanned x = split(c, c->best, windows ? "windows" : "scans", numbers);
        if (windows ? x.plan.n_kernels > c->best->plan.n_kernels : pays(c, &x, tg_tuned(c->target, "layout.cut")))
            *c->best = x;
    }
}

/* Long rows in pieces that are read once for two results. */
static void try_rows(Pieces *c)
{
    uint32_t *pieces = numbers_for(c, c->best);
    if (!part_row_pieces(c->arena, &c->best->plan, c->target, pieces)) return;
    const PipePlanned x = split(c, c->best, "rows", for_body(c, c->best, pieces));
    if (pays(c, &x, tg_tuned(c->target, "rows.save"))) *c->best = x;
}

/* Sums over rows in parts, which the kernel that reduces these rows makes: of as many blocks as take the least. */
static void try_columns(Pieces *c)
{
    const PipePlanned whole = *c->best;
    for (int64_t blocks = tg_tuned(c->target, "across.blocks"); blocks >= 1; blocks /= 2) {
        uint32_t *parts = numbers_for(c, &whole);
        if (!part_column_parts(whole.fusion->body, c->target, blocks, parts)) continue;
        const PipePlanned x = split(c, &whole, "columns", for_body(c, &whole, parts));
        const bool first = !part_has_across(&c->best->plan);
        if (part_has_across(&x.plan) && pays(c, &x, first ? tg_tuned(c->target, "across.save") : 0)) *c->best = x;
    }
}

PipePlanned pipe_plan(WbbCx *cx, WbbArena *a, const HloModule *m, const TgTarget *t, const PartOptions *options)
{
    PipePlanned best = {0};
    Pieces c = {.cx = cx, .arena = a, .target = t, .options = options, .best = &best};
    best = planned(&c, m);
    if (options->layout) return best;
    try_pieces(&c);
    try_rows(&c);
    try_columns(&c);
    return best;
}
