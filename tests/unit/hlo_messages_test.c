/* hlo_messages: common mistakes get a message of one line, at their place, with the word that was probably meant. A
 * truncated text is refused at a place or is a shorter module, and is never read beyond its end. */
#include "hlo_texts.h"

#include <stdlib.h>

static void accept(WbbCx *cx, const char *const *texts, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        Job j = job(cx, texts[k]);
        if (wbb_guard(cx, parse, &j) != WBB_OK) fail_msg("%s in: %s", cx->messages, texts[k]);
    }
}

#define ADDER "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"

static void test_meant(void **state)
{
    static const Bad bad[] = {
        {P8 "r = f32[8] mutliply(p, p)", "2:12: error: unknown operation 'mutliply', did you mean 'multiply'?"},
        {P8 "r = f32[8] Negate(p)", "2:12: error: unknown operation 'Negate', did you mean 'negate'?"},
        {P8 "r = f32[8] all_reduce(p)", "2:12: error: unknown operation 'all_reduce', did you mean 'all-reduce'?"},
        {P8 "r = f32[8] exp(p)", "2:12: error: unknown operation 'exp', did you mean 'exponential'?"},
        {P8 "r = f32[8] mul(p, p)", "2:12: error: unknown operation 'mul', did you mean 'multiply'?"},
        {P8 "r = f32[8] parameter-start(p)", "2:12: error: unknown operation 'parameter-start'"},
        {P8 "r = i32[8] convert(p)", "2:5: error: unknown element type 'i32', did you mean 's32'?"},
        {P8 "r = float32[8] negate(p)", "2:5: error: unknown element type 'float32', did you mean 'f32'?"},
        {P8 "r = bool[8] compare(p, p), direction=LT", "2:5: error: unknown element type 'bool', did you mean 'pred'?"},
        {P8 "r = f8e4m3fm[8] convert(p)", "2:5: error: unknown element type 'f8e4m3fm', did you mean 'f8e4m3fn'?"},
        {P8 "param = f32[8] negate(p)\nr = f32[8] add(p, parma)",
         "3:19: error: add: operand 1: no instruction is named 'parma' in this computation, did you mean 'param'?"},
        {ADDER "ENTRY e {\n z = f32[] constant(0)\n r = f32[] reduce(z, z), dimensions={}, to_apply=adds\n}",
         "4:50: error: reduce: no computation is named 'adds', did you mean 'add'?"},
        {P8 "z = f32[] constant(0)\nr = f32[] reduce(p, z), dimension={0}, to_apply=x",
         "3:25: error: unknown attribute 'dimension' of reduce, did you mean 'dimensions'?"},
        {P8 "z = s32[] constant(0)\nr = f32[4] dynamic-slice(p, z)",
         "3:12: error: dynamic-slice: the attribute dynamic_slice_sizes= is missing"},
        {"module @jit_f {\n func.func public @main() {}\n}",
         "1:1: error: this is MLIR, HLO text expected: convert it first (as_text(dialect='hlo') of JAX)"},
        {"p = f32[?,4] parameter(0)", "1:9: error: a dimension without a bound, '?': sizes, or bounds as in <=8, are needed"},
    };
    refuse(*state, bad, WBB_LEN(bad));
}

static void test_order(void **state)
{
    static const Bad bad[] = {
        {P8 "r = f32[8] negate(p), control-predecessors={q}",
         "2:45: error: negate: control-predecessors: no instruction is named 'q' in this computation"},
        {P8 "a = f32[8] negate(p), control-predecessors={b}\nb = f32[8] negate(a)",
         "3:12: error: negate: a cycle: 'b' needs 'a', which needs it in turn"},
    };
    refuse(*state, bad, WBB_LEN(bad));
    Job j = job(*state, P8 "a = f32[8] negate(p), control-predecessors={%b, p}\nb = f32[8] abs(p)\nr = add(a, b)");
    wbb_cx_clear(*state);
    assert_int_equal(wbb_guard(*state, parse, &j), WBB_OK);
    const HloComputation *e = j.module->entry;
    assert_string_equal(e->instructions[1]->name, "b"); /* a control predecessor comes first */
    assert_string_equal(e->instructions[2]->name, "a");
    assert_int_equal(e->instructions[2]->n_predecessors, 2);
    assert_ptr_equal(e->instructions[2]->predecessors[0], e->instructions[1]);
    assert_string_equal(e->instructions[2]->attributes, "");
}

static void test_started(void **state)
{
    static const Bad bad[] = {
        {P8 "s = ((f32[8]), f32[7]) negate-start(p)", "2:24: error: negate-start: the result has shape f32[7], f32[8] expected"},
        {P8 "s = ((f32[8]), f32[8]) add-start(p)", "2:24: error: add-start: 1 operands found, 2 expected"},
        {P8 "s = ((f32[8]), f32[4]) slice-start(p)", "2:24: error: slice-start: the attribute slice= is missing"},
        {P8 "s = ((f32[8]), f32[4]) slice-start(p), slice={[6:10]}",
         "2:24: error: slice-start: dimension 0 is sliced [6:10:1], but has size 8"},
        {P8 "s = ((f32[8]), f32[4]) reduce-scatter-start(p), dimensions={0}",
         "2:24: error: reduce-scatter-start: 0 computations are named, one expected"},
        {P8 "s = ((f32[8]), f32[8]) custom-call-start(p)",
         "2:24: error: custom-call-start: the attribute custom_call_target= is missing"},
        {P8 "s = ((f32[8]), f32[8]) negate-start(p)\nd = f32[8] abs-done(s)",
         "3:12: error: abs-done: operand 0 is 's', which is negate-start"},
        {P8 "s = ((f32[8]), pred[8]) compare-start(p, p), direction=LT",
         "2:25: error: compare-start: 2 operands found, but the shape begins with (f32[8])"},
    };
    refuse(*state, bad, WBB_LEN(bad));
    Job j = job(*state, P8 "s = ((f32[8], f32[8]), pred[8], u32[]) compare-start(p, p), direction=GE, "
                           "type=TOTALORDER\nd = compare-done(s)");
    assert_int_equal(wbb_guard(*state, parse, &j), WBB_OK);
    assert_int_equal(hlo_started_opcode(j.module->entry->instructions[1]), HLO_COMPARE);
    WbbBuf out = wbb_buf(j.arena);
    hlo_print_instruction(&out, j.module->entry->instructions[1]);
    assert_string_equal(out.text,
                        "s = ((f32[8], f32[8]), pred[8], u32[]) compare-start(p, p), direction=GE, type=TOTALORDER");
}

static void test_groups(void **state)
{
    static const Bad bad[] = {
        {P8 "r = f32[16] all-gather(p), dimensions={0}, replica_groups={{0,1,2}}",
         "2:13: error: all-gather: dimension 0 of f32[16] is not that of f32[8] times 3 devices"},
        {P8 "r = f32[16] all-gather(p), dimensions={0}, replica_groups=[2,4]<=[4,2]T(1,0)",
         "2:13: error: all-gather: dimension 0 of f32[16] is not that of f32[8] times 4 devices"},
        {P8 "r = f32[16] all-gather(p), dimensions={0}, replica_groups=mesh['x'=2,'y'=4] {'x','y'}",
         "2:13: error: all-gather: dimension 0 of f32[16] is not that of f32[8] times 8 devices"},
        {P8 "r = f32[16] all-gather(p), dimensions={0}, replica_groups=mesh['x'=2] {'y'}",
         "2:13: error: all-gather: replica_groups names axis 'y', which the mesh does not have"},
        {P8 "r = f32[16] all-gather(p), dimensions={0}, replica_groups={{0,1},{2}}",
         "2:13: error: all-gather: replica_groups={{0,1},{2}}: groups of one size expected"},
        {P8 "r = f32[16] all-gather(p), dimensions={0}, replica_groups={{0,1},{2,0}}",
         "2:13: error: all-gather: replica_groups names device 0 twice"},
        {P8 "r = f32[16] all-gather(p), dimensions={0}, replica_groups=[3,2]<=[4]",
         "2:13: error: all-gather: replica_groups=[3,2]<=[4]: 3 groups of 2 are not as many devices as on the right"},
        {P8 "r = f32[8] all-to-all(p), dimensions={0}, replica_groups={{0,1,2}}",
         "2:12: error: all-to-all: dimension 0 of f32[8] cannot be split over 3 devices"},
        {P8 "r = f32[8] collective-permute(p), source_target_pairs={{0,1},{0,2}}",
         "2:12: error: collective-permute: source_target_pairs names source 0 twice"},
        {P8 "r = f32[8] collective-permute(p), source_target_pairs={{0,1,2}}",
         "2:12: error: collective-permute: source_target_pairs={{0,1,2}}, {{0,1},{1,0}} expected"},
    };
    static const char *const good[] = {
        P8 "r = f32[16] all-gather(p), dimensions={0}, replica_groups=[4,2]<=[2,4]T(1,0)",
        P8 "r = f32[16] all-gather(p), dimensions={0}, replica_groups=mesh['x'=2,'y'=4] {'y':(2)2}",
        P8 "r = f32[32] all-gather(p), dimensions={0}, replica_groups={{0,1}}, channel_id=1", /* two replicas of two partitions each */
        P8 "r = f32[8] all-reduce(p), replica_groups={{0,1},{2}}, to_apply={ a = f32[] parameter(0) b = f32[] parameter(1) c = add(a, b) }",
    };
    refuse(*state, bad, WBB_LEN(bad));
    accept(*state, good, WBB_LEN(good));
}

static void test_outside(void **state)
{
    static const Bad bad[] = {
        {"HloModule m, entry_computation_layout={(f32[9]{0})->f32[8]{0}}\n" P8,
         "1:40: error: entry_computation_layout gives parameter 0 as f32[9], 'p' has shape f32[8]"},
        {"HloModule m, entry_computation_layout={(f32[8]{0})->f32[9]{0}}\n" P8,
         "1:40: error: entry_computation_layout gives the result as f32[9], 'p' has shape f32[8]"},
        {"HloModule m, entry_computation_layout={()->f32[8]{0}}\n" P8,
         "1:40: error: entry_computation_layout names 0 parameters, 'entry' has 1"},
        {"HloModule m, input_output_alias={ {1}: (0, {}) }\n" P8, "1:35: error: an alias names element 1 of the output, which is f32[8]"},
        {"HloModule m, input_output_alias={ {}: (1, {}) }\n" P8, "1:35: error: an alias names operand 1 of 1"},
        {P8 "r = s32[8] custom-call(p), custom_call_target=\"x\", output_to_operand_aliasing={{}: (0, {})}",
         "2:80: error: an alias of the output, s32[8], with operand 0, which is f32[8]"},
    };
    static const char *const good[] = {
        "HloModule m, input_output_alias={ {0}: (0, {}, may-alias), {1}: 0 }, entry_computation_layout={(f32[8]{0})->(f32[8]{0}, f32[8])}\n"
        P8 "r = tuple(p, p)",
        "HloModule m, input_output_alias={}, entry_computation_layout={()->s32[]}\nr = s32[] constant(1)",
    };
    refuse(*state, bad, WBB_LEN(bad));
    accept(*state, good, WBB_LEN(good));
}

/* Texts of other tools: without blanks, and with implicit broadcasts. */
static void test_terse(void **state)
{
    static const char *const good[] = {
        "ENTRY e{p=f32[8]parameter(0),metadata={op_name=\"a\"}q=f32[8]negate(p),backend_config=\"x\"ROOT r=f32[8]add(p,q)}",
        "s = f32[] parameter(0)\nv = f32[2,3] parameter(1)\nc = compare(s, v), direction=LT\nd = select(c, s, v)\nx = complex(s, v)",
    };
    accept(*state, good, WBB_LEN(good));
}

static void test_cut(void **state)
{
    static const char *const texts[] = {
        "HloModule m, entry_computation_layout={(f32[8]{0})->(f32[8]{0}, s32[])}, input_output_alias={ {0}: (0, {}, may-alias) }\n\n"
        "FileNames\n1 \"a.py\"\n\nStackFrames\n1 {file_location_id=1}\n\n" ADDER
        "ENTRY %main (p: f32[8]) -> (f32[8], s32[]) {\n  %p = f32[8]{0:T(8)S(1)} parameter(0), sharding={devices=[2]<=[2]T(0)}\n"
        "  /* a */ %g = f32[8] all-reduce(%p), replica_groups=mesh['x'=2] {'x'}, to_apply=add, metadata={op_name=\"\\\"}\"}\n"
        "  ROOT %t = (f32[8], s32[]) tuple(%g, s32[] constant(3)), control-predecessors={%g} // end\n}\n",
        "c = c64[2,2]{1,0} constant({ {(1, -2.5e3), (nan, inf)}, { (0x1p3, -0), (0, 0) } })\nb = bf16[2] constant({-nan(0x7f), 1})\n"
        "s = c64[1,2] slice(c), slice={[0:2:2], [0:2]}\nu = u64[] constant(0xffffffffffffffff)\nr = tuple(s, b, u)\n",
        "f {\n  x = bf16[4,<=8] parameter(0)\n  z = bf16[] constant(-inf)\n"
        "  w = bf16[2,8] reduce-window(x, z), window={size=2x3 stride=2x1 pad=0_0x1_1 rhs_dilate=1x1}, to_apply={ a = bf16[] parameter(0)\n"
        "    b = bf16[] parameter(1) m = maximum(a, b) }\n  n = ((bf16[2,8]), bf16[2,8], u32[]) negate-start(w)\n  d = negate-done(n)\n"
        "  ROOT k = bf16[2,8] custom-call(d), custom_call_target=\"Sharding\", literal=s32[2] {1, 2}, backend_config={\"k\": [1, \"}\"]}\n}",
    };
    WbbCx *cx = *state;
    for (size_t k = 0; k < WBB_LEN(texts); k++) {
        const size_t n = strlen(texts[k]);
        for (size_t cut = 0; cut <= n; cut++) {
            char *copy = malloc(cut ? cut
                                    : 1); /* of the exact size, so that a sanitizer detects reads beyond the end */
            memcpy(copy, texts[k], cut);
            Job j = {.arena = wbb_arena_new(cx), .text = copy, .n = cut};
            wbb_cx_clear(cx);
            const WbbStatus status = wbb_guard(cx, parse, &j);
            int line = 0, column = 0;
            if (status == WBB_FAILED) assert_int_equal(sscanf(cx->messages, "t.hlo:%d:%d: error: ", &line, &column), 2);
            else assert_int_equal(status, WBB_OK);
            if (cut == n && status != WBB_OK) fail_msg("%s", cx->messages);
            wbb_arena_free(j.arena);
            free(copy);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_meant),
        TEST(test_order),
        TEST(test_started),
        TEST(test_groups),
        TEST(test_outside),
        TEST(test_terse),
        TEST(test_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
