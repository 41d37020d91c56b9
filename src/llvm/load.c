/* load.c: loads of elements from memory.
 *
 * Needs an emitted index; leaves LLVM's load, of an alignment that facts prove. LLVM's load-store-vectorizer joins
 * those that gaps and the ends of rows separate.
 *
 *     load.f32x2 %x[8*t]  ->  %v = load <2 x float>, ptr addrspace(1) %p, align 8
 */
#include "llvm/inner.h"

/* LLVM merges neighbouring loads if one of them is known to be aligned for the merged load, and rounds three of them up
 * to four, over gaps too: the alignment stated beyond an access's own never lets that reach beyond the buffer. */
uint32_t ll_align(LlBuild *b, uint32_t buffer, IrType type, IrRef index)
{
    const uint32_t own = IR_LANES(type) > 1 && !ir_is_packed(IR_SC(type)) ? sc_bytes(IR_SC(type)) * IR_LANES(type) : 1;
    return WBB_MAX(own, ir_align_of(b->g, &b->k->buffers[buffer], IR_SC(type), index, true));
}

void ll_relaxed(const LlBuild *b, LLVMValueRef access, IrType type)
{
    LLVMSetOrdering(access, LLVMAtomicOrderingMonotonic);
    LLVMSetAtomicSyncScopeID(access, LLVMGetSyncScopeID(b->llvm, "device", 6));
    LLVMSetAlignment(access, sc_bytes(IR_SC(type)));
}

static void mark_constant(LlBuild *b, LLVMValueRef load, uint32_t buffer)
{
    if (!b->constant[buffer]) return;
    LLVMValueRef none = LLVMMetadataAsValue(b->llvm, LLVMMDNodeInContext2(b->llvm, NULL, 0));
    LLVMSetMetadata(load, LLVMGetMDKindIDInContext(b->llvm, "invariant.load", 14), none);
}

/* A load of one element is frozen, which adds no instruction: without it the code generator turns a select of two loads
 * into one load from a selected address. That load waits for the condition, and the pointers are read from parameter
 * space by a computed address. */
LLVMValueRef ll_load(LlBuild *b, IrRef r, uint32_t buffer, IrRef index)
{
    const IrNode *n = ir_at(b->g, r);
    /* What lies between elements of memory that changes may be another thread's, or not written yet: such a load has
     * the alignment of its own size. */
    const bool peer = n->op == OP_READ_PEER;
    const bool own = n->op == OP_READ || n->op == OP_READ_RELAXED || peer;
    const uint32_t align = own ? sc_bytes(IR_SC(n->type)) * IR_LANES(n->type) : ll_align(b, buffer, n->type, index);
    LLVMValueRef v;
    if (ir_is_packed(IR_SC(n->type)) && !peer) {
        ll_lines_access(b, IR_BY_LOAD, r, buffer);
        LLVMValueRef at = ll_index(b, index, ir_is_wide(b->g, index)), load;
        v = ll_load_packed(b, b->pointers[buffer], at, n->type, align, &load);
        mark_constant(b, load, buffer);
        return v;
    }
    ll_lines_at(b, index);
    LLVMValueRef at = ll_address(b, buffer, index);
    ll_lines_access(b, IR_BY_LOAD, r, buffer);
    if (peer) at = ll_peer(b, at, n->imm);
    v = LLVMBuildLoad2(b->builder, ll_memory_type(b, n->type), at, "");
    LLVMSetAlignment(v, align);
    if (n->op == OP_READ_RELAXED) ll_relaxed(b, v, n->type);
    mark_constant(b, v, buffer);
    if (IR_LANES(n->type) == 1) v = LLVMBuildFreeze(b->builder, v, "");
    if (IR_SC(n->type) == SC_PRED) { /* in memory a pred is a byte, 0 or 1 */
        v = LLVMBuildTrunc(b->builder, v, ll_type(b, n->type), "");
        LLVMSetNUW(v, true);
    }
    return v;
}
