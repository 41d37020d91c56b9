/* cores: the blocks of a launch over several host threads, with the same results, reports and counts as on one.
 *
 * Needs: a launch set up by run.c. Leaves: memory as the blocks left it, and one report; or nothing, and the launch
 * must run alone.
 *
 * Each thread has its own context, arena, registers, shared memory and counts, and takes the next few blocks of the
 * list when it has finished some. A launch may be spread if its blocks cannot observe the order in which they run. A
 * module with atomic operations or strong accesses to global memory, or that reads the time, runs on one thread from
 * the start. The rest shows while the blocks run: if a block of a spread launch has a fault, reads memory that the
 * launch may write (seen only under check), or stores to bytes that another thread has stored to, the buffers get
 * their old contents and the launch runs again on one thread, in order. So faults are reported by one thread alone,
 * and reports do not depend on the number of threads.
 *
 *     grid 1024, 4 threads: blocks 0..15, 16..31, 32..47, 48..63; the first thread to finish takes 64..79
 */
#include "sim/inner.h"

#include <stdatomic.h>

enum { PARTS = 16 /* of a thread's blocks, taken at once */, LEAST = 64 /* warps that are worth a thread */ };

typedef struct {
    const Block *model;
    const SimPlan *plan;
    WbbPool *pool;
    WbbCx *cx;
    atomic_bool *stop; /* of all workers: who started the run wants it to end */
    bool first; /* it is the thread of the caller */
    bool alone; /* the launch must run on one thread */
    SimOptions options;
    SimCounts counts;
    Block block; /* the model, with this thread's own arena and segments */
    SimReport report;
} Worker;

/* The bytes of buffers are shared by all threads; each thread has its own record of which it has written. Races are
 * not looked for: a thread that reads outputs gives up. */
static void own_segments(Block *b)
{
    Segment *buffers = WBB_NEW_N(b->arena, Segment, b->n_buffers + 1),
            *vars = WBB_NEW_N(b->arena, Segment, b->m->vars.n + 1);
    memcpy(buffers, b->buffers, sizeof *buffers * ((size_t)b->n_buffers + 1));
    if (b->m->vars.n) memcpy(vars, b->vars, sizeof *vars * b->m->vars.n);
    for (int i = 1; i <= b->n_buffers; i++) {
        buffers[i].shadow = NULL;
        buffers[i].writers = NULL;
        if (buffers[i].written && buffers[i].argument) buffers[i].written = wbb_alloc(b->arena, buffers[i].size);
    }
    for (uint32_t i = 0; i < b->m->vars.n; i++) vars[i].shadow = NULL, vars[i].track = false;
    b->buffers = buffers, b->vars = vars;
}

/* A WbbReport of a worker's context: the first one asks who started the run, the others see what it was told. */
static bool is_stopped(void *arg, const char *what, int64_t done, int64_t total)
{
    const Worker *w = arg;
    if (w->first && wbb_progress(w->model->cx, what, done, total)) atomic_store(w->stop, true);
    return atomic_load(w->stop);
}

static void run_blocks(WbbCx *cx, void *arg)
{
    Worker *w = arg;
    const SimPlan *plan = w->plan;
    Block *b = &w->block;
    *b = *w->model;
    b->all = WBB_NEW(cx->arena, Machine);
    w->options = *b->options;
    if (w->options.counts) w->options.counts = &w->counts;
    b->cx = cx, b->arena = cx->arena, b->options = &w->options, b->spread = true;
    wbb_arena_limit(cx->arena, SIZE_MAX); /* bounded by the buffers, whose bytes each thread tracks */
    own_segments(b);
    sim_count_open(b);
    Cluster c = {.n = 0};
    sim_plan_open(b, plan, &c);
    wbb_on_progress(cx, is_stopped, w);
    for (uint64_t at, end; wbb_pool_take(w->pool, &at, &end);)
        for (; at < end && !w->alone; at++) {
            if (wbb_progress(cx, "blocks", (int64_t)at, (int64_t)plan->n)) wbb_stop(cx);
            sim_turns_alone(&c, plan, at);
            w->alone = sim_cluster_stopped(&c);
            if (w->alone) wbb_pool_stop(w->pool);
        }
    sim_plan_report(&c, &w->report);
    sim_count_close(b, &w->report);
}

static void work(WbbPool *pool, void *arg, uint32_t number)
{
    Worker *w = (Worker *)arg + number;
    w->pool = pool, w->first = number == 0;
    w->cx = wbb_cx_new();
    if (w->cx && wbb_guard(w->cx, run_blocks, w) == WBB_OK) return;
    w->alone = true;
    wbb_pool_stop(pool);
}

/* True if no operation lets blocks observe the order in which they run. */
static bool may_spread(const Block *b)
{
    for (uint32_t i = 0; i < b->m->ops.n; i++) {
        const SimOp *op = &b->m->ops.items[i];
        const bool memory = op->kind == OP_LOAD || op->kind == OP_STORE,
                   near = op->space == SIM_SHARED || op->space == SIM_LOCAL;
        if (op->kind == OP_CLOCK || op->kind == OP_SYSTEM || (op->kind == OP_ATOMIC && !near) ||
            (memory && op->order && !near))
            return false;
    }
    for (int i = 1; i <= b->n_buffers; i++) /* of a sample: pages are made by one thread */
        if (b->buffers[i].source) return false;
    /* Buffers that may be written twice, or have contents from the start, are watched for races, by one thread. */
    for (int i = 1; b->options->check && i <= b->n_buffers; i++)
        if (b->buffers[i].track && b->buffers[i].argument && (b->buffers[i].multiple || b->buffers[i].initialised))
            return false;
    return true;
}

/* Join the records of two threads; true if both wrote one byte. */
static bool join_written(uint8_t *to, const uint8_t *from, size_t n)
{
    uint8_t both = 0;
    for (size_t i = 0; i < n; i++) {
        both |= (uint8_t)(to[i] & from[i]);
        to[i] |= from[i];
    }
    return both != 0;
}

/* False if a thread gave up, or if two wrote one byte. */
static bool join(Worker *workers, uint32_t n, const Block *model)
{
    bool clash = false;
    for (uint32_t t = 0; t < n; t++)
        if (workers[t].alone) return false;
    for (uint32_t t = 0; t < n; t++)
        for (int i = 1; i <= model->n_buffers && !clash; i++)
            if (model->buffers[i].written && model->buffers[i].argument)
                clash = join_written(model->buffers[i].written, workers[t].block.buffers[i].written,
                                     model->buffers[i].size);
    return !clash;
}

/* Keep the contents of the buffers that the launch may write, or restore them. */
static void keep(const Block *b, uint8_t **kept, bool back)
{
    for (int i = 1; i <= b->n_buffers; i++) {
        const Segment *s = &b->buffers[i];
        if (s->readonly || !s->size || !s->argument) continue;
        if (back) memcpy(s->bytes, kept[i], s->size);
        else memcpy(kept[i] = wbb_alloc(b->arena, s->size), s->bytes, s->size);
        if (back && s->written) memset(s->written, 0, s->size);
    }
    for (uint32_t i = 0; back && i < b->m->vars.n; i++)
        if (b->vars[i].size) memcpy(b->vars[i].bytes, b->m->vars.items[i].init, b->vars[i].size);
}

bool sim_spread(Block *model, const SimPlan *plan, SimReport *report)
{
    const uint64_t most = plan->n * plan->size * (uint64_t)model->n_warps / LEAST;
    const uint64_t useful = WBB_MIN(WBB_MIN(plan->n, most), (uint64_t)WBB_POOL_THREADS);
    const uint32_t n = (uint32_t)WBB_MIN((uint64_t)model->options->threads, useful);
    if (n < 2 || model->options->profile || !may_spread(model)) return false;
    uint8_t **kept = WBB_NEW_N(model->arena, uint8_t *, model->n_buffers + 1);
    keep(model, kept, false);
    Worker *workers = WBB_NEW_N(model->arena, Worker, n);
    atomic_bool stop = false;
    for (uint32_t t = 0; t < n; t++) workers[t].model = model, workers[t].plan = plan, workers[t].stop = &stop;
    const uint32_t ran = wbb_pool_run(n, plan->n, WBB_MAX(1, plan->n / (n * PARTS)), work, workers);
    const bool good = join(workers, ran, model);
    for (uint32_t t = 0; t < ran; t++) {
        if (good) {
            sim_report_add(report, &workers[t].report);
            if (model->options->counts) sim_counts_add(model->options->counts, &workers[t].counts);
        }
        if (workers[t].cx) wbb_cx_free(workers[t].cx);
    }
    if (good && model->options->counts) model->options->counts->launches++;
    if (!good) keep(model, kept, true);
    return good;
}
