/* partition: decisions, with no code made: which emitter, what it iterates over, how much a thread does, how many threads there
 * are. Every number carries its reason, for --explain. What no emitter handles is declined here, with a reason.
 *
 *     PartPlan plan = part_plan(cx, arena, &fusion, target, (PartOptions){.align = 16});
 *     plan.unroll = 8, plan.why_unroll = "16-byte accesses"
 */
#ifndef PART_PARTITION_H
#define PART_PARTITION_H

#include "base/base.h"
#include "hlo/hlo.h"
#include "target/target.h"

typedef enum { PART_LOOP } PartKind; /* one thread for `unroll` elements of every output, no communication */

typedef struct {
    uint32_t align; /* of the first byte of every buffer; 0: 16 */
} PartOptions;

typedef struct {
    const char *name; /* letters, digits, '_', '.', '-'; unique in the plan */
    const HloShape *shape;
    int64_t elements;
    bool output;
} PartBuffer;

/* The iteration space is 0..elements, an element's number in the memory of output 0; the element of that number of every output is
 * made by the same thread. Thread j < vectors has elements unroll*j .. unroll*j + unroll - 1; the tail, elements % unroll, has a
 * thread each after those. */
typedef struct {
    PartKind kind;
    const HloFusion *fusion;
    PartBuffer *buffers; /* operands, then outputs */
    uint32_t n_operands, n_outputs, align;
    const HloInstruction **roots; /* [n_outputs] whose value each output is */
    int64_t elements, vectors, tail;
    uint32_t unroll, block, grid; /* grid 0: there is nothing to do */
    bool exact;                   /* block * grid threads are vectors, and no tail: no bounds check */
    const char *why_kind, *why_unroll, *why_block, *why_grid;
} PartPlan;

/* select.c: what the loop emitter handles. Declines everything else at the instruction that is at fault. */
void part_check(WbbCx *cx, const HloComputation *body);
/* The instruction whose value this is: an element of a tuple that was just made is what was put in. */
const HloInstruction *part_value(WbbCx *cx, const HloInstruction *i);
enum { PART_DENSE_LIMIT = 64 }; /* elements of a constant that becomes a chain of selects */

/* decline.c: the reason why no emitter takes an operation, and what was seen of it. */
void part_decline(WbbCx *cx, const HloInstruction *i) WBB_NORETURN;

/* plan.c: fusion and target live as long as the plan. */
PartPlan part_plan(WbbCx *cx, WbbArena *a, const HloFusion *fusion, const TgTarget *target, PartOptions options);
void part_print(WbbBuf *out, const PartPlan *plan); /* for --emit plan and --explain */

#endif
