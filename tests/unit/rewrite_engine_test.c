/* rewrite_engine: every rule on indices keeps the value of the term that it rewrites: random index expressions against
 * exact integers. The engine: sums, disabled rules, the audit; rewriting takes linear time. */
#include "index/index.h"
#include "pipe/pipe.h"
#include "rewrite/inner.h"
#include "target/target.h"

#include "random.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

/* --- index expressions -------------------------------------------------------------------------------------------- */
enum { VARS = 3, MAX_TREE = 200 };
typedef struct {
    char op; /* v: variable, c: constant, + * / %, m: min, M: max */
    int a, b;
    int64_t k;
} Tree;
typedef struct {
    Tree node[MAX_TREE];
    int n;
    int64_t lo[VARS], hi[VARS];
} Term;

static int64_t floor_div(int64_t x, int64_t k) { return x / k - (x % k < 0); }

static int64_t meaning(const Term *t, int i, const int64_t *x)
{
    const Tree *n = &t->node[i];
    switch (n->op) {
    case 'v': return x[n->a];
    case 'c': return n->k;
    case '+': return meaning(t, n->a, x) + meaning(t, n->b, x);
    case '*': return meaning(t, n->a, x) * n->k;
    case '/': return floor_div(meaning(t, n->a, x), n->k);
    case '%': return meaning(t, n->a, x) - n->k * floor_div(meaning(t, n->a, x), n->k);
    case 'm': return WBB_MIN(meaning(t, n->a, x), n->k);
    default: return WBB_MAX(meaning(t, n->a, x), n->k);
    }
}

static int push(Term *t, char op, int a, int b, int64_t k)
{
    t->node[t->n] = (Tree){op, a, b, k};
    return t->n++;
}

static const int64_t small[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 5};

static int random_term(Term *t, int depth)
{
    if (depth == 0 || t->n > 40)
        return below(5) ? push(t, 'v', (int)below(VARS), 0, 0) : push(t, 'c', 0, 0, (int64_t)below(40) - 20);
    const int64_t k = small[below(WBB_LEN(small))];
    const uint32_t which = below(16);
    const int x = random_term(t, depth - 1);
    if (which < 5) return push(t, '+', push(t, '*', x, 0, k), random_term(t, depth - 1), 0);
    if (which < 8) return push(t, '/', x, 0, k);
    if (which < 11) return push(t, '%', x, 0, k);
    if (which == 11) return push(t, below(2) ? 'm' : 'M', x, 0, (int64_t)below(60) - 20);
    if (which == 12) return push(t, '*', x, 0, -k);
    if (below(8) == 0) { /* k*x less a multiple of its quotient or remainder */
        const int part = push(t, below(2) ? '/' : '%', x, 0, k + 1);
        return push(t, '+', push(t, '*', x, 0, k), push(t, '*', part, 0, t->node[part].op == '/' ? -k * (k + 1) : -k),
                    0);
    }
    /* digits of x, which rules join again: (x / p % q) * m + x / (p*q) * q*m and similar sums */
    const int64_t p = small[1 + below(4)], q = small[1 + below(4)], m = small[below(4)];
    if (which == 13)
        return push(t, '+', push(t, '*', push(t, '%', x, 0, p), 0, m), push(t, '*', push(t, '/', x, 0, p), 0, p * m),
                    0);
    const int digit = push(t, '*', push(t, '%', push(t, '/', x, 0, p), 0, q), 0, which == 14 ? m : p * m);
    if (which == 14) return push(t, '+', digit, push(t, '*', push(t, '/', x, 0, p * q), 0, q * m), 0);
    return push(t, '+', push(t, '*', push(t, '%', x, 0, p), 0, m), digit, 0);
}

static IrRef build(RwCx *rw, const Term *t, int i, const IrRef *var, bool swapped)
{
    const Tree *n = &t->node[i];
    if (n->op == 'v') return var[n->a];
    if (n->op == 'c') return ir_index(rw_graph(rw), n->k);
    if (n->op == '+') {
        if (!swapped) return rw_add(rw, build(rw, t, n->a, var, swapped), build(rw, t, n->b, var, swapped));
        const IrRef y = build(rw, t, n->b, var, swapped);
        return rw_add(rw, y, build(rw, t, n->a, var, swapped));
    }
    const IrRef x = build(rw, t, n->a, var, swapped);
    if (n->op == '*') return rw_scale(rw, x, n->k);
    if (n->op == '/') return rw_floordiv(rw, x, n->k);
    if (n->op == '%') return rw_mod(rw, x, n->k);
    return rw_make(rw, n->op == 'm' ? OP_MIN : OP_MAX, IR_TYPE(SC_INDEX, 0), 0, x, ir_index(rw_graph(rw), n->k), 0, 0);
}

static uint64_t var_value(void *arg, const IrGraph *g, IrRef leaf)
{
    return (uint64_t)((const int64_t *)arg)[ir_at(g, leaf)->imm];
}

static void wrong(WbbArena *a, RwCx *rw, IrRef r, const int64_t *x, int64_t want, int64_t got)
{
    WbbBuf b = wbb_buf(a);
    const RwEvent *e;
    const uint32_t n = rw_trace(rw, &e);
    for (uint32_t i = 0; i < n; i++) {
        wbb_putf(&b, "\n  %s: ", rw_rule_name(a, e[i].tables, e[i].rule));
        ir_print_node(&b, rw_graph(rw), e[i].root);
        wbb_put(&b, " -> ");
        ir_print_node(&b, rw_graph(rw), e[i].result);
    }
    wbb_put(&b, "\n  ");
    ir_print_node(&b, rw_graph(rw), r);
    fail_msg("a, b, c = %lld, %lld, %lld: %lld expected, %lld found%s", (long long)x[0], (long long)x[1],
             (long long)x[2], (long long)want, (long long)got, b.text);
}

enum { INDEX_TRIALS = 30000, POINTS = 8 };

static const ScOp relations[] = {OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE};

static bool related(uint32_t relation, int64_t x, int64_t y)
{
    const bool less = x < y, equal = x == y;
    return (const bool[]){equal, !equal, less, less || equal, !less && !equal, !less}[relation];
}

static void index_trial(WbbCx *cx, uint32_t *counts)
{
    WbbArena *a = wbb_arena_new(cx);
    IrGraph *g = ir_graph_new(cx, a);
    RwCx *rw = rw_new(cx, a, g, &ix_tables, tg_find("sm_90")->tables, false);
    Term t = {.n = 0};
    IrRef var[VARS];
    for (int i = 0; i < VARS; i++) {
        t.lo[i] = below(3) ? 0 : -(int64_t)below(10);
        t.hi[i] = t.lo[i] + (int64_t)below(i == 0 ? 60 : 7);
        var[i] = ir_var(g, ir_var_new(g, (const char *[]){"a", "b", "c"}[i], IR_LOOP, t.lo[i], t.hi[i], 0));
    }
    const uint32_t first = (uint32_t)ir_at(g, var[0])->imm;
    const int root = random_term(&t, 1 + (int)below(4));
    const IrRef r = build(rw, &t, root, var, false), swapped = build(rw, &t, root, var, true);
    const IrFact fact = ir_fact(g, r);
    const uint32_t relation = below(6);
    const int other = below(3) ? push(&t, 'c', 0, 0, (int64_t)below(60) - 20) : random_term(&t, 1);
    const IrRef limit = build(rw, &t, other, var, false);
    const bool behind = below(2);
    const IrRef holds = behind ? rw_compare(rw, relations[relation], r, limit)
                               : rw_compare(rw, relations[relation], limit, r);
    for (int p = 0; p < POINTS; p++) {
        int64_t x[VARS], values[16] = {0};
        uint64_t got, again, is_true;
        for (int i = 0; i < VARS; i++)
            values[first + (uint32_t)i] = x[i] = t.lo[i] + below((uint32_t)(t.hi[i] - t.lo[i] + 1));
        const int64_t want = meaning(&t, root, x);
        assert_true(ir_eval(g, r, var_value, values, &got) && ir_eval(g, swapped, var_value, values, &again));
        assert_true(ir_eval(g, holds, var_value, values, &is_true));
        if ((int64_t)got != want) wrong(a, rw, r, x, want, (int64_t)got);
        if ((int64_t)again != want) wrong(a, rw, swapped, x, want, (int64_t)again);
        const int64_t with = meaning(&t, other, x);
        assert_int_equal(is_true, related(relation, behind ? want : with, behind ? with : want));
        assert_true(fact.lo <= want && want <= fact.hi);
        assert_true(fact.mod ? ((want - (int64_t)fact.rem) % (int64_t)fact.mod == 0) : want == (int64_t)fact.rem);
    }
    for (uint32_t i = 0; i < ix_tables.n_rules; i++) counts[i] += rw_counts(rw, true)[i];
    assert_int_equal(build(rw, &t, root, var, false), r);
    assert_int_equal(rw_sum(rw, 0, (IrTerm[]){{1, r}}, 1), r);
    wbb_arena_free(a);
}

static void index_body(WbbCx *cx, void *arg)
{
    for (int i = 0; i < INDEX_TRIALS; i++) index_trial(cx, arg);
}

static void test_index_rules(void **state)
{
    (void)state;
    uint32_t counts[512] = {0};
    seed = 1;
    succeed_alone(index_body, counts);
    for (uint32_t i = 0; i < ix_tables.n_rules; i++)
        if (!counts[i] && ix_tables.rules[i].phase == RW_INDEX)
            fail_msg("%s:%u never fired: %s", ix_tables.rules[i].file, ix_tables.rules[i].line,
                     ix_tables.rules[i].text);
}

/* --- the engine --------------------------------------------------------------------------------------------------- */
typedef struct {
    const char *vars, *expr, *want, *disable;
} Case;

static void case_body(WbbCx *cx, void *arg)
{
    const Case *c = arg;
    WbbArena *a = wbb_arena_new(cx);
    const char *text = wbb_format(
        a, "kernel @k(%%out: out i64[1]) block 1024 grid 1024 {\n%s  store %%out[0], idx.i64(%s)\n}\n", c->vars,
        c->expr);
    IrKernel *k = ir_parse(cx, a, "case.ir", text, strlen(text));
    RwCx *rw = rw_new(cx, a, k->g, &ix_tables, tg_find("sm_90")->tables, false);
    if (c->disable) rw_disable(rw, c->disable);
    rw_index(rw, k);
    WbbBuf b = wbb_buf(a);
    ir_print(&b, k);
    const char *want = wbb_format(a, "idx.i64(%s)\n", c->want);
    if (!strstr(b.text, want)) fail_msg("%s: %s expected in\n%s", c->expr, want, b.text);
}

static void test_sums(void **state)
{
    (void)state;
    static const char abc[] = "  let a = tid in 0..100\n  let b = bid in 0..100\n  let c = tid + bid in 0..4\n";
    static const char low[] = "  let a = tid in 0..1\n  let b = bid in 0..100\n";
    const Case cases[] = {
        {abc, "(8*a + 4*b + c) // 4", "2*a + b", NULL},               /* split off the divisible terms; the rest is in 0..4 */
        {abc, "(8*a + 4*b + c + 7) // 4", "2*a + (c + 3) // 4 + b + 1", NULL}, /* the constant is split, too */
        {abc, "(8*a - 5) % 4 + c", "c + 3", NULL},
        {abc, "(4*a + c) // 12", "a // 3", NULL},                      /* one term is divided */
        {abc, "(4*a + c) // 10", "(4*a + c) // 10", NULL},             /* 4 does not divide 10 */
        {abc, "(3*a + c) // 12", "(3*a + c) // 12", NULL},             /* the rest may be 3 */
        {low, "(8*a + 6*b) // 12", "b // 2", NULL},                    /* the conditions fail for the first term and hold for the second */
        {abc, "4*(a // 4) + a % 4", "a", NULL},                        /* joined, with a computed coefficient */
        {abc, "8*(a // 4) + a % 4", "8*(a // 4) + a % 4", NULL},
        {abc, "a // 100 + c", "c", NULL},
        {abc, "(b // 4) // 5", "b // 20", NULL},
        {abc, "(b // 4) // 5", "(b // 4) // 5", "indexing.py:33"},
    };
    for (size_t i = 0; i < WBB_LEN(cases); i++) succeed_alone(case_body, (void *)&cases[i]);
}

static void unknown_rule(WbbCx *cx, void *arg)
{
    (void)arg;
    WbbArena *a = wbb_arena_new(cx);
    rw_disable(rw_new(cx, a, ir_graph_new(cx, a), &ix_tables, tg_find("sm_90")->tables, false), "indexing.py:1");
}

static void test_disable_needs_a_rule(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    assert_int_equal(wbb_guard(cx, unknown_rule, NULL), WBB_FAILED);
    assert_non_null(strstr(cx->messages, "indexing.py:1: no rule has that name"));
    wbb_cx_free(cx);
}

/* A wrong rule: neg.f32(a) -> abs.f32(a). */
static const uint32_t wrong_code[] = {0, W_ANY | 1u << 8, W_ACCEPT, 0, 5, W_BNODE | 2u << 8, OP_ABS | (uint32_t)SC_F32 << 16, 0xffff01, W_BROOT | 2u << 8};
static const uint32_t wrong_entry[RW_PHASE_COUNT][OP_COUNT] = {[RW_SIMPLIFY] = {[OP_NEG] = 1}};
static const RwRule wrong_rules[] = {
    {.file = "patterns/wrong.py", .line = 7, .instance = "[neg.f32]", .text = "neg.f32(a) -> abs.f32(a)", .phase = RW_SIMPLIFY}};
static const RwTables wrong_tables = {.name = "wrong",
                                      .code = wrong_code,
                                      .n_code = WBB_LEN(wrong_code),
                                      .entry = wrong_entry,
                                      .rules = wrong_rules,
                                      .n_rules = 1};

static void audit_body(WbbCx *cx, void *arg)
{
    (void)arg;
    WbbArena *a = wbb_arena_new(cx);
    static const char text[] = "kernel @k(%in: f32[1], %out: out f32[1]) block 1 grid 1 {\n  store %out[0], "
                               "add.f32(neg.f32(load %in[0]), 1.0)\n}\n";
    IrKernel *k = ir_parse(cx, a, "audit.ir", text, sizeof text - 1);
    RwCx *rw = rw_new(cx, a, k->g, &ix_tables, &wrong_tables, false);
    rw_run(rw, k, RW_SIMPLIFY);
    const RwEvent *events;
    assert_int_equal(rw_trace(rw, &events), 1);
    assert_string_equal(rw_rule_name(a, events[0].tables, events[0].rule), "patterns/wrong.py:7[neg.f32]");
    char *message;
    assert_true(pipe_audit(rw, a, &message));
    assert_non_null(strstr(message, "patterns/wrong.py:7[neg.f32]: neg.f32(load"));
    assert_int_equal(k->g->rule[ir_at(k->g, k->body.items[0]->value)->a[0]],
                     1); /* provenance: the number of the rule plus 1 */
}

static void test_audit_names_the_rule(void **state) { (void)state; succeed_alone(audit_body, NULL); }

/* --- linear time -------------------------------------------------------------------------------------------------- */
typedef struct {
    bool tree;
    uint32_t n;
    double visits; /* of each node */
} Shape;

static IrRef leaf_load(IrGraph *g, uint32_t i)
{
    return ir_node(g, OP_LOAD, IR_TYPE(SC_F32, 0), 0, ir_node(g, OP_ARG, IR_TYPE(SC_NONE, 0), 0, 0, 0, 0, 0),
                   ir_index(g, i), 0, 0);
}

static IrRef balanced(IrGraph *g, uint32_t n, uint32_t first)
{
    if (n < 2)
        return ir_node(g, OP_NEG, IR_TYPE(SC_F32, 0), 0,
                       ir_node(g, OP_NEG, IR_TYPE(SC_F32, 0), 0, leaf_load(g, first), 0, 0, 0), 0, 0, 0);
    const IrRef x = balanced(g, n / 2, first), y = balanced(g, n - n / 2, first + n / 2);
    return ir_node(g, OP_ADD, IR_TYPE(SC_F32, 0), 0, x, y, 0, 0);
}

static void shape_body(WbbCx *cx, void *arg)
{
    Shape *s = arg;
    WbbArena *a = wbb_arena_new(cx);
    IrKernel k = {.name = "k", .g = ir_graph_new(cx, a), .block = 1, .grid = 1};
    IrRef x = leaf_load(k.g, 0);
    if (s->tree) x = balanced(k.g, s->n / 5, 0);
    else
        for (uint32_t i = 0; i < s->n; i++)
            x = ir_node(k.g, i % 3 ? OP_NEG : OP_EXP, IR_TYPE(SC_F32, 0), 0, x, 0, 0, 0); /* neg of neg is simplified */
    IrStmt *store = ir_stmt(k.g, &k.body, IR_STORE);
    store->index = ir_index(k.g, 0);
    store->value = x;
    const uint32_t nodes = k.g->n;
    RwCx *rw = rw_new(cx, a, k.g, &ix_tables, tg_find("sm_90")->tables, false);
    rw_run(rw, &k, RW_SIMPLIFY);
    s->visits = (double)rw_visits(rw) / nodes;
}

static void test_linear(void **state)
{
    (void)state;
    for (int tree = 0; tree < 2; tree++) {
        double first = 0;
        for (uint32_t n = 1000; n <= 100000; n *= 10) {
            Shape s = {.tree = tree != 0, .n = n};
            succeed_alone(shape_body, &s);
            if (n == 1000) first = s.visits;
            assert_true(s.visits > 0.1 && s.visits <= first * 1.05);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear), cmocka_unit_test(test_sums), cmocka_unit_test(test_disable_needs_a_rule),
        cmocka_unit_test(test_audit_names_the_rule), cmocka_unit_test(test_index_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
