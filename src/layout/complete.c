/* complete.c: sizes of the levels of a reduction's layout, from what a candidate wishes of them (share_layout.c).
 *
 * Needs a space and a wish; leaves levels that cover each dimension. What no other level takes is the loop's, of one
 * reduced dimension, or the grid's. lay_of writes them as a layout.
 *
 *     rows 8192; columns 1024, reduced; vector 4, 32 lanes and 2 warps of columns
 *       =>  columns: vector 4, lane 32, warp 2, register 4; rows: grid 8192
 */
#include "layout/pricing.h"

const LayLevel *lay_level_order(const LayWork *w, const LayDim *d)
{
    static const LayLevel apart[LAY_LEVELS] = {LAY_VECTOR, LAY_LANE, LAY_WARP, LAY_REGISTER,
                                               LAY_LOOP, LAY_CLUSTER, LAY_GRID};
    static const LayLevel in_order[LAY_LEVELS] = {LAY_VECTOR, LAY_REGISTER, LAY_LOOP, LAY_LANE,
                                                  LAY_WARP, LAY_CLUSTER, LAY_GRID};
    static const LayLevel near[LAY_LEVELS] = {LAY_VECTOR, LAY_REGISTER, LAY_LANE, LAY_WARP,
                                                   LAY_LOOP, LAY_CLUSTER, LAY_GRID};
    if (d->reduced && (w->scan || w->neighbours >> (d - w->dims) & 1)) return near;
    if (w->orders) return w->orders[d - w->dims];
    return d->reduced && !w->commutes ? in_order : apart;
}

/* The innermost dimension stands first: the lowest digits of lanes, warps and blocks are its own. */
Layout lay_of(WbbArena *a, const LayWork *w, const int64_t *sizes)
{
    const uint32_t n = w->n_dims;
    Layout l = {.dims = WBB_NEW_N(a, LayDim, n + 1u), .n_dims = n};
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t d = n - 1 - k;
        const LayLevel *order = lay_level_order(w, &w->dims[d]);
        LayDim *x = &l.dims[k];
        *x = w->dims[d];
        x->n_factors = 0;
        for (int p = 0; p < LAY_LEVELS; p++) {
            const int64_t size = sizes[d * LAY_LEVELS + order[p]];
            if (size > 1) x->factors[x->n_factors++] = (LayFactor){.level = order[p], .size = size};
        }
    }
    bool any = false;
    for (uint32_t k = 0; k < n; k++) any = any || l.dims[k].n_factors;
    if (!any) l.dims[0].factors[l.dims[0].n_factors++] = (LayFactor){.level = LAY_GRID, .size = 1};
    return l;
}

static int64_t take(int64_t *rest, int64_t wish)
{
    const int64_t n = WBB_MIN(wish, *rest);
    *rest = lay_up(*rest, n);
    return n;
}

/* Lanes that share results are as many as are wished for, a power of two: the last ones may have nothing. */
static int64_t take_lanes(int64_t *rest, int64_t wish, bool reduced)
{
    if (!reduced || *rest == 1 || wish < *rest) return take(rest, wish);
    *rest = 1;
    return wish;
}

static void begin(const LayWanted *x, uint32_t d, int64_t *s)
{
    for (int k = 0; k < LAY_LEVELS; k++) s[k] = 1;
    s[LAY_VECTOR] = d == x->vector_dim ? x->vector : 1;
}

/* The dimension that loops has as many terms a thread as no other level takes; another reduced one unrolls its terms
 * where there is room for them in straight code, else blocks have one each. */
static void share_terms(const LayWanted *x, uint32_t d, int64_t most, int64_t *room, int64_t *s)
{
    if (d == x->loop_dim) {
        s[LAY_LOOP] = lay_up(most, x->registers);
        s[LAY_REGISTER] = lay_up(most, s[LAY_LOOP]);
        s[LAY_LOOP] = lay_up(most, s[LAY_REGISTER]);
    } else if (most <= WBB_MIN(*room, LAY_MAX_FACTOR)) {
        s[LAY_REGISTER] = most;
        *room /= most;
    }
}

static void complete_dim(const LayWork *w, const LayWanted *x, uint32_t d, int64_t *room, int64_t *s)
{
    const LayDim *dim = &w->dims[d];
    begin(x, d, s);
    int64_t rest = dim->size / s[LAY_VECTOR];
    const int64_t splits = d == x->split_dim ? x->splits : 1;
    if (dim->reduced && w->scan) {
        const int64_t lanes = x->lanes[d], warps = x->warps[d];
        const int64_t terms = lay_up(rest, lanes * warps);
        s[LAY_REGISTER] = d == x->loop_dim ? WBB_MIN(WBB_MIN(x->registers, terms), LAY_MAX_FACTOR) : 1;
        rest = lay_up(rest, s[LAY_REGISTER]);
        s[LAY_LANE] = take_lanes(&rest, lanes, true);
        s[LAY_WARP] = take(&rest, warps);
        s[LAY_LOOP] = rest, rest = 1;
    } else if (dim->reduced && !w->commutes) { /* from the inside out: terms, lanes, warps, blocks */
        share_terms(x, d, lay_up(lay_up(rest, x->lanes[d] * x->warps[d]), splits), room, s);
        rest = lay_up(rest, s[LAY_REGISTER] * s[LAY_LOOP]);
        s[LAY_LANE] = take_lanes(&rest, x->lanes[d], true);
        s[LAY_WARP] = take(&rest, x->warps[d]);
    } else if (w->neighbours >> d & 1) {
        share_terms(x, d, lay_up(lay_up(rest, x->lanes[d] * x->warps[d]), splits), room, s);
        rest = lay_up(rest, s[LAY_REGISTER]);
        s[LAY_LANE] = take_lanes(&rest, x->lanes[d], true);
        s[LAY_WARP] = take(&rest, x->warps[d]);
        s[LAY_LOOP] = take(&rest, s[LAY_LOOP]);
    } else {
        s[LAY_LANE] = take_lanes(&rest, x->lanes[d], dim->reduced);
        s[LAY_WARP] = take(&rest, x->warps[d]);
        if (dim->reduced) share_terms(x, d, lay_up(rest, splits), room, s);
        else s[LAY_REGISTER] = WBB_MIN(x->kept[d], rest);
        rest = lay_up(rest, s[LAY_REGISTER] * s[LAY_LOOP]);
    }
    s[x->cluster && d == x->split_dim ? LAY_CLUSTER : LAY_GRID] = rest;
}

/* The reduced dimensions of terms that keep their order, as if they were one: the levels go to the first one until it
 * is covered, then on to the next. Lanes, warps and blocks go on where the dimension before has not used them up. */
static void complete_sequence(const LayWork *w, const LayWanted *x, int64_t *sizes)
{
    int64_t most[LAY_LEVELS] = {[LAY_LANE] = 1, [LAY_WARP] = 1}, after = 1, level = LAY_REGISTER;
    for (uint32_t k = 0; k < w->n_sequence; k++) {
        const uint32_t d = w->sequence[k];
        begin(x, d, sizes + (size_t)d * LAY_LEVELS);
        most[LAY_LANE] *= x->lanes[d], most[LAY_WARP] *= x->warps[d];
        after *= w->dims[d].size / (d == x->vector_dim ? x->vector : 1);
    }
    const int64_t threads = most[LAY_LANE] * most[LAY_WARP];
    most[LAY_REGISTER] = x->registers;
    for (uint32_t k = 0; k < w->n_sequence; k++) {
        int64_t *s = sizes + (size_t)w->sequence[k] * LAY_LEVELS;
        int64_t rest = w->dims[w->sequence[k]].size / s[LAY_VECTOR];
        after /= rest; /* positions in the dimensions after this one */
        for (; level < LAY_CLUSTER && rest > 1; level += rest > 1) {
            if (level == LAY_LOOP) most[level] = lay_up(lay_up(rest * after, threads), x->splits);
            s[level] = WBB_MIN(most[level], level == LAY_LANE ? lay_power_below(rest) : rest);
            rest = lay_up(rest, s[level]), most[level] /= s[level];
        }
        if (level <= LAY_LOOP && s[level] > 1) level++; /* of one dimension each */
        s[x->cluster ? LAY_CLUSTER : LAY_GRID] = rest;
    }
}

bool lay_complete(const LayWork *w, const LayWanted *x, int64_t room, int64_t *sizes)
{
    for (uint32_t k = 1; k < w->n_sequence; k++)
        if (x->vector_dim == w->sequence[k]) return false;
    if (w->n_sequence) complete_sequence(w, x, sizes);
    for (uint32_t d = w->n_dims; d-- > 0;)
        if (!w->n_sequence || !w->dims[d].reduced) complete_dim(w, x, d, &room, sizes + (size_t)d * LAY_LEVELS);
    return true;
}

uint64_t lay_sizes_hash(const LayWork *w, const int64_t *sizes)
{
    uint64_t h = 0;
    for (uint32_t k = 0; k < w->n_dims * LAY_LEVELS; k++) h = h * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)sizes[k];
    return wbb_hash(&h, sizeof h, 0);
}
