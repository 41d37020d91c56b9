/* forms.c: values without a scalar LLVM type of their own in memory: elements narrower than a byte, and complex
 * elements.
 *
 * Needs emitted operands; leaves LLVM values. An element of 2 or 4 bits is iN as a value; memory holds 8/N of them in a
 * byte, the first in the low bits. A vector access loads or stores whole words, and shifts the lanes out of or into
 * them. A store covers whole bytes; a scalar load shifts its bits out of a byte. A complex value is a vector of its two
 * parts, <2 x float>, and a vector of complex lanes is one vector of all their parts.
 *
 *     load.i4x8 %in[8*t]       ->  %w = load i32, ptr (gep i8, %in, lshr (8*t), 1); lanes trunc (lshr %w, 4*i)
 *     complex.c64.f32(x, y)    ->  <2 x float> (x, y);   re.f32.c64(z)  ->  extractelement z, 0
 */
#include "llvm/inner.h"

static LLVMValueRef number(LLVMTypeRef t, uint64_t n) { return LLVMConstInt(t, n, false); }

/* The LLVM type of an access of this many bits. */
static LLVMTypeRef words(LlBuild *b, uint32_t bits)
{
    if (bits <= 32) return LLVMIntTypeInContext(b->llvm, bits < 8 ? 8 : bits);
    return LLVMVectorType(b->i32, bits / 32);
}

/* The bits of the words from bit `at` on, in the low bits of an integer. */
static LLVMValueRef from_bit(LlBuild *b, LLVMValueRef w, uint32_t at)
{
    LLVMTypeRef type = LLVMTypeOf(w);
    const bool several = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
    if (several) w = LLVMBuildExtractElement(b->builder, w, number(b->i32, at / 32), "");
    if (several) type = b->i32, at %= 32;
    return at ? LLVMBuildLShr(b->builder, w, number(type, at), "") : w;
}

/* The address of the byte in which element `index` begins. */
static LLVMValueRef byte_address(LlBuild *b, LLVMValueRef base, LLVMValueRef index, uint32_t bits)
{
    LLVMTypeRef type = LLVMTypeOf(index);
    LLVMValueRef byte = LLVMBuildLShr(b->builder, index, number(type, bits == 4 ? 1 : 2), "");
    if (type != b->i64) byte = LLVMBuildZExt(b->builder, byte, b->i64, "");
    return LLVMBuildGEP2(b->builder, b->i8, base, &byte, 1, "");
}

LLVMValueRef ll_load_packed(LlBuild *b, LLVMValueRef base, LLVMValueRef index, IrType type, uint32_t align,
                            LLVMValueRef *load)
{
    const uint32_t bits = sc_type_info[IR_SC(type)].bits, lanes = IR_LANES(type);
    LLVMTypeRef one = ll_type(b, type & 63u);
    LLVMValueRef w = LLVMBuildLoad2(b->builder, words(b, bits * lanes), byte_address(b, base, index, bits), "");
    LLVMSetAlignment(w, WBB_MAX(align, (bits * lanes + 7) / 8));
    *load = w;
    if (lanes == 1) {
        LLVMTypeRef type_of_index = LLVMTypeOf(index);
        LLVMValueRef in_byte = LLVMBuildAnd(b->builder, index, number(type_of_index, 8 / bits - 1), "");
        LLVMValueRef narrow = type_of_index == b->i32 ? in_byte : LLVMBuildTrunc(b->builder, in_byte, b->i32, "");
        LLVMValueRef shift = LLVMBuildMul(b->builder, narrow, number(b->i32, bits), "");
        LLVMValueRef whole = LLVMBuildZExt(b->builder, LLVMBuildFreeze(b->builder, w, ""), b->i32, "");
        return LLVMBuildTrunc(b->builder, LLVMBuildLShr(b->builder, whole, shift, ""), one, "");
    }
    LLVMValueRef v = LLVMGetPoison(ll_type(b, type));
    for (uint32_t i = 0; i < lanes; i++) {
        LLVMValueRef lane = LLVMBuildTrunc(b->builder, from_bit(b, w, i * bits), one, "");
        v = LLVMBuildInsertElement(b->builder, v, lane, number(b->i32, i), "");
    }
    return v;
}

LLVMValueRef ll_store_packed(LlBuild *b, LLVMValueRef v, LLVMValueRef base, LLVMValueRef index, IrType type,
                             uint32_t align)
{
    const uint32_t bits = sc_type_info[IR_SC(type)].bits, lanes = IR_LANES(type);
    const uint32_t all = bits * lanes, word = WBB_MIN(all, 32);
    if (all < 8) wbb_fail(b->cx, (WbbLoc){0}, "@%s: a store of %u bits: a thread stores whole bytes", b->k->name, all);
    LLVMTypeRef type_of_word = LLVMIntTypeInContext(b->llvm, word), whole = words(b, all);
    LLVMValueRef out = LLVMGetPoison(whole);
    for (uint32_t first = 0; first < all; first += word) {
        LLVMValueRef w = NULL;
        for (uint32_t at = 0; at < word; at += bits) {
            LLVMValueRef lane = LLVMBuildExtractElement(b->builder, v, number(b->i32, (first + at) / bits), "");
            LLVMValueRef x = LLVMBuildZExt(b->builder, lane, type_of_word, "");
            if (at) x = LLVMBuildShl(b->builder, x, number(type_of_word, at), "");
            w = w ? LLVMBuildOr(b->builder, w, x, "") : x;
        }
        out = all <= 32 ? w : LLVMBuildInsertElement(b->builder, out, w, number(b->i32, first / 32), "");
    }
    LLVMValueRef store = LLVMBuildStore(b->builder, out, byte_address(b, base, index, bits));
    LLVMSetAlignment(store, WBB_MAX(align, all / 8));
    return store;
}

/* Elements first, first + 2, .. of x. */
static LLVMValueRef halves(LlBuild *b, LLVMValueRef x, uint32_t first, uint32_t count)
{
    if (count == 1) return LLVMBuildExtractElement(b->builder, x, number(b->i32, first), "");
    LLVMValueRef *mask = WBB_NEW_N(b->arena, LLVMValueRef, count);
    for (uint32_t i = 0; i < count; i++) mask[i] = number(b->i32, 2 * i + first);
    return LLVMBuildShuffleVector(b->builder, x, LLVMGetPoison(LLVMTypeOf(x)), LLVMConstVector(mask, count), "");
}

LLVMValueRef ll_complex(LlBuild *b, const IrNode *n)
{
    LLVMValueRef x = b->values[n->a[0]];
    const uint32_t lanes = IR_LANES(n->type);
    if (n->op == OP_RE || n->op == OP_IM) return halves(b, x, n->op == OP_IM, lanes);
    LLVMValueRef y = b->values[n->a[1]];
    if (lanes > 1) {
        LLVMValueRef *mask = WBB_NEW_N(b->arena, LLVMValueRef, 2 * lanes);
        for (uint32_t i = 0; i < 2 * lanes; i++) mask[i] = number(b->i32, i / 2 + (i % 2 ? lanes : 0));
        return LLVMBuildShuffleVector(b->builder, x, y, LLVMConstVector(mask, 2 * lanes), "");
    }
    LLVMValueRef z = LLVMBuildInsertElement(b->builder, LLVMGetPoison(ll_type(b, n->type)), x, number(b->i32, 0), "");
    return LLVMBuildInsertElement(b->builder, z, y, number(b->i32, 1), "");
}

LLVMValueRef ll_splat_pairs(LlBuild *b, LLVMValueRef x, uint32_t lanes)
{
    LLVMValueRef *mask = WBB_NEW_N(b->arena, LLVMValueRef, 2 * lanes);
    for (uint32_t i = 0; i < 2 * lanes; i++) mask[i] = number(b->i32, i % 2);
    return LLVMBuildShuffleVector(b->builder, x, LLVMGetPoison(LLVMTypeOf(x)), LLVMConstVector(mask, 2 * lanes), "");
}
