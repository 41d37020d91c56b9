/* run: one launch, and the check that outputs are written everywhere.
 *
 * Needs: a decoded module, buffers. Leaves: the buffers as the kernel left them, and a report.
 *
 * Each buffer is a segment of its own 2^40 bytes of address space, so that an access one byte past its end is past
 * everything. turns.c runs the blocks, block.c the warps of each.
 *
 *     grid 2, block 64: block 0 warp 0, block 0 warp 1, block 1 warp 0, block 1 warp 1
 */
#include "sim/inner.h"

enum {
    MAX_BLOCK = 1024,
    MOST_STATIC = 48 << 10,
    SMALL_OUTPUT = 1 << 16 /* bytes: races are looked for from the start */
};

/* Faults --------------------------------------------------------------------------------------- */

/* Outputs must be written everywhere. */
static void check_written(Block *b)
{
    for (int i = 1; i <= b->n_buffers; i++) {
        const Segment *s = &b->buffers[i];
        if (!s->complete || !s->size || b->options->more) continue;
        const uint8_t *hole = memchr(s->written, 0, s->size);
        if (!hole) continue;
        uint64_t n = 0;
        for (uint64_t k = 0; k < s->size; k++) n += !s->written[k];
        sim_add_fault(b, (uint64_t)i,
                      wbb_format(b->arena, "%s: %llu of %llu bytes of %s are never written, the first is byte %lld",
                                 b->entry->name, (unsigned long long)n, (unsigned long long)s->size, s->name,
                                 (long long)(hole - s->written)));
    }
}

/* Setting up ----------------------------------------------------------------------------------- */

static const SimFunc *find_entry(const SimModule *m, const BdLaunch *launch)
{
    for (uint32_t i = 0; i < m->funcs.n; i++) {
        const SimFunc *f = m->funcs.items[i];
        if (!f->entry || strcmp(f->name, launch->entry)) continue;
        if (!f->defined) wbb_fail(m->cx, f->loc, "kernel %s has no body here", f->name);
        return f;
    }
    wbb_fail(m->cx, (WbbLoc){m->file, 0, 0}, "no kernel named %s", launch->entry);
}

static void check_launch(WbbCx *cx, const SimModule *m, const SimFunc *f, const BdLaunch *launch, int n_buffers)
{
    WbbLoc loc = {m->file, 0, 0};
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        if (launch->block[i] < 1 || launch->block[i] > MAX_BLOCK || launch->grid[i] < 1 ||
            (i && launch->grid[i] > 65535))
            wbb_fail(cx, loc, "launch of %s: grid or block outside the limits of the hardware", f->name);
        threads *= launch->block[i];
    }
    if (threads > MAX_BLOCK || launch->grid[0] > INT32_MAX)
        wbb_fail(cx, loc, "launch of %s: more than %d threads a block", f->name, MAX_BLOCK);
    if (launch->shared < 0 || launch->shared > (1 << 20))
        wbb_fail(cx, loc, "launch of %s: %lld bytes of shared memory", f->name, (long long)launch->shared);
    if ((uint32_t)launch->n_args != f->n_params || f->param_bytes != 8 * (uint64_t)f->n_params)
        wbb_fail(cx, loc, "launch of %s: %d pointers for %u parameters of %llu bytes", f->name, launch->n_args,
                 f->n_params, (unsigned long long)f->param_bytes);
    for (int i = 0; i < launch->n_args; i++)
        if (launch->args[i] < BD_NOTHING || launch->args[i] >= n_buffers)
            wbb_fail(cx, loc, "launch of %s: argument %d names buffer %d of %d", f->name, i, launch->args[i],
                     n_buffers);
}

/* What the kernel says of its launch that does not hold, or NULL. Hardware refuses such a launch, or ptxas the
 * kernel. */
static const char *refused(const Block *b)
{
    const SimFunc *f = b->entry;
    const uint32_t *size = b->launch->block;
    const uint64_t dynamic = (uint64_t)b->launch->shared, most = (uint64_t)bd_most_shared(b->m->target);
    if (f->block[0] && memcmp(f->block, size, sizeof f->block))
        return wbb_format(b->arena, "%s: blocks of %u,%u,%u threads, where .reqntid says %u,%u,%u", f->name, size[0],
                          size[1], size[2], f->block[0], f->block[1], f->block[2]);
    if (f->most_threads && (uint64_t)size[0] * size[1] * size[2] > f->most_threads)
        return wbb_format(b->arena, "%s: blocks of %u,%u,%u threads, where .maxntid says at most %llu", f->name,
                          size[0], size[1], size[2], (unsigned long long)f->most_threads);
    if (f->shared_bytes > MOST_STATIC)
        return wbb_format(b->arena, "%s: %llu bytes of static shared memory: at most %d", f->name,
                          (unsigned long long)f->shared_bytes, MOST_STATIC);
    if (f->shared_bytes + dynamic > most)
        return wbb_format(
            b->arena, "%s: %llu bytes of static and %llu of dynamic shared memory: sm_%d has %llu for a block", f->name,
            (unsigned long long)f->shared_bytes, (unsigned long long)dynamic, b->m->target, (unsigned long long)most);
    return NULL;
}

/* What earlier launches wrote is there from the start. Stores to what is written once are counted over all launches.
 * False: they wrote nothing. */
static bool go_on(const Segment *s)
{
    uint8_t any = 0;
    for (uint64_t k = 0; k < s->size; k++) {
        const uint8_t was = s->written[k];
        const bool contents = s->multiple || was == SIM_CONTENTS || was == SIM_HELD;
        any |= was;
        s->written[k] = !was ? 0 : contents ? SIM_CONTENTS : SIM_EARLIER;
    }
    return any != 0;
}

static bool is_argument(const BdLaunch *launch, int buffer)
{
    int k = 0;
    while (k < launch->n_args && launch->args[k] != buffer) k++;
    return k < launch->n_args;
}

static void make_segments(Block *b, const SimBuffer *buffers, int n)
{
    bool check = b->options->check;
    b->n_buffers = n;
    b->buffers = WBB_NEW_N(b->arena, Segment, n + 1);
    uint8_t **written = WBB_NEW_N(b->arena, uint8_t *, n + 1);
    for (int i = 0; i < n; i++) {
        const SimBuffer *from = &buffers[i];
        static const char *const roles[] = {"input", "output", "temporary"};
        Segment *s = &b->buffers[i + 1];
        *s = (Segment){.bytes = from->bytes, .size = from->size, .align = from->align, .readonly = from->role == BD_IN,
                       .initialised = from->initialised, .source = from->source,
                       .argument = is_argument(b->launch, i)};
        s->name = wbb_format(b->arena, "%s buffer %d", roles[from->role], i);
        if (!check || from->role == BD_IN) continue;
        s->track = true;
        s->written = written[i] = from->written ? from->written : wbb_alloc(b->arena, from->size);
        s->multiple = from->role == BD_TEMP || from->writes == BD_ATOMIC;
        s->complete = from->role == BD_OUT && from->writes == BD_ONCE &&
                      (!b->options->blocks || b->options->blocks >= sim_grid_blocks(b->launch));
        if (from->written) s->initialised |= go_on(s);
        else if (from->initialised && from->size && !from->source) memset(s->written, SIM_CONTENTS, from->size);
        if (from->initialised) s->complete = false;
        if (b->orders || s->initialised || s->multiple || from->size <= SMALL_OUTPUT)
            s->shadow = sim_shadow(b->arena, from->size, false, !s->multiple && !from->initialised);
        s->writers = WBB_NEW_N(b->arena, uint32_t, from->size / SIM_GRANULE + 1);
    }
    b->report.written = written;
    b->vars = WBB_NEW_N(b->arena, Segment, b->m->vars.n + 1);
    for (uint32_t i = 0; i < b->m->vars.n; i++) {
        const SimVar *v = &b->m->vars.items[i];
        b->vars[i] = (Segment){
            .size = v->size, .readonly = v->constant, .name = wbb_format(b->arena, "variable %s", v->name)};
        b->vars[i].bytes = wbb_alloc(b->arena, v->size);
        if (v->size) memcpy(b->vars[i].bytes, v->init, v->size);
        if (!check || v->constant) continue;
        Segment *s = &b->vars[i];
        s->shadow = sim_shadow(b->arena, v->size, false, false);
        s->track = s->multiple = s->initialised = s->variable = true;
        s->written = wbb_alloc(b->arena, v->size);
        if (v->size) memset(s->written, SIM_CONTENTS, v->size);
    }
}

/* Place in the block of each thread, once for the launch: x, y and z columns of each warp. */
static uint32_t *thread_table(const Block *b)
{
    uint32_t *table = WBB_NEW_N(b->arena, uint32_t, b->n_warps * 3 * LANES);
    for (uint32_t w = 0; w < (uint32_t)b->n_warps; w++) {
        for (uint32_t l = 0; l < LANES; l++) {
            uint32_t t = w * LANES + l, *row = table + (size_t)w * 3 * LANES + l;
            row[0] = t % b->launch->block[0];
            row[LANES] = t / b->launch->block[0] % b->launch->block[1];
            row[2 * LANES] = t / b->launch->block[0] / b->launch->block[1];
        }
    }
    return table;
}

/* A launch whose grid counts clusters, so that they are chosen and ordered as blocks are. */
static BdLaunch clustered(const BdLaunch *launch, const SimFunc *entry)
{
    BdLaunch r = *launch;
    for (int i = 0; i < 3; i++) {
        if (r.cluster[i] <= 1 && entry->cluster[i]) r.cluster[i] = entry->cluster[i];
        if (!r.cluster[i]) r.cluster[i] = 1;
    }
    return r;
}

static uint32_t cluster_size(WbbCx *cx, const SimModule *m, const BdLaunch *launch)
{
    uint64_t n = 1;
    for (int i = 0; i < 3; i++) {
        n *= launch->cluster[i];
        if (n > MAX_CLUSTER || launch->grid[i] % launch->cluster[i])
            wbb_fail(cx, (WbbLoc){m->file, 0, 0},
                     "launch of %s: clusters of %u,%u,%u blocks: at most %d, and the grid must be a multiple",
                     launch->entry, launch->cluster[0], launch->cluster[1], launch->cluster[2], MAX_CLUSTER);
    }
    return (uint32_t)n;
}

bool sim_ordered_work(const SimModule *m)
{
    bool found = m->barrier || m->shared_bytes;
    for (uint32_t i = 0; i < m->ops.n && !found; i++) found = m->ops.items[i].kind == OP_ATOMIC;
    return found;
}

void sim_run(WbbCx *cx, WbbArena *a, const SimModule *m, const BdLaunch *plain, const SimBuffer *buffers, int n_buffers,
             const SimOptions *options, SimReport *report)
{
    const SimFunc *entry = find_entry(m, plain);
    const BdLaunch launch = clustered(plain, entry);
    Block *b = WBB_NEW(a, Block);
    *b = (Block){.cx = cx, .arena = a, .m = m, .entry = entry, .launch = &launch, .options = options,
                 .all = WBB_NEW(a, Machine)};
    check_launch(cx, m, b->entry, &launch, n_buffers);
    const uint32_t threads = launch.block[0] * launch.block[1] * launch.block[2], size = cluster_size(cx, m, &launch);
    b->n_warps = (int)((threads + LANES - 1) / LANES);
    b->budget = options->budget ? options->budget : 100000000;
    b->orders = options->check && (entry->orders || size > 1);
    make_segments(b, buffers, n_buffers);
    const char *why = refused(b);
    if (why) {
        sim_add_fault(b, 0, why);
        *report = b->report;
        sim_faults_report(b, report);
        return;
    }
    b->shared_size = (m->shared_bytes + m->shared_align - 1) / m->shared_align * m->shared_align +
                     (uint64_t)launch.shared;
    uint8_t *params = wbb_alloc(a, b->entry->param_bytes + 8);
    for (int i = 0; i < launch.n_args; i++) {
        const uint64_t pointer =
            launch.args[i] == BD_NOTHING ? 0 : ((uint64_t)(launch.args[i] + 1) << SEG_SHIFT) + SEG_START;
        memcpy(params + 8 * i, &pointer, 8);
    }
    SimPlan plan = {.launch = &launch,
                    .groups = launch,
                    .options = options,
                    .params = params,
                    .table = thread_table(b),
                    .threads = threads,
                    .size = size};
    for (int i = 0; i < 3; i++) plan.groups.grid[i] /= launch.cluster[i];
    const uint64_t all = sim_grid_blocks(&plan.groups);
    plan.n = options->blocks && options->blocks < all ? options->blocks : all;
    *report = (SimReport){.written = b->report.written};
    if (sim_spread(b, &plan, report)) {
        if (!options->check) return;
        check_written(b);
        sim_faults_report(b, report);
        return;
    }
    sim_count_open(b);
    sim_meter_open(b, plan.n * plan.size, sim_grid_blocks(&launch));
    if (sim_turns(b, &plan, report) && options->check) check_written(b);
    sim_faults_report(b, report);
    sim_count_close(b, report);
    sim_meter_close(b);
}
