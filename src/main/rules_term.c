/* rules_term.c: a term through the rules one step at a time: operands first, then the node, then the parts of the right
 * side that the rule made.
 *
 * Needs a term and a target; leaves the steps and the normal form. The engine rewrites the parts of a right side while
 * it makes them; here each step has its right side as the pattern file has it. Both reach the same result; `rules test`
 * says so where they do not.
 *
 *     Term t = main_term_new(cx, a, g, tg_find("sm_80"), false);
 *     r = main_term_normal(&t, RW_LOWER, r);                  // t.steps.items[0..n]
 */
#include "main/rules_term.h"

#include "index/index.h"

#include <string.h>

enum { MAX_DEPTH = 1000, MAX_STEPS = 100000 };

Term main_term_new(WbbCx *cx, WbbArena *a, IrGraph *g, const TgTarget *t, ScAccuracy accuracy)
{
    return (Term){.g = g,
                  .rw = rw_new(cx, a, g, &ix_tables, t->tables, accuracy),
                  .index = &ix_tables,
                  .target = t->tables,
                  .arena = a,
                  .accuracy = accuracy};
}

static void add_step(Term *t, RwPhase phase, const RwTables *tables, uint32_t rule, IrRef before, IrRef after)
{
    const TermStep s = {.phase = phase, .tables = tables, .rule = rule, .before = before, .after = after};
    if (t->steps.n == MAX_STEPS)
        wbb_fail(t->g->cx, (WbbLoc){0}, "more than %d steps: rewriting does not end", MAX_STEPS);
    WBB_PUSH(t->arena, &t->steps, s);
}

static IrRef *memo(Term *t, IrRef r)
{
    if (t->memo_capacity <= r) {
        const uint32_t capacity = WBB_MAX(t->g->capacity, r + 1);
        t->memo = wbb_grow(t->arena, t->memo, t->memo_capacity * sizeof *t->memo, capacity * sizeof *t->memo);
        t->memo_capacity = capacity;
    }
    return &t->memo[r];
}

static bool is_index(const IrGraph *g, IrRef r)
{
    const IrNode *n = ir_at(g, r);
    if (IR_SC(n->type) == SC_INDEX) return true;
    return sc_op_info[n->op].signature == SC_COMPARE && IR_SC(ir_at(g, n->a[0])->type) == SC_INDEX;
}

static IrRef normal(Term *t, IrRef r);

/* The node with the normal forms of its operands. */
static IrRef on_normal_operands(Term *t, IrRef r)
{
    const IrNode n = *ir_at(t->g, r);
    if (n.op == OP_SUM) {
        IrTerm *terms = WBB_NEW_N(t->arena, IrTerm, n.a[1]);
        for (uint32_t i = 0; i < n.a[1]; i++) {
            const IrTerm term = t->g->terms[n.a[0] + i];
            terms[i] = (IrTerm){.coefficient = term.coefficient, .ref = normal(t, term.ref)};
        }
        return ir_sum(t->g, (int64_t)n.imm, terms, n.a[1], NULL);
    }
    IrRef x[3] = {0, 0, 0};
    for (uint32_t i = 0; i < 3 && n.a[i]; i++) x[i] = normal(t, n.a[i]);
    return x[0] ? ir_node(t->g, (ScOp)n.op, n.type, n.flags, x[0], x[1], x[2], n.imm) : r;
}

static IrRef normal(Term *t, IrRef r)
{
    if (*memo(t, r)) return *memo(t, r);
    if (++t->depth > MAX_DEPTH) wbb_fail(t->g->cx, (WbbLoc){0}, "nested deeper than %d", MAX_DEPTH);
    IrRef now = on_normal_operands(t, r), next = 0;
    uint32_t rule = 0;
    const RwPhase phase = is_index(t->g, now) ? RW_INDEX : t->phase;
    if (phase == RW_INDEX || t->phase != RW_INDEX) next = rw_step(t->rw, phase, now, &rule);
    if (next) {
        const bool folded = rule == RW_FOLDED;
        const RwTables *tables = phase == RW_INDEX ? t->index : t->target;
        add_step(t, phase, folded ? NULL : tables, folded ? TERM_FOLDED : rule, now, next);
        now = normal(t, next);
    }
    t->depth--;
    *memo(t, r) = now;
    *memo(t, now) = now;
    return now;
}

/* --accuracy: mark functions with SC_FLAG_APPROX, as the pass `simplify` does before it applies rules. */
static IrRef mark_functions(Term *t, IrRef r)
{
    if (*memo(t, r)) return *memo(t, r);
    const IrNode n = *ir_at(t->g, r);
    IrRef result = r;
    if (!ir_in_pool(&n) && n.a[0] && !is_index(t->g, r)) {
        IrRef x[3] = {0, 0, 0};
        for (uint32_t i = 0; i < 3 && n.a[i]; i++) x[i] = mark_functions(t, n.a[i]);
        const bool function = sc_is_marked((ScOp)n.op, IR_SC(n.type), t->accuracy) && !(n.flags & SC_FLAG_APPROX);
        const IrRef plain = ir_node(t->g, (ScOp)n.op, n.type, n.flags, x[0], x[1], x[2], n.imm);
        result = plain;
        if (function) result = ir_node(t->g, (ScOp)n.op, n.type, n.flags | SC_FLAG_APPROX, x[0], x[1], x[2], n.imm);
        if (function) add_step(t, RW_SIMPLIFY, NULL, TERM_APPROX, plain, result);
    }
    return *memo(t, r) = result;
}

static void forget(Term *t)
{
    if (t->memo) memset(t->memo, 0, t->memo_capacity * sizeof *t->memo);
}

IrRef main_term_normal(Term *t, RwPhase phase, IrRef r)
{
    forget(t);
    t->phase = phase;
    if (phase == RW_SIMPLIFY && t->accuracy) {
        r = mark_functions(t, r);
        forget(t);
    }
    return normal(t, r);
}

static void watch(void *arg, const RwEvent *e)
{
    Term *t = arg;
    if (e->tables->rules[e->rule].phase == RW_ISEL) add_step(t, RW_ISEL, e->tables, e->rule, e->root, e->result);
}

IrRef main_term_pass(Term *t, RwPhase phase, IrRef r)
{
    IrKernel k = {.name = "term", .g = t->g, .block = 1, .grid = 1};
    IrStmt *s = ir_stmt(t->g, &k.body, IR_STORE);
    s->index = ir_index(t->g, 0);
    s->value = r;
    rw_index(t->rw, &k);
    rw_watch(t->rw, watch, t);
    if (phase != RW_INDEX) rw_run(t->rw, &k, phase);
    rw_watch(t->rw, NULL, NULL);
    return s->value;
}

static void put_instructions(Term *t, WbbBuf *b, IrRef r, int depth)
{
    const IrNode *n = ir_at(t->g, r);
    if (n->op != OP_INSTR || depth == 0) {
        wbb_put(b, depth || !n->a[0] ? main_node_text(t->arena, t->g, r, MAIN_DEEP) : "...");
        return;
    }
    const RwInstr *row = &t->target->instrs[RW_ROW(n->imm)];
    const bool asm_text = row->kind == RW_ASM;
    wbb_putf(b, asm_text ? "'%s'(" : "%s(", row->kind == RW_LOOKUP ? "lookup" : row->text);
    for (uint32_t i = 0; i < 3 && n->a[i]; i++) {
        if (i) wbb_put(b, ", ");
        put_instructions(t, b, n->a[i], depth - 1);
    }
    for (uint32_t i = 0; i < row->n_immediates; i++)
        wbb_putf(b, ", %%%c = %lld", "ijk"[i], (long long)rw_immediate(row, n->imm, i));
    wbb_put(b, ")");
}

const char *main_term_text(Term *t, IrRef r)
{
    WbbBuf b = wbb_buf(t->arena);
    put_instructions(t, &b, r, main_depth(t->arena, t->g, r));
    return b.text;
}

uint64_t main_term_hash(Term *t, IrRef r)
{
    uint64_t *hash = WBB_NEW_N(t->arena, uint64_t, t->g->n);
    for (IrRef i = 1; i <= r; i++) { /* operands before users */
        const IrNode *n = ir_at(t->g, i);
        uint64_t key[6] = {n->op, n->type, n->flags, n->op == OP_INSTR ? 0 : n->imm, 0, 0};
        hash[i] = wbb_hash(key, sizeof key, 0);
        if (n->op == OP_INSTR) {
            const char *text = t->target->instrs[RW_ROW(n->imm)].text;
            key[0] = n->imm >> 16;
            hash[i] = wbb_hash(text, strlen(text), wbb_hash(key, sizeof key, hash[i]));
        }
        if (ir_in_pool(n))
            for (uint32_t k = 0; k < n->a[1]; k++) {
                const IrTerm term = t->g->terms[n->a[0] + k];
                key[0] = hash[term.ref], key[1] = (uint64_t)term.coefficient;
                hash[i] = wbb_hash(key, sizeof key, hash[i]);
            }
        else
            for (uint32_t k = 0; k < 3; k++) hash[i] = wbb_hash(&hash[n->a[k]], sizeof *hash, hash[i]);
    }
    return hash[r];
}
