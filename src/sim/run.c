/* run: one launch: block after block, warp after warp, and the faults that they show.
 *
 * Needs: a decoded module, buffers. Leaves: the buffers as the kernel left them, and a report.
 *
 * Each buffer is a segment of its own 2^40 bytes of address space, so that an access one byte past its end is past everything.
 * Without a barrier in the module one register file serves all warps in turn.
 *
 *     grid 2, block 64: block 0 warp 0, block 0 warp 1, block 1 warp 0, block 1 warp 1
 */
#include "sim/inner.h"

enum { MAX_BLOCK = 1024 };

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
        wbb_putf(&t, " (from %s:%d)", place->file ? place->file : "?", place->line);
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
    for (uint32_t i = 0; i < m->funcs.n; i++)
        if (m->funcs.items[i]->entry && strcmp(m->funcs.items[i]->name, launch->entry) == 0) return m->funcs.items[i];
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
        *s = (Segment){.bytes = from->bytes, .size = from->size, .readonly = from->role == BD_IN};
        s->name = wbb_format(b->arena, "%s buffer %d", roles[from->role], i);
        if (!check || from->role == BD_IN) continue;
        s->track = true;
        s->written = written[i] = wbb_alloc(b->arena, from->size);
        s->multiple = from->role == BD_TEMP || from->writes == BD_ATOMIC;
        s->complete = from->role == BD_OUT && from->writes == BD_ONCE && (!b->options->blocks || b->options->blocks >= grid_blocks(b->launch));
        /* 3: readable, but not written by the kernel. */
        if (from->initialised && from->size) memset(s->written, 3, from->size);
        if (from->initialised) s->complete = false;
    }
    b->report.written = written;
    b->vars = WBB_NEW_N(b->arena, Segment, b->m->vars.n + 1);
    for (uint32_t i = 0; i < b->m->vars.n; i++) {
        const SimVar *v = &b->m->vars.items[i];
        b->vars[i] = (Segment){.size = v->size, .readonly = v->constant, .name = wbb_format(b->arena, "variable %s", v->name)};
        b->vars[i].bytes = wbb_alloc(b->arena, v->size);
        if (v->size) memcpy(b->vars[i].bytes, v->init, v->size);
    }
}

static void fill(uint8_t *col, uint64_t value, int width)
{
    for (int l = 0; l < LANES; l++) memcpy(col + (size_t)l * (size_t)width, &value, (size_t)width);
}

/* Columns that hold the same in every block. */
static void fill_constants(const Block *b, uint8_t *regs, const uint8_t *params)
{
    uint64_t noise = b->options->ulp_noise ? b->options->seed * 2 + 1 : 0;
    memcpy(regs, &noise, sizeof noise);
    for (uint32_t i = 0; i < b->m->consts.n; i++) {
        const SimConst *c = &b->m->consts.items[i];
        uint64_t v = c->value;
        if (c->from == 1) {
            v = 0;
            if (c->value + c->width <= b->entry->param_bytes) memcpy(&v, params + c->value, c->width);
        } else if (c->from == 2) {
            v = (b->m->shared_bytes + b->m->shared_align - 1) / b->m->shared_align * b->m->shared_align;
        } else if (c->from == 3) {
            v = c->value < b->entry->param_bytes ? params[c->value] : 0;
        }
        fill(regs + c->col, v, c->width);
    }
    const uint32_t *special = b->m->special;
    for (int i = 0; i < 3; i++) {
        if (special[SP_NTID_X + i]) fill(regs + special[SP_NTID_X + i], b->launch->block[i], 4);
        if (special[SP_NCTAID_X + i]) fill(regs + special[SP_NCTAID_X + i], b->launch->grid[i], 4);
    }
    if (special[SP_NWARPID]) fill(regs + special[SP_NWARPID], (uint64_t)b->n_warps, 4);
    for (uint32_t l = 0; l < LANES; l++) {
        const uint32_t values[] = {l, 1u << l, l == 31 ? FULL : (1u << (l + 1)) - 1, (1u << l) - 1, FULL << l, l == 31 ? 0 : FULL << (l + 1)};
        const int names[] = {SP_LANEID, SP_MASK_EQ, SP_MASK_LE, SP_MASK_LT, SP_MASK_GE, SP_MASK_GT};
        for (int k = 0; k < 6; k++)
            if (special[names[k]]) memcpy(regs + special[names[k]] + 4 * l, &values[k], 4);
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

static void start_warp(Block *b, Warp *w, int index, const uint32_t *table, uint32_t threads)
{
    const uint32_t *special = b->m->special;
    for (int i = 0; i < 3; i++) {
        if (special[SP_TID_X + i]) memcpy(w->regs + special[SP_TID_X + i], table + (index * 3 + i) * LANES, 4 * LANES);
        if (special[SP_CTAID_X + i]) fill(w->regs + special[SP_CTAID_X + i], b->id[i], 4);
    }
    if (special[SP_WARPID]) fill(w->regs + special[SP_WARPID], (uint64_t)index, 4);
    uint32_t left = threads - (uint32_t)index * LANES;
    w->all = w->live = w->mask = left >= LANES ? FULL : (1u << left) - 1;
    w->pc = b->entry->start;
    w->next_pc = UINT32_MAX;
    w->n_groups = 0;
    w->at_barrier = 0;
    w->done = false;
    w->executed = 0;
    w->first_thread = (uint32_t)index * LANES;
    size_t local = (size_t)b->m->local_bytes * LANES;
    if (local) memset(w->local, 0, local);
    if (local && w->local_written) memset(w->local_written, 0, local);
    b->report.warps++;
}

/* Warps run in turn, each to its end or to a barrier, until all have ended. */
static void run_block(Block *b, const uint32_t *table, uint32_t threads)
{
    if (b->shared_size) memset(b->shared, 0, b->shared_size);
    if (b->shared_size && b->shared_written) memset(b->shared_written, 0, b->shared_size);
    if (!b->m->barrier) {
        for (int i = 0; i < b->n_warps && !b->stop; i++) {
            start_warp(b, &b->warps[i], i, table, threads);
            sim_run_warp(b, &b->warps[i]);
        }
        return;
    }
    for (int i = 0; i < b->n_warps; i++) start_warp(b, &b->warps[i], i, table, threads);
    for (int open = b->n_warps; open && !b->stop;) {
        open = 0;
        uint32_t number = 0;
        for (int i = 0; i < b->n_warps && !b->stop; i++) {
            Warp *w = &b->warps[i];
            if (w->done) continue;
            w->at_barrier = 0;
            sim_run_warp(b, w);
            if (w->done) continue;
            open++;
            if (number && w->at_barrier != number) {
                sim_fault(b, w, &b->m->ops.items[w->pc - 1], 0, "warps of one block wait at barriers %u and %u", number - 1, w->at_barrier - 1);
                b->stop = true;
            }
            number = w->at_barrier;
        }
    }
}

static void make_warps(Block *b, const uint8_t *params)
{
    bool own = b->m->barrier, check = b->options->check;
    size_t local = (size_t)b->m->local_bytes * LANES;
    b->warps = WBB_NEW_N(b->arena, Warp, b->n_warps);
    for (int i = 0; i < b->n_warps; i++) {
        Warp *w = &b->warps[i];
        if (i && !own) {
            w->regs = b->warps[0].regs, w->local = b->warps[0].local, w->local_written = b->warps[0].local_written;
            continue;
        }
        uint8_t *raw = wbb_alloc(b->arena, b->m->file_bytes + 64);
        w->regs = raw + (64 - (uintptr_t)raw % 64) % 64;
        w->local = wbb_alloc(b->arena, local + 1);
        w->local_written = check ? wbb_alloc(b->arena, local + 1) : NULL;
        fill_constants(b, w->regs, params);
    }
}

void sim_run(WbbCx *cx, WbbArena *a, const SimModule *m, const BdLaunch *launch, const SimBuffer *buffers, int n_buffers,
             const SimOptions *options, SimReport *report)
{
    Block *b = WBB_NEW(a, Block);
    *b = (Block){.cx = cx, .arena = a, .m = m, .entry = find_entry(m, launch), .launch = launch, .options = options};
    check_launch(cx, m, b->entry, launch, n_buffers);
    uint32_t threads = launch->block[0] * launch->block[1] * launch->block[2];
    b->n_warps = (int)((threads + LANES - 1) / LANES);
    b->budget = options->budget ? options->budget : 100000000;
    b->scratch = wbb_alloc(a, LANES * 16);
    make_segments(b, buffers, n_buffers);
    b->shared_size = (m->shared_bytes + m->shared_align - 1) / m->shared_align * m->shared_align + (uint64_t)launch->shared;
    b->shared = wbb_alloc(a, b->shared_size + 1);
    b->shared_written = options->check ? wbb_alloc(a, b->shared_size + 1) : NULL;
    uint8_t *params = wbb_alloc(a, b->entry->param_bytes + 8);
    for (int i = 0; i < launch->n_args; i++) {
        uint64_t pointer = ((uint64_t)(launch->args[i] + 1) << SEG_SHIFT) + SEG_START;
        memcpy(params + 8 * i, &pointer, 8);
    }
    make_warps(b, params);
    const uint32_t *table = thread_table(b);

    uint64_t all = grid_blocks(launch), n = options->blocks && options->blocks < all ? options->blocks : all;
    for (uint64_t i = 0; i < n && !b->stop; i++) {
        uint64_t k = sim_block(launch, options, i);
        b->id[0] = (uint32_t)(k % launch->grid[0]);
        b->id[1] = (uint32_t)(k / launch->grid[0] % launch->grid[1]);
        b->id[2] = (uint32_t)(k / launch->grid[0] / launch->grid[1]);
        run_block(b, table, threads);
        b->report.blocks++;
    }
    if (options->check && !b->stop) check_written(b);
    *report = b->report;
}
