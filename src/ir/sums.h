/* sums.h: indices as sums of terms, for the modules that write code of a selected kernel. */
#ifndef IR_SUMS_H
#define IR_SUMS_H

#include "ir/facts.h"
#include "ir/placement.h"

/* An index as constant + terms: a node that is neither a sum nor a constant is one term, `one`, to which `terms` may
 * point. */
typedef struct {
    const IrTerm *terms;
    uint32_t n;
    int64_t constant;
    IrTerm one;
} IrSplit;
void ir_split(IrSplit *s, const IrGraph *g, IrRef r);

typedef struct {
    WbbI128 low, high;   /* bounds of every partial sum of the terms, in any order */
    WbbI128 first, last; /* bounds of the sum of the terms */
    bool narrow_factors; /* every coefficient fits 32 bits */
} IrBounds;
IrBounds ir_bounds_of(IrGraph *g, const IrSplit *s);
/* Of an index, with variables that are defined as a multiple of one index and a constant replaced by that: accesses
 * whose addresses differ by a constant then have the same terms. is_there: may a node be used? NULL: any may. */
typedef bool IrIsThere(const void *of, IrRef r);
IrSplit ir_expanded(WbbArena *a, IrGraph *g, IrRef index, IrIsThere *is_there, const void *of);
/* The term to add next: of those that are left, one of the outermost scope, of these a positive one if there is one. */
uint32_t ir_next_term(const IrPlacement *p, const IrSplit *s, const bool *done);
/* The greatest common factor of the coefficients; 1 where there is none that fits 32 bits. */
int64_t ir_common_factor(const IrSplit *s);

/* The remainder of x = y / c by k is x - k * (y / (c * k)), whose quotient mostly is another digit of y. Returns y, and
 * c * k; 0: x is no such quotient, or k is a power of two. */
IrRef ir_digit_of_quotient(IrGraph *g, IrRef x, uint64_t k, bool wide, uint64_t *divisor);

static inline bool ir_is_i32(WbbI128 x) { return x >= INT32_MIN && x <= INT32_MAX; }
bool ir_is_wide(const IrGraph *g, IrRef r); /* an index that is computed in 64 bits */
static inline bool ir_is_wide_var(const IrVar *v) { return v->lo < INT32_MIN || v->hi > INT32_MAX; }

#endif
