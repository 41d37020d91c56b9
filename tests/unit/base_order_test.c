/* base_order: who writes each byte before whom: every fault of a few steps over four values, by its text. */
#include "base/order.h"

#include "unit.h"

/* p lies in memory 0; s in memory 1, its two halves are low and high; y in memory 2. */
enum { P, S, LOW, HIGH, Y };
enum { MEMORIES = 3, VALUES = 5 };
static const WbbBytes right[VALUES] = {
    {.name = "p", .memory = 0, .bytes = 8, .given = true, .fixed = true},
    {.name = "s", .memory = 1, .bytes = 8},
    {.name = "low", .memory = 1, .bytes = 4},
    {.name = "high", .memory = 1, .offset = 4, .bytes = 4},
    {.name = "y", .memory = 2, .bytes = 8, .wanted = true, .used = true},
};
#define STEP(...) {(const WbbTouch[]){__VA_ARGS__}, sizeof((const WbbTouch[]){__VA_ARGS__}) / sizeof(WbbTouch)}
#define READ(v) {WBB_READS, v, 0}
#define MAKE(v) {WBB_MAKES, v, 0}

static void expect(WbbCx *cx, const WbbBytes *values, const WbbTouches *steps, uint32_t n, const char *fault,
                   uint32_t at)
{
    const WbbOrder o = {.values = values, .steps = steps, .n_values = VALUES, .n_memories = MEMORIES, .n_steps = n};
    uint32_t step = 0;
    const char *found = wbb_order_fault(cx->arena, &o, &step);
    if (!fault) {
        if (found) fail_msg("step %u: %s", step, found);
        return;
    }
    assert_non_null(found);
    assert_string_equal(found, fault);
    assert_int_equal(step, at);
}
#define EXPECT(values, fault, at, ...)                                                                                 \
    expect(cx, values, (const WbbTouches[]){__VA_ARGS__},                                                              \
           sizeof((const WbbTouches[]){__VA_ARGS__}) / sizeof(WbbTouches), fault, at)

static void test_right(void **state)
{
    WbbCx *cx = *state;
    EXPECT(right, NULL, 0, STEP(READ(P), MAKE(S)), STEP(READ(S), READ(P), MAKE(Y)));
    EXPECT(right, NULL, 0, STEP(MAKE(LOW)), STEP(MAKE(HIGH)), STEP(READ(LOW), READ(HIGH), MAKE(Y)));
    EXPECT(right, NULL, 0, STEP(MAKE(S)), STEP(READ(S), {WBB_MAKES, S, 1}), STEP(READ(S), MAKE(Y))); /* in place */
    EXPECT(right, NULL, 0, STEP(MAKE(Y)), STEP({WBB_SPOILS, S, 0}));
}

static void test_faults(void **state)
{
    WbbCx *cx = *state;
    EXPECT(right, "it reads s, which no step before it makes", 0, STEP(READ(S), MAKE(Y)));
    EXPECT(right, "it reads s, which step 1 overwrote", 2, STEP(MAKE(S)), STEP(MAKE(LOW)), STEP(READ(S), MAKE(Y)));
    EXPECT(right, "it reads low, which step 1 overwrote", 2, STEP(MAKE(LOW)), STEP({WBB_SPOILS, S, 0}),
           STEP(READ(LOW), MAKE(Y)));
    EXPECT(right, "it makes high over s, which it reads", 1, STEP(MAKE(S)), STEP(READ(S), MAKE(HIGH)));
    EXPECT(right, "it makes low and s in one place", 0, STEP(MAKE(LOW), MAKE(S)));
    EXPECT(right, "high is said to have the memory of s", 1, STEP(MAKE(S)), STEP(READ(S), {WBB_MAKES, HIGH, 1}));
    EXPECT(right, "it reads y, which no step before it makes", 1, STEP(MAKE(S)));
    EXPECT(right, "it makes y over y, which no step has read", 1, STEP(MAKE(Y)), STEP(MAKE(Y)));
    WbbBytes values[VALUES];
    memcpy(values, right, sizeof values);
    values[Y].memory = 0; /* in the memory of p, which is fixed; or is not, and is read too late, or not */
    EXPECT(values, "it makes y over p, which nothing may overwrite", 0, STEP(READ(P), {WBB_MAKES, Y, 1}));
    values[P].fixed = false;
    EXPECT(values, "it makes y over p, which it reads", 0, STEP(READ(P), MAKE(Y)));
    EXPECT(values, "it reads p, which step 0 overwrote", 1, STEP(READ(P), {WBB_MAKES, Y, 1}), STEP(READ(P), MAKE(S)));
    EXPECT(values, NULL, 0, STEP(READ(P), MAKE(S)), STEP(READ(P), {WBB_MAKES, Y, 1}));
    EXPECT(values, NULL, 0, STEP(READ(P), {WBB_KEEPS, Y, 0}));
    values[S].used = true;
    EXPECT(values, "no step has read s", 2, STEP(MAKE(S)), STEP(MAKE(Y)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_right), TEST(test_faults)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
