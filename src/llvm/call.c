/* call.c: calls of the kernel's functions.
 *
 * Needs emitted index operands and the callee as an LLVM function (function.c); leaves the value of one result. Results
 * of one function for the same arguments share one call: the calls of functions with several results are kept in a hash
 * table, each with the scope in which it was emitted, and used again while that scope is open.
 *
 *     call @pair(i), 0; call @pair(i), 1
 *     ->  %c = call {float, float} @k_pair(ptr %in, i32 %i); extractvalue %c, 0; extractvalue %c, 1
 */
#include "llvm/inner.h"

static bool same_call(const IrGraph *g, IrRef x, IrRef y)
{
    const IrNode *p = ir_at(g, x), *q = ir_at(g, y);
    if (IR_CALLEE(p->imm) != IR_CALLEE(q->imm)) return false;
    for (uint32_t i = 0; i < p->a[1]; i++)
        if (ir_operand(g, x, i) != ir_operand(g, y, i)) return false;
    return true;
}

static LlCalled *find_called(LlBuild *b, IrRef r)
{
    uint64_t h = wbb_hash(&(uint32_t){IR_CALLEE(ir_at(b->g, r)->imm)}, sizeof(uint32_t), 7);
    for (uint32_t i = 0; i < ir_arity(b->g, r); i++) h = wbb_hash(&(IrRef){ir_operand(b->g, r, i)}, sizeof(IrRef), h);
    for (;; h++) {
        LlCalled *c = &b->called[h & (b->called_capacity - 1)];
        if (!c->r || same_call(b->g, c->r, r)) return c;
    }
}

static void grow_called(LlBuild *b)
{
    const LlCalled *old = b->called;
    const uint32_t n = b->called_capacity;
    b->called_capacity = n ? n * 2 : 64;
    b->called = WBB_NEW_N(b->arena, LlCalled, b->called_capacity);
    for (uint32_t i = 0; i < n; i++)
        if (old[i].r) *find_called(b, old[i].r) = old[i];
}

static LLVMValueRef call(LlBuild *b, IrRef r)
{
    const LlCallee *c = &b->callees[IR_CALLEE(ir_at(b->g, r)->imm)];
    const IrFunction *f = b->k->functions[IR_CALLEE(ir_at(b->g, r)->imm)];
    LLVMValueRef *args = WBB_NEW_N(b->arena, LLVMValueRef, b->k->n_buffers + f->n_params + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->k->n_buffers; i++)
        if (c->reads[i]) args[n++] = b->pointers[i];
    for (uint32_t i = 0; i < f->n_params; i++)
        args[n++] = ll_index(b, ir_operand(b->g, r, i), ll_is_wide_var(&b->g->vars[f->params[i]]));
    return LLVMBuildCall2(b->builder, c->type, c->function, args, n, "");
}

LLVMValueRef ll_call(LlBuild *b, IrRef r)
{
    const uint32_t which = IR_WHICH(ir_at(b->g, r)->imm);
    if (b->k->functions[IR_CALLEE(ir_at(b->g, r)->imm)]->n_yields == 1) return call(b, r);
    if (2 * b->n_called >= b->called_capacity) grow_called(b);
    LlCalled *made = find_called(b, r);
    if (!made->r) b->n_called++;
    const uint32_t scope = b->scopes.emitted[r]->scope;
    /* It was made in this scope or an enclosing one, whose number is smaller. */
    const bool usable = made->r && b->open[made->scope] && made->scope <= scope;
    if (!usable) *made = (LlCalled){r, scope, call(b, r)};
    return LLVMBuildExtractValue(b->builder, made->value, which, "");
}
