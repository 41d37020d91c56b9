/* layout.c: what a layout amounts to, and which layouts a kernel may have.
 *
 * Needs a layout of a space; leaves it, or fails at the column of its text that is at fault.
 *
 *     elements: vector 4, lane 32, warp 4, grid 59     of 29,799 elements: 7,449 vectors, 3 threads of the tail
 *     elements: vector 4, lane 32, warp 4, grid 60     "layout:1:39: error: grid 60: 59 cover the 29799 elements"
 */
#include "layout/layout.h"

#include <string.h>

const char *const lay_level_name[LAY_LEVELS] = {"vector", "register", "loop", "lane", "warp", "cluster", "grid"};

void lay_fail(WbbCx *cx, int column, const char *format, ...)
{
    WbbBuf b = wbb_buf(cx->arena);
    va_list args;
    va_start(args, format);
    wbb_put_v(&b, format, args);
    va_end(args);
    wbb_fail(cx, (WbbLoc){.file = "layout", .line = 1, .col = column}, "%s", b.text);
}

/* Stays at INT64_MAX. */
static int64_t times(int64_t x, int64_t y)
{
    const WbbI128 product = (WbbI128)x * y;
    return product > INT64_MAX ? INT64_MAX : (int64_t)product;
}

const LayFactor *lay_factor(const LayDim *d, LayLevel level)
{
    for (uint32_t k = 0; k < d->n_factors; k++)
        if (d->factors[k].level == level) return &d->factors[k];
    return NULL;
}

void lay_add_factor(LayDim *d, LayLevel level, int64_t size)
{
    if (size > 1) d->factors[d->n_factors++] = (LayFactor){.level = level, .size = size};
}

int64_t lay_size(const LayDim *d, LayLevel level)
{
    const LayFactor *f = lay_factor(d, level);
    return f ? f->size : 1;
}

int64_t lay_level_size(const Layout *l, LayLevel level)
{
    int64_t n = 1;
    for (uint32_t d = 0; d < l->n_dims; d++) n = times(n, lay_size(&l->dims[d], level));
    return n;
}

LayReads lay_reads(const TgTarget *t)
{
    return (LayReads){.rows = tg_tuned(t, "layout.rows_read"), .first = tg_tuned(t, "layout.rows_first"),
                      .bytes = tg_tuned(t, "layout.rows_of_lanes")};
}

LayHanding lay_handing(const LayHanded *x, const LayReads *limits)
{
    enum { WARP = TG_BANKS }; /* a lane to each bank */
    const int64_t slots = x->kept * x->kept_lanes * x->kept_warps;
    const int64_t threads = x->lanes * x->kept_lanes * x->warps * x->kept_warps;
    LayHanding h = {.readers = 1, .rows = x->warps};
    if (x->first && slots == x->kept_warps && !(x->warps & (x->warps - 1))) {
        const int64_t each = limits->first; /* no other warp is there to work meanwhile: shuffles take longer */
        while (each > 0 && 2 * h.readers <= x->lanes && x->warps >= 2 * h.readers * each) h.readers *= 2;
        h.rows = x->warps / h.readers;
        return h;
    }
    if (x->warps == 1 || !x->alone || slots > threads) return h;
    h.parted = x->kept > 1;
    if (x->kept_lanes == 1 || x->warps & (x->warps - 1)) return h;
    h.of_lanes = x->lanes > 1 && x->kept > 1 && threads * x->kept * x->bytes <= limits->bytes;
    int64_t rows = x->warps * (h.of_lanes ? x->lanes : 1), readers = 1;
    while (2 * readers <= WARP && rows >= 2 * readers * limits->rows && threads >= 2 * readers * slots) readers *= 2;
    if (limits->rows < 1 || readers == 1 || readers * slots % WARP) {
        h.of_lanes = false;
        return h;
    }
    h.parted = true;
    h.readers = readers, h.rows = rows / readers;
    h.pad = (TG_BANKS / readers + TG_BANKS - h.rows * slots % TG_BANKS) % TG_BANKS;
    return h;
}

int64_t lay_of_outer_lane(const LayDim *d)
{
    int64_t each = 1, outside = 0;
    for (uint32_t k = 0; k < d->n_factors; k++) {
        if (d->factors[k].level == LAY_LANE) outside = 1;
        else if (outside) outside = times(outside, d->factors[k].size);
        else each = times(each, d->factors[k].size);
    }
    return outside == 1 ? each : 0;
}

int64_t lay_part(const Layout *l, LayLevel level, bool reduced)
{
    int64_t n = 1;
    for (uint32_t d = 0; d < l->n_dims; d++)
        if (l->dims[d].reduced == reduced) n = times(n, lay_size(&l->dims[d], level));
    return n;
}

int64_t lay_weight(const Layout *l, uint32_t of, LayLevel level)
{
    int64_t below = level == LAY_GRID ? lay_level_size(l, LAY_CLUSTER) : 1;
    for (uint32_t k = 0; k < l->n_dims; k++) {
        const uint32_t d = l->order[level] ? l->order[level][k] : k;
        if (d == of) break;
        below *= lay_size(&l->dims[d], level);
    }
    return below;
}

int64_t lay_tail(const Layout *l)
{
    const LayFactor *v = l->tail ? lay_factor(&l->dims[0], LAY_VECTOR) : NULL;
    return v ? (l->dims[0].size % v->size + l->tail - 1) / l->tail : 0;
}

uint32_t lay_threads(const Layout *l)
{
    const int64_t all = times(lay_level_size(l, LAY_LANE), lay_level_size(l, LAY_WARP));
    const LayDim *d = &l->dims[0];
    const int64_t vector = lay_size(d, LAY_VECTOR);
    bool in_order = l->n_dims == 1;
    for (uint32_t k = 0, last = 0; k < d->n_factors; last = d->factors[k++].level)
        in_order = in_order && d->factors[k].level >= last && d->factors[k].level != LAY_REGISTER &&
                   d->factors[k].level != LAY_LOOP;
    const bool one_block = lay_level_size(l, LAY_GRID) == 1 && lay_level_size(l, LAY_CLUSTER) == 1;
    if (!one_block || !in_order) return (uint32_t)all;
    return (uint32_t)WBB_MIN(all, d->size / vector + lay_tail(l)); /* the last ones of one block are left out */
}

/* The product of the factors reaches the size, and would not with one less of the outermost. Reduced lanes are a power
 * of two: of those that stand outermost the last ones may have no element. */
static void check_cover(WbbCx *cx, WbbArena *a, const Layout *l, const LayDim *d)
{
    const LayFactor *v = lay_factor(d, LAY_VECTOR);
    const int64_t vector = v ? v->size : 1, tail = lay_tail(l);
    if (d->size % vector && !l->tail)
        lay_fail(cx, v->column, "vector %lld does not divide the %lld %s", (long long)vector,
                 (long long)d->size, d->name);
    const int64_t wanted = d->size / vector + tail;
    int64_t inner = 1, outer = 1;
    const LayFactor *outermost = NULL;
    for (uint32_t k = 0; k < d->n_factors; k++) {
        const LayFactor *f = &d->factors[k];
        if (f->level == LAY_VECTOR || f->size == 1) continue;
        if (tail && (f->level == LAY_REGISTER || f->level == LAY_LOOP))
            lay_fail(cx, f->column, "%s: vector %lld does not divide the %lld %s, so a thread has one vector",
                     lay_level_name[f->level], (long long)vector, (long long)d->size, d->name);
        inner = times(inner, outer);
        outer = f->size, outermost = f;
    }
    const int64_t needed = wanted / inner + (wanted % inner != 0);
    const char *what = tail ? wbb_format(a, "vectors of %lld and threads of the tail", (long long)vector)
                            : wbb_format(a, "vectors of %lld", (long long)vector);
    if (vector > 1) what = wbb_format(a, "%lld %s, %lld %s", (long long)d->size, d->name, (long long)wanted, what);
    else what = wbb_format(a, "%lld %s", (long long)d->size, d->name);
    if (outer < needed && outermost)
        lay_fail(cx, outermost->column, "%s %lld does not cover the %s: %lld would",
                 lay_level_name[outermost->level], (long long)outer, what, (long long)needed);
    if (outer < needed)
        lay_fail(cx, d->column, "%s: the factors do not cover the %s", d->name, what);
    if (outermost && d->reduced && outermost->level == LAY_LANE && needed > 1) return;
    if (outer > needed && outermost)
        lay_fail(cx, outermost->column, "%s %lld: %lld cover%s the %s", lay_level_name[outermost->level],
                 (long long)outer, (long long)needed, needed == 1 ? "s" : "", what);
}

/* Where the text has the outermost factor of a level. */
static int column_of(const Layout *l, LayLevel level)
{
    int column = 0;
    for (uint32_t d = 0; d < l->n_dims; d++) {
        const LayFactor *f = lay_factor(&l->dims[d], level);
        if (f) column = WBB_MAX(column, f->column);
    }
    return column;
}

void lay_check(WbbCx *cx, WbbArena *a, const Layout *l, const TgTarget *t)
{
    const LayFactor *vector = NULL;
    for (uint32_t d = 0; d < l->n_dims; d++) {
        const LayDim *x = &l->dims[d];
        for (uint32_t k = 0; k < x->n_factors; k++) {
            const LayFactor *f = &x->factors[k];
            if (f->level == LAY_VECTOR && k)
                lay_fail(cx, f->column, "vector: it is the innermost factor of its dimension");
            if (f->level == LAY_VECTOR && vector)
                lay_fail(cx, f->column, "vector: another dimension has one");
            if (f->level == LAY_VECTOR) vector = f;
            if (f->level == LAY_LANE && x->reduced && (f->size & (f->size - 1)))
                lay_fail(cx, f->column, "lane %lld: of a reduced dimension they are a power of two",
                         (long long)f->size);
        }
        check_cover(cx, a, l, x);
    }
    const int64_t lanes = lay_level_size(l, LAY_LANE), warps = lay_level_size(l, LAY_WARP);
    const int64_t blocks = times(lay_level_size(l, LAY_CLUSTER), lay_level_size(l, LAY_GRID));
    if (lanes > t->warp)
        lay_fail(cx, column_of(l, LAY_LANE), "%lld lanes: a warp of %s has %u", (long long)lanes, t->name,
                 t->warp);
    if (warps > 1 && lanes < t->warp)
        lay_fail(cx, column_of(l, LAY_WARP), "%lld warps of %lld lanes: with several warps each has %u",
                 (long long)warps, (long long)lanes, t->warp);
    if (times(lanes, warps) > TG_MAX_THREADS)
        lay_fail(cx, column_of(l, LAY_WARP), "%lld threads in a block, which has %d at most",
                 (long long)times(lanes, warps), TG_MAX_THREADS);
    if (blocks > INT32_MAX)
        lay_fail(cx, column_of(l, LAY_GRID), "%lld blocks: a launch has %d at most", (long long)blocks,
                 INT32_MAX);
}
