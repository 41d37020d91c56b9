/* layout.c: what a layout amounts to, and which layouts a kernel may have.
 *
 * Needs a layout of a space; leaves it, or fails at the column of its text that is at fault.
 *
 *     elements: vector 4, lane 32, warp 4, grid 59     of 29,799 elements: 7,449 vectors, 3 threads of the tail
 *     elements: vector 4, lane 32, warp 4, grid 60     "layout:1:39: error: grid 60: 59 cover the 29799 elements"
 */
#include "layout/layout.h"

#include <string.h>

const char *const part_level_name[PART_LEVELS] = {"vector", "register", "loop", "lane", "warp", "cluster", "grid"};

void part_layout_fail(WbbCx *cx, int column, const char *format, ...)
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

const PartFactor *part_factor(const PartDim *d, PartLevel level)
{
    for (uint32_t k = 0; k < d->n_factors; k++)
        if (d->factors[k].level == level) return &d->factors[k];
    return NULL;
}

void part_add_factor(PartDim *d, PartLevel level, int64_t size)
{
    if (size > 1) d->factors[d->n_factors++] = (PartFactor){.level = level, .size = size};
}

int64_t part_size(const PartDim *d, PartLevel level)
{
    const PartFactor *f = part_factor(d, level);
    return f ? f->size : 1;
}

int64_t part_layout_size(const PartLayout *l, PartLevel level)
{
    int64_t n = 1;
    for (uint32_t d = 0; d < l->n_dims; d++) n = times(n, part_size(&l->dims[d], level));
    return n;
}

PartReads part_reads(const TgTarget *t)
{
    return (PartReads){tg_tuned(t, "layout.rows_read"), tg_tuned(t, "layout.rows_of_lanes")};
}

PartHanding part_handing(const PartHanded *x, const PartReads *limits)
{
    enum { WARP = TG_BANKS }; /* a lane to each bank */
    const int64_t slots = x->kept * x->kept_lanes * x->kept_warps;
    const int64_t threads = x->lanes * x->kept_lanes * x->warps * x->kept_warps;
    PartHanding h = {.readers = 1, .rows = x->warps};
    if (x->first && slots == x->kept_warps && !(x->warps & (x->warps - 1))) {
        const int64_t each = 2 * limits->rows; /* no other warp is there to work meanwhile: shuffles take longer */
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

int64_t part_of_outer_lane(const PartDim *d)
{
    int64_t each = 1, outside = 0;
    for (uint32_t k = 0; k < d->n_factors; k++) {
        if (d->factors[k].level == PART_LANE) outside = 1;
        else if (outside) outside = times(outside, d->factors[k].size);
        else each = times(each, d->factors[k].size);
    }
    return outside == 1 ? each : 0;
}

int64_t part_layout_part(const PartLayout *l, PartLevel level, bool reduced)
{
    int64_t n = 1;
    for (uint32_t d = 0; d < l->n_dims; d++)
        if (l->dims[d].reduced == reduced) n = times(n, part_size(&l->dims[d], level));
    return n;
}

int64_t part_weight(const PartLayout *l, uint32_t of, PartLevel level)
{
    int64_t below = level == PART_GRID ? part_layout_size(l, PART_CLUSTER) : 1;
    for (uint32_t k = 0; k < l->n_dims; k++) {
        const uint32_t d = l->order[level] ? l->order[level][k] : k;
        if (d == of) break;
        below *= part_size(&l->dims[d], level);
    }
    return below;
}

int64_t part_layout_tail(const PartLayout *l)
{
    const PartFactor *v = l->tail ? part_factor(&l->dims[0], PART_VECTOR) : NULL;
    return v ? (l->dims[0].size % v->size + l->tail - 1) / l->tail : 0;
}

uint32_t part_layout_threads(const PartLayout *l)
{
    const int64_t all = times(part_layout_size(l, PART_LANE), part_layout_size(l, PART_WARP));
    const PartDim *d = &l->dims[0];
    const int64_t vector = part_size(d, PART_VECTOR);
    bool in_order = l->n_dims == 1;
    for (uint32_t k = 0, last = 0; k < d->n_factors; last = d->factors[k++].level)
        in_order = in_order && d->factors[k].level >= last && d->factors[k].level != PART_REGISTER &&
                   d->factors[k].level != PART_LOOP;
    const bool one_block = part_layout_size(l, PART_GRID) == 1 && part_layout_size(l, PART_CLUSTER) == 1;
    if (!one_block || !in_order) return (uint32_t)all;
    return (uint32_t)WBB_MIN(all, d->size / vector + part_layout_tail(l)); /* the last ones of one block are left out */
}

/* The product of the factors reaches the size, and would not with one less of the outermost. Reduced lanes are a power
 * of two: of those that stand outermost the last ones may have no element. */
static void check_cover(WbbCx *cx, WbbArena *a, const PartLayout *l, const PartDim *d)
{
    const PartFactor *v = part_factor(d, PART_VECTOR);
    const int64_t vector = v ? v->size : 1, tail = part_layout_tail(l);
    if (d->size % vector && !l->tail)
        part_layout_fail(cx, v->column, "vector %lld does not divide the %lld %s", (long long)vector,
                         (long long)d->size, d->name);
    const int64_t wanted = d->size / vector + tail;
    int64_t inner = 1, outer = 1;
    const PartFactor *outermost = NULL;
    for (uint32_t k = 0; k < d->n_factors; k++) {
        const PartFactor *f = &d->factors[k];
        if (f->level == PART_VECTOR || f->size == 1) continue;
        if (tail && (f->level == PART_REGISTER || f->level == PART_LOOP))
            part_layout_fail(cx, f->column, "%s: vector %lld does not divide the %lld %s, so a thread has one vector",
                             part_level_name[f->level], (long long)vector, (long long)d->size, d->name);
        inner = times(inner, outer);
        outer = f->size, outermost = f;
    }
    const int64_t needed = wanted / inner + (wanted % inner != 0);
    const char *what = tail ? wbb_format(a, "vectors of %lld and threads of the tail", (long long)vector)
                            : wbb_format(a, "vectors of %lld", (long long)vector);
    if (vector > 1) what = wbb_format(a, "%lld %s, %lld %s", (long long)d->size, d->name, (long long)wanted, what);
    else what = wbb_format(a, "%lld %s", (long long)d->size, d->name);
    if (outer < needed && outermost)
        part_layout_fail(cx, outermost->column, "%s %lld does not cover the %s: %lld would",
                         part_level_name[outermost->level], (long long)outer, what, (long long)needed);
    if (outer < needed)
        part_layout_fail(cx, d->column, "%s: the factors do not cover the %s", d->name, what);
    if (outermost && d->reduced && outermost->level == PART_LANE && needed > 1) return;
    if (outer > needed && outermost)
        part_layout_fail(cx, outermost->column, "%s %lld: %lld cover%s the %s", part_level_name[outermost->level],
                         (long long)outer, (long long)needed, needed == 1 ? "s" : "", what);
}

/* Where the text has the outermost factor of a level. */
static int column_of(const PartLayout *l, PartLevel level)
{
    int column = 0;
    for (uint32_t d = 0; d < l->n_dims; d++) {
        const PartFactor *f = part_factor(&l->dims[d], level);
        if (f) column = WBB_MAX(column, f->column);
    }
    return column;
}

void part_layout_check(WbbCx *cx, WbbArena *a, const PartLayout *l, const TgTarget *t)
{
    const PartFactor *vector = NULL;
    for (uint32_t d = 0; d < l->n_dims; d++) {
        const PartDim *x = &l->dims[d];
        for (uint32_t k = 0; k < x->n_factors; k++) {
            const PartFactor *f = &x->factors[k];
            if (f->level == PART_VECTOR && k)
                part_layout_fail(cx, f->column, "vector: it is the innermost factor of its dimension");
            if (f->level == PART_VECTOR && vector)
                part_layout_fail(cx, f->column, "vector: another dimension has one");
            if (f->level == PART_VECTOR) vector = f;
            if (f->level == PART_LANE && x->reduced && (f->size & (f->size - 1)))
                part_layout_fail(cx, f->column, "lane %lld: of a reduced dimension they are a power of two",
                                 (long long)f->size);
        }
        check_cover(cx, a, l, x);
    }
    const int64_t lanes = part_layout_size(l, PART_LANE), warps = part_layout_size(l, PART_WARP);
    const int64_t blocks = times(part_layout_size(l, PART_CLUSTER), part_layout_size(l, PART_GRID));
    if (lanes > t->warp)
        part_layout_fail(cx, column_of(l, PART_LANE), "%lld lanes: a warp of %s has %u", (long long)lanes, t->name,
                         t->warp);
    if (warps > 1 && lanes < t->warp)
        part_layout_fail(cx, column_of(l, PART_WARP), "%lld warps of %lld lanes: with several warps each has %u",
                         (long long)warps, (long long)lanes, t->warp);
    if (times(lanes, warps) > TG_MAX_THREADS)
        part_layout_fail(cx, column_of(l, PART_WARP), "%lld threads in a block, which has %d at most",
                         (long long)times(lanes, warps), TG_MAX_THREADS);
    if (blocks > INT32_MAX)
        part_layout_fail(cx, column_of(l, PART_GRID), "%lld blocks: a launch has %d at most", (long long)blocks,
                         INT32_MAX);
}
