/* call.c: calls of the kernel's functions.
 *
 * Needs emitted index operands and the callee as an LLVM function (function.c); leaves the value of one result. Results
 * of one function for the same arguments share one call: each call of a function with several results is kept with the
 * scope in which it was emitted, and used again while that scope is open.
 *
 *     call @pair(i), 0; call @pair(i), 1
 *     ->  %c = call {float, float} @k_pair(ptr %in, i32 %i); extractvalue %c, 0; extractvalue %c, 1
 */
#include "llvm/inner.h"

/* The last call of the same function with the same arguments; its value is NULL if there was none. */
static LlCalled *find_called(LlBuild *b, IrRef r)
{
    WbbEntry *e = ir_call_entry(&b->called, b->g, r);
    if (!e->pointer) e->pointer = WBB_NEW(b->arena, LlCalled);
    return e->pointer;
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
        args[n++] = ll_index(b, ir_operand(b->g, r, i), ir_is_wide_var(&b->g->vars[f->params[i]]));
    return LLVMBuildCall2(b->builder, c->type, c->function, args, n, "");
}

LLVMValueRef ll_call(LlBuild *b, IrRef r)
{
    const uint32_t which = IR_WHICH(ir_at(b->g, r)->imm);
    if (b->k->functions[IR_CALLEE(ir_at(b->g, r)->imm)]->n_yields == 1) return call(b, r);
    LlCalled *made = find_called(b, r);
    const uint32_t scope = b->scopes.emitted[r]->scope;
    /* It was made in this scope or an enclosing one, whose number is smaller. */
    const bool usable = made->value && b->open[made->scope] && made->scope <= scope;
    if (!usable) *made = (LlCalled){scope, call(b, r)};
    return LLVMBuildExtractValue(b->builder, made->value, which, "");
}
