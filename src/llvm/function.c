/* function.c: the kernel and its functions as LLVM functions, and calls.
 *
 * Needs places, the functions in an order in which callees come first; leaves the kernel, of calling convention ptx_kernel, and one
 * internal function for each of the IR, which takes the buffers that it or its callees read, then its indices, in 32 bits where their
 * intervals fit. Several results are a struct. Nothing is inlined: the emitter has decided what is code of its own.
 *
 *     kernel @relu(%in: bf16[4096], %out: out bf16[4096]) block 128 grid 4 { .. }
 *     ->  define ptx_kernel void @relu(ptr addrspace(1) noalias readonly align 16 %in, ptr addrspace(1) noalias writeonly .. %out)
 *     func @row(i in 0..512) -> f32 { .. load %in[..] .. }
 *     ->  define internal float @relu_row(ptr addrspace(1) .. %in, i32 %i)
 */
#include "llvm/inner.h"

#include <string.h>

enum { PTX_KERNEL = 71, GLOBAL = 1, READS_ARGUMENTS = 1 }; /* the last: memory(argmem: read), as LLVM's attribute holds it */

static void attribute(LlBuild *b, LLVMAttributeIndex at, const char *name, uint64_t value)
{
    LLVMAddAttributeAtIndex(b->function, at, ll_attribute(b, name, value));
}

/* The buffer is parameter `number`. */
static void pass_buffer(LlBuild *b, uint32_t buffer, uint32_t number)
{
    const IrBuffer *x = &b->k->buffers[buffer];
    LLVMValueRef p = LLVMGetParam(b->function, number);
    b->pointers[buffer] = p;
    LLVMSetValueName2(p, x->name, strlen(x->name));
    if (b->constant[buffer] || x->output) attribute(b, number + 1, "noalias", 0);
    if (!x->alias) attribute(b, number + 1, x->output ? "writeonly" : "readonly", 0);
    if (x->align) attribute(b, number + 1, "align", x->align);
}

/* What PTX takes as the name of an entry; LLVM would write any other as it is. */
static const char name_letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$";

static bool is_identifier(const char *name)
{
    const bool digit = *name >= '0' && *name <= '9';
    return *name && !digit && strspn(name, name_letters) == strlen(name);
}

/* A name for what the kernel brings with it. */
static const char *name_of(LlBuild *b, const char *own)
{
    char *name = wbb_format(b->arena, "%s_%s", b->k->name, own);
    for (char *c = name; *c; c++)
        if (!strchr(name_letters, *c)) *c = '_';
    return name;
}

/* The bytes of a table as they lie in memory: elements narrower than a byte are packed, low bits first. */
static void make_table(LlBuild *b, uint32_t buffer)
{
    const IrBuffer *x = &b->k->buffers[buffer];
    const uint32_t bits = sc_type_info[x->type].bits;
    size_t n = (size_t)x->elements * sc_bytes(x->type);
    const uint8_t *bytes = x->table;
    if (ll_is_packed(x->type)) {
        const size_t each = 8 / bits;
        uint8_t *packed = WBB_NEW_N(b->arena, uint8_t, n / each + 2);
        for (size_t i = 0; i < n; i++) packed[i / each] = (uint8_t)(packed[i / each] | (bytes[i] & sc_mask(x->type)) << i % each * bits);
        n = (n + each - 1) / each;
        bytes = packed;
    }
    LLVMValueRef data = LLVMConstStringInContext2(b->llvm, (const char *)bytes, n, true);
    LLVMValueRef table = LLVMAddGlobalInAddressSpace(b->module, LLVMTypeOf(data), name_of(b, x->name), GLOBAL);
    LLVMSetInitializer(table, data);
    LLVMSetGlobalConstant(table, true);
    LLVMSetLinkage(table, LLVMInternalLinkage);
    LLVMSetAlignment(table, x->align ? x->align : 16);
    b->pointers[buffer] = table;
}

static void make_kernel(LlBuild *b)
{
    const IrKernel *k = b->k;
    uint32_t n = k->n_buffers;
    while (n > 0 && k->buffers[n - 1].table) n--;
    LLVMTypeRef *types = WBB_NEW_N(b->arena, LLVMTypeRef, n + 1);
    for (uint32_t i = 0; i < n; i++) types[i] = LLVMPointerTypeInContext(b->llvm, GLOBAL);
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(b->llvm), types, n, false);
    b->function = LLVMAddFunction(b->module, k->name, type);
    LLVMSetFunctionCallConv(b->function, PTX_KERNEL);
    const LLVMAttributeIndex whole = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
    attribute(b, whole, "nounwind", 0);
    const char *bound = wbb_format(b->arena, "%u", k->block);
    LLVMAddAttributeAtIndex(b->function, whole,
                            LLVMCreateStringAttribute(b->llvm, "nvvm.maxntid", 12, bound, (unsigned)strlen(bound)));
    for (uint32_t i = 0; i < n; i++) pass_buffer(b, i, i);
    for (uint32_t i = n; i < k->n_buffers; i++) make_table(b, i);
    for (uint32_t i = 0; i < n; i++) /* an operand whose memory an output has is read there: one pointer */
        if (k->buffers[i].alias) b->pointers[k->buffers[i].alias - 1] = b->pointers[i];
}

/* --- functions of the kernel ------------------------------------------------------------------------------------------------------ */
static bool is_wide(const IrVar *v) { return v->lo < INT32_MIN || v->hi > INT32_MAX; }

/* Which buffers each function reads, by the homes of loads and calls. */
static void find_reads(LlBuild *b)
{
    struct Call {
        uint32_t callee;
        struct Call *next;
    } **calls = WBB_NEW_N(b->arena, struct Call *, b->k->n_functions + 1);
    for (uint32_t f = 0; f < b->k->n_functions; f++) b->callees[f].reads = WBB_NEW_N(b->arena, bool, b->k->n_buffers + 1);
    uint32_t number = 0, *of = WBB_NEW_N(b->arena, uint32_t, b->places.n_scopes); /* the function of a root; n_functions: the kernel */
    for (uint32_t s = 1; s < b->places.n_scopes; s++)
        if (b->places.scopes[s].root == s) of[s] = number++;
    for (IrRef r = 1; r < b->g->n; r++) {
        const IrNode *n = ir_at(b->g, r);
        if (n->op != OP_LOAD && n->op != OP_CALL) continue;
        for (const LlHome *h = b->places.home[r]; h; h = h->next) {
            const uint32_t f = of[b->places.scopes[h->scope].root];
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
        if (c->reads[i]) types[n++] = LLVMPointerTypeInContext(b->llvm, GLOBAL);
    for (uint32_t i = 0; i < f->n_params; i++) types[n++] = is_wide(&b->g->vars[f->params[i]]) ? b->i64 : b->i32;
    c->result = result_type(b, f);
    c->type = LLVMFunctionType(c->result, types, n, false);
    b->function = c->function = LLVMAddFunction(b->module, name_of(b, f->name), c->type);
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
    const LlEnd end = ll_scope(b, &f->body, LLVMAppendBasicBlockInContext(b->llvm, b->function, "entry"), f->yields, f->n_yields);
    LLVMPositionBuilderAtEnd(b->builder, end.block);
    ll_lines_control(b, LL_BY_RETURN);
    LLVMValueRef v = end.values[0];
    if (f->n_yields > 1) v = LLVMGetPoison(c->result);
    for (uint32_t i = 0; f->n_yields > 1 && i < f->n_yields; i++) v = LLVMBuildInsertValue(b->builder, v, end.values[i], i, "");
    LLVMBuildRet(b->builder, v);
}

void ll_functions(LlBuild *b)
{
    const IrKernel *k = b->k;
    if (!is_identifier(k->name)) wbb_fail(b->cx, (WbbLoc){0}, "@%s: a kernel's name is letters, digits, _ and $", k->name);
    b->pointers = WBB_NEW_N(b->arena, LLVMValueRef, k->n_buffers + 1);
    b->constant = WBB_NEW_N(b->arena, bool, k->n_buffers + 1);
    b->callees = WBB_NEW_N(b->arena, LlCallee, k->n_functions + 1);
    for (uint32_t i = 0; i < k->n_buffers; i++) b->constant[i] = !k->buffers[i].output;
    for (uint32_t i = 0; i < k->n_buffers; i++)
        if (k->buffers[i].alias) b->constant[k->buffers[i].alias - 1] = false;
    if (k->n_functions) find_reads(b);
    for (uint32_t i = 0; i < k->n_functions; i++) build_function(b, k->functions[i], &b->callees[i]);
    make_kernel(b);
    ll_lines_function(b, k->name);
    const LlEnd end = ll_scope(b, &k->body, LLVMAppendBasicBlockInContext(b->llvm, b->function, "entry"), NULL, 0);
    LLVMPositionBuilderAtEnd(b->builder, end.block);
    ll_lines_control(b, LL_BY_RETURN);
    LLVMBuildRetVoid(b->builder);
}

/* --- calls ------------------------------------------------------------------------------------------------------------------------ */
static LLVMValueRef call(LlBuild *b, IrRef r)
{
    const LlCallee *c = &b->callees[IR_CALLEE(ir_at(b->g, r)->imm)];
    const IrFunction *f = b->k->functions[IR_CALLEE(ir_at(b->g, r)->imm)];
    LLVMValueRef *args = WBB_NEW_N(b->arena, LLVMValueRef, b->k->n_buffers + f->n_params + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->k->n_buffers; i++)
        if (c->reads[i]) args[n++] = b->pointers[i];
    for (uint32_t i = 0; i < f->n_params; i++) args[n++] = ll_index(b, ir_operand(b->g, r, i), is_wide(&b->g->vars[f->params[i]]));
    return LLVMBuildCall2(b->builder, c->type, c->function, args, n, "");
}

/* The last call of the same function with the same arguments; its value is NULL if there was none. */
static LlCalled *called(LlBuild *b, IrRef r)
{
    const uint32_t n = ir_arity(b->g, r);
    uint32_t *key = WBB_NEW_N(b->arena, uint32_t, n + 1);
    key[0] = IR_CALLEE(ir_at(b->g, r)->imm);
    for (uint32_t i = 0; i < n; i++) key[i + 1] = ir_operand(b->g, r, i);
    WbbEntry *e = wbb_map_put_bytes(&b->called, key, (n + 1) * sizeof *key);
    if (!e->pointer) e->pointer = WBB_NEW(b->arena, LlCalled);
    return e->pointer;
}

/* One call for all its results. */
LLVMValueRef ll_call(LlBuild *b, IrRef r)
{
    const uint32_t which = IR_WHICH(ir_at(b->g, r)->imm);
    if (b->k->functions[IR_CALLEE(ir_at(b->g, r)->imm)]->n_yields == 1) return call(b, r);
    LlCalled *made = called(b, r);
    const uint32_t scope = b->places.home[r]->scope;
    if (!made->value || !b->open[made->scope] || made->scope > scope) /* else that of an enclosing scope serves */
        *made = (LlCalled){scope, call(b, r)};
    return LLVMBuildExtractValue(b->builder, made->value, which, "");
}
