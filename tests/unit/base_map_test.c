/* base_map: a hash map against an array with a cell for each key: it grows, is cleared, and keeps its order. */
#include "random.h"
#include "unit.h"

#include <stdio.h>

static void test_numbers(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    WbbMap m = {.arena = cx->arena};
    assert_null(wbb_map_get(&m, 0));
    wbb_map_clear(&m);
    wbb_map_put(&m, 0)->value = 5;
    wbb_map_put(&m, UINT64_MAX)->value = 6;
    assert_int_equal(wbb_map_get(&m, 0)->value, 5);
    assert_int_equal(wbb_map_get(&m, UINT64_MAX)->value, 6);
    assert_null(wbb_map_get(&m, 1));
    WbbEntry *e = wbb_map_put(&m, 0);
    assert_int_equal(e->value, 5);
    assert_ptr_equal(e, m.entries);
    assert_int_equal(m.n, 2);
    wbb_cx_free(cx);
}

/* Keys that differ in a few bits at any position: each is found, and no other key. */
static void test_strides(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    for (int shift = 0; shift < 64; shift += 3) {
        const uint64_t n = shift > 53 ? UINT64_C(1) << (63 - shift) : 1000;
        WbbMap m = {.arena = cx->arena};
        for (uint64_t i = 0; i < n; i++) wbb_map_put(&m, i << shift)->value = i + 1;
        assert_int_equal(m.n, n);
        for (uint64_t i = 0; i < n; i++) {
            assert_int_equal(wbb_map_get(&m, i << shift)->value, i + 1);
            assert_int_equal(m.entries[i].key, i << shift);
        }
        assert_null(wbb_map_get(&m, (n << shift) + 1));
    }
    wbb_cx_free(cx);
}

enum { KEYS = 3000 };

/* A map and an array with a cell for each key have the same contents. */
static void same_as_array(WbbMap *m, bool bytes, uint32_t puts)
{
    static uint64_t expected[KEYS];
    uint32_t number[KEYS], n = 0;
    memset(expected, 0, sizeof expected);
    for (uint32_t i = 0; i < puts; i++) {
        const uint32_t k = below(KEYS);
        char text[64];
        const size_t length = (size_t)snprintf(text, sizeof text, "%*u", 1 + (int)(k % 40), k);
        const WbbEntry *found = bytes ? wbb_map_get_bytes(m, text, length) : wbb_map_get(m, k);
        assert_int_equal(found ? found->value : 0, expected[k]);
        WbbEntry *e = bytes ? wbb_map_put_bytes(m, text, length) : wbb_map_put(m, k);
        if (!expected[k]) number[k] = n++;
        assert_int_equal(e - m->entries, number[k]);
        if (bytes) assert_string_equal(wbb_map_text(e), text);
        e->value = expected[k] = i + 1;
    }
    assert_int_equal(m->n, n);
}

static void random_keys(WbbCx *cx, void *arg)
{
    (void)arg;
    for (int bytes = 0; bytes < 2; bytes++) {
        WbbMap m = {.arena = cx->arena};
        for (uint32_t puts = 1; puts < 20000; puts *= 3) {
            same_as_array(&m, bytes, puts);
            wbb_map_clear(&m);
        }
        for (uint32_t k = 0; k < m.n_slots; k++) assert_int_equal(m.slots[k], 0);
    }
}

static void test_random(void **state)
{
    (void)state;
    succeed_alone(random_keys, NULL);
}

static void test_bytes(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    WbbMap m = {.arena = cx->arena};
    assert_null(wbb_map_get_bytes(&m, "a", 1));
    wbb_map_put_bytes(&m, NULL, 0)->value = 1;
    wbb_map_put_bytes(&m, "\0", 1)->value = 2;
    wbb_map_put_bytes(&m, "\0\0", 2)->value = 3;
    assert_int_equal(wbb_map_get_bytes(&m, "", 0)->value, 1);
    assert_int_equal(wbb_map_get_bytes(&m, "\0\0", 1)->value, 2);
    assert_int_equal(wbb_map_get_bytes(&m, "\0\0", 2)->value, 3);
    char key[] = "key";
    const char *copy = wbb_map_text(wbb_map_put_bytes(&m, key, 3));
    key[0] = 'K';
    assert_string_equal(copy, "key");
    wbb_cx_free(cx);
}

/* A map does not grow up to its reserved size, and clearing a large map with few entries is cheap. */
static void test_reserve(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    for (uint32_t n = 0; n < 70; n++) {
        WbbMap m = {.arena = cx->arena};
        wbb_map_reserve(&m, n);
        const uint32_t *slots = m.slots;
        for (uint32_t i = 0; i < n; i++) wbb_map_put(&m, i * UINT64_C(77));
        assert_ptr_equal(m.slots, slots);
        for (uint32_t i = 0; i < n; i++) assert_non_null(wbb_map_get(&m, i * UINT64_C(77)));
    }
    WbbMap large = {.arena = cx->arena};
    wbb_map_reserve(&large, 10000000);
    const double before = wbb_cpu_ms();
    for (uint32_t i = 0; i < 10000; i++) {
        wbb_map_put(&large, i);
        wbb_map_clear(&large);
    }
    assert_true(wbb_cpu_ms() - before < 1000);
    wbb_cx_free(cx);
}

static void too_many(WbbCx *cx, void *arg)
{
    WbbMap *m = arg;
    (void)cx;
    for (uint64_t i = 0;; i++) wbb_map_put(m, i)->value = i;
}

static void reserves_too_many(WbbCx *cx, void *arg)
{
    (void)cx;
    wbb_map_reserve(arg, UINT32_MAX);
}

/* A map whose arena is full keeps what it has. */
static void test_limit(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    WbbMap m = {.arena = wbb_arena_new(cx)};
    wbb_arena_limit(m.arena, 1 << 20);
    assert_int_equal(wbb_guard(cx, too_many, &m), WBB_FAILED);
    assert_non_null(strstr(cx->messages, "out of memory"));
    assert_true(m.n > 1000);
    for (uint64_t i = 0; i < m.n; i++) assert_int_equal(wbb_map_get(&m, i)->value, i);
    assert_null(wbb_map_get(&m, m.n));
    assert_int_equal(wbb_guard(cx, reserves_too_many, &m), WBB_FAILED);
    wbb_cx_free(cx);
}

/* Names of one stem are numbered from `first` on, past those that are taken. */
static void test_names(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    WbbMap m = {.arena = cx->arena};
    wbb_map_put(&m, wbb_key(wbb_intern_z(cx, "a.3")));
    assert_string_equal(wbb_unique_name(cx, &m, "a", "", 1), "a");
    assert_string_equal(wbb_unique_name(cx, &m, "a", "", 1), "a.1");
    assert_string_equal(wbb_unique_name(cx, &m, "a", "", 1), "a.2");
    assert_string_equal(wbb_unique_name(cx, &m, "a", "", 1), "a.4");
    assert_string_equal(wbb_unique_name(cx, &m, "a.4", "", 1), "a.4.1");
    assert_string_equal(wbb_unique_name(cx, &m, "d/x", ".npy", 2), "d/x.npy");
    assert_string_equal(wbb_unique_name(cx, &m, "d/x", ".npy", 2), "d/x.2.npy");
    for (int k = 0; k < 200000; k++) wbb_unique_name(cx, &m, "b", "", 1);
    assert_string_equal(wbb_unique_name(cx, &m, "b", "", 1), "b.200000");
    wbb_cx_free(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_strides), cmocka_unit_test(test_random),
        cmocka_unit_test(test_bytes),   cmocka_unit_test(test_reserve), cmocka_unit_test(test_limit),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
