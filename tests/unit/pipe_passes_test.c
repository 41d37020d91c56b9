/* pipe_passes: each pass finds the forms that it needs in the order of the table, and has a reason for its place. */
#include "pipe/pipe.h"

#include "unit.h"

static void test_table(void **state)
{
    WbbCx *cx = *state;
    const char *fault = pipe_check_passes(cx->arena);
    if (fault) fail_msg("%s", fault);
}

/* Each pass over the IR, in the order of pipe_passes, finds its forms and leaves others. */
static void test_forms(void **state)
{
    (void)state;
    uint32_t forms = 0;
    static const char *const front[] = {"parse", "normalise", "plan", "emit"};
    for (size_t i = 0; i < WBB_LEN(front); i++) forms = pipe_begin_pass(front[i], forms);
    for (const char *const *pass = pipe_passes; *pass; pass++) {
        const uint32_t next = pipe_begin_pass(*pass, forms);
        assert_int_not_equal(next, forms);
        forms = next;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_table), TEST(test_forms)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
