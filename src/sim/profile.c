/* profile: what each instruction of a kernel did in a launch: executions, traffic, and the clocks of dependent chains.
 *
 * Needs: decoded operations, each request as traffic.c describes it, and a GPU's numbers from the caller. Leaves:
 * SimProfile. Nothing here is a price: the caller says how many clocks an instruction takes.
 *
 * Of each sector of a buffer the last block that touched it is kept, and when: time is counted in sectors that L1 did
 * not have. A load hits L1 in two cases: its own block touched the sector, and l1_bytes or less since then (the turn of
 * a warp ends where it goes beyond L1, so that warps of a block meet there as on a GPU); or so many blocks in a row
 * touched it that each SM had one of them, as they touch the scale of a norm. FEW blocks that share a sector have the
 * border of a tile, and run on several SMs. A load hits L2 if a block that runs at the same time touched the sector, or
 * if l2_bytes or less were touched since then. Blocks run one after the other here and side by side on a GPU: where a
 * block comes back to its own sector, all blocks that run together have done as much in between; those of its cluster
 * take turns with it here, too. Stores and atomic operations go to L2. What launches before have left in L2 is not
 * known: the first load of a sector is one from DRAM. Another one of the same block, before that has come, waits as
 * long.
 *
 * Up to TIMED blocks, spread over the launch, follow the chains of dependent instructions: an instruction waits until
 * its operands are ready, and a barrier until all warps have come. Between branches and barriers the assembler orders
 * instructions as it likes, so up to `window` of them hold back none but those that use their results; a branch waits
 * until all before it were issued. Each warp runs as if it were alone on its SM, so the longest chain is a lower bound
 * of a block's time.
 *
 *     mul.f32 %f2, %f1, %f1; add.f32 %f3, %f2, 1.0; with 4 clocks each: issued at 0 and 4, %f3 is ready at 8; the mul
 *     has stalled the warp for 3 clocks
 */
#include "sim/inner.h"

enum { TIMED = 8, UNIT = 4 /* shift: time is kept in 16 sectors */, KEPT_TIME = 0x3fffffff, WORD = 4, TURN_BYTES = 16,
       FEW = 8 /* blocks */ };
static const uint32_t WAS_LOADED = 1u << 30, WAS_STORED = 1u << 31;

/* The last touch of a sector. */
typedef struct {
    uint32_t block; /* 1 + its number; 0: none */
    uint32_t time;  /* in KEPT_TIME; and what was done to it */
    float here;     /* when the block has its bytes, by the chain that asked for them; 0: at its start, or not known */
    uint32_t blocks; /* that have touched it */
} Stamp;

/* Atomic operations on a line, or those that fail together on four bytes; by its first four bytes. */
typedef struct {
    uint32_t requests; /* of sectors */
    float clocks;
} Turns;

/* The columns that an instruction reads and writes, in SimMeter.columns: first `reads`, then `writes`. */
typedef struct {
    uint32_t at;
    uint16_t reads, writes;
} Columns;

struct SimMeter {
    SimProfile *out;
    const SimModule *m;
    uint32_t *site_of; /* by operation */
    Columns *of;       /* by site */
    struct { uint32_t *items; uint32_t n, capacity; } columns; /* numbers: byte offset / SIM_COLUMN */
    uint32_t *steps;   /* by site: the operation at which its clocks are counted */
    SimPace *pace;     /* by site */
    Stamp **buffers, **variables;
    Turns **turns;     /* by buffer, where it is updated; of the module's variables they are not counted */
    uint64_t iterations; /* of the loop that the assembler makes of the operation at hand; 0: it is none */
    uint64_t firsts;   /* blocks that load what all need before each SM has it */
    uint64_t first, n; /* the sectors of the segment that was touched last, its stamps and uses */
    Stamp *near;
    SimUse *use;
    uint64_t touched;  /* sectors that L1 did not have */
    uint64_t blocks, stride, started;
    /* Of the last request: where it went, its wavefronts after the first, when sectors are in L1 that the block has
     * asked for before, and those that it is the first to ask for. */
    SimFrom from;
    double extra, here;
    Stamp *missed[SIM_MOST_SECTORS];
    int n_missed;
};

/* Opening -------------------------------------------------------------------------------------- */

static void add_column(const Block *b, SimMeter *m, uint32_t column, uint32_t from, uint16_t *n)
{
    for (uint32_t k = from; k < m->columns.n; k++)
        if (m->columns.items[k] == column) return;
    WBB_PUSH(b->arena, &m->columns, column);
    ++*n;
}

/* The operations first .. end - 1 are one instruction: it reads what they read and none before has written. */
static void find_columns(const Block *b, SimMeter *m, const bool *written, uint32_t first, uint32_t end, Columns *c)
{
    c->at = m->columns.n;
    for (uint32_t i = first; i < end; i++) {
        const Operands o = sim_operands(b->m, &b->m->ops.items[i]);
        uint32_t read[33], n = 0;
        for (int k = 0; k < o.n_use; k++) read[n++] = o.use[k];
        for (int k = 0; k < o.n_flow; k++) read[n++] = o.flow[k];
        if (b->m->ops.items[i].pred) read[n++] = b->m->ops.items[i].pred;
        for (uint32_t k = 0; k < n; k++) {
            bool own = false;
            for (uint32_t j = first; j < i && !own; j++) {
                const Operands before = sim_operands(b->m, &b->m->ops.items[j]);
                for (int d = 0; d < before.n_def; d++) own |= before.def[d] == read[k];
            }
            if (!own && written[read[k] / SIM_COLUMN]) add_column(b, m, read[k] / SIM_COLUMN, c->at, &c->reads);
        }
    }
    const uint32_t from = m->columns.n;
    for (uint32_t i = first; i < end; i++) {
        const Operands o = sim_operands(b->m, &b->m->ops.items[i]);
        for (int k = 0; k < o.n_def; k++) add_column(b, m, o.def[k] / SIM_COLUMN, from, &c->writes);
    }
}

static bool goes_back(const SimModule *m, uint32_t i)
{
    return m->ops.items[i].kind == OP_BRANCH && m->ops.items[i].target <= i;
}

/* The branch of a loop that has no other one in it. */
static bool is_innermost(const SimModule *m, uint32_t i)
{
    if (!goes_back(m, i)) return false;
    for (uint32_t k = m->ops.items[i].target; k < i; k++)
        if (goes_back(m, k)) return false;
    return true;
}

static void find_sites(const Block *b, SimMeter *m)
{
    const SimModule *ptx = b->m;
    const uint32_t n = ptx->ops.n;
    SimProfile *out = m->out;
    bool *written = WBB_NEW_N(b->arena, bool, ptx->file_bytes / SIM_COLUMN + 1);
    m->site_of = WBB_NEW_N(b->arena, uint32_t, n + 1);
    m->of = WBB_NEW_N(b->arena, Columns, n + 1);
    m->pace = WBB_NEW_N(b->arena, SimPace, n + 1);
    m->steps = WBB_NEW_N(b->arena, uint32_t, n + 1);
    out->sites = WBB_NEW_N(b->arena, SimSite, n + 1);
    out->n_sites = 0;
    for (uint32_t i = 0; i < n; i++) {
        const Operands o = sim_operands(ptx, &ptx->ops.items[i]);
        for (int k = 0; k < o.n_def; k++) written[o.def[k] / SIM_COLUMN] = true;
    }
    for (uint32_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && !ptx->ops.items[end].counts;) end++;
        const uint32_t site = out->n_sites++;
        const char *text = ptx->texts.items[i];
        out->sites[site] = (SimSite){.name = wbb_format(b->arena, "%.*s", (int)strcspn(text, " \t\r\n;"), text),
                                     .text = text, .line = ptx->ops.items[i].line};
        const SimOp *op = &ptx->ops.items[i];
        if (is_innermost(ptx, i)) out->sites[site].loop = ptx->ops.items[op->target].line;
        m->pace[site] = (SimPace){1, 1, 1, false, 0, 1};
        if (out->pace) out->pace(out->arg, &out->sites[site], &m->pace[site]);
        m->steps[site] = i;
        for (uint32_t k = i; k < end; k++) {
            m->site_of[k] = site;
            const bool plain = ptx->ops.items[m->steps[site]].kind == OP_ALU;
            if (plain && ptx->ops.items[k].kind != OP_ALU) m->steps[site] = k; /* where a load's traffic is known */
        }
        find_columns(b, m, written, i, end, &m->of[site]);
    }
}

static uint64_t sectors_of(uint64_t bytes) { return (bytes + SIM_SECTOR - 1) / SIM_SECTOR; }

static Stamp *stamps(const Block *b, uint64_t size) { return WBB_NEW_N(b->arena, Stamp, sectors_of(size) + 1); }

void sim_meter_open(Block *b, uint64_t blocks, uint64_t grid)
{
    SimProfile *out = b->options->profile;
    if (!out) return;
    SimMeter *m = b->meter = WBB_NEW(b->arena, SimMeter);
    *m = (SimMeter){.out = out, .m = b->m, .blocks = blocks, .stride = WBB_MAX(blocks / TIMED, 1)};
    find_sites(b, m);
    out->uses = WBB_NEW_N(b->arena, SimUse, b->n_buffers + 1);
    out->blocks = blocks, out->grid = grid;
    const uint64_t of_sms = out->sms ? (out->sms * blocks + grid - 1) / WBB_MAX(grid, 1) : UINT64_MAX;
    m->firsts = WBB_MAX((uint64_t)FEW, of_sms);
    out->n_uses = b->n_buffers + 1;
    out->text = b->m->text;
    out->timed = 0;
    out->longest = out->sum = 0;
    m->buffers = WBB_NEW_N(b->arena, Stamp *, b->n_buffers + 1);
    for (int i = 0; i < b->n_buffers; i++) {
        m->buffers[i] = stamps(b, b->buffers[i + 1].size);
        out->uses[i].size = sectors_of(b->buffers[i + 1].size);
    }
    m->turns = WBB_NEW_N(b->arena, Turns *, b->n_buffers + 1);
    m->variables = WBB_NEW_N(b->arena, Stamp *, b->m->vars.n + 1);
    for (uint32_t i = 0; i < b->m->vars.n; i++) {
        m->variables[i] = stamps(b, b->m->vars.items[i].size);
        out->uses[b->n_buffers].size += sectors_of(b->m->vars.items[i].size);
    }
}

static uint64_t words_of(uint64_t sectors) { return sectors * (SIM_SECTOR / WORD); }

/* Over all lines. */
static void add_updates(const Block *b, const SimMeter *m)
{
    SimUpdates *u = &m->out->updates;
    *u = (SimUpdates){0};
    for (int i = 0; i < b->n_buffers; i++) {
        for (uint64_t k = 0; m->turns[i] && k < words_of(m->out->uses[i].size); k++) {
            const Turns *t = &m->turns[i][k];
            u->requests += t->requests;
            u->pairs += (double)t->requests * ((double)t->requests - 1);
            if (t->clocks > u->longest) u->longest = (double)t->clocks, u->hottest = t->requests;
        }
    }
}

void sim_meter_close(const Block *b)
{
    const SimMeter *m = b->meter;
    if (m) add_updates(b, m);
    for (uint32_t i = 0; m && i < b->m->ops.n; i++) {
        SimSite *s = &m->out->sites[m->site_of[i]];
        s->warps += b->tally[i].warps, s->threads += b->tally[i].threads;
        s->passed += b->tally[i].passed, s->splits += b->tally[i].splits;
    }
}

/* A block has ended, if one had begun. */
static void end_block(Block *b)
{
    SimProfile *out = b->meter->out;
    if (!b->timed) return;
    out->timed++;
    out->sum += b->chain;
    out->longest = WBB_MAX(out->longest, b->chain);
    b->timed = false;
}

void sim_meter_block(Block *b, bool starts)
{
    SimMeter *m = b->meter;
    if (!m) return;
    end_block(b);
    if (!starts) return;
    const uint64_t i = m->started++;
    b->timed = i % m->stride == 0 || i + 1 == m->blocks;
    b->chain = b->copied = 0;
    memset(b->arrived, 0, sizeof b->arrived);
}

void sim_meter_warps(Block *b, Warp *w, bool own)
{
    const uint32_t n = b->m->file_bytes / SIM_COLUMN + 1;
    if (!b->meter) return;
    w->ready = own ? WBB_NEW_N(b->arena, double, n) : b->warps[0].ready;
    w->maker = own ? WBB_NEW_N(b->arena, uint32_t, n) : b->warps[0].maker;
}

void sim_meter_warp(const Block *b, Warp *w)
{
    if (!b->timed) return;
    w->time = w->copied = w->pending = 0;
    w->waited = w->in_window = w->loop_site = w->commits = 0;
    w->iterations = 0;
    memset(w->ready, 0, (b->m->file_bytes / SIM_COLUMN + 1) * sizeof *w->ready);
}

/* Traffic -------------------------------------------------------------------------------------- */

static uint32_t now(const SimMeter *m) { return (uint32_t)(m->touched >> UNIT) & KEPT_TIME; }

/* Bytes that were touched since a stamp. */
static uint64_t distance(const SimMeter *m, const Stamp *s)
{
    return (uint64_t)((now(m) - s->time) & KEPT_TIME) * (SIM_SECTOR << UNIT);
}

static bool in_l2(const SimMeter *m, const Block *b, const Stamp *s)
{
    const uint64_t together = WBB_MAX(m->out->together, 1), other = s->block - 1;
    const uint64_t apart = WBB_MAX(WBB_MIN(together, m->blocks) / (uint64_t)b->cluster->n, 1);
    if (other == b->number) return distance(m, s) * apart <= m->out->l2_bytes;
    return other / together == b->number / together || distance(m, s) <= m->out->l2_bytes;
}

/* Does L1 have what a load asks for? own: its block has touched it last. */
static bool in_l1(const SimMeter *m, const Stamp *s, bool own)
{
    if (own) return distance(m, s) <= m->out->l1_bytes;
    /* blocks that an SM runs at once come by one after the other, each with its part of L1 */
    return s->blocks >= m->firsts && distance(m, s) <= m->out->l1_bytes * (m->out->together / m->out->sms);
}

/* One sector; returns where its bytes came from. */
static SimFrom touch(SimMeter *m, const Block *b, Stamp *s, SimUse *use, SimFlow *f, SimAccess kind, bool cached)
{
    const bool first = !(s->time & (WAS_LOADED | WAS_STORED)), load = kind != SIM_STORED;
    SimFrom from = SIM_FROM_L2;
    const bool own = s->block == b->number + 1;
    if (kind == SIM_LOADED && cached && !first && in_l1(m, s, own)) {
        from = SIM_FROM_L1;
        if (own) m->here = WBB_MAX(m->here, s->here);
    } else {
        s->here = 0;
        if (b->timed && load && m->n_missed < SIM_MOST_SECTORS) m->missed[m->n_missed++] = s;
        f->l2++;
        m->touched++;
        if (load && (first || !in_l2(m, b, s))) {
            from = SIM_FROM_DRAM;
            f->dram++;
            if (first) use->loaded++;
            else use->again++;
        }
        if (kind != SIM_LOADED && !(s->time & WAS_STORED)) use->stored++, f->dram++;
    }
    s->time = (s->time & ~(uint32_t)KEPT_TIME) | now(m);
    s->time |= (load ? WAS_LOADED : 0) | (kind != SIM_LOADED ? WAS_STORED : 0);
    s->block = b->number + 1;
    s->blocks += !own;
    return from;
}

/* The stamp of a sector, by its generic address / SIM_SECTOR; NULL: there is none. */
static Stamp *stamp_of(SimMeter *m, const Block *b, uint64_t sector)
{
    if (sector - m->first < m->n) return m->near + (sector - m->first);
    const uint64_t address = sector * SIM_SECTOR, n = address >> SEG_SHIFT;
    const uint64_t at = (address & ((UINT64_C(1) << SEG_SHIFT) - 1)) - SEG_START;
    const bool buffer = n >= 1 && n <= (uint64_t)b->n_buffers, variable = n >= SEG_VARS && n < SEG_VARS + b->m->vars.n;
    const uint64_t size = buffer ? b->buffers[n].size : variable ? b->vars[n - SEG_VARS].size : 0;
    if (at >= size) return NULL;
    m->use = &m->out->uses[buffer ? n - 1 : (uint64_t)b->n_buffers];
    m->near = buffer ? m->buffers[n - 1] : m->variables[n - SEG_VARS];
    m->first = sector - at / SIM_SECTOR;
    m->n = sectors_of(size);
    return m->near + at / SIM_SECTOR;
}

static void touch_sector(SimMeter *m, const Block *b, const SimOp *op, SimFlow *f, uint64_t sector, SimAccess kind)
{
    Stamp *s = stamp_of(m, b, sector);
    const SimFrom from = s ? touch(m, b, s, m->use, f, kind, !op->order) : SIM_FROM_L1;
    m->from = WBB_MAX(m->from, from);
}

void sim_meter_flow(Block *b, const SimOp *op, SimSpace space, SimAccess kind, uint64_t bytes, const Touched *t)
{
    SimMeter *m = b->meter;
    const bool shared = space == SIM_SHARED, local = space == SIM_LOCAL;
    SimFlow *f = &m->out->sites[m->site_of[op - b->m->ops.items]].flow[shared || local ? space : SIM_GLOBAL];
    f->requests++;
    f->bytes += bytes;
    f->sectors += (uint64_t)t->n, f->needed += t->needed;
    f->wavefronts += t->wavefronts, f->ideal += t->ideal;
    const SimFrom source = m->from;
    m->from = shared ? SIM_FROM_SHARED : SIM_FROM_L1;
    m->extra = t->wavefronts ? (double)(t->wavefronts - 1) : 0;
    m->here = m->n_missed = 0;
    for (int i = 0; i < t->n && !shared && !local; i++) touch_sector(m, b, op, f, t->sector[i], kind);
    if (kind == SIM_UPDATED && !shared) m->from = SIM_FROM_ATOMIC;
    if (op->kind == OP_COPY && kind == SIM_STORED) m->from = source; /* a copy has loaded before */
}

bool sim_meter_loops(const Block *b, const SimOp *op)
{
    return b->meter->pace[b->meter->site_of[op - b->m->ops.items]].iteration > 0;
}

void sim_meter_iterations(Block *b, const SimOp *op, uint64_t iterations)
{
    SimMeter *m = b->meter;
    m->out->sites[m->site_of[op - b->m->ops.items]].iterations += iterations - 1;
    m->iterations = iterations;
}

bool sim_meter_waits(const Block *b) { return b->meter->from > SIM_FROM_L1; }

/* The lanes of `of` whose address is in the same `unit` bytes as `at`. */
static uint32_t beside(const uint64_t address[LANES], uint32_t of, uint64_t at, uint64_t unit)
{
    uint32_t found = 0;
    for (uint32_t rest = of; rest; rest &= rest - 1)
        if (address[__builtin_ctz(rest)] / unit == at / unit) found |= rest & -rest;
    return found;
}

/* Turns of a sector that lanes `of` update: each does one address, or up to 16 bytes. */
static uint32_t turns_of(const uint64_t address[LANES], uint32_t of, uint64_t size)
{
    uint64_t most = 0, bytes = 0;
    while (of) {
        const uint32_t same = beside(address, of, address[__builtin_ctz(of)], 1);
        most = WBB_MAX(most, (uint64_t)__builtin_popcount(same));
        bytes += size;
        of &= ~same;
    }
    return (uint32_t)WBB_MAX(most, bytes / TURN_BYTES);
}

static void add_turns(const Block *b, const SimPace *pace, uint64_t at, uint64_t unit, uint32_t turns)
{
    const SimMeter *m = b->meter;
    const uint64_t n = at >> SEG_SHIFT, offset = (at & ((UINT64_C(1) << SEG_SHIFT) - 1)) - SEG_START;
    const uint64_t k = offset / unit * (unit / WORD);
    if (n < 1 || n > (uint64_t)b->n_buffers || k >= words_of(m->out->uses[n - 1].size)) return;
    if (!m->turns[n - 1]) m->turns[n - 1] = WBB_NEW_N(b->arena, Turns, words_of(m->out->uses[n - 1].size));
    m->turns[n - 1][k].requests++;
    m->turns[n - 1][k].clocks += (float)(pace->again * turns);
}

void sim_meter_updates(Block *b, const SimOp *op, const uint64_t address[LANES], uint32_t mask, size_t size)
{
    const SimPace *pace = &b->meter->pace[b->meter->site_of[op - b->m->ops.items]];
    while (mask) {
        const uint64_t at = address[__builtin_ctz(mask)];
        const uint32_t same = beside(address, mask, at, pace->together ? WORD : SIM_SECTOR);
        add_turns(b, pace, at, pace->together ? WORD : SIM_LINE, pace->together ? 1 : turns_of(address, same, size));
        mask &= ~same;
    }
}

void sim_meter_sectors(Block *b, const SimOp *op, SimAccess kind, uint64_t first, uint64_t n)
{
    SimMeter *m = b->meter;
    SimFlow *f = &m->out->sites[m->site_of[op - b->m->ops.items]].flow[SIM_GLOBAL];
    f->sectors += n;
    for (uint64_t i = 0; i < n; i++) touch_sector(m, b, op, f, first + i, kind);
}

/* Chains --------------------------------------------------------------------------------------- */

/* The warp goes on at `time`, and has waited for this site. */
static void stall(SimMeter *m, Warp *w, double time, uint32_t site)
{
    if (time <= w->time) return;
    m->out->sites[site].stalls += time - w->time;
    w->time = time;
}

/* When the last warp came to the barrier at which the warp has waited. */
static double *came_last(Block *b, const Warp *w) { return &b->arrived[w->waited - 1][w->waited_phase]; }

/* Clocks until a request that was issued at `start` has its bytes. What L1 has been asked for may be on its way to it;
 * warps run one after the other here, so the one that asked may have done so later than this one would have. */
static double fetched(SimMeter *m, double start)
{
    const double way = m->out->latency[m->from] + m->extra, most = m->out->latency[SIM_FROM_DRAM] + m->extra;
    const double clocks = WBB_MAX(way, WBB_MIN(m->here - start, most));
    for (int k = 0; k < m->n_missed; k++) m->missed[k]->here = (float)(start + clocks);
    m->here = m->n_missed = 0;
    return clocks;
}

/* A group ends with the copies before it. Of more than COPY_GROUPS that are under way the oldest are taken as done. */
static void copy_group(SimMeter *m, Warp *w, const SimOp *op, uint32_t site)
{
    const uint64_t left = (uint64_t)op->imm;
    if (op->mode == GROUP_COMMIT) w->group_done[w->commits++ % COPY_GROUPS] = w->copied;
    else if (op->mode == GROUP_ALL || op->mode == BULK_WAIT) stall(m, w, w->copied, site);
    else if (op->mode == GROUP_WAIT && left < WBB_MIN(w->commits, COPY_GROUPS))
        stall(m, w, w->group_done[(w->commits - 1 - left) % COPY_GROUPS], site);
}

/* What follows from the instruction, which was issued at `start`. */
static void issued(Block *b, Warp *w, const SimOp *op, uint32_t site, double start)
{
    SimMeter *m = b->meter;
    const SimPace pace = m->pace[site];
    const bool memory = op->kind == OP_LOAD || op->kind == OP_ATOMIC || op->kind == OP_MATRIX;
    const Columns *c = &m->of[site];
    double latency = memory || op->kind == OP_COPY ? fetched(m, start) : pace.latency;
    if (op->kind == OP_ATOMIC && m->iterations) { /* the warp is in the loop */
        latency = (double)m->iterations * pace.iteration;
        stall(m, w, start + latency, site);
        m->iterations = 0;
    }
    for (uint32_t k = c->at + c->reads, n = c->writes; n; n--, k++) {
        w->ready[m->columns.items[k]] = start + latency;
        w->maker[m->columns.items[k]] = site;
    }
    switch ((OpKind)op->kind) {
    case OP_COPY:
        w->copied = WBB_MAX(w->copied, start + latency);
        b->copied = WBB_MAX(b->copied, w->copied);
        break;
    case OP_COPY_GROUP: copy_group(m, w, op, site); break;
    case OP_MBARRIER_WAIT: stall(m, w, b->copied, site); break;
    case OP_BRANCH:
    case OP_BRANCH_TABLE:
    case OP_CALL:
    case OP_RET: w->time = WBB_MAX(w->time, start + latency); break;
    case OP_BARRIER:
        if (!w->at_barrier || w->at_barrier > BARRIERS + 1) break;
        w->waited = w->at_barrier;
        w->waited_phase = (w->waited > BARRIERS ? w->cluster_phase : b->barriers[w->waited - 1].phase) & 1;
        w->barrier_site = site;
        *came_last(b, w) = WBB_MAX(*came_last(b, w), start + latency);
        break;
    default: break;
    }
}

/* May later instructions of the text be issued before it? */
static bool may_wait(const SimOp *op)
{
    switch ((OpKind)op->kind) {
    case OP_BRANCH:
    case OP_BRANCH_TABLE:
    case OP_CALL:
    case OP_RET:
    case OP_BARRIER:
    case OP_COPY_GROUP:
    case OP_MBARRIER_WAIT: return false;
    default: return !op->order;
    }
}

/* A loop begins another iteration, whose loads the assembler has put before what waits for those of this one. */
static bool is_ahead(const SimMeter *m, Warp *w, uint32_t site, bool passed)
{
    const double ahead = m->pace[site].ahead;
    if (ahead <= 1) return false;
    if (w->loop_site != site) w->loop_site = site, w->iterations = 0;
    if (passed) return w->iterations = 0, false;
    w->iterations++;
    if (w->iterations < ahead) return true;
    w->iterations -= ahead;
    return false;
}

void sim_meter_step(Block *b, Warp *w, const SimOp *op, bool passed)
{
    SimMeter *m = b->meter;
    const uint32_t site = m->site_of[op - b->m->ops.items];
    const Columns *c = &m->of[site];
    if (op != &b->m->ops.items[m->steps[site]]) return;
    if (w->waited) stall(m, w, *came_last(b, w), w->barrier_site);
    w->waited = 0;
    uint32_t last = 0;
    for (uint32_t k = c->at; k < c->at + c->reads; k++)
        if (w->ready[m->columns.items[k]] > w->ready[last]) last = m->columns.items[k];
    if (passed) last = op->pred / SIM_COLUMN;
    const double ready = w->ready[last], issue = m->pace[site].issue; /* column 0 is always ready */
    double start = WBB_MAX(w->time, ready);
    const bool ahead = op->kind == OP_BRANCH && is_ahead(m, w, site, passed);
    if (ahead) stall(m, w, ready, w->maker[last]);
    if (ahead || (w->in_window < m->out->window && may_wait(op))) {
        w->in_window++;
        if (start + issue > w->pending) w->pending = start + issue, w->pending_site = w->maker[last];
    } else {
        stall(m, w, w->pending, w->pending_site);
        stall(m, w, ready, w->maker[last]);
        w->pending = w->in_window = 0;
        start = w->time;
    }
    w->time += issue;
    if (!passed) issued(b, w, op, site, start);
    b->chain = WBB_MAX(b->chain, WBB_MAX(w->time, w->pending));
}
