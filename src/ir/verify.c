/* verify.c: what holds for every kernel between two passes. A violation is our own bug: a note names the node, then an
 * assert fails.
 *
 * Needs a kernel; leaves it unchanged. Checks operands (older than their users, as many as the operation has, of the
 * types that its signature asks for, constants right), statements (stores go to memory that may change, loads read
 * memory that does not, operations with effects are named by `do` alone, conditions are pred, lanes cover their
 * interval, carried and yielded values have one type), barriers (arrive.c) and scopes (variables and values are bound
 * once, and used only where they are in scope).
 */
#include "ir/scopes.h"

#include <string.h>

typedef struct {
    const IrKernel *k;
    const IrGraph *g;
    WbbArena *scratch;
    IrScopes scopes;
    IrPlace *place; /* by ref: from where on the node may be used: the innermost place of what it depends on */
    uint32_t *callees_of; /* by ref: functions below this number are all that it and its operands call */
    bool *bound_variable, *bound_value; /* by number: some statement so far binds it */
    uint32_t next_scope;                /* number of the scope that is checked next */
    uint32_t callees;                   /* functions below this number may be called */
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
        if (!t.coefficient || !t.ref || t.ref >= r || !is_index(v, t.ref))
            broken(v, r, "a term without coefficient, too young, or no index");
        if (ir_at(v->g, t.ref)->op == OP_SUM && !ir_at(v->g, t.ref)->flags) broken(v, r, "a sum in a sum");
        if (ir_is_const(v->g, t.ref)) broken(v, r, "a constant among the terms");
    }
}

/* What the signature of an operation does not say. */
static void check_operation(const Verify *v, IrRef r)
{
    const IrNode *n = ir_at(v->g, r);
    const IrType first = n->a[0] ? type_of(v, n->a[0]) : 0;
    switch (n->op) {
    case OP_LOAD:
        if (ir_at(v->g, n->a[0])->op != OP_ARG || !is_index(v, n->a[1])) broken(v, r, "a load is (arg, index)");
        if (ir_at(v->g, n->a[0])->imm >= v->k->n_buffers) broken(v, r, "no such buffer");
        if (IR_SC(n->type) != v->k->buffers[ir_at(v->g, n->a[0])->imm].type)
            broken(v, r, "a load whose type is not the buffer's");
        if (ir_is_changed(&v->k->buffers[ir_at(v->g, n->a[0])->imm])) broken(v, r, "a load from memory that changes");
        break;
    case OP_IDX:
        if (!is_index(v, n->a[0])) broken(v, r, "the operand of idx is not an index");
        break;
    case OP_PACK:
        if (first != type_of(v, n->a[1]) || n->type != first + (1u << 6)) broken(v, r, "lanes do not add up");
        break;
    case OP_SPLAT:
        if (first != (n->type & 63u) || IR_LANES(n->type) < 2) broken(v, r, "a splat is of one lane");
        break;
    case OP_PART:
        if (IR_SC(first) != IR_SC(n->type) || n->imm + IR_LANES(n->type) > IR_LANES(first))
            broken(v, r, "no such lanes");
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
        if (op->signature == SC_SELECT && t != (i ? n->type : (IrType)SC_PRED | lanes))
            broken(v, r, "operands of select");
        if (op->signature == SC_CONVERT && n->op == OP_CVT && (t & ~63u) != lanes)
            broken(v, r, "lanes of a conversion");
        if (op->signature == SC_PRODUCT && t != (i == 2 ? n->type : i ? first - (1u << 6) : first))
            broken(v, r, "operands of a product of matrices");
    }
    if (op->commutative && count == 2) {
        const bool c0 = ir_is_const(v->g, n->a[0]), c1 = ir_is_const(v->g, n->a[1]);
        if (c0 && !c1) broken(v, r, "a constant stands left");
    }
    if ((n->op == OP_FLOORDIV || n->op == OP_MOD) && ir_is_const(v->g, n->a[1]) &&
        (int64_t)ir_at(v->g, n->a[1])->imm <= 0)
        broken(v, r, "a divisor that is not positive");
}

static void check_call(const Verify *v, IrRef r)
{
    const IrNode *n = ir_at(v->g, r);
    if (IR_CALLEE(n->imm) >= v->k->n_functions) broken(v, r, "no such function");
    const IrFunction *f = v->k->functions[IR_CALLEE(n->imm)];
    if (IR_WHICH(n->imm) >= f->n_yields || type_of(v, f->yields[IR_WHICH(n->imm)]) != n->type)
        broken(v, r, "no such result");
    if (n->a[1] != f->n_params) broken(v, r, "the number of arguments");
    for (uint32_t i = 0; i < n->a[1]; i++)
        if (ir_operand(v->g, r, i) >= r || !is_index(v, ir_operand(v->g, r, i)))
            broken(v, r, "an argument that is too young or no index");
}

static void check_node(const Verify *v, IrRef r)
{
    const IrNode *n = ir_at(v->g, r);
    switch ((ScOp)n->op) {
    case OP_CONST:
    case OP_ARG: break;
    case OP_VAR:
        if (n->imm >= v->g->n_vars) broken(v, r, "no such variable");
        break;
    case OP_VALUE:
        if (n->imm >= v->g->n_values || v->g->values[n->imm].type != n->type) broken(v, r, "no such value");
        break;
    case OP_SUM: check_sum(v, r); break;
    case OP_CALL: check_call(v, r); break;
    default: check_operands(v, r); check_operation(v, r);
    }
}

/* Of a node whose operands have theirs: one of these two places is in scope at the other. */
static IrPlace inner(const Verify *v, IrRef r, IrPlace x, IrPlace y)
{
    if (ir_is_visible(&v->scopes, x, y)) return y;
    if (!ir_is_visible(&v->scopes, y, x)) broken(v, r, "a node that depends on what two scopes bind");
    return x;
}

static void find_place(const Verify *v, IrRef r)
{
    const IrNode *n = ir_at(v->g, r);
    IrPlace place = {0, 0};
    if (n->op == OP_VALUE) place = v->scopes.values[n->imm];
    if (n->op == OP_VAR) {
        const IrVarKind kind = v->g->vars[n->imm].kind;
        place = v->scopes.variables[n->imm];
        if (!place.scope && kind != IR_BID && kind != IR_TID) broken(v, r, "a variable that no statement binds");
    }
    if (n->op == OP_VALUE && !place.scope) broken(v, r, "a value that no statement binds");
    if (n->op != OP_VAR && n->op != OP_VALUE && n->op != OP_CONST && n->op != OP_ARG)
        for (uint32_t i = 0; i < ir_arity(v->g, r); i++) {
            const IrRef x = ir_operand(v->g, r, i);
            if (ir_has_effects(ir_at(v->g, x))) broken(v, r, "an operation with an effect that no do names");
            place = inner(v, r, place, v->place[x]);
            v->callees_of[r] = WBB_MAX(v->callees_of[r], v->callees_of[x]);
        }
    if (n->op == OP_CALL) v->callees_of[r] = WBB_MAX(v->callees_of[r], IR_CALLEE(n->imm) + 1);
    v->place[r] = place;
}

static void check_nodes(const Verify *v)
{
    const IrKernel *k = v->k;
    IrRefs nodes = {0};
    ir_roots(v->g, v->scratch, &k->body, &nodes);
    for (uint32_t f = 0; f < k->n_functions; f++) {
        ir_roots(v->g, v->scratch, &k->functions[f]->body, &nodes);
        for (uint32_t i = 0; i < k->functions[f]->n_yields; i++)
            WBB_PUSH(v->scratch, &nodes, k->functions[f]->yields[i]);
    }
    ir_gather(v->g, v->scratch, &nodes, WBB_NEW_N(v->scratch, uint8_t, v->g->n));
    for (uint32_t i = 0; i < nodes.n; i++) {
        check_node(v, nodes.items[i]);
        find_place(v, nodes.items[i]);
    }
}

/* Checks that a node may be used at a place. */
static void check_visible(const Verify *v, IrRef r, IrPlace at)
{
    if (!ir_is_visible(&v->scopes, v->place[r], at)) broken(v, r, "a variable or value that is not in scope here");
    if (v->callees_of[r] > v->callees) broken(v, r, "a call of a function that stands later");
}

static void check_bindings(const Verify *v, const IrStmt *s)
{
    for (IrDefs d = ir_defs(s); ir_next_def(&d);) {
        if (d.number >= (d.is_variable ? v->g->n_vars : v->g->n_values))
            broken(v, 0, "a statement binds what does not exist");
        bool *bound = d.is_variable ? &v->bound_variable[d.number] : &v->bound_value[d.number];
        if (*bound) broken(v, 0, "a variable or value is bound twice");
        *bound = true;
        if (!d.is_variable) continue;
        if (v->g->vars[d.number].kind != (s->kind == IR_FOR ? IR_LOOP : IR_LET))
            broken(v, 0, "a statement binds a variable of another kind");
    }
}

/* Of a store, or of a `do`; reads: the statement changes nothing there. */
static void check_address(const Verify *v, const IrStmt *s, bool reads)
{
    if (v->callees < v->k->n_functions) broken(v, s->value, "a function accesses memory that changes");
    if (s->buffer >= v->k->n_buffers || (!reads && !ir_is_changed(&v->k->buffers[s->buffer])))
        broken(v, s->value, "a store to a buffer that is not an output");
    if (!is_index(v, s->index)) broken(v, s->index, "the index of a store is not an index");
    const ScType t = IR_SC(type_of(v, s->value)), of = v->k->buffers[s->buffer].type;
    if (s->kind == IR_DO ? sc_type_info[t].bits != sc_type_info[of].bits : t != of)
        broken(v, s->value, "a store whose type is not the buffer's");
}

static void check_do(const Verify *v, const IrStmt *s)
{
    const IrNode *n = ir_at(v->g, s->value);
    if (!ir_has_effects(n) && n->op != OP_INSTR) broken(v, s->value, "a do of an operation without effect");
    if (v->callees < v->k->n_functions) broken(v, s->value, "a function has an effect");
    if (n->op != OP_INSTR && !(sc_op_info[n->op].effects & SC_ADDRESS) != !s->index)
        broken(v, s->value, "an address where there should be none, or none where there should be one");
    if (s->index) check_address(v, s, ir_only_reads((ScOp)n->op));
    if (n->op == OP_READ_PEER && (v->k->buffers[s->buffer].space != IR_SHARED || n->imm >= v->k->cluster ||
                                   sc_type_info[IR_SC(n->type)].bits < 8))
        broken(v, s->value, "a read of another block that is not of shared memory, or not of the cluster");
    if (n->op != OP_INSTR && (n->op == OP_COPY_ASYNC) != (s->from_index != 0))
        broken(v, s->value, "a copy without what it copies");
    if (s->from_index) {
        const IrBuffer *from = &v->k->buffers[WBB_MIN(s->from, v->k->n_buffers - 1)];
        if (!is_index(v, s->from_index) || from->type != IR_SC(n->type) || from->space == IR_SHARED ||
            v->k->buffers[s->buffer].space != IR_SHARED)
            broken(v, s->value, "a copy that does not go from memory of its type to shared memory");
    }
    if (s->n_results > 1 || (s->n_results && v->g->values[s->results[0].value].type != n->type))
        broken(v, s->value, "the result of a do has another type");
}

static void check_type(const Verify *v, IrRef r, uint32_t value)
{
    if (type_of(v, r) != v->g->values[value].type)
        broken(v, r, "a yielded or carried node has another type than its value");
}

static void check_condition(const Verify *v, const IrStmt *s)
{
    if (type_of(v, s->condition) != IR_TYPE(SC_PRED, 0)) broken(v, s->condition, "a condition that is not a pred");
}

static void check_loop(const Verify *v, const IrStmt *s)
{
    for (uint32_t i = 0; i < s->n_results; i++) check_type(v, s->results[i].init, s->results[i].carried);
    const IrVar *var = &v->g->vars[s->var];
    if (s->lanes && (var->lo != 0 || var->hi + 1 != s->lanes)) broken(v, 0, "lanes that do not cover their interval");
    if (s->otherwise.n) broken(v, 0, "a loop has one body");
}

static void check_let(const Verify *v, const IrStmt *s)
{
    const IrRef definition = v->g->vars[s->var].definition;
    if (!s->value == !definition) broken(v, s->value, "a variable needs either a definition or a value");
    const char cls = s->value ? sc_type_info[IR_SC(type_of(v, s->value))].cls : 'I';
    if (s->value && (IR_LANES(type_of(v, s->value)) > 1 || (cls != 'I' && cls != 'U')))
        broken(v, s->value, "a variable whose value is not an integer");
}

static void check_statement(const Verify *v, const IrStmt *s)
{
    for (uint32_t r = 0; r < s->n_results && s->kind != IR_DO; r++) {
        check_type(v, s->results[r].yield, s->results[r].value);
        if (s->kind == IR_IF) check_type(v, s->results[r].otherwise, s->results[r].value);
    }
    switch (s->kind) {
    case IR_STORE: check_address(v, s, false); break;
    case IR_DO: check_do(v, s); break;
    case IR_BIND: check_let(v, s); break;
    case IR_IF: check_condition(v, s); break;
    case IR_FOR: check_loop(v, s); break;
    case IR_REPEAT:
        check_condition(v, s);
        check_loop(v, s);
        break;
    }
}

/* The statements of the next scope, and of the scopes in it. */
static void check_scope(Verify *v)
{
    const uint32_t scope = v->next_scope++;
    const IrBlock *b = v->scopes.scopes.items[scope].block;
    for (uint32_t i = 0; i < b->n; i++) {
        const IrStmt *s = b->items[i];
        IrPlace at[3] = {[IR_OUTSIDE] = {scope, i}};
        check_bindings(v, s);
        if (ir_has_blocks(s)) {
            at[IR_BODY] = (IrPlace){v->next_scope, s->body.n};
            check_scope(v);
        }
        if (ir_has_blocks(s) && !ir_is_loop(s)) {
            at[IR_OTHERWISE] = (IrPlace){v->next_scope, s->otherwise.n};
            check_scope(v);
        }
        for (IrUses u = ir_uses(v->g, s); ir_next_use(&u);) {
            if (ir_has_effects(ir_at(v->g, u.ref)) && !(s->kind == IR_DO && u.at == &s->value))
                broken(v, u.ref, "an operation with an effect that no do names");
            check_visible(v, u.ref, at[u.where]);
        }
        check_statement(v, s);
    }
}

static void check_function(Verify *v, const IrFunction *f)
{
    for (uint32_t i = 0; i < f->n_params; i++)
        if (v->g->vars[f->params[i]].kind != IR_PARAM) broken(v, 0, "a parameter of another kind");
    if (!f->n_yields) broken(v, 0, "a function without results");
    const IrPlace end = {v->next_scope, f->body.n};
    check_scope(v);
    for (uint32_t i = 0; i < f->n_yields; i++) {
        const IrType t = type_of(v, f->yields[i]);
        if (IR_LANES(t) > 1 || IR_SC(t) == SC_INDEX) broken(v, f->yields[i], "a function cannot have such a result");
        check_visible(v, f->yields[i], end);
    }
}

static void check_buffers(const Verify *v)
{
    for (uint32_t i = 0; i < v->k->n_buffers; i++) {
        const IrBuffer *b = &v->k->buffers[i];
        const IrSpace before = i ? v->k->buffers[i - 1].space : IR_IN;
        const bool either = before <= IR_TEMP ? b->space <= IR_TEMP : before == IR_TABLE && b->space == IR_SHARED;
        if (before > b->space && !either) broken(v, 0, "buffers out of order");
        if (!b->table != (b->space != IR_TABLE) || !b->alias != (b->space != IR_INOUT))
            broken(v, 0, "a table without elements, or an inout output without operand");
        if (!b->alias) continue;
        const IrBuffer *of = b->alias <= v->k->n_buffers ? &v->k->buffers[b->alias - 1] : b;
        if (of->space != IR_IN || of->type != b->type || of->elements != b->elements)
            broken(v, 0, "an inout output that does not match its operand");
    }
}

void ir_verify(const IrKernel *k)
{
    WbbArena *scratch = wbb_arena_new(k->g->cx);
    Verify v = {.k = k, .g = k->g, .scratch = scratch};
    v.bound_variable = WBB_NEW_N(scratch, bool, k->g->n_vars + 1);
    v.bound_value = WBB_NEW_N(scratch, bool, k->g->n_values + 1);
    v.place = WBB_NEW_N(scratch, IrPlace, k->g->n);
    v.callees_of = WBB_NEW_N(scratch, uint32_t, k->g->n);
    v.scopes = ir_scopes(scratch, k);
    v.next_scope = 1;
    check_buffers(&v);
    check_nodes(&v);
    for (; v.callees < k->n_functions; v.callees++) check_function(&v, k->functions[v.callees]);
    check_scope(&v);
    const char *text = ir_not_arriving(k);
    if (text) broken(&v, 0, text);
    wbb_arena_free(scratch);
}
