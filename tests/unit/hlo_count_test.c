/* hlo_count: how often a loop runs, against counting by iterating, and which leaves it keeps. */
#include "hlo/hlo.h"

#include "unit.h"

#include <stdio.h>

typedef struct {
    const char *text;
    HloCount loop;
    bool keeps[3];
} Case;

static void read(WbbCx *cx, void *arg)
{
    Case *c = arg;
    const HloModule *m = hlo_parse(cx, cx->arena, "t.hlo", c->text, strlen(c->text));
    for (uint32_t k = 0; k < m->entry->n_instructions; k++) {
        const HloInstruction *i = m->entry->instructions[k];
        if (i->opcode != HLO_WHILE) continue;
        c->loop = hlo_count_of(i);
        for (uint32_t l = 0; l < 3; l++) c->keeps[l] = hlo_loop_keeps(i, l);
    }
}

/* The limit is a constant of the condition, or leaf 2 of the state, which begins with it. */
static const char *text_of(char *out, size_t size, const char *type, int first, int step, int limit,
                           const char *direction, bool swapped, bool carried)
{
    char bound[80];
    snprintf(bound, sizeof bound, carried ? "get-tuple-element(s), index=2" : "constant(%d)", limit);
    snprintf(out, size,
             "test { s = (%s[], f32[], %s[]) parameter(0) i = %s[] get-tuple-element(s), index=0 n = %s[] %s "
             "ROOT c = pred[] compare(%s), direction=%s }\n"
             "body { s = (%s[], f32[], %s[]) parameter(0) i = %s[] get-tuple-element(s), index=0 "
             "x = f32[] get-tuple-element(s), index=1 n = %s[] get-tuple-element(s), index=2 d = %s[] constant(%d) "
             "j = %s[] %s(i, d) y = f32[] negate(x) ROOT t = (%s[], f32[], %s[]) tuple(j, y, n) }\n"
             "ENTRY e { x = f32[] parameter(0) i = %s[] constant(%d) n = %s[] constant(%d) t = (%s[], f32[], %s[]) "
             "tuple(i, x, n) ROOT w = (%s[], f32[], %s[]) while(t), condition=test, body=body }\n",
             type, type, type, type, bound, swapped ? "n, i" : "i, n", direction, type, type, type, type, type,
             step < 0 ? -step : step, type, step < 0 ? "subtract" : "add", type, type, type, first, type, limit, type,
             type, type, type);
    return out;
}

static bool holds(int d, int64_t x, int64_t y)
{
    const bool all[] = {x == y, x != y, x < y, x <= y, x > y, x >= y};
    return all[d];
}

static void test_trips(void **state)
{
    (void)state;
    static const char *const names[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
    static const int swap[] = {0, 1, 4, 5, 2, 3};
    uint32_t known = 0, unknown = 0;
    for (int step = -3; step <= 3; step++)
        for (int limit = -4; limit <= 5; limit++)
            for (int d = 0; d < 6; d++)
                for (int form = 0; form < 4; form++) {
                    char text[2000];
                    Case c = {.text = text_of(text, sizeof text, form ? "s32" : "s64", 1, step, limit, names[d],
                                              form & 1, form & 2)};
                    WbbCx *cx = wbb_cx_new();
                    assert_int_equal(wbb_guard(cx, read, &c), WBB_OK);
                    int64_t i = 1, trips = 0;
                    for (; trips < 100 && holds(form & 1 ? swap[d] : d, i, limit); i += step) trips++;
                    assert_int_equal(c.loop.trips, trips < 100 ? trips : -1);
                    if (c.loop.trips >= 0) {
                        assert_int_equal(c.loop.counter, 0);
                        assert_int_equal(c.loop.first, 1);
                        assert_int_equal(c.loop.step, step);
                    }
                    assert_true(!c.keeps[1] && c.keeps[2]);
                    known += trips < 100;
                    unknown += trips == 100;
                    wbb_cx_free(cx);
                }
    assert_true(known > 1000 && unknown > 100);
}

/* A counter that wraps around before it reaches the limit, or has too few bits. */
static void test_unknown(void **state)
{
    (void)state;
    char text[2000];
    const struct { const char *type, *direction; int first, step, limit; } all[] = {
        {"u32", "GE", 5, -1, 0}, {"s32", "LT", 2147483000, 1000, 2147483647}, {"s8", "LT", 0, 1, 5},
        {"f32", "LT", 0, 1, 5},
    };
    for (size_t k = 0; k < WBB_LEN(all); k++) {
        Case c = {.text = text_of(text, sizeof text, all[k].type, all[k].first, all[k].step, all[k].limit,
                                  all[k].direction, false, false)};
        WbbCx *cx = wbb_cx_new();
        assert_int_equal(wbb_guard(cx, read, &c), WBB_OK);
        assert_int_equal(c.loop.trips, -1);
        wbb_cx_free(cx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_trips), cmocka_unit_test(test_unknown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
