/* pool: many tasks on several threads.
 *
 * Needs: POSIX threads. Leaves: all tasks done, or those that were taken before one of them stopped the pool.
 *
 * Tasks are numbers. Each thread calls one work function, which takes ranges of tasks until none is left; so a thread
 * that is done early takes more, and what a thread needs for all its tasks (a context, an arena, counts) is made once.
 * A context belongs to one thread, so a work function guards its own failures. Where the system refuses a thread, fewer
 * do the work.
 *
 *     static void work(WbbPool *p, void *arg, uint32_t worker)
 *     {
 *         for (uint64_t first, end; wbb_pool_take(p, &first, &end);)
 *             for (; first < end; first++) ..                          // task number `first`
 *     }
 *     wbb_pool_run(wbb_pool_threads(0, n), n, 1, work, &arg);          // a thread a core
 */
#include "base/base.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

struct WbbPool {
    WbbPoolWork *work;
    void *arg;
    atomic_uint_fast64_t next; /* the first task that nobody has taken; `n` or more: none is left */
    uint64_t n, part;
};

typedef struct {
    WbbPool *pool;
    pthread_t thread;
    uint32_t number;
} Worker;

bool wbb_pool_take(WbbPool *p, uint64_t *first, uint64_t *end)
{
    *first = atomic_fetch_add(&p->next, p->part);
    if (*first >= p->n) return false;
    *end = *first + WBB_MIN(p->part, p->n - *first);
    return true;
}

void wbb_pool_stop(WbbPool *p) { atomic_store(&p->next, p->n); }

static void *thread_main(void *arg)
{
    const Worker *w = arg;
    wbb_float_default();
    w->pool->work(w->pool, w->pool->arg, w->number);
    return NULL;
}

uint32_t wbb_pool_threads(int64_t asked, uint64_t n)
{
    const int64_t wanted = asked ? asked : (int64_t)sysconf(_SC_NPROCESSORS_ONLN);
    const uint64_t most = WBB_MIN(n, (uint64_t)WBB_POOL_THREADS);
    return wanted < 1 || most < 1 ? 1 : (uint32_t)WBB_MIN((uint64_t)wanted, most);
}

uint32_t wbb_pool_run(uint32_t threads, uint64_t n, uint64_t part, WbbPoolWork *work, void *arg)
{
    assert(threads >= 1 && threads <= WBB_POOL_THREADS && part >= 1 && n <= UINT64_MAX / 2);
    WbbPool p = {.work = work, .arg = arg, .n = n, .part = part};
    Worker workers[WBB_POOL_THREADS];
    uint32_t started = 1; /* the caller's thread is worker 0 */
    for (; started < threads; started++) {
        workers[started] = (Worker){.pool = &p, .number = started};
        if (pthread_create(&workers[started].thread, NULL, thread_main, &workers[started]) != 0) break;
    }
    work(&p, arg, 0);
    for (uint32_t t = 1; t < started; t++) pthread_join(workers[t].thread, NULL);
    return started;
}
