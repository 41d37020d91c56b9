/* price: occupancy, forms and the time of a launch, against numbers worked out by hand. */
#include "price/price.h"

#include "unit.h"

#include <math.h>

enum { SMS = 132, CLOCK_MHZ = 1980 }; /* of sm_90's file */

static BdLaunch launch_of(uint32_t grid, uint32_t block, int64_t shared)
{
    return (BdLaunch){.grid = {grid, 1, 1}, .block = {block, 1, 1}, .cluster = {1, 1, 1}, .shared = shared};
}

static void test_occupancy(void **state)
{
    (void)state;
    static const struct {
        uint32_t threads, regs;
        int64_t shared;
        uint32_t blocks;
        const char *limit;
    } cases[] = {
        {128, 40, 0, 12, "registers"},        /* 40 * 32 = 5 * 256 a warp, 5120 a block, of 65536 */
        {128, 41, 0, 10, "registers"},        /* 6 * 256 a warp */
        {128, 32, 0, 16, "warps"},            /* 16 * 4 = 64 warps */
        {33, 0, 0, 32, "blocks"},             /* two warps each, 32 blocks at most */
        {1024, 0, 0, 2, "warps"},
        {128, 0, 30000, 7, "shared memory"},  /* 30080 + 1024 of 228 KiB */
        {1024, 255, 0, 1, "registers"},       /* more than fit: one block is the least */
    };
    for (size_t i = 0; i < WBB_LEN(cases); i++) {
        const PriceOccupancy o = price_occupancy(tg_find("sm_90"), cases[i].threads, 1000, cases[i].regs,
                                                 (uint64_t)cases[i].shared);
        assert_int_equal(o.blocks, cases[i].blocks);
        assert_string_equal(o.limit, cases[i].limit);
        assert_int_equal(o.together, cases[i].blocks * SMS);
        assert_true(o.waves == WBB_MAX(1000.0 / o.together, 1));
    }
}

static void forms(WbbCx *cx, void *arg)
{
    static const char *const cases[][2] = {
        {"add.s32 %r1, %r2, 4;", "add.s32 imm"},
        {"add.s32 %r1, %r2, %r3;", "add.s32"},
        {"fma.rn.f32 %f1, %f2, 0f3F800000, %f3;", "fma.rn.f32 imm"},
        {"mov.b64 {%r1, %r2}, %rd1;", "mov.b64 unpack"},
        {"mov.b64 %rd1, {%r1, %r2};", "mov.b64 pack"},
        {"mov.u32 %r1, %tid.x;", "mov.u32 special"},
        {"mov.b64 %rd1, table;", "mov.b64 symbol"},
        {"mov.b32 %r1, -7;", "mov.b32 imm"},
        {"ld.global.nc.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1+16];", "ld.global.nc.v4.b32"},
        {"shfl.sync.bfly.b32 %r1, %r2, 16, 31, -1;", "shfl.sync.bfly.b32"},
        {"max.f32 %f1, %f2, %f3, %f4;", "max.f32 3"},
        {"ld.param.u64 %rd1, [a];", "ld.param.b64"},
        {"st.global.v2.f32 [%rd1], {%f1, %f2};", "st.global.v2.b32"},
        {"ret;", "ret"},
    };
    (void)arg;
    for (size_t i = 0; i < WBB_LEN(cases); i++) assert_string_equal(price_form(cx->arena, cases[i][0]), cases[i][1]);
    const TgTarget *t = tg_find("sm_90");
    assert_non_null(price_of(cx->arena, t, "add.f32"));
    assert_ptr_equal(price_of(cx->arena, t, "add.f32"), price_of(cx->arena, t, "add.rn.f32"));
    assert_null(price_of(cx->arena, t, "add.f31"));
}

static void test_forms(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    assert_int_equal(wbb_guard(cx, forms, NULL), WBB_OK);
    wbb_cx_free(cx);
}

static void expect(double x, double expected) { assert_true(fabs(x - expected) <= 1e-9 * fabs(expected)); }

/* 1024 blocks of 4 warps load 1 MiB and store it: 8 sectors a warp each way. */
static void report(WbbCx *cx, void *arg)
{
    (void)arg;
    const TgTarget *t = tg_find("sm_90");
    const BdLaunch l = launch_of(1024, 128, 0);
    const PriceKernel k = {.target = t, .launch = &l, .regs = 32};
    const uint64_t warps = 4096, sectors = 32768;
    const char *text = "ld.global.v2.b32 {%r1, %r2}, [%rd1]; // load %x <- %x\nfma.rn.f32 %f1, %f2, %f2, %f2;"
                       " // patterns/tiles.py:9 fma.f32 <- %sum\nst.global.v2.b32 [%rd2], {%r1, %r2}; // store %sum\n";
    SimSite sites[] = {
        {.name = "ld.global.v2.b32", .text = text, .line = 1, .warps = warps, .threads = 32 * warps, .stalls = 600,
         .flow = {{.requests = warps, .bytes = 256 * warps, .sectors = sectors, .needed = sectors, .wavefronts = 2 * warps,
                   .ideal = 2 * warps, .l2 = sectors, .dram = sectors}}},
        {.name = "fma.rn.f32", .text = strstr(text, "fma"), .line = 2, .warps = warps, .threads = 32 * warps},
        {.name = "st.global.v2.b32", .text = strstr(text, "st."), .line = 3, .warps = warps, .threads = 32 * warps,
         .flow = {{.requests = warps, .bytes = 256 * warps, .sectors = sectors, .needed = sectors, .wavefronts = 2 * warps,
                   .ideal = 2 * warps, .l2 = sectors, .dram = sectors}}},
    };
    SimUse uses[] = {{.loaded = sectors, .size = sectors}, {.stored = sectors, .size = sectors}, {0}};
    const SimProfile p = {.sites = sites, .n_sites = 3, .uses = uses, .n_uses = 3, .blocks = 1024, .grid = 1024,
                          .timed = 1, .longest = 700, .sum = 700, .text = text};
    const PriceReport r = price_report(cx->arena, &k, &p);
    const double clock = tg_rate(t, "clock")->value, bytes = 2.0 * 32 * 32768;
    expect(r.term[PRICE_DRAM].seconds, bytes / tg_rate(t, "dram")->value);
    expect(r.term[PRICE_L2].seconds, bytes / tg_rate(t, "l2")->value);
    expect(r.term[PRICE_BLOCKS].seconds, 1024 / (tg_rate(t, "blocks")->value * clock));
    assert_true(r.term[PRICE_ATOMICS].seconds == 0 && r.term[PRICE_CONTENDED].seconds == 0);
    expect(r.term[PRICE_FILL].seconds, bytes / 2 / (tg_rate(t, "sm.fill")->value * SMS * clock));
    expect(r.term[PRICE_WAVEFRONTS].seconds, 4.0 * 4096 * 128 / (tg_rate(t, "l1.wavefront")->value * SMS * clock));
    expect(r.term[PRICE_PIPE + TG_PIPE_FMA].seconds,
           4096 * (double)tg_price(t, "fma.rn.f32", 10)->cycles[TG_PIPE_FMA] / 4 / (SMS * clock));
    expect(r.latency, WBB_MIN(700, tg_rate(t, "latency.dram")->value) / clock);
    expect(r.term[PRICE_CHAIN].seconds, 700 / clock - r.latency); /* one wave: 2112 blocks fit */
    assert_int_equal(r.binds, PRICE_BLOCKS); /* they take longer to start than to do all else */
    expect(r.work, r.term[PRICE_BLOCKS].seconds);
    SimProfile half = p;
    half.blocks = half.grid = 512;
    const PriceReport h = price_report(cx->arena, &k, &half);
    assert_int_equal(h.binds, PRICE_DRAM);
    double sum = 0;
    for (int i = 0; i < PRICE_TERMS; i++)
        if (i != PRICE_BLOCKS) sum += pow(h.term[i].seconds, 3);
    expect(h.work, pow(sum, 1.0 / 3));
    assert_true(r.parts == 0);
    expect(r.seconds, r.launch + r.latency + r.code + r.work + r.tail);
    static const char *const forms_of[] = {"ld.global.v2.b32", "fma.rn.f32", "st.global.v2.b32"};
    const double code_rate = tg_rate(t, "sm.code")->value * clock;
    double instructions = 0;
    for (int i = 0; i < 3; i++) instructions += (double)price_of(cx->arena, t, forms_of[i])->issue;
    expect(r.code, 16 * instructions / code_rate);
    expect(r.lanes, 1);
    assert_true(r.unpriced == 0);
    /* 1024 blocks over 132 SMs are 7.76 for each: some have 8, and the busiest term of an SM takes that much longer */
    double busiest = 0;
    for (int i = PRICE_FILL; i < PRICE_TERMS; i++)
        if (i != PRICE_CHAIN) busiest = WBB_MAX(busiest, r.term[i].seconds);
    expect(r.tail, WBB_MIN(busiest * (8 / (1024.0 / SMS) - 1), 700 / clock));
    PriceShare *s;
    assert_int_equal(price_shares(cx->arena, &r, PRICE_BY_LINE, &s), 3);
    expect(s[0].share + s[1].share + s[2].share, 1);
    assert_string_equal(s[1].name, "fma.rn.f32 %f1, %f2, %f2, %f2;");
    assert_string_equal(s[1].what, "patterns/tiles.py:9 fma.f32 <- %sum");
    assert_int_equal(s[2].line, 3);
    assert_int_equal(price_shares(cx->arena, &r, PRICE_BY_HLO, &s),
                     3); /* %x, %sum, and the store, which has no arrow */
    assert_string_equal(s[0].name, "%x");
    assert_int_equal(price_shares(cx->arena, &r, PRICE_BY_RULE, &s), 3);
    assert_string_equal(s[2].name, "patterns/tiles.py:9 fma.f32");
    /* Each of two instructions stores half of 32 sectors: DRAM moves more than the sectors. */
    const SimFlow whole = sites[2].flow[SIM_GLOBAL];
    sites[2].flow[SIM_GLOBAL].sectors = 32 * warps, sites[2].flow[SIM_GLOBAL].needed = 16 * warps;
    const double share = (double)tg_tuned(t, "layout.parts") / 100;
    expect(price_report(cx->arena, &k, &p).term[PRICE_DRAM].amount, bytes + share * 16.0 * 32 * (double)warps);
    sites[2].flow[SIM_GLOBAL] = whole;
    /* Machine code: line 2 is FFMA, and a spilled register (LDL); line 1 spills 64 bits (STL). */
    const TgSassAt code[] = {{.first = 0x223, .line = 2}, {.first = 0x983, .second = 4 << 9, .line = 2},
                             {.first = 0x387, .second = 5 << 9, .line = 1}};
    PriceKernel spilled = k;
    spilled.code = code, spilled.n_code = 3;
    expect(price_report(cx->arena, &spilled, &p).code, 16 * 3 / code_rate);
    expect(price_report(cx->arena, &spilled, &p).term[PRICE_WAVEFRONTS].amount, 4096.0 * (4 * 128 + 128 + 256));
    const PriceSpilled few = price_report(cx->arena, &spilled, &p).spilled;
    assert_true(few.thread == 8 && few.stored == 4096 * 256 && few.loaded == 4096 * 128); /* L1 has what is loaded */
    assert_true(few.l2 == few.stored && few.dram == 0);
    /* Spilled registers are no copies of a loop that ptxas has unrolled: each warp comes twice to LDG, FFMA, STG. */
    const TgSassAt loop[] = {{.first = 0x981, .second = 5 << 9, .line = 1}, {.first = 0x223, .line = 2},
                             {.first = 0x983, .second = 4 << 9, .line = 2}, {.first = 0x387, .second = 4 << 9, .line = 2},
                             {.first = 0x386, .second = 5 << 9, .line = 3}};
    SimProfile twice = p;
    SimSite sites_of_loop[3];
    for (int i = 0; i < 3; i++) sites_of_loop[i] = sites[i], sites_of_loop[i].warps *= 2;
    twice.sites = sites_of_loop;
    spilled.code = loop, spilled.n_code = 5;
    expect(price_report(cx->arena, &spilled, &twice).term[PRICE_ISSUE].amount, 5.0 * 2 * (double)warps);
    /* 32 stores and loads of 16 bytes of 2048 threads are 1 MiB of each SM, 132 MiB of all */
    TgSassAt more[64];
    for (int i = 0; i < 64; i++) more[i] = (TgSassAt){.first = i % 2 ? 0x983 : 0x387, .second = 6 << 9, .line = 2};
    spilled.code = more, spilled.n_code = 64;
    const PriceReport much = price_report(cx->arena, &spilled, &p);
    const double each = 32.0 * 16 * 32 * 4096;
    assert_true(much.spilled.thread == 512 && much.spilled.l2 == 2 * each && much.spilled.dram == each);
    expect(much.term[PRICE_DRAM].amount, r.term[PRICE_DRAM].amount + each);
    expect(much.term[PRICE_L2].amount, r.term[PRICE_L2].amount + 2 * each);
    expect(much.term[PRICE_FILL].amount, r.term[PRICE_FILL].amount + each);
    /* A sample of a quarter of the blocks that touched a quarter of the sectors says the same. */
    for (int i = 0; i < 3; i++) {
        sites[i].warps /= 4, sites[i].threads /= 4;
        SimFlow *f = &sites[i].flow[SIM_GLOBAL];
        f->requests /= 4, f->sectors /= 4, f->needed /= 4, f->wavefronts /= 4, f->ideal /= 4, f->l2 /= 4, f->dram /= 4;
    }
    uses[0].loaded /= 4, uses[1].stored /= 4;
    SimProfile quarter = p;
    quarter.blocks /= 4;
    const PriceReport q = price_report(cx->arena, &k, &quarter);
    expect(q.seconds, r.seconds);
    expect(q.distinct, r.distinct);
    /* Where each sampled block touches all of a buffer, the others do not add to it. */
    uses[0].loaded = sectors;
    expect(price_report(cx->arena, &k, &quarter).distinct, r.distinct);
    /* Two and a half waves: the longest chain once, and one and a half times the mean of 7 blocks. */
    const BdLaunch wide = launch_of(16 * SMS * 5 / 2, 128, 0);
    const PriceKernel many = {.target = t, .launch = &wide, .regs = 32};
    SimProfile waves = p;
    waves.grid = waves.blocks = 16 * SMS * 5 / 2, waves.timed = 7, waves.sum = 7 * 600;
    const PriceReport w = price_report(cx->arena, &many, &waves);
    expect(w.term[PRICE_CHAIN].seconds, (700 + 1.5 * 600) / clock - w.latency);
}

static void test_report(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    if (wbb_guard(cx, report, NULL) != WBB_OK) fail_msg("%s", cx->messages);
    wbb_cx_free(cx);
}

/* 4096 requests of a warp update a sector each, all of one line, for 10 clocks. */
static void atomics(WbbCx *cx, void *arg)
{
    (void)arg;
    const TgTarget *t = tg_find("sm_90");
    const double clock = tg_rate(t, "clock")->value;
    const BdLaunch l = launch_of(1024, 128, 0);
    const PriceKernel k = {.target = t, .launch = &l, .regs = 32};
    const char *text = "red.global.add.f32 [%rd1], %f1;\n";
    SimSite site = {.name = "red.global.add.f32", .text = text, .line = 1, .warps = 4096, .threads = 4096 * 32,
                    .flow = {{.requests = 4096, .sectors = 4096, .wavefronts = 4096, .l2 = 4096}}};
    SimUse uses[] = {{.loaded = 1, .stored = 1, .size = 1}, {0}};
    SimProfile p = {.sites = &site, .n_sites = 1, .uses = uses, .n_uses = 2, .blocks = 1024, .grid = 1024,
                    .timed = 1, .longest = 700, .sum = 700, .text = text,
                    .updates = {.requests = 4096, .pairs = 4096.0 * 4095, .hottest = 4096, .longest = 40960}};
    const PriceReport r = price_report(cx->arena, &k, &p);
    expect(r.term[PRICE_ATOMICS].seconds, 4096 / (tg_rate(t, "atomics")->value * clock));
    expect(r.term[PRICE_CONTENDED].seconds, 40960 / clock);
    assert_int_equal(r.binds, PRICE_CONTENDED);
    PriceShare *s;
    assert_int_equal(price_shares(cx->arena, &r, PRICE_BY_LINE, &s), 1);
    expect(s[0].share, 1);
    /* a sixteenth of the blocks says the same */
    p.blocks /= 16;
    p.updates = (SimUpdates){.requests = 256, .pairs = 256.0 * 255, .hottest = 256, .longest = 2560};
    expect(price_report(cx->arena, &k, &p).term[PRICE_CONTENDED].amount, 40960);
    /* where few met on a line, all lines are as if they were updated equally often: 2 requests of 256 on each of 128 */
    p.updates = (SimUpdates){.requests = 256, .pairs = 256, .hottest = 2, .longest = 20};
    expect(price_report(cx->arena, &k, &p).term[PRICE_CONTENDED].amount, 16 * 256 * (256.0 / (256 * 256)) * 10);
    /* what the simulator is told of a turn */
    price_ask(cx->arena, &k, &p);
    const SimSite cas = {.name = "atom.global.cas.b32", .text = "atom.global.cas.b32 %r1, [%rd1], %r2, %r3;"},
                  add = {.name = "red.global.add.u32", .text = "red.global.add.u32 [%rd1], %r2;"};
    SimPace of_cas, of_add, of_float;
    p.pace(p.arg, &cas, &of_cas), p.pace(p.arg, &add, &of_add), p.pace(p.arg, &site, &of_float);
    assert_true(of_cas.again == tg_rate(t, "latency.atomic")->value && of_cas.together && !of_add.together);
    assert_true(of_add.again == tg_rate(t, "atomic.int")->value && of_float.again == tg_rate(t, "atomic.float")->value);
}

static void test_atomics(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    if (wbb_guard(cx, atomics, NULL) != WBB_OK) fail_msg("%s", cx->messages);
    wbb_cx_free(cx);
}

/* Blocks of a cluster cost time whenever SMs are filled: four times, with 16 blocks of 128 threads on an SM at once. */
static void of_clusters(WbbCx *cx, void *arg)
{
    (void)arg;
    const TgTarget *t = tg_find("sm_90");
    BdLaunch l = launch_of(16 * SMS * 4, 128, 0);
    const PriceKernel k = {.target = t, .launch = &l, .regs = 32};
    const SimProfile p = {.grid = l.grid[0], .blocks = l.grid[0]};
    const PriceReport alone = price_report(cx->arena, &k, &p);
    l.cluster[0] = 8;
    const PriceReport r = price_report(cx->arena, &k, &p);
    expect(alone.clusters, 0);
    expect(1e9 * r.clusters, 4 * (double)tg_tuned(t, "layout.cluster.wave"));
    expect(r.seconds, alone.seconds + r.clusters);
}

static void test_clusters(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    if (wbb_guard(cx, of_clusters, NULL) != WBB_OK) fail_msg("%s", cx->messages);
    wbb_cx_free(cx);
}

/* The simulator is asked in clocks of the target. */
static void ask(WbbCx *cx, void *arg)
{
    (void)arg;
    const TgTarget *t = tg_find("sm_90");
    const BdLaunch l = launch_of(1024, 128, 0);
    const PriceKernel k = {.target = t, .launch = &l, .regs = 32};
    SimProfile p;
    price_ask(cx->arena, &k, &p);
    assert_true(p.latency[SIM_FROM_DRAM] == tg_rate(t, "latency.dram")->value);
    assert_true(p.latency[SIM_FROM_SHARED] < p.latency[SIM_FROM_L2]);
    assert_int_equal(p.together, 16 * SMS);
    assert_int_equal(p.l1_bytes, t->sm_smem / 16);
    assert_int_equal(p.l2_bytes, (uint64_t)tg_rate(t, "l2.bytes")->value / 2);
    const SimSite div = {.name = "div.rn.f32", .text = "div.rn.f32 %f1, %f2, %f3;"},
                  fma = {.name = "fma.rn.f32", .text = "fma.rn.f32 %f1, %f2, %f3, %f4;"};
    SimPace long_one, short_one;
    p.pace(p.arg, &div, &long_one);
    p.pace(p.arg, &fma, &short_one);
    assert_true(short_one.issue == 1 && short_one.latency == tg_rate(t, "latency.fma")->value);
    assert_true(long_one.issue > 5 && long_one.latency > 5 * short_one.latency);
}

/* A load that completes the barrier, 7: none; another instruction that waits for barriers. */
static TgSassAt load_to(uint32_t line, uint64_t barrier)
{
    return (TgSassAt){.first = 0x981, .second = barrier << 46, .line = line};
}

static TgSassAt wait_for(uint32_t line, uint64_t barriers)
{
    return (TgSassAt){.first = 0x221, .second = UINT64_C(7) << 46 | barriers << 52, .line = line};
}

static double ahead_of(WbbArena *a, const TgSassAt *code, uint32_t n)
{
    const BdLaunch l = launch_of(1024, 128, 0);
    const PriceKernel k = {.target = tg_find("sm_90"), .launch = &l, .regs = 32, .code = code, .n_code = n};
    const SimSite branch = {.name = "bra", .text = "bra LOOP;", .line = 9, .loop = 5};
    SimProfile p;
    SimPace out = {0};
    price_ask(a, &k, &p);
    p.pace(p.arg, &branch, &out);
    return out.ahead;
}

/* Iterations of a loop whose loads are on their way at a time: the loop is of lines 5 to 9, lines 6 and 7 load. */
static void ahead(WbbCx *cx, void *arg)
{
    (void)arg;
    const TgSassAt back = {.first = 0x947, .second = UINT64_C(7) << 46, .line = 9};
    const TgSassAt plain[] = {load_to(6, 0), load_to(7, 1), wait_for(8, 1), wait_for(8, 2), back};
    assert_true(ahead_of(cx->arena, plain, 5) == 1);
    const TgSassAt four[] = {load_to(6, 0), load_to(6, 1), load_to(6, 1), load_to(6, 2), wait_for(8, 7), back,
                             load_to(6, 0), wait_for(8, 1), back}; /* what is left of the count */
    assert_true(ahead_of(cx->arena, four, 9) == 4);
    const TgSassAt turns[] = {load_to(6, 0), load_to(6, 1), wait_for(8, 1), load_to(6, 0), wait_for(8, 2), load_to(6, 1),
                              wait_for(8, 1), wait_for(8, 2), back};
    assert_true(ahead_of(cx->arena, turns, 9) == 2);
    const TgSassAt waits[] = {load_to(6, 0), wait_for(8, 1), load_to(6, 0), wait_for(8, 1), back};
    assert_true(ahead_of(cx->arena, waits, 5) == 1);
    const TgSassAt others[] = {load_to(4, 0), load_to(4, 0), load_to(4, 0), wait_for(8, 1), back}; /* before the loop */
    assert_true(ahead_of(cx->arena, others, 5) == 1);
    assert_true(ahead_of(cx->arena, NULL, 0) == 1);
}

static void test_ahead(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    if (wbb_guard(cx, ahead, NULL) != WBB_OK) fail_msg("%s", cx->messages);
    wbb_cx_free(cx);
}

static void test_ask(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    if (wbb_guard(cx, ask, NULL) != WBB_OK) fail_msg("%s", cx->messages);
    wbb_cx_free(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_occupancy), cmocka_unit_test(test_forms),
                                       cmocka_unit_test(test_report), cmocka_unit_test(test_atomics),
                                       cmocka_unit_test(test_clusters), cmocka_unit_test(test_ask),
                                       cmocka_unit_test(test_ahead)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
