/* spread: independent pieces of a step's work, on several threads.
 *
 * Needs: an evaluation that stands still meanwhile. Leaves: the work done, with the same bits on any number of threads.
 *
 * Each piece is computed in a chunk (frame.c) of its thread, which starts from what the whole evaluation keeps and
 * remembers; nothing that one piece finds is seen by another, so the pieces may come in any order. A piece that comes
 * upon an operation whose result must be kept for the whole evaluation (a loop, an operand that is needed as a whole)
 * gives up, and the whole evaluation computes it when the threads are done. Neither which pieces do so nor the failure
 * that is reported, that of the first piece that fails, depends on the number of threads.
 *
 *     ev_spread(e, "dot.3", 0, 64, block, &matrix)        block(part, &matrix, k) for each k
 */
#include "eval/inner.h"

#include <string.h>

typedef struct {
    Ev *e;
    const char *name; /* of the instruction, for progress; NULL: none is reported */
    int64_t first, end;
    EvWork *work;
    void *arg;
    bool *gave_up;    /* [end - first] */
    struct Worker *workers;
} Spread;

typedef struct Worker {
    Spread *s;
    WbbCx *cx;
    Ev *chunk;        /* the thread's; NULL: not made yet */
    int64_t at;       /* piece that is computed */
    WbbStatus status; /* of the piece `at`, where the thread ended */
} Worker;

static void guarded(WbbCx *cx, void *arg)
{
    Worker *w = arg;
    if (w->chunk) ev_chunk_again(w->chunk);
    else w->chunk = ev_chunk(w->s->e, cx);
    w->s->work(w->chunk, w->s->arg, w->at);
}

/* False: it failed. */
static bool run_piece(Worker *w, int64_t at)
{
    Spread *s = w->s;
    w->at = at;
    w->status = wbb_guard(w->cx, guarded, w);
    if (w->status == WBB_OK) return true;
    if (!w->chunk) return false;
    const bool gave_up = w->chunk->gave_up;
    ev_free(w->chunk);
    w->chunk = NULL;
    s->gave_up[at - s->first] = gave_up;
    if (gave_up) w->status = WBB_OK;
    return gave_up;
}

static bool report(const Spread *s, int64_t done)
{
    return s->name && wbb_progress(s->e->cx, s->name, done, s->end);
}

static void run_pieces(WbbPool *pool, void *arg, uint32_t number)
{
    Spread *s = arg;
    Worker *w = &s->workers[number];
    *w = (Worker){.s = s, .cx = wbb_cx_new()};
    if (!w->cx) w->status = WBB_FAILED;
    if (!w->cx) wbb_pool_stop(pool);
    for (uint64_t k, end; w->cx && wbb_pool_take(pool, &k, &end);) {
        if (number == 0 && report(s, s->first + (int64_t)k)) wbb_pool_stop(pool);
        if (!run_piece(w, s->first + (int64_t)k)) {
            wbb_pool_stop(pool);
            return;
        }
    }
}

/* The worker that failed at the first piece; pieces are taken in order, so all before it were computed. */
static Worker *first_failed(Worker *workers, uint32_t n)
{
    Worker *found = NULL;
    for (uint32_t k = 0; k < n; k++)
        if (workers[k].status != WBB_OK && (!found || workers[k].at < found->at)) found = &workers[k];
    return found;
}

static WbbStatus on_threads(Spread *s, uint32_t threads)
{
    Worker workers[WBB_POOL_THREADS];
    s->workers = workers;
    const uint32_t ran = wbb_pool_run(threads, (uint64_t)(s->end - s->first), 1, run_pieces, s);
    const Worker *failed = first_failed(workers, ran);
    const WbbStatus status = failed ? failed->status : WBB_OK;
    const bool no_memory = failed && !failed->cx;
    if (failed && failed->cx) wbb_take_messages(s->e->cx, failed->cx);
    for (uint32_t k = 0; k < ran; k++) wbb_cx_free(workers[k].cx);
    if (no_memory) wbb_fail(s->e->cx, (WbbLoc){0}, "out of memory: no context could be made for a thread");
    return status;
}

static WbbStatus on_this_thread(Spread *s)
{
    Worker w = {.s = s, .cx = s->e->cx, .status = WBB_OK};
    for (int64_t k = s->first; k < s->end; k++) {
        if (report(s, k)) wbb_stop(w.cx);
        if (!run_piece(&w, k)) break;
    }
    if (w.chunk) ev_free(w.chunk);
    return w.status;
}

void ev_spread(Ev *e, const char *name, int64_t first, int64_t end, EvWork *work, void *arg)
{
    if (first >= end) return;
    WbbArena *arena = wbb_arena_new(e->cx);
    Spread s = {e, e->depth <= 1 ? name : NULL, first, end, work, arg, WBB_NEW_N(arena, bool, end - first), NULL};
    const uint32_t threads = wbb_pool_threads(e->cx->threads, (uint64_t)(end - first + 1) / 2);
    WbbStatus status = WBB_OK;
    bool some = false;
    if (e->noise) memset(s.gave_up, true, (size_t)(end - first)); /* random numbers are drawn in order */
    else status = threads > 1 ? on_threads(&s, threads) : on_this_thread(&s);
    for (int64_t k = first; k < end && status == WBB_OK; k++) some = some || s.gave_up[k - first];
    if (some) {
        Ev *part = ev_part(e);
        part->filling = e->filling;
        for (int64_t k = first; k < end; k++)
            if (s.gave_up[k - first]) work(part, arg, k);
        ev_part_end(e);
    }
    wbb_arena_free(arena);
    if (status != WBB_OK) wbb_rethrow(e->cx, status);
    if (report(&s, end)) wbb_stop(e->cx);
}

void ev_must_keep(Ev *e)
{
    if (!e->chunk) return;
    e->chunk->gave_up = true;
    wbb_rethrow(e->cx, WBB_DECLINED);
}
