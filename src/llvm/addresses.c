/* addresses.c: addresses from one pointer that count by the same number count elements of one type.
 *
 * Needs an optimised module; leaves one in which no address is computed in units of an array where another from the
 * same pointer is not, by a number that it shares a term with. instcombine turns x[14*i] into element i of an array of
 * [14 x float]. LLVM's load-store-vectorizer compares the operands of two addresses and not the types that they count:
 * where i has a known interval, it takes x[14*i] and x[i] for one address, and one of the loads for both (LLVM 22.1).
 *
 *     getelementptr [14 x float], ptr %x, i64 %i  =>  getelementptr float, ptr %x, i64 (mul %i, 14)
 *         where there is a getelementptr float, ptr %x, i64 %i
 */
#include "llvm/inner.h"

/* A number and what it is the sum of, as far as the vectorizer looks; constants are none of them. */
static uint32_t terms(LLVMValueRef v, LLVMValueRef out[3])
{
    uint32_t n = 0;
    if (LLVMIsAZExtInst(v) || LLVMIsASExtInst(v)) v = LLVMGetOperand(v, 0);
    if (!LLVMIsConstant(v)) out[n++] = v;
    for (unsigned k = 0; LLVMIsABinaryOperator(v) && k < 2; k++) {
        LLVMValueRef o = LLVMGetOperand(v, k);
        if (LLVMIsAZExtInst(o) || LLVMIsASExtInst(o)) o = LLVMGetOperand(o, 0);
        if (!LLVMIsConstant(o)) out[n++] = o;
    }
    return n;
}

static LLVMValueRef last_operand(LLVMValueRef address)
{
    return LLVMGetOperand(address, (unsigned)LLVMGetNumOperands(address) - 1);
}

/* Is there an address from the same pointer that counts another type by a number that has to do with this one's? */
static bool is_taken_for_another(LLVMValueRef address)
{
    LLVMValueRef mine[3], theirs[3], pointer = LLVMGetOperand(address, 0);
    LLVMTypeRef type = LLVMGetGEPSourceElementType(address);
    const uint32_t n = terms(last_operand(address), mine);
    for (LLVMUseRef u = LLVMGetFirstUse(pointer); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef i = LLVMGetUser(u);
        if (!LLVMIsAGetElementPtrInst(i) || LLVMGetOperand(i, 0) != pointer) continue;
        if (LLVMGetGEPSourceElementType(i) == type) continue;
        const uint32_t m = terms(last_operand(i), theirs);
        for (uint32_t j = 0; j < n; j++)
            for (uint32_t k = 0; k < m; k++)
                if (mine[j] == theirs[k]) return true;
    }
    return false;
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
    for (LLVMValueRef f = LLVMGetFirstFunction(b->module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block; block = LLVMGetNextBasicBlock(block))
            for (LLVMValueRef next, i = LLVMGetFirstInstruction(block); i; i = next) {
                next = LLVMGetNextInstruction(i);
                if (!counts_arrays(i) || !is_taken_for_another(i)) continue;
                LLVMReplaceAllUsesWith(i, by_element(b, i));
                LLVMInstructionEraseFromParent(i);
            }
}
