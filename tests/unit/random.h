/* Random numbers that are the same each time, and a body that must not fail: for tests of random expressions. Needs cmocka and base/base.h. */
#ifndef TESTS_UNIT_RANDOM_H
#define TESTS_UNIT_RANDOM_H
static uint64_t seed = 1;
static uint32_t below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static void guarded(void (*body)(WbbCx *, void *), void *arg)
{
    WbbCx *cx = wbb_cx_new();
    const WbbStatus s = wbb_guard(cx, body, arg);
    if (s != WBB_OK) fail_msg("status %d: %s", (int)s, cx->messages);
    wbb_cx_free(cx);
}
#endif
