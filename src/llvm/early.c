/* early.c: keeps loads where ir/early.c puts them.
 *
 * Needs a block of statements that is being built up to one that waits; leaves the loads behind it before it, and what
 * keeps LLVM from moving them on to where they are used.
 */
#include "ir/demand.h"
#include "llvm/inner.h"

#include <string.h>

/* Can it be made now, given its operands? */
static bool is_bound(const void *of, IrRef r)
{
    const LlBuild *b = of;
    const IrNode *n = ir_at(b->g, r);
    if (n->op == OP_VALUE) return b->results[n->imm];
    if (n->op != OP_VAR) return true;
    const IrVarKind kind = b->g->vars[n->imm].kind;
    return kind == IR_BID || kind == IR_TID || b->vars[n->imm];
}

/* LLVM moves a load on to the block that needs it unless something else uses it before: this makes no code. */
static void keep(LlBuild *b, IrRef r)
{
    const unsigned id = LLVMLookupIntrinsicID("llvm.fake.use", strlen("llvm.fake.use"));
    LLVMValueRef f = LLVMGetIntrinsicDeclaration(b->module, id, NULL, 0);
    LLVMValueRef v = ll_to_keep(b, r);
    if (v) LLVMBuildCall2(b->builder, LLVMGlobalGetValueType(f), f, &v, 1, "");
}

void ll_loads_first(LlBuild *b, const IrBlock *block, uint32_t from, uint32_t scope)
{
    const IrRefs later = ir_loads_first(&b->demand, b->k, block, from, scope, is_bound);
    ll_at_scope(b, scope);
    for (uint32_t i = 0; i < later.n; i++) keep(b, later.items[i]);
}
