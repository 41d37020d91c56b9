/* exchange_tile.c: where elements stand in a tile, and how many wavefronts the accesses of a warp take.
 *
 * Needs the layouts of both stages; leaves the tile's strides, and counts by enumerating the lanes: of the lanes that
 * shared memory serves at once, 32 for up to 4 bytes, 16 for 8, 8 for 16, the bank with the most words.
 *
 *     32 lanes 256 bytes apart, 4 bytes each: 32 wavefronts; with 4 more after every 256: 1
 */
#include "partition/exchange.h"

enum { WORD = 4, BANKS = 32 };


/* Positions of a dimension that threads of a side have in a tile: all of it, or more. */
static int64_t covered(const PartSide *s, const int64_t *tile, uint32_t d)
{
    for (uint32_t g = 0; g < s->n; g++) {
        int64_t n = 1, inner = 1;
        if (s->groups[g].of[0] != d) continue;
        for (int k = 0; k < PART_GRID; k++) n *= s->sizes[g * PART_LEVELS + (uint32_t)k];
        for (uint32_t k = 1; k < s->groups[g].n; k++) inner *= tile[s->groups[g].of[k]];
        return part_up(n, inner);
    }
    return tile[d]; /* it is whole, within a run */
}

void part_tile_strides(PartExchanged *k, const uint32_t *order, uint32_t n_dims)
{
    k->elements = 1;
    for (uint32_t n = 0; n < n_dims; n++) {
        k->stride[order[n]] = k->elements;
        k->elements *= covered(&k->side[PART_TO], k->tile, order[n]);
    }
}

int64_t part_tile_unit(const PartExchanged *k, int side)
{
    return (side == PART_TO) == k->wish.read_units ? k->wish.vector[side] : k->wish.neighbours;
}

static int64_t width_of(const PartExchange *x, const PartExchanged *k, int side)
{
    const int64_t most = WBB_MAX(128 / WBB_MAX(x->bits / x->n_values, 8), 1);
    return WBB_MIN(part_tile_unit(k, side), most);
}

/* A thread's digits: of lane, warp, register and vector. */
typedef struct {
    int64_t lane, warp, at[PART_EXCHANGE_DIMS]; /* at: by group, number among vectors and registers */
} Thread;

/* Where in the tile, without padding, an element of a thread is. */
static int64_t place_of(const PartExchanged *k, int side, const Thread *t)
{
    const PartSide *s = &k->side[side];
    int64_t lane = t->lane, warp = t->warp, place = 0;
    for (uint32_t g = 0; g < s->n; g++) {
        const int64_t *sizes = s->sizes + (size_t)g * PART_LEVELS;
        int64_t position = 0, weight = 1, at = t->at[g];
        for (int n = 0; n < PART_LEVELS; n++) {
            const PartLevel level = s->orders[g][n];
            int64_t *number = level == PART_LANE ? &lane : level == PART_WARP ? &warp : &at;
            if (level == PART_GRID) continue;
            position += *number % sizes[level] * weight;
            *number /= sizes[level];
            weight *= sizes[level];
        }
        for (uint32_t n = s->groups[g].n; n-- > 0;) {
            const uint32_t d = s->groups[g].of[n];
            place += (n ? position % k->tile[d] : position) * k->stride[d];
            position /= k->tile[d];
        }
    }
    return place;
}

/* Wavefronts of one access: of the lanes that are served at once, as many as a bank has different words. */
static uint32_t wavefronts_of(const PartExchanged *k, int side, Thread t, int64_t width, int64_t bytes)
{
    const int64_t size = width * bytes;
    const uint32_t together = size <= 4 ? 32 : size == 8 ? 16 : 8;
    uint32_t all = 0;
    for (uint32_t first = 0; first < 32; first += together) {
        int64_t words[BANKS * 4];
        uint32_t n = 0, in_bank[BANKS] = {0}, most = 0;
        for (t.lane = first; t.lane < first + together; t.lane++) {
            int64_t at = place_of(k, side, &t);
            if (k->pad) at += at / k->period * k->pad;
            for (int64_t w = at * bytes / WORD; w <= (at * bytes + size - 1) / WORD; w++) {
                uint32_t j = 0;
                while (j < n && words[j] != w) j++;
                if (j < n || n == WBB_LEN(words)) continue;
                words[n++] = w;
                const uint32_t here = ++in_bank[w % BANKS];
                most = WBB_MAX(most, here);
            }
        }
        all += most;
    }
    return all;
}

/* What the place gains by one step in the vector, or else the register, of a group. */
static int64_t place_step(const PartExchanged *k, int side, uint32_t g)
{
    Thread t = {0};
    const int64_t *sizes = k->side[side].sizes + (size_t)g * PART_LEVELS;
    if (sizes[PART_VECTOR] * sizes[PART_REGISTER] == 1) return 0;
    t.at[g] = 1;
    return place_of(k, side, &t);
}

/* Of all accesses of a warp to one value's tile; of the accesses the first and the last are counted, of the first warp
 * and the last. */
PartTileWork part_tile_work(const PartExchange *x, const PartExchanged *k, int side, bool count)
{
    const PartSide *s = &k->side[side];
    const int64_t width = width_of(x, k, side), bytes = WBB_MAX(x->bits / x->n_values, 8) / 8;
    Thread first = {0}, last = {.warp = k->wish.warps - 1};
    double elements = 1;
    for (uint32_t g = 0; g < s->n; g++) {
        const int64_t n = s->sizes[g * PART_LEVELS + PART_VECTOR] * s->sizes[g * PART_LEVELS + PART_REGISTER];
        elements *= (double)n;
        last.at[g] = n - 1;
    }
    const double accesses = elements / (double)width * x->n_values, ideal = (double)part_up(32 * width * bytes, 128);
    PartTileWork w = {accesses, accesses * ideal};
    if (!count) return w;
    for (uint32_t g = 0; g < s->n; g++) /* the first of its neighbours */
        if (place_step(k, side, g) == 1) last.at[g] -= last.at[g] % width;
    const uint32_t both = wavefronts_of(k, side, first, width, bytes) + wavefronts_of(k, side, last, width, bytes);
    const double each = both / 2.0;
    w.wavefronts = accesses * WBB_MAX(each, ideal);
    return w;
}

double part_tile_bytes(const PartExchange *x, const PartExchanged *k)
{
    const int64_t padding = k->pad ? part_up(k->elements, k->period) * k->pad : 0;
    return (double)((k->elements + padding) * (x->bits / 8));
}

