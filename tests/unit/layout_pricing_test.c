/* layout_pricing: layouts chosen by price. Over random spaces each of the cheapest layouts is one that a kernel may
 * have, has each element once, and is the same when it is chosen again. */
#include "plan/work.h"

#include "random.h"
#include "unit.h"

enum { MAX_DIMS = 6 };

/* A reduction of one array in memory order, whose result is in memory order. */
typedef struct {
    LayDim dims[MAX_DIMS];
    int64_t load_step[MAX_DIMS], store_step[MAX_DIMS];
    LayAccess load, store;
    uint32_t bits;
    LayWork work;
    const TgTarget *target;
    LayChoice choice;
} Case;

static void describe(Case *c, uint32_t n, const int64_t *sizes, const char *kinds, uint32_t bits)
{
    static const char *const names[MAX_DIMS] = {"a", "b", "c", "d", "e", "f"};
    int64_t all = 1, kept = 1, align = 1 << 20;
    for (uint32_t d = n; d-- > 0;) {
        c->dims[d] = (LayDim){.name = names[d], .size = sizes[d], .reduced = kinds[d] == 'r'};
        c->load_step[d] = all;
        c->store_step[d] = c->dims[d].reduced ? 0 : kept;
        while (all > 1 && all % align) align /= 2;
        all *= sizes[d];
        if (!c->dims[d].reduced) kept *= sizes[d];
    }
    c->bits = bits;
    c->load = (LayAccess){.bits = bits, .elements = all, .memory = all, .align = align, .beside = LAY_FAR,
                            .step = c->load_step};
    c->store = (LayAccess){.bits = bits, .elements = kept, .memory = kept, .align = 1, .beside = LAY_FAR,
                           .step = c->store_step};
    c->work = (LayWork){.dims = c->dims, .n_dims = n, .commutes = true, .presence = true, .splits = true};
    c->work.reductions = c->work.passes = 1;
    c->work.loads = &c->load, c->work.n_loads = 1;
    c->work.stores = &c->store, c->work.n_stores = 1;
    c->work.partials = &c->bits, c->work.n_partials = 1;
    c->work.combine_slots = 1, c->work.combine_clocks = 0.25, c->work.combine_latency = 4;
}

static void choose(WbbCx *cx, void *arg)
{
    Case *c = arg;
    c->choice = lay_choose_layout(cx->arena, &c->work, c->target);
}

/* --- what a kernel may have --------------------------------------------------------------------------------------- */
typedef struct {
    const Case *of;
    const Layout *layout;
    bool maps;
} Check;

static void check(WbbCx *cx, void *arg)
{
    const Check *c = arg;
    lay_check(cx, cx->arena, c->layout, c->of->target);
    if (c->maps) lay_maps(cx, ix_engine(cx, cx->arena), cx->arena, c->layout);
}

static void read_back(WbbCx *cx, void *arg)
{
    const Check *c = arg;
    WbbBuf b = wbb_buf(cx->arena), again = wbb_buf(cx->arena);
    lay_print(&b, c->layout);
    LayDim space[MAX_DIMS];
    for (uint32_t d = 0; d < c->of->work.n_dims; d++) space[d] = c->of->dims[d];
    const Layout l = lay_parse(cx, cx->arena, b.text, space, c->of->work.n_dims);
    lay_print(&again, &l);
    assert_string_equal(b.text, again.text);
}

/* What src/plan/reductions.md says of reductions, beyond lay_check. */
static void check_reduction(const Case *c, const Layout *l, const char *text)
{
    int64_t reduced_lanes = 1, warps = 1, terms = 1;
    uint32_t loops = 0, reduced = 0;
    for (uint32_t d = 0; d < l->n_dims; d++) {
        const LayDim *x = &l->dims[d];
        reduced += x->reduced;
        for (uint32_t k = 0; k < x->n_factors; k++) {
            const LayFactor *f = &x->factors[k];
            const bool clusters = x->reduced && tg_has(c->target, "cluster") && f->size <= 8;
            if (f->level == LAY_CLUSTER && !clusters) fail_msg("%s: cluster on %s", text, c->target->name);
            if (f->level == LAY_LOOP && (!x->reduced || loops++)) fail_msg("%s: loop", text);
            if (f->level == LAY_LANE && x->reduced) reduced_lanes *= f->size;
            if (f->level == LAY_WARP) warps *= f->size;
            if (f->level <= LAY_REGISTER) terms *= f->size;
            if (f->level <= LAY_REGISTER && f->size > 64) fail_msg("%s: %lld terms", text, (long long)f->size);
            if (!c->work.commutes && x->reduced && k && f->level < x->factors[k - 1].level) fail_msg("%s: order", text);
        }
    }
    if (!c->work.commutes && reduced > 1) fail_msg("%s: reduces %u dimensions in order", text, reduced);
    if (reduced_lanes > 1 && lay_level_size(l, LAY_LANE) != 32) fail_msg("%s: lanes of part of a warp", text);
    if (warps > 1 && lay_level_size(l, LAY_LANE) != 32) fail_msg("%s: warps of few lanes", text);
    if (terms > tg_tune(c->target, "layout.max_terms", 0)->value) fail_msg("%s: %lld terms", text, (long long)terms);
}

static void judge(WbbCx *cx, const Case *c, bool maps)
{
    if (!c->choice.n) {
        WbbBuf b = wbb_buf(cx->arena);
        for (uint32_t d = 0; d < c->work.n_dims; d++)
            wbb_putf(&b, " %lld%s", (long long)c->dims[d].size, c->dims[d].reduced ? "r" : "");
        fail_msg("no layout of%s", b.text);
    }
    for (uint32_t k = 0; k < c->choice.n; k++) {
        const LayPriced *x = &c->choice.best[k];
        WbbBuf b = wbb_buf(cx->arena);
        lay_print(&b, &x->layout);
        Check job = {.of = c, .layout = &x->layout, .maps = maps && k == 0};
        succeed_on(cx, check, &job, b.text);
        succeed_on(cx, read_back, &job, b.text);
        check_reduction(c, &x->layout, b.text);
        if (k > 1 && x->price.us < c->choice.best[k - 1].price.us) fail_msg("%s: cheaper than the one before", b.text);
        for (int t = 0; t < LAY_TERMS; t++)
            if (!(x->price.term[t] >= 0) || x->price.term[t] > x->price.us)
                fail_msg("%s: %s is %g of %g us", b.text, lay_term_name[t], x->price.term[t], x->price.us);
        const double tie = 1 + (double)tg_tune(c->target, "layout.tie", 0)->value / 1000;
        if (x->price.us > tie * c->choice.best[1].price.us && k == 0 && c->choice.n > 1)
            fail_msg("%s: dearer than the cheapest by more than a tie", b.text);
    }
}

static int64_t some_size(void)
{
    switch (below(6)) {
    case 0: return 1 + below(8);
    case 1: return 1 << below(20);
    case 2: return 1 + below(100);
    case 3: return 3 * (1 << below(12));
    case 4: return 1 + below(100000);
    default: return 32 * (1 + below(64));
    }
}

static void test_random(void **state)
{
    (void)state;
    static const uint32_t widths[] = {8, 16, 32, 64};
    uint32_t n_targets, of_level[LAY_LEVELS] = {0};
    const TgTarget *const *targets = tg_all(&n_targets);
    for (int k = 0; k < 3000; k++) {
        WbbCx *cx = wbb_cx_new();
        Case c = {.target = targets[below(n_targets)]}, again;
        const uint32_t n = 1 + below(k % 10 ? 3 : MAX_DIMS), first = below(2);
        int64_t sizes[MAX_DIMS];
        char kinds[MAX_DIMS + 1] = {0};
        int64_t room = INT64_C(1) << 31; /* elements */
        for (uint32_t d = 0; d < n; d++) {
            const int64_t wish = some_size();
            sizes[d] = WBB_MIN(wish, room);
            room /= sizes[d];
            kinds[d] = (d + first) % 2 && below(20) ? 'k' : 'r'; /* seldom neighbours of one kind */
        }
        kinds[below(n)] = 'r';
        describe(&c, n, sizes, kinds, widths[below(4)]);
        uint32_t reduced = 0;
        for (uint32_t d = 0; d < n; d++) reduced += c.dims[d].reduced;
        c.work.commutes = reduced > 1 || below(3);
        if (below(4) == 0) c.work.term_slots = below(100), c.work.term_clocks = c.work.term_slots / 4;
        again = c;
        succeed(cx, choose, &c);
        judge(cx, &c, k % 4 == 0);
        again.work.loads = &again.load, again.work.stores = &again.store;
        succeed(cx, choose, &again);
        assert_int_equal(c.choice.n, again.choice.n);
        for (uint32_t x = 0; x < c.choice.n; x++) {
            const LayPriced *one = &c.choice.best[x], *two = &again.choice.best[x];
            assert_memory_equal(&one->price, &two->price, sizeof one->price);
        }
        for (int level = 0; level < LAY_LEVELS; level++)
            of_level[level] += lay_level_size(&c.choice.best[0].layout, (LayLevel)level) > 1;
        wbb_cx_free(cx);
    }
    for (int level = 0; level < LAY_LEVELS; level++)
        if (of_level[level] < (level == LAY_CLUSTER ? 5 : 100)) /* clusters lose a microsecond each time they start */
            fail_msg("%s: chosen %u times", lay_level_name[level], of_level[level]);
}

/* Spaces, the times that the cheapest layouts had when prices were fitted to measured ones, and `part` of the chosen
 * layout's text. */
static void test_known(void **state)
{
    WbbCx *cx = *state;
    static const struct { int64_t sizes[3]; const char *kinds; uint32_t bits; double us; const char *part; } cases[] = {
        {{8192, 1024}, "kr", 32, 10.7, "b: vector 4, lane "},
        {{8192, 4096}, "rk", 32, 40.3, "b: vector 4, lane "},
        {{1 << 20, 3}, "rk", 16, 5.1, "b: warp 3; a: lane 32, warp "},
        {{1 << 27}, "r", 32, 155.2, "a: vector 4, lane 32, warp "},
        {{256, 256, 256}, "krk", 32, 21.7, "c: vector "},
        {{65536, 48}, "kr", 32, 5.2, "b: vector 4, lane "},
        {{32, 128256}, "kr", 16, 5.4, "b: vector 8, lane "},
    };
    for (size_t k = 0; k < WBB_LEN(cases); k++) {
        Case c = {.target = tg_find("sm_90")};
        describe(&c, (uint32_t)strlen(cases[k].kinds), cases[k].sizes, cases[k].kinds, cases[k].bits);
        succeed(cx, choose, &c);
        WbbBuf b = wbb_buf(cx->arena);
        lay_print_choice(&b, &c.choice);
        double us = c.choice.best[0].price.us; /* the chosen one is the cheapest, or about as cheap: `judge` */
        for (uint32_t x = 1; x < c.choice.n; x++) us = WBB_MIN(us, c.choice.best[x].price.us);
        judge(cx, &c, false);
        if (us > 1.05 * cases[k].us || us < 0.8 * cases[k].us)
            fail_msg("%g us expected\n%s", cases[k].us, b.text);
        b = wbb_buf(cx->arena);
        lay_print(&b, &c.choice.best[0].layout);
        has(b.text, cases[k].part);
    }
}

/* More rows take longer, and rows that begin anywhere have no vectors. */
static void test_monotone(void **state)
{
    WbbCx *cx = *state;
    double before = 0;
    for (int64_t rows = 1024; rows <= 1 << 20; rows *= 4) {
        Case c = {.target = tg_find("sm_90")};
        describe(&c, 2, (int64_t[]){rows, 1000}, "kr", 32);
        succeed(cx, choose, &c);
        assert_true(c.choice.best[0].price.us > before);
        before = c.choice.best[0].price.us;
        c.load.align = 1;
        succeed(cx, choose, &c);
        assert_true(c.choice.best[0].price.us >= 0.99 * before);
        assert_int_equal(lay_level_size(&c.choice.best[0].layout, LAY_VECTOR), 1);
    }
}

/* --- what all lanes of a warp combine in one instruction ---------------------------------------------------------- */
typedef struct { const char *op, *type; ScOp redux; } Combiner;

static void check_redux(WbbCx *cx, void *arg)
{
    const Combiner *c = arg;
    const char *text = wbb_format(cx->arena,
                                  "f { a = %s[] parameter(0) b = %s[] parameter(1) ROOT c = %s[] %s(a, b) }\n"
                                  "ENTRY e { x = %s[64] parameter(0) z = %s[] parameter(1) "
                                  "ROOT r = %s[] reduce(x, z), dimensions={0}, to_apply=f }\n",
                                  c->type, c->type, c->type, c->op, c->type, c->type, c->type);
    const HloModule *m = hlo_parse(cx, cx->arena, "t.hlo", text, strlen(text));
    const PlanReduce r = {.i = m->entry->root, .commutes = true};
    assert_int_equal(plan_redux(&r, tg_find("sm_90")), c->redux);
    assert_int_equal(plan_redux(&r, tg_find("sm_75")), OP_NONE);
}

static void test_redux(void **state)
{
    Combiner all[] = {
        {"add", "s32", OP_REDUX_ADD},     {"minimum", "u32", OP_REDUX_MIN}, {"maximum", "s32", OP_REDUX_MAX},
        {"and", "u32", OP_REDUX_AND},     {"or", "s32", OP_REDUX_OR},       {"xor", "u32", OP_REDUX_XOR},
        {"multiply", "s32", OP_NONE},     {"mulhi", "s32", OP_NONE},        {"subtract", "s32", OP_NONE},
        {"add", "s64", OP_NONE},          {"add", "f32", OP_NONE},          {"add", "pred", OP_REDUX_OR},
        {"multiply", "pred", OP_REDUX_AND}, {"minimum", "pred", OP_REDUX_AND}, {"maximum", "pred", OP_REDUX_OR},
        {"and", "pred", OP_REDUX_AND},    {"or", "pred", OP_REDUX_OR},      {"xor", "pred", OP_REDUX_XOR},
    };
    for (size_t k = 0; k < WBB_LEN(all); k++) succeed(*state, check_redux, &all[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_random),
        TEST(test_known),
        TEST(test_monotone),
        TEST(test_redux),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
