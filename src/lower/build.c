/* build.c: a kernel's statements and nodes to LLVM IR.
 *
 * Needs places (place.c); leaves one function of calling convention ptx_kernel. A node is emitted when the first statement needs
 * it, at the end of what its home scope has so far: before the branch into the scope that is open below, if there is one.
 *
 *     kernel @relu(%in: bf16[4096], %out: out bf16[4096]) block 128 grid 4 { .. }
 *     ->  define ptx_kernel void @relu(ptr addrspace(1) noalias readonly align 16 %in, ptr addrspace(1) noalias writeonly .. %out)
 */
#include "lower/inner.h"

#include <string.h>

enum { PTX_KERNEL = 71, GLOBAL = 1 };

static void at_scope(LlBuild *b, uint32_t scope)
{
    const LlPoint *p = &b->points[scope];
    if (p->end) LLVMPositionBuilderBefore(b->builder, p->end);
    else LLVMPositionBuilderAtEnd(b->builder, p->block);
}

/* An index special register and the interval that the launch gives it. */
static LLVMValueRef special(LlBuild *b, const char *name, uint32_t count)
{
    LLVMTypeRef type;
    LLVMValueRef f = ll_function(b, ll_intrinsic(name, strlen(name)), NULL, 0, &type);
    LLVMValueRef v = LLVMBuildCall2(b->builder, type, f, NULL, 0, "");
    if (count > 0 && count < UINT32_MAX) {
        const unsigned kind = LLVMGetEnumAttributeKindForName("range", 5);
        const uint64_t low = 0, high = count;
        LLVMAddCallSiteAttribute(v, LLVMAttributeReturnIndex, LLVMCreateConstantRangeAttribute(b->llvm, kind, 32, &low, &high));
    }
    return v;
}

static LLVMValueRef variable(LlBuild *b, IrRef r)
{
    const uint32_t number = (uint32_t)ir_at(b->g, r)->imm;
    const IrVar *var = &b->g->vars[number];
    LLVMValueRef v = b->vars[number];
    if (!v && var->kind == IR_BID) v = special(b, "llvm.nvvm.read.ptx.sreg.ctaid.x", b->k->grid);
    if (!v && var->kind == IR_TID) v = special(b, "llvm.nvvm.read.ptx.sreg.tid.x", b->k->block);
    assert(v && "a variable is used outside the scope that binds it");
    const bool wide = ll_is_wide(b->g, r);
    const unsigned have = LLVMGetIntTypeWidth(LLVMTypeOf(v));
    if (have == (wide ? 64u : 32u)) return v;
    if (!wide) return LLVMBuildTrunc(b->builder, v, b->i32, "");
    return var->lo >= 0 ? LLVMBuildZExt(b->builder, v, b->i64, "") : LLVMBuildSExt(b->builder, v, b->i64, "");
}

/* What facts prove of an access's address, up to the buffer's own alignment. Of a wide access the vectoriser has proved its size.
 * Of neighbouring scalar loads LLVM makes one where the first is known to be aligned for it, and rounds three of them up to four:
 * so no alignment is stated that reaches beyond the end of the buffer. */
static uint32_t access_align(LlBuild *b, const IrBuffer *buffer, IrType type, IrRef index)
{
    uint32_t align = sc_bytes(IR_SC(type));
    const WbbI128 last = ir_fact(b->g, index).hi;
    for (WbbI128 k = 2; align < buffer->align && ir_multiple(b->g, index, k) && last + k <= buffer->elements; k *= 2) align *= 2;
    return align;
}

/* A scalar is frozen, which costs nothing: else the code generator turns a choice between two loads into one load from a chosen
 * address, which then waits for the condition and reads even the pointers, in parameter space, through a computed address. */
static LLVMValueRef load(LlBuild *b, IrRef r)
{
    const IrNode *n = ir_at(b->g, r);
    const uint32_t buffer = (uint32_t)ir_at(b->g, n->a[0])->imm;
    ll_lines_at(b, n->a[1]);
    LLVMValueRef at = ll_address(b, buffer, n->a[1]);
    ll_lines_at(b, r);
    LLVMValueRef v = LLVMBuildLoad2(b->builder, ll_memory_type(b, n->type), at, "");
    LLVMSetAlignment(v, access_align(b, &b->k->buffers[buffer], n->type, n->a[1]));
    if (!b->k->buffers[buffer].output)
        LLVMSetMetadata(v, LLVMGetMDKindIDInContext(b->llvm, "invariant.load", 14),
                        LLVMMetadataAsValue(b->llvm, LLVMMDNodeInContext2(b->llvm, NULL, 0)));
    if (IR_LANES(n->type) == 1) v = LLVMBuildFreeze(b->builder, v, "");
    if (IR_SC(n->type) == SC_PRED) v = LLVMBuildICmp(b->builder, LLVMIntNE, v, LLVMConstNull(LLVMTypeOf(v)), "");
    return v;
}

/* lanes [first, first + count) of the vector x, or of x and y one after the other */
static LLVMValueRef lanes(LlBuild *b, LLVMValueRef x, LLVMValueRef y, uint32_t first, uint32_t count)
{
    LLVMValueRef *mask = WBB_NEW_N(b->arena, LLVMValueRef, count);
    for (uint32_t i = 0; i < count; i++) mask[i] = LLVMConstInt(b->i32, first + i, false);
    return LLVMBuildShuffleVector(b->builder, x, y, LLVMConstVector(mask, count), "");
}

static LLVMValueRef part(LlBuild *b, const IrNode *n)
{
    LLVMValueRef x = b->values[n->a[0]];
    const uint32_t count = IR_LANES(n->type), from = IR_LANES(ir_at(b->g, n->a[0])->type);
    assert(n->imm + count <= from);
    if (count == from) return x;
    if (count == 1) return LLVMBuildExtractElement(b->builder, x, LLVMConstInt(b->i32, n->imm, false), "");
    return lanes(b, x, LLVMGetPoison(LLVMTypeOf(x)), (uint32_t)n->imm, count);
}

static LLVMValueRef pack(LlBuild *b, const IrNode *n)
{
    LLVMValueRef x = b->values[n->a[0]], y = b->values[n->a[1]];
    const uint32_t count = IR_LANES(n->type);
    if (count > 2) return lanes(b, x, y, 0, count);
    LLVMValueRef v = LLVMBuildInsertElement(b->builder, LLVMGetPoison(ll_type(b, n->type)), x, LLVMConstInt(b->i32, 0, false), "");
    return LLVMBuildInsertElement(b->builder, v, y, LLVMConstInt(b->i32, 1, false), "");
}

static LLVMValueRef emit_node(LlBuild *b, IrRef r)
{
    const IrNode *n = ir_at(b->g, r);
    LLVMValueRef v = NULL;
    switch ((ScOp)n->op) {
    case OP_CONST: return IR_SC(n->type) == SC_INDEX ? NULL : ll_const(b, n->type, n->imm); /* ll_index makes the others */
    case OP_ARG: return NULL;
    case OP_VAR: return variable(b, r);
    case OP_LOAD: return load(b, r);
    case OP_IDX: return ll_index_cast(b, r);
    case OP_PACK: return pack(b, n);
    case OP_PART: return part(b, n);
    case OP_SPLAT: return ll_splat(b, b->values[n->a[0]], IR_LANES(n->type));
    case OP_INSTR: return ll_instr(b, r);
    default: break;
    }
    if (IR_SC(n->type) == SC_INDEX) v = ll_index_node(b, r);
    if (!v) v = ll_index_compare(b, r);
    if (!v)
        wbb_decline(b->cx, (WbbLoc){0}, WHY_NO_RULE, "@%s: %s.%s on %s", b->k->name, sc_op_info[n->op].name,
                    sc_type_info[IR_SC(n->type)].name, b->t->name);
    return v;
}

static void push(LlBuild *b, IrRef r)
{
    struct {
        IrRef *items;
        uint32_t n, room;
    } list = {b->stack, b->n_stack, b->stack_room};
    WBB_PUSH(b->arena, &list, r);
    b->stack = list.items;
    b->n_stack = list.n;
    b->stack_room = list.room;
}

static bool is_silent(const LlBuild *b, IrRef r) /* has no LLVM value of its own */
{
    const IrNode *n = ir_at(b->g, r);
    return n->op == OP_ARG || (n->op == OP_CONST && IR_SC(n->type) == SC_INDEX);
}

/* Emit r and whatever it needs, operands first. A sum that only addresses use is part of those addresses, so an address asks for
 * its terms and not for the sum. */
static void push_operands(LlBuild *b, IrRef r, bool address)
{
    const IrNode *n = ir_at(b->g, r);
    IrRef operands[3];
    if (n->op == OP_SUM) {
        for (uint32_t i = n->a[1]; i-- > 0;)
            if (!b->values[b->g->terms[n->a[0] + i].ref]) push(b, b->g->terms[n->a[0] + i].ref);
        return;
    }
    if (address) {
        if (!b->values[r] && !is_silent(b, r)) push(b, r);
        return;
    }
    if (n->op == OP_LOAD) {
        push_operands(b, n->a[1], true);
        return;
    }
    for (uint32_t i = ir_operands(b->g, r, operands); i-- > 0;)
        if (!b->values[operands[i]] && !is_silent(b, operands[i])) push(b, operands[i]);
}

static void drain(LlBuild *b, uint32_t floor)
{
    while (b->n_stack > floor) {
        const IrRef r = b->stack[b->n_stack - 1];
        const uint32_t before = b->n_stack;
        if (!b->values[r] && !is_silent(b, r)) push_operands(b, r, false);
        if (b->n_stack > before) continue; /* operands first */
        b->n_stack--;
        if (b->values[r] || is_silent(b, r)) continue;
        assert(b->places.home[r] != LL_UNUSED);
        at_scope(b, b->places.home[r]);
        ll_lines_at(b, r);
        b->values[r] = emit_node(b, r);
    }
}

static void demand(LlBuild *b, IrRef r, bool address)
{
    const uint32_t floor = b->n_stack;
    if (address) push_operands(b, r, true);
    else push(b, r);
    drain(b, floor);
}

static void emit_block(LlBuild *b, const IrBlock *block, uint32_t scope);

static void emit_store(LlBuild *b, const IrStmt *s, uint32_t scope)
{
    demand(b, s->value, false);
    demand(b, s->index, true);
    at_scope(b, scope);
    ll_lines_at(b, s->index);
    LLVMValueRef address = ll_address(b, s->buffer, s->index);
    ll_lines_store(b, s);
    const IrType type = ir_at(b->g, s->value)->type;
    LLVMValueRef v = b->values[s->value];
    if (IR_SC(type) == SC_PRED) v = LLVMBuildZExt(b->builder, v, ll_memory_type(b, type), "");
    LLVMValueRef at = LLVMBuildStore(b->builder, v, address);
    LLVMSetAlignment(at, access_align(b, &b->k->buffers[s->buffer], type, s->index));
}

/* Build the statements of a new scope, which begins in `block`; leaves the block where it ends. */
static LLVMBasicBlockRef emit_scope(LlBuild *b, const IrBlock *statements, LLVMBasicBlockRef block)
{
    const uint32_t scope = b->next_scope++;
    b->points[scope].block = block;
    emit_block(b, statements, scope);
    return b->points[scope].block;
}

static LLVMBasicBlockRef new_block(LlBuild *b, const char *name)
{
    return LLVMAppendBasicBlockInContext(b->llvm, b->function, name);
}

static void emit_if(LlBuild *b, const IrStmt *s, uint32_t scope)
{
    demand(b, s->condition, false);
    at_scope(b, scope);
    ll_lines_control(b, LL_BY_BRANCH);
    const bool both = s->otherwise.n > 0;
    LLVMBasicBlockRef then = new_block(b, "then"), otherwise = both ? new_block(b, "else") : NULL, join = new_block(b, "join");
    b->points[scope].end = LLVMBuildCondBr(b->builder, b->values[s->condition], then, both ? otherwise : join);
    LLVMBasicBlockRef last = emit_scope(b, &s->body, then);
    LLVMPositionBuilderAtEnd(b->builder, last);
    ll_lines_control(b, LL_BY_BRANCH);
    LLVMBuildBr(b->builder, join);
    if (both) {
        last = emit_scope(b, &s->otherwise, otherwise);
        LLVMPositionBuilderAtEnd(b->builder, last);
        ll_lines_control(b, LL_BY_BRANCH);
        LLVMBuildBr(b->builder, join);
    } else {
        b->next_scope++; /* the empty else */
    }
    b->points[scope] = (LlPoint){join, NULL};
}

static uint32_t count_scopes(const IrBlock *block)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < block->n; i++) {
        const IrStmt *s = block->items[i];
        if (s->kind == IR_IF) n += 2 + count_scopes(&s->body) + count_scopes(&s->otherwise);
        if (s->kind == IR_FOR) n += 1 + count_scopes(&s->body);
    }
    return n;
}

/* The test is at the bottom: a loop runs at least once. */
static void emit_for(LlBuild *b, const IrStmt *s, uint32_t scope)
{
    const IrVar *var = &b->g->vars[s->var];
    if (var->hi < var->lo) {
        b->next_scope += 1 + count_scopes(&s->body);
        return;
    }
    const bool wide = var->lo < INT32_MIN || var->hi >= INT32_MAX;
    LLVMTypeRef type = wide ? b->i64 : b->i32;
    LLVMBasicBlockRef body = new_block(b, "loop"), after = new_block(b, "after"), before = b->points[scope].block;
    at_scope(b, scope);
    ll_lines_control(b, LL_BY_LOOP);
    b->points[scope].end = LLVMBuildBr(b->builder, body);
    LLVMPositionBuilderAtEnd(b->builder, body);
    LLVMValueRef counter = LLVMBuildPhi(b->builder, type, "");
    b->vars[s->var] = counter;
    LLVMBasicBlockRef last = emit_scope(b, &s->body, body);
    LLVMPositionBuilderAtEnd(b->builder, last);
    ll_lines_control(b, LL_BY_LOOP);
    LLVMValueRef next = LLVMBuildNSWAdd(b->builder, counter, LLVMConstInt(type, 1, false), "");
    LLVMValueRef more = LLVMBuildICmp(b->builder, LLVMIntSLE, next, LLVMConstInt(type, (uint64_t)var->hi, true), "");
    LLVMBuildCondBr(b->builder, more, body, after);
    LLVMValueRef values[2] = {LLVMConstInt(type, (uint64_t)var->lo, true), next};
    LLVMBasicBlockRef blocks[2] = {before, last};
    LLVMAddIncoming(counter, values, blocks, 2);
    b->points[scope] = (LlPoint){after, NULL};
}

static void emit_block(LlBuild *b, const IrBlock *block, uint32_t scope)
{
    for (uint32_t i = 0; i < block->n; i++) {
        const IrStmt *s = block->items[i];
        switch (s->kind) {
        case IR_STORE: emit_store(b, s, scope); break;
        case IR_IF: emit_if(b, s, scope); break;
        case IR_FOR: emit_for(b, s, scope); break;
        case IR_BIND: {
            const IrRef d = b->g->vars[s->var].definition;
            demand(b, d, false);
            at_scope(b, scope);
            b->vars[s->var] = ll_index(b, d, ll_is_wide(b->g, d));
            break;
        }
        }
    }
}

/* What PTX takes as the name of an entry; LLVM would write any other as it is. */
static bool is_identifier(const char *name)
{
    const bool digit = *name >= '0' && *name <= '9';
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$";
    return *name && !digit && strspn(name, allowed) == strlen(name);
}

static void make_function(LlBuild *b)
{
    const IrKernel *k = b->k;
    if (!is_identifier(k->name)) wbb_fail(b->cx, (WbbLoc){0}, "@%s: a kernel's name is letters, digits, _ and $", k->name);
    LLVMTypeRef *types = WBB_NEW_N(b->arena, LLVMTypeRef, k->n_buffers + 1);
    for (uint32_t i = 0; i < k->n_buffers; i++) types[i] = LLVMPointerTypeInContext(b->llvm, GLOBAL);
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(b->llvm), types, k->n_buffers, false);
    b->function = LLVMAddFunction(b->module, k->name, type);
    LLVMSetFunctionCallConv(b->function, PTX_KERNEL);
    const LLVMAttributeIndex whole = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
    LLVMAddAttributeAtIndex(b->function, whole, ll_attribute(b, "nounwind", 0));
    const char *bound = wbb_format(b->arena, "%u", k->block);
    LLVMAddAttributeAtIndex(b->function, whole,
                            LLVMCreateStringAttribute(b->llvm, "nvvm.maxntid", 12, bound, (unsigned)strlen(bound)));
    for (uint32_t i = 0; i < k->n_buffers; i++) {
        LLVMSetValueName2(LLVMGetParam(b->function, i), k->buffers[i].name, strlen(k->buffers[i].name));
        LLVMAddAttributeAtIndex(b->function, i + 1, ll_attribute(b, "noalias", 0));
        LLVMAddAttributeAtIndex(b->function, i + 1, ll_attribute(b, k->buffers[i].output ? "writeonly" : "readonly", 0));
        if (k->buffers[i].align) LLVMAddAttributeAtIndex(b->function, i + 1, ll_attribute(b, "align", k->buffers[i].align));
    }
}

void ll_build(LlBuild *b)
{
    b->places = ll_place(b->arena, b->k, b->t->tables);
    b->points = WBB_NEW_N(b->arena, LlPoint, b->places.n_scopes);
    b->values = WBB_NEW_N(b->arena, LLVMValueRef, b->g->n);
    b->vars = WBB_NEW_N(b->arena, LLVMValueRef, b->g->n_vars + 1);
    b->rows = WBB_NEW_N(b->arena, LlRow *, b->t->tables->n_instrs + 1);
    make_function(b);
    ll_lines_begin(b);
    LLVMPositionBuilderAtEnd(b->builder, emit_scope(b, &b->k->body, new_block(b, "entry")));
    ll_lines_control(b, LL_BY_RETURN);
    LLVMBuildRetVoid(b->builder);
    ll_lines_end(b);
}
