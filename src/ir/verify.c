/* verify.c: what holds for every kernel between two passes. A violation is our own bug: a note names the node, then an
 * assert fails.
 *
 * Needs a kernel; leaves it unchanged. Checks operands (older than their users, as many as the operation has, of the
 * types that its signature asks for, constants right), statements (stores go to memory that may change, loads read
 * memory that does not, operations with effects are named by `do` alone, conditions are pred, lanes cover their
 * interval, carried and yielded values have one type), barriers (arrive.c) and scopes (variables and values are bound
 * once, and used only where they are in scope).
 */
#include "ir/ir.h"

#include <string.h>

typedef struct {
    const IrKernel *k;
    const IrGraph *g;
    WbbArena *scratch;
    bool *bound;       /* by variable: in scope at the current statement */
    bool *available;   /* by value: the same */
    bool *defined;     /* by value: some statement so far binds it */
    uint32_t *checked; /* by ref: number of the scope in which its variables were found bound; 0: none */
    struct { bool *items; uint32_t n, capacity; } open_scopes; /* by scope: it is around the current statement */
    uint32_t scope;    /* the current one */
    uint32_t callees;  /* functions below this number may be called */
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
    for (uint32_t i = 0; i < nodes.n; i++) check_node(v, nodes.items[i]);
}

/* Checks that every variable and value below root is in scope. Time is linear: nodes that were checked in this scope,
 * or in one around it, are not checked again. */
static void check_bound(Verify *v, IrRef root)
{
    struct { IrRef *items; uint32_t n, capacity; } stack = {0};
    if (!root) broken(v, 0, "a statement lacks a node");
    WBB_PUSH(v->scratch, &stack, root);
    while (stack.n) {
        const IrRef r = stack.items[--stack.n];
        const IrNode *n = ir_at(v->g, r);
        if (v->open_scopes.items[v->checked[r]]) continue;
        v->checked[r] = v->scope;
        if (n->op == OP_VAR && !v->bound[n->imm]) broken(v, root, "a variable that is not bound here");
        if (n->op == OP_VALUE && !v->available[n->imm]) broken(v, root, "a value that is not in scope");
        if (n->op == OP_CALL && IR_CALLEE(n->imm) >= v->callees)
            broken(v, root, "a call of a function that stands later");
        if (ir_has_effects(n)) broken(v, root, "an operation with an effect that no do names");
        if (n->op == OP_VAR || n->op == OP_CONST || n->op == OP_ARG || n->op == OP_VALUE) continue;
        for (uint32_t i = 0; i < ir_arity(v->g, r); i++) WBB_PUSH(v->scratch, &stack, ir_operand(v->g, r, i));
    }
}

static void bind(Verify *v, uint32_t var, IrVarKind kind)
{
    if (var >= v->g->n_vars || v->g->vars[var].kind != kind)
        broken(v, 0, "a statement binds a variable of another kind");
    if (v->bound[var]) broken(v, 0, "a variable is bound twice");
    v->bound[var] = true;
}

/* Of a store, or of a `do`; reads: the statement changes nothing there. */
static void check_address(const Verify *v, const IrStmt *s, bool reads)
{
    if (v->callees < v->k->n_functions) broken(v, s->value, "a function accesses memory that changes");
    if (s->buffer >= v->k->n_buffers || (!reads && !ir_is_changed(&v->k->buffers[s->buffer])))
        broken(v, s->value, "a store to a buffer that is not an output");
    if (!is_index(v, s->index)) broken(v, s->index, "the index of a store is not an index");
    if (IR_SC(type_of(v, s->value)) != v->k->buffers[s->buffer].type)
        broken(v, s->value, "a store whose type is not the buffer's");
}

static void check_do(Verify *v, const IrStmt *s)
{
    const IrNode *n = ir_at(v->g, s->value);
    if (!ir_has_effects(n) && n->op != OP_INSTR) broken(v, s->value, "a do of an operation without effect");
    if (v->callees < v->k->n_functions) broken(v, s->value, "a function has an effect");
    for (uint32_t i = 0; i < ir_arity(v->g, s->value); i++) check_bound(v, ir_operand(v->g, s->value, i));
    if (n->op != OP_INSTR && !(sc_op_info[n->op].effects & SC_ADDRESS) != !s->index)
        broken(v, s->value, "an address where there should be none, or none where there should be one");
    if (s->index) check_bound(v, s->index);
    if (s->index) check_address(v, s, n->op == OP_READ);
    if (s->n_results > 1 || (s->n_results && v->g->values[s->results[0].value].type != n->type))
        broken(v, s->value, "the result of a do has another type");
}

static void define_value(Verify *v, uint32_t value)
{
    if (value >= v->g->n_values) broken(v, 0, "a statement binds a value that does not exist");
    if (v->defined[value]) broken(v, 0, "a value is bound twice");
    v->available[value] = v->defined[value] = true;
}

static void check_type(const Verify *v, IrRef r, uint32_t value)
{
    if (type_of(v, r) != v->g->values[value].type)
        broken(v, r, "a yielded or carried node has another type than its value");
}

static void check_block(Verify *v, const IrBlock *b, const IrStmt *of, bool otherwise);

static void check_condition(Verify *v, const IrStmt *s)
{
    check_bound(v, s->condition);
    if (type_of(v, s->condition) != IR_TYPE(SC_PRED, 0)) broken(v, s->condition, "a condition that is not a pred");
}

static void check_if(Verify *v, const IrStmt *s)
{
    check_condition(v, s);
    check_block(v, &s->body, s, false);
    check_block(v, &s->otherwise, s, true);
}

static void check_loop(Verify *v, const IrStmt *s)
{
    for (uint32_t i = 0; i < s->n_results; i++) {
        check_bound(v, s->results[i].init);
        define_value(v, s->results[i].carried);
        check_type(v, s->results[i].init, s->results[i].carried);
    }
    if (s->kind == IR_FOR) bind(v, s->var, IR_LOOP);
    const IrVar *var = &v->g->vars[s->var];
    if (s->lanes && (var->lo != 0 || var->hi + 1 != s->lanes)) broken(v, 0, "lanes that do not cover their interval");
    if (s->otherwise.n) broken(v, 0, "a loop has one body");
    check_block(v, &s->body, s, false);
    for (uint32_t i = 0; i < s->n_results; i++) v->available[s->results[i].carried] = false;
    if (s->kind == IR_FOR) v->bound[s->var] = false;
}

static void check_let(Verify *v, const IrStmt *s)
{
    bind(v, s->var, IR_LET);
    v->bound[s->var] = false;
    const IrRef definition = v->g->vars[s->var].definition;
    if (!s->value == !definition) broken(v, s->value, "a variable needs either a definition or a value");
    check_bound(v, s->value ? s->value : definition);
    const char cls = s->value ? sc_type_info[IR_SC(type_of(v, s->value))].cls : 'I';
    if (s->value && (IR_LANES(type_of(v, s->value)) > 1 || (cls != 'I' && cls != 'U')))
        broken(v, s->value, "a variable whose value is not an integer");
    v->bound[s->var] = true;
}

static void check_block(Verify *v, const IrBlock *b, const IrStmt *of, bool otherwise)
{
    const uint32_t outer = v->scope;
    v->scope = v->open_scopes.n;
    WBB_PUSH(v->scratch, &v->open_scopes, true);
    for (uint32_t i = 0; i < b->n; i++) {
        const IrStmt *s = b->items[i];
        switch (s->kind) {
        case IR_STORE:
            check_bound(v, s->index);
            check_bound(v, s->value);
            check_address(v, s, false);
            break;
        case IR_DO: check_do(v, s); break;
        case IR_BIND: check_let(v, s); break;
        case IR_IF: check_if(v, s); break;
        case IR_FOR:
        case IR_REPEAT: check_loop(v, s); break;
        }
        for (uint32_t r = 0; r < s->n_results; r++) {
            define_value(v, s->results[r].value);
            if (s->kind != IR_DO) check_type(v, s->results[r].yield, s->results[r].value);
            if (s->kind == IR_IF) check_type(v, s->results[r].otherwise, s->results[r].value);
        }
    }
    for (uint32_t i = 0; of && i < of->n_results; i++)
        check_bound(v, otherwise ? of->results[i].otherwise : of->results[i].yield);
    if (of && of->kind == IR_REPEAT) {
        check_condition(v, of);
    }
    for (uint32_t i = 0; i < b->n; i++) {
        if (b->items[i]->kind == IR_BIND) v->bound[b->items[i]->var] = false;
        for (uint32_t r = 0; r < b->items[i]->n_results; r++) v->available[b->items[i]->results[r].value] = false;
    }
    v->open_scopes.items[v->scope] = false;
    v->scope = outer;
}

static void check_function(Verify *v, const IrFunction *f)
{
    for (uint32_t i = 0; i < f->n_params; i++) bind(v, f->params[i], IR_PARAM);
    if (!f->n_yields) broken(v, 0, "a function without results");
    IrResult *ends = WBB_NEW_N(v->scratch, IrResult, f->n_yields);
    for (uint32_t i = 0; i < f->n_yields; i++) {
        const IrType t = type_of(v, ends[i].yield = f->yields[i]);
        if (IR_LANES(t) > 1 || IR_SC(t) == SC_INDEX) broken(v, f->yields[i], "a function cannot have such a result");
    }
    check_block(v, &f->body, &(IrStmt){.results = ends, .n_results = f->n_yields}, false);
    for (uint32_t i = 0; i < f->n_params; i++) v->bound[f->params[i]] = false;
}

static void check_buffers(const Verify *v)
{
    for (uint32_t i = 0; i < v->k->n_buffers; i++) {
        const IrBuffer *b = &v->k->buffers[i];
        const IrSpace before = i ? v->k->buffers[i - 1].space : IR_IN;
        if (before > b->space && !(before == IR_INOUT && b->space == IR_OUT)) broken(v, 0, "buffers out of order");
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
    v.bound = WBB_NEW_N(scratch, bool, k->g->n_vars + 1);
    v.available = WBB_NEW_N(scratch, bool, k->g->n_values + 1);
    v.defined = WBB_NEW_N(scratch, bool, k->g->n_values + 1);
    v.checked = WBB_NEW_N(scratch, uint32_t, k->g->n);
    for (uint32_t i = 0; i < k->g->n_vars; i++)
        v.bound[i] = k->g->vars[i].kind == IR_BID || k->g->vars[i].kind == IR_TID;
    WBB_PUSH(scratch, &v.open_scopes, false); /* 0 is no scope */
    check_buffers(&v);
    check_nodes(&v);
    for (; v.callees < k->n_functions; v.callees++) check_function(&v, k->functions[v.callees]);
    check_block(&v, &k->body, NULL, false);
    const char *text = ir_not_arriving(k);
    if (text) broken(&v, 0, text);
    wbb_arena_free(scratch);
}
