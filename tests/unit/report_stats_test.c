/* report_stats: facts of PTX, the least bytes that a fusion must move, many kernels in one run of ptxas. */
#include "report/stats.h"

#include "unit.h"

static const char looped[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(\n.param .u64 a\n)\n.maxntid 128\n{\n.reg .b32 "
    "%r<9>; .reg .pred %p<3>;\n"
    "// a comment; with a semicolon\n"
    "\tld.param.b64 \t%rd1, [a];\n\tmov.b32 \t%r1, -8;\n$L__BB0_1:\n\tld.global.nc.v4.b32 \t{%r2, %r3, %r4, %r5}, "
    "[%rd1];\n"
    "\tadd.s32 \t%r1, %r1, 8;\n\tsetp.lt.u32 \t%p1, %r1, 24;\n\t@%p1 bra \t$L__BB0_1;\n\t@%p2 bra $L__BB0_2;\n"
    "\tst.global.b16 \t[%rd1], %rs1;\n$L__BB0_2:\n\tred.global.add.f32 \t[%rd1], %f1;\n\tld.shared.b32 %r6, "
    "[s];\n\tret;\n}\n";

static void test_ptx_facts(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    WbbArena *a = wbb_arena_new(cx);
    const ReportPtxFacts f = report_ptx_facts(a, looped);
    assert_int_equal(f.instructions, 11);
    assert_int_equal(f.loops, 1);
    assert_true(f.known);
    assert_int_equal(f.loaded, 4 * 16); /* -8, 0, 8, 16 */
    assert_int_equal(f.stored, 2);
    assert_int_equal(f.updated, 4);

    char *unknown = wbb_format(a, "%s", looped);
    memcpy(strstr(unknown, "mov.b32 \t%r1, -8"), "mov.b32 \t%r1,%r8", 16);
    const ReportPtxFacts g = report_ptx_facts(a, unknown);
    assert_false(g.known);
    assert_int_equal(g.loaded, 16);
    assert_int_equal(report_ptx_facts(a, "").instructions, 0);
    wbb_cx_free(cx);
}

typedef struct {
    WbbArena *arena;
    const char *text;
    uint64_t bytes;
    TgUnit *units;
    uint32_t n;
    TgSass sass;
} Job;

static void theory(WbbCx *cx, void *arg)
{
    Job *j = arg;
    const HloFusion f = hlo_fusion(cx, hlo_parse(cx, j->arena, "t.hlo", j->text, strlen(j->text)));
    j->bytes = report_bytes_min(&f);
}

static void check_bytes(const char *text, uint64_t bytes)
{
    WbbCx *cx = wbb_cx_new();
    Job j = {.arena = wbb_arena_new(cx), .text = text};
    if (wbb_guard(cx, theory, &j) != WBB_OK) fail_msg("%s", cx->messages);
    assert_int_equal(j.bytes, bytes);
    wbb_cx_free(cx);
}

static void test_bytes_min(void **state)
{
    (void)state;
    check_bytes("ENTRY e { p = bf16[64] parameter(0) q = f32[] parameter(1) c = f32[64] convert(p) b = f32[64] "
                "broadcast(q), dimensions={} "
                "ROOT y = f32[64] add(c, b) }",
                64 * 2 + 4 + 64 * 4);
    /* only the slice of the operand is read */
    check_bytes("ENTRY e { p = f32[64] parameter(0) ROOT y = f32[16] slice(p), slice={[8:24]} }", 16 * 4 + 16 * 4);
    /* an update in place reads and writes only the update */
    check_bytes("ENTRY e { p = f32[64] parameter(0) u = f32[4] parameter(1) i = s32[] parameter(2) ROOT y = f32[64] "
                "dynamic-update-slice(p, u, i) }",
                4 * 4 + 4 + 4 * 4);
    /* an operand that is passed twice is read once */
    check_bytes("f { a = f32[8] parameter(0) b = f32[8] parameter(1) ROOT c = f32[8] add(a, b) } "
                "ENTRY e { p = f32[8] parameter(0) ROOT y = f32[8] fusion(p, p), kind=kLoop, calls=f }", 2 * 8 * 4);
    /* two elements of 4 bits take a byte; an operand without users costs nothing */
    check_bytes("ENTRY e { p = s4[9] parameter(0) q = f32[9] parameter(1) ROOT y = s4[9] add(p, p) }", 5 + 5);
}

/* Modules with the same names of a global, a function and an entry, one of which is also an opcode; ptxas refuses the
 * third module. */
static const char *module(WbbArena *a, int k)
{
    return wbb_format(
        a,
        ".version 7.8\n.target sm_80\n.address_size 64\n.global .align 4 .b8 table[8] = {1, 2, 3, 4, 5, 6, 7, %d};\n"
        ".global .align 8 .u64 where[1] = {table};\n"
        ".func (.param .b32 r) add(.param .b32 x)\n{\n.reg .b32 %%r<4>; .reg .pred %%p;\nld.param.b32 %%r1, [x]; "
        "setp.eq.s32 %%p, %%r1, 1;\n"
        "@!%%p add.s32 %%r1, %%r1, %d; st.param.b32 [r], %%r1;\nadd.s32 %%r1, %%r1, 1;\nret;\n}\n"
        ".visible .entry k(.param .u64 k_param_0)\n{\n.reg .b64 %%rd<4>; .reg .b32 %%r<4>;\nld.param.u64 %%rd1, "
        "[k_param_0];\n"
        "ld.global.u64 %%rd2, [where]; ld.global.b32 %%r1, [%%rd2];\n{ .param .b32 x; .param .b32 r; st.param.b32 [x], "
        "%%r1; call (r), add, (x); ld.param.b32 %%r2, [r]; }\n"
        "st.global.b32 [%%rd1], %%r2;\n%sret;\n}\n",
        k, k, k == 2 ? "nonsense;\n" : "");
}

static void assemble(WbbCx *cx, void *arg)
{
    Job *j = arg;
    tg_assemble_all(cx, j->arena, tg_find("sm_80"), j->units, j->n);
}

static void read_first(WbbCx *cx, void *arg)
{
    Job *j = arg;
    j->sass = tg_sass(cx, tg_find("sm_80"), &j->units[0].cubin, wbb_format(j->arena, "%sk", j->units[0].prefix));
}

static void test_batch(void **state)
{
    (void)state;
    static const char *const entries[] = {"k"};
    WbbCx *cx = wbb_cx_new();
    WbbArena *a = wbb_arena_new(cx);
    TgUnit units[3] = {0};
    for (int k = 0; k < 3; k++) units[k] = (TgUnit){.ptx = module(a, k), .entries = entries, .n_entries = 1};
    Job j = {.arena = a, .units = units, .n = 2};
    if (!tg_find_ptxas(cx, a)) skip();
    if (wbb_guard(cx, assemble, &j) != WBB_OK) fail_msg("%s", cx->messages);
    assert_null(units[0].refused);
    assert_non_null(units[0].cubin.bytes);
    assert_ptr_equal(units[0].cubin.bytes, units[1].cubin.bytes); /* assembled together */
    assert_string_not_equal(units[0].prefix, units[1].prefix);
    assert_int_equal(wbb_guard(cx, read_first, &j), WBB_OK);
    assert_in_range(j.sass.sass, 4, 40);
    uint32_t sum = 0;
    for (int k = 0; k < TG_CLASSES; k++) sum += j.sass.classes[k];
    assert_int_equal(sum, j.sass.sass);

    j.n = 3;
    assert_int_equal(wbb_guard(cx, assemble, &j), WBB_OK);
    assert_non_null(units[2].refused);
    assert_null(units[2].cubin.bytes);
    assert_non_null(units[0].cubin.bytes);
    assert_null(units[1].refused);
    assert_int_equal(wbb_guard(cx, read_first, &j), WBB_OK);
    wbb_cx_free(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ptx_facts), cmocka_unit_test(test_bytes_min), cmocka_unit_test(test_batch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
