/* function.c: builds the kernel and its functions as LLVM functions.
 *
 * Needs a kernel after `isel`, its functions ordered with callees first; leaves an LLVM module with the kernel, of
 * calling convention ptx_kernel, and one internal function for each function of the kernel. That takes a pointer to
 * each buffer that it or its callees read, then its indices, in 32 bits where their intervals fit, and returns several
 * results as a struct. Functions are not inlined: src/emit has decided what becomes a function.
 *
 *     kernel @relu(%in: bf16[4096], %out: out bf16[4096]) block 128 grid 4 { .. }
 *     ->  define ptx_kernel void @relu(ptr addrspace(1) noalias readonly align 16 %in, ptr addrspace(1) .. %out)
 *     func @row(i in 0..512) -> f32 { .. load %in[..] .. }
 *     ->  define internal float @relu_row(ptr addrspace(1) .. %in, i32 %i)
 */
#include "llvm/inner.h"

#include <string.h>

/* READS_ARGUMENTS: LLVM's encoding of memory(argmem: read) */
enum { PTX_KERNEL = 71, READS_ARGUMENTS = 1 };

static void attribute(LlBuild *b, LLVMAttributeIndex at, const char *name, uint64_t value)
{
    LLVMAddAttributeAtIndex(b->function, at, ll_attribute(b, name, value));
}

/* Make parameter `number` the pointer of the buffer, with the attributes that follow from how the kernel uses it. */
static void pass_buffer(LlBuild *b, uint32_t buffer, uint32_t number)
{
    const IrBuffer *x = &b->k->buffers[buffer];
    LLVMValueRef p = LLVMGetParam(b->function, number);
    b->pointers[buffer] = p;
    LLVMSetValueName2(p, x->name, strlen(x->name));
    if (b->constant[buffer] || (ir_is_output(x) && !b->turned[buffer])) attribute(b, number + 1, "noalias", 0);
    if (x->space == IR_IN) attribute(b, number + 1, "readonly", 0);
    if (x->space == IR_OUT && !b->done[buffer]) attribute(b, number + 1, "writeonly", 0);
    if (x->align) attribute(b, number + 1, "align", ir_word_align(x));
}

/* A constant with the bytes of a table in memory. */
static void make_table(LlBuild *b, uint32_t buffer)
{
    const IrBuffer *x = &b->k->buffers[buffer];
    size_t n;
    const uint8_t *bytes = ir_table_bytes(b->arena, x, &n);
    LLVMValueRef data = LLVMConstStringInContext2(b->llvm, (const char *)bytes, n, true);
    const char *name = ir_module_name(b->arena, b->k, x->name);
    LLVMValueRef table = LLVMAddGlobalInAddressSpace(b->module, LLVMTypeOf(data), name, LL_GLOBAL);
    LLVMSetInitializer(table, data);
    LLVMSetGlobalConstant(table, true);
    LLVMSetLinkage(table, LLVMInternalLinkage);
    LLVMSetAlignment(table, x->align ? x->align : 16);
    b->pointers[buffer] = table;
}

/* The block's shared memory that the launch sizes, from a buffer on. */
static LLVMValueRef dynamic_shared(LlBuild *b, uint32_t buffer)
{
    const char *name = ir_module_name(b->arena, b->k, IR_DYNAMIC);
    LLVMTypeRef byte = LLVMInt8TypeInContext(b->llvm);
    LLVMValueRef all = LLVMGetNamedGlobal(b->module, name);
    if (!all) all = LLVMAddGlobalInAddressSpace(b->module, LLVMArrayType2(byte, 0), name, LL_SHARED);
    LLVMSetAlignment(all, 16);
    LLVMValueRef offset = LLVMConstInt(b->i64, (uint64_t)ir_shared_offset(b->k, buffer), false);
    return LLVMConstInBoundsGEP2(byte, all, &offset, 1);
}

/* An array in the block's shared memory. */
static void make_shared(LlBuild *b, uint32_t buffer)
{
    const IrBuffer *x = &b->k->buffers[buffer];
    if (ir_dynamic_shared(b->k)) {
        b->pointers[buffer] = dynamic_shared(b, buffer);
        return;
    }
    LLVMTypeRef type = LLVMArrayType2(ll_memory_type(b, IR_TYPE(x->type, 0)), (uint64_t)x->elements);
    const char *name = ir_module_name(b->arena, b->k, x->name);
    LLVMValueRef array = LLVMAddGlobalInAddressSpace(b->module, type, name, LL_SHARED);
    LLVMSetInitializer(array, LLVMGetPoison(type));
    LLVMSetLinkage(array, LLVMInternalLinkage);
    LLVMSetAlignment(array, x->align);
    b->pointers[buffer] = array;
}

static void make_kernel(LlBuild *b)
{
    const IrKernel *k = b->k;
    uint32_t n = k->n_buffers;
    while (n > 0 && !ir_is_parameter(&k->buffers[n - 1])) n--;
    LLVMTypeRef *types = WBB_NEW_N(b->arena, LLVMTypeRef, n + 1);
    for (uint32_t i = 0; i < n; i++) types[i] = LLVMPointerTypeInContext(b->llvm, LL_GLOBAL);
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(b->llvm), types, n, false);
    b->function = LLVMAddFunction(b->module, k->name, type);
    LLVMSetFunctionCallConv(b->function, PTX_KERNEL);
    const LLVMAttributeIndex whole = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
    attribute(b, whole, "nounwind", 0);
    const char *bound = wbb_format(b->arena, "%u", k->block);
    LLVMAddAttributeAtIndex(b->function, whole,
                            LLVMCreateStringAttribute(b->llvm, "nvvm.maxntid", 12, bound, (unsigned)strlen(bound)));
    for (uint32_t i = 0; i < n; i++) pass_buffer(b, i, i);
    for (uint32_t i = n; i < k->n_buffers; i++)
        if (k->buffers[i].space == IR_TABLE) make_table(b, i);
        else make_shared(b, i);
    for (uint32_t i = 0; i < n; i++) /* an operand that an in-place output aliases is read by the output's pointer */
        if (k->buffers[i].alias) b->pointers[k->buffers[i].alias - 1] = b->pointers[i];
}

/* --- functions of the kernel -------------------------------------------------------------------------------------- */
/* The buffers that each function reads: those of the loads emitted in its scopes, and those of its callees. */
static void find_reads(LlBuild *b)
{
    struct Call {
        uint32_t callee;
        struct Call *next;
    } **calls = WBB_NEW_N(b->arena, struct Call *, b->k->n_functions + 1);
    for (uint32_t f = 0; f < b->k->n_functions; f++)
        b->callees[f].reads = WBB_NEW_N(b->arena, bool, b->k->n_buffers + 1);
    /* of[root]: number of the function that the scope belongs to; the kernel's is n_functions */
    uint32_t number = 0, *of = WBB_NEW_N(b->arena, uint32_t, b->scopes.n);
    for (uint32_t s = 1; s < b->scopes.n; s++)
        if (b->scopes.items[s].root == s) of[s] = number++;
    for (IrRef r = 1; r < b->g->n; r++) {
        const IrNode *n = ir_at(b->g, r);
        if (n->op != OP_LOAD && n->op != OP_CALL) continue;
        for (const IrScopeList *s = b->scopes.emitted[r]; s; s = s->next) {
            const uint32_t f = of[b->scopes.items[s->scope].root];
            if (f == b->k->n_functions) continue;
            if (n->op == OP_LOAD) {
                b->callees[f].reads[ir_at(b->g, n->a[0])->imm] = true;
                continue;
            }
            struct Call *c = WBB_NEW(b->arena, struct Call);
            *c = (struct Call){IR_CALLEE(n->imm), calls[f]};
            calls[f] = c;
        }
    }
    for (uint32_t f = 0; f < b->k->n_functions; f++)
        for (const struct Call *c = calls[f]; c; c = c->next)
            for (uint32_t i = 0; i < b->k->n_buffers; i++) b->callees[f].reads[i] |= b->callees[c->callee].reads[i];
}

static LLVMTypeRef result_type(LlBuild *b, const IrFunction *f)
{
    LLVMTypeRef *types = WBB_NEW_N(b->arena, LLVMTypeRef, f->n_yields);
    for (uint32_t i = 0; i < f->n_yields; i++) types[i] = ll_type(b, ir_at(b->g, f->yields[i])->type);
    return f->n_yields == 1 ? types[0] : LLVMStructTypeInContext(b->llvm, types, f->n_yields, false);
}

static void make_function(LlBuild *b, const IrFunction *f, LlCallee *c)
{
    LLVMTypeRef *types = WBB_NEW_N(b->arena, LLVMTypeRef, b->k->n_buffers + f->n_params + 1);
    uint32_t n = 0, at = 0;
    for (uint32_t i = 0; i < b->k->n_buffers; i++)
        if (c->reads[i]) types[n++] = LLVMPointerTypeInContext(b->llvm, LL_GLOBAL);
    for (uint32_t i = 0; i < f->n_params; i++) types[n++] = ir_is_wide_var(&b->g->vars[f->params[i]]) ? b->i64 : b->i32;
    c->result = result_type(b, f);
    c->type = LLVMFunctionType(c->result, types, n, false);
    b->function = c->function = LLVMAddFunction(b->module, ir_module_name(b->arena, b->k, f->name), c->type);
    LLVMSetLinkage(b->function, LLVMInternalLinkage);
    const LLVMAttributeIndex whole = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
    attribute(b, whole, "noinline", 0);
    attribute(b, whole, "nounwind", 0);
    attribute(b, whole, "willreturn", 0);
    attribute(b, whole, "memory", READS_ARGUMENTS);
    for (uint32_t i = 0; i < b->k->n_buffers; i++) {
        b->pointers[i] = NULL;
        if (c->reads[i]) pass_buffer(b, i, at++);
    }
    for (uint32_t i = 0; i < f->n_params; i++) {
        const char *name = b->g->vars[f->params[i]].name;
        b->vars[f->params[i]] = LLVMGetParam(b->function, at++);
        LLVMSetValueName2(b->vars[f->params[i]], name, strlen(name));
    }
}

static void build_function(LlBuild *b, const IrFunction *f, LlCallee *c)
{
    make_function(b, f, c);
    ll_lines_function(b, LLVMGetValueName(b->function));
    LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(b->llvm, b->function, "entry");
    const LlScopeEnd end = ll_scope(b, &f->body, entry, f->yields, f->n_yields);
    LLVMPositionBuilderAtEnd(b->builder, end.block);
    ll_lines_control(b, IR_BY_END);
    LLVMValueRef v = end.values[0];
    if (f->n_yields > 1) v = LLVMGetPoison(c->result);
    for (uint32_t i = 0; f->n_yields > 1 && i < f->n_yields; i++)
        v = LLVMBuildInsertValue(b->builder, v, end.values[i], i, "");
    LLVMBuildRet(b->builder, v);
}

static void build_kernel(LlBuild *b)
{
    make_kernel(b);
    ll_lines_function(b, b->k->name);
    LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(b->llvm, b->function, "entry");
    const LlScopeEnd end = ll_scope(b, &b->k->body, entry, NULL, 0);
    LLVMPositionBuilderAtEnd(b->builder, end.block);
    ll_lines_control(b, IR_BY_END);
    LLVMBuildRetVoid(b->builder);
}

/* Fills b->done and b->turned. */
static void note_effects(LlBuild *b, const IrBlock *block, bool repeated)
{
    for (uint32_t i = 0; i < block->n; i++) {
        const IrStmt *s = block->items[i];
        if (s->kind == IR_DO && s->index) b->done[s->buffer] = true;
        if (s->kind == IR_STORE && repeated) b->turned[s->buffer] = true;
        note_effects(b, &s->body, repeated || s->kind == IR_REPEAT);
        note_effects(b, &s->otherwise, repeated);
    }
}

static void allocate(LlBuild *b)
{
    const IrKernel *k = b->k;
    b->scopes = ir_place(b->arena, k, rw_is_costly, b->t->tables, k->grid <= b->t->sms);
    b->points = WBB_NEW_N(b->arena, LlInsertPoint, b->scopes.n);
    b->open = WBB_NEW_N(b->arena, bool, b->scopes.n);
    b->next_scope = 1;
    b->demand = ir_demands(b->arena, b->g, &b->scopes, b->open, ll_emit, b);
    b->values = WBB_NEW_N(b->arena, LLVMValueRef, b->g->n);
    b->vars = WBB_NEW_N(b->arena, LLVMValueRef, b->g->n_vars + 1);
    b->results = WBB_NEW_N(b->arena, LLVMValueRef, b->g->n_values + 1);
    b->rows = WBB_NEW_N(b->arena, LlRow *, b->t->tables->n_instrs + 1);
    b->pointers = WBB_NEW_N(b->arena, LLVMValueRef, k->n_buffers + 1);
    b->constant = ir_constant_buffers(b->arena, k);
    b->done = WBB_NEW_N(b->arena, bool, k->n_buffers + 1);
    b->turned = WBB_NEW_N(b->arena, bool, k->n_buffers + 1);
    note_effects(b, &k->body, false);
    b->callees = WBB_NEW_N(b->arena, LlCallee, k->n_functions + 1);
}

void ll_build(LlBuild *b)
{
    const IrKernel *k = b->k;
    ir_check_name(b->cx, k);
    allocate(b);
    ll_lines_begin(b);
    if (k->n_functions) find_reads(b);
    for (uint32_t i = 0; i < k->n_functions; i++) build_function(b, k->functions[i], &b->callees[i]);
    build_kernel(b);
    ll_lines_end(b);
}
