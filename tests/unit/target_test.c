/* target: targets are found by name; a cubin is read as ptxas wrote it, or refused if it is damaged. */
#include "target/target.h"

#include "unit.h"

/* Loads of 16 and 2 bytes, a store of 4 bytes, shared memory, a barrier, a shuffle, an atomic. */
static const char ptx[] =
    ".version 7.8\n.target sm_80\n.address_size 64\n"
    ".visible .entry k(.param .u64 a)\n{\n"
    ".reg .b64 %p; .reg .b32 %r<8>; .reg .b16 %h; .reg .f32 %f; .shared .align 4 .b8 tile[128];\n"
    "ld.param.u64 %p, [a]; mov.u32 %r5, %tid.x; mad.wide.u32 %p, %r5, 32, %p;\n"
    "cvta.to.global.u64 %p, %p;\n"
    "ld.volatile.global.v4.b32 {%r0, %r1, %r2, %r3}, [%p]; ld.volatile.global.b16 %h, [%p+16];\n"
    "cvt.u32.u16 %r4, %h; add.u32 %r4, %r4, %r0; xor.b32 %r4, %r4, %r3; mov.b32 %f, %r4; sin.approx.f32 %f, %f;\n"
    "mov.b32 %r4, %f; st.shared.b32 [tile], %r4; bar.sync 0; ld.shared.b32 %r4, [tile];\n"
    "shfl.sync.bfly.b32 %r2, %r2, 1, 31, -1; xor.b32 %r4, %r4, %r2; atom.global.cas.b32 %r4, [%p+24], %r4, %r1;\n"
    "st.global.b32 [%p+20], %r4;\nret;\n}\n";

typedef struct {
    WbbArena *arena;
    TgCubin cubin;
    TgSass sass;
    const char *ptx, *kernel;
} Job;

static void assemble(WbbCx *cx, void *arg)
{
    Job *j = arg;
    const TgTarget *t = tg_find("sm_80");
    assert_non_null(t);
    j->cubin = tg_assemble(cx, j->arena, t, j->ptx, "k");
}

static void read_it(WbbCx *cx, void *arg)
{
    Job *j = arg;
    j->sass = tg_sass(cx, tg_find("sm_80"), &j->cubin, j->kernel);
}

static void test_find(void **state)
{
    (void)state;
    uint32_t n = 0;
    const TgTarget *const *all = tg_all(&n);
    assert_in_range(n, 1, 100);
    for (uint32_t i = 0; i < n; i++) assert_ptr_equal(tg_find(all[i]->name), all[i]);
    assert_null(tg_find("sm_1"));
}

static void test_numbers(void **state)
{
    (void)state;
    const TgTarget *t = tg_find("sm_90");
    assert_non_null(t);
    assert_int_equal(tg_tune(t, "loop.unroll", 16)->value, 8);
    assert_int_equal(tg_tune(t, "loop.block", 16)->bits, 0); /* for all widths */
}

/* Numbers and rates of every target: each is found by its name; bounds of rates hold the value, and the numbers agree
 * with those of TARGET and with each other. */
static void test_rates(void **state)
{
    (void)state;
    uint32_t n = 0;
    const TgTarget *const *all = tg_all(&n);
    for (uint32_t i = 0; i < n; i++) {
        const TgTarget *t = all[i];
        for (uint32_t k = 0; k < t->n_tunes; k++)
            assert_ptr_equal(tg_tune(t, t->tunes[k].name, t->tunes[k].bits), &t->tunes[k]);
        for (uint32_t k = 0; k < t->n_rates; k++) {
            const TgRate *r = &t->rates[k];
            assert_ptr_equal(tg_rate(t, r->name), r);
            assert_true(r->low > 0 && r->low <= r->value && r->value <= r->high && r->source[0] && r->unit[0]);
        }
        assert_true(tg_rate(t, "l2")->value > tg_rate(t, "dram")->value);
        assert_true(tg_rate(t, "latency.l1")->value < tg_rate(t, "latency.l2")->value);
        assert_true(tg_rate(t, "latency.l2")->value < tg_rate(t, "latency.dram")->value);
        assert_int_equal(tg_rate(t, "issue")->value, 4);
        assert_int_equal(tg_find_rate(t, "latency.cluster") != NULL, strstr(t->features, "cluster") != NULL);
    }
    const TgTarget *t = tg_find("sm_90");
    assert_true(tg_rate(t, "dram")->value == 4.4e12 && tg_rate(t, "dram")->stated);
    t = tg_find("sm_100");
    assert_false(tg_rate(t, "pipe.redux")->stated);
    assert_true(tg_rate(t, "pipe.redux")->value == 16); /* of 8 and 32 */
    assert_null(tg_find_rate(tg_find("sm_75"), "pipe.redux"));
    assert_null(tg_find_rate(t, "pipe"));
}

static void test_prices(void **state)
{
    (void)state;
    uint32_t n = 0;
    const TgTarget *const *all = tg_all(&n);
    for (uint32_t i = 0; i < n; i++) {
        const TgPrice *add = tg_price(all[i], "add.rn.f32", 10), *load = tg_price(all[i], "ld.global.nc.v4.b32", 19);
        assert_non_null(add);
        assert_non_null(load);
        assert_true(add->issue == 1 && add->cycles[TG_PIPE_FMA] == (float)(128 / tg_rate(all[i], "pipe.fma")->value));
        assert_true(load->cycles[TG_PIPE_LSU] > 0 && load->latency == (float)tg_rate(all[i], "latency.l1")->value);
        assert_true(add->low <= add->cycles[TG_PIPE_FMA] && add->cycles[TG_PIPE_FMA] <= add->high);
    }
    const TgTarget *t = tg_find("sm_90");
    assert_ptr_equal(tg_price(t, "add.rn.f32 imm", 14), tg_price(t, "add.rn.f32", 10)); /* a literal costs no more */
    assert_ptr_not_equal(tg_price(t, "div.full.f32 imm", 16), tg_price(t, "div.full.f32", 12));
    assert_ptr_equal(tg_price(t, "add.rn.f32, and more", 10), tg_price(t, "add.rn.f32", 10)); /* n bytes of it */
    assert_true(tg_price(t, "ex2.approx.ftz.f32", 18)->cycles[TG_PIPE_XU] == 8);
    assert_true(tg_price(t, "div.rn.f32", 10)->off > 0);
    assert_null(tg_price(t, "add.rn.f3", 9)); /* the beginning of one */
    assert_null(tg_price(t, "add.rn.f322", 11));
    assert_null(tg_price(t, "", 0));
    assert_null(tg_price(t, "nothing imm", 11));
    assert_null(tg_price(tg_find("sm_75"), "redux.sync.add.s32", 18)); /* from sm_80 */
    assert_string_equal(tg_pipe_name[TG_PIPE_CONTROL], "control");
}

static void test_generations(void **state)
{
    (void)state;
    static const struct { const char *name; uint32_t smem, warps, blocks, vector_bytes; bool bf16, f8, pairs; } known[] = {
        {"sm_75", 64, 32, 16, 16, false, false, false}, {"sm_80", 163, 64, 32, 16, true, false, false}, {"sm_86", 99, 48, 16, 16, true, false, false},
        {"sm_89", 99, 48, 24, 16, true, true, false},   {"sm_90", 227, 64, 32, 16, true, true, false},  {"sm_100", 227, 64, 32, 32, true, true, true},
        {"sm_103", 227, 64, 32, 32, true, true, true},  {"sm_110", 227, 48, 24, 32, true, true, true},
        {"sm_120", 99, 48, 24, 32, true, true, true}};
    for (size_t i = 0; i < WBB_LEN(known); i++) {
        const TgTarget *t = tg_find(known[i].name);
        assert_non_null(t);
        assert_int_equal(t->smem, known[i].smem * 1024);
        assert_in_range(t->sm_smem, t->smem, t->smem + 1024);
        assert_int_equal(t->warps, known[i].warps);
        assert_int_equal(t->blocks, known[i].blocks);
        assert_int_equal(t->sm_regs, 65536);
        assert_int_equal(t->regs, 255);
        assert_int_equal(t->vector_bytes, known[i].vector_bytes);
        assert_int_equal(strstr(t->features, "bf16.fma") != NULL, known[i].bf16);
        assert_int_equal(strstr(t->features, "cvt.f8") != NULL, known[i].f8);
        assert_int_equal(strstr(t->features, "add.f32x2") != NULL, known[i].pairs);
    }
    uint32_t n = 0;
    const TgTarget *const *all = tg_all(&n);
    for (uint32_t i = 0; i < n; i++) /* targets with equal rules share their tables */
        for (uint32_t k = 0; k < i; k++) {
            const RwTables *x = all[i]->tables, *y = all[k]->tables;
            const bool alike = x->n_code == y->n_code && x->n_imm == y->n_imm &&
                               !memcmp(x->code, y->code, x->n_code * sizeof *x->code) &&
                               !memcmp(x->imm, y->imm, x->n_imm * sizeof *x->imm);
            assert_int_equal(alike, x->code == y->code);
        }
    assert_ptr_not_equal(tg_find("sm_80")->tables->code, tg_find("sm_90")->tables->code);
}

static void test_sass(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    Job j = {.arena = wbb_arena_new(cx), .ptx = ptx, .kernel = "k"};
    if (wbb_guard(cx, assemble, &j) != WBB_OK) fail_msg("%s", cx->messages);
    if (!j.cubin.bytes) skip();
    assert_int_equal(wbb_guard(cx, read_it, &j), WBB_OK);
    assert_in_range(j.sass.sass, 15, 60);
    assert_in_range(j.sass.regs, 8, 32);
    assert_int_equal(j.sass.smem_bytes, 128);
    assert_int_equal(j.sass.stack_bytes, 0);
    assert_int_equal(j.sass.ldg[4], 1);
    assert_int_equal(j.sass.ldg[1], 1);
    assert_int_equal(j.sass.stg[2], 1);
    assert_int_equal(j.sass.lds[2], 1);
    assert_int_equal(j.sass.sts[2], 1);
    assert_int_equal(j.sass.bar, 1);
    assert_int_equal(j.sass.shfl, 1);
    assert_int_equal(j.sass.atom, 1);
    assert_int_equal(j.sass.branch, 0); /* without the one that follows the kernel's end */
    assert_int_equal(j.sass.mufu, 1);

    j.kernel = "other";
    assert_int_equal(wbb_guard(cx, read_it, &j), WBB_FAILED);
    assert_non_null(strstr(cx->messages, "no kernel other"));
    wbb_arena_free(j.arena);
    wbb_cx_free(cx);
}

/* Every prefix of a cubin is read or refused, and nothing beyond it is read. */
static void test_damaged(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    Job j = {.arena = wbb_arena_new(cx), .ptx = ptx, .kernel = "k"};
    assert_int_equal(wbb_guard(cx, assemble, &j), WBB_OK);
    if (!j.cubin.bytes) skip();
    const TgCubin whole = j.cubin;
    for (size_t n = 0; n < whole.n; n += 7) {
        WbbArena *a = wbb_arena_new(cx);
        uint8_t *copy = wbb_alloc(a, n + 1);
        memcpy(copy, whole.bytes, n);
        j.cubin = (TgCubin){.bytes = copy, .n = n};
        (void)wbb_guard(cx, read_it, &j);
        wbb_arena_free(a);
        wbb_cx_clear(cx);
    }
    j.cubin = (TgCubin){.bytes = (const uint8_t *)ptx, .n = sizeof ptx};
    assert_int_equal(wbb_guard(cx, read_it, &j), WBB_FAILED);
    assert_non_null(strstr(cx->messages, "not a cubin"));
    wbb_arena_free(j.arena);
    wbb_cx_free(cx);
}

static void test_refused(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    Job j = {.arena = wbb_arena_new(cx), .ptx = ".version 7.8\n.target sm_80\n.address_size 64\nnonsense\n"};
    if (!tg_find_ptxas(cx, j.arena)) skip();
    assert_int_equal(wbb_guard(cx, assemble, &j), WBB_FAILED);
    assert_non_null(strstr(cx->messages, "refuses k for sm_80"));
    wbb_arena_free(j.arena);
    wbb_cx_free(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_find), cmocka_unit_test(test_numbers), cmocka_unit_test(test_rates), cmocka_unit_test(test_prices), cmocka_unit_test(test_generations), cmocka_unit_test(test_sass),
                                       cmocka_unit_test(test_damaged), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
