/* partition: decisions, with no code made: which emitter, what it iterates over, how much a thread does, how many threads there
 * are. Every number carries its reason, for --explain. What no emitter handles is declined here, with a reason.
 *
 *     PartPlan plan = part_plan(cx, arena, &fusion, target, (PartOptions){.align = 16});
 *     plan.sections[0].unroll = 8, .why_unroll = "16-byte accesses"
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
    int32_t alias;    /* of an output: the operand whose memory it is, written at some places only; -1: memory of its own */
} PartBuffer;

typedef enum {
    PART_LOOP,   /* every element of the outputs, in the order of output `outputs[0]` */
    PART_SLAB,   /* of one output, the elements whose index in dimension `dim` is in start .. start + size of space, for each of starts */
    PART_UPDATE, /* the elements that a dynamic-update-slice replaces, in place */
} PartKind;

/* A part of the launch: blocks first_block .. first_block + blocks - 1 make these outputs. The iteration space is 0 .. elements, an
 * element's number in `space` as it lies in memory. Run j < vectors of the section is elements unroll*j .. unroll*j + unroll - 1. Thread t of
 * block b of the section has runs (b*rounds + r)*block + t, r < rounds; the tail, elements % unroll, has threads after those, of `group`
 * elements each. */
typedef struct {
    PartKind kind;
    uint32_t *outputs, n_outputs;
    const HloShape *space;
    uint32_t dim;                 /* PART_SLAB */
    int64_t *starts;              /* [n_starts] of parts that one thread makes at the same place of each: what they share is made once */
    uint32_t n_starts;
    const HloInstruction *update; /* PART_UPDATE */
    int64_t elements, vectors, tail; /* tail: threads */
    uint32_t group;               /* elements that only one thread may have: those of a byte of the outputs; 1 but for types under 8 bits */
    uint32_t unroll, first_block, blocks;
    uint32_t rounds;              /* runs of `unroll` elements that a thread has, `block` runs apart: neighbours stay neighbours in each; else 1 */
    bool exact;                   /* block * blocks threads times rounds are vectors, and no tail: no bounds check */
    const char *why_unroll, *why_rounds;
} PartSection;

typedef struct {
    const char *kind; /* "loop", "concatenate", "dynamic-update-slice", "slices", "copy" */
    const HloFusion *fusion;
    PartBuffer *buffers; /* operands, a leaf each, then outputs */
    uint32_t *first_leaf; /* [parameters] the buffer of its first leaf */
    uint32_t n_operands, n_outputs, align;
    PartValue *roots;    /* [n_outputs] whose value each output is */
    PartSection *sections;
    uint32_t n_sections;
    uint32_t block, grid;  /* grid 0: there is nothing to do */
    uint32_t inline_limit; /* nodes of a value that is read at several indices: more than that become a function, .. */
    uint32_t inline_budget; /* .. and fewer, too, where the kernel has as many nodes */
    uint32_t fold_short; /* elements that are folded without a loop, at the most */
    uint32_t fold_turn;  /* elements that one turn of a loop folds, at the most */
    uint32_t fold_nodes; /* instructions that the elements of one turn of a loop may be, unrolled */
    const char *why_kind, *why_block, *why_grid, *why_inline;
} PartPlan;

/* legality.c: what can be a loop. Declines everything else at the instruction that is at fault. */
void part_check(WbbCx *cx, WbbArena *a, const HloComputation *body, const TgTarget *t);
/* The value that leaf `part` of i is: an element of a tuple that was just made is what was put in. */
PartValue part_value(const HloInstruction *i, uint32_t part);
bool part_is_packed(ScType t); /* several elements to a byte */
bool part_is_rotation(const HloInstruction *i); /* a concatenate of slices of one array, which begins somewhere in it and goes around its end */
const HloShape *part_shape(const HloInstruction *i, uint32_t part); /* of that array */
bool part_same_width(const HloInstruction *i); /* a bitcast or bitcast-convert: are its elements as wide as its operand's? */
enum { PART_DENSE_LIMIT = 64 }; /* elements of a constant that becomes a chain of selects; one of more is a table in memory */

/* cost.c: elements that a thread folds, one after the other, for one element of each instruction: the product of the ranges of the
 * reductions, windows and products that it needs, one inside the other. Saturates. By id. */
const int64_t *part_trips(WbbArena *a, const HloComputation *body);

/* decline.c: the reason why no emitter takes an operation, and what was seen of it. */
void part_decline(WbbCx *cx, const HloInstruction *i) WBB_NORETURN;

/* alias.c: which outputs are updated in place: sets PartBuffer.alias and gives for each output the dynamic-update-slice that writes
 * it, NULL for the others. Declines an aliasing that the text demands and no order of reads and writes allows. */
const HloInstruction **part_updates(WbbCx *cx, WbbArena *a, PartPlan *p);

/* sections.c: what there is to iterate over, and how: fills sections, block and grid of a plan that has its buffers and roots. */
void part_sections(WbbCx *cx, WbbArena *a, PartPlan *p, const TgTarget *t, const HloInstruction *const *updates);

/* Threads that have a row of the section's space, along its minor dimension; 0: it has one row, or threads have parts of two. */
int64_t part_row_threads(const PartSection *s);

/* plan.c: fusion and target live as long as the plan. */
bool part_is_partial(const PartPlan *plan, uint32_t buffer); /* an output that is written at some places only */
PartPlan part_plan(WbbCx *cx, WbbArena *a, const HloFusion *fusion, const TgTarget *target, PartOptions options);
void part_print(WbbBuf *out, const PartPlan *plan); /* for --emit plan and --explain */

#endif
