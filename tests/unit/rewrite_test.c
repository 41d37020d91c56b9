/* rewrite: every rule in use keeps the value of what it rewrites. Random index expressions against exact integers; random element
 * expressions of every operation and type, through simplify, lower and select of each target, against their own meaning. */
#include "index/index.h"
#include "rewrite/inner.h"
#include "target/target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t seed = 1;
static uint32_t below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static void guarded(void (*body)(WbbCx *, void *), void *arg)
{
    WbbCx *cx = wbb_cx_new();
    const WbbStatus s = wbb_guard(cx, body, arg);
    if (s != WBB_OK) fail_msg("status %d: %s", (int)s, cx->messages);
    wbb_cx_free(cx);
}

/* --- index expressions ------------------------------------------------------------------------------------------------------- */
enum { VARS = 3, MAX_TREE = 200 };
typedef struct {
    char op; /* v variable, c constant, + * / % m(in) M(ax) */
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
    if (depth == 0 || t->n > 40) return below(5) ? push(t, 'v', (int)below(VARS), 0, 0) : push(t, 'c', 0, 0, (int64_t)below(40) - 20);
    const int64_t k = small[below(WBB_LEN(small))];
    const uint32_t which = below(16);
    const int x = random_term(t, depth - 1);
    if (which < 5) return push(t, '+', push(t, '*', x, 0, k), random_term(t, depth - 1), 0);
    if (which < 8) return push(t, '/', x, 0, k);
    if (which < 11) return push(t, '%', x, 0, k);
    if (which == 11) return push(t, below(2) ? 'm' : 'M', x, 0, (int64_t)below(60) - 20);
    if (which == 12) return push(t, '*', x, 0, -k);
    if (below(8) == 0) { /* x less its quotient, or its remainder */
        const int part = push(t, below(2) ? '/' : '%', x, 0, k + 1);
        return push(t, '+', push(t, '*', x, 0, k), push(t, '*', part, 0, t->node[part].op == '/' ? -k * (k + 1) : -k), 0);
    }
    /* what was taken apart, to be joined: (x / p % q) * m + x / (p*q) * q*m and its relatives */
    const int64_t p = small[1 + below(4)], q = small[1 + below(4)], m = small[below(4)];
    if (which == 13) return push(t, '+', push(t, '*', push(t, '%', x, 0, p), 0, m), push(t, '*', push(t, '/', x, 0, p), 0, p * m), 0);
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

static uint64_t var_value(void *arg, const IrGraph *g, IrRef leaf) { return (uint64_t)((const int64_t *)arg)[ir_at(g, leaf)->imm]; }

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
    fail_msg("a, b, c = %lld, %lld, %lld: %lld expected, %lld found%s", (long long)x[0], (long long)x[1], (long long)x[2], (long long)want,
             (long long)got, b.text);
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
    const IrRef holds = behind ? rw_compare(rw, relations[relation], r, limit) : rw_compare(rw, relations[relation], limit, r);
    for (int p = 0; p < POINTS; p++) {
        int64_t x[VARS], values[16] = {0};
        uint64_t got, again, is_true;
        for (int i = 0; i < VARS; i++) values[first + (uint32_t)i] = x[i] = t.lo[i] + below((uint32_t)(t.hi[i] - t.lo[i] + 1));
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
    guarded(index_body, counts);
    for (uint32_t i = 0; i < ix_tables.n_rules; i++)
        if (!counts[i]) fail_msg("%s:%u never fired: %s", ix_tables.rules[i].file, ix_tables.rules[i].line, ix_tables.rules[i].text);
}

/* --- element expressions ------------------------------------------------------------------------------------------------------ */
typedef struct {
    const char *target;
    bool approx;
    uint32_t trials;
    uint32_t *counts;
} Elements;

static const ScType types[] = {SC_PRED, SC_I2, SC_I4, SC_I8, SC_I16, SC_I32, SC_I64, SC_U2, SC_U4, SC_U8, SC_U16, SC_U32, SC_U64,
                               SC_F4E2M1FN, SC_F8E3M4, SC_F8E4M3, SC_F8E4M3FN, SC_F8E4M3B11FNUZ, SC_F8E4M3FNUZ, SC_F8E5M2, SC_F8E5M2FNUZ,
                               SC_F8E8M0FNU, SC_F16, SC_BF16, SC_F32, SC_F64};

static ScType random_type(void) { return types[below(WBB_LEN(types))]; }
static const char *name_of(ScType t) { return sc_type_info[t].name; }

static void put_leaf(WbbBuf *b, ScType t)
{
    static const char *const floats[] = {"0.0", "-0.0", "1.0", "-1.0", "2.5", "inf", "nan"};
    static const char *const ints[] = {"0", "1", "2", "3", "7", "100"};
    static const char *const fractions[] = {"1.0", "2.0", "0.5"}; /* what every float of 8 bits has */
    const bool narrow = sc_type_info[t].bits < 8;
    if (below(3)) wbb_putf(b, "load %%%s[%u]", name_of(t), below(3));
    else if (t == SC_PRED) wbb_put(b, below(2) ? "true" : "false");
    else if (sc_is_float(t) && sc_type_info[t].bits <= 8) wbb_put(b, fractions[below(WBB_LEN(fractions))]);
    else if (sc_is_float(t)) wbb_put(b, floats[below(WBB_LEN(floats))]);
    else if (narrow) wbb_put(b, ints[below(2)]);
    else wbb_put(b, sc_is_signed(t) && !below(4) ? "-1" : ints[below(WBB_LEN(ints))]);
}

static bool of_program(ScOp op)
{
    const ScOpInfo *o = &sc_op_info[op];
    return o->hlo[0] || o->signature == SC_COMPARE;
}

/* An expression of type t; `rounded`: of operations that are correctly rounded only. */
static void put_value(WbbBuf *b, ScType t, int depth, bool rounded)
{
    for (int tries = 0; depth > 0 && tries < 40; tries++) {
        const ScOp op = (ScOp)below(OP_COUNT);
        const ScOpInfo *o = &sc_op_info[op];
        if (!of_program(op) || (rounded && sc_budget(op, t, false).ulp > 0)) continue;
        ScType from = t;
        if (o->signature == SC_COMPARE || o->signature == SC_TEST) {
            if (t != SC_PRED) continue;
            from = random_type();
            if (!strchr(o->classes, sc_type_info[from].cls)) continue;
        } else if (!strchr(o->classes, sc_type_info[t].cls)) {
            continue;
        }
        if (op == OP_POW && sc_is_int(t) && below(4)) continue;
        if (o->signature == SC_CONVERT) {
            from = random_type();
            if (from == t || (op == OP_BITS && (sc_type_info[from].bits != sc_type_info[t].bits || from == SC_PRED || t == SC_PRED))) continue;
            if (op == OP_BITS && sc_is_float(from) && !sc_is_float(t)) continue; /* which of the nans it is nobody says */
            wbb_putf(b, "%s.%s.%s(", o->name, name_of(t), name_of(from));
        } else {
            wbb_putf(b, "%s.%s(", o->name, name_of(from));
        }
        for (int i = 0; i < o->arity; i++) {
            if (i) wbb_put(b, ", ");
            put_value(b, o->signature == SC_SELECT && i == 0 ? SC_PRED : from, depth - 1, rounded);
        }
        wbb_put(b, ")");
        return;
    }
    put_leaf(b, t);
}

typedef struct { uint64_t sample; } Leaves;

static uint64_t leaf_value(void *arg, const IrGraph *g, IrRef r)
{
    const IrNode *n = ir_at(g, r);
    const ScType t = IR_SC(n->type);
    const uint64_t key[3] = {ir_at(g, n->a[0])->imm, ir_at(g, n->a[1])->imm, ((const Leaves *)arg)->sample};
    const uint64_t h = wbb_hash(key, sizeof key, 3);
    static const double edges[] = {0, -0.0, 1, -1, 0.5, 3, -2.5, 100, -100, 65504, 1e-7, 1e30, -1e30, 127, 128, -129, 32767.5, 1e-40, 4e9, 2e19};
    if (t == SC_PRED) return h & 1;
    if (h % 5 == 0) return (h >> 8) & sc_mask(t);
    if (sc_is_float(t)) return sc_from_f64(t, h % 5 == 1 ? (double)(int64_t)(h >> 8) / 0x1p52 : edges[h / 5 % WBB_LEN(edges)]);
    static const int64_t ints[] = {0, 1, -1, 2, 3, 7, 8, 31, 32, 33, 63, 64, 127, -128, 255, 32767, INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX, 5, 15, 16};
    return sc_from_i128(t, ints[h / 5 % WBB_LEN(ints)]);
}

/* Steps from one value to the other among the values of a float type. */
static double steps(ScType t, uint64_t x, uint64_t y)
{
    const double p = sc_to_f64(t, x), q = sc_to_f64(t, y);
    if (p != p || q != q) return (p != p) == (q != q) ? 0 : 1e30;
    const uint64_t sign = 1ull << (sc_type_info[t].bits - 1);
    const double i = x & sign ? -(double)(x & ~sign) : (double)x, j = y & sign ? -(double)(y & ~sign) : (double)y;
    return i > j ? i - j : j - i;
}

static bool same(ScType t, uint64_t x, uint64_t y, ScBudget allowed)
{
    if (x == y) return true;
    if (!sc_is_float(t)) return false;
    const double p = sc_to_f64(t, x), q = sc_to_f64(t, y);
    if (p != p && q != q) return true;
    if (allowed.absolute > 0 && (p > q ? p - q : q - p) <= allowed.absolute) return true;
    return allowed.ulp > 0 && steps(t, x, y) <= allowed.ulp;
}

enum { SAMPLES = 12 };
static const ScBudget exact = {0, 0};

static IrRef root_of(const IrKernel *k) { return k->body.items[0]->value; }

static void compare(WbbArena *a, RwCx *rw, const IrKernel *k, IrRef before, ScType t, ScBudget allowed, const char *pass, const char *text)
{
    for (Leaves l = {0}; l.sample < SAMPLES; l.sample++) {
        uint64_t x, y;
        assert_true(ir_eval(k->g, before, leaf_value, &l, &x));
        if (!ir_eval(k->g, root_of(k), leaf_value, &l, &y)) fail_msg("%s: no value after %s", text, pass);
        if (same(t, x, y, allowed)) continue;
        WbbBuf b = wbb_buf(a);
        ir_print_node(&b, k->g, root_of(k));
        fail_msg("%s: %s\n%s\nsample %u: %g (0x%llx) expected, %g (0x%llx) found (%g steps, %g allowed)\nafter: %s", rw->target->name, pass, text,
                 (unsigned)l.sample, sc_to_f64(t, x), (unsigned long long)x, sc_to_f64(t, y), (unsigned long long)y,
                 sc_is_float(t) ? steps(t, x, y) : 0.0, allowed.ulp, b.text);
    }
}

static void element_trial(WbbCx *cx, Elements *e, const char *value, ScType t, ScBudget allowed)
{
    WbbArena *a = wbb_arena_new(cx);
    WbbBuf b = wbb_buf(a);
    wbb_put(&b, "kernel @k(");
    for (size_t i = 0; i < WBB_LEN(types); i++) wbb_putf(&b, "%%%s: %s[3], ", name_of(types[i]), name_of(types[i]));
    wbb_putf(&b, "%%out: out %s[1]) block 1 grid 1 {\n  store %%out[0], %s\n}\n", name_of(t), value);
    IrKernel *k = ir_parse(cx, a, "random.ir", b.text, strlen(b.text));
    RwCx *rw = rw_new(cx, a, k->g, &ix_tables, tg_find(e->target)->tables, e->approx);
    const IrRef before = root_of(k);
    rw_index(rw, k);
    rw_run(rw, k, RW_SIMPLIFY);
    compare(a, rw, k, before, t, exact, "simplify", value);
    rw_run(rw, k, RW_LOWER);
    compare(a, rw, k, before, t, allowed, "lower", value);
    rw_run(rw, k, RW_SELECT); /* declines where no tile fits */
    ir_verify(k);
    for (uint32_t i = 0; i < rw->target->n_rules; i++) e->counts[i] += rw_counts(rw, false)[i];
    wbb_arena_free(a);
}

static void element_body(WbbCx *cx, void *arg)
{
    Elements *e = arg;
    WbbArena *a = wbb_arena_new(cx);
    for (ScOp op = (ScOp)0; op < OP_COUNT; op++) /* each operation alone at each type, its operands leaves: within its budget */
        for (size_t i = 0; i < WBB_LEN(types); i++) {
            const ScOpInfo *o = &sc_op_info[op];
            if (!of_program(op) || !strchr(o->classes, sc_type_info[types[i]].cls) || o->signature == SC_CONVERT) continue;
            const bool test = o->signature == SC_COMPARE || o->signature == SC_TEST;
            for (int n = 0; n < 12; n++) {
                WbbBuf b = wbb_buf(a);
                wbb_putf(&b, "%s.%s(", o->name, name_of(types[i]));
                for (int x = 0; x < o->arity; x++) {
                    if (x) wbb_put(&b, ", ");
                    const ScType want = o->signature == SC_SELECT && x == 0 ? SC_PRED : types[i];
                    if (n == 0) wbb_putf(&b, "load %%%s[%d]", name_of(want), x);
                    else put_leaf(&b, want);
                }
                wbb_put(&b, ")");
                element_trial(cx, e, b.text, test ? SC_PRED : types[i], sc_budget(op, types[i], e->approx));
            }
        }
    for (uint32_t n = 0; n < e->trials && !e->approx; n++) {
        const ScType t = random_type();
        WbbBuf b = wbb_buf(a);
        put_value(&b, t, 1 + (int)below(3), true);
        element_trial(cx, e, b.text, t, exact);
    }
    element_trial(cx, e, "bnot.pred(bnot.pred(load %pred[0]))", SC_PRED, exact);
    element_trial(cx, e, "fma.bf16(load %bf16[0], load %bf16[1], load %bf16[2])", SC_BF16, exact);
    for (size_t i = 0; i < WBB_LEN(types) && !e->approx; i++) /* every conversion, and every pair that simplify knows */
        for (size_t j = 0; j < WBB_LEN(types); j++) {
            if (i == j) continue;
            element_trial(cx, e, wbb_format(a, "cvt.%s.%s(load %%%s[0])", name_of(types[i]), name_of(types[j]), name_of(types[j])), types[i], exact);
            element_trial(cx, e, wbb_format(a, "cvt.%s.%s(cvt.%s.%s(load %%%s[0]))", name_of(types[i]), name_of(types[j]), name_of(types[j]),
                                            name_of(types[i]), name_of(types[i])), types[i], exact);
        }
    wbb_arena_free(a);
}

static void elements(const char *target)
{
    static uint32_t counts[4096];
    memset(counts, 0, sizeof counts);
    seed = 2;
    guarded(element_body, &(Elements){.target = target, .trials = 12000, .counts = counts});
    guarded(element_body, &(Elements){.target = target, .approx = true, .counts = counts});
    const RwTables *t = tg_find(target)->tables;
    uint32_t silent = 0;
    for (uint32_t i = 0; i < t->n_rules; i++) {
        if (counts[i] || t->rules[i].stratum == RW_SELECT) continue;
        if (strstr(t->rules[i].file, "complex.py")) continue; /* 64 bits hold no complex value: tests/element_types.py runs these */
        printf("%s: never fired: %s:%u%s: %s\n", target, t->rules[i].file, t->rules[i].line, t->rules[i].instance, t->rules[i].text);
        silent++;
    }
    assert_int_equal(silent, 0);
}

static void test_sm75(void **state) { (void)state; elements("sm_75"); }
static void test_sm80(void **state) { (void)state; elements("sm_80"); }
static void test_sm90(void **state) { (void)state; elements("sm_90"); }

/* --- the engine -------------------------------------------------------------------------------------------------------------- */
typedef struct {
    const char *vars, *expr, *want, *disable;
} Case;

static void case_body(WbbCx *cx, void *arg)
{
    const Case *c = arg;
    WbbArena *a = wbb_arena_new(cx);
    const char *text = wbb_format(a, "kernel @k(%%out: out i64[1]) block 1024 grid 1024 {\n%s  store %%out[0], idx.i64(%s)\n}\n", c->vars, c->expr);
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
        {abc, "(8*a + 4*b + c) // 4", "2*a + b", NULL},               /* split: all that is divisible, the rest within 0..4 */
        {abc, "(8*a + 4*b + c + 7) // 4", "2*a + (c + 3) // 4 + b + 1", NULL}, /* the constant floored */
        {abc, "(8*a - 5) % 4 + c", "c + 3", NULL},
        {abc, "(4*a + c) // 12", "a // 3", NULL},                      /* pick */
        {abc, "(4*a + c) // 10", "(4*a + c) // 10", NULL},             /* 4 does not divide 10 */
        {abc, "(3*a + c) // 12", "(3*a + c) // 12", NULL},             /* the rest reaches 3 */
        {low, "(8*a + 6*b) // 12", "b // 2", NULL},                    /* the first term fails its conditions, the second is tried */
        {abc, "4*(a // 4) + a % 4", "a", NULL},                        /* join, with a computed coefficient */
        {abc, "8*(a // 4) + a % 4", "8*(a // 4) + a % 4", NULL},
        {abc, "a // 100 + c", "c", NULL},
        {abc, "(b // 4) // 5", "b // 20", NULL},
        {abc, "(b // 4) // 5", "(b // 4) // 5", "indexing.py:33"},
    };
    for (size_t i = 0; i < WBB_LEN(cases); i++) guarded(case_body, (void *)&cases[i]);
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
    assert_non_null(strstr(cx->messages, "--disable indexing.py:1: no rule has that name"));
    wbb_cx_free(cx);
}

/* neg.f32(a) -> abs.f32(a), which is wrong */
static const uint32_t wrong_code[] = {0, W_ANY | 1u << 8, W_ACCEPT, 0, 5, W_BNODE | 2u << 8, OP_ABS | (uint32_t)SC_F32 << 16, 0xffff01, W_BROOT | 2u << 8};
static const uint32_t wrong_entry[RW_STRATUM_COUNT][OP_COUNT] = {[RW_SIMPLIFY] = {[OP_NEG] = 1}};
static const RwRule wrong_rules[] = {
    {.file = "patterns/wrong.py", .line = 7, .instance = "[neg.f32]", .text = "neg.f32(a) -> abs.f32(a)", .stratum = RW_SIMPLIFY}};
static const RwTables wrong_tables = {.name = "wrong", .code = wrong_code, .n_code = WBB_LEN(wrong_code), .entry = wrong_entry, .rules = wrong_rules, .n_rules = 1};

static void audit_body(WbbCx *cx, void *arg)
{
    (void)arg;
    WbbArena *a = wbb_arena_new(cx);
    static const char text[] = "kernel @k(%in: f32[1], %out: out f32[1]) block 1 grid 1 {\n  store %out[0], add.f32(neg.f32(load %in[0]), 1.0)\n}\n";
    IrKernel *k = ir_parse(cx, a, "audit.ir", text, sizeof text - 1);
    RwCx *rw = rw_new(cx, a, k->g, &ix_tables, &wrong_tables, false);
    rw_run(rw, k, RW_SIMPLIFY);
    const RwEvent *events;
    assert_int_equal(rw_trace(rw, &events), 1);
    assert_string_equal(rw_rule_name(a, events[0].tables, events[0].rule), "patterns/wrong.py:7[neg.f32]");
    char *message;
    assert_true(rw_audit(rw, a, &message));
    assert_non_null(strstr(message, "patterns/wrong.py:7[neg.f32]: neg.f32(load"));
    assert_int_equal(k->g->rule[ir_at(k->g, root_of(k))->a[0]], 1); /* provenance: rule 0, plus one */
}

static void test_audit_names_the_rule(void **state) { (void)state; guarded(audit_body, NULL); }

/* --- rewriting is linear -------------------------------------------------------------------------------------------------------- */
typedef struct {
    bool tree;
    uint32_t n;
    double visits; /* a node */
} Shape;

static IrRef leaf_load(IrGraph *g, uint32_t i)
{
    return ir_node(g, OP_LOAD, IR_TYPE(SC_F32, 0), 0, ir_node(g, OP_ARG, IR_TYPE(SC_NONE, 0), 0, 0, 0, 0, 0), ir_index(g, i), 0, 0);
}

static IrRef balanced(IrGraph *g, uint32_t n, uint32_t first)
{
    if (n < 2) return ir_node(g, OP_NEG, IR_TYPE(SC_F32, 0), 0, ir_node(g, OP_NEG, IR_TYPE(SC_F32, 0), 0, leaf_load(g, first), 0, 0, 0), 0, 0, 0);
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
        for (uint32_t i = 0; i < s->n; i++) x = ir_node(k.g, i % 3 ? OP_NEG : OP_EXP, IR_TYPE(SC_F32, 0), 0, x, 0, 0, 0); /* neg of neg goes */
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
            guarded(shape_body, &s);
            if (n == 1000) first = s.visits;
            assert_true(s.visits > 0.1 && s.visits <= first * 1.05);
        }
    }
}

/* --- facts of elements are true ---------------------------------------------------------------------------------------------------- */
static void fact_trial(WbbCx *cx, ScType t, uint32_t *claims)
{
    WbbArena *a = wbb_arena_new(cx);
    WbbBuf b = wbb_buf(a);
    wbb_put(&b, "kernel @k(");
    for (size_t i = 0; i < WBB_LEN(types); i++) wbb_putf(&b, "%%%s: %s[3], ", name_of(types[i]), name_of(types[i]));
    wbb_putf(&b, "%%out: out %s[1]) block 1 grid 1 {\n  store %%out[0], ", name_of(t));
    const size_t start = b.n;
    put_value(&b, t, 1 + (int)below(4), true);
    const char *text = wbb_format(a, "%s", b.text + start);
    wbb_put(&b, "\n}\n");
    IrKernel *k = ir_parse(cx, a, "facts.ir", b.text, strlen(b.text));
    const Bits known = rw_bits(k->g, root_of(k), 6);
    const uint32_t may = rw_may(k->g, root_of(k), 6);
    *claims += sc_is_int(t) ? (known.zero | known.one) != 0 : sc_is_float(t) && may != MAY_ALL;
    for (Leaves l = {0}; l.sample < SAMPLES; l.sample++) {
        uint64_t x;
        assert_true(ir_eval(k->g, root_of(k), leaf_value, &l, &x));
        bool wrong = sc_is_int(t) && ((known.zero & x) || (known.one & ~x & sc_mask(t)));
        if (sc_is_float(t)) {
            const double v = sc_to_f64(t, x);
            const bool finite = v - v == 0;
            wrong |= v != v && !(may & MAY_NAN);
            wrong |= v == v && !finite && !(may & MAY_INF);
            wrong |= v < 0 && !(may & MAY_NEGATIVE);
            wrong |= v > 1 && !(may & MAY_EXCEED_1);
            wrong |= v == 0 && 1 / v < 0 && !(may & MAY_NEGZERO);
            wrong |= finite && !(may & MAY_FRACTION) && v < 0x1p53 && v > -0x1p53 && (double)(int64_t)v != v;
        }
        if (wrong) fail_msg("%s: 0x%llx, but known zero 0x%llx, one 0x%llx, may 0x%x", text, (unsigned long long)x, (unsigned long long)known.zero,
                            (unsigned long long)known.one, (unsigned)may);
    }
    wbb_arena_free(a);
}

static void facts_body(WbbCx *cx, void *arg)
{
    uint32_t claims = 0;
    (void)arg;
    for (uint32_t n = 0; n < 12000; n++) fact_trial(cx, random_type(), &claims);
    assert_true(claims > 1000);
}

static void test_facts(void **state)
{
    (void)state;
    seed = 9;
    guarded(facts_body, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear), cmocka_unit_test(test_facts),
        cmocka_unit_test(test_sums),  cmocka_unit_test(test_disable_needs_a_rule), cmocka_unit_test(test_audit_names_the_rule),
        cmocka_unit_test(test_index_rules), cmocka_unit_test(test_sm90), cmocka_unit_test(test_sm80), cmocka_unit_test(test_sm75),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
