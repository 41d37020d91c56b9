/* run: one launch: block after block, or cluster after cluster, and the faults that they show.
 *
 * Needs: a decoded module, buffers. Leaves: the buffers as the kernel left them, and a report.
 *
 * Each buffer is a segment of its own 2^40 bytes of address space, so that an access one byte past its end is past everything.
 * How the warps of a block take turns is block.c's.
 *
 *     grid 2, block 64: block 0 warp 0, block 0 warp 1, block 1 warp 0, block 1 warp 1
 */
#include "sim/inner.h"

enum { MAX_BLOCK = 1024, SMALL_OUTPUT = 1 << 16 /* bytes: races are looked for from the start */ };

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t gcd(uint64_t a, uint64_t b) { return b ? gcd(b, a % b) : a; }

static uint64_t grid_blocks(const BdLaunch *launch) { return (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2]; }

uint64_t sim_block(const BdLaunch *launch, const SimOptions *options, uint64_t i)
{
    uint64_t all = grid_blocks(launch), n = options->blocks;
    if (n && n < all) { /* one from each of n equal parts; the first and the last block are always among them */
        if (i == 0) return 0;
        if (i == n - 1) return all - 1;
        uint64_t low = (uint64_t)((WbbU128)all * i / n), high = (uint64_t)((WbbU128)all * (i + 1) / n);
        return low + mix(options->seed + i) % (high - low);
    }
    if (!options->shuffle) return i;
    uint64_t step = mix(options->seed) % all;
    while (!step || gcd(step, all) != 1) step = step + 1 < all ? step + 1 : 1;
    return (uint64_t)(((WbbU128)i * step + mix(options->seed + 1)) % all);
}

/* Faults ---------------------------------------------------------------------------------------------------------------- */

static void add_fault(Block *b, uint64_t key, const char *text)
{
    if (b->spread) {
        b->stop = true;
        return;
    }
    for (int i = 0; i < b->report.n_faults; i++)
        if (b->fault_keys[i] == key) return; /* one of a kind at each place is enough */
    if (b->report.n_faults == SIM_MAX_FAULTS) {
        b->stop = true;
        return;
    }
    b->fault_keys[b->report.n_faults] = key;
    b->report.faults[b->report.n_faults++] = wbb_format(b->arena, "%s", text);
    if (!b->options->check) b->stop = true;
}

void sim_fault(Block *b, const Warp *w, const SimOp *op, int lane, const char *format, ...)
{
    WbbBuf t = wbb_buf(b->arena);
    uint32_t thread = w->first_thread + (uint32_t)lane;
    const uint32_t *size = b->launch->block;
    wbb_putf(&t, "%s, block (%u,%u,%u), thread (%u,%u,%u): ", b->entry->name, b->id[0], b->id[1], b->id[2], thread % size[0],
             thread / size[0] % size[1], thread / size[0] / size[1]);
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    wbb_put(&t, text);
    const char *at = b->m->text;
    for (int line = 1; line < op->line && at; line++) {
        at = strchr(at, '\n');
        if (at) at++;
    }
    if (at) {
        at += strspn(at, " \t");
        wbb_putf(&t, "\n    %s:%d: %.*s", b->m->file, op->line, (int)strcspn(at, "\n"), at);
    }
    if (op->source) {
        const SimPlace *place = &b->m->places.items[op->source - 1];
        wbb_putf(&t, " (from %s:%d", place->file ? place->file : "?", place->line);
        if (place->user) wbb_putf(&t, ", for %s:%d", place->user, place->user_line);
        wbb_put(&t, ")");
    }
    add_fault(b, (uint64_t)op->line << 32 ^ wbb_hash(format, strlen(format), 0) >> 32, t.text);
}

/* Outputs must be written everywhere. */
static void check_written(Block *b)
{
    for (int i = 1; i <= b->n_buffers; i++) {
        const Segment *s = &b->buffers[i];
        if (!s->complete || !s->size) continue;
        const uint8_t *hole = memchr(s->written, 0, s->size);
        if (!hole) continue;
        uint64_t n = 0;
        for (uint64_t k = 0; k < s->size; k++) n += !s->written[k];
        add_fault(b, (uint64_t)i, wbb_format(b->arena, "%s: %llu of %llu bytes of %s are never written, the first is byte %lld", b->entry->name,
                                             (unsigned long long)n, (unsigned long long)s->size, s->name, (long long)(hole - s->written)));
    }
}

/* Setting up ------------------------------------------------------------------------------------------------------------ */

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
        if (launch->block[i] < 1 || launch->block[i] > MAX_BLOCK || launch->grid[i] < 1 || (i && launch->grid[i] > 65535))
            wbb_fail(cx, loc, "launch of %s: grid or block outside the limits of the hardware", f->name);
        threads *= launch->block[i];
    }
    if (threads > MAX_BLOCK || launch->grid[0] > INT32_MAX) wbb_fail(cx, loc, "launch of %s: more than %d threads a block", f->name, MAX_BLOCK);
    if (launch->shared < 0 || launch->shared > (1 << 20)) wbb_fail(cx, loc, "launch of %s: %lld bytes of shared memory", f->name, (long long)launch->shared);
    if ((uint32_t)launch->n_args != f->n_params || f->param_bytes != 8 * (uint64_t)f->n_params)
        wbb_fail(cx, loc, "launch of %s: %d pointers for %u parameters of %llu bytes", f->name, launch->n_args, f->n_params,
                 (unsigned long long)f->param_bytes);
    for (int i = 0; i < launch->n_args; i++)
        if (launch->args[i] < 0 || launch->args[i] >= n_buffers) wbb_fail(cx, loc, "launch of %s: argument %d names buffer %d of %d", f->name, i, launch->args[i], n_buffers);
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
        *s = (Segment){.bytes = from->bytes, .size = from->size, .readonly = from->role == BD_IN, .initialised = from->initialised, .source = from->source};
        s->name = wbb_format(b->arena, "%s buffer %d", roles[from->role], i);
        if (!check || from->role == BD_IN) continue;
        s->track = true;
        s->written = written[i] = wbb_alloc(b->arena, from->size);
        s->multiple = from->role == BD_TEMP || from->writes == BD_ATOMIC;
        s->complete = from->role == BD_OUT && from->writes == BD_ONCE && (!b->options->blocks || b->options->blocks >= grid_blocks(b->launch));
        /* 3: readable, but not written by the kernel. */
        if (from->initialised && from->size && !from->source) memset(s->written, 3, from->size);
        if (from->initialised) s->complete = false;
        if (from->initialised || s->multiple || from->size <= SMALL_OUTPUT) s->shadow = sim_shadow(b->arena, from->size, false, !s->multiple && !from->initialised);
        s->writers = WBB_NEW_N(b->arena, uint32_t, from->size / SIM_GRANULE + 1);
    }
    b->report.written = written;
    b->vars = WBB_NEW_N(b->arena, Segment, b->m->vars.n + 1);
    for (uint32_t i = 0; i < b->m->vars.n; i++) {
        const SimVar *v = &b->m->vars.items[i];
        b->vars[i] = (Segment){.size = v->size, .readonly = v->constant, .name = wbb_format(b->arena, "variable %s", v->name)};
        b->vars[i].bytes = wbb_alloc(b->arena, v->size);
        if (v->size) memcpy(b->vars[i].bytes, v->init, v->size);
        if (check && !v->constant) b->vars[i].shadow = sim_shadow(b->arena, v->size, false, false);
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

/* One block of a cluster; `rank` is its place there. */
static void make_block(const Block *model, Cluster *c, uint32_t rank, const uint8_t *params)
{
    Block *b = WBB_NEW(model->arena, Block);
    *b = *model;
    b->rank = rank;
    b->cluster = c;
    b->shared = wbb_alloc(b->arena, b->shared_size + 1);
    b->shared_written = b->options->check ? wbb_alloc(b->arena, b->shared_size + 1) : NULL;
    b->shared_shadow = b->options->check ? sim_shadow(b->arena, b->shared_size, true, false) : NULL;
    b->scratch = wbb_alloc(b->arena, LANES * 16);
    c->blocks[rank] = b;
    sim_block_open(b, params);
}

void sim_plan_open(const Block *model, const SimPlan *p, Cluster *c)
{
    *c = (Cluster){.n = (int)p->size};
    for (uint32_t r = 0; r < p->size; r++) make_block(model, c, r, p->params);
}

/* Where the blocks of cluster number k stand in the grid; clusters lie in it as blocks in a cluster, x first. */
static void place_cluster(Cluster *c, const BdLaunch *launch, uint64_t k)
{
    const uint32_t *size = launch->cluster, *grid = launch->grid;
    const uint64_t nx = grid[0] / size[0], ny = grid[1] / size[1], at[] = {k % nx, k / nx % ny, k / nx / ny};
    for (uint32_t r = 0; r < (uint32_t)c->n; r++) {
        Block *b = c->blocks[r];
        const uint32_t in[] = {r % size[0], r / size[0] % size[1], r / size[0] / size[1]};
        for (int i = 0; i < 3; i++) b->id[i] = (uint32_t)at[i] * size[i] + in[i];
        b->number = b->id[0] + grid[0] * (b->id[1] + grid[1] * b->id[2]);
    }
}

bool sim_plan_run(Cluster *c, const SimPlan *p, uint64_t i)
{
    bool stop = false;
    place_cluster(c, p->launch, sim_block(&p->groups, p->options, i));
    sim_cluster_run(c, p->table, p->threads);
    for (int r = 0; r < c->n; r++) {
        c->blocks[r]->report.blocks++;
        stop |= c->blocks[r]->stop;
    }
    return stop;
}

/* Counts and faults of the blocks that ran together, in one report. */
void sim_plan_report(const Cluster *c, SimReport *r)
{
    for (int k = 0; k < c->n; k++) sim_report_add(r, &c->blocks[k]->report);
}

void sim_report_add(SimReport *to, const SimReport *from)
{
    to->blocks += from->blocks, to->warps += from->warps;
    to->instructions += from->instructions, to->warp_instructions += from->warp_instructions, to->divergent += from->divergent;
    for (int s = 0; s < SIM_SPACES; s++)
        for (int k = 0; k < 6; k++) to->loads[s][k] += from->loads[s][k], to->stores[s][k] += from->stores[s][k];
    for (int i = 0; i < from->n_faults && to->n_faults < SIM_MAX_FAULTS; i++) to->faults[to->n_faults++] = from->faults[i];
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
            wbb_fail(cx, (WbbLoc){m->file, 0, 0}, "launch of %s: clusters of %u,%u,%u blocks: at most %d, and the grid must be a multiple", launch->entry, launch->cluster[0],
                     launch->cluster[1], launch->cluster[2], MAX_CLUSTER);
    }
    return (uint32_t)n;
}

bool sim_ordered_work(const SimModule *m)
{
    bool found = m->barrier || m->shared_bytes;
    for (uint32_t i = 0; i < m->ops.n && !found; i++) found = m->ops.items[i].kind == OP_ATOMIC;
    return found;
}

void sim_run(WbbCx *cx, WbbArena *a, const SimModule *m, const BdLaunch *given, const SimBuffer *buffers, int n_buffers,
             const SimOptions *options, SimReport *report)
{
    const SimFunc *entry = find_entry(m, given);
    const BdLaunch launch = clustered(given, entry);
    Block *b = WBB_NEW(a, Block);
    *b = (Block){.cx = cx, .arena = a, .m = m, .entry = entry, .launch = &launch, .options = options};
    check_launch(cx, m, b->entry, &launch, n_buffers);
    const uint32_t threads = launch.block[0] * launch.block[1] * launch.block[2], size = cluster_size(cx, m, &launch);
    b->n_warps = (int)((threads + LANES - 1) / LANES);
    b->budget = options->budget ? options->budget : 100000000;
    make_segments(b, buffers, n_buffers);
    b->shared_size = (m->shared_bytes + m->shared_align - 1) / m->shared_align * m->shared_align + (uint64_t)launch.shared;
    uint8_t *params = wbb_alloc(a, b->entry->param_bytes + 8);
    for (int i = 0; i < launch.n_args; i++) {
        uint64_t pointer = ((uint64_t)(launch.args[i] + 1) << SEG_SHIFT) + SEG_START;
        memcpy(params + 8 * i, &pointer, 8);
    }
    SimPlan plan = {.launch = &launch, .groups = launch, .options = options, .params = params, .table = thread_table(b), .threads = threads, .size = size};
    for (int i = 0; i < 3; i++) plan.groups.grid[i] /= launch.cluster[i];
    const uint64_t all = grid_blocks(&plan.groups);
    plan.n = options->blocks && options->blocks < all ? options->blocks : all;
    *report = (SimReport){.written = b->report.written};
    if (sim_spread(b, &plan, report)) {
        if (!options->check) return;
        check_written(b);
        sim_report_add(report, &b->report);
        return;
    }
    sim_count_open(b);
    Cluster cluster;
    sim_plan_open(b, &plan, &cluster);
    bool stop = false;
    for (uint64_t i = 0; i < plan.n && !stop; i++) stop = sim_plan_run(&cluster, &plan, i);
    if (options->check && !stop) check_written(cluster.blocks[0]);
    sim_plan_report(&cluster, report);
    sim_count_close(b, report);
}
