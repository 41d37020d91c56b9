/* sim_contract: the results that ptxas may make of products and sums without a rounding modifier. */
#include "sim/sim.h"

#include "unit.h"

typedef struct {
    const char *body;
    uint32_t ways;
    uint64_t results[3]; /* in %rd9: as written, fused, fused with the second product */
} Case;

typedef struct {
    const char *text;
    SimFusing fused;
    uint32_t ways;
    uint64_t out;
} Run;

/* %f1 = 1 + 2^-12, whose square 1 + 2^-11 + 2^-24 loses its last bit; %f2 = 1 + 2^-11, %f3 = -%f2, %f4 = -%f1.
 * Likewise in f64 %d1 = 1 + 2^-27 and %d3, in f16 %h1 = 1 + 2^-6 and %h3, in pairs of bf16 %r1 = 1 + 2^-4 and %r3. */
#define HEAD                                                                                           \
    ".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 o)\n{\n"             \
    ".reg .pred %p<4>; .reg .f32 %f<10>; .reg .f64 %d<10>; .reg .b16 %h<10>; .reg .b32 %r<10>; "       \
    ".reg .b64 %rd<10>;\nld.param.u64 %rd1, [o];\nmov.b32 %r9, 0; setp.eq.s32 %p1, %r9, 0;\n"          \
    "mov.f32 %f1, 0f3F800800; mov.f32 %f2, 0f3F801000; neg.f32 %f3, %f2; neg.f32 %f4, %f1;\n"          \
    "mov.f64 %d1, 0d3FF0000002000000; mov.f64 %d3, 0dBFF0000004000000;\n"                              \
    "mov.b16 %h1, 0x3C10; mov.b16 %h3, 0xBC20; mov.b32 %r1, 0x3F883F88; mov.b32 %r3, 0xBF90BF90;\n"    \
    "mov.f32 %f9, 0f00000000;\n"
#define FLOAT "mov.b32 %r9, %f9; cvt.u64.u32 %rd9, %r9;"
#define TAIL "\nst.global.b64 [%rd1], %rd9;\nret;\n}\n"

static const Case cases[] = {
    {"mul.f32 %f5, %f1, %f1; add.f32 %f9, %f5, %f3;" FLOAT, 2, {0, 0x33800000}},
    {"mul.f32 %f5, %f1, %f1; add.f32 %f9, %f3, %f5;" FLOAT, 2, {0, 0x33800000}},
    {"mul.f32 %f5, %f1, %f1; sub.f32 %f9, %f5, %f2;" FLOAT, 2, {0, 0x33800000}},
    {"mul.f32 %f5, %f1, %f1; sub.f32 %f9, %f2, %f5;" FLOAT, 2, {0, 0xb3800000}},
    {"mul.f32 %f5, %f1, %f1; neg.f32 %f6, %f5; add.f32 %f9, %f6, %f2;" FLOAT, 2, {0, 0xb3800000}},
    {"mul.f32 %f5, %f1, %f1; neg.f32 %f6, %f5; sub.f32 %f9, %f3, %f6;" FLOAT, 2, {0, 0x33800000}},
    {"mul.f32 %f5, %f1, %f1; mov.f32 %f6, %f5; add.f32 %f9, %f6, %f3;" FLOAT, 2, {0, 0x33800000}},
    {"mul.f32 %f5, %f1, 0f3F800800; add.f32 %f9, %f5, 0fBF801000;" FLOAT, 2, {0, 0x33800000}},
    {"mul.ftz.f32 %f5, %f1, %f1; add.ftz.f32 %f9, %f5, %f3;" FLOAT, 2, {0, 0x33800000}},
    {"mul.f32 %f5, %f1, %f1; add.sat.f32 %f9, %f5, %f3;" FLOAT, 2, {0, 0x33800000}},
    {"mul.f32 %f5, %f1, %f1; @%p1 add.f32 %f9, %f5, %f3;" FLOAT, 2, {0, 0x33800000}},
    {"mul.f32 %f5, %f1, %f1; mov.f32 %f1, 0f00000000; add.f32 %f9, %f5, %f3;" FLOAT, 2, {0, 0x33800000}},
    {"mul.f32 %f1, %f1, %f1; add.f32 %f9, %f1, %f3;" FLOAT, 2, {0, 0x33800000}},
    {"mul.f32 %f5, %f1, %f1; add.f32 %f6, %f5, %f3; add.f32 %f9, %f5, %f3; sub.f32 %f9, %f9, %f6;" FLOAT, 2, {0, 0}},
    {"mul.f32 %f5, %f1, %f1; mul.f32 %f6, %f1, %f4; add.f32 %f9, %f5, %f6;" FLOAT, 3, {0, 0x33800000, 0xb3800000}},
    {"mul.f32 %f5, %f1, %f1; mul.f32 %f6, %f1, %f1; sub.f32 %f9, %f5, %f6;" FLOAT, 3, {0, 0x33800000, 0xb3800000}},
    {"mul.f64 %d5, %d1, %d1; add.f64 %d9, %d5, %d3; mov.b64 %rd9, %d9;", 2, {0, 0x3c90000000000000}},
    {"mul.f16 %h5, %h1, %h1; add.f16 %h9, %h5, %h3; cvt.u64.u16 %rd9, %h9;", 2, {0, 0x0c00}},
    {"mul.bf16x2 %r5, %r1, %r1; add.bf16x2 %r9, %r5, %r3; cvt.u64.u32 %rd9, %r9;", 2, {0, 0x3b803b80}},
    {"mul.rn.f32 %f5, %f1, %f1; add.f32 %f9, %f5, %f3;" FLOAT, 1, {0}},
    {"mul.f32 %f5, %f1, %f1; add.rn.f32 %f9, %f5, %f3;" FLOAT, 1, {0}},
    {"mul.ftz.f32 %f5, %f1, %f1; add.f32 %f9, %f5, %f3;" FLOAT, 1, {0}},
    {"mul.f32 %f5, %f1, %f1; add.ftz.f32 %f9, %f5, %f3;" FLOAT, 1, {0}},
    {"mul.f32 %f5, %f1, %f1; L: add.f32 %f9, %f5, %f3;" FLOAT, 1, {0}},
    {"mul.f32 %f5, %f1, %f1; @!%p1 bra L; add.f32 %f9, %f5, %f3; L:" FLOAT, 1, {0}},
    {"@%p1 mul.f32 %f5, %f1, %f1; add.f32 %f9, %f5, %f3;" FLOAT, 1, {0}},
    {"mul.sat.f32 %f5, %f1, %f1; add.f32 %f9, %f5, 0fBF800000;" FLOAT, 1, {0}},
    {"mul.f32 %f5, %f1, %f1; mov.f32 %f5, %f2; add.f32 %f9, %f5, %f3;" FLOAT, 1, {0}},
    {"mul.f32 %f5, %f1, %f1; mov.b64 {%f5, %f6}, %rd1; mov.f32 %f6, %f2; add.f32 %f9, %f6, %f3; "
     "sub.f32 %f5, %f5, %f5;" FLOAT, 1, {0}},
    {"mul.f32 %f5, %f1, %f1; abs.f32 %f6, %f5; add.f32 %f9, %f6, %f3;" FLOAT, 1, {0}},
    {"add.f32 %f5, %f1, %f1; mul.f32 %f9, %f5, 0f00000000;" FLOAT, 1, {0}},
};

static void body(WbbCx *cx, void *arg)
{
    static const int args[] = {0};
    Run *r = arg;
    SimReport report = {0};
    SimBuffer buffer = {.bytes = (uint8_t *)&r->out, .size = 8, .role = BD_OUT};
    const BdLaunch launch = {
        .entry = "k", .grid = {1, 1, 1}, .block = {1, 1, 1}, .cluster = {1, 1, 1}, .n_args = 1, .args = args};
    const SimModule *m = sim_parse_fused(cx, cx->arena, "test.ptx", r->text, r->fused);
    r->ways = sim_fusings(m);
    sim_run(cx, cx->arena, m, &launch, &buffer, 1, &(SimOptions){.check = true}, &report);
    if (report.n_faults) fail_msg("%s", report.faults[0]);
}

static void test_ways(void **state)
{
    WbbCx *cx = *state;
    for (size_t k = 0; k < WBB_LEN(cases); k++)
        for (uint32_t way = 0; way < cases[k].ways; way++) {
            Run r = {.text = wbb_format(cx->arena, "%s%s%s", HEAD, cases[k].body, TAIL), .fused = (SimFusing)way};
            succeed_on(cx, body, &r, cases[k].body);
            if (r.ways != cases[k].ways) fail_msg("%s: %u ways, not %u", cases[k].body, r.ways, cases[k].ways);
            if (r.out != cases[k].results[way])
                fail_msg("%s: way %u gives 0x%llx", cases[k].body, way, (unsigned long long)r.out);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_ways)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
