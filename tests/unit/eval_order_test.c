/* eval_order: a reduction in the tree that a text documents, against the same tree taken step by step; texts that are
 * refused at their place. */
#include "eval_run.h"

#include "random.h"

#include <stdlib.h>

enum { MOST = 1 << 12 };

/* A combination that shows its operands and their order. */
static uint64_t combined(uint64_t x, uint64_t y) { return x * 31 + y * 17 + 5; }

typedef struct {
    uint64_t value;
    bool present;
} Part;

static Part pair(Part x, Part y)
{
    if (!x.present || !y.present) return x.present ? x : y;
    return (Part){combined(x.value, y.value), true};
}

/* --- the reference: digits of a step are one number, cut into parts ----------------------------------------------- */
typedef struct { int pairing; int64_t size; } Cut; /* 0: fold, 1: halves, 2: chain */
/* base: of the digit of dimension 0, 1, 2; 0: none */
typedef struct { int64_t size; Cut cuts[3]; int n; int64_t weight[3], base[3]; } Step;

typedef struct {
    int64_t dims[3];
    int n_steps;
    Step steps[6];
    int64_t number[6];
    const uint64_t *x; /* row-major */
    int64_t kept;
} Tree;

static Part reduced(Part *x, int64_t n, int pairing)
{
    if (pairing == 2) {
        for (int64_t k = 1; k < n; k++) x[0] = pair(x[0], x[k]);
    } else if (n > 1) {
        const int64_t half = (n + 1) / 2;
        Part next[MOST];
        for (int64_t k = 0; k < half; k++) {
            const int64_t left = pairing ? k : 2 * k, right = pairing ? k + half : 2 * k + 1;
            next[k] = right < n ? pair(x[left], x[right]) : x[left];
        }
        return reduced(next, half, pairing);
    }
    return x[0];
}

/* The partial result of steps 0 .. k - 1 where the later steps have these numbers. */
static Part below_step(Tree *t, int k)
{
    if (k == 0) {
        int64_t at[3] = {0};
        for (int s = 0; s < t->n_steps; s++) {
            if (t->number[s] >= t->steps[s].size) return (Part){0};
            int64_t rest = t->number[s];
            for (int d = 0; d < 3; d++) {
                if (!t->steps[s].base[d]) continue;
                at[d] += rest % t->steps[s].base[d] * t->steps[s].weight[d];
                rest /= t->steps[s].base[d];
            }
        }
        for (int d = 0; d < 3; d++)
            if (at[d] >= t->dims[d]) return (Part){0};
        return (Part){t->x[((at[0] * t->dims[1] + at[1]) * 2 + t->kept) * t->dims[2] + at[2]], true};
    }
    const Step *s = &t->steps[k - 1];
    int64_t n = 1;
    for (int c = 0; c < s->n; c++) n *= s->cuts[c].size;
    Part *x = calloc((size_t)n, sizeof *x);
    for (int64_t j = 0; j < n; j++) t->number[k - 1] = j, x[j] = below_step(t, k - 1);
    for (int c = 0; c < s->n; c++) {
        n /= s->cuts[c].size;
        for (int64_t j = 0; j < n; j++) x[j] = reduced(x + j * s->cuts[c].size, s->cuts[c].size, s->cuts[c].pairing);
    }
    const Part r = x[0];
    free(x);
    return r;
}

/* --- random trees ------------------------------------------------------------------------------------------------- */
static const char *const pairings[] = {"fold", "halves", "chain"};
static const char *const levels[] = {"vector", "lane", "grid"};

/* Digits of each of three dimensions that cover it, and steps of random digits; the text. */
static void draw(WbbCx *cx, Tree *t, WbbBuf *b)
{
    int64_t size[3][3], weight[3][3];
    bool used[3][3] = {{false}};
    wbb_put(b, "y: tree");
    for (int d = 0; d < 3; d++) {
        int64_t covered = 1;
        wbb_putf(b, "; d%d {%d}:", d, d == 2 ? 3 : d);
        for (int k = 0; k < 3; k++) {
            weight[d][k] = covered;
            size[d][k] = k == 2 ? (t->dims[d] + covered - 1) / covered : 1 + (int64_t)below(3);
            covered *= size[d][k];
            wbb_putf(b, "%s %s %lld", k ? "," : "", levels[k], (long long)size[d][k]);
        }
    }
    for (int left = 9; left && t->n_steps < 6;) {
        Step *s = &t->steps[t->n_steps];
        WbbBuf digits = wbb_buf(cx->arena);
        *s = (Step){.size = 1};
        for (int d = 0; d < 3; d++) {
            int k = (int)below(3);
            if (t->n_steps == 5) k = 0; /* the last one may have one digit of each alone */
            while (k < 3 && used[d][k]) k++;
            if (k == 3 || (t->n_steps < 5 && below(2))) continue;
            used[d][k] = true, left--;
            s->base[d] = size[d][k], s->weight[d] = weight[d][k], s->size *= size[d][k];
            wbb_putf(&digits, "%s d%d.%s", digits.n ? "," : " of", d, levels[k]);
        }
        if (!digits.n) continue;
        s->n = 1 + (int)below(3);
        int64_t covered = 1;
        for (int c = 0; c < s->n; c++) {
            const int64_t rest = (s->size + covered - 1) / covered;
            s->cuts[c] = (Cut){(int)below(3), c + 1 == s->n ? rest : 1 + (int64_t)below(5)};
            covered *= s->cuts[c].size;
            wbb_putf(b, "%s %s %lld", c ? "," : ";", pairings[s->cuts[c].pairing], (long long)s->cuts[c].size);
        }
        wbb_put(b, digits.text);
        t->n_steps++;
    }
    for (int d = 0; d < 3; d++) /* what no step has combined */
        for (int k = 0; k < 3; k++)
            if (!used[d][k] && size[d][k] > 1) t->n_steps = 0;
}

static void test_random(void **state)
{
    WbbCx *cx = *state;
    int drawn = 0;
    for (int tries = 0; tries < 400; tries++) {
        const int64_t n[3] = {1 + (int64_t)below(9), 1 + (int64_t)below(40), 1 + (int64_t)below(7)};
        Tree t = {.dims = {n[0], n[1], n[2]}};
        WbbBuf order = wbb_buf(cx->arena);
        draw(cx, &t, &order);
        if (!t.n_steps) continue;
        drawn++;
        const int64_t count = n[0] * n[1] * 2 * n[2];
        uint64_t *x = wbb_alloc(cx->arena, (size_t)count * sizeof *x);
        for (int64_t k = 0; k < count; k++) x[k] = below(1u << 20);
        const char *text = wbb_format(cx->arena,
            "c { a = u64[] parameter(0) b = u64[] parameter(1) p = u64[] constant(31) q = u64[] constant(17) "
            "k = u64[] constant(5) ap = u64[] multiply(a, p) bq = u64[] multiply(b, q) s = u64[] add(ap, bq) "
            "ROOT r = u64[] add(s, k) } "
            "ENTRY e { x = u64[%lld,%lld,2,%lld] parameter(0) i = u64[] constant(3) "
            "ROOT y = u64[2] reduce(x, i), dimensions={0,1,3}, to_apply=c }",
            (long long)n[0], (long long)n[1], (long long)n[2]);
        const void *inputs[] = {x};
        OrderJob j = {text, order.text, inputs, NULL};
        succeed_on(cx, evaluate_in_order, &j, order.text);
        t.x = x;
        for (t.kept = 0; t.kept < 2; t.kept++) {
            const uint64_t wanted = combined(3, below_step(&t, t.n_steps).value);
            const uint64_t got = ((const uint64_t *)j.result->outputs[0].data)[t.kept];
            if (got != wanted) print_error("%s\n%s\n", order.text, text);
            assert_int_equal(got, wanted);
        }
    }
    assert_true(drawn > 50);
}

/* Pairs of neighbours, of halves, and one after the other; in a wider type, whose sum is rounded once. */
static void test_known(void **state)
{
    WbbCx *cx = *state;
    static const struct { const char *order; float sum; } cases[] = {
        {"y: serial", 4},
        {"y: serial in f64", 4.5f},
        {"y: tree; elements {0}: lane 5; chain 5 of elements.lane", 4},
        {"y: tree; elements {0}: lane 5; fold 5 of elements.lane", 3},
        {"y: tree; elements {0}: lane 8; halves 8 of elements.lane", 1.5f},
        {"y: tree in f64; elements {0}: lane 5; fold 5 of elements.lane", 4.5f},
    };
    const float x[] = {1e8f, 0.5f, -1e8f, 1, 3};
    const void *inputs[] = {x};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        OrderJob j = {"c { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) } "
                      "ENTRY e { x = f32[5] parameter(0) i = f32[] constant(0) "
                      "ROOT y = f32[] reduce(x, i), dimensions={0}, to_apply=c }",
                      cases[k].order, inputs, NULL};
        succeed_on(cx, evaluate_in_order, &j, cases[k].order);
        const float got = *(const float *)j.result->outputs[0].data;
        if (got != cases[k].sum) print_error("%s: %g\n", cases[k].order, (double)got);
        assert_true(got == cases[k].sum);
    }
}

static void test_refused(void **state)
{
    WbbCx *cx = *state;
    static const char *const cases[][2] = {
        {"y: tree; a {0}: lane 5", "expected a step for each level"},
        {"y: tree; a {0}: lane 5; fold 4 of a.lane", "expected parts that cover the levels"},
        {"y: tree; a {0}: lane 4; fold 4 of a.lane", "dimension 0 is not covered by its levels"},
        {"y: tree; a {0}: lane 5; fold 5 of a.warp", "expected a dimension and one of its levels"},
        {"y: tree; a {0}: lane 5; fold 5 of a.lane; fold 5 of a.lane", "expected a level that no step has combined"},
        {"y: tree; a {0}: lane 5, lane 2; fold 10 of a.lane", "expected another level"},
        {"y: tree; a {1}: lane 5; fold 5 of a.lane", "dimension 1 is not reduced"},
        {"y: tree; a {0,0}: lane 25; fold 25 of a.lane", "dimension 0 stands there twice"},
        {"y: tree", "dimension 0 is reduced too"},
        {"y: tree; a {0}: lane 0; fold 5 of a.lane", "expected a number from 1 to 2^48"},
        {"y: tree; a {0}: lane 281474976710656, warp 2; fold 5 of a.lane", "expected sizes of at most 2^48 together"},
        {"y: tree in s32; a {0}: lane 5; fold 5 of a.lane", "expected a type of floats"},
        {"y: tree; a {0}: lane 5; sum 5 of a.lane", "expected fold, halves or chain"},
        {"y: tree; a {0}: lane 5; fold 5 of a.lane, ", "expected '.'"},
        {"y: tree; a {0}: lane 5; fold 5 of a.lane.", "expected ';'"},
        {"y: tree; a {64}: lane 5; fold 5 of a.lane", "expected a dimension of the operand"},
        {"y: trees", "expected tree"},
        {"y: sum", "NAME: tree .. expected"},
        {"y: serial in s32", "NAME: tree .. expected"},
    };
    const float x[5] = {0};
    const void *inputs[] = {x};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        OrderJob j = {"c { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) } "
                      "ENTRY e { x = f32[5] parameter(0) i = f32[] constant(0) "
                      "ROOT y = f32[] reduce(x, i), dimensions={0}, to_apply=c }",
                      cases[k][0], inputs, NULL};
        stop(cx, evaluate_in_order, &j, WBB_FAILED, cases[k][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_random), TEST(test_known), TEST(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
