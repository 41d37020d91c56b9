/* index.c: index arithmetic and addresses.
 *
 * Needs emitted operands; leaves LLVM values of 32 bits, or of 64 where a node carries SC_FLAG_WIDE. A sum adds its
 * terms from outer scopes first, so that LLVM can move partial sums out of loops, and its constant last. In an address
 * the constant is a getelementptr of its own: accesses that differ only in the constant share one register and have
 * immediate offsets.
 *
 *     load %x[1024*bid + 8*tid + 8]:bf16x8        in PTX ld.v4.b32 [%rd+16]
 *     ->  %i = add (mul %bid, 128), %tid; %p = gep [8 x bfloat], %x, zext %i; load (gep bfloat, %p, 8)
 */
#include "ir/facts.h"
#include "llvm/inner.h"

#include <string.h>

/* x in 64 or 32 bits; `low` is the least value that it may have. */
static LLVMValueRef resize(LlBuild *b, LLVMValueRef x, bool wide, WbbI128 low)
{
    LLVMTypeRef to = wide ? b->i64 : b->i32;
    const unsigned have = LLVMGetIntTypeWidth(LLVMTypeOf(x)), want = wide ? 64 : 32;
    if (have == want) return x;
    if (have > want) return LLVMBuildTrunc(b->builder, x, to, "");
    if (low < 0) return LLVMBuildSExt(b->builder, x, to, "");
    return LLVMBuildZExt(b->builder, x, to, "");
}

LLVMValueRef ll_index(LlBuild *b, IrRef r, bool wide)
{
    const IrNode *n = ir_at(b->g, r);
    if (n->op == OP_CONST) return LLVMConstInt(wide ? b->i64 : b->i32, n->imm, true);
    return resize(b, b->values[r], wide, ir_fact(b->g, r).lo);
}

/* The sum of the terms, in the order of ir_next_term. */
static LLVMValueRef add_terms(LlBuild *b, const IrSplit *s, const IrBounds *x, bool wide)
{
    const bool exact = wide || (ir_is_i32(x->low) && ir_is_i32(x->high)), positive = exact && x->low >= 0;
    LLVMTypeRef type = wide ? b->i64 : b->i32;
    LLVMValueRef sum = NULL;
    bool *done = WBB_NEW_N(b->arena, bool, s->n + 1);
    for (uint32_t k = 0; k < s->n; k++) {
        const uint32_t best = ir_next_term(&b->scopes, s, done);
        done[best] = true;
        const int64_t c = s->terms[best].coefficient;
        LLVMValueRef v = ll_index(b, s->terms[best].ref, wide);
        const bool subtract = c < 0 && c != INT64_MIN && sum;
        const int64_t factor = subtract ? -c : c;
        if (factor != 1) {
            v = LLVMBuildMul(b->builder, v, LLVMConstInt(type, (uint64_t)factor, true), "");
            if (LLVMIsABinaryOperator(v)) { /* what is subtracted is the term with the other sign */
                LLVMSetNSW(v, exact && (!subtract || ir_is_i32(-x->low)));
                LLVMSetNUW(v, positive && !subtract);
            }
        }
        if (!sum) {
            sum = v;
            continue;
        }
        sum = subtract ? LLVMBuildSub(b->builder, sum, v, "") : LLVMBuildAdd(b->builder, sum, v, "");
        if (LLVMIsABinaryOperator(sum)) {
            LLVMSetNSW(sum, exact);
            LLVMSetNUW(sum, positive && !subtract);
        }
    }
    return sum ? sum : LLVMConstInt(type, 0, false);
}

static LLVMValueRef sum(LlBuild *b, IrRef r)
{
    IrSplit s;
    ir_split(&s, b->g, r);
    const IrBounds x = ir_bounds_of(b->g, &s);
    const bool result_wide = ir_is_wide(b->g, r), wide = result_wide || !x.narrow_factors;
    LLVMValueRef v = add_terms(b, &s, &x, wide);
    if (s.constant) {
        v = LLVMBuildAdd(b->builder, v, LLVMConstInt(wide ? b->i64 : b->i32, (uint64_t)s.constant, true), "");
        const bool exact = wide || (ir_is_i32(x.low) && ir_is_i32(x.high));
        if (LLVMIsABinaryOperator(v)) LLVMSetNSW(v, exact);
    }
    return resize(b, v, result_wide, 0);
}

/* The remainder of a quotient by k, of another quotient: LLVM makes one division of x / k, too, and would not see that
 * the remainder has the same one. NULL: x is no quotient (ir_digit_of_quotient). */
static LLVMValueRef digit_of_quotient(LlBuild *b, IrRef x, uint64_t k, LLVMValueRef p, bool wide)
{
    uint64_t divisor;
    const IrRef y = ir_digit_of_quotient(b->g, x, k, wide, &divisor);
    if (!y) return NULL;
    LLVMTypeRef type = LLVMTypeOf(p);
    LLVMValueRef whole = LLVMBuildUDiv(b->builder, ll_index(b, y, wide), LLVMConstInt(type, divisor, false), "");
    LLVMValueRef v = LLVMBuildMul(b->builder, whole, LLVMConstInt(type, k, false), "");
    return LLVMBuildSub(b->builder, p, v, "");
}

/* The floor of x / d, or the remainder; d > 0. */
static LLVMValueRef divide(LlBuild *b, IrRef r, bool remainder)
{
    const IrNode *n = ir_at(b->g, r);
    const IrRef x = n->a[0], d = n->a[1];
    const bool result_wide = ir_is_wide(b->g, r), wide = result_wide || ir_is_wide(b->g, x) || ir_is_wide(b->g, d);
    LLVMValueRef p = ll_index(b, x, wide), q = ll_index(b, d, wide), v;
    LLVMBuilderRef at = b->builder;
    const uint64_t k = ir_is_const(b->g, d) ? ir_at(b->g, d)->imm : 0;
    LLVMTypeRef type = LLVMTypeOf(p);
    LLVMValueRef digit = remainder ? digit_of_quotient(b, x, k, p, wide) : NULL;
    if (digit) {
        v = digit;
    } else if (ir_fact(b->g, x).lo >= 0) {
        v = remainder ? LLVMBuildURem(at, p, q, "") : LLVMBuildUDiv(at, p, q, "");
    } else if (k && (k & (k - 1)) == 0) {
        v = remainder ? LLVMBuildAnd(at, p, LLVMConstInt(type, k - 1, false), "")
                      : LLVMBuildAShr(at, p, LLVMConstInt(type, (unsigned)__builtin_ctzll(k), false), "");
    } else {
        LLVMValueRef rem = LLVMBuildSRem(at, p, q, "");
        LLVMValueRef negative = LLVMBuildICmp(at, LLVMIntSLT, rem, LLVMConstNull(type), "");
        v = remainder ? LLVMBuildSelect(at, negative, LLVMBuildAdd(at, rem, q, ""), rem, "")
                      : LLVMBuildAdd(at, LLVMBuildSDiv(at, p, q, ""), LLVMBuildSExt(at, negative, type, ""), "");
    }
    return resize(b, v, result_wide, 0);
}

static LLVMValueRef min_or_max(LlBuild *b, IrRef r, const char *name)
{
    const IrNode *n = ir_at(b->g, r);
    const bool result_wide = ir_is_wide(b->g, r);
    const bool wide = result_wide || ir_is_wide(b->g, n->a[0]) || ir_is_wide(b->g, n->a[1]);
    LLVMValueRef args[2] = {ll_index(b, n->a[0], wide), ll_index(b, n->a[1], wide)};
    LLVMTypeRef over = LLVMTypeOf(args[0]), type;
    LLVMValueRef f = ll_function(b, ll_intrinsic(name, strlen(name)), &over, 1, &type);
    return resize(b, LLVMBuildCall2(b->builder, type, f, args, 2, ""), result_wide, 0);
}

LLVMValueRef ll_index_node(LlBuild *b, IrRef r)
{
    switch ((ScOp)ir_at(b->g, r)->op) {
    case OP_SUM: return sum(b, r);
    case OP_FLOORDIV: return divide(b, r, false);
    case OP_MOD: return divide(b, r, true);
    case OP_MAX: return min_or_max(b, r, "llvm.smax");
    case OP_MIN: return min_or_max(b, r, "llvm.smin");
    default: return NULL;
    }
}

LLVMValueRef ll_index_compare(LlBuild *b, IrRef r)
{
    const IrNode *n = ir_at(b->g, r);
    LLVMIntPredicate predicate;
    switch ((ScOp)n->op) {
    case OP_EQ: predicate = LLVMIntEQ; break;
    case OP_NE: predicate = LLVMIntNE; break;
    case OP_LT: predicate = LLVMIntSLT; break;
    case OP_LE: predicate = LLVMIntSLE; break;
    case OP_GT: predicate = LLVMIntSGT; break;
    case OP_GE: predicate = LLVMIntSGE; break;
    default: return NULL;
    }
    if (IR_SC(ir_at(b->g, n->a[0])->type) != SC_INDEX) return NULL;
    const bool wide = ir_is_wide(b->g, n->a[0]) || ir_is_wide(b->g, n->a[1]);
    return LLVMBuildICmp(b->builder, predicate, ll_index(b, n->a[0], wide), ll_index(b, n->a[1], wide), "");
}

LLVMValueRef ll_index_cast(LlBuild *b, IrRef r)
{
    const IrNode *n = ir_at(b->g, r);
    LLVMTypeRef to = ll_type(b, n->type);
    const unsigned want = LLVMGetIntTypeWidth(to);
    LLVMValueRef x = ll_index(b, n->a[0], ir_is_wide(b->g, n->a[0]) || (want == 64 && ir_is_const(b->g, n->a[0])));
    const unsigned have = LLVMGetIntTypeWidth(LLVMTypeOf(x));
    if (have == want) return x;
    if (have > want) return LLVMBuildTrunc(b->builder, x, to, "");
    return ir_fact(b->g, n->a[0]).lo >= 0 ? LLVMBuildZExt(b->builder, x, to, "") : LLVMBuildSExt(b->builder, x, to, "");
}

/* The address `by` elements after `from`; inside: both are in one object or at its end. */
static LLVMValueRef offset(LlBuild *b, LLVMTypeRef element, LLVMValueRef from, LLVMValueRef by, bool inside)
{
    return inside ? LLVMBuildInBoundsGEP2(b->builder, element, from, &by, 1, "")
                  : LLVMBuildGEP2(b->builder, element, from, &by, 1, "");
}

/* What was made of these terms, added to `base` in units of `element` if there is one, earlier in the block that is
 * being built; NULL: nothing was. Later code of the block may use it: code is only added to the block's end. */
static LLVMValueRef *made_earlier(LlBuild *b, const IrSplit *s, LLVMValueRef base, LLVMTypeRef element)
{
    const uint32_t n = 3 + 3 * s->n;
    uint64_t *key = WBB_NEW_N(b->arena, uint64_t, n), *at = key;
    *at++ = (uintptr_t)LLVMGetInsertBlock(b->builder);
    *at++ = (uintptr_t)base;
    *at++ = (uintptr_t)element;
    for (uint32_t i = 0; i < s->n; i++) {
        *at++ = (uint64_t)s->terms[i].coefficient;
        *at++ = s->terms[i].ref;
        *at++ = (uintptr_t)b->values[s->terms[i].ref];
    }
    WbbEntry *e = wbb_map_put_bytes(&b->offsets, key, n * sizeof *key);
    if (!e->pointer) e->pointer = WBB_NEW(b->arena, LLVMValueRef);
    return e->pointer;
}

/* The terms' sum in 64 bits. */
static LLVMValueRef wide_sum(LlBuild *b, const IrSplit *s)
{
    LLVMValueRef *made = made_earlier(b, s, NULL, NULL);
    if (*made) return *made;
    const IrBounds x = ir_bounds_of(b->g, s);
    const bool wide = !x.narrow_factors || !ir_is_i32(x.first) || !ir_is_i32(x.last);
    const bool one = s->n == 1 && s->terms[0].coefficient == 1;
    const IrRef first = s->terms[0].ref;
    LLVMValueRef v = one ? ll_index(b, first, ir_is_wide(b->g, first)) : add_terms(b, s, &x, wide);
    return *made = resize(b, v, true, x.first);
}

/* base + terms, in units of their common factor, which becomes part of the element size of a getelementptr, which
 * multiplies anyway: the quotients are small, so they stay in 32 bits, and accesses to
 * other types share them. */
static LLVMValueRef offset_terms(LlBuild *b, LLVMTypeRef element, LLVMValueRef base, const IrSplit *s, bool inside)
{
    const int64_t factor = ir_common_factor(s);
    IrTerm *terms = WBB_NEW_N(b->arena, IrTerm, s->n);
    for (uint32_t i = 0; i < s->n; i++) terms[i] = (IrTerm){s->terms[i].coefficient / factor, s->terms[i].ref};
    const IrSplit small = {.terms = terms, .n = s->n};
    LLVMTypeRef unit = factor == 1 ? element : LLVMArrayType2(element, (uint64_t)factor);
    LLVMValueRef *made = made_earlier(b, &small, base, unit);
    if (!*made) *made = offset(b, unit, base, wide_sum(b, &small), inside);
    return *made;
}

static bool is_there(const void *of, IrRef r) { return ir_is_made(&((const LlBuild *)of)->demand, r); }

LLVMValueRef ll_address(LlBuild *b, uint32_t buffer, IrRef index)
{
    LLVMTypeRef element = ll_memory_type(b, IR_TYPE(b->k->buffers[buffer].type, 0));
    LLVMValueRef p = b->pointers[buffer];
    const IrSplit s = ir_expanded(b->arena, b->g, index, is_there, b);
    bool inside = true; /* p points into the buffer or to its end */
    if (s.n > 0) {
        const IrBounds x = ir_bounds_of(b->g, &s);
        inside = x.first >= 0 && x.last <= b->k->buffers[buffer].elements;
        p = offset_terms(b, element, p, &s, inside);
    }
    if (s.constant) p = offset(b, element, p, LLVMConstInt(b->i64, (uint64_t)s.constant, true), inside);
    return p;
}
