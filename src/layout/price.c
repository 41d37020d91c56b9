/* price.c: the time that a reduction takes under a layout, in closed form.
 *
 * Needs a description of the work and the sizes of all levels; leaves microseconds, by term. With t the terms that
 * overlap
 *
 *     us = launch + latency + code + split + tail + (sum t^n)^(1/n)      (price/time.h)
 *
 * where n = 4 of loops and exchanges; of reductions n = 2 if all blocks run at once, which load, compute and store at
 * about the same time, and nears 4 with the times that SMs are filled: the more often, the more of one block's work
 * overlaps with another's. A maximum would make plateaus: where DRAM binds, 64 blocks would look as good as 256. The
 * time at full rates, which decides among equal prices, has n = 3 as the profile.
 *
 *     rows f32[8192,1024], columns: vector 4, lane 32, register 8; rows: warp 8, grid 1024
 *       =>  DRAM 7.0, chain 1.1, fill 1.9, .. => 9.1 us
 */
#include "layout/counts.h"

#include <string.h>
#include <stdio.h>
#include <stdlib.h>

const char *const lay_term_name[LAY_TERMS] = {"DRAM", "L2",     "issue", "pipe", "L1",      "fill",
                                                 "chain", "blocks", "split", "tail", "latency", "code", "launch"};

/* --- what an access touches --------------------------------------------------------------------------------------- */
/* Positions along a dimension, `step` bytes apart. */
typedef struct {
    double step, n;
} Stretch;

typedef struct {
    double run, runs; /* bytes side by side; how many such */
    bool aligned;     /* each begins at a sector */
} Region;

enum { MAX_STRETCHES = 32 }; /* of a region; further ones are counted as far apart, which costs more */

/* Elements at n positions, each of which so many neighbours have: in the mean over where the first one is, unless these
 * and the positions divide each other. */
static double different(double n, double same)
{
    const bool whole = n / same == lay_ceiling(n / same) || same / n == lay_ceiling(same / n);
    return whole ? lay_ceiling(n / same) : 1 + (n - 1) / same;
}

/* What an access touches where the levels of a mask vary; in lines of so many bytes, of which parts are whole ones. */
static Region region_with(const LayWork *w, const LayAccess *x, const int64_t *sizes, uint32_t levels, double line)
{
    Stretch s[MAX_STRETCHES];
    uint32_t n = 0;
    const double bytes = x->bits / 8.0;
    double far = 1; /* runs that lie anywhere, each of what is side by side */
    Region r = {.run = bytes, .runs = 1, .aligned = true};
    /* what the beginning of a row is a multiple of */
    double other = (double)(w->placed ? x->row_align : x->align) * bytes;
    for (uint32_t d = 0; d < w->n_dims; d++) {
        const LayLevel *order = lay_level_order(w, &w->dims[d]);
        double weight = 1;
        if (!x->step[d]) continue;
        for (uint32_t k = 0; k < LAY_LEVELS; k++) {
            const int64_t size = sizes[d * LAY_LEVELS + order[k]];
            if (size > 1 && levels >> order[k] & 1) {
                const double same = x->repeat ? WBB_MAX((double)x->repeat[d] / weight, 1.0) : 1; /* with one element */
                const double apart = x->step[d] == LAY_FAR ? 1e18 : (double)x->step[d] * weight * same * bytes;
                const Stretch new = {apart, different((double)size, same)};
                uint32_t at = n;
                if (new.step >= 1e18 || n == MAX_STRETCHES) far *= new.n, at = MAX_STRETCHES;
                else for (n++; at > 0 && s[at - 1].step > new.step; at--) s[at] = s[at - 1];
                if (at < MAX_STRETCHES) s[at] = new;
            }
            weight *= (double)size;
        }
        if (x->step[d] == LAY_FAR) other = bytes;
    }
    for (uint32_t k = 0; k < n; k++) {
        /* side by side, or with holes that are smaller than a sector */
        const bool near = s[k].step < r.run + TG_SECTOR || s[k].step <= line;
        if (r.runs == 1 && near) r.run += s[k].step * (s[k].n - 1);
        else r.runs *= s[k].n;
    }
    r.runs *= far;
    const double sectors = r.run / TG_SECTOR, starts = other / TG_SECTOR;
    r.aligned = starts == lay_ceiling(starts) &&
                (sectors == lay_ceiling(sectors) || TG_SECTOR / r.run == lay_ceiling(TG_SECTOR / r.run));
    return r;
}

/* The same in sectors. */
static Region region_of(const LayWork *w, const LayAccess *x, const int64_t *sizes, uint32_t levels)
{
    return region_with(w, x, sizes, levels, 0);
}

static double units_of(const Region *r, const LayAccess *x, double unit)
{
    if (r->aligned) return r->runs * lay_ceiling(r->run / unit);
    return r->runs * WBB_MAX(1.0, r->run / unit + 1 - x->bits / 8.0 / unit);
}

enum {
    OF_ACCESS = 1 << LAY_VECTOR | 1 << LAY_LANE,
    OF_BLOCK = OF_ACCESS | 1 << LAY_WARP | 1 << LAY_REGISTER | 1 << LAY_LOOP,
};

/* How often L2 gets a sector of a store: once for each of the instructions that store a part of it, where those of a
 * vector are narrower than a sector. */
static double stores_of_sector(const LayWork *w, const LayAccess *x, const int64_t *sizes, double width)
{
    const double bytes = x->bits / 8.0, sector = TG_SECTOR;
    for (uint32_t d = 0; d < w->n_dims; d++) {
        const int64_t vector = sizes[d * LAY_LEVELS + LAY_VECTOR];
        if (vector <= 1 || x->step[d] != 1) continue;
        return WBB_MAX(WBB_MIN(sector, (double)vector * bytes) / (width * bytes), 1.0);
    }
    return 1;
}

/* The same, where registers of a thread have the other parts: vectors of 16 bytes, two to a row of 32. */
static double stores_by_registers(const LayRates *r, const LayWork *w, const LayAccess *x,
                                  const int64_t *sizes, const Region *of_warp)
{
    const Region of_thread = region_of(w, x, sizes, OF_ACCESS | 1 << LAY_REGISTER);
    double registers = 1;
    for (uint32_t d = 0; d < w->n_dims; d++)
        if (x->step[d]) registers *= (double)sizes[d * LAY_LEVELS + LAY_REGISTER];
    const double times = units_of(of_warp, x, TG_SECTOR) * registers / units_of(&of_thread, x, TG_SECTOR);
    return times > r->parts.times ? times : 1; /* not a sector at each end of a run */
}

/* Are the elements of a vector apart in memory, each with an instruction of its own? */
static bool is_parted(const LayWork *w, const LayAccess *x, const int64_t *sizes)
{
    for (uint32_t d = 0; d < w->n_dims; d++)
        if (sizes[d * LAY_LEVELS + LAY_VECTOR] > 1) return x->step[d] > 1;
    return false;
}

/* Wavefronts of one instruction: one for each line, and lanes that ask for the same bytes are given them all the same.
 * Banks are used as often as the lanes that are served at a time are apart: those of a vector in two accesses twice. */
static double wavefronts_of(const LayRates *r, const LayWork *w, const LayAccess *x, const int64_t *sizes,
                            const LayCounts *c, const Region *of_warp, double width)
{
    const double lanes = WBB_MIN(c->lanes * c->kept_lanes, (double)r->target->warp);
    const double bytes = lanes * width * x->bits / 8.0, apart = stores_of_sector(w, x, sizes, width);
    return WBB_MAX(units_of(of_warp, x, r->wavefront), bytes / r->wavefront * apart);
}

/* Do the iterations of a real loop access different elements? Not those of an array that is read again from its
 * beginning in each, as a bias of 128 elements along rows of 16384. */
static bool in_loop(const LayWork *w, const LayAccess *x, const int64_t *sizes)
{
    for (uint32_t d = 0; d < w->n_dims; d++) {
        const LayLevel *order = lay_level_order(w, &w->dims[d]);
        const int64_t *s = sizes + (size_t)d * LAY_LEVELS;
        if (!x->step[d] || s[LAY_LOOP] == 1) continue;
        int64_t inner = 1;
        for (uint32_t k = 0; order[k] != LAY_LOOP; k++) inner *= s[order[k]];
        if (x->step[d] == LAY_FAR || x->memory == 0 || x->step[d] % x->memory * inner % x->memory) return true;
    }
    return false;
}

/* --- the price ---------------------------------------------------------------------------------------------------- */
static bool is_anywhere(const LayWork *w, const LayAccess *x)
{
    for (uint32_t d = 0; d < w->n_dims; d++)
        if (x->step[d] == LAY_FAR) return true;
    return false;
}

bool lay_is_placed(const LayWork *w)
{
    for (uint32_t k = 0; k < w->n_loads; k++)
        if (is_anywhere(w, &w->loads[k])) return true;
    return false;
}

/* Of one warp. */
typedef struct {
    double slots, clocks, wavefronts, chain;
    double trips;   /* issue slots of iterations after the first, whose code is there */
    double first;   /* issue slots that the first warp of a block has beyond those of the mean */
    double covered; /* of the chain, what passes while its code comes */
} Warp;

/* How many neighbours of a row one access of shared memory has. */
static double wide(double row)
{
    for (double n = 4; n > 1; n /= 2)
        if (row / n == lay_ceiling(row / n)) return n;
    return 1;
}

/* Combining over warps: each stores `n` words of each kept element; the first of those that share them reads them all,
 * where a later stage needs the results all do, or threads take a result each. Rows of lanes with elements of their own
 * are of one warp, others have what all warps have of one element (emit/share_exchange.c). */
static void add_shared(Warp *x, const LayRates *r, const LayWork *w, const LayCounts *c, double n, double times)
{
    const bool tiles = c->kept_lanes > 1;
    const double results = c->kept * c->kept_lanes * c->kept_warps, of_warp = r->target->warp;
    const double of_thread = c->hand.parted ? 1 : c->kept, stores = times * c->kept * n;
    const double rows = (double)c->hand.rows, steps = lay_log2_up((double)c->hand.readers); /* that shuffle */
    const double reads = times * of_thread * n * rows, combines = times * of_thread * (rows + steps);
    const double of_store = tiles ? wide(c->kept) : 1, of_read = wide(tiles ? of_thread : rows);
    const double by_all = w->scan ? 1 : WBB_MIN(w->reductions, w->passes - 1) / (double)WBB_MAX(w->reductions, 1);
    const double readers = results * (double)c->hand.readers;
    const double by_first = c->hand.parted ? lay_ceiling(readers / of_warp) / c->warps : 1 / c->reduced_warps;
    const double part = by_all + (1 - by_all) * by_first; /* of the warps */
    const double word = sizeof(uint32_t) / r->wavefront, lines = tiles ? c->kept_lanes * word : 0;
    const double of_results = c->hand.parted ? WBB_MIN(results, of_warp) * word : lines;
    const double slots = r->access_slots * reads / of_read + combines * w->combine_slots + times * steps * 2 * n;
    x->slots += r->access_slots * stores / of_store + slots * part;
    x->first += slots * (1 - part);
    x->clocks += (stores / of_store + reads / of_read * part) * r->lsu +
                 (combines * w->combine_clocks + times * steps * n * r->shuffle) * part;
    const double put = lines * (c->hand.of_lanes ? c->lanes : 1);
    x->wavefronts += stores * WBB_MAX(1 / of_store, put) + reads * WBB_MAX(1 / of_read, of_results) * part;
    const double deep = w->scan ? c->reduced_warps : lay_log2_up(rows) + steps;
    const double each = 2 * r->shared_latency + r->barrier + deep * w->combine_latency + steps * r->shuffle_latency;
    x->chain += times * w->reductions * each;
}

/* Combining over lanes and warps. */
static void add_sharing(Warp *x, const LayRates *r, const LayWork *w, const LayCounts *c)
{
    /* a scan shares in each iteration, with a shuffle more for what is before a thread, and combines that with all */
    const double times = w->scan ? c->loop : 1;
    const double n = lay_partial_words(w) + lay_presence(w, c);
    const double combine_slots = w->combine_slots + lay_presence_slots(w, c);
    const bool redux = w->redux && c->lanes == r->target->warp;
    const bool none = redux || c->hand.of_lanes;
    const double steps = none ? 0 : times * (c->steps + (w->scan && c->lanes > 1));
    if (redux) x->slots += 2 * c->kept * n, x->clocks += c->kept * n * r->redux;
    if (redux) x->chain += w->reductions * r->redux_latency;
    if (w->scan) x->slots += times * c->kept * c->terms * w->combine_slots;
    if (w->scan) x->clocks += times * c->kept * c->terms * w->combine_clocks;
    x->slots += steps * c->kept * (2 * n + combine_slots + lay_narrow(w));
    x->clocks += steps * c->kept * (r->shuffle * n + w->combine_clocks);
    const double selects = lay_presence(w, c) * r->presence_chain * r->alu;
    const double word = lay_narrow(w) > 0 ? r->alu : 0;
    x->chain += steps * w->reductions * (r->shuffle_latency + word + w->combine_latency + selects);
    if (c->reduced_warps > 1) add_shared(x, r, w, c, n, times);
}

/* What DRAM gives of its rate to runs of so many bytes, of a block or of a warp's access: `of` is for 32, 64, .. */
static double efficiency(const double *of, double run)
{
    int k = 0;
    for (double bytes = 64; k < LAY_RUNS && run >= bytes; bytes *= 2) k++;
    return k < LAY_RUNS ? of[k] : 1;
}

/* The part of the terms that a layout covers at which there is an element of the access: those beyond the end access
 * the last one again. Of results beyond the end, whose masks cost more than is counted, this says nothing. */
static double present(const LayWork *w, const LayAccess *a, const int64_t *sizes)
{
    double part = 1;
    for (uint32_t d = 0; d < w->n_dims; d++) {
        double covered = 1;
        if (!a->step[d] || !w->dims[d].reduced) continue;
        for (int k = 0; k < LAY_LEVELS; k++) covered *= (double)sizes[d * LAY_LEVELS + (uint32_t)k];
        part *= (double)w->dims[d].size / covered;
    }
    return part;
}

/* Bytes of memory that all blocks touch: what a block touches, of all blocks that touch different elements. Sectors at
 * the ends of what blocks touch are counted twice, so that this is the array at most. */
static double touched(const LayWork *w, const LayAccess *a, const int64_t *sizes, double block)
{
    const double bytes = a->bits / 8.0;
    double all = block;
    for (uint32_t d = 0; d < w->n_dims; d++)
        if (a->step[d]) all *= (double)(sizes[d * LAY_LEVELS + LAY_GRID] * sizes[d * LAY_LEVELS + LAY_CLUSTER]);
    return WBB_MAX(WBB_MIN(all, (double)a->memory * bytes), (double)a->elements * bytes);
}

/* The same of an access that reads `fresh` elements at each position: these fill the holes of sectors. */
static double with_fresh(const LayAccess *a, double fresh, double all)
{
    const double bytes = a->bits / 8.0;
    return WBB_MAX(all, WBB_MIN(fresh * (double)a->elements, (double)a->memory) * bytes);
}

/* By how many bytes an access of a block, whose runs have so many, reaches beyond what another has. Where a run has
 * all of a dimension, what is needed in a part of it stays inside for as long as the other parts are. */
static double beside(const LayAccess *a, double run)
{
    if (a->beside == LAY_FAR) return 1e18;
    const int64_t step = a->share.dim ? a->step[a->share.dim - 1] : 0;
    const double bytes = a->bits / 8.0, row = step && step != LAY_FAR ? (double)step / a->share.step * bytes : 0;
    return WBB_MAX((double)a->beside * bytes - (row <= run ? (1 - a->share.part) * row : 0), 0.0);
}

/* Traffic of an access, added to terms of the price; wavefronts and slots to those of a warp. */
static void add_access(LayPrice *p, Warp *x, const LayRates *r, const LayWork *w, const LayAccess *a,
                       const int64_t *sizes, const LayCounts *c, double blocks_an_sm, bool store)
{
    const double passes = c->loop > 1 ? WBB_MAX(a->passes, 1u) : 1; /* without a loop registers keep it */
    const double times = in_loop(w, a, sizes) ? c->loop * passes : 1, width = lay_width(w, a, sizes, r->target);
    const double each = WBB_MAX(a->times, 1.0); /* of them, those that no other element has read */
    const double fresh = WBB_MIN(each, WBB_MAX((double)a->memory / (double)WBB_MAX(a->elements, 1), 1.0));
    const double accesses = times * each * lay_accessed(w, a, sizes) / width * lay_seen(w, a, sizes, false);
    const Region of_warp = region_of(w, a, sizes, OF_ACCESS), of_block = region_of(w, a, sizes, OF_BLOCK);
    const Region of_one = region_with(w, a, sizes, is_parted(w, a, sizes) ? 1 << LAY_LANE : OF_ACCESS,
                                      lay_shares(w) ? r->wavefront : 0);
    const bool some = a->share.dim && w->linear; /* lanes that need it */
    const double lanes = some ? a->share.part / lay_seen(w, a, sizes, false) : 1;
    const double all_lines = wavefronts_of(r, w, a, sizes, c, &of_one, width); /* of each instruction */
    const double lines = WBB_MAX(all_lines * lanes, 1.0);
    const bool by_few = store && !lay_of_each_element(w, a); /* the first thread of those that share a result */
    const double part = by_few ? 1 / c->reduced_warps : 1;
    x->slots += accesses * r->access_slots * part;
    x->clocks += accesses * r->lsu * part;
    x->wavefronts += accesses * lines * part;
    const double behind = beside(a, of_block.run);
    const double own = store ? 1 : WBB_MIN(behind / of_block.run, 1.0); /* not the other load's */
    const double tiles = (by_few ? c->blocks / c->splits : c->blocks) * lay_seen(w, a, sizes, true);
    const double block = units_of(&of_block, a, TG_SECTOR) * TG_SECTOR * present(w, a, sizes);
    const double reads = block * blocks_an_sm <= r->l1_bytes ? 1 : passes;
    const double from_dram = block * blocks_an_sm * r->target->sms <= r->l2_kept ? 1 : passes;
    /* other blocks have read the same sectors for that, unless both are parts of rows */
    const bool others = !store && behind <= r->l2_kept && 2 * a->elements > a->memory;
    const double parts =
        !store ? 1 : stores_of_sector(w, a, sizes, width) * stores_by_registers(r, w, a, sizes, &of_warp);
    const bool in_parts = store && price_in_parts(&r->parts, parts, units_of(&of_warp, a, TG_SECTOR));
    const double stored = in_parts ? 1 + r->parts.more : 1; /* the rest comes late */
    const double all = touched(w, a, sizes, block), with = with_fresh(a, fresh, all);
    const double bytes = others ? 0 : stored * from_dram * with * own;
    double asked = reads * with / all * tiles * block * parts * own; /* of L2 */
    if (!store && lay_shares(w) && all <= r->timed.stay) asked = WBB_MIN(asked, all * r->target->sms);
    p->term[LAY_L2] += asked / r->l2;
    const double again = lay_shares(w) ? WBB_MAX(asked - bytes, 0.0) * (1 - r->timed.again) : 0;
    if (!store) p->term[LAY_FILL] += (asked - again) / tiles; /* bytes of a block */
    const bool joins = lay_neighbours(w, a, sizes) > 1; /* what a thread loads one after the other */
    const Region of_run = joins ? region_of(w, a, sizes, OF_ACCESS | 1 << LAY_REGISTER) : of_warp;
    const double lay_of_rate =
        lay_shares(w) ? efficiency(r->warp_run, of_run.run) : efficiency(r->run, of_block.run);
    p->term[LAY_DRAM] += bytes / (r->dram * lay_of_rate);
    p->full_dram += bytes / r->dram;
}

/* Blocks that an SM holds at once. */
static double resident(const LayRates *r, const LayNeeds *needs, const LayCounts *c)
{
    const uint64_t registers = (uint64_t)lay_ceiling(needs->registers), shared = (uint64_t)needs->shared;
    return price_occupancy(r->target, (uint64_t)c->threads, (uint64_t)c->blocks, registers, shared).blocks;
}

/* Blocks, warps of one, blocks that an SM holds at once, and how often SMs are filled. */
typedef struct {
    double blocks, warps, at_once, waves, cluster, rows;
    bool shares;
} Waves;

static Waves waves_of(const LayRates *r, const LayWork *w, const LayNeeds *needs, const LayCounts *c)
{
    Waves n = {.blocks = c->blocks, .warps = lay_ceiling(c->threads / r->target->warp), .cluster = c->cluster,
               .rows = c->rows, .shares = lay_shares(w)};
    n.at_once = resident(r, needs, c);
    if (c->rows > 1) n.at_once = WBB_MIN(n.at_once, lay_ceiling(c->blocks / r->target->sms));
    n.waves = c->rows * lay_ceiling(c->blocks / (r->target->sms * n.at_once));
    return n;
}

/* Partial results go through the shared memory of a cluster, then through memory; the block with the last ticket reads
 * them, and each time that SMs are filled blocks wait for their tickets. */
static void add_split(LayPrice *p, const LayRates *r, const LayWork *w, const LayCounts *c, double waves)
{
    if (c->cluster > 1) { /* a barrier, reads of all others' memory at once, and a barrier before a block may end */
        const double each = 2 * r->cluster_latency + lay_log2_up(c->cluster) * w->combine_latency;
        p->term[LAY_SPLIT] = (w->reductions * each + r->cluster_latency) / r->clock;
    }
    if (c->splits == c->cluster) return;
    double bytes = 0;
    for (uint32_t k = 0; k < w->n_partials; k++) bytes += w->partials[k] / 8.0;
    const double results = c->blocks / c->splits * c->kept * c->kept_lanes * c->kept_warps;
    p->term[LAY_L2] += 2 * c->splits * results * bytes / r->l2;
    Warp again = {0};
    add_sharing(&again, r, w, c);
    const double chunk = lay_ceiling(c->splits / (c->lanes * c->reduced_warps));
    again.chain += chunk * (r->l2_latency + w->combine_latency) + 2 * r->barrier + r->atomic + r->fence;
    p->term[LAY_SPLIT] += again.chain / r->clock;
    p->term[LAY_SPLIT] += waves * r->timed.ticket;
}

/* The part that is lost where few warps of an SM have loads on their way, as far as it takes long to bring their bytes,
 * or few blocks of many that come one after the other. */
static double lost(const LayRates *r, const Waves *n, double fill)
{
    const double warps = WBB_MIN(n->at_once, lay_ceiling(n->blocks / r->target->sms)) * n->warps;
    const double long_for = fill / (fill + r->few_latency * r->dram_latency / r->clock);
    const double few = r->few_warps * WBB_MAX(1 - warps / r->busy_warps, 0.0) * long_for;
    return (1 + few) * (n->waves > 1 ? 1 + r->few_blocks / n->at_once : 1) - 1;
}

/* The terms of an SM: the mean over SMs, and for those that have a block more than others the tail, which nothing
 * overlaps with. */
static void add_warps(LayPrice *p, const LayRates *r, const Warp *x, const Waves *n)
{
    const double sms = r->target->sms, each = WBB_MAX(n->blocks / sms, 1.0);
    const double chain = x->chain / r->clock, latency = WBB_MIN(x->chain, r->dram_latency) / r->clock;
    p->term[LAY_ISSUE] = each * n->warps * x->slots / (r->issue * r->clock);
    p->term[LAY_PIPE] = each * n->warps * x->clocks / r->clock;
    p->term[LAY_L1] = each * n->warps * x->wavefronts / r->clock;
    p->issue = p->term[LAY_ISSUE] * n->blocks / (sms * each);
    p->effort = (p->term[LAY_ISSUE] + p->term[LAY_PIPE] + p->term[LAY_L1]) * n->blocks / (sms * each);
    p->full_fill = p->term[LAY_FILL] * each / r->clock / r->fill;
    p->term[LAY_FILL] *= each / r->clock / (n->shares ? r->in_flight / r->dram_latency : r->fill);
    p->term[LAY_CHAIN] = n->waves * chain - latency - x->covered / r->clock;
    if (n->shares) {
        p->term[LAY_L2] *= r->timed.l2;
        p->term[LAY_ISSUE] *= r->timed.issue, p->term[LAY_PIPE] *= r->timed.pipe;
        p->term[LAY_CODE] *= r->timed.code;
    }
    double busiest = 0;
    for (int k = LAY_ISSUE; k < LAY_FILL; k++) busiest = WBB_MAX(busiest, p->term[k]);
    p->full_tail = price_tail(WBB_MAX(busiest, p->full_fill), each, chain);
    p->term[LAY_TAIL] = price_tail(WBB_MAX(busiest, p->term[LAY_FILL]), each, chain);
    p->term[LAY_LATENCY] = latency;
    p->term[LAY_LAUNCH] = r->launch;
    if (n->cluster > 1) p->term[LAY_SPLIT] += n->waves * r->cluster;
    if (!n->shares) p->term[LAY_CODE] = TG_CODE * (x->slots - x->trips) / (r->code.rate * r->clock);
    if (!n->shares) return;
    p->together = 1 / WBB_MAX(n->blocks * n->rows / (sms * n->at_once), 1.0);
    p->term[LAY_TAIL] *= r->timed.tail, p->full_tail *= r->timed.tail;
    p->lost = lost(r, n, p->term[LAY_FILL]);
}

/* Where threads share terms, blocks that run at once load, compute and store at the same times. */
static double overlapped(const LayRates *r, const LayPrice *p)
{
    const double apart = price_together(p->term, LAY_PARALLEL, r->norm_apart);
    if (p->together <= 0) return apart;
    return p->together * price_together(p->term, LAY_PARALLEL, r->norm_together) + (1 - p->together) * apart;
}

/* The time, and that at full rates, which has the norm of the profile. */
static void add_terms(const LayRates *r, LayPrice *p)
{
    double full[LAY_PARALLEL];
    memcpy(full, p->term, sizeof full);
    full[LAY_DRAM] = p->full_dram, full[LAY_FILL] = p->full_fill;
    PriceTime x = {.together = overlapped(r, p) * (1 + p->lost),
                   .blocks = p->term[LAY_BLOCKS], .launch = p->term[LAY_LAUNCH], .latency = p->term[LAY_LATENCY],
                   .code = p->term[LAY_CODE], .split = p->term[LAY_SPLIT], .tail = p->term[LAY_TAIL]};
    p->us = price_time(&x);
    x.together = price_together(full, LAY_PARALLEL, r->norm), x.tail = p->full_tail;
    p->plain = price_time(&x);
}

void lay_price_blocks(const LayRates *r, LayPrice *p, double blocks)
{
    p->term[LAY_BLOCKS] = blocks / (r->blocks * r->clock);
    add_terms(r, p);
}

void lay_price_launch(const LayRates *r, LayPrice *p, double blocks)
{
    p->term[LAY_LAUNCH] = r->launch, p->term[LAY_LATENCY] = r->dram_latency / r->clock;
    p->full_dram = p->term[LAY_DRAM], p->full_fill = p->term[LAY_FILL];
    lay_price_blocks(r, p, blocks);
}

bool lay_blocks_bind(const LayPrice *p)
{
    double us = p->term[LAY_BLOCKS];
    for (int k = LAY_BLOCKS + 1; k < LAY_TERMS; k++) us += p->term[k];
    return us >= p->us;
}

/* Are elements of a thread stored under masks? What stands behind such a branch is loaded once those before it have
 * come: in each iteration, another latency. */
static bool waits_for_masks(const LayWork *w, const int64_t *sizes, const LayCounts *c)
{
    double vector = 1;
    bool stores = false;
    for (uint32_t d = 0; d < w->n_dims; d++) vector *= (double)sizes[d * LAY_LEVELS + LAY_VECTOR];
    for (uint32_t k = 0; k < w->n_stores; k++) stores = stores || lay_of_each_element(w, &w->stores[k]);
    return lay_shares(w) && stores && w->passes == 1 && c->masked > 0 && c->kept * c->terms > vector;
}

/* Latencies of memory that iterations wait for: the first stands before the loop. Where values from memory say where
 * others are, these come first. */
static double waits(const LayWork *w, double loop, double batch)
{
    const double deep = lay_is_placed(w) ? 2 : 1;
    return deep * (lay_shares(w) && loop > 1 ? 1 + lay_ceiling((loop - 1) / batch) : loop);
}

/* L2 moves sectors and updates them at the same time. */
static void add_turns(LayPrice *p, const LayRates *r, const LayTurns *x)
{
    if (x->sectors <= 0) return;
    const double terms[] = {p->term[LAY_L2], x->sectors / (r->atomics * r->clock), x->clocks / r->clock};
    p->term[LAY_L2] = price_together(terms, WBB_LEN(terms), r->norm_apart);
}

LayPrice lay_price(const LayRates *r, const LayWork *w, const int64_t *sizes, const LayNeeds *needs)
{
    const LayCounts c = needs->counts;
    LayPrice p = {.registers = needs->registers, .rolled = needs->rolled};
    Warp x = {.slots = r->thread_slots, .chain = r->thread_chain * r->alu};
    const Waves n = waves_of(r, w, needs, &c);
    const double sms = r->target->sms, at_once = n.at_once;
    const double blocks_an_sm = WBB_MIN(lay_ceiling(c.blocks / sms), at_once);
    double accesses = 0; /* of an iteration */
    for (uint32_t k = 0; k < w->n_loads; k++) {
        const double accessed = lay_accessed(w, &w->loads[k], sizes);
        add_access(&p, &x, r, w, &w->loads[k], sizes, &c, blocks_an_sm, false);
        accesses += accessed / lay_width(w, &w->loads[k], sizes, r->target);
    }
    for (uint32_t k = 0; k < w->n_stores; k++) add_access(&p, &x, r, w, &w->stores[k], sizes, &c, blocks_an_sm, true);
    const double each = c.kept * c.terms;
    const double again = c.loop > 1 ? w->passes - 1 : 0;
    const double masked = lay_shares(w) ? c.masked_terms : c.masked;
    const double combine = c.loop > 1 ? w->combine_slots : w->within_slots;
    const LayTerms terms = lay_terms(w, &c, sizes);
    const double ways = lay_shares(w) ? lay_divergence(w, sizes) : 1;
    x.trips = each * w->trip_slots;
    x.slots += x.trips + c.loop * (ways * terms.slots + each * combine + accesses * masked * r->mask_slots);
    if (c.masked > masked) x.slots += r->mask_slots; /* of the position, and of results */
    x.slots += c.loop * each * (c.loop > 1 ? w->again_slots : 0);
    if (c.loop > 1) x.slots += w->passes * c.loop * r->iteration_slots;
    x.clocks += c.loop * (ways * terms.clocks + each * w->combine_clocks);
    x.chain += waits(w, c.loop, needs->batch) * r->dram_latency + c.loop * (w->term_latency + w->combine_latency) +
               again * c.loop * (r->l2_latency + w->term_latency) + lay_log2_up(c.terms) * w->combine_latency;
    if (waits_for_masks(w, sizes, &c)) x.chain += c.loop * r->dram_latency;
    add_sharing(&x, r, w, &c);
    x.slots *= c.rows, x.clocks *= c.rows, x.wavefronts *= c.rows;
    p.term[LAY_DRAM] += w->across_bytes / r->dram, p.full_dram += w->across_bytes / r->dram;
    p.term[LAY_L2] += w->across_bytes / r->l2;
    /* a warp alone has one scheduler, whose pipes are a part of the SM's, and the wavefronts */
    const double code = lay_shares(w) ? TG_CODE * needs->instructions / r->code.rate : 0;
    const double alone = WBB_MAX(WBB_MAX(x.slots, x.clocks * r->issue), x.wavefronts) / c.rows + x.first;
    x.chain += alone;
    x.covered = WBB_MIN(alone, code);
    p.term[LAY_CODE] = code / r->clock;
    x.chain += c.kept * w->turns.latency;
    add_split(&p, r, w, &c, n.waves);
    add_warps(&p, r, &x, &n);
    add_turns(&p, r, &w->turns);
    lay_price_blocks(r, &p, c.blocks);
    return p;
}

/* Bytes that an access must move: where its elements are apart, a sector each. */
static double least_of(const LayWork *w, const LayAccess *x)
{
    int64_t step = LAY_FAR;
    for (uint32_t d = 0; d < w->n_dims; d++)
        if (x->step[d]) step = WBB_MIN(step, x->step[d]);
    const double bytes = x->bits / 8.0, sector = TG_SECTOR;
    const double each = step == LAY_FAR ? bytes : WBB_MIN(bytes * (double)step, sector);
    return x->near ? 0 : WBB_MAX(each * (double)x->elements, sector);
}

/* The sizes of the levels of each dimension of the work's space. */
static int64_t *sizes_of(WbbArena *a, const LayWork *w, const Layout *l)
{
    int64_t *sizes = WBB_NEW_N(a, int64_t, w->n_dims * LAY_LEVELS + 1u);
    for (uint32_t d = 0; d < w->n_dims; d++) {
        const LayDim *of = &l->dims[0];
        while (strcmp(of->name, w->dims[d].name) != 0) of++;
        for (int k = 0; k < LAY_LEVELS; k++) {
            const LayFactor *f = lay_factor(of, (LayLevel)k);
            sizes[d * LAY_LEVELS + (uint32_t)k] = f ? f->size : 1;
        }
    }
    return sizes;
}

LayPrice lay_price_layout(WbbArena *a, const LayWork *w, const Layout *l, const LayRates *r)
{
    const int64_t *sizes = sizes_of(a, w, l);
    const LayNeeds needs = lay_needs(r, w, sizes);
    return lay_price(r, w, sizes, &needs);
}

const LayTraffic *lay_traffic(WbbArena *a, const LayWork *w, const Layout *l, const LayRates *r)
{
    LayTraffic *sum = WBB_NEW(a, LayTraffic);
    const int64_t *sizes = sizes_of(a, w, l);
    const LayNeeds needs = lay_needs(r, w, sizes);
    const LayCounts c = needs.counts;
    const double blocks_an_sm = WBB_MIN(lay_ceiling(c.blocks / r->target->sms), resident(r, &needs, &c));
    for (uint32_t k = 0; k < w->n_loads + w->n_stores; k++) {
        const bool store = k >= w->n_loads;
        const LayAccess *x = store ? &w->stores[k - w->n_loads] : &w->loads[k];
        LayPrice p = {0};
        Warp warp = {0};
        if (is_anywhere(w, x)) continue;
        add_access(&p, &warp, r, w, x, sizes, &c, blocks_an_sm, store);
        const double bytes = p.term[LAY_L2] * r->l2, least = least_of(w, x);
        if (bytes - least > sum->of_buffer - sum->least_of_buffer)
            sum->buffer = x->buffer, sum->of_buffer = bytes, sum->least_of_buffer = least;
        sum->l2 += bytes, sum->least += least;
    }
    return sum;
}

/* Of the elements that a stage loads and stores, those that share bytes in memory. */
static double packed_elements(const LayWork *w, const int64_t *sizes)
{
    double n = 0;
    for (uint32_t k = 0; k < w->n_loads; k++)
        if (w->loads[k].bits < 8) n += lay_accessed(w, &w->loads[k], sizes);
    for (uint32_t k = 0; k < w->n_stores; k++)
        if (w->stores[k].bits < 8) n += lay_accessed(w, &w->stores[k], sizes);
    return n;
}

LayPrice lay_price_exchange(const LayRates *r, const LayWork *w, const int64_t *const *sizes,
                            const LayTileWork *tile, const LayNeeds *needs)
{
    const LayCounts c = lay_counts(&w[0], sizes[0]);
    LayPrice p = {0};
    Warp x = {.slots = r->thread_slots, .chain = r->thread_chain * r->alu + 2 * r->shared_latency + r->barrier};
    const Waves n = waves_of(r, w, needs, &c);
    const double sms = r->target->sms, at_once = n.at_once;
    const double blocks_an_sm = WBB_MIN(lay_ceiling(c.blocks / sms), at_once);
    for (int s = 0; s < 2; s++) {
        const LayCounts of = lay_counts(&w[s], sizes[s]);
        for (uint32_t k = 0; k < w[s].n_loads; k++)
            add_access(&p, &x, r, &w[s], &w[s].loads[k], sizes[s], &of, blocks_an_sm, false);
        for (uint32_t k = 0; k < w[s].n_stores; k++) {
            add_access(&p, &x, r, &w[s], &w[s].stores[k], sizes[s], &of, blocks_an_sm, true);
            const double width = lay_width(&w[s], &w[s].stores[k], sizes[s], r->target);
            x.slots += lay_accessed(&w[s], &w[s].stores[k], sizes[s]) / width * of.masked * r->exchange_mask;
        }
        const LayTerms terms = lay_terms(&w[s], &of, sizes[s]);
        x.slots += terms.slots + tile[s].accesses * r->access_slots;
        x.slots += tile[s].addresses * r->address_slots + packed_elements(&w[s], sizes[s]) * r->packed_slots;
        x.clocks += terms.clocks + tile[s].accesses * r->lsu;
        x.wavefronts += tile[s].wavefronts;
        x.chain += w[s].term_latency + (w[s].n_loads ? r->dram_latency : 0);
    }
    x.chain += WBB_MAX(WBB_MAX(x.slots, x.clocks * r->issue), x.wavefronts);
    add_warps(&p, r, &x, &n);
    lay_price_blocks(r, &p, c.blocks);
    return p;
}
