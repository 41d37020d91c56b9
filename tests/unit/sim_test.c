/* sim: the results of instructions, convergence of lanes, and the report of each seeded fault.
 *
 * The files with faults are in tests/lit/sim/faults, or in the folder that SIM_FAULTS names.
 */
#include "sim/sim.h"

#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    const char *file, *text;
    uint32_t threads, blocks; /* 0 blocks: one */
    SimOptions options;
    SimBuffer buffers[2];
    SimReport report;
    const WbbArena *arena;
} Run;

static void run_body(WbbCx *cx, void *arg)
{
    static const int args[] = {0, 1};
    Run *r = arg;
    SimModule *m = sim_parse(cx, cx->arena, r->file, r->text);
    BdLaunch launch = {.entry = "k", .grid = {r->blocks ? r->blocks : 1, 1, 1}, .block = {r->threads, 1, 1},
                       .cluster = {1, 1, 1}, .n_args = 2, .args = args};
    sim_run(cx, cx->arena, m, &launch, r->buffers, 2, &r->options, &r->report);
}

/* Runs `body` in one block of n threads: %r1 and %rd1 are in[i] (32 and 64 bits); %rs9, %r9 or %rd9 is stored to
 * out[i]. */
static void compute(const char *body, int bytes, const uint64_t *in, uint64_t *out, uint32_t n)
{
    WbbCx *cx = wbb_cx_new();
    WbbBuf b = wbb_buf(cx->arena);
    wbb_putf(&b,
             ".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b)\n{\n.reg "
             ".pred %%p<9>;\n"
             ".reg .b16 %%rs<10>;\n.reg .b32 %%r<10>;\n.reg .b64 %%rd<10>;\n.reg .b32 %%t; .reg .b64 %%pa, %%pb, "
             "%%o;\nld.param.b64 %%pa, [a];\n"
             "ld.param.b64 %%pb, [b];\nmov.u32 %%t, %%tid.x;\nmul.wide.u32 %%o, %%t, 8;\nadd.s64 %%pa, %%pa, "
             "%%o;\nadd.s64 %%pb, %%pb, %%o;\n"
             "ld.global.b64 %%rd1, [%%pa];\ncvt.u32.u64 %%r1, %%rd1;\nshr.u64 %%rd2, %%rd1, 32;\ncvt.u32.u64 %%r2, "
             "%%rd2;\ncvt.u16.u32 %%rs1, %%r1;\n"
             "cvt.u16.u32 %%rs2, %%r2;\nmov.b32 %%r9, 0;\nmov.pred %%p2, 0;\nmov.pred %%p3, 0;\n"
             "%s\n%sst.global.b64 [%%pb], %%rd9;\nret;\n}\n",
             body,
             bytes == 4   ? "cvt.u64.u32 %rd9, %r9;\n"
             : bytes == 2 ? "cvt.u64.u16 %rd9, %rs9;\n"
                          : "");
    Run r = {.file = "test.ptx", .text = b.text, .threads = n, .options = {.check = true}};
    r.buffers[0] = (SimBuffer){.bytes = memcpy(wbb_alloc(cx->arena, 8 * n), in, 8 * n), .size = 8 * n, .role = BD_IN};
    r.buffers[1] = (SimBuffer){.bytes = out, .size = 8 * n, .role = BD_OUT};
    WbbStatus s = wbb_guard(cx, run_body, &r);
    if (s != WBB_OK) print_error("%s", cx->messages);
    assert_int_equal(s, WBB_OK);
    if (r.report.n_faults) print_error("%s\n", r.report.faults[0]);
    assert_int_equal(r.report.n_faults, 0);
    wbb_cx_free(cx);
}

/* An input with a in its low half and b in its high half. */
static uint64_t two(uint32_t a, uint32_t b) { return a | (uint64_t)b << 32; }

static uint64_t once(const char *body, int bytes, uint64_t in)
{
    uint64_t out = 0;
    compute(body, bytes, &in, &out, 1);
    return out;
}

static uint32_t f(float x)
{
    uint32_t u;
    memcpy(&u, &x, 4);
    return u;
}

static uint64_t d(double x)
{
    uint64_t u;
    memcpy(&u, &x, 8);
    return u;
}

static void test_integers(void **state)
{
    (void)state;
    assert_int_equal(once("mul.hi.s32 %r9, %r1, %r2;", 4, two(0x80000000u, 2)), 0xffffffffu);
    assert_int_equal(once("mad.lo.s32 %r9, %r1, %r2, 5;", 4, two(7, 6)), 47);
    assert_int_equal(once("mul.wide.s32 %rd9, %r1, %r2;", 8, two(0xffffffffu, 3)), (uint64_t)-3);
    assert_int_equal(once("mul.hi.u64 %rd9, %rd1, %rd1;", 8, UINT64_MAX), UINT64_MAX - 1);
    assert_int_equal(once("div.s32 %r9, %r1, %r2;", 4, two((uint32_t)-7, 2)), (uint32_t)-3);
    assert_int_equal(once("div.s32 %r9, %r1, %r2;", 4, two(0x80000000u, 0xffffffffu)), 0x80000000u);
    assert_int_equal(once("rem.s32 %r9, %r1, %r2;", 4, two((uint32_t)-7, 2)), (uint32_t)-1);
    assert_int_equal(once("shl.b32 %r9, %r1, %r2;", 4, two(1, 32)), 0);
    assert_int_equal(once("shr.s32 %r9, %r1, %r2;", 4, two(0x80000000u, 99)), 0xffffffffu);
    assert_int_equal(once("shf.l.wrap.b32 %r9, %r1, %r2, 8;", 4, two(0x12345678, 0xaabbccdd)), 0xbbccdd12u);
    assert_int_equal(once("shf.r.clamp.b32 %r9, %r1, %r2, 40;", 4, two(0x12345678, 0xaabbccdd)), 0xaabbccddu);
    assert_int_equal(once("bfe.s32 %r9, %r1, 4, 8;", 4, 0xf80), 0xfffffff8u);
    assert_int_equal(once("bfe.u32 %r9, %r1, 4, 8;", 4, 0xf80), 0xf8);
    assert_int_equal(once("bfi.b32 %r9, %r1, %r2, 8, 4;", 4, two(0xff, 0)), 0xf00);
    assert_int_equal(once("prmt.b32 %r9, %r1, %r2, 0x7610;", 4, two(0x11223344, 0x55667788)), 0x55663344u);
    assert_int_equal(once("prmt.b32 %r9, %r1, 0, 0x8888;", 4, 0x80), 0xffffffffu);
    assert_int_equal(once("lop3.b32 %r9, %r1, %r2, -1, 0x96;", 4, two(0xff00ff00u, 0x0ff00ff0u)),
                     ~(0xff00ff00u ^ 0x0ff00ff0u));
    assert_int_equal(once("popc.b32 %r9, %r1;", 4, 0xf00f), 8);
    assert_int_equal(once("clz.b64 %r9, %rd1;", 4, 1), 63);
    assert_int_equal(once("brev.b32 %r9, %r1;", 4, 1), 0x80000000u);
    assert_int_equal(once("add.cc.u32 %r9, %r1, %r2; addc.u32 %r9, 0, 0;", 4, two(0xffffffffu, 1)), 1);
    assert_int_equal(once("sub.cc.u32 %r9, %r1, %r2; subc.u32 %r9, 5, 0;", 4, two(0, 1)), 4);
    assert_int_equal(once("cvt.s8.s32 %r9, %r1;", 4, 0x180), 0xffffff80u);
    assert_int_equal(once("cvt.sat.u8.s32 %r9, %r1;", 4, 300), 255);
    assert_int_equal(once("mov.b32 {%rs3, %rs4}, %r1; mov.b32 %r9, {%rs4, %rs3};", 4, 0x12345678), 0x56781234u);
    assert_int_equal(once("setp.lt.s32 %p1|%p2, %r1, %r2; selp.b32 %r9, 1, 2, %p2;", 4, two((uint32_t)-1, 0)), 2);
    assert_int_equal(once("setp.lt.and.s32 %p1, %r1, %r2, !%p3; selp.b32 %r9, 1, 2, %p1;", 4, two((uint32_t)-1, 0)), 1);
}

static void test_floats(void **state)
{
    (void)state;
    const uint32_t tiny = 1, nan = 0x7fffffffu;
    assert_int_equal(once("add.rn.f32 %r9, %r1, %r2;", 4, two(f(INFINITY), f(-INFINITY))), nan);
    assert_int_equal(once("add.rn.ftz.f32 %r9, %r1, %r2;", 4, two(tiny, tiny)), 0);
    assert_int_equal(once("add.rn.f32 %r9, %r1, %r2;", 4, two(tiny, tiny)), 2);
    assert_int_equal(once("add.rz.f32 %r9, %r1, %r2;", 4, two(f(1), f(0x1.8p-24f))), f(1));
    assert_int_equal(once("add.rp.f32 %r9, %r1, %r2;", 4, two(f(1), tiny)), f(1) + 1);
    assert_int_equal(once("add.rm.f32 %r9, %r1, %r2;", 4, two(f(1), f(-1))), f(-0.0f));
    assert_int_equal(once("add.sat.f32 %r9, %r1, %r2;", 4, two(f(1), f(3))), f(1));
    assert_int_equal(once("add.sat.f32 %r9, %r1, %r2;", 4, two(nan, f(3))), 0);
    assert_int_equal(once("max.f32 %r9, %r1, %r2;", 4, two(nan, f(3))), f(3));
    assert_int_equal(once("max.NaN.f32 %r9, %r1, %r2;", 4, two(nan, f(3))), nan);
    assert_int_equal(once("max.f32 %r9, %r1, %r2;", 4, two(f(-0.0f), f(0.0f))), f(0.0f));
    assert_int_equal(once("setp.ltu.f32 %p1, %r1, %r2; selp.b32 %r9, 1, 0, %p1;", 4, two(nan, f(3))), 1);
    assert_int_equal(once("setp.ne.f32 %p1, %r1, %r2; selp.b32 %r9, 1, 0, %p1;", 4, two(nan, f(3))), 0);
    assert_int_equal(once("tanh.approx.f32 %r9, %r1;", 4, nan), nan);
    uint64_t in[512], out[512];
    for (int i = 0; i < 512; i++)
        in[i] = (i & 1 ? 0x80000000u : 0) + (uint32_t)i * 0x7f8000u / 2; /* from 0 to near infinity */
    for (int i = 0; i < 256; i++) in[i] = f((float)(i - 128) * 0x1.23p-4f);
    compute("tanh.approx.f32 %r9, %r1;", 4, in, out, 512);
    for (int i = 0; i < 512; i++) {
        float x;
        memcpy(&x, &in[i], 4);
        assert_int_equal(out[i], f((float)tanh((double)x)));
    }
    assert_int_equal(once("cvt.rzi.s32.f32 %r9, %r1;", 4, f(-1e20f)), 0x80000000u);
    assert_int_equal(once("cvt.rzi.s32.f32 %r9, %r1;", 4, nan), 0);
    assert_int_equal(once("cvt.rzi.u32.f32 %r9, %r1;", 4, f(-1)), 0);
    assert_int_equal(once("cvt.rzi.s64.f32 %rd9, %r1;", 8, nan), UINT64_C(1) << 63);
    assert_int_equal(once("cvt.rni.s32.f32 %r9, %r1;", 4, f(2.5f)), 2);
    assert_int_equal(once("cvt.rpi.f32.f32 %r9, %r1;", 4, f(-0.5f)), f(-0.0f));
    assert_int_equal(once("cvt.rn.f32.s64 %r9, %rd1;", 4, UINT64_C(0x4000004000000001)), f(0x1p62f) + 1);
    assert_int_equal(once("cvt.rz.f32.f64 %r9, %rd1;", 4, d(1.0 + 0x1.8p-24)), f(1));
    assert_int_equal(once("cvt.sat.f32.f32 %r9, %r1;", 4, nan), 0);
    assert_int_equal(once("cvt.rn.satfinite.e4m3x2.f32 %rs9, %r1, %r2;", 2, two(f(1000), f(1))), 0x7e38);
    assert_int_equal(once("cvt.rn.relu.bf16x2.f32 %r9, %r1, %r2;", 4, two(f(-1), f(1))), 0x00003f80);
    assert_int_equal(once("copysign.f32 %r9, %r1, %r2;", 4, two(f(-2), f(3))), f(-3));
    assert_int_equal(once("testp.subnormal.f32 %p1, %r1; selp.b32 %r9, 1, 0, %p1;", 4, tiny), 1);
    assert_int_equal(once("fma.rz.f64 %rd9, %rd1, %rd1, 0d3FF0000000000000;", 8, d(0x1p-40)), d(1));
    assert_int_equal(once("fma.rp.f64 %rd9, %rd1, %rd1, 0d3FF0000000000000;", 8, d(0x1p-40)), d(1) + 1);
    assert_int_equal(once("ex2.approx.ftz.f32 %r9, %r1;", 4, f(-127)), 0);
    assert_int_equal(once("tanh.approx.f32 %r9, %r1;", 4, f(30)), f(1));
}

/* f16 and bf16 on values that would show double rounding. */
static void test_halves(void **state)
{
    (void)state;
    assert_int_equal(once("fma.rn.bf16 %rs9, %rs1, %rs2, %rs1;", 2, two(0x3f80, 0x3b80)), 0x3f80);
    /* 1.0078125 * 1.0078125 is just above a tie of bf16 and rounds up. */
    assert_int_equal(once("mul.rn.bf16 %rs9, %rs1, %rs2;", 2, two(0x3f81, 0x3f81)), 0x3f82);
    assert_int_equal(once("mov.b16 %rs3, 1; fma.rn.bf16 %rs9, %rs1, %rs2, %rs3;", 2, two(0x3f80, 0x3f80)), 0x3f80);
    assert_int_equal(
        once("mov.b16 %rs3, 1; mov.b16 %rs4, 0x3b80; mov.b16 %rs5, 0x3f81; fma.rn.f16 %rs9, %rs1, %rs2, %rs3;", 2,
             two(0x3c01, 0x7800)),
        0x7801);
    assert_int_equal(once("add.rn.f16x2 %r9, %r1, %r2;", 4, two(0x7bff3c00, 0x7bff3c00)), 0x7c004000);
    assert_int_equal(once("max.NaN.bf16x2 %r9, %r1, %r2;", 4, two(0x7fc03f80, 0x3f803f81)), 0x7fff3f81);
    /* 1 < 2 in the low halves, 2 < 1 in the high ones; with nan lt is false and ltu is true. */
    const char *pick = "selp.b32 %r3, 1, 0, %p1; selp.b32 %r4, 2, 0, %p2; or.b32 %r9, %r3, %r4;";
    static const struct { const char *op; uint32_t a, b, result; } pairs[] = {
        {"setp.lt.f16x2 %p1|%p2, %r1, %r2;", 0x40003c00, 0x3c004000, 1}, {"setp.lt.bf16x2 %p1|%p2, %r1, %r2;", 0x3f804000, 0x40003f80, 2},
        {"setp.ltu.f16x2 %p1|%p2, %r1, %r2;", 0x7e003c00, 0x3c003c00, 2}, {"setp.nan.bf16x2 %p1|%p2, %r1, %r2;", 0x3f807fc0, 0x3f803f80, 1},
        {"setp.eq.and.f16x2 %p1|%p2, %r1, %r2, !%p3;", 0x3c008000, 0x3c000000, 3},
    };
    for (size_t i = 0; i < WBB_LEN(pairs); i++) {
        char text[256];
        snprintf(text, sizeof text, "%s %s", pairs[i].op, pick);
        assert_int_equal(once(text, 4, two(pairs[i].a, pairs[i].b)), pairs[i].result);
    }
    assert_int_equal(once("cvt.rn.f16.f32 %rs9, %r1;", 2, f(0x1p-25f)), 0);
    assert_int_equal(once("cvt.rn.f16.f32 %rs9, %r1;", 2, f(0x1.8p-25f)), 1);
    assert_int_equal(once("cvt.rn.f16.f32 %rs9, %r1;", 2, f(65520.0f)), 0x7c00);
    for (uint32_t h = 0; h < 0x7c00; h += 61)
        assert_int_equal(once("cvt.f32.f16 %r9, %rs1; cvt.rn.f16.f32 %rs9, %r9;", 2, h), h);
    assert_int_equal(once("cvt.f32.f16 %r9, %rs1;", 4, 1), f(0x1p-24f));
}

static void test_fma(void **state)
{
    (void)state;
    uint64_t in[256], out[256], x = 88172645463325252u;
    for (int i = 0; i < 256; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        in[i] = x;
    }
    compute("fma.rn.f32 %r9, %r1, %r2, %r1;", 4, in, out, 256);
    for (int i = 0; i < 256; i++) {
        uint32_t ua = (uint32_t)in[i], ub = (uint32_t)(in[i] >> 32);
        float a, b;
        memcpy(&a, &ua, 4);
        memcpy(&b, &ub, 4);
        float r = fmaf(a, b, a);
        assert_int_equal(out[i], r != r ? 0x7fffffffu : f(r));
    }
    compute("fma.rn.f64 %rd9, %rd1, %rd1, %rd1; fma.rz.f64 %rd8, %rd1, %rd1, %rd1; sub.s64 %rd9, %rd9, %rd8;", 8, in,
            out, 256);
    int differ = 0;
    for (int i = 0; i < 256; i++) {
        double a;
        memcpy(&a, &in[i], 8);
        if (a != a || isinf(fma(a, a, a))) continue;
        assert_in_range(out[i], 0, 1); /* rounding to nearest differs from rounding toward zero by one step at most */
        differ += (int)out[i];
    }
    assert_in_range(differ, 20, 200);
}

/* Lanes that diverge converge again, also in loops. */
static void test_divergence(void **state)
{
    (void)state;
    uint64_t in[64], out[64];
    for (uint32_t i = 0; i < 64; i++) in[i] = i;
    compute("mov.b32 %r3, %r1; $loop: setp.eq.s32 %p1, %r3, 0; @%p1 bra $end; add.s32 %r9, %r9, %r3; sub.s32 %r3, %r3, "
            "1; bra $loop; $end:",
            4, in, out, 64);
    for (uint32_t i = 0; i < 64; i++) assert_int_equal(out[i], i * (i + 1) / 2);
    compute("and.b32 %r3, %r1, 1; setp.eq.s32 %p1, %r3, 0; @%p1 bra $cold; mov.b32 %r4, 7; $join: shfl.sync.bfly.b32 "
            "%r9, %r4, 1, 31, -1; bra $end;"
            "$cold: mov.b32 %r4, 9; bra $join; $end:",
            4, in, out, 64);
    for (uint32_t i = 0; i < 64; i++) assert_int_equal(out[i], i & 1 ? 9 : 7);
    compute("and.b32 %r3, %r1, 1; setp.eq.s32 %p1, %r3, 0; @%p1 mov.pred %p2, -1; @%p2 mov.b32 %r9, 5;", 4, in, out,
            64);
    for (uint32_t i = 0; i < 64; i++) assert_int_equal(out[i], i & 1 ? 0 : 5);
    compute("ts: .branchtargets $a, $b, $c; rem.u32 %r3, %r1, 3; brx.idx %r3, ts; $a: mov.b32 %r9, 1; bra $end; $b: "
            "mov.b32 %r9, 2; bra $end;"
            "$c: mov.b32 %r9, 3; $end:",
            4, in, out, 64);
    for (uint32_t i = 0; i < 64; i++) assert_int_equal(out[i], i % 3 + 1);
    compute(".shared .align 4 .b8 s[256]; mov.u32 %r3, s; shl.b32 %r4, %r1, 2; add.s32 %r4, %r4, %r3; st.shared.b32 "
            "[%r4], %r1; bar.sync 0;"
            "xor.b32 %r4, %r4, 252; ld.shared.b32 %r9, [%r4];",
            4, in, out, 64);
    for (uint32_t i = 0; i < 64; i++) assert_int_equal(out[i], 63 - i);
}

typedef struct {
    const char *name, *message;
} Seeded;

static void test_faults(void **state)
{
    (void)state;
    static const Seeded seeded[] = {
        {"correct", NULL},
        {"out_of_bounds_load", "thread (63,0,0): load of 4 bytes out of bounds: byte 256 of input buffer 0, which has 256"},
        {"out_of_bounds_store", "thread (0,0,0): store of 4 bytes out of bounds: byte -4 of output buffer 1"},
        {"misaligned", "thread (1,0,0): misaligned load of 8 bytes at byte 4 of input buffer 0"},
        {"unwritten_read", "load of byte 0 of output buffer 1, which was never written"},
        {"unwritten_local", "load of byte 4 of local memory, which was never written"},
        {"unwritten_shared", "load of byte 128 of shared memory, which was never written"},
        {"double_write", "thread (1,0,0): second store to byte 4 of output buffer 1"},
        {"missing_write", "4 of 256 bytes of output buffer 1 are never written, the first is byte 252"},
        {"input_write", "store to input buffer 0, which is an input"},
        {"endless", "run-away loop"},
        {"divergent_shuffle", "the warp is divergent here"},
        {"unknown", NULL},
    };
    const char *folder = getenv("SIM_FAULTS");
    if (!folder) folder = "tests/lit/sim/faults";
    for (size_t i = 0; i < WBB_LEN(seeded); i++) {
        WbbCx *cx = wbb_cx_new();
        char *path = wbb_format(cx->arena, "%s/%s.ptx", folder, seeded[i].name);
        if (!wbb_file_exists(path)) {
            print_message("%s is missing: set SIM_FAULTS\n", path);
            wbb_cx_free(cx);
            skip();
        }
        Run r = {.file = path,
                 .text = wbb_read_file(cx, cx->arena, path, NULL),
                 .threads = 64,
                 .options = {.check = true, .budget = 10000}};
        r.buffers[0] = (SimBuffer){.bytes = wbb_alloc(cx->arena, 256), .size = 256, .role = BD_IN};
        r.buffers[1] = (SimBuffer){.bytes = wbb_alloc(cx->arena, 256), .size = 256, .role = BD_OUT};
        WbbStatus s = wbb_guard(cx, run_body, &r);
        if (strcmp(seeded[i].name, "unknown") == 0) {
            assert_int_equal(s, WBB_FAILED);
            assert_non_null(
                strstr(cx->messages, "unknown.ptx:16:2: error: unknown instruction: frobnicate.b32 %r2, %r1;"));
        } else {
            assert_int_equal(s, WBB_OK);
            if (!seeded[i].message) assert_int_equal(r.report.n_faults, 0);
            else if (!r.report.n_faults || !strstr(r.report.faults[0], seeded[i].message)) {
                print_error("%s: %s\n", seeded[i].name, r.report.n_faults ? r.report.faults[0] : "no fault found");
                fail();
            }
        }
        if (strcmp(seeded[i].name, "unwritten_read") == 0)
            assert_non_null(strstr(r.report.faults[0], "(from fusion.hlo:7)"));
        wbb_cx_free(cx);
    }
}

/* A fault that an endless loop repeats is kept once, and takes no memory again. */
static void test_repeated_fault(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    wbb_arena_limit(cx->arena, 8 << 20);
    Run r = {.file = "test.ptx", .threads = 1, .options = {.check = true, .budget = 400000}};
    r.text = ".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b)\n{\n"
             ".reg .b32 %r; .reg .b64 %p;\nld.param.b64 %p, [b];\nmov.u32 %r, 0;\n"
             "again: st.global.b32 [%p], %r;\nbra again;\n}\n";
    r.buffers[0] = (SimBuffer){.bytes = wbb_alloc(cx->arena, 8), .size = 8, .role = BD_IN};
    r.buffers[1] = (SimBuffer){.bytes = wbb_alloc(cx->arena, 4), .size = 4, .role = BD_OUT};
    assert_int_equal(wbb_guard(cx, run_body, &r), WBB_OK);
    assert_int_equal(r.report.n_faults, 2);
    assert_non_null(strstr(r.report.faults[0], "second store"));
    assert_non_null(strstr(r.report.faults[1], "run-away loop"));
    wbb_cx_free(cx);
}

/* Block 0 stores at 0 and then a mark at 4; block 1, which comes after it, reads the mark and then what is at 0.
 * `between` stands between the two accesses of both. */
static uint32_t faults_of_message(const char *between)
{
    WbbCx *cx = wbb_cx_new();
    Run r = {.file = "message.ptx", .threads = 1, .blocks = 2, .options = {.check = true}};
    r.text = wbb_format(cx->arena,
                        ".version 8.0\n.target sm_80\n.address_size 64\n.func fences()\n{\nmembar.gl;\nret;\n}\n"
                        ".visible .entry other()\n{\nmembar.gl;\nret;\n}\n"
                        ".visible .entry k(.param .u64 a, .param .u64 b)\n{\n"
                        ".reg .b32 %%r<8>; .reg .b64 %%p; .reg .pred %%q;\n"
                        "ld.param.u64 %%p, [b];\nmov.u32 %%r1, %%ctaid.x;\nsetp.ne.u32 %%q, %%r1, 0;\n"
                        "@%%q bra second;\nst.global.u32 [%%p], 7;\n%s\nst.relaxed.gpu.global.u32 [%%p+4], 1;\nret;\n"
                        "second: ld.relaxed.gpu.global.u32 %%r2, [%%p+4];\n%s\nld.global.u32 %%r3, [%%p];\nret;\n}\n",
                        between, between);
    r.buffers[0] = (SimBuffer){.bytes = wbb_alloc(cx->arena, 8), .size = 8, .role = BD_IN};
    r.buffers[1] = (SimBuffer){.bytes = wbb_alloc(cx->arena, 8), .size = 8, .role = BD_TEMP, .initialised = true};
    assert_int_equal(wbb_guard(cx, run_body, &r), WBB_OK);
    const uint32_t n = r.report.n_faults;
    if (n) assert_non_null(strstr(r.report.faults[0], "race: load of byte 0"));
    wbb_cx_free(cx);
    return n;
}

/* What orders threads is a matter of the entry that runs and of the functions that it calls. */
static void test_fences_of_entries(void **state)
{
    (void)state;
    assert_int_equal(faults_of_message("membar.gl;"), 0);
    assert_int_equal(faults_of_message("call fences;"), 0);
    assert_int_equal(faults_of_message(""), 1);
}

static void test_blocks(void **state)
{
    (void)state;
    BdLaunch launch = {.grid = {1000, 3, 1}};
    SimOptions sampled = {.blocks = 17, .seed = 5}, shuffled = {.order = SIM_SHUFFLED, .order_seed = 9},
               reverse = {.order = SIM_REVERSE}, last = {.order = SIM_REVERSE, .blocks = 17, .seed = 5};
    assert_int_equal(sim_block(&launch, &reverse, 0), 2999);
    assert_int_equal(sim_block(&launch, &last, 3), sim_block(&launch, &sampled, 13));
    assert_int_equal(sim_block(&launch, &sampled, 0), 0);
    assert_int_equal(sim_block(&launch, &sampled, 16), 2999);
    for (uint64_t i = 1; i < 17; i++)
        assert_true(sim_block(&launch, &sampled, i) > sim_block(&launch, &sampled, i - 1));
    uint8_t seen[3000] = {0};
    for (uint64_t i = 0; i < 3000; i++) seen[sim_block(&launch, &shuffled, i)]++;
    for (int i = 0; i < 3000; i++) assert_int_equal(seen[i], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers), cmocka_unit_test(test_floats),     cmocka_unit_test(test_halves),
        cmocka_unit_test(test_fma),      cmocka_unit_test(test_divergence), cmocka_unit_test(test_faults),
        cmocka_unit_test(test_blocks),   cmocka_unit_test(test_repeated_fault),
        cmocka_unit_test(test_fences_of_entries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
