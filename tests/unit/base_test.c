/* base: guards nest and unwind, arenas grow and refuse, equal strings are shared, files are read back as written. */
#include "base/base.h"

#include "unit.h"

static void fails(WbbCx *cx, void *arg)
{
    (void)arg;
    wbb_fail(cx, (WbbLoc){"a.hlo", 3, 7}, "expected '%c'", '(');
}

static void declines(WbbCx *cx, void *arg)
{
    (void)arg;
    wbb_decline(cx, (WbbLoc){0}, WHY_SCATTER, "op %d", 4);
}

static void nests(WbbCx *cx, void *arg)
{
    WbbStatus *inner = arg;
    *inner = wbb_guard(cx, fails, NULL);
    wbb_note(cx, (WbbLoc){"b", 9, 0}, "went on");
    declines(cx, NULL);
}

static void test_guard(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    assert_string_equal(cx->messages, "");
    WbbStatus inner = WBB_OK;
    assert_int_equal(wbb_guard(cx, nests, &inner), WBB_DECLINED);
    assert_int_equal(inner, WBB_FAILED);
    assert_int_equal(cx->why, WHY_SCATTER);
    assert_string_equal(cx->messages, "a.hlo:3:7: error: expected '('\nb:9: note: went on\ndeclined: scatter: op 4\n");
    wbb_cx_clear(cx);
    assert_string_equal(cx->messages, "");
    for (int w = 0; w < WHY_COUNT; w++) {
        assert_non_null(wbb_why_name((WbbWhy)w));
        assert_true(strlen(wbb_why_text((WbbWhy)w)) > 3);
    }
    wbb_cx_free(cx);
}

static void too_large(WbbCx *cx, void *arg)
{
    WbbArena *a = wbb_arena_new(cx);
    *(WbbArena **)arg = a;
    wbb_arena_limit(a, 1 << 20);
    for (;;) wbb_alloc(a, 1000);
}

static void overflows(WbbCx *cx, void *arg)
{
    (void)arg;
    (void)WBB_NEW_N(cx->arena, uint64_t, SIZE_MAX / 4);
}

static void test_arena(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    WbbArena *a = NULL;
    assert_int_equal(wbb_guard(cx, too_large, &a), WBB_FAILED);
    assert_non_null(strstr(cx->messages, "the limit is 1048576"));
    wbb_arena_free(a);
    assert_int_equal(wbb_guard(cx, overflows, NULL), WBB_FAILED);

    struct {
        int *items;
        uint32_t n, capacity;
    } list = {0};
    for (int i = 0; i < 100000; i++) {
        WBB_PUSH(cx->arena, &list, i);
        if (i % 1000 == 0) memset(wbb_alloc(cx->arena, 7), 0xff, 7);
    }
    for (int i = 0; i < 100000; i++) assert_int_equal(list.items[i], i);
    for (size_t n = 1; n < 3000000; n = n * 3 + 1) {
        unsigned char *p = wbb_alloc(cx->arena, n);
        assert_int_equal((uintptr_t)p % 16, 0);
        assert_int_equal(p[0] | p[n / 2] | p[n - 1], 0);
        memset(p, 0xaa, n);
    }
    wbb_cx_free(cx);
}

/* The context keeps the memory of a freed arena; the next arena gets it zeroed, for allocations of any size. */
static void test_arena_again(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    for (uint32_t round = 0; round < 12; round++) {
        WbbArena *a = wbb_arena_new(cx);
        for (size_t n = 10 + round; n < 3000000; n = n * (2 + round % 3)) {
            unsigned char *p = wbb_alloc(a, n);
            for (size_t k = 0; k < n; k++)
                if (p[k]) fail_msg("byte %zu of %zu is not 0", k, n);
            memset(p, 0xaa, n);
            p = wbb_grow(a, p, n, n + 40);
            for (size_t k = n; k < n + 40; k++)
                if (p[k]) fail_msg("byte %zu is not 0 after %zu bytes grew", k, n);
            memset(p, 0x55, n + 40);
        }
        wbb_arena_free(a);
    }
    wbb_cx_free(cx);
}

static void leaves_much(WbbCx *cx, void *arg)
{
    WbbArena *mine = arg, *left = wbb_arena_new(cx);
    memset(wbb_alloc(left, 300000), 0xaa, 300000); /* not freed: the context's end frees it */
    memset(wbb_alloc(mine, 100000), 0x55, 100000);
    wbb_fail(cx, (WbbLoc){0}, "something is wrong");
}

/* What goes on aside leaves no message, and its memory is the context's, zeroed; an arena from outside goes on. */
static void test_aside(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    WbbArena *mine = wbb_arena_new(cx);
    for (int round = 0; round < 3; round++) {
        assert_false(wbb_aside(cx, leaves_much, mine));
        assert_string_equal(cx->messages, "");
        WbbArena *a = wbb_arena_new(cx);
        const unsigned char *p = wbb_alloc(a, 250000);
        for (size_t k = 0; k < 250000; k++)
            if (p[k]) fail_msg("byte %zu is not 0", k);
        wbb_arena_free(a);
    }
    assert_true(wbb_arena_bytes(mine) >= 300000);
    wbb_cx_free(cx);
}

static void reserves(WbbCx *cx, void *arg) { wbb_reserve(cx, *(size_t *)arg, "a test"); }

/* What was refused is not counted, and neither is what was released. */
static void test_reserve(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    size_t some = 1 << 20, most = SIZE_MAX - (1 << 20);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(wbb_guard(cx, reserves, &some), WBB_OK);
        assert_int_equal(wbb_guard(cx, reserves, &most), WBB_FAILED);
        wbb_release(some);
    }
    assert_non_null(strstr(cx->messages, "out of memory: a test may take"));
    wbb_cx_free(cx);
}

static void test_string(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    const char *first = wbb_intern_z(cx, "name77");
    for (int i = 0; i < 5000; i++) {
        const char *z = wbb_format(cx->arena, "name%d", i);
        assert_ptr_equal(wbb_intern_z(cx, z), wbb_intern(cx, z, strlen(z)));
    }
    assert_ptr_equal(wbb_intern(cx, "name77x", 6), first);
    assert_ptr_not_equal(wbb_intern_z(cx, "name78"), first);

    WbbBuf b = wbb_buf(cx->arena);
    for (int i = 0; i < 50; i++) wbb_putf(&b, "%d,", i);
    assert_int_equal(b.n, 10 * 2 + 40 * 3);
    b = wbb_buf(cx->arena);
    WbbI128 least = -((WbbI128)1 << 126) * 2;
    wbb_put_i128(&b, least);
    assert_string_equal(b.text, "-170141183460469231731687303715884105728");
    assert_true(wbb_hash("abcdefghi", 9, 0) != wbb_hash("abcdefghj", 9, 0));
    assert_true(wbb_hash("a", 1, 0) != wbb_hash("a\0", 2, 0));
    wbb_cx_free(cx);
}

static void reads_missing(WbbCx *cx, void *arg)
{
    (void)arg;
    wbb_read_file(cx, cx->arena, "no/such/file", NULL);
}

static void test_file(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    assert_int_equal(wbb_guard(cx, reads_missing, NULL), WBB_FAILED);
    assert_non_null(strstr(cx->messages, "no/such/file"));
    char *dir = wbb_temp_dir(cx, cx->arena);
    char *deep = wbb_format(cx->arena, "%s/x/y", dir), *path = wbb_format(cx->arena, "%s/f", deep);
    wbb_make_dir(cx, deep);
    assert_true(wbb_is_dir(deep));
    char bytes[10000];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)(i * 7);
    wbb_write_file(cx, path, bytes, sizeof bytes);
    size_t n = 0;
    char *back = wbb_read_file(cx, cx->arena, path, &n);
    assert_int_equal(n, sizeof bytes);
    assert_memory_equal(back, bytes, n);
    wbb_remove_dir(deep);
    wbb_remove_dir(wbb_format(cx->arena, "%s/x", dir));
    wbb_remove_dir(dir);
    assert_false(wbb_file_exists(dir));

    char *text = NULL;
    const char *const echo[] = {"sh", "-c", "echo out; echo err >&2; exit 5", NULL};
    assert_int_equal(wbb_run_process(cx, cx->arena, echo, 60, &text).status, 5);
    assert_string_equal(text, "out\nerr\n");
    const char *const none[] = {"no-such-program-anywhere", NULL};
    assert_int_equal(wbb_run_process(cx, cx->arena, none, 60, &text).status, 127);
    const char *const dies[] = {"sh", "-c", "echo before; kill -SEGV $$", NULL};
    WbbExit e = wbb_run_process(cx, cx->arena, dies, 60, &text);
    assert_int_equal(e.status, -1);
    assert_string_equal(e.what, "was ended by signal 11");
    assert_string_equal(text, "before\n");
    const double since = wbb_now_ms();
    const char *const sleeps[] = {"sh", "-c", "echo before; exec sleep 60", NULL};
    e = wbb_run_process(cx, cx->arena, sleeps, 1, &text);
    assert_int_equal(e.status, -1);
    assert_string_equal(e.what, "did not end in 1 seconds");
    assert_string_equal(text, "before\n");
    const char *const quiet[] = {"sh", "-c", "exec sleep 60 >/dev/null 2>&1", NULL};
    assert_int_equal(wbb_run_process(cx, cx->arena, quiet, 1, &text).status, -1);
    assert_true(wbb_now_ms() - since < 30000);
    wbb_cx_free(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_guard),
        cmocka_unit_test(test_arena),
        cmocka_unit_test(test_arena_again),
        cmocka_unit_test(test_aside),
        cmocka_unit_test(test_reserve),
        cmocka_unit_test(test_string),
        cmocka_unit_test(test_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
