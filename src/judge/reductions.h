/* reductions.h: the reductions of a fusion, and which elements of the inputs are terms of which result. */
#ifndef JUDGE_REDUCTIONS_H
#define JUDGE_REDUCTIONS_H

#include "hlo/hlo.h"

/* An operand of a reduction. */
typedef struct {
    const HloShape *shape;
    uint64_t reduced; /* bit d: its dimension d is reduced */
} JudgeReduced;

typedef struct {
    const HloInstruction *i;
    int64_t terms;   /* of one result */
    ScOp op;         /* OP_NONE: some other computation */
    JudgeReduced operands[2];
    uint32_t n_operands;
    bool *needs;     /* by input: some term depends on it */
} JudgeReduction;

typedef struct {
    const HloComputation *entry;
    HloFusion fusion;
    const HloShape **inputs; /* of the entry, by leaf */
    uint32_t n_inputs;
    JudgeReduction *items;
    uint32_t n, capacity;
} JudgeReductions;

/* Of a module in normal form: reduce, reduce-window, dot, convolution, scatter, .. that some result needs. */
JudgeReductions *judge_reductions(WbbCx *cx, WbbArena *a, const HloModule *normal);
/* Which result of the reduction an element of an input of shape s belongs to, and which of its terms it is. An input of
 * another shape than the operand is cut into rows of as many elements as a result has terms. */
void judge_place_in(const JudgeReduction *t, const HloShape *s, int64_t position, int64_t *result, int64_t *term);
/* Element k of an input in memory, whose bytes are 0: a value; of a complex type its real part. */
void judge_put_element(ScType type, double value, int64_t k, void *out);

#endif
