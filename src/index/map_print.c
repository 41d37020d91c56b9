/* map_print.c: expressions and maps as text, in the notation of XLA's index maps, which is what readers of HLO know:
 * `/` is floor division, `mod` its remainder, coefficients stand right.
 *
 * Needs nodes; leaves a text that map_parse.c reads as the same nodes. Where all terms of a dividend are negative, the
 * divisor is written negative instead, which is the same value and shorter: (-d0 - d1) / 8 is (d0 + d1) / -8.
 *
 *     (d0)[s0] -> (d0 * 4 + s0), domain: d0 in [0, 7], s0 in [0, 3], d0 + s0 in [0, 8]
 */
#include "index/inner.h"
#include "ir/facts.h"

#include <stdlib.h>
#include <string.h>

/* The outermost operator of an expression. `*`, `/` and mod have one precedence, left to right. */
typedef enum { ATOM, TIMES, DIVIDED, MODULO, ADDED } Shape;

static Shape shape_of(const IrGraph *g, IrRef r)
{
    const IrNode *n = ir_at(g, r);
    switch (n->op) {
    case OP_SUM: return n->a[1] == 1 && n->imm == 0 && g->terms[n->a[0]].coefficient != -1 ? TIMES : ADDED;
    case OP_MUL: return TIMES;
    case OP_FLOORDIV: return DIVIDED;
    case OP_MOD: return MODULO;
    case OP_CONST: return (int64_t)n->imm < 0 ? ADDED : ATOM;
    default: return ATOM;
    }
}

/* An operand is in brackets unless it is one factor or, on the left, has the same operator (`repeated`). */
static void put_operand(WbbBuf *out, const IrGraph *g, IrRef r, Shape repeated)
{
    const Shape shape = shape_of(g, r);
    const bool brackets = shape != ATOM && shape != repeated;
    if (brackets) wbb_put(out, "(");
    ix_put_expression(out, g, r);
    if (brackets) wbb_put(out, ")");
}

static void put_sum(WbbBuf *out, const IrGraph *g, const IrNode *n, bool negate)
{
    for (uint32_t i = 0; i < n->a[1]; i++) {
        const IrTerm t = g->terms[n->a[0] + i];
        const WbbI128 k = negate ? -(WbbI128)t.coefficient : t.coefficient, size = k < 0 ? -k : k;
        /* d0 * -2, but -d0 */
        const bool minus_first = k < 0 && i == 0 && size == 1, factor = k < 0 && i == 0 && size != 1;
        if (minus_first) wbb_put(out, "-");
        else if (i) wbb_put(out, k < 0 ? " - " : " + ");
        if (size == 1 && !minus_first) {
            put_operand(out, g, t.ref, shape_of(g, t.ref));
            continue;
        }
        put_operand(out, g, t.ref, minus_first ? ATOM : TIMES);
        if (size == 1) continue;
        wbb_put(out, " * ");
        wbb_put_i128(out, factor ? k : size);
    }
    const WbbI128 own = (int64_t)n->imm, c = negate ? -own : own;
    if (c) wbb_put(out, c < 0 ? " - " : " + ");
    if (c) wbb_put_i128(out, c < 0 ? -c : c);
}

static bool all_negative(const IrGraph *g, const IrNode *n)
{
    if (n->op != OP_SUM || (int64_t)n->imm > 0) return false;
    for (uint32_t i = 0; i < n->a[1]; i++)
        if (g->terms[n->a[0] + i].coefficient >= 0) return false;
    return true;
}

/* The dividend s of s / k with all signs changed. */
static void put_negated(WbbBuf *out, const IrGraph *g, const IrNode *s)
{
    const IrTerm first = g->terms[s->a[0]];
    const bool term = s->a[1] == 1 && s->imm == 0 && first.coefficient == -1;
    if (term) {
        put_operand(out, g, first.ref, DIVIDED);
        return;
    }
    wbb_put(out, "(");
    put_sum(out, g, s, true);
    wbb_put(out, ")");
}

void ix_put_expression(WbbBuf *out, const IrGraph *g, IrRef r)
{
    const IrNode *n = ir_at(g, r);
    switch (n->op) {
    case OP_CONST: wbb_put_i128(out, (int64_t)n->imm); break;
    case OP_VAR: wbb_put(out, g->vars[n->imm].name); break;
    case OP_SUM: put_sum(out, g, n, false); break;
    case OP_MUL:
        put_operand(out, g, n->a[0], TIMES);
        wbb_put(out, " * ");
        put_operand(out, g, n->a[1], ATOM);
        break;
    case OP_FLOORDIV:
    case OP_MOD: {
        const bool negative = n->op == OP_FLOORDIV && ir_is_const(g, n->a[1]) && all_negative(g, ir_at(g, n->a[0]));
        if (negative) put_negated(out, g, ir_at(g, n->a[0]));
        else put_operand(out, g, n->a[0], n->op == OP_MOD ? MODULO : DIVIDED);
        wbb_put(out, n->op == OP_MOD ? " mod " : negative ? " / -" : " / ");
        put_operand(out, g, n->a[1], ATOM);
        break;
    }
    default: /* min, max, and comparisons, which maps do not contain */
        wbb_putf(out, "%s(", sc_op_info[n->op].name);
        ix_put_expression(out, g, n->a[0]);
        wbb_put(out, ", ");
        ix_put_expression(out, g, n->a[1]);
        wbb_put(out, ")");
        break;
    }
}

/* --- maps --------------------------------------------------------------------------------------------------------- */
static void put_names(WbbBuf *out, const IxMap *m, IxKind kind, const char *open, const char *close)
{
    const char *comma = "";
    if (kind != IX_DIMENSION && ix_map_count(m, kind) == 0) return;
    wbb_put(out, open);
    for (uint32_t i = 0; i < m->vars.n; i++) {
        if (m->vars.items[i].kind != kind) continue;
        wbb_putf(out, "%s%s", comma, m->vars.items[i].name);
        comma = ", ";
    }
    wbb_put(out, close);
}

static void put_interval(WbbBuf *out, int64_t lo, int64_t hi)
{
    wbb_putf(out, " in [%lld, %lld]", (long long)lo, (long long)hi);
}

static int by_text(const void *x, const void *y) { return strcmp(*(char *const *)x, *(char *const *)y); }

static void put_constraints(WbbBuf *out, const IrGraph *g, const IxMap *m, const char *comma)
{
    const uint32_t n = m->constraints.n;
    char **texts = WBB_NEW_N(out->arena, char *, n + 1u);
    for (uint32_t i = 0; i < n; i++) {
        WbbBuf b = wbb_buf(out->arena);
        ix_put_expression(&b, g, m->constraints.items[i].expression);
        put_interval(&b, m->constraints.items[i].lo, m->constraints.items[i].hi);
        texts[i] = b.text;
    }
    qsort(texts, n, sizeof *texts, by_text);
    for (uint32_t i = 0; i < n; i++, comma = ", ") wbb_putf(out, "%s%s", comma, texts[i]);
}

static bool is_unbounded(const IxMap *m)
{
    for (uint32_t i = 0; i < m->vars.n; i++)
        if (m->vars.items[i].lo != INT64_MIN || m->vars.items[i].hi != INT64_MAX) return false;
    return m->constraints.n == 0;
}

void ix_map_print(WbbBuf *out, const IrGraph *g, const IxMap *m)
{
    if (m->state != IX_KNOWN) {
        wbb_put(out, m->state == IX_EMPTY ? "KNOWN EMPTY" : "UNDEFINED");
        return;
    }
    put_names(out, m, IX_DIMENSION, "(", ")");
    put_names(out, m, IX_RANGE, "[", "]");
    put_names(out, m, IX_RUNTIME, "{", "}");
    wbb_put(out, " -> (");
    for (uint32_t i = 0; i < m->results.n; i++) {
        if (i) wbb_put(out, ", ");
        ix_put_expression(out, g, m->results.items[i]);
    }
    wbb_put(out, ")");
    if (is_unbounded(m)) return; /* an expression for all integers */
    const char *comma = ", domain: ";
    for (uint32_t i = 0; i < m->vars.n; i++, comma = ", ") {
        wbb_putf(out, "%s%s", comma, m->vars.items[i].name);
        put_interval(out, m->vars.items[i].lo, m->vars.items[i].hi);
    }
    put_constraints(out, g, m, comma);
}

/* --- cost --------------------------------------------------------------------------------------------------------- */
typedef struct {
    /* min, max and each bound of a constraint are compares; equal nodes count once */
    uint32_t div, rem, mul, add, compare;
    uint32_t provable;                    /* of div and rem: how many have a quotient that facts prove constant */
} Cost;

typedef struct {
    IrGraph *g;
    WbbMap seen; /* nodes */
    Cost *cost;
} Counting;

static void count(Counting *c, IrRef r)
{
    const IrNode *n = ir_at(c->g, r);
    if (n->op == OP_CONST || n->op == OP_VAR || wbb_map_get(&c->seen, r)) return;
    wbb_map_put(&c->seen, r);
    if (n->op != OP_SUM) {
        if (n->op == OP_FLOORDIV || n->op == OP_MOD) {
            const IrFact x = ir_fact(c->g, n->a[0]), k = ir_fact(c->g, n->a[1]);
            c->cost->provable += k.lo == k.hi && ir_floor_div(x.lo, k.lo) == ir_floor_div(x.hi, k.lo);
        }
        if (n->op == OP_FLOORDIV) c->cost->div++;
        else if (n->op == OP_MOD) c->cost->rem++;
        else if (n->op == OP_MUL) c->cost->mul++;
        else c->cost->compare++;
        count(c, n->a[0]);
        count(c, n->a[1]);
        return;
    }
    c->cost->add += n->a[1] - 1 + (n->imm != 0);
    for (uint32_t i = 0; i < n->a[1]; i++) {
        const int64_t k = c->g->terms[n->a[0] + i].coefficient;
        if (k != 1 && k != -1) c->cost->mul++;
        if (k == -1 && i == 0) c->cost->add++;
        count(c, c->g->terms[n->a[0] + i].ref);
    }
}

static Cost cost_of(IrGraph *g, WbbArena *a, const IxMap *m)
{
    Cost cost = {0};
    Counting c = {.g = g, .seen = {.arena = a}, .cost = &cost};
    for (uint32_t i = 0; i < m->results.n; i++) count(&c, m->results.items[i]);
    for (uint32_t i = 0; i < m->constraints.n; i++) count(&c, m->constraints.items[i].expression);
    cost.compare += 2 * m->constraints.n;
    return cost;
}

/* --- JSON --------------------------------------------------------------------------------------------------------- */
static void put_interval_json(WbbBuf *out, const char *key, const char *text, int64_t lo, int64_t hi)
{
    wbb_json_open(out, NULL, '{');
    wbb_json_text(out, key, text);
    wbb_json_int(out, "lo", lo);
    wbb_json_int(out, "hi", hi);
    wbb_json_close(out, '}');
}

static void put_variables_json(WbbBuf *out, const IxMap *m, IxKind kind, const char *key)
{
    wbb_json_open(out, key, '[');
    for (uint32_t i = 0; i < m->vars.n; i++) {
        const IxVar *v = &m->vars.items[i];
        if (v->kind == kind) put_interval_json(out, "name", v->name, v->lo, v->hi);
    }
    wbb_json_close(out, ']');
}

static const char *expression_text(WbbArena *a, const IrGraph *g, IrRef r)
{
    WbbBuf text = wbb_buf(a);
    ix_put_expression(&text, g, r);
    return text.text;
}

void ix_map_json(WbbBuf *out, const char *key, IrGraph *g, const IxMap *m)
{
    static const char *const states[] = {[IX_KNOWN] = "known", [IX_EMPTY] = "empty", [IX_UNKNOWN] = "unknown"};
    WbbBuf text = wbb_buf(out->arena);
    ix_map_print(&text, g, m);
    wbb_json_open(out, key, '{');
    wbb_json_text(out, "state", states[m->state]);
    wbb_json_text(out, "map", text.text);
    put_variables_json(out, m, IX_DIMENSION, "dimensions");
    put_variables_json(out, m, IX_RANGE, "ranges");
    put_variables_json(out, m, IX_RUNTIME, "runtime");
    wbb_json_open(out, "results", '[');
    for (uint32_t i = 0; i < m->results.n; i++)
        wbb_json_text(out, NULL, expression_text(out->arena, g, m->results.items[i]));
    wbb_json_close(out, ']');
    wbb_json_open(out, "constraints", '[');
    for (uint32_t i = 0; i < m->constraints.n; i++) {
        const IxConstraint c = m->constraints.items[i];
        put_interval_json(out, "expression", expression_text(out->arena, g, c.expression), c.lo, c.hi);
    }
    wbb_json_close(out, ']');
    const Cost k = cost_of(g, out->arena, m);
    wbb_json_open(out, "cost", '{');
    wbb_json_uint(out, "div", k.div);
    wbb_json_uint(out, "rem", k.rem);
    wbb_json_uint(out, "mul", k.mul);
    wbb_json_uint(out, "add", k.add);
    wbb_json_uint(out, "compare", k.compare);
    wbb_json_uint(out, "provable", k.provable);
    wbb_json_close(out, '}');
    if (key) wbb_json_close(out, '}');
    else wbb_json_end(out, "map.1");
}
