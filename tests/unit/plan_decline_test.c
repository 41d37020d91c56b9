/* plan_decline: every opcode that is declined gets a message and a reason of the closed list. */
#include "plan/plan.h"

#include "unit.h"

#include <stdio.h>

static void decline(WbbCx *cx, void *arg)
{
    plan_decline(cx, arg);
}

/* Does the emitter take it, by its kind? */
static bool is_taken(HloOpcode op)
{
    switch (hlo_kind(op)) {
    case HLO_IS_ELEMENT: case HLO_IS_MOVE: case HLO_IS_CHOOSE: case HLO_IS_FOLD: case HLO_IS_LEAF: case HLO_IS_GROUP:
        return true;
    default: return op == HLO_MAP || op == HLO_CUSTOM_CALL; /* calls have messages of their own */
    }
}

/* Every opcode of HLO. Those without a row are taken. */
static void test_every_opcode(void **state)
{
    (void)state;
    static const HloShape shape = {.type = SC_F32, .n_leaves = 1};
    uint32_t of_their_own = 0;
    for (int op = 0; op < HLO_OPCODE_COUNT; op++) {
        WbbCx *cx = wbb_cx_new();
        HloInstruction i = {
            .opcode = (HloOpcode)op, .name = "i", .shape = &shape, .attributes = "", .loc = {"t.hlo", 3, 4}};
        assert_int_equal(wbb_guard(cx, decline, &i), WBB_DECLINED);
        assert_non_null(strstr(cx->messages, "t.hlo:3:4: declined: "));
        assert_non_null(strstr(cx->messages, hlo_opcode_name(i.opcode)));
        const bool vague = strstr(cx->messages, "no scalar operation");
        if (vague && !is_taken(i.opcode)) fail_msg("a vague reason: %s", cx->messages);
        of_their_own += cx->why != WHY_OPERATION;
        wbb_cx_free(cx);
    }
    assert_true(of_their_own > 41);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_opcode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
