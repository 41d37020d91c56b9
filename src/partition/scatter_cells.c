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
#include "partition/rates.h"
#include "partition/scatter.h"

#include <math.h>

typedef struct {
    const TgTarget *t;
    const PartRates *r;
    PartCells cells;
    double bytes;       /* of an update and its share of the indices */
    bool neighbours;    /* updates of an element follow each other */
    double again;       /* clocks between two operations at one address of L2 */
    int64_t elements, vector, threads, blocks, registers; /* vectors of threads of blocks */
    double us;
} Cells;

static const HloShape *updates_of(const PartStage *s)
{
    return s->update->operands[s->update->n_operands / 2 + 1 + s->first]->shape;
}

/* The type in which updates are combined: 32 bits or more. SC_NONE: there is none. */
static ScType cell_type(const PartStage *s)
{
    const ScType t = part_shape(s->update, s->first)->type;
    const ScTypeInfo *info = &sc_type_info[t];
    if (info->cls == 'I') return info->bits < 32 ? SC_I32 : t;
    if (info->cls == 'U') return info->bits < 32 ? SC_U32 : t;
    if (!sc_is_float(t)) return SC_NONE;
    return info->bits < 32 ? SC_F32 : t;
}

/* Elements of the dimensions that windows cover, if these follow each other in the memory of result and updates, and
 * windows have one element in all others; 0: not so. */
static int64_t window_of(const PartStage *s)
{
    const HloShape *to = part_shape(s->update, s->first), *from = updates_of(s);
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

bool part_cells_may_be(const PartPlan *p, const PartStage *s)
{
    return part_may_combine(s) && !p->deterministic && cell_type(s) != SC_NONE && window_of(s) > 0;
}

static Cells new_cells(WbbArena *a, const TgTarget *t, const PartStage *s)
{
    const HloShape *to = part_shape(s->update, s->first), *from = updates_of(s);
    const HloShape *indices = s->update->operands[s->update->n_operands / 2]->shape;
    const int64_t width = window_of(s), bits = WBB_MAX(sc_type_info[to->type].bits, 8u);
    Cells x = {.t = t, .r = part_rates(a, t), .elements = hlo_elements(from)};
    x.cells = (PartCells){.type = cell_type(s), .width = width, .rows = hlo_elements(to) / WBB_MAX(width, 1)};
    x.bytes = (double)bits / 8 + (double)(indices->dims[1] * sc_type_info[indices->type].bits) / 8 / (double)width;
    const ScOp atomic = sc_atomic(hlo_scalar(part_scatter_root(s->update, s->first)->opcode));
    if (tg_has_instruction(t, atomic, x.cells.type, 1)) x.cells.atomic = atomic;
    const bool swaps = s->combine == PART_CAS;
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
    if (x->cells.own) return x->r->shared_latency + x->r->alu * 2;
    if (loop) return meet * (double)x->vector * (2 * x->r->shared_latency + x->r->alu * 3);
    return meet * (double)x->vector;
}

static double price(const Cells *x)
{
    const double sms = x->t->sms, clock = x->r->clock, threads = (double)x->threads, blocks = (double)x->blocks;
    const double of_sm = ceil(blocks / sms), warp = x->t->warp, all = (double)x->elements;
    const double vectors = all / (double)x->vector, each = ceil(vectors / (threads * blocks));
    double wavefronts;
    const double combine = combine_clocks(x, &wavefronts);
    const double results = (double)(x->cells.rows * WBB_MIN(x->cells.width, x->cells.columns));
    const double copies = cell_bytes(x) / (results * sc_type_info[x->cells.type].bits / 8);
    const double slots = (double)tg_tuned(x->t, "cells.update") + (double)x->vector * (x->cells.own ? 4 : 2);
    const double terms[] = {
        all * x->bytes / x->r->dram,
        vectors / warp * wavefronts / (sms * clock),
        vectors / warp * slots / (4 * sms * clock),
        each * (x->r->dram_latency / (double)x->registers + combine + slots) / clock,
        blocks * results * 4 / TG_SECTOR / (tg_rate(x->t, "atomics")->value * clock),
        blocks / WBB_MAX(1, (double)x->cells.width / (double)x->cells.columns) * x->again / clock,
    };
    const double stored = cell_bytes(x) * of_sm / 128 + cell_bytes(x) / 4 / threads * 2;
    const double readers = WBB_MIN(WBB_MAX(1, threads / results), copies);
    const double flushed = ceil(results * readers / threads) * (copies / readers * 4 + x->r->shared_latency * 2 + 60);
    const double once = stored + flushed + 2 * x->r->barrier + x->r->atomic + (double)tg_tuned(x->t, "cells.code");
    return part_least_us(x->t) + once / clock + price_together(terms, WBB_LEN(terms), x->r->norm_apart);
}

/* Columns of cells for this layout, in the fewest microseconds; false: there is no room. */
static bool choose_columns(Cells *x)
{
    const int64_t lanes = x->vector * x->threads, width = x->cells.width;
    if (x->vector > 1 && width % x->vector) return false;
    if (width > lanes ? width % lanes || x->blocks % (width / lanes) : lanes % width) return false;
    Cells best = *x;
    best.us = INFINITY;
    const int64_t least = WBB_MIN(width, lanes);
    const int64_t tie = tg_tuned(x->t, "layout.tie"); /* updates may meet more often than at random: more columns */
    for (int64_t columns = lanes; columns >= least; columns = columns % (2 * least) ? least - 1 : columns / 2) {
        x->cells.columns = columns, x->cells.own = columns == lanes;
        const uint64_t bytes = (uint64_t)cell_bytes(x), blocks = (uint64_t)part_up(x->blocks, x->t->sms);
        if (!x->cells.own && x->cells.atomic == OP_NONE) break;
        if (bytes > (uint64_t)tg_tuned(x->t, "cells.bytes")) continue;
        if (!price_fits(x->t, blocks, (uint64_t)x->threads, 0, bytes)) continue;
        x->us = price(x);
        if (x->us * 1000 < best.us * (double)(1000 - tie)) best = *x;
    }
    *x = best;
    return isfinite(x->us);
}

static PartLayout layout_of(WbbArena *a, const Cells *x)
{
    PartDim *d = WBB_NEW(a, PartDim);
    *d = (PartDim){.name = "elements", .size = x->elements};
    const int64_t step = x->vector * x->threads * x->blocks * x->registers;
    part_add_factor(d, PART_VECTOR, x->vector);
    part_add_factor(d, PART_LANE, x->t->warp);
    part_add_factor(d, PART_WARP, x->threads / x->t->warp);
    part_add_factor(d, PART_GRID, x->blocks);
    part_add_factor(d, PART_REGISTER, x->registers);
    part_add_factor(d, PART_LOOP, part_up(x->elements, step));
    return (PartLayout){.dims = d, .n_dims = 1, .tail = 1};
}

/* So many blocks, if threads have at least two iterations. */
static void try_blocks(Cells *x, int64_t blocks, Cells *best)
{
    const int64_t lanes = x->vector * x->threads;
    if (x->cells.width > lanes) blocks -= blocks % WBB_MAX(x->cells.width / lanes, 1);
    if (blocks < 1) return;
    for (x->registers = tg_tuned(x->t, "cells.registers"); x->registers > 1; x->registers /= 2)
        if (part_up(x->elements, lanes * blocks * x->registers) > 1) break;
    x->blocks = blocks;
    if (part_up(x->elements, lanes * blocks * x->registers) < 2) return;
    Cells one = *x;
    if (choose_columns(&one) && one.us < best->us) *best = one;
}

/* As many as run at once, or fewer. */
static void try_threads(Cells *x, Cells *best)
{
    const int64_t most = price_occupancy(x->t, (uint64_t)x->threads, 0, 0, 0).blocks;
    for (int64_t of_sm = 1; of_sm <= most; of_sm *= 2) try_blocks(x, of_sm * x->t->sms, best);
    for (int64_t blocks = x->t->sms / 2; blocks; blocks /= 2) try_blocks(x, blocks, best);
}

void part_choose_cells(WbbArena *a, const PartPlan *p, const TgTarget *t, PartKernel *k, double us)
{
    PartRange *r = &k->ranges[0];
    PartStage *s = r->stages;
    Cells x = new_cells(a, t, s), best = {.us = us * (double)tg_tuned(t, "cells.gain") / 1000};
    const int64_t widest = WBB_MIN((int64_t)t->vector_bytes, (int64_t)p->align) /
                           (int64_t)sc_bytes(updates_of(s)->type);
    for (x.vector = 1; x.vector <= WBB_MAX(widest, 1); x.vector *= 2)
        for (x.threads = t->warp; x.threads <= TG_MAX_THREADS; x.threads *= 2) try_threads(&x, &best);
    if (!best.blocks) return;
    PartCells *cells = WBB_NEW(a, PartCells);
    *cells = best.cells;
    cells->why = wbb_format(a, "%.2f us, one by one in memory %.2f", best.us, us);
    s->cells = cells;
    s->layout = layout_of(a, &best);
    s->why_vector = "elements of a row";
    s->why_register = "loaded before the first is combined";
    k->block = (uint32_t)best.threads, k->grid = r->blocks = (uint32_t)best.blocks;
    k->why_block = "by price", k->why_grid = "by price: all of them run at once";
}

const PartCells *part_cells_of(WbbArena *a, const TgTarget *t, const PartStage *s, const PartLayout *l)
{
    const PartDim *d = &l->dims[0];
    Cells x = new_cells(a, t, s);
    x.vector = part_size(d, PART_VECTOR), x.threads = part_layout_threads(l);
    x.blocks = part_layout_size(l, PART_GRID), x.registers = part_size(d, PART_REGISTER);
    if (!choose_columns(&x)) return NULL;
    PartCells *cells = WBB_NEW(a, PartCells);
    *cells = x.cells;
    cells->why = "the layout was given";
    return cells;
}
