/* maxima.c: a maximum of three operands stays two of two, where it is no cheaper.
 *
 * Needs an optimised module. LLVM's code generator makes one instruction of a maximum of a maximum where PTX has it
 * (8.8, from sm_100 on; LLVM 22.1). For sm_120 ptxas makes two of that one, and since 13.1 four. A fence, which is no
 * instruction, keeps both apart:
 *
 *     %m = maximum(%a, %b); %n = maximum(%m, %c)    =>  %f = fence(%m); %n = maximum(%f, %c)
 */
#include "llvm/inner.h"

#include <string.h>

static const char *const maxima[] = {"llvm.maximum", "llvm.minimum", "llvm.maxnum", "llvm.minnum",
                                     "llvm.maximumnum", "llvm.minimumnum"};

/* Its number as an intrinsic, if it is one of these for f32; else 0. */
static unsigned maximum_of(LlBuild *b, LLVMValueRef x)
{
    if (!LLVMIsACallInst(x) || LLVMTypeOf(x) != LLVMFloatTypeInContext(LLVMGetModuleContext(b->module))) return 0;
    LLVMValueRef called = LLVMIsAFunction(LLVMGetCalledValue(x)); /* NULL: inline assembly */
    const unsigned id = called ? LLVMGetIntrinsicID(called) : 0;
    for (size_t k = 0; id && k < WBB_LEN(maxima); k++)
        if (id == LLVMLookupIntrinsicID(maxima[k], strlen(maxima[k]))) return id;
    return 0;
}

static bool three_is_cheaper(const TgTarget *t)
{
    static const char two[] = "max.NaN.f32", three[] = "max.NaN.f32 3";
    const TgPrice *of_two = tg_price(t, two, strlen(two)), *of_three = tg_price(t, three, strlen(three));
    return !of_two || !of_three || of_three->issue < 2 * of_two->issue;
}

void ll_keep_maxima(LlBuild *b)
{
    if (three_is_cheaper(b->t)) return;
    static const char name[] = "llvm.arithmetic.fence";
    LLVMTypeRef type = LLVMFloatTypeInContext(LLVMGetModuleContext(b->module));
    const unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMTypeRef of = LLVMIntrinsicGetType(LLVMGetModuleContext(b->module), id, &type, 1);
    for (LLVMValueRef f = LLVMGetFirstFunction(b->module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block; block = LLVMGetNextBasicBlock(block))
            for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
                const unsigned outer = maximum_of(b, i);
                for (unsigned k = 0; outer && k < 2; k++) {
                    LLVMValueRef inner = LLVMGetOperand(i, k);
                    if (maximum_of(b, inner) != outer) continue;
                    LLVMPositionBuilderBefore(b->builder, i);
                    LLVMValueRef fence = LLVMGetIntrinsicDeclaration(b->module, id, &type, 1);
                    LLVMSetOperand(i, k, LLVMBuildCall2(b->builder, of, fence, &inner, 1, ""));
                }
            }
}
