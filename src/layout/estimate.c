/* estimate.c: what a layout amounts to, and estimates of what its kernel needs: registers, shared memory, code.
 *
 * Needs a description of the work and the sizes of all levels; leaves numbers, which chooser.c holds against limits
 * and price.c makes times of.
 *
 *     rows f32[8192,1024], columns: vector 4, lane 32, register 8; rows: warp 8, grid 1024
 *       =>  registers 56, shared 0, instructions 71
 */
#include "layout/counts.h"

/* --- counts ------------------------------------------------------------------------------------------------------- */
static double words(uint32_t bits) { return (bits + 31) / 32; }

static double of_level(const LayWork *w, const int64_t *sizes, LayLevel level, bool reduced)
{
    double n = 1;
    for (uint32_t d = 0; d < w->n_dims; d++)
        if (w->dims[d].reduced == reduced) n *= (double)sizes[d * LAY_LEVELS + level];
    return n;
}

/* Along a dimension that the factors do not divide: the part of the accesses of an iteration that may be absent. */
static double masked_part(const LayWork *w, uint32_t d, const int64_t *s)
{
    const LayLevel *order = lay_level_order(w, &w->dims[d]);
    double covered = 1;
    LayLevel outermost = LAY_VECTOR;
    for (uint32_t k = 0; k < LAY_LEVELS; k++) {
        covered *= (double)s[order[k]];
        if (s[order[k]] > 1) outermost = order[k];
    }
    if (covered == (double)w->dims[d].size) return 0;
    if (outermost == LAY_REGISTER) return 1 / (double)s[LAY_REGISTER]; /* the last of the unrolled ones */
    if (outermost != LAY_LOOP) return 1;
    const double iteration = covered / (double)s[LAY_LOOP], absent = covered - (double)w->dims[d].size;
    return WBB_MIN(1.0, absent / iteration + 1 / (double)s[LAY_REGISTER]);
}

/* Lanes along a dimension that have terms, where the others' never come to the lane with the result
 * (emit/share_exchange.c); *whole: each of them has as many. */
static double lanes_of(const LayWork *w, uint32_t d, const int64_t *s, bool *whole)
{
    const LayLevel *order = lay_level_order(w, &w->dims[d]);
    const double lanes = (double)s[LAY_LANE];
    double each = 1, all = 1;
    for (uint32_t k = 0; order[k] != LAY_LANE; k++) each *= (double)s[order[k]];
    for (uint32_t k = 0; k < LAY_LEVELS; k++) all *= (double)s[order[k]];
    const double some = lay_ceiling((double)w->dims[d].size / each);
    *whole = some * each == (double)w->dims[d].size;
    return all > each * lanes || w->passes > 1 || w->scan || w->redux ? lanes : WBB_MIN(some, lanes);
}

/* Finds the steps of the lanes. Terms beyond the end of a dimension have no masks where no lane takes them. */
static void count_lanes(const LayWork *w, const int64_t *sizes, uint32_t d, LayCounts *c, double *part)
{
    const int64_t *s = sizes + (size_t)d * LAY_LEVELS;
    bool whole;
    const double lanes = lanes_of(w, d, s, &whole), steps = lay_log2_up(lanes);
    c->steps += steps;
    if (lanes < (double)s[LAY_LANE] && whole && lanes == (double)(1 << (int)steps)) *part = 0;
}

LayCounts lay_counts(const LayWork *w, const int64_t *sizes)
{
    LayCounts c = {0};
    const double kept_blocks = of_level(w, sizes, LAY_GRID, false) * of_level(w, sizes, LAY_CLUSTER, false);
    c.splits = of_level(w, sizes, LAY_GRID, true) * of_level(w, sizes, LAY_CLUSTER, true);
    c.blocks = kept_blocks * c.splits;
    c.cluster = of_level(w, sizes, LAY_CLUSTER, true);
    c.lanes = of_level(w, sizes, LAY_LANE, true), c.kept_lanes = of_level(w, sizes, LAY_LANE, false);
    c.reduced_warps = of_level(w, sizes, LAY_WARP, true), c.kept_warps = of_level(w, sizes, LAY_WARP, false);
    c.warps = c.reduced_warps * c.kept_warps;
    c.threads = c.lanes * c.kept_lanes * c.warps;
    c.kept = of_level(w, sizes, LAY_VECTOR, false) * of_level(w, sizes, LAY_REGISTER, false);
    c.terms = of_level(w, sizes, LAY_VECTOR, true) * of_level(w, sizes, LAY_REGISTER, true);
    c.loop = of_level(w, sizes, LAY_LOOP, true), c.rows = of_level(w, sizes, LAY_LOOP, false);
    for (uint32_t d = 0; d < w->n_dims; d++) {
        double part = masked_part(w, d, sizes + (size_t)d * LAY_LEVELS);
        c.masked = WBB_MAX(c.masked, part);
        if (w->dims[d].reduced) count_lanes(w, sizes, d, &c, &part);
        if (w->dims[d].reduced) c.masked_terms = WBB_MAX(c.masked_terms, part);
    }
    for (uint32_t k = 0; k < w->n_stores; k++)
        if (lay_of_each_element(w, &w->stores[k])) c.masked_terms = c.masked;
    double bytes = 0;
    for (uint32_t k = 0; k < w->n_partials; k++) bytes += w->partials[k] / 8.0;
    const LayHanded x = {(int64_t)c.kept, (int64_t)c.kept_lanes, (int64_t)c.kept_warps, (int64_t)c.lanes,
                         (int64_t)c.reduced_warps, (int64_t)bytes,
                         c.splits == 1 && w->passes == 1 && !w->scan && w->packed_group <= 1,
                         w->passes == 1 && !w->scan};
    c.hand = lay_handing(&x, &w->reads);
    return c;
}

/* --- accesses ----------------------------------------------------------------------------------------------------- */
/* Of a vector, the elements that no load which is ahead of x has read. */
static int64_t own_of_vector(const LayAccess *x, uint32_t d, int64_t vector)
{
    return x->gap && x->gap[d] ? WBB_MIN(x->gap[d], vector) : vector;
}

/* Of the registers along a dimension, those in which x has elements that no register has of another load: neighbouring
 * rows of a thread share what the windows of their elements share. */
static int64_t own_of_registers(const LayWork *w, const LayAccess *x, uint32_t d, const int64_t *sizes)
{
    const int64_t *s = sizes + (size_t)d * LAY_LEVELS, registers = s[LAY_REGISTER];
    const LayLevel *order = lay_level_order(w, &w->dims[d]);
    int64_t inner = 1; /* steps from one register to the next */
    if (!x->gap || !x->gap[d] || lay_shares(w)) return registers;
    for (uint32_t k = 0; order[k] != LAY_REGISTER; k++) inner *= s[order[k]];
    return x->gap[d] % inner ? registers : WBB_MIN(x->gap[d] / inner, registers);
}

/* Elements of memory that a thread accesses of x in an iteration. */
double lay_accessed(const LayWork *w, const LayAccess *x, const int64_t *sizes)
{
    double n = 1;
    for (uint32_t d = 0; d < w->n_dims; d++) {
        const int64_t vector = own_of_vector(x, d, sizes[d * LAY_LEVELS + LAY_VECTOR]);
        if (x->step[d]) n *= (double)(vector * own_of_registers(w, x, d, sizes));
    }
    return n;
}

double lay_neighbours(const LayWork *w, const LayAccess *x, const int64_t *sizes)
{
    for (uint32_t d = 0; d < w->n_dims; d++) {
        const LayLevel *order = lay_level_order(w, &w->dims[d]);
        const int64_t *s = sizes + (size_t)d * LAY_LEVELS;
        if (x->step[d] != 1 || x->near || s[LAY_REGISTER] == 1) continue;
        uint32_t k = 0;
        while (order[k] == LAY_VECTOR || s[order[k]] == 1) k++;
        return order[k] == LAY_REGISTER ? (double)(s[LAY_VECTOR] * s[LAY_REGISTER]) : 1;
    }
    return 1;
}

/* Of neighbours that a thread has in straight code, which loads join: those that follow a multiple of an access. */
static double joined_width(const LayAccess *x, double n, const TgTarget *t)
{
    const int64_t most = WBB_MIN(WBB_MAX(8 * (int64_t)t->vector_bytes / x->bits, 1), WBB_MAX(x->apart, x->align));
    double width = 1;
    while (2 * width <= WBB_MIN(n, (double)most)) width *= 2;
    return n / (lay_ceiling(n / width) + ((double)x->align < width));
}

/* Elements of one instruction. */
double lay_width(const LayWork *w, const LayAccess *x, const int64_t *sizes, const TgTarget *t)
{
    const double neighbours = lay_shares(w) ? lay_neighbours(w, x, sizes) : 1;
    if (neighbours > 1) return joined_width(x, neighbours, t);
    for (uint32_t d = 0; d < w->n_dims; d++) {
        const int64_t vector = sizes[d * LAY_LEVELS + LAY_VECTOR];
        if (vector == 1) continue;
        if (x->step[d] != 1 || x->straight % vector || own_of_vector(x, d, vector) < vector) return 1;
        const int64_t most = WBB_MIN(WBB_MAX(8 * (int64_t)t->vector_bytes / x->bits, 1), x->align);
        return (double)WBB_MIN(vector, most);
    }
    return 1;
}

bool lay_of_each_element(const LayWork *w, const LayAccess *x)
{
    for (uint32_t d = 0; d < w->n_dims; d++)
        if (w->dims[d].reduced && x->step[d]) return true;
    return false;
}

static bool is_whole(double x) { return x == lay_ceiling(x); }

double lay_seen(const LayWork *w, const LayAccess *x, const int64_t *sizes, bool of_block)
{
    if (!x->share.dim) return 1;
    const LayLevel *order = lay_level_order(w, &w->dims[x->share.dim - 1]);
    const int64_t *s = sizes + (size_t)(x->share.dim - 1) * LAY_LEVELS;
    const bool sharing = lay_shares(w);
    double span = 1;
    for (uint32_t k = 0; k < LAY_LEVELS; k++) {
        const bool of_warp = order[k] == LAY_VECTOR || order[k] == LAY_LANE || order[k] == LAY_REGISTER;
        if (of_warp || (of_block && (order[k] == LAY_WARP || order[k] == LAY_LOOP))) span *= (double)s[order[k]];
        /* registers beyond lanes are other positions of the text */
        if (sharing && !of_block && order[k] == LAY_LANE) break;
    }
    const double of_all = x->share.step * span;
    const bool parted = (sharing || w->linear) && is_whole(x->share.part / of_all) && is_whole(1 / of_all);
    if (parted) return x->share.part; /* all lanes need it or none */
    return WBB_MIN(1.0, x->share.part + x->share.step * (span - 1));
}

double lay_divergence(const LayWork *w, const int64_t *sizes)
{
    double issued = 0, needed = 0;
    for (uint32_t k = 0; k < w->n_loads; k++) {
        const LayAccess *x = &w->loads[k];
        issued += lay_seen(w, x, sizes, false), needed += x->share.dim ? x->share.part : 1;
    }
    return needed > 0 ? issued / needed : 1;
}

LayTerms lay_terms(const LayWork *w, const LayCounts *c, const int64_t *sizes)
{
    const double each = c->kept * c->terms;
    if (!w->n_along) return (LayTerms){each * w->term_slots, each * w->term_clocks};
    double slots = each * w->of_results.slots, clocks[3];
    for (int pipe = 0; pipe < 3; pipe++) clocks[pipe] = each * w->of_results.clocks[pipe];
    for (uint32_t k = 0; k < w->n_along; k++) {
        double n = 1;
        bool loops = !lay_shares(w); /* else it is computed before a loop in which it is the same */
        for (uint32_t d = 0; d < w->n_dims; d++) {
            if (!(w->along[k].along >> d & 1)) continue;
            n *= (double)(sizes[d * LAY_LEVELS + LAY_VECTOR] * sizes[d * LAY_LEVELS + LAY_REGISTER]);
            loops = loops || sizes[d * LAY_LEVELS + LAY_LOOP] > 1;
        }
        if (!loops) n /= c->loop;
        slots += n * w->along[k].slots;
        for (int pipe = 0; pipe < 3; pipe++) clocks[pipe] += n * w->along[k].clocks[pipe];
    }
    return (LayTerms){slots, WBB_MAX(WBB_MAX(clocks[0], clocks[1]), clocks[2])};
}

/* --- estimates ---------------------------------------------------------------------------------------------------- */
double lay_partial_words(const LayWork *w)
{
    double n = 0;
    for (uint32_t k = 0; k < w->n_partials; k++) n += words(w->partials[k]);
    return n;
}

double lay_narrow(const LayWork *w)
{
    double n = 0;
    for (uint32_t k = 0; k < w->n_partials; k++) n += w->partials[k] < 32;
    return n;
}

double lay_presence(const LayWork *w, const LayCounts *c) { return w->presence && c->masked_terms > 0; }

double lay_presence_slots(const LayWork *w, const LayCounts *c)
{
    return lay_presence(w, c) * (2 * w->n_partials + 2);
}

/* What a later pass does not need again is loaded a few at a time; what it needs is kept as it is computed with:
 * elements under 32 bits are converted once. */
static double registers_of(const LayRates *r, const LayWork *w, const int64_t *sizes, const LayCounts *c)
{
    double loaded = 0;
    for (uint32_t k = 0; k < w->n_loads; k++) {
        const bool again = w->passes > 1 && w->loads[k].passes > 1;
        const double n = lay_accessed(w, &w->loads[k], sizes) * WBB_MAX(w->loads[k].bits, again ? 32 : 8) / 32;
        loaded += w->passes > 1 && !again ? WBB_MIN(n, r->transient) : n;
    }
    const double held = c->kept * lay_partial_words(w); /* from iteration to iteration */
    loaded += c->kept * c->terms * w->across;
    return r->base_regs + loaded + (c->loop > 1 ? held : held * WBB_MIN(4, w->commutes ? c->terms : 1));
}

static double shared_of(const LayWork *w, const LayCounts *c)
{
    double bytes = w->presence ? 1 : 0;
    for (uint32_t k = 0; k < w->n_partials; k++) bytes += WBB_MAX(w->partials[k], 8) / 8;
    const double across = c->kept_warps > 1 ? c->terms * c->lanes * c->warps * w->across * sizeof(float) : 0;
    const double rows = (double)(c->hand.rows * c->hand.readers), pads = (double)(c->hand.pad * (c->hand.readers - 1));
    return c->reduced_warps > 1 ? (c->kept * c->kept_lanes * c->kept_warps * rows + pads) * bytes + across
                                : across;
}

/* A loop's first iteration stands before it: it starts the partial results. */
static double code_of(const LayRates *r, const LayWork *w, const LayCounts *c)
{
    const double each = w->term_slots + w->combine_slots + r->access_slots * w->n_loads;
    const double shuffles = c->steps * (2 * lay_partial_words(w) + w->combine_slots);
    const double others = c->reduced_warps > 1 ? c->reduced_warps * (w->combine_slots + w->n_partials) : 0;
    const double passes = c->loop > 1 ? 2 * w->passes : 1;
    return c->kept * (c->terms * each * passes + (shuffles + others) * (c->splits > 1 ? 2 : 1));
}

/* How often an iteration stands in the machine code: the assembler repeats short loops, unless it is told not to, and
 * the first iteration may stand before the others. */
static double repeated(const LayRates *r, const LayWork *w, const LayCounts *c, double iteration, bool rolled)
{
    const double least = w->presence ? 2 : 1;
    return WBB_MIN(c->loop, rolled ? least : WBB_MAX(least, r->code.repeated / WBB_MAX(iteration, 1)));
}

/* Does an SM have enough bytes on their way with busy_warps warps, whose threads load an iteration's terms each? */
static bool is_rolled(const LayRates *r, const LayWork *w, const int64_t *sizes)
{
    double bytes = 0;
    for (uint32_t k = 0; k < w->n_loads; k++) bytes += lay_accessed(w, &w->loads[k], sizes) * w->loads[k].bits / 8;
    return bytes * r->target->warp * r->busy_warps >= r->in_flight;
}

/* Iterations of a loop whose loads the assembler puts in front of them all: of short ones that no mask branches in. */
static double batch_of(const LayRates *r, const LayCounts *c, double iteration, bool rolled)
{
    if (rolled || c->masked_terms > 0) return 1;
    return WBB_MAX(WBB_MIN(r->timed.repeat, r->code.repeated / WBB_MAX(iteration, 1)), 1.0);
}

/* Digits that are taken out of a number: of a lane or block that several dimensions share, and of a warp where its
 * digits are of other dimensions than those of lanes, as the thread's number is then no position. */
static double digits_of(const LayWork *w, const int64_t *sizes)
{
    double of_lanes = 0, of_blocks = 0;
    bool apart = false;
    for (uint32_t d = 0; d < w->n_dims; d++) {
        const int64_t *s = sizes + (size_t)d * LAY_LEVELS;
        of_lanes += s[LAY_LANE] > 1, of_blocks += s[LAY_CLUSTER] * s[LAY_GRID] > 1;
        apart = apart || (s[LAY_WARP] > 1 && s[LAY_LANE] == 1);
    }
    return WBB_MAX(of_lanes - 1, 0.0) + WBB_MAX(of_blocks - 1, 0.0) + apart;
}

/* Machine instructions of a kernel: what a thread has in an iteration, and what combines results. */
static double instructions_of(const LayRates *r, const LayWork *w, const int64_t *sizes, const LayCounts *c,
                              bool rolled, double *batch)
{
    const LayCode *k = &r->code;
    const double each = c->kept * c->terms, combine = k->combine * w->combine_slots;
    const double within = k->combine * (c->loop > 1 ? w->combine_slots : w->within_slots);
    const double terms = lay_terms(w, c, sizes).slots * lay_divergence(w, sizes); /* all ways of a concatenate */
    double again = 0, iteration = k->term * terms + each * within, stores = 0;
    for (uint32_t n = 0; n < w->n_loads; n++) {
        const LayAccess *x = &w->loads[n];
        const double accesses = lay_accessed(w, x, sizes) / lay_width(w, x, sizes, r->target);
        iteration += accesses * (k->access + k->mask * c->masked_terms);
        again += accesses * k->access * (x->passes > 1 ? x->passes - 1 : 0);
    }
    for (uint32_t n = 0; n < w->n_stores; n++) {
        const LayAccess *x = &w->stores[n];
        const double accesses = lay_accessed(w, x, sizes) / lay_width(w, x, sizes, r->target);
        stores += (c->hand.parted ? 1 : accesses) * k->store;
        stores += lay_of_each_element(w, x) ? accesses * k->store * c->masked : 0;
    }
    if (c->loop > 1) iteration += again + each * k->term * w->again_slots;
    *batch = batch_of(r, c, iteration, rolled);
    const double others = (c->hand.parted ? 1 : c->kept) * (double)c->hand.rows; /* that a thread combines */
    const double step = k->shuffle * (lay_partial_words(w) + lay_presence(w, c)) + combine + lay_narrow(w) +
                        lay_presence_slots(w, c);
    const double joining = lay_log2_up((double)c->hand.readers) * step;
    const double by_warps = c->reduced_warps > 1 ? others * combine + joining + w->reductions * k->warps : 0;
    const bool redux = w->redux && c->lanes == r->target->warp; /* one step, with a number of lanes */
    const double steps = redux ? 1 : c->hand.of_lanes ? 0 : c->steps;
    const double sharing = c->kept * step * steps + by_warps;
    const double splits = c->splits > 1 ? k->split + sharing : 0;
    const double position = (c->masked > c->masked_terms ? r->mask_slots : 0) + k->digit * digits_of(w, sizes);
    const double carried = c->loop > 1 ? k->carried * c->kept * lay_partial_words(w) : 0;
    const double begin = position + carried + k->array * (w->n_loads + w->n_stores);
    return begin + (iteration + stores) * repeated(r, w, c, iteration, rolled) + sharing + splits;
}

LayNeeds lay_needs(const LayRates *r, const LayWork *w, const int64_t *sizes)
{
    const LayCounts c = lay_counts(w, sizes);
    const bool rolled = is_rolled(r, w, sizes);
    LayNeeds n = {.registers = registers_of(r, w, sizes, &c), .shared = shared_of(w, &c), .code = code_of(r, w, &c),
                  .rolled = rolled, .counts = c};
    n.instructions = instructions_of(r, w, sizes, &c, rolled, &n.batch);
    return n;
}
