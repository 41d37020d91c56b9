/* structure.c: the results of statements, variables that statements bind, and functions.
 *
 * Needs a graph; leaves statements that are complete, except for what the caller sets later (what a `for` yields).
 *
 *     IrStmt *s = ir_stmt(g, block, IR_FOR);
 *     const uint32_t i = ir_carry(g, s, "acc", zero);
 *     s->results[i].yield = add(ir_value(g, s->results[i].carried), x);
 *     sum = ir_value(g, s->results[i].value);
 */
#include "ir/uses.h"

static uint32_t new_value(IrGraph *g, const char *name, IrType type)
{
    if (g->n_values == g->values_capacity) {
        const uint32_t capacity = g->values_capacity ? g->values_capacity * 2 : 8;
        g->values = wbb_grow(g->arena, g->values, g->values_capacity * sizeof *g->values, capacity * sizeof *g->values);
        g->values_capacity = capacity;
    }
    g->values[g->n_values] = (IrValue){.name = name, .type = type};
    return g->n_values++;
}

IrRef ir_value(IrGraph *g, uint32_t number)
{
    assert(number < g->n_values);
    return ir_node(g, OP_VALUE, g->values[number].type, 0, 0, 0, 0, number);
}

IrRef ir_value_new(IrGraph *g, const char *name, IrType type) { return ir_value(g, new_value(g, name, type)); }

/* The capacity is the number of results, rounded up to a power of two. */
IrResult *ir_result_new(IrGraph *g, IrStmt *s)
{
    const uint32_t n = s->n_results;
    if ((n & (n - 1)) == 0)
        s->results = wbb_grow(g->arena, s->results, n * sizeof *s->results, (n ? 2 * n : 1) * sizeof *s->results);
    IrResult *r = &s->results[s->n_results++];
    *r = (IrResult){0};
    return r;
}

uint32_t ir_carry(IrGraph *g, IrStmt *s, const char *name, IrRef init)
{
    assert(ir_is_loop(s));
    const IrType type = ir_at(g, init)->type;
    IrResult *r = ir_result_new(g, s);
    r->init = init;
    r->value = new_value(g, name, type);
    r->carried = new_value(g, name, type);
    return s->n_results - 1;
}

IrRef ir_result(IrGraph *g, IrStmt *s, const char *name, IrRef yield, IrRef otherwise)
{
    assert(s->kind == IR_IF && ir_at(g, yield)->type == ir_at(g, otherwise)->type);
    IrResult *r = ir_result_new(g, s);
    r->yield = yield;
    r->otherwise = otherwise;
    r->value = new_value(g, name, ir_at(g, yield)->type);
    return ir_value(g, r->value);
}

IrRef ir_do_at(IrGraph *g, IrBlock *block, const char *name, IrRef operation, IrType result, uint32_t buffer,
               IrRef index)
{
    IrStmt *s = ir_stmt(g, block, IR_DO);
    s->value = operation;
    s->buffer = buffer;
    s->index = index;
    if (!result) return 0;
    IrResult *r = ir_result_new(g, s);
    r->value = new_value(g, name, result);
    return ir_value(g, r->value);
}

IrRef ir_do(IrGraph *g, IrBlock *block, const char *name, IrRef operation, IrType result)
{
    return ir_do_at(g, block, name, operation, result, 0, 0);
}

IrRef ir_let_value(IrGraph *g, IrBlock *block, const char *name, IrRef integer, int64_t lo, int64_t hi)
{
    IrStmt *s = ir_stmt(g, block, IR_BIND);
    s->var = ir_var_new(g, name, IR_LET, lo, hi, 0);
    s->value = integer;
    return ir_var(g, s->var);
}

IrRef ir_let(IrGraph *g, IrBlock *block, const char *name, IrRef index, int64_t lo, int64_t hi)
{
    IrStmt *s = ir_stmt(g, block, IR_BIND);
    s->var = ir_var_new(g, name, IR_LET, lo, hi, index);
    return ir_var(g, s->var);
}

uint32_t ir_add_function(IrKernel *k, IrFunction *f)
{
    struct {
        IrFunction **items;
        uint32_t n, capacity;
    } list = {k->functions, k->n_functions, k->functions_capacity};
    WBB_PUSH(k->g->arena, &list, f);
    k->functions = list.items;
    k->n_functions = list.n;
    k->functions_capacity = list.capacity;
    return list.n - 1;
}

uint32_t ir_function_new(IrKernel *k, const char *name)
{
    IrFunction *f = WBB_NEW(k->g->arena, IrFunction);
    f->name = name;
    return ir_add_function(k, f);
}

IrRef ir_param(IrGraph *g, IrFunction *f, const char *name, int64_t lo, int64_t hi)
{
    const uint32_t n = f->n_params;
    if ((n & (n - 1)) == 0)
        f->params = wbb_grow(g->arena, f->params, n * sizeof *f->params, (n ? 2 * n : 1) * sizeof *f->params);
    f->params[f->n_params++] = ir_var_new(g, name, IR_PARAM, lo, hi, 0);
    return ir_var(g, f->params[n]);
}

void ir_yield(IrGraph *g, IrFunction *f, IrRef result)
{
    const uint32_t n = f->n_yields;
    if ((n & (n - 1)) == 0)
        f->yields = wbb_grow(g->arena, f->yields, n * sizeof *f->yields, (n ? 2 * n : 1) * sizeof *f->yields);
    f->yields[f->n_yields++] = result;
}
