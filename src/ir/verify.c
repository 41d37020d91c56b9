/* verify.c: what every kernel keeps between two passes. Our own bug where it does not: the node is noted, then an assert.
 *
 * Needs a kernel; leaves it. Checked are operands (older than their users, as many as the operation has, of the types that its
 * signature asks for, in canonical order), statements (stores go to outputs, conditions are pred, lanes cover their interval) and
 * scopes (a variable is used only below the statement that binds it).
 */
#include "ir/ir.h"

#include <string.h>

typedef struct {
    const IrKernel *k;
    const IrGraph *g;
    WbbArena *scratch;
    bool *bound;       /* by variable: bound where we are */
    uint32_t *checked; /* by ref: scope number in which its variables were found bound; 0: not yet */
    uint32_t scope;
} Verify;

static void broken(const Verify *v, IrRef r, const char *what)
{
    WbbBuf b = wbb_buf(v->scratch);
    if (r) ir_print_node(&b, v->g, r);
    wbb_note(v->g->cx, (WbbLoc){0}, "bug: kernel @%s: %s%s%s", v->k->name, what, r ? ": " : "", r ? b.text : "");
    assert(!"the kernel is broken; the note names the node");
}

static IrType type_of(const Verify *v, IrRef r) { return ir_at(v->g, r)->type; }
static bool is_index(const Verify *v, IrRef r) { return r && type_of(v, r) == IR_TYPE(SC_INDEX, 0); }

static void check_sum(const Verify *v, IrRef r)
{
    const IrNode *n = ir_at(v->g, r);
    if (n->type != IR_TYPE(SC_INDEX, 0)) broken(v, r, "a sum is an index");
    if (n->a[1] == 0) broken(v, r, "a sum without terms is a constant");
    for (uint32_t i = 0; i < n->a[1]; i++) {
        const IrTerm t = v->g->terms[n->a[0] + i];
        if (!t.coefficient || !t.ref || t.ref >= r || !is_index(v, t.ref)) broken(v, r, "a term that may not be");
        if (ir_at(v->g, t.ref)->op == OP_SUM && !ir_at(v->g, t.ref)->flags) broken(v, r, "a sum in a sum");
        if (ir_is_const(v->g, t.ref)) broken(v, r, "a constant among the terms");
    }
}

static void check_frame(const Verify *v, IrRef r)
{
    const IrNode *n = ir_at(v->g, r);
    const IrType first = n->a[0] ? type_of(v, n->a[0]) : 0;
    switch (n->op) {
    case OP_LOAD:
        if (ir_at(v->g, n->a[0])->op != OP_ARG || !is_index(v, n->a[1])) broken(v, r, "a load is (arg, index)");
        if (ir_at(v->g, n->a[0])->imm >= v->k->n_buffers) broken(v, r, "no such buffer");
        if (IR_SC(n->type) != v->k->buffers[ir_at(v->g, n->a[0])->imm].type) broken(v, r, "a load of another type");
        break;
    case OP_IDX:
        if (!is_index(v, n->a[0])) broken(v, r, "idx of what is no index");
        break;
    case OP_PACK:
        if (first != type_of(v, n->a[1]) || n->type != first + (1u << 6)) broken(v, r, "lanes do not add up");
        break;
    case OP_SPLAT:
        if (first != (n->type & 63u) || IR_LANES(n->type) < 2) broken(v, r, "a splat is of one lane");
        break;
    case OP_PART:
        if (IR_SC(first) != IR_SC(n->type) || n->imm + IR_LANES(n->type) > IR_LANES(first)) broken(v, r, "no such lanes");
        break;
    default: break;
    }
}

static void check_operands(const Verify *v, IrRef r)
{
    const IrNode *n = ir_at(v->g, r);
    const ScOpInfo *op = &sc_op_info[n->op];
    const IrType lanes = n->type & ~63u, first = n->a[0] ? type_of(v, n->a[0]) : 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < 3; i++) {
        if (n->a[i] >= r) broken(v, r, "an operand younger than its user");
        if (n->a[i] && count != i) broken(v, r, "a hole in the operands");
        if (n->a[i]) count++;
    }
    if (count != op->arity && n->op != OP_INSTR) broken(v, r, "the number of operands");
    const bool pred = op->signature == SC_COMPARE || op->signature == SC_TEST;
    if (pred && n->type != ((IrType)SC_PRED | (first & ~63u))) broken(v, r, "a comparison's type is pred");
    for (uint32_t i = 0; i < count; i++) {
        const IrType t = type_of(v, n->a[i]);
        if (op->signature == SC_SAME && t != n->type) broken(v, r, "operands have the type of the result");
        if (pred && t != first) broken(v, r, "operands of a comparison differ in type");
        if (op->signature == SC_SELECT && t != (i ? n->type : (IrType)SC_PRED | lanes)) broken(v, r, "operands of select");
        if (op->signature == SC_CONVERT && n->op == OP_CVT && (t & ~63u) != lanes) broken(v, r, "lanes of a conversion");
    }
    if (op->commutative && count == 2) {
        const bool c0 = ir_is_const(v->g, n->a[0]), c1 = ir_is_const(v->g, n->a[1]);
        if (c0 && !c1) broken(v, r, "a constant stands left");
    }
    if ((n->op == OP_FLOORDIV || n->op == OP_MOD) && ir_is_const(v->g, n->a[1]) && (int64_t)ir_at(v->g, n->a[1])->imm <= 0)
        broken(v, r, "a divisor that is not positive");
}

static void check_nodes(const Verify *v, const bool *reached)
{
    for (IrRef r = 1; r < v->g->n; r++) {
        const IrNode *n = ir_at(v->g, r);
        if (!reached[r] || n->op == OP_CONST || n->op == OP_ARG) continue;
        if (n->op == OP_VAR) {
            if (n->imm >= v->g->n_vars) broken(v, r, "no such variable");
        } else if (n->op == OP_SUM) {
            check_sum(v, r);
        } else {
            check_operands(v, r);
            check_frame(v, r);
        }
    }
}

static void reach(const Verify *v, const IrBlock *b, bool *reached)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const IrStmt *s = b->items[i];
        if (s->kind == IR_STORE) reached[s->index] = reached[s->value] = true;
        if (s->kind == IR_BIND) reached[v->g->vars[s->var].definition] = true;
        if (s->kind == IR_IF) reached[s->condition] = true;
        reach(v, &s->body, reached);
        reach(v, &s->otherwise, reached);
    }
}

static void close_over_operands(const IrGraph *g, bool *reached)
{
    for (IrRef r = g->n - 1; r > 0; r--) {
        const IrNode *n = ir_at(g, r);
        if (!reached[r] || n->op == OP_CONST || n->op == OP_VAR || n->op == OP_ARG) continue;
        if (n->op == OP_SUM)
            for (uint32_t i = 0; i < n->a[1]; i++) reached[g->terms[n->a[0] + i].ref] = true;
        else
            for (uint32_t i = 0; i < 3; i++) reached[n->a[i]] = true;
    }
    reached[0] = false;
}

/* Every variable below r is bound here. `checked` keeps this linear within one scope. */
static void check_bound(Verify *v, IrRef root)
{
    struct { IrRef *items; uint32_t n, room; } stack = {0};
    WBB_PUSH(v->scratch, &stack, root);
    while (stack.n) {
        const IrRef r = stack.items[--stack.n];
        const IrNode *n = ir_at(v->g, r);
        if (v->checked[r] == v->scope) continue;
        v->checked[r] = v->scope;
        if (n->op == OP_VAR && !v->bound[n->imm]) broken(v, root, "a variable that is not bound here");
        if (n->op == OP_VAR || n->op == OP_CONST || n->op == OP_ARG) continue;
        if (n->op == OP_SUM) {
            for (uint32_t i = 0; i < n->a[1]; i++) WBB_PUSH(v->scratch, &stack, v->g->terms[n->a[0] + i].ref);
        } else {
            for (uint32_t i = 0; i < 3; i++)
                if (n->a[i]) WBB_PUSH(v->scratch, &stack, n->a[i]);
        }
    }
}

static void bind(Verify *v, uint32_t var, IrVarKind kind)
{
    if (var >= v->g->n_vars || v->g->vars[var].kind != kind) broken(v, 0, "a statement binds a variable of another kind");
    if (v->bound[var]) broken(v, 0, "a variable is bound twice");
    v->bound[var] = true;
}

static void check_store(const Verify *v, const IrStmt *s)
{
    if (s->buffer >= v->k->n_buffers || !v->k->buffers[s->buffer].output) broken(v, s->value, "a store to what is no output");
    if (!is_index(v, s->index)) broken(v, s->index, "a store's index is no index");
    if (IR_SC(type_of(v, s->value)) != v->k->buffers[s->buffer].type) broken(v, s->value, "a store of another type");
}

static void check_block(Verify *v, const IrBlock *b, uint32_t *scopes)
{
    const uint32_t outer = v->scope;
    v->scope = ++*scopes;
    for (uint32_t i = 0; i < b->n; i++) {
        const IrStmt *s = b->items[i];
        if (s->kind == IR_STORE) {
            check_bound(v, s->index);
            check_bound(v, s->value);
            check_store(v, s);
        } else if (s->kind == IR_BIND) {
            check_bound(v, v->g->vars[s->var].definition);
            bind(v, s->var, IR_LET);
        } else {
            const IrVar *var = s->kind == IR_FOR && s->var < v->g->n_vars ? &v->g->vars[s->var] : NULL;
            if (s->kind == IR_IF) {
                check_bound(v, s->condition);
                if (type_of(v, s->condition) != IR_TYPE(SC_PRED, 0)) broken(v, s->condition, "a condition that is no pred");
            } else {
                bind(v, s->var, IR_LOOP);
                if (s->lanes && (var->lo != 0 || var->hi + 1 != s->lanes)) broken(v, 0, "lanes that do not cover their interval");
            }
            check_block(v, &s->body, scopes);
            check_block(v, &s->otherwise, scopes);
            if (var) v->bound[s->var] = false;
        }
    }
    for (uint32_t i = 0; i < b->n; i++)
        if (b->items[i]->kind == IR_BIND) v->bound[b->items[i]->var] = false;
    v->scope = outer;
}

void ir_verify(const IrKernel *k)
{
    WbbArena *scratch = wbb_arena_new(k->g->cx);
    Verify v = {.k = k, .g = k->g, .scratch = scratch};
    bool *reached = WBB_NEW_N(scratch, bool, k->g->n);
    uint32_t scopes = 0;
    v.bound = WBB_NEW_N(scratch, bool, k->g->n_vars + 1);
    v.checked = WBB_NEW_N(scratch, uint32_t, k->g->n);
    for (uint32_t i = 0; i < k->g->n_vars; i++) v.bound[i] = k->g->vars[i].kind == IR_BID || k->g->vars[i].kind == IR_TID;
    reach(&v, &k->body, reached);
    close_over_operands(k->g, reached);
    check_nodes(&v, reached);
    check_block(&v, &k->body, &scopes);
    wbb_arena_free(scratch);
}
