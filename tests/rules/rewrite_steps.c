/* rewrite_steps.c: what the engine does to terms, node by node, for tests/rules/rewrite_matcher.py.
 *
 *     rewrite_steps TARGET < TERMS
 *
 * A line of TERMS is a phase (index, simplify, lower, isel), a tab, a term as in IR text, and for each let a tab and
 * its text. Each node of the term, operands first, takes one step of the rules (rw_step), then its result does. For
 * isel each node takes the first tile that matches, as if every value had one user. Prints for each term, in numbers:
 *
 *     N ref op type flags imm operand ..      a node, also those that were made; of a float constant imm is a double
 *     S ref constant coefficient term ..      a sum
 *     V number lo hi                          an index variable, with its interval
 *     F ref lo hi mod rem                     what is known of an index (ends as two words of 64 bits)
 *     B ref zero one                          bits that are known of an integer element
 *     M ref classes                           classes of floats that a value may belong to
 *     E phase ref rule result                 a step; rule -1: no rule fires
 *     .                                       the end
 */
#include "rewrite/inner.h"
#include "target/target.h"

#include <stdio.h>
#include <string.h>

enum { MOST_STEPS = 300, MOST_LETS = 16, LINE = 1 << 16, DEPTH = 6 };
static const char *const phases[] = {"index", "arrays", "options", "simplify", "lower", "isel"};

typedef struct {
    int phase, rule;
    IrRef root, result;
} Step;

typedef struct {
    WbbCx *cx;
    const TgTarget *target;
    char *line;
    WbbArena *a;
    IrGraph *g;
    RwCx *rw;
    RwPhase phase;
    Step steps[MOST_STEPS];
    uint32_t n_steps;
    IrRef *normal;
    uint32_t capacity;
} Run;

static IrRef step(Run *t, IrRef r, int *rule)
{
    uint32_t number;
    const RwPhase phase = ir_is_index(t->g, r) ? RW_INDEX : t->phase;
    if (phase != RW_ISEL) {
        const IrRef next = rw_step(t->rw, phase, r, &number);
        *rule = !next ? -1 : number == RW_FOLDED ? -2 : (int)number;
        return next;
    }
    Match m;
    const uint32_t *build;
    uint32_t *uses = WBB_NEW_N(t->a, uint32_t, t->g->n);
    for (uint32_t i = 0; i < t->g->n; i++) uses[i] = 1;
    t->rw->uses = uses;
    t->rw->n_uses = t->g->n;
    IrRef next = 0;
    for (bool ok = rw_match(t->rw, t->rw->target, phase, r, &m, &build); ok && !next;) {
        *rule = (int)m.rule;
        next = rw_build(t->rw, t->rw->target, r, &m, build);
        if (!next) ok = rw_match_next(t->rw, &m, &build);
    }
    if (!next) *rule = -1;
    return next;
}

static IrRef *known(Run *t, IrRef r)
{
    if (t->capacity <= r) {
        const uint32_t capacity = WBB_MAX(t->g->capacity, r + 1);
        t->normal =
            wbb_grow(t->a, t->normal, t->capacity * sizeof *t->normal, capacity * sizeof *t->normal);
        t->capacity = capacity;
    }
    return &t->normal[r];
}

static IrRef normal(Run *t, IrRef r);

static IrRef on_normal_operands(Run *t, IrRef r)
{
    const IrNode n = *ir_at(t->g, r);
    if (n.op == OP_SUM) {
        IrTerm *terms = WBB_NEW_N(t->a, IrTerm, n.a[1]);
        for (uint32_t i = 0; i < n.a[1]; i++) {
            terms[i] = t->g->terms[n.a[0] + i];
            terms[i].ref = normal(t, t->g->terms[n.a[0] + i].ref);
        }
        bool overflow = false;
        const IrRef made = ir_sum(t->g, (int64_t)n.imm, terms, n.a[1], &overflow);
        return overflow ? r : made;
    }
    IrRef x[3] = {0, 0, 0};
    for (uint32_t i = 0; i < 3 && n.a[i]; i++) x[i] = normal(t, n.a[i]);
    return x[0] ? ir_node(t->g, (ScOp)n.op, n.type, n.flags, x[0], x[1], x[2], n.imm) : r;
}

static IrRef normal(Run *t, IrRef r)
{
    if (*known(t, r)) return *known(t, r);
    *known(t, r) = r; /* should rewriting return to it */
    IrRef now = t->phase == RW_ISEL ? r : on_normal_operands(t, r);
    if (t->phase == RW_ISEL)
        for (uint32_t i = 0; i < ir_arity(t->g, r); i++) normal(t, ir_operand(t->g, r, i));
    if ((ir_at(t->g, now)->a[0] || ir_at(t->g, now)->op == OP_SUM) && t->n_steps < MOST_STEPS &&
        !(t->phase == RW_ISEL && ir_is_index(t->g, now))) {
        Step *s = &t->steps[t->n_steps++];
        *s = (Step){.phase = (int)(ir_is_index(t->g, now) ? RW_INDEX : t->phase), .root = now};
        s->result = step(t, now, &s->rule);
        if (s->result && t->phase != RW_ISEL) now = normal(t, s->result);
    }
    return *known(t, r) = now;
}

static void put_wide(WbbI128 x) { printf(" %lld %llu", (long long)(x >> 64), (unsigned long long)(uint64_t)x); }

static void put_node(IrGraph *g, IrRef r)
{
    const IrNode n = *ir_at(g, r);
    if (n.op == OP_SUM) {
        printf("S %u %lld", r, (long long)n.imm);
        for (uint32_t i = 0; i < n.a[1]; i++)
            printf(" %lld %u", (long long)g->terms[n.a[0] + i].coefficient, g->terms[n.a[0] + i].ref);
    } else {
        union { double d; uint64_t u; } value = {.u = n.imm};
        if (n.op == OP_CONST && sc_is_float(IR_SC(n.type))) value.d = sc_to_f64(IR_SC(n.type), n.imm);
        printf("N %u %u %u %u %llu", r, n.op, n.type, n.flags, (unsigned long long)value.u);
        for (uint32_t i = 0; i < 3 && n.a[i]; i++) printf(" %u", n.a[i]);
    }
    const ScType t = IR_SC(n.type);
    if (t == SC_INDEX) {
        const IrFact f = ir_fact(g, r);
        printf("\nF %u", r);
        put_wide(f.lo);
        put_wide(f.hi);
        printf(" %llu %llu", (unsigned long long)f.mod, (unsigned long long)f.rem);
    } else if (sc_is_int(t)) {
        const IrBits b = ir_element_bits(g, r, DEPTH);
        printf("\nB %u %llu %llu", r, (unsigned long long)b.zero, (unsigned long long)b.one);
    } else if (sc_is_float(t)) {
        printf("\nM %u %u", r, ir_float_may(g, r, DEPTH));
    }
    putchar('\n');
}

static void body(WbbCx *cx, void *arg)
{
    Run *t = arg;
    const char *words[MOST_LETS + 2] = {0}, *lets[MOST_LETS];
    uint32_t n = 0;
    for (char *at = t->line, *tab; at && n < MOST_LETS + 2; at = tab) {
        tab = strchr(at, '\t');
        if (tab) *tab++ = 0;
        words[n++] = at;
    }
    for (uint32_t i = 2; i < n; i++) lets[i - 2] = words[i];
    t->g = ir_graph_new(cx, t->a);
    t->rw = rw_new(cx, t->a, t->g, &ix_tables, t->target->tables, false);
    t->rw->single = true;
    t->phase = RW_ISEL;
    for (int i = 0; i < RW_PHASE_COUNT; i++)
        if (!strcmp(phases[i], words[0])) t->phase = (RwPhase)i;
    normal(t, ir_parse_term(cx, t->a, t->g, "term", words[1] ? words[1] : "", lets, n > 2 ? n - 2 : 0));
    for (uint32_t i = 0; i < t->g->n_vars; i++)
        printf("V %u %lld %lld\n", i, (long long)t->g->vars[i].lo, (long long)t->g->vars[i].hi);
    for (IrRef r = 1; r < t->g->n; r++) put_node(t->g, r);
    for (uint32_t i = 0; i < t->n_steps; i++)
        printf("E %d %u %d %u\n", t->steps[i].phase, t->steps[i].root, t->steps[i].rule, t->steps[i].result);
    puts(".");
}

int main(int argc, char **argv)
{
    static char line[LINE];
    WbbCx *cx = wbb_cx_new();
    const TgTarget *target = argc > 1 ? tg_find(argv[1]) : NULL;
    if (!target) return fputs("usage: rewrite_steps TARGET < TERMS\n", stderr), 2;
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        Run t = {.cx = cx, .target = target, .line = line, .a = wbb_arena_new(cx)};
        if (wbb_guard(cx, body, &t) != WBB_OK)
            return fprintf(stderr, "%s: %s", line + strlen(line) + 1, cx->messages), 1;
        wbb_arena_free(t.a);
    }
    wbb_cx_free(cx);
    return 0;
}
