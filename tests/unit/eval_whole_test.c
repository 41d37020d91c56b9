/* eval_whole: what is computed for all elements at once (dot, convolution, windows) against the same elements computed
 * one by one: the bits must be equal, except that any nan equals any nan. */
#include "eval_run.h"
#include "random.h"

#include <math.h>
#include <stdio.h>

enum { MOST = 1 << 16, FEW = 250 /* so few are computed one by one */ };

/* Random values of a type; `edges`: one in 16 is a nan, an infinity or a zero. */
static void fill(ScType t, char *to, int64_t n, bool edges)
{
    static const double special[] = {NAN, INFINITY, -INFINITY, -0.0, 0.0, 1e-40};
    for (int64_t k = 0; k < n; k++) {
        double x = ((double)below(1 << 20) - (1 << 19)) / 1024;
        if (edges && below(16) == 0) x = special[below(6)];
        uint64_t bits = sc_is_float(t) ? sc_from_f64(t, x)
                                       : sc_from_i128(t, (int64_t)((uint64_t)below(1u << 31) * 0x9e3779b97f4a7c15u));
        if (sc_is_signed(t) && sc_type_info[t].bits < 8) bits = (uint64_t)sc_to_i128(t, bits);
        memcpy(to + k * sc_bytes(t), &bits, sc_bytes(t));
    }
}

static bool same(ScType t, const char *a, const char *b)
{
    uint64_t x = 0, y = 0;
    memcpy(&x, a, sc_bytes(t));
    memcpy(&y, b, sc_bytes(t));
    return x == y || (sc_is_float(t) && isnan(sc_to_f64(t, x)) && isnan(sc_to_f64(t, y)));
}

static bool same_bound(const EvBound *a, const EvBound *b)
{
    return a->lo.u == b->lo.u && a->hi.u == b->hi.u && a->flags == b->flags;
}

typedef struct {
    const char *text;
    const HloModule *module;
} Parsed;

static void parse(WbbCx *cx, void *arg)
{
    Parsed *p = arg;
    p->module = hlo_parse(cx, cx->arena, "test.hlo", p->text, strlen(p->text));
}

/* All elements against the elements at positions n - 1, .., 0, which are computed one by one. */
static void compare(WbbCx *cx, const char *text, bool edges, EvMode mode)
{
    static char buffer[2][8 * MOST];
    static int64_t positions[MOST];
    const void *inputs[2] = {buffer[0], buffer[1]};
    Parsed parsed = {.text = text};
    succeed_on(cx, parse, &parsed, text);
    const HloModule *m = parsed.module;
    for (uint32_t p = 0; p < m->entry->n_parameters; p++) {
        const HloShape *s = m->entry->parameters[p]->shape;
        assert_true(hlo_elements(s) <= MOST);
        fill(s->type, buffer[p], hlo_elements(s), edges);
    }
    const EvValue *all = &run_eval(cx, text, inputs, mode, NULL)->outputs[0];
    const size_t bytes = mode == EV_BOUNDS ? sizeof(EvBound) : sc_bytes(all->type);
    int64_t n = hlo_elements(m->entry->root->shape);
    assert_true(n <= MOST);
    wbb_use_threads(cx, 3);
    const char *by_threads = run_eval(cx, text, inputs, mode, NULL)->outputs[0].data;
    wbb_use_threads(cx, 1);
    for (int64_t k = 0; k < n; k++) positions[k] = n - 1 - k;
    for (int64_t from = 0; from < n; from += FEW) {
        const EvPositions at = {positions + from, WBB_MIN(n - from, (int64_t)FEW)};
        const EvValue *single = &run_eval(cx, text, inputs, mode, &at)->outputs[0];
        for (int64_t k = 0; k < at.n; k++) {
            const char *x = (char *)all->data + (size_t)at.positions[k] * bytes;
            const char *y = (char *)single->data + (size_t)k * bytes;
            const char *z = by_threads + (size_t)at.positions[k] * bytes;
            if (mode == EV_BOUNDS ? !same_bound((const EvBound *)x, (const EvBound *)z) : memcmp(x, z, bytes) != 0)
                fail_msg("element %lld depends on the number of threads in\n%s", (long long)at.positions[k], text);
            if (mode == EV_BOUNDS ? !same_bound((const EvBound *)x, (const EvBound *)y) : !same(all->type, x, y))
                fail_msg("element %lld differs in\n%s", (long long)at.positions[k], text);
        }
    }
}

static void test_dot(void **state)
{
    static const char *const texts[] = {
        "e { a = f32[37,150] parameter(0) b = f32[150,41] parameter(1) ROOT r = f32[37,41] dot(a, b), "
        "lhs_contracting_dims={1}, rhs_contracting_dims={0} }",
        "e { a = f64[3,300,7] parameter(0) b = f64[9,3,300] parameter(1) ROOT r = f64[3,7,9] dot(a, b), "
        "lhs_batch_dims={0}, rhs_batch_dims={1}, lhs_contracting_dims={1}, rhs_contracting_dims={2} }",
        "e { a = bf16[2,5,3,11] parameter(0) b = bf16[11,2,4,5] parameter(1) ROOT r = f32[2,3,4] dot(a, b), "
        "lhs_batch_dims={0}, rhs_batch_dims={1}, lhs_contracting_dims={1,3}, rhs_contracting_dims={3,0} }",
        "e { a = f32[1,600] parameter(0) b = f32[600] parameter(1) ROOT r = f32[1] dot(a, b), "
        "lhs_contracting_dims={1}, rhs_contracting_dims={0} }",
        "e { a = f32[300] parameter(0) b = f32[13] parameter(1) ROOT r = f32[300,13] dot(a, b) }",
        "e { a = s8[19,515] parameter(0) b = s8[515,6] parameter(1) ROOT r = s32[19,6] dot(a, b), "
        "lhs_contracting_dims={1}, rhs_contracting_dims={0} }",
        "e { a = s32[19,65] parameter(0) b = s32[6,65] parameter(1) ROOT r = s32[19,6] dot(a, b), "
        "lhs_contracting_dims={1}, rhs_contracting_dims={1} }",
        "e { a = u64[5,65] parameter(0) b = u64[65,5] parameter(1) ROOT r = u64[5,5] dot(a, b), "
        "lhs_contracting_dims={1}, rhs_contracting_dims={0} }",
        "e { a = s4[5,9] parameter(0) b = s4[9,5] parameter(1) ROOT r = s4[5,5] dot(a, b), "
        "lhs_contracting_dims={1}, rhs_contracting_dims={0} }",
        "e { a = f8e4m3fn[5,9] parameter(0) b = f8e4m3fn[9,5] parameter(1) ROOT r = f16[5,5] dot(a, b), "
        "lhs_contracting_dims={1}, rhs_contracting_dims={0} }",
    };
    for (size_t k = 0; k < WBB_LEN(texts); k++)
        for (int edges = 0; edges < 2; edges++) {
            compare(*state, texts[k], edges, EV_PLAIN);
            compare(*state, texts[k], edges, EV_F64);
            compare(*state, texts[k], edges, EV_BOUNDS);
        }
}

static void test_convolution(void **state)
{
    static const char *const texts[] = {
        "e { x = f32[2,9,7,5] parameter(0) k = f32[3,2,5,6] parameter(1) ROOT r = f32[2,9,8,6] convolution(x, k), "
        "window={size=3x2 pad=1_1x1_1}, dim_labels=b01f_01io->b01f }",
        "e { x = f32[2,6,20] parameter(0) k = f32[9,2,4] parameter(1) ROOT r = f32[2,9,10] convolution(x, k), "
        "window={size=4 stride=2 pad=3_-1 rhs_dilate=1}, dim_labels=bf0_oi0->bf0, feature_group_count=3 }",
        "e { x = bf16[4,8,3] parameter(0) k = bf16[3,3,4] parameter(1) ROOT r = bf16[2,13,4] convolution(x, k), "
        "window={size=3 pad=0_0 lhs_dilate=2}, dim_labels=b0f_0io->b0f, batch_group_count=2 }",
        "e { x = s8[2,11,4] parameter(0) k = s8[3,1,4] parameter(1) ROOT r = s8[2,11,4] convolution(x, k), "
        "window={size=3 pad=1_1 rhs_reversal=1}, dim_labels=b0f_0io->b0f, feature_group_count=4 }",
        "e { x = f64[3,5] parameter(0) k = f64[5,4] parameter(1) ROOT r = f64[3,4] convolution(x, k), "
        "dim_labels=bf_io->bf }",
    };
    for (size_t k = 0; k < WBB_LEN(texts); k++)
        for (int edges = 0; edges < 2; edges++) {
            compare(*state, texts[k], edges, EV_PLAIN);
            compare(*state, texts[k], edges, EV_F64);
            compare(*state, texts[k], edges, EV_BOUNDS);
        }
}

static void test_windows(void **state)
{
    static const char *const types[] = {"f32", "f64", "bf16", "s32", "u8", "f8e5m2", "s4"};
    static const char *const ops[] = {"add", "multiply", "maximum", "minimum", "subtract"};
    static const struct {
        const char *in, *out, *window;
    } shapes[] = {
        {"150", "150", "size=150 pad=149_0"},          /* prefixes */
        {"150", "150", "size=150 pad=0_149"},          /* suffixes */
        {"3,40,5", "3,40,5", "size=1x40x1 pad=0_0x39_0x0_0"},
        {"3,40", "3,43", "size=1x50 pad=0_0x50_2"},    /* prefixes from the empty one, the last ones equal */
        {"40,3", "45,3", "size=60x1 pad=3_61x0_0"},
        {"9,4500", "9,1501", "size=1x3 pad=0_0x1_2 stride=1x3"},
        {"7,8,9", "9,5,4", "size=2x3x4 pad=1_2x-1_2x2_2 stride=1x3x2 rhs_dilate=1x1x2 lhs_dilate=1x2x1"},
        {"5", "9", "size=1 lhs_dilate=2"},
    };
    for (size_t s = 0; s < WBB_LEN(shapes); s++)
        for (size_t t = 0; t < WBB_LEN(types); t++)
            for (size_t o = 0; o < WBB_LEN(ops); o++) {
                char text[1024];
                snprintf(text, sizeof text,
                         "op { a = %s[] parameter(0) b = %s[] parameter(1) ROOT c = %s[] %s(a, b) }\n"
                         "ENTRY e { x = %s[%s] parameter(0) z = %s[] constant(1) "
                         "ROOT r = %s[%s] reduce-window(x, z), window={%s}, to_apply=op }",
                         types[t], types[t], types[t], ops[o], types[t], shapes[s].in, types[t], types[t],
                         shapes[s].out, shapes[s].window);
                compare(*state, text, t % 2, EV_PLAIN);
                compare(*state, text, o % 2, EV_F64);
                compare(*state, text, t % 2, EV_BOUNDS);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_dot),
        TEST(test_convolution),
        TEST(test_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
