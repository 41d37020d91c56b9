/* base_pool: each task is taken once, by as many threads as there are; a stopped pool gives out no more tasks. */
#include "unit.h"

#include <stdatomic.h>

enum { TASKS = 10007 };

typedef struct {
    atomic_uint done[TASKS], workers[WBB_POOL_THREADS], most;
    uint64_t part, stop_at;
} Tasks;

static void work(WbbPool *p, void *arg, uint32_t worker)
{
    Tasks *t = arg;
    atomic_fetch_add(&t->workers[worker], 1);
    for (uint64_t first, end; wbb_pool_take(p, &first, &end);) {
        if (end - first > t->part || end <= first) atomic_fetch_add(&t->most, 1);
        for (; first < end; first++) {
            atomic_fetch_add(&t->done[first], 1);
            if (first == t->stop_at) wbb_pool_stop(p);
        }
    }
}

static void test_each_once(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    for (uint32_t threads = 1; threads <= WBB_POOL_THREADS; threads = threads * 2 + 1) {
        for (uint64_t part = 1; part < 20000; part *= 23) {
            Tasks *t = WBB_NEW(cx->arena, Tasks);
            t->part = part, t->stop_at = UINT64_MAX;
            const uint32_t ran = wbb_pool_run(threads, TASKS, part, work, t);
            assert_in_range(ran, 1, threads);
            for (uint32_t k = 0; k < TASKS; k++) assert_int_equal(t->done[k], 1);
            for (uint32_t w = 0; w < WBB_POOL_THREADS; w++) assert_int_equal(t->workers[w], w < ran);
            assert_int_equal(t->most, 0);
        }
    }
    wbb_cx_free(cx);
}

static void test_stop(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    for (uint32_t threads = 1; threads < 5; threads++) {
        Tasks *t = WBB_NEW(cx->arena, Tasks);
        t->part = 10, t->stop_at = 23;
        wbb_pool_run(threads, TASKS, t->part, work, t);
        for (uint32_t k = 0; k < 30; k++) assert_int_equal(t->done[k], 1); /* tasks that were taken are done */
        if (threads == 1)
            for (uint32_t k = 30; k < TASKS; k++) assert_int_equal(t->done[k], 0);
    }
    Tasks *none = WBB_NEW(cx->arena, Tasks);
    wbb_pool_run(2, 0, 1, work, none);
    for (uint32_t k = 0; k < TASKS; k++) assert_int_equal(none->done[k], 0);
    wbb_cx_free(cx);
}

static void test_threads(void **state)
{
    (void)state;
    assert_int_equal(wbb_pool_threads(3, 10), 3);
    assert_int_equal(wbb_pool_threads(30, 10), 10);
    assert_int_equal(wbb_pool_threads(1000, 1000), WBB_POOL_THREADS);
    assert_int_equal(wbb_pool_threads(5, 0), 1);
    assert_in_range(wbb_pool_threads(0, 1000), 1, WBB_POOL_THREADS);
    assert_int_equal(wbb_pool_threads(0, 1), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_once),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
