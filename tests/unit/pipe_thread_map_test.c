/* pipe_thread_map: the thread map check accepts kernels that store each element once, and finds each kind of error. */
#include "pipe/pipe.h"

#include "unit.h"

typedef struct {
    const char *text, *fault; /* part of the message; NULL: no fault */
    int64_t stored;
} Case;

/* All elements of an output must be stored. */
static const Case cases[] = {
    {"kernel @f(%out: out f32[1000]) block 128 grid 8 { if lt.index(128*bid + tid, 1000) { let t = 128*bid + tid in 0..1000 store %out[t], 1.0 } }", NULL, 1000},
    {"kernel @f(%out: out f32[1024]) block 128 grid 2 { for v in 0..4 { store %out[4*(128*bid + tid) + v], 1.0 } }", NULL, 1024},
    {"kernel @f(%out: out f32[256]) block 64 grid 1 { store %out[4*tid], 1.0:f32x4 }", NULL, 256},
    {"kernel @f(%out: out f32[12]) block 4 grid 3 { store %out[2*(tid % 2) + tid // 2 + 4*bid], 1.0 }", NULL, 12},
    {"kernel @f(%out: out f32[12]) block 4 grid 3 { store %out[3*tid + bid], 1.0 store %out[bid], 1.0 }", "%out[0] is stored again by thread 0 of block 0", 0},
    {"kernel @f(%out: out f32[12]) block 4 grid 3 { store %out[3*tid], 1.0 }", "%out[0] is stored again by thread 0 of block 1", 0},
    {"kernel @f(%out: out f32[12]) block 4 grid 3 { store %out[4*tid + bid], 1.0 }", "%out[12] is stored by thread 3 of block 0: it has 12 elements", 0},
    {"kernel @f(%out: out f32[13]) block 4 grid 3 { store %out[3*tid + bid], 1.0 }", "%out: 12 of 13 elements are stored", 0},
    {"kernel @f(%x: f32[12], %out: out f32[12]) block 12 grid 1 { if lt.f32(load %x[tid], 0.0) { store %out[tid], 1.0 } }", "the condition or the index of a store depends on", 0},
    /* the block that draws the last ticket stores the results */
    {"kernel @f(%out: out f32[32], %turn: temp u32[1], %last: shared u32[1]) block 32 grid 4 { n = do ticket.u32(%turn[0], 3) store %last[0], n "
     "do barrier() r = do read.u32(%last[0]) if eq.u32(r, 3) { store %out[tid], 1.0 } }", NULL, 32},
    {"kernel @f(%out: out f32[32], %turn: temp u32[1], %last: shared u32[1]) block 31 grid 4 { n = do ticket.u32(%turn[0], 3) store %last[0], n "
     "do barrier() r = do read.u32(%last[0]) if eq.u32(r, 3) { store %out[tid], 1.0 } }", "%out: 31 of 32 elements are stored", 0},
};

static Case in;
static int64_t stored;
static const char *fault;

static void look(WbbCx *cx, void *arg)
{
    (void)arg;
    const IrKernel *k = ir_parse(cx, cx->arena, "case", in.text, strlen(in.text));
    fault = pipe_thread_map(cx, cx->arena, k, NULL, NULL, &stored);
}

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        WbbCx *cx = wbb_cx_new();
        in = cases[i];
        if (wbb_guard(cx, look, NULL) != WBB_OK) fail_msg("%s", cx->messages);
        if (in.fault && !(fault && strstr(fault, in.fault))) fail_msg("%s: %s", in.text, fault ? fault : "no fault");
        if (!in.fault && fault) fail_msg("%s: %s", in.text, fault);
        if (!in.fault) assert_int_equal(stored, in.stored);
        wbb_cx_free(cx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
