/* type.c: LLVM types, constants and declarations.
 *
 * Needs an open module; leaves LLVM types and values. A value of type pred is i1, in memory a byte. Index values are
 * i32 or i64 (index.c). Floats of 8 bits and fewer are integers: rules compute with their bits. forms.c accesses
 * elements narrower than a byte and complex elements.
 *
 *     bf16x8 -> <8 x bfloat>; pred in memory -> i8; ll_const(bf16x2, 0x3f80) -> <2 x bfloat> splat (1.0)
 */
#include "llvm/inner.h"

#include <string.h>

uint32_t ll_parts(IrType t) { return sc_type_info[IR_SC(t)].cls == 'C' ? 2 : 1; }

static LLVMTypeRef scalar(LlBuild *b, ScType t)
{
    switch (t) {
    case SC_PRED: return b->i1;
    case SC_F16: return LLVMHalfTypeInContext(b->llvm);
    case SC_BF16: return LLVMBFloatTypeInContext(b->llvm);
    case SC_F32: return LLVMFloatTypeInContext(b->llvm);
    case SC_F64: return LLVMDoubleTypeInContext(b->llvm);
    case SC_INDEX: return b->i32;
    default: break;
    }
    const uint16_t bits = sc_type_info[t].bits;
    if (bits < 1 || bits > 64)
        wbb_decline(b->cx, (WbbLoc){0}, WHY_TYPE, "@%s: values of type %s", b->k->name, sc_type_info[t].name);
    return LLVMIntTypeInContext(b->llvm, bits);
}

LLVMTypeRef ll_type(LlBuild *b, IrType type)
{
    if (ll_parts(type) == 2) {
        LLVMTypeRef part = scalar(b, IR_SC(type) == SC_C64 ? SC_F32 : SC_F64);
        return LLVMVectorType(part, 2 * IR_LANES(type));
    }
    LLVMTypeRef t = scalar(b, IR_SC(type));
    return IR_LANES(type) == 1 ? t : LLVMVectorType(t, IR_LANES(type));
}

LLVMTypeRef ll_memory_type(LlBuild *b, IrType type)
{
    if (ll_parts(type) == 2) return ll_type(b, type);
    LLVMTypeRef t = IR_SC(type) == SC_PRED || ir_is_packed(IR_SC(type)) ? b->i8 : scalar(b, IR_SC(type));
    return IR_LANES(type) == 1 ? t : LLVMVectorType(t, IR_LANES(type));
}

LLVMValueRef ll_splat(LlBuild *b, LLVMValueRef x, uint32_t lanes)
{
    LLVMTypeRef vector = LLVMVectorType(LLVMTypeOf(x), lanes);
    LLVMValueRef zeros = LLVMConstNull(LLVMVectorType(b->i32, lanes)), poison = LLVMGetPoison(vector);
    LLVMValueRef first = LLVMBuildInsertElement(b->builder, poison, x, LLVMConstInt(b->i32, 0, false), "");
    return LLVMBuildShuffleVector(b->builder, first, poison, zeros, "");
}

LLVMValueRef ll_const(LlBuild *b, IrType type, uint64_t bits)
{
    LLVMTypeRef t = scalar(b, IR_SC(type));
    const bool is_float = sc_is_float(IR_SC(type)) && LLVMGetTypeKind(t) != LLVMIntegerTypeKind;
    LLVMValueRef one = is_float ? LLVMConstFPFromBits(t, &bits) : LLVMConstInt(t, bits, false);
    const uint32_t lanes = IR_LANES(type);
    if (lanes == 1) return one;
    LLVMValueRef *all = WBB_NEW_N(b->arena, LLVMValueRef, lanes);
    for (uint32_t i = 0; i < lanes; i++) all[i] = one;
    return LLVMConstVector(all, lanes);
}

/* The declaration of an intrinsic, overloaded by `types`. */
LLVMValueRef ll_function(LlBuild *b, const LlIntrinsic *in, LLVMTypeRef *types, size_t n, LLVMTypeRef *type)
{
    const unsigned id = LLVMLookupIntrinsicID(in->name, strlen(in->name));
    *type = LLVMIntrinsicGetType(b->llvm, id, types, n);
    return LLVMGetIntrinsicDeclaration(b->module, id, types, n);
}

LLVMAttributeRef ll_attribute(LlBuild *b, const char *name, uint64_t value)
{
    const unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    assert(kind && "an attribute that this LLVM does not know");
    return LLVMCreateEnumAttribute(b->llvm, kind, value);
}

void ll_take_text(LlBuild *b, char *text, const char **out, size_t *n)
{
    b->text = text; /* if the arena's allocation fails, the end of the compile disposes of it */
    const size_t length = strlen(text);
    char *copy = wbb_alloc(b->arena, length + 1);
    memcpy(copy, text, length + 1);
    *out = copy;
    if (n) *n = length;
    b->text = NULL;
    LLVMDisposeMessage(text);
}
