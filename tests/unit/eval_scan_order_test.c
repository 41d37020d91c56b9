/* eval_scan_order: prefixes and suffixes in the order that a text documents, against the same order taken digit by
 * digit, as src/eval/README.md defines it. */
#include "eval_run.h"

#include "random.h"

enum { MOST = 200 };

/* A combination that shows its operands and their order: neither commutative nor associative. */
static uint64_t combined(uint64_t x, uint64_t y) { return x * 31 + y * 17 + 5; }

typedef struct {
    uint64_t value;
    bool present;
} Part;

/* Digits, the lowest first: of a thread, lanes, warps, iterations. */
typedef struct {
    int64_t thread, lane, warp, loop, n;
    bool from_last;
    const uint64_t *x;
} Scan;

static Part joined(const Scan *s, Part first, Part second)
{
    if (!first.present || !second.present) return first.present ? first : second;
    const Part left = s->from_last ? second : first, right = s->from_last ? first : second;
    return (Part){combined(left.value, right.value), true};
}

static Part term(const Scan *s, int64_t thread, int64_t k)
{
    const int64_t number = thread * s->thread + k, all = s->thread * s->lane * s->warp * s->loop;
    const int64_t at = s->from_last ? all - 1 - number : number;
    return at < s->n ? (Part){s->x[at], true} : (Part){0};
}

/* The first k + 1 terms of a thread, whose number counts those of all iterations. */
static Part of_thread(const Scan *s, int64_t thread, int64_t k)
{
    Part p = term(s, thread, 0);
    for (int64_t j = 1; j <= k; j++) p = joined(s, p, term(s, thread, j));
    return p;
}

/* What the lanes up to this one have, in its warp, after steps of 1, 2, 4, .. below `reach`. */
static Part of_lanes(const Scan *s, int64_t thread, int64_t reach)
{
    if (reach == 1) return of_thread(s, thread, s->thread - 1);
    const int64_t step = reach / 2, lane = thread % s->lane;
    const Part own = of_lanes(s, thread, step);
    return lane < step ? own : joined(s, of_lanes(s, thread - step, step), own);
}

static int64_t reach_of(const Scan *s)
{
    int64_t reach = 1;
    while (reach < s->lane) reach *= 2;
    return reach;
}

/* What the warps up to this one have, in its iteration. */
static Part of_warps(const Scan *s, int64_t loop, int64_t warp)
{
    Part p = {0};
    for (int64_t w = 0; w <= warp; w++)
        p = joined(s, p, of_lanes(s, (loop * s->warp + w) * s->lane + s->lane - 1, reach_of(s)));
    return p;
}

/* The result at a position whose number, in the order of the scan, is given. Suffixes have the initial value left of
 * all, as the computation does not commute. */
static uint64_t result_at(const Scan *s, int64_t number, uint64_t init)
{
    const int64_t k = number % s->thread, thread = number / s->thread, lane = thread % s->lane;
    const int64_t warp = thread / s->lane % s->warp, loop = thread / s->lane / s->warp;
    Part p = {init, !s->from_last};
    if (s->lane == 1 && s->warp == 1) { /* one term after the other */
        for (int64_t t = 0; t <= thread; t++)
            for (int64_t j = 0; j <= (t < thread ? s->thread - 1 : k); j++) p = joined(s, p, term(s, t, j));
    } else {
        for (int64_t o = 0; o < loop; o++) p = joined(s, p, of_warps(s, o, s->warp - 1));
        if (warp) p = joined(s, p, of_warps(s, loop, warp - 1));
        if (lane) p = joined(s, p, of_lanes(s, thread - 1, reach_of(s)));
        p = joined(s, p, of_thread(s, thread, k));
    }
    return s->from_last ? combined(init, p.value) : p.value;
}

static const char *order_text(WbbCx *cx, const Scan *s)
{
    WbbBuf b = wbb_buf(cx->arena);
    const struct { const char *name; int64_t size; } digits[] = {{"lane", s->lane}, {"warp", s->warp}, {"loop", s->loop}};
    wbb_putf(&b, "y: scan%s; thread %lld", s->from_last ? " from the last" : "", (long long)s->thread);
    for (size_t d = 0; d < WBB_LEN(digits); d++)
        if (digits[d].size > 1) wbb_putf(&b, "; %s %lld", digits[d].name, (long long)digits[d].size);
    return b.text;
}

static void test_random(void **state)
{
    WbbCx *cx = *state;
    static const int64_t lanes[] = {1, 1, 2, 4, 8};
    uint64_t x[MOST];
    for (int tries = 0; tries < 300; tries++) {
        Scan s = {.thread = 1 + (int64_t)below(4), .lane = lanes[below(5)], .warp = 1 + (int64_t)below(3),
                  .from_last = below(2), .x = x};
        s.n = 2 + (int64_t)below(MOST - 2);
        const int64_t each = s.thread * s.lane * s.warp;
        s.loop = (s.n + each - 1) / each;
        for (int64_t k = 0; k < s.n; k++) x[k] = below(1u << 20);
        const char *text = wbb_format(cx->arena,
            "c { a = u64[] parameter(0) b = u64[] parameter(1) p = u64[] constant(31) q = u64[] constant(17) "
            "k = u64[] constant(5) ap = u64[] multiply(a, p) bq = u64[] multiply(b, q) s = u64[] add(ap, bq) "
            "ROOT r = u64[] add(s, k) } "
            "ENTRY e { x = u64[%lld] parameter(0) i = u64[] constant(3) "
            "ROOT y = u64[%lld] reduce-window(x, i), window={size=%lld pad=%lld_%lld}, to_apply=c }",
            (long long)s.n, (long long)s.n, (long long)s.n, (long long)(s.from_last ? 0 : s.n - 1),
            (long long)(s.from_last ? s.n - 1 : 0));
        const void *inputs[] = {x};
        OrderJob j = {text, order_text(cx, &s), inputs, NULL};
        succeed_on(cx, evaluate_in_order, &j, j.order);
        for (int64_t at = 0; at < s.n; at++) {
            const int64_t all = each * s.loop, number = s.from_last ? all - 1 - at : at;
            const uint64_t wanted = result_at(&s, number, 3), got = ((const uint64_t *)j.result->outputs[0].data)[at];
            if (got != wanted) print_error("%s, element %lld of %lld\n", j.order, (long long)at, (long long)s.n);
            assert_int_equal(got, wanted);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
