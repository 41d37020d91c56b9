/* scatter_price.c: how many neighbouring updates of a scatter a thread combines before it goes to memory.
 *
 * Needs a scatter, and how an update is combined with its element; leaves a power of two, 1 unless indices are sorted,
 * which the chooser takes (chooser.h). Of so many updates as elements of the result an element has `mean` on average,
 * side by side. Threads with runs go to memory less often, which counts where operations wait for each other at one
 * address, but there are fewer threads, and what an operation waits for they wait for one after the other. Prices are
 * in microseconds, those of a whole launch.
 *
 *     f32[64,1], 65536 updates, mean 1024, sm_90:  1 run 58.8, of 2 updates 30.1, 4 15.8, 8 9.0, 16 6.2
 */
#include "layout/chooser.h"
#include "plan/scatter.h"

#include <math.h>

typedef struct {
    const TgTarget *t;
    const LayRates *r;
    PlanCombine combine;
    double rows, window, bytes; /* updates, elements of each, bytes of an element */
    double mean;                /* updates of an element */
    double same;                /* of these, neighbours */
    double results;             /* elements of the result */
    double lanes;               /* that one operation combines at most */
    double vector;              /* elements of a thread without runs, at most */
    double operations;          /* for an element: a complex one takes two */
    bool is_float, reads_first;
} Runs;

static double flush_clocks(const Runs *x)
{
    const double tests = (double)tg_tuned(x->t, "scatter.flush");
    if (x->reads_first) return tests + x->r->l2_latency; /* most change nothing */
    switch (x->combine) {
    case PLAN_CAS: return tests + x->r->dram_latency + x->r->atomic; /* a load, a swap that waits for it */
    case PLAN_SUM:
    case PLAN_FLOAT_ORDER: return tests + x->r->atomic * x->operations; /* what was there is looked at */
    default: return tests / 2 * x->operations;
    }
}

/* Operations of a thread with runs of so many updates, one after the other: at its end, and where any lane of its warp
 * finds another element. */
static double operations_of(const Runs *x, double run, double lanes)
{
    const double rows = WBB_MAX(1, x->t->warp * lanes / x->window);
    double same = 1;
    for (double k = 0; k < rows; k++) same *= 1 - 1 / x->same;
    return 1 + (run - 1) * (1 - same);
}

/* Clocks for which the busiest line is updated. */
static double contended(const Runs *x, double of_element)
{
    const double turn = tg_rate(x->t, x->is_float ? "atomic.float" : "atomic.int")->value;
    if (x->combine == PLAN_CAS) return of_element * x->r->atomic;
    const double of_line = WBB_MIN(TG_LINE / x->bytes, x->results), of_turn = WBB_MIN(x->window, 16 / x->bytes);
    return of_element * x->operations * turn * of_line / WBB_MAX(of_turn, 1);
}

/* Of so many elements those of a thread, so that there are enough threads. */
static double fewer(const Runs *x, double elements, double most)
{
    while (most > 1 && elements < most * (double)tg_tuned(x->t, "loop.min_threads")) most /= 2;
    return most;
}

/* What DRAM moves: updates, and elements of the result that have some, which are loaded and stored. */
static double dram_bytes(const Runs *x)
{
    const double updates = x->rows * x->window;
    return (updates + updates / x->mean * (x->reads_first ? 1 : 2)) * x->bytes;
}

static LayPrice price_of(const Runs *x, double run)
{
    const double all = (double)x->t->sms * x->t->warps * x->t->warp, elements = x->rows / run * x->window;
    const double vector = fewer(x, elements, run > 1 ? x->lanes : x->vector), lanes = WBB_MIN(vector, x->lanes);
    const double threads = elements / vector, each = vector / lanes * operations_of(x, run, lanes);
    const double of_element = x->reads_first ? 1 : x->mean / x->same * (x->same + run - 1) / run; /* operations */
    const double sectors = x->rows * x->window * of_element / x->mean / WBB_MIN(x->window, TG_SECTOR / x->bytes);
    const double waves = WBB_MAX(1, threads / all), block = (double)tg_tuned(x->t, "loop.block");
    const double memory[] = {
        (x->rows * x->window * x->bytes + sectors * x->operations * TG_SECTOR) / x->r->l2,
        sectors * x->operations / (x->r->atomics * x->r->clock),
        contended(x, of_element) / x->r->clock,
    };
    const double wait = x->combine == PLAN_ATOMIC ? 1 : 2;
    LayPrice p = {.term = {
        [LAY_DRAM] = dram_bytes(x) / x->r->dram,
        [LAY_L2] = price_together(memory, WBB_LEN(memory), x->r->norm_apart),
        [LAY_CHAIN] = waves * each * flush_clocks(x) / x->r->clock,
        [LAY_CODE] = run * wait * (double)tg_tuned(x->t, "scatter.code") / x->r->clock,
    }};
    lay_price_launch(x->r, &p, threads / block);
    return p;
}

/* --- what is tried (chooser.h) ------------------------------------------------------------------------------------ */
static bool make(void *of, const void *wish, void *what, uint64_t *hash)
{
    (void)of;
    *(int64_t *)what = *(const int64_t *)wish;
    *hash = wbb_hash(wish, sizeof(int64_t), 0);
    return true;
}

/* All of a run are loaded before the first is combined. */
static bool needs(void *of, void *what, LayNeeds *to)
{
    const Runs *x = of;
    const int64_t run = *(const int64_t *)what;
    *to = (LayNeeds){.counts = {.kept = (double)run, .terms = 1}};
    return run == 1 || (double)run * x->lanes * x->bytes <= (double)tg_tuned(x->t, "scatter.bytes");
}

/* A run twice as long must take so much less. */
static LayPrice price(void *of, void *what, const LayNeeds *needs_of)
{
    const Runs *x = of;
    const int64_t run = *(const int64_t *)what;
    LayPrice p = price_of(x, (double)run);
    const double least = p.term[LAY_LAUNCH] + p.term[LAY_LATENCY];
    double work = p.us - least;
    (void)needs_of;
    for (int64_t n = 1; n < run; n *= 2) work *= 1000 / (double)tg_tuned(x->t, "scatter.gain");
    p.us = least + work;
    return p;
}

static void prefer(void *of, const LayTie *tie, const LayTried *x, int64_t *key)
{
    (void)of, (void)tie;
    key[0] = *(const int64_t *)x->what;
}

static void list(void *of, const LayTried *x, LayPriced *to) { (void)of, (void)x, (void)to; }

static const LayProgram program = {.bytes = sizeof(int64_t), .make = make, .needs = needs, .price = price,
                                   .prefer = prefer, .list = list};

uint32_t plan_update_run(WbbArena *a, const Plan *p, const TgTarget *t, const PlanStage *s, const char **why,
                         LayPrice *price_of_best)
{
    const HloInstruction *i = s->update;
    const HloShape *to = plan_shape(i, s->first), *from = i->operands[i->n_operands / 2 + 1 + s->first]->shape;
    const ScTypeInfo *type = &sc_type_info[to->type];
    const double updates = (double)hlo_elements(from), results = (double)hlo_elements(to);
    *price_of_best = (LayPrice){.us = 0};
    if (!tg_find_rate(t, "clock") || updates < 2 || results < 1) return 1;
    Runs x = {.t = t, .r = lay_rates(a, t), .combine = s->combine, .rows = (double)from->dims[0], .results = results,
              .bytes = WBB_MAX(type->bits, 8u) / 8.0, .is_float = sc_is_float(s->word), .reads_first = s->reads_first,
              .mean = WBB_MAX(1, updates / results), .lanes = plan_update_lanes(p, t, s), .operations = 1};
    const int64_t same = s->neighbours; /* 0: not known to be any */
    x.same = same == HLO_SOME ? x.mean : WBB_MAX((double)same, 1);
    x.mean = WBB_MAX(x.mean, x.same);
    x.window = updates / x.rows;
    if (type->cls == 'C' && s->combine != PLAN_CAS) x.operations = 2;
    const bool alone = s->combine == PLAN_ATOMIC && x.is_float && type->bits == 16 && x.lanes == 1;
    if (alone && !plan_update_in_pair(p, t, s)) x.combine = PLAN_CAS; /* which ptxas makes of it */
    const bool lone = x.lanes == 1 && plan_update_in_pair(p, t, s); /* then a thread has no vector */
    x.vector = lone ? 1 : WBB_MAX((double)tg_tune(t, "loop.unroll", WBB_MIN(type->bits, 64u))->value, x.lanes);
    LayChooser *k = lay_chooser(a, t, &program, &x);
    const int64_t most = same ? WBB_MIN(tg_tuned(t, "scatter.run"), from->dims[0]) : 1;
    for (int64_t run = 1; run <= most; run *= 2) lay_try(k, &run);
    LayChoice choice;
    uint32_t taken;
    if (!lay_decide(k, &taken, &choice)) return 1;
    const uint32_t best = (uint32_t)*(const int64_t *)k->all.items[taken].what;
    *price_of_best = price_of(&x, best);
    if (best > 1) *why = wbb_format(a, "%.2f us, one by one %.2f", price_of_best->us, price_of(&x, 1).us);
    return best;
}
