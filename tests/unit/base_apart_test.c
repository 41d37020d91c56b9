/* base_apart: a call on a thread of its own gets what it is given and gives what it made; its memory stays with the
 * process for the next call. */
#include "unit.h"

#include <stdlib.h>
#include <sys/resource.h>

typedef struct {
    WbbArena *arena;
    WbbApartBody *body;
    const char *given;
    char *made;
    size_t n;
} Job;

static void run(WbbCx *cx, void *arg)
{
    Job *j = arg;
    j->arena = wbb_arena_new(cx);
    assert_true(wbb_run_apart(cx, j->arena, j->body, j->given, strlen(j->given), 60, &j->made, &j->n));
}

static void twice(WbbApart *x, const char *given, size_t n)
{
    for (int k = 0; k < 2; k++) wbb_apart_put(x, given, n);
}

static void test_made(void **state)
{
    Job j = {.body = twice, .given = "abc"};
    succeed(*state, run, &j);
    assert_int_equal(j.n, 6);
    assert_string_equal(j.made, "abcabc");
}

#if defined __GLIBC__ && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
enum { BLOCKS = 256, BLOCK = 32 << 10, PAGE = 4096 };

/* As an assembler: 8 MiB in small blocks, all freed at the end. */
static void use_memory(WbbApart *x, const char *given, size_t n)
{
    static char *blocks[BLOCKS];
    (void)given, (void)n;
    for (int k = 0; k < BLOCKS; k++) {
        blocks[k] = malloc(BLOCK);
        assert_non_null(blocks[k]);
        memset(blocks[k], k, BLOCK);
    }
    for (int k = BLOCKS; k-- > 0;) free(blocks[k]);
    wbb_apart_put(x, "", 1);
}

static long pages_touched(WbbCx *cx)
{
    struct rusage before, after;
    Job j = {.body = use_memory, .given = ""};
    getrusage(RUSAGE_SELF, &before);
    succeed(cx, run, &j);
    getrusage(RUSAGE_SELF, &after);
    return after.ru_minflt - before.ru_minflt;
}

static void test_memory(void **state)
{
    const long first = pages_touched(*state), second = pages_touched(*state);
    assert_true(first >= BLOCKS * (BLOCK / PAGE) / 2);
    if (second > first / 4) fail_msg("%ld page faults, then %ld", first, second);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_made),
#if defined __GLIBC__ && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
        TEST(test_memory),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
