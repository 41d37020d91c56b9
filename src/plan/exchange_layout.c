/* exchange_layout.c: the layouts of the two stages of an exchange, and the tile between them.
 *
 * Needs what each stage accesses; leaves the cheapest layouts, if a loop over elements takes longer. A tile is a box of
 * the space: as many elements side by side as patterns/layouts.py has runs, in the order of reading and in that of
 * storing. Dimensions that fill a run together are one dimension of the stage's layout. A stage has a vector along its
 * own run, and the tile is stored along one of both runs, the units: there the other stage has neighbouring registers,
 * so that both access several elements of the tile at once. The rest of the lanes, then the warps, share the other
 * dimensions.
 *
 *     f32[4096,4096] transposed     put   d0: vector 4, lane 16, grid 64; d1: register 4, lane 2, warp 8, grid 64
 *                                   get   d1: vector 4, lane 16, grid 64; d0: lane 2, warp 8, register 4, grid 64
 *                                   tile  64 * d0 + d1, and 4 more after every 256
 */
#include "layout/chooser.h"
#include "plan/exchange.h"

#include <string.h>

enum { DIMS = PLAN_EXCHANGE_DIMS };

typedef struct {
    const PlanExchange *x;
    WbbArena *a;
    LayChooser *k;
    uint32_t n;                     /* dimensions */
    const int64_t *size;
    uint32_t order[PLAN_SIDES][DIMS];    /* the fastest first */
    const PlanGroup *groups[PLAN_SIDES][DIMS + 1]; /* by number of merged dimensions; NULL: not made yet */
    LayWork work[PLAN_SIDES][DIMS + 1];
    int64_t runs, warps, odd, most_tile, pads, guard, most_pixels, narrower, conflicts;
} Choosing;

static int64_t power_from(int64_t n) /* at least n */
{
    const int64_t p = lay_power_below(n);
    return p < n ? 2 * p : p;
}

uint32_t plan_exchange_group(const PlanExchange *x, int side)
{
    uint32_t group = 1;
    for (uint32_t k = 0; k < x->n_stored[side]; k++) {
        const PlanValue v = x->p->roots[x->stored[side][k]];
        group = WBB_MAX(group, plan_packed_group(plan_shape(v.i, v.part)->type));
    }
    return group;
}

/* --- tiles and groups --------------------------------------------------------------------------------------------- */
/* The box reaches over `run` elements in the order of a side. */
static void reach(const Choosing *c, int side, int64_t run, int64_t *tile)
{
    for (uint32_t k = 0; k < c->n && run > 1; k++) {
        const uint32_t d = c->order[side][k];
        const int64_t wanted = WBB_MIN(power_from(run), c->size[d]);
        tile[d] = WBB_MAX(tile[d], wanted);
        run = lay_up(run, wanted);
    }
}

/* May the dimension after d be one with it, in the order of a side? */
static bool follows(const Choosing *c, int side, uint32_t d, uint32_t next)
{
    return side == PLAN_FROM || c->x->read_step[next] == c->x->read_step[d] * c->size[d];
}

/* How many dimensions make up the run of a side. */
static uint32_t merged_of(const Choosing *c, int side, const int64_t *tile, int64_t run)
{
    const uint32_t *order = c->order[side];
    int64_t elements = tile[order[0]];
    uint32_t n = 1;
    while (n < c->n && elements < run && tile[order[n - 1]] == c->size[order[n - 1]] && tile[order[n]] > 1 &&
           follows(c, side, order[n - 1], order[n]))
        elements *= tile[order[n++]];
    return n;
}

/* The first group is the run, the others have a dimension each, in the order of the space. */
static void make_groups(Choosing *c, int side, uint32_t merged)
{
    PlanGroup *groups = WBB_NEW_N(c->a, PlanGroup, c->n + 1u);
    bool in_run[DIMS] = {0};
    uint32_t n = 1;
    groups[0] = (PlanGroup){.dim.size = 1, .of = WBB_NEW_N(c->a, uint32_t, merged), .n = merged};
    const char *name = "d";
    for (uint32_t k = merged; k-- > 0;) {
        const uint32_t d = c->order[side][k];
        groups[0].of[merged - 1 - k] = d;
        groups[0].dim.size *= c->size[d];
        name = wbb_format(c->a, "%s%s%u", name, k + 1 < merged ? "_" : "", d);
        in_run[d] = true;
    }
    groups[0].dim.name = name;
    for (uint32_t d = 0; d < c->n; d++) {
        if (in_run[d]) continue;
        groups[n] = (PlanGroup){.dim = {.name = wbb_format(c->a, "d%u", d), .size = c->size[d]}, .n = 1};
        groups[n].of = WBB_NEW(c->a, uint32_t);
        groups[n++].of[0] = d;
    }
    c->groups[side][merged] = groups;
    c->work[side][merged] = plan_exchange_work(c->x, side == PLAN_TO ? PLAN_PUT : PLAN_GET, groups, n);
}

static void set_groups(Choosing *c, int side, const PlanExchanged *k, PlanSide *s)
{
    s->merged = merged_of(c, side, k->tile, k->wish.run[side]);
    if (!c->groups[side][s->merged]) make_groups(c, side, s->merged);
    s->n = c->n + 1 - s->merged;
    s->groups = c->groups[side][s->merged], s->work = &c->work[side][s->merged];
}

/* --- threads ------------------------------------------------------------------------------------------------------ */
static int64_t tile_of(const PlanSide *s, uint32_t g, const int64_t *tile)
{
    int64_t n = 1;
    for (uint32_t k = 0; k < s->groups[g].n; k++) n *= tile[s->groups[g].of[k]];
    return n;
}

/* Blocks along a group: its slowest dimension alone may be larger than the tile. */
static int64_t grid_of(const Choosing *c, const PlanSide *s, uint32_t g, const int64_t *tile)
{
    const uint32_t d = s->groups[g].of[0];
    return lay_up(c->size[d], tile[d]);
}

static void set_order(PlanSide *s, uint32_t g, bool neighbours)
{
    static const LayLevel usual[LAY_LEVELS] = {LAY_VECTOR, LAY_LANE, LAY_WARP, LAY_REGISTER,
                                               LAY_LOOP, LAY_CLUSTER, LAY_GRID};
    static const LayLevel inner[LAY_LEVELS] = {LAY_VECTOR, LAY_REGISTER, LAY_LANE, LAY_WARP,
                                               LAY_LOOP, LAY_CLUSTER, LAY_GRID};
    memcpy(s->orders[g], neighbours ? inner : usual, sizeof usual);
}

/* Do the factors make up the tile, and no more than a dimension needs that has one tile alone? */
static bool covers(const Choosing *c, const PlanSide *s, uint32_t g, const int64_t *tile)
{
    const int64_t *sizes = s->sizes + (size_t)g * LAY_LEVELS, wanted = tile_of(s, g, tile);
    int64_t inner = 1, outermost = 1;
    for (int k = 0; k < LAY_LEVELS; k++) {
        const int64_t size = sizes[s->orders[g][k]];
        if (s->orders[g][k] == LAY_GRID || size == 1) continue;
        inner *= outermost;
        outermost = size;
    }
    if (grid_of(c, s, g, tile) > 1) return inner * outermost == wanted;
    return inner * outermost >= wanted && (outermost == 1 || inner * (outermost - 1) < wanted);
}

/* Lanes and warps of the other groups: the one that has neighbours first. Returns their threads; 0: they have too
 * many. */
static int64_t share_others(const Choosing *c, PlanSide *s, const int64_t *tile, uint32_t with, int64_t neighbours,
                            int64_t *threads)
{
    int64_t all = 1;
    for (uint32_t g = 1; g < s->n; g++) {
        int64_t *sizes = s->sizes + (size_t)g * LAY_LEVELS, rest = tile_of(s, g, tile);
        const bool whole = grid_of(c, s, g, tile) == 1;
        if (g == with) sizes[LAY_REGISTER] = neighbours, rest = lay_up(rest, neighbours);
        threads[g] = whole && rest > c->odd * (rest & -rest) ? lay_power_below(rest) : rest & -rest;
        if (g != with) sizes[LAY_REGISTER] = lay_up(rest, threads[g]);
        else if (threads[g] != rest) return 0;
        all *= threads[g];
    }
    return all;
}

/* The group of a side that has the fastest dimension of the other one; LAY_NO_DIM: it is in the run. */
static uint32_t group_of(const PlanSide *s, uint32_t d)
{
    for (uint32_t g = 1; g < s->n; g++)
        if (s->groups[g].of[0] == d) return g;
    return LAY_NO_DIM;
}

static bool share_threads(const Choosing *c, PlanSide *s, const PlanExchanged *k, int side, uint32_t with)
{
    const int64_t vector = k->wish.vector[side], run = tile_of(s, 0, k->tile), all = 32 * (int64_t)k->wish.warps;
    if (vector % plan_exchange_group(c->x, side)) return false;
    int64_t threads[DIMS] = {0}, warps = k->wish.warps;
    for (uint32_t n = 0; n < s->n * LAY_LEVELS; n++) s->sizes[n] = 1;
    for (uint32_t g = 0; g < s->n; g++) {
        set_order(s, g, g == with);
        s->sizes[g * LAY_LEVELS + LAY_GRID] = grid_of(c, s, g, k->tile);
    }
    if (run % vector || s->groups[0].dim.size % vector) return false;
    const int64_t others = share_others(c, s, k->tile, with, k->wish.neighbours, threads);
    const int64_t rest = run / vector, whole = s->sizes[LAY_GRID] == 1;
    if (!others || others > all) return false;
    int64_t lanes = WBB_MIN(WBB_MIN(32, all / others), whole ? lay_power_below(rest) : rest & -rest);
    s->sizes[LAY_VECTOR] = vector;
    s->sizes[LAY_LANE] = lanes;
    lanes = 32 / lanes;
    uint32_t order[DIMS + 2], n_order = 0; /* the one with neighbours first, then that of the third order */
    const uint32_t other = c->x->other == LAY_NO_DIM ? LAY_NO_DIM : group_of(s, c->x->other);
    if (with != LAY_NO_DIM) order[n_order++] = with;
    if (other != LAY_NO_DIM && other != with) order[n_order++] = other;
    for (uint32_t g = 1; g < s->n; g++)
        if (g != with && g != other) order[n_order++] = g;
    for (uint32_t n = 0; n < n_order; n++) {
        const uint32_t g = order[n];
        int64_t *sizes = s->sizes + (size_t)g * LAY_LEVELS;
        sizes[LAY_LANE] = WBB_MIN(lanes, threads[g]);
        lanes /= sizes[LAY_LANE];
        sizes[LAY_WARP] = threads[g] / sizes[LAY_LANE];
        if (warps % sizes[LAY_WARP]) return false;
        warps /= sizes[LAY_WARP];
    }
    if (lanes > 1) return false;
    s->sizes[LAY_WARP] = warps;
    s->sizes[LAY_REGISTER] = lay_up(rest, s->sizes[LAY_LANE] * warps);
    int64_t terms = 1;
    for (uint32_t g = 0; g < s->n; g++) {
        if (!covers(c, s, g, k->tile)) return false;
        terms *= s->sizes[g * LAY_LEVELS + LAY_VECTOR] * s->sizes[g * LAY_LEVELS + LAY_REGISTER];
    }
    return terms <= c->k->max_terms;
}

/* --- prices ------------------------------------------------------------------------------------------------------- */
/* Has a thread more neighbours of an array than the widest access? Eight of f32 are two accesses of 16 bytes, which
 * lanes have 32 apart: each touches all sectors. Those of whole pixels save more than that. */
static bool is_parted(const Choosing *c, const PlanSide *s)
{
    const int64_t widest = 8 * (int64_t)c->x->t->vector_bytes, vector = s->sizes[LAY_VECTOR];
    bool parted = false;
    if (vector & (vector - 1)) return false;
    for (uint32_t n = 0; n < s->work->n_loads; n++)
        parted = parted || (s->work->loads[n].step[0] == 1 && vector * s->work->loads[n].bits > widest);
    for (uint32_t n = 0; n < s->work->n_stores; n++)
        parted = parted || (s->work->stores[n].step[0] == 1 && vector * s->work->stores[n].bits > widest);
    return parted;
}

/* The works of both sides, whose levels have their orders. */
static void works_of(const PlanExchanged *k, LayWork *work, const int64_t **sizes)
{
    for (int side = 0; side < PLAN_SIDES; side++) {
        work[side] = *k->side[side].work, sizes[side] = k->side[side].sizes;
        work[side].orders = (const LayLevel(*)[LAY_LEVELS])k->side[side].orders;
    }
}

static LayPrice price_of(const Choosing *c, PlanExchanged *k, const PlanTileSample *sample)
{
    LayWork work[PLAN_SIDES];
    const int64_t *sizes[PLAN_SIDES];
    LayTileWork tile[PLAN_SIDES];
    works_of(k, work, sizes);
    for (int side = 0; side < PLAN_SIDES; side++)
        tile[side] = plan_tile_work(c->x, k, side, sample ? &sample[side] : NULL);
    memcpy(k->access, tile, sizeof tile);
    for (int side = 0; side < PLAN_SIDES; side++) tile[side].wavefronts *= 1 - k->beyond[side];
    const double all = k->access[PLAN_TO].wavefronts + k->access[PLAN_FROM].wavefronts;
    k->conflicts = all * 100 > (k->access[PLAN_TO].least + k->access[PLAN_FROM].least) * (double)(100 + c->conflicts);
    const LayNeeds needs = {.registers = k->registers, .shared = plan_tile_bytes(c->x, k)};
    return lay_price_exchange(c->k->r, work, sizes, tile, &needs);
}

static double wavefronts(const Choosing *c, const PlanExchanged *k, const PlanTileSample *sample)
{
    double n = 0;
    for (int side = 0; side < PLAN_SIDES; side++) n += plan_tile_work(c->x, k, side, &sample[side]).wavefronts;
    return n;
}

/* Sets the pad of that number to the one with the fewest wavefronts, of those the smallest. */
static void choose_pad(const Choosing *c, PlanExchanged *k, uint32_t n, const PlanTileSample *sample)
{
    const int64_t unit = plan_tile_step(k);
    PlanPad best = {0};
    double fewest = wavefronts(c, k, sample);
    for (uint32_t d = 0; d <= c->n; d++) /* after a power of two, or after rows of the tile */
        for (int64_t period = d < c->n ? k->stride[d] : unit; period < k->elements; period *= 2)
            for (int64_t pad = 1; pad <= c->pads && period % unit == 0; pad *= 2) {
                if (!(c->pads & pad) || (d < c->n && k->tile[d] == 1)) continue;
                k->pads[n] = (PlanPad){.pad = pad * unit, .period = period};
                if (plan_tile_bytes(c->x, k) > (double)c->k->max_shared) continue;
                const double with = wavefronts(c, k, sample);
                const bool smaller = best.pad && pad * unit * best.period < best.pad * period;
                if (with < fewest || (with == fewest && smaller)) fewest = with, best = k->pads[n];
            }
    k->pads[n] = best;
}

/* Pads after pads, as long as they save wavefronts, and of those as many as save time. */
static void finish(void *of, LayTried *t)
{
    const Choosing *c = of;
    PlanExchanged *k = t->what, best;
    PlanTileSample sample[PLAN_SIDES];
    for (int side = 0; side < PLAN_SIDES; side++) plan_tile_sample(k, side, &sample[side]);
    t->price = price_of(c, k, sample);
    best = *k;
    for (uint32_t n = 0; n < PLAN_PADS; n++) {
        choose_pad(c, k, n, sample);
        if (!k->pads[n].pad) break;
        const LayPrice p = price_of(c, k, sample);
        if (p.us <= lay_as_long(c->x->t, &t->price)) best = *k, t->price = p;
    }
    *k = best;
}

/* --- candidates --------------------------------------------------------------------------------------------------- */
/* The widest vector of a side. */
static int64_t widest(const Choosing *c, int side, const PlanSide *s, int64_t run)
{
    const LayAccess *accesses = side == PLAN_TO ? s->work->loads : s->work->stores;
    const uint32_t n = side == PLAN_TO ? s->work->n_loads : s->work->n_stores;
    int64_t vector = 0;
    for (uint32_t k = 0; k < n; k++) { /* of all that are read or stored element by element */
        if (accesses[k].step[0] != 1) continue;
        const int64_t access = 8 * (int64_t)c->x->t->vector_bytes / WBB_MAX(accesses[k].bits, 8);
        const int64_t most = WBB_MIN(access, accesses[k].align);
        vector = WBB_MAX(vector, most);
    }
    vector = lay_power_below(WBB_MAX(vector, 1));
    while (vector > 1 && (run % vector || s->groups[0].dim.size % vector)) vector /= 2;
    return vector;
}

static int64_t *tile_of_runs(const Choosing *c, const PlanWish *w, int64_t *tile)
{
    for (uint32_t d = 0; d < c->n; d++) tile[d] = 1;
    for (int side = 0; side < PLAN_SIDES; side++) reach(c, side, w->run[side], tile);
    const uint32_t other = c->x->other;
    if (other != LAY_NO_DIM) tile[other] = WBB_MAX(tile[other], WBB_MIN(w->other, c->size[other]));
    return tile;
}

/* Elements along the dimensions that are the fastest ones in both orders: 3 of pixels. */
static int64_t common_run(const Choosing *c)
{
    int64_t n = 1;
    for (uint32_t k = 0; k < c->x->common; k++) n *= c->size[c->order[PLAN_FROM][k]];
    return n;
}

/* Neighbours in the tile of a vector along the run, where both orders have the same fastest dimensions: a divisor. */
static int64_t common_neighbours(const Choosing *c, int64_t vector)
{
    const int64_t n = common_run(c);
    return WBB_MIN(n & -n, vector);
}

/* Registers along the units of the side that has no vector there; returns their group; false: there is none. */
static bool set_neighbours(const Choosing *c, PlanExchanged *k, const PlanWish *w, uint32_t *registers)
{
    const int units = w->read_units ? PLAN_TO : PLAN_FROM, other = w->read_units ? PLAN_FROM : PLAN_TO;
    const uint32_t with = group_of(&k->side[other], c->order[units][0]);
    *registers = with;
    k->apart = with != LAY_NO_DIM;
    if (!k->apart) {
        k->wish.neighbours = 1;
        if (w->pixels <= 1) return true;
        *registers = group_of(&k->side[other], c->order[units][c->x->common]);
        if (*registers == LAY_NO_DIM) return false;
        k->wish.neighbours = WBB_MIN(w->pixels, tile_of(&k->side[other], *registers, k->tile));
    } else if (!k->wish.neighbours) { /* as many as are accessed at once, and code has room for */
        int64_t n = k->wish.vector[units];
        while (n > 1 && n * k->wish.vector[other] > c->k->max_terms) n /= 2;
        const int64_t all = tile_of(&k->side[other], with, k->tile);
        n = WBB_MIN(n, lay_power_below(all));
        while (other == PLAN_FROM && all % n) n /= 2; /* what is read again beyond the end parts neighbours */
        const bool few = n > 1 && all % n == 0 && all / n % 2 && all / n <= c->odd;
        k->wish.neighbours = few && all * k->wish.vector[other] <= c->k->max_terms ? all : n; /* 6: three times 2 */
    }
    return true;
}

/* What a wish amounts to. */
static bool make(void *of, const void *wish, void *what, uint64_t *hash)
{
    Choosing *c = of;
    const PlanWish *w = wish;
    PlanExchanged *k = what;
    k->wish = *w;
    memset(k->pads, 0, sizeof k->pads);
    tile_of_runs(c, w, k->tile);
    const int other = w->read_units ? PLAN_FROM : PLAN_TO;
    for (int side = 0; side < PLAN_SIDES; side++) set_groups(c, side, k, &k->side[side]);
    for (int side = 0; side < PLAN_SIDES; side++)
        if (!k->wish.vector[side])
            k->wish.vector[side] = widest(c, side, &k->side[side], tile_of(&k->side[side], 0, k->tile));
    uint32_t registers;
    if (!set_neighbours(c, k, w, &registers)) return false;
    const uint32_t neighbours = k->wish.neighbours > 1 ? registers : LAY_NO_DIM;
    for (int side = 0; side < PLAN_SIDES; side++)
        while (!share_threads(c, &k->side[side], k, side, side == other ? neighbours : LAY_NO_DIM)) {
            if (w->vector[side] || k->wish.vector[side] == 1) return false;
            k->wish.vector[side] /= 2; /* lanes need elements, too */
        }
    if (!k->apart) k->wish.neighbours = common_neighbours(c, k->wish.vector[other]);
    *hash = w->read_units;
    for (int side = 0; side < PLAN_SIDES; side++)
        *hash = wbb_hash(k->side[side].sizes, k->side[side].n * LAY_LEVELS * sizeof *k->side->sizes, *hash);
    return true;
}

/* Of both stages: the registers of the one that has more of them, the code of both. */
static bool needs(void *of, void *what, LayNeeds *to)
{
    const Choosing *c = of;
    PlanExchanged *k = what;
    LayWork work[PLAN_SIDES];
    const int64_t *sizes[PLAN_SIDES];
    plan_tile_strides(c->x, k, c->order[k->wish.read_units ? PLAN_TO : PLAN_FROM]);
    if (plan_tile_bytes(c->x, k) > (double)c->most_tile) return false;
    works_of(k, work, sizes);
    *to = lay_needs(c->k->r, &work[PLAN_TO], sizes[PLAN_TO]);
    const LayNeeds from = lay_needs(c->k->r, &work[PLAN_FROM], sizes[PLAN_FROM]);
    to->registers = k->registers = WBB_MAX(to->registers, from.registers);
    to->code += from.code, to->shared = plan_tile_bytes(c->x, k);
    return true;
}

/* As if there were no bank conflicts. */
static LayPrice price(void *of, void *what, const LayNeeds *needs_of)
{
    const Choosing *c = of;
    PlanExchanged *k = what;
    (void)needs_of;
    for (int side = 0; side < PLAN_SIDES; side++) k->beyond[side] = plan_tile_beyond(c->x, k, side);
    if (100 * k->beyond[PLAN_TO] < (double)c->guard) k->beyond[PLAN_TO] = 0; /* all threads put */
    k->parted = is_parted(c, &k->side[PLAN_TO]) || is_parted(c, &k->side[PLAN_FROM]);
    return price_of(c, k, NULL);
}

/* The one that leaves more to other kernels: without bank conflicts first, then without sectors that are asked for
 * twice. */
static void prefer(void *of, const LayTie *tie, const LayTried *x, int64_t *key)
{
    const PlanExchanged *k = x->what;
    (void)of, (void)tie;
    key[0] = k->conflicts, key[1] = k->parted;
    key[2] = (int64_t)(x->price.effort * 1e6);
}

static void consider(Choosing *c, const PlanWish *w)
{
    if (!lay_try(c->k, w)) return;
    const PlanExchanged *k = c->k->all.items[c->k->all.n - 1].what;
    const int64_t aligned = k->aligned[w->read_units ? PLAN_FROM : PLAN_TO];
    if (w->neighbours || !k->apart || aligned >= k->wish.neighbours) return;
    PlanWish fewer = *w; /* no use of so many */
    fewer.neighbours = aligned;
    consider(c, &fewer);
}

/* Vectors of whole pixels, so that which of their elements a thread has does not depend on its number; of elements
 * under a word also pixels that together are whole words. */
static void try_pixels(Choosing *c, const PlanWish *w)
{
    const int64_t run = common_run(c), odd = run / (run & -run), words = c->x->in_word;
    for (int64_t n = 1; odd > 1 && odd * n <= c->most_pixels; n *= 2) {
        PlanWish x = *w;
        x.vector[PLAN_TO] = odd * n;
        consider(c, &x);
        x.pixels = words;
        if (words > 1 && c->x->common < c->n) consider(c, &x);
    }
}

/* The runs that are tried of a side: powers of two, and several whole dimensions that are none, 60 of 10 * 6. */
static uint32_t runs_of(const Choosing *c, int side, int64_t *runs)
{
    uint32_t n = 0;
    int64_t whole = c->size[c->order[side][0]], most = 1;
    for (; most <= c->runs; most *= 2)
        if (c->runs & most) runs[n++] = most;
    for (uint32_t k = 1; k < c->n; k++) {
        whole *= c->size[c->order[side][k]];
        if (2 * whole > most) break;
        if (whole & (whole - 1) && 2 * whole > (c->runs & -c->runs)) runs[n++] = whole;
    }
    return n;
}

static void try_runs(Choosing *c)
{
    int64_t read[64 + DIMS], stored[64 + DIMS];
    const uint32_t n_read = runs_of(c, PLAN_TO, read), n_stored = runs_of(c, PLAN_FROM, stored);
    for (uint32_t i = 0; i < n_read; i++)
        for (uint32_t j = 0; j < n_stored; j++)
            for (uint32_t warps = 1; warps <= c->warps; warps *= 2)
                for (int units = 0; units < 2; units++) {
                    if (!(c->warps & warps)) continue;
                    PlanWish w = {.run = {read[i], stored[j]}, .other = 1, .warps = warps, .read_units = units};
                    consider(c, &w);
                    if (c->x->in_word > 1) { /* of narrower elements also a word */
                        PlanWish word = w;
                        word.vector[PLAN_TO] = word.vector[PLAN_FROM] = c->x->in_word;
                        consider(c, &word);
                    }
                    try_pixels(c, &w);
                    for (w.other = 2; c->x->other != LAY_NO_DIM && w.other <= c->runs; w.other *= 2)
                        if (c->runs & w.other) consider(c, &w);
                }
}

/* Other vectors and fewer neighbours: narrower ones than the widest, and wider ones than a word. */
static void try_vectors(Choosing *c, const uint32_t *best, uint32_t n)
{
    const int64_t wider = c->x->in_word > 1 ? 2 : 1;
    for (uint32_t k = 0; k < n; k++) {
        const PlanWish base = ((const PlanExchanged *)c->k->all.items[best[k]].what)->wish;
        const int64_t to = base.vector[PLAN_TO], from = base.vector[PLAN_FROM], beside = base.neighbours;
        for (int64_t v = wider * to; v >= 1 && c->narrower * v >= to; v /= 2)
            for (int64_t w = wider * from; w >= 1 && c->narrower * w >= from; w /= 2)
                for (int64_t m = WBB_MAX(beside, c->x->in_word); m >= 1 && c->narrower * m >= beside; m /= 2) {
                    PlanWish x = base;
                    x.vector[PLAN_TO] = v, x.vector[PLAN_FROM] = w, x.neighbours = m;
                    consider(c, &x);
                }
    }
}

/* --- the choice --------------------------------------------------------------------------------------------------- */
/* Blocks are the same tile in both stages: those of the fastest dimension are neighbours. */
static void set_grid(WbbArena *a, const PlanSide *s, Layout *l)
{
    uint32_t *order = WBB_NEW_N(a, uint32_t, s->n);
    for (uint32_t g = 0; g < s->n; g++) {
        uint32_t at = g;
        for (; at > 0 && s->groups[order[at - 1]].of[0] < s->groups[g].of[0]; at--) order[at] = order[at - 1];
        order[at] = g;
    }
    l->order[LAY_GRID] = order;
}

/* The lanes' lowest digits are the run's, then those of the group with neighbours: as place_of counts. */
static Layout layout_of(WbbArena *a, const PlanSide *s)
{
    LayDim *dims = WBB_NEW_N(a, LayDim, s->n);
    for (uint32_t g = 0; g < s->n; g++) {
        dims[g] = s->groups[g].dim;
        for (int n = 0; n < LAY_LEVELS; n++) {
            const int64_t size = s->sizes[g * LAY_LEVELS + s->orders[g][n]];
            if (size > 1) dims[g].factors[dims[g].n_factors++] = (LayFactor){.level = s->orders[g][n], .size = size};
        }
    }
    Layout l = {.dims = dims, .n_dims = s->n};
    set_grid(a, s, &l);
    return l;
}

static void list(void *of, const LayTried *x, LayPriced *to)
{
    const Choosing *c = of;
    const PlanExchanged *k = x->what;
    Layout *get = WBB_NEW(c->a, Layout);
    *get = layout_of(c->a, &k->side[PLAN_FROM]);
    to->layout = layout_of(c->a, &k->side[PLAN_TO]), to->get = get;
}

static const LayProgram program = {.bytes = sizeof(PlanExchanged), .make = make, .needs = needs, .price = price,
                                   .finish = finish, .prefer = prefer, .list = list};

static const char *reason(const Choosing *c, const PlanExchanged *k, const LayPriced *p, const LayPrice *loop)
{
    LayTerm of_loop = LAY_DRAM;
    for (int n = 1; n < LAY_TERMS; n++)
        if (loop->term[n] > loop->term[of_loop]) of_loop = (LayTerm)n;
    const LayTileWork *put = &k->access[PLAN_TO], *got = &k->access[PLAN_FROM];
    return wbb_format(c->a, "%.2f us, %s %.2f, the cheapest of %u; a loop over elements takes %.2f us, %s %.2f\n"
                      "  wavefronts of a warp: put %.2f, its bytes fill %.2f; get %.2f, %.2f",
                      p->price.us, lay_term_name[p->decides], p->price.term[p->decides], c->k->all.n,
                      loop->us, lay_term_name[of_loop], loop->term[of_loop],
                      put->wavefronts, put->least, got->wavefronts, got->least);
}

static void begin(Choosing *c, const PlanExchange *x)
{
    *c = (Choosing){.x = x, .a = x->a, .n = x->space->rank, .size = x->space->dims,
                    .runs = tg_tuned(x->t, "exchange.runs"), .warps = tg_tuned(x->t, "exchange.warps"),
                    .odd = tg_tuned(x->t, "exchange.odd"), .most_tile = tg_tuned(x->t, "exchange.max_tile"),
                    .pads = tg_tuned(x->t, "exchange.pads"), .guard = tg_tuned(x->t, "exchange.guard"),
                    .narrower = tg_tuned(x->t, "exchange.narrower"), .conflicts = tg_tuned(x->t, "exchange.conflicts"),
                    .most_pixels = tg_tuned(x->t, "exchange.pixels")};
    c->k = lay_chooser(x->a, x->t, &program, c);
    if (x->bits <= 8) c->runs += tg_tuned(x->t, "exchange.runs.bytes");
    for (uint32_t k = 0; k < c->n; k++) c->order[PLAN_TO][k] = x->read[k], c->order[PLAN_FROM][k] = c->n - 1 - k;
}

bool plan_exchange_layouts(const PlanExchange *x, const Layout *loop, PlanStage stages[2], PlanTile *tile,
                           LayChoice *choice)
{
    Choosing c;
    begin(&c, x);
    uint32_t *best = WBB_NEW_N(x->a, uint32_t, 2 * c.k->beam + 1u), taken;
    try_runs(&c);
    try_vectors(&c, best, lay_promising(c.k, best, c.k->beam));
    if (!lay_decide(c.k, &taken, choice)) return false;
    const LayPriced *of = &choice->best[0];
    const LayWork work = plan_loop_work(x);
    LayPrice *of_loop = WBB_NEW(x->a, LayPrice);
    *of_loop = plan_loop_price(x->a, c.k->r, &work, loop);
    PlanExchanged *k = c.k->all.items[taken].what;
    for (int side = 0; side < PLAN_SIDES; side++) {
        stages[side].space = k->side[side].groups, stages[side].n_space = k->side[side].n;
        stages[side].layout = side == PLAN_TO ? of->layout : *of->get;
    }
    tile->stride = k->stride, tile->elements = plan_tile_elements(k);
    memcpy(tile->pads, k->pads, sizeof tile->pads);
    tile->guarded = k->beyond[PLAN_TO] > 0;
    for (int side = 0; side < PLAN_SIDES; side++)
        k->access[side].wavefronts = plan_tile_enumerate(x, k, side);
    tile->why = reason(&c, k, of, of_loop), tile->loop = of_loop;
    return true;
}
