/* api_stack: a host's threads may have little stack. Compiles of what is deep in some way, each in a thread of 512 KiB:
 * chains of 20,000 operations, conditions in each other, nested tuples and literals, index arithmetic on index
 * arithmetic; and every fusion of shaderdb/corpus. What is too deep is declined, or refused at its place. */
#include "warpburg.h"

#include "unit.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { STACK = 8 << 20 }; /* frames are several times as large */
#else
enum { STACK = 512 << 10 };
#endif

typedef struct {
    const char *file, *text;
    wb_status status;
    wb_reason reason;
    char message[256];
} Job;

static void *compile(void *arg)
{
    Job *j = arg;
    wb_context *cx = wb_context_new();
    wb_kernel *k = NULL;
    j->status = wb_compile(cx, j->file, j->text, strlen(j->text), NULL, &k);
    j->reason = wb_declined(cx);
    snprintf(j->message, sizeof j->message, "%s", wb_messages(cx));
    wb_context_free(cx);
    return NULL;
}

static Job compile_in_thread(const char *file, const char *text)
{
    Job j = {.file = file, .text = text};
    pthread_attr_t attributes;
    pthread_t thread;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, STACK), 0);
    assert_int_equal(pthread_create(&thread, &attributes, compile, &j), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
    return j;
}

static WbbBuf module(WbbCx *cx, const char *parameters)
{
    WbbBuf b = wbb_buf(cx->arena);
    wbb_putf(&b, "HloModule m\n\nENTRY e {\n%s", parameters);
    return b;
}

static const char *root(int i, int n) { return i == n - 1 ? "ROOT " : ""; }

/* x = op(x, y) */
static const char *chain(WbbCx *cx, const char *op, const char *type, int n)
{
    WbbBuf b = module(cx, "");
    wbb_putf(&b, "  x0 = %s[1024]{0} parameter(0)\n  y = %s[1024]{0} parameter(1)\n", type, type);
    for (int i = 0; i < n; i++)
        wbb_putf(&b, "  %sx%d = %s[1024]{0} %s(x%d, y)\n", root(i, n), i + 1, type, op, i);
    return wbb_putf(&b, "}\n"), b.text;
}

/* Each element is under a condition in the condition of the next one. */
static const char *pads(WbbCx *cx, int n)
{
    WbbBuf b = module(cx, "  x0 = f32[64]{0} parameter(0)\n  z = f32[] constant(1)\n");
    for (int i = 0; i < n; i++)
        wbb_putf(&b,
                 "  p%d = f32[%d]{0} pad(x%d, z), padding=1_2\n  r%d = f32[%d]{0} reverse(p%d), dimensions={0}\n"
                 "  %sx%d = f32[%d]{0} slice(r%d), slice={[1:%d]}\n",
                 i, 67 + i, i, i, 67 + i, i, root(i, n), i + 1, 65 + i, i, 66 + i);
    return wbb_putf(&b, "}\n"), b.text;
}

static const char *reshapes(WbbCx *cx, int n)
{
    WbbBuf b = module(cx, "  x0 = f32[7,11,13]{2,1,0} parameter(0)\n");
    for (int i = 0; i < n; i++)
        wbb_putf(&b,
                 "  t%d = f32[13,7,11]{2,1,0} transpose(x%d), dimensions={2,0,1}\n"
                 "  %sx%d = f32[7,11,13]{2,1,0} reshape(t%d)\n",
                 i, i, root(i, n), i + 1, i);
    return wbb_putf(&b, "}\n"), b.text;
}

/* An index that a chain of integer operations computes. */
static const char *computed_index(WbbCx *cx, int n)
{
    static const char *const ops[] = {"add", "multiply", "divide", "remainder", "minimum"};
    WbbBuf b = module(cx, "  x = f32[4096]{0} parameter(0)\n  i0 = s32[] parameter(1)\n  k = s32[] parameter(2)\n");
    for (int i = 0; i < n; i++) wbb_putf(&b, "  i%d = s32[] %s(i%d, k)\n", i + 1, ops[i % 5], i);
    wbb_putf(&b, "  ROOT d = f32[64]{0} dynamic-slice(x, i%d), dynamic_slice_sizes={64}\n}\n", n);
    return b.text;
}

/* ((..(f32[2])..)), and a literal of it */
static const char *nested_literal(WbbCx *cx, int n)
{
    WbbBuf b = module(cx, "  ROOT c = ");
    for (int i = 0; i < n; i++) wbb_put(&b, "(");
    wbb_put(&b, "f32[2]");
    for (int i = 0; i < n; i++) wbb_put(&b, ")");
    wbb_put(&b, " constant(");
    for (int i = 0; i < n; i++) wbb_put(&b, "(");
    wbb_put(&b, "{1,2}");
    for (int i = 0; i < n; i++) wbb_put(&b, ")");
    return wbb_put(&b, ")\n}\n"), b.text;
}

static const char *brackets(WbbCx *cx, int n)
{
    WbbBuf b = module(cx, "  ROOT x = f32[2] parameter(0), metadata=");
    for (int i = 0; i < n; i++) wbb_put(&b, "{");
    return b.text;
}

static void expect(const char *what, const char *text, wb_status status, const char *message)
{
    const Job j = compile_in_thread(what, text);
    if (j.status != status || !strstr(j.message, message)) fail_msg("%s: status %d: %s", what, j.status, j.message);
    if (status == WB_DECLINED && !strcmp(message, "nest more than")) assert_int_equal(j.reason, WB_WHY_SIZE);
}

static void test_deep(void **state)
{
    WbbCx *cx = *state;
    expect("sums", chain(cx, "add", "f32", 20000), WB_OK, "");
    expect("differences", chain(cx, "subtract", "s32", 20000), WB_OK, "");
    expect("quotients", chain(cx, "divide", "s32", 100), WB_OK, "");
    expect("pads", pads(cx, 140), WB_OK, "");
    expect("pads", pads(cx, 3000), WB_DECLINED, "nest more than");
    expect("reshapes", reshapes(cx, 100), WB_OK, "");
    expect("index", computed_index(cx, 5000), WB_OK, "");
    expect("literal", nested_literal(cx, 190), WB_DECLINED, "");
    expect("literal", nested_literal(cx, 100000), WB_FAILED, "nested more than 200 levels deep");
    expect("brackets", brackets(cx, 100000), WB_FAILED, "nested more than 200 levels deep");
}

static void test_corpus(void **state)
{
    WbbCx *cx = *state;
    const char *folder = wbb_format(cx->arena, "%s/shaderdb/corpus", getenv("WARPBURG_SOURCE"));
    DIR *d = opendir(folder);
    int n = 0;
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        size_t size;
        if (!strstr(e->d_name, ".hlo")) continue;
        const char *file = wbb_format(cx->arena, "%s/%s", folder, e->d_name);
        expect(file, wbb_read_file(cx, cx->arena, file, &size), WB_OK, "");
        n++;
    }
    closedir(d);
    assert_true(n >= 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_deep), TEST(test_corpus)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
