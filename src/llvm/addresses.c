/* addresses.c: addresses from one pointer count elements of one type.
 *
 * Needs an optimised module; leaves one in which no address is computed in units of an array where others from the same
 * pointer are not. instcombine turns x[14*i] into element i of an array of [14 x float]. LLVM's load-store-vectorizer
 * compares the operands of two addresses and not the types that they count: where i has a known interval, it takes
 * x[14*i] and x[i] for one address, and one of the loads for both (LLVM 22.1).
 *
 *     getelementptr [14 x float], ptr %x, i64 %i  =>  getelementptr float, ptr %x, i64 (mul %i, 14)
 *         where there is a getelementptr float, ptr %x, ..
 */
#include "llvm/inner.h"

/* Do addresses from this pointer, constant ones apart, count elements of several types? */
static bool counts_several(WbbMap *known, LLVMValueRef pointer)
{
    WbbEntry *e = wbb_map_put(known, (uint64_t)(uintptr_t)pointer);
    LLVMTypeRef type = NULL;
    bool several = false;
    for (LLVMUseRef u = e->value ? NULL : LLVMGetFirstUse(pointer); u && !several; u = LLVMGetNextUse(u)) {
        LLVMValueRef i = LLVMGetUser(u);
        if (!LLVMIsAGetElementPtrInst(i) || LLVMGetOperand(i, 0) != pointer) continue;
        if (LLVMIsConstant(LLVMGetOperand(i, (unsigned)LLVMGetNumOperands(i) - 1))) continue;
        several = type && type != LLVMGetGEPSourceElementType(i);
        type = LLVMGetGEPSourceElementType(i);
    }
    if (!e->value) e->value = several ? 2 : 1;
    return e->value == 2;
}

/* The address in units of the elements of its arrays. */
static LLVMValueRef by_element(LlBuild *b, LLVMValueRef address)
{
    uint64_t n = 1;
    LLVMTypeRef type = LLVMGetGEPSourceElementType(address);
    for (; LLVMGetTypeKind(type) == LLVMArrayTypeKind; type = LLVMGetElementType(type)) n *= LLVMGetArrayLength2(type);
    const LLVMGEPNoWrapFlags flags = LLVMGEPGetNoWrapFlags(address);
    LLVMValueRef index = LLVMGetOperand(address, 1);
    LLVMPositionBuilderBefore(b->builder, address);
    LLVMValueRef m = LLVMBuildMul(b->builder, index, LLVMConstInt(LLVMTypeOf(index), n, false), "");
    if (LLVMIsAInstruction(m)) {
        LLVMSetNUW(m, (flags & LLVMGEPFlagNUW) != 0);
        LLVMSetNSW(m, (flags & LLVMGEPFlagNUSW) != 0);
    }
    return LLVMBuildGEPWithNoWrapFlags(b->builder, type, LLVMGetOperand(address, 0), &m, 1, "", flags);
}

static bool counts_arrays(LLVMValueRef i)
{
    return LLVMIsAGetElementPtrInst(i) && LLVMGetNumOperands(i) == 2 &&
           LLVMGetTypeKind(LLVMGetGEPSourceElementType(i)) == LLVMArrayTypeKind;
}

void ll_plain_addresses(LlBuild *b)
{
    WbbMap known = {.arena = b->arena};
    for (LLVMValueRef f = LLVMGetFirstFunction(b->module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block; block = LLVMGetNextBasicBlock(block))
            for (LLVMValueRef next, i = LLVMGetFirstInstruction(block); i; i = next) {
                next = LLVMGetNextInstruction(i);
                if (!counts_arrays(i) || !counts_several(&known, LLVMGetOperand(i, 0))) continue;
                LLVMReplaceAllUsesWith(i, by_element(b, i));
                LLVMInstructionEraseFromParent(i);
            }
}
