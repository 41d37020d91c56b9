/* statement.c: builds statements as LLVM basic blocks.
 *
 * Needs the function that is being built, and scopes numbered in the order in which ll_scope enters them
 * (ir/placement.c); leaves blocks. A result of an `if` is a phi in the block where its branches join. A value that a
 * `for` carries is a phi at the loop's head; the result is the value that the last iteration yields.
 *
 *     s = for k in 0..8 carry acc = 0.0:f32 { yield .. }
 *     ->  loop: %k = phi [0, ..], [%next, ..]; %acc = phi [0.0, ..], [%s, ..]
 */
#include "ir/uses.h"
#include "llvm/inner.h"

#include <llvm-c/DebugInfo.h> /* LLVMTemporaryMDNode */
#include <string.h>

static void emit_block(LlBuild *b, const IrBlock *block, uint32_t scope);

static void emit_store(LlBuild *b, const IrStmt *s, uint32_t scope)
{
    const IrType type = ir_at(b->g, s->value)->type;
    const uint32_t align = ll_align(b, s->buffer, type, s->index);
    const bool packed = ir_is_packed(IR_SC(type));
    ir_demand(&b->demand, s->value, false);
    if (!packed || !ir_is_const(b->g, s->index)) ir_demand(&b->demand, s->index, !packed);
    ll_at_scope(b, scope);
    ll_lines_at(b, s->index);
    if (packed) {
        LLVMValueRef index = ll_index(b, s->index, ir_is_wide(b->g, s->index));
        ll_lines_access(b, IR_BY_STORE, s->value, s->buffer);
        ll_store_packed(b, b->values[s->value], b->pointers[s->buffer], index, type, align);
        return;
    }
    LLVMValueRef address = ll_address(b, s->buffer, s->index);
    ll_lines_access(b, IR_BY_STORE, s->value, s->buffer);
    LLVMValueRef v = b->values[s->value];
    if (IR_SC(type) == SC_PRED) v = LLVMBuildZExt(b->builder, v, ll_memory_type(b, type), "");
    LLVMValueRef at = LLVMBuildStore(b->builder, v, address);
    LLVMSetAlignment(at, align);
}

static void write_relaxed(LlBuild *b, const IrStmt *s)
{
    const IrRef x = ir_at(b->g, s->value)->a[0];
    const IrType type = ir_at(b->g, x)->type;
    ll_lines_at(b, s->index);
    LLVMValueRef address = ll_address(b, s->buffer, s->index), v = b->values[x];
    ll_lines_access(b, IR_BY_STORE, s->value, s->buffer);
    if (IR_SC(type) == SC_PRED) v = LLVMBuildZExt(b->builder, v, ll_memory_type(b, type), "");
    ll_relaxed(b, LLVMBuildStore(b->builder, v, address), type);
}

/* The operation is built at the statement's place, not where a scope of it would be. */
static void emit_do(LlBuild *b, const IrStmt *s, uint32_t scope)
{
    const IrNode *n = ir_at(b->g, s->value);
    ir_demand_operands(&b->demand, s);
    ll_at_scope(b, scope);
    LLVMValueRef v = NULL, address = NULL, from = NULL;
    if (n->op == OP_READ || n->op == OP_READ_RELAXED || n->op == OP_READ_PEER) {
        v = ll_load(b, s->value, s->buffer, s->index);
    } else if (n->op == OP_WRITE_RELAXED) {
        write_relaxed(b, s);
    } else if (n->op == OP_COPY_COMMIT || n->op == OP_COPY_WAIT) {
        ll_lines_at(b, s->value);
        ll_copy_group(b, n);
    } else {
        if (s->index) ll_lines_at(b, s->index);
        if (s->index) address = ll_address(b, s->buffer, s->index);
        if (s->from_index) from = ll_address(b, s->from, s->from_index);
        ll_lines_at(b, s->value);
        if (n->op == OP_CLUSTER_BARRIER) ll_cluster_barrier(b);
        else v = n->op == OP_BARRIER ? ll_barrier(b) : ll_instr_at(b, s->value, address, from);
    }
    if (s->n_results) b->results[s->results[0].value] = v;
}

static LLVMBasicBlockRef new_block(LlBuild *b, const char *name)
{
    return LLVMAppendBasicBlockInContext(b->llvm, b->function, name);
}

LlScopeEnd ll_scope(LlBuild *b, const IrBlock *statements, LLVMBasicBlockRef block, const IrRef *yields, uint32_t n)
{
    const uint32_t scope = b->next_scope++;
    LlScopeEnd end = {.values = WBB_NEW_N(b->arena, LLVMValueRef, n + 1)};
    b->points[scope].block = block;
    b->open[scope] = true;
    emit_block(b, statements, scope);
    for (uint32_t i = 0; i < n; i++) ir_demand(&b->demand, yields[i], false);
    for (uint32_t i = 0; i < n; i++) end.values[i] = b->values[yields[i]];
    b->open[scope] = false;
    end.block = b->points[scope].block;
    return end;
}

/* Build a branch of an `if`, and the jump from its end to the block `join`. */
static LlScopeEnd branch(LlBuild *b, const IrStmt *s, bool otherwise, LLVMBasicBlockRef block, LLVMBasicBlockRef join)
{
    IrRef *yields = WBB_NEW_N(b->arena, IrRef, s->n_results + 1);
    for (uint32_t i = 0; i < s->n_results; i++) yields[i] = otherwise ? s->results[i].otherwise : s->results[i].yield;
    const LlScopeEnd end = ll_scope(b, otherwise ? &s->otherwise : &s->body, block, yields, s->n_results);
    LLVMPositionBuilderAtEnd(b->builder, end.block);
    ll_lines_control(b, IR_BY_IF);
    LLVMBuildBr(b->builder, join);
    return end;
}

static void emit_if(LlBuild *b, const IrStmt *s, uint32_t scope)
{
    ir_demand(&b->demand, s->condition, false);
    ll_at_scope(b, scope);
    ll_lines_control(b, IR_BY_IF);
    const bool both = s->otherwise.n > 0 || s->n_results > 0;
    LLVMBasicBlockRef then = new_block(b, "then"), otherwise = both ? new_block(b, "else") : NULL;
    LLVMBasicBlockRef join = new_block(b, "join");
    b->points[scope].before = LLVMBuildCondBr(b->builder, b->values[s->condition], then, both ? otherwise : join);
    const LlScopeEnd yes = branch(b, s, false, then, join);
    LlScopeEnd no = {0};
    if (both) no = branch(b, s, true, otherwise, join);
    else b->next_scope++; /* skip the scope of the empty else */
    b->points[scope] = (LlInsertPoint){join, NULL};
    if (s->n_results) LLVMPositionBuilderAtEnd(b->builder, join);
    if (s->n_results) ll_lines_control(b, IR_BY_IF);
    for (uint32_t i = 0; i < s->n_results; i++) {
        LLVMValueRef phi = LLVMBuildPhi(b->builder, LLVMTypeOf(yes.values[i]), "");
        LLVMValueRef values[2] = {yes.values[i], no.values[i]};
        LLVMBasicBlockRef blocks[2] = {yes.block, no.block};
        LLVMAddIncoming(phi, values, blocks, 2);
        b->results[s->results[i].value] = phi;
    }
}

/* The carried values of the first iteration, which are the results of a loop without iterations. */
static void carry_in(LlBuild *b, const IrStmt *s)
{
    for (uint32_t i = 0; i < s->n_results; i++) ir_demand(&b->demand, s->results[i].init, false);
    for (uint32_t i = 0; i < s->n_results; i++) b->results[s->results[i].value] = b->values[s->results[i].init];
}

/* A loop that is being built: from `body` to the jump back, or on to `after`. */
typedef struct {
    LLVMBasicBlockRef before, body, after;
    LLVMValueRef counter; /* of a `for` */
} Loop;

/* The head of a loop with the values that it carries; type: of its counter, or NULL. */
static Loop begin_loop(LlBuild *b, const IrStmt *s, uint32_t scope, LLVMTypeRef type)
{
    Loop l = {.before = b->points[scope].block, .body = new_block(b, "loop"), .after = new_block(b, "after")};
    ll_at_scope(b, scope);
    ll_lines_control(b, IR_BY_FOR);
    b->points[scope].before = LLVMBuildBr(b->builder, l.body);
    LLVMPositionBuilderAtEnd(b->builder, l.body);
    if (type) l.counter = LLVMBuildPhi(b->builder, type, "");
    for (uint32_t i = 0; i < s->n_results; i++) {
        LLVMValueRef init = b->results[s->results[i].value], phi = LLVMBuildPhi(b->builder, LLVMTypeOf(init), "");
        LLVMAddIncoming(phi, &init, &l.before, 1);
        b->results[s->results[i].carried] = phi;
    }
    return l;
}

/* The body; extra: a node that is computed at its end, or 0. The last value is that of `extra`. */
static LlScopeEnd loop_body(LlBuild *b, const IrStmt *s, const Loop *l, IrRef extra)
{
    IrRef *yields = WBB_NEW_N(b->arena, IrRef, s->n_results + 1);
    for (uint32_t i = 0; i < s->n_results; i++) yields[i] = s->results[i].yield;
    yields[s->n_results] = extra;
    const LlScopeEnd end = ll_scope(b, &s->body, l->body, yields, s->n_results + (extra != 0));
    LLVMPositionBuilderAtEnd(b->builder, end.block);
    ll_lines_control(b, IR_BY_FOR);
    return end;
}

/* PTX has `.pragma "nounroll"` at the head of the loop whose jump it is. The node names itself, so that it is of one
 * loop alone. */
static void leave_rolled(const LlBuild *b, LLVMValueRef jump)
{
    static const char kind[] = "llvm.loop", disable[] = "llvm.loop.unroll.disable";
    LLVMMetadataRef text = LLVMMDStringInContext2(b->llvm, disable, sizeof disable - 1);
    LLVMMetadataRef self = LLVMTemporaryMDNode(b->llvm, NULL, 0);
    LLVMMetadataRef items[] = {self, LLVMMDNodeInContext2(b->llvm, &text, 1)};
    LLVMMetadataRef node = LLVMMDNodeInContext2(b->llvm, items, WBB_LEN(items));
    LLVMMetadataReplaceAllUsesWith(self, node);
    LLVMSetMetadata(jump, LLVMGetMDKindIDInContext(b->llvm, kind, sizeof kind - 1), LLVMMetadataAsValue(b->llvm, node));
}

static void end_loop(LlBuild *b, const IrStmt *s, uint32_t scope, const Loop *l, const LlScopeEnd *end,
                     LLVMValueRef more)
{
    LLVMBasicBlockRef last = end->block;
    LLVMValueRef jump = LLVMBuildCondBr(b->builder, more, l->body, l->after);
    if (s->rolled) leave_rolled(b, jump);
    for (uint32_t i = 0; i < s->n_results; i++) {
        LLVMAddIncoming(b->results[s->results[i].carried], &end->values[i], &last, 1);
        b->results[s->results[i].value] = end->values[i];
    }
    b->points[scope] = (LlInsertPoint){l->after, NULL};
}

/* The loop's test is at its bottom, so a loop without iterations is not built at all. */
static void emit_for(LlBuild *b, const IrStmt *s, uint32_t scope)
{
    const IrVar *var = &b->g->vars[s->var];
    carry_in(b, s);
    if (var->hi < var->lo) {
        b->next_scope += 1 + ir_count_scopes(&s->body); /* skip the scopes of the body */
        return;
    }
    const bool wide = var->lo < INT32_MIN || var->hi >= INT32_MAX;
    LLVMTypeRef type = wide ? b->i64 : b->i32;
    const Loop l = begin_loop(b, s, scope, type);
    b->vars[s->var] = l.counter;
    const LlScopeEnd end = loop_body(b, s, &l, 0);
    LLVMValueRef next = LLVMBuildNSWAdd(b->builder, l.counter, LLVMConstInt(type, 1, false), "");
    LLVMValueRef more = LLVMBuildICmp(b->builder, LLVMIntSLE, next, LLVMConstInt(type, (uint64_t)var->hi, true), "");
    LLVMValueRef values[2] = {LLVMConstInt(type, (uint64_t)var->lo, true), next};
    LLVMBasicBlockRef blocks[2] = {l.before, end.block};
    LLVMAddIncoming(l.counter, values, blocks, 2);
    end_loop(b, s, scope, &l, &end, more);
}

static void emit_repeat(LlBuild *b, const IrStmt *s, uint32_t scope)
{
    carry_in(b, s);
    const Loop l = begin_loop(b, s, scope, NULL);
    const LlScopeEnd end = loop_body(b, s, &l, s->condition);
    end_loop(b, s, scope, &l, &end, end.values[s->n_results]);
}

/* An integer element that a variable is bound to, in the width that the variable's interval needs. */
static LLVMValueRef as_index(LlBuild *b, const IrStmt *s)
{
    const bool wide = ir_is_wide_var(&b->g->vars[s->var]);
    LLVMTypeRef to = wide ? b->i64 : b->i32;
    LLVMValueRef v = b->values[s->value];
    const unsigned have = LLVMGetIntTypeWidth(LLVMTypeOf(v)), want = wide ? 64 : 32;
    if (have == want) return v;
    if (have > want) return LLVMBuildTrunc(b->builder, v, to, "");
    const bool is_signed = sc_is_signed(IR_SC(ir_at(b->g, s->value)->type));
    return is_signed ? LLVMBuildSExt(b->builder, v, to, "") : LLVMBuildZExt(b->builder, v, to, "");
}

static void emit_let(LlBuild *b, const IrStmt *s, uint32_t scope)
{
    const IrRef is = s->value ? s->value : b->g->vars[s->var].definition;
    ir_demand(&b->demand, is, false);
    ll_at_scope(b, scope);
    if (s->value) ll_lines_at(b, is);
    b->vars[s->var] = s->value ? as_index(b, s) : ll_index(b, is, ir_is_wide(b->g, is));
}

/* LLVM moves a load on to the block that needs it unless something else uses it before: this makes no code. */
static void keep_all(LlBuild *b, IrRefs loads, uint32_t scope)
{
    static const char name[] = "llvm.fake.use";
    if (!loads.n) return;
    LLVMValueRef f = LLVMGetIntrinsicDeclaration(b->module, LLVMLookupIntrinsicID(name, strlen(name)), NULL, 0);
    ll_at_scope(b, scope);
    for (uint32_t i = 0; i < loads.n; i++)
        LLVMBuildCall2(b->builder, LLVMGlobalGetValueType(f), f, &b->values[loads.items[i]], 1, "");
}

static void emit_block(LlBuild *b, const IrBlock *block, uint32_t scope)
{
    for (uint32_t i = 0; i < block->n; i++) {
        const IrStmt *s = block->items[i];
        keep_all(b, ir_loads_first(&b->demand, b->k, block, i, scope), scope);
        switch (s->kind) {
        case IR_STORE: emit_store(b, s, scope); break;
        case IR_IF: emit_if(b, s, scope); break;
        case IR_DO: emit_do(b, s, scope); break;
        case IR_FOR: emit_for(b, s, scope); break;
        case IR_REPEAT: emit_repeat(b, s, scope); break;
        case IR_BIND: emit_let(b, s, scope); break;
        }
    }
}
