/* sim_counts: the simulator's counts against numbers worked out by hand, and the shuffled order of warps. */
#include "sim/sim.h"

#include "sim_kernel.h"
#include "unit.h"

#include <stdio.h>

typedef struct {
    const char *body;
    uint32_t threads;
    SimOptions options;
    SimCounts counts;
    uint32_t out[1024];
} Run;

static void body(WbbCx *cx, void *arg)
{
    static const int args[] = {0, 1};
    Run *r = arg;
    static uint32_t in[4096];
    const char *text = sim_kernel_text(cx->arena, r->body);
    const BdLaunch launch = {
        .entry = "k", .grid = {1, 1, 1}, .block = {r->threads, 1, 1}, .cluster = {1, 1, 1}, .n_args = 2, .args = args};
    const SimBuffer buffers[] = {{.bytes = in, .size = sizeof in, .role = BD_IN}, {.bytes = r->out, .size = sizeof r->out, .role = BD_OUT, .writes = BD_ATOMIC, .initialised = true}};
    SimReport report = {0};
    r->options.counts = &r->counts;
    sim_run(cx, cx->arena, sim_parse(cx, cx->arena, "k.ptx", text), &launch, buffers, 2, &r->options, &report);
    if (report.n_faults) print_error("%s\n", report.faults[0]);
    assert_int_equal(report.n_faults, 0);
}

static Run run(const char *text, uint32_t threads, SimOptions options)
{
    Run r = {.body = text, .threads = threads, .options = options};
    WbbCx *cx = wbb_cx_new();
    if (wbb_guard(cx, body, &r) != WBB_OK) fail_msg("%s", cx->messages);
    wbb_cx_free(cx);
    return r;
}

static void test_classes(void **state)
{
    (void)state;
    const Run r = run(
        "add.u32 %r2, %r1, 1;\nmov.b32 %f1, %r2;\nadd.f32 %f2, %f1, %f1;\nex2.approx.f32 %f3, %f2;\ncvt.f64.f32 %rd3, "
        "%f3;\nfma.rn.f64 %rd3, %rd3, %rd3, %rd3;\n"
        "shfl.sync.bfly.b32 %r3, %r2, 1, 31, -1;\nsetp.lt.u32 %p1, %r1, 16;\n@%p1 add.u32 %r2, %r2, 1;\nbar.sync 0;",
        40, (SimOptions){0});
    const SimCounts *c = &r.counts;
    assert_int_equal(c->threads, 40);
    assert_int_equal(c->warps, 2);
    assert_int_equal(c->warps_by[SIM_CLASS_INTEGER], 2 + 2 + 1); /* the last one only in the first warp */
    assert_int_equal(c->threads_by[SIM_CLASS_INTEGER], 40 + 40 + 16);
    assert_int_equal(c->threads_by[SIM_CLASS_F32], 40);
    assert_int_equal(c->threads_by[SIM_CLASS_F64], 40);
    assert_int_equal(c->threads_by[SIM_CLASS_SPECIAL], 40);
    assert_int_equal(c->threads_by[SIM_CLASS_CONVERT], 40);
    assert_int_equal(c->threads_by[SIM_CLASS_LANES], 40);
    assert_int_equal(c->warps_by[SIM_CLASS_BARRIER], 2);
    assert_int_equal(c->warps_by[SIM_CLASS_CONTROL], 2);
    uint64_t all = 0;
    for (int k = 0; k < SIM_CLASSES; k++) all += c->threads_by[k];
    assert_int_equal(all, c->thread_instructions);
}

static void test_sectors(void **state)
{
    (void)state;
    Run r = run(
        "mul.wide.u32 %rd3, %r1, 16;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd4];", 32,
        (SimOptions){0});
    const SimTraffic *t = &r.counts.memory[SIM_GLOBAL][SIM_LOADED];
    assert_int_equal(t->requests, 1);
    assert_int_equal(t->bytes, 512);
    assert_int_equal(t->sectors, 16);
    assert_int_equal(t->widths[4], 1);
    r = run("mul.wide.u32 %rd3, %r1, 128;\nadd.s64 %rd4, %rd1, %rd3;\nld.b32 %r2, [%rd4];", 32,
            (SimOptions){0}); /* a generic load; each lane reads a sector of its own */
    assert_int_equal(t->sectors, 32);
    assert_int_equal(t->bytes, 128);
    r = run("ld.global.b32 %r2, [%rd1];", 32, (SimOptions){0}); /* all lanes read the same word */
    assert_int_equal(t->sectors, 1);
    r = run("st.local.b32 [l], %r1;\nred.global.add.u32 [%rd2], 1;", 32, (SimOptions){0});
    assert_int_equal(r.counts.memory[SIM_LOCAL][SIM_STORED].sectors, 4); /* 32 adjacent words */
    assert_int_equal(r.counts.memory[SIM_GLOBAL][SIM_UPDATED].sectors, 1);
    assert_int_equal(r.counts.memory[SIM_GLOBAL][SIM_UPDATED].requests, 1);
    assert_int_equal(r.out[0], 32);
}

static void test_banks(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t wavefronts, conflicts;
        SimAccess kind;
    } cases[] = {
        {"shl.b32 %r2, %r1, 2;\nmov.u32 %r3, s;\nadd.u32 %r2, %r2, %r3;\nst.shared.b32 [%r2], %r1;", 1, 0, SIM_STORED},
        {"shl.b32 %r2, %r1, 3;\nmov.u32 %r3, s;\nadd.u32 %r2, %r2, %r3;\nst.shared.b32 [%r2], %r1;", 2, 1, SIM_STORED},
        {"shl.b32 %r2, %r1, 7;\nmov.u32 %r3, s;\nadd.u32 %r2, %r2, %r3;\nst.shared.b32 [%r2], %r1;", 32, 31, SIM_STORED}, /* one bank */
        {"mul.lo.u32 %r2, %r1, 132;\nmov.u32 %r3, s;\nadd.u32 %r2, %r2, %r3;\nst.shared.b32 [%r2], %r1;", 1, 0, SIM_STORED}, /* padded */
        {"shl.b32 %r2, %r1, 4;\nmov.u32 %r3, s;\nadd.u32 %r2, %r2, %r3;\nst.shared.v4.b32 [%r2], {%r1, %r1, %r1, %r1};", 4, 0, SIM_STORED},
        /* a matrix of 8 rows is one access of 8 lanes: adjacent rows, and rows that all begin in bank 0 */
        {"shl.b32 %r2, %r1, 4;\nmov.u32 %r3, s;\nadd.u32 %r2, %r2, %r3;\nldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r3, %r4, %r5, %r6}, [%r2];", 4, 0, SIM_LOADED},
        {"shl.b32 %r2, %r1, 7;\nmov.u32 %r3, s;\nadd.u32 %r2, %r2, %r3;\nldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r3, %r4, %r5, %r6}, [%r2];", 32, 28, SIM_LOADED},
        {"mul.lo.u32 %r2, %r1, 144;\nmov.u32 %r3, s;\nadd.u32 %r2, %r2, %r3;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r2];", 1, 0, SIM_LOADED}, /* padded */
        {"shl.b32 %r2, %r1, 7;\nmov.u32 %r3, s;\nadd.u32 %r2, %r2, %r3;\nstmatrix.sync.aligned.m8n8.x2.shared.b16 [%r2], {%r1, %r1};", 16, 14, SIM_STORED},
        /* atomic operations: 8 lanes at each of four words, of different banks; and each lane at its own */
        {"and.b32 %r2, %r1, 3;\nshl.b32 %r2, %r2, 2;\nmov.u32 %r3, s;\nadd.u32 %r2, %r2, %r3;\nred.shared.add.u32 [%r2], 1;", 8, 7, SIM_UPDATED},
        {"shl.b32 %r2, %r1, 2;\nmov.u32 %r3, s;\nadd.u32 %r2, %r2, %r3;\nred.shared.add.u32 [%r2], 1;", 1, 0, SIM_UPDATED},
        {"shl.b32 %r2, %r1, 3;\nmov.u32 %r3, s;\nadd.u32 %r2, %r2, %r3;\nred.shared.add.u32 [%r2], 1;", 2, 1, SIM_UPDATED},
    };
    for (size_t i = 0; i < WBB_LEN(cases); i++) {
        const Run r = run(cases[i].text, 32, (SimOptions){0});
        assert_int_equal(r.counts.memory[SIM_SHARED][cases[i].kind].wavefronts, cases[i].wavefronts);
        assert_int_equal(r.counts.memory[SIM_SHARED][cases[i].kind].conflicts, cases[i].conflicts);
    }
}

static void test_divergence(void **state)
{
    (void)state;
    const Run r = run("setp.lt.u32 %p1, %r1, 40;\n@%p1 bra A;\nadd.u32 %r2, %r1, 1;\nA:\nsetp.lt.u32 %p1, %r1, 8;", 64,
                      (SimOptions){0});
    assert_int_equal(r.counts.branches, 2);
    assert_int_equal(r.counts.divergent, 1); /* the second warp */
}

/* The first lane of each warp increments a counter, which gives the order of the warps. */
static void test_order(void **state)
{
    (void)state;
    static const char text[] = "and.b32 %r2, %r1, 31;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 exit;\natom.global.add.u32 %r3, "
                               "[%rd2], 1;\nshr.u32 %r4, %r1, 5;\nadd.u32 %r4, %r4, 1;\n"
                               "mul.wide.u32 %rd3, %r4, 4;\nadd.s64 %rd4, %rd2, %rd3;\nst.global.b32 [%rd4], %r3;";
    const Run plain = run(text, 1024, (SimOptions){0});
    int other = 0;
    for (uint32_t i = 0; i < 32; i++) assert_int_equal(plain.out[i + 1], i);
    for (uint64_t seed = 1; seed < 5; seed++) {
        const Run r = run(text, 1024, (SimOptions){.order = SIM_SHUFFLED, .order_seed = seed});
        uint32_t seen = 0;
        for (int i = 0; i < 32; i++) seen |= 1u << r.out[i + 1];
        assert_int_equal(seen, UINT32_MAX); /* every warp ran once */
        other += memcmp(r.out, plain.out, sizeof r.out) != 0;
    }
    assert_true(other >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_classes), cmocka_unit_test(test_sectors), cmocka_unit_test(test_banks), cmocka_unit_test(test_divergence),
                                       cmocka_unit_test(test_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
