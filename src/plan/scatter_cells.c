/* scatter_cells.c: cells of shared memory in which a block combines its updates of a scatter, and a layout for them.
 *
 * Needs a scatter whose windows are rows of the result, many to a row, and one operation that has an identity; leaves
 * cells and the layout of the updates. A block takes updates at a stride that is a multiple of the row, so that each of
 * its threads keeps its place in the row. It combines them in its cells, and its cells with the elements of the result,
 * one by one. Operations at one address of L2 queue, some clocks each; every SM has shared memory of its own, and every
 * thread a cell of its own where they fit. Prices are in microseconds, those of a whole launch; terms overlap as in
 * price.c.
 *
 *     f32[64], 2^20 updates, sm_90:  one by one 35.6; a cell for each thread and element, 128 threads, 264 blocks 3.1
 */
#include "layout/chooser.h"
#include "plan/scatter.h"

#include <math.h>

typedef struct {
    const TgTarget *t;
    const LayRates *r;
    PlanCells cells;
    double bytes;       /* of an update and its share of the indices */
    bool neighbours;    /* updates of an element follow each other */
    double again;       /* clocks between two operations at one address of L2 */
    int64_t elements, vector, threads, blocks, registers; /* vectors of threads of blocks */
} Cells;

/* What is tried. */
typedef struct {
    int64_t vector, threads, blocks, registers, columns;
} Wish;

typedef struct {
    WbbArena *a;
    Cells of; /* without a layout */
    LayChooser *k;
} Choosing;

static const HloShape *updates_of(const PlanStage *s)
{
    return s->update->operands[s->update->n_operands / 2 + 1 + s->first]->shape;
}

/* The type in which updates are combined: 32 bits or more. SC_NONE: there is none. */
static ScType cell_type(const PlanStage *s)
{
    const ScType t = plan_shape(s->update, s->first)->type;
    const ScTypeInfo *info = &sc_type_info[t];
    if (info->cls == 'I') return info->bits < 32 ? SC_I32 : t;
    if (info->cls == 'U') return info->bits < 32 ? SC_U32 : t;
    if (!sc_is_float(t)) return SC_NONE;
    return info->bits < 32 ? SC_F32 : t;
}

/* Elements of the dimensions that windows cover, if these follow each other in the memory of result and updates, and
 * windows have one element in all others; 0: not so. */
static int64_t window_of(const PlanStage *s)
{
    const HloShape *to = plan_shape(s->update, s->first), *from = updates_of(s);
    int64_t width = 1;
    bool whole = true;
    uint32_t k = 0;
    for (uint32_t d = 0; d < to->rank; d++) {
        const uint32_t of = to->minor_to_major[d];
        if (from->dims[of + 1] == 1 && to->dims[of] != 1) whole = false;
        if (from->dims[of + 1] == 1) continue;
        if (!whole || from->dims[of + 1] != to->dims[of]) return 0;
        while (k < from->rank && from->dims[from->minor_to_major[k]] == 1) k++;
        if (from->minor_to_major[k++] != of + 1) return 0;
        width *= to->dims[of];
    }
    while (k < from->rank && from->dims[from->minor_to_major[k]] == 1) k++;
    return k >= from->rank || from->minor_to_major[k] == 0 ? width : 0;
}

bool plan_cells_may_be(const Plan *p, const PlanStage *s)
{
    return plan_may_combine(s) && !p->deterministic && cell_type(s) != SC_NONE && window_of(s) > 0;
}

static Cells new_cells(WbbArena *a, const TgTarget *t, const PlanStage *s)
{
    const HloShape *to = plan_shape(s->update, s->first), *from = updates_of(s);
    const HloShape *indices = s->update->operands[s->update->n_operands / 2]->shape;
    const int64_t width = window_of(s), bits = WBB_MAX(sc_type_info[to->type].bits, 8u);
    Cells x = {.t = t, .r = lay_rates(a, t), .elements = hlo_elements(from)};
    x.cells = (PlanCells){.type = cell_type(s), .width = width, .rows = hlo_elements(to) / WBB_MAX(width, 1),
                          .unroll = tg_tuned(t, "cells.unroll")};
    x.bytes = (double)bits / 8 + (double)(indices->dims[1] * sc_type_info[indices->type].bits) / 8 / (double)width;
    const ScOp atomic = sc_atomic(hlo_scalar(hlo_scatter_root(s->update, s->first)->opcode));
    if (tg_has_instruction(t, atomic, x.cells.type, 1)) x.cells.atomic = atomic;
    const bool swaps = s->combine == PLAN_CAS;
    x.neighbours = s->neighbours != 0;
    x.again = swaps ? x.r->atomic : tg_rate(t, sc_is_float(to->type) ? "atomic.float" : "atomic.int")->value;
    return x;
}

static double cell_bytes(const Cells *x)
{
    return (double)(x->cells.rows * x->cells.columns) * sc_type_info[x->cells.type].bits / 8;
}

/* Of the lanes of a warp, those that want the same cell, at most, roughly. Where neighbours have the same element, all
 * in the same column. */
static double meeting(const Cells *x)
{
    if (x->cells.own) return 1;
    if (x->neighbours) return WBB_MAX(1, (double)(x->t->warp * x->vector) / (double)x->cells.columns);
    const double places = (double)(x->cells.rows * x->cells.columns) / (double)x->vector;
    return 1 + (double)x->t->warp / WBB_MAX(1, places) + log2((double)x->t->warp) / (1 + log2(WBB_MAX(1, places)));
}

/* Of lanes in one column, which are in any rows, so many are in one bank of shared memory, at most. */
static double banks(const Cells *x)
{
    const double lanes = (double)x->t->warp / (double)x->cells.columns;
    return lanes > 1 ? 1 + log2(lanes) / 2 : 1;
}

/* Clocks of a warp for its updates of one vector, and of them those of the memory itself. */
static double combine_clocks(const Cells *x, double *wavefronts)
{
    const double meet = meeting(x), each = sc_type_info[x->cells.type].bits / 32.0;
    const bool loop = !x->cells.own && (sc_is_float(x->cells.type) || each > 1);
    const double apart = x->cells.own ? 1 : (double)x->vector; /* lanes, whose operations are on one element each */
    const double accesses = x->cells.own ? 2 : loop ? 2 * meet * banks(x) : WBB_MAX(meet, banks(x));
    *wavefronts = accesses * each * (double)x->vector * apart;
    if (x->cells.own) return x->r->shared_latency + x->r->alu * (double)tg_tuned(x->t, "cells.own");
    const double turn = 2 * x->r->shared_latency + x->r->alu * (double)tg_tuned(x->t, "cells.loop");
    if (loop) return meet * (double)x->vector * turn;
    return meet * (double)x->vector;
}

static LayPrice price_of(const Cells *x)
{
    const double sms = x->t->sms, clock = x->r->clock, threads = (double)x->threads, blocks = (double)x->blocks;
    const double of_sm = ceil(blocks / sms), warp = x->t->warp, all = (double)x->elements;
    const double vectors = all / (double)x->vector, each = ceil(vectors / (threads * blocks));
    const double accesses = 2; /* of a cell: a load and a store */
    double wavefronts;
    const double combine = combine_clocks(x, &wavefronts);
    const double results = (double)(x->cells.rows * WBB_MIN(x->cells.width, x->cells.columns));
    const double copies = cell_bytes(x) / (results * sc_type_info[x->cells.type].bits / 8);
    const double slots = (double)tg_tuned(x->t, "cells.update") +
                         (double)x->vector * x->r->access_slots * (x->cells.own ? accesses : 1);
    const double sectors = blocks * results * sizeof(uint32_t) / TG_SECTOR / (tg_rate(x->t, "atomics")->value * clock);
    const double waits = blocks / WBB_MAX(1, (double)x->cells.width / (double)x->cells.columns) * x->again / clock;
    LayPrice p = {.term = {
        [LAY_DRAM] = all * x->bytes / x->r->dram,
        [LAY_L2] = price_together((double[]){sectors, waits}, 2, x->r->norm_apart),
        [LAY_ISSUE] = vectors / warp * slots / (x->r->issue * sms * clock),
        [LAY_L1] = vectors / warp * wavefronts / (sms * clock),
        [LAY_CHAIN] = each * (x->r->dram_latency / (double)x->registers + combine + slots) / clock,
    }};
    const double words = cell_bytes(x) / sizeof(uint32_t), lines = cell_bytes(x) * of_sm / x->r->wavefront;
    const double stored = lines + words / threads * x->r->access_slots;
    const double readers = WBB_MIN(WBB_MAX(1, threads / results), copies);
    const double flushed = ceil(results * readers / threads) *
                           (copies / readers * accesses * x->r->access_slots + x->r->shared_latency * accesses +
                            (double)tg_tuned(x->t, "scatter.flush") / 2);
    const double once = stored + flushed + 2 * x->r->barrier + x->r->atomic + (double)tg_tuned(x->t, "cells.code");
    p.term[LAY_CODE] = once / clock;
    lay_price_launch(x->r, &p, blocks);
    return p;
}

static Layout layout_of(WbbArena *a, const Cells *x)
{
    LayDim *d = WBB_NEW(a, LayDim);
    *d = (LayDim){.name = "elements", .size = x->elements};
    const int64_t step = x->vector * x->threads * x->blocks * x->registers;
    lay_add_factor(d, LAY_VECTOR, x->vector);
    lay_add_factor(d, LAY_LANE, x->t->warp);
    lay_add_factor(d, LAY_WARP, x->threads / x->t->warp);
    lay_add_factor(d, LAY_GRID, x->blocks);
    lay_add_factor(d, LAY_REGISTER, x->registers);
    lay_add_factor(d, LAY_LOOP, lay_up(x->elements, step));
    return (Layout){.dims = d, .n_dims = 1, .tail = 1};
}

/* --- what is tried (chooser.h) ------------------------------------------------------------------------------------ */
/* Each thread keeps its place in the row. */
static bool make(void *of, const void *wish, void *what, uint64_t *hash)
{
    const Choosing *c = of;
    const Wish *w = wish;
    Cells *x = what;
    *x = c->of;
    x->vector = w->vector, x->threads = w->threads, x->blocks = w->blocks, x->registers = w->registers;
    const int64_t lanes = x->vector * x->threads, width = x->cells.width;
    if (x->vector > 1 && width % x->vector) return false;
    if (width > lanes ? width % lanes || x->blocks % (width / lanes) : lanes % width) return false;
    x->cells.columns = w->columns, x->cells.own = w->columns == lanes;
    *hash = wbb_hash(w, sizeof *w, 0);
    return x->cells.own || x->cells.atomic != OP_NONE;
}

static bool needs(void *of, void *what, LayNeeds *to)
{
    const Cells *x = what;
    const uint64_t bytes = (uint64_t)cell_bytes(x), blocks = (uint64_t)lay_up(x->blocks, x->t->sms);
    (void)of;
    *to = (LayNeeds){.shared = (double)bytes};
    to->counts.threads = (double)x->threads, to->counts.blocks = (double)x->blocks;
    to->counts.kept = (double)x->vector, to->counts.terms = (double)x->registers;
    return bytes <= (uint64_t)tg_tuned(x->t, "cells.bytes") && price_fits(x->t, blocks, (uint64_t)x->threads, 0, bytes);
}

static LayPrice price(void *of, void *what, const LayNeeds *needs_of)
{
    (void)of, (void)needs_of;
    return price_of(what);
}

/* Updates may meet more often than at random: cells of each thread's own, else, of what takes as long within a third of
 * a tie, more columns. */
static void prefer(void *of, const LayTie *tie, const LayTried *x, int64_t *key)
{
    const Cells *c = x->what;
    (void)of;
    if (tie->width > 0) key[1] = (int64_t)(3 * (x->price.us - tie->least) / tie->width);
    key[0] = !c->cells.own, key[2] = c->cells.own ? 0 : -c->cells.columns;
}

static void list(void *of, const LayTried *x, LayPriced *to)
{
    to->layout = layout_of(((const Choosing *)of)->a, x->what);
}

static const LayProgram program = {.bytes = sizeof(Cells), .make = make, .needs = needs, .price = price,
                                   .prefer = prefer, .list = list};

/* All elements that a block's threads have at once, a half, a quarter, .. down to a row. */
static void try_columns(Choosing *c, Wish w)
{
    const int64_t lanes = w.vector * w.threads, least = WBB_MIN(c->of.cells.width, lanes);
    for (w.columns = lanes; w.columns >= least; w.columns = w.columns % (2 * least) ? least - 1 : w.columns / 2)
        lay_try(c->k, &w);
}

/* So many blocks, if threads have enough iterations. */
static void try_blocks(Choosing *c, int64_t vector, int64_t threads, int64_t blocks)
{
    const int64_t lanes = vector * threads, elements = c->of.elements;
    if (c->of.cells.width > lanes) blocks -= blocks % WBB_MAX(c->of.cells.width / lanes, 1);
    if (blocks < 1) return;
    const int64_t least = tg_tuned(c->of.t, "cells.iterations");
    int64_t registers = tg_tuned(c->of.t, "cells.registers");
    while (registers > 1 && lay_up(elements, lanes * blocks * registers) < least) registers /= 2;
    if (lay_up(elements, lanes * blocks * registers) < least) return;
    try_columns(c, (Wish){.vector = vector, .threads = threads, .blocks = blocks, .registers = registers});
}

/* As many as run at once, or fewer. */
static void try_threads(Choosing *c, int64_t vector, int64_t threads)
{
    const TgTarget *t = c->of.t;
    const int64_t most = price_occupancy(t, (uint64_t)threads, 0, 0, 0).blocks;
    for (int64_t of_sm = 1; of_sm <= most; of_sm *= 2) try_blocks(c, vector, threads, of_sm * t->sms);
    for (int64_t blocks = t->sms / 2; blocks; blocks /= 2) try_blocks(c, vector, threads, blocks);
}

static Choosing begin(WbbArena *a, const TgTarget *t, const PlanStage *s)
{
    return (Choosing){.a = a, .of = new_cells(a, t, s)};
}

void plan_choose_cells(WbbArena *a, const Plan *p, const TgTarget *t, PlanKernel *k, double us)
{
    PlanRange *r = &k->ranges[0];
    PlanStage *s = r->stages;
    Choosing c = begin(a, t, s);
    LayChoice choice;
    uint32_t taken;
    c.k = lay_chooser(a, t, &program, &c);
    const int64_t widest = WBB_MIN((int64_t)t->vector_bytes, (int64_t)p->align) /
                           (int64_t)sc_bytes(updates_of(s)->type);
    for (int64_t vector = 1; vector <= WBB_MAX(widest, 1); vector *= 2)
        for (int64_t threads = t->warp; threads <= TG_MAX_THREADS; threads *= 2) try_threads(&c, vector, threads);
    if (!lay_decide(c.k, &taken, &choice)) return;
    const Cells *best = c.k->all.items[taken].what;
    const double least = choice.best[0].price.us;
    if (least * 1000 >= us * (double)tg_tuned(t, "cells.gain")) return;
    PlanCells *cells = WBB_NEW(a, PlanCells);
    *cells = best->cells;
    cells->why = wbb_format(a, "%.2f us, one by one in memory %.2f", least, us);
    s->cells = cells;
    s->layout = choice.best[0].layout;
    LayPrice *by = WBB_NEW(a, LayPrice);
    *by = choice.best[0].price, r->price = by;
    s->why_vector = "elements of a row";
    s->why_register = "loaded before the first is combined";
    k->block = (uint32_t)best->threads, k->grid = r->blocks = (uint32_t)best->blocks;
    k->why_block = "by price", k->why_grid = "by price: all of them run at once";
}

const PlanCells *plan_cells_of(WbbArena *a, const TgTarget *t, const PlanStage *s, const Layout *l)
{
    const LayDim *d = &l->dims[0];
    Choosing c = begin(a, t, s);
    LayChoice choice;
    uint32_t taken;
    c.k = lay_chooser(a, t, &program, &c);
    try_columns(&c, (Wish){.vector = lay_size(d, LAY_VECTOR), .threads = lay_threads(l),
                           .blocks = lay_level_size(l, LAY_GRID), .registers = lay_size(d, LAY_REGISTER)});
    if (!lay_decide(c.k, &taken, &choice)) return NULL;
    PlanCells *cells = WBB_NEW(a, PlanCells);
    *cells = ((const Cells *)c.k->all.items[taken].what)->cells;
    cells->why = "the layout was given";
    return cells;
}
