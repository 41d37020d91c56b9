/* ties.c: which of the layouts that cost about the same is taken.
 *
 * Needs sizes of levels and prices; leaves a key, of which the smallest decides. Prices are of measured times, from
 * which they are off by an eighth, so what is within layout.tie of the cheapest is equal. Of these the one is taken
 * that has, in this order: no long chain of terms that round; no results that blocks share, no loop over a few terms,
 * each iteration of which waits for its loads, and no other loop where memory takes longer than what the SMs do (on an
 * H200 loops took 5 per cent longer than other layouts of the same price); the least time at full rates of DRAM and
 * fill, within layout.tie.plain; no results that blocks share; the fewest dimensions that are cut short; the fewest
 * warps that share a result; the widest vector; the fewest terms in straight code, but a block's fewest threads where
 * each set of warps that shares results may have an SM of its own; a block's threads nearest to loop.block.
 *
 *     columns: vector 4, lane 16, register 2; rows: lane 2, warp 16, grid 128     2.206 us, at full rates 1.95: taken
 *     columns: vector 4, lane 32; rows: warp 4, grid 1024                         2.205 us, at full rates 2.07
 */
#include "layout/pricing.h"

void lay_preferences(const LayTie *t, const LayWork *w, const int64_t *sizes, const LayPrice *price, int64_t *key)
{
    int64_t warps = 1, terms = 1, loop = 1, vector = 1, threads = 1;
    int64_t sets = 1; /* of warps that share results */
    bool splits = false;
    for (uint32_t d = 0; d < w->n_dims; d++) {
        const int64_t *s = sizes + (size_t)d * LAY_LEVELS;
        const int64_t of_dim = s[LAY_GRID] * s[LAY_CLUSTER] * (w->dims[d].reduced ? 1 : s[LAY_WARP]);
        WbbI128 covered = 1;
        for (int k = 0; k < LAY_LEVELS; k++) covered *= s[k];
        if (w->dims[d].reduced) warps *= s[LAY_WARP];
        splits = splits || (w->dims[d].reduced && s[LAY_GRID] * s[LAY_CLUSTER] > 1);
        key[0] |= w->rounds && s[LAY_LOOP] > t->chain;
        key[4] += covered != w->dims[d].size;
        if (w->dims[d].reduced) loop *= s[LAY_LOOP];
        terms *= s[LAY_VECTOR] * s[LAY_REGISTER];
        vector *= s[LAY_VECTOR];
        threads *= s[LAY_LANE] * s[LAY_WARP];
        sets = WBB_MIN(sets, INT64_MAX / of_dim) * of_dim;
    }
    const bool is_short = loop > 1 && terms * loop <= t->few_terms;
    key[1] = splits || is_short || (loop > 1 && t->waits);
    key[2] = t->unit > 0 ? (int64_t)((price->plain - t->plain) / t->unit) : 0;
    key[3] = splits;
    key[5] = warps, key[6] = -vector, key[7] = terms;
    key[8] = threads < t->usual_block ? t->usual_block - threads : threads - t->usual_block;
    if (sets <= t->sms && !splits) key[7] = threads; /* an SM each: less of its units a block; terms cost less */
}
