/* api_program: whole programs of the library: made, listed, run, checked, profiled, written and read; what is refused
 * leaves no program, and what is freed is given back; several threads run one at once. */
#include "warpburg.h"

#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROWS = 8, IN = 16, OUT = 32 };

static const char mlp[] = "HloModule mlp\n\nENTRY e {\n  x = f32[8,16]{1,0} parameter(0)\n"
                          "  w = f32[16,32]{1,0} parameter(1)\n  t = f32[8,16]{1,0} negate(x)\n"
                          "  d = f32[8,32]{1,0} dot(t, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                          "  z = f32[] constant(0)\n  b = f32[8,32]{1,0} broadcast(z), dimensions={}\n"
                          "  ROOT r = f32[8,32]{1,0} maximum(d, b)\n}\n";
/* Doubles p n times, n < 100. */
static const char loop[] =
    "HloModule l\n\nbody {\n  s = (s32[], s32[], f32[64]) parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
    "  n = s32[] get-tuple-element(s), index=1\n  x = f32[64] get-tuple-element(s), index=2\n"
    "  one = s32[] constant(1)\n  j = s32[] add(i, one)\n  y = f32[64] add(x, x)\n"
    "  k = f32[64]{0} constant({1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,"
    "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32})\n"
    "  z = f32[64] multiply(y, k)\n  q = f32[64] divide(z, k)\n"
    "  ROOT t = (s32[], s32[], f32[64]) tuple(j, n, q)\n}\n\n"
    "condition {\n  s = (s32[], s32[], f32[64]) parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
    "  n = s32[] get-tuple-element(s), index=1\n  ROOT c = pred[] compare(i, n), direction=LT\n}\n\n"
    "ENTRY e {\n  n = s32[] parameter(0)\n  p = f32[64] parameter(1)\n  o = s32[] constant(0)\n"
    "  t = (s32[], s32[], f32[64]) tuple(o, n, p)\n"
    "  w = (s32[], s32[], f32[64]) while(t), condition=condition, body=body\n"
    "  ROOT r = f32[64] get-tuple-element(w), index=2\n}\n";
/* The library call reads a constant, which no kernel has in its text. */
static const char with_constant[] =
    "HloModule c\n\nENTRY e {\n  x = f32[8,2]{1,0} parameter(0)\n"
    "  c = f32[2,5]{1,0} constant({{1,2,3,4,5},{6,7,8,9,10}})\n"
    "  d = f32[8,5]{1,0} dot(x, c), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  ROOT r = f32[8,5]{1,0} negate(d)\n}\n";
/* Two fusions, one of which has random numbers. */
static const char declined[] =
    "HloModule d\n\na {\n  x = f32[64]{0} parameter(0)\n  ROOT y = f32[64]{0} negate(x)\n}\n\n"
    "b {\n  x = f32[64]{0} parameter(0)\n  z = f32[] constant(0)\n  o = f32[] constant(1)\n"
    "  r = f32[64]{0} rng(z, o), distribution=rng_uniform\n  ROOT y = f32[64]{0} add(x, r)\n}\n\n"
    "ENTRY e {\n  p = f32[64]{0} parameter(0)\n  f = f32[64]{0} fusion(p), kind=kLoop, calls=a\n"
    "  ROOT g = f32[64]{0} fusion(f), kind=kLoop, calls=b\n}\n";

typedef struct {
    wb_context *cx;
    wb_program *mlp;
    float x[ROWS][IN], w[IN][OUT];
} Given;

static wb_program *compile(wb_context *cx, const char *text, const wb_program_options *o)
{
    wb_program *p = NULL;
    const size_t n = strlen(text);
    char *passing = malloc(n); /* the program keeps no pointer to it */
    memcpy(passing, text, n);
    if (wb_program_compile(cx, "f.hlo", passing, n, o, &p) != WB_OK) fail_msg("%s", wb_messages(cx));
    memset(passing, '?', n);
    free(passing);
    return p;
}

static int open_given(void **state)
{
    Given *g = calloc(1, sizeof *g);
    g->cx = wb_context_new();
    g->mlp = compile(g->cx, mlp, NULL);
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < IN; k++) g->x[i][k] = (float)(i - k);
    for (int k = 0; k < IN; k++)
        for (int j = 0; j < OUT; j++) g->w[k][j] = (float)(k + j % 3);
    *state = g;
    return 0;
}

static int close_given(void **state)
{
    Given *g = *state;
    wb_context_free(g->cx);
    free(g);
    return 0;
}

static int wrong_elements(const Given *g, float y[ROWS][OUT])
{
    int wrong = 0;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < OUT; j++) {
            float sum = 0;
            for (int k = 0; k < IN; k++) sum += -g->x[i][k] * g->w[k][j];
            wrong += y[i][j] != (sum > 0 ? sum : 0);
        }
    return wrong;
}

static wb_kind kind_of(const char *text) { return wb_kind_of(text, strlen(text)); }

static void test_kinds(void **state)
{
    (void)state;
    static const char one[] = "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT y = f32[4] negate(x)\n}\n";
    static const char dot[] = "HloModule m\nENTRY e {\n  x = f32[4,4] parameter(0)\n  ROOT y = f32[4,4] dot(x, x), "
                              "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n";
    assert_int_equal(kind_of(one), WB_ONE_STEP);
    assert_int_equal(kind_of(dot), WB_ONE_STEP);
    assert_int_equal(kind_of("?"), WB_ONE_STEP);
    assert_int_equal(kind_of(loop), WB_SEVERAL_STEPS);
    assert_int_equal(kind_of(mlp), WB_WITH_CALLS);
    assert_int_equal(kind_of(declined), WB_SEVERAL_FUSIONS);
    static const char thin[] = "HloModule m\nENTRY e {\n  x = f32[64,64] parameter(0)\n  v = f32[64] parameter(1)\n  "
                               "ROOT y = f32[64] dot(x, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n";
    assert_int_equal(wb_library_calls(mlp, strlen(mlp)), 1);
    assert_int_equal(wb_library_calls(thin, sizeof thin - 1), 0);
    assert_int_equal(wb_library_calls("?", 1), -1);
    wb_context *cx = wb_context_new();
    assert_false(wb_better_apart(cx, loop, strlen(loop), NULL));
    assert_false(wb_better_apart(cx, "?", 1, NULL));
    assert_false(wb_better_apart(cx, loop, strlen(loop), &(wb_options){.target = "none"}));
    wb_context_free(cx);
}

static void test_listed(void **state)
{
    const Given *g = *state;
    const wb_program *p = g->mlp;
    wb_array a;
    wb_computation c;
    wb_step s = {0};
    wb_value v;
    wb_region r;
    wb_memory m;
    assert_string_equal(wb_program_name(p), "mlp");
    assert_string_equal(wb_program_target(p), "sm_90");
    assert_string_equal(wb_program_hlo(p), mlp);
    assert_non_null(strstr(wb_program_json(p), "\"warpburg program\""));
    assert_non_null(strstr(wb_program_summary(p), "2 kernels, 1 library call"));
    assert_true(wb_program_input(p, 1, &a));
    assert_int_equal(a.bytes, IN * OUT * 4);
    assert_false(wb_program_input(p, 2, &a));
    assert_true(wb_program_output(p, 0, &a));
    assert_int_equal(a.dims[1], OUT);
    assert_false(wb_program_output(p, 1, &a));
    wb_program_memory(p, &m);
    assert_int_equal(m.parameters, (ROWS * IN + IN * OUT) * 4);
    assert_int_equal(m.peak, m.parameters + m.results + m.constants + m.temporaries);
    assert_int_equal(wb_program_kernels(p), 2);
    assert_null(wb_program_kernel(p, 2));
    assert_true(wb_program_computation(p, wb_program_entry(p), &c));
    assert_false(wb_program_computation(p, 1, &c));
    assert_int_equal(c.n_steps, 3);
    assert_int_equal(c.n_parameters, 2);
    const wb_step_kind kinds[] = {WB_STEP_KERNEL, WB_STEP_LIBRARY, WB_STEP_KERNEL};
    for (uint32_t i = 0; i < c.n_steps; i++) {
        assert_true(wb_program_step(p, 0, i, &s));
        assert_int_equal(s.kind, kinds[i]);
        assert_int_equal(s.kernel, i == 1 ? -1 : (int)i / 2);
        assert_int_equal(s.n_reads, 1 + (i == 1));
        assert_non_null(s.text);
        assert_true(wb_program_value(p, 0, s.makes[0], &v));
        assert_int_equal(v.bytes, ROWS * (i ? OUT : IN) * 4);
        assert_true(wb_program_region(p, 0, v.region, &r));
        assert_true(r.bytes >= v.bytes);
        assert_int_equal(r.place, i == 2 ? WB_OF_RESULT : WB_OF_FRAME);
        if (s.kernel >= 0) assert_non_null(strstr(wb_kernel_ptx(wb_program_kernel(p, (uint32_t)s.kernel)), ".entry"));
    }
    assert_false(wb_program_step(p, 0, 3, &s));
    assert_false(wb_program_step(p, 1, 0, &s));
    assert_false(wb_program_value(p, 0, c.n_values, &v));
    assert_false(wb_program_region(p, 7, 0, &r));
}

static void test_run(void **state)
{
    const Given *g = *state;
    const void *in[] = {g->x, g->w};
    float y[ROWS][OUT];
    void *out[] = {y};
    wb_result *r;
    assert_int_equal(wb_program_run(g->mlp, in, out, &(wb_run_options){.threads = 2}, &r), WB_OK);
    assert_string_equal(wb_result_messages(r), "");
    assert_non_null(strstr(wb_result_text(r), "2 kernels, 1 library calls"));
    wb_result_free(r);
    assert_int_equal(wrong_elements(g, y), 0);
}

static void test_check(void **state)
{
    const Given *g = *state;
    const void *in[] = {g->x, g->w};
    wb_program_verdict v;
    wb_result *r;
    for (const char *which = "wneptu"; *which; which++) {
        assert_int_equal(wb_program_check(g->mlp, NULL, &(wb_run_options){.inputs = *which, .seed = 3}, &v, &r), WB_OK);
        assert_int_equal(v.judged, 2);
        assert_int_equal(v.compared, ROWS * (IN + OUT));
        assert_int_equal(v.whole_compared, ROWS * OUT);
        assert_int_equal(v.outside + v.whole_outside, 0);
        assert_non_null(strstr(wb_result_json(r), "\"judged\": 2"));
        wb_result_free(r);
    }
    assert_int_equal(wb_program_check(g->mlp, in, NULL, NULL, NULL), WB_OK);
    assert_int_equal(wb_program_check(g->mlp, in, &(wb_run_options){.inputs = 's'}, &v, &r), WB_FAILED);
    assert_non_null(strstr(wb_result_messages(r), "one of the cases w, n, e, p, t and u"));
    wb_result_free(r);
}

static void test_profile(void **state)
{
    const Given *g = *state;
    wb_program_time t;
    wb_result *r;
    assert_int_equal(wb_program_profile(g->mlp, NULL, &t, &r), WB_OK);
    assert_int_equal(t.kernels, 2);
    assert_int_equal(t.library, 1);
    assert_true(t.seconds - t.library_seconds > t.launch && t.launch > 1e-7 && t.seconds < 1e-3);
    assert_true(t.library_seconds > 1e-7);
    assert_non_null(strstr(wb_result_text(r), "1 library call, "));
    assert_string_equal(wb_result_html(r), "");
    wb_result_free(r);
    assert_int_equal(wb_program_page(g->mlp, NULL, &r), WB_OK);
    assert_non_null(strstr(wb_result_html(r), "<h2>Library calls</h2>"));
    assert_non_null(strstr(wb_result_html(r), "<details id=\"k"));
    wb_result_free(r);
}

/* A loop runs as often as it is told, in memory of its own: the arrays of the caller stay. */
static void test_loop(void **state)
{
    const Given *g = *state;
    wb_program *p = compile(g->cx, loop, &(wb_program_options){.cut = WB_PLAIN});
    float x[64], y[64];
    int32_t n = 5;
    wb_computation c;
    wb_step s;
    const void *in[] = {&n, x};
    void *out[] = {y};
    for (int i = 0; i < 64; i++) x[i] = (float)i;
    assert_int_equal(wb_program_run(p, in, out, NULL, NULL), WB_OK);
    for (int i = 0; i < 64; i++) assert_true(y[i] == 32.0f * (float)i && x[i] == (float)i);
    assert_true(wb_program_computation(p, wb_program_entry(p), &c));
    int loops = 0;
    for (uint32_t i = 0; wb_program_step(p, wb_program_entry(p), i, &s); i++) {
        if (s.kind != WB_STEP_LOOP) continue;
        loops++;
        assert_int_equal(s.n_calls, 2);
        assert_true(s.calls[0] < wb_program_entry(p) && s.calls[1] < wb_program_entry(p));
    }
    assert_int_equal(loops, 1);
    wb_program_free(p);
}

static void test_declined(void **state)
{
    const Given *g = *state;
    const size_t n = strlen(declined);
    wb_program *p;
    assert_int_equal(wb_program_compile(g->cx, "d.hlo", declined, n, NULL, &p), WB_DECLINED);
    assert_null(p);
    assert_int_equal(wb_declined(g->cx), WB_WHY_RANDOM);
    p = compile(g->cx, declined, &(wb_program_options){.partial = 1});
    assert_non_null(strstr(wb_messages(g->cx), "declined: random"));
    assert_int_equal(wb_program_kernels(p), 2);
    assert_non_null(wb_program_kernel(p, 0));
    assert_null(wb_program_kernel(p, 1));
    wb_result *r;
    wb_program_time t;
    assert_int_equal(wb_program_check(p, NULL, NULL, NULL, &r), WB_DECLINED);
    assert_int_equal(wb_result_declined(r), WB_WHY_RANDOM);
    wb_result_free(r);
    assert_int_equal(wb_program_profile(p, NULL, &t, NULL), WB_OK);
    assert_int_equal(t.refused, 1);
    wb_program_free(p);
}

static void test_errors(void **state)
{
    const Given *g = *state;
    wb_program *p;
    static const char bad[] = "HloModule m\nENTRY e {\n  ROOT y = f32[4] nothing()\n}\n";
    assert_int_equal(wb_program_compile(g->cx, "b.hlo", bad, strlen(bad), NULL, &p), WB_FAILED);
    assert_null(p);
    assert_non_null(strstr(wb_messages(g->cx), "b.hlo:3:"));
    assert_int_equal(wb_program_compile(g->cx, NULL, "", 0, NULL, &p), WB_FAILED);
    const wb_program_options sm_1 = {.kernels = {.target = "sm_1"}}, layout = {.kernels = {.layout = "lane 32"}};
    assert_int_equal(wb_program_compile(g->cx, NULL, mlp, strlen(mlp), &sm_1, &p), WB_FAILED);
    assert_non_null(strstr(wb_messages(g->cx), "no target is called 'sm_1'; there are sm_75, sm_80"));
    assert_int_equal(wb_program_compile(g->cx, NULL, mlp, strlen(mlp), &layout, &p), WB_FAILED);
    const wb_program_options cut = {.cut = (wb_cut)9}, accuracy = {.kernels = {.accuracy = (wb_accuracy)7}};
    assert_int_equal(wb_program_compile(g->cx, NULL, mlp, strlen(mlp), &cut, &p), WB_FAILED);
    assert_non_null(strstr(wb_messages(g->cx), "cut 9: WB_PRICED or WB_PLAIN expected"));
    assert_int_equal(wb_program_compile(g->cx, NULL, mlp, strlen(mlp), &accuracy, &p), WB_FAILED);
    assert_int_equal(wb_program_read(g->cx, "/nowhere/at/all", NULL, &p), WB_FAILED);
    assert_null(p);
    wb_program_free(NULL);
}

static int counted(void *arg, const char *what, int64_t done, int64_t total)
{
    assert_true(*what && done <= total);
    return --*(int *)arg == 0;
}

/* A compile says how far it is, and ends where it is told to; the next one does not. */
static void test_stopped(void **state)
{
    const Given *g = *state;
    wb_program *p;
    int left = 1;
    wb_context_on_progress(g->cx, counted, &left);
    assert_int_equal(wb_program_compile(g->cx, NULL, mlp, strlen(mlp), NULL, &p), WB_FAILED);
    assert_null(p);
    assert_non_null(strstr(wb_messages(g->cx), "stopped"));
    left = 1 << 20;
    wb_context_on_progress(g->cx, counted, &left); /* which may be told again at once */
    assert_int_equal(wb_program_compile(g->cx, NULL, mlp, strlen(mlp), NULL, &p), WB_OK);
    assert_true(left < 1 << 20);
    wb_program_free(p);
    wb_context_on_progress(g->cx, NULL, NULL);
}

/* What is written is read as the same program, without its folder. */
static void test_folder(void **state)
{
    const Given *g = *state;
    char root[] = "/tmp/api_program_XXXXXX", folder[64], other[64], command[160];
    assert_non_null(mkdtemp(root));
    snprintf(folder, sizeof folder, "%s/a", root);
    snprintf(other, sizeof other, "%s/b", root);
    snprintf(command, sizeof command, "rm -rf %s", root);
    const char *texts[] = {mlp, loop, with_constant};
    for (int k = 0; k < 3; k++) {
        wb_program *p = compile(g->cx, texts[k], &(wb_program_options){.kernels = {.target = "sm_80"}}), *q;
        assert_int_equal(wb_program_write(p, folder, NULL), WB_OK);
        const wb_program_options o = {.kernels = {.target = "sm_80"}};
        if (wb_program_read(g->cx, folder, &o, &q) != WB_OK) fail_msg("%s", wb_messages(g->cx));
        assert_string_equal(wb_program_json(p), wb_program_json(q));
        assert_int_equal(wb_program_kernels(p), wb_program_kernels(q));
        for (uint32_t i = 0; i < wb_program_kernels(p); i++)
            assert_string_equal(wb_kernel_ptx(wb_program_kernel(p, i)), wb_kernel_ptx(wb_program_kernel(q, i)));
        assert_int_equal(wb_program_write(q, other, NULL), WB_OK);
        assert_int_equal(wb_program_write(q, folder, NULL), WB_OK); /* over an earlier one */
        wb_program_free(p);
        int32_t n = 3;
        float x[64] = {0, 1}, y[64];
        const void *in[] = {&n, x};
        void *out[] = {y};
        assert_int_equal(system(command), 0);
        if (k == 1) {
            assert_int_equal(wb_program_run(q, in, out, NULL, NULL), WB_OK);
            assert_true(y[1] == 8 && y[0] == 0);
        } else if (k == 2) {
            const float one[16] = {1, 0, 0, 1};
            const void *matrix[] = {one};
            wb_memory m;
            wb_program_memory(q, &m);
            assert_int_equal(m.constants, 40);
            assert_int_equal(wb_program_run(q, matrix, out, NULL, NULL), WB_OK);
            assert_true(y[0] == -1 && y[4] == -5 && y[5] == -6 && y[9] == -10);
        } else {
            assert_int_equal(wb_program_check(q, NULL, NULL, NULL, NULL), WB_OK);
        }
        wb_program_free(q);
    }
    wb_result *r;
    assert_int_equal(wb_program_write(g->mlp, "/proc/nowhere", &r), WB_FAILED);
    assert_non_null(strstr(wb_result_messages(r), "/proc/nowhere"));
    wb_result_free(r);
}

static void *run_one(void *arg)
{
    const Given *g = arg;
    const void *in[] = {g->x, g->w};
    float y[ROWS][OUT];
    void *out[] = {y};
    intptr_t wrong = 0;
    for (int k = 0; k < 3; k++) {
        if (wb_program_run(g->mlp, in, out, NULL, NULL) != WB_OK) wrong++;
        wrong += wrong_elements(g, y);
    }
    return (void *)wrong;
}

static void test_threads(void **state)
{
    pthread_t threads[8];
    void *wrong;
    for (int k = 0; k < 8; k++) assert_int_equal(pthread_create(&threads[k], NULL, run_one, *state), 0);
    for (int k = 0; k < 8; k++) {
        pthread_join(threads[k], &wrong);
        assert_null(wrong);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds), cmocka_unit_test(test_listed), cmocka_unit_test(test_run),
        cmocka_unit_test(test_check), cmocka_unit_test(test_profile), cmocka_unit_test(test_loop),
        cmocka_unit_test(test_declined), cmocka_unit_test(test_errors), cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_folder), cmocka_unit_test(test_threads)};
    return cmocka_run_group_tests(tests, open_given, close_given);
}
