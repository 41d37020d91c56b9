/* hlo_normalise: the normal form keeps the promises of hlo.h for any module.
 * tests/hlo/hlo_normalise.py tests that it keeps the meaning. */
#include "hlo/hlo.h"

#include "unit.h"

#include <stdio.h>

typedef struct {
    const char *text, *pass;
    const HloModule *parsed, *made;
} Job;

static void body(WbbCx *cx, void *arg)
{
    Job *j = arg;
    j->parsed = hlo_parse(cx, cx->arena, "t.hlo", j->text, strlen(j->text));
    j->made = j->pass ? hlo_run_pass(cx, cx->arena, j->parsed, j->pass) : hlo_normalise(cx, cx->arena, j->parsed);
}

static Job run(WbbCx *cx, const char *text, const char *pass)
{
    Job j = {.text = text, .pass = pass};
    succeed_on(cx, body, &j, text);
    return j;
}

static void check_computation(const HloModule *m, const HloComputation *c)
{
    uint32_t uses = 0, users = 0, parameters = 0;
    assert_ptr_equal(c->module, m);
    assert_ptr_equal(c->instructions[c->root->id], c->root);
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        const HloInstruction *i = c->instructions[k];
        assert_int_equal(i->id, k);
        assert_true(i->loc.line > 0);
        assert_non_null(i->attributes);
        for (uint32_t j = 0; j < i->n_operands; j++) {
            assert_true(i->operands[j]->id < k);
            assert_ptr_equal(c->instructions[i->operands[j]->id], i->operands[j]);
        }
        for (uint32_t j = 0; j < i->n_called; j++) {
            assert_true(i->called[j]->id < c->id);
            assert_ptr_equal(m->computations[i->called[j]->id], i->called[j]);
        }
        for (uint32_t j = 0; j < k; j++) assert_string_not_equal(c->instructions[j]->name, i->name);
        uses += i->n_operands;
        users += i->n_users;
        if (i->opcode != HLO_PARAMETER) continue;
        assert_ptr_equal(c->parameters[i->number], i);
        parameters++;
    }
    assert_int_equal(uses, users);
    assert_int_equal(parameters, c->n_parameters);
}

static void check_module(const HloModule *m)
{
    for (uint32_t c = 0; c < m->n_computations; c++) {
        assert_int_equal(m->computations[c]->id, c);
        check_computation(m, m->computations[c]);
        for (uint32_t d = 0; d < c; d++) assert_string_not_equal(m->computations[c]->name, m->computations[d]->name);
    }
    assert_ptr_equal(m->computations[m->entry->id], m->entry);
}

static const HloInstruction *named(const HloModule *m, const char *name)
{
    for (uint32_t k = 0; k < m->entry->n_instructions; k++)
        if (strcmp(m->entry->instructions[k]->name, name) == 0) return m->entry->instructions[k];
    return NULL;
}

static const char everything[] =
    "add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) }\n"
    "add.f32 { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) }\n"
    "ge { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = pred[] compare(x, y), direction=GE }\n"
    "two { x = f32[] parameter(0) y = f32[] parameter(1) c = f32[] constant(2) s = f32[] add(x, y) ROOT m = f32[] "
    "multiply(s, c) }\n"
    "callee { a = f32[4,6] parameter(0) ROOT n = f32[4,6] negate(a) }\n"
    "ENTRY e {\n"
    "  x = f32[4,6] parameter(0)\n"
    "  src = f32[2,3] parameter(1)\n"
    "  sc = f32[6] parameter(2)\n"
    "  off = f32[6] parameter(3)\n"
    "  idx = s32[5,2] parameter(4)\n"
    "  upd = f32[5] parameter(5)\n"
    "  one = f32[] constant(1)\n"
    "  zero = f32[] constant(0)\n"
    "  sh = f32[4,6]{0,1} custom-call(x), custom_call_target=\"Sharding\"\n"
    "  c = f32[4,6] call(sh), to_apply=callee\n"
    "  m = f32[4,6] map(c, x), dimensions={0,1}, to_apply=two\n"
    "  cl = f32[4,6] clamp(zero, m, one)\n"
    "  bn = (f32[4,6], f32[6], f32[6]) batch-norm-training(cl, sc, off), epsilon=0.001, feature_index=1\n"
    "  b0 = f32[4,6] get-tuple-element(bn), index=0\n"
    "  sas = f32[4,6] select-and-scatter(b0, src, zero), window={size=2x2 stride=2x2}, select=ge, scatter=add\n"
    "  g = f32[5] gather(sas, idx), offset_dims={}, collapsed_slice_dims={0,1}, start_index_map={1,0}, "
    "index_vector_dim=1, "
    "slice_sizes={1,1}\n"
    "  sct = f32[4,6] scatter(b0, idx, upd), update_window_dims={}, inserted_window_dims={0,1}, "
    "scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, to_apply=add\n"
    "  neg = ((f32[4,6]), f32[4,6], u32[]) negate-start(sct)\n"
    "  nd = f32[4,6] negate-done(neg)\n"
    "  im = f32[4,6] add(nd, one)\n"
    "  ROOT t = (f32[5], f32[4,6]) tuple(g, im)\n"
    "}\n";

/* Each pass alone, and all of them; a second run changes nothing. */
static void test_promises(void **state)
{
    WbbCx *cx = *state;
    uint32_t changed = 0;
    for (const HloPass *p = hlo_passes; p->scope == HLO_FOR_ALL; p++) {
        const Job j = run(cx, everything, p->name);
        check_module(j.made);
        changed += j.made != j.parsed;
        assert_ptr_equal(p->run(cx, cx->arena, j.made), j.made);
    }
    assert_true(changed >= 9);
    const Job j = run(cx, everything, NULL);
    check_module(j.made);
    assert_ptr_equal(hlo_normalise(cx, cx->arena, j.made), j.made);
    assert_int_equal(j.made->entry->n_parameters, 6);
    for (uint32_t k = 0; k < j.made->entry->n_instructions; k++) {
        const HloOpcode op = j.made->entry->instructions[k]->opcode;
        assert_true(op != HLO_CALL && op != HLO_MAP && op != HLO_CUSTOM_CALL && op != HLO_BATCH_NORM_TRAINING &&
                    op != HLO_SELECT_AND_SCATTER && op != HLO_ASYNC_START && op != HLO_ASYNC_DONE);
    }
}

static void test_untouched(void **state)
{
    static const char text[] = "f { p = f32[8] parameter(0) ROOT n = f32[8] negate(p) }\n"
                               "ENTRY e { p = f32[8] parameter(0) ROOT r = f32[8] fusion(p), kind=kLoop, calls=f }\n";
    WbbCx *cx = *state;
    const Job j = run(cx, text, NULL);
    assert_ptr_equal(j.made, j.parsed);
    assert_null(hlo_run_pass(cx, cx->arena, j.parsed, "no such pass"));
}

/* The list is in order; a pass that stands before what makes its forms, or that ends one for good, is found. */
static void test_order(void **state)
{
    WbbCx *cx = *state;
    uint32_t n = 0, found = 0;
    while (hlo_passes[n].name) n++;
    assert_null(hlo_check_passes(cx->arena, hlo_passes));
    HloPass *changed = WBB_NEW_N(cx->arena, HloPass, n + 1);
    for (uint32_t k = 0; k < n; k++) {
        for (uint32_t j = 0; j <= n; j++) changed[j] = hlo_passes[j];
        changed[k] = hlo_passes[k ? k - 1 : n - 1];
        if (k) changed[k - 1] = hlo_passes[k];
        else changed[k].scope = HLO_FOR_ALL;
        found += hlo_check_passes(cx->arena, changed) != NULL;
    }
    assert_true(found >= 14); /* of neighbours that change places */
    for (uint32_t j = 0; j <= n; j++) changed[j] = hlo_passes[j];
    for (uint32_t j = 0; j < n; j++)
        if (!strcmp(changed[j].name, "map")) changed[j].makes = 0;
    assert_string_equal(hlo_check_passes(cx->arena, changed),
                        "pass independent needs a form that no pass above it leaves");
    for (uint32_t j = 0; j <= n; j++) changed[j] = hlo_passes[j];
    for (uint32_t j = 0; j < n; j++)
        if (!strcmp(changed[j].name, "scatter")) changed[j].makes = 0;
    assert_string_equal(hlo_check_passes(cx->arena, changed), "after pass dead the module is not in normal form");
    for (uint32_t j = 0; j <= n; j++) changed[j] = hlo_passes[j];
    changed[1].stays = NULL;
    assert_string_equal(hlo_check_passes(cx->arena, changed), "pass nested does not say why it is C");
    changed[1].rules = "patterns/arrays.py";
    assert_string_equal(hlo_check_passes(cx->arena, changed), "pass nested does not say why it is C");
}

/* An instruction made by a pass has the location of the one that it was made from. */
static void test_locations(void **state)
{
    const Job j = run(*state, everything, NULL);
    const HloInstruction *i = named(j.made, "sas.reduce-window"), *was = named(j.parsed, "sas");
    assert_non_null(i);
    assert_int_equal(i->loc.line, was->loc.line);
    assert_string_equal(i->loc.file, "t.hlo");
    const HloInstruction *inlined = named(j.made, "s"); /* from the body of `two`, on line 4 */
    assert_non_null(inlined);
    assert_int_equal(inlined->loc.line, 4);
}

/* Of sixty nested calls, each of which would double the module, some are not inlined, so that the module stays
 * small. */
static void test_limit(void **state)
{
    WbbCx *cx = *state;
    WbbBuf b = wbb_buf(cx->arena);
    wbb_put(&b, "f0 { p = f32[] parameter(0) ROOT n = f32[] negate(p) }\n");
    for (int k = 1; k <= 60; k++)
        wbb_putf(
            &b, "f%d { p = f32[] parameter(0) a = f32[] call(p), to_apply=f%d ROOT b = f32[] call(a), to_apply=f%d }\n",
            k, k - 1, k - 1);
    wbb_put(&b, "ENTRY e { p = f32[] parameter(0) ROOT r = f32[] call(p), to_apply=f60 }\n");
    const Job j = run(cx, b.text, NULL);
    uint64_t n = 0;
    bool called = false;
    for (uint32_t c = 0; c < j.made->n_computations; c++) n += j.made->computations[c]->n_instructions;
    for (uint32_t c = 0; c < j.made->n_computations; c++)
        called = called || j.made->computations[c]->root->opcode == HLO_CALL;
    assert_true(called);
    assert_true(n <= (1 << 20) + 200);
}

/* The replacement of an instruction keeps its metadata. */
static void test_metadata(void **state)
{
    static const char text[] = "ENTRY e { p = f32[8] parameter(0) s = f32[] parameter(1)\n"
                               "  ROOT c = f32[8] clamp(s, p, s), metadata={op_name=\"mine\"} }\n";
    const Job j = run(*state, text, NULL);
    const HloInstruction *root = j.made->entry->root;
    assert_string_equal(root->name, "c");
    assert_non_null(strstr(root->attributes, "op_name=\"mine\""));
    assert_non_null(strstr(root->operands[0]->attributes, "op_name=\"mine\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_promises),
        TEST(test_untouched),
        TEST(test_order),
        TEST(test_locations),
        TEST(test_limit),
        TEST(test_metadata),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
