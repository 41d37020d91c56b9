/* fuse: which operations become one kernel and which a library call, and which parts are equal and counted once. */
#include "fuse/fuse.h"

#include "unit.h"

typedef struct {
    WbbArena *arena;
    const char *text;
    FuseParts parts;
    bool joined;        /* the kernels are one */
    const char *result; /* "y z = p d; ..": what each step makes and reads */
} Job;

static void cut(WbbCx *cx, void *arg)
{
    Job *j = arg;
    j->parts = fuse_parts(cx, j->arena,
                          hlo_normalise(cx, j->arena, hlo_parse(cx, j->arena, "t.hlo", j->text, strlen(j->text))),
                          &(FuseHow){.mode = FUSE_PLAIN});
    for (uint32_t k = 0; k < j->parts.n; k++) { /* each kernel is written as a module with one fusion */
        const FusePart *p = &j->parts.items[k];
        if (!p->text) continue;
        const HloModule *m = hlo_parse(cx, j->arena, p->name, p->text, strlen(p->text));
        assert_non_null(hlo_fusion(cx, m).fusion);
    }
}

/* `expected` has the parts with their counts, library calls with their operation: "y x1, d (dot) x2". */
static void check(const char *text, const char *expected)
{
    WbbCx *cx = wbb_cx_new();
    Job j = {.arena = wbb_arena_new(cx), .text = text};
    if (wbb_guard(cx, cut, &j) != WBB_OK) fail_msg("%s", cx->messages);
    WbbBuf b = wbb_buf(j.arena);
    for (uint32_t k = 0; k < j.parts.n; k++) {
        const FusePart *p = &j.parts.items[k];
        wbb_putf(&b, "%s%s", k ? ", " : "", p->name);
        if (!p->text) wbb_putf(&b, " (%s)", hlo_opcode_name(p->at->opcode));
        wbb_putf(&b, " x%llu", (unsigned long long)p->count);
    }
    assert_string_equal(b.text, expected);
    wbb_cx_free(cx);
}

static void test_elementwise_is_one(void **state)
{
    (void)state;
    check("ENTRY e { p = f32[8] parameter(0) a = f32[8] sine(p) b = f32[8] add(a, p) ROOT y = f32[8] multiply(a, b) }",
          "y x1");
    /* without a computation there is no part */
    check("ENTRY e { p = f32[8] parameter(0) ROOT t = (f32[8]) tuple(p) }", "");
}

/* A value that two kernels need is computed once; a move or conversion is repeated in both. */
static void test_shared_values(void **state)
{
    (void)state;
    static const char *const text =
        "ENTRY e { p = f32[8,8] parameter(0) a = f32[8,8] %s(p) d = f32[8,8] dot(p, p), lhs_contracting_dims={1}, "
        "rhs_contracting_dims={0} x = f32[8,8] add(a, d) g = f32[8,8] dot(x, p), lhs_contracting_dims={1}, "
        "rhs_contracting_dims={0} y = f32[8,8] subtract(a, g) ROOT t = (f32[8,8], f32[8,8]) tuple(x, y) }";
    WbbCx *cx = wbb_cx_new();
    /* a product of an array and itself has one operand */
    check(wbb_format(cx->arena, text, "sine"), "a x1, d (dot) x1, x x1, g (dot) x1, y x1");
    check(wbb_format(cx->arena, text, "negate"), "d (dot) x1, x x1, g (dot) x1, y x1");
    wbb_cx_free(cx);
}

#define ADD "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) } "

static void test_reductions(void **state)
{
    (void)state;
    /* a reduction's kernel includes its operands and the elementwise operations on its result */
    check(ADD "ENTRY e { p = f32[8,64] parameter(0) q = f32[8,64] multiply(p, p) z = f32[] constant(0) r = f32[8] "
              "reduce(q, z), dimensions={1}, to_apply=add "
              "ROOT y = f32[8] sqrt(r) }",
          "y x1");
    /* a user of another size is a kernel of its own */
    check(ADD "ENTRY e { p = f32[8,64] parameter(0) z = f32[] constant(0) r = f32[8] reduce(p, z), dimensions={1}, "
              "to_apply=add "
              "b = f32[8,64] broadcast(r), dimensions={0} ROOT y = f32[8,64] divide(p, b) }",
          "r x1, y x1");
    /* two reductions never share a kernel */
    check(ADD "ENTRY e { p = f32[8,64] parameter(0) z = f32[] constant(0) r = f32[8] reduce(p, z), dimensions={1}, "
              "to_apply=add "
              "q = f32[8,64] sine(p) s = f32[8] reduce(q, z), dimensions={1}, to_apply=add ROOT y = f32[8] add(r, s) }",
          "r x1, y x1");
}

static void test_aliases_make_no_code(void **state)
{
    (void)state;
    check(
        "ENTRY e { p = f32[8,8] parameter(0) s = f32[8,8] sine(p) r = f32[64] reshape(s) ROOT t = (f32[64]) tuple(r) }",
        "s x1");
    /* a reshape between different layouts moves elements */
    check("ENTRY e { p = f32[8,4]{0,1} parameter(0) ROOT r = f32[32]{0} reshape(p) }", "r x1");
}

/* The body of a loop counts once for each loop that uses it; equal parts of different computations are one part. */
static void test_counts(void **state)
{
    (void)state;
    check("body { s = (s32[], f32[8]) parameter(0) i = s32[] get-tuple-element(s), index=0 x = f32[8] "
          "get-tuple-element(s), index=1 one = s32[] constant(1) "
          "j = s32[] add(i, one) y = f32[8] sine(x) ROOT t = (s32[], f32[8]) tuple(j, y) } "
          "cond { s = (s32[], f32[8]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(10) ROOT "
          "c = pred[] compare(i, n), direction=LT } "
          "ENTRY e { p = (s32[], f32[8]) parameter(0) w = (s32[], f32[8]) while(p), condition=cond, body=body "
          "v = (s32[], f32[8]) while(w), condition=cond, body=body x = f32[8] get-tuple-element(v), index=1 "
          "ROOT z = f32[8] sine(x), metadata={op_name=\"another\"} }",
          "z x3, c x2, j x2");
}

static void test_fusions_stay(void **state)
{
    (void)state;
    check("f { a = f32[8] parameter(0) ROOT n = f32[8] negate(a) } ENTRY e { p = f32[8] parameter(0) x = f32[8] "
          "fusion(p), kind=kLoop, calls=f "
          "y = f32[8] sine(x) ROOT z = f32[8] fusion(y), kind=kLoop, calls=f, metadata={op_name=\"m\"} }",
          "x x2, y x1");
}

static void test_canonical_text(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    Job j = {
        .arena = wbb_arena_new(cx),
        .text =
            "ENTRY e { long.name = f32[8] parameter(0) c = f32[] constant(2) b = f32[8] broadcast(c), dimensions={} "
            "ROOT y = f32[8] multiply(b, long.name), metadata={op_name=\"m\"} }"};
    assert_int_equal(wbb_guard(cx, cut, &j), WBB_OK);
    assert_int_equal(j.parts.n, 1);
    assert_string_equal(j.parts.items[0].text,
                        "HloModule part\n\nbody {\n  p0 = f32[8] parameter(0)\n  v0 = f32[] constant(2)\n  v1 = f32[8] "
                        "broadcast(v0), dimensions={}\n"
                        "  ROOT v2 = f32[8] multiply(v1, p0)\n}\n\nENTRY main {\n  p0 = f32[8] parameter(0)\n"
                        "  ROOT fusion = f32[8] fusion(p0), kind=kLoop, calls=body\n}\n");
    wbb_cx_free(cx);
}

/* --- cuts --------------------------------------------------------------------------------------------------------- */
static void cut_steps(WbbCx *cx, void *arg)
{
    Job *j = arg;
    const HloModule *m =
        hlo_normalise(cx, j->arena, hlo_parse(cx, j->arena, "t.hlo", j->text, strlen(j->text)));
    const HloComputation *c = m->entry;
    WbbBuf b = wbb_buf(j->arena);
    FuseCut cut;
    if (j->joined) { /* one kernel makes both elements of the result */
        FuseRole *roles = fuse_decide(j->arena, c);
        struct { const HloInstruction **items; uint32_t n, capacity; } all = {0};
        for (uint32_t k = 0; k < c->n_instructions; k++)
            if (roles[k] == FUSE_ROOT || roles[k] == FUSE_INLINE) WBB_PUSH(j->arena, &all, c->instructions[k]);
        const FuseGroup g = {.roots = (const HloInstruction **)c->root->operands, .n_roots = c->root->n_operands,
                             .members = all.items, .n_members = all.n};
        cut = fuse_steps(cx, j->arena, c, roles, &g, 1);
    } else {
        cut = fuse_cut(cx, j->arena, c, &(FuseHow){.mode = FUSE_PLAIN});
    }
    for (uint32_t k = 0; k < cut.n; k++) {
        const FuseStep *s = &cut.steps[k];
        wbb_putf(&b, "%s%s", k ? "; " : "", s->kind == FUSE_STEP_LIBRARY ? "library " : "");
        for (uint32_t i = 0; i < s->n_makes; i++) wbb_putf(&b, "%s ", s->makes[i]->name);
        wbb_put(&b, "=");
        for (uint32_t i = 0; i < s->n_reads; i++) wbb_putf(&b, " %s", s->reads[i]->name);
        if (!s->text) continue;
        const HloModule *part = hlo_parse(cx, j->arena, "part", s->text, strlen(s->text));
        assert_int_equal(part->entry->n_parameters, s->n_reads);
        for (uint32_t i = 0; i < s->n_reads; i++)
            assert_true(hlo_same_shape(part->entry->parameters[i]->shape, s->reads[i]->shape));
        assert_true(s->n_makes == 1 ? hlo_same_shape(part->entry->root->shape, s->at->shape)
                                    : part->entry->root->shape->n_elements == s->n_makes);
    }
    j->result = b.text;
}

static void check_cut(const char *text, bool joined, const char *expected)
{
    WbbCx *cx = wbb_cx_new();
    Job j = {.arena = wbb_arena_new(cx), .text = text, .joined = joined};
    if (wbb_guard(cx, cut_steps, &j) != WBB_OK) fail_msg("%s", cx->messages);
    assert_string_equal(j.result, expected);
    wbb_cx_free(cx);
}

/* What a step reads is what an earlier one makes, a parameter, or a view or tuple of them. */
static void test_data_flow(void **state)
{
    (void)state;
    static const char *const text =
        "ENTRY e { p = f32[8,8] parameter(0) a = f32[8,8] sine(p) r = f32[64] reshape(a) y = f32[64] negate(r) "
        "d = f32[8,8] dot(a, p), lhs_contracting_dims={1}, rhs_contracting_dims={0} "
        "z = f32[8,8] add(d, p) ROOT t = (f32[64], f32[8,8]) tuple(y, z) }";
    check_cut(text, false, "a = p; y = a; library d = a p; z = d p");
    check_cut("ENTRY e { p = f32[8] parameter(0) y = f32[8] sine(p) z = f32[8] cosine(y) "
              "ROOT t = (f32[8], f32[8]) tuple(y, z) }", true, "y z = p");
}

/* A kernel with several roots waits for all that it reads, and what reads its first root waits for it. */
static void test_order(void **state)
{
    (void)state;
    check_cut("ENTRY e { p = f32[8,8] parameter(0) y = f32[8,8] sine(p) q = f32[8,8] parameter(1) "
              "d = f32[8,8] dot(q, q), lhs_contracting_dims={1}, rhs_contracting_dims={0} "
              "z = f32[8,8] add(d, p) ROOT t = (f32[8,8], f32[8,8]) tuple(y, z) }", true, "library d = q; y z = p d");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_elementwise_is_one), cmocka_unit_test(test_shared_values), cmocka_unit_test(test_reductions),
                                       cmocka_unit_test(test_aliases_make_no_code), cmocka_unit_test(test_counts), cmocka_unit_test(test_fusions_stay), cmocka_unit_test(test_data_flow),
                                       cmocka_unit_test(test_order),
                                       cmocka_unit_test(test_canonical_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
