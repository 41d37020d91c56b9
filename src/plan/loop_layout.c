/* loop_layout.c: the layouts that are tried of a loop over elements.
 *
 * Needs the numbers of its range: a vector, threads of a block, vectors of a thread; leaves those that take the least
 * time (chooser.h). What is tried first are narrower vectors, as accesses to wider buffers would be in parts; twice the
 * threads, where blocks begin too slowly; several vectors a thread, a block's threads apart. Then, with the one that is
 * taken, vectors of a thread that
 *
 *     are whole rows apart     what is the same in all rows, as a bias is, is loaded once for all of them
 *     are in neighbouring rows, of which a block has one each     so is what windows of these share (loop_windows.c)
 *
 * Of those that take as long one is preferred that does less, in steps of what is as long, then the simplest:
 * neighbours, few vectors a thread, the usual threads, wide vectors.
 *
 *     x[4096,1024] + bias[1024]    elements: vector 4, lane 32, warp 4, grid 2048, register 4
 */
#include "plan/loop_choice.h"
#include "layout/chooser.h"

#include "ir/facts.h"

typedef struct {
    uint32_t vector, times, registers; /* times: the usual threads */
    /* vectors of a thread, instead of registers, that are whole rows apart, or in neighbouring rows; 0: none are */
    int64_t rows, windows;
    bool over; /* threads may count beyond the last element */
} Wish;

typedef struct {
    Wish wish;
    PlanLoopChoice x;
    Layout layout;
    uint32_t block;
    int64_t blocks;
    const char *why_block;
    int64_t *sizes; /* [dimensions of the work * LAY_LEVELS] */
} Loop;

typedef struct {
    PlanChoosing *c;
    PlanLoopChoice *x; /* numbers of the range, which are those of the layout that is being made */
    LayChooser *k;
    PlanExchange space;
    LayWork work;
    Layout near;   /* without rows and windows */
} Loops;

/* --- rows --------------------------------------------------------------------------------------------------------- */
static int64_t common_multiple(int64_t x, int64_t y)
{
    return x / (int64_t)ir_gcd((uint64_t)x, (uint64_t)y) * y;
}

/* How far apart n vectors of a thread are: a multiple of what a block has, and of rows of as many of the space's
 * dimensions as are possible. over: elements that threads may count beyond the last one, per mille. 0: there is no such
 * distance. */
static int64_t distance(const Loops *l, int64_t n, int64_t over)
{
    const HloShape *space = l->space.space;
    const int64_t all = l->x->r->elements, block = plan_loop_block(&l->near);
    int64_t row = all;
    for (uint32_t d = 0; d + 1 < space->rank; d++) {
        row /= space->dims[d];
        if (row == 1) break;
        const int64_t unit = common_multiple(row, block), apart = lay_up(all, n * unit) * unit;
        if ((n - 1) * apart < all && (n * apart - all) * 1000 <= over * all) return apart;
    }
    return 0;
}

/* Issue slots of an element for what is the same in all rows of the slowest dimension. */
static double same_in_rows(const Loops *l)
{
    double slots = 0;
    for (uint32_t k = 0; k < l->work.n_along; k++)
        if (!(l->work.along[k].along & 1)) slots += l->work.along[k].slots;
    return slots;
}

/* Is there an array that several elements of the loop read, or a function that they compute alike? */
static bool has_shared(const Loops *l)
{
    if (same_in_rows(l) > 0) return true;
    const Plan *p = l->c->p;
    for (uint32_t k = 0; k < p->n_operands; k++)
        if (l->c->read[k] && p->buffers[k].elements > 1 && p->buffers[k].elements < l->x->r->elements) return true;
    return false;
}

/* --- what a wish amounts to --------------------------------------------------------------------------------------- */
/* Numbers of neighbours: a block has its threads' vectors, then again. */
static bool make_near(Loops *l, const Wish *w, Loop *to)
{
    PlanLoopChoice *x = l->x;
    if (x->varies) {
        x->vector = w->vector;
        plan_count_vectors(x);
        plan_choose_block(l->c, 1); /* larger ones than the usual only where SMs are busy equally long all the same */
        if (w->times > 1 && x->vectors / l->c->k->block < tg_tuned(l->c->t, "loop.few_blocks") * l->c->t->sms)
            return false;
        plan_choose_block(l->c, w->times);
        if (!plan_registers_fit(l->c, x, w->registers)) return false;
        x->registers = w->registers;
    }
    x->r->blocks = (uint32_t)lay_up(x->vectors / x->registers + x->tail, l->c->k->block);
    to->layout = plan_loop_layout(l->c, x);
    return true;
}

static bool make(void *of, const void *wish, void *what, uint64_t *hash)
{
    Loops *l = of;
    const Wish *w = wish;
    Loop *to = what;
    WbbArena *a = l->c->arena;
    to->wish = *w;
    if (w->rows) {
        const int64_t apart = distance(l, w->rows, w->over ? tg_tuned(l->c->t, "loop.rows_over") : 0);
        if (!apart) return false;
        to->layout = plan_rows_layout(a, &l->near, w->rows, apart);
    } else if (w->windows) {
        to->layout = plan_window_layout(a, &l->near, l->c->t, l->space.space, w->vector, w->windows);
    } else if (!make_near(l, w, to)) {
        return false;
    }
    to->x = *l->x;
    to->x.vector = w->vector;
    to->block = w->windows ? lay_threads(&to->layout) : l->c->k->block, to->why_block = l->c->k->why_block;
    to->blocks = lay_level_size(&to->layout, LAY_GRID);
    const LayDim *d = &to->layout.dims[0];
    *hash = wbb_hash(&to->block, sizeof to->block, 0);
    for (uint32_t k = 0; k < d->n_factors; k++) {
        const int64_t factor[] = {d->factors[k].level, d->factors[k].size};
        *hash = wbb_hash(factor, sizeof factor, *hash);
    }
    return true;
}

static bool needs(void *of, void *what, LayNeeds *to)
{
    const Loops *l = of;
    Loop *x = what;
    WbbArena *a = l->c->arena;
    if (!x->sizes) x->sizes = WBB_NEW_N(a, int64_t, (size_t)l->work.n_dims * LAY_LEVELS + 1u);
    plan_loop_sizes(a, &l->work, &x->layout, x->sizes);
    *to = lay_needs(l->k->r, &l->work, x->sizes);
    return true;
}

static LayPrice price(void *of, void *what, const LayNeeds *needs_of)
{
    const Loops *l = of;
    const Loop *x = what;
    LayPrice p = plan_loop_price_of(l->k->r, &l->work, &x->layout, x->sizes, needs_of);
    const bool several = !x->wish.rows && !x->wish.windows && x->wish.registers > 1 && !lay_is_placed(&l->work);
    const double longer = (double)(1000 + tg_tuned(l->c->t, "loop.registers")) / 1000;
    if (several && l->x->varies) p.us *= longer, p.plain *= longer;
    return p;
}

static void prefer(void *of, const LayTie *tie, const LayTried *x, int64_t *key)
{
    const Loops *l = of;
    const Wish *w = &((const Loop *)x->what)->wish;
    const bool apart = w->rows || w->windows;
    /* in steps of a third of a tie: among equals the simplest. Where arrays lie anywhere, prices say little of what is
     * shared */
    if (l->x->varies && tie->width > 0) key[1] = (int64_t)(3 * (x->price.us - tie->least) / tie->width);
    key[0] = w->over, key[2] = apart;
    /* loads that wait for others' values take as long as these say, which a price does not know: several at once */
    const int64_t several = w->registers;
    key[3] = lay_is_placed(&l->work) ? -several : several, key[4] = w->times, key[5] = -(int64_t)w->vector;
}

static void list(void *of, const LayTried *x, LayPriced *to)
{
    (void)of;
    to->layout = ((const Loop *)x->what)->layout;
}

static const LayProgram program = {.bytes = sizeof(Loop), .make = make, .needs = needs, .price = price,
                                   .prefer = prefer, .list = list};

/* --- what is tried ------------------------------------------------------------------------------------------------ */
static void try_near(Loops *l)
{
    PlanChoosing *c = l->c;
    PlanLoopChoice *x = l->x;
    const uint32_t widest = x->vector, twice = (uint32_t)tg_tuned(c->t, "loop.block_factor");
    const uint32_t most = plan_may_have_registers(c, x) ? (uint32_t)tg_tuned(c->t, "loop.coarsening") : 1;
    uint32_t narrow, wide;
    if (!x->varies) {
        lay_try(l->k, &(Wish){.vector = x->vector, .times = 1, .registers = x->registers});
        return;
    }
    plan_width_of_buffers(c, x->s, &narrow, &wide);
    const uint32_t least = WBB_MIN(c->t->vector_bytes, c->p->align); /* bytes of an access to the widest buffer */
    for (uint32_t v = widest; v == widest || (v * wide >= least && v % x->s->packed_group == 0); v /= 2)
        for (uint32_t times = 1; times <= twice; times *= 2)
            for (uint32_t n = 1; n <= most; n *= 2)
                lay_try(l->k, &(Wish){.vector = v, .times = times, .registers = n});
}

/* Rows, exactly or with elements beyond the last, and windows: of as many vectors as a thread has room for. */
static void try_rows(Loops *l)
{
    PlanChoosing *c = l->c;
    const TgTarget *t = c->t;
    const PlanLoopChoice *x = l->x;
    const int64_t limit = tg_tuned(t, "loop.max_body");
    const int64_t slots = WBB_MAX(plan_loop_slots(c, x, limit + 1) - (int64_t)same_in_rows(l), 1);
    const int64_t bytes = WBB_MAX((int64_t)plan_bytes_an_element(c, x) * x->vector, 1);
    const int64_t room = WBB_MIN(tg_tuned(t, "loop.max_bytes") / bytes, limit / x->vector / slots);
    const int64_t least = tg_tuned(t, "loop.min_threads") * x->vector, most = WBB_MIN(room, tg_tuned(t, "loop.rows"));
    for (int over = 0; over <= 1 && has_shared(l); over++) /* a vector under a mask loads what it shares once more */
        for (int64_t n = 2; n <= most && x->r->elements >= n * least; n *= 2)
            lay_try(l->k, &(Wish){.vector = x->vector, .times = 1, .rows = n, .over = over});
    for (uint32_t v = x->vector; plan_has_windows(&l->work) && v >= WBB_MAX(x->vector / 2, 1); v /= 2)
        for (int64_t n = 2; n * v <= room * x->vector; n *= 2) {
            if (!plan_windows_fit(&l->work, &l->space, x, v, n)) break;
            lay_try(l->k, &(Wish){.vector = v, .times = 1, .windows = n});
        }
}

/* --- the choice --------------------------------------------------------------------------------------------------- */
/* Do other vectors have a price? Those of whole rows, whose elements are known one by one, do not: their number of rows
 * is what accesses fill. */
static bool varies(const Loops *l)
{
    return !l->x->spread && l->x->vector <= plan_minor_row(l->x->r->space);
}

static const char *why(const Loops *l, const Wish *w, double us)
{
    const char *what = w->rows      ? "whole rows apart share what is the same in them"
                       : w->windows ? "neighbouring rows share what their windows do"
                                    : "the cheapest";
    return wbb_format(l->c->arena, "%s: %.2f us, of %u layouts", what, us, l->k->all.n);
}

/* Gives the range the numbers of the layout that is taken. */
static LayChoice *take(Loops *l, uint32_t widest)
{
    PlanChoosing *c = l->c;
    LayChoice *choice = WBB_NEW(c->arena, LayChoice);
    PlanStage *s = l->x->s;
    uint32_t taken;
    if (!lay_decide(l->k, &taken, choice)) return NULL;
    const Loop *x = l->k->all.items[taken].what;
    *l->x = x->x;
    s->layout = x->layout, l->x->r->blocks = (uint32_t)x->blocks;
    c->k->block = x->block, c->k->why_block = x->wish.windows ? plan_why_row : x->why_block;
    const double us = choice->best[0].price.us;
    uint32_t narrow, wide;
    plan_width_of_buffers(c, s, &narrow, &wide);
    if (x->wish.vector != widest)
        s->why_vector = wbb_format(c->arena, "%u bytes of the widest buffer: %.2f us", x->wish.vector * wide, us);
    if (l->x->varies || x->wish.rows || x->wish.windows) s->why_register = why(l, &x->wish, us);
    if (x->wish.times > 1) c->k->why_block = wbb_format(c->arena, "fewer begin: %.2f us", us);
    return choice;
}

void plan_choose_loop(PlanChoosing *c, PlanLoopChoice *x)
{
    const TgTarget *t = c->t;
    Loops l = {.c = c, .x = x};
    const PlanLoopChoice before = *x;
    const uint32_t widest = x->vector, blocks = x->r->blocks, block = c->k->block;
    const char *why_block = c->k->why_block;
    const bool apart = plan_may_have_registers(c, x) && !x->spread;
    if (!x->r->elements || !tg_find_rate(t, "clock")) return;
    if (plan_loop_space(c->arena, c->p, c->k, x->r, t, &l.space)) {
        l.work = plan_loop_work(&l.space);
        l.k = lay_chooser(c->arena, t, &program, &l);
        x->varies = varies(&l);
        try_near(&l);
        x->r->choice = take(&l, widest);
    }
    if (!x->r->choice) { /* none has a price, as of a walk that has no end: what was tried is forgotten */
        *x = before, x->r->blocks = blocks;
        c->k->block = block, c->k->why_block = why_block;
    }
    if (!apart || !l.k || !l.k->all.n) return;
    l.near = x->s->layout;
    try_rows(&l);
    x->r->choice = take(&l, widest);
}
