/* build.c: a kernel's nodes to LLVM IR.
 *
 * Needs places (scopes.c); leaves a module with the kernel (function.c) and its statements (statement.c). A node is emitted when the
 * first statement needs it, at the end of what its home scope has so far: before the branch into the scope that is open below, if
 * there is one.
 *
 *     store %out[8*t], max(load %in[8*t], 0.0)  ->  %i = shl i32 %t, 3; %p = getelementptr ..; %x = load ..; call @llvm.maximum..
 */
#include "llvm/inner.h"

#include <string.h>

void ll_at_scope(LlBuild *b, uint32_t scope)
{
    const LlPoint *p = &b->points[scope];
    if (p->end) LLVMPositionBuilderBefore(b->builder, p->end);
    else LLVMPositionBuilderAtEnd(b->builder, p->block);
}

/* An index special register. LLVM is not told its interval: it would make an `or` of a sum whose terms share no bits, and the machine
 * has one instruction for a product and a sum, none for a product and an `or`. */
static LLVMValueRef special(LlBuild *b, const char *name)
{
    LLVMTypeRef type;
    LLVMValueRef f = ll_function(b, ll_intrinsic(name, strlen(name)), NULL, 0, &type);
    return LLVMBuildCall2(b->builder, type, f, NULL, 0, "");
}

static LLVMValueRef variable(LlBuild *b, IrRef r)
{
    const uint32_t number = (uint32_t)ir_at(b->g, r)->imm;
    const IrVar *var = &b->g->vars[number];
    LLVMValueRef v = b->vars[number];
    if (!v && var->kind == IR_BID) v = special(b, "llvm.nvvm.read.ptx.sreg.ctaid.x");
    if (!v && var->kind == IR_TID) v = special(b, "llvm.nvvm.read.ptx.sreg.tid.x");
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
uint32_t ll_access_align(LlBuild *b, const IrBuffer *buffer, IrType type, IrRef index)
{
    uint32_t align = sc_bytes(IR_SC(type));
    const WbbI128 last = ir_fact(b->g, index).hi, each = ll_is_packed(IR_SC(type)) ? 8 / sc_type_info[IR_SC(type)].bits : 1; /* of a byte */
    for (WbbI128 k = 2 * each; align < buffer->align && ir_multiple(b->g, index, k) && last + k <= buffer->elements; k *= 2) align *= 2;
    return align;
}

/* A scalar is frozen, which costs nothing: else the code generator turns a choice between two loads into one load from a chosen
 * address, which then waits for the condition and reads even the pointers, in parameter space, through a computed address. */
static LLVMValueRef load(LlBuild *b, IrRef r)
{
    const IrNode *n = ir_at(b->g, r);
    const uint32_t buffer = (uint32_t)ir_at(b->g, n->a[0])->imm;
    const uint32_t align = ll_access_align(b, &b->k->buffers[buffer], n->type, n->a[1]);
    LLVMValueRef v, out = NULL;
    if (ll_is_packed(IR_SC(n->type))) {
        ll_lines_at(b, r);
        out = ll_load_packed(b, b->pointers[buffer], ll_index(b, n->a[1], ll_is_wide(b->g, n->a[1])), n->type, align, &v);
    } else {
        ll_lines_at(b, n->a[1]);
        LLVMValueRef at = ll_address(b, buffer, n->a[1]);
        ll_lines_at(b, r);
        v = LLVMBuildLoad2(b->builder, ll_memory_type(b, n->type), at, "");
        LLVMSetAlignment(v, align);
    }
    if (b->constant[buffer])
        LLVMSetMetadata(v, LLVMGetMDKindIDInContext(b->llvm, "invariant.load", 14),
                        LLVMMetadataAsValue(b->llvm, LLVMMDNodeInContext2(b->llvm, NULL, 0)));
    if (out) return out;
    if (IR_LANES(n->type) == 1) v = LLVMBuildFreeze(b->builder, v, "");
    if (IR_SC(n->type) == SC_PRED) { /* a byte of memory is 0 or 1, and is the number that the pred is */
        v = LLVMBuildTrunc(b->builder, v, ll_type(b, n->type), "");
        LLVMSetNUW(v, true);
    }
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
    const uint32_t parts = ll_parts(n->type);
    assert(n->imm + count <= from);
    if (count == from) return x;
    if (parts == 2) return lanes(b, x, LLVMGetPoison(LLVMTypeOf(x)), 2 * (uint32_t)n->imm, 2 * count);
    if (count == 1) return LLVMBuildExtractElement(b->builder, x, LLVMConstInt(b->i32, n->imm, false), "");
    return lanes(b, x, LLVMGetPoison(LLVMTypeOf(x)), (uint32_t)n->imm, count);
}

static LLVMValueRef pack(LlBuild *b, const IrNode *n)
{
    LLVMValueRef x = b->values[n->a[0]], y = b->values[n->a[1]];
    const uint32_t count = IR_LANES(n->type) * ll_parts(n->type);
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
    case OP_VALUE: return b->brought[n->imm];
    case OP_CALL: return ll_call(b, r);
    case OP_LOAD: return load(b, r);
    case OP_IDX: return ll_index_cast(b, r);
    case OP_PACK: return pack(b, n);
    case OP_PART: return part(b, n);
    case OP_SPLAT: return ll_parts(n->type) == 2 ? ll_splat_pairs(b, b->values[n->a[0]], IR_LANES(n->type)) : ll_splat(b, b->values[n->a[0]], IR_LANES(n->type));
    case OP_COMPLEX:
    case OP_RE:
    case OP_IM: return ll_complex(b, n);
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
        uint32_t n, capacity;
    } list = {b->stack, b->n_stack, b->stack_capacity};
    WBB_PUSH(b->arena, &list, r);
    b->stack = list.items;
    b->n_stack = list.n;
    b->stack_capacity = list.capacity;
}

static bool is_silent(const LlBuild *b, IrRef r) /* has no LLVM value of its own */
{
    const IrNode *n = ir_at(b->g, r);
    return n->op == OP_ARG || (n->op == OP_CONST && IR_SC(n->type) == SC_INDEX);
}

bool ll_is_made(LlBuild *b, IrRef r)
{
    LlHome **home = &b->places.home[r];
    while (*home && !b->open[(*home)->scope]) { /* it is done: what asks for a node does so within one of its homes */
        *home = (*home)->next;
        b->values[r] = NULL;
    }
    return b->values[r] != NULL;
}

/* Emit r and whatever it needs, operands first. A sum that only addresses use is part of those addresses, so an address asks for
 * its terms and not for the sum. */
static void push_operands(LlBuild *b, IrRef r, bool address)
{
    const IrNode *n = ir_at(b->g, r);
    if (address && n->op != OP_SUM) {
        if (!ll_is_made(b, r) && !is_silent(b, r)) push(b, r);
        return;
    }
    if (n->op == OP_LOAD && !ll_is_packed(IR_SC(n->type))) {
        push_operands(b, n->a[1], true);
        return;
    }
    for (uint32_t i = ir_arity(b->g, r); i-- > 0;) {
        const IrRef x = ir_operand(b->g, r, i);
        if (!ll_is_made(b, x) && !is_silent(b, x)) push(b, x);
    }
}

static void drain(LlBuild *b, uint32_t floor)
{
    while (b->n_stack > floor) {
        const IrRef r = b->stack[b->n_stack - 1];
        const uint32_t before = b->n_stack;
        if (!ll_is_made(b, r) && !is_silent(b, r)) push_operands(b, r, false);
        if (b->n_stack > before) continue; /* operands first */
        b->n_stack--;
        if (ll_is_made(b, r) || is_silent(b, r)) continue;
        assert(b->places.home[r]);
        ll_at_scope(b, b->places.home[r]->scope);
        ll_lines_at(b, r);
        b->values[r] = emit_node(b, r);
    }
}

void ll_demand(LlBuild *b, IrRef r, bool address)
{
    const uint32_t floor = b->n_stack;
    if (address) push_operands(b, r, true);
    else push(b, r);
    drain(b, floor);
}

void ll_build(LlBuild *b)
{
    b->places = ll_place(b->arena, b->k, b->t->tables);
    b->points = WBB_NEW_N(b->arena, LlPoint, b->places.n_scopes);
    b->open = WBB_NEW_N(b->arena, bool, b->places.n_scopes);
    b->values = WBB_NEW_N(b->arena, LLVMValueRef, b->g->n);
    b->vars = WBB_NEW_N(b->arena, LLVMValueRef, b->g->n_vars + 1);
    b->brought = WBB_NEW_N(b->arena, LLVMValueRef, b->g->n_values + 1);
    b->rows = WBB_NEW_N(b->arena, LlRow *, b->t->tables->n_instrs + 1);
    b->next_scope = 1;
    ll_lines_begin(b);
    ll_functions(b);
    ll_lines_end(b);
}
