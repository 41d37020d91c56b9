/* zeros.c: a select that LLVM would take for a minimum or maximum keeps the signs of its zeros.
 *
 * Needs an optimised module. LLVM's code generator turns `x < c ? x : c` into min where c is a constant, c = 0
 * included (LLVM 22.1). But where x is -0 the select gives +0, and the machine's min -0. It leaves comparisons with a
 * zero of the other sign alone, which have the same results:
 *
 *     fcmp olt x, 0.0; select x, 0.0    =>  fcmp olt x, -0.0; select x, 0.0
 *     fcmp ogt x, -0.0; select x, -0.0  =>  fcmp ogt x, 0.0; select x, -0.0
 *     fcmp ogt x, 0.0; select x, 0.0        stays: it is max, as +0 is above -0
 */
#include "llvm/inner.h"

/* The elements of a constant: itself, or those of a vector. */
static unsigned elements(LLVMValueRef c)
{
    LLVMTypeRef type = LLVMTypeOf(c);
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetVectorSize(type) : 0;
}

static bool is_zero(LLVMValueRef c, bool negative)
{
    LLVMBool loses = false;
    if (!LLVMIsAConstantFP(c)) return false;
    const double x = LLVMConstRealGetDouble(c, &loses);
    return x == 0 && (bool)__builtin_signbit(x) == negative;
}

/* Has the constant a zero of this sign? */
static bool has_zero(LLVMValueRef c, bool negative)
{
    const unsigned n = elements(c);
    if (!LLVMIsConstant(c)) return false;
    for (unsigned i = 0; i < n; i++)
        if (is_zero(LLVMGetAggregateElement(c, i), negative)) return true;
    return !n && is_zero(c, negative);
}

/* The constant with the other sign at each zero. */
static LLVMValueRef other_zeros(LlBuild *b, LLVMValueRef c)
{
    const unsigned n = elements(c);
    if (!n) {
        const bool negative = is_zero(c, true);
        return negative || is_zero(c, false) ? LLVMConstReal(LLVMTypeOf(c), negative ? 0.0 : -0.0) : c;
    }
    LLVMValueRef *x = WBB_NEW_N(b->arena, LLVMValueRef, n);
    for (unsigned i = 0; i < n; i++) x[i] = other_zeros(b, LLVMGetAggregateElement(c, i));
    return LLVMConstVector(x, n);
}

/* The operand of the comparison that is a zero, where a minimum or maximum would give the other one; -1: none. */
static int wrong_zero(LLVMValueRef select, LLVMValueRef test)
{
    const LLVMRealPredicate p = LLVMGetFCmpPredicate(test);
    const bool greater = p == LLVMRealOGT || p == LLVMRealUGT, less = p == LLVMRealOLT || p == LLVMRealULT;
    LLVMValueRef x[2] = {LLVMGetOperand(test, 0), LLVMGetOperand(test, 1)};
    LLVMValueRef yes = LLVMGetOperand(select, 1), no = LLVMGetOperand(select, 2);
    const bool straight = yes == x[0] && no == x[1], crossed = yes == x[1] && no == x[0];
    if ((!greater && !less) || (!straight && !crossed)) return -1;
    const bool is_max = greater == straight; /* of equal operands the select is `no` */
    const bool wrong = has_zero(no, is_max) || has_zero(yes, !is_max);
    return !wrong ? -1 : LLVMIsConstant(x[0]) ? 0 : 1;
}

void ll_keep_zeros(LlBuild *b)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(b->module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block; block = LLVMGetNextBasicBlock(block))
            for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
                LLVMValueRef test = LLVMIsASelectInst(i) ? LLVMIsAFCmpInst(LLVMGetOperand(i, 0)) : NULL;
                const int k = test ? wrong_zero(i, test) : -1;
                if (k >= 0) LLVMSetOperand(test, (unsigned)k, other_zeros(b, LLVMGetOperand(test, (unsigned)k)));
            }
}
