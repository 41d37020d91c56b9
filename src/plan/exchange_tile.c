/* exchange_tile.c: where elements stand in a tile, and how many wavefronts the accesses of a warp take.
 *
 * Needs the layouts of both stages; leaves the tile's strides, and counts by enumerating the lanes: of the lanes that
 * shared memory serves at once, 32 for up to 4 bytes, 16 for 8, 8 for 16, the bank with the most words.
 *
 *     32 lanes 256 bytes apart, 4 bytes each: 32 wavefronts; with 4 more after every 256: 1
 */
#include "plan/exchange.h"

#include <string.h>

enum { WORD = 4, LANES = TG_BANKS /* of a warp: one to each bank */ };

/* Positions of a dimension that threads of a side have in a tile: all of it, or more. */
static int64_t covered(const PlanSide *s, const int64_t *tile, uint32_t d)
{
    for (uint32_t g = 0; g < s->n; g++) {
        int64_t n = 1, inner = 1;
        if (s->groups[g].of[0] != d) continue;
        for (int k = 0; k < LAY_GRID; k++) n *= s->sizes[g * LAY_LEVELS + (uint32_t)k];
        for (uint32_t k = 1; k < s->groups[g].n; k++) inner *= tile[s->groups[g].of[k]];
        return lay_up(n, inner);
    }
    return tile[d]; /* it is whole, within a run */
}

int64_t plan_tile_unit(const PlanExchanged *k, int side)
{
    const int64_t n = (side == PLAN_TO) == k->wish.read_units ? k->wish.vector[side] : k->wish.neighbours;
    return n & -n; /* of 12, three times 4 */
}

/* Of a value's elements in a tile: the real and the imaginary parts of wide complex ones have a tile each. */
static int64_t bytes_of(const PlanExchange *x, uint32_t value, uint32_t *tiles)
{
    const PlanValue v = x->values[value].value;
    const ScType t = plan_shape(v.i, v.part)->type;
    *tiles = t == SC_C128 ? 2 : 1;
    return lay_up(sc_type_info[t].bits, 8) / *tiles;
}

/* Elements of that size in one access of a side: of those under a word, all neighbours that a thread has. */
static int64_t width_of(const PlanExchanged *k, int side, int64_t bytes)
{
    const int64_t n = bytes < WORD ? WBB_MAX(k->joined[side], k->aligned[side]) : k->aligned[side];
    return WBB_MIN(n, WBB_MAX(16 / bytes, 1));
}

int64_t plan_tile_step(const PlanExchanged *k)
{
    const int64_t units = WBB_MAX(plan_tile_unit(k, PLAN_TO), plan_tile_unit(k, PLAN_FROM));
    return WBB_MAX(units, WBB_MAX(k->joined[PLAN_TO], k->joined[PLAN_FROM]));
}

/* A thread's digits: of lane, warp, register and vector. */
typedef struct {
    int64_t lane, warp, at[PLAN_EXCHANGE_DIMS]; /* at: by group, number among vectors and registers */
} Thread;

/* Where in the tile an element of a thread is along each group. */
static void positions_of(const PlanSide *s, const Thread *t, int64_t *positions)
{
    int64_t lane = t->lane, warp = t->warp;
    for (uint32_t g = 0; g < s->n; g++) {
        const int64_t *sizes = s->sizes + (size_t)g * LAY_LEVELS;
        int64_t weight = 1, at = t->at[g];
        positions[g] = 0;
        for (int n = 0; n < LAY_LEVELS; n++) {
            const LayLevel level = s->orders[g][n];
            int64_t *number = level == LAY_LANE ? &lane : level == LAY_WARP ? &warp : &at;
            if (level == LAY_GRID) continue;
            positions[g] += *number % sizes[level] * weight;
            *number /= sizes[level];
            weight *= sizes[level];
        }
    }
}

/* Where in the tile, without padding, it is. */
static int64_t place_of(const PlanExchanged *k, int side, const Thread *t)
{
    const PlanSide *s = &k->side[side];
    int64_t positions[PLAN_EXCHANGE_DIMS], place = 0;
    positions_of(s, t, positions);
    for (uint32_t g = 0; g < s->n; g++) {
        int64_t position = positions[g];
        for (uint32_t n = s->groups[g].n; n-- > 0;) {
            const uint32_t d = s->groups[g].of[n];
            place += (n ? position % k->tile[d] : position) * k->stride[d];
            position /= k->tile[d];
        }
    }
    return place;
}

/* What the place gains by one step in the vector, or else the register, of a group. */
static int64_t place_step(const PlanExchanged *k, int side, uint32_t g)
{
    Thread t = {0};
    const int64_t *sizes = k->side[side].sizes + (size_t)g * LAY_LEVELS;
    if (sizes[LAY_VECTOR] * sizes[LAY_REGISTER] == 1) return 0;
    t.at[g] = 1;
    return place_of(k, side, &t);
}

/* What places where accesses of a side begin are a multiple of, at most their neighbours: 1 of 3 * d2 + d1, d1:
 * register 2, lane 2. */
static int64_t aligned(const PlanExchanged *k, int side)
{
    int64_t all = plan_tile_unit(k, side);
    Thread t = {0};
    for (t.lane = 1; t.lane < LANES; t.lane *= 2) all |= place_of(k, side, &t);
    t.lane = 0;
    for (t.warp = 1; t.warp < k->wish.warps; t.warp *= 2) all |= place_of(k, side, &t);
    t.warp = 0;
    for (uint32_t g = 0; g < k->side[side].n; g++) {
        const int64_t *sizes = k->side[side].sizes + (size_t)g * LAY_LEVELS;
        const int64_t first = place_step(k, side, g) == 1 ? plan_tile_unit(k, side) : 1;
        for (t.at[g] = first; t.at[g] < sizes[LAY_VECTOR] * sizes[LAY_REGISTER]; t.at[g] *= 2)
            all |= place_of(k, side, &t);
        t.at[g] = 0;
    }
    return all & -all;
}

/* --- neighbours of a thread --------------------------------------------------------------------------------------- */
enum { MOST_PLACES = 256, MOST_JOINED = 16 };

/* Where the elements of a thread are, in order; returns how many there are, or 0: too many. */
static uint32_t places_of(const PlanExchanged *k, int side, int64_t *places)
{
    const PlanSide *s = &k->side[side];
    Thread t = {0};
    uint32_t n = 0;
    for (uint32_t g = 0; g < s->n;) {
        if (n == MOST_PLACES) return 0;
        const int64_t place = place_of(k, side, &t);
        uint32_t at = n++;
        for (; at > 0 && places[at - 1] > place; at--) places[at] = places[at - 1];
        places[at] = place;
        for (g = 0; g < s->n; g++) { /* the next digits */
            const int64_t *sizes = s->sizes + (size_t)g * LAY_LEVELS;
            if (++t.at[g] < sizes[LAY_VECTOR] * sizes[LAY_REGISTER]) break;
            t.at[g] = 0;
        }
    }
    return n;
}

/* Are they neighbours in blocks of w that begin at multiples of w? */
static bool in_blocks(const int64_t *places, uint32_t n, int64_t w)
{
    for (uint32_t i = 0; i < n; i++)
        if (i % w ? places[i] != places[i - 1] + 1 : places[i] % w != 0) return false;
    return n % w == 0;
}

/* The largest power of two such that a thread has its elements in blocks of so many neighbours, wherever its lane and
 * warp are: 4 of 12. */
static int64_t joined(const PlanExchanged *k, int side)
{
    int64_t places[MOST_PLACES], all = MOST_JOINED;
    Thread t = {0};
    for (t.lane = 1; t.lane < LANES; t.lane *= 2) all |= place_of(k, side, &t);
    t.lane = 0;
    for (t.warp = 1; t.warp < k->wish.warps; t.warp *= 2) all |= place_of(k, side, &t);
    int64_t w = all & -all;
    const uint32_t n = w > 1 ? places_of(k, side, places) : 0;
    while (w > 1 && (n == 0 || !in_blocks(places, n, w))) w /= 2;
    return w;
}

void plan_tile_strides(const PlanExchange *x, PlanExchanged *k, const uint32_t *order)
{
    bool narrow = false;
    k->elements = 1;
    for (uint32_t n = 0; n < x->space->rank; n++) {
        k->stride[order[n]] = k->elements;
        k->elements *= covered(&k->side[PLAN_TO], k->tile, order[n]);
    }
    for (uint32_t n = 0; n < x->n_values; n++) {
        uint32_t tiles;
        narrow = narrow || bytes_of(x, n, &tiles) < WORD;
    }
    for (int side = 0; side < PLAN_SIDES; side++) {
        k->aligned[side] = aligned(k, side);
        k->joined[side] = narrow ? joined(k, side) : 1;
    }
}

/* Where the lanes of a warp are in the access that begins at a thread's element. */
static void lanes_at(const PlanExchanged *k, int side, const Thread *of, int64_t *places)
{
    Thread t = *of;
    for (t.lane = 0; t.lane < LANES; t.lane++) places[t.lane] = place_of(k, side, &t);
}

/* The first access of the first warp, the last of the last, and some between. */
void plan_tile_sample(const PlanExchanged *k, int side, PlanTileSample *sample)
{
    const PlanSide *s = &k->side[side];
    const int64_t unit = plan_tile_unit(k, side), last = PLAN_SAMPLES - 1;
    for (int64_t n = 0; n <= last; n++) {
        Thread t = {.warp = (k->wish.warps - 1) * n / last};
        for (uint32_t g = 0; g < s->n; g++) {
            const int64_t *sizes = s->sizes + (size_t)g * LAY_LEVELS;
            t.at[g] = (sizes[LAY_VECTOR] * sizes[LAY_REGISTER] - 1) * n / last;
            if (place_step(k, side, g) == 1) t.at[g] -= t.at[g] % unit; /* the first of its neighbours */
        }
        lanes_at(k, side, &t, sample->place[n]);
    }
}

static int64_t padded(const PlanExchanged *k, int64_t place)
{
    int64_t all = place;
    for (uint32_t n = 0; n < PLAN_PADS && k->pads[n].pad; n++) all += place / k->pads[n].period * k->pads[n].pad;
    return all;
}

/* Lanes that are served at once when so many bytes are accessed by each. */
static int64_t lanes_of(int64_t size) { return size <= 4 ? LANES : size == 8 ? 16 : 8; }

/* Wavefronts of one access of so many bytes a lane: of the lanes that are served at once, as many as a bank has
 * different words. */
static uint32_t wavefronts_of(const PlanExchanged *k, const int64_t *place, int64_t size, int64_t bytes)
{
    const uint32_t together = (uint32_t)lanes_of(size), words_each = (uint32_t)lay_up(size, WORD);
    uint32_t all = 0;
    for (uint32_t first = 0; first < LANES; first += together) {
        int64_t words[TG_BANKS][TG_BANKS];
        uint32_t in_bank[TG_BANKS] = {0}, most = 0;
        for (uint32_t lane = first; lane < first + together; lane++) {
            const int64_t word = padded(k, place[lane] - place[lane] % (size / bytes)) * bytes / WORD;
            for (int64_t w = word; w < word + words_each; w++) {
                const uint32_t bank = (uint32_t)(w % TG_BANKS);
                uint32_t j = 0;
                while (j < in_bank[bank] && words[bank][j] != w) j++;
                if (j == in_bank[bank]) words[bank][in_bank[bank]++] = w;
                most = WBB_MAX(most, in_bank[bank]);
            }
        }
        all += most;
    }
    return all;
}

/* Of an access, whatever the pads: they are multiples of the wider side's accesses, the units, so words have their
 * number in a unit, and those that have the same one share a part of the banks. */
static double fewest_of(const PlanExchanged *k, int side, int64_t width, int64_t bytes)
{
    const int64_t size = width * bytes, ideal = lay_up(LANES * size, TG_LINE), together = lanes_of(size);
    const int64_t unit = plan_tile_step(k) * bytes / WORD;
    int64_t words[TG_BANKS], n = 0, most = 0;
    uint8_t met[TG_BANKS] = {0};
    if (unit <= WBB_MAX(size / WORD, 1) || unit > TG_BANKS) return (double)ideal;
    Thread t = {0};
    for (t.lane = 0; t.lane < together; t.lane++) {
        const int64_t word = place_of(k, side, &t) * bytes / WORD;
        int64_t j = n;
        while (j > 0 && words[j - 1] != word) j--;
        if (j > 0) continue;
        words[n++] = word;
        met[word % unit]++;
        most = WBB_MAX(most, met[word % unit]);
    }
    return (double)(LANES / together * lay_up(most, TG_BANKS / unit));
}

/* Of so many accesses of a thread, those whose places are no other one plus a constant: a run of several dimensions is
 * parted at places that depend on the thread, (2 * t + 1) // 3, unless vectors and registers have whole ones, or are
 * in one. */
static double addresses_of(const PlanExchanged *k, int side, double accesses)
{
    const PlanGroup *g = &k->side[side].groups[0];
    const int64_t *sizes = k->side[side].sizes, vector = sizes[LAY_VECTOR], registers = sizes[LAY_REGISTER];
    const int64_t step = vector * sizes[LAY_LANE] * sizes[LAY_WARP];
    int64_t inner = 1;
    double own = 1;
    for (uint32_t n = g->n; n-- > 1;) {
        inner *= k->tile[g->of[n]];
        if (k->stride[g->of[n - 1]] == k->stride[g->of[n]] * k->tile[g->of[n]]) continue; /* one in the tile, too */
        if (vector % inner != 0 && inner % vector != 0) return accesses;
        if (step % inner != 0 && inner % step != 0) own = (double)registers;
    }
    return WBB_MIN(own, accesses) - 1;
}

/* Of all accesses of a warp to the tiles of all values. */
LayTileWork plan_tile_work(const PlanExchange *x, const PlanExchanged *k, int side, const PlanTileSample *sample)
{
    const PlanSide *s = &k->side[side];
    LayTileWork w = {0};
    double elements = 1;
    for (uint32_t g = 0; g < s->n; g++)
        elements *= (double)(s->sizes[g * LAY_LEVELS + LAY_VECTOR] * s->sizes[g * LAY_LEVELS + LAY_REGISTER]);
    for (uint32_t n = 0; n < x->n_values; n++) {
        uint32_t tiles;
        const int64_t bytes = bytes_of(x, n, &tiles), width = width_of(k, side, bytes), size = width * bytes;
        const double accesses = elements / (double)width * tiles, ideal = fewest_of(k, side, width, bytes);
        double each = 0;
        for (uint32_t j = 0; sample && j < PLAN_SAMPLES; j++)
            each += wavefronts_of(k, sample->place[j], size, bytes) / (double)PLAN_SAMPLES;
        w.accesses += accesses;
        w.addresses = WBB_MAX(w.addresses, addresses_of(k, side, elements / (double)width));
        w.least += accesses * (double)(LANES * size) / TG_LINE;
        w.wavefronts += accesses * (sample ? each : ideal);
    }
    return w;
}

/* Positions along a group at which a thread has its first element, and those between. */
static int64_t threads_along(const PlanSide *s, uint32_t g)
{
    int64_t n = 1;
    for (int k = 0; k < LAY_GRID; k++) n *= s->sizes[g * LAY_LEVELS + (uint32_t)k];
    return n;
}

double plan_tile_beyond(const PlanExchange *x, const PlanExchanged *k, int side)
{
    const PlanSide *s = &k->side[side];
    int64_t together = LANES, all = 0, positions[PLAN_EXCHANGE_DIMS], left[PLAN_EXCHANGE_DIMS];
    double beyond = 0, grid[PLAN_EXCHANGE_DIMS];
    bool any = false; /* threads beyond the end */
    for (uint32_t n = 0; n < x->n_values; n++) {
        uint32_t tiles;
        const int64_t bytes = bytes_of(x, n, &tiles);
        together = WBB_MIN(together, lanes_of(width_of(k, side, bytes) * bytes));
    }
    for (uint32_t g = 0; g < s->n; g++) {
        int64_t tile = 1;
        for (uint32_t n = 0; n < s->groups[g].n; n++) tile *= k->tile[s->groups[g].of[n]];
        grid[g] = (double)s->sizes[g * LAY_LEVELS + LAY_GRID];
        left[g] = s->groups[g].dim.size - (s->sizes[g * LAY_LEVELS + LAY_GRID] - 1) * tile; /* to the last tile */
        any = any || left[g] < threads_along(s, g);
    }
    if (!any) return 0;
    Thread t = {0};
    for (; t.warp < k->wish.warps; t.warp++)
        for (int64_t first = 0; first < LANES; first += together, all++) {
            bool inside[PLAN_EXCHANGE_DIMS] = {0};
            for (t.lane = first; t.lane < first + together; t.lane++) {
                positions_of(s, &t, positions);
                for (uint32_t g = 0; g < s->n; g++) inside[g] = inside[g] || positions[g] < left[g];
            }
            for (uint32_t g = 0; g < s->n; g++) beyond += inside[g] ? 0 : 1 / grid[g];
        }
    return beyond / (double)all;
}

double plan_tile_enumerate(const PlanExchange *x, const PlanExchanged *k, int side)
{
    const PlanSide *s = &k->side[side];
    double all = 0;
    for (uint32_t n = 0; n < x->n_values; n++) {
        uint32_t tiles;
        const int64_t bytes = bytes_of(x, n, &tiles), width = width_of(k, side, bytes);
        Thread t = {0};
        for (; t.warp < k->wish.warps; t.warp++) {
            for (uint32_t g = 0; g < s->n;) {
                int64_t places[LANES];
                Thread first = {.at = {0}};
                memcpy(first.at, t.at, sizeof t.at);
                if (place_of(k, side, &first) % width == 0) { /* an access begins here, in all lanes and warps */
                    lanes_at(k, side, &t, places);
                    all += wavefronts_of(k, places, width * bytes, bytes) * (double)tiles;
                }
                for (g = 0; g < s->n; g++) { /* the next digits */
                    const int64_t *sizes = s->sizes + (size_t)g * LAY_LEVELS;
                    if (++t.at[g] < sizes[LAY_VECTOR] * sizes[LAY_REGISTER]) break;
                    t.at[g] = 0;
                }
            }
        }
    }
    return all / (double)k->wish.warps;
}

int64_t plan_tile_elements(const PlanExchanged *k) { return padded(k, k->elements - 1) + 1; }

double plan_tile_bytes(const PlanExchange *x, const PlanExchanged *k)
{
    return (double)(plan_tile_elements(k) * (x->bits / 8));
}
