/* sim_profile: what the simulator says of each instruction of a kernel, against numbers worked out by hand. */
#include "sim/sim.h"

#include "sim_kernel.h"
#include "unit.h"

#include <stdio.h>

typedef struct {
    const char *body;
    uint32_t grid, threads;
    SimOptions options;
    SimProfile profile;
    uint32_t out[4096];
    char name[64][32]; /* of each instruction */
} Run;

/* Every instruction holds back the next for a clock; results of add take 4 clocks, of mul 6, a barrier takes 20, an
 * iteration of a loop of the assembler's 70. arg: how many iterations of a loop of the text are ahead, if any are. */
static void pace(void *arg, const SimSite *site, SimPace *out)
{
    const char *name = site->name;
    *out = (SimPace){.issue = 1, .again = 2, .together = strstr(name, ".cas.") != NULL,
                     .ahead = site->loop && arg ? *(const double *)arg : 1,
                     .iteration = !strcmp(name, "atom.shared.add.f32") ? 70 : 0,
                     .latency = !strncmp(name, "add", 3)   ? 4
                                : !strncmp(name, "mul", 3) ? 6
                                : !strncmp(name, "bar", 3) ? 20
                                                           : 1};
}

static void body(WbbCx *cx, void *arg)
{
    static const int args[] = {0, 1};
    static uint32_t in[8192];
    Run *r = arg;
    const char *text = sim_kernel_text(cx->arena, r->body);
    const BdLaunch launch = {.entry = "k", .grid = {r->grid, 1, 1}, .block = {r->threads, 1, 1},
                             .cluster = {1, 1, 1}, .n_args = 2, .args = args};
    const SimBuffer buffers[] = {{.bytes = in, .size = sizeof in, .role = BD_IN},
                                 {.bytes = r->out, .size = sizeof r->out, .role = BD_OUT, .writes = BD_ATOMIC,
                                  .initialised = true}};
    SimReport report = {0};
    r->profile.pace = pace;
    static const double latency[SIM_FROM] = {30, 40, 250, 600, 300}; /* shared memory, L1, L2, DRAM, atomic */
    memcpy(r->profile.latency, latency, sizeof latency);
    if (!r->profile.l1_bytes) r->profile.l1_bytes = 1 << 16, r->profile.l2_bytes = 1 << 24;
    r->options.profile = &r->profile;
    sim_run(cx, cx->arena, sim_parse(cx, cx->arena, "k.ptx", text), &launch, buffers, 2, &r->options, &report);
    if (report.n_faults) print_error("%s\n", report.faults[0]);
    assert_int_equal(report.n_faults, 0);
    SimSite *sites = test_malloc(sizeof *sites * r->profile.n_sites); /* the arena ends with the run */
    memcpy(sites, r->profile.sites, sizeof *sites * r->profile.n_sites);
    for (uint32_t k = 0; k < r->profile.n_sites; k++) snprintf(r->name[k], sizeof r->name[k], "%s", sites[k].name);
    SimUse *uses = test_malloc(3 * sizeof *uses);
    memcpy(uses, r->profile.uses, 3 * sizeof *uses);
    r->profile.sites = sites, r->profile.uses = uses;
}

static Run run_of(Run r)
{
    WbbCx *cx = wbb_cx_new();
    if (wbb_guard(cx, body, &r) != WBB_OK) fail_msg("%s", cx->messages);
    wbb_cx_free(cx);
    return r;
}

static Run run(const char *text, uint32_t threads)
{
    return run_of((Run){.body = text, .grid = 1, .threads = threads});
}

static void end(const Run *r)
{
    test_free(r->profile.sites);
    test_free(r->profile.uses);
}

/* Instruction k of the body; three come before it. */
static const SimSite *site(const Run *r, uint32_t k)
{
    assert_true(k + 3 < r->profile.n_sites);
    return &r->profile.sites[k + 3];
}

static void expect_global(const Run *r, uint32_t k, const SimFlow *expected)
{
    const SimFlow *f = &site(r, k)->flow[SIM_GLOBAL];
    assert_int_equal(f->requests, expected->requests);
    assert_int_equal(f->bytes, expected->bytes);
    assert_int_equal(f->sectors, expected->sectors);
    assert_int_equal(f->needed, expected->needed);
    assert_int_equal(f->wavefronts, expected->wavefronts);
    assert_int_equal(f->ideal, expected->ideal);
    assert_int_equal(f->l2, expected->l2);
    assert_int_equal(f->dram, expected->dram);
}

static void test_coalescing(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        SimFlow flow;
    } cases[] = {
        /* 32 lanes of 4 bytes in a row: 128 bytes, one line */
        {"mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.b32 %r2, [%rd4];",
         {.requests = 1, .bytes = 128, .sectors = 4, .needed = 4, .wavefronts = 1, .ideal = 1, .l2 = 4, .dram = 4}},
        /* 16 bytes each: 512 bytes, four lines */
        {"mul.wide.u32 %rd3, %r1, 16;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd4];",
         {.requests = 1, .bytes = 512, .sectors = 16, .needed = 16, .wavefronts = 4, .ideal = 4, .l2 = 16, .dram = 16}},
        /* the first 16 of 32 bytes, of eight places: banks are used twice by eight lanes that are served at one time */
        {"and.b32 %r6, %r1, 7;\nmad.wide.u32 %rd4, %r6, 32, %rd1;\nld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd4];",
         {.requests = 1, .bytes = 512, .sectors = 8, .needed = 4, .wavefronts = 8, .ideal = 1, .l2 = 8, .dram = 8}},
        /* the same 16 bytes for all lanes */
        {"mov.b32 %r6, 0;\nadd.s64 %rd4, %rd1, 0;\nld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd4];",
         {.requests = 1, .bytes = 512, .sectors = 1, .needed = 1, .wavefronts = 4, .ideal = 1, .l2 = 1, .dram = 1}},
        /* 4 bytes, 8 apart: 256 bytes are touched for 128 */
        {"mul.wide.u32 %rd3, %r1, 8;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.b32 %r2, [%rd4];",
         {.requests = 1, .bytes = 128, .sectors = 8, .needed = 4, .wavefronts = 2, .ideal = 1, .l2 = 8, .dram = 8}},
        /* 128 bytes apart: a line for each lane */
        {"mul.wide.u32 %rd3, %r1, 128;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.b32 %r2, [%rd4];",
         {.requests = 1, .bytes = 128, .sectors = 32, .needed = 4, .wavefronts = 32, .ideal = 1, .l2 = 32, .dram = 32}},
        /* in a row from byte 4 on: bytes 4 .. 131 lie in five sectors and two lines */
        {"mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.b32 %r2, [%rd4+4];",
         {.requests = 1, .bytes = 128, .sectors = 5, .needed = 4, .wavefronts = 2, .ideal = 1, .l2 = 5, .dram = 5}},
        /* all lanes the same word */
        {"mov.b64 %rd3, 0;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.b32 %r2, [%rd4+256];",
         {.requests = 1, .bytes = 128, .sectors = 1, .needed = 1, .wavefronts = 1, .ideal = 1, .l2 = 1, .dram = 1}},
        /* the lanes in reverse order */
        {"sub.u32 %r3, 31, %r1;\nmad.wide.u32 %rd4, %r3, 4, %rd1;\nld.global.b32 %r2, [%rd4];",
         {.requests = 1, .bytes = 128, .sectors = 4, .needed = 4, .wavefronts = 1, .ideal = 1, .l2 = 4, .dram = 4}},
        /* a store of 2 bytes each */
        {"mul.wide.u32 %rd3, %r1, 2;\nadd.s64 %rd4, %rd2, %rd3;\nst.global.b16 [%rd4], 7;",
         {.requests = 1, .bytes = 64, .sectors = 2, .needed = 2, .wavefronts = 1, .ideal = 1, .l2 = 2, .dram = 2}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Run r = run(cases[i].text, 32);
        expect_global(&r, 2, &cases[i].flow);
        end(&r);
    }
}

static void test_bank_conflicts(void **state)
{
    (void)state;
    static const struct {
        uint32_t stride, wavefronts, ideal; /* bytes between lanes that load 4 bytes each */
    } cases[] = {{4, 1, 1}, {8, 2, 1}, {16, 4, 1}, {128, 32, 1}, {132, 1, 1}, {0, 1, 1}};
    char text[256];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text, "mul.lo.u32 %%r2, %%r1, %u;\nmov.u32 %%r3, s;\nadd.u32 %%r4, %%r2, %%r3;\n"
                 "ld.shared.b32 %%r5, [%%r4];", cases[i].stride);
        const Run r = run(text, 32);
        const SimFlow *f = &site(&r, 3)->flow[SIM_SHARED];
        assert_int_equal(f->requests, 1);
        assert_int_equal(f->wavefronts, cases[i].wavefronts);
        assert_int_equal(f->ideal, cases[i].ideal);
        assert_int_equal(f->sectors, 0);
        end(&r);
    }
    /* 16 bytes each in a row: four parts of 8 lanes, each a wavefront without a conflict */
    const Run r = run("mul.lo.u32 %r2, %r1, 16;\nmov.u32 %r3, s;\nadd.u32 %r4, %r2, %r3;\n"
                      "st.shared.v4.b32 [%r4], {%r2, %r2, %r2, %r2};", 32);
    assert_int_equal(site(&r, 3)->flow[SIM_SHARED].wavefronts, 4);
    assert_int_equal(site(&r, 3)->flow[SIM_SHARED].ideal, 4);
    end(&r);
}

static void test_executions(void **state)
{
    (void)state;
    /* 40 threads are two warps, of 32 and 8. A loop of three iterations; half of the first warp goes one way. */
    const Run r = run("mov.u32 %r2, 0;\n"              /* 0 */
                      "LOOP: add.u32 %r2, %r2, 1;\n"    /* 1 */
                      "setp.lt.u32 %p1, %r2, 3;\n"      /* 2 */
                      "@%p1 bra LOOP;\n"                /* 3: taken twice, then its guard fails */
                      "setp.lt.u32 %p2, %r1, 16;\n"     /* 4 */
                      "@%p2 bra HALF;\n"                /* 5: splits the first warp; no lane of the second takes it */
                      "add.u32 %r3, %r2, 1;\n"          /* 6 */
                      "HALF: add.u32 %r4, %r2, 1;\n"    /* 7 */
                      "setp.gt.u32 %p3, %r1, 100;\n"    /* 8 */
                      "@%p3 add.u32 %r5, %r2, 1;", 40); /* 9 */
    static const struct {
        uint64_t warps, threads, passed, splits;
    } expected[] = {{2, 40, 0, 0}, {6, 120, 0, 0}, {6, 120, 0, 0}, {4, 80, 2, 0}, {2, 40, 0, 0},
                    {1, 16, 1, 1}, {2, 24, 0, 0}, {2, 40, 0, 0}, {2, 40, 0, 0}, {0, 0, 2, 0}};
    /* Threads 32 .. 39 are the second warp: their numbers are above 16, so all of them go through 6. */
    for (uint32_t k = 0; k < sizeof expected / sizeof *expected; k++) {
        assert_int_equal(site(&r, k)->warps, expected[k].warps);
        assert_int_equal(site(&r, k)->threads, expected[k].threads);
        assert_int_equal(site(&r, k)->passed, expected[k].passed);
        assert_int_equal(site(&r, k)->splits, expected[k].splits);
    }
    assert_string_equal(r.name[6 + 3], "add.u32");
    assert_string_equal(r.name[3 + 3], "bra");
    assert_int_equal(site(&r, 6)->line, site(&r, 5)->line + 1);
    end(&r);
}

/* Two loads of one sector by a block hit L1, by two blocks L2, and DRAM where too much was touched in between. */
static void test_levels(void **state)
{
    (void)state;
    static const char two[] = "ld.global.b32 %r2, [%rd1];\nld.global.b32 %r3, [%rd1+4];\nst.global.b32 [%rd2], %r3;";
    Run r = run_of((Run){.body = two, .grid = 2, .threads = 32});
    expect_global(&r, 0, &(SimFlow){.requests = 2, .bytes = 256, .sectors = 2, .needed = 2, .wavefronts = 2,
        .ideal = 2, .l2 = 2, .dram = 1});
    expect_global(&r, 1, &(SimFlow){.requests = 2, .bytes = 256, .sectors = 2, .needed = 2, .wavefronts = 2,
        .ideal = 2});
    assert_int_equal(r.profile.uses[0].loaded, 1);
    assert_int_equal(r.profile.uses[0].again, 0);
    assert_int_equal(r.profile.uses[1].stored, 1);
    assert_int_equal(r.profile.uses[1].loaded, 0);
    end(&r);
    /* a relaxed load does not see L1 */
    r = run("ld.global.b32 %r2, [%rd1];\nld.relaxed.gpu.global.b32 %r3, [%rd1];", 32);
    expect_global(&r, 1, &(SimFlow){.requests = 1, .bytes = 128, .sectors = 1, .needed = 1, .wavefronts = 1,
        .ideal = 1, .l2 = 1});
    end(&r);
    /* 16 KiB in a row, read twice; with an L2 of 8 KiB all of it comes from DRAM twice */
    static const char stream[] = "mov.u32 %r2, 0;\nAGAIN: mov.u32 %r3, 0;\nmad.wide.u32 %rd3, %r1, 16, %rd1;\n"
                                 "LOOP: ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%rd3];\nadd.s64 %rd3, %rd3, 512;\n"
                                 "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, 32;\n@%p1 bra LOOP;\n"
                                 "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p2, %r2, 2;\n@%p2 bra AGAIN;";
    r = run_of((Run){.body = stream, .grid = 1, .threads = 32, .profile = {.l1_bytes = 1 << 10, .l2_bytes = 8 << 10}});
    assert_int_equal(site(&r, 3)->flow[SIM_GLOBAL].sectors, 1024);
    assert_int_equal(site(&r, 3)->flow[SIM_GLOBAL].l2, 1024);
    assert_int_equal(site(&r, 3)->flow[SIM_GLOBAL].dram, 1024);
    assert_int_equal(r.profile.uses[0].loaded, 512);
    assert_int_equal(r.profile.uses[0].again, 512);
    end(&r);
    /* an L2 of 32 KiB holds it, and an L1 of 32 KiB even more so */
    r = run_of((Run){.body = stream, .grid = 1, .threads = 32, .profile = {.l1_bytes = 1 << 10, .l2_bytes = 32 << 10}});
    assert_int_equal(site(&r, 3)->flow[SIM_GLOBAL].l2, 1024);
    assert_int_equal(site(&r, 3)->flow[SIM_GLOBAL].dram, 512);
    end(&r);
    r = run_of((Run){.body = stream, .grid = 1, .threads = 32, .profile = {.l1_bytes = 32 << 10,
        .l2_bytes = 32 << 10}});
    assert_int_equal(site(&r, 3)->flow[SIM_GLOBAL].l2, 512);
    end(&r);
    /* two blocks that run together come back to 16 KiB each, or both to the same: L2 of 24 KiB is too small for each */
    r = run_of((Run){.body = stream, .grid = 2, .threads = 32, .profile = {.l1_bytes = 1 << 10,
        .l2_bytes = 24 << 10, .together = 2}});
    assert_int_equal(r.profile.uses[0].loaded, 512);
    assert_int_equal(r.profile.uses[0].again, 1024); /* the second round of both */
    end(&r);
    /* two warps go through the same 16 KiB side by side: the second one finds in an L1 of 1 KiB what the first one had,
       though both together, one after the other, come back to 16 KiB */
    static const char beside[] = "and.b32 %r1, %r1, 31;\nmov.u32 %r3, 0;\nmad.wide.u32 %rd3, %r1, 16, %rd1;\n"
                                 "LOOP: ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%rd3];\nadd.s64 %rd3, %rd3, 512;\n"
                                 "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, 32;\n@%p1 bra LOOP;";
    r = run_of((Run){.body = beside, .grid = 1, .threads = 64, .profile = {.l1_bytes = 1 << 10, .l2_bytes = 8 << 10}});
    assert_int_equal(site(&r, 3)->flow[SIM_GLOBAL].sectors, 1024);
    assert_int_equal(site(&r, 3)->flow[SIM_GLOBAL].l2, 512);
    assert_int_equal(r.profile.uses[0].again, 0);
    end(&r);
    /* what all blocks load is in the L1 of each SM once it has had one of them, but not what a few of them share */
    static const char same[] = "ld.global.b32 %r2, [%rd1];";
    static const struct { uint64_t sms; uint32_t grid; uint64_t l2; } kept[] = {{0, 40, 40}, {16, 40, 16}, {2, 40, 8}, {2, 8, 8}};
    for (size_t k = 0; k < WBB_LEN(kept); k++) {
        r = run_of((Run){.body = same, .grid = kept[k].grid, .threads = 32, .profile = {.l1_bytes = 1 << 10,
            .l2_bytes = 8 << 10, .together = WBB_MAX(kept[k].sms, 1), .sms = kept[k].sms}});
        assert_int_equal(site(&r, 0)->flow[SIM_GLOBAL].l2, kept[k].l2);
        end(&r);
    }
}

static void test_chains(void **state)
{
    (void)state;
    /* Issued: ld.param 0, 1, mov 2, add 3, mul 7, add 8 (it needs nothing of the mul), add 13, ret 14; then it ends. */
    Run r = run("add.u32 %r2, %r1, 1;\nmul.lo.u32 %r3, %r2, 5;\nadd.u32 %r4, %r2, 5;\nadd.u32 %r5, %r3, 5;", 32);
    assert_true(r.profile.timed == 1);
    assert_true(r.profile.longest == 15);
    assert_true(site(&r, 0)->stalls == 3);
    assert_true(site(&r, 1)->stalls == 4);
    assert_true(site(&r, 2)->stalls == 0);
    end(&r);
    /* A load from DRAM at 3, with 1 line: ready at 603;
        from L1 at 604, ready at 644. The store waits, ret ends at 646. */
    r = run("ld.global.b32 %r2, [%rd1];\nadd.u32 %r3, %r2, %r2;\nld.global.b32 %r4, [%rd1];\n"
        "st.global.b32 [%rd2], %r4;", 32);
    assert_true(site(&r, 0)->stalls == 603 - 4);
    assert_true(site(&r, 2)->stalls == 644 - 605);
    assert_true(r.profile.longest == 646);
    end(&r);
    /* A load from L1 of what has not come yet, at 4, waits for it until 603, as one from DRAM does: the add stalls. */
    r = run("ld.global.b32 %r2, [%rd1];\nld.global.b32 %r4, [%rd1+4];\nadd.u32 %r3, %r4, %r4;", 32);
    assert_true(site(&r, 1)->stalls == 603 - 5);
    end(&r);
    /* The second warp comes to the barrier at 3, the first 6 clocks later, at 10, since its mul has to be ready. The
     * barrier opens at 10 + 20, ret ends at 31. */
    r = run("setp.lt.u32 %p1, %r1, 32;\n@!%p1 bra LATE;\nmul.lo.u32 %r2, %r1, 5;\nadd.u32 %r3, %r2, 5;\n"
        "LATE: bar.sync 0;", 64);
    /* ld 0 1, mov 2, setp 3, bra 4 (not taken), mul 5, add 11, bar 12, open at 32, ret to 33 */
    assert_true(r.profile.longest == 33);
    /* the second warp: bra 4, ready 5; bar 5, and waits from 6 to 32; the first one from 13 to 32 */
    assert_true(site(&r, 4)->stalls == (32 - 6) + (32 - 13));
    end(&r);
    /* Warps go on from a barrier at one time, though the first of them comes to the next one before the others go on:
     * a block of four has the chain of a block of one. */
    static const char twice[] = "bar.sync 0;\nmul.lo.u32 %r2, %r1, 5;\nadd.u32 %r3, %r2, 5;\nbar.sync 0;\n"
                                "mul.lo.u32 %r2, %r3, 5;\nadd.u32 %r3, %r2, 5;\nbar.sync 0;";
    r = run(twice, 32);
    const double alone = r.profile.longest;
    end(&r);
    r = run(twice, 128);
    assert_true(r.profile.longest == alone);
    end(&r);
    /* A bank conflict of 32 wavefronts delays its result by 31 clocks. */
    r = run("mul.lo.u32 %r2, %r1, 128;\nld.shared.b32 %r5, [%r2];\nadd.u32 %r4, %r5, 1;", 32);
    assert_true(site(&r, 1)->stalls == 30 + 31 - 1);
    end(&r);
}

/* A loop of eight iterations, each of which loads from DRAM and adds up. */
static void test_ahead(void **state)
{
    (void)state;
    static const char loop[] = "mov.u32 %r2, 0;\nmov.u64 %rd3, %rd1;\nmov.u32 %r5, 0;\nOUTER: mov.u32 %r6, 0;\n"
                               "LOOP: ld.global.b32 %r4, [%rd3];\nadd.u32 %r5, %r5, %r4;\nadd.s64 %rd3, %rd3, 128;\n"
                               "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 8;\n@%p1 bra LOOP;\n"
                               "add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p2, %r6, 1;\n@%p2 bra OUTER;";
    static struct { double ahead; int rounds; } cases[] = {{1, 8}, {2, 4}, {2.5, 3}, {4, 2}, {8, 1}, {100, 1}};
    for (size_t i = 0; i < WBB_LEN(cases); i++) {
        const Run r = run_of((Run){.body = loop, .grid = 1, .threads = 32,
                                   .profile = {.arg = &cases[i].ahead, .window = 256}});
        const uint64_t least = (uint64_t)cases[i].rounds * 600;
        assert_in_range((uint64_t)r.profile.longest, least, least + 120);
        assert_int_equal(site(&r, 9)->loop, site(&r, 4)->line); /* of the loop that has no other in it */
        assert_int_equal(site(&r, 12)->loop, 0);
        end(&r);
    }
    /* An iteration that waits for what it has loaded before it goes on is not ahead of it. */
    static double four = 4;
    const Run r = run_of((Run){.body = "LOOP: ld.global.b32 %r4, [%rd1];\nadd.s64 %rd1, %rd1, 128;\n"
                                       "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r4, 8;\n"
                                       "setp.lt.and.u32 %p2, %r2, 8, %p1;\n@%p2 bra LOOP;",
                               .grid = 1, .threads = 32, .profile = {.arg = &four, .window = 256}});
    assert_in_range((uint64_t)r.profile.longest, 8 * 600, 8 * 600 + 200);
    end(&r);
}

static void test_sample(void **state)
{
    (void)state;
    static const char text[] = "mov.u32 %r2, %ctaid.x;\nmad.lo.u32 %r3, %r2, 32, %r1;\n"
        "mad.wide.u32 %rd3, %r3, 4, %rd2;\nst.global.b32 [%rd3], %r3;";
    Run r = run_of((Run){.body = text, .grid = 128, .threads = 32});
    assert_int_equal(r.profile.blocks, 128);
    assert_int_equal(r.profile.grid, 128);
    assert_int_equal(r.profile.uses[1].stored, 512);
    assert_in_range(r.profile.timed, 8, 9);
    end(&r);
    r = run_of((Run){.body = text, .grid = 128, .threads = 32, .options = {.blocks = 4}});
    assert_int_equal(r.profile.blocks, 4);
    assert_int_equal(r.profile.grid, 128);
    assert_int_equal(r.profile.uses[1].stored, 16);
    assert_int_equal(r.profile.timed, 4);
    end(&r);
}

/* A copy from global to shared memory has traffic at both ends, but past L1 no wavefronts at its source, and its wait
 * stalls until it is done: the wait for a group that lets one be under way not for that one. */
static void test_copies(void **state)
{
    (void)state;
    Run r = run("mul.lo.u32 %r2, %r1, 16;\nmad.wide.u32 %rd3, %r1, 16, %rd1;\n"
        "cp.async.cg.shared.global [%r2], [%rd3], 16;\n"
                      "cp.async.commit_group;\ncp.async.wait_group 0;", 32);
    expect_global(&r, 2, &(SimFlow){.requests = 1, .bytes = 512, .sectors = 16, .needed = 16, .l2 = 16, .dram = 16});
    assert_int_equal(site(&r, 2)->flow[SIM_SHARED].wavefronts, 4);
    assert_true(site(&r, 3)->stalls + site(&r, 4)->stalls > 500);
    assert_true(site(&r, 3)->stalls == 0);
    end(&r);
    static const char two[] = "mul.lo.u32 %%r2, %%r1, 16;\nmad.wide.u32 %%rd3, %%r1, 16, %%rd1;\n"
        "cp.async.ca.shared.global [%%r2], [%%rd3], 16;\ncp.async.commit_group;\ncp.async.wait_all;\n"
        "cp.async.ca.shared.global [%%r2+512], [%%rd3+512], 16;\ncp.async.commit_group;\ncp.async.wait_group %d;";
    for (int left = 0; left < 2; left++) {
        char text[400];
        snprintf(text, sizeof text, two, left);
        r = run(text, 32);
        expect_global(&r, 2, &(SimFlow){.requests = 1, .bytes = 512, .sectors = 16, .needed = 16, .wavefronts = 4,
            .ideal = 4, .l2 = 16, .dram = 16});
        assert_true((site(&r, 7)->stalls > 500) == !left);
        end(&r);
    }
}

/* 64 lanes update one address, or 4 bytes side by side: each lane is a turn of two clocks, or each 16 bytes. Those of a
 * cas, all but one of which fail, take one for each request. */
static void test_updates(void **state)
{
    (void)state;
    static const char alone[] = "red.global.add.u32 [%rd2], %r1;",
                      row[] = "mad.wide.u32 %rd3, %r1, 4, %rd2;\nred.global.add.u32 [%rd3], %r1;",
                      cas[] = "atom.global.cas.b32 %r2, [%rd2], 70, %r1;", read[] = "ld.global.b32 %r2, [%rd2];";
    const struct {
        const char *text;
        SimUpdates expected;
    } cases[] = {{alone, {.requests = 2, .pairs = 2, .hottest = 2, .longest = 128}},
                 {row, {.requests = 8, .pairs = 24, .hottest = 4, .longest = 16}},
                 {cas, {.requests = 2, .pairs = 2, .hottest = 2, .longest = 4}},
                 {read, {.requests = 0}}};
    for (size_t i = 0; i < WBB_LEN(cases); i++) {
        const Run r = run(cases[i].text, 64);
        assert_memory_equal(&r.profile.updates, &cases[i].expected, sizeof r.profile.updates);
        end(&r);
    }
}

/* Eight lanes at each of four words of shared memory: the loop of the assembler has an iteration for each. */
static void test_iterations(void **state)
{
    (void)state;
    static const char text[] = "and.b32 %r2, %r1, 3;\nshl.b32 %r2, %r2, 2;\nmov.u32 %r3, s;\nadd.u32 %r4, %r2, %r3;\n"
                               "atom.shared.add.f32 %f1, [%r4], 0f3f800000;";
    const Run r = run(text, 32);
    const SimSite *s = site(&r, 4);
    assert_string_equal(r.name[7], "atom.shared.add.f32");
    assert_int_equal(s->iterations, 7);
    assert_int_equal(s->flow[SIM_SHARED].wavefronts, 16);
    assert_true(r.profile.longest >= 560 && r.profile.longest < 600);
    end(&r);
}

/* Profiling changes neither results nor counts, and counts agree with it. */
static void test_agrees_with_counts(void **state)
{
    (void)state;
    static const char text[] = "mad.wide.u32 %rd3, %r1, 12, %rd1;\nld.global.b32 %r2, [%rd3];\n"
        "ld.global.v2.b32 {%r3, %r4}, [%rd1+8];\n"
                               "red.global.add.u32 [%rd2], %r2;\nst.local.b32 [l], %r1;\nsetp.lt.u32 %p1, %r1, 7;\n"
                                   "@%p1 add.u32 %r2, %r2, 1;";
    SimCounts counts = {0};
    const Run r = run_of((Run){.body = text, .grid = 3, .threads = 70, .options = {.counts = &counts}});
    uint64_t warps = 0, threads = 0, sectors = 0;
    for (uint32_t k = 0; k < r.profile.n_sites; k++) {
        warps += r.profile.sites[k].warps, threads += r.profile.sites[k].threads;
        sectors += r.profile.sites[k].flow[SIM_GLOBAL].sectors;
    }
    assert_int_equal(warps, counts.warp_instructions);
    assert_int_equal(threads, counts.thread_instructions);
    const SimTraffic *t = counts.memory[SIM_GLOBAL];
    assert_int_equal(sectors, t[SIM_LOADED].sectors + t[SIM_STORED].sectors + t[SIM_UPDATED].sectors);
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_coalescing), cmocka_unit_test(test_bank_conflicts), cmocka_unit_test(test_executions),
        cmocka_unit_test(test_levels), cmocka_unit_test(test_chains), cmocka_unit_test(test_ahead), cmocka_unit_test(test_sample),
        cmocka_unit_test(test_copies), cmocka_unit_test(test_updates), cmocka_unit_test(test_iterations),
        cmocka_unit_test(test_agrees_with_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
