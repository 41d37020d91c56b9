/* base_order: who writes each byte before whom: every fault of a few steps over four values, by its text; and random
 * steps, of which each byte says when it was written last. */
#include "base/order.h"

#include "unit.h"

/* p lies in memory 0; s in memory 1, its two halves are low and high; y in memory 2. */
enum { P, S, LOW, HIGH, Y };
enum { MEMORIES = 3, VALUES = 5 };
static const WbbBytes right[VALUES] = {
    {.name = "p", .memory = 0, .bytes = 8, .given = true, .fixed = true},
    {.name = "s", .memory = 1, .bytes = 8},
    {.name = "low", .memory = 1, .bytes = 4},
    {.name = "high", .memory = 1, .offset = 4, .bytes = 4},
    {.name = "y", .memory = 2, .bytes = 8, .wanted = true, .used = true},
};
#define STEP(...) {(const WbbTouch[]){__VA_ARGS__}, sizeof((const WbbTouch[]){__VA_ARGS__}) / sizeof(WbbTouch)}
#define READ(v) {WBB_READS, v, 0}
#define MAKE(v) {WBB_MAKES, v, 0}

static void expect(WbbCx *cx, const WbbBytes *values, const WbbTouches *steps, uint32_t n, const char *fault,
                   uint32_t at)
{
    const WbbOrder o = {.values = values, .steps = steps, .n_values = VALUES, .n_memories = MEMORIES, .n_steps = n};
    const WbbFault found = wbb_order_fault(cx->arena, &o);
    if (!fault) {
        if (found.kind) fail_msg("step %u: %s", found.step, found.text);
        return;
    }
    assert_int_not_equal(found.kind, WBB_FAULT_NONE);
    assert_string_equal(found.text, fault);
    assert_int_equal(found.step, at);
}
#define EXPECT(values, fault, at, ...)                                                                                 \
    expect(cx, values, (const WbbTouches[]){__VA_ARGS__},                                                              \
           sizeof((const WbbTouches[]){__VA_ARGS__}) / sizeof(WbbTouches), fault, at)

static void test_right(void **state)
{
    WbbCx *cx = *state;
    EXPECT(right, NULL, 0, STEP(READ(P), MAKE(S)), STEP(READ(S), READ(P), MAKE(Y)));
    EXPECT(right, NULL, 0, STEP(MAKE(LOW)), STEP(MAKE(HIGH)), STEP(READ(LOW), READ(HIGH), MAKE(Y)));
    EXPECT(right, NULL, 0, STEP(MAKE(S)), STEP(READ(S), {WBB_MAKES, S, 1}), STEP(READ(S), MAKE(Y))); /* in place */
    EXPECT(right, NULL, 0, STEP(MAKE(Y)), STEP({WBB_SPOILS, S, 0}));
}

static void test_faults(void **state)
{
    WbbCx *cx = *state;
    EXPECT(right, "it reads s, which no step makes", 0, STEP(READ(S), MAKE(Y)));
    EXPECT(right, "it reads s, which no step before it makes", 0, STEP(READ(S), MAKE(Y)), STEP(MAKE(S)));
    EXPECT(right, "it reads s, which no step before it makes", 0, STEP(READ(S), MAKE(S), MAKE(Y)));
    EXPECT(right, "it reads s, which step 1 overwrote", 2, STEP(MAKE(S)), STEP(MAKE(LOW)), STEP(READ(S), MAKE(Y)));
    EXPECT(right, "it reads low, which step 1 overwrote", 2, STEP(MAKE(LOW)), STEP({WBB_SPOILS, S, 0}),
           STEP(READ(LOW), MAKE(Y)));
    EXPECT(right, "it makes high over s, which it reads", 1, STEP(MAKE(S)), STEP(READ(S), MAKE(HIGH)));
    EXPECT(right, "it makes low and s in one place", 0, STEP(MAKE(LOW), MAKE(S)));
    EXPECT(right, "high is said to have the memory of s", 1, STEP(MAKE(S)), STEP(READ(S), {WBB_MAKES, HIGH, 1}));
    EXPECT(right, "it reads y, which no step makes", 1, STEP(MAKE(S)));
    EXPECT(right, "it makes y over y, which no step has read", 1, STEP(MAKE(Y)), STEP(MAKE(Y)));
    WbbBytes values[VALUES];
    memcpy(values, right, sizeof values);
    values[Y].memory = 0; /* in the memory of p, which is fixed; or is not, and is read too late, or not */
    EXPECT(values, "it makes y over p, which nothing may overwrite", 0, STEP(READ(P), {WBB_MAKES, Y, 1}));
    values[P].fixed = false;
    EXPECT(values, "it makes y over p, which it reads", 0, STEP(READ(P), MAKE(Y)));
    EXPECT(values, "it reads p, which step 0 overwrote", 1, STEP(READ(P), {WBB_MAKES, Y, 1}), STEP(READ(P), MAKE(S)));
    EXPECT(values, NULL, 0, STEP(READ(P), MAKE(S)), STEP(READ(P), {WBB_MAKES, Y, 1}));
    EXPECT(values, NULL, 0, STEP(READ(P), {WBB_KEEPS, Y, 0}));
    values[S].used = true;
    EXPECT(values, "no step has read s", 2, STEP(MAKE(S)), STEP(MAKE(Y)));
}

/* --- random steps, byte by byte ----------------------------------------------------------------------------------- */
enum { SOME_VALUES = 5, SOME_MEMORIES = 2, SOME_BYTES = 4, SOME_STEPS = 4, SOME_TOUCHES = 3 };

typedef struct {
    WbbBytes values[SOME_VALUES];
    WbbTouch touches[SOME_STEPS][SOME_TOUCHES];
    WbbTouches steps[SOME_STEPS];
    /* At time 2 s + 1 step s writes, and what it leaves appears at 2 s + 2. */
    int written[SOME_MEMORIES][SOME_BYTES], since[SOME_VALUES]; /* -1: never */
    bool read[SOME_VALUES];
} Random;

static uint32_t draw(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 16) % below;
}

static void draw_case(Random *r, uint32_t *seed)
{
    for (uint32_t v = 0; v < SOME_VALUES; v++) {
        const int64_t offset = draw(seed, SOME_BYTES);
        r->values[v] = (WbbBytes){.name = "v", .memory = draw(seed, SOME_MEMORIES), .offset = offset,
                                  .bytes = draw(seed, (uint32_t)(SOME_BYTES + 1 - offset)), .given = !draw(seed, 3),
                                  .fixed = !draw(seed, 6), .wanted = !draw(seed, 6), .used = !draw(seed, 6)};
    }
    for (uint32_t s = 0; s < SOME_STEPS; s++) {
        r->steps[s] = (WbbTouches){r->touches[s], draw(seed, SOME_TOUCHES + 1)};
        for (uint32_t k = 0; k < r->steps[s].n; k++) {
            WbbTouch *t = &r->touches[s][k];
            *t = (WbbTouch){.kind = (WbbTouchKind)draw(seed, WBB_SPOILS + 1), .value = draw(seed, SOME_VALUES)};
            const bool writes = t->kind == WBB_MAKES || t->kind == WBB_SPOILS;
            const uint32_t over = k ? draw(seed, k) : 0;
            if (writes && k && r->touches[s][over].kind == WBB_READS && draw(seed, 2)) t->over = over + 1;
        }
    }
}

static bool is_written(const WbbTouch *t) { return t->kind == WBB_MAKES || t->kind == WBB_SPOILS; }

static bool lies(const Random *r, uint32_t v, uint32_t memory, int64_t byte)
{
    const WbbBytes *x = &r->values[v];
    return x->memory == memory && x->offset <= byte && byte < x->offset + x->bytes;
}

static bool is_there(const Random *r, uint32_t v)
{
    bool there = r->since[v] >= 0;
    for (int64_t b = 0; b < SOME_BYTES; b++)
        if (lies(r, v, r->values[v].memory, b)) there = there && r->written[r->values[v].memory][b] <= r->since[v];
    return there;
}

static bool meet(const Random *r, uint32_t v, uint32_t w)
{
    bool both = false;
    for (int64_t b = 0; b < SOME_BYTES; b++)
        both = both || (lies(r, v, r->values[v].memory, b) && lies(r, w, r->values[v].memory, b));
    return both;
}

static bool same_place(const WbbBytes *x, const WbbBytes *y) { return x->offset == y->offset && x->bytes == y->bytes; }

/* May touch x, which writes, stand beside what there is, and beside the other touches of its step? */
static bool may_write(const Random *r, const WbbTouches *s, const WbbTouch *x)
{
    for (uint32_t v = 0; v < SOME_VALUES; v++)
        if (is_there(r, v) && meet(r, x->value, v) && (r->values[v].fixed || (r->values[v].used && !r->read[v])))
            return false;
    for (const WbbTouch *y = s->touches; y < s->touches + s->n; y++) {
        if (y == x || !meet(r, x->value, y->value)) continue;
        const bool stated = x->over && y == &s->touches[x->over - 1];
        if (!stated || !same_place(&r->values[x->value], &r->values[y->value])) return false;
    }
    return true;
}

static bool is_right(Random *r, uint32_t step)
{
    const WbbTouches *s = &r->steps[step];
    for (const WbbTouch *t = s->touches; t < s->touches + s->n; t++) {
        if (t->kind == WBB_READS && !is_there(r, t->value)) return false;
        if (t->kind == WBB_READS) r->read[t->value] = true;
    }
    for (const WbbTouch *t = s->touches; t < s->touches + s->n; t++)
        if (is_written(t) && !may_write(r, s, t)) return false;
    for (const WbbTouch *t = s->touches; t < s->touches + s->n; t++)
        for (int64_t b = 0; is_written(t) && b < SOME_BYTES; b++)
            if (lies(r, t->value, r->values[t->value].memory, b))
                r->written[r->values[t->value].memory][b] = 2 * (int)step + 1;
    for (const WbbTouch *t = s->touches; t < s->touches + s->n; t++)
        if (t->kind == WBB_MAKES || t->kind == WBB_KEEPS) r->since[t->value] = 2 * (int)step + 2;
    return true;
}

/* The first step that is wrong; SOME_STEPS: what is there at the end; SOME_STEPS + 1: all is right. */
static uint32_t first_wrong(Random *r)
{
    memset(r->written, 0, sizeof r->written);
    for (uint32_t v = 0; v < SOME_VALUES; v++) r->since[v] = r->values[v].given ? 0 : -1, r->read[v] = false;
    for (uint32_t s = 0; s < SOME_STEPS; s++)
        if (!is_right(r, s)) return s;
    for (uint32_t v = 0; v < SOME_VALUES; v++)
        if (r->values[v].wanted ? !is_there(r, v) : r->values[v].used && !r->read[v]) return SOME_STEPS;
    return SOME_STEPS + 1;
}

static void test_random(void **state)
{
    WbbCx *cx = *state;
    enum { CASES = 400000, LEAST = CASES / 100 };
    uint32_t seed = 1, seen[SOME_STEPS + 2] = {0};
    for (uint32_t n = 0; n < CASES; n++) {
        Random r;
        const uint32_t of = seed;
        draw_case(&r, &seed);
        WbbArena *a = wbb_arena_new(cx);
        const WbbOrder o = {.values = r.values, .steps = r.steps, .n_values = SOME_VALUES,
                            .n_memories = SOME_MEMORIES, .n_steps = SOME_STEPS};
        const WbbFault f = wbb_order_fault(a, &o);
        const uint32_t found = f.kind ? f.step : SOME_STEPS + 1, wrong = first_wrong(&r);
        if (found != wrong) fail_msg("case %u: step %u: %s; by bytes: %u", of, found, f.kind ? f.text : "right", wrong);
        seen[wrong]++;
        wbb_arena_free(a);
    }
    for (uint32_t k = 0; k < SOME_STEPS + 2; k++)
        if (seen[k] < LEAST) fail_msg("%u of %u cases end at %u", seen[k], (uint32_t)CASES, k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_right), TEST(test_faults), TEST(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
