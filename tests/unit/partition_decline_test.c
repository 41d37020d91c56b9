/* partition_decline: every opcode that is declined gets a message and a reason of the closed list. */
#include "partition/partition.h"

#include "unit.h"

#include <stdio.h>

static void decline(WbbCx *cx, void *arg)
{
    part_decline(cx, arg);
}

/* Every opcode of HLO. Those without a row are elementwise operations or moves, which the emitter takes. */
static void test_every_opcode(void **state)
{
    (void)state;
    static const HloShape shape = {.type = SC_F32, .n_leaves = 1};
    static const HloOpcode taken[] = {HLO_BITCAST, HLO_BROADCAST, HLO_CONSTANT, HLO_CUSTOM_CALL, HLO_GET_TUPLE_ELEMENT, HLO_IOTA,
                                      HLO_PARAMETER, HLO_RESHAPE, HLO_REVERSE, HLO_SLICE, HLO_TRANSPOSE, HLO_TUPLE, HLO_CONCATENATE, HLO_CONVOLUTION,
                                      HLO_DOT, HLO_DYNAMIC_SLICE, HLO_DYNAMIC_UPDATE_SLICE, HLO_GATHER, HLO_MAP, HLO_PAD, HLO_REDUCE,
                                      HLO_REDUCE_WINDOW};
    uint32_t of_their_own = 0;
    for (int op = 0; op < HLO_OPCODE_COUNT; op++) {
        WbbCx *cx = wbb_cx_new();
        HloInstruction i = {
            .opcode = (HloOpcode)op, .name = "i", .shape = &shape, .attributes = "", .loc = {"t.hlo", 3, 4}};
        assert_int_equal(wbb_guard(cx, decline, &i), WBB_DECLINED);
        assert_non_null(strstr(cx->messages, "t.hlo:3:4: declined: "));
        assert_non_null(strstr(cx->messages, hlo_opcode_name(i.opcode)));
        bool known = hlo_is_elementwise(i.opcode);
        for (size_t k = 0; k < WBB_LEN(taken); k++) known = known || taken[k] == i.opcode;
        if (!known && strstr(cx->messages, "no scalar operation")) fail_msg("a vague reason: %s", cx->messages);
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
