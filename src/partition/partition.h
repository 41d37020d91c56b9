/* partition: the plan of a kernel: what it iterates over, how much a thread does, how many threads there are. No code
 * is made. Every number carries its reason, for --explain. A fusion that no emitter handles is declined here, with a
 * reason.
 *
 *     PartPlan plan = part_plan(cx, arena, &fusion, target, (PartOptions){.align = 16});
 *     plan.ranges[0].unroll == 8, .why_unroll == "16-byte accesses"
 */
#ifndef PART_PARTITION_H
#define PART_PARTITION_H

#include "base/base.h"
#include "hlo/hlo.h"
#include "target/target.h"

typedef struct {
    uint32_t align; /* of the first byte of every buffer; 0: 16 */
} PartOptions;

/* A value of one array: an instruction's result, or leaf `part` of it, depth first, where that is a tuple. */
typedef struct {
    const HloInstruction *i;
    uint32_t part;
} PartValue;

typedef struct {
    const char *name; /* letters, digits, '_', '.', '-'; unique in the plan */
    const HloShape *shape;
    int64_t elements;
    bool output;
    int32_t alias;    /* of an output in place: the operand whose memory it has; -1: memory of its own */
} PartBuffer;

typedef enum {
    PART_LOOP,        /* every element of the outputs, in the order of output `outputs[0]` */
    /* of one output, what some operands of a concatenate give: for each of starts the elements whose index in
     * dimension `dim` is in start .. start + size of space */
    PART_CONCATENATE,
    PART_UPDATE,      /* the elements that a dynamic-update-slice replaces, in place */
} PartKind;

/* A launch range: blocks first_block .. first_block + blocks - 1 compute these outputs. The iteration space is 0 ..
 * elements: the number of an element in `space`, in memory order. Vector j < vectors of the range is elements
 * unroll*j .. unroll*j + unroll - 1. Thread t of block b of the range has vectors (b*coarsening + c)*block + t, c <
 * coarsening. The last elements % unroll elements, the tail, have threads of their own after those, each with
 * `packed_group` elements. */
typedef struct {
    PartKind kind;
    uint32_t *outputs, n_outputs;
    const HloShape *space;
    uint32_t dim;                 /* PART_CONCATENATE */
    /* [n_starts] of operands of one shape: a thread computes the same element of each, and once what they share */
    int64_t *starts;
    uint32_t n_starts;
    const HloInstruction *update; /* PART_UPDATE */
    int64_t elements, vectors, tail; /* tail: threads */
    /* elements that share a byte of an output, so that one thread must have them; 1 for types of 8 bits and more */
    uint32_t packed_group;
    uint32_t unroll, first_block, blocks;
    /* vectors of a thread, `block` vectors apart, so that neighbouring threads access neighbouring vectors */
    uint32_t coarsening;
    bool exact;                   /* block * blocks * coarsening is vectors, and there is no tail: no bounds check */
    const char *why_unroll, *why_coarsening;
} PartRange;

typedef struct {
    const char *kind; /* "loop", "concatenate", "dynamic-update-slice", "slices", "copy" */
    const HloFusion *fusion;
    PartBuffer *buffers; /* operands, a leaf each, then outputs */
    uint32_t *first_leaf; /* [parameters] the buffer of its first leaf */
    uint32_t n_operands, n_outputs, align;
    PartValue *roots;    /* [n_outputs] the value of each output */
    PartRange *ranges;
    uint32_t n_ranges;
    uint32_t block, grid;  /* grid 0: no elements, no launch */
    /* Limits of the code of one element, from TUNE: */
    uint32_t inline_limit;  /* a value read at several indices that takes more nodes becomes a function, .. */
    uint32_t inline_budget; /* .. and one of fewer nodes, too, once the kernel has as many nodes as this .. */
    uint32_t call_nodes;    /* .. and the value more than these */
    /* a constant of at most this many elements becomes selects, a larger one a table in memory */
    uint32_t constant_selects;
    uint32_t select_nodes;  /* an `if` whose branches take no more nodes than this becomes a select */
    uint32_t reduce_straight; /* a reduction of at most this many elements has no loop */
    uint32_t reduce_unroll; /* elements that one iteration of a reduction's loop combines, at most */
    uint32_t reduce_nodes;  /* instructions in one iteration, at most */
    const char *why_kind, *why_block, *why_grid, *why_inline;
} PartPlan;

/* legality.c: may the fusion be a loop? Declines it at the instruction that is at fault. */
void part_check(WbbCx *cx, WbbArena *a, const HloComputation *body, const TgTarget *t);
/* Leaf `part` of i, seen through tuples: an element of a tuple instruction is that operand. */
PartValue part_value(const HloInstruction *i, uint32_t part);
bool part_is_packed(ScType t); /* several elements to a byte */
/* a concatenate of slices that together are one array, rotated along one dimension */
bool part_is_rotation(const HloInstruction *i);
const HloShape *part_shape(const HloInstruction *i, uint32_t part); /* of leaf `part` of i */
/* of a bitcast or bitcast-convert: its elements are as wide as its operand's */
bool part_same_width(const HloInstruction *i);

/* cost.c: by id, elements that a thread reduces, one after the other, for one element of each instruction: the
 * product of the ranges of the reductions, windows and products that it needs, one inside the other. Saturates. */
const int64_t *part_trips(WbbArena *a, const HloComputation *body);

/* decline.c: declines an operation that no emitter handles, with the reason and what was seen of it. */
void part_decline(WbbCx *cx, const HloInstruction *i) WBB_NORETURN;

/* alias.c: which outputs are updated in place: sets PartBuffer.alias and returns for each output the
 * dynamic-update-slice that writes it, NULL for the others. Declines an aliasing that the text demands and no order
 * of reads and writes allows. */
const HloInstruction **part_updates(WbbCx *cx, WbbArena *a, PartPlan *p);

/* ranges.c: fills ranges, block and grid of a plan that has its buffers and roots. */
void part_ranges(WbbCx *cx, WbbArena *a, PartPlan *p, const TgTarget *t, const HloInstruction *const *updates);

/* Threads for a row of the range's space, along its minor dimension; 0: it has one row, or a thread may have
 * elements of two. */
int64_t part_row_threads(const PartRange *r);

/* plan.c: fusion and target live as long as the plan. */
/* an output in place of which some elements are not written */
bool part_is_partial(const PartPlan *plan, uint32_t buffer);
PartPlan part_plan(WbbCx *cx, WbbArena *a, const HloFusion *fusion, const TgTarget *target, PartOptions options);
void part_print(WbbBuf *out, const PartPlan *plan); /* for --emit plan and --explain */

#endif
