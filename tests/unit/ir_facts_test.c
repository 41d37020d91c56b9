/* ir_facts: facts of index nodes against every value that the nodes take. Transfer functions are tested on all small
 * facts, whole expressions on all values of their variables. */
#include "ir/facts.h"

#include "random.h"
#include "unit.h"

#include <stdlib.h>

enum { LOW = -4, HIGH = 4, MODS = 4, MAX_FACTS = 400 };

static int64_t floor_div(int64_t x, int64_t k) { return x / k - (x % k < 0); }
static int64_t rem(int64_t x, int64_t k) { return x - floor_div(x, k) * k; }

static bool holds(IrFact f, int64_t x)
{
    if (x < f.lo || x > f.hi) return false;
    return f.mod == 0 ? x == f.lo : rem(x, (int64_t)f.mod) == (int64_t)f.rem;
}

/* All facts with small intervals whose ends have the residue. */
static uint32_t small_facts(IrFact *facts)
{
    uint32_t n = 0;
    for (int64_t lo = LOW; lo <= HIGH; lo++)
        for (int64_t hi = lo; hi <= HIGH; hi++)
            for (int64_t mod = 1; mod <= MODS; mod++) {
                if (lo == hi && mod == 1) facts[n++] = ir_constant_fact(lo);
                if (lo == hi || rem(lo, mod) != rem(hi, mod)) continue;
                facts[n++] = (IrFact){.lo = lo, .hi = hi, .mod = (uint64_t)mod, .rem = (uint64_t)rem(lo, mod)};
                assert_true(n < MAX_FACTS);
            }
    return n;
}

typedef struct {
    const char *name;
    IrFact (*fact)(IrFact, IrFact);
    int64_t (*value)(int64_t, int64_t);
    bool positive; /* only positive second operands */
    bool tight;    /* for operands with intervals alone the result is the smallest interval */
} Transfer;

static int64_t mul(int64_t x, int64_t y) { return x * y; }
static int64_t least(int64_t x, int64_t y) { return WBB_MIN(x, y); }
static int64_t most(int64_t x, int64_t y) { return WBB_MAX(x, y); }

static void check_pair(const Transfer *t, IrFact x, IrFact y, int64_t *checked)
{
    const IrFact f = t->fact(x, y);
    int64_t lo = INT64_MAX, hi = INT64_MIN;
    for (int64_t i = (int64_t)x.lo; i <= x.hi; i++)
        for (int64_t k = (int64_t)y.lo; k <= y.hi; k++) {
            if (!holds(x, i) || !holds(y, k) || (t->positive && k <= 0)) continue;
            const int64_t value = t->value(i, k);
            lo = WBB_MIN(lo, value);
            hi = WBB_MAX(hi, value);
            ++*checked;
            if (!holds(f, value))
                fail_msg("%s(%ld, %ld) = %ld is not in [%ld, %ld], %lu modulo %lu", t->name, i, k, value, (long)f.lo,
                         (long)f.hi, f.rem, f.mod);
        }
    if (t->tight && x.mod <= 1 && y.mod <= 1 && lo <= hi && (f.lo != lo || f.hi != hi))
        fail_msg("%s of [%ld, %ld] and [%ld, %ld] is [%ld, %ld], not [%ld, %ld]", t->name, (long)x.lo, (long)x.hi,
                 (long)y.lo, (long)y.hi, lo, hi, (long)f.lo, (long)f.hi);
}

static void test_transfer_functions(void **state)
{
    static const Transfer all[] = {{"mul", ir_mul_fact, mul, false, true},
                                   {"floordiv", ir_floordiv_fact, floor_div, true, true},
                                   {"mod", ir_mod_fact, rem, true, false},
                                   {"min", ir_min_fact, least, false, true},
                                   {"max", ir_max_fact, most, false, true}};
    IrFact facts[MAX_FACTS];
    const uint32_t n = small_facts(facts);
    int64_t checked = 0;
    (void)state;
    for (uint32_t o = 0; o < WBB_LEN(all); o++)
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t k = 0; k < n; k++) check_pair(&all[o], facts[i], facts[k], &checked);
    assert_true(checked > 100000);
}

static void test_sums(void **state)
{
    IrFact facts[MAX_FACTS];
    const uint32_t n = small_facts(facts);
    (void)state;
    for (int64_t c = -5; c <= 5; c++)
        for (uint32_t i = 0; i < n && c; i++)
            for (uint32_t k = 0; k < n; k++) {
                const IrFact x = facts[i], y = facts[k], f = ir_plus_fact(x, c, y);
                for (int64_t p = (int64_t)x.lo; p <= x.hi; p++)
                    for (int64_t q = (int64_t)y.lo; q <= y.hi; q++)
                        if (holds(x, p) && holds(y, q)) assert_true(holds(f, p + c * q));
                assert_true(f.lo == x.lo + c * (c > 0 ? y.lo : y.hi)); /* the ends are attained */
                assert_true(f.hi == x.hi + c * (c > 0 ? y.hi : y.lo));
            }
}

/* --- expressions -------------------------------------------------------------------------------------------------- */
enum { VARIABLES = 2, EXPRESSIONS = 6000 };

typedef struct {
    IrGraph *g;
    IrRef variables[VARIABLES];
    int64_t values[VARIABLES];
} Fixture;

static IrRef some_expression(Fixture *w, uint32_t depth)
{
    static const int64_t factors[] = {1, 1, -1, 2, 4, 8, 3, -2, 6, 5}, divisors[] = {2, 4, 8, 3, 6, 5, 16};
    if (depth == 0) return below(5) ? w->variables[below(VARIABLES)] : ir_index(w->g, (int64_t)below(20) - 5);
    const IrRef x = some_expression(w, depth - 1), y = some_expression(w, depth - 1);
    const IrRef k = ir_index(w->g, divisors[below(WBB_LEN(divisors))]);
    switch (below(8)) {
    case 0: return ir_node(w->g, OP_FLOORDIV, IR_TYPE(SC_INDEX, 0), 0, x, k, 0, 0);
    case 1: return ir_node(w->g, OP_MOD, IR_TYPE(SC_INDEX, 0), 0, x, k, 0, 0);
    case 2: return ir_node(w->g, OP_MIN, IR_TYPE(SC_INDEX, 0), 0, x, y, 0, 0);
    case 3: return ir_node(w->g, OP_MAX, IR_TYPE(SC_INDEX, 0), 0, x, y, 0, 0);
    case 4: return ir_node(w->g, OP_MUL, IR_TYPE(SC_INDEX, 0), 0, x, y, 0, 0);
    default: {
        const IrTerm terms[] = {{factors[below(WBB_LEN(factors))], x}, {factors[below(WBB_LEN(factors))], y}};
        return ir_sum(w->g, (int64_t)below(9) - 4, terms, 2, NULL);
    }
    }
}

static int64_t value(const Fixture *w, IrRef r)
{
    const IrNode n = *ir_at(w->g, r);
    if (n.op == OP_CONST) return (int64_t)n.imm;
    if (n.op == OP_VAR) return w->values[n.imm];
    if (n.op == OP_SUM) {
        int64_t sum = (int64_t)n.imm;
        for (uint32_t i = 0; i < n.a[1]; i++)
            sum += w->g->terms[n.a[0] + i].coefficient * value(w, w->g->terms[n.a[0] + i].ref);
        return sum;
    }
    const int64_t x = value(w, n.a[0]), y = value(w, n.a[1]);
    switch (n.op) {
    case OP_FLOORDIV: return floor_div(x, y);
    case OP_MOD: return rem(x, y);
    case OP_MIN: return least(x, y);
    case OP_MAX: return most(x, y);
    default: return x * y;
    }
}

/* Counts the facts with a residue, so that a test without facts does not pass. */
static void check_expression(Fixture *w, IrRef r, int64_t *residues)
{
    const IrFact f = ir_fact(w->g, r);
    const IrVar v = w->g->vars[0], u = w->g->vars[1];
    for (w->values[1] = u.lo; w->values[1] <= u.hi; w->values[1]++)
        for (w->values[0] = v.lo; w->values[0] <= v.hi; w->values[0]++) assert_true(holds(f, value(w, r)));
    *residues += f.mod != 1;
}

static void test_expressions(void **state)
{
    int64_t residues = 0;
    (void)state;
    for (uint32_t k = 0; k < EXPRESSIONS; k++) {
        WbbCx *cx = wbb_cx_new();
        WbbArena *a = wbb_arena_new(cx);
        Fixture w = {.g = ir_graph_new(cx, a)};
        seed = k;
        for (uint32_t v = 0; v < VARIABLES; v++) {
            const int64_t lo = below(3) ? 0 : (int64_t)below(20) - 10;
            w.variables[v] = ir_var(w.g, ir_var_new(w.g, "v", IR_LOOP, lo, lo + below(3) * 16 + below(4), 0));
        }
        check_expression(&w, some_expression(&w, 1 + below(4)), &residues);
        wbb_arena_free(a);
        wbb_cx_free(cx);
    }
    assert_true(residues > EXPRESSIONS / 8);
}

/* Variables whose definition is tighter than their interval, and the reverse. */
static void test_definitions(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    IrGraph *g = ir_graph_new(cx, cx->arena);
    const IrRef t = ir_var(g, ir_var_new(g, "t", IR_LOOP, 0, 99, 0));
    const IrRef d = ir_sum(g, 3, (IrTerm[]){{8, t}}, 1, NULL);
    const IrRef v = ir_var(g, ir_var_new(g, "v", IR_LET, 5, 1000, d));
    const IrFact f = ir_fact(g, v);
    assert_true(f.lo == 11 && f.hi == 795 && f.mod == 8 && f.rem == 3);
    wbb_cx_free(cx);
}

/* Facts do not overflow, even with extreme constants. */
static void test_far(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    IrGraph *g = ir_graph_new(cx, cx->arena);
    IrRef x = ir_var(g, ir_var_new(g, "t", IR_LOOP, INT64_MIN, INT64_MAX, 0));
    for (uint32_t i = 0; i < 8; i++) {
        const IrRef y = ir_sum(g, INT64_MAX, (IrTerm[]){{i % 2 ? INT64_MAX : INT64_MIN, x}}, 1, NULL);
        const IrFact f = ir_fact(g, y);
        assert_true(f.lo < f.hi);
        x = ir_node(g, i % 3 ? OP_FLOORDIV : OP_MUL, IR_TYPE(SC_INDEX, 0), 0, y, i % 3 ? ir_index(g, 3) : x, 0, 0);
        assert_true(ir_fact(g, x).lo < ir_fact(g, x).hi);
    }
    wbb_cx_free(cx);
}

/* Whether indices fit 32 bits: the last index of an array is one less than its size. */
static void test_width(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    IrGraph *g = ir_graph_new(cx, cx->arena);
    static const int64_t elements[] = {(int64_t)INT32_MAX, (int64_t)INT32_MAX + 1, (int64_t)INT32_MAX + 2, (int64_t)UINT32_MAX, (int64_t)UINT32_MAX + 1};
    static const bool fits[] = {true, true, false, false, false};
    for (uint32_t k = 0; k < WBB_LEN(elements); k++) {
        const IrRef i = ir_var(g, ir_var_new(g, "i", IR_LOOP, 0, elements[k] - 1, 0));
        assert_int_equal(ir_fits_i32(g, i), fits[k]);
        /* partial results must fit, too */
        const IrRef back = ir_sum(g, 0, (IrTerm[]){{2, i}, {-1, i}}, 2, NULL),
                    half = ir_node(g, OP_FLOORDIV, IR_TYPE(SC_INDEX, 0), 0, i, ir_index(g, 2), 0, 0);
        assert_int_equal(ir_fits_i32(g, back), fits[k]);
        assert_true(ir_fits_i32(g, half)); /* a node computed from a wide one may be narrow */
        const IrRef j = ir_var(g, ir_var_new(g, "j", IR_LOOP, 0, 1023, 0)),
                    k1 = ir_sum(g, 0, (IrTerm[]){{elements[k] / 1024, j}, {-1, half}}, 2, NULL);
        assert_int_equal(ir_fits_i32(g, k1), k < 3);
    }
    wbb_cx_free(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_transfer_functions), cmocka_unit_test(test_sums), cmocka_unit_test(test_expressions),
                                       cmocka_unit_test(test_definitions), cmocka_unit_test(test_far), cmocka_unit_test(test_width)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
