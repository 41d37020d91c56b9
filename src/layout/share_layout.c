/* share_layout.c: the layouts that are tried of a stage whose threads share terms: reductions and scans.
 *
 * Needs a description of the work (pricing.h); leaves the cheapest layouts with their prices (chooser.h). What is tried
 * comes from patterns/layouts.py. Wishes are made in three stages, each of which varies the cheapest of all before it:
 *
 *     lanes      the vector, and the dimensions that share the 32 lanes
 *     warps      of a block: those that share a result, and those with results of their own
 *     the rest   unrolled terms, the dimension that loops, blocks that share a result, results of a thread
 *
 * What no level takes is the loop's, of one reduced dimension, or the grid's. A candidate is legal by construction or
 * left out: lay_check and plan_space_check would take each.
 *
 *     rows f32[8192,1024]   =>   columns: vector 4, lane 32, register 8; rows: warp 8, grid 1024
 */
#include "layout/chooser.h"

#include <string.h>

enum { NONE = UINT32_MAX };

typedef LayWanted Wish;

typedef struct {
    Wish wish;
    int64_t *sizes;   /* [n_dims * LAY_LEVELS] */
} Shared;

typedef struct {
    WbbArena *a;
    const LayWork *w;
    const TgTarget *t;
    LayChooser *k;
    /* Numbers of patterns/layouts.py, with their reasons there. Sets of powers of two, as sums: */
    int64_t warps, reduced_warps;         /* of a block; of those, that share a result */
    int64_t registers, whole_registers;   /* unrolled terms of a thread; those that leave no loop */
    int64_t kept_registers;               /* results of a thread whose results have few terms */
    int64_t repeated_registers;           /* results of a thread, at most, for which it loads once */
    int64_t blocks;                       /* of an SM, at which a split of the reduced dimensions aims */
    /* what is tried */
    int64_t vectors;                      /* widths of a vector */
    int64_t start_warps, start_registers; /* while lanes are compared; while lanes and warps are */
    int64_t clusters;                     /* blocks of a cluster at most */
    /* what is refused */
    int64_t small, most_padding;          /* elements of a small space; percent of elements that are covered */
    int64_t few_terms;                    /* of a thread with several results */
    bool padded;      /* any padding is allowed */
    uint32_t min_run; /* bytes that lanes read side by side at least; 0: any */
    double min_bits;  /* of the smallest array for which that counts */
} Choosing;

static bool is_power(int64_t n) { return !(n & (n - 1)); }

/* --- one candidate ------------------------------------------------------------------------------------------------ */
static int64_t of_level(const LayWork *w, const int64_t *sizes, LayLevel level, bool reduced)
{
    int64_t n = 1;
    for (uint32_t d = 0; d < w->n_dims; d++)
        if (w->dims[d].reduced == reduced) {
            const WbbI128 product = (WbbI128)n * sizes[d * LAY_LEVELS + level];
            n = product > INT64_MAX ? INT64_MAX : (int64_t)product;
        }
    return n;
}

/* Of all dimensions. */
static int64_t all_of_level(const LayWork *w, const int64_t *sizes, LayLevel level)
{
    const WbbI128 all = (WbbI128)of_level(w, sizes, level, false) * of_level(w, sizes, level, true);
    return all > INT64_MAX ? INT64_MAX : (int64_t)all;
}

/* Positions that the layout covers, over elements. */
static double padding(const LayWork *w, const int64_t *sizes)
{
    double n = 1;
    for (uint32_t d = 0; d < w->n_dims; d++) {
        double covered = 1;
        for (int k = 0; k < LAY_LEVELS; k++) covered *= (double)sizes[d * LAY_LEVELS + (uint32_t)k];
        n *= covered / (double)w->dims[d].size;
    }
    return n;
}

/* May a kernel have the sizes, and are they worth a price? */
static bool is_legal(const Choosing *c, const int64_t *sizes)
{
    const LayWork *w = c->w;
    const int64_t lanes = all_of_level(w, sizes, LAY_LANE), warps = all_of_level(w, sizes, LAY_WARP);
    const bool shuffles = of_level(w, sizes, LAY_LANE, true) > 1;
    if (lanes > c->t->warp || ((shuffles || warps > 1) && lanes != c->t->warp)) return false;
    if (!w->splits && of_level(w, sizes, LAY_GRID, true) > 1) return false;
    const int64_t vector = sizes[(w->n_dims - 1) * LAY_LEVELS + LAY_VECTOR];
    if (w->packed_group > 1 && vector % w->packed_group) return false;
    if (all_of_level(w, sizes, LAY_CLUSTER) > WBB_MAX(c->clusters, 1)) return false;
    for (uint32_t d = 0; d < w->n_dims; d++) {
        const int64_t *s = sizes + (size_t)d * LAY_LEVELS;
        if (w->dims[d].reduced && !is_power(s[LAY_LANE])) return false;
        if (s[LAY_REGISTER] > LAY_MAX_FACTOR) return false;
    }
    return c->padded || padding(w, sizes) * 100 <= (double)c->most_padding;
}

/* Of its sizes, those of kept or reduced dimensions alone, if both are not counted. */
static double elements(const LayWork *w, bool kept, bool reduced)
{
    double n = 1;
    for (uint32_t d = 0; d < w->n_dims; d++)
        if (w->dims[d].reduced ? reduced : kept) n *= (double)w->dims[d].size;
    return n;
}

/* A block of sums across rows has its share of them, one after the other, in whole iterations of all its threads. */
static bool loop_rows(const Choosing *c, int64_t *sizes)
{
    bool whole = false;
    for (uint32_t d = 0; d < c->w->n_dims; d++) {
        int64_t *s = sizes + (size_t)d * LAY_LEVELS, each = 1;
        if (c->w->dims[d].reduced) {
            if (s[LAY_LOOP] > 1 || s[LAY_CLUSTER] > 1 || s[LAY_GRID] > 1) return false;
            continue;
        }
        for (int k = 0; k < LAY_GRID; k++) each *= s[k];
        whole = c->w->dims[d].size % (each * c->w->across_blocks) == 0 && is_power(s[LAY_LANE]);
        s[LAY_GRID] = c->w->across_blocks, s[LAY_LOOP] = c->w->dims[d].size / each / s[LAY_GRID];
    }
    return whole;
}

/* What a wish amounts to. */
static bool make(void *of, const void *wish, void *what, uint64_t *hash)
{
    const Choosing *c = of;
    const Wish *x = wish;
    const uint32_t n = c->w->n_dims;
    Shared *s = what;
    if (!s->sizes) {
        s->sizes = WBB_NEW_N(c->a, int64_t, (size_t)n * (LAY_LEVELS + 3) + 1u);
        s->wish.lanes = s->sizes + (size_t)n * LAY_LEVELS, s->wish.warps = s->wish.lanes + n;
        s->wish.kept = s->wish.warps + n;
    }
    int64_t *lanes = s->wish.lanes, *warps = s->wish.warps, *kept = s->wish.kept, room = c->k->max_terms;
    memcpy(lanes, x->lanes, n * sizeof *lanes), memcpy(warps, x->warps, n * sizeof *warps);
    memcpy(kept, x->kept, n * sizeof *kept);
    s->wish = *x;
    s->wish.lanes = lanes, s->wish.warps = warps, s->wish.kept = kept;
    room /= x->vector * x->registers;
    for (uint32_t d = 0; d < n; d++) room /= kept[d];
    if (!lay_complete(c->w, x, room, s->sizes)) return false;
    if (x->whole && all_of_level(c->w, s->sizes, LAY_LOOP) > 1) return false;
    if (c->w->across && !loop_rows(c, s->sizes)) return false;
    *hash = lay_sizes_hash(c->w, s->sizes);
    return is_legal(c, s->sizes);
}

static bool needs(void *of, void *what, LayNeeds *to)
{
    const Choosing *c = of;
    *to = lay_needs(c->k->r, c->w, ((const Shared *)what)->sizes);
    return true;
}

static LayPrice price(void *of, void *what, const LayNeeds *needs_of)
{
    const Choosing *c = of;
    return lay_price(c->k->r, c->w, ((const Shared *)what)->sizes, needs_of);
}

static void prefer(void *of, const LayTie *tie, const LayTried *x, int64_t *key)
{
    const Choosing *c = of;
    lay_preferences(tie, c->w, ((const Shared *)x->what)->sizes, &x->price, key);
}

static void list(void *of, const LayTried *x, LayPriced *to)
{
    const Choosing *c = of;
    to->layout = lay_of(c->a, c->w, ((const Shared *)x->what)->sizes);
}

static const LayProgram program = {.bytes = sizeof(Shared), .make = make, .needs = needs, .price = price,
                                   .prefer = prefer, .list = list};

/* --- warps -------------------------------------------------------------------------------------------------------- */
/* What the vector and lanes leave of a dimension. */
static int64_t after_lanes(const Choosing *c, const Wish *x, uint32_t d)
{
    return lay_up(c->w->dims[d].size / (d == x->vector_dim ? x->vector : 1), x->lanes[d]);
}

/* Warps with results of their own go to the innermost kept dimensions that have room; those that share results to one
 * reduced dimension. */
static void wish_warps(const Choosing *c, Wish *x, int64_t kept, int64_t reduced, uint32_t reduced_dim)
{
    for (uint32_t d = c->w->n_dims; d-- > 0;) {
        x->warps[d] = 1;
        if (c->w->dims[d].reduced) continue;
        while (2 * x->warps[d] <= kept && x->warps[d] < after_lanes(c, x, d)) x->warps[d] *= 2;
        kept /= x->warps[d];
    }
    if (reduced_dim != NONE) x->warps[reduced_dim] = reduced;
}

/* The reduced dimension of which lanes leave most, but for `but`; NONE: none has any. */
static uint32_t longest(const Choosing *c, const Wish *x, uint32_t but)
{
    uint32_t best = NONE;
    int64_t most = 1;
    for (uint32_t d = c->w->n_dims; d-- > 0;) {
        if (!c->w->dims[d].reduced || d == but || after_lanes(c, x, d) <= most) continue;
        most = after_lanes(c, x, d), best = d;
    }
    return best;
}

/* All of a set of powers of two, from above. */
static int64_t next_power(int64_t set, int64_t below)
{
    for (int64_t p = below / 2; p > 0; p /= 2)
        if (set & p) return p;
    return 0;
}
enum { ABOVE_ALL = 1 << 20 };

static void vary_warps(Choosing *c, const Wish *of)
{
    const uint32_t n = c->w->n_dims;
    Wish x = *of;
    x.warps = WBB_NEW_N(c->a, int64_t, n + 1u);
    const int64_t set = c->warps, shares = c->reduced_warps;
    const uint32_t dims[] = {longest(c, &x, NONE), longest(c, &x, longest(c, &x, NONE))};
    for (int64_t all = next_power(set, ABOVE_ALL); all; all = next_power(set, all))
        for (int64_t reduced = all; reduced; reduced = next_power(shares, reduced))
            for (uint32_t k = 0; k < WBB_LEN(dims); k++) {
                if (reduced == 1 ? k > 0 : dims[k] == NONE) continue;
                wish_warps(c, &x, all / reduced, reduced, dims[k]);
                lay_try(c->k, &x);
            }
}

/* --- the rest ----------------------------------------------------------------------------------------------------- */
/* A split aims at so many blocks of each SM. */
static void vary_splits(Choosing *c, Wish *x, int64_t kept)
{
    const int64_t set = c->blocks, sms = c->t->sms;
    x->split_dim = NONE, x->splits = 1;
    lay_try(c->k, x);
    const uint32_t dims[] = {x->loop_dim, longest(c, x, x->loop_dim)};
    x->cluster = true; /* where there are few results, or where its blocks hold a row that is read again */
    for (int64_t n = c->clusters; n > 1 && (kept < sms || (x->whole && c->w->passes > 1)); n /= 2)
        for (uint32_t k = 0; k < WBB_LEN(dims); k++) {
            x->split_dim = dims[k], x->splits = n;
            if (dims[k] != NONE) lay_try(c->k, x);
        }
    x->split_dim = NONE, x->splits = 1, x->cluster = false;
    if (!c->w->splits) return;
    for (int64_t blocks = next_power(set, ABOVE_ALL); blocks; blocks = next_power(set, blocks))
        for (uint32_t k = 0; k < WBB_LEN(dims); k++) {
            x->split_dim = dims[k], x->splits = lay_up(blocks * sms, kept);
            if (dims[k] != NONE && x->splits > 1 && kept < blocks * sms) lay_try(c->k, x);
        }
    x->split_dim = NONE, x->splits = 1;
}

static double load_bits(const LayAccess *x) { return (double)x->elements * x->bits; }

/* Is an array that matters the same along a kept dimension? What a thread loads of it serves all its results there. */
static bool is_repeated(const Choosing *c, uint32_t d)
{
    for (uint32_t k = 0; k < c->w->n_loads && !c->w->dims[d].reduced; k++)
        if (load_bits(&c->w->loads[k]) >= c->min_bits && !c->w->loads[k].step[d]) return true;
    return false;
}

static void set_ones(const Choosing *c, int64_t *to)
{
    for (uint32_t d = 0; d < c->w->n_dims; d++) to[d] = 1;
}

/* Results of a thread along two dimensions of each of which a factor of the products has nothing. */
static void vary_sides(Choosing *c, Wish *x)
{
    for (uint32_t d = 1; d < c->w->n_dims; d++)
        for (uint32_t e = 0; e < d; e++) {
            if (!is_repeated(c, d) || !is_repeated(c, e)) continue;
            set_ones(c, x->kept);
            for (x->kept[d] = c->repeated_registers; x->kept[d]; x->kept[d] /= 2)
                for (x->kept[e] = c->repeated_registers; x->kept[e]; x->kept[e] /= 2)
                    for (x->registers = c->start_registers; x->registers; x->registers /= 4) lay_try(c->k, x);
        }
}

static void vary_rest(Choosing *c, const Wish *of, const int64_t *sizes)
{
    const int64_t kept = of_level(c->w, sizes, LAY_GRID, false);
    const uint32_t loops[] = {of->loop_dim, longest(c, of, of->loop_dim)};
    Wish x = *of;
    for (uint32_t k = 0; k < WBB_LEN(loops); k++) {
        if (k > 0 && loops[k] == NONE) continue;
        x.loop_dim = loops[k];
        for (int64_t p = next_power(c->registers, ABOVE_ALL); p; p = next_power(c->registers, p)) {
            x.registers = p;
            vary_splits(c, &x, kept);
        }
        x.registers = c->whole_registers, x.whole = true;
        vary_splits(c, &x, kept);
        x.whole = false;
    }
    x = *of;
    x.kept = WBB_NEW_N(c->a, int64_t, c->w->n_dims + 1u);
    vary_sides(c, &x);
    int64_t terms = 1;
    for (uint32_t d = 0; d < c->w->n_dims; d++) {
        const int64_t *s = sizes + (size_t)d * LAY_LEVELS;
        if (c->w->dims[d].reduced) terms *= s[LAY_VECTOR] * s[LAY_REGISTER] * s[LAY_LOOP];
    }
    if (terms > c->few_terms) return;
    x.registers = of->registers;
    for (uint32_t d = c->w->n_dims; d-- > 0;) {
        if (c->w->dims[d].reduced) continue;
        set_ones(c, x.kept);
        for (int64_t p = next_power(c->kept_registers, ABOVE_ALL); p > 1; p = next_power(c->kept_registers, p)) {
            x.kept[d] = p;
            lay_try(c->k, &x);
        }
    }
}

/* --- lanes -------------------------------------------------------------------------------------------------------- */
/* The vectors that are tried along a dimension, powers of two, as the sum of their sizes: the widest ones, and the one
 * of the array with most of the bytes. */
static int64_t tried_vectors(const Choosing *c, uint32_t d, int64_t widest)
{
    int64_t all = c->vectors > 1 ? lay_main_vector(c->w, c->t, d) : 0;
    for (int64_t k = 1; k < c->vectors; k++, widest /= 2) all |= widest;
    return all;
}

/* Do the lanes read enough side by side, of an array that matters? */
static bool is_coalesced(const Choosing *c, const Wish *x)
{
    bool any = false;
    for (uint32_t k = 0; k < c->w->n_loads; k++)
        for (uint32_t d = 0; d < c->w->n_dims; d++) {
            const LayAccess *load = &c->w->loads[k];
            if (load_bits(load) < c->min_bits) continue;
            if (!load->step[d] || load->step[d] > 8 * TG_SECTOR / load->bits) continue;
            any = true;
            const int64_t side = x->lanes[d] * (d == x->vector_dim ? x->vector : 1);
            if (side * load->step[d] * load->bits >= 8 * (int64_t)c->min_run || side >= c->w->dims[d].size) return true;
        }
    return !any;
}

/* A power of two of warps that have all of the innermost kept dimension that lanes leave; 1: lanes have all of it, or
 * leave more than that many warps would take. */
static int64_t warps_across(const Choosing *c, const Wish *x)
{
    uint32_t d = c->w->n_dims - 1;
    while (d > 0 && c->w->dims[d].reduced) d--;
    int64_t n = 1;
    while (n < after_lanes(c, x, d)) n *= 2;
    return c->w->dims[d].reduced || n >= c->start_warps ? 1 : n;
}

/* Lanes with warps of both kinds, and a split where there are few results: enough to compare lanes. */
static void consider_lanes(Choosing *c, Wish *x)
{
    if (!is_coalesced(c, x)) return;
    const uint32_t reduced = longest(c, x, NONE);
    const int64_t some = c->start_warps;
    x->loop_dim = reduced;
    const int64_t across = warps_across(c, x);
    const struct { int64_t own, sharing; } kinds[] = { /* results of their own, or a part of one */
        {some, 1}, {1, some}, {1, 1}, {across, lay_power_below(some / across * 2)}};
    for (uint32_t kind = 0; kind < WBB_LEN(kinds); kind++) {
        if ((kind % 2 && reduced == NONE) || (kind == 3 && across == 1)) continue;
        wish_warps(c, x, kinds[kind].own, kinds[kind].sharing, reduced);
        x->split_dim = NONE, x->splits = 1;
        const bool few = reduced == NONE || after_lanes(c, x, reduced) <= c->few_terms;
        const uint32_t before = c->k->all.n;
        for (x->registers = few ? c->few_terms : c->start_registers; x->registers && c->k->all.n == before;) {
            lay_try(c->k, x); /* long code has room for fewer terms */
            if (c->k->all.n == before) x->registers /= 2;
        }
        if (c->k->all.n == before) continue;
        const int64_t kept = of_level(c->w, ((const Shared *)c->k->all.items[before].what)->sizes, LAY_GRID, false);
        if (kept >= c->t->sms || reduced == NONE || !c->w->splits) continue;
        x->split_dim = reduced, x->splits = lay_up(2 * (int64_t)c->t->sms, kept);
        lay_try(c->k, x);
    }
}

/* A kept dimension that is so short that a thread has all of it: one along which it loads once, or the innermost one;
 * NONE: there is none. */
static uint32_t short_dim(const Choosing *c, const Wish *x)
{
    for (uint32_t d = c->w->n_dims; d-- > 0;) {
        const int64_t left = after_lanes(c, x, d);
        if (left > 1 && left <= c->repeated_registers && is_repeated(c, d)) return d;
    }
    for (uint32_t d = c->w->n_dims; d-- > 0;)
        if (!c->w->dims[d].reduced && after_lanes(c, x, d) > 1)
            return next_power(c->kept_registers, ABOVE_ALL) >= after_lanes(c, x, d) ? d : NONE;
    return NONE;
}

static Wish new_wish(const Choosing *c, uint32_t vector_dim, int64_t vector)
{
    const uint32_t n = c->w->n_dims;
    Wish x = {.vector_dim = vector_dim, .vector = vector, .loop_dim = NONE, .split_dim = NONE, .splits = 1};
    x.lanes = WBB_NEW_N(c->a, int64_t, 3 * n + 1u), x.warps = x.lanes + n, x.kept = x.warps + n;
    set_ones(c, x.lanes), set_ones(c, x.warps), set_ones(c, x.kept);
    return x;
}

/* All ways to give the lanes to one or two dimensions. */
static void vary_lanes(Choosing *c, uint32_t vector_dim, int64_t vector)
{
    const uint32_t n = c->w->n_dims;
    Wish x = new_wish(c, vector_dim, vector);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j <= i; j++)
            for (int64_t lanes = i == j ? c->t->warp : 2; lanes < (i == j ? 2 : 1) * (int64_t)c->t->warp; lanes *= 2) {
                set_ones(c, x.lanes), set_ones(c, x.kept);
                x.lanes[i] = lanes;
                if (j != i) x.lanes[j] = c->t->warp / lanes;
                const uint32_t whole = short_dim(c, &x);
                if (whole != NONE) x.kept[whole] = after_lanes(c, &x, whole);
                consider_lanes(c, &x);
                if (whole == NONE || elements(c->w, true, false) >= c->t->sms) continue;
                x.kept[whole] = 1; /* a block each: an SM alone gets few bytes in a time */
                consider_lanes(c, &x);
            }
}

/* Are the terms of a result neighbours of a line at most? L1 has it from the first of a thread's loads to the last. */
static bool is_within_lines(const Choosing *c)
{
    const uint32_t d = c->w->n_dims - 1;
    bool within = c->w->dims[d].reduced && elements(c->w, false, true) == (double)c->w->dims[d].size;
    for (uint32_t k = 0; k < c->w->n_loads; k++)
        within = within && c->w->loads[k].step[d] <= 1 && c->w->dims[d].size * c->w->loads[k].bits <= 8 * TG_LINE;
    return within;
}

/* In a small space, or of short rows, a thread with all terms of a result in straight code, whatever lanes read side by
 * side: that has one latency of memory, and none of shuffles. */
static void consider_alone(Choosing *c, uint32_t vector_dim, int64_t vector)
{
    const uint32_t n = c->w->n_dims;
    Wish x = new_wish(c, vector_dim, vector);
    x.registers = c->k->max_terms, x.whole = true;
    if (c->w->scan || (elements(c->w, true, true) > (double)c->small && !is_within_lines(c))) return;
    if (elements(c->w, false, true) > (double)c->k->max_terms) return;
    int64_t lanes = c->t->warp;
    for (uint32_t d = n; d-- > 0;) { /* lanes along the inner dimensions alone: fewer digits to a number */
        const int64_t room = c->w->dims[d].size / (d == vector_dim ? vector : 1);
        if (!c->w->dims[d].reduced) x.lanes[d] = WBB_MIN(lanes, room);
        lanes /= x.lanes[d];
        x.loop_dim = longest(c, &x, NONE);
        for (int64_t warps = 1; warps <= c->start_warps && (!d || x.lanes[d] > 1); warps *= c->start_warps) {
            wish_warps(c, &x, warps, 1, NONE);
            lay_try(c->k, &x);
        }
    }
}

/* Long rows that are read again, in the registers of a block or a cluster: the beam seldom leads there. `lanes` of the
 * 32 are those of kept dimension `side`, whose neighbours they read side by side where the row's are not neighbours, or
 * of `along`, another reduced one, which warps and blocks have. */
static void consider_held(Choosing *c, uint32_t d, uint32_t along, uint32_t side, int64_t lanes, int64_t vector)
{
    Wish x = new_wish(c, side, vector);
    x.loop_dim = x.split_dim = along, x.registers = along == d ? c->whole_registers : 1, x.whole = true;
    x.lanes[side != d ? side : along] = lanes;
    x.lanes[d] = c->t->warp / lanes;
    const int64_t side_by_side = side == d ? 1 : lanes * vector;
    const int64_t few = c->k->max_terms * c->start_warps / 2 * c->t->warp;
    const bool is_long = along != d || c->w->dims[d].size > few / side_by_side;
    if (!is_long && (side == d || after_lanes(c, &x, d) <= c->few_terms)) return; /* lanes were compared so */
    if (!is_coalesced(c, &x)) return;
    for (int64_t warps = next_power(c->warps, ABOVE_ALL); warps > 1; warps = next_power(c->warps, warps))
        for (x.splits = 1; x.splits <= (is_long ? WBB_MAX(c->clusters, 1) : 1); x.splits *= 2) {
            wish_warps(c, &x, 1, warps, along);
            x.cluster = x.splits > 1;
            lay_try(c->k, &x);
        }
}

/* With the widest vectors of `side`, and so many lanes along it as read a sector or more. */
static void vary_held(Choosing *c, uint32_t d, uint32_t along, uint32_t side)
{
    const int64_t most = side != d ? c->t->warp / 2 : along != d ? c->t->warp / 8 : 1;
    const int64_t widest = lay_widest_vector(c->w, c->t, side), tried = tried_vectors(c, side, widest);
    for (int64_t vector = widest; vector > 0; vector /= 2)
        for (int64_t lanes = 1; vector & tried && lanes <= most; lanes *= 2)
            consider_held(c, d, along, side, lanes, vector);
}

static void make_held(Choosing *c)
{
    const uint32_t n = c->w->n_dims;
    if (c->w->passes <= 1 || c->w->scan) return;
    for (uint32_t d = n; d-- > 0;) {
        if (!c->w->dims[d].reduced) continue;
        if (!c->w->dims[n - 1].reduced) vary_held(c, d, d, n - 1);
        if (!lay_is_contiguous(c->w, d)) continue;
        vary_held(c, d, d, d);
        for (uint32_t along = 0; along < n; along++)
            if (along != d && c->w->dims[along].reduced) vary_held(c, d, along, d);
    }
}

static void make_lanes(Choosing *c)
{
    vary_lanes(c, NONE, 1);
    consider_alone(c, NONE, 1);
    for (uint32_t d = c->w->n_dims; d-- > 0;) {
        if (!lay_is_contiguous(c->w, d) && (d != c->w->n_dims - 1 || c->w->packed_group <= 1)) continue;
        const int64_t widest = lay_widest_vector(c->w, c->t, d), tried = tried_vectors(c, d, widest);
        for (int64_t vector = widest; vector > 1; vector /= 2) {
            if (!(vector & tried)) continue;
            vary_lanes(c, d, vector);
            consider_alone(c, d, vector);
        }
    }
}

/* A thread a result: whatever the space is, this is a layout of it. */
static void make_last_resort(Choosing *c)
{
    Wish x = new_wish(c, NONE, 1);
    x.registers = 1;
    if (c->w->packed_group > 1) x.vector_dim = c->w->n_dims - 1, x.vector = c->w->packed_group;
    x.loop_dim = longest(c, &x, NONE);
    const bool padded = c->padded;
    c->padded = true, c->k->seen = (WbbMap){.arena = c->a};
    lay_try(c->k, &x);
    c->padded = padded;
}

/* --- the choice --------------------------------------------------------------------------------------------------- */
static void read_numbers(Choosing *c)
{
    const TgTarget *t = c->t;
    c->vectors = tg_tuned(t, "layout.vectors"), c->most_padding = tg_tuned(t, "layout.padding");
    c->small = tg_tuned(t, "layout.small");
    if (elements(c->w, true, true) <= (double)c->small) c->most_padding = tg_tuned(t, "layout.padding.small");
    c->warps = tg_tuned(t, "layout.warps"), c->reduced_warps = tg_tuned(t, "layout.reduced_warps");
    c->registers = tg_tuned(t, "layout.registers"), c->whole_registers = tg_tuned(t, "layout.registers.whole");
    c->kept_registers = tg_tuned(t, "layout.kept_registers");
    c->repeated_registers = tg_tuned(t, "layout.repeated_registers");
    c->clusters = tg_has(t, "cluster") && !c->w->scan ? tg_tuned(t, "layout.cluster") : 1;
    c->few_terms = tg_tuned(t, "layout.few_terms"), c->blocks = tg_tuned(t, "layout.blocks");
    c->start_warps = tg_tuned(t, "layout.start.warps"), c->start_registers = tg_tuned(t, "layout.start.registers");
    c->min_run = (uint32_t)tg_tuned(t, "layout.min_run"), c->min_bits = 0;
    for (uint32_t k = 0; k < c->w->n_loads; k++) c->min_bits = WBB_MAX(c->min_bits, load_bits(&c->w->loads[k]));
    c->min_bits = WBB_MAX(c->min_bits * (double)tg_tuned(t, "layout.min_share") / 100,
                          8 * (double)tg_tuned(t, "layout.min_bytes"));
}

/* Does some layout that was tried have warps of all lanes? Others have a warp a block, as 17 columns in 17 lanes: then
 * more padding than layout.padding is tried. */
static bool any_whole_warp(const Choosing *c)
{
    for (uint32_t n = 0; n < c->k->all.n; n++) {
        const Shared *x = c->k->all.items[n].what;
        if (all_of_level(c->w, x->sizes, LAY_LANE) == c->t->warp) return true;
    }
    return false;
}

LayChoice lay_choose_layout(WbbArena *a, const LayWork *w, const TgTarget *t)
{
    Choosing c = {.a = a, .w = w, .t = t};
    LayChooser *k = c.k = lay_chooser(a, t, &program, &c);
    read_numbers(&c);
    make_lanes(&c);
    if (!k->all.n) c.min_run = 0, make_lanes(&c);
    if (!any_whole_warp(&c)) c.padded = true, k->all.n = 0, k->seen = (WbbMap){.arena = a}, make_lanes(&c);
    if (!k->all.n) make_last_resort(&c);
    uint32_t *best = WBB_NEW_N(a, uint32_t, k->beam + 1u), taken;
    for (int stage = 0; stage < 2; stage++) {
        const uint32_t n = lay_cheapest(k, best, k->beam);
        for (uint32_t j = 0; j < n; j++) {
            const Shared *x = k->all.items[best[j]].what;
            if (stage == 0) vary_warps(&c, &x->wish);
            else vary_rest(&c, &x->wish, x->sizes);
        }
    }
    make_held(&c);
    LayChoice choice;
    if (lay_decide(k, &taken, &choice)) choice.traffic = lay_traffic(a, w, &choice.best[0].layout, k->r);
    return choice;
}
