/* node.c: emits the nodes of a kernel as LLVM IR.
 *
 * Needs the scopes of each node (ir/placement.c) and the insert point of each open scope (statement.c); leaves LLVM
 * values. A node is emitted when the first statement needs it, at the insert point of its scope: at the end of the
 * scope's last block, or before the branch into the inner scope that is open.
 *
 *     store %out[8*t], max(load %in[8*t], 0.0)  ->  %p = getelementptr ..; %x = load ..; call @llvm.maximum..
 */
#include "llvm/inner.h"

void ll_at_scope(LlBuild *b, uint32_t scope)
{
    const LlInsertPoint *p = &b->points[scope];
    if (p->before) LLVMPositionBuilderBefore(b->builder, p->before);
    else LLVMPositionBuilderAtEnd(b->builder, p->block);
}

/* Reads a special register. LLVM is not told its interval: it would turn a sum whose terms share no bits into an `or`,
 * and the machine has one instruction for a product and a sum, but none for a product and an `or`. */
static LLVMValueRef special(LlBuild *b, const char *name) { return ll_call_intrinsic(b, name, NULL); }

static LLVMValueRef variable(LlBuild *b, IrRef r)
{
    const uint32_t number = (uint32_t)ir_at(b->g, r)->imm;
    const IrVar *var = &b->g->vars[number];
    LLVMValueRef v = b->vars[number];
    if (!v && var->kind == IR_BID) v = special(b, "llvm.nvvm.read.ptx.sreg.ctaid.x");
    if (!v && var->kind == IR_TID) v = special(b, "llvm.nvvm.read.ptx.sreg.tid.x");
    assert(v && "a variable is used outside the scope that binds it");
    const bool wide = ir_is_wide(b->g, r);
    const unsigned have = LLVMGetIntTypeWidth(LLVMTypeOf(v));
    if (have == (wide ? 64u : 32u)) return v;
    if (!wide) return LLVMBuildTrunc(b->builder, v, b->i32, "");
    return var->lo >= 0 ? LLVMBuildZExt(b->builder, v, b->i64, "") : LLVMBuildSExt(b->builder, v, b->i64, "");
}

/* Lanes first .. first + count - 1 of the concatenation of x and y. */
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
    if (count == 1 && IR_SC(n->type) == SC_PRED && LLVMIsATruncInst(x)) { /* of a load: one of its bytes */
        x = LLVMBuildExtractElement(b->builder, LLVMGetOperand(x, 0), LLVMConstInt(b->i32, n->imm, false), "");
        return LLVMBuildTrunc(b->builder, x, b->i1, "");
    }
    if (parts == 2) return lanes(b, x, LLVMGetPoison(LLVMTypeOf(x)), 2 * (uint32_t)n->imm, 2 * count);
    if (count == 1) return LLVMBuildExtractElement(b->builder, x, LLVMConstInt(b->i32, n->imm, false), "");
    return lanes(b, x, LLVMGetPoison(LLVMTypeOf(x)), (uint32_t)n->imm, count);
}

enum { BYTES = 4 }; /* of a word */

/* Lanes of the concatenation of x and y, two words of bytes. */
static LLVMValueRef shuffled(LlBuild *b, LLVMValueRef x, LLVMValueRef y, const uint8_t *from)
{
    LLVMValueRef mask[BYTES];
    for (uint32_t i = 0; i < BYTES; i++) mask[i] = LLVMConstInt(b->i32, from[i], false);
    return LLVMBuildShuffleVector(b->builder, x, y, LLVMConstVector(mask, BYTES), "");
}

/* A row of a block of 4 x 4 bytes transposed (ir_transposed_row): the words of a pair first, which two rows share, so
 * that four rows are eight permutes and not twelve. NULL: it is something else. */
static LLVMValueRef transposed_row(LlBuild *b, IrRef r)
{
    static const uint8_t pairs[2][BYTES] = {{0, 4, 1, 5}, {2, 6, 3, 7}}, rows[2][BYTES] = {{0, 1, 4, 5}, {2, 3, 6, 7}};
    IrWordOfBytes from[BYTES];
    LLVMValueRef word[BYTES];
    uint32_t byte;
    if (!ir_transposed_row(b->g, r, from, &byte)) return NULL;
    for (uint32_t k = 0; k < BYTES; k++) {
        LLVMValueRef all = b->values[from[k].of];
        const bool whole = IR_LANES(ir_at(b->g, from[k].of)->type) == BYTES;
        word[k] = whole ? all : lanes(b, all, LLVMGetPoison(LLVMTypeOf(all)), from[k].word * BYTES, BYTES);
    }
    LLVMValueRef low = shuffled(b, word[0], word[1], pairs[byte / 2]);
    LLVMValueRef high = shuffled(b, word[2], word[3], pairs[byte / 2]);
    return shuffled(b, low, high, rows[byte % 2]);
}

static LLVMValueRef pack(LlBuild *b, IrRef r)
{
    const IrNode *n = ir_at(b->g, r);
    LLVMValueRef x = b->values[n->a[0]], y = b->values[n->a[1]], row = transposed_row(b, r);
    const uint32_t count = IR_LANES(n->type) * ll_parts(n->type);
    if (row) return row;
    if (count > 2) return lanes(b, x, y, 0, count);
    LLVMValueRef v = LLVMGetPoison(ll_type(b, n->type));
    v = LLVMBuildInsertElement(b->builder, v, x, LLVMConstInt(b->i32, 0, false), "");
    return LLVMBuildInsertElement(b->builder, v, y, LLVMConstInt(b->i32, 1, false), "");
}

static LLVMValueRef emit_node(LlBuild *b, IrRef r)
{
    const IrNode *n = ir_at(b->g, r);
    LLVMValueRef v = NULL;
    switch ((ScOp)n->op) {
    case OP_CONST: return IR_SC(n->type) == SC_INDEX ? NULL : ll_const(b, n->type, n->imm); /* see ll_index */
    case OP_ARG: return NULL;
    case OP_VAR: return variable(b, r);
    case OP_VALUE: return b->results[n->imm];
    case OP_CALL: return ll_call(b, r);
    case OP_LOAD: return ll_load(b, r, (uint32_t)ir_at(b->g, n->a[0])->imm, n->a[1]);
    case OP_IDX: return ll_index_cast(b, r);
    case OP_PACK: return pack(b, r);
    case OP_PART: return part(b, n);
    case OP_SPLAT:
        if (ll_parts(n->type) == 2) return ll_splat_pairs(b, b->values[n->a[0]], IR_LANES(n->type));
        return ll_splat(b, b->values[n->a[0]], IR_LANES(n->type));
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

void ll_emit(void *of, IrRef r, uint32_t scope)
{
    LlBuild *b = of;
    ll_at_scope(b, scope);
    ll_lines_at(b, r);
    b->values[r] = emit_node(b, r);
}
